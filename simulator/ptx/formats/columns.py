"""Reader and writer of PTX litmus tests in columns, the form that Dat3M's PTX corpus has.

A test is ``PTX name``, quoted remarks, the initial state in braces, one column for each
thread headed by its placement, and a final condition (``condition``)::

    PTX MP
    { x=0; flag=0; P1:r0=0; }
     P0@cta 0,gpu 0           | P1@cta 1,gpu 0              ;
     st.weak x, 1             | ld.acquire.gpu r0, flag     ;
     st.release.gpu flag, 1   | ld.weak r1, x               ;
    ~exists (P1:r0 == 1 /\\ P1:r1 == 0)

The initial state also takes ``a @ generic aliases x`` (another virtual address of x),
``t @ texture aliases x`` (the same virtual address, for instructions of that proxy alone),
``b = mbarrier(2)`` (an mbarrier that expects two arrivals) and ``x @ cta 0,gpu 0`` (x is in the
shared memory of that CTA, which only fences of one state space ask for). Placements take an
optional ``cluster N``. Weak loads and stores take PTX's cache operators, which are hints; ``ld.nc``
reads through the texture proxy, as PTX says of it: it may read what is stale unless nothing writes
the location. ``tld``, ``suld``, ``cold``, ``sust``, ``suatom`` and ``sured`` go through the
texture, surface and constant proxies. The first operand of ``bar.cta`` is unique to the
instruction in its program, then follow the barrier's number and its thread count.
Numbers are 32-bit words, signed or unsigned. Remarks may have quotes inside.

Asynchronous instructions are written as in PTX: what the model has no use for is dropped, and what
would mean something that it does not have is refused. ``b = mbarrier`` is one that the program
initialises, ``t @ tmem`` a location in tensor memory.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fencewright.lowering.code.source_location import SourceLocation
from fencewright.lowering.ptx.code.statements import SPACES, Opcode, read_opcode
from fencewright.lowering.vocabulary import Ordering, Scope
from fencewright.simulator.core.condition import (
    Comparison,
    Condition,
    Memory,
    Register,
    SourceText,
    parse_condition,
)
from fencewright.simulator.core.program import (
    Arithmetic,
    ArithmeticKind,
    Branch,
    Computation,
    Label,
    LitmusTest,
    Location,
    Move,
    Operand,
    Placement,
    Places,
    Thread,
)
from fencewright.simulator.core.words import TOO_WIDE, parse_word
from fencewright.simulator.ptx import instructions as ptx
from fencewright.simulator.ptx.builder import (
    ATOMICS,
    ORDERINGS,
    PROXIED,
    UNSIGNED,
    Given,
    ModelError,
    build,
    check_arrivals,
    check_proxies,
    hint,
    is_register,
    listed,
    restriction_word,
    unknown_names,
    with_tensor_operands,
)
from fencewright.simulator.ptx.model import PtxWitness


@dataclass(frozen=True, slots=True)
class PtxLitmusTest(LitmusTest[ptx.PtxInstruction]):
    """A named program with the condition on its outcomes; ``remarks`` are kept as written."""

    program: ptx.PtxProgram
    condition: Condition
    remarks: tuple[str, ...] = ()


_BRANCHES = {f"b{each.word}": each for each in Comparison}
_COMPUTED = tuple(
    map(ArithmeticKind, ("add", "sub", "mul", "div", "and", "or", "xor", "min", "max"))
)
_SETS: Mapping[ArithmeticKind, str] = {
    ArithmeticKind.EQ: "setp.eq",
    ArithmeticKind.NE: "setp.ne",
    ArithmeticKind.LT: "setp.lt.u32",
    ArithmeticKind.LE: "setp.le.u32",
}
_ROLES = {
    "sync": ptx.BarrierRole.SYNC,
    "red": ptx.BarrierRole.SYNC,
    "arrive": ptx.BarrierRole.ARRIVE,
}
_HEAD = re.compile(r"\s*(?:PTX|ptx)\s+(?P<name>[^\s{\"]+)")
_BETWEEN_REMARKS = re.compile(r'"\s+"')
_COMMENT = re.compile(r"//[^\n]*|\(\*.*?\*\)", re.DOTALL)
_CONDITION = re.compile(r"(?:~\s*)?\b(?:exists|forall)\b")
_CTA = (
    r"\s*@\s*cta\s+(?P<cta>\d+)\s*"
    r"(?:,\s*cluster\s+(?P<cluster>\d+)\s*)?,\s*gpu\s+(?P<gpu>\d+)$"
)
_THREAD = re.compile(rf"P(?P<number>\d+){_CTA}")
_SHARED = re.compile(rf"(?P<name>[A-Za-z_]\w*){_CTA}")
_INITIAL = re.compile(r"(?P<name>[A-Za-z_]\w*)\s*=\s*(?P<value>-?\w+)$")
_INITIAL_REGISTER = re.compile(r"P?(?P<thread>\d+)\s*:\s*(?P<name>r\w+)\s*=\s*(?P<value>-?\w+)$")
_ALIAS = re.compile(r"(?P<name>[A-Za-z_]\w*)\s*@\s*(?P<proxy>\w+)\s+aliases\s+(?P<location>\w+)$")
_MBARRIER = re.compile(r"(?P<name>[A-Za-z_]\w*)\s*=\s*mbarrier\s*(?:\(\s*(?P<count>\d+)\s*\))?$")
_TENSOR = re.compile(r"(?P<name>[A-Za-z_]\w*)\s*@\s*tmem$")
_LABEL = re.compile(r"(?P<name>[A-Za-z_]\w*)\s*:$")
_INSTRUCTION = re.compile(r"(?P<mnemonic>[a-z][\w.:]*)(?:\s+(?P<operands>.*))?$", re.DOTALL)
_NUMBER = re.compile(r"-?(?:0x[0-9a-fA-F]+|\d+)$")
_NAME = re.compile(r"[A-Za-z_]\w*$")
_SHOWN = 24
"""The number of characters of a number too wide that an error shows."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """A stripped piece of the source, with its offset."""

    source: SourceText
    text: str
    offset: int

    def error(self, message: str) -> Exception:
        return self.source.error(self.offset, message)

    def place(self) -> SourceLocation:
        """The source position of the piece."""
        return SourceLocation(self.source.file, self.source.text.count("\n", 0, self.offset) + 1)

    def split(self, separator: str) -> list["_Piece"]:
        pieces: list[_Piece] = []
        offset = self.offset
        for part in self.text.split(separator):
            stripped = part.lstrip()
            start = offset + len(part) - len(stripped)
            pieces.append(_Piece(self.source, stripped.rstrip(), start))
            offset += len(part) + len(separator)
        return pieces

    def number(self) -> int:
        if not _NUMBER.match(self.text):
            raise self.error(f"expected a number, found '{self.text}'")
        number = parse_word(self.text)
        if number is None:
            raise self.error(f"'{self.text[:_SHOWN]}' {TOO_WIDE}")
        return number

    def part(self, match: re.Match[str], group: str) -> "_Piece":
        """The piece that a ``group`` of a match of the whole text has found."""
        return _Piece(self.source, match[group], self.offset + match.start(group))

    def find(self, pattern: str) -> "_Piece":
        """The piece from where ``pattern`` is first found; the whole one if it is nowhere."""
        match = re.compile(pattern).search(self.text)
        start = 0 if match is None else match.start()
        return _Piece(self.source, self.text[start:], self.offset + start)

    def operands(self) -> list["_Piece"]:
        """The pieces between commas outside of braces and brackets."""
        pieces: list[_Piece] = []
        start, depth = 0, 0
        for at, letter in enumerate(f"{self.text},"):
            depth += (letter in "{[") - (letter in "}]")
            if letter != "," or depth > 0:
                continue
            part = self.text[start:at]
            offset = self.offset + start + len(part) - len(part.lstrip())
            pieces.append(_Piece(self.source, part.strip(), offset))
            start = at + 1
        return pieces

    def inside(self, brackets: str) -> "_Piece | None":
        """The text between brackets around the whole piece; None if there are none."""
        if not (self.text.startswith(brackets[0]) and self.text.endswith(brackets[1])):
            return None
        return _Piece(self.source, self.text[1:-1].strip(), self.offset + 1)

    def value(self) -> Operand:
        return self.text if is_register(self.text) else self.number()

    def register(self) -> str:
        if not is_register(self.text):
            raise self.error(f"expected a register like r0, found '{self.text}'")
        return self.text

    def given(self) -> Given:
        """An operand as the model takes it: around a location there may be brackets."""
        inside = self.inside("[]") or self
        if inside is not self:
            name, *choices = inside.operands()
            if choices:
                return ptx.TensorMap(name.location(), tuple(each.words() for each in choices))
            return name.given()
        if self.inside("{}") is not None:
            return self.words()
        return self.number() if _NUMBER.match(self.text) else self.text

    def words(self) -> tuple[str, ...]:
        """A location, or a list of them in braces."""
        inside = self.inside("{}")
        return tuple(each.location() for each in (inside.operands() if inside else [self]))

    def location(self) -> str:
        plain = self.inside("[]") or self
        if plain is not self:
            return plain.location()
        if not _NAME.match(self.text) or is_register(self.text):
            raise self.error(f"expected a location, found '{self.text}'")
        return self.text


class _Operation:
    """An instruction that only columns have, in pieces: its mnemonic and its operands."""

    def __init__(self, piece: _Piece):
        match = _INSTRUCTION.match(piece.text)
        if match is None:
            raise piece.error(f"expected an instruction, found '{piece.text}'")
        self.piece = piece
        self.opcode = read_opcode(match["mnemonic"])
        rest = match["operands"]
        start = piece.offset + match.start("operands")
        self.operands = _Piece(piece.source, rest, start).operands() if rest else []

    @property
    def head(self) -> str:
        """The first word of its mnemonic."""
        return self.opcode.head

    def error(self, message: str) -> Exception:
        return self.piece.error(message)

    def expect(self, least: int, most: int | None = None) -> list[_Piece]:
        """The operands, when there are between ``least`` and ``most`` of them."""
        found = len(self.operands)
        if not least <= found <= (least if most is None else most):
            wanted = f"{least}" if most is None else f"{least} to {most}"
            raise self.error(f"{self.opcode.name} takes {wanted} operands, not {found}")
        return self.operands

    def finish(self) -> None:
        """Refuse qualifiers."""
        if self.opcode.words[1:]:
            raise self.error(f"unknown qualifier '.{self.opcode.words[1]}' in {self.opcode.name}")


def _bar(op: _Operation) -> ptx.PtxInstruction:
    """``bar.cta`` of the litmus tests; ``bar`` is PTX's, which has other operands."""
    roles = [*op.opcode.words[1:]]
    roles.remove("cta")
    if len(roles) != 1 or roles[0] not in _ROLES:
        raise op.error(f"bar needs one of {listed(_ROLES)}")
    instance, *rest = (operand.value() for operand in op.expect(1, 3))
    number = rest[0] if rest else 0
    return ptx.Bar(_ROLES[roles[0]], instance, number, rest[1] if rest[1:] else None)


def _compute(op: _Operation) -> ptx.PtxInstruction:
    op.finish()
    target, left, right = op.expect(3)
    return Arithmetic(ArithmeticKind(op.head), target.register(), left.value(), right.value())


def _set(op: _Operation) -> ptx.PtxInstruction:
    kinds = {word: kind for kind, word in _SETS.items()}
    if op.opcode.name not in kinds:
        raise op.error(f"expected {', '.join(kinds)}")
    target, left, right = op.expect(3)
    return Arithmetic(kinds[op.opcode.name], target.register(), left.value(), right.value())


def _move(op: _Operation) -> ptx.PtxInstruction:
    op.finish()
    target, source = op.expect(2)
    return Move(target.register(), source.value())


def _branch(op: _Operation) -> ptx.PtxInstruction:
    op.finish()
    left, right, label = op.expect(3)
    comparison, compared = _BRANCHES[op.head], right.value()
    if compared == 0 and comparison in (Comparison.EQ, Comparison.NE):
        return Branch(label.location(), left.value(), unless=comparison is Comparison.EQ)
    return ptx.CompareBranch(label.location(), comparison, left.value(), compared)


def _goto(op: _Operation) -> ptx.PtxInstruction:
    op.finish()
    return Branch(op.expect(1)[0].location())


_READERS: Mapping[str, Callable[[_Operation], ptx.PtxInstruction]] = {
    "mov": _move,
    **dict.fromkeys(_COMPUTED, _compute),
    "setp": _set,
    **dict.fromkeys(_BRANCHES, _branch),
    "goto": _goto,
}
"""The reader of the columns' own arithmetic and branches, by their first word."""


def parse_litmus(text: str, file: str = "<litmus>") -> PtxLitmusTest:
    """The test in ``text``; ``file`` names it in messages.

    Raises ``LitmusError`` with file, line and column of an unreadable text.
    """
    source = SourceText(text, file)
    name, remarks, start = _head(source)
    body = _COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text[start:])
    source = SourceText(text[:start] + body, file)
    close = source.text.find("}", start)
    if close < 0:
        raise source.error(start - 1, "this '{' is never closed")
    condition_at = _CONDITION.search(source.text, close)
    if condition_at is None:
        raise source.error(len(text), "expected a condition: exists, ~exists or forall")
    initial = _Initial()
    for piece in _Piece(source, source.text[start:close], start).split(";"):
        initial.read(piece)
    table = _Piece(source, source.text[close + 1 : condition_at.start()], close + 1)
    columns = _columns(table, initial.aliases)
    initial.check_threads(len(columns))
    program = ptx.PtxProgram(
        tuple(initial.locations),
        tuple(Thread(placement, code, places) for placement, code, places in columns),
        name=name,
        aliases=initial.aliases,
        mbarriers=initial.mbarriers,
        shared=initial.shared,
        registers=initial.registers,
        tensor=frozenset(initial.tensor),
    )
    program = with_tensor_operands(program)
    condition = parse_condition(source, condition_at.start())
    written = _Piece(source, source.text[condition_at.start() :], condition_at.start())
    _check_condition(written, condition, program)
    return PtxLitmusTest(program, condition, remarks)


def _head(source: SourceText) -> tuple[str, tuple[str, ...], int]:
    """The test's name, its remarks, and where its initial state starts, after the brace.

    One remark ends and the next begins where only space is between two quotes. A brace inside
    a remark does not end the head.
    """
    text, head = source.text, _HEAD.match(source.text)
    start = 0 if head is None else head.end()
    braces = [match.start() for match in re.finditer(r"\{", text[start:])]
    outside = (each for each in braces if text.count('"', start, start + each) % 2 == 0)
    if head is None or not braces:
        raise source.error(0, "expected 'PTX name', quoted remarks and '{'")
    end = start + next(outside, braces[0])
    first, last = text.find('"', start, end), text.rfind('"', start, end)
    remarks = () if first < 0 else _BETWEEN_REMARKS.split(text[first + 1 : last])
    if first >= 0 and first == last:
        raise source.error(first, "this remark is never closed")
    return head["name"], tuple(remarks), end + 1


def _check_condition(text: _Piece, condition: Condition, program: ptx.PtxProgram) -> None:
    """Refuse a name that stands for nothing, which would read as 0."""
    for each, problem in unknown_names(condition, program):
        if isinstance(each, Memory):
            raise text.find(rf"\b{each.location}\b").error(problem)
        raise text.find(rf"(?i)\bp?0*{each.thread}\s*:\s*{each.name}\b").error(problem)


def read_litmus(path: Path) -> PtxLitmusTest:
    """The test in the file at ``path``. Raises ``LitmusError``, or ``OSError``."""
    return parse_litmus(path.read_text(), str(path))


class _Initial:
    """The initial state, declaration by declaration."""

    def __init__(self) -> None:
        self.locations: list[Location] = []
        self.registers: dict[Register, int] = {}
        self.aliases: dict[str, ptx.Alias] = {}
        self.mbarriers: dict[str, int] = {}
        self.shared: dict[str, Placement] = {}
        self.tensor: set[str] = set()
        self._pieces: dict[str | tuple[int, str], _Piece] = {}

    def read(self, piece: _Piece) -> None:
        if not piece.text:
            return
        if match := _MBARRIER.match(piece.text):
            count = 1 if match["count"] is None else parse_word(match["count"]) or 0
            try:
                check_arrivals(count)
            except ModelError as problem:
                raise piece.error(problem.message) from problem
            self._declare(piece, match["name"])
            self.mbarriers[match["name"]] = 0 if match["count"] is None else count
        elif match := _ALIAS.match(piece.text):
            self._alias(piece, match)
        elif match := _TENSOR.match(piece.text):
            self.tensor.add(match["name"])
        elif match := _SHARED.match(piece.text):
            self.shared[match["name"]] = _placement(match, piece)
        elif match := _INITIAL_REGISTER.match(piece.text):
            thread, name = piece.part(match, "thread").number(), match["name"]
            self._declare(piece, (thread, name))
            self.registers[Register(thread, name)] = piece.part(match, "value").number()
        elif match := _INITIAL.match(piece.text):
            self._declare(piece, match["name"])
            initial = piece.part(match, "value").number()
            self.locations.append(Location(match["name"], initial))
        else:
            raise piece.error(f"expected 'x=0', 'P0:r0=0' or an alias, found '{piece.text}'")

    def _alias(self, piece: _Piece, match: re.Match[str]) -> None:
        name, location = match["name"], match["location"]
        proxies = {proxy.value: proxy for proxy in ptx.PtxProxy}
        if match["proxy"] not in proxies:
            raise piece.error(f"unknown proxy '{match['proxy']}'")
        self._declare(piece, name)
        self.aliases[name] = ptx.Alias(location, proxies[match["proxy"]])
        while location in self.aliases and location != name:
            location = self.aliases[location].location
        if location == name:
            raise piece.error(f"{name} is an alias of itself")

    def _declare(self, piece: _Piece, name: str | tuple[int, str]) -> None:
        if name in self._pieces:
            shown = name if isinstance(name, str) else f"P{name[0]}:{name[1]}"
            raise piece.error(f"{shown} is declared twice")
        self._pieces[name] = piece

    def check_threads(self, count: int) -> None:
        """Refuse the register of a thread that is not there."""
        for name, piece in self._pieces.items():
            if isinstance(name, tuple) and name[0] >= count:
                raise piece.error(f"there is no thread P{name[0]}")


def _columns(
    table: _Piece, aliases: Mapping[str, ptx.Alias]
) -> list[tuple[Placement, tuple[ptx.PtxInstruction, ...], Places]]:
    """The threads of the table: the first row places them, every further row adds an
    instruction."""
    head, *rows = table.split(";")
    if rows and not rows[-1].text:
        rows.pop()
    placements: list[Placement] = []
    for number, cell in enumerate(head.split("|")):
        match = _THREAD.match(cell.text)
        if match is None or match["number"] != str(number):
            raise cell.error(f"expected 'P{number}@cta N,gpu N', found '{cell.text}'")
        placements.append(_placement(match, cell))
    codes: list[list[ptx.PtxInstruction]] = [[] for _ in placements]
    lines: list[list[SourceLocation]] = [[] for _ in placements]
    for row in rows:
        cells = row.split("|")
        if len(cells) != len(placements):
            message = f"this row has {len(cells)} columns, the threads are {len(placements)}"
            raise row.error(message)
        for code, places, cell in zip(codes, lines, cells, strict=True):
            if cell.text:
                code.append(_instruction(cell, aliases))
                places.append(cell.place())
    columns = zip(placements, codes, lines, strict=True)
    return [(placement, tuple(code), tuple(places)) for placement, code, places in columns]


def _instruction(cell: _Piece, aliases: Mapping[str, ptx.Alias]) -> ptx.PtxInstruction:
    if label := _LABEL.match(cell.text):
        return Label(label["name"])
    operation = _Operation(cell)
    opcode = operation.opcode
    if (reader := _READERS.get(opcode.head)) is not None:
        return reader(operation)
    if opcode.head == "bar" and "cta" in opcode.words:
        return _bar(operation)
    _check_words(cell, opcode)
    try:
        if (ignored := hint(opcode, cell.text)) is not None:
            return ignored
        instruction = build(opcode, [each.given() for each in operation.operands])
        check_proxies(opcode.name, instruction, aliases)
    except ModelError as problem:
        place = cell if problem.operand is None else operation.operands[problem.operand]
        raise place.error(problem.message) from problem
    return instruction


_ACCESSES = frozenset({"ld", "st", "atom", "red", *PROXIED})


def _check_words(cell: _Piece, opcode: Opcode) -> None:
    """Refuse types and spaces of an access: a column accesses a word at a location."""
    if not (opcode.types or opcode.hints or opcode.spaces or opcode.vector > 1):
        return
    if opcode.head not in _ACCESSES or {"async", "bulk"} & {*opcode.words}:
        return
    allowed = {"u32", "global"} if opcode.update in ("min", "max") else {"global"}
    for word in opcode.words[1:]:
        is_typed = word in (*opcode.types, *opcode.hints, *SPACES) or word.startswith("v")
        if is_typed and word not in allowed and word != "volatile":
            raise cell.error(f"unknown qualifier '.{word}' in {opcode.name}")


def _placement(match: re.Match[str], piece: _Piece) -> Placement:
    cta, gpu = (piece.part(match, name).number() for name in ("cta", "gpu"))
    cluster = None if match["cluster"] is None else piece.part(match, "cluster").number()
    return Placement(cta, agent=gpu, cluster=cluster)


def _operands(*operands: Operand | None) -> str:
    return ", ".join(str(each) for each in operands if each is not None)


_ORDERING_WORDS = {ordering: word for word, ordering in ORDERINGS.items()}
_SCOPE_WORDS = {scope: word for word, scope in ptx.SCOPES.items()}
_BRANCH_WORDS = {comparison: word for word, comparison in _BRANCHES.items()}
_ATOMIC_WORDS = {kind: word for word, kind in ATOMICS.items()} | {
    UNSIGNED[kind]: f"{kind}.u32" for kind in UNSIGNED
}
_PROXY_HEADS = {(of, proxy): head for head, (of, proxy) in PROXIED.items()}


def _proxied(head: str, proxy: ptx.PtxProxy) -> str:
    return _PROXY_HEADS.get((head, proxy), head)


def _qualifiers(ordering: Ordering, scope: Scope | None) -> str:
    suffix = "" if scope is None else f".{_SCOPE_WORDS[scope]}"
    return f".{_ORDERING_WORDS[ordering]}{suffix}"


def instruction_text(instruction: ptx.PtxInstruction) -> str:
    """An instruction as a litmus test writes it; ``parse_litmus`` reads it back unchanged."""
    match instruction:
        case ptx.Ld():
            head = _proxied("ld", instruction.proxy)
            qualifiers = _qualifiers(instruction.ordering, instruction.scope)
            return f"{head}{qualifiers} {instruction.dst}, {instruction.location}"
        case ptx.St():
            head = _proxied("st", instruction.proxy)
            qualifiers = _qualifiers(instruction.ordering, instruction.scope)
            return f"{head}{qualifiers} {instruction.location}, {instruction.value}"
        case ptx.Atom():
            return _atomic_text(instruction)
        case ptx.PtxFence():
            return _fence_text(instruction)
        case ptx.ProxyFence(proxy, space):
            where = "" if space is None else f".{space.value}"
            return f"fence.proxy.{proxy.value if proxy else 'alias'}{where}"
        case ptx.Bar():
            operands = _operands(instruction.instance, instruction.number, instruction.count)
            return f"bar.cta.{instruction.role.value} {operands}"
        case ptx.ClusterBarrier():
            ordering = _ORDERING_WORDS[instruction.ordering]
            return f"barrier.cluster.{instruction.role.value}.{ordering}"
        case Arithmetic(kind, dst, a, b):
            return f"{_SETS.get(kind, kind)} {_operands(dst, a, b)}"
        case Branch(target, None):
            return f"goto {target}"
        case Branch(target, condition, unless):
            return f"{'beq' if unless else 'bne'} {_operands(condition, 0, target)}"
        case ptx.CompareBranch(target, comparison, left, right):
            return f"{_BRANCH_WORDS[comparison]} {_operands(left, right, target)}"
        case Move() | Label() | Computation():
            return str(instruction)
        case _:
            return _async_text(instruction)


def _async_text(instruction: ptx.AsyncInstruction) -> str:
    """An asynchronous instruction as a litmus test writes it."""
    match instruction:
        case ptx.CrossingFence(ordering, scope, proxy, location):
            words = [f"fence.proxy.{proxy.value}::generic", _ORDERING_WORDS[ordering]]
            if proxy is ptx.PtxProxy.ASYNC:
                words.append(
                    next(restriction_word(e) for e in ptx.Restriction if e.ordering is ordering)
                )
            head = ".".join([*words, _SCOPE_WORDS[scope]])
            return head if location is None else f"{head} {location}"
        case ptx.InitFence():
            return "fence.mbarrier_init.release.cluster"
        case ptx.MbarrierInit(mbarrier, count):
            return f"mbarrier.init {mbarrier}, {count}" if count else f"mbarrier.inval {mbarrier}"
        case ptx.MbarrierArrive():
            return _arrival_text(instruction)
        case ptx.MbarrierTx(mbarrier, size, scope):
            word = "expect_tx" if size > 0 else "complete_tx"
            return f"mbarrier.{word}.relaxed.{_SCOPE_WORDS[scope]} {mbarrier}, {abs(size)}"
        case ptx.MbarrierWait():
            parity = ".parity" if instruction.by_parity else ""
            qualifiers = _qualifiers(instruction.ordering, instruction.scope)
            operands = _operands(instruction.dst, instruction.mbarrier, instruction.phase)
            return f"mbarrier.try_wait{parity}{qualifiers} {operands}"
        case ptx.AsyncCopy():
            return _copy_text(instruction)
        case ptx.AsyncRelease(location, value, scope, operation):
            word = "" if operation is None else f".{_ATOMIC_WORDS[operation]}"
            head = "st" if operation is None else "red"
            return f"{head}.async.release.{_SCOPE_WORDS[scope]}{word} {location}, {value}"
        case ptx.CommitGroup(unit):
            return f"{unit.value}.commit_group"
        case ptx.WaitGroup(commits=True, unit=unit):
            return f"{unit.value}.wait_all"
        case ptx.WaitGroup(reads_only, pending, unit):
            return f"{unit.value}.wait_group{'.read' if reads_only else ''} {pending}"
        case ptx.CopyArrive(mbarrier, counted):
            return f"cp.async.mbarrier.arrive{'' if counted else '.noinc'} {mbarrier}"
        case ptx.MapCopy(location, source, scope):
            words = f"tensormap::generic.release.{_SCOPE_WORDS[scope]}"
            return f"tensormap.cp_fenceproxy.{words} {location}, {source}"
        case ptx.Multimem():
            return _multimem_text(instruction)
        case ptx.Hint(text):
            return text
        case ptx.RegisterFence():
            return "wgmma.fence"
        case ptx.WgmmaProduct(dst, a, b, adds):
            return f"wgmma.mma_async {_operands(dst, a, b, adds)}"
        case ptx.TensorLoad(dst, location):
            return f"tcgen05.ld {dst}, {location}"
        case ptx.TensorStore(location, value):
            return f"tcgen05.st {location}, {value}"
        case ptx.TensorCopy(location, source):
            return f"tcgen05.cp {location}, {source}"
        case ptx.TensorProduct(location, a, b, adds):
            return f"tcgen05.mma {_operands(location, a, b, adds)}"
        case ptx.TensorCommit(mbarrier):
            return f"tcgen05.commit {mbarrier}"
        case ptx.TensorFence(kind):
            return kind.value


def _arrival_text(arrive: ptx.MbarrierArrive) -> str:
    word = "arrive_drop" if arrive.drops else "arrive"
    expect = ".expect_tx" if arrive.expect_tx else ""
    qualifiers = _qualifiers(arrive.ordering, arrive.scope)
    count = None if arrive.count == 1 else arrive.count
    operands = _operands(arrive.token, arrive.mbarrier, arrive.expect_tx or count)
    return f"mbarrier.{word}{expect}{qualifiers} {operands}"


def _copy_text(copy: ptx.AsyncCopy) -> str:
    operation = "" if copy.operation is None else f".{_ATOMIC_WORDS[copy.operation]}"
    size = None if copy.bytes == 1 else copy.bytes
    if copy.source is None:
        head = "st.async" if copy.operation is None else f"red.async{operation}"
        return f"{head} {_operands(copy.location, copy.value, size, copy.mbarrier)}"
    by_map = copy.read_map is not None or copy.written_map is not None
    head = "cp.async" if copy.operation is None else "cp.reduce.async"
    if copy.unit is ptx.Unit.BULK:
        head += ".bulk" + (".tensor" if by_map else "")
        head += ".bulk_group" if copy.mbarrier is None else ""
    target = _moved_text([written for written, _ in copy.words], copy.written_map)
    source = _moved_text([read or "" for _, read in copy.words], copy.read_map)
    return f"{head}{operation} {_operands(target, source, size, copy.mbarrier)}"


def _moved_text(words: Sequence[str], described: ptx.TensorMap | None) -> str:
    if described is None:
        return _words_text(words)
    return f"[{_operands(described.location, *map(_words_text, described.choices))}]"


def _words_text(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{{{', '.join(words)}}}"


def _multimem_text(access: ptx.Multimem) -> str:
    operation = "" if access.operation is None else f".{_ATOMIC_WORDS[access.operation]}"
    peers = f"{{{', '.join(access.locations)}}}"
    qualifiers = _qualifiers(access.ordering, access.scope)
    if access.dst is not None:
        return f"multimem.ld_reduce{qualifiers}{operation} {access.dst}, {peers}"
    head = "st" if access.operation is None else "red"
    return f"multimem.{head}{qualifiers}{operation} {peers}, {access.value}"


def _fence_text(fence: ptx.PtxFence) -> str:
    if fence.restriction is None:
        return f"fence{_qualifiers(fence.ordering, fence.scope)}"
    words = (_ORDERING_WORDS[fence.ordering], restriction_word(fence.restriction))
    return ".".join(("fence", *words, _SCOPE_WORDS[fence.scope]))


def _atomic_text(atomic: ptx.Atom) -> str:
    head = _proxied("red" if atomic.dst is None else "atom", atomic.proxy)
    operation = _ATOMIC_WORDS[atomic.operation] if atomic.compare is None else "cas"
    operands = _operands(atomic.dst, atomic.location, atomic.compare, atomic.operand)
    return f"{head}{_qualifiers(atomic.ordering, atomic.scope)}.{operation} {operands}"


def write_litmus(test: PtxLitmusTest) -> str:
    """The text of a test; ``parse_litmus`` reads back an equal one."""
    program = test.program
    lines = [f"PTX {test.name}", *(f'"{remark}"' for remark in test.remarks), "{"]
    lines += [f"{each.name}={each.initial};" for each in program.locations]
    lines += [
        f"{name} = mbarrier{f'({count})' if count else ''};"
        for name, count in program.mbarriers.items()
    ]
    lines += [
        f"{name} @ {alias.proxy.value} aliases {alias.location};"
        for name, alias in program.aliases.items()
    ]
    lines += [f"{name}{_place_text(home)};" for name, home in program.shared.items()]
    lines += [f"{name} @ tmem;" for name in sorted(program.tensor)]
    by_thread = sorted(program.registers.items(), key=lambda each: each[0].thread)
    lines += [f"{register}={value};" for register, value in by_thread]
    lines.append("}")
    lines += _table(
        [
            [
                f"P{number}{_place_text(thread.placement)}",
                *(instruction_text(i) for i in thread.instructions),
            ]
            for number, thread in enumerate(program.threads)
        ]
    )
    lines.append(str(test.condition))
    return "\n".join(lines) + "\n"


def _place_text(placement: Placement) -> str:
    cluster = "" if placement.cluster is None else f"cluster {placement.cluster},"
    return f"@cta {placement.workgroup},{cluster}gpu {placement.agent}"


def _table(columns: list[list[str]]) -> list[str]:
    height = max(len(column) for column in columns)
    widths = [max(len(cell) for cell in column) for column in columns]
    rows: list[str] = []
    for i in range(height):
        cells = [column[i] if i < len(column) else "" for column in columns]
        row = " | ".join(c.ljust(w) for c, w in zip(cells, widths, strict=True))
        rows.append(f" {row} ;")
    return rows


def witness_text(test: PtxLitmusTest, witness: PtxWitness) -> str:
    """A witness for people: events with their instructions, relations, and the broken axiom."""
    lines: list[str] = []
    for number, event in enumerate(witness.events):
        what = f"{event.location} = {witness.values[number]}" if event.is_access else ""
        if event.thread < 0:
            lines.append(f"{number:>3}  init  W {what}")
            continue
        code = instruction_text(test.program.threads[event.thread].instructions[event.position])
        lines.append(f"{number:>3}  P{event.thread}    {event.kind.value} {what:<10} {code}")
    for name, related in witness.relations.items():
        shown = " ".join(f"{a}->{b}" for a, b in related)
        lines.append(f"{name:<6}{shown or '-'}")
    lines.append("final " + " ".join(f"{each}={value}" for each, value in witness.state.items()))
    for axiom, cycle in witness.violations:
        lines.append(f"forbidden by {axiom.value}: {' -> '.join(str(e) for e in cycle)}")
    if witness.allowed:
        lines.append("allowed")
    return "\n".join(lines)
