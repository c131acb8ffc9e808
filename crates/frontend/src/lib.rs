//! Python source, or C text, in; typed IR out.
//!
//! A kernel's file is parsed once; the function is found by its first line; names are resolved through [`Host`],
//! which stands for the running Python program. `walk` reads a body the same way for every dialect of Python; `warp` and
//! `numba` say what each means by it. `c` reads C text. A function says which [`Dialect`] it is in.

mod c;
pub mod host;
mod numba;
mod rules;
pub mod source;
pub mod table;
mod walk;
mod warp;

pub use c::{CGlobal, CKernel, CParam, c_globals, c_kernel};
pub use host::{
    Custom, Extended, FuncSource, Host, HostArgument, HostOperand, HostValue, ObjectId, ParamSource, Passing,
    TypePattern,
};
pub use rules::Dialect;
pub use walk::{lower_builtin, lower_function, lower_kernel, scalar_name};
pub use warp::builtins::{LIBRARY, library_struct, names as builtin_names};

use diagnostics::{Diagnostic, SourceMap, Span};
use ir::{CustomGradient, FuncRef, Module};

/// How a kernel is to be lowered.
#[derive(Clone, Debug)]
pub struct Options {
    /// Emit bounds, division and assert checks.
    pub checked: bool,
    /// Emit bounds checks alone: for launches that pass no memory for some array.
    pub check_bounds: bool,
    /// Report NaN and infinite results of float stores.
    pub check_finite: bool,
    pub fast_math: bool,
    /// With `fast_math`: leave functions of f32 to the target's instructions.
    pub approximate: bool,
    /// Loops over a constant `range` of at most this many rounds are unrolled when their variable must be static.
    pub max_unroll: u32,
    /// Dimensions of the launch, 1 to 4.
    pub launch_rank: u32,
    /// What `block_dim()` gives: the threads of a block that the launch asks for.
    pub block_dim: u32,
    /// Lower what `@func_grad` and `@func_replay` registered for the functions that are called, too.
    pub gradients: bool,
}

impl Options {
    /// Whether accesses to arrays are checked.
    pub fn checks_bounds(&self) -> bool {
        self.checked || self.check_bounds
    }
}

impl Default for Options {
    fn default() -> Self {
        Options {
            checked: false,
            check_bounds: false,
            check_finite: false,
            fast_math: false,
            approximate: false,
            max_unroll: 16,
            launch_rank: 1,
            block_dim: 1,
            gradients: false,
        }
    }
}

/// A kernel and what it calls, verified.
#[derive(Debug)]
pub struct Lowered {
    pub module: Module,
    pub sources: SourceMap,
    /// Dimensions of the launches that it is for.
    pub launch_rank: u32,
    /// With [`Options::gradients`]: the functions whose gradients the user gives.
    pub custom: Vec<CustomGradient>,
    /// Functions without a body, each of which is to be the derivative of another, in the order in which they can be.
    pub derivatives: Vec<Derivative>,
}

/// A function that is to give the derivatives of another's result, or of the sum of its results, for each parameter of
/// floats.
#[derive(Clone, Copy, Debug)]
pub struct Derivative {
    pub func: FuncRef,
    pub of: FuncRef,
    /// Where it is called.
    pub span: Span,
}

/// Every mistake found in a kernel and the functions it calls; never empty.
#[derive(Debug)]
pub struct Rejected {
    pub diagnostics: Vec<Diagnostic>,
    pub sources: SourceMap,
}
