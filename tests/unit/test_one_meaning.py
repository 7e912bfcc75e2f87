"""The meanings of instructions are formulas of ``simulator.semantics``, which executors are made of.

Code of an executor that computes on values itself has its reason here.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "simulator"
FILES = (
    "threads/emit.py", "threads/lanes.py", "kernels/ptx/functions.py", "kernels/ptx/kernel.py",
    "kernels/amd/arithmetic.py", "kernels/amd/lanes.py", "kernels/amd/memory.py",
    "kernels/amd/modifiers.py", "kernels/amd/operands.py", "threads/machine.py",
    "kernels/amd/kernel.py", "kernels/amd/registers.py", "kernels/amd/tiles.py",
)  # fmt: skip
"""The files that make steps of instructions."""

_ADDRESSES = "where this executor has a state space"
_FACTS = "the fact of the lanes that a formula takes"
_MATRICES = "whole waves do not know the values of matrices"
_SHARED_STEPS = "addresses and sums of pairs, of which one executor alone has steps"
_CHOICE = "a register that an index chooses"
_TEXT = "a number that is known when the text is read"
_ACROSS = "values of other lanes of an AMD wave, which one executor alone runs"
_BEGIN = "registers that a launch fills"
_PAIRS = "the registers that hold a value"
REMAINING = {
    "threads/emit.py": {"_cvta": _ADDRESSES, "_isspacep": _ADDRESSES},
    "threads/lanes.py": {
        "together": _FACTS, "_half": _MATRICES, "_transposed": _MATRICES, "_columns": _MATRICES,
    },
    "kernels/ptx/functions.py": {
        "cross_lane_function_of": _FACTS, "_shuffle": _FACTS, "_mask_of": _FACTS, "_folded": _FACTS,
    },
    "kernels/ptx/kernel.py": {},
    "kernels/amd/arithmetic.py": {
        "_whole_sum": _SHARED_STEPS, "add_pairs": _SHARED_STEPS, "_chosen": _CHOICE,
        "_put_at": _CHOICE,
    },
    "kernels/amd/lanes.py": {
        **dict.fromkeys(
            ("first_lane", "one_lane", "in_lane", "gathered", "scattered", "from_lanes",
             "exchanged"),
            _ACROSS,
        ),
        **dict.fromkeys(("_masked", "_bitmask", "_swapped", "_reversed", "_of_number"), _TEXT),
    },
    "kernels/amd/memory.py": dict.fromkeys(
        ("WINDOWS", "_windows", "_both", "_in_window", "_shifted_down", "_stride_in"),
        _SHARED_STEPS,
    ),
    "kernels/amd/modifiers.py": {
        "put": "a formula, of parts that the text names", "_DPP": _TEXT, "dpp_control": _TEXT,
        "taken": _ACROSS,
    },
    "kernels/amd/operands.py": {"source": _TEXT, "_constant": _TEXT},
    "threads/machine.py": {
        **dict.fromkeys(("__init__", "locate", "_shared", "loads", "stores"), _ADDRESSES),
        "operand": _MATRICES, "_targets": "the CTAs of a mask", "tensor": "signs of coordinates",
    },
    "kernels/amd/kernel.py": {
        "_DYNAMIC_STACK": "a size", **dict.fromkeys(("_packed", "_halves", "_in_cluster"), _BEGIN),
    },
    "kernels/amd/registers.py": {
        "_bit": _ACROSS, "bits_of": _ACROSS, "words": _PAIRS, "join": _PAIRS,
    },
    "kernels/amd/tiles.py": {"tile_of": "the fields of a descriptor, which AMD alone has"},
}  # fmt: skip
"""By file the functions that compute on bits, and why."""

_OPERATORS = (ast.LShift, ast.RShift, ast.BitXor)
_WRITTEN = re.compile(r" (?:[&|^]|<<|>>) ")
_OF_ARRAYS = frozenset(
    "where bitwise_and bitwise_or bitwise_xor take_along_axis add subtract multiply minimum "
    "maximum".split()
)


def _computes(node: ast.AST) -> bool:
    match node:
        case ast.BinOp(op=op):
            return isinstance(op, _OPERATORS)
        case ast.JoinedStr(values=parts):
            texts = (each.value for each in parts if isinstance(each, ast.Constant))
            return any(_WRITTEN.search(str(each)) for each in texts)
        case ast.Attribute(ast.Name("np"), name):
            return name in _OF_ARRAYS
        case _:
            return False


def computing(source: str) -> Iterator[str]:
    """The functions, methods and constants with operations on bits or arrays, as code or text."""
    queue = list(ast.parse(source).body)
    while queue:
        node = queue.pop(0)
        if isinstance(node, ast.ClassDef):
            queue += node.body
        elif any(map(_computes, ast.walk(node))):
            target = node.targets[0] if isinstance(node, ast.Assign) else node
            target = target.target if isinstance(target, ast.AnnAssign) else target
            yield getattr(target, "name", getattr(target, "id", ast.unparse(target)))


@pytest.mark.parametrize("file", FILES)
def test_executors_have_no_meanings_of_their_own(file: str) -> None:
    assert set(computing((ROOT / file).read_text())) == set(REMAINING[file])


@pytest.mark.parametrize(
    "source",
    [
        "def f(whole, at):\n    return whole >> at & 1",
        "def f(a, b):\n    return np.where(a == b, a, b)",
        'def f(to):\n    yield f"{to} = whole >> 32"',
        "class C:\n    def f(self, a, b):\n        self.compute(np.add, (a, b))",
        "f: Map = {'swap': lambda a: a ^ 1}",
    ],
)
def test_a_meaning_beside_the_rows_is_found(source: str) -> None:
    assert list(computing(source)) == ["f"]


@pytest.mark.parametrize(
    "source",
    [
        "def f(self, fold):\n    self.compute(of_formula(FOLDS[fold], (32, 32)))",
        "def f(active, lanes):\n    return active & lanes",
        'def f(to):\n    yield f"{to} = other"',
    ],
)
def test_a_use_of_a_row_is_none(source: str) -> None:
    assert not list(computing(source))


@pytest.mark.parametrize("word", ["expect_tx", "noinc"])
def test_the_counts_of_an_arrival_are_read_in_one_place(word: str) -> None:
    source = (ROOT / "semantics/mbarriers.py").read_text()
    assert f'"{word}" ' in source
    for file in ("threads/emit.py", "threads/machine.py", "kernels/ptx/kernel.py"):
        assert not re.search(rf'"{word}" (?:not )?in ', (ROOT / file).read_text())
