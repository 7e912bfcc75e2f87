"""AMD assembly as llvm-objdump lists it: functions, labels, instructions.

An assembler leaves of ``s_add_u32 s4, s4, target - here`` a number. Added to what ``s_getpc_b64`` gives
it is an address again. If an instruction of the function is there, that gets a label, and the number is
the label again. Forms: LLVM's far branches and those of ROCm's Tensile, in straight code.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from fencewright.checker.cdna_text import (
    Assembly,
    AssemblyInstruction,
    AssemblyLabel,
    Function,
    Operand,
    Registers,
    read_instruction,
    without_comment,
)

_SYMBOL = re.compile(r"<([^>]+)>:")
_LISTED = re.compile(r"L\d+")
_BRANCH = re.compile(r"^\s+s_c?branch\w*\s+(\S+)", re.M)
_ADDRESS = re.compile(r"// ([0-9A-F]{12}):")
_PADDING = ("s_nop", "s_code_end")
_LEAVES = re.compile(r"s_(endpgm|branch|setpc|set_pc|swappc|swap_pc|call|trap)\w*")


def read_disassembly(
    text: str,
    chip: str,
    file: str = "<string>",
    symbols: Mapping[str, str] | None = None,
    descriptors: Mapping[str, Mapping[str, int]] = MappingProxyType({}),
) -> Assembly:
    """The functions of what ``llvm-objdump -d --symbolize-operands --no-leading-addr`` prints.

    ``symbols``: those at which functions begin, with their names; none: whatever looks like one.
    ``descriptors``: what is known of those of kernels, by name.
    """
    bodies: dict[str, list[AssemblyLabel | AssemblyInstruction]] = {}
    body: list[AssemblyLabel | AssemblyInstruction] | None = None
    addresses: dict[int, int] = {}
    # Hand-written assembly has labels that are symbols, too: what is branched to, or run into.
    targets = set(_BRANCH.findall(text))
    for number, raw in enumerate(text.splitlines(), 1):
        line = without_comment(raw)
        if found := _SYMBOL.fullmatch(line):
            name = found[1]
            own = _LISTED.fullmatch(name) or name in targets or _goes_on(body)
            if body is not None and (name not in symbols if symbols else own):
                body.append(AssemblyLabel(name, number))
            else:
                body = bodies.setdefault(symbols.get(name, name) if symbols else name, [])
        elif body is not None and line and raw[0].isspace() and not line.startswith("."):
            body.append(read_instruction(line, number))
            if address := _ADDRESS.search(raw):
                addresses[number] = int(address[1], 16)
    functions = {
        name: Function(
            name,
            _with_labels(body, addresses),
            MappingProxyType(dict(descriptors.get(name, {}))),
            (),
            file,
            chip=chip,
        )
        for name, body in bodies.items()
    }
    return Assembly(chip, MappingProxyType(functions))


def _goes_on(body: Sequence[AssemblyLabel | AssemblyInstruction] | None) -> bool:
    """Whether control runs out of the end of what has been read."""
    code = [each for each in (body or ())[-64:] if isinstance(each, AssemblyInstruction)]
    last = next((each for each in reversed(code) if each.mnemonic not in _PADDING), None)
    return last is not None and _LEAVES.fullmatch(last.mnemonic) is None


_MASK = 0xFFFFFFFF
_ADDS = ("s_add_u32", "s_add_i32")
_CARRIES = ("s_addc_u32", "s_subb_u32")

_Body = Sequence[AssemblyLabel | AssemblyInstruction]


@dataclass(frozen=True, slots=True)
class _Value:
    """What a register has: the low half of an address or a distance, and where its number stands.

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
    """What an addition makes of a known value and a number, or of two of either."""
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
