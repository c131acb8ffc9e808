//! Turns a verified function into steps over frame words.
//!
//! In: a function that the verifier accepts. Out: its [`Code`]. Values get their words here; `extract`, `extent`,
//! `address` and the like cost nothing when running, as their results share the operand's words: a value never
//! changes within the round of a loop that defines it.

mod blocks;
mod control;
mod memory;
mod values;

use crate::code::{Code, Move, Slot, Step};
use control::Scope;
use ir::op::Rule;
use ir::{Attr, Function, FunctionKind, Inst, Module, Op, RegionId, Scalar, Type, Value};
use runtime::Sites;
use std::sync::atomic::AtomicU64;

/// What `spare_memory` gives.
static SPARE: [AtomicU64; 8] = [const { AtomicU64::new(0) }; 8];

/// The steps of `func`, which the verifier accepts; anything else panics. Its shared arrays get their place behind the
/// first `shared` bytes, which grow by theirs. `sums` are the kernel's.
pub(crate) fn lower(module: &Module, func: &Function, sums: Option<&Sites>, shared: &mut u64) -> Code {
    let mut ctx = Lower {
        module,
        func,
        sums,
        code: Code {
            steps: Vec::new(),
            template: Vec::new(),
            n_param_words: 0,
            n_result_words: 0,
            local_arrays: Vec::new(),
        },
        slots: vec![UNDEFINED; func.values.len()],
        scopes: Vec::new(),
        shared: *shared,
    };
    for &param in &func.region(func.body).params {
        ctx.define(param);
    }
    ctx.code.n_param_words = ctx.code.template.len();
    ctx.code.n_result_words = func.results.iter().map(|ty| ty.n_leaves()).sum();
    ctx.alloc(ctx.code.n_result_words);
    ctx.region(func.body);
    *shared = ctx.shared;
    ctx.code
}

const UNDEFINED: Slot = Slot::MAX;

struct Lower<'m> {
    module: &'m Module,
    func: &'m Function,
    sums: Option<&'m Sites>,
    code: Code,
    /// The first word of each value.
    slots: Vec<Slot>,
    /// The `if`s and loops that enclose the step being made, innermost last.
    scopes: Vec<Scope>,
    /// Bytes of shared arrays so far.
    shared: u64,
}

impl Lower<'_> {
    fn alloc(&mut self, n: usize) -> Slot {
        let slot = self.code.template.len();
        self.code.template.resize(slot + n, 0);
        u32::try_from(self.code.template.len()).expect("a frame has fewer than 2^32 words");
        slot as Slot
    }

    /// Gives a value words of its own.
    fn define(&mut self, value: Value) -> Slot {
        let slot = self.alloc(self.n_words(value));
        self.slots[value.index()] = slot;
        slot
    }

    /// Lets a value share words that exist.
    fn alias(&mut self, value: Value, slot: Slot) {
        self.slots[value.index()] = slot;
    }

    fn slot(&self, value: Value) -> Slot {
        let slot = self.slots[value.index()];
        assert_ne!(slot, UNDEFINED, "v{} of @{} is used before it is defined", value.0, self.func.name);
        slot
    }

    fn slots(&self, values: &[Value]) -> Box<[Slot]> {
        values.iter().map(|&value| self.slot(value)).collect()
    }

    fn n_words(&self, value: Value) -> usize {
        self.ty(value).n_leaves()
    }

    fn ty(&self, value: Value) -> Type {
        self.func.ty(value)
    }

    /// The scalar type of a scalar or composite.
    fn element(&self, value: Value) -> Scalar {
        self.ty(value).element().unwrap_or_else(|| panic!("{} has no scalar type", self.ty(value)))
    }

    fn push(&mut self, step: Step) {
        self.code.steps.push(step);
    }

    /// Copies all at once: no move sees what another one wrote.
    fn moves(&mut self, moves: &[Move]) {
        let moves: Vec<Move> = moves.iter().copied().filter(|m| m.n > 0 && m.dst != m.src).collect();
        let clobbers =
            |(i, m): (usize, &Move)| moves[i + 1..].iter().any(|later| overlap(m.dst, m.n, later.src, later.n));
        if moves.iter().enumerate().any(clobbers) {
            let staged: Vec<Move> = moves.iter().map(|m| Move { dst: self.alloc(m.n as usize), ..*m }).collect();
            for m in &staged {
                self.one_move(*m);
            }
            for (m, staged) in moves.iter().zip(staged) {
                self.one_move(Move { src: staged.dst, ..*m });
            }
        } else {
            for m in moves {
                self.one_move(m);
            }
        }
    }

    fn one_move(&mut self, m: Move) {
        self.push(if m.n == 1 { Step::Move1 { dst: m.dst, src: m.src } } else { Step::Move(m) });
    }

    /// Moves of `values` to consecutive places.
    fn moves_to(&self, places: &[Slot], values: &[Value]) -> Vec<Move> {
        assert_eq!(places.len(), values.len(), "as many values as places in @{}", self.func.name);
        let to = |(&dst, &value): (&Slot, &Value)| Move { dst, src: self.slot(value), n: self.n_words(value) as u32 };
        places.iter().zip(values).map(to).collect()
    }

    fn region(&mut self, region: RegionId) {
        let func = self.func;
        for &inst in &func.region(region).insts {
            self.inst(func.inst(inst));
        }
    }

    fn inst(&mut self, inst: &Inst) {
        match inst.op.rule() {
            Rule::Own => self.own(inst),
            Rule::Same { .. } | Rule::SameScalar { .. } | Rule::Compare { .. } | Rule::FloatTest => {
                self.componentwise(inst);
            }
        }
    }

    /// Ops with a rule of their own.
    fn own(&mut self, inst: &Inst) {
        match inst.op {
            Op::Const => {
                let slot = self.define(inst.result());
                let Attr::Const(value) = inst.attr else { panic!("`const` without its value") };
                self.code.template[slot as usize] = value.0;
            }
            Op::OnHost => {
                let slot = self.define(inst.result());
                self.code.template[slot as usize] = 1;
            }
            Op::SpareMemory => {
                let slot = self.define(inst.result());
                self.code.template[slot as usize] = SPARE.as_ptr() as u64;
            }
            Op::MaskLe => self.mask(inst),
            Op::MaskSelect => self.mask_select(inst),
            Op::Select
            | Op::Cast
            | Op::Bitcast
            | Op::Construct
            | Op::Splat
            | Op::Extract
            | Op::Insert
            | Op::ExtractDyn
            | Op::InsertDyn
            | Op::Dot
            | Op::MatMul
            | Op::Transpose => self.composite(inst),
            Op::Load
            | Op::Store
            | Op::Atomic
            | Op::AtomicCas
            | Op::Extent
            | Op::IsNull
            | Op::WithAdjoint
            | Op::Address
            | Op::Row
            | Op::Subarray
            | Op::WrapIndex
            | Op::LocalArray
            | Op::ArrayFromAddress => self.memory(inst),
            Op::Tid => {
                let dst = self.define(inst.result());
                self.push(Step::Tid { dst, dim: index(inst) });
            }
            Op::LaunchExtent => {
                let dst = self.define(inst.result());
                self.push(Step::LaunchExtent { dst, dim: index(inst) });
            }
            Op::CheckBounds | Op::CheckIndex | Op::CheckNonZero | Op::CheckFinite | Op::Assert => self.check(inst),
            Op::Print => self.print(inst),
            Op::Call => self.call(inst),
            Op::If => self.if_(inst),
            Op::For => self.for_(inst),
            Op::Loop => self.loop_(inst),
            Op::Each => self.each(inst),
            // A thread is its own block.
            Op::SharedArray if self.func.kind == FunctionKind::Kernel => self.memory(inst),
            Op::ThreadIndex if self.func.kind == FunctionKind::Kernel => drop(self.define(inst.result())),
            Op::Yield => self.yield_(inst),
            Op::Continue => self.continue_(inst),
            Op::Break => self.break_(inst),
            Op::Return => self.return_(inst),
            Op::Unreachable => self.push(Step::Unreachable),
            op if op.is_over_blocks() => self.over_blocks(inst),
            op => panic!("`{}` has no rule of its own", op.name()),
        }
    }
}

/// The component or dimension number of an op.
fn index(inst: &Inst) -> u32 {
    let Attr::Index(index) = inst.attr else { panic!("`{}` without its index", inst.op.name()) };
    index
}

fn overlap(a: Slot, n: u32, b: Slot, m: u32) -> bool {
    a < b + m && b < a + n
}
