"""Modules that a pass has to leave as they are: what programs for a model cannot express.

A function that is no kernel, calls, volatile accesses, pointers that escape, what a module says of
the size of its work-groups. Each is a trial as the others are, judged by its text.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from minimise_programs import parse
from pass_trials import Trial, View
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from fencewright.lowering.vocabulary import Fact
from fencewright.mlir_dialects.llvm_ir.read import import_llvm_ir
from fencewright.passes.litmus.programs import ReadOptions
from fencewright.passes.llvm_ir.lower_scoped_llvm_ir import LowerScopedLLVMIRPass
from fencewright.passes.scoped.clamp_scopes import ClampScopesPass
from fencewright.passes.scoped.infer_address_spaces import InferAddressSpacesPass
from fencewright.passes.scoped.merge_fences import MergeFencesPass
from fencewright.passes.to_ptx.merge_ptx_fences import MergePTXFencesPass


@dataclass(frozen=True)
class Kept(Trial):
    """A module that passes leave as it is; or, if ``keeps`` says something, of which they leave that."""

    keeps: str = ""

    @property
    def is_fit(self) -> bool:
        """Nothing is executed."""
        return True

    def wrong(self, code: ModuleOp) -> str:
        """What has become of what has to stay."""
        code.verify()
        if self.keeps:
            return "" if self.keeps in str(code) else f"no {self.keeps}"
        return "" if str(code) == str(self.make()) else "changed"


ONE_WAVE = (Fact.SINGLE_WAVE_WORKGROUP,)
ALONE = (Fact.NO_CLUSTERS,)


def _clamping(name: str, chip: str, facts: Sequence[str] = ()) -> View:
    return View(name, lambda: (ClampScopesPass(chip, tuple(facts)),), ReadOptions())


def _only(name: str, step: ModulePass) -> View:
    return View(name, lambda: (step,), ReadOptions())


MERGING = _only("only merge-fences", MergeFencesPass())
MERGING_PTX = _only("only merge-ptx-fences", MergePTXFencesPass())
INFERRING = _only("only infer-address-spaces", InferAddressSpacesPass())
TO_PTX = _only("only lower-scoped-llvm-ir", LowerScopedLLVMIRPass("sm_90"))
CLAMPING = _clamping("only clamp-scopes", "gfx942")
CLAMPING_PTX = _clamping("only clamp-scopes for sm_90", "sm_90")
IN_ONE_WAVE = _clamping("one wave", "gfx942", ONE_WAVE)
IN_ONE_WARP = _clamping("one warp", "sm_90", ONE_WAVE)
WITHOUT_CLUSTERS = _clamping("no clusters", "gfx942", ALONE)


def _function(body: str, attributes: str = " attributes {gpu.kernel}") -> str:
    arguments = "%x : !llvm.ptr<1>, %f : !llvm.ptr<1>, %v : i32, %c : i1"
    return f"func.func @k({arguments}){attributes} {{\n{body}\nfunc.return\n}}"


STORE_X = "scoped.store weak %v, %x : i32, !llvm.ptr<1>"
STORE_F = "scoped.store relaxed agent %v, %f : i32, !llvm.ptr<1>"
LOAD_F = "%r = scoped.load relaxed agent %f : !llvm.ptr<1> -> i32"
LOAD_X = "%s = scoped.load weak %x : !llvm.ptr<1> -> i32"


def _lines(*lines: str) -> str:
    return "\n".join(lines)


MERGED: Mapping[str, str] = {
    "an acquire where a function begins": _function(
        _lines("scoped.fence acquire agent", LOAD_X), ""
    ),
    "a release where a function ends": _function(_lines(STORE_X, "scoped.fence release agent"), ""),
    "an acquire in a region": _function(
        _lines(LOAD_F, "scf.if %c {", "scoped.fence acquire agent", LOAD_X, "}")
    ),
    "a release in a region": _function(
        _lines("scf.if %c {", STORE_X, "scoped.fence release agent", "}", STORE_F)
    ),
    "a release before a volatile store": _function(
        _lines(
            STORE_X,
            "scoped.fence release agent",
            "scoped.store weak %v, %f {volatile} : i32, !llvm.ptr<1>",
        )
    ),
    "a release before an unordered store": _function(
        _lines(
            STORE_X,
            "scoped.fence release agent",
            'scoped.store weak %v, %f {llvm_ir.unordered = ""} : i32, !llvm.ptr<1>',
        )
    ),
    "an acquire behind a volatile load": _function(
        _lines(
            "%r = scoped.load weak %f {volatile} : !llvm.ptr<1> -> i32",
            "scoped.fence acquire agent",
            LOAD_X,
        )
    ),
    "a release in a loop whose next round raises the flag": _function(
        _lines(
            "cf.br ^flag",
            "^flag:",
            STORE_F,
            "cf.br ^data",
            "^data:",
            STORE_X,
            "scoped.fence release agent",
            "cf.br ^again",
            "^again:",
            "cf.cond_br %c, ^flag, ^out",
            "^out:",
        )
    ),
    "an asynchronous copy between": _function(
        _lines(
            STORE_X,
            "scoped.fence release agent",
            "scoped.async_commit_group",
            "scoped.fence release agent",
            STORE_F,
        )
    ),
}

_FENCE = 'fence syncscope("device")'
MERGED_IN_LLVM_IR: Mapping[str, str] = {
    "an acquire where a function in LLVM IR begins": f"""
define void @k(ptr addrspace(1) %x) {{
  {_FENCE} acquire
  %r = load i32, ptr addrspace(1) %x
  ret void
}}""",
    "a release where a function in LLVM IR ends": f"""
define void @k(ptr addrspace(1) %x) {{
  store i32 1, ptr addrspace(1) %x
  {_FENCE} release
  ret void
}}""",
    "a call between in LLVM IR": f"""
declare void @g()
define ptx_kernel void @k(ptr addrspace(1) %x) {{
  store i32 1, ptr addrspace(1) %x
  {_FENCE} release
  call void @g()
  {_FENCE} release
  call void @g()
  ret void
}}""",
    "an acquire behind a call in LLVM IR": f"""
declare void @g()
define ptx_kernel void @k(ptr addrspace(1) %x) {{
  call void @g()
  {_FENCE} acquire
  %r = load i32, ptr addrspace(1) %x
  ret void
}}""",
}

_UPDATE = '%old = atomicrmw add ptr addrspace(1) %x, i32 1 syncscope("device") monotonic'
UPDATED: Mapping[str, str] = {
    "an update in a function": f"""
define void @k(ptr addrspace(1) %x) {{
  {_UPDATE}
  ret void
}}""",
    "an update in a function, and a branch": f"""
define void @k(ptr addrspace(1) %x) {{
  {_UPDATE}
  br label %out
out:
  ret void
}}""",
    "an update before a call": f"""
declare void @g()
define ptx_kernel void @k(ptr addrspace(1) %x) {{
  {_UPDATE}
  call void @g()
  ret void
}}""",
    "an update before inline assembly": f"""
define ptx_kernel void @k(ptr addrspace(1) %x) {{
  {_UPDATE}
  call void asm sideeffect "fence.acquire.gpu; // @llvm.x", "~{{memory}}"()
  ret void
}}""",
    "an update before an intrinsic that is a fence": f"""
declare void @llvm.nvvm.membar.gl()
define ptx_kernel void @k(ptr addrspace(1) %x) {{
  {_UPDATE}
  call void @llvm.nvvm.membar.gl()
  ret void
}}""",
    "an update in a loop behind a call": f"""
declare void @g()
define ptx_kernel void @k(ptr addrspace(1) %x, i1 %c) {{
  br label %loop
loop:
  call void @g()
  {_UPDATE}
  br i1 %c, label %loop, label %out
out:
  ret void
}}""",
    "an update three branches before a call": f"""
declare void @g()
define ptx_kernel void @k(ptr addrspace(1) %x, i1 %c) {{
  {_UPDATE}
  %also = add i32 1, 1
  br i1 %c, label %on, label %out
on:
  br label %after
after:
  br label %call
call:
  call void @g()
  br label %out
out:
  ret void
}}""",
}


def _for_nvptx(text: str) -> str:
    return f'target triple = "nvptx64-nvidia-cuda"\n{text}'


@cache
def _imported(text: str) -> str:
    """The module of LLVM IR."""
    return str(import_llvm_ir(text))


Make = Callable[[], ModuleOp]


def _module(text: str) -> Make:
    return lambda: parse(text)


def _from_llvm(text: str) -> Make:
    return lambda: parse(_imported(text))


INFERRED: Mapping[str, str] = {
    "made of an integer on one of two paths": """
func.func @k(%d : !llvm.ptr, %a : i64, %n : i32, %c : i1) attributes {gpu.kernel} {
  %q = llvm.inttoptr %a : i64 to !llvm.ptr
  cf.cond_br %c, ^store(%d : !llvm.ptr), ^store(%q : !llvm.ptr)
^store(%p : !llvm.ptr):
  scoped.store weak %n, %p : i32, !llvm.ptr
  func.return
}""",
    "an argument or one made of an integer": """
func.func @k(%d : !llvm.ptr, %a : i64, %n : i32, %c : i1) attributes {gpu.kernel} {
  %q = llvm.inttoptr %a : i64 to !llvm.ptr
  %p = arith.select %c, %d, %q : !llvm.ptr
  scoped.store weak %n, %p : i32, !llvm.ptr
  func.return
}""",
    "stored": """
func.func @k(%d : !llvm.ptr<1>, %e : !llvm.ptr) attributes {gpu.kernel} {
  scoped.store weak %e, %d : !llvm.ptr, !llvm.ptr<1>
  func.return
}""",
    "stored where it points to": """
func.func @k(%d : !llvm.ptr) attributes {gpu.kernel} {
  scoped.store weak %d, %d : !llvm.ptr, !llvm.ptr
  func.return
}""",
    "handed to a call": """
func.func private @g(!llvm.ptr)
func.func @k(%d : !llvm.ptr) attributes {gpu.kernel} {
  func.call @g(%d) : (!llvm.ptr) -> ()
  func.return
}""",
    "handed to a block that stores it": """
func.func @k(%d : !llvm.ptr, %x : !llvm.ptr<1>, %c : i1) attributes {gpu.kernel} {
  cf.cond_br %c, ^store(%d : !llvm.ptr), ^end
^store(%p : !llvm.ptr):
  scoped.store weak %p, %x : !llvm.ptr, !llvm.ptr<1>
  cf.br ^end
^end:
  func.return
}""",
    "handed on to a block that stores it": """
func.func @k(%d : !llvm.ptr, %x : !llvm.ptr<1>) attributes {gpu.kernel} {
  cf.br ^store(%d : !llvm.ptr)
^store(%p : !llvm.ptr):
  scoped.store weak %p, %x : !llvm.ptr, !llvm.ptr<1>
  func.return
}""",
    "a part of it stored": """
func.func @k(%d : !llvm.ptr, %x : !llvm.ptr<1>, %i : i32) attributes {gpu.kernel} {
  %p = llvm.getelementptr %d[%i] : (!llvm.ptr, i32) -> !llvm.ptr, i32
  scoped.store weak %p, %x : !llvm.ptr, !llvm.ptr<1>
  func.return
}""",
    "handed on by a switch": """
func.func @k(%a : i64, %i : i32, %n : i32) attributes {gpu.kernel} {
  %q = llvm.inttoptr %a : i64 to !llvm.ptr
  cf.switch %i : i32, [
    default: ^store(%q : !llvm.ptr)
  ]
^store(%p : !llvm.ptr):
  scoped.store weak %n, %p : i32, !llvm.ptr
  func.return
}""",
    "stored, and a location itself": """
func.func @k(%d : !llvm.ptr, %x : !llvm.ptr<1>, %n : i32) attributes {gpu.kernel} {
  scoped.store weak %n, %d : i32, !llvm.ptr
  scoped.store weak %d, %x : !llvm.ptr, !llvm.ptr<1>
  func.return
}""",
    "handed to two blocks of which one stores it": """
func.func @k(%d : !llvm.ptr, %x : !llvm.ptr<1>, %n : i32, %c : i1) attributes {gpu.kernel} {
  cf.cond_br %c, ^through(%d : !llvm.ptr), ^store(%d : !llvm.ptr)
^through(%p : !llvm.ptr):
  scoped.store weak %n, %p : i32, !llvm.ptr
  func.return
^store(%q : !llvm.ptr):
  scoped.store weak %q, %x : !llvm.ptr, !llvm.ptr<1>
  func.return
}""",
    "compared and exchanged for": """
func.func @k(%d : !llvm.ptr, %x : !llvm.ptr<1>, %n : i64) attributes {gpu.kernel} {
  %e = llvm.inttoptr %n : i64 to !llvm.ptr
  %p, %s = scoped.cmpxchg acquire relaxed agent %x, %d, %e : !llvm.ptr<1>, !llvm.ptr
  func.return
}""",
    "handed to a thread, another one of which has no kernel": """
func.func @k(%s : !llvm.ptr, %n : i32) attributes {gpu.kernel} {
  scoped.store weak %n, %s : i32, !llvm.ptr
  func.return
}
litmus.test @lds {
  litmus.location @s = 0 : i32 in local
  litmus.location @n = 1 : i32
  litmus.thread @P0 runs @k(@s, @n)
  litmus.thread @P1 {
    litmus.end
  }
}""",
    "handed to a thread that may have LDS": """
func.func @k(%s : !llvm.ptr, %n : i32) attributes {gpu.kernel} {
  scoped.store weak %n, %s : i32, !llvm.ptr
  func.return
}
litmus.test @lds {
  litmus.location @x = 0 : i32
  litmus.location @s = 0 : i32 in local
  litmus.location @n = 1 : i32
  litmus.thread @P0 runs @k(@s, @n)
}""",
}

SIZED = """
func.func @k() attributes {{gpu.kernel{size}}} {{
  scoped.fence release workgroup
  scoped.fence release cluster
  {more}
  func.return
}}"""


def _sized(size: str = "", more: str = "scoped.barrier workgroup") -> str:
    known = f", gpu.known_block_size = array<i32: {size}>" if size else ""
    return SIZED.format(size=known, more=more)


OF_LLVM = """
target triple = "amdgcn-amd-amdhsa"
{declaration}
define {convention} void @k(ptr addrspace(1) %p) #0 !d !0 {{
  fence syncscope("workgroup") release
  {more}
  ret void
}}
attributes #0 = {{ "amdgpu-flat-work-group-size"="1,{most}" }}
!0 = !{{}}
"""


def _of_llvm(convention: str, declaration: str = "", more: str = "", most: int = 64) -> str:
    return OF_LLVM.format(convention=convention, declaration=declaration, more=more, most=most)


OF_ONE = (
    """
litmus.test @{0} {{
  litmus.location @x = 0 : i32
  litmus.thread @P0 runs @{1}(@x)
}}""",
    """
func.func @{1}(%x : !llvm.ptr<1>) attributes {{gpu.kernel, gpu.known_block_size = array<i32: 1, 1, 1>}} {{
  scoped.fence release workgroup
  func.return
}}""",
)
"""A litmus test, and the kernel of one work-item that its thread runs."""


def _clamped() -> Iterator[tuple[View, str, str]]:
    """The view, the name and the text of each module for clamp-scopes."""
    for view in (CLAMPING, CLAMPING_PTX):
        yield view, "of unknown size", _sized()
        yield view, "of one more than a wave", _sized("65, 1, 1")
        yield view, "of two waves in two dimensions", _sized("32, 1, 3")
    yield IN_ONE_WAVE, "a copy to LDS", _sized(more="scoped.async_commit_group")
    yield IN_ONE_WARP, "a copy to LDS", _sized(more="scoped.async_commit_group")
    yield IN_ONE_WARP, "fences of a warp", _sized(more="")
    for scope in ("agent", "system"):
        for view in (IN_ONE_WAVE, IN_ONE_WARP, WITHOUT_CLUSTERS):
            yield view, f"wider: {scope}", _function(f"scoped.fence acq_rel {scope}")
    yield (
        CLAMPING,
        "a thread without a kernel",
        """
litmus.test @t {
  litmus.location @x = 0 : i32
  litmus.thread @P0 at <workgroup = 0> {
    scoped.fence release workgroup
  }
}
func.func @k() attributes {gpu.kernel} {
  scoped.fence release workgroup
  func.return
}""",
    )
    tests, kernels = ("".join(each.format(*names) for names in ("tk", "ul")) for each in OF_ONE)
    yield (
        CLAMPING,
        "a thread's kernel of one work-item",
        OF_ONE[0].format(*"tk") + OF_ONE[1].format(*"tk"),
    )
    yield CLAMPING, "two tests with a kernel of one work-item each", tests + kernels
    yield (
        IN_ONE_WAVE,
        "a copy to LDS in a module of kernels",
        """
"gpu.module"() <{sym_name = "m"}> ({
  "gpu.func"() <{function_type = () -> (), kernel}> ({
    scoped.fence release workgroup
    scoped.async_commit_group
    "gpu.return"() : () -> ()
  }) {sym_name = "k"} : () -> ()
}) : () -> ()""",
    )
    yield IN_ONE_WAVE, "a call", _sized(more="func.call @k() : () -> ()")


CLAMPED_LLVM_IR: Mapping[str, str] = {
    "a function in LLVM IR": _of_llvm(""),
    "a kernel in LLVM IR of two waves": _of_llvm("amdgpu_kernel", most=65),
    "a kernel in LLVM IR that calls": _of_llvm(
        "amdgpu_kernel", "declare void @g()", "call void @g()"
    ),
}


OF_PTX: Mapping[str, str] = {
    "fences of a proxy": """
ptx.kernel @k attributes {target = "sm_90", version = "8.6", parameters = array<i64>} {
  ptx.fence "fence.proxy.async"
  ptx.fence "fence.proxy.async"
  ptx.ret
}""",
    "a fence in a loop behind another one": """
ptx.kernel @k attributes {target = "sm_90", version = "8.6", parameters = array<i64: 64>} {
  %p = ptx.param 0 : !ptx.reg<b64>
  %v = ptx.const 1 : !ptx.reg<b32>
  ptx.store "st.relaxed.gpu.global.b32" %p, %v : !ptx.reg<b64>, !ptx.reg<b32>
  ptx.fence "fence.sc.sys"
  ptx.bra ^loop
^loop:
  ptx.fence "fence.sc.gpu"
  ptx.store "st.relaxed.gpu.global.b32" %p, %v : !ptx.reg<b64>, !ptx.reg<b32>
  ptx.bra ^again
^again:
  ptx.bra ^loop
}""",
}


def _makes() -> Iterator[tuple[str, View, str, Make]]:
    """The file, the view, the name and the module of each, but for the updates."""
    for name, text in MERGED.items():
        yield "passes/scoped/merge_fences.py", MERGING, name, _module(text)
    for name, text in MERGED_IN_LLVM_IR.items():
        yield "passes/scoped/merge_fences.py", MERGING, name, _from_llvm(_for_nvptx(text))
    for name, text in INFERRED.items():
        yield "passes/scoped/infer_address_spaces.py", INFERRING, name, _module(text)
    clamped = [(view, name, _module(text)) for view, name, text in _clamped()]
    clamped += [(CLAMPING, name, _from_llvm(text)) for name, text in CLAMPED_LLVM_IR.items()]
    for view, name, make in clamped:
        yield "passes/scoped/clamp_scopes.py", view, name, make
        yield "lowering/facts.py", view, name, make
    for name, text in OF_PTX.items():
        yield "passes/to_ptx/merge_ptx_fences.py", MERGING_PTX, name, _module(text)


@cache
def kept(file: str) -> tuple[Kept, ...]:
    """The modules that the passes of a file have to leave as they are; made when they are asked for."""
    found = [Kept(name, make, view) for of, view, name, make in _makes() if of == file]
    if file == "passes/analysis/acquire_fences.py":
        keeps = "atom.relaxed.gpu.global.add"
        found += [
            Kept(name, _from_llvm(_for_nvptx(text)), TO_PTX, keeps)
            for name, text in UPDATED.items()
        ]
    return tuple(found)
