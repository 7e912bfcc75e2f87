"""PTX written in other ways that mean the same: other names, another order of blocks, copies of
registers, dead code, no comments and no lines of a source."""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*|^[ \t]*\.loc\b[^\n]*", re.DOTALL | re.MULTILINE)
_BODY = re.compile(r"^\{.*?^\}", re.DOTALL | re.MULTILINE)
_LABEL = re.compile(r"\s*([\w$]+)\s*:(?!:)")
_BANK = re.compile(r"\.reg\s+\.(\w+)\s+(%\w+)<(\d+)>")
_GUARD = re.compile(r"@!?%\w+\s+")
_ENDS = re.compile(r"(@!?%?\w+\s+)?(bra|ret|exit|trap)\b")
_COPIED = re.compile(r"(?:add|sub|mul|mad|and|or|xor|shl|shr|mov|ld|selp|cvta)\b[\w.:]*\s+(%\w+),")
_BITS = {"b": "b", "u": "b", "s": "b", "f": "f"}


def bare(text: str) -> str:
    """Code without comments and lines of a source."""
    return _COMMENT.sub("", text)


def _statements(body: str) -> Iterator[str]:
    """The statements, labels and scopes of a body, each whole."""
    at = 0
    while body[at:].strip():
        at += len(body[at:]) - len(body[at:].lstrip())
        label = _LABEL.match(body, at)
        if label is not None:
            yield f"{label[1]}:"
            at = label.end()
            continue
        end = _end_of_scope(body, at) if body[at] == "{" else body.index(";", at) + 1
        yield body[at:end]
        at = end


def _end_of_scope(body: str, begin: int) -> int:
    depth = 0
    for at in range(begin, len(body)):
        depth += {"{": 1, "}": -1}.get(body[at], 0)
        if not depth:
            return at + 1
    raise ValueError(f"a scope without an end: {body[begin : begin + 40]}")


def _changed(text: str, change: Callable[[Sequence[str]], Sequence[str]]) -> str:
    """Code each of whose bodies is changed as a list of statements."""

    def body(found: re.Match[str]) -> str:
        lines = change([*_statements(found[0][1:-1])])
        return "\n".join(("{", *lines, "}"))

    return _BODY.sub(body, bare(text))


def renamed(text: str) -> str:
    """Other names of registers, counted from the last one, and of labels."""

    def names(statements: Sequence[str]) -> Sequence[str]:
        whole = "\n".join(statements)
        counts = {bank: int(count) for _, bank, count in _BANK.findall(whole)}
        for number, label in enumerate(each[:-1] for each in statements if each.endswith(":")):
            whole = re.sub(rf"(?<![\w$]){re.escape(label)}(?![\w$])", f"Q{900 - number}", whole)

        def other(found: re.Match[str]) -> str:
            count = counts.get(found[1])
            return found[0] if count is None else f"%z{found[1][1:]}{count - 1 - int(found[2])}"

        whole = re.sub(r"(%[A-Za-z_]+?)(\d+)\b", other, whole)
        return [re.sub(r"(\.reg\s+\.\w+\s+)%(\w+<)", r"\1%z\2", whole)]

    return _changed(text, names)


def reordered(text: str) -> str:
    """The blocks but the first from the last one on, with the branches that this takes."""

    def order(statements: Sequence[str]) -> Sequence[str]:
        blocks: list[list[str]] = [[]]
        for each in statements:
            if each.endswith(":"):
                blocks.append([])
            blocks[-1].append(each)
            if _ENDS.match(each):
                blocks.append([])
        first, *others = [each for each in blocks if each]
        named = [
            each if each[0].endswith(":") else [f"Q{n}:", *each] for n, each in enumerate(others)
        ]
        whole = [first, *named]
        for block, after in pairwise(whole):
            if not re.match(r"(bra|ret|exit|trap)\b", block[-1]):
                block.append(f"bra {after[0][:-1]};")
        if not re.match(r"(bra|ret|exit|trap)\b", whole[-1][-1]):
            whole[-1].append("ret;")
        return [line for block in (first, *reversed(named)) for line in block]

    return _changed(text, order)


def copied(text: str) -> str:
    """Results that go through another register."""

    def copies(statements: Sequence[str]) -> Sequence[str]:
        types = {bank: type for type, bank, _ in _BANK.findall("\n".join(statements))}
        lines: list[str] = []
        for number, each in enumerate(statements):
            found = _COPIED.match(each)
            type = found and types.get(re.sub(r"\d+$", "", found[1]))
            if not found or not type or type == "pred":
                lines.append(each)
                continue
            written = f"{_BITS[type[0]]}{type[1:]}"
            copy = f"%copy{number}"
            lines.append(f".reg .{written} {copy};")
            lines.append(each[: found.start(1)] + copy + each[found.end(1) :])
            lines.append(f"mov.{written} {found[1]}, {copy};")
        return lines

    return _changed(text, copies)


def padded(text: str) -> str:
    """Dead code: a register that nobody reads, and a block that nobody comes to."""

    def dead(statements: Sequence[str]) -> Sequence[str]:
        lines = [".reg .b32 %dead;"]
        for each in statements:
            lines.append(each)
            if each.endswith(":"):
                lines.append("mov.u32 %dead, 17; add.u32 %dead, %dead, 1;")
        return [
            *lines,
            "bra DEAD;" * (not _ENDS.match(lines[-1])),
            "DEAD:",
            "xor.b32 %dead, %dead, 3;",
            "bra DEAD;",
        ]

    return _changed(text, dead)


VARIANTS = (bare, renamed, reordered, copied, padded)
"""Every way to write code anew."""
