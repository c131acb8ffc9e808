//! `print`, `printf` and the `expect_…` functions.
//!
//! A single value is printed as Warp prints it: a vector as `1 2 3 `, a matrix row by row, a transform as
//! `(p) (q)`. Several values go on one line with blanks between, vectors in brackets.

use super::{Arg, Call, Row, own};
use crate::HostValue;
use crate::walk::lower::Result;
use crate::walk::{Lower, Operand, Reported, pattern};
use ir::{Attr, Op, Scalar, Type, TypeKind, Value};
use ruff_python_ast::CmpOp;

pub(super) const ROWS: &[Row] = &[
    own("print", "*args", print),
    own("printf", "fmt, *args", printf),
    own("expect_eq", "a, b", |lower, call| expect(lower, call, CmpOp::NotEq)),
    own("expect_neq", "a, b", |lower, call| expect(lower, call, CmpOp::Eq)),
    own("expect_near", "a, b, tolerance?", expect_near),
];

/// A `printf` format with its operands.
#[derive(Default)]
struct Text {
    format: String,
    operands: Vec<Value>,
}

impl Text {
    fn literal(&mut self, text: &str) {
        self.format.push_str(&text.replace('%', "%%"));
    }
}

impl Lower<'_, '_> {
    fn emit_print(&mut self, text: Text) {
        self.b().push(Op::Print, &text.operands, Attr::Text(text.format.into()), &[], &[]);
    }

    fn print_operand(&mut self, text: &mut Text, arg: &Arg, is_alone: bool) -> Result<()> {
        match &arg.operand {
            Operand::Static(HostValue::Str(words)) => text.literal(words),
            Operand::Static(HostValue::None) => text.literal("None"),
            Operand::Static(HostValue::Type(pattern)) => text.literal(&pattern::pattern_name(pattern)),
            Operand::Static(HostValue::Func(_) | HostValue::Builtin(_) | HostValue::Object(_)) => {
                let name = self.describe(&arg.operand);
                text.literal(&name);
            }
            Operand::Tuple(_) | Operand::Shape(_) | Operand::Static(HostValue::Tuple(_)) => {
                let items = self.items(&arg.operand, arg.span)?;
                text.literal("(");
                for (i, operand) in items.iter().enumerate() {
                    text.literal(if i == 0 { "" } else { ", " });
                    self.print_operand(text, &Arg { operand: operand.clone(), span: arg.span }, false)?;
                }
                text.literal(if items.len() == 1 { ",)" } else { ")" });
            }
            _ => {
                let value = self.arg_value(arg)?;
                self.print_value(text, value, is_alone);
            }
        }
        Ok(())
    }

    fn print_value(&mut self, text: &mut Text, value: Value, is_alone: bool) {
        let ty = self.ty(value);
        match ty.kind() {
            TypeKind::Scalar(scalar) => {
                text.format.push_str(conversion(*scalar));
                text.operands.push(value);
            }
            TypeKind::Vector { .. } if is_alone => self.print_components(text, value, ["", " ", " "]),
            TypeKind::Quat(_) if is_alone => self.print_components(text, value, ["", " ", ""]),
            TypeKind::Vector { .. } | TypeKind::Quat(_) => self.print_components(text, value, ["[", ", ", "]"]),
            TypeKind::Transform(_) => {
                for (i, before) in ["(", " ", " ", ") (", " ", " ", " "].into_iter().enumerate() {
                    text.literal(before);
                    let component = self.b().extract(value, i as u32);
                    self.print_value(text, component, false);
                }
                text.literal(")");
            }
            TypeKind::Matrix { rows, .. } => {
                let marks = if is_alone { ["", "\n", ""] } else { ["[", ", ", "]"] };
                text.literal(marks[0]);
                for row in 0..*rows {
                    text.literal(if row == 0 { "" } else { marks[1] });
                    let vector = self.matrix_row(value, row);
                    self.print_value(text, vector, is_alone);
                }
                text.literal(marks[2]);
            }
            TypeKind::Struct(s) => {
                text.literal(&s.name);
                for (i, (name, _)) in s.fields.iter().enumerate() {
                    text.literal(&format!("{}{name}=", if i == 0 { "(" } else { ", " }));
                    let field = self.b().extract(value, i as u32);
                    self.print_value(text, field, false);
                }
                text.literal(")");
            }
            TypeKind::Tuple(_) => self.print_components(text, value, ["(", ", ", ")"]),
            TypeKind::Tile { elem, extents } => self.print_tile(text, value, *elem, extents),
            TypeKind::Array { elem, rank } => {
                text.literal("array(shape=(");
                for dim in 0..*rank {
                    text.literal(if dim == 0 { "" } else { ", " });
                    let extent = self.b().extent(value, dim);
                    self.print_value(text, extent, false);
                }
                text.literal(&format!("), dtype={})", self.name_of(*elem)));
            }
        }
    }

    /// `[1 2 3] = tile(shape=(3), storage=register)`, the elements of all rows.
    fn print_tile(&mut self, text: &mut Text, value: Value, elem: Type, extents: &[u32]) {
        let n: u32 = extents.iter().product();
        text.literal("[");
        for index in 0..n.min(MOST_PRINTED) {
            text.literal(if index == 0 { "" } else { " " });
            let at = self.b().int(Scalar::I64, index.into());
            let element = self.b().push1(Op::TileGet, &[value, at], Attr::None, elem);
            self.print_value(text, element, false);
        }
        let extents: Vec<String> = extents.iter().map(u32::to_string).collect();
        let more = if n > MOST_PRINTED { " …" } else { "" };
        text.literal(&format!("{more}] = tile(shape=({}), storage=register)", extents.join(",")));
    }

    fn print_components(&mut self, text: &mut Text, value: Value, marks: [&str; 3]) {
        text.literal(marks[0]);
        for i in 0..self.ty(value).n_components() as u32 {
            text.literal(if i == 0 { "" } else { marks[1] });
            let component = self.b().extract(value, i);
            self.print_value(text, component, false);
        }
        text.literal(marks[2]);
    }
}

/// Elements of a tile that are printed.
const MOST_PRINTED: u32 = 256;

fn conversion(scalar: Scalar) -> &'static str {
    match scalar {
        // Not C's: prints True or False.
        Scalar::Bool => "%?",
        Scalar::I64 => "%lld",
        Scalar::U64 => "%llu",
        Scalar::U8 | Scalar::U16 | Scalar::U32 => "%u",
        _ if scalar.is_float() => "%g",
        _ => "%d",
    }
}

fn print(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let mut text = Text::default();
    for (i, arg) in call.rest.iter().enumerate() {
        text.literal(if i == 0 { "" } else { " " });
        lower.print_operand(&mut text, arg, call.rest.len() == 1)?;
    }
    text.literal("\n");
    lower.emit_print(text);
    Ok(Operand::NONE)
}

/// C's `printf`. An operand that its conversion cannot print as it is, is converted: `%f` of an integer, say.
fn printf(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let Operand::Static(HostValue::Str(format)) = &call.arg(0).operand else {
        return Err(lower.wrong_type(call, call.arg(0), "a format that is a string literal"));
    };
    let mut text = Text::default();
    let mut args = call.rest.iter();
    let mut rest = format.as_str();
    while let Some(at) = rest.find('%') {
        text.format.push_str(&rest[..at]);
        rest = &rest[at..];
        let len = rest[1..].find(|c: char| c.is_ascii_alphabetic() && !"hlLqjzt".contains(c) || c == '%');
        let Some(len) = len.map(|at| at + 2) else { break };
        let spec = &rest[..len];
        rest = &rest[len..];
        if let Some(number) = spec.split(|c: char| !c.is_ascii_digit()).find(|digits| is_too_large(digits)) {
            let message = format!("`{spec}` in the format of this `printf` asks for {number} characters");
            let report = lower.report("argument-type", call.arg(0).span, message);
            return Err(lower.emit(report.help(format!("widths and precisions are at most {MAX_WIDTH}"))));
        }
        // Widths and precisions given as `*` are integers of their own.
        for _ in 0..spec.matches('*').count() {
            let arg = args.next().ok_or_else(|| lacks(lower, call))?;
            text.operands.push(as_class(lower, call, arg, 'd')?);
        }
        let letter = spec.chars().last().unwrap_or('%');
        if letter == '%' {
            text.format.push_str("%%");
            continue;
        }
        let arg = args.next().ok_or_else(|| lacks(lower, call))?;
        if letter == 's' {
            lower.print_operand(&mut text, arg, false)?;
            continue;
        }
        text.operands.push(as_class(lower, call, arg, letter)?);
        text.format.push_str(spec);
    }
    text.format.push_str(rest);
    if let Some(arg) = args.next() {
        return Err(lower.error(
            "argument-count",
            arg.span,
            "the format of this `printf` has no place for this argument",
        ));
    }
    lower.emit_print(text);
    Ok(Operand::NONE)
}

/// The formatter caps what it is given at run time: one thread must not print gigabytes.
const MAX_WIDTH: u32 = 4096;

fn is_too_large(digits: &str) -> bool {
    !digits.is_empty() && digits.parse::<u32>().map_or(true, |number| number > MAX_WIDTH)
}

fn lacks(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Reported {
    lower.error("argument-count", call.span, "the format of this `printf` needs more arguments")
}

/// A scalar as the conversion `letter` reads it.
fn as_class(lower: &mut Lower<'_, '_>, call: &Call<'_>, arg: &Arg, letter: char) -> Result<Value> {
    let Some(scalar) = lower.type_of(&arg.operand).and_then(Type::as_scalar) else {
        return Err(lower.wrong_type(call, arg, "scalars after the format"));
    };
    let value = lower.arg_value(arg)?;
    let wants_float = "eEfFgGaA".contains(letter);
    let to = match scalar {
        _ if wants_float && !scalar.is_float() => Scalar::F64,
        _ if !wants_float && scalar.is_float() => Scalar::I64,
        Scalar::Bool => Scalar::I32,
        _ => scalar,
    };
    Ok(lower.b().cast(value, to))
}

/// Prints a report where the comparison that tells failure holds.
fn expect(lower: &mut Lower<'_, '_>, call: &Call<'_>, failure: CmpOp) -> Result<Operand> {
    let values = lower.one_type_of_any(call, &[call.arg(0).clone(), call.arg(1).clone()])?;
    let (a, b) = (Operand::Value(values[0]), Operand::Value(values[1]));
    let failed = lower.compare(failure, &a, &b, call.span)?;
    lower.report_where(call, &failed, &[(" failed:\n\t Expected: ", values[1]), ("\n\t Actual: ", values[0])])
}

fn expect_near(lower: &mut Lower<'_, '_>, call: &Call<'_>) -> Result<Operand> {
    let values = lower.one_type(call, &[call.arg(0).clone(), call.arg(1).clone()], super::Accepts::Numbers)?;
    let (a, b) = (values[0], values[1]);
    let ty = lower.ty(a);
    let Some(elem) = ty.element().filter(|elem| elem.is_float()) else {
        return Err(lower.wrong_type(call, call.arg(0), "a floating-point number or vector"));
    };
    let default = Operand::Static(HostValue::Float(1e-6));
    let tolerance = call.get(2).cloned().unwrap_or(Arg { operand: default, span: call.span });
    let tolerance = lower.value_as(&tolerance.operand, Type::scalar(elem), tolerance.span)?;
    let mut builder = lower.b();
    let difference = builder.binary(Op::Sub, a, b);
    let mut difference = builder.unary(Op::Abs, difference);
    let is_composite = ty.is_composite();
    if is_composite {
        let mut greatest = builder.extract(difference, 0);
        for i in 1..ty.n_components() as u32 {
            let component = builder.extract(difference, i);
            greatest = builder.binary(Op::Max, greatest, component);
        }
        difference = greatest;
    }
    let failed = Operand::Value(builder.compare(Op::Gt, difference, tolerance));
    let last = if is_composite { "\n    Max absolute difference: " } else { "\n    Absolute difference: " };
    let pieces =
        [(" failed with tolerance ", tolerance), ("\n    Expected: ", b), ("\n    Actual: ", a), (last, difference)];
    lower.report_where(call, &failed, &pieces)
}

impl Lower<'_, '_> {
    fn report_where(&mut self, call: &Call<'_>, failed: &Operand, pieces: &[(&str, Value)]) -> Result<Operand> {
        let failed = self.value(failed, call.span)?;
        let (then, ()) = self.in_region(&[], |lower| {
            let mut text = Text::default();
            text.literal(&format!("Error, {}()", call.name));
            for (words, value) in pieces {
                text.literal(words);
                lower.print_value(&mut text, *value, true);
            }
            text.literal("\n");
            lower.emit_print(text);
            lower.b().yield_(&[]);
        });
        let (other, ()) = self.in_region(&[], |lower| lower.b().yield_(&[]));
        self.b().push(Op::If, &[failed], Attr::None, &[then, other], &[]);
        Ok(Operand::NONE)
    }
}
