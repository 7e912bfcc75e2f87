"""The rules about AMD code alone."""

from fencewright.checker.findings.finding import Level, Rule
from fencewright.checker.findings.page import amd_page

_ERROR, _WARNING, _NOTE = Level
_ISA = "MI300 ISA 4.4, wait counters"
_MODEL = "LLVM AMDGPUUsage, Memory Model gfx942"
PAGES = (
    amd_page(
        Rule.RAW,
        (_ERROR,),
        summary="A register is used while a load that writes it is in flight",
        text="A load returns at once and writes its register later. The hardware does not hold "
        "back an instruction that reads the register meanwhile: it gets what was there before. A "
        "wait for the load's counter has to come first, on every path.",
        source=_ISA,
        bad="global_load_dword v1, v0, s[0:1]\nv_add_u32_e32 v2, 1, v1\ns_endpgm\n",
        good="global_load_dword v1, v0, s[0:1]\ns_waitcnt vmcnt(0)\n"
        "v_add_u32_e32 v2, 1, v1\ns_endpgm\n",
    ),
    amd_page(
        Rule.WAW,
        (_ERROR,),
        summary="A register is overwritten while a load that writes it is in flight",
        text="When the load completes it replaces the newer value. Two loads of one kind deliver "
        "in order, so that one may overwrite the other's register; everything else has to wait.",
        source=_ISA,
        bad="global_load_dword v1, v0, s[0:1]\nv_mov_b32_e32 v1, 0\ns_endpgm\n",
        good="global_load_dword v1, v0, s[0:1]\ns_waitcnt vmcnt(0)\n"
        "v_mov_b32_e32 v1, 0\ns_endpgm\n",
    ),
    amd_page(
        Rule.ENTRY,
        (_ERROR,),
        summary="A function does not wait for what its caller has in flight",
        text="By LLVM's calling convention a function that is called may find loads to any "
        "register in flight and waits for all counters first. A register that it reads or "
        "writes earlier may be replaced by a load of the caller.",
        source="LLVM, SIInsertWaitcnts: the wait at the entry of a function that is no kernel",
        bad="v_add_u32_e32 v1, v0, v0\ns_setpc_b64 s[30:31]\n",
        good="s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)\n"
        "v_add_u32_e32 v1, v0, v0\ns_setpc_b64 s[30:31]\n",
    ),
    amd_page(
        Rule.RETURN,
        (_ERROR,),
        summary="A function returns with a load in flight",
        text="Its caller knows nothing of the load and may use or overwrite the register at once.",
        source="LLVM, SIInsertWaitcnts: a return waits for what is in flight",
        bad="s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)\n"
        "global_load_dword v0, v[2:3], off\ns_setpc_b64 s[30:31]\n",
        good="s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)\n"
        "global_load_dword v0, v[2:3], off\ns_waitcnt vmcnt(0)\ns_setpc_b64 s[30:31]\n",
    ),
    amd_page(
        Rule.TRANSLATION,
        (_ERROR,),
        summary="A register is overwritten while an access may be replayed",
        text="On gfx1250 an access whose page is missing is issued again, and reads its address "
        "and data from the registers again. Until `s_wait_xcnt` says that the translation is done, "
        "or the access has returned, those registers must keep their values.",
        source="LLVM 24 AMDGPUUsage, Memory Model GFX125x, xcnt",
        bad="global_load_b32 v2, v[0:1], off\nv_mov_b32_e32 v0, 0\ns_wait_loadcnt 0x0\ns_endpgm\n",
        good="global_load_b32 v2, v[0:1], off\ns_wait_xcnt 0x0\nv_mov_b32_e32 v0, 0\n"
        "s_wait_loadcnt 0x0\ns_endpgm\n",
        chip="gfx1250",
    ),
    amd_page(
        Rule.LDS_DMA,
        (_WARNING, _NOTE),
        summary="LDS is read while a load to LDS is in flight",
        text="A load from memory to LDS counts on vmcnt, not on the counter of LDS accesses: a "
        "read of what it writes has to wait for that. Which part of LDS each accesses is not "
        "known, hence a warning. It is a note where elsewhere that load is waited for in time, as "
        "in a pipeline of several buffers.",
        source="MI300 ISA 9.1.9, loads to LDS; 4.4, wait counters",
        bad="global_load_lds_dword v[2:3], off\nds_read_b32 v0, v2\n"
        "s_waitcnt lgkmcnt(0)\ns_endpgm\n",
        good="global_load_lds_dword v[2:3], off\ns_waitcnt vmcnt(0)\nds_read_b32 v0, v2\n"
        "s_waitcnt lgkmcnt(0)\ns_endpgm\n",
    ),
    amd_page(
        Rule.CUMULATIVE_ACQUIRE,
        (_ERROR, _WARNING),
        summary="Acquired data may be passed on to the work-group too early",
        text="Happens-before is transitive: what a wave acquires from the agent has to hold for "
        "its work-group when the wave publishes to that. Where the waves of a work-group are on "
        "several CUs, an invalidate of the L2 that is still in flight leaves the other waves old "
        "lines to read. A warning in a kernel that reads nothing that it has acquired from its "
        "work-group alone.",
        source=f"{_MODEL}, tgsplit execution mode; C++20 [intro.races], happens-before",
        asked='%v = load atomic i32, ptr addrspace(1) %flag syncscope("agent") monotonic, '
        'align 4\nfence syncscope("agent") acquire\n'
        'fence syncscope("workgroup") release\n'
        'store atomic i32 1, ptr addrspace(1) %data syncscope("workgroup") monotonic, '
        "align 4",
        bad=".loc 1 1 1\nglobal_load_dword v2, v0, s[2:3] sc1\n"
        ".loc 1 2 1\ns_waitcnt vmcnt(0)\nbuffer_inv sc1\n"
        ".loc 1 4 1\nglobal_store_dword v0, v1, s[0:1] sc0\ns_endpgm\n",
        good=".loc 1 1 1\nglobal_load_dword v2, v0, s[2:3] sc1\n"
        ".loc 1 2 1\ns_waitcnt vmcnt(0)\nbuffer_inv sc1\n"
        ".loc 1 3 1\ns_waitcnt vmcnt(0)\n"
        ".loc 1 4 1\nglobal_store_dword v0, v1, s[0:1] sc0\ns_endpgm\n",
        descriptor=".amdhsa_tg_split 1\n",
    ),
    amd_page(
        Rule.SCALAR_STALE,
        (_ERROR, _WARNING),
        summary="Data are read through a scalar cache that was not invalidated",
        text="`buffer_inv` leaves the scalar cache as it is. Data that others may have written are "
        "read by vector loads after an acquire, or after `s_dcache_inv`. An error where the source "
        "asks for the order, a warning without one.",
        source=f"{_MODEL}: scalar memory operations are used for constants alone",
        bad="s_load_dwordx2 s[0:1], s[4:5], 0x0\nglobal_load_dword v7, v[4:5], off sc1\n"
        "s_waitcnt vmcnt(0) lgkmcnt(0)\nbuffer_inv sc1\n"
        "s_load_dword s2, s[0:1], 0x0\ns_endpgm\n",
        good="s_load_dwordx2 s[0:1], s[4:5], 0x0\nglobal_load_dword v7, v[4:5], off sc1\n"
        "s_waitcnt vmcnt(0) lgkmcnt(0)\nbuffer_inv sc1\nv_mov_b32_e32 v0, 0\n"
        "global_load_dword v1, v0, s[0:1]\ns_endpgm\n",
    ),
    amd_page(
        Rule.WRITE_BACK_UNWAITED,
        (_WARNING, _NOTE),
        summary="An access is issued while a write-back is under way",
        text="A write-back is complete when vmcnt says so. An access issued before may show "
        "others a flag while their memory lacks the data. The same holds for write-backs of "
        "other waves since a barrier.",
        source=f"{_MODEL}, release: buffer_wbl2, then s_waitcnt vmcnt(0)",
        bad="global_store_dword v[0:1], v2, off\nbuffer_wbl2 sc1\n"
        "global_store_dword v[4:5], v6, off sc1\ns_endpgm\n",
        good="global_store_dword v[0:1], v2, off\nbuffer_wbl2 sc1\ns_waitcnt vmcnt(0)\n"
        "global_store_dword v[4:5], v6, off sc1\ns_endpgm\n",
    ),
    amd_page(
        Rule.LDS_BARRIER,
        (_WARNING, _NOTE),
        summary="A write to LDS is in flight at a barrier",
        text="`s_barrier` waits for waves, not for their accesses. A thread that reads the LDS "
        "before the next barrier may come first; so may one that writes LDS of which a read "
        "is in flight. A note if it takes a launch that the code does not name.",
        source="MI300 ISA 4.3, s_barrier; 4.4, wait counters",
        bad="ds_write_b32 v0, v1\ns_barrier\nds_read_b32 v2, v3\ns_waitcnt lgkmcnt(0)\ns_endpgm\n",
        good="ds_write_b32 v0, v1\ns_waitcnt lgkmcnt(0)\ns_barrier\nds_read_b32 v2, v3\n"
        "s_waitcnt lgkmcnt(0)\ns_endpgm\n",
    ),
    amd_page(
        Rule.LDS_DMA_BARRIER,
        (_WARNING, _NOTE),
        summary="A load to LDS is in flight at a barrier",
        text="LDS is read after the barrier, perhaps by other waves, for whom nobody else can "
        "wait. Nothing is said where the load is waited for before another barrier, and a note "
        "where earlier ones are waited for by number, as in a pipeline of several buffers.",
        source="MI300 ISA 9.1.9, loads to LDS; 4.4, wait counters",
        bad="global_load_lds_dword v[2:3], off\ns_barrier\ns_waitcnt vmcnt(0)\n"
        "ds_read_b32 v2, v3\ns_endpgm\n",
        good="global_load_lds_dword v[2:3], off\ns_waitcnt vmcnt(0)\ns_barrier\n"
        "ds_read_b32 v2, v3\ns_endpgm\n",
    ),
    amd_page(
        Rule.CUMULATIVE,
        (_WARNING, _NOTE),
        summary="A wave publishes stores that other waves may have in flight",
        text="After a barrier one wave often publishes the stores of all. A wave can wait for "
        "its own stores alone, so that every wave has to wait before the barrier. A note if "
        "those stores stay in an L2 of many, which only a write-back publishes.",
        source=f"{_MODEL}, release at workgroup scope before s_barrier",
        bad="global_store_dword v[0:1], v2, off sc1\ns_barrier\n"
        "s_waitcnt vmcnt(0)\nglobal_store_dword v[4:5], v6, off sc1\ns_endpgm\n",
        good="global_store_dword v[0:1], v2, off sc1\ns_waitcnt vmcnt(0)\ns_barrier\n"
        "global_store_dword v[4:5], v6, off sc1\ns_endpgm\n",
    ),
    amd_page(
        Rule.SURPLUS_WRITE_BACK,
        (_NOTE,),
        summary="A write-back is redundant",
        text="On every path all stores are already written back that far, or another write-back "
        "does it in time.",
        source=_MODEL,
        bad="buffer_wbl2 sc1\ns_waitcnt vmcnt(0)\n"
        "global_store_dword v[4:5], v6, off sc1\ns_endpgm\n",
        good="global_store_dword v[4:5], v6, off sc1\ns_endpgm\n",
    ),
    amd_page(
        Rule.SURPLUS_INVALIDATE,
        (_NOTE,),
        summary="An invalidate is redundant",
        text="Before the next invalidate nothing reads data that a cache may hold in an old copy.",
        source=_MODEL,
        bad="global_load_dword v7, v[4:5], off sc1\ns_waitcnt vmcnt(0)\nbuffer_inv sc1\n"
        "global_store_dword v[0:1], v7, off\ns_endpgm\n",
        good="global_load_dword v7, v[4:5], off sc1\ns_waitcnt vmcnt(0)\n"
        "global_store_dword v[0:1], v7, off\ns_endpgm\n",
    ),
    amd_page(
        Rule.UNREACHED,
        (_WARNING,),
        summary="Code that nothing reaches was not checked",
        text="Only an indirect jump can lead there, and where that goes is not known. The exit "
        "status is 3 if nothing worse was found.",
        source="MI300 ISA, s_setpc_b64",
        bad="s_setpc_b64 s[4:5]\nL:\nv_mov_b32_e32 v0, 0\ns_endpgm\n",
        good="s_branch L\nL:\nv_mov_b32_e32 v0, 0\ns_endpgm\n",
    ),
)
