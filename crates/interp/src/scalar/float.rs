//! Float ops. f16 and bf16 are widened to f32, and the result is rounded to nearest even after each op.

/// The functions that are not exact, shared with compiled code.
mod wide32 {
    pub(super) use runtime::math::{
        gs_acos_f32 as acos, gs_acosh_f32 as acosh, gs_asin_f32 as asin, gs_asinh_f32 as asinh, gs_atan_f32 as atan,
        gs_atan2_f32 as atan2, gs_atanh_f32 as atanh, gs_cbrt_f32 as cbrt, gs_cos_f32 as cos, gs_cosh_f32 as cosh,
        gs_erf_f32 as erf, gs_erfc_f32 as erfc, gs_exp_f32 as exp, gs_exp2_f32 as exp2, gs_expm1_f32 as expm1,
        gs_log_f32 as log, gs_log1p_f32 as log1p, gs_log2_f32 as log2, gs_log10_f32 as log10, gs_mod_f32 as floor_mod,
        gs_pow_f32 as pow, gs_rem_f32 as rem, gs_sin_f32 as sin, gs_sinh_f32 as sinh, gs_tan_f32 as tan,
        gs_tanh_f32 as tanh,
    };
}

mod wide64 {
    pub(super) use runtime::math::{
        gs_acos_f64 as acos, gs_acosh_f64 as acosh, gs_asin_f64 as asin, gs_asinh_f64 as asinh, gs_atan_f64 as atan,
        gs_atan2_f64 as atan2, gs_atanh_f64 as atanh, gs_cbrt_f64 as cbrt, gs_cos_f64 as cos, gs_cosh_f64 as cosh,
        gs_erf_f64 as erf, gs_erfc_f64 as erfc, gs_exp_f64 as exp, gs_exp2_f64 as exp2, gs_expm1_f64 as expm1,
        gs_log_f64 as log, gs_log1p_f64 as log1p, gs_log2_f64 as log2, gs_log10_f64 as log10, gs_mod_f64 as floor_mod,
        gs_pow_f64 as pow, gs_rem_f64 as rem, gs_sin_f64 as sin, gs_sinh_f64 as sinh, gs_tan_f64 as tan,
        gs_tanh_f64 as tanh,
    };
}

macro_rules! float_type {
    ($($name:ident $functions:ident $sign:literal, $get:expr, $put:expr;)*) => { $(
        pub(super) mod $name {
            use super::$functions as m;
            use crate::scalar::Meaning;
            use ir::Op;

            const SIGN: u64 = $sign;

            macro_rules! unary {
                ($function:expr) => {
                    Meaning::Unary(|a| $put($function($get(a))))
                };
            }
            macro_rules! binary {
                ($function:expr) => {
                    Meaning::Binary(|a, b| $put($function($get(a), $get(b))))
                };
            }
            macro_rules! compare {
                ($operator:tt) => {
                    Meaning::Binary(|a, b| u64::from($get(a) $operator $get(b)))
                };
            }

            pub(in crate::scalar) fn meaning(op: Op) -> Meaning {
                match op {
                    Op::Add => Meaning::Binary(|a, b| $put($get(a) + $get(b))),
                    Op::Sub => Meaning::Binary(|a, b| $put($get(a) - $get(b))),
                    Op::Mul => Meaning::Binary(|a, b| $put($get(a) * $get(b))),
                    Op::Div => Meaning::Binary(|a, b| $put($get(a) / $get(b))),
                    Op::FloorDiv => Meaning::Binary(|a, b| $put(($get(a) / $get(b)).floor())),
                    Op::Rem => binary!(m::rem),
                    Op::Mod => binary!(m::floor_mod),
                    // By bits, so that a NaN keeps its payload.
                    Op::Neg => Meaning::Unary(|a| a ^ SIGN),
                    Op::Abs => Meaning::Unary(|a| a & !SIGN),
                    Op::CopySign => Meaning::Binary(|a, b| (a & !SIGN) | (b & SIGN)),
                    Op::Min => Meaning::Binary(|a, b| if $get(b).is_nan() || $get(a) < $get(b) { a } else { b }),
                    Op::Max => Meaning::Binary(|a, b| if $get(b).is_nan() || $get(a) > $get(b) { a } else { b }),
                    Op::Lesser => Meaning::Binary(|a, b| if $get(a) < $get(b) { a } else { b }),
                    Op::Greater => Meaning::Binary(|a, b| if $get(a) > $get(b) { a } else { b }),
                    Op::Fma => Meaning::Ternary(|a, b, c| $put($get(a).mul_add($get(b), $get(c)))),
                    Op::Sqrt => Meaning::Unary(|a| $put($get(a).sqrt())),
                    Op::Floor => Meaning::Unary(|a| $put($get(a).floor())),
                    Op::Ceil => Meaning::Unary(|a| $put($get(a).ceil())),
                    Op::Trunc => Meaning::Unary(|a| $put($get(a).trunc())),
                    Op::Round => Meaning::Unary(|a| $put($get(a).round())),
                    Op::Rint => Meaning::Unary(|a| $put($get(a).round_ties_even())),
                    Op::IsNan => Meaning::Unary(|a| u64::from($get(a).is_nan())),
                    Op::IsInf => Meaning::Unary(|a| u64::from($get(a).is_infinite())),
                    Op::IsFinite => Meaning::Unary(|a| u64::from($get(a).is_finite())),
                    Op::Eq => compare!(==),
                    Op::Ne => compare!(!=),
                    Op::Lt => compare!(<),
                    Op::Le => compare!(<=),
                    Op::Gt => compare!(>),
                    Op::Ge => compare!(>=),
                    _ => math(op),
                }
            }

            fn math(op: Op) -> Meaning {
                match op {
                    Op::Cbrt => unary!(m::cbrt),
                    Op::Exp => unary!(m::exp),
                    Op::Exp2 => unary!(m::exp2),
                    Op::ExpM1 => unary!(m::expm1),
                    Op::Log => unary!(m::log),
                    Op::Log2 => unary!(m::log2),
                    Op::Log10 => unary!(m::log10),
                    Op::Log1P => unary!(m::log1p),
                    Op::Sin => unary!(m::sin),
                    Op::Cos => unary!(m::cos),
                    Op::Tan => unary!(m::tan),
                    Op::Asin => unary!(m::asin),
                    Op::Acos => unary!(m::acos),
                    Op::Atan => unary!(m::atan),
                    Op::Atan2 => binary!(m::atan2),
                    Op::Sinh => unary!(m::sinh),
                    Op::Cosh => unary!(m::cosh),
                    Op::Tanh => unary!(m::tanh),
                    Op::Asinh => unary!(m::asinh),
                    Op::Acosh => unary!(m::acosh),
                    Op::Atanh => unary!(m::atanh),
                    Op::Erf => unary!(m::erf),
                    Op::Erfc => unary!(m::erfc),
                    Op::Pow => binary!(m::pow),
                    _ => Meaning::None,
                }
            }
        }
    )* };
}

float_type! {
    f16 wide32 0x8000, crate::scalar::cast::get_f16, crate::scalar::cast::put_f16;
    bf16 wide32 0x8000, crate::scalar::cast::get_bf16, crate::scalar::cast::put_bf16;
    f32 wide32 0x8000_0000, crate::scalar::cast::get_f32, crate::scalar::cast::put_f32;
    f64 wide64 0x8000_0000_0000_0000, crate::scalar::cast::get_f64, crate::scalar::cast::put_f64;
}
