"""insert-proxy-fences: every pattern with no more than it takes, and nothing that can go.

``SYNCHRONISATION`` is what hand-written PTX of each pattern has, which ptxas accepts: the names
of the instructions that synchronise. The programs are those in examples/async. Each inserted
operation is taken away again: the pass must notice, or the PTX model must show what happens.
"""

import io
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from ptxas import find_assemblers, knows
from test_ptx_assembly import complaints
from xdsl.context import Context
from xdsl.dialects import arith, builtin, cf, func, gpu, llvm, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.utils.exceptions import DiagnosticException

from fencewright.lowering.code.meetings import Barriers
from fencewright.lowering.ptx.chip import CHIPS, default_version
from fencewright.lowering.vocabulary import Ordering, RmwKind, Scope
from fencewright.mlir_dialects import scoped_async as ops
from fencewright.mlir_dialects.ptx import PTX
from fencewright.mlir_dialects.scoped import Scoped
from fencewright.passes.print.ptx import PTXTarget
from fencewright.passes.proxies.dataflow import Analysis
from fencewright.passes.proxies.insert_proxy_fences import InsertProxyFencesPass
from fencewright.passes.to_ptx.convert_scoped_to_ptx import ConvertScopedToPTXPass
from fencewright.simulator.core.condition import Memory, Observable, Register
from fencewright.simulator.core.program import Placement, Thread
from fencewright.simulator.ptx.events import (
    Atom,
    Bar,
    BarrierRole,
    ClusterBarrier,
    Ld,
    MbarrierArrive,
    MbarrierWait,
    ProxyFence,
    PtxFence,
    PtxInstruction,
    PtxProgram,
    PtxProxy,
    St,
)
from fencewright.simulator.ptx.instructions import AsyncCopy, CommitGroup, Restriction, WaitGroup
from fencewright.simulator.ptx.outcomes import outcomes

EXAMPLES = Path(__file__).parents[2] / "examples" / "async"

SYNCHRONISATION: dict[str, str] = {
    # As many barriers as by hand, one cheaper: a peer has to have started before it is written to
    # (CUDA Programming Guide, "Distributed Shared Memory"), which takes no release; at the end,
    # where hand-written PTX has its other one, every write to the work-group is done.
    "cluster_barrier_dsmem": """
        barrier.cluster.arrive.relaxed
        barrier.cluster.wait.acquire
        barrier.cluster.arrive.release
        barrier.cluster.wait.acquire
    """,
    # The hand-over by hand has the first eight. The rest makes a kernel of it that ends: an mbarrier
    # of its own for the bytes, which are expected and waited for, and a barrier that keeps the
    # source of the copy there.
    "cluster_core_to_peer_async": """
        mbarrier.init.shared::cta.b64
        fence.mbarrier_init.release.cluster
        barrier.cluster.arrive.relaxed
        barrier.cluster.wait.acquire
        fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster
        mbarrier.arrive.relaxed.cluster.shared::cluster.b64
        mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64
        fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster
        mbarrier.init.shared::cta.b64
        mbarrier.arrive.expect_tx.release.cta.shared::cta.b64
        mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64
        barrier.cluster.arrive.relaxed
        barrier.cluster.wait.acquire
    """,
    "cluster_dsmem_bulk": """
        mbarrier.init.shared::cta.b64
        fence.mbarrier_init.release.cluster
        barrier.cluster.arrive.relaxed
        barrier.cluster.wait.acquire
        fence.proxy.async.shared::cta
        bar.sync
        mbarrier.arrive.expect_tx.release.cta.shared::cta.b64
        mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64
    """,
    "cluster_init": """
        mbarrier.init.shared::cta.b64
        fence.mbarrier_init.release.cluster
        barrier.cluster.arrive.relaxed
        barrier.cluster.wait.acquire
    """,
    "cluster_pull_sync_restrict": """
        mbarrier.init.shared::cta.b64
        fence.mbarrier_init.release.cluster
        barrier.cluster.arrive.relaxed
        barrier.cluster.wait.acquire
        fence.release.sync_restrict::shared::cta.cluster
        mbarrier.arrive.relaxed.cluster.shared::cluster.b64
        mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64
        fence.acquire.sync_restrict::shared::cluster.cluster
    """,
    "cluster_remote_arrive": """
        mbarrier.init.shared::cta.b64
        fence.mbarrier_init.release.cluster
        barrier.cluster.arrive.relaxed
        barrier.cluster.wait.acquire
        mbarrier.arrive.release.cluster.shared::cluster.b64
        mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64
    """,
    "cluster_st_async": """
        mbarrier.init.shared::cta.b64
        fence.mbarrier_init.release.cluster
        barrier.cluster.arrive.relaxed
        barrier.cluster.wait.acquire
        mbarrier.arrive.expect_tx.release.cta.shared::cta.b64
        mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64
    """,
    "core_smem_to_tcgen05": """
        mbarrier.init.shared::cta.b64
        fence.mbarrier_init.release.cluster
        bar.sync
        fence.proxy.async.shared::cta
        mbarrier.arrive.release.cta.shared::cta.b64
        mbarrier.try_wait.parity.acquire.cta.shared::cta.b64
        tcgen05.fence::after_thread_sync
        tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64
    """,
    "core_tmem_to_tcgen05": """
        mbarrier.init.shared::cta.b64
        fence.mbarrier_init.release.cluster
        bar.sync
        tcgen05.wait::st.sync.aligned
        tcgen05.fence::before_thread_sync
        mbarrier.arrive.relaxed.cluster.shared::cta.b64
        mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64
        tcgen05.fence::after_thread_sync
        tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64
    """,
    "core_to_tma_store": """
        fence.proxy.async.shared::cta
        bar.sync
        cp.async.bulk.commit_group
        cp.async.bulk.wait_group.read
        bar.sync
    """,
    "core_to_wgmma_smem": """
        fence.proxy.async.shared::cta
        bar.sync
        wgmma.fence.sync.aligned
        wgmma.commit_group.sync.aligned
        wgmma.wait_group.sync.aligned
    """,
    "cp_async_ampere": """
        cp.async.commit_group
        cp.async.wait_group
        bar.sync
    """,
    "mbarrier_core_to_core_sm80": """
        mbarrier.init.shared.b64
        bar.sync
        mbarrier.arrive.shared.b64
        mbarrier.test_wait.shared.b64
    """,
    "other_cta_generic_to_tma_load": """
        mbarrier.init.shared::cta.b64
        fence.mbarrier_init.release.cluster
        bar.sync
        ld.acquire.gpu.global.b32
        fence.proxy.async.global
        mbarrier.arrive.expect_tx.release.cta.shared::cta.b64
        mbarrier.try_wait.parity.acquire.cta.shared::cta.b64
    """,
    # By hand there is no tcgen05.fence, which is no instruction: without one nothing orders what is
    # issued after the barrier behind it (PTX ISA, tcgen05.fence; the PTX model shows it).
    "tcgen05_cp_to_mma": """
        fence.proxy.async.shared::cta
        bar.sync
        tcgen05.fence::after_thread_sync
    """,
    "tcgen05_to_core": """
        mbarrier.init.shared::cta.b64
        fence.mbarrier_init.release.cluster
        bar.sync
        tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64
        mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64
        tcgen05.fence::after_thread_sync
        tcgen05.wait::ld.sync.aligned
    """,
    "tensormap_update": """
        mbarrier.init.shared::cta.b64
        fence.mbarrier_init.release.cluster
        bar.sync
        bar.warp.sync
        tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned
        fence.proxy.tensormap::generic.acquire.gpu
        mbarrier.arrive.expect_tx.release.cta.shared::cta.b64
        mbarrier.try_wait.parity.acquire.cta.shared::cta.b64
    """,
    "tma_store_to_other_cta_generic": """
        cp.async.bulk.commit_group
        cp.async.bulk.wait_group
        red.release.gpu.global.add.u32
        ld.acquire.gpu.global.b32
    """,
    "tma_to_core": """
        mbarrier.init.shared::cta.b64
        fence.mbarrier_init.release.cluster
        bar.sync
        mbarrier.arrive.expect_tx.release.cta.shared::cta.b64
        mbarrier.try_wait.parity.acquire.cta.shared::cta.b64
    """,
    "tma_to_tcgen05": """
        mbarrier.init.shared::cta.b64
        fence.mbarrier_init.release.cluster
        bar.sync
        mbarrier.arrive.expect_tx.release.cta.shared::cta.b64
        mbarrier.try_wait.parity.acquire.cta.shared::cta.b64
        tcgen05.fence::after_thread_sync
        tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64
    """,
    "tma_to_wgmma": """
        mbarrier.init.shared::cta.b64
        fence.mbarrier_init.release.cluster
        bar.sync
        mbarrier.arrive.expect_tx.release.cta.shared::cta.b64
        mbarrier.try_wait.parity.acquire.cta.shared::cta.b64
        wgmma.fence.sync.aligned
        wgmma.commit_group.sync.aligned
        wgmma.wait_group.sync.aligned
    """,
    "tmem_war_core_to_tcgen05": """
        mbarrier.init.shared::cta.b64
        fence.mbarrier_init.release.cluster
        bar.sync
        tcgen05.wait::ld.sync.aligned
        tcgen05.fence::before_thread_sync
        mbarrier.arrive.relaxed.cluster.shared::cta.b64
        mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64
        tcgen05.fence::after_thread_sync
    """,
}

SAME = ((r"^bar(rier)?\.sync(\.aligned)?", "barrier.sync"), (r"^red\.", "atom."))
"""Other names of the same: barriers of a converged warp, a read-modify-write of an unused result."""

SYNCHRONISES = re.compile(
    r"""(?:@!?\S+\s+)?((?:fence|bar|barrier|mbarrier|wgmma\.(?:fence|commit|wait)
    |tcgen05\.(?:fence|commit|wait)|tensormap\.cp_fenceproxy
    |cp\.async\.(?:bulk\.)?(?:commit|wait))[\w.:]*
    |ld\.acquire[\w.]*|(?:red|atom)\.release[\w.]*)""",
    re.VERBOSE,
)


def context() -> Context:
    ctx = Context()
    for dialect in (
        builtin.Builtin, func.Func, arith.Arith, cf.Cf, gpu.GPU, llvm.LLVM, scf.Scf, Scoped, PTX,
    ):  # fmt: skip
        ctx.load_dialect(dialect)
    return ctx


def parse(text: str) -> ModuleOp:
    module = Parser(context(), text).parse_module()
    module.verify()
    return module


def example(name: str) -> ModuleOp:
    return parse((EXAMPLES / f"{name}.mlir").read_text(encoding="utf-8"))


def options(name: str) -> tuple[str, str | None]:
    """The chip and PTX version that the example's first lines name."""
    text = (EXAMPLES / f"{name}.mlir").read_text(encoding="utf-8")
    chip = re.search(r"--mcpu (\S+)", text)
    version = re.search(r"--ptx-version (\S+)", text)
    assert chip is not None
    return chip[1], version and version[1]


def inserted(module: ModuleOp) -> ModuleOp:
    InsertProxyFencesPass().apply(context(), module)
    module.verify()
    return module


def ptx_of(module: ModuleOp, chip: str, version: str | None = None) -> str:
    ctx = context()
    ConvertScopedToPTXPass(mcpu=chip, ptx_version=version).apply(ctx, module)
    output = io.StringIO()
    PTXTarget().emit(ctx, module, output)
    return output.getvalue()


def synchronisation(ptx: str) -> list[str]:
    found = (SYNCHRONISES.match(line.strip()) for line in ptx.splitlines())
    return [same_name(match[1]) for match in found if match is not None]


def same_name(instruction: str) -> str:
    for pattern, name in SAME:
        instruction = re.sub(pattern, name, instruction)
    return instruction


def function_of(module: ModuleOp) -> func.FuncOp:
    return next(op for op in module.walk() if isinstance(op, func.FuncOp))


# The patterns


def test_there_is_a_program_for_every_pattern() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.mlir")} == SYNCHRONISATION.keys()


@pytest.mark.parametrize("name", SYNCHRONISATION)
def test_a_pattern_has_exactly_the_synchronisation_it_takes(name: str) -> None:
    emitted = synchronisation(ptx_of(inserted(example(name)), *options(name)))
    expected = [same_name(each) for each in SYNCHRONISATION[name].split()]
    assert Counter(emitted) == Counter(expected)


@pytest.mark.parametrize("name", SYNCHRONISATION)
def test_without_the_pass_a_pattern_has_less_or_as_much(name: str) -> None:
    emitted = Counter(synchronisation(ptx_of(example(name), *options(name))))
    with_pass = Counter(synchronisation(ptx_of(inserted(example(name)), *options(name))))
    assert emitted.total() <= with_pass.total()


@pytest.mark.parametrize("name", SYNCHRONISATION)
def test_the_pass_leaves_nothing_to_do(name: str) -> None:
    module = inserted(example(name))
    before = str(module)
    assert Analysis(function_of(module), True).solve() == []
    assert str(inserted(module)) == before


@pytest.mark.skipif(not find_assemblers(), reason="needs ptxas (make oracles)")
@pytest.mark.parametrize("name", SYNCHRONISATION)
def test_ptxas_accepts_a_pattern(name: str, tmp_path: Path) -> None:
    chip, version = options(name)
    row = next(each for each in CHIPS if each.name == chip)
    if not any(knows(each, chip, default_version(row)) for each in find_assemblers()):
        pytest.skip(f"needs a ptxas that knows {chip}")
    assert complaints(tmp_path, ptx_of(inserted(example(name)), chip, version), chip) == []


# Taking away what was inserted

SYNCHRONISING = (ops.AsyncFence, ops.CommitOperation, ops.WaitGroupOperation)


def is_generic_cluster_fence(op: Operation) -> bool:
    """What orders within one proxy stands for the program's own ordering: see the model below."""
    return isinstance(op, ops.ClusterFenceOp) and op.proxy.data is ops.Proxy.GENERIC


def removals() -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    for name in SYNCHRONISATION:
        module = inserted(example(name))
        found += [
            (name, number)
            for number, op in enumerate(module.walk())
            if isinstance(op, SYNCHRONISING) and not is_generic_cluster_fence(op)
        ]
    return found


REMOVALS = removals()


def test_there_is_something_to_take_away() -> None:
    kinds = {type(list(inserted(example(n)).walk())[i]) for n, i in REMOVALS}
    assert kinds >= {
        ops.ProxyFenceOp, ops.MbarrierInitFenceOp, ops.Tcgen05FenceOp, ops.Tcgen05WaitOp,
        ops.WgmmaFenceOp, ops.TensormapFenceOp, ops.ClusterFenceOp, ops.BulkWaitGroupOp,
        ops.AsyncWaitGroupOp, ops.WgmmaWaitGroupOp,
    }  # fmt: skip


@pytest.mark.parametrize(("name", "number"), REMOVALS)
def test_whatever_was_inserted_is_missed(name: str, number: int) -> None:
    module = inserted(example(name))
    op = list(module.walk())[number]
    if isinstance(op, ops.CommitOperation):
        # Without its commit a wait waits for nothing.
        following = op.next_op
        assert isinstance(following, ops.WaitGroupOperation)
        following.detach()
        following.erase()
    op.detach()
    op.erase()
    assert Analysis(function_of(module), True).solve() != []


# The same in the PTX model: a step is the name of the instruction that can be left out

Code = tuple[PtxInstruction | tuple[str, PtxInstruction], ...]
_CTA0, _CTA0B, _CTA1 = (Placement(cta, cluster=0) for cta in (0, 0, 1))
_ASYNC = ProxyFence(PtxProxy.ASYNC)
_BAR = Bar(BarrierRole.SYNC, 0)
_CLUSTER, _AGENT = Scope.CLUSTER, Scope.AGENT
_RELAXED, _ACQUIRE, _RELEASE = Ordering.RELAXED, Ordering.ACQUIRE, Ordering.RELEASE
_LOCAL_FENCE = "fence.proxy.async.shared::cta"
_GLOBAL_FENCE = "fence.proxy.async.global"


def generic_to_async(*release: PtxInstruction | tuple[str, PtxInstruction]) -> Code:
    return (St("tile", 1), (_LOCAL_FENCE, _ASYNC), *release)


MODELS: dict[str, tuple[tuple[Placement, Code], ...]] = {
    "core_to_tma_store": (
        (_CTA0, (*generic_to_async(_BAR, Bar(BarrierRole.SYNC, 1)), St("tile", 2))),
        (
            _CTA0,
            (
                _BAR,
                AsyncCopy("result", "tile"),
                CommitGroup(),
                ("cp.async.bulk.wait_group.read", WaitGroup(reads_only=True)),
                Bar(BarrierRole.SYNC, 1),
            ),
        ),
    ),
    "tma_store_to_other_cta_generic": (
        (
            _CTA0,
            (
                AsyncCopy("data", None, 1),
                CommitGroup(),
                ("cp.async.bulk.wait_group", WaitGroup(reads_only=False)),
                Atom(None, "flag", RmwKind.ADD, 1, ordering=_RELEASE, scope=_AGENT),
            ),
        ),
        (_CTA1, (Ld("flag", "flag", _ACQUIRE, _AGENT), Ld("result", "data"))),
    ),
    "other_cta_generic_to_tma_load": (
        (_CTA1, (St("data", 1), St("flag", 1, _RELEASE, _AGENT))),
        (
            _CTA0,
            (
                Ld("flag", "flag", _ACQUIRE, _AGENT),
                (_GLOBAL_FENCE, _ASYNC),
                MbarrierArrive("full", expect_tx=1),
                AsyncCopy("tile", "data", mbarrier="full"),
                MbarrierWait("full"),
                Ld("result", "tile"),
            ),
        ),
    ),
    "core_smem_to_tcgen05": (
        (_CTA0, generic_to_async(MbarrierArrive("full"))),
        (_CTA0, (MbarrierWait("full"), Ld("result", "tile", proxy=PtxProxy.ASYNC))),
    ),
    "core_to_wgmma_smem": (
        (_CTA0, generic_to_async(_BAR)),
        (_CTA0, (_BAR, Ld("result", "tile", proxy=PtxProxy.ASYNC))),
    ),
    "cluster_dsmem_bulk": (
        (_CTA0, generic_to_async(_BAR)),
        (_CTA0, (_BAR, AsyncCopy("peer", "tile", mbarrier="full"))),
        (
            _CTA1,
            (
                MbarrierArrive("full", expect_tx=1),
                MbarrierWait("full", ordering=_ACQUIRE, scope=_CLUSTER),
                Ld("result", "peer"),
            ),
        ),
    ),
    "cluster_pull_sync_restrict": (
        (
            _CTA0,
            (
                St("tile", 1),
                (
                    "fence.release.sync_restrict::shared::cta.cluster",
                    PtxFence(_RELEASE, _CLUSTER, Restriction.OWN),
                ),
                MbarrierArrive("full", _RELAXED, _CLUSTER),
            ),
        ),
        (
            _CTA1,
            (
                MbarrierWait("full", 0, _RELAXED, _CLUSTER),
                (
                    "fence.acquire.sync_restrict::shared::cluster.cluster",
                    PtxFence(_ACQUIRE, _CLUSTER, Restriction.CLUSTER),
                ),
                Ld("result", "tile"),
            ),
        ),
    ),
    "tma_to_core": (
        (
            _CTA0,
            (MbarrierArrive("full", expect_tx=1), AsyncCopy("tile", None, 1, mbarrier="full")),
        ),
        (_CTA0, (MbarrierWait("full"), Ld("result", "tile"))),
    ),
}


def results(name: str, dropped: str | None) -> set[int | None]:
    return results_of(MODELS[name], dropped)


def results_of(model: Iterable[tuple[Placement, Code]], dropped: str | None) -> set[int | None]:
    """What a consumer that was signalled can see: registers, or memory, called ``result``."""
    threads = tuple(
        Thread(
            placement,
            tuple(
                each[1] if isinstance(each, tuple) else each
                for each in code
                if not isinstance(each, tuple) or each[0] != dropped
            ),
        )
        for placement, code in model
    )
    found = outcomes(PtxProgram((), threads, mbarriers={"full": 1}, shared={"tile": _CTA0}))
    return {
        value
        for state in found.as_mappings()
        for observable, value in state.items()
        if named(observable) == "result" and flag_of(state) == 1
    }


def named(observable: Observable) -> str:
    match observable:
        case Register(name=name):
            return name
        case Memory(location=location):
            return location


def flag_of(state: Mapping[Observable, int | None]) -> int | None:
    """What the consumer read of the flag; 1 where there is none."""
    return next(
        (
            value
            for observable, value in state.items()
            if isinstance(observable, Register) and observable.name == "flag"
        ),
        1,
    )


STEPS = [
    (name, each[0])
    for name, threads in MODELS.items()
    for _, code in threads
    for each in code
    if isinstance(each, tuple)
]


@pytest.mark.parametrize("name", MODELS)
def test_the_model_allows_only_what_is_meant(name: str) -> None:
    assert results(name, None) == {1}


@pytest.mark.parametrize(("name", "step"), STEPS)
def test_the_model_shows_what_happens_without_a_step(name: str, step: str) -> None:
    assert step in SYNCHRONISATION[name].split()
    assert results(name, step) > {1}


def test_waiting_for_the_source_only_does_not_release_what_was_copied() -> None:
    name = "tma_store_to_other_cta_generic"
    producer, consumer = MODELS[name]
    weaker = tuple(
        WaitGroup(reads_only=True) if isinstance(each, tuple) else each for each in producer[1]
    )
    assert results_of(((producer[0], weaker), consumer), None) > {1}


# The rule, case by case

HEAD = """
llvm.mlir.global internal @tile() {addr_space = 3 : i32} : !llvm.array<1024 x i8>
llvm.mlir.global internal @other() {addr_space = 3 : i32} : !llvm.array<1024 x i8>
llvm.mlir.global internal @full() {addr_space = 3 : i32} : !llvm.array<1 x i64>
llvm.mlir.global internal @empty() {addr_space = 3 : i32} : !llvm.array<1 x i64>
func.func @kernel(%data: !llvm.ptr<1>, %out: !llvm.ptr<1>, %any: !llvm.ptr, %map: !llvm.ptr,
    %tmem: !llvm.ptr<6>, %v: i32, %n: i32, %d: i64, %p: i1) attributes {gpu.kernel} {
  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
  %other = llvm.mlir.addressof @other : !llvm.ptr<3>
  %full = llvm.mlir.addressof @full : !llvm.ptr<3>
  %empty = llvm.mlir.addressof @empty : !llvm.ptr<3>
"""
STORE = "scoped.store weak %v, %tile : i32, !llvm.ptr<3>"
BARRIER = "scoped.barrier workgroup"
TMA_STORE = "scoped.bulk_copy %out, %tile size 128 : !llvm.ptr<1>, !llvm.ptr<3>"
TMA_LOAD = """scoped.bulk_copy %tile, %data size 128 mbarrier %full
    : !llvm.ptr<3>, !llvm.ptr<1>, !llvm.ptr<3>"""
WAIT = "scoped.mbarrier_wait acquire workgroup %full, %n : !llvm.ptr<3>, i32"
ARRIVE = "scoped.mbarrier_arrive release workgroup %full : !llvm.ptr<3>"
MMA = 'scoped.tcgen05_mma "f16" %tmem, %d, %d, %n, %p : !llvm.ptr<6>'
FENCE = "scoped.proxy_fence"


def kernel(*lines: str) -> ModuleOp:
    return parse(HEAD + "\n".join(lines) + "\nfunc.return\n}\n")


def added(*lines: str, fence_reads: bool = True) -> list[str]:
    """What is inserted, as written, and the operations that it stands before."""
    module = kernel(*lines)
    before = set(module.walk())
    InsertProxyFencesPass(fence_reads=fence_reads).apply(context(), module)
    module.verify()
    return [
        f"{str(op).removeprefix('scoped.')} < {following(op, before)}"
        for op in module.walk()
        if op not in before
    ]


def following(op: Operation, before: set[Operation]) -> str:
    current = op.next_op
    while current is not None and current not in before:
        current = current.next_op
    assert current is not None
    return current.name


LOCAL = "proxy_fence async spaces [local]"
GLOBAL = "proxy_fence async spaces [global]"
READ_WAIT = ["bulk_commit_group < func.return", "bulk_wait_group read 0 < func.return"]


def test_a_writer_fences_before_it_releases() -> None:
    assert added(STORE, BARRIER, TMA_STORE) == [f"{LOCAL} < scoped.barrier", *READ_WAIT]


def test_one_thread_fences_between_its_own_accesses() -> None:
    assert added(STORE, TMA_STORE) == [f"{LOCAL} < scoped.bulk_copy", *READ_WAIT]


def test_a_fence_that_is_there_is_not_repeated() -> None:
    written = added(STORE, "scoped.proxy_fence async", BARRIER, TMA_STORE)
    assert written == READ_WAIT


def test_a_fence_of_another_address_space_does_not_help() -> None:
    written = added(STORE, "scoped.proxy_fence async spaces [global]", BARRIER, TMA_STORE)
    assert f"{LOCAL} < scoped.barrier" in written


def test_what_no_async_access_follows_takes_no_fence() -> None:
    assert (
        added(TMA_LOAD, WAIT, BARRIER, STORE, BARRIER, "scoped.mbarrier_inval %full : !llvm.ptr<3>")
        == []
    )


def test_other_memory_takes_no_fence() -> None:
    other = "scoped.store weak %v, %other : i32, !llvm.ptr<3>"
    assert added(other, BARRIER, TMA_STORE) == READ_WAIT
    elsewhere = "scoped.store weak %v, %data : i32, !llvm.ptr<1>"
    assert (
        added(
            elsewhere, BARRIER, "scoped.bulk_copy %out, %tile size 16 : !llvm.ptr<1>, !llvm.ptr<3>"
        )
        != READ_WAIT
    )


def test_bytes_beside_the_copied_ones_take_no_fence() -> None:
    def beside(offset: int) -> list[str]:
        return added(
            f"%q = llvm.getelementptr %tile[{offset}] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8",
            "scoped.store weak %v, %q : i32, !llvm.ptr<3>",
            BARRIER,
            TMA_STORE,
        )

    assert beside(128) == READ_WAIT
    assert f"{LOCAL} < scoped.barrier" in beside(124)


def test_an_unknown_offset_or_pointer_may_be_anywhere() -> None:
    unknown = "%q = llvm.getelementptr %tile[%n] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8"
    store = "scoped.store weak %v, %q : i32, !llvm.ptr<3>"
    assert f"{LOCAL} < scoped.barrier" in added(unknown, store, BARRIER, TMA_STORE)
    generic = "scoped.store weak %v, %any : i32, !llvm.ptr"
    assert added(generic, BARRIER, TMA_STORE)[:2] == [
        f"{GLOBAL} < scoped.barrier",
        f"{LOCAL} < scoped.barrier",
    ]


def test_only_the_thread_that_wrote_fences() -> None:
    branch = ("cf.cond_br %p, ^write, ^join", "^write:", STORE, "cf.br ^join", "^join:")
    assert added(*branch, BARRIER, TMA_STORE)[0] == f"{LOCAL} < cf.br"


def test_every_way_that_wrote_fences() -> None:
    branch = (
        "cf.cond_br %p, ^a, ^b", "^a:", STORE, "cf.br ^join", "^b:", STORE, "cf.br ^join", "^join:",
    )  # fmt: skip
    assert added(*branch, BARRIER, TMA_STORE)[0] == f"{LOCAL} < scoped.barrier"


def test_another_branch_that_waits_is_found_through_the_mbarrier() -> None:
    specialised = (
        "cf.cond_br %p, ^producer, ^consumer",
        "^producer:", STORE, ARRIVE, "cf.br ^end",
        "^consumer:", WAIT, TMA_STORE, "cf.br ^end",
        "^end:",
    )  # fmt: skip
    assert f"{LOCAL} < scoped.mbarrier_arrive" in added(*specialised)


def test_another_mbarrier_releases_to_nobody() -> None:
    specialised = (
        "cf.cond_br %p, ^producer, ^consumer",
        "^producer:", STORE, "scoped.mbarrier_arrive release workgroup %empty : !llvm.ptr<3>",
        "cf.br ^end",
        "^consumer:", WAIT, TMA_STORE, "cf.br ^end",
        "^end:",
    )  # fmt: skip
    assert not any(LOCAL in each for each in added(*specialised))


def test_a_loop_fences_what_the_next_round_copies() -> None:
    loop = (
        "cf.br ^loop", "^loop:", BARRIER, TMA_LOAD, WAIT, STORE, "cf.cond_br %p, ^loop, ^end",
        "^end:",
    )  # fmt: skip
    assert added(*loop) == [f"{LOCAL} < scoped.barrier"]


def test_reads_are_fenced_from_async_writes_unless_told_otherwise() -> None:
    loop = (
        "cf.br ^loop", "^loop:", TMA_LOAD, WAIT,
        "%r = scoped.load weak %tile : !llvm.ptr<3> -> i32",
        BARRIER, "cf.cond_br %p, ^loop, ^end", "^end:",
    )  # fmt: skip
    assert added(*loop) == [f"{LOCAL} < scoped.barrier"]
    assert added(*loop, fence_reads=False) == []


def test_a_release_write_is_fenced_by_who_sees_it() -> None:
    """No fence of the releasing thread can come between its write and who acquires from it."""
    signal = "scoped.store release workgroup %v, %tile : i32, !llvm.ptr<3>"
    look = "%f = scoped.load acquire workgroup %tile : !llvm.ptr<3> -> i32"
    roles = ("cf.cond_br %p, ^a, ^b", "^a:", signal, "cf.br ^end", "^b:", look, TMA_STORE,
             "cf.br ^end", "^end:")  # fmt: skip
    assert added(*roles)[0] == f"{LOCAL} < scoped.bulk_copy"


def test_what_an_operation_acquires_it_hands_on() -> None:
    look = "%f = scoped.load acquire workgroup %out : !llvm.ptr<1> -> i32"
    both = producer_and_consumer(("scoped.fence acq_rel agent",), (look, TMA_LOAD))
    assert added(*both) == [f"{GLOBAL} < scoped.bulk_copy"]


@pytest.mark.parametrize("ordering", ["relaxed", "release"])
def test_a_compare_exchange_that_acquires_where_it_fails_acquires(ordering: str) -> None:
    def spin(failure: str, scope: str) -> tuple[str, ...]:
        swap = f"scoped.cmpxchg {ordering} {failure} {scope} %any, %v, %n : !llvm.ptr, i32"
        return "cf.br ^spin", "^spin:", f"%o, %k = {swap}", "cf.cond_br %k, ^spin, ^go", "^go:"

    world = f"{GLOBAL} < scoped.bulk_copy"
    assert world in added(*spin("acquire", "agent"), TMA_LOAD)
    assert world in added(*spin("seq_cst", "system"), TMA_LOAD)
    signal = "scoped.store release workgroup %v, %other : i32, !llvm.ptr<3>"
    roles = ("cf.cond_br %p, ^write, ^read", "^write:", STORE, signal, "cf.br ^end", "^read:",
             *spin("acquire", "workgroup"), TMA_STORE, "cf.br ^end", "^end:")  # fmt: skip
    assert f"{LOCAL} < scoped.store" in added(*roles)


COPY = "scoped.async_copy %tile, %data size 16 : !llvm.ptr<3>, !llvm.ptr<1>"
TRACK = "scoped.async_arrive noinc %full : !llvm.ptr<3>"
COPIED = ("scoped.async_commit_group", "scoped.async_wait_group 0")
LOAD = "%r = scoped.load weak %tile : !llvm.ptr<3> -> i32"


def producer_and_consumer(produce: tuple[str, ...], consume: tuple[str, ...]) -> tuple[str, ...]:
    return ("cf.cond_br %p, ^write, ^read", "^write:", *produce, "cf.br ^end", "^read:", *consume,
            "cf.br ^end", "^end:")  # fmt: skip


def test_the_waiter_fences_copies_that_an_mbarrier_tracks() -> None:
    inserted = added(*producer_and_consumer((COPY, TRACK), (WAIT, TMA_STORE)))
    fences = [each for each in inserted if each.startswith("proxy_fence")]
    assert f"{LOCAL} < scoped.bulk_copy" in fences
    assert not any("async_arrive" in each for each in fences)
    elsewhere = WAIT.replace("%full", "%empty")
    assert f"{LOCAL} < scoped.bulk_copy" not in added(
        *producer_and_consumer((COPY, TRACK), (elsewhere, TMA_STORE))
    )


def test_copies_that_an_mbarrier_tracks_are_not_waited_for_as_a_group_too() -> None:
    assert added(COPY, TRACK, WAIT, LOAD) == []
    waits = [f"{each.removeprefix('scoped.')} < scoped.load" for each in COPIED]
    assert added(COPY, LOAD) == waits
    assert added(COPY, TRACK, COPY, LOAD) == waits


def test_a_fence_orders_only_copies_that_are_done() -> None:
    early = (COPY, "scoped.proxy_fence async", *COPIED, BARRIER, TMA_STORE)
    assert f"{LOCAL} < scoped.barrier" in added(*early)
    late = (COPY, *COPIED, "scoped.proxy_fence async", BARRIER, TMA_STORE)
    assert added(*late) == READ_WAIT


def test_a_wait_that_leaves_groups_pending_leaves_the_latest() -> None:
    commit, other = "scoped.async_commit_group", COPY.replace("%tile", "%other")
    wait = "scoped.async_wait_group 1"
    assert f"{LOCAL} < scoped.barrier" in added(
        COPY, commit, other, commit, wait, BARRIER, TMA_STORE
    )
    assert f"{LOCAL} < scoped.barrier" not in added(
        other, commit, COPY, commit, wait, BARRIER, TMA_STORE
    )


PEER_FULL = "%peer_full = scoped.map_shared %full, %n : !llvm.ptr<3> -> !llvm.ptr<7>"
PUSH_ASYNC = "scoped.store_async %v, %peer mbarrier %peer_full : i32, !llvm.ptr<7>, !llvm.ptr<7>"
WAIT_CLUSTER = "scoped.mbarrier_wait acquire cluster %full, %n : !llvm.ptr<3>, i32"


def test_st_async_is_of_the_generic_proxy() -> None:
    pushed = (PEER, PEER_FULL, PUSH_ASYNC, WAIT_CLUSTER)
    assert CLUSTER in added(*pushed, TMA_STORE)
    read_first = (PEER, PEER_FULL, LOAD, *PHASE, PUSH_ASYNC, WAIT_CLUSTER)
    assert "scoped.store_async" not in " ".join(added(*read_first))


def test_a_generic_address_takes_each_fence_once() -> None:
    generic = "scoped.store weak %v, %any : i32, !llvm.ptr"
    assert added(generic, BARRIER, TMA_STORE) == [
        f"{GLOBAL} < scoped.barrier", f"{LOCAL} < scoped.barrier", *READ_WAIT
    ]  # fmt: skip


def test_what_other_kernels_wrote_is_fenced_in_every_group_that_learns_of_it() -> None:
    acquire = "%f = scoped.load acquire agent %out : !llvm.ptr<1> -> i32"
    fence = "scoped.proxy_fence async"
    assert f"{GLOBAL} < scoped.bulk_copy" in added(acquire, fence, *PHASE, TMA_LOAD)


@pytest.mark.parametrize("scope", ["agent", "system"])
def test_after_an_acquire_the_consumer_fences(scope: str) -> None:
    acquire = f"%f = scoped.load acquire {scope} %out : !llvm.ptr<1> -> i32"
    assert added(acquire, TMA_LOAD) == [f"{GLOBAL} < scoped.bulk_copy"]
    assert added(f"scoped.fence acquire {scope}", TMA_LOAD) == [f"{GLOBAL} < scoped.bulk_copy"]


def test_a_relaxed_load_acquires_nothing() -> None:
    assert added("%f = scoped.load relaxed agent %out : !llvm.ptr<1> -> i32", TMA_LOAD) == []


def test_across_the_cluster_the_fence_is_the_consumers() -> None:
    peer = "%peer = scoped.map_shared %tile, %n : !llvm.ptr<3> -> !llvm.ptr<7>"
    push = "scoped.store weak %v, %peer : i32, !llvm.ptr<7>"
    sync = ("scoped.cluster_arrive release", "scoped.cluster_wait")
    assert added(peer, push, *sync, TMA_STORE)[0] == (
        "proxy_fence async spaces [shared_cluster] < scoped.bulk_copy"
    )


PEER = "%peer = scoped.map_shared %tile, %n : !llvm.ptr<3> -> !llvm.ptr<7>"
PUSH = "scoped.store weak %v, %peer : i32, !llvm.ptr<7>"
PHASE = ("scoped.cluster_arrive release", "scoped.cluster_wait")
CLUSTER = "proxy_fence async spaces [shared_cluster] < scoped.bulk_copy"


def test_an_arrival_is_for_the_waits_of_its_phase() -> None:
    assert added(PEER, *PHASE, TMA_LOAD, WAIT, PUSH, *PHASE) == []
    assert added(PEER, *PHASE, PUSH, *PHASE, TMA_LOAD, WAIT) == [CLUSTER]
    # Two phases on, it is the same barrier in the same half.
    assert added(PEER, *PHASE, TMA_LOAD, WAIT, *PHASE, PUSH, *PHASE) == []


def test_the_phases_of_a_loop_do_not_mix() -> None:
    def loop(*body: str) -> tuple[str, ...]:
        return "cf.br ^loop", "^loop:", *body, "cf.cond_br %p, ^loop, ^end", "^end:"

    assert added(PEER, *PHASE, TMA_LOAD, WAIT, *loop(PUSH, *PHASE)) == []
    assert added(PEER, *loop(PUSH, *PHASE), TMA_LOAD, WAIT) == [CLUSTER]
    assert added(PEER, *loop(*PHASE, TMA_LOAD, WAIT, PUSH, *PHASE)) == [CLUSTER]


DIVERGING = (
    PEER, "cf.cond_br %p, ^push, ^copy",
    "^push:", PUSH, *PHASE, "cf.br ^end",
    "^copy:", *PHASE, TMA_LOAD, WAIT, "cf.br ^end",
    "^end:",
)  # fmt: skip


def test_threads_on_different_ways_meet_in_one_phase() -> None:
    assert added(*DIVERGING) == [CLUSTER]
    # A thread that has gone round once more is a phase ahead.
    rounds = ("cf.br ^loop", "^loop:", *PHASE, "cf.cond_br %p, ^loop, ^on", "^on:")
    assert added(PEER, *rounds, TMA_LOAD, WAIT, PUSH, *PHASE) == [CLUSTER]


def test_a_phase_that_begins_elsewhere_may_be_any() -> None:
    assert added(PEER, PHASE[1], TMA_LOAD, WAIT, PUSH, PHASE[0]) == [CLUSTER]
    assert added(PEER, *PHASE, PHASE[1], TMA_LOAD, WAIT, PUSH, PHASE[0]) == [CLUSTER]


def test_a_fence_lost_between_threads_on_different_ways_is_missed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Were each arrival for the waits on its own path alone."""

    def own_way(barriers: Barriers[Operation]) -> dict[Operation, frozenset[Operation]]:
        return {op: frozenset({op}) for op in reached(barriers)}

    monkeypatch.setattr(Barriers, "in_step", own_way)
    assert added(*DIVERGING) == []
    arrive, wait = (ClusterBarrier(role, of) for role, of in CLUSTER_ROLES)
    push = (St("tile", 1), arrive, wait)
    fence = ("fence", ProxyFence(PtxProxy.ASYNC))
    copy = (arrive, wait, fence, AsyncCopy("result", "tile"), CommitGroup(), WaitGroup(False))
    model = (_CTA0, push), (_CTA1, copy)
    assert results_of(model, None) == {1}
    assert results_of(model, "fence") == {0, 1}


CLUSTER_ROLES = (BarrierRole.ARRIVE, _RELEASE), (BarrierRole.WAIT, _ACQUIRE)


def reached(barriers: Barriers[Operation]) -> set[Operation]:
    found, left = set[Operation](), [*barriers.first]
    while left:
        op = left.pop()
        if op not in found:
            found.add(op)
            left += barriers.after[op]
    return found


def test_a_fence_in_the_writers_group_does_not_help_in_another() -> None:
    store = "scoped.store weak %v, %data : i32, !llvm.ptr<1>"
    sync = ("scoped.cluster_arrive release", "scoped.cluster_wait")
    fence = "scoped.proxy_fence async"
    assert added(store, fence, *sync, TMA_LOAD) == [f"{GLOBAL} < scoped.bulk_copy"]
    assert added(store, fence, BARRIER, TMA_LOAD) == []


def test_groups_are_waited_for_before_they_are_overwritten_or_published() -> None:
    assert added(TMA_STORE, STORE)[:2] == [
        "bulk_commit_group < scoped.store",
        "bulk_wait_group read 0 < scoped.store",
    ]
    publish = "scoped.store release agent %v, %data : i32, !llvm.ptr<1>"
    assert added(TMA_STORE, publish) == [
        "bulk_commit_group < scoped.store",
        "bulk_wait_group 0 < scoped.store",
    ]


def test_a_function_that_counts_its_groups_is_believed() -> None:
    counted = ("scoped.bulk_commit_group", "scoped.bulk_wait_group read 1")
    assert added(TMA_STORE, *counted, BARRIER, STORE) == []


def test_tensor_memory_is_waited_for_where_it_was_accessed() -> None:
    assert added(
        "%r = scoped.tcgen05_load %tmem : !llvm.ptr<6> -> i32",
        "%s = arith.addi %v, %n : i32",
        "%t = arith.addi %r, %n : i32",
    ) == ["tcgen05_wait loads < arith.addi"]
    assert added("scoped.tcgen05_store %v, %tmem : i32, !llvm.ptr<6>", MMA) == [
        "tcgen05_wait stores < scoped.tcgen05_mma"
    ]


def test_tensor_operations_are_fenced_around_a_barrier() -> None:
    store = "scoped.tcgen05_store %v, %tmem : i32, !llvm.ptr<6>"
    assert added(store, BARRIER, MMA) == [
        "tcgen05_wait stores < scoped.barrier",
        "tcgen05_fence before < scoped.barrier",
        "tcgen05_fence after < scoped.tcgen05_mma",
    ]


def test_multiplications_of_one_thread_need_nothing_between() -> None:
    assert added(MMA, MMA, "scoped.tcgen05_commit %full : !llvm.ptr<3>") == []


def test_registers_that_were_read_are_fenced_again() -> None:
    wgmma = 'scoped.wgmma "m64n8k16.f32.f16.f16" "acc" registers 4 %d, %d'
    read = '%r = scoped.wgmma_read "acc"[0] : i32'
    fences = [each for each in added(wgmma, wgmma, read, wgmma) if each.startswith("wgmma_fence")]
    assert len(fences) == 2


def test_a_map_written_elsewhere_is_acquired() -> None:
    load = """scoped.tensor_load %tile, %map[%n] mbarrier %full written system
        : !llvm.ptr<3>, !llvm.ptr, !llvm.ptr<3>, i32"""
    assert added(load) == ["tensormap_fence acquire system %map : !llvm.ptr < scoped.tensor_load"]
    assert added(load.replace("written system", "")) == []
    assert len(added(load, load)) == 1


def test_a_map_replaced_in_place_is_released_and_acquired() -> None:
    replace = "scoped.tensormap_replace %data, %d : !llvm.ptr<1>, i64"
    load = """scoped.tensor_load %tile, %map[%n] mbarrier %full
        : !llvm.ptr<3>, !llvm.ptr, !llvm.ptr<3>, i32"""
    assert added(replace, BARRIER, load) == [
        "tensormap_fence release agent < scoped.barrier",
        "tensormap_fence acquire agent %map : !llvm.ptr < scoped.tensor_load",
    ]


def test_structured_control_flow_must_go_first() -> None:
    with pytest.raises(DiagnosticException, match="run convert-scf-to-cf first"):
        added(TMA_LOAD, "scf.if %p {", BARRIER, "}")


def test_functions_without_asynchronous_operations_are_left_alone() -> None:
    assert added(STORE, BARRIER, "%r = scoped.load weak %tile : !llvm.ptr<3> -> i32") == []


def test_a_restricted_argument_is_apart_from_the_others() -> None:
    loop = (
        "cf.br ^loop", "^loop:", TMA_LOAD, WAIT, "scoped.store weak %v, %out : i32, !llvm.ptr<1>",
        BARRIER, "cf.cond_br %p, ^loop, ^end", "^end:",
    )  # fmt: skip
    assert added(*loop) == [f"{GLOBAL} < scoped.barrier"]
    restricted = HEAD.replace("%out: !llvm.ptr<1>", "%out: !llvm.ptr<1> {llvm.noalias}")
    module = parse(restricted + "\n".join(loop) + "\nfunc.return\n}\n")
    assert Analysis(function_of(module), True).solve() == []
