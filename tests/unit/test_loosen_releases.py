"""Releases within the work-group wait for no access to memory where wider ones write back, under a fact."""

import re
from typing import Any

import pytest
import test_minimise_cdna as kernels_path
import test_minimise_llvm_ir as llvm_ir_path
from llvm_ir_waits import in_assembly
from test_minimise_llvm_ir import CUMULATIVE

from fencewright import lower_llvm_ir
from fencewright.lowering.sequence import UnsupportedError
from fencewright.passes.llvm_ir import loosen_releases
from fencewright.simulator.cdna import engine
from fencewright.simulator.cdna.wave import ID_MASK, Op

MODULE = """target triple = "amdgcn-amd-amdhsa"
@lds = internal addrspace(3) global i32 poison
declare void @llvm.amdgcn.s.barrier()
declare void @anything()
declare i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8), i32, i32, i32 immarg)
declare void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8), ptr addrspace(3), i32, i32, i32, i32, i32)
define {convention} void @k(ptr addrspace(1) %p, ptr addrspace(1) %q, ptr addrspace(8) %b) {attributes} {{
  {body}
  ret void
}}
"""
MEET = (
    'fence syncscope("workgroup") {ordering}',
    "call void @llvm.amdgcn.s.barrier()",
    'fence syncscope("workgroup") acquire',
)
STORE = "store i32 1, ptr addrspace(1) %p, align 4"
FLAG = 'store atomic i32 1, ptr addrspace(1) %q syncscope("{scope}") {ordering}, align 4'
READ = '%f{n} = load atomic i32, ptr addrspace(1) %q syncscope("agent") {ordering}, align 4'
MEMORY = "vmcnt(0)"


def lowered(
    *body: str,
    ordering: str = "release",
    convention: str = "amdgpu_kernel",
    attributes: str = "",
    chip: str = "gfx942",
    l2_per_agent: str = "many",
    facts: tuple[str, ...] = (CUMULATIVE,),
) -> str:
    """A kernel of this body, in which MEET stands for a meeting of its work-group."""
    lines = [line.format(ordering=ordering) if line in MEET else line for line in body]
    text = MODULE.format(body="\n  ".join(lines), convention=convention, attributes=attributes)
    return in_assembly(lower_llvm_ir(text, chip, l2_per_agent=l2_per_agent, facts=facts))


def waits(*body: str, **options: Any) -> list[str]:
    """The waits of the kernel ``lowered``."""
    return re.findall(r"s_waitcnt ([^\"\\]*)", lowered(*body, **options))


RELEASE = FLAG.format(scope="agent", ordering="release")


def test_a_meeting_leaves_stores_to_the_write_back_after_it() -> None:
    assert waits(STORE, *MEET) == []
    assert waits(STORE, *MEET, RELEASE) == [MEMORY]


def test_it_is_no_use_where_the_agent_has_one_l2() -> None:
    with pytest.raises(UnsupportedError, match="gfx90a has no use for it"):
        lowered(STORE, *MEET, chip="gfx90a")


def test_lds_is_waited_for_all_the_same() -> None:
    lds = "store i32 1, ptr addrspace(3) @lds, align 4"
    assert waits(STORE, lds, *MEET, RELEASE) == ["lgkmcnt(0)", MEMORY]


UNFLAGGED = READ.format(n=0, ordering="monotonic")
ASYNC = (
    "call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %b, ptr addrspace(3) @lds, "
    "i32 4, i32 0, i32 0, i32 0, i32 0)"
)


@pytest.mark.parametrize(
    ("body", "options"),
    [
        ((STORE, *MEET, RELEASE), {"l2_per_agent": "one"}),
        ((STORE, *MEET, RELEASE), {"facts": ()}),
        ((STORE, *MEET, RELEASE), {"chip": "gfx950", "facts": ()}),
        ((STORE, *MEET, RELEASE), {"attributes": '"target-features"="+tgsplit"'}),
        ((STORE, *MEET), {"convention": ""}),
        ((STORE, *MEET, "call void @anything()"), {}),
        ((ASYNC, *MEET, RELEASE), {}),
        ((STORE, *MEET, READ.format(n=1, ordering="seq_cst").replace("agent", "one-as")), {}),
        ((STORE, UNFLAGGED, *MEET, RELEASE), {"ordering": "acq_rel"}),
        ((STORE, *MEET, 'fence syncscope("agent") acquire'.replace("agent", "")), {}),
    ],
    ids=str,
)
def test_it_waits_where_mates_count_on_it(body: tuple[str, ...], options: dict[str, Any]) -> None:
    body = tuple(line.replace('syncscope("") ', "") for line in body)
    before = waits(*body, **options)
    assert MEMORY in before[0].split()


def test_a_flag_that_a_release_does_not_acquire_is_not_waited_for() -> None:
    assert waits(STORE, UNFLAGGED, *MEET[:2]) == []


def test_only_an_atomic_whose_result_is_used_is_awaited() -> None:
    exchange = '%x = atomicrmw xchg ptr addrspace(1) %q, i32 1 syncscope("agent") release, align 4'
    use = "store i32 %x, ptr addrspace(1) %p, align 4"
    assert "(i32 %x)" in lowered(exchange, *MEET, use)
    assert waits(exchange, *MEET) == []


def test_a_buffer_load_past_the_caches_is_a_flag_and_nothing_else() -> None:
    load_ = "%x = call i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8) %b, i32 0, i32 0, i32 {})"
    assert waits(STORE, load_.format(3), *MEET[:2]) == ["lgkmcnt(0)"]


# Each rule broken on purpose.


@pytest.fixture(autouse=True)
def one_wave_on_each_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in tests/unit/test_minimise_llvm_ir.py."""
    monkeypatch.setattr(llvm_ir_path.Paths, "published_by_all", kernels_path.always(None))


@pytest.mark.parametrize("name", kernels_path.CASES)
def test_what_is_left_is_enough_on_such_a_machine(name: str) -> None:
    case = kernels_path.CASES[name]
    facts = llvm_ir_path.facts_on(case.target, 1)
    text, found = llvm_ir_path.problem(case.threads, case.target, facts=facts)
    assert not found, text


def test_without_the_write_back_stores_are_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loosen_releases, "_is_wider", kernels_path.always(False))
    case = kernels_path.CASES["a store on its way that a mate hands on"]
    assert llvm_ir_path.problem(case.threads, case.target, facts=(CUMULATIVE,))[1]


# A machine on which the fact does not hold.


def past_other_waves(queue: tuple[int, ...], op: Op, by_number: list[Op]) -> range:
    """A write-back enters its CU's queue right after what its own wave has there.

    Source: LLVM 22, SIMemoryLegalizer, insertRelease: of earlier writes by the same wave.
    """
    place = len(queue)
    while op.effect.write_back and place and by_number[queue[place - 1] & ID_MASK].wave != op.wave:
        place -= 1
    return range(place, place + 1)


WITH_MATES = [
    name for name, case in kernels_path.CASES.items() if llvm_ir_path.facts_on(case.target, 1)
]


@pytest.mark.parametrize("name", WITH_MATES)
def test_without_the_fact_documents_are_enough(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write-back that covers nothing of other waves is enough for what is emitted by default."""
    case = kernels_path.CASES[name]
    monkeypatch.setattr(engine, "places_to_enter", past_other_waves)
    text, found = llvm_ir_path.problem(case.threads, case.target)
    assert not found, text


@pytest.mark.parametrize("name", ["handed on by a narrower flag", "handed on by a barrier"])
def test_with_the_fact_they_are_not(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor are they for LLVM, which leaves the same waits out: Triton's stream-K has one."""
    case = kernels_path.CASES[name]
    monkeypatch.setattr(engine, "places_to_enter", past_other_waves)
    assert llvm_ir_path.problem(case.threads, case.target, facts=(CUMULATIVE,))[1]
