"""The work of fence-check: what few functions have costs the others nothing, and files are linear
in their functions."""

import gc
import random
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from work_count import growth, lines_of

from fencewright.checker.amd import barriers
from fencewright.checker.amd.accesses import mode_of
from fencewright.checker.amd.check import check
from fencewright.checker.amd.state import State
from fencewright.checker.findings.finding import VerdictKind
from fencewright.checker.nvidia import findings, phases, surplus, waits
from fencewright.checker.nvidia.wgmma import ProductAnalysis
from fencewright.checker.verdicts import arithmetic, intervals, iterations
from fencewright.checker.verdicts.amd import judge as judge_amd
from fencewright.checker.verdicts.amd.booleans import Booleans
from fencewright.checker.verdicts.amd.halves import Halves
from fencewright.checker.verdicts.amd.words import Words
from fencewright.checker.verdicts.arithmetic import is_alike
from fencewright.checker.verdicts.expressions import Expressions
from fencewright.checker.verdicts.model import Kernel, Literal
from fencewright.checker.verdicts.ptx import kernel
from fencewright.checker.verdicts.ptx.kernel import kernel_of
from fencewright.checker.verdicts.ptx.values import Registers
from fencewright.lowering.cdna.code.flow import Step
from fencewright.lowering.cdna.code.text import read_assembly
from fencewright.lowering.code.bits import bits, mask_of
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.code.graph import Graph
from fencewright.lowering.code.records import record
from fencewright.lowering.code.value import ValueTable
from fencewright.lowering.ptx.code.addresses import Places
from fencewright.lowering.ptx.code.text import read_ptx
from fencewright.tools import fence_check
from fencewright.tools.programs import Program

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
import inputs


def ptx_functions(count: int) -> Callable[[], object]:
    file = read_ptx(inputs.ptx(count, 2), "k.ptx")
    return lambda: [findings.judged(file, each) for each in file.functions.values()]


def amd_functions(count: int) -> Callable[[], object]:
    assembly = read_assembly(inputs.amd(count, 2))
    functions = assembly.functions.values()
    return lambda: [judge_amd.judged(check(assembly, each)) for each in functions]


def readings(count: int) -> Callable[[], object]:
    ptx, amd = inputs.ptx(count, 2), inputs.amd(count, 2)
    return lambda: (read_ptx(ptx), read_assembly(amd))


@pytest.mark.parametrize("action", [ptx_functions, amd_functions, readings])
def test_files_take_work_linear_in_their_functions(
    action: Callable[[int], Callable[[], object]],
) -> None:
    assert growth(action, 4) < 1.02


def test_the_mode_of_a_kernel_does_not_look_at_others() -> None:
    few, many = (read_assembly(inputs.amd(count, 1)) for count in (2, 40))
    one, other = (
        lines_of(lambda each=each: mode_of(each, each.functions["k0"])) for each in (few, many)
    )
    assert one == other


def test_the_places_of_a_function_know_the_variables_that_it_names() -> None:
    text = inputs.ptx(1, 1).replace(
        ".visible .entry",
        ".global .align 4 .b8 other[4];\n.global .align 4 .b8 named[4];\n.visible .entry",
        1,
    )
    text = text.replace("\tret;", "\tmov.u64 %rd1, named;\n\tret;")
    file = read_ptx(text)
    assert file.variables.keys() == {"other", "named"}
    assert Places(file, file.functions["k0"]).variables.keys() == {"named", "tile0"}


def test_analyses_without_their_operations_walk_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def walked(*_: object, **__: object) -> None:
        raise AssertionError

    for each in (waits, phases, surplus):
        monkeypatch.setattr(each, "states", walked)
    file = read_ptx(inputs.ptx(1, 2))
    assert not findings.judged(file, file.functions["k0"]).verdict.conflicts


def test_findings_take_work_linear_in_their_number(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def reports(count: int) -> Callable[[], object]:
        path = tmp_path / f"{count}.ptx"
        twice = inputs.ptx(count, 1).replace("\tbar.sync 0;\n", "\tbar.sync 0;\n" * 2)
        path.write_text(twice)
        return lambda: fence_check.main(["--notes", "--format", "json", str(path)])

    assert growth(reports, 4) < 1.05
    assert capsys.readouterr().out.count("surplus-barrier") >= 28


def test_kernels_without_loops_and_clusters_look_for_neither(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(iterations, "leaves")
    monkeypatch.delattr(kernel, "_mapa_in")
    file = read_ptx(inputs.ptx(1, 2))
    assert not findings.judged(file, file.functions["k0"]).verdict.conflicts


def test_matrix_products_are_looked_for_in_kernels_that_have_some() -> None:
    file = read_ptx(inputs.ptx(1, 20))
    places = Places(file, file.functions["k0"])
    assert lines_of(lambda: ProductAnalysis(places)) < 20


def test_operands_of_arithmetic_are_not_kept() -> None:
    file = read_ptx(inputs.ptx(1, 2))
    function = file.functions["k0"]
    kept = Registers(Places(file, function))._used  # pyright: ignore[reportPrivateUsage]
    own = {each.number: each.statement for each in function.instructions}
    assert kept
    assert all(own[number].kind is not Kind.COMPUTE for number, _ in kept)


def test_registers_are_walked_again_from_the_first_loop_with_news_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    walked: list[int] = []
    steps = Registers._steps  # pyright: ignore[reportPrivateUsage]

    def counted(registers: Registers, block: int) -> None:
        walked.append(block)
        steps(registers, block)

    monkeypatch.setattr(Registers, "_steps", counted)
    loop = "$B:\n\tadd.s32 %r2, %r2, 1;\n\tsetp.lt.s32 %p1, %r2, %r1;\n\t@%p1 bra $B;\n\tret;"
    file = read_ptx(inputs.ptx(1, 20).replace("\tret;", loop))
    registers = Registers(Places(file, file.functions["k0"]))
    assert len(walked) == len(registers.order) + 2


def test_halves_of_a_product_are_worked_out_once() -> None:
    def products(count: int) -> Callable[[], object]:
        table = ValueTable(1 << 10)
        made = [table.param("p", 64)]
        for n in range(4 * count):
            made.append(table.apply("mul", (made[-1], table.param(f"{n}", 64)), 64))
        words = Words(Expressions(table), 64)
        return lambda: [words.low(each) for each in made]

    assert growth(products, 4) < 1.02


def test_conditions_are_put_into_each_part_of_a_truth_value_once() -> None:
    table = ValueTable(1 << 10)
    booleans = Booleans(Expressions(table))
    value = first = table.opaque("first", 1)
    for n in range(40):
        sides = (table.apply("or", (value, table.opaque(f"{n}{x}", 1)), 1) for x in "ab")
        value = table.apply("and", tuple(sides), 1)
    assert booleans.restricted(value, (Literal(first, False),)) is not value


def test_barriers_that_find_nothing_in_flight_are_not_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(barriers, "solve_in_place")
    assembly = read_assembly(inputs.amd(1, 2))
    judge_amd.judged(check(assembly, assembly.functions["k0"]))


def test_states_of_waves_are_stepped_through_once(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: dict[int, int] = {}
    whole = State.step

    def counted(state: State, code: object, step: Step, operation: object) -> None:
        steps[id(step)] = steps.get(id(step), 0) + 1
        whole(state, code, step, operation)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(State, "step", counted)
    assembly = read_assembly(inputs.amd(1, 4))
    judge_amd.judged(check(assembly, assembly.functions["k0"]))
    assert set(steps.values()) == {1}


def test_a_judged_function_leaves_nothing_to_garbage_collection() -> None:
    assembly = read_assembly(inputs.amd(2, 2))
    first, second = assembly.functions.values()
    judge_amd.judged(check(assembly, first))  # What is remembered of any function.
    gc.freeze()  # What other tests have left takes a second to look through.
    gc.disable()
    try:
        judge_amd.judged(check(assembly, second))
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        # What caches drop may be in it too, but nothing of a function.
        assert not [each for each in gc.garbage if isinstance(each, (Kernel, Halves))]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


def test_reached_blocks_are_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    file = read_ptx(inputs.ptx(1, 2))
    own = kernel_of(file, file.functions["k0"])
    first, *_, last = own.accesses
    assert own.may_reach(first.instruction, last.instruction)
    monkeypatch.delattr(Graph, "reachable_after")
    assert own.may_reach(first.instruction, last.instruction)


def test_the_callees_of_a_file_come_from_its_checks() -> None:
    assembly = read_assembly(inputs.amd(1, 1))
    judged = judge_amd.judged(check(assembly, assembly.functions["k0"]))
    assert judged.calls == frozenset()


@pytest.mark.parametrize("most", [8, 64, 65, 200, 5_000])
def test_sets_of_numbers(most: int) -> None:
    chosen = random.Random(most)
    for _ in range(20):
        numbers = sorted(chosen.sample(range(most), chosen.randrange(most)))
        mask = sum(1 << each for each in numbers)
        assert mask_of(numbers) == mask
        assert [*bits(mask)] == numbers


def test_places_that_threads_are_tried_for_are_summed_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Parts of a tile laid out by exclusive ors: each pair of accesses tries the same sums."""
    stores = "".join(f"st.shared.u32 [%r4+{4096 * part}], %r1; " for part in range(12))
    text = f""".version 8.0 .target sm_90 .address_size 64
    .entry k() {{ .reg .b32 %r<5>; .shared .align 4 .b8 tile[65536];
    mov.u32 %r1, %tid.x; shr.u32 %r2, %r1, 5; and.b32 %r2, %r2, 7; xor.b32 %r3, %r1, %r2;
    shl.b32 %r3, %r3, 2; mov.u32 %r4, tile; add.u32 %r4, %r4, %r3; {stores} ret; }}"""
    file = read_ptx(text)
    made: list[object] = []
    sums: Any = arithmetic.sums_of_threads

    def counted(*given: object) -> object:
        made.append(given)
        return sums(*given)

    monkeypatch.setattr(arithmetic, "sums_of_threads", counted)
    assert findings.judged(file, file.functions["k"]).verdict.kind is VerdictKind.RACE_FREE
    assert len(made) == 1


def test_walks_from_barriers_of_one_block_are_linear_in_its_length() -> None:
    def walks(count: int) -> Callable[[], object]:
        part = "bar.sync 0; ld.shared.u32 %r1, [s]; " + "add.u32 %r2, %r2, 1; " * 8
        text = f""".version 8.0 .target sm_90 .address_size 64
        .entry k() {{ .reg .b32 %r<3>; .shared .align 4 .b8 s[4]; {part * count} ret; }}"""
        file = read_ptx(text)
        judged = kernel_of(file, file.functions["k"])
        numbers = frozenset(each.instruction for each in judged.barriers)
        first = judged.accesses[0]
        return lambda: intervals.Walks(judged, numbers).positions(first)

    assert growth(walks, 16) < 1.05


def test_what_all_threads_have_alike_is_told_without_its_parts() -> None:
    table = ValueTable(1 << 20)
    value = table.param("n", 32)
    for _ in range(1000):
        value = table.apply("add", (value, table.param("m", 32)), 32)
    assert lines_of(lambda: is_alike(value, is_one_cta=True)) < 20
    assert is_alike(value, is_one_cta=True)
    block = table.apply("add", (value, table.constant("%ctaid.x", 32)), 32)
    assert [is_alike(block, is_one_cta=one) for one in (True, False)] == [True, False]
    for other in (table.thread("%tid.x", 32), table.opaque("x", 32), table.iteration(0, 32)):
        mixed = table.apply("add", (value, other), 32)
        assert not is_alike(mixed, is_one_cta=True), other


def test_garbage_is_looked_for_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    before = gc.get_threshold()
    monkeypatch.setattr(sys, "argv", ["x"])
    monkeypatch.setattr(gc, "freeze", lambda: None)
    try:
        Program("x", gc.__name__, gc.get_threshold.__name__, "").run()
        assert gc.get_threshold()[0] == 50_000
    finally:
        gc.set_threshold(*before)


def test_a_number_far_up_is_found_at_once() -> None:
    assert lines_of(lambda: [*bits(1 << 100_000)]) < 30


def test_records_are_values() -> None:
    @record()
    class Pair:
        left: int
        right: str = ""

    assert Pair(1) == Pair(1, "") != Pair(2)
    assert len({Pair(1), Pair(1, ""), replace(Pair(2), left=1)}) == 1
    assert not hasattr(Pair(1), "__dict__")
