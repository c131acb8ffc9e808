//! Whether what a kernel leaves depends on the order in which its threads reach its atomics.
//!
//! In: an optimized kernel, and the sums that a launch keeps in accumulators. Out: no for integers, minima and maxima whose
//! result nobody uses, and for those sums; yes for other sums of floats, for exchanges, and where a thread asks what was
//! there.

use analysis::{Root, roots};
use ir::{AtomicOp, Attr, Function, Inst, Op, RegionId};
use runtime::Sites;

pub(crate) fn depends_on_order(kernel: &Function, sites: Option<&Sites>) -> bool {
    let mut insts = Vec::new();
    collect(kernel, kernel.body, &mut insts);
    let is_used = |inst: &Inst| insts.iter().any(|other| other.operands.contains(&inst.result()));
    insts.iter().filter(|inst| matches!(inst.op, Op::Atomic | Op::AtomicCas)).any(|inst| {
        let is_own = roots(kernel, inst.operands[0]).iter().all(|root| matches!(root, Root::Local(_)));
        let is_free = match inst.attr {
            _ if inst.op == Op::AtomicCas || is_used(inst) => false,
            Attr::Atomic(AtomicOp::Exchange, _) => false,
            Attr::Atomic(AtomicOp::Add | AtomicOp::Sub, _) => {
                let is_int = kernel.ty(inst.result()).element().is_some_and(|scalar| scalar.is_int());
                is_int || sites.is_some_and(|sites| sites.offsets(kernel, inst).is_some())
            }
            _ => true,
        };
        !is_own && !is_free
    })
}

fn collect<'f>(func: &'f Function, region: RegionId, found: &mut Vec<&'f Inst>) {
    for &id in &func.region(region).insts {
        let inst = func.inst(id);
        found.push(inst);
        inst.regions.iter().for_each(|&inner| collect(func, inner, found));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str) -> bool {
        let text = format!(
            "kernel @k(v0: array<f32, 1>, v1: array<f32, 1>, v2: array<i32, 1>) {{\n  v3: i64 = tid 0\n  \
             v4: f32 = load v0[v3]\n  v5: i64 = const 0\n  v6: i32 = cast v4\n{body}\n  return\n}}\n"
        );
        let module = ir::parse::parse_module(&text).unwrap_or_else(|error| panic!("{error}"));
        depends_on_order(&module.funcs[0], Sites::of(&module.funcs[0]).as_ref())
    }

    #[test]
    fn what_commutes_to_the_bit_does_not() {
        assert!(!check("  v7: f32 = add v4, v4\n  store v1[v3], v7"));
        assert!(!check("  v7: i32 = atomic add v2[v3], v6\n  v8: f32 = atomic max v1[v3], v4"));
        assert!(!check("  v7: f32 = atomic add v1[v5], v4"));
    }

    #[test]
    fn all_else_does() {
        assert!(check("  v7: f32 = atomic add v1[v3], v4"));
        assert!(check("  v7: i32 = atomic add v2[v5], v6\n  store v2[v3], v7"));
        assert!(check("  v7: f32 = atomic exchange v1[v5], v4"));
        assert!(check("  v7: f32 = atomic add v1[v5], v4\n  v8: f32 = load v1[v3]"));
    }
}
