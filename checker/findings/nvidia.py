"""The rules about PTX alone."""

from fencewright.checker.findings.finding import Level, Rule
from fencewright.checker.findings.page import ptx_page

_ERROR, _WARNING, _NOTE = Level
_PROXIES = "PTX ISA, Memory Consistency Model, Proxies; membar/fence, fence.proxy"

_STORE = "st.shared.b32 [tile], 1;\n"
_LOAD = "ld.shared.b32 %r2, [tile];\n"
_PROXY_FENCE = "fence.proxy.async.shared::cta;\n"
_BULK_STORE = (
    "@%p0 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [tile], 128;\n"
    "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;\n"
)
_BULK_LOAD = (
    "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [tile], [%rd1], 128, [bar];\n"
)
_WAIT = "W: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p1, [bar], 0;\n@!%p1 bra W;\n"
_EXPECT = "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [bar], 128;\n"
_ARRIVE = "mbarrier.arrive.{}.cta.shared::cta.b64 _, [bar];\n"
_POLL = "L: ld.acquire.gpu.global.b32 %r1, [%rd2];\nsetp.eq.u32 %p2, %r1, 0;\n@%p2 bra L;\n"
_PUSH = (
    "mov.u32 %r3, tile;\nmapa.shared::cluster.u32 %r4, %r3, 1;\n"
    "st.shared::cluster.b32 [%r4], %r1;\n"
)
_MET = "barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;\n"
_EXCHANGE = (
    "@%p0 mbarrier.init.shared::cta.b64 [bar], 1;\nfence.mbarrier_init.release.cluster;\n"
    f"{_MET}mov.u32 %r2, %cluster_ctarank;\nxor.b32 %r2, %r2, 1;\n"
    "mov.u32 %r3, tile;\nmapa.shared::cluster.u32 %r4, %r3, %r2;\n"
    "@%p0 st.shared::cluster.b32 [%r4], 1;\n"
    "mov.u32 %r5, bar;\nmapa.shared::cluster.u32 %r6, %r5, %r2;\n"
    "@%p0 mbarrier.arrive{}.shared::cluster.b64 _, [%r6];\n"
    "W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [bar], 0;\n@!%p1 bra W;\n"
    f"ld.shared.b32 %r7, [tile];\n{_MET}"
)
_PRODUCT = (
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, %rd10, %rd11, "
    "1, 1, 1, 0, 0;\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n"
)
_SIZES = "ld.global.b32 %r2, [%rd1];\n"
_ROLES = f"setp.lt.u32 %p2, %r9, 32;\n@%p2 bra C;\ngriddepcontrol.wait;\n{_SIZES}bra E;\nC:\n"
_READ_ONLY = "ld.global.nc.b32 %r2, [%rd1];\n"
_REPLACE = "tensormap.replace.tile.global_address.global.b1024.b64 [%rd1], %rd2;\n"
_BY_MAP = (
    "cp.async.bulk.tensor.1d.shared::cta.global.mbarrier::complete_tx::bytes [tile], "
    "[%rd1, {%r1}], [bar];\n"
)
_ROUND = (
    f"LOOP:\n{_EXPECT}{_BULK_LOAD}"
    "W: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p1, [bar], PARITY;\n@!%p1 bra W;\n"
    "ld.shared.b32 %r3, [tile];\nfence.proxy.async.shared::cta;\nNEXTadd.u32 %r8, %r8, 1;\n"
    "setp.lt.u32 %p3, %r8, %r7;\n@%p3 bra LOOP;\n"
)

PAGES = (
    ptx_page(
        Rule.PROXY_FENCE,
        (_ERROR, _WARNING, _NOTE),
        summary="A proxy fence is missing",
        text="A copy or a matrix product reads or overwrites, through the async proxy, data that "
        "threads write through the generic proxy, with no fence between the two proxies on "
        "some path. An error where an execution shows it, a warning where none does or "
        "where shared memory is read that may be the same, a note otherwise.",
        source=_PROXIES,
        bad=f"{_STORE}bar.sync 0;\n{_BULK_STORE}",
        good=f"{_STORE}{_PROXY_FENCE}bar.sync 0;\n{_BULK_STORE}",
    ),
    ptx_page(
        Rule.PROXY_ACQUIRE,
        (_ERROR, _WARNING, _NOTE),
        summary="An acquire between proxies is missing",
        text="An asynchronous copy reads global memory after an acquire from other work-groups. "
        "What they wrote was generic; the acquire orders generic accesses alone, so that a proxy "
        "fence has to follow it.",
        source=_PROXIES,
        bad=f"{_POLL}{_BULK_LOAD}",
        good=f"{_POLL}fence.proxy.async.global;\n{_BULK_LOAD}",
    ),
    ptx_page(
        Rule.PROXY_READS,
        (_ERROR, _WARNING, _NOTE),
        summary="A proxy fence between reads and a write is missing",
        text="A copy overwrites what threads have read through the generic proxy; without a fence "
        "between the proxies it may be first. A note where execution alone orders them.",
        source=_PROXIES,
        bad=f"ld.shared.b32 %r1, [tile];\nbar.sync 0;\n@%p0 {_BULK_LOAD}",
        good=f"ld.shared.b32 %r1, [tile];\n{_PROXY_FENCE}bar.sync 0;\n@%p0 {_BULK_LOAD}",
        options=("--notes",),
    ),
    ptx_page(
        Rule.ASYNC_UNWAITED,
        (_ERROR, _WARNING, _NOTE),
        summary="An asynchronous operation is not waited for",
        text="The data, registers or tensor map of an operation in flight are used or overwritten, "
        "or the kernel ends, before a wait for it. An error where one thread does both, a warning "
        "where their places may differ, or other threads come too early.",
        source="PTX ISA, Asynchronous Operations; cp.async.wait_group, wgmma.wait_group",
        bad="cp.async.ca.shared.global [tile], [%rd1], 4;\nbar.sync 0;\n"
        "ld.shared.b32 %r1, [tile];\n",
        good="cp.async.ca.shared.global [tile], [%rd1], 4;\ncp.async.wait_all;\nbar.sync 0;\n"
        "ld.shared.b32 %r1, [tile];\n",
    ),
    ptx_page(
        Rule.TENSORMAP_FENCE,
        (_ERROR, _WARNING),
        summary="A fence of the tensor-map proxy is missing",
        text="A copy uses a tensor map that the kernel has changed, with no "
        "`fence.proxy.tensormap::generic.acquire` of it on some path: it may copy by the old map.",
        source="PTX ISA, fence.proxy.tensormap; tensormap.replace",
        bad=f"@!%p0 bra E;\n{_REPLACE}{_BY_MAP}E:\n",
        good=f"@!%p0 bra E;\n{_REPLACE}fence.proxy.tensormap::generic.release.gpu;\n"
        f"fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;\n{_BY_MAP}E:\n",
    ),
    ptx_page(
        Rule.READ_ONLY,
        (_ERROR, _WARNING, _NOTE),
        summary="Changing data are loaded as read-only",
        text="`ld.global.nc` may be served by a cache that is not coherent: it is for data that "
        "stay as they are while the kernel runs. An error or a warning where the kernel writes "
        "there, a warning after an acquire from other work-groups.",
        source="PTX ISA, ld.global.nc",
        bad=f"{_POLL}{_READ_ONLY}",
        good=f"{_POLL}ld.global.b32 %r2, [%rd1];\n",
    ),
    ptx_page(
        Rule.GRID_DEPENDENCY,
        (_WARNING, _NOTE),
        summary="Global memory is read before the wait for the previous grid",
        text="A kernel that has `griddepcontrol.wait` may start before the grid that it depends on "
        "has ended, and reads global memory on a path without the wait. A warning if elsewhere it "
        "reads by the same pointer after the wait, a note otherwise.",
        source="PTX ISA, griddepcontrol",
        bad=f"{_ROLES}{_SIZES}E:\nst.global.b32 [%rd2], %r2;\n",
        good=f"{_ROLES}griddepcontrol.wait;\n{_SIZES}E:\nst.global.b32 [%rd2], %r2;\n",
    ),
    ptx_page(
        Rule.MBARRIER_SCOPE,
        (_ERROR, _WARNING, _NOTE),
        summary="An mbarrier operation does not reach the threads that it is for",
        text="An arrival in another CTA does not release at `.cluster` what was stored there, or a "
        "wait for such an arrival acquires at `.cta`. Without a scope an operation is at `.cta`.",
        source="PTX ISA, mbarrier.arrive, mbarrier.try_wait: .sem and .scope",
        bad=_EXCHANGE.format(""),
        good=_EXCHANGE.format(".release.cluster"),
    ),
    ptx_page(
        Rule.MBARRIER_INIT,
        (_ERROR, _WARNING, _NOTE),
        summary="An mbarrier may be used before it is initialised",
        text="Threads use an mbarrier that another thread initialises, and nothing orders the two: "
        "in a block a barrier does, in a cluster `fence.mbarrier_init` and the cluster's barrier. "
        "Or an mbarrier in use is written as data, with no `mbarrier.inval` before.",
        source="PTX ISA, mbarrier.init, mbarrier.inval, fence.mbarrier_init",
        bad=f"@%p0 mbarrier.init.shared::cta.b64 [bar], 1;\n{_WAIT}",
        good=f"@%p0 mbarrier.init.shared::cta.b64 [bar], 1;\nbar.sync 0;\n{_WAIT}",
    ),
    ptx_page(
        Rule.CLUSTER_BARRIER,
        (_ERROR, _WARNING, _NOTE),
        summary="Accesses of two blocks lack a barrier of the cluster",
        text="A block accesses shared memory of another one of its cluster, and no barrier of the "
        "cluster orders it with the accesses there, or a relaxed one. Or a block frees tensor "
        "memory of a pair, or ends while another one may access its memory: a warning.",
        source="PTX ISA, barrier.cluster",
        bad=f"{_MET}{_PUSH}barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;\n",
        good=f"{_MET}{_PUSH}barrier.cluster.arrive.release;\nbarrier.cluster.wait;\n",
    ),
    ptx_page(
        Rule.MBARRIER_PHASE,
        (_WARNING,),
        summary="A wait for one phase of an mbarrier, round after round",
        text="A loop waits for the same parity in every round, while an arrival in it completes a "
        "phase in each: from the second round on the wait returns at once, for an older phase.",
        source="PTX ISA, mbarrier.try_wait.parity",
        bad=_ROUND.replace("PARITY", "0").replace("NEXT", ""),
        good=_ROUND.replace("PARITY", "%r10").replace("NEXT", "xor.b32 %r10, %r10, 1;\n"),
    ),
    ptx_page(
        Rule.MBARRIER_WAIT,
        (_WARNING,),
        summary="The answer of a wait at an mbarrier is not used",
        text="`try_wait` and `test_wait` may return before the phase is complete, and say so in a "
        "predicate. What follows has to wait for that to be true.",
        source="PTX ISA, mbarrier.test_wait, mbarrier.try_wait",
        bad=f"@%p0 {_EXPECT}@%p0 {_BULK_LOAD}{_WAIT.splitlines()[0]}\n",
        good=f"@%p0 {_EXPECT}@%p0 {_BULK_LOAD}{_WAIT}",
    ),
    ptx_page(
        Rule.MBARRIER_BYTES,
        (_ERROR, _WARNING, _NOTE),
        summary="An mbarrier expects other bytes than are copied",
        text="Bulk copies complete bytes on an mbarrier that expects none, so that its phase may "
        "complete before they have; or it expects others, where all of them are constants of a "
        "block: it completes too early, or never.",
        source="PTX ISA, mbarrier, tracking asynchronous operations by tx-count",
        bad=f"@%p0 {_EXPECT.replace('128', '64')}@%p0 {_BULK_LOAD}{_WAIT}{_LOAD}",
        good=f"@%p0 {_EXPECT}@%p0 {_BULK_LOAD}{_WAIT}{_LOAD}",
    ),
    ptx_page(
        Rule.MBARRIER_ORDER,
        (_ERROR, _WARNING, _NOTE),
        summary="A relaxed operation on an mbarrier orders no data",
        text="An arrival after stores to shared memory, or a wait before loads, is relaxed: "
        "threads that wait for the phase need not see the stores.",
        source="PTX ISA, mbarrier.arrive, mbarrier.try_wait: .sem",
        bad=f"@%p0 {_STORE}@%p0 {_ARRIVE.format('relaxed')}{_WAIT}{_LOAD}",
        good=f"@%p0 {_STORE}@%p0 {_ARRIVE.format('release')}{_WAIT}{_LOAD}",
    ),
    ptx_page(
        Rule.WGMMA_FENCE,
        (_ERROR,),
        summary="A matrix product lacks the fence of its registers",
        text="The product takes registers that were written since the last `wgmma.fence`, or there "
        "was none: it may read them before the writes.",
        source="PTX ISA, wgmma.fence",
        bad=_PRODUCT,
        good=f"wgmma.fence.sync.aligned;\n{_PRODUCT}",
    ),
    ptx_page(
        Rule.SURPLUS_PROXY_FENCE,
        (_NOTE,),
        summary="A proxy fence is redundant",
        text="Every pair of accesses has the same verdict without it, or with `.shared::cta` in "
        "place of all memory; or the fence right before or after does as much.",
        source=_PROXIES,
        bad=f"{_STORE}{_PROXY_FENCE}{_PROXY_FENCE}bar.sync 0;\n{_BULK_STORE}",
        good=f"{_STORE}{_PROXY_FENCE}bar.sync 0;\n{_BULK_STORE}",
    ),
    ptx_page(
        Rule.SURPLUS_FENCE,
        (_NOTE,),
        summary="A fence is redundant",
        text="A fence right before or after it does as much.",
        source="PTX ISA, membar/fence",
        bad="st.global.b32 [%rd1], %r1;\nfence.acq_rel.gpu;\nfence.acq_rel.gpu;\n"
        "st.relaxed.gpu.global.b32 [%rd2], %r1;\n",
        good="st.global.b32 [%rd1], %r1;\nfence.acq_rel.gpu;\n"
        "st.relaxed.gpu.global.b32 [%rd2], %r1;\n",
    ),
    ptx_page(
        Rule.SURPLUS_RELEASE,
        (_NOTE,),
        summary="A release can be weaker",
        text="The fence right before the access releases already, or the kernel does nothing "
        "before it that it could release.",
        source="PTX ISA, Memory Consistency Model, release patterns",
        bad="st.global.b32 [%rd1], %r1;\nfence.acq_rel.gpu;\n"
        "st.release.gpu.global.b32 [%rd2], %r1;\n",
        good="st.global.b32 [%rd1], %r1;\nfence.acq_rel.gpu;\n"
        "st.relaxed.gpu.global.b32 [%rd2], %r1;\n",
    ),
    ptx_page(
        Rule.SURPLUS_ACQUIRE,
        (_NOTE,),
        summary="An acquire can be weaker",
        text="The fence right after the access acquires already, or the kernel does nothing after "
        "it that would have to be newer.",
        source="PTX ISA, Memory Consistency Model, acquire patterns",
        bad="ld.acquire.gpu.global.b32 %r1, [%rd2];\nfence.acq_rel.gpu;\n"
        "ld.global.b32 %r2, [%rd1];\n",
        good="ld.relaxed.gpu.global.b32 %r1, [%rd2];\nfence.acq_rel.gpu;\n"
        "ld.global.b32 %r2, [%rd1];\n",
    ),
)
