"""Effects of instructions of LLVM IR on memory, as far as synchronisation depends on them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from fencewright.lowering.llvm.intrinsics.lookup import row_of
from fencewright.lowering.llvm.intrinsics.row import CallKind, Place, ZeroBits
from fencewright.lowering.sequence import Target
from fencewright.lowering.targets import parse_target
from fencewright.lowering.vocabulary import AddressSpace
from fencewright.mlir_dialects.llvm_ir.dialect import FuncOp, InstOp, TerminatorOp

_ACCESS = re.compile(r"(load|store) (?!atomic|volatile)")
_CALL = re.compile(r"(?:(?:tail|musttail|notail) )?call [^@\"(]*(?:\([^@\"]*\) )?@(llvm\.[\w.]+)\(")
_PURE_ASSEMBLY = re.compile(r"(?:tail )?call [^@\"]*\basm (?!sideeffect|inteldialect|alignstack)\"")
_CLOBBERS_MEMORY = "~{memory}"
_POINTER = re.compile(r"(?:<[0-9]+ x )?ptr(?: addrspace\(([0-9]+)\))?(?=[ >]|$)")
_BRACKETS = re.compile(r"\"[^\"]*\"|[(<\[{]|[)>\]}]|,")
_KERNEL = re.compile(r"define (?:[a-z_]+ )*(?:amdgpu_kernel|ptx_kernel) ")
"""A header as far as its calling convention: only bare words come before that."""


@dataclass(frozen=True, slots=True)
class MemoryEffects:
    """The effects of an instruction that is carried as text: the kind of call, and address spaces.

    ``reads``, ``writes``: the address spaces of its accesses; generic where they are not known.
    """

    kind: CallKind
    reads: frozenset[AddressSpace] = frozenset()
    writes: frozenset[AddressSpace] = frozenset()

    @property
    def spaces(self) -> frozenset[AddressSpace]:
        """All that it accesses."""
        return self.reads | self.writes


NOTHING = MemoryEffects(CallKind.NOTHING)
ANYTHING = MemoryEffects(CallKind.OTHER)


def memory_of(op: Operation) -> MemoryEffects:
    """The effects of ``op`` on memory; NOTHING for operations of other dialects, which have their
    own.

    Loads, stores and intrinsics with a row in ``lowering.llvm.intrinsics`` are known. Source: LLVM
    LangRef.
    """
    kind = type(op)
    if kind is not InstOp and kind is not TerminatorOp:
        return NOTHING
    carried = cast(InstOp | TerminatorOp, op)
    return _memory_of(carried.text.data) if carried.may_access_memory else NOTHING


@lru_cache(maxsize=1 << 14)
def _memory_of(text: str) -> MemoryEffects:
    if access := _ACCESS.match(text):
        # A load's first operand is its type; a store's second one is the pointer.
        found = frozenset({_space_of(_operands(text, access.end())[1])})
        return MemoryEffects(CallKind.ACCESS, **{_DOES[access[1]]: found})
    if call := _CALL.match(text):
        return _memory_of_call(call[1], _operands(text, call.end()))
    if _PURE_ASSEMBLY.match(text) and _CLOBBERS_MEMORY not in text:
        return NOTHING  # What has no side effects LLVM may leave out, or repeat.
    return ANYTHING


_DOES = {"load": "reads", "store": "writes"}


def _memory_of_call(name: str, operands: list[str]) -> MemoryEffects:
    row = row_of(name)
    if row is None:
        return ANYTHING
    reads, writes = (
        frozenset(_space_at(place, operands) for place in each) for each in (row.reads, row.writes)
    )
    if _is_zero(row.plain_if, operands):
        return MemoryEffects(row.kind, reads, writes)
    # An operation that both reads and writes is no atomic access: that would be one of both.
    if row.kind is not CallKind.ACCESS or (reads and writes):
        return ANYTHING
    return MemoryEffects(CallKind.ATOMIC, reads, writes)


def _operands(text: str, start: int) -> list[str]:
    """The texts between commas up to the closing bracket, or to the end."""
    found: list[str] = []
    depth = 0
    for each in _BRACKETS.finditer(text, start):
        if each[0] == "," and not depth:
            found.append(text[start : each.start()].strip())
            start = each.end()
        elif each[0] in "(<[{":
            depth += 1
        elif each[0] in ")>]}":
            depth -= 1
            if depth < 0:
                return [*found, text[start : each.start()].strip()]
    return [*found, text[start:].strip()]


def _space_at(place: Place, operands: list[str]) -> AddressSpace:
    return place if isinstance(place, AddressSpace) else _space_of(operands[place])


def _space_of(pointer: str) -> AddressSpace:
    """The address space of an operand; generic for one that the vocabulary does not have."""
    found = _POINTER.match(pointer)
    number = int(found[1] or 0) if found else 0
    return _SPACES.get(number, AddressSpace.GENERIC)


_SPACES = {each.number: each for each in AddressSpace if each is not AddressSpace.SHARED_CLUSTER}
"""By LLVM's numbers. AMD's 7 is a buffer, and NVIDIA's is shared memory."""


def _is_zero(bits: ZeroBits | None, operands: list[str]) -> bool:
    """True if the ``bits`` of an operand are known to be zero."""
    if bits is None:
        return True
    value = operands[bits.operand].rpartition(" ")[2]
    number = _WORDS.get(value, value)
    return re.fullmatch(r"-?[0-9]+", number) is not None and not int(number) & bits.mask


_WORDS = {"false": "0", "true": "1"}


def is_kernel(function: FuncOp) -> bool:
    """True if a thread begins and ends with the function: by its calling convention.

    Source: LLVM LangRef, Functions and Calling Conventions.
    """
    return _KERNEL.match(function.text.data) is not None


def lowered_functions(module: ModuleOp) -> Iterator[tuple[FuncOp, Target]]:
    """The functions that have been lowered for CDNA, each with the target."""
    for function in module.ops:
        if isinstance(function, FuncOp) and (options := function.lowered_for) is not None:
            yield function, parse_target(**options)


def unknown_in(function: FuncOp) -> Iterator[Operation]:
    """The instructions of a function that may do anything, or go on after the wave has."""
    return (op for op in function.walk() if memory_of(op).kind in _BEYOND)


_BEYOND = frozenset({CallKind.OTHER, CallKind.ASYNC})
