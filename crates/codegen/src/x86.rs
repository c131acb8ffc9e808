//! The CPU back end: a kernel as one function that runs a range of a launch's threads.
//!
//! In: a kernel and [`CpuOptions`]. Out: an object file with one symbol, an `EntryPoint` of `runtime::abi`.
//!
//! The function walks rows ([`crate::entry`]), that is, runs of threads that differ in the last dimension only:
//!
//! ```text
//! t = begin
//! while t < end:                      index of t by divisions, once a row
//!     for i in first..first + n:      body with thread index (.., i)
//!     t += n
//! ```
//!
//! so that LLVM sees an index that grows by one. A row also ends where the index wraps around as an i32, and the i32 is
//! counted beside the i64: kernels whose index is an i32 vectorize like the others.

use crate::host::{cpu, host_target};
use crate::kernel::Kernel;
use crate::{Error, Isa, Result};
use inkwell::OptimizationLevel;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::context::Context;
use inkwell::module::Module as LlvmModule;
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::{CodeModel, FileType, InitializationConfig, RelocMode, Target, TargetMachine, TargetTriple};
use inkwell::values::FunctionValue;
use ir::{FuncRef, FunctionKind, Module};
use std::sync::OnceLock;
use std::time::Instant;

/// How many threads run side by side as the lanes of vectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Gang {
    /// As many as the machine's vectors hold, where that is faster than one.
    #[default]
    Auto,
    /// One.
    Off,
    /// So many wherever possible: for tests.
    Width(u32),
    /// As `Width`, with one body for whole gangs and for what is left over, as long kernels have it: for tests.
    Masked(u32),
}

impl Gang {
    /// What `GRIDSTRIDE_GANG` asks for: `off`, or a number of lanes.
    pub fn from_env() -> Gang {
        match std::env::var("GRIDSTRIDE_GANG").as_deref() {
            Ok("off" | "1") => Gang::Off,
            Ok(text) => match text.parse() {
                Ok(width @ 2..=32) => Gang::Width(width),
                _ => Gang::Auto,
            },
            Err(_) => Gang::Auto,
        }
    }
}

/// What a kernel's code is specialized for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CpuOptions {
    /// Every array argument is without gaps, row by row: strides follow from extents.
    pub contiguous: bool,
    /// No array that the kernel writes to shares memory with another.
    pub distinct: bool,
    /// Dimensions of the launch, 1 to 4; further extents are 1.
    pub rank: u32,
    pub isa: Isa,
    pub gang: Gang,
}

impl Default for CpuOptions {
    fn default() -> CpuOptions {
        CpuOptions { contiguous: false, distinct: false, rank: 1, isa: Isa::Host, gang: Gang::Auto }
    }
}

/// Milliseconds that each phase of a compilation took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Timings {
    /// Verifying the IR and building LLVM's.
    pub build: f64,
    pub optimize: f64,
    /// Machine code.
    pub emit: f64,
}

/// An object file and what making it took.
#[derive(Clone, Debug)]
pub struct Object {
    pub bytes: Vec<u8>,
    pub timings: Timings,
}

/// The name of a kernel's entry point in its object file.
pub fn symbol(module: &Module, kernel: FuncRef) -> String {
    let name = module.func(kernel).name.chars();
    let name: String = name.map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '.' }).collect();
    format!("gs_kernel_{name}")
}

/// Compiles a kernel to an object file.
pub fn compile(module: &Module, kernel: FuncRef, options: &CpuOptions) -> Result<Vec<u8>> {
    compile_timed(module, kernel, options).map(|object| object.bytes)
}

/// As [`compile`], with the time that each phase took.
pub fn compile_timed(module: &Module, kernel: FuncRef, options: &CpuOptions) -> Result<Object> {
    let start = Instant::now();
    let ctx = Context::create();
    let machine = target_machine(options.isa)?;
    let (llvm, passes) = build(&ctx, &machine, module, kernel, options)?;
    let build = milliseconds(start);
    let start = Instant::now();
    optimize(&llvm, &machine, passes)?;
    let optimize = milliseconds(start);
    let start = Instant::now();
    let bytes = emit(&llvm, &machine, FileType::Object)?;
    Ok(Object { bytes, timings: Timings { build, optimize, emit: milliseconds(start) } })
}

/// LLVM's text for a kernel, before or after LLVM's passes.
pub fn llvm_text(module: &Module, kernel: FuncRef, options: &CpuOptions, optimized: bool) -> Result<String> {
    let ctx = Context::create();
    let machine = target_machine(options.isa)?;
    let (llvm, passes) = build(&ctx, &machine, module, kernel, options)?;
    if optimized {
        optimize(&llvm, &machine, passes)?;
    }
    Ok(llvm.print_to_string().to_string())
}

/// The machine code of a kernel as text.
pub fn assembly(module: &Module, kernel: FuncRef, options: &CpuOptions) -> Result<String> {
    let ctx = Context::create();
    let machine = target_machine(options.isa)?;
    let (llvm, passes) = build(&ctx, &machine, module, kernel, options)?;
    optimize(&llvm, &machine, passes)?;
    let text = emit(&llvm, &machine, FileType::Assembly)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

pub(crate) fn initialize() {
    static DONE: OnceLock<()> = OnceLock::new();
    DONE.get_or_init(|| {
        Target::initialize_x86(&InitializationConfig {
            asm_parser: false,
            asm_printer: true,
            base: true,
            disassembler: false,
            info: true,
            machine_code: true,
        });
    });
}

/// The version of the LLVM that is linked in, `23.1.1`.
pub fn llvm_version() -> String {
    let (major, minor, patch) = inkwell::support::get_llvm_version();
    format!("{major}.{minor}.{patch}")
}

pub(crate) fn target_machine(isa: Isa) -> Result<TargetMachine> {
    initialize();
    let triple = TargetTriple::create(host_target()[0]);
    let target = Target::from_triple(&triple).map_err(|error| Error::llvm("target", error.to_string()))?;
    let (cpu, features) = cpu(isa);
    target
        .create_target_machine(&triple, cpu, features, OptimizationLevel::Default, RelocMode::PIC, CodeModel::Small)
        .ok_or_else(|| Error::llvm("target machine", cpu))
}

/// LLVM's passes over a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passes {
    All,
    /// For a long kernel that runs as gangs, whose code is mostly arithmetic in vectors: what else there is in LLVM takes
    /// half of the time and finds nothing there.
    Few,
}

// `instcombine` may leave something to do, which by default is an error of LLVM's, and those end the process.
const FEW: &str = "function(sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,\
    loop-mssa(loop-rotate,licm),gvn,instcombine<no-verify-fixpoint>,simplifycfg)";

fn optimize(llvm: &LlvmModule<'_>, machine: &TargetMachine, passes: Passes) -> Result<()> {
    let options = PassBuilderOptions::create();
    // Gangs are our vectors of threads. LLVM's own vectorizer of loops takes time exponential in a chain of operations
    // on what a loop does not change (23.1, `vputils::isSingleScalar` has no memory), which a gradient may well have.
    options.set_loop_vectorization(false);
    options.set_loop_slp_vectorization(true);
    options.set_loop_unrolling(true);
    let passes = if passes == Passes::All { "default<O3>" } else { FEW };
    llvm.run_passes(passes, machine, options).map_err(|error| Error::llvm("passes", error.to_string()))
}

fn emit(llvm: &LlvmModule<'_>, machine: &TargetMachine, kind: FileType) -> Result<Vec<u8>> {
    let buffer = machine.write_to_memory_buffer(llvm, kind).map_err(|error| Error::llvm("emit", error.to_string()))?;
    Ok(buffer.as_slice().to_vec())
}

fn build<'c>(
    ctx: &'c Context,
    machine: &TargetMachine,
    module: &Module,
    kernel: FuncRef,
    options: &CpuOptions,
) -> Result<(LlvmModule<'c>, Passes)> {
    let func = module.funcs.get(kernel.index()).ok_or_else(|| Error::Invalid("no such function".into()))?;
    if !matches!(func.kind, FunctionKind::Kernel | FunctionKind::BlockProgram) {
        return Err(Error::Invalid(format!("`{}` is no kernel", func.name)));
    }
    ir::verify::verify(module).map_err(|errors| Error::Invalid(ir::verify::report(module, &errors)))?;
    let rank = options.rank as usize;
    if !(1..=4).contains(&rank) {
        return Err(Error::Invalid(format!("a launch of {rank} dimensions")));
    }
    let llvm = ctx.create_module("kernel");
    llvm.set_triple(&machine.get_triple());
    llvm.set_data_layout(&machine.get_target_data().get_data_layout());
    let function = declare(ctx, &llvm, &symbol(module, kernel), options.isa, module.fast_math);
    let passes = Kernel::new(ctx, &llvm, module, func, options).build(function)?;
    check_llvm(&llvm)?;
    Ok((llvm, passes))
}

fn check_llvm(llvm: &LlvmModule<'_>) -> Result<()> {
    if cfg!(debug_assertions) {
        llvm.verify().map_err(|error| {
            Error::llvm("LLVM's verifier", format!("{}\n{}", error.to_string(), llvm.print_to_string().to_string()))
        })?;
    }
    Ok(())
}

/// A function like the entry point.
pub(crate) fn declare<'c>(
    ctx: &'c Context,
    llvm: &LlvmModule<'c>,
    name: &str,
    isa: Isa,
    fast_math: bool,
) -> FunctionValue<'c> {
    let (ptr, int) = (crate::llvm::types::pointer(ctx), ctx.i64_type());
    let ty = ctx.void_type().fn_type(&[ptr.into(), ptr.into(), int.into(), int.into(), ptr.into()], false);
    let function = llvm.add_function(name, ty, None);
    let nounwind = ctx.create_enum_attribute(Attribute::get_named_enum_kind_id("nounwind"), 0);
    let (cpu, features) = cpu(isa);
    for attribute in [
        nounwind,
        ctx.create_string_attribute("target-cpu", cpu),
        ctx.create_string_attribute("target-features", features),
    ] {
        function.add_attribute(AttributeLoc::Function, attribute);
    }
    if fast_math {
        // One step from the processor's estimate is within 2 ULP.
        let estimates = ctx.create_string_attribute("reciprocal-estimates", "vec-sqrtf:1");
        function.add_attribute(AttributeLoc::Function, estimates);
    }
    function
}
