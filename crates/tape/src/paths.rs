//! Where a gradient got lost: memory without a gradient between an array that has one and the loss.
//!
//! In: what each recorded launch reads and writes, in order, and the spans that gradients come in at. Out: the places
//! that would pass a gradient on if only they had one.
//!
//! ```text
//! launch 0: x (gradient) -> y (none)     found: launch 0's y
//! launch 1: y -> loss (gradient)
//! ```

use crate::{Span, SpanMap};

/// One array of a launch whose elements carry derivatives.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    pub span: Span,
    pub reads: bool,
    pub writes: bool,
    pub has_gradient: bool,
}

/// The place of an access: number of the launch, number of the access.
pub type Place = (usize, usize);

/// Writes of memory without a gradient that depend on memory with one and that a seed depends on, each span once.
pub fn broken(launches: &[Vec<Access>], seeds: &[Span]) -> Vec<Place> {
    let needed = needed_by(launches, seeds);
    // Memory that depends on a gradient, with none of its own.
    let mut lost: SpanMap<()> = SpanMap::default();
    let mut found = Vec::new();
    for (n, accesses) in launches.iter().enumerate() {
        let depends = |access: &Access| access.reads && (access.has_gradient || lost.overlaps(access.span));
        if !accesses.iter().any(depends) {
            continue;
        }
        for (m, access) in accesses.iter().enumerate() {
            if access.writes && !access.has_gradient && needed[n] {
                if !lost.overlaps(access.span) && is_read_later(&launches[n + 1..], &needed[n + 1..], access.span) {
                    found.push((n, m));
                }
                lost.insert(access.span, ());
            }
        }
    }
    found
}

/// Whether a gradient at the seeds reaches anything, through memory with gradients alone. Takes the launches from the last to the first, and no more
/// of them than it needs.
pub fn reaches_gradient(from_last: impl Iterator<Item = Vec<Access>>, seeds: &[Span]) -> bool {
    let mut wanted = Wanted { needs_gradients: true, ..Wanted::new(seeds) };
    let read = |access: &Access| access.reads && access.has_gradient;
    from_last.into_iter().any(|accesses| wanted.take(&accesses) && accesses.iter().any(read))
}

/// Memory that the seeds depend on, walking back.
struct Wanted {
    spans: SpanMap<()>,
    /// Memory without a gradient does not pass it on.
    needs_gradients: bool,
}

impl Wanted {
    fn new(seeds: &[Span]) -> Wanted {
        let mut wanted = SpanMap::default();
        for &seed in seeds {
            wanted.insert(seed, ());
        }
        Wanted { spans: wanted, needs_gradients: false }
    }

    /// Whether a seed depends on what a launch writes; then it depends on what it reads.
    fn take(&mut self, accesses: &[Access]) -> bool {
        let is_needed = accesses.iter().any(|access| {
            access.writes && (access.has_gradient || !self.needs_gradients) && self.spans.overlaps(access.span)
        });
        for access in accesses.iter().filter(|access| is_needed && access.reads) {
            self.spans.insert(access.span, ());
        }
        is_needed
    }
}

/// For each launch whether a seed depends on what it writes.
fn needed_by(launches: &[Vec<Access>], seeds: &[Span]) -> Vec<bool> {
    let mut wanted = Wanted::new(seeds);
    let mut needed: Vec<bool> = launches.iter().rev().map(|accesses| wanted.take(accesses)).collect();
    needed.reverse();
    needed
}

fn is_read_later(launches: &[Vec<Access>], needed: &[bool], span: Span) -> bool {
    let reads = |access: &Access| access.reads && access.span.overlaps(span);
    launches.iter().zip(needed).any(|(accesses, &needed)| needed && accesses.iter().any(reads))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(lo: u64, how: &str) -> Access {
        let has = |c| how.contains(c);
        Access { span: Span { lo, hi: lo + 4 }, reads: has('r'), writes: has('w'), has_gradient: has('g') }
    }

    #[test]
    fn an_array_without_gradient_on_the_way_is_found() {
        let (x, y, z, loss) = (0, 10, 20, 30);
        let seeds = [Span { lo: loss, hi: loss + 4 }];
        let broken_at = |launches: &[Vec<Access>]| broken(launches, &seeds);
        let launches = [
            vec![access(x, "rg"), access(y, "w")],
            vec![access(y, "r"), access(z, "w")],
            vec![access(z, "r"), access(loss, "rwg")],
        ];
        assert_eq!(broken_at(&launches), [(0, 1), (1, 1)]);
        // A constant that no gradient leads to.
        assert_eq!(broken_at(&[vec![access(z, "r"), access(y, "w")], vec![access(y, "r"), access(loss, "wg")]]), []);
        // Written from x, but the loss does not depend on it.
        let aside = [vec![access(x, "rg"), access(y, "w")], vec![access(x, "rg"), access(loss, "wg")]];
        assert_eq!(broken_at(&aside), []);
        assert!(reaches_gradient(aside.into_iter().rev(), &seeds));
        let by_z = [vec![access(x, "rg"), access(z, "w")], vec![access(z, "r"), access(loss, "wg")]];
        assert!(!reaches_gradient(by_z.into_iter().rev(), &seeds), "z has none");
        let constant = vec![access(z, "r"), access(loss, "wg")];
        assert!(!reaches_gradient([constant].into_iter(), &seeds));
    }
}
