//! Statements.

use super::{Parsed, Parser};
use crate::c::ast::{Case, For, Stmt, StmtKind};
use diagnostics::Span;

impl Parser<'_> {
    /// The statements between braces, and where the last brace stands.
    pub(super) fn block(&mut self) -> Parsed<(Vec<Stmt>, Span)> {
        self.need("{")?;
        let mut body = Vec::new();
        while !self.peek().is("}") {
            if self.is_end() {
                return Err(self.expected("`}`"));
            }
            body.push(self.statement()?);
        }
        Ok((body, self.next().span))
    }

    pub(super) fn statement(&mut self) -> Parsed<Stmt> {
        self.nested(|parser| {
            let start = parser.peek().span;
            let kind = parser.statement_kind()?;
            Ok(Stmt { kind, span: parser.since(start) })
        })
    }

    fn statement_kind(&mut self) -> Parsed<StmtKind> {
        if self.peek().is("{") {
            return self.block().map(|(body, _)| StmtKind::Block(body));
        }
        if self.take(";") {
            return Ok(StmtKind::Empty);
        }
        let word = self.peek().name().cloned().unwrap_or_else(|| "".into());
        match &*word {
            "if" => self.if_statement(),
            "while" => {
                self.next();
                let test = self.parenthesized()?;
                Ok(StmtKind::While(test, Box::new(self.statement()?)))
            }
            "do" => {
                self.next();
                let body = self.statement()?;
                if !self.take_word("while") {
                    return Err(self.expected("`while`"));
                }
                let test = self.parenthesized()?;
                self.need(";")?;
                Ok(StmtKind::DoWhile(Box::new(body), test))
            }
            "for" => self.for_statement(),
            "switch" => self.switch(),
            "break" | "continue" => {
                self.next();
                self.need(";")?;
                Ok(if &*word == "break" { StmtKind::Break } else { StmtKind::Continue })
            }
            "return" => {
                self.next();
                let value = if self.peek().is(";") { None } else { Some(self.expression()?) };
                self.need(";")?;
                Ok(StmtKind::Return(value))
            }
            "static_assert" => {
                self.next();
                self.need("(")?;
                self.args(")")?;
                self.need(";")?;
                Ok(StmtKind::Empty)
            }
            "goto" => Err(self.unsupported("`goto`", "write a loop with `break` and `continue`")),
            "try" | "throw" => Err(self.unsupported("an exception", "write `assert(…)`")),
            "new" | "delete" => Err(self.unsupported("memory from the heap", "declare an array of constant length")),
            "asm" | "__asm__" => Err(self.unsupported("assembly", "call a function such as `__popc`")),
            "using" | "typedef" => {
                Err(self.unsupported("a type name inside of a function", "write it above the function"))
            }
            _ if self.is_type() && !self.ahead(1).is("(") && !self.ahead(1).is("{") => Ok(self.declaration()?.kind),
            _ if self.peek().name().is_some() && self.ahead(1).is(":") && !self.ahead(1).is("::") => {
                Err(self.unsupported("a label", "write a loop with `break` and `continue`"))
            }
            _ => {
                let expr = self.expression()?;
                self.need(";")?;
                Ok(StmtKind::Expr(expr))
            }
        }
    }

    fn parenthesized(&mut self) -> Parsed<crate::c::ast::Expr> {
        self.need("(")?;
        let expr = self.expression()?;
        self.need(")")?;
        Ok(expr)
    }

    fn if_statement(&mut self) -> Parsed<StmtKind> {
        self.next();
        self.take_word("constexpr");
        let test = self.parenthesized()?;
        let then = Box::new(self.statement()?);
        let other = if self.take_word("else") { Some(Box::new(self.statement()?)) } else { None };
        Ok(StmtKind::If(test, then, other))
    }

    fn for_statement(&mut self) -> Parsed<StmtKind> {
        self.next();
        self.need("(")?;
        let start = self.peek().span;
        let init = if self.is_type() {
            self.declaration()?
        } else if self.take(";") {
            Stmt { kind: StmtKind::Empty, span: start }
        } else {
            let expr = self.expression()?;
            self.need(";")?;
            Stmt { kind: StmtKind::Expr(expr), span: self.since(start) }
        };
        let test = if self.peek().is(";") { None } else { Some(self.expression()?) };
        self.need(";")?;
        let step = if self.peek().is(")") { None } else { Some(self.expression()?) };
        self.need(")")?;
        let body = self.statement()?;
        Ok(StmtKind::For(Box::new(For { init, test, step, body })))
    }

    fn switch(&mut self) -> Parsed<StmtKind> {
        self.next();
        let value = self.parenthesized()?;
        self.need("{")?;
        let mut cases: Vec<Case> = Vec::new();
        while !self.take("}") {
            let span = self.peek().span;
            let mut labels = Vec::new();
            while self.is_word("case") || self.is_word("default") {
                let is_default = self.next().name().is_some_and(|name| &**name == "default");
                labels.push(if is_default { None } else { Some(self.constant()?) });
                self.need(":")?;
            }
            if !labels.is_empty() {
                cases.push(Case { labels, body: Vec::new(), span });
                continue;
            }
            if self.is_end() {
                return Err(self.expected("`}`"));
            }
            let stmt = self.statement()?;
            match cases.last_mut() {
                Some(case) => case.body.push(stmt),
                None => {
                    let help = "put it behind a `case` or `default`";
                    return Err(self.fail(span, "a statement before the first `case` never runs", help));
                }
            }
        }
        Ok(StmtKind::Switch(value, cases))
    }
}
