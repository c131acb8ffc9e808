//! What of a launch blocks may sum up: small arrays, in shared memory (`pipeline::summed`), and what all threads add to.

use crate::launch::Grid;
use crate::options::Order;
use crate::pack::Signature;
use crate::tape::Place;
use pipeline::{GivenArray, Unit};
use runtime_cuda::Device;

/// Whether blocks keep what all threads of the launch add up, until the last of them is done.
pub(crate) fn keeps_sums(unit: &Unit, order: Order, signature: &Signature, words: &[u64]) -> bool {
    let (summary, places) = (unit.summary(), signature.places());
    if order == Order::Free || summary.grid_sums.is_empty() {
        return false;
    }
    let is_summed = |place: &Place| summary.grid_params.contains(&place.param);
    let is_apart = |one: &Place| {
        one.span(words).is_none_or(|one| {
            let others = places.iter().filter(|other| !is_summed(other)).filter_map(|other| other.span(words));
            others.into_iter().all(|other| one.hi <= other.lo || other.hi <= one.lo)
        })
    };
    places.iter().filter(|place| is_summed(place)).all(is_apart)
}

/// A bit each, by number of the parameter.
pub(crate) fn summed(unit: &Unit, signature: &Signature, words: &[u64], grid: &Grid, device: &Device) -> u64 {
    let n_multiprocessors = device.properties.n_multiprocessors;
    if unit.summary().summed.is_empty()
        || pipeline::has_few_threads(grid.n_threads, n_multiprocessors)
        || !signature.is_contiguous(words)
    {
        return 0;
    }
    let given = |place: &Place| {
        let extents = &words[place.word + 1..][..place.rank];
        let n_elements = extents.iter().try_fold(1i64, |n, &extent| n.checked_mul(extent as i64)).unwrap_or(i64::MAX);
        let bytes = place.span(words).map_or(0..0, |span| span.lo..span.hi);
        GivenArray { param: place.param, n_elements, bytes }
    };
    let arrays: Vec<GivenArray> = signature.places().iter().map(given).collect();
    pipeline::summed(unit, &arrays, grid.n_threads, n_multiprocessors)
}
