"""Runs PTX on an NVIDIA GPU: load (the driver's JIT), buffers, launches with clusters, timing.

Everything goes through the CUDA driver API, through NVIDIA's ``cuda-bindings``, installed by
``pip install 'fencewright[gpu]'``. Nothing of it is imported before a device is opened.
``python -m fencewright.gpu --self-test`` checks the launcher on the GPU at hand.
Source: CUDA Driver API, "Module Management", "Execution Control", "Event Management".
"""

import argparse
import ctypes
import re
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from itertools import permutations
from pathlib import Path
from statistics import median
from time import monotonic, sleep
from typing import Any, Protocol

_Size = tuple[int, int, int]
Extent = int | _Size
"""The size of a grid, a block or a cluster; a number alone is its x."""

_LOG_BYTES = 8192
_DEFAULT_SHARED = 48 * 1024
_LONGEST_SLEEP = 0.01
_REMEDY = "needs an NVIDIA GPU with its driver, and the package cuda-bindings (fencewright[gpu])"


class GpuError(Exception):
    """The driver refused something: ``error`` is its name for that, ``log`` what the JIT said."""

    def __init__(self, what: str, error: str, log: str = ""):
        self.error = error
        self.log = log
        super().__init__(f"{what}: {error}" + (f": {log}" if log else ""))


class NoGpuError(GpuError):
    """There is no GPU to run on; the message says what is missing."""


class HangError(GpuError):
    """A launch did not end in time. It runs on until the process ends; nothing else will run."""


class Addressed(Protocol):
    """Anything in the GPU's memory."""

    @property
    def address(self) -> int:
        """Where it begins."""
        ...


Argument = Addressed | int | float | bytes
"""A kernel's argument: memory, a 32-bit integer, a 32-bit float, or a value byte for byte."""


class _Driver:
    """The driver API: its module, and calls that raise ``GpuError`` when they fail.

    ``patience``: the seconds that a wait may take, or None. ``is_busy``: a wait was given up, so
    that a launch may still run; later calls of the driver would wait for it. ``context``: what
    every call is made in, where the machine has several GPUs; None where there is one.
    """

    def __init__(self, api: Any, patience: float | None = None):
        self.api = api
        self.patience = patience
        self.is_busy = False
        self.context: Any = None

    def enter(self) -> None:
        """Make the context current, which another GPU's may be."""
        if self.context is not None:
            self.api.cuCtxSetCurrent(self.context)

    def call(self, name: str, *arguments: object) -> Any:
        """What ``name`` gives besides its status: nothing, one value, or a tuple."""
        self.enter()
        try:
            status, *values = getattr(self.api, name)(*arguments)
        except (AttributeError, RuntimeError) as error:
            # So say the bindings where they, or libcuda, are too old or not there.
            raise GpuError(name, "not in the installed CUDA driver or cuda-bindings") from error
        if status != self.api.CUresult.CUDA_SUCCESS:
            raise GpuError(name, self.error_name(status))
        return values[0] if len(values) == 1 else tuple(values)

    def error_name(self, status: Any) -> str:
        """The driver's own name for a status, such as CUDA_ERROR_INVALID_PTX."""
        known, name = self.api.cuGetErrorName(status)
        return name.decode() if known == self.api.CUresult.CUDA_SUCCESS else str(status)

    def wait(self) -> None:
        """Return when every launch has ended; raises ``HangError``, or ``GpuError`` if one failed.

        It asks again and again, since nothing interrupts the driver's own waits, not even Ctrl-C.
        """
        event = self.call("cuEventCreate", int(self.api.CUevent_flags.CU_EVENT_DISABLE_TIMING))
        self.call("cuEventRecord", event, 0)
        self.is_busy = True
        start = monotonic()
        while (status := self.api.cuEventQuery(event)[0]) == self.api.CUresult.CUDA_ERROR_NOT_READY:
            waited = monotonic() - start
            if self.patience is not None and waited > self.patience:
                raise HangError("a launch hangs", f"it did not end within {self.patience:g} s")
            sleep(min(waited / 8, _LONGEST_SLEEP))
        self.is_busy = False
        if status != self.api.CUresult.CUDA_SUCCESS:
            raise GpuError("a launch failed", self.error_name(status))
        self.call("cuEventDestroy", event)

    def parameters(self, function: Any) -> tuple[int, ...] | None:
        """The size of every parameter of a kernel; None where the driver is older than 12.4."""
        sizes: list[int] = []
        while True:
            try:
                _, size = self.call("cuFuncGetParamInfo", function, len(sizes))
            except GpuError as error:
                return None if error.__cause__ else tuple(sizes)
            sizes.append(size)


def _driver(patience: float | None = None) -> _Driver:
    try:
        driver = _Driver(import_module("cuda.bindings.driver"), patience)
    except ImportError as error:
        raise NoGpuError("no GPU", _REMEDY) from error
    try:
        driver.call("cuInit", 0)
        count = driver.call("cuDeviceGetCount")
    except GpuError as error:
        # The bindings look for libcuda in the first call.
        reason = "no CUDA driver is installed" if error.__cause__ else error.error
        raise NoGpuError("no GPU", f"{reason}; {_REMEDY}") from error
    if not count:
        raise NoGpuError("no GPU", f"the driver sees no device; {_REMEDY}")
    return driver


def why_unavailable() -> str | None:
    """One line on why nothing can run here; None when it can."""
    try:
        _driver()
    except NoGpuError as error:
        return str(error)
    return None


def available() -> bool:
    """Whether there is a GPU, a driver and the bindings."""
    return why_unavailable() is None


def driver_version() -> str:
    """The version of NVIDIA's kernel driver, such as 580.159.04; empty when it does not say."""
    try:
        text = Path("/proc/driver/nvidia/version").read_text()
    except OSError:
        return ""
    found = re.search(r"\b\d{3}\.[\d.]+\b", text)
    return found[0] if found else ""


class Described(Protocol):
    """What says which GPU it is."""

    name: str
    cuda_version: tuple[int, int]


def description(device: Described) -> str:
    """A GPU and its driver for people: NVIDIA H200, driver 580.159.04 (CUDA 13.0)."""
    cuda = "{}.{}".format(*device.cuda_version)
    return f"{device.name}, driver {driver_version() or 'of unknown version'} (CUDA {cuda})"


def _extent(extent: Extent) -> _Size:
    return (extent, 1, 1) if isinstance(extent, int) else extent


class Buffer:
    """Bytes in the GPU's memory, freed with ``free`` or with the object."""

    def __init__(self, driver: _Driver, size: int):
        self._driver = driver
        self.size = size
        self.address: int = 0
        self.address = int(driver.call("cuMemAlloc", max(size, 1)))

    def write(self, data: Any, offset: int = 0) -> None:
        """Copy ``data`` (bytes, array, anything with a contiguous buffer) to ``offset``."""
        raw = bytes(memoryview(data).cast("B"))
        self._check(offset, len(raw))
        self._driver.call("cuMemcpyHtoD", self._at(offset), raw, len(raw))

    def read(self, size: int | None = None, offset: int = 0) -> bytes:
        """The bytes from ``offset`` on, all where ``size`` is None; waits for earlier launches."""
        wanted = self.size - offset if size is None else size
        self._check(offset, wanted)
        data = bytearray(wanted)
        self._driver.wait()
        if wanted:
            target = (ctypes.c_char * wanted).from_buffer(data)
            self._driver.call("cuMemcpyDtoH", ctypes.addressof(target), self._at(offset), wanted)
        return bytes(data)

    def fill(self, word: int, offset: int = 0, words: int | None = None) -> None:
        """Set ``words`` 32-bit words from byte ``offset`` on, in order with launches."""
        count = (self.size - offset) // 4 if words is None else words
        self._check(offset, 4 * count)
        self._driver.call("cuMemsetD32Async", self._at(offset), word & 0xFFFFFFFF, count, 0)

    def free(self) -> None:
        """Give the memory back; the buffer cannot be used again."""
        address, self.address, self.size = self.address, 0, 0
        if address:
            self._driver.call("cuMemFree", self._driver.api.CUdeviceptr(address))

    def __del__(self) -> None:
        # The driver would wait for a launch that hangs.
        if self.address and not self._driver.is_busy and not sys.is_finalizing():
            self._driver.api.cuMemFree(self._driver.api.CUdeviceptr(self.address))

    def _at(self, offset: int) -> Any:
        return self._driver.api.CUdeviceptr(self.address + offset)

    def _check(self, offset: int, size: int) -> None:
        if offset < 0 or size < 0 or offset + size > self.size:
            raise ValueError(f"bytes {offset} to {offset + size} of a buffer of {self.size}")


def pack_arguments(arguments: Sequence[Argument]) -> list[bytes]:
    """The bytes of each argument, as the kernel's parameters hold them.

    An integer may be signed or unsigned; raises ``ValueError`` if it has more than 32 bits.
    """
    return [_pack(each) for each in arguments]


def _pack(argument: Argument) -> bytes:
    if isinstance(argument, bytes):
        return argument
    if isinstance(argument, float):
        return struct.pack("<f", argument)
    if not isinstance(argument, int):
        return struct.pack("<Q", argument.address)
    if not -(1 << 31) <= argument < 1 << 32:
        raise ValueError(f"{argument} does not fit 32 bits; pass it as bytes (struct.pack)")
    return struct.pack("<I", argument & 0xFFFFFFFF)


class Kernel:
    """A ``.visible .entry`` of a loaded module."""

    def __init__(self, driver: _Driver, function: Any, name: str):
        self._driver = driver
        self._function = function
        self._parameters = driver.parameters(function)
        self._shared_limit = _DEFAULT_SHARED
        self.name = name

    def launch(
        self,
        grid: Extent,
        block: Extent,
        arguments: Sequence[Argument] = (),
        *,
        cluster: Extent = 1,
        shared_bytes: int = 0,
    ) -> None:
        """Start it; ``cluster`` is in blocks and must divide the grid, the default is none.

        Launches run one after another. Raises ``GpuError``, also where the arguments are not the
        kernel's by number and size; what goes wrong while the kernel runs is raised by the next
        call that waits for it.
        """
        packed = pack_arguments(arguments)
        self._check([len(each) for each in packed])
        if shared_bytes > self._shared_limit:
            attribute = self._driver.api.CUfunction_attribute
            self._driver.call(
                "cuFuncSetAttribute",
                self._function,
                attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                shared_bytes,
            )
            self._shared_limit = shared_bytes
        # The parameters are copied during the call, so that they need to live no longer.
        values = [ctypes.create_string_buffer(each, len(each)) for each in packed]
        pointers = (ctypes.c_void_p * max(len(values), 1))(*map(ctypes.addressof, values))
        config = self._config(_extent(grid), _extent(block), _extent(cluster), shared_bytes)
        self._driver.call("cuLaunchKernelEx", config, self._function, ctypes.addressof(pointers), 0)

    def _check(self, sizes: Sequence[int]) -> None:
        # The driver would read past the last argument.
        if self._parameters is None or tuple(sizes) == self._parameters:
            return
        takes, given = (", ".join(map(str, each)) or "none" for each in (self._parameters, sizes))
        raise GpuError(f"kernel {self.name}", f"takes arguments of {takes} bytes, given: {given}")

    def _config(self, grid: _Size, block: _Size, cluster: _Size, shared_bytes: int) -> Any:
        config = self._driver.api.CUlaunchConfig()
        config.gridDimX, config.gridDimY, config.gridDimZ = grid
        config.blockDimX, config.blockDimY, config.blockDimZ = block
        config.sharedMemBytes = shared_bytes
        config.numAttrs = 0
        if cluster != (1, 1, 1):
            attribute = self._driver.api.CUlaunchAttribute()
            names = self._driver.api.CUlaunchAttributeID
            attribute.id = names.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
            size = attribute.value.clusterDim
            size.x, size.y, size.z = cluster
            config.attrs = [attribute]
            config.numAttrs = 1
        return config


class Module:
    """Loaded PTX."""

    def __init__(self, driver: _Driver, module: Any):
        self._driver = driver
        self._module = module

    def kernel(self, name: str) -> Kernel:
        """The entry called ``name``; raises ``GpuError`` if there is none."""
        try:
            function = self._driver.call("cuModuleGetFunction", self._module, name.encode())
        except GpuError as error:
            raise GpuError(f"kernel {name}", error.error) from error
        return Kernel(self._driver, function, name)


class Device:
    """One GPU, with its primary context made current in this thread.

    ``patience`` is how many seconds a launch may keep a call waiting that waits for it, before
    ``HangError`` is raised; None: forever.
    """

    def __init__(self, index: int = 0, *, patience: float | None = None):
        """Raises ``NoGpuError`` when there is nothing to run on."""
        self._driver = _driver(patience)
        call = self._driver.call
        count = call("cuDeviceGetCount")
        if not 0 <= index < count:
            raise NoGpuError(f"no GPU {index}", f"the driver sees {count}, from 0")
        device = call("cuDeviceGet", index)
        self._context = call("cuDevicePrimaryCtxRetain", device)
        call("cuCtxSetCurrent", self._context)
        if count > 1:
            self._driver.context = self._context
        self.name: str = call("cuDeviceGetName", 256, device).partition(b"\0")[0].decode()
        version: int = call("cuDriverGetVersion")
        self.cuda_version = (version // 1000, version % 1000 // 10)
        self._device = device
        attribute = self._driver.api.CUdevice_attribute
        self.compute_capability: tuple[int, int] = (
            call(
                "cuDeviceGetAttribute",
                attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                device,
            ),
            call(
                "cuDeviceGetAttribute",
                attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
                device,
            ),
        )

    def reach(self, other: "Device") -> None:
        """Let kernels on this GPU access the memory of another.

        Raises ``GpuError`` where the two are not connected so.
        Source: CUDA Driver API, "Peer Context Memory Access".
        """
        if not self._driver.call("cuDeviceCanAccessPeer", self._device, other._device):
            raise GpuError(f"{self.name} cannot access {other.name}", "no peer access")
        self._driver.call("cuCtxEnablePeerAccess", other._context, 0)

    def allocate(self, size: int) -> Buffer:
        """So many bytes, not initialised."""
        return Buffer(self._driver, size)

    def upload(self, data: Any) -> Buffer:
        """A buffer with a copy of ``data`` (bytes, array, anything with a contiguous buffer)."""
        buffer = self.allocate(memoryview(data).nbytes)
        buffer.write(data)
        return buffer

    def load(self, code: str | bytes) -> Module:
        """Load PTX (text; the driver compiles it) or a cubin (bytes).

        Raises ``GpuError`` with the first lines of the JIT's log.
        """
        api = self._driver.api
        log = bytearray(_LOG_BYTES)
        self._driver.enter()
        option = api.CUjit_option
        names = [option.CU_JIT_ERROR_LOG_BUFFER, option.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES]
        kind, image = ("cubin", code) if isinstance(code, bytes) else ("PTX", code.encode() + b"\0")
        status, module = api.cuModuleLoadDataEx(image, len(names), names, [log, _LOG_BYTES])
        if status != api.CUresult.CUDA_SUCCESS:
            said = log.partition(b"\0")[0].decode(errors="replace").splitlines()
            lines = "; ".join(line.strip() for line in said if line.strip())
            raise GpuError(f"{kind} not loaded", self._driver.error_name(status), lines)
        return Module(self._driver, module)

    def tensor_map(
        self, memory: Addressed, extents: Sequence[int], strides: Sequence[int], box: Sequence[int]
    ) -> bytes:
        """The tensor map of a tensor of 32-bit words, 128 bytes that a launch takes as they are.

        ``extents`` and ``box`` are in words, ``strides`` (of all dimensions but the first) in
        bytes; the first dimension is the one without gaps. Raises ``GpuError``.
        Source: CUDA Driver API, "Tensor Map Object Management", cuTensorMapEncodeTiled.
        """
        api = self._driver.api
        encoded = self._driver.call(
            "cuTensorMapEncodeTiled",
            api.CUtensorMapDataType.CU_TENSOR_MAP_DATA_TYPE_UINT32,
            len(extents),
            memory.address,
            [api.cuuint64_t(each) for each in extents],
            [api.cuuint64_t(each) for each in strides],
            [api.cuuint32_t(each) for each in box],
            [api.cuuint32_t(1) for _ in extents],
            api.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
            api.CUtensorMapSwizzle.CU_TENSOR_MAP_SWIZZLE_NONE,
            api.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_NONE,
            api.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
        )
        return struct.pack("<16Q", *map(int, encoded.opaque))

    def synchronize(self) -> None:
        """Wait for every launch; raises ``GpuError`` if one failed."""
        self._driver.wait()

    def time(self, work: Callable[[], None], repeats: int = 7, warm_up: int = 1) -> float:
        """Median seconds that the launches of ``work`` take, by events, after ``warm_up`` runs."""
        for _ in range(warm_up):
            work()
        return median(self._seconds(work) for _ in range(repeats))

    def _seconds(self, work: Callable[[], None]) -> float:
        call = self._driver.call
        start, end = call("cuEventCreate", 0), call("cuEventCreate", 0)
        call("cuEventRecord", start, 0)
        work()
        call("cuEventRecord", end, 0)
        self._driver.wait()
        milliseconds: float = call("cuEventElapsedTime", start, end)
        call("cuEventDestroy", start)
        call("cuEventDestroy", end)
        return milliseconds / 1000


def open_devices(count: int) -> list[Device]:
    """The machine's first GPUs, each reaching the others' memory. Raises ``GpuError``."""
    devices = [Device(index) for index in range(count)]
    for one, other in permutations(devices, 2):
        one.reach(other)
    return devices


# The self-test

SELF_TEST_PTX = """\
.version 7.8
.target sm_90
.address_size 64
.extern .shared .align 16 .b8 scratch[];

.visible .entry ranks(.param .u64 ranks_param_0, .param .u32 ranks_param_1)
{
    .reg .b32 %rank, %block, %add, %base, %size;
    .reg .b64 %out, %offset;
    ld.param.u64 %out, [ranks_param_0];
    ld.param.u32 %add, [ranks_param_1];
    mov.u32 %rank, %cluster_ctarank;
    mov.u32 %block, %ctaid.x;
    mov.u32 %size, %dynamic_smem_size;
    mov.u32 %base, scratch;
    add.u32 %base, %base, %size;
    add.u32 %rank, %rank, %add;
    st.shared.u32 [%base+-4], %rank;
    ld.shared.u32 %rank, [%base+-4];
    mul.wide.u32 %offset, %block, 4;
    add.u64 %out, %out, %offset;
    st.global.u32 [%out], %rank;
    ret;
}
"""

_SELF_TEST_BLOCKS = 8
_SELF_TEST_SHARED = 100 * 1024
_SELF_TEST_SECONDS = 20.0


def self_test(device: Device) -> Iterator[tuple[str, bool]]:
    """What was checked on ``device``, and whether it held; a GPU of sm_90 or later."""
    blocks = _SELF_TEST_BLOCKS
    out = device.allocate(4 * blocks)
    out.fill(0xFFFFFFFF)
    yield "memset and read back", out.read() == b"\xff" * out.size
    yield "copy both ways", device.upload(bytes(range(8))).read(4, 2) == bytes((2, 3, 4, 5))
    kernel = device.load(SELF_TEST_PTX).kernel("ranks")
    for cluster in (1, 2, 4):
        kernel.launch(blocks, 32, [out, 7], cluster=cluster, shared_bytes=_SELF_TEST_SHARED)
        expected = struct.pack(f"<{blocks}I", *(7 + n % cluster for n in range(blocks)))
        yield f"cluster of {cluster}, 100 KiB of shared memory", out.read() == expected
    seconds = device.time(lambda: kernel.launch(blocks, 32, [out, 7], shared_bytes=4))
    yield f"timed with events: {1e6 * seconds:.1f} us", 0 < seconds < 1
    try:
        kernel.launch(1, 32, [out])
    except GpuError as error:
        yield f"a missing argument is refused: {error}", "8, 4 bytes" in error.error
    else:
        yield "a missing argument is refused", False
    try:
        device.load(SELF_TEST_PTX.replace("mov.u32 %rank,", "mov.u32 %nowhere,"))
    except GpuError as error:
        yield f"bad PTX is refused: {error}", "nowhere" in error.log
    else:
        yield "bad PTX is refused", False


def main(arguments: Sequence[str] | None = None) -> int:
    """Say which GPU there is; with ``--self-test`` check the launcher. 1 when that fails."""
    parser = argparse.ArgumentParser(prog="python -m fencewright.gpu", description=main.__doc__)
    parser.add_argument("--self-test", action="store_true")
    wanted = parser.parse_args(arguments)
    try:
        device = Device(patience=_SELF_TEST_SECONDS)
        return _introduce(device, tests=wanted.self_test)
    except GpuError as error:
        print(error, file=sys.stderr)
        return 1


def _introduce(device: Device, *, tests: bool) -> int:
    capability = "{}.{}".format(*device.compute_capability)
    print(f"{description(device)}, compute capability {capability}")
    failed = 0
    for what, held in self_test(device) if tests else ():
        print(f"{'ok' if held else 'FAILED'}: {what}", flush=True)
        failed += not held
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
