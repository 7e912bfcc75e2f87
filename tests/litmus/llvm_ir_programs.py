"""Programs on ``scoped`` in LLVM IR, lowered as such, and executed on the CDNA machine.

The threads of a work-group are one kernel, which branches on an argument to what each of them
does. Registers are values within a block, and private memory from block to block, so that loops
need no phis.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from fencewright.lowering.sequence import Instruction, Sequence, WaitCounts
from fencewright.lowering.vocabulary import (
    AddressSpace,
    L2PerAgent,
    Ordering,
    Phase,
    RmwKind,
    Scope,
)
from fencewright.passes.litmus_programs import ReadOptions
from fencewright.passes.lower_scoped_llvm_ir import lower_llvm_ir
from fencewright.passes.pipelines import Stores
from fencewright.simulator import program as common
from fencewright.simulator import source_events as source
from fencewright.simulator.bridge import Code, Mode, TargetLowering, request_of
from fencewright.simulator.bridge_cdna import cdna_program
from fencewright.simulator.cdna_rows import CdnaConfiguration
from fencewright.simulator.litmus_run import CdnaTest, SourceTest
from fencewright.simulator.program import (
    Arithmetic,
    ArithmeticKind,
    Branch,
    Label,
    LitmusTest,
    Move,
    Operand,
    Placement,
    Program,
    Thread,
)

_END = "end"
_COMPARISONS = {
    ArithmeticKind.EQ: "eq",
    ArithmeticKind.NE: "ne",
    ArithmeticKind.LT: "ult",
    ArithmeticKind.LE: "ule",
}
_ORDERING = {Ordering.RELAXED: "monotonic"}


# Writing


@dataclass
class _Writer:
    """A kernel on its way; ``open`` while the block has no terminator.

    ``values``: what the block has put into registers; ``truths``: registers whose truth a value
    of the block has, for branches to look at.
    """

    program: source.ScopedProgram
    lines: list[str]
    thread: int = 0
    temporaries: int = 0
    open: bool = True
    values: dict[str, str] = field(default_factory=dict[str, str])
    truths: dict[str, str] = field(default_factory=dict[str, str])

    def new(self) -> str:
        self.temporaries += 1
        return f"%v{self.temporaries}"

    def slot(self, register: str) -> str:
        name = re.sub(r"\W", "_", register)
        return f"ptr addrspace(5) %t{self.thread}.{name}"

    def read(self, operand: Operand) -> str:
        if isinstance(operand, int):
            return str(operand)
        if operand in self.values:
            return self.values[operand]
        value = self.new()
        self.lines.append(f"{value} = load i32, {self.slot(operand)}")
        return value

    def write(self, register: str | None, value: str) -> None:
        if register is not None:
            self.truths.pop(register, None)
            self.values[register] = value

    def finish(self, terminator: str) -> None:
        """End the block, with its registers in memory."""
        for register, value in self.values.items():
            self.lines.append(f"store i32 {value}, {self.slot(register)}")
        self.values.clear()
        self.lines.append(terminator)

    def label(self, name: str) -> None:
        if self.open:
            self.finish(f"br label %{name}")
        self.lines.append(f"{name}:")
        self.open = True
        self.truths.clear()

    def pointer(self, name: str) -> str:
        in_lds = self.program.location(name).space is AddressSpace.LOCAL
        return f"ptr addrspace(3) @{name}" if in_lds else f"ptr addrspace(1) %{name}"

    def target(self, name: str) -> str:
        return f"L{self.thread}.{name}"

    def end(self) -> None:
        if self.open:
            self.finish("ret void")
        self.open = False

    def add(self, each: source.ScopedInstruction) -> None:
        if not self.open:
            self.label(f"dead{self.new()[1:]}")
        match each:
            case Label(name):
                self.label(self.target(name))
            case Move(dst, value):
                self.write(dst, self.read(value))
            case Arithmetic():
                self.arithmetic(each)
            case Branch():
                self.branch(each)
            case _:
                self.scoped(each)

    def arithmetic(self, each: Arithmetic) -> None:
        a, b, value = self.read(each.a), self.read(each.b), self.new()
        if each.kind in _COMPARISONS:
            truth = self.new()
            self.lines.append(f"{truth} = icmp {_COMPARISONS[each.kind]} i32 {a}, {b}")
            self.lines.append(f"{value} = zext i1 {truth} to i32")
        else:
            self.lines.append(f"{value} = {each.kind} i32 {a}, {b}")
        self.write(each.dst, value)

    def branch(self, each: Branch) -> None:
        if each.condition is None:
            self.finish(f"br label %{self.target(each.target)}")
            self.open = False
            return
        truth, on = self.truth(each.condition), self.new()[1:]
        ways = [f"label %{self.target(each.target)}", f"label %on{on}"]
        if each.unless:
            ways.reverse()
        self.finish(f"br i1 {truth}, {', '.join(ways)}")
        self.lines.append(f"on{on}:")

    def truth(self, condition: Operand) -> str:
        if isinstance(condition, str) and condition in self.truths:
            return self.truths[condition]
        value, truth = self.read(condition), self.new()
        self.lines.append(f"{truth} = icmp ne i32 {value}, 0")
        return truth

    def scoped(self, each: source.ScopedInstruction) -> None:
        how = _how(each)
        match each:
            case source.Load():
                value, pointer = self.new(), self.pointer(each.location)
                atomic = "atomic " if each.scope else ""
                self.lines.append(f"{value} = load {atomic}i32, {pointer}{how}, align 4")
                self.write(each.dst, value)
            case source.Store():
                stored, pointer = self.read(each.value), self.pointer(each.location)
                atomic = "atomic " if each.scope else ""
                self.lines.append(f"store {atomic}i32 {stored}, {pointer}{how}, align 4")
            case source.AtomicRmw():
                operand, old, pointer = (
                    self.read(each.value),
                    self.new(),
                    self.pointer(each.location),
                )
                self.lines.append(f"{old} = atomicrmw {each.kind} {pointer}, i32 {operand}{how}")
                self.write(each.dst, old)
            case source.Cmpxchg():
                compare, new, pair = self.read(each.compare), self.read(each.new), self.new()
                values = f"{self.pointer(each.location)}, i32 {compare}, i32 {new}"
                failure = _ORDERING.get(each.failure_ordering, each.failure_ordering)
                self.lines.append(f"{pair} = cmpxchg {values}{how} {failure}")
                old, truth, success = self.new(), self.new(), self.new()
                self.lines += [
                    f"{old} = extractvalue {{ i32, i1 }} {pair}, 0",
                    f"{truth} = extractvalue {{ i32, i1 }} {pair}, 1",
                    f"{success} = zext i1 {truth} to i32",
                ]
                self.write(each.dst, old)
                self.write(each.success, success)
                if each.success is not None:
                    self.truths[each.success] = truth
            case source.Fence():
                self.lines.append(f"fence{how}")
            case source.Barrier(ordering=ordering):
                call = "call void @llvm.amdgcn.s.barrier()"
                around = [f'fence syncscope("workgroup") {o}' for o in ("release", "acquire")]
                weak = ordering is Ordering.RELAXED
                self.lines += [call] if weak else [around[0], call, around[1]]
            case _:
                raise AssertionError(each)


def _how(each: object) -> str:
    scope, ordering = getattr(each, "scope", None), getattr(each, "ordering", None)
    if scope is None or ordering is None:
        return ""
    name = "" if scope is Scope.SYSTEM else f' syncscope("{scope}")'
    return f"{name} {_ORDERING.get(ordering, ordering)}"


def _groups(program: source.ScopedProgram) -> dict[int, list[int]]:
    groups: dict[int, list[int]] = {}
    for number, thread in enumerate(program.threads):
        groups.setdefault(thread.placement.workgroup, []).append(number)
    return groups


def written(program: source.ScopedProgram) -> str:
    """The module: a kernel for each work-group."""
    lines = ['target triple = "amdgcn-amd-amdhsa"', "declare void @llvm.amdgcn.s.barrier()"]
    pointers: list[str] = []
    for each in program.locations:
        if each.space is AddressSpace.LOCAL:
            lines.append(f"@{each.name} = internal addrspace(3) global i32 poison")
        else:
            pointers.append(f"ptr addrspace(1) %{each.name}")
    for group, members in _groups(program).items():
        writer = _Writer(program, [])
        ways = " ".join(f"i32 {n}, label %start{n}" for n in members)
        writer.lines += [f"switch i32 %who, label %nobody [ {ways} ]", "nobody:", "ret void"]
        writer.open = False
        for number in members:
            writer.thread = number
            writer.label(f"start{number}")
            for each in program.threads[number].instructions:
                writer.add(each)
            writer.end()
        slots = sorted(set(re.findall(r"%t[0-9]+\.\w+", "\n".join(writer.lines))))
        arguments = ", ".join([*pointers, "i32 %who"])
        lines += [f"define amdgpu_kernel void @g{group}({arguments}) {{", "entry:"]
        lines += [f"{slot} = alloca i32, addrspace(5)" for slot in slots]
        lines += [*writer.lines, "}"]
    return "\n".join(lines)


# Reading


_SPACE = {1: AddressSpace.GLOBAL, 3: AddressSpace.LOCAL}
_P = r"ptr addrspace\(([13])\) [%@](\w+)"
_HOW = r'(?: syncscope\("(\w+)(?:-one-as)?"\))? monotonic'
_V = r"(%\w+|-?\d+)"
_SLOT = r"ptr addrspace\(5\) %t\d+\.(\w+)"


def _value(text: str) -> Operand:
    return text[1:] if text.startswith("%") else int(text)


@dataclass
class _Reader:
    """One thread of a lowered kernel as instructions of the source, each with its sequence."""

    number: int
    mode: Mode
    instructions: list[source.ScopedInstruction]
    sequences: dict[int, Sequence]

    def operation(self, each: source.ScopedOperation, sequence: Sequence) -> None:
        self.sequences[len(self.instructions)] = sequence
        self.instructions.append(each)

    def access(self, each: source.ScopedOperation, space: str) -> None:
        request = request_of(each, self.mode, _SPACE[int(space)])
        lowered = TargetLowering(self.mode.target)(request)
        relaxed = [i for i in lowered.instructions if i.phase is Phase.ACCESS]
        self.operation(each, Sequence(tuple(relaxed)))

    def read(self, line: str) -> None:
        for pattern, action in _LINES.items():
            if found := re.fullmatch(pattern, line):
                action(self, *found.groups())
                return
        raise AssertionError(f"cannot read '{line}'")

    def nothing(self, *_: str) -> None:
        pass

    def label(self, name: str) -> None:
        self.instructions.append(Label(name))

    def switch(self, ways: str) -> None:
        target = dict(re.findall(r"i32 (\d+), label %([\w.]+)", ways))[str(self.number)]
        self.instructions.append(Branch(target))

    def go(self, target: str) -> None:
        self.instructions.append(Branch(target))

    def choose(self, condition: str, then: str, otherwise: str) -> None:
        self.instructions += [Branch(then, _value(condition)), Branch(otherwise)]

    def end(self) -> None:
        self.instructions.append(Branch(_END))

    def move(self, dst: str, value: str) -> None:
        self.instructions.append(Move(dst, _value(value)))

    def write(self, value: str, slot: str) -> None:
        self.move(slot, value)

    def read_slot(self, dst: str, slot: str) -> None:
        self.instructions.append(Move(dst, slot))

    def compare(self, dst: str, predicate: str, a: str, b: str) -> None:
        kind = next(kind for kind, name in _COMPARISONS.items() if name == predicate)
        self.instructions.append(Arithmetic(kind, dst, _value(a), _value(b)))

    def arithmetic(self, dst: str, kind: str, a: str, b: str) -> None:
        self.instructions.append(Arithmetic(ArithmeticKind(kind), dst, _value(a), _value(b)))

    def half(self, dst: str, pair: str, index: str) -> None:
        self.instructions.append(Move(dst, f"{pair}.{index}"))

    def load(self, dst: str, atomic: str | None, space: str, place: str, scope: str | None) -> None:
        how = (Ordering.RELAXED, Scope(scope or "system")) if atomic else (Ordering.WEAK, None)
        self.access(source.Load(dst=dst, location=place, ordering=how[0], scope=how[1]), space)

    def store(
        self, atomic: str | None, value: str, space: str, place: str, scope: str | None
    ) -> None:
        how = (Ordering.RELAXED, Scope(scope or "system")) if atomic else (Ordering.WEAK, None)
        made = source.Store(location=place, value=_value(value), ordering=how[0], scope=how[1])
        self.access(made, space)

    def rmw(
        self, dst: str, kind: str, space: str, place: str, value: str, scope: str | None
    ) -> None:
        made = source.AtomicRmw(
            kind=RmwKind(kind), location=place, value=_value(value), ordering=Ordering.RELAXED,
            scope=Scope(scope or "system"), dst=dst,
        )  # fmt: skip
        self.access(made, space)

    def cmpxchg(
        self, pair: str, space: str, place: str, compare: str, new: str, scope: str | None
    ) -> None:
        made = source.Cmpxchg(
            location=place, compare=_value(compare), new=_value(new), ordering=Ordering.RELAXED,
            failure_ordering=Ordering.RELAXED, scope=Scope(scope or "system"),
            dst=f"{pair}.0", success=f"{pair}.1",
        )  # fmt: skip
        self.access(made, space)

    def assembly(self, text: str, awaited: str) -> None:
        # The reader's machine waits for a register where it is used, as LLVM does.
        for value in re.findall(r"i32 (%[\w.]+)", awaited):
            self.move("awaited", value)
        if not text:
            return
        made = source.Fence(ordering=Ordering.SEQ_CST, scope=Scope.SYSTEM)
        self.operation(made, Sequence(tuple(map(_instruction, text.split("\\0A")))))

    def barrier(self) -> None:
        made = source.Barrier(scope=Scope.WORKGROUP, ordering=Ordering.RELAXED)
        self.operation(made, Sequence((Instruction("s_barrier", "", (), Phase.ACCESS, ""),)))


_LINES = {
    r"fence syncscope\(\"singlethread\"\) \w+": _Reader.nothing,
    r"%[\w.]+ = alloca i32, align 4, addrspace\(5\)": _Reader.nothing,
    r"([\w.]+):": _Reader.label,
    r"switch i32 %who, label %[\w.]+ \[(.*)\]": _Reader.switch,
    r"br label %([\w.]+)": _Reader.go,
    rf"br i1 {_V}, label %([\w.]+), label %([\w.]+)": _Reader.choose,
    "ret void": _Reader.end,
    rf"%(\w+) = load i32, {_SLOT}, align 4": _Reader.read_slot,
    rf"store i32 {_V}, {_SLOT}, align 4": _Reader.write,
    rf"%(\w+) = zext i1 {_V} to i32": _Reader.move,
    rf"%(\w+) = icmp (\w+) i32 {_V}, {_V}": _Reader.compare,
    rf"%(\w+) = (add|sub|mul|and|or|xor) i32 {_V}, {_V}": _Reader.arithmetic,
    r"%(\w+) = extractvalue \{ i32, i1 \} %(\w+), ([01])": _Reader.half,
    rf"%(\w+) = load (atomic )?i32, {_P}(?:{_HOW})?, align 4": _Reader.load,
    rf"store (atomic )?i32 {_V}, {_P}(?:{_HOW})?, align 4": _Reader.store,
    rf"%(\w+) = atomicrmw (\w+) {_P}, i32 {_V}{_HOW}, align 4": _Reader.rmw,
    rf"%(\w+) = cmpxchg {_P}, i32 {_V}, i32 {_V}{_HOW} monotonic, align 4": _Reader.cmpxchg,
    r'call void asm sideeffect "([^"]*)", "(?:v,)*~\{memory\}"\(([^)]*)\)': _Reader.assembly,
    r"call void @llvm\.amdgcn\.s\.barrier\(\)": _Reader.barrier,
}


def _instruction(text: str) -> Instruction:
    mnemonic, *words = text.split()
    if mnemonic != "s_waitcnt":
        return Instruction(mnemonic, "", tuple(words), Phase.ACQUIRE, "")
    counts = {name: int(n) for name, n in re.findall(r"(\w+)\((\d+)\)", text)}
    return Instruction(mnemonic, " ".join(words), (), Phase.WAIT, "", WaitCounts(**counts))


def _body(text: str, group: int) -> Iterator[str]:
    _, _, rest = text.partition(f"define amdgpu_kernel void @g{group}(")
    body = re.sub(r"\[\s+([^]]*?)\s+\]", r"[ \1 ]", rest.partition("\n}")[0])
    for line in re.sub(r"\n +i32", " i32", body).splitlines()[1:]:
        code = line.partition(" ;")[0].strip().partition(", !")[0]
        if _SINGLETHREAD in code and not code.startswith("fence"):
            code = _ORDERED.sub("monotonic", code)  # It orders nothing for others.
        if code:
            yield code


_SINGLETHREAD = 'syncscope("singlethread")'
_ORDERED = re.compile(r"\b(?:acquire|release|acq_rel|seq_cst)\b")


def _placements(places: list[Placement], l2_per_agent: L2PerAgent) -> list[Placement]:
    """With one L2 per agent there are no XCDs, and their CUs are of one."""
    if l2_per_agent is L2PerAgent.MANY:
        return places
    cus = sorted({(each.xcd, each.cu) for each in places})
    return [replace(each, cu=cus.index((each.xcd, each.cu)), xcd=0) for each in places]


def lowered(
    test: SourceTest,
    options: ReadOptions,
    facts: Iterable[str] = (),
    opt_level: int = 2,
    stores: Stores | None = None,
) -> tuple[str, CdnaTest]:
    """The lowered module, and what the machine executes of it."""
    program = test.test.program
    chip = options.chip or "gfx942"
    features = ("tgsplit",) if options.tgsplit else ()
    level = 2 if opt_level else 0
    module = written(program)
    text = lower_llvm_ir(module, chip, features, facts=facts, opt_level=level, stores=stores)
    configuration = CdnaConfiguration(chip, bool(options.tgsplit), options.l2_per_agent)
    assert configuration.l2_per_agent is not None
    mode = Mode(chip, frozenset(features), configuration.l2_per_agent)
    places = _placements([each.placement for each in program.threads], configuration.l2_per_agent)
    threads: list[Thread[source.ScopedInstruction]] = []
    sequences: dict[tuple[int, int], Sequence] = {}
    for number, thread in enumerate(program.threads):
        reader = _Reader(number, mode, [], {})
        for line in _body(text, thread.placement.workgroup):
            reader.read(line)
        reader.instructions.append(common.Label(_END))
        threads.append(Thread(places[number], tuple(reader.instructions)))
        sequences |= {(number, at): each for at, each in reader.sequences.items()}
    read = Program(program.locations, tuple(threads), program.observables(), program.name)
    does = LitmusTest(cdna_program(Code(read, sequences)), test.test.condition)
    return text, CdnaTest(does, configuration)
