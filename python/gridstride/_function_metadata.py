"""What `wp.autograd` knows of a function: the names, strides and element types of its arguments and results."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from gridstride import _types
from gridstride._kernel import Kernel


class FunctionMetadata:
    """Names, strides and element types of what a function takes and gives; None for what is no array."""

    def __init__(
        self,
        key: str | None = None,
        input_labels: Sequence[str] | None = None,
        output_labels: Sequence[str] | None = None,
        input_strides: Sequence[Any] | None = None,
        output_strides: Sequence[Any] | None = None,
        input_dtypes: Sequence[Any] | None = None,
        output_dtypes: Sequence[Any] | None = None,
    ) -> None:
        self.key = key
        self.input_labels = input_labels
        self.output_labels = output_labels
        self.input_strides = input_strides
        self.output_strides = output_strides
        self.input_dtypes = input_dtypes
        self.output_dtypes = output_dtypes

    @property
    def is_empty(self) -> bool:
        """Whether nothing is known yet."""
        return self.key is None

    def update_from_kernel(self, kernel: Kernel, inputs: Sequence[Any], outputs: Sequence[Any] = ()) -> None:
        """Reads a kernel's parameters; those after the inputs are the outputs."""
        labels = list(kernel._annotations)
        types = [getattr(ty, "elem", None) for ty in kernel._annotations.values()]
        classes = [None if ty is None else _types.class_of(ty) for ty in types]
        n = len(inputs)
        self._set(kernel.key, labels[:n], labels[n:], inputs, outputs)
        self.input_dtypes = [getattr(one, "dtype", cls) for one, cls in zip(inputs, classes, strict=False)]
        self.output_dtypes = [getattr(one, "dtype", None) for one in outputs] or classes[n:]

    def update_from_function(self, function: Callable[..., Any], inputs: Sequence[Any], outputs: Any = None) -> None:
        """Reads a Python function's parameters; calls it for its outputs where they are not given."""
        outputs = listed(function(*inputs) if outputs is None else outputs)
        names = [f"output_{n}" for n in range(len(outputs))]
        self._set(function.__name__, list(inspect.signature(function).parameters), names, inputs, outputs)

    def _set(self, key: str, ins: list[str], outs: list[str], inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        self.key, self.input_labels, self.output_labels = key, ins, outs
        self.input_dtypes = [getattr(one, "dtype", None) for one in inputs]
        self.output_dtypes = [getattr(one, "dtype", None) for one in outputs]
        self.input_strides = [getattr(one, "strides", None) for one in inputs]
        self.output_strides = [getattr(one, "strides", None) for one in outputs]


def listed(outputs: Any) -> list[Any]:
    """What a function gives, one array or several, as a list."""
    return list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
