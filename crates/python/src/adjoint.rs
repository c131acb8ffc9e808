//! `launch_adjoint`: a kernel's adjoint kernel, built when it is first needed, and kept as any code is.
//!
//! In: a kernel, the arguments of its launch, and an adjoint for each, or None where it is not wanted. Out: the adjoints
//! of what the kernel read have grown, those of what it overwrote are zero. Which adjoints are wanted, and whether any
//! two arrays share memory, decides which code runs.

use crate::bytes::Reach;
use crate::errors::guarded;
use crate::function::Kernel;
use crate::launch::{Prepared, grid, kernel_of, parse_device};
use crate::pack::{Args, Packed, Signature, Words, collect_args, infer_types};
use crate::plan::{Differentiated, UnitKey, Variants};
use crate::types::PyIrType;
use ir::Type;
use pipeline::{Request, adjoint_params};
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
        let (types, overlap) = match args.extract::<Vec<PyIrType>>() {
            Ok(types) => (types.iter().map(|ty| ty.0).collect(), false),
            Err(_) => {
                let args = collect_args(kernel.get(), args, None)?;
                let types = types_of(kernel.get(), &args)?;
                let signature = kernel.get().signature(&types);
                let mut words = Words::new();
                signature.pack(kernel.get(), &args, Reach::Any, &mut words)?;
                (types, overlap(&signature, &words))
            }
        };
        let wanted = wanted.unwrap_or_else(|| vec![true; types.len()]);
        if wanted.len() != types.len() {
            let text = format!("`wanted` has {} items for {} parameters", wanted.len(), types.len());
            return Err(PyTypeError::new_err(text));
        }
        let signature = adjoint_signature(kernel.get(), types, Request { wanted, overlap });
        let unit = signature.variants.unit(kernel, &signature.types, UnitKey { options: compile, rank })?;
        let facts = PyList::empty(py);
        for fact in &unit.facts {
            let entry = PyDict::new(py);
            entry.set_item("reads", fact.reads)?;
            entry.set_item("loads", fact.loads)?;
            entry.set_item("writes", fact.writes)?;
            entry.set_item("adjoint", fact.has_adjoint)?;
            entry.set_item("adds_only", fact.only_adds)?;
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
        let grid = grid(&kernel.get().name, dim)?;
        let device = parse_device(device)?;
        let compile = kernel.get().options(options)?;
        let args = collect_args(kernel.get(), args, None)?;
        let adjoints = collect_args(kernel.get(), adj_args, None)?;
        let types = types_of(kernel.get(), &args)?;
        let params = adjoint_params(&types);
        let wanted: Vec<bool> =
            params.iter().zip(&adjoints).map(|(param, adjoint)| param.is_some() && !adjoint.is_none()).collect();
        // The words lie the same whatever is wanted, so that they can be packed to find out what overlaps.
        let request = Request { wanted, overlap: false };
        let mut signature = adjoint_signature(kernel.get(), types.clone(), request.clone());
        let mut words = Words::new();
        words.resize(signature.n_words(), 0);
        let mut packed = Packed::default();
        for (index, arg) in args.iter().enumerate() {
            signature.pack_one(kernel.get(), index, arg, device.reach(), &mut words, &mut packed)?;
        }
        let mut at = args.len();
        for (index, adjoint) in adjoints.iter().enumerate() {
            if params[index].is_none() {
                continue;
            }
            if request.wanted[index] {
                signature.pack_one(kernel.get(), at, adjoint, device.reach(), &mut words, &mut packed)?;
                check_shape(kernel, index, at, &signature, &words)?;
            }
            at += 1;
        }
        if overlap(&signature, &words) {
            signature = adjoint_signature(kernel.get(), types, Request { overlap: true, ..request });
        }
        let job = Prepared {
            kernel,
            signature: &signature,
            words: &words,
            packed: &packed,
            grid,
            device,
            compile,
            options,
            on_tape: None,
            stream: None,
            block: 0,
        };
        job.run().map(|_| ())
    })
}

fn types_of(kernel: &Kernel, args: &Args<'_>) -> PyResult<Vec<Type>> {
    match &kernel.closed {
        Some(closed) => Ok(closed.types.clone()),
        None => infer_types(kernel, args),
    }
}

/// The signature of an adjoint kernel: the kernel's parameters, then their adjoints.
pub(crate) fn adjoint_signature(kernel: &Kernel, types: Vec<Type>, request: Request) -> Arc<Signature> {
    let mut known = kernel.adjoints.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let is_same = |signature: &&Arc<Signature>| {
        signature.variants.adjoint().is_some_and(|adjoint| adjoint.request == request && adjoint.types == types)
    };
    if let Some(signature) = known.iter().find(is_same) {
        return signature.clone();
    }
    let mut all = types.clone();
    all.extend(adjoint_params(&types).into_iter().flatten());
    let variants = Variants::of_adjoint(Differentiated { types, request });
    let signature = Arc::new(Signature::with_variants(all, variants));
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

/// Whether any two arrays may share memory: the ranges of addresses that they lie in meet.
pub(crate) fn overlap(signature: &Signature, words: &[u64]) -> bool {
    let mut spans: Vec<_> = signature.places().iter().filter_map(|place| place.span(words)).collect();
    spans.sort_unstable_by_key(|span| span.lo);
    spans.windows(2).any(|pair| pair[1].lo < pair[0].hi)
}
