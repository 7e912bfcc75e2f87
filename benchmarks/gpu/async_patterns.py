"""Runs the programs of examples/async on an NVIDIA GPU of sm_90, checks them, and breaks them.

``python benchmarks/gpu/async_patterns.py --output DIR`` lowers every pattern of ``PATTERNS``, runs
it as it is, and once more for every one of its weakenings: one synchronisation taken out of the
PTX, or made relaxed. Writes DIR/gpu-async.md and DIR/gpu-async.json. Where the GPU's machine lacks
xDSL, ``--build DIR`` writes the PTX elsewhere, and ``--built DIR`` takes it from there. Exit
status: 1 if a program that is not weakened gave a wrong result or did not end; 2 if there is no
GPU.

A pattern's arguments are the same for all threads, as it is launched. ``instrument`` makes them
each thread's own (its peer, its place in the output, a value that no other instance has), and
adds what the pattern leaves to its surroundings: a producer, and that what is in flight ends
before the work-group does. The lowered instructions stay as they are.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from enum import Enum
from functools import partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from fencewright.gpu import Argument, Device, GpuError, description
from fencewright.tools.reports.markdown import markdown_row

_ROOT = Path(__file__).parents[2]
PROGRAMS = _ROOT / "examples" / "async"
ARCHITECTURE = "sm_90a"
BLOCK = 128
GRID = 4224
"""Work-groups of a launch: 32 for each of an H200's 132 multiprocessors."""

SECONDS = 20
"""How long one pattern may take with all its weakenings before it counts as hanging."""


class Role(Enum):
    """What an argument of a pattern is for."""

    OUT = "a word for every thread"
    BEFORE = "the same, of what is read before it is overwritten"
    OUT_TILE = "128 bytes for every work-group"
    DATA = "128 bytes for every instance"
    ADDRESS = "the same, elsewhere in every other launch"
    FLAG = "a word for every instance, zero at first"
    VALUE = "the instance's own value"
    PEER = "the other work-group of the cluster"
    DESCRIPTOR = "a matrix of wgmma that repeats the first 128 bytes of the tile"
    MAP = "the instance's tensor map, of 128 bytes"
    COORDINATE = "zero"


class Filling(Enum):
    """What a launch finds in the data of an instance, by the kernel that puts it there."""

    NONE = ""
    VALUE = "put"
    HALVES = "put_halves"


class Slot(Enum):
    """Which word of the tile belongs to a thread, as a PTX expression of its number."""

    FIRST = ""
    OWN = "mul.wide.u32 %h_offset, %h_tid, 4;"
    # The first 128 bytes come from every fourth thread, so that all wavefronts take part.
    SPREAD = """\
and.b32 %h_word, %h_tid, 3;
shl.b32 %h_word, %h_word, 5;
shr.u32 %h_lane, %h_tid, 2;
or.b32 %h_word, %h_word, %h_lane;
mul.wide.u32 %h_offset, %h_word, 4;"""


@dataclass(frozen=True, slots=True)
class Weakening:
    """One synchronisation that is taken out, or made weaker where ``instead`` is given.

    ``first``: how its line begins; ``lines``: how many it has (a wait on an mbarrier is a loop);
    ``nth``: which of the lines that begin so, from 0; ``instead``: a regular expression, and what
    its first match becomes.
    """

    title: str
    first: str
    lines: int = 1
    nth: int = 0
    instead: tuple[str, str] | None = None

    def apply(self, ptx: str) -> str:
        """The weakened PTX; raises ``ValueError`` if it has no such instruction."""
        text = ptx.splitlines(keepends=True)
        places = [n for n, line in enumerate(text) if line.strip().startswith(self.first)]
        if len(places) <= self.nth:
            raise ValueError(f"{self.title}: no instruction {self.nth} begins {self.first}")
        at = places[self.nth]
        if self.instead is None:
            return "".join([*text[:at], *text[at + self.lines :]])
        changed = re.sub(*self.instead, text[at], count=1)
        if changed == text[at]:
            raise ValueError(f"{self.title}: {text[at].strip()} has no {self.instead[0]}")
        return "".join([*text[:at], changed, *text[at + 1 :]])


def _relaxed(title: str, first: str, order: str, nth: int = 0) -> Weakening:
    return Weakening(title, first, nth=nth, instead=(order, "relaxed"))


_NO_WAIT = Weakening("no wait on the mbarrier", "mbarrier.try_wait", lines=2)
_RELAXED_WAIT = _relaxed("wait relaxed", "mbarrier.try_wait", "acquire")
_NO_INIT_FENCE = Weakening("no fence.mbarrier_init", "fence.mbarrier_init")
_RELAXED_FLAG = _relaxed("flag read relaxed", "ld.acquire.gpu", "acquire")
_REGISTERS_OF_WGMMA = (
    Weakening("no fence of the registers", "wgmma.fence"),
    Weakening("no commit of the group", "wgmma.commit_group"),
)


@dataclass(frozen=True, slots=True)
class Pattern:
    """A program, how it is launched, and what it has to give.

    Instance n gives its value in ``per`` words, ``step`` apart, of ``stride`` words in the
    output; that of its partner in the cluster where ``from_peer``. ``pair``: an instance is two
    work-groups, the first the producer. ``split``: the leader of the second is none.
    ``block`` threads are in a work-group. ``before``: how a line begins, and what is put in front
    of the first such.
    """

    name: str
    roles: tuple[Role, ...]
    weakenings: tuple[Weakening, ...]
    cluster: int = 1
    per: int = BLOCK
    step: int = 1
    stride: int = BLOCK
    from_peer: bool = False
    pair: bool = False
    split: bool = False
    block: int = BLOCK
    filling: Filling = Filling.NONE
    slot: Slot = Slot.FIRST
    prologue: tuple[str, ...] = ()
    before: tuple[str, tuple[str, ...]] | None = None
    epilogue: tuple[str, ...] = ()

    @property
    def instances(self) -> int:
        """In one launch."""
        return GRID // 2 if self.pair else GRID

    def expected(self, salt: int, instance: int) -> int:
        """What the words of an instance hold after the launch with this ``salt``."""
        return salt + (instance ^ 1 if self.from_peer else instance)


_TILE = "mov.b64 %h_tile, tile;"
_FULL = "mov.b64 %h_full, full;"
_CLUSTER = ("barrier.cluster.arrive.release;", "barrier.cluster.wait.acquire;")
_DRAIN = (
    _FULL,
    "$h_drain:",
    "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %h_done, [%h_full], 0;",
    "@!%h_done bra $h_drain;",
)
_DRAIN_STORES = ("cp.async.bulk.commit_group;", "cp.async.bulk.wait_group 0;")
_PRODUCE = (
    "@%h_second bra $h_consume;",
    "setp.lt.u32 %h_few, %h_tid, 32;",
    "mad.wide.u32 %h_place, %h_tid, 4, {DATA};",
    "@%h_few st.weak.global.b32 [%h_place], %h_value;",
    "barrier.sync 0;",
    "@%h_leader st.release.gpu.global.b32 [{FLAG}], 1;",
    "ret;",
    "$h_consume:",
)
_BUSY = (
    # In every other launch copies of the same tile, to nowhere: what the program copies has to
    # queue after them. The salt is a multiple of GRID.
    _TILE,
    f"mad.wide.u32 %h_place, %h_cta, {4 * BLOCK}, %h_scratch;",
    "@!%h_leader bra $h_busy;",
    "sub.u32 %h_word, %h_value, %h_instance;",
    f"and.b32 %h_word, %h_word, {GRID & -GRID};",
    "setp.eq.u32 %h_few, %h_word, 0;",
    "@%h_few bra $h_busy;",
    "mov.u32 %h_word, 0;",
    "$h_copy:",
    f"cp.async.bulk.global.shared::cta.bulk_group [%h_place], [%h_tile], {4 * BLOCK};",
    "add.u32 %h_word, %h_word, 1;",
    "setp.lt.u32 %h_few, %h_word, 32;",
    "@%h_few bra $h_copy;",
    "$h_busy:",
)
_FILL_TILE = (
    _TILE,
    "mul.wide.u32 %h_place, %h_tid, 4;",
    "add.s64 %h_tile, %h_tile, %h_place;",
    "st.weak.shared.b32 [%h_tile], %h_value;",
    "fence.proxy.async.shared::cta;",
    "barrier.sync 0;",
    # The line of the data is in the cache when the flag is seen.
    "@%h_second ld.weak.global.b32 %h_stale, [{DATA}];",
    "@%h_second st.weak.global.b32 [{OUT}], %h_stale;",
)
_USE_INIT = (
    _FULL,
    "mov.u32 %h_word, %cluster_ctarank;",
    "xor.b32 %h_word, %h_word, 1;",
    "mapa.shared::cluster.u64 %h_place, %h_full, %h_word;",
    "@%h_leader mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%h_place];",
    "mov.b32 %h_word, 0;",
    "$h_test:",
    "mbarrier.test_wait.parity.acquire.cluster.shared::cta.b64 %h_done, [%h_full], 0;",
    "add.u32 %h_word, %h_word, 1;",
    "setp.lt.u32 %h_few, %h_word, 1000000;",
    "@%h_done bra $h_seen;",
    "@%h_few bra $h_test;",
    "mov.b32 %h_value, 0;",
    "$h_seen:",
    "mad.wide.u32 %h_place, %h_thread, 4, %h_out;",
    "st.weak.global.b32 [%h_place], %h_value;",
    *_CLUSTER,
)
_HALF = 511
"""What of an instance's value becomes a 16-bit float: its square, 16 times, is exact in 32 bits."""

_WGMMA_VALUE = (
    f"and.b32 %h_word, %h_value, {_HALF};",
    "add.u32 %h_word, %h_word, 1;",
    "cvt.rn.f16.u32 %h_half, %h_word;",
    "mov.b32 {VALUE}, {%h_half, %h_half};",
)
_WGMMA_ZERO = tuple(f"mov.b32 %acc_sum_{n}, 0;" for n in range(4))
_WGMMA_JUDGE = (
    f"and.b32 %h_word, %h_value, {_HALF};",
    "add.u32 %h_word, %h_word, 1;",
    "mul.lo.u32 %h_word, %h_word, %h_word;",
    "shl.b32 %h_word, %h_word, 4;",
    "cvt.rn.f32.u32 %h_float, %h_word;",
    "mov.b32 %h_word, %h_float;",
    "ld.weak.global.b32 %h_lane, [{OUT}];",
    "setp.ne.b32 %h_few, %h_word, %h_lane;",
    "@%h_few mov.b32 %h_value, 0;",
    "st.weak.global.b32 [{OUT}], %h_value;",
)
_FILL_SOURCE = (
    _TILE,
    "mul.wide.u32 %h_place, %h_tid, 4;",
    "add.s64 %h_tile, %h_tile, %h_place;",
    "setp.lt.u32 %h_few, %h_tid, 32;",
    "not.b32 %h_word, %h_value;",
    "@%h_few st.weak.shared.b32 [%h_tile], %h_word;",
    "@%h_few st.weak.shared.b32 [%h_tile+256], %h_value;",
    "fence.proxy.async.shared::cta;",
    "barrier.sync 0;",
)
_JUDGE_BEFORE = (
    "not.b32 %h_word, %h_value;",
    "ld.weak.global.b32 %h_lane, [{BEFORE}];",
    "setp.ne.b32 %h_few, %h_word, %h_lane;",
    "@%h_few st.weak.global.b32 [{OUT}], 0;",
)
_READ_LATE = (
    "mov.u32 %h_word, %cluster_ctarank;",
    "setp.ne.u32 %h_few, %h_word, 0;",
    "@%h_few nanosleep.u32 1000;",
)
_LAST_WRITES_LATE = (f"setp.ge.u32 %h_few, %h_tid, {BLOCK - 32};", "@%h_few nanosleep.u32 1000;")
_MAP_TO_TILE = (
    # The map that is about to change is in the cache of maps.
    "@%h_leader prefetch.tensormap [{MAP}];",
    _TILE,
    "mul.wide.u32 %h_offset, %h_tid, 4;",
    "add.s64 %h_tile, %h_tile, %h_offset;",
    "add.s64 %h_place, {MAP}, %h_offset;",
    "ld.weak.global.b32 %h_word, [%h_place];",
    "st.weak.shared.b32 [%h_tile], %h_word;",
)
_BOX_OUT = (
    "ld.weak.shared.b32 %h_word, [%h_tile+256];",
    "mad.wide.u32 %h_place, %h_thread, 4, %h_out;",
    "st.weak.global.b32 [%h_place], %h_word;",
)
_PLAIN_COPY_OF_MAP = (
    r"tensormap\.cp_fenceproxy\S+ \[(\S+)\], \[\S+\], 128;",
    r"ld.weak.shared.b32 %h_word, [%h_tile]; add.s64 %h_place, \1, %h_offset; "
    r"st.weak.global.b32 [%h_place], %h_word;",
)
_between_peers = partial(
    Pattern, roles=(Role.OUT, Role.VALUE, Role.PEER), cluster=2, from_peer=True
)

PATTERNS = (
    Pattern(
        "tma_to_core",
        (Role.DATA, Role.OUT),
        (_NO_WAIT, _RELAXED_WAIT, _NO_INIT_FENCE),
        filling=Filling.VALUE,
        epilogue=_DRAIN,
    ),
    Pattern(
        "core_to_tma_store",
        (Role.OUT_TILE, Role.VALUE),
        (
            Weakening("no proxy fence", "fence.proxy.async.shared::cta"),
            Weakening("no barrier before the copy", "barrier.sync.aligned"),
            Weakening("no wait for the copy's source", "cp.async.bulk.wait_group.read"),
            Weakening("no commit of the group", "cp.async.bulk.commit_group"),
            Weakening("no barrier after the copy", "barrier.sync.aligned", nth=1),
        ),
        per=32,
        stride=32,
        slot=Slot.SPREAD,
        prologue=_BUSY,
        epilogue=_DRAIN_STORES,
    ),
    Pattern(
        "other_cta_generic_to_tma_load",
        (Role.DATA, Role.OUT, Role.FLAG),
        (
            Weakening("no proxy fence", "fence.proxy.async.global"),
            _RELAXED_FLAG,
            _NO_WAIT,
            _RELAXED_WAIT,
            _NO_INIT_FENCE,
        ),
        pair=True,
        prologue=_PRODUCE,
        epilogue=_DRAIN,
    ),
    Pattern(
        "tma_store_to_other_cta_generic",
        (Role.DATA, Role.OUT, Role.FLAG),
        (
            Weakening("no wait for the copy", "cp.async.bulk.wait_group"),
            Weakening(
                "wait for the copy's source only",
                "cp.async.bulk.wait_group",
                instead=("wait_group", "wait_group.read"),
            ),
            Weakening("no commit of the group", "cp.async.bulk.commit_group"),
            _relaxed("flag set relaxed", "red.release", "release"),
            _RELAXED_FLAG,
        ),
        pair=True,
        split=True,
        prologue=(*_FILL_TILE, *_BUSY),
        epilogue=_DRAIN_STORES,
    ),
    Pattern("cluster_init", (), (_NO_INIT_FENCE,), cluster=2, epilogue=_USE_INIT),
    _between_peers(
        "cluster_remote_arrive",
        weakenings=(
            _relaxed("arrival relaxed", "mbarrier.arrive", "release"),
            _NO_WAIT,
            _RELAXED_WAIT,
            _NO_INIT_FENCE,
        ),
        epilogue=(*_DRAIN, *_CLUSTER),
    ),
    _between_peers(
        "cluster_dsmem_bulk",
        weakenings=(
            Weakening("no proxy fence", "fence.proxy.async.shared::cta"),
            Weakening("no barrier before the copy", "barrier.sync.aligned"),
            _NO_WAIT,
            _RELAXED_WAIT,
            _NO_INIT_FENCE,
        ),
        per=32,
        step=4,
        slot=Slot.SPREAD,
        before=("st.weak.shared", _LAST_WRITES_LATE),
        epilogue=(*_DRAIN, *_CLUSTER),
    ),
    _between_peers(
        "cluster_pull_sync_restrict",
        weakenings=(
            Weakening("no release fence", "fence.release.sync_restrict"),
            Weakening("no acquire fence", "fence.acquire.sync_restrict"),
            _NO_WAIT,
            _NO_INIT_FENCE,
        ),
        slot=Slot.OWN,
        epilogue=(*_DRAIN, *_CLUSTER),
    ),
    _between_peers(
        "cluster_st_async",
        weakenings=(_NO_WAIT, _RELAXED_WAIT, _NO_INIT_FENCE),
        epilogue=(*_DRAIN, *_CLUSTER),
    ),
    Pattern(
        "cluster_core_to_peer_async",
        (Role.BEFORE, Role.OUT, Role.PEER),
        (
            Weakening("no release fence", "fence.proxy.async::generic.release"),
            Weakening("no acquire fence", "fence.proxy.async::generic.acquire"),
            Weakening("no wait for the bytes", "mbarrier.try_wait", lines=2, nth=1),
            _relaxed("wait for the bytes relaxed", "mbarrier.try_wait", "acquire", nth=1),
            _NO_INIT_FENCE,
            Weakening("no wait for the readers", "mbarrier.try_wait", lines=2),
            Weakening("no barrier at the end", "barrier.cluster.arrive", lines=2, nth=1),
        ),
        cluster=2,
        per=32,
        step=4,
        from_peer=True,
        slot=Slot.SPREAD,
        prologue=_FILL_SOURCE,
        before=("ld.weak.shared", _READ_LATE),
        epilogue=(*_JUDGE_BEFORE, *_DRAIN),
    ),
    _between_peers(
        "cluster_barrier_dsmem",
        weakenings=(
            Weakening("no barrier before the read", "barrier.cluster.arrive", lines=2, nth=1),
            _relaxed("arrival before the read relaxed", "barrier.cluster.arrive", "release", nth=1),
            Weakening("no barrier before the write", "barrier.cluster.arrive", lines=2),
        ),
        slot=Slot.OWN,
        epilogue=_CLUSTER,
    ),
    Pattern(
        "mbarrier_core_to_core_sm80",
        (Role.OUT, Role.VALUE),
        (_relaxed("arrival relaxed", "mbarrier.arrive", "release"), _NO_WAIT, _RELAXED_WAIT),
        per=BLOCK - 1,
        slot=Slot.OWN,
    ),
    Pattern(
        "cp_async_ampere",
        (Role.DATA, Role.OUT),
        (
            Weakening("no wait for the copy", "cp.async.wait_group"),
            Weakening("no commit of the group", "cp.async.commit_group"),
        ),
        filling=Filling.VALUE,
        epilogue=("cp.async.wait_all;",),
    ),
    Pattern(
        "core_to_wgmma_smem",
        (Role.OUT, Role.VALUE, Role.DESCRIPTOR, Role.DESCRIPTOR),
        (
            Weakening("no proxy fence", "fence.proxy.async.shared::cta"),
            Weakening("no barrier", "barrier.sync.aligned"),
            *_REGISTERS_OF_WGMMA,
        ),
        slot=Slot.SPREAD,
        prologue=_WGMMA_VALUE,
        before=("wgmma.", _WGMMA_ZERO),
        epilogue=_WGMMA_JUDGE,
    ),
    Pattern(
        "tma_to_wgmma",
        (Role.DATA, Role.OUT, Role.DESCRIPTOR, Role.DESCRIPTOR),
        (_NO_WAIT, _RELAXED_WAIT, _NO_INIT_FENCE, *_REGISTERS_OF_WGMMA),
        filling=Filling.HALVES,
        before=("wgmma.", _WGMMA_ZERO),
        epilogue=(*_WGMMA_JUDGE, *_DRAIN),
    ),
    Pattern(
        "tensormap_update",
        (Role.MAP, Role.MAP, Role.ADDRESS, Role.COORDINATE, Role.COORDINATE),
        (
            _NO_WAIT,
            _RELAXED_WAIT,
            _NO_INIT_FENCE,
            Weakening("no barrier of the wavefront", "bar.warp.sync"),
            Weakening("no acquire of the map", "fence.proxy.tensormap"),
            Weakening(
                "map copied without its release",
                "tensormap.cp_fenceproxy",
                instead=_PLAIN_COPY_OF_MAP,
            ),
        ),
        per=32,
        stride=32,
        block=32,
        filling=Filling.VALUE,
        prologue=_MAP_TO_TILE,
        epilogue=(*_BOX_OUT, *_DRAIN),
    ),
)


# PTX


class BuildError(Exception):
    """A program did not lower."""


def lower_pattern(name: str, mcpu: str = ARCHITECTURE) -> str:
    """The PTX of examples/async/``name``.mlir; raises ``BuildError``."""
    command = [sys.executable, "-m", "fencewright.tools.fence_opt"]
    source = str(PROGRAMS / f"{name}.mlir")
    done = subprocess.run(
        [*command, source, "--mcpu", mcpu, "-t", "asm"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise BuildError(done.stderr or done.stdout)
    return done.stdout


_REGISTERS = (
    ".reg .b16 %h_half;",
    ".reg .f32 %h_float;",
    ".reg .b32 %h_cta, %h_tid, %h_instance, %h_index, %h_thread, %h_value;",
    ".reg .b32 %h_word, %h_lane, %h_stale;",
    ".reg .b64 %h_out, %h_scratch, %h_offset, %h_place, %h_tile, %h_full;",
    ".reg .pred %h_leader, %h_second, %h_done, %h_few;",
)

_POSITION = (
    "mov.u32 %h_cta, %ctaid.x;",
    "mov.u32 %h_tid, %tid.x;",
    "setp.eq.u32 %h_leader, %h_tid, 0;",
    "mov.b64 %h_offset, 0;",
)

_ALONE = ("mov.u32 %h_instance, %h_cta;", "mov.u32 %h_index, %h_cta;")

_PAIRED = (
    "shr.u32 %h_instance, %h_cta, 1;",
    "and.b32 %h_word, %h_cta, 1;",
    "setp.ne.u32 %h_second, %h_word, 0;",
    f"add.u32 %h_index, %h_instance, {GRID // 2};",
    "@%h_second mov.u32 %h_index, %h_instance;",
)

_ARGUMENT = {
    Role.OUT: ("mad.wide.u32 {0}, %h_thread, 4, {0};",),
    Role.BEFORE: ("mad.wide.u32 {0}, %h_thread, 4, {0};",),
    Role.OUT_TILE: ("mad.wide.u32 {0}, %h_index, 128, {0};",),
    Role.DATA: ("mad.wide.u32 {0}, %h_instance, 128, {0};",),
    Role.ADDRESS: ("mad.wide.u32 {0}, %h_instance, 128, {0};",),
    Role.MAP: ("mad.wide.u32 {0}, %h_instance, 128, {0};",),
    Role.COORDINATE: (),
    Role.FLAG: ("mad.wide.u32 {0}, %h_instance, 128, {0};",),
    Role.VALUE: ("mov.b32 {0}, %h_value;",),
    Role.PEER: ("mov.u32 {0}, %cluster_ctarank;", "xor.b32 {0}, {0}, 1;"),
    Role.DESCRIPTOR: (_TILE, "shr.u64 {0}, %h_tile, 4;", "and.b64 {0}, {0}, 0x3fff;"),
}


def instrument(pattern: Pattern, ptx: str) -> str:
    """PTX whose arguments are each thread's own, and more: output, scratch memory, the salt."""
    for each in (".b64 h_param_out", ".b64 h_param_scratch", ".b32 h_param_salt"):
        ptx = re.sub(r"\n?\)\n\{", f",\n\t.param {each}\n)\n{{", ptx, count=1)
    ptx = ptx.replace("(,", "(", 1)
    lines = ptx.splitlines()
    loads = {int(m[2]): m[1] for m in re.finditer(r"ld\.param\.\w+ (%\w+), \[\w+_(\d+)\]", ptx)}
    registers = {role.name: loads[n] for n, role in enumerate(pattern.roles)}
    before = [
        *_REGISTERS,
        "ld.param.b64 %h_out, [h_param_out];",
        "ld.param.b64 %h_scratch, [h_param_scratch];",
        "ld.param.b32 %h_value, [h_param_salt];",
        *_POSITION,
        *(_PAIRED if pattern.pair else _ALONE),
        "add.u32 %h_value, %h_value, %h_instance;",
        f"mad.lo.u32 %h_thread, %h_index, {pattern.block}, %h_tid;",
        *(
            line.replace("{0}", loads[n])
            for n, role in enumerate(pattern.roles)
            for line in _ARGUMENT[role]
        ),
        *pattern.slot.value.splitlines(),
        *_named(pattern.prologue, registers),
    ]
    is_prologue = re.compile(r"\s*(ld\.param|\.reg \S+ %\w+<|[{}]|\.\w+|\)|$)")
    body = lines.index("{") + 1
    start = next(n for n in range(body, len(lines)) if not is_prologue.match(lines[n]))
    result = [*lines[:start], *_indented(before)]
    first, added = pattern.before or ("", ())
    place = next(line for line in lines[start:] if line.strip().startswith(first))
    for line in lines[start:]:
        if line is place:
            result += _indented(added)
        if line.strip() == "ret;":
            result += _indented(_named(pattern.epilogue, registers))
        result.append(line)
        tile = re.match(r"\s*mov\.b64 (%rd\d+), tile;", line)
        if tile and pattern.slot is not Slot.FIRST:
            result.append(f"\tadd.s64 {tile[1]}, {tile[1]}, %h_offset;")
        if pattern.split and line.strip().startswith("setp.eq.b64 %p1"):
            result.append("\t@%h_second setp.ne.u32 %p1, %h_tid, %h_tid;")
    return "\n".join([*result, ""])


def _named(lines: Iterable[str], registers: dict[str, str]) -> list[str]:
    """The lines with the registers of the arguments they name."""
    return [re.sub(r"\{([A-Z_]+)\}", lambda m: registers[m[1]], line) for line in lines]


def _indented(lines: Iterable[str]) -> list[str]:
    return [line if line.startswith("$") else f"\t{line}" for line in lines]


CHECKER = f"""\
.version 7.8
.target sm_90
.address_size 64

// One thread an instance: are its words base + (n ^ flip)? If not, count it.
.visible .entry check(.param .u64 p_words, .param .u32 p_base, .param .u32 p_instances,
    .param .u32 p_per, .param .u32 p_step, .param .u32 p_stride, .param .u32 p_flip,
    .param .u64 p_wrong)
{{
    .reg .pred %p;
    .reg .b32 %n, %t, %base, %limit, %per, %step, %stride, %flip, %value;
    .reg .b64 %words, %wrong, %offset;
    ld.param.u64 %words, [p_words];
    ld.param.u64 %wrong, [p_wrong];
    ld.param.u32 %base, [p_base];
    ld.param.u32 %limit, [p_instances];
    ld.param.u32 %per, [p_per];
    ld.param.u32 %step, [p_step];
    ld.param.u32 %stride, [p_stride];
    ld.param.u32 %flip, [p_flip];
    mov.u32 %n, %ctaid.x;
    mov.u32 %t, %ntid.x;
    mul.lo.u32 %n, %n, %t;
    mov.u32 %t, %tid.x;
    add.u32 %n, %n, %t;
    setp.ge.u32 %p, %n, %limit;
    @%p ret;
    mul.lo.u32 %t, %n, %stride;
    mul.wide.u32 %offset, %t, 4;
    add.u64 %words, %words, %offset;
    xor.b32 %t, %n, %flip;
    add.u32 %base, %base, %t;
    mul.wide.u32 %offset, %step, 4;
again:
    ld.global.u32 %value, [%words];
    setp.ne.u32 %p, %value, %base;
    @%p bra bad;
    add.u64 %words, %words, %offset;
    sub.u32 %per, %per, 1;
    setp.ne.u32 %p, %per, 0;
    @%p bra again;
    ret;
bad:
    red.global.add.u32 [%wrong], 1;
    ret;
}}

// The 32 words of instance n become base + n.
.visible .entry put(.param .u64 q_words, .param .u32 q_base)
{{
    .reg .b32 %n, %t, %base;
    .reg .b64 %words, %offset;
    ld.param.u64 %words, [q_words];
    ld.param.u32 %base, [q_base];
    mov.u32 %n, %ctaid.x;
    mov.u32 %t, %tid.x;
    add.u32 %base, %base, %n;
    mad.lo.u32 %t, %n, 32, %t;
    mul.wide.u32 %offset, %t, 4;
    add.u64 %words, %words, %offset;
    st.global.u32 [%words], %base;
    ret;
}}

// The 64 halves of instance n become what is left of base + n.
.visible .entry put_halves(.param .u64 h_words, .param .u32 h_base)
{{
    .reg .b16 %half;
    .reg .b32 %n, %t, %base;
    .reg .b64 %words, %offset;
    ld.param.u64 %words, [h_words];
    ld.param.u32 %base, [h_base];
    mov.u32 %n, %ctaid.x;
    mov.u32 %t, %tid.x;
    add.u32 %base, %base, %n;
    and.b32 %base, %base, {_HALF};
    add.u32 %base, %base, 1;
    cvt.rn.f16.u32 %half, %base;
    mov.b32 %base, {{%half, %half}};
    mad.lo.u32 %t, %n, 32, %t;
    mul.wide.u32 %offset, %t, 4;
    add.u64 %words, %words, %offset;
    st.global.u32 [%words], %base;
    ret;
}}
"""


# Running


@dataclass(frozen=True, slots=True)
class Run:
    """One pattern with one weakening (empty: as lowered). ``error``: why there is no count.

    ``is_same``: ptxas makes the same machine code of it as without the weakening.
    """

    pattern: str
    weakening: str
    instances: int
    wrong: int
    error: str = ""
    is_same: bool = False

    @property
    def is_right(self) -> bool:
        """Whether a program that is not weakened gave what it has to."""
        return bool(self.weakening) or (not self.wrong and not self.error and bool(self.instances))


def variants(pattern: Pattern, ptx: str) -> list[tuple[str, str]]:
    """The title and the PTX of each run: as lowered (no title), then every weakening."""
    texts = [("", ptx), *((each.title, each.apply(ptx)) for each in pattern.weakenings)]
    return [(title, instrument(pattern, text)) for title, text in texts]


def run_pattern(pattern: Pattern, ptx: str, device: Device, launches: int) -> Iterable[Run]:
    """Launch every variant so many times, each launch checked on the GPU."""
    out, before, scratch = (device.allocate(4 * BLOCK * GRID) for _ in range(3))
    data, elsewhere, flags, maps = (device.allocate(128 * GRID) for _ in range(4))
    wrong = device.allocate(4)
    helpers = device.load(CHECKER)
    check = helpers.kernel("check")
    put = helpers.kernel(pattern.filling.value) if pattern.filling.value else None
    fixed: dict[Role, Argument] = {
        Role.OUT: out,
        Role.BEFORE: before,
        Role.OUT_TILE: out,
        Role.DATA: data,
        Role.FLAG: flags,
        Role.MAP: maps,
        Role.DESCRIPTOR: bytes(8),
    }
    salts = count(GRID, GRID)
    for title, text in variants(pattern, ptx):
        try:
            kernel = device.load(text).kernel(pattern.name)
        except GpuError as error:
            yield Run(pattern.name, title, 0, 0, str(error))
            continue
        wrong.fill(0)
        if Role.MAP in pattern.roles:
            maps.write(GRID * device.tensor_map(data, [32, 1], [128], [32, 1]))
        for _ in range(launches):
            salt = next(salts)
            address = elsewhere if salt // GRID % 2 else data
            filled = address if Role.ADDRESS in pattern.roles else data
            arguments = fixed | {Role.ADDRESS: address}
            flags.fill(0)
            if put is not None:
                put.launch(GRID, 32, [filled, salt])
            kernel.launch(
                GRID,
                pattern.block,
                [*(arguments.get(role, 0) for role in pattern.roles), out, scratch, salt],
                cluster=pattern.cluster,
            )
            shape = [pattern.instances, pattern.per, pattern.step, pattern.stride]
            check.launch(
                (pattern.instances + 255) // 256,
                256,
                [out, salt, *shape, int(pattern.from_peer), wrong],
            )
        seen = int.from_bytes(wrong.read(), "little")
        yield Run(pattern.name, title, launches * pattern.instances, seen)


def run_apart(pattern: Pattern, built: Path, launches: int) -> list[Run]:
    """Run a pattern in a process of its own, which is killed after ``SECONDS``."""
    command = [sys.executable, __file__, "--built", str(built), "--launches", str(launches)]
    with subprocess.Popen(
        [*command, "--only", pattern.name],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            said, complaint = process.communicate(timeout=SECONDS)
            problem = (complaint.strip().splitlines() or [""])[-1] if process.returncode else ""
        except subprocess.TimeoutExpired:
            process.kill()
            said, _ = process.communicate()
            problem = f"did not end within {SECONDS} s"
    runs = [Run(**json.loads(line)) for line in said.splitlines()]
    titles = ["", *(each.title for each in pattern.weakenings)][len(runs) :]
    if not titles:
        return runs
    rest = [Run(pattern.name, title, 0, 0, "not run") for title in titles[1:]]
    return [*runs, Run(pattern.name, titles[0], 0, 0, problem or "no result"), *rest]


_COLUMNS = ("pattern", "taken out", "instances", "wrong results")


def markdown(runs: Sequence[Run], machine: str) -> str:
    """The table, with the machine that it belongs to."""
    head = [machine, "", markdown_row(_COLUMNS), markdown_row(["---"] * len(_COLUMNS))]
    rows = [
        markdown_row(
            (
                f"`{run.pattern}`" if not run.weakening else "",
                run.weakening or "nothing",
                f"{run.instances:,}",
                run.error or f"{run.wrong:,}{' (same machine code)' if run.is_same else ''}",
            )
        )
        for run in runs
    ]
    return "\n".join([*head, *rows, ""])


def _machine(device: Device, launches: int) -> str:
    return (
        f"Measured {date.today().isoformat()} on {description(device)}: {launches:,} launches of "
        f" {GRID:,} work-groups for every row."
    )


_SAME = "same-machine-code.json"


def build(directory: Path) -> None:
    """Write the PTX of every pattern to ``directory``, and which weakenings change no code."""
    directory.mkdir(parents=True, exist_ok=True)
    same: dict[str, list[str]] = {}
    for pattern in PATTERNS:
        ptx = lower_pattern(pattern.name)
        (directory / f"{pattern.name}.ptx").write_text(ptx)
        same[pattern.name] = unchanged(pattern, ptx)
    (directory / _SAME).write_text(json.dumps(same, indent=1))


def unchanged(pattern: Pattern, ptx: str) -> list[str]:
    """The titles of the weakenings that change no machine code; none where there is no ptxas."""
    ptxas = shutil.which("ptxas")
    if ptxas is None:
        return []
    codes = {title: assemble(ptxas, text) for title, text in variants(pattern, ptx)}
    return [title for title, code in codes.items() if title and code == codes[""]]


def assemble(ptxas: str, ptx: str) -> bytes:
    """The binary of a program; raises ``BuildError``."""
    with TemporaryDirectory() as folder:
        source, binary = Path(folder) / "pattern.ptx", Path(folder) / "pattern.cubin"
        source.write_text(ptx)
        command = [ptxas, f"-arch={ARCHITECTURE}", str(source), "-o", str(binary)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise BuildError(done.stderr or done.stdout)
        return binary.read_bytes()


def main(arguments: Sequence[str] | None = None) -> int:
    """The runs as a command; gives the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("gpu-async"), metavar="DIR")
    parser.add_argument(
        "--build", type=Path, metavar="DIR", help="write the PTX there, run nothing"
    )
    parser.add_argument("--built", type=Path, metavar="DIR", help="take the PTX from there")
    parser.add_argument("--launches", type=int, default=500)
    parser.add_argument("--only", help="this pattern, here, as lines of JSON")
    wanted = parser.parse_args(arguments)
    if wanted.build:
        build(wanted.build)
        return 0
    try:
        device = Device()
    except GpuError as error:
        print(error, file=sys.stderr)
        return 2
    built: Path = wanted.built or wanted.output / "ptx"
    if not wanted.built:
        build(built)
    if wanted.only:
        pattern = next(each for each in PATTERNS if each.name == wanted.only)
        ptx = (built / f"{pattern.name}.ptx").read_text()
        for run in run_pattern(pattern, ptx, device, wanted.launches):
            print(json.dumps(asdict(run)), flush=True)
        return 0
    runs: list[Run] = []
    same = json.loads((built / _SAME).read_text())
    for pattern in PATTERNS:
        for each in run_apart(pattern, built, wanted.launches):
            run = replace(each, is_same=each.weakening in same[pattern.name])
            print(run, flush=True)
            runs.append(run)
    wanted.output.mkdir(parents=True, exist_ok=True)
    machine = _machine(device, wanted.launches)
    (wanted.output / "gpu-async.md").write_text(markdown(runs, machine))
    data = {"machine": machine, "runs": [asdict(run) for run in runs]}
    (wanted.output / "gpu-async.json").write_text(json.dumps(data, indent=1) + "\n")
    return 0 if all(run.is_right for run in runs) else 1


if __name__ == "__main__":
    sys.exit(main())
