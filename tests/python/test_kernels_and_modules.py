"""Kernels, functions and modules as objects, before anything is compiled."""

import copy
import importlib
import pickle
import sys
from typing import Any

import numpy as np
import pytest

import gridstride as wp


@wp.kernel
def plain(a: wp.array(dtype=float)):
    """Doc."""
    a[wp.tid()] = 1.0


@wp.kernel(enable_backward=False, module="unique", module_options={"fast_math": True})
def with_options(a: wp.array(dtype=float)):
    a[wp.tid()] = 1.0


@wp.kernel
def generic(a: wp.array(dtype=Any), s: Any):
    a[wp.tid()] = s


@wp.func
def twice(x: float):
    return x * 2.0


@wp.func
def twice(x: int):  # noqa: F811
    return x * 2


@wp.func
def single(x: float):
    return x


def test_kernels_look_like_their_function():
    assert plain.key == "plain"
    assert plain.__name__ == "plain"
    assert plain.__doc__ == "Doc."
    assert plain.func.__code__.co_name == "plain"
    assert plain.module is wp.get_module(__name__)
    assert plain.module.kernels["plain"] is plain
    assert "plain" in repr(plain)
    with pytest.raises(NotImplementedError, match="wp.launch"):
        plain(1)


def test_keys_of_nested_kernels():
    @wp.kernel
    def inner(a: float):
        pass

    assert inner.key == "test_keys_of_nested_kernels__locals__inner"


def test_unique_modules():
    @wp.kernel(module="unique")
    def k(a: float):
        pass

    assert k.module is not wp.get_module(__name__)
    assert k.key not in wp.get_module(__name__).kernels


def test_options_reach_the_compiler():
    assert with_options.compile_options()["fast_math"] is True
    assert plain.compile_options()["checked"] is False
    wp.config.mode = "debug"
    assert plain.compile_options()["checked"] is True
    wp.config.mode = "release"
    assert plain.compile_options()["checked"] is False
    wp.set_module_options({"max_unroll": 3, "mode": "debug"})
    assert wp.get_module_options()["max_unroll"] == 3
    assert plain.compile_options()["max_unroll"] == 3
    assert plain.compile_options()["checked"] is True
    wp.set_module_options({"max_unroll": 16, "mode": "release"})
    wp.config.cache_kernels = False
    assert plain.compile_options()["cache_dir"] is None
    assert plain.compile_options() is plain.compile_options()


def test_overloads_of_functions():
    assert len(twice.overloads) == 2
    first = twice.overloads[0]
    assert first.overloads == [first]

    @wp.func
    def g(x: float):
        return x

    old = g

    @wp.func
    def g(x: float):
        return x + 1.0

    assert old.overloads == [old]
    assert g.overloads == [g]


def test_functions_of_factories_do_not_join():
    def make(c):
        @wp.func
        def f(x: float):
            return x + c

        return f

    assert make(1.0).overloads != make(2.0).overloads


def test_overloads_of_kernels():
    one = wp.overload(generic, [wp.array(dtype=float), float])
    assert not one.is_generic
    assert wp.overload(generic, {"a": wp.array(dtype=wp.float32), "s": wp.float32}) is one
    assert wp.overload(generic, {"a": wp.array(dtype=wp.vec3), "s": wp.vec3}) is not one
    assert generic.is_generic
    assert generic.module.kernels["generic"] is generic
    with pytest.raises(TypeError, match="`s` of kernel `generic` is still open"):
        wp.overload(generic, {"a": wp.array(dtype=float)})
    with pytest.raises(TypeError, match="no parameter `t`"):
        wp.overload(generic, {"t": float})
    with pytest.raises(TypeError, match="2 parameters, got 1"):
        wp.overload(generic, [float])


@wp.kernel
def declared(a: wp.array(dtype=Any)):
    a[wp.tid()] = a[wp.tid()]


declared_kernel = declared


@wp.overload
def declared(a: wp.array(dtype=wp.vec2)): ...  # noqa: F811


def test_overloads_by_declaration():
    assert declared is declared_kernel
    assert len(declared.overloads) == 1


def test_static_and_constant_on_the_host():
    assert wp.static(3 + 4) == 7
    assert wp.constant(wp.vec3(1)) == wp.vec3(1)
    with pytest.raises(TypeError, match="a constant is"):
        wp.constant([1])


def test_every_name_of_the_kernel_language_is_there():
    from gridstride import _builtins

    for name in _builtins.NAMES:
        assert getattr(wp, name).__gs_builtin__ == name
    for name in ("zeros", "array", "static"):
        assert getattr(wp, name).__gs_builtin__ == name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        wp.nothing  # noqa: B018


def test_a_function_that_is_defined_anew_is_in_the_kernels_that_call_it(tmp_path):
    path = tmp_path / "cells.py"
    first = """
import gridstride as wp
import inner


@wp.func
def factor(x: float):
    return 2.0 * x


@wp.func
def scaled(x: float):
    return factor(x) + inner.offset()


@wp.kernel
def scale(a: wp.array(dtype=float)):
    a[0] = scaled(a[0])
"""
    (tmp_path / "inner.py").write_text("import gridstride as wp\n\n\n@wp.func\ndef offset():\n    return 0.5\n")
    path.write_text(first)
    sys.path.insert(0, str(tmp_path))
    try:
        module = importlib.import_module("cells")
        inner = importlib.import_module("inner")
        launched = lambda: result(module.scale)  # noqa: E731
        assert launched() == 2.5
        command = wp.launch(module.scale, dim=1, inputs=[wp.ones(1, dtype=float)], record_cmd=True)
        command.launch()
        cell = "import gridstride as wp\n\n\n@wp.func\ndef factor(x: float):\n    return 3.0 * x\n"
        (tmp_path / "cell.py").write_text(cell)
        exec(compile(cell, str(tmp_path / "cell.py"), "exec"), module.__dict__)
        assert launched() == 3.5
        (tmp_path / "inner.py").write_text("import gridstride as wp\n\n\n@wp.func\ndef offset():\n    return 10.25\n")
        importlib.reload(inner)
        assert launched() == 13.25
        command.launch()
        np.testing.assert_array_equal(command.params[0].numpy(), [17.75])
    finally:
        sys.path.remove(str(tmp_path))
        for name in ("cells", "inner"):
            sys.modules.pop(name, None)


def result(kernel) -> float:
    a = wp.ones(1, dtype=float)
    wp.launch(kernel, dim=1, inputs=[a])
    return float(a.numpy()[0])


@wp.func
def scaled(x: float, factor: float = 2.0):
    return factor * x


@wp.kernel
def scales(out: wp.array(dtype=float)):
    out[0] = scaled(1.0)


def test_the_defaults_of_a_function_can_be_changed():
    out = wp.zeros(1, dtype=float)
    wp.launch(scales, dim=1, inputs=[out])
    before = scales.module.hash_module()
    try:
        scaled.defaults["factor"] = 5.0
        assert scaled.defaults == {"factor": 5.0} and scales.module.hash_module() != before
        wp.launch(scales, dim=1, inputs=[out])
        assert out.list() == [5.0]
        with pytest.raises(KeyError, match="no parameter `other`"):
            scaled.defaults["other"] = 1.0
    finally:
        scaled.defaults = {"factor": 2.0}
    assert scales.module.hash_module() == before


def test_an_overload_is_found_by_types():
    assert twice.get_overload([int], {}).func.__annotations__ == {"x": int}
    assert twice.get_overload([], {"x": float}) is twice.overloads[0]
    assert twice.get_overload([wp.vec3], {}) is None
    assert list(twice.user_overloads.values()) == twice.overloads


def test_modules_know_which_others_they_call():
    provider, consumer = wp.Module("provider"), wp.Module("consumer")

    @wp.func(module=provider)
    def given(x: float):
        return x + 1.0

    @wp.kernel(module=consumer)
    def uses(out: wp.array(dtype=float)):
        out[0] = given(1.0)

    assert consumer.references == {provider} and consumer in provider.dependents
    assert provider.references == set() and not consumer.hashers
    wp.launch(uses, dim=1, inputs=[wp.zeros(1, dtype=float)])
    assert list(consumer.hashers.values()) == [consumer.hash_module()]
    consumer.unload()
    assert not consumer.hashers


def test_options_in_force_are_those_of_the_module_or_of_the_settings():
    module = wp.Module("options")
    module.options["max_unroll"] = 3
    found = module.resolve_options(wp.config, 64)
    assert found["max_unroll"] == 3 and found["fast_math"] is wp.config.fast_math and found["block_dim"] == 64
    module.options["deterministic"] = True
    with pytest.raises(ValueError, match="DeterministicMode"):
        module.resolve_options()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"cuda_max_registers": True}, TypeError, "cuda_max_registers is an int"),
        ({"cuda_max_registers": 0}, ValueError, "at least 1"),
        ({"cuda_max_registers": 64, "launch_bounds": 128}, ValueError, "give one of them"),
        ({"enable_cuda_smem_spilling": 1}, TypeError, "is a bool"),
        ({"cluster_dim": 17}, ValueError, "at most 16"),
        ({"cluster_dim": (2, 1)}, TypeError, "cluster_dim is an int"),
    ],
)
def test_kernel_options_have_values_that_mean_something(options, error, message):
    with pytest.raises(error, match=message):

        @wp.kernel(**options)
        def wrong(a: wp.array(dtype=float)):
            a[0] = 1.0


def test_overloads_do_not_differ_by_reference_alone():
    @wp.func
    def given(x: int):
        return x

    with pytest.raises(RuntimeError, match=r"differ only by `wp.ref`"):

        @wp.func
        def given(x: wp.ref[int]):  # noqa: F811
            x += 1  # noqa: F841


def test_arrays_within_reach():
    cpu = wp.get_device("cpu")
    assert wp.can_access(cpu, wp.zeros(2, device="cpu"))
    with pytest.raises(TypeError, match="about Warp arrays"):
        wp.can_access(cpu, cpu)
    with pytest.raises(TypeError, match="concrete Warp array"):
        wp.can_access(cpu, wp.array[float])


def test_kernels_and_functions_are_pickled_by_name():
    for one in (plain, with_options, generic, single):
        assert pickle.loads(pickle.dumps(one)) is one
        assert copy.deepcopy([one])[0] is one

    @wp.kernel
    def inner(a: wp.array(dtype=float)):
        a[wp.tid()] = 1.0

    with pytest.raises((pickle.PicklingError, AttributeError), match="inner"):
        pickle.dumps(inner)
