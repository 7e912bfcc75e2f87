"""Places of the accesses of a PTX function: variables and offsets, as far as its text has them.

An address is followed through moves, conversions and sums with constants to the variable or the
register that it begins with. Registers that are written more than once are not looked into.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from functools import cached_property
from itertools import islice

from fencewright.lowering.code.effects import Access, Kind, Proxy
from fencewright.lowering.code.graph import walk
from fencewright.lowering.code.records import record
from fencewright.lowering.ptx.code.statements import SILENT_CALLEES, Statement, names_in, number
from fencewright.lowering.ptx.code.text import PtxFile, PtxFunction, PtxInstruction, PtxVariable
from fencewright.lowering.vocabulary import AddressSpace

_COPIES = frozenset({"mov", "cvta", "cvt"})
_DEPTH = 200
"""The largest number of instructions through which an address is followed."""
_MBARRIER = 8
"""The bytes of an mbarrier."""
_SHARED = (AddressSpace.LOCAL, AddressSpace.SHARED_CLUSTER)
_OF_VARIABLE: Mapping[str, AddressSpace] = {
    "shared": AddressSpace.LOCAL,
    "global": AddressSpace.GLOBAL,
    "const": AddressSpace.CONSTANT,
    "local": AddressSpace.PRIVATE,
}


def _is_from_shared(words: Sequence[str]) -> bool:
    return "to" not in words and any(each.startswith("shared") for each in words)


class Overlap(IntEnum):
    """The overlap of the bytes of two accesses."""

    NO = 0
    MAYBE = 1
    SURE = 2


@record()
class Place:
    """The place of an access: ``offset`` bytes after ``root``, a variable or a register.

    ``variables``: those that the address is computed from; ``exact``: by constants alone.
    """

    root: str
    offset: int
    size: int | None
    exact: bool
    variables: frozenset[str]
    space: AddressSpace | None

    @property
    def may_be_global(self) -> bool:
        """True if it may be in global memory."""
        return self.space is None or self.space is AddressSpace.GLOBAL


class Places:
    """The places of a function's accesses."""

    def __init__(self, file: PtxFile, function: PtxFunction):
        self.function = function
        used = (name for each in function.instructions for name in each.statement.uses)
        names = dict.fromkeys(used) if file.variables else ()
        self.variables: dict[str, PtxVariable] = {
            **{name: file.variables[name] for name in names if name in file.variables},
            **function.variables,
        }
        """Those of the function, and those of the file that it names."""
        self.parameters = {each.name for each in function.parameters}
        self._slices: dict[str, frozenset[str]] = {}
        self._known: dict[tuple[str, AddressSpace | None, int | None], Place] = {}

    @cached_property
    def written(self) -> Mapping[str, PtxInstruction | None]:
        """The instruction that writes each register; None of several."""
        written: dict[str, PtxInstruction | None] = {}
        for each in self.function.instructions:
            for register in each.statement.defines:
                written[register] = None if register in written else each
        return written

    def of(self, access: Access) -> Place:
        """The place of an access."""
        key = access.address, access.space, access.size
        if (known := self._known.get(key)) is None:
            known = self._known[key] = self._made(access)
        return known

    def _made(self, access: Access) -> Place:
        root, offset, exact = self._origin(access.address)
        variables = self._variables_of(access.address)
        space = access.space
        known = {_OF_VARIABLE.get(self.variables[each].space) for each in variables}
        if space is None and len(known) == 1:
            (space,) = known
        elif space is None and self.function.is_entry:
            # A pointer that a kernel gets from its host points to global memory; so does any other
            # one where nothing makes a generic address of the shared memory that a CTA has.
            if root in self.parameters or not self._has_generic_shared:
                space = AddressSpace.GLOBAL
        return Place(root, offset, access.size, exact, variables, space)

    @cached_property
    def _has_generic_shared(self) -> bool:
        """True where the function may make or get a generic address of shared memory.

        Source: PTX ISA, cvta; mapa.
        """
        return any(
            statement.kind is Kind.OPAQUE
            or statement.opcode.head == "mapa"
            or (statement.opcode.head == "call" and SILENT_CALLEES.isdisjoint(statement.operands))
            or (statement.opcode.head == "cvta" and _is_from_shared(statement.opcode.words))
            for statement in (each.statement for each in self.function.instructions)
        )

    def of_mbarrier(self, address: str) -> Place:
        """The place of an mbarrier."""
        generic, space = Proxy.GENERIC, AddressSpace.LOCAL
        return self.of(Access(address, True, True, generic, space, _MBARRIER))

    def is_remote(self, address: str) -> bool:
        """True if an address is of another CTA of the cluster: it comes from ``mapa``."""
        name = next(iter(names_in(address)), "")
        for _ in range(_DEPTH):
            made = self.written.get(name)
            if made is None:
                return False
            if made.statement.operation == "mapa":
                return True
            step = _step(made.statement)
            if step is None:
                return False
            name = step[0]
        return False

    def _origin(self, address: str) -> tuple[str, int, bool]:
        """The root of an address, the constant added to it, and whether that is all of it."""
        names = [*names_in(address)]
        if not names:
            return (address, 0, True)
        name, offset = names[0], _constant(address[address.index(names[0]) + len(names[0]) :])
        for _ in range(_DEPTH):
            if name in self.variables:
                return (name, offset, True)
            made = self.written.get(name)
            if made is None:
                break
            if made.statement.opcode.head == "ld" and made.statement.opcode.of_parameters:
                return (next(iter(names_in(made.statement.operands[1])), name), offset, False)
            step = _step(made.statement)
            if step is None:
                break
            name, offset = step[0], offset + step[1]
        return (name, offset, False)

    def _variables_of(self, address: str) -> frozenset[str]:
        """The variables that an address is computed from."""
        known = self._slices.get(address)
        if known is not None:
            return known

        def parts(name: str) -> Iterable[str]:
            made = self.written.get(name)
            return () if made is None or made.statement.accesses else made.statement.uses

        found = islice(walk(names_in(address), parts), _DEPTH)
        self._slices[address] = frozenset(name for name in found if name in self.variables)
        return self._slices[address]


def overlap(a: Place, b: Place) -> Overlap:
    """The overlap of two accesses of one CTA: no common byte, perhaps some, or surely some."""
    if a.space is not None and b.space is not None and not _same_memory(a.space, b.space):
        return Overlap.NO
    if a.variables and b.variables and not a.variables & b.variables:
        return Overlap.NO
    if a.root != b.root or not a.root:
        return Overlap.MAYBE
    if a.offset == b.offset:
        return Overlap.SURE
    first, second = (a, b) if a.offset < b.offset else (b, a)
    if first.size is None:
        return Overlap.MAYBE
    if first.offset + first.size > second.offset:
        return Overlap.SURE
    # A register may have another value the next time; a variable stays where it is.
    return Overlap.NO if a.exact and b.exact else Overlap.MAYBE


def _same_memory(a: AddressSpace, b: AddressSpace) -> bool:
    return a is b or (a in _SHARED and b in _SHARED)


def _step(statement: Statement) -> tuple[str, int] | None:
    """The register that a result is a copy of, with a constant added; None for anything else."""
    operands = statement.operands
    if statement.guard:
        return None
    if statement.operation in _COPIES and len(operands) == 2:
        return (operands[1], 0) if _is_name(operands[1]) else None
    if statement.operation == "mapa":
        return (operands[1], 0)
    if statement.operation == "add" and len(operands) == 3:
        added = number(operands[2])
        return None if added is None or not _is_name(operands[1]) else (operands[1], added)
    return None


def _is_name(text: str) -> bool:
    return [*names_in(text)] == [text]


def _constant(text: str) -> int:
    """The constant that is added to an address, from its text, as in ``+16`` or ``+-8``."""
    value = number(text.replace(" ", "").removeprefix("+"))
    return 0 if value is None else value
