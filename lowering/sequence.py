"""Requests to a lowering and its answers: targets, requests, instructions, sequences."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from fencewright.lowering.vocabulary import (
    AddressSpace,
    Availability,
    Compat,
    L2PerAgent,
    Operation,
    Ordering,
    Phase,
    RmwKind,
    Scope,
    ValueType,
)

if TYPE_CHECKING:
    from fencewright.lowering.costs import Cost


class UnsupportedError(ValueError):
    """A request that has no lowering: the request, the reason, and the accepted ones."""

    def __init__(self, requested: str, reason: str, accepted: tuple[str, ...] = ()):
        self.requested = requested
        self.reason = reason
        self.accepted = accepted
        hint = f"; accepted: {', '.join(accepted)}" if accepted else ""
        super().__init__(f"{requested}: {reason}{hint}")


def is_ptx(chip: str) -> bool:
    """True if a chip's instructions are PTX's; else they are CDNA's."""
    return chip.startswith("sm_")


@dataclass(frozen=True, slots=True)
class Target:
    """The target of a lowering: a chip, and the options that decide its sequences.

    ``features``: what is switched on (tgsplit), and what is promised of single operations.
    ``l2_per_agent`` and ``compat`` are for CDNA only, ``ptx_version``, as (major, minor), for PTX
    only; None: the lowest with all that the chip has. ``lowering.targets`` parses the words of a
    user to one. Whether the chip has a feature is for its rows to say.
    """

    chip: str
    features: frozenset[str] = frozenset()
    l2_per_agent: L2PerAgent = L2PerAgent.MANY
    ptx_version: tuple[int, int] | None = None
    compat: Compat | None = None

    @property
    def tgsplit(self) -> bool:
        """True if it is in CDNA's threadgroup split mode."""
        return "tgsplit" in self.features

    def promising(self, *features: str) -> "Target":
        """The same with more features."""
        return replace(self, features=self.features.union(features)) if features else self

    @property
    def is_ptx(self) -> bool:
        """True if its instructions are PTX's; else they are CDNA's."""
        return is_ptx(self.chip)

    def __str__(self) -> str:
        """A name that is also good for a file: ``gfx942-tgsplit-one-l2``, ``sm_90-ptx8.6``."""
        parts = [self.chip, *sorted(self.features)]
        if self.l2_per_agent is L2PerAgent.ONE:
            parts.append("one-l2")
        if self.ptx_version is not None:
            parts.append("ptx{}.{}".format(*self.ptx_version))
        return "-".join(parts)


@dataclass(frozen=True, slots=True)
class Request:
    """One scoped operation to lower, every choice spelled out.

    ``space`` is None for fences and barriers only. ``spaces`` limits what an ordered
    operation orders (None: everything that can be shared). ``one_as`` orders each
    address space on its own but not one against another (LLVM's ``-one-as``).
    ``width`` in bits. ``type``: what the value is, of that width; None: an integer, or for the
    floating-point kinds f32 or f64. ``elementwise``: each number of a packed value need only be
    updated atomically by itself, not the value as a whole. ``target`` has no chip where the
    request is yet to be put to one.
    """

    op: Operation
    ordering: Ordering
    scope: Scope
    space: AddressSpace | None
    failure_ordering: Ordering | None = None
    returns: bool = True
    kind: RmwKind = RmwKind.ADD
    width: int = 32
    volatile: bool = False
    nontemporal: bool = False
    one_as: bool = False
    spaces: frozenset[AddressSpace] | None = None
    availability: Availability = Availability.FULL
    target: Target = Target("")
    type: ValueType | None = None
    elementwise: bool = False

    def put(self, **fields: Any) -> "Request":
        """The same with other fields; itself if the fields are equal, which is mostly so."""
        if all(getattr(self, name) is value for name, value in fields.items()):
            return self
        return replace(self, **fields)

    def __str__(self) -> str:
        """The request as one would write it, for messages."""
        kind = f" {self.kind}" if self.op is Operation.ATOMIC_RMW else ""
        failure = f" {self.failure_ordering}" if self.failure_ordering else ""
        where = f" on {self.space}" if self.space else ""
        type_ = self.type or f"i{self.width}"
        whole = " elementwise" if self.elementwise else ""
        size = f" {type_}{whole}" if self.op.is_access else ""
        features = "".join(f" +{feature}" for feature in sorted(self.target.features))
        scope = "" if self.ordering is Ordering.WEAK else f" {self.scope}"
        return f"{self.op}{kind} {self.ordering}{failure}{scope}{size}{where}{features}"


class WaitCounts(NamedTuple):
    """The greatest number of operations that may still be outstanding; None: any number.

    A chip has the first two counters, the first three, or all the others
    (``lowering.cdna.chips.Counter``).
    """

    vmcnt: int | None = None
    lgkmcnt: int | None = None
    vscnt: int | None = None
    loadcnt: int | None = None
    storecnt: int | None = None
    dscnt: int | None = None
    kmcnt: int | None = None
    xcnt: int | None = None
    asynccnt: int | None = None
    tensorcnt: int | None = None
    samplecnt: int | None = None
    bvhcnt: int | None = None

    @property
    def given(self) -> Mapping[str, int]:
        """The counters that are waited for, by name, with their counts."""
        return _given(self)

    def __or__(self, other: "WaitCounts") -> "WaitCounts":
        """The wait that satisfies both."""
        return WaitCounts(*map(_stricter, self, other))

    def only(self, counters: Iterable[str]) -> "WaitCounts":
        """The part of it that concerns ``counters``."""
        wanted = frozenset(counters)
        return WaitCounts(**{name: n for name, n in self.given.items() if name in wanted})

    def __bool__(self) -> bool:
        """True if there is anything to wait for."""
        return self != _NO_COUNTS

    def __str__(self) -> str:
        """As the operand of ``s_waitcnt`` writes it."""
        return " ".join(f"{name}({n})" for name, n in self.given.items())


_NO_COUNTS = WaitCounts()


@cache
def _given(counts: WaitCounts) -> Mapping[str, int]:
    named = zip(WaitCounts._fields, counts, strict=True)
    return MappingProxyType({name: n for name, n in named if n is not None})


def _stricter(a: int | None, b: int | None) -> int | None:
    if a is None:
        return b
    return a if b is None else min(a, b)


class Placeholder(NamedTuple):
    """A part of a line that its user fills in: a register, a label, an offset.

    ``part`` is the part of it that is meant, as ``.lo``, ``[1]`` or ``+4``.
    """

    name: str
    part: str = ""

    def __str__(self) -> str:
        return f"{{{self.name}{self.part}}}"


Operand = tuple[str | Placeholder, ...]
"""An operand: places, and the text around them."""

_COMMA = re.compile(r",\s*")
_PLACE = re.compile(r"\{(\w+)([^{}]*)\}")


@cache
def operands(written: str) -> tuple[Operand, ...]:
    """The operands that a row or a line writes as ``{dst}, [{addr}], -4``."""
    return tuple(map(_operand, _COMMA.split(written))) if written else ()


def _operand(written: str) -> Operand:
    # Text, then a name, a part and text for each place.
    first, *rest = _PLACE.split(written)
    pieces: list[str | Placeholder] = [first]
    for name, part, text in zip(*[iter(rest)] * 3, strict=True):
        pieces += (Placeholder(name, part), text)
    return tuple([each for each in pieces if each != ""])


@cache
def _listed(operands: tuple[Operand, ...]) -> str:
    """Operands as they are written, with their places in braces."""
    return ", ".join(["".join(map(str, each)) for each in operands])


@dataclass(frozen=True, slots=True)
class Line:
    """One line of code: an instruction, or a label, which is an operand without a mnemonic.

    ``modifiers`` are the cache policy bits that it carries; ``wait`` is set for a wait; ``guard``
    is the predicate under which it is executed.
    """

    mnemonic: str
    operands: tuple[Operand, ...] = ()
    modifiers: tuple[str, ...] = ()
    wait: WaitCounts | None = None
    guard: Operand = ()

    @property
    def places(self) -> tuple[Placeholder, ...]:
        """The places in its operands, in order."""
        return tuple(
            [
                piece
                for o in (self.guard, *self.operands)
                for piece in o
                if isinstance(piece, Placeholder)
            ]
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its places, in order."""
        return tuple([place.name for place in self.places])

    @property
    def text(self) -> str:
        """Assembly, with named operand places in braces (``{dst}``, ``{addr}``, ``{data}``)."""
        guard = f"@{_listed((self.guard,))}" if self.guard else ""
        return self._with(guard, _listed(self.operands))

    def filled(self, fill: Callable[[Placeholder], str]) -> str:
        """Assembly, with the text of ``fill`` in each place."""

        def text(operand: Operand) -> str:
            return "".join(
                [fill(each) if isinstance(each, Placeholder) else each for each in operand]
            )

        guard = f"@{text(self.guard)}" if self.guard else ""
        return self._with(guard, ", ".join(map(text, self.operands)))

    def _with(self, guard: str, operands: str) -> str:
        # A wait of one counter or two has its operand; one of a gfx9 chip names its counters.
        if self.wait is not None and not self.operands:
            operands = str(self.wait)
        return " ".join(filter(None, (guard, self.mnemonic, operands, *self.modifiers)))

    def with_places(self, changed: Mapping[Placeholder | str, Placeholder | str]) -> Self:
        """The same line with other places, or text in place of them."""
        operands = tuple([tuple([changed.get(p, p) for p in each]) for each in self.operands])
        return self if operands == self.operands else replace(self, operands=operands)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Instruction(Line):
    """One instruction of a sequence; ``source`` says where the rule is written."""

    phase: Phase = field(kw_only=True)
    source: str = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class Sequence:
    """The instructions that a request lowers to, in order of execution.

    ``remarks`` say where the target had to be given something wider than was asked. ``chip``: the
    one that they are for.
    """

    instructions: tuple[Instruction, ...]
    remarks: tuple[str, ...] = ()
    chip: str = field(default="", compare=False)

    @property
    def cost(self) -> "Cost":
        """The price of all together, in the unit of the chip's prices."""
        from fencewright.lowering.costs import cost_of_sequence

        # This module is known by two names where it is checked by its path.
        instructions: tuple[Any, ...] = self.instructions
        return cost_of_sequence(self.chip, instructions)

    @property
    def text(self) -> str:
        """One instruction a line."""
        return "\n".join(each.text for each in self.instructions)

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        # Here, for notebooks alone show it.
        from fencewright.lowering.notebook import html_table

        rows = ((each.phase, each.text, each.source) for each in self.instructions)
        return html_table(f"{self.chip}: {self.cost}", ("phase", "instruction", "source"), rows)
