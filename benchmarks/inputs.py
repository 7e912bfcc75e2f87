"""The same scoped operations as MLIR and as LLVM IR, and the same kernels as PTX and as AMD
assembly, at any size, for both sides of a comparison."""

from itertools import islice, product

_SCOPES = ("agent", "workgroup", "system", "wavefront")
_PTR = "!llvm.ptr<1>"


def _mix():
    """A quarter each of acquire loads, release stores, acq_rel RMWs and seq_cst fences."""
    while True:
        for scope, op in product(_SCOPES, range(4)):
            yield op, scope


def mlir(operations: int, per_function: int) -> str:
    """A module of ``operations`` scoped operations, ``per_function`` in each kernel."""
    forms = (
        "%v{i} = scoped.load acquire {scope} %p : !llvm.ptr<1> -> i32",
        "scoped.store release {scope} %v, %p : i32, !llvm.ptr<1>",
        "%v{i} = scoped.atomic_rmw add acq_rel {scope} %p, %v : !llvm.ptr<1>, i32",
        "scoped.fence seq_cst {scope}",
    )
    text: list[str] = []
    mix = _mix()
    for number, start in enumerate(range(0, operations, per_function)):
        text.append(f"func.func @k{number}(%p: {_PTR}, %v: i32) attributes {{gpu.kernel}} {{")
        count = min(per_function, operations - start)
        for i, (op, scope) in enumerate(islice(mix, count)):
            text.append("  " + forms[op].format(i=i, scope=scope))
        text += ["  func.return", "}"]
    return "\n".join([*text, ""])


def llvm_ir(operations: int, per_function: int) -> str:
    """The same module as LLVM IR."""
    forms = (
        "%v{i} = load atomic i32, ptr addrspace(1) %p{sync} acquire, align 4",
        "store atomic i32 %v, ptr addrspace(1) %p{sync} release, align 4",
        "%v{i} = atomicrmw add ptr addrspace(1) %p, i32 %v{sync} acq_rel",
        "fence{sync} seq_cst",
    )
    text = ['target triple = "amdgcn-amd-amdhsa"']
    mix = _mix()
    for number, start in enumerate(range(0, operations, per_function)):
        text.append(f"define amdgpu_kernel void @k{number}(ptr addrspace(1) %p, i32 %v) {{")
        count = min(per_function, operations - start)
        for i, (op, scope) in enumerate(islice(mix, count)):
            sync = "" if scope == "system" else f' syncscope("{scope}")'
            text.append("  " + forms[op].format(i=i, sync=sync))
        text += ["  ret void", "}"]
    return "\n".join([*text, ""])


def llvm_ir_kernels(
    *, functions: int = 1, blocks: int = 1, instructions: int, every: int, of_functions: int = 1
) -> str:
    """AMD kernels of so many ``blocks`` of ``instructions``, one of ``every`` an acq_rel atomic.

    One of ``of_functions`` has any. Of the others six in ten are arithmetic, the rest addresses,
    loads and stores.
    """
    lines = ['target triple = "amdgcn-amd-amdhsa"']
    parameters = "ptr addrspace(1) %p, ptr addrspace(1) %q, i32 %v"
    for function in range(functions):
        lines.append(f"define amdgpu_kernel void @k{function}({parameters}) {{\nentry:")
        last = "%v"
        for block in range(blocks):
            if block:
                lines.append(f"  %c{block} = icmp eq i32 {last}, 0")
                lines.append(f"  br i1 %c{block}, label %b{block}, label %b{block}\nb{block}:")
            for number in range(1, instructions + 1):
                name = f"{block}.{number}"
                if number % every == 0 and function % of_functions == 0:
                    lines.append(
                        f"  %x{name} = atomicrmw add ptr addrspace(1) %q, i32 {last} "
                        'syncscope("agent") acq_rel, align 4'
                    )
                    last = f"%x{name}"
                elif number % 10 == 3:
                    lines.append(
                        f"  %g{name} = getelementptr i32, ptr addrspace(1) %p, i32 {last}\n"
                        f"  %l{name} = load i32, ptr addrspace(1) %g{name}, align 4\n"
                        f"  %s{name} = add i32 {last}, %l{name}\n"
                        f"  store i32 %s{name}, ptr addrspace(1) %p, align 4"
                    )
                    last = f"%s{name}"
                elif number % 10 not in (4, 5, 6):
                    lines.append(f"  %s{name} = mul i32 {last}, {number}")
                    last = f"%s{name}"
        lines.append("  ret void\n}")
    return "\n".join([*lines, ""])


_PTX_KERNEL = """.visible .entry k{0}(.param .u64 p, .param .u64 q, .param .u32 n)
{{
\t.reg .pred %p<2>;
\t.reg .b32 %r<12>;
\t.reg .b64 %rd<8>;
\t.shared .align 4 .b8 tile{0}[4096];
\tld.param.u64 %rd1, [p];
\tld.param.u64 %rd2, [q];
\tld.param.u32 %r1, [n];
\tcvta.to.global.u64 %rd3, %rd1;
\tcvta.to.global.u64 %rd4, %rd2;
\tmov.u32 %r2, %tid.x;
\tmov.u32 %r3, %ctaid.x;
\tmov.u32 %r4, %ntid.x;
\tmad.lo.s32 %r5, %r3, %r4, %r2;
\tmul.wide.s32 %rd5, %r5, 4;
\tadd.s64 %rd6, %rd3, %rd5;
\tadd.s64 %rd7, %rd4, %rd5;
\tmov.u32 %r6, tile{0};
\tshl.b32 %r7, %r2, 2;
\tadd.s32 %r6, %r6, %r7;
"""
_PTX_PART = """\tld.global.u32 %r8, [%rd6];
\tmul.lo.s32 %r8, %r8, {1};
\tst.shared.u32 [%r6], %r8;
\tbar.sync 0;
\tld.shared.u32 %r9, [%r6];
\tadd.s32 %r9, %r9, %r8;
\tsetp.gt.s32 %p1, %r1, {1};
\t@%p1 bra $L{0}_{1};
\txor.b32 %r9, %r9, {1};
\tst.global.u32 [%rd7], %r9;
$L{0}_{1}:
\tadd.s32 %r10, %r9, %r8;
"""
_AMD_KERNEL = """\t.globl k{0}
\t.p2align 8
\t.type k{0},@function
k{0}:
\ts_load_dwordx4 s[4:7], s[0:1], 0x0
\ts_load_dword s3, s[0:1], 0x10
\tv_lshlrev_b32_e32 v1, 2, v0
\ts_lshl_b32 s2, s2, 10
\tv_add_u32_e32 v5, s2, v0
\tv_lshlrev_b32_e32 v5, 2, v5
\ts_waitcnt lgkmcnt(0)
"""
_AMD_PART = """\tglobal_load_dword v2, v5, s[4:5]
\ts_waitcnt vmcnt(0)
\tds_write_b32 v1, v2
\ts_waitcnt lgkmcnt(0)
\ts_barrier
\tds_read_b32 v3, v1
\ts_waitcnt lgkmcnt(0)
\tv_add_u32_e32 v3, v3, v2
\ts_cmp_gt_i32 s3, 0x{1:x}
\ts_cbranch_scc1 .LBB{0}_{1}
\tv_xor_b32_e32 v3, 1, v3
\tglobal_store_dword v5, v3, s[6:7]
.LBB{0}_{1}:
\tv_add_u32_e32 v4, v3, v2
"""
_AMD_END = """\ts_endpgm
\t.section .rodata,"a",@progbits
\t.p2align 6, 0x0
\t.amdhsa_kernel k{0}
\t\t.amdhsa_group_segment_fixed_size 4096
\t\t.amdhsa_kernarg_size 20
\t\t.amdhsa_user_sgpr_count 2
\t\t.amdhsa_user_sgpr_kernarg_segment_ptr 1
\t\t.amdhsa_system_sgpr_workgroup_id_x 1
\t\t.amdhsa_next_free_vgpr 8
\t\t.amdhsa_next_free_sgpr 16
\t\t.amdhsa_accum_offset 8
\t.end_amdhsa_kernel
\t.text
.Lfunc_end{0}:
\t.size k{0}, .Lfunc_end{0}-k{0}
"""


def ptx(functions: int, parts: int) -> str:
    """PTX kernels of so many parts: each a load, shared memory, a barrier, a branch, a store."""
    text = [".version 8.0\n.target sm_90\n.address_size 64\n"]
    for function in range(functions):
        text.append(_PTX_KERNEL.format(function))
        text += [_PTX_PART.format(function, part) for part in range(parts)]
        text.append("\tret;\n}\n")
    return "".join(text)


def amd(functions: int, parts: int) -> str:
    """The same kernels as assembly for gfx942."""
    text = ['\t.amdgcn_target "amdgcn-amd-amdhsa--gfx942"\n\t.text\n']
    for function in range(functions):
        text.append(_AMD_KERNEL.format(function))
        text += [_AMD_PART.format(function, part) for part in range(parts)]
        text.append(_AMD_END.format(function))
    return "".join(text)
