//! What names stand for after a loop.
//!
//! ```text
//! for i in range(n):          v5: f32 = for v1: i32 = v2 to v0 step v3 with (v4: f32 = v6) {
//!     z = a[i]          ->      v7: f32 = load …
//! a[0] = z                      continue v7
//!                             }
//! ```
//!
//! A name that the loop sets first is handed on from round to round where something reads it later: it is 0 before the
//! loop sets it, and whoever reads it is warned.

use super::branch::{Joined, union};
use super::lower::{Binding, Carried, Doubt, LoopFrame, Lower, Names};
use super::operand::Operand;
use super::repeat::{Findings, Head, Plan, is_true};
use ir::InstId;

impl Lower<'_, '_> {
    /// Names that the loop sets first and that are read after it: 0 where it ends without setting them.
    pub(super) fn late_names(
        &self,
        plan: &Plan<'_>,
        frame: &LoopFrame,
        before: &Names,
        findings: &Findings,
    ) -> Vec<(String, Joined)> {
        let mut late = Vec::new();
        for name in &plan.changed {
            let is_carried = frame.carried.iter().any(|carried| carried.name == *name);
            let is_read = self.reads.iter().any(|(read, at)| read == name && *at >= plan.end)
                || self.loops.iter().chain([frame]).flat_map(|frame| &frame.early).any(|(read, _)| read == name);
            if is_carried
                || !is_read
                || findings.forgotten.contains(name)
                || matches!(before.get(name), Some(Binding::Is(_)))
            {
                continue;
            }
            // The exits that set the name decide its type.
            let bindings = exits(plan, frame).filter_map(|names| names.get(name)).map(|binding| match binding {
                Binding::Is(operand) => Some(operand),
                Binding::Open(..) | Binding::Failed => None,
            });
            if let Some(operands) = bindings.collect::<Option<Vec<_>>>().filter(|operands| !operands.is_empty())
                && let Some(joined) = self.late_form(&operands)
                && !joined.types().is_empty()
            {
                late.push((name.clone(), joined));
            }
        }
        late
    }

    fn late_form(&self, operands: &[&Operand]) -> Option<Joined> {
        match self.join(operands)? {
            Joined::Same(operand) => self.carried_form(&operand),
            joined => Some(joined),
        }
    }

    /// Sets the names after the loop.
    pub(super) fn leave(&mut self, plan: &Plan<'_>, frame: &LoopFrame, inst: InstId, before: Names) {
        let results = self.func.inst(inst).results.clone();
        let mut results = results.into_iter();
        let inside = union(frame.breaks.iter().chain(&frame.rounds));
        self.names = before.clone();
        let line = self.line_of(plan.span);
        for carried in &frame.carried {
            let operand = carried.joined.rebuild(&mut results);
            let doubt = self.doubt_after(plan, frame, carried, &before);
            self.bind_carried(&carried.name, operand, &before);
            if let Some(doubt) = doubt {
                self.names.set_doubt(&carried.name, doubt);
            }
        }
        for name in inside {
            let is_carried = frame.carried.iter().any(|carried| carried.name == name);
            if is_carried || !plan.changed.contains(&name) {
                if self.names.get(&name).is_none() {
                    let text = format!("`{name}` is not set where the loop on line {line} runs no round");
                    self.names.set(&name, Binding::Open(text, plan.span));
                }
                continue;
            }
            let open = match self.names.get(&name) {
                Some(Binding::Is(_)) => {
                    format!("`{name}` is changed by the loop on line {line} to something of another kind")
                }
                _ => format!("`{name}` is not set where the loop on line {line} runs no round"),
            };
            let within = frame.breaks.iter().chain(&frame.rounds).find_map(|names| match names.get(&name) {
                Some(open @ Binding::Open(..)) => Some(open.clone()),
                _ => None,
            });
            self.names.set(&name, within.unwrap_or(Binding::Open(open, plan.span)));
        }
        // `while True` without a `break` never ends.
        if let Head::While(test) = plan.head
            && is_true(test)
            && frame.breaks.is_empty()
        {
            self.unreachable();
        }
    }

    /// Where a name that a loop carries may not be set after it.
    fn doubt_after(&self, plan: &Plan<'_>, frame: &LoopFrame, carried: &Carried, before: &Names) -> Option<Doubt> {
        let name = &carried.name;
        if !carried.is_late {
            return before.doubt(name).cloned();
        }
        let line = self.line_of(plan.span);
        if !plan.is_sure {
            return Some((format!("`{name}` is not set where the loop on line {line} runs no round"), plan.span));
        }
        match exits(plan, frame).any(|names| names.get(name).is_none()) {
            true => Some((format!("`{name}` is not set wherever the loop on line {line} ends"), plan.span)),
            false => exits(plan, frame).find_map(|names| names.doubt(name).cloned()),
        }
    }
}

/// The names wherever the loop may end: at each `break`, and after a round unless it is a `while True`.
fn exits<'f>(plan: &Plan<'_>, frame: &'f LoopFrame) -> impl Iterator<Item = &'f Names> {
    let is_endless = matches!(plan.head, Head::While(_)) && plan.is_sure;
    frame.breaks.iter().chain(if is_endless { &[] } else { &frame.rounds[..] })
}
