//! Types as `Display for Type` writes them.

use super::Parsed;
use super::cursor::Cursor;
use crate::types::{Scalar, Type};

/// Deepest nesting of struct, tuple and array types in text.
const MAX_NESTING: usize = 64;

pub(super) fn parse_type(cursor: &mut Cursor) -> Parsed<Type> {
    nested(cursor, 0)
}

fn nested(cursor: &mut Cursor, depth: usize) -> Parsed<Type> {
    let at = cursor.position();
    if depth > MAX_NESTING {
        return Err(cursor.error_at(at, "the type is nested too deep"));
    }
    let word = cursor.name()?;
    if let Some(scalar) = Scalar::from_name(&word) {
        return Ok(Type::scalar(scalar));
    }
    let ty = match word.as_str() {
        "vec" | "mat" | "quat" | "transform" => {
            cursor.expect("<")?;
            let elem = scalar(cursor)?;
            match word.as_str() {
                "vec" => Type::vector(elem, size(cursor)?),
                "mat" => {
                    let rows = size(cursor)?;
                    Type::matrix(elem, rows, size(cursor)?)
                }
                "quat" => Type::quat(elem),
                _ => Type::transform(elem),
            }
        }
        "array" => {
            cursor.expect("<")?;
            let elem = nested(cursor, depth + 1)?;
            Type::array(elem, size(cursor)?)
        }
        "tile" => {
            cursor.expect("<")?;
            let elem = nested(cursor, depth + 1)?;
            let mut extents = Vec::new();
            while !cursor.is_at(">") {
                extents.push(size(cursor)?);
            }
            Type::tile(elem, extents)
        }
        "tuple" => {
            cursor.expect("<")?;
            let mut items = Vec::new();
            while !cursor.is_at(">") && (items.is_empty() || cursor.eat(",")) {
                items.push(nested(cursor, depth + 1)?);
            }
            Type::tuple(items)
        }
        "struct" => {
            let name = cursor.name()?;
            cursor.expect("<")?;
            let mut fields = Vec::new();
            while !cursor.is_at(">") && (fields.is_empty() || cursor.eat(",")) {
                let field = cursor.name()?;
                cursor.expect(":")?;
                fields.push((field, nested(cursor, depth + 1)?));
            }
            Type::structure(name, fields)
        }
        _ => return Err(cursor.error_at(at, &format!("there is no type `{word}`"))),
    };
    cursor.expect(">")?;
    Ok(ty)
}

fn scalar(cursor: &mut Cursor) -> Parsed<Scalar> {
    let at = cursor.position();
    let word = cursor.name()?;
    Scalar::from_name(&word).ok_or_else(|| cursor.error_at(at, &format!("there is no scalar type `{word}`")))
}

fn size(cursor: &mut Cursor) -> Parsed<u32> {
    cursor.expect(",")?;
    cursor.integer32()
}
