//! `launch_adjoint`: a kernel's adjoint kernel, built when it is first needed, and kept as any code is.
//!
//! In: a kernel, the arguments of its launch, and an adjoint for each, or None where it is not wanted. Out: the adjoints
//! of what the kernel read have grown, those of what it overwrote are zero. Which adjoints are wanted, and whether any
//! two arrays share memory, decides which code runs.

use crate::bytes::Reach;
use crate::errors::guarded;
use crate::function::Kernel;
use crate::infer::infer_types;
use crate::launch::{Prepared, grid, kernel_of, parse_device};
use crate::loop_memory;
use crate::pack::{Args, Packed, Signature, Words, collect_args};
use crate::plan::{Differentiated, UnitKey, Variants};
use crate::types::PyIrType;
use ir::Type;
use pipeline::{Part, Request, adjoint_params};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::sync::Arc;

/// What the adjoint kernel does with each argument: one dictionary a parameter.
#[pyfunction]
#[pyo3(signature = (kernel, args, options=None, rank=1, wanted=None))]
pub(crate) fn adjoint_facts<'py>(
    py: Python<'py>,
    kernel: &Bound<'py, PyAny>,
    args: &Bound<'py, PyAny>,
    options: Option<&Bound<'py, PyDict>>,
    rank: u32,
    wanted: Option<Vec<bool>>,
) -> PyResult<Bound<'py, PyList>> {
    guarded(|| {
        let kernel = kernel_of(kernel)?;
        let compile = kernel.get().options(options)?;
        let key = UnitKey { options: compile, rank };
        let (types, overlaps) = match args.extract::<Vec<PyIrType>>() {
            Ok(types) => (types.iter().map(|ty| ty.0).collect(), Overlaps::default()),
            Err(_) => {
                let args = collect_args(kernel.get(), args, None)?;
                let types = types_of(kernel.get(), &args)?;
                let signature = kernel.get().signature(&types);
                let mut words = Words::new();
                signature.pack(kernel.get(), &args, Reach::Any, &mut words)?;
                let overlaps = overlaps_of(kernel, &signature, &words, &types, key)?;
                (types, overlaps)
            }
        };
        let wanted = wanted.unwrap_or_else(|| vec![true; types.len()]);
        if wanted.len() != types.len() {
            let text = format!("`wanted` has {} items for {} parameters", wanted.len(), types.len());
            return Err(PyTypeError::new_err(text));
        }
        let request = Request { wanted, overlap: overlaps.own, adjoints_overlap: overlaps.adjoint, rank };
        let signature = adjoint_signature(kernel.get(), types, request);
        let unit = signature.variants.unit(kernel, &signature.types, key)?;
        let facts = PyList::empty(py);
        for fact in &unit.facts {
            let entry = PyDict::new(py);
            entry.set_item("reads", fact.reads)?;
            entry.set_item("reads_after", fact.reads_after)?;
            entry.set_item("loads", fact.loads)?;
            entry.set_item("writes", fact.writes)?;
            entry.set_item("adjoint", fact.has_adjoint)?;
            entry.set_item("adds_only", fact.only_adds)?;
            entry.set_item("writes_back", fact.writes_back)?;
            facts.append(entry)?;
        }
        Ok(facts)
    })
}

/// Runs the adjoint kernel over the launch that `dim` and `args` describe. `adj_args` has an item a parameter.
#[pyfunction]
#[pyo3(signature = (kernel, dim, args, adj_args, device=None, options=None))]
pub(crate) fn launch_adjoint<'py>(
    kernel: &Bound<'py, PyAny>,
    dim: &Bound<'py, PyAny>,
    args: &Bound<'py, PyAny>,
    adj_args: &Bound<'py, PyAny>,
    device: Option<&Bound<'py, PyAny>>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<()> {
    guarded(|| {
        let kernel = kernel_of(kernel)?;
        let (args, adjoints) = (collect_args(kernel.get(), args, None)?, collect_args(kernel.get(), adj_args, None)?);
        let types = types_of(kernel.get(), &args)?;
        let given = Given { kernel, dim, args: &args, beside: &adjoints, device, options };
        given.run(&types, |wanted| (types.clone(), wanted.to_vec(), Part::Adjoint))
    })
}

/// Runs the kernel with tangents: `tangents` has an item a parameter. With `adj_args` it is the adjoint kernel that
/// runs, and `adj_tangents` are the tangents of the adjoints.
#[pyfunction]
#[pyo3(signature = (kernel, dim, args, tangents, device=None, options=None, adj_args=None, adj_tangents=None))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn launch_tangent<'py>(
    kernel: &Bound<'py, PyAny>,
    dim: &Bound<'py, PyAny>,
    args: &Bound<'py, PyAny>,
    tangents: &Bound<'py, PyAny>,
    device: Option<&Bound<'py, PyAny>>,
    options: Option<&Bound<'py, PyDict>>,
    adj_args: Option<&Bound<'py, PyAny>>,
    adj_tangents: Option<&Bound<'py, PyAny>>,
) -> PyResult<()> {
    guarded(|| {
        let kernel = kernel_of(kernel)?;
        let collect = |list| collect_args(kernel.get(), list, None);
        let (mut args, mut beside) = (collect(args)?, collect(tangents)?);
        let own = types_of(kernel.get(), &args)?;
        let Some(adj_args) = adj_args else {
            let given = Given { kernel, dim, args: &args, beside: &beside, device, options };
            return given.run(&own, |wanted| (own.clone(), wanted.to_vec(), Part::Tangent));
        };
        let params = adjoint_params(&own);
        let mut types = own.clone();
        types.extend(params.iter().flatten());
        if types.len() > 64 {
            return Err(PyTypeError::new_err("second derivatives are for kernels of up to 32 parameters"));
        }
        let adjoints = collect(adj_args)?;
        let none = adj_args.py().None().into_bound(adj_args.py());
        let further = match adj_tangents {
            Some(list) => collect(list)?,
            None => adjoints.iter().map(|_| none.clone()).collect(),
        };
        let reached: Vec<bool> = adjoints.iter().map(|adjoint| !adjoint.is_none()).collect();
        for (index, param) in params.iter().enumerate() {
            if param.is_some() {
                args.push(adjoints[index].clone());
                beside.push(further[index].clone());
            }
        }
        let given = Given { kernel, dim, args: &args, beside: &beside, device, options };
        given.run(&types, |wanted| {
            let bits = wanted.iter().enumerate().fold(0, |bits, (at, &wanted)| bits | u64::from(wanted) << at);
            (own.clone(), reached.clone(), Part::TangentOfAdjoint(bits))
        })
    })
}

/// What Python gave.
struct Given<'a, 'py> {
    kernel: &'a Bound<'py, Kernel>,
    dim: &'a Bound<'py, PyAny>,
    args: &'a Args<'py>,
    /// An adjoint or a tangent for each argument.
    beside: &'a Args<'py>,
    device: Option<&'a Bound<'py, PyAny>>,
    options: Option<&'a Bound<'py, PyDict>>,
}

impl Given<'_, '_> {
    /// Packs arguments of `types` and what is beside them. `request` says from which of these are wanted: types of the
    /// kernel's own arguments, which of its adjoints or tangents are wanted, and what is to run.
    fn run(&self, types: &[Type], request: impl Fn(&[bool]) -> (Vec<Type>, Vec<bool>, Part)) -> PyResult<()> {
        let kernel = self.kernel;
        let grid = grid(&kernel.get().name, self.dim)?;
        let device = parse_device(self.device)?;
        let compile = kernel.get().options(self.options)?;
        let params = adjoint_params(types);
        let wanted: Vec<bool> =
            params.iter().zip(self.beside).map(|(param, beside)| param.is_some() && !beside.is_none()).collect();
        let (own, reached, part) = request(&wanted);
        let signature = |overlaps: Overlaps| {
            let Overlaps { own: overlap, adjoint: adjoints_overlap } = overlaps;
            let request = Request { wanted: reached.clone(), overlap, adjoints_overlap, rank: grid.rank };
            signature_of(kernel.get(), own.clone(), request, part, Vec::new())
        };
        // The words lie the same whether they overlap or not.
        let mut found = signature(Overlaps::default());
        let mut words = Words::new();
        words.resize(found.n_words(), 0);
        let mut packed = Packed::default();
        for (index, arg) in self.args.iter().enumerate() {
            if !(arg.is_none() && index >= own.len()) {
                found.pack_one(kernel.get(), index, arg, device.reach(), &mut words, &mut packed)?;
            }
        }
        let mut at = self.args.len();
        for (index, beside) in self.beside.iter().enumerate() {
            if params[index].is_none() {
                continue;
            }
            if wanted[index] {
                found.pack_one(kernel.get(), at, beside, device.reach(), &mut words, &mut packed)?;
                check_shape(kernel, index, at, &found, &words)?;
            }
            at += 1;
        }
        let key = UnitKey { options: compile, rank: grid.rank };
        let overlaps = overlaps_of(kernel, &found, &words, &own, key)?;
        if overlaps != Overlaps::default() {
            found = signature(overlaps);
        }
        let job = Prepared {
            kernel,
            signature: &found,
            words: &words,
            packed: &packed,
            grid,
            device,
            compile,
            options: self.options,
            on_tape: None,
            stream: None,
            block: 0,
        };
        run_steps(&job)
    }
}

fn types_of(kernel: &Kernel, args: &Args<'_>) -> PyResult<Vec<Type>> {
    match &kernel.closed {
        Some(closed) => Ok(closed.types.clone()),
        None => infer_types(kernel, args),
    }
}

/// Runs an adjoint kernel, and before it what it takes.
pub(crate) fn run_steps(job: &Prepared<'_, '_>) -> PyResult<()> {
    let variants = &job.signature.variants;
    let Some(adjoint) = variants.adjoint() else { return job.run().map(drop) };
    // As `run` asks for it.
    let options = job.compile.for_words(job.signature, job.words).on(job.device);
    let key = UnitKey { options, rank: job.grid.rank };
    let unit = variants.unit(job.kernel, &job.signature.types, key)?;
    let signature = |part: Part, further: &[Type]| {
        let kernel = job.kernel.get();
        signature_of(kernel, adjoint.types.clone(), adjoint.request.clone(), part, further.to_vec())
    };
    if unit.has_primer {
        Prepared { signature: &signature(Part::Primer, &[]), ..*job }.run()?;
    }
    if unit.tapes.is_empty() {
        return job.run().map(drop);
    }
    loop_memory::run(job, &unit, key, &signature)
}

/// The signature of an adjoint kernel: the kernel's parameters, then their adjoints.
pub(crate) fn adjoint_signature(kernel: &Kernel, types: Vec<Type>, request: Request) -> Arc<Signature> {
    signature_of(kernel, types, request, Part::Adjoint, Vec::new())
}

fn signature_of(kernel: &Kernel, types: Vec<Type>, request: Request, part: Part, further: Vec<Type>) -> Arc<Signature> {
    let mut known = kernel.adjoints.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let adjoint = Differentiated { types, request, part, further };
    if let Some(signature) = known.iter().find(|signature| signature.variants.adjoint() == Some(&adjoint)) {
        return signature.clone();
    }
    let mut all = adjoint.types.clone();
    all.extend(adjoint_params(&adjoint.types).into_iter().flatten());
    if let Part::TangentOfAdjoint(_) = part {
        all.extend(adjoint_params(&all.clone()).into_iter().flatten());
    }
    all.extend(&adjoint.further);
    let signature = Arc::new(Signature::with_variants(all, Variants::of_adjoint(adjoint)));
    known.push(signature.clone());
    signature
}

/// Every access to an array is made to its adjoint too, so they must have one shape.
fn check_shape(
    kernel: &Bound<'_, Kernel>,
    index: usize,
    at: usize,
    signature: &Signature,
    words: &[u64],
) -> PyResult<()> {
    let Some((_, rank)) = signature.types[index].as_array() else { return Ok(()) };
    let shape = |index| &signature.words_of(index, words)[1..1 + rank as usize];
    if shape(index) == shape(at) {
        return Ok(());
    }
    let why = format!("its adjoint has shape {:?}, and it has shape {:?}", shape(at), shape(index));
    Err(kernel.get().refuse(kernel.py(), index, "", crate::bytes::Mismatch::Unfit(why)))
}

/// Which arrays among the arguments share memory, by the ranges of addresses that they lie in, or have elements that do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Overlaps {
    /// Two of the kernel's own, of which it writes to one; or one that it writes to.
    pub(crate) own: bool,
    /// Two of which one is an adjoint; or one.
    pub(crate) adjoint: bool,
}

/// The kernel's own parameters come first; `written` says for each whether the kernel writes to its arrays.
pub(crate) fn overlaps(signature: &Signature, words: &[u64], written: &[bool]) -> Overlaps {
    let places = signature.places().iter();
    let mut spans: Vec<_> = places.filter_map(|place| Some((place.span(words)?, place.param))).collect();
    spans.sort_unstable_by_key(|(span, _)| span.lo);
    let mut found = Overlaps::default();
    for place in signature.places().iter().filter(|place| place.elements_may_overlap(words)) {
        match written.get(place.param) {
            Some(&is_written) => found.own |= is_written,
            None => found.adjoint = true,
        }
    }
    for (index, &(span, param)) in spans.iter().enumerate() {
        for &(_, other) in spans[index + 1..].iter().take_while(|(other, _)| other.lo < span.hi) {
            match (written.get(param), written.get(other)) {
                (Some(a), Some(b)) => found.own |= a | b,
                _ => found.adjoint = true,
            }
        }
    }
    found
}

/// As [`overlaps`], where the kernel is asked what it writes to only if it matters.
fn overlaps_of(
    kernel: &Bound<'_, Kernel>,
    signature: &Signature,
    words: &[u64],
    types: &[Type],
    key: UnitKey,
) -> PyResult<Overlaps> {
    let found = overlaps(signature, words, &vec![true; types.len()]);
    if !found.own {
        return Ok(found);
    }
    let own = kernel.get().signature(types);
    Ok(overlaps(signature, words, &own.variants.unit(kernel, types, key)?.summary().written))
}
