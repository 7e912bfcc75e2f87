"""Operands of PTX as Python expressions: registers are locals, all others their meanings."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from fencewright.lowering.ptx.code.statements import element_of
from fencewright.lowering.ptx.code.text import PtxFunction
from fencewright.simulator.semantics.operands import (
    DERIVED,
    LANE,
    OF_AXES,
    LaneValue,
    literal,
    terms_of,
)
from fencewright.simulator.semantics.operands import SPECIAL as SPECIAL_VALUES
from fencewright.simulator.semantics.python import written
from fencewright.simulator.semantics.term import Term, operand
from fencewright.simulator.threads.state import WARP
from fencewright.simulator.threads.unknown import NotExecuted

_TEXTS: Mapping[LaneValue, str] = {
    **{value: f"T.t{value[-1]}" for value in OF_AXES["tid"]},
    **{value: f"T.block.c{value[-1]}" for value in OF_AXES["ctaid"]},
    **{
        value: f"M.{of}[{at}]"
        for name, of in (("ntid", "block"), ("nctaid", "grid"), ("cluster_nctaid", "cluster"))
        for at, value in enumerate(OF_AXES[name])
    },
    LaneValue.RANK: "T.rank",
    LaneValue.LANE: "T.lane",
    LaneValue.WAVE: f"(T.index // {WARP})",
    LaneValue.WAVES: f"(-(-len(T.block.threads) // {WARP}))",
    LaneValue.GROUP: "T.block.number",
    LaneValue.GROUPS: "len(M.blocks)",
    LaneValue.DYNAMIC_SHARED: "M.dynamic_size",
    LaneValue.SHARED: "M.shared_size",
    LaneValue.RESERVED: "(T.rank << 24 | reserved_at(M.shared_size))",
    LaneValue.CLOCK: "M.clock()",
}
_OWN = {
    **{
        name: str(value) if isinstance(value, int) else _TEXTS[value]
        for name, value in SPECIAL_VALUES.items()
    },
    **dict.fromkeys(("%clock", "%globaltimer_lo"), "(M.clock() & 0xFFFFFFFF)"),
    # Of a cooperative launch, as each one may be here.
    "%envreg1": "(M.workspace() >> 32)",
    "%envreg2": "(M.workspace() & 0xFFFFFFFF)",
}


def _derived(formula: Callable[..., Term], sources: Sequence[str]) -> str:
    terms = [operand(at, 5 if each == LANE else 32) for at, each in enumerate(sources)]
    return written([formula(*terms)], [_OWN[each] for each in sources])[1][0]


SPECIAL = {**_OWN, **{name: _derived(*each) for name, each in DERIVED.items()}}
"""All special registers as Python."""

_NO_NAME = re.compile(r"\W", re.ASCII)


def spelt(name: str) -> str:
    """A name of PTX as a part of one of Python: of an input nothing else comes into the source."""
    return _NO_NAME.sub(lambda found: f"_{ord(found[0]):x}_", name)


def python_name(register: str) -> str:
    """A register as a local variable."""
    return "r_" + spelt(register.lstrip("%"))


def code_name(function: PtxFunction, is_kernel: bool) -> str:
    """A function as one of Python."""
    return "entry" if is_kernel else f"f_{spelt(function.name)}"


@dataclass(slots=True)
class Operands:
    """The operands of one function; ``places``: the variables by name, as expressions."""

    function: PtxFunction
    places: Mapping[str, str]
    registers: set[str] = field(default_factory=set[str])

    def register(self, text: str) -> str:
        """A register that is written or read."""
        name = python_name(text)
        self.registers.add(name)
        return name

    def width(self, register: str) -> int:
        """The bits of a register; 0 for any other operand."""
        type = self.function.type_of(register)
        element = element_of(type) if type else None
        return 0 if element is None else 1 if element[0] == "pred" else element[1] * element[2]

    def value(self, text: str, type: str) -> str:
        """An operand that is read as a type, as unsigned bits.

        Raises ``NotExecuted`` for a name that is not known.
        """
        if text.startswith("!"):
            return f"({self.value(text[1:].strip(), type)} ^ 1)"
        if self.function.type_of(text) is not None:
            return self.register(text)
        if text in SPECIAL:
            return SPECIAL[text]
        if text == "_":
            return "0"
        found = literal(text, type)
        return self.sum(text) if found is None else str(found)

    def sum(self, text: str) -> str:
        """An address: the name of a variable or a register, and the offset."""
        names, offset = terms_of(text)
        terms = list(map(self._term, names))
        if offset or not terms:
            terms.append(str(offset))
        return terms[0] if len(terms) == 1 else f"({' + '.join(terms)})"

    def _term(self, name: str) -> str:
        if self.function.type_of(name) is not None:
            return self.register(name)
        if name in self.places:
            return self.places[name]
        if name in SPECIAL:
            return SPECIAL[name]
        raise NotExecuted(f"'{name}' is neither a register nor a variable")

    def address(self, text: str) -> str:
        """An address in brackets."""
        return self.sum(text)
