//! Arguments of calls: what the function knows while it is lowered, and the values that it is passed.
//!
//! ```text
//! apply(f, 3, x)    ->    call @apply(v3)    with `f` and 3 known inside, `x` the only parameter
//! ```

use super::closure;
use super::lower::{Lower, Result};
use super::operand::Operand;
use crate::HostValue;
use diagnostics::Span;
use ir::{Type, Value};

/// What a parameter starts as.
#[derive(Clone, Debug)]
pub(crate) enum Argument {
    /// A run-time value.
    Value(Type),
    /// Something known while lowering.
    Static(Operand),
    /// Several of both: a tuple, or with its mark a function that takes values from around it.
    Parts(Option<String>, Vec<Argument>),
}

impl Argument {
    /// The types of its run-time values, in order.
    pub(crate) fn types(&self) -> Vec<Type> {
        match self {
            Argument::Value(ty) => vec![*ty],
            Argument::Static(_) => Vec::new(),
            Argument::Parts(_, parts) => parts.iter().flat_map(Argument::types).collect(),
        }
    }

    /// What stands for it in the function, whose parameters `values` go on with its values.
    pub(crate) fn operand(&self, values: &mut dyn Iterator<Item = Value>) -> Operand {
        match self {
            Argument::Value(_) => values.next().map_or(Operand::NONE, Operand::Value),
            Argument::Static(operand) => operand.clone(),
            Argument::Parts(mark, parts) => {
                let items = Operand::Tuple(parts.iter().map(|part| part.operand(values)).collect());
                match mark {
                    Some(mark) => Operand::Method(Box::new(items), mark.clone()),
                    None => items,
                }
            }
        }
    }
}

impl Lower<'_, '_> {
    /// Takes an operand apart; its run-time values go to the end of `values`.
    pub(crate) fn argument(&mut self, operand: Operand, span: Span, values: &mut Vec<Value>) -> Result<Argument> {
        let has_type = self.type_of(&operand).is_some();
        match operand {
            Operand::Tuple(items) if !has_type => self.parts(None, items, span, values),
            Operand::Method(base, mark) if closure::is_function(&mark) => match *base {
                Operand::Tuple(items) => self.parts(Some(mark), items, span, values),
                base => Ok(Argument::Static(Operand::Method(Box::new(base), mark))),
            },
            operand if !has_type || self.rules.is_constant_passed && is_constant(&operand) => {
                Ok(Argument::Static(operand))
            }
            operand => {
                let value = self.value(&operand, span)?;
                values.push(value);
                Ok(Argument::Value(self.ty(value)))
            }
        }
    }

    pub(crate) fn parts(
        &mut self,
        mark: Option<String>,
        items: Vec<Operand>,
        span: Span,
        values: &mut Vec<Value>,
    ) -> Result<Argument> {
        let parts = items.into_iter().map(|item| self.argument(item, span, values)).collect::<Result<_>>()?;
        Ok(Argument::Parts(mark, parts))
    }
}

/// Whether an argument is an integer, or integers, that the function may need to know while it is compiled.
fn is_constant(operand: &Operand) -> bool {
    match operand {
        Operand::Static(HostValue::Int(_) | HostValue::Bool(_)) => true,
        Operand::Static(HostValue::Tuple(items)) => {
            items.iter().all(|item| is_constant(&Operand::Static(item.clone())))
        }
        Operand::Tuple(items) => items.iter().all(is_constant),
        _ => false,
    }
}
