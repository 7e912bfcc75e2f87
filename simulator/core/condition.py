r"""Final conditions of litmus tests, and the outcome sets that they are judged on.

Shared by every model. A condition is ``exists``, ``~exists`` or ``forall`` followed by a
formula over final registers and final memory::

    exists (P1:r1 == 1 /\ ~(P1:r2 == 0 \/ x != 2))

``P1:r1`` and ``1:r1`` are register r1 of thread 1, a bare name (or ``[x]``) is a location. At its
end ``may hang`` says that some execution never ends, on purpose.
``=`` and ``==`` mean the same; ``and``, ``or``, ``not`` stand for the symbols. Final values
are unsigned words: a negative number stands for its word. Source of the form: herd7 and Dat3M
litmus tests.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple

from fencewright.simulator.core.words import TOO_WIDE, WORD_MASK, parse_word


class LitmusError(Exception):
    """A litmus test that cannot be read; prints as ``file:line:col: error: message``.

    ``line`` and ``column`` count from 1.
    """

    def __init__(self, file: str, line: int, column: int, message: str):
        self.file = file
        self.line = line
        self.column = column
        self.message = message
        super().__init__(f"{file}:{line}:{column}: error: {message}")


@dataclass(frozen=True, slots=True)
class SourceText:
    """The text of a file, which turns an offset into an error with its position."""

    text: str
    file: str = "<litmus>"

    def error(self, offset: int, message: str) -> LitmusError:
        """The error ``message`` at character ``offset``."""
        before = self.text[:offset]
        line = before.count("\n") + 1
        return LitmusError(self.file, line, offset - before.rfind("\n"), message)


class Register(NamedTuple):
    """A thread's register, as part of a final state."""

    thread: int
    name: str

    def __str__(self) -> str:
        return f"P{self.thread}:{self.name}"


class Memory(NamedTuple):
    """A location, as part of a final state."""

    location: str

    def __str__(self) -> str:
        return self.location


Observable = Register | Memory
State = Mapping[Observable, int | None]


def observable_order(observable: Observable) -> tuple[int, int, str]:
    """A sort key: registers by thread and name, then locations."""
    if isinstance(observable, Register):
        return (0, observable.thread, observable.name)
    return (1, 0, observable.location)


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Every final state that a program can reach.

    ``states`` has for each final state the values of ``observables``, in their order; a
    register is None when its thread waits for ever before setting it. ``complete`` is False when a
    bound cut some executions off: then there may be more. ``some_wait``: of the executions that end
    so there is one in which a thread waits for ever; ``all_wait``: there is no other.
    """

    observables: tuple[Observable, ...]
    states: frozenset[tuple[int | None, ...]]
    complete: bool = True
    some_wait: bool = False
    all_wait: bool = False

    def as_mappings(self) -> tuple[dict[Observable, int | None], ...]:
        """Each final state as a dictionary, in a fixed order."""
        ordered = sorted(self.states, key=lambda state: [(v is not None, v or 0) for v in state])
        return tuple(dict(zip(self.observables, state, strict=True)) for state in ordered)

    def project(self, observables: Iterable[Observable]) -> "Outcomes":
        """The same outcomes with only ``observables`` seen; an unrecorded one reads as 0."""
        kept = tuple(observables)
        positions = {each: i for i, each in enumerate(self.observables)}
        places = [positions.get(each) for each in kept]
        states = frozenset(
            tuple(0 if place is None else state[place] for place in places) for state in self.states
        )
        return replace(self, observables=kept, states=states)

    def __str__(self) -> str:
        """One final state a line."""
        return "\n".join(
            " ".join(f"{each}={value}" for each, value in state.items())
            for state in self.as_mappings()
        )


class FinalStates:
    """The final states of a program as they are found, with whether a thread waits for ever
    there."""

    def __init__(self) -> None:
        self._states: set[tuple[int | None, ...]] = set()
        self._wait: set[bool] = set()

    def add(self, states: Iterable[tuple[int | None, ...]], waits: bool) -> None:
        """Note the final states of executions, in all of which a thread ``waits`` or in none."""
        before = {*states}
        if before:
            self._states |= before
            self._wait.add(waits)

    def outcomes(self, observables: tuple[Observable, ...], complete: bool = True) -> Outcomes:
        """The outcomes recorded so far."""
        states = frozenset(self._states)
        return Outcomes(observables, states, complete, True in self._wait, self._wait == {True})


class Comparison(Enum):
    """The comparison of two values."""

    EQ = "=="
    NE = "!="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="

    @property
    def word(self) -> str:
        """Its word in assembly: ``eq``, ``lt``."""
        return self.name.lower()

    def holds(self, left: int, right: int) -> bool:
        """True if ``left`` compares so with ``right``."""
        return _COMPARE[self](left, right)


_COMPARE: dict[Comparison, Callable[[int, int], bool]] = {
    Comparison.EQ: lambda a, b: a == b,
    Comparison.NE: lambda a, b: a != b,
    Comparison.LT: lambda a, b: a < b,
    Comparison.LE: lambda a, b: a <= b,
    Comparison.GT: lambda a, b: a > b,
    Comparison.GE: lambda a, b: a >= b,
}


Term = Observable | int


@dataclass(frozen=True, slots=True)
class Compare:
    """``left op right``; a register or location that a state lacks, or has no value, reads as 0."""

    comparison: Comparison
    left: Term
    right: Term

    def holds(self, state: State) -> bool:
        """True if ``state`` satisfies it."""
        return self.comparison.holds(_value(self.left, state), _value(self.right, state))

    def observables(self) -> frozenset[Observable]:
        """The registers and locations it names."""
        return frozenset(t for t in (self.left, self.right) if not isinstance(t, int))

    def __str__(self) -> str:
        return f"{self.left} {self.comparison.value} {self.right}"


def _value(term: Term, state: State) -> int:
    return term if isinstance(term, int) else state.get(term) or 0


@dataclass(frozen=True, slots=True)
class Not:
    """The negation of a formula."""

    operand: "Formula"

    def holds(self, state: State) -> bool:
        """True if ``state`` does not satisfy the operand."""
        return not self.operand.holds(state)

    def observables(self) -> frozenset[Observable]:
        """The registers and locations it names."""
        return self.operand.observables()

    def __str__(self) -> str:
        return f"~({self.operand})"


@dataclass(frozen=True, slots=True)
class _OfOperands:
    """A formula of any number of others."""

    operands: tuple["Formula", ...]

    def observables(self) -> frozenset[Observable]:
        """The registers and locations it names."""
        return frozenset[Observable]().union(*(each.observables() for each in self.operands))


class And(_OfOperands):
    """All of the operands; true when there are none."""

    __slots__ = ()

    def holds(self, state: State) -> bool:
        """True if ``state`` satisfies every operand."""
        return all(each.holds(state) for each in self.operands)

    def __str__(self) -> str:
        return " /\\ ".join(_grouped(each) for each in self.operands) or "true"


class Or(_OfOperands):
    """Any of the operands; false when there are none."""

    __slots__ = ()

    def holds(self, state: State) -> bool:
        """True if ``state`` satisfies some operand."""
        return any(each.holds(state) for each in self.operands)

    def __str__(self) -> str:
        return " \\/ ".join(_grouped(each) for each in self.operands) or "false"


Formula = Compare | Not | And | Or


def same_state(state: State) -> Formula:
    """The formula that holds in the states with these values; an absent one reads as 0."""
    return And(tuple(Compare(Comparison.EQ, each, value or 0) for each, value in state.items()))


def _grouped(formula: Formula) -> str:
    return f"({formula})" if isinstance(formula, And | Or) and formula.operands else str(formula)


class Quantifier(Enum):
    """Over which outcomes the formula has to hold: some, none, or all."""

    EXISTS = "exists"
    NOT_EXISTS = "~exists"
    FORALL = "forall"


@dataclass(frozen=True, slots=True)
class Condition:
    """A quantified formula over final states; ``may_hang``: and not every execution may end.

    A state in which a thread waits for ever before it has set a register of the formula is
    not judged: for that thread it is not final.
    """

    quantifier: Quantifier
    formula: Formula
    may_hang: bool = False

    @property
    def deciding(self) -> Formula:
        """The formula that decides the condition at the end: for ``forall`` a counterexample."""
        return Not(self.formula) if self.quantifier is Quantifier.FORALL else self.formula

    def verdict(self, outcomes: Outcomes) -> bool:
        """True if the condition as written holds of ``outcomes``."""
        named = self.formula.observables()
        judged = (s for s in outcomes.as_mappings() if all(s.get(o, 0) is not None for o in named))
        if self.quantifier is Quantifier.FORALL:
            return all(self.formula.holds(state) for state in judged)
        found = any(self.formula.holds(state) for state in judged)
        return found is (self.quantifier is Quantifier.EXISTS)

    def __str__(self) -> str:
        return f"{self.quantifier.value} ({self.formula}){' may hang' if self.may_hang else ''}"


_TOKEN = re.compile(
    r"\s*(?:(?P<register>[Pp]?\d+\s*:\s*\w+)"
    r"|(?P<number>-?(?:0[xX][0-9a-fA-F]+|\d+)\b)"
    r"|(?P<word>[A-Za-z_]\w*)"
    r"|(?P<symbol>/\\|\\/|==|!=|<=|>=|&&|\|\||[=<>~!()\[\]]))"
)
MOST_CHARACTERS = 1000
"""Of a register; Python converts no number of more than 4,300 digits."""

_SHOWN = 24
"""The number of characters of a number too wide that an error shows."""

_SPELLING = {"&&": "/\\", "and": "/\\", "||": "\\/", "or": "\\/", "!": "~", "not": "~", "=": "=="}


class _Parser:
    """Recursive descent over one condition; ``offset`` is where it starts in the source."""

    def __init__(self, source: SourceText, offset: int):
        self.source = source
        self.offset = offset
        self.match: re.Match[str] | None = None
        self.advance()

    @property
    def token(self) -> str:
        if self.match is None:
            return ""
        text = self.match.group(self.match.lastgroup or 0)
        return _SPELLING.get(text, text)

    @property
    def kind(self) -> str:
        return "end" if self.match is None else (self.match.lastgroup or "")

    def advance(self) -> None:
        rest = self.source.text[self.offset :]
        self.offset += len(rest) - len(rest.lstrip())
        self.match = _TOKEN.match(self.source.text, self.offset)
        if self.match is None and rest.strip():
            raise self.error(f"unexpected character {rest.strip()[0]!r} in the condition")

    def error(self, message: str) -> LitmusError:
        return self.source.error(self.offset, message)

    def accept(self, token: str) -> bool:
        if self.token != token:
            return False
        self.consume()
        return True

    def consume(self) -> None:
        if self.match is not None:
            self.offset = self.match.end()
        self.advance()

    def expect(self, token: str) -> None:
        if not self.accept(token):
            raise self.error(f"expected '{token}', found {self.found()}")

    def found(self) -> str:
        return f"'{self.token}'" if self.match is not None else "the end of the file"

    def condition(self) -> Condition:
        negated = self.accept("~")
        word = ("~" if negated else "") + self.token
        quantifiers = {q.value: q for q in Quantifier}
        if word not in quantifiers:
            raise self.error(f"expected exists, ~exists or forall, found {self.found()}")
        self.consume()
        formula = self.disjunction()
        may_hang = self.accept("may")
        if may_hang:
            self.expect("hang")
        if self.match is not None:
            raise self.error(f"unexpected {self.found()} after the condition")
        return Condition(quantifiers[word], formula, may_hang)

    def disjunction(self) -> Formula:
        operands = [self.conjunction()]
        while self.accept("\\/"):
            operands.append(self.conjunction())
        return operands[0] if len(operands) == 1 else Or(tuple(operands))

    def conjunction(self) -> Formula:
        operands = [self.negation()]
        while self.accept("/\\"):
            operands.append(self.negation())
        return operands[0] if len(operands) == 1 else And(tuple(operands))

    def negation(self) -> Formula:
        if self.accept("~"):
            return Not(self.negation())
        if self.accept("("):
            formula = self.disjunction()
            self.expect(")")
            return formula
        if self.accept("true"):
            return And(())
        if self.accept("false"):
            return Or(())
        return self.compare()

    def compare(self) -> Formula:
        negative = self.token.startswith("-")
        left = self.term()
        comparisons = {c.value: c for c in Comparison}
        if self.token not in comparisons:
            raise self.error(f"expected a comparison, found {self.found()}")
        comparison = comparisons[self.token]
        at = self.offset
        self.consume()
        negative = negative or self.token.startswith("-")
        right = self.term()
        if negative and comparison not in (Comparison.EQ, Comparison.NE):
            unsigned = "values are unsigned: compare a negative number by == or != only"
            raise self.source.error(at, unsigned)
        return Compare(comparison, left, right)

    def number(self) -> int:
        number = parse_word(self.token)
        if number is None:
            raise self.error(f"{self.token[:_SHOWN]} {TOO_WIDE}")
        self.consume()
        return number & WORD_MASK

    def term(self) -> Term:
        if self.accept("["):
            location = self.word()
            self.expect("]")
            return Memory(location)
        if self.kind == "word":
            return Memory(self.word())
        text = self.token
        if self.kind == "register" and len(text) > MOST_CHARACTERS:
            raise self.error(f"a register of {len(text)} characters is too long")
        if self.kind == "number":
            return self.number()
        if self.kind == "register":
            self.consume()
            thread, name = text.split(":")
            return Register(int(thread.strip().lstrip("Pp")), name.strip())
        raise self.error(f"expected a register, a location or a number, found {self.found()}")

    def word(self) -> str:
        if self.kind != "word":
            raise self.error(f"expected a location, found {self.found()}")
        word = self.token
        self.consume()
        return word


def parse_condition(source: str | SourceText, offset: int = 0) -> Condition:
    """The condition that starts at ``offset`` of ``source`` and runs to its end.

    Raises ``LitmusError`` with the position of the fault.
    """
    text = SourceText(source) if isinstance(source, str) else source
    return _Parser(text, offset).condition()
