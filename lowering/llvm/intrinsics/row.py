"""The fields of a row of intrinsics of LLVM IR: effects and patterns of names."""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from fencewright.lowering.evidence import Evidence
from fencewright.lowering.vocabulary import AddressSpace, FastStrEnum


class CallKind(FastStrEnum):
    """The effect of a call on other threads.

    ``NOTHING``: nothing that they could notice. ``WAIT``: it completes what its own thread has
    issued. ``ACCESS``: weak accesses, in order with the thread's others. ``ATOMIC``: accesses by
    which threads may synchronise. ``ASYNC``: weak accesses that go on after the call, to be waited
    for. ``BARRIER``: the execution barrier of the work-group. ``OTHER``: perhaps anything.
    """

    NOTHING = "nothing"
    WAIT = "wait"
    ACCESS = "access"
    ATOMIC = "atomic"
    ASYNC = "async"
    BARRIER = "barrier"
    OTHER = "other"


Place: TypeAlias = AddressSpace | int
"""The accessed memory: an address space, or the number of the operand whose pointer has it."""


@dataclass(frozen=True, slots=True)
class ZeroBits:
    """The bits ``mask`` of operand number ``operand``, which are zero where the row holds.

    Operands are counted from the last where ``operand`` is negative. They are constants; where
    some bit is set, what only reads or writes does so as an atomic; another may do anything.
    """

    operand: int
    mask: int


@dataclass(frozen=True)
class EffectRow:
    """The effects of the intrinsics called ``names``.

    ``names``: without ``llvm.``, words between dots; ``*`` is any one word, ``**`` any more of
    them,
    ``{a,b}`` one of several. The types that LLVM adds to the names of overloaded ones are not
    among them. ``reads``, ``writes``: what is accessed, by ``ACCESS``, ``ATOMIC`` and ``ASYNC``.
    ``plain_if``: what has to hold, or else accesses are of flags, see there. ``source``: where it
    is written; ``evidence``: how well it is known. ``unlike_llvm``: why what LLVM's attributes say
    is not to be believed, or says less; empty where they agree.
    """

    names: str
    kind: CallKind
    source: str
    reads: tuple[Place, ...] = ()
    writes: tuple[Place, ...] = ()
    plain_if: ZeroBits | None = None
    unlike_llvm: str = ""
    evidence: Evidence = Evidence.DOCUMENTED

    def __post_init__(self) -> None:
        if not self.source:
            raise ValueError(f"the row for {self.names} needs a source")
        accesses = self.kind in (CallKind.ACCESS, CallKind.ATOMIC, CallKind.ASYNC)
        if accesses != bool(self.reads or self.writes):
            raise ValueError(
                f"the row for {self.names} says what is accessed if, and only if, it is"
            )

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """A pattern of the names, with the types that LLVM adds."""
        words = "".join(_WORDS.get(piece, re.escape(piece)) for piece in _pieces(self.names))
        return re.compile(rf"llvm\.{words}{_TYPES}")

    def left_open(self, name: str) -> int | None:
        """The number of characters of ``name`` that ``*`` and ``**`` match; None if the row is not
        its."""
        found = self.pattern.fullmatch(name)
        return None if found is None else sum(map(len, found.groups()))


_WORDS = {"*": r"([^.]+)", "**": r"(.+)", "{": "(?:", ",": "|", "}": ")"}
_PIECE = re.compile(r"\*\*|[*{},]|[^*{},]+")
_TYPES = r"(?:\.(?:nx)?(?:v\d+)?(?:i\d+|f\d+|bf16|p\d+))*"
"""The suffix that LLVM adds to an overloaded name. Source: LLVM LangRef, Intrinsic Functions."""


def _pieces(names: str) -> list[str]:
    return _PIECE.findall(names)


def several(
    names: str, kind: CallKind, source: str, unlike_llvm: str = "", evidence: Evidence | None = None
) -> list[EffectRow]:
    """Rows without accesses for each of the ``names``, which are separated by spaces."""
    known = evidence or Evidence.DOCUMENTED
    return [
        EffectRow(each, kind, source, unlike_llvm=unlike_llvm, evidence=known)
        for each in names.split()
    ]
