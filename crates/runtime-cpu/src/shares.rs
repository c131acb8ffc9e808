//! Who runs which chunks of a job: each thread first those of its own share, one run of neighbors and the same in every
//! launch of a series, so that it finds in its core's caches what it left there; then what others have not come to.
//!
//! ```text
//! chunks   0 1 2 3 4 5 6 7 8 9        share 0: 0..5, the caller's      share 1: 5..10, the first worker's
//! ```
//!
//! On cores that do not share a cache this doubles the rate of launches over arrays that outgrow one of them.

use std::ops::Range;
use std::sync::atomic::{AtomicI64, Ordering};

/// Two lines of the cache, which processors fetch in pairs: a thread counts in its own share without asking others.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Share {
    /// The first chunk that nobody has.
    next: AtomicI64,
    end: AtomicI64,
}

impl Share {
    fn take(&self, batch: i64) -> Option<Range<i64>> {
        let end = self.end.load(Ordering::Relaxed);
        // A look first: those who come to see that nothing is left need not own the line.
        if self.next.load(Ordering::Relaxed) >= end {
            return None;
        }
        let first = self.next.fetch_add(batch, Ordering::Relaxed);
        (first < end).then(|| first..end.min(first + batch))
    }
}

/// The chunks of a job, a share for each thread.
#[derive(Debug)]
pub(crate) struct Shares(Box<[Share]>);

impl Shares {
    pub(crate) fn new(n_threads: usize) -> Shares {
        Shares((0..n_threads).map(|_| Share::default()).collect())
    }

    /// Deals out chunks anew. Fewer chunks than threads go to the first ones. Nobody may be taking any.
    pub(crate) fn deal(&self, chunks: Range<i64>) {
        let n = chunks.end - chunks.start;
        let n_shares = (self.0.len() as i64).min(n).max(1);
        let (size, n_larger) = (n / n_shares, n % n_shares);
        let mut next = chunks.start;
        for (k, share) in (0..).zip(&self.0) {
            let end = if k < n_shares { next + size + i64::from(k < n_larger) } else { next };
            share.next.store(next, Ordering::Relaxed);
            share.end.store(end, Ordering::Relaxed);
            next = end;
        }
    }

    /// Up to `batch` neighboring chunks for a thread: of its own share, else of the next one that has some.
    ///
    /// `at` is the share that the thread takes from, its own to begin with; it is past the last when nothing is left. Each
    /// share's chunks are taken in order, and the caller of a launch goes through shares in order, so that threads which
    /// wait for earlier ones get on.
    pub(crate) fn take(&self, own: usize, at: &mut usize, batch: i64) -> Option<Range<i64>> {
        let n = self.0.len();
        while *at < own + n {
            if let Some(chunks) = self.0[*at % n].take(batch) {
                return Some(chunks);
            }
            *at += 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is in the threads' own shares.
    fn check(n_threads: usize, chunks: Range<i64>) -> Vec<Range<i64>> {
        let shares = Shares::new(n_threads);
        shares.deal(chunks);
        shares.0.iter().map(|share| share.take(i64::from(u32::MAX)).unwrap_or_default()).collect()
    }

    #[test]
    fn each_thread_has_a_run_of_neighbors() {
        assert_eq!(check(2, 1..12), [1..7, 7..12]);
        assert_eq!(check(3, 0..2), [0..1, 1..2, 0..0]);
        assert_eq!(check(2, 5..5), [0..0, 0..0]);
    }

    #[test]
    fn who_has_done_its_own_takes_from_the_next() {
        let shares = Shares::new(3);
        shares.deal(0..9);
        let mut at = 1;
        let taken: Vec<_> = std::iter::from_fn(|| shares.take(1, &mut at, 2)).collect();
        assert_eq!(taken, [3..5, 5..6, 6..8, 8..9, 0..2, 2..3]);
    }
}
