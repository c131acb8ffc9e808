//! The adjoint kernel of a recorded launch: what it needs, and how it is run.
//!
//! Both are found once for a signature and options. Which gradients are wanted is known on the way back only, so that
//! what a launch keeps is what the adjoint kernel for all of them reads.

use crate::adjoint::{Overlaps, adjoint_signature, overlaps, run_steps};
use crate::array::Array;
use crate::errors::guarded;
use crate::function::Kernel;
use crate::launch::{Device, Job, Prepared};
use crate::pack::{Packed, Signature, Words};
use crate::plan::{CpuKey, Ready, UnitKey};
use crate::tape::record::Launching;
use crate::tape::state::Launched;
use crate::tape::watch::{self, out_of_memory};
use ::tape::Saved;
use pipeline::Request;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Arc, Mutex};

/// One parameter.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ParamFacts {
    /// The backward pass reads the array's values from before the launch.
    pub(crate) reads: bool,
    /// The backward pass reads the array's values from after the launch.
    pub(crate) reads_after: bool,
    /// The kernel loads from it.
    pub(crate) loads: bool,
    /// The kernel writes to it.
    pub(crate) writes: bool,
    /// Every write is an addition, so that the gradient stays.
    pub(crate) only_adds: bool,
    /// A gradient of the user's writes to the array on the way back.
    writes_back: bool,
    /// Number of the adjoint kernel's parameter for its gradient.
    adjoint: Option<usize>,
}

/// Facts of a kernel for one signature and options.
pub(crate) struct Facts {
    pub(crate) params: Vec<ParamFacts>,
    /// The backward pass reads what the kernel found by itself: arrays of a mesh, by its id.
    pub(crate) reads_elsewhere: bool,
    codes: Mutex<Vec<Code>>,
}

/// A variant of the adjoint kernel.
#[derive(Clone)]
struct Code {
    request: Request,
    is_contiguous: bool,
    signature: Arc<Signature>,
    /// Where launches run on the CPU.
    ready: Option<Arc<Ready>>,
}

/// The facts of a launch's kernel.
pub(crate) fn of(launching: &Launching<'_, '_>) -> PyResult<Arc<Facts>> {
    let Launching { kernel, signature, key, .. } = *launching;
    let mut known = signature.facts.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some((_, facts)) = known.iter().find(|(other, _)| *other == key) {
        return Ok(facts.clone());
    }
    drop(known);
    let facts = Arc::new(Facts::find(kernel, signature, key, launching.written));
    known = signature.facts.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    known.push((key, facts.clone()));
    Ok(facts)
}

impl Facts {
    fn find(kernel: &Bound<'_, Kernel>, signature: &Signature, key: UnitKey, written: &[bool]) -> Facts {
        let n = signature.types.len();
        let request = Request { wanted: vec![true; n], overlap: false, adjoints_overlap: false, rank: key.rank };
        let adjoint = adjoint_signature(kernel.get(), signature.types.clone(), request);
        // A kernel without gradient is refused on the way back, if anything is asked of it then.
        let unit = adjoint.variants.unit(kernel, &adjoint.types, key).ok();
        let mut next = n;
        let adjoints = pipeline::adjoint_params(&signature.types);
        let params = adjoints.iter().enumerate().map(|(index, adjoint)| {
            let number = adjoint.is_some().then_some(next);
            next += usize::from(adjoint.is_some());
            let fact = unit.as_ref().map(|unit| unit.facts[index]);
            ParamFacts {
                reads: fact.is_some_and(|fact| fact.reads),
                reads_after: fact.is_some_and(|fact| fact.reads_after),
                loads: fact.is_none_or(|fact| fact.loads),
                writes: written[index],
                only_adds: fact.is_some_and(|fact| fact.only_adds),
                writes_back: fact.is_some_and(|fact| fact.writes_back),
                adjoint: number,
            }
        });
        Facts {
            params: params.collect(),
            reads_elsewhere: unit.as_ref().is_some_and(|unit| unit.reads_elsewhere),
            codes: Mutex::default(),
        }
    }

    /// Runs the adjoint kernel. `words` are the arguments with arrays as they were before the launch; `gradients` has
    /// one for each place, or none.
    pub(crate) fn run(
        &self,
        py: Python<'_>,
        launch: &Launched,
        words: &[u64],
        gradients: &[Option<&Array>],
    ) -> PyResult<()> {
        let places = launch.signature.places();
        for place in places.iter().filter(|place| self.params[place.param].writes_back) {
            let writer = || format!("a gradient of the user's, called by {}", launch.name_of(place));
            place.span(words).map_or(Ok(()), |span| watch::before_write(span, false, &writer))?;
        }
        let mut wanted = vec![false; self.params.len()];
        for (place, gradient) in places.iter().zip(gradients) {
            wanted[place.param] |= gradient.is_some();
        }
        let mut all = Words::from_slice(words);
        let mut dropped: Vec<Saved> = Vec::new();
        for (index, param) in self.params.iter().enumerate() {
            let Some(ty) = param.adjoint.map(|_| launch.signature.types[index]) else { continue };
            let begin = all.len();
            let is_array = places.iter().any(|place| place.param == index);
            if !is_array {
                // The adjoint of a value: an array of one element, which nobody wants here.
                all.resize(begin + 3, 0);
                continue;
            }
            // A struct of gradients lies as the struct does.
            let from = launch.signature.word_of(index);
            let n_words = (ty.size() as usize).div_ceil(8);
            all.extend_from_slice(&words[from..from + n_words]);
            for (place, gradient) in
                places.iter().zip(gradients).filter(|(place, _)| place.param == index && place.is_float)
            {
                let at = begin + place.word - from;
                let descriptor = &mut all[at..at + place.n_words()];
                match gradient {
                    Some(gradient) => descriptor.copy_from_slice(&gradient.descriptor),
                    None if wanted[index] => descriptor[0] = self.drop_at(launch, place, &mut dropped)?,
                    None => descriptor.fill(0),
                }
            }
        }
        let code = self.code(py, launch, wanted, &all)?;
        let kernel = launch.kernel.bind(py);
        if let Some(ready) = code.ready.as_ref().filter(|_| launch.device == Device::Cpu)
            && !ready.unit.has_primer
            && ready.unit.tapes.is_empty()
        {
            let job = Job { kernel: kernel.get(), signature: &code.signature, words: &all, grid: &launch.grid };
            return guarded(|| job.run(py, ready));
        }
        let job = Prepared {
            kernel,
            signature: &code.signature,
            words: &all,
            packed: &Packed::default(),
            grid: launch.grid,
            device: launch.device,
            compile: launch.key.options,
            options: None,
            on_tape: None,
            stream: None,
            block: 0,
        };
        run_steps(&job)
    }

    /// Memory for the gradient of an array that has none, inside of a struct with others that have.
    fn drop_at(&self, launch: &Launched, place: &crate::tape::Place, dropped: &mut Vec<Saved>) -> PyResult<u64> {
        let Some(span) = place.span(&launch.words) else { return Ok(0) };
        let memory = Saved::zeroed(watch::memory_of(span), span).map_err(out_of_memory)?;
        let address = memory.moved(launch.words[place.word]);
        dropped.push(memory);
        Ok(address)
    }

    /// The code for these gradients and arguments.
    fn code(&self, py: Python<'_>, launch: &Launched, wanted: Vec<bool>, words: &[u64]) -> PyResult<Code> {
        let kernel = launch.kernel.bind(py);
        let lock = || self.codes.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let mut request = Request { wanted, overlap: false, adjoints_overlap: false, rank: launch.key.rank };
        // Where the arguments lie does not depend on what is wanted.
        let signature = match lock().iter().find(|code| code.request.wanted == request.wanted) {
            Some(code) => code.signature.clone(),
            None => adjoint_signature(kernel.get(), launch.signature.types.clone(), request.clone()),
        };
        let written: Vec<bool> = self.params.iter().map(|param| param.writes || param.writes_back).collect();
        let Overlaps { own, adjoint } = overlaps(&signature, words, &written);
        (request.overlap, request.adjoints_overlap) = (own, adjoint);
        let is_contiguous = signature.is_contiguous(words);
        let is_cpu = launch.device == Device::Cpu;
        let is_same = |code: &&Code| {
            code.request == request && code.is_contiguous == is_contiguous && (code.ready.is_some() || !is_cpu)
        };
        if let Some(code) = lock().iter().find(is_same) {
            return Ok(code.clone());
        }
        let signature = adjoint_signature(kernel.get(), launch.signature.types.clone(), request.clone());
        let options = kernel.as_any().call_method0(pyo3::intern!(py, "compile_options"))?.cast_into::<PyDict>()?;
        let cpu = CpuKey::usual(is_contiguous);
        let compile = || signature.variants.code(kernel, &signature.types, launch.key, cpu, Some(&options));
        let ready = is_cpu.then(compile).transpose()?;
        let code = Code { request, is_contiguous, signature, ready };
        lock().push(code.clone());
        Ok(code)
    }
}
