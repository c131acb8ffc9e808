//! What the host builds for queries in kernels, over arrays in the host's memory.

use crate::array::Array;
use crate::types::PyIrType;
use geometry::build::Method;
use geometry::sort::{self, Key};
use geometry::tree::{self, Node};
use geometry::wide::{STRIDE, WIDTH, Wide};
use ir::{Scalar, Type};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A struct that the kernel library declares.
#[pyfunction]
pub(crate) fn library_struct(name: &str) -> PyResult<PyIrType> {
    let found = frontend::library_struct(name).map(PyIrType);
    found.ok_or_else(|| PyValueError::new_err(format!("the kernel library has no struct {name:?}")))
}

/// Sorts points by cell: `keys` are cells (uint32), or cells and groups (uint64), and are sorted; `ids` gets the points'
/// numbers in that order, `starts` where each cell begins, and their number last.
#[pyfunction]
pub(crate) fn sort_by_cell(py: Python<'_>, keys: &Array, ids: &Array, starts: &Array) -> PyResult<()> {
    match keys.elem.as_scalar() {
        Some(Scalar::U32) => sorted::<u32>(py, keys, keys.elem, ids, starts),
        Some(Scalar::U64) => sorted::<u64>(py, keys, keys.elem, ids, starts),
        _ => Err(PyValueError::new_err("keys are uint32 or uint64")),
    }
}

fn sorted<K: Key>(py: Python<'_>, keys: &Array, elem: Type, ids: &Array, starts: &Array) -> PyResult<()> {
    // SAFETY: the arrays are the caller's own, of this type, and nobody else uses them meanwhile.
    let (keys, ids, starts) =
        unsafe { (host_slice::<K>(keys, elem)?, host_slice(ids, Type::i32())?, host_slice(starts, Type::i32())?) };
    let n_cells = starts.len().saturating_sub(1);
    if ids.len() != keys.len() || keys.iter().any(|key| key.cell() >= n_cells) {
        return Err(PyValueError::new_err("one id a key, and one start a cell and one more"));
    }
    py.detach(|| {
        sort::sort(keys, ids);
        sort::starts_of_cells(keys, starts);
    });
    Ok(())
}

/// Lower and upper corners of boxes; nodes and items of a tree.
type Pair<'py> = (Bound<'py, Array>, Bound<'py, Array>);

/// Builds a tree over boxes: writes to its nodes, for which there is room for `2 n - 1`, and to its items. Gives the number of nodes, and
/// each group with its root.
#[pyfunction]
pub(crate) fn build_bvh(
    py: Python<'_>,
    boxes: Pair<'_>,
    groups: Option<&Array>,
    tree: Pair<'_>,
    leaf_size: usize,
    is_median: bool,
) -> PyResult<(usize, Vec<(i32, i32)>)> {
    // SAFETY: as for `refit_bvh`; nobody changes groups meanwhile.
    let (boxes, groups) = unsafe {
        let groups = groups.map(|groups| host_slice::<i32>(groups, Type::i32())).transpose()?;
        (Boxes::read(&boxes, &tree)?, groups)
    };
    let n = boxes.items.len();
    if boxes.nodes.len() < (2 * n).saturating_sub(1) || groups.as_ref().is_some_and(|groups| groups.len() != n) {
        return Err(PyValueError::new_err("nodes for all items, and one group an item"));
    }
    let method = if is_median { Method::Median } else { Method::Sah };
    let Boxes { lowers, uppers, nodes, items } = boxes;
    Ok(py.detach(|| {
        let built = geometry::build::build(lowers, uppers, groups.as_deref(), leaf_size, method);
        nodes[..built.nodes.len()].copy_from_slice(&built.nodes);
        items.copy_from_slice(&built.items);
        (built.nodes.len(), built.roots)
    }))
}

/// Renews the bounds of the first `n_nodes` nodes.
#[pyfunction]
pub(crate) fn refit_bvh(py: Python<'_>, boxes: Pair<'_>, tree: Pair<'_>, n_nodes: usize) -> PyResult<()> {
    // SAFETY: nodes and items are the tree's own; the caller's program does not write to its boxes meanwhile.
    let Boxes { lowers, uppers, nodes, items } = unsafe { Boxes::read(&boxes, &tree)? };
    if nodes.len() < n_nodes {
        return Err(PyValueError::new_err("there are not as many nodes"));
    }
    py.detach(|| tree::refit(&mut nodes[..n_nodes], items, lowers, uppers));
    Ok(())
}

/// A tree of eight children a node, over the items of a tree of two.
#[pyclass(frozen, module = "gridstride._native")]
pub(crate) struct WideTree(Wide);

#[pymethods]
impl WideTree {
    /// None where there are no items, or the tree is too deep.
    #[staticmethod]
    fn of(boxes: Pair<'_>, tree: Pair<'_>, n_nodes: usize) -> PyResult<Option<WideTree>> {
        // SAFETY: nodes and items are the tree's own, and only read.
        let Boxes { nodes, .. } = unsafe { Boxes::read(&boxes, &tree)? };
        let nodes = nodes.get(..n_nodes).ok_or_else(|| PyValueError::new_err("there are not as many nodes"))?;
        Ok(Wide::of(nodes).map(WideTree))
    }

    #[getter]
    fn n_nodes(&self) -> usize {
        self.0.n_nodes()
    }

    /// Writes the nodes, 18 rows of eight numbers each, from three corners an item in the tree's order.
    fn fill(&self, py: Python<'_>, corners: &Array, rows: &Array) -> PyResult<()> {
        // SAFETY: both are the mesh's own.
        let (corners, rows) = unsafe {
            (
                host_slice::<[f32; 3]>(corners, Type::vector(Scalar::F32, 3))?,
                host_slice::<[f32; WIDTH]>(rows, Type::vector(Scalar::F32, WIDTH as u32))?,
            )
        };
        let ((corners, _), (nodes, _)) = (corners.as_chunks::<3>(), rows.as_flattened_mut().as_chunks_mut::<STRIDE>());
        if corners.len() < self.0.n_items() || nodes.len() < self.0.n_nodes() {
            return Err(PyValueError::new_err("three corners an item, and 18 rows a node"));
        }
        py.detach(|| self.0.fill(corners, nodes));
        Ok(())
    }
}

/// Boxes, and the memory of a tree over them.
struct Boxes<'a> {
    lowers: &'a [[f32; 3]],
    uppers: &'a [[f32; 3]],
    nodes: &'a mut [Node],
    items: &'a mut [i32],
}

impl Boxes<'_> {
    /// # Safety
    /// Nothing else uses nodes and items meanwhile, or writes to the boxes.
    unsafe fn read<'a>(boxes: &Pair<'_>, tree: &Pair<'_>) -> PyResult<Boxes<'a>> {
        let vec3 = Type::vector(Scalar::F32, 3);
        let node = frontend::library_struct("_BvhNode").unwrap_or(vec3);
        // SAFETY: the types are those of the elements; the rest is the caller's promise.
        let boxes = unsafe {
            Boxes {
                lowers: host_slice(boxes.0.get(), vec3)?,
                uppers: host_slice(boxes.1.get(), vec3)?,
                nodes: host_slice(tree.0.get(), node)?,
                items: host_slice(tree.1.get(), Type::i32())?,
            }
        };
        if boxes.lowers.len() != boxes.items.len() || boxes.uppers.len() != boxes.items.len() {
            return Err(PyValueError::new_err("one lower and one upper bound an item"));
        }
        Ok(boxes)
    }
}

/// The elements of a contiguous array in the host's memory.
///
/// # Safety
/// `T` has the layout and meaning of the type, and nothing else reads or writes the memory meanwhile.
unsafe fn host_slice<'a, T>(array: &Array, elem: Type) -> PyResult<&'a mut [T]> {
    let n: u64 = array.extents().iter().product();
    if array.elem != elem || !array.place.is_host() || !array.is_contiguous || !array.is_aligned {
        return Err(PyValueError::new_err(format!("expected a contiguous array of {elem} on the host")));
    }
    if n == 0 {
        return Ok(&mut []);
    }
    // SAFETY: the array's view is of valid memory that its owner keeps; the rest is the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts_mut(array.descriptor[0] as *mut T, n as usize) })
}
