"""Classes for the structs that the kernel library declares (`gridstride/lib`): the one declaration is there."""

from __future__ import annotations

from typing import Any

from gridstride import _array, _native, _struct, _types


def of_library(name: str, doc: str = "", **members: Any) -> Any:
    """The class of a struct of the kernel library."""
    fields = _native.library_struct(name).fields
    annotations = {field: _annotation(ty) for field, ty, _ in fields}
    body = {"__doc__": doc, "__annotations__": annotations, **members}
    return _struct._make_struct(type(name, (), body), annotations)


def _annotation(ty: Any) -> Any:
    if ty.kind == "array":
        return _array.array(dtype=_types.class_of(ty.elem), ndim=ty.rank)
    return _types.class_of(ty)


@classmethod
def _of_scalar(cls: Any, dtype: Any) -> Any:
    """`HashGridQuery[wp.float64]`: a query is of one type, whatever the scalar of the points."""
    if _types.dtype_class(dtype) not in (_types.float16, _types.float32, _types.float64):
        raise TypeError(f"Unsupported dtype {dtype} for HashGridQuery. Supported types: float16, float32, float64")
    return cls


HashGridData = of_library("_HashGrid")
HashGridQuery = of_library(
    "HashGridQuery",
    "A walk over the points near a point: `for i in wp.hash_grid_query(…)`.",
    __class_getitem__=_of_scalar,
)
BvhNode = of_library("_BvhNode")
BvhData = of_library("_Bvh")
BvhQuery = of_library("BvhQuery", "A walk over the items of a `Bvh`: `for i in wp.bvh_query_aabb(…)`.")
Cluster = of_library("_Cluster")
MeshData = of_library("_Mesh")
MeshFields = of_library("Mesh")
MeshQuery = of_library("MeshQuery", "A walk over the faces of a `Mesh`: `for i in wp.mesh_query_aabb(…)`.")
MeshQueryAABB = MeshQuery
MeshQueryPoint = of_library(
    "MeshQueryPoint",
    "A point of a mesh: `result` (whether there is one), `sign` (negative inside), `face`, barycentric `u`, `v`.",
)
MeshQueryRay = of_library(
    "MeshQueryRay",
    "A ray's hit: `result` (whether there is one), `sign` (positive at the front), `face`, `t`, `u`, `v`, `normal`.",
)
