//! Checks, printing, atomics, views and local arrays; what is refused, and loading.

use crate::differential::{Elements, Random, compare};
use crate::launch::{Packed, kernel, run, run_with};
use codegen::{CpuOptions, Error, Gang};
use diagnostics::Span;
use ir::{
    AtomicOp, Attr, Builder, Class, FuncRef, Function, FunctionKind, Module, Op, Scalar, Site, SiteKind, Type, Value,
};
use runtime::FaultRecord;

fn tid(b: &mut Builder<'_>, dim: u32) -> Value {
    b.push1(Op::Tid, &[], Attr::Index(dim), Type::i64())
}

/// Adds a site to a module, for a check that `kernel` built with site 0.
fn with_site(mut module: Module) -> Module {
    module.add_site(Site { kind: SiteKind::ArrayIndex, span: Span::NONE, name: "a".into() });
    module
}

#[test]
fn a_failed_check_ends_its_thread_alone() {
    let array = Type::array(Type::i32(), 2);
    let module = with_site(kernel(&[array], |b| {
        let (i, j) = (tid(b, 0), tid(b, 1));
        let a = b.param(0);
        b.check(Op::CheckBounds, &[a, i, j], ir::SiteId(0));
        let one = b.int(Scalar::I32, 1);
        b.store(a, &[i, j], &[], &[], one);
    }));
    let mut out = [0i32; 6];
    let fault = run(&module, &[3, 4], &Packed::default().array(&mut out, &[3, 2]));
    assert_eq!(out, [1; 6]);
    assert_eq!(fault, Some(FaultRecord { site: 0, thread: [0, 2, 0, 0], values: vec![0, 2, 3, 2] }));
    let fault = run(&module, &[1, 1], &Packed::default().strided(std::ptr::null_mut::<i32>(), &[3, 2], &[8, 4]));
    assert_eq!(fault.map(|fault| fault.thread), Some([0; 4]));
}

#[test]
fn every_check_agrees_with_the_interpreter() {
    let vector = Type::vector(Scalar::I32, 3);
    let big = Type::vector(Scalar::F32, 80);
    let params = [Type::i64(), Type::i32(), Type::f32(), vector, big, Type::scalar(Scalar::F16)];
    let checks: [(Op, usize); 6] = [
        (Op::CheckIndex, 0),
        (Op::CheckNonZero, 1),
        (Op::CheckFinite, 2),
        (Op::CheckNonZero, 3),
        (Op::CheckFinite, 4),
        (Op::Assert, 1),
    ];
    for (op, param) in checks {
        let ty = params[param];
        let module = with_site(kernel(&[Type::array(ty, 1), Type::array(Type::i32(), 1)], |b| {
            let at = tid(b, 0);
            let x = b.load(b.param(0), &[at], &[], &[]);
            let zero = b.int(Scalar::I32, 0);
            let operands = match op {
                Op::CheckIndex => vec![x, at],
                Op::Assert => vec![b.compare(Op::Gt, x, zero)],
                _ => vec![x],
            };
            b.check(op, &operands, ir::SiteId(0));
            let one = b.int(Scalar::I32, 1);
            b.store(b.param(1), &[at], &[], &[], one);
        }));
        let mut random = Random(23);
        let x = Elements::fill(ty, 100, |scalar| match random.below(30) {
            0 => random.scalar(scalar),
            _ => ir::Const::int(scalar, i128::from(1 + random.below(20))).0,
        });
        compare(&module, &[x, Elements::zeroed(Type::i32(), 100)], 100, op.name());
    }
}

#[test]
fn text_comes_out_in_one_piece() {
    use std::sync::Mutex;
    static TEXT: Mutex<String> = Mutex::new(String::new());
    fn sink(text: &str) {
        TEXT.lock().unwrap().push_str(text);
    }
    let params = [Type::i32(), Type::scalar(Scalar::U8), Type::scalar(Scalar::F16), Type::bool()];
    let module = kernel(&params, |b| {
        let operands: Vec<Value> = (0..4).map(|i| b.param(i)).collect();
        b.push(Op::Print, &operands, Attr::Text("%d %u %g %d\n".into()), &[], &[]);
        b.push(Op::Print, &[], Attr::Text("100%%\n".into()), &[], &[]);
    });
    runtime::format::set_print_sink(sink);
    let args = Packed::default().word(-5i32 as u32 as u64).word(200).word(0x3e00).word(1);
    assert_eq!(run(&module, &[2], &args), None);
    assert_eq!(*TEXT.lock().unwrap(), "-5 200 1.5 1\n100%\n".repeat(2));
}

#[test]
fn atomics_lose_nothing_between_threads() {
    for scalar in Scalar::ALL.into_iter().filter(|&s| s != Scalar::Bool) {
        let ty = Type::scalar(scalar);
        let module = kernel(&[Type::array(ty, 1)], |b| {
            let [zero, one] = [0, 1].map(|n| b.int(Scalar::I64, n));
            let x = if scalar.is_float() { b.float(scalar, 1.0) } else { b.int(scalar, 1) };
            let a = b.param(0);
            b.atomic(AtomicOp::Add, a, &[zero], &[], &[], x);
            let i = tid(b, 0);
            let i = b.cast(i, scalar);
            b.atomic(AtomicOp::Max, a, &[one], &[], &[], i);
        });
        let object = codegen::compile(&module, FuncRef(0), &CpuOptions::default()).unwrap();
        let loaded = codegen::load(&object, &codegen::symbol(&module, FuncRef(0))).unwrap();
        let mut cells = [0u64; 2];
        let args = Packed::default().strided(cells.as_mut_ptr(), &[2], &[8]);
        let (bounds, fault) = (crate::launch::bounds(&[100]), runtime::Fault::default());
        std::thread::scope(|scope| {
            for part in 0..4 {
                let (args, bounds, fault, entry) = (&args, &bounds, &fault, loaded.entry());
                scope.spawn(move || {
                    // SAFETY: the array has two elements, which are only accessed atomically.
                    unsafe { entry(args.0.as_ptr().cast(), bounds, 25 * part, 25 * part + 25, fault) }
                });
            }
        });
        // 100 and 99 are exact in every type.
        let bits = |value| ir::Const::int(scalar, value).0;
        assert_eq!(cells, [bits(100), bits(99)], "{}", scalar.name());
    }
}

#[test]
fn every_atomic_agrees_with_the_interpreter() {
    for scalar in Scalar::ALL {
        for ty in [Type::scalar(scalar), Type::vector(scalar, 3)] {
            for (atomic, name) in AtomicOp::ALL {
                let is_bits = matches!(atomic, AtomicOp::And | AtomicOp::Or | AtomicOp::Xor);
                let is_exchange = atomic == AtomicOp::Exchange;
                let is_defined = is_exchange
                    || match scalar.class() {
                        Class::Bool => is_bits,
                        Class::Int => true,
                        Class::Float => !is_bits,
                    };
                if !is_defined {
                    continue;
                }
                let module = kernel(&[Type::array(ty, 1); 3], |b| {
                    let at = tid(b, 0);
                    let x = b.load(b.param(1), &[at], &[], &[]);
                    let before = b.atomic(atomic, b.param(0), &[at], &[], &[], x);
                    b.store(b.param(2), &[at], &[], &[], before);
                });
                let mut random = Random(31 + scalar as u64);
                let mut next = |scalar| random.scalar(scalar);
                let mut arrays = vec![Elements::fill(ty, 80, &mut next), Elements::fill(ty, 80, &mut next)];
                arrays.push(Elements::zeroed(ty, 80));
                compare(&module, &arrays, 80, &format!("atomic {name} on {ty}"));
            }
        }
        let ty = Type::scalar(scalar);
        let module = kernel(&[Type::array(ty, 1); 4], |b| {
            let at = tid(b, 0);
            let [expected, x] = [1, 2].map(|p| b.load(b.param(p), &[at], &[], &[]));
            let a = b.param(0);
            let before = b.push1(Op::AtomicCas, &[a, at, expected, x], Attr::Path([].into()), ty);
            b.store(b.param(3), &[at], &[], &[], before);
        });
        let mut random = Random(37 + scalar as u64);
        let x = Elements::fill(ty, 80, |scalar| random.scalar(scalar) & 0xff03);
        let mut i = 0;
        let words = x.leaves();
        let expected = Elements::fill(ty, 80, |_| {
            i += 1;
            // Every other one is met.
            words[i - 1].1 ^ (i as u64 % 2)
        });
        let arrays = [x, expected, Elements::fill(ty, 80, |scalar| random.scalar(scalar)), Elements::zeroed(ty, 80)];
        compare(&module, &arrays, 80, &format!("atomic_cas on {}", scalar.name()));
    }
}

#[test]
fn views_local_arrays_and_addresses() {
    let array = Type::array(Type::i32(), 1);
    let module = kernel(&[array, array], |b| {
        let at = tid(b, 0);
        let n = |b: &mut Builder<'_>, n| b.int(Scalar::I64, n);
        let local = b.push1(Op::LocalArray, &[], Attr::Extents([4, 5].into()), Type::array(Type::i32(), 2));
        let (two, one, three) = (n(b, 2), n(b, 1), n(b, 3));
        let x = b.load(b.param(0), &[at], &[], &[]);
        b.store(local, &[three, two], &[], &[], x);
        let column = b.row(local, two, 1);
        let row = b.row(local, three, 0);
        let minus = n(b, -1);
        let last = b.wrap_index(column, minus, 0);
        let mut sum = b.load(column, &[last], &[], &[]);
        let zero = n(b, 0);
        let from_row = b.load(row, &[two], &[], &[]);
        sum = b.binary(Op::Add, sum, from_row);
        // 3, 1 of the column, backwards.
        let minus_two = n(b, -2);
        let view = b.push1(Op::Subarray, &[column, three, two, minus_two], Attr::Index(0), array);
        for i in [zero, one] {
            let x = b.load(view, &[i], &[], &[]);
            sum = b.binary(Op::Add, sum, x);
        }
        for (view, dim) in [(view, 0), (row, 0), (local, 1)] {
            let extent = b.extent(view, dim);
            let extent = b.cast(extent, Scalar::I32);
            sum = b.binary(Op::Mul, sum, extent);
        }
        let address = b.push1(Op::Address, &[row], Attr::None, Type::scalar(Scalar::U64));
        let again = b.push1(Op::ArrayFromAddress, &[address, one, three], Attr::None, Type::array(Type::i32(), 2));
        let x = b.load(again, &[zero, two], &[], &[]);
        sum = b.binary(Op::Add, sum, x);
        let null = b.push1(Op::IsNull, &[local], Attr::None, Type::bool());
        let null = b.cast(null, Scalar::I32);
        sum = b.binary(Op::Add, sum, null);
        let extent = b.push1(Op::LaunchExtent, &[], Attr::Index(0), Type::i64());
        let extent = b.cast(extent, Scalar::I32);
        sum = b.binary(Op::Add, sum, extent);
        b.store(b.param(1), &[at], &[], &[], sum);
    });
    let mut i = 0;
    let x = Elements::fill(Type::i32(), 30, |_| {
        i += 1;
        i
    });
    compare(&module, &[x, Elements::zeroed(Type::i32(), 30)], 30, "views");
}

/// LLVM replaces such loops by calls of the C library, which must be found.
#[test]
fn loops_that_look_like_library_functions() {
    for scalar in [Scalar::U8, Scalar::I32] {
        let array = Type::array(Type::scalar(scalar), 1);
        let module = kernel(&[array, Type::array(Type::i64(), 1), array], |b| {
            let at = tid(b, 0);
            let (text, zero, one) = (b.param(0), b.int(Scalar::I64, 0), b.int(Scalar::I64, 1));
            let region = b.func.add_region(&[Type::i64()]);
            let scan = b.push(Op::Loop, &[zero], Attr::None, &[region], &[Type::i64()]);
            let before = b.enter(region);
            let i = b.region_param(region, 0);
            let x = b.load(text, &[i], &[], &[]);
            let nothing = b.int(scalar, 0);
            let done = b.compare(Op::Eq, x, nothing);
            let arms = [b.func.add_region(&[]), b.func.add_region(&[])];
            b.push(Op::If, &[done], Attr::None, &arms, &[]);
            b.enter(arms[0]);
            b.break_(&[i]);
            b.enter(arms[1]);
            b.yield_(&[]);
            b.enter(region);
            let next = b.binary(Op::Add, i, one);
            b.continue_(&[next]);
            b.enter(before);
            let length = b.func.inst(scan).result();
            b.store(b.param(1), &[at], &[], &[], length);
            // A copy and a fill.
            let copied = b.load(text, &[at], &[], &[]);
            b.store(b.param(2), &[at], &[], &[], copied);
        });
        let mut text = [5u8; 400];
        text[300..304].fill(0);
        let n = 300 / scalar.size() as i64;
        let (mut length, mut copy) = ([0i64; 300], [0u8; 400]);
        let args = Packed::default()
            .strided(text.as_mut_ptr(), &[n + 1], &[scalar.size() as i64])
            .array(&mut length, &[300])
            .strided(copy.as_mut_ptr(), &[n + 1], &[scalar.size() as i64]);
        let options = CpuOptions { contiguous: true, ..CpuOptions::default() };
        assert_eq!(run_with(&module, &options, &[n], &args, 1), None);
        assert_eq!((length[0], length[n as usize - 1]), (n, n));
        assert_eq!(copy[..300], text[..300]);
    }
}

#[test]
fn what_cannot_be_compiled_is_refused() {
    let compile = |module: &Module| codegen::compile(module, FuncRef(0), &CpuOptions::default());
    let local = |n| {
        let ty = Type::array(Type::i32(), 1);
        kernel(&[], |b| {
            b.push1(Op::LocalArray, &[], Attr::Extents([n].into()), ty);
        })
    };
    assert!(compile(&local(1000)).is_ok());
    assert!(matches!(compile(&local(1 << 20)), Err(Error::TooLarge(_))));

    let mut calls = kernel(&[], |b| {
        b.push(Op::Call, &[], Attr::Func(FuncRef(1)), &[], &[]);
    });
    let mut callee = Function::new("f", FunctionKind::Function, vec![], vec![]);
    Builder::new(&mut callee).ret(&[]);
    calls.funcs.push(callee);
    assert!(matches!(compile(&calls), Err(Error::Invalid(_))));
    assert!(matches!(codegen::compile(&calls, FuncRef(1), &CpuOptions::default()), Err(Error::Invalid(_))));
    assert!(matches!(codegen::compile(&calls, FuncRef(9), &CpuOptions::default()), Err(Error::Invalid(_))));
    for rank in [0, 5] {
        let options = CpuOptions { rank, ..CpuOptions::default() };
        assert!(matches!(codegen::compile(&local(1), FuncRef(0), &options), Err(Error::Invalid(_))));
    }

    let broken = kernel(&[Type::i32(), Type::f32()], |b| {
        let (x, y) = (b.param(0), b.param(1));
        b.binary(Op::Add, x, y);
    });
    let Err(Error::Invalid(text)) = compile(&broken) else { panic!("accepted") };
    assert!(text.contains("add"), "{text}");
}

#[test]
fn an_object_loads_more_than_once_and_a_damaged_one_never() {
    let module = kernel(&[Type::array(Type::i32(), 1)], |b| {
        let (at, x) = (tid(b, 0), b.int(Scalar::I32, 7));
        b.store(b.param(0), &[at], &[], &[], x);
    });
    let object = codegen::compile(&module, FuncRef(0), &CpuOptions::default()).unwrap();
    let symbol = codegen::symbol(&module, FuncRef(0));
    for _ in 0..3 {
        let loaded = [codegen::load(&object, &symbol).unwrap(), codegen::load(&object, &symbol).unwrap()];
        assert_ne!(loaded[0].entry() as usize, loaded[1].entry() as usize);
        for loaded in &loaded {
            let mut out = [0i32; 3];
            let args = Packed::default().array(&mut out, &[3]);
            let (bounds, fault) = (crate::launch::bounds(&[3]), runtime::Fault::default());
            // SAFETY: three threads write three elements.
            unsafe { loaded.entry()(args.0.as_ptr().cast(), &bounds, 0, 3, &fault) };
            assert_eq!(out, [7; 3]);
        }
        assert!(codegen::load(&object, "gs_kernel_other").is_err());
        for len in [0, 1, 40, 64, 200, object.len() / 2] {
            assert!(codegen::load(&object[..len], &symbol).is_err(), "{len} bytes");
        }
    }
}

#[test]
fn threads_compile_at_once() {
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || {
                for round in 0..5 {
                    let number = thread * 10 + round;
                    let module = kernel(&[Type::array(Type::i32(), 1)], |b| {
                        let (at, x) = (tid(b, 0), b.int(Scalar::I32, number));
                        b.store(b.param(0), &[at], &[], &[], x);
                    });
                    let mut out = [0i32; 9];
                    run(&module, &[9], &Packed::default().array(&mut out, &[9]));
                    assert_eq!(out, [number as i32; 9]);
                }
            });
        }
    });
}

#[test]
fn fast_math_may_reorder_a_sum_but_keeps_nan_tests() {
    let mut module = kernel(&[Type::array(Type::f32(), 1); 2], |b| {
        let at = tid(b, 0);
        let x = b.load(b.param(0), &[at], &[], &[]);
        let one = b.float(Scalar::F32, 1.0);
        let product = b.binary(Op::Mul, x, x);
        let sum = b.binary(Op::Add, product, one);
        let nan = b.push1(Op::IsNan, &[x], Attr::None, Type::bool());
        let minus = b.float(Scalar::F32, -1.0);
        let result = b.select(nan, minus, sum);
        b.store(b.param(1), &[at], &[], &[], result);
    });
    module.fast_math = true;
    let (mut x, mut y) = ([1.0, f32::NAN, 2.0], [0.0f32; 3]);
    let args = Packed::default().array(&mut x, &[3]).array(&mut y, &[3]);
    run_with(&module, &CpuOptions::default(), &[3], &args, 1);
    assert_eq!(y, [2.0, -1.0, 5.0]);
    let text = codegen::llvm_text(&module, FuncRef(0), &CpuOptions::default(), false).unwrap();
    assert!(text.contains("fadd reassoc nsz arcp contract afn"), "{text}");
}

#[test]
fn fast_math_leaves_f64_in_order() {
    let mut module = kernel(&[Type::array(Type::scalar(Scalar::F64), 1)], |b| {
        let at = tid(b, 0);
        let x = b.load(b.param(0), &[at], &[], &[]);
        let sum = b.binary(Op::Add, x, x);
        b.store(b.param(0), &[at], &[], &[], sum);
    });
    module.fast_math = true;
    for gang in [Gang::Off, Gang::Width(8)] {
        let text =
            codegen::llvm_text(&module, FuncRef(0), &CpuOptions { gang, ..CpuOptions::default() }, false).unwrap();
        assert!(text.contains("fadd ") && !text.contains("fadd reassoc"), "{text}");
    }
}

#[test]
fn sums_of_a_chunk_s_own() {
    let text = "kernel @k(v0: array<i32, 1>, v1: array<i32, 1>, v2: array<u32, 2>) {
       v3: i64 = tid 0
       v4: i32 = load v0[v3]
       v5: i64 = cast v4
       v6: i32 = atomic sub v1[v5], v4
       v7: i64 = const 0
       v8: u32 = cast v4
       v9: u32 = atomic or v2[v7, v5], v8
       return
     }";
    let module = ir::parse::parse_module(text).unwrap_or_else(|error| panic!("{error:?}"));
    for (n, n_bins, gang) in
        [(1000, 16, Gang::Width(16)), (1000, 16, Gang::Off), (70, 16, Gang::Auto), (40_000, 5000, Gang::Auto)]
    {
        let options = CpuOptions { contiguous: true, distinct: true, gang, ..CpuOptions::default() };
        let mut x: Vec<i32> = (0..n).map(|i| (i * 7 + i / 3) % 16).collect();
        let (mut y, mut bits) = (vec![5i32; n_bins], vec![1u32 << 9; n_bins]);
        let args = Packed::default()
            .array(&mut x, &[i64::from(n)])
            .array(&mut y, &[n_bins as i64])
            .array(&mut bits, &[1, n_bins as i64]);
        run_with(&module, &options, &[i64::from(n)], &args, 1);
        let count = |k: i32| x.iter().filter(|&&x| x == k).count() as i32;
        for k in 0..16 {
            assert_eq!(y[k as usize], 5 - k * count(k), "bin {k} of {n_bins}");
            assert_eq!(bits[k as usize], 1 << 9 | if count(k) > 0 { k as u32 } else { 0 });
        }
        assert!(y[16..].iter().all(|&y| y == 5));
    }
}

#[test]
fn only_sums_of_distinct_arrays_are_a_chunk_s_own() {
    let text = "kernel @k(v0: array<i32, 1>, v1: array<i32, 1>) {
       v3: i64 = tid 0
       v4: i32 = load v0[v3]
       v5: i64 = cast v4
       v6: i32 = atomic add v1[v5], v4
       return
     }";
    let module = ir::parse::parse_module(text).unwrap_or_else(|error| panic!("{error:?}"));
    for distinct in [true, false] {
        let options = CpuOptions { contiguous: true, distinct, ..CpuOptions::default() };
        let text = codegen::llvm_text(&module, FuncRef(0), &options, false).unwrap();
        assert_eq!(text.contains("%sum = alloca"), distinct, "{text}");
    }
}
