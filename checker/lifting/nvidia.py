"""A function of PTX as MLIR on ``scoped``: its synchronisation, for another target to lower.

Accesses, fences, barriers and control flow are those of the code, with the orderings and scopes
that it says; all that is computed is symbolic. An address is an argument, the same one where it
is computed from the same variable, parameter or register by the same constants; so is what is
stored, and what a branch depends on beside what its block has loaded. What is called stands in the
place of its call. Proxy fences are left out:
``insert-proxy-fences`` writes those that are required. A lifted function is for comparing and
lowering, and not for running.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from fencewright.checker.lifting.writer import (
    TYPE_OF_SIZE,
    ZERO,
    Access,
    Arguments,
    Block,
    Branch,
    Comparison,
    Definition,
    Definitions,
    Operation,
    UnliftableError,
    Value,
    choice,
    function_text,
    labels_of,
    loaded_by,
    reaching_definitions,
    unlifted,
)
from fencewright.lowering.code.calls import callee
from fencewright.lowering.code.effects import Access as PtxAccess
from fencewright.lowering.code.effects import Kind, Proxy
from fencewright.lowering.code.graph import graph_of
from fencewright.lowering.ptx.code.addresses import Places
from fencewright.lowering.ptx.code.calls import inlined
from fencewright.lowering.ptx.code.statements import (
    ACCESSES,
    ARRIVALS,
    CONTROL,
    MBARRIER_WAITS,
    SILENT,
    OperandRole,
    Statement,
    names_in,
    number,
)
from fencewright.lowering.ptx.code.text import PtxBlock, PtxFile, PtxFunction, PtxInstruction
from fencewright.lowering.vocabulary import AddressSpace, Ordering, RmwKind, Scope

_MATRICES = ("ldmatrix", "stmatrix")
_READS = ("ld", "ldu", "ld nc")
_UNSEEN = (AddressSpace.CONSTANT, AddressSpace.PRIVATE)

_FLOATS = ("f16", "bf16", "f32", "f64")

_PREDICATES: Mapping[str, str] = MappingProxyType(
    {"eq": "eq", "ne": "ne", "lo": "ult", "ls": "ule", "hi": "ugt", "hs": "uge"}
)
_ORDERED = ("lt", "le", "gt", "ge")
"""Comparisons whose sign is that of their type. Source: PTX ISA, setp."""

_INSERTED = ("fence proxy async", "fence proxy async::generic", "fence mbarrier_init")
"""The operations that ``insert-proxy-fences`` writes."""

_ENDS = ("ret", "exit", "trap")


def ptx_to_scoped(module: PtxFile, function: PtxFunction) -> str:
    """The function as one ``func.func``; raises ``UnliftableError`` for unliftable code."""
    if not function.is_entry:
        raise UnliftableError(0, "it is called, and what its caller did is not known")
    whole = inlined(module, function, callee(module.functions, unlifted))
    return _Reader(module, whole).text()


class _Reader:
    def __init__(self, module: PtxFile, function: PtxFunction):
        self.function = function
        self.places = Places(module, function)
        self.arguments = Arguments()
        self.labels = labels_of([each.line for each in function.instructions])
        self.graph = graph_of(function.blocks)
        self.sources = self._sources()
        self.threads = function.threads
        self.constants = {ZERO: 0}
        # Of the block that is being read, the registers that hold what it has loaded.
        self.loaded: dict[str, Value] = {}

    def _sources(self) -> Mapping[int, Definitions]:
        """For each instruction, the origins of registers that are written more than once."""
        several = {name for name, written in self.places.written.items() if written is None}
        if not several:
            return {each.number: {} for each in self.function.instructions}

        def definition(each: PtxInstruction) -> Definition:
            registers = tuple(name for name in each.statement.defines if name in several)
            return Definition(str(each.number), registers, bool(each.statement.guard))

        blocks = [[*map(definition, block.instructions)] for block in self.function.blocks]
        reaching = reaching_definitions(self.graph, blocks)
        return {int(label): dict(known) for label, known in reaching}

    def text(self) -> str:
        """The function."""
        function = self.function
        attributes = ["gpu.kernel"]
        if self.threads is not None:
            sizes = ", ".join(map(str, self.threads))
            attributes.append(f"gpu.known_block_size = array<i32: {sizes}>")
        reachable = self.graph.reachable({0})
        blocks = (
            block
            for each in function.blocks
            if each.number in reachable
            for block in self._blocks(each)
        )
        listed = f"attributes {{{', '.join(attributes)}}} "
        return function_text(function.name, self.arguments, blocks, self.constants, listed)

    # Control flow

    def _blocks(self, block: PtxBlock) -> Iterator[Block]:
        """A block, in parts where an instruction has a guard: it stands in a block of its own."""
        self.loaded = {}
        name = str(block.number)
        operations: list[Operation] = []
        for each in block.instructions:
            statement = each.statement
            if statement.kind in CONTROL:
                yield from self._end(block, each, name, operations)
                return
            own = list(self._instruction(each))
            if not statement.guard or not own:
                operations += own
                if not statement.guard:
                    self._forget(statement)
                    self._remember(each)
                continue
            label = self.labels[each.number]
            taken, after = f"{block.number}_if{label}", f"{block.number}_then{label}"
            yield Block(name, operations, self._branch(block, each, taken, after))
            yield Block(taken, own, Branch((after,)))
            name, operations = after, []
            self._forget(statement)
        if not block.successors:
            line = block.instructions[-1].line if block.instructions else self.function.line
            raise UnliftableError(line, "where the code goes on is not known")
        yield Block(name, operations, Branch((str(block.successors[0]),)))

    def _end(
        self, block: PtxBlock, end: PtxInstruction, name: str, operations: Sequence[Operation]
    ) -> Iterator[Block]:
        """The last part of a block, with its return, its branch, or a choice of them."""
        statement, targets = end.statement, [*map(str, block.successors)]
        if statement.operation in _ENDS:
            if not statement.guard:
                yield Block(name, operations, Branch())
                return
            taken = f"{block.number}_end"
            yield Block(name, operations, self._branch(block, end, taken, targets[0]))
            yield Block(taken, (), Branch())
        elif not targets:
            raise UnliftableError(end.line, "where the code goes on is not known")
        elif len(targets) == 1:
            yield Block(name, operations, Branch((targets[0],)))
        elif len(targets) == 2 and statement.guard:
            yield Block(name, operations, self._branch(block, end, *targets))
        else:
            yield from choice(self.arguments, name, operations, self.labels[end.number], targets)

    def _branch(self, block: PtxBlock, each: PtxInstruction, taken: str, other: str) -> Branch:
        """A branch to ``taken`` where the guard of an instruction holds."""
        guard = each.statement.guard
        register = guard.lstrip("!")
        targets = (other, taken) if guard.startswith("!") else (taken, other)
        answer = self.loaded.get(register)
        if answer is not None and answer.type == "i1":
            # That of an mbarrier.
            return Branch(targets, answer.name)
        return Branch(targets, self._condition(block, each, register))

    def _condition(self, block: PtxBlock, each: PtxInstruction, register: str) -> Comparison:
        """A predicate's condition: a comparison with what the block loaded, or an argument."""
        label = self.labels[each.number]
        before = [e for e in block.instructions if e.number < each.number]
        made = next((e for e in reversed(before) if register in e.statement.defines), None)
        if made is not None and not made.statement.guard and register not in self.loaded:
            compared = self._comparison(made.statement, label)
            if compared is not None:
                return compared
            # An address is not followed.
            computations = (
                (e.statement.defines, () if e.statement.accesses else e.statement.uses, self.loaded)
                for e in reversed(before)
                if e.number < made.number
            )
            loaded = loaded_by(computations, made.statement.uses)
            if loaded is not None:
                return self.arguments.condition(label, loaded, "")
        return self.arguments.condition(label, None, self._question(register, label))

    def _question(self, register: str, label: str) -> str:
        """The argument for a predicate: one for all branches by it if no loop computes it anew."""
        made = self.places.written.get(register)
        if made is None or made.statement.guard:
            return f"b{label}"
        block = self._block_of(made)
        if block in self.graph.reachable_after({block}):
            return f"b{label}"
        return f"b{self.labels[made.number]}"

    def _block_of(self, instruction: PtxInstruction) -> int:
        return next(
            each.number for each in self.function.blocks if instruction in each.instructions
        )

    def _comparison(self, statement: Statement, label: str) -> Comparison | None:
        """``arith.cmpi`` of a loaded integer with a constant or an argument; None for others."""
        opcode = statement.opcode
        word, kind = opcode.comparison, f"i{opcode.width}"
        if statement.operation != "setp" or len(statement.operands) != 3:
            return None
        if opcode.modifiers - {word}:
            return None
        if word in _ORDERED and opcode.type[0] in "su":
            predicate = f"{opcode.type[0]}{word}"
        else:
            predicate = _PREDICATES.get(word, "") if opcode.type[0] in "sub" else ""
        sides = [self.loaded.get(each) for each in statement.operands[1:]]
        if not predicate or not any(side is not None and side.type == kind for side in sides):
            return None
        left, right = (
            side
            if side is not None and side.type == kind
            else self._value(operand, f"c{label}_{n}", kind)
            for n, (side, operand) in enumerate(zip(sides, statement.operands[1:], strict=True))
        )
        return Comparison(f"%t{label}", predicate, left, right)

    def _forget(self, statement: Statement) -> None:
        for register in statement.defines:
            self.loaded.pop(register, None)

    def _remember(self, each: PtxInstruction) -> None:
        """The registers that hold the values an instruction has read."""
        statement, label = each.statement, self.labels[each.number]
        if statement.operation in MBARRIER_WAITS:
            for register in statement.defines[:1]:
                self.loaded[register] = Value(f"%v{label}", "i1")
        elif statement.operation in _READS and self._is_seen(statement):
            for name, register in zip(self._results(each), statement.defines, strict=False):
                self.loaded[register] = Value(name, f"i{statement.opcode.width}")
        elif statement.operation == "atom" and self.threads == (1, 1, 1):
            # Of more threads each has its own answer, and they would part.
            if len(statement.defines) == 1 and statement.opcode.type not in _FLOATS:
                value = Value(f"%v{label}", f"i{statement.opcode.width}")
                self.loaded[statement.defines[0]] = value
        elif statement.operation == "mov" and len(statement.operands) == 2:
            if (found := self.loaded.get(statement.operands[1])) is not None:
                self.loaded[statement.operands[0]] = found

    def _is_seen(self, statement: Statement) -> bool:
        return self.places.of(statement.accesses[0]).space not in _UNSEEN

    def _results(self, each: PtxInstruction) -> tuple[str, ...]:
        """The names of the values of a load: none of its own for the elements of a weak vector."""
        opcode, label = each.statement.opcode, self.labels[each.number]
        if opcode.vector == 1:
            return (f"%v{label}",)
        if not each.statement.is_strong:
            return ()
        return tuple(f"%v{label}_{n}" for n in range(opcode.vector))

    # Instructions

    def _instruction(self, each: PtxInstruction) -> Iterator[Operation]:
        statement = each.statement
        if statement.kind in SILENT or statement.operation in _INSERTED:
            return
        if statement.kind in ACCESSES:
            yield from self._access(each)
            return
        read = _READERS.get(statement.operation)
        if read is None:
            raise self._unlifted(each)
        yield from read(self, each)

    def _unlifted(
        self, each: PtxInstruction, why: str = "'scoped' has no operation for it"
    ) -> UnliftableError:
        return unlifted(each.line, each.statement.opcode.name, why)

    def _access(self, each: PtxInstruction) -> Iterator[Access]:
        statement = each.statement
        opcode, operation = statement.opcode, statement.operation
        if operation in _MATRICES:
            opcode_type, count, size = "vector<4xi32>", 1, 16
        elif operation in (*_READS, "st", "atom", "red"):
            is_split = statement.is_strong and opcode.vector > 1
            count = opcode.vector if is_split else 1
            size = opcode.width * opcode.vector // 8 // count
            opcode_type = self._type(each, size)
        else:
            raise self._unlifted(each)
        access = statement.accesses[0]
        for n in range(count):
            suffix = f"_{n}" if count > 1 else ""
            pointer = self._pointer(each, access, n * size)
            if pointer is not None:
                yield self._line(each, opcode_type, pointer, suffix)

    def _type(self, each: PtxInstruction, size: int) -> str:
        opcode = each.statement.opcode
        if opcode.type in _FLOATS and each.statement.operation in ("atom", "red"):
            return opcode.type
        if opcode.vector == 1 and opcode.width == 128:
            return "i128"
        if opcode.vector > 1 and size > 16:
            return f"vector<{size // 4}xi32>"
        if size not in TYPE_OF_SIZE:
            raise self._unlifted(each, f"an access of {size} bytes")
        return TYPE_OF_SIZE[size]

    def _line(self, each: PtxInstruction, kind: str, pointer: Value, suffix: str) -> Access:
        """One access."""
        statement = each.statement
        label = self.labels[each.number] + suffix
        ordering, scope = self._how(each)
        access = Access(Kind.LOAD, label, ordering, scope, pointer, kind)
        opcode = statement.opcode
        tail = " {volatile}" if opcode.volatile or opcode.mmio else ""
        if statement.operation in ("ldmatrix", *_READS):
            is_constant = statement.operation == "ld nc"
            return replace(access, attributes=" {invariant}" if is_constant else tail)
        data = [operand for operand in statement.operands if not operand.startswith("[")]
        value = self._value(data[-1], f"x{label}", kind).name
        if statement.operation in ("stmatrix", "st"):
            return replace(access, kind=Kind.STORE, value=value, attributes=tail)
        update = replace(access, kind=Kind.RMW, value=value)
        if opcode.update == "cas":
            compared = self._value(data[-2], f"c{label}", kind).name
            return replace(update, compared=compared)
        return replace(update, rmw=self._rmw(each))

    def _value(self, operand: str, name: str, kind: str) -> Value:
        """The value of an operand: loaded by its block, a constant, or the argument ``name``."""
        loaded = self.loaded.get(operand)
        if loaded is not None and loaded.type == kind:
            return loaded
        value = self._constant(operand)
        if value is None or kind not in ("i32", "i64"):
            return self.arguments.value(name, kind)
        if kind == "i32" and value == 0:
            return ZERO
        constant = Value(f"%k{value}_{kind}".replace("-", "m"), kind)
        self.constants[constant] = value
        return constant

    def _constant(self, operand: str) -> int | None:
        """The number that an operand is, or that is moved to it and nothing else."""
        value = number(operand)
        made = self.places.written.get(operand)
        if value is not None or made is None or made.statement.guard:
            return value
        is_copy = made.statement.operation == "mov" and len(made.statement.operands) == 2
        return number(made.statement.operands[1]) if is_copy else None

    def _rmw(self, each: PtxInstruction) -> RmwKind:
        opcode = each.statement.opcode
        if "x2" in opcode.type or opcode.vector > 1:
            raise self._unlifted(
                each, "each element is atomic by itself, which 'scoped' cannot say"
            )
        if opcode.rmw is None:
            raise self._unlifted(each)
        return opcode.rmw

    def _how(self, each: PtxInstruction) -> tuple[Ordering, Scope | None]:
        """Ordering and scope; a weak access has none."""
        ordering, scope = each.statement.ordering, each.statement.scope
        if ordering is None or ordering is Ordering.WEAK:
            return Ordering.WEAK, None
        if scope is None:
            raise self._unlifted(each, "its scope is not said")
        return ordering, scope

    def _words(self, each: PtxInstruction) -> str:
        ordering, scope = self._how(each)
        return str(ordering) if scope is None else f"{ordering} {scope}"

    # Addresses

    def _pointer(self, each: PtxInstruction, access: PtxAccess, further: int = 0) -> Value | None:
        """The argument that stands for an address and its type; None for memory of the thread."""
        place = self.places.of(access)
        if place.space in _UNSEEN:
            return None
        first = next(iter(names_in(access.address)), "")
        key: tuple[object, ...] = (place.root, place.offset + further)
        if place.root in self.places.written and self.places.written[place.root] is None:
            # It begins with a register that is written more than once.
            rest = access.address.partition(first)[2].replace(" ", "")
            key = (first, rest, further, self.sources[each.number].get(first))
        return self.arguments.pointer(key, place.space.number if place.space is not None else 0)

    def _shared(self, each: PtxInstruction, role: OperandRole) -> Value:
        """The argument for a place in shared memory, of this work-group or the cluster's."""
        address = each.statement.operand(role)
        spaces = each.statement.opcode.spaces
        is_peer = bool(spaces) and spaces[0] is AddressSpace.SHARED_CLUSTER
        space = AddressSpace.SHARED_CLUSTER if is_peer else AddressSpace.LOCAL
        found = self._pointer(each, PtxAccess(address, False, False, Proxy.GENERIC, space, None))
        assert found is not None
        return found

    # Synchronisation

    def fence(self, each: PtxInstruction) -> Iterator[Operation]:
        """A fence of everything."""
        if each.statement.opcode.modifiers:
            raise self._unlifted(each)
        yield f"scoped.fence {self._words(each)}"

    def barrier(self, each: PtxInstruction) -> Iterator[Operation]:
        """A barrier of the work-group, or of some of its threads."""
        statement = each.statement
        numbers = [number(text) for text in statement.operands]
        if statement.operation_words[-1] == "red":
            if len(numbers) > 3:
                raise self._unlifted(each, "a reduction over some threads of the work-group")
            numbers = [0]
        if len(numbers) <= 1 or self._are_all(numbers[1]):
            yield f"scoped.barrier {Scope.WORKGROUP}"
            return
        if numbers[0] is None or numbers[1] is None:
            raise self._unlifted(each, "which barrier, or of how many threads, is not known")
        part = statement.operation_words[1]
        yield f"scoped.named_barrier {part} {numbers[0]} threads {numbers[1]}"

    def _are_all(self, count: int | None) -> bool:
        """True of the number of threads of the work-group."""
        if self.threads is None:
            return False
        x, y, z = self.threads
        return count == x * y * z

    def warp_barrier(self, each: PtxInstruction) -> Iterator[Operation]:
        """A barrier of a warp."""
        yield f"scoped.barrier {Scope.WAVEFRONT}"

    def cluster_arrive(self, each: PtxInstruction) -> Iterator[Operation]:
        """An arrival at the cluster's barrier."""
        yield f"scoped.cluster_arrive {each.statement.ordering}"

    def plain(self, each: PtxInstruction) -> Iterator[Operation]:
        """An operation without operands, or with one number."""
        statement = each.statement
        name = _PLAIN[statement.operation]
        numbers = [number(text) for text in statement.operands]
        if None in numbers or "read" in statement.opcode.modifiers:
            raise self._unlifted(each)
        if statement.operation_words[-1] == "wait_all":
            numbers = [0]
        yield f"scoped.{' '.join([name, *map(str, numbers)])}"

    # mbarriers and copies

    def mbarrier_init(self, each: PtxInstruction) -> Iterator[Operation]:
        """An mbarrier that is made, or ended."""
        where = self._shared(each, OperandRole.MBARRIER)
        word = each.statement.operation_words[1]
        count = f" count {self._number(each, 1)}" if word == "init" else ""
        yield f"scoped.mbarrier_{word} {where.name}{count} : {where.type}"

    def expect_tx(self, each: PtxInstruction) -> Iterator[Operation]:
        """Bytes that a phase waits for."""
        where = self._shared(each, OperandRole.MBARRIER)
        size, scope = self._number(each, 1), each.statement.scope
        yield f"scoped.mbarrier_expect_tx {scope} {where.name} bytes {size} : {where.type}"

    def _number(self, each: PtxInstruction, at: int) -> int:
        operands = each.statement.operands
        value = number(operands[at]) if at < len(operands) else None
        if value is None:
            raise self._unlifted(each, "a number that only the run knows")
        return value

    def arrival(self, each: PtxInstruction) -> Iterator[Operation]:
        """An arrival on an mbarrier."""
        statement = each.statement
        where = self._shared(each, OperandRole.MBARRIER)
        at = next(n for n, text in enumerate(statement.operands) if text.startswith("["))
        carried = ""
        if len(statement.operands) > at + 1:
            word = "expect_tx" if "expect_tx" in statement.operation_words else "count"
            carried = f" {word} {self._number(each, at + 1)}"
        token = bool(statement.defines)
        result = f"%v{self.labels[each.number]} = " if token else ""
        kind = " -> i64" if token else ""
        drop = " drop" if "arrive_drop" in statement.operation_words else ""
        how = self._words(each)
        values = f"{where.name}{carried} : {where.type}{kind}"
        yield f"{result}scoped.mbarrier_arrive{drop} {how} {values}"

    def query(self, each: PtxInstruction) -> Iterator[Operation]:
        """A look at an mbarrier."""
        where = self._shared(each, OperandRole.MBARRIER)
        label = self.labels[each.number]
        kind = "i32" if "parity" in each.statement.opcode.modifiers else "i64"
        phase = self.arguments.value(f"x{label}", kind).name
        word = each.statement.operation_words[1]
        how = self._words(each)
        values = f"{where.name}, {phase} : {where.type}, {kind}"
        yield f"%v{label} = scoped.mbarrier_{word} {how} {values}"

    def bulk_copy(self, each: PtxInstruction) -> Iterator[Operation]:
        """A copy through the async proxy."""
        if "multicast::cluster" in each.statement.opcode.modifiers:
            raise self._unlifted(each)
        pointers = self._copied(each)
        size = self._number(each, 2)
        tail = ""
        if each.statement.operand(OperandRole.SIGNAL):
            # It stands in the memory that is written.
            space = next(iter(each.statement.opcode.spaces), AddressSpace.LOCAL)
            address = each.statement.operand(OperandRole.SIGNAL)
            signalled = PtxAccess(address, False, False, Proxy.GENERIC, space, None)
            mbarrier = self._pointer(each, signalled)
            assert mbarrier is not None
            pointers.append(mbarrier)
            tail = f" mbarrier {mbarrier.name}"
        to, of, *_ = pointers
        kinds = ", ".join(pointer.type for pointer in pointers)
        yield f"scoped.bulk_copy {to.name}, {of.name} size {size}{tail} : {kinds}"

    def async_copy(self, each: PtxInstruction) -> Iterator[Operation]:
        """A copy of a few bytes."""
        to, of = self._copied(each)
        size = self._number(each, 2)
        yield f"scoped.async_copy {to.name}, {of.name} size {size} : {to.type}, {of.type}"

    def _copied(self, each: PtxInstruction) -> list[Value]:
        """The pointers of a copy: its destination, then its source."""
        accesses = each.statement.accesses[:2]
        pointers = [
            pointer for access in accesses if (pointer := self._pointer(each, access)) is not None
        ]
        if len(pointers) != 2:
            raise self._unlifted(each)
        return pointers

    def copies_arrive(self, each: PtxInstruction) -> Iterator[Operation]:
        """An arrival when the copies so far are done."""
        where = self._shared(each, OperandRole.MBARRIER)
        noinc = " noinc" if "noinc" in each.statement.opcode.modifiers else ""
        yield f"scoped.async_arrive{noinc} {where.name} : {where.type}"


_PLAIN: Mapping[str, str] = MappingProxyType(
    {
        "barrier cluster wait": "cluster_wait",
        "cp async commit_group": "async_commit_group",
        "cp async wait_group": "async_wait_group",
        "cp async wait_all": "async_wait_group",
        "cp async bulk commit_group": "bulk_commit_group",
        "cp async bulk wait_group": "bulk_wait_group",
    }
)
"""The operation of ``scoped`` for one of PTX that has the same operands."""

_BARRIERS = tuple(
    f"{name} {part}" for name in ("bar", "barrier") for part in ("sync", "red", "arrive")
)

_READERS: Mapping[str, Callable[[_Reader, PtxInstruction], Iterator[Operation]]] = MappingProxyType(
    {
        **dict.fromkeys(("fence", "membar"), _Reader.fence),
        **dict.fromkeys(_BARRIERS, _Reader.barrier),
        **dict.fromkeys(_PLAIN, _Reader.plain),
        **dict.fromkeys(ARRIVALS, _Reader.arrival),
        **dict.fromkeys(MBARRIER_WAITS, _Reader.query),
        **dict.fromkeys(("mbarrier init", "mbarrier inval"), _Reader.mbarrier_init),
        "bar warp sync": _Reader.warp_barrier,
        "barrier cluster arrive": _Reader.cluster_arrive,
        "mbarrier expect_tx": _Reader.expect_tx,
        "cp async": _Reader.async_copy,
        "cp async bulk": _Reader.bulk_copy,
        "cp async mbarrier arrive": _Reader.copies_arrive,
    }
)
"""The reader of each operation that is no access."""
