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
shared memory of that CTA, which only fences with ``.sync_restrict`` ask for). Placements take an
optional ``cluster N``. Weak loads and stores take PTX's cache operators, which are hints; ``ld.nc``
reads through the texture proxy, as PTX says of it: it may read what is stale unless nothing writes
the location. ``tld``, ``suld``, ``cold``, ``sust``, ``suatom`` and ``sured`` go through the
texture, surface and constant proxies. The first operand of ``bar.cta`` is unique to the
instruction in its program, then follow the barrier's number and its thread count.
Numbers are 32-bit words, signed or unsigned. Remarks may have quotes inside.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fencewright.lowering.ptx.text import words_of
from fencewright.lowering.vocabulary import Ordering, RmwKind, Scope
from fencewright.simulator.core.condition import (
    Comparison,
    Condition,
    Memory,
    Register,
    SourceText,
    observable_order,
    parse_condition,
)
from fencewright.simulator.core.program import (
    Arithmetic,
    ArithmeticKind,
    Branch,
    Label,
    LitmusTest,
    Location,
    Move,
    Operand,
    Place,
    Placement,
    Places,
    Thread,
)
from fencewright.simulator.core.words import TOO_WIDE, parse_word
from fencewright.simulator.ptx import events as ptx
from fencewright.simulator.ptx.model import PtxWitness


@dataclass(frozen=True, slots=True)
class PtxLitmusTest(LitmusTest[ptx.PtxInstruction]):
    """A named program with the condition on its outcomes; ``remarks`` are kept as written."""

    program: ptx.PtxProgram
    condition: Condition
    remarks: tuple[str, ...] = ()


ORDERINGS: Mapping[str, Ordering] = {
    "weak": Ordering.WEAK,
    "relaxed": Ordering.RELAXED,
    "acquire": Ordering.ACQUIRE,
    "release": Ordering.RELEASE,
    "acq_rel": Ordering.ACQ_REL,
    "sc": Ordering.SEQ_CST,
}
"""PTX's ``.sem`` qualifiers."""

_ACCESS_PROXIES = {
    "ld": ptx.PtxProxy.GENERIC,
    "cold": ptx.PtxProxy.CONSTANT,
    "tld": ptx.PtxProxy.TEXTURE,
    "suld": ptx.PtxProxy.SURFACE,
    "st": ptx.PtxProxy.GENERIC,
    "sust": ptx.PtxProxy.SURFACE,
    "atom": ptx.PtxProxy.GENERIC,
    "suatom": ptx.PtxProxy.SURFACE,
    "red": ptx.PtxProxy.GENERIC,
    "sured": ptx.PtxProxy.SURFACE,
}
_BRANCHES = {
    "beq": Comparison.EQ,
    "bne": Comparison.NE,
    "blt": Comparison.LT,
    "ble": Comparison.LE,
    "bgt": Comparison.GT,
    "bge": Comparison.GE,
}
ATOMICS: Mapping[str, RmwKind] = {
    "add": RmwKind.ADD,
    "sub": RmwKind.SUB,
    "and": RmwKind.AND,
    "or": RmwKind.OR,
    "xor": RmwKind.XOR,
    "min": RmwKind.MIN,
    "max": RmwKind.MAX,
    "exch": RmwKind.XCHG,
}
"""The operations of atomics; ``.min`` and ``.max`` are signed without the qualifier ``.u32``."""
_UNSIGNED = {RmwKind.MIN: RmwKind.UMIN, RmwKind.MAX: RmwKind.UMAX}
# PTX ISA, Cache Operators: performance hints, which do not change the consistency of a program.
_LOAD_OPERATORS = ("ca", "cg", "cs", "lu", "cv")
_NON_COHERENT_OPERATORS = ("ca", "cg", "cs")
_STORE_OPERATORS = ("wb", "cg", "cs", "wt")
_STRONG = ("relaxed", "acquire", "release", "volatile", "mmio")
_COMPUTED = tuple(
    map(ArithmeticKind, ("add", "sub", "mul", "div", "and", "or", "xor", "min", "max"))
)
_SETS: Mapping[ArithmeticKind, str] = {
    ArithmeticKind.EQ: "setp.eq",
    ArithmeticKind.NE: "setp.ne",
    ArithmeticKind.LT: "setp.lt.u32",
    ArithmeticKind.LE: "setp.le.u32",
}
_MEMBAR_SCOPES = {"cta": Scope.WORKGROUP, "gl": Scope.AGENT, "sys": Scope.SYSTEM}
_ROLES = {
    "sync": ptx.BarrierRole.SYNC,
    "red": ptx.BarrierRole.SYNC,
    "arrive": ptx.BarrierRole.ARRIVE,
}
_LOAD_ORDERINGS = (Ordering.WEAK, Ordering.RELAXED, Ordering.ACQUIRE)
_STORE_ORDERINGS = (Ordering.WEAK, Ordering.RELAXED, Ordering.RELEASE)
_ATOMIC_ORDERINGS = (Ordering.RELAXED, Ordering.ACQUIRE, Ordering.RELEASE, Ordering.ACQ_REL)
_FENCE_ORDERINGS = (Ordering.ACQUIRE, Ordering.RELEASE, Ordering.ACQ_REL, Ordering.SEQ_CST)

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
_MBARRIER = re.compile(r"(?P<name>[A-Za-z_]\w*)\s*=\s*mbarrier\s*\(\s*(?P<count>\d+)\s*\)$")
_LABEL = re.compile(r"(?P<name>[A-Za-z_]\w*)\s*:$")
_INSTRUCTION = re.compile(r"(?P<mnemonic>[a-z][\w.:]*)(?:\s+(?P<operands>.*))?$", re.DOTALL)
_REGISTER = re.compile(r"r\d+$")
_NUMBER = re.compile(r"-?(?:0x[0-9a-fA-F]+|\d+)$")
_NAME = re.compile(r"[A-Za-z_]\w*$")
_SHOWN = 24
"""How many characters of a number too wide an error shows."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """A stripped piece of the source, with its offset."""

    source: SourceText
    text: str
    offset: int

    def error(self, message: str) -> Exception:
        return self.source.error(self.offset, message)

    def place(self) -> Place:
        """Where the piece is."""
        return Place(self.source.file, self.source.text.count("\n", 0, self.offset) + 1)

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
        """What a ``group`` of a match of the whole text has found."""
        return _Piece(self.source, match[group], self.offset + match.start(group))

    def find(self, pattern: str) -> "_Piece":
        """The piece from where ``pattern`` is first found; the whole one if it is nowhere."""
        match = re.compile(pattern).search(self.text)
        start = 0 if match is None else match.start()
        return _Piece(self.source, self.text[start:], self.offset + start)

    def value(self) -> Operand:
        return self.text if _REGISTER.match(self.text) else self.number()

    def register(self) -> str:
        if not _REGISTER.match(self.text):
            raise self.error(f"expected a register like r0, found '{self.text}'")
        return self.text

    def location(self) -> str:
        if not _NAME.match(self.text) or _REGISTER.match(self.text):
            raise self.error(f"expected a location, found '{self.text}'")
        return self.text


class _Operation:
    """One instruction in pieces: the words of its mnemonic and its operands."""

    def __init__(self, piece: _Piece):
        match = _INSTRUCTION.match(piece.text)
        if match is None:
            raise piece.error(f"expected an instruction, found '{piece.text}'")
        self.piece = piece
        self.mnemonic = match["mnemonic"]
        self.head, *self.qualifiers = self.mnemonic.split(".")
        rest = match["operands"]
        start = piece.offset + match.start("operands")
        self.operands = _Piece(piece.source, rest, start).split(",") if rest else []

    def error(self, message: str) -> Exception:
        return self.piece.error(message)

    def expect(self, least: int, most: int | None = None) -> list[_Piece]:
        """The operands, when there are between ``least`` and ``most`` of them."""
        found = len(self.operands)
        if not least <= found <= (least if most is None else most):
            wanted = f"{least}" if most is None else f"{least} to {most}"
            raise self.error(f"{self.mnemonic} takes {wanted} operands, not {found}")
        return self.operands

    def take(self, word: str) -> bool:
        """Whether ``word`` is among the qualifiers; removes it."""
        if word not in self.qualifiers:
            return False
        self.qualifiers.remove(word)
        return True

    def finish(self) -> None:
        """Refuse qualifiers that nothing has taken."""
        if self.qualifiers:
            raise self.error(f"unknown qualifier '.{self.qualifiers[0]}' in {self.mnemonic}")

    def ordering(self, default: Ordering, allowed: Iterable[Ordering]) -> Ordering:
        """The ``.sem`` qualifier."""
        found = [q for q in self.qualifiers if q in ORDERINGS]
        if len(found) > 1:
            raise self.error(f"{self.mnemonic} has two orderings")
        ordering = ORDERINGS[found[0]] if found else default
        if found:
            self.take(found[0])
        if ordering not in allowed:
            names = ", ".join(f".{name}" for name, o in ORDERINGS.items() if o in allowed)
            raise self.error(
                f"{self.head} cannot be .{found[0] if found else 'plain'}; it takes {names}"
            )
        return ordering

    def scope(self) -> Scope | None:
        """The ``.scope`` qualifier; None when there is none."""
        found = [q for q in self.qualifiers if q in ptx.SCOPES]
        if len(found) > 1:
            raise self.error(f"{self.mnemonic} has two scopes")
        if found:
            self.take(found[0])
        return ptx.SCOPES[found[0]] if found else None

    def cache_operator(self, known: Iterable[str]) -> None:
        """Take a ``.cop``: a hint, which only a weak access of the generic proxy may have."""
        found = [each for each in known if each in self.qualifiers]
        if found and any(each in self.qualifiers for each in _STRONG):
            raise self.error(f"{self.mnemonic} is not weak, so it has no .{found[0]}")
        if found and self.head in ("ld", "st"):
            self.take(found[0])

    def access(self, allowed: Iterable[Ordering]) -> tuple[Ordering, Scope | None]:
        """Ordering and scope of a load or store; ``.volatile`` is ``.relaxed.sys``."""
        if self.take("volatile"):
            self.finish()
            return Ordering.RELAXED, Scope.SYSTEM
        self.take("mmio")
        ordering, scope = self.ordering(Ordering.WEAK, allowed), self.scope()
        self.finish()
        if ordering is Ordering.WEAK and scope is not None:
            raise self.error(f"{self.mnemonic} is weak, so it has no scope")
        if ordering is not Ordering.WEAK and scope is None:
            raise self.error(f"{self.mnemonic} needs a scope: {_listed(ptx.SCOPES)}")
        return ordering, scope


def _listed(words: Iterable[str]) -> str:
    return ", ".join(f".{word}" for word in words)


def _load(op: _Operation) -> ptx.PtxInstruction:
    target, source = op.expect(2)
    op.take("global")
    non_coherent = op.head == "ld" and op.take("nc")
    if non_coherent and "volatile" in op.qualifiers:
        raise op.error(f"{op.mnemonic} is non-coherent, so it is weak")
    op.cache_operator(_NON_COHERENT_OPERATORS if non_coherent else _LOAD_OPERATORS)
    ordering, scope = op.access((Ordering.WEAK,) if non_coherent else _LOAD_ORDERINGS)
    if _NUMBER.match(source.text):
        return Move(target.register(), source.number())
    proxy = ptx.PtxProxy.TEXTURE if non_coherent else _ACCESS_PROXIES[op.head]
    return ptx.Ld(target.register(), source.location(), ordering, scope, proxy)


def _store(op: _Operation) -> ptx.PtxInstruction:
    if op.take("async"):
        op.finish()
        target, value, mbarrier = op.expect(3)
        return ptx.AsyncCopy(target.location(), None, value.value(), mbarrier.location())
    target, value = op.expect(2)
    op.take("global")
    op.cache_operator(_STORE_OPERATORS)
    ordering, scope = op.access(_STORE_ORDERINGS)
    return ptx.St(target.location(), value.value(), ordering, scope, _ACCESS_PROXIES[op.head])


def _atomic(op: _Operation) -> ptx.PtxInstruction:
    is_cas = op.take("cas")
    found = ["exch"] if is_cas else [q for q in op.qualifiers if q in ATOMICS]
    if len(found) != 1:
        raise op.error(f"{op.mnemonic} needs one operation: .cas, {_listed(ATOMICS)}")
    op.take(found[0])
    operation = ATOMICS[found[0]]
    if operation in _UNSIGNED and op.take("u32"):
        operation = _UNSIGNED[operation]
    ordering = op.ordering(Ordering.RELAXED, _ATOMIC_ORDERINGS)
    scope = op.scope() or Scope.AGENT
    op.finish()
    returns = op.head.endswith("atom")
    operands = op.expect(2 + is_cas + returns)
    register = operands[0].register() if returns else None
    location, *values = operands[returns:]
    compare = values[0].value() if is_cas else None
    return ptx.Atom(
        register,
        location.location(),
        operation,
        values[-1].value(),
        compare,
        ordering,
        scope,
        _ACCESS_PROXIES[op.head],
    )


def _fence(op: _Operation) -> ptx.PtxInstruction:
    op.expect(0)
    if op.take("proxy"):
        return _proxy_fence(op)
    ordering = op.ordering(Ordering.ACQ_REL, _FENCE_ORDERINGS)
    restriction = restriction_in(op.mnemonic)
    if restriction is not None:
        op.take(_restriction_word(restriction))
    scope = op.scope()
    op.finish()
    if scope is None:
        raise op.error(f"{op.mnemonic} needs a scope: {_listed(ptx.SCOPES)}")
    fence = ptx.PtxFence(ordering, scope, restriction)
    if fence.problem:
        raise op.error(fence.problem)
    return fence


def _proxy_fence(op: _Operation) -> ptx.PtxInstruction:
    proxies = {proxy.value: proxy for proxy in ptx.PtxProxy if proxy is not ptx.PtxProxy.GENERIC}
    if op.take("alias"):
        op.finish()
        return ptx.ProxyFence(None)
    found = [q for q in op.qualifiers if q in proxies]
    if not found:
        raise op.error(f"{op.mnemonic} needs a proxy: .alias, {_listed(proxies)}")
    op.take(found[0])
    op.finish()
    return ptx.ProxyFence(proxies[found[0]])


def _membar(op: _Operation) -> ptx.PtxInstruction:
    op.expect(0)
    if len(op.qualifiers) != 1 or op.qualifiers[0] not in _MEMBAR_SCOPES:
        raise op.error(f"membar needs one of {_listed(_MEMBAR_SCOPES)}")
    return ptx.PtxFence(Ordering.SEQ_CST, _MEMBAR_SCOPES[op.qualifiers[0]])


def _bar(op: _Operation) -> ptx.PtxInstruction:
    op.take("cta")
    if len(op.qualifiers) != 1 or op.qualifiers[0] not in _ROLES:
        raise op.error(f"bar needs one of {_listed(_ROLES)}")
    instance, *rest = (operand.value() for operand in op.expect(1, 3))
    number = rest[0] if rest else 0
    return ptx.Bar(_ROLES[op.qualifiers[0]], instance, number, rest[1] if rest[1:] else None)


def _barrier(op: _Operation) -> ptx.PtxInstruction:
    op.expect(0)
    if not op.take("cluster"):
        raise op.error("expected barrier.cluster.arrive or barrier.cluster.wait")
    arrives, waits = op.take("arrive"), op.take("wait")
    if arrives == waits:
        raise op.error("barrier.cluster either arrives or waits")
    default = Ordering.RELEASE if arrives else Ordering.ACQUIRE
    allowed = (Ordering.RELEASE, Ordering.RELAXED) if arrives else (Ordering.ACQUIRE,)
    ordering = op.ordering(default, allowed)
    op.finish()
    return ptx.ClusterBarrier(ptx.BarrierRole.ARRIVE if arrives else ptx.BarrierRole.WAIT, ordering)


def _mbarrier(op: _Operation) -> ptx.PtxInstruction:
    arrives, expects = op.take("arrive"), op.take("expect_tx")
    waits = op.take("try_wait") or op.take("test_wait")
    op.take("parity")
    if arrives == waits:
        raise op.error("expected mbarrier.arrive or mbarrier.try_wait")
    default = Ordering.RELEASE if arrives else Ordering.ACQUIRE
    ordering = op.ordering(default, (default, Ordering.RELAXED))
    scope = op.scope() or Scope.WORKGROUP
    op.finish()
    if scope not in (Scope.WORKGROUP, Scope.CLUSTER):
        raise op.error("an mbarrier operation has the scope .cta or .cluster")
    if arrives:
        name, *rest = op.expect(2 if expects else 1)
        return ptx.MbarrierArrive(name.location(), ordering, scope, rest[0].number() if rest else 0)
    name, *rest = op.expect(1, 2)
    return ptx.MbarrierWait(name.location(), rest[0].number() if rest else 0, ordering, scope)


def _copy(op: _Operation) -> ptx.PtxInstruction:
    if not (op.take("async") and op.take("bulk")):
        raise op.error("expected cp.async.bulk")
    if op.take("commit_group"):
        op.finish()
        op.expect(0)
        return ptx.CommitGroup()
    if op.take("wait_group"):
        reads_only = op.take("read")
        op.finish()
        if op.expect(1)[0].number() != 0:
            raise op.error("wait_group is supported for 0 pending groups only")
        return ptx.WaitGroup(reads_only)
    if op.take("bulk_group"):
        op.finish()
        target, source = op.expect(2)
        return ptx.AsyncCopy(target.location(), source.location())
    op.finish()
    target, source, mbarrier = op.expect(3)
    return ptx.AsyncCopy(target.location(), source.location(), 0, mbarrier.location())


def _compute(op: _Operation) -> ptx.PtxInstruction:
    op.finish()
    target, left, right = op.expect(3)
    return Arithmetic(ArithmeticKind(op.head), target.register(), left.value(), right.value())


def _set(op: _Operation) -> ptx.PtxInstruction:
    kinds = {word: kind for kind, word in _SETS.items()}
    if op.mnemonic not in kinds:
        raise op.error(f"expected {', '.join(kinds)}")
    target, left, right = op.expect(3)
    return Arithmetic(kinds[op.mnemonic], target.register(), left.value(), right.value())


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
    **dict.fromkeys(("ld", "tld", "suld", "cold"), _load),
    **dict.fromkeys(("st", "sust"), _store),
    **dict.fromkeys(("atom", "suatom", "red", "sured"), _atomic),
    "fence": _fence,
    "membar": _membar,
    "bar": _bar,
    "barrier": _barrier,
    "mbarrier": _mbarrier,
    "cp": _copy,
    "mov": _move,
    **dict.fromkeys(_COMPUTED, _compute),
    "setp": _set,
    **dict.fromkeys(_BRANCHES, _branch),
    "goto": _goto,
}
"""Who reads an instruction, by the first word of its mnemonic."""


def parse_litmus(text: str, file: str = "<litmus>") -> PtxLitmusTest:
    """The test in ``text``; ``file`` names it in messages.

    Raises ``LitmusError`` with file, line and column of what cannot be read.
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
    )
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
    locations = {*program.initial, *program.aliases}
    for thread in program.threads:
        locations |= {name for each in thread.instructions for name, _ in ptx.accesses(each)}
    for each in sorted(condition.formula.observables(), key=observable_order):
        if isinstance(each, Memory):
            at = text.find(rf"\b{each.location}\b")
            if each.location not in locations:
                raise at.error(f"the condition names {each}, which nothing in the test accesses")
            if each.location in program.aliases:
                location = program.physical(each.location)
                raise at.error(f"{each} is another name of {location}: name that")
            continue
        at = text.find(rf"(?i)\bp?0*{each.thread}\s*:\s*{each.name}\b")
        if each.thread >= len(program.threads):
            raise at.error(f"the condition names {each}, but there is no thread P{each.thread}")
        code = program.threads[each.thread].instructions
        if each not in program.registers and all(each.name not in ptx.assigned(i) for i in code):
            raise at.error(f"the condition names {each}, which nothing in the test sets")


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
        self._pieces: dict[str | tuple[int, str], _Piece] = {}

    def read(self, piece: _Piece) -> None:
        if not piece.text:
            return
        if match := _MBARRIER.match(piece.text):
            count = parse_word(match["count"])
            if count is None or count not in range(1, 1 << 20):
                raise piece.error("an mbarrier expects 1 to 2^20 - 1 arrivals")
            self._declare(piece, match["name"])
            self.mbarriers[match["name"]] = count
        elif match := _ALIAS.match(piece.text):
            self._alias(piece, match)
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
    """The threads of the table: the first row places them, every further row adds an instruction."""
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
    lines: list[list[Place]] = [[] for _ in placements]
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
    reader = _READERS.get(operation.head)
    if reader is None:
        raise cell.error(f"unknown instruction '{operation.mnemonic}'")
    instruction = reader(operation)
    for name, proxy in ptx.accesses(instruction):
        alias = aliases.get(name)
        if alias is not None and alias.proxy not in (ptx.PtxProxy.GENERIC, proxy):
            raise cell.error(
                f"{name} is {alias.location} through the {alias.proxy.value} proxy; "
                f"{operation.mnemonic} goes through the {proxy.value} proxy"
            )
    return instruction


def _placement(match: re.Match[str], piece: _Piece) -> Placement:
    cta, gpu = (piece.part(match, name).number() for name in ("cta", "gpu"))
    cluster = None if match["cluster"] is None else piece.part(match, "cluster").number()
    return Placement(cta, agent=gpu, cluster=cluster)


def restriction_in(mnemonic: str) -> ptx.Restriction | None:
    """The ``.sync_restrict`` qualifier of a fence; None if it has none."""
    words = words_of(mnemonic)
    return next((each for each in ptx.Restriction if _restriction_word(each) in words), None)


def _restriction_word(restriction: ptx.Restriction) -> str:
    return f"sync_restrict::{restriction.value}"


def _operands(*operands: Operand | None) -> str:
    return ", ".join(str(each) for each in operands if each is not None)


_ORDERING_WORDS = {ordering: word for word, ordering in ORDERINGS.items()}
_SCOPE_WORDS = {scope: word for word, scope in ptx.SCOPES.items()}
_BRANCH_WORDS = {comparison: word for word, comparison in _BRANCHES.items()}
_ATOMIC_WORDS = {kind: word for word, kind in ATOMICS.items()} | {
    _UNSIGNED[kind]: f"{kind}.u32" for kind in _UNSIGNED
}
_PROXY_PREFIX = {
    ptx.PtxProxy.GENERIC: "",
    ptx.PtxProxy.SURFACE: "su",
    ptx.PtxProxy.TEXTURE: "t",
    ptx.PtxProxy.CONSTANT: "co",
}


def _qualifiers(ordering: Ordering, scope: Scope | None) -> str:
    suffix = "" if scope is None else f".{_SCOPE_WORDS[scope]}"
    return f".{_ORDERING_WORDS[ordering]}{suffix}"


def instruction_text(instruction: ptx.PtxInstruction) -> str:
    """An instruction as a litmus test writes it; ``parse_litmus`` reads it back unchanged."""
    match instruction:
        case ptx.Ld():
            head = f"{_PROXY_PREFIX[instruction.proxy]}ld"
            qualifiers = _qualifiers(instruction.ordering, instruction.scope)
            return f"{head}{qualifiers} {instruction.dst}, {instruction.location}"
        case ptx.St():
            head = f"{_PROXY_PREFIX[instruction.proxy]}st"
            qualifiers = _qualifiers(instruction.ordering, instruction.scope)
            return f"{head}{qualifiers} {instruction.location}, {instruction.value}"
        case ptx.Atom():
            return _atomic_text(instruction)
        case ptx.PtxFence():
            return _fence_text(instruction)
        case ptx.ProxyFence():
            return f"fence.proxy.{instruction.proxy.value if instruction.proxy else 'alias'}"
        case ptx.Bar():
            operands = _operands(instruction.instance, instruction.number, instruction.count)
            return f"bar.cta.{instruction.role.value} {operands}"
        case ptx.ClusterBarrier():
            ordering = _ORDERING_WORDS[instruction.ordering]
            return f"barrier.cluster.{instruction.role.value}.{ordering}"
        case ptx.MbarrierArrive():
            expect = ".expect_tx" if instruction.expect_tx else ""
            qualifiers = _qualifiers(instruction.ordering, instruction.scope)
            operands = _operands(instruction.mbarrier, instruction.expect_tx or None)
            return f"mbarrier.arrive{expect}{qualifiers} {operands}"
        case ptx.MbarrierWait():
            qualifiers = _qualifiers(instruction.ordering, instruction.scope)
            return f"mbarrier.try_wait{qualifiers} {instruction.mbarrier}, {instruction.phase}"
        case ptx.AsyncCopy(source=None):
            operands = _operands(instruction.location, instruction.value, instruction.mbarrier)
            return f"st.async {operands}"
        case ptx.AsyncCopy():
            group = ".bulk_group" if instruction.mbarrier is None else ""
            operands = _operands(instruction.location, instruction.source, instruction.mbarrier)
            return f"cp.async.bulk{group} {operands}"
        case ptx.CommitGroup():
            return "cp.async.bulk.commit_group"
        case ptx.WaitGroup():
            return f"cp.async.bulk.wait_group{'.read' if instruction.reads_only else ''} 0"
        case Arithmetic(kind, dst, a, b):
            return f"{_SETS.get(kind, kind)} {_operands(dst, a, b)}"
        case Branch(target, None):
            return f"goto {target}"
        case Branch(target, condition, unless):
            return f"{'beq' if unless else 'bne'} {_operands(condition, 0, target)}"
        case ptx.CompareBranch(target, comparison, left, right):
            return f"{_BRANCH_WORDS[comparison]} {_operands(left, right, target)}"
        case Move() | Label():
            return str(instruction)


def _fence_text(fence: ptx.PtxFence) -> str:
    if fence.restriction is None:
        return f"fence{_qualifiers(fence.ordering, fence.scope)}"
    words = (_ORDERING_WORDS[fence.ordering], _restriction_word(fence.restriction))
    return ".".join(("fence", *words, _SCOPE_WORDS[fence.scope]))


def _atomic_text(atomic: ptx.Atom) -> str:
    head = _PROXY_PREFIX[atomic.proxy] + ("red" if atomic.dst is None else "atom")
    operation = _ATOMIC_WORDS[atomic.operation] if atomic.compare is None else "cas"
    operands = _operands(atomic.dst, atomic.location, atomic.compare, atomic.operand)
    return f"{head}{_qualifiers(atomic.ordering, atomic.scope)}.{operation} {operands}"


def write_litmus(test: PtxLitmusTest) -> str:
    """The text of a test; ``parse_litmus`` reads back an equal one."""
    program = test.program
    lines = [f"PTX {test.name}", *(f'"{remark}"' for remark in test.remarks), "{"]
    lines += [f"{each.name}={each.initial};" for each in program.locations]
    lines += [f"{name} = mbarrier({count});" for name, count in program.mbarriers.items()]
    lines += [
        f"{name} @ {alias.proxy.value} aliases {alias.location};"
        for name, alias in program.aliases.items()
    ]
    lines += [f"{name}{_place_text(home)};" for name, home in program.shared.items()]
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
    """A witness for people: events with their instructions, relations, and what is broken."""
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
