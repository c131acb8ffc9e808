//! `printf`, `assert` and `__trap`.

use super::{Call, Row, open, row};
use crate::c::ast::{Expr, ExprKind};
use crate::c::lower::Result;
use crate::c::lower::body::{Body, Rvalue};
use crate::walk::Reported;
use ir::{Attr, Op, Scalar, Site, SiteKind, Value};

pub(super) const ROWS: &[Row] = &[
    open("printf", 1, usize::MAX, printf),
    row("assert", 1, assert),
    row("__trap", 0, |body, call| {
        let holds = body.b().bool(false);
        failed(body, holds, "__trap", call);
        Ok(Rvalue::VOID)
    }),
    row("__assume", 1, |_, _| Ok(Rvalue::VOID)),
    row("__builtin_assume", 1, |_, _| Ok(Rvalue::VOID)),
    row("__builtin_expect", 2, |body, call| body.expr(&call.args[0])),
];

/// The formatter caps what it is given at run time: one thread must not print gigabytes.
const MAX_WIDTH: u32 = 4096;

fn printf(body: &mut Body<'_, '_, '_>, call: &Call<'_>) -> Result<Rvalue> {
    let ExprKind::Str(format) = &call.args[0].kind else {
        let help = "write the format in quotes";
        return Err(body.error("argument-type", call.args[0].span, "a format must be a string literal", help));
    };
    let mut text = String::new();
    let mut operands: Vec<Value> = Vec::new();
    let mut args = call.args[1..].iter();
    let mut rest = &**format;
    while let Some(at) = rest.find('%') {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let len = rest[1..].find(|c: char| c.is_ascii_alphabetic() && !"hlLqjzt".contains(c) || c == '%');
        let Some(len) = len.map(|at| at + 2) else { break };
        let spec = &rest[..len];
        rest = &rest[len..];
        let is_too_large = |digits: &str| !digits.is_empty() && digits.parse::<u32>().map_or(true, |n| n > MAX_WIDTH);
        if spec.split(|c: char| !c.is_ascii_digit()).any(is_too_large) {
            let message = format!("`{spec}` asks for too many characters");
            let help = format!("widths and precisions are at most {MAX_WIDTH}");
            return Err(body.error("argument-type", call.args[0].span, message, help));
        }
        // Widths and precisions given as `*` are integers of their own.
        for _ in 0..spec.matches('*').count() {
            let arg = args.next().ok_or_else(|| lacks(body, call))?;
            operands.push(operand(body, arg, 'd')?);
        }
        let letter = spec.chars().last().unwrap_or('%');
        if letter == '%' {
            text.push_str("%%");
            continue;
        }
        let arg = args.next().ok_or_else(|| lacks(body, call))?;
        if let (ExprKind::Str(words), 's') = (&arg.kind, letter) {
            text.push_str(&words.replace('%', "%%"));
            continue;
        }
        operands.push(operand(body, arg, letter)?);
        text.push_str(spec);
    }
    text.push_str(rest);
    if let Some(arg) = args.next() {
        let help = "write a conversion such as `%d` for it";
        return Err(body.error("argument-count", arg.span, "the format has no place for this argument", help));
    }
    body.b().push(Op::Print, &operands, Attr::Text(text.into()), &[], &[]);
    let zero = body.b().int(Scalar::I32, 0);
    Ok(Rvalue::scalar(Scalar::I32, zero))
}

fn lacks(body: &mut Body<'_, '_, '_>, call: &Call<'_>) -> Reported {
    body.error("argument-count", call.span, "the format needs more arguments", "give one for each conversion")
}

/// A number as the conversion `letter` reads it.
fn operand(body: &mut Body<'_, '_, '_>, arg: &Expr, letter: char) -> Result<Value> {
    let value = body.expr(arg)?;
    let Some(scalar) = value.ty.as_scalar().filter(|_| letter != 's') else {
        let message = format!("`%{letter}` cannot print `{}`", value.ty.name());
        return Err(body.error("argument-type", arg.span, message, "`printf` prints numbers, and strings in quotes"));
    };
    let wants_float = "eEfFgGaA".contains(letter);
    let to = match scalar {
        _ if wants_float && !scalar.is_float() => Scalar::F64,
        _ if !wants_float && scalar.is_float() => Scalar::I64,
        Scalar::Bool => Scalar::I32,
        _ => scalar,
    };
    Ok(body.b().cast(value.one(), to))
}

/// `assert(x && "message")`: checked where a launch checks.
fn assert(body: &mut Body<'_, '_, '_>, call: &Call<'_>) -> Result<Rvalue> {
    let mut test = &call.args[0];
    if let ExprKind::Logical(true, left, right) = &test.kind
        && let ExprKind::Str(_) = right.kind
    {
        test = left;
    }
    let holds = body.condition(test)?;
    if body.compile.unit.options.checked {
        let name = body.text_of(test.span);
        failed(body, holds, &name, call);
    }
    Ok(Rvalue::VOID)
}

/// Ends the thread with a report unless something holds.
fn failed(body: &mut Body<'_, '_, '_>, holds: Value, name: &str, call: &Call<'_>) {
    let site = Site { kind: SiteKind::Assert, span: call.span, name: name.to_owned() };
    let site = body.compile.unit.module.add_site(site);
    body.b().check(Op::Assert, &[holds], site);
}
