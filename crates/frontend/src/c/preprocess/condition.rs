//! The expression of an `#if`: integers, `defined(NAME)`, C's operators. A name that is no macro is 0.

use super::Preprocessor;
use crate::c::lex::{Kind, Token};
use diagnostics::Span;

pub(super) fn holds(pre: &mut Preprocessor<'_>, line: &[Token], span: Span) -> bool {
    let mut tokens = Vec::new();
    let mut rest = line;
    while let Some((token, after)) = rest.split_first() {
        rest = after;
        if token.name().is_none_or(|name| &**name != "defined") {
            tokens.push(token.clone());
            continue;
        }
        let skipped = usize::from(rest.first().is_some_and(|token| token.is("(")));
        let known = rest.get(skipped).and_then(Token::name).is_some_and(|name| pre.macros.contains_key(name));
        tokens.push(Token { kind: Kind::Int(i128::from(known), ir::Scalar::I32), ..token.clone() });
        rest = rest.get(1 + 2 * skipped..).unwrap_or_default();
    }
    let mut expanded = Vec::new();
    pre.expand(&tokens, None, &mut Vec::new(), &mut expanded);
    let mut condition = Condition { tokens: &expanded };
    match condition.binary(0) {
        Some(value) if condition.tokens.is_empty() => value != 0,
        _ => {
            let help = "write a comparison of integers and macros, such as `#if N > 4 && defined(FAST)`";
            pre.error(span, "this condition cannot be read", help);
            false
        }
    }
}

struct Condition<'t> {
    tokens: &'t [Token],
}

/// From the weakest to the strongest.
const LEVELS: [&[&str]; 10] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<", "<=", ">", ">="],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

impl Condition<'_> {
    fn binary(&mut self, level: usize) -> Option<i128> {
        let Some(ops) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        while let Some(op) = ops.iter().find(|op| self.tokens.first().is_some_and(|token| token.is(op))) {
            self.tokens = &self.tokens[1..];
            let right = self.binary(level + 1)?;
            left = apply(op, left, right)?;
        }
        Some(left)
    }

    fn unary(&mut self) -> Option<i128> {
        let (first, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        match &first.kind {
            Kind::Int(value, _) => Some(*value),
            Kind::Char(value) => Some((*value).into()),
            Kind::Name(name) => Some(i128::from(&**name == "true")),
            Kind::Punct("!") => Some(i128::from(self.unary()? == 0)),
            Kind::Punct("-") => Some(-self.unary()?),
            Kind::Punct("+") => self.unary(),
            Kind::Punct("~") => Some(!self.unary()?),
            Kind::Punct("(") => {
                let value = self.binary(0)?;
                let (close, rest) = self.tokens.split_first()?;
                self.tokens = rest;
                close.is(")").then_some(value)
            }
            _ => None,
        }
    }
}

fn apply(op: &str, x: i128, y: i128) -> Option<i128> {
    let shift = u32::try_from(y).ok().filter(|y| *y < 64);
    match op {
        "||" => Some(i128::from(x != 0 || y != 0)),
        "&&" => Some(i128::from(x != 0 && y != 0)),
        "|" => Some(x | y),
        "^" => Some(x ^ y),
        "&" => Some(x & y),
        "==" => Some(i128::from(x == y)),
        "!=" => Some(i128::from(x != y)),
        "<" => Some(i128::from(x < y)),
        "<=" => Some(i128::from(x <= y)),
        ">" => Some(i128::from(x > y)),
        ">=" => Some(i128::from(x >= y)),
        "<<" => x.checked_shl(shift?),
        ">>" => x.checked_shr(shift?),
        "+" => x.checked_add(y),
        "-" => x.checked_sub(y),
        "*" => x.checked_mul(y),
        "/" => x.checked_div(y),
        _ => x.checked_rem(y),
    }
}
