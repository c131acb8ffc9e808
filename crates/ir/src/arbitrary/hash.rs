//! One number out of all values in scope.

use super::Maker;
use crate::builder::Builder;
use crate::func::{Attr, PathElem, Value};
use crate::op::Op;
use crate::types::{Scalar, Type};

/// Values that a hash looks at, the latest.
const MAX_VALUES: usize = 24;

impl Maker<'_, '_> {
    /// A u64 that changes with any bit of any value, except that NaNs are alike.
    pub(super) fn hash(&mut self, b: &mut Builder) -> Value {
        let mut hash = b.int(Scalar::U64, 17);
        let values: Vec<Value> = self.scope.iter().rev().take(MAX_VALUES).copied().collect();
        for value in values {
            let mut leaf = value;
            if b.ty(value).is_array() {
                leaf = self.first_element(b, value);
            }
            while b.ty(leaf).n_components() > 0 {
                let index = self.source.pick(b.ty(leaf).n_components());
                leaf = b.extract(leaf, index as u32);
            }
            if let Some(scalar) = b.ty(leaf).as_scalar() {
                let bits = bits(b, leaf, scalar);
                let factor = b.int(Scalar::U64, 0x9e37_79b9_7f4a_7c15);
                let product = b.binary(Op::Mul, hash, factor);
                hash = b.binary(Op::Xor, product, bits);
            }
        }
        hash
    }

    fn first_element(&mut self, b: &mut Builder, array: Value) -> Value {
        let Some((elem, rank)) = b.ty(array).as_array() else { return array };
        let index = b.int(Scalar::I64, self.source.pick(super::ops::EXTENT as usize) as i128);
        let operands = [&[array][..], &vec![index; rank as usize]].concat();
        let path: Box<[PathElem]> = Box::new([]);
        b.push1(Op::Load, &operands, Attr::Path(path), elem)
    }
}

fn bits(b: &mut Builder, x: Value, scalar: Scalar) -> Value {
    if !scalar.is_float() {
        return b.cast(x, Scalar::U64);
    }
    let unsigned = match scalar.size() {
        2 => Scalar::U16,
        4 => Scalar::U32,
        _ => Scalar::U64,
    };
    let is_nan = b.push1(Op::IsNan, &[x], Attr::None, Type::bool());
    let raw = b.push1(Op::Bitcast, &[x], Attr::None, Type::scalar(unsigned));
    let none = b.int(unsigned, 1);
    let chosen = b.select(is_nan, none, raw);
    b.cast(chosen, Scalar::U64)
}
