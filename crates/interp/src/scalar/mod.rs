//! What each op does to one scalar: a function over words.
//!
//! In: an op and a scalar type. Out: a function from words to a word. A word holds the bits of the scalar in its low
//! end, the rest zero, as `ir::Const` does.
//!
//! ```
//! use interp::scalar::{Meaning, meaning};
//! use ir::{Op, Scalar};
//! let Meaning::Binary(add) = meaning(Op::Add, Scalar::I8) else { panic!() };
//! assert_eq!(add(100, 100), 200); // -56 as an i8
//! ```

mod cast;
mod float;
mod int;

use ir::{Op, Scalar};

pub use cast::{cast, to_print_word};

pub type Unary = fn(u64) -> u64;
pub type Binary = fn(u64, u64) -> u64;
pub type Ternary = fn(u64, u64, u64) -> u64;

/// What an op does to scalars.
#[derive(Clone, Copy)]
pub enum Meaning {
    Unary(Unary),
    Binary(Binary),
    Ternary(Ternary),
    /// The op has no meaning on this scalar type, or is not an op on scalars alone.
    None,
}

/// What `op` does to scalars of type `scalar` (of the operands, for ops that give a bool).
pub fn meaning(op: Op, scalar: Scalar) -> Meaning {
    match scalar {
        Scalar::Bool => bool_meaning(op),
        Scalar::I8 => int::i8::meaning(op),
        Scalar::I16 => int::i16::meaning(op),
        Scalar::I32 => int::i32::meaning(op),
        Scalar::I64 => int::i64::meaning(op),
        Scalar::U8 => int::u8::meaning(op),
        Scalar::U16 => int::u16::meaning(op),
        Scalar::U32 => int::u32::meaning(op),
        Scalar::U64 => int::u64::meaning(op),
        Scalar::F16 => float::f16::meaning(op),
        Scalar::BF16 => float::bf16::meaning(op),
        Scalar::F32 => float::f32::meaning(op),
        Scalar::F64 => float::f64::meaning(op),
    }
}

/// The meaning of an op of two operands that the type surely has, for `dot`, `matmul` and loops.
pub(crate) fn binary(op: Op, scalar: Scalar) -> Binary {
    match meaning(op, scalar) {
        Meaning::Binary(function) => function,
        _ => panic!("`{}` has no meaning on {}", op.name(), scalar.name()),
    }
}

fn bool_meaning(op: Op) -> Meaning {
    match op {
        Op::And => Meaning::Binary(|a, b| a & b),
        Op::Or => Meaning::Binary(|a, b| a | b),
        Op::Xor => Meaning::Binary(|a, b| a ^ b),
        Op::Not => Meaning::Unary(|a| a ^ 1),
        Op::Eq => Meaning::Binary(|a, b| u64::from(a == b)),
        Op::Ne => Meaning::Binary(|a, b| u64::from(a != b)),
        Op::Lt => Meaning::Binary(|a, b| u64::from(a < b)),
        Op::Le => Meaning::Binary(|a, b| u64::from(a <= b)),
        Op::Gt => Meaning::Binary(|a, b| u64::from(a > b)),
        Op::Ge => Meaning::Binary(|a, b| u64::from(a >= b)),
        _ => Meaning::None,
    }
}
