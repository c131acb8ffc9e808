//! What compiled code may call: the runtime's functions, and those of the C library that LLVM writes calls to by
//! itself. Nothing else is ever looked up, so no object can pick up a stray function of the process.

use std::ffi::{c_char, c_void};

unsafe extern "C" {
    fn memcpy(to: *mut c_void, from: *const c_void, n: usize) -> *mut c_void;
    fn memmove(to: *mut c_void, from: *const c_void, n: usize) -> *mut c_void;
    fn memset(to: *mut c_void, byte: i32, n: usize) -> *mut c_void;
    fn memcmp(x: *const c_void, y: *const c_void, n: usize) -> i32;
    fn strlen(text: *const c_char) -> usize;
    fn wcslen(text: *const c_void) -> usize;
}

macro_rules! float_functions {
    ($($name:ident $name32:ident ($($arg:ident),*) $body:expr, $body32:expr;)*) => {
        $(
            extern "C" fn $name($($arg: f64),*) -> f64 { $body }
            extern "C" fn $name32($($arg: f32),*) -> f32 { $body32 }
        )*
        const FLOAT: &[(&str, fn() -> usize)] = &[$(
            (stringify!($name), || $name as *const () as usize),
            (stringify!($name32), || $name32 as *const () as usize),
        )*];
    };
}

float_functions! {
    fmod fmodf (x, y) x % y, x % y;
    floor floorf (x) x.floor(), x.floor();
    ceil ceilf (x) x.ceil(), x.ceil();
    trunc truncf (x) x.trunc(), x.trunc();
    round roundf (x) x.round(), x.round();
    roundeven roundevenf (x) x.round_ties_even(), x.round_ties_even();
    rint rintf (x) x.round_ties_even(), x.round_ties_even();
    fma fmaf (x, y, z) x.mul_add(y, z), x.mul_add(y, z);
    sqrt sqrtf (x) x.sqrt(), x.sqrt();
}

/// LLVM rounds once where it finds two roundings in a row whose first loses nothing. The half is the low part of the
/// register that an f32 is returned in.
extern "C" fn truncdfhf2(x: f64) -> f32 {
    f32::from_bits(runtime::narrow::gs_cast_f64_f16(x).into())
}

extern "C" fn truncdfbf2(x: f64) -> f32 {
    f32::from_bits(runtime::narrow::gs_cast_f64_bf16(x).into())
}

/// The address of what code may call by this name.
pub(crate) fn find(name: &str) -> Option<usize> {
    all().into_iter().find(|(known, _)| *known == name).map(|(_, address)| address)
}

fn all() -> Vec<(&'static str, usize)> {
    let mut symbols = runtime::math::symbols();
    symbols.extend(FLOAT.iter().map(|(name, address)| (*name, address())));
    symbols.extend([
        ("gs_block_memory", runtime::blocks::gs_block_memory as *const () as usize),
        ("gs_grid_barrier", runtime::blocks::gs_grid_barrier as *const () as usize),
        ("__truncdfhf2", truncdfhf2 as *const () as usize),
        ("__truncdfbf2", truncdfbf2 as *const () as usize),
        ("memcpy", memcpy as *const () as usize),
        ("memmove", memmove as *const () as usize),
        ("memset", memset as *const () as usize),
        // From loops that look for the end of a text, and from chains of comparisons.
        ("memcmp", memcmp as *const () as usize),
        ("bcmp", memcmp as *const () as usize),
        ("strlen", strlen as *const () as usize),
        ("wcslen", wcslen as *const () as usize),
    ]);
    symbols
}
