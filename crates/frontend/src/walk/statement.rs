//! Statements, one after the other. A mistake in one does not hide those in the next.

use super::lower::{Binding, Lower, Result};
use super::operand::Operand;
use crate::HostValue;
use diagnostics::Span;
use ir::{Op, Site, SiteKind, Type, Value};
use ruff_python_ast::{Expr, Stmt, StmtAssert, StmtAssign, StmtRaise, StmtReturn};

impl Lower<'_, '_> {
    pub(crate) fn body(&mut self, body: &[Stmt]) {
        for stmt in body {
            // What follows a `return` or `break` never runs.
            if self.is_terminated() || self.has_jumped() {
                return;
            }
            let span = self.span_of(stmt);
            let outer = std::mem::replace(&mut self.span, span);
            if self.statement(stmt).is_err() {
                self.forget(stmt);
                // A `return` that failed is no missing one.
                if matches!(stmt, Stmt::Return(_)) {
                    self.unreachable();
                }
            }
            self.span = outer;
        }
    }

    fn statement(&mut self, stmt: &Stmt) -> Result<()> {
        match stmt {
            Stmt::Expr(stmt) => {
                // A docstring.
                if !matches!(&*stmt.value, Expr::StringLiteral(_) | Expr::EllipsisLiteral(_)) {
                    self.expr(&stmt.value)?;
                }
                Ok(())
            }
            Stmt::Assign(stmt) => self.assignment(stmt),
            Stmt::AugAssign(stmt) => self.augmented(stmt),
            Stmt::AnnAssign(stmt) => self.annotated(stmt),
            Stmt::If(stmt) => {
                self.if_statement(stmt);
                Ok(())
            }
            Stmt::For(_) | Stmt::While(_) if let Some(plain) = super::loop_else::without_else(stmt) => {
                self.body(&plain);
                Ok(())
            }
            Stmt::For(stmt) => self.for_statement(stmt),
            Stmt::While(stmt) => self.while_statement(stmt),
            Stmt::Return(stmt) => self.return_statement(stmt),
            Stmt::Break(_) | Stmt::Continue(_) => {
                let op = if let Stmt::Break(_) = stmt { Op::Break } else { Op::Continue };
                let span = self.span_of(stmt);
                if self.is_unrolled() {
                    return self.jump_unrolled(op, span);
                }
                if self.loops.is_empty() {
                    return Err(self.error("jump-outside-loop", span, format!("`{}` outside a loop", op.name())));
                }
                self.end_round(op, span);
                Ok(())
            }
            Stmt::Assert(stmt) => self.assertion(stmt),
            Stmt::Pass(_) => Ok(()),
            Stmt::Delete(_) => Ok(()),
            Stmt::FunctionDef(def) if self.rules.has_inner_functions => {
                super::closure::define(self, def);
                Ok(())
            }
            Stmt::Raise(stmt) if self.rules.has_raise => self.raise(stmt),
            _ => Err(self.unsupported_statement(stmt)),
        }
    }

    fn unsupported_statement(&mut self, stmt: &Stmt) -> super::Reported {
        let (decorator, has_functions) = (self.rules.decorator, self.rules.has_inner_functions);
        let (what, help) = match stmt {
            Stmt::FunctionDef(_) => ("a nested function", format!("define it before the kernel, under `{decorator}`")),
            Stmt::ClassDef(_) => ("a class", "define it outside of the kernel, as a struct".into()),
            Stmt::Delete(_) => ("`del`", "leave it out: nothing in a kernel must be freed".into()),
            Stmt::With(_) => ("`with`", "kernels open and close nothing: do it around the launch".into()),
            Stmt::Match(_) => ("`match`", "write `if`, `elif` and `else`".into()),
            Stmt::Raise(_) => ("`raise`", "write `assert condition, \"text\"`, which checked mode reports".into()),
            Stmt::Try(_) => ("`try`", "nothing in a kernel raises: test for what may go wrong with `if`".into()),
            Stmt::Import(_) | Stmt::ImportFrom(_) => ("`import`", "import it at the top of the file".into()),
            Stmt::Global(_) => ("`global`", "a kernel reads globals without it; what it writes to are arrays".into()),
            Stmt::Nonlocal(_) if has_functions => ("`nonlocal`", "return the new value, and assign it".into()),
            Stmt::Nonlocal(_) => ("`nonlocal`", "what a kernel writes to are its own variables and arrays".into()),
            Stmt::TypeAlias(_) => ("`type`", "name the type outside of the kernel".into()),
            _ => (
                "this statement",
                "a kernel may contain assignments, if, for, while, break, continue, return, assert and calls".into(),
            ),
        };
        let span = self.span_of(stmt);
        let report = self.report("unsupported-syntax", span, format!("{what} cannot be used in a kernel")).help(help);
        self.emit(report)
    }

    /// Marks what a failed statement would have set, so that its uses are not reported again.
    fn forget(&mut self, stmt: &Stmt) {
        let assigned = super::scan::assigned(std::slice::from_ref(stmt)).bound;
        for name in assigned.iter().chain(&super::scan::defined(stmt)) {
            self.names.set(name, Binding::Failed);
        }
    }

    fn assignment(&mut self, stmt: &StmtAssign) -> Result<()> {
        let span = self.span_of(&*stmt.value);
        let value = match (&*stmt.value, stmt.targets.first()) {
            (Expr::Call(call), Some(Expr::Tuple(target))) if self.is_tid(&call.func) => {
                Operand::Tuple(self.call_tid(target.elts.len(), span)?)
            }
            _ => self.expr(&stmt.value)?,
        };
        for target in &stmt.targets {
            self.assign(target, value.clone(), span)?;
        }
        Ok(())
    }

    fn is_tid(&mut self, callee: &Expr) -> bool {
        if !matches!(callee, Expr::Name(_) | Expr::Attribute(_)) {
            return false;
        }
        let mark = self.mark();
        let found = self.quietly(callee);
        self.rewind(mark);
        matches!(found, Ok(Operand::Static(HostValue::Builtin(name))) if name == "tid")
    }

    fn return_statement(&mut self, stmt: &StmtReturn) -> Result<()> {
        let span = self.span_of(stmt);
        let operand = match &stmt.value {
            Some(value) => self.expr(value)?,
            None => Operand::NONE,
        };
        if self.is_kernel && !operand.is_none() {
            let report = self
                .report("kernel-return", span, "a kernel cannot return a value")
                .help("write results to an array that is passed as an argument");
            return Err(self.emit(report));
        }
        let (items, is_tuple) = match operand {
            Operand::Static(HostValue::None) => (Vec::new(), false),
            Operand::Tuple(items) => (items, true),
            other => (vec![other], false),
        };
        let Some(types) = self.returns.clone() else {
            let mut values = Vec::new();
            for item in &items {
                values.push(self.value(item, span)?);
            }
            self.returns = Some(values.iter().map(|&value| self.ty(value)).collect());
            self.returns_tuple = is_tuple;
            values.extend(self.reference_values(span)?);
            self.b().ret(&values);
            return Ok(());
        };
        if types.len() != items.len() {
            let counted = |n: usize| if n == 1 { "1 value".to_owned() } else { format!("{n} values") };
            let given = counted(items.len());
            let message = if self.is_annotated {
                let wanted = match types.as_slice() {
                    [] => "`None`".to_owned(),
                    [ty] => format!("`{}`", self.name_of(*ty)),
                    types => format!("a tuple of {} elements", types.len()),
                };
                let name = &self.func.name;
                format!("the function `{name}` has its return type annotated as {wanted} but the code returns {given}")
            } else {
                format!("this `return` gives {given} where another gives {}", types.len())
            };
            return Err(self.error("return-mismatch", span, message));
        }
        if !self.is_annotated
            && let Some(promote) = self.rules.promote
        {
            let known = self.wider_returns.as_ref().unwrap_or(&types);
            let wider = items.iter().zip(known).map(|(item, &ty)| promote(ty, self.type_of(item)?));
            if let Some(wider) = wider.collect::<Option<Vec<_>>>()
                && wider != types
            {
                self.wider_returns = Some(wider);
            }
        }
        let mut values = Vec::new();
        for (item, &ty) in items.iter().zip(&types) {
            values.push(self.returned(item, ty, span)?);
        }
        values.extend(self.reference_values(span)?);
        self.b().ret(&values);
        Ok(())
    }

    /// A result as the type that the annotation or an earlier `return` gives it.
    fn returned(&mut self, item: &Operand, ty: Type, span: Span) -> Result<Value> {
        let n_reports = self.unit.diagnostics.len();
        let found = self.value_as(item, ty, span);
        if found.is_err()
            && self.is_annotated
            && let Some(given) = self.type_of(item)
        {
            self.unit.diagnostics.truncate(n_reports);
            let (name, wanted, given) = (&self.func.name, self.name_of(ty), self.name_of(given));
            let message = format!(
                "the function `{name}` has its return type annotated as `{wanted}` but the code returns a value of type \
                 `{given}`"
            );
            let report = self.report("return-mismatch", span, message);
            return Err(self.emit(report.help(format!("convert it, or change the annotation to `{given}`"))));
        }
        found
    }

    fn assertion(&mut self, stmt: &StmtAssert) -> Result<()> {
        let condition = self.condition(&stmt.test)?;
        let span = self.span_of(stmt);
        let message = match stmt.msg.as_deref() {
            Some(Expr::StringLiteral(text)) => text.value.to_str().to_owned(),
            Some(other) => {
                let span = self.span_of(other);
                return Err(self.error(
                    "unsupported-syntax",
                    span,
                    "the message of an `assert` must be a string literal",
                ));
            }
            None => self.text_of(&*stmt.test).to_owned(),
        };
        if self.unit.options.checked {
            let value = self.value_as(&condition, Type::bool(), span)?;
            let site = self.unit.module.add_site(Site { kind: SiteKind::Assert, span, name: message });
            self.b().check(Op::Assert, &[value], site);
        }
        Ok(())
    }

    /// `raise …` ends the thread; in checked mode with a report.
    fn raise(&mut self, stmt: &StmtRaise) -> Result<()> {
        let span = self.span_of(stmt);
        if self.unit.options.checked {
            let name = stmt.exc.as_deref().map_or("raise", |exception| self.text_of(exception)).to_owned();
            let site = self.unit.module.add_site(Site { kind: SiteKind::Assert, span, name });
            let never = self.b().bool(false);
            self.b().check(Op::Assert, &[never], site);
        }
        self.unreachable();
        Ok(())
    }
}
