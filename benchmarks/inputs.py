"""The same scoped operations as MLIR and as LLVM IR, at any size, for both sides of a
comparison."""

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
    *,
    functions: int = 1,
    blocks: int = 1,
    instructions: int,
    every: int,
    of_functions: int = 1,
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
