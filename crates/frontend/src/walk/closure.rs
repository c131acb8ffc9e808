//! Functions defined inside of kernels and device functions.
//!
//! What such a function takes from around it is captured, by value, where it is defined, and passed as further
//! arguments where it is called:
//!
//! ```text
//! def scaled(v): return v * a    ->    (nothing; `a` is v3)
//! y = scaled(x)                  ->    v9 = call @scaled(v8, v3)
//! ```

use super::call::Args;
use super::instance::{Callee, literal};
use super::lower::{Binding, Lower, Result, Scope};
use super::operand::Operand;
use super::scan;
use crate::{ObjectId, ParamSource, Passing};
use diagnostics::Span;
use ruff_python_ast::StmtFunctionDef;
use ruff_text_size::Ranged;

/// Marks the operand of such a function; its line, the number of the function whose globals it sees, its name and the
/// names that it captures follow.
const MARK: &str = "def ";

/// Defines the function: its name stands for it and for what it captures.
pub(super) fn define(lower: &mut Lower<'_, '_>, def: &StmtFunctionDef) {
    let captured = free_names(lower, def);
    let operands = captured.iter().map(|name| match lower.names.get(name) {
        Some(Binding::Is(operand)) => operand.clone(),
        _ => Operand::NONE,
    });
    let operands = Operand::Tuple(operands.collect());
    let line = lower.parsed.file.position(def.name.start().into()).0;
    let name = def.name.as_str();
    let scope = match lower.scope {
        Scope::Host(object) => object.0.to_string(),
        Scope::Library => "library".to_owned(),
    };
    let operand = Operand::Method(Box::new(operands), format!("{MARK}{line} {scope} {name} {}", captured.join(" ")));
    lower.names.set(name, Binding::Is(operand));
}

/// Names that the function reads and does not set, and that are set around it.
fn free_names(lower: &Lower<'_, '_>, def: &StmtFunctionDef) -> Vec<String> {
    let own = scan::assigned(&def.body).bound;
    let is_param =
        |name: &str| def.parameters.iter_non_variadic_params().any(|param| param.parameter.name.as_str() == name);
    let mut free: Vec<String> = Vec::new();
    for (name, _) in scan::reads(&def.body) {
        let is_around = matches!(lower.names.get(&name), Some(Binding::Is(_)));
        if is_around && !own.contains(&name) && !is_param(&name) && !free.contains(&name) {
            free.push(name);
        }
    }
    free
}

/// Whether the name of an operand is the mark of such a function.
pub(super) fn is_function(mark: &str) -> bool {
    mark.starts_with(MARK)
}

/// Calls the function, where an operand is one.
pub(crate) fn call(
    lower: &mut Lower<'_, '_>,
    base: &Operand,
    mark: &str,
    args: &Args,
    span: Span,
) -> Option<Result<Operand>> {
    let mut words = mark.strip_prefix(MARK)?.split_whitespace();
    let (line, scope, name) = (words.next()?.parse().ok()?, words.next()?, words.next()?);
    let Operand::Tuple(captured) = base else { return None };
    // It may be called by a function of another file.
    let (scope, parsed, rules) = match scope.parse() {
        Ok(object) => {
            let callee = lower.unit.callee(ObjectId(object)).ok()?;
            (callee.scope, callee.parsed, callee.rules)
        }
        Err(_) => (lower.scope.clone(), lower.parsed.clone(), lower.rules),
    };
    let def = parsed.function(name, line)?;
    let mut params: Vec<ParamSource> = Vec::new();
    for param in def.parameters.iter_non_variadic_params() {
        let default = param.default.as_deref().and_then(literal);
        params.push(ParamSource {
            name: param.parameter.name.to_string(),
            annotation: None,
            default,
            passing: Passing::of(&def.parameters, param),
        });
    }
    let mut args = args.clone();
    // By name: defaults and `*args` may stand between the arguments and what is captured.
    for (name, operand) in words.zip(captured) {
        params.push(ParamSource { name: name.to_owned(), annotation: None, default: None, passing: Passing::ByName });
        args.spans.push(span);
        args.named.push((name.to_owned(), operand.clone()));
    }
    let callee = Callee::nested(name, scope, params, parsed.clone(), rules, line);
    Some(lower.call_best(&[callee], &args, span))
}
