//! A kernel's text at each stage, for people.

use crate::code::Specialization;
use crate::unit::{lower, optimize};
use frontend::{Host, ObjectId, Options, Rejected};
use ir::Type;

/// A form that a kernel takes on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// IR as the front end made it.
    Typed,
    Optimized,
    /// LLVM's text after LLVM's own passes.
    Llvm,
    Assembly,
}

impl Stage {
    pub const ALL: [Stage; 4] = [Stage::Typed, Stage::Optimized, Stage::Llvm, Stage::Assembly];

    pub fn name(self) -> &'static str {
        match self {
            Stage::Typed => "typed",
            Stage::Optimized => "optimized",
            Stage::Llvm => "llvm",
            Stage::Assembly => "assembly",
        }
    }

    pub fn from_name(name: &str) -> Option<Stage> {
        Stage::ALL.into_iter().find(|stage| stage.name() == name)
    }
}

#[derive(Debug)]
pub enum TextError {
    Rejected(Rejected),
    Code(codegen::Error),
}

/// The kernel's text at `stage`.
pub fn text(
    host: &dyn Host,
    kernel: ObjectId,
    arg_types: &[Type],
    options: &Options,
    special: Specialization,
    stage: Stage,
) -> Result<String, TextError> {
    let lowered = lower(host, kernel, arg_types, options).map_err(TextError::Rejected)?;
    if stage == Stage::Typed {
        return Ok(lowered.module.to_string());
    }
    let unit = optimize(lowered);
    let options = special.options();
    match stage {
        Stage::Llvm => codegen::llvm_text(&unit.module, unit.kernel, &options, true).map_err(TextError::Code),
        Stage::Assembly => codegen::assembly(&unit.module, unit.kernel, &options).map_err(TextError::Code),
        Stage::Typed | Stage::Optimized => Ok(unit.module.to_string()),
    }
}
