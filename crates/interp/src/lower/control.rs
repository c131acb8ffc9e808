//! Checks, calls and control flow.

use super::Lower;
use crate::code::{CallStep, Check, ForEnter, Move, PrintStep, Slot, Step};
use crate::scalar::{Meaning, meaning, to_print_word};
use ir::{Attr, Inst, Op, RegionId, Scalar, Value};

/// An `if` or a loop around the step being made. Jumps to its end are patched once that is known.
pub(super) struct Scope {
    /// Where `yield` or `break` puts the results.
    results: Vec<Slot>,
    exits: Vec<usize>,
    /// For a loop: where `continue` puts the next values, and the jumps that it makes.
    carried: Option<(Vec<Slot>, Vec<usize>)>,
}

impl Lower<'_> {
    pub(super) fn here(&self) -> u32 {
        self.code.steps.len() as u32
    }

    /// Pushes a jump whose target is patched later.
    fn push_jump(&mut self) -> usize {
        self.push(Step::Jump { target: u32::MAX });
        self.code.steps.len() - 1
    }

    fn patch(&mut self, jumps: &[usize], to: u32) {
        for &jump in jumps {
            match &mut self.code.steps[jump] {
                Step::Jump { target } | Step::JumpUnless { target, .. } => *target = to,
                Step::ForEnter(enter) => enter.exit = to,
                step => panic!("{step:?} does not jump"),
            }
        }
    }

    fn define_all(&mut self, values: &[Value]) -> Vec<Slot> {
        values.iter().map(|&value| self.define(value)).collect()
    }

    pub(super) fn if_(&mut self, inst: &Inst) {
        let results = self.define_all(&inst.results);
        let condition = self.slot(inst.operands[0]);
        self.push(Step::JumpUnless { condition, target: u32::MAX });
        let to_else = self.code.steps.len() - 1;
        self.scopes.push(Scope { results, exits: Vec::new(), carried: None });
        self.region(inst.regions[0]);
        let start_else = self.here();
        self.patch(&[to_else], start_else);
        self.region(inst.regions[1]);
        self.end_scope();
    }

    /// A region that `yield` ends without values.
    pub(super) fn in_scope(&mut self, region: RegionId) {
        self.scopes.push(Scope { results: Vec::new(), exits: Vec::new(), carried: None });
        self.region(region);
        self.end_scope();
    }

    /// Ends the innermost scope: jumps to its end arrive here.
    fn end_scope(&mut self) {
        let scope = self.scopes.pop().expect("a scope was opened");
        let end = self.here();
        self.patch(&scope.exits, end);
    }

    pub(super) fn loop_(&mut self, inst: &Inst) {
        let body = inst.regions[0];
        let results = self.define_all(&inst.results);
        let params = self.define_all(&self.func.region(body).params.clone());
        self.moves(&self.moves_to(&params, &inst.operands));
        let start = self.here();
        self.scopes.push(Scope { results, exits: Vec::new(), carried: Some((params, Vec::new())) });
        self.region(body);
        self.patch_continues(start);
        self.end_scope();
    }

    fn patch_continues(&mut self, to: u32) {
        let scope = self.scopes.last_mut().expect("a loop is open");
        let (_, jumps) = scope.carried.as_mut().expect("the innermost scope is a loop");
        let jumps = std::mem::take(jumps);
        self.patch(&jumps, to);
    }

    pub(super) fn for_(&mut self, inst: &Inst) {
        let body = inst.regions[0];
        let (bounds, initial) = inst.operands.split_at(3);
        let results = self.define_all(&inst.results);
        let mut params = self.define_all(&self.func.region(body).params.clone());
        let counter = params.remove(0);
        let remaining = self.alloc(1);
        let [lo, hi, step] = [self.slot(bounds[0]), self.slot(bounds[1]), self.slot(bounds[2])];
        let scalar = self.element(bounds[0]);
        let (bits, is_signed) = (scalar.bits(), scalar.is_signed());
        self.moves(&self.moves_to(&params, initial));
        let enter = ForEnter { lo, hi, step, bits, is_signed, counter, remaining, exit: u32::MAX };
        self.push(Step::ForEnter(Box::new(enter)));
        let enter = self.code.steps.len() - 1;
        let start = self.here();
        let carried = Some((params.clone(), Vec::new()));
        self.scopes.push(Scope { results: results.clone(), exits: Vec::new(), carried });
        self.region(body);
        let next = self.here();
        self.patch_continues(next);
        self.push(Step::ForNext { counter, step, remaining, bits, body: start });
        let done = self.here();
        self.patch(&[enter], done);
        let sizes = inst.results.iter().map(|&value| self.n_words(value) as u32);
        let at_end: Vec<Move> =
            results.into_iter().zip(params).zip(sizes).map(|((dst, src), n)| Move { dst, src, n }).collect();
        self.moves(&at_end);
        self.end_scope();
    }

    /// One after the other.
    pub(super) fn each(&mut self, inst: &Inst) {
        let body = inst.regions[0];
        let params = self.define_all(&self.func.region(body).params.clone());
        let [lo, step, remaining] = [self.alloc(1), self.alloc(1), self.alloc(1)];
        self.code.template[step as usize] = 1;
        let (counter, hi) = (params[0], self.slot(inst.operands[0]));
        let enter = ForEnter { lo, hi, step, bits: 64, is_signed: true, counter, remaining, exit: u32::MAX };
        self.push(Step::ForEnter(Box::new(enter)));
        let enter = self.code.steps.len() - 1;
        let start = self.here();
        self.in_scope(body);
        self.push(Step::ForNext { counter, step, remaining, bits: 64, body: start });
        let done = self.here();
        self.patch(&[enter], done);
    }

    pub(super) fn yield_(&mut self, inst: &Inst) {
        let scope = self.scopes.last().expect("`yield` stands in an `if`");
        assert!(scope.carried.is_none(), "`yield` ends a region of `if`");
        let moves = self.moves_to(&scope.results, &inst.operands);
        self.moves(&moves);
        let jump = self.push_jump();
        self.scopes.last_mut().expect("the same scope").exits.push(jump);
    }

    /// Index of the innermost loop.
    fn innermost_loop(&self) -> usize {
        self.scopes.iter().rposition(|scope| scope.carried.is_some()).expect("stands in a loop")
    }

    pub(super) fn continue_(&mut self, inst: &Inst) {
        let at = self.innermost_loop();
        let Some((params, _)) = &self.scopes[at].carried else { unreachable!("it is a loop") };
        let moves = self.moves_to(params, &inst.operands);
        self.moves(&moves);
        let jump = self.push_jump();
        if let Some((_, jumps)) = &mut self.scopes[at].carried {
            jumps.push(jump);
        }
    }

    pub(super) fn break_(&mut self, inst: &Inst) {
        let at = self.innermost_loop();
        let moves = self.moves_to(&self.scopes[at].results, &inst.operands);
        self.moves(&moves);
        let jump = self.push_jump();
        self.scopes[at].exits.push(jump);
    }

    pub(super) fn return_(&mut self, inst: &Inst) {
        let mut dst = self.code.n_param_words as Slot;
        let mut places = Vec::new();
        for &value in &inst.operands {
            places.push(dst);
            dst += self.n_words(value) as u32;
        }
        let moves = self.moves_to(&places, &inst.operands);
        self.moves(&moves);
        self.push(Step::Return);
    }

    pub(super) fn call(&mut self, inst: &Inst) {
        let Attr::Func(callee) = inst.attr else { panic!("`call` without its function") };
        self.define_all(&inst.results);
        // A frame starts with the parameters' words, then the results'.
        let mut at = 0;
        let mut layout = |value: Value| {
            let n = self.n_words(value) as u32;
            at += n;
            (at - n, self.slot(value), n)
        };
        let args = inst.operands.iter().map(|&value| layout(value)).map(|(dst, src, n)| Move { dst, src, n }).collect();
        let results =
            inst.results.iter().map(|&value| layout(value)).map(|(src, dst, n)| Move { dst, src, n }).collect();
        assert!(callee.index() < self.module.funcs.len(), "`call` names a function of the module");
        self.push(Step::Call(Box::new(CallStep { callee: callee.0, args, results })));
    }

    pub(super) fn check(&mut self, inst: &Inst) {
        let Attr::Site(site) = inst.attr else { panic!("a check without its site") };
        let value = inst.operands[0];
        let each = |op: Op, scalar: Scalar| match meaning(op, scalar) {
            Meaning::Unary(test) => test,
            _ => panic!("`{}` has no meaning on {}", op.name(), scalar.name()),
        };
        let n = self.n_words(value) as u32;
        let check = match inst.op {
            Op::CheckBounds => Check::Bounds {
                array: self.slot(value),
                rank: inst.operands.len() as u32 - 1,
                indices: self.slots(&inst.operands[1..]),
            },
            Op::CheckIndex => Check::Index { index: self.slot(value), extent: self.slot(inst.operands[1]) },
            Op::CheckNonZero => Check::Each { value: self.slot(value), n, test: |word| u64::from(word != 0) },
            Op::CheckFinite => {
                Check::Each { value: self.slot(value), n, test: each(Op::IsFinite, self.element(value)) }
            }
            _ => Check::Each { value: self.slot(value), n, test: |word| word },
        };
        self.push(Step::Check { check: Box::new(check), site: site.0 });
    }

    pub(super) fn print(&mut self, inst: &Inst) {
        let Attr::Text(format) = &inst.attr else { panic!("`print` without its format") };
        let args = inst.operands.iter().map(|&value| (self.slot(value), to_print_word(self.element(value)))).collect();
        self.push(Step::Print(Box::new(PrintStep { format: format.clone(), args })));
    }
}
