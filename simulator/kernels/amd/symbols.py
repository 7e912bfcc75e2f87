"""Variables that a kernel of AMD assembly uses, where they lie, and pointers to them.

``s_getpc_b64`` and a sum with ``name@rel32`` make an address, one with ``name@gotpcrel32`` that
of a pointer. Each number, of gfx1250 one of 64 bits (``name@rel64``), is relative to its own place.
In a linked code object code and variables lie as they are loaded, and each number is a distance.
Source: LLVM AMDGPUUsage, "Relocation Records".
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fencewright.lowering.cdna.code.text import AssemblyInstruction
from fencewright.lowering.cdna.code.variables import IMAGE, SYMBOL, Variable
from fencewright.simulator.execution.launch import BASE, VARIABLES
from fencewright.simulator.execution.program import GlobalVariable

_CODE = 4
"""The bytes of an instruction, after which its number comes. Source: MI300 ISA 12, SOP2."""


@dataclass(frozen=True, slots=True)
class Symbols:
    """The variables of a kernel; ``addresses``: of them and of pointers to them."""

    addresses: Mapping[tuple[str, bool], int]
    variables: tuple[GlobalVariable, ...]

    def distance(self, operand: str, after: int) -> int | None:
        """The address, or its half, that an operand adds to 0, the address of code.

        ``after``: the bytes from there to the instruction. None for what is no variable.
        """
        found = SYMBOL.fullmatch(operand)
        if found is None:
            return None
        address = self.addresses.get(_named(found))
        if address is None:
            return None
        half = found["half"]
        whole = address + int(found["addend"] or 0) - after - _CODE
        if half is None:
            return whole
        return whole & 0xFFFFFFFF if half == "lo" else whole >> 32 & 0xFFFFFFFF

    def place_after(self, instruction: AssemblyInstruction) -> int | None:
        """The address after an instruction of a linked code object."""
        image = self.addresses.get((IMAGE, False))
        if image is None or instruction.address is None:
            return None
        return image + instruction.address + _CODE


def _named(found: re.Match[str]) -> tuple[str, bool]:
    """The symbol of an operand, and whether it is a pointer to it."""
    return found["name"].strip('"'), found["pointer"] is not None


def symbols_of(
    instructions: Sequence[AssemblyInstruction], variables: Mapping[str, Variable]
) -> Symbols:
    """The variables that instructions and such variables name, of those that are known."""
    named = {
        _named(found): None
        for each in instructions
        for operand in each.operands
        if isinstance(operand, str) and (found := SYMBOL.fullmatch(operand)) is not None
    }
    if any(each.address is not None for each in instructions):
        named[(IMAGE, False)] = None
    used = {key: None for key in named if key[0] in variables}
    queue = [*used]
    while queue:
        name, is_pointer = queue.pop()
        of_data = () if is_pointer else variables[name].addresses.values()
        further = [(name, False)] if is_pointer else [(other, False) for other, _ in of_data]
        for key in further:
            if key not in used and key[0] in variables:
                used[key] = None
                queue.append(key)
    known = [key for key in used if key[1] or variables[key[0]].data is not None]
    addresses = {key: VARIABLES + number * BASE for number, key in enumerate(known)}
    return Symbols(addresses, tuple(_initial(addresses, variables)))


def _initial(
    addresses: Mapping[tuple[str, bool], int], variables: Mapping[str, Variable]
) -> Iterator[GlobalVariable]:
    for (name, is_pointer), address in addresses.items():
        if is_pointer:
            pointed = addresses.get((name, False), 0)
            yield GlobalVariable(f"pointer to {name}", address, pointed.to_bytes(8, "little"))
            continue
        variable = variables[name]
        data = bytearray(variable.data or b"")
        for at, (other, offset) in variable.addresses.items():
            value = addresses.get((other, False), 0) + offset
            data[at : at + 8] = (value & (1 << 64) - 1).to_bytes(8, "little")
        yield GlobalVariable(name, address, bytes(data))
