//! Copies of array elements from strides to strides, by the pool's threads.
//!
//! In: an element's size, extents, and where the elements of both sides lie. Out: every element is written. A source
//! whose strides are 0 is one value, so that a fill is a copy too.

use crate::{Pace, Pool};
use runtime::abi::MAX_RANK;

/// Where the elements of an array lie: the first one, and for each dimension the bytes from one to the next.
#[derive(Clone, Copy, Debug)]
pub struct Elements<'a> {
    pub first: *mut u8,
    pub strides: &'a [i64],
}

/// Bytes that a thread copies at a time, about.
const PIECE: usize = 64 << 10;

#[derive(Clone, Copy, Debug)]
struct Dimension {
    n: i64,
    to: i64,
    from: i64,
}

#[derive(Debug)]
struct Copy {
    to: *mut u8,
    from: *const u8,
    size: usize,
    /// All but the innermost dimension, the outermost first; unused ones have one element.
    outer: [Dimension; MAX_RANK - 1],
    inner: Dimension,
    /// Elements of a piece, of which each row has several.
    piece: i64,
    pieces: i64,
}

/// Copies every element of `from` to `to`.
///
/// # Safety
/// Both sides have `extents` elements of `size` bytes that may be read and written, and no byte of one is a byte of the
/// other. There are as many strides as extents, at most [`MAX_RANK`].
pub unsafe fn copy_elements(pool: &Pool, size: usize, extents: &[i64], to: Elements<'_>, from: Elements<'_>) {
    if size == 0 || extents.contains(&0) {
        return;
    }
    let copy = Copy::new(size, extents, to, from);
    let n = copy.pieces * copy.outer.iter().map(|dimension| dimension.n).product::<i64>();
    if n == 1 {
        // SAFETY: the caller's promise.
        unsafe { copy.run(0) };
        return;
    }
    let pace = Pace { min_chunk: 1, ..Pace::DEFAULT };
    // SAFETY: the caller's promise; there are `n` pieces.
    pool.for_each_at(&pace, n as usize, |number| unsafe { copy.run(number as i64) });
}

// SAFETY: threads copy pieces that have no byte in common, of memory that outlives the copy.
unsafe impl Sync for Copy {}

impl Copy {
    fn new(size: usize, extents: &[i64], to: Elements<'_>, from: Elements<'_>) -> Copy {
        let mut dimensions: Vec<Dimension> = Vec::with_capacity(MAX_RANK);
        for ((&n, &to), &from) in extents.iter().zip(to.strides).zip(from.strides).filter(|&((&n, _), _)| n > 1) {
            match dimensions.last_mut() {
                // A dimension that goes on where the next one ends is one with it.
                Some(last) if last.to == n * to && last.from == n * from => {
                    *last = Dimension { n: last.n * n, to, from };
                }
                _ => dimensions.push(Dimension { n, to, from }),
            }
        }
        let one = Dimension { n: 1, to: size as i64, from: size as i64 };
        let inner = dimensions.pop().unwrap_or(one);
        let mut outer = [one; MAX_RANK - 1];
        outer[..dimensions.len()].copy_from_slice(&dimensions);
        let piece = (PIECE / size).clamp(1, inner.n as usize) as i64;
        let pieces = inner.n.unsigned_abs().div_ceil(piece.unsigned_abs()) as i64;
        Copy { to: to.first, from: from.first, size, outer, inner, piece, pieces }
    }

    /// Copies piece `number`, counted row by row.
    ///
    /// # Safety
    /// As for [`copy_elements`], and there is such a piece.
    unsafe fn run(&self, number: i64) {
        let (mut row, first) = (number / self.pieces, number % self.pieces * self.piece);
        let (mut to, mut from) = (first * self.inner.to, first * self.inner.from);
        for dimension in self.outer.iter().rev() {
            let index = row % dimension.n;
            row /= dimension.n;
            to += index * dimension.to;
            from += index * dimension.from;
        }
        let n = self.piece.min(self.inner.n - first) as usize;
        // SAFETY: the indices are below the extents, so the elements are those of the caller's promise.
        unsafe {
            let (to, from) = (self.to.offset(to as isize), self.from.offset(from as isize));
            let size = self.size as i64;
            if (self.inner.to, self.inner.from) == (size, size) {
                std::ptr::copy_nonoverlapping(from, to, n * self.size);
                return;
            }
            match self.size {
                1 => self.row::<u8>(to, from, n),
                2 => self.row::<u16>(to, from, n),
                4 => self.row::<u32>(to, from, n),
                8 => self.row::<u64>(to, from, n),
                12 => self.row::<[u32; 3]>(to, from, n),
                16 => self.row::<[u64; 2]>(to, from, n),
                _ => {
                    for i in 0..n as isize {
                        let to = to.offset(i * self.inner.to as isize);
                        std::ptr::copy_nonoverlapping(from.offset(i * self.inner.from as isize), to, self.size);
                    }
                }
            }
        }
    }

    /// Copies elements of a size that the compiler knows.
    ///
    /// # Safety
    /// As for [`Copy::run`], of `n` elements from these places on, with the size of a `T`, any bits of which are one.
    unsafe fn row<T: std::marker::Copy>(&self, mut to: *mut u8, mut from: *const u8, n: usize) {
        let (to_step, from_step) = (self.inner.to as isize, self.inner.from as isize);
        let size = size_of::<T>() as isize;
        // SAFETY: the caller's promise; nothing is taken for aligned.
        unsafe {
            if (to_step, from_step) == (size, 0) {
                let value = from.cast::<T>().read_unaligned();
                let first = *from;
                if (1..size).all(|i| *from.offset(i) == first) {
                    to.write_bytes(first, n * size_of::<T>());
                    return;
                }
                for i in 0..n {
                    to.cast::<T>().add(i).write_unaligned(value);
                }
                return;
            }
            for _ in 0..n {
                to.cast::<T>().write_unaligned(from.cast::<T>().read_unaligned());
                (to, from) = (to.wrapping_offset(to_step), from.wrapping_offset(from_step));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(size: usize, extents: &[i64], to_strides: &[i64], from_strides: &[i64]) {
        let reach = |strides: &[i64]| -> usize {
            extents.iter().zip(strides).map(|(n, stride)| ((n - 1) * stride.abs()) as usize).sum::<usize>() + size
        };
        // Where strides run backward the first element is not the lowest.
        let first = |strides: &[i64]| -> usize {
            extents.iter().zip(strides).map(|(n, stride)| ((n - 1) * (-stride).max(0)) as usize).sum()
        };
        let mut from: Vec<u8> = (0..reach(from_strides)).map(|i| (i % 251) as u8 + 1).collect();
        let mut to = vec![0u8; reach(to_strides)];
        let side = |bytes: &mut [u8], at: usize| bytes[at..].as_mut_ptr();
        let sides = [side(&mut to, first(to_strides)), side(&mut from, first(from_strides))];
        let [to_side, from_side] = sides;
        // SAFETY: both buffers reach as far as the strides go.
        unsafe {
            copy_elements(
                &Pool::new(3),
                size,
                extents,
                Elements { first: to_side, strides: to_strides },
                Elements { first: from_side, strides: from_strides },
            );
        }
        let mut expected = vec![0u8; to.len()];
        let n: i64 = extents.iter().product();
        for number in 0..n {
            let (mut rest, mut at, mut source) = (number, first(to_strides) as i64, first(from_strides) as i64);
            for ((&n, to), from) in extents.iter().zip(to_strides).zip(from_strides).rev() {
                at += rest % n * to;
                source += rest % n * from;
                rest /= n;
            }
            let (at, source) = (at as usize, source as usize);
            expected[at..at + size].copy_from_slice(&from[source..source + size]);
        }
        assert!(to == expected, "{size} {extents:?} {to_strides:?} {from_strides:?}");
    }

    #[test]
    fn every_element_is_copied_whatever_the_strides() {
        for size in [1, 4, 8, 12, 16, 36] {
            let s = size as i64;
            check(size, &[1], &[s], &[s]);
            check(size, &[50_000], &[s], &[s]);
            check(size, &[50_000], &[2 * s], &[s]);
            check(size, &[50_000], &[s], &[-s]);
            check(size, &[50_000], &[s], &[0]);
            check(size, &[70, 90], &[90 * s, s], &[s, 70 * s]);
            check(size, &[1, 90, 1], &[7 * s, s, 0], &[0, 3 * s, s]);
            check(size, &[3, 5, 7, 11], &[385 * s, 77 * s, 11 * s, s], &[385 * s, 77 * s, 11 * s, s]);
            check(size, &[3, 5, 7, 11], &[385 * s, 77 * s, 11 * s, s], &[s, 3 * s, 15 * s, 105 * s]);
            check(size, &[3, 5, 7, 11], &[385 * s, 77 * s, 11 * s, s], &[0, 0, 0, 0]);
        }
    }
}
