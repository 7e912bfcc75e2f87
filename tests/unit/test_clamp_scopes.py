"""``--assume``: what facts about the launch let go, sound where they hold and caught where not."""

from dataclasses import dataclass

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.universe import Universe

from fencewright.lowering.facts import CACHE_CLAMPS, CLAMPS, STORE_CLAMPS, WRITE_BACK_ROWS
from fencewright.lowering.llvm.architecture import ARCHITECTURES
from fencewright.lowering.sequence import UnsupportedError
from fencewright.lowering.vocabulary import FACT_TEXT, Fact
from fencewright.mlir_dialects import cdna, scoped
from fencewright.mlir_dialects.llvm_ir.read import import_llvm_ir
from fencewright.passes.litmus.programs import ReadOptions
from fencewright.passes.litmus.verify_lowering import LoweringVerdict, read_sources, verify_lowering
from fencewright.passes.pipelines import CDNAPipeline, LLVMIRPipeline, PTXPipeline, lower_module
from fencewright.passes.scoped.clamp_scopes import ClampScopesPass
from fencewright.universe import UNIVERSE

MESSAGE_PASSING = """
litmus.test @mp {{
  litmus.location @x = 0 : i32 {x}
  litmus.location @f = 0 : i32 {f}
  litmus.thread @P0 at <{first}> {{
    %x = litmus.address @x : {pointer}
    %f = litmus.address @f : !llvm.ptr<1>
    %one = arith.constant 1 : i32
    scoped.store weak %one, %x : i32, {pointer}
    scoped.fence release {scope}
    scoped.store relaxed {scope} %one, %f : i32, !llvm.ptr<1>
  }}
  litmus.thread @P1 at <{second}> {{
    %x = litmus.address @x : {pointer}
    %f = litmus.address @f : !llvm.ptr<1>
    %zero = arith.constant 0 : i32
    %flag = scoped.load relaxed {scope} %f : !llvm.ptr<1> -> i32
    scoped.fence acquire {scope}
    %raised = arith.cmpi ne, %flag, %zero : i32
    cf.cond_br %raised, ^read, ^skip
  ^read:
    %data = scoped.load weak %x : {pointer} -> i32
    litmus.observe "r0", %flag : i32
    litmus.observe "r1", %data : i32
    litmus.end
  ^skip:
    litmus.end
  }}
}}
"""

BARRIER = """
litmus.test @barrier {{
  litmus.location @x = 0 : i32
  litmus.thread @P0 at <{first}> {{
    %x = litmus.address @x : !llvm.ptr<1>
    %one = arith.constant 1 : i32
    scoped.store weak %one, %x : i32, !llvm.ptr<1>
    scoped.barrier {scope}
  }}
  litmus.thread @P1 at <{second}> {{
    %x = litmus.address @x : !llvm.ptr<1>
    scoped.barrier {scope}
    %data = scoped.load weak %x : !llvm.ptr<1> -> i32
    litmus.observe "r0", %data : i32
  }}
}}
"""

ONE_GROUP = ("workgroup = 0", "workgroup = 0")
TWO_GROUPS = ("workgroup = 0, xcd = 0", "workgroup = 1, xcd = 1")
ONE_CLUSTER = ("workgroup = 0, xcd = 0, cluster = 0", "workgroup = 1, xcd = 1, cluster = 0")
ONE_XCD = ("workgroup = 0, cu = 0", "workgroup = 1, cu = 1")
TWO_AGENTS = ("workgroup = 0, agent = 0", "workgroup = 1, agent = 1")
UNCACHED = '{kind = "uncached"}'


@dataclass(frozen=True)
class Case:
    """A test, and what is assumed of it; ``verdict`` is what becomes of that."""

    chip: str
    fact: Fact
    scope: str
    places: tuple[str, str]
    verdict: LoweringVerdict
    x: str = ""
    f: str = ""
    pointer: str = "!llvm.ptr<1>"
    text: str = MESSAGE_PASSING

    def __str__(self) -> str:
        return f"{self.chip}-{self.fact}-{self.verdict.value}-{self.places[1]}"


SOUND, UNSOUND = LoweringVerdict.SOUND, LoweringVerdict.UNSOUND
IN_LDS = {"x": "in local {workgroup = 0 : i64}", "pointer": "!llvm.ptr<3>"}
CASES = (
    # Nothing narrower than what holds between the two is asked for: they cannot observe it.
    Case("gfx942", Fact.SINGLE_WAVE_WORKGROUP, "agent", TWO_GROUPS, SOUND),
    Case("gfx90a", Fact.SINGLE_WAVE_WORKGROUP, "agent", ONE_XCD, SOUND),
    # LDS and memory are different pipes: without the waits the flag overtakes the data.
    Case("gfx942", Fact.SINGLE_WAVE_WORKGROUP, "workgroup", ONE_GROUP, UNSOUND, **IN_LDS),
    Case("gfx908", Fact.SINGLE_WAVE_WORKGROUP, "workgroup", ONE_GROUP, UNSOUND, **IN_LDS),
    Case("sm_90", Fact.SINGLE_WAVE_WORKGROUP, "workgroup", ONE_GROUP, SOUND),
    Case("gfx942", Fact.NO_CLUSTERS, "cluster", ONE_GROUP, SOUND),
    Case("gfx942", Fact.NO_CLUSTERS, "cluster", ONE_GROUP, SOUND, **IN_LDS),
    Case("gfx942", Fact.NO_CLUSTERS, "cluster", ONE_CLUSTER, UNSOUND),
    Case("sm_90", Fact.NO_CLUSTERS, "cluster", ONE_GROUP, SOUND),
    Case("sm_90", Fact.NO_CLUSTERS, "cluster", ONE_CLUSTER, UNSOUND),
    Case("gfx942", Fact.UNCACHED_MEMORY, "system", TWO_AGENTS, SOUND, UNCACHED, UNCACHED),
    Case("gfx942", Fact.UNCACHED_MEMORY, "agent", TWO_GROUPS, SOUND, UNCACHED, UNCACHED),
    Case("gfx90a", Fact.UNCACHED_MEMORY, "system", TWO_AGENTS, SOUND, UNCACHED, UNCACHED),
    Case("gfx942", Fact.UNCACHED_MEMORY, "system", TWO_AGENTS, UNSOUND, "", UNCACHED),
    Case("gfx942", Fact.UNCACHED_MEMORY, "agent", TWO_GROUPS, UNSOUND, "", UNCACHED),
    Case("gfx90a", Fact.UNCACHED_MEMORY, "system", TWO_AGENTS, UNSOUND, "", UNCACHED),
    Case("sm_90", Fact.SINGLE_WAVE_WORKGROUP, "workgroup", ONE_GROUP, UNSOUND, text=BARRIER),
)  # fmt: skip


def parse(text: str) -> ModuleOp:
    context = Context()
    for dialects in (Universe.get_multiverse().all_dialects, UNIVERSE.all_dialects):
        for name, factory in dialects.items():
            if name not in context.registered_dialect_names:
                context.register_dialect(name, factory)
    return Parser(context, text).parse_module()


def lowered(case: Case, facts: tuple[str, ...]) -> LoweringVerdict:
    """What verifying the lowering of a case says."""
    first, second = case.places
    module = parse(
        case.text.format(
            x=case.x, f=case.f, pointer=case.pointer, scope=case.scope, first=first, second=second
        )
    )
    sources = read_sources(module)
    lower_module(module, case.chip, facts=facts)
    (found,) = verify_lowering(sources, module, ReadOptions(None))
    return found.verdict


@pytest.mark.parametrize("case", CASES, ids=str)
def test_facts_are_sound_where_they_hold_and_caught_where_not(case: Case) -> None:
    assert lowered(case, ()) is SOUND
    assert lowered(case, (case.fact,)) is case.verdict


KERNEL = """
func.func @k(%p: !llvm.ptr<1>, %l: !llvm.ptr<3>, %v: i32) attributes {{gpu.kernel{size}}} {{
  scoped.store weak %v, %l : i32, !llvm.ptr<3>
  scoped.store release workgroup %v, %p : i32, !llvm.ptr<1>
  scoped.barrier workgroup
  scoped.fence acq_rel cluster
  {more}
  func.return
}}
"""


def scopes(text: str, chip: str, facts: tuple[str, ...] = ()) -> list[str]:
    module = parse(text)
    ClampScopesPass(chip, facts).apply(Context(), module)
    found = (op for op in module.walk() if isinstance(op, scoped.ScopedOperation))
    return [op.scope.data for op in found if op.scope is not None]


@pytest.mark.parametrize(
    ("size", "chip", "expected"),
    [
        ("", "gfx942", ["workgroup", "workgroup", "cluster"]),
        ("64, 1, 1", "gfx942", ["wavefront", "wavefront", "cluster"]),
        ("32, 2, 2", "gfx942", ["workgroup", "workgroup", "cluster"]),
        ("32, 1, 1", "sm_90", ["workgroup", "wavefront", "cluster"]),
        ("64, 1, 1", "sm_90", ["workgroup", "workgroup", "cluster"]),
    ],
)
def test_the_size_of_the_work_group_says_whether_it_is_one_wave(
    size: str, chip: str, expected: list[str]
) -> None:
    known = f", gpu.known_block_size = array<i32: {size}>" if size else ""
    assert scopes(KERNEL.format(size=known, more=""), chip) == expected


LLVM_SIZES: dict[str, tuple[str, str, int | None]] = {
    "flat": ("cdna", '"amdgpu-flat-work-group-size"="1,64"', 64),
    "flat, wide": ("cdna", '"amdgpu-flat-work-group-size"="64,256"', 256),
    "required": ("cdna", "!reqd_work_group_size !{i32 16, i32 2, i32 2}", 64),
    "both": (
        "cdna",
        '"amdgpu-flat-work-group-size"="1,256" !reqd_work_group_size !{i32 64, i32 1, i32 1}',
        64,
    ),
    "nobody's": ("cdna", '"nvvm.reqntid"="32"', None),
    "of a string": ("cdna", 'section "a" "b"="!reqd_work_group_size"', None),
    "reqntid": ("ptx", '"nvvm.reqntid"="32"', 32),
    "reqntid in three": ("ptx", '"nvvm.reqntid"="8,2,4"', 64),
    "maxntid": ("ptx", '"nvvm.maxntid"="32,1"', 32),
    "maxntid and reqntid": ("ptx", '"nvvm.maxntid"="128" "nvvm.reqntid"="32"', 32),
    "nothing": ("ptx", "", None),
}


@pytest.mark.parametrize("name", LLVM_SIZES)
def test_the_most_threads_that_llvm_ir_speaks_of(name: str) -> None:
    architecture, attributes, threads = LLVM_SIZES[name]
    header = f"define ptx_kernel void @{{@}}() {attributes}"
    assert ARCHITECTURES[architecture].most_threads(header) == threads


LLVM_KERNEL = """
target triple = "{triple}"
define {convention} void @k(ptr addrspace(1) %p) {attributes} {{
  fence syncscope("{scope}") acq_rel
  ret void
}}
define {convention} void @other(ptr addrspace(1) %p) section " #0 !0" {{
  fence syncscope("{scope}") acq_rel
  ret void
}}
{metadata}
"""


@pytest.mark.parametrize(
    ("attributes", "metadata", "expected"),
    [
        ('"amdgpu-flat-work-group-size"="64,64"', "", "wavefront"),
        ("#0", 'attributes #0 = { nounwind "amdgpu-flat-work-group-size"="1,64" }', "wavefront"),
        ("#0", 'attributes #0 = { nounwind "amdgpu-flat-work-group-size"="1,65" }', "workgroup"),
        ("!reqd_work_group_size !0", "!0 = !{i32 32, i32 2, i32 1}", "wavefront"),
        ("!reqd_work_group_size !0", "!0 = !{i32 32, i32 2, i32 2}", "workgroup"),
    ],
)
def test_a_kernel_in_llvm_ir_says_whether_it_is_one_wave(
    attributes: str, metadata: str, expected: str
) -> None:
    text = LLVM_KERNEL.format(
        triple="amdgcn-amd-amdhsa",
        convention="amdgpu_kernel",
        scope="workgroup",
        attributes=attributes,
        metadata=metadata,
    )
    assert scopes(str(import_llvm_ir(text)), "gfx942") == [expected, "workgroup"]


@pytest.mark.parametrize(
    "metadata",
    [
        'attributes #0 = { "nvvm.reqntid"="32" }',
        'attributes #0 = { "nvvm.maxntid"="16,2" }',
        "!nvvm.annotations = !{!0}\n"
        '!0 = !{ptr @k, !"kernel", i32 1, !"reqntidx", i32 16, !"reqntidy", i32 2}',
        '!nvvm.annotations = !{!0}\n!0 = !{ptr @k, !"kernel", i32 1, !"maxntidx", i32 32}',
    ],
)
def test_a_kernel_of_one_warp_in_llvm_ir_has_barriers_of_one_warp(metadata: str) -> None:
    text = LLVM_KERNEL.format(
        triple="nvptx64-nvidia-cuda",
        convention="ptx_kernel",
        scope="block",
        attributes="#0" if "#0" in metadata else "",
        metadata=metadata,
    )
    fence = "scoped.fence acq_rel workgroup"
    # LLVM IR itself has no barrier that is a scoped one.
    module = str(import_llvm_ir(text)).replace(fence, "scoped.barrier workgroup")
    assert scopes(module, "sm_90") == ["wavefront", "workgroup"]


def test_facts_narrow_one_after_another() -> None:
    facts = (Fact.SINGLE_WAVE_WORKGROUP, Fact.NO_CLUSTERS)
    text = KERNEL.format(size="", more="")
    assert scopes(text, "gfx942", facts) == ["wavefront", "wavefront", "wavefront"]
    assert scopes(text, "sm_90", facts) == ["workgroup", "wavefront", "workgroup"]


def test_copies_to_lds_keep_their_work_group() -> None:
    text = KERNEL.format(size="", more="scoped.async_commit_group")
    facts = (Fact.SINGLE_WAVE_WORKGROUP,)
    assert scopes(text, "sm_90", facts) == ["workgroup", "workgroup", "cluster"]


def test_threads_of_a_test_are_of_the_work_group_that_they_are_placed_in() -> None:
    # Their kernels are marked as of one work-item each, which is no size of a work-group.
    case = next(each for each in CASES if each.pointer == "!llvm.ptr<3>")
    assert lowered(case, ()) is SOUND


def test_a_fact_that_makes_no_difference_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="sm_90 has no use for it"):
        PTXPipeline("sm_90", facts=("uncached-memory",))
    with pytest.raises(UnsupportedError, match="unknown fact"):
        LLVMIRPipeline("gfx942", facts=("fast",))
    with pytest.raises(UnsupportedError, match="nothing is taken away at opt-level=0"):
        CDNAPipeline("gfx942", opt_level=0, facts=("no-clusters",))


def test_waits_stay_where_memory_is_uncached() -> None:
    text = KERNEL.format(size="", more="scoped.store release system %v, %p : i32, !llvm.ptr<1>")
    module = parse(text)
    lower_module(module, "gfx942", facts=("uncached-memory",))
    ops = list(module.walk())
    assert not any(isinstance(op, cdna.CacheOp) for op in ops)
    assert any(isinstance(op, cdna.WaitOp) and op.vmcnt is not None for op in ops)


def test_every_fact_has_a_meaning_and_a_row() -> None:
    with_rows = {row.fact for row in (*CLAMPS, *CACHE_CLAMPS, *STORE_CLAMPS, *WRITE_BACK_ROWS)}
    # What a pass does with it, no row: relax-elements.
    assert set(FACT_TEXT) == set(Fact) == with_rows | {Fact.UNORDERED_ELEMENTS, Fact.CUDA_ATOMICS}
    assert all(row.source for row in (*CLAMPS, *CACHE_CLAMPS, *STORE_CLAMPS, *WRITE_BACK_ROWS))
