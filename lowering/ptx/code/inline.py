"""Inline PTX: the text of an ``asm`` call as statements, or nothing if it is not understood.

Templates are LLVM's: ``$0`` is the first operand, ``$$`` a dollar, ``{`` begins a scope. Of
control flow two forms are understood: a branch forward over instructions, which become predicated,
and the loop around one wait, which becomes that wait. A text with any other branch around what
other threads could notice is not. Source: LLVM Language Reference, "Inline Assembler
Expressions"; PTX ISA, "mbarrier.try_wait".
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from fencewright.lowering.code.effects import Kind
from fencewright.lowering.ptx.code.statements import (
    CONTROL,
    SILENT,
    Opcode,
    Statement,
    read_opcode,
    read_statement,
)

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_MODIFIED = re.compile(r"\$\{(\d+)(?::\w+)?\}")
_OPERAND = re.compile(r"\$(\d+)")
_LABEL = re.compile(r"([A-Za-z_$%][\w$%{}=]*)\s*:(?!:)\s*")
_SILENT = SILENT | CONTROL
_DOLLAR = "\N{SYMBOL FOR SUBSTITUTE}"
"""Stands for a dollar that is one, while places are read."""
_UPDATE = re.compile(r"\b(?:atom|red)\.[\w.:]+")
_LIKE_OPERAND = re.compile(rf"{_DOLLAR}\d")


def read(template: str, constraints: str) -> tuple[Statement, ...] | None:
    """The instructions of an inline text, those that compute among them; None if not understood.

    An operand of the text that ``constraints`` do not have makes it not understood either.
    """
    text = _COMMENT.sub(" ", template)
    text = _MODIFIED.sub(r"$\1", text.replace("$$", _DOLLAR))
    count = operand_count(constraints)
    if any(int(found[1]) >= count for found in _OPERAND.finditer(text)):
        return None
    if _LIKE_OPERAND.search(text):
        return None
    found: list[Statement | str] = []
    for piece in pieces_of(text.replace(_DOLLAR, "$")):
        if piece.endswith(":"):
            found.append(piece[:-1])
            continue
        statement = read_statement(piece)
        if statement is None or statement.kind is Kind.OPAQUE:
            return None
        found.append(statement)
    return _without_control(found)


def update_in(text: str) -> Opcode:
    """The first read-modify-write in a call of inline PTX, which has one."""
    found = _UPDATE.search(text)
    assert found is not None, text
    return read_opcode(found[0])


def operand_count(constraints: str) -> int:
    """The number of operands that a template may name, clobbered registers excluded."""
    given = [each.strip() for each in constraints.split(",")]
    return sum(1 for each in given if each and not each.startswith("~"))


def is_volatile_memory(constraints: str) -> bool:
    """True if the text is declared to access memory that no operand is the address of."""
    return "~{memory}" in constraints.replace(" ", "")


def pieces_of(text: str) -> Iterator[str]:
    """Instructions and labels (with their colon); declarations and braces of scopes left out."""
    depth = start = 0
    at = 0
    while at < len(text):
        character = text[at]
        if character in ";{}" and not depth:
            is_operand = character == "{" and text[start:at].strip()
            if is_operand:
                depth = 1
            else:
                yield from _labelled(text[start:at])
                start = at + 1
        elif depth and character in "{}":
            depth += 1 if character == "{" else -1
        at += 1
    yield from _labelled(text[start:])


def _labelled(piece: str) -> Iterator[str]:
    piece = piece.strip()
    while found := _LABEL.match(piece):
        yield f"{found[1]}:"
        piece = piece[found.end() :]
    if piece and not piece.startswith("."):
        yield piece


def _without_control(found: Sequence[Statement | str]) -> tuple[Statement, ...] | None:
    """The statements, a loop around one wait as that wait; None for other control flow."""
    found = _predicated(found)
    statements = [each for each in found if isinstance(each, Statement)]
    jumps = {each.operation for each in statements if each.kind in CONTROL}
    heard = [each for each in statements if each.kind not in _SILENT]
    # After a trap nothing is left that could be noticed; after an exit there are the other threads.
    if jumps <= {"trap"} or (jumps <= {"trap", "exit"} and not heard):
        return tuple(statements)
    if jumps - {"bra", "trap"}:
        return None
    rest = tuple(each for each in statements if each.kind not in CONTROL)
    if not heard:
        return rest
    if len(heard) != 1 or heard[0].kind is not Kind.WAIT:
        return None
    at = next(n for n, each in enumerate(found) if each is heard[0])
    guard = _entered(found, at)
    if guard is None or (guard and heard[0].guard) or not _repeats(found, at):
        return None
    wait = replace(heard[0], loops=True, guard=guard or heard[0].guard)
    return tuple(wait if each is heard[0] else each for each in rest)


def _entered(found: Sequence[Statement | str], at: int) -> str | None:
    """The predicate under which control comes to a wait, "" for always; None if that is not so
    simple."""
    before = [n for n, each in enumerate(found[:at]) if _is_control(each)]
    if not before:
        return ""
    branch = found[before[0]]
    assert isinstance(branch, Statement)
    last = max(n for n, each in enumerate(found) if _is_control(each))
    over = branch.guard and branch.operation == "bra" and branch.operands[0] in found[last:]
    return _negated(branch.guard) if len(before) == 1 and over else None


def _repeats(found: Sequence[Statement | str], at: int) -> bool:
    """True if control that finds the phase of a wait incomplete returns to the wait, or ends."""
    wait = found[at]
    assert isinstance(wait, Statement)
    complete = wait.operands[0]
    taken = {"": True, f"!{complete}": True, complete: False}
    place = at + 1
    while place < len(found):
        each = found[place]
        place += 1
        if isinstance(each, str):
            continue
        if not _is_control(each):
            if complete in each.operands:
                return False
            continue
        is_taken = taken.get(each.guard)
        if each.operation != "bra":
            if is_taken:
                return True
            continue
        if is_taken is None or (is_taken and each.operands[0] not in found):
            return False
        if is_taken:
            place = found.index(each.operands[0])
            if place <= at:
                return True
    return False


def _is_control(each: Statement | str) -> bool:
    return isinstance(each, Statement) and each.kind in CONTROL


def _predicated(found: Sequence[Statement | str]) -> list[Statement | str]:
    """Branches forward over instructions without a branch as the predicates of these."""
    made: list[Statement | str] = []
    at = 0
    while at < len(found):
        each = found[at]
        over = _skipped(found, at) if isinstance(each, Statement) else None
        if isinstance(each, Statement) and over is not None:
            made += (replace(skipped, guard=_negated(each.guard)) for skipped in over)
            at += len(over)
        else:
            made.append(each)
        at += 1
    return made


def _skipped(found: Sequence[Statement | str], at: int) -> list[Statement] | None:
    """The statements that a branch skips if its predicate holds; None if not simple."""
    branch = found[at]
    if not isinstance(branch, Statement) or branch.operation != "bra" or not branch.guard:
        return None
    over: list[Statement] = []
    for each in found[at + 1 :]:
        if isinstance(each, str):
            return over if each == branch.operands[0] else None
        predicate = branch.guard.removeprefix("!")
        if each.kind in CONTROL or each.guard or predicate in each.operands:
            return None
        over.append(each)
    return None


def _negated(guard: str) -> str:
    return guard.removeprefix("!") if guard.startswith("!") else f"!{guard}"
