"""AMD assembly as llvm-objdump lists it: functions, labels, instructions.

An assembler leaves of ``s_add_u32 s4, s4, target - here`` a number. Added to what ``s_getpc_b64``
gives it is an address again. If an instruction of the function is there, that gets a label, and the
number is the label again. Forms: LLVM's far branches and those of ROCm's Tensile, in straight code.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from fencewright.lowering.cdna.code.text import (
    INDIRECT,
    Assembly,
    AssemblyInstruction,
    AssemblyLabel,
    Function,
    Operand,
    Registers,
    falls_through,
    read_instruction,
    without_comment,
)
from fencewright.lowering.code.source_location import AssemblyError, SourceLine

_SYMBOL = re.compile(r"<([^>]+)>:")
_SECTION = "Disassembly of section"
_DESCRIPTOR = ".kd"
_ZEROS = "..."
"""Stands for zeros that fill the rest."""
_LISTED = re.compile(r"L\d+")
_BRANCH = re.compile(r"^[ \t]+s_c?branch\w*[ \t]+(\S+)", re.M)
_ENCODED_BRANCH = re.compile(r"^\s+s_c?branch\w*\s.*// [0-9A-F]{12}: ([0-9A-F]{8})$")
_ADDRESS = re.compile(r"// ([0-9A-F]{12}):")
_READERS_OF_PLACE = ("s_getpc_b64", "s_get_pc_i64")
"""Instructions that give the address of the next one."""


def read_disassembly(
    text: str,
    chip: str,
    file: str = "<string>",
    symbols: Mapping[str, str] | None = None,
    descriptors: Mapping[str, Mapping[str, int]] = MappingProxyType({}),
    untyped: Collection[str] = (),
) -> Assembly:
    """The functions in a print of ``llvm-objdump -d --symbolize-operands --no-leading-addr``.

    ``symbols``: those at which functions begin, with their names; none: whatever looks like one.
    ``untyped``: those at which functions begin if nothing else leads there. ``descriptors``: what
    is known of those of kernels, by name.
    """
    # Hand-written assembly has labels that are symbols, too: what is branched to, or run into.
    targets = set(_BRANCH.findall(text))
    listed, addresses, branches = _listed(text)
    computed = {address for _, address in _computed(listed, addresses)}
    bodies: dict[str, list[AssemblyLabel | AssemblyInstruction]] = {}
    body: list[AssemblyLabel | AssemblyInstruction] | None = None
    after = _next_addresses(listed, addresses)
    # By an address that is not known control may get to any label.
    has_jumps = any(
        INDIRECT.match(each.text) for each in listed if isinstance(each, AssemblyInstruction)
    )
    for each in listed:
        if isinstance(each, AssemblyInstruction):
            if body is not None:
                body.append(each)
        elif each.name == _SECTION:
            body = None
        elif each.name.endswith(_DESCRIPTOR):
            body = None  # In a section of code, where nothing runs it.
        else:
            name = each.name
            leads = _LISTED.fullmatch(name) or name in targets or falls_through(body)
            if symbols:
                leads = leads or after.get(each.line) in computed
                leads = leads or (has_jumps and name not in untyped)
            if body is not None and leads and not (symbols and name in symbols):
                body.append(each)
            else:
                name = (symbols or {}).get(name, name)
                body = bodies.setdefault(name, [])
                if body:
                    problem = f"'{name}' is there twice: give one object at a time"
                    raise AssemblyError(f"{file}:{each.line}: error: {problem}")
    functions = {
        name: Function(
            name,
            _with_labels(_to_its_begin(name, body, addresses, branches), addresses),
            MappingProxyType(dict(descriptors.get(name, {}))),
            (),
            file,
            chip=chip,
        )
        for name, body in bodies.items()
    }
    return Assembly(chip, MappingProxyType(functions))


def addresses_in(text: str) -> dict[int, int]:
    """The address of each instruction of a listing, by its line."""
    found = ((number, _ADDRESS.search(line)) for number, line in enumerate(text.split("\n"), 1))
    return {number: int(address[1], 16) for number, address in found if address}


def at_sources(
    assembly: Assembly, sources: Mapping[int, SourceLine], files: Mapping[int, str]
) -> Assembly:
    """The assembly with the places that its lines were compiled from; ``files`` by number."""
    functions = {
        name: replace(
            function,
            body=tuple(
                replace(each, source=sources.get(each.line))
                if isinstance(each, AssemblyInstruction)
                else each
                for each in function.body
            ),
        )
        for name, function in assembly.functions.items()
    }
    return replace(assembly, functions=MappingProxyType(functions), files=files)


def _listed(
    text: str,
) -> tuple[list[AssemblyLabel | AssemblyInstruction], dict[int, int], dict[int, int]]:
    """Symbols, sections and instructions in their order; the addresses of instructions by line, and
    of branches where they lead.

    What is no instruction is one that is not known (``.long``).
    """
    listed: list[AssemblyLabel | AssemblyInstruction] = []
    addresses: dict[int, int] = {}
    branches: dict[int, int] = {}
    for number, raw in enumerate(text.split("\n"), 1):
        line = without_comment(raw)
        if found := _SYMBOL.fullmatch(line):
            listed.append(AssemblyLabel(found[1], number))
        elif raw.startswith(_SECTION):
            listed.append(AssemblyLabel(_SECTION, number))
        elif line and raw[0].isspace() and line != _ZEROS:
            instruction = read_instruction(line, number)
            if address := _ADDRESS.search(raw):
                addresses[number] = at = int(address[1], 16)
                if instruction.mnemonic in _READERS_OF_PLACE:
                    instruction = replace(instruction, address=at)
                if found := _ENCODED_BRANCH.search(raw):
                    distance = int(found[1], 16) & 0xFFFF
                    branches[number] = at + 4 + 4 * (distance - (distance >> 15 << 16))
            listed.append(instruction)
    return listed, addresses, branches


def _to_its_begin(
    name: str,
    body: Sequence[AssemblyLabel | AssemblyInstruction],
    addresses: Mapping[int, int],
    branches: Mapping[int, int],
) -> list[AssemblyLabel | AssemblyInstruction]:
    """``body`` with the function's name in branches to its begin, for which llvm-objdump prints no
    label."""
    first = next((each for each in body if isinstance(each, AssemblyInstruction)), None)
    begin = None if first is None else addresses.get(first.line)
    labels = {each.name for each in body if isinstance(each, AssemblyLabel)}
    return [
        replace(each, operands=(name,))
        if isinstance(each, AssemblyInstruction)
        and begin is not None
        and branches.get(each.line) == begin
        and labels.isdisjoint(map(str, each.operands))
        else each
        for each in body
    ]


def _next_addresses(
    listed: Sequence[AssemblyLabel | AssemblyInstruction], addresses: Mapping[int, int]
) -> dict[int, int]:
    """By the line of a label, the address of the instruction after it."""
    found: dict[int, int] = {}
    address: int | None = None
    for each in reversed(listed):
        if isinstance(each, AssemblyInstruction):
            address = addresses.get(each.line, address)
        elif address is not None:
            found[each.line] = address
    return found


_MASK = 0xFFFFFFFF
_ADDS = ("s_add_u32", "s_add_i32")
_CARRIES = ("s_addc_u32", "s_subb_u32")

_Body = Sequence[AssemblyLabel | AssemblyInstruction]


@dataclass(frozen=True, slots=True)
class _Value:
    """The value of a register: a low half of an address or a distance, and the place of its number.

    ``literal``: the line of that instruction, and which operand it is.
    """

    number: int
    is_address: bool = False
    literal: tuple[int, int] | None = None


def _with_labels(
    body: _Body, addresses: Mapping[int, int]
) -> tuple[AssemblyLabel | AssemblyInstruction, ...]:
    """``body`` with labels for the addresses that it computes; ``addresses``: by line."""
    at = {address: line for line, address in addresses.items()}
    literals: dict[tuple[int, int], str] = {}
    targets: dict[int, str] = {}
    for literal, address in _computed(body, addresses):
        line = at.get(address)
        if line is not None:
            literals[literal] = targets.setdefault(line, f".Lfar_{address:x}")
    return tuple(_labelled(body, literals, targets)) if literals else tuple(body)


def _computed(body: _Body, addresses: Mapping[int, int]) -> Iterator[tuple[tuple[int, int], int]]:
    """The places of numbers, and the addresses that are computed from them."""
    known: dict[str, _Value] = {}
    after = dict(zip(addresses, list(addresses.values())[1:], strict=False))
    for each in body:
        if isinstance(each, AssemblyLabel):
            known = {}
        elif each.mnemonic == "s_getpc_b64" and each.line in after:
            register = _low(each.operands[0])
            known = {register: _Value(after[each.line] & _MASK, is_address=True)}
        elif known and each.mnemonic in _ADDS:
            register = _low(each.operands[0])
            made = _sum(each, known)
            known.pop(register, None)
            if made is None:
                continue
            known[register] = made
            if made.is_address and made.literal is not None:
                yield made.literal, made.number
        elif each.mnemonic not in _CARRIES:
            known = {}


def _low(operand: Operand) -> str:
    return operand.names[0] if isinstance(operand, Registers) else ""


def _sum(instruction: AssemblyInstruction, known: Mapping[str, _Value]) -> _Value | None:
    """The sum of a known value and a number, or of two of either."""
    number, is_address, literal = 0, False, None
    for place, operand in enumerate(instruction.operands[1:], 1):
        if isinstance(operand, int):
            value = _Value(operand, literal=(instruction.line, place) if literal is None else None)
        elif isinstance(operand, Registers) and operand.names[0] in known:
            value = known[operand.names[0]]
        else:
            return None
        number, is_address = number + value.number, is_address or value.is_address
        literal = literal or value.literal
    return _Value(number & _MASK, is_address, literal)


def _labelled(
    body: _Body, literals: Mapping[tuple[int, int], str], targets: Mapping[int, str]
) -> Iterator[AssemblyLabel | AssemblyInstruction]:
    for each in body:
        if isinstance(each, AssemblyInstruction):
            if each.line in targets:
                yield AssemblyLabel(targets[each.line], each.line)
            operands = tuple(
                literals.get((each.line, place), operand)
                for place, operand in enumerate(each.operands)
            )
            each = replace(each, operands=operands)
        yield each
