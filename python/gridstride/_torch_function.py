"""`wp.autograd.torch_function`: Python code that launches kernels as a function that PyTorch differentiates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gridstride import _device, _interop
from gridstride._array import array
from gridstride._tape import Tape


def torch_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of tensors, from one of arrays that gives an array or several.

    What names no device runs on that of the tensors. The tape of a call lives as long as PyTorch may ask for its
    gradients. Tensors come in without a copy where they are contiguous; results are copies. Other arguments pass as
    they are. Raises `ImportError` without PyTorch.
    """
    try:
        import torch
    except ImportError:
        raise ImportError("torch_function needs PyTorch: pip install torch") from None

    class Launches(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:
            arrays = [
                _interop.from_torch(one.detach().contiguous(), requires_grad=False)
                if isinstance(one, torch.Tensor)
                else one
                for one in args
            ]
            for one, is_needed in zip(arrays, ctx.needs_input_grad, strict=True):
                if is_needed:
                    one.requires_grad = True
            tape = Tape()
            device = next((one.device for one in arrays if isinstance(one, array)), None)
            with _device.ScopedDevice(device), tape:
                outputs = function(*arrays)
            ctx.tape, ctx.arrays = tape, arrays
            ctx.outputs = [outputs] if isinstance(outputs, array) else list(outputs)
            found = tuple(_interop.to_torch(one, requires_grad=False).clone() for one in ctx.outputs)
            return found[0] if isinstance(outputs, array) else found

        @staticmethod
        def backward(ctx: Any, *incoming: Any) -> Any:
            ctx.tape.zero()
            seeds = {
                output: _interop.from_torch(one.contiguous(), dtype=output.dtype, requires_grad=False)
                for output, one in zip(ctx.outputs, incoming, strict=True)
                if one is not None and output.grad is not None
            }
            ctx.tape.backward(grads=seeds)
            return tuple(
                _interop.to_torch(one.grad, requires_grad=False).clone() if is_needed else None
                for one, is_needed in zip(ctx.arrays, ctx.needs_input_grad, strict=True)
            )

    return Launches.apply
