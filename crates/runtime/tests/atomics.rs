//! Atomic operations: their values on each type, and that no update is lost between threads.

use half::{bf16, f16};
use runtime::atomics::{cas, rmw, symbols};

/// Runs `op` on a cell holding `before`; gives old and new bits. Bytes beside the cell must not change.
fn run(op: &str, ty: &str, size: usize, before: u64, operand: u64) -> (u64, u64) {
    let mut memory = [0xa5a5_a5a5_a5a5_a5a5u64; 3];
    let cell: *mut u8 = (&raw mut memory[1]).cast();
    // SAFETY: the cell is 8 live bytes, aligned to 8.
    let (old, after) = unsafe {
        cell.copy_from(before.to_le_bytes().as_ptr(), size);
        let old = rmw(op, ty).unwrap_or_else(|| panic!("{op} {ty}"))(cell, operand | !mask(size));
        (old, cell.cast::<u64>().read())
    };
    assert_eq!(memory[0], memory[2]);
    assert_eq!(after & !mask(size), 0xa5a5_a5a5_a5a5_a5a5 & !mask(size), "neighbors of a {ty} changed");
    (old, after & mask(size))
}

fn mask(size: usize) -> u64 {
    u64::MAX >> (64 - 8 * size)
}

macro_rules! check_int {
    ($($ty:ident)*) => { $(
        let size = size_of::<$ty>();
        let values = [0, 1, 7, $ty::MAX, $ty::MIN, $ty::MAX / 3];
        for a in values {
            for b in values {
                let check = |op: &str, expected: $ty| {
                    let (old, new) = run(op, stringify!($ty), size, a as u64, b as u64);
                    assert_eq!((old as $ty, new as $ty), (a, expected), "{op} {a} {b}");
                    assert_eq!(old, a as u64 & mask(size), "zero-extended");
                };
                check("add", a.wrapping_add(b));
                check("sub", a.wrapping_sub(b));
                check("min", a.min(b));
                check("max", a.max(b));
                check("and", a & b);
                check("or", a | b);
                check("xor", a ^ b);
                check("exchange", b);
            }
        }
    )* };
}

#[test]
fn integers() {
    check_int!(i8 i16 i32 i64 u8 u16 u32 u64);
}

macro_rules! check_float {
    ($($ty:ident $bits:ident)*) => { $(
        let values = [0.0, -0.0, 1.0, -2.5, 0.1, 100.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 6e4];
        let narrow = |x: f64| { #[allow(clippy::cast_possible_truncation)] let y = from_f64!($ty, x); y };
        for a in values.map(narrow) {
            for b in values.map(narrow) {
                let check = |op: &str, expected: $ty| {
                    let bits = (u64::from(a.to_bits()), u64::from(b.to_bits()));
                    let (old, new) = run(op, stringify!($ty), size_of::<$ty>(), bits.0, bits.1);
                    assert_eq!(old, bits.0);
                    let new = $ty::from_bits(new as $bits);
                    let same = new.to_bits() == expected.to_bits() || (new.is_nan() && expected.is_nan());
                    assert!(same, "{op} {a} {b} = {new}, expected {expected}");
                };
                check("add", a + b);
                check("sub", a - b);
                check("min", if b.is_nan() { a } else if a < b { a } else { b });
                check("max", if b.is_nan() { a } else if a > b { a } else { b });
                check("exchange", b);
            }
        }
    )* };
}

macro_rules! from_f64 {
    (f32, $x:expr) => {
        $x as f32
    };
    (f64, $x:expr) => {
        $x
    };
    ($ty:ident, $x:expr) => {
        $ty::from_f64($x)
    };
}

#[test]
#[allow(clippy::if_same_then_else)]
fn floats() {
    check_float!(f32 u32 f64 u64 f16 u16 bf16 u16);
}

#[test]
fn half_sums_round_once() {
    let bits = |x: f64| u64::from(f16::from_f64(x).to_bits());
    assert_eq!(run("add", "f16", 2, bits(2048.0), bits(1.0)).1, bits(2048.0));
    assert_eq!(run("add", "f16", 2, bits(2048.0), bits(3.0)).1, bits(2052.0));
    assert_eq!(run("add", "f16", 2, bits(65504.0), bits(65504.0)).1, bits(f64::INFINITY));
}

#[test]
fn bools() {
    for (op, expected) in
        [("and", [0, 0, 0, 1]), ("or", [0, 1, 1, 1]), ("xor", [0, 1, 1, 0]), ("exchange", [0, 1, 0, 1])]
    {
        for (i, value) in expected.into_iter().enumerate() {
            let (a, b) = (i as u64 >> 1, i as u64 & 1);
            let mut cell = a as u8;
            // SAFETY: a live byte.
            let old = unsafe { rmw(op, "bool").unwrap()(&raw mut cell, b) };
            assert_eq!((old, u64::from(cell)), (a, value), "{op} {a} {b}");
        }
    }
    assert!(rmw("add", "bool").is_none() && rmw("and", "f32").is_none() && rmw("add", "f128").is_none());
}

#[test]
fn cas_compares_bits() {
    for (ty, size) in [("bool", 1), ("i8", 1), ("u16", 2), ("f16", 2), ("bf16", 2), ("f32", 4), ("i64", 8), ("f64", 8)]
    {
        let cas = cas(ty).unwrap();
        let mut memory = [1u64, 0xffff_ffff_ffff_ffff];
        let cell: *mut u8 = (&raw mut memory[0]).cast();
        // SAFETY: the cell is 8 live bytes, aligned to 8.
        unsafe {
            assert_eq!(cas(cell, 0, 5), 1, "{ty}: another value is kept");
            assert_eq!(cell.cast::<u64>().read(), 1);
            assert_eq!(cas(cell, 1 | !mask(size), 0), 1, "{ty}: high bits are ignored");
            assert_eq!(cell.cast::<u64>().read(), 0);
        }
        assert_eq!(memory[1], u64::MAX);
    }
    let mut zero = -0.0f32;
    // SAFETY: a live f32.
    unsafe { cas("f32").unwrap()((&raw mut zero).cast(), 0, u64::from(1f32.to_bits())) };
    assert_eq!(zero.to_bits(), (-0.0f32).to_bits(), "0 and -0 have other bits");
}

#[test]
fn no_update_is_lost_between_threads() {
    #[repr(align(8))]
    struct Memory([u16; 4]);
    let memory = Box::leak(Box::new(Memory([bf16::ZERO.to_bits(), 0, f16::ZERO.to_bits(), 0])));
    let address = memory.0.as_mut_ptr() as usize;
    let (add_half, add_u16, add_u8) =
        (rmw("add", "f16").unwrap(), rmw("add", "u16").unwrap(), rmw("add", "u8").unwrap());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(move || {
                for _ in 0..500 {
                    let base = address as *mut u8;
                    // SAFETY: each address lies in the leaked memory and is aligned; all accesses are atomic.
                    unsafe {
                        add_half(base.add(4), u64::from(f16::ONE.to_bits()));
                        add_u16(base.add(2), 3);
                        add_u8(base.add(6), 1);
                        add_u8(base.add(7), 1);
                    }
                }
            });
        }
    });
    assert_eq!(f16::from_bits(memory.0[2]), f16::from_f64(2000.0));
    assert_eq!(memory.0, [0, 6000, f16::from_f64(2000.0).to_bits(), 2000 % 256 * 257]);
}

#[test]
fn every_function_has_a_symbol() {
    let names: Vec<_> = symbols().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), 8 * 8 + 4 * 5 + 4 + 13);
    for name in
        ["gs_atomic_add_f16", "gs_atomic_max_bf16", "gs_atomic_xor_bool", "gs_atomic_cas_f64", "gs_atomic_exchange_u8"]
    {
        assert!(names.contains(&name), "{name}");
    }
}
