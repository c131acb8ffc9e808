//! What a variable of the device begins with: bytes that are known when compiling.

use super::constant::unnested;
use super::{Result, Text};
use crate::c::ast::{Binary, Expr, ExprKind, TypeExpr, Unary};
use crate::c::types::{self, CType};
use ir::{Const, Scalar};

impl Text<'_> {
    /// Appends the bytes of what a variable of type `ty` begins with.
    pub(super) fn initial(&mut self, init: &Expr, ty: &CType, bytes: &mut Vec<u8>) -> Result<()> {
        match (&init.kind, ty) {
            (ExprKind::Braces(items), CType::Array(elem, len)) => {
                let (elem, _) = unnested(elem, *len, items);
                let (before, step) = (bytes.len(), elem.size() as usize);
                for (index, item) in items.iter().enumerate() {
                    bytes.resize(before + index * step, 0);
                    self.initial(item, elem, bytes)?;
                }
                Ok(())
            }
            (_, &CType::Scalar(scalar)) => {
                let value = match self.number(init) {
                    Some(value) => converted(value, scalar),
                    None => Const::int(scalar, self.constant(init, &Vec::new(), &[])?),
                };
                bytes.extend_from_slice(&value.0.to_le_bytes()[..ty.size() as usize]);
                Ok(())
            }
            _ => {
                let message = format!("what `{}` begins with is not read", ty.name());
                let help = "leave it out, and set it with `RawModule.get_global`";
                Err(self.error("unsupported-syntax", init.span, message, help))
            }
        }
    }

    /// The number that an expression is, and its type; nothing where it is not known.
    fn number(&mut self, expr: &Expr) -> Option<(Const, Scalar)> {
        match &expr.kind {
            ExprKind::Float(value, scalar) => Some((Const::float(*scalar, *value), *scalar)),
            ExprKind::Unary(op @ (Unary::Plus | Unary::Minus), operand) => {
                let (value, scalar) =
                    self.number(operand).filter(|(_, scalar)| scalar.is_float()).or_else(|| self.whole(expr))?;
                let is_negated = *op == Unary::Minus && scalar.is_float();
                Some((if is_negated { Const::float(scalar, -value.as_float(scalar)) } else { value }, scalar))
            }
            ExprKind::Binary(op, x, y) => match (self.number(x)?, self.number(y)?) {
                ((_, s), (_, t)) if !s.is_float() && !t.is_float() => self.whole(expr),
                (x, y) => arithmetic(*op, x, y),
            },
            ExprKind::Conditional(test, x, y) => {
                let (test, scalar) = self.number(test)?;
                self.number(if converted((test, scalar), Scalar::Bool).0 != 0 { x } else { y })
            }
            ExprKind::Cast(ty, operand) => self.cast_number(ty, operand),
            ExprKind::Construct(ty, args) => match args.as_slice() {
                [one] => self.cast_number(ty, one),
                _ => None,
            },
            _ => self.whole(expr),
        }
    }

    fn cast_number(&mut self, ty: &TypeExpr, operand: &Expr) -> Option<(Const, Scalar)> {
        let scalar = self.quietly(ty, &Vec::new())?.as_scalar()?;
        let value = self.number(operand)?;
        Some((converted(value, scalar), scalar))
    }

    fn whole(&mut self, expr: &Expr) -> Option<(Const, Scalar)> {
        let (value, scalar) = self.evaluated(expr, &Vec::new(), &[])?;
        Some((Const::int(scalar, value), scalar))
    }
}

fn converted((value, from): (Const, Scalar), to: Scalar) -> Const {
    if from.is_float() { Const::float(to, value.as_float(from)) } else { Const::int(to, value.as_int(from)) }
}

/// Arithmetic of floats, or of a float and an integer, rounded once.
fn arithmetic(op: Binary, x: (Const, Scalar), y: (Const, Scalar)) -> Option<(Const, Scalar)> {
    let scalar = types::common(x.1, y.1);
    let (x, y) = (converted(x, scalar).as_float(scalar), converted(y, scalar).as_float(scalar));
    let value = match op {
        Binary::Add => x + y,
        Binary::Sub => x - y,
        Binary::Mul => x * y,
        Binary::Div => x / y,
        _ => return None,
    };
    Some((Const::float(scalar, value), scalar))
}
