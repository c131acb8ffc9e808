"""`wp.Tape`, for gradients. Not available yet: entering one says so."""

from __future__ import annotations

from typing import Any, NoReturn

_MESSAGE = "gradients are not available yet"


class Tape:
    """Records launches for the backward pass. Entering it raises `NotImplementedError`: not available yet."""

    def __init__(self) -> None:
        self.gradients: dict[Any, Any] = {}
        self.launches: list[Any] = []
        self.loss: Any = None

    def __enter__(self) -> NoReturn:
        raise NotImplementedError(_MESSAGE)

    def __exit__(self, *error: object) -> None:
        return None

    def backward(self, loss: Any = None, grads: Any = None) -> NoReturn:
        """Raises `NotImplementedError`."""
        raise NotImplementedError(_MESSAGE)

    def record_launch(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raises `NotImplementedError`."""
        raise NotImplementedError(_MESSAGE)

    def record_func(self, backward: Any, arrays: Any) -> NoReturn:
        """Raises `NotImplementedError`."""
        raise NotImplementedError(_MESSAGE)

    def zero(self) -> None:
        """Sets recorded gradients to zero: there are none."""

    def reset(self) -> None:
        """Forgets what was recorded: nothing."""
