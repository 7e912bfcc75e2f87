"""Operations of MLIR's own dialects that synchronise, as rows: their equivalents in ``scoped``.

The dialects are not registered: operations in generic form, whose properties are what ``mlir-opt
--mlir-print-op-generic`` prints. Their enumerations are numbers or words. Source: MLIR 22.1.8,
LLVMEnums.td, LLVMOps.td, NVVMOps.td, ROCDLOps.td, GPUOps.td, AMDGPUOps.td.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from types import MappingProxyType

from fencewright.lowering.llvm.architecture import UNKNOWN
from fencewright.lowering.llvm.intrinsics.lookup import row_of
from fencewright.lowering.llvm.intrinsics.row import CallKind, EffectRow
from fencewright.lowering.vocabulary import AddressSpace, Ordering, RmwKind, Scope
from fencewright.mlir_dialects import scoped

_UNORDERED = 1
ORDERING_NUMBERS: Mapping[int, Ordering] = MappingProxyType(
    {
        0: Ordering.WEAK,
        _UNORDERED: Ordering.WEAK,
        2: Ordering.RELAXED,
        4: Ordering.ACQUIRE,
        5: Ordering.RELEASE,
        6: Ordering.ACQ_REL,
        7: Ordering.SEQ_CST,
    }
)
"""LLVM_AtomicOrdering; unordered is the ordering of plain accesses in Java. 3 is nobody's."""

NUMBER_OF: Mapping[Ordering, int] = MappingProxyType(
    {v: k for k, v in ORDERING_NUMBERS.items() if k != _UNORDERED}
)

KIND_NUMBERS: Mapping[int, RmwKind] = MappingProxyType(
    dict(
        enumerate(
            map(
                RmwKind,
                "xchg add sub and nand or xor max min umax umin fadd fsub fmax fmin uinc_wrap "
                "udec_wrap".split(),
            )
        )
    )
)
"""LLVM_AtomicBinOp; ``scoped`` has no words for the later ones."""

SYNCSCOPES = UNKNOWN.syncscopes
"""By their names, whichever architecture they are of: they do not contradict each other."""

FLAGS = ("volatile_", "weak", "nontemporal", "invariant")
"""Properties that are there or not."""

SPACE_WORDS: Mapping[str, AddressSpace] = MappingProxyType(
    {"global": AddressSpace.GLOBAL, "workgroup": AddressSpace.LOCAL, "local": AddressSpace.LOCAL,
     "private": AddressSpace.PRIVATE}
)  # fmt: skip
"""GPU_AddressSpaceEnum, and the suffixes of LLVM's tag ``amdgpu-synchronize-as``."""


@dataclass(frozen=True, slots=True)
class ForeignRow:
    """An operation called ``name`` that is ``op`` in ``scoped``, with the same operands.

    ``ordering``, ``failure``: its properties with the number of an ordering; without one
    ``meaning`` is ordering and scope. ``spaces``: those that it orders, or the property or
    attribute that lists them. ``kept``: properties that it may have and that say nothing of
    synchronisation; ``only``: such with the one word that they may be. With any other one
    ``scoped`` cannot say it.
    """

    name: str
    op: type[scoped.ScopedOperation]
    source: str
    ordering: str | None = None
    failure: str | None = None
    meaning: tuple[Ordering, Scope] | None = None
    spaces: str | tuple[AddressSpace, ...] = ()
    kept: frozenset[str] = field(default_factory=frozenset[str])
    only: Mapping[str, str] = field(default_factory=dict[str, str])


_KEPT = frozenset({
    "access_groups", "alias_scopes", "alignment", "noalias_scopes", "tbaa", "bin_op", "syncscope",
    "dereferenceable", *FLAGS,
})  # fmt: skip
_LLVM = "MLIR 22 LLVMOps.td: as LLVM's instruction"
_MEETS = (Ordering.ACQ_REL, Scope.WORKGROUP)

FOREIGN = (
    ForeignRow("llvm.load", scoped.LoadOp, _LLVM, ordering="ordering", kept=_KEPT),
    ForeignRow("llvm.store", scoped.StoreOp, _LLVM, ordering="ordering", kept=_KEPT),
    ForeignRow("llvm.atomicrmw", scoped.AtomicRmwOp, _LLVM, ordering="ordering", kept=_KEPT),
    ForeignRow("llvm.cmpxchg", scoped.CmpxchgOp, _LLVM, ordering="success_ordering",
               failure="failure_ordering", kept=_KEPT),
    ForeignRow("llvm.fence", scoped.FenceOp, ordering="ordering", spaces="llvm.mmra", kept=_KEPT,
               source=f"{_LLVM}; LLVM AMDGPUUsage, fences and address spaces"),
    ForeignRow("gpu.barrier", scoped.BarrierOp, meaning=_MEETS, spaces="address_spaces",
               only=MappingProxyType({"scope": "workgroup"}),
               source="MLIR 22 GPUOps.td: all memory accesses before are visible to the workgroup "
                      "after; MLIR 23: those of its address spaces"),
    ForeignRow("rocdl.barrier", scoped.BarrierOp, meaning=_MEETS,
               source="MLIR 22 ROCDLOps.td: fence release, s_barrier, fence acquire of the "
                      "workgroup"),
    ForeignRow("rocdl.s.barrier", scoped.BarrierOp, meaning=(Ordering.RELAXED, Scope.WORKGROUP),
               source="MLIR 22 ROCDLOps.td: the bare s_barrier, which orders no memory"),
    ForeignRow("amdgpu.lds_barrier", scoped.BarrierOp, meaning=_MEETS, spaces=(AddressSpace.LOCAL,),
               source="MLIR 22 AMDGPU.td: a barrier, and a wait for what affects LDS"),
)  # fmt: skip
ROWS: Mapping[str, ForeignRow] = MappingProxyType({row.name: row for row in FOREIGN})


@dataclass(frozen=True, slots=True)
class PTXRow:
    """An operation of the nvvm dialect as the PTX ``text`` that it stands for.

    ``operands``: their names in order; ``?`` after one that may be left out, ``*`` after any number
    of them. In ``text``, ``<addr>`` is the place of an operand, ``<,count>`` the same after a comma
    or nothing, ``<id|0>`` one or its default; ``<@addr>`` the word of ``TYPE_WORDS`` for its type,
    ``<#addr>`` the number of its operands; ``<result>`` the place of the result or ``_``;
    ``<scope|cta>`` the word of a property or its default (a flag's word is its name). ``words``:
    others for the words of properties and types.
    ``kept``: properties and operands that say nothing of synchronisation, not in the text.
    """

    name: str
    operands: str
    text: str
    words: Mapping[str, str] = field(default_factory=dict[str, str])
    kept: frozenset[str] = field(default_factory=frozenset[str])
    source: str = "MLIR 22 NVVMOps.td and the PTX ISA's instruction of that name"


TYPE_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "ptr": "",
        "ptr addrspace(1)": "global",
        "ptr addrspace(3)": "shared::cta",
        "ptr addrspace(7)": "shared::cluster",
        "i32": "parity",
        "i64": "",
    }
)
"""PTX's words for a pointer's state space, and for a phase (a parity or an arrival's token)."""

_RESTRICTED = MappingProxyType(
    {
        "acquire": "acquire.sync_restrict::shared::cluster",
        "release": "release.sync_restrict::shared::cta",
    }
)
_UNDER = "addr txcount predicate?"
_SEMANTICS = "<relaxed|release>.<scope|cta>.<@addr>.b64 <result>, [<addr>]"
_LOOKS = "<@state>.<relaxed|acquire>.<scope|cta>.<@addr>.b64 <result>, [<addr>], <state>"
_BULK = "mbarrier::complete_tx::bytes [<dst>], [<src>], <size>, [<mbar>]"

PTX_FOREIGN = (
    PTXRow("nvvm.barrier0", "", "barrier.cta.sync.aligned 0"),
    PTXRow("nvvm.barrier", "id? threads? predicate?", "barrier.cta.sync.aligned <id|0><,threads>"),
    PTXRow("nvvm.barrier.arrive", "id? threads", "barrier.cta.arrive.aligned <id|0>, <threads>"),
    PTXRow("nvvm.bar.warp.sync", "mask", "bar.warp.sync <mask>"),
    PTXRow("nvvm.cluster.arrive", "", "barrier.cluster.arrive.<aligned|>"),
    PTXRow("nvvm.cluster.arrive.relaxed", "", "barrier.cluster.arrive.relaxed.<aligned|>"),
    PTXRow("nvvm.cluster.wait", "", "barrier.cluster.wait.<aligned|>"),
    PTXRow("nvvm.memory.barrier", "", "fence.sc.<scope|>",
           source="MLIR 22 NVVMOps.td: membar; PTX ISA membar: fence.sc of its scope"),
    PTXRow("nvvm.fence.sc.cluster", "", "fence.sc.cluster"),
    PTXRow("nvvm.fence.sync_restrict", "", "fence.<order|>.cluster", words=_RESTRICTED),
    PTXRow("nvvm.fence.mbarrier.init", "", "fence.mbarrier_init.release.cluster"),
    PTXRow("nvvm.fence.proxy", "", "fence.proxy.<kind|>::<space|>"),
    PTXRow("nvvm.fence.proxy.acquire", "addr size",
           "fence.proxy.<toProxy|tensormap>::<fromProxy|generic>.acquire.<scope|> [<addr>], "
           "<size>"),
    PTXRow("nvvm.fence.proxy.release", "",
           "fence.proxy.<toProxy|tensormap>::<fromProxy|generic>.release.<scope|>"),
    PTXRow("nvvm.fence.proxy.sync_restrict", "",
           "fence.proxy.<toProxy|async>::<fromProxy|generic>.<order|>.cluster", words=_RESTRICTED),
    PTXRow("nvvm.mbarrier.init", "addr count predicate?",
           "mbarrier.init.<@addr>.b64 [<addr>], <count>"),
    PTXRow("nvvm.mbarrier.inval", "addr", "mbarrier.inval.<@addr>.b64 [<addr>]"),
    PTXRow("nvvm.mbarrier.expect_tx", "addr txcount",
           "mbarrier.expect_tx.relaxed.<scope|cta>.<@addr>.b64 [<addr>], <txcount>"),
    PTXRow("nvvm.mbarrier.complete_tx", "addr txcount",
           "mbarrier.complete_tx.relaxed.<scope|cta>.<@addr>.b64 [<addr>], <txcount>"),
    PTXRow("nvvm.mbarrier.arrive", "addr count?", f"mbarrier.arrive.{_SEMANTICS}<,count>"),
    PTXRow("nvvm.mbarrier.arrive_drop", "addr count?",
           f"mbarrier.arrive_drop.{_SEMANTICS}<,count>"),
    PTXRow("nvvm.mbarrier.arrive.nocomplete", "addr count",
           f"mbarrier.arrive.noComplete.{_SEMANTICS}, <count>"),
    PTXRow("nvvm.mbarrier.arrive_drop.nocomplete", "addr count",
           f"mbarrier.arrive_drop.noComplete.{_SEMANTICS}, <count>"),
    PTXRow("nvvm.mbarrier.arrive.expect_tx", _UNDER,
           f"mbarrier.arrive.expect_tx.{_SEMANTICS}, <txcount>"),
    PTXRow("nvvm.mbarrier.arrive_drop.expect_tx", "addr txcount",
           f"mbarrier.arrive_drop.expect_tx.{_SEMANTICS}, <txcount>"),
    PTXRow("nvvm.mbarrier.try_wait.parity", "addr phase ticks", kept=frozenset({"ticks"}),
           text="again: mbarrier.try_wait.parity.<@addr>.b64 %done, [<addr>], <phase>; @!%done bra "
                "again",
           source="MLIR 22 NVVMOps.td: repeated until the phase completes; ticks are a hint"),
    PTXRow("nvvm.mbarrier.test.wait", "addr state", f"mbarrier.test_wait.{_LOOKS}"),
    PTXRow("nvvm.mbarrier.try_wait", "addr state ticks?", f"mbarrier.try_wait.{_LOOKS}",
           kept=frozenset({"ticks"})),
    PTXRow("nvvm.cp.async.shared.global", "dst src zfill?",
           "cp.async.<modifier|ca>.shared::cta.global [<dst>], [<src>], <size|><,zfill>"),
    PTXRow("nvvm.cp.async.commit.group", "", "cp.async.commit_group"),
    PTXRow("nvvm.cp.async.wait.group", "", "cp.async.wait_group <n|>"),
    PTXRow("nvvm.cp.async.mbarrier.arrive", "addr",
           "cp.async.mbarrier.arrive.<noinc|>.<@addr>.b64 [<addr>]"),
    PTXRow("nvvm.cp.async.bulk.commit.group", "", "cp.async.bulk.commit_group"),
    PTXRow("nvvm.cp.async.bulk.wait_group", "", "cp.async.bulk.wait_group.<read|> <group|>"),
    PTXRow("nvvm.cp.async.bulk.shared.cluster.global", "dst src mbar size mask? hint?",
           f"cp.async.bulk.<@dst>.global.{_BULK}"),
    PTXRow("nvvm.cp.async.bulk.shared.cluster.shared.cta", "dst src mbar size",
           f"cp.async.bulk.<@dst>.shared::cta.{_BULK}"),
    PTXRow("nvvm.cp.async.bulk.global.shared.cta", "dst src size hint? mask?",
           "cp.async.bulk.global.shared::cta.bulk_group [<dst>], [<src>], <size>"),
    PTXRow("nvvm.cp.async.bulk.tensor.shared.cluster.global",
           "dst map coordinates* mbar offsets* mask? hint? predicate?",
           kept=frozenset({"isCTAOnly"}),
           text="cp.async.bulk.tensor.<#coordinates>d.<@dst>.global.<mode|tile>."
                "mbarrier::complete_tx::bytes "
                "[<dst>], [<map>, {<coordinates>}], [<mbar>]"),
    PTXRow("nvvm.cp.async.bulk.tensor.global.shared.cta", "map src coordinates* hint? predicate?",
           "cp.async.bulk.tensor.<#coordinates>d.global.shared::cta.<mode|tile>.bulk_group "
           "[<map>, {<coordinates>}], [<src>]"),
    PTXRow("nvvm.wgmma.fence.aligned", "", "wgmma.fence.sync.aligned"),
    PTXRow("nvvm.wgmma.commit.group.sync.aligned", "", "wgmma.commit_group.sync.aligned"),
    PTXRow("nvvm.wgmma.wait.group.sync.aligned", "", "wgmma.wait_group.sync.aligned <group|>"),
    PTXRow("nvvm.tcgen05.fence", "", "tcgen05.fence::<kind|>_thread_sync"),
    PTXRow("nvvm.tcgen05.wait", "", "tcgen05.wait::<kind|>.sync.aligned",
           words={"load": "ld", "store": "st"}),
    PTXRow("nvvm.tcgen05.commit", "addr mask?",
           "tcgen05.commit.<group|cta_1>.mbarrier::arrive::one.<@addr>.b64 [<addr>]",
           words={"cta_1": "cta_group::1", "cta_2": "cta_group::2",
                  "shared::cta": "shared::cluster"},
           source="MLIR 22 NVVMOps.td; PTX ISA, tcgen05.commit: an address in shared memory is "
                  ".shared::cluster"),
    PTXRow("nvvm.griddepcontrol", "", "griddepcontrol.<kind|>"),
)  # fmt: skip
PTX_ROWS: Mapping[str, PTXRow] = MappingProxyType({row.name: row for row in PTX_FOREIGN})


@dataclass(frozen=True, slots=True)
class SilentRow:
    """Operations that other threads cannot notice, or whose accesses are weak: they stay.

    ``names``: patterns, in which ``*`` is anything.
    """

    names: str
    source: str


SILENT = (
    SilentRow("nvvm.read.ptx.sreg.* nvvm.convert.* nvvm.cvt.* nvvm.dot.accumulate.* nvvm.rcp.* "
              "nvvm.prmt nvvm.permute nvvm.mma.* nvvm.wmma.mma nvvm.mapa nvvm.elect.sync "
              "nvvm.shfl.sync nvvm.vote.sync nvvm.match.sync nvvm.redux.sync nvvm.nanosleep "
              "nvvm.pmevent nvvm.breakpoint nvvm.exit nvvm.setmaxregister "
              "nvvm.tcgen05.mma_smem_desc nvvm.clusterlaunchcontrol.query.cancel nvvm.add* "
              "nvvm.sub* nvvm.div* nvvm.fma* nvvm.fadd* "
              "nvvm.sqrt* nvvm.rsqrt* nvvm.sin* nvvm.cos* nvvm.ex2* nvvm.lg2* nvvm.log2* "
              "nvvm.tanh*",
              "PTX ISA: registers alone, or convergent without an ordering of memory"),
    SilentRow("nvvm.prefetch* nvvm.cp.async.bulk.prefetch nvvm.cp.async.bulk.tensor.prefetch",
              "PTX ISA, prefetch, cp.async.bulk.prefetch: hints"),
    SilentRow("nvvm.ldmatrix nvvm.stmatrix nvvm.wmma.load nvvm.wmma.store nvvm.st.bulk",
              "PTX ISA: weak accesses in the generic proxy"),
    SilentRow("gpu.module gpu.func gpu.return gpu.yield gpu.terminator gpu.binary gpu.*_id "
              "gpu.*_dim gpu.*_dim_blocks gpu.num_subgroups gpu.subgroup_size "
              "gpu.dynamic_shared_memory gpu.printf gpu.shuffle gpu.rotate gpu.subgroup_broadcast "
              "gpu.broadcast gpu.subgroup_reduce gpu.ballot gpu.subgroup_mma_compute "
              "gpu.subgroup_mma_constant_matrix gpu.subgroup_mma_elementwise "
              "gpu.subgroup_mma_*_thread_local gpu.warp_execute_on_lane_0",
              "MLIR 22 GPUOps.td: structure, indices, and exchanges of registers in a subgroup"),
    SilentRow("gpu.subgroup_mma_load_matrix gpu.subgroup_mma_store_matrix",
              "MLIR 22 GPUOps.td: weak accesses"),
    SilentRow("gpu.launch gpu.launch_func gpu.wait gpu.alloc gpu.dealloc gpu.memcpy gpu.memset "
              "gpu.host_register gpu.host_unregister gpu.set_default_device gpu.set_csr_pointers "
              "gpu.create_* gpu.destroy_* gpu.sp* gpu.sddmm*",
              "MLIR 22 GPUOps.td: the host's side, which orders kernels and not the threads of "
              "one"),
    SilentRow("rocdl.*.id.[xyz] rocdl.*.dim.[xyz] rocdl.wavefrontsize rocdl.cvt.* rocdl.mfma.* "
              "rocdl.smfmac.* rocdl.wmma.* rocdl.ballot rocdl.mbcnt.* rocdl.readlane "
              "rocdl.readfirstlane "
              "rocdl.update.dpp rocdl.ds_swizzle rocdl.ds_bpermute rocdl.permlane* "
              "rocdl.make.buffer.rsrc "
              "rocdl.fmed3 rocdl.cos rocdl.sin rocdl.exp rocdl.exp2 rocdl.log rocdl.rcp rocdl.sqrt "
              "rocdl.tanh",
              "LLVM IntrinsicsAMDGPU.td: IntrNoMem, registers alone"),
    SilentRow("amdgpu.*dpp amdgpu.*_perm* amdgpu.permlane_swap amdgpu.swizzle_bitmode "
              "amdgpu.*mfma* amdgpu.*wmma amdgpu.ext_packed_* amdgpu.packed_* amdgpu.scaled_* "
              "amdgpu.*dma_base amdgpu.*dma_descriptor amdgpu.fat_raw_buffer_cast "
              "amdgpu.sched_barrier",
              "MLIR 22 AMDGPU.td: registers alone"),
    SilentRow("amdgpu.raw_buffer_load amdgpu.raw_buffer_store amdgpu.transpose_load",
              "MLIR 22 AMDGPU.td: weak accesses"),
    SilentRow("nvgpu.mma.* nvgpu.rcp nvgpu.warpgroup.generate.descriptor "
              "nvgpu.warpgroup.mma.init.* nvgpu.tma.create.descriptor "
              "nvgpu.tma.prefetch.descriptor nvgpu.mbarrier.create nvgpu.mbarrier.get "
              "nvgpu.ldmatrix",
              "MLIR 22 NVGPU.td: registers, names, hints and weak accesses"),
)  # fmt: skip

DIALECTS: Mapping[str, str] = MappingProxyType(
    {
        "nvvm": "",
        "rocdl": "",
        "gpu": "convert-gpu-to-nvvm or convert-gpu-to-rocdl",
        "nvgpu": "convert-nvgpu-to-nvvm",
        "amdgpu": "convert-amdgpu-to-rocdl",
    }
)
"""Dialects whose every operation is taken to synchronise until a row says otherwise, each with the
pass of mlir-opt that lowers it to one with rows."""

REFUSED: Mapping[str, str] = MappingProxyType(
    {
        "memref.atomic_rmw": "finalize-memref-to-llvm",
        "memref.generic_atomic_rmw": "expand-strided-metadata and finalize-memref-to-llvm",
        "memref.dma_start": "",
        "memref.dma_wait": "",
    }
)
"""Operations of other dialects that synchronise, and say neither how nor for whom."""

SILENT_CALLS = frozenset({CallKind.NOTHING, CallKind.WAIT, CallKind.ACCESS})
"""Calls that stay; waits too, because passes move nothing over unknown operations."""


@cache
def is_silent(name: str) -> bool:
    """True if the operations of a name stay unchanged, because no other thread notices them."""
    return any(fnmatchcase(name, each) for row in SILENT for each in row.names.split())


def effect_of(name: str) -> EffectRow | None:
    """The effect of an operation named as one of LLVM's intrinsics; None for any other."""
    return row_of(name.replace("rocdl.", "llvm.amdgcn.", 1)) if name.startswith("rocdl.") else None


def remedy_of(name: str) -> str:
    """The passes of mlir-opt that make of an operation one that may have a row, or ""."""
    return REFUSED.get(name, DIALECTS.get(name.partition(".")[0], ""))


def may_synchronise(name: str) -> bool:
    """True if an operation that is neither understood nor silent has to be refused."""
    return name in REFUSED or name.partition(".")[0] in DIALECTS
