//! A stable radix sort of keys with 32-bit numbers, on all threads, and where each cell's points begin.
//!
//! Least digit first, 11 bits a pass; a pass whose digit all keys share is left out. Each thread counts the digits of a
//! part of the keys, so that their order does not depend on who was first.

use runtime_cpu::Pool;
use std::sync::atomic::{AtomicU32, Ordering};

const BITS: u32 = 11;
const DIGITS: usize = 1 << BITS;
/// Keys that are worth a part of their own.
const PART: usize = 1 << 15;

/// An unsigned integer to sort by.
pub trait Key: Copy + Send + Sync + Ord + Default {
    /// Eleven bits of the key from bit `shift` on.
    fn digit(self, shift: u32) -> usize;
    /// Bits in which the keys of a slice differ.
    fn varying(keys: &[Self]) -> u64;
    /// The cell in the key.
    fn cell(self) -> usize;
}

impl Key for u32 {
    fn digit(self, shift: u32) -> usize {
        (self >> shift) as usize & (DIGITS - 1)
    }

    fn varying(keys: &[u32]) -> u64 {
        let first = keys.first().copied().unwrap_or_default();
        u64::from(keys.iter().fold(0, |bits, key| bits | (key ^ first)))
    }

    fn cell(self) -> usize {
        self as usize
    }
}

/// The cell in the high half, the group within the cell in the low half.
impl Key for u64 {
    fn digit(self, shift: u32) -> usize {
        (self >> shift) as usize & (DIGITS - 1)
    }

    fn varying(keys: &[u64]) -> u64 {
        let first = keys.first().copied().unwrap_or_default();
        keys.iter().fold(0, |bits, key| bits | (key ^ first))
    }

    fn cell(self) -> usize {
        (self >> 32) as usize
    }
}

/// Sorts `keys`, and with them their numbers in the order of `0..n`, which are written to `ids`.
pub fn sort<K: Key>(keys: &mut [K], ids: &mut [u32]) {
    let n = keys.len();
    assert_eq!(ids.len(), n, "one number a key");
    ids.iter_mut().zip(0..).for_each(|(id, i)| *id = i);
    let varying = K::varying(keys);
    let mut other_keys = vec![K::default(); n];
    let mut other_ids = vec![0u32; n];
    let mut is_swapped = false;
    for shift in (0..u64::BITS).step_by(BITS as usize).filter(|shift| varying >> shift & (DIGITS as u64 - 1) != 0) {
        if is_swapped {
            pass(shift, &other_keys, &other_ids, keys, ids);
        } else {
            pass(shift, keys, ids, &mut other_keys, &mut other_ids);
        }
        is_swapped = !is_swapped;
    }
    if is_swapped {
        keys.copy_from_slice(&other_keys);
        ids.copy_from_slice(&other_ids);
    }
}

/// Sorts by one digit from one pair of slices to another.
fn pass<K: Key>(shift: u32, keys: &[K], ids: &[u32], to_keys: &mut [K], to_ids: &mut [u32]) {
    let n = keys.len();
    let pool = Pool::global();
    let n_parts = (n / PART).clamp(1, 4 * pool.num_threads());
    let part = |p: usize| n * p / n_parts..n * (p + 1) / n_parts;
    let counts: Vec<AtomicU32> = (0..n_parts * DIGITS).map(|_| AtomicU32::new(0)).collect();
    pool.for_each(n_parts, |p| {
        let mut own = [0u32; DIGITS];
        keys[part(p)].iter().for_each(|key| own[key.digit(shift)] += 1);
        for (shared, own) in counts[p * DIGITS..].iter().zip(own) {
            shared.store(own, Ordering::Relaxed);
        }
    });
    let mut sum = 0;
    for digit in 0..DIGITS {
        for p in 0..n_parts {
            sum += counts[p * DIGITS + digit].swap(sum, Ordering::Relaxed);
        }
    }
    let (to_keys, to_ids) = (Target(to_keys.as_mut_ptr()), Target(to_ids.as_mut_ptr()));
    pool.for_each(n_parts, |p| {
        let mut next = [0u32; DIGITS];
        next.iter_mut().zip(&counts[p * DIGITS..]).for_each(|(own, shared)| *own = shared.load(Ordering::Relaxed));
        for i in part(p) {
            let place = &mut next[keys[i].digit(shift)];
            // SAFETY: the counts of all digits and parts add up to n, and each place is handed out once.
            unsafe {
                to_keys.at(*place as usize).write(keys[i]);
                to_ids.at(*place as usize).write(ids[i]);
            }
            *place += 1;
        }
    });
}

/// Memory that several threads write to, each elsewhere.
struct Target<T>(*mut T);

// SAFETY: whoever writes says why no two threads write to one place.
unsafe impl<T: Send> Sync for Target<T> {}

impl<T> Target<T> {
    fn at(&self, index: usize) -> *mut T {
        self.0.wrapping_add(index)
    }
}

/// Writes for each cell where its keys begin among the sorted ones; the last of `starts` is their number.
pub fn starts_of_cells<K: Key>(keys: &[K], starts: &mut [u32]) {
    let mut next = 0;
    for (i, key) in (0..).zip(keys) {
        let cell = key.cell();
        if next <= cell {
            starts[next..=cell].fill(i);
            next = cell + 1;
        }
    }
    starts[next..].fill(keys.len() as u32);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check<K: Key + std::fmt::Debug>(mut keys: Vec<K>) {
        let mut wanted: Vec<(K, u32)> = keys.iter().copied().zip(0..).collect();
        wanted.sort();
        let mut ids = vec![0; keys.len()];
        sort(&mut keys, &mut ids);
        assert_eq!(keys.into_iter().zip(ids).collect::<Vec<_>>(), wanted);
    }

    proptest! {
        #[test]
        fn keys_are_sorted_stably(keys in prop::collection::vec(0u32..5000, 0..300), wide in prop::collection::vec(any::<u64>(), 0..300)) {
            check(keys);
            check(wide);
        }

        #[test]
        fn every_cell_finds_its_keys(mut keys in prop::collection::vec(0u32..40, 0..100)) {
            keys.sort_unstable();
            let mut starts = [0; 41];
            starts_of_cells(&keys, &mut starts);
            for cell in 0..40u32 {
                let found = &keys[starts[cell as usize] as usize..starts[cell as usize + 1] as usize];
                assert!(found.iter().all(|&key| key == cell));
                assert_eq!(found.len(), keys.iter().filter(|&&key| key == cell).count());
            }
        }
    }

    #[test]
    fn many_keys_go_to_several_threads() {
        check((0..200_000u32).map(|i| i.wrapping_mul(2_654_435_761)).collect());
        check((0..200_000u64).map(|i| ((i % 7) << 40) | (i % 5)).collect());
    }
}
