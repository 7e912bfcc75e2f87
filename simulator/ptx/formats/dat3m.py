"""PTX litmus tests in columns as Dat3M and herd load them.

Dat3M's grammar has a part of the columns here: labels are called LC0, LC1 and so on, a move
is a load of a value, and there are no clusters, mbarriers, copies nor comparisons into registers.
Source: Dat3M, dartagnan/src/main/antlr4/LitmusPTX.g4, LitmusAssertions.g4, at commit 30640123.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count

from fencewright.simulator.core.program import (
    Arithmetic,
    ArithmeticKind,
    Branch,
    Label,
    Move,
    Thread,
)
from fencewright.simulator.ptx import events as ptx
from fencewright.simulator.ptx.formats.columns import PtxLitmusTest


def portable(test: PtxLitmusTest) -> PtxLitmusTest:
    """The same test with labels LC0, LC1 .. and without moves, which herd's form does not have.

    A move is written as the addition of 0: it depends on the same, and no reader takes it for
    a load of a location.
    """
    numbers = count()
    threads = tuple(_portable(each, numbers) for each in test.program.threads)
    return replace(test, program=replace(test.program, threads=threads))


def _portable(
    thread: Thread[ptx.PtxInstruction], numbers: Iterator[int]
) -> Thread[ptx.PtxInstruction]:
    labels = [each.name for each in thread.instructions if isinstance(each, Label)]
    names = {name: f"LC{next(numbers)}" for name in labels}
    return replace(
        thread, instructions=tuple(_renamed(each, names) for each in thread.instructions)
    )


def _renamed(instruction: ptx.PtxInstruction, names: Mapping[str, str]) -> ptx.PtxInstruction:
    match instruction:
        case Label(name):
            return Label(names[name])
        case Branch(target) | ptx.CompareBranch(target):
            return replace(instruction, target=names[target])
        case Move(dst, value):
            return Arithmetic(ArithmeticKind.ADD, dst, value, 0)
        case _:
            return instruction


@dataclass(frozen=True, slots=True)
class NotInGrammar:
    """A text that Dat3M does not read, and its line."""

    line: int
    text: str

    def __str__(self) -> str:
        return f"Dat3M's grammar does not have '{self.text}'"


_REGISTER = r"r\d+"
_CONSTANT = r"(?:-?\d+|0x[0-9a-fA-F]+)"
_VALUE = rf"(?:{_REGISTER}|{_CONSTANT})"
_ORDERING = r"(?:weak|relaxed|acquire|release|acq_rel|sc)"
_SCOPE = r"(?:cta|gpu|sys)"
_LABEL = r"LC\d+"
_OPERATION = r"(?:add|sub|mul|div|and|or|xor)"
_PROXY = r"(?:generic|constant|texture|surface)"
_RESERVED = frozenset(
    "ld tld suld cold st sust atom suatom red sured fence bar sync arrive cta gpu sys weak relaxed "
    "acquire release acq_rel sc add sub mul div and or xor cas exch proxy generic constant surface "
    "texture aliases alias beq bne blt bgt ble bge goto locations exists forall filter final not "
    "with tso cc optic default".split()
)
"""Words that are tokens of their own, so that nothing can be called so."""
_NAME = r"_*[A-Za-z]\w*"


def _form(*pieces: str) -> re.Pattern[str]:
    """Operands between commas, after a name."""
    name, *operands = pieces
    spaced = r"\s*,\s*".join(operands)
    return re.compile(rf"{name}\s+{spaced}" if operands else name)


_LOCATION = rf"(?P<location>{_NAME})"
_LOADS, _STORES = r"(?:ld|tld|suld|cold)", r"(?:st|sust)"
_INSTRUCTIONS = (
    _form(rf"{_STORES}\.{_ORDERING}(?:\.{_SCOPE})?", _LOCATION, _VALUE),
    _form(_LOADS, _REGISTER, _VALUE),
    _form(r"(?:add|sub|mul|div)", _REGISTER, _VALUE, _VALUE),
    _form(rf"{_LOADS}\.{_ORDERING}(?:\.{_SCOPE})?", _REGISTER, _LOCATION),
    _form(rf"fence\.{_ORDERING}\.{_SCOPE}"),
    _form(rf"fence\.proxy\.(?:{_PROXY}|alias)"),
    re.compile(rf"bar\.cta\.(?:sync|arrive)\s+{_CONSTANT}(?:\s*,\s*{_VALUE}){{0,2}}"),
    _form(
        rf"(?:atom|suatom)\.{_ORDERING}\.{_SCOPE}\.(?:{_OPERATION}|exch)",
        _REGISTER,
        _LOCATION,
        _VALUE,
    ),
    _form(rf"(?:atom|suatom)\.{_ORDERING}\.{_SCOPE}\.cas", _REGISTER, _LOCATION, _VALUE, _VALUE),
    _form(rf"(?:red|sured)\.{_ORDERING}\.{_SCOPE}\.{_OPERATION}", _LOCATION, _VALUE),
    _form(r"(?:beq|bne|bge|ble|bgt|blt)", _VALUE, _VALUE, _LABEL),
    _form("goto", _LABEL),
    re.compile(rf"{_LABEL}\s*:"),
)
"""``storeInstruction`` to ``label`` of the grammar, in its order."""

_THREAD = re.compile(r"P?\d+\s*@\s*cta\s+\d+\s*,\s*gpu\s+\d+")
_DECLARATIONS = (
    re.compile(rf"{_LOCATION}\s*=\s*{_CONSTANT}"),
    re.compile(rf"P?\d+\s*:\s*{_REGISTER}\s*=\s*{_CONSTANT}"),
    re.compile(rf"P?\d+\s*:\s*{_REGISTER}\s*=\s*&?\s*{_LOCATION}"),
    re.compile(rf"{_LOCATION}\s*=\s*&?\s*{_NAME}"),
    re.compile(rf"{_LOCATION}\s*@\s*{_PROXY}\s+aliases\s+{_NAME}"),
)
_COMPARED = re.compile(
    rf"(?P<left>P?\d+\s*:\s*{_REGISTER}|{_CONSTANT}|{_NAME})\s*(?:==|=|!=|>=|<=|<|>)\s*"
    rf"(?P<right>P?\d+\s*:\s*{_REGISTER}|{_CONSTANT}|{_NAME})"
)
_JOINED = re.compile(r"\s*(?P<operator>/\\|\\/)\s*")
_NOT = re.compile(r"\s*(?:~|not\b)\s*")
_CONDITION = re.compile(r"(?:(?:~|not\b)\s*)?exists\b|forall\b|filter\b|locations\b|final\b")
_COMMENT = re.compile(r"\(\*.*?\*\)|//[^\n]*", re.DOTALL)


def check_grammar(text: str) -> NotInGrammar | None:
    """The first thing in a test that Dat3M's grammar does not have; None if it loads.

    Names that are declared as something else are not looked at: that is no matter of the grammar.
    """
    text = _COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    opened, closed = text.find("{"), text.find("}")
    if not re.match(r"\s*(?:PTX|ptx)\b", text) or opened < 0 or closed < opened:
        return NotInGrammar(1, text.strip().partition("\n")[0])
    at = _CONDITION.search(text, closed)
    end = len(text) if at is None else at.start()
    for start, piece in _pieces(text, opened + 1, closed, ";"):
        if not _is_one_of(_DECLARATIONS, piece):
            return _not_in(text, start, piece)
    # A semicolon may follow the initial state.
    body = closed + 1
    while body < end and text[body] in " \t\r\n;":
        body += 1
    rows = list(_pieces(text, body, end, ";"))
    for number, (start, row) in enumerate(rows):
        forms = (_THREAD,) if number == 0 else _INSTRUCTIONS
        for offset, cell in _pieces(text, start, start + len(row), "|"):
            if not _is_one_of(forms, cell):
                return _not_in(text, offset, cell)
    return None if at is None else _check_condition(text, at)


def _pieces(text: str, start: int, end: int, separator: str) -> Iterator[tuple[int, str]]:
    """The texts between separators, without the empty ones, with their places."""
    for piece in text[start:end].split(separator):
        stripped = piece.strip()
        if stripped:
            yield start + piece.index(stripped), stripped
        start += len(piece) + 1


def _is_one_of(forms: tuple[re.Pattern[str], ...], piece: str) -> bool:
    for form in forms:
        found = form.fullmatch(piece)
        if found is not None:
            return found.groupdict().get("location") not in _RESERVED
    return False


def _not_in(text: str, start: int, piece: str) -> NotInGrammar:
    return NotInGrammar(text.count("\n", 0, start) + 1, " ".join(piece.split()))


def _check_condition(text: str, at: re.Match[str]) -> NotInGrammar | None:
    """``assertionList``; a list of variables of interest alone is passed over."""
    if at[0].startswith(("locations", "final", "filter")):
        following = _CONDITION.search(text, at.end())
        return None if following is None else _check_condition(text, following)
    position, depth, wants_operand = at.end(), 0, True
    while position < len(text):
        if text[position].isspace():
            position += 1
        elif wants_operand and (negated := _NOT.match(text, position)) and negated[0].strip():
            position = negated.end()
        elif wants_operand and text[position] == "(":
            depth, position = depth + 1, position + 1
        elif wants_operand and (compared := _COMPARED.match(text, position)):
            if {compared["left"], compared["right"]} & _RESERVED:
                break
            position, wants_operand = compared.end(), False
        elif not wants_operand and text[position] == ")" and depth:
            depth, position = depth - 1, position + 1
        elif not wants_operand and (joined := _JOINED.match(text, position)):
            position, wants_operand = joined.end(), True
        elif not wants_operand and text[position] == ";" and not depth:
            position += 1
        else:
            break
    if position == len(text) and not depth and not wants_operand:
        return None
    return _not_in(text, min(position, len(text) - 1), text[position:].partition("\n")[0])
