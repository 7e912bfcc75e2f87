"""Instructions of the PTX model from decoded names and operands.

Front ends read a text of their own (columns, PTX, the dialect) and agree here on what an
instruction means, and on what the model does not have. A name is an ``Opcode``; an operand is a
number, the name of a register or location, a list of locations, or a tensor map.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from fencewright.lowering.ptx.code.statements import ORDERINGS as SEMANTICS
from fencewright.lowering.ptx.code.statements import Opcode, read_opcode
from fencewright.lowering.vocabulary import Ordering, RmwKind, Scope
from fencewright.simulator.core.condition import (
    Condition,
    Memory,
    Observable,
    observable_order,
)
from fencewright.simulator.core.program import Move, Operand
from fencewright.simulator.ptx import instructions as ptx

Given = Operand | tuple[str, ...] | ptx.TensorMap
"""An operand as a front end gives it."""


class ModelError(ValueError):
    """A feature that the model lacks: a message without a place, and the operand concerned."""

    def __init__(self, message: str, operand: int | None = None):
        super().__init__(message)
        self.message = message
        self.operand = operand


_IMPLIED = ("mmio", "volatile")
"""Qualifiers that stand for an ordering and a scope."""
ORDERINGS: Mapping[str, Ordering] = {
    word: ordering for word, ordering in SEMANTICS.items() if word not in _IMPLIED
}
"""PTX's ``.sem`` qualifiers."""
PROXIED: Mapping[str, tuple[str, ptx.PtxProxy]] = {
    "cold": ("ld", ptx.PtxProxy.CONSTANT),
    "tld": ("ld", ptx.PtxProxy.TEXTURE),
    "suld": ("ld", ptx.PtxProxy.SURFACE),
    "sust": ("st", ptx.PtxProxy.SURFACE),
    "suatom": ("atom", ptx.PtxProxy.SURFACE),
    "sured": ("red", ptx.PtxProxy.SURFACE),
}
"""The model's names of accesses through a proxy, with their names in the generic one."""
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
UNSIGNED: Mapping[RmwKind, RmwKind] = {RmwKind.MIN: RmwKind.UMIN, RmwKind.MAX: RmwKind.UMAX}
"""The operations of ``.u32``."""
_REDUCTIONS = tuple(word for word in ATOMICS if word != "exch")
_MEMBAR_SCOPES = ("cta", "gl", "sys")
_ROLES = {
    "sync": ptx.BarrierRole.SYNC,
    "red": ptx.BarrierRole.SYNC,
    "arrive": ptx.BarrierRole.ARRIVE,
}
_LOADS = (Ordering.WEAK, Ordering.RELAXED, Ordering.ACQUIRE)
_STORES = (Ordering.WEAK, Ordering.RELAXED, Ordering.RELEASE)
_REDS = (Ordering.RELAXED, Ordering.RELEASE)
_ATOMS = (Ordering.RELAXED, Ordering.ACQUIRE, Ordering.RELEASE, Ordering.ACQ_REL)
_FENCES = (Ordering.ACQUIRE, Ordering.RELEASE, Ordering.ACQ_REL, Ordering.SEQ_CST)
_FENCED: Mapping[str, ptx.PtxProxy | None] = {
    "alias": None,
    "constant": ptx.PtxProxy.CONSTANT,
    "texture": ptx.PtxProxy.TEXTURE,
    "surface": ptx.PtxProxy.SURFACE,
    "async": ptx.PtxProxy.ASYNC,
}
_CROSSED = {"tensormap::generic": ptx.PtxProxy.TENSORMAP, "async::generic": ptx.PtxProxy.ASYNC}
_REGISTER = re.compile(r"r\d+")
_NAME = re.compile(r"[A-Za-z_]\w*")
_FLOAT = re.compile(r"b?f(?:16|32|64)(?:x2)?|e\d+m\d+(?:x\d)?|tf32")
_DROPPED = re.compile(
    r"shared(?:::(?:cta|cluster))?|global|param::\w+|[busf](?:8|16|32|64|128|1024)|e\d+m\d+|bf16|tf32"
    r"|v[24]|tile|[1-5]d|m\d+n\d+k\d+|\d+x\d+b|x\d+|kind::\w+|cta_group::1|sync|aligned"
    r"|L[12]::\w+|mbarrier::(?:complete_tx::bytes|arrive::one)|c[ag]|layout::v0|phase_type::primary"
)
"""The qualifiers that say nothing about words and their order, where a form takes them."""
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
"""Instructions that threads may have beside those that are modelled, with the missing feature."""
_EXPECTED = {
    "bar": f"bar needs one of {', '.join(f'.{each}' for each in _ROLES)}, or .cluster",
    "barrier": f"barrier needs one of {', '.join(f'.{each}' for each in _ROLES)}, or .cluster",
    "cp": "expected cp.async, cp.async.bulk or cp.reduce.async.bulk",
    "mbarrier": "expected mbarrier.arrive or mbarrier.try_wait",
    "multimem": "expected multimem.ld_reduce, multimem.st or multimem.red",
    "tensormap": "expected tensormap.replace or "
    "tensormap.cp_fenceproxy.tensormap::generic.release.scope",
    "wgmma": "expected wgmma.fence, .mma_async, .commit_group or .wait_group",
}
"""The operations of a family, for a name that is none of them."""


def listed(words: Iterable[str]) -> str:
    """Qualifiers as a message lists them."""
    return ", ".join(f".{word}" for word in words)


def is_register(given: Given) -> bool:
    """True of the name of a register of the model."""
    return isinstance(given, str) and _REGISTER.fullmatch(given) is not None


def restriction_word(restriction: ptx.Restriction) -> str:
    """The ``.sync_restrict`` qualifier of a fence."""
    return f"sync_restrict::{restriction.value}"


def restriction_in(words: Iterable[str]) -> ptx.Restriction | None:
    """The restriction among the qualifiers of a fence; None if there is none."""
    found = {*words}
    return next((each for each in ptx.Restriction if restriction_word(each) in found), None)


def build(opcode: Opcode, operands: Sequence[Given]) -> ptx.PtxInstruction:
    """The instruction of a name and its operands.

    Accesses are of a word, whatever type and space the name has: the front end refuses others.
    Raises ``ModelError`` for what PTX or the model does not have.
    """
    instruction = _Instruction(opcode, operands)
    row = instruction.opcode.row
    reader = None if row is None else _READERS.get(row.name)
    if reader is not None:
        return reader(instruction)
    head = opcode.head
    if missing := OTHER_INSTRUCTIONS.get(head):
        raise ModelError(f"{opcode.name} is not modelled: {missing}")
    for word in () if row is None else row.words[1:]:
        if word in _NOT_MODELLED:
            raise ModelError(f".{word} is not modelled: {_NOT_MODELLED[word]}")
    raise ModelError(_EXPECTED.get(head) or f"unknown instruction '{opcode.name}'")


_HINTS = frozenset(
    {"prefetch", "prefetchu", "applypriority", "cp async bulk prefetch"}
    | {"cp async bulk prefetch tensor"}
)


def hint(opcode: Opcode, text: str) -> ptx.Hint | None:
    """A hint, which keeps its ``text``; None for an instruction that is none.

    Raises ``ModelError`` for one with a word that no form takes.
    """
    if opcode.row is None or opcode.row.name not in _HINTS:
        return None
    for word in opcode.words[1:]:
        if word in opcode.unread:
            raise ModelError(f"unknown qualifier '.{word}' in {opcode.name}")
    return ptx.Hint(text)


@dataclass(frozen=True, slots=True)
class _Operand:
    """An operand and its number among those that the front end gave."""

    given: Given
    number: int

    def error(self, message: str) -> ModelError:
        return ModelError(message, self.number)

    def __str__(self) -> str:
        return f"{{{', '.join(self.given)}}}" if isinstance(self.given, tuple) else str(self.given)

    @property
    def is_register(self) -> bool:
        return is_register(self.given)

    def constant(self) -> int:
        if not isinstance(self.given, int):
            raise self.error(f"expected a number, found '{self}'")
        return self.given

    def value(self) -> Operand:
        return str(self.given) if self.is_register else self.constant()

    def register(self) -> str:
        if not self.is_register:
            raise self.error(f"expected a register like r0, found '{self}'")
        return str(self.given)

    def location(self) -> str:
        if not isinstance(self.given, str) or self.is_register or not _NAME.fullmatch(self.given):
            raise self.error(f"expected a location, found '{self}'")
        return self.given

    def words(self) -> tuple[str, ...]:
        """A location, or a list of them."""
        return self.given if isinstance(self.given, tuple) else (self.location(),)

    def arrivals(self) -> int:
        count = self.constant()
        check_arrivals(count, self.number)
        return count


def check_arrivals(count: int, operand: int | None = None) -> None:
    """Refuse arrivals that no phase of an mbarrier expects. Source: PTX ISA, mbarrier."""
    if count not in range(1, 1 << 20):
        raise ModelError("an mbarrier expects 1 to 2^20 - 1 arrivals", operand)


class _Instruction:
    """One instruction; unused words of its name are refused by ``finish``."""

    def __init__(self, opcode: Opcode, operands: Sequence[Given]):
        self.name = opcode.name
        self.proxy = ptx.PtxProxy.GENERIC
        self.head = opcode.head
        self.opcode = opcode
        if self.head in PROXIED:
            generic, self.proxy = PROXIED[self.head]
            self.opcode = read_opcode(opcode.renamed({self.head: generic}))
        self.operands = [_Operand(given, number) for number, given in enumerate(operands)]
        row = self.opcode.row
        self.row: tuple[str, ...] = () if row is None else row.words
        self.known: set[str] = {*self.row[1:]}

    def error(self, message: str) -> ModelError:
        return ModelError(message)

    def has(self, word: str) -> bool:
        """True where the name has a word, which is then known."""
        self.known.add(word)
        return word in self.opcode.words[1:]

    def expect(self, least: int, most: int | None = None) -> list[_Operand]:
        """The operands, when there are between ``least`` and ``most`` of them."""
        found = len(self.operands)
        if not least <= found <= (least if most is None else most):
            wanted = f"{least}" if most is None else f"{least} to {most}"
            raise self.error(f"{self.name} takes {wanted} operands, not {found}")
        return self.operands

    def register_in_front(self) -> str | None:
        """A register before the other operands, taken from them."""
        if self.operands and self.operands[0].is_register:
            return self.operands.pop(0).register()
        return None

    def unknown(self, word: str) -> ModelError:
        return self.error(f"unknown qualifier '.{word}' in {self.name}")

    def check_implied(self) -> None:
        """Refuse ``.mmio`` and ``.volatile`` where no form of the instruction has them."""
        for word in _IMPLIED:
            if word in self.opcode.unread:
                raise self.error(f"{self.name} is no form of {self.head} (.{word} does not belong)")

    def finish(self) -> None:
        """Refuse unused words, and those that no form of the operation has."""
        words = self.opcode.words[1:]
        if not self.opcode.fit.unread and self.known.issuperset(words):
            return
        self.check_implied()
        unread = self.opcode.unread
        rest = [word for word in words if word not in self.known]
        rest = [word for word in rest if word in unread or not _DROPPED.fullmatch(word)]
        for word in rest:
            if word in _NOT_MODELLED:
                raise self.error(f".{word} is not modelled: {_NOT_MODELLED[word]}")
        # A name may have a type twice; what the model asks for is there once.
        twice = (word for at, word in enumerate(words) if word in self.known & {*words[:at]})
        for word in (*rest, *twice):
            raise self.unknown(word)

    def ordering(self, default: Ordering, allowed: Iterable[Ordering], head: str = "") -> Ordering:
        """The ``.sem`` qualifier."""
        found = [word for word in self.opcode.words[1:] if word in ORDERINGS]
        if len(found) > 1:
            raise self.error(f"{self.name} has two orderings")
        self.known |= {*found}
        ordering = ORDERINGS[found[0]] if found else default
        if ordering not in allowed:
            names = listed(word for word, each in ORDERINGS.items() if each in allowed)
            shown = found[0] if found else "plain"
            raise self.error(f"{head or self.head} cannot be .{shown}; it takes {names}")
        return ordering

    def scope(self) -> Scope | None:
        """The scope: the one written, or that of an operation which has one without."""
        found = [w for w in self.opcode.words[1:] if w in ptx.SCOPES and w not in self.row]
        if len(found) > 1:
            raise self.error(f"{self.name} has two scopes")
        self.known |= {*found}
        return self.opcode.scope

    def written_scope(self) -> Scope:
        """The scope of an operation that has none without the word."""
        scope = self.scope()
        if scope is None or not {*self.opcode.words[1:]} & {*ptx.SCOPES}:
            raise self.error(f"{self.name} needs a scope: {listed(ptx.SCOPES)}")
        return scope

    def access(self, allowed: Iterable[Ordering], head: str = "") -> tuple[Ordering, Scope | None]:
        """Ordering and scope of a load or store; ``.volatile`` is ``.relaxed.sys``."""
        if self.has("volatile"):
            self.finish()
            return Ordering.RELAXED, Scope.SYSTEM
        self.has("mmio")
        ordering = self.ordering(Ordering.WEAK, allowed, head)
        scope = self.scope()
        self.finish()
        if ordering is not Ordering.WEAK:
            return ordering, self.written_scope()
        if scope is not None:
            raise self.error(f"{self.name} is weak, so it has no scope")
        return ordering, None

    def cache_operator(self) -> None:
        """Refuse a ``.cop`` of an access that is not weak, or not of the generic proxy."""
        cache = self.opcode.cache
        if cache and self.proxy is not ptx.PtxProxy.GENERIC:
            raise self.unknown(cache)
        if cache and self.opcode.ordering is not Ordering.WEAK:
            raise self.error(f"{self.name} is not weak, so it has no .{cache}")
        if cache and cache not in self.opcode.unread:
            self.known.add(cache)

    def updates(self) -> list[str]:
        """The words of its name that are operations of atomics."""
        return [word for word in self.opcode.words[1:] if word in ATOMICS]

    def kind(self, word: str) -> RmwKind:
        self.known |= {word}
        kind = ATOMICS[word]
        return UNSIGNED[kind] if kind in UNSIGNED and "u32" in self.opcode.types else kind

    def reduction(self) -> RmwKind:
        """The operation of a reduction, on integers."""
        found = [each for each in self.updates() if each != "exch"]
        if len(found) != 1:
            raise self.error(f"{self.name} needs one operation: {listed(_REDUCTIONS)}")
        if floats := [each for each in self.opcode.words[1:] if _FLOAT.fullmatch(each)]:
            raise self.error(f"{self.name}: values are words, and .{floats[0]} is no integer")
        return self.kind(found[0])


# Accesses


def _load(op: _Instruction) -> ptx.PtxInstruction:
    target, source = op.expect(2)
    non_coherent = "nc" in op.row
    if non_coherent and op.proxy is not ptx.PtxProxy.GENERIC:
        raise op.unknown("nc")
    if non_coherent and op.opcode.volatile:
        raise op.error(f"{op.name} is non-coherent, so it is weak")
    if not non_coherent or op.opcode.ordering is Ordering.WEAK:
        op.cache_operator()
    ordering, scope = op.access((Ordering.WEAK,) if non_coherent else _LOADS)
    if isinstance(source.given, int):
        return Move(target.register(), source.given)
    proxy = ptx.PtxProxy.TEXTURE if non_coherent else op.proxy
    return ptx.Ld(target.register(), source.location(), ordering, scope, proxy)


def _store(op: _Instruction) -> ptx.PtxInstruction:
    target, value = op.expect(2)
    op.cache_operator()
    ordering, scope = op.access(_STORES)
    return ptx.St(target.location(), value.value(), ordering, scope, op.proxy)


def _zeros(op: _Instruction) -> ptx.PtxInstruction:
    """``st.bulk``: a weak store of zeros. Source: PTX ISA, st.bulk."""
    op.has("weak")
    op.finish()
    target, _, value = op.expect(3)
    if value.constant():
        raise value.error("st.bulk stores zeros")
    return ptx.St(target.location(), 0)


def _store_async(op: _Instruction) -> ptx.PtxInstruction:
    """``st.async``, or ``red.async``: completes as many bytes as its type or an operand says."""
    operation = op.reduction() if op.head == "red" else None
    op.has("relaxed" if operation else "weak")
    op.has("cluster")
    op.finish()
    target, value, *rest = op.expect(3, 4)
    size = op.opcode.width // 8 * op.opcode.vector or 1
    if rest[1:]:
        size = rest[0].constant()
    mbarrier = rest[-1].location()
    return ptx.AsyncCopy(
        target.location(), None, value.value(), mbarrier, bytes=size, operation=operation
    )


def _store_release(op: _Instruction) -> ptx.PtxInstruction:
    operation = op.reduction() if op.head == "red" else None
    scope = op.written_scope()
    op.finish()
    target, value = op.expect(2)
    return ptx.AsyncRelease(target.location(), value.value(), scope, operation)


def _atomic(op: _Instruction) -> ptx.PtxInstruction:
    is_cas = op.has("cas")
    found = ["exch"] if is_cas else op.updates()
    if len(found) != 1:
        raise op.error(f"{op.name} needs one operation: .cas, {listed(ATOMICS)}")
    operation = op.kind(found[0])
    ordering = op.ordering(Ordering.RELAXED, _ATOMS)
    scope = op.scope() or Scope.AGENT
    op.finish()
    returns = op.row == ("atom",)
    operands = op.expect(2 + is_cas + returns)
    register = operands[0].register() if returns else None
    location, *values = operands[returns:]
    compare = values[0].value() if is_cas else None
    value, place = values[-1].value(), location.location()
    return ptx.Atom(register, place, operation, value, compare, ordering, scope, op.proxy)


def _multimem(op: _Instruction) -> ptx.PtxInstruction:
    kind = op.row[1]
    operation = None if kind == "st" else op.reduction()
    if kind == "red":
        # Without a scope it is not .gpu, as red is. Source: PTX ISA, multimem.red.
        ordering, scope = op.ordering(Ordering.RELAXED, _REDS, "red"), op.scope()
        op.finish()
    elif kind == "st":
        ordering, scope = op.access(_STORES, "st")
    else:
        ordering, scope = op.access(_LOADS, "ld")
    first, second = op.expect(2)
    if kind == "ld_reduce":
        return ptx.Multimem(second.words(), 0, operation, first.register(), ordering, scope)
    return ptx.Multimem(first.words(), second.value(), operation, None, ordering, scope)


def _multimem_copy(op: _Instruction) -> ptx.PtxInstruction:
    raise op.error(f"{op.name} is not modelled: write a copy to each peer")


# Fences and barriers


def _fence(op: _Instruction) -> ptx.PtxInstruction:
    if op.has("proxy"):
        return _proxy_fence(op)
    op.expect(0)
    ordering = op.ordering(Ordering.ACQ_REL, _FENCES)
    restriction = restriction_in(op.opcode.words)
    if restriction is not None:
        op.has(restriction_word(restriction))
    op.scope()
    op.finish()
    fence = ptx.PtxFence(ordering, op.written_scope(), restriction)
    if fence.problem:
        raise op.error(fence.problem)
    return fence


def _init_fence(op: _Instruction) -> ptx.PtxInstruction:
    op.expect(0)
    if op.opcode.words[2:] != ("release", "cluster"):
        raise op.error("expected fence.mbarrier_init.release.cluster")
    return ptx.InitFence()


def _proxy_fence(op: _Instruction) -> ptx.PtxInstruction:
    """A fence between one proxy and the generic one; PTX lacks those that only the model has."""
    crossed = next((each for each in _CROSSED if op.has(each)), None)
    if crossed is not None:
        return _crossing_fence(op, _CROSSED[crossed])
    op.expect(0)
    found = [each for each in op.opcode.words[1:] if each in _FENCED]
    if not found:
        raise op.error(f"{op.name} needs a proxy: {listed(_FENCED)}, {listed(_CROSSED)}")
    for each in found[1:]:
        raise op.unknown(each)
    op.has(found[0])
    proxy, space = _FENCED[found[0]], None
    if proxy is ptx.PtxProxy.ASYNC:
        space = next((each for each in ptx.Space if op.has(each.value)), None)
    op.finish()
    return ptx.ProxyFence(proxy, space)


def _crossing_fence(op: _Instruction, proxy: ptx.PtxProxy) -> ptx.PtxInstruction:
    ordering = op.ordering(Ordering.ACQ_REL, (Ordering.RELEASE, Ordering.ACQUIRE))
    if proxy is ptx.PtxProxy.ASYNC:
        restriction = restriction_in(op.opcode.words)
        if op.name.endswith("::read.cluster"):
            raise op.error(f"{op.name} is not modelled: a fence that is not cumulative")
        if restriction is None or restriction.ordering is not ordering:
            words = " or ".join(f".{e.ordering}.{restriction_word(e)}" for e in ptx.Restriction)
            raise op.error(f"fence.proxy.async::generic is followed by {words}")
        op.has(restriction_word(restriction))
    op.scope()
    op.finish()
    scope = op.written_scope()
    location = None
    if proxy is ptx.PtxProxy.TENSORMAP and ordering is Ordering.ACQUIRE:
        location = op.expect(1, 2)[0].location()
    else:
        op.expect(0)
    return ptx.CrossingFence(ordering, scope, proxy, location)


def _membar(op: _Instruction) -> ptx.PtxInstruction:
    op.expect(0)
    words = op.opcode.words[1:]
    if len(words) != 1 or words[0] not in _MEMBAR_SCOPES or op.opcode.scope is None:
        raise op.error(f"membar needs one of {listed(_MEMBAR_SCOPES)}")
    return ptx.PtxFence(Ordering.SEQ_CST, op.opcode.scope)


def _named_barrier(op: _Instruction) -> ptx.PtxInstruction:
    """``barrier.cta`` as PTX writes it."""
    if {"popc", "and", "or"} & {*op.opcode.words}:
        raise op.error(f"{op.name} is not modelled: what a barrier computes of all threads")
    op.has("cta")
    op.finish()
    role = _ROLES[op.row[1]]
    number, *count = (operand.value() for operand in op.expect(1, 2))
    if role is ptx.BarrierRole.ARRIVE and not count:
        raise op.error(f"{op.name} needs the number of threads that take part")
    return ptx.Bar(role, 0, number, count[0] if count else None)


def _cluster_barrier(op: _Instruction) -> ptx.PtxInstruction:
    op.expect(0)
    arrives = "arrive" in op.row
    allowed = (Ordering.RELEASE, Ordering.RELAXED) if arrives else (Ordering.ACQUIRE,)
    ordering = op.ordering(allowed[0], allowed)
    op.finish()
    return ptx.ClusterBarrier(ptx.BarrierRole.ARRIVE if arrives else ptx.BarrierRole.WAIT, ordering)


# mbarriers


def _mbarrier_scope(op: _Instruction) -> Scope:
    scope = op.scope() or Scope.WORKGROUP
    if scope not in (Scope.WORKGROUP, Scope.CLUSTER):
        raise op.error("an mbarrier operation has the scope .cta or .cluster")
    return scope


def _mbarrier_init(op: _Instruction) -> ptx.PtxInstruction:
    op.finish()
    name, count = op.expect(2)
    return ptx.MbarrierInit(name.location(), count.arrivals())


def _mbarrier_inval(op: _Instruction) -> ptx.PtxInstruction:
    op.finish()
    return ptx.MbarrierInit(op.expect(1)[0].location(), 0)


def _mbarrier_arrive(op: _Instruction) -> ptx.PtxInstruction:
    expects = "expect_tx" in op.row
    ordering = op.ordering(Ordering.RELEASE, (Ordering.RELEASE, Ordering.RELAXED))
    scope = _mbarrier_scope(op)
    op.finish()
    if op.operands and op.operands[0].given == "_":
        op.operands.pop(0)
    token = op.register_in_front()
    name, *rest = op.expect(2) if expects else op.expect(1, 2)
    count = rest[0].arrivals() if rest and not expects else 1
    size = rest[0].constant() if expects else 0
    drops = "arrive_drop" in op.row
    return ptx.MbarrierArrive(name.location(), ordering, scope, size, count, drops, token)


def _mbarrier_tx(op: _Instruction) -> ptx.PtxInstruction:
    op.has("relaxed")
    scope = _mbarrier_scope(op)
    op.finish()
    name, size = op.expect(2)
    sign = 1 if "expect_tx" in op.row else -1
    return ptx.MbarrierTx(name.location(), sign * size.constant(), scope)


def _mbarrier_wait(op: _Instruction) -> ptx.PtxInstruction:
    """A loop around a look, or with a register in front a single look.

    ``token`` is the model's word for a wait on what an arrival returned.
    """
    parity, token = op.has("parity"), op.has("token")
    by_parity = parity or token
    ordering = op.ordering(Ordering.ACQUIRE, (Ordering.ACQUIRE, Ordering.RELAXED))
    scope = _mbarrier_scope(op)
    op.finish()
    dst = op.register_in_front()
    name, *rest = op.expect(1 + (by_parity or dst is not None), 3)
    phase = rest[0].value() if rest else 0
    by_parity = by_parity or isinstance(phase, str)
    return ptx.MbarrierWait(name.location(), phase, ordering, scope, by_parity, dst)


# Copies


def _copy(op: _Instruction) -> ptx.PtxInstruction:
    reduces, by_map = "reduce" in op.row, "tensor" in op.row
    unit = ptx.Unit.BULK if "bulk" in op.row else ptx.Unit.CORE
    grouped = op.has("bulk_group") or unit is ptx.Unit.CORE
    operation = op.reduction() if reduces else None
    op.finish()
    target, source, *rest = op.expect(2 if grouped else 3, 4)
    if unit is ptx.Unit.CORE and rest[1:]:
        raise op.error("zeros for bytes that cp.async does not read are not simulated")
    mbarrier = None if grouped else rest.pop().location()
    size = rest[0].constant() if rest and unit is ptx.Unit.BULK else 1
    written, written_map = _moved(target, by_map)
    read, read_map = _moved(source, by_map)
    maps = [each for each in (written_map, read_map) if each is not None]
    lengths = {len(read), *(len(choice) for each in maps for choice in each.choices)}
    if lengths != {len(written)}:
        raise op.error(f"{op.name} copies as many words as it writes")
    more = tuple(zip(written[1:], read[1:], strict=True))
    return ptx.AsyncCopy(
        written[0], read[0], 0, mbarrier, unit, size, more, operation, read_map, written_map
    )


def _moved(operand: _Operand, by_map: bool) -> tuple[tuple[str, ...], ptx.TensorMap | None]:
    """The words that an operand of a copy names, and the map that describes them."""
    described = operand.given
    if not isinstance(described, ptx.TensorMap):
        return operand.words(), None
    if not by_map:
        raise operand.error("only a tensor copy has a tensor map")
    return described.choices[0], described


_UNITS = {"wgmma": ptx.Unit.PRODUCT, "cp async bulk": ptx.Unit.BULK, "cp async": ptx.Unit.CORE}


def _group(op: _Instruction) -> ptx.PtxInstruction:
    """``commit_group``, ``wait_group`` and ``wait_all``."""
    *works, does = op.row
    unit = _UNITS[" ".join(works)]
    if does != "wait_group":
        op.finish()
        op.expect(0)
        is_commit = does == "commit_group"
        return ptx.CommitGroup(unit) if is_commit else ptx.WaitGroup(False, unit=unit, commits=True)
    reads_only = unit is ptx.Unit.BULK and op.has("read")
    op.finish()
    pending = op.expect(1)[0].constant()
    if pending < 0:
        raise op.error("wait_group takes a number of groups")
    return ptx.WaitGroup(reads_only, pending, unit)


def _copies_arrive(op: _Instruction) -> ptx.PtxInstruction:
    counted = not op.has("noinc")
    op.finish()
    return ptx.CopyArrive(op.expect(1)[0].location(), counted)


def _map_field(op: _Instruction) -> ptx.PtxInstruction:
    op.check_implied()
    target, *_, value = op.expect(2, 3)
    return ptx.St(target.location(), value.value())


def _map_copy(op: _Instruction) -> ptx.PtxInstruction:
    words = {"tensormap::generic", "release"} - {*op.opcode.words}
    scope = op.scope()
    op.has("tensormap::generic")
    op.has("release")
    if words or scope is None or not {*op.opcode.words} & {*ptx.SCOPES}:
        raise op.error(_EXPECTED["tensormap"])
    op.finish()
    target, source, *_ = op.expect(2, 3)
    return ptx.MapCopy(target.location(), source.location(), scope)


# Tensor cores


def _register_fence(op: _Instruction) -> ptx.PtxInstruction:
    op.finish()
    op.expect(0)
    return ptx.RegisterFence()


def _wgmma(op: _Instruction) -> ptx.PtxInstruction:
    op.finish()
    target, a, b, *rest = op.expect(3, 8)
    adds = rest[0].value() if rest else 1
    name = a.register() if a.is_register else a.location()
    return ptx.WgmmaProduct(target.register(), name, b.location(), adds, a.is_register)


def _tensor_sync(op: _Instruction) -> ptx.PtxInstruction:
    op.finish()
    op.expect(0)
    return ptx.TensorFence(ptx.TensorSync(".".join(op.row)))


def _tensor_load(op: _Instruction) -> ptx.PtxInstruction:
    op.finish()
    target, source = op.expect(2)
    return ptx.TensorLoad(target.register(), source.location())


def _tensor_store(op: _Instruction) -> ptx.PtxInstruction:
    op.finish()
    target, source = op.expect(2)
    return ptx.TensorStore(target.location(), source.value())


def _tensor_copy(op: _Instruction) -> ptx.PtxInstruction:
    op.finish()
    target, source = op.expect(2)
    return ptx.TensorCopy(target.location(), source.location())


def _tensor_commit(op: _Instruction) -> ptx.PtxInstruction:
    op.finish()
    return ptx.TensorCommit(op.expect(1)[0].location())


def _tensor_product(op: _Instruction) -> ptx.PtxInstruction:
    op.finish()
    target, a, b, *rest = op.expect(3, 4)
    adds = rest[0].value() if rest else 1
    return ptx.TensorProduct(target.location(), a.location(), b.location(), adds)


def _elect(op: _Instruction) -> ptx.PtxInstruction:
    """A thread of a test is a warp of its own, or the lane that its warp elects."""
    op.finish()
    return Move(op.expect(1, 2)[0].register(), 1)


_Reader = Callable[[_Instruction], ptx.PtxInstruction]


def _rows(reader: _Reader, names: str) -> Iterator[tuple[str, _Reader]]:
    return ((name.strip(), reader) for name in names.split("|"))


_READERS: Mapping[str, _Reader] = dict(
    (
        *_rows(_load, "ld|ld nc"),
        *_rows(_store, "st"),
        *_rows(_zeros, "st bulk"),
        *_rows(_atomic, "atom|red"),
        *_rows(_store_async, "st async|red async"),
        *_rows(_store_release, "st async release|red async release"),
        *_rows(_multimem, "multimem ld_reduce|multimem st|multimem red"),
        *_rows(_multimem_copy, "multimem cp async bulk|multimem cp reduce async bulk"),
        *_rows(_fence, "fence"),
        *_rows(_init_fence, "fence mbarrier_init"),
        *_rows(_proxy_fence, "fence proxy alias|fence proxy async|fence proxy async::generic"),
        *_rows(_proxy_fence, "fence proxy tensormap::generic|membar proxy"),
        *_rows(_membar, "membar"),
        *_rows(_named_barrier, "bar sync|bar red|bar arrive"),
        *_rows(_named_barrier, "barrier sync|barrier red|barrier arrive"),
        *_rows(_cluster_barrier, "barrier cluster arrive|barrier cluster wait"),
        *_rows(_mbarrier_init, "mbarrier init"),
        *_rows(_mbarrier_inval, "mbarrier inval"),
        *_rows(_mbarrier_arrive, "mbarrier arrive|mbarrier arrive expect_tx"),
        *_rows(_mbarrier_arrive, "mbarrier arrive_drop|mbarrier arrive_drop expect_tx"),
        *_rows(_mbarrier_tx, "mbarrier expect_tx|mbarrier complete_tx"),
        *_rows(_mbarrier_wait, "mbarrier try_wait|mbarrier test_wait"),
        *_rows(_copy, "cp async|cp async bulk|cp async bulk tensor|cp reduce async bulk"),
        *_rows(_copy, "cp async bulk tensor bulk_group|cp reduce async bulk tensor"),
        *_rows(_group, "cp async commit_group|cp async wait_group|cp async wait_all"),
        *_rows(_group, "cp async bulk commit_group|cp async bulk wait_group"),
        *_rows(_group, "wgmma commit_group|wgmma wait_group"),
        *_rows(_copies_arrive, "cp async mbarrier arrive"),
        *_rows(_map_field, "tensormap replace"),
        *_rows(_map_copy, "tensormap cp_fenceproxy"),
        *_rows(_register_fence, "wgmma fence"),
        *_rows(_wgmma, "wgmma mma_async"),
        *_rows(_tensor_sync, "tcgen05 wait::ld|tcgen05 wait::st"),
        *_rows(_tensor_sync, "tcgen05 fence::before_thread_sync|tcgen05 fence::after_thread_sync"),
        *_rows(_tensor_load, "tcgen05 ld"),
        *_rows(_tensor_store, "tcgen05 st"),
        *_rows(_tensor_copy, "tcgen05 cp"),
        *_rows(_tensor_commit, "tcgen05 commit"),
        *_rows(_tensor_product, "tcgen05 mma"),
        *_rows(_elect, "elect"),
    )
)
"""The reader of an operation, by the name of its row."""
MODELLED = frozenset(_READERS)
"""The operations of the rows that ``build`` knows."""


# Programs


def complete(program: ptx.PtxProgram, condition: Condition) -> ptx.PtxProgram:
    """A program whose products know their operands, and whose names all stand for something.

    Raises ``ModelError`` for a name that is declared twice, and for one of the condition that
    stands for nothing.
    """
    declared = [each.name for each in program.locations]
    for name, count in Counter((*declared, *program.mbarriers, *program.aliases)).items():
        if count > 1:
            raise ModelError(f"{name} is declared twice")
    program = with_tensor_operands(program)
    for _, problem in unknown_names(condition, program):
        raise ModelError(problem)
    return program


def with_tensor_operands(program: ptx.PtxProgram) -> ptx.PtxProgram:
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


def check_proxies(
    name: str, instruction: ptx.PtxInstruction, aliases: Mapping[str, ptx.Alias]
) -> None:
    """Refuse an access, called ``name``, through another proxy than its alias is for."""
    for accessed, proxy in ptx.accesses(instruction):
        alias = aliases.get(accessed)
        if alias is not None and alias.proxy not in (ptx.PtxProxy.GENERIC, proxy):
            raise ModelError(
                f"{accessed} is {alias.location} through the {alias.proxy.value} proxy; "
                f"{name} goes through the {proxy.value} proxy"
            )


def unknown_names(
    condition: Condition, program: ptx.PtxProgram
) -> Iterator[tuple[Observable, str]]:
    """The names of a condition that stand for nothing, and would read as 0, with the problem."""
    locations = {*program.initial, *program.aliases}
    locations |= {name for name, count in program.mbarriers.items() if not count}
    for thread in program.threads:
        locations |= {name for each in thread.instructions for name, _ in ptx.accesses(each)}
    for each in sorted(condition.formula.observables(), key=observable_order):
        if isinstance(each, Memory):
            if each.location not in locations:
                yield each, f"the condition names {each}, which nothing in the test accesses"
            elif each.location in program.aliases:
                yield (
                    each,
                    f"{each} is another name of {program.physical(each.location)}: name that",
                )
        elif each.thread >= len(program.threads):
            yield each, f"the condition names {each}, but there is no thread P{each.thread}"
        elif each not in program.registers and all(
            each.name not in ptx.assigned(i) for i in program.threads[each.thread].instructions
        ):
            yield each, f"the condition names {each}, which nothing in the test sets"
