"""A narrow read of what a mate has written more widely: no cache shows it before others can see it."""

import pytest

from fencewright.lowering.lower import lower, lower_for
from fencewright.lowering.sequence import Request, Sequence, Target
from fencewright.lowering.targets import parse_target
from fencewright.lowering.vocabulary import AddressSpace, Compat, Operation, Ordering, Scope
from fencewright.passes.pipelines import lower_llvm_ir
from fencewright.simulator.certify.certificate import RacyTestError, Trial
from fencewright.simulator.certify.shapes import ShapeTest, shape_tests

CHIPS = ("gfx908", "gfx90a", "gfx942")


def mixed(mode: Target, op: Operation = Operation.LOAD) -> list[ShapeTest]:
    request = Request(op, Ordering.RELAXED, Scope.WORKGROUP, AddressSpace.GLOBAL, target=mode)
    return [test for test in shape_tests(request, mode) if " mixed " in test.name]


def failing(trial: Trial) -> set[str]:
    """The shapes among the tests of two scopes that end as their source cannot."""
    found: set[str] = set()
    for test in mixed(trial.mode):
        try:
            if trial.judge(test) is not None:
                found.add(test.name.split()[0])
        except RacyTestError:
            continue
    return found


@pytest.mark.parametrize("chip", CHIPS)
def test_the_lowering_passes(chip: str) -> None:
    mode = parse_target(chip)
    assert {test.name.split()[0] for test in mixed(mode)} == {"WRC", "RWC", "ISA2", "IRIW"}
    assert not failing(Trial(mode))


@pytest.mark.parametrize(("chip", "fails"), [("gfx908", True), ("gfx90a", True), ("gfx942", False)])
def test_llvms_loads_hit_the_l1(chip: str, fails: bool) -> None:
    def as_llvm(request: Request) -> Sequence:
        compat = Compat.LLVM if request.op is Operation.LOAD else None
        return lower_for(
            parse_target(chip, compat=compat),
            op=request.op,
            ordering=request.ordering,
            scope=request.scope,
            space=request.space,
            returns=request.returns,
            kind=request.kind,
        )

    found = failing(Trial(parse_target(chip), as_llvm))
    assert ("WRC" in found) is fails
    assert ("RWC" in found) is fails


@pytest.mark.parametrize("chip", CHIPS[:2])
def test_only_loads_of_the_workgroup_differ_from_llvm(chip: str) -> None:
    def bits(scope: Scope, compat: str | None = None) -> bool:
        made = lower(
            op="load", ordering="relaxed", scope=scope, space="global", target=chip, compat=compat
        )
        return "glc" in made.text

    assert bits(Scope.WORKGROUP)
    assert not bits(Scope.WORKGROUP, "llvm")
    assert not bits(Scope.WAVEFRONT)


SOURCE = """target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k(ptr addrspace(1) %p, ptr addrspace(3) %s) {{
  %v = load atomic i32, ptr addrspace(1) %p syncscope("workgroup") {ordering}, align 4
  %w = load atomic i32, ptr addrspace(3) %s syncscope("workgroup") monotonic, align 4
  %x = atomicrmw or ptr addrspace(1) %p, i32 0 syncscope("workgroup") monotonic
  ret void
}}
"""


@pytest.mark.parametrize("ordering", ["monotonic", "acquire"])
@pytest.mark.parametrize(("chip", "scope"), [("gfx90a", "agent"), ("gfx942", "workgroup")])
def test_llvm_gets_a_scope_with_the_bits(ordering: str, chip: str, scope: str) -> None:
    """Also for a read-modify-write that LLVM makes a load of; LDS has no caches."""
    said = lower_llvm_ir(SOURCE.format(ordering=ordering), chip)
    assert f'%v = load atomic i32, ptr addrspace(1) %p syncscope("{scope}") monotonic' in said
    assert '%w = load atomic i32, ptr addrspace(3) %s syncscope("workgroup") monotonic' in said
    assert f'%x = atomicrmw or ptr addrspace(1) %p, i32 0 syncscope("{scope}") monotonic' in said
