//! Atomic read-modify-write on every scalar type, for the interpreter and for what LLVM cannot do natively.
//!
//! In: an address, and an operand as the bits of the scalar in the low end of a word (the rest is ignored). Out: what
//! was there, its bits zero-extended. Compiled code links `gs_atomic_{op}_{type}(ptr, value) -> old` and
//! `gs_atomic_cas_{type}(ptr, expected, value) -> old`; the interpreter finds them with [`rmw`] and [`cas`].
//!
//! All are compare-and-swap loops on exactly the bytes of the scalar, sequentially consistent, so they may run beside
//! native atomics on the same memory. Integers wrap. f16 and bf16 are widened to f32 and rounded back. `min` and
//! `max` are those of the op table: with a what is there and b the operand, a where b is NaN, else a < b ? a : b.
//!
//! ```
//! let add = runtime::atomics::rmw("add", "f32").unwrap();
//! let mut x = 1.5f32;
//! // SAFETY: the address is that of a live f32.
//! let old = unsafe { add((&raw mut x).cast(), u64::from(2.0f32.to_bits())) };
//! assert_eq!((f32::from_bits(old as u32), x), (1.5, 3.5));
//! ```

use half::{bf16, f16};
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};

/// Replaces what `ptr` points to by the operation of itself and `value`; gives what was there.
///
/// Calling one is unsafe: `ptr` points to a live scalar of the type, aligned to its size, and every access to it by
/// another thread meanwhile is atomic.
pub type Rmw = unsafe extern "C" fn(ptr: *mut u8, value: u64) -> u64;

/// Stores `value` where the bits that `ptr` points to equal `expected`; gives what was there. As unsafe as [`Rmw`].
pub type Cas = unsafe extern "C" fn(ptr: *mut u8, expected: u64, value: u64) -> u64;

/// The atomic operation `op` (`add sub min max and or xor exchange`) on the scalar type `ty` (`i8`, `f16`, `bool`, …).
/// `None` where the type does not have the operation: bits for floats, arithmetic for bool.
pub fn rmw(op: &str, ty: &str) -> Option<Rmw> {
    RMW.iter().find(|row| row.op == op && row.ty == ty).map(|row| row.function)
}

/// The compare-and-swap of the scalar type `ty`.
pub fn cas(ty: &str) -> Option<Cas> {
    CAS.iter().find(|(name, ..)| *name == ty).map(|(.., function)| *function)
}

/// Every function by its symbol.
pub fn symbols() -> Vec<(&'static str, usize)> {
    let rmw = RMW.iter().map(|row| (row.symbol, row.function as usize));
    rmw.chain(CAS.iter().map(|(_, symbol, function)| (*symbol, *function as usize))).collect()
}

/// A scalar and the atomic cell of its size.
trait Element: Copy {
    fn from_bits(bits: u64) -> Self;
    fn bits(self) -> u64;

    /// # Safety
    /// As for [`Rmw`].
    unsafe fn load(ptr: *mut u8) -> u64;

    /// # Safety
    /// As for [`Rmw`].
    unsafe fn compare_exchange(ptr: *mut u8, expected: u64, value: u64) -> Result<u64, u64>;
}

macro_rules! elements {
    ($($ty:ty, $cell:ident, $word:ty, $from:expr, $bits:expr;)*) => { $(
        impl Element for $ty {
            fn from_bits(bits: u64) -> $ty {
                let from: fn($word) -> $ty = $from;
                from(bits as $word)
            }

            fn bits(self) -> u64 {
                let bits: fn($ty) -> $word = $bits;
                u64::from(bits(self))
            }

            unsafe fn load(ptr: *mut u8) -> u64 {
                // SAFETY: the caller promises a live, aligned scalar of this type, accessed atomically by all.
                u64::from(unsafe { $cell::from_ptr(ptr.cast()) }.load(Relaxed))
            }

            unsafe fn compare_exchange(ptr: *mut u8, expected: u64, value: u64) -> Result<u64, u64> {
                // SAFETY: as in `load`.
                let cell = unsafe { $cell::from_ptr(ptr.cast()) };
                match cell.compare_exchange(expected as $word, value as $word, SeqCst, SeqCst) {
                    Ok(old) => Ok(u64::from(old)),
                    Err(old) => Err(u64::from(old)),
                }
            }
        }
    )* };
}

elements! {
    bool, AtomicU8, u8, |bits| bits != 0, |x| u8::from(x);
    i8, AtomicU8, u8, |bits| bits as i8, |x| x as u8;
    i16, AtomicU16, u16, |bits| bits as i16, |x| x as u16;
    i32, AtomicU32, u32, |bits| bits as i32, |x| x as u32;
    i64, AtomicU64, u64, |bits| bits as i64, |x| x as u64;
    u8, AtomicU8, u8, |bits| bits, |x| x;
    u16, AtomicU16, u16, |bits| bits, |x| x;
    u32, AtomicU32, u32, |bits| bits, |x| x;
    u64, AtomicU64, u64, |bits| bits, |x| x;
    f16, AtomicU16, u16, f16::from_bits, |x| x.to_bits();
    bf16, AtomicU16, u16, bf16::from_bits, |x| x.to_bits();
    f32, AtomicU32, u32, f32::from_bits, |x| x.to_bits();
    f64, AtomicU64, u64, f64::from_bits, |x| x.to_bits();
}

/// # Safety
/// As for [`Rmw`].
unsafe fn update<T: Element>(ptr: *mut u8, value: u64, apply: fn(T, T) -> T) -> u64 {
    let operand = T::from_bits(value);
    // SAFETY: the caller's promise is that of `load`.
    let mut old = unsafe { T::load(ptr) };
    loop {
        let new = apply(T::from_bits(old), operand).bits();
        // SAFETY: the caller's promise is that of `compare_exchange`.
        match unsafe { T::compare_exchange(ptr, old, new) } {
            Ok(old) => return T::from_bits(old).bits(),
            Err(seen) => old = seen,
        }
    }
}

struct Row {
    op: &'static str,
    ty: &'static str,
    symbol: &'static str,
    function: Rmw,
}

macro_rules! row {
    ($op:literal $ty:ident $apply:expr) => {
        Row {
            op: $op,
            ty: stringify!($ty),
            symbol: concat!("gs_atomic_", $op, "_", stringify!($ty)),
            function: {
                unsafe extern "C" fn function(ptr: *mut u8, value: u64) -> u64 {
                    // SAFETY: the caller's promise is that of `Rmw`.
                    unsafe { update::<$ty>(ptr, value, $apply) }
                }
                function
            },
        }
    };
}

macro_rules! table {
    (ints $($int:ident)*; floats $($float:ident)*;) => {
        const RMW: &[Row] = &[
            $(
                row!("add" $int |a, b| a.wrapping_add(b)),
                row!("sub" $int |a, b| a.wrapping_sub(b)),
                row!("min" $int |a, b| a.min(b)),
                row!("max" $int |a, b| a.max(b)),
                row!("and" $int |a, b| a & b),
                row!("or" $int |a, b| a | b),
                row!("xor" $int |a, b| a ^ b),
                row!("exchange" $int |_, b| b),
            )*
            $(
                row!("add" $float |a, b| a + b),
                row!("sub" $float |a, b| a - b),
                row!("min" $float |a, b| if b.is_nan() || a < b { a } else { b }),
                row!("max" $float |a, b| if b.is_nan() || a > b { a } else { b }),
                row!("exchange" $float |_, b| b),
            )*
            row!("and" bool |a, b| a & b),
            row!("or" bool |a, b| a | b),
            row!("xor" bool |a, b| a ^ b),
            row!("exchange" bool |_, b| b),
        ];

        const CAS: &[(&str, &str, Cas)] = &[$(cas_row!($int),)* $(cas_row!($float),)* cas_row!(bool)];
    };
}

macro_rules! cas_row {
    ($ty:ident) => {
        (stringify!($ty), concat!("gs_atomic_cas_", stringify!($ty)), {
            unsafe extern "C" fn function(ptr: *mut u8, expected: u64, value: u64) -> u64 {
                // SAFETY: the caller's promise is that of `Cas`.
                let (Ok(old) | Err(old)) = (unsafe { <$ty>::compare_exchange(ptr, expected, value) });
                <$ty as Element>::from_bits(old).bits()
            }
            function
        })
    };
}

table! {
    ints i8 i16 i32 i64 u8 u16 u32 u64;
    floats f16 bf16 f32 f64;
}
