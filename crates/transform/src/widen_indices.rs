//! Does the arithmetic of array indices in i64, where that gives the same.
//!
//! In: a function whose indices may be sums of i32 that are then cast to i64. Out: the casts moved up to the operands,
//! wherever no result leaves the i32 range. Neighboring accesses then differ by a constant that code generation sees.
//!
//! ```text
//! v2: i32 = add v0, v1      ->    v4: i64 = cast v0; v5: i64 = cast v1
//! v3: i64 = cast v2               v3: i64 = add v4, v5
//! ```
//!
//! For targets that compute addresses in 64 bits anyway.

use crate::Changed;
use crate::range::{Counters, Range};
use ir::{Attr, Function, InstId, Op, Scalar, Type, ValueDef};
use smallvec::SmallVec;

/// Rewrites every cast that can be, and the casts that this makes.
pub fn widen_indices(func: &mut Function) -> Changed {
    let counters = Counters::new(func);
    let mut changed = false;
    for region in 0..func.regions.len() {
        let mut at = 0;
        while at < func.regions[region].insts.len() {
            let id = func.regions[region].insts[at];
            match widen(func, &counters, id) {
                // The new casts stand before this one and are looked at next.
                Some(casts) => {
                    changed = true;
                    func.regions[region].insts.splice(at..at, casts);
                }
                None => at += 1,
            }
        }
    }
    Changed(changed)
}

/// Turns the cast of a sum into a sum; gives the casts that must go before it.
fn widen(func: &mut Function, counters: &Counters, id: InstId) -> Option<SmallVec<[InstId; 2]>> {
    let inst = func.inst(id);
    if inst.op != Op::Cast || func.ty(inst.result()) != Type::i64() || func.ty(inst.operands[0]) != Type::i32() {
        return None;
    }
    let ValueDef::Result(def, _) = func.def(inst.operands[0]) else { return None };
    let (op, operands) = (func.inst(def).op, func.inst(def).operands.clone());
    let bounds = |i: usize| counters.range(func, operands[i]);
    let fits = match op {
        Op::Add => Some((bounds(0)?, bounds(1)?)).map(|(a, b)| (a.lo + b.lo, a.hi + b.hi)),
        Op::Sub => Some((bounds(0)?, bounds(1)?)).map(|(a, b)| (a.lo - b.hi, a.hi - b.lo)),
        _ => None,
    };
    let (lo, hi) = fits?;
    let all = Range::of_type(Scalar::I32);
    if lo < all.lo || hi > all.hi {
        return None;
    }
    let span = func.inst(id).span;
    let mut casts = SmallVec::new();
    let mut wide: SmallVec<[ir::Value; 2]> = SmallVec::new();
    for &operand in &operands {
        let cast = func.add_inst(Op::Cast, &[operand], Attr::None, &[], &[Type::i64()], span);
        wide.push(func.inst(cast).result());
        casts.push(cast);
    }
    let inst = &mut func.insts[id.index()];
    inst.op = op;
    inst.operands = SmallVec::from_slice(&wide);
    Some(casts)
}
