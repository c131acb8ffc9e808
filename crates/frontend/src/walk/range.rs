//! `for … in range(…)`: bounds, direction, and the integer type of the induction variable.

use super::lower::{Binding, Lower, Result};
use super::operand::Operand;
use super::repeat::{Head, Plan};
use super::scan;
use crate::HostValue;
use diagnostics::Span;
use ir::{Const, Op, Scalar, Type, Value};
use ruff_python_ast::{Expr, StmtFor};
use ruff_text_size::Ranged;

impl Lower<'_, '_> {
    /// The arguments of `range(…)`, also under `reversed(…)`.
    pub(crate) fn range_call<'a>(&mut self, iter: &'a Expr) -> Option<(&'a [Expr], bool)> {
        let Expr::Call(call) = iter else { return None };
        let Ok(Operand::Static(HostValue::Builtin(name))) = self.quietly(&call.func) else { return None };
        match (name.as_str(), &*call.arguments.args) {
            ("range", args) if (1..=3).contains(&args.len()) && call.arguments.keywords.is_empty() => {
                Some((args, false))
            }
            ("reversed", [inner]) => self.range_call(inner).map(|(args, reversed)| (args, !reversed)),
            _ => None,
        }
    }

    /// Evaluates an expression that must not leave reports behind.
    pub(crate) fn quietly(&mut self, expr: &Expr) -> Result<Operand> {
        let n = self.unit.diagnostics.len();
        let result = self.expr(expr);
        self.unit.diagnostics.truncate(n);
        result
    }

    pub(crate) fn for_range(&mut self, stmt: &StmtFor, args: &[Expr], reversed: bool) -> Result<()> {
        let span = self.span_of(&*stmt.iter);
        let mut operands = Vec::new();
        for arg in args {
            operands.push(self.expr(arg)?);
        }
        let (lo, hi, step) = match operands.len() {
            1 => (Operand::int(0), operands[0].clone(), Operand::int(1)),
            2 => (operands[0].clone(), operands[1].clone(), Operand::int(1)),
            _ => (operands[0].clone(), operands[1].clone(), operands[2].clone()),
        };
        if step.as_int() == Some(0) {
            return Err(self.error("zero-step", span, "the step of a `range` cannot be zero"));
        }
        let trips = match (lo.as_int(), hi.as_int(), step.as_int()) {
            (Some(lo), Some(hi), Some(step)) => Some(n_rounds(lo, hi, step)),
            _ => None,
        };
        let target = if let Expr::Name(name) = &*stmt.target { name.id.as_str() } else { "" };
        if let (Some(n), Some(lo), Some(step)) = (trips, lo.as_int(), step.as_int())
            && !target.is_empty()
            && scan::uses_in_static(&stmt.body, target)
        {
            let mut items: Vec<Operand> = (0..n).map(|k| Operand::int(lo + k * step)).collect();
            if reversed {
                items.reverse();
            }
            return self.unrolled(stmt, items);
        }
        // The first value and the step of what is walked through.
        let known = match (trips, lo.as_int(), step.as_int()) {
            (Some(n), Some(lo), Some(step)) if reversed => Some([lo + (n - 1) * step, -step]),
            (_, Some(lo), Some(step)) => Some([lo, step]),
            _ => None,
        };
        let scalar = self.range_scalar([&lo, &hi, &step], span)?;
        let mut bounds = [&lo, &hi, &step].map(|operand| self.value_as(operand, Type::scalar(scalar), span));
        if step.as_int().is_none()
            && let Ok(step) = bounds[2]
        {
            self.check_step(step, "range step cannot be zero", span);
        }
        if reversed {
            bounds = self.reverse(bounds, scalar);
        }
        let [lo, hi, step] = bounds;
        let plan = Plan {
            body: &stmt.body,
            changed: self.changed_names(&stmt.body, None, Some(stmt)),
            span,
            end: stmt.end().into(),
            is_sure: trips.is_some_and(|n| n > 0),
            head: Head::For { target: &stmt.target, bounds: [lo?, hi?, step?], scalar, each: None },
        };
        self.repeat(&plan)?;
        self.set_last(stmt, target, scalar, trips.zip(known));
        Ok(())
    }

    /// After a loop of known rounds that always runs to its end, its variable is known again.
    fn set_last(&mut self, stmt: &StmtFor, target: &str, scalar: Scalar, rounds: Option<(i128, [i128; 2])>) {
        let Some((n, [first, step])) = rounds.filter(|(n, _)| *n > 0) else { return };
        let is_changed = scan::assigned(&stmt.body).bound.iter().any(|name| name == target);
        if !target.is_empty() && !is_changed && !scan::has_jump(&stmt.body) && !self.is_terminated() {
            let last = Const::int(scalar, first + (n - 1) * step);
            self.names.set(target, Binding::Is(Operand::Static(HostValue::Scalar(scalar, last))));
        }
    }

    /// The bounds of the same range walked from its end: from the last value down (or up) to before the first.
    fn reverse(&mut self, bounds: [Result<Value>; 3], scalar: Scalar) -> [Result<Value>; 3] {
        let [Ok(lo), Ok(hi), Ok(step)] = bounds else { return bounds };
        let mut b = self.b();
        // last = lo + ((hi - lo - sign) / step) * step, one step before the first value that is out.
        let zero = b.int(scalar, 0);
        let one = b.int(scalar, 1);
        let minus = b.int(scalar, -1);
        let is_up = b.compare(Op::Gt, step, zero);
        let sign = b.select(is_up, one, minus);
        let length = b.binary(Op::Sub, hi, lo);
        let length = b.binary(Op::Sub, length, sign);
        let rounds = b.binary(Op::FloorDiv, length, step);
        let offset = b.binary(Op::Mul, rounds, step);
        let last = b.binary(Op::Add, lo, offset);
        let end = b.binary(Op::Sub, lo, sign);
        let back = b.unary(Op::Neg, step);
        [Ok(last), Ok(end), Ok(back)]
    }

    fn range_scalar(&mut self, operands: [&Operand; 3], span: Span) -> Result<Scalar> {
        if self.rules.promote.is_some() {
            return self.promoted_range(operands, span);
        }
        let mut found: Option<Scalar> = None;
        for operand in operands {
            if Self::is_literal(operand) && operand.as_int().is_some() {
                continue;
            }
            match self.type_of(operand).and_then(Type::as_scalar) {
                Some(scalar) if scalar.is_int() && found.is_none_or(|known| known == scalar) => found = Some(scalar),
                Some(scalar) if scalar.is_int() => {
                    let message = "the bounds of a `range` must have one integer type";
                    return Err(self.error("type-mismatch", span, message));
                }
                _ => {
                    let what = self.describe(operand);
                    return Err(self.error("type-mismatch", span, format!("`range` takes integers, found {what}")));
                }
            }
        }
        let wide = operands.iter().any(|operand| match operand {
            Operand::Static(value) => (self.rules.literal)(value).is_some_and(|scalar| scalar.size() > 4),
            _ => false,
        });
        Ok(found.unwrap_or(if wide { Scalar::I64 } else { Scalar::I32 }))
    }

    /// The one integer type of all bounds; integers narrower than an index count as indices.
    fn promoted_range(&mut self, operands: [&Operand; 3], span: Span) -> Result<Scalar> {
        let mut is_unsigned = true;
        for operand in operands {
            match self.type_of(operand).and_then(Type::as_scalar) {
                Some(scalar) if scalar.is_int() => {
                    is_unsigned &= !scalar.is_signed() || operand.as_int().is_some_and(|value| value >= 0);
                }
                _ => {
                    let what = self.describe(operand);
                    return Err(self.error("type-mismatch", span, format!("`range` takes integers, found {what}")));
                }
            }
        }
        let is_typed = operands.iter().any(|operand| operand.as_int().is_none());
        Ok(if is_unsigned && is_typed { Scalar::U64 } else { Scalar::I64 })
    }
}

/// Length of `range(lo, hi, step)`.
fn n_rounds(lo: i128, hi: i128, step: i128) -> i128 {
    let distance = if step > 0 { hi - lo } else { lo - hi };
    if distance <= 0 { 0 } else { (distance - 1) / step.abs() + 1 }
}

#[cfg(test)]
mod tests {
    use super::n_rounds;

    #[test]
    fn rounds_are_counted_as_python_does() {
        assert_eq!(n_rounds(0, 10, 3), 4);
        assert_eq!(n_rounds(10, 0, -3), 4);
        assert_eq!(n_rounds(0, 0, 1), 0);
        assert_eq!(n_rounds(5, 0, 1), 0);
    }
}
