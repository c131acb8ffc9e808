//! The Warp dialect: what is Warp's own beside the walk, its [`builtins`].

pub(crate) mod builtins;
pub(crate) mod tiles;

use crate::rules::Rules;
use crate::walk::{operand, pattern};
use ir::Scalar;

/// Warp means what the walk does by itself.
pub(crate) static RULES: Rules = Rules {
    literal: operand::default_scalar,
    extent: Scalar::I32,
    is_in_blocks: false,
    is_update_atomic: true,
    is_early_zero: false,
    has_raise: false,
    is_constant_passed: false,
    has_bare_names: true,
    has_inner_functions: false,
    iterates_arrays: false,
    ellipsis: None,
    bare_names: builtins::names,
    library_name: pattern::library_name,
    complex: None,
    promote: None,
    convert: None,
    binary: None,
    compare: None,
    unary: None,
    call: None,
    method: None,
    construct: None,
    object: None,
    captured: None,
    attribute: None,
    subscript: None,
    read: None,
    write: None,
    truth: None,
    type_name: pattern::user_name,
    decorator: "@wp.func",
};
