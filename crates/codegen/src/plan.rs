//! How a kernel's threads run on the CPU: as gangs, of one row each where the kernel divides its index, or one by one.
//!
//! In: an optimized kernel and [`CpuOptions`]. Out: a [`Plan`], or why there is none; and what `explain` tells of it.

use crate::block::Plan as ProgramPlan;
use crate::gang::{Reason, Streams, can_widen, reloads, width};
use crate::host::{cpu, gathers};
use crate::rows::divisions_in;
use crate::x86::{CpuOptions, Gang};
use analysis::{Division, Lanes, Uniformity};
use diagnostics::Span;
use ir::{FuncRef, Function, FunctionKind, InstId, Module};
use transform::Rows;

/// How a kernel runs as gangs.
pub(crate) struct Plan {
    /// The kernel with one `return` at its end.
    pub func: Function,
    pub uniformity: Uniformity,
    pub streams: Streams,
    pub width: u32,
}

/// What launches must keep to for a plan; others have code of their own.
#[derive(Default)]
pub(crate) struct Conditions {
    /// Rows, which these end, have so many threads.
    pub divisions: Vec<Division>,
    pub least_row: u64,
    /// Arrays are rows of vectors.
    pub rows: Rows,
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
pub(crate) fn plan_in_rows(func: &Function, options: &CpuOptions, usual: Option<&Plan>) -> Option<(Plan, Conditions)> {
    let func = with_known_divisions(func);
    let (vectors, rows) = with_vectors(&func, options, options.rank.saturating_sub(1));
    let ways = [(!rows.is_empty()).then_some((vectors, rows)), Some((func, Rows::default()))];
    ways.into_iter().flatten().find_map(|(func, rows)| {
        let plan = plan_by(&func, options, analysis::uniformity_in_rows).ok()?;
        let width = u64::from(plan.width);
        let least_row = match options.gang {
            Gang::Masked(_) => 1,
            Gang::Auto if usual.is_some() => MIN_GANGS * width,
            _ => width,
        };
        let divisions = plan.uniformity.divisions().to_vec();
        let is_special = !divisions.is_empty() || !rows.is_empty();
        is_special.then_some((plan, Conditions { divisions, least_row, rows }))
    })
}

/// A kernel in which arrays are rows of vectors, where neighboring threads have neighboring rows.
fn with_vectors(func: &Function, options: &CpuOptions, lane_dim: u32) -> (Function, Rows) {
    let mut func = func.clone();
    if !options.contiguous || options.gang == Gang::Off || is_deep(&func) {
        return (func, Rows::default());
    }
    let lanes = analysis::uniformity_in_rows(&func, lane_dim);
    let is_next = |func: &Function, id: InstId| {
        let inst = func.inst(id);
        let rank = func.ty(inst.operands[0]).as_array().map_or(0, |(_, rank)| rank as usize);
        let [leading @ .., row, _] = inst.access(rank).1 else { return false };
        leading.iter().all(|&index| lanes.is_uniform(index)) && matches!(lanes.lanes(*row), Lanes::Affine(_))
    };
    let rows = transform::rows_as_vectors(&mut func, &is_next);
    (func, rows)
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
    let is_doubled = |width: u32| {
        width <= 8 && is_half_a_line || width <= 16 && options.gang == Gang::Auto && reloads(&func, &uniformity)
    };
    match width {
        Ok(width @ 2..) if is_doubled(width) => Ok(Plan { func, uniformity, streams, width: 2 * width }),
        Ok(width) => Ok(Plan { func, uniformity, streams, width }),
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

/// A kernel whose threads run one by one on the host: no element's index is tested for counting from the end where a loop can tell.
pub(crate) fn alone(func: &Function) -> Function {
    let mut func = func.clone();
    let is_settled = transform::settle_host(&mut func, true);
    if !is_deep(&func) && (transform::split_at_zero(&mut func) | is_settled).0 {
        simplify(&mut func);
    }
    func
}

pub(crate) fn program_plan(func: &Function, options: &CpuOptions) -> ProgramPlan {
    ProgramPlan::new(func, analysis::uniformity(func, 0), fixed_width(func, options), options.isa)
}

/// As [`plan_in_rows`], for a block program.
pub(crate) fn program_plan_in_rows(
    func: &Function,
    options: &CpuOptions,
    usual: &ProgramPlan,
) -> Option<(Function, ProgramPlan, Conditions)> {
    let (func, rows) = with_vectors(func, options, 0);
    let uniformity = analysis::uniformity_in_rows(&func, 0);
    let plan = ProgramPlan::new(&func, uniformity, fixed_width(&func, options), options.isa);
    let is_divided = |&id: &InstId| {
        let region = func.inst(id).regions[0];
        !divisions_in(&func, region, plan.uniformity.divisions()).is_empty()
    };
    let is_special = plan.wide.iter().any(is_divided) || !rows.is_empty() && !plan.wide.is_empty();
    let width = u64::from(plan.width);
    let least_row = if options.gang == Gang::Auto { 2 * width } else { 1 };
    let divisions = plan.uniformity.divisions().to_vec();
    let conditions = Conditions { divisions, least_row, rows };
    (is_special && plan.wide.len() >= usual.wide.len()).then_some((func, plan, conditions))
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
            Some((func, plan, conditions)) => with_conditions(crate::block::explain(&func, &plan), &conditions),
            None => crate::block::explain(func, &usual),
        };
    }
    let usual = plan(func, options);
    if let Some((plan, conditions)) = plan_in_rows(func, options, usual.as_ref().ok()) {
        return with_conditions(crate::gang::explain(&plan.func, Ok((&plan.uniformity, plan.width))), &conditions);
    }
    match usual {
        Ok(plan) => crate::gang::explain(&plan.func, Ok((&plan.uniformity, plan.width))),
        Err(refused) => crate::gang::explain(&refused.func, Err(&refused.reason)),
    }
}

/// Says, after the verdict, for which launches that is.
fn with_conditions(mut notes: Vec<Note>, conditions: &Conditions) -> Vec<Note> {
    let Conditions { divisions, least_row, rows } = conditions;
    let mut texts = Vec::new();
    if !divisions.is_empty() {
        let text = "gangs end where a quotient of the index changes; where that is after fewer than";
        texts.push(format!("{text} {least_row} threads, launches run other code"));
    }
    for (param, length) in &rows.lengths {
        let text = "is an array of vectors where its last dimension has";
        texts.push(format!("argument {param} {text} {length} elements; else launches run other code"));
    }
    if !rows.apart.is_empty() {
        texts.push("launches whose arrays share memory run other code: components are stored together".into());
    }
    let texts = texts.into_iter().map(|text| Note { span: Span::NONE, text });
    notes.splice(1..1, texts);
    notes
}
