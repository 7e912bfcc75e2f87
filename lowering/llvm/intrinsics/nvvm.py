"""Effects of NVIDIA's intrinsics, judged one by one: LLVM's attributes serve its optimiser alone.

Sources: PTX ISA 9.0, the instruction that each is; LLVM 22 NVPTXUsage and IntrinsicsNVVM.td.
"""

from fencewright.lowering.llvm.intrinsics.row import CallKind, EffectRow, several
from fencewright.lowering.vocabulary import AddressSpace

_GLOBAL = AddressSpace.GLOBAL
_NOTHING, _ACCESS, _OTHER = CallKind.NOTHING, CallKind.ACCESS, CallKind.OTHER
_ASYNC = "asynchronous: argument memory, for LLVM, as if it were over at once"
_FLAG = "argument memory, for LLVM: others wait for it, or it waits for them"

NVVM_EFFECTS = (
    # Between the threads of a warp
    *several("nvvm.shfl.{up,down,bfly,idx}.* nvvm.shfl.sync.{up,down,bfly,idx}.* "
             "nvvm.vote.{all,any,uni,ballot} nvvm.vote.{all,any,uni,ballot}.sync "
             "nvvm.match.{all,any}.sync.* nvvm.redux.sync.** nvvm.elect.sync nvvm.activemask",
             _NOTHING,
             "PTX ISA, shfl.sync, vote.sync, match.sync, redux.sync, elect.sync, activemask: "
             "exchange registers; no ordering of memory"),
    *several("nvvm.bar.warp.sync", _OTHER,
             "PTX ISA, bar.warp.sync: orders memory among its threads"),
    # The thread by itself
    *several("nvvm.read.ptx.sreg.**", _NOTHING, "PTX ISA, Special Registers"),
    *several("nvvm.nanosleep nvvm.pm.event.mask nvvm.setmaxnreg.{inc,dec}.sync.aligned.u32",
             _NOTHING,
             "PTX ISA, nanosleep, pmevent, setmaxnreg",
             "anything, for LLVM, so that they stay in their place"),
    *several("nvvm.prefetch.** nvvm.prefetchu.L1 nvvm.applypriority.**", _NOTHING,
             "PTX ISA, prefetch, applypriority: hints to caches",
             "argument memory, for LLVM, so that they stay in their place"),
    *several("nvvm.exit", _OTHER, "PTX ISA, exit",
             "no memory of the program, for LLVM: the thread ends"),
    *several("nvvm.compiler.{error,warn}", _OTHER,
             "IntrinsicsNVVM.td: there is to be no such program"),
    # Weak accesses
    EffectRow("nvvm.ldmatrix.sync.aligned.**", _ACCESS, "PTX ISA, ldmatrix: weak", reads=(0,)),
    EffectRow("nvvm.stmatrix.sync.aligned.**", _ACCESS, "PTX ISA, stmatrix: weak", writes=(0,)),
    EffectRow("nvvm.wmma.*.load.**", _ACCESS, "PTX ISA, wmma.load: weak", reads=(0,)),
    EffectRow("nvvm.wmma.*.store.**", _ACCESS, "PTX ISA, wmma.store: weak", writes=(0,)),
    EffectRow("nvvm.ldu.global.{i,f,p}", _ACCESS, "PTX ISA, ldu: what nobody writes", reads=(0,)),
    EffectRow("nvvm.st.bulk", _ACCESS, "PTX ISA, st.bulk: weak", writes=(0,)),
    EffectRow("nvvm.st.bulk.shared.cta", _ACCESS, "PTX ISA, st.bulk: weak", writes=(0,)),
    EffectRow("nvvm.tensormap.replace.**", _ACCESS,
              "PTX ISA, tensormap.replace: a weak access to all of the tensor-map", writes=(0,),
              reads=(0,), unlike_llvm="writes only, for LLVM: PTX says access"),
    EffectRow("nvvm.{tex,tld4,suld}.**", _ACCESS,
              "PTX ISA, Texture Instructions, Surface Instructions: "
              "weak, through their own proxy", reads=(_GLOBAL,)),
    EffectRow("nvvm.sust.**", _ACCESS,
              "PTX ISA, Surface Instructions: weak, through their own proxy",
              writes=(_GLOBAL,)),
    EffectRow("nvvm.atomic.**", CallKind.ATOMIC, "PTX ISA, atom: relaxed", reads=(0,), writes=(0,),
              unlike_llvm="atomics, by which threads synchronise"),
    *several("nvvm.discard.** ", _OTHER, "PTX ISA, discard.L2: what was there is lost"),
    # Barriers
    *several("nvvm.barrier.cta.sync.{aligned.all,all}", CallKind.BARRIER,
             "PTX ISA, barrier.sync: also orders memory among the threads of the CTA"),
    *several("nvvm.barrier.cta.** nvvm.barrier.cluster.**", _OTHER,
             "PTX ISA, barrier: some threads, or in two halves"),
    *several("nvvm.mbarrier.**", _OTHER, "PTX ISA, mbarrier",  _FLAG),
    *several("nvvm.griddepcontrol.**", _OTHER,
             "PTX ISA, griddepcontrol: grids wait for one another"),
    # Fences
    *several("nvvm.membar.* nvvm.tcgen05.fence.**", _OTHER, "PTX ISA, membar, tcgen05.fence"),
    *several("nvvm.fence.**", _OTHER, "PTX ISA, fence",
             "a fence of the tensor-map's proxy has the map's memory alone, for LLVM"),
    # Asynchronous
    *several("nvvm.cp.async.** nvvm.clusterlaunchcontrol.try_cancel.**", _OTHER,
             "PTX ISA, Asynchronous Operations", _ASYNC),
    *several("nvvm.st.async nvvm.st.async.**", _OTHER, "LLVM 24; PTX ISA, Asynchronous Operations"),
    *several("nvvm.wgmma.**", _OTHER, "PTX ISA, wgmma: asynchronous, and what waits for it"),
    *several("nvvm.tcgen05.**", _OTHER,
             "PTX ISA, tcgen05: tensor cores, asynchronous, and what waits for them",
             "tensor memory or none, for LLVM, as if they were over at once"),
)  # fmt: skip
"""Their rows. Those that LLVM knows to touch nothing and to have no side effect need none."""
