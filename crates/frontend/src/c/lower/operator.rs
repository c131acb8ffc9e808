//! Operators between two operands, on numbers and on pointers.

use super::Result;
use super::body::{Body, Held, Memory, Rvalue};
use crate::c::ast::Binary;
use crate::c::types::{self, CType};
use diagnostics::Span;
use ir::{Attr, Op, Scalar, Site, SiteKind, Type, Value};

/// Where the operands and the whole stand.
#[derive(Clone, Copy)]
pub(super) struct Sides {
    pub(super) left: Span,
    pub(super) right: Span,
    pub(super) whole: Span,
}

impl Body<'_, '_, '_> {
    pub(super) fn binary(&mut self, op: Binary, x: Rvalue, y: Rvalue, sides: Sides) -> Result<Rvalue> {
        let outer = std::mem::replace(&mut self.span, sides.whole);
        let (x, y) = (self.decayed(x), self.decayed(y));
        let result = match (x.ty.as_scalar(), y.ty.as_scalar()) {
            (Some(s), Some(t)) => self.numbers(op, (x, s), (y, t), sides),
            _ => self.pointers(op, x, y, sides),
        };
        self.span = outer;
        result
    }

    fn numbers(&mut self, op: Binary, x: (Rvalue, Scalar), y: (Rvalue, Scalar), sides: Sides) -> Result<Rvalue> {
        let is_shift = matches!(op, Binary::Shl | Binary::Shr);
        let for_ints = is_shift || matches!(op, Binary::Rem | Binary::And | Binary::Or | Binary::Xor);
        if for_ints && (x.1.is_float() || y.1.is_float()) {
            let (left, right) = (x.0.ty.name(), y.0.ty.name());
            let message = format!("cannot apply `{}` to `{left}` and `{right}`", op.sign());
            let help = if op == Binary::Rem { "write `fmod(x, y)` for floats" } else { "it is for integers" };
            return Err(self.error("type-mismatch", sides.whole, message, help));
        }
        // A shift has the type of what is shifted.
        let scalar = if is_shift { types::promoted(x.1) } else { types::common(x.1, y.1) };
        let ty = CType::Scalar(scalar);
        let left = self.converted(x.0, &ty, sides.left)?.one();
        let right = self.converted(y.0, &ty, sides.right)?.one();
        let found = match op {
            Binary::Add => Op::Add,
            Binary::Sub => Op::Sub,
            Binary::Mul => Op::Mul,
            Binary::Div => Op::Div,
            Binary::Rem => Op::Rem,
            Binary::And => Op::And,
            Binary::Or => Op::Or,
            Binary::Xor => Op::Xor,
            Binary::Shl => Op::Shl,
            Binary::Shr => Op::Shr,
            Binary::Eq | Binary::Ne | Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge => {
                let value = self.b().compare(comparison(op), left, right);
                return Ok(Rvalue::value(CType::BOOL, value));
            }
        };
        if matches!(op, Binary::Div | Binary::Rem) && scalar.is_int() {
            self.check_divisor(right, sides.whole);
        }
        let value = self.b().binary(found, left, right);
        Ok(Rvalue::scalar(scalar, value))
    }

    fn check_divisor(&mut self, divisor: Value, span: Span) {
        let is_known = self.func.as_const(divisor).is_some_and(|constant| constant.0 != 0);
        if self.compile.unit.options.checked && !is_known {
            let site = Site { kind: SiteKind::DivisionByZero, span, name: String::new() };
            let site = self.compile.unit.module.add_site(site);
            self.b().check(Op::CheckNonZero, &[divisor], site);
        }
    }

    /// `p + i`, `p - q`, `p < q`, `p == nullptr`.
    fn pointers(&mut self, op: Binary, x: Rvalue, y: Rvalue, sides: Sides) -> Result<Rvalue> {
        match (&x.ty, &x.held, &y.ty, &y.held) {
            (CType::Pointer(to, _), Held::Pointer(memory), CType::Scalar(_), _)
                if matches!(op, Binary::Add | Binary::Sub) && **to != CType::Void =>
            {
                let mut index = self.index(&y, sides.right)?;
                if op == Binary::Sub {
                    index = self.b().unary(Op::Neg, index);
                }
                let held = Held::Pointer(self.moved(memory, index, to.n_cells()));
                Ok(Rvalue { ty: x.ty.clone(), held })
            }
            (CType::Scalar(_), _, CType::Pointer(..), _) if op == Binary::Add => {
                let swapped = Sides { left: sides.right, right: sides.left, whole: sides.whole };
                self.pointers(op, y, x, swapped)
            }
            (CType::Pointer(to, _), Held::Pointer(left), CType::Pointer(other, _), Held::Pointer(right))
                if op == Binary::Sub && to == other && **to != CType::Void =>
            {
                let distance = self.distance(left, right, to);
                Ok(Rvalue::scalar(Scalar::I64, distance))
            }
            (CType::Pointer(to, _), Held::Pointer(left), CType::Pointer(other, _), Held::Pointer(right))
                if op.is_comparison() && (to == other || **to == CType::Void || **other == CType::Void) =>
            {
                let (left, right) = if left.base == right.base {
                    (self.at(left), self.at(right))
                } else {
                    (self.address(left, to), self.address(right, other))
                };
                let value = self.b().compare(comparison(op), left, right);
                Ok(Rvalue::value(CType::BOOL, value))
            }
            // A comparison with the literal 0.
            (CType::Pointer(to, _), Held::Pointer(memory), CType::Scalar(_), Held::One(zero))
                if matches!(op, Binary::Eq | Binary::Ne)
                    && self.func.as_const(*zero).is_some_and(|zero| zero.0 == 0) =>
            {
                let left = self.address(memory, to);
                let null = self.b().int(Scalar::U64, 0);
                let value = self.b().compare(comparison(op), left, null);
                Ok(Rvalue::value(CType::BOOL, value))
            }
            _ => {
                let message = format!("cannot apply `{}` to `{}` and `{}`", op.sign(), x.ty.name(), y.ty.name());
                let help = match (&x.ty, &y.ty) {
                    (CType::Vector(..), _) | (_, CType::Vector(..)) => {
                        "vectors have no operators: write each component"
                    }
                    (CType::Struct(_), _) | (_, CType::Struct(_)) => "structs have no operators: write each member",
                    _ => "operators are for numbers; `+`, `-` and comparisons for pointers too",
                };
                Err(self.error("type-mismatch", sides.whole, message, help))
            }
        }
    }

    pub(super) fn at(&mut self, memory: &Memory) -> Value {
        memory.at.unwrap_or_else(|| self.b().int(Scalar::I64, 0))
    }

    /// How many elements lie between two pointers.
    fn distance(&mut self, left: &Memory, right: &Memory, to: &CType) -> Value {
        let (difference, unit) = if left.base == right.base {
            let (x, y) = (self.at(left), self.at(right));
            (self.b().binary(Op::Sub, x, y), to.n_cells())
        } else {
            let (x, y) = (self.address(left, to), self.address(right, to));
            let bytes = self.b().binary(Op::Sub, x, y);
            (self.b().cast(bytes, Scalar::I64), to.size())
        };
        if unit == 1 {
            return difference;
        }
        let unit = self.b().int(Scalar::I64, unit.into());
        self.b().binary(Op::Div, difference, unit)
    }

    /// The address that a pointer is.
    pub(super) fn address(&mut self, memory: &Memory, to: &CType) -> Value {
        let u64 = Type::scalar(Scalar::U64);
        let base = self.b().push1(Op::Address, &[memory.base], Attr::None, u64);
        let Some(at) = memory.at else { return base };
        let size = self.b().int(Scalar::I64, to.cell().size().into());
        let bytes = self.b().binary(Op::Mul, at, size);
        let bytes = self.b().cast(bytes, Scalar::U64);
        self.b().binary(Op::Add, base, bytes)
    }
}

fn comparison(op: Binary) -> Op {
    match op {
        Binary::Eq => Op::Eq,
        Binary::Ne => Op::Ne,
        Binary::Lt => Op::Lt,
        Binary::Le => Op::Le,
        Binary::Gt => Op::Gt,
        _ => Op::Ge,
    }
}
