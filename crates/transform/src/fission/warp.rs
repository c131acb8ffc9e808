//! Warp ops: lanes leave what they give in memory, and behind the end of the stretch take what others left.
//!
//! ```text
//! v3: f32, v4: bool = shuffle v0, v1, v2, v5 {down}
//! ->  threads { …; store x[lin + 32], v1 }
//!     threads { v6: f32 = load x[lin + 32 + v2]; v3: f32 = select (lane + v2 < 32 and lane + v2 takes part), v6, v1; … }
//! ```
//!
//! The space of one warp before and behind the threads' elements lets every lane read first and choose then, so that a
//! gang's lanes read neighbors.

use super::Fission;
use ir::{Attr, Builder, Inst, InstId, Op, Scalar, ShuffleMode, Type, Value, VoteMode};

/// Lanes of a warp.
const LANES: i128 = 32;

impl Fission<'_> {
    pub(super) fn warp_op(&mut self, id: InstId) {
        let inst = self.old.inst(id);
        match (inst.op, &inst.attr) {
            (Op::Shuffle, Attr::Shuffle(mode)) => self.shuffle(inst, *mode),
            (Op::Vote, Attr::Vote(mode)) => self.vote(inst, *mode),
            (Op::MatchAny | Op::MatchAll, _) => self.matches(inst),
            _ => {
                self.close();
                let active = self.active();
                let lanes = self.lanes(active);
                self.give(inst, &[lanes]);
            }
        }
    }

    fn give(&mut self, inst: &Inst, values: &[Value]) {
        for (&result, &value) in inst.results.iter().zip(values) {
            self.define(result, value);
            self.keep(result);
        }
    }

    /// Leaves a value for the other lanes; gives where.
    fn leave_value(&mut self, value: Value) -> Value {
        let local = self.local(value);
        let slots = self.thread_slots(self.old.ty(value), &[]);
        let lin = self.open();
        let mut b = self.s();
        let space = b.int(Scalar::I64, LANES);
        let at = b.binary(Op::Add, lin, space);
        b.store(slots, &[at], &[], &[], local);
        self.close();
        slots
    }

    /// For each warp the bits of flags that are set and whose threads are on.
    fn ballots(&mut self, flags: Option<Value>) -> Value {
        let word = Type::scalar(Scalar::U32);
        let ballots = self.thread_slots(word, &[]);
        let (n, mask, zero, one, yes) =
            (self.shape.n_threads, self.mask, self.shape.zero, self.shape.one, self.shape.yes);
        self.close();
        let mut b = self.b();
        let (lanes, shift) = (b.int(Scalar::I64, LANES), b.int(Scalar::I64, 5));
        let last = b.int(Scalar::I64, LANES - 1);
        let up = b.binary(Op::Add, n, last);
        let n_warps = b.binary(Op::Shr, up, shift);
        self.block_loop(n_warps, &[], |b, warp, _| {
            let none = b.int(Scalar::U32, 0);
            let body = b.func.add_region(&[Type::i64(), word]);
            let made = b.push(Op::For, &[zero, lanes, one, none], Attr::None, &[body], &[word]);
            let outer = b.enter(body);
            let (lane, bits) = (b.region_param(body, 0), b.region_param(body, 1));
            let start = b.binary(Op::Shl, warp, shift);
            let t = b.binary(Op::Add, start, lane);
            let mut flag = b.compare(Op::Lt, t, n);
            for flags in [flags, mask].into_iter().flatten() {
                let other = b.load(flags, &[t], &[], &[]);
                flag = b.select(flag, other, flag);
            }
            let flag = b.select(flag, yes, flag);
            let flag = b.cast(flag, Scalar::U32);
            let lane = b.cast(lane, Scalar::U32);
            let bit = b.binary(Op::Shl, flag, lane);
            let bits = b.binary(Op::Or, bits, bit);
            b.continue_(&[bits]);
            b.enter(outer);
            let bits = b.func.inst(made).result();
            b.store(ballots, &[warp], &[], &[], bits);
            Vec::new()
        });
        ballots
    }

    /// What says which lanes are at this instruction: the mask's ballots, or nothing where all are.
    fn active(&mut self) -> Option<Value> {
        self.mask.is_some().then(|| self.ballots(None))
    }

    /// The lanes of this thread's warp that are at this instruction, u32.
    fn lanes(&mut self, active: Option<Value>) -> Value {
        if let Some(active) = active {
            return self.of_warp(active);
        }
        let (lane, lin, n) = (self.lane(), self.open(), self.shape.n_threads);
        let mut b = self.s();
        let base = b.binary(Op::Sub, lin, lane);
        let left = b.binary(Op::Sub, n, base);
        let lanes = b.int(Scalar::I64, LANES);
        let count = b.binary(Op::Min, left, lanes);
        let count = b.cast(count, Scalar::U32);
        let one = b.int(Scalar::U32, 1);
        // A shift by 32 gives 0, and one less is all ones.
        let end = b.binary(Op::Shl, one, count);
        b.binary(Op::Sub, end, one)
    }

    /// The word of this thread's warp.
    fn of_warp(&mut self, words: Value) -> Value {
        let lin = self.open();
        let mut b = self.s();
        let shift = b.int(Scalar::I64, 5);
        let warp = b.binary(Op::Shr, lin, shift);
        b.load(words, &[warp], &[], &[])
    }

    fn shuffle(&mut self, inst: &Inst, mode: ShuffleMode) {
        let left = self.leave_value(inst.operands[1]);
        let active = self.active();
        let lanes = self.lanes(active);
        let [mask, own, n, width] = [0, 1, 2, 3].map(|i| self.local(inst.operands[i]));
        let (lane, lin) = (self.lane(), self.open());
        let mut b = self.s();
        let [zero, one, last, space] = [0, 1, LANES - 1, LANES].map(|n| b.int(Scalar::I64, n));
        let n = b.cast(n, Scalar::I64);
        let n = b.binary(Op::And, n, last);
        let width = b.cast(width, Scalar::I64);
        let width = b.binary(Op::Max, width, one);
        let width = b.binary(Op::Min, width, space);
        let at_own = b.binary(Op::Add, lin, space);
        let in_group = b.binary(Op::Rem, lane, width);
        let start = b.binary(Op::Sub, lane, in_group);
        let end = b.binary(Op::Add, start, width);
        let of_warp = |b: &mut Builder, other: Value| {
            let base = b.binary(Op::Sub, at_own, lane);
            b.binary(Op::Add, base, other)
        };
        let (other, at, exists) = match mode {
            ShuffleMode::Index => {
                let n = b.binary(Op::Rem, n, width);
                let other = b.binary(Op::Add, start, n);
                (other, of_warp(&mut b, other), b.compare(Op::Ge, other, zero))
            }
            ShuffleMode::Xor => {
                let other = b.binary(Op::Xor, lane, n);
                (other, of_warp(&mut b, other), b.compare(Op::Lt, other, end))
            }
            ShuffleMode::Up => {
                let other = b.binary(Op::Sub, lane, n);
                (other, b.binary(Op::Sub, at_own, n), b.compare(Op::Ge, other, start))
            }
            ShuffleMode::Down => {
                let other = b.binary(Op::Add, lane, n);
                (other, b.binary(Op::Add, at_own, n), b.compare(Op::Lt, other, end))
            }
        };
        let theirs = b.load(left, &[at], &[], &[]);
        let with = b.binary(Op::And, mask, lanes);
        let shift = b.cast(other, Scalar::U32);
        let bit = b.binary(Op::Shr, with, shift);
        let bit = b.cast_bit(bit);
        let takes = b.binary(Op::And, exists, bit);
        let value = b.select(takes, theirs, own);
        self.give(inst, &[value, exists]);
    }

    fn vote(&mut self, inst: &Inst, mode: VoteMode) {
        let flag = self.local(inst.operands[1]);
        let flags = self.flags();
        let lin = self.open();
        self.push_store(flags, &[lin], flag);
        self.close();
        let ballots = self.ballots(Some(flags));
        let active = self.active();
        let lanes = self.lanes(active);
        let (holds, mask) = (self.of_warp(ballots), self.local(inst.operands[0]));
        let mut b = self.s();
        let with = b.binary(Op::And, lanes, mask);
        let holds = b.binary(Op::And, holds, mask);
        let none = b.int(Scalar::U32, 0);
        let result = match mode {
            VoteMode::Ballot => holds,
            VoteMode::Any => b.compare(Op::Ne, holds, none),
            VoteMode::All => b.compare(Op::Eq, holds, with),
            VoteMode::Uniform => {
                let [all, no] = [with, none].map(|bits| b.compare(Op::Eq, holds, bits));
                b.binary(Op::Or, all, no)
            }
        };
        self.give(inst, &[result]);
    }

    fn matches(&mut self, inst: &Inst) {
        let left = self.leave_value(inst.operands[1]);
        let active = self.active();
        let lanes = self.lanes(active);
        let [mask, own] = [0, 1].map(|i| self.local(inst.operands[i]));
        let (lane, lin) = (self.lane(), self.open());
        let (zero, one) = (self.shape.zero, self.shape.one);
        let mut b = self.s();
        let word = Type::scalar(Scalar::U32);
        let base = b.binary(Op::Sub, lin, lane);
        let space = b.int(Scalar::I64, LANES);
        let base = b.binary(Op::Add, base, space);
        let own = b.to_bits(own);
        let none = b.int(Scalar::U32, 0);
        let body = b.func.add_region(&[Type::i64(), word]);
        let made = b.push(Op::For, &[zero, space, one, none], Attr::None, &[body], &[word]);
        let outer = b.enter(body);
        let (other, bits) = (b.region_param(body, 0), b.region_param(body, 1));
        let at = b.binary(Op::Add, base, other);
        let theirs = b.load(left, &[at], &[], &[]);
        let theirs = b.to_bits(theirs);
        let is_same = b.compare(Op::Eq, theirs, own);
        let is_same = b.cast(is_same, Scalar::U32);
        let shift = b.cast(other, Scalar::U32);
        let bit = b.binary(Op::Shl, is_same, shift);
        let bits = b.binary(Op::Or, bits, bit);
        b.continue_(&[bits]);
        b.enter(outer);
        let same = b.func.inst(made).result();
        let with = b.binary(Op::And, lanes, mask);
        let same = b.binary(Op::And, same, with);
        if inst.op == Op::MatchAny {
            return self.give(inst, &[same]);
        }
        let all = b.compare(Op::Eq, same, with);
        let found = b.select(all, with, none);
        self.give(inst, &[found, all]);
    }
}

/// What these rewrites often need.
trait Bits {
    /// The lowest bit as a bool.
    fn cast_bit(&mut self, word: Value) -> Value;
    /// The bits of a scalar as an unsigned integer.
    fn to_bits(&mut self, x: Value) -> Value;
}

impl Bits for Builder<'_> {
    fn cast_bit(&mut self, word: Value) -> Value {
        let one = self.int(Scalar::U32, 1);
        let bit = self.binary(Op::And, word, one);
        self.compare(Op::Eq, bit, one)
    }

    fn to_bits(&mut self, x: Value) -> Value {
        let wide = self.ty(x).as_scalar().is_some_and(|scalar| scalar.size() == 8);
        let to = Type::scalar(if wide { Scalar::U64 } else { Scalar::U32 });
        if self.ty(x) == to { x } else { self.push1(Op::Bitcast, &[x], Attr::None, to) }
    }
}
