"""Names of Warp that programs import under `gridstride.compat`, whether or not they mean something here."""

import os
import subprocess
import sys
import threading

import pytest

import gridstride as wp

PROGRAM = """
import gridstride.compat
gridstride.compat.install()
import warp as wp
import warp.fem
import warp.render
from warp._src.build import build_cpu
from warp._src.context import Kernel, ModuleBuilder, runtime
from warp._src.types import Vector, np_dtype_to_warp_type
import numpy as np

assert callable(warp.render.UsdRenderer)
assert Kernel is wp.Kernel and Vector[float, 3] is wp.vec3 and np_dtype_to_warp_type[np.float32] is wp.float32
assert runtime.core.wp_is_mathdx_enabled() == 0
for use in (lambda: ModuleBuilder({}), lambda: build_cpu("x"), lambda: warp.fem.Grid2D("x")):
    try:
        use()
    except NotImplementedError as error:
        assert "no counterpart" in str(error)
    else:
        raise AssertionError("an absent name did something")
"""


def test_private_names_import_and_absent_ones_say_so():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_kinds_that_are_not_built_are_annotations_only():
    @wp.kernel
    def reads(mesh: wp.array(dtype=float), other: wp.Volume):
        mesh[0] = 1.0

    assert reads.key == "test_kinds_that_are_not_built_are_annotations_only__locals__reads"
    with pytest.raises(NotImplementedError, match="Volume"):
        wp.Volume(1)
    with pytest.raises(TypeError, match="an extent of a tile is a positive integer, not 0"):
        wp.tile[float, 0]


WORDS = """
import gridstride.compat
gridstride.compat.install()
import warp as wp

@wp.kernel
def wrong(a: wp.array2d[wp.vec3]):
    a[0, 0, 1] = 1.0

@wp.kernel
def sliced(a: wp.array[wp.vec4]):
    v = a[0]
    v[1:] = wp.vec2(1.0, 2.0)

for launch, words in (
    (lambda: wp.launch(sliced, 1, [wp.zeros(1, dtype=wp.vec4)]), "The length of the provided vector (2) isn't"),
    (lambda: wp.launch(wrong, 1, [wp.zeros((1, 1), dtype=wp.vec3)]), "Incorrect number of indices"),
    (lambda: wp.launch(wrong, 1, [[1.0]]), "argument 'a' expects an array of type array(ndim=2, dtype=vec3f), but"),
    (lambda: wp.launch(wrong, 1, [wp.zeros(1, dtype=wp.vec3)]), "argument 'a' expects an array with 2 dimension(s)"),
):
    try:
        launch()
    except RuntimeError as error:
        own, _, said = str(error).partition("Warp says: ")
        assert "kernel `" in own and said.startswith(words), error
    else:
        raise AssertionError(words)
"""


def test_errors_end_with_warps_words(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(WORDS)
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_messages_go_to_the_logger():
    seen = []

    class Quiet:
        def debug(self, message): ...

        def info(self, message): ...

        def warning(self, message, category=None, stacklevel=1):
            seen.append(message)

        def error(self, message): ...

    from gridstride._logger import log_warning

    with wp.ScopedLogger(Quiet()):
        log_warning("twice", once=True)
        log_warning("twice", once=True)
        with wp.ScopedLogLevel(wp.LOG_ERROR):
            log_warning("too quiet")
    assert seen == ["twice"]
    with pytest.raises(TypeError, match="method `debug`"):
        wp.set_logger(object())


@pytest.mark.cpu
def test_deterministic_launches_add_in_order():
    @wp.kernel(module="unique", module_options={"deterministic": wp.DeterministicMode.RUN_TO_RUN})
    def total(x: wp.array(dtype=float), out: wp.array(dtype=float)):
        wp.atomic_add(out, 0, x[wp.tid()])

    values = wp.array([1e8, 1.0, -1e8, 1.0] * 4096, dtype=float)
    sums = set()
    for _ in range(5):
        out = wp.zeros(1)
        wp.launch(total, dim=values.size, inputs=[values, out])
        sums.add(float(out.numpy()[0]))
        out = wp.zeros(1)
        wp.launch(total, dim=values.size, inputs=[values, out], record_cmd=True).launch()
        sums.add(float(out.numpy()[0]))

    def run():
        for _ in range(50):
            out = wp.zeros(1)
            wp.launch(total, dim=values.size, inputs=[values, out])
            sums.add(float(out.numpy()[0]))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(sums) == 1


CACHE = """
import os
import gridstride.compat
gridstride.compat.install()
import warp as wp

folder = os.path.join(os.path.realpath(os.environ["WARP_CACHE_PATH"]), wp.config.version)
assert wp.config.kernel_cache_dir == folder
wp._src.build.init_kernel_cache(folder)
assert wp.config.kernel_cache_dir == folder

@wp.kernel
def one(out: wp.array[float]):
    out[0] = 1.0

wp.launch(one, dim=1, inputs=[wp.zeros(1, dtype=float)])
assert os.listdir(folder)
"""


def test_the_folder_of_compiled_kernels_is_warps_where_a_program_names_it(tmp_path):
    environment = {key: value for key, value in os.environ.items() if key != "GRIDSTRIDE_CACHE_DIR"}
    environment["WARP_CACHE_PATH"] = str(tmp_path / "cache")
    program = tmp_path / "program.py"
    program.write_text(CACHE)
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
