//! Expressions: literals, names, displays, comparisons; the rest is sent on to the file of its kind.

use super::lower::{Binding, Lower, Result, Scope};
use super::operand::Operand;
use super::operator::Sides;
use crate::HostValue;
use diagnostics::{Diagnostic, Span};
use ir::{Attr, Op, Type};
use ruff_python_ast::{CmpOp, Expr, ExprCompare, ExprName, ExprNumberLiteral, Number};
use ruff_text_size::Ranged;

pub(crate) mod suggest;

impl Lower<'_, '_> {
    /// Evaluates an expression; the ops it appends get its span.
    pub(crate) fn expr(&mut self, expr: &Expr) -> Result<Operand> {
        let here = self.span_of(expr);
        let outer = std::mem::replace(&mut self.span, here);
        let result = self.expr_here(expr);
        self.span = outer;
        result
    }

    fn expr_here(&mut self, expr: &Expr) -> Result<Operand> {
        match expr {
            Expr::NumberLiteral(literal) => self.number(literal),
            Expr::BooleanLiteral(literal) => Ok(Operand::Static(HostValue::Bool(literal.value))),
            Expr::NoneLiteral(_) => Ok(Operand::NONE),
            Expr::StringLiteral(literal) => Ok(Operand::Static(HostValue::Str(literal.value.to_str().to_owned()))),
            // As in Python, bytes are a sequence of integers.
            Expr::BytesLiteral(literal) if self.rules.convert.is_some() => {
                let bytes = literal.value.bytes().map(|byte| HostValue::Int(byte.into()));
                Ok(Operand::Static(HostValue::Tuple(bytes.collect())))
            }
            Expr::Name(name) => self.name(name),
            Expr::Tuple(tuple) => self.display(&tuple.elts),
            Expr::List(list) => self.display(&list.elts),
            Expr::BoolOp(expr) => self.bool_op(expr),
            Expr::If(expr) => self.if_expression(expr),
            Expr::Compare(expr) => self.comparison(expr),
            Expr::Call(call) => self.call(call),
            Expr::BinOp(binary) => {
                // Both sides are read even when the first is wrong: each has mistakes of its own.
                let (left, right) = (self.expr(&binary.left), self.expr(&binary.right));
                let sides = Sides {
                    left: self.span_of(&*binary.left),
                    right: self.span_of(&*binary.right),
                    whole: self.span_of(binary),
                };
                self.binary_at(binary.op, &left?, &right?, sides)
            }
            Expr::UnaryOp(unary) => {
                let operand = self.expr(&unary.operand)?;
                let span = self.span_of(unary);
                self.unary(unary.op, &operand, span)
            }
            Expr::Attribute(_) | Expr::Subscript(_) => {
                let place = self.place(expr)?;
                self.read(place)
            }
            _ => self.unsupported(expr),
        }
    }

    fn number(&mut self, literal: &ExprNumberLiteral) -> Result<Operand> {
        let span = self.span_of(literal);
        match &literal.value {
            Number::Float(value) => Ok(Operand::Static(HostValue::Float(*value))),
            Number::Int(value) => {
                let value = value.as_u64().map(i128::from).or_else(|| parse_int(self.text_of(literal)));
                let Some(value) = value else {
                    return Err(self.error("literal-range", span, "this integer does not fit any type of a kernel"));
                };
                Ok(Operand::int(value))
            }
            Number::Complex { real, imag } => {
                if let Some(complex) = self.rules.complex {
                    return Ok(complex(*real, *imag));
                }
                let report = self
                    .report("unsupported-syntax", span, "complex numbers cannot be used in a kernel")
                    .help("keep the real and the imaginary part in a `vec2`");
                Err(self.emit(report))
            }
        }
    }

    fn name(&mut self, name: &ExprName) -> Result<Operand> {
        let (text, span) = (name.id.as_str(), self.span_of(name));
        match self.names.get(text) {
            Some(Binding::Is(operand)) => {
                let operand = operand.clone();
                self.warn_of_doubt(text, span);
                return Ok(self.opened(&operand));
            }
            Some(Binding::Failed) => return Err(super::Reported),
            Some(Binding::Open(why, at)) => {
                let (why, at) = (why.clone(), *at);
                let mut report = self
                    .report("mixed-kinds", span, format!("`{text}` does not stand for one thing here"))
                    .label(why)
                    .help(format!(
                        "give `{text}` a value of one type on every path, for example before the branch or loop"
                    ));
                if at != span && !at.is_none() {
                    report = report.also(at, "this decides");
                }
                return Err(self.emit(report));
            }
            None => {}
        }
        if self.is_read_early(text, span) {
            return Err(super::Reported);
        }
        if self.rules.is_early_zero && self.own.iter().any(|own| own == text) {
            return Ok(Operand::int(0));
        }
        match self.lookup(text) {
            Some(value) => Ok(Operand::Static(value)),
            // As in Warp, builtins and types are known by their bare names too, where nothing else has that name.
            None if self.rules.has_bare_names
                && !text.starts_with('_')
                && let Some(value) = super::pattern::library_name(text) =>
            {
                Ok(Operand::Static(value))
            }
            None => Err(self.unknown_name(text, span)),
        }
    }

    /// Notes a name that the body of a loop sets only after this place; a later round may find it set.
    fn is_read_early(&mut self, name: &str, span: Span) -> bool {
        let is_late = |frame: &super::lower::LoopFrame| frame.changed.iter().any(|changed| changed == name);
        let Some(frame) = self.loops.iter_mut().rev().find(|frame| is_late(frame)) else { return false };
        frame.early.push((name.to_owned(), span));
        true
    }

    /// Warns of a name that is 0 here where one path to it sets nothing.
    fn warn_of_doubt(&mut self, name: &str, span: Span) {
        let Some((why, at)) = self.names.doubt(name).cloned() else { return };
        let mut report =
            Diagnostic::warning("maybe-unset", span, format!("`{name}` may not be set here, and is 0 then"))
                .label(why)
                .help(format!("give `{name}` a value on every path, for example before the branch or loop"));
        if at != span && !at.is_none() {
            report = report.also(at, "this decides");
        }
        self.emit(report);
    }

    pub(crate) fn unknown_name(&mut self, name: &str, span: Span) -> super::Reported {
        let mut report = self.report("unknown-name", span, format!("`{name}` is not defined"));
        let outside = match &self.scope {
            Scope::Host(scope) => self.unit.host.names(*scope),
            Scope::Library => Vec::new(),
        };
        let known = self.names.iter().map(|(name, _)| name).chain(&outside).map(String::as_str);
        if let Some(close) = suggest::closest(name, known.chain((self.rules.bare_names)())) {
            report = report.help(format!("did you mean `{close}`?"));
        }
        self.emit(report)
    }

    /// A tuple or list display.
    fn display(&mut self, items: &[Expr]) -> Result<Operand> {
        let mut operands = Vec::new();
        let mut failed = None;
        for item in items {
            let found = match item {
                Expr::Starred(starred) => self.starred(&starred.value),
                _ => self.expr(item).map(|operand| vec![operand]),
            };
            match found {
                Ok(found) => operands.extend(found),
                Err(reported) => failed = Some(reported),
            }
        }
        failed.map_or(Ok(Operand::Tuple(operands)), Err)
    }

    /// `a < b <= c`: each operand is evaluated at most once, and `c` only where `a < b` holds.
    fn comparison(&mut self, expr: &ExprCompare) -> Result<Operand> {
        let mut left_span = self.span_of(&*expr.left);
        let mut left = self.expr(&expr.left)?;
        let mut result: Option<Operand> = None;
        for (op, right_expr) in expr.ops.iter().zip(&expr.comparators) {
            let sides = Sides {
                left: left_span,
                right: self.span_of(right_expr),
                whole: Span { end: right_expr.end().into(), ..left_span },
            };
            left_span = sides.right;
            match result {
                None => {
                    let right = self.expr(right_expr)?;
                    result = Some(self.compare_at(*op, &left, &right, sides)?);
                    left = right;
                }
                Some(Operand::Static(HostValue::Bool(false))) => break,
                Some(Operand::Static(_)) => {
                    let right = self.expr(right_expr)?;
                    result = Some(self.compare_at(*op, &left, &right, sides)?);
                    left = right;
                }
                Some(before) => {
                    let (next, right) = self.comparison_after(&before, *op, &left, right_expr, sides)?;
                    result = Some(next);
                    left = right;
                }
            }
        }
        Ok(result.unwrap_or(Operand::NONE))
    }

    /// A further link of a chain whose links so far are the run-time bool `before`.
    fn comparison_after(
        &mut self,
        before: &Operand,
        op: CmpOp,
        left: &Operand,
        right: &Expr,
        sides: Sides,
    ) -> Result<(Operand, Operand)> {
        let condition = self.value(before, sides.left)?;
        let (region, found) = self.in_region(&[], |lower| {
            let right = lower.expr(right)?;
            let holds = lower.compare_at(op, left, &right, sides)?;
            let holds = lower.value(&holds, sides.whole)?;
            // The chain may go on and compare this operand again: it leaves the region with the result.
            let carried = if let Operand::Value(value) = right { Some(value) } else { None };
            Ok((right, holds, carried))
        });
        let (right, holds, carried) = found?;
        if self.is_pure(region) {
            self.splice(region);
            return Ok((Operand::Value(self.b().binary(Op::And, condition, holds)), right));
        }
        let outer = std::mem::replace(&mut self.region, region);
        let yielded: Vec<_> = [holds].into_iter().chain(carried).collect();
        self.b().yield_(&yielded);
        self.region = outer;
        let types: Vec<Type> = yielded.iter().map(|&value| self.ty(value)).collect();
        let (other, ()) = self.in_region(&[], |lower| {
            let mut values = vec![lower.b().bool(false)];
            for &ty in &types[1..] {
                values.push(lower.zero(ty));
            }
            lower.b().yield_(&values);
        });
        let inst = self.b().push(Op::If, &[condition], Attr::None, &[region, other], &types);
        let results = self.func.inst(inst).results.clone();
        let right = results.get(1).map_or(right, |&value| Operand::Value(value));
        Ok((Operand::Value(results[0]), right))
    }

    fn unsupported(&mut self, expr: &Expr) -> Result<Operand> {
        if let Expr::Named(named) = expr
            && let Expr::Name(name) = &*named.target
        {
            self.names.set(&name.id, Binding::Failed);
        }
        let lambda = format!("write a function decorated with `{}`", self.rules.decorator);
        let (what, help) = match expr {
            Expr::FString(_) | Expr::TString(_) => ("an f-string", "use `print(a, b)` or `printf(\"%d %f\", a, b)`"),
            Expr::BytesLiteral(_) => ("a bytes literal", "kernels hold numbers, vectors, matrices, structs and arrays"),
            Expr::ListComp(_) | Expr::SetComp(_) | Expr::DictComp(_) | Expr::Generator(_) => {
                ("a comprehension", "write a `for` loop")
            }
            Expr::Lambda(_) => ("a lambda", lambda.as_str()),
            Expr::Named(_) => ("`:=`", "assign in a statement of its own"),
            Expr::Await(_) | Expr::Yield(_) | Expr::YieldFrom(_) => {
                ("a coroutine", "a kernel runs from its first to its last statement")
            }
            Expr::Dict(_) => ("a dict", "use a struct, or look the value up with `wp.static(…)`"),
            Expr::Set(_) => ("a set", "use a tuple"),
            Expr::Starred(_) => ("a starred expression", "`*` can stand before arguments and items of a tuple"),
            Expr::EllipsisLiteral(_) => ("`...`", "write one index or slice for each dimension"),
            Expr::Slice(_) => ("a slice", "slices stand in subscripts: `a[1:3]`"),
            _ => ("this expression", "write it as plain Python"),
        };
        let span = self.span_of(expr);
        let report = self.report("unsupported-syntax", span, format!("{what} cannot be used in a kernel")).help(help);
        Err(self.emit(report))
    }
}

/// A Python integer literal of any base that fits an i128.
fn parse_int(text: &str) -> Option<i128> {
    let digits = text.replace('_', "").to_ascii_lowercase();
    let bases = [("0x", 16), ("0o", 8), ("0b", 2)];
    let (digits, base) = bases
        .iter()
        .find_map(|(prefix, base)| digits.strip_prefix(prefix).map(|rest| (rest, *base)))
        .unwrap_or((&digits, 10));
    i128::from_str_radix(digits, base).ok()
}

#[cfg(test)]
mod tests {
    use super::parse_int;

    #[test]
    fn integers_of_every_base_are_read() {
        assert_eq!(parse_int("0xFFFF_FFFF_FFFF_FFFF_F"), Some((1 << 68) - 1));
        assert_eq!(parse_int("36_893_488_147_419_103_232"), Some(1 << 65));
        assert_eq!(parse_int("0b1_01"), Some(5));
        assert_eq!(parse_int(&"9".repeat(40)), None);
    }
}
