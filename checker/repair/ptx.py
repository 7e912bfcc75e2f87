"""Candidates for repairs of PTX: for each rule what can be written, the smallest first.

They are many on purpose, and none is believed: the judgement of the edited text decides. Sources:
PTX ISA, Parallel Synchronization and Communication Instructions; Asynchronous copy; griddepcontrol.
"""

from collections import Counter
from collections.abc import (
    Callable,
    Collection,
    Container,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass
from itertools import chain, product
from types import MappingProxyType

from fencewright.checker.findings.finding import Rule
from fencewright.checker.repair.edits import Action, Edit, Repair, Spot, delete, replace
from fencewright.checker.repair.search import Fault
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.ptx.code.statements import (
    ACCESSES,
    ARRIVALS,
    CONTROL,
    MBARRIER_WAITS,
    ORDERINGS,
    SCOPE_WORDS,
    SCOPES,
    SILENT,
    OperandRole,
    Statement,
)
from fencewright.lowering.ptx.code.text import PtxFile, PtxFunction, PtxInstruction
from fencewright.lowering.vocabulary import Scope

_CTA, _CLUSTER, _GPU, _SYS = SCOPE_WORDS[Scope.WORKGROUP], "cluster", "gpu", "sys"
_FENCES = tuple(f"fence.acq_rel.{scope};" for scope in (_CTA, _CLUSTER, _GPU, _SYS))
_PROXY_FENCES = (
    "fence.proxy.async.shared::cta;",
    "fence.proxy.async.global;",
    "fence.proxy.async;",
)
_MEET = "bar.sync 0;"
_WARP_MEETS = "bar.warp.sync 0xffffffff;"
_CLUSTER_MEETS = "barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;"
_WAITS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "cp async": ("cp.async.wait_group 0;", "cp.async.wait_all;"),
        "cp async bulk": (
            "cp.async.bulk.wait_group.read 0;",
            "cp.async.bulk.wait_group 0;",
            "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;",
            "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;",
        ),
        "wgmma": (
            "wgmma.wait_group.sync.aligned 0;",
            "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;",
        ),
        "tcgen05 ld": ("tcgen05.wait::ld.sync.aligned;",),
        "tcgen05 st": ("tcgen05.wait::st.sync.aligned;",),
    }
)
"""The wait for an operation in flight, by the first words of its name."""
_GROUP_WAITS = frozenset({"cp async wait_group", "cp async bulk wait_group", "wgmma wait_group"})


@dataclass(frozen=True, slots=True)
class PtxCode:
    """A function in its text: the spots of its statements, by their numbers."""

    function: PtxFunction
    instructions: tuple[PtxInstruction, ...]
    spots: Mapping[int, Spot]

    @property
    def editable(self) -> Iterator[PtxInstruction]:
        """The statements that stand in a line of the text."""
        return (each for each in self.instructions if each.number in self.spots)

    def at(self, lines: Iterable[int]) -> list[PtxInstruction]:
        """The statements of these lines that can be edited, in the order of the lines."""
        by_line: dict[int, list[PtxInstruction]] = {}
        for each in self.editable:
            by_line.setdefault(each.line, []).append(each)
        return [each for line in dict.fromkeys(lines) for each in by_line.get(line, ())]

    def gaps(self, about: Collection[int] = ()) -> Iterator[tuple[Action, int, bool]]:
        """The places between statements: before all that others may notice, of loads in a row that
        it is not ``about`` the first, and at the end of a block before a label; True where
        a loop begins again after it."""
        for block in self.function.blocks:
            loops = any(each <= block.number for each in block.successors)
            was_load = False
            for each in block.instructions:
                if each.statement.kind in SILENT or each.number not in self.spots:
                    continue
                is_load = each.statement.operation == "ld" and each.number not in about
                if not (is_load and was_load):
                    yield Action.BEFORE, each.number, loops and each.statement.kind in CONTROL
                was_load = is_load
            last = block.instructions[-1] if block.instructions else None
            if (
                last is not None
                and last.statement.kind not in CONTROL
                and last.number in self.spots
            ):
                yield Action.AFTER, last.number, loops

    def renamed(self, each: PtxInstruction, name: str) -> Repair:
        """The statement with another name of its instruction."""
        spot = self.spots[each.number]
        return (replace(spot, spot.text.replace(each.statement.opcode.name, name, 1)),)

    def ordered(self, words: Iterable[tuple[PtxInstruction, str]], scope: str) -> Repair:
        """The statements, each with the ordering beside it, at one scope."""
        names = ((each, ordered_name(each.statement, word, scope)) for each, word in words)
        return tuple(chain.from_iterable(self.renamed(each, name) for each, name in names))


def _distance(
    action: Action, number: int, loops: bool, first: int, last: int
) -> tuple[int, bool, int]:
    place = 2 * number + (1 if action is Action.AFTER else -1)
    low, high = 2 * first, 2 * last
    if low < place < high:
        return 0, loops, high - place
    return (1, loops, place - high) if place > high else (2, loops, low - place)


def code_of(function: PtxFunction, text: str) -> PtxCode:
    """A function with the spots of its statements in the text that it was read from."""
    lines = text.split("\n")
    spots: dict[int, Spot] = {}
    instructions = tuple(function.instructions)
    for each in instructions:
        line = lines[each.line - 1] if each.line <= len(lines) else ""
        begin = each.column - 1
        end = line.find(";", begin)
        # A statement over several lines, as a call is, is left as it is.
        if end >= 0 and each.statement.opcode.name in line[begin:end]:
            spots[each.number] = Spot(each.line, each.column, line[begin : end + 1])
    return PtxCode(function, instructions, spots)


def ordered_name(statement: Statement, ordering: str, scope: str) -> str:
    """The name of an instruction with another ordering and scope, where its form has them.

    Cache operators are for weak accesses. Source: PTX ISA, ld; st.
    """
    dropped = {*ORDERINGS, *SCOPES, statement.opcode.cache}
    words = [word for word in statement.opcode.words if word not in dropped]
    if words[0] == "mbarrier":
        place = next(n for n, word in enumerate(words) if word.startswith(("shared", "b64")))
    else:
        place = 1
    words[place:place] = [each for each in (ordering, scope) if each]
    return ".".join(words)


def _scope_of(statement: Statement) -> tuple[str, ...]:
    """The scopes to try: its own, or those of other threads of the GPU and beyond."""
    if statement.scope is not None and statement.is_strong:
        own = SCOPE_WORDS[statement.scope]
        return (own, *(each for each in (_GPU, _SYS) if _is_wider(each, own)))
    return _GPU, _SYS


def _is_wider(scope: str, than: str) -> bool:
    return SCOPES[scope] is not SCOPES[than] and SCOPES[scope].includes(SCOPES[than])


Row = Callable[[PtxCode, Fault], Iterator[Repair]]
"""The candidates of a rule for a finding."""


def _numbers_of(code: PtxCode, fault: Fault) -> tuple[list[int], int]:
    """The numbers of the statements that a finding is about, the first one first, and of the last
    one of its line."""
    numbers = sorted(each.number for each in code.at((*fault.about, fault.line)))
    return numbers or [0], max((each.number for each in code.at((fault.line,))), default=0)


def _between(*texts: str, near: Sequence[bool] = (True, False)) -> Row:
    """The texts between what a finding is about, each at all places before the next text, then at
    all others: what is far is hardly meant.

    The nearest to its line come before the others, and the end of a loop last.
    """

    def candidates(code: PtxCode, fault: Fault) -> Iterator[Repair]:
        about, last = _numbers_of(code, fault)
        gaps = sorted(code.gaps(about), key=lambda gap: _distance(*gap, about[0], last))
        for is_near, text in product(near, texts):
            for action, number, _ in gaps:
                if (about[0] < number <= last) is is_near:
                    yield (Edit(action, code.spots[number], text),)

    return candidates


def _at_copies(text: str) -> Row:
    """The text at all copies of one statement of the source, or without line numbers at all
    statements of one name, as of an unrolled loop: one at least is between the finding's."""

    def candidates(code: PtxCode, fault: Fault) -> Iterator[Repair]:
        (first, *_), last = _numbers_of(code, fault)
        near = range(first + 1, last + 1)
        statements = {each.number: each for each in code.editable}
        copies: dict[tuple[Action, Hashable, str], dict[int, Edit]] = {}
        for action, number, _ in code.gaps():
            at = statements[number]
            edit = Edit(action, code.spots[number], text)
            copies.setdefault((action, at.source, at.statement.opcode.name), {})[number] = edit
        for own in copies.values():
            if len(own) > 1 and not own.keys().isdisjoint(near):
                yield tuple(own.values())

    return candidates


def _orders(ordering: str, *, reads: bool) -> Row:
    """The ordering on a read or a write that the finding is about."""

    def candidates(code: PtxCode, fault: Fault) -> Iterator[Repair]:
        for each in code.at((fault.line, *fault.about)):
            statement = each.statement
            takes = statement.operation in ("ld" if reads else "st", "atom", "red")
            if not takes or (reads and statement.operation == "red"):
                continue
            if ordering != "relaxed" and each.line != fault.line and not statement.is_strong:
                # The data that the signal is about.
                continue
            known = statement.ordering
            both = known is not None and (known.releases if reads else known.acquires)
            word = "acq_rel" if both else ordering
            for scope in _scope_of(statement):
                yield code.ordered([(each, word)], scope)

    return candidates


def _both_orders(*orders: tuple[str, str], is_weak: bool = False) -> Row:
    """A signal and its read with one of these pairs of orders, where both are missing.

    The copies of a signal in an unrolled loop are one: a line of the source is edited as a whole.
    ``is_weak``: they may be weak accesses as yet.
    """

    def candidates(code: PtxCode, fault: Fault) -> Iterator[Repair]:
        at = code.at((fault.line, *fault.about))
        reads = [each for each in at if _is_signal(each, "ld", is_weak=is_weak)]
        for read in reads:
            if read.statement.operation == "atom":
                for scope in _scope_of(read.statement):
                    yield code.ordered([(read, "acq_rel")], scope)
        writes: dict[Hashable, list[PtxInstruction]] = {}
        for each in code.editable:
            if _is_signal(each, "st", is_weak=is_weak):
                writes.setdefault(each.source or each.number, []).append(each)
        for copies, read, (release, acquire) in product(writes.values(), reads, orders):
            for scope in _scope_of(copies[0].statement) if read not in copies else ():
                yield code.ordered([*((each, release) for each in copies), (read, acquire)], scope)

    return candidates


_INTEGERS = frozenset({"u32", "s32", "u64", "s64"})
_BITS = frozenset({"b32", "b64"})
_UPDATES: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "add": _INTEGERS | {"f32", "f64"},
        "min": _INTEGERS,
        "max": _INTEGERS,
        "and": _BITS,
        "or": _BITS,
        "xor": _BITS,
    }
)
"""Operations that ``red`` and ``atom`` have too, and their types. Source: PTX ISA, red; atom."""
_UNSIGNED = {"s32": "u32", "s64": "u64"}
"""The types of sums: red has no s64, and u32 is the one of atomicAdd."""


def _as_update(code: PtxCode, fault: Fault) -> Iterator[Repair]:
    """One atomic update in place of a load, an operation, and a store to the same address; then
    all that the code has of one access of the source."""
    updates = _Updates(code)
    for store in code.at((fault.line, *fault.about)):
        own = updates.at(store)
        if own is None:
            continue
        yield own
        copies = [each for each in code.editable if each.source == store.source is not None]
        yield tuple(chain.from_iterable(filter(None, map(updates.at, copies))))


class _Updates:
    """The updates of a function that are several statements."""

    def __init__(self, code: PtxCode):
        self._code = code
        self._uses = Counter(name for each in code.instructions for name in each.statement.uses)
        self._block = {
            each.number: block for block in code.function.blocks for each in block.instructions
        }
        self._made: dict[str, list[PtxInstruction]] = {}
        for each in code.editable:
            for register in each.statement.defines:
                self._made.setdefault(register, []).append(each)

    def at(self, store: PtxInstruction) -> Repair | None:
        """The update that ends with a store; None if there is none, or a value has another use
        that the update would not give it."""
        statement = store.statement
        if statement.operation != "st" or len(statement.operands) != len(("address", "value")):
            return None
        address, value = statement.operands
        operation = self._only(value, _UPDATES)
        if operation is None or self._uses[value] > 1:
            return None
        words = operation.statement.opcode.words
        if words[-1] not in _UPDATES[words[0]]:
            return None
        for place in (1, 2):
            old, other = (operation.statement.operands[each] for each in (place, 3 - place))
            load = self._only(old, ("ld",))
            if load is None or load.statement.operands[1:] != (address,):
                continue
            # A reduction takes the place of the store: its operand may be made after the load.
            reduces = self._uses[old] == 1
            begins = operation if reduces else load
            if not (
                self._is_one_step(load, store, {*statement.uses} - {value})
                and self._is_one_step(begins, store, {*operation.statement.uses} - {old})
            ):
                continue
            spots = self._code.spots
            name = _update_name(words, statement.opcode.words)
            if reduces:
                guard = f"@{statement.guard} " if statement.guard else ""
                update = replace(spots[store.number], f"{guard}red.{name} {address}, {other};")
                return update, delete(spots[operation.number]), delete(spots[load.number])
            if not statement.guard:
                new = f"atom.{name} {old}, {address}, {other};"
                gone = (delete(spots[each.number]) for each in (operation, store))
                return replace(spots[load.number], new), *gone
        return None

    def _only(self, register: str, operations: Container[str]) -> PtxInstruction | None:
        """The one instruction that makes a value."""
        found = self._made.get(register, [])
        is_one = len(found) == 1 and not found[0].statement.guard
        return found[0] if is_one and found[0].statement.opcode.words[0] in operations else None

    def _is_one_step(self, load: PtxInstruction, store: PtxInstruction, names: set[str]) -> bool:
        """True where nothing between changes these registers, or could be noticed."""
        block = self._block[load.number]
        if block is not self._block[store.number] or load.number > store.number:
            return False
        between = (x for x in block.instructions if load.number < x.number < store.number)
        return all(
            names.isdisjoint(each.statement.defines)
            and (each.statement.kind in SILENT or each.statement.operation == "ld")
            for each in between
        )


def _update_name(operation: Sequence[str], store: Sequence[str]) -> str:
    """The name of an update for the words of an operation and of the store of its result."""
    first, kind = operation[0], operation[-1]
    space = next((word for word in store if word.startswith(("global", "shared"))), "")
    scope = _CTA if space.startswith("shared") else _GPU
    kind = _UNSIGNED.get(kind, kind) if first == "add" else kind
    return ".".join(filter(None, ("relaxed", scope, space, first, kind)))


def _tested_reads(code: PtxCode, fault: Fault) -> Iterator[Repair]:
    """A strong read where a test of its value guards an update of the same place; then all that
    the code has of one access of the source."""
    at = code.at((fault.line, *fault.about))
    updated = {
        operand
        for each in at
        if each.statement.operation in ("atom", "red")
        for operand in each.statement.operands
    }
    tested = {
        name
        for each in code.instructions
        if each.statement.opcode.words[0] == "setp"
        for name in each.statement.uses
    }

    weak = [x for x in code.editable if x.statement.operation == "ld" and not x.statement.is_strong]
    for read in at:
        value, *address = read.statement.operands or ("",)
        if read not in weak or value not in tested or updated.isdisjoint(address):
            continue
        for some in ((read,), [x for x in weak if x.source == read.source is not None]):
            yield code.ordered(((each, "relaxed") for each in some), _GPU)


_BOTH_SIDES = {"ld": "acquire", "st": "release", "red": "release", "atom": "acq_rel"}
"""The ordering of a signal's accesses with which no order is missing, by operation."""


def _all_orders(code: PtxCode, fault: Fault) -> Iterator[Repair]:
    """Every signal of the kernel ordered, at one scope: as those who take and free a lock are."""
    signals = [each for each in code.editable if _is_signal(each, "st") or _is_signal(each, "ld")]
    for scope in (_GPU, _SYS) if signals else ():
        yield code.ordered(
            ((each, _BOTH_SIDES[each.statement.operation]) for each in signals), scope
        )


def _is_signal(each: PtxInstruction, name: str, *, is_weak: bool = False) -> bool:
    """True of an update, and of an access of that name; a strong one, or a weak one too."""
    statement = each.statement
    is_update = statement.operation == "atom" or (statement.operation, name) == ("red", "st")
    return is_update or (statement.operation == name and (is_weak or statement.is_strong))


_OF_MBARRIERS = dict.fromkeys(ARRIVALS, "release") | dict.fromkeys(MBARRIER_WAITS, "acquire")
"""The ordering of each operation on an mbarrier."""


def _of_mbarriers(code: PtxCode, fault: Fault) -> Iterator[Repair]:
    """Operations on an mbarrier that are ordered, at the CTA and at the cluster: one of them, then
    all that are relaxed."""
    rows = [(each, _OF_MBARRIERS.get(each.statement.operation, "")) for each in code.editable]
    at = code.at((fault.line, *fault.about))
    every = [row for row in rows if row[1] and "relaxed" in row[0].statement.opcode.words]
    for some in (*([row] for row in rows if row[1] and row[0] in at), every):
        for scope in (_CTA, _CLUSTER):
            yield code.ordered(some, scope)


def _cluster_arrivals(code: PtxCode, fault: Fault) -> Iterator[Repair]:
    """Arrivals at the barrier of the cluster that release."""
    for each in code.editable:
        opcode = each.statement.opcode
        if opcode.operation == "barrier cluster arrive" and "relaxed" in opcode.words:
            yield code.renamed(each, opcode.renamed({"relaxed": "release"}))


def _uncached(code: PtxCode, fault: Fault) -> Iterator[Repair]:
    """The load without ``.nc``."""
    for each in code.at((fault.line, *fault.about)):
        words = each.statement.opcode.words
        if "nc" in words:
            yield code.renamed(each, ".".join(word for word in words if word != "nc"))


def _waits(code: PtxCode, fault: Fault) -> Iterator[Repair]:
    """A wait that leaves fewer in flight, or a wait for what the finding is about."""
    for each in code.editable:
        if each.statement.operation in _GROUP_WAITS:
            yield from _lower_counts(code, each)
    words = [each.statement.operation for each in code.at((*fault.about, fault.line))]
    texts = [
        text for name, waits in _WAITS.items() if any(map(_begins(name), words)) for text in waits
    ]
    yield from _between(*texts)(code, fault)


def _begins(name: str) -> Callable[[str], bool]:
    return lambda operation: (
        operation == name
        or (operation.startswith(name) and (name != "cp async" or "bulk" not in operation))
    )


def _lower_counts(code: PtxCode, each: PtxInstruction) -> Iterator[Repair]:
    spot = code.spots[each.number]
    left = each.statement.operands[-1] if each.statement.operands else ""
    for count in range(int(left) - 1, -1, -1) if left.isdigit() else ():
        head, _, tail = spot.text.rpartition(left)
        yield (replace(spot, f"{head}{count}{tail}"),)


def _before_ends(code: PtxCode, fault: Fault) -> Iterator[Repair]:
    """A barrier of the cluster before each end of the kernel."""
    ends = (each for each in code.editable if each.statement.kind is Kind.END)
    spots = [code.spots[each.number] for each in ends]
    if spots:
        yield tuple(Edit(Action.BEFORE, spot, _CLUSTER_MEETS) for spot in spots)


def _ended_mbarrier(code: PtxCode, fault: Fault) -> Iterator[Repair]:
    """``mbarrier.inval`` by who initialised it, and a barrier before its memory is used."""
    _, last = _numbers_of(code, fault)
    for each in code.at(fault.about):
        statement = each.statement
        if statement.operation != "mbarrier init":
            continue
        guard = f"@{statement.guard} " if statement.guard else ""
        inval = f"{guard}mbarrier.inval.shared::cta.b64 {statement.operands[0]};"
        yield (Edit(Action.BEFORE, code.spots[last], f"{inval}\n{_MEET}"),)


def _map_fences(code: PtxCode, fault: Fault) -> Iterator[Repair]:
    """The acquire of the tensor map that a copy goes by."""
    for each in code.at((fault.line, *fault.about)):
        address = each.statement.operand(OperandRole.TENSORMAP)
        if each.statement.kind in SILENT or not address:
            continue
        address = address.partition(",")[0].strip("[] ")
        for scope in (_CTA, _CLUSTER, _GPU, _SYS):
            fence = f"fence.proxy.tensormap::generic.acquire.{scope} [{address}], 128;"
            yield (Edit(Action.BEFORE, code.spots[each.number], fence),)


def _gone(code: PtxCode, fault: Fault) -> Iterator[Repair]:
    """The statement left out."""
    for each in code.at((fault.line,)):
        if each.statement.kind not in SILENT | CONTROL:
            yield (delete(code.spots[each.number]),)


def _weaker(code: PtxCode, fault: Fault) -> Iterator[Repair]:
    """The access with a weaker ordering."""
    for each in code.at((fault.line,)):
        statement = each.statement
        if statement.kind not in ACCESSES or not statement.is_strong:
            continue
        scope = SCOPE_WORDS[statement.scope or Scope.AGENT]
        known = statement.ordering
        words = ["relaxed"]
        if known is not None and known.acquires and known.releases:
            words += ["release", "acquire"]
        for word in words:
            yield code.ordered([(each, word)], scope)


def _narrower_proxy(code: PtxCode, fault: Fault) -> Iterator[Repair]:
    """The fence of proxies for one state space."""
    for each in code.at((fault.line,)):
        if each.statement.operation == "fence proxy async":
            for space in ("shared::cta", "global"):
                yield code.renamed(each, f"{each.statement.opcode.name}.{space}")


_RELEASES = (_orders("release", reads=False), _between(*_FENCES))
_ACQUIRES = (_orders("acquire", reads=True), _between(*_FENCES))
_PROXIES = (_between(*_PROXY_FENCES),)
_MEETINGS = (_MEET, _WARP_MEETS)
_IN_CLUSTER = (_cluster_arrivals, _between(_CLUSTER_MEETS), _before_ends)

ROWS: Mapping[Rule, tuple[Row, ...]] = MappingProxyType(
    {
        Rule.RELEASE: _RELEASES,
        Rule.ACQUIRE: _ACQUIRES,
        Rule.SEQ_CST: (
            _between(*(f"fence.sc.{scope};" for scope in (_CTA, _CLUSTER, _GPU, _SYS))),
        ),
        Rule.COHERENCE: (_orders("relaxed", reads=True), _orders("relaxed", reads=False)),
        Rule.LOST_BARRIER: (_between(_MEET),),
        Rule.SPIN: (
            _orders("relaxed", reads=True),
            _both_orders(("relaxed", "relaxed"), ("release", "acquire"), is_weak=True),
        ),
        Rule.UNORDERED_WAIT: (_orders("acquire", reads=True), _all_orders, _between(*_FENCES)),
        Rule.UNORDERED_SIGNAL: (
            _as_update,
            _tested_reads,
            _orders("release", reads=False),
            _both_orders(("release", "acquire")),
            _all_orders,
            _between(*_FENCES),
        ),
        Rule.MISSING_BARRIER: (
            _as_update,
            _tested_reads,
            _between(*_MEETINGS, near=(True,)),
            _at_copies(_MEET),
            _between(*_MEETINGS, near=(False,)),
        ),
        Rule.PROXY_FENCE: _PROXIES,
        Rule.PROXY_ACQUIRE: _PROXIES,
        Rule.PROXY_READS: _PROXIES,
        Rule.TENSORMAP_FENCE: (_map_fences,),
        Rule.READ_ONLY: (_uncached,),
        Rule.ASYNC_UNWAITED: (_waits,),
        Rule.WGMMA_FENCE: (_between("wgmma.fence.sync.aligned;"),),
        Rule.GRID_DEPENDENCY: (_between("griddepcontrol.wait;"),),
        Rule.MBARRIER_SCOPE: (_of_mbarriers,),
        Rule.MBARRIER_INIT: (
            _ended_mbarrier,
            _between(_MEET, "fence.mbarrier_init.release.cluster;"),
            *_IN_CLUSTER,
        ),
        Rule.MBARRIER_ORDER: (_of_mbarriers,),
        Rule.CLUSTER_BARRIER: _IN_CLUSTER,
        Rule.SURPLUS_BARRIER: (_gone,),
        Rule.SURPLUS_WAIT: (_gone,),
        Rule.SURPLUS_FENCE: (_gone,),
        Rule.SURPLUS_PROXY_FENCE: (_gone, _narrower_proxy),
        Rule.SURPLUS_RELEASE: (_weaker,),
        Rule.SURPLUS_ACQUIRE: (_weaker,),
    }
)
"""The candidates of each rule that has any, the smallest first."""


def candidates_of(file: PtxFile, text: str, fault: Fault) -> Iterator[Repair]:
    """The candidates for the repair of a finding in PTX."""
    function = file.functions.get(fault.function)
    if function is not None:
        code = code_of(function, text)
        for row in ROWS.get(Rule(fault.rule), ()):
            yield from row(code, fault)
