//! What the gang lowering does to each access and branch, in words.

use super::cases::MAX_DEPTH;
use super::widen::{Reason, is_gather};
use crate::Note;
use analysis::{Access, Lanes, Uniformity, classify};
use diagnostics::Span;
use ir::{Function, InstId, Op, RegionId, Value, ValueDef};

/// Notes in the order of the kernel's text: the verdict, then one for each access, branch and loop.
pub(crate) fn explain(func: &Function, plan: Result<(&Uniformity, u32), &Reason>) -> Vec<Note> {
    match plan {
        Ok((uniformity, width)) => {
            let mut text = format!("runs {width} threads at a time as lanes of vectors");
            if super::is_long(func) {
                text.push_str(", masked throughout: the kernel is so long that it is compiled once");
            }
            let mut notes = vec![Note { span: Span::NONE, text }];
            explain_region(func, uniformity, func.body, &mut notes);
            notes
        }
        Err(reason) => {
            let span = reason.inst.map_or(Span::NONE, |id| func.inst(id).span);
            vec![Note { span, text: format!("each thread runs alone: {}", reason.text) }]
        }
    }
}

/// Notes on each access, branch and loop of a region that runs as gangs.
pub(crate) fn explain_region(func: &Function, uniformity: &Uniformity, at: RegionId, notes: &mut Vec<Note>) {
    region(func, uniformity, at, false, notes);
}

fn region(func: &Function, uniformity: &Uniformity, region_id: RegionId, is_masked: bool, notes: &mut Vec<Note>) {
    for &id in &func.region(region_id).insts {
        let inst = func.inst(id);
        let is_divergent = uniformity.is_divergent(id);
        let text = match inst.op {
            Op::Load | Op::Store | Op::Atomic | Op::AtomicCas => Some(access(func, uniformity, id, is_masked)),
            Op::If if is_divergent && !is_masked && has_ends(func, uniformity, inst.operands[0], MAX_DEPTH) => Some(
                "branch: the first and the last lane tell whether all or none take it, arms under masks where not"
                    .into(),
            ),
            Op::If if is_divergent => Some("branch: divergent, arms under masks".into()),
            Op::If => Some("branch: uniform".into()),
            Op::For | Op::Loop if is_divergent => Some("loop: divergent, runs until the last lane is done".into()),
            Op::For | Op::Loop => Some("loop: uniform".into()),
            _ => None,
        };
        // A loop that was written out has the same to say of each round.
        let note = text.map(|text| Note { span: inst.span, text });
        notes.extend(note.filter(|note| !notes.contains(note)));
        for &inner in &inst.regions {
            region(func, uniformity, inner, is_masked || is_divergent, notes);
        }
    }
}

/// Whether a condition is put together from comparisons of what is the same in all lanes or grows evenly.
fn has_ends(func: &Function, uniformity: &Uniformity, condition: Value, depth: u32) -> bool {
    let ValueDef::Result(id, _) = func.def(condition) else { return uniformity.is_uniform(condition) };
    let inst = func.inst(id);
    let mut operands = inst.operands.iter();
    match inst.op {
        _ if uniformity.is_uniform(condition) => true,
        Op::And | Op::Or | Op::Not => depth > 0 && operands.all(|&value| has_ends(func, uniformity, value, depth - 1)),
        Op::Lt | Op::Le | Op::Gt | Op::Ge | Op::Eq | Op::Ne => {
            operands.all(|&value| uniformity.lanes(value) != Lanes::Varying)
        }
        _ => false,
    }
}

fn access(func: &Function, uniformity: &Uniformity, id: InstId, is_masked: bool) -> String {
    let inst = func.inst(id);
    let verb = match inst.op {
        Op::Load => "load",
        Op::Store => "store",
        _ => "atomic",
    };
    let way = match classify(func, uniformity, id, true) {
        _ if matches!(inst.op, Op::Atomic | Op::AtomicCas) => {
            let is_uniform = inst.operands[1..inst.operands.len() - 1]
                .iter()
                .all(|&operand| uniformity.lanes(operand) == Lanes::Uniform);
            if is_uniform { "uniform".into() } else { "lane by lane".into() }
        }
        Access::Own { is_same: true } => "own array, lanes side by side".into(),
        Access::Own { is_same: false } => "own array, lane by lane".into(),
        Access::Uniform => "uniform".into(),
        _ if is_gather(func, uniformity, id) => if inst.op == Op::Store { "scatter" } else { "gather" }.into(),
        Access::Unit => "unit stride".into(),
        Access::Strided(step) => format!("strided {step}"),
        Access::Gather => "gather".into(),
    };
    let mask = if is_masked { ", masked where lanes part" } else { "" };
    format!("{verb}: {way}{mask}")
}
