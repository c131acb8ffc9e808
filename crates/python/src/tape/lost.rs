//! Gradients that would get lost: arrays without one on the way, a loss that depends on nothing, and two arrays over
//! one memory with gradients of their own.

use crate::array::{self, Array};
use crate::tape::Place;
use crate::tape::backward::{Walk, has_gradient, span};
use crate::tape::gradients::descriptor;
use crate::tape::state::{Entry, Launched};
use ::tape::paths::{self, Access};
use ::tape::{Span, SpanMap};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::collections::HashMap;

/// How far gradients lie from the arrays that they belong to.
#[derive(Default)]
pub(crate) struct Layout {
    exact: HashMap<Span, u64>,
    /// By span: the distance in bytes, and the numbers of the entry and the place.
    known: SpanMap<(u64, (usize, usize))>,
    /// Whether an array without gradient was met.
    has_none: bool,
}

impl Layout {
    /// Notes an array of a launch, which is entry number `entry`. Raises where another array over the same memory has
    /// another gradient.
    pub(crate) fn note(
        &mut self,
        entries: &[Entry],
        entry: usize,
        index: usize,
        gradient: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let Entry::Launch(launch) = &entries[entry] else { return Ok(()) };
        let place = &launch.signature.places()[index];
        let Some(span) = place.span(&launch.words) else { return Ok(()) };
        let Some(found) = gradient.and_then(|gradient| descriptor(gradient, place)) else {
            self.has_none = true;
            return Ok(());
        };
        // With gaps in either there is no one distance.
        if !found.is_contiguous || !is_contiguous(launch, place) {
            return Ok(());
        }
        let distance = found.descriptor[0].wrapping_sub(span.lo);
        if self.exact.get(&span) == Some(&distance) {
            return Ok(());
        }
        if let Some((_, &(_, other))) = self.known.overlapping(span).find(|(_, (known, _))| *known != distance) {
            let other = match &entries[other.0] {
                Entry::Launch(launch) => launch.name_of(&launch.signature.places()[other.1]),
                Entry::Func(func) => func.name.clone(),
            };
            return Err(PyRuntimeError::new_err(format!(
                "{} and {other} lie over the same memory, and each has a gradient of its own\n  = help: make one a view \
                 of the other (`a[1:]`, `a.reshape(…)`), which shares its gradient",
                launch.name_of(place)
            )));
        }
        self.exact.insert(span, distance);
        self.known.insert(span, (distance, (entry, index)));
        Ok(())
    }

    /// Gives arrays without gradient that lie inside of one that has a gradient the part of it that is theirs.
    pub(crate) fn complete(
        &self,
        py: Python<'_>,
        entries: &[Entry],
        found: &mut [Vec<Option<Py<PyAny>>>],
    ) -> PyResult<()> {
        if !self.has_none || self.exact.is_empty() {
            return Ok(());
        }
        for (entry, found) in entries.iter().zip(found) {
            let Entry::Launch(launch) = entry else { continue };
            for (place, found) in launch.signature.places().iter().zip(found) {
                if found.is_some() || !place.is_float || !is_contiguous(launch, place) {
                    continue;
                }
                let Some(span) = place.span(&launch.words) else { continue };
                let holder = self.known.overlapping(span).find(|(known, _)| known.contains(span));
                if let Some((_, (distance, _))) = holder {
                    let words = &launch.words[place.word..place.word + place.n_words()];
                    let part = Array::part(place.elem, words, words[0].wrapping_add(*distance));
                    *found = Some(Bound::new(py, part)?.into_any().unbind());
                }
            }
        }
        Ok(())
    }
}

fn is_contiguous(launch: &Launched, place: &Place) -> bool {
    let words = &launch.words[place.word + 1..place.word + place.n_words()];
    let (extents, strides) = words.split_at(place.rank);
    let signed = |words: &[u64]| words.iter().map(|&word| word as i64).collect::<Vec<_>>();
    array::is_contiguous(place.elem.size() as i64, &signed(extents), &signed(strides))
}

/// Raises where gradients that come in at the seeds can reach no array.
pub(crate) fn check_seeds(py: Python<'_>, walk: &Walk<'_>, seeds: &[Span]) -> PyResult<()> {
    let n = walk.entries.len();
    if walk.entries.iter().any(is_opaque) {
        return Ok(());
    }
    if seeds.is_empty() || paths::reaches_gradient((0..n).rev().map(|index| accesses(py, walk, index)), seeds) {
        return Ok(());
    }
    let writes = |index| {
        accesses(py, walk, index).iter().any(|one| one.writes && seeds.iter().any(|seed| seed.overlaps(one.span)))
    };
    if !(0..n).any(writes) {
        let text = "nothing on this tape writes to the loss\n  = help: compute it by launches inside of `with tape:`";
        return Err(PyRuntimeError::new_err(text));
    }
    let mut text = "the loss depends on no array that has a gradient".to_owned();
    for broken in warnings(py, walk, seeds) {
        text.push_str("\n  = note: ");
        text.push_str(&broken);
    }
    text.push_str(
        "\n  = help: make the arrays that you want gradients of, and all between them and the loss, with \
                   `requires_grad=True`",
    );
    Err(PyRuntimeError::new_err(text))
}

/// Whether gradients may take any way through an entry: a function of which no array is known, a kernel that reads what
/// it finds by an id.
fn is_opaque(entry: &Entry) -> bool {
    match entry {
        Entry::Func(func) => func.backward.is_some() && func.reads.is_empty() && func.writes.is_empty(),
        Entry::Launch(launch) => launch.facts.reads_elsewhere,
    }
}

/// One warning for each array without gradient on a way from a gradient to the seeds.
pub(crate) fn warnings(py: Python<'_>, walk: &Walk<'_>, seeds: &[Span]) -> Vec<String> {
    let lacks = |(index, entry): (usize, &Entry)| match entry {
        Entry::Launch(launch) => {
            let places = launch.signature.places().iter().zip(&walk.found[index]);
            places.filter(|(place, _)| place.is_float).any(|(place, found)| {
                found.is_none() && launch.facts.params[place.param].writes && place.span(&launch.words).is_some()
            })
        }
        Entry::Func(func) => func.writes.iter().any(|array| !has_gradient(py, array)),
    };
    if !walk.entries.iter().enumerate().any(lacks) {
        return Vec::new();
    }
    let all: Vec<Vec<Access>> = (0..walk.entries.len()).map(|index| accesses(py, walk, index)).collect();
    let mut found = Vec::new();
    for (index, number) in paths::broken(&all, seeds) {
        let name = match &walk.entries[index] {
            Entry::Launch(launch) => {
                let places = launch.signature.places();
                let number = places_of(launch, walk, index).nth(number);
                number.map_or(String::new(), |number| launch.name_of(&places[number]))
            }
            Entry::Func(func) => format!("the array that `{}` writes", func.name),
        };
        let text = format!(
            "{name} is on the way from an array with a gradient to the loss, but has none of its own \
             (requires_grad=False): what flows through it is lost"
        );
        if !found.contains(&text) {
            found.push(text);
        }
    }
    found
}

/// Numbers of a launch's float arrays with memory.
fn places_of<'a>(launch: &'a Launched, _walk: &Walk<'_>, _index: usize) -> impl Iterator<Item = usize> + 'a {
    let places = launch.signature.places().iter().enumerate();
    places.filter(|(_, place)| place.is_float && place.span(&launch.words).is_some()).map(|(number, _)| number)
}

fn accesses(py: Python<'_>, walk: &Walk<'_>, index: usize) -> Vec<Access> {
    match &walk.entries[index] {
        Entry::Launch(launch) => {
            let places = launch.signature.places();
            places_of(launch, walk, index)
                .filter_map(|number| {
                    let place = &places[number];
                    let facts = launch.facts.params[place.param];
                    Some(Access {
                        span: place.span(&launch.words)?,
                        reads: facts.loads,
                        writes: facts.writes,
                        has_gradient: walk.found[index][number].is_some(),
                    })
                })
                .collect()
        }
        Entry::Func(func) => {
            let access = |array: &Py<PyAny>, writes: bool| {
                Some(Access { span: span(py, array)?, reads: !writes, writes, has_gradient: has_gradient(py, array) })
            };
            let reads = func.reads.iter().filter_map(|array| access(array, false));
            reads.chain(func.writes.iter().filter_map(|array| access(array, true))).collect()
        }
    }
}
