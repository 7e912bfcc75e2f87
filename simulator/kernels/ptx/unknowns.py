"""Values that waves do not have: results of matrix operations, and values computed from them.

They are zeros here. Counts of a kernel are right none the less where no address, size, guard or
barrier depends on one; of memory all is unknown that may be where one is stored.
"""

from collections.abc import Iterator

from fencewright.lowering.code.effects import Access, Kind
from fencewright.lowering.ptx.code.pointers import Pointers
from fencewright.lowering.ptx.code.statements import OperandRole, Statement, names_in
from fencewright.lowering.ptx.code.text import PtxFunction
from fencewright.lowering.vocabulary import AddressSpace

MATRICES = frozenset(
    {"mma", "wmma mma", "wgmma mma_async", "wgmma mma_async sp", "ldmatrix", "movmatrix"}
    | {f"tcgen05 {name}" for name in ("alloc", "dealloc", "mma", "cp", "shift", "ld", "st")}
)
"""The operations whose results are not computed."""

_ONE_SPACE = {
    AddressSpace.SHARED_CLUSTER: AddressSpace.LOCAL,
    AddressSpace.CONSTANT: AddressSpace.GLOBAL,
}
_ADDRESSES = frozenset({OperandRole.READ, OperandRole.WRITE, OperandRole.UPDATE})
_COMPUTING = frozenset({Kind.COMPUTE, Kind.LANES})
_ACCESSING = frozenset({Kind.LOAD, Kind.STORE, Kind.RMW})
_Place = tuple[AddressSpace | None, str]
"""A state space, None for any, and a variable or parameter of it, "" for any."""


class Unknowns:
    """The registers and places of a function that may have an unknown value, with its origin."""

    def __init__(self, function: PtxFunction, pointers: Pointers) -> None:
        self._pointers = pointers
        self._registers: dict[str, str] = {}
        self._memory: dict[_Place, str] = {}
        statements = [each.statement for each in function.instructions]
        if not any(each.operation in MATRICES for each in statements):
            return
        known = -1
        # Origins are only added, and there are no more than registers and places.
        while known < len(self._registers) + len(self._memory):
            known = len(self._registers) + len(self._memory)
            for each in statements:
                self._follow(each)

    def _follow(self, statement: Statement) -> None:
        origin = self._origin(statement)
        if not origin:
            return
        for name in statement.defines:
            self._registers.setdefault(name, origin)
        for access in statement.accesses:
            if access.writes:
                for place in self._places(access):
                    self._memory.setdefault(place, origin)

    def _origin(self, statement: Statement) -> str:
        """The matrix operation that a result may come of; "" if there is none."""
        if statement.operation in MATRICES:
            return statement.opcode.name
        for name in statement.uses:
            if name in self._registers:
                return self._registers[name]
        for access in statement.accesses:
            if access.reads:
                for place in self._places(access):
                    found = [of for at, of in self._memory.items() if _meet(place, at)]
                    if found:
                        return found[0]
        return ""

    def _places(self, access: Access) -> Iterator[_Place]:
        space = None if access.space is None else _ONE_SPACE.get(access.space, access.space)
        for base in self._pointers.of(access.address) or ("",):
            yield space, base

    def of(self, name: str) -> str:
        """The origin of a register's value; "" for a known one."""
        return self._registers.get(name, "")

    def needed_by(self, statement: Statement) -> str:
        """The origin of a value that an instruction cannot be executed without; or ""."""
        names = [*names_in(statement.guard)]
        if statement.kind in _ACCESSING:
            for role, operand in statement.roles:
                if role in _ADDRESSES:
                    names += names_in(operand)
        elif statement.kind not in _COMPUTING and statement.operation not in MATRICES:
            names += statement.uses
        return next((self._registers[each] for each in names if each in self._registers), "")


def _meet(one: _Place, other: _Place) -> bool:
    """True of places that may be the same."""
    same_space = None in (one[0], other[0]) or one[0] is other[0]
    return same_space and ("" in (one[1], other[1]) or one[1] == other[1])
