//! A hierarchy of eight children a node, for rays and nearest points on a CPU: one vector holds one bound of all children.
//!
//! In: a tree of two children a node, over the same triangles. Out: nodes of 144 numbers that kernels read
//! (`python/gridstride/lib/mesh_wide.py`). A child is a node or one triangle, with bounds of its own.
//!
//! ```text
//! 0: lower x of the 8 children    8: lower y    16: lower z    24: upper x    32: upper y    40: upper z
//! 48: what they are, as i32: a node's number, or -1 - the triangle's place; a child that is none has empty bounds
//! 56: a bit for each child that is a node
//! 64: x of the first corners of those that are triangles, y, z, x of the second corners, …: nine rows
//! ```
//!
//! All of a node lies together: what is read of it is on its way while its first bounds are compared.
//!
//! I. Wald, C. Benthin and S. Boulos, "Getting rid of packets" (2008); H. Dammertz, J. Hanika and A. Keller, "Shallow
//! bounding volume hierarchies" (2008).

use crate::tree::{Below, Bounds, Node};

pub const WIDTH: usize = 8;
/// Numbers of a node.
pub const STRIDE: usize = 144;
/// Rows of a node.
const REFS: usize = 6;
const INNER: usize = 7;
const CORNERS: usize = 8;
/// Nodes that queries have room for on their stack.
const MAX_WAITING: usize = 128;
/// Stands for a child that is none.
const NOTHING: i32 = i32::MIN;

/// Which nodes there are: the children of each, in the order of a walk.
#[derive(Clone, Debug, Default)]
pub struct Wide {
    children: Vec<[i32; WIDTH]>,
    n_items: usize,
}

/// What is under a child: a node of the tree of two, or a part of a leaf; in either case items one after the other.
#[derive(Clone, Copy)]
struct Part {
    node: Option<usize>,
    first: usize,
    end: usize,
}

impl Wide {
    /// Joins nodes of a tree; `None` for one so deep that a query would run out of room, or without items.
    pub fn of(nodes: &[Node]) -> Option<Wide> {
        if nodes.is_empty() {
            return None;
        }
        let parts = parts(nodes);
        let mut wide = Wide { n_items: parts[0].end, ..Wide::default() };
        let waiting = wide.push(nodes, &parts, parts[0]);
        (waiting <= MAX_WAITING).then_some(wide)
    }

    pub fn n_items(&self) -> usize {
        self.n_items
    }

    pub fn n_nodes(&self) -> usize {
        self.children.len()
    }

    /// Appends the node for a part; gives the most that waits on a query's stack below it.
    fn push(&mut self, nodes: &[Node], parts: &[Part], part: Part) -> usize {
        let found = children(nodes, parts, part);
        let index = self.children.len();
        self.children.push([NOTHING; WIDTH]);
        let n_inner = found.iter().filter(|child| child.len() > 1).count();
        let mut waiting = n_inner;
        for (k, child) in found.into_iter().enumerate() {
            self.children[index][k] = if child.len() == 1 {
                -1 - child.first as i32
            } else {
                let number = self.children.len() as i32;
                waiting = waiting.max(n_inner - 1 + self.push(nodes, parts, child));
                number
            };
        }
        waiting
    }

    /// Writes all nodes, from the corners of the triangles in the order of places.
    pub fn fill(&self, corners: &[[[f32; 3]; 3]], to: &mut [[f32; STRIDE]]) {
        for (index, children) in self.children.iter().enumerate().rev() {
            // A corner that is none is no bound.
            let mut rows = [[f32::NAN; WIDTH]; STRIDE / WIDTH];
            let mut inner = 0;
            for (k, &child) in children.iter().enumerate() {
                rows[REFS][k] = f32::from_bits(child as u32);
                if child >= 0 {
                    inner |= 1 << k;
                } else if child != NOTHING {
                    let triangle = corners[(-1 - child) as usize].as_flattened();
                    rows[CORNERS..].iter_mut().zip(triangle).for_each(|(row, &x)| row[k] = x);
                }
            }
            for axis in 0..3 {
                let xs = [0, 1, 2].map(|corner| rows[CORNERS + 3 * corner + axis]);
                let least = |k: usize| xs.iter().fold(f32::INFINITY, |all, x| if x[k] < all { x[k] } else { all });
                let most = |k: usize| xs.iter().fold(f32::NEG_INFINITY, |all, x| if x[k] > all { x[k] } else { all });
                (rows[axis], rows[3 + axis]) = (std::array::from_fn(least), std::array::from_fn(most));
            }
            for (k, &child) in children.iter().enumerate().filter(|(_, child)| **child >= 0) {
                let bounds = around(&to[child as usize]);
                for axis in 0..3 {
                    (rows[axis][k], rows[3 + axis][k]) = (bounds.lower[axis], bounds.upper[axis]);
                }
            }
            rows[INNER] = [0.0; WIDTH];
            rows[INNER][0] = f32::from_bits(inner);
            to[index].copy_from_slice(rows.as_flattened());
        }
    }
}

/// The bounds of all children of a node.
fn around(node: &[f32; STRIDE]) -> Bounds {
    let least = |row: usize| node[WIDTH * row..][..WIDTH].iter().copied().fold(f32::INFINITY, f32::min);
    let most = |row: usize| node[WIDTH * row..][..WIDTH].iter().copied().fold(f32::NEG_INFINITY, f32::max);
    Bounds { lower: [0, 1, 2].map(least), upper: [3, 4, 5].map(most) }
}

/// What is under each node.
fn parts(nodes: &[Node]) -> Vec<Part> {
    let mut parts = vec![Part { node: None, first: 0, end: 0 }; nodes.len()];
    for index in (0..nodes.len()).rev() {
        let (first, end) = match nodes[index].below() {
            Below::Items { first, end } => (first, end),
            Below::Children { right, .. } => (parts[index + 1].first, parts[right].end),
        };
        parts[index] = Part { node: Some(index), first, end };
    }
    parts
}

/// The children of the node for a part. Up to eight items are that themselves; else the largest parts are divided, but
/// those of eight items and less stay whole, as each fills a node, unless there is room for their items.
fn children(nodes: &[Node], parts: &[Part], part: Part) -> Vec<Part> {
    if part.len() <= WIDTH {
        return part.items().collect();
    }
    let mut found = part.divided(nodes, parts).to_vec();
    while found.len() < WIDTH {
        let area = |part: &Part| part.node.map_or(0.0, |node| nodes[node].bounds().half_area());
        let large = (0..found.len()).filter(|&k| found[k].len() > WIDTH);
        let Some(k) = large.max_by(|&a, &b| area(&found[a]).total_cmp(&area(&found[b]))) else { break };
        let divided = found.swap_remove(k).divided(nodes, parts);
        found.extend(divided);
    }
    let several = |found: &[Part]| (0..found.len()).filter(|&k| found[k].len() > 1).min_by_key(|&k| found[k].len());
    while let Some(k) = several(&found).filter(|&k| found.len() - 1 + found[k].len() <= WIDTH) {
        let part = found.swap_remove(k);
        found.extend(part.items());
    }
    found
}

impl Part {
    fn len(&self) -> usize {
        self.end - self.first
    }

    fn items(self) -> impl Iterator<Item = Part> {
        (self.first..self.end).map(|place| Part { node: None, first: place, end: place + 1 })
    }

    /// Two parts of more than one item.
    fn divided(self, nodes: &[Node], parts: &[Part]) -> [Part; 2] {
        if let Some(index) = self.node
            && let Below::Children { right, .. } = nodes[index].below()
        {
            return [parts[index + 1], parts[right]];
        }
        let middle = self.first + self.len() / 2;
        [Part { node: None, end: middle, ..self }, Part { node: None, first: middle, ..self }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::{Method, build};
    use proptest::prelude::*;

    /// Every triangle is a child once, and all that is under a node is within the bounds that the node above has for it.
    fn check(triangles: &[[[f32; 3]; 3]], leaf_size: usize) {
        let around = |triangle: &[[f32; 3]; 3]| {
            triangle.iter().fold(Bounds::EMPTY, |all, &p| all.union(Bounds { lower: p, upper: p }))
        };
        let (lowers, uppers): (Vec<_>, Vec<_>) =
            triangles.iter().map(around).map(|bounds| (bounds.lower, bounds.upper)).unzip();
        let built = build(&lowers, &uppers, None, leaf_size, Method::Sah);
        let Some(wide) = Wide::of(&built.nodes) else { return assert!(triangles.is_empty()) };
        let corners: Vec<_> = built.items.iter().map(|&item| triangles[item as usize]).collect();
        let mut nodes = vec![[0.0; STRIDE]; wide.n_nodes()];
        wide.fill(&corners, &mut nodes);
        let mut places = Vec::new();
        let mut open = vec![(0, Bounds { lower: [f32::NEG_INFINITY; 3], upper: [f32::INFINITY; 3] })];
        while let Some((index, outer)) = open.pop() {
            for k in 0..WIDTH {
                let row = |first: usize| [0, 1, 2].map(|axis| nodes[index][WIDTH * (first + axis) + k]);
                let (lower, upper) = (row(0), row(3));
                let child = nodes[index][WIDTH * REFS + k].to_bits() as i32;
                assert_eq!(nodes[index][WIDTH * INNER].to_bits() >> k & 1 == 1, child >= 0);
                if child == NOTHING {
                    assert_eq!(Bounds { lower, upper }, Bounds::EMPTY);
                    continue;
                }
                for axis in 0..3 {
                    assert!(outer.lower[axis] <= lower[axis] && upper[axis] <= outer.upper[axis]);
                }
                if child >= 0 {
                    open.push((child as usize, Bounds { lower, upper }));
                } else {
                    let place = (-1 - child) as usize;
                    assert_eq!(Bounds { lower, upper }, around(&corners[place]));
                    assert_eq!([8, 11, 14].map(row), corners[place]);
                    places.push(place);
                }
            }
        }
        places.sort_unstable();
        assert!(places.into_iter().eq(0..triangles.len()));
    }

    proptest! {
        #[test]
        fn wide_trees_are_whole(
            points in prop::collection::vec(prop::array::uniform9(-9i8..9), 0..200),
            leaf_size in 1usize..40,
        ) {
            let triangles: Vec<_> = points
                .iter()
                .map(|p| [0, 3, 6].map(|at| [0, 1, 2].map(|axis| f32::from(p[at + axis]))))
                .collect();
            check(&triangles, leaf_size);
        }
    }

    #[test]
    fn nodes_are_well_filled() {
        let points: Vec<[f32; 3]> =
            (0..20_000u32).map(|i| [7, 11, 13].map(|k| (i.wrapping_mul(k * 7919) % 1009) as f32)).collect();
        let built = build(&points, &points, None, 4, Method::Sah);
        let n_nodes = Wide::of(&built.nodes).map_or(0, |wide| wide.n_nodes());
        assert!((20_000 / 7..20_000 / 4).contains(&n_nodes), "{n_nodes} nodes");
    }
}
