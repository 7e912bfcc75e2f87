"""Memory effects of the ``scoped`` operations, as xDSL's own passes see them.

A weak, non-volatile load may be removed when its result is not used and merged with
another; every other operation stays where it is and keeps loads from merging
across it. Each property is also broken on purpose, with the static effects that would
have been the obvious thing to declare.
"""

from itertools import product

import pytest
from xdsl.context import Context
from xdsl.dialects import arith, func, scf, test
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.llvm import LLVM
from xdsl.ir import Operation
from xdsl.irdl import traits_def
from xdsl.parser import Parser
from xdsl.passes import ModulePass
from xdsl.traits import (
    MemoryEffectKind,
    MemoryReadEffect,
    NoMemoryEffect,
    Pure,
    get_effects,
)
from xdsl.transforms.canonicalize import CanonicalizePass
from xdsl.transforms.common_subexpression_elimination import CommonSubexpressionElimination
from xdsl.transforms.dead_code_elimination import DeadCodeElimination
from xdsl.transforms.loop_invariant_code_motion import LoopInvariantCodeMotionPass

from fencewright.lowering import vocabulary
from fencewright.lowering.skeleton import SKELETON
from fencewright.lowering.vocabulary import Ordering
from fencewright.mlir_dialects import scoped

_Op = vocabulary.Operation

TEXT = {
    _Op.LOAD: "%r = scoped.load {words} %p {flags} : !llvm.ptr<1> -> i32",
    _Op.STORE: "scoped.store {words} %v, %p {flags} : i32, !llvm.ptr<1>",
    _Op.ATOMIC_RMW: "%r = scoped.atomic_rmw add {words} %p, %v {flags} : !llvm.ptr<1>, i32",
    _Op.CMPXCHG: "%r, %s = scoped.cmpxchg {words} %p, %v, %v {flags} : !llvm.ptr<1>, i32",
    _Op.FENCE: "scoped.fence {words} {flags}",
    _Op.BARRIER: "scoped.barrier {words} {flags}",
}
WEAK_LOAD = "scoped.load weak %p : !llvm.ptr<1> -> i32"
ACQUIRE_LOAD = "%r = scoped.load acquire agent %p : !llvm.ptr<1> -> i32"

MATRIX = [
    (op, ordering, volatile)
    for (op, ordering), volatile in product(SKELETON, (False, True))
    if op.is_access or not volatile
]
"""Every operation with every ordering it can have, volatile and not."""


def line(op: vocabulary.Operation, ordering: Ordering, volatile: bool) -> str:
    words: list[str] = [ordering]
    if op is _Op.CMPXCHG:
        words.append("relaxed")
    if ordering is not Ordering.WEAK:
        words.append("agent")
    return TEXT[op].format(words=" ".join(words), flags="{volatile}" if volatile else "")


def is_plain_load(op: vocabulary.Operation, ordering: Ordering, volatile: bool) -> bool:
    return op is _Op.LOAD and ordering is Ordering.WEAK and not volatile


def run(pass_type: type[ModulePass], *lines: str) -> list[Operation]:
    """The scoped operations that are left of a function of ``lines``, in order."""
    context = Context()
    for dialect in (Builtin, func.Func, arith.Arith, scf.Scf, test.Test, LLVM, scoped.Scoped):
        context.load_dialect(dialect)
    body = "\n".join(lines)
    text = f"func.func @f(%p: !llvm.ptr<1>, %v: i32, %n: index) {{\n{body}\nfunc.return\n}}"
    module: ModuleOp = Parser(context, text).parse_module()
    module.verify()
    pass_type().apply(context, module)
    module.verify()
    return [op for op in module.walk() if isinstance(op, scoped.ScopedOperation)]


def renamed(text: str, suffix: str) -> str:
    """``text`` with results of its own."""
    return text.replace("%r", f"%r{suffix}").replace("%s", f"%s{suffix}")


def loop(*lines: str) -> tuple[str, ...]:
    one = "%one = arith.constant 1 : index"
    return (one, "scf.for %i = %one to %n step %one {", *lines, "}")


# What each operation declares


@pytest.mark.parametrize(("op", "ordering", "volatile"), MATRIX)
def test_effects(op: vocabulary.Operation, ordering: Ordering, volatile: bool) -> None:
    (found,) = run(LoopInvariantCodeMotionPass, line(op, ordering, volatile))
    effects = get_effects(found)
    assert effects is not None
    read, write = {MemoryEffectKind.READ}, {MemoryEffectKind.WRITE}
    plain = ordering is Ordering.WEAK and not volatile
    expected = {_Op.LOAD: read, _Op.STORE: write}[op] if plain else read | write
    assert {effect.kind for effect in effects} == expected
    assert all(effect.value is None for effect in effects)


# What passes may do with it


@pytest.mark.parametrize(
    "pass_type", [CanonicalizePass, DeadCodeElimination, CommonSubexpressionElimination]
)
@pytest.mark.parametrize(("op", "ordering", "volatile"), MATRIX)
def test_only_a_plain_load_is_removed_when_unused(
    op: vocabulary.Operation, ordering: Ordering, volatile: bool, pass_type: type[ModulePass]
) -> None:
    left = run(pass_type, line(op, ordering, volatile))
    assert len(left) == (0 if is_plain_load(op, ordering, volatile) else 1)


@pytest.mark.parametrize(("op", "ordering", "volatile"), MATRIX)
def test_only_plain_loads_are_merged(
    op: vocabulary.Operation, ordering: Ordering, volatile: bool
) -> None:
    text = line(op, ordering, volatile)
    uses = ['"test.op"(%r0, %r1) : (i32, i32) -> ()'] if "%r" in text else []
    left = run(CommonSubexpressionElimination, renamed(text, "0"), renamed(text, "1"), *uses)
    assert len(left) == (1 if is_plain_load(op, ordering, volatile) else 2)


@pytest.mark.parametrize(("op", "ordering", "volatile"), MATRIX)
def test_plain_loads_are_not_merged_across_anything_else(
    op: vocabulary.Operation, ordering: Ordering, volatile: bool
) -> None:
    left = run(
        CommonSubexpressionElimination,
        f"%a = {WEAK_LOAD}",
        line(op, ordering, volatile),
        f"%b = {WEAK_LOAD}",
        '"test.op"(%a, %b) : (i32, i32) -> ()',
    )
    assert len(left) == (1 if is_plain_load(op, ordering, volatile) else 3)


@pytest.mark.parametrize(("op", "ordering", "volatile"), MATRIX)
def test_nothing_leaves_a_loop(
    op: vocabulary.Operation, ordering: Ordering, volatile: bool
) -> None:
    (left,) = run(LoopInvariantCodeMotionPass, *loop(line(op, ordering, volatile)))
    assert isinstance(left.parent_op(), scf.ForOp)


# Broken on purpose


@pytest.mark.parametrize(
    "pass_type", [CanonicalizePass, DeadCodeElimination, CommonSubexpressionElimination]
)
def test_a_static_read_effect_would_delete_an_acquire_load(
    pass_type: type[ModulePass], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(run(pass_type, ACQUIRE_LOAD)) == 1
    monkeypatch.setattr(scoped.LoadOp, "traits", traits_def(MemoryReadEffect()))
    assert run(pass_type, ACQUIRE_LOAD) == []


def test_a_static_read_effect_would_merge_relaxed_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    relaxed = line(_Op.LOAD, Ordering.RELAXED, False)
    program = (
        renamed(relaxed, "0"),
        renamed(relaxed, "1"),
        '"test.op"(%r0, %r1) : (i32, i32) -> ()',
    )
    assert len(run(CommonSubexpressionElimination, *program)) == 2
    monkeypatch.setattr(scoped.LoadOp, "traits", traits_def(MemoryReadEffect()))
    assert len(run(CommonSubexpressionElimination, *program)) == 1


def test_a_fence_without_effects_would_let_loads_merge(monkeypatch: pytest.MonkeyPatch) -> None:
    program = (
        f"%a = {WEAK_LOAD}",
        "scoped.fence acquire agent",
        f"%b = {WEAK_LOAD}",
        '"test.op"(%a, %b) : (i32, i32) -> ()',
    )
    assert len(run(CommonSubexpressionElimination, *program)) == 3
    monkeypatch.setattr(scoped.FenceOp, "traits", traits_def(NoMemoryEffect()))
    assert len(run(CommonSubexpressionElimination, *program)) == 1


def test_a_load_without_effects_would_leave_its_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoped.LoadOp, "traits", traits_def(Pure()))
    (left,) = run(LoopInvariantCodeMotionPass, *loop(ACQUIRE_LOAD))
    assert isinstance(left.parent_op(), func.FuncOp)
