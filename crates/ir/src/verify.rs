//! The verifier: whether a module means something.
//!
//! In: any module, however broken. Out: nothing, or every error found. It never panics. Checked are
//!
//! - tables: each region is owned once, each instruction listed once, values are defined where they say, indices in range;
//! - dominance: a value is used after its definition, in its region or one nested in it;
//! - terminators: a region ends with one that fits what owns it, with values of the types that the target takes;
//! - ops: number and types of operands and results, the attribute, paths, by [`Op::rule`](crate::Op::rule);
//! - modules: distinct names, calls to functions that exist, no recursion, kernels that return nothing.
//!
//! [`report`] prints errors where they are:
//!
//! ```text
//! func @f(v0: f32, v1: i32) -> f32 {
//!   v2: f32 = add v0, v1
//!   ^ error: operands of `add` must be of one type, found f32 and i32
//!   return v2
//! }
//! ```

mod blocks;
mod memory;
mod rules;
mod structure;
mod tiles;

use crate::func::{Attr, FuncRef, Function, InstId, Module};
use crate::print::{print_function, print_inst};
use crate::types::{Type, TypeKind};
use std::collections::HashSet;
use std::fmt;

/// Deepest nesting of regions: passes and back ends recurse over them.
pub const MAX_DEPTH: usize = 1000;
/// Most components of a vector or matrix, and most leaves of a type.
pub const MAX_LEAVES: usize = 65536;
/// Most dimensions of an array and of a launch.
pub const MAX_RANK: u32 = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyError {
    pub func: FuncRef,
    /// The instruction at fault; `None` for the function as a whole.
    pub inst: Option<InstId>,
    pub message: String,
    /// Function and instruction as text.
    pub place: String,
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

/// Collects every error of a module.
pub fn verify(module: &Module) -> Result<(), Vec<VerifyError>> {
    let mut errors = Vec::new();
    let mut names = HashSet::new();
    for (i, func) in module.funcs.iter().enumerate() {
        let at = FuncRef(i as u32);
        let mut found = Vec::new();
        if !names.insert(&func.name) {
            found.push((None, format!("a second function named @{}", func.name)));
        }
        if func.kind.is_kernel() && !func.results.is_empty() {
            found.push((None, "a kernel returns nothing".to_string()));
        }
        structure::check(module, func, &mut found);
        errors.extend(found.into_iter().map(|(inst, message)| error(module, at, inst, message)));
    }
    if errors.is_empty() {
        errors.extend(find_recursion(module));
    }
    if errors.is_empty() {
        errors.extend(blocks::find_stray_calls(module));
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// The functions with errors, each error under its instruction.
pub fn report(module: &Module, errors: &[VerifyError]) -> String {
    let mut out = String::new();
    for (i, func) in module.funcs.iter().enumerate() {
        let here: Vec<_> = errors.iter().filter(|error| error.func.index() == i).collect();
        if here.is_empty() {
            continue;
        }
        let notes = |at: Option<InstId>| {
            let here = here.iter().filter(|error| error.inst == at);
            here.map(|error| format!("^ error: {}", error.message)).collect()
        };
        out.push_str(&print_function(Some(module), func, &notes));
    }
    out
}

fn error(module: &Module, at: FuncRef, inst: Option<InstId>, message: String) -> VerifyError {
    let func = module.func(at);
    let place = match inst.and_then(|id| func.insts.get(id.index())) {
        Some(inst) => format!("@{}: {}", func.name, print_inst(Some(module), func, inst)),
        None => format!("@{}", func.name),
    };
    VerifyError { func: at, inst, message, place }
}

/// Depth-first over calls with a stack of our own; an edge back onto the stack is a cycle.
fn find_recursion(module: &Module) -> Option<VerifyError> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Done,
    }
    let calls: Vec<Vec<(InstId, usize)>> = module.funcs.iter().map(calls).collect();
    let mut states = vec![State::New; module.funcs.len()];
    for root in 0..module.funcs.len() {
        let mut stack = vec![(root, 0)];
        while let Some(&mut (func, ref mut next)) = stack.last_mut() {
            if *next == 0 && states[func] == State::Done {
                stack.pop();
                continue;
            }
            states[func] = State::Open;
            let Some(&(inst, callee)) = calls[func].get(*next) else {
                states[func] = State::Done;
                stack.pop();
                continue;
            };
            *next += 1;
            if states[callee] == State::Open {
                let message = format!("@{} calls itself, directly or through others", module.funcs[callee].name);
                return Some(error(module, FuncRef(func as u32), Some(inst), message));
            }
            if states[callee] == State::New {
                stack.push((callee, 0));
            }
        }
    }
    None
}

/// Calls that a valid function makes.
fn calls(func: &Function) -> Vec<(InstId, usize)> {
    let listed = func.regions.iter().flat_map(|region| &region.insts);
    let callee = |&id: &InstId| match func.inst(id).attr {
        Attr::Func(callee) => Some((id, callee.index())),
        _ => None,
    };
    listed.filter_map(callee).collect()
}

/// Why a type is none that values may have.
fn check_type(ty: Type) -> Result<(), String> {
    fn n_leaves(ty: Type) -> Result<usize, String> {
        let total = match ty.kind() {
            TypeKind::Struct(_) | TypeKind::Tuple(_) => {
                let mut total = 0usize;
                for i in 0..ty.n_components() {
                    total = total.saturating_add(ty.component(i).map_or(Ok(0), n_leaves)?);
                }
                total
            }
            TypeKind::Array { elem, rank } => {
                n_leaves(*elem)?;
                if !(1..=MAX_RANK).contains(rank) {
                    return Err(format!("an array has 1 to {MAX_RANK} dimensions, found {rank}"));
                }
                1 + 2 * *rank as usize
            }
            TypeKind::Tile { elem, extents } => {
                n_leaves(*elem)?;
                if !(1..=MAX_RANK as usize).contains(&extents.len()) || extents.contains(&0) {
                    return Err(format!("a tile has 1 to {MAX_RANK} dimensions of at least 1, found {extents:?}"));
                }
                match extents.iter().try_fold(elem.size(), |size, &n| size.checked_mul(n.into())) {
                    Some(size) if size <= 1 << 31 => 1,
                    _ => return Err("a tile is at most 2 GiB".into()),
                }
            }
            TypeKind::Vector { len: 0, .. } | TypeKind::Matrix { rows: 0, .. } | TypeKind::Matrix { cols: 0, .. } => {
                return Err(format!("{ty} has no components"));
            }
            _ => ty.n_components().max(1),
        };
        if total > MAX_LEAVES { Err(format!("a type of more than {MAX_LEAVES} scalars")) } else { Ok(total) }
    }
    n_leaves(ty).map(|_| ())
}

#[cfg(test)]
mod tests;
