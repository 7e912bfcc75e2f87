"""Kernels of AMD GPUs as their lanes run them: of a module on ``cdna``, and of assembly files."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from fencewright.lowering.cdna.code.text import (
    Assembly,
    AssemblyInstruction,
    Function,
    check_whole,
    read_assembly,
)
from fencewright.lowering.cdna.code.variables import Variable, read_variables
from fencewright.lowering.code.source_location import SourceLocation
from fencewright.lowering.vocabulary import L2PerAgent
from fencewright.simulator.execution.program import LaneProgram
from fencewright.simulator.kernels.amd.kernel import Places, program_of, with_calls
from fencewright.simulator.kernels.lane_kernel import LaneKernel

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from fencewright.mlir_dialects.cdna import KernelOp


def kernels_of_assembly(
    text: str, file: str, l2_per_agent: L2PerAgent | None = None
) -> Iterator[LaneKernel]:
    """The kernels of an assembly file. Raises ``AssemblyError``."""
    assembly = read_assembly(text, file)
    check_whole(text, file)
    yield from kernels_of_code(assembly, text, read_variables(text), file, l2_per_agent)


def kernels_of_code(
    assembly: Assembly, text: str, variables: Mapping[str, Variable], file: str,
    l2_per_agent: L2PerAgent | None = None,
) -> Iterator[LaneKernel]:  # fmt: skip
    """The kernels of code that is read; ``text``: where it was read from, line by line."""
    lines = text.splitlines()

    def place_of(instruction: AssemblyInstruction) -> SourceLocation:
        line = lines[instruction.line - 1]
        return SourceLocation(file, instruction.line, line.find(instruction.mnemonic) + 1)

    for each in assembly.functions.values():
        if each.descriptor:
            yield _kernel(each, assembly.functions, l2_per_agent, place_of, variables)


def _kernel(
    function: Function, functions: Mapping[str, Function], l2_per_agent: L2PerAgent | None,
    place_of: Places, variables: Mapping[str, Variable],
) -> LaneKernel:  # fmt: skip
    return LaneKernel(
        function.name,
        function.chip,
        lambda: program_of(with_calls(function, functions), l2_per_agent, place_of, variables),
    )


def kernels_of_module(
    module: "ModuleOp", l2_per_agent: L2PerAgent | None = None
) -> Iterator[LaneKernel]:
    """Every ``cdna.kernel`` of a module, whose instructions are where their operations are."""
    from fencewright.mlir_dialects.cdna import KernelOp
    from fencewright.passes.analysis.control_flow import top_level

    for op in top_level(module):
        if isinstance(op, KernelOp):
            yield LaneKernel(op.sym_name.data, op.chip.data, lambda op=op: _read(op, l2_per_agent))


def _read(kernel: "KernelOp", l2_per_agent: L2PerAgent | None) -> LaneProgram:
    from fencewright.passes.print.assembly import place_of
    from fencewright.passes.print.cdna import print_kernel

    printed = print_kernel(kernel)

    def place_in(instruction: AssemblyInstruction) -> SourceLocation | None:
        return place_of(printed.operations[instruction.line])

    ((function),) = read_assembly(printed.text).functions.values()
    return replace(program_of(function, l2_per_agent, place_in), name=kernel.sym_name.data)
