"""`wp.autograd`: Jacobians by the tape and by central differences, and checks of one against the other.

    >>> @wp.kernel
    ... def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    ...     i = wp.tid()
    ...     y[i] = x[i] * x[i]
    >>> x = wp.array([1.0, 3.0], dtype=float, requires_grad=True)
    >>> y = wp.zeros_like(x)
    >>> wp.autograd.jacobian(square, dim=2, inputs=[x], outputs=[y])[0, 0].numpy()
    array([[2., 0.],
           [0., 6.]], dtype=float32)

In: a kernel with its launch, or a Python function that launches kernels and returns arrays; only arrays with gradients
count. A Jacobian has a row for each number of the output, and a column for each element of the input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gridstride import _device, _launch
from gridstride._array import array
from gridstride._function_metadata import FunctionMetadata as FunctionMetadata
from gridstride._function_metadata import listed
from gridstride._jax_function import jax_function as jax_function
from gridstride._kernel import Kernel
from gridstride._tangents import hvp, jvp
from gridstride._tape import Tape
from gridstride._torch_function import torch_function as torch_function

__all__ = [
    "gradcheck",
    "gradcheck_tape",
    "hvp",
    "jacobian",
    "jacobian_fd",
    "jacobian_plot",
    "jax_function",
    "jvp",
    "torch_function",
]

Mask = Sequence[tuple[str | int, str | int]]
Jacobians = dict[tuple[int, int], array]


class _Program:
    """A kernel's launch, or a function, as something to evaluate; the inputs are as they were after each time."""

    def __init__(
        self,
        function: Any,
        dim: Any,
        block_dim: int | None,
        inputs: Sequence[Any] | None,
        outputs: Sequence[Any] | None,
        device: Any,
        restores: bool,
        metadata: FunctionMetadata | None,
    ) -> None:
        if inputs is None:
            raise ValueError("The inputs argument must be provided")
        self.function, self.dim, self.inputs = function, dim, list(inputs)
        self.is_kernel = isinstance(function, Kernel)
        self.metadata = metadata or FunctionMetadata()
        self.outputs: list[Any] = list(outputs or ())
        if self.is_kernel:
            if not self.outputs:
                raise ValueError("A list of output arguments must be provided to compute kernel Jacobians")
            arrays = [one for one in [*self.inputs, *self.outputs] if isinstance(one, array)]
            self.options = {"device": device or (arrays[0].device if arrays else None), "block_dim": block_dim}
        self.restores = restores or self.is_kernel
        kept = [*self.inputs, *(self.outputs if self.is_kernel else ())] if self.restores else []
        self.saved = [(one, one.numpy().copy(), one._is_read) for one in kept if isinstance(one, array)]

    def restore(self) -> None:
        for one, values, is_read in self.saved:
            one.assign(values)
            one._is_read = is_read

    def describe(self) -> None:
        if not self.metadata.is_empty:
            return
        if self.is_kernel:
            self.metadata.update_from_kernel(self.function, self.inputs, self.outputs)
        else:
            self.metadata.update_from_function(self.function, self.inputs, self.outputs)

    def evaluate(self) -> list[Any]:
        """Runs it. Gives its outputs, which the next time may overwrite."""
        try:
            if self.is_kernel:
                _launch.launch(self.function, self.dim, self.inputs, self.outputs, **self.options)
            else:
                self.outputs = listed(self.function(*self.inputs))
        except BaseException:
            self.restore()
            raise
        return self.outputs

    def pairs(self, mask: Mask | None) -> Iterator[tuple[int, int]]:
        """Numbers of the inputs and outputs that have a Jacobian. Raises `ValueError` for an unknown name."""
        ins, outs = list(self.metadata.input_labels or ()), list(self.metadata.output_labels or ())
        number = lambda name, names: name if isinstance(name, int) else names.index(name)  # noqa: E731
        wanted = {(number(a, ins), number(b, outs)) for a, b in mask or ()}
        has_gradient = lambda one: isinstance(one, array) and one.requires_grad  # noqa: E731
        for i, one in enumerate(self.inputs):
            for o, other in enumerate(self.outputs):
                if has_gradient(one) and has_gradient(other) and (not wanted or (i, o) in wanted):
                    yield i, o


def _numbers(values: np.ndarray) -> np.ndarray:
    """An array's numbers in double precision, flat."""
    return np.array(values, dtype=np.float64).ravel()


def _to_array(jacobian: np.ndarray, source: array) -> array:
    inner = getattr(source.dtype, "_shape_", ())
    return array(jacobian.reshape(len(jacobian), source.size, *inner), dtype=source.dtype, device=source.device)


def _is_backward_enabled(kernel: Kernel) -> bool:
    own = kernel.options.get("enable_backward")
    found = kernel.module.options.get("enable_backward") if own is None else own
    return True if found is None else bool(found)


def jacobian(
    function: Kernel | Callable[..., Any],
    dim: Any = None,
    inputs: Sequence[Any] | None = None,
    outputs: Sequence[Any] | None = None,
    input_output_mask: Mask | None = None,
    device: _device.DeviceLike = None,
    max_blocks: int = 0,
    block_dim: int | None = None,
    max_outputs_per_var: int = -1,
    plot_jacobians: bool = False,
    metadata: FunctionMetadata | None = None,
    restore_inputs: bool = True,
) -> Jacobians:
    """The Jacobians of a kernel's launch or of a function, by one backward pass for each row.

    Args:
        function: A kernel, or a function of arrays and values that gives an array or several.
        dim, block_dim, inputs, outputs, device: The launch; of a function only `inputs`. `max_blocks` has no effect.
        input_output_mask: Pairs of an input and an output, by number or name; left out, all.
        max_outputs_per_var: Rows to compute; the others are NaN.
        plot_jacobians: Show them (needs `matplotlib`).
        metadata: Names for messages and plots; read from the function where it is empty.
        restore_inputs: Leave the inputs of a function as they were.

    Returns:
        By (number of the input, number of the output), an array of the input's element type.

    Raises:
        ValueError: No inputs, a kernel without outputs or with `enable_backward=False`, an unknown name.
    """
    if isinstance(function, Kernel) and not _is_backward_enabled(function):
        raise ValueError("Kernel must have backward pass enabled to compute Jacobians")
    program = _Program(function, dim, block_dim, inputs, outputs, device, restore_inputs, metadata)
    tape = Tape()
    if program.is_kernel:
        tape.record_launch(function, dim, 0, program.inputs, program.outputs, **program.options)  # type: ignore[arg-type]
    else:
        with tape:
            program.evaluate()
    try:
        if not all(_is_backward_enabled(entry[0]) for entry in tape.launches if isinstance(entry, list)):
            raise ValueError("Kernel must have backward pass enabled to compute Jacobians")
        program.describe()
        found = {}
        for i, o in program.pairs(input_output_mask):
            source, target = program.inputs[i], program.outputs[o]
            seed = np.zeros(target.numpy().shape, target.numpy().dtype)
            n_rows = seed.size if max_outputs_per_var <= 0 else min(seed.size, max_outputs_per_var)
            rows = np.full((seed.size, source.numpy().size), np.nan)
            for row in range(n_rows):
                tape.zero()
                for one in [*program.inputs, *program.outputs]:
                    if isinstance(one, array) and one.grad is not None:
                        one.grad.zero_()
                seed.flat[row] = 1
                target.grad.assign(seed)
                seed.flat[row] = 0
                tape.backward()
                rows[row] = _numbers(source.grad.numpy())
            tape.zero()
            found[i, o] = _to_array(rows, source)
    finally:
        program.restore()
    if plot_jacobians:
        jacobian_plot(found, program.metadata)
    return found


def jacobian_fd(
    function: Kernel | Callable[..., Any],
    dim: Any = None,
    inputs: Sequence[Any] | None = None,
    outputs: Sequence[Any] | None = None,
    input_output_mask: Mask | None = None,
    device: _device.DeviceLike = None,
    max_blocks: int = 0,
    block_dim: int | None = None,
    max_inputs_per_var: int = -1,
    eps: float = 1e-4,
    plot_jacobians: bool = False,
    metadata: FunctionMetadata | None = None,
    restore_inputs: bool = True,
) -> Jacobians:
    """The Jacobians of a kernel's launch or of a function by central differences, two evaluations for each column.

    `eps` is the step, `max_inputs_per_var` says how many columns to compute; the rest is as in `jacobian`.
    """
    program = _Program(function, dim, block_dim, inputs, outputs, device, restore_inputs, metadata)
    found = {}
    try:
        if not program.is_kernel:
            program.evaluate()
        program.describe()
        program.restore()
        pairs = list(program.pairs(input_output_mask))
        columns: dict[tuple[int, int], np.ndarray] = {}
        for i in sorted({i for i, _ in pairs}):
            source = program.inputs[i]
            values = source.numpy().copy()
            n_columns = values.size if max_inputs_per_var <= 0 else min(values.size, max_inputs_per_var)
            for column in range(n_columns):
                sides = []
                for step in (-eps, eps):
                    moved = source.numpy().copy() if not program.restores else values.copy()
                    moved.flat[column] += step
                    source.assign(moved)
                    results = program.evaluate()
                    sides.append((float(moved.flat[column]), [_read(one) for one in results]))
                    program.restore()
                    if not program.restores:
                        source.assign(values)
                (left, before), (right, after) = sides
                for _, o in (pair for pair in pairs if pair[0] == i):
                    jacobian = columns.setdefault((i, o), np.full((before[o].size, values.size), np.nan))
                    jacobian[:, column] = (after[o] - before[o]) / (right - left)
        for (i, o), jacobian in columns.items():
            found[i, o] = _to_array(jacobian, program.inputs[i])
    finally:
        program.restore()
    if plot_jacobians:
        jacobian_plot(found, program.metadata)
    return found


def _read(one: Any) -> Any:
    return _numbers(one.numpy()) if isinstance(one, array) else None


def gradcheck(
    function: Kernel | Callable[..., Any],
    dim: Any = None,
    inputs: Sequence[Any] | None = None,
    outputs: Sequence[Any] | None = None,
    *,
    eps: float = 1e-4,
    atol: float = 1e-3,
    rtol: float = 1e-2,
    raise_exception: bool = True,
    input_output_mask: Mask | None = None,
    device: _device.DeviceLike = None,
    max_blocks: int = 0,
    block_dim: int | None = None,
    max_inputs_per_var: int = -1,
    max_outputs_per_var: int = -1,
    plot_relative_error: bool = False,
    plot_absolute_error: bool = False,
    show_summary: bool = True,
    restore_inputs: bool = True,
) -> bool:
    """Whether the tape's Jacobians are those of central differences: |AD - FD| <= atol + rtol |FD|, and no NaN.

    Args:
        raise_exception: Raise `ValueError` where they are not.
        show_summary: Print a table of the largest errors.
        plot_relative_error, plot_absolute_error: Show the errors (needs `matplotlib`).

    The other arguments are those of `jacobian` and `jacobian_fd`.
    """
    metadata = FunctionMetadata()
    common = {
        "dim": dim,
        "inputs": inputs,
        "outputs": outputs,
        "input_output_mask": input_output_mask,
        "device": device,
        "metadata": metadata,
        "restore_inputs": restore_inputs,
    }
    by_tape = jacobian(function, max_outputs_per_var=max_outputs_per_var, **common)  # type: ignore[arg-type]
    by_fd = jacobian_fd(function, max_inputs_per_var=max_inputs_per_var, eps=eps, **common)  # type: ignore[arg-type]
    rows, problems = [], []
    errors: tuple[Jacobians, Jacobians] = ({}, {})
    for (i, o), fd in by_fd.items():
        ad = by_tape[i, o]
        for kind, by_pair in zip((_relative, np.subtract), errors, strict=True):
            by_pair[i, o] = array(np.abs(kind(ad.numpy(), fd.numpy())), dtype=fd.dtype)
        a, f = (_cut(one, max_outputs_per_var, max_inputs_per_var) for one in (ad, fd))
        verdict = "NaN" if np.isnan(a).any() else "PASS" if np.allclose(a, f, atol=atol, rtol=rtol) else "FAIL"
        at = np.unravel_index(np.argmax(np.abs(a - f)), a.shape)
        names = metadata.input_labels[i], metadata.output_labels[o]  # type: ignore[index]
        worst = f"{np.abs(a - f)[at]:.3e} at {tuple(map(int, at))}"
        relative = f"{np.abs((a - f) / (f + 1e-8)).max():.3e}"
        rows.append([*names, worst, f"{a[at]:.3e}", f"{f[at]:.3e}", relative, verdict])
        if verdict != "PASS":
            why = f"the tape's {a[at]:.6g} is not the {f[at]:.6g} of finite differences at {tuple(map(int, at))}"
            why = "gradient contains NaN values" if verdict == "NaN" else why
            problems.append(f"Gradient check failed for {metadata.key}, input {names[0]}, output {names[1]}: {why}")
    if show_summary:
        _print_table(["Input", "Output", "Max Abs Error", "AD at MAE", "FD at MAE", "Max Rel Error", "Pass"], rows)
        print(f"Gradient check for {metadata.key} {'failed' if problems else 'passed'}")
    for is_wanted, name, by_pair in zip(
        (plot_relative_error, plot_absolute_error), ("relative", "absolute"), errors, strict=True
    ):
        if is_wanted:
            jacobian_plot(by_pair, metadata, title=f"{metadata.key} kernel Jacobian {name} error")
    if problems and raise_exception:
        raise ValueError("\n".join(problems))
    return not problems


def _relative(ad: np.ndarray, fd: np.ndarray) -> np.ndarray:
    return (ad - fd) / np.where(np.abs(ad) < 1e-8, 1e-8, ad)


def _cut(jacobian: array, n_rows: int, n_columns: int) -> np.ndarray:
    """What was computed of a Jacobian, as a matrix of numbers."""
    found = jacobian.numpy().reshape(jacobian.shape[0], -1).astype(np.float64)
    return found[: n_rows if n_rows > 0 else None, : n_columns if n_columns > 0 else None]


def _print_table(head: list[str], rows: list[list[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    for row in [head, ["-" * width for width in widths], *rows]:
        print(" | ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)))


def gradcheck_tape(
    tape: Tape,
    *,
    eps: float = 1e-4,
    atol: float = 1e-3,
    rtol: float = 1e-2,
    raise_exception: bool = True,
    input_output_masks: dict[str, Mask] | None = None,
    blacklist_kernels: Sequence[str] | None = None,
    whitelist_kernels: Sequence[str] | None = None,
    max_inputs_per_var: int = -1,
    max_outputs_per_var: int = -1,
    plot_relative_error: bool = False,
    plot_absolute_error: bool = False,
    show_summary: bool = True,
    reverse_launches: bool = False,
    skip_to_launch_index: int = 0,
) -> bool:
    """`gradcheck` for every launch on a tape, with the arrays as they are now.

    Args:
        input_output_masks: By key of a kernel, what to check of it.
        blacklist_kernels, whitelist_kernels: Keys of kernels to pass over, and to check alone.
        reverse_launches: From the last to the first.
        skip_to_launch_index: Entries to pass over first.

    Launches of kernels with `enable_backward=False` are passed over. The rest is as in `gradcheck`.
    """
    entries = tape.launches[::-1] if reverse_launches else tape.launches
    is_right = True
    for entry in entries[skip_to_launch_index:]:
        if not isinstance(entry, list):
            continue
        kernel, dim, _, inputs, outputs, device = entry[:6]
        if kernel.key in (blacklist_kernels or ()) or (whitelist_kernels and kernel.key not in whitelist_kernels):
            continue
        if not _is_backward_enabled(kernel):
            continue
        is_right &= gradcheck(
            kernel,
            dim,
            inputs,
            outputs,
            eps=eps,
            atol=atol,
            rtol=rtol,
            raise_exception=raise_exception,
            input_output_mask=(input_output_masks or {}).get(kernel.key),
            device=device,
            max_inputs_per_var=max_inputs_per_var,
            max_outputs_per_var=max_outputs_per_var,
            plot_relative_error=plot_relative_error,
            plot_absolute_error=plot_absolute_error,
            show_summary=show_summary,
        )
    return is_right


def jacobian_plot(
    jacobians: Jacobians,
    kernel: FunctionMetadata | Kernel,
    inputs: Sequence[Any] | None = None,
    show_plot: bool = True,
    show_colorbar: bool = True,
    scale_colors_per_submatrix: bool = False,
    title: str | None = None,
    colormap: str = "coolwarm",
    log_scale: bool = False,
) -> Any:
    """Draws Jacobians, a row of pictures for each output and a column for each input (needs `matplotlib`).

    Args:
        jacobians: What `jacobian` or `jacobian_fd` gave.
        kernel: The kernel, together with `inputs`, or the metadata of a function.
        show_plot: Call `plt.show()`.
        show_colorbar: Draw a scale of the colors.
        scale_colors_per_submatrix: Give each picture colors of its own.
        title, colormap, log_scale: How it looks.

    Returns:
        The figure; None without Jacobians.

    Raises:
        ValueError: A kernel without its inputs, or metadata that does not name what is drawn.
    """
    from gridstride import _jacobian_plot

    if isinstance(kernel, Kernel):
        if inputs is None:
            raise ValueError("inputs must be provided when kernel is a Warp kernel")
        metadata = FunctionMetadata()
        metadata.update_from_kernel(kernel, inputs)
    elif isinstance(kernel, FunctionMetadata):
        metadata = kernel
    else:
        raise ValueError("Invalid kernel argument: must be a Warp kernel or a FunctionMetadata object")
    return _jacobian_plot.draw(
        jacobians, metadata, show_plot, show_colorbar, scale_colors_per_submatrix, title, colormap, log_scale
    )
