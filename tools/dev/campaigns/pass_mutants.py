"""Mutants of the passes: one small change to the code of one function, put in place and taken back.

A pass that takes synchronisation away is as right as its guards: the conditions under which it
leaves things alone. Here each guard, and what else a function decides by, gets every
small change there is, in this process and without reading the module anew: functions keep their
identity and change their code, so that whoever imported them runs the mutant. What a mutant does
wrong is for the caller to find out.
"""

import ast
import copy
import functools
import importlib
import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, TypeAlias, cast

ROOT = Path(__file__).resolve().parents[3]

FILES = (
    "passes/cdna/waits/loosen_waits.py",
    "passes/cdna/caches/sink_invalidates.py",
    "passes/scoped/merge_fences.py",
    "passes/to_ptx/merge_ptx_fences.py",
    "passes/to_ptx/fold_fences.py",
    "passes/cdna/caches/drop_invalidates.py",
    "passes/cdna/waits/drop_last_waits.py",
    "passes/cdna/caches/drop_write_backs.py",
    "passes/cdna/caches/elect_release.py",
    "passes/cdna/caches/hoist_write_backs.py",
    "passes/cdna/caches/clamp_caches.py",
    "passes/scoped/clamp_scopes.py",
    "passes/scoped/infer_address_spaces.py",
    "passes/analysis/acquire_fences.py",
    "passes/cdna/caches/store_through.py",
    "passes/cdna/waits/sink_waits.py",
    "passes/cdna/waits/insert_waits.py",
    "passes/cdna/waits/decision.py",
    "passes/scoped/acquire_on_success.py",
    "passes/analysis/exchanges.py",
    "passes/analysis/caches.py",
    "passes/cdna/dataflow.py",
    "passes/cdna/caches/kernel_caches.py",
    "passes/analysis/split_edges.py",
    "passes/llvm_ir/await_values.py",
    "passes/llvm_ir/caches.py",
    "passes/analysis/llvm_ir_memory.py",
    "passes/llvm_ir/acquires.py",
    "passes/llvm_ir/optimiser.py",
    "passes/llvm_ir/cdna.py",
    "passes/llvm_ir/lower_scoped_llvm_ir.py",
    "lowering/cdna/counters/scoreboard.py",
    "lowering/cdna/select.py",
    "lowering/ptx/select.py",
    "lowering/facts.py",
    "passes/proxies/insert_proxy_fences.py",
    "passes/proxies/edges.py",
    "passes/proxies/missing.py",
    "passes/proxies/cluster_phases.py",
)
"""The files that remove or move synchronisation, or compute the required amount."""


@dataclass(frozen=True, slots=True)
class PassMutant:
    """A change to one expression or statement of ``function`` (its qualified name) in ``file``.

    ``text`` becomes ``change``; ``number`` distinguishes equal ones of one function, in their
    order. ``guard``: whether the change takes a condition out, or a part of one.
    """

    file: str
    function: str
    text: str
    change: str
    number: int
    guard: bool
    node: int
    """Its position: the place in ``ast.walk`` of the file."""

    def __str__(self) -> str:
        again = f" #{self.number + 1}" if self.number else ""
        return f"{self.file} {self.function}: {self.text} -> {self.change}{again}"


# Possible changes

GONE = "(nothing)"
"""The text of a statement that is removed."""

_Change: TypeAlias = tuple[str, str, bool, ast.AST | None]
"""The changed text, its replacement, whether it is a guard; the new node."""

_COMPARISONS: Mapping[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
}
_OPPOSITES = {"min": "max", "max": "min", "any": "all", "all": "any"}
_OPERATORS = (ast.BitOr, ast.BitAnd, ast.Sub, ast.BitXor, ast.LShift, ast.RShift, ast.Add)
_SET_METHODS = {"issuperset": "issubset", "isdisjoint": "issuperset"}


def _said(node: ast.AST) -> str:
    return ast.unparse(node).partition("\n")[0]


def _changes(node: ast.AST) -> Iterator[_Change]:
    """Every change to a node."""
    if isinstance(node, ast.If | ast.IfExp):
        for value in (False, True):
            made = copy.copy(node)
            made.test = ast.Constant(value)
            yield f"if {_said(node.test)}", f"if {value}", True, made
    elif isinstance(node, ast.comprehension):
        for left_out in node.ifs:
            made = copy.copy(node)
            made.ifs = [each for each in node.ifs if each is not left_out]
            yield f"for ... if {_said(left_out)}", "for ...", True, made
    elif isinstance(node, ast.BoolOp):
        for value in node.values:
            left = [each for each in node.values if each is not value]
            made = left[0] if len(left) == 1 else ast.BoolOp(node.op, left)
            yield _said(node), f"without '{_said(value)}'", True, made
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield _said(node), _said(node.operand), False, node.operand
    else:
        yield from _changes_of_values(node)


def _changes_of_values(node: ast.AST) -> Iterator[_Change]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield from _changes_of_members(node)
        for kind in _COMPARISONS.get(type(node.ops[0]), ()):
            made = ast.Compare(node.left, [kind()], node.comparators)
            yield _said(node), _said(made), False, made
    elif isinstance(node, ast.BinOp) and isinstance(node.op, _OPERATORS):
        for operand in (node.left, node.right):
            yield _said(node), _said(operand), False, operand
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
        yield _said(node), _said(node.operand), False, node.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        made = ast.Constant(not node.value)
        yield _said(node), _said(made), False, made
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        for value in (node.value + 1, 0) if node.value else (1,):
            made = ast.Constant(value)
            yield _said(node), _said(made), False, made
    elif isinstance(node, ast.Call):
        yield from _changes_of_call(node)
    elif isinstance(node, ast.stmt):
        yield from _changes_of_statement(node)


def _changes_of_members(node: ast.Compare) -> Iterator[_Change]:
    """One member less of those that something may be."""
    (members,) = node.comparators
    if isinstance(node.ops[0], ast.In | ast.NotIn) and isinstance(members, ast.Tuple | ast.Set):
        for member in members.elts:
            left = copy.copy(members)
            left.elts = [each for each in members.elts if each is not member]
            made = ast.Compare(node.left, node.ops, [left])
            yield _said(node), f"without '{_said(member)}'", True, made


def _changes_of_call(node: ast.Call) -> Iterator[_Change]:
    function = node.func
    if isinstance(function, ast.Name) and function.id in _OPPOSITES:
        name = ast.Name(_OPPOSITES[function.id], ast.Load())
        made = ast.Call(name, node.args, node.keywords)
        yield _said(node), _said(made), False, made
    elif isinstance(function, ast.Attribute) and function.attr in _SET_METHODS:
        name = ast.Attribute(function.value, _SET_METHODS[function.attr], ast.Load())
        made = ast.Call(name, node.args, node.keywords)
        yield _said(node), _said(made), False, made


def _changes_of_statement(node: ast.stmt) -> Iterator[_Change]:
    """Left out, if the next statements can run without it."""
    match node:
        case ast.Expr(value=ast.Constant()):
            return  # A docstring.
        case ast.Expr() | ast.Continue() | ast.Break():
            pass
        case ast.AugAssign():
            made = ast.Assign([node.target], node.value)
            ast.copy_location(made, node)
            yield _said(node), _said(ast.fix_missing_locations(made)), False, made
        case ast.Assign():
            if not all(isinstance(each, ast.Attribute | ast.Subscript) for each in node.targets):
                return
        case _:
            return
    yield _said(node), GONE, False, None


# The mutants of a file


@functools.cache
def mutants_of(file: str) -> tuple[PassMutant, ...]:
    """Every mutant of a file, in the order of its lines."""
    tree = _tree(file)
    places = {id(node): place for place, node in enumerate(ast.walk(tree))}
    seen: dict[tuple[str, str, str], int] = {}
    found: list[PassMutant] = []
    for name, function in _functions(tree):
        for node in _within(function):
            for text, change, guard, _ in _changes(node):
                number = seen.get((name, text, change), 0)
                seen[name, text, change] = number + 1
                found.append(PassMutant(file, name, text, change, number, guard, places[id(node)]))
    return tuple(found)


@functools.cache
def _tree(file: str) -> ast.Module:
    return ast.parse((ROOT / file).read_text(encoding="utf-8"))


def _functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    """The functions of a module and the methods of its classes; inner ones belong to them."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            for each in node.body:
                if isinstance(each, ast.FunctionDef) and not _is_abstract(each):
                    yield f"{node.name}.{each.name}", each


def _is_abstract(function: ast.FunctionDef) -> bool:
    return any(_said(each) == "abstractmethod" for each in function.decorator_list)


def _within(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """The nodes of a function, in the order of its lines, without annotations and assertions."""
    for statement in function.body:
        yield from _below(statement)


def _below(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Assert | ast.Raise | ast.Import | ast.ImportFrom | ast.arguments):
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "type_comment"):
            continue
        for each in cast(list[object], value) if isinstance(value, list) else [value]:
            if isinstance(each, ast.AST):
                yield from _below(each)


# Their positions


def lines_of(mutant: PassMutant) -> range:
    """The lines of the statement that a mutant changes; of a compound one those of its head."""
    return _lines(mutant.file)[mutant.node]


@functools.cache
def _lines(file: str) -> Mapping[int, range]:
    """The lines of each node's statement, by the node's place in ``ast.walk`` of the file."""
    tree = _tree(file)
    found: dict[int, range] = {}

    def visit(node: ast.AST, lines: range) -> None:
        if isinstance(node, ast.stmt):
            lines = _head(node)
        found[id(node)] = lines
        for each in ast.iter_child_nodes(node):
            visit(each, lines)

    visit(tree, range(0))
    return {place: found[id(node)] for place, node in enumerate(ast.walk(tree))}


def _head(statement: ast.stmt) -> range:
    body = getattr(statement, "body", None)
    end = body[0].lineno if body else (statement.end_lineno or statement.lineno) + 1
    return range(statement.lineno, max(end, statement.lineno + 1))


def lines_run(file: str, run: Callable[[], object]) -> frozenset[int]:
    """The lines of a file that ``run`` executes, with the caches of all functions empty."""
    path = _module(file).__file__
    found: set[int] = set()

    def within(frame: FrameType, event: str, value: object) -> object:
        found.add(frame.f_lineno)
        return within

    def called(frame: FrameType, event: str, value: object) -> object:
        return within(frame, event, value) if frame.f_code.co_filename == path else None

    _forget()
    before = sys.gettrace()
    sys.settrace(cast(Any, called))
    try:
        run()
    finally:
        sys.settrace(before)
    return frozenset(found)


def makes_tables(mutant: PassMutant) -> bool:
    """True where a mutant's code is also called where its module is read, once for all."""
    return bool(_tables(mutant))


# In place


@contextmanager
def applied(mutant: PassMutant) -> Generator[None]:
    """The mutant in place of its original, within the context."""
    module = _module(mutant.file)
    live = _live(module, mutant.function)
    original = live.__code__
    # The rest may no longer need the class that ``super()`` looks at.
    live.__code__ = _code_of(mutant).replace(co_freevars=original.co_freevars)
    derived = _rebind(module, mutant)
    _forget()
    try:
        yield
    finally:
        live.__code__ = original
        for namespace, name, value in derived:
            namespace[name] = value
        _forget()


def _module(file: str) -> ModuleType:
    return importlib.import_module("fencewright." + file.removesuffix(".py").replace("/", "."))


def _live(module: ModuleType, qualified: str) -> FunctionType:
    found: object = module
    for name in qualified.split("."):
        found = vars(found)[name]
    if isinstance(found, property):
        found = found.fget
    if isinstance(found, staticmethod | classmethod):
        found = cast("staticmethod[..., object]", found).__func__
    found = getattr(found, "__wrapped__", found)
    assert isinstance(found, FunctionType), qualified
    return found


def _code_of(mutant: PassMutant) -> CodeType:
    """The code of its function, compiled with the class that it is in."""
    nodes, outermost = _nodes(mutant.file)
    made = next(
        node
        for text, change, _, node in _changes(nodes[mutant.node])
        if (text, change) == (mutant.text, mutant.change)
    )
    copies: dict[int, ast.AST] = {}
    around = copy.deepcopy(outermost[mutant.function.partition(".")[0]], copies)
    _Replace(copies[id(nodes[mutant.node])], copy.deepcopy(made, copies)).visit(around)
    tree = ast.fix_missing_locations(ast.Module([around], []))
    file = str(ROOT / mutant.file)
    return next(
        code
        for code in _codes(compile(tree, file, "exec", dont_inherit=True))
        if code.co_qualname == mutant.function
    )


@functools.cache
def _nodes(file: str) -> tuple[list[ast.AST], dict[str, ast.stmt]]:
    """All of a file, as ``PassMutant.node`` counts, and its functions and classes by name."""
    tree = _tree(file)
    kinds = (ast.FunctionDef, ast.ClassDef)
    return list(ast.walk(tree)), {e.name: e for e in tree.body if isinstance(e, kinds)}


class _Replace(ast.NodeTransformer):
    def __init__(self, target: ast.AST, made: ast.AST | None):
        self.target = target
        self.made = made

    def visit(self, node: ast.AST) -> ast.AST:
        if node is not self.target:
            return self.generic_visit(node)
        return ast.copy_location(ast.Pass() if self.made is None else self.made, node)


def _codes(code: CodeType) -> Iterator[CodeType]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from _codes(each)


_Bound: TypeAlias = tuple[dict[str, Any], str, object]


def _rebind(module: ModuleType, mutant: PassMutant) -> list[_Bound]:
    """Make anew the tables that the mutant has made, in all importers; returns the old ones."""
    undo: list[_Bound] = []
    for name, value in _tables(mutant):
        old = vars(module)[name]
        new = eval(compile(ast.Expression(value), mutant.file, "eval"), vars(module))
        for each in _importers():
            if vars(each).get(name) is old:
                undo.append((vars(each), name, old))
                vars(each)[name] = new
    return undo


def _tables(mutant: PassMutant) -> list[tuple[str, ast.expr]]:
    """The tables of its file that name the mutant's function, or one of these, with values."""
    changed = {mutant.function}
    found: list[tuple[str, ast.expr]] = []
    for node in _tree(mutant.file).body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        names = {each.id for each in ast.walk(node.value) if isinstance(each, ast.Name)}
        (target,) = node.targets if isinstance(node, ast.Assign) else (node.target,)
        if names & changed and isinstance(target, ast.Name):
            changed.add(target.id)
            found.append((target.id, node.value))
    return found


def _importers() -> list[ModuleType]:
    return [each for name, each in sys.modules.items() if name.startswith("fencewright.")]


def _forget() -> None:
    """Empty the caches of all functions: the dependencies of the mutant are not known."""
    for clear in _clears(tuple(_importers())):
        clear()


@functools.lru_cache(maxsize=1)
def _clears(modules: tuple[ModuleType, ...]) -> tuple[Callable[[], None], ...]:
    """The functions that empty the caches of the modules; searched when one more is imported.

    No mutant is of this file, whose own caches stay.
    """
    values = {id(each): each for module in modules for each in vars(module).values()}
    return tuple(
        each.cache_clear
        for each in values.values()
        if hasattr(each, "cache_clear") and each.__module__ != __name__
    )
