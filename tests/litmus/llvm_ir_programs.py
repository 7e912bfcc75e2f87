"""Programs on ``scoped`` in LLVM IR, lowered as such, and executed on the CDNA machine.

What is executed is the LLVM IR itself: LLVM's own part is taken to be right (see
``tools.fuzz.llvm_ir`` for the machine code that it makes).
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fencewright.lowering.lower import lower_request
from fencewright.lowering.sequence import Instruction, Sequence, Target, WaitCounts
from fencewright.lowering.vocabulary import (
    AddressSpace,
    Ordering,
    Phase,
    RmwKind,
    Scope,
)
from fencewright.passes.litmus.programs import ReadOptions
from fencewright.passes.pipelines import StorePolicy, lower_llvm_ir
from fencewright.simulator.cdna.rows import CdnaConfiguration
from fencewright.simulator.certify.programs.cdna import cdna_program
from fencewright.simulator.certify.programs.code import Code, request_of
from fencewright.simulator.core import program as common
from fencewright.simulator.core.program import (
    Arithmetic,
    ArithmeticKind,
    Branch,
    Label,
    LitmusTest,
    Move,
    Operand,
    Program,
    Thread,
)
from fencewright.simulator.litmus_run import CdnaTest, SourceTest
from fencewright.simulator.source import events as source
from fencewright.tools.fuzz.llvm_ir import placements
from fencewright.tools.fuzz.llvm_ir_writer import COMPARISONS, written

_END = "end"


# Reading


_SPACE = {1: AddressSpace.GLOBAL, 3: AddressSpace.LOCAL}
_P = r"ptr addrspace\(([13])\) [%@](\w+)"
_HOW = r'(?: syncscope\("(?:(\w+)(?:-one-as)?|one-as)"\))? monotonic'
_V = r"(%\w+|-?\d+)"
_SLOT = r"ptr addrspace\(5\) %t\d+\.(\w+)"


def _value(text: str) -> Operand:
    return text[1:] if text.startswith("%") else int(text)


def _how(flag: str | None, scope: str | None) -> tuple[Ordering, Scope | None]:
    return (
        (Ordering.RELAXED, Scope(scope or "system")) if flag == _ATOMIC else (Ordering.WEAK, None)
    )


_ATOMIC, _VOLATILE = "atomic ", "volatile "


@dataclass
class _Reader:
    """One thread of a lowered kernel as instructions of the source, each with its sequence."""

    number: int
    mode: Target
    instructions: list[source.ScopedInstruction]
    sequences: dict[int, Sequence]

    def operation(self, each: source.ScopedOperation, sequence: Sequence) -> None:
        self.sequences[len(self.instructions)] = sequence
        self.instructions.append(each)

    def access(self, each: source.ScopedOperation, space: str) -> None:
        request = request_of(each, self.mode, _SPACE[int(space)])
        lowered = lower_request(request)
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
        kind = next(kind for kind, name in COMPARISONS.items() if name == predicate)
        self.instructions.append(Arithmetic(kind, dst, _value(a), _value(b)))

    def arithmetic(self, dst: str, kind: str, a: str, b: str) -> None:
        self.instructions.append(Arithmetic(ArithmeticKind(kind), dst, _value(a), _value(b)))

    def half(self, dst: str, pair: str, index: str) -> None:
        self.instructions.append(Move(dst, f"{pair}.{index}"))

    def load(self, dst: str, flag: str | None, space: str, place: str, scope: str | None) -> None:
        how = _how(flag, scope)
        self.access(source.Load(dst, place, *how, volatile=flag == _VOLATILE), space)

    def store(
        self, flag: str | None, value: str, space: str, place: str, scope: str | None
    ) -> None:
        how = _how(flag, scope)
        self.access(source.Store(place, _value(value), *how, volatile=flag == _VOLATILE), space)

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

    def wait(self, field: str) -> None:
        bits = int(field)
        counts = {"vmcnt": bits & 0xF | bits >> 14 << 4, "lgkmcnt": bits >> 8 & 0xF}
        waits = " ".join(f"{name}({n})" for name, n in counts.items() if n not in (63, 15))
        self.assembly(f"s_waitcnt {waits}", "")

    def wait_for_lds(self) -> None:
        self.assembly("s_waitcnt lgkmcnt(0)", "")

    def barrier(self) -> None:
        made = source.Barrier(scope=Scope.WORKGROUP, ordering=Ordering.RELAXED)
        self.operation(made, Sequence((Instruction("s_barrier", phase=Phase.ACCESS, source=""),)))


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
    rf"%(\w+) = load (atomic |volatile )?i32, {_P}(?:{_HOW})?, align 4": _Reader.load,
    rf"store (atomic |volatile )?i32 {_V}, {_P}(?:{_HOW})?, align 4": _Reader.store,
    rf"%(\w+) = atomicrmw (\w+) {_P}, i32 {_V}{_HOW}, align 4": _Reader.rmw,
    rf"%(\w+) = cmpxchg {_P}, i32 {_V}, i32 {_V}{_HOW} monotonic, align 4": _Reader.cmpxchg,
    r'call void asm sideeffect "([^"]*)", "(?:v,)*~\{memory\}"\(([^)]*)\)': _Reader.assembly,
    r"call void @llvm\.amdgcn\.s\.barrier\(\)": _Reader.barrier,
    r"call void @llvm\.amdgcn\.s\.waitcnt\(i32 (\d+)\)": _Reader.wait,
    r"fence syncscope\(\"workgroup\"\) release": _Reader.wait_for_lds,
}


def _instruction(text: str) -> Instruction:
    mnemonic, *words = text.split()
    if mnemonic != "s_waitcnt":
        return Instruction(mnemonic, modifiers=tuple(words), phase=Phase.ACQUIRE, source="")
    counts = {name: int(n) for name, n in re.findall(r"(\w+)\((\d+)\)", text)}
    return Instruction(mnemonic, wait=WaitCounts(**counts), phase=Phase.WAIT, source="")


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


def lowered(
    test: SourceTest,
    options: ReadOptions,
    facts: Iterable[str] = (),
    opt_level: int = 2,
    stores: StorePolicy | None = None,
) -> tuple[str, CdnaTest]:
    """The lowered module, and what the machine executes of it."""
    chip = options.chip or "gfx942"
    features = ("tgsplit",) if options.tgsplit else ()
    level = 2 if opt_level else 0
    module = written(test.test.program)
    text = lower_llvm_ir(module, chip, features, facts=facts, opt_level=level, stores=stores)
    return text, executable(test, text, options)


def executable(test: SourceTest, text: str, options: ReadOptions) -> CdnaTest:
    """What the machine executes of a program that has been lowered to ``text``."""
    program = test.test.program
    chip = options.chip or "gfx942"
    features = ("tgsplit",) if options.tgsplit else ()
    configuration = CdnaConfiguration(chip, bool(options.tgsplit), options.l2_per_agent)
    assert configuration.l2_per_agent is not None
    mode = Target(chip, frozenset(features), configuration.l2_per_agent)
    places = placements([each.placement for each in program.threads], configuration.l2_per_agent)
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
    return CdnaTest(does, configuration)
