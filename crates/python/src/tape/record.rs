//! Notes launches: what they read that the way back needs, what they are about to overwrite.
//!
//! In: a launch whose arguments are packed, just before it runs. Out: an entry of the tape that records, and every tape
//! that has values where the launch will write has saved them.

use crate::function::Kernel;
use crate::launch::{Device, Grid};
use crate::objects;
use crate::pack::Signature;
use crate::plan::UnitKey;
use crate::tape::Place;
use crate::tape::facts::{self, Facts};
use crate::tape::state::{Entry, Func, Held, Launched, Shared, State};
use crate::tape::watch;
use ::tape::Span;
use pyo3::prelude::*;
use smallvec::SmallVec;
use std::sync::Arc;

/// Gives the arguments of a launch, and the number of inputs among them.
pub(crate) type Args<'a> = &'a dyn Fn() -> (Box<[Py<PyAny>]>, usize);

/// A launch that is about to run.
pub(crate) struct Launching<'a, 'py> {
    pub(crate) kernel: &'a Bound<'py, Kernel>,
    pub(crate) signature: &'a Arc<Signature>,
    pub(crate) words: &'a [u64],
    pub(crate) grid: &'a Grid,
    pub(crate) device: Device,
    pub(crate) key: UnitKey,
    /// Per parameter: whether the kernel writes to its arrays.
    pub(crate) written: &'a [bool],
    /// None for a launch that no tape shall have.
    pub(crate) args: Option<Args<'a>>,
}

/// A launch that the tape gets once it has run.
pub(crate) struct Pending {
    tape: Arc<Shared>,
    launch: Launched,
}

type Spans<'a> = SmallVec<[(u32, &'a Place, Span); 8]>;

/// Tells all tapes. Gives what [`after`] puts on the tape that records.
pub(crate) fn before(py: Python<'_>, launching: &Launching<'_, '_>) -> PyResult<Option<Pending>> {
    let places = launching.signature.places();
    let spans: Spans<'_> = (0..)
        .zip(places)
        .filter_map(|(index, place)| place.span(launching.words).map(|span| (index, place, span)))
        .collect();
    let tape = launching.args.and_then(|args| watch::active().map(|tape| (tape, args)));
    let pending = match tape {
        Some((tape, args)) => {
            let facts = facts::of(launching)?;
            let held = tape.edit(|state| hold(state, &facts, launching.written, &spans));
            let (args, n_inputs) = args();
            let mut inner = Vec::new();
            for (index, place) in (0..).zip(places).filter(|(_, place)| !place.path.is_empty() && place.is_float) {
                if let Some(array) = place.object(args[place.param].bind(py))? {
                    inner.push((index, array.unbind()));
                }
            }
            let launch = Launched {
                kernel: launching.kernel.clone().unbind(),
                signature: launching.signature.clone(),
                facts,
                key: launching.key,
                device: launching.device,
                grid: *launching.grid,
                words: launching.words.into(),
                n_changes: objects::n_changes(),
                args,
                n_inputs,
                inner,
                held,
            };
            Some(Pending { tape, launch })
        }
        None => None,
    };
    for (_, place, span) in spans.iter().filter(|(_, place, _)| launching.written[place.param]) {
        let kernel = launching.kernel.get();
        let writer = || format!("kernel `{}` (argument `{}`)", kernel.name, kernel.params[place.param].name);
        watch::before_write(*span, pending.is_some(), &writer)?;
    }
    Ok(pending)
}

/// The launch has run.
pub(crate) fn after(pending: Option<Pending>) {
    if let Some(Pending { tape, mut launch }) = pending {
        tape.edit(|state| {
            hold_after(state, &mut launch);
            state.entries.push(Entry::Launch(launch));
        });
    }
}

/// Makes versions of what the backward pass needs.
fn hold(state: &mut State, facts: &Facts, written: &[bool], spans: &Spans<'_>) -> SmallVec<[Held; 4]> {
    let mut held: SmallVec<[Held; 4]> = SmallVec::new();
    for &(_, _, span) in spans {
        state.touch(span);
    }
    if state.in_stretch() {
        return held;
    }
    let needs = |place: &Place| facts.params[place.param].reads;
    let writes = |place: &Place| written[place.param];
    for &(index, place, span) in spans {
        if !needs(place) || held.iter().any(|known| known.place == index) {
            continue;
        }
        let is_written = |span: Span| spans.iter().any(|(_, other, at)| writes(other) && at.overlaps(span));
        if !is_written(span) {
            let version = state.versions.read(span, watch::memory_of(span));
            held.push(Held { place: index, version, is_written: false });
            continue;
        }
        // Arguments over the same memory go to one copy together, so that what one of them writes the others read.
        let together = joined(span, spans, |place| needs(place) || writes(place));
        let version = state.versions.read(together, watch::memory_of(together));
        for &(other, place, at) in spans {
            if at.overlaps(together) && (needs(place) || writes(place)) {
                held.push(Held { place: other, version, is_written: true });
            }
        }
    }
    held
}

/// Makes versions of what the backward pass needs of what the launch left.
fn hold_after(state: &mut State, launch: &mut Launched) {
    if state.in_stretch() {
        return;
    }
    for (index, place) in (0..).zip(launch.signature.places()) {
        let span = place.span(&launch.words).filter(|_| launch.facts.params[place.param].reads_after);
        if let Some(span) = span {
            let version = state.versions.read(span, watch::memory_of(span));
            launch.held.push(Held { place: index, version, is_written: false });
        }
    }
}

/// The span with all those that overlap it, and those that overlap them.
fn joined(first: Span, spans: &Spans<'_>, takes_part: impl Fn(&Place) -> bool) -> Span {
    let mut all = first;
    loop {
        let overlapping = spans.iter().filter(|(_, place, at)| takes_part(place) && at.overlaps(all));
        let next = overlapping.fold(all, |all, (_, _, at)| all.join(*at));
        if next == all {
            return all;
        }
        all = next;
    }
}

/// Notes a function for the way back.
pub(crate) fn function(
    tape: &Arc<Shared>,
    name: String,
    backward: Option<Py<PyAny>>,
    reads: Vec<Py<PyAny>>,
    writes: Vec<Py<PyAny>>,
    forward: Option<Py<PyAny>>,
) {
    let spans: Vec<Span> = Python::attach(|py| {
        let arrays = reads.iter().chain(&writes);
        arrays.filter_map(|array| super::span_of(array.bind(py)).ok().flatten()).collect()
    });
    tape.edit(|state| {
        spans.into_iter().for_each(|span| state.touch(span));
        state.entries.push(Entry::Func(Func { name, backward, forward, reads, writes }));
    });
    watch::watch(tape);
}
