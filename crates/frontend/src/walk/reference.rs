//! Parameters passed by reference, `x: wp.ref[float]`.
//!
//! A function takes the value and gives what the parameter holds at its end as a further result, which the caller
//! assigns to the argument:
//!
//! ```text
//! double(a[i])    ->    v3: f32 = load a[v2]
//!                       v4: f32 = call @double(v3)
//!                       store a[v2], v4
//! ```

use super::lower::{Binding, Lower, Result, Scope};
use super::operand::Operand;
use super::scan::{self, Assigned};
use crate::{HostValue, TypePattern};
use diagnostics::Span;
use ir::Value;
use ruff_python_ast::{Expr, ExprCall, Stmt};

impl Lower<'_, '_> {
    /// What the parameters passed by reference hold at the current point, in their order.
    pub(crate) fn reference_values(&mut self, span: Span) -> Result<Vec<Value>> {
        let mut values = Vec::new();
        for (name, ty) in self.refs.clone() {
            let operand = match self.names.get(&name) {
                Some(Binding::Is(operand)) => operand.clone(),
                _ => return Err(super::Reported),
            };
            values.push(self.value_as(&operand, ty, span)?);
        }
        Ok(values)
    }

    /// Refuses a constant as the argument of a parameter passed by reference.
    pub(crate) fn require_reference(&mut self, operand: &Operand, param: &str, span: Span) -> Result<()> {
        let Operand::Static(value @ (HostValue::Int(_) | HostValue::Float(_) | HostValue::Bool(_))) = operand else {
            return Ok(());
        };
        let found = self.describe(operand);
        let message = format!("the parameter `{param}` is passed by reference and cannot be given {found}");
        let mut report = self.report("not-a-reference", span, message);
        if let Some(ty) = self.type_of(operand) {
            let text = match value {
                HostValue::Int(x) => x.to_string(),
                HostValue::Float(x) => format!("{x:?}"),
                _ => "…".into(),
            };
            report = report.help(format!("give it a variable of its own: `x = wp.{}({text})`", self.name_of(ty)));
        }
        Err(self.emit(report))
    }

    /// Adds the names that calls in a body may change through parameters passed by reference.
    pub(crate) fn add_referenced(&self, body: &[Stmt], assigned: &mut Assigned) {
        for call in scan::calls(body) {
            let callee = match &*call.func {
                Expr::Name(name) => match self.names.get(name.id.as_str()) {
                    Some(Binding::Is(Operand::Static(value))) => Some(value.clone()),
                    Some(Binding::Is(Operand::Method(captured, _))) => {
                        captured.tiles(&mut assigned.cells);
                        None
                    }
                    Some(_) => None,
                    None => self.lookup(name.id.as_str()),
                },
                Expr::Attribute(attribute) => match (&*attribute.value, &self.scope) {
                    (Expr::Name(name), Scope::Host(_)) => match self.lookup(name.id.as_str()) {
                        Some(HostValue::Object(object)) => self.unit.host.attribute(object, attribute.attr.as_str()),
                        _ => None,
                    },
                    _ => None,
                },
                _ => None,
            };
            let Some(HostValue::Func(func)) = callee else { continue };
            // A tile that is passed may be changed.
            call.arguments.iter_source_order().for_each(|arg| assigned.hand(arg.value()));
            for overload in self.unit.host.overloads(func) {
                let Ok(source) = self.unit.host.source(overload) else { continue };
                for (index, param) in source.params.iter().enumerate() {
                    if !param.annotation.as_ref().is_some_and(TypePattern::is_ref) {
                        continue;
                    }
                    let keyword = || call.arguments.keywords.iter().find(|k| k.arg.as_deref() == Some(&*param.name));
                    let given = call.arguments.args.get(index).or_else(|| keyword().map(|keyword| &keyword.value));
                    if let Some(target) = given {
                        assigned.target(target);
                    }
                }
            }
        }
    }

    /// Assigns what the call just lowered left in its parameters passed by reference to its arguments.
    pub(crate) fn write_references(&mut self, call: &ExprCall) -> Result<()> {
        for (index, name, operand) in std::mem::take(&mut self.written) {
            let keyword = || call.arguments.keywords.iter().find(|keyword| keyword.arg.as_deref() == Some(&*name));
            let positional = call.arguments.args.get(index);
            let Some(target) = positional.or_else(|| keyword().map(|keyword| &keyword.value)) else { continue };
            let span = self.span_of(target);
            if !matches!(target, Expr::Name(_) | Expr::Attribute(_) | Expr::Subscript(_)) {
                let message = format!("the parameter `{name}` is passed by reference and needs a variable");
                let report = self.report("not-a-reference", span, message);
                return Err(self.emit(report.help("give it a name, an element of an array, or a part of either")));
            }
            self.assign(target, operand, span)?;
        }
        Ok(())
    }
}
