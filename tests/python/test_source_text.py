"""Which text of a file a kernel is compiled from, and what interrupts that."""

import importlib
import os
import sys

import pytest

import gridstride as wp

FACTORY = """import gridstride as wp
def make():
    @wp.kernel
    def k(a: wp.array(dtype=float)):
        a[0] = {}
    return k
"""


def value_of(kernel):
    a = wp.zeros(1, dtype=float, device="cpu")
    wp.launch(kernel, dim=1, inputs=[a], device="cpu")
    return a.numpy()[0]


def test_a_file_changed_after_its_import(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    file = tmp_path / "gs_test_factory.py"
    file.write_text(FACTORY.format("1.0"))
    module = importlib.import_module("gs_test_factory")
    before = module.make()
    file.write_text(FACTORY.format("2.0"))
    os.utime(file, ns=(0, file.stat().st_mtime_ns + 1000))
    # The functions in memory are still those of the first text.
    assert [value_of(kernel) for kernel in (module.make(), before)] == [1.0, 1.0]
    assert value_of(importlib.reload(module).make()) == 2.0
    assert value_of(before) == 1.0


def test_a_text_that_was_never_seen_is_refused(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    file = tmp_path / "gs_test_unseen.py"
    file.write_text(FACTORY.format("1.0"))
    module = importlib.import_module("gs_test_unseen")
    file.write_text(FACTORY.format("3.0"))
    with pytest.raises(wp.CompileError, match="was changed after it was imported"):
        value_of(module.make())


def test_an_interrupt_of_a_static_expression_is_no_mistake_of_the_kernel():
    attempts = []

    def interrupted_once():
        attempts.append(1)
        if len(attempts) == 1:
            raise KeyboardInterrupt
        return 7.0

    def define():
        @wp.kernel
        def k(a: wp.array(dtype=float)):
            a[0] = wp.static(interrupted_once())

        return k

    with pytest.raises(KeyboardInterrupt):
        define()
    assert value_of(define()) == 7.0
