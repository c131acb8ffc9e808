//! Integer ops. Arithmetic wraps, and no operand makes an op fail.

macro_rules! int_type {
    ($($ty:ident $unsigned:ident;)*) => { $(
        pub(super) mod $ty {
            use crate::scalar::Meaning;
            use ir::Op;

            const BITS: u64 = $ty::BITS as u64;

            fn get(word: u64) -> $ty {
                word as $ty
            }

            fn put(value: $ty) -> u64 {
                u64::from(value as $unsigned)
            }

            /// The word seen as a number.
            fn wide(word: u64) -> i128 {
                i128::from(get(word))
            }

            pub(in crate::scalar) fn meaning(op: Op) -> Meaning {
                match op {
                    Op::Add => Meaning::Binary(|a, b| put(get(a).wrapping_add(get(b)))),
                    Op::Sub => Meaning::Binary(|a, b| put(get(a).wrapping_sub(get(b)))),
                    Op::Mul => Meaning::Binary(|a, b| put(get(a).wrapping_mul(get(b)))),
                    Op::Div => Meaning::Binary(|a, b| if b == 0 { 0 } else { put(get(a).wrapping_div(get(b))) }),
                    Op::Rem => Meaning::Binary(|a, b| if b == 0 { a } else { put(get(a).wrapping_rem(get(b))) }),
                    Op::FloorDiv => Meaning::Binary(|a, b| if b == 0 { 0 } else { floor_div(a, b) }),
                    Op::Mod => Meaning::Binary(|a, b| if b == 0 { a } else { floor_mod(a, b) }),
                    Op::Neg => Meaning::Unary(|a| put(get(a).wrapping_neg())),
                    Op::Abs => Meaning::Unary(|a| put(if wide(a) < 0 { get(a).wrapping_neg() } else { get(a) })),
                    Op::Min => Meaning::Binary(|a, b| put(get(a).min(get(b)))),
                    Op::Max => Meaning::Binary(|a, b| put(get(a).max(get(b)))),
                    Op::And => Meaning::Binary(|a, b| a & b),
                    Op::Or => Meaning::Binary(|a, b| a | b),
                    Op::Xor => Meaning::Binary(|a, b| a ^ b),
                    Op::Not => Meaning::Unary(|a| put(!get(a))),
                    // The amount's word is the amount read as unsigned.
                    Op::Shl => Meaning::Binary(|a, b| if b < BITS { put(get(a) << b) } else { 0 }),
                    Op::Shr => Meaning::Binary(|a, b| put((wide(a) >> b.min(BITS)) as $ty)),
                    Op::PopCount => Meaning::Unary(|a| u64::from(a.count_ones())),
                    Op::LeadingZeros => Meaning::Unary(|a| u64::from(get(a).leading_zeros())),
                    Op::TrailingZeros => Meaning::Unary(|a| u64::from(get(a).trailing_zeros())),
                    Op::MulHigh => Meaning::Binary(mul_high),
                    Op::Eq => Meaning::Binary(|a, b| u64::from(a == b)),
                    Op::Ne => Meaning::Binary(|a, b| u64::from(a != b)),
                    Op::Lt => Meaning::Binary(|a, b| u64::from(get(a) < get(b))),
                    Op::Le => Meaning::Binary(|a, b| u64::from(get(a) <= get(b))),
                    Op::Gt => Meaning::Binary(|a, b| u64::from(get(a) > get(b))),
                    Op::Ge => Meaning::Binary(|a, b| u64::from(get(a) >= get(b))),
                    _ => Meaning::None,
                }
            }

            fn floor_div(a: u64, b: u64) -> u64 {
                let (quotient, rest) = (get(a).wrapping_div(get(b)), get(a).wrapping_rem(get(b)));
                let is_above = rest != 0 && (wide(a) < 0) != (wide(b) < 0);
                put(if is_above { quotient.wrapping_sub(1) } else { quotient })
            }

            fn floor_mod(a: u64, b: u64) -> u64 {
                let rest = get(a).wrapping_rem(get(b));
                let is_other_side = rest != 0 && (wide(a) < 0) != (wide(b) < 0);
                put(if is_other_side { rest.wrapping_add(get(b)) } else { rest })
            }

            fn mul_high(a: u64, b: u64) -> u64 {
                // The product of two u64 fits a u128, whose bits those of the wrapped i128 product are.
                put((wide(a).wrapping_mul(wide(b)) as u128 >> BITS) as $ty)
            }
        }
    )* };
}

int_type! {
    i8 u8;
    i16 u16;
    i32 u32;
    i64 u64;
    u8 u8;
    u16 u16;
    u32 u32;
    u64 u64;
}
