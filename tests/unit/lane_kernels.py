"""Kernels of the examples and of tests, lowered to PTX and run lane by lane."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from xdsl.context import Context
from xdsl.dialects import arith, builtin, cf, func, gpu, llvm, math, vector

from fencewright.lowering.vocabulary import L2PerAgent
from fencewright.mlir_dialects.ptx import PTX
from fencewright.mlir_dialects.scoped import Scoped
from fencewright.passes.pipelines import PTXPipeline
from fencewright.simulator.execution.executor import LIMIT, execute
from fencewright.simulator.execution.launch import ArgumentValue, Launch, Memory, allocate
from fencewright.simulator.execution.program import Executed, LaneProgram
from fencewright.tools.inputs import amd_kernels, ptx_kernels
from fencewright.tools.inputs.located_parser import LocatedParser

EXAMPLES = Path(__file__).parents[2] / "examples"


def context() -> Context:
    ctx = Context()
    for each in (
        builtin.Builtin, arith.Arith, cf.Cf, func.Func, gpu.GPU, llvm.LLVM, math.Math,
        vector.Vector, Scoped, PTX,
    ):  # fmt: skip
        ctx.load_dialect(each)
    return ctx


def programs_of(
    module: builtin.ModuleOp, l2_per_agent: L2PerAgent | None = None
) -> tuple[LaneProgram, ...]:
    """Every kernel of a module. Raises ``LaunchError`` at what is not executed."""
    ptx = ptx_kernels.kernels_of_module(module)
    amd = amd_kernels.kernels_of_module(module, l2_per_agent)
    return tuple(each.read() for each in (*ptx, *amd))


def lowered(text: str, chip: str = "sm_90", file: str = "kernel.mlir") -> LaneProgram:
    """The only kernel of a module on ``scoped``."""
    ctx = context()
    module = LocatedParser(ctx, text, file).parse_module()
    PTXPipeline(chip).apply(ctx, module)
    (program,) = programs_of(module)
    return program


@cache
def example(name: str, chip: str = "sm_90") -> LaneProgram:
    """A kernel of the examples, as ``kernels/spin_lock``."""
    return lowered((EXAMPLES / f"{name}.mlir").read_text(), chip, f"{name}.mlir")


def of_ptx(body: str, parameters: str = "64", before: str = "", block: str = "") -> LaneProgram:
    """A kernel written in ``ptx``."""
    size = f", block_size = array<i32: {block}>" if block else ""
    text = (
        f'{before}\nptx.kernel @kernel attributes {{target = "sm_90", version = "8.6", '
        f"parameters = array<i64: {parameters}>{size}}} {{\n{body}\n}}\n"
    )
    (program,) = programs_of(LocatedParser(context(), text, "kernel.mlir").parse_module())
    return program


def run(
    program: LaneProgram,
    grid: int | tuple[int, int, int],
    block: int,
    arguments: Sequence[ArgumentValue],
    *,
    limit: int = LIMIT,
    resident: int | None = None,
    **more: Any,
) -> tuple[Memory, list[Executed]]:
    """Memory after a launch, and what was executed."""
    groups = (grid, 1, 1) if isinstance(grid, int) else grid
    launch = Launch(groups, (block, 1, 1), tuple(arguments), **more)
    found: list[Executed] = []
    memory = execute(
        program,
        launch,
        allocate(program, launch),
        found.append,
        limit=limit,
        resident=resident,
    )
    return memory, found


def executions(program: LaneProgram, found: Sequence[Executed]) -> dict[str, int]:
    """How often waves executed each instruction, by its text."""
    counts: dict[str, int] = {}
    for each in found:
        text = program.instructions[each.instruction].text
        counts[text] = counts.get(text, 0) + len(each.groups)
    return counts
