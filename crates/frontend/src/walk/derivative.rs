//! `grad(f)(x, y)`: the derivatives of a function in a kernel, one for each argument of floats.
//!
//! In: a function, a builtin or one of the user's, and arguments. Out: a call of a function that has no body yet. It is
//! in [`crate::Lowered::derivatives`] beside the function that it is to be the derivative of, and gets its body when all
//! is lowered.
//!
//! ```text
//! wp.grad(f)(x, n)    ->    v4: f32 = call @grad(v2, v3)      v2 is a float, v3 an int
//! ```

use super::call::Args;
use super::lower::{Lower, Result};
use super::operand::Operand;
use crate::{Derivative, HostValue};
use diagnostics::Span;
use ir::{Attr, Builder, Function, FunctionKind, Op, Scalar, Type, Value};

impl Lower<'_, '_> {
    /// Calls the derivative of `target`. What is no run-time value, such as a function, stays known in the call.
    pub(crate) fn call_derivative(&mut self, target: &Operand, mut args: Args, span: Span) -> Result<Operand> {
        let mut values = Vec::new();
        for operand in args.positional.iter_mut().chain(args.named.iter_mut().map(|(_, operand)| operand)) {
            let is_known = matches!(
                operand,
                Operand::Static(
                    HostValue::None
                        | HostValue::Bool(_)
                        | HostValue::Int(_)
                        | HostValue::Str(_)
                        | HostValue::Type(_)
                        | HostValue::Builtin(_)
                        | HostValue::Func(_)
                        | HostValue::Object(_)
                )
            );
            if !is_known {
                let value = self.value(operand, span)?;
                *operand = Operand::Value(value);
                values.push(value);
            }
        }
        let types: Vec<Type> = values.iter().map(|&value| self.ty(value)).collect();
        let of = self.unit.wrapper("of_grad", &types, |lower, params| {
            let mut params = params.positional.into_iter();
            let mut inner = args.clone();
            let operands = inner.positional.iter_mut().chain(inner.named.iter_mut().map(|(_, operand)| operand));
            for operand in operands.filter(|operand| operand.as_value().is_some()) {
                *operand = params.next().unwrap_or(Operand::NONE);
            }
            match target {
                Operand::Static(HostValue::Func(func)) => lower.call_function(*func, inner, span),
                Operand::Static(HostValue::Builtin(name)) => lower.builtin(name, inner, span),
                _ => Err(lower.error("not-callable", span, "`grad` is of a function")),
            }
        })?;
        let is_float = |ty: &Type| !ty.is_array() && ty.element().is_some_and(Scalar::is_float);
        let wanted: Vec<Type> = types.iter().copied().filter(is_float).collect();
        if wanted.is_empty() || !self.unit.module.func(of).results.iter().any(is_float) {
            let message = "`grad` is of a function that takes floats and gives some";
            return Err(self.error("argument-type", span, message));
        }
        let name = self.unit.free_name("grad");
        let mut func = Function::new(name, FunctionKind::Function, self.unit.module.func(of).params.clone(), wanted);
        Builder::new(&mut func).push(Op::Unreachable, &[], Attr::None, &[], &[]);
        let types = func.results.clone();
        let func = self.unit.add(func);
        self.unit.derivatives.push(Derivative { func, of, span });
        let call = self.b().push(Op::Call, &values, Attr::Func(func), &[], &types);
        let results: Vec<Value> = self.func.inst(call).results.to_vec();
        Ok(match results.as_slice() {
            [only] => Operand::Value(*only),
            all => Operand::Tuple(all.iter().map(|&value| Operand::Value(value)).collect()),
        })
    }
}
