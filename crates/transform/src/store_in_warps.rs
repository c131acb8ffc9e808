//! Stores of neighbors' vectors of three, made by their warp together, for GPUs: each store of the machine writes 128 bytes
//! in a row, where threads on their own write every third word, and every sector of memory three times.
//!
//! In: a kernel over one dimension of threads, whose arrays have no gaps. Out: where a warp is whole, what each thread
//! stores at its own index goes by shuffles to the lane that stores it; else the kernel is as it was. Lane `L` stores
//! the words `L`, `L + 32` and `L + 64` of the warp's 96.
//!
//! ```text
//! v0 = tid 0                        if the warp is whole {
//! …                                   …
//! store v1[v0], v2                    v3 = that of lane (32 w + L) / 3, component by component
//! return                       ->     store words of v1[32 w + 3 (v0 - L) + L], the component of v3 that it is
//!                                   } else { …; store v1[v0], v2 }
//!                                   return
//! ```
//!
//! Legal where every thread comes to the store: in the kernel's own region, which returns at its end alone, and where no
//! check may end a thread. Barriers of the warp stand around, since a lane's element is written by others.

use crate::Changed;
use crate::copy::Copies;
use crate::exits::{all, is_loop};
use ir::op::{Effect, ShuffleMode};
use ir::{Attr, Builder, Function, FunctionKind, Inst, InstId, Op, Scalar, Type, TypeKind, Value, ValueDef};

/// Most instructions of a kernel: there are two of each.
const MAX_INSTS: usize = 400;
const LANES: i128 = 32;
/// Components of a vector. No other small number leaves remainders of each kind among a lane's words, as 3 does.
const WORDS: u32 = 3;

/// For a kernel that is launched over `rank` dimensions.
pub fn store_in_warps(func: &mut Function, rank: u32) -> Changed {
    let body = func.body;
    let insts = func.region(body).insts.clone();
    let is_refused = |op: Op| {
        is_loop(op)
            || matches!(op.effect(), Effect::Sync | Effect::Check)
            || matches!(op, Op::Call | Op::LocalArray | Op::SharedArray | Op::DynamicShared)
    };
    let stores: Vec<InstId> = insts.iter().copied().filter(|&id| is_own_store(func, func.inst(id))).collect();
    let returns = all(func, body, |op| op == Op::Return);
    if rank != 1
        || func.kind != FunctionKind::Kernel
        || stores.is_empty()
        || returns.len() != 1
        || insts.last() != returns.first()
        || !all(func, body, is_refused).is_empty()
        || all(func, body, |_| true).len() > MAX_INSTS
    {
        return Changed(false);
    }
    let mut copies = Copies::default();
    let copied: Vec<InstId> = insts[..insts.len() - 1].iter().map(|&id| copies.inst(func, id)).collect();
    let mut b = Builder::new(func);
    b.func.regions[body.index()].insts.clear();
    b.enter(body);
    let tid = b.push1(Op::Tid, &[], Attr::Index(0), Type::i64());
    let warp = Warp::of(&mut b, tid);
    let (whole, part) = (b.func.add_region(&[]), b.func.add_region(&[]));
    b.enter(part);
    b.func.regions[part.index()].insts.extend(&insts[..insts.len() - 1]);
    b.yield_(&[]);
    b.enter(whole);
    // Stores that nothing stands between share their barriers.
    let mut waiting: Vec<Words> = Vec::new();
    for (&id, copy) in insts.iter().zip(copied) {
        if stores.contains(&id) {
            let store = b.func.inst(copy).clone();
            b.span = store.span;
            waiting.push(warp.exchange(&mut b, &store));
            continue;
        }
        if b.func.inst(copy).op.effect() != Effect::Pure {
            warp.store(&mut b, std::mem::take(&mut waiting));
        }
        b.func.regions[whole.index()].insts.push(copy);
    }
    warp.store(&mut b, waiting);
    b.yield_(&[]);
    b.enter(body);
    b.push(Op::If, &[warp.is_whole], Attr::None, &[whole, part], &[]);
    b.func.regions[body.index()].insts.push(insts[insts.len() - 1]);
    Changed(true)
}

/// Whether each thread stores three words at its own index of an array that the kernel is given.
pub fn is_own_store(func: &Function, inst: &Inst) -> bool {
    if inst.op != Op::Store
        || !inst.path().is_empty()
        || func.ty(inst.operands[0]).as_array().is_none_or(|(_, rank)| rank != 1)
    {
        return false;
    }
    let is_param = matches!(func.def(inst.operands[0]), ValueDef::Param(region, _) if region == func.body);
    let is_tid = matches!(func.def(inst.operands[1]), ValueDef::Result(id, _)
        if func.inst(id).op == Op::Tid && matches!(func.inst(id).attr, Attr::Index(0)));
    let is_triple = |ty: Type| {
        matches!(ty.kind(), TypeKind::Vector { .. })
            && ty.n_components() == WORDS as usize
            && ty.element().is_some_and(|scalar| scalar.size() == 4)
    };
    is_param && is_tid && is_triple(func.ty(inst.operands[2]))
}

fn component(b: &mut Builder<'_>, value: Value, index: u32) -> Value {
    if let ValueDef::Result(id, _) = b.func.def(value) {
        let inst = b.func.inst(id);
        match inst.op {
            Op::Splat => return inst.operands[0],
            Op::Construct => return inst.operands[index as usize],
            _ => {}
        }
    }
    b.extract(value, index)
}

/// What a lane stores of an array: its words, 32 apart.
struct Words {
    /// A view of the array as words.
    array: Value,
    values: [Value; WORDS as usize],
}

/// What a lane knows of its warp.
struct Warp {
    /// The first word that the lane stores.
    begin: Value,
    /// Words of an array that has an element for each thread.
    n_words: Value,
    is_whole: Value,
    /// By component: the lane whose component this one stores.
    sources: [Value; WORDS as usize],
    /// Whether the own number is a multiple of 3, and whether it is one more than that.
    is_remainder: [Value; 2],
}

impl Warp {
    fn of(b: &mut Builder<'_>, tid: Value) -> Warp {
        let lane = b.push1(Op::LaneId, &[], Attr::None, Type::i32());
        let wide = b.cast(lane, Scalar::I64);
        let first = b.binary(Op::Sub, tid, wide);
        let lanes = b.int(Scalar::I64, LANES);
        let end = b.binary(Op::Add, first, lanes);
        let extent = b.push1(Op::LaunchExtent, &[], Attr::Index(0), Type::i64());
        let is_whole = b.compare(Op::Le, end, extent);
        let three = b.int(Scalar::I32, i128::from(WORDS));
        let remainder = b.binary(Op::Rem, lane, three);
        let is_remainder = [0, 1].map(|number| {
            let number = b.int(Scalar::I32, number);
            b.compare(Op::Eq, remainder, number)
        });
        // Word 32 w + lane is component (lane + 2 w) mod 3, so that component c is in word w = (lane + 2 c) mod 3.
        let sources = [0, 2, 4].map(|twice| {
            let twice = b.int(Scalar::I32, twice);
            let sum = b.binary(Op::Add, remainder, twice);
            let word = b.binary(Op::Rem, sum, three);
            let lanes = b.int(Scalar::I32, LANES);
            let begin = b.binary(Op::Mul, word, lanes);
            let at = b.binary(Op::Add, begin, lane);
            b.binary(Op::Div, at, three)
        });
        let three = b.int(Scalar::I64, i128::from(WORDS));
        let begin = b.binary(Op::Mul, first, three);
        let begin = b.binary(Op::Add, begin, wide);
        let n_words = b.binary(Op::Mul, extent, three);
        Warp { begin, n_words, is_whole, sources, is_remainder }
    }

    /// Gives each lane the words that it stores.
    fn exchange(&self, b: &mut Builder<'_>, store: &Inst) -> Words {
        let (array, value) = (store.operands[0], store.operands[2]);
        let scalar = b.ty(value).element().unwrap_or(Scalar::F32);
        let all = b.int(Scalar::U32, i128::from(u32::MAX));
        let width = b.int(Scalar::I32, LANES);
        let mut parts = Vec::new();
        for (index, &source) in (0u32..).zip(&self.sources) {
            let part = component(b, value, index);
            parts.push(match b.func.as_const(part) {
                Some(_) => part,
                None => {
                    let types = [Type::scalar(scalar), Type::bool()];
                    let operands = [all, part, source, width];
                    let found = b.push(Op::Shuffle, &operands, Attr::Shuffle(ShuffleMode::Index), &[], &types);
                    b.func.inst(found).results[0]
                }
            });
        }
        // The component in word w of a lane whose number mod 3 is m: (m + 2 w) mod 3.
        let values = [[0, 1, 2], [2, 0, 1], [1, 2, 0]].map(|[zero, one, two]| {
            let other = b.select(self.is_remainder[1], parts[one], parts[two]);
            b.select(self.is_remainder[0], parts[zero], other)
        });
        let address = b.push1(Op::Address, &[array], Attr::None, Type::scalar(Scalar::U64));
        let array = Type::array(Type::scalar(scalar), 1);
        let array = b.push1(Op::ArrayFromAddress, &[address, self.n_words], Attr::None, array);
        Words { array, values }
    }

    fn store(&self, b: &mut Builder<'_>, all_words: Vec<Words>) {
        if all_words.is_empty() {
            return;
        }
        let all = b.int(Scalar::U32, i128::from(u32::MAX));
        b.push(Op::WarpBarrier, &[all], Attr::None, &[], &[]);
        for Words { array, values } in all_words {
            for (word, value) in (0..).zip(values) {
                let offset = b.int(Scalar::I64, LANES * word);
                let at = b.binary(Op::Add, self.begin, offset);
                b.store(array, &[at], &[], &[], value);
            }
        }
        b.push(Op::WarpBarrier, &[all], Attr::None, &[], &[]);
    }
}

#[cfg(test)]
mod tests {
    /// Where the lanes' shuffles and stores put each word of what they hold.
    #[test]
    fn every_word_comes_to_its_place() {
        let mut memory = [(u32::MAX, u32::MAX); 96];
        for lane in 0..32 {
            let remainder = lane % 3;
            let source = |c: u32| (((remainder + 2 * c) % 3) * 32 + lane) / 3;
            let parts: Vec<(u32, u32)> = (0..3).map(|c| (source(c), c)).collect();
            for (word, order) in [[0, 1, 2], [2, 0, 1], [1, 2, 0]].into_iter().enumerate() {
                memory[32 * word + lane as usize] = parts[order[remainder as usize]];
            }
        }
        for (at, found) in memory.into_iter().enumerate() {
            assert_eq!(found, (at as u32 / 3, at as u32 % 3));
        }
    }
}
