"""PTX statements of any origin: an instruction's kind, ordering, accesses, definitions and uses.

An operation is known by the words of its name, read as a set: hand-written PTX has modifiers
in any order (``ld.global.gpu.acquire``, ``ld.acquire.gpu.global``). ``ROWS`` says of each
operation what kind it is, what its operands are, and its ordering and scope where the name has
none. An operation without a row is opaque: it may do anything; so is a name that is no form of
its operation (``forms``), which an assembler refuses.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from sys import intern
from types import MappingProxyType

from fencewright.lowering.code.effects import Access, Effects, Kind, Proxy
from fencewright.lowering.code.records import record
from fencewright.lowering.ptx.code.forms import SLOTS, Fit, fit
from fencewright.lowering.vocabulary import AddressSpace, FastStrEnum, Ordering, RmwKind, Scope


class OperandRole(FastStrEnum):
    """The role of an operand in an instruction: an address is in brackets, or in a register."""

    DEFINE = "d"
    USE = "u"
    READ = "r"
    WRITE = "w"
    UPDATE = "x"
    MBARRIER = "m"
    SIGNAL = "s"
    TENSORMAP = "t"
    TENSOR_MEMORY = "T"
    DESCRIPTOR = "D"
    LABEL = "L"


@dataclass(frozen=True, slots=True)
class OperationRow:
    """One operation: ``roles`` of its operands in their order; those without one are used.

    ``ordering`` and ``scope`` are those of a name that has none. ``proxy``: how its accesses
    reach memory.
    """

    name: str
    kind: Kind
    roles: tuple[OperandRole, ...]
    source: str
    ordering: Ordering | None = None
    scope: Scope | None = None
    proxy: Proxy = Proxy.GENERIC
    words: tuple[str, ...] = field(init=False, repr=False, compare=False)
    """The words that a name has to have, the first of them in front."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", tuple(self.name.split()))


_K, _P = Kind, Proxy
_WEAK, _RELAXED, _ACQUIRE = Ordering.WEAK, Ordering.RELAXED, Ordering.ACQUIRE
_RELEASE, _ACQ_REL, _SC = Ordering.RELEASE, Ordering.ACQ_REL, Ordering.SEQ_CST
_CTA, _CLUSTER, _GPU = Scope.WORKGROUP, Scope.CLUSTER, Scope.AGENT

_ISA = "PTX ISA"
_DATA = f"{_ISA}, Data Movement and Conversion Instructions"
_SYNCS = f"{_ISA}, Parallel Synchronization and Communication Instructions"
_ASYNC = f"{_ISA}, Asynchronous copy"
_BULK = f"{_ISA}, cp.async.bulk"
_MBARRIER = f"{_ISA}, mbarrier"
_TCGEN05 = f"{_ISA}, tcgen05"
_WGMMA = f"{_ISA}, wgmma"
_MULTIMEM = f"{_ISA}, multimem"
_TEXTURES = f"{_ISA}, Texture Instructions; Surface Instructions"
_CONTROL = f"{_ISA}, Control Flow Instructions"


def _row(
    name: str,
    kind: Kind,
    roles: str,
    source: str,
    ordering: Ordering | None = None,
    scope: Scope | None = None,
    proxy: Proxy = Proxy.GENERIC,
) -> OperationRow:
    return OperationRow(name, kind, tuple(map(OperandRole, roles)), source, ordering, scope, proxy)


def _plain(
    source: str, roles: str, names: str, kind: Kind = Kind.COMPUTE
) -> Iterator[OperationRow]:
    for name in names.split():
        yield _row(name.replace("+", " "), kind, roles, source)


_COMPUTING = (
    *_plain(f"{_ISA}, Integer and Extended-Precision Arithmetic Instructions", "d",
        "add sub mul mad mul24 mad24 sad div rem abs neg min max popc clz bfind fns brev bfe bfi "
        "szext bmsk dp4a dp2a addc subc madc"),
    *_plain(f"{_ISA}, Floating Point and Half Precision Instructions", "d",
        "testp copysign fma rcp sqrt rsqrt sin cos lg2 ex2 tanh"),
    *_plain(f"{_ISA}, Comparison, Selection, Logic and Shift Instructions", "d",
        "set setp selp slct and or xor not cnot lop3 shf shl shr"),
    *_plain(_DATA, "d",
        "mov prmt cvt cvta isspacep mapa getctarank createpolicy stacksave alloca "
        "ld+param ld+param::entry ld+param::func"),
    *_plain(_DATA, "d", "shfl movmatrix", _K.LANES),
    *_plain(f"{_DATA}: hints", "", "prefetch prefetchu applypriority", _K.CACHE),
    *_plain(f"{_DATA}: the stack", "", "stackrestore st+param st+param::func"),
    *_plain(f"{_SYNCS}: convergent, without an ordering of memory", "d",
        "vote match activemask redux elect", _K.LANES),
    *_plain(
        f"{_ISA}, Warp Level Matrix Multiply-Accumulate Instructions", "d", "mma wmma+mma", _K.LANES
    ),
    *_plain(f"{_ISA}, Video Instructions", "d",
        "vadd vsub vabsdiff vmin vmax vshl vshr vmad vset vadd2 vsub2 vavrg2 vabsdiff2 vmin2 "
        "vmax2 vset2 vadd4 vsub4 vavrg4 vabsdiff4 vmin4 vmax4 vset4"),
    *_plain(f"{_TEXTURES}: queries", "d", "txq suq istypep"),
    *_plain(f"{_ISA}, Miscellaneous Instructions", "", "nanosleep pmevent setmaxnreg brkpt"),
)  # fmt: skip

_MEMORY = (
    _row("ld", _K.LOAD, "dr", f"{_DATA}: ld", _WEAK),
    _row("ldu", _K.LOAD, "dr", f"{_DATA}: ldu", _WEAK),
    _row("ld nc", _K.LOAD, "dr", f"{_DATA}: ld.global.nc", _WEAK, proxy=_P.TEXTURE),
    _row("st", _K.STORE, "wu", f"{_DATA}: st", _WEAK),
    _row("st bulk", _K.STORE, "wuu", f"{_DATA}: st.bulk", _WEAK),
    _row("discard", _K.STORE, "w", f"{_DATA}: discard", _WEAK),
    _row("atom", _K.RMW, "dxuu", f"{_SYNCS}: atom", _RELAXED, _GPU),
    _row("red", _K.RMW, "xu", f"{_SYNCS}: red", _RELAXED, _GPU),
    _row("ldmatrix", _K.LOAD, "dr", f"{_DATA}: ldmatrix", _WEAK),
    _row("stmatrix", _K.STORE, "wu", f"{_DATA}: stmatrix", _WEAK),
    _row("wmma load", _K.LOAD, "dr", f"{_ISA}, wmma.load", _WEAK),
    _row("wmma store", _K.STORE, "wu", f"{_ISA}, wmma.store", _WEAK),
    _row("multimem ld_reduce", _K.LOAD, "dr", _MULTIMEM, _WEAK),
    _row("multimem st", _K.STORE, "wu", _MULTIMEM, _WEAK),
    _row(
        "multimem red",
        _K.RMW,
        "xu",
        f"{_MULTIMEM}: at .sys without a scope",
        _RELAXED,
        Scope.SYSTEM,
    ),
    _row("tex", _K.LOAD, "d", _TEXTURES, _WEAK, proxy=_P.TEXTURE),
    _row("tld4", _K.LOAD, "d", _TEXTURES, _WEAK, proxy=_P.TEXTURE),
    _row("suld", _K.LOAD, "d", _TEXTURES, _WEAK, proxy=_P.SURFACE),
    _row("sust", _K.STORE, "", _TEXTURES, _WEAK, proxy=_P.SURFACE),
    _row("sured", _K.RMW, "", _TEXTURES, _RELAXED, _GPU, proxy=_P.SURFACE),
)

_SYNCHRONISING = (
    _row("fence", _K.FENCE, "", f"{_SYNCS}: fence", _ACQ_REL),
    _row("membar", _K.FENCE, "", f"{_SYNCS}: membar is fence.sc", _SC),
    _row("fence mbarrier_init", _K.FENCE, "", f"{_SYNCS}: fence.mbarrier_init", _RELEASE, _CLUSTER),
    _row("bar sync", _K.BARRIER, "", f"{_SYNCS}: bar", _ACQ_REL, _CTA),
    _row("bar red", _K.BARRIER, "d", f"{_SYNCS}: bar", _ACQ_REL, _CTA),
    _row("bar arrive", _K.SIGNAL, "", f"{_SYNCS}: bar", _RELEASE, _CTA),
    _row("bar warp sync", _K.BARRIER, "", f"{_SYNCS}: bar.warp.sync", _ACQ_REL, Scope.WAVEFRONT),
    _row("barrier sync", _K.BARRIER, "", f"{_SYNCS}: barrier", _ACQ_REL, _CTA),
    _row("barrier red", _K.BARRIER, "d", f"{_SYNCS}: barrier", _ACQ_REL, _CTA),
    _row("barrier arrive", _K.SIGNAL, "", f"{_SYNCS}: barrier", _RELEASE, _CTA),
    _row("barrier cluster arrive", _K.SIGNAL, "", f"{_SYNCS}: barrier.cluster", _RELEASE, _CLUSTER),
    _row("barrier cluster wait", _K.WAIT, "", f"{_SYNCS}: barrier.cluster", _ACQUIRE, _CLUSTER),
    _row("griddepcontrol wait", _K.WAIT, "", f"{_SYNCS}: griddepcontrol", _ACQUIRE, _GPU),
    _row("griddepcontrol launch_dependents", _K.SIGNAL, "", f"{_SYNCS}: griddepcontrol",
         _RELAXED, _GPU),
    _row("mbarrier init", _K.SIGNAL, "mu", f"{_MBARRIER}.init", _WEAK),
    _row("mbarrier inval", _K.SIGNAL, "m", f"{_MBARRIER}.inval", _WEAK),
    _row("mbarrier expect_tx", _K.SIGNAL, "mu", f"{_MBARRIER}.expect_tx", _RELAXED, _CTA),
    _row("mbarrier complete_tx", _K.SIGNAL, "mu", f"{_MBARRIER}.complete_tx", _RELAXED, _CTA),
    _row("mbarrier arrive", _K.SIGNAL, "dmu", f"{_MBARRIER}.arrive", _RELEASE, _CTA),
    _row("mbarrier arrive_drop", _K.SIGNAL, "dmu", f"{_MBARRIER}.arrive_drop", _RELEASE, _CTA),
    _row("mbarrier arrive expect_tx", _K.SIGNAL, "dmu", f"{_MBARRIER}.arrive", _RELEASE, _CTA),
    _row("mbarrier arrive_drop expect_tx", _K.SIGNAL, "dmu", f"{_MBARRIER}.arrive_drop", _RELEASE,
         _CTA),
    _row("mbarrier test_wait", _K.WAIT, "dmu", f"{_MBARRIER}.test_wait", _ACQUIRE, _CTA),
    _row("mbarrier try_wait", _K.WAIT, "dmuu", f"{_MBARRIER}.try_wait", _ACQUIRE, _CTA),
    _row("mbarrier pending_count", _K.COMPUTE, "du", f"{_MBARRIER}.pending_count"),
)  # fmt: skip

_PROXIES = (
    _row("fence proxy alias", _K.FENCE, "", f"{_SYNCS}: fence.proxy"),
    _row("fence proxy async", _K.FENCE, "", f"{_SYNCS}: fence.proxy", proxy=_P.ASYNC),
    _row("fence proxy async::generic", _K.FENCE, "", f"{_SYNCS}: fence.proxy", proxy=_P.ASYNC),
    _row("fence proxy tensormap::generic", _K.FENCE, "u", f"{_SYNCS}: fence.proxy",
        proxy=_P.TENSORMAP),
    _row("membar proxy", _K.FENCE, "", f"{_SYNCS}: membar.proxy"),
    _row("tensormap replace", _K.STORE, "w", f"{_ISA}, tensormap.replace", _WEAK),
    _row("tensormap cp_fenceproxy", _K.FENCE, "wr", f"{_ISA}, tensormap.cp_fenceproxy",
        proxy=_P.TENSORMAP),
)  # fmt: skip

_COPIES = (
    _row("cp async", _K.COPY, "wruu", f"{_ASYNC}: cp.async, weak and in the generic proxy", _WEAK),
    _row("cp async commit_group", _K.SIGNAL, "", f"{_ASYNC}: cp.async.commit_group"),
    _row("cp async wait_group", _K.WAIT, "", f"{_ASYNC}: cp.async.wait_group"),
    _row("cp async wait_all", _K.WAIT, "", f"{_ASYNC}: cp.async.wait_all"),
    _row("cp async mbarrier arrive", _K.SIGNAL, "m", f"{_ASYNC}: cp.async.mbarrier.arrive"),
    _row("cp async bulk", _K.COPY, "wrus", _BULK, _WEAK, proxy=_P.ASYNC),
    _row("cp async bulk prefetch", _K.CACHE, "", f"{_BULK}.prefetch: a hint"),
    _row("cp async bulk commit_group", _K.SIGNAL, "", f"{_BULK}.commit_group"),
    _row("cp async bulk wait_group", _K.WAIT, "", f"{_BULK}.wait_group"),
    _row("cp async bulk tensor", _K.TENSOR, "wts", f"{_BULK}.tensor: a load", _WEAK,
        proxy=_P.ASYNC),
    _row("cp async bulk tensor bulk_group", _K.TENSOR, "tr", f"{_BULK}.tensor: a store", _WEAK,
        proxy=_P.ASYNC),
    _row("cp async bulk prefetch tensor", _K.CACHE, "t", f"{_BULK}.prefetch.tensor: a hint"),
    _row("cp reduce async bulk", _K.COPY, "xrus", f"{_ISA}, cp.reduce.async.bulk", _RELAXED, _GPU,
        proxy=_P.ASYNC),
    _row("cp reduce async bulk tensor", _K.TENSOR, "tr", f"{_ISA}, cp.reduce.async.bulk.tensor",
        _RELAXED, _GPU, proxy=_P.ASYNC),
    _row("multimem cp async bulk", _K.COPY, "wru", _MULTIMEM, _WEAK, proxy=_P.ASYNC),
    _row("multimem cp reduce async bulk", _K.COPY, "xru", _MULTIMEM, _RELAXED, _GPU,
        proxy=_P.ASYNC),
    _row("st async", _K.COPY, "wus", f"{_ISA}, st.async: in the generic proxy", _WEAK),
    _row("st async release", _K.COPY, "wu", f"{_ISA}, st.async: on no mbarrier", _RELEASE, _GPU),
    _row("red async", _K.COPY, "xus", f"{_ISA}, red.async: in the generic proxy", _RELAXED,
        _CLUSTER),
    _row("red async release", _K.COPY, "xu", f"{_ISA}, red.async: on no mbarrier", _RELEASE,
        _GPU),
    _row("clusterlaunchcontrol try_cancel", _K.COPY, "ws", f"{_ISA}, clusterlaunchcontrol", _WEAK,
        proxy=_P.ASYNC),
    _row("clusterlaunchcontrol query_cancel", _K.COMPUTE, "d", f"{_ISA}, clusterlaunchcontrol"),
)  # fmt: skip

_TENSORS = (
    _row("wgmma mma_async", _K.TENSOR, "dDD", _WGMMA, proxy=_P.ASYNC),
    _row("wgmma mma_async sp", _K.TENSOR, "dDD", _WGMMA, proxy=_P.ASYNC),
    _row("wgmma fence", _K.FENCE, "", f"{_WGMMA}.fence: registers and the async proxy"),
    _row("wgmma commit_group", _K.SIGNAL, "", f"{_WGMMA}.commit_group"),
    _row("wgmma wait_group", _K.WAIT, "", f"{_WGMMA}.wait_group"),
    _row("tcgen05 mma", _K.TENSOR, "TDD", f"{_TCGEN05}.mma", proxy=_P.ASYNC),
    _row("tcgen05 cp", _K.TENSOR, "TD", f"{_TCGEN05}.cp", proxy=_P.ASYNC),
    _row("tcgen05 shift", _K.TENSOR, "T", f"{_TCGEN05}.shift"),
    _row("tcgen05 ld", _K.TENSOR, "dT", f"{_TCGEN05}.ld"),
    _row("tcgen05 st", _K.TENSOR, "Tu", f"{_TCGEN05}.st"),
    _row("tcgen05 wait::ld", _K.WAIT, "", f"{_TCGEN05}.wait"),
    _row("tcgen05 wait::st", _K.WAIT, "", f"{_TCGEN05}.wait"),
    _row("tcgen05 commit", _K.SIGNAL, "s", f"{_TCGEN05}.commit"),
    _row("tcgen05 fence::before_thread_sync", _K.FENCE, "", f"{_TCGEN05}.fence"),
    _row("tcgen05 fence::after_thread_sync", _K.FENCE, "", f"{_TCGEN05}.fence"),
    _row("tcgen05 alloc", _K.TENSOR, "w", f"{_TCGEN05}.alloc writes the address", _WEAK),
    _row("tcgen05 dealloc", _K.TENSOR, "T", f"{_TCGEN05}.dealloc"),
    _row("tcgen05 relinquish_alloc_permit", _K.TENSOR, "", f"{_TCGEN05}.alloc"),
)

_BRANCHING = (
    _row("bra", _K.BRANCH, "L", _CONTROL),
    _row("brx", _K.BRANCH, "uL", _CONTROL),
    _row("call", _K.CALL, "", _CONTROL),
    _row("ret", _K.END, "", _CONTROL),
    _row("exit", _K.END, "", _CONTROL),
    _row("trap", _K.END, "", _CONTROL),
)

ACCESSES = frozenset({Kind.LOAD, Kind.STORE, Kind.RMW})
"""The kinds that access memory itself, before the next instruction of the thread."""
SILENT = frozenset({Kind.COMPUTE, Kind.LANES, Kind.CACHE})
"""The kinds that no thread of another warp could notice."""
SILENT_CALLEES = frozenset({"vprintf", "__assertfail", "malloc", "free"})
"""Functions of the CUDA runtime without accesses that kernels share."""
CONTROL = frozenset({Kind.BRANCH, Kind.JUMP, Kind.CALL, Kind.END})
"""The kinds that end a block, or call."""
PROXY_FENCES = frozenset(each.name for each in _PROXIES if each.kind is Kind.FENCE)
"""The fences between proxies, which order nothing within one."""

ARRIVALS = frozenset(
    f"mbarrier {arrives}{expects}"
    for arrives in ("arrive", "arrive_drop")
    for expects in ("", " expect_tx")
)
"""The operations that arrive on an mbarrier."""
MBARRIER_WAITS = frozenset({"mbarrier try_wait", "mbarrier test_wait"})
"""The operations that ask whether a phase of an mbarrier is complete."""

ROWS: tuple[OperationRow, ...] = (
    *_COMPUTING,
    *_MEMORY,
    *_SYNCHRONISING,
    *_PROXIES,
    *_COPIES,
    *_TENSORS,
    *_BRANCHING,
)
"""Every operation that is known."""


_LEAST = {
    1: "bra|cp async wait_group|cp async bulk wait_group|mbarrier inval|cp async mbarrier arrive|"
    "prefetch|prefetchu|applypriority",
    2: "ld|ld nc|ld param|ldu|st|red|brx|mov|cvt|cvta|neg|not|mbarrier init|mbarrier expect_tx|"
    "elect|mbarrier complete_tx|st async release|red async release",
    3: "st bulk|atom|add|sub|mul|and|or|xor|min|max|shl|shr|setp|mapa|cp async|cp async bulk|"
    "st async|red async|cp reduce async bulk|mbarrier try_wait|mbarrier test_wait",
    4: "selp|mad",
}
LEAST_OPERANDS: Mapping[str, int] = MappingProxyType(
    {name: least for least, names in _LEAST.items() for name in names.split("|")}
    | dict.fromkeys(ARRIVALS, 1)
)
"""The operands that an operation has at least, of those that are looked into. Source: PTX ISA."""


def _index() -> Mapping[str, tuple[OperationRow, ...]]:
    """The rows by their first word, those with most words first. Raises ``ValueError`` on twins."""
    found: dict[str, list[OperationRow]] = {}
    for each in ROWS:
        found.setdefault(each.words[0], []).append(each)
    for name, rows in found.items():
        if len({frozenset(each.words) for each in rows}) < len(rows):
            raise ValueError(f"two rows for one operation that begins with '{name}'")
        rows.sort(key=lambda each: -len(each.words))
    return MappingProxyType({name: tuple(rows) for name, rows in found.items()})


_BY_FIRST_WORD = _index()

ORDERINGS: Mapping[str, Ordering] = MappingProxyType(
    {
        "weak": Ordering.WEAK,
        "relaxed": Ordering.RELAXED,
        "acquire": Ordering.ACQUIRE,
        "release": Ordering.RELEASE,
        "acq_rel": Ordering.ACQ_REL,
        "sc": Ordering.SEQ_CST,
        "mmio": Ordering.RELAXED,
        "volatile": Ordering.RELAXED,
    }
)
"""``.sem`` qualifiers, and those that stand for one. Source: PTX ISA, ld.volatile; ld.mmio."""

SCOPES: Mapping[str, Scope] = MappingProxyType(
    {
        "cta": Scope.WORKGROUP,
        "cluster": Scope.CLUSTER,
        "gpu": Scope.AGENT,
        "gl": Scope.AGENT,
        "sys": Scope.SYSTEM,
    }
)
"""``.scope`` qualifiers; ``gl`` is membar's. Source: PTX ISA, "Scope"; "membar"."""

SCOPE_WORDS: Mapping[Scope, str] = MappingProxyType(
    {scope: word for word, scope in SCOPES.items() if word != "gl"}
)
"""The qualifier of each scope that PTX has, narrowest first."""

SPACES: Mapping[str, AddressSpace] = MappingProxyType(
    {
        "global": AddressSpace.GLOBAL,
        "shared": AddressSpace.LOCAL,
        "shared::cta": AddressSpace.LOCAL,
        "shared::cluster": AddressSpace.SHARED_CLUSTER,
        "const": AddressSpace.CONSTANT,
        "local": AddressSpace.PRIVATE,
    }
)
"""State spaces of memory. Source: PTX ISA, "State Spaces"."""

UPDATES = frozenset("add and or xor min max exch inc dec cas".split())
"""The words of read-modify-writes and reductions. Source: PTX ISA, atom; red."""
REDUCTIONS = UPDATES - {"exch", "cas"}
"""The updates that ``red`` has. Source: PTX ISA, red."""
RMW_KINDS: Mapping[tuple[str, str], RmwKind] = MappingProxyType(
    {(word, letter): kind for word, letters, kind in (
        ("add", "bus", RmwKind.ADD), ("add", "f", RmwKind.FADD), ("and", "bus", RmwKind.AND),
        ("or", "bus", RmwKind.OR), ("xor", "bus", RmwKind.XOR), ("exch", "bus", RmwKind.XCHG),
        ("min", "s", RmwKind.MIN), ("min", "bu", RmwKind.UMIN), ("min", "f", RmwKind.FMIN),
        ("max", "s", RmwKind.MAX), ("max", "bu", RmwKind.UMAX), ("max", "f", RmwKind.FMAX),
        ("inc", "bus", RmwKind.UINC_WRAP), ("dec", "bus", RmwKind.UDEC_WRAP),
    ) for letter in letters}
)  # fmt: skip
"""Read-modify-writes by their word and the letter of the type. Source: PTX ISA, atom."""

_TYPE = re.compile(r"(?:[busf]|bf|tf|ue|e)\d+(?:m\d+)?(?:x\d+)?|pred")
_COMPARING = frozenset({"setp", "set"})
_COMPARISONS = frozenset((*SLOTS["COMPARE"].split("|"), "lo", "ls", "hi", "hs"))
_BOOLEANS = frozenset(SLOTS["BOOLEAN"].split("|"))
_ROUNDINGS = frozenset(f"{SLOTS['ROUND']}|{SLOTS['TO_INTEGER']}|rna|rs".split("|"))
_CACHE_OPERATORS = frozenset(f"{SLOTS['COP']}|{SLOTS['STORE_COP']}".split("|"))
_HINTS = frozenset(
    "|".join(SLOTS[each] for each in ("EVICT1", "EVICT2", "HINT", "PREFETCH")).split("|")
)
_VECTOR = re.compile(r"v([248])")
_SHAPE = re.compile(r"m64n(\d+)k\d+")
_ELEMENT = re.compile(r"(bf|tf|[busf]|ue|e)(\d+)(?:x(\d+))?")
_SMALL_FLOAT = re.compile(r"(ue|e)\d+m\d+(?:x(\d+))?")
_MATRIX_BYTES = 16
"""The bytes of one 8x8 matrix of 16-bit elements that a lane has at its address."""


@dataclass(frozen=True, slots=True)
class Opcode:
    """The decoded name of an instruction: ``row`` is None for one that is not known.

    ``words``: those of the name in their order. ``ordering`` and ``scope`` are None where they mean
    nothing. ``spaces`` in their order: a copy's destination is first. ``width`` of one element in
    bits, 0 if the name does not say. ``update``: the word of a read-modify-write or of a reduction,
    as ``exch``, and ``rmw`` what that is on the type of the name; a compare-and-swap, ``cas``, is
    no RmwKind. ``comparison`` and ``boolean`` of a setp. ``cache``: the cache operator. ``hints``:
    the words on eviction and prefetch. A word that the name does not have is "". ``modifiers``: all
    words but those of row, ordering, scope, spaces and types. ``fit``: how the name fits a form of
    the manual.
    ``known``: its row if it fits; without, ``operation`` is a name that no row has, and opaque.
    """

    name: str
    words: tuple[str, ...]
    row: OperationRow | None
    ordering: Ordering | None
    scope: Scope | None
    spaces: tuple[AddressSpace, ...]
    types: tuple[str, ...]
    width: int
    vector: int
    volatile: bool
    mmio: bool
    update: str
    rmw: RmwKind | None
    comparison: str
    boolean: str
    rounding: str
    cache: str
    hints: frozenset[str]
    modifiers: frozenset[str]
    fit: Fit
    known: OperationRow | None
    operation: str
    kind: Kind
    head: str = field(init=False, repr=False, compare=False)
    type: str = field(init=False, repr=False, compare=False)
    of_parameters: bool = field(init=False, repr=False, compare=False)
    """``head``: the first of its words, as ``atom``. ``type``: the last of its types; "" if the
    name has none. ``of_parameters``: true of ``ld.param`` and ``st.param``, whose places are no
    memory of other threads."""

    def __post_init__(self) -> None:
        of_parameters = self.row is not None and self.row.words[-1].startswith("param")
        object.__setattr__(self, "head", self.words[0])
        object.__setattr__(self, "type", self.types[-1] if self.types else "")
        object.__setattr__(self, "of_parameters", of_parameters)

    @property
    def is_float(self) -> bool:
        """True where its last type is a floating-point number, or several."""
        return self.type.startswith(("f", "bf"))

    @property
    def columns(self) -> int | None:
        """The columns of a matrix product, n of its word ``m64n128k16``."""
        found = next(filter(None, (_SHAPE.fullmatch(each) for each in self.words)), None)
        return None if found is None else int(found[1])

    @property
    def is_one_way(self) -> bool:
        """True of a fence from or to the generic proxy alone, as of a tensor map."""
        return self.operation.endswith("::generic")

    @property
    def unread(self) -> frozenset[str]:
        """The words that no form takes: of an operation without a row all."""
        return frozenset(self.words if self.row is None else self.fit.unread)

    @property
    def problem(self) -> str:
        """The reason that no assembler knows it, as a sentence without its subject; "" if known."""
        if self.row is None:
            return "is not known"
        return f"is no form of {self.row.words[0]} ({self.fit})" if self.fit.faults else ""

    @property
    def effects(self) -> Effects:
        """Its effects, without those of its operands."""
        known = self.known is not None
        return Effects(
            kind=self.kind,
            ordering=self.ordering if known else None,
            scope=self.scope if known else None,
            rmw=self.rmw if known else None,
            unread=self.unread,
        )

    @property
    def beginnings(self) -> Iterator[str]:
        """The name without none, one and more of its last words: ``atom.relaxed.gpu``, then
        ``atom.relaxed``."""
        return (".".join(self.words[:count]) for count in range(len(self.words), 0, -1))

    def renamed(self, words: Mapping[str, str]) -> str:
        """The name with others in place of some words, as ``{"acquire": "relaxed"}``."""
        return ".".join(words.get(word, word) for word in self.words)


@cache
def read_opcode(name: str) -> Opcode:
    """The name of an instruction decoded, its words taken as a set."""
    words = tuple(name.split("."))
    row = _row_of(name)
    taken = set(row.words) if row is not None else set[str]()
    rest = [word for word in words[1:] if word not in taken]
    orderings = [ORDERINGS[word] for word in rest if word in ORDERINGS]
    # The scope of a barrier's name is part of it: barrier.cta.sync, barrier.cluster.arrive.
    scopes = [SCOPES[word] for word in rest if word in SCOPES]
    volatile, mmio = "volatile" in rest, "mmio" in rest
    ordering = orderings[0] if orderings else row.ordering if row else None
    scope = scopes[0] if scopes else None
    if scope is None and (volatile or mmio):
        scope = Scope.SYSTEM
    if scope is None and row is not None and ordering is not Ordering.WEAK:
        scope = row.scope
    types = tuple(word for word in rest if _TYPE.fullmatch(word))
    vectors = [int(found[1]) for word in rest if (found := _VECTOR.fullmatch(word))]
    said = {*ORDERINGS, *SCOPES, *SPACES}
    fits = Fit() if row is None else fit(row.name, name)
    known = None if fits.faults else row
    modifiers = frozenset(w for w in rest if w not in said and w not in types)
    computes = words[0] in _COMPARING
    update = "" if computes else _first(rest, UPDATES)
    return Opcode(
        name=name,
        words=words,
        row=row,
        ordering=ordering,
        scope=scope,
        spaces=tuple(SPACES[word] for word in words[1:] if word in SPACES),
        types=types,
        width=_bits_of(types[-1]) if types else 0,
        vector=vectors[0] if vectors else 1,
        volatile=volatile,
        mmio=mmio,
        update=update,
        rmw=RMW_KINDS.get((update, _letter_of(types[-1]))) if types else None,
        comparison=_first(rest, _COMPARISONS) if computes else "",
        boolean=_first(rest, _BOOLEANS) if computes else "",
        rounding=_first(rest, _ROUNDINGS),
        cache=_first(rest, _CACHE_OPERATORS),
        hints=modifiers & _HINTS,
        modifiers=modifiers - {f"v{vectors[0]}"} if vectors else modifiers,
        fit=fits,
        known=known,
        operation=known.name if known is not None else name if row is None else f"?{name}",
        kind=Kind.OPAQUE if known is None else known.kind,
    )


def opcode_of(text: str) -> Opcode:
    """The decoded name of an instruction that is written with its operands, without a guard."""
    return read_opcode(text.partition(" ")[0])


def _first(words: Iterable[str], of: frozenset[str]) -> str:
    return next((word for word in words if word in of), "")


def _letter_of(type: str) -> str:
    """``s``, ``u``, ``b`` or ``f`` of a type: bf16 is a floating-point number too."""
    return "f" if type.startswith("bf") else type[0]


def rows_of(name: str) -> tuple[OperationRow, ...]:
    """The rows whose words a name has, those with most of them; one if the rows are right."""
    first, *words = name.split(".")
    has = frozenset(words)
    found = [each for each in _BY_FIRST_WORD.get(first, ()) if has.issuperset(each.words[1:])]
    return tuple(each for each in found if len(each.words) == len(found[0].words))


def _row_of(name: str) -> OperationRow | None:
    found = rows_of(name)
    if len(found) < 2:
        return next(iter(found), None)
    # Of cp.reduce.async.bulk.tensor and a store, both of which have all their words in the name.
    return min(found, key=lambda row: fit(row.name, name).faults)


@cache
def element_of(type: str) -> tuple[str, int, int] | None:
    """Letter and bits of an element of a type, and the number of elements: ``("bf", 16, 2)`` of
    bf16x2.

    A predicate is ``("pred", 1, 1)``, a small float as e4m3 of 8 bits. None for a word that is no
    type.
    """
    if type == "pred":
        return type, 1, 1
    if (found := _SMALL_FLOAT.fullmatch(type)) is not None:
        return found[1], 8, int(found[2] or 1)
    found = _ELEMENT.fullmatch(type)
    return None if found is None else (found[1], int(found[2]), int(found[3] or 1))


def _bits_of(type: str) -> int:
    element = element_of(type)
    assert element is not None, type
    return element[1] * element[2]


_NAME = re.compile(r"[%$]?[A-Za-z_][\w$]*(?:\.[xyzw]\b)?|\$\d+|%\d+|\$[A-Za-z_][\w$]*")
_SPECIAL = re.compile(
    r"%(?:tid|ntid|ctaid|nctaid|gridid|clusterid|nclusterid|cluster_ctaid|cluster_nctaid"
    r"|cluster_ctarank|cluster_nctarank|is_explicit_cluster|laneid|warpid|nwarpid|smid|nsmid"
    r"|lanemask_\w+|clock(?:_hi|64)?|pm\d+(?:_64)?|globaltimer(?:_lo|_hi)?|envreg\d+"
    r"|dynamic_smem_size|total_smem_size|aggr_smem_size|reserved_smem_\w+|current_graph_exec"
    r"|WARP_SZ)(?:\.[xyzw])?|WARP_SZ"
)
"""Special registers. Source: PTX ISA, Special Registers."""
_REMEMBERED = 1 << 16
"""The number of texts kept parsed: a file of machine-made code repeats itself."""
_FEW = 1 << 13
"""The number of texts that may stay parsed when a file has been read."""
_NUMBER = re.compile(r"-?(?:0[xX][0-9a-fA-F]+|\d+)U?")


@dataclass(slots=True, unsafe_hash=True)
class Statement:
    """One instruction of PTX. ``guard`` is its predicate, ``!%p1`` if it is negated, or "".

    ``operands`` as they are written. ``loops``: it is done again until it succeeds.
    """

    opcode: Opcode
    operands: tuple[str, ...]
    guard: str = ""
    loops: bool = False
    operation: str = field(init=False, repr=False, compare=False)
    kind: Kind = field(init=False, repr=False, compare=False)
    """``operation``: the words of its row, as ``mbarrier try_wait``; without one its name, which is
    no row's. ``kind`` of it; opaque without a row."""
    shape: "Shape" = field(init=False, repr=False, compare=False)
    defines: tuple[str, ...] = field(init=False, repr=False, compare=False)
    uses: tuple[str, ...] = field(init=False, repr=False, compare=False)
    accesses: tuple[Access, ...] = field(init=False, repr=False, compare=False)
    specials: tuple[str, ...] = field(init=False, repr=False, compare=False)
    """``shape``: the meaning of its brackets. ``defines``: the registers that it writes.
    ``uses``: the names that it reads, its guard's among them: registers, variables, no labels.
    ``accesses`` to memory; of an operand that is a descriptor, the name. ``specials``: the special
    registers."""
    ordering: Ordering | None = field(init=False, repr=False, compare=False)
    scope: Scope | None = field(init=False, repr=False, compare=False)
    is_strong: bool = field(init=False, repr=False, compare=False)
    """``ordering``: None where it has none to have. ``scope`` of a strong access, fence or barrier.
    ``is_strong``: true of an access or fence with an ordering other than weak."""

    def __post_init__(self) -> None:
        # Analyses ask for them at every visit of a loop.
        opcode, operands = self.opcode, self.operands
        read = [*map(_read_operand, operands)]
        shape = shape_of(opcode.name, "".join([each.bracket for each in read]))
        uses = _read_operand(self.guard).names if self.guard else ()
        for at in shape.used:
            uses += read[at].names
        defines = specials = ()
        for at in shape.defined:
            defines += read[at].names
        for each in read:
            specials += each.specials
        if "_" in defines:
            defines = tuple(name for name in defines if name != "_")
        self.ordering = opcode.ordering if opcode.known is not None else None
        self.scope = opcode.scope if opcode.known is not None else None
        self.is_strong = self.ordering not in (None, Ordering.WEAK)
        self.operation, self.kind = opcode.operation, opcode.kind
        self.shape, self.defines, self.uses, self.specials = shape, defines, uses, specials
        self.accesses = (*map(self._access, shape.accesses),) if shape.accesses else ()

    def __str__(self) -> str:
        guard = f"@{self.guard} " if self.guard else ""
        return f"{guard}{self.opcode.name} {', '.join(self.operands)}".rstrip()

    @property
    def operation_words(self) -> tuple[str, ...]:
        """The words of its row, ``("mbarrier", "try_wait")``; without one those of its name."""
        return self.opcode.words if self.opcode.known is None else self.opcode.known.words

    @property
    def operation_name(self) -> str:
        """Its operation as a name is written: ``mbarrier.try_wait``."""
        return self.operation.replace(" ", ".")

    @property
    def roles(self) -> tuple[tuple[OperandRole, str], ...]:
        """Its operands with their roles; without a row they are all used."""
        return tuple(zip(self.shape.roles, self.operands, strict=True))

    @property
    def sources(self) -> list[str]:
        """The operands that it uses, as they are written."""
        return [self.operands[at] for at in self.shape.used]

    def operand(self, role: OperandRole) -> str:
        """The first operand of a role without its brackets; "" if there is none."""
        roles = self.shape.roles
        return _inner(self.operands[roles.index(role)]) if role in roles else ""

    @property
    def effects(self) -> Effects:
        """Its effects, in the terms that all instructions share."""
        return replace(
            self.opcode.effects, accesses=self.accesses, defines=self.defines, uses=self.uses
        )

    def _access(self, made: tuple[int, Access]) -> Access:
        """An access of its shape, with the address that an operand is."""
        at, access = made
        if at < 0:
            return access
        size, address = access.size, _inner(self.operands[at])
        if size == _COPIED:
            size = number(next((each for each in self.operands if not each.startswith("[")), ""))
        return Access(address, access.reads, access.writes, access.proxy, access.space, size)


_COPIED = -1
"""The size of accesses of a copy, which is the first operand that is no address, if constant."""


@record()
class Shape:
    """The meaning of an instruction's name for operands that begin with some brackets.

    ``roles`` of the operands. ``defined``: the places of those that it writes; ``used``: of those
    that it reads, no labels; ``is_plain``: none of these is in brackets. ``accesses``: each with
    the place of the operand that is its address, -1 if none is. ``is_whole``: no operand is
    missing, and no address.
    """

    roles: tuple[OperandRole, ...]
    defined: tuple[int, ...]
    used: tuple[int, ...]
    is_plain: bool
    accesses: tuple[tuple[int, Access], ...]
    is_whole: bool


@cache
def shape_of(name: str, brackets: str) -> Shape:
    """The shape of an instruction's name with the first brackets of each operand, or ``.``."""
    opcode = read_opcode(name)
    row, known = opcode.row, opcode.known
    roles = tuple(_roles(() if known is None else known.roles, brackets))
    unread = (OperandRole.DEFINE, OperandRole.LABEL)
    needed = 0
    if row is not None and row.kind not in _ELSEWHERE:
        needed = sum(each in _IN_BRACKETS for each in row.roles)
    least = 0 if row is None else LEAST_OPERANDS.get(row.name, 0)
    used = tuple(at for at, role in enumerate(roles) if role not in unread)
    return Shape(
        roles,
        tuple(at for at, role in enumerate(roles) if role is OperandRole.DEFINE),
        used,
        all(brackets[at] == "." for at in used),
        () if known is None else tuple(_accesses(opcode, known, roles, brackets)),
        len(brackets) >= least and brackets.count("[") >= needed,
    )


def _roles(roles: Sequence[OperandRole], brackets: str) -> Iterator[OperandRole]:
    at = 0
    for bracket in brackets:
        role = roles[at] if at < len(roles) else OperandRole.USE
        if role in _ADDRESSES and bracket != "[":
            # Words that some forms have and others leave out: a state, a mask, a size.
            yield OperandRole.USE
            continue
        if role is OperandRole.DEFINE and bracket == "[" and at + 1 < len(roles):
            # An arrival on a remote mbarrier gives nothing back.
            at += 1
            role = roles[at]
        yield role
        at += 1


def _accesses(
    opcode: Opcode, row: OperationRow, roles: Sequence[OperandRole], brackets: str
) -> Iterator[tuple[int, Access]]:
    first, second = (*opcode.spaces, *opcode.spaces[-1:], None, None)[:2]
    size, is_first = _size(opcode, row), True
    for at, role in enumerate(roles):
        if role in (OperandRole.READ, OperandRole.WRITE, OperandRole.UPDATE):
            reads, writes = role is not OperandRole.WRITE, role is not OperandRole.READ
            space = first if is_first else second
            yield at, Access("", reads, writes, row.proxy, space, size)
            is_first = False
        elif role is OperandRole.TENSORMAP and row.kind is Kind.TENSOR:
            # A tensor store writes what the map is of: somewhere in global memory.
            writes = "r" in row.roles
            yield -1, Access("", not writes, writes, row.proxy, AddressSpace.GLOBAL, None)
            is_first = False
        elif role is OperandRole.DESCRIPTOR and brackets[at] == ".":
            yield at, Access("", True, False, row.proxy, AddressSpace.LOCAL, None)


def _size(opcode: Opcode, row: OperationRow) -> int | None:
    """The number of bytes of each access."""
    if row.kind is Kind.TENSOR:
        return None
    if row.name in ("ldmatrix", "stmatrix"):
        return _MATRIX_BYTES
    if row.name == "cp async" or (row.kind is Kind.COPY and "bulk" in row.words):
        return _COPIED
    return opcode.width * opcode.vector // 8 or None


_ADDRESSES = frozenset(map(OperandRole, "rwxst"))


def _inner(operand: str) -> str:
    return operand[1:-1].strip() if operand.startswith("[") else operand


def names_in(text: str) -> Iterator[str]:
    """The names of registers, variables and places of an inline text; no special registers."""
    return iter(_read_operand(text).names)


@record()
class _Operand:
    """The ``names`` and special registers of an operand; ``bracket``: ``[`` or ``{`` if it begins
    with one, else ``.``. ``is_whole``: every bracket has its counterpart, and something in it."""

    names: tuple[str, ...]
    specials: tuple[str, ...]
    bracket: str
    is_whole: bool


@lru_cache(_REMEMBERED)
def _read_operand(text: str) -> _Operand:
    found = [*map(intern, _NAME.findall(text))]
    names = tuple([each for each in found if _SPECIAL.fullmatch(each) is None])
    own = found if len(names) < len(found) else ()
    specials = tuple([each for each in own if each[0] == "%" and each not in names])
    bracket = text[0] if text.startswith(("[", "{")) else "."
    return _Operand(names, specials, bracket, _is_closed(text))


@lru_cache(_REMEMBERED)
def number(text: str) -> int | None:
    """A constant of PTX as a number; None if it is none. Source: PTX ISA, Integer Constants."""
    if _NUMBER.fullmatch(text) is None:
        return None
    digits = text.rstrip("U")
    if re.fullmatch(r"-?0[0-7]+", digits):
        return int(digits, 8)
    return int(digits, 0)


# Text

_GUARDED = re.compile(r"@\s*(!?)\s*([%$\w]+|\$\{?\d+\}?)\s+(.*)", re.DOTALL)
_INSTRUCTION = re.compile(r"([a-z]\w*(?:\.[\w:]+)*)\s*(.*)", re.DOTALL)
_OPENING, _CLOSING = "([{", ")]}"


@lru_cache(_REMEMBERED)
def read_statement(text: str) -> Statement | None:
    """One instruction, without its semicolon; None for text that is none, or lacks operands."""
    guard = ""
    if text.startswith("@"):
        if (found := _GUARDED.match(text)) is None:
            return None
        guard, text = found[1] + found[2], found[3]
    if (found := _INSTRUCTION.fullmatch(text)) is None:
        return None
    statement = Statement(read_opcode(found[1]), split_operands(found[2]), guard)
    if not statement.shape.is_whole:
        return None
    are_whole = [_read_operand(each).is_whole for each in statement.operands]
    return statement if all(are_whole) else None


def forget_texts() -> None:
    """Remove the texts kept parsed if they are many: a large file's take more memory than all that
    is made of them."""
    for kept in (read_statement, _read_operand, number):
        if kept.cache_info().currsize > _FEW:
            kept.cache_clear()


_IN_BRACKETS = frozenset(map(OperandRole, "rwxm"))
_ELSEWHERE = SILENT | {Kind.TENSOR}
"""Kinds of operations whose addresses have other forms too: descriptors, parameters."""
_NESTED = re.compile(r"[(){}]|\[[^],]*[,[]")
"""Brackets that may have a comma in them."""
_BRACKET = re.compile(r"[][(){}]")
_PAIR = re.compile(r"\([^][(){}]*\)|\[[^][(){}]*\]|\{[^][(){}]*\}")


def _is_closed(operand: str) -> bool:
    """True of an operand with something in it, in which every bracket has its counterpart."""
    if _BRACKET.search(operand) is None or operand.replace(" ", "") == "[]":
        return operand.strip(" []") != ""
    while (rest := _PAIR.sub("", operand)) != operand:
        operand = rest
    return not any(map(operand.count, _OPENING + _CLOSING))


def split_operands(text: str) -> tuple[str, ...]:
    """Operands between commas that are in no brackets, each on one line without extra space."""
    text = " ".join(text.split())
    if not text:
        return ()
    if _NESTED.search(text) is None:
        return tuple([intern(each.strip()) for each in text.split(",")])
    found: list[str] = []
    depth, whole = 0, ""
    for part in text.split(","):
        depth += sum(map(part.count, _OPENING)) - sum(map(part.count, _CLOSING))
        whole += part
        if depth:
            whole += ","
            continue
        found.append(intern(whole.strip()))
        whole = ""
    if depth:
        found.append(intern(whole.removesuffix(",").strip()))
    return tuple(found)
