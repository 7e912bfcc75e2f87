"""Operands of PTX as Python expressions: registers are locals, all others their meanings."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from fencewright.lowering.ptx.code.statements import element_of
from fencewright.lowering.ptx.code.text import PtxFunction
from fencewright.simulator.semantics.operands import DERIVED, LANE, literal, terms_of
from fencewright.simulator.semantics.python import written
from fencewright.simulator.semantics.term import Term, operand
from fencewright.simulator.threads.state import WARP
from fencewright.simulator.threads.unknown import NotExecuted

_AXES = "xyz"
_OWN: Mapping[str, str] = {
    **{f"%tid.{axis}": f"T.t{axis}" for axis in _AXES},
    **{f"%ctaid.{axis}": f"T.block.c{axis}" for axis in _AXES},
    **{f"%ntid.{axis}": f"M.block[{at}]" for at, axis in enumerate(_AXES)},
    **{f"%nctaid.{axis}": f"M.grid[{at}]" for at, axis in enumerate(_AXES)},
    **{f"%cluster_nctaid.{axis}": f"M.cluster[{at}]" for at, axis in enumerate(_AXES)},
    "%cluster_ctarank": "T.rank",
    LANE: "T.lane",
    "%warpid": f"(T.index // {WARP})",
    "%nwarpid": f"(-(-len(T.block.threads) // {WARP}))",
    "%smid": "T.block.number",
    "%nsmid": "len(M.blocks)",
    "%gridid": "0",
    "%dynamic_smem_size": "M.shared_size",
    "%total_smem_size": "M.shared_size",
    **{f"%envreg{n}": "0" for n in range(32)},
    "%envreg1": "(M.workspace() >> 32)",
    "%envreg2": "(M.workspace() & 0xFFFFFFFF)",
    "WARP_SZ": "32",
    "%clock": "(M.clock() & 0xFFFFFFFF)",
    "%clock64": "M.clock()",
    "%clock_hi": "0",
    "%globaltimer": "M.clock()",
    "%globaltimer_lo": "(M.clock() & 0xFFFFFFFF)",
    "%globaltimer_hi": "0",
}
"""Special registers that are no functions of others. Source: PTX ISA, "Special Registers"."""


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
