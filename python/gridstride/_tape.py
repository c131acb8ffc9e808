"""`wp.Tape`: records launches and runs them backward, for gradients.

    >>> @wp.kernel
    ... def add_squares(x: wp.array(dtype=float), loss: wp.array(dtype=float)):
    ...     i = wp.tid()
    ...     wp.atomic_add(loss, 0, x[i] * x[i])
    >>> x = wp.array([1.0, 2.0, 3.0], dtype=float, requires_grad=True)
    >>> loss = wp.zeros(1, requires_grad=True)
    >>> tape = wp.Tape()
    >>> with tape:
    ...     wp.launch(add_squares, dim=3, inputs=[x], outputs=[loss])
    >>> tape.backward(loss)
    >>> x.grad.numpy()
    array([2., 4., 6.], dtype=float32)

The compiled part keeps the entries, saves values before they are overwritten, and walks back. Here is what users see of
it: which gradients come in, what is on a tape, loops that keep few values.
"""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gridstride import _device, _logger, _native, _overwrites, _runtime_tape, _types, config
from gridstride._array import array
from gridstride._kernel import Kernel
from gridstride._struct import struct_base
from gridstride._tape_launches import Launches


class Tape(_native.Tape):
    """Records the launches, copies and fills of a `with` block; `backward` gives gradients.

    Args:
        save_overwritten: A value that the backward pass reads and that a later launch overwrites is copied before that
            (`saved_bytes` counts). With False nothing is copied, and `backward` refuses with the names of both.

    Attributes:
        gradients: After `backward`, the gradient of each array on the tape; of a struct, a struct of gradients.
        launches: What was recorded, in order, as lists [kernel, dim, max_blocks, inputs, outputs, device, block_dim,
            metadata], and functions. Such a list or function can be appended.
        saved_bytes: Bytes of values copied so far.
        loss: The loss of the last `backward`.
    """

    scopes: list[tuple[int, str | None, Any]]
    loss: Any

    def __init__(self, save_overwritten: bool = True) -> None:
        self.scopes = []
        self.loss = None
        self._kept: dict[Any, Any] = {}

    # Recording.

    def __enter__(self) -> Tape:
        self._start()
        _runtime_tape.active = self
        return self

    def __exit__(self, *error: object) -> None:
        if not self._stop():
            raise RuntimeError("this tape does not record: its `with` block has ended already")
        _runtime_tape.active = None

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Inside of `with tape:`, a block that is not recorded; another tape may record in it.

        What the block overwrites is saved where the backward pass needs it.
        """
        is_active = self._stop()
        _runtime_tape.active = None
        try:
            yield
        finally:
            if is_active:
                self.__enter__()

    def record_launch(
        self,
        kernel: Kernel,
        dim: int | Sequence[int],
        max_blocks: int = 0,
        inputs: Sequence[Any] = (),
        outputs: Sequence[Any] = (),
        device: _device.DeviceLike = None,
        block_dim: int | None = None,
        metadata: Any = None,
    ) -> None:
        """Records a launch without running it, as if it had left the arrays as they are now."""
        from gridstride import _launch

        place = _device.get_device(device)
        options = kernel.launch_options(_launch.block_threads(block_dim, place))
        self._record_launch(kernel, dim, list(inputs), list(outputs), place.alias, options)

    def record_func(self, backward: Callable[[], Any], arrays: Sequence[Any]) -> None:
        """Records a function that the backward pass calls at this point.

        Args:
            backward: Reads the gradients of what was computed here, and adds to those of what it was computed from.
            arrays: All of these arrays.

        Raises:
            RuntimeError: One of them has no gradient.
        """
        for one in arrays:
            if not isinstance(one, _native.Array) or one.grad is None:
                raise RuntimeError(f"{one!r} is no array with a gradient: make it with requires_grad=True")
        self._record_func(getattr(backward, "__qualname__", "function"), backward, list(arrays), list(arrays))

    def record_scope_begin(self, scope_name: str, metadata: Any = None) -> None:
        """Begins a named part of the recording, for `visualize`."""
        self.scopes.append((self._n_entries, scope_name, metadata or {}))

    def record_scope_end(self, remove_scope_if_empty: bool = True) -> None:
        """Ends the part that began last; forgets it if nothing was recorded in it. Raises `RuntimeError` for none."""
        if sum(-1 if name is None else 1 for _, name, _ in self.scopes) == 0:
            raise RuntimeError("ended tape scope, but scope not present: no part of the recording is open")
        first, name, _ = self.scopes[-1]
        if remove_scope_if_empty and name is not None and first == self._n_entries:
            self.scopes.pop()
        else:
            self.scopes.append((self._n_entries, None, None))

    def checkpoint(
        self, steps: int, every: int | None = None, memory: int | None = None, progress: bool = False
    ) -> Iterator[int]:
        """The numbers of a time loop's steps, for a loop that keeps few values: `for i in tape.checkpoint(10_000): …`.

        Going back, the launches of each part of the loop run once more. What is held at any time is what the parts
        have overwritten, and what one part needs; without arguments the parts have about the square root of the steps.

        Args:
            steps: How many.
            every: Steps of a part.
            memory: Bytes that may be held: parts are divided again, and run once more for that, as far as it takes.
            progress: Show a bar, forward and backward (needs `rich`).

        Raises:
            ValueError: A number of steps below 0, or parts of none.
            RuntimeError: The tape does not record, a loop inside of another, or a memory that no division fits into.
        """
        if steps < 0 or (every is not None and every < 1):
            raise ValueError(f"a loop has 0 steps or more, in parts of 1 or more, not {steps} in parts of {every}")
        if _runtime_tape.active is not self:
            raise RuntimeError("the tape does not record: write the loop inside of `with tape:`")
        from gridstride import _checkpoint

        return _checkpoint.loop(self, steps, every or max(1, math.isqrt(steps)), memory, progress)

    # Going back.

    def backward(self, loss: array | None = None, grads: dict[array, array] | None = None) -> None:
        """Adds the derivatives of the loss to the `grad` of every array that it depends on.

        Args:
            loss: An array of one number, whose gradient is set to 1.
            grads: Gradients that come in, by array. With neither, what is in the arrays' `grad` comes in.

        Raises:
            RuntimeError: No scalar loss, one without gradient, one that depends on no array with a gradient, a value
                that was overwritten and not saved.
            CompileError: A kernel with an operation on the way that has no derivative, with its line.
        """
        for mesh in self._meshes():
            mesh._write()
        seeds: list[Any] = []
        if loss is not None:
            if loss.size != 1 or loss._type.kind != "scalar":
                raise RuntimeError(
                    f"Can only return gradients for scalar loss functions: a loss has one number, not {loss!r}"
                )
            if loss.grad is None:
                raise RuntimeError("the loss has no gradient: make it with requires_grad=True")
            loss.grad.fill_(1)
            self.loss = loss
            seeds.append(loss)
        for one, gradient in (grads or {}).items():
            if one.grad is None:
                one.grad = gradient
            elif one.grad is not gradient:
                one.grad.assign(gradient)
            seeds.append(one)
        for text in self._backward(seeds, bool(seeds)):
            if "enable_backward" in text:
                _logger.log_warning(text)
            else:
                warnings.warn(text, stacklevel=2)
        if config.verify_autograd_array_access:
            _overwrites.forget(self._entries())

    def zero(self) -> None:
        """Sets the gradients of all arrays on the tape to zero."""
        self._zero()
        for mesh in self._meshes():
            for gradient in (mesh.points.grad, mesh.velocities and mesh.velocities.grad):
                if gradient is not None:
                    gradient.zero_()
        for gradient in self._kept.values():
            if isinstance(gradient, _native.Array):
                gradient.zero_()

    def reset(self) -> None:
        """Forgets what was recorded, after setting the gradients to zero."""
        self.zero()
        if config.verify_autograd_array_access:
            _overwrites.forget(self._entries())
        self._kept = self.gradients
        self.scopes = []
        self._reset()

    def _meshes(self) -> list[Any]:
        """The meshes whose ids launches got as arguments: gradients go to their arrays, too."""
        meshes = _runtime_tape.meshes
        if not meshes:
            return []
        launches = [entry for entry in self._entries() if isinstance(entry[0], Kernel)]
        ids = {int(one) for entry in launches for one in entry[3] if isinstance(one, int | _types.uint64)}
        return [mesh for mesh in (meshes.get(one) for one in ids) if mesh is not None]

    # What is on it.

    @property
    def gradients(self) -> dict[Any, Any]:
        """The gradient of each array on the tape; of a struct, a struct of gradients."""
        found = dict(self._kept)
        for entry in self._entries():
            for one in entry[3] if isinstance(entry[0], Kernel) else [*entry[2], *entry[3]]:
                if isinstance(one, struct_base):
                    found[one] = self.get_adjoint(one)
                elif getattr(one, "grad", None) is not None:
                    found[one] = one.grad
        return found

    @property
    def launches(self) -> list[Any]:
        """What was recorded, in order. `append` records more."""
        entries = (
            [kernel, rest[0], 0, rest[2][: rest[1]], rest[2][rest[1] :], _device.get_device(rest[3]), rest[4], {}]
            if isinstance(kernel, Kernel)
            else rest[0]
            for kernel, *rest in self._entries()
        )
        return Launches(self, entries)

    def get_adjoint(self, a: Any) -> Any:
        """The gradient of a launch argument: an array's, a struct of those of a struct's arrays; else None."""
        if isinstance(a, struct_base):
            adjoint = type(a)()
            for name, field in a._fields.items():
                value = getattr(a, name)
                if field.type.kind == "array":
                    setattr(adjoint, name, None if value is None else value.grad)
                elif isinstance(value, struct_base):
                    setattr(adjoint, name, self.get_adjoint(value))
            return adjoint
        return getattr(a, "grad", None)

    def visualize(self, filename: str | None = None, **options: Any) -> str:
        """The recording as a graph in GraphViz's language; see `gridstride._tape_graph.dot` for the options.

        Args:
            filename: Where to write it, too.
        """
        from gridstride import _tape_graph

        text = _tape_graph.dot(self, **options)
        if filename is not None:
            with open(filename, "w", encoding="utf-8") as file:
                file.write(text)
        return text
