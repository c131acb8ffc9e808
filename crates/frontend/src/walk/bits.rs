//! Bits of integers, for every dialect.

use ir::{Builder, Op, Scalar, Value};

/// An integer's bits in the other order: neighbors are swapped, then pairs, and so on.
pub(crate) fn reversed(b: &mut Builder<'_>, mut value: Value, scalar: Scalar) -> Value {
    const MASKS: [(u32, u64); 6] = [
        (1, 0x5555_5555_5555_5555),
        (2, 0x3333_3333_3333_3333),
        (4, 0x0f0f_0f0f_0f0f_0f0f),
        (8, 0x00ff_00ff_00ff_00ff),
        (16, 0x0000_ffff_0000_ffff),
        (32, 0x0000_0000_ffff_ffff),
    ];
    for (shift, mask) in MASKS.into_iter().filter(|(shift, _)| *shift < scalar.bits()) {
        let (n, mask) = (b.int(scalar, shift.into()), b.int(scalar, i128::from(mask) & ((1 << scalar.bits()) - 1)));
        let high = b.binary(Op::Shr, value, n);
        let high = b.binary(Op::And, high, mask);
        let low = b.binary(Op::And, value, mask);
        let low = b.binary(Op::Shl, low, n);
        value = b.binary(Op::Or, high, low);
    }
    value
}
