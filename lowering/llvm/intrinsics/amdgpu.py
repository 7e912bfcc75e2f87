"""Effects of AMD's intrinsics, judged one by one: LLVM's attributes serve its optimiser alone.

Sources: LLVM 22 AMDGPUUsage, LLVM IR Intrinsics and Memory Model; IntrinsicsAMDGPU.td; AMD's ISA
manuals (MI300, CDNA4, RDNA4), memory and LDS instructions.
"""

from fencewright.lowering.evidence import Evidence
from fencewright.lowering.llvm.intrinsics.row import CallKind, EffectRow, ZeroBits, several
from fencewright.lowering.vocabulary import AddressSpace

_GLOBAL, _LDS = AddressSpace.GLOBAL, AddressSpace.LOCAL
_NOTHING, _ACCESS, _ATOMIC, _OTHER = (
    CallKind.NOTHING, CallKind.ACCESS, CallKind.ATOMIC, CallKind.OTHER,
)  # fmt: skip

_WEAK = ZeroBits(operand=-1, mask=1 << 31 | 1 << 4 | 1 << 0)
"""A cache policy without volatile and the bits that widen its scope (sc1, scc, sc0, glc).

With these, an access through a buffer is how kernels by hand write what LLVM calls monotonic.
Source: IntrinsicsAMDGPU.td, cache policy of the buffer intrinsics.
"""

_USAGE = "LLVM AMDGPUUsage, LLVM IR Intrinsics"
_TABLE = "IntrinsicsAMDGPU.td"
_BUFFER = f"{_TABLE}, AMDGPUBufferIntrinsics: a buffer is in global memory"
_TEXTURE = f"{_TABLE}, AMDGPUImageIntrinsics; MI300 ISA 9: through the vector L1, in vmcnt"
_ANY_MEMORY = (
    "any memory, for LLVM: it is memory and LDS, and not in order with the wave's other LDS"
)
_WEAK_GFX12 = ZeroBits(operand=-1, mask=1 << 31 | 1 << 4 | 1 << 3)
"""The same on gfx12 and later, where bits 4 and 3 are the scope."""

_ASYNCCNT = "LLVM 24 AMDGPUUsage, Memory Model GFX125x, ASYNCcnt: asynchronous"
_STORED_BY_NOW = "what copies have stored has come after any release before it"
_OVER_AT_ONCE = "asynchronous: argument memory, for LLVM, as if it were over at once"
_STAYS = "the wave alone: LLVM says side effects, so that they stay in their place"

AMDGPU_EFFECTS = (
    # LDS
    EffectRow("amdgcn.ds.read.{tr4.b64,tr6.b96,tr8.b64,tr16.b64}", _ACCESS,
              "CDNA4 ISA, ds_read_b64_tr_b16 and its kin: a read of LDS", reads=(_LDS,)),
    EffectRow("amdgcn.ds.load.{tr4.b64,tr6.b96,tr8.b64,tr16.b128}", _ACCESS,
              f"{_TABLE}: gfx1250's names of the same", reads=(_LDS,)),
    EffectRow("amdgcn.lds.direct.load", _ACCESS, f"{_TABLE}: one dword of LDS", reads=(_LDS,)),
    EffectRow("amdgcn.ds.{append,consume}", _ATOMIC,
              "MI300 ISA, ds_append: counts lanes atomically",
              reads=(0,), writes=(0,),
              unlike_llvm="an atomic, though it says neither that nor nosync"),
    EffectRow("amdgcn.ds.bvh.stack.**", _OTHER, f"{_TABLE}: a stack in LDS, of ray tracing"),
    EffectRow("amdgcn.ds.atomic.**", _OTHER, "gfx1250: arrives at a barrier in LDS",
              unlike_llvm="a barrier: others wait for it"),
    EffectRow("amdgcn.ds.ordered.{add,swap}", _OTHER, "waves wait for their turn at it"),
    EffectRow("amdgcn.ds.{add,sub}.gs.reg.rtn", _OTHER, "registers that all waves share"),
    EffectRow("amdgcn.ds.gws.**", _OTHER, "MI300 ISA, ds_gws_barrier and its kin",
              unlike_llvm="inaccessible memory only, yet barriers and semaphores of all waves"),
    # Buffers
    EffectRow("amdgcn.{raw,struct}.ptr.buffer.{load,load.format}", _ACCESS, _BUFFER,
              reads=(_GLOBAL,), plain_if=_WEAK),
    EffectRow("amdgcn.{raw,struct}.ptr.tbuffer.load", _ACCESS, _BUFFER,
              reads=(_GLOBAL,), plain_if=_WEAK),
    EffectRow("amdgcn.{raw,struct}.{buffer.load,buffer.load.format,tbuffer.load}", _ACCESS, _BUFFER,
              reads=(_GLOBAL,), plain_if=_WEAK),
    EffectRow("amdgcn.{raw,struct}.ptr.buffer.{store,store.format}", _ACCESS, _BUFFER,
              writes=(_GLOBAL,), plain_if=_WEAK),
    EffectRow("amdgcn.{raw,struct}.ptr.tbuffer.store", _ACCESS, _BUFFER,
              writes=(_GLOBAL,), plain_if=_WEAK),
    EffectRow("amdgcn.{raw,struct}.{buffer.store,buffer.store.format,tbuffer.store}", _ACCESS,
              _BUFFER,
              writes=(_GLOBAL,), plain_if=_WEAK),
    EffectRow("amdgcn.{raw,struct}.ptr.buffer.atomic.**", _ATOMIC, _BUFFER,
              reads=(_GLOBAL,), writes=(_GLOBAL,),
              unlike_llvm="atomics, by which threads synchronise"),
    EffectRow("amdgcn.{raw,struct}.buffer.atomic.**", _ATOMIC, _BUFFER,
              reads=(_GLOBAL,), writes=(_GLOBAL,)),
    EffectRow("amdgcn.{raw,struct}.{ptr.atomic,atomic}.buffer.load", _ATOMIC, _BUFFER,
              reads=(_GLOBAL,), unlike_llvm="an atomic load, which LLVM lets write as well"),
    # Between memory and LDS, past the registers
    EffectRow("amdgcn.{raw,struct}.ptr.buffer.load.lds", CallKind.ASYNC,
              "MI300 ISA 9.1.9: to LDS past the registers, in vmcnt", reads=(_GLOBAL,),
              writes=(_LDS,),
              plain_if=_WEAK),
    EffectRow("amdgcn.{raw,struct}.buffer.load.lds", CallKind.ASYNC,
              "MI300 ISA 9.1.9: to LDS past the registers, in vmcnt", reads=(_GLOBAL,),
              writes=(_LDS,),
              plain_if=_WEAK, unlike_llvm=_ANY_MEMORY),
    EffectRow("amdgcn.{global.load,load.to}.lds", CallKind.ASYNC,
              "MI300 ISA 10.5: to LDS past the registers, in vmcnt", reads=(_GLOBAL,),
              writes=(_LDS,),
              plain_if=_WEAK, unlike_llvm=_ANY_MEMORY),
    EffectRow("amdgcn.{global.load,load,load.to}.async.lds", CallKind.ASYNC,
              "LLVM 24 AMDGPUAsyncOperations: the same, told apart by marks", reads=(_GLOBAL,),
              writes=(_LDS,), plain_if=_WEAK),
    EffectRow("amdgcn.load.async.to.lds", CallKind.ASYNC,
              "LLVM 24 AMDGPUAsyncOperations: the same, told apart by marks", reads=(_GLOBAL,),
              writes=(_LDS,), plain_if=_WEAK),
    EffectRow("amdgcn.{raw,struct}.{ptr.buffer,buffer}.load.async.lds", CallKind.ASYNC,
              "LLVM 24 AMDGPUAsyncOperations: the same, told apart by marks", reads=(_GLOBAL,),
              writes=(_LDS,), plain_if=_WEAK),
    *several("amdgcn.asyncmark", _NOTHING, "LLVM 24 AMDGPUAsyncOperations: a mark for the wait"),
    EffectRow("amdgcn.wait.asyncmark", _ACCESS, f"LLVM 24 AMDGPUAsyncOperations; {_STORED_BY_NOW}",
              writes=(_GLOBAL, _LDS)),
    EffectRow("amdgcn.global.load.async.to.lds.*", CallKind.ASYNC, f"{_ASYNCCNT}: to LDS",
              reads=(_GLOBAL,), writes=(_LDS,), plain_if=_WEAK_GFX12),
    EffectRow("amdgcn.global.store.async.from.lds.*", CallKind.ASYNC, f"{_ASYNCCNT}: to memory",
              reads=(_LDS,), writes=(_GLOBAL,), plain_if=_WEAK_GFX12),
    *several("amdgcn.cluster.load.async.to.lds.*", _OTHER,
             f"{_ASYNCCNT}: several work-groups load together", _OVER_AT_ONCE),
    *several("amdgcn.tensor.{load.to,store.from}.lds amdgcn.tensor.{load.to,store.from}.lds.d2",
             _OTHER,
             "gfx1250 ISA: asynchronous, in tensorcnt; a descriptor may have it arrive at a "
             "barrier in LDS",
             _OVER_AT_ONCE),
    # Global memory
    EffectRow("amdgcn.global.load.{tr.b64,tr.b128,tr4.b64,tr6.b96}", _ACCESS,
              f"{_TABLE}: a load that transposes", reads=(_GLOBAL,)),
    EffectRow("amdgcn.{flat,global}.atomic.{fmin,fmax}.num", _ATOMIC, f"{_TABLE}: gfx12's atomics",
              reads=(0,), writes=(0,), unlike_llvm="atomics, by which threads synchronise"),
    EffectRow("amdgcn.global.atomic.ordered.add.b64", _OTHER, "waves wait for their turn at it",
              unlike_llvm="argument memory, for LLVM, as if nobody waited"),
    *several("amdgcn.cooperative.atomic.{load,store}.*", _OTHER, f"{_TABLE}: lanes access together",
             "memory that is read or written, for LLVM: they are atomics"),
    *several("amdgcn.{flat,global}.load.monitor.*", _OTHER,
             "gfx1250: another wave's store wakes it",
             "argument memory that is read, for LLVM: it is how a wave waits for a flag"),
    *several("amdgcn.cluster.load.*", _OTHER, "gfx1250: several work-groups load together",
             "argument memory that is read, for LLVM: work-groups may wait for one another",
             Evidence.INFERRED),
    *several("amdgcn.{flat,global}.prefetch amdgcn.s.prefetch.data amdgcn.s.buffer.prefetch.data",
             _NOTHING, "RDNA4 ISA: a hint; any cache may fetch anything at any time",
             "memory, for LLVM, so that they stay in their place"),
    *several("amdgcn.s.prefetch.inst", _NOTHING, "LLVM 24; RDNA4 ISA: a hint"),
    # Images
    EffectRow("amdgcn.image.{load,load.mip,msaa.load,msaa.load.x}.**", _ACCESS, _TEXTURE,
              reads=(_GLOBAL,), plain_if=_WEAK),
    EffectRow("amdgcn.image.{sample,gather4}.**", _ACCESS, _TEXTURE, reads=(_GLOBAL,),
              plain_if=_WEAK,
              unlike_llvm="those without a result write something, for LLVM, so that they stay"),
    EffectRow("amdgcn.image.{store,store.mip}.**", _ACCESS, _TEXTURE, writes=(_GLOBAL,),
              plain_if=_WEAK),
    EffectRow("amdgcn.image.atomic.**", _ATOMIC, _TEXTURE, reads=(_GLOBAL,), writes=(_GLOBAL,)),
    *several("amdgcn.image.{bvh,bvh64,bvh8,bvh.dual}.intersect.ray", _OTHER,
             f"{_TABLE}: ray tracing",
             "nobody has judged it: no chip for computing has it", Evidence.INFERRED),
    # Barriers and waits
    *several("amdgcn.s.barrier", CallKind.BARRIER, "MI300 ISA, s_barrier"),
    *several("amdgcn.s.barrier.** amdgcn.s.cluster.barrier amdgcn.s.get.barrier.state "
             "amdgcn.s.get.named.barrier.state amdgcn.s.wakeup.barrier", _OTHER,
             "RDNA4 ISA, s_barrier_signal and its kin"),
    *several("amdgcn.s.waitcnt", CallKind.WAIT, "MI300 ISA 4.4",
             "anything, for LLVM, so that it stays: it completes accesses of this wave alone"),
    *several("amdgcn.s.wait.{loadcnt,storecnt,samplecnt,bvhcnt,dscnt,kmcnt,expcnt}", CallKind.WAIT,
             "RDNA4 ISA, s_wait_loadcnt and its kin",
             "anything, for LLVM, so that it stays: it completes accesses of this wave alone"),
    EffectRow("amdgcn.s.wait.asynccnt", _ACCESS, f"{_ASYNCCNT}; {_STORED_BY_NOW}",
              writes=(_GLOBAL, _LDS),
              unlike_llvm="inaccessible memory only, for LLVM: it completes accesses"),
    *several("amdgcn.s.wait.tensorcnt", _OTHER, "gfx1250: completes what is asynchronous",
             "inaccessible memory only, for LLVM: it completes accesses"),
    *several("amdgcn.s.wait.{event,event.export.ready}", _OTHER, "waits for others"),
    *several("amdgcn.buffer.wbinvl1 amdgcn.buffer.wbinvl1.{sc,vol}", _OTHER,
             "MI300 ISA: cache maintenance, though TableGen has no memory for it"),
    *several("amdgcn.s.dcache.** amdgcn.s.sendmsg amdgcn.s.sendmsg.rtn amdgcn.s.sendmsghalt",
             _OTHER,
             "MI300 ISA: cache maintenance; messages, which others may wait for"),
    # The wave by itself
    *several("amdgcn.s.{sleep,sleep.var,monitor.sleep,nop,setprio,setprio.inc.wg} "
             "amdgcn.sched.{barrier,group.barrier} amdgcn.iglp.opt amdgcn.wave.barrier "
             "amdgcn.s.{getreg,setreg,incperflevel,decperflevel,ttracedata,ttracedata.imm} "
             "amdgcn.s.{memtime,memrealtime} ", _NOTHING, _USAGE, _STAYS),
    *several("amdgcn.live.mask", _NOTHING, _USAGE),
    *several("amdgcn.s.alloc.vgpr", _NOTHING, "LLVM 24; RDNA4 ISA: registers of the wave"),
    *several("amdgcn.s.get.waveid.in.workgroup amdgcn.pops.exiting.wave.id", _OTHER,
             f"{_TABLE}: graphics, which nobody has judged", evidence=Evidence.INFERRED),
    *several("amdgcn.wqm.demote", _OTHER, f"{_TABLE}: lanes end", "the thread ends"),
    *several("amdgcn.{if,else,loop,end.cf,kill,unreachable,endpgm,init.exec,"
             "init.exec.from.input,init.whole.wave,call.whole.wave,cs.chain,s.sethalt}", _OTHER,
             f"{_TABLE}: which lanes go on, where, or whether"),
    *several("amdgcn.exp amdgcn.exp.{compr,row}", _OTHER, f"{_TABLE}: exports to a picture",
             "inaccessible memory only, for LLVM: nobody has judged it", Evidence.INFERRED),
)  # fmt: skip
"""Their rows. Those that LLVM knows to touch nothing and to have no side effect need none."""
