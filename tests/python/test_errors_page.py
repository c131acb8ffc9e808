"""docs/errors.md: the example of every code has the mistake that the code stands for."""

import importlib.util
import re
from pathlib import Path

import pytest

import gridstride as wp
from gridstride import _native

PAGE = Path(__file__).resolve().parents[2] / "docs" / "errors.md"
SECTION = re.compile(r"^### `([a-z-]+)`\n(.*?)(?=^##)", re.MULTILINE | re.DOTALL)
EXAMPLE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# What Python itself refuses first, what no text can show, and what is of kernels in C.
WITHOUT_EXAMPLE = {"c-syntax", "jump-outside-loop", "no-source"}

ERRORS, _, WARNINGS = PAGE.read_text(encoding="utf-8").partition("\n## Warnings\n")
SECTIONS = {code: EXAMPLE.findall(text) for code, text in SECTION.findall(ERRORS)}


def test_every_section_has_an_example():
    assert len(SECTIONS) > 20
    assert {code for code, examples in SECTIONS.items() if not examples} == WITHOUT_EXAMPLE


def _imported(example, folder):
    file = folder / "example.py"
    file.write_text("import gridstride as wp\n\n\n" + example, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("example", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("code", "text"), SECTION.findall(WARNINGS))
def test_example_of_a_warning(code, text, tmp_path):
    module = _imported(*EXAMPLE.findall(text), tmp_path)
    with pytest.warns(SyntaxWarning, match=rf"warning\[{code}\]: .*\n.*example.py:"):
        module.kernel.compile()


@pytest.mark.parametrize("code", sorted(SECTIONS.keys() - WITHOUT_EXAMPLE))
def test_example(code, tmp_path):
    (example,) = SECTIONS[code]
    module = _imported(example, tmp_path)
    with pytest.raises(wp.CompileError) as error:
        if code in ("no-gradient", "gradient-signature"):
            _native.adjoint_facts(module.kernel, [wp.zeros(1, dtype=float), wp.zeros(1, dtype=int)])
        else:
            module.kernel.compile()
    assert [diagnostic[0] for diagnostic in error.value.diagnostics] == [code]
    assert f"error[{code}]" in str(error.value)
    assert "example.py:" in str(error.value)
