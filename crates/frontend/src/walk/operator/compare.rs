//! Comparisons of two operands.

use super::super::lower::{Lower, Result};
use super::super::operand::Operand;
use super::{Sides, fold, tuple_items};
use crate::HostValue;
use diagnostics::Span;
use ir::{Attr, Op, Scalar, Type, TypeKind, Value};
use ruff_python_ast::CmpOp;

impl Lower<'_, '_> {
    pub(crate) fn compare(&mut self, op: CmpOp, a: &Operand, b: &Operand, span: Span) -> Result<Operand> {
        self.compare_at(op, a, b, Sides::at(span))
    }

    pub(crate) fn compare_at(&mut self, op: CmpOp, a: &Operand, b: &Operand, sides: Sides) -> Result<Operand> {
        match op {
            CmpOp::Is | CmpOp::IsNot => return self.identity(op == CmpOp::Is, a, b, sides),
            CmpOp::In | CmpOp::NotIn => return self.membership(op == CmpOp::In, a, b, sides),
            CmpOp::Eq | CmpOp::NotEq if a.is_none() || b.is_none() => {
                return self.identity(op == CmpOp::Eq, a, b, sides);
            }
            _ => {}
        }
        if let (Operand::Static(x), Operand::Static(y)) = (a, b)
            && let Some(holds) = fold::compare(op, x, y)
        {
            return Ok(Operand::Static(HostValue::Bool(holds)));
        }
        let is_equality = matches!(op, CmpOp::Eq | CmpOp::NotEq);
        if is_equality && let Some(equal) = self.tuples_equal(a, b, sides)? {
            return if op == CmpOp::Eq {
                Ok(equal)
            } else {
                self.unary(ruff_python_ast::UnaryOp::Not, &equal, sides.whole)
            };
        }
        if let Some(compare) = self.rules.compare {
            return compare(self, op, a, b, sides);
        }
        let (x, y) = match self.unify(a, b, sides)? {
            Some((x, y)) if self.ty(x) == self.ty(y) => (x, y),
            _ => match self.mixed(op, a, b, sides)? {
                Some(holds) => return Ok(Operand::Value(holds)),
                None => return Err(self.refuse_comparison(op, a, b, sides)),
            },
        };
        let ty = self.ty(x);
        if !is_comparable(ty) || !(is_equality || ty.as_scalar().is_some()) {
            return Err(self.refuse_comparison(op, a, b, sides));
        }
        if is_equality && ty.as_scalar().is_none() {
            let equal = self.all_equal(x, y);
            return Ok(Operand::Value(if op == CmpOp::Eq { equal } else { self.b().unary(Op::Not, equal) }));
        }
        Ok(Operand::Value(self.b().compare(ordering(op), x, y)))
    }

    /// Compares numbers of two types: integers by their values, an integer beside a float as such a float, as in C.
    fn mixed(&mut self, op: CmpOp, a: &Operand, b: &Operand, sides: Sides) -> Result<Option<Value>> {
        let number = |operand: &Operand| self.type_of(operand)?.as_scalar().filter(|scalar| *scalar != Scalar::Bool);
        let (Some(s), Some(t)) = (number(a), number(b)) else { return Ok(None) };
        if self.retyped(a, b) {
            return Err(super::Reported);
        }
        let (x, y) = (self.value(a, sides.left)?, self.value(b, sides.right)?);
        let common = match (s.is_float(), t.is_float()) {
            (false, false) => {
                let common = common_integer(s, t);
                return Ok(Some(self.compare_numbers(ordering(op), common, x, (y, t))));
            }
            (true, false) => s,
            (false, true) => t,
            _ if s.size() == t.size() => Scalar::F32,
            _ if s.size() > t.size() => s,
            _ => t,
        };
        let (x, y) = (self.b().cast(x, common), self.b().cast(y, common));
        Ok(Some(self.b().compare(ordering(op), x, y)))
    }

    /// Compares two numbers as numbers of a type that holds both. Where no type does, one is a signed integer and the
    /// other a `uint64`: a negative number is below every unsigned one.
    pub(crate) fn compare_numbers(
        &mut self,
        op: Op,
        common: Option<Scalar>,
        x: Value,
        (y, right): (Value, Scalar),
    ) -> Value {
        let mut b = self.b();
        if let Some(scalar) = common {
            let (x, y) = (b.cast(x, scalar), b.cast(y, scalar));
            return b.compare(op, x, y);
        }
        let is_left = !right.is_signed();
        let wide = b.cast(if is_left { x } else { y }, Scalar::I64);
        let zero = b.int(Scalar::I64, 0);
        let is_negative = b.compare(Op::Lt, wide, zero);
        let (x, y) = (b.cast(x, Scalar::U64), b.cast(y, Scalar::U64));
        let among_positive = b.compare(op, x, y);
        // What holds where the signed side is below all that the other can be.
        let holds = match op {
            Op::Ne => true,
            Op::Lt | Op::Le => is_left,
            Op::Gt | Op::Ge => !is_left,
            _ => false,
        };
        let holds = b.bool(holds);
        b.select(is_negative, holds, among_positive)
    }

    /// `is`, `is not`, and comparisons with `None`: an array is `None` where it has no memory.
    fn identity(&mut self, is: bool, a: &Operand, b: &Operand, sides: Sides) -> Result<Operand> {
        let same = match (a, b) {
            (Operand::Value(array), other) | (other, Operand::Value(array))
                if other.is_none() && self.ty(*array).is_array() =>
            {
                let null = self.b().push1(Op::IsNull, &[*array], Attr::None, Type::bool());
                return Ok(Operand::Value(if is { null } else { self.b().unary(Op::Not, null) }));
            }
            (Operand::Static(x), Operand::Static(y)) => x == y,
            // An enum's member is its value: it is the same where the values are.
            _ if self.rules.compare.is_some() && !a.is_none() && !b.is_none() => {
                return self.compare_at(if is { CmpOp::Eq } else { CmpOp::NotEq }, a, b, sides);
            }
            _ if a.is_none() || b.is_none() => false,
            _ => {
                let report = self
                    .report("unsupported-syntax", sides.whole, "`is` compares with `None` and with constants only")
                    .help("write `==`");
                return Err(self.emit(report));
            }
        };
        Ok(Operand::Static(HostValue::Bool(same == is)))
    }

    /// `x in (a, b)`: whether x equals one of the items.
    fn membership(&mut self, is_in: bool, a: &Operand, b: &Operand, sides: Sides) -> Result<Operand> {
        if let (Operand::Static(HostValue::Str(part)), Operand::Static(HostValue::Str(text))) = (a, b) {
            return Ok(Operand::Static(HostValue::Bool(text.contains(part.as_str()) == is_in)));
        }
        let items = self.items(b, sides.right)?;
        let mut found: Option<Value> = None;
        for item in &items {
            match self.compare_at(CmpOp::Eq, a, item, sides)? {
                Operand::Static(HostValue::Bool(false)) => {}
                Operand::Static(_) => return Ok(Operand::Static(HostValue::Bool(is_in))),
                holds => {
                    let holds = self.value(&holds, sides.whole)?;
                    found = Some(match found {
                        Some(before) => self.b().binary(Op::Or, before, holds),
                        None => holds,
                    });
                }
            }
        }
        Ok(match found {
            None => Operand::Static(HostValue::Bool(!is_in)),
            Some(found) if is_in => Operand::Value(found),
            Some(found) => Operand::Value(self.b().unary(Op::Not, found)),
        })
    }

    /// Whether two tuples are equal; `None` where neither operand is a tuple.
    fn tuples_equal(&mut self, a: &Operand, b: &Operand, sides: Sides) -> Result<Option<Operand>> {
        let is_tuple = |operand: &Operand| match operand {
            Operand::Shape(_) => true,
            Operand::Value(value) if self.rules.compare.is_some() => {
                matches!(self.ty(*value).kind(), TypeKind::Tuple(_))
            }
            operand => tuple_items(operand).is_some(),
        };
        if !is_tuple(a) || !is_tuple(b) {
            return Ok(None);
        }
        let (x, y) = (self.items(a, sides.left)?, self.items(b, sides.right)?);
        let mut equal = Operand::Static(HostValue::Bool(x.len() == y.len()));
        if x.len() == y.len() {
            for (x, y) in x.iter().zip(&y) {
                let next = self.compare_at(CmpOp::Eq, x, y, sides)?;
                equal = match (&equal, &next) {
                    (Operand::Static(HostValue::Bool(true)), _) => next,
                    (_, Operand::Static(HostValue::Bool(true))) => equal,
                    (Operand::Static(_), _) | (_, Operand::Static(_)) => Operand::Static(HostValue::Bool(false)),
                    _ => {
                        let (before, next) = (self.value(&equal, sides.whole)?, self.value(&next, sides.whole)?);
                        Operand::Value(self.b().binary(Op::And, before, next))
                    }
                };
            }
        }
        Ok(Some(equal))
    }

    /// Whether all scalars of two values of one type are equal.
    fn all_equal(&mut self, x: Value, y: Value) -> Value {
        let ty = self.ty(x);
        if ty.as_scalar().is_some() {
            return self.b().compare(Op::Eq, x, y);
        }
        let mut equal: Option<Value> = None;
        for i in 0..ty.n_components() as u32 {
            let (x, y) = (self.b().extract(x, i), self.b().extract(y, i));
            let next = self.all_equal(x, y);
            equal = Some(match equal {
                Some(before) => self.b().binary(Op::And, before, next),
                None => next,
            });
        }
        equal.unwrap_or_else(|| self.b().bool(true))
    }

    pub(crate) fn refuse_comparison(&mut self, op: CmpOp, a: &Operand, b: &Operand, sides: Sides) -> super::Reported {
        if self.retyped(a, b) {
            return super::Reported;
        }
        let (x, y) = (self.describe(a), self.describe(b));
        let mut report =
            self.report("type-mismatch", sides.whole, format!("cannot compare {x} and {y} with `{}`", op.as_str()));
        let is_scalar = |operand: &Operand| self.type_of(operand).and_then(Type::as_scalar);
        if let (Some(x), Some(y)) = (is_scalar(a), is_scalar(b)) {
            let help = match (x, y) {
                // A number beside a bool is a question, not a conversion.
                (Scalar::Bool, _) | (_, Scalar::Bool) if x != y => {
                    Some("compare the number with 0, or convert the bool: `int32(…)`".to_owned())
                }
                _ => self.conversion(a, b, sides),
            };
            if let Some(help) = help {
                report = report.help(help);
            }
        } else if self.type_of(a).is_some_and(Type::is_composite) && self.type_of(a) == self.type_of(b) {
            report = report.help("vectors and matrices compare with `==` and `!=`; order their lengths or components");
        }
        self.emit(report)
    }
}

pub(crate) fn ordering(op: CmpOp) -> Op {
    match op {
        CmpOp::Eq => Op::Eq,
        CmpOp::NotEq => Op::Ne,
        CmpOp::Lt => Op::Lt,
        CmpOp::LtE => Op::Le,
        CmpOp::Gt => Op::Gt,
        _ => Op::Ge,
    }
}

/// Whether values of a type can be compared with `==`: it holds no array.
fn is_comparable(ty: Type) -> bool {
    !ty.is_array() && (0..ty.n_components()).all(|i| ty.component(i).is_none_or(is_comparable))
}

/// The smallest type that holds the values of two integer types; none for a signed one beside `uint64`.
fn common_integer(a: Scalar, b: Scalar) -> Option<Scalar> {
    let (large, small) = if a.size() >= b.size() { (a, b) } else { (b, a) };
    if large.is_signed() == small.is_signed() || large.is_signed() && large.size() > small.size() {
        return Some(large);
    }
    (large.size() < 8).then_some(Scalar::I64)
}
