"""Certificates: what is broken is insufficient by name, what is redundant unnecessary by name.

Then the real lowering bugs that these machines can express, wrong form and right form; and
what the project ships, checked again in a sample (all of it with FENCEWRIGHT_THOROUGH).
"""

import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, TypeVar, cast

import pytest
from campaigns import some_of

from fencewright.lowering.cdna import select
from fencewright.lowering.cdna.chip import BareInstruction, Chip
from fencewright.lowering.cdna.chips import CHIPS
from fencewright.lowering.cdna.generations.common import load_chip
from fencewright.lowering.lower import check, lower_request
from fencewright.lowering.sequence import Request, Sequence, Target, UnsupportedError, WaitCounts
from fencewright.lowering.table import Illegal, Row, Table
from fencewright.lowering.targets import parse_target
from fencewright.lowering.vocabulary import (
    AddressSpace,
    Compat,
    L2PerAgent,
    Operation,
    Ordering,
    Phase,
    RmwKind,
    Scope,
)
from fencewright.simulator.cdna.rows import ACCESS, CACHE, CdnaConfiguration
from fencewright.simulator.certify.certificate import (
    KEPT,
    Certificate,
    CertificateError,
    OperationCertificate,
    RacyTestError,
    Trial,
    Verdict,
    Witness,
    certify_mode,
    certify_operation,
    certify_rows,
    covers,
    explain,
    modes,
    ptx_classes,
    recheck,
    requests_of,
    shipped,
)
from fencewright.simulator.certify.programs.code import Lowering
from fencewright.simulator.certify.shapes import ShapeTest, operations, shape_tests
from fencewright.simulator.core.processes.campaign import open_executor

THOROUGH = "FENCEWRIGHT_THOROUGH" in os.environ
GLOBAL, LOCAL = AddressSpace.GLOBAL, AddressSpace.LOCAL
RELAXED, ACQUIRE, RELEASE = Ordering.RELAXED, Ordering.ACQUIRE, Ordering.RELEASE
SEQ_CST = Ordering.SEQ_CST
GFX942, GFX90A = Target("gfx942"), Target("gfx90a")
ONE_L2 = Target("gfx942", l2_per_agent=L2PerAgent.ONE)
SM_90 = Target("sm_90", ptx_version=(8, 6))


def store(scope: Scope = Scope.AGENT, ordering: Ordering = RELEASE) -> Request:
    return Request(Operation.STORE, ordering, scope, GLOBAL)


def load(scope: Scope = Scope.AGENT, ordering: Ordering = ACQUIRE) -> Request:
    return Request(Operation.LOAD, ordering, scope, GLOBAL)


def rmw(scope: Scope = Scope.AGENT, ordering: Ordering = Ordering.ACQ_REL) -> Request:
    return Request(Operation.ATOMIC_RMW, ordering, scope, GLOBAL, kind=RmwKind.XCHG)


def failing(found: OperationCertificate) -> set[str]:
    return {failure.test for failure in found.failures}


# Rows broken on purpose

T = TypeVar("T")


@dataclass(frozen=True)
class ChipLowering:
    """The lowering of a chip whose rows have been changed."""

    chip: Chip

    def __call__(self, request: Request) -> Sequence:
        check(request)
        return select.lower(self.chip, request)


def with_row(table: Table[T], value: T, **where: object) -> Table[T]:
    """``table`` with another value wherever ``where`` holds."""
    rows: list[Row[T]] = []
    for key, old in table.items():
        place = dict(zip(table.columns, key, strict=True))
        hit = all(place[column] == wanted for column, wanted in where.items())
        single = {column: (value,) for column, value in place.items()}
        rows.append(Row(single, value if hit else old.value, old.source))
    return Table(table.name, table.columns, rows)


CHIP = load_chip("gfx942")
NO_WRITE_BACK = replace(CHIP, write_back=with_row(CHIP.write_back, (), scope=Scope.AGENT))
NO_WAIT = replace(
    CHIP, wait=with_row(CHIP.wait, WaitCounts(), scope=Scope.AGENT, space=AddressSpace.GLOBAL)
)
NO_LDS_WAIT = replace(
    CHIP, wait=with_row(CHIP.wait, WaitCounts(), scope=Scope.AGENT, space=AddressSpace.LOCAL)
)
NO_INVALIDATE = replace(CHIP, invalidate=with_row(CHIP.invalidate, (), scope=Scope.AGENT))
NARROW_WRITE_BACK = replace(
    CHIP,
    write_back=with_row(
        CHIP.write_back, (BareInstruction("buffer_wbl2", ("sc0",)),), scope=Scope.AGENT
    ),
)
NARROW_INVALIDATE = replace(
    CHIP,
    invalidate=with_row(
        CHIP.invalidate, (BareInstruction("buffer_inv", ("sc0",)),), scope=Scope.AGENT
    ),
)
NARROW_STORE = replace(
    CHIP,
    policy=with_row(CHIP.policy, ("sc0",), scope=Scope.AGENT, operation=Operation.STORE),
)
NARROW_LOAD = replace(
    CHIP, policy=with_row(CHIP.policy, ("sc0",), scope=Scope.AGENT, operation=Operation.LOAD)
)
NARROW_RMW = replace(
    CHIP, policy=with_row(CHIP.policy, (), scope=Scope.SYSTEM, operation=Operation.ATOMIC_RMW)
)


def fails(request: Request, mode: Target, lowering: Lowering) -> set[str]:
    """The tests of an operation that fail, as a certificate would name them."""
    trial, request = Trial(mode, lowering), replace(request, target=mode)
    return {test.name for test in shape_tests(request, mode) if has_failed(trial, test)}


def has_failed(trial: Trial, test: ShapeTest) -> bool:
    """True of a failure; what has a data race is no test."""
    try:
        return trial.judge(test) is not None
    except RacyTestError:
        return False


def catches(name: str, request: Request, mode: Target, lowering: Lowering) -> bool:
    """True where the test of that name fails; no other test is judged."""
    trial, request = Trial(mode, lowering), replace(request, target=mode)
    return any(has_failed(trial, test) for test in shape_tests(request, mode) if test.name == name)


@cache
def is_sound_as_it_is(request: Request, mode: Target) -> bool:
    """True where nothing fails of an operation with every row right."""
    return not fails(request, mode, lower_request)


def test_a_chip_with_every_row_right_is_lowered_as_ever():
    for request in requests_of(GFX942):
        assert ChipLowering(CHIP)(request) == lower_request(request)


@pytest.mark.parametrize(
    ("chip", "request_", "test"),
    [
        (NO_WRITE_BACK, store(), "MP release global, two XCDs"),
        (NARROW_WRITE_BACK, store(), "MP release global, two XCDs"),
        (NO_WAIT, store(), "MP release global, two XCDs"),
        (NO_WAIT, load(), "MP acquire global, two XCDs"),
        (NO_LDS_WAIT, store(), "MP release global, one CU+lds"),
        (NO_INVALIDATE, load(), "MP acquire global, two XCDs"),
        (NARROW_INVALIDATE, load(), "MP acquire global, two CUs"),
        (NARROW_STORE, store(ordering=RELAXED), "spin on the write global, two XCDs"),
        (NARROW_LOAD, load(ordering=RELAXED), "CoRR global, two XCDs"),
        (NARROW_RMW, rmw(Scope.SYSTEM, RELAXED), "atomicity-add global, two agents"),
        (NO_WRITE_BACK, rmw(), "MP release global, two XCDs"),
        (NO_INVALIDATE, rmw(), "MP acquire global, two XCDs"),
        (NO_WAIT, load(ordering=Ordering.SEQ_CST), "SB read global, two XCDs"),
    ],
    ids=lambda value: value.name if isinstance(value, Chip) else str(value),
)
def test_a_broken_row_is_insufficient(chip: Chip, request_: Request, test: str):
    assert catches(test, request_, GFX942, ChipLowering(chip))
    assert is_sound_as_it_is(request_, GFX942)


def test_a_certificate_names_what_fails():
    broken = certify_operation(store(), GFX942, ChipLowering(NO_WRITE_BACK))
    assert failing(broken) == fails(store(), GFX942, ChipLowering(NO_WRITE_BACK))
    sound = certify_operation(store(), GFX942, ChipLowering(CHIP))
    assert sound.is_sound
    assert sound.tests == broken.tests


def test_a_redundant_instruction_is_unnecessary():
    """An invalidate in the release: no test needs it, and the rest stays needed."""
    twice = (BareInstruction("buffer_wbl2", ("sc1",)), BareInstruction("buffer_inv", ("sc1",)))
    chip = replace(CHIP, write_back=with_row(CHIP.write_back, twice, scope=Scope.AGENT))
    found = certify_operation(store(), GFX942, ChipLowering(chip))
    assert found.is_sound
    assert [part.part for part in found.unnecessary] == ["buffer_inv sc1"]
    needed = [part.part for part in found.parts if part.verdict is Verdict.NEEDED]
    assert needed == [
        "buffer_wbl2 sc1",
        "vmcnt(0) of s_waitcnt vmcnt(0) lgkmcnt(0)",
        "lgkmcnt(0) of s_waitcnt vmcnt(0) lgkmcnt(0)",
        "sc1 of global_store_dword {addr}, {data}, off sc1",
    ]


def test_every_part_of_agent_message_passing_is_needed():
    for request in (store(), load(), rmw(), rmw(Scope.SYSTEM)):
        found = certify_operation(request, GFX942)
        assert found.is_sound
        assert found.void == 0
        assert {part.verdict for part in found.parts} == {Verdict.NEEDED}


# The real lowering bugs

Change = Callable[[Sequence], Sequence]


@dataclass(frozen=True)
class Changed:
    """A lowering in which some requests come out differently."""

    applies: Callable[[Request], bool]
    change: Change

    def __call__(self, request: Request) -> Sequence:
        made = lower_request(request)
        return self.change(made) if self.applies(request) else made


def dropping(*texts: str) -> Change:
    return lambda sequence: Sequence(
        tuple(each for each in sequence.instructions if each.text not in texts)
    )


def rewriting(old: str, new: str) -> Change:
    def change(sequence: Sequence) -> Sequence:
        made = [replace(i, mnemonic=i.mnemonic.replace(old, new)) for i in sequence.instructions]
        return Sequence(tuple(made))

    return change


def is_release_store(request: Request) -> bool:
    return request.op is Operation.STORE and request.ordering is RELEASE


def test_llvm_178316_wait_after_the_write_back_was_dropped():
    wrong = Changed(is_release_store, dropping("s_waitcnt vmcnt(0) lgkmcnt(0)"))
    assert catches("MP release global, two XCDs", store(), GFX942, wrong)
    assert is_sound_as_it_is(store(), GFX942)


def like_llvm(request: Request) -> Sequence:
    """LLVM 22's choices."""
    target = replace(request.target, compat=Compat.LLVM)
    return lower_request(replace(request, target=target))


@pytest.mark.parametrize("mode", [ONE_L2, GFX90A], ids=str)
def test_llvm_161638_workgroup_release_is_not_transitive(mode: Target):
    """With one L2 a leader's wait covers its own stores only (with many, as below)."""

    def lowering(request: Request) -> Sequence:
        narrow = request.scope is Scope.WORKGROUP
        return (like_llvm if narrow else lower_request)(request)

    name = "ISA2 first global, one CU, then agent two CUs"
    request = replace(store(Scope.WORKGROUP), target=mode)
    assert catches(name, request, mode, lowering)
    assert is_sound_as_it_is(request, mode)


def barrier() -> Request:
    return Request(Operation.BARRIER, Ordering.ACQ_REL, Scope.WORKGROUP, None)


def test_primus_turbo_251_the_payload_is_another_waves():
    """A release that is only the publishing wave's own wait, after a barrier that waits for nothing."""

    def wrong(request: Request) -> Sequence:
        if request.op is Operation.BARRIER:
            return like_llvm(request)
        made = lower_request(request)
        own_wait = request.op is Operation.STORE and request.ordering is RELEASE
        return dropping("buffer_wbl2 sc1")(made) if own_wait else made

    name = "ISA2 publish first one CU, then agent two XCDs+av(none)"
    assert catches(name, barrier(), GFX942, wrong)
    assert is_sound_as_it_is(barrier(), GFX942)


def test_hecbench_292_a_relaxed_publish_after_a_wait():
    """Right on gfx90a, where the agent has one L2; wrong on gfx942."""
    text = "buffer_wbl2 sc1"
    dropped = Changed(is_release_store, dropping(text))
    assert catches("MP release global, two XCDs", store(), GFX942, dropped)
    assert not fails(store(), ONE_L2, dropped)
    trial, request = Trial(GFX90A), replace(store(), target=GFX90A)
    assert "buffer_wbl2" not in trial.lowering(request).text
    within = [t for t in shape_tests(request, GFX90A) if "two agents" not in t.name]
    assert [t.name for t in within if trial.judge(t)] == []


def test_pytorch_161180_fence_and_acquire_were_removed():
    fence = Request(Operation.FENCE, ACQUIRE, Scope.AGENT, None)

    def nothing(sequence: Sequence) -> Sequence:
        return Sequence(tuple(i for i in sequence.instructions if i.phase is Phase.ACCESS))

    no_fence = Changed(lambda r: r.op is Operation.FENCE, nothing)
    assert catches("MP acquire global, two XCDs", fence, GFX942, no_fence)
    relaxed = Changed(lambda r: r.ordering is ACQUIRE, nothing)
    assert catches("MP acquire global, two XCDs", load(), GFX942, relaxed)
    assert is_sound_as_it_is(fence, GFX942)


def test_rccl_1932_a_flag_that_is_never_seen():
    def plain(sequence: Sequence) -> Sequence:
        return Sequence(tuple(replace(i, modifiers=()) for i in sequence.instructions))

    wrong = Changed(lambda r: r.op is Operation.STORE, plain)
    assert catches("spin on the write global, two XCDs", store(ordering=RELAXED), GFX942, wrong)
    assert is_sound_as_it_is(store(ordering=RELAXED), GFX942)


def test_quack_63_arrive_at_cta_instead_of_cluster_scope():
    wrong = Changed(is_release_store, rewriting(".cluster", ".cta"))
    request = store(Scope.CLUSTER)
    assert catches("MP release global, one cluster", request, SM_90, wrong)
    assert is_sound_as_it_is(request, SM_90)


def test_llvm_nvptx_atomicrmw_without_its_ordering_and_scope():
    def plain(sequence: Sequence) -> Sequence:
        return rewriting("acq_rel.sys", "relaxed.gpu")(sequence)

    wrong = Changed(lambda r: r.op is Operation.ATOMIC_RMW, plain)
    for name in (
        "MP acquire global, one GPU",
        "MP release global, one GPU",
        "atomicity-add global, two GPUs",
    ):
        assert catches(name, rmw(Scope.SYSTEM), SM_90, wrong)
    assert is_sound_as_it_is(rmw(Scope.SYSTEM), SM_90)


def swapping(first: str, second: str) -> Change:
    """Two instructions in the other order."""

    def change(sequence: Sequence) -> Sequence:
        by_name = {each.mnemonic: each for each in sequence.instructions}
        other = {first: second, second: first}
        return Sequence(
            tuple(by_name[other.get(i.mnemonic, i.mnemonic)] for i in sequence.instructions)
        )

    return change


def test_llvm_81450_the_far_cache_was_invalidated_last():
    """On gfx10 the L0 could be filled again from an L1 not yet invalidated; here the L1 from the L2."""
    request = replace(load(Scope.SYSTEM), target=GFX90A)
    right = lower_request
    order = [i.mnemonic for i in right(request).instructions if "inv" in i.mnemonic]
    assert order == ["buffer_invl2", "buffer_wbinvl1_vol"]
    wrong = Changed(lambda r: r == request, swapping(*order))
    assert catches("MP acquire global, two agents", request, GFX90A, wrong)
    assert is_sound_as_it_is(request, GFX90A)


@pytest.mark.parametrize("ordering", [RELEASE, ACQUIRE], ids=str)
def test_llvm_120131_a_generic_fence_became_one_of_each_address_space(ordering: Ordering):
    """Clang wrote agent-one-as for what asked for agent: LDS and global are no longer ordered."""
    fence = Request(Operation.FENCE, ordering, Scope.AGENT, None)

    def one_as(request: Request) -> Sequence:
        if request.op is not Operation.FENCE:
            return lower_request(request)
        return like_llvm(replace(request, one_as=True))

    assert "lgkmcnt" not in one_as(replace(fence, target=GFX942)).text
    found = fails(fence, GFX942, one_as)
    assert found
    assert all("lds" in test.lower() for test in found)
    assert is_sound_as_it_is(fence, GFX942)


@pytest.mark.parametrize("mode", [GFX942, GFX90A], ids=str)
def test_llvm_207473_and_220288_the_lds_wait_was_lost_with_the_demotion(mode: Target):
    """A work-group fence as a wavefront's: nothing waits for LDS any more.

    In a work-group of one wave that is wrong where LDS is filled by DMA, which the machine does
    not have; with a second wave it is wrong without.
    """

    def demoted(request: Request) -> Sequence:
        is_fence = request.op is Operation.FENCE and request.scope is Scope.WORKGROUP
        narrow = replace(request, scope=Scope.WAVEFRONT) if is_fence else request
        return lower_request(narrow)

    fence = replace(Request(Operation.FENCE, RELEASE, Scope.WORKGROUP, None), target=mode)
    assert "lgkmcnt(0)" in lower_request(fence).text
    assert not demoted(fence).instructions
    assert catches("MP release global, one CU+lds", fence, mode, demoted)
    assert is_sound_as_it_is(fence, mode)


@pytest.mark.parametrize("success", [RELAXED, RELEASE], ids=str)
def test_libcuxx_compare_exchange_lost_its_failure_ordering(success: Ordering):
    """An acquire on failure was a relaxed load; that of whole words, which one ``atom`` does."""
    request = Request(
        Operation.CMPXCHG, success, Scope.AGENT, GLOBAL, failure_ordering=ACQUIRE, returns=True
    )
    wrong = Changed(lambda r: r.op is Operation.CMPXCHG, weakened_acquire)
    assert catches("MP acquire-fails global, one GPU", request, SM_90, wrong)
    assert is_sound_as_it_is(request, SM_90)


def weakened_acquire(sequence: Sequence) -> Sequence:
    for old, new in ((".acquire", ".relaxed"), (".acq_rel", ".release")):
        sequence = rewriting(old, new)(sequence)
    return sequence


def test_rust_cuda_376_a_narrow_fence_was_the_widest():
    """Right, but too strong: no test needs more than the CTA's scope."""
    request = Request(Operation.FENCE, SEQ_CST, Scope.WORKGROUP, None)
    wrong = Changed(lambda r: r.op is Operation.FENCE, rewriting(".cta", ".sys"))
    found = certify_operation(request, SM_90, wrong)
    assert found.sequence == ("fence.sc.sys",)
    assert found.is_sound
    assert [part.part for part in found.unnecessary] == [".sys of fence.sc.sys"]
    right = certify_operation(request, SM_90)
    assert right.is_sound
    assert not right.unnecessary


BUGS = (
    "llvm#178316", "llvm#81450", "llvm#120131", "llvm#207473", "llvm#220288", "llvm#161638",
    "LLVM NVPTX `atomicrmw`", "rccl#1932", "pytorch#161180", "Primus-Turbo#251", "HeCBench#292",
    "libcu++, 8 and 16 bits", "quack#63", "rust-cuda#376",
)  # fmt: skip


def test_the_page_lists_every_bug_with_its_test():
    page = (Path(__file__).parents[2] / "docs" / "litmus.md").read_text(encoding="utf-8")
    table = page[page.index("**Bugs that were.**") :]
    assert [bug for bug in BUGS if bug not in table] == []
    named = re.findall(r"`(test_\w+)`", table)
    assert len(named) == len(BUGS) - 1
    assert [name for name in named if not callable(globals().get(name))] == []
    bugs = r"def (test_(?:llvm|libcuxx|rccl|pytorch|primus|hecbench|quack|rust)\w+)"
    assert {*re.findall(bugs, Path(__file__).read_text(encoding="utf-8"))} == {*named}


def test_a_test_that_cannot_be_decided_is_an_error(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("fencewright.simulator.certify.certificate.STATE_LIMIT", 3)
    request = replace(rmw(Scope.CLUSTER, Ordering.SEQ_CST), target=GFX942)
    with pytest.raises(CertificateError, match=r"test '.*': limit reached after \d+ states"):
        certify_operation(replace(request, kind=RmwKind.UMAX), GFX942)


# The document


@pytest.fixture(scope="module")
def small() -> Certificate:
    made = [certify_operation(request, GFX942) for request in (store(), load(Scope.WORKGROUP))]
    return Certificate(GFX942, tuple(made), ("gfx950",))


def test_json_round_trip(small: Certificate):
    assert Certificate.from_json(small.to_json()) == small


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("{}", "not a certificate"),
        ('{"format": "fencewright-certificate", "version": 99}', "of version 99"),
    ],
)
def test_what_is_no_certificate_is_refused(text: str, message: str):
    with pytest.raises(CertificateError, match=message):
        Certificate.from_json(text)


WRONG_FORMS: tuple[tuple[str, object, str], ...] = (
    ("", None, "the text: expected an object, found null"),
    ("", [], "the text: expected an object"),
    ("version", "1", 'version: expected a number of at least 0, found "1"'),
    ("target", "gfx9", "target: target gfx9: "),
    ("target", None, "target: expected a string"),
    ("features", ["fast"], "target: .*fast"),
    ("features", None, "features: expected a list, found null"),
    ("l2_per_agent", "two", "l2_per_agent: expected one of one, many"),
    ("ptx_version", [8], "ptx_version: expected a version as "),
    ("covers", [3], r"covers\[0\]: expected a string"),
    ("operations", None, "operations: expected a list, found null"),
    ("operations[0]", None, r"operations\[0\]: expected an object, found null"),
    ("operations[0].operation", "load", r"operations\[0\].operation: expected 'store release"),
    ("operations[1].request.op", "read", r"operations\[1\].request.op: expected one of load, "),
    ("operations[1].request.space", None, r"operations\[1\].request: .* needs an address space"),
    ("operations[1].request.speed", 1, r"operations\[1\].request: unknown member \"speed\""),
    ("operations[0].sequence", "s_nop", r"operations\[0\].sequence: expected a list"),
    ("operations[0].tests", True, r"operations\[0\].tests: expected a number"),
    ("operations[0].tests", -1, r"operations\[0\].tests: expected a number"),
    ("operations[0].void", 1.5, r"operations\[0\].void: expected a number"),
    ("operations[0].failures", [["a", "b"]], r"failures\[0\]: expected a test, a machine and an"),
    ("operations[0].parts[0].at", 99, r"parts\[0\].at: expected the number of one of 3 instr"),
    ("operations[0].parts[0].verdict", "good", r"parts\[0\].verdict: expected one of needed"),
    ("operations[0].parts[0].verdict", "kept", r"parts\[0\].verdict: expected 'needed' of what"),
    ("operations[0].parts[0].change", "a\nb", r"parts\[0\].change: expected a string of printable"),
)
"""Where in a certificate another value makes it none, and what is said of it."""


def with_value(text: str, path: str, value: object) -> str:
    """A JSON text in which another value is at a path."""
    data: Any = json.loads(text)
    *way, last = re.findall(r"\w+", path)
    at = data
    for step in way:
        at = at[int(step) if step.isdigit() else step]
    at[int(last) if last.isdigit() else last] = value
    return json.dumps(data)


@pytest.mark.parametrize(("path", "value", "message"), WRONG_FORMS)
def test_a_wrong_form_is_named_with_its_path(
    small: Certificate, path: str, value: object, message: str
):
    text = with_value(small.to_json(), path, value) if path else json.dumps(value)
    with pytest.raises(CertificateError, match=message) as raised:
        Certificate.from_json(text)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", ["target", "ptx_version", "covers", "operations"])
def test_a_member_that_is_missing_is_named(small: Certificate, name: str):
    data = json.loads(small.to_json())
    del data[name]
    with pytest.raises(CertificateError, match=f"the text: has no '{name}'"):
        Certificate.from_json(json.dumps(data))


def test_an_operation_stands_in_a_certificate_once(small: Certificate):
    data = json.loads(small.to_json())
    data["operations"].append(data["operations"][0])
    with pytest.raises(CertificateError, match=r"operations\[2\].operation: .* not there before"):
        Certificate.from_json(json.dumps(data))


@pytest.mark.parametrize("text", ["[" * 100_000, "1" * 5000])
def test_what_no_reader_of_json_reads_is_refused(text: str):
    with pytest.raises(CertificateError, match="not JSON"):
        Certificate.from_json(text)


def test_find(small: Certificate):
    assert small.find(store()) is small.operations[0]
    assert small.find(store(Scope.CLUSTER)) is small.operations[0]
    assert small.find(rmw()) is None


def test_findings_name_what_is_wrong():
    chip = ChipLowering(NO_WRITE_BACK)
    found = Certificate(GFX942, (certify_operation(store(), GFX942, chip),))
    assert any(
        line.startswith("insufficient: store release agent global: MP release global, two XCDs")
        for line in found.findings()
    )
    assert not found.is_sound


def test_explain_shows_the_execution_step_by_step(small: Certificate):
    first, *_ = explain(store(), GFX942, at=0, certificate=small)
    text = str(first)
    assert text.startswith("store release agent global: buffer_wbl2 sc1: needed\n-> buffer_wbl2")
    assert "store release agent 1, f" in text
    assert "global_load r1, x" in text
    assert text.endswith("P1:r0=1 P1:r1=0")
    (*_, bit) = explain(store(), GFX942, at=2, certificate=small)
    assert "never ends" in str(bit.part.witness)
    assert "P1 repeats" in bit.execution


def test_explain_says_why_something_is_kept():
    *_, wait = explain(load(Scope.WORKGROUP), GFX942, at=1)
    assert wait.part.verdict is Verdict.KEPT
    assert "LDS is another pipe" in str(wait)


def test_explain_in_ptx_shows_relations():
    first, *_ = explain(store(Scope.AGENT), SM_90)
    assert "rf " in first.execution
    assert "allowed" in first.execution


def test_recheck_notices_a_changed_sequence(small: Certificate):
    first, *rest = small.operations
    changed = replace(first, sequence=first.sequence[1:])
    problems = recheck(replace(small, operations=(changed, *rest)))
    assert (
        "store release agent global: now lowered to buffer_wbl2 sc1; s_waitcnt vmcnt(0) lgkmcnt(0); "
        "global_store_dword {addr}, {data}, off sc1" in problems
    )


@pytest.mark.parametrize(
    ("message", "changes"),
    [
        ("its witness says something else", {"outcome": "P1:r0=1 P1:r1=1"}),
        ("no test 'nothing' any more", {"test": "nothing"}),
        ("its witness says something else", {"test": "MP release global, one CU"}),
    ],
)
def test_recheck_notices_a_false_witness(message: str, changes: dict[str, str]):
    real = shipped(GFX942)
    at = [each.operation for each in real.operations].index("store release agent global")
    target = real.operations[at]
    part, *others = target.parts
    assert part.witness is not None
    lie = replace(part, witness=replace(part.witness, **changes))
    changed = list(real.operations)
    changed[at] = replace(target, parts=(lie, *others))
    found = replace(real, operations=tuple(changed))
    places = range(len(changed))
    seed = next(s for s in range(100_000) if Random(s).sample(places, 1) == [at])
    (problem,) = recheck(found, sample=1, seed=seed)
    assert message in problem
    assert recheck(real, sample=1, seed=seed) == ()


@pytest.mark.parametrize("said", [0, 1_000])
def test_recheck_counts_the_tests(said: int):
    real = shipped(GFX942)
    name = "atomic_rmw acq_rel agent generic"
    (right,) = (each for each in real.operations if each.operation == name)
    tests = len(list(shape_tests(right.request, GFX942)))
    changed = [
        replace(each, tests=said) if each.operation == name else each for each in real.operations
    ]
    (problem,) = recheck(replace(real, operations=tuple(changed)))
    assert problem == f"{name}: has {tests} tests now, the certificate says {said}"


def of_store(changes: Callable[[OperationCertificate], OperationCertificate]) -> tuple[str, ...]:
    """What a recheck says of the release store, of which a certificate has something else."""
    real = shipped(GFX942)
    at = [each.operation for each in real.operations].index("store release agent global")
    changed = list(real.operations)
    changed[at] = changes(changed[at])
    seed = next(s for s in range(100_000) if Random(s).sample(range(len(changed)), 1) == [at])
    return recheck(replace(real, operations=tuple(changed)), sample=1, seed=seed)


def test_recheck_counts_the_tests_with_a_race():
    (problem,) = of_store(lambda each: replace(each, tests=each.tests - 1, void=each.void + 1))
    assert re.search(r": \d+ tests have a data race, the certificate says \d+", problem)


@pytest.mark.parametrize(
    ("test", "message"),
    [
        ("MP release global, two XCDs", "test 'MP release global, two XCDs' now says nothing"),
        ("nothing", "no test 'nothing' any more"),
    ],
)
def test_recheck_notices_a_failure_that_is_none(test: str, message: str):
    lie = (Witness(test, "many L2", "P1:r0=1"),)
    (problem,) = of_store(lambda each: replace(each, failures=lie))
    assert message in problem


def test_recheck_notices_what_a_certificate_stands_for():
    (problem,) = recheck(replace(shipped(GFX942), covers=("gfx90a",)))
    assert problem == "gfx942: stands for gfx950, the certificate says gfx90a"


@pytest.mark.parametrize("changes", [{"test": "nothing"}, {"outcome": "P1:r0=3"}])
def test_a_false_witness_explains_nothing(small: Certificate, changes: dict[str, str]):
    first, *rest = small.operations
    part, *parts = first.parts
    assert part.witness is not None
    lie = replace(part, witness=replace(part.witness, **changes))
    false = replace(small, operations=(replace(first, parts=(lie, *parts)), *rest))
    with pytest.raises(CertificateError, match="the certificate's witness is none"):
        explain(store(), GFX942, at=0, certificate=false)


# What is shipped

SHIPPED = modes()


@pytest.mark.parametrize("mode", SHIPPED, ids=str)
def test_a_certificate_is_shipped_for_every_mode(mode: Target):
    found = shipped(mode)
    assert found.mode == mode
    assert found.covers == covers(mode)
    assert [each.request for each in found.operations] == list(requests_of(mode))


@pytest.mark.parametrize("mode", some_of(SHIPPED, 4), ids=str)
def test_shipped_certificates_still_hold(mode: Target):
    assert recheck(shipped(mode), None if THOROUGH else 4) == ()


def test_a_barrier_that_nobody_arrives_at_is_noticed_for_it_never_ends() -> None:
    """Without the arrival no execution ends: there is no outcome that could be forbidden."""
    mode = parse_target("sm_90")
    request = Request(Operation.BARRIER, Ordering.ACQ_REL, Scope.CLUSTER, None, target=mode)
    arrival, *_ = certify_operation(request, mode).parts
    assert (arrival.change, arrival.verdict) == ("dropped", Verdict.NEEDED)
    assert arrival.witness is not None
    assert arrival.witness.outcome == ""


@pytest.mark.parametrize("mode", SHIPPED, ids=str)
def test_tests_are_void_only_where_the_operation_is_limited(mode: Target):
    for each in shipped(mode).operations:
        r = each.request
        whole = r.spaces is None and not r.one_as and r.availability == "full"
        assert each.tests > 0
        assert not whole or each.void == 0


def test_every_reason_to_keep_something_is_used():
    reasons = {
        part.reason
        for mode in SHIPPED
        for each in shipped(mode).operations
        for part in each.parts
        if part.verdict is Verdict.KEPT
    }
    assert reasons == {each.name for each in KEPT}


@pytest.mark.parametrize("mode", [m for m in SHIPPED if not m.is_ptx], ids=str)
def test_every_cache_instruction_of_every_row_is_needed(mode: Target):
    certificate = shipped(mode)
    found = certify_rows(certificate)
    as_wide = {
        part.part
        for each in certificate.operations
        for part in each.parts
        if part.reason == "agent's scope with one L2"
    }
    assert {"write_back", "invalidate", "wait", "policy", "barrier"} == {r.table for r in found}
    for row in found:
        if row.table in ("write_back", "invalidate"):
            assert bool(row.parts) is bool(row.value)
            assert {name for name, need in row.parts.items() if need is None} <= as_wide
        if row.table == "wait":
            for counter in row.value.split():
                assert row.parts[counter] is not None


def test_rows_name_the_operations_that_fail():
    chip = ChipLowering(NO_WRITE_BACK)
    certificate = Certificate(GFX942, (certify_operation(store(), GFX942, chip),))
    failing_rows = [row for row in certify_rows(certificate) if row.insufficient]
    assert {"write_back", "wait", "policy"} == {row.table for row in failing_rows}


def test_rows_are_certified_on_cdna_only():
    with pytest.raises(CertificateError, match="on CDNA only"):
        certify_rows(shipped(SM_90))


def test_there_is_no_certificate_for_an_unknown_mode():
    with pytest.raises(CertificateError, match="no certificate for gfx90a-one-l2"):
        shipped(Target("gfx90a", l2_per_agent=L2PerAgent.ONE))


def texts(mode: Target) -> list[str]:
    lowering = lower_request
    found: list[str] = []
    for request in operations(mode):
        try:
            found.append(lowering(request).text)
        except UnsupportedError:
            found.append("")
    return found


@pytest.mark.parametrize("mode", [m for m in SHIPPED if m.chip == "gfx942"], ids=str)
def test_gfx950_is_covered_by_gfx942(mode: Target):
    """The same sequences, and the same machine."""
    assert texts(mode) == texts(replace(mode, chip="gfx950"))
    for table, effect in (
        (ACCESS, CdnaConfiguration.access_effect),
        (CACHE, CdnaConfiguration.cache_effect),
    ):
        for key, row in table.items():
            generation, what, bits, tgsplit, number = cast("tuple[Any, ...]", key)
            if generation == "gfx942" and not isinstance(row.value, Illegal):
                gfx950 = CdnaConfiguration("gfx950", tgsplit, number)
                assert effect(gfx950, what, bits.split()) == row.value


@pytest.mark.parametrize("mode", [m for m in SHIPPED if m.chip == "gfx1250"], ids=str)
def test_gfx1251_is_covered_by_gfx1250(mode: Target):
    """The same sequences; and of the machine every row is the generation's."""
    assert covers(mode) == (str(replace(mode, chip="gfx1251")),)
    assert texts(mode) == texts(replace(mode, chip="gfx1251"))
    assert CHIPS["gfx1251"].generation is CHIPS["gfx1250"].generation


@pytest.mark.parametrize("first", [mode for mode, _ in ptx_classes()], ids=str)
def test_ptx_classes_are_of_one_lowering(first: Target):
    members = dict(ptx_classes())[first]
    assert first in members
    wanted = texts(first)
    for member in members if THOROUGH else (*members[:2], *members[-2:]):
        assert texts(member) == wanted


def test_certificates_are_the_same_on_any_executor():
    request = store(Scope.WORKGROUP)
    here = certify_operation(request, GFX942)
    with open_executor(1) as executor:
        assert executor.submit(certify_operation, request, GFX942).result() == here


def test_a_mode_is_certified_without_a_file_between(monkeypatch: pytest.MonkeyPatch):
    """The results of the tasks are read as they are, with no JSON text between."""
    wanted = operations(GFX942)[:2]

    def requested(mode: Target) -> tuple[Request, ...]:
        return wanted

    monkeypatch.setattr("fencewright.simulator.certify.certificate.requests_of", requested)
    made = certify_mode(GFX942)
    assert [each.request for each in made.operations] == list(wanted)
    assert Certificate.from_json(made.to_json()) == made
