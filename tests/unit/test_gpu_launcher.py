"""The launcher, over a driver of this file: what is asked of it, and what its refusals become."""

import ctypes
import shutil
import struct
import subprocess
import sys
from array import array
from collections.abc import Callable
from enum import IntEnum
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fencewright import gpu
from fencewright.gpu import Device, GpuError, HangError, NoGpuError, pack_arguments

PTXAS = shutil.which("ptxas")


class Status(IntEnum):
    """The driver's results that occur here."""

    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_PTX = 218
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_NOT_FOUND = 500
    CUDA_ERROR_NOT_READY = 600
    CUDA_ERROR_LAUNCH_FAILED = 719


class Pointer(int):
    """A CUdeviceptr."""


class FakeDriver:
    """The part of ``cuda.bindings.driver`` that the launcher uses; ``ranks`` is its one kernel."""

    CUresult = Status
    CUdeviceptr = Pointer
    CUevent_flags = SimpleNamespace(CU_EVENT_DISABLE_TIMING=2)
    CUtensorMapDataType = SimpleNamespace(CU_TENSOR_MAP_DATA_TYPE_UINT32="words")
    CUtensorMapInterleave = SimpleNamespace(CU_TENSOR_MAP_INTERLEAVE_NONE=0)
    CUtensorMapSwizzle = SimpleNamespace(CU_TENSOR_MAP_SWIZZLE_NONE=0)
    CUtensorMapL2promotion = SimpleNamespace(CU_TENSOR_MAP_L2_PROMOTION_NONE=0)
    CUtensorMapFloatOOBfill = SimpleNamespace(CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE=0)
    cuuint64_t = cuuint32_t = int
    CUjit_option = SimpleNamespace(
        CU_JIT_ERROR_LOG_BUFFER="log", CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES="size"
    )
    CUlaunchAttributeID = SimpleNamespace(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION="cluster")
    CUfunction_attribute = SimpleNamespace(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES="shared")
    CUdevice_attribute = SimpleNamespace(
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR=9,
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR=0,
    )

    def __init__(self, devices: int = 1, ignores_clusters: bool = False):
        self.devices = devices
        self.ignores_clusters = ignores_clusters
        self.memory = bytearray(1 << 16)
        self.top = 256
        self.freed: list[int] = []
        self.limits: list[int] = []
        self.launches: list[Any] = []
        self.ends_after = 0
        self.end = Status.CUDA_SUCCESS

    def CUlaunchConfig(self) -> SimpleNamespace:
        return SimpleNamespace(attrs=[])

    def CUlaunchAttribute(self) -> SimpleNamespace:
        return SimpleNamespace(value=SimpleNamespace(clusterDim=SimpleNamespace()))

    def cuInit(self, flags: int) -> tuple[Status]:
        return (Status.CUDA_SUCCESS,)

    def cuDeviceGetCount(self) -> tuple[Status, int]:
        return Status.CUDA_SUCCESS, self.devices

    def cuDeviceGet(self, index: int) -> tuple[Status, int]:
        return Status.CUDA_SUCCESS, index

    def cuDevicePrimaryCtxRetain(self, device: int) -> tuple[Status, str]:
        return Status.CUDA_SUCCESS, "context"

    def cuCtxSetCurrent(self, context: str) -> tuple[Status]:
        return (Status.CUDA_SUCCESS,)

    def cuEventQuery(self, event: str) -> tuple[Status]:
        self.ends_after -= 1
        return (Status.CUDA_ERROR_NOT_READY if self.ends_after >= 0 else self.end,)

    def cuFuncGetParamInfo(self, function: bytes, index: int) -> tuple[Status, int, int]:
        if index < 2:
            return Status.CUDA_SUCCESS, 8 * index, (8, 4)[index]
        return Status.CUDA_ERROR_INVALID_VALUE, 0, 0

    def cuTensorMapEncodeTiled(self, *arguments: Any) -> tuple[Status, SimpleNamespace]:
        kind, rank, address, extents, strides, box, steps, *options = arguments
        assert (kind, options) == ("words", [0, 0, 0, 0])
        assert (len(extents), len(strides), len(box), steps) == (rank, rank - 1, rank, [1] * rank)
        words = [address, *extents, *strides, *box]
        return Status.CUDA_SUCCESS, SimpleNamespace(opaque=words + [0] * (16 - len(words)))

    def cuDeviceGetName(self, size: int, device: int) -> tuple[Status, bytes]:
        return Status.CUDA_SUCCESS, b"Fake" + bytes(size - 4)

    def cuDriverGetVersion(self) -> tuple[Status, int]:
        return Status.CUDA_SUCCESS, 13020

    def cuDeviceGetAttribute(self, attribute: int, device: int) -> tuple[Status, int]:
        return Status.CUDA_SUCCESS, attribute

    def cuGetErrorName(self, status: Status) -> tuple[Status, bytes]:
        return Status.CUDA_SUCCESS, status.name.encode()

    def cuMemAlloc(self, size: int) -> tuple[Status, Pointer]:
        pointer, self.top = Pointer(self.top), self.top + size
        return Status.CUDA_SUCCESS, pointer

    def cuMemFree(self, pointer: Pointer) -> tuple[Status]:
        self.freed.append(int(pointer))
        return (Status.CUDA_SUCCESS,)

    def cuMemcpyHtoD(self, target: Pointer, data: bytes, size: int) -> tuple[Status]:
        self.memory[target : target + size] = data
        return (Status.CUDA_SUCCESS,)

    def cuMemcpyDtoH(self, target: int, source: Pointer, size: int) -> tuple[Status]:
        ctypes.memmove(target, bytes(self.memory[source : source + size]), size)
        return (Status.CUDA_SUCCESS,)

    def cuMemsetD32Async(
        self, target: Pointer, word: int, count: int, stream: int
    ) -> tuple[Status]:
        self.memory[target : target + 4 * count] = struct.pack("<I", word) * count
        return (Status.CUDA_SUCCESS,)

    def cuModuleLoadDataEx(
        self, image: bytes, count: int, names: list[str], values: list[Any]
    ) -> tuple[Status, str | None]:
        assert image.endswith(b"\0")
        assert (count, names) == (2, ["log", "size"])
        if b"nowhere" not in image:
            return Status.CUDA_SUCCESS, "module"
        said = b"line 13; error: Unknown symbol '%nowhere'\n"
        values[0][: len(said)] = said
        return Status.CUDA_ERROR_INVALID_PTX, None

    def cuModuleGetFunction(self, module: str, name: bytes) -> tuple[Status, bytes | None]:
        if name != b"ranks":
            return Status.CUDA_ERROR_NOT_FOUND, None
        return Status.CUDA_SUCCESS, name

    def cuFuncSetAttribute(self, function: bytes, attribute: str, value: int) -> tuple[Status]:
        assert attribute == "shared"
        self.limits.append(value)
        return (Status.CUDA_SUCCESS,)

    def cuLaunchKernelEx(
        self, config: Any, function: bytes, parameters: int, extra: int
    ) -> tuple[Status]:
        pointers = ctypes.cast(parameters, ctypes.POINTER(ctypes.c_void_p))
        out = ctypes.cast(pointers[0] or 0, ctypes.POINTER(ctypes.c_uint64))[0]
        add = ctypes.cast(pointers[1] or 0, ctypes.POINTER(ctypes.c_uint32))[0]
        cluster = config.attrs[0].value.clusterDim.x if config.numAttrs else 1
        self.launches.append(config)
        for block in range(config.gridDimX):
            rank = 0 if self.ignores_clusters else block % cluster
            struct.pack_into("<I", self.memory, out + 4 * block, rank + add)
        return (Status.CUDA_SUCCESS,)

    def cuEventCreate(self, flags: int) -> tuple[Status, str]:
        return Status.CUDA_SUCCESS, "event"

    def cuEventRecord(self, event: str, stream: int) -> tuple[Status]:
        return (Status.CUDA_SUCCESS,)

    cuEventDestroy = cuCtxSetCurrent

    def cuEventElapsedTime(self, start: str, end: str) -> tuple[Status, float]:
        return Status.CUDA_SUCCESS, 2.5


def use(monkeypatch: pytest.MonkeyPatch, driver: object) -> None:
    def import_module(name: str) -> object:
        assert name == "cuda.bindings.driver"
        if isinstance(driver, Exception):
            raise driver
        return driver

    monkeypatch.setattr(gpu, "import_module", import_module)


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    fake = FakeDriver()
    use(monkeypatch, fake)
    return fake


# Where nothing can run


class WithoutLibrary(FakeDriver):
    def cuInit(self, flags: int) -> tuple[Status]:
        raise RuntimeError("Failed to dlopen libcuda.so.1")


class Refusing(FakeDriver):
    def cuInit(self, flags: int) -> tuple[Status]:
        return (Status.CUDA_ERROR_LAUNCH_FAILED,)


@pytest.mark.parametrize(
    ("api", "reason"),
    [
        (ImportError("no module"), "no GPU: needs an NVIDIA GPU"),
        (WithoutLibrary(), "no CUDA driver is installed"),
        (Refusing(), "CUDA_ERROR_LAUNCH_FAILED"),
        (FakeDriver(devices=0), "the driver sees no device"),
    ],
    ids=["no bindings", "no library", "refusal", "no device"],
)
def test_what_is_missing_is_said_in_one_line(
    api: object, reason: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use(monkeypatch, api)
    assert not gpu.available()
    with pytest.raises(NoGpuError, match=reason):
        Device()
    assert gpu.main([]) == 1
    said = capsys.readouterr().err
    assert reason in said
    assert "cuda-bindings" in said
    assert said.count("\n") == 1


def test_a_device_that_is_not_there(driver: FakeDriver) -> None:
    assert gpu.available()
    assert gpu.why_unavailable() is None
    with pytest.raises(NoGpuError, match="no GPU 1: the driver sees 1"):
        Device(1)


class TwoGpus(FakeDriver):
    """Notes in which context each call is made; one of the two may be out of reach."""

    def __init__(self, *, connected: bool = True):
        super().__init__(devices=2)
        self.connected = connected
        self.current = ""
        self.reached: list[tuple[str, str]] = []
        self.filled: list[str] = []

    def cuDevicePrimaryCtxRetain(self, device: int) -> tuple[Status, str]:
        return Status.CUDA_SUCCESS, f"context {device}"

    def cuCtxSetCurrent(self, context: str) -> tuple[Status]:
        self.current = context
        return (Status.CUDA_SUCCESS,)

    def cuDeviceCanAccessPeer(self, device: int, other: int) -> tuple[Status, int]:
        return Status.CUDA_SUCCESS, int(self.connected)

    def cuCtxEnablePeerAccess(self, other: str, flags: int) -> tuple[Status]:
        self.reached.append((self.current, other))
        return (Status.CUDA_SUCCESS,)

    def cuMemsetD32Async(
        self, target: Pointer, word: int, count: int, stream: int
    ) -> tuple[Status]:
        self.filled.append(self.current)
        return super().cuMemsetD32Async(target, word, count, stream)


def test_every_call_is_made_on_its_own_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    api = TwoGpus()
    use(monkeypatch, api)
    first, second = Device(0), Device(1)
    first.reach(second)
    second.reach(first)
    assert api.reached == [("context 0", "context 1"), ("context 1", "context 0")]
    buffers = [first.allocate(4), second.allocate(4)]
    for buffer in (*buffers, buffers[0]):
        buffer.fill(1)
    assert api.filled == ["context 0", "context 1", "context 0"]


def test_gpus_that_are_not_connected(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, TwoGpus(connected=False))
    with pytest.raises(GpuError, match="Fake cannot access Fake: no peer access"):
        Device(0).reach(Device(1))


# Buffers


def test_buffers_take_what_has_bytes(driver: FakeDriver) -> None:
    device = Device()
    assert device.upload(array("i", [1, -1])).read() == b"\1\0\0\0\xff\xff\xff\xff"
    buffer = device.allocate(16)
    buffer.fill(0x01020304)
    buffer.fill(5, offset=4, words=2)
    buffer.write(b"ab", 14)
    assert buffer.read(8, 8) == b"\5\0\0\0\4\3ab"
    assert device.allocate(0).read() == b""


def test_buffers_have_bounds(driver: FakeDriver) -> None:
    buffer = Device().allocate(8)
    for access in (
        lambda: buffer.write(bytes(5), 4),
        lambda: buffer.read(9),
        lambda: buffer.read(1, -1),
        lambda: buffer.fill(0, 4, 2),
    ):
        with pytest.raises(ValueError, match="of a buffer of 8"):
            access()


def test_buffers_are_freed_once(driver: FakeDriver) -> None:
    device = Device()
    first, second = device.allocate(8), device.allocate(8)
    places = [first.address, second.address]
    first.free()
    first.free()
    del first, second
    assert driver.freed == places


# Launches


def test_arguments_as_a_kernel_sees_them(driver: FakeDriver) -> None:
    buffer = Device().allocate(8)
    packed = pack_arguments([buffer, 7, -1, 1 << 31, 1.5, b"\1\2\3\4\5\6\7\10"])
    assert packed == [
        struct.pack("<Q", buffer.address),
        b"\7\0\0\0",
        b"\xff\xff\xff\xff",
        b"\0\0\0\x80",
        struct.pack("<f", 1.5),
        b"\1\2\3\4\5\6\7\10",
    ]
    for wide in (1 << 32, -(1 << 31) - 1):
        with pytest.raises(ValueError, match="does not fit 32 bits"):
            pack_arguments([wide])


def test_a_launch_passes_on_its_shape(driver: FakeDriver) -> None:
    device = Device()
    kernel = device.load("ptx").kernel("ranks")
    out = device.allocate(16)
    kernel.launch((4, 2, 1), 32, [out, 5])
    kernel.launch(4, (8, 4, 1), [out, 5], cluster=(2, 1, 1), shared_bytes=64 * 1024)
    plain, clustered = driver.launches
    assert (plain.gridDimX, plain.gridDimY, plain.gridDimZ) == (4, 2, 1)
    assert (plain.blockDimX, plain.sharedMemBytes, plain.numAttrs) == (32, 0, 0)
    assert (clustered.blockDimX, clustered.blockDimY, clustered.numAttrs) == (8, 4, 1)
    assert clustered.attrs[0].id == "cluster"
    assert struct.unpack("<4I", out.read()) == (5, 6, 5, 6)


def test_more_shared_memory_is_asked_for_once(driver: FakeDriver) -> None:
    device = Device()
    kernel = device.load("ptx").kernel("ranks")
    out = device.allocate(4)
    for size in (48 * 1024, 64 * 1024, 64 * 1024, 100 * 1024):
        kernel.launch(1, 32, [out, 0], shared_bytes=size)
    assert driver.limits == [64 * 1024, 100 * 1024]


def test_time_is_in_seconds(driver: FakeDriver) -> None:
    runs: list[None] = []
    assert Device().time(lambda: runs.append(None), repeats=3, warm_up=2) == 0.0025
    assert len(runs) == 5


# Errors


def test_the_assembler_says_what_is_wrong(driver: FakeDriver) -> None:
    with pytest.raises(GpuError) as caught:
        Device().load("mov.u32 %nowhere, 1;")
    assert caught.value.error == "CUDA_ERROR_INVALID_PTX"
    assert str(caught.value) == (
        "PTX not loaded: CUDA_ERROR_INVALID_PTX: line 13; error: Unknown symbol '%nowhere'"
    )


def test_a_kernel_that_is_not_there(driver: FakeDriver) -> None:
    with pytest.raises(GpuError, match="kernel nobody: CUDA_ERROR_NOT_FOUND"):
        Device().load("ptx").kernel("nobody")


def waits(device: Device) -> list[Callable[[], object]]:
    """All that waits for launches."""
    buffer = device.allocate(4)
    return [device.synchronize, buffer.read, lambda: device.time(lambda: None, 1, 0)]


def test_a_failed_launch_is_told(driver: FakeDriver) -> None:
    for wait in waits(Device()):
        driver.end = Status.CUDA_ERROR_LAUNCH_FAILED
        with pytest.raises(GpuError, match="a launch failed: CUDA_ERROR_LAUNCH_FAILED"):
            wait()


def test_a_wait_ends_with_the_launch(driver: FakeDriver) -> None:
    for wait in waits(Device(patience=60)):
        driver.ends_after = 5
        wait()
        assert driver.ends_after == -1


def test_a_launch_that_hangs_is_told_and_left_alone(driver: FakeDriver) -> None:
    device = Device(patience=0.01)
    for wait in waits(device):
        driver.ends_after = 1 << 30
        with pytest.raises(HangError, match=r"a launch hangs: it did not end within 0\.01 s"):
            wait()
        # The driver's own free would wait for it.
        buffer = device.allocate(8)
        del buffer
        assert driver.freed == []


def test_arguments_that_are_not_the_kernels_are_refused(driver: FakeDriver) -> None:
    device = Device()
    kernel = device.load("ptx").kernel("ranks")
    out = device.allocate(4)
    for arguments, given in (
        ([], "none"),
        ([out], "8"),
        ([5, out], "4, 8"),
        ([out, 5, 5], "8, 4, 4"),
    ):
        with pytest.raises(GpuError) as caught:
            kernel.launch(1, 32, arguments)
        assert str(caught.value) == f"kernel ranks: takes arguments of 8, 4 bytes, given: {given}"
    assert driver.launches == []


def test_a_driver_that_tells_no_parameters_launches(
    driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(FakeDriver, "cuFuncGetParamInfo")
    device = Device()
    device.load("ptx").kernel("ranks").launch(1, 32, [device.allocate(4), 0])
    assert len(driver.launches) == 1


def test_a_function_that_is_not_there_is_told(
    driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = Device()
    memory = device.allocate(4096)
    monkeypatch.delattr(FakeDriver, "cuTensorMapEncodeTiled")
    with pytest.raises(GpuError, match="cuTensorMapEncodeTiled: not in the installed CUDA driver"):
        device.tensor_map(memory, [32, 8], [128], [32, 1])


def test_a_tensor_map_has_128_bytes(driver: FakeDriver) -> None:
    device = Device()
    memory = device.allocate(4096)
    encoded = device.tensor_map(memory, [32, 8], [128], [32, 1])
    assert struct.unpack("<16Q", encoded)[:6] == (memory.address, 32, 8, 128, 32, 1)


# The self-test


def test_the_self_test_passes(driver: FakeDriver, capsys: pytest.CaptureFixture[str]) -> None:
    assert gpu.main(["--self-test"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("Fake, driver ")
    assert "(CUDA 13.2), compute capability 9.0\n" in said
    assert "FAILED" not in said
    assert said.count("\nok: ") == 8


def test_a_gpu_that_cannot_run_the_self_test_says_so_in_one_line(
    driver: FakeDriver, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(gpu, "SELF_TEST_PTX", "%nowhere")
    assert gpu.main(["--self-test"]) == 1
    assert capsys.readouterr().err == (
        "PTX not loaded: CUDA_ERROR_INVALID_PTX: line 13; error: Unknown symbol '%nowhere'\n"
    )


def test_the_self_test_notices_a_launcher_without_clusters(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use(monkeypatch, FakeDriver(ignores_clusters=True))
    assert gpu.main(["--self-test"]) == 1
    assert "FAILED: cluster of 2" in capsys.readouterr().out


@pytest.mark.skipif(PTXAS is None, reason="needs ptxas")
def test_ptxas_accepts_the_self_test(tmp_path: Path) -> None:
    source = tmp_path / "kernel.ptx"
    source.write_text(gpu.SELF_TEST_PTX)
    command = [str(PTXAS), "-arch=sm_90", str(source), "-o", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


# On a GPU

needs_gpu = pytest.mark.skipif(not gpu.available(), reason="needs an NVIDIA GPU of sm_90 or later")

ENDLESS = """
from fencewright.gpu import Device, HangError

device = Device(patience=1)
kernel = device.load('''
.version 7.8
.target sm_90
.address_size 64
.visible .entry spin(.param .u64 word)
{
    .reg .b64 %word;
    .reg .b32 %seen;
    .reg .pred %again;
    ld.param.u64 %word, [word];
wait:
    ld.relaxed.gpu.global.u32 %seen, [%word];
    setp.eq.u32 %again, %seen, 0;
    @%again bra wait;
    ret;
}
''').kernel("spin")
word = device.allocate(4)
word.fill(0)
kernel.launch(1, 32, [word])
try:
    word.read()
except HangError as error:
    print(error)
"""


@needs_gpu
def test_the_self_test_passes_on_a_gpu(capsys: pytest.CaptureFixture[str]) -> None:
    assert gpu.main(["--self-test"]) == 0, capsys.readouterr().out


@needs_gpu
def test_a_launch_that_hangs_on_a_gpu_ends_with_its_process() -> None:
    command = [sys.executable, "-c", ENDLESS]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (
        0,
        "a launch hangs: it did not end within 1 s\n",
        "",
    )


@needs_gpu
def test_a_tensor_map_is_made_on_a_gpu() -> None:
    device = Device()
    memory = device.allocate(4096)
    encoded = device.tensor_map(memory, [32, 8], [128], [32, 1])
    assert len(encoded) == 128
    assert struct.pack("<Q", memory.address) in encoded
    with pytest.raises(GpuError, match="CUDA_ERROR_INVALID_VALUE"):
        device.tensor_map(memory, [32, 8], [128], [0, 1])
