"""`wp.Tape`: records launches, for gradients. The backward pass is not available yet and says so."""

from __future__ import annotations

from typing import Any, NoReturn

from gridstride import _native, _runtime_tape

_MESSAGE = "gradients are not available yet"


class Tape:
    """Records the launches of a `with` block. `backward` raises `NotImplementedError`: not available yet.

    Attributes: `launches` (what was recorded, in order), `gradients`, `loss`.
    """

    def __init__(self) -> None:
        self.gradients: dict[Any, Any] = {}
        self.launches: list[Any] = []
        self.loss: Any = None

    def __enter__(self) -> Tape:
        if _runtime_tape.active is not None:
            raise RuntimeError("a tape is recording already: end its `with` block first")
        _runtime_tape.active = self
        _native.set_launch_state(tapes=True)
        return self

    def __exit__(self, *error: object) -> None:
        _runtime_tape.active = None
        _native.set_launch_state(tapes=False)

    def backward(self, loss: Any = None, grads: Any = None) -> NoReturn:
        """Raises `NotImplementedError`."""
        raise NotImplementedError(_MESSAGE)

    def record_launch(
        self,
        kernel: Any,
        dim: Any,
        max_blocks: int,
        inputs: Any,
        outputs: Any,
        device: Any,
        block_dim: int = 0,
        metadata: Any = None,
    ) -> None:
        """Records a launch that already ran."""
        self.launches.append([kernel, dim, max_blocks, inputs, outputs, device, block_dim, metadata])

    def record_func(self, backward: Any, arrays: Any) -> None:
        """Records a function that the backward pass is to call."""
        self.launches.append((backward, arrays))

    def record_scope_begin(self, scope_name: str, metadata: Any = None) -> None:
        """Begins a named part of the recording."""

    def record_scope_end(self, remove_scope_if_empty: bool = True) -> None:
        """Ends it."""

    def zero(self) -> None:
        """Sets recorded gradients to zero: there are none."""

    def reset(self) -> None:
        """Forgets what was recorded."""
        self.launches.clear()
        self.gradients.clear()
