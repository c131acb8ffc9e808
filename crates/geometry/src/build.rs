//! Builds hierarchies from the top down: binned by the surface area heuristic, or at the median.
//!
//! In: bounds of items, perhaps their groups. Out: nodes, the items in the order of leaves, and the root of each group.
//!
//! An item's place among 16 bins along the longest axis of the centers decides on which side it goes; the split with the
//! least sum of areas times counts wins. The first splits are made by the caller, the subtrees by all threads.
//!
//! I. Wald, "On fast construction of SAH-based bounding volume hierarchies" (2007).

use crate::tree::{Below, Bounds, Node};
use runtime_cpu::Pool;
use std::sync::Mutex;

/// How an inner node's items are divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Sah,
    Median,
}

/// What is built.
#[derive(Clone, Debug, Default)]
pub struct Built {
    pub nodes: Vec<Node>,
    pub items: Vec<i32>,
    /// Groups in ascending order, each with its root; none without groups.
    pub roots: Vec<(i32, i32)>,
}

const BINS: usize = 16;
/// Queries keep a stack of 64 nodes: a tree that is about to get deeper is halved from there on.
const MAX_DEPTH: usize = 62;
/// Items that are worth a thread.
const PART: usize = 1 << 12;

/// A box in two registers of four numbers. The fourth of `lower` may be anything.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Wide {
    lower: [f32; 4],
    upper: [f32; 4],
}

impl Wide {
    const EMPTY: Wide = Wide { lower: [f32::INFINITY; 4], upper: [f32::NEG_INFINITY; 4] };

    /// The smallest box around both. A NaN of the other's is left out.
    #[inline(always)]
    fn add(&mut self, other: &Wide) {
        for k in 0..4 {
            self.lower[k] = if other.lower[k] < self.lower[k] { other.lower[k] } else { self.lower[k] };
            self.upper[k] = if other.upper[k] > self.upper[k] { other.upper[k] } else { self.upper[k] };
        }
    }

    /// Half of the surface; 0 where it is empty.
    fn half_area(&self) -> f32 {
        self.bounds().half_area()
    }

    fn bounds(&self) -> Bounds {
        let [[lx, ly, lz, _], [ux, uy, uz, _]] = [self.lower, self.upper];
        Bounds { lower: [lx, ly, lz], upper: [ux, uy, uz] }
    }
}

/// An item while it is sorted: its bounds, with its number's bits in the fourth of `lower`.
#[derive(Clone, Copy)]
struct Item(Wide);

/// Items of one subtree with what is known of them.
struct Range<'a> {
    items: &'a mut [Item],
    /// Place of the first of them among all.
    first: usize,
    around: Around,
    depth: usize,
}

/// The bounds of items, and of twice their centers.
#[derive(Clone, Copy)]
struct Around {
    bounds: Wide,
    centers: Wide,
}

impl Around {
    const NOTHING: Around = Around { bounds: Wide::EMPTY, centers: Wide::EMPTY };

    #[inline(always)]
    fn add(&mut self, item: &Item) {
        self.bounds.add(&item.0);
        let mut center = item.0.lower;
        center.iter_mut().zip(item.0.upper).for_each(|(center, upper)| *center += upper);
        self.centers.add(&Wide { lower: center, upper: center });
    }

    fn join(&mut self, other: &Around) {
        self.bounds.add(&other.bounds);
        self.centers.add(&other.centers);
    }
}

/// The first splits of a tree, and subtrees by their number.
enum Top {
    Split(Bounds, Box<Top>, Box<Top>),
    Subtree(usize),
    /// The root of a group.
    Group(i32, Box<Top>),
}

/// Builds a tree over items with these bounds.
pub fn build(
    lowers: &[[f32; 3]],
    uppers: &[[f32; 3]],
    groups: Option<&[i32]>,
    leaf_size: usize,
    method: Method,
) -> Built {
    let mut items: Vec<Item> =
        lowers.iter().zip(uppers).zip(0..).map(|((&lower, &upper), id)| Item::new(lower, upper, id)).collect();
    if items.is_empty() {
        return Built::default();
    }
    let part = (items.len() / (4 * Pool::global().num_threads())).max(PART);
    let mut builder = Builder { leaf_size: leaf_size.max(1), method, part, subtrees: Vec::new() };
    let top = match groups {
        None => builder.top(Range::new(&mut items, 0, 0)),
        Some(groups) => {
            items.sort_by_key(|item| groups[item.id()]);
            let group_of = |item: &Item| groups[item.id()];
            let parts: Vec<&mut [Item]> = items.chunk_by_mut(|a, b| group_of(a) == group_of(b)).collect();
            let levels = parts.len().next_power_of_two().trailing_zeros() as usize;
            let mut first = 0;
            let mut tops = Vec::new();
            for items in parts {
                let (group, n) = (group_of(&items[0]), items.len());
                let range = Range::new(items, first, levels);
                tops.push((range.around.bounds.bounds(), Top::Group(group, Box::new(builder.top(range)))));
                first += n;
            }
            joined(tops).1
        }
    };
    let Builder { leaf_size, method, subtrees, .. } = builder;
    let nodes: Vec<Mutex<Vec<Node>>> = subtrees.iter().map(|_| Mutex::default()).collect();
    let subtrees: Vec<Mutex<Option<Range<'_>>>> = subtrees.into_iter().map(|range| Mutex::new(Some(range))).collect();
    Pool::global().for_each(nodes.len(), |k| {
        let range = subtrees[k].lock().map_or(None, |mut range| range.take());
        if let (Some(range), Ok(mut nodes)) = (range, nodes[k].lock()) {
            subtree(range, leaf_size, method, &mut nodes);
        }
    });
    let mut nodes: Vec<Vec<Node>> = nodes.into_iter().map(|nodes| nodes.into_inner().unwrap_or_default()).collect();
    let mut built = Built::default();
    built.nodes.reserve(nodes.iter().map(|nodes| nodes.len() + 1).sum());
    top.append_to(&mut built, &mut nodes);
    built.items = items.iter().map(|item| item.id() as i32).collect();
    built
}

/// Joins the trees of groups, which are in order, to one of least height.
fn joined(mut tops: Vec<(Bounds, Top)>) -> (Bounds, Top) {
    if tops.len() == 1 {
        return tops.remove(0);
    }
    let right = joined(tops.split_off(tops.len().div_ceil(2)));
    let left = joined(tops);
    let bounds = left.0.union(right.0);
    (bounds, Top::Split(bounds, Box::new(left.1), Box::new(right.1)))
}

struct Builder<'a> {
    leaf_size: usize,
    method: Method,
    /// Ranges of as many items are subtrees.
    part: usize,
    subtrees: Vec<Range<'a>>,
}

impl<'a> Builder<'a> {
    fn top(&mut self, range: Range<'a>) -> Top {
        if range.items.len() <= self.part.max(self.leaf_size) {
            self.subtrees.push(range);
            return Top::Subtree(self.subtrees.len() - 1);
        }
        let bounds = range.around.bounds.bounds();
        let (left, right) = range.divide(self.method, self.leaf_size);
        Top::Split(bounds, Box::new(self.top(left)), Box::new(self.top(right)))
    }
}

impl Top {
    fn append_to(self, built: &mut Built, subtrees: &mut [Vec<Node>]) {
        match self {
            Top::Subtree(k) => {
                let base = built.nodes.len();
                built.nodes.extend(std::mem::take(&mut subtrees[k]).into_iter().map(|node| node.moved(base)));
            }
            Top::Group(group, inner) => {
                built.roots.push((group, built.nodes.len() as i32));
                inner.append_to(built, subtrees);
            }
            Top::Split(bounds, left, right) => {
                let at = built.nodes.len();
                built.nodes.push(Node::new(bounds, Below::Children { right: 0, skip: 0 }));
                left.append_to(built, subtrees);
                let middle = built.nodes.len();
                right.append_to(built, subtrees);
                built.nodes[at] = Node::new(bounds, Below::Children { right: middle, skip: built.nodes.len() });
            }
        }
    }
}

fn subtree(range: Range<'_>, leaf_size: usize, method: Method, nodes: &mut Vec<Node>) {
    let (bounds, first, n) = (range.around.bounds.bounds(), range.first, range.items.len());
    if n <= leaf_size {
        return nodes.push(Node::new(bounds, Below::Items { first, end: first + n }));
    }
    let at = nodes.len();
    nodes.push(Node::new(bounds, Below::Children { right: 0, skip: 0 }));
    let (left, right) = range.divide(method, leaf_size);
    subtree(left, leaf_size, method, nodes);
    let middle = nodes.len();
    subtree(right, leaf_size, method, nodes);
    nodes[at] = Node::new(bounds, Below::Children { right: middle, skip: nodes.len() });
}

impl Item {
    fn new([lx, ly, lz]: [f32; 3], [ux, uy, uz]: [f32; 3], id: u32) -> Item {
        Item(Wide { lower: [lx, ly, lz, f32::from_bits(id)], upper: [ux, uy, uz, 0.0] })
    }

    fn id(&self) -> usize {
        self.0.lower[3].to_bits() as usize
    }

    /// Twice the center.
    #[inline(always)]
    fn center(&self, axis: usize) -> f32 {
        self.0.lower[axis] + self.0.upper[axis]
    }
}

impl<'a> Range<'a> {
    fn new(items: &'a mut [Item], first: usize, depth: usize) -> Range<'a> {
        let around = around(items);
        Range { items, first, around, depth }
    }

    /// Reorders the items and divides them in two, of at least one item.
    fn divide(self, method: Method, leaf_size: usize) -> (Range<'a>, Range<'a>) {
        let Range { items, first, around, depth } = self;
        let (n, depth) = (items.len(), depth + 1);
        let centers = around.centers;
        let extents = [0, 1, 2].map(|k| centers.upper[k] - centers.lower[k]);
        let axis = if extents[0] >= extents[1] && extents[0] >= extents[2] {
            0
        } else if extents[1] >= extents[2] {
            1
        } else {
            2
        };
        let is_flat = !(extents[axis] > 0.0 && extents[axis] < f32::INFINITY);
        let levels = n.next_power_of_two().trailing_zeros() as usize;
        // Two full leaves are as good as any two.
        if method == Method::Sah && n > 2 * leaf_size && !is_flat && depth + levels <= MAX_DEPTH {
            let n_bins = (n / 2).clamp(4, BINS);
            let bins = Bins::of(items, centers.lower[axis], n_bins as f32 / extents[axis], axis, n_bins);
            if let Some(last) = bins.best_split() {
                let at = partition(items, |item| bins.place(item) <= last);
                let (left, right) = items.split_at_mut(at);
                let [below, above] = bins.sides(last);
                return (
                    Range { items: left, first, around: below, depth },
                    Range { items: right, first: first + at, around: above, depth },
                );
            }
        }
        if !is_flat {
            let key = |item: &Item| (item.center(axis), item.id());
            items.select_nth_unstable_by(n / 2, |a, b| key(a).0.total_cmp(&key(b).0).then(key(a).1.cmp(&key(b).1)));
        }
        let (left, right) = items.split_at_mut(n / 2);
        (Range::new(left, first, depth), Range::new(right, first + n / 2, depth))
    }
}

fn around(items: &[Item]) -> Around {
    let mut found = Around::NOTHING;
    items.iter().for_each(|item| found.add(item));
    found
}

/// Items by the place of their centers along an axis.
struct Bins {
    lower: f32,
    scale: f32,
    axis: usize,
    n: usize,
    counts: [usize; BINS],
    around: [Around; BINS],
}

impl Bins {
    fn of(items: &[Item], lower: f32, scale: f32, axis: usize, n: usize) -> Bins {
        let mut bins = Bins { lower, scale, axis, n, counts: [0; BINS], around: [Around::NOTHING; BINS] };
        for item in items {
            let k = bins.place(item);
            bins.counts[k] += 1;
            bins.around[k].add(item);
        }
        bins
    }

    /// The last bin takes its upper end, the first what is NaN.
    #[inline(always)]
    fn place(&self, item: &Item) -> usize {
        (((item.center(self.axis) - self.lower) * self.scale) as i32).clamp(0, self.n as i32 - 1) as usize
    }

    /// The last bin that goes to the left where that costs least; none where all items are in one bin.
    fn best_split(&self) -> Option<usize> {
        let mut right_costs = [0.0; BINS];
        let (mut bounds, mut count) = (Wide::EMPTY, 0);
        for k in (1..self.n).rev() {
            bounds.add(&self.around[k].bounds);
            count += self.counts[k];
            right_costs[k - 1] = if count == 0 { f32::NAN } else { bounds.half_area() * count as f32 };
        }
        let mut best = None;
        let mut least = f32::INFINITY;
        let (mut bounds, mut count) = (Wide::EMPTY, 0);
        for (k, right_cost) in right_costs.into_iter().enumerate().take(self.n - 1) {
            bounds.add(&self.around[k].bounds);
            count += self.counts[k];
            let cost = bounds.half_area() * count as f32 + right_cost;
            if count > 0 && cost < least {
                (least, best) = (cost, Some(k));
            }
        }
        best
    }

    /// What is around the items up to a bin, and around the others.
    fn sides(&self, last: usize) -> [Around; 2] {
        [0..last + 1, last + 1..self.n].map(|bins| {
            let mut found = Around::NOTHING;
            self.around[bins].iter().for_each(|one| found.join(one));
            found
        })
    }
}

/// Moves items that satisfy a predicate to the front, and gives how many they are.
fn partition(items: &mut [Item], is_left: impl Fn(&Item) -> bool) -> usize {
    let (mut begin, mut end) = (0, items.len());
    loop {
        while begin < end && is_left(&items[begin]) {
            begin += 1;
        }
        while begin < end && !is_left(&items[end - 1]) {
            end -= 1;
        }
        if begin >= end {
            return begin;
        }
        items.swap(begin, end - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::refit;
    use proptest::prelude::*;

    /// Every item is in one leaf, within the bounds of all nodes above it; leaves are small, walks end at the end.
    fn check(points: &[[f32; 3]], sizes: &[f32], groups: Option<&[i32]>, leaf_size: usize, method: Method) {
        let uppers: Vec<[f32; 3]> = points.iter().zip(sizes).map(|(p, s)| p.map(|x| x + s)).collect();
        let built = build(points, &uppers, groups, leaf_size, method);
        let mut ids = built.items.clone();
        ids.sort_unstable();
        assert!(ids.into_iter().eq(0..points.len() as i32));
        let mut next = 0;
        visit(&built, 0, built.nodes.len(), leaf_size, &mut next, 0);
        assert_eq!(next, points.len());
        let mut again = built.nodes.clone();
        refit(&mut again, &built.items, points, &uppers);
        assert_eq!(again, built.nodes);
        for &(group, root) in &built.roots {
            let mut found = leaf_items(&built, root as usize);
            found.sort_unstable();
            let groups = groups.expect("only groups have roots");
            assert!(found.into_iter().eq((0..points.len() as i32).filter(|&i| groups[i as usize] == group)));
        }
    }

    fn visit(built: &Built, index: usize, end: usize, leaf_size: usize, next: &mut usize, depth: usize) {
        assert!(depth < 64);
        match built.nodes[index].below() {
            Below::Items { first, end: last } => {
                assert!(first == *next && first < last && last - first <= leaf_size && index + 1 == end);
                *next = last;
            }
            Below::Children { right, skip } => {
                assert_eq!(skip, end);
                visit(built, index + 1, right, leaf_size, next, depth + 1);
                visit(built, right, end, leaf_size, next, depth + 1);
            }
        }
    }

    fn leaf_items(built: &Built, index: usize) -> Vec<i32> {
        match built.nodes[index].below() {
            Below::Items { first, end } => built.items[first..end].to_vec(),
            Below::Children { right, .. } => [leaf_items(built, index + 1), leaf_items(built, right)].concat(),
        }
    }

    proptest! {
        #[test]
        fn trees_are_whole(
            points in prop::collection::vec(prop::array::uniform3(-9i8..9), 1..80),
            sizes in prop::collection::vec(0u8..3, 80),
            groups in prop::collection::vec(-2i32..3, 80),
            leaf_size in 1usize..6,
        ) {
            let points: Vec<[f32; 3]> = points.iter().map(|p| p.map(f32::from)).collect();
            let sizes: Vec<f32> = sizes.iter().map(|&s| f32::from(s)).collect();
            for method in [Method::Sah, Method::Median] {
                check(&points, &sizes, None, leaf_size, method);
                check(&points, &sizes, Some(&groups[..points.len()]), leaf_size, method);
            }
        }
    }

    #[test]
    fn large_trees_are_built_in_parts() {
        let points: Vec<[f32; 3]> =
            (0..50_000u32).map(|i| [7, 11, 13].map(|k| (i.wrapping_mul(k * 7919) % 1009) as f32)).collect();
        check(&points, &vec![1.0; points.len()], None, 4, Method::Sah);
    }

    #[test]
    fn growing_gaps_do_not_make_a_tree_too_deep() {
        let points: Vec<[f32; 3]> = (0..3000).map(|i| [2f32.powi(i % 250 - 125), 0.0, 0.0]).collect();
        check(&points, &vec![0.0; points.len()], None, 1, Method::Sah);
    }

    #[test]
    fn bounds_without_numbers_are_items_too() {
        let points = [[f32::NAN; 3], [0.0; 3], [f32::INFINITY; 3], [f32::NEG_INFINITY; 3], [1.0; 3]];
        let built = build(&points, &points, None, 1, Method::Sah);
        assert_eq!((built.nodes.len(), built.items.len()), (9, 5));
    }
}
