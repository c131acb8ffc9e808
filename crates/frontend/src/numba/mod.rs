//! The numba.cuda dialect: where it means something else than Warp by the same syntax.
//!
//! ```text
//! i = cuda.grid(1)          ->    v3: i64 = block_index {0} …
//! s = a[i] / 2              ->    v9: f32 = load a[v3];  v10: f64 = cast v9;  v12: f64 = div v10, v11
//! tile[tx, ty] = s          ->    v13: f32 = cast v12;  store tile[…], v13
//! ```
//!
//! Literals are int64 and float64, numbers are promoted as Numba promotes them ([`types`]), `/` gives floats, `//` and
//! `%` follow Python ([`arithmetic`]). Names of `numba.cuda`, `math`, `cmath`, `operator` and NumPy arrive as builtins
//! (`cuda.grid`, `numpy.sqrt`) and are looked up in tables, one file a family. Elements of record arrays are references
//! into the array ([`record`]); complex numbers are structs of two floats ([`complex`]).
//!
//! The behavior is that of numba-cuda 0.30 (its documentation and what its typing answers), except where
//! docs/differences.md says otherwise.

mod arithmetic;
mod array;
mod atomics;
mod blocks;
mod builtins;
mod complex;
mod convert;
mod create;
mod extend;
mod external;
mod fp8;
mod math;
mod print;
mod record;
mod types;
mod warps;

use crate::rules::Rules;
use ir::Scalar;

pub(crate) static RULES: Rules = Rules {
    literal: types::literal,
    extent: Scalar::I64,
    is_in_blocks: true,
    is_update_atomic: false,
    is_early_zero: true,
    has_raise: true,
    is_constant_passed: true,
    has_bare_names: false,
    has_inner_functions: true,
    iterates_arrays: true,
    ellipsis: Some(array::ELLIPSIS),
    bare_names: builtins::bare_names,
    library_name: builtins::library_name,
    complex: Some(complex::literal),
    promote: Some(types::unify),
    convert: Some(convert::convert),
    binary: Some(arithmetic::binary),
    compare: Some(arithmetic::compare),
    unary: Some(arithmetic::unary),
    call: Some(builtins::call),
    method: Some(array::method),
    construct: Some(convert::construct),
    object: Some(extend::object),
    captured: Some(create::captured),
    attribute: Some(array::attribute),
    subscript: Some(array::subscript),
    read: Some(record::read),
    write: Some(array::write),
    truth: Some(complex::truth),
    type_name: types::name,
    decorator: "@cuda.jit(device=True)",
};
