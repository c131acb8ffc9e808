//! `for (int i = a; i < b; i += c)` as a counted loop, which is unrolled, widened to lanes and differentiated as such.

use super::body::{Body, Holds, Rvalue, Var};
use super::loops::{Frame, Next};
use super::scan::{self, Changed};
use crate::c::ast::{Binary, Declarator, Expr, ExprKind, For, Name, StmtKind, Storage};
use crate::c::types::{self, CType};
use ir::{Attr, Op, Scalar, Type, Value};

/// What the head of a counted loop says.
pub(super) struct Count {
    name: Name,
    scalar: Scalar,
    start: Expr,
    end: Expr,
    /// Nothing where it is 1.
    step: Option<Expr>,
    is_up: bool,
    /// Whether the end belongs to the count.
    takes_end: bool,
    changed: Vec<Changed>,
}

impl Body<'_, '_, '_> {
    /// The count of a loop whose variable only its head changes, and whose end and step stay what they are.
    ///
    /// Where the variable would pass the least or largest value of its type, C leaves open what happens (signed types) or
    /// never stops; the counted loop stops.
    pub(super) fn counted(&mut self, parts: &For) -> Option<Count> {
        let StmtKind::Declare(list) = &parts.init.kind else { return None };
        let [declared] = list.as_slice() else { return None };
        let Declarator { name, init: Some(start), storage: Storage::Own, .. } = &**declared else { return None };
        let bindings = self.bindings.clone();
        let ty = match declared.ty.kind {
            crate::c::ast::TypeKind::Auto => self.type_of(start).ok()?,
            _ => self.compile.resolve(&declared.ty, &bindings).ok()?,
        };
        let scalar = ty.as_scalar().filter(|scalar| scalar.is_int())?;
        let (step, is_up) = stepped(parts.step.as_ref()?, name)?;
        let ExprKind::Binary(op, left, end) = &parts.test.as_ref()?.kind else { return None };
        if !matches!(&left.kind, ExprKind::Name(found) if found == name) {
            return None;
        }
        let (is_up_to, takes_end) = match op {
            Binary::Lt => (true, false),
            Binary::Le => (true, true),
            Binary::Gt => (false, false),
            Binary::Ge => (false, true),
            _ => return None,
        };
        let changed = scan::changed(&[&parts.body], &[]);
        let is_own = |name: &Name| changed.iter().any(|one| one.name == *name);
        let is_fixed = |body: &Self, expr: &Expr| scan::is_fixed(expr, &changed) && body.is_in_values(expr, name);
        let has_fixed_head = is_fixed(self, end) && step.is_none_or(|step| is_fixed(self, step));
        if is_up != is_up_to || is_own(name) || self.addressed.contains(name) || !has_fixed_head {
            return None;
        }
        let end_scalar = self.type_of(end).ok()?.as_scalar().filter(|scalar| !scalar.is_float())?;
        // The comparison is in the type that both sides have in common; the count goes on in it.
        let compared = types::common(scalar, end_scalar);
        let is_narrow = types::promoted(scalar) != scalar;
        // Counting down, an unsigned variable passes 0 and goes on from the other end.
        if !is_up && !compared.is_signed()
            || is_narrow
            || compared.size() > scalar.size() && !scalar.is_signed()
            || takes_end && !compared.is_signed()
        {
            return None;
        }
        let (start, end, step) = (start.clone(), (**end).clone(), step.cloned());
        Some(Count { name: name.clone(), scalar, start, end, step, is_up, takes_end, changed })
    }

    /// Whether all that an expression reads lies in values, and not in memory that others may change.
    fn is_in_values(&self, expr: &Expr, counter: &Name) -> bool {
        let mut holds = true;
        scan::in_expr(expr, &mut |expr| {
            if let ExprKind::Name(name) = &expr.kind {
                let var = self.find(name).map(|id| &self.vars[id]);
                holds &= name != counter && var.is_none_or(|var| matches!(var.storage, Holds::Values(_)));
            }
        });
        holds
    }

    pub(super) fn count(&mut self, parts: &For, count: Count) {
        let bounds = self.bounds(&count);
        let Ok((bounds, compared)) = bounds else {
            // The body is still read, for its own mistakes.
            let zero = self.b().int(count.scalar, 0);
            let value = Rvalue::scalar(count.scalar, zero);
            let _ = self.declare_value(count.name.clone(), value, false, parts.body.span);
            return self.statement(&parts.body);
        };
        let carried = self.carried(&count.changed);
        let (initial, types) = (self.values_at(&carried), self.types_at(&carried));
        let mut params = vec![Type::scalar(compared)];
        params.extend(&types);
        let (next, n_names) = (Next::Nothing, self.names.len());
        self.loops.push(Frame { carried: carried.clone(), next, n_names, has_break: false, is_switch: false });
        let (region, ()) = self.in_region(&params, |body| {
            let values = body.func.region(body.region).params.clone();
            body.set_at(&carried, &values[1..]);
            let counter = body.b().cast(values[0], count.scalar);
            let storage = Holds::Values(vec![counter]);
            let ty = CType::Scalar(count.scalar);
            body.declare(Var { name: count.name.clone(), ty, is_const: false, storage, constant: None });
            body.scoped(|body| body.statement(&parts.body));
            if !body.is_terminated() {
                body.end_round();
            }
        });
        self.loops.pop();
        let operands = [&bounds[..], &initial].concat();
        let inst = self.b().push(Op::For, &operands, Attr::None, &[region], &types);
        let results = self.func.inst(inst).results.to_vec();
        self.set_at(&carried, &results);
    }

    /// First, end and step, in the type in which they are compared.
    fn bounds(&mut self, count: &Count) -> super::Result<([Value; 3], Scalar)> {
        let start = self.expr(&count.start)?;
        let start = self.converted(start, &CType::Scalar(count.scalar), count.start.span)?;
        let end = self.expr(&count.end)?;
        let end_scalar = end.ty.as_scalar().unwrap_or(count.scalar);
        let compared = types::common(count.scalar, end_scalar);
        let ty = CType::Scalar(compared);
        let first = self.converted(start, &ty, count.start.span)?.one();
        let mut last = self.converted(end, &ty, count.end.span)?.one();
        if count.takes_end {
            let one = self.b().int(compared, 1);
            last = self.b().binary(if count.is_up { Op::Add } else { Op::Sub }, last, one);
        }
        let mut step = match &count.step {
            None => self.b().int(compared, 1),
            Some(step) => {
                let value = self.expr(step)?;
                self.converted(value, &ty, step.span)?.one()
            }
        };
        if !count.is_up {
            step = match self.func.as_const(step) {
                Some(constant) => self.b().int(compared, -constant.as_int(compared)),
                None => self.b().unary(Op::Neg, step),
            };
        }
        Ok(([first, last, step], compared))
    }
}

/// The step of `i++`, `i += c`, `i = i + c` and their like: nothing for 1, and whether it goes up.
fn stepped<'e>(expr: &'e Expr, name: &Name) -> Option<(Option<&'e Expr>, bool)> {
    let is_counter = |expr: &Expr| matches!(&expr.kind, ExprKind::Name(found) if found == name);
    match &expr.kind {
        ExprKind::Step(is_up, _, target) if is_counter(target) => Some((None, *is_up)),
        ExprKind::Assign(Some(op @ (Binary::Add | Binary::Sub)), target, step) if is_counter(target) => {
            Some((Some(step), *op == Binary::Add))
        }
        ExprKind::Assign(None, target, value) if is_counter(target) => match &value.kind {
            ExprKind::Binary(op @ (Binary::Add | Binary::Sub), left, step) if is_counter(left) => {
                Some((Some(step), *op == Binary::Add))
            }
            ExprKind::Binary(Binary::Add, step, right) if is_counter(right) => Some((Some(step), true)),
            _ => None,
        },
        _ => None,
    }
}
