//! Which arrays of a launch a GPU's blocks sum up in shared memory before they touch them.
//!
//! In: a [`Unit`], which knows where that keeps the meaning, and the arrays that a launch is given. Out: a bit each for
//! those that are small enough and share memory with no other: [`crate::CudaSpecialization::summed`].

use crate::unit::Unit;
use std::ops::Range;

/// Blocks that a multiprocessor runs at a time, about: each adds all elements in the end.
const BLOCKS: i64 = 8;

/// An array argument, or one inside of an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenArray {
    pub param: usize,
    pub n_elements: i64,
    /// Addresses that it covers; empty without elements.
    pub bytes: Range<u64>,
}

/// For a launch of many threads whose arrays are without gaps.
pub fn summed(unit: &Unit, arrays: &[GivenArray], n_threads: i64, n_multiprocessors: u32) -> u64 {
    let params = &unit.func().params;
    let overlaps = |a: &GivenArray, b: &GivenArray| a.bytes.start < b.bytes.end && b.bytes.start < a.bytes.end;
    let pays = n_threads / (BLOCKS * i64::from(n_multiprocessors.max(1)));
    let mut found: Vec<&GivenArray> = arrays
        .iter()
        .enumerate()
        .filter(|(at, array)| {
            let mut others = arrays.iter().enumerate().filter(|(other, _)| other != at);
            array.param < 64
                && unit.summary().summed.contains(&array.param)
                && (1..=pays).contains(&array.n_elements)
                && !others.any(|(_, other)| overlaps(array, other))
        })
        .map(|(_, array)| array)
        .collect();
    // Fewer arrays have more room each.
    loop {
        let n = found.len();
        found.retain(|array| {
            let elem = params[array.param].ty.as_array().map(|(elem, _)| elem);
            elem.is_some_and(|elem| array.n_elements as u64 <= transform::sum_in_blocks::capacity(elem, n))
        });
        if found.len() == n {
            return found.iter().fold(0, |bits, array| bits | 1 << array.param);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Key;
    use diagnostics::SourceMap;

    fn check(sizes: [(i64, u64); 3], n_threads: i64) -> u64 {
        let text = "kernel @k(v0: array<i32, 1>, v1: array<i32, 1>, v2: array<i32, 1>) {\n  v3: i64 = tid 0\n  \
                    v4: i32 = load v0[v3]\n  v5: i64 = cast v4\n  v6: i32 = atomic add v1[v5], v4\n  \
                    v7: i32 = atomic max v2[v5], v4\n  return\n}\n";
        let Ok(module) = ir::parse::parse_module(text) else { panic!("not parsed") };
        let Some(unit) =
            Unit::of_optimized(module, 1, SourceMap::default(), [true, false, false, false], Key::new(&[]))
        else {
            panic!("no kernel")
        };
        let array =
            |(param, (n, at)): (usize, (i64, u64))| GivenArray { param, n_elements: n, bytes: at..at + 4 * n as u64 };
        let arrays: Vec<GivenArray> = sizes.into_iter().enumerate().map(array).collect();
        summed(&unit, &arrays, n_threads, 132)
    }

    #[test]
    fn small_arrays_of_large_launches() {
        let n = 1 << 24;
        assert_eq!(check([(n, 1 << 32), (256, 1 << 12), (256, 1 << 14)], n), 0b110);
        assert_eq!(check([(n, 1 << 32), (4096, 1 << 16), (256, 1 << 14)], n), 0b100);
        assert_eq!(check([(n, 1 << 32), (5000, 1 << 16), (1 << 20, 1 << 20)], n), 0);
        assert_eq!(check([(1 << 16, 1 << 32), (256, 1 << 12), (16, 1 << 14)], 1 << 16), 0b100);
        assert_eq!(check([(n, 1 << 32), (0, 1 << 12), (16, 1 << 14)], n), 0b100);
    }

    #[test]
    fn arrays_that_share_memory_stay() {
        let n = 1 << 24;
        assert_eq!(check([(n, 1 << 32), (256, 1 << 12), (256, (1 << 12) + 512)], n), 0);
        assert_eq!(check([(n, 1 << 32), (256, (1 << 32) + 64), (256, 1 << 12)], n), 0b100);
    }
}
