"""Operations have one enumeration of kinds; another one has to say why it is another one."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("lowering", "mlir_dialects", "passes", "simulator", "checker", "tools")

KINDS = {
    "lowering/code/effects.py Kind": "instructions of every vendor, and operations of a source",
    "lowering/vocabulary.py Operation": "requests to the lowering: the words of the scoped dialect",
    "simulator/execution/program.py MemoryAccessKind": "caches and counters tell an atomic with a "
    "result from one without",
    "simulator/core/thread_runs.py EventKind": "events of the axiomatic models",
    "simulator/cdna/wave.py StepKind": "numbers that the engine of the CDNA machine branches by",
    "simulator/cdna/rows.py CounterClass": "what counters distinguish, as the machine has it",
    "simulator/random/async_programs.py ActionKind": "what random asynchronous programs draw from",
}
"""The enumerations of kinds of operations, and what each is for."""

ROLES = {
    "lowering/ptx/code/statements.py OperandRole": "roles of operands",
    "simulator/ptx/paths.py TensorRole": "parts of one operation on tensor memory",
}
"""Others that have a word for reads and one for writes."""

MOST_KINDS = 7

_PAIRS = (("LOAD", "STORE"), ("READ", "WRITE"))


def enumerations(source: str) -> list[str]:
    """The classes with members for reads and for writes, by the names of the members."""
    found: list[str] = []
    # Few files have both words: no other one is parsed.
    has_pair = any(all(word in source for word in pair) for pair in _PAIRS)
    for node in ast.walk(ast.parse(source)) if has_pair else ():
        if not isinstance(node, ast.ClassDef) or not node.bases:
            continue
        assigned = [each.targets[0] for each in node.body if isinstance(each, ast.Assign)]
        members = {each.id for each in assigned if isinstance(each, ast.Name)}
        if any(members.issuperset(pair) for pair in _PAIRS):
            found.append(node.name)
    return found


def test_there_is_one_enumeration_of_kinds_and_a_reason_for_each_other() -> None:
    found = {
        f"{path.relative_to(ROOT)} {name}"
        for room in ROOMS
        for path in (ROOT / room).rglob("*.py")
        for name in enumerations(path.read_text(encoding="utf-8"))
    }
    assert found - {*KINDS, *ROLES} == set(), "use lowering.code.effects.Kind"
    assert found == {*KINDS, *ROLES}
    assert len(KINDS) <= MOST_KINDS


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("class Kind(Enum):\n    LOAD = 1\n    STORE = 2\n    FENCE = 3", ["Kind"]),
        ("class Role(StrEnum):\n    READ = 'r'\n    WRITE = 'w'", ["Role"]),
        ("class Row:\n    LOAD = 1\n    STORE = 2", []),
        ("class Counter(Enum):\n    LOADCNT = 1\n    STORECNT = 2", []),
    ],
)
def test_an_enumeration_of_kinds_is_found(source: str, names: list[str]) -> None:
    assert enumerations(source) == names
