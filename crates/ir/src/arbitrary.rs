//! Valid modules made from numbers, for property tests.
//!
//! In: any sequence of numbers. Out: a module that the verifier passes and that ends when run: a function `@main` and
//! functions that it calls, over scalars, vectors, matrices, structs and local arrays, with nested `if`, `for` and
//! `loop` that leave early. The same numbers make the same module, a shorter or smaller sequence a smaller one, so a
//! property-test library shrinks modules by shrinking numbers.
//!
//! ```ignore
//! proptest! { #[test] fn f(numbers in vec(any::<u32>(), 0..200)) { let module = ir::arbitrary::module(&numbers); } }
//! ```

mod hash;
pub mod kernels;
mod ops;
mod regions;

use crate::builder::Builder;
use crate::constant::Const;
use crate::func::{FuncRef, Function, FunctionKind, Module, Param, Site, SiteKind, Value};
use crate::op::Op;
use crate::types::{Scalar, Type};
use diagnostics::Span;

/// A module with `@main` last. Parameters are scalars, vectors and matrices; there is at least one result.
pub fn module(numbers: &[u32]) -> Module {
    let mut source = Source { numbers, at: 0 };
    let mut module = Module { fast_math: source.pick(8) == 7, ..Module::default() };
    for kind in [SiteKind::ArrayIndex, SiteKind::ComponentIndex, SiteKind::DivisionByZero, SiteKind::NotFinite] {
        module.add_site(Site { kind, span: Span::NONE, name: "a".into() });
    }
    module.add_site(Site { kind: SiteKind::Assert, span: Span::NONE, name: "x \"y\"\n".into() });
    for i in 0..source.pick(3) {
        let func = function(&mut source, &module, &format!("f{i}"), 12);
        module.funcs.push(func);
    }
    let main = function(&mut source, &module, "main", 40);
    module.funcs.push(main);
    module
}

/// Bits for a scalar argument: small numbers and the edges of the type more often than others.
pub fn scalar_constant(scalar: Scalar, number: u32) -> Const {
    let pick = number % 16;
    let rest = i128::from(number / 16);
    match scalar {
        Scalar::Bool => Const::bool(number % 2 == 1),
        _ if scalar.is_float() => match pick {
            0..=7 => Const::float(scalar, f64::from(number / 16 % 64) * 0.5 - 8.0),
            8 => Const::float(scalar, f64::NAN),
            9 => Const::float(scalar, f64::INFINITY),
            10 => Const::float(scalar, f64::NEG_INFINITY),
            11 => Const::float(scalar, -0.0),
            12 => Const::float(scalar, f64::from(number) * 1e33),
            13 => Const::float(scalar, f64::from(number) * 1e-44),
            _ => Const::float(scalar, f64::from(number) / 65536.0 - 100.0),
        },
        _ => match pick {
            0..=7 => Const::int(scalar, rest % 32 - 4),
            8 => Const::int(scalar, 1 << (scalar.bits() - 1)),
            9 => Const::int(scalar, (1 << (scalar.bits() - 1)) - 1),
            10 => Const::int(scalar, -1),
            _ => Const::int(scalar, rest * 0x1_0001_0001),
        },
    }
}

/// Numbers one after the other; zeros when they have run out.
struct Source<'a> {
    numbers: &'a [u32],
    at: usize,
}

impl Source<'_> {
    fn next(&mut self) -> u32 {
        let number = self.numbers.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        number
    }

    /// A number below `n`.
    fn pick(&mut self, n: usize) -> usize {
        self.next() as usize % n.max(1)
    }

    fn has_ended(&self) -> bool {
        self.at >= self.numbers.len()
    }

    fn scalar(&mut self) -> Scalar {
        const COMMON: [Scalar; 6] = [Scalar::I32, Scalar::F32, Scalar::Bool, Scalar::I64, Scalar::F64, Scalar::U8];
        let pick = self.pick(18);
        if pick < 12 { COMMON[pick % 6] } else { Scalar::ALL[self.pick(13)] }
    }

    /// A type that parameters and results may have.
    fn ty(&mut self) -> Type {
        let scalar = self.scalar();
        match self.pick(12) {
            0..8 => Type::scalar(scalar),
            8 => Type::vector(scalar, 2 + self.pick(3) as u32),
            9 => Type::matrix(scalar, 2, 1 + self.pick(3) as u32),
            10 => Type::vector(Scalar::F32, 3),
            _ => Type::quat(Scalar::F32),
        }
    }

    fn inner_type(&mut self) -> Type {
        match self.pick(8) {
            0 => Type::structure("Pair", vec![("a".into(), self.ty()), ("b.c".into(), self.ty())]),
            1 => Type::tuple(vec![self.ty(), Type::i32()]),
            2 => Type::transform(Scalar::F32),
            _ => self.ty(),
        }
    }
}

/// The function being made.
struct Maker<'a, 's> {
    source: &'a mut Source<'s>,
    module: &'a Module,
    /// Values that may be used where the next instruction goes, innermost scope last.
    scope: Vec<Value>,
    /// Instructions that may still be made.
    budget: usize,
    /// Loops around the current place, innermost last.
    loops: Vec<Loop>,
    depth: usize,
    /// In a kernel, the arrays that its threads share.
    arrays: Option<kernels::Arrays>,
}

/// What `continue` and `break` must give.
struct Loop {
    carried: Vec<Type>,
    results: Vec<Type>,
    /// The counter that a `loop` hands on, to end some day.
    counter: Option<Value>,
}

fn function(source: &mut Source, module: &Module, name: &str, budget: usize) -> Function {
    let params: Vec<Param> =
        (0..1 + source.pick(4)).map(|i| Param { name: format!("p{i}"), ty: source.ty() }).collect();
    let mut results: Vec<Type> = (0..source.pick(3)).map(|_| source.ty()).collect();
    // Many functions give a hash of all that they computed, so that no wrong value stays unseen.
    if results.len() < 2 {
        results.push(Type::scalar(Scalar::U64));
    }
    let mut func = Function::new(name, FunctionKind::Function, params, results);
    let mut b = Builder::new(&mut func);
    let scope = b.func.region(b.func.body).params.clone();
    let mut maker = Maker { source, module, scope, budget, loops: Vec::new(), depth: 0, arrays: None };
    maker.body(&mut b);
    if !b.is_terminated() {
        maker.return_(&mut b);
    }
    func
}

impl Maker<'_, '_> {
    /// Instructions until the budget or the numbers run out, or the region ends.
    fn body(&mut self, b: &mut Builder) {
        let n = 1 + self.source.pick(12);
        for _ in 0..n {
            if self.budget == 0 || self.source.has_ended() || b.is_terminated() {
                return;
            }
            self.budget -= 1;
            match self.source.pick(10) {
                0..=6 => self.op(b),
                7 if self.depth < 4 => self.if_(b),
                8 if self.depth < 3 => self.for_(b),
                9 if self.depth < 3 => self.loop_(b),
                _ => self.op(b),
            }
        }
    }

    fn return_(&mut self, b: &mut Builder) {
        if self.arrays.is_some() {
            return self.end_thread(b);
        }
        let results = b.func.results.clone();
        let hash = (results.last() == Some(&Type::scalar(Scalar::U64))).then(|| self.hash(b));
        let n = results.len() - usize::from(hash.is_some());
        let mut values: Vec<Value> = results[..n].iter().map(|&ty| self.value(b, ty)).collect();
        values.extend(hash);
        b.ret(&values);
    }

    /// A value of a type: one in scope, else a new one.
    fn value(&mut self, b: &mut Builder, ty: Type) -> Value {
        let known: Vec<Value> = self.scope.iter().copied().filter(|&v| b.ty(v) == ty).collect();
        if !known.is_empty() && (self.source.has_ended() || self.source.pick(5) > 0) {
            // Later values depend on more.
            let pick = self.source.pick(known.len());
            return known[known.len() - 1 - pick];
        }
        self.fresh(b, ty)
    }

    fn fresh(&mut self, b: &mut Builder, ty: Type) -> Value {
        if let Some(scalar) = ty.as_scalar() {
            if (self.source.has_ended() || self.source.pick(3) > 0)
                && let Some(derived) = self.derived(b, scalar)
            {
                return derived;
            }
            let value = scalar_constant(scalar, self.source.next());
            return b.constant(scalar, value);
        }
        if let Some(elem) = ty.element()
            && self.source.pick(2) == 0
        {
            let x = self.value(b, Type::scalar(elem));
            return b.splat(ty, x);
        }
        let components: Vec<Type> = (0..ty.n_components()).filter_map(|i| ty.component(i)).collect();
        let components: Vec<Value> = components.into_iter().map(|ty| self.value(b, ty)).collect();
        b.construct(ty, &components)
    }

    /// A scalar made from one of another type, so that results depend on parameters.
    fn derived(&mut self, b: &mut Builder, scalar: Scalar) -> Option<Value> {
        let known: Vec<Value> =
            self.scope.iter().copied().filter(|&v| b.ty(v).as_scalar().is_some_and(|s| s != scalar)).collect();
        if known.is_empty() {
            return None;
        }
        let x = known[known.len() - 1 - self.source.pick(known.len())];
        let from = b.ty(x).as_scalar()?;
        if scalar == Scalar::Bool {
            let limit = b.constant(from, scalar_constant(from, self.source.next()));
            return Some(b.compare(Op::Lt, x, limit));
        }
        Some(b.cast(x, scalar))
    }

    /// Some value in scope whose type passes, or a new one of type `or`.
    fn value_where(&mut self, b: &mut Builder, or: Type, passes: impl Fn(Type) -> bool) -> Value {
        let known: Vec<Value> = self.scope.iter().copied().filter(|&v| passes(b.ty(v))).collect();
        if known.is_empty() {
            return self.value(b, or);
        }
        known[known.len() - 1 - self.source.pick(known.len())]
    }

    fn call(&mut self, b: &mut Builder) {
        let callees = self.module.funcs.len();
        if callees == 0 {
            return;
        }
        let index = self.source.pick(callees);
        let callee = &self.module.funcs[index];
        let types: Vec<Type> = callee.params.iter().map(|param| param.ty).collect();
        let arguments: Vec<Value> = types.into_iter().map(|ty| self.value(b, ty)).collect();
        let attr = crate::func::Attr::Func(FuncRef(index as u32));
        let inst = b.push(Op::Call, &arguments, attr, &[], &callee.results);
        self.scope.extend(b.func.inst(inst).results.iter().copied());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parse_module;
    use crate::verify::{report, verify};
    use proptest::collection::vec;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn a_module_is_valid_and_reads_back(numbers in vec(any::<u32>(), 0..300)) {
            let module = module(&numbers);
            if let Err(errors) = verify(&module) {
                panic!("{}", report(&module, &errors));
            }
            let text = module.to_string();
            let again = parse_module(&text).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
            prop_assert!(verify(&again).is_ok());
            prop_assert_eq!(again.to_string(), text);
        }
    }

    /// Ops that only kernels, the host or the outside world can have. So with tiles, which are gone before code is made.
    const LEFT_OUT: [Op; 9] = [
        Op::Tid,
        Op::LaunchExtent,
        Op::Address,
        Op::ArrayFromAddress,
        Op::SpareMemory,
        Op::OnHost,
        Op::Print,
        Op::Unreachable,
        Op::Each,
    ];

    #[test]
    fn every_op_is_made() {
        let mut seen = BTreeSet::new();
        let mut state = 1u64;
        for _ in 0..3000 {
            let numbers: Vec<u32> = (0..300)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    (state >> 33) as u32
                })
                .collect();
            for func in module(&numbers).funcs {
                seen.extend(func.insts.iter().map(|inst| inst.op));
            }
        }
        let is_missing =
            |op: &&Op| !seen.contains(op) && !LEFT_OUT.contains(op) && !op.is_over_blocks() && !op.is_over_tiles();
        let missing: Vec<_> = Op::ALL.iter().filter(is_missing).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
