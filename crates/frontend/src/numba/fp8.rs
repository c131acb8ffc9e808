//! Floats of 8 bits, `fp8_e5m2`, `fp8_e4m3` and `fp8_e8m0`: structs of their bits, for conversions alone.
//!
//! ```text
//! x = fp8_e4m3(2.5)    ->    v3: u8 = call @_fp8_of(v2, 1, 1);  v4: fp8_e4m3 = construct v3
//! y = float32(x)       ->    v5: u8 = extract v4 {0};  v6: f32 = call @_fp8_value(v5, 1)
//! ```

use crate::HostValue;
use crate::walk::call::Args;
use crate::walk::lower::{Lower, Reported, Result};
use crate::walk::operand::Operand;
use diagnostics::Span;
use ir::{Const, Scalar, Type, TypeKind, Value};

/// By their numbers in the library.
const NAMES: [&str; 3] = ["fp8_e5m2", "fp8_e4m3", "fp8_e8m0"];

/// Which of them a type is.
pub(super) fn kind_of(ty: Type) -> Option<usize> {
    let TypeKind::Struct(s) = ty.kind() else { return None };
    NAMES.iter().position(|name| *name == s.name)
}

/// C's way to pass a bfloat16: its bits as a struct.
pub(super) fn is_raw(ty: Type) -> bool {
    matches!(ty.kind(), TypeKind::Struct(s) if s.name == "bfloat16_raw")
}

/// Its bits as a number that is passed so.
pub(super) fn raw(lower: &mut Lower<'_, '_>, ty: Type, args: &Args, span: Span) -> Result<Operand> {
    let [operand] = args.positional.as_slice() else {
        return Err(lower.error("argument-count", span, "`bfloat16_raw` takes its bits"));
    };
    let bits = lower.value_as(operand, Type::scalar(Scalar::U16), span)?;
    Ok(Operand::Value(lower.b().construct(ty, &[bits])))
}

/// A number as one, the nearest that is finite; of powers of two the next that is not less.
pub(super) fn construct(lower: &mut Lower<'_, '_>, ty: Type, kind: usize, args: &Args, span: Span) -> Result<Operand> {
    let [operand] = args.positional.as_slice() else {
        return Err(lower.error("argument-count", span, format!("`{}` takes one value", NAMES[kind])));
    };
    let value = lower.value_as(operand, Type::scalar(Scalar::F64), span)?;
    let given = [Operand::Value(value), Operand::Static(HostValue::Bool(true)), number(kind)];
    let bits = call(lower, "_fp8_of", &given, span)?;
    Ok(Operand::Value(lower.b().construct(ty, &[bits])))
}

/// The number that one is, as a float32.
pub(super) fn value(lower: &mut Lower<'_, '_>, of: Value, kind: usize, span: Span) -> Result<Value> {
    let bits = lower.b().extract(of, 0);
    call(lower, "_fp8_value", &[Operand::Value(bits), number(kind)], span)
}

fn number(kind: usize) -> Operand {
    Operand::Static(HostValue::Scalar(Scalar::I32, Const::int(Scalar::I32, kind as i128)))
}

fn call(lower: &mut Lower<'_, '_>, name: &str, given: &[Operand], span: Span) -> Result<Value> {
    let args = Args::positional(given, span);
    let found = lower.call_library(name, args, span).unwrap_or(Err(Reported))?;
    lower.value(&found, span)
}
