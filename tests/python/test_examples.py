"""Every example runs at a small size; each checks itself against NumPy."""

import importlib
import subprocess
import sys

import pytest
from PIL import Image

SIZES = {
    "box": ["--particles", "2000", "--steps", "200"],
    "dam_break": ["--spacing", "0.08", "--steps", "60"],
    "galaxy": ["--stars", "200", "--steps", "5"],
    "heat": ["--size", "64", "--steps", "50"],
    "heat_source": ["--size", "16", "--steps", "20", "--iterations", "40"],
    "histogram": ["--samples", "50001", "--bins", "32"],
    "maze": ["--size", "8"],
    "mandelbrot": ["--width", "96", "--height", "80", "--limit", "60"],
    "orbits": ["--bodies", "4", "--steps", "16", "--iterations", "150"],
    "projectile": ["--steps", "60", "--iterations", "60"],
    "spring_net": ["--rows", "3", "--columns", "5", "--steps", "40", "--iterations", "60", "--rate", "3e-3"],
}


@pytest.mark.parametrize("device", ["cpu", "interp"])
@pytest.mark.parametrize("name", SIZES)
def test_example(name, device, tmp_path, capsys):
    sizes = ["--stars", "40", "--steps", "2"] if device == "interp" and name == "galaxy" else SIZES[name]
    picture = tmp_path / "pictures" / f"{name}.png"
    importlib.import_module(f"gridstride.examples.{name}").main([*sizes, "--device", device, "--out", str(picture)])
    assert f"wrote {picture}" in capsys.readouterr().out
    with Image.open(picture) as image:
        assert len(image.convert("RGB").getcolors(1 << 24)) > 10


def test_an_example_is_a_program(tmp_path):
    command = [sys.executable, "-m", "gridstride.examples.heat", "--size", "32", "--steps", "3"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "out" / "heat.png").is_file()
