//! Expressions, by the precedence of C.

use super::{Parsed, Parser};
use crate::c::ast::{Binary, Expr, ExprKind, TypeExpr, Unary};
use crate::c::lex::Kind;
use diagnostics::Span;
use ir::Scalar;

/// Operators between two operands, from the weakest to the strongest. `&&` and `||` stand for themselves.
const LEVELS: [&[(&str, Option<Binary>)]; 10] = [
    &[("||", None)],
    &[("&&", None)],
    &[("|", Some(Binary::Or))],
    &[("^", Some(Binary::Xor))],
    &[("&", Some(Binary::And))],
    &[("==", Some(Binary::Eq)), ("!=", Some(Binary::Ne))],
    &[("<", Some(Binary::Lt)), ("<=", Some(Binary::Le)), (">", Some(Binary::Gt)), (">=", Some(Binary::Ge))],
    &[("<<", Some(Binary::Shl)), (">>", Some(Binary::Shr))],
    &[("+", Some(Binary::Add)), ("-", Some(Binary::Sub))],
    &[("*", Some(Binary::Mul)), ("/", Some(Binary::Div)), ("%", Some(Binary::Rem))],
];
/// `>` and `>>` end the arguments of a template: values in there begin above them.
const SUMS: usize = 8;

const ASSIGNMENTS: [(&str, Option<Binary>); 11] = [
    ("=", None),
    ("+=", Some(Binary::Add)),
    ("-=", Some(Binary::Sub)),
    ("*=", Some(Binary::Mul)),
    ("/=", Some(Binary::Div)),
    ("%=", Some(Binary::Rem)),
    ("&=", Some(Binary::And)),
    ("|=", Some(Binary::Or)),
    ("^=", Some(Binary::Xor)),
    ("<<=", Some(Binary::Shl)),
    (">>=", Some(Binary::Shr)),
];

const CASTS: [&str; 3] = ["static_cast", "reinterpret_cast", "const_cast"];

impl Parser<'_> {
    pub(super) fn expression(&mut self) -> Parsed<Expr> {
        let mut left = self.assignment()?;
        while self.take(",") {
            let right = self.assignment()?;
            left = self.made(left.span, |span| Expr { kind: ExprKind::Comma(Box::new(left), Box::new(right)), span });
        }
        Ok(left)
    }

    fn made(&self, start: Span, make: impl FnOnce(Span) -> Expr) -> Expr {
        make(self.since(start))
    }

    pub(super) fn assignment(&mut self) -> Parsed<Expr> {
        self.nested(|parser| {
            let left = parser.conditional()?;
            let found = ASSIGNMENTS.iter().find(|(sign, _)| parser.peek().is(sign));
            let Some(&(_, op)) = found else { return Ok(left) };
            parser.next();
            let right = if parser.peek().is("{") { parser.braces()? } else { parser.assignment()? };
            let kind = ExprKind::Assign(op, Box::new(left.clone()), Box::new(right));
            Ok(Expr { kind, span: parser.since(left.span) })
        })
    }

    fn conditional(&mut self) -> Parsed<Expr> {
        let test = self.binary(0)?;
        if !self.take("?") {
            return Ok(test);
        }
        let then = self.expression()?;
        self.need(":")?;
        let other = self.assignment()?;
        let span = self.since(test.span);
        Ok(Expr { kind: ExprKind::Conditional(Box::new(test), Box::new(then), Box::new(other)), span })
    }

    /// A value among the arguments of a template.
    pub(super) fn template_value(&mut self) -> Parsed<Expr> {
        self.binary(SUMS)
    }

    /// A length, a label, a constant of an enum.
    pub(super) fn constant(&mut self) -> Parsed<Expr> {
        self.binary(0)
    }

    fn binary(&mut self, level: usize) -> Parsed<Expr> {
        let Some(ops) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        while let Some(&(sign, op)) = ops.iter().find(|(sign, _)| self.peek().is(sign)) {
            self.next();
            let right = self.binary(level + 1)?;
            let span = self.since(left.span);
            let (x, y) = (Box::new(left), Box::new(right));
            let kind = match op {
                Some(op) => ExprKind::Binary(op, x, y),
                None => ExprKind::Logical(sign == "&&", x, y),
            };
            left = Expr { kind, span };
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed<Expr> {
        self.nested(|parser| parser.unary_here())
    }

    fn unary_here(&mut self) -> Parsed<Expr> {
        let start = self.peek().span;
        for (sign, op) in [
            ("+", Unary::Plus),
            ("-", Unary::Minus),
            ("~", Unary::Complement),
            ("!", Unary::Not),
            ("*", Unary::Deref),
            ("&", Unary::Address),
        ] {
            if self.take(sign) {
                let operand = self.unary()?;
                return Ok(Expr { kind: ExprKind::Unary(op, Box::new(operand)), span: self.since(start) });
            }
        }
        if self.peek().is("++") || self.peek().is("--") {
            let is_up = self.next().is("++");
            let operand = self.unary()?;
            return Ok(Expr { kind: ExprKind::Step(is_up, true, Box::new(operand)), span: self.since(start) });
        }
        if self.is_word("sizeof") {
            self.next();
            if self.peek().is("(") && self.is_type_at(1) {
                self.next();
                let ty = self.type_expr()?;
                self.need(")")?;
                return Ok(Expr { kind: ExprKind::SizeOf(ty), span: self.since(start) });
            }
            let operand = self.unary()?;
            return Ok(Expr { kind: ExprKind::SizeOfValue(Box::new(operand)), span: self.since(start) });
        }
        if self.peek().is("(") && self.is_type_at(1) {
            self.next();
            let ty = self.type_expr()?;
            self.need(")")?;
            if self.peek().is("{") {
                let items = self.items()?;
                return Ok(Expr { kind: ExprKind::Construct(ty, items), span: self.since(start) });
            }
            let operand = self.unary()?;
            return Ok(Expr { kind: ExprKind::Cast(ty, Box::new(operand)), span: self.since(start) });
        }
        let primary = self.primary()?;
        self.postfix(primary)
    }

    fn postfix(&mut self, mut expr: Expr) -> Parsed<Expr> {
        loop {
            let start = expr.span;
            let kind = if self.take("[") {
                let index = self.expression()?;
                self.need("]")?;
                ExprKind::Index(Box::new(expr), Box::new(index))
            } else if self.peek().is(".") || self.peek().is("->") {
                let is_arrow = self.next().is("->");
                let (name, _) = self.need_name("the name of a member")?;
                if self.take("(") {
                    ExprKind::Method(Box::new(expr), name, self.args(")")?)
                } else {
                    ExprKind::Member(Box::new(expr), name, is_arrow)
                }
            } else if self.peek().is("++") || self.peek().is("--") {
                let is_up = self.next().is("++");
                ExprKind::Step(is_up, false, Box::new(expr))
            } else {
                return Ok(expr);
            };
            expr = Expr { kind, span: self.since(start) };
        }
    }

    fn primary(&mut self) -> Parsed<Expr> {
        let start = self.peek().span;
        let kind = match self.peek().kind.clone() {
            Kind::Int(value, scalar) => ExprKind::Int(value, scalar),
            Kind::Float(value, scalar) => ExprKind::Float(value, scalar),
            Kind::Char(value) => ExprKind::Int(value.into(), Scalar::I8),
            Kind::Str(mut text) => {
                // Strings that follow each other are one.
                while let Kind::Str(more) = &self.ahead(1).kind {
                    text = format!("{text}{more}").into();
                    self.next();
                }
                ExprKind::Str(text)
            }
            Kind::Punct("(") => {
                self.next();
                let inner = self.expression()?;
                self.need(")")?;
                return Ok(Expr { span: self.since(start), ..inner });
            }
            Kind::Punct("{") => return self.braces(),
            Kind::Punct("[") => return Err(self.unsupported("a lambda", "write a `__device__` function")),
            Kind::Name(_) => return self.named(start),
            _ => return Err(self.expected("an expression")),
        };
        self.next();
        Ok(Expr { kind, span: self.since(start) })
    }

    fn named(&mut self, start: Span) -> Parsed<Expr> {
        let word = self.peek().name().cloned().unwrap_or_else(|| "".into());
        let constant = match &*word {
            "true" | "false" => Some(ExprKind::Bool(&*word == "true")),
            "nullptr" => Some(ExprKind::Null),
            _ => None,
        };
        if let Some(kind) = constant {
            self.next();
            return Ok(Expr { kind, span: start });
        }
        if CASTS.contains(&&*word) {
            self.next();
            self.need("<")?;
            let ty = self.type_expr()?;
            self.need(">")?;
            self.need("(")?;
            let operand = self.expression()?;
            self.need(")")?;
            return Ok(Expr { kind: ExprKind::Cast(ty, Box::new(operand)), span: self.since(start) });
        }
        if self.is_type() && !self.is_function_of_a_namespace() {
            return self.construction(start);
        }
        let (name, _) = self.qualified()?;
        let args = if self.peek().is("<") && (self.templates.contains(&name) || self.is_numeric_limits(&name)) {
            self.template_args()?
        } else {
            Vec::new()
        };
        // `numeric_limits<T>::max()`.
        if self.take("::") {
            let (member, _) = self.need_name("a name")?;
            self.need("(")?;
            self.args(")")?;
            let name = format!("{name}::{member}").into();
            return Ok(Expr { kind: ExprKind::Call(name, args, Vec::new()), span: self.since(start) });
        }
        let kind = match self.take("(") {
            true => ExprKind::Call(name, args, self.args(")")?),
            false => ExprKind::Name(name),
        };
        Ok(Expr { kind, span: self.since(start) })
    }

    fn is_numeric_limits(&self, name: &str) -> bool {
        name == "numeric_limits"
    }

    /// `std::max` is a function although `std` could stand before a type.
    fn is_function_of_a_namespace(&self) -> bool {
        let mut n = 0;
        while self.ahead(n + 1).is("::") {
            n += 2;
        }
        n > 0 && !self.is_type_at(n)
    }

    /// `float(x)`, `float4{…}`.
    fn construction(&mut self, start: Span) -> Parsed<Expr> {
        let ty: TypeExpr = self.base_type()?;
        let args = match self.peek().is("{") {
            true => self.items()?,
            false => {
                self.need("(")?;
                self.args(")")?
            }
        };
        Ok(Expr { kind: ExprKind::Construct(ty, args), span: self.since(start) })
    }

    /// Expressions up to a closing sign.
    pub(super) fn args(&mut self, close: &str) -> Parsed<Vec<Expr>> {
        let mut args = Vec::new();
        while !self.peek().is(close) {
            args.push(if self.peek().is("{") { self.braces()? } else { self.assignment()? });
            if !self.take(",") {
                break;
            }
        }
        self.need(close)?;
        Ok(args)
    }

    fn items(&mut self) -> Parsed<Vec<Expr>> {
        self.need("{")?;
        self.args("}")
    }

    /// `{1, 2, {3, 4}}`.
    pub(super) fn braces(&mut self) -> Parsed<Expr> {
        let start = self.peek().span;
        let items = self.nested(|parser| parser.items())?;
        Ok(Expr { kind: ExprKind::Braces(items), span: self.since(start) })
    }
}
