"""What `import gridstride` loads: little beyond NumPy, and everything else when it is first asked for."""

import subprocess
import sys

import pytest

import gridstride as wp


def run(program):
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout


def test_no_module_is_loaded_that_a_plain_program_has_no_use_for():
    loaded = run(
        "import sys, numpy; before = set(sys.modules)\n"
        "import gridstride; print(*sorted(set(sys.modules) - before - {'__future__', 'threading'}), sep='\\n')"
    ).split()
    assert "gridstride._native" in loaded
    assert [name for name in loaded if not name.startswith("gridstride")] == []
    later = "_ahead _diagnostics _graph _interop _map _tape _timer utils sparse optim autograd lib numba cupy compat"
    assert [name for name in later.split() if f"gridstride.{name}" in loaded] == []


@pytest.mark.parametrize("name", ["Tape", "capture_begin", "map", "ScopedTimer", "print_diagnostics", "utils", "optim"])
def test_the_rest_is_there_when_it_is_asked_for(name):
    assert name in dir(wp)
    assert run(f"import gridstride; print(gridstride.{name} is gridstride.{name})") == "True\n"
    assert run(f"from gridstride import {name}; print({name}.__name__.rpartition('.')[2])") == f"{name}\n"


def test_a_star_import_gives_what_is_loaded_later_too():
    # `print` is one of a kernel's functions then.
    program = "import sys; from gridstride import *; sys.stdout.write(Tape.__name__ + ' ' + utils.__name__)"
    assert run(program) == "Tape gridstride.utils"


def test_a_name_that_is_nowhere_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        wp.nothing  # noqa: B018
