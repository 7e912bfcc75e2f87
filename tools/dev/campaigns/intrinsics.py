"""Compares the rows of ``lowering.llvm.intrinsics`` with what an installed LLVM says of its
intrinsics.

``python -m fencewright.tools.dev.campaigns.intrinsics [LIBRARY]`` prints the intrinsics of
``libLLVM.so`` that have no row though they may touch memory, and where a row and LLVM differ;
``--declared`` prints what LLVM says of each. Exit status 1 if something has no row, or a row does
not say why it differs. Without LIBRARY, that of LLVM 22. For a newer LLVM it shows what that adds.
"""

import argparse
import ctypes
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from fencewright.lowering.llvm.intrinsics.lookup import row_of
from fencewright.lowering.llvm.intrinsics.row import CallKind, EffectRow
from fencewright.lowering.vocabulary import FastStrEnum
from fencewright.tools.llvm_tools import LLVM_HINT, find_llvm_tool

TARGETS = ("amdgcn", "nvvm")
"""The targets whose intrinsics have to have rows; of LLVM's own, some have."""


class Claim(FastStrEnum):
    """The effect of a call according to the memory attributes of its declaration."""

    NOTHING = "nothing"
    READS = "reads"
    WRITES = "writes"
    BOTH = "reads and writes"
    ANYTHING = "anything"


@dataclass(frozen=True, slots=True)
class Difference:
    """That a row says something else than LLVM, of the intrinsic ``name``."""

    row: EffectRow
    name: str
    llvm: Claim
    ours: Claim


def claim_of(attributes: str) -> Claim:
    """The claim of the ``attributes`` of a declaration; without ``memory(...)`` it may do anything.

    Memory that the program cannot access is none. Source: LLVM LangRef, memory(...).
    """
    said = re.search(r"memory\(([^)]*)\)", attributes)
    if said is None:
        return Claim.ANYTHING
    parts = [each.strip() for each in said[1].split(",")]
    does = {each.rpartition(": ")[2] for each in parts if not each.startswith("inaccessiblemem")}
    reads, writes = bool(does & {"read", "readwrite"}), bool(does & {"write", "readwrite"})
    return _CLAIMS[reads, writes]


_CLAIMS = {
    (False, False): Claim.NOTHING,
    (True, False): Claim.READS,
    (False, True): Claim.WRITES,
    (True, True): Claim.BOTH,
}
_SILENT = frozenset({CallKind.NOTHING, CallKind.WAIT})
_WEAK = frozenset({CallKind.ACCESS, CallKind.ASYNC})


def claim_of_row(row: EffectRow) -> Claim:
    """The claim of a row, in the words of attributes: they have none for atomics and barriers."""
    if row.kind in _SILENT:
        return Claim.NOTHING
    if row.kind in _WEAK:
        return _CLAIMS[bool(row.reads), bool(row.writes)]
    return Claim.ANYTHING


def without_row(declared: Mapping[str, str]) -> list[str]:
    """The intrinsics of the targets that may touch memory, as LLVM says, and have no row."""
    return [
        name
        for name, attributes in declared.items()
        if _is_of_target(name)
        and claim_of(attributes) is not Claim.NOTHING
        and row_of(name) is None
    ]


def _is_of_target(name: str) -> bool:
    return name.split(".")[1] in TARGETS


def differences(declared: Mapping[str, str]) -> Iterator[Difference]:
    """The rows that differ from LLVM."""
    for name, attributes in declared.items():
        row = row_of(name)
        if row is not None and claim_of(attributes) is not claim_of_row(row):
            yield Difference(row, name, claim_of(attributes), claim_of_row(row))


# LLVM


def llvm_library() -> Path | None:
    """The library of LLVM 22's programs; None where they are not installed, or have it in them."""
    program = find_llvm_tool("opt")
    if program is None:
        return None
    needs = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    found = re.search(r"libLLVM\S* => (\S+)", needs)
    return Path(found[1]) if found else None


_NAME = re.compile(rb"\0(llvm\.[A-Za-z0-9_.]*[A-Za-z0-9_])(?=\0)")


def names_in(library: Path) -> list[str]:
    """The intrinsics in the table of a library of LLVM that have to have a row, or have one."""
    found = {each[1].decode() for each in _NAME.finditer(library.read_bytes())}
    return sorted(name for name in found if _is_of_target(name) or row_of(name) is not None)


_MOST_TYPES = 12
"""More than any overloaded intrinsic has."""


def declared_by(library: Path, names: Iterable[str]) -> dict[str, str]:
    """The attributes of each of ``names`` that the library knows, as it prints them.

    Overloaded ones are declared for the first types that they accept: LLVM gives attributes to no
    others, and the same ones for all types.
    """
    llvm = ctypes.CDLL(str(library))
    pointer, number, size = ctypes.c_void_p, ctypes.c_uint, ctypes.c_size_t
    text = ctypes.c_char_p

    def function(name: str, result: Any, *arguments: Any) -> Any:
        found = getattr(llvm, name)
        found.restype, found.argtypes = result, arguments
        return found

    context = function("LLVMContextCreate", pointer)()
    new_module = function("LLVMModuleCreateWithNameInContext", pointer, text, pointer)
    end_module = function("LLVMDisposeModule", None, pointer)
    look_up = function("LLVMLookupIntrinsicID", number, text, size)
    overloaded = function("LLVMIntrinsicIsOverloaded", ctypes.c_int, number)
    declare = function(
        "LLVMGetIntrinsicDeclaration", pointer, pointer, number, ctypes.POINTER(pointer), size
    )
    print_value = function("LLVMPrintValueToString", pointer, pointer)
    dispose = function("LLVMDisposeMessage", None, pointer)
    of_context = ("Int32", "Float", "Half")
    types = [function(f"LLVM{each}TypeInContext", pointer, pointer)(context) for each in of_context]
    vector = function("LLVMVectorType", pointer, pointer, number)
    to_space = function("LLVMPointerTypeInContext", pointer, pointer, number)
    types += [to_space(context, space) for space in (0, 1, 3)]
    candidates = [*types, *(vector(element, 4) for element in types)]

    def attributes(intrinsic: int, given: Sequence[Any]) -> str:
        module = new_module(b"", context)
        made = declare(module, intrinsic, (pointer * len(given))(*given), len(given))
        printed = print_value(made)
        found = _ATTRIBUTES.search(ctypes.string_at(printed).decode())
        dispose(printed)
        end_module(module)
        return found[1] if found else ""

    declared: dict[str, str] = {}
    for name in names:
        intrinsic = look_up(name.encode(), len(name))
        if not intrinsic:
            continue
        tries: Iterable[Sequence[Any]] = _type_lists(candidates) if overloaded(intrinsic) else [()]
        declared[name] = next(filter(None, (attributes(intrinsic, each) for each in tries)), "")
    return declared


_ATTRIBUTES = re.compile(r"; Function Attrs: (.*)")


def _type_lists(candidates: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Types for an overloaded intrinsic: first one for all, then three with integers after them."""
    for each in candidates:
        yield [each] * _MOST_TYPES
    for first in product(candidates, repeat=3):
        yield [*first, *[candidates[0]] * (_MOST_TYPES - 3)]


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("library", nargs="?", type=Path, default=llvm_library())
    parser.add_argument("--declared", action="store_true", help="print what LLVM says of each")
    arguments = parser.parse_args()
    if arguments.library is None:
        print(f"error: no library of LLVM was found; {LLVM_HINT}", file=sys.stderr)
        return 2
    declared = declared_by(arguments.library, names_in(arguments.library))
    if arguments.declared:
        for name, attributes in declared.items():
            print(f"{name}\t{attributes}")
        return 0
    missing = without_row(declared)
    for name in missing:
        print(f"no row: {name} ({claim_of(declared[name])}, LLVM says)")
    unexplained = 0
    for each in differences(declared):
        unexplained += not each.row.unlike_llvm
        why = each.row.unlike_llvm or "the row does not say why"
        print(f"{each.name}: LLVM says {each.llvm}, we {each.ours}: {why}")
    return int(bool(missing or unexplained))


if __name__ == "__main__":
    sys.exit(main())
