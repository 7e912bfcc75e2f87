"""HIP kernels compiled for AMD chips and executed by waves, beside the same source compiled for this machine.

Waves have as many lanes there as on the chip.
"""

import ctypes
import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from campaigns import first_of
from hip_assembly import hip_text

from fencewright.lowering.cdna.chips import KNOWN_CHIPS
from fencewright.simulator.execution.executor import execute
from fencewright.simulator.execution.launch import Launch, allocate
from fencewright.simulator.kernels.lane_kernel import LaneKernel
from fencewright.simulator.threads.launch import Array, array_bytes, parse_launch
from fencewright.tools import fence_sim
from fencewright.tools.dev.campaigns.executed_kernels import COUNTED, SOURCES, launches_of
from fencewright.tools.inputs.amd_kernels import kernels_of_assembly
from fencewright.tools.llvm_tools import LLVM_HINT, find_llvm_tool

HIP = SOURCES / "hip" / "ordinary.hip"
LAUNCHES = {each.partition("<<<")[0]: each for each in launches_of(HIP.read_text())}
_COMMON = ("-ffp-contract=off", "-fwrapv")

needs_clang = pytest.mark.skipif(find_llvm_tool("clang++") is None, reason=LLVM_HINT)


def _clang(*options: str) -> None:
    clang = find_llvm_tool("clang++")
    assert clang is not None
    subprocess.run([clang, *_COMMON, *options], check=True)


@cache
def assembly(chip: str) -> str:
    """The kernels as assembly of a chip."""
    return hip_text(HIP, chip, *_COMMON)


@cache
def kernels(chip: str) -> Mapping[str, LaneKernel]:
    """The kernels of a chip by name."""
    return {each.name: each for each in kernels_of_assembly(assembly(chip), "kernels.s")}


@cache
def host(lanes: int) -> ctypes.CDLL:
    """The kernels of this machine, each with a function that launches it in waves of ``lanes``."""
    lines = ["#define HOST", f"#define LANES {lanes}", f'#include "{HIP}"']
    lines += [
        f'extern "C" void launch_{name}(const int *sizes, void **given) '
        f"{{ launch(sizes, [=] {{ call({name}, given); }}); }}"
        for name in LAUNCHES
    ]
    with TemporaryDirectory() as folder:
        source, library = Path(folder) / "host.cpp", Path(folder) / "host.so"
        source.write_text("\n".join(lines) + "\n")
        # Each operation on halves is rounded, as on a GPU.
        rounded = ("-Xclang", "-ffloat16-excess-precision=none")
        options = ("-std=c++17", "-O1", "-shared", "-fPIC", *rounded)
        _clang(*options, str(source), "-o", str(library))
        return ctypes.CDLL(str(library))


def arguments_of(launch: str) -> list[np.ndarray | int | float]:
    """The arguments, arrays as their bytes."""
    found: list[np.ndarray | int | float] = []
    for each in parse_launch(launch).arguments:
        if isinstance(each, Array):
            found.append(np.frombuffer(array_bytes(each), np.uint8).copy())
        else:
            assert isinstance(each, int | float)
            found.append(each)
    return found


def by_host(launch: str, lanes: int = 64) -> list[bytes]:
    """The arrays after a launch on this machine."""
    asked, arguments = parse_launch(launch), arguments_of(launch)
    assert asked.block is not None
    places: list[ctypes.c_void_p] = []
    held: list[object] = []
    by_value = {number for number, each in enumerate(asked.arguments) if _is_struct(each)}
    for number, each in enumerate(arguments):
        if isinstance(each, np.ndarray):
            value: object = ctypes.c_void_p(each.ctypes.data)
            if number in by_value:
                places.append(ctypes.c_void_p(each.ctypes.data))
                continue
        else:
            value = ctypes.c_int(each) if isinstance(each, int) else ctypes.c_float(each)
        held.append(value)
        places.append(ctypes.cast(ctypes.pointer(value), ctypes.c_void_p))  # pyright: ignore
    sizes = (ctypes.c_int * 6)(*asked.grid, *asked.block)
    given = (ctypes.c_void_p * len(places))(*places)
    getattr(host(lanes), f"launch_{asked.kernel}")(sizes, given)
    return [each.tobytes() for each in arguments if isinstance(each, np.ndarray)]


def _is_struct(argument: object) -> bool:
    """True of what is passed by value: its launch gives bytes."""
    return isinstance(argument, Array) and argument.type == "b8"


def by_waves(launch: str, chip: str) -> list[bytes]:
    """The arrays after a launch on an AMD chip, executed here."""
    asked, arguments = parse_launch(launch), arguments_of(launch)
    assert asked.block is not None
    program = kernels(chip)[asked.kernel].read()
    given = Launch(asked.grid, asked.block, tuple(arguments), None, asked.shared)
    memory = execute(program, given, allocate(program, given), lambda _: None, needs_results=True)
    found: list[bytes] = []
    for parameter, each in zip(program.given, arguments, strict=True):
        if isinstance(each, np.ndarray):
            is_buffer = parameter.is_buffer
            found.append(memory.contents(parameter.name).tobytes() if is_buffer else each.tobytes())
    return found


def different(expected: Sequence[bytes], found: Sequence[bytes]) -> list[str]:
    """The words that differ, the first of each array."""
    wrong: list[str] = []
    for number, (one, other) in enumerate(zip(expected, found, strict=True)):
        places = [at for at in range(0, len(one), 4) if one[at : at + 4] != other[at : at + 4]]
        if places or len(one) != len(other):
            at = places[0] if places else 0
            wrong.append(
                f"array {number}, word {at // 4} and {len(places) - 1} others: "
                f"{one[at : at + 4].hex()}, not {other[at : at + 4].hex()}"
            )
    return wrong


def test_there_are_forty_kernels_each_with_a_launch() -> None:
    kernels = re.findall(r'^extern "C" __global__ void (\w+)\(', HIP.read_text(), re.MULTILINE)
    assert kernels == [*LAUNCHES]
    assert len(kernels) >= 40


@needs_clang
@pytest.mark.parametrize(
    "chip", first_of(("gfx1250", "gfx942", "gfx90a", "gfx950", "gfx1030", "gfx1100", "gfx1200"))
)
@pytest.mark.parametrize("name", LAUNCHES)
def test_a_kernel_computes_what_this_machine_does(name: str, chip: str) -> None:
    expected = by_host(LAUNCHES[name], KNOWN_CHIPS[chip].wave_size)
    before = [
        each.tobytes() for each in arguments_of(LAUNCHES[name]) if isinstance(each, np.ndarray)
    ]
    assert different(before, expected) != []
    assert different(expected, by_waves(LAUNCHES[name], chip)) == []


_COUNTERS = (
    "TA_FLAT_READ_WAVEFRONTS", "TA_FLAT_WRITE_WAVEFRONTS", "TCC_READ", "TCC_WRITE", "TCC_ATOMIC",
    "TCC_MISS", "SQ_LDS_IDX_ACTIVE", "SQ_LDS_BANK_CONFLICT",
)  # fmt: skip
_PAGE = HIP.parents[4] / "docs" / "run-a-kernel.md"
_ROW = re.compile(r"^\| (\w+) \|((?: [\d,]+ \|){8})$", re.MULTILINE)
TABLE: dict[str, str] = dict(_ROW.findall(_PAGE.read_text()))


@needs_clang
@pytest.mark.parametrize("name", first_of(sorted(COUNTED)))
def test_the_page_has_what_is_counted(name: str, tmp_path: Path) -> None:
    file, output = tmp_path / "kernels.s", tmp_path / "traffic.json"
    file.write_text(assembly("gfx942"))
    given = ["traffic", str(file), "--mcpu", "gfx942", "--launch", LAUNCHES[name], "--json"]
    assert fence_sim.main([*given, "-o", str(output)]) == 0
    counters = json.loads(output.read_text())["counters"]
    found = [counters[each]["value"] if each in counters else 0 for each in _COUNTERS]
    assert TABLE[name].replace(" ", "").split("|")[:-1] == [f"{each:,}" for each in found]


def test_the_page_has_ten_kernels() -> None:
    assert {*TABLE} == COUNTED
