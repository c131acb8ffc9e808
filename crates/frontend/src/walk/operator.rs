//! Arithmetic and bit operators: which op of the IR each means for operands of given types.
//!
//! Operands known while lowering are folded ([`fold`]); a literal beside a typed operand takes its scalar type; typed
//! operands are never converted silently. Comparisons are in [`compare`].

use super::call::Args;
use super::lower::{Lower, Reported, Result};
use super::operand::{Operand, literal_as};
use super::subscript::is_mapped_array;
use crate::HostValue;
use diagnostics::Span;
use ir::{Attr, Class, Const, Op, Scalar, Site, SiteKind, Type, TypeKind, Value};
use ruff_python_ast::{Operator, UnaryOp};

pub(crate) mod compare;
pub(crate) mod fold;

/// Where an operator and its operands stand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sides {
    pub(crate) left: Span,
    pub(crate) right: Span,
    pub(crate) whole: Span,
}

impl Sides {
    pub(crate) fn at(span: Span) -> Sides {
        Sides { left: span, right: span, whole: span }
    }
}

/// What types an operator is for, in terms of its two values.
enum Meaning {
    /// One op on two values of one type.
    Same(Op),
    /// One op, the left or right scalar spread over the other side's components.
    SplatLeft(Op),
    SplatRight(Op),
    MatMul(Type),
    /// A function of the kernel library.
    Library(&'static str),
    /// Not for these types; the function that may be meant instead.
    Refused(Option<&'static str>),
}

impl Lower<'_, '_> {
    pub(crate) fn binary(&mut self, op: Operator, a: &Operand, b: &Operand, span: Span) -> Result<Operand> {
        self.binary_at(op, a, b, Sides::at(span))
    }

    pub(crate) fn binary_at(&mut self, op: Operator, a: &Operand, b: &Operand, sides: Sides) -> Result<Operand> {
        if let Some(binary) = self.rules.binary {
            return binary(self, op, a, b, sides);
        }
        if let (Operand::Static(x), Operand::Static(y)) = (a, b) {
            match fold::binary(op, x, y) {
                Ok(Some(value)) => return Ok(Operand::Static(value)),
                Ok(None) => {}
                Err(mistake) => return Err(self.error(mistake.code, sides.whole, mistake.message)),
            }
        }
        if op == Operator::Add
            && let (Some(x), Some(y)) = (tuple_items(a), tuple_items(b))
        {
            return Ok(Operand::Tuple([x, y].concat()));
        }
        if let Some(result) = self.tile_binary(op, a, b, sides) {
            return result;
        }
        if let Some(result) = self.user_operator(operator_function(op), &[a, b], sides.whole) {
            return result;
        }
        let Some((x, y)) = self.unify(a, b, sides)? else {
            return Err(self.refuse(op, a, b, sides, None));
        };
        let (tx, ty) = (self.ty(x), self.ty(y));
        let value = match meaning(op, tx, ty) {
            Meaning::Same(op) => {
                self.check_divisor(op, y, sides);
                self.b().binary(op, x, y)
            }
            Meaning::SplatLeft(op) => {
                self.check_divisor(op, y, sides);
                let x = self.b().splat(ty, x);
                self.b().binary(op, x, y)
            }
            Meaning::SplatRight(op) => {
                self.check_divisor(op, y, sides);
                let y = self.b().splat(tx, y);
                self.b().binary(op, x, y)
            }
            Meaning::MatMul(result) => self.b().push1(Op::MatMul, &[x, y], Attr::None, result),
            Meaning::Library(name) => {
                let args = Args::positional(&[Operand::Value(x), Operand::Value(y)], sides.whole);
                return self.builtin(name, args, sides.whole);
            }
            Meaning::Refused(instead) => return Err(self.refuse(op, a, b, sides, instead)),
        };
        Ok(Operand::Value(value))
    }

    pub(crate) fn unary(&mut self, op: UnaryOp, operand: &Operand, span: Span) -> Result<Operand> {
        if op == UnaryOp::Not {
            return Ok(match self.truth(operand, span)? {
                Operand::Static(HostValue::Bool(holds)) => Operand::Static(HostValue::Bool(!holds)),
                holds => {
                    let value = self.value(&holds, span)?;
                    Operand::Value(self.b().unary(Op::Not, value))
                }
            });
        }
        if let Some(unary) = self.rules.unary {
            return unary(self, op, operand, span);
        }
        if let Operand::Static(value) = operand
            && let Some(folded) = fold::unary(op, value)
        {
            return Ok(Operand::Static(folded));
        }
        if let Some(result) = self.tile_unary(op, operand, span) {
            return result;
        }
        let name = match op {
            UnaryOp::USub => "neg",
            UnaryOp::UAdd => "pos",
            UnaryOp::Invert | UnaryOp::Not => "invert",
        };
        if let Some(result) = self.user_operator(name, &[operand], span) {
            return result;
        }
        let class = self.type_of(operand).and_then(Type::element).map(Scalar::class);
        let allowed = match (op, class) {
            (UnaryOp::Invert, Some(Class::Int)) => Some(Op::Not),
            (UnaryOp::USub, Some(Class::Int | Class::Float)) => Some(Op::Neg),
            (UnaryOp::UAdd, Some(Class::Int | Class::Float)) => return Ok(operand.clone()),
            _ => None,
        };
        let Some(ir_op) = allowed else {
            let what = self.describe(operand);
            let mut report = self.report("type-mismatch", span, format!("cannot apply `{}` to {what}", op.as_str()));
            if class == Some(Class::Bool) {
                report = report.help(if op == UnaryOp::Invert { "write `not`" } else { "convert it: `int32(…)`" });
            }
            return Err(self.emit(report));
        };
        let value = self.value(operand, span)?;
        Ok(Operand::Value(self.b().unary(ir_op, value)))
    }

    /// An operator on a struct is the function of the operator's name that the user defines for it: `add`, `mul`.
    fn user_operator(&mut self, name: &str, operands: &[&Operand], span: Span) -> Option<Result<Operand>> {
        let is_struct = |operand: &&Operand| {
            self.type_of(operand).is_some_and(|ty| matches!(ty.kind(), TypeKind::Struct(_)) && !is_mapped_array(ty))
        };
        if !operands.iter().any(is_struct) {
            return None;
        }
        let Some(HostValue::Func(func)) = self.lookup(name) else { return None };
        let operands: Vec<Operand> = operands.iter().map(|&operand| operand.clone()).collect();
        Some(self.call_function(func, Args::positional(&operands, span), span))
    }

    /// Both operands as values, where a literal takes the scalar type of the other side. `None` where an operand is
    /// no number, or a literal cannot become one of the other side's type.
    fn unify(&mut self, a: &Operand, b: &Operand, sides: Sides) -> Result<Option<(Value, Value)>> {
        let (Some(ta), Some(tb)) = (self.type_of(a), self.type_of(b)) else { return Ok(None) };
        if Self::is_literal(a) && !Self::is_literal(b) {
            let Some(x) = self.literal_like(a, tb, sides.left)? else { return Ok(None) };
            return Ok(Some((x, self.value(b, sides.right)?)));
        }
        let x = self.value(a, sides.left)?;
        if Self::is_literal(b) && !Self::is_literal(a) {
            return Ok(self.literal_like(b, ta, sides.right)?.map(|y| (x, y)));
        }
        Ok(Some((x, self.value(b, sides.right)?)))
    }

    /// A literal as the scalar type of `ty`.
    fn literal_like(&mut self, literal: &Operand, ty: Type, span: Span) -> Result<Option<Value>> {
        let (Operand::Static(value), Some(scalar)) = (literal, ty.element()) else { return Ok(None) };
        Ok(self.literal_in_range(value, scalar, span)?.map(|constant| self.b().constant(scalar, constant)))
    }

    /// As `literal_as`, but an integer literal that its type does not hold is an error: only casts drop bits.
    pub(crate) fn literal_in_range(&mut self, value: &HostValue, to: Scalar, span: Span) -> Result<Option<Const>> {
        if let HostValue::Int(value) = *value
            && !fold::fits(value, to)
        {
            let name = self.name_of(Type::scalar(to));
            let report = self.report("literal-range", span, format!("the literal `{value}` does not fit `{name}`"));
            return Err(self.emit(report.help(format!("`{name}({value})` keeps its low bits"))));
        }
        Ok(literal_as(value, to))
    }

    /// In checked mode, integer division by what is not surely another number than zero reports it.
    pub(crate) fn check_divisor(&mut self, op: Op, divisor: Value, sides: Sides) {
        let is_division = matches!(op, Op::Div | Op::FloorDiv | Op::Rem | Op::Mod);
        let is_int = self.ty(divisor).element().is_some_and(Scalar::is_int);
        if !is_division || !is_int || !self.unit.options.checked {
            return;
        }
        if self.func.as_const(divisor).is_some_and(|constant| constant.0 != 0) {
            return;
        }
        let name = self.text_at(sides.right).unwrap_or_default();
        let site = self.unit.module.add_site(Site { kind: SiteKind::DivisionByZero, span: sides.whole, name });
        self.b().check(Op::CheckNonZero, &[divisor], site);
    }

    /// The user's text at a span of this file.
    pub(crate) fn text_at(&self, span: Span) -> Option<String> {
        let text = self.parsed.file.text.get(span.start as usize..span.end as usize)?;
        (span.file == self.file).then(|| text.to_owned())
    }

    pub(crate) fn refuse(
        &mut self,
        op: Operator,
        a: &Operand,
        b: &Operand,
        sides: Sides,
        instead: Option<&'static str>,
    ) -> Reported {
        if self.retyped(a, b) {
            return Reported;
        }
        let (x, y) = (self.describe(a), self.describe(b));
        let message = match op {
            Operator::Add => format!("cannot add {x} and {y}"),
            Operator::Sub => format!("cannot subtract {y} from {x}"),
            Operator::Mult => format!("cannot multiply {x} and {y}"),
            Operator::Div | Operator::FloorDiv => format!("cannot divide {x} by {y}"),
            _ => format!("cannot apply `{}` to {x} and {y}", op.as_str()),
        };
        let mut report = self.report("type-mismatch", sides.whole, message);
        let help = instead.map(str::to_owned).or_else(|| self.conversion(a, b, sides));
        if let Some(help) = help {
            report = report.help(help);
        }
        self.emit(report)
    }

    /// Whether one side is a loop's literal that takes the other side's type in another walk over the loop.
    fn retyped(&mut self, a: &Operand, b: &Operand) -> bool {
        let elem = |this: &Self, operand: &Operand| this.type_of(operand).and_then(Type::element);
        let (Some(x), Some(y)) = (elem(self, a), elem(self, b)) else { return false };
        x != y && (self.retype(a, y) || self.retype(b, x))
    }

    /// The conversion that gives both operands one scalar type.
    fn conversion(&self, a: &Operand, b: &Operand, sides: Sides) -> Option<String> {
        let elem = |operand: &Operand| self.type_of(operand).and_then(Type::element);
        let (x, y) = (elem(a)?, elem(b)?);
        if x == y && x != Scalar::Bool {
            return None;
        }
        // A literal cannot be converted, its neighbor can; else the narrower side is.
        let rank = |scalar: Scalar| (scalar.is_float(), scalar.bits(), scalar.is_signed());
        let is_left = Self::is_literal(b) || !Self::is_literal(a) && rank(x) <= rank(y);
        let (from, to, span) = if is_left { (a, y, sides.left) } else { (b, x, sides.right) };
        let to = if to == Scalar::Bool { Scalar::I32 } else { to };
        let to = self.name_of(Type::scalar(to));
        if self.type_of(from).is_some_and(|ty| ty.as_scalar().is_none()) {
            return Some(format!("the scalar types must be the same; make both sides of `{to}`"));
        }
        let text = self.text_at(span).filter(|text| span != sides.whole && !text.contains('\n'));
        Some(format!("write `{to}({})`", text.as_deref().unwrap_or("…")))
    }
}

/// The function that overloads an operator for structs.
fn operator_function(op: Operator) -> &'static str {
    match op {
        Operator::Add => "add",
        Operator::Sub => "sub",
        Operator::Mult | Operator::MatMult => "mul",
        Operator::Div => "div",
        Operator::FloorDiv => "floordiv",
        Operator::Mod => "mod",
        Operator::Pow => "pow",
        Operator::LShift => "lshift",
        Operator::RShift => "rshift",
        Operator::BitAnd => "bit_and",
        Operator::BitOr => "bit_or",
        Operator::BitXor => "bit_xor",
    }
}

pub(crate) fn tuple_items(operand: &Operand) -> Option<Vec<Operand>> {
    match operand {
        Operand::Tuple(items) => Some(items.clone()),
        Operand::Static(HostValue::Tuple(items)) => Some(items.iter().cloned().map(Operand::Static).collect()),
        _ => None,
    }
}

fn meaning(op: Operator, x: Type, y: Type) -> Meaning {
    let (Some(ex), Some(ey)) = (x.element(), y.element()) else { return Meaning::Refused(None) };
    let class = ex.class();
    if ex != ey {
        return Meaning::Refused(None);
    }
    match op {
        Operator::BitAnd | Operator::BitOr | Operator::BitXor if x == y && class != Class::Float => {
            Meaning::Same(match op {
                Operator::BitAnd => Op::And,
                Operator::BitOr => Op::Or,
                _ => Op::Xor,
            })
        }
        Operator::LShift if x == y && class == Class::Int => Meaning::Same(Op::Shl),
        Operator::RShift if x == y && class == Class::Int => Meaning::Same(Op::Shr),
        Operator::BitAnd | Operator::BitOr | Operator::BitXor | Operator::LShift | Operator::RShift => {
            Meaning::Refused((class == Class::Float).then_some("bit operators are for integers"))
        }
        _ if class == Class::Bool => Meaning::Refused(None),
        Operator::Add if x == y => Meaning::Same(Op::Add),
        Operator::Sub if x == y => Meaning::Same(Op::Sub),
        Operator::Add | Operator::Sub => Meaning::Refused(
            (x.as_scalar().is_some() != y.as_scalar().is_some())
                .then_some("a scalar is not spread over components: make a vector or matrix of it"),
        ),
        Operator::Mult => product(x, y),
        Operator::MatMult => matrix_product(x, y).map_or(Meaning::Refused(None), Meaning::MatMul),
        Operator::Div => quotient(x, y),
        Operator::FloorDiv if x == y && x.as_scalar().is_some() => Meaning::Same(Op::FloorDiv),
        Operator::Mod if x == y => Meaning::Same(Op::Rem),
        Operator::Pow if x == y && x.as_scalar().is_some() && class == Class::Float => Meaning::Same(Op::Pow),
        Operator::Pow if class == Class::Int => {
            Meaning::Refused(Some("`**` is for floats: write the product, or convert with `float32(…)`"))
        }
        Operator::FloorDiv | Operator::Mod | Operator::Pow => Meaning::Refused(None),
    }
}

fn product(x: Type, y: Type) -> Meaning {
    if let Some(result) = matrix_product(x, y) {
        return Meaning::MatMul(result);
    }
    match (x.kind(), y.kind()) {
        (TypeKind::Scalar(_), TypeKind::Scalar(_)) => Meaning::Same(Op::Mul),
        (TypeKind::Scalar(_), _) => Meaning::SplatLeft(Op::Mul),
        (_, TypeKind::Scalar(_)) => Meaning::SplatRight(Op::Mul),
        (TypeKind::Quat(_), TypeKind::Quat(_)) => Meaning::Library("quat_mul"),
        (TypeKind::Transform(_), TypeKind::Transform(_)) => Meaning::Library("transform_multiply"),
        (TypeKind::Vector { .. }, TypeKind::Vector { .. }) if x == y => {
            Meaning::Refused(Some("write `cw_mul(a, b)` for the product of each component, `dot(a, b)` for their sum"))
        }
        (TypeKind::Quat(_), TypeKind::Vector { .. }) => Meaning::Refused(Some("write `quat_rotate(q, v)`")),
        (TypeKind::Transform(_), TypeKind::Vector { .. }) => {
            Meaning::Refused(Some("write `transform_point(t, p)` or `transform_vector(t, v)`"))
        }
        _ => Meaning::Refused(None),
    }
}

fn quotient(x: Type, y: Type) -> Meaning {
    match (x.kind(), y.kind()) {
        (TypeKind::Scalar(_), TypeKind::Scalar(_)) => Meaning::Same(Op::Div),
        (TypeKind::Scalar(_), _) => Meaning::SplatLeft(Op::Div),
        (_, TypeKind::Scalar(_)) => Meaning::SplatRight(Op::Div),
        _ if x == y => Meaning::Refused(Some("write `cw_div(a, b)` for the quotient of each component")),
        _ => Meaning::Refused(None),
    }
}

/// The type of a product in the sense of linear algebra.
fn matrix_product(x: Type, y: Type) -> Option<Type> {
    match (x.kind(), y.kind()) {
        (TypeKind::Matrix { elem, rows, cols }, TypeKind::Matrix { rows: inner, cols: result, .. })
            if cols == inner =>
        {
            Some(Type::matrix(*elem, *rows, *result))
        }
        (TypeKind::Matrix { elem, rows, cols }, TypeKind::Vector { len, .. }) if cols == len => {
            Some(Type::vector(*elem, *rows))
        }
        (TypeKind::Vector { elem, len }, TypeKind::Matrix { rows, cols, .. }) if len == rows => {
            Some(Type::vector(*elem, *cols))
        }
        _ => None,
    }
}
