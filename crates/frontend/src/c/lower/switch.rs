//! `switch`: a chain of tests. What falls through into the next case is written out in both.

use super::Result;
use super::body::{Body, Rvalue};
use super::scan;
use crate::c::ast::{Case, Expr, Stmt, StmtKind};
use crate::c::types::{self, CType};
use diagnostics::Span;
use ir::{Attr, Op, Scalar, Value};

impl Body<'_, '_, '_> {
    pub(super) fn switch_statement(&mut self, value: &Expr, cases: &[Case], span: Span) -> Result<()> {
        let found = self.expr(value)?;
        let Some(scalar) = found.ty.as_scalar().filter(|scalar| !scalar.is_float()) else {
            let message = format!("`switch` needs an integer, found `{}`", found.ty.name());
            return Err(self.error("type-mismatch", value.span, message, "convert it: `(int)…`"));
        };
        let scalar = types::promoted(scalar);
        let on = self.converted(found, &CType::Scalar(scalar), value.span)?;
        let mut labels: Vec<Vec<Option<i128>>> = Vec::new();
        for case in cases {
            let mut list = Vec::new();
            for label in &case.labels {
                list.push(match label {
                    Some(label) => Some(self.constant(label)?),
                    None => None,
                });
            }
            let again = list.iter().find(|&label| labels.iter().flatten().any(|known| known == label));
            if again.is_some() {
                return Err(self.error("c-syntax", case.span, "this label stands here twice", "remove one of the two"));
            }
            labels.push(list);
        }
        let bodies: Vec<Vec<&Stmt>> = (0..cases.len()).map(|first| run_from(&cases[first..])).collect();
        let all: Vec<&Stmt> = bodies.iter().flatten().copied().collect();
        // A `break` inside of an `if` leaves a loop of one round.
        if all.iter().any(|stmt| scan::has_jump(stmt, true)) {
            self.once(&all, |body| body.chain(&on, scalar, &labels, &bodies, 0));
        } else {
            self.span = span;
            self.chain(&on, scalar, &labels, &bodies, 0);
        }
        Ok(())
    }

    /// Tests the cases from one on.
    fn chain(&mut self, on: &Rvalue, scalar: Scalar, labels: &[Vec<Option<i128>>], bodies: &[Vec<&Stmt>], from: usize) {
        let run = |body: &mut Self, index: usize| {
            body.scoped(|body| bodies[index].iter().for_each(|stmt| body.statement(stmt)));
        };
        let Some(index) = (from..labels.len()).find(|&index| !labels[index].contains(&None)) else {
            if let Some(default) = labels.iter().position(|list| list.contains(&None)) {
                run(self, default);
            }
            return;
        };
        let condition = self.matches(on.one(), scalar, &labels[index]);
        let before = self.state();
        let (then, ()) = self.in_region(&[], |body| run(body, index));
        let then_state = self.state();
        self.set_state(&before);
        let (other, ()) = self.in_region(&[], |body| body.chain(on, scalar, labels, bodies, index + 1));
        let other_state = self.state();
        self.set_state(&before);
        self.meet(condition, &before, [(then, then_state, Vec::new()), (other, other_state, Vec::new())]);
    }

    fn matches(&mut self, on: Value, scalar: Scalar, labels: &[Option<i128>]) -> Value {
        let mut found: Option<Value> = None;
        for label in labels.iter().flatten() {
            let label = self.b().int(scalar, *label);
            let is_this = self.b().push1(Op::Eq, &[on, label], Attr::None, ir::Type::bool());
            found = Some(match found {
                Some(before) => self.b().binary(Op::Or, before, is_this),
                None => is_this,
            });
        }
        found.unwrap_or_else(|| self.b().bool(false))
    }
}

/// The statements that run from the first of some cases on, up to a `break` that ends a case.
fn run_from(cases: &[Case]) -> Vec<&Stmt> {
    let mut run = Vec::new();
    for case in cases {
        for stmt in &case.body {
            if collect(stmt, &mut run) {
                return run;
            }
        }
    }
    run
}

/// Appends a statement; true where the run ends with it. Braces around a case are looked into, if nothing in them is
/// declared.
fn collect<'s>(stmt: &'s Stmt, run: &mut Vec<&'s Stmt>) -> bool {
    match &stmt.kind {
        StmtKind::Break => return true,
        StmtKind::Block(body) if matches!(body.last().map(|last| &last.kind), Some(StmtKind::Break)) => {
            for stmt in body {
                if collect(stmt, run) {
                    return true;
                }
            }
        }
        _ => run.push(stmt),
    }
    matches!(stmt.kind, StmtKind::Return(_) | StmtKind::Continue)
}
