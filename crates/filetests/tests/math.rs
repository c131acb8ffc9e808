//! Elementary functions have the same bits in the interpreter and in compiled code, vectorized or not.

use codegen::CpuOptions;
use gridstride_filetests::cpu::pack;
use interp::InterpValue;
use ir::parse::parse_module;
use ir::{FuncRef, Module, Op, Scalar, Type};
use runtime::math::{BINARY, UNARY};
use runtime::{Fault, LaunchBounds};

const N: usize = 4096;

/// `out[i] = op(x[i], …)`, optimized, so with its math expanded.
fn kernel(op: &str, scalar: Scalar) -> Module {
    let ty = scalar.name();
    let (load, args) = match BINARY.contains(&op) {
        true => (format!("v5: {ty} = load v1[v3]"), "v4, v5"),
        false => (String::new(), "v4"),
    };
    let text = format!(
        "kernel @f(v0: array<{ty}, 1>, v1: array<{ty}, 1>, v2: array<{ty}, 1>) {{
           v3: i64 = tid 0
           v4: {ty} = load v0[v3]
           {load}
           v6: {ty} = {op} {args}
           store v2[v3], v6
           return
         }}"
    );
    let mut module = parse_module(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    transform::optimize(&mut module);
    module
}

/// Bits of all kinds: half of them everyday numbers, the rest anything, first of all special values.
fn arguments(scalar: Scalar, seed: u64) -> Vec<u64> {
    let special =
        [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e30, -1e30, 1e-40, 710.0, -745.0];
    let mut state = seed;
    let random = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let bits = state ^ state >> 29;
        let everyday = (bits >> 11) as f64 / 2f64.powi(50) - 4.0;
        match (scalar, bits % 2) {
            (Scalar::F32, 0) => u64::from((everyday as f32).to_bits()),
            (Scalar::F32, _) => bits >> 32,
            (_, 0) => everyday.to_bits(),
            _ => bits,
        }
    });
    special.iter().map(|&x| ir::Const::float(scalar, x).0).chain(random).take(N).collect()
}

fn to_bytes(scalar: Scalar, words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()[..scalar.size() as usize].to_vec()).collect()
}

fn is_nan(scalar: Scalar, word: u64) -> bool {
    ir::Const(word).as_float(scalar).is_nan()
}

fn check(op: &str, scalar: Scalar) {
    let module = kernel(op, scalar);
    assert!(transform::expand_math::is_expanded(Op::from_name(op).expect("an op"), scalar), "{op} {scalar:?}");
    let (x, y) = (to_bytes(scalar, &arguments(scalar, 1)), to_bytes(scalar, &arguments(scalar, 2)));
    let mut outs = [vec![0u8; x.len()], vec![0u8; x.len()]];
    let bounds = LaunchBounds::new([N as i64, 1, 1, 1]);
    let object = codegen::compile(&module, FuncRef(0), &CpuOptions::default()).expect("compiles");
    let loaded = codegen::load(&object, &codegen::symbol(&module, FuncRef(0))).expect("loads");
    for (i, out) in outs.iter_mut().enumerate() {
        let array = |bytes: *const u8| InterpValue::array(Type::scalar(scalar), bytes as u64, &[N as i64]);
        let args = pack(&[array(x.as_ptr()), array(y.as_ptr()), array(out.as_mut_ptr())]);
        let fault = Fault::default();
        if i == 0 {
            interp::launch(&module, FuncRef(0), &args, &bounds, &fault);
        } else {
            // SAFETY: the arguments are of the parameters' types, and their arrays are alive.
            unsafe { runtime_cpu::Pool::global().launch(loaded.entry(), args.as_ptr(), &bounds, &fault) };
        }
        assert!(fault.take().is_none());
    }
    let size = scalar.size() as usize;
    for i in 0..N {
        let word = |bytes: &[u8]| {
            let mut word = [0; 8];
            word[..size].copy_from_slice(&bytes[i * size..][..size]);
            u64::from_le_bytes(word)
        };
        let (a, b) = (word(&outs[0]), word(&outs[1]));
        let same = a == b || is_nan(scalar, a) && is_nan(scalar, b);
        assert!(same, "{op}({:#x}, {:#x}): interp {a:#x}, cpu {b:#x}", word(&x), word(&y));
    }
}

#[test]
fn compiled_math_has_the_bits_of_the_interpreter() {
    for op in UNARY.iter().copied().chain(["pow", "atan2"]) {
        check(op, Scalar::F32);
        check(op, Scalar::F64);
    }
    check("rem", Scalar::F32);
    check("mod", Scalar::F32);
}
