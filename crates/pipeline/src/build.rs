//! From a live kernel to a [`Unit`].
//!
//! In: a kernel as the host sees it and the types of its arguments. Out: its IR, or that of the kernels which a gradient
//! of it takes.

use crate::answers::{Asked, Recorder};
use crate::cache::DiskCache;
use crate::counters::{Phase, record};
use crate::recall::{self, Wanted};
use crate::unit::{Source, SourceIr, Unit};
use autodiff::{Adjoint, Request};
use diagnostics::SourceMap;
use frontend::{Custom, Derivative, Extended, FuncSource, Host, HostArgument, HostValue, ObjectId, Options, Rejected};
use ir::{Const, CustomGradient, Module, Type};
use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};
use transform::Sharing;

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

/// A function's typed IR, and what it depends on in the program; `None` where that is not known.
pub fn lower_function(
    host: &dyn Host,
    func: ObjectId,
    arg_types: &[Type],
    options: &Options,
) -> Result<(frontend::Lowered, Option<Asked>), Rejected> {
    let recorder = Recorder::new(host, func);
    let lowered = with_derivatives(frontend::lower_function(&recorder, func, arg_types, options)?)?;
    Ok((lowered, recorder.finish()))
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

/// A kernel's unit, from the disk where it is there.
pub fn build(
    host: &dyn Host,
    kernel: ObjectId,
    arg_types: &[Type],
    options: &Options,
    disk: Option<&DiskCache>,
) -> Result<Unit, Rejected> {
    let wanted = Wanted { kernel, arg_types, options, nulls: None, gradient: None };
    recall::unit(host, wanted, disk, |host| Ok(unit(lower(host, kernel, arg_types, options)?)))
}

/// As [`build`], with bounds checks, for launches that leave arrays out: which ones is said as to
/// `transform::settle_nulls`.
pub fn build_with_nulls(
    host: &dyn Host,
    kernel: ObjectId,
    arg_types: &[Type],
    options: &Options,
    nulls: u64,
    disk: Option<&DiskCache>,
) -> Result<Unit, Rejected> {
    let nulls = (!options.checked).then_some(nulls);
    let options = &Options { check_bounds: true, ..options.clone() };
    let wanted = Wanted { kernel, arg_types, options, nulls, gradient: None };
    let make = |host: &dyn Host| Ok(unit_for(lower(host, kernel, arg_types, options)?, Sharing::Arrays, nulls));
    recall::unit(host, wanted, disk, make)
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

/// The unit of a kernel's adjoint kernel, or of one that runs before it.
pub fn build_adjoint(
    host: &dyn Host,
    kernel: ObjectId,
    arg_types: &[Type],
    options: &Options,
    request: &Request,
    part: Part,
    disk: Option<&DiskCache>,
) -> Result<Unit, Rejected> {
    // What the kernel checks it has checked when it ran.
    let unchecked = Options { checked: false, check_bounds: false, check_finite: false, ..options.clone() };
    let options = &Options { gradients: true, ..unchecked };
    let wanted = Wanted { kernel, arg_types, options, nulls: None, gradient: Some((request, part)) };
    recall::unit(host, wanted, disk, |host| adjoint(lower(host, kernel, arg_types, options)?, request, part))
}

fn adjoint(lowered: frontend::Lowered, request: &Request, part: Part) -> Result<Unit, Rejected> {
    let frontend::Lowered { module, sources, launch_rank, custom, .. } = lowered;
    if part == Part::Tangent {
        return tangent(&module, &custom, request, Context { sources, launch_rank });
    }
    match autodiff::reverse(&module, &custom, request) {
        Ok(Adjoint { module, facts, reads_elsewhere, primer, measure, tapes }) => {
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
            let mut unit = unit_for(lowered, request.shared(), None);
            (unit.facts, unit.has_primer, unit.tapes) = (facts, has_primer, tapes);
            unit.reads_elsewhere = reads_elsewhere;
            Ok(unit)
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
            Ok(unit_for(lowered, request.shared(), None))
        }
        Err(diagnostics) => Err(Rejected { diagnostics, sources }),
    }
}

/// The rest of [`build`], for IR that is there already.
pub fn unit(lowered: frontend::Lowered) -> Unit {
    unit_for(lowered, Sharing::Arrays, None)
}

/// With `nulls`, some arrays have no memory.
fn unit_for(lowered: frontend::Lowered, sharing: Sharing, nulls: Option<u64>) -> Unit {
    let frontend::Lowered { module, sources, launch_rank, .. } = lowered;
    Unit::new(Source { ir: SourceIr::made(module), launch_rank, sharing, nulls }, sources)
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

    fn warn(&self, report: String) {
        self.host.warn(report);
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

    fn names(&self, scope: ObjectId) -> Vec<String> {
        self.host.names(scope)
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

    fn is_extended(&self) -> bool {
        self.host.is_extended()
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
