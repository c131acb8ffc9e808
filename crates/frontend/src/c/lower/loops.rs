//! `while`, `do` and `for`: loops that carry the variables which they change.

use super::Result;
use super::body::{Body, Holds, VarId};
use super::scan;
use crate::c::ast::{Expr, For, Stmt, StmtKind};
use diagnostics::Span;
use ir::{Attr, Op, Type, Value};

/// A loop around.
pub(super) struct Frame {
    /// What it carries: a variable and which of its values.
    pub(super) carried: Vec<(VarId, usize)>,
    /// What runs between a `continue` and the next round.
    pub(super) next: Next,
    /// Names in scope where `next` was written.
    pub(super) n_names: usize,
    pub(super) has_break: bool,
    /// A `switch` that is left by `break`, which a `continue` cannot leave.
    pub(super) is_switch: bool,
}

#[derive(Clone)]
pub(super) enum Next {
    Nothing,
    /// The last part of a `for`.
    Step(Box<Expr>),
    /// The test of a `do`.
    Until(Box<Expr>),
}

impl Body<'_, '_, '_> {
    /// The values that are carried by a loop which changes variables.
    pub(super) fn carried(&self, changed: &[scan::Changed]) -> Vec<(VarId, usize)> {
        let mut carried = Vec::new();
        for change in changed {
            let Some(id) = self.find(&change.name) else { continue };
            let Holds::Values(values) = &self.vars[id].storage else { continue };
            // A pointer that is only moved stays in its memory; a store to where it leads does not change it.
            let first = match (values.len(), change) {
                (2, scan::Changed { is_direct: false, .. }) => 2,
                (2, scan::Changed { is_whole: false, .. }) => 1,
                _ => 0,
            };
            carried.extend((first..values.len()).map(|part| (id, part)));
        }
        carried
    }

    pub(super) fn values_at(&self, places: &[(VarId, usize)]) -> Vec<Value> {
        let at = |&(id, part): &(VarId, usize)| match &self.vars[id].storage {
            Holds::Values(values) => values[part],
            Holds::Memory(_) | Holds::Failed => panic!("a loop carries values"),
        };
        places.iter().map(at).collect()
    }

    pub(super) fn set_at(&mut self, places: &[(VarId, usize)], found: &[Value]) {
        for (&(id, part), &value) in places.iter().zip(found) {
            if let Holds::Values(values) = &mut self.vars[id].storage {
                values[part] = value;
            }
        }
    }

    pub(super) fn types_at(&self, places: &[(VarId, usize)]) -> Vec<Type> {
        self.values_at(places).iter().map(|&value| self.func.ty(value)).collect()
    }

    /// A loop that runs until something leaves it.
    fn repeat(&mut self, carried: Vec<(VarId, usize)>, next: Next, fill: impl FnOnce(&mut Self)) -> bool {
        let (initial, types) = (self.values_at(&carried), self.types_at(&carried));
        let n_names = self.names.len();
        self.loops.push(Frame { carried: carried.clone(), next, n_names, has_break: false, is_switch: false });
        let (region, ()) = self.in_region(&types, |body| {
            let params = body.func.region(body.region).params.clone();
            body.set_at(&carried, &params);
            fill(body);
            if !body.is_terminated() {
                body.end_round();
            }
        });
        let frame = self.loops.pop();
        let inst = self.b().push(Op::Loop, &initial, Attr::None, &[region], &types);
        let results = self.func.inst(inst).results.to_vec();
        self.set_at(&carried, &results);
        frame.is_some_and(|frame| frame.has_break)
    }

    pub(super) fn while_statement(&mut self, test: &Expr, stmt: &Stmt) {
        let carried = self.carried(&scan::changed(&[stmt], &[test]));
        let is_endless = self.known(test).is_some_and(|value| value != 0);
        let leaves = self.repeat(carried, Next::Nothing, |body| {
            if !is_endless {
                body.leave_unless(test);
            }
            body.scoped(|body| body.statement(stmt));
        });
        if is_endless && !leaves {
            self.unreachable();
        }
    }

    pub(super) fn do_statement(&mut self, stmt: &Stmt, test: &Expr) {
        let carried = self.carried(&scan::changed(&[stmt], &[test]));
        self.repeat(carried, Next::Until(Box::new(test.clone())), |body| body.scoped(|body| body.statement(stmt)));
    }

    pub(super) fn for_statement(&mut self, parts: &For) {
        self.scoped(|body| {
            if let Some(count) = body.counted(parts) {
                return body.count(parts, count);
            }
            if !matches!(parts.init.kind, StmtKind::Empty) {
                body.statement(&parts.init);
            }
            let exprs: Vec<&Expr> = parts.test.iter().chain(&parts.step).collect();
            let carried = body.carried(&scan::changed(&[&parts.body], &exprs));
            let next = parts.step.clone().map_or(Next::Nothing, |step| Next::Step(Box::new(step)));
            let test = parts.test.as_ref().filter(|test| body.known(test).is_none_or(|value| value == 0));
            let leaves = body.repeat(carried, next, |body| {
                if let Some(test) = test {
                    body.leave_unless(test);
                }
                body.scoped(|body| body.statement(&parts.body));
            });
            if test.is_none() && !leaves {
                body.unreachable();
            }
        });
    }

    /// Leaves the loop unless a test holds.
    fn leave_unless(&mut self, test: &Expr) {
        let Ok(condition) = self.condition(test) else { return };
        self.span = test.span;
        let (go, ()) = self.in_region(&[], |body| body.b().yield_(&[]));
        let (stop, ()) = self.in_region(&[], |body| body.leave_loop());
        self.b().push(Op::If, &[condition], Attr::None, &[go, stop], &[]);
    }

    fn leave_loop(&mut self) {
        let Some(frame) = self.loops.last_mut() else { return };
        frame.has_break = true;
        let carried = frame.carried.clone();
        let values = self.values_at(&carried);
        self.b().break_(&values);
    }

    /// Goes to the next round, by what stands between the rounds.
    pub(super) fn end_round(&mut self) {
        let Some(frame) = self.loops.last() else { return };
        let (carried, next, n_names) = (frame.carried.clone(), frame.next.clone(), frame.n_names);
        // Variables of the body are out of scope there.
        let inner = self.names.split_off(n_names.min(self.names.len()));
        match next {
            Next::Nothing => {}
            Next::Step(step) => {
                let _ = self.expr(&step);
            }
            Next::Until(test) => self.leave_unless(&test),
        }
        self.names.extend(inner);
        let values = self.values_at(&carried);
        self.b().continue_(&values);
    }

    pub(super) fn break_statement(&mut self, span: Span) -> Result<()> {
        if self.loops.is_empty() {
            return Err(self.error("unsupported-syntax", span, "this `break` is in no loop or `switch`", "remove it"));
        }
        self.leave_loop();
        Ok(())
    }

    pub(super) fn continue_statement(&mut self, span: Span) -> Result<()> {
        match self.loops.last() {
            None => Err(self.error("unsupported-syntax", span, "this `continue` is in no loop", "remove it")),
            Some(frame) if frame.is_switch => {
                let message = "a `continue` in a `switch` that an `if` leaves by `break` is not read";
                Err(self.error("unsupported-syntax", span, message, "write the `switch` as `if` and `else`"))
            }
            Some(_) => {
                self.end_round();
                Ok(())
            }
        }
    }

    /// Statements that run once and may be left by `break`.
    pub(super) fn once(&mut self, stmts: &[&Stmt], fill: impl FnOnce(&mut Self)) {
        let carried = self.carried(&scan::changed(stmts, &[]));
        let (initial, types) = (self.values_at(&carried), self.types_at(&carried));
        let n_names = self.names.len();
        let next = Next::Nothing;
        self.loops.push(Frame { carried: carried.clone(), next, n_names, has_break: false, is_switch: true });
        let (region, ()) = self.in_region(&types, |body| {
            let params = body.func.region(body.region).params.clone();
            body.set_at(&carried, &params);
            fill(body);
            if !body.is_terminated() {
                body.leave_loop();
            }
        });
        self.loops.pop();
        let inst = self.b().push(Op::Loop, &initial, Attr::None, &[region], &types);
        let results = self.func.inst(inst).results.to_vec();
        self.set_at(&carried, &results);
    }

    pub(super) fn unreachable(&mut self) {
        self.b().push(Op::Unreachable, &[], Attr::None, &[], &[]);
    }
}
