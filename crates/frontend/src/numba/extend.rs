//! What programs add to the language: functions that `numba.cuda.extending.overload` and its like register.
//!
//! The running program is asked with the types of a call's arguments; it answers with a Python function, which is lowered
//! as any device function:
//!
//! ```text
//! @overload(clamp)
//! def typed(x, lo, hi): return lambda x, lo, hi: min(max(x, lo), hi)
//!
//! y = clamp(x, 0, 1)    ->    v9 = call @lambda_(v3, v4, v5)
//! ```

use crate::host::{Extended, HostArgument, HostOperand};
use crate::walk::call::Args;
use crate::walk::lower::{Lower, Result};
use crate::walk::operand::Operand;
use crate::{HostValue, ObjectId};
use diagnostics::Span;

/// Calls an object: a function of NumPy's, or one that the program gave an implementation.
pub(crate) fn object(lower: &mut Lower<'_, '_>, object: ObjectId, args: &Args, span: Span) -> Option<Result<Operand>> {
    if let Some(result) = implemented(lower, Extended::Call(object), args, span) {
        return Some(result);
    }
    let name = lower.unit.host.library_name(object)?;
    Some(super::builtins::call(lower, &name, args.clone(), span))
}

/// Calls a method that the program gave a type.
pub(super) fn method(
    lower: &mut Lower<'_, '_>,
    base: &Operand,
    name: &str,
    args: &Args,
    span: Span,
) -> Option<Result<Operand>> {
    let mut all = args.clone();
    all.positional.insert(0, base.clone());
    all.spans.insert(0, span);
    implemented(lower, Extended::Method(name), &all, span)
}

/// An attribute that the program gave a type.
pub(super) fn attribute(lower: &mut Lower<'_, '_>, base: &Operand, name: &str, span: Span) -> Option<Result<Operand>> {
    implemented(lower, Extended::Attribute(name), &Args::positional(std::slice::from_ref(base), span), span)
}

fn implemented(lower: &mut Lower<'_, '_>, what: Extended<'_>, args: &Args, span: Span) -> Option<Result<Operand>> {
    let told = |operand: &Operand| described(lower, operand);
    let positional = args.positional.iter().map(|operand| HostArgument { name: None, value: told(operand) });
    let named =
        args.named.iter().map(|(name, operand)| HostArgument { name: Some(name.clone()), value: told(operand) });
    let told: Vec<HostArgument> = positional.chain(named).collect();
    match lower.unit.host.implementation(what, &told) {
        Ok(function) => Some(lower.call_function(function?, args.clone(), span)),
        Err(why) => Some(Err(lower.error("no-overload", span, why))),
    }
}

fn described(lower: &Lower<'_, '_>, operand: &Operand) -> HostOperand {
    match (operand, lower.type_of(operand)) {
        (Operand::Static(value @ HostValue::Composite(..)), Some(ty)) | (Operand::Static(value), Some(ty)) => {
            if matches!(value, HostValue::Int(_) | HostValue::Float(_) | HostValue::Bool(_)) {
                HostOperand::Value(value.clone())
            } else {
                HostOperand::Type(ty)
            }
        }
        (_, Some(ty)) => HostOperand::Type(ty),
        (Operand::Static(value), None) => HostOperand::Value(value.clone()),
        (Operand::Tuple(items), None) => HostOperand::Tuple(items.iter().map(|item| described(lower, item)).collect()),
        _ => HostOperand::Function,
    }
}
