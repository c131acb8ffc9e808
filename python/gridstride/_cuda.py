"""CUDA devices, found when a program first asks for one.

Importing the package and using the CPU never start the driver. A machine without one, or without a device, has an
empty list here and the reason in `missing()`.
"""

from __future__ import annotations

from typing import Any

from gridstride import _device, _native

_found: list[CudaDevice] | None = None


class CudaDevice(_device.Device):
    """A CUDA device. Its context, the primary one that other libraries use too, is made when the device is first used.

    Attributes: `ordinal`, `name`, `arch` (90 for compute capability 9.0), `sm_count`, `total_memory`, `free_memory`,
    `uuid`, `pci_bus_id`, `stream` (the current one), `null_stream`, `context`.
    """

    __slots__ = ("_null_stream", "_own_stream", "_properties", "_stream", "ordinal")
    is_cpu = False
    is_cuda = True
    is_primary = True
    has_stream = True
    is_cubin_supported = True

    def __init__(self, ordinal: int) -> None:
        super().__init__(f"cuda:{ordinal}")
        self.ordinal = ordinal
        self._properties: dict[str, Any] | None = None
        self._stream: Any = None
        self._own_stream: Any = None
        self._null_stream: Any = None

    def _property(self, name: str) -> Any:
        if self._properties is None:
            self._properties = _native.cuda_properties(self.ordinal)
        return self._properties[name]

    @property
    def free_memory(self) -> int:
        """Bytes of memory that are free now."""
        return _native.cuda_memory(self.ordinal)[0]

    @property
    def context(self) -> int:
        """Address of the primary context."""
        return _native.cuda_context(self.ordinal)

    @property
    def has_context(self) -> bool:
        """Whether the device is in use."""
        return _native.cuda_is_opened(self.ordinal)

    @property
    def is_mempool_enabled(self) -> bool:
        """Whether memory comes from a pool, in the order of streams."""
        return _native.cuda_pool_enabled(self.ordinal)

    @property
    def stream(self) -> Any:
        """The stream that work goes to where none is named."""
        if self._stream is None:
            from gridstride import _stream

            self._stream = self._own_stream = _stream.Stream(self, is_own=True)
        return self._stream

    @stream.setter
    def stream(self, stream: Any) -> None:
        self.set_stream(stream)

    def set_stream(self, stream: Any, sync: bool = True) -> None:
        """Makes a stream current; with `sync` its later work waits for the one before. None: the device's own."""
        before = self.stream
        if stream is None:
            stream = self._own_stream
        if stream.device is not self:
            raise RuntimeError(f"Stream from device {stream.device} cannot be used on device {self}")
        if sync:
            stream.wait_stream(before)
        self._stream = stream
        stream.make_current()

    @property
    def null_stream(self) -> Any:
        """The legacy default stream, which other libraries use and which is in order with every stream made here."""
        if self._null_stream is None:
            from gridstride import _stream

            self._null_stream = _stream.Stream(self, cuda_stream=0)
        return self._null_stream

    @property
    def is_capturing(self) -> bool:
        """Whether a graph is captured from the current stream."""
        return self._stream is not None and self._stream.is_capturing

    def can_access(self, other: _device.DeviceLike) -> bool:
        """Whether kernels here can read arrays of `other`."""
        other = _device.get_device(other)
        if other.is_cpu:
            return bool(self._property("is_cpu_memory_access_from_gpu_supported"))
        return other is self or _native.cuda_has_access(self.ordinal, other.ordinal)

    def _wait(self) -> None:
        if self.has_context:
            _native.cuda_synchronize(self.ordinal)


def _fact(name: str, text: str) -> property:
    return property(lambda self: self._property(name), doc=text)


for _name, _text in {
    "name": "Name of the processor.",
    "arch": "Compute capability as one number: 90 for 9.0.",
    "sm_count": "Number of multiprocessors.",
    "total_memory": "Bytes of memory.",
    "max_threads_per_block": "Threads of a block at most.",
    "max_shared_memory_per_block": "Bytes of shared memory that a block may ask for.",
    "uuid": "As `nvidia-smi -L` shows it.",
    "pci_bus_id": "Where the device is plugged in.",
    "is_uva": "Whether the host and the device have one space of addresses.",
    "is_mempool_supported": "Whether the device has memory pools.",
    "is_managed_memory_supported": "Whether the device has managed memory.",
    "is_concurrent_managed_access_supported": "Whether host and device may use managed memory at the same time.",
    "is_cpu_memory_access_from_gpu_supported": "Whether kernels read any memory of the host.",
    "is_ipc_supported": "Whether memory can be shared between processes.",
    "clock_khz": "Highest clock of the multiprocessors.",
}.items():
    setattr(CudaDevice, _name, _fact(_name, _text))


def devices() -> list[CudaDevice]:
    """Every CUDA device: none without a driver. The first call starts it."""
    global _found
    if _found is None:
        _found = [CudaDevice(ordinal) for ordinal in range(_native.cuda_device_count())]
        _device._BY_NAME.update({device.alias: device for device in _found})
        _device._BY_PLACE.update({f"managed:{device.ordinal}": device for device in _found})
        _device._BY_PLACE.update({device.alias: device for device in _found})
        _native.set_cuda_devices([(device.alias, device) for device in _found])
    return _found


def is_started() -> bool:
    """Whether the driver runs in this program."""
    return _native.cuda_is_started()


def missing() -> str:
    """Why there is no CUDA device."""
    return _native.cuda_missing() or "the driver found none"
