"""Build backend (PEP 517 and 660): maturin, over the static LLVM that comes as a Python package.

A wheel is maturin's own, in the release profile. An editable install builds the module with plain cargo in the `dev`
profile instead, with the settings of `.cargo/config.toml`: `cargo test` then shares every compiled crate with it.

Set `LLVM_SYS_231_PREFIX` to use an LLVM of your own; nothing is downloaded then.
"""

import base64
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import maturin

ROOT = Path(__file__).resolve().parent.parent
PREFIX = "LLVM_SYS_231_PREFIX"
MODULE = ROOT / "python" / "gridstride" / "_native.abi3.so"

get_requires_for_build_sdist = maturin.get_requires_for_build_sdist
build_sdist = maturin.build_sdist
prepare_metadata_for_build_wheel = maturin.prepare_metadata_for_build_wheel
prepare_metadata_for_build_editable = maturin.prepare_metadata_for_build_wheel


def get_requires_for_build_wheel(config_settings=None):
    required = list(maturin.get_requires_for_build_wheel(config_settings))
    if not os.environ.get(PREFIX):
        required += llvm_requirements()
    return required


get_requires_for_build_editable = get_requires_for_build_wheel


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    find_llvm()
    return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    build_module()
    with tempfile.TemporaryDirectory() as folder:
        dist_name = maturin.prepare_metadata_for_build_wheel(folder, config_settings)
        files = {"gridstride.pth": f"{MODULE.parent.parent}\n".encode()}
        for path in sorted(Path(folder, dist_name).rglob("*")):
            if path.is_file() and path.name != "RECORD":
                files[path.relative_to(folder).as_posix()] = path.read_bytes()
    wheel_name = dist_name.removesuffix(".dist-info") + "-py3-none-any.whl"
    write_wheel(Path(wheel_directory, wheel_name), dist_name, files)
    return wheel_name


def build_module():
    """Compiles the extension module where `python/gridstride` finds it; a second call without changes does nothing."""
    find_llvm()
    subprocess.run(["cargo", "build", "--package", "gridstride-python"], cwd=ROOT, check=True)
    target = Path(ROOT, os.environ.get("CARGO_TARGET_DIR", "target"))
    built = target / "debug" / "libgridstride_python.so"
    if MODULE.exists() and MODULE.stat().st_mtime >= built.stat().st_mtime:
        return
    # Renamed into place: a Python that has the old module mapped keeps it whole.
    fresh = MODULE.with_suffix(".new")
    shutil.copyfile(built, fresh)
    fresh.replace(MODULE)


def find_llvm():
    """Points llvm-sys at the Python package, unless the user points elsewhere."""
    if os.environ.get(PREFIX):
        return
    try:
        import mlc_llvm_static
    except ImportError:  # --no-build-isolation without the package: .cargo/config.toml decides
        return
    prefix = mlc_llvm_static.get_prefix()
    link = ROOT / ".venv" / "llvm"
    # The same place by the name that cargo knows it by, or llvm-sys would be built once for each name.
    if not (link.exists() and link.resolve() == Path(prefix).resolve()):
        os.environ[PREFIX] = str(prefix)


def llvm_requirements():
    lines = Path(__file__).with_name("requirements.txt").read_text().splitlines()
    return [line for line in lines if line.startswith("mlc-llvm-static")]


def write_wheel(path, dist_name, files):
    record = ""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, content in files.items():
            wheel.writestr(name, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record += f"{name},sha256={digest},{len(content)}\n"
        wheel.writestr(f"{dist_name}/RECORD", record + f"{dist_name}/RECORD,,\n")


if __name__ == "__main__":
    try:
        build_module()
    except subprocess.CalledProcessError as error:  # cargo has said why
        sys.exit(error.returncode)
