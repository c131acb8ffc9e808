# `make demo` runs the main job, `make test` every check, `make dev` installs for editing; each sets up what is missing.
#
# Needs Rust, a C compiler and Python 3.10 or newer with venv. Everything else comes from PyPI and crates.io, into .venv
# and target. A second call does only what has changed.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.PHONY: demo test dev bench-cpu fuzz differential lint rust-tests python-tests test-gpu bench-gpu gpu-bundle conformance conformance-numba conformance-quick wheel clean

PYTHON ?= python3
DEMO ?=
BIN := .venv/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)

# With another HOME than the one that Rust was installed under, rustup must be told where its toolchains are.
ifeq ($(RUSTUP_HOME)$(wildcard $(HOME)/.rustup/toolchains),)
  RUST := $(realpath $(dir $(shell command -v cargo))../..)
  ifneq ($(wildcard $(RUST)/.rustup),)
    export RUSTUP_HOME := $(RUST)/.rustup
  endif
endif

demo: dev
	$(BIN)/gridstride demo $(DEMO)

test: dev lint rust-tests python-tests

# Cargo decides what is stale; the module is then where an editable install finds it.
dev: .venv/packages
	$(BIN)/python build_backend/gridstride_build.py
	$(MAKE) --no-print-directory .venv/installed

lint: .venv/packages
	cargo fmt --all --check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	cargo xtask tidy
	cargo clippy --workspace --all-targets --locked --quiet -- -D warnings

# The Python crate is tested from Python.
RUST_TESTS := --workspace --exclude gridstride-python --locked
rust-tests: .venv/packages
	if cargo nextest --version >/dev/null 2>&1; then \
	    cargo nextest run $(RUST_TESTS) --no-fail-fast --status-level fail; \
	    cargo test $(RUST_TESTS) --doc --quiet; \
	else \
	    cargo test $(RUST_TESTS) --no-fail-fast; \
	fi

python-tests: dev
	$(BIN)/python -m pytest

# On a machine with an NVIDIA GPU: the tests of the CPU run there too, and those of what only a GPU has.
test-gpu: dev
	GRIDSTRIDE_DEVICE=cuda $(BIN)/python -m pytest tests/python tests/gpu

# Beside Warp, Numba, CuPy, PyTorch, Triton and CUDA C++, whatever is installed.
bench-gpu: dev
	$(BIN)/python benches/gpu/run.py

# dist/gridstride-gpu.tar.gz, for a machine with a GPU but without Rust: there, `tar xzf` it and `bash gridstride-gpu/run.sh`.
gpu-bundle: wheel
	$(BIN)/python benches/gpu/bundle.py

# The tests of other systems, from their wheels on PyPI: everything with its table, and what a change must not lose.
conformance: dev
	$(BIN)/python tests/conformance/run.py --topics

conformance-numba: dev
	$(BIN)/python tests/conformance/run.py --suite numba --topics

conformance-quick: dev
	$(BIN)/python tests/conformance/run.py --quick

# Gridstride on the CPU beside C and what is installed of Warp, Numba, Taichi and NumPy: figures and ratios. SUITE=untuned
# or everyday for kernels that nobody tuned the compiler for.
SUITE ?= run
bench-cpu: dev
	$(BIN)/python benches/cpu/$(SUITE).py $(BENCH)

# Random programs, every way they can run, compared bit by bit for so many seconds.
FUZZ_SECONDS ?= 600
fuzz: .venv/packages
	nice cargo run --locked --release -p gridstride-filetests --example fuzz -- $(FUZZ_SECONDS)

# Random programs in a style of users (warp, gradients, numba, c, arrays), beside the peer that PEER=PYTHON has.
STYLE ?= warp
COUNT ?= 300
SEED ?= 0
differential: dev
	$(BIN)/python tests/differential/run.py $(STYLE) --count $(COUNT) --seed $(SEED) $(if $(PEER),--peer $(PEER))

# For other machines, in the release profile: dist/gridstride-*.whl.
wheel: .venv/packages
	$(BIN)/python -m pip wheel --quiet --no-build-isolation --no-deps --wheel-dir dist .

clean:
	rm -rf .venv target dist out python/gridstride/_native.abi3.so

.venv/packages: build_backend/requirements.txt tests/requirements.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r build_backend/requirements.txt -r tests/requirements.txt
	# Its build script lists LLVM's libraries once, and there may be more of them now.
	cargo clean --quiet --package llvm-sys
	ln -sfn "$$($(BIN)/python -c 'import mlc_llvm_static as llvm; print(llvm.get_prefix())')" .venv/llvm
	touch $@

.venv/installed: pyproject.toml build_backend/gridstride_build.py Cargo.toml .venv/packages
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --editable .
	touch $@
