//! A hierarchy of eight children a node, for rays and nearest points on a CPU: one vector holds one bound of all children.
//!
//! In: a tree of two children a node, over the same items. Out: nodes of 64 numbers that kernels read
//! (`python/gridstride/lib/mesh_wide.py`). A child is a node or one item, with bounds of its own.
//!
//! ```text
//! 0: lower x of the 8 children    8: lower y    16: lower z    24: upper x    32: upper y    40: upper z
//! 48: what they are, as i32: a node's number, or -1 - the item's place; a child that is none has empty bounds
//! 56: number of the node's triangles as i32, or -1 where no child is an item    57: a bit for each child that is a node
//! ```
//!
//! Where items are triangles, those of a node lie together: nine rows, x of the first corners, y, z, x of the second.
//!
//! I. Wald, C. Benthin and S. Boulos, "Getting rid of packets" (2008); H. Dammertz, J. Hanika and A. Keller, "Shallow
//! bounding volume hierarchies" (2008).

use crate::tree::{Below, Bounds, Node};

pub const WIDTH: usize = 8;
/// Numbers of a node.
pub const STRIDE: usize = 64;
const REFS: usize = 48;
const TRIANGLES: usize = 56;
const INNER: usize = 57;
/// Rows of a node's triangles.
pub const ROWS: usize = 9;
/// Nodes that queries have room for on their stack.
const MAX_WAITING: usize = 128;
/// Stands for a child that is none.
const NOTHING: i32 = i32::MIN;

/// Which nodes there are: the children of each, in the order of a walk.
#[derive(Clone, Debug, Default)]
pub struct Wide {
    children: Vec<[i32; WIDTH]>,
    /// By node: number of its triangles.
    triangles: Vec<i32>,
    n_triangles: usize,
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

    pub fn n_nodes(&self) -> usize {
        self.children.len()
    }

    pub fn n_items(&self) -> usize {
        self.n_items
    }

    /// How many nodes have triangles.
    pub fn n_triangles(&self) -> usize {
        self.n_triangles
    }

    /// Appends the node for a part; gives the most that waits on a query's stack below it.
    fn push(&mut self, nodes: &[Node], parts: &[Part], part: Part) -> usize {
        let found = children(nodes, parts, part);
        let index = self.children.len();
        self.children.push([NOTHING; WIDTH]);
        let has_items = found.iter().any(|child| child.len() == 1);
        self.triangles.push(if has_items { self.n_triangles as i32 } else { -1 });
        self.n_triangles += usize::from(has_items);
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

    /// Writes all nodes: what they are, and the bounds of their children from those of the items.
    pub fn fill(&self, items: &[i32], lowers: &[[f32; 3]], uppers: &[[f32; 3]], to: &mut [[f32; STRIDE]]) {
        for index in (0..self.children.len()).rev() {
            let mut node = [0.0; STRIDE];
            for (k, &child) in self.children[index].iter().enumerate() {
                let bounds = match child {
                    NOTHING => Bounds::EMPTY,
                    0.. => around(&to[child as usize]),
                    _ => {
                        let item = items[(-1 - child) as usize] as usize;
                        Bounds::EMPTY.union(Bounds { lower: lowers[item], upper: uppers[item] })
                    }
                };
                for axis in 0..3 {
                    node[WIDTH * axis + k] = bounds.lower[axis];
                    node[WIDTH * (3 + axis) + k] = bounds.upper[axis];
                }
                node[REFS + k] = f32::from_bits(child as u32);
            }
            let inner = (0..WIDTH).filter(|&k| self.children[index][k] >= 0).fold(0, |mask, k| mask | 1 << k);
            node[INNER] = f32::from_bits(inner);
            node[TRIANGLES] = f32::from_bits(self.triangles[index] as u32);
            to[index] = node;
        }
    }

    /// Writes the triangles of all nodes, from corners in the order of places.
    pub fn fill_triangles(&self, corners: &[[[f32; 3]; 3]], to: &mut [[[f32; WIDTH]; ROWS]]) {
        for (children, &number) in self.children.iter().zip(&self.triangles).filter(|(_, number)| **number >= 0) {
            let rows = &mut to[number as usize];
            *rows = [[0.0; WIDTH]; ROWS];
            for (k, &child) in children.iter().enumerate().filter(|(_, child)| **child < 0 && **child != NOTHING) {
                let triangle = corners[(-1 - child) as usize].as_flattened();
                rows.iter_mut().zip(triangle).for_each(|(row, &x)| row[k] = x);
            }
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

    /// Every item is a child once, and all that is under a node is within the bounds that the node above has for it.
    fn check(lowers: &[[f32; 3]], uppers: &[[f32; 3]], leaf_size: usize) {
        let built = build(lowers, uppers, None, leaf_size, Method::Sah);
        let Some(wide) = Wide::of(&built.nodes) else { return assert!(lowers.is_empty()) };
        let mut nodes = vec![[0.0; STRIDE]; wide.n_nodes()];
        wide.fill(&built.items, lowers, uppers, &mut nodes);
        let mut places = Vec::new();
        let mut open = vec![(0, Bounds { lower: [f32::NEG_INFINITY; 3], upper: [f32::INFINITY; 3] })];
        while let Some((index, outer)) = open.pop() {
            for k in 0..WIDTH {
                let [lower, upper] = [0, 3].map(|row| [0, 1, 2].map(|axis| nodes[index][WIDTH * (row + axis) + k]));
                let child = nodes[index][REFS + k].to_bits() as i32;
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
                    let item = built.items[(-1 - child) as usize] as usize;
                    assert_eq!((lower, upper), (lowers[item], uppers[item]));
                    places.push(-1 - child);
                }
            }
        }
        places.sort_unstable();
        assert!(places.into_iter().eq(0..lowers.len() as i32));
    }

    proptest! {
        #[test]
        fn wide_trees_are_whole(
            points in prop::collection::vec(prop::array::uniform3(-9i8..9), 0..200),
            sizes in prop::collection::vec(0u8..3, 200),
            leaf_size in 1usize..40,
        ) {
            let lowers: Vec<[f32; 3]> = points.iter().map(|p| p.map(f32::from)).collect();
            let uppers: Vec<[f32; 3]> = lowers.iter().zip(&sizes).map(|(p, &s)| p.map(|x| x + f32::from(s))).collect();
            check(&lowers, &uppers, leaf_size);
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
