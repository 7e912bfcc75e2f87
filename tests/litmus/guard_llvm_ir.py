"""LLVM IR that no program of the corpus says, each with what its passes have to leave.

All of what is listed as left is needed: LLVM IR in which less of it is left, or elsewhere among
the accesses, is wrong. It may have more.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from llvm_ir_waits import in_assembly

HEAD = """target triple = "amdgcn-amd-amdhsa"
@lds = internal addrspace(3) global i32 poison
declare void @anything()
declare i32 @pure(i32) memory(none)
declare void @llvm.assume(i1)
declare void @llvm.amdgcn.s.barrier()
declare void @llvm.memset.p1.i64(ptr addrspace(1), i8, i64, i1)
declare i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8), i32, i32, i32 immarg)
declare void @llvm.memset.p3.i64(ptr addrspace(3), i8, i64, i1)
declare void @llvm.memcpy.p1.p1.i64(ptr addrspace(1), ptr addrspace(1), i64, i1)
"""
TAIL = """!0 = !{!"amdgpu-synchronize-as", !"global"}
!1 = !{!"amdgpu-synchronize-as", !"local"}
"""
ARGUMENTS = "ptr addrspace(1) %p, ptr addrspace(1) %q, ptr addrspace(3) %l, ptr %g, i32 %n"


@dataclass(frozen=True)
class Kept:
    """The body of a function, and the ``steps_of`` what its passes make of it that have to be left."""

    body: str
    left: str
    view: str = "llvm-ir-gfx942"
    convention: str = "amdgpu_kernel"
    arguments: str = ARGUMENTS
    rest: str = ""
    attributes: str = ""

    @property
    def module(self) -> str:
        """All of the LLVM IR."""
        lines = "\n".join(f"  {each.strip()}" for each in self.body.strip().splitlines())
        head = f"define {self.convention} void @f({self.arguments}) {self.attributes} {{"
        return "\n".join([HEAD + self.rest, head, lines, "  ret void", "}", TAIL])


_ASSEMBLY = re.compile(r'call void asm sideeffect "([^"]*)", "([^"]*)"\((.*)\)')
_ACCESS = re.compile(
    r"(?:%[\w.]+ = )?(?:tail )?"
    r"(load|store|atomicrmw|cmpxchg|call)((?: atomic| volatile)*).*?([%@][\w.]+)(?=[ ,(]|$)"
)
_NAME = re.compile(r"%[\w.]+")
_FENCE = re.compile(r'fence syncscope\("singlethread"\) (\w+)')


def steps_of(text: str) -> list[str]:
    """The synchronisation in @f, and the accesses between which it stands, in the order of the text.

    What a wait waits for are steps of their own; ``await`` says of which values, ``clobber``
    that memory may have changed.
    """
    body = in_assembly(text).partition(" @f(")[2].partition("\n}")[0]
    return [step for line in body.splitlines() for step in _steps(line.strip())]


def _steps(line: str) -> Iterator[str]:
    if (found := _ASSEMBLY.match(line)) is not None:
        instructions, constraints, operands = found.groups()
        if "v," in constraints:
            yield " ".join(("await", *_NAME.findall(operands)))
        for each in instructions.split("\\0A"):
            waits = each.startswith("s_waitcnt ")
            nothing = "clobber" if "~{memory}" in constraints else "escape"
            yield from each.split()[1:] if waits else [each or nothing]
    elif (found := _FENCE.match(line)) is not None:
        yield f"fence {found[1]}"
    elif (found := _ACCESS.match(line)) is not None:
        yield f"{found[1]}{found[2]} {_accessed(line)}"
    elif line.startswith(("br ", "switch ")):
        yield line.partition(" ")[0]


def _accessed(line: str) -> str:
    """The pointer of an access, or what is called."""
    if " call " in f" {line}":
        return re.findall(r"([@%][\w.]+|asm)[ (]", line.partition("call ")[2])[0]
    return re.findall(r"ptr(?: addrspace\(\d\))? ([%@][\w.]+)", line)[0]


def missing(left: str, found: Sequence[str]) -> str:
    """The first step of ``left`` that ``found`` has not in that order; empty if there is none."""
    steps = iter(found)
    for each in filter(None, map(str.strip, left.split(";"))):
        if not any(_does(step, each) for step in steps):
            return f"lost: {each}"
    return ""


def _does(step: str, wanted: str) -> bool:
    """Whether a step does what is wanted: to wait for everything is to wait for a value."""
    return step == wanted or (wanted.startswith("await") and step == "vmcnt(0)")


PLAIN = "store i32 1, ptr addrspace(1) %p"
DATA = "%x = load i32, ptr addrspace(1) %p"
STRUCT = "store { i32, i32 } zeroinitializer, ptr addrspace(1) %p"
READ = '%v = load atomic i32, ptr addrspace(1) %q syncscope("agent") monotonic, align 4'
ACQUIRE = '%v = load atomic i32, ptr addrspace(1) %q syncscope("agent") acquire, align 4'
SIGNAL = 'store atomic i32 1, ptr addrspace(1) %q syncscope("agent") monotonic, align 4'
FLAG = 'store atomic i32 1, ptr addrspace(1) %q syncscope("agent") release, align 4'
ACQUIRED = 'fence syncscope("agent") acquire'
RELEASED = 'fence syncscope("agent") release'
BARRIER = "call void @llvm.amdgcn.s.barrier()"
MATES = 'fence syncscope("workgroup") {}'
PLAIN_ATTEMPT = """br label %spin
spin:
%r = cmpxchg ptr addrspace(1) %q, i32 0, i32 1 syncscope("agent") monotonic monotonic
%ok = extractvalue { i32, i1 } %r, 1
br i1 %ok, label %go, label %spin"""
ATTEMPT = """%r = cmpxchg ptr addrspace(1) %q, i32 0, i32 1 syncscope("agent") acquire monotonic"""
OLD = "%old = extractvalue { i32, i1 } %r, 0"
OK = "%ok = extractvalue { i32, i1 } %r, 1"
LEAVE_OR_LOAD = ("br i1 %c, label %a, label %b", "a:", "ret void", "b:", DATA)
BOTH_ACQUIRES = (
    "cmpxchg %q; await %old; clobber; fence acquire; br; buffer_inv sc1; fence acquire; load %p"
)
"""An attempt that acquires whether it succeeds or not."""


def body(*lines: str) -> str:
    """The body of a function."""
    return "\n".join(lines)


def callee(*lines: str, name: str = "callee") -> str:
    """A function that does so."""
    return f"define void @{name}(ptr addrspace(1) %q) {{\n{body(*lines)}\nret void\n}}\n"


KEPT: dict[str, Kept] = {
    "a release behind a flag's read and a plain store": Kept(
        body(PLAIN, READ, FLAG),
        "store %p; fence release; buffer_wbl2 sc1; load atomic %q; fence release; vmcnt(0); store atomic %q",
    ),
    "a flag read in the last round of a loop": Kept(
        body(
            "br label %loop",
            "loop:",
            ACQUIRED,
            DATA,
            READ,
            "%c = icmp eq i32 %x, 0",
            "br i1 %c, label %loop, label %out",
            "out:",
        ),
        "br; vmcnt(0); buffer_inv sc1; fence acquire; load %p; load atomic %q; br",
    ),
    "a flag read on one of two ways": Kept(
        body(
            "%c = icmp eq i32 %n, 0",
            "br i1 %c, label %a, label %b",
            "a:",
            READ,
            "br label %b",
            "b:",
            ACQUIRED,
            DATA,
        ),
        "br; load atomic %q; br; vmcnt(0); buffer_inv sc1; fence acquire; load %p",
    ),
    "an exchange of which nothing is used": Kept(
        body(
            '%v = cmpxchg ptr addrspace(1) %q, i32 0, i32 1 syncscope("agent") acquire acquire',
            DATA,
        ),
        "cmpxchg %q; await %old; buffer_inv sc1; fence acquire; load %p",
    ),
    "an exchange of which the success is used": Kept(
        body(
            '%r = cmpxchg ptr addrspace(1) %q, i32 0, i32 1 syncscope("agent") acquire acquire',
            "%ok = extractvalue { i32, i1 } %r, 1",
            DATA,
            "%z = zext i1 %ok to i32",
            "store i32 %z, ptr addrspace(3) %l",
        ),
        "cmpxchg %q; await %old; buffer_inv sc1; fence acquire; load %p; store %l",
    ),
    "an update of which nothing is used": Kept(
        body('%v = atomicrmw add ptr addrspace(1) %q, i32 1 syncscope("agent") acquire', DATA),
        "atomicrmw %q; vmcnt(0); buffer_inv sc1; fence acquire; load %p",
    ),
    "a value in a range": Kept(
        body(f"{ACQUIRE}, !range !{{i32 1, i32 3}}", DATA),
        "load atomic %q; vmcnt(0); buffer_inv sc1; fence acquire; load %p",
    ),
    "a value that is assumed": Kept(
        body(READ, "%c = icmp eq i32 %v, 1", "call void @llvm.assume(i1 %c)", ACQUIRED, DATA),
        "load atomic %q; call @llvm.assume; vmcnt(0); buffer_inv sc1; fence acquire; load %p",
    ),
    "8 bits": Kept(
        body('%v = load atomic i8, ptr addrspace(1) %q syncscope("agent") acquire, align 1', DATA),
        "load atomic %q; vmcnt(0); buffer_inv sc1; fence acquire; load %p",
    ),
    "16 bits": Kept(
        body('%v = load atomic i16, ptr addrspace(1) %q syncscope("agent") acquire, align 2', DATA),
        "load atomic %q; await %v; buffer_inv sc1; fence acquire; load %p",
    ),
    "volatile": Kept(
        body("%v = load volatile i32, ptr addrspace(1) %q, align 4", ACQUIRED, DATA),
        "load volatile %q; await %v; buffer_inv sc1; fence acquire; load %p",
    ),
    "unordered": Kept(
        body("%v = load atomic i32, ptr addrspace(1) %q unordered, align 4", ACQUIRED, DATA),
        "load atomic %q; await %v; buffer_inv sc1; fence acquire; load %p",
    ),
    "unordered data": Kept(
        body("store atomic i32 1, ptr addrspace(1) %p unordered, align 4", FLAG),
        "store atomic %p; fence release; buffer_wbl2 sc1; vmcnt(0); store atomic %q",
    ),
    "volatile unordered data": Kept(
        body("store atomic volatile i32 1, ptr addrspace(1) %p unordered, align 4", FLAG),
        "store atomic volatile %p; fence release; buffer_wbl2 sc1; vmcnt(0); store atomic %q",
    ),
    "memset": Kept(
        body("call void @llvm.memset.p1.i64(ptr addrspace(1) %p, i8 0, i64 4, i1 false)", FLAG),
        "call @llvm.memset.p1.i64; fence release; buffer_wbl2 sc1; vmcnt(0); store atomic %q",
    ),
    "volatile memset": Kept(
        body("call void @llvm.memset.p1.i64(ptr addrspace(1) %p, i8 0, i64 4, i1 true)", FLAG),
        "call @llvm.memset.p1.i64; fence release; buffer_wbl2 sc1; vmcnt(0); store atomic %q",
    ),
    "a flag in a buffer": Kept(
        body(
            *(
                'fence syncscope("agent") acquire',
                "%f = call i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8) %b, i32 0, i32 0, i32 1)",
            )
            * 2,
            'fence syncscope("agent") acquire',
            DATA,
        ).replace("%f =", "%e =", 1),
        "vmcnt(0); buffer_inv sc1; fence acquire; call @llvm.amdgcn.raw.ptr.buffer.load.i32; "
        "vmcnt(0); buffer_inv sc1; fence acquire; load %p",
        arguments=ARGUMENTS + ", ptr addrspace(8) %b",
    ),
    "memset LDS": Kept(
        body("call void @llvm.memset.p3.i64(ptr addrspace(3) %l, i8 0, i64 4, i1 false)", FLAG),
        "call @llvm.memset.p3.i64; fence release; lgkmcnt(0); store atomic %q",
    ),
    "memcpy after acquire": Kept(
        body(
            ACQUIRE,
            "call void @llvm.memcpy.p1.p1.i64(ptr addrspace(1) %p, ptr addrspace(1) %p, i64 4, i1 false)",
        ),
        "load atomic %q; await %v; buffer_inv sc1; fence acquire; call @llvm.memcpy.p1.p1.i64",
    ),
    "struct store": Kept(
        body(STRUCT, FLAG),
        "store %p; fence release; buffer_wbl2 sc1; vmcnt(0); store atomic %q",
    ),
    "struct load": Kept(
        body(ACQUIRE, "%x = load { i32, i32 }, ptr addrspace(1) %p"),
        "load atomic %q; await %v; buffer_inv sc1; fence acquire; load %p",
    ),
    "struct load volatile": Kept(
        body(ACQUIRE, "%x = load volatile { i32, i32 }, ptr addrspace(1) %p"),
        "load atomic %q; await %v; buffer_inv sc1; fence acquire; load volatile %p",
    ),
    "unknown before": Kept(
        body("call void @anything()", FLAG),
        "call @anything; clobber; fence release; buffer_wbl2 sc1; vmcnt(0); lgkmcnt(0); store atomic %q",
    ),
    "unknown behind": Kept(
        body(ACQUIRE, "call void @anything()"),
        "load atomic %q; await %v; buffer_inv sc1; fence acquire; call @anything",
    ),
    "unknown between acquire and release": Kept(
        body(ACQUIRE, "call void @anything()", FLAG),
        "load atomic %q; await %v; buffer_inv sc1; fence acquire; call @anything; clobber; fence release; buffer_wbl2 sc1; vmcnt(0); lgkmcnt(0); store atomic %q",
    ),
    "pure": Kept(
        body(PLAIN, "%y = call i32 @pure(i32 1)", FLAG),
        "store %p; call @pure; fence release; buffer_wbl2 sc1; vmcnt(0); store atomic %q",
    ),
    "function release": Kept(
        body(FLAG),
        "fence release; buffer_wbl2 sc1; vmcnt(0); lgkmcnt(0); store atomic %q",
        convention="",
    ),
    "function acquire": Kept(
        body(ACQUIRE), "load atomic %q; await %v; buffer_inv sc1; fence acquire", convention=""
    ),
    "function acquire fence": Kept(
        body(ACQUIRED), "vmcnt(0); lgkmcnt(0); buffer_inv sc1; fence acquire", convention=""
    ),
    "barrier": Kept(
        body(
            PLAIN,
            'fence syncscope("workgroup") release',
            BARRIER,
            'fence syncscope("workgroup") acquire',
            FLAG,
            DATA,
        ),
        "store %p; fence release; vmcnt(0); call @llvm.amdgcn.s.barrier; fence release; buffer_wbl2 sc1; fence acquire; fence release; vmcnt(0); store atomic %q; load %p",
    ),
    "barrier tg": Kept(
        body(
            PLAIN,
            'fence syncscope("workgroup") release',
            BARRIER,
            'fence syncscope("workgroup") acquire',
            DATA,
        ),
        "store %p; fence release; vmcnt(0); call @llvm.amdgcn.s.barrier; buffer_inv sc0; fence acquire; load %p",
        "llvm-ir-gfx942-tgsplit",
    ),
    "received by a barrier": Kept(
        body(BARRIER, FLAG), "call @llvm.amdgcn.s.barrier; fence release; store atomic %q"
    ),
    "received for mates by a barrier": Kept(
        body(ACQUIRE, BARRIER, DATA),
        "load atomic %q; await %v; buffer_inv sc1; fence acquire; call @llvm.amdgcn.s.barrier; load %p",
    ),
    "received for mates by a barrier tg": Kept(
        body(ACQUIRE, BARRIER, DATA),
        "load atomic %q; await %v; buffer_inv sc1; fence acquire; call @llvm.amdgcn.s.barrier; load %p",
        "llvm-ir-gfx942-tgsplit",
    ),
    "switch": Kept(
        body(
            ACQUIRE,
            "switch i32 %v, label %a [ i32 1, label %b ]",
            "a:",
            "br label %c",
            "b:",
            DATA,
            "br label %c",
            "c:",
        ),
        "load atomic %q; await %v; clobber; fence acquire; switch; br; buffer_inv sc1; fence acquire; load %p; br",
    ),
    "read only scalar": Kept(
        body(DATA, RELEASED + ", !mmra !0", SIGNAL),
        "load %p; fence release; vmcnt(0); lgkmcnt(0); store atomic %q",
    ),
    "LDS not waited for": Kept(
        body("store i32 1, ptr addrspace(3) %l", RELEASED + ", !mmra !0", SIGNAL, RELEASED, SIGNAL),
        "store %l; fence release; store atomic %q; fence release; vmcnt(0); lgkmcnt(0); store atomic %q",
    ),
    "a call that may have read a flag": Kept(
        body("call void @anything()", READ, ACQUIRED, DATA),
        "call @anything; clobber; load atomic %q; vmcnt(0); lgkmcnt(0); buffer_inv sc1; fence acquire; load %p",
    ),
    "a use that is never reached": Kept(
        body(
            READ,
            "%c = icmp eq i32 %v, 1",
            "br i1 %c, label %a, label %b",
            "a:",
            ACQUIRED,
            DATA,
            "ret void",
            "dead:",
            "%z = add i32 %v, 1",
            "br label %a",
            "b:",
        ),
        "load atomic %q; await %v; clobber; br; buffer_inv sc1; fence acquire; load %p; br",
    ),
    "a scalar load behind which an update is waited for": Kept(
        body(
            DATA,
            '%v = atomicrmw add ptr addrspace(1) %q, i32 1 syncscope("agent") acquire',
            f"{RELEASED}, !mmra !0",
            SIGNAL,
        ),
        "load %p; atomicrmw %q; vmcnt(0); fence acquire; fence release; lgkmcnt(0); store atomic %q",
    ),
    "attempts on their way": Kept(
        body(PLAIN_ATTEMPT, "go:", PLAIN, FLAG),
        "br; cmpxchg %q; br; store %p; fence release; buffer_wbl2 sc1; vmcnt(0); store atomic %q",
        "llvm-ir-gfx942-auto",
    ),
    "attempts on their way before a wait for LDS": Kept(
        body(
            PLAIN_ATTEMPT,
            "go:",
            '%m = load atomic i32, ptr addrspace(3) %l syncscope("workgroup") monotonic, align 4',
            f"{MATES.format('acquire')}, !mmra !1",
            PLAIN,
            FLAG,
        ),
        "br; cmpxchg %q; br; load atomic %l; await %m; clobber; fence acquire; store %p; fence release; buffer_wbl2 sc1; vmcnt(0); store atomic %q",
        "llvm-ir-gfx942-auto",
    ),
    "attempts on their way before a wait for LDS at once": Kept(
        body(
            '%m = load atomic i32, ptr addrspace(3) %l syncscope("workgroup") monotonic, align 4',
            PLAIN_ATTEMPT,
            "go:",
            f"{MATES.format('acquire')}, !mmra !1",
            PLAIN,
            FLAG,
        ),
        "load atomic %l; br; cmpxchg %q; br; lgkmcnt(0); fence acquire; store %p; fence release; buffer_wbl2 sc1; vmcnt(0); store atomic %q",
        "llvm-ir-gfx942-auto",
    ),
    "an attempt before a branch to a wait": Kept(
        body(
            '%r = cmpxchg ptr addrspace(1) %q, i32 0, i32 1 syncscope("agent") monotonic monotonic',
            "br label %a",
            "a:",
            ACQUIRED,
            DATA,
        ),
        "cmpxchg %q; br; vmcnt(0); buffer_inv sc1; fence acquire; load %p",
    ),
    "a store that is not aligned": Kept(
        body(f"{PLAIN}, align 2", FLAG),
        "store %p; fence release; buffer_wbl2 sc1; vmcnt(0); store atomic %q",
        "llvm-ir-gfx942-through",
    ),
    "a store of a vector": Kept(
        body("store <2 x i32> zeroinitializer, ptr addrspace(1) %p, align 8", FLAG),
        "store %p; fence release; buffer_wbl2 sc1; vmcnt(0); store atomic %q",
        "llvm-ir-gfx942-through",
    ),
    "a store of 24 bits": Kept(
        body("store i24 1, ptr addrspace(1) %p, align 4", FLAG),
        "store %p; fence release; buffer_wbl2 sc1; vmcnt(0); store atomic %q",
        "llvm-ir-gfx942-through",
    ),
    "a flag that goes through": Kept(
        body(
            "%c = icmp eq i32 %n, 0",
            "br i1 %c, label %a, label %b",
            "a:",
            STRUCT,
            MATES.format("release"),
            SIGNAL.replace("agent", "workgroup"),
            "ret void",
            "b:",
            ACQUIRE.replace("agent", "workgroup"),
            FLAG.replace("%q", "%p"),
        ),
        "br; store %p; fence release; vmcnt(0); store atomic %q; load atomic %q; await %v; clobber; fence acquire; fence release; buffer_wbl2 sc1; vmcnt(0); store atomic %p",
        "llvm-ir-gfx942-through",
    ),
    "an unordered flag that goes through": Kept(
        body(
            STRUCT,
            MATES.format("release"),
            SIGNAL.replace("agent", "workgroup"),
            ACQUIRE.replace("agent", "workgroup"),
            'fence syncscope("agent") release',
            "store atomic i32 1, ptr addrspace(1) %q unordered, align 4",
        ),
        "store %p; fence release; vmcnt(0); store atomic %q; load atomic %q; await %v; clobber; fence acquire; fence release; buffer_wbl2 sc1; vmcnt(0); store atomic %q",
        "llvm-ir-gfx942-through",
    ),
    "a load with other metadata": Kept(
        body(ACQUIRE, f"{DATA}, !noundef !{{}}"),
        "load atomic %q; await %v; buffer_inv sc1; fence acquire; load %p",
    ),
    "an invariant load": Kept(
        body(ACQUIRE, f"{DATA}, !invariant.load !{{}}", PLAIN),
        "load atomic %q; await %v; clobber; fence acquire; load %p; store %p",
    ),
    "indirectbr": Kept(
        body(
            ACQUIRE,
            "%c = icmp eq i32 %v, 0",
            "br i1 %c, label %a, label %b",
            "a:",
            "indirectbr ptr %g, [label %b, label %d]",
            "b:",
            DATA,
            "br label %d",
            "d:",
        ),
        "load atomic %q; await %v; buffer_inv sc1; fence acquire; br; load %p; br",
    ),
    "indirectbr of the acquire": Kept(
        body(ACQUIRE, "indirectbr ptr %g, [label %b, label %d]", "b:", DATA, "br label %d", "d:"),
        "load atomic %q; await %v; buffer_inv sc1; fence acquire; load %p; br",
    ),
    "a read of LDS that nothing of global memory waits for": Kept(
        body(
            "%c = icmp eq i32 %n, 0",
            "br i1 %c, label %a, label %b",
            "a:",
            STRUCT,
            MATES.format("release"),
            'store atomic i32 1, ptr addrspace(3) %l syncscope("workgroup") monotonic, align 4',
            "ret void",
            "b:",
            '%m = load atomic i32, ptr addrspace(3) %l syncscope("workgroup") monotonic, align 4',
            f"{RELEASED}, !mmra !0",
            SIGNAL,
            f"{RELEASED}, !mmra !0",
            SIGNAL,
            MATES.format("acquire"),
            FLAG,
        ),
        "br; store %p; fence release; vmcnt(0); store atomic %l; load atomic %l; fence release; buffer_wbl2 sc1; vmcnt(0); store atomic %q; fence release; buffer_wbl2 sc1; vmcnt(0); store atomic %q; vmcnt(0); lgkmcnt(0); fence acquire; fence release; buffer_wbl2 sc1; vmcnt(0); store atomic %q",
    ),
    "an acquire that a release for LDS comes before": Kept(
        body(
            ACQUIRE,
            'fence syncscope("workgroup") release, !mmra !1',
            'store atomic i32 1, ptr addrspace(3) %l syncscope("workgroup") monotonic, align 4',
            DATA,
        ),
        "load atomic %q; await %v; buffer_inv sc1; fence acquire; fence release; store atomic %l; load %p",
    ),
    "an invalidate of other agents that a release waits for": Kept(
        body(ACQUIRE.replace(' syncscope("agent")', ""), FLAG, DATA),
        "load atomic %q; await %v; buffer_inv sc0 sc1; fence acquire; fence release; vmcnt(0); store atomic %q; load %p",
    ),
    "what a wave of another CU hands on": Kept(
        body(
            "%c = icmp eq i32 %n, 0",
            "br i1 %c, label %a, label %b",
            "a:",
            ACQUIRE,
            'store atomic i32 1, ptr addrspace(1) %p syncscope("workgroup") release, align 4',
            "ret void",
            "b:",
            '%w = load atomic i32, ptr addrspace(1) %p syncscope("workgroup") acquire, align 4',
            DATA,
        ),
        "br; load atomic %q; await %v; buffer_inv sc1; fence acquire; fence release; vmcnt(0); store atomic %p; load atomic %p; await %w; buffer_inv sc0; fence acquire; load %p",
        "llvm-ir-gfx942-tgsplit",
    ),
    "an acquire for mates": Kept(
        body(
            "%c = icmp eq i32 %n, 0",
            "br i1 %c, label %a, label %b",
            "a:",
            ACQUIRE,
            MATES.format("release"),
            BARRIER,
            "ret void",
            "b:",
            BARRIER,
            MATES.format("acquire"),
            DATA,
        ),
        "br; load atomic %q; await %v; buffer_inv sc1; fence acquire; fence release; call @llvm.amdgcn.s.barrier; call @llvm.amdgcn.s.barrier; clobber; fence acquire; load %p",
    ),
    "a store for mates": Kept(
        body(
            "%c = icmp eq i32 %n, 0",
            "br i1 %c, label %a, label %b",
            "a:",
            STRUCT,
            MATES.format("release"),
            BARRIER,
            "ret void",
            "b:",
            BARRIER,
            MATES.format("acquire"),
            FLAG,
        ),
        "br; store %p; fence release; vmcnt(0); call @llvm.amdgcn.s.barrier; call @llvm.amdgcn.s.barrier; fence release; buffer_wbl2 sc1; fence acquire; fence release; vmcnt(0); store atomic %q",
    ),
    "an attempt before a branch on an argument": Kept(
        body(ATTEMPT, *LEAVE_OR_LOAD),
        BOTH_ACQUIRES,
        arguments=f"{ARGUMENTS}, i1 %c",
    ),
    "an attempt before a branch on another test": Kept(
        body(ATTEMPT, "%c = icmp eq i32 %n, 0", *LEAVE_OR_LOAD),
        BOTH_ACQUIRES,
    ),
    "an attempt before a branch on what it did not expect": Kept(
        body(ATTEMPT, OLD, "%c = icmp eq i32 %old, 7", *LEAVE_OR_LOAD),
        BOTH_ACQUIRES,
    ),
    "an attempt before a branch on what it did not expect, a value": Kept(
        body(ATTEMPT, OLD, "%c = icmp eq i32 %old, %n", *LEAVE_OR_LOAD),
        BOTH_ACQUIRES,
    ),
    "an attempt before a branch on how old and expected compare": Kept(
        body(ATTEMPT, OLD, "%c = icmp ugt i32 %old, 0", *LEAVE_OR_LOAD),
        BOTH_ACQUIRES,
    ),
    "an attempt before a branch on another attempt": Kept(
        body(
            ATTEMPT.replace("%r", "%first").replace("acquire", "monotonic"),
            ATTEMPT,
            "%c = extractvalue { i32, i1 } %first, 1",
            *LEAVE_OR_LOAD,
        ),
        "cmpxchg %q; cmpxchg %q; await %old; clobber; fence acquire; br; buffer_inv sc1; fence acquire; load %p",
    ),
    "an attempt before a branch on two tests": Kept(
        body(ATTEMPT, OK, "%e = icmp eq i32 %n, 0", "%c = xor i1 %ok, %e", *LEAVE_OR_LOAD),
        BOTH_ACQUIRES,
    ),
    "an attempt before a branch if it failed": Kept(
        body(ATTEMPT, OK, "%c = xor i1 %ok, true", *LEAVE_OR_LOAD),
        "cmpxchg %q; await %old; clobber; br; buffer_inv sc1; fence acquire; load %p",
    ),
    "an attempt before a branch if it found something else": Kept(
        body(ATTEMPT, OLD, "%c = icmp ne i32 %old, 0", *LEAVE_OR_LOAD),
        "cmpxchg %q; await %old; clobber; br; buffer_inv sc1; fence acquire; load %p",
    ),
    "an attempt before a load and its branch": Kept(
        body(ATTEMPT, OK, DATA, "br i1 %ok, label %a, label %b", "a:", "ret void", "b:"),
        "cmpxchg %q; await %old; buffer_inv sc1; fence acquire; load %p; br",
    ),
    "an attempt before a call and its branch": Kept(
        body(
            ATTEMPT,
            OK,
            "call void @anything()",
            "br i1 %ok, label %a, label %b",
            "a:",
            "ret void",
            "b:",
        ),
        "cmpxchg %q; await %old; buffer_inv sc1; fence acquire; call @anything; clobber; br",
    ),
    "an attempt whose outcome is both ways the same": Kept(
        body(ATTEMPT, OK, "br i1 %ok, label %a, label %a", "a:", DATA),
        "cmpxchg %q; await %old; buffer_inv sc1; fence acquire; load %p",
    ),
    "an attempt on which a switch goes": Kept(
        body(
            ATTEMPT,
            OK,
            "switch i1 %ok, label %a [ i1 0, label %b ]",
            "a:",
            DATA,
            "br label %b",
            "b:",
        ),
        "cmpxchg %q; await %old; clobber; fence acquire; switch; buffer_inv sc1; fence acquire; load %p; br",
    ),
    "an attempt that acquires if it fails": Kept(
        body(
            ATTEMPT.replace("monotonic", "acquire"),
            OK,
            "br i1 %ok, label %a, label %b",
            "a:",
            "ret void",
            "b:",
            DATA,
        ),
        BOTH_ACQUIRES,
    ),
    "an attempt that is followed by others": Kept(
        body(
            "%c = icmp eq i32 %n, 0",
            "br i1 %c, label %t, label %a",
            "t:",
            ATTEMPT,
            OK,
            "br i1 %ok, label %a, label %b",
            "a:",
            "%i = phi i32 [ 0, %0 ], [ 1, %t ]",
            DATA,
            "store i32 %i, ptr addrspace(3) %l",
            "ret void",
            "b:",
        ),
        "br; cmpxchg %q; await %old; clobber; br; buffer_inv sc1; fence acquire; br; load %p; store %l",
    ),
    "an invalidate for the next round of an outer loop": Kept(
        body(
            READ,
            "%c = icmp eq i32 %n, 0",
            "%d = icmp eq i32 %n, 1",
            "br label %outer",
            "outer:",
            DATA,
            "br label %inner",
            "inner:",
            "br i1 %c, label %acquire, label %next",
            "acquire:",
            ACQUIRED,
            "br label %again",
            "again:",
            "br label %inner",
            "next:",
            "br i1 %d, label %outer, label %out",
            "out:",
        ),
        "load atomic %q; br; load %p; br; br; vmcnt(0); lgkmcnt(0); fence acquire; br; buffer_inv sc1; fence acquire; br; br",
    ),
    "an invalidate for what mates read in their next round": Kept(
        body(
            "%c = icmp eq i32 %n, 0",
            "%d = icmp eq i32 %n, 1",
            "br i1 %c, label %one, label %loop",
            "one:",
            ACQUIRE,
            "br label %two",
            "two:",
            'store atomic i32 1, ptr addrspace(1) %p syncscope("workgroup") release, align 4',
            "ret void",
            "loop:",
            "%x = load i32, ptr %g",
            "br i1 %d, label %again, label %out",
            "again:",
            ACQUIRE.replace("%v", "%u").replace(' syncscope("agent")', ""),
            '%w = load atomic i32, ptr addrspace(1) %p syncscope("workgroup") acquire, align 4',
            "br label %loop",
            "out:",
        ),
        "br; load atomic %q; await %v; buffer_inv sc1; fence acquire; br; fence release; vmcnt(0); store atomic %p; load %g; br; load atomic %q; await %u; buffer_inv sc0 sc1; fence acquire; load atomic %p; await %w; clobber; fence acquire; br",
    ),
    "an attempt whose success leads to a phi": Kept(
        body(
            "br label %try",
            "try:",
            ATTEMPT,
            OK,
            "br i1 %ok, label %a, label %b",
            "a:",
            "%i = phi i32 [ 1, %try ]",
            DATA,
            "store i32 %i, ptr addrspace(3) %l",
            "ret void",
            "b:",
        ),
        "br; cmpxchg %q; await %old; clobber; br; buffer_inv sc1; fence acquire; load %p; store %l",
    ),
    "a call of what acquires": Kept(
        body(DATA, "call void @callee(ptr addrspace(1) %q)", "%y = load i32, ptr addrspace(1) %p"),
        "load %p; call @callee; clobber; load %p",
        rest=callee(ACQUIRE),
    ),
    "a call of what has a fence": Kept(
        body(DATA, "call void @callee(ptr addrspace(1) %q)", "%y = load i32, ptr addrspace(1) %p"),
        "load %p; call @callee; clobber; load %p",
        rest=callee(READ, ACQUIRED),
    ),
    "a call of what acquires if it fails": Kept(
        body(DATA, "call void @callee(ptr addrspace(1) %q)", "%y = load i32, ptr addrspace(1) %p"),
        "load %p; call @callee; clobber; load %p",
        rest=callee(
            '%r = cmpxchg ptr addrspace(1) %q, i32 0, i32 1 syncscope("agent") monotonic acquire'
        ),
    ),
    "a call of what calls what acquires": Kept(
        body(DATA, "call void @outer(ptr addrspace(1) %q)", "%y = load i32, ptr addrspace(1) %p"),
        "load %p; call @outer; clobber; load %p",
        rest=callee("call void @callee(ptr addrspace(1) %q)", name="outer") + callee(ACQUIRE),
    ),
    "a call of what calls something": Kept(
        body(DATA, "call void @callee(ptr addrspace(1) %q)", "%y = load i32, ptr addrspace(1) %p"),
        "load %p; call @callee; clobber; load %p",
        rest=callee("call void @anything()"),
    ),
    "a call by an address": Kept(
        body(DATA, "call void %g()", "%y = load i32, ptr addrspace(1) %p"),
        "load %p; call %g; clobber; load %p",
    ),
    "a call of a quoted name": Kept(
        body(DATA, 'call void @"a b"(ptr addrspace(1) %q)', "%y = load i32, ptr addrspace(1) %p"),
        "load %p; clobber; load %p",
        rest=callee(ACQUIRE, name='"a b"'),
    ),
    "a call in a function of what acquires": Kept(
        body(DATA, "call void @callee(ptr addrspace(1) %q)", "%y = load i32, ptr addrspace(1) %p"),
        "load %p; call @callee; clobber; load %p",
        rest=callee(ACQUIRE),
        convention="",
    ),
    "memory of nobody else's": Kept(
        body(DATA, ACQUIRE, "%y = load i32, ptr addrspace(1) %p"),
        "escape; load %p; load atomic %q; await %v; buffer_inv sc1; fence acquire; load %p",
        arguments=ARGUMENTS.replace("(1) %p", "(1) noalias %p"),
    ),
    "memory of nobody else's, read only in a function": Kept(
        body(DATA, ACQUIRE, "%y = load i32, ptr addrspace(1) %p"),
        "escape; load %p; load atomic %q; await %v; buffer_inv sc1; fence acquire; load %p",
        arguments=ARGUMENTS.replace("(1) %p", "(1) noalias readonly %p"),
        convention="",
    ),
    "memory of nobody else's behind a call": Kept(
        body(DATA, "call void @anything()", "%y = load i32, ptr addrspace(1) %p"),
        "escape; load %p; call @anything; clobber; load %p",
        arguments=ARGUMENTS.replace("(1) %p", "(1) noalias %p"),
    ),
    "a barrier that acquires": Kept(
        body(
            DATA,
            MATES.format("release"),
            BARRIER,
            MATES.format("acquire"),
            "%y = load i32, ptr addrspace(1) %p",
        ),
        "load %p; fence release; vmcnt(0); lgkmcnt(0); call @llvm.amdgcn.s.barrier; clobber; fence acquire; load %p",
    ),
    "waves on several CUs by an attribute": Kept(
        body(ACQUIRE.replace("agent", "workgroup"), DATA),
        "load atomic %q; await %v; buffer_inv sc0; fence acquire; load %p",
        arguments=ARGUMENTS,
        attributes='"target-features"="+tgsplit"',
    ),
    "waves on several CUs by a group of attributes": Kept(
        body(ACQUIRE.replace("agent", "workgroup"), DATA),
        "load atomic %q; await %v; buffer_inv sc0; fence acquire; load %p",
        attributes="#0",
        rest='attributes #0 = { "target-features"="+tgsplit" }\n',
    ),
    "a release and an acquire of LDS": Kept(
        body(
            PLAIN,
            "store i32 1, ptr addrspace(3) %l",
            'fence syncscope("workgroup") release, !mmra !1',
            'store atomic i32 1, ptr addrspace(3) %l syncscope("workgroup") monotonic, align 4',
        ),
        "store %p; store %l; fence release; lgkmcnt(0); store atomic %l",
    ),
    "an update that releases and acquires": Kept(
        body(
            PLAIN,
            '%v = atomicrmw add ptr addrspace(1) %q, i32 1 syncscope("agent") acq_rel',
            DATA,
            "store i32 %v, ptr addrspace(3) %l",
        ),
        "store %p; fence release; buffer_wbl2 sc1; vmcnt(0); atomicrmw %q; await %v; buffer_inv sc1; fence acquire; load %p; store %l",
    ),
    "a load of one order": Kept(
        body(
            PLAIN,
            '%v = load atomic i32, ptr addrspace(1) %q syncscope("agent") seq_cst, align 4',
            DATA,
        ),
        "store %p; fence release; load atomic %q; await %v; buffer_inv sc1; fence acquire; load %p",
    ),
    "a store of one order": Kept(
        body(
            PLAIN,
            'store atomic i32 1, ptr addrspace(1) %q syncscope("agent") seq_cst, align 4',
            DATA,
        ),
        "store %p; fence release; buffer_wbl2 sc1; vmcnt(0); store atomic %q; load %p",
    ),
}
