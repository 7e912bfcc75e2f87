"""The writer that functions of both vendors are lifted through: names, control flow, definitions."""

from collections.abc import Sequence

import pytest

from fencewright.checker.lifting.writer import (
    ZERO,
    Access,
    Arguments,
    Block,
    Branch,
    Computation,
    Definition,
    Value,
    choice,
    function_text,
    labels_of,
    loaded_by,
    reaching_definitions,
)
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.code.graph import Graph
from fencewright.lowering.vocabulary import Ordering, RmwKind, Scope

DIAMOND = Graph((0, 1, 2, 3), {0: (1, 2), 1: (3,), 2: (3,), 3: ()})
LOOP = Graph((0, 1), {0: (1,), 1: (1,)})


def reaching(graph: Graph[int], **definitions: Sequence[Definition]) -> dict[str, set[str]]:
    """The definitions that reach the last block; ``b1``: those in block 1."""
    end = Definition("end", ())
    blocks = [[*definitions.get(f"b{block}", ())] for block in graph.nodes]
    blocks[-1].insert(0, end)
    reached = {label: dict(known) for label, known in reaching_definitions(graph, blocks)}
    return {name: set(labels) for name, labels in reached["end"].items()}


def test_a_definition_on_one_path_joins_what_was_before() -> None:
    assert reaching(DIAMOND, b1=[Definition("1", ("r",))]) == {"r": {"", "1"}}
    both = reaching(DIAMOND, b1=[Definition("1", ("r",))], b2=[Definition("2", ("r",))])
    assert both == {"r": {"1", "2"}}


def test_a_later_definition_replaces_and_a_guarded_one_joins() -> None:
    first, second = Definition("1", ("r",)), Definition("2", ("r",))
    assert reaching(LOOP, b0=[first, second]) == {"r": {"2"}}
    assert reaching(LOOP, b0=[first, Definition("2", ("r",), True)]) == {"r": {"1", "2"}}
    assert reaching(LOOP, b0=[first], b1=[second]) == {"r": {"1", "2"}}


def test_labels_are_numbered_where_instructions_share_a_line() -> None:
    assert labels_of([4, 5, 4, 6]) == ["4_1", "5", "4_2", "6"]


def test_the_last_load_that_a_branch_is_computed_from() -> None:
    first, last = Value("%v1", "i32"), Value("%v2", "i64")
    computed: Computation = (["p"], ["a", "b"], {})
    loads: list[Computation] = [(["b"], [], {"b": last}), (["a"], [], {"a": first})]
    assert loaded_by([computed, *loads], ["p"]) == last
    assert loaded_by([computed, *loads[1:]], ["p"]) == first
    assert loaded_by([computed, *loads], ["q"]) is None
    wide: Computation = (["b"], [], {"b": Value("%v2", "vector<4xi32>")})
    assert loaded_by([computed, wide, loads[1]], ["p"]) == first


@pytest.mark.parametrize("count", [2, 3, 4])
def test_a_choice_asks_one_question_fewer_than_it_has_targets(count: int) -> None:
    targets = [f"t{n}" for n in range(count)]
    blocks = list(choice(Arguments(), "0", ["scoped.fence acquire agent"], "7", targets))
    assert [block.name for block in blocks] == ["0", *(f"0_or{n}" for n in range(count - 2))]
    reached = [target for block in blocks for target in block.end.targets]
    assert {target for target in reached if target.startswith("t")} == set(targets)
    assert [len(block.operations) for block in blocks] == [1, *(0 for _ in blocks[1:])]


def test_a_function_is_written_with_its_arguments_and_constants() -> None:
    arguments = Arguments()
    pointer = arguments.pointer(("x", 4), 1)
    assert arguments.pointer(("x", 4), 1) == pointer
    assert arguments.pointer(("x", 4), 3) != pointer
    load = Access(Kind.LOAD, "1", Ordering.ACQUIRE, Scope.AGENT, pointer, "i32")
    condition = arguments.condition("1", Value("%v1", "i32"), "")
    first = Block("0", [load], Branch(("0", "1"), condition))
    text = function_text("f<int>", arguments, [first, Block("1", (), Branch())], {ZERO: 0})
    assert text.splitlines() == [
        'func.func @"f<int>"(%p0: !llvm.ptr<1>, %p1: !llvm.ptr<3>, %b1: i32) {',
        "  %zero = arith.constant 0 : i32",
        "  cf.br ^b0",
        "^b0:",
        "  %v1 = scoped.load acquire agent %p0 : !llvm.ptr<1> -> i32",
        "  %t1 = arith.cmpi ne, %v1, %b1 : i32",
        "  cf.cond_br %t1, ^b0, ^b1",
        "^b1:",
        "  func.return",
        "}",
    ]


@pytest.mark.parametrize(
    ("ordering", "rmw", "expected"),
    [
        (Ordering.RELEASE, None, "%v1, %ok1 = scoped.cmpxchg release relaxed agent %p, %c, %x"),
        (Ordering.ACQ_REL, None, "%v1, %ok1 = scoped.cmpxchg acq_rel acquire agent %p, %c, %x"),
        (Ordering.ACQUIRE, RmwKind.ADD, "%v1 = scoped.atomic_rmw add acquire agent %p, %x"),
    ],
)
def test_a_read_modify_write_without_a_kind_compares(
    ordering: Ordering, rmw: RmwKind | None, expected: str
) -> None:
    pointer = Value("%p", "!llvm.ptr")
    access = Access(Kind.RMW, "1", ordering, Scope.AGENT, pointer, "i32", "%x", "%c", rmw)
    assert str(access) == f"{expected} : !llvm.ptr, i32"
