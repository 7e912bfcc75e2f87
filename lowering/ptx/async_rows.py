"""The asynchronous instructions of PTX as rows: text, chips that have them, and source.

``ROWS`` maps an operation with its qualifiers, in the words of the ``scoped`` dialect, to
the instructions that carry it out, best first: the first that the chip and PTX version have
is taken, and they all mean the same there. In a line ``{name}`` is an operand's place or a
fresh register or label, as in select.py; ``$name`` is a number or word of the operation.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from fencewright.lowering.ptx.chip import CHIPS, PtxChip, Version, with_version
from fencewright.lowering.ptx.code.statements import SCOPE_WORDS
from fencewright.lowering.sequence import UnsupportedError
from fencewright.lowering.vocabulary import Scope

Key = tuple[str, ...]
"""An operation and its qualifiers, as in ``("mbarrier_arrive", "release", "workgroup", ..)``."""


@dataclass(frozen=True, slots=True)
class AsyncSince:
    """The lowest chip number and PTX version of a form; ``chips`` if only those have it."""

    number: int
    version: Version
    chips: tuple[str, ...] = ()

    def lowest(self, chip: PtxChip) -> Version | None:
        """The lowest PTX version in which ``chip`` has the form; None if it never has."""
        if chip.number < self.number or (self.chips and chip.name not in self.chips):
            return None
        version = max(chip.first, self.version)
        return version if chip.last is None or version <= chip.last else None


@dataclass(frozen=True, slots=True)
class AsyncRow:
    """One implementation of an operation."""

    lines: tuple[str, ...]
    since: AsyncSince
    source: str


_EVERY = AsyncSince(50, (2, 0))
_VOLTA = AsyncSince(70, (7, 5))
_AMPERE = AsyncSince(80, (7, 0))
_AMPERE_71 = AsyncSince(80, (7, 1))
_HOPPER_78 = AsyncSince(90, (7, 8))
_HOPPER = AsyncSince(90, (8, 0))
_HOPPER_86 = AsyncSince(90, (8, 6))
_HOPPER_81 = AsyncSince(90, (8, 1))
_BLACKWELL = AsyncSince(100, (8, 6))
_WGMMA = AsyncSince(90, (8, 0), ("sm_90a",))
_WITH_TCGEN05 = ("sm_100a", "sm_100f", "sm_103a", "sm_103f", "sm_110a", "sm_110f")
_TCGEN05 = AsyncSince(100, (8, 6), _WITH_TCGEN05)
_REPLACE = AsyncSince(
    90, (8, 3), ("sm_90a", *_WITH_TCGEN05, "sm_120a", "sm_120f", "sm_121a", "sm_121f")
)

_SCOPES = {scope: SCOPE_WORDS[scope] for scope in (Scope.WORKGROUP, Scope.CLUSTER)}
_SPACES = {"local": ".shared::cta", "shared_cluster": ".shared::cluster"}

Rows = Iterator[tuple[Key, AsyncRow]]
_SECTION = re.compile(r"\w+\.\w+")


def _row(key: str, line: str, since: AsyncSince, source: str = "") -> tuple[Key, AsyncRow]:
    """A row of one instruction; the words of the key stand in one string.

    Without a ``source`` it is the section that is called as the first two words of the line.
    """
    if not source and (section := _SECTION.match(line)):
        source = f"PTX ISA, {section[0]}"
    return tuple(key.split()), AsyncRow((line,), since, source)


# mbarriers

_MBARRIER = "PTX ISA, mbarrier"
_ARRIVE = f"{_MBARRIER}.arrive"
_EARLY = f"{_ARRIVE}: release at .cta without .sem, before PTX 8.0 and sm_90"
_SINK = f"{_EARLY}; the sink _ since 7.1"
_RELAXED = ": .relaxed since 8.6, sm_90; certified by ptxas"


def _objects() -> Rows:
    yield _row(
        "mbarrier_init",
        "mbarrier.init.shared::cta.b64 [{mbarrier}], $count",
        AsyncSince(80, (7, 8)),
        f"{_MBARRIER}.init: .shared::cta since 7.8",
    )
    yield _row("mbarrier_init", "mbarrier.init.shared.b64 [{mbarrier}], $count", _AMPERE)
    yield _row("mbarrier_inval", "mbarrier.inval.shared.b64 [{mbarrier}]", _AMPERE)
    for scope, ptx_scope in _SCOPES.items():
        for space, suffix in _SPACES.items():
            yield _row(
                f"mbarrier_expect_tx {scope} {space}",
                f"mbarrier.expect_tx.relaxed.{ptx_scope}{suffix}.b64 [{{mbarrier}}], $bytes",
                _HOPPER,
            )
            yield _row(
                f"mbarrier_complete_tx {scope} {space}",
                f"mbarrier.complete_tx.relaxed.{ptx_scope}{suffix}.b64 [{{mbarrier}}], $bytes",
                _HOPPER,
            )
    yield _row(
        "map_shared",
        "mapa.shared::cluster.u64 {dst}, {pointer}, {rank}",
        _HOPPER_78,
        "PTX ISA, mapa",
    )


_ARRIVALS = {"": "", "count": ", $count", "expect_tx": ", $expect_tx"}
"""The additional operands of an arrival, as text."""


def _arrivals() -> Rows:
    for name in ("arrive", "arrive_drop"):
        for carried, operand in _ARRIVALS.items():
            for ordering, since in (("release", _HOPPER), ("relaxed", _HOPPER_86)):
                yield from _arrivals_at_scopes(name, carried, operand, ordering, since)
        for token in ("token", "sink"):
            yield from _early_arrival(name, token)


def _arrivals_at_scopes(
    name: str, carried: str, operand: str, ordering: str, since: AsyncSince
) -> Rows:
    source = f"{_MBARRIER}.{name}{_RELAXED if ordering == 'relaxed' else ''}"
    expects = ".expect_tx" if carried == "expect_tx" else ""
    for scope, ptx_scope in _SCOPES.items():
        for space, suffix in _SPACES.items():
            for token, place in (("token", "{dst}"), ("sink", "_")):
                if token == "token" and space == "shared_cluster":
                    continue
                yield _row(
                    f"mbarrier_{name} {ordering} {scope} {space} {token} {carried}",
                    f"mbarrier.{name}{expects}.{ordering}.{ptx_scope}{suffix}.b64 "
                    f"{place}, [{{mbarrier}}]{operand}",
                    since,
                    source,
                )


def _early_arrival(name: str, token: str) -> Rows:
    key = f"mbarrier_{name} release workgroup local {token}"
    line = f"mbarrier.{name}.shared.b64 "
    if token == "token":
        yield _row(key, f"{line}{{dst}}, [{{mbarrier}}]", _AMPERE, _EARLY)
        return
    yield _row(key, f"{line}_, [{{mbarrier}}]", _AMPERE_71, _SINK)
    lines = (".reg .b64 {state}", f"{line}{{state}}, [{{mbarrier}}]")
    yield tuple(key.split()), AsyncRow(lines, _AMPERE, _EARLY)


_ACQUIRE_EARLY = f"{_MBARRIER}.test_wait: acquire at .cta without .sem, before PTX 8.0 and sm_90"


def _waits() -> Rows:
    """Waits as loops, and single looks."""
    for ordering, since in (("acquire", _HOPPER), ("relaxed", _HOPPER_86)):
        for scope, ptx_scope in _SCOPES.items():
            for by, suffix in (("parity", ".parity"), ("token", "")):
                tail = f"{suffix}.{ordering}.{ptx_scope}.shared::cta.b64"
                note = _RELAXED if ordering == "relaxed" else ""
                key = f"{ordering} {scope} {by}"
                for kind in ("test", "try"):
                    source = f"{_MBARRIER}.{kind}_wait{note}"
                    opcode = f"mbarrier.{kind}_wait{tail}"
                    yield _look(f"mbarrier_{kind}_wait {key}", opcode, since, source)
                source = f"{_MBARRIER}.try_wait{note}"
                yield _loop(f"mbarrier_wait {key}", f"mbarrier.try_wait{tail}", since, source)
    for by, suffix, since in (("parity", ".parity", _AMPERE_71), ("token", "", _AMPERE)):
        opcode = f"mbarrier.test_wait{suffix}.shared.b64"
        key = f"acquire workgroup {by}"
        yield _loop(f"mbarrier_wait {key}", opcode, since, _ACQUIRE_EARLY)
        yield _look(f"mbarrier_test_wait {key}", opcode, since, _ACQUIRE_EARLY)


def _look(key: str, opcode: str, since: AsyncSince, source: str) -> tuple[Key, AsyncRow]:
    return _row(key, f"{opcode} {{dst}}, [{{mbarrier}}], {{phase}}", since, source)


def _loop(key: str, opcode: str, since: AsyncSince, source: str) -> tuple[Key, AsyncRow]:
    lines = (
        ".reg .pred {complete}",
        "{wait}:",
        f"{opcode} {{complete}}, [{{mbarrier}}], {{phase}}",
        "@!{complete} bra {wait}",
    )
    return tuple(key.split()), AsyncRow(lines, since, source)


# Copies

_BULK = "PTX ISA, cp.async.bulk"
_TENSOR = "PTX ISA, cp.async.bulk.tensor"
_COMPLETES = ".mbarrier::complete_tx::bytes"
_OWN_CTA = ": .shared::cta as destination since 8.6"
_IN_CLUSTER = ": own shared memory is in the .shared::cluster window"


def _copies() -> Rows:
    to_shared = f"{_COMPLETES} [{{destination}}], [{{source}}], $size, [{{mbarrier}}]"
    cluster = f"cp.async.bulk.shared::cluster.global{to_shared}"
    yield _row(
        "bulk_copy local global",
        f"cp.async.bulk.shared::cta.global{to_shared}",
        _HOPPER_86,
        f"{_BULK}{_OWN_CTA}",
    )
    yield _row("bulk_copy local global", cluster, _HOPPER, f"{_BULK}{_IN_CLUSTER}")
    yield _row("bulk_copy shared_cluster global", cluster, _HOPPER, _BULK)
    yield _row(
        "bulk_copy shared_cluster local",
        f"cp.async.bulk.shared::cluster.shared::cta{to_shared}",
        _HOPPER,
        _BULK,
    )
    yield _row(
        "bulk_copy global local",
        "cp.async.bulk.global.shared::cta.bulk_group [{destination}], [{source}], $size",
        _HOPPER,
        _BULK,
    )
    for rank in range(1, 6):
        yield from _tensor_copies(rank)
    for bits in (32, 64):
        yield _row(
            f"store_async {bits}",
            f"st.async.weak.shared::cluster{_COMPLETES}.b{bits} "
            "[{pointer}], {value}, [{mbarrier}]",
            _HOPPER_81,
        )
    yield _row("store_bulk", "st.bulk.weak.shared::cta [{pointer}], $size, 0", _BLACKWELL)
    yield _row("prefetch", "prefetch.global.L2 [{pointer}]", _EVERY, "PTX ISA, prefetch")
    yield _row(
        "prefetch bulk",
        "cp.async.bulk.prefetch.L2.global [{pointer}], $size",
        _HOPPER,
        f"{_BULK}.prefetch",
    )
    yield _row(
        "async_copy 16",
        "cp.async.cg.shared.global [{destination}], [{source}], 16",
        _AMPERE,
        "PTX ISA, cp.async: .cg caches in L2 only, as 16 bytes are read once",
    )
    for size in (4, 8):
        yield _row(
            f"async_copy {size}",
            f"cp.async.ca.shared.global [{{destination}}], [{{source}}], {size}",
            _AMPERE,
        )
    for size, caches in ((16, "cg"), (8, "ca"), (4, "ca")):
        yield _row(
            f"async_copy {size} read",
            f"cp.async.{caches}.shared.global [{{destination}}], [{{source}}], {size}, "
            f"{{source_size}}",
            _AMPERE,
            "PTX ISA, cp.async: src-size, zeros for the rest",
        )
    for noinc in ("", ".noinc"):
        yield _row(
            f"async_arrive{noinc.replace('.', ' ')}",
            f"cp.async.mbarrier.arrive{noinc}.shared.b64 [{{mbarrier}}]",
            _AMPERE,
            "PTX ISA, cp.async.mbarrier.arrive",
        )


def _tensor_copies(rank: int) -> Rows:
    coordinates = ", ".join(f"{{c{n}}}" for n in range(rank))
    tile = f"[{{map}}, {{{coordinates}}}]"
    for window, since, note in (("cta", _HOPPER_86, _OWN_CTA), ("cluster", _HOPPER, _IN_CLUSTER)):
        yield _row(
            f"tensor_load {rank}",
            f"cp.async.bulk.tensor.{rank}d.shared::{window}.global.tile{_COMPLETES} "
            f"[{{destination}}], {tile}, [{{mbarrier}}]",
            since,
            f"{_TENSOR}{note}",
        )
    yield _row(
        f"tensor_store {rank}",
        f"cp.async.bulk.tensor.{rank}d.global.shared::cta.tile.bulk_group {tile}, [{{source}}]",
        _HOPPER,
        _TENSOR,
    )
    for kind in ("add", "min", "max", "uinc_wrap", "udec_wrap", "and", "or", "xor"):
        yield _row(
            f"tensor_store {rank} {kind}",
            f"cp.reduce.async.bulk.tensor.{rank}d.global.shared::cta."
            f"{_INTEGER_WORDS.get(kind, kind)}.tile.bulk_group {tile}, [{{source}}]",
            _HOPPER,
            "PTX ISA, cp.reduce.async.bulk.tensor",
        )


# Reductions

_BITWISE = ("and", "or", "xor")
_SIGNED = ("min", "max")
_INTEGER_WORDS = {**{f"u{kind}": kind for kind in _SIGNED}, "uinc_wrap": "inc", "udec_wrap": "dec"}
"""PTX's words for kinds that it calls otherwise."""


def _operation(kind: str, element: str) -> str:
    """A kind of reduction on a type, as PTX has it: ``min.s32``."""
    if not element.startswith("i"):
        rounding = ".noftz" if kind == "fadd" and element in ("f16", "bf16") else ""
        return f"{kind.removeprefix('f')}{rounding}.{element}"
    letter = "b" if kind in _BITWISE else "s" if kind in _SIGNED else "u"
    return f"{_INTEGER_WORDS.get(kind, kind)}.{letter}{element[1:]}"


def _of(kinds: str, *elements: str) -> tuple[tuple[str, str], ...]:
    return tuple((kind, element) for kind in kinds.split() for element in elements)


_IN_SHARED = (
    *_of("add", "i32", "i64"),
    *_of("min max umin umax uinc_wrap udec_wrap and or xor", "i32"),
)
"""The kinds of bulk reductions, and of red.async."""
_IN_GLOBAL = (
    *_IN_SHARED,
    *_of("min max umin umax and or xor", "i64"),
    *_of("fadd", "f16", "bf16", "f32", "f64"),
    *_of("fmin fmax", "f16", "bf16"),
)
_MULTICAST = (*_of("add min max umin umax and or xor", "i32", "i64"), *_of("fadd", "f32", "f64"))


def _reductions() -> Rows:
    for kind, element in _IN_SHARED:
        yield _row(
            f"bulk_reduce shared_cluster {kind} {element}",
            f"cp.reduce.async.bulk.shared::cluster.shared::cta{_COMPLETES}."
            f"{_operation(kind, element)} [{{destination}}], [{{source}}], $size, [{{mbarrier}}]",
            _HOPPER,
            "PTX ISA, cp.reduce.async.bulk",
        )
    for kind, element in _IN_GLOBAL:
        yield _row(
            f"bulk_reduce global {kind} {element}",
            f"cp.reduce.async.bulk.global.shared::cta.bulk_group.{_operation(kind, element)} "
            "[{destination}], [{source}], $size",
            _HOPPER,
            "PTX ISA, cp.reduce.async.bulk",
        )
    for kind, element in _IN_SHARED:
        yield _row(
            f"reduce_async {kind} {element}",
            f"red.async.relaxed.cluster.shared::cluster{_COMPLETES}.{_operation(kind, element)} "
            "[{pointer}], {value}, [{mbarrier}]",
            _HOPPER_81,
        )


_MULTIMEM = "PTX ISA, multimem.ld_reduce, multimem.st, multimem.red"


def _multicast() -> Rows:
    weak = (("weak", ".weak"),)
    strong = {
        ordering: tuple(
            (f"{ordering} {scope}", f".{ordering}.{ptx_scope}")
            for scope, ptx_scope in SCOPE_WORDS.items()
        )
        for ordering in ("relaxed", "acquire", "release")
    }
    for key, words in (*weak, *strong["relaxed"], *strong["acquire"]):
        for kind, element in _MULTICAST:
            yield _row(
                f"multimem_load {key} {kind} {element}",
                f"multimem.ld_reduce{words}.global.{_operation(kind, element)} "
                "{dst}, [{pointer}]",
                _HOPPER_81,
                _MULTIMEM,
            )
    for key, words in (*weak, *strong["relaxed"], *strong["release"]):
        for element in ("i32", "i64", "f32", "f64"):
            type_ = element.replace("i", "b")
            yield _row(
                f"multimem_store {key} {element}",
                f"multimem.st{words}.global.{type_} [{{pointer}}], {{value}}",
                _HOPPER_81,
                _MULTIMEM,
            )
    for key, words in (*strong["relaxed"], *strong["release"]):
        for kind, element in _MULTICAST:
            yield _row(
                f"multimem_reduce {key} {kind} {element}",
                f"multimem.red{words}.global.{_operation(kind, element)} [{{pointer}}], {{value}}",
                _HOPPER_81,
                _MULTIMEM,
            )


# Election


def _election() -> Rows:
    yield _row("elect", "elect.sync _|{dst}, -1", _HOPPER)


def _groups() -> Rows:
    for name, mnemonic, suffix, since in (
        ("async", "cp.async", "", _AMPERE),
        ("bulk", "cp.async.bulk", "", _HOPPER),
        ("wgmma", "wgmma", ".sync.aligned", _WGMMA),
    ):
        for step, operand in (("commit_group", ""), ("wait_group", " $pending")):
            source = f"PTX ISA, {mnemonic}.{step}"
            line = f"{mnemonic}.{step}{suffix}{operand}"
            yield _row(f"{name}_{step}", line, since, source)
    yield _row(
        "bulk_wait_group read",
        "cp.async.bulk.wait_group.read $pending",
        _HOPPER,
        "PTX ISA, cp.async.bulk.wait_group: .read",
    )


def _tensor_maps() -> Rows:
    for space, suffix in (("local", ".shared::cta"), ("global", ".global")):
        yield _row(
            f"tensormap_replace {space}",
            f"tensormap.replace.tile.global_address{suffix}.b1024.b64 [{{map}}], {{value}}",
            _REPLACE,
        )
    for scope, ptx_scope in SCOPE_WORDS.items():
        since = AsyncSince(90, (8, 3))
        proxy = "tensormap::generic"
        yield _row(
            f"tensormap_copy {scope}",
            f"tensormap.cp_fenceproxy.global.shared::cta.{proxy}.release.{ptx_scope}"
            ".sync.aligned [{destination}], [{source}], 128",
            since,
        )
        yield _row(
            f"tensormap_fence release {scope}",
            f"fence.proxy.{proxy}.release.{ptx_scope}",
            since,
            "PTX ISA, membar/fence: .proxy.tensormap",
        )
        yield _row(
            f"tensormap_fence acquire {scope}",
            f"fence.proxy.{proxy}.acquire.{ptx_scope} [{{map}}], 128",
            since,
            "PTX ISA, membar/fence: .proxy.tensormap",
        )


# Fences and cluster barriers

_FENCE = "PTX ISA, membar/fence"


def _fences() -> Rows:
    yield _row("proxy_fence", "fence.proxy.async", _HOPPER, f"{_FENCE}: .proxy.async")
    yield _row("alias_fence", "fence.proxy.alias", _VOLTA, f"{_FENCE}: .proxy.alias")
    for space, suffix in {**_SPACES, "global": ".global"}.items():
        yield _row(
            f"proxy_fence {space}",
            f"fence.proxy.async{suffix}",
            _HOPPER,
            f"{_FENCE}: .proxy.async of one state space",
        )
    for ordering, space in (("release", "cta"), ("acquire", "cluster")):
        restricted = f"{ordering}.sync_restrict::shared::{space}.cluster"
        source = f"{_FENCE}: .sync_restrict since 8.6"
        yield _row(f"cluster_fence {ordering} generic", f"fence.{restricted}", _HOPPER_86, source)
        yield _row(
            f"cluster_fence {ordering} async",
            f"fence.proxy.async::generic.{restricted}",
            _HOPPER_86,
            source,
        )
    yield _row(
        "mbarrier_init_fence",
        "fence.mbarrier_init.release.cluster",
        _HOPPER,
        f"{_FENCE}: .mbarrier_init",
    )
    yield _row("wgmma_fence", "wgmma.fence.sync.aligned", _WGMMA)
    for side in ("before", "after"):
        yield _row(f"tcgen05_fence {side}", f"tcgen05.fence::{side}_thread_sync", _TCGEN05)
    for direction, suffix in (("loads", "ld"), ("stores", "st")):
        yield _row(f"tcgen05_wait {direction}", f"tcgen05.wait::{suffix}.sync.aligned", _TCGEN05)
    yield _row("cluster_arrive release", "barrier.cluster.arrive.release", _HOPPER)
    yield _row(
        "cluster_arrive release",
        "barrier.cluster.arrive",
        _HOPPER_78,
        "PTX ISA, barrier.cluster: .release by default",
    )
    yield _row("cluster_arrive relaxed", "barrier.cluster.arrive.relaxed", _HOPPER)
    yield _row("cluster_wait", "barrier.cluster.wait.acquire", _HOPPER)
    yield _row(
        "cluster_wait",
        "barrier.cluster.wait",
        _HOPPER_78,
        "PTX ISA, barrier.cluster: .acquire by default",
    )


# Named barriers


def _named_barriers() -> Rows:
    for part in ("sync", "arrive"):
        line = f"barrier.{part} $number, $threads"
        source = f"PTX ISA, barrier.{part}"
        yield _row(f"named_barrier {part}", line, AsyncSince(70, (6, 0)), source)


# Tensor cores


def _tensor_cores() -> Rows:
    yield _row(
        "tcgen05_mma",
        "tcgen05.mma.cta_group::1.kind::$kind [{destination}], {a}, {b}, {instruction}, "
        "{accumulate}",
        _TCGEN05,
    )
    yield _row("tcgen05_copy", "tcgen05.cp.cta_group::1.$shape [{destination}], {source}", _TCGEN05)
    yield _row(
        "tcgen05_load", "tcgen05.ld.sync.aligned.32x32b.x1.b32 {{dst}}, [{pointer}]", _TCGEN05
    )
    yield _row(
        "tcgen05_store", "tcgen05.st.sync.aligned.32x32b.x1.b32 [{pointer}], {{value}}", _TCGEN05
    )
    yield _row(
        "tcgen05_commit",
        "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [{mbarrier}]",
        _TCGEN05,
    )
    yield _row(
        "wgmma",
        "wgmma.mma_async.sync.aligned.$shape {$accumulators}, {a}, {b}, 1, 1, 1, 0, 0",
        _WGMMA,
    )
    # A register of its own for the value: the accumulator goes on changing.
    yield _row("wgmma_read", "mov.b32 {dst}, $accumulator", _WGMMA, "PTX ISA, mov")
    yield _row("wgmma_accumulator", ".reg .b32 $accumulators", _WGMMA, "PTX ISA, .reg")


# Selection


def _index(*parts: Iterable[tuple[Key, AsyncRow]]) -> Mapping[Key, tuple[AsyncRow, ...]]:
    found: dict[Key, tuple[AsyncRow, ...]] = {}
    for part in parts:
        for key, row in part:
            found[key] = (*found.get(key, ()), row)
    return MappingProxyType(found)


ROWS: Mapping[Key, tuple[AsyncRow, ...]] = _index(
    _objects(),
    _arrivals(),
    _waits(),
    _copies(),
    _reductions(),
    _multicast(),
    _election(),
    _groups(),
    _tensor_maps(),
    _fences(),
    _named_barriers(),
    _tensor_cores(),
)
"""Every operation with its qualifiers, and its implementations, best first."""


@cache
def select(chip: PtxChip, version: Version, key: Key) -> AsyncRow:
    """The best row that a chip has in a PTX version.

    Raises ``UnsupportedError`` that names the lowest chip and version which would do.
    """
    rows = ROWS.get(key)
    requested = " ".join(key)
    if rows is None:
        like = tuple(" ".join(each) for each in ROWS if each[:-2] == key[:-2] and len(key) > 2)
        raise UnsupportedError(requested, "PTX has no such instruction", like)
    for row in rows:
        lowest = row.since.lowest(chip)
        if lowest is not None and lowest <= version:
            return row
    reason = f"{with_version(chip, version)} does not have it"
    raise UnsupportedError(requested, reason, (_lowest(chip, rows),))


def _lowest(chip: PtxChip, rows: Iterable[AsyncRow]) -> str:
    """The least that has one of the rows: this chip with a newer version, or a newer chip."""
    for each in (chip, *CHIPS):
        versions = [v for row in rows if (v := row.since.lowest(each)) is not None]
        if versions:
            return with_version(each, min(versions))
    raise AssertionError("a row that no chip has")
