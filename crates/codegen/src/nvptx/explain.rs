//! What becomes of a kernel on a GPU, in words.

use super::prepare::{BEFORE_SUMS_IN_GRID, STEPS, Says, Target, sums_in_grid};
use super::{PtxOptions, plan};
use crate::Note;
use analysis::{Access, Uniformity, classify};
use diagnostics::Span;
use ir::{FuncRef, Function, FunctionKind, InstId, Module, Op, RegionId};
use std::collections::HashMap;
use transform::jam_threads;
use transform::store_in_warps::is_own_store;

/// Notes in the order of the kernel's text: how threads are laid out, then one for each access and loop.
pub fn explain(module: &Module, kernel: FuncRef, options: &PtxOptions) -> Vec<Note> {
    let func = module.func(kernel);
    let target = Target { options, fast_math: module.fast_math };
    let done = if crate::plan::is_deep(func) { Done::default() } else { done(func, &target) };
    let mut notes = Vec::new();
    if func.kind == FunctionKind::Kernel {
        notes.push(match plan(func, options) {
            _ if done.sums_in_grid => Note {
                span: Span::NONE,
                text: "blocks stay and keep what all threads add to one place; the last one adds it up, in order"
                    .into(),
            },
            _ if done.sums => Note {
                span: Span::NONE,
                text: "blocks stay, and sum up in shared memory what their threads add to an array, where it is small"
                    .into(),
            },
            _ if done.jams => Note {
                span: Span::NONE,
                text: format!("each thread of the GPU runs {} neighbors: reads that they share", jam_threads::WIDTH),
            },
            Ok(plan) => Note {
                span: Span::NONE,
                text: format!("each thread of the GPU runs {} neighbors: vector accesses", plan.width),
            },
            Err(reason) => Note {
                span: reason.inst.map_or(Span::NONE, |id| func.inst(id).span),
                text: format!("each thread of the GPU runs one of the launch: {}", reason.text),
            },
        });
    }
    let uniformity = match func.kind {
        FunctionKind::Kernel => analysis::uniformity(func, options.rank.saturating_sub(1)),
        // Along x.
        _ => analysis::uniformity(func, 0),
    };
    region(func, &uniformity, func.body, &done, &mut notes);
    notes
}

type Counts = HashMap<Span, usize>;

/// What the steps did.
#[derive(Default)]
struct Done {
    /// To each loop, by its place in the text.
    loops: HashMap<Span, Vec<&'static str>>,
    /// Threads run several of the launch.
    jams: bool,
    /// Blocks sum up.
    sums: bool,
    /// What all threads add to one place blocks add up, in order.
    sums_in_grid: bool,
    /// Warps store together.
    stores: bool,
}

fn done(func: &Function, target: &Target) -> Done {
    let (mut func, mut done) = (func.clone(), Done::default());
    let mut before = count_loops(&func);
    done.sums_in_grid = sums_in_grid(&func, target);
    let steps = if done.sums_in_grid { &BEFORE_SUMS_IN_GRID[..] } else { &STEPS[..] };
    for step in steps {
        let has_changed = step.apply(&mut func, target);
        done.jams |= has_changed && matches!(step.says, Says::Jams);
        done.sums |= has_changed && matches!(step.says, Says::SumsInBlocks);
        done.stores |= has_changed && matches!(step.says, Says::StoresInWarps);
        let after = count_loops(&func);
        if let Says::Loop(text) = step.says {
            // A loop that a step takes on becomes several.
            for (span, _) in after.iter().filter(|&(span, n)| before.get(span).is_some_and(|known| n > known)) {
                done.loops.entry(*span).or_default().push(text);
            }
        }
        before = after;
    }
    done
}

fn count_loops(func: &Function) -> Counts {
    let mut counts = Counts::new();
    let mut open = vec![func.body];
    while let Some(region) = open.pop() {
        for &id in &func.region(region).insts {
            let inst = func.inst(id);
            if matches!(inst.op, Op::For | Op::Loop) {
                *counts.entry(inst.span).or_default() += 1;
            }
            open.extend(inst.regions.iter().copied());
        }
    }
    counts
}

fn region(func: &Function, uniformity: &Uniformity, region_id: RegionId, done: &Done, notes: &mut Vec<Note>) {
    for &id in &func.region(region_id).insts {
        let inst = func.inst(id);
        let divergent = if uniformity.is_divergent(id) { "threads go apart" } else { "uniform" };
        let text = match inst.op {
            Op::Store if done.stores && region_id == func.body && is_own_store(func, inst) => {
                Some(format!("{}; its warp stores them in a row", access(func, uniformity, id)))
            }
            Op::Load | Op::Store | Op::Atomic | Op::AtomicCas => Some(access(func, uniformity, id)),
            Op::If => Some(format!("branch: {divergent}")),
            Op::For | Op::Loop => {
                let mut text = format!("loop: {divergent}");
                for words in done.loops.get(&inst.span).into_iter().flatten() {
                    text.push_str("; ");
                    text.push_str(words);
                }
                Some(text)
            }
            _ => None,
        };
        notes.extend(text.map(|text| Note { span: inst.span, text }));
        for &inner in &inst.regions {
            region(func, uniformity, inner, done, notes);
        }
    }
}

fn access(func: &Function, uniformity: &Uniformity, id: InstId) -> String {
    let verb = match func.inst(id).op {
        Op::Load => "load",
        Op::Store => "store",
        _ => "atomic",
    };
    match classify(func, uniformity, id, true) {
        Access::Own { .. } => format!("{verb}: in the thread's own array"),
        Access::Uniform => format!("{verb}: one address for a warp"),
        Access::Unit => format!("{verb}: neighbors"),
        Access::Strided(step) => format!("{verb}: strided {step}"),
        Access::Gather => format!("{verb}: anywhere"),
    }
}
