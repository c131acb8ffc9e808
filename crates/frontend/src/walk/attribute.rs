//! Attributes: fields, components and swizzles, facts about arrays, members of Python objects.

use super::expression::suggest;
use super::lower::{Lower, Reported, Result};
use super::operand::Operand;
use super::subscript::{PieceKind, Place, array_type};
use crate::{HostValue, TypePattern};
use diagnostics::Span;
use ir::{Attr, Op, Scalar, Type, TypeKind, Value};
use ruff_python_ast::ExprAttribute;

const LETTERS: [char; 4] = ['x', 'y', 'z', 'w'];

impl Lower<'_, '_> {
    pub(super) fn attribute_place(&mut self, expr: &ExprAttribute) -> Result<Place> {
        let base = self.place(&expr.value)?;
        let name = expr.attr.as_str();
        let span = self.span_of(expr);
        if let Some(attribute) = self.rules.attribute
            && let Some(place) = attribute(self, &base, name, expr)?
        {
            return Ok(place);
        }
        let ty = self.place_type(&base);
        // A literal's default type says nothing about its attributes.
        if let Place::Operand(Operand::Static(value)) | Place::Name(_, Operand::Static(value)) = &base
            && !matches!(value, HostValue::Composite(..))
        {
            let value = value.clone();
            return self.static_attribute(&value, name, expr, span).map(Place::Operand);
        }
        let Some(ty) = ty else {
            let operand = self.read(base)?;
            return self.other_attribute(&operand, name, expr, span).map(Place::Operand);
        };
        if let Some((kind, piece)) = component(ty, name) {
            return Ok(self.piece(base, kind, piece));
        }
        if name == "dtype"
            && let Some(elem) = element_type(ty)
        {
            return Ok(Place::Operand(Operand::Static(HostValue::Type(TypePattern::Is(elem)))));
        }
        if let Some(found) = shape_of(ty, name) {
            return Ok(Place::Operand(found));
        }
        let operand = self.read(base)?;
        if let Some(array) = array_type(ty) {
            let value = self.value(&operand, span)?;
            if let Some(found) = self.array_attribute(value, array, name) {
                return Ok(Place::Operand(found));
            }
        }
        self.other_attribute(&operand, name, expr, span).map(Place::Operand)
    }

    /// What an array of any kind says of itself.
    fn array_attribute(&mut self, value: Value, array: Type, name: &str) -> Option<Operand> {
        let (_, rank) = array.as_array()?;
        let is_mapped = self.ty(value) != array;
        let n = if is_mapped { self.mapped_rank(value) } else { rank };
        let mut extent = |dim| if is_mapped { self.mapped_extent(value, dim) } else { self.extent_of(value, dim) };
        Some(match name {
            "shape" if is_mapped => Operand::Tuple((0..n).map(|dim| Operand::Value(extent(dim))).collect()),
            "shape" => Operand::Shape(value),
            "ndim" => Operand::int(i128::from(rank)),
            "size" => {
                let extents: Vec<Value> = (0..n).map(&mut extent).collect();
                let product = extents.into_iter().reduce(|x, y| self.b().binary(Op::Mul, x, y))?;
                Operand::Value(product)
            }
            "ptr" if !is_mapped => {
                Operand::Value(self.b().push1(Op::Address, &[value], Attr::None, Type::scalar(Scalar::U64)))
            }
            _ => return None,
        })
    }

    fn static_attribute(&mut self, value: &HostValue, name: &str, expr: &ExprAttribute, span: Span) -> Result<Operand> {
        match value {
            HostValue::Object(object) => match self.unit.host.attribute(*object, name) {
                Some(found) => Ok(Operand::Static(found)),
                None => {
                    let what = self.text_of(&*expr.value).to_owned();
                    let mut report = self.report("unknown-attribute", span, format!("`{what}` has no `{name}`"));
                    let builtins = crate::warp::builtins::names();
                    if let Some(close) = suggest::closest(name, builtins.iter().copied())
                        && self.unit.host.attribute(*object, close).is_some()
                    {
                        report = report.help(format!("did you mean `{what}.{close}`?"));
                    }
                    Err(self.emit(report))
                }
            },
            HostValue::Type(TypePattern::Is(ty)) if name == "dtype" && element_type(*ty).is_some() => {
                Ok(Operand::Static(HostValue::Type(TypePattern::Is(element_type(*ty).unwrap_or(*ty)))))
            }
            // An enum's member comes as its value already.
            HostValue::Bool(_)
            | HostValue::Int(_)
            | HostValue::Float(_)
            | HostValue::Str(_)
            | HostValue::Scalar(..)
                if name == "value" =>
            {
                Ok(Operand::Static(value.clone()))
            }
            // Members of an enum come as their values.
            HostValue::Bool(_) | HostValue::Int(_) | HostValue::Float(_) | HostValue::Str(_) if name == "value" => {
                Ok(Operand::Static(value.clone()))
            }
            _ => self.other_attribute(&Operand::Static(value.clone()), name, expr, span),
        }
    }

    /// A method where it is called, else a mistake.
    fn other_attribute(&mut self, operand: &Operand, name: &str, expr: &ExprAttribute, span: Span) -> Result<Operand> {
        if self.is_called(expr) {
            return Ok(Operand::Method(Box::new(operand.clone()), name.to_owned()));
        }
        Err(self.unknown_attribute(operand, name, span))
    }

    /// Whether a call's parenthesis follows the expression.
    pub(crate) fn is_called(&self, expr: &ExprAttribute) -> bool {
        let rest = self.parsed.file.text.get(usize::from(expr.range.end())..).unwrap_or_default();
        rest.trim_start_matches([' ', '\t']).starts_with('(')
    }

    fn unknown_attribute(&mut self, operand: &Operand, name: &str, span: Span) -> Reported {
        let what = self.describe(operand);
        let known = self.type_of(operand).map(members).unwrap_or_default();
        let mut report = self.report("unknown-attribute", span, format!("{what} has no `{name}`"));
        if let Some(close) = suggest::closest(name, known.iter().map(String::as_str)) {
            report = report.help(format!("did you mean `{close}`?"));
        } else if !known.is_empty() {
            let list: Vec<String> = known.iter().map(|member| format!("`{member}`")).collect();
            report = report.help(format!("it has {}", list.join(", ")));
        }
        self.emit(report)
    }
}

/// The field, component or swizzle that a name means.
fn component(ty: Type, name: &str) -> Option<(PieceKind, Type)> {
    match ty.kind() {
        TypeKind::Struct(s) if array_type(ty).is_none() => {
            let index = s.fields.iter().position(|(field, _)| field == name)?;
            Some((PieceKind::Component(index as u32), s.fields[index].1))
        }
        TypeKind::Transform(elem) => match name {
            "p" => Some((PieceKind::Several(vec![0, 1, 2]), Type::vector(*elem, 3))),
            "q" => Some((PieceKind::Several(vec![3, 4, 5, 6]), Type::quat(*elem))),
            _ => None,
        },
        TypeKind::Vector { elem, .. } | TypeKind::Quat(elem) => {
            let n = ty.n_components();
            let index = |letter| LETTERS.iter().position(|&known| known == letter).filter(|&k| k < n).map(|k| k as u32);
            let list = name.chars().map(index).collect::<Option<Vec<u32>>>()?;
            match list.len() {
                1 => Some((PieceKind::Component(list[0]), Type::scalar(*elem))),
                2..=4 => {
                    let ty = Type::vector(*elem, list.len() as u32);
                    Some((PieceKind::Several(list), ty))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// What `dtype` means for a type.
fn element_type(ty: Type) -> Option<Type> {
    match array_type(ty) {
        Some(array) => array.as_array().map(|(elem, _)| elem),
        None if ty.as_tile().is_some() => ty.as_tile().map(|(elem, _)| elem),
        None if ty.is_composite() => ty.element().map(Type::scalar),
        None => None,
    }
}

/// `v.length` of a vector and `m.shape` of a matrix.
fn shape_of(ty: Type, name: &str) -> Option<Operand> {
    match ty.kind() {
        TypeKind::Vector { len, .. } if name == "length" => Some(Operand::int(i128::from(*len))),
        TypeKind::Tile { extents, .. } if name == "shape" => {
            Some(Operand::Tuple(extents.iter().map(|&n| Operand::int(i128::from(n))).collect()))
        }
        TypeKind::Tile { extents, .. } if name == "ndim" => Some(Operand::int(extents.len() as i128)),
        TypeKind::Tile { .. } if name == "size" => Some(Operand::int(i128::from(ty.n_elements()))),
        TypeKind::Matrix { rows, cols, .. } if name == "shape" => {
            Some(Operand::Tuple([rows, cols].map(|&n| Operand::int(i128::from(n))).to_vec()))
        }
        _ => None,
    }
}

/// The attributes of values of a type, for messages.
fn members(ty: Type) -> Vec<String> {
    let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    match ty.kind() {
        _ if array_type(ty).is_some() => list(&["shape", "ndim", "size", "dtype"]),
        TypeKind::Struct(s) => s.fields.iter().map(|(name, _)| name.clone()).collect(),
        TypeKind::Transform(_) => list(&["p", "q", "dtype"]),
        TypeKind::Vector { .. } | TypeKind::Quat(_) => {
            let letters = LETTERS.iter().take(ty.n_components()).map(char::to_string);
            let length = matches!(ty.kind(), TypeKind::Vector { .. }).then(|| "length".to_owned());
            letters.chain(length).chain(["dtype".to_owned()]).collect()
        }
        TypeKind::Matrix { .. } => list(&["shape", "dtype"]),
        TypeKind::Tile { .. } => list(&["shape", "dtype", "ndim", "size"]),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swizzles_stay_inside_the_vector() {
        let vec3 = Type::vector(Scalar::F32, 3);
        let list = |name| match component(vec3, name) {
            Some((PieceKind::Several(list), ty)) => Some((list, ty)),
            _ => None,
        };
        assert_eq!(list("zyx"), Some((vec![2, 1, 0], vec3)));
        assert_eq!(list("xxxx"), Some((vec![0; 4], Type::vector(Scalar::F32, 4))));
        assert_eq!(list("xw"), None);
        assert!(component(vec3, "xyzxy").is_none() && component(vec3, "").is_none());
    }
}
