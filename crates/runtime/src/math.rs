//! The math functions that kernels call: one implementation for the interpreter and for compiled code.
//!
//! In: one or two floats. Out: the function's value; special values as in C99 Annex F. Compiled code links the
//! functions by name, `gs_{op}_{f32|f64}`, through [`symbols`]; the interpreter finds them with [`unary_f32`] and
//! its kin, so both give the same bits.
//!
//! Error bounds: a function of f32 is evaluated in f64 and rounded once, at most 0.51 ULP. A function of f64 is
//! that of the platform's C library or of the `libm` crate (musl), at most 2 ULP. `fmod`, `rem` and `mod` are exact
//! up to the final addition of `mod`.
//!
//! ```
//! let sin = runtime::math::unary_f32("sin").unwrap();
//! assert_eq!(sin(0.5), 0.479_425_55);
//! ```

use crate::abi::gs_fault;
use crate::format::gs_print;
use crate::{atomics, narrow};

/// A function of one float, as compiled code calls it.
pub type Unary<T> = extern "C" fn(T) -> T;

/// A function of two floats, as compiled code calls it.
pub type Binary<T> = extern "C" fn(T, T) -> T;

macro_rules! unary_functions {
    ($($name:literal $f32:ident $f64:ident $eval:expr;)*) => {
        $(
            #[doc = concat!("`", $name, "` of an f32, at most 0.51 ULP.")]
            pub extern "C" fn $f32(x: f32) -> f32 {
                let eval: fn(f64) -> f64 = $eval;
                eval(f64::from(x)) as f32
            }

            #[doc = concat!("`", $name, "` of an f64, at most 2 ULP.")]
            pub extern "C" fn $f64(x: f64) -> f64 {
                let eval: fn(f64) -> f64 = $eval;
                eval(x)
            }
        )*

        /// The f32 function of a unary op that is not exact.
        pub fn unary_f32(op: &str) -> Option<Unary<f32>> {
            match op { $($name => Some($f32),)* _ => None }
        }

        /// The f64 function of a unary op that is not exact.
        pub fn unary_f64(op: &str) -> Option<Unary<f64>> {
            match op { $($name => Some($f64),)* _ => None }
        }

        /// Names of the ops of one operand that are not exact.
        pub const UNARY: &[&str] = &[$($name),*];

        fn unary_symbols() -> Vec<(&'static str, usize)> {
            vec![$(
                (stringify!($f32), $f32 as Unary<f32> as usize),
                (stringify!($f64), $f64 as Unary<f64> as usize),
            )*]
        }
    };
}

unary_functions! {
    "cbrt" gs_cbrt_f32 gs_cbrt_f64 f64::cbrt;
    "exp" gs_exp_f32 gs_exp_f64 f64::exp;
    "exp2" gs_exp2_f32 gs_exp2_f64 f64::exp2;
    "expm1" gs_expm1_f32 gs_expm1_f64 f64::exp_m1;
    "log" gs_log_f32 gs_log_f64 f64::ln;
    "log2" gs_log2_f32 gs_log2_f64 f64::log2;
    "log10" gs_log10_f32 gs_log10_f64 f64::log10;
    "log1p" gs_log1p_f32 gs_log1p_f64 f64::ln_1p;
    "sin" gs_sin_f32 gs_sin_f64 f64::sin;
    "cos" gs_cos_f32 gs_cos_f64 f64::cos;
    "tan" gs_tan_f32 gs_tan_f64 f64::tan;
    "asin" gs_asin_f32 gs_asin_f64 f64::asin;
    "acos" gs_acos_f32 gs_acos_f64 f64::acos;
    "atan" gs_atan_f32 gs_atan_f64 f64::atan;
    "sinh" gs_sinh_f32 gs_sinh_f64 f64::sinh;
    "cosh" gs_cosh_f32 gs_cosh_f64 f64::cosh;
    "tanh" gs_tanh_f32 gs_tanh_f64 f64::tanh;
    "asinh" gs_asinh_f32 gs_asinh_f64 libm::asinh;
    "acosh" gs_acosh_f32 gs_acosh_f64 acosh;
    "atanh" gs_atanh_f32 gs_atanh_f64 libm::atanh;
    "erf" gs_erf_f32 gs_erf_f64 libm::erf;
    "erfc" gs_erfc_f32 gs_erfc_f64 libm::erfc;
}

macro_rules! binary_functions {
    ($($name:literal $f32:ident $f64:ident $eval32:expr, $eval64:expr;)*) => {
        $(
            #[doc = concat!("`", $name, "` of two f32, at most 0.51 ULP.")]
            pub extern "C" fn $f32(x: f32, y: f32) -> f32 {
                $eval32(x, y)
            }

            #[doc = concat!("`", $name, "` of two f64, at most 2 ULP.")]
            pub extern "C" fn $f64(x: f64, y: f64) -> f64 {
                $eval64(x, y)
            }
        )*

        /// The f32 function of a binary op that is not exact, of `rem` and of `mod`.
        pub fn binary_f32(op: &str) -> Option<Binary<f32>> {
            match op { $($name => Some($f32),)* _ => None }
        }

        /// The f64 function of a binary op that is not exact, of `rem` and of `mod`.
        pub fn binary_f64(op: &str) -> Option<Binary<f64>> {
            match op { $($name => Some($f64),)* _ => None }
        }

        /// Names of the binary functions.
        pub const BINARY: &[&str] = &[$($name),*];

        fn binary_symbols() -> Vec<(&'static str, usize)> {
            vec![$(
                (stringify!($f32), $f32 as Binary<f32> as usize),
                (stringify!($f64), $f64 as Binary<f64> as usize),
            )*]
        }
    };
}

binary_functions! {
    "atan2" gs_atan2_f32 gs_atan2_f64 |y, x| f64::from(y).atan2(f64::from(x)) as f32, f64::atan2;
    "pow" gs_pow_f32 gs_pow_f64 |x, y| f64::from(x).powf(f64::from(y)) as f32, f64::powf;
    "fmod" gs_fmod_f32 gs_fmod_f64 |x: f32, y: f32| x % y, |x: f64, y: f64| x % y;
    "rem" gs_rem_f32 gs_rem_f64 |x: f32, y: f32| x % y, |x: f64, y: f64| x % y;
    "mod" gs_mod_f32 gs_mod_f64 floor_mod_f32, floor_mod_f64;
}

/// The crate's function gives a number for some arguments far below 1.
fn acosh(x: f64) -> f64 {
    if x < 1.0 { f64::NAN } else { libm::acosh(x) }
}

/// `fmod(x, y)`, plus `y` where it is not 0 and its sign is not that of `y`.
fn floor_mod_f32(x: f32, y: f32) -> f32 {
    let r = x % y;
    if r != 0.0 && (r < 0.0) != (y < 0.0) { r + y } else { r }
}

fn floor_mod_f64(x: f64, y: f64) -> f64 {
    let r = x % y;
    if r != 0.0 && (r < 0.0) != (y < 0.0) { r + y } else { r }
}

/// Every function that compiled code may link: math, atomics, narrowing casts, `gs_fault` and `gs_print`, by name and address.
pub fn symbols() -> Vec<(&'static str, usize)> {
    let mut symbols = unary_symbols();
    symbols.extend(binary_symbols());
    symbols.extend(atomics::symbols());
    symbols.extend(narrow::symbols());
    symbols.push(("gs_fault", gs_fault as *const () as usize));
    symbols.push(("gs_print", gs_print as *const () as usize));
    symbols
}
