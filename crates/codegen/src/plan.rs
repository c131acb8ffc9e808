//! How a kernel's threads run on the CPU: as gangs, of one row each where the kernel divides its index, or one by one.
//!
//! In: an optimized kernel and [`CpuOptions`]. Out: a [`Plan`], or why there is none; and what `explain` tells of it.

use crate::block::Plan as ProgramPlan;
use crate::gang::{Reason, Streams, can_widen, width};
use crate::host::{cpu, gathers};
use crate::rows::divisions_in;
use crate::x86::{CpuOptions, Gang};
use analysis::Uniformity;
use diagnostics::Span;
use ir::{FuncRef, Function, FunctionKind, InstId, Module};

/// How a kernel runs as gangs.
pub(crate) struct Plan {
    /// The kernel with one `return` at its end.
    pub func: Function,
    pub uniformity: Uniformity,
    pub streams: Streams,
    pub width: u32,
    /// Launches whose rows have fewer threads run otherwise.
    pub least_row: u64,
}

pub(crate) struct Refused {
    func: Function,
    reason: Reason,
}

/// Rows shorter than so many gangs leave too many threads over, where gangs need no rows.
const MIN_GANGS: u64 = 4;

pub(crate) fn plan(func: &Function, options: &CpuOptions) -> Result<Plan, Box<Refused>> {
    plan_by(func, options, analysis::uniformity)
}

/// Gangs that end where a quotient of the thread's index changes; none where the kernel has no such quotient. `usual` is
/// the plan for gangs that go on.
pub(crate) fn plan_in_rows(func: &Function, options: &CpuOptions, usual: Option<&Plan>) -> Option<Plan> {
    let func = &with_known_divisions(func);
    let plan = plan_by(func, options, analysis::uniformity_in_rows).ok()?;
    let width = u64::from(plan.width);
    let least_row = match options.gang {
        Gang::Masked(_) => 1,
        Gang::Auto if usual.is_some() => MIN_GANGS * width,
        _ => width,
    };
    (!plan.uniformity.divisions().is_empty()).then_some(Plan { least_row, ..plan })
}

fn plan_by(
    func: &Function,
    options: &CpuOptions,
    uniformity: impl Fn(&Function, u32) -> Uniformity,
) -> Result<Plan, Box<Refused>> {
    let mut func = func.clone();
    if options.gang == Gang::Off || is_deep(&func) {
        let text =
            if options.gang == Gang::Off { "gangs are turned off" } else { "branches and loops nest too deeply" };
        return Err(Box::new(Refused { func, reason: Reason { inst: None, text: text.into() } }));
    }
    let _ = transform::unify_returns(&mut func);
    let uniformity = uniformity(&func, options.rank.saturating_sub(1));
    let width = match options.gang {
        Gang::Width(width) | Gang::Masked(width) => can_widen(&func, &uniformity, None).map(|()| width),
        _ => can_widen(&func, &uniformity, Some(gathers(options.isa))).and_then(|()| {
            let reason = || Reason { inst: None, text: "this machine's vectors are too short".into() };
            width(&func, &uniformity, cpu(options.isa).1).ok_or_else(reason)
        }),
    };
    let streams = Streams::of(&func, &uniformity);
    let is_half_a_line = options.gang == Gang::Auto && streams.wants_lines(&func);
    match width {
        Ok(width @ 2..=8) if is_half_a_line => Ok(Plan { func, uniformity, streams, width: 2 * width, least_row: 0 }),
        Ok(width) => Ok(Plan { func, uniformity, streams, width, least_row: 0 }),
        Err(reason) => Err(Box::new(Refused { func, reason })),
    }
}

/// Regions within regions beyond what anybody writes: the analyses recurse, and a stack is finite.
const MAX_NESTING: u32 = 24;

pub(crate) fn is_deep(func: &Function) -> bool {
    let mut open = vec![(func.body, 0)];
    while let Some((region, depth)) = open.pop() {
        if depth > MAX_NESTING {
            return true;
        }
        let insts = &func.region(region).insts;
        open.extend(insts.iter().flat_map(|&id| &func.inst(id).regions).map(|&inner| (inner, depth + 1)));
    }
    false
}

/// A kernel in which loops over neighbors are written out, where these wrap around.
fn with_known_divisions(func: &Function) -> Function {
    let mut func = func.clone();
    if !is_deep(&func) && transform::unroll_divisions(&mut func).0 {
        simplify(&mut func);
    }
    func
}

fn simplify(func: &mut Function) {
    // What one pass reveals another may use.
    for _ in 0..2 {
        if !transform::PASSES.into_iter().fold(false, |changed, (_, pass)| pass(func).0 | changed) {
            break;
        }
    }
}

/// A kernel whose threads run one by one: no element's index is tested for counting from the end where a loop can tell.
pub(crate) fn alone(func: &Function) -> Function {
    let mut func = func.clone();
    if !is_deep(&func) && transform::split_at_zero(&mut func).0 {
        simplify(&mut func);
    }
    func
}

pub(crate) fn program_plan(func: &Function, options: &CpuOptions) -> ProgramPlan {
    ProgramPlan::new(func, analysis::uniformity(func, 0), fixed_width(func, options), options.isa)
}

/// As [`plan_in_rows`], for a block program, with the least threads of a row.
pub(crate) fn program_plan_in_rows(
    func: &Function,
    options: &CpuOptions,
    usual: &ProgramPlan,
) -> Option<(ProgramPlan, u64)> {
    let uniformity = analysis::uniformity_in_rows(func, 0);
    let plan = ProgramPlan::new(func, uniformity, fixed_width(func, options), options.isa);
    let is_divided = |&id: &InstId| {
        let region = func.inst(id).regions[0];
        !divisions_in(func, region, plan.uniformity.divisions()).is_empty()
    };
    let gains = plan.wide.len() >= usual.wide.len() && plan.wide.iter().any(is_divided);
    let width = u64::from(plan.width);
    let least_row = if options.gang == Gang::Auto { 2 * width } else { 1 };
    gains.then_some((plan, least_row))
}

/// The lanes of gangs, where that is not for the machine's vectors to say.
pub(crate) fn fixed_width(func: &Function, options: &CpuOptions) -> Option<u32> {
    match options.gang {
        _ if is_deep(func) => Some(1),
        Gang::Off => Some(1),
        Gang::Width(width) | Gang::Masked(width) => Some(width),
        Gang::Auto => None,
    }
}

/// What `explain` says of one place in a kernel's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    pub span: Span,
    pub text: String,
}

/// What becomes of each memory access, branch and loop of a kernel, or why its threads run one by one.
pub fn explain(module: &Module, kernel: FuncRef, options: &CpuOptions) -> Vec<Note> {
    let func = module.func(kernel);
    if func.kind == FunctionKind::BlockProgram {
        let usual = program_plan(func, options);
        return match program_plan_in_rows(func, options, &usual) {
            Some((rows, least)) => with_rows(crate::block::explain(func, &rows), least, "other code runs"),
            None => crate::block::explain(func, &usual),
        };
    }
    let usual = plan(func, options);
    if let Some(rows) = plan_in_rows(func, options, usual.as_ref().ok()) {
        let shorter = if usual.is_ok() { "lanes are neighbors across rows" } else { "each thread runs alone" };
        let notes = crate::gang::explain(&rows.func, Ok((&rows.uniformity, rows.width)));
        return with_rows(notes, rows.least_row, shorter);
    }
    match usual {
        Ok(plan) => crate::gang::explain(&plan.func, Ok((&plan.uniformity, plan.width))),
        Err(refused) => crate::gang::explain(&refused.func, Err(&refused.reason)),
    }
}

/// Says, after the verdict, what divisions make of gangs.
fn with_rows(mut notes: Vec<Note>, least_row: u64, otherwise: &str) -> Vec<Note> {
    let text = format!(
        "gangs end where a quotient of the index changes; in launches where that is after fewer than {least_row} threads \
         {otherwise}"
    );
    notes.insert(1, Note { span: Span::NONE, text });
    notes
}
