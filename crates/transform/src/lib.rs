//! Transforms: one file a pass, each a verb that takes IR and leaves IR of the same meaning.
//!
//! In: a verified module. Out: the same module with calls inlined and less to do, verified again. [`optimize`] runs the
//! passes in order; the pipeline calls it before code generation, which takes kernels without calls only.
//!
//! ```
//! use ir::parse::parse_module;
//! let mut module = parse_module("func @f(v0: i32) -> i32 { v1: i32 = const 0; v2: i32 = add v0, v1; return v2 }").unwrap();
//! gridstride_transform::optimize(&mut module);
//! assert!(module.to_string().contains("return v0"));
//! ```

pub mod batch_reads;
mod copy;
pub mod demote_atomics;
pub mod drop_adjoints;
pub mod eliminate_common_subexpressions;
pub mod eliminate_dead_code;
pub mod exits;
pub mod expand_math;
pub mod fission;
pub mod flatten_arms;
pub mod hoist_loop_invariants;
pub mod inline_calls;
pub mod jam_threads;
pub mod lower_tiles;
pub mod merge_arm_loads;
pub mod range;
pub mod replace;
pub mod rows_as_vectors;
pub mod settle_host;
pub mod settle_nulls;
pub mod simplify;
pub mod sink_stores;
pub mod split_at_thread;
pub mod split_at_zero;
mod split_structs;
pub mod spread_each;
pub mod stage_reads;
pub mod store_in_warps;
pub mod sum_in_blocks;
pub mod sum_in_warps;
pub mod tiles_in_blocks;
pub mod unify_returns;
pub mod unroll_loops;
pub mod widen_indices;

pub use batch_reads::batch_reads;
pub use demote_atomics::{Sharing, demote_atomics, demote_used_atomics, has_distinct_atomics, has_own_index};
pub use drop_adjoints::drop_adjoints;
pub use eliminate_common_subexpressions::eliminate_common_subexpressions;
pub use eliminate_dead_code::eliminate_dead_code;
pub use expand_math::expand_math;
pub use fission::{Refused, fission_barriers};
pub use flatten_arms::flatten_arms;
pub use hoist_loop_invariants::hoist_loop_invariants;
pub use inline_calls::{inline_calls, inline_calls_except};
pub use jam_threads::jam_threads;
pub use lower_tiles::lower_tiles;
pub use merge_arm_loads::merge_arm_loads;
pub use rows_as_vectors::{Rows, rows_as_vectors};
pub use settle_host::settle_host;
pub use settle_nulls::settle_nulls;
pub use simplify::simplify;
pub use sink_stores::sink_stores;
pub use split_at_thread::split_at_thread;
pub use split_at_zero::split_at_zero;
pub use split_structs::split_structs;
pub use spread_each::{spread_each, threads_of_block};
pub use stage_reads::stage_reads;
pub use store_in_warps::store_in_warps;
pub use sum_in_blocks::{exact_sums, grid_sums, sum_in_blocks, sum_in_grid, summed_arrays};
pub use sum_in_warps::{sum_in_warps, sum_integers_in_warps};
pub use tiles_in_blocks::tiles_in_blocks;
pub use unify_returns::unify_returns;
pub use unroll_loops::{unroll_divisions, unroll_loops, unroll_own_arrays};
pub use widen_indices::widen_indices;

use ir::{Function, Module, verify};

/// Whether a pass changed anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[must_use]
pub struct Changed(pub bool);

impl std::ops::BitOr for Changed {
    type Output = Changed;

    fn bitor(self, other: Changed) -> Changed {
        Changed(self.0 | other.0)
    }
}

impl std::ops::BitOrAssign for Changed {
    fn bitor_assign(&mut self, other: Changed) {
        self.0 |= other.0;
    }
}

/// A pass over one function and its name.
pub type Pass = (&'static str, fn(&mut Function) -> Changed);

/// The passes over functions, in the order in which [`optimize`] runs them.
pub const PASSES: [Pass; 6] = [
    ("split_structs", split_structs),
    ("simplify", simplify),
    ("eliminate_common_subexpressions", eliminate_common_subexpressions),
    ("hoist_loop_invariants", hoist_loop_invariants),
    ("eliminate_dead_code", eliminate_dead_code),
    ("unroll_loops", unroll_loops),
];

/// What one pass reveals another may use, so they run again; a third round rarely finds anything, unless loops were
/// unrolled.
const ROUNDS: usize = 2;
/// Unrolling an outer loop may make an inner one's bounds constant; a field that no inner loop changes may be one that the
/// outer one does not change.
const MAX_ROUNDS: usize = 5;

/// How often the passes run.
struct Rounds {
    round: usize,
    last: usize,
}

impl Default for Rounds {
    fn default() -> Rounds {
        Rounds { round: 0, last: ROUNDS }
    }
}

impl Rounds {
    /// Begins a round, if there is to be another.
    fn next(&mut self) -> bool {
        self.round += 1;
        self.round <= self.last
    }

    /// Notes that a pass changed something.
    fn changed(&mut self, pass: &str) {
        if matches!(pass, "split_structs" | "unroll_loops") {
            self.last = (self.round + ROUNDS).min(MAX_ROUNDS);
        }
    }
}

/// Runs all passes over one function without calls.
pub fn run_passes(func: &mut Function) {
    let mut rounds = Rounds::default();
    while rounds.next() {
        for (name, pass) in PASSES {
            if pass(func).0 {
                rounds.changed(name);
            }
        }
    }
}

/// Runs all passes. In a module with a kernel only the kernel is made fast: what it calls is in it by then.
///
/// Panics with the printed IR where the result is not valid: that is a bug of ours.
pub fn optimize(module: &mut Module) {
    // First, so that every device runs the same arithmetic, which the other passes see.
    let _ = expand_math(module);
    check(module, "expand_math", cfg!(debug_assertions));
    let _ = inline_calls(module);
    check(module, "inline_calls", cfg!(debug_assertions));
    for func in &mut module.funcs {
        let _ = drop_adjoints(func);
    }
    check(module, "drop_adjoints", cfg!(debug_assertions));
    settle_tiles(module);
    let has_kernel = module.kernel().is_some();
    let mut again: Vec<bool> = module.funcs.iter().map(|func| !has_kernel || func.kind.is_kernel()).collect();
    let mut rounds = Rounds::default();
    while rounds.next() {
        let wanted = again.clone();
        again.fill(false);
        for (name, pass) in PASSES {
            for (i, func) in module.funcs.iter_mut().enumerate().filter(|(i, _)| wanted[*i]) {
                if pass(func).0 {
                    again[i] = true;
                    rounds.changed(name);
                }
            }
            check(module, name, cfg!(debug_assertions));
        }
    }
    check(module, "optimize", true);
}

/// Lowers the tiles of a kernel whose calls are inlined, and the functions of their elements.
pub fn settle_tiles(module: &mut Module) {
    if !module.funcs.iter().any(|func| func.insts.iter().any(|inst| inst.op.is_over_tiles())) {
        return;
    }
    for (name, pass) in [PASSES[0], PASSES[1], PASSES[3]] {
        for func in module.funcs.iter_mut().filter(|func| func.kind.is_kernel()) {
            let _ = pass(func);
        }
        check(module, name, cfg!(debug_assertions));
    }
    if lower_tiles(module).0 {
        check(module, "lower_tiles", cfg!(debug_assertions));
        let _ = inline_calls(module);
        // Nothing calls a function of tiles any more, and there is no code for one.
        let is_over_tiles = |func: &Function| func.values.iter().any(|value| value.ty.as_tile().is_some());
        for func in module.funcs.iter_mut().filter(|func| !func.kind.is_kernel() && is_over_tiles(func)) {
            let mut empty = Function::new(func.name.clone(), func.kind, Vec::new(), Vec::new());
            ir::Builder::new(&mut empty).ret(&[]);
            *func = empty;
        }
        check(module, "inline_calls", cfg!(debug_assertions));
    }
}

fn check(module: &Module, pass: &str, is_wanted: bool) {
    if is_wanted && let Err(errors) = verify::verify(module) {
        panic!("{pass} broke the IR\n{}", verify::report(module, &errors));
    }
}

#[cfg(test)]
mod tests;
