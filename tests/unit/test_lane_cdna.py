"""CDNA kernels run lane by lane: what they compute on every chip, and what becomes of instructions."""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from campaigns import some_of
from lane_kernels import executions, programs_of
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException

from fencewright.lowering.cdna.instructions import memory_instruction
from fencewright.lowering.cdna.performance.accesses import HIERARCHIES
from fencewright.lowering.vocabulary import AddressSpace, L2PerAgent, Operation, RmwKind
from fencewright.passes.pipelines import lower_module
from fencewright.simulator.execution.executor import execute
from fencewright.simulator.execution.launch import (
    ArgumentValue,
    BufferOfSize,
    Launch,
    LaunchError,
    Memory,
    allocate,
)
from fencewright.simulator.execution.program import (
    CacheLevel,
    Executed,
    FenceInstruction,
    LaneProgram,
    MemoryAccessKind,
    MemoryInstruction,
    MemorySpace,
)
from fencewright.simulator.performance.accesses.access import model_of
from fencewright.simulator.performance.policies import cdna_policy
from fencewright.tools.inputs.litmus.files import parse_module

EXAMPLES = Path(__file__).parents[2] / "examples"
CHIPS = tuple(each.chip for each in HIERARCHIES)
both_generations = pytest.mark.parametrize("chip", ["gfx908", "gfx942"])
every_chip = pytest.mark.parametrize("chip", CHIPS)
RANDOM = np.random.default_rng(13)

Size = tuple[int, int, int]


def lowered(text: str, chip: str, **options: Any) -> ModuleOp:
    module = parse_module("kernel.mlir", text)
    lower_module(module, chip, **options)
    return module


def kernel(
    body: str, parameters: str, chip: str, *, before: str = "", size: str = ""
) -> LaneProgram:
    """A kernel whose body is on ``scoped``; ``size`` of its work-groups where it is fixed."""
    known = f", gpu.known_block_size = array<i32: {size}>" if size else ""
    text = (
        f"{before}\nfunc.func @kernel({parameters}) attributes {{gpu.kernel{known}}} {{\n{body}\n"
        "  func.return\n}\n"
    )
    (program,) = programs_of(lowered(text, chip, opt_level=0))
    return program


@cache
def example(name: str, chip: str) -> LaneProgram:
    (program,) = programs_of(lowered((EXAMPLES / f"{name}.mlir").read_text(), chip))
    return program


def run(
    program: LaneProgram,
    grid: Size,
    block: Size,
    arguments: Sequence[ArgumentValue],
    limit: int = 1 << 20,
) -> tuple[Memory, list[Executed]]:
    launch = Launch(grid, block, tuple(arguments))
    found: list[Executed] = []
    memory = allocate(program, launch)
    return execute(program, launch, memory, found.append, limit=limit), found


def words(*shape: int) -> NDArray[np.uint32]:
    return RANDOM.integers(0, 1 << 32, shape, dtype=np.uint32)


# Whole kernels


@every_chip
def test_a_copy(chip: str) -> None:
    given = words(8 * 256 * 3)
    program = example("memory/copy", chip)
    memory, found = run(program, (8, 1, 1), (256, 1, 1), [given, BufferOfSize(8 * 256 * 4), 3])
    assert (memory.contents("out", np.uint32) == given[::3]).all()
    assert set(executions(program, found).values()) == {8 * 256 // 64}
    assert all(each.active.shape == (32, 64) for each in found)


@every_chip
@pytest.mark.parametrize("name", ["naive", "padded", "swizzled"])
def test_transposes(chip: str, name: str) -> None:
    given = words(64, 64)
    arguments = [given, BufferOfSize(given.nbytes), 64]
    memory, _ = run(example(f"memory/transpose_{name}", chip), (2, 2, 1), (32, 8, 1), arguments)
    assert (memory.contents("out", np.uint32).reshape(64, 64) == given.T).all()


@every_chip
def test_a_histogram(chip: str) -> None:
    given = words(4 * 256)
    arguments = [given, np.zeros(256, dtype=np.uint32)]
    memory, _ = run(example("memory/histogram", chip), (4, 1, 1), (256, 1, 1), arguments)
    expected = np.bincount(given & 255, minlength=256)
    assert (memory.contents("out", np.uint32) == expected).all()


@every_chip
def test_a_matrix_product(chip: str) -> None:
    a, b = words(48, 48), words(48, 48)
    arguments = [a, b, BufferOfSize(a.nbytes), 48]
    memory, _ = run(example("memory/matrix_product", chip), (3, 3, 1), (16, 16, 1), arguments)
    assert (memory.contents("c", np.uint32).reshape(48, 48) == a @ b).all()


@every_chip
def test_a_stencil(chip: str) -> None:
    given = words(6, 514)
    arguments = [given, np.zeros_like(given), 514]
    memory, _ = run(example("memory/stencil", chip), (2, 4, 1), (256, 1, 1), arguments)
    expected = np.zeros_like(given)
    expected[1:-1, 1:-1] = (
        given[1:-1, 1:-1] + given[:-2, 1:-1] + given[2:, 1:-1] + given[1:-1, :-2] + given[1:-1, 2:]
    )
    assert (memory.contents("out", np.uint32).reshape(6, 514) == expected).all()


@both_generations
def test_a_reduction_by_waves(chip: str) -> None:
    given = words(4 * 256)
    arguments = [given, np.zeros(1, dtype=np.uint32)]
    memory, _ = run(example("memory/reduction_waves", chip), (4, 1, 1), (256, 1, 1), arguments)
    assert memory.contents("out", np.uint32)[0] == given.sum(dtype=np.uint32)


@both_generations
def test_a_lock_that_one_lane_takes(chip: str) -> None:
    arguments = [np.zeros(64, dtype=np.uint32), np.zeros(128, dtype=np.uint32), 3]
    memory, _ = run(example("memory/spin_lock_waves", chip), (5, 1, 1), (128, 1, 1), arguments)
    assert (memory.contents("data", np.uint32) == 15).all()


@both_generations
def test_a_look_back_scan_by_waves(chip: str) -> None:
    given, tiles = words(6 * 256), 6
    states = np.zeros(tiles + 64, dtype=np.uint64)
    arguments = [np.zeros(64, dtype=np.uint32), states, given, np.zeros_like(given), tiles]
    program = example("memory/look_back_scan_waves", chip)
    memory, _ = run(program, (tiles, 1, 1), (256, 1, 1), arguments)
    assert (memory.contents("out", np.uint32) == given.cumsum(dtype=np.uint32)).all()


# The eighteen kernels that synchronise


@cache
def synchronising(chip: str) -> dict[str, LaneProgram]:
    text = (EXAMPLES / "kernels-cdna" / "kernels.mlir").read_text()
    return {each.name: each for each in programs_of(lowered(text, chip))}


# Of each kernel the words that it is given, and those that it leaves; what is left out is 0.
ALONE: dict[str, tuple[dict[str, int], dict[str, int]]] = {
    "mp_producer": ({"n": 5}, {"d": 4, "e": 1, "f": 5}),
    "mp_consumer_acquire_load": ({"d": 7, "f": 1}, {"d": 7, "f": 1, "o": 7}),
    "mp_consumer_fence": ({"d": 7, "f": 1}, {"d": 7, "f": 1, "o": 7}),
    "spin_lock": ({"d": 3, "e": 4}, {"d": 4, "e": 5}),
    "look_back": (
        {"its_p": 3, "its_c": 40, "its_f": 2, "partial": 9},
        {"its_p": 3, "its_c": 40, "its_f": 2, "p": 9, "c": 43, "f": 2},
    ),
    "grid_barrier": (
        {"n": 1, "leads": 1, "e": 6}, {"d": 1, "e": 6, "c": 1, "o": 6},
    ),
    "two_release_fences": ({}, {"d": 1, "f": 1}),
    "two_release_stores": ({}, {"d": 1, "f": 1, "g": 1}),
    "release_after_lds": ({}, {"f": 1}),
    "acquire_load_and_fence": ({"f": 2, "d": 5}, {"f": 2, "d": 5, "o": 7}),
    "mp_in_lds": ({"leads": 1, "f": 4}, {}),
    "dekker": ({"y": 8}, {"x": 1, "y": 8, "o": 8}),
    "acq_rel_rmw_loop": ({"n": 6}, {"c": 6}),
    "release_at_entry": ({}, {"f": 1}),
    "fence_after_prefetch": (
        {"f": 1, "w": 2, "w1": 3, "d": 4}, {"f": 1, "w": 2, "w1": 3, "d": 4, "o": 10},
    ),
    "store_then_seq_cst_load": ({"y": 8}, {"x": 1, "y": 8, "o": 8}),
    "acquire_then_rmw": ({"f": 3, "c": 10}, {"f": 3, "c": 13}),
    "fenced_rmw": ({"d": 9}, {"d": 9, "c": 1, "o": 9}),
}  # fmt: skip


@every_chip
def test_every_kernel_that_synchronises_becomes_a_program(chip: str) -> None:
    assert synchronising(chip).keys() == ALONE.keys()


@every_chip
@pytest.mark.parametrize("name", sorted(ALONE))
def test_one_lane_alone(chip: str, name: str) -> None:
    program = synchronising(chip)[name]
    given, left = ALONE[name]
    arguments = [
        np.array([given.get(each.name, 0)], dtype=np.uint32)
        if each.is_buffer
        else given.get(each.name, 0)
        for each in program.parameters
    ]
    launch = Launch((1, 1, 1), (1, 1, 1), tuple(arguments), shared=16)
    memory = execute(program, launch, allocate(program, launch), lambda executed: None)
    buffers = [each.name for each in program.parameters if each.is_buffer]
    found = {name: int(memory.contents(name, np.uint32)[0]) for name in buffers}
    assert found == {name: left.get(name, 0) for name in buffers}


@every_chip
def test_waves_take_the_lock_in_turn(chip: str) -> None:
    program = synchronising(chip)["spin_lock"]
    arguments = [np.zeros(1, dtype=np.uint32) for _ in program.parameters]
    memory, _ = run(program, (20, 1, 1), (1, 1, 1), arguments)
    assert [int(memory.contents(name, np.uint32)[0]) for name in "lde"] == [0, 20, 20]


@every_chip
def test_a_kernel_that_waits_for_nobody_is_refused(chip: str) -> None:
    program = synchronising(chip)["mp_consumer_fence"]
    arguments = [np.zeros(1, dtype=np.uint32) for _ in program.parameters]
    with pytest.raises(
        LaunchError, match="hang: wave 0 of work-group 0 polls at global_load_dword"
    ):
        run(program, (1, 1, 1), (64, 1, 1), arguments)


# What a lane knows


@every_chip
def test_ids_of_three_dimensions(chip: str) -> None:
    lines: list[str] = []
    for kind in ("thread", "block"):
        for dimension in "xyz":
            name = f"{kind}_{dimension}"
            lines += [
                f'  %{name}_index = "gpu.{kind}_id"() {{dimension = #gpu<dim {dimension}>}} : () -> index',
                f"  %{name} = arith.index_cast %{name}_index : index to i32",
            ]
    lines += [
        "  %c5 = arith.constant 5 : i32",
        "  %c3 = arith.constant 3 : i32",
        "  %c100 = arith.constant 100 : i32",
        "  %c120 = arith.constant 120 : i32",
        *sum_of_products("%flat", [("thread_z", "c3"), ("thread_y", "")], "c5", "thread_x"),
        *sum_of_products("%group", [("block_z", "c3"), ("block_y", "")], "c3", "block_x"),
        "  %first = arith.muli %group, %c120 : i32",
        "  %at = arith.addi %first, %flat : i32",
        "  %p = llvm.getelementptr %out[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32",
        "  %high = arith.muli %group, %c100 : i32",
        "  %value = arith.addi %high, %flat : i32",
        "  scoped.store weak %value, %p : i32, !llvm.ptr<1>",
    ]
    program = kernel("\n".join(lines), "%out: !llvm.ptr<1>", chip)
    memory, _ = run(program, (3, 3, 2), (5, 3, 8), [BufferOfSize(18 * 120 * 4)])
    group, flat = np.meshgrid(np.arange(18), np.arange(120), indexing="ij")
    assert (memory.contents("out", np.uint32).reshape(18, 120) == 100 * group + flat).all()


def sum_of_products(
    result: str, terms: Sequence[tuple[str, str]], factor: str, last: str
) -> list[str]:
    """``(z * a + y) * factor + last``."""
    (high, a), (middle, _) = terms
    return [
        f"  {result}_0 = arith.muli %{high}, %{a} : i32",
        f"  {result}_1 = arith.addi {result}_0, %{middle} : i32",
        f"  {result}_2 = arith.muli {result}_1, %{factor} : i32",
        f"  {result} = arith.addi {result}_2, %{last} : i32",
    ]


@every_chip
def test_arguments_of_every_size(chip: str) -> None:
    body = """
  %one = arith.extui %flag : i1 to i32
  %two = arith.extsi %byte : i8 to i32
  %three = arith.extui %half : i16 to i32
  %low = arith.trunci %long : i64 to i32
  %c32 = arith.constant 32 : i64
  %shifted = arith.shrui %long, %c32 : i64
  %high = arith.trunci %shifted : i64 to i32
  %p1 = llvm.getelementptr %out[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
  %p2 = llvm.getelementptr %out[2] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
  %p3 = llvm.getelementptr %out[3] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
  %p4 = llvm.getelementptr %out[4] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
  scoped.store weak %one, %out : i32, !llvm.ptr<1>
  scoped.store weak %two, %p1 : i32, !llvm.ptr<1>
  scoped.store weak %three, %p2 : i32, !llvm.ptr<1>
  scoped.store weak %low, %p3 : i32, !llvm.ptr<1>
  scoped.store weak %high, %p4 : i32, !llvm.ptr<1>"""
    parameters = "%flag: i1, %byte: i8, %half: i16, %long: i64, %out: !llvm.ptr<1>"
    program = kernel(body, parameters, chip)
    given = [1, -3, 0xBEEF, 0x1234567890ABCDEF, BufferOfSize(20)]
    memory, _ = run(program, (1, 1, 1), (1, 1, 1), given)
    found = memory.contents("out", np.uint32).tolist()
    assert found == [1, 0xFFFFFFFD, 0xBEEF, 0x90ABCDEF, 0x12345678]


# Memory

LANE = """
  %thread = "gpu.thread_id"() {dimension = #gpu<dim x>} : () -> index
  %lane = arith.index_cast %thread : index to i32"""

WIDE = {"i8": 1, "i16": 2, "i32": 4, "i64": 8, "vector<3xi32>": 16, "vector<4xi32>": 16, "f64": 8}
"""Types that memory holds, and the bytes from one element to the next."""


def element(pointer: str, index: str, type: str, space: int, result: str) -> str:
    return (
        f"  %{result} = llvm.getelementptr %{pointer}[%{index}] : "
        f"(!llvm.ptr<{space}>, i32) -> !llvm.ptr<{space}>, {type}"
    )


@every_chip
@pytest.mark.parametrize("type", WIDE)
def test_loads_and_stores_of_every_width(chip: str, type: str) -> None:
    """From memory through LDS and private memory, in either of which other lanes have their own."""
    size = WIDE[type]
    unit = "i32" if size == 16 else type
    step = f"  %step = arith.constant {4 if size == 16 else 1} : i32"
    body = "\n".join([
        LANE, step, "  %at = arith.muli %lane, %step : i32",
        "  %one = arith.constant 64 : i32",
        "  %own = llvm.alloca %one x i8 {alignment = 16 : i64} : (i32) -> !llvm.ptr<5>",
        "  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>",
        element("in", "at", unit, 1, "source"), element("out", "at", unit, 1, "target"),
        element("tile", "at", unit, 3, "middle"),
        f"  %a = scoped.load weak %source : !llvm.ptr<1> -> {type}",
        f"  scoped.store weak %a, %middle : {type}, !llvm.ptr<3>",
        f"  %b = scoped.load weak %middle : !llvm.ptr<3> -> {type}",
        f"  scoped.store weak %b, %own : {type}, !llvm.ptr<5>",
        "  scoped.barrier workgroup",
        f"  %c = scoped.load weak %own : !llvm.ptr<5> -> {type}",
        f"  scoped.store weak %c, %target : {type}, !llvm.ptr<1>",
    ])  # fmt: skip
    before = "llvm.mlir.global internal @tile() {addr_space = 3 : i32} : !llvm.array<2048 x i8>"
    program = kernel(body, "%in: !llvm.ptr<1>, %out: !llvm.ptr<1>", chip, before=before)
    given = RANDOM.integers(0, 256, (128, size), dtype=np.uint8)
    memory, found = run(program, (1, 1, 1), (128, 1, 1), [given, np.zeros_like(given)])
    expected = given.copy()
    if type == "vector<3xi32>":
        expected[:, 12:] = 0
    assert (memory.contents("out").reshape(expected.shape) == expected).all()
    private = [
        each for each in program.instructions
        if isinstance(each, MemoryInstruction) and each.space is MemorySpace.PRIVATE
    ]  # fmt: skip
    # A private buffer is accessed by the register; scratch as a whole.
    registers = 1 if chip in ("gfx942", "gfx950") else -(-{16: 16}.get(size, size) // 4)
    if type == "vector<3xi32>" and registers > 1:
        registers = 3
    assert len(private) == 2 * max(registers, 1)
    assert {executions(program, found)[each.text] for each in private} == {2}


KINDS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "_and": lambda a, b: a & b,
    "_or": lambda a, b: a | b,
    "_xor": lambda a, b: a ^ b,
    "umax": np.maximum,
    "umin": np.minimum,
}


@every_chip
@pytest.mark.parametrize("kind", some_of([*KINDS], 3))
@pytest.mark.parametrize(("space", "bits"), [(1, 32), (1, 64), (3, 32), (3, 64), (5, 64)])
def test_atomics_of_every_memory(chip: str, kind: str, space: int, bits: int) -> None:
    name, type = kind.removeprefix("_"), f"i{bits}"
    lines = [
        LANE,
        "  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>",
        "  %count = arith.constant 64 : i32",
        f"  %room = llvm.alloca %count x {type} : (i32) -> !llvm.ptr<5>",
        element("in", "lane", type, 1, "source"),
        element("data", "lane", type, 1, "operand"),
        element("out", "lane", type, 1, "target"),
        element("tile", "lane", type, 3, "middle"),
        f"  %d = scoped.load weak %operand : !llvm.ptr<1> -> {type}",
        f"  %v = scoped.load weak %source : !llvm.ptr<1> -> {type}",
        f"  scoped.store weak %v, %middle : {type}, !llvm.ptr<3>",
        f"  scoped.store weak %v, %room : {type}, !llvm.ptr<5>",
    ]
    at = {1: "source", 3: "middle", 5: "room"}[space]
    pointer = f"!llvm.ptr<{space}>"
    lines += [
        f"  %old = scoped.atomic_rmw {name} relaxed agent %{at}, %d : {pointer}, {type}",
        f"  %new = scoped.load weak %{at} : {pointer} -> {type}",
        f"  %sum = arith.xori %old, %new : {type}",
        f"  scoped.store weak %sum, %target : {type}, !llvm.ptr<1>",
    ]
    before = "llvm.mlir.global internal @tile() {addr_space = 3 : i32} : !llvm.array<1024 x i8>"
    parameters = "%in: !llvm.ptr<1>, %data: !llvm.ptr<1>, %out: !llvm.ptr<1>"
    program = kernel("\n".join(lines), parameters, chip, before=before)
    number = np.uint32 if bits == 32 else np.uint64
    old, data = (RANDOM.integers(0, 1 << bits, 64, dtype=number) for _ in range(2))
    memory, _ = run(program, (1, 1, 1), (64, 1, 1), [old, data, np.zeros_like(old)])
    assert (memory.contents("out", number) == old ^ KINDS[kind](old, data)).all()


@every_chip
@pytest.mark.parametrize(("space", "bits"), [(1, 32), (1, 64), (3, 32), (3, 64)])
def test_compare_exchanges(chip: str, space: int, bits: int) -> None:
    type = f"i{bits}"
    at = "source" if space == 1 else "middle"
    lines = [
        LANE,
        "  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>",
        element("in", "lane", type, 1, "source"),
        element("out", "lane", type, 1, "target"),
        element("tile", "lane", type, 3, "middle"),
        f"  %v = scoped.load weak %source : !llvm.ptr<1> -> {type}",
        f"  scoped.store weak %v, %middle : {type}, !llvm.ptr<3>",
        f"  %expected = arith.constant 7 : {type}",
        f"  %new = arith.constant 1000 : {type}",
        f"  %old, %ok = scoped.cmpxchg relaxed relaxed agent %{at}, %expected, %new : "
        f"!llvm.ptr<{space}>, {type}",
        f"  %done = arith.extui %ok : i1 to {type}",
        f"  %now = scoped.load weak %{at} : !llvm.ptr<{space}> -> {type}",
        f"  %s = arith.addi %now, %done : {type}",
        f"  %sum = arith.addi %s, %old : {type}",
        f"  scoped.store weak %sum, %target : {type}, !llvm.ptr<1>",
    ]
    before = "llvm.mlir.global internal @tile() {addr_space = 3 : i32} : !llvm.array<1024 x i8>"
    program = kernel("\n".join(lines), "%in: !llvm.ptr<1>, %out: !llvm.ptr<1>", chip, before=before)
    old = np.where(np.arange(64) % 3, np.arange(64), 7).astype(f"uint{bits}")
    memory, _ = run(program, (1, 1, 1), (64, 1, 1), [old, np.zeros_like(old)])
    expected = np.where(old == 7, 1000 + 1 + 7, 2 * old)
    assert (memory.contents("out", old.dtype) == expected).all()


@every_chip
def test_lanes_choose(chip: str) -> None:
    """Selects of numbers and of conditions, which are lane masks, and a loop that counts."""
    body = (
        LANE
        + """
  %c3 = arith.constant 3 : i32
  %c40 = arith.constant 40 : i32
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %true = arith.constant true
  %low = arith.cmpi ult, %lane, %c40 : i32
  %bit = arith.andi %lane, %one : i32
  %odd = arith.cmpi ne, %bit, %zero : i32
  %both = arith.andi %low, %odd : i1
  %not = arith.xori %both, %true : i1
  %either = arith.select %odd, %not, %low : i1
  %same = arith.cmpi eq, %either, %odd : i1
  cf.br ^loop(%zero, %same : i32, i1)
^loop(%i: i32, %flag: i1):
  %next = arith.addi %i, %one : i32
  %turned = arith.xori %flag, %low : i1
  %more = arith.cmpi ult, %next, %n : i32
  cf.cond_br %more, ^loop(%next, %turned : i32, i1), ^end
^end:
  %a = arith.extui %turned : i1 to i32
  %b = arith.extsi %not : i1 to i32
  %c = arith.select %either, %a, %b : i32
  %wide = arith.extsi %c : i32 to i64
"""
        + element("out", "lane", "i64", 1, "p")
        + "\n  scoped.store weak %wide, %p : i64, !llvm.ptr<1>"
    )
    program = kernel(body, "%out: !llvm.ptr<1>, %n: i32", chip)
    memory, _ = run(program, (1, 1, 1), (64, 1, 1), [BufferOfSize(512), 5])
    assert memory.contents("out", np.int64).tolist() == [chosen(lane) for lane in range(64)]


def chosen(lane: int) -> int:
    low, odd = lane < 40, lane % 2 == 1
    both = low and odd
    either = not both if odd else low
    # The loop turns the flag five times.
    turned = (either == odd) ^ low
    return int(turned) if either else -int(not both)


@every_chip
def test_a_work_group_that_fills_no_wave(chip: str) -> None:
    given = words(100)
    body = "\n".join([
        LANE, element("in", "lane", "i32", 1, "p"), element("out", "lane", "i32", 1, "q"),
        "  %v = scoped.load weak %p : !llvm.ptr<1> -> i32",
        "  scoped.store weak %v, %q : i32, !llvm.ptr<1>",
    ])  # fmt: skip
    program = kernel(body, "%in: !llvm.ptr<1>, %out: !llvm.ptr<1>", chip)
    memory, found = run(program, (1, 1, 1), (100, 1, 1), [given, BufferOfSize(400)])
    assert (memory.contents("out", np.uint32) == given).all()
    assert all(int(each.active.sum()) == 100 for each in found)


# What becomes of instructions

ORDERED = """
  %one = arith.constant 1 : i32
  scoped.store weak %one, %out : i32, !llvm.ptr<1>
  %v = scoped.load acquire agent %in : !llvm.ptr<1> -> i32
  scoped.barrier workgroup
  scoped.fence release system
  scoped.store relaxed agent %v, %out : i32, !llvm.ptr<1>"""


def fences(program: LaneProgram) -> dict[str, FenceInstruction]:
    return {each.text: each for each in program.instructions if isinstance(each, FenceInstruction)}


def accesses(program: LaneProgram) -> list[MemoryInstruction]:
    return [each for each in program.instructions if isinstance(each, MemoryInstruction)]


# Of each chip: what writes back, what invalidates, and the scope that each says.
MAINTENANCE: dict[str, dict[str, tuple[set[CacheLevel], set[CacheLevel], str]]] = {
    "gfx908": {"buffer_wbinvl1_vol": (set(), {CacheLevel.L1}, "")},
    "gfx90a": {
        "buffer_wbinvl1_vol": (set(), {CacheLevel.L1}, ""),
        "buffer_wbl2": ({CacheLevel.L2}, set(), "system"),
    },
    "gfx942": {
        "buffer_inv sc1": (set(), {CacheLevel.L1, CacheLevel.L2}, "agent"),
        "buffer_wbl2 sc0 sc1": ({CacheLevel.L2}, set(), "system"),
    },
}
MAINTENANCE["gfx950"] = MAINTENANCE["gfx942"]


COUNTED = {
    "vmcnt": (MemorySpace.GLOBAL, MemorySpace.PRIVATE),
    "lgkmcnt": (MemorySpace.SHARED, MemorySpace.SCALAR),
}


@every_chip
def test_what_orders(chip: str) -> None:
    program = kernel(ORDERED, "%in: !llvm.ptr<1>, %out: !llvm.ptr<1>", chip)
    found = fences(program)
    for text, (written, invalidated, scope) in MAINTENANCE[chip].items():
        fence = found.pop(text)
        assert (fence.writes_back, fence.invalidates, fence.scope) == (written, invalidated, scope)
        assert not fence.waits
        assert not fence.joins
    assert found.pop("s_barrier").joins
    assert found
    for text, wait in found.items():
        assert text.startswith("s_waitcnt")
        assert wait.waits == set(MemoryAccessKind)
        counted = {space for name, spaces in COUNTED.items() if name in text for space in spaces}
        assert wait.spaces == counted
        assert wait.scope == ""
        assert not wait.in_flight


def test_a_wait_may_leave_accesses_in_flight() -> None:
    program = synchronising("gfx942")["spin_lock"]
    found = fences(program)
    left = ((MemorySpace.GLOBAL, 1), (MemorySpace.PRIVATE, 1))
    assert found["s_waitcnt vmcnt(1)"].in_flight == left
    assert found["s_waitcnt vmcnt(0)"].in_flight == ()


@every_chip
def test_accesses_have_their_policy_model_and_place(chip: str) -> None:
    program = kernel(ORDERED, "%in: !llvm.ptr<1>, %out: !llvm.ptr<1>", chip)
    scope = "glc" if chip in ("gfx908", "gfx90a") else "sc1"
    load, flag = accesses(program)[-2:]
    assert (load.model, load.kind, load.width) == ("global_load_dword", MemoryAccessKind.LOAD, 4)
    assert load.text.endswith(f" {scope}")
    assert load.policy == cdna_policy(chip, MemoryAccessKind.LOAD, [scope])
    assert flag.kind is MemoryAccessKind.STORE
    assert flag.policy == cdna_policy(
        chip, MemoryAccessKind.STORE, ["sc1"] if scope == "sc1" else []
    )
    for each in (load, flag):
        assert each.place is not None
        assert each.place.file == "kernel.mlir"
    assert load.place is not None
    assert load.place.line == 6
    arguments = [each for each in accesses(program) if each.space is MemorySpace.SCALAR]
    assert [each.width for each in arguments] == [8, 8]
    assert [each.model for each in arguments] == [None, None]


def test_policies_depend_on_how_many_l2s_an_agent_has() -> None:
    text = (
        "func.func @kernel(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {gpu.kernel} {\n"
        f"{ORDERED}\n  func.return\n}}\n"
    )
    found = [
        [each.policy for each in accesses(programs_of(lowered(text, "gfx942"), l2s)[0])]
        for l2s in (L2PerAgent.ONE, L2PerAgent.MANY)
    ]
    assert found[0] != found[1]


def test_policies_depend_on_tgsplit() -> None:
    body = "  %v = scoped.load relaxed workgroup %in : !llvm.ptr<1> -> i32"
    text = (
        "func.func @kernel(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {gpu.kernel} {\n"
        f"{body}\n  scoped.store weak %v, %out : i32, !llvm.ptr<1>\n  func.return\n}}\n"
    )
    for features in ((), ("tgsplit",)):
        (program,) = programs_of(lowered(text, "gfx942", features=features))
        load = accesses(program)[-2]
        assert load.text.endswith("sc0")
        assert load.policy == cdna_policy(
            "gfx942", MemoryAccessKind.LOAD, ["sc0"], tgsplit=bool(features)
        )


@every_chip
def test_an_atomic_that_returns_nothing_is_a_reduction(chip: str) -> None:
    body = """
  %one = arith.constant 1 : i32
  %a = scoped.atomic_rmw add relaxed agent %in, %one : !llvm.ptr<1>, i32
  %b = scoped.atomic_rmw add relaxed agent %in, %a : !llvm.ptr<1>, i32"""
    program = kernel(body, "%in: !llvm.ptr<1>", chip)
    kinds = [each.kind for each in accesses(program)[-2:]]
    assert kinds == [MemoryAccessKind.ATOMIC, MemoryAccessKind.REDUCTION]


@every_chip
def test_every_model_is_one(chip: str) -> None:
    for program in synchronising(chip).values():
        for each in accesses(program):
            if each.model is not None:
                assert model_of(each.model, chip).width == each.width
            assert (each.model is None) == (each.space is MemorySpace.SCALAR)


def test_what_a_kernel_needs() -> None:
    program = example("memory/transpose_padded", "gfx942")
    assert program.target == "gfx942"
    assert program.lanes == 64
    assert program.resources.shared_bytes == 32 * 33 * 4
    assert program.resources.vector_registers
    assert program.resources.scalar_registers
    assert program.most_threads == 256
    assert program.block_size is None
    assert synchronising("gfx942")["spin_lock"].block_size == (1, 1, 1)
    assert [each.name for each in program.parameters] == ["in", "out", "n"]
    assert [each.offset for each in program.parameters] == [0, 8, 16]
    assert [each.is_buffer for each in program.parameters] == [True, True, False]


# Instructions as they are written

LOADED = """
  %s = cdna.load s_load_dwordx2 %k {offset = 0 : i64} : (!cdna.sgpr<2, 0>) -> !cdna.sgpr<2, 2>
  %p = cdna.mov %s : !cdna.sgpr<2, 2> -> !cdna.vgpr<2, 2>
  %two = cdna.const 2 : !cdna.vgpr<1, 1>
  %bytes = cdna.alu v_lshlrev_b32_e32 %lane, %two : (!cdna.vgpr<1, 0>, !cdna.vgpr<1, 1>) -> !cdna.vgpr<1, 4>
  %wide = cdna.alu v_zext_b32_b64 %bytes : (!cdna.vgpr<1, 4>) -> !cdna.vgpr<2, 6>
  %a = cdna.alu v_lshl_add_u64 %p, %wide : (!cdna.vgpr<2, 2>, !cdna.vgpr<2, 6>) -> !cdna.vgpr<2, 2>"""


def of_cdna(body: str, chip: str = "gfx942", shared: int = 0) -> LaneProgram:
    """A kernel with an argument, a pointer in ``%p``, and a work-item's number in ``%lane``."""
    text = (
        f'cdna.kernel @kernel attributes {{chip = "{chip}", '
        'arguments = [#cdna<argument "p", 8, global>], vgprs = 8 : i64, '
        f"sgprs = 8 : i64, group_segment_size = {shared} : i64, private_segment_size = 0 : i64, "
        "workgroup_ids = 0 : i64, workitem_ids = 1 : i64, max_workgroup_size = 64 : i64} {\n"
        f"^bb0(%k : !cdna.sgpr<2, 0>, %lane : !cdna.vgpr<1, 0>):\n{LOADED}\n{body}\n"
        "  cdna.end s_endpgm\n}\n"
    )
    (program,) = programs_of(parse_module("kernel.mlir", text))
    return program


def test_offsets_are_added_to_addresses() -> None:
    body = """
  %v = cdna.load global_load_dword %a {offset = 64 : i64} : (!cdna.vgpr<2, 2>) -> !cdna.vgpr<1, 5>
  cdna.store ds_write_b32 %bytes, %v {offset = 8 : i64} : (!cdna.vgpr<1, 4>, !cdna.vgpr<1, 5>) -> ()
  %w = cdna.load ds_read_b32 %bytes {offset = 8 : i64} : (!cdna.vgpr<1, 4>) -> !cdna.vgpr<1, 5>
  cdna.store global_store_dword %a, %w {offset = 320 : i64} : (!cdna.vgpr<2, 2>, !cdna.vgpr<1, 5>) -> ()"""
    given = np.concatenate([words(80), np.zeros(64, dtype=np.uint32)])
    program = of_cdna(body, shared=264)
    memory, found = run(program, (1, 1, 1), (64, 1, 1), [given])
    left = memory.contents("p", np.uint32)
    assert (left[80:] == given[16:80]).all()
    first = memory.values[0]
    starts = [int(each.addresses[0, 0]) for each in found]
    assert starts == [memory.arguments, first + 64, 8, 8, first + 320]
    texts = [each.text for each in accesses(program)]
    assert texts[1] == "global_load_dword v5, v[2:3], off offset:64"
    assert texts[2] == "ds_write_b32 v4, v5 offset:8"
    assert [each.model for each in accesses(program)][1:3] == ["global_load_dword", "ds_write_b32"]


@pytest.mark.parametrize(("compared", "stored"), [("0", 1), ("64", 2)])
def test_a_wave_branches_as_a_whole(compared: str, stored: int) -> None:
    """One lane that takes the branch takes all of them along."""
    body = f"""
  %n = cdna.const {compared} : !cdna.vgpr<1, 1>
  %m = cdna.alu v_cmp_eq_u32_e64 %lane, %n : (!cdna.vgpr<1, 0>, !cdna.vgpr<1, 1>) -> !cdna.sgpr<2, 4>
  cdna.s_cbranch %m : !cdna.sgpr<2, 4>, ^bb1, ^bb2
^bb1:
  %one = cdna.const 1 : !cdna.vgpr<1, 5>
  cdna.s_branch ^bb3(%one : !cdna.vgpr<1, 5>)
^bb2:
  %other = cdna.const 2 : !cdna.vgpr<1, 5>
  cdna.s_branch ^bb3(%other : !cdna.vgpr<1, 5>)
^bb3(%v : !cdna.vgpr<1, 5>):
  cdna.store global_store_dword %a, %v : (!cdna.vgpr<2, 2>, !cdna.vgpr<1, 5>) -> ()"""
    memory, _ = run(of_cdna(body), (1, 1, 1), (64, 1, 1), [BufferOfSize(256)])
    assert set(memory.contents("p", np.uint32).tolist()) == {stored}


FLOATS: dict[str, Callable[[Any, Any], Any]] = {
    "fadd": np.add,
    "fmin": np.minimum,
    "fmax": np.maximum,
}


def has_atomic(chip: str, space: int, kind: str, bits: int) -> bool:
    where = AddressSpace.GLOBAL if space == 1 else AddressSpace.LOCAL
    found = memory_instruction(
        chip, Operation.ATOMIC_RMW, where, bits, RmwKind(kind), returns=False
    )
    return found is not None


@every_chip
@pytest.mark.parametrize("space", [1, 3, 5])
@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("bits", [32, 64])
def test_atomics_of_floats_where_the_chip_has_them(
    chip: str, space: int, kind: str, bits: int
) -> None:
    type = f"f{bits}"
    at = {1: "source", 3: "middle", 5: "own"}[space]
    lines = [
        LANE,
        "  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>",
        "  %count = arith.constant 1 : i32",
        f"  %own = llvm.alloca %count x {type} : (i32) -> !llvm.ptr<5>",
        element("in", "lane", type, 1, "source"),
        element("data", "lane", type, 1, "operand"),
        element("out", "lane", type, 1, "target"),
        element("tile", "lane", type, 3, "middle"),
        f"  %d = scoped.load weak %operand : !llvm.ptr<1> -> {type}",
        f"  %v = scoped.load weak %source : !llvm.ptr<1> -> {type}",
        f"  scoped.store weak %v, %middle : {type}, !llvm.ptr<3>",
        f"  scoped.store weak %v, %own : {type}, !llvm.ptr<5>",
        f"  %old = scoped.atomic_rmw {kind} relaxed agent %{at}, %d : !llvm.ptr<{space}>, {type}",
        f"  %new = scoped.load weak %{at} : !llvm.ptr<{space}> -> {type}",
        f"  scoped.store weak %new, %target : {type}, !llvm.ptr<1>",
    ]
    before = "llvm.mlir.global internal @tile() {addr_space = 3 : i32} : !llvm.array<1024 x i8>"
    parameters = "%in: !llvm.ptr<1>, %data: !llvm.ptr<1>, %out: !llvm.ptr<1>"
    number = np.float32 if bits == 32 else np.float64
    old, data = (RANDOM.normal(0, 100, 64).astype(number) for _ in range(2))
    if space != 5 and not has_atomic(chip, space, kind, bits):
        with pytest.raises(DiagnosticException, match="has no such instruction"):
            kernel("\n".join(lines), parameters, chip, before=before)
        return
    program = kernel("\n".join(lines), parameters, chip, before=before)
    memory, _ = run(program, (1, 1, 1), (64, 1, 1), [old, data, np.zeros_like(old)])
    assert (memory.contents("out", number) == FLOATS[kind](old, data)).all()


@every_chip
def test_what_is_printed_is_read_as_the_same_kernel(chip: str) -> None:
    module = lowered((EXAMPLES / "memory/histogram.mlir").read_text(), chip)
    (before,), (after,) = programs_of(module), programs_of(parse_module("other", str(module)))
    assert [each.text for each in before.instructions] == [each.text for each in after.instructions]
    given = words(2 * 256)
    left: list[list[int]] = []
    for program in (before, after):
        arguments = [given, np.zeros(256, dtype=np.uint32)]
        memory, _ = run(program, (2, 1, 1), (256, 1, 1), arguments)
        left.append(memory.contents("out", np.uint32).tolist())
    assert left[0] == left[1]
    assert sum(left[0]) == 512


# What cannot be executed


@pytest.mark.parametrize(
    "body",
    [
        "  %m = cdna.const 5 : !cdna.sgpr<2, 2>",
        "  %m = cdna.const 0 : !cdna.sgpr<2, 2>\n"
        "  %v = cdna.mov %m : !cdna.sgpr<2, 2> -> !cdna.vgpr<2, 0>",
        "  %m = cdna.alu s_and_b64 %k, %k : (!cdna.sgpr<2, 0>, !cdna.sgpr<2, 0>) -> !cdna.sgpr<2, 2>",
        "  cdna.s_branch ^bb1(%k : !cdna.sgpr<2, 0>)\n^bb1(%q : !cdna.sgpr<2, 0>):",
        "  %v = cdna.const 1 : !cdna.vgpr<4, 0>",
    ],
)
def test_masks_and_addresses_are_numbers_in_scalar_registers(body: str) -> None:
    run(of_cdna(body), (1, 1, 1), (64, 1, 1), [BufferOfSize(4)])


def test_what_cannot_be_executed_is_refused_at_its_place() -> None:
    """Not before it is to be executed."""
    program = of_cdna(
        '  %v = cdna.load global_load_dword %p {modifiers = ["glc"]} : (!cdna.vgpr<2, 2>) -> '
        "!cdna.vgpr<1, 2>"
    )
    with pytest.raises(LaunchError) as error:
        run(program, (1, 1, 1), (64, 1, 1), [BufferOfSize(4)])
    assert "load with 'glc' on gfx942: the chip has no glc bit" in str(error.value)
    assert error.value.place is not None
    assert error.value.place.file == "kernel.mlir"


def test_registers_have_to_be_allocated() -> None:
    text = (
        'cdna.kernel @kernel attributes {chip = "gfx942", arguments = [], '
        "group_segment_size = 0 : i64, private_segment_size = 0 : i64, workgroup_ids = 0 : i64, "
        "workitem_ids = 0 : i64, max_workgroup_size = 64 : i64} {\n"
        "  %v = cdna.const 1 : !cdna.vgpr<1>\n  cdna.end s_endpgm\n}\n"
    )
    with pytest.raises(DiagnosticException, match="run allocate-registers first"):
        programs_of(parse_module("kernel.mlir", text))


def test_a_work_group_that_the_kernel_is_not_compiled_for() -> None:
    program = example("memory/copy", "gfx942")
    with pytest.raises(LaunchError) as error:
        run(program, (1, 1, 1), (512, 1, 1), [BufferOfSize(8), BufferOfSize(8), 1])
    assert str(error.value) == "copy is compiled for blocks of up to 256 threads, not 512"
