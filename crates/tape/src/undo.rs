//! What a stretch of launches overwrites, kept so that memory can go back to how it was before the stretch.
//!
//! Before each write the span is saved, unless the stretch has saved it already. Restoring in reverse order leaves what
//! every byte held first, however the spans overlap.

use crate::{Memory, OutOfMemory, Saved, Span, SpanMap};

#[derive(Default)]
pub struct Undo {
    saved: Vec<Saved>,
    known: SpanMap<()>,
    n_bytes: u64,
}

impl Undo {
    /// Announces a write.
    ///
    /// # Safety
    /// The span lies in that memory.
    pub unsafe fn before_write(&mut self, span: Span, memory: &'static dyn Memory) -> Result<(), OutOfMemory> {
        if self.known.covers(span) {
            return Ok(());
        }
        // SAFETY: the caller's promise.
        self.saved.push(unsafe { Saved::new(memory, span) }?);
        self.known.insert(span, ());
        self.n_bytes += span.n_bytes();
        Ok(())
    }

    /// Puts back what was there before the first write.
    ///
    /// # Safety
    /// The memory of every span is still there.
    pub unsafe fn restore(&self) {
        for saved in self.saved.iter().rev() {
            // SAFETY: the caller's promise.
            unsafe { saved.restore() };
        }
    }

    /// Bytes of all copies.
    pub fn n_bytes(&self) -> u64 {
        self.n_bytes
    }

    /// What was saved, in order.
    pub fn spans(&self) -> impl Iterator<Item = (Span, &'static dyn Memory)> + '_ {
        self.saved.iter().map(|saved| (saved.span, saved.memory()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HOST;

    #[test]
    fn overlapping_writes_are_undone() {
        let mut a: Vec<u8> = (0..32).collect();
        let before = a.clone();
        let lo = a.as_ptr() as u64;
        let mut undo = Undo::default();
        for (begin, end) in [(4, 8), (6, 20), (0, 5), (4, 8), (10, 12), (0, 32)] {
            // SAFETY: `a` is alive.
            unsafe { undo.before_write(Span { lo: lo + begin, hi: lo + end }, &HOST) }.unwrap();
            a[begin as usize..end as usize].iter_mut().for_each(|byte| *byte = byte.wrapping_mul(3) + 1);
        }
        assert_eq!(undo.n_bytes(), 4 + 14 + 5 + 32, "what is known is not saved again");
        // SAFETY: as above.
        unsafe { undo.restore() };
        assert_eq!(a, before);
    }
}
