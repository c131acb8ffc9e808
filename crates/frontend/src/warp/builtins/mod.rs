//! The functions that a kernel may call by name, and calls of types.
//!
//! ```text
//! wp.sqrt(x)              ->    v4: f32 = sqrt v3
//! wp.atomic_add(a, i, v)  ->    v9: f32 = atomic add a[v7], v8
//! wp.vec3(1.0, y, 0.0)    ->    v6: vec<f32, 3> = construct v3, v4, v5
//! ```
//!
//! What maps to ops is a [`Row`] of a table here, one file a family. Everything else is written in the kernel
//! language, in `python/gridstride/lib`, and lowered like a function of the user's ([`library`]).
//!
//! The behavior is that of NVIDIA Warp 1.19 (its documentation of builtins), except where a row says otherwise.

pub(crate) mod arguments;
mod construct;
mod library;
mod lookup;
mod math;
mod matrix;
mod memory;
mod print;
mod structs;
mod vector;

#[cfg(test)]
mod tests;

pub(crate) use arguments::{Arg, Call};
pub use library::LIBRARY;
pub(crate) use library::{dialect_of, outputs, without_outputs};
pub(crate) use structs::annotated;
pub use structs::library_struct;

use crate::walk::call::Args;
use crate::walk::expression::suggest;
use crate::walk::lower::Result;
use crate::walk::{Lower, Operand, instance};
use diagnostics::Span;
use ir::Op;

/// A builtin function.
pub(crate) struct Row {
    name: &'static str,
    /// Parameter names, as in Python: `x`, `tolerance?` may be left out, `*args` takes all further positional ones.
    params: &'static str,
    rule: Rule,
}

/// What a call becomes.
#[derive(Clone, Copy)]
pub(crate) enum Rule {
    /// One op over arguments of one type.
    Op(Op, Accepts),
    Own(fn(&mut Lower<'_, '_>, &Call<'_>) -> Result<Operand>),
}

/// The types that an op's arguments may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Accepts {
    /// A floating-point scalar.
    Float,
    /// An integer scalar.
    Int,
    /// A scalar number.
    Number,
    /// A number, or a vector, matrix or the like of numbers.
    Numbers,
    /// A vector of numbers.
    Vector,
}

const fn op(name: &'static str, params: &'static str, op: Op, accepts: Accepts) -> Row {
    Row { name, params, rule: Rule::Op(op, accepts) }
}

pub(crate) const fn own(
    name: &'static str,
    params: &'static str,
    rule: fn(&mut Lower<'_, '_>, &Call<'_>) -> Result<Operand>,
) -> Row {
    Row { name, params, rule: Rule::Own(rule) }
}

const FAMILIES: [&[Row]; 7] =
    [math::ROWS, vector::ROWS, matrix::ROWS, construct::ROWS, memory::ROWS, print::ROWS, lookup::ROWS];

fn rows() -> impl Iterator<Item = &'static Row> {
    FAMILIES.iter().chain(&super::tiles::ROWS).flat_map(|rows| rows.iter())
}

/// Names that calls, loops and `static` handle themselves.
const SYNTAX: [&str; 4] = ["range", "reversed", "static", "tid"];

/// The name of every function that kernels can call, in order; names with an underscore are the library's own.
pub fn names() -> Vec<&'static str> {
    let rows = rows().map(|row| row.name);
    let mut names: Vec<_> = rows.chain(SYNTAX).chain(library::names()).filter(|name| !name.starts_with('_')).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Whether kernels, or the library alone, can call a function of that name.
pub(crate) fn is_builtin(name: &str) -> bool {
    find(name).is_some() || SYNTAX.contains(&name) || instance::is_in_library(name)
}

fn find(name: &str) -> Option<&'static Row> {
    rows().find(|row| row.name == name)
}

impl Lower<'_, '_> {
    /// Calls a builtin by name.
    pub(crate) fn builtin(&mut self, name: &str, args: Args, span: Span) -> Result<Operand> {
        // `math.pow` is no other function here than `pow`.
        let name = name.strip_prefix("math.").unwrap_or(name);
        if let Some(row) = find(name) {
            let call = self.match_arguments(name, row.params, args, span)?;
            return match row.rule {
                Rule::Op(op, accepts) => self.op_row(op, accepts, &call),
                Rule::Own(rule) => rule(self, &call),
            };
        }
        let args = self.library_arguments(name, args, span)?;
        match self.call_library(name, args, span) {
            Some(result) => result,
            None => Err(self.unknown_function(name, span)),
        }
    }

    fn op_row(&mut self, op: Op, accepts: Accepts, call: &Call<'_>) -> Result<Operand> {
        let values = self.one_type(call, &call.all(), accepts)?;
        let ty = self.ty(values[0]);
        Ok(Operand::Value(self.b().push1(op, &values, ir::Attr::None, ty)))
    }

    /// Calls a method of a value: the arithmetic of Warp is in functions, so there are hardly any.
    pub(crate) fn method(&mut self, base: &Operand, name: &str, args: Args, span: Span) -> Result<Operand> {
        let what = self.describe(base);
        let report = self.report("unknown-method", span, format!("{what} has no method `{name}` in a kernel"));
        let help = if find(name).is_some() || instance::is_in_library(name) {
            Some(format!("call the function: `{name}(…)`"))
        } else if args.positional.is_empty() && matches!(name, "numpy" | "list" | "fill_" | "zero_") {
            Some(format!("`{name}` is for the host, before or after a launch"))
        } else {
            lookup::missing_method(name).map(str::to_owned)
        };
        Err(self.emit(match help {
            Some(help) => report.help(help),
            None => report,
        }))
    }

    fn unknown_function(&mut self, name: &str, span: Span) -> crate::walk::Reported {
        if lookup::is_planned(name) {
            return self.error("unsupported-function", span, format!("`{name}` is not supported yet"));
        }
        let mut report = self.report("unknown-function", span, format!("there is no function `{name}` in kernels"));
        let numpy = name.strip_prefix("numpy.");
        if let Some(known) = numpy.filter(|known| find(known).is_some()) {
            report = report.help(format!("NumPy runs on the host: `{known}` is a builtin of kernels, `wp.{known}(…)`"));
        } else if numpy.is_some() {
            report = report.help("NumPy runs on the host: compute it before the launch and pass it, or write a loop");
        } else if let Some(help) = lookup::python_only(name) {
            report = report.help(help);
        } else if let Some(known) = suggest::closest(name, names().into_iter()) {
            report = report.help(format!("did you mean `{known}`?"));
        }
        self.emit(report)
    }
}
