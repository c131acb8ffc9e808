//! Tests, once for a batch of rounds, that square roots and quotients of f32 are of ordinary numbers.
//!
//! In: a body of several rounds, and one of one round. Out: the body with its tail in a branch that only ordinary
//! numbers take, beside a loop over the rounds one by one for all others. Code generation finds in the test what a GPU
//! needs to know to compute exact roots and quotients in a few instructions.
//!
//! ```text
//! v5 = sqrt v4 … v9 = sqrt v8 …   ->   m = max(bits(v4) - lo, bits(v8) - lo, …)
//!                                      if m <= hi - lo { v5 = sqrt v4 … v9 = sqrt v8 … } else { for … { … } }
//! ```

use crate::copy::Copies;
use diagnostics::Span;
use ir::{Attr, Const, Function, Inst, InstId, Op, RegionId, Scalar, Type, Value, ValueDef};
use std::collections::HashSet;

/// Bits of the least and the largest number that a root is taken of: 2^-101 (about) to the largest of all.
const ROOT: [u32; 2] = [0x0d00_0000, 0x7f7f_ffff];
/// Bits of what may be divided and divide, of either sign: 2^-62 to below 2^64. Roots of what is in `ROOT` are in it.
const QUOTIENT: [u32; 2] = [0x2080_0000, 0x5f7f_ffff];
const MAGNITUDE: u32 = 0x7fff_ffff;

/// Tests within each other, where a root or quotient is computed from another.
pub(super) const MAX_LEVELS: usize = 3;

/// Splits `body`, which runs so many rounds of `one`, by tests within each other.
pub(super) fn check_domains(func: &mut Function, body: RegionId, one: RegionId, rounds: i128, levels: usize) {
    let insts = func.region(body).insts.clone();
    let Some((&end, insts)) = insts.split_last() else { return };
    let (span, next) = (func.inst(end).span, func.inst(end).operands.to_vec());
    let mut split = Split { func, body, one, rounds, span, known: HashSet::new(), served: HashSet::new() };
    let (mut out, next) = split.level(insts.to_vec(), next, levels);
    out.push(split.func.add_inst(Op::Continue, &next, Attr::None, &[], &[], span));
    func.regions[body.index()].insts = out;
}

/// An arm of a branch in `body` that runs so many rounds of `one` from the start.
pub(super) fn arm_of_rounds(
    func: &mut Function,
    body: RegionId,
    one: RegionId,
    rounds: i128,
    like: InstId,
) -> RegionId {
    let inst = func.inst(like);
    let (span, types) = (inst.span, inst.results.iter().map(|&value| func.ty(value)).collect::<Vec<_>>());
    Split { func, body, one, rounds, span, known: HashSet::new(), served: HashSet::new() }.one_by_one(&types)
}

struct Split<'f> {
    func: &'f mut Function,
    body: RegionId,
    one: RegionId,
    rounds: i128,
    span: Span,
    /// What is known to be in `QUOTIENT`.
    known: HashSet<Value>,
    /// Roots and quotients that tests were made for.
    served: HashSet<InstId>,
}

/// What one test is about.
#[derive(Default)]
struct Level {
    roots: Vec<Value>,
    parts: Vec<Value>,
    served: Vec<InstId>,
}

impl Split<'_> {
    /// Instructions that compute the same, and what stands for `results` then.
    fn level(&mut self, insts: Vec<InstId>, results: Vec<Value>, levels: usize) -> (Vec<InstId>, Vec<Value>) {
        let found = self.find(&insts);
        if levels == 0 || (found.served.len() as i128) < self.rounds {
            return (insts, results);
        }
        self.served.extend(found.served.iter().copied());
        let needed = self.needed(&insts, &found);
        let (mut out, rest): (Vec<InstId>, Vec<InstId>) = insts.into_iter().partition(|id| needed.contains(id));
        let mut tests = Vec::new();
        for (values, [lo, hi], is_signed) in [(&found.roots, ROOT, false), (&found.parts, QUOTIENT, true)] {
            tests.extend(self.test(values, lo, hi, is_signed, &mut out));
        }
        let is_ordinary = tests.into_iter().reduce(|x, y| self.emit(Op::And, &[x, y], Type::bool(), &mut out));
        let types: Vec<Type> = results.iter().map(|&value| self.func.ty(value)).collect();
        let (rest, results) = self.level(rest, results, levels - 1);
        // Where nothing is left to ask, as of constants, all is known.
        let Some(is_ordinary) = is_ordinary else { return ([out, rest].concat(), results) };
        let fast = self.arm(rest, &results);
        let slow = self.one_by_one(&types);
        let branch = self.func.add_inst(Op::If, &[is_ordinary], Attr::None, &[fast, slow], &types, self.span);
        out.push(branch);
        (out, self.func.inst(branch).results.to_vec())
    }

    /// Roots and quotients of what is computed from no other, but for quotients of such roots.
    fn find(&mut self, insts: &[InstId]) -> Level {
        let (mut found, mut late) = (Level::default(), HashSet::new());
        for &id in insts {
            let inst = self.func.inst(id);
            let is_late = |value: &Value| late.contains(value) && !self.known.contains(value);
            let waits = inst.operands.iter().any(is_late);
            let is_asked = is_exact(self.func, id) && !self.served.contains(&id);
            if is_asked && !waits && self.may_hold(inst) {
                found.served.push(id);
                let values = if inst.op == Op::Sqrt { &mut found.roots } else { &mut found.parts };
                values.extend(inst.operands.iter().filter(|value| !self.known.contains(value)));
                if inst.op == Op::Sqrt {
                    self.known.insert(inst.result());
                }
            }
            if is_asked || inst.operands.iter().any(|value| late.contains(value)) {
                late.extend(inst.results.iter().copied());
            }
        }
        self.known.extend(found.parts.iter().copied());
        for values in [&mut found.roots, &mut found.parts] {
            values.sort();
            values.dedup();
        }
        found
    }

    /// Whether the constants of a root or quotient are ordinary numbers.
    fn may_hold(&self, inst: &Inst) -> bool {
        inst.operands.iter().all(|&operand| match (self.constant(operand), inst.op) {
            (None, _) => true,
            (Some(bits), Op::Sqrt) => (ROOT[0]..=ROOT[1]).contains(&bits),
            (Some(bits), _) => (QUOTIENT[0]..=QUOTIENT[1]).contains(&(bits & MAGNITUDE)),
        })
    }

    /// The bits of a constant, or of one that all components are.
    fn constant(&self, value: Value) -> Option<u32> {
        if let Some(bits) = self.func.as_const(value) {
            return Some(bits.0 as u32);
        }
        let ValueDef::Result(id, _) = self.func.def(value) else { return None };
        let inst = self.func.inst(id);
        if inst.op == Op::Splat { self.func.as_const(inst.operands[0]).map(|bits| bits.0 as u32) } else { None }
    }

    /// What the values of a test are computed by.
    fn needed(&self, insts: &[InstId], found: &Level) -> HashSet<InstId> {
        let mut wanted: HashSet<Value> = found.roots.iter().chain(&found.parts).copied().collect();
        let mut needed = HashSet::new();
        for &id in insts.iter().rev() {
            let inst = self.func.inst(id);
            if inst.results.iter().any(|value| wanted.contains(value)) {
                needed.insert(id);
                wanted.extend(inst.operands.iter().copied());
            }
        }
        needed
    }

    /// Whether all values lie between two, by their bits.
    fn test(&mut self, values: &[Value], lo: u32, hi: u32, is_signed: bool, out: &mut Vec<InstId>) -> Option<Value> {
        let word = Type::scalar(Scalar::U32);
        let mut furthest = None;
        for &value in values {
            for number in self.components(value, out) {
                // `find` has looked at constants.
                if self.func.as_const(number).is_some() {
                    continue;
                }
                let mut bits = self.emit(Op::Bitcast, &[number], word, out);
                if is_signed {
                    let mask = self.word(MAGNITUDE, out);
                    bits = self.emit(Op::And, &[bits, mask], word, out);
                }
                let least = self.word(lo, out);
                let above = self.emit(Op::Sub, &[bits, least], word, out);
                furthest = Some(match furthest {
                    None => above,
                    Some(furthest) => self.emit(Op::Max, &[furthest, above], word, out),
                });
            }
        }
        let most = self.word(hi - lo, out);
        furthest.map(|furthest| self.emit(Op::Le, &[furthest, most], Type::bool(), out))
    }

    /// The numbers of a vector.
    fn components(&mut self, value: Value, out: &mut Vec<InstId>) -> Vec<Value> {
        if self.func.ty(value).as_scalar().is_some() {
            return vec![value];
        }
        if let ValueDef::Result(id, _) = self.func.def(value)
            && self.func.inst(id).op == Op::Splat
        {
            return vec![self.func.inst(id).operands[0]];
        }
        let n = self.func.ty(value).n_components() as u32;
        let extract = |i| {
            let id = self.func.add_inst(Op::Extract, &[value], Attr::Index(i), &[], &[Type::f32()], self.span);
            out.push(id);
            self.func.inst(id).result()
        };
        (0..n).map(extract).collect()
    }

    fn emit(&mut self, op: Op, operands: &[Value], ty: Type, out: &mut Vec<InstId>) -> Value {
        let id = self.func.add_inst(op, operands, Attr::None, &[], &[ty], self.span);
        out.push(id);
        self.func.inst(id).result()
    }

    fn word(&mut self, value: u32, out: &mut Vec<InstId>) -> Value {
        self.number(Type::scalar(Scalar::U32), value.into(), out)
    }

    fn number(&mut self, ty: Type, value: i128, out: &mut Vec<InstId>) -> Value {
        let bits = ty.as_scalar().map_or(Const(0), |scalar| Const::int(scalar, value));
        let id = self.func.add_inst(Op::Const, &[], Attr::Const(bits), &[], &[ty], self.span);
        out.push(id);
        self.func.inst(id).result()
    }

    fn arm(&mut self, mut insts: Vec<InstId>, results: &[Value]) -> RegionId {
        let region = self.func.add_region(&[]);
        insts.push(self.func.add_inst(Op::Yield, results, Attr::None, &[], &[], self.span));
        self.func.regions[region.index()].insts = insts;
        region
    }

    /// The rounds from the start, one after the other.
    fn one_by_one(&mut self, types: &[Type]) -> RegionId {
        let params = self.func.region(self.body).params.clone();
        let (counter, ty) = (params[0], self.func.ty(params[0]));
        let mut insts = Vec::new();
        let (rounds, one) = (self.number(ty, self.rounds, &mut insts), self.number(ty, 1, &mut insts));
        let end = self.emit(Op::Add, &[counter, rounds], ty, &mut insts);
        let body = Copies::default().region(self.func, self.one);
        let operands = [&[counter, end, one], &params[1..]].concat();
        let id = self.func.add_inst(Op::For, &operands, Attr::None, &[body], types, self.span);
        insts.push(id);
        let results = self.func.inst(id).results.to_vec();
        self.arm(insts, &results)
    }
}

/// Whether an instruction gives a root or a quotient of f32 that is rounded right.
fn is_exact(func: &Function, id: InstId) -> bool {
    let inst = func.inst(id);
    matches!(inst.op, Op::Sqrt | Op::Div) && func.ty(inst.result()).element() == Some(Scalar::F32)
}
