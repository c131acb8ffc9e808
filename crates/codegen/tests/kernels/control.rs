//! Structured control flow: named cases, then random programs, all against the interpreter.

use crate::differential::{Elements, Random, compare};
use crate::launch::kernel;
use ir::{Attr, Builder, FuncRef, Module, Op, Scalar, Type, Value};

const N: usize = 64;

/// A kernel over x: i32 in, out: i32, whose body gives the value to store.
fn program(build: impl FnOnce(&mut Builder<'_>, Value, Value)) -> Module {
    kernel(&[Type::array(Type::i32(), 1); 2], |b| {
        let at = b.push1(Op::Tid, &[], Attr::Index(0), Type::i64());
        let x = b.load(b.param(0), &[at], &[], &[]);
        build(b, x, at);
    })
}

fn check(module: &Module, what: &str) {
    let mut i = 0;
    let x = Elements::fill(Type::i32(), N, |_| {
        i += 1;
        u64::from((i - 20i32) as u32)
    });
    compare(module, &[x, Elements::zeroed(Type::i32(), N)], N as i64, what);
}

fn store(b: &mut Builder<'_>, at: Value, x: Value) {
    let out = b.param(1);
    b.store(out, &[at], &[], &[], x);
}

/// `if` whose regions are filled by `yes` and `no`; they end themselves.
fn if_(
    b: &mut Builder<'_>,
    condition: Value,
    results: &[Type],
    yes: impl FnOnce(&mut Builder<'_>),
    no: impl FnOnce(&mut Builder<'_>),
) -> Vec<Value> {
    let regions = [b.func.add_region(&[]), b.func.add_region(&[])];
    let inst = b.push(Op::If, &[condition], Attr::None, &regions, results);
    let before = b.enter(regions[0]);
    yes(b);
    b.enter(regions[1]);
    no(b);
    b.enter(before);
    b.func.inst(inst).results.to_vec()
}

fn for_(
    b: &mut Builder<'_>,
    bounds: [Value; 3],
    initial: &[Value],
    body: impl FnOnce(&mut Builder<'_>, Value, &[Value]),
) -> Vec<Value> {
    let carried: Vec<Type> = initial.iter().map(|&v| b.ty(v)).collect();
    let region = b.func.add_region(&[&[b.ty(bounds[0])], &*carried].concat());
    let inst = b.push(Op::For, &[&bounds, initial].concat(), Attr::None, &[region], &carried);
    let before = b.enter(region);
    let params = b.func.region(region).params.clone();
    body(b, params[0], &params[1..]);
    b.enter(before);
    b.func.inst(inst).results.to_vec()
}

fn loop_(
    b: &mut Builder<'_>,
    initial: &[Value],
    results: &[Type],
    body: impl FnOnce(&mut Builder<'_>, &[Value]),
) -> Vec<Value> {
    let carried: Vec<Type> = initial.iter().map(|&v| b.ty(v)).collect();
    let region = b.func.add_region(&carried);
    let inst = b.push(Op::Loop, initial, Attr::None, &[region], results);
    let before = b.enter(region);
    let params = b.func.region(region).params.clone();
    body(b, &params);
    b.enter(before);
    b.func.inst(inst).results.to_vec()
}

#[test]
fn early_exits_from_nested_regions() {
    let module = program(|b, x, at| {
        let [zero, one, ten] = [0, 1, 10].map(|n| b.int(Scalar::I32, n));
        let negative = b.compare(Op::Lt, x, zero);
        if_(b, negative, &[], |b| b.ret(&[]), |b| b.yield_(&[]));
        let sum = for_(b, [zero, x, one], &[zero], |b, i, carried| {
            let small = b.compare(Op::Lt, i, ten);
            let next = if_(
                b,
                small,
                &[Type::i32()],
                |b| {
                    let seven = b.int(Scalar::I32, 7);
                    let is_seven = b.compare(Op::Eq, i, seven);
                    if_(b, is_seven, &[], |b| b.continue_(carried), |b| b.yield_(&[]));
                    let sum = b.binary(Op::Add, carried[0], i);
                    b.yield_(&[sum]);
                },
                |b| {
                    let forty = b.int(Scalar::I32, 40);
                    let far = b.compare(Op::Gt, x, forty);
                    if_(
                        b,
                        far,
                        &[],
                        |b| {
                            store(b, at, forty);
                            b.ret(&[]);
                        },
                        |b| b.yield_(&[]),
                    );
                    b.break_(carried);
                },
            );
            b.continue_(&next);
        });
        store(b, at, sum[0]);
    });
    check(&module, "early exits");
}

#[test]
fn ranges_of_every_type_end_where_pythons_do() {
    for scalar in Scalar::ALL.into_iter().filter(|s| s.is_int()) {
        let ty = Type::scalar(scalar);
        let params = [ty, ty, ty, Type::i64(), ty].map(|ty| Type::array(ty, 1));
        let module = kernel(&params, |b| {
            let at = b.push1(Op::Tid, &[], Attr::Index(0), Type::i64());
            let bounds = [0, 1, 2].map(|p| b.load(b.param(p), &[at], &[], &[]));
            let (zero, limit) = (b.int(Scalar::I64, 0), b.int(Scalar::I64, 1000));
            let none = b.int(scalar, 0);
            let results = for_(b, bounds, &[zero, none], |b, i, carried| {
                let one = b.int(Scalar::I64, 1);
                let count = b.binary(Op::Add, carried[0], one);
                let many = b.compare(Op::Gt, count, limit);
                let values = [count, i];
                if_(b, many, &[], |b| b.break_(&values), |b| b.yield_(&[]));
                b.continue_(&values);
            });
            b.store(b.param(3), &[at], &[], &[], results[0]);
            b.store(b.param(4), &[at], &[], &[], results[1]);
        });
        let mut random = Random(11 + scalar as u64);
        let n = 600;
        let mut arrays: Vec<Elements> = (0..3).map(|_| Elements::fill(ty, n, |s| random.scalar(s))).collect();
        arrays.push(Elements::zeroed(Type::i64(), n));
        arrays.push(Elements::zeroed(ty, n));
        compare(&module, &arrays, n as i64, &format!("range of {}", scalar.name()));
    }
}

#[test]
fn a_loop_swaps_values_in_memory() {
    let ty = Type::matrix(Scalar::F32, 9, 9);
    let module = kernel(&[Type::array(ty, 1); 3], |b| {
        let at = b.push1(Op::Tid, &[], Attr::Index(0), Type::i64());
        let [x, y] = [0, 1].map(|p| b.load(b.param(p), &[at], &[], &[]));
        let zero = b.int(Scalar::I64, 0);
        let results = loop_(b, &[x, y, zero], &[ty, ty], |b, carried| {
            let done = b.compare(Op::Ge, carried[2], at);
            if_(b, done, &[], |b| b.break_(&carried[..2]), |b| b.yield_(&[]));
            let one = b.int(Scalar::I64, 1);
            let next = b.binary(Op::Add, carried[2], one);
            b.continue_(&[carried[1], carried[0], next]);
        });
        b.store(b.param(1), &[at], &[], &[], results[0]);
        b.store(b.param(2), &[at], &[], &[], results[1]);
    });
    let mut random = Random(9);
    let mut arrays: Vec<Elements> = (0..2).map(|_| Elements::fill(ty, 5, |s| random.scalar(s))).collect();
    arrays.push(Elements::zeroed(ty, 5));
    compare(&module, &arrays, 5, "swap");
}

#[test]
fn code_after_an_endless_or_finished_region_is_dead() {
    let module = program(|b, x, at| {
        let zero = b.int(Scalar::I32, 0);
        let positive = b.compare(Op::Gt, x, zero);
        let value = if_(
            b,
            positive,
            &[Type::i32()],
            |b| {
                store(b, at, x);
                b.ret(&[]);
            },
            |b| b.ret(&[]),
        );
        let doubled = b.binary(Op::Add, value[0], value[0]);
        store(b, at, doubled);
        b.push(Op::Unreachable, &[], Attr::None, &[], &[]);
    });
    check(&module, "dead code");
}

#[test]
fn the_deepest_nesting_compiles() {
    fn nest(b: &mut Builder<'_>, x: Value, at: Value, depth: usize) {
        if depth == 0 {
            return store(b, at, x);
        }
        let limit = b.int(Scalar::I32, depth as i128 % 50);
        let above = b.compare(Op::Gt, x, limit);
        if_(
            b,
            above,
            &[],
            |b| {
                nest(b, x, at, depth - 1);
                b.yield_(&[]);
            },
            |b| b.yield_(&[]),
        );
    }
    // As deep as the verifier lets pass.
    let module = program(|b, x, at| nest(b, x, at, ir::verify::MAX_DEPTH - 2));
    assert_eq!(ir::verify::verify(&module), Ok(()));
    codegen::compile(&module, FuncRef(0), &Default::default()).unwrap();
}

/// A random program: `values` of i32 and f32 in scope, `depth` levels of nesting left.
struct Generator<'b, 'f> {
    b: &'b mut Builder<'f>,
    random: &'b mut Random,
    at: Value,
    /// Types of what an enclosing loop carries; its results are the same.
    loops: Vec<Vec<Type>>,
}

impl Generator<'_, '_> {
    fn pick(&mut self, scope: &[Value], ty: Type) -> Value {
        let fitting: Vec<Value> = scope.iter().copied().filter(|&v| self.b.ty(v) == ty).collect();
        if fitting.is_empty() || self.random.below(8) == 0 {
            let number = i128::from(self.random.below(12)) - 4;
            return if ty == Type::f32() {
                self.b.float(Scalar::F32, number as f64)
            } else {
                self.b.int(Scalar::I32, number)
            };
        }
        fitting[self.random.below(fitting.len() as u64) as usize]
    }

    fn condition(&mut self, scope: &[Value]) -> Value {
        let (x, y) = (self.pick(scope, Type::i32()), self.pick(scope, Type::i32()));
        let op = [Op::Lt, Op::Ge, Op::Eq, Op::Ne][self.random.below(4) as usize];
        self.b.compare(op, x, y)
    }

    fn types(&mut self) -> Vec<Type> {
        (0..self.random.below(3)).map(|_| if self.random.below(2) == 0 { Type::i32() } else { Type::f32() }).collect()
    }

    fn pick_all(&mut self, scope: &[Value], types: &[Type]) -> Vec<Value> {
        types.iter().map(|&ty| self.pick(scope, ty)).collect()
    }

    /// Fills the current region up to its terminator, which `end` adds where no early exit did.
    fn region(&mut self, mut scope: Vec<Value>, depth: u32, end: &dyn Fn(&mut Self, &[Value])) {
        for _ in 0..1 + self.random.below(4) {
            match self.random.below(if depth > 0 { 9 } else { 4 }) {
                0 | 1 => {
                    let ty = if self.random.below(2) == 0 { Type::i32() } else { Type::f32() };
                    let ops = [Op::Add, Op::Sub, Op::Mul, Op::Div, Op::Min, Op::Mod];
                    let op = ops[self.random.below(6) as usize];
                    let (x, y) = (self.pick(&scope, ty), self.pick(&scope, ty));
                    scope.push(self.b.binary(op, x, y));
                }
                2 => {
                    let x = self.pick(&scope, Type::i32());
                    store(self.b, self.at, x);
                }
                3 => {
                    let x = self.pick(&scope, Type::f32());
                    scope.push(self.b.cast(x, Scalar::I32));
                }
                4..=6 => scope.extend(self.if_op(&scope, depth - 1)),
                _ => scope.extend(self.loop_op(&scope, depth - 1)),
            }
        }
        let exits = self.random.below(6);
        match (exits, self.loops.last().cloned()) {
            (0, Some(types)) => {
                let values = self.pick_all(&scope, &types);
                self.b.break_(&values);
            }
            (1, _) => self.b.ret(&[]),
            _ => end(self, &scope),
        }
    }

    fn if_op(&mut self, scope: &[Value], depth: u32) -> Vec<Value> {
        let (condition, types) = (self.condition(scope), self.types());
        let regions = [0, 1].map(|_| self.b.func.add_region(&[]));
        let inst = self.b.push(Op::If, &[condition], Attr::None, &regions, &types);
        let before = self.b.region();
        for region in regions {
            self.b.enter(region);
            self.region(scope.to_vec(), depth, &|this, scope| {
                let values = this.pick_all(scope, &types);
                this.b.yield_(&values);
            });
        }
        self.b.enter(before);
        self.b.func.inst(inst).results.to_vec()
    }

    fn loop_op(&mut self, scope: &[Value], depth: u32) -> Vec<Value> {
        let types = self.types();
        let initial = self.pick_all(scope, &types);
        // Few rounds: nests stay cheap.
        let bounds = [-2, 3, 2].map(|n| self.b.int(Scalar::I32, n));
        let region = self.b.func.add_region(&[&[Type::i32()], &*types].concat());
        let operands = [&bounds, &*initial].concat();
        let inst = self.b.push(Op::For, &operands, Attr::None, &[region], &types);
        let before = self.b.enter(region);
        let inner = [scope, &*self.b.func.region(region).params.clone()].concat();
        self.loops.push(types.clone());
        self.region(inner, depth, &|this, scope| {
            let values = this.pick_all(scope, &types);
            this.b.continue_(&values);
        });
        self.loops.pop();
        self.b.enter(before);
        self.b.func.inst(inst).results.to_vec()
    }
}

#[test]
fn random_programs() {
    for seed in 1..=60 {
        let mut random = Random(seed * 0x1234_5678_9abc);
        let module = program(|b, x, at| {
            let mut generator = Generator { b, random: &mut random, at, loops: Vec::new() };
            generator.region(vec![x], 4, &|this, scope| {
                let result = this.pick(scope, Type::i32());
                store(this.b, this.at, result);
                this.b.ret(&[]);
            });
        });
        check(&module, &format!("seed {seed}"));
    }
}
