"""The rules that have findings in code of both vendors."""

from fencewright.checker.findings.finding import Level, Rule
from fencewright.checker.findings.page import RulePage, amd_example, ptx_example

_ERROR, _WARNING, _NOTE = Level
_MODELS = "LLVM AMDGPUUsage, Memory Model gfx942; PTX ISA, Memory Consistency Model"

_PRODUCER = (
    "store i32 1, ptr addrspace(1) %data\n"
    'fence syncscope("{agent}") release\n'
    'store atomic i32 1, ptr addrspace(1) %flag syncscope("{agent}") monotonic, align 4'
)
_RAISE = ".loc 1 3 1\nglobal_store_dword v0, v1, s[2:3] sc1\ns_endpgm\n"
_STORE = ".loc 1 1 1\nglobal_store_dword v0, v1, s[0:1]\n"
_WRITE_BACK = ".loc 1 2 1\nbuffer_wbl2 sc1\n"
PAGES = (
    RulePage(
        rule=Rule.RELEASE,
        levels=(_ERROR, _NOTE),
        summary="An access may not be done when its signal issues",
        text="The source orders an access before an atomic write or a barrier by a release; in the "
        "code it may not be done for all of that scope when the atomic or barrier issues. Who sees "
        "the flag may then not see the data. Found with `--source` or `--run`. A note where it "
        "depends on what the documents of the chip leave open.",
        source=_MODELS,
        examples=(
            amd_example(
                source=_PRODUCER.format(agent="agent"),
                bad=f"{_STORE}{_WRITE_BACK}{_RAISE}",
                good=f"{_STORE}{_WRITE_BACK}s_waitcnt vmcnt(0)\n{_RAISE}",
            ),
            ptx_example(
                source=_PRODUCER.format(agent="device"),
                bad=".loc 1 1 1\nst.global.b32 [%rd1], %r1;\n"
                ".loc 1 3 1\nst.relaxed.gpu.global.b32 [%rd2], %r1;\n",
                good=".loc 1 1 1\nst.global.b32 [%rd1], %r1;\n.loc 1 2 1\nfence.acq_rel.gpu;\n"
                ".loc 1 3 1\nst.relaxed.gpu.global.b32 [%rd2], %r1;\n",
            ),
        ),
    ),
    RulePage(
        rule=Rule.ACQUIRE,
        levels=(_ERROR, _NOTE),
        summary="An access may be older than the atomic read before it",
        text="The source orders an access after an atomic read or a barrier by an acquire; in the "
        "code the access may be done before, or read an old copy in a cache. It may then miss what "
        "was written before the flag was raised. Found with `--source` or `--run`. A note where it "
        "depends on what the documents of the chip leave open.",
        source=_MODELS,
        examples=(
            amd_example(
                source='%f = load atomic i32, ptr addrspace(1) %flag syncscope("agent") monotonic, '
                'align 4\nfence syncscope("agent") acquire\n%v = load i32, ptr addrspace(1) %data',
                bad=".loc 1 1 1\nglobal_load_dword v2, v0, s[2:3] sc1\ns_waitcnt vmcnt(0)\n"
                ".loc 1 3 1\nglobal_load_dword v3, v0, s[0:1]\ns_endpgm\n",
                good=".loc 1 1 1\nglobal_load_dword v2, v0, s[2:3] sc1\ns_waitcnt vmcnt(0)\n"
                ".loc 1 2 1\nbuffer_inv sc1\n"
                ".loc 1 3 1\nglobal_load_dword v3, v0, s[0:1]\ns_endpgm\n",
            ),
        ),
    ),
    RulePage(
        rule=Rule.SEQ_CST,
        levels=(_ERROR, _NOTE),
        summary="A read may issue before an earlier write is done",
        text="All seq_cst operations have one order, in which an atomic read comes after the "
        "atomic writes before it. If the read issues before the write is done, two threads that "
        "each write and then read the other's location may both read what was there before. Found "
        "with `--source` or `--run`. A note where it depends on what the documents of the chip "
        "leave open.",
        source=f"C++20 [atomics.order]; {_MODELS}",
        examples=(
            amd_example(
                source='store atomic i32 1, ptr addrspace(1) %data syncscope("agent") seq_cst, '
                'align 4\n%v = load atomic i32, ptr addrspace(1) %flag syncscope("agent") seq_cst, '
                "align 4",
                bad=".loc 1 1 1\nglobal_store_dword v0, v1, s[0:1] sc1\n"
                ".loc 1 2 1\nglobal_load_dword v2, v0, s[2:3] sc1\ns_waitcnt vmcnt(0)\ns_endpgm\n",
                good=".loc 1 1 1\nglobal_store_dword v0, v1, s[0:1] sc1\ns_waitcnt vmcnt(0)\n"
                ".loc 1 2 1\nglobal_load_dword v2, v0, s[2:3] sc1\ns_waitcnt vmcnt(0)\ns_endpgm\n",
            ),
        ),
    ),
    RulePage(
        rule=Rule.COHERENCE,
        levels=(_ERROR,),
        summary="An atomic access lacks the bits of its scope",
        text="An atomic access of the source is one for fewer threads in the code: it may be "
        "served by a cache that the others do not share, or, in PTX, be a weak access or one of a "
        "narrower scope. Found with `--source` or `--run`.",
        source=_MODELS,
        examples=(
            amd_example(
                source='store atomic i32 1, ptr addrspace(1) %flag syncscope("agent") monotonic, '
                "align 4",
                bad=".loc 1 1 1\nglobal_store_dword v0, v1, s[2:3]\ns_endpgm\n",
                good=".loc 1 1 1\nglobal_store_dword v0, v1, s[2:3] sc1\ns_endpgm\n",
            ),
        ),
    ),
    RulePage(
        rule=Rule.LOST_BARRIER,
        levels=(_ERROR,),
        summary="A barrier of the source is not in the code",
        text="Every path of the source passes the barrier, and the code has none at all. Found "
        "with `--source` or `--run`.",
        source="LLVM AMDGPUUsage, llvm.amdgcn.s.barrier; PTX ISA, bar.sync",
        examples=(
            amd_example(
                source="store i32 1, ptr addrspace(3) %lds\n"
                'fence syncscope("workgroup") release\ncall void @llvm.amdgcn.s.barrier()\n'
                'fence syncscope("workgroup") acquire\n%v = load i32, ptr addrspace(3) %lds',
                bad=".loc 1 1 1\nds_write_b32 v0, v1\n.loc 1 2 1\ns_waitcnt lgkmcnt(0)\n"
                ".loc 1 5 1\nds_read_b32 v2, v0\ns_endpgm\n",
                good=".loc 1 1 1\nds_write_b32 v0, v1\n.loc 1 2 1\ns_waitcnt lgkmcnt(0)\n"
                ".loc 1 3 1\ns_barrier\n.loc 1 5 1\nds_read_b32 v2, v0\ns_endpgm\n",
            ),
        ),
    ),
    RulePage(
        rule=Rule.SPIN,
        levels=(_ERROR, _WARNING, _NOTE),
        summary="A loop waits for memory by a load that a cache may serve",
        text="The loop may read the same old value for ever. AMD: the L1 may serve the load, and "
        "nothing in the loop invalidates it; a note where that is right within a work-group. PTX: "
        "the read is weak, and a weak read need not see a write of another thread.",
        source=_MODELS,
        examples=(
            amd_example(
                bad="L:\nglobal_load_dword v7, v[4:5], off\ns_waitcnt vmcnt(0)\n"
                "v_cmp_eq_u32_e32 vcc, 0, v7\ns_cbranch_vccnz L\ns_endpgm\n",
                good="L:\nglobal_load_dword v7, v[4:5], off sc1\ns_waitcnt vmcnt(0)\n"
                "v_cmp_eq_u32_e32 vcc, 0, v7\ns_cbranch_vccnz L\ns_endpgm\n",
            ),
            ptx_example(
                bad="L: ld.global.b32 %r1, [%rd2];\nsetp.eq.u32 %p2, %r1, 0;\n@%p2 bra L;\n",
                good="L: ld.relaxed.gpu.global.b32 %r1, [%rd2];\nsetp.eq.u32 %p2, %r1, 0;\n"
                "@%p2 bra L;\n",
            ),
        ),
    ),
    RulePage(
        rule=Rule.UNORDERED_WAIT,
        levels=(_ERROR, _WARNING, _NOTE),
        summary="A wait for a flag orders nothing after it",
        text="What is read after the wait may be older than the flag, for lack of an acquire of "
        "a scope that includes who wrote it. PTX: a race that an acquire would end; or, "
        "where another kernel writes the flag, a wait without an acquire: a note if this "
        "kernel signals too. AMD: only where the flag's value has no other use.",
        source=_MODELS,
        examples=(
            amd_example(
                bad="L:\nglobal_load_dword v7, v[4:5], off sc1\ns_waitcnt vmcnt(0)\n"
                "v_cmp_eq_u32_e32 vcc, 0, v7\ns_cbranch_vccnz L\n"
                "global_load_dword v3, v[0:1], off\ns_endpgm\n",
                good="L:\nglobal_load_dword v7, v[4:5], off sc1\ns_waitcnt vmcnt(0)\n"
                "v_cmp_eq_u32_e32 vcc, 0, v7\ns_cbranch_vccnz L\nbuffer_inv sc1\n"
                "global_load_dword v3, v[0:1], off\ns_endpgm\n",
            ),
            ptx_example(
                bad="L: ld.relaxed.gpu.global.b32 %r2, [%rd2];\nsetp.eq.u32 %p2, %r2, 0;\n"
                "@%p2 bra L;\nld.global.b32 %r3, [%rd1];\n",
                good="L: ld.acquire.gpu.global.b32 %r2, [%rd2];\nsetp.eq.u32 %p2, %r2, 0;\n"
                "@%p2 bra L;\nld.global.b32 %r3, [%rd1];\n",
            ),
        ),
    ),
    RulePage(
        rule=Rule.UNORDERED_SIGNAL,
        levels=(_ERROR, _WARNING, _NOTE),
        summary="A flag is written that orders nothing before it",
        text="Another thread may see the flag before the earlier stores: no release of a scope "
        "that includes that thread precedes the flag. PTX: a race between blocks that such a "
        "release would end, or that nothing orders; or a strong store that orders nothing for any "
        "kernel that waits. AMD: only where the kernel itself waits for the flag.",
        source=_MODELS,
        examples=(
            amd_example(
                bad="global_store_dword v0, v1, s[0:1]\ns_waitcnt vmcnt(0)\n"
                "global_store_dword v0, v2, s[2:3] sc0 sc1\n"
                "L:\nglobal_load_dword v2, v0, s[2:3] sc0 sc1\ns_waitcnt vmcnt(0)\n"
                "v_cmp_eq_u32_e32 vcc, 0, v2\ns_cbranch_vccnz L\nbuffer_inv sc0 sc1\n"
                "global_load_dword v3, v0, s[4:5]\ns_endpgm\n",
                good="global_store_dword v0, v1, s[0:1]\nbuffer_wbl2 sc0 sc1\ns_waitcnt vmcnt(0)\n"
                "global_store_dword v0, v2, s[2:3] sc0 sc1\n"
                "L:\nglobal_load_dword v2, v0, s[2:3] sc0 sc1\ns_waitcnt vmcnt(0)\n"
                "v_cmp_eq_u32_e32 vcc, 0, v2\ns_cbranch_vccnz L\nbuffer_inv sc0 sc1\n"
                "global_load_dword v3, v0, s[4:5]\ns_endpgm\n",
            ),
            ptx_example(
                bad="L: atom.acquire.gpu.global.cas.b32 %r2, [%rd2], 0, 1;\n"
                "setp.ne.u32 %p2, %r2, 0;\n@%p2 bra L;\nst.global.b32 [%rd1], %r3;\n"
                "st.relaxed.gpu.global.b32 [%rd2], 0;\n",
                good="L: atom.acquire.gpu.global.cas.b32 %r2, [%rd2], 0, 1;\n"
                "setp.ne.u32 %p2, %r2, 0;\n@%p2 bra L;\nst.global.b32 [%rd1], %r3;\n"
                "st.release.gpu.global.b32 [%rd2], 0;\n",
            ),
        ),
    ),
    RulePage(
        rule=Rule.MISSING_BARRIER,
        levels=(_ERROR, _WARNING, _NOTE),
        summary="Threads access memory that others write, with no barrier between",
        text="Two threads of a block access one place, one of them writes, and some launch lets "
        "them meet, as no barrier is between. PTX: an error where execution shows it. A warning "
        "otherwise, a note where it takes a launch or values that the text does not say.",
        source="PTX ISA, Memory Consistency Model, data races; bar.sync; MI300 ISA 4.3, s_barrier",
        examples=(
            ptx_example(
                bad="@%p0 st.shared.b32 [tile], 1;\nld.shared.b32 %r3, [tile];\n"
                "st.global.b32 [%rd1], %r3;\n",
                good="@%p0 st.shared.b32 [tile], 1;\nbar.sync 0;\nld.shared.b32 %r3, [tile];\n"
                "st.global.b32 [%rd1], %r3;\n",
            ),
        ),
    ),
    RulePage(
        rule=Rule.SURPLUS_BARRIER,
        levels=(_NOTE,),
        summary="A barrier is redundant",
        text="No accesses before it conflict with those after it, or another barrier stands "
        "between the same accesses.",
        source=_MODELS,
        examples=(
            amd_example(
                bad="ds_write_b32 v0, v1\ns_waitcnt lgkmcnt(0)\ns_barrier\ns_barrier\n"
                "ds_read_b32 v2, v3\ns_waitcnt lgkmcnt(0)\n"
                "global_store_dword v0, v2, s[0:1]\ns_endpgm\n",
                good="ds_write_b32 v0, v1\ns_waitcnt lgkmcnt(0)\ns_barrier\n"
                "ds_read_b32 v2, v3\ns_waitcnt lgkmcnt(0)\n"
                "global_store_dword v0, v2, s[0:1]\ns_endpgm\n",
                options=("--surplus",),
            ),
            ptx_example(
                bad="st.shared.b32 [tile], %r1;\nbar.sync 0;\nbar.sync 0;\n"
                "ld.shared.b32 %r3, [tile];\nst.global.b32 [%rd1], %r3;\n",
                good="st.shared.b32 [tile], %r1;\nbar.sync 0;\n"
                "ld.shared.b32 %r3, [tile];\nst.global.b32 [%rd1], %r3;\n",
                options=("--surplus",),
            ),
        ),
    ),
    RulePage(
        rule=Rule.SURPLUS_WAIT,
        levels=(_NOTE,),
        summary="A wait is redundant",
        text="Nothing can be outstanding that it waits for. AMD with `--surplus`: also where "
        "nothing uses, overwrites or publishes what it waits for before the next wait. PTX: a wait "
        "for groups that leaves all that can be in flight.",
        source=f"{_MODELS}; PTX ISA, cp.async.wait_group",
        examples=(
            amd_example(
                bad="s_waitcnt lgkmcnt(0)\nglobal_store_dword v0, v1, s[0:1]\ns_endpgm\n",
                good="global_store_dword v0, v1, s[0:1]\ns_endpgm\n",
                options=("--notes",),
            ),
            ptx_example(
                bad="cp.async.cg.shared.global [tile], [%rd1], 16;\ncp.async.commit_group;\n"
                "cp.async.wait_group 1;\ncp.async.wait_group 0;\nbar.sync 0;\n"
                "ld.shared.b32 %r8, [tile];\n",
                good="cp.async.cg.shared.global [tile], [%rd1], 16;\ncp.async.commit_group;\n"
                "cp.async.wait_group 0;\nbar.sync 0;\nld.shared.b32 %r8, [tile];\n",
                options=("--surplus",),
            ),
        ),
    ),
    RulePage(
        rule=Rule.UNKNOWN,
        levels=(_WARNING,),
        summary="An instruction is not known",
        text="AMD: a mnemonic without a row. PTX: an operation without a row, or a name that is no "
        "form of its operation. It may do anything, waits included: nothing about it is certain. "
        "The exit status is 3 if nothing worse was found.",
        source="the manuals' lists of instructions",
        examples=(
            amd_example(bad="v_frobnicate v0\ns_endpgm\n", good="v_mov_b32_e32 v0, 0\ns_endpgm\n"),
            ptx_example(
                bad="ld.acqire.gpu.b32 %r1, [%rd1];\n", good="ld.acquire.gpu.b32 %r1, [%rd1];\n"
            ),
        ),
    ),
    RulePage(
        rule=Rule.NOT_COMPARED,
        levels=(_WARNING,),
        summary="A function could not be compared with its source",
        text="It is missing on one side, or its instructions cannot be assigned to the operations "
        "of the source; the message says why. The exit status is 3 if nothing worse was found.",
        source="docs/checker-amd.md, Against the source",
        examples=(
            amd_example(
                source=_PRODUCER.format(agent="agent"),
                bad=f"{_STORE}{_WRITE_BACK}s_waitcnt vmcnt(0)\n.loc 1 9 1\n"
                "global_atomic_add v0, v1, s[2:3]\ns_endpgm\n",
                good=f"{_STORE}{_WRITE_BACK}s_waitcnt vmcnt(0)\n{_RAISE}",
            ),
        ),
    ),
)
