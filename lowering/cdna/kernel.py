"""The kernel around the instructions: kernarg layout, kernel descriptor and metadata, as text.

Source: LLVM AMDGPUUsage, "Code Object V5 Metadata", "Kernel Descriptor" and "AMDHSA Assembler
Directives"; certified by llvm-mc in tests/unit/test_cdna_kernel.py.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from fencewright.lowering.cdna.chips import CHIPS, ChipRow
from fencewright.lowering.vocabulary import FastStrEnum

CODE_OBJECT_VERSION = 5
"""The oldest version whose metadata the emitted kernels need; every ROCm since 5.3 loads it."""

GENERIC_CODE_OBJECT_VERSION = 6
"""The oldest with generic targets (LLVM AMDGPUUsage, Code Object V6)."""

METADATA_VERSION = (1, 2)
"""The version of the metadata of code object versions 5 and 6."""


DEFAULT_WAVE, _SMALL_WAVE = 64, 32
"""Lanes of a wave, where the descriptor says nothing and where it says wavefront_size32."""

USER_REGISTERS = (
    ("private_segment_buffer", 4), ("dispatch_ptr", 2), ("queue_ptr", 2),
    ("kernarg_segment_ptr", 2), ("dispatch_id", 2), ("flat_scratch_init", 2),
    ("private_segment_size", 1),
)  # fmt: skip
"""Scalar registers that are set up if the descriptor says so (``user_sgpr_`` before the name), in
their order, with the number of each. Source: LLVM AMDGPUUsage, SGPR initial state."""

WORK_ITEM_ID_BITS = 10
"""Bits of each work-item id where they are packed. Source: LLVM AMDGPUUsage, VGPR initial state."""


class ArgumentKind(FastStrEnum):
    """The kind of a kernel argument: plain data, a pointer to memory, or to LDS of the launch."""

    VALUE = "value"
    GLOBAL = "global"
    LOCAL = "local"


_VALUE_KIND = {
    ArgumentKind.VALUE: "by_value",
    ArgumentKind.GLOBAL: "global_buffer",
    ArgumentKind.LOCAL: "dynamic_shared_pointer",
}


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument; ``size`` in bytes, which is also its alignment up to 8."""

    name: str
    size: int
    kind: ArgumentKind


def argument_offsets(sizes: Iterable[int]) -> tuple[tuple[int, ...], int]:
    """The offset of each argument in the kernarg segment, and the size of the segment."""
    offsets: list[int] = []
    end = 0
    for size in sizes:
        offset = _align(end, _alignment(size))
        offsets.append(offset)
        end = offset + size
    return tuple(offsets), _align(end, 4)


def _alignment(size: int) -> int:
    return min(16, 1 << (size - 1).bit_length())


def _align(value: int, alignment: int) -> int:
    return -(-value // alignment) * alignment


@dataclass(frozen=True, slots=True)
class EntryRegisters:
    """The registers that hold a kernel's initial values; None for values that it did not request.

    Numbers of the first scalar register of the scratch resource (4), the kernarg segment
    pointer (2), each work-group id (1) and the wave's scratch offset (1); of the vector
    registers of the work-item ids. Source: LLVM AMDGPUUsage, Initial Kernel Execution State.
    """

    resource: int | None
    kernarg: int
    workgroup_ids: tuple[int, ...]
    scratch_offset: int | None
    user_sgprs: int
    packed_workitem_ids: bool


def entry_registers(chip: str, workgroup_ids: int, uses_scratch: bool) -> EntryRegisters:
    """The registers at the start of a kernel with so many work-group ids."""
    row = CHIPS[chip]
    resource_size = row.scratch.resource_registers if uses_scratch else 0
    user = resource_size + 2
    requested = 0 if row.ready_workgroup_ids else workgroup_ids
    ids = tuple(user + dimension for dimension in range(requested))
    return EntryRegisters(
        resource=0 if resource_size else None,
        kernarg=resource_size,
        workgroup_ids=ids,
        scratch_offset=user + workgroup_ids if resource_size else None,
        user_sgprs=user,
        packed_workitem_ids=row.packed_workitem_ids,
    )


@dataclass(frozen=True, slots=True)
class CdnaKernel:
    """Everything about a kernel but its instructions; sizes in bytes.

    ``workgroup_ids`` and ``workitem_ids`` count dimensions from x on; ``vgprs`` and ``sgprs``
    are the registers used; ``blocks`` the lines of each basic block, ``targets`` the numbers
    of those that need a label; ``cluster_size`` the work-groups of a cluster in x, y and z;
    ``named_barriers`` the highest number of one.
    """

    name: str
    chip: str
    tgsplit: bool
    arguments: tuple[Argument, ...]
    group_segment_size: int
    private_segment_size: int
    uses_scratch: bool
    workgroup_ids: int
    workitem_ids: int
    max_workgroup_size: int
    vgprs: int
    sgprs: int
    blocks: Sequence[Sequence[str]] = field(repr=False)
    targets: frozenset[int] = frozenset()
    cluster_size: tuple[int, ...] | None = None
    named_barriers: int = 0

    @property
    def chip_row(self) -> ChipRow:
        """The row of its chip."""
        return CHIPS[self.chip]


def is_symbol(name: str) -> bool:
    """True if the assembler reads ``name`` as a symbol without quotation marks."""
    return re.fullmatch(r"[A-Za-z_.$][\w.$]*", name, re.ASCII) is not None


def kernel_text(kernel: CdnaKernel) -> str:
    """The function, its descriptor, without the file's head and metadata."""
    return "".join((*_function(kernel), *_descriptor(kernel)))


def block_label(kernel: str, number: int) -> str:
    """The label of a basic block."""
    return f".L{kernel}_bb{number}"


def _function(kernel: CdnaKernel) -> Iterable[str]:
    name = kernel.name
    yield f"\t.text\n\t.globl\t{name}\n\t.p2align\t8\n\t.type\t{name},@function\n{name}:\n"
    for line in kernel.chip_row.first_lines:
        yield f"\t{line}\n"
    for number, block in enumerate(kernel.blocks):
        if number in kernel.targets:
            yield f"{block_label(name, number)}:\n"
        for line in block:
            yield f"\t{line}\n"
    yield f".L{name}_end:\n\t.size\t{name}, .L{name}_end-{name}\n"


def _descriptor(kernel: CdnaKernel) -> Iterable[str]:
    _, kernarg_size = argument_offsets(each.size for each in kernel.arguments)
    chip = kernel.chip_row
    entry = entry_registers(kernel.chip, kernel.workgroup_ids, kernel.uses_scratch)
    yield '\t.section\t.rodata,"a",@progbits\n\t.p2align\t6\n'
    yield f"\t.amdhsa_kernel {kernel.name}\n"
    values: dict[str, int] = {
        "group_segment_fixed_size": kernel.group_segment_size,
        "private_segment_fixed_size": kernel.private_segment_size,
        "kernarg_size": kernarg_size,
        "user_sgpr_count": entry.user_sgprs,
        "user_sgpr_kernarg_segment_ptr": 1,
    }
    if chip.scratch.resource_registers:
        values["user_sgpr_private_segment_buffer"] = int(kernel.uses_scratch)
    values[chip.scratch.enable] = int(kernel.uses_scratch)
    for number, dimension in enumerate("xyz"):
        values[f"system_sgpr_workgroup_id_{dimension}"] = int(number < kernel.workgroup_ids)
    values["system_vgpr_workitem_id"] = max(kernel.workitem_ids - 1, 0)
    values["next_free_vgpr"] = max(kernel.vgprs, 1)
    values["next_free_sgpr"] = max(kernel.sgprs, 1)
    if chip.vector_registers.unified:
        values["accum_offset"] = _align(max(kernel.vgprs, 1), 4)
    if chip.split_mode is not None:
        values[chip.split_mode.directive] = int(kernel.tgsplit)
    if chip.named_barriers is not None and kernel.named_barriers:
        values["named_barrier_count"] = chip.named_barriers.groups(kernel.named_barriers)
    if chip.wave_size != DEFAULT_WAVE:
        values["wavefront_size32"] = int(chip.wave_size == _SMALL_WAVE)
    yield from (f"\t\t.amdhsa_{name} {value}\n" for name, value in values.items())
    yield "\t.end_amdhsa_kernel\n"


def module_text(target_id: str, kernels: Sequence[CdnaKernel]) -> str:
    """A complete assembly file for ``llvm-mc -triple=amdgcn-amd-amdhsa -mcpu=<chip>``.

    What ``target_id`` sets has to be set there too, as ``-mattr=+sramecc,-xnack``.
    """
    target = f"amdgcn-amd-amdhsa--{target_id}"
    chip = CHIPS.get(target_id.partition(":")[0])
    generic = chip is not None and chip.generic
    version = GENERIC_CODE_OBJECT_VERSION if generic else CODE_OBJECT_VERSION
    head = f'\t.amdgcn_target "{target}"\n\t.amdhsa_code_object_version {version}\n'
    return head + "".join(kernel_text(each) for each in kernels) + _metadata(target, kernels)


def _metadata(target: str, kernels: Sequence[CdnaKernel]) -> str:
    lines = ["amdhsa.kernels:"]
    for kernel in kernels:
        lines += _kernel_metadata(kernel)
    lines += [f"amdhsa.target: {target}", "amdhsa.version:"]
    lines += [f"  - {number}" for number in METADATA_VERSION]
    body = "\n".join(lines)
    return f"\t.amdgpu_metadata\n---\n{body}\n...\n\t.end_amdgpu_metadata\n"


_NOT_STRINGS = frozenset({"true", "false", "nan", "inf", "infinity"})
"""Names that LLVM's reader of metadata parses as other values, even in quotation marks."""


def _metadata_string(text: str) -> str:
    return f"!str {text}" if text.lower() in _NOT_STRINGS else text


def _kernel_metadata(kernel: CdnaKernel) -> list[str]:
    offsets, kernarg_size = argument_offsets(each.size for each in kernel.arguments)
    lines = ["  - .args:" + ("" if kernel.arguments else " []")]
    for argument, offset in zip(kernel.arguments, offsets, strict=True):
        lines += [
            f"      - .name: {_metadata_string(argument.name)}",
            f"        .offset: {offset}",
            f"        .size: {argument.size}",
            f"        .value_kind: {_VALUE_KIND[argument.kind]}",
        ]
        if argument.kind is not ArgumentKind.VALUE:
            lines.append(f"        .address_space: {argument.kind}")
        if argument.kind is ArgumentKind.LOCAL:
            lines.append("        .pointee_align: 16")
    values: dict[str, int | str] = {
        "group_segment_fixed_size": kernel.group_segment_size,
        "kernarg_segment_align": max((8, *(_alignment(each.size) for each in kernel.arguments))),
        "kernarg_segment_size": kernarg_size,
        "max_flat_workgroup_size": kernel.max_workgroup_size,
        "name": _metadata_string(kernel.name),
        "private_segment_fixed_size": kernel.private_segment_size,
        "sgpr_count": kernel.sgprs,
        "sgpr_spill_count": 0,
        "symbol": f"{kernel.name}.kd",
        "uses_dynamic_stack": "false",
        "vgpr_count": kernel.vgprs,
        "vgpr_spill_count": 0,
        "wavefront_size": kernel.chip_row.wave_size,
    }
    lines += [f"    .{name}: {value}" for name, value in values.items()]
    if kernel.cluster_size is not None:
        lines += ["    .cluster_dims:", *(f"      - {n}" for n in kernel.cluster_size)]
    return lines
