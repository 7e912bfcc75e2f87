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
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fencewright.lowering.code.source_location import SourceLocation
from fencewright.lowering.ptx.code.statements import ORDERINGS as STRONG_WORDS
from fencewright.lowering.ptx.code.statements import read_opcode
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
    Placement,
    Places,
    Thread,
)
from fencewright.simulator.core.words import TOO_WIDE, parse_word
from fencewright.simulator.ptx import instructions as ptx
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
    "inc": RmwKind.UINC_WRAP,
    "dec": RmwKind.UDEC_WRAP,
    "exch": RmwKind.XCHG,
}
"""The operations of atomics; ``.min`` and ``.max`` are signed without the qualifier ``.u32``."""
_REDUCTIONS = tuple(word for word in ATOMICS if word != "exch")
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
_MBARRIER = re.compile(r"(?P<name>[A-Za-z_]\w*)\s*=\s*mbarrier\s*(?:\(\s*(?P<count>\d+)\s*\))?$")
_TENSOR = re.compile(r"(?P<name>[A-Za-z_]\w*)\s*@\s*tmem$")
_LABEL = re.compile(r"(?P<name>[A-Za-z_]\w*)\s*:$")
_INSTRUCTION = re.compile(r"(?P<mnemonic>[a-z][\w.:]*)(?:\s+(?P<operands>.*))?$", re.DOTALL)
_REGISTER = re.compile(r"r\d+$")
_NUMBER = re.compile(r"-?(?:0x[0-9a-fA-F]+|\d+)$")
_NAME = re.compile(r"[A-Za-z_]\w*$")
_TYPE = re.compile(r"[busf](?P<bits>8|16|32|64|128)$")
_FLOAT = re.compile(r"b?f(?:16|32|64)(?:x2)?$|e\d+m\d+(?:x\d)?$|tf32$")
_DROPPED = re.compile(
    r"shared(?:::(?:cta|cluster))?$|global$|param::\w+$|[busf](?:8|16|32|64|128|1024)$|e\d+m\d+$|bf16$|tf32$"
    r"|v[24]$|tile$|[1-5]d$|m\d+n\d+k\d+$|\d+x\d+b$|x\d+$|kind::\w+$|cta_group::1$|sync$|aligned$"
    r"|L[12]::\w+$|mbarrier::(?:complete_tx::bytes|arrive::one)$|c[ag]$|layout::v0$|phase_type::primary$"
)
"""The qualifiers of asynchronous instructions that say nothing about words and their order."""
_NOT_MODELLED: Mapping[str, str] = {
    "multicast::cluster": "write a copy for each CTA",
    "cta_group::2": "a pair of CTAs that works on one tile",
    "noComplete": "an arrival that must not complete a phase",
    "layout::v1": "payload reports",
    "phase_type::conditional": "payload reports",
    "mmio": "memory-mapped devices",
    "pending_count": "counts as values",
    "im2col": "tiles that overlap",
    "sp": "sparse tiles",
    "ws": "products of warps",
    "shift": "rows of a tile",
    "alloc": "a location @ tmem is allocated",
    "dealloc": "a location @ tmem stays allocated",
    "relinquish_alloc_permit": "a location @ tmem is allocated",
}
OTHER_INSTRUCTIONS: Mapping[str, str] = {
    **dict.fromkeys(("ldmatrix", "stmatrix", "mma", "movmatrix"), "tiles spread over lanes"),
    **dict.fromkeys(("shfl", "vote", "match", "redux", "activemask"), "lanes of one warp"),
    "clusterlaunchcontrol": "the launch of CTAs",
    "griddepcontrol": "other kernels",
    "discard": "memory without a value",
    "fabric": "other machines",
    **dict.fromkeys(
        ("mapa", "cvta", "isspacep", "getctarank"), "addresses as values: name the location"
    ),
}
"""Instructions that threads may have beside those that are modelled, with what is missing."""
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

    def place(self) -> SourceLocation:
        """Where the piece is."""
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
        """What a ``group`` of a match of the whole text has found."""
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
        """What stands between brackets around the whole piece; None if there are none."""
        if not (self.text.startswith(brackets[0]) and self.text.endswith(brackets[1])):
            return None
        return _Piece(self.source, self.text[1:-1].strip(), self.offset + 1)

    def value(self) -> Operand:
        return self.text if _REGISTER.match(self.text) else self.number()

    def register(self) -> str:
        if not _REGISTER.match(self.text):
            raise self.error(f"expected a register like r0, found '{self.text}'")
        return self.text

    def location(self) -> str:
        plain = self.inside("[]") or self
        if plain is not self:
            return plain.location()
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
        self.operands = _Piece(piece.source, rest, start).operands() if rest else []

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
        for each in self.qualifiers:
            if each in _NOT_MODELLED:
                raise self.error(f".{each} is not modelled: {_NOT_MODELLED[each]}")
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

    def drop(self) -> None:
        """Leave out the qualifiers of an asynchronous instruction that the model has no use for."""
        self.qualifiers = [each for each in self.qualifiers if not _DROPPED.match(each)]

    def drop_sink(self) -> None:
        """Leave out a ``_`` that stands for a result."""
        if self.operands and self.operands[0].text == "_":
            self.operands.pop(0)

    def finish_async(self) -> None:
        """``finish`` once the qualifiers are dropped that have no meaning here."""
        self.drop()
        self.finish()

    def operation(self) -> RmwKind | None:
        """The operation of a reduction, taken out of the qualifiers; None if there is none."""
        found = [each for each in self.qualifiers if each in ATOMICS and each != "exch"]
        if len(found) != 1:
            return None
        self.take(found[0])
        if floats := [each for each in self.qualifiers if _FLOAT.match(each)]:
            raise self.error(f"{self.mnemonic}: values are words, and .{floats[0]} is no integer")
        kind = ATOMICS[found[0]]
        return _UNSIGNED[kind] if kind in _UNSIGNED and self.take("u32") else kind

    def bytes(self) -> int | None:
        """The size of the type among the qualifiers; None if there is none."""
        found = [match for each in self.qualifiers if (match := _TYPE.match(each))]
        vector = next((int(each[1:]) for each in self.qualifiers if each in ("v2", "v4")), 1)
        return int(found[0]["bits"]) // 8 * vector if found else None

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
        return _store_async(op)
    if op.take("bulk"):
        return _zeros(op)
    target, value = op.expect(2)
    op.take("global")
    op.cache_operator(_STORE_OPERATORS)
    ordering, scope = op.access(_STORE_ORDERINGS)
    return ptx.St(target.location(), value.value(), ordering, scope, _ACCESS_PROXIES[op.head])


def _zeros(op: _Operation) -> ptx.PtxInstruction:
    """``st.bulk``: a weak store of zeros. Source: PTX ISA, st.bulk."""
    op.take("weak")
    op.finish_async()
    target, _, value = op.expect(3)
    if value.number():
        raise value.error("st.bulk stores zeros")
    return ptx.St(target.location(), 0)


def _store_async(op: _Operation) -> ptx.PtxInstruction:
    """``st.async``, or ``red.async``."""
    is_store = op.head == "st"
    operation = None if is_store else op.operation()
    if not is_store and operation is None:
        raise op.error(f"{op.mnemonic} needs one operation: {_listed(_REDUCTIONS)}")
    if op.take("release"):
        scope = op.scope()
        op.finish_async()
        if scope is None:
            raise op.error(f"{op.mnemonic} needs a scope: {_listed(ptx.SCOPES)}")
        target, value = op.expect(2)
        return ptx.AsyncRelease(target.location(), value.value(), scope, operation)
    op.take("weak" if is_store else "relaxed")
    op.take("cluster")
    size = op.bytes() or 1
    op.finish_async()
    target, value, *rest = op.expect(3, 4)
    if rest[1:]:
        size = rest[0].number()
    mbarrier = rest[-1].location()
    return ptx.AsyncCopy(
        target.location(), None, value.value(), mbarrier, bytes=size, operation=operation
    )


def _atomic(op: _Operation) -> ptx.PtxInstruction:
    if op.head == "red" and op.take("async"):
        return _store_async(op)
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
    if op.take("proxy"):
        return _proxy_fence(op)
    op.expect(0)
    if op.take("mbarrier_init"):
        if op.qualifiers != ["release", "cluster"]:
            raise op.error("expected fence.mbarrier_init.release.cluster")
        return ptx.InitFence()
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


_FENCED: Mapping[str, ptx.PtxProxy | None] = {
    "alias": None,
    "constant": ptx.PtxProxy.CONSTANT,
    "texture": ptx.PtxProxy.TEXTURE,
    "surface": ptx.PtxProxy.SURFACE,
    "async": ptx.PtxProxy.ASYNC,
}
_CROSSED = {"tensormap::generic": ptx.PtxProxy.TENSORMAP, "async::generic": ptx.PtxProxy.ASYNC}


def _proxy_fence(op: _Operation) -> ptx.PtxInstruction:
    crossed = [each for each in op.qualifiers if each in _CROSSED]
    if crossed:
        op.take(crossed[0])
        return _crossing_fence(op, _CROSSED[crossed[0]])
    op.expect(0)
    found = [each for each in op.qualifiers if each in _FENCED]
    if not found:
        raise op.error(f"{op.mnemonic} needs a proxy: {_listed(_FENCED)}, {_listed(_CROSSED)}")
    op.take(found[0])
    proxy, space = _FENCED[found[0]], None
    if proxy is ptx.PtxProxy.ASYNC:
        space = next((each for each in ptx.Space if op.take(each.value)), None)
    op.finish()
    return ptx.ProxyFence(proxy, space)


def _crossing_fence(op: _Operation, proxy: ptx.PtxProxy) -> ptx.PtxInstruction:
    ordering = op.ordering(Ordering.ACQ_REL, (Ordering.RELEASE, Ordering.ACQUIRE))
    if proxy is ptx.PtxProxy.ASYNC:
        restriction = restriction_in(op.mnemonic)
        if op.mnemonic.endswith("::read.cluster"):
            raise op.error(f"{op.mnemonic} is not modelled: a fence that is not cumulative")
        if restriction is None or restriction.ordering is not ordering:
            words = " or ".join(f".{e.ordering}.{_restriction_word(e)}" for e in ptx.Restriction)
            raise op.error(f"fence.proxy.async::generic is followed by {words}")
        op.take(_restriction_word(restriction))
    scope = op.scope()
    op.finish()
    if scope is None:
        raise op.error(f"{op.mnemonic} needs a scope: {_listed(ptx.SCOPES)}")
    location = None
    if proxy is ptx.PtxProxy.TENSORMAP and ordering is Ordering.ACQUIRE:
        location = op.expect(1, 2)[0].location()
    else:
        op.expect(0)
    return ptx.CrossingFence(ordering, scope, proxy, location)


def _membar(op: _Operation) -> ptx.PtxInstruction:
    if op.take("proxy"):
        return _proxy_fence(op)
    op.expect(0)
    if len(op.qualifiers) != 1 or op.qualifiers[0] not in _MEMBAR_SCOPES:
        raise op.error(f"membar needs one of {_listed(_MEMBAR_SCOPES)}")
    return ptx.PtxFence(Ordering.SEQ_CST, _MEMBAR_SCOPES[op.qualifiers[0]])


def _bar(op: _Operation) -> ptx.PtxInstruction:
    """``bar.cta`` of the litmus tests; ``bar`` is PTX's, which has other operands."""
    if not op.take("cta"):
        return _named_barrier(op)
    if len(op.qualifiers) != 1 or op.qualifiers[0] not in _ROLES:
        raise op.error(f"bar needs one of {_listed(_ROLES)}")
    instance, *rest = (operand.value() for operand in op.expect(1, 3))
    number = rest[0] if rest else 0
    return ptx.Bar(_ROLES[op.qualifiers[0]], instance, number, rest[1] if rest[1:] else None)


def _barrier(op: _Operation) -> ptx.PtxInstruction:
    if not op.take("cluster"):
        return _named_barrier(op)
    op.expect(0)
    arrives, waits = op.take("arrive"), op.take("wait")
    op.take("aligned")
    if arrives == waits:
        raise op.error("barrier.cluster either arrives or waits")
    default = Ordering.RELEASE if arrives else Ordering.ACQUIRE
    allowed = (Ordering.RELEASE, Ordering.RELAXED) if arrives else (Ordering.ACQUIRE,)
    ordering = op.ordering(default, allowed)
    op.finish()
    return ptx.ClusterBarrier(ptx.BarrierRole.ARRIVE if arrives else ptx.BarrierRole.WAIT, ordering)


def _named_barrier(op: _Operation) -> ptx.PtxInstruction:
    """``barrier.cta`` as PTX writes it."""
    op.take("cta")
    op.take("aligned")
    if {"popc", "and", "or"} & {*op.qualifiers}:
        raise op.error(f"{op.mnemonic} is not modelled: what a barrier computes of all threads")
    if len(op.qualifiers) != 1 or op.qualifiers[0] not in _ROLES:
        raise op.error(f"{op.head} needs one of {_listed(_ROLES)}, or .cluster")
    role = _ROLES[op.qualifiers[0]]
    number, *count = (operand.value() for operand in op.expect(1, 2))
    if role is ptx.BarrierRole.ARRIVE and not count:
        raise op.error(f"{op.mnemonic} needs the number of threads that take part")
    return ptx.Bar(role, 0, number, count[0] if count else None)


def _mbarrier_scope(op: _Operation) -> Scope:
    scope = op.scope() or Scope.WORKGROUP
    if scope not in (Scope.WORKGROUP, Scope.CLUSTER):
        raise op.error("an mbarrier operation has the scope .cta or .cluster")
    return scope


def _mbarrier(op: _Operation) -> ptx.PtxInstruction:
    op.drop()
    if op.take("init"):
        op.finish()
        name, count = op.expect(2)
        return ptx.MbarrierInit(name.location(), _count(count))
    if op.take("inval"):
        op.finish()
        return ptx.MbarrierInit(op.expect(1)[0].location(), 0)
    drops = op.take("arrive_drop")
    if drops or op.take("arrive"):
        return _mbarrier_arrive(op, drops)
    for word, sign in (("expect_tx", 1), ("complete_tx", -1)):
        if op.take(word):
            op.take("relaxed")
            scope = _mbarrier_scope(op)
            op.finish()
            name, size = op.expect(2)
            return ptx.MbarrierTx(name.location(), sign * size.number(), scope)
    if op.take("try_wait") or op.take("test_wait"):
        return _mbarrier_wait(op)
    op.finish()
    raise op.error("expected mbarrier.arrive or mbarrier.try_wait")


def _count(piece: _Piece) -> int:
    count = piece.number()
    if count not in range(1, 1 << 20):
        raise piece.error("an mbarrier expects 1 to 2^20 - 1 arrivals")
    return count


def _mbarrier_arrive(op: _Operation, drops: bool) -> ptx.PtxInstruction:
    expects = op.take("expect_tx")
    ordering = op.ordering(Ordering.RELEASE, (Ordering.RELEASE, Ordering.RELAXED))
    scope = _mbarrier_scope(op)
    op.finish()
    op.drop_sink()
    token = None
    if op.operands and _REGISTER.match(op.operands[0].text):
        token = op.operands.pop(0).register()
    name, *rest = op.expect(2) if expects else op.expect(1, 2)
    count = _count(rest[0]) if rest and not expects else 1
    size = rest[0].number() if expects else 0
    return ptx.MbarrierArrive(name.location(), ordering, scope, size, count, drops, token)


def _mbarrier_wait(op: _Operation) -> ptx.PtxInstruction:
    by_parity = op.take("parity") or op.take("token")
    ordering = op.ordering(Ordering.ACQUIRE, (Ordering.ACQUIRE, Ordering.RELAXED))
    scope = _mbarrier_scope(op)
    op.finish()
    dst = None
    if op.operands and _REGISTER.match(op.operands[0].text):
        dst = op.operands.pop(0).register()
    name, *rest = op.expect(1 + (by_parity or dst is not None), 3)
    phase = rest[0].value() if rest else 0
    by_parity = by_parity or isinstance(phase, str)
    return ptx.MbarrierWait(name.location(), phase, ordering, scope, by_parity, dst)


def _copy(op: _Operation) -> ptx.PtxInstruction:
    if not op.take("async"):
        raise op.error("expected cp.async, cp.async.bulk or cp.reduce.async.bulk")
    unit = ptx.Unit.BULK if op.take("bulk") else ptx.Unit.CORE
    if op.take("prefetch"):
        return ptx.Hint(op.piece.text)
    if unit is ptx.Unit.CORE and op.take("mbarrier"):
        counted = not op.take("noinc")
        op.take("arrive")
        op.finish_async()
        return ptx.CopyArrive(op.expect(1)[0].location(), counted)
    if (group := _group(op, unit)) is not None:
        return group
    reduces, by_map = op.take("reduce"), op.take("tensor")
    grouped = op.take("bulk_group") or unit is ptx.Unit.CORE
    operation = op.operation() if reduces else None
    if reduces and (operation is None or unit is ptx.Unit.CORE):
        raise op.error(f"{op.mnemonic} needs one operation: {_listed(_REDUCTIONS)}")
    op.finish_async()
    target, source, *rest = op.expect(2 if grouped else 3, 4)
    if unit is ptx.Unit.CORE and rest[1:]:
        raise op.error("zeros for bytes that cp.async does not read are not simulated")
    mbarrier = None if grouped else rest.pop().location()
    size = rest[0].number() if rest and unit is ptx.Unit.BULK else 1
    written, written_map = _moved(target, by_map)
    read, read_map = _moved(source, by_map)
    for choices in (written_map, read_map):
        if choices is not None and any(len(c) != len(written) for c in choices.choices):
            raise op.error(f"{op.mnemonic} copies as many words as it writes")
    if len(written) != len(read):
        raise op.error(f"{op.mnemonic} copies as many words as it writes")
    more = tuple(zip(written[1:], read[1:], strict=True))
    return ptx.AsyncCopy(
        written[0], read[0], 0, mbarrier, unit, size, more, operation, read_map, written_map
    )


def _moved(piece: _Piece, by_map: bool) -> tuple[tuple[str, ...], ptx.TensorMap | None]:
    """The words that an operand of a copy names, and the map that describes them."""
    inside = piece.inside("[]")
    if inside is None:
        return _words(piece), None
    name, *choices = inside.operands()
    if not choices:
        return _words(name), None
    if not by_map:
        raise piece.error("only a tensor copy has a tensor map")
    described = tuple(_words(each) for each in choices)
    return described[0], ptx.TensorMap(name.location(), described)


def _words(piece: _Piece) -> tuple[str, ...]:
    """A location, or a list of them in braces; around it there may be brackets."""
    piece = piece.inside("[]") or piece
    inside = piece.inside("{}")
    return tuple(each.location() for each in (inside.operands() if inside else [piece]))


def _group(op: _Operation, unit: ptx.Unit) -> ptx.PtxInstruction | None:
    """``commit_group``, ``wait_group`` and ``wait_all``; None if it is neither."""
    if op.take("commit_group"):
        op.finish_async()
        op.expect(0)
        return ptx.CommitGroup(unit)
    if unit is ptx.Unit.CORE and op.take("wait_all"):
        op.finish_async()
        op.expect(0)
        return ptx.WaitGroup(reads_only=False, unit=unit, commits=True)
    if op.take("wait_group"):
        reads_only = unit is ptx.Unit.BULK and op.take("read")
        op.finish_async()
        pending = op.expect(1)[0].number()
        if pending < 0:
            raise op.error("wait_group takes a number of groups")
        return ptx.WaitGroup(reads_only, pending, unit)
    return None


def _tensormap(op: _Operation) -> ptx.PtxInstruction:
    if op.take("replace"):
        target, *_, value = op.expect(2, 3)
        return ptx.St(target.location(), value.value())
    op.drop()
    words = [each for each in op.qualifiers if each not in ptx.SCOPES]
    scope = op.scope()
    if words != ["cp_fenceproxy", "tensormap::generic", "release"] or scope is None:
        raise op.error(
            "expected tensormap.replace or tensormap.cp_fenceproxy.tensormap::generic.release.scope"
        )
    target, source, *_ = op.expect(2, 3)
    return ptx.MapCopy(target.location(), source.location(), scope)


def _multimem(op: _Operation) -> ptx.PtxInstruction:
    kind = next((each for each in ("ld_reduce", "st", "red") if op.take(each)), None)
    if kind is None and op.take("cp"):
        raise op.error(f"{op.mnemonic} is not modelled: write a copy to each peer")
    if kind is None:
        raise op.error("expected multimem.ld_reduce, multimem.st or multimem.red")
    operation = None if kind == "st" else op.operation()
    if kind != "st" and operation is None:
        raise op.error(f"{op.mnemonic} needs one operation: {_listed(_REDUCTIONS)}")
    op.drop()
    op.head = {"ld_reduce": "ld", "st": "st", "red": "red"}[kind]
    allowed = _LOAD_ORDERINGS if kind == "ld_reduce" else _STORE_ORDERINGS
    if kind == "red":
        ordering = op.ordering(Ordering.RELAXED, (Ordering.RELAXED, Ordering.RELEASE))
        # Without a scope it is not .gpu, as red is. Source: PTX ISA, multimem.red.
        scope = op.scope() or Scope.SYSTEM
        op.finish()
    else:
        ordering, scope = op.access(allowed)
    first, second = op.expect(2)
    if kind == "ld_reduce":
        return ptx.Multimem(_words(second), 0, operation, first.register(), ordering, scope)
    return ptx.Multimem(_words(first), second.value(), operation, None, ordering, scope)


def _hint(op: _Operation) -> ptx.PtxInstruction:
    return ptx.Hint(op.piece.text)


def _wgmma(op: _Operation) -> ptx.PtxInstruction:
    if (group := _group(op, ptx.Unit.PRODUCT)) is not None:
        return group
    if op.take("fence"):
        op.finish_async()
        op.expect(0)
        return ptx.RegisterFence()
    if not op.take("mma_async"):
        raise op.error("expected wgmma.fence, .mma_async, .commit_group or .wait_group")
    op.finish_async()
    target, a, b, *rest = op.expect(3, 8)
    is_register = _REGISTER.match(a.text) is not None
    adds = rest[0].value() if rest else 1
    name = a.register() if is_register else a.location()
    return ptx.WgmmaProduct(target.register(), name, b.location(), adds, is_register)


_TENSOR_SYNCS = {each.value: each for each in ptx.TensorSync}


def _tcgen05(op: _Operation) -> ptx.PtxInstruction:
    op.drop()
    sync = _TENSOR_SYNCS.get(f"{op.head}.{'.'.join(op.qualifiers)}")
    if sync is not None:
        op.expect(0)
        return ptx.TensorFence(sync)
    words = ("ld", "st", "cp", "mma", "commit")
    word = next((each for each in words if op.take(each)), None)
    op.finish()
    match word:
        case "ld":
            target, source = op.expect(2)
            return ptx.TensorLoad(target.register(), source.location())
        case "st":
            target, source = op.expect(2)
            return ptx.TensorStore(target.location(), source.value())
        case "cp":
            target, source = op.expect(2)
            return ptx.TensorCopy(target.location(), source.location())
        case "commit":
            return ptx.TensorCommit(op.expect(1)[0].location())
        case _:
            target, a, b, *rest = op.expect(3, 4)
            adds = rest[0].value() if rest else 1
            return ptx.TensorProduct(target.location(), a.location(), b.location(), adds)


def _elect(op: _Operation) -> ptx.PtxInstruction:
    """A thread of a test is a warp of its own, or the lane that its warp elects."""
    op.finish_async()
    return Move(op.expect(1, 2)[0].register(), 1)


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
    "tensormap": _tensormap,
    "multimem": _multimem,
    **dict.fromkeys(("prefetch", "prefetchu", "applypriority"), _hint),
    "wgmma": _wgmma,
    "tcgen05": _tcgen05,
    "elect": _elect,
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
        tensor=frozenset(initial.tensor),
    )
    program = _with_tensor_operands(program)
    condition = parse_condition(source, condition_at.start())
    written = _Piece(source, source.text[condition_at.start() :], condition_at.start())
    _check_condition(written, condition, program)
    return PtxLitmusTest(program, condition, remarks)


def _with_tensor_operands(program: ptx.PtxProgram) -> ptx.PtxProgram:
    """The program where each product knows whether its first operand is in tensor memory."""
    if not program.tensor:
        return program
    threads = tuple(
        replace(thread, instructions=tuple(_with_operand(program, e) for e in thread.instructions))
        for thread in program.threads
    )
    return replace(program, threads=threads)


def _with_operand(program: ptx.PtxProgram, instruction: ptx.PtxInstruction) -> ptx.PtxInstruction:
    if not isinstance(instruction, ptx.TensorProduct):
        return instruction
    return replace(instruction, a_is_tensor=program.physical(instruction.a) in program.tensor)


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
    locations |= {name for name, count in program.mbarriers.items() if not count}
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
        self.tensor: set[str] = set()
        self._pieces: dict[str | tuple[int, str], _Piece] = {}

    def read(self, piece: _Piece) -> None:
        if not piece.text:
            return
        if match := _MBARRIER.match(piece.text):
            count = 1 if match["count"] is None else parse_word(match["count"])
            if count is None or count not in range(1, 1 << 20):
                raise piece.error("an mbarrier expects 1 to 2^20 - 1 arrivals")
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
    reader = _READERS.get(operation.head)
    if reader is None:
        if operation.head in OTHER_INSTRUCTIONS:
            missing = OTHER_INSTRUCTIONS[operation.head]
            raise cell.error(f"{operation.mnemonic} is not modelled: {missing}")
        raise cell.error(f"unknown instruction '{operation.mnemonic}'")
    instruction = reader(operation)
    _check_form(cell, operation.mnemonic)
    for name, proxy in ptx.accesses(instruction):
        alias = aliases.get(name)
        if alias is not None and alias.proxy not in (ptx.PtxProxy.GENERIC, proxy):
            raise cell.error(
                f"{name} is {alias.location} through the {alias.proxy.value} proxy; "
                f"{operation.mnemonic} goes through the {proxy.value} proxy"
            )
    return instruction


def _check_form(cell: _Piece, mnemonic: str) -> None:
    """Refuse ``.mmio`` and ``.volatile`` where no form of the instruction has them.

    Other qualifiers are refused as they are read: published tests have orderings that PTX has not,
    as red.acq_rel, and leave types out.
    """
    for each in read_opcode(mnemonic).fit.unread:
        if each in STRONG_WORDS and each not in ORDERINGS:
            head = mnemonic.partition(".")[0]
            raise cell.error(f"{mnemonic} is no form of {head} (.{each} does not belong)")


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
        case Move() | Label():
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
                    next(_restriction_word(e) for e in ptx.Restriction if e.ordering is ordering)
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
