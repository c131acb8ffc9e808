"""Names of the kernel language as Python sees them: `wp.sin`, `wp.atomic_add`, `wp.tid`.

Inside of a kernel the compiler knows them by name. Called from Python with host values, a function runs in the
interpreter, so that the result has the very bits that a kernel would compute:

    >>> wp.length(wp.vec3(2.0, 3.0, 6.0))
    7.0

Names that are types, host functions or modules as well (`zeros`, `array`, `static`, `vec3`) are not listed here.
"""

from __future__ import annotations

from typing import Any

from gridstride import _native, _types, _unbuilt

_TEXT = """
abs acos acosh add address_of argmax argmin asin asinh atan atan2 atanh atomic_add atomic_and atomic_cas atomic_exch
atomic_max atomic_min atomic_or atomic_sub atomic_xor bit_and bit_count bit_or bit_xor block_dim breakpoint
bvh_get_group_root bvh_query_aabb bvh_query_aabb_tiled bvh_query_capsule bvh_query_next bvh_query_next_tiled
bvh_query_ray bvh_query_ray_tiled bvh_query_sphere cast cbrt ceil clamp closest_point_edge_edge copysign cos cosh cross
curlnoise cw_div cw_mul ddot degrees dense_chol dense_gemm dense_gemm_batched dense_solve dense_solve_batched dense_subs
determinant diag div div_approx dot eig3 erf erfc erfcinv erfinv exp expect_eq expect_near expect_neq float floor
floordiv fma frac get_diag grad hash_grid_point_id hash_grid_query hash_grid_query_next identity int intersect_tri_tri
inverse inverse_approx invert isfinite isinf isnan len length length_sq lerp log log10 log2 lower_bound lshift matrix
matrix_from_cols matrix_from_rows max mesh_eval_face_normal mesh_eval_position mesh_eval_velocity mesh_get mesh_get_bvh
mesh_get_group_root mesh_get_index mesh_get_point mesh_get_velocity mesh_query_aabb mesh_query_aabb_next
mesh_query_aabb_next_tiled mesh_query_aabb_tiled mesh_query_furthest_point_no_sign mesh_query_next mesh_query_point
mesh_query_point_no_sign mesh_query_point_sign_normal mesh_query_point_sign_parity mesh_query_point_sign_winding_number
mesh_query_ray mesh_query_ray_anyhit mesh_query_ray_count_intersections mesh_query_sphere min mod mul neg noise nonzero
norm_huber norm_l1 norm_l2 norm_pseudo_huber normalize outer pnoise poisson pos pow print printf qr3
quat_from_axis_angle quat_from_euler quat_from_matrix quat_identity quat_inverse quat_rotate quat_rotate_inv quat_rpy
quat_slerp quat_to_axis_angle quat_to_euler quat_to_matrix quat_to_rpy quat_twist quat_twist_angle
quat_twist_angle_signed quaternion radians rand_init randf randi randn randu range reversed rint round rshift sample_cdf
sample_triangle sample_unit_cube sample_unit_disk sample_unit_hemisphere sample_unit_hemisphere_surface sample_unit_ring
sample_unit_sphere sample_unit_sphere_surface sample_unit_square select sign sin sinh skew slice smooth_normalize
smoothstep spatial_adjoint spatial_bottom spatial_cross spatial_cross_dual spatial_dot spatial_jacobian spatial_mass
spatial_top sqrt step sub svd2 svd3 tan tanh texture_sample tid tile tile_arange tile_argmax tile_argmin tile_assign
tile_astype tile_atomic_add tile_atomic_add_indexed tile_axpy tile_broadcast tile_bvh_query_aabb tile_bvh_query_next
tile_bvh_query_ray tile_cholesky tile_cholesky_inplace tile_cholesky_solve tile_cholesky_solve_inplace tile_diag_add
tile_dot tile_empty tile_extract tile_fft tile_from_thread tile_full tile_ifft tile_load tile_load_indexed
tile_lower_solve tile_lower_solve_inplace tile_map tile_matmul tile_max tile_mesh_query_aabb tile_mesh_query_aabb_next
tile_min tile_ones tile_query_valid tile_randf tile_randi tile_reduce tile_reshape tile_scan_exclusive
tile_scan_inclusive tile_scan_max_inclusive tile_scan_min_inclusive tile_scatter_add tile_scatter_masked
tile_slice_indexed tile_sort tile_squeeze tile_stack tile_stack_clear tile_stack_count tile_stack_pop tile_stack_push
tile_store tile_store_indexed tile_sum tile_transpose tile_upper_solve tile_upper_solve_inplace tile_view tile_zeros
trace transform_compose transform_decompose transform_from_matrix transform_get_rotation transform_get_translation
transform_identity transform_inverse transform_multiply transform_point transform_set_rotation transform_set_translation
transform_to_matrix transform_twist transform_vector transform_wrench transformation transpose trunc unot untile vector
velocity_at_point view volume_index_to_world volume_index_to_world_dir volume_lookup volume_lookup_f volume_lookup_i
volume_lookup_index volume_lookup_v volume_sample volume_sample_f volume_sample_grad volume_sample_grad_f
volume_sample_grad_index volume_sample_i volume_sample_index volume_sample_v volume_store volume_store_f volume_store_i
volume_store_v volume_voxel_count volume_world_to_index volume_world_to_index_dir where
"""
NAMES: tuple[str, ...] = tuple(_TEXT.split())


_IN_KERNELS = frozenset(["tid", "block_dim", "breakpoint", "grad", "texture_sample"])
_RANDOM = ("rand", "sample_", "poisson")


class Builtin:
    """A function of the kernel language. Raises `CompileError` when it does not take the given values."""

    def __init__(self, name: str) -> None:
        self.__gs_builtin__ = name
        self.__name__ = self.key = name
        self.__doc__ = f"`{name}` of the kernel language; from Python it runs in the interpreter on host values."

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = self.__gs_builtin__
        make = _CONSTRUCTORS.get(name)
        if make is not None:
            return make(*args, **kwargs)
        if name in _IN_KERNELS:
            raise RuntimeError(f"`{name}` has a meaning only in a kernel")
        values, names = (*args, *kwargs.values()), list(kwargs)
        try:
            found = _native.call(name, values, names)
        except _native.CompileError as error:
            raise refused(name, values, error) from None
        found = _types.result(found)
        # In a kernel these change the state that they are given; here it stays, and only the sample is of use.
        return found[0] if name.startswith(_RANDOM) and isinstance(found, tuple) else found

    def __getitem__(self, key: Any) -> Any:
        # `wp.tile[float, 8]` in annotations.
        if self.__name__ not in ("tile", "tile_stack"):
            raise TypeError(f"`{self.__name__}` is a function and cannot be subscripted")
        return _unbuilt.Unbuilt(self.__name__)[key]

    def __repr__(self) -> str:
        return f"<builtin {self.__name__}>"

    def __reduce__(self) -> str:
        return self.__name__


def refused(name: str, values: tuple[Any, ...], error: Any) -> Any:
    """The error of a call from Python: the types that were given, and the compiler's report as a note."""
    given = ", ".join(type(value).__name__ for value in values)
    made = type(error)(f"Couldn't find a function '{name}' compatible with the arguments '{given}'")
    made.diagnostics = error.diagnostics
    made.__notes__ = [str(error)]
    return made


# Those that take types or change what they are given: the interpreter is only given values.


def _vector(*args: Any, length: int | None = None, dtype: Any = None) -> Any:
    from gridstride import _vector as vectors

    length = len(args) if length is None else length
    return vectors.vector(length, dtype or _scalar_of(args))(*args)


def _matrix(*args: Any, shape: Any = None, dtype: Any = None) -> Any:
    from gridstride import _vector as vectors

    if shape is None:
        raise TypeError("`matrix` needs a shape when it is called from Python")
    return vectors.matrix(shape, dtype or _scalar_of(args))(*args)


def _scalar_of(args: tuple[Any, ...]) -> Any:
    for arg in args:
        if isinstance(arg, _types.scalar_base):
            return type(arg)
        scalar = getattr(arg, "_wp_scalar_type_", None)
        if scalar is not None:
            return scalar
    return _types.int32 if args and all(type(arg) is int for arg in args) else _types.float32


def _identity(n: int, dtype: Any = float) -> Any:
    from gridstride import _vector as vectors

    return vectors.matrix((n, n), dtype)([[float(i == j) for j in range(n)] for i in range(n)])


def _quaternion(*args: Any, dtype: Any = None) -> Any:
    from gridstride import _vector as vectors

    return vectors.quaternion(dtype or _scalar_of(args))(*args)


def _check_float(name: str, dtype: Any) -> None:
    """Refuses a `dtype` that is no float type of the kernel language."""
    if dtype is not None and dtype is not float and not any(dtype is known for known in _types.float_types):
        raise RuntimeError(f"Couldn't find a function '{name}' compatible with the arguments 'dtype={dtype!r}'")


def _quat_identity(dtype: Any = float) -> Any:
    _check_float("quat_identity", dtype)
    return _quaternion(0.0, 0.0, 0.0, 1.0, dtype=dtype)


def _transformation(*args: Any, dtype: Any = None, **parts: Any) -> Any:
    from gridstride import _vector as vectors

    return vectors.transformation(dtype or _scalar_of((*args, *parts.values())))(*args, **parts)


def _transform_identity(dtype: Any = float) -> Any:
    _check_float("transform_identity", dtype)
    return _transformation(dtype=dtype)


def _set_translation(xform: Any, p: Any) -> None:
    xform.p = p


def _set_rotation(xform: Any, q: Any) -> None:
    xform.q = q


_CONSTRUCTORS: dict[str, Any] = {
    "transform_set_translation": _set_translation,
    "transform_set_rotation": _set_rotation,
    "tile": _unbuilt.Unbuilt("tile"),
    "tile_stack": _unbuilt.Unbuilt("tile_stack"),
    "vector": _vector,
    "matrix": _matrix,
    "identity": _identity,
    "quaternion": _quaternion,
    "quat_identity": _quat_identity,
    "transformation": _transformation,
    "transform_identity": _transform_identity,
}

table: dict[str, Builtin] = {name: Builtin(name) for name in NAMES}
# `wp.int` and `wp.float` are casts, and types where one is asked for.
table["int"].__gs_type__ = _types.int32.__gs_type__  # type: ignore[attr-defined]
table["float"].__gs_type__ = _types.float32.__gs_type__  # type: ignore[attr-defined]


def find(name: str) -> Any:
    """The function or type of the kernel language that a bare name in a kernel means, or None."""
    from gridstride import _named

    found = table.get(name) or _named.named.get(name)
    return found or next((cls for cls in _types.scalar_and_bool_types if cls.__name__ == name), None)
