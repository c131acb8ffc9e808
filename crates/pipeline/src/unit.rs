//! From a live kernel to optimized IR.
//!
//! In: a kernel as the host sees it and the types of its arguments. Out: a [`Unit`], which needs no host any more.

use crate::counters::{Phase, record, timed};
use crate::writes::{indexed_dimensions, written_params};
use autodiff::{Adjoint, Fact, Request};
use diagnostics::SourceMap;
use frontend::{Custom, Derivative, Extended, FuncSource, Host, HostArgument, HostValue, ObjectId, Options, Rejected};
use ir::{Const, CustomGradient, FuncRef, Function, FunctionKind, Module, Site, Type};
use runtime::abi::MAX_RANK;
use std::cell::Cell;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use transform::Refused;

/// A kernel with everything it calls inlined, optimized and verified.
#[derive(Debug)]
pub struct Unit {
    pub module: Module,
    pub kernel: FuncRef,
    /// What the spans of the module's sites point into.
    pub sources: SourceMap,
    /// Per parameter: whether the kernel may write to the array that it is given.
    pub written: Vec<bool>,
    /// Of an adjoint kernel: what it does with each argument of the kernel that it differentiates.
    pub facts: Vec<Fact>,
    /// Of an adjoint kernel: its primer must run before.
    pub has_primer: bool,
    /// Of an adjoint kernel: what it keeps in memory that all threads share.
    pub tapes: Vec<Type>,
    /// Per dimension of a launch: whether the kernel asks for a thread's index along it.
    pub indexed: [bool; MAX_RANK],
    /// Array parameters of which a GPU's blocks may sum up what is added to them, where they are small.
    pub summed: Vec<usize>,
    /// For a kernel over thread blocks, what the CPU runs; made on first use.
    program: OnceLock<Result<Module, Refused>>,
}

impl Unit {
    /// What is known of a module that is optimized; nothing where no kernel is in it. `indexed` is as it was before.
    pub(crate) fn of_optimized(module: Module, sources: SourceMap, indexed: [bool; MAX_RANK]) -> Option<Unit> {
        let kernel = module.kernel()?;
        let written = written_params(module.func(kernel));
        let summed = transform::summed_arrays(module.func(kernel));
        Some(Unit {
            module,
            kernel,
            sources,
            written,
            indexed,
            facts: Vec::new(),
            has_primer: false,
            tapes: Vec::new(),
            summed,
            program: OnceLock::new(),
        })
    }

    /// The module that code for the CPU is made from: a kernel over thread blocks runs as a program there.
    pub fn code(&self) -> Result<&Module, codegen::Error> {
        if !self.is_over_blocks() {
            return Ok(&self.module);
        }
        let make = || {
            let mut module = self.module.clone();
            let _ = transform::fission_barriers(&mut module)?;
            transform::optimize(&mut module);
            Ok(module)
        };
        let program = self.program.get_or_init(|| timed(Phase::Optimized, make));
        program.as_ref().map_err(|refused| codegen::Error::Unsupported(refused.to_string()))
    }

    pub fn is_over_blocks(&self) -> bool {
        self.func().kind == FunctionKind::BlockKernel
    }

    /// Whether blocks wait for each other.
    pub fn waits_for_grid(&self) -> bool {
        self.func().insts.iter().any(|inst| inst.op == ir::Op::GridBarrier)
    }

    /// A function of other code that it calls, if it does: such a kernel runs on a GPU alone.
    pub fn external(&self) -> Option<&str> {
        self.func().insts.iter().find_map(|inst| match &inst.attr {
            ir::Attr::Text(name) if inst.op == ir::Op::CallExtern => Some(&**name),
            _ => None,
        })
    }

    /// A place that a failed check names.
    pub fn site(&self, site: u32) -> Option<&Site> {
        // A program has the kernel's own sites first, then more.
        let module = match self.program.get() {
            Some(Ok(program)) => program,
            _ => &self.module,
        };
        module.sites.get(site as usize)
    }

    pub fn func(&self) -> &Function {
        self.module.func(self.kernel)
    }
}

/// A kernel's typed IR, as the front end made it.
pub fn lower(
    host: &dyn Host,
    kernel: ObjectId,
    arg_types: &[Type],
    options: &Options,
) -> Result<frontend::Lowered, Rejected> {
    let host = Timed { host, reading: Cell::new(Duration::ZERO) };
    let start = Instant::now();
    let lowered = frontend::lower_kernel(&host, kernel, arg_types, options);
    let reading = host.reading.get();
    record(Phase::Captured, reading);
    record(Phase::Inferred, start.elapsed().saturating_sub(reading));
    with_derivatives(lowered?)
}

/// Gives the derivatives that a kernel or function calls their bodies.
pub fn with_derivatives(mut lowered: frontend::Lowered) -> Result<frontend::Lowered, Rejected> {
    for Derivative { func, of, span } in std::mem::take(&mut lowered.derivatives) {
        let module = &mut lowered.module;
        match autodiff::differentiate(module, &lowered.custom, of, &module.func(func).name) {
            Ok(made) => module.funcs[func.index()] = made,
            Err(mut diagnostics) => {
                for diagnostic in diagnostics.iter_mut().filter(|diagnostic| diagnostic.span.is_none()) {
                    diagnostic.span = span;
                }
                return Err(Rejected { diagnostics, sources: lowered.sources });
            }
        }
    }
    Ok(lowered)
}

/// A kernel's optimized IR.
pub fn build(host: &dyn Host, kernel: ObjectId, arg_types: &[Type], options: &Options) -> Result<Unit, Rejected> {
    Ok(optimize(lower(host, kernel, arg_types, options)?))
}

/// As [`build`], with bounds checks, for launches that leave arrays out: which ones is said as to
/// `transform::settle_nulls`.
pub fn build_with_nulls(
    host: &dyn Host,
    kernel: ObjectId,
    arg_types: &[Type],
    options: &Options,
    nulls: u64,
) -> Result<Unit, Rejected> {
    let mut unit = build(host, kernel, arg_types, &Options { check_bounds: true, ..options.clone() })?;
    if !options.checked {
        timed(Phase::Optimized, || {
            let kernel = unit.module.funcs.get_mut(unit.kernel.index());
            if kernel.is_some_and(|kernel| transform::settle_nulls(kernel, nulls).0) {
                transform::optimize(&mut unit.module);
            }
        });
    }
    Ok(unit)
}

/// The kernels that a gradient takes, in the order in which they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Where the unit of `Adjoint` says that it has one.
    Primer,
    /// Where the unit of `Adjoint` has tapes.
    Measure,
    Adjoint,
    /// Forward mode; alone.
    Tangent,
    /// Forward mode of the adjoint kernel; alone. A bit for each parameter of the adjoint kernel: whether its tangent is
    /// wanted.
    TangentOfAdjoint(u64),
}

/// The optimized IR of a kernel's adjoint kernel, or of one that runs before it.
pub fn build_adjoint(
    host: &dyn Host,
    kernel: ObjectId,
    arg_types: &[Type],
    options: &Options,
    request: &Request,
    part: Part,
) -> Result<Unit, Rejected> {
    // What the kernel checks it has checked when it ran.
    let unchecked = Options { checked: false, check_bounds: false, check_finite: false, ..options.clone() };
    let options = Options { gradients: true, ..unchecked };
    let frontend::Lowered { module, sources, launch_rank, custom, .. } = lower(host, kernel, arg_types, &options)?;
    if part == Part::Tangent {
        return tangent(&module, &custom, request, Context { sources, launch_rank });
    }
    match autodiff::reverse(&module, &custom, request) {
        Ok(Adjoint { module, facts, primer, measure, tapes }) => {
            let has_primer = primer.is_some();
            if let Part::TangentOfAdjoint(bits) = part {
                let n = module.kernel().map_or(0, |kernel| module.func(kernel).params.len());
                let wanted = (0..n).map(|index| index < 64 && bits >> index & 1 == 1).collect();
                let request = Request { wanted, ..request.clone() };
                return tangent(&module, &[], &request, Context { sources, launch_rank });
            }
            let module = match part {
                Part::Adjoint => Some(module),
                Part::Primer => primer,
                Part::Measure => measure,
                Part::Tangent | Part::TangentOfAdjoint(_) => None,
            };
            let module = module.unwrap_or_else(|| panic!("the gradient has no part {part:?}"));
            let lowered = frontend::Lowered { module, sources, launch_rank, custom, derivatives: Vec::new() };
            Ok(Unit { facts, has_primer, tapes, ..optimize_for(lowered, request.are_distinct()) })
        }
        Err(diagnostics) => Err(Rejected { diagnostics, sources }),
    }
}

struct Context {
    sources: SourceMap,
    launch_rank: u32,
}

fn tangent(module: &Module, custom: &[CustomGradient], request: &Request, context: Context) -> Result<Unit, Rejected> {
    let Context { sources, launch_rank } = context;
    match autodiff::forward(module, custom, request) {
        Ok(module) => {
            let (custom, derivatives) = (Vec::new(), Vec::new());
            let lowered = frontend::Lowered { module, sources, launch_rank, custom, derivatives };
            Ok(optimize_for(lowered, request.are_distinct()))
        }
        Err(diagnostics) => Err(Rejected { diagnostics, sources }),
    }
}

/// The rest of [`build`], for IR that is there already.
pub fn optimize(lowered: frontend::Lowered) -> Unit {
    optimize_for(lowered, false)
}

/// With `are_distinct`, no two arguments share memory.
fn optimize_for(lowered: frontend::Lowered, are_distinct: bool) -> Unit {
    let frontend::Lowered { mut module, sources, launch_rank, .. } = lowered;
    // As written: what the optimizer concludes from an index takes for granted that launches keep to its range.
    let indexed = module.kernel().map_or([false; MAX_RANK], |kernel| indexed_dimensions(module.func(kernel)));
    timed(Phase::Optimized, || {
        transform::optimize(&mut module);
        // Only now do accesses name the kernel's own parameters.
        let mut kernels = module.funcs.iter_mut().filter(|func| func.kind == FunctionKind::Kernel);
        if kernels.any(|kernel| transform::demote_atomics(kernel, launch_rank, are_distinct).0) {
            transform::optimize(&mut module);
        }
        if are_distinct {
            for kernel in module.funcs.iter_mut().filter(|func| func.kind == FunctionKind::Kernel) {
                let _ = transform::sink_stores(kernel);
            }
        }
    });
    assert!(module.kernel().is_some(), "no kernel is left after optimization:\n{module}");
    Unit::of_optimized(module, sources, indexed).unwrap_or_else(|| unreachable!("there is a kernel"))
}

/// Passes every question on and measures how long sources take to read.
struct Timed<'h> {
    host: &'h dyn Host,
    reading: Cell<Duration>,
}

impl Host for Timed<'_> {
    fn source(&self, func: ObjectId) -> Result<Arc<FuncSource>, String> {
        let start = Instant::now();
        let source = self.host.source(func);
        self.reading.set(self.reading.get() + start.elapsed());
        source
    }

    fn overloads(&self, func: ObjectId) -> Vec<ObjectId> {
        self.host.overloads(func)
    }

    fn custom(&self, func: ObjectId, kind: Custom) -> Option<ObjectId> {
        self.host.custom(func, kind)
    }

    fn lookup(&self, scope: ObjectId, name: &str) -> Option<HostValue> {
        self.host.lookup(scope, name)
    }

    fn attribute(&self, object: ObjectId, name: &str) -> Option<HostValue> {
        self.host.attribute(object, name)
    }

    fn evaluate(&self, scope: ObjectId, expression: &str, locals: &[(String, HostValue)]) -> Result<HostValue, String> {
        self.host.evaluate(scope, expression, locals)
    }

    fn static_value(&self, scope: ObjectId, line: u32, column: u32) -> Option<HostValue> {
        self.host.static_value(scope, line, column)
    }

    fn member(&self, class: ObjectId, name: &str) -> Option<HostValue> {
        self.host.member(class, name)
    }

    fn library_name(&self, object: ObjectId) -> Option<String> {
        self.host.library_name(object)
    }

    fn implementation(&self, what: Extended<'_>, args: &[HostArgument]) -> Result<Option<ObjectId>, String> {
        self.host.implementation(what, args)
    }

    fn device_array(&self, object: ObjectId) -> Option<(Type, u64, Vec<u64>)> {
        self.host.device_array(object)
    }

    fn constant_array(&self, object: ObjectId) -> Option<(Type, Vec<u64>, Vec<Const>)> {
        self.host.constant_array(object)
    }

    fn describe(&self, object: ObjectId) -> String {
        self.host.describe(object)
    }
}
