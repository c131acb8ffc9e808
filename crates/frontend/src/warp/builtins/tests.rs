//! Every function of the library is lowered for every float type; what is computed is tested from Python.

use super::*;
use crate::walk::{lower_builtin, pattern};
use crate::{FuncSource, Host, HostValue, ObjectId, Options, TypePattern};
use ir::{Scalar, Type};
use std::sync::Arc;

struct NoHost;

impl Host for NoHost {
    fn source(&self, _: ObjectId) -> std::result::Result<Arc<FuncSource>, String> {
        Err("none".into())
    }

    fn overloads(&self, _: ObjectId) -> Vec<ObjectId> {
        Vec::new()
    }

    fn lookup(&self, _: ObjectId, _: &str) -> Option<HostValue> {
        None
    }

    fn attribute(&self, _: ObjectId, _: &str) -> Option<HostValue> {
        None
    }

    fn evaluate(&self, _: ObjectId, _: &str, _: &[(String, HostValue)]) -> std::result::Result<HostValue, String> {
        Err("none".into())
    }

    fn describe(&self, _: ObjectId) -> String {
        "none".into()
    }
}

/// The IR of a call, or the messages.
fn check(name: &str, args: &[Type]) -> std::result::Result<String, String> {
    match lower_builtin(&NoHost, name, args, &[], &Options::default()) {
        Ok(lowered) => Ok(ir::print::print_module(&lowered.module)),
        Err(rejected) => {
            let render = |report| diagnostics::render(report, &rejected.sources);
            Err(rejected.diagnostics.iter().map(render).collect::<Vec<_>>().join("\n"))
        }
    }
}

/// A type that a parameter of the library may have, over `elem`.
fn example(pattern: &TypePattern, elem: Scalar) -> Type {
    match pattern {
        TypePattern::Is(ty) => *ty,
        TypePattern::AnyInt => Type::i32(),
        TypePattern::Vector { len, .. } => Type::vector(elem, len.unwrap_or(3)),
        TypePattern::Matrix { rows, cols, .. } => Type::matrix(elem, rows.unwrap_or(3), cols.unwrap_or(3)),
        TypePattern::Quat(_) => Type::quat(elem),
        TypePattern::Transform(_) => Type::transform(elem),
        TypePattern::Array { rank, .. } => Type::array(Type::scalar(elem), *rank),
        _ => Type::scalar(elem),
    }
}

/// A row that calls the library's function of its name, once it has made of `dtype` what that takes.
const ROWS_OVER_THE_LIBRARY: [&str; 1] = ["texture_sample"];

#[test]
fn every_library_function_lowers() {
    let mut failures = Vec::new();
    for callee in instance::library().iter().filter(|callee| !ROWS_OVER_THE_LIBRARY.contains(&callee.name.as_str())) {
        for elem in [Scalar::F16, Scalar::BF16, Scalar::F32, Scalar::F64] {
            let open = TypePattern::AnyFloat;
            let is_typed = callee.params.iter().all(|param| param.annotation.is_some());
            // What takes tiles is open too, and is tested with kernels.
            if !is_typed && (callee.name.starts_with('_') || callee.name.contains("tile_")) {
                continue;
            }
            let types: Vec<Type> =
                callee.params.iter().map(|p| example(p.annotation.as_ref().unwrap_or(&open), elem)).collect();
            if let Err(text) = check(&callee.name, &types) {
                let names: Vec<String> = types.iter().map(|&ty| pattern::user_name(ty)).collect();
                failures.push(format!("{}({}):\n{text}", callee.name, names.join(", ")));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn mixed_element_types_are_refused_at_the_call() {
    let text = check("quat_rotate", &[Type::quat(Scalar::F32), Type::vector(Scalar::F64, 3)]).unwrap_err();
    assert!(text.contains("one element type, found `float32` and `float64`"), "{text}");
}

#[test]
fn integers_are_refused_by_float_functions() {
    let text = check("sqrt", &[Type::i32()]).unwrap_err();
    assert!(text.contains("`sqrt` needs a floating-point scalar, found `int32`"), "{text}");
}

#[test]
fn unknown_names_get_a_suggestion() {
    let text = check("normalise", &[Type::f32()]).unwrap_err();
    assert!(text.contains("did you mean `normalize`?"), "{text}");
}

#[test]
fn a_cross_product_needs_vectors() {
    let text = check("cross", &[Type::vector(Scalar::F32, 3), Type::i32()]).unwrap_err();
    assert!(text.contains("`cross` needs a vector of length 3, found `int32`"), "{text}");
}

#[test]
fn no_name_is_both_a_row_and_a_library_function() {
    let rows: Vec<_> = FAMILIES.iter().flat_map(|rows| rows.iter().map(|row| row.name)).collect();
    for (i, name) in rows.iter().enumerate() {
        assert!(!rows[..i].contains(name), "{name} twice");
        assert_eq!(instance::is_in_library(name), ROWS_OVER_THE_LIBRARY.contains(name), "{name}");
    }
}
