//! A bounding volume hierarchy as kernels read it (`python/gridstride/lib/bvh.py`).
//!
//! Nodes lie in the order of a walk that takes the left child first. So the left child of node `i` is `i + 1`, and a query
//! that leaves a subtree out goes on at its `skip`: it needs no stack. Children come after their parent: bounds are
//! renewed by one sweep from the end.

/// Bounds and what is under them. A leaf has a negative `end`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Node {
    pub lower: [f32; 3],
    /// Of an inner node its right child; of a leaf the place of its first item.
    first: i32,
    pub upper: [f32; 3],
    /// Of an inner node where a walk goes on that leaves it out; of a leaf `-1 -` the place after its last item.
    end: i32,
}

/// What is under a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Below {
    /// Places of items.
    Items {
        first: usize,
        end: usize,
    },
    Children {
        right: usize,
        skip: usize,
    },
}

impl Node {
    pub fn new(bounds: Bounds, below: Below) -> Node {
        let (first, end) = match below {
            Below::Items { first, end } => (first as i32, -1 - end as i32),
            Below::Children { right, skip } => (right as i32, skip as i32),
        };
        Node { lower: bounds.lower, first, upper: bounds.upper, end }
    }

    pub fn below(&self) -> Below {
        if self.end < 0 {
            Below::Items { first: self.first as usize, end: (-1 - self.end) as usize }
        } else {
            Below::Children { right: self.first as usize, skip: self.end as usize }
        }
    }

    pub fn bounds(&self) -> Bounds {
        Bounds { lower: self.lower, upper: self.upper }
    }

    /// The same `by` places further on among the nodes.
    pub(crate) fn moved(self, by: usize) -> Node {
        match self.below() {
            Below::Items { .. } => self,
            Below::Children { right, skip } => {
                Node::new(self.bounds(), Below::Children { right: right + by, skip: skip + by })
            }
        }
    }
}

/// An axis-aligned box; lower is above upper where it is empty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    pub lower: [f32; 3],
    pub upper: [f32; 3],
}

impl Bounds {
    pub const EMPTY: Bounds = Bounds { lower: [f32::INFINITY; 3], upper: [f32::NEG_INFINITY; 3] };

    /// The smallest box around both. A NaN is left out.
    pub fn union(self, other: Bounds) -> Bounds {
        let pick = |a: [f32; 3], b: [f32; 3], take: fn(f32, f32) -> f32| [0, 1, 2].map(|k| take(a[k], b[k]));
        Bounds {
            lower: pick(other.lower, self.lower, |a, b| if a < b { a } else { b }),
            upper: pick(other.upper, self.upper, |a, b| if a > b { a } else { b }),
        }
    }

    /// Half of the surface; 0 where it is empty.
    pub fn half_area(self) -> f32 {
        let [x, y, z] = [0, 1, 2].map(|k| (self.upper[k] - self.lower[k]).max(0.0));
        x * y + y * z + z * x
    }
}

/// Renews all bounds from those of the items.
pub fn refit(nodes: &mut [Node], items: &[i32], lowers: &[[f32; 3]], uppers: &[[f32; 3]]) {
    for index in (0..nodes.len()).rev() {
        let bounds = match nodes[index].below() {
            Below::Items { first, end } => items[first..end].iter().fold(Bounds::EMPTY, |bounds, &item| {
                bounds.union(Bounds { lower: lowers[item as usize], upper: uppers[item as usize] })
            }),
            Below::Children { right, .. } => nodes[index + 1].bounds().union(nodes[right].bounds()),
        };
        nodes[index] = Node { lower: bounds.lower, upper: bounds.upper, ..nodes[index] };
    }
}
