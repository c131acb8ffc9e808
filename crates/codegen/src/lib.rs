//! Machine code from IR, by LLVM. The only crate that links LLVM.
//!
//! In: a verified module whose kernel calls no function (everything inlined). Out: an object file in memory, and from
//! that a loaded kernel. `llvm` turns IR into LLVM's text, the same for every target; `gang` runs many threads as the lanes of
//! vectors; `x86` adds the entry point that walks over the threads of a chunk; `link` and `load` make code of the object,
//! without LLVM, which a process never starts where its objects are cached. `nvptx` makes PTX for GPUs instead.
//!
//! ```
//! use codegen::CpuOptions;
//! let mut module = ir::Module::default();
//! let mut func = ir::Function::new("nothing", ir::FunctionKind::Kernel, vec![], vec![]);
//! ir::Builder::new(&mut func).ret(&[]);
//! module.funcs.push(func);
//! let object = codegen::compile(&module, ir::FuncRef(0), &CpuOptions::default())?;
//! let kernel = codegen::load(&object, &codegen::symbol(&module, ir::FuncRef(0)))?;
//! let bounds = runtime::LaunchBounds::new([10, 1, 1, 1]);
//! let fault = runtime::Fault::default();
//! // SAFETY: the kernel takes no arguments.
//! unsafe { kernel.entry()(std::ptr::null(), &bounds, 0, 10, &fault) };
//! # Ok::<(), codegen::Error>(())
//! ```

mod block;
mod each;
mod entry;
mod gang;
mod host;
mod kernel;
mod link;
mod llvm;
mod load;
pub mod nvptx;
mod plan;
mod rows;
mod small_sums;
mod symbols;
mod x86;

pub use host::{Isa, host_target};
pub use load::{LoadedModule, load};
pub use plan::{Note, explain};
pub use x86::{CpuOptions, Gang, Object, Timings, assembly, compile, compile_timed, llvm_text, llvm_version, symbol};

/// Why no machine code came out.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// The module broke a rule that this crate relies on: a bug of an earlier stage.
    #[error("invalid IR: {0}")]
    Invalid(String),
    /// The kernel is right but asks for more than a thread can have.
    #[error("{0}")]
    TooLarge(String),
    /// The kernel is right but the target has no way to do this; says what it can do.
    #[error("{0}")]
    Unsupported(String),
    /// LLVM or the loader failed.
    #[error("{call}: {message}")]
    Llvm { call: &'static str, message: String },
}

impl Error {
    pub(crate) fn llvm(call: &'static str, message: impl ToString) -> Error {
        Error::Llvm { call, message: message.to_string() }
    }
}

impl From<inkwell::builder::BuilderError> for Error {
    fn from(error: inkwell::builder::BuilderError) -> Error {
        Error::llvm("LLVM builder", error)
    }
}

pub(crate) type Result<T> = std::result::Result<T, Error>;
