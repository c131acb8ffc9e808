//! Values that recorded launches read and their backward passes need again.
//!
//! A version is what a span held when a launch read it. As long as nothing writes there it costs nothing; the first
//! write is announced, and then the version is copied, or given up where its owner wants no copies.
//!
//! ```text
//! launch 0 reads A        version 0 of A, in place
//! launch 1 reads A        the same version
//! launch 2 writes A       version 0 is copied first; launches 0 and 1 find the copy
//! launch 3 reads A        version 1 of A
//! ```

use crate::{Memory, OutOfMemory, Saved, Span, SpanMap};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionId(u32);

/// What happens to a version before the first write to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    Save,
    GiveUp,
}

/// Where a version's values are. `W` tells who wrote over them.
pub enum State<W> {
    InPlace,
    Saved(Saved),
    Lost(W),
}

struct Version<W> {
    span: Span,
    memory: &'static dyn Memory,
    state: State<W>,
}

pub struct Versions<W> {
    /// Those in place.
    live: SpanMap<VersionId>,
    all: Vec<Version<W>>,
    saved_bytes: u64,
}

impl<W> Default for Versions<W> {
    fn default() -> Self {
        Versions { live: SpanMap::default(), all: Vec::new(), saved_bytes: 0 }
    }
}

impl<W> Versions<W> {
    /// The version of what `span` holds now.
    pub fn read(&mut self, span: Span, memory: &'static dyn Memory) -> VersionId {
        if let Some(&id) = self.live.get(span) {
            return id;
        }
        let id = VersionId(self.all.len() as u32);
        self.all.push(Version { span, memory, state: State::InPlace });
        self.live.insert(span, id);
        id
    }

    /// Announces a write. `writer` is asked for where a version is lost.
    ///
    /// # Safety
    /// The spans of all versions still lie in their memory.
    pub unsafe fn before_write(
        &mut self,
        span: Span,
        policy: Policy,
        mut writer: impl FnMut() -> W,
    ) -> Result<(), OutOfMemory> {
        let (all, saved_bytes) = (&mut self.all, &mut self.saved_bytes);
        let mut result = Ok(());
        self.live.take_overlapping(span, |_, id| {
            let version = &mut all[id.0 as usize];
            version.state = match policy {
                Policy::GiveUp => State::Lost(writer()),
                // SAFETY: the caller's promise.
                Policy::Save => match unsafe { Saved::new(version.memory, version.span) } {
                    Ok(saved) => {
                        *saved_bytes += version.span.n_bytes();
                        State::Saved(saved)
                    }
                    Err(error) => {
                        result = Err(error);
                        State::Lost(writer())
                    }
                },
            };
        });
        result
    }

    pub fn state(&self, id: VersionId) -> &State<W> {
        &self.all[id.0 as usize].state
    }

    pub fn span(&self, id: VersionId) -> Span {
        self.all[id.0 as usize].span
    }

    /// Whether a write could still hit a version in place.
    pub fn is_watching(&self) -> bool {
        !self.live.is_empty()
    }

    /// Whether a version of some of that memory is in place.
    pub fn is_in_place(&self, span: Span) -> bool {
        self.live.overlaps(span)
    }

    /// Bytes of all copies.
    pub fn saved_bytes(&self) -> u64 {
        self.saved_bytes
    }

    pub fn clear(&mut self) {
        self.live.clear();
        self.all.clear();
        self.saved_bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HOST;

    fn span_of(values: &[u32]) -> Span {
        let lo = values.as_ptr() as u64;
        Span { lo, hi: lo + size_of_val(values) as u64 }
    }

    /// What a version holds, read as numbers.
    fn values(versions: &Versions<&str>, id: VersionId) -> Vec<u32> {
        let version = &versions.all[id.0 as usize];
        let at = match &version.state {
            State::InPlace => version.span.lo,
            State::Saved(saved) => saved.at,
            State::Lost(writer) => panic!("lost to {writer}"),
        };
        // SAFETY: a live array of the test, or a copy of one.
        unsafe { std::slice::from_raw_parts(at as *const u32, version.span.n_bytes() as usize / 4) }.to_vec()
    }

    fn write(versions: &mut Versions<&'static str>, part: &mut [u32], policy: Policy, value: u32) {
        // SAFETY: the test's arrays outlive `versions`.
        unsafe { versions.before_write(span_of(part), policy, || "writer") }.unwrap();
        part.fill(value);
    }

    #[test]
    fn a_version_is_copied_once_and_before_the_write() {
        let mut a = vec![1, 2, 3, 4];
        let mut versions = Versions::default();
        let (first, again) = (versions.read(span_of(&a), &HOST), versions.read(span_of(&a), &HOST));
        assert_eq!(first, again);
        let half = versions.read(span_of(&a[..2]), &HOST);
        write(&mut versions, &mut a[2..], Policy::Save, 9);
        assert_eq!((values(&versions, first), versions.saved_bytes()), (vec![1, 2, 3, 4], 16));
        write(&mut versions, &mut a, Policy::Save, 7);
        assert_eq!((values(&versions, half), versions.saved_bytes()), (vec![1, 2], 24));
        let later = versions.read(span_of(&a), &HOST);
        assert_eq!(values(&versions, later), [7; 4]);
        assert!(versions.is_watching());
    }

    #[test]
    fn without_copies_the_writer_is_named() {
        let mut a = vec![1, 2];
        let mut versions = Versions::default();
        let id = versions.read(span_of(&a), &HOST);
        write(&mut versions, &mut a[1..], Policy::GiveUp, 0);
        assert!(matches!(versions.state(id), State::Lost("writer")));
        assert!(!versions.is_watching() && versions.saved_bytes() == 0);
    }

    #[test]
    fn copies_keep_their_alignment() {
        let a = [5u32; 40];
        for skip in 0..17 {
            let part = &a[skip..];
            // SAFETY: `a` is alive.
            let saved = unsafe { Saved::new(&HOST, span_of(part)) }.unwrap();
            assert_eq!(saved.at % 64, part.as_ptr() as u64 % 64);
            assert_eq!(saved.moved(part[3..].as_ptr() as u64), saved.at + 12);
        }
    }
}
