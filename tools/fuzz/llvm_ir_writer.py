"""Programs on ``scoped`` operations as LLVM IR.

The threads of a work-group are one kernel, which branches on its argument ``%who`` to what each
of them does. Registers are values within a block, and private memory from block to block, so
that loops need no phis.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from fencewright.lowering.vocabulary import AddressSpace, Availability, Ordering, Scope
from fencewright.simulator.core.condition import Observable, Register
from fencewright.simulator.core.program import (
    WORD_MASK,
    Arithmetic,
    ArithmeticKind,
    Branch,
    Common,
    Label,
    Move,
    Operand,
)
from fencewright.simulator.source import events as source

COMPARISONS: Mapping[ArithmeticKind, str] = MappingProxyType(
    {
        ArithmeticKind.EQ: "eq",
        ArithmeticKind.NE: "ne",
        ArithmeticKind.LT: "ult",
        ArithmeticKind.LE: "ule",
    }
)
"""LLVM's names of the comparisons."""

WHO = "who"
"""The argument that says which thread of its work-group a wave is."""

RESULTS = "results"
"""The argument of kernels with results: where their registers go."""

RESULT_BYTES = 256
"""The distance between results, so that no two share a cache line or an instruction."""

_ORDERINGS = MappingProxyType({Ordering.RELAXED: "monotonic"})

_SYNCHRONIZES = MappingProxyType(
    {
        AddressSpace.GLOBAL: '!{!"amdgpu-synchronize-as", !"global"}',
        AddressSpace.LOCAL: '!{!"amdgpu-synchronize-as", !"local"}',
    }
)
_UNAVAILABLE = '!{!"amdgcn-av", !"none"}'
"""Memory model relaxation annotations (LLVM AMDGPUUsage, "Memory Model Relaxation Annotations")."""


@dataclass(frozen=True, slots=True)
class KernelForm:
    """The form in which kernels are written.

    ``results``: each thread stores the registers that the program observes to ``%results``
    when it ends, as ``result_registers`` orders them, and LDS is an argument too. ``noalias``:
    every argument promises that nothing else in the kernel reaches its memory. ``calls``: every
    other access and fence is in a function of its own, which LLVM's code generator inlines, and
    weak stores of constants copy them from constant memory. ``unordered``: every other weak
    access that is not volatile is an atomic, ``unordered``: the same where no weak ones race.
    """

    results: bool = False
    noalias: bool = False
    calls: bool = False
    unordered: bool = False


@dataclass
class _KernelWriter:
    """A kernel under construction; ``open`` while the block has no terminator.

    ``module``: what it needs beside it; ``values``: what the block has put into registers;
    ``truths``: registers whose truth a value of the block has, for branches to look at; ``nodes``:
    the module's metadata, by its text.
    """

    program: source.ScopedProgram
    form: KernelForm
    lines: list[str]
    module: list[str]
    nodes: dict[str, int]
    thread: int = 0
    temporaries: int = 0
    accesses: int = 0
    weak: int = 0
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
        sigil = "@" if in_lds and not self.form.results else "%"
        return f"ptr addrspace({3 if in_lds else 1}) {sigil}{name}"

    def target(self, name: str) -> str:
        return f"L{self.thread}.{name}"

    def end(self) -> None:
        if self.open:
            if self.form.results:
                self.results()
            self.finish("ret void")
        self.open = False

    def results(self) -> None:
        """Store the values of the thread's registers."""
        for number, register in enumerate(result_registers(self.program)[self.thread]):
            value, place = self.read(register), self.new()
            offset = number * RESULT_BYTES
            self.lines += [
                f"{place} = getelementptr i8, ptr addrspace(1) %{RESULTS}, i64 {offset}",
                f"store i32 {value}, ptr addrspace(1) {place}, align 4",
            ]

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
        if each.kind in COMPARISONS:
            truth = self.new()
            self.lines.append(f"{truth} = icmp {COMPARISONS[each.kind]} i32 {a}, {b}")
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
        targets = [f"label %{self.target(each.target)}", f"label %on{on}"]
        if each.unless:
            targets.reverse()
        self.finish(f"br i1 {truth}, {', '.join(targets)}")
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
                value, (access, how) = self.new(), self.words("load", each)
                after = f"{how}, align 4{self.relaxed(each.availability)}"
                self.access(f"{access} i32, {_POINTER}{after}", each.location, value)
                self.write(each.dst, value)
            case source.Store(value=int(constant)) if self.form.calls and _is_plain(each):
                self.copy(constant, each.location)
            case source.Store():
                stored, (access, how) = self.read(each.value), self.words("store", each)
                after = f"{how}, align 4{self.relaxed(each.availability)}"
                line = f"{access} i32 {_VALUE}, {_POINTER}{after}"
                self.access(line, each.location, stored=stored)
            case source.AtomicRmw():
                operand, old = self.read(each.value), self.new()
                after = f"{how}{self.relaxed(each.availability)}"
                line = f"atomicrmw {each.kind} {_POINTER}, i32 {_VALUE}{after}"
                self.access(line, each.location, old, stored=operand)
                self.write(each.dst, old)
            case source.Cmpxchg():
                compare, new, pair = self.read(each.compare), self.read(each.new), self.new()
                values = f"{self.pointer(each.location)}, i32 {compare}, i32 {new}"
                failure = _ORDERINGS.get(each.failure_ordering, each.failure_ordering)
                line = f"{pair} = cmpxchg {values}{how} {failure}"
                self.lines.append(line + self.relaxed(each.availability))
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
                self.access(f"fence{how}{self.relaxed(each.availability, each.spaces)}")
            case source.Barrier(ordering=ordering):
                call = "call void @llvm.amdgcn.s.barrier()"
                around = [f'fence syncscope("workgroup") {o}' for o in ("release", "acquire")]
                weak = ordering is Ordering.RELAXED
                self.lines += [call] if weak else [around[0], call, around[1]]
            case _:
                raise AssertionError(each)

    def access(
        self, text: str, location: str | None = None, result: str = "", stored: str = "0"
    ) -> None:
        """An instruction with places for its pointer and value, here or in its own function."""
        pointer = "ptr addrspace(1) null" if location is None else self.pointer(location)
        if not self.form.calls or not self.is_called():
            text = text.replace(_POINTER, pointer).replace(_VALUE, stored)
            self.lines.append(f"{result} = {text}" if result else text)
            return
        type, _, _ = pointer.rpartition(" ")
        inside = text.replace(_POINTER, f"{type} %p").replace(_VALUE, "%stored")
        name = f"access{len(self.module)}"
        self.module.append(
            f"define internal i32 @{name}({type} %p, i32 %stored) alwaysinline {{\n"
            f"{'%result = ' if result else ''}{inside}\n"
            f"ret i32 {'%result' if result else 0}\n}}"
        )
        call = f"call i32 @{name}({pointer}, i32 {stored})"
        self.lines.append(f"{result} = {call}" if result else call)

    def words(self, opcode: str, each: source.Load | source.Store) -> tuple[str, str]:
        """The beginning of an access, and its ordering."""
        if self.form.unordered and each.scope is None and not each.volatile:
            self.weak += 1
            if self.weak % 2:
                return f"{opcode} atomic", " unordered"
        return _access(opcode, each), _how(each)

    def is_called(self) -> bool:
        """True if the next access is in a function: every other one."""
        self.accesses += 1
        return self.accesses % 2 == 0

    def copy(self, constant: int, location: str) -> None:
        """A weak store as a copy from constant memory."""
        name = f"constant{len(self.module)}"
        data = "".join(f"\\{byte:02X}" for byte in (constant & WORD_MASK).to_bytes(4, "little"))
        self.module.append(f'@{name} = internal addrspace(4) constant [4 x i8] c"{data}", align 4')
        type, _, place = self.pointer(location).rpartition(" ")
        space = re.sub(r"\D", "", type)
        self.lines.append(
            f"call void @llvm.memcpy.p{space}.p4.i64({type} align 4 {place}, "
            f"ptr addrspace(4) align 4 @{name}, i64 4, i1 false)"
        )

    def relaxed(self, availability: Availability, spaces: source.Spaces | None = None) -> str:
        """The annotation for an operation that orders less; where LLVM IR has none, nothing."""
        said = [_UNAVAILABLE] if availability is Availability.NONE else []
        if spaces is not None and all(each in _SYNCHRONIZES for each in spaces):
            said += [_SYNCHRONIZES[each] for each in sorted(spaces)]
        if not said:
            return ""
        nodes = [self.node(each) for each in said]
        together = ", ".join(nodes)
        return f", !mmra {together if len(nodes) == 1 else self.node(f'!{{{together}}}')}"

    def node(self, text: str) -> str:
        """A metadata node."""
        return f"!{self.nodes.setdefault(text, len(self.nodes))}"


_POINTER, _VALUE = "<pointer>", "<value>"
"""Places in the text of an access."""


def _is_plain(each: source.Store) -> bool:
    return each.scope is None and not each.volatile and each.availability is Availability.FULL


def _access(word: str, each: source.Load | source.Store) -> str:
    flags = (("atomic", each.scope is not None), ("volatile", each.volatile))
    return " ".join((word, *(flag for flag, is_set in flags if is_set)))


def _how(each: source.ScopedInstruction) -> str:
    if isinstance(each, Common) or each.scope is None:
        return ""
    words = [] if each.scope is Scope.SYSTEM else [str(each.scope)]
    scope = "-".join((*words, *(("one-as",) if each.one_as else ())))
    name = f' syncscope("{scope}")' if scope else ""
    return f"{name} {_ORDERINGS.get(each.ordering, each.ordering)}"


def groups(program: source.ScopedProgram) -> dict[int, list[int]]:
    """The threads of each work-group."""
    found: dict[int, list[int]] = {}
    for number, thread in enumerate(program.threads):
        found.setdefault(thread.placement.workgroup, []).append(number)
    return found


def kernel_name(group: int) -> str:
    """The name of the kernel of a work-group."""
    return f"g{group}"


def result_registers(program: source.ScopedProgram) -> list[list[str]]:
    """The registers of each thread that are in outcomes, in the order of their results."""
    found: list[list[str]] = [[] for _ in program.threads]
    observables: tuple[Observable, ...] = program.observables()
    for each in observables:
        if isinstance(each, Register):
            found[each.thread].append(each.name)
    return found


def arguments(program: source.ScopedProgram, form: KernelForm) -> Iterator[tuple[str, str]]:
    """The name and type of each argument that every kernel has."""
    noalias = " noalias" if form.noalias else ""
    for each in program.locations:
        if each.space is not AddressSpace.LOCAL:
            yield each.name, f"ptr addrspace(1){noalias}"
        elif form.results:
            yield each.name, f"ptr addrspace(3){noalias}"
    if form.results:
        yield RESULTS, f"ptr addrspace(1){noalias}"
    yield WHO, "i32"


def written(program: source.ScopedProgram, form: KernelForm | None = None) -> str:
    """The module: a kernel for each work-group."""
    form = form or KernelForm()
    lines = ['target triple = "amdgcn-amd-amdhsa"', "declare void @llvm.amdgcn.s.barrier()"]
    if not form.results:
        local = [each for each in program.locations if each.space is AddressSpace.LOCAL]
        lines += [f"@{each.name} = internal addrspace(3) global i32 poison" for each in local]
    nodes: dict[str, int] = {}
    module: list[str] = []
    for group, members in groups(program).items():
        writer = _KernelWriter(program, form, [], module, nodes)
        cases = " ".join(f"i32 {n}, label %start{n}" for n in members)
        writer.lines += [f"switch i32 %{WHO}, label %nobody [ {cases} ]", "nobody:", "ret void"]
        writer.open = False
        for number in members:
            writer.thread = number
            writer.label(f"start{number}")
            for each in program.threads[number].instructions:
                writer.add(each)
            writer.end()
        slots = sorted(set(re.findall(r"%t[0-9]+\.\w+", "\n".join(writer.lines))))
        taken = ", ".join(f"{type} %{name}" for name, type in arguments(program, form))
        lines += [f"define amdgpu_kernel void @{kernel_name(group)}({taken}) {{", "entry:"]
        for slot in slots:
            lines.append(f"{slot} = alloca i32, addrspace(5)")
            if form.results:  # Registers start at 0.
                lines.append(f"store i32 0, ptr addrspace(5) {slot}")
        lines += [*writer.lines, "}"]
    lines += module
    lines += [f"!{number} = {text}" for text, number in nodes.items()]
    return "\n".join(lines)
