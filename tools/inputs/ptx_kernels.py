"""Kernels as their lanes run them: of a module on ``ptx``, and of PTX files of any compiler."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fencewright.lowering.code.source_location import SourceLocation
from fencewright.lowering.ptx.code.text import PtxError, PtxFile, read_ptx
from fencewright.simulator.execution.launch import LaunchError
from fencewright.simulator.execution.program import LaneProgram
from fencewright.simulator.kernels.lane_kernel import LaneKernel
from fencewright.simulator.kernels.ptx.kernel import program_of

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from fencewright.mlir_dialects.ptx import KernelOp


def kernels_of_file(file: PtxFile) -> Iterator[LaneKernel]:
    """The kernels of a PTX file."""
    for each in file.functions.values():
        if each.is_entry:
            yield LaneKernel(each.name, file.target, lambda each=each: program_of(file, each))


def kernels_of_module(module: "ModuleOp") -> "Iterator[LaneKernel]":
    """Every ``ptx.kernel`` of a module, whose instructions are where their operations are."""
    from fencewright.mlir_dialects.ptx import KernelOp
    from fencewright.passes.analysis.control_flow import top_level

    for op in top_level(module):
        if isinstance(op, KernelOp):
            yield LaneKernel(op.sym_name.data, op.target.data, lambda op=op: _read(module, op))


def _read(module: "ModuleOp", kernel: "KernelOp") -> LaneProgram:
    from fencewright.mlir_dialects.ptx import VariableOp
    from fencewright.passes.analysis.control_flow import top_level
    from fencewright.passes.print.assembly import place_of
    from fencewright.passes.print.ptx import listing

    variables = [op for op in top_level(module) if isinstance(op, VariableOp)]
    printed = listing([kernel], variables)

    def place_in(line: int) -> SourceLocation | None:
        op = printed.operations.get(line)
        return None if op is None else place_of(op)

    try:
        file = read_ptx(printed.text, "")
    except PtxError as problem:
        raise LaunchError(problem.problem, place_in(problem.line)) from problem
    function = file.functions[kernel.sym_name.data]
    return program_of(file, function, lambda each: place_in(each.line))
