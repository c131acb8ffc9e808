//! A kernel's text at each stage, for people.

use crate::build::{Part, build_adjoint, lower, unit};
use crate::code::Specialization;
use crate::cuda::CudaTuning;
use crate::unit::Unit;
use autodiff::Request;
use codegen::Note;
use codegen::nvptx::{self, PtxOptions};
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
    /// What becomes of each memory access, branch and loop on the CPU, line by line.
    Explain,
    /// What a GPU's driver is given.
    Ptx,
    /// LLVM's text for a GPU.
    LlvmCuda,
    /// A kernel whose first parameter is the result, as a function for other compilers.
    PtxFunction,
    /// As `Explain`, on a GPU.
    ExplainCuda,
}

impl Stage {
    pub const ALL: [Stage; 9] = [
        Stage::Typed,
        Stage::Optimized,
        Stage::Llvm,
        Stage::Assembly,
        Stage::Explain,
        Stage::Ptx,
        Stage::LlvmCuda,
        Stage::PtxFunction,
        Stage::ExplainCuda,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Stage::Typed => "typed",
            Stage::Optimized => "optimized",
            Stage::Llvm => "llvm",
            Stage::Assembly => "assembly",
            Stage::Explain => "explain",
            Stage::Ptx => "ptx",
            Stage::LlvmCuda => "llvm-cuda",
            Stage::PtxFunction => "ptx-function",
            Stage::ExplainCuda => "explain-cuda",
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

impl From<codegen::Error> for TextError {
    fn from(error: codegen::Error) -> TextError {
        TextError::Code(error)
    }
}

/// What a text for a GPU is for.
#[derive(Clone, Copy, Debug)]
pub struct CudaText {
    /// The compute capability as one number, and the variant of the architecture: 90 and `a` for `sm_90a`.
    pub sm: u32,
    pub variant: Option<char>,
    pub tuning: CudaTuning,
}

impl Default for CudaText {
    fn default() -> CudaText {
        CudaText { sm: 90, variant: None, tuning: CudaTuning::default() }
    }
}

/// The kernel's text at `stage`, or its adjoint kernel's.
#[allow(clippy::too_many_arguments)]
pub fn text(
    host: &dyn Host,
    kernel: ObjectId,
    arg_types: &[Type],
    options: &Options,
    special: Specialization,
    cuda: CudaText,
    stage: Stage,
    adjoint: Option<&Request>,
) -> Result<String, TextError> {
    let unit = match adjoint {
        Some(request) => build_adjoint(host, kernel, arg_types, options, request, Part::Adjoint, None)
            .map_err(TextError::Rejected)?,
        None => {
            let lowered = lower(host, kernel, arg_types, options).map_err(TextError::Rejected)?;
            if stage == Stage::Typed {
                return Ok(lowered.module.to_string());
            }
            unit(lowered)
        }
    };
    // A launch has at least the dimensions whose index the kernel asks for.
    let dims =
        unit.module().func(unit.kernel).insts.iter().filter(|inst| inst.op == ir::Op::Tid).filter_map(
            |inst| match inst.attr {
                ir::Attr::Index(dim) => Some(dim + 1),
                _ => None,
            },
        );
    let rank = dims.fold(special.rank, u32::max);
    // As for the usual launch.
    let special = Specialization { rank, distinct: unit.summary().gains_by_distinct, ..special };
    let options = special.options();
    // As for a large launch whose arrays are small, where that makes a difference.
    let summed = unit.summary().summed.iter().filter(|&&param| param < 64).fold(0, |bits, &param| bits | 1 << param);
    let in_order = !unit.summary().grid_sums.is_empty();
    let ptx = PtxOptions { summed, in_order, ..ptx_options(cuda, rank) };
    let sources = Some(&unit.sources);
    match stage {
        Stage::Llvm => {
            codegen::llvm_text(unit.code_for(special)?, unit.kernel, &options, true).map_err(TextError::Code)
        }
        Stage::Assembly => codegen::assembly(unit.code_for(special)?, unit.kernel, &options).map_err(TextError::Code),
        Stage::Explain => Ok(lines(
            &unit,
            &codegen::explain(unit.code_for(special).unwrap_or_else(|_| unit.module()), unit.kernel, &options),
        )),
        Stage::Ptx => {
            nvptx::compile(unit.module(), unit.kernel, &ptx, sources).map(|ptx| ptx.text).map_err(TextError::Code)
        }
        Stage::LlvmCuda => nvptx::llvm_text(unit.module(), unit.kernel, &ptx, sources, true).map_err(TextError::Code),
        Stage::PtxFunction => {
            nvptx::compile_function(unit.module(), unit.kernel, &ptx, sources).map_err(TextError::Code)
        }
        Stage::ExplainCuda => Ok(lines(&unit, &nvptx::explain(unit.module(), unit.kernel, &ptx))),
        Stage::Typed | Stage::Optimized => Ok(unit.module().to_string()),
    }
}

fn ptx_options(cuda: CudaText, rank: u32) -> PtxOptions {
    let default = PtxOptions::default();
    let CudaText { sm, variant, tuning } = cuda;
    let max_threads = if tuning.max_threads == 0 { default.max_threads } else { tuning.max_threads };
    PtxOptions {
        // A variant is of exactly one architecture.
        sm: if variant.is_some() { sm } else { nvptx::architecture(sm, default.ptx).unwrap_or(90) },
        variant,
        contiguous: true,
        aligned: true,
        rank,
        max_threads,
        min_blocks: tuning.min_blocks,
        max_cluster: tuning.max_cluster,
        lines: tuning.lines,
        is_unoptimized: tuning.is_unoptimized,
        ..default
    }
}

/// One line a note: `line 5: load: unit stride`.
fn lines(unit: &Unit, notes: &[Note]) -> String {
    let mut text = String::new();
    for note in notes {
        let file = (!note.span.is_none()).then(|| unit.sources.get(note.span.file)).flatten();
        match file {
            Some(file) => {
                let (line, _) = file.position(note.span.start);
                let source = file.line(line).trim();
                text.push_str(&format!("line {line}: {}    {source}\n", note.text));
            }
            None => text.push_str(&format!("{}\n", note.text)),
        }
    }
    text
}
