//! Loops over what is known while lowering: the body once an item.
//!
//! ```text
//! for x in (1.0, 2.0): …     ->    the body with x = 1.0, then the body with x = 2.0
//! ```
//!
//! A `break` or `continue` that is surely reached, such as one under `if wp.static(…)`, ends the rounds or the round.

use super::lower::{Lower, Result};
use super::operand::Operand;
use diagnostics::Span;
use ir::{Op, RegionId};
use ruff_python_ast::StmtFor;

/// A loop that is being unrolled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unrolled {
    region: RegionId,
    /// Loops around it that are none such.
    n_loops: usize,
    /// What ended the round at hand.
    jump: Option<Op>,
}

impl Lower<'_, '_> {
    /// A loop over items known while lowering: the body once an item.
    pub(crate) fn unrolled(&mut self, stmt: &StmtFor, items: Vec<Operand>) -> Result<()> {
        let span = self.span_of(&*stmt.iter);
        self.unrolled.push(Unrolled { region: self.region, n_loops: self.loops.len(), jump: None });
        let result = self.rounds(stmt, items, span);
        self.unrolled.pop();
        result
    }

    fn rounds(&mut self, stmt: &StmtFor, items: Vec<Operand>, span: Span) -> Result<()> {
        for item in items {
            if self.is_terminated() {
                break;
            }
            self.assign(&stmt.target, item, span)?;
            self.body(&stmt.body);
            if self.unrolled.last_mut().and_then(|unrolled| unrolled.jump.take()) == Some(Op::Break) {
                break;
            }
        }
        Ok(())
    }

    /// `break` or `continue` in a loop that is unrolled: where it is surely reached, what follows is not lowered.
    pub(crate) fn jump_unrolled(&mut self, op: Op, span: Span) -> Result<()> {
        let region = self.region;
        match self.unrolled.last_mut() {
            Some(unrolled) if unrolled.region == region => {
                unrolled.jump = Some(op);
                Ok(())
            }
            _ => {
                let message = format!(
                    "`{}` in a loop that is unrolled while compiling depends on what is known at run time only",
                    op.name()
                );
                Err(self.error("unrolled-jump", span, message))
            }
        }
    }

    /// Whether the innermost loop is one that is unrolled.
    pub(crate) fn is_unrolled(&self) -> bool {
        self.unrolled.last().is_some_and(|unrolled| unrolled.n_loops == self.loops.len())
    }

    /// Whether a jump has ended the round of such a loop.
    pub(crate) fn has_jumped(&self) -> bool {
        self.unrolled.last().is_some_and(|unrolled| unrolled.jump.is_some())
    }
}
