"""Programs as LLVM IR for NVPTX, lowered, compiled by LLVM, and executed as the PTX that comes of it."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm

from fencewright.lowering.vocabulary import AddressSpace
from fencewright.mlir_dialects.llvm_ir.parser import llvm_module
from fencewright.simulator.litmus_run import Run, run
from fencewright.simulator.source.events import ScopedProgram
from fencewright.tools.fuzz.llvm_ir import in_registers
from fencewright.tools.fuzz.llvm_ir_writer import (
    RESULT_BYTES,
    KernelForm,
    arguments,
    groups,
    kernel_name,
    result_registers,
    written,
)
from fencewright.tools.inputs.litmus.harness import read_with_harness
from fencewright.tools.inputs.litmus.lowered import Lowering

_FORM = KernelForm(results=True)
_WORDS = (
    ("amdgcn-amd-amdhsa", "nvptx64-nvidia-cuda"),
    ("amdgpu_kernel", "ptx_kernel"),
    ('syncscope("agent")', 'syncscope("device")'),
    # PTX has nothing narrower than a work-group.
    ('syncscope("workgroup")', 'syncscope("block")'),
    ('syncscope("wavefront")', 'syncscope("block")'),
    ("@llvm.amdgcn.s.barrier()", "@llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)"),
)
_RESULT = re.compile(r"ptr addrspace\(1\) %results, i64 (\d+)")


def as_nvptx(program: ScopedProgram) -> str:
    """The program as LLVM IR for NVPTX: a kernel for each work-group, with a pointer for each result."""
    text = in_registers(written(program, _FORM))
    for theirs, ours in _WORDS:
        text = text.replace(theirs, ours)
    text = re.sub(r"^(declare .*)i32 0", r"\1i32", text, flags=re.MULTILINE)
    text = _RESULT.sub(
        lambda each: f"ptr addrspace(1) %out{int(each[1]) // RESULT_BYTES}, i64 0", text
    )
    outputs = ", ".join(f"ptr addrspace(1) %out{n}" for n in range(_most_results(program)))
    return text.replace("ptr addrspace(1) %results", outputs or "i32 %results")


def executed(
    program: ScopedProgram, lower: Callable[[str], str], chip: str, version: str, folder: Path
) -> Run:
    """What the program does as LLVM compiles what ``lower`` makes of it."""
    harness, kernels = folder / "harness.mlir", folder / "kernels.ptx"
    harness.write_text(_harness(program))
    kernels.write_text(compiled(lower(as_nvptx(program)), chip, version))
    (test,) = read_with_harness(str(kernels), str(harness), Lowering())
    return run(test)


def compiled(text: str, chip: str, version: str) -> str:
    """The PTX that LLVM makes of a module at -O2."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target: Any = llvm.Target.from_triple("nvptx64-nvidia-cuda")
    features = f"+ptx{version.replace('.', '')}"
    machine = target.create_target_machine(cpu=chip, features=features, opt=2)
    with llvm_module(text, "compiled") as module:
        return machine.emit_assembly(module)


def _most_results(program: ScopedProgram) -> int:
    return max(map(len, result_registers(program)))


def _harness(program: ScopedProgram) -> str:
    registers, most = result_registers(program), _most_results(program)
    lines = [f"litmus.kernel @{kernel_name(group)}" for group in groups(program)]
    lines.append("litmus.test @program {")
    for each in program.locations:
        local = each.space is AddressSpace.LOCAL
        place = f" in local {{workgroup = {each.workgroup} : i64}}" if local else ""
        lines.append(f"  litmus.location @{each.name} = {each.initial} : i32{place}")
    conditions: list[str] = []
    for number, thread in enumerate(program.threads):
        place = thread.placement
        given = [f'"{name}"' for name in registers[number]]
        # Nothing is stored through what no result is for.
        given += [f'"r{100 + n}"' for n in range(most - len(given))]
        names = [f"@{name}" for name, _ in [*arguments(program, _FORM)][:-2]]
        values = ", ".join([*names, *(given or ["0 : i32"]), f"{number} : i32"])
        lines.append(
            f"  litmus.thread @P{number} at <workgroup = {place.workgroup}, agent = {place.agent}> "
            f"runs @{kernel_name(place.workgroup)}({values})"
        )
        conditions += [f"P{number}:{name} = 0" for name in registers[number]]
    conditions += [f"{each.name} = 0" for each in program.locations]
    condition = r" /\\ ".join(conditions)
    return "\n".join([*lines, f'  litmus.condition "exists ({condition})"', "}", ""])
