"""Kernels in modules of their own: one object for one content; hashes of modules."""

from types import SimpleNamespace

import gridstride as wp

SCALE = 2.0


@wp.func
def scaled(x: float):
    return x * SCALE


def make(offset, **options):
    @wp.kernel(module="unique", **options)
    def k(a: wp.array(dtype=float)):
        a[wp.tid()] = scaled(a[wp.tid()]) + offset

    return k


def test_one_content_is_one_kernel(monkeypatch):
    first = make(1.0)
    assert make(1.0) is first
    others = [make(2.0), make(1.0, enable_backward=False), make(1.0, module_options={"fast_math": True})]
    assert len({id(kernel) for kernel in [first, *others]}) == 4
    assert len({kernel.module.name for kernel in [first, *others]}) == 4
    # A global of a called function counts.
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    assert make(1.0) is not first


def test_what_may_change_unseen_is_never_one():
    settings = SimpleNamespace(n=1.0)

    def with_object():
        @wp.kernel(module="unique")
        def k(a: wp.array(dtype=float)):
            a[0] = settings.n

        return k

    assert with_object() is not with_object()


def test_the_hash_of_a_module_follows_its_kernels(monkeypatch):
    kernel = make(5.0)
    before = kernel.module.hash_module()
    assert kernel.module.hash_module() == before
    monkeypatch.setitem(globals(), "SCALE", 4.0)
    assert kernel.module.hash_module() != before
