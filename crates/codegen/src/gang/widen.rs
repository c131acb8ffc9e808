//! Which kernels run as gangs, and how wide.
//!
//! In: a kernel and its uniformity. Out: the lanes of its gangs, or the [`Reason`] why each thread runs alone: what
//! gangs cannot do, and what they would do slower than scalar code.

use super::memory::{is_wide_access, piece, scalars};
use super::own::MAX_BYTES;
use crate::host::Gathers;
use crate::llvm::matrix::is_loop;
use crate::llvm::value::is_big;
use analysis::{Access, Lanes, Uniformity, classify};
use ir::{Attr, Function, InstId, LeafKind, Op, RegionId, Scalar, Type};

/// Why a kernel stays scalar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reason {
    /// The instruction that decides.
    pub inst: Option<InstId>,
    pub text: String,
}

impl Reason {
    fn new(inst: InstId, text: impl Into<String>) -> Reason {
        Reason { inst: Some(inst), text: text.into() }
    }
}

/// Accesses that become gathers may be one in so many of a kernel's vector instructions.
fn gather_cost(gathers: Gathers) -> u64 {
    match gathers {
        Gathers::Slow => 6,
        Gathers::Fair => 3,
    }
}

/// Vector instructions that a quotient or root of floats counts for: the divider takes all lanes in the time of two or three
/// threads, which makes up for several gathers.
const DIVIDES: u64 = 18;

/// Whether gangs can run a kernel, and where it is known what a gather costs, whether they should.
pub(crate) fn can_widen(func: &Function, uniformity: &Uniformity, gathers: Option<Gathers>) -> Result<(), Reason> {
    can_widen_region(func, uniformity, func.body, gathers)
}

/// As [`can_widen`], for one region of a block program.
pub(crate) fn can_widen_region(
    func: &Function,
    uniformity: &Uniformity,
    region: RegionId,
    gathers: Option<Gathers>,
) -> Result<(), Reason> {
    let mut walk = Walk { func, uniformity, gathers, n_gathers: 0, n_wide: 0, worst: None };
    walk.region(region, &Place { depth: 0, divergent_loop: None, is_nested: false })?;
    let Some(gathers) = gathers else { return Ok(()) };
    match walk.worst {
        _ if walk.n_wide == 0 => {
            Err(Reason { inst: None, text: "every thread does the same: nothing differs between lanes".into() })
        }
        Some(inst) if walk.n_gathers * gather_cost(gathers) > walk.n_wide => {
            Err(Reason::new(inst, "most of the work would be gathers, which cost more than scalar accesses"))
        }
        _ => Ok(()),
    }
}

/// The lanes of a gang on a machine with these features; `None` where its vectors are too short or lack masks.
pub(crate) fn width(func: &Function, uniformity: &Uniformity, features: &str) -> Option<u32> {
    let has = |name| features.split(',').any(|feature| feature == name);
    let bytes = match () {
        () if has("+avx512f") && has("+avx512bw") && has("+avx512dq") && has("+avx512vl") => 64,
        () if has("+avx2") => 32,
        () => return None,
    };
    // What lies in memory decides: f64 steps within an f32 function still fill two vectors evenly.
    let accesses = accesses(func);
    let widest = accesses.iter().map(|&id| func.inst(id)).filter_map(|inst| {
        let varies = inst.operands[1..].iter().any(|&operand| uniformity.lanes(operand) != Lanes::Uniform);
        let value = if inst.op == Op::Load { inst.result() } else { *inst.operands.last()? };
        let scalars = scalars(func.ty(value)).ok().filter(|_| varies)?;
        scalars.iter().map(|(_, scalar)| scalar.size()).max()
    });
    Some(bytes / widest.max().unwrap_or(4).max(4) as u32)
}

/// Kernels of more instructions, or that load more scalars, need the registers that a gang of twice the width would take.
const MAX_INSTS_DOUBLED: usize = 64;
const MAX_LOADED_DOUBLED: usize = 8;

/// Whether a gang loads what the one before it has just stored part of, as where a stencil works in place: such a load
/// waits until the store has reached the cache, so that fewer and wider gangs are faster. Of threads that do not wait for
/// each other either may come first.
pub(crate) fn reloads(func: &Function, uniformity: &Uniformity) -> bool {
    let accesses = accesses(func);
    let is_loop = |inst: &ir::Inst| matches!(inst.op, Op::For | Op::Loop);
    let listed = || func.regions.iter().flat_map(|region| &region.insts).map(|&id| func.inst(id));
    let n_loaded: usize =
        listed().filter(|inst| inst.op == Op::Load).map(|inst| func.ty(inst.result()).n_leaves()).sum();
    let n_insts = listed().filter(|inst| inst.op != Op::Const).count();
    if n_insts > MAX_INSTS_DOUBLED || n_loaded > MAX_LOADED_DOUBLED || listed().any(is_loop) {
        return false;
    }
    let row = |id: InstId| {
        let inst = func.inst(id);
        let rank = func.ty(inst.operands[0]).as_array().map_or(0, |(_, rank)| rank as usize);
        let is_unit = classify(func, uniformity, id, true) == Access::Unit;
        inst.operands[..=rank].split_last().filter(|_| is_unit)
    };
    let pairs = accesses.iter().flat_map(|&x| accesses.iter().map(move |&y| (x, y)));
    pairs.filter(|&(x, y)| func.inst(x).op == Op::Store && func.inst(y).op == Op::Load).any(|(store, load)| {
        let (Some((at, of)), Some((other, of_other))) = (row(store), row(load)) else { return false };
        of == of_other && at != other
    })
}

/// From so many instructions on LLVM takes so long over a kernel that one body must do.
const LONG: usize = 600;
/// Masks are a small part of the work where so many instructions come on one access to memory.
const PER_ACCESS: usize = 40;

/// Whether a kernel is better compiled once, for gangs that may be masked, than for whole gangs and single threads.
pub(crate) fn is_long(func: &Function) -> bool {
    let (mut n_insts, mut open) = (0, vec![func.body]);
    while let Some(region) = open.pop() {
        let insts = &func.region(region).insts;
        n_insts += insts.iter().filter(|&&id| func.inst(id).op != Op::Const).count();
        open.extend(insts.iter().flat_map(|&id| &func.inst(id).regions));
    }
    n_insts >= LONG && n_insts >= PER_ACCESS * accesses(func).len()
}

/// Loads and stores that are still in the kernel: its tables keep what passes have removed.
fn accesses(func: &Function) -> Vec<InstId> {
    let (mut found, mut open) = (Vec::new(), vec![func.body]);
    while let Some(region) = open.pop() {
        for &id in &func.region(region).insts {
            let inst = func.inst(id);
            if matches!(inst.op, Op::Load | Op::Store) {
                found.push(id);
            }
            open.extend(&inst.regions);
        }
    }
    found
}

#[derive(Clone, Copy)]
struct Place {
    depth: u32,
    divergent_loop: Option<InstId>,
    /// Within two loops that threads leave apart: few lanes are on.
    is_nested: bool,
}

struct Walk<'a> {
    func: &'a Function,
    uniformity: &'a Uniformity,
    gathers: Option<Gathers>,
    n_gathers: u64,
    n_wide: u64,
    /// The first access that is a gather.
    worst: Option<InstId>,
}

impl Walk<'_> {
    fn region(&mut self, region: RegionId, place: &Place) -> Result<(), Reason> {
        let func = self.func;
        for &id in &func.region(region).insts {
            let inst = func.inst(id);
            self.allowed(id)?;
            let mut inner = *place;
            match inst.op {
                Op::Return if region != func.body => return Err(Reason::new(id, "returns from within a loop")),
                Op::For | Op::Loop => {
                    inner.depth += 1;
                    if self.uniformity.is_divergent(id) {
                        inner.is_nested = place.divergent_loop.is_some();
                        inner.divergent_loop = Some(id);
                    }
                }
                Op::Atomic | Op::AtomicCas if place.divergent_loop.is_some() && self.is_used(id) => {
                    // Lanes that wait for each other would wait forever: they take their rounds together.
                    return Err(Reason::new(id, "uses the result of an atomic in a loop that threads leave apart"));
                }
                _ => {}
            }
            self.count(id, place)?;
            for &region in &inst.regions {
                self.region(region, &inner)?;
            }
        }
        Ok(())
    }

    /// What gangs cannot do at all.
    fn allowed(&self, id: InstId) -> Result<(), Reason> {
        let (func, inst) = (self.func, self.func.inst(id));
        let varies = inst.results.iter().any(|&result| self.uniformity.lanes(result) == Lanes::Varying);
        let text = match inst.op {
            Op::CheckBounds | Op::CheckIndex | Op::CheckNonZero | Op::CheckFinite | Op::Assert => {
                "checks, as in checked mode, end threads one by one"
            }
            Op::Print => "prints",
            Op::LocalArray if !self.uniformity.own().is_own(inst.result()) => {
                "hands an array of its own on, where its elements would not be found"
            }
            Op::LocalArray if own_bytes(func) > MAX_BYTES => "has arrays of its own that are too large for all lanes",
            Op::LocalArray
                if scalars(func.ty(inst.result()).as_array().map_or(Type::i64(), |(elem, _)| elem)).is_err() =>
            {
                "has an array of its own of elements too large for registers"
            }
            Op::Atomic | Op::AtomicCas | Op::Address if self.uniformity.own().is_own(inst.operands[0]) => {
                "uses an atomic on an array of its own"
            }
            Op::Call => "calls a function",
            Op::MaskLe | Op::MaskSelect if varies => "compares several numbers of a thread at once",
            _ if varies && is_library(func, id) => "calls a function of the math library",
            Op::ExtractDyn | Op::InsertDyn if varies && func.ty(inst.operands[0]).n_components() > 16 => {
                "indexes a large vector or matrix by a number that differs from thread to thread"
            }
            Op::MatMul if varies && is_loop(func.ty(inst.operands[0]), func.ty(inst.operands[1])) => {
                "multiplies matrices too large for registers"
            }
            _ if inst.operands.iter().chain(&inst.results).any(|&value| is_big(func.ty(value))) => {
                "holds a value too large for registers"
            }
            _ => "",
        };
        if !text.is_empty() {
            return Err(Reason::new(id, text));
        }
        let has_array = |ty: Type| ty.leaves().iter().any(|leaf| !matches!(leaf.kind, LeafKind::Scalar(_)));
        for &value in inst.results.iter().chain(inst.regions.iter().flat_map(|&region| &func.region(region).params)) {
            if self.uniformity.lanes(value) != Lanes::Uniform && has_array(func.ty(value)) {
                return Err(Reason::new(id, "threads look at different arrays"));
            }
        }
        if let Op::Store = inst.op
            && inst.operands.last().is_some_and(|&value| has_array(func.ty(value)))
        {
            return Err(Reason::new(id, "stores an array"));
        }
        Ok(())
    }

    fn is_used(&self, id: InstId) -> bool {
        let results = &self.func.inst(id).results;
        self.func.insts.iter().any(|inst| inst.operands.iter().any(|operand| results.contains(operand)))
    }

    /// Scalars of a lane that an instruction computes, loads or stores.
    fn n_scalars(&self, id: InstId) -> u64 {
        let inst = self.func.inst(id);
        let value = if inst.op == Op::Store { inst.operands.last() } else { inst.results.first() };
        value.map_or(1, |&value| self.func.ty(value).n_leaves().max(1) as u64)
    }

    fn count(&mut self, id: InstId, place: &Place) -> Result<(), Reason> {
        let inst = self.func.inst(id);
        let weight = 8u64.pow(place.depth.min(4));
        let is_wide = |&value: &ir::Value| self.uniformity.lanes(value) == Lanes::Varying;
        let varies = inst.results.iter().any(is_wide) || inst.op == Op::Store;
        if varies && inst.regions.is_empty() {
            let is_float = inst.results.first().and_then(|&x| self.func.ty(x).element()).is_some_and(Scalar::is_float);
            let divides = is_float && matches!(inst.op, Op::Div | Op::Sqrt);
            self.n_wide += weight * self.n_scalars(id) * if divides { DIVIDES } else { 1 };
        }
        if !matches!(inst.op, Op::Load | Op::Store | Op::Atomic | Op::AtomicCas)
            || !is_gather(self.func, self.uniformity, id)
        {
            return Ok(());
        }
        self.n_gathers += weight * self.n_scalars(id);
        self.worst = self.worst.or(Some(id));
        let Some(divergent) = place.divergent_loop else { return Ok(()) };
        let is_fair = match self.gathers {
            None => true,
            Some(Gathers::Slow) => false,
            // Where the rounds are counted, a thread that runs alone guesses wrong at the end.
            Some(Gathers::Fair) => !place.is_nested && self.func.inst(divergent).op == Op::For,
        };
        if is_fair {
            return Ok(());
        }
        Err(Reason::new(id, "a loop that threads leave apart would gather, which is slower than scalar code"))
    }
}

/// Bytes of all arrays that a thread has for itself.
fn own_bytes(func: &Function) -> u64 {
    let listed = func.regions.iter().flat_map(|region| &region.insts).map(|&id| func.inst(id));
    let sizes = listed.filter_map(|inst| match (&inst.attr, func.ty(*inst.results.first()?).as_array()) {
        (Attr::Extents(extents), Some((elem, _))) if inst.op == Op::LocalArray => {
            Some(extents.iter().fold(elem.size(), |size, &n| size.saturating_mul(n)))
        }
        _ => None,
    });
    sizes.fold(0, u64::saturating_add)
}

/// Whether lanes access memory one by one.
pub(crate) fn is_gather(func: &Function, uniformity: &Uniformity, id: InstId) -> bool {
    let inst = func.inst(id);
    let Some((elem, _)) = func.ty(inst.operands[0]).as_array() else { return true };
    let step = match classify(func, uniformity, id, true) {
        Access::Own { is_same } => return !is_same,
        Access::Uniform => return false,
        Access::Unit => 1,
        Access::Strided(step) => step,
        Access::Gather => return true,
    };
    let Ok((ty, _)) = piece(elem, inst.path()) else { return true };
    let step = u64::try_from(step).ok().and_then(|step| step.checked_mul(elem.size()));
    !step.is_some_and(|step| is_wide_access(ty, step))
}

/// Whether an op is a call of the math library for each lane.
fn is_library(func: &Function, id: InstId) -> bool {
    let inst = func.inst(id);
    let is_float = inst.operands.first().and_then(|&x| func.ty(x).element()).is_some_and(Scalar::is_float);
    is_float
        && matches!(
            inst.op,
            Op::Cbrt
                | Op::Exp
                | Op::Exp2
                | Op::ExpM1
                | Op::Log
                | Op::Log2
                | Op::Log10
                | Op::Log1P
                | Op::Sin
                | Op::Cos
                | Op::Tan
                | Op::Asin
                | Op::Acos
                | Op::Atan
                | Op::Atan2
                | Op::Sinh
                | Op::Cosh
                | Op::Tanh
                | Op::Asinh
                | Op::Acosh
                | Op::Atanh
                | Op::Erf
                | Op::Erfc
                | Op::Pow
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sum over a range of each thread's own.
    fn check(body: &str, gathers: Gathers) -> Result<(), Reason> {
        let text = format!(
            "kernel @segments(v0: array<i32, 1>, v1: array<f32, 1>, v2: array<f32, 1>) {{
               v3: i64 = tid 0
               v4: i32 = load v0[v3]
               v5: i32 = const 1
               v8: i32 = const 100
               v6: f32 = const 0.0
               {body}
               store v2[v3], v7
               return
             }}"
        );
        let module = ir::parse::parse_module(&text).unwrap_or_else(|error| panic!("{error:?}"));
        let func = &module.funcs[0];
        can_widen(func, &analysis::uniformity(func, 0), Some(gathers))
    }

    const COUNTED: &str = "v7: f32 = for v11: i32 = v4 to v8 step v5 with (v12: f32 = v6) {
         v13: i64 = cast v11
         v14: f32 = load v1[v13]
         v15: f32 = add v12, v14
         continue v15
       }";
    const NESTED: &str = "v7: f32 = for v11: i32 = v4 to v8 step v5 with (v12: f32 = v6) {
         v13: f32 = for v21: i32 = v11 to v8 step v5 with (v22: f32 = v12) {
           v23: i64 = cast v21
           v24: f32 = load v1[v23]
           v25: f32 = add v22, v24
           continue v25
         }
         continue v13
       }";

    #[test]
    fn a_quotient_makes_up_for_gathers() {
        let body = |op: &str| {
            format!(
                "v7: f32 = load v1[v3]
                 v13: i64 = cast v4
                 v14: f32 = load v1[v13]
                 v15: i64 = neg v13
                 v16: f32 = load v1[v15]
                 v17: f32 = {op} v14, v16
                 store v2[v13], v17"
            )
        };
        assert_eq!(check(&body("div"), Gathers::Slow), Ok(()));
        let reason = check(&body("add"), Gathers::Slow).expect_err("stays scalar");
        assert!(reason.text.contains("would be gathers"), "{reason:?}");
    }

    #[test]
    fn a_gathered_vector_is_as_many_gathers_as_it_has_scalars() {
        let text = |elem: &str, size: &str| {
            format!(
                "kernel @spring(v0: array<i32, 1>, v1: array<{elem}, 1>, v2: array<f32, 1>) {{
                   v3: i64 = tid 0
                   v4: i32 = load v0[v3]
                   v5: i64 = cast v4
                   v6: {elem} = load v1[v5]
                   v7: f32 = {size}
                   v8: f32 = sqrt v7
                   store v2[v5], v8
                   return
                 }}"
            )
        };
        let fits = |elem, size| {
            let module = ir::parse::parse_module(&text(elem, size)).unwrap_or_else(|error| panic!("{error:?}"));
            let func = &module.funcs[0];
            can_widen(func, &analysis::uniformity(func, 0), Some(Gathers::Slow)).is_ok()
        };
        assert!(fits("f32", "mul v6, v6") && !fits("vec<f32, 4>", "dot v6, v6"));
    }

    #[test]
    fn counted_loops_gather_where_that_costs_no_more_than_loads() {
        assert_eq!(check(COUNTED, Gathers::Fair), Ok(()));
        for (body, gathers) in [(COUNTED, Gathers::Slow), (NESTED, Gathers::Fair)] {
            let reason = check(body, gathers).expect_err("stays scalar");
            assert!(reason.text.contains("leave apart would gather"), "{reason:?}");
        }
    }
}
