"""Scalar loads that llc makes of weak ones: none after an acquire, none outstanding at a release.

What is read is llc's own assembly, for LLVM decides which loads are scalar. Data is one dword,
which no argument of these kernels is; a flag is at an offset of 800.
"""

import re
import subprocess
from collections.abc import Iterator
from itertools import product
from typing import Literal, TypeAlias

import pytest
from campaigns import Share, shares
from llvm_ir_waits import in_assembly
from xdsl.context import Context

from fencewright.mlir_dialects.llvm_ir.read import import_llvm_ir
from fencewright.passes.analysis.caches import LGKMCNT, VMCNT
from fencewright.passes.llvm_ir.caches import llvm_ir_codes
from fencewright.passes.llvm_ir.lower_scoped_llvm_ir import LowerScopedLLVMIRPass
from fencewright.passes.pipelines import lower_llvm_ir
from fencewright.tools.llvm_tools import find_llvm_tool

LLC = find_llvm_tool("llc")
pytestmark = pytest.mark.skipif(LLC is None, reason="needs llc of LLVM 22")

OptLevel: TypeAlias = Literal[0, 2]
CHIPS = (("gfx90a", ()), ("gfx942", ()), ("gfx942", ("tgsplit",)))
TARGETS = [(chip, features, level) for chip, features in CHIPS for level in (0, 2)]
IDS = [f"{chip}{'-'.join(('', *features))}-O{level}" for chip, features, level in TARGETS]

HEAD = """target triple = "amdgcn-amd-amdhsa"
@data = hidden addrspace(1) global [512 x i32] zeroinitializer
@lds = internal addrspace(3) global [512 x i32] poison
declare void @llvm.amdgcn.s.barrier()
"""
TAIL = '!0 = !{!"amdgpu-synchronize-as", !"global"}\n'


def compiled(text: str, chip: str, features: tuple[str, ...]) -> dict[str, list[str]]:
    """The instructions and labels of each function of what llc -O2 makes of ``text``."""
    assert LLC is not None
    arguments = ["-O2", f"-mcpu={chip}", *(f"-mattr=+{each}" for each in features), "-o", "-"]
    done = subprocess.run(
        [LLC, *arguments], input=text, capture_output=True, text=True, check=True, timeout=120
    )
    found: dict[str, list[str]] = {}
    for text_of_function in done.stdout.split("\n.Lfunc_end")[:-1]:
        _, name, body = re.split(r"^(\w+): +; @\w+\n", text_of_function, flags=re.MULTILINE)
        found[name] = list(_lines(body))
    return found


def _lines(body: str) -> Iterator[str]:
    for line in body.splitlines():
        code = line.partition(";")[0].strip()
        if re.match(r"[a-z]|\.LBB\w+:", code):
            yield code


def lowered(text: str, chip: str, features: tuple[str, ...], level: OptLevel) -> str:
    return lower_llvm_ir(text, chip, features, opt_level=level, stores="back")


# What runs


_DATA = re.compile(r"s_load_dword ")
_VECTOR_DATA = re.compile(r"(?:global|flat)_load_dword (?!.*offset:800)")
_FLAG = re.compile(
    r"(?:(?:global|flat)_(?:store|atomic)|ds_(?:write|add|cmpst|wrxchg))\w* .*offset:800\b"
)


def scalar_loads(body: list[str]) -> list[str]:
    """The scalar loads of data."""
    return [line for line in body if _DATA.match(line)]


def vector_loads(body: list[str]) -> list[str]:
    """The other loads of data."""
    return [line for line in body if _VECTOR_DATA.match(line)]


def unawaited(body: list[str], stop: re.Pattern[str] = _FLAG) -> list[str]:
    """Where control can come, with a scalar load of data outstanding, to what matches ``stop``."""
    labels = {line[:-1]: place for place, line in enumerate(body) if line.endswith(":")}
    pending, seen, found = [(0, False)], set[tuple[int, bool]](), list[str]()
    while pending:
        place, outstanding = state = pending.pop()
        if state in seen or place == len(body):
            continue
        seen.add(state)
        line = body[place]
        if outstanding and stop.match(line):
            found.append(line)
        if _DATA.match(line):
            outstanding = True
        elif line.startswith("s_waitcnt") and "lgkmcnt(0)" in line:
            outstanding = False
        if line.startswith(("s_branch", "s_cbranch")):
            pending.append((labels[line.split()[1]], outstanding))
        if not line.startswith(("s_branch", "s_endpgm")):
            pending.append((place + 1, outstanding))
    return found


# After an acquire


SCOPES = ("workgroup", "agent", "")
DATA = {
    "argument": "ptr addrspace(1) %data",
    "noalias": "ptr addrspace(1) noalias %data",
    "nocapture": "ptr addrspace(1) noalias nonnull captures(none) %data",
    "cast": "ptr noalias %data",
    "global": "",
}
ACQUIRES = {
    "load": "%v = load atomic i32, {flag} {sync}acquire, align 4",
    "seq_cst": "%v = load atomic i32, {flag} {sync}seq_cst, align 4",
    "rmw": "%v = atomicrmw add {flag}, i32 1 {sync}acquire, align 4",
    "acq_rel": "%v = atomicrmw xchg {flag}, i32 1 {sync}acq_rel, align 4",
    "success": "%r = cmpxchg {flag}, i32 0, i32 1 {sync}acquire monotonic\n"
    "  %v = extractvalue {{ i32, i1 }} %r, 0",
    "failure": "%r = cmpxchg {flag}, i32 0, i32 1 {sync}monotonic acquire\n"
    "  %v = extractvalue {{ i32, i1 }} %r, 0",
    "fence": "%v = atomicrmw add {flag}, i32 1 {sync}monotonic, align 4\n  fence {sync}acquire",
    "global_fence": "%v = atomicrmw add {flag}, i32 1 {sync}monotonic, align 4\n"
    "  fence {sync}acquire, !mmra !0",
    "one_as": "%v = atomicrmw add {flag}, i32 1 {sync_one_as}acquire, align 4",
    "barrier": "%v = add i32 0, 1\n  fence {sync}release\n"
    "  call void @llvm.amdgcn.s.barrier()\n  fence {sync}acquire",
}


def sync(scope: str, suffix: str = "") -> str:
    name = "-".join(each for each in (scope, suffix) if each)
    return f'syncscope("{name}") ' if name else ""


def pointer_of(data: str) -> str:
    """The code that makes ``%p``, which data is at."""
    cast = "%c = addrspacecast ptr %data to ptr addrspace(1)\n  " if data == "cast" else ""
    base = {"cast": "%c", "global": "@data"}.get(data, "%data")
    return f"{cast}%p = getelementptr i32, ptr addrspace(1) {base}, i64 %i"


FLAGS = {"memory": "ptr addrspace(1) %f", "lds": "ptr addrspace(3) %l"}


def kernel(name: str, data: str, body: str) -> str:
    """A kernel with pointers to data and flags, and ``body``, which gives ``%x``."""
    arguments = ", ".join(
        each
        for each in (
            DATA[data],
            "ptr addrspace(1) noalias %flag",
            "ptr addrspace(1) noalias %o",
            "i64 %i",
        )
        if each
    )
    return f"""define amdgpu_kernel void @{name}({arguments}) {{
entry:
  {pointer_of(data)}
  %f = getelementptr i32, ptr addrspace(1) %flag, i64 200
  %l = getelementptr i32, ptr addrspace(3) @lds, i32 200
  {body}
  store i32 %x, ptr addrspace(1) %o
  ret void
}}
"""


LOAD = "load i32, ptr addrspace(1) %p, align 4"


def acquiring(features: tuple[str, ...], share: Share) -> str:
    """A kernel for each way to acquire, and each thing that may hide what is loaded afterwards."""
    kernels = [HEAD]
    points = share.of_product((*ACQUIRES.items(),), SCOPES, (*DATA,), (*FLAGS,))
    for (form, text), scope, data, flag in points:
        if flag == "lds" and (features or scope != "workgroup" or form == "global_fence"):
            continue
        acquire = text.format(flag=FLAGS[flag], sync=sync(scope), sync_one_as=sync(scope, "one-as"))
        body = f"{acquire}\n  %y = {LOAD}\n  %x = add i32 %y, %v"
        kernels.append(kernel(f"{form}_{scope}_{data}_{flag}", data, body))
    return "".join([*kernels, TAIL])


@pytest.mark.parametrize("share", shares(3))
@pytest.mark.parametrize(("chip", "features", "level"), TARGETS, ids=IDS)
def test_no_scalar_load_after_an_acquire(
    chip: str, features: tuple[str, ...], level: OptLevel, share: Share
) -> None:
    text = lowered(acquiring(features, share), chip, features, level)
    found = compiled(text, chip, features)
    assert len(found) * share.count >= len(ACQUIRES) * len(SCOPES) * len(DATA)
    assert [name for name, body in found.items() if scalar_loads(body)] == []
    assert [name for name, body in found.items() if not vector_loads(body)] == []


def test_scalar_loads_are_seen_and_each_part_stops_some() -> None:
    text = lowered(acquiring((), Share(0, 3)), "gfx942", (), 2)
    careless = {
        # The one that is part of a wait or an invalidate stays.
        "clobber": text.replace('call void asm sideeffect "", "~{memory}"()', ""),
        "escape": re.sub(r'  call void asm sideeffect "", "s.*\n', "", text),
    }
    for name, without in careless.items():
        assert without != text
        found = compiled(without, "gfx942", ())
        assert [each for each, body in found.items() if scalar_loads(body)], name


BARRIER = "call void @llvm.amdgcn.s.barrier()"
ACQUIRED = 'fence syncscope("workgroup") acquire'
RELEASED = 'fence syncscope("workgroup") release'

ROLES = f"""%role = trunc i64 %i to i32
  switch i32 %role, label %third [ i32 0, label %first
    i32 1, label %second ]
first:
  %a = {LOAD}
  {RELEASED}
  {BARRIER}
  {BARRIER}
  store i32 %a, ptr addrspace(1) %f
  ret void
second:
  {BARRIER}
  {ACQUIRED}
  store i32 1, ptr addrspace(1) %p
  {RELEASED}
  {BARRIER}
  ret void
third:
  {BARRIER}
  {BARRIER}
  {ACQUIRED}
  %x = {LOAD}"""
"""The first reads before the second writes, the third afterwards: what keeps them apart is barriers."""

LOOP = f"""br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %next, %loop ]
  %sum = phi i32 [ 0, %entry ], [ %x, %loop ]
  %y = {LOAD}
  %x = add i32 %sum, %y
  {{round}}
  %next = add i64 %k, 1
  %more = icmp ult i64 %next, %i
  br i1 %more, label %loop, label %end
end:"""
"""Data is read before the acquire, and after that of the round before."""

SPIN = f"""br label %spin
spin:
  %v = load atomic i32, ptr addrspace(1) %f syncscope("agent") monotonic, align 4
  %some = icmp eq i32 %v, 1
  br i1 %some, label %go, label %spin
go:
  fence syncscope("agent") acquire
  br label %far
far:
  %x = {LOAD}"""
BEFORE_AND_AFTER = f"""%y = {LOAD}
  {ACQUIRES["rmw"].format(flag=FLAGS["memory"], sync=sync("agent"))}
  %z = {LOAD}
  %w = add i32 %y, %z
  %x = add i32 %w, %v"""

WHOLE = {
    "roles": (ROLES, 1, 1),
    "barrier_in_loop": (LOOP.format(round=f"{RELEASED}\n  {BARRIER}\n  {ACQUIRED}"), 0, 1),
    "rmw_in_loop": (LOOP.format(round=ACQUIRES["rmw"].format(flag=FLAGS["memory"], sync="")), 0, 1),
    "spin": (SPIN, 0, 1),
    "before_and_after": (BEFORE_AND_AFTER, 1, 1),
}
"""Code over several blocks, and how many scalar and other loads of data there are to be."""


@pytest.mark.parametrize(("chip", "features", "level"), TARGETS, ids=IDS)
def test_scalar_loads_in_loops_and_across_blocks(
    chip: str, features: tuple[str, ...], level: OptLevel
) -> None:
    each = [*product(WHOLE.items(), DATA)]
    kernels = [kernel(f"{name}_{data}", data, body) for (name, (body, *_)), data in each]
    text = lowered("".join([HEAD, *kernels]), chip, features, level)
    found = compiled(text, chip, features)
    counts = {
        name: (len(scalar_loads(each)), len(vector_loads(each))) for name, each in found.items()
    }
    assert counts == {
        f"{name}_{data}": (scalar, vector) for (name, (_, scalar, vector)), data in each
    }
    for data in DATA:
        assert not unawaited(found[f"roles_{data}"], re.compile("s_barrier"))


CALLED = """define internal i32 @acquire(ptr addrspace(1) %flag) noinline {attributes} {{
  %v = load atomic i32, ptr addrspace(1) %flag syncscope("agent") acquire, align 4
  ret i32 %v
}}
define internal i32 @by_another(ptr addrspace(1) %flag) noinline {attributes} {{
  %v = call i32 @acquire(ptr addrspace(1) %flag)
  ret i32 %v
}}
define internal i32 @harmless(ptr addrspace(1) %flag) noinline {attributes} {{
  %v = load atomic i32, ptr addrspace(1) %flag syncscope("agent") monotonic, align 4
  ret i32 %v
}}
define internal i32 @reads(ptr addrspace(1) noalias %flag, ptr addrspace(1) noalias %p)
    noinline {attributes} {{
  %v = load atomic i32, ptr addrspace(1) %flag syncscope("agent") acquire, align 4
  %y = load i32, ptr addrspace(1) %p, align 4
  %x = add i32 %y, %v
  ret i32 %x
}}
declare i32 @external(ptr addrspace(1))
"""


CALL = f"%v = call i32 @{{name}}(ptr addrspace(1) %f)\n  %y = {LOAD}\n  %x = add i32 %y, %v"


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("attributes", ["", "alwaysinline", "memory(argmem: readwrite)"])
def test_no_scalar_load_after_a_call_that_acquires(attributes: str, level: OptLevel) -> None:
    called = CALLED.format(attributes=attributes)
    called = called.replace("noinline", "") if attributes == "alwaysinline" else called
    names = ("acquire", "by_another", "external", "harmless")
    kernels = [kernel(f"calls_{name}", "noalias", CALL.format(name=name)) for name in names]
    reads = "%x = call i32 @reads(ptr addrspace(1) %f, ptr addrspace(1) %p)"
    kernels += [kernel("calls_reads", "noalias", reads)]
    text = lowered("".join([HEAD, called, *kernels]), "gfx942", (), level)
    found = compiled(text, "gfx942", ())
    scalar = {name for name in names if scalar_loads(found[f"calls_{name}"])}
    assert scalar == {"harmless"}
    assert not any(scalar_loads(found.get(name, [])) for name in ("calls_reads", "reads"))
    assert any(vector_loads(found.get(name, [])) for name in ("calls_reads", "reads"))


STAYING = {
    "readonly": ("ptr addrspace(1) noalias readonly %data", ""),
    "constant": ("ptr addrspace(4) noalias %data", ""),
    "invariant": ("ptr addrspace(1) noalias %data", ", !invariant.load !1"),
}


@pytest.mark.parametrize("name", STAYING)
@pytest.mark.parametrize(("chip", "features", "level"), TARGETS, ids=IDS)
def test_loads_of_what_nobody_changes_stay_scalar(
    chip: str, features: tuple[str, ...], level: OptLevel, name: str
) -> None:
    argument, metadata = STAYING[name]
    acquire = ACQUIRES["fence"].format(flag=FLAGS["memory"], sync=sync("agent"))
    body = f"{acquire}\n  %y = {LOAD}{metadata}\n  %x = add i32 %y, %v"
    text = kernel("k", "argument", body).replace(f"({DATA['argument']}", f"({argument}")
    if name == "constant":
        text = text.replace("i32, ptr addrspace(1) %data", "i32, ptr addrspace(4) %data")
        text = text.replace("load i32, ptr addrspace(1) %p", "load i32, ptr addrspace(4) %p")
    text = lowered(f"{HEAD}{text}{TAIL}!1 = !{{}}\n", chip, features, level)
    assert len(scalar_loads(compiled(text, chip, features)["k"])) == 1


# Before a release


RELEASES = {
    "store": "store atomic i32 1, {flag} {sync}release, align 4",
    "seq_cst": "store atomic i32 1, {flag} {sync}seq_cst, align 4",
    "one_as": "store atomic i32 1, {flag} {sync_one_as}release, align 4",
    "rmw": "%v = atomicrmw add {flag}, i32 1 {sync}release, align 4",
    "rmw_one_as": "%v = atomicrmw add {flag}, i32 1 {sync_one_as}acq_rel, align 4",
    "cmpxchg": "%v = cmpxchg {flag}, i32 0, i32 1 {sync}release acquire, align 4",
    "fence": "fence {sync}release\n  {relaxed}",
    "acq_rel_fence": "fence {sync}acq_rel\n  {relaxed}",
    "seq_cst_fence": "fence {sync}seq_cst\n  {relaxed}",
    "global_fence": "fence {sync}release, !mmra !0\n  {relaxed}",
    "global_acq_rel": "fence {sync}acq_rel, !mmra !0\n  {relaxed}",
    "one_as_fence": "fence {sync_one_as}release\n  {relaxed}",
    "second": "store i32 1, ptr addrspace(1) %o\n  fence {sync}release\n  {relaxed}",
}
RELAXED = "store atomic i32 1, {flag} {sync}monotonic, align 4"
LOADS = {
    "one": "%x = {load}",
    "waited_for": "store i32 2, ptr addrspace(3) @lds\n  %x = {load}\n"
    "  store i32 3, ptr addrspace(3) @lds",
    "branch": "%c = icmp eq i64 %i, 7\n  br i1 %c, label %some, label %all\nsome:\n  %y = {load}\n"
    "  br label %all\nall:\n  %x = phi i32 [ %y, %some ], [ 0, %entry ]",
}


def releasing(features: tuple[str, ...], share: Share) -> str:
    """A kernel for each way to release after scalar loads."""
    kernels = [HEAD]
    points = share.of_product((*RELEASES.items(),), SCOPES, (*LOADS,), (*FLAGS,))
    for (form, text), scope, loads, flag in points:
        if features and (flag == "lds" or loads == "waited_for"):
            continue
        words = {
            "flag": FLAGS[flag],
            "sync": sync(scope),
            "sync_one_as": sync(scope, "one-as"),
        }
        release = text.format(**words, relaxed=RELAXED.format(**words))
        body = f"{LOADS[loads].format(load=LOAD)}\n  {release}"
        kernels.append(kernel(f"{form}_{scope}_{loads}_{flag}", "argument", body))
    return "".join([*kernels, TAIL])


@pytest.mark.parametrize("share", shares(3))
@pytest.mark.parametrize("compat", [None, "llvm"])
@pytest.mark.parametrize(("chip", "features", "level"), TARGETS, ids=IDS)
def test_a_release_waits_for_scalar_loads(
    chip: str,
    features: tuple[str, ...],
    level: OptLevel,
    compat: Literal["llvm"] | None,
    share: Share,
) -> None:
    text = releasing(features, share)
    text = lower_llvm_ir(text, chip, features, compat=compat, opt_level=level, stores="back")
    found = compiled(text, chip, features)
    assert [name for name, body in found.items() if unawaited(body)] == []
    flagged = [name for name, body in found.items() if any(map(_FLAG.match, body))]
    assert flagged == [*found]
    # Otherwise it would not matter. LLVM makes none after a write-back that has been hoisted.
    assert sum(bool(scalar_loads(body)) for body in found.values()) > len(found) // 2


def test_a_release_that_does_not_wait_is_seen() -> None:
    text = in_assembly(lowered(releasing((), Share(0, 3)), "gfx942", (), 2))
    careless = re.sub(r"vmcnt\(0\) lgkmcnt\(0\)", "vmcnt(0)", text)
    found = compiled(careless, "gfx942", ())
    forms = {name.rpartition("_")[0] for name, body in found.items() if unawaited(body)}
    assert len(forms) >= len(RELEASES)


def test_a_release_that_does_not_wait_for_lds_still_does_not() -> None:
    """What it waits for besides are scalar loads, of which there is none."""
    body = "store i32 2, ptr addrspace(3) %l\n  store i32 3, ptr addrspace(1) %o\n  {release}\n  %x = add i32 0, 0"
    for form in ("one_as", "rmw_one_as", "global_fence", "global_acq_rel"):
        words = {
            "flag": FLAGS["memory"],
            "sync": sync("agent"),
            "sync_one_as": sync("agent", "one-as"),
        }
        release = RELEASES[form].format(**words, relaxed=RELAXED.format(**words))
        text = f"{HEAD}{kernel('k', 'argument', body.format(release=release))}{TAIL}"
        assert "lgkmcnt" not in lowered(text, "gfx942", (), 2)
        assert "vmcnt(0) lgkmcnt(0)" in lowered(text, "gfx942", (), 0)


def test_a_wait_for_scalar_loads_is_none_for_lds() -> None:
    """It goes where no scalar load can be outstanding, so that nothing may count on it for LDS."""
    module = import_llvm_ir(f"{HEAD}{kernel('k', 'argument', RESTRICTED)}{TAIL}", "<string>")
    LowerScopedLLVMIRPass("gfx942").apply(Context(), module)
    waits = [
        step.meaning.waits
        for code in llvm_ir_codes(module)
        for steps in code.steps.values()
        for step in steps
        if step.meaning.waits
    ]
    assert waits == [VMCNT, VMCNT | LGKMCNT]


RESTRICTED = f"""%x = {LOAD}
  fence syncscope("agent") release, !mmra !0
  fence syncscope("agent") release"""
