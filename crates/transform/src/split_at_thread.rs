//! Splits loops over all threads but this one.
//!
//! In: a function with loops whose body asks whether the counter is the thread's index. Out: three loops in a row, of
//! which only the one in the middle asks: the windows of 256 counters before the thread's own, that window, and the
//! rest. The order of rounds stays. The bounds are those of a window, not of a thread, so that threads of a thread
//! block still go together.
//!
//! ```text
//! for v1: i32 = 0 to n step 1 { if ne v1, tid { … } }
//! ->  for v1: i32 = 0 to min(n, first) step 1 { … }
//!     for v2: i32 = min(n, first) to min(n, last + 1) step 1 { if ne v2, tid { … } }
//!     for v3: i32 = last + 1 to n step 1 { … }          first = tid & ~255, last = tid | 255
//! ```
//!
//! Only loops that count up from 0 by 1 and run to their end. Pays where all rounds read the same memory in all
//! threads; on a CPU, where lanes run together anyway, it does not.

use crate::Changed;
use crate::copy::Copies;
use crate::exits::{all, loop_exits};
use crate::replace::Replacements;
use diagnostics::Span;
use ir::{Attr, Const, Function, InstId, Op, RegionId, Scalar, Type, Value, ValueDef};

/// Counters that are tested together.
const WINDOW: i128 = 256;

/// Splits the loops that lie in the function's body itself. `dim` is the launch's last dimension.
pub fn split_at_thread(func: &mut Function, dim: u32) -> Changed {
    let mut replacements = Replacements::default();
    let body = func.body;
    let insts = std::mem::take(&mut func.regions[body.index()].insts);
    let mut out = Vec::with_capacity(insts.len());
    let mut changed = false;
    for id in insts {
        match find(func, id, dim) {
            Some(test) => {
                split(func, id, &test, &mut out, &mut replacements);
                changed = true;
            }
            None => out.push(id),
        }
    }
    func.regions[body.index()].insts = out;
    replacements.apply(func);
    Changed(changed)
}

/// The comparison of a loop's counter with the thread's index.
struct Test {
    compare: InstId,
    /// The thread's index, of the counter's type.
    thread: Value,
}

fn find(func: &Function, id: InstId, dim: u32) -> Option<Test> {
    let inst = func.inst(id);
    if inst.op != Op::For {
        return None;
    }
    let scalar = func.ty(inst.operands[0]).as_scalar().filter(|scalar| matches!(scalar, Scalar::I32 | Scalar::I64))?;
    let is = |value: Value, number: i128| func.as_const(value).is_some_and(|c| c.as_int(scalar) == number);
    let body = inst.regions[0];
    let runs_to_its_end = loop_exits(func, body) == func.terminator(body).as_slice()
        && func.terminator(body).is_some_and(|end| func.inst(end).op == Op::Continue)
        && all(func, body, |op| op == Op::Return).is_empty();
    if !is(inst.operands[0], 0) || !is(inst.operands[2], 1) || !runs_to_its_end {
        return None;
    }
    let region = func.region(body);
    let counter = region.params[0];
    let decides = |compare: InstId| {
        let asked = func.inst(compare).result();
        region.insts.iter().any(|&id| func.inst(id).op == Op::If && func.inst(id).operands[0] == asked)
    };
    region.insts.iter().find_map(|&compare| {
        let found = func.inst(compare);
        let thread = match found.operands[..] {
            [x, y] if x == counter => y,
            [x, y] if y == counter => x,
            _ => return None,
        };
        let fits = matches!(found.op, Op::Eq | Op::Ne) && is_thread_index(func, thread, dim) && decides(compare);
        fits.then_some(Test { compare, thread })
    })
}

fn is_thread_index(func: &Function, value: Value, dim: u32) -> bool {
    let ValueDef::Result(id, _) = func.def(value) else { return false };
    let inst = func.inst(id);
    match inst.op {
        Op::Tid => inst.attr == Attr::Index(dim),
        Op::Cast => is_thread_index(func, inst.operands[0], dim),
        _ => false,
    }
}

fn split(func: &mut Function, id: InstId, test: &Test, out: &mut Vec<InstId>, replacements: &mut Replacements) {
    let inst = func.inst(id).clone();
    let (zero, hi, one, ty) = (inst.operands[0], inst.operands[1], inst.operands[2], func.ty(inst.operands[0]));
    let mut b = Emit { func, out, span: inst.span };
    let (low, high) = (b.constant(ty, WINDOW - 1), b.constant(ty, -WINDOW));
    let first = b.add(Op::And, &[test.thread, high], ty);
    let last = b.add(Op::Or, &[first, low], ty);
    let to_first = b.add(Op::Min, &[hi, first], ty);
    // Past the last window of the type the sum wraps; the third loop is empty then.
    let after = b.add(Op::Add, &[last, one], ty);
    let is_beyond = b.add(Op::Gt, &[hi, last], Type::bool());
    let to_last = b.add(Op::Select, &[is_beyond, after, hi], ty);
    let rest = b.add(Op::Select, &[is_beyond, hi, after], ty);
    let mut carried: Vec<Value> = inst.operands[3..].to_vec();
    for (lo, hi, is_tested) in [(zero, to_first, false), (to_first, to_last, true), (after, rest, false)] {
        let body = copy_body(func, inst.regions[0], test.compare, is_tested);
        let operands = [&[lo, hi, one], &carried[..]].concat();
        let types: Vec<Type> = inst.results.iter().map(|&value| func.ty(value)).collect();
        let copy = func.add_inst(Op::For, &operands, Attr::None, &[body], &types, inst.span);
        out.push(copy);
        carried = func.inst(copy).results.to_vec();
    }
    for (&result, &value) in inst.results.iter().zip(&carried) {
        replacements.set(result, value);
    }
}

/// The body once more; without the test, the counter is never the thread's index.
fn copy_body(func: &mut Function, body: RegionId, compare: InstId, is_tested: bool) -> RegionId {
    let copy = Copies::default().region(func, body);
    if !is_tested {
        let at = func.region(body).insts.iter().position(|&id| id == compare);
        if let Some(id) = at.map(|at| func.region(copy).insts[at]) {
            let inst = &mut func.insts[id.index()];
            let differs = inst.op == Op::Ne;
            (inst.op, inst.attr) = (Op::Const, Attr::Const(Const::bool(differs)));
            inst.operands.clear();
        }
    }
    copy
}

struct Emit<'a> {
    func: &'a mut Function,
    out: &'a mut Vec<InstId>,
    span: Span,
}

impl Emit<'_> {
    fn add(&mut self, op: Op, operands: &[Value], ty: Type) -> Value {
        let id = self.func.add_inst(op, operands, Attr::None, &[], &[ty], self.span);
        self.out.push(id);
        self.func.inst(id).result()
    }

    fn constant(&mut self, ty: Type, value: i128) -> Value {
        let bits = ty.as_scalar().map_or(Const(0), |scalar| Const::int(scalar, value));
        let id = self.func.add_inst(Op::Const, &[], Attr::Const(bits), &[], &[ty], self.span);
        self.out.push(id);
        self.func.inst(id).result()
    }
}
