//! Every op over every type, against the interpreter, bit for bit; NaNs count as equal.

use crate::launch::{Packed, bounds, kernel};
use codegen::{CpuOptions, Gang, Isa};
use ir::op::Rule;
use ir::{Attr, Builder, Class, Const, FuncRef, Module, Op, Scalar, Type, Value};
use runtime::{Fault, FaultRecord};

/// Bytes of an array's elements, and where each element lies.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Elements {
    pub(crate) ty: Type,
    pub(crate) words: Vec<u64>,
    pub(crate) n: usize,
}

impl Elements {
    pub(crate) fn zeroed(ty: Type, n: usize) -> Elements {
        Elements { ty, words: vec![0; (n * ty.size() as usize).div_ceil(8)], n }
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: the words' memory, as bytes.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast(), self.words.len() * 8) }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.words.as_mut_ptr().cast(), self.words.len() * 8) }
    }

    /// The bits of every scalar leaf of every element.
    pub(crate) fn leaves(&self) -> Vec<(Scalar, u64)> {
        let leaves = self.ty.leaves();
        let mut out = Vec::new();
        for i in 0..self.n {
            for leaf in &leaves {
                let ir::LeafKind::Scalar(scalar) = leaf.kind else { continue };
                let at = i * self.ty.size() as usize + leaf.offset as usize;
                let mut word = [0; 8];
                word[..scalar.size() as usize].copy_from_slice(&self.bytes()[at..at + scalar.size() as usize]);
                out.push((scalar, u64::from_le_bytes(word)));
            }
        }
        out
    }

    pub(crate) fn fill(ty: Type, n: usize, mut next: impl FnMut(Scalar) -> u64) -> Elements {
        let mut out = Elements::zeroed(ty, n);
        let leaves = ty.leaves();
        for i in 0..n {
            for leaf in &leaves {
                let ir::LeafKind::Scalar(scalar) = leaf.kind else { continue };
                let at = i * ty.size() as usize + leaf.offset as usize;
                let word = next(scalar).to_le_bytes();
                out.bytes_mut()[at..at + scalar.size() as usize].copy_from_slice(&word[..scalar.size() as usize]);
            }
        }
        out
    }
}

/// Runs a kernel over one-dimensional arrays, by the interpreter and compiled, and compares what they leave behind.
/// The launch has `n` threads.
pub(crate) fn compare(module: &Module, arrays: &[Elements], n: i64, what: &str) {
    let expected = run(arrays, |args, fault| {
        let bytes: Vec<u8> = args.0.iter().flat_map(|word| word.to_le_bytes()).collect();
        interp::launch(module, FuncRef(0), &bytes, &bounds(&[n]), fault);
    });
    let scalar = [Isa::Host, Isa::Baseline].map(|isa| CpuOptions { isa, gang: Gang::Off, ..CpuOptions::default() });
    let ways = [(8, Isa::Host), (16, Isa::Host), (4, Isa::Host), (8, Isa::Baseline)];
    let gangs = ways.map(|(width, isa)| CpuOptions { gang: Gang::Width(width), isa, ..CpuOptions::default() });
    // LLVM takes long for composites of many components, and their lanes do not depend on the width.
    let n_leaves: usize = arrays.iter().map(|array| array.ty.n_leaves()).sum();
    let n_gangs = if n_leaves > 32 { 1 } else { gangs.len() };
    let dense = CpuOptions { contiguous: true, ..gangs[0] };
    let masked = CpuOptions { gang: Gang::Masked(8), ..CpuOptions::default() };
    let more = [dense, masked].into_iter().filter(|_| n_gangs > 1);
    for options in scalar.into_iter().chain(gangs[..n_gangs].iter().copied()).chain(more) {
        let isa = (options.isa, options.gang, options.contiguous);
        let object = codegen::compile(module, FuncRef(0), &options).unwrap();
        let loaded = codegen::load(&object, &codegen::symbol(module, FuncRef(0))).unwrap();
        let found = run(arrays, |args, fault| {
            // SAFETY: the arrays are those that the kernel takes.
            unsafe { loaded.entry()(args.0.as_ptr().cast(), &bounds(&[n]), 0, n, fault) }
        });
        assert_eq!(found.1, expected.1, "{what} ({isa:?})");
        for (array, (found, expected)) in found.0.iter().zip(&expected.0).enumerate() {
            for (i, (x, y)) in found.leaves().into_iter().zip(expected.leaves()).enumerate() {
                if !is_same(x.0, x.1, y.1) {
                    panic!(
                        "{what} ({isa:?}): array {array} leaf {i}: compiled {x:x?}, interpreted {y:x?}\n{module}\n{}",
                        arrays.iter().map(|a| format!("{:x?}\n", a.leaves().get(i))).collect::<String>()
                    );
                }
            }
        }
    }
}

fn run(arrays: &[Elements], launch: impl FnOnce(&Packed, &Fault)) -> (Vec<Elements>, Option<FaultRecord>) {
    let mut arrays = arrays.to_vec();
    let mut args = Packed::default();
    for array in &mut arrays {
        let (n, size) = (array.n as i64, array.ty.size() as i64);
        args = args.strided(array.words.as_mut_ptr(), &[n], &[size]);
    }
    let fault = Fault::default();
    launch(&args, &fault);
    (arrays, fault.take())
}

fn is_same(scalar: Scalar, x: u64, y: u64) -> bool {
    let is_nan = |bits| scalar.is_float() && Const(bits).as_float(scalar).is_nan();
    x == y || (is_nan(x) && is_nan(y))
}

/// xorshift64*: the same numbers in every run.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// A scalar's bits: often a special one, else any, else a moderate number.
    pub(crate) fn scalar(&mut self, scalar: Scalar) -> u64 {
        let special = specials(scalar);
        match self.below(4) {
            0 => special[self.below(special.len() as u64) as usize],
            1 if scalar.is_float() => Const::float(scalar, (self.below(2001) as f64 - 1000.0) / 8.0).0,
            1 => Const::int(scalar, i128::from(self.below(40)) - 20).0,
            _ => Const::int(if scalar.is_float() { unsigned(scalar) } else { scalar }, i128::from(self.next())).0,
        }
    }
}

fn unsigned(scalar: Scalar) -> Scalar {
    match scalar.size() {
        1 => Scalar::U8,
        2 => Scalar::U16,
        4 => Scalar::U32,
        _ => Scalar::U64,
    }
}

/// The bits at which an op may go wrong.
fn specials(scalar: Scalar) -> Vec<u64> {
    let bits = scalar.bits();
    let mask = u64::MAX >> (64 - bits);
    match scalar.class() {
        Class::Bool => vec![0, 1],
        Class::Int => {
            let top = 1u64 << (bits - 1);
            [0, 1, 2, 3, 7, top, top - 1, top + 1, mask, mask - 1, u64::from(bits), u64::from(bits) - 1]
                .into_iter()
                // Around halfway between two values of bf16, beyond what f64 holds.
                .chain(
                    [(1 << 62) + (1 << 54), (1 << 53) + 1]
                        .into_iter()
                        .flat_map(|x: u64| [x - 1, x, x + 1, x.wrapping_neg() - 1]),
                )
                .map(|x| x & mask)
                .collect()
        }
        Class::Float => {
            let values = [
                0.0,
                -0.0,
                1.0,
                -1.0,
                0.5,
                -0.5,
                1.5,
                2.5,
                -2.5,
                3.0,
                0.1,
                100.25,
                2147483648.0,
                -2147483648.0,
                4294967296.0,
                9223372036854775808.0,
                -9223372036854775808.0,
                1e-3,
                65504.0,
                65520.0,
                5.9e-8,
                1e-40,
                f64::INFINITY,
                f64::NEG_INFINITY,
                f64::NAN,
            ];
            // Just above halfway between two values of f16, bf16 and f16's subnormals: f32 hides the last bit.
            let power = |n| 2f64.powi(n);
            let ties = [1.0 + power(-11) + power(-30), 1.0 + power(-8) + power(-40), power(-25) + power(-60)];
            let values = values.into_iter().chain(ties).chain(ties.map(|x| -x));
            values.map(|x| Const::float(scalar, x).0).chain([1, mask >> 1, mask & !1]).collect()
        }
    }
}

const N: usize = 700;

fn inputs(scalar: Scalar) -> Vec<Elements> {
    let special = specials(scalar);
    let mut random = Random(0x9e37_79b9 + scalar as u64);
    (0..3u32)
        .map(|operand| {
            let mut i = 0;
            Elements::fill(Type::scalar(scalar), N, |_| {
                // All pairs of special values first, as far as there is room.
                let (n, at) = (special.len(), i);
                i += 1;
                if at < n * n && operand < 2 {
                    return special[if operand == 0 { at % n } else { at / n }];
                }
                random.scalar(scalar)
            })
        })
        .collect()
}

/// Scalar ops, how many operands they take and whether they give a bool.
fn table(scalar: Scalar) -> Vec<(Op, usize, bool)> {
    let ops = Op::ALL.iter().filter_map(|&op| {
        let (n, classes, is_bool) = match op.rule() {
            Rule::Same { n, classes } | Rule::SameScalar { n, classes } => (n, classes, false),
            Rule::Compare { classes } => (2, classes, true),
            Rule::FloatTest => (1, &[Class::Float][..], true),
            Rule::Own => return None,
        };
        classes.contains(&scalar.class()).then_some((op, n, is_bool))
    });
    ops.collect()
}

fn at_thread(b: &mut Builder<'_>) -> Value {
    b.push1(Op::Tid, &[], Attr::Index(0), Type::i64())
}

#[test]
fn every_scalar_op_over_every_type() {
    for scalar in Scalar::ALL {
        let ty = Type::scalar(scalar);
        // A few ops a kernel: a failure names few, and LLVM sees them side by side.
        for ops in table(scalar).chunks(8) {
            let out = |is_bool| if is_bool { Type::bool() } else { ty };
            let mut params = vec![Type::array(ty, 1); 3];
            params.extend(ops.iter().map(|&(.., is_bool)| Type::array(out(is_bool), 1)));
            let module = kernel(&params, |b| {
                let at = at_thread(b);
                let x: Vec<Value> = (0..3).map(|i| b.load(b.param(i), &[at], &[], &[])).collect();
                for (i, &(op, n, is_bool)) in ops.iter().enumerate() {
                    let result = b.push1(op, &x[..n], Attr::None, out(is_bool));
                    b.store(b.param(3 + i), &[at], &[], &[], result);
                }
            });
            let mut arrays = inputs(scalar);
            arrays.extend(ops.iter().map(|&(.., is_bool)| Elements::zeroed(out(is_bool), N)));
            let names: Vec<&str> = ops.iter().map(|(op, ..)| op.name()).collect();
            compare(&module, &arrays, N as i64, &format!("{names:?} on {}", scalar.name()));
        }
    }
}

#[test]
fn every_cast() {
    for from in Scalar::ALL {
        let mut params = vec![Type::array(Type::scalar(from), 1)];
        params.extend(Scalar::ALL.map(|to| Type::array(Type::scalar(to), 1)));
        let module = kernel(&params, |b| {
            let at = at_thread(b);
            let x = b.load(b.param(0), &[at], &[], &[]);
            for (i, to) in Scalar::ALL.into_iter().enumerate() {
                let result = b.cast(x, to);
                b.store(b.param(1 + i), &[at], &[], &[], result);
            }
        });
        let mut random = Random(77 + from as u64);
        let special = specials(from);
        let mut i = 0;
        let mut arrays = vec![Elements::fill(Type::scalar(from), 4 * N, |scalar| {
            i += 1;
            special.get(i - 1).copied().unwrap_or_else(|| random.scalar(scalar))
        })];
        arrays.extend(Scalar::ALL.map(|to| Elements::zeroed(Type::scalar(to), 4 * N)));
        compare(&module, &arrays, 4 * N as i64, &format!("casts from {}", from.name()));
    }
}

#[test]
fn select_and_bitcast() {
    for scalar in Scalar::ALL {
        let ty = Type::scalar(scalar);
        let same_size: Vec<Scalar> =
            Scalar::ALL.into_iter().filter(|to| to.bits() == scalar.bits() && scalar.bits() > 1).collect();
        let mut params = vec![Type::array(Type::bool(), 1), Type::array(ty, 1), Type::array(ty, 1), Type::array(ty, 1)];
        params.extend(same_size.iter().map(|&to| Type::array(Type::scalar(to), 1)));
        let module = kernel(&params, |b| {
            let at = at_thread(b);
            let [c, x, y] = [0, 1, 2].map(|i| b.load(b.param(i), &[at], &[], &[]));
            let chosen = b.select(c, x, y);
            b.store(b.param(3), &[at], &[], &[], chosen);
            for (i, &to) in same_size.iter().enumerate() {
                let bits = b.push1(Op::Bitcast, &[chosen], Attr::None, Type::scalar(to));
                b.store(b.param(4 + i), &[at], &[], &[], bits);
            }
        });
        let mut random = Random(5);
        let mut arrays = vec![Elements::fill(Type::bool(), N, |scalar| random.scalar(scalar))];
        arrays.extend(inputs(scalar).drain(..2));
        arrays.push(Elements::zeroed(ty, N));
        arrays.extend(same_size.iter().map(|&to| Elements::zeroed(Type::scalar(to), N)));
        compare(&module, &arrays, N as i64, scalar.name());
    }
}
