"""PTX litmus tests in columns, written as ``litmus`` tests on ``scoped`` operations.

PTX's loads, stores, atomics, fences and barriers mean what scoped operations of the same words
mean, so that the test can then be lowered to any target. Registers become values: a block
after a label takes those that are still read as arguments.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from fencewright.lowering.code.dataflow import before_each
from fencewright.lowering.vocabulary import Ordering, Scope
from fencewright.simulator.core.condition import Comparison, Condition
from fencewright.simulator.core.program import (
    Arithmetic,
    ArithmeticKind,
    Branch,
    Label,
    Move,
    Operand,
)
from fencewright.simulator.ptx.events import (
    Atom,
    Bar,
    BarrierRole,
    CompareBranch,
    Ld,
    PtxFence,
    PtxInstruction,
    PtxProgram,
    PtxProxy,
    St,
    assigned,
    operands,
)
from fencewright.simulator.ptx.formats.columns import PtxLitmusTest, instruction_text


class WriterError(ValueError):
    """A test that scoped operations cannot express; the message names the obstacle."""


def module_text(test: PtxLitmusTest) -> str:
    """The test as MLIR text. Raises ``WriterError``."""
    program = test.program
    for name in (*program.aliases, *program.mbarriers):
        raise WriterError(f"'{name}': scoped operations have no aliases and no mbarriers")
    instances = {
        (each.instance, each.number)
        for thread in program.threads
        for each in thread.instructions
        if isinstance(each, Bar)
    }
    if len(instances) > 1:
        raise WriterError("scoped barriers have no numbers: all must be one barrier")
    writers = [_ThreadWriter(program, number) for number in range(len(program.threads))]
    bodies = [each.body() for each in writers]
    initial = {each.name: each.initial for each in program.locations}
    locations = sorted({*initial, *(n for each in writers for n in each.locations)})
    lines = [f"litmus.test @{_symbol(test.name)} {{"]
    lines += [f"  litmus.location @{n} = {initial.get(n, 0)} : i32" for n in locations]
    for number, (place, body) in enumerate(zip(_placements(program), bodies, strict=True)):
        lines += [f"  litmus.thread @P{number} at <{place}> {{", *body, "  }"]
    lines += [f'  litmus.condition "{condition_text(test.condition)}"', "}"]
    return "\n".join(lines) + "\n"


def condition_text(condition: Condition) -> str:
    """A condition with words for its symbols, which a string of MLIR would have to escape."""
    formula = str(condition.formula)
    for symbol, word in (("/\\", "and"), ("\\/", "or"), ("~", "not ")):
        formula = formula.replace(symbol, word)
    hangs = " may hang" if condition.may_hang else ""
    return f"{condition.quantifier.value} ({formula}){hangs}"


def _symbol(name: str) -> str:
    return name if name.replace("_", "a").isalnum() and not name[0].isdigit() else f'"{name}"'


def _placements(program: PtxProgram) -> list[str]:
    """Placements; PTX numbers CTAs within a cluster or GPU, litmus tests across all of them."""
    places = [thread.placement for thread in program.threads]
    ctas = list(dict.fromkeys((each.agent, each.cluster, each.workgroup) for each in places))
    result: list[str] = []
    for each in places:
        number = ctas.index((each.agent, each.cluster, each.workgroup))
        cluster = ""
        if any(other.cluster is not None for other in places):
            own = len(ctas) + number
            cluster = f", cluster = {own if each.cluster is None else each.cluster}"
        result.append(f"workgroup = {number}, agent = {each.agent}{cluster}")
    return result


_OPERATIONS: Mapping[ArithmeticKind, str] = MappingProxyType(
    {
        ArithmeticKind.ADD: "addi",
        ArithmeticKind.SUB: "subi",
        ArithmeticKind.MUL: "muli",
        ArithmeticKind.AND: "andi",
        ArithmeticKind.OR: "ori",
        ArithmeticKind.XOR: "xori",
        ArithmeticKind.MIN: "minsi",
        ArithmeticKind.MAX: "maxsi",
    }
)
_SETS: Mapping[ArithmeticKind, str] = MappingProxyType(
    {
        ArithmeticKind.EQ: "eq",
        ArithmeticKind.NE: "ne",
        ArithmeticKind.LT: "ult",
        ArithmeticKind.LE: "ule",
    }
)
_EQUALITIES = (Comparison.EQ, Comparison.NE)


class _ThreadWriter:
    """One thread; ``values`` has the value that each register holds where it is."""

    def __init__(self, program: PtxProgram, number: int):
        self.number = number
        self.thread = thread = program.threads[number]
        self.initial = {r.name: n for r, n in program.registers.items() if r.thread == number}
        self.lines: list[str] = []
        self.locations: dict[str, None] = {}
        accesses = (each for each in thread.instructions if isinstance(each, Ld | St | Atom))
        self.taken = {each.location for each in accesses}
        registers = {name for each in thread.instructions for name in assigned(each)}
        self.observed = sorted(registers, key=lambda r: (len(r), r))
        self.values: dict[str, str] = {}
        self.live = _live_at_labels(thread.instructions, self.observed)
        self._names = 0

    def body(self) -> list[str]:
        """The lines of the thread's body."""
        if self.live:
            for each in sorted(set[str]().union(*self.live.values())):
                self.values[each] = self.constant(self.initial.get(each, 0))
        reachable = True
        for each in self.thread.instructions:
            if isinstance(each, Label):
                if reachable:
                    self.lines.append(f"    cf.br ^{each.name}{self.passed(each.name)}")
                self.block(each.name)
                reachable = True
            elif reachable:
                reachable = self.instruction(each)
        if reachable:
            for register in self.observed:
                value = self.value(register)
                self.lines.append(f'    litmus.observe "{register}", {value} : i32')
            if any(
                isinstance(each, Label | Branch | CompareBranch)
                for each in self.thread.instructions
            ):
                self.lines.append("    litmus.end")
        addresses = [
            f"    %{name} = litmus.address @{name} : !llvm.ptr<1>" for name in self.locations
        ]
        return [*addresses, *self.lines]

    def fresh(self, hint: str = "v") -> str:
        """A new name of a value."""
        self._names += 1
        name = f"{hint}_{self._names}"
        return self.fresh(hint) if name in self.taken else f"%{name}"

    def constant(self, value: int) -> str:
        """A constant."""
        name = self.fresh("c")
        self.lines.append(f"    {name} = arith.constant {value} : i32")
        return name

    def value(self, value: Operand) -> str:
        """The name of a register's value, or of a constant."""
        if isinstance(value, int):
            return self.constant(value)
        if value not in self.values:
            self.values[value] = self.constant(self.initial.get(value, 0))
        return self.values[value]

    def passed(self, label: str) -> str:
        """The registers that are read after a label as the arguments of its block."""
        if label not in self.live:
            raise WriterError(f"P{self.number}: no label '{label}'")
        live = self.live[label]
        if not live:
            return ""
        values = ", ".join(self.values[each] for each in live)
        return f"({values} : {', '.join('i32' for _ in live)})"

    def block(self, label: str) -> None:
        """Begin a block, which takes the registers that are read after its label."""
        live = self.live[label]
        self.values = {each: self.fresh(each) for each in live}
        arguments = ", ".join(f"{self.values[each]}: i32" for each in live)
        self.lines.append(f"  ^{label}{f'({arguments})' if arguments else ''}:")

    def refuse(self, instruction: PtxInstruction) -> WriterError:
        """The error that there is no such scoped operation."""
        text = instruction_text(instruction)
        return WriterError(f"P{self.number}: scoped operations have no '{text}'")

    def pointer(self, location: str) -> str:
        """The address of a location."""
        self.locations[location] = None
        return f"%{location}"

    def instruction(self, instruction: PtxInstruction) -> bool:
        """Append an instruction; True if the next one is reached from it."""
        match instruction:
            case Ld(proxy=PtxProxy.GENERIC):
                self.load(instruction)
            case St(proxy=PtxProxy.GENERIC):
                value, pointer = self.value(instruction.value), self.pointer(instruction.location)
                words = _words(instruction.ordering, instruction.scope)
                self.lines.append(
                    f"    scoped.store {words} {value}, {pointer} : i32, !llvm.ptr<1>"
                )
            case Atom(proxy=PtxProxy.GENERIC):
                self.atomic(instruction)
            case PtxFence(restriction=None):
                words = _words(instruction.ordering, instruction.scope)
                self.lines.append(f"    scoped.fence {words}")
            case Bar(role=BarrierRole.SYNC, count=None):
                self.lines.append("    scoped.barrier workgroup")
            case Move(dst, value):
                self.values[dst] = self.value(value)
            case Arithmetic() if instruction.kind in (*_OPERATIONS, *_SETS):
                self.arithmetic(instruction)
            case Branch(target, None):
                self.lines.append(f"    cf.br ^{target}{self.passed(target)}")
                return False
            case Branch(target, condition, unless) if condition is not None:
                comparison = Comparison.EQ if unless else Comparison.NE
                self.branch(CompareBranch(target, comparison, condition, 0))
            case CompareBranch():
                self.branch(instruction)
            case _:
                raise self.refuse(instruction)
        return True

    def load(self, load: Ld) -> None:
        pointer = self.pointer(load.location)
        words = _words(load.ordering, load.scope)
        name = self.values[load.dst] = self.fresh(load.dst)
        self.lines.append(f"    {name} = scoped.load {words} {pointer} : !llvm.ptr<1> -> i32")

    def atomic(self, atomic: Atom) -> None:
        pointer = self.pointer(atomic.location)
        operands = ", ".join([pointer, *(self.value(each) for each in atomic.operands)])
        old = self.fresh(atomic.dst or "old")
        words = _words(atomic.ordering, atomic.scope)
        if atomic.compare is None:
            self.lines.append(
                f"    {old} = scoped.atomic_rmw {atomic.operation} {words} {operands} : "
                "!llvm.ptr<1>, i32"
            )
        else:
            failure = Ordering.ACQUIRE if atomic.ordering.acquires else Ordering.RELAXED
            self.lines.append(
                f"    {old}, {self.fresh('ok')} = scoped.cmpxchg {atomic.ordering} {failure} "
                f"{atomic.scope} {operands} : !llvm.ptr<1>, i32"
            )
        if atomic.dst is not None:
            self.values[atomic.dst] = old

    def arithmetic(self, step: Arithmetic) -> None:
        operands = f"{self.value(step.a)}, {self.value(step.b)}"
        name = self.values[step.dst] = self.fresh(step.dst)
        if step.kind in _OPERATIONS:
            self.lines.append(f"    {name} = arith.{_OPERATIONS[step.kind]} {operands} : i32")
            return
        holds = self.fresh("if")
        self.lines.append(f"    {holds} = arith.cmpi {_SETS[step.kind]}, {operands} : i32")
        self.lines.append(f"    {name} = arith.extui {holds} : i1 to i32")

    def branch(self, branch: CompareBranch) -> None:
        operands = f"{self.value(branch.left)}, {self.value(branch.right)}"
        condition, following = self.fresh("if"), self.fresh("next")[1:]
        sign = "" if branch.comparison in _EQUALITIES else "s"
        predicate = f"{sign}{branch.comparison.word}"
        self.lines.append(f"    {condition} = arith.cmpi {predicate}, {operands} : i32")
        target = f"^{branch.target}{self.passed(branch.target)}"
        self.lines.append(f"    cf.cond_br {condition}, {target}, ^{following}")
        self.lines.append(f"  ^{following}:")


def _live_at_labels(
    code: tuple[PtxInstruction, ...], observed: Iterable[str]
) -> dict[str, tuple[str, ...]]:
    """The registers that are read after each label before they are set, or observed at the end."""
    places = {each.name: n for n, each in enumerate(code) if isinstance(each, Label)}

    def following(number: int) -> tuple[int, ...]:
        each = code[number]
        if not isinstance(each, Branch | CompareBranch):
            return (number + 1,)
        target = places.get(each.target, len(code))
        is_jump = isinstance(each, Branch) and each.condition is None
        return (target,) if is_jump else (target, number + 1)

    def before(number: int, after: frozenset[str]) -> frozenset[str]:
        read = {each for each in operands(code[number]) if isinstance(each, str)}
        return after - set(assigned(code[number])) | read

    live = before_each(
        [*map(following, range(len(code)))], frozenset(observed), frozenset[str](), before
    )
    return {name: tuple(sorted(live[place])) for name, place in places.items()}


def _words(ordering: Ordering, scope: Scope | None) -> str:
    return f"{ordering}" if scope is None else f"{ordering} {scope}"
