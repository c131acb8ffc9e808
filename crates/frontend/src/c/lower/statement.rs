//! Statements.

use super::body::Body;
use crate::c::ast::{Stmt, StmtKind};
use crate::c::types::CType;
use crate::walk::Reported;
use diagnostics::Span;

impl Body<'_, '_, '_> {
    /// Lowers statements up to one that control does not pass.
    pub(super) fn statements(&mut self, stmts: &[Stmt]) {
        for stmt in stmts {
            if self.is_terminated() {
                return;
            }
            self.statement(stmt);
        }
    }

    /// Lowers a statement. A mistake in it is reported, and the next one is looked at.
    pub(super) fn statement(&mut self, stmt: &Stmt) {
        if self.is_terminated() {
            return;
        }
        self.span = stmt.span;
        let _: Result<(), Reported> = match &stmt.kind {
            StmtKind::Expr(expr) => self.expr(expr).map(drop),
            StmtKind::Declare(list) => {
                for one in list {
                    if self.declaration(one).is_err() {
                        self.declare_anyway(one);
                    }
                }
                Ok(())
            }
            StmtKind::Block(body) => {
                self.scoped(|lower| lower.statements(body));
                Ok(())
            }
            StmtKind::If(test, then, other) => self.if_statement(test, then, other.as_deref()),
            StmtKind::While(test, body) => {
                self.while_statement(test, body);
                Ok(())
            }
            StmtKind::DoWhile(body, test) => {
                self.do_statement(body, test);
                Ok(())
            }
            StmtKind::For(parts) => {
                self.for_statement(parts);
                Ok(())
            }
            StmtKind::Switch(value, cases) => self.switch_statement(value, cases, stmt.span),
            StmtKind::Break => self.break_statement(stmt.span),
            StmtKind::Continue => self.continue_statement(stmt.span),
            StmtKind::Return(value) => {
                let result = self.return_statement(value.as_ref(), stmt.span);
                if result.is_err() {
                    // Control does not pass here, whatever is wrong with the value.
                    self.unreachable();
                }
                result
            }
            StmtKind::Empty => Ok(()),
        };
    }

    fn return_statement(&mut self, value: Option<&crate::c::ast::Expr>, span: Span) -> Result<(), Reported> {
        let returns = self.returns.clone();
        let values = match value {
            None if returns == CType::Void => Vec::new(),
            None => {
                let message = format!("this function returns `{}`", returns.name());
                return Err(self.error("missing-return", span, message, "write a value behind `return`"));
            }
            Some(expr) => {
                let found = self.expr(expr)?;
                if returns == CType::Void && found.ty != CType::Void {
                    let message = "this function is `void`, and returns no value";
                    return Err(self.error("kernel-return", expr.span, message, "write `return;`"));
                }
                let found = self.converted(found, &returns, expr.span)?;
                self.values_of(&found)
            }
        };
        self.span = span;
        self.b().ret(&values);
        Ok(())
    }
}
