//! What a tape holds.

use crate::function::Kernel;
use crate::launch::{Device, Grid};
use crate::pack::Signature;
use crate::plan::UnitKey;
use crate::tape::facts::Facts;
use ::tape::{OutOfMemory, Policy, Span, SpanMap, Undo, VersionId, Versions};
use pyo3::PyTraverseError;
use pyo3::prelude::*;
use std::cell::RefCell;
use std::sync::Arc;

/// One thing that happened while the tape recorded.
pub(crate) enum Entry {
    Launch(Launched),
    Func(Func),
}

/// A launch that ran.
pub(crate) struct Launched {
    pub(crate) kernel: Py<Kernel>,
    pub(crate) signature: Arc<Signature>,
    pub(crate) facts: Arc<Facts>,
    pub(crate) key: UnitKey,
    pub(crate) device: Device,
    pub(crate) grid: Grid,
    pub(crate) words: Box<[u64]>,
    /// How often objects that kernels find by their ids had changed.
    pub(crate) n_changes: u64,
    /// Kept alive: the words point into their memory.
    pub(crate) args: Box<[Py<PyAny>]>,
    pub(crate) n_inputs: usize,
    /// Arrays inside of structs, as they were then: number of the place, the array.
    pub(crate) inner: Vec<(usize, Py<PyAny>)>,
    pub(crate) held: smallvec::SmallVec<[Held; 4]>,
}

/// An array whose values the backward pass reads.
#[derive(Clone, Copy)]
pub(crate) struct Held {
    /// Number of the place.
    pub(crate) place: u32,
    pub(crate) version: VersionId,
    /// The launch writes to the same memory, so that the backward pass needs a copy to write to.
    pub(crate) is_written: bool,
}

/// A function for the way back.
pub(crate) struct Func {
    pub(crate) name: String,
    pub(crate) backward: Option<Py<PyAny>>,
    pub(crate) forward: Option<Py<PyAny>>,
    pub(crate) reads: Vec<Py<PyAny>>,
    pub(crate) writes: Vec<Py<PyAny>>,
}

/// Launches that kept no values: they run again, part by part, on the way back.
pub(crate) struct Stretch {
    pub(crate) parts: Vec<Part>,
    /// Where steps begin, by number of entry.
    marks: Vec<usize>,
    /// Steps of a part's own parts, and of theirs: for loops so long that one level would take too much memory.
    pub(crate) inner: Vec<usize>,
    pub(crate) is_open: bool,
    /// All that it read or wrote.
    touched: SpanMap<()>,
    /// What was overwritten after it.
    pub(crate) after: Undo,
    /// Who wrote to its memory without being recorded, so that it cannot run again.
    pub(crate) spoiled: Option<String>,
    pub(crate) progress: Option<Py<PyAny>>,
}

/// The entries `first..end`, and how to get back to where memory was before them.
pub(crate) struct Part {
    pub(crate) first: usize,
    pub(crate) end: usize,
    pub(crate) undo: Undo,
}

pub(crate) struct State {
    pub(crate) entries: Vec<Entry>,
    pub(crate) versions: Versions<String>,
    pub(crate) stretches: Vec<Stretch>,
    policy: Policy,
    /// The backward pass has run: what it read is not saved again.
    pub(crate) is_spent: bool,
    /// A backward pass has left gradients in arrays that launches only added to.
    pub(crate) has_leftovers: bool,
    /// All memory that entries have read or written.
    touched: SpanMap<()>,
    /// A backward pass is under way, which holds the entries.
    pub(crate) is_walking: bool,
}

impl State {
    pub(crate) fn new(saves: bool) -> State {
        State {
            entries: Vec::new(),
            versions: Versions::default(),
            stretches: Vec::new(),
            policy: if saves { Policy::Save } else { Policy::GiveUp },
            is_spent: false,
            has_leftovers: false,
            touched: SpanMap::default(),
            is_walking: false,
        }
    }

    /// Empties it; gives what must be freed when nothing is borrowed.
    #[must_use]
    pub(crate) fn clear(&mut self) -> (Vec<Entry>, Vec<Stretch>) {
        self.versions.clear();
        self.touched.clear();
        (self.is_spent, self.has_leftovers) = (false, false);
        (std::mem::take(&mut self.entries), std::mem::take(&mut self.stretches))
    }

    /// Hears of a write that is about to happen.
    pub(crate) fn before_write(
        &mut self,
        span: Span,
        is_recorded: bool,
        writer: &dyn Fn() -> String,
    ) -> Result<(), OutOfMemory> {
        let memory = super::watch::memory_of(span);
        for stretch in &mut self.stretches {
            stretch.before_write(span, is_recorded, writer, memory)?;
        }
        let policy = if self.is_spent { Policy::GiveUp } else { self.policy };
        // SAFETY: the entries keep the arrays alive whose memory the versions are about.
        unsafe { self.versions.before_write(span, policy, writer) }
    }

    /// Notes that an entry reads or writes this memory.
    pub(crate) fn touch(&mut self, span: Span) {
        if self.touched.get(span).is_none() {
            self.touched.insert(span, ());
        }
        if let Some(stretch) = self.stretches.last_mut().filter(|stretch| stretch.is_open)
            && stretch.touched.get(span).is_none()
        {
            stretch.touched.insert(span, ());
        }
    }

    pub(crate) fn touches(&self, span: Span) -> bool {
        self.touched.overlaps(span)
    }

    /// Whether a write could still destroy what the backward pass needs.
    pub(crate) fn is_watching(&self) -> bool {
        self.versions.is_watching() || !self.stretches.is_empty()
    }

    pub(crate) fn is_watched(&self, span: Span) -> bool {
        let is_in_stretch = || self.stretches.iter().any(|stretch| stretch.touched.overlaps(span));
        !self.is_spent && (self.versions.is_in_place(span) || is_in_stretch())
    }

    pub(crate) fn in_stretch(&self) -> bool {
        self.stretches.last().is_some_and(|stretch| stretch.is_open)
    }

    pub(crate) fn begin_stretch(&mut self, inner: Vec<usize>, progress: Option<Py<PyAny>>) -> Result<(), &'static str> {
        if self.in_stretch() {
            return Err("a checkpointed loop cannot be inside of another one");
        }
        self.stretches.push(Stretch {
            parts: Vec::new(),
            marks: Vec::new(),
            inner,
            is_open: true,
            touched: SpanMap::default(),
            after: Undo::default(),
            spoiled: None,
            progress,
        });
        self.step(true);
        Ok(())
    }

    /// A step of the loop begins, and with it a part or not.
    pub(crate) fn step(&mut self, is_part: bool) {
        let now = self.entries.len();
        if let Some(stretch) = self.stretches.last_mut().filter(|stretch| stretch.is_open) {
            stretch.marks.push(now);
            if let Some(part) = stretch.parts.last_mut() {
                part.end = now;
                if part.first == now || !is_part {
                    return;
                }
            }
            stretch.parts.push(Part { first: now, end: now, undo: Undo::default() });
        }
    }

    pub(crate) fn end_stretch(&mut self) {
        let now = self.entries.len();
        if let Some(stretch) = self.stretches.last_mut().filter(|stretch| stretch.is_open) {
            stretch.is_open = false;
            if let Some(part) = stretch.parts.last_mut() {
                part.end = now;
            }
        }
    }

    pub(crate) fn saved_bytes(&self) -> u64 {
        let stretches = self
            .stretches
            .iter()
            .map(|stretch| stretch.after.n_bytes() + stretch.parts.iter().map(|part| part.undo.n_bytes()).sum::<u64>());
        self.versions.saved_bytes() + stretches.sum::<u64>()
    }
}

impl Stretch {
    /// Whether a step begins at an entry, and how many have begun in the part before it.
    pub(crate) fn steps_of<'a>(&'a self, part: &'a Part) -> impl Iterator<Item = usize> + 'a {
        self.marks.iter().copied().filter(|mark| (part.first..part.end).contains(mark))
    }

    fn before_write(
        &mut self,
        span: Span,
        is_recorded: bool,
        writer: &dyn Fn() -> String,
        memory: &'static dyn ::tape::Memory,
    ) -> Result<(), OutOfMemory> {
        let undo = match self.parts.last_mut() {
            Some(part) if self.is_open => {
                if !is_recorded && self.spoiled.is_none() && self.touched.overlaps(span) {
                    self.spoiled = Some(writer());
                }
                &mut part.undo
            }
            _ if self.touched.overlaps(span) => &mut self.after,
            _ => return Ok(()),
        };
        // SAFETY: a write to memory that is there is about to happen.
        unsafe { undo.before_write(span, memory) }
    }
}

/// A tape's state, read and written by whoever holds Python's lock, never across anything that may let it go.
pub(crate) struct Shared(RefCell<State>);

// SAFETY: as said above; a free-threaded Python has another binary interface than the one this module is built for.
unsafe impl Sync for Shared {}
// SAFETY: as above; what it holds may be sent.
unsafe impl Send for Shared {}

impl Shared {
    pub(crate) fn new(state: State) -> Shared {
        Shared(RefCell::new(state))
    }

    pub(crate) fn read<R>(&self, read: impl FnOnce(&State) -> R) -> R {
        read(&self.0.borrow())
    }

    pub(crate) fn edit<R>(&self, edit: impl FnOnce(&mut State) -> R) -> R {
        edit(&mut self.0.borrow_mut())
    }

    /// For Python's garbage collector.
    pub(crate) fn visit(
        &self,
        mut visit: impl FnMut(&Py<PyAny>) -> Result<(), PyTraverseError>,
    ) -> Result<(), PyTraverseError> {
        let Ok(state) = self.0.try_borrow() else { return Ok(()) };
        for entry in &state.entries {
            match entry {
                Entry::Launch(launch) => {
                    launch.args.iter().try_for_each(&mut visit)?;
                    launch.inner.iter().try_for_each(|(_, array)| visit(array))?;
                }
                Entry::Func(func) => {
                    func.backward
                        .iter()
                        .chain(&func.forward)
                        .chain(&func.reads)
                        .chain(&func.writes)
                        .try_for_each(&mut visit)?;
                }
            }
        }
        state.stretches.iter().filter_map(|stretch| stretch.progress.as_ref()).try_for_each(visit)
    }
}
