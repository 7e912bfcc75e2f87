"""NVIDIA's intrinsics as the PTX that LLVM makes of them.

``$n``: operand n, after the result if any. Source: LLVM 22, NVPTXIntrinsics.td; NVPTXUsage.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType


def _intrinsics() -> Iterator[tuple[str, str]]:
    """Those that synchronise: fences, barriers, mbarriers, copies and their waits."""
    for name in ("cta", "gl", "sys"):
        yield f"membar.{name}", f"membar.{name}"
    yield "bar.warp.sync", "bar.warp.sync $0"
    yield "fence.sc.cluster", "fence.sc.cluster"
    yield "fence.mbarrier_init.release.cluster", "fence.mbarrier_init.release.cluster"
    yield "fence.proxy.async", "fence.proxy.async"
    for name, space in (("global", "global"), ("shared_cta", "shared::cta"),
                        ("shared_cluster", "shared::cluster")):  # fmt: skip
        yield f"fence.proxy.async.{name}", f"fence.proxy.async.{space}"
    for aligned in ("", ".aligned"):
        yield f"barrier.cta.sync{aligned}.all", f"barrier.cta.sync{aligned} $0"
        yield f"barrier.cta.sync{aligned}.count", f"barrier.cta.sync{aligned} $0, $1"
        yield f"barrier.cta.arrive{aligned}.count", f"barrier.cta.arrive{aligned} $0, $1"
        for relaxed in ("", ".relaxed"):
            yield (f"barrier.cluster.arrive{relaxed}{aligned}",
                   f"barrier.cluster.arrive{relaxed}{aligned}")  # fmt: skip
        yield f"barrier.cluster.wait{aligned}", f"barrier.cluster.wait{aligned}"
    for size in (4, 8, 16):
        yield f"cp.async.ca.shared.global.{size}", f"cp.async.ca.shared.global [$0], [$1], {size}"
        yield (
            f"cp.async.ca.shared.global.{size}.s",
            f"cp.async.ca.shared.global [$0], [$1], {size}, $2",
        )
    yield "cp.async.cg.shared.global.16", "cp.async.cg.shared.global [$0], [$1], 16"
    yield "cp.async.cg.shared.global.16.s", "cp.async.cg.shared.global [$0], [$1], 16, $2"
    for noinc in ("", ".noinc"):
        yield (f"cp.async.mbarrier.arrive{noinc}.shared",
               f"cp.async.mbarrier.arrive{noinc}.shared.b64 [$0]")  # fmt: skip
    yield "cp.async.commit.group", "cp.async.commit_group"
    yield "cp.async.wait.group", "cp.async.wait_group $0"
    yield "cp.async.bulk.commit.group", "cp.async.bulk.commit_group"
    yield "cp.async.bulk.wait.group", "cp.async.bulk.wait_group $0"
    yield "cp.async.bulk.wait.group.read", "cp.async.bulk.wait_group.read $0"
    yield "wgmma.fence.sync.aligned", "wgmma.fence.sync.aligned"
    yield "wgmma.commit_group.sync.aligned", "wgmma.commit_group.sync.aligned"
    yield "tcgen05.wait.ld", "tcgen05.wait::ld.sync.aligned"
    yield "tcgen05.wait.st", "tcgen05.wait::st.sync.aligned"
    yield "tcgen05.fence.before.thread.sync", "tcgen05.fence::before_thread_sync"
    yield "tcgen05.fence.after.thread.sync", "tcgen05.fence::after_thread_sync"
    for name in ("cta", "cluster", "gpu", "sys"):
        tensormap = "fence.proxy.tensormap_generic"
        yield (f"{tensormap}.acquire.{name}",
               f"fence.proxy.tensormap::generic.acquire.{name} [$0], $1")  # fmt: skip
        yield f"{tensormap}.release.{name}", f"fence.proxy.tensormap::generic.release.{name}"
    for proxy, as_ptx in (("", ""), ("proxy.async_generic.", "proxy.async::generic.")):
        for ordering, space in (("acquire", "cluster"), ("release", "cta")):
            yield (f"fence.{proxy}{ordering}.sync_restrict.space.{space}.scope.cluster",
                   f"fence.{as_ptx}{ordering}.sync_restrict::shared::{space}.cluster")  # fmt: skip
    yield "fence.proxy.alias", "fence.proxy.alias"
    yield "mbarrier.init.shared", "mbarrier.init.shared.b64 [$0], $1"
    yield "mbarrier.inval.shared", "mbarrier.inval.shared.b64 [$0]"
    yield "mbarrier.arrive.shared", "mbarrier.arrive.shared.b64 $0, [$1]"
    yield "mbarrier.arrive.drop.shared", "mbarrier.arrive_drop.shared.b64 $0, [$1]"
    yield "mbarrier.test.wait.shared", "mbarrier.test_wait.shared.b64 $0, [$1], $2"
    for scope in ("cta", "cluster"):
        yield from _of_mbarriers(scope)


def _of_mbarriers(scope: str) -> Iterator[tuple[str, str]]:
    """Those of one scope; the result, where there is one, is ``$0``."""
    for name, given in (("cta", "$0, [$1], $2"), ("cluster", "_, [$0], $1")):
        where, space = f"scope.{scope}.space.{name}", f"shared::{name}.b64"
        for does, word in (("expect.tx", "expect_tx"), ("complete.tx", "complete_tx")):
            yield f"mbarrier.{does}.{where}", f"mbarrier.{word}.relaxed.{scope}.{space} [$0], $1"
        for drop, arrive in (("", "arrive"), (".drop", "arrive_drop")):
            for bytes_, expect in (("", ""), (".expect.tx", ".expect_tx")):
                for relaxed, ordering in (("", "release"), (".relaxed", "relaxed")):
                    yield (f"mbarrier.arrive{drop}{bytes_}{relaxed}.{where}",
                           f"mbarrier.{arrive}{expect}.{ordering}.{scope}.{space} "
                           f"{given}")  # fmt: skip
    for asks, word in (("test.wait", "test_wait"), ("try.wait", "try_wait")):
        for parity in ("", ".parity"):
            for relaxed, ordering in (("", "acquire"), (".relaxed", "relaxed")):
                yield (f"mbarrier.{asks}{parity}{relaxed}.scope.{scope}.space.cta",
                       f"mbarrier.{word}{parity}.{ordering}.{scope}.shared::cta.b64 $0, [$1], "
                       "$2")  # fmt: skip


AS_PTX: Mapping[str, str] = MappingProxyType(
    {f"llvm.nvvm.{name}": text for name, text in _intrinsics()}
)
"""The intrinsics that synchronise, by name."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """An exchange of registers in a warp; ``types``: of its result and arguments, as LLVM's.

    ``number``: of the first chip that has it.
    """

    text: str
    types: tuple[str, ...]
    number: int


def _exchanges() -> Iterator[tuple[str, Exchange]]:
    # Source: PTX ISA, shfl.sync, vote.sync, redux.sync.
    for mode in ("up", "down", "bfly", "idx"):
        for kind in ("i32", "f32"):
            text = f"shfl.sync.{mode}.b32 $0, $2, $3, $4, $1"
            types = (kind, "i32", kind, "i32", "i32")
            yield f"shfl.sync.{mode}.{kind}", Exchange(text, types, 70)
    for mode, suffix, result in (
        ("ballot", "b32", "i32"),
        ("any", "pred", "i1"),
        ("all", "pred", "i1"),
    ):
        text = f"vote.sync.{mode}.{suffix} $0, $2, $1"
        yield f"vote.{mode}.sync", Exchange(text, (result, "i32", "i1"), 70)
    for name, opcode in (("add", "add.s32"), ("min", "min.s32"), ("max", "max.s32"),
                         ("umin", "min.u32"), ("umax", "max.u32"), ("and", "and.b32"),
                         ("or", "or.b32"), ("xor", "xor.b32")):  # fmt: skip
        text = f"redux.sync.{opcode} $0, $1, $2"
        yield f"redux.sync.{name}", Exchange(text, ("i32", "i32", "i32"), 80)


EXCHANGES: Mapping[str, Exchange] = MappingProxyType(
    {f"llvm.nvvm.{name}": row for name, row in _exchanges()}
)
"""The exchanges by name. None accesses memory or orders accesses."""
