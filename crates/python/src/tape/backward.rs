//! The way back over a tape.
//!
//! In: a tape, and arrays whose gradients were set. Out: the gradients of everything that these depend on, added to what
//! was there. Each launch's adjoint kernel runs with the values that the launch read: in place where nothing has
//! written to them since, from a copy otherwise.

use crate::objects;
use crate::tape::Place;
use crate::tape::gradients::{descriptor, gradient, zero_one};
use crate::tape::lost;
use crate::tape::replay;
use crate::tape::state::{Entry, Func, Launched, Shared, Stretch};
use crate::tape::watch::{self, out_of_memory};
use ::tape::{Saved, Span, State as Version, Undo};
use pyo3::exceptions::PyRuntimeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::HashMap;
use std::sync::Arc;

/// Gives what the user should be warned of. `is_named`: the seeds are all that gradients come in at.
pub(crate) fn run(py: Python<'_>, tape: &Arc<Shared>, seeds: &[Py<PyAny>], is_named: bool) -> PyResult<Vec<String>> {
    let mut walk = Walk::begin(py, tape)?;
    walk.gradients(py)?;
    let spans =
        seeds.iter().filter_map(|seed| super::span_of(seed.bind(py)).transpose()).collect::<PyResult<Vec<_>>>()?;
    if is_named {
        lost::check_seeds(py, &walk, &spans)?;
        walk.clear_leftovers(py, seeds)?;
    }
    // What the adjoint kernels of this tape run must not be noted on another one.
    let active = watch::set_active(None);
    let result = walk.back(py);
    watch::set_active(active);
    result?;
    let mut warnings = std::mem::take(&mut walk.warnings);
    if is_named {
        warnings.extend(lost::warnings(py, &walk, &spans));
    }
    Ok(warnings)
}

/// Walks the entries of a part of a stretch that has just run again.
pub(crate) fn run_part(py: Python<'_>, tape: &Arc<Shared>) -> PyResult<()> {
    let mut walk = Walk::begin(py, tape)?;
    walk.gradients(py)?;
    walk.back(py)
}

/// A backward pass under way. It holds the tape's entries, and gives them back in the end.
pub(crate) struct Walk<'a> {
    tape: &'a Arc<Shared>,
    pub(crate) entries: Vec<Entry>,
    stretches: Vec<Stretch>,
    /// By entry, for launches: by place, the gradient.
    pub(crate) found: Vec<Vec<Option<Py<PyAny>>>>,
    /// Kernels whose backward pass is switched off.
    switched_off: HashMap<usize, bool>,
    /// Gradients to keep as they are before the last write: the gradient, the copy.
    retained: Vec<(Py<PyAny>, Saved)>,
    warnings: Vec<String>,
}

impl<'a> Walk<'a> {
    fn begin(_py: Python<'_>, tape: &'a Arc<Shared>) -> PyResult<Walk<'a>> {
        let (entries, stretches) = tape.edit(|state| {
            if std::mem::replace(&mut state.is_walking, true) {
                return Err(PyRuntimeError::new_err("this tape's backward pass is under way already"));
            }
            state.end_stretch();
            Ok((std::mem::take(&mut state.entries), std::mem::take(&mut state.stretches)))
        })?;
        Ok(Walk {
            tape,
            entries,
            stretches,
            found: Vec::new(),
            switched_off: HashMap::new(),
            retained: Vec::new(),
            warnings: Vec::new(),
        })
    }

    /// Looks up every gradient.
    fn gradients(&mut self, py: Python<'_>) -> PyResult<()> {
        let mut layout = lost::Layout::default();
        self.found.reserve(self.entries.len());
        for (number, entry) in self.entries.iter().enumerate() {
            let mut found = Vec::new();
            if let Entry::Launch(launch) = entry {
                found.resize_with(launch.signature.places().len(), || None);
                launch.gradients(py, |index, _, gradient| {
                    layout.note(&self.entries, number, index, gradient.as_ref())?;
                    found[index] = gradient.map(Bound::unbind);
                    Ok(())
                })?;
            }
            self.found.push(found);
        }
        layout.complete(py, &self.entries, &mut self.found)
    }

    /// Sets to zero what the last pass left in arrays that launches only add to: it is no gradient that comes in.
    fn clear_leftovers(&self, py: Python<'_>, seeds: &[Py<PyAny>]) -> PyResult<()> {
        if !self.tape.read(|state| state.has_leftovers) {
            return Ok(());
        }
        let given: Vec<Span> = seeds
            .iter()
            .filter_map(|seed| {
                gradient(seed.bind(py)).and_then(|one| one.map_or(Ok(None), |one| super::span_of(&one))).transpose()
            })
            .collect::<PyResult<_>>()?;
        for (entry, found) in self.entries.iter().zip(&self.found) {
            let Entry::Launch(launch) = entry else { continue };
            for (place, gradient) in launch.signature.places().iter().zip(found) {
                let (Some(gradient), true) = (gradient, launch.facts.params[place.param].only_adds) else { continue };
                let span = super::span_of(gradient.bind(py))?;
                if span.is_some_and(|span| !given.iter().any(|seed| seed.overlaps(span))) {
                    zero_one(gradient.bind(py))?;
                }
            }
        }
        Ok(())
    }

    fn back(&mut self, py: Python<'_>) -> PyResult<()> {
        let (entries, stretches) = (std::mem::take(&mut self.entries), std::mem::take(&mut self.stretches));
        let mut finals = Undo::default();
        let result = self.back_over(py, &entries, &stretches, &mut finals);
        // SAFETY: the entries keep all arrays alive that were written to.
        unsafe { finals.restore() };
        (self.entries, self.stretches) = (entries, stretches);
        let kept = result.and_then(|()| self.keep_retained(py));
        self.tape.edit(|state| (state.is_spent, state.has_leftovers) = (true, true));
        kept
    }

    fn back_over(
        &mut self,
        py: Python<'_>,
        entries: &[Entry],
        stretches: &[Stretch],
        finals: &mut Undo,
    ) -> PyResult<()> {
        let mut end = entries.len();
        for stretch in stretches.iter().rev() {
            let (Some(first), Some(last)) = (stretch.parts.first(), stretch.parts.last()) else { continue };
            self.steps(py, entries, last.end..end)?;
            replay::back(py, entries, stretch, finals)?;
            end = first.first;
        }
        self.steps(py, entries, 0..end)
    }

    fn steps(&mut self, py: Python<'_>, entries: &[Entry], range: std::ops::Range<usize>) -> PyResult<()> {
        for (n, index) in range.rev().enumerate() {
            match &entries[index] {
                Entry::Launch(launch) => self.step(py, index, launch)?,
                Entry::Func(func) => {
                    if let Some(backward) = &func.backward {
                        self.retain_of(py, func)?;
                        backward.bind(py).call0()?;
                    }
                }
            }
            if n % 64 == 63 {
                py.check_signals()?;
            }
        }
        Ok(())
    }

    fn step(&mut self, py: Python<'_>, index: usize, launch: &Launched) -> PyResult<()> {
        let places = launch.signature.places();
        let found = &self.found[index];
        // Nothing comes in where nothing that the launch wrote has a gradient.
        let comes_in = |(place, gradient): (&Place, &Option<Py<PyAny>>)| {
            gradient.is_some() && launch.facts.params[place.param].writes
        };
        // What is written to arrays that no gradient is known of: the adjoint kernel is refused where it matters.
        let is_hidden = || places.iter().any(|place| place.hides_floats) && found.iter().any(Option::is_some);
        let matters = places.iter().zip(found).any(comes_in) || is_hidden();
        if !matters || self.is_switched_off(py, launch)? {
            return Ok(());
        }
        if launch.facts.reads_elsewhere && objects::changed_since(launch.n_changes, &launch.words) {
            return Err(changed(launch));
        }
        self.retain(py, index, launch)?;
        let mut words: smallvec::SmallVec<[u64; 64]> = smallvec::SmallVec::from_slice(&launch.words);
        // Copies that the adjoint kernel may write to, each for all arguments that share its memory.
        let mut copies: Vec<(::tape::VersionId, Saved)> = Vec::new();
        for held in &launch.held {
            let place = &places[held.place as usize];
            let at = &mut words[place.word];
            if held.is_written {
                if !copies.iter().any(|(known, _)| *known == held.version) {
                    copies.push((held.version, self.copy(launch, place, held.version)?));
                }
                if let Some((_, copy)) = copies.iter().find(|(known, _)| *known == held.version) {
                    *at = copy.moved(*at);
                }
                continue;
            }
            self.tape.read(|state| match state.versions.state(held.version) {
                Version::InPlace => Ok(()),
                Version::Saved(saved) => {
                    *at = saved.moved(*at);
                    Ok(())
                }
                Version::Lost(writer) => Err(overwritten(launch, place, index, writer, state.is_spent)),
            })?;
        }
        let gradients: Vec<Option<&crate::array::Array>> = places
            .iter()
            .zip(&self.found[index])
            .map(|(place, gradient)| descriptor(gradient.as_ref()?.bind(py), place))
            .collect();
        launch.facts.run(py, launch, &words, &gradients)
    }

    /// What the memory of a version held before the launch, to be written to.
    fn copy(&self, launch: &Launched, place: &Place, version: ::tape::VersionId) -> PyResult<Saved> {
        self.tape.read(|state| match state.versions.state(version) {
            Version::Saved(saved) => saved.again().map_err(out_of_memory),
            Version::InPlace => {
                let span = state.versions.span(version);
                // SAFETY: the entry keeps the array alive.
                unsafe { Saved::new(watch::memory_of(span), span) }.map_err(out_of_memory)
            }
            Version::Lost(writer) => Err(overwritten(launch, place, usize::MAX, writer, state.is_spent)),
        })
    }

    /// Whether the kernel's or its module's `enable_backward` is False: then it is passed over, with a warning.
    fn is_switched_off(&mut self, py: Python<'_>, launch: &Launched) -> PyResult<bool> {
        let key = launch.kernel.as_ptr() as usize;
        if let Some(&known) = self.switched_off.get(&key) {
            return Ok(known);
        }
        let kernel = launch.kernel.bind(py).as_any();
        let option = |object: &Bound<'_, PyAny>| -> PyResult<Option<bool>> {
            let options = object.getattr(intern!(py, "options"))?.cast_into::<PyDict>()?;
            match options.get_item(intern!(py, "enable_backward"))? {
                Some(value) if !value.is_none() => Ok(Some(value.is_truthy()?)),
                _ => Ok(None),
            }
        };
        let own = option(kernel)?;
        let is_on = match own {
            Some(own) => own,
            None => option(&kernel.getattr(intern!(py, "module"))?)?.unwrap_or(true),
        };
        if !is_on {
            let how = if own.is_some() { "is configured" } else { "is defined in a module" };
            self.warnings.push(format!(
                "Running the tape backwards may produce incorrect gradients because recorded kernel {} {how} with the \
                 option 'enable_backward=False'{}.",
                kernel.getattr(intern!(py, "key"))?,
                if own.is_some() { "" } else { " set" }
            ));
        }
        self.switched_off.insert(key, !is_on);
        Ok(!is_on)
    }

    /// Copies the gradients of `retain_grad` arrays before the launch that wrote them last consumes them.
    fn retain(&mut self, py: Python<'_>, index: usize, launch: &Launched) -> PyResult<()> {
        if crate::state::flags() & crate::state::RETAINS == 0 {
            return Ok(());
        }
        for (number, place) in launch.signature.places().iter().enumerate() {
            let Some(gradient) = &self.found[index][number] else { continue };
            if launch.facts.params[place.param].writes
                && let Some(array) = launch.array(py, number, place)
            {
                retain_one(&mut self.retained, array, gradient.bind(py))?;
            }
        }
        Ok(())
    }

    /// As [`Self::retain`], for what a function only writes.
    fn retain_of(&mut self, py: Python<'_>, func: &Func) -> PyResult<()> {
        if crate::state::flags() & crate::state::RETAINS == 0 {
            return Ok(());
        }
        for array in func.writes.iter().filter(|array| !func.reads.iter().any(|read| read.is(*array))) {
            if let Some(gradient) = gradient(array.bind(py))? {
                retain_one(&mut self.retained, array.bind(py), &gradient)?;
            }
        }
        Ok(())
    }

    fn keep_retained(&mut self, _py: Python<'_>) -> PyResult<()> {
        for (_gradient, copy) in self.retained.drain(..) {
            // SAFETY: `_gradient` keeps the memory alive.
            unsafe { copy.restore() };
        }
        Ok(())
    }
}

impl Drop for Walk<'_> {
    fn drop(&mut self) {
        let (entries, stretches) = (std::mem::take(&mut self.entries), std::mem::take(&mut self.stretches));
        self.tape.edit(|state| {
            // What was noted meanwhile comes after.
            let later = std::mem::replace(&mut state.entries, entries);
            state.entries.extend(later);
            let later = std::mem::replace(&mut state.stretches, stretches);
            state.stretches.extend(later);
            state.is_walking = false;
        });
    }
}

/// Copies the gradient of an array that retains it, unless that is done.
fn retain_one(
    retained: &mut Vec<(Py<PyAny>, Saved)>,
    array: &Bound<'_, PyAny>,
    gradient: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let retains = array.getattr_opt(intern!(array.py(), "retain_grad"))?;
    if !retains.map_or(Ok(false), |retains| retains.is_truthy())?
        || retained.iter().any(|(known, _)| known.is(gradient))
    {
        return Ok(());
    }
    if let Some(span) = super::span_of(gradient)? {
        // SAFETY: the gradient is alive.
        let copy = unsafe { Saved::new(watch::memory_of(span), span) }.map_err(out_of_memory)?;
        retained.push((gradient.clone().unbind(), copy));
    }
    Ok(())
}

fn overwritten(launch: &Launched, place: &Place, index: usize, writer: &str, is_spent: bool) -> PyErr {
    let name = launch.name_of(place);
    let which = if index == usize::MAX { String::new() } else { format!(" (entry {index} of the tape)") };
    let help = if is_spent {
        "record again before another backward pass; after the first one a tape saves nothing more"
    } else {
        "leave `save_overwritten=False` out, and the tape saves what is overwritten; or write to another array"
    };
    PyRuntimeError::new_err(format!(
        "the backward pass of {name}{which} needs values that {writer} has overwritten\n  = help: {help}"
    ))
}

fn changed(launch: &Launched) -> PyErr {
    PyRuntimeError::new_err(format!(
        "the backward pass of kernel `{}` needs a mesh, a hash grid or a tree as it was, and it was refitted, built again \
         or freed since\n  = help: give each step an object of its own, and keep it until the gradient is there",
        launch.kernel.get().name
    ))
}

/// The gradient of an array that a function reads or writes.
pub(crate) fn has_gradient(py: Python<'_>, array: &Py<PyAny>) -> bool {
    gradient(array.bind(py)).ok().flatten().is_some()
}

/// The memory of an array that a function reads or writes.
pub(crate) fn span(py: Python<'_>, array: &Py<PyAny>) -> Option<Span> {
    super::span_of(array.bind(py)).ok().flatten()
}
