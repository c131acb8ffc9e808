//! The sums that all threads of a launch add to: places in arrays that are the same for every thread, to which the kernel
//! adds floats atomically and does nothing else.
//!
//! In: a kernel whose calls are inlined. Out: its [`LaunchSums`]. Nobody sees such a sum before the launch is over, so a
//! device may add up parts of it, in an order that does not depend on time, and add those to memory in the end.
//!
//! ```text
//! v3: f32 = atomic add v1[0], v0    a sum of all threads, where v3 and all else of v1 is unused
//! v3: f32 = atomic add v1[v2], v0   none, where v2 depends on the thread
//! ```
//!
//! An array may be another name of the same memory: whether one is, the launch knows ([`LaunchSums::params`]).

use ir::{
    AtomicOp, Attr, Function, FunctionKind, Inst, LeafKind, Op, PathElem, RegionId, Scalar, Type, Value, ValueDef,
};

/// A place, as a key: equal ones are at equal addresses in every thread.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    param: usize,
    indices: Vec<String>,
    path: Box<[PathElem]>,
}

/// A place that is added to, and where its scalars lie in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchSum {
    place: Place,
    pub leaves: Vec<(u64, Scalar)>,
}

/// The sums of a kernel that all threads add to. Instructions of other forms of the same kernel are recognized by their places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaunchSums {
    pub sums: Vec<LaunchSum>,
    /// The array parameters that have them: legal where no other array shares memory with these.
    pub params: Vec<usize>,
    /// Whether a thread may run for long: there is a loop.
    pub has_loops: bool,
}

impl LaunchSums {
    /// Those of floats.
    pub fn of(func: &Function) -> LaunchSums {
        LaunchSums::with(func, |scalar| matches!(scalar, Scalar::F32 | Scalar::F64))
    }

    /// Those of integers too, for devices that gain by adding up parts of them.
    pub fn of_numbers(func: &Function) -> LaunchSums {
        LaunchSums::with(func, |scalar| matches!(scalar.size(), 4 | 8))
    }

    fn with(func: &Function, is_summed_up: fn(Scalar) -> bool) -> LaunchSums {
        let mut found = LaunchSums::default();
        if func.kind != FunctionKind::Kernel {
            return found;
        }
        let mut insts = Vec::new();
        collect(func, func.body, &mut insts);
        // An array that is found by its address may be any other.
        let finds_arrays = |inst: &&Inst| {
            inst.op == Op::ArrayFromAddress || inst.op == Op::Load && has_address(func.ty(inst.result()))
        };
        if insts.iter().any(finds_arrays) {
            return found;
        }
        found.has_loops = insts.iter().any(|inst| matches!(inst.op, Op::For | Op::Loop));
        let params = func.region(func.body).params.iter().enumerate();
        for (param, &array) in params.filter(|&(_, &value)| func.ty(value).is_array()) {
            if !insts.iter().all(|inst| is_summed(&insts, inst, array)) {
                continue;
            }
            let before = found.sums.len();
            for inst in insts.iter().filter(|inst| inst.op == Op::Atomic && inst.operands[0] == array) {
                let (Some(place), Some(leaves)) = (place(func, inst), leaves(func, inst, is_summed_up)) else {
                    continue;
                };
                if !found.sums.iter().any(|sum| sum.place == place) {
                    found.sums.push(LaunchSum { place, leaves });
                }
            }
            if found.sums.len() > before {
                found.params.push(param);
            }
        }
        found
    }

    /// The number of the sum that an instruction adds to.
    pub fn sum_of(&self, func: &Function, inst: &Inst) -> Option<usize> {
        if inst.op != Op::Atomic || self.sums.is_empty() {
            return None;
        }
        let place = place(func, inst)?;
        self.sums.iter().position(|sum| sum.place == place)
    }
}

fn has_address(ty: Type) -> bool {
    ty.leaves().iter().any(|leaf| leaf.kind == LeafKind::Pointer)
}

fn collect<'f>(func: &'f Function, region: RegionId, found: &mut Vec<&'f Inst>) {
    for &id in &func.region(region).insts {
        let inst = func.inst(id);
        found.push(inst);
        inst.regions.iter().for_each(|&inner| collect(func, inner, found));
    }
}

/// Whether an instruction does nothing to an array but add to it, without looking at what was there.
fn is_summed(insts: &[&Inst], inst: &Inst, array: Value) -> bool {
    if !inst.operands.contains(&array) {
        return true;
    }
    match (inst.op, &inst.attr) {
        (Op::Extent | Op::WrapIndex | Op::CheckBounds | Op::IsNull, _) => true,
        (Op::Atomic, Attr::Atomic(AtomicOp::Add | AtomicOp::Sub, _)) => {
            !insts.iter().any(|other| other.operands.contains(&inst.result()))
        }
        _ => false,
    }
}

/// The place of an atomic operation on a parameter, where it is the same for all threads.
fn place(func: &Function, inst: &Inst) -> Option<Place> {
    let array = inst.operands[0];
    let ValueDef::Param(region, param) = func.def(array) else { return None };
    let (_, rank) = func.ty(array).as_array().filter(|_| region == func.body)?;
    let (_, indices, path_indices, _) = inst.access(rank as usize);
    let indices = indices.iter().chain(path_indices).map(|&index| as_key(func, index)).collect::<Option<_>>()?;
    Some(Place { param: param as usize, indices, path: inst.path().into() })
}

/// How a value is computed from constants and parameters alone.
fn as_key(func: &Function, value: Value) -> Option<String> {
    let ty = func.ty(value);
    match func.def(value) {
        ValueDef::Param(region, param) => (region == func.body).then(|| format!("param {param}")),
        ValueDef::Result(id, _) => {
            let inst = func.inst(id);
            match (inst.op, &inst.attr) {
                (Op::Const, Attr::Const(constant)) => {
                    let scalar = ty.as_scalar().filter(|scalar| scalar.is_int())?;
                    Some(constant.as_int(scalar).to_string())
                }
                (Op::Cast | Op::WrapIndex | Op::Extent | Op::Add | Op::Sub | Op::Mul, attr) => {
                    let operands = inst.operands.iter().map(|&operand| as_key(func, operand));
                    let operands = operands.collect::<Option<Vec<_>>>()?.join(", ");
                    Some(format!("{} {attr:?} {ty} ({operands})", inst.op.name()))
                }
                _ => None,
            }
        }
    }
}

/// The scalars of what is added, all of them floats that add up in memory as they do in registers.
fn leaves(func: &Function, inst: &Inst, is_summed_up: fn(Scalar) -> bool) -> Option<Vec<(u64, Scalar)>> {
    let leaves = func.ty(inst.result()).leaves().into_iter().map(|leaf| match leaf.kind {
        LeafKind::Scalar(scalar) if is_summed_up(scalar) => Some((leaf.offset, scalar)),
        _ => None,
    });
    leaves.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(body: &str) -> Vec<(usize, usize)> {
        let text = format!(
            "kernel @k(v0: array<f32, 1>, v1: array<f32, 1>, v2: i32) {{\n  v3: i64 = tid 0\n  v4: f32 = load v0[v3]\n  \
             v5: i64 = const 0\n{body}\n  return\n}}\n"
        );
        let module = ir::parse::parse_module(&text).unwrap_or_else(|errors| panic!("{errors:?}"));
        let func = &module.funcs[0];
        let found = LaunchSums::of(func);
        let of = |inst| found.sum_of(func, inst);
        let sites = func.insts.iter().filter_map(of);
        let sites: Vec<usize> = sites.collect();
        sites.into_iter().map(|sum| (sum, found.sums[sum].leaves.len())).collect()
    }

    #[test]
    fn places_that_are_the_same_in_every_thread() {
        assert_eq!(sums("  v6: f32 = atomic add v1[v5], v4"), [(0, 1)]);
        assert_eq!(sums("  v6: f32 = atomic sub v1[v5], v4\n  v7: f32 = atomic add v1[v5], v4"), [(0, 1), (0, 1)]);
        assert_eq!(sums("  v6: i64 = cast v2\n  v7: f32 = atomic add v1[v6], v4"), [(0, 1)]);
        let two = "  v6: i64 = cast v2\n  v7: f32 = atomic add v1[v6], v4\n  v8: f32 = atomic add v1[v5], v4";
        assert_eq!(sums(two), [(0, 1), (1, 1)]);
    }

    #[test]
    fn all_else_is_none() {
        assert_eq!(sums("  v6: f32 = atomic add v1[v3], v4"), []);
        assert_eq!(sums("  v6: f32 = atomic max v1[v5], v4"), []);
        assert_eq!(sums("  v6: f32 = atomic add v1[v5], v4\n  store v1[v3], v6"), []);
        assert_eq!(sums("  v6: f32 = atomic add v1[v5], v4\n  v7: f32 = load v1[v5]"), []);
        assert_eq!(sums("  v6: f32 = atomic add v0[v5], v4"), []);
    }
}
