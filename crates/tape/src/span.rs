//! Ranges of addresses, and a map from ranges that finds all those that overlap another.

use std::collections::BTreeMap;

/// The addresses `lo..hi`, at least one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    pub lo: u64,
    pub hi: u64,
}

impl Span {
    /// What an array covers: `descriptor` holds its address, its extents, its strides in bytes. Nothing for an array
    /// without elements or without memory.
    pub fn of_array(descriptor: &[u64], elem_size: u64) -> Option<Span> {
        let (ptr, dims) = (descriptor[0], &descriptor[1..]);
        let (extents, strides) = dims.split_at(dims.len() / 2);
        if ptr == 0 || elem_size == 0 || extents.contains(&0) {
            return None;
        }
        let (mut lo, mut hi) = (ptr, ptr + elem_size);
        for (&extent, &stride) in extents.iter().zip(strides) {
            let reach = (extent as i64 - 1) * stride as i64;
            if reach < 0 {
                lo = lo.wrapping_add_signed(reach);
            } else {
                hi += reach as u64;
            }
        }
        Some(Span { lo, hi })
    }

    /// Whether two elements of an array may share memory, from its extents and strides as for [`Span::of_array`]: a
    /// stride is shorter than what all dimensions of shorter ones cover.
    pub fn elements_may_overlap(descriptor: &[u64], elem_size: u64) -> bool {
        let (extents, strides) = descriptor[1..].split_at(descriptor.len() / 2);
        let dims = || (0..extents.len()).filter(|&dim| extents[dim] > 1);
        let stride = |dim: usize| (strides[dim] as i64).unsigned_abs();
        let is_within = |dim| {
            let shorter = dims().filter(|&other| (stride(other), other) < (stride(dim), dim));
            let reaches = shorter.map(|other| (extents[other] - 1).saturating_mul(stride(other)));
            stride(dim) < reaches.fold(elem_size, u64::saturating_add)
        };
        !extents.contains(&0) && dims().any(is_within)
    }

    pub fn n_bytes(self) -> u64 {
        self.hi - self.lo
    }

    pub fn overlaps(self, other: Span) -> bool {
        self.lo < other.hi && other.lo < self.hi
    }

    pub fn contains(self, other: Span) -> bool {
        self.lo <= other.lo && other.hi <= self.hi
    }

    /// The smallest span over both.
    pub fn join(self, other: Span) -> Span {
        Span { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
    }

    /// Spans of one class have sizes within a factor of two.
    fn class(self) -> u32 {
        self.n_bytes().ilog2()
    }
}

/// A map from spans. Spans may overlap; those equal are one key.
#[derive(Debug)]
pub struct SpanMap<T> {
    /// By class. Within one, a span that overlaps another begins less than twice the class's size before it, so that
    /// looking for overlaps does not walk past all that begins earlier.
    classes: Vec<(u32, BTreeMap<Span, T>)>,
}

impl<T> Default for SpanMap<T> {
    fn default() -> Self {
        SpanMap { classes: Vec::new() }
    }
}

impl<T> SpanMap<T> {
    pub fn is_empty(&self) -> bool {
        self.classes.iter().all(|(_, map)| map.is_empty())
    }

    pub fn clear(&mut self) {
        self.classes.clear();
    }

    pub fn get(&self, span: Span) -> Option<&T> {
        self.classes.iter().find(|(class, _)| *class == span.class())?.1.get(&span)
    }

    pub fn insert(&mut self, span: Span, value: T) -> Option<T> {
        let class = span.class();
        let at = match self.classes.iter().position(|(known, _)| *known == class) {
            Some(at) => at,
            None => {
                self.classes.push((class, BTreeMap::new()));
                self.classes.len() - 1
            }
        };
        self.classes[at].1.insert(span, value)
    }

    /// Calls `visit` with everything that overlaps `span`, in no particular order.
    pub fn overlapping<'a>(&'a self, span: Span) -> impl Iterator<Item = (Span, &'a T)> + 'a {
        self.classes
            .iter()
            .flat_map(move |(class, map)| {
                map.range(first_of(*class, span)..end_of(span)).filter(move |(known, _)| known.overlaps(span))
            })
            .map(|(known, value)| (*known, value))
    }

    pub fn overlaps(&self, span: Span) -> bool {
        self.overlapping(span).next().is_some()
    }

    /// Whether one of the spans holds all of `span`.
    pub fn covers(&self, span: Span) -> bool {
        self.overlapping(span).any(|(known, _)| known.contains(span))
    }

    /// Takes everything out that overlaps `span`.
    pub fn take_overlapping(&mut self, span: Span, mut taken: impl FnMut(Span, T)) {
        for (class, map) in &mut self.classes {
            let range = first_of(*class, span)..end_of(span);
            while let Some(known) = map.range(range.clone()).map(|(known, _)| *known).find(|known| known.overlaps(span))
            {
                if let Some(value) = map.remove(&known) {
                    taken(known, value);
                }
            }
        }
    }
}

/// No span of the class that begins earlier reaches `span`.
fn first_of(class: u32, span: Span) -> Span {
    let size = if class >= 63 { u64::MAX } else { 2 << class };
    Span { lo: span.lo.saturating_sub(size), hi: 0 }
}

/// Spans that begin here or later lie behind `span`.
fn end_of(span: Span) -> Span {
    Span { lo: span.hi, hi: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(lo: u64, hi: u64) -> Span {
        Span { lo, hi }
    }

    #[test]
    fn an_array_covers_from_its_first_to_its_last_byte() {
        let of = |words: &[i64]| Span::of_array(&words.iter().map(|&word| word as u64).collect::<Vec<_>>(), 4);
        assert_eq!(of(&[100, 5, 4]), Some(span(100, 120)));
        assert_eq!(of(&[100, 5, -4]), Some(span(84, 104)), "backward");
        assert_eq!(of(&[100, 3, 2, 40, -8]), Some(span(92, 184)));
        assert_eq!(of(&[100, 7, 0]), Some(span(100, 104)), "broadcast");
        assert_eq!(of(&[100, 0, 4]), None, "empty");
        assert_eq!(of(&[0, 3, 4]), None, "null");
    }

    #[test]
    fn elements_may_overlap_where_a_stride_is_shorter_than_what_it_steps_over() {
        let of = |words: &[i64]| {
            let words: Vec<_> = [&[100], words].concat().into_iter().map(|word| word as u64).collect();
            Span::elements_may_overlap(&words, 4)
        };
        assert!(!of(&[5, 4]) && !of(&[5, -4]) && !of(&[5, 12]) && !of(&[1, 0]) && !of(&[0, 0]));
        assert!(of(&[5, 0]) && of(&[5, 2]) && of(&[5, -3]));
        assert!(!of(&[3, 5, 20, 4]) && !of(&[5, 3, 4, 20]) && !of(&[3, 5, -24, 4]) && !of(&[3, 1, 4, 4]));
        assert!(
            of(&[3, 5, 16, 4]) && of(&[5, 3, 4, 16]) && of(&[18, 3, 4, 4]) && of(&[3, 5, 0, 4]) && of(&[2, 2, 8, 8])
        );
    }

    #[test]
    fn overlaps_are_found_across_sizes() {
        let mut map = SpanMap::default();
        let spans = [span(0, 1000), span(10, 20), span(20, 24), span(24, 30), span(900, 2000), span(19, 21)];
        for (n, known) in spans.into_iter().enumerate() {
            assert_eq!(map.insert(known, n), None);
        }
        for lo in (0..2100).step_by(3) {
            for n in [1, 7, 64, 500] {
                let asked = span(lo, lo + n);
                let mut found: Vec<_> = map.overlapping(asked).map(|(_, &n)| n).collect();
                found.sort_unstable();
                let expected: Vec<_> = (0..spans.len()).filter(|&n| spans[n].overlaps(asked)).collect();
                assert_eq!(found, expected, "{asked:?}");
            }
        }
    }

    #[test]
    fn what_is_taken_is_gone() {
        let mut map = SpanMap::default();
        for lo in 0..10 {
            map.insert(span(lo * 10, lo * 10 + 10), lo);
        }
        let mut taken = Vec::new();
        map.take_overlapping(span(25, 41), |_, n| taken.push(n));
        assert_eq!(taken, [2, 3, 4]);
        assert!(!map.overlaps(span(20, 50)));
        assert!(map.overlaps(span(0, 20)) && map.covers(span(50, 60)) && !map.covers(span(55, 65)));
    }
}
