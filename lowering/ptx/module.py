"""The text around PTX instructions: the module's head, its variables, and each kernel's entry.

Source: PTX ISA, "Directives"; certified by ptxas in tests/unit/test_ptx_assembly.py.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from fencewright.lowering.ptx.chip import Version
from fencewright.lowering.ptx.instructions import RegisterClass

_IDENTIFIER = re.compile(r"[A-Za-z][\w$]*|[_$%][\w$]+", re.ASCII)


def is_identifier(name: str) -> bool:
    """True if ``name`` can be an identifier of PTX. Source: PTX ISA, Identifiers."""
    return _IDENTIFIER.fullmatch(name) is not None


@dataclass(frozen=True, slots=True)
class Variable:
    """An array of bytes in shared memory; of size 0: as large as the launch says."""

    name: str
    size: int
    alignment: int

    @property
    def text(self) -> str:
        """The declaration."""
        place = f".shared .align {self.alignment} .b8 {self.name}"
        return f"{place}[{self.size}];" if self.size else f".extern {place}[];"


@dataclass(frozen=True, slots=True)
class PtxKernel:
    """A kernel: the widths of its parameters in bits, its registers, and its lines.

    ``block_size`` is what it must be launched with, None if it may be anything. ``registers``
    says how many of each kind there are, from 1. A line is a statement or a label.
    """

    name: str
    parameters: Sequence[int]
    block_size: tuple[int, ...] | None
    registers: Mapping[RegisterClass, int]
    lines: Sequence[str] = field(repr=False)


def parameter_name(kernel: str, number: int) -> str:
    """The name of a kernel's parameter; LLVM's choice."""
    return f"{kernel}_param_{number}"


def module_text(
    target: str, version: Version, variables: Iterable[Variable], kernels: Iterable[PtxKernel]
) -> str:
    """A complete file for ``ptxas -arch=<target>``."""
    head = f".version {version[0]}.{version[1]}\n.target {target}\n.address_size 64\n"
    declared = "".join(f"\n{each.text}" for each in variables)
    return f"{head}{declared}{declared and chr(10)}" + "".join(map(kernel_text, kernels))


def kernel_text(kernel: PtxKernel) -> str:
    """The entry with its parameters, registers and instructions."""
    parameters = ",\n".join(
        f"\t.param {_parameter_type(bits, parameter_name(kernel.name, n))}"
        for n, bits in enumerate(kernel.parameters)
    )
    text = [f"\n.visible .entry {kernel.name}(", f"\n{parameters}\n" if parameters else "", ")\n"]
    if kernel.block_size is not None:
        text.append(f".reqntid {', '.join(map(str, kernel.block_size))}\n")
    text.append("{\n")
    text += [
        f"\t.reg .{register} {register.prefix}<{count + 1}>;\n"
        for register in RegisterClass
        if (count := kernel.registers.get(register, 0))
    ]
    text += [f"{line}\n" if line.endswith(":") else f"\t{line}\n" for line in kernel.lines]
    text.append("}\n")
    return "".join(text)


def _parameter_type(bits: int, name: str) -> str:
    if bits > 64:
        return f".align {bits // 8} .b8 {name}[{bits // 8}]"
    return f".b{max(bits, 8)} {name}"
