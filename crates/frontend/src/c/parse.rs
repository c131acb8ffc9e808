//! Tokens to a syntax tree.
//!
//! C needs names of types to tell `(T)*p` from `(a)*p`: the parser keeps the types and templates that it has met. The
//! first mistake of a function ends that function; the next one is read again, so that each tells its mistakes.

use super::ast::{Function, Name, Param, Program, Struct, TemplateArg, TemplateParam, TypeExpr, TypeKind};
use super::lex::{Kind, Token};
use diagnostics::{Diagnostic, Span};
use std::collections::HashSet;
use std::rc::Rc;

mod declare;
mod expression;
mod statement;
mod type_expr;

/// A mistake that is in the list of reports.
pub(super) struct Failed;

pub(super) type Parsed<T> = Result<T, Failed>;

pub(super) struct Parser<'e> {
    tokens: Vec<Token>,
    at: usize,
    /// Names of structs, `typedef`s and template parameters.
    types: HashSet<Name>,
    /// Functions with template parameters: `f<float>(x)` is a call of these.
    templates: HashSet<Name>,
    program: Program,
    errors: &'e mut Vec<Diagnostic>,
    /// Expressions and statements around: what nests deeper than this ends the stack.
    depth: u32,
}

const MAX_DEPTH: u32 = 400;

/// The program that tokens make; mistakes are appended to `errors`.
pub(super) fn parse(tokens: Vec<Token>, errors: &mut Vec<Diagnostic>) -> Program {
    let mut parser = Parser::new(tokens, errors);
    while !parser.is_end() {
        let start = parser.at;
        if parser.item().is_err() {
            parser.skip_item(start);
        }
    }
    parser.program
}

/// The name and template arguments of `f<float, 4>`, with the types of a program known.
pub(super) fn parse_name(
    tokens: Vec<Token>,
    program: &Program,
    errors: &mut Vec<Diagnostic>,
) -> Option<(Name, Vec<TemplateArg>)> {
    let mut parser = Parser::new(tokens, errors);
    parser.types.extend(program.structs.iter().map(|one| one.name.clone()));
    parser.types.extend(program.aliases.iter().map(|(name, _)| name.clone()));
    let (name, _) = parser.qualified().ok()?;
    let args = if parser.peek().is("<") { parser.template_args().ok()? } else { Vec::new() };
    if !parser.is_end() {
        let _ = parser.expected("the end of the name");
        return None;
    }
    Some((name, args))
}

impl<'e> Parser<'e> {
    fn new(tokens: Vec<Token>, errors: &'e mut Vec<Diagnostic>) -> Parser<'e> {
        let (types, templates) = (HashSet::new(), HashSet::new());
        Parser { tokens, at: 0, types, templates, program: Program::default(), errors, depth: 0 }
    }

    fn peek(&self) -> &Token {
        self.ahead(0)
    }

    fn ahead(&self, n: usize) -> &Token {
        &self.tokens[(self.at + n).min(self.tokens.len() - 1)]
    }

    fn is_end(&self) -> bool {
        self.peek().kind == Kind::End
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    /// The span from `start` to the last token read.
    fn since(&self, start: Span) -> Span {
        let last = self.tokens[self.at.saturating_sub(1)].span;
        if last.file == start.file && last.end > start.start { Span { end: last.end, ..start } } else { start }
    }

    fn take(&mut self, punct: &str) -> bool {
        let found = self.peek().is(punct);
        if found {
            self.next();
        }
        found
    }

    fn is_word(&self, word: &str) -> bool {
        self.peek().name().is_some_and(|name| &**name == word)
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.next();
        }
        found
    }

    fn need(&mut self, punct: &str) -> Parsed<()> {
        // `>>` closes two lists of template arguments.
        if punct == ">" && self.peek().is(">>") {
            self.tokens[self.at].kind = Kind::Punct(">");
            return Ok(());
        }
        if self.take(punct) { Ok(()) } else { Err(self.expected(&format!("`{punct}`"))) }
    }

    fn need_name(&mut self, what: &str) -> Parsed<(Name, Span)> {
        match self.peek().name().cloned() {
            Some(name) => Ok((name, self.next().span)),
            None => Err(self.expected(what)),
        }
    }

    /// Reports that something else stands here.
    fn expected(&mut self, what: &str) -> Failed {
        let token = self.peek();
        let found = match &token.kind {
            Kind::End => "the end of the text".to_owned(),
            Kind::Name(name) => format!("`{name}`"),
            Kind::Punct(punct) => format!("`{punct}`"),
            Kind::Int(value, _) => format!("`{value}`"),
            Kind::Float(value, _) => format!("`{value}`"),
            Kind::Char(_) => "a character".to_owned(),
            Kind::Str(_) => "a string".to_owned(),
        };
        // What is missing at the end of a line is told there, not on the next line.
        let previous = self.at.checked_sub(1).map(|at| self.tokens[at].span);
        let is_missing = matches!(what, "`;`" | "`)`" | "`}`") && (token.starts_line || token.kind == Kind::End);
        let span = if is_missing { previous.unwrap_or(token.span) } else { token.span };
        let message = format!("expected {what}, found {found}");
        self.fail(span, &message, "the page \"C kernels\" says what is read of C and CUDA C++")
    }

    fn fail(&mut self, span: Span, message: &str, help: &str) -> Failed {
        self.errors.push(Diagnostic::new("c-syntax", span, message).help(help));
        Failed
    }

    /// Goes on behind the item that began at a token: behind the `}` that ends its body, or its `;`.
    fn skip_item(&mut self, start: usize) {
        let mut depth = 0usize;
        for at in start.. {
            let token = &self.tokens[at.min(self.tokens.len() - 1)];
            let is_read = at >= self.at;
            match token.kind {
                Kind::Punct("{") => depth += 1,
                Kind::Punct("}") => depth = depth.saturating_sub(1),
                _ => {}
            }
            let ends = matches!(token.kind, Kind::Punct("}" | ";")) && depth == 0;
            if is_read && (ends || token.kind == Kind::End) {
                self.at = (at + usize::from(ends)).min(self.tokens.len() - 1);
                return;
            }
        }
    }

    /// Runs a rule that may nest in itself.
    fn nested<T>(&mut self, rule: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            let span = self.peek().span;
            return Err(self.fail(span, "this nests too deep", "name a part of it"));
        }
        self.depth += 1;
        let result = rule(self);
        self.depth -= 1;
        result
    }
}
