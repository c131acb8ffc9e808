//! Calls: what is called, with which arguments; `static(…)`.

use super::lower::{Binding, Lower, Result, Scope};
use super::operand::Operand;
use super::scan;
use crate::{HostValue, TypePattern};
use diagnostics::Span;
use ir::{Attr, Op, Scalar, Type, Value};
use ruff_python_ast::{Expr, ExprCall};

/// Evaluated arguments of a call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Args {
    pub(crate) positional: Vec<Operand>,
    pub(crate) named: Vec<(String, Operand)>,
    /// Where each stands: the positional ones, then the named ones.
    pub(crate) spans: Vec<Span>,
}

impl Args {
    pub(crate) fn positional(operands: &[Operand], span: Span) -> Args {
        Args { positional: operands.to_vec(), named: Vec::new(), spans: vec![span; operands.len()] }
    }

    /// Removes a named argument.
    pub(crate) fn take(&mut self, name: &str) -> Option<Operand> {
        let index = self.named.iter().position(|(known, _)| known == name)?;
        self.spans.remove(self.positional.len() + index);
        Some(self.named.remove(index).1)
    }
}

impl Lower<'_, '_> {
    pub(crate) fn call(&mut self, call: &ExprCall) -> Result<Operand> {
        let span = self.span_of(call);
        let callee = match self.type_in_call(&call.func) {
            Some(ty) => ty,
            None => self.expr(&call.func)?,
        };
        if callee == Operand::Static(HostValue::Builtin("static".into())) {
            return self.static_expression(call, span);
        }
        // What was `static` when the function was defined may be something else now.
        if let (Operand::Static(HostValue::Object(_) | HostValue::None), [expr]) = (&callee, &*call.arguments.args)
            && let Some(value) = self.static_value(expr)
        {
            return Ok(Operand::Static(value));
        }
        let args = self.arguments(call)?;
        match callee {
            Operand::Static(HostValue::Func(func)) => {
                let result = self.call_function(func, args, span)?;
                self.write_references(call)?;
                Ok(result)
            }
            Operand::Static(HostValue::Type(pattern)) => match (self.rules.construct, &pattern) {
                (Some(construct), TypePattern::Is(ty)) => construct(self, *ty, args, span),
                _ => self.construct(&pattern, args, span),
            },
            Operand::Static(HostValue::Builtin(name)) if self.rules.call.is_some() => {
                self.rules.call.map_or(Ok(Operand::NONE), |call| call(self, &name, args, span))
            }
            Operand::Static(HostValue::Builtin(name)) => match name.as_str() {
                "tid" => self.single_tid(span),
                _ => {
                    let result = self.builtin(&name, args, span)?;
                    self.store_outputs(&name, call, result, span)
                }
            },
            Operand::Derivative(of) => self.call_derivative(&of, args, span),
            Operand::Method(base, name) => match self.rules.method {
                Some(method) => method(self, &base, &name, args, span),
                None => self.method(&base, &name, args, span),
            },
            other => {
                if let (Some(call), Operand::Static(HostValue::Object(object))) = (self.rules.object, &other)
                    && let Some(result) = call(self, *object, &args, span)
                {
                    return result;
                }
                let what = self.describe(&other);
                let report = self.report("not-callable", span, format!("{what} cannot be called in a kernel")).help(
                    format!("kernels can call builtins, types and functions decorated with `{}`", self.rules.decorator),
                );
                Err(self.emit(report))
            }
        }
    }

    /// `wp.types.vector(length=3, dtype=float)` where it is called itself: then it is a type, as in Python.
    fn type_in_call(&mut self, callee: &Expr) -> Option<Operand> {
        let (Expr::Call(inner), Scope::Host(scope)) = (callee, self.scope.clone()) else { return None };
        let Ok(Operand::Static(HostValue::Builtin(name))) = self.quietly(&inner.func) else { return None };
        if !matches!(name.as_str(), "vector" | "matrix" | "quaternion" | "transformation") {
            return None;
        }
        match self.unit.host.evaluate(scope, self.text_of(callee), &[]) {
            Ok(value @ HostValue::Type(_)) => Some(Operand::Static(value)),
            _ => None,
        }
    }

    fn arguments(&mut self, call: &ExprCall) -> Result<Args> {
        let mut args = Args::default();
        let mut failed = None;
        for arg in &call.arguments.args {
            let span = self.span_of(arg);
            let operands = match arg {
                Expr::Starred(starred) => self.starred(&starred.value),
                _ => self.expr(arg).map(|operand| vec![operand]),
            };
            match operands {
                Ok(operands) => {
                    args.spans.extend(vec![span; operands.len()]);
                    args.positional.extend(operands);
                }
                Err(reported) => failed = Some(reported),
            }
        }
        for keyword in &call.arguments.keywords {
            let span = self.span_of(&keyword.value);
            let Some(name) = &keyword.arg else {
                return Err(self.error("unsupported-syntax", span, "`**` arguments cannot be used in a kernel"));
            };
            match self.expr(&keyword.value) {
                Ok(operand) => {
                    args.spans.push(span);
                    args.named.push((name.to_string(), operand));
                }
                Err(reported) => failed = Some(reported),
            }
        }
        failed.map_or(Ok(args), Err)
    }

    /// What a static expression was when the function was defined.
    fn static_value(&self, expr: &Expr) -> Option<HostValue> {
        let Scope::Host(scope) = self.scope else { return None };
        let (line, column) = self.parsed.file.position(self.span_of(expr).start);
        self.unit.host.static_value(scope, line, column)
    }

    /// `static(expression)`: Python evaluates it now, in the kernel's scope, unless it did when the function was defined.
    fn static_expression(&mut self, call: &ExprCall, span: Span) -> Result<Operand> {
        let [expr] = &*call.arguments.args else {
            return Err(self.error("wrong-arguments", span, "`static` takes one expression"));
        };
        let text = format!("({})", self.text_of(expr));
        let Scope::Host(scope) = self.scope else {
            return self.expr(expr);
        };
        if let Some(value) = self.static_value(expr) {
            return Ok(Operand::Static(value));
        }
        let locals: Vec<(String, HostValue)> = self
            .names
            .iter()
            .filter_map(|(name, binding)| match binding {
                Binding::Is(Operand::Static(value)) => Some((name.clone(), value.clone())),
                _ => None,
            })
            .collect();
        // A global of the name of a run-time value is not what is meant.
        let unknown = scan::free_names(expr).into_iter().find(|name| match self.names.get(name) {
            Some(binding) => !matches!(binding, Binding::Is(Operand::Static(_))),
            None => false,
        });
        let found = match unknown {
            Some(name) => Err(format!("NameError: name '{name}' is not defined: it is a run-time value")),
            None => self.unit.host.evaluate(scope, &text, &locals),
        };
        match found {
            Ok(value) => Ok(Operand::Static(value)),
            Err(message) => {
                // What is known of locals, such as a tuple's length, is known here although Python has no value of them.
                let (mark, n_reports) = (self.mark(), self.unit.diagnostics.len());
                if message.starts_with("NameError") {
                    match self.expr(expr) {
                        Ok(operand @ Operand::Static(_)) => return Ok(operand),
                        // A name whose own statement failed.
                        Err(reported) if self.unit.diagnostics.len() == n_reports => return Err(reported),
                        _ => {}
                    }
                }
                self.rewind(mark);
                let report = self
                    .report("static-failed", span, format!("`static` raised {message}"))
                    .help("a static expression may use constants, globals and closure variables, not run-time values");
                Err(self.emit(report))
            }
        }
    }

    /// `i, j = tid()`: the first `arity` indices of the thread, i32.
    pub(crate) fn call_tid(&mut self, arity: usize, span: Span) -> Result<Vec<Operand>> {
        self.require_kernel(span)?;
        if !(1..=4).contains(&arity) {
            return Err(self.error("wrong-arguments", span, "`tid()` gives 1 to 4 indices"));
        }
        Ok((0..arity as u32)
            .map(|dim| {
                let index = self.thread_index(Op::Tid, dim);
                Operand::Value(self.b().cast(index, Scalar::I32))
            })
            .collect())
    }

    /// `i = tid()`: the first index, also where the launch has more dimensions.
    fn single_tid(&mut self, span: Span) -> Result<Operand> {
        let indices = self.call_tid(1, span)?;
        Ok(indices.into_iter().next().unwrap_or(Operand::NONE))
    }

    fn thread_index(&mut self, op: Op, dim: u32) -> Value {
        self.b().push1(op, &[], Attr::Index(dim), Type::i64())
    }

    fn require_kernel(&mut self, span: Span) -> Result<()> {
        if self.is_kernel {
            return Ok(());
        }
        let report = self
            .report("tid-outside-kernel", span, "`tid()` can only be called in a kernel")
            .help("pass the index to the function as an argument");
        Err(self.emit(report))
    }
}
