"""Asynchronous operations in the PTX model: every ordering with a program that needs it.

A case is a program whose condition holds always, and what of it can be weakened: then the
condition fails. So each rule is seen to order, and its absence to leave something unordered.
"""

import random
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import permutations
from pathlib import Path

import pytest

from fencewright.simulator.core.condition import LitmusError, Outcomes, Register
from fencewright.simulator.core.exploration import WorkBudget
from fencewright.simulator.core.program import Label, ProgramError
from fencewright.simulator.core.thread_runs import EventKind
from fencewright.simulator.litmus_run import Limits, PtxTest, run
from fencewright.simulator.pictures.execution_graph import ptx_graph
from fencewright.simulator.ptx import definition
from fencewright.simulator.ptx.barrier_matching import Meeting, all_met
from fencewright.simulator.ptx.early_uses import early_uses
from fencewright.simulator.ptx.events import PtxCandidates
from fencewright.simulator.ptx.formats.columns import (
    PtxLitmusTest,
    parse_litmus,
    read_litmus,
    witness_text,
    write_litmus,
)
from fencewright.simulator.ptx.graphs import PtxConstruction, can_be_built
from fencewright.simulator.ptx.instructions import PtxProgram
from fencewright.simulator.ptx.model import (
    MODELS,
    PtxModel,
    SyncRestrict,
    Version,
    sampled_outcomes,
)
from fencewright.simulator.ptx.mutants import MutationKind, mutants
from fencewright.simulator.ptx.outcomes import outcomes
from fencewright.simulator.ptx.paths import PtxEvent, Rendezvous, Update
from fencewright.simulator.ptx.witnesses import explain

LITMUS = Path(__file__).parents[1] / "litmus" / "ptx"


@dataclass(frozen=True)
class Case:
    """Threads as ``cta 0: a; b``; ``weaker`` are instructions, each with what takes its place."""

    name: str
    initial: str
    threads: tuple[str, ...]
    condition: str
    weaker: dict[str, str] = field(default_factory=dict[str, str])

    def test(self, old: str = "", new: str = "") -> PtxLitmusTest:
        """The test, with every instruction ``old`` as ``new``, or without it."""
        columns: list[list[str]] = []
        assert any(old in thread for thread in self.threads)
        for number, thread in enumerate(self.threads):
            place, code = thread.split(": ", 1)
            lines = [line.strip() for line in code.split(";")]
            lines = [new if line == old else line for line in lines]
            columns.append([f"P{number}@{place},gpu 0", *filter(None, lines)])
        height = max(map(len, columns))
        rows = [" | ".join(c[n] if n < len(c) else "" for c in columns) for n in range(height)]
        table = "".join(f" {row} ;\n" for row in rows)
        return parse_litmus(f"PTX {self.name}\n{{ {self.initial} }}\n{table}{self.condition}\n")


MBARRIER = "b = mbarrier(1);"
TILES = "s @ cta 0,cluster 0,gpu 0; u @ cta 1,cluster 0,gpu 0;"
C0, C1 = "cta 0,cluster 0", "cta 1,cluster 0"
WAIT = "mbarrier.try_wait.parity b, 0"
WAIT_RELAXED = "mbarrier.try_wait.parity.relaxed.cluster b, 0"
STORED = "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ld r0, x"
BEFORE, AFTER = "tcgen05.fence::before_thread_sync", "tcgen05.fence::after_thread_sync"
ARRIVE_RELAXED = "mbarrier.arrive.relaxed.cluster b"


CASES = (
    # mbarriers
    Case(
        "counts",
        "x=0; b = mbarrier(3);",
        ("cta 0: st x, 1; mbarrier.arrive b, 2; mbarrier.arrive b", f"cta 0: {WAIT}; ld r0, x"),
        "forall (P1:r0 == 1)",
        {
            WAIT: "mbarrier.try_wait.parity b, 1",
            "mbarrier.arrive b": "",
            "mbarrier.arrive b, 2": "mbarrier.arrive b",
        },
    ),
    Case(
        "expect_tx",
        f"x=7; s=0; {MBARRIER}",
        (
            "cta 0: mbarrier.expect_tx.relaxed.cta b, 4; cp.async.bulk s, x, 4, b; mbarrier.arrive b",
            f"cta 0: {WAIT}; ld r0, s",
        ),
        "forall (P1:r0 == 7)",
        {
            "mbarrier.expect_tx.relaxed.cta b, 4": "",
            "cp.async.bulk s, x, 4, b": "cp.async.bulk s, x, 8, b",
            WAIT: "",
        },
    ),
    Case(
        "complete_tx",
        f"x=0; {MBARRIER}",
        (
            "cta 0: mbarrier.arrive.expect_tx b, 4; mbarrier.complete_tx.relaxed.cta b, 4",
            f"cta 0: {WAIT}; mov r0, 1",
        ),
        "forall (P1:r0 == 1)",
        {"mbarrier.complete_tx.relaxed.cta b, 4": ""},
    ),
    Case(
        "arrive_drop",
        "x=0; b = mbarrier(2);",
        (
            "cta 0: mbarrier.arrive_drop b",
            f"cta 0: mbarrier.arrive b; {WAIT}; mbarrier.arrive b; "
            "mbarrier.try_wait.parity b, 1; mov r0, 1",
        ),
        "forall (P1:r0 == 1)",
        {"mbarrier.arrive_drop b": "mbarrier.arrive b"},
    ),
    Case(
        "parity of two phases",
        "x=0; full = mbarrier(1); empty = mbarrier(1);",
        (
            "cta 0: mbarrier.try_wait.parity empty, 1; st x, 1; mbarrier.arrive full; "
            "mbarrier.try_wait.parity empty, 0; st x, 2; mbarrier.arrive full",
            "cta 0: mbarrier.try_wait.parity full, 0; ld r0, x; mbarrier.arrive empty; "
            "mbarrier.try_wait.parity full, 1; ld r1, x; mbarrier.arrive empty",
        ),
        "forall (P1:r0 == 1 /\\ P1:r1 == 2)",
        {
            "mbarrier.try_wait.parity empty, 0": "mbarrier.try_wait.parity empty, 1",
            "mbarrier.try_wait.parity full, 1": "mbarrier.try_wait.parity full, 0",
            "mbarrier.try_wait.parity empty, 1": "mbarrier.try_wait.parity empty, 0",
        },
    ),
    Case(
        "a look and a loop",
        f"x=0; {MBARRIER}",
        (
            "cta 0: st x, 1; mbarrier.arrive b",
            "cta 0: again:; mbarrier.test_wait.parity r1, b, 0; beq r1, 0, again; ld r0, x",
        ),
        "forall (P1:r0 == 1)",
        {
            "beq r1, 0, again": "",
            "mbarrier.test_wait.parity r1, b, 0": "mbarrier.test_wait.parity.relaxed.cta r1, b, 0",
        },
    ),
    Case(
        "a token",
        "x=0; b = mbarrier(2);",
        (
            "cta 0: st x, 1; mbarrier.arrive b",
            "cta 0: mbarrier.arrive r1, b; mbarrier.try_wait b, r1; ld r0, x",
        ),
        "forall (P1:r0 == 1)",
        {"mbarrier.try_wait b, r1": ""},
    ),
    Case(
        "a look after what completed the phase",
        f"x=0; {MBARRIER}",
        (
            "cta 0: mbarrier.arrive b; st.release.gpu x, 1",
            "cta 0: ld.acquire.gpu r0, x; mbarrier.test_wait.parity r1, b, 0",
        ),
        "~exists (P1:r0 == 1 /\\ P1:r1 == 0)",
        {"st.release.gpu x, 1": "st.relaxed.gpu x, 1"},
    ),
    Case(
        "init",
        "x=0; b = mbarrier;",
        (
            f"cta 0: mbarrier.init b, 1; bar.cta.sync 0; {WAIT}; ld r0, x",
            "cta 0: bar.cta.sync 0; st x, 1; mbarrier.arrive b",
        ),
        "forall (P0:r0 == 1)",
        {"bar.cta.sync 0": "", "mbarrier.init b, 1": ""},
    ),
    Case(
        "init in a cluster",
        "x=0; y=0; b = mbarrier;",
        (
            f"{C0}: mbarrier.init b, 1; fence.mbarrier_init.release.cluster; "
            "barrier.cluster.arrive.relaxed; mbarrier.try_wait.parity.acquire.cluster b, 0; ld r0, x",
            f"{C1}: barrier.cluster.arrive.relaxed; barrier.cluster.wait; st x, 1; "
            "mbarrier.arrive.release.cluster b",
        ),
        "forall (P0:r0 == 1)",
        {
            "fence.mbarrier_init.release.cluster": "",
            "barrier.cluster.wait": "",
            "mbarrier.arrive.release.cluster b": "mbarrier.arrive.release.cta b",
        },
    ),
    Case(
        "inval and init",
        "x=0; b = mbarrier;",
        (
            f"cta 0: mbarrier.init b, 1; mbarrier.arrive b; {WAIT}; mbarrier.inval b; "
            "mbarrier.init b, 2; mbarrier.arrive b, 2; mbarrier.try_wait.parity b, 0; mov r0, 1",
        ),
        "forall (P0:r0 == 1)",
        {"mbarrier.init b, 2": ""},
    ),
    # cp.async: in the generic proxy
    Case(
        "cp.async and its group",
        "x=0; s=0;",
        (
            "cta 0: st x, 1; cp.async.ca.shared.global [s], [x], 4; cp.async.commit_group; "
            "cp.async.wait_group 0; ld r0, s",
        ),
        "forall (P0:r0 == 1)",
        {
            "cp.async.commit_group": "",
            "cp.async.wait_group 0": "cp.async.wait_group 1",
        },
    ),
    Case(
        "cp.async, the first of two groups",
        "x=1; s=0; t=0;",
        (
            "cta 0: cp.async s, x; cp.async.commit_group; cp.async t, x; cp.async.commit_group; "
            "cp.async.wait_group 1; ld r0, s",
        ),
        "forall (P0:r0 == 1)",
        {"cp.async.wait_group 1": "cp.async.wait_group 2"},
    ),
    Case(
        "cp.async, the second of two groups",
        "x=1; s=0; t=0;",
        (
            "cta 0: cp.async s, x; cp.async.commit_group; cp.async t, x; cp.async.commit_group; "
            "cp.async.wait_group 0; ld r0, t",
        ),
        "forall (P0:r0 == 1)",
        {"cp.async.wait_group 0": "cp.async.wait_group 1"},
    ),
    Case(
        "cp.async.wait_all",
        "x=1; s=0;",
        ("cta 0: cp.async s, x; cp.async.wait_all; ld r0, s",),
        "forall (P0:r0 == 1)",
        {"cp.async.wait_all": ""},
    ),
    Case(
        "cp.async.mbarrier.arrive.noinc",
        f"x=1; s=0; {MBARRIER}",
        (
            "cta 0: cp.async s, x; cp.async.mbarrier.arrive.noinc.shared.b64 [b]",
            f"cta 0: {WAIT}; ld r0, s",
        ),
        "forall (P1:r0 == 1)",
        {
            "cp.async.mbarrier.arrive.noinc.shared.b64 [b]": "mbarrier.arrive b",
            WAIT: "mbarrier.try_wait.parity.relaxed.cta b, 0",
        },
    ),
    Case(
        "cp.async.mbarrier.arrive",
        f"x=1; s=0; {MBARRIER}",
        (
            "cta 0: cp.async s, x; cp.async.mbarrier.arrive b; mbarrier.arrive b",
            f"cta 0: {WAIT}; ld r0, s",
        ),
        "forall (P1:r0 == 1)",
        {
            "cp.async.mbarrier.arrive b": "",
            "mbarrier.arrive b": "",
        },
    ),
    Case(
        "cp.async and a bulk copy of what it wrote",
        f"x=1; s=0; y=0; {MBARRIER} s @ cta 0,gpu 0;",
        (
            "cta 0: cp.async s, x; cp.async.mbarrier.arrive.noinc b",
            f"cta 0: {WAIT}; fence.proxy.async; cp.async.bulk.bulk_group y, s; "
            "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ld r0, y",
        ),
        "forall (P1:r0 == 1)",
        {"fence.proxy.async": ""},
    ),
    # Bulk copies
    Case(
        "bulk copies of two words",
        f"x=1; y=2; s=0; u=0; {MBARRIER}",
        (
            "cta 0: mbarrier.arrive.expect_tx b, 16; "
            "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes {s, u}, {x, y}, 16, [b]",
            f"cta 0: {WAIT}; ld r0, s; ld r1, u",
        ),
        "forall (P1:r0 == 1 /\\ P1:r1 == 2)",
        {WAIT: "mbarrier.try_wait.parity.relaxed.cta b, 0"},
    ),
    Case(
        "a bulk copy between shared memories",
        f"s=0; u=0; {MBARRIER} {TILES}",
        (
            f"{C0}: st s, 1; fence.proxy.async.shared::cta; cp.async.bulk u, s, 4, b",
            f"{C1}: mbarrier.arrive.expect_tx b, 4; mbarrier.try_wait.parity.acquire.cluster b, 0; "
            "ld r0, u",
        ),
        "forall (P1:r0 == 1)",
        {
            "fence.proxy.async.shared::cta": "fence.proxy.async.global",
            "mbarrier.try_wait.parity.acquire.cluster b, 0": WAIT,
        },
    ),
    Case(
        "a copy to a peer, and a copy of what it wrote",
        f"s=1; u=0; x=0; {MBARRIER} {TILES}",
        (
            f"{C0}: cp.async.bulk u, s, 4, b",
            f"{C1}: mbarrier.arrive.expect_tx b, 4; mbarrier.try_wait.parity.acquire.cluster b, 0; "
            f"cp.async.bulk.bulk_group x, u; {STORED}",
        ),
        "forall (P1:r0 == 1)",
        {"mbarrier.try_wait.parity.acquire.cluster b, 0": WAIT},
    ),
    Case(
        "the first of two bulk groups",
        "s=1; u=1; x=0; y=0;",
        (
            "cta 0: cp.async.bulk.bulk_group x, s; cp.async.bulk.commit_group; "
            "cp.async.bulk.bulk_group y, u; cp.async.bulk.commit_group; "
            "cp.async.bulk.wait_group 1; ld r0, x",
        ),
        "forall (P0:r0 == 1)",
        {"cp.async.bulk.wait_group 1": "cp.async.bulk.wait_group.read 1"},
    ),
    Case(
        "bulk reductions are atomic",
        "s=1; x=0;",
        (
            "cta 0: cp.reduce.async.bulk.bulk_group.add x, s",
            "cta 1: cp.reduce.async.bulk.bulk_group.add x, s",
        ),
        "forall (x == 2)",
        {"cp.reduce.async.bulk.bulk_group.add x, s": "cp.async.bulk.bulk_group x, s"},
    ),
    Case(
        "a bulk reduction and its mbarrier",
        f"s=1; x=2; {MBARRIER}",
        (
            "cta 0: mbarrier.arrive.expect_tx b, 4; cp.reduce.async.bulk.add.u32 x, s, 4, b",
            f"cta 0: {WAIT}; ld r0, x",
        ),
        "forall (P1:r0 == 3)",
        {WAIT: ""},
    ),
    # st.async and red.async: in the generic proxy
    Case(
        "st.async takes no proxy fence",
        f"x=0; {MBARRIER}",
        (
            f"{C0}: st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [x], 1, [b]",
            f"{C1}: mbarrier.arrive.expect_tx b, 4; mbarrier.try_wait.parity.acquire.cluster b, 0; "
            "ld r0, x; st x, 2; ld r1, x",
        ),
        "forall (P1:r0 == 1 /\\ P1:r1 == 2)",
        {"mbarrier.arrive.expect_tx b, 4": "mbarrier.arrive b"},
    ),
    Case(
        "st.async and a bulk copy of what it wrote",
        f"u=0; y=0; {MBARRIER} {TILES}",
        (
            f"{C0}: st.async u, 1, 4, b",
            f"{C1}: mbarrier.arrive.expect_tx b, 4; mbarrier.try_wait.parity.acquire.cluster b, 0; "
            "fence.proxy.async.shared::cta; cp.async.bulk.bulk_group y, u; "
            "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ld r0, y",
        ),
        "forall (P1:r0 == 1)",
        {"fence.proxy.async.shared::cta": ""},
    ),
    Case(
        "red.async",
        f"x=1; {MBARRIER}",
        (
            f"{C0}: red.async.relaxed.cluster.add.u32 x, 2, b",
            f"{C1}: mbarrier.arrive.expect_tx b, 4; mbarrier.try_wait.parity.acquire.cluster b, 0; "
            "ld r0, x",
        ),
        "forall (P1:r0 == 3)",
        {"mbarrier.try_wait.parity.acquire.cluster b, 0": WAIT_RELAXED},
    ),
    Case(
        "st.async.release",
        "x=0; f=0;",
        (
            "cta 0: st x, 1; st.async.release.gpu.global.b32 [f], 1",
            "cta 1: ld.acquire.gpu r0, f; ld r1, x",
        ),
        "~exists (P1:r0 == 1 /\\ P1:r1 == 0)",
        {"st.async.release.gpu.global.b32 [f], 1": "st.relaxed.gpu f, 1"},
    ),
    Case(
        "red.async.release",
        "x=0; f=0;",
        ("cta 0: st x, 1; red.async.release.gpu.add f, 1", "cta 1: ld.acquire.gpu r0, f; ld r1, x"),
        "~exists (P1:r0 == 1 /\\ P1:r1 == 0)",
        {"red.async.release.gpu.add f, 1": "red.relaxed.gpu.add f, 1"},
    ),
    # Proxy fences
    Case(
        "a fence of shared memory",
        f"s=0; x=0; {TILES}",
        (f"{C0}: st s, 1; fence.proxy.async.shared::cta; cp.async.bulk.bulk_group x, s; {STORED}",),
        "forall (P0:r0 == 1)",
        {"fence.proxy.async.shared::cta": "fence.proxy.async.global"},
    ),
    Case(
        "a fence of global memory",
        f"s=0; x=0; y=0; {TILES}",
        (f"{C0}: st y, 1; fence.proxy.async.global; cp.async.bulk.bulk_group x, y; {STORED}",),
        "forall (P0:r0 == 1)",
        {"fence.proxy.async.global": "fence.proxy.async.shared::cluster"},
    ),
    Case(
        "a fence of the cluster's shared memory",
        f"u=0; x=0; {TILES}",
        (
            f"{C0}: st u, 1; fence.proxy.async.shared::cluster; cp.async.bulk.bulk_group x, u; {STORED}",
        ),
        "forall (P0:r0 == 1)",
        {"fence.proxy.async.shared::cluster": "fence.proxy.async.shared::cta"},
    ),
    Case(
        "fences from the generic to the async proxy",
        f"s=1; x=7; {MBARRIER} {TILES}",
        (
            f"{C0}: ld r0, s; fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster; "
            f"{ARRIVE_RELAXED}",
            f"{C1}: {WAIT_RELAXED}; "
            "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster; "
            "cp.async.bulk.bulk_group s, x",
        ),
        "forall (P0:r0 == 1)",
        {
            "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster": "",
            "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster": "fence.acquire.sync_restrict::shared::cluster.cluster",
        },
    ),
    Case(
        "fences of the generic proxy alone",
        f"s=0; {MBARRIER} {TILES}",
        (
            f"{C0}: st s, 1; fence.release.sync_restrict::shared::cta.cluster; {ARRIVE_RELAXED}",
            f"{C1}: {WAIT_RELAXED}; fence.acquire.sync_restrict::shared::cluster.cluster; ld r0, s",
        ),
        "forall (P1:r0 == 1)",
        {
            "fence.release.sync_restrict::shared::cta.cluster": "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster",
            "fence.acquire.sync_restrict::shared::cluster.cluster": "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster",
        },
    ),
    # Tensor maps
    Case(
        "a tensor map, in one thread",
        f"m=0; n=0; x=5; y=6; s=0; {MBARRIER}",
        (
            "cta 0: tensormap.replace.tile.global_address.global.b1024.b64 [m], 1; "
            "fence.proxy.tensormap::generic.release.gpu; "
            "fence.proxy.tensormap::generic.acquire.gpu m, 128; "
            "mbarrier.arrive.expect_tx b, 4; "
            "cp.async.bulk.tensor.1d.shared::cta.global.tile s, [m, x, y], 4, b; "
            f"{WAIT}; ld r0, s",
        ),
        "forall (P0:r0 == 6)",
        {
            "fence.proxy.tensormap::generic.release.gpu": "",
            "fence.proxy.tensormap::generic.acquire.gpu m, 128": "fence.proxy.tensormap::generic.acquire.gpu n, 128",
        },
    ),
    Case(
        "a tensor map, between threads",
        f"m=0; k=1; x=5; y=6; s=0; f=0; {MBARRIER}",
        (
            "cta 0: tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [m], [k], 128; "
            "st.relaxed.gpu f, 1",
            "cta 1: ld.relaxed.gpu r1, f; fence.proxy.tensormap::generic.acquire.gpu [m], 128; "
            f"mbarrier.arrive.expect_tx b, 4; cp.async.bulk.tensor s, [m, x, y], 4, b; {WAIT}; ld r0, s",
        ),
        "~exists (P1:r1 == 1 /\\ P1:r0 == 5)",
        {
            "fence.proxy.tensormap::generic.acquire.gpu [m], 128": "fence.acquire.gpu",
            "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [m], [k], 128": "st m, 1",
        },
    ),
    Case(
        "a tensor map is used no longer than its copy",
        f"m=0; x=5; y=6; s=0; {MBARRIER}",
        (
            "cta 0: mbarrier.arrive.expect_tx b, 4; cp.async.bulk.tensor s, [m, x, y], 4, b; "
            f"{WAIT}; tensormap.replace m, 1; ld r0, s",
        ),
        "forall (P0:r0 == 5)",
        {WAIT: ""},
    ),
    Case(
        "a store through a tensor map",
        "m=1; s=3; x=0; y=0;",
        (
            "cta 0: cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [m, x, y], s; "
            "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ld r0, y",
        ),
        "forall (P0:r0 == 3 /\\ x == 0)",
        {"cp.async.bulk.wait_group 0": ""},
    ),
    # wgmma
    Case(
        "wgmma of what threads wrote",
        "a=2; c=0; c @ cta 0,gpu 0;",
        (
            "cta 0: st c, 3; fence.proxy.async.shared::cta; mov r0, 1; wgmma.fence.sync.aligned; "
            "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 r0, a, c, 1, 1, 1, 0, 0; "
            "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0",
        ),
        "forall (P0:r0 == 7)",
        {
            "fence.proxy.async.shared::cta": "",
            "wgmma.fence.sync.aligned": "",
            "wgmma.commit_group.sync.aligned": "",
            "wgmma.wait_group.sync.aligned 0": "",
        },
    ),
    Case(
        "wgmma of what a copy wrote",
        f"x=3; a=1; c=0; {MBARRIER}",
        (
            f"cta 0: mbarrier.arrive.expect_tx b, 4; cp.async.bulk c, x, 4, b; {WAIT}; wgmma.fence; "
            "wgmma.mma_async r0, a, c, 0; wgmma.commit_group; wgmma.wait_group 0",
        ),
        "forall (P0:r0 == 3)",
        {"wgmma.fence": "", WAIT: ""},
    ),
    Case(
        "wgmma has read its operands when it is waited for",
        "a=1; c=2;",
        (
            "cta 0: wgmma.fence; wgmma.mma_async r0, a, c, 0; wgmma.commit_group; "
            "wgmma.wait_group 0; st c, 9; mov r1, r0",
        ),
        "forall (P0:r1 == 2)",
        {"wgmma.wait_group 0": ""},
    ),
    Case(
        "two products with one accumulator and a register",
        "c=2;",
        (
            "cta 0: mov r0, 1; mov r1, 5; wgmma.fence; wgmma.mma_async r0, r1, c; "
            "wgmma.mma_async r0, r1, c; wgmma.commit_group; wgmma.wait_group 0",
        ),
        "forall (P0:r0 == 21)",
        {"wgmma.fence": ""},
    ),
    # tcgen05
    Case(
        "tcgen05.st, then .ld, in one thread",
        "t=0; t @ tmem;",
        (
            "cta 0: tcgen05.st.sync.aligned.32x32b.x1.b32 [t], 1; tcgen05.wait::st.sync.aligned; "
            "tcgen05.ld r0, t",
        ),
        "forall (P0:r0 == 1)",
        {"tcgen05.wait::st.sync.aligned": ""},
    ),
    Case(
        "tcgen05.mma, then .ld, in one thread",
        f"a=2; c=3; t=1; t @ tmem; {MBARRIER}",
        (
            "cta 0: tcgen05.mma.cta_group::1.kind::f16 [t], a, c, 1; "
            "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [b]; "
            f"{WAIT_RELAXED}; {AFTER}; tcgen05.ld r0, t",
        ),
        "forall (P0:r0 == 7)",
        {AFTER: "", WAIT_RELAXED: ""},
    ),
    Case(
        "tcgen05.mma, then .ld, in two threads",
        f"a=2; c=3; t=1; t @ tmem; {MBARRIER}",
        (
            "cta 0: tcgen05.mma t, a, c; tcgen05.commit b",
            f"cta 0: {WAIT_RELAXED}; {AFTER}; tcgen05.ld r0, t",
        ),
        "forall (P1:r0 == 7)",
        {AFTER: "", WAIT_RELAXED: "", "tcgen05.commit b": ARRIVE_RELAXED},
    ),
    Case(
        "tcgen05.st, then .mma, in two threads",
        f"a=0; c=0; t=0; t @ tmem; {MBARRIER} d = mbarrier(1);",
        (
            f"cta 0: tcgen05.st t, 5; tcgen05.wait::st; {BEFORE}; {ARRIVE_RELAXED}",
            f"cta 0: {WAIT_RELAXED}; {AFTER}; tcgen05.mma t, a, c; tcgen05.commit d; "
            f"mbarrier.try_wait.parity.relaxed.cluster d, 0; {AFTER}; tcgen05.ld r0, t",
        ),
        "forall (P1:r0 == 5)",
        {"tcgen05.wait::st": "", BEFORE: "", AFTER: "", WAIT_RELAXED: ""},
    ),
    Case(
        "tcgen05.ld, then .st, in two threads",
        f"t=1; t @ tmem; {MBARRIER}",
        (
            f"cta 0: tcgen05.ld r0, t; tcgen05.wait::ld; {BEFORE}; {ARRIVE_RELAXED}",
            f"cta 0: {WAIT_RELAXED}; {AFTER}; tcgen05.st t, 2",
        ),
        "forall (P0:r0 == 1)",
        {"tcgen05.wait::ld": "", BEFORE: "", AFTER: ""},
    ),
    Case(
        "tcgen05.cp, then .mma: in order in one thread",
        f"s=4; c=1; u=0; t=0; u @ tmem; t @ tmem; {MBARRIER}",
        (
            "cta 0: tcgen05.cp u, s; tcgen05.mma t, u, c, 0; tcgen05.commit b; "
            f"{WAIT_RELAXED}; {AFTER}; tcgen05.ld r0, t",
        ),
        "forall (P0:r0 == 4)",
        {"tcgen05.cp u, s": "tcgen05.st u, 4"},
    ),
    Case(
        "tcgen05.cp, then .mma: in order in two threads",
        f"s=4; c=1; u=0; t=0; u @ tmem; t @ tmem; {MBARRIER} d = mbarrier(1);",
        (
            f"cta 0: tcgen05.cp u, s; {BEFORE}; {ARRIVE_RELAXED}",
            f"cta 0: {WAIT_RELAXED}; {AFTER}; tcgen05.mma t, u, c, 0; tcgen05.commit d; "
            "mbarrier.try_wait.parity.relaxed.cluster d, 0; tcgen05.fence::after_thread_sync; "
            "tcgen05.ld r0, t",
        ),
        "forall (P1:r0 == 4)",
        {BEFORE: "", WAIT_RELAXED: "", "tcgen05.cp u, s": "tcgen05.st u, 4"},
    ),
    Case(
        "tcgen05.mma with one accumulator: in order",
        f"a=1; c=1; t=0; t @ tmem; u=0; u @ tmem; {MBARRIER}",
        (
            "cta 0: tcgen05.mma t, a, c, 0; tcgen05.mma t, a, c; tcgen05.commit b; "
            f"{WAIT_RELAXED}; {AFTER}; tcgen05.ld r0, t",
        ),
        "forall (P0:r0 == 2)",
        {"tcgen05.mma t, a, c, 0": "tcgen05.st t, 1"},
    ),
    Case(
        "tcgen05.mma of what threads wrote in shared memory",
        f"s=0; c=1; t=0; t @ tmem; s @ cta 0,gpu 0; {MBARRIER} d = mbarrier(1);",
        (
            "cta 0: st s, 4; fence.proxy.async.shared::cta; mbarrier.arrive b",
            f"cta 0: {WAIT}; {AFTER}; tcgen05.mma t, s, c, 0; tcgen05.commit d; "
            f"mbarrier.try_wait.parity.relaxed.cluster d, 0; {AFTER}; tcgen05.ld r0, t",
        ),
        "forall (P1:r0 == 4)",
        {"fence.proxy.async.shared::cta": "", AFTER: "", WAIT: ""},
    ),
    Case(
        "tcgen05.mma of what a copy wrote",
        f"x=4; s=0; c=1; t=0; t @ tmem; {MBARRIER} d = mbarrier(1);",
        (
            "cta 0: mbarrier.arrive.expect_tx b, 4; cp.async.bulk s, x, 4, b",
            f"cta 0: {WAIT}; {AFTER}; tcgen05.mma t, s, c, 0; tcgen05.commit d; "
            f"mbarrier.try_wait.parity.relaxed.cluster d, 0; {AFTER}; tcgen05.ld r0, t",
        ),
        "forall (P1:r0 == 4)",
        {WAIT: WAIT_RELAXED},
    ),
    # Barriers
    Case(
        "a named barrier with a count",
        "x=0;",
        ("cta 0: st x, 1; barrier.cta.arrive 2, 2", "cta 0: barrier.cta.sync 2, 2; ld r0, x"),
        "forall (P1:r0 == 1)",
        {"barrier.cta.sync 2, 2": "barrier.cta.sync 3, 2", "barrier.cta.arrive 2, 2": ""},
    ),
    Case(
        "bar as PTX writes it",
        "x=0;",
        ("cta 0: st x, 1; bar.arrive 2, 2", "cta 0: bar.sync 2, 2; ld r0, x"),
        "forall (P1:r0 == 1)",
        {"bar.sync 2, 2": "bar.sync 3, 2"},
    ),
    # Zeros, and counting that wraps
    Case(
        "st.bulk is of the generic proxy",
        "x=1; s=1; s @ cta 0,gpu 0;",
        (
            "cta 0: st.bulk.weak.shared::cta [s], 128, 0; fence.proxy.async.shared::cta; "
            f"cp.async.bulk.bulk_group x, s; {STORED}",
        ),
        "forall (P0:r0 == 0)",
        {"fence.proxy.async.shared::cta": "fence.proxy.async.global"},
    ),
    Case(
        "reductions that count up and down",
        f"s=2; u=0; {MBARRIER}",
        (
            "cta 0: mbarrier.arrive.expect_tx b, 8; red.async.relaxed.cluster.inc.u32 s, 2, 4, b; "
            f"red.async.relaxed.cluster.dec.u32 u, 5, 4, b; {WAIT_RELAXED}; fence.acquire.cluster; "
            "ld r0, s; ld r1, u",
        ),
        "forall (P0:r0 == 0 /\\ P0:r1 == 5)",
        {"fence.acquire.cluster": ""},
    ),
    # Peers, elections, hints
    Case(
        "multimem accesses every peer",
        "x=0; y=0; f=0;",
        (
            "cta 0: multimem.st.weak {x, y}, 1; multimem.red.release.gpu.add {f}, 1",
            "cta 1: ld.acquire.gpu r0, f; multimem.ld_reduce.relaxed.gpu.add r1, {x, y}",
        ),
        "~exists (P1:r0 == 1 /\\ not (P1:r1 == 2))",
        {"multimem.red.release.gpu.add {f}, 1": "multimem.red.relaxed.gpu.add {f}, 1"},
    ),
    Case(
        "an elected lane and prefetches",
        "x=3;",
        (
            "cta 0: elect.sync r1, -1; beq r1, 0, out; prefetch.global.L2 [x]; "
            "cp.async.bulk.prefetch.L2.global [x], 16; ld r0, x; out:",
        ),
        "forall (P0:r0 == 3)",
        {"elect.sync r1, -1": ""},
    ),
)


@dataclass(frozen=True)
class Variant:
    """A case, weakened by what takes the place of ``old``, with what may come of it."""

    case: Case
    old: str
    test: PtxLitmusTest
    allowed: Outcomes

    @property
    def holds(self) -> bool:
        """Whether the condition holds whatever happens, and every thread ends."""
        ends = all(None not in state for state in self.allowed.states)
        return ends and self.test.condition.verdict(self.allowed)

    @property
    def has_labels(self) -> bool:
        """Whether it may have a loop, which the definition does not."""
        threads = self.test.program.threads
        return any(isinstance(e, Label) for thread in threads for e in thread.instructions)


@cache
def variants() -> tuple[Variant, ...]:
    """Every case as it is and with each weakening."""
    changes = ((case, o, n) for case in CASES for o, n in [("", ""), *case.weaker.items()])
    tests = ((case, old, case.test(old, new)) for case, old, new in changes)
    return tuple(Variant(c, old, test, outcomes(test.program)) for c, old, test in tests)


def test_each_case_is_ordered_and_not_without_what_orders_it() -> None:
    for each in variants():
        assert each.allowed.complete
        assert each.allowed.states
        assert parse_litmus(write_litmus(each.test)) == each.test
        assert each.holds is (not each.old), (each.case.name, each.old)
    assert len(variants()) > 140


def test_every_fence_is_missed() -> None:
    """But where nothing is behind it: no register is set before, no tile is written after."""
    missed = {
        (each.case.name, mutant.thread, mutant.position)
        for each in variants()
        if not each.old
        for mutant in mutants(each.test.program)
        if mutant.kind is MutationKind.DROP_FENCE
        and outcomes(mutant.program).states == each.allowed.states
    }
    assert missed == {
        ("wgmma has read its operands when it is waited for", 0, 0),
        ("tcgen05.st, then .mma, in two threads", 1, 5),
    }


EARLY = "P0 uses r1 by [add r0, r1, 0] at t.litmus:{}, before "
PRODUCT = "wgmma.fence; wgmma.mma_async r1, s, s, 0; wgmma.commit_group"
AT_THE_END = "P0 uses r1 as it is at the end, before "


@pytest.mark.parametrize(
    ("code", "errors"),
    [
        (f"{PRODUCT}; wgmma.wait_group 0; add r0, r1, 0", ()),
        (f"{PRODUCT}; add r0, r1, 0", (f"{EARLY.format(7)}wgmma.wait_group",)),
        (f"{PRODUCT}; add r0, r1, 0; wgmma.wait_group 0", (f"{EARLY.format(7)}wgmma.wait_group",)),
        (f"ld r2, y; beq r2, 0, E; {PRODUCT}; add r0, r1, 0; E:", ()),
        (f"{PRODUCT}; L:; ld r2, y; bne r2, 0, L", (f"{AT_THE_END}wgmma.wait_group",)),
        # PTX keeps the order of a register dependency on tcgen05.ld.
        ("tcgen05.ld r1, t; add r0, r1, 0", ()),
    ],
)
def test_a_register_that_was_not_waited_for_is_undefined(
    code: str, errors: tuple[str, ...]
) -> None:
    """In executions that the model allows; in both engines, and in random walks."""
    column = "".join(f" {each} ;\n" for each in ("P0@cta 0,gpu 0", *code.split("; ")))
    text = f"PTX t\n{{ t=3; t @ tmem; y=0; s=2; s @ cta 0,gpu 0; }}\n{column}exists (P0:r1 == 3)\n"
    test = PtxTest(parse_litmus(text, "t.litmus"), PtxModel())
    found = run(test).errors
    assert found == tuple(f"{each}: its value is undefined" for each in errors)
    assert run(test, Limits(walks=5)).errors == found
    graphs = PtxConstruction(test.test.program, PtxModel(), 1, WorkBudget())
    graphs.explore()
    observed = test.condition.formula.observables()
    assert early_uses(test.test.program, graphs.result(), observed)[1] == found


def test_execution_graphs_have_the_same_outcomes() -> None:
    for each in variants():
        assert can_be_built(each.test.program)
        graphs = PtxConstruction(each.test.program, PtxModel(), 1, WorkBudget())
        assert graphs.explore()
        found = graphs.result().project(each.allowed.observables)
        assert found == each.allowed, (each.case.name, each.old)


def test_witnesses_agree_with_verdicts() -> None:
    for each in variants()[::5]:
        deciding = each.test.condition.deciding
        witness = explain(each.test.program, deciding)
        states = each.allowed.as_mappings()
        decided = any(deciding.holds(s) for s in states if None not in s.values())
        assert (witness is not None and witness.allowed) is decided, (each.case.name, each.old)
        if witness is not None:
            assert witness_text(each.test, witness)
            assert ptx_graph(each.test, witness).events


def test_random_walks_find_outcomes_that_are_allowed() -> None:
    for each in variants()[::3]:
        found = sampled_outcomes(each.test.program, walks=6, seed=3)
        assert found.states <= each.allowed.project(found.observables).states, each.case.name


def test_a_copy_may_read_what_its_thread_writes_later() -> None:
    """As execution graphs have it too, which take reads in the order of the thread."""
    case = Case(
        "later", "x=0;", ("cta 0: cp.async s, x; st x, 1", "cta 0: ld r0, s"), "exists true"
    )
    program = case.test().program
    graphs = PtxConstruction(program, PtxModel(), 1, WorkBudget())
    assert graphs.explore()
    assert graphs.result() == definition.outcomes(program, Version.V7_5)
    assert any(state[Register(1, "r0")] == 1 for state in graphs.result().as_mappings())


# The engine and the definition

_POOL = (
    "ld r5, x; ld.acquire.gpu r5, x; st x, 8; st.release.cluster x, 8; fence.acq_rel.gpu; fence.sc.cluster; "
    "fence.proxy.async; fence.proxy.async.global; fence.proxy.async.shared::cta; bar.cta.sync 0; "
    "fence.release.sync_restrict::shared::cta.cluster; "
    "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster; "
    "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster; "
    "fence.proxy.tensormap::generic.release.gpu; fence.mbarrier_init.release.cluster; "
    "cp.async.bulk.bulk_group x, x; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; "
    "cp.async x, x; cp.async.wait_all; tcgen05.fence::before_thread_sync; "
    "tcgen05.fence::after_thread_sync; tcgen05.wait::ld; tcgen05.wait::st; wgmma.fence; "
    "st.async.release.gpu x, 6; barrier.cluster.arrive; barrier.cluster.wait"
).split("; ")


def near(case: Case, seed: int) -> PtxProgram | None:
    """A program like that of a case, with some instructions lost, moved or added, perhaps elsewhere.

    None if it would mean nothing.
    """
    choose = random.Random(seed)
    threads: list[str] = []
    for thread in case.threads:
        place, text = thread.split(": ", 1)
        code = text.split("; ")
        for _ in range(choose.choice((0, 1, 1, 2))):
            at = choose.randrange(len(code) + 1)
            match choose.randrange(3):
                case 0 if code[at : at + 1]:
                    del code[at]
                case 1 if code[at : at + 1]:
                    code.insert(choose.randrange(len(code)), code.pop(at))
                case _:
                    code.insert(at, choose.choice(_POOL))
        if choose.random() < 0.2:
            place = place.replace("cta 0", "cta 1")
        threads.append(f"{place}: {'; '.join(code)}")
    initial = case.initial if "x=" in case.initial else f"x=0; {case.initial}"
    try:
        program = (
            replace(case, threads=tuple(threads), initial=initial, condition="exists true")
            .test()
            .program
        )
        PtxCandidates(program, work=WorkBudget(1))
    except (LitmusError, ProgramError):
        return None
    labels = any(isinstance(e, Label) for t in program.threads for e in t.instructions)
    return None if labels else program


def same_as_defined(seeds: Iterable[int]) -> int:
    """Holds the engine to the definition on random programs; how many of those had a meaning."""
    compared = 0
    for seed in seeds:
        program = near(CASES[seed % len(CASES)], seed)
        if program is None:
            continue
        work = WorkBudget(20_000)
        reading = SyncRestrict.STRONGER if seed % 3 == 0 else SyncRestrict.WEAKER
        found = outcomes(program, PtxModel(sync_restrict=reading), work=work)
        if not found.complete:
            continue
        compared += 1
        assert found == definition.outcomes(program, Version.V7_5, reading), seed
    return compared


def test_outcomes_agree_with_the_definition() -> None:
    for each in variants():
        if not each.has_labels:
            found = definition.outcomes(each.test.program, Version.V7_5)
            assert each.allowed == found, (each.case.name, each.old)


def test_random_programs_agree_with_the_definition() -> None:
    assert same_as_defined(range(len(CASES))) > 40


@pytest.mark.parametrize("name", ["MP+sync_restrict.global-flag", "barrier.cluster.sync_restrict"])
def test_two_readings_of_sync_restrict(name: str) -> None:
    test = read_litmus(LITMUS / f"{name}.litmus")
    weaker, stronger = (MODELS[each] for each in ("7.5", "7.5-stronger"))
    assert test.condition.verdict(outcomes(test.program, weaker))
    assert not test.condition.verdict(outcomes(test.program, stronger))


def test_what_is_allowed_by_the_stronger_reading_is_by_the_weaker() -> None:
    paths = sorted(LITMUS.glob("*sync_restrict*.litmus"))
    assert len(paths) > 10
    for path in paths:
        program = read_litmus(path).program
        stronger = outcomes(program, MODELS["7.5-stronger"])
        assert stronger.states <= outcomes(program, MODELS["7.5"]).states


@pytest.mark.parametrize(
    ("initial", "code", "message"),
    [
        ("b = mbarrier(1);", "mbarrier.init b, 1", "b is initialised before the threads start"),
        ("t=0;", "tcgen05.ld r0, t", "thread 0 accesses t, which is not in tensor memory"),
        ("t=0; t @ tmem;", "ld r0, t", "thread 0 accesses t, which is in tensor memory"),
        ("t=0;", "tcgen05.commit t", "thread 0 uses t, which is not an mbarrier"),
    ],
)
def test_programs_that_mean_nothing_are_refused(initial: str, code: str, message: str) -> None:
    program = Case("bad", initial, (f"cta 0: {code}",), "exists true").test().program
    with pytest.raises(ProgramError, match=message):
        outcomes(program)


# An mbarrier by all the orders of its operations

Operation = tuple[str, int]
_OPERATIONS: tuple[Operation, ...] = (
    ("arrive", 1), ("arrive", 2), ("drop", 1), ("expect", 4), ("complete", 4),
    ("pass", 0), ("pass", 1), ("miss", 0), ("reach", 0), ("reach", 1), ("init", 2),
)  # fmt: skip


def event_of(thread: int, position: int, operation: Operation) -> PtxEvent:
    """An operation as ``meetings`` sees it."""
    word, number = operation
    place = Rendezvous("b", 0, 2, mbarrier=True)
    updates = {
        "arrive": Update(arrivals=number),
        "drop": Update(arrivals=number, dropped=number),
        "expect": Update(bytes=number),
        "complete": Update(bytes=-number),
        "init": Update(initialised=number),
    }
    if (update := updates.get(word)) is not None:
        arrives = word in ("arrive", "drop", "complete")
        kind = EventKind.ARRIVE if arrives else EventKind.COUNT
        return PtxEvent(kind, thread, position, rendezvous=place, update=update)
    by_parity, passes = word != "reach", word != "miss"
    return PtxEvent(
        EventKind.WAIT,
        thread,
        position,
        rendezvous=place,
        phase=number,
        by_parity=by_parity,
        passes=passes,
    )


def by_all_orders(operations: list[Operation], threads: list[int]) -> set[frozenset[Meeting]]:
    """What can meet, by counting along every order that keeps that of each thread."""
    found: set[frozenset[Meeting]] = set()
    numbers = range(len(operations))
    for order in permutations(numbers):
        if any(
            threads[a] == threads[b] and a > b for i, a in enumerate(order) for b in order[i + 1 :]
        ):
            continue
        phase = era = size = 0
        pending = expected = 2
        eras: dict[int, int] = {}
        for each in order:
            word, number = operations[each]
            eras[each] = era
            if word == "init":
                phase, pending, expected, size, era = 0, number, number, 0, era + 1
                continue
            if word in ("pass", "miss", "reach"):
                complete = phase > number if word == "reach" else phase % 2 != number
                if complete is (word == "miss"):
                    break
                continue
            pending -= number if word in ("arrive", "drop") else 0
            expected -= number if word == "drop" else 0
            size += {"expect": number, "complete": -number}.get(word, 0)
            if not pending and not size:
                phase, pending, era = phase + 1, expected, era + 1
        else:
            arrivals = [n for n in numbers if operations[n][0] in ("arrive", "drop", "complete")]
            waits = [n for n in numbers if operations[n][0] in ("pass", "reach")]
            found.add(
                frozenset(
                    Meeting(
                        tuple(n for n in arrivals if eras[n] == each),
                        tuple(n for n in waits if eras[n] > each),
                    )
                    for each in range(era)
                    if each in {eras[n] for n in arrivals}
                )
            )
    return found


def test_an_mbarrier_is_what_it_is_in_all_orders_of_its_operations() -> None:
    choose = random.Random(5)
    different = 0
    for _ in range(150):
        operations = [choose.choice(_OPERATIONS) for _ in range(choose.choice((3, 4, 5)))]
        threads = sorted(choose.randrange(3) for _ in operations)
        events = [event_of(t, n, operations[n]) for n, t in enumerate(threads)]
        order = [
            sum(1 << b for b, other in enumerate(threads) if other == t and b > a)
            for a, t in enumerate(threads)
        ]
        program = parse_litmus(
            "PTX t { b = mbarrier(2); }\nP0@cta 0,gpu 0 | P1@cta 0,gpu 0 | P2@cta 0,gpu 0 ;\n"
            " mov r0, 0 | | ;\nexists true"
        ).program
        found = {frozenset(met.meetings) for met in all_met(program, events, order, set())}
        assert found == by_all_orders(operations, threads), (operations, threads)
        different += len(found)
    assert different > 80
