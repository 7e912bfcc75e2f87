"""Accesses a second through ``access``, and whole kernels through ``fence-sim traffic``."""

import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from harness import Result, process_seconds, rate

from fencewright.simulator.performance.accesses.access import count, model_of

_COUNT = 16_384
_INSTRUCTIONS = (
    ("sm_90", 32, "ld.global.b32", 4),
    ("sm_90", 32, "ld.global.v4.b32", 16),
    ("sm_90", 32, "red.global.add.u32", 4),
    ("sm_90", 32, "ld.shared.v4.b32", 16),
    ("gfx942", 64, "global_load_dword", 4),
    ("gfx942", 64, "ds_read_b128", 16),
)
_SHARED = 48 * 1024
_LINES = 100_000

_ACCESSES = 50
"""Loads, and as many stores, of a kernel."""
_GROUPS, _THREADS = 1024, 256


def _scattered(lanes: int, width: int) -> list[tuple[int, ...]]:
    chance = random.Random(13)
    places = _SHARED // width
    return [tuple(chance.randrange(places) * width for _ in range(lanes)) for _ in range(_COUNT)]


def _counted(target: str, instruction: str, accesses: Sequence[tuple[int, ...]]) -> int:
    return sum(1 for _ in count(model_of(instruction, target), accesses))


def _rates() -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for target, lanes, instruction, width in _INSTRUCTIONS:
        accesses = _scattered(lanes, width)
        a_second = rate(lambda: _counted(target, instruction, accesses), runs=3)
        found.append((instruction, target, f"{a_second / 1e3:.0f} k/s"))
    return found


def _kernel() -> str:
    """A kernel whose threads read and write a word of as many rows of an array."""
    body = "\n".join(
        f"""  %row{each} = arith.constant {each * _GROUPS * _THREADS} : i32
  %place{each} = arith.addi %thread, %row{each} : i32
  %from{each} = llvm.getelementptr %in[%place{each}] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %to{each} = llvm.getelementptr %out[%place{each}] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  %word{each} = scoped.load weak %from{each} : !llvm.ptr<1> -> i32
  scoped.store weak %word{each}, %to{each} : i32, !llvm.ptr<1>"""
        for each in range(_ACCESSES)
    )
    return f"""func.func @rows(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>)
    attributes {{gpu.kernel, gpu.known_block_size = array<i32: {_THREADS}, 1, 1>}} {{
  %threads = arith.constant {_THREADS} : i32
  %x = "gpu.thread_id"() {{dimension = #gpu<dim x>}} : () -> index
  %own = arith.index_cast %x : index to i32
  %y = "gpu.block_id"() {{dimension = #gpu<dim x>}} : () -> index
  %group = arith.index_cast %y : index to i32
  %first = arith.muli %group, %threads : i32
  %thread = arith.addi %first, %own : i32
{body}
  func.return
}}
"""


def _commands(folder: Path) -> list[tuple[str, ...]]:
    tool = str(Path(sys.executable).with_name("fence-sim"))
    kernel, lines = folder / "rows.mlir", folder / "accesses"
    kernel.write_text(_kernel())
    accesses = _scattered(32, 4)
    lines.write_text(
        "".join(
            f"ld.global.b32 {' '.join(map(str, accesses[each % _COUNT]))}\n"
            for each in range(_LINES)
        )
    )
    size = f"bytes:{4 * _ACCESSES * _GROUPS * _THREADS}"
    launch = ("--grid", str(_GROUPS), "--block", str(_THREADS), "--arg", size, "--arg", size)
    found = [(f"{_LINES:,} lines of `access --json`", "sm_90", _seconds(
        (tool, "access", "--mcpu", "sm_90", "--json", str(lines), "-o", "/dev/null")
    ))]  # fmt: skip
    for target in ("sm_90", "gfx942"):
        command = (tool, "traffic", str(kernel), "--mcpu", target, *launch, "--json")
        name = f"`traffic`, {_GROUPS:,} work-groups of {_THREADS} threads, {2 * _ACCESSES} accesses"
        found.append((name, target, _seconds((*command, "-o", "/dev/null"))))
    return found


def _seconds(command: Sequence[str]) -> str:
    return f"{process_seconds(command):.1f} s"


def results() -> list[Result]:
    """The rates of single accesses, and the seconds of whole commands."""
    with tempfile.TemporaryDirectory() as folder:
        commands = _commands(Path(folder))
    return [
        Result(
            "Costs of memory",
            ("instruction or command", "target", "a CPU second, or CPU seconds"),
            (*_rates(), *commands),
            "Accesses have scattered addresses in 48 KiB, the hardest there are; whole commands "
            "count start-up, reading and writing.",
        )
    ]
