//! Dialects, and where one departs from the rules of the walk over a body.
//!
//! The walk in [`crate::walk`] reads statements, control flow and places for every dialect. What a construct means by
//! default is what it means in Warp; a [`Rules`] table names what means something else. Ops never know a dialect: the
//! table is asked while lowering, and the IR says exactly what was meant.

use crate::walk::call::Args;
use crate::walk::lower::{Lower, Result};
use crate::walk::operand::Operand;
use crate::walk::operator::Sides;
use crate::walk::subscript::{Index, Place};
use crate::{HostValue, ObjectId};
use diagnostics::Span;
use ir::{Scalar, Type, Value};
use ruff_python_ast::{CmpOp, ExprAttribute, Operator, UnaryOp};

/// The language that a function is written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dialect {
    #[default]
    Warp,
    Numba,
    /// C text, which is no Python: it has a front end of its own.
    C,
}

impl Dialect {
    pub(crate) fn rules(self) -> &'static Rules {
        match self {
            Dialect::Warp => &crate::warp::RULES,
            Dialect::Numba => &crate::numba::RULES,
            // What the kernel library is called by from C.
            Dialect::C => &crate::warp::RULES,
        }
    }
}

type Own<F> = Option<F>;
type Binary = fn(&mut Lower<'_, '_>, Operator, &Operand, &Operand, Sides) -> Result<Operand>;
type Compare = fn(&mut Lower<'_, '_>, CmpOp, &Operand, &Operand, Sides) -> Result<Operand>;
type Unary = fn(&mut Lower<'_, '_>, UnaryOp, &Operand, Span) -> Result<Operand>;
type Call = fn(&mut Lower<'_, '_>, &str, Args, Span) -> Result<Operand>;
type Method = fn(&mut Lower<'_, '_>, &Operand, &str, Args, Span) -> Result<Operand>;
type Object = fn(&mut Lower<'_, '_>, ObjectId, &Args, Span) -> Option<Result<Operand>>;
type Captured = fn(&mut Lower<'_, '_>, &HostValue) -> Option<Operand>;
type Construct = fn(&mut Lower<'_, '_>, Type, Args, Span) -> Result<Operand>;
type Attribute = fn(&mut Lower<'_, '_>, &Place, &str, &ExprAttribute) -> Result<Option<Place>>;
type Subscript = fn(&mut Lower<'_, '_>, &Place, &[Index], &str, Span) -> Result<Option<Place>>;
type Read = fn(&mut Lower<'_, '_>, &Place) -> Result<Option<Operand>>;
type Write = fn(&mut Lower<'_, '_>, &Place, &Operand, Span) -> Result<bool>;

/// A conversion to a type; nothing where there is none.
pub(crate) type Convert = fn(&mut Lower<'_, '_>, Value, Type) -> Option<Value>;

/// What differs between dialects. `None`: as the walk does by itself.
pub(crate) struct Rules {
    /// The type of a literal that nothing else decides.
    pub(crate) literal: fn(&HostValue) -> Option<Scalar>,
    /// The type of what `shape` and `len` of an array hold.
    pub(crate) extent: Scalar,
    /// Kernels run in blocks of threads that can meet, and a launch gives blocks and threads.
    pub(crate) is_in_blocks: bool,
    /// `a[i] += x` is one step that threads may share.
    pub(crate) is_update_atomic: bool,
    /// A name that nothing has set yet is 0; else reading it is refused.
    pub(crate) is_early_zero: bool,
    /// `raise` ends a thread.
    pub(crate) has_raise: bool,
    /// Integer literals as arguments stay known while the function called is compiled.
    pub(crate) is_constant_passed: bool,
    /// Names of the language are known without an import.
    pub(crate) has_bare_names: bool,
    /// Functions may be defined inside of functions.
    pub(crate) has_inner_functions: bool,
    /// `for` takes arrays, `enumerate` and `zip`.
    pub(crate) iterates_arrays: bool,
    /// What `...` stands for among indices.
    pub(crate) ellipsis: Option<&'static str>,
    /// The names that kernels may use without a prefix, to suggest one for a name that is misspelt.
    pub(crate) bare_names: fn() -> Vec<&'static str>,
    /// What a name means in the part of the kernel library that is written in the dialect.
    pub(crate) library_name: fn(&str) -> Option<HostValue>,
    /// A complex literal, by its real and its imaginary part.
    pub(crate) complex: Own<fn(f64, f64) -> Operand>,
    /// The type of a name that has two types on two paths.
    pub(crate) promote: Own<fn(Type, Type) -> Option<Type>>,
    /// A value as another type, where the language converts by itself.
    pub(crate) convert: Own<Convert>,
    pub(crate) binary: Own<Binary>,
    pub(crate) compare: Own<Compare>,
    pub(crate) unary: Own<Unary>,
    /// Calls of builtins, of methods, of types.
    pub(crate) call: Own<Call>,
    pub(crate) method: Own<Method>,
    pub(crate) construct: Own<Construct>,
    /// Calls of objects that are no functions of the language.
    pub(crate) object: Own<Object>,
    /// What a name stands for that is a host's array.
    pub(crate) captured: Own<Captured>,
    /// Attributes and subscripts that lead somewhere of the dialect's own.
    pub(crate) attribute: Own<Attribute>,
    pub(crate) subscript: Own<Subscript>,
    /// What reading a place gives, and writes that the walk does not know.
    pub(crate) read: Own<Read>,
    pub(crate) write: Own<Write>,
    /// Truth of a value that is no number.
    pub(crate) truth: Own<fn(&mut Lower<'_, '_>, Value) -> Option<Value>>,
    /// What users call a type.
    pub(crate) type_name: fn(Type) -> String,
    /// What can be decorated so that kernels can call it, for messages.
    pub(crate) decorator: &'static str,
}
