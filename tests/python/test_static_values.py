"""`wp.static(…)`: when it is evaluated, and with which values."""

# ruff: noqa: B023 - what a loop variable is when a kernel is defined is what is tested

import numpy as np

import gridstride as wp

SCALE = 2.0


def launched(kernel) -> float:
    out = wp.zeros(1, dtype=float)
    wp.launch(kernel, dim=1, inputs=[out])
    return float(out.numpy()[0])


def test_kernels_made_in_a_loop_keep_the_loops_values():
    kernels = []
    for k in range(3):

        @wp.kernel
        def kernel(out: wp.array(dtype=float)):
            out[0] = float(wp.static(k * 10)) + wp.static(float(k))

        kernels.append(kernel)
    assert [launched(kernel) for kernel in kernels] == [0.0, 11.0, 22.0]


def test_unique_kernels_differ_by_their_static_values():
    made = []
    for k in range(2):

        @wp.kernel(module="unique")
        def kernel(out: wp.array(dtype=float)):
            out[0] = float(wp.static(k + 1))

        made.append(kernel)
    assert made[0] is not made[1]
    assert [launched(kernel) for kernel in made] == [1.0, 2.0]


def test_what_is_not_there_yet_is_evaluated_when_it_is_compiled():
    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        out[0] = wp.static(later)

    later = 7.0
    assert launched(kernel) == 7.0


def test_each_is_evaluated_once(monkeypatch):
    count = []

    def bump():
        count.append(1)
        return float(len(count))

    @wp.func
    def once():
        return wp.static(bump())

    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        x = wp.static(1.0 + wp.static(bump()))
        for _i in range(2):
            out[0] = x + 10.0 * wp.static(bump())
        out[0] = out[0] + once() * 100.0

    assert len(count) == 3
    assert launched(kernel) == 3.0 + 30.0 + 100.0
    assert launched(kernel) == 133.0
    assert len(count) == 3


def test_names_of_the_kernel_are_not_those_of_the_module():
    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        for SCALE in range(3):  # noqa: N806 - the name of a global
            if wp.static(SCALE == 2):
                out[0] = out[0] + float(SCALE)

    assert launched(kernel) == 2.0


def test_other_names_for_it(monkeypatch):
    constant_of = wp.static

    @wp.kernel
    def kernel(out: wp.array(dtype=float)):
        ünit = constant_of(SCALE + 1.0)  # noqa: PLC2401
        out[0] = ünit + wp.static(SCALE)

    monkeypatch.setitem(globals(), "SCALE", 100.0)
    constant_of = None
    np.testing.assert_equal(launched(kernel), 5.0)
