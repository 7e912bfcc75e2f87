"""A function of PTX as MLIR on ``scoped``: its synchronisation, for another target to lower.

Accesses, fences, barriers and control flow are those of the code, with the orderings and scopes
that it says; all that is computed is symbolic. An address is an argument, the same one where it
is computed from the same variable, parameter or register by the same constants; so is what is
stored, and what a branch depends on beside what its block has loaded. What is called stands in the
place of its call. Proxy fences are left out:
``insert-proxy-fences`` writes those that are owed. A lifted function is for comparing and
lowering, and not for running.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from fencewright.checker.lifting.nvidia_calls import inlined
from fencewright.checker.lifting.text import TYPE_OF_SIZE, Arguments, UnliftableError
from fencewright.lowering.code.effects import Access, Proxy
from fencewright.lowering.ptx.code.addresses import Places
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
"""What ``insert-proxy-fences`` writes."""

_ENDS = ("ret", "exit", "trap")


def ptx_to_scoped(module: PtxFile, function: PtxFunction) -> str:
    """The function as one ``func.func``; raises ``UnliftableError`` for what cannot be said."""
    if not function.is_entry:
        raise UnliftableError(0, "it is called, and what its caller did is not known")
    return _Writer(module, inlined(module, function)).text()


class _Writer:
    def __init__(self, module: PtxFile, function: PtxFunction):
        self.function = function
        self.places = Places(module, function)
        self.arguments = Arguments()
        self.sources = _reaching(function, self.places)
        self.labels = _labels(function)
        self.blocks = _reachable(function)
        self.cyclic = _in_cycles(function)
        self.threads = function.threads
        self.constants = {"%zero": "  %zero = arith.constant 0 : i32"}
        # Of the block that is being written, the registers that hold what it has loaded.
        self.loaded: dict[str, tuple[str, str]] = {}

    def text(self) -> str:
        """The function."""
        function = self.function
        body = [line for block in self.blocks for line in self._block(block)]
        said = ["gpu.kernel"]
        if self.threads is not None:
            sizes = ", ".join(map(str, self.threads))
            said.append(f"gpu.known_block_size = array<i32: {sizes}>")
        head = self.arguments.head(function.name, f"attributes {{{', '.join(said)}}} ")
        # Nothing may branch to the first block of a function.
        return "\n".join([head, *self.constants.values(), "  cf.br ^b0", *body, "}"])

    # Control flow

    def _block(self, block: PtxBlock) -> Iterator[str]:
        self.loaded = {}
        yield f"^b{block.number}:"
        for each in block.instructions:
            statement = each.statement
            if statement.kind in CONTROL:
                yield from self._end(block, each)
                return
            lines = list(self._instruction(each))
            if not statement.guard or not lines:
                yield from lines
                if not statement.guard:
                    self._forget(statement)
                    self._remember(each)
                continue
            taken, after = (
                f"^b{block.number}_{word}{self.labels[each.number]}" for word in ("if", "then")
            )
            yield from self._branch(block, each, taken, after)
            yield f"{taken}:"
            yield from lines
            yield f"  cf.br {after}"
            yield f"{after}:"
            self._forget(statement)
        if not block.successors:
            line = block.instructions[-1].line if block.instructions else self.function.line
            raise UnliftableError(line, "where the code goes on is not known")
        yield f"  cf.br ^b{block.successors[0]}"

    def _end(self, block: PtxBlock, end: PtxInstruction) -> Iterator[str]:
        """What a block ends with: a return, a branch, or a choice of them."""
        statement, targets = end.statement, [f"^b{each}" for each in block.successors]
        if statement.operation in _ENDS:
            if not statement.guard:
                yield "  func.return"
                return
            taken = f"^b{block.number}_end"
            yield from self._branch(block, end, taken, targets[0])
            yield f"{taken}:"
            yield "  func.return"
            return
        if not targets:
            raise UnliftableError(end.line, "where the code goes on is not known")
        if len(targets) == 1:
            yield f"  cf.br {targets[0]}"
        elif len(targets) == 2 and statement.guard:
            yield from self._branch(block, end, targets[0], targets[1])
        else:
            yield from self._choice(block, end, targets)

    def _choice(
        self, block: PtxBlock, end: PtxInstruction, targets: Sequence[str]
    ) -> Iterator[str]:
        """A jump to one of several places, as a row of questions."""
        label = self.labels[end.number]
        for n, target in enumerate(targets[:-1]):
            last = n == len(targets) - 2
            other = targets[-1] if last else f"^b{block.number}_or{n}"
            asked = self.arguments.value(f"b{label}_{n}", "i32")
            yield f"  %t{label}_{n} = arith.cmpi ne, {asked}, %zero : i32"
            yield f"  cf.cond_br %t{label}_{n}, {target}, {other}"
            if not last:
                yield f"{other}:"

    def _branch(
        self, block: PtxBlock, each: PtxInstruction, taken: str, other: str
    ) -> Iterator[str]:
        """A branch to ``taken`` where the guard of an instruction holds."""
        guard = each.statement.guard
        register = guard.lstrip("!")
        targets = (other, taken) if guard.startswith("!") else (taken, other)
        name = self._query(register)
        if name is None:
            name = f"%t{self.labels[each.number]}"
            yield f"  {name} = {self._condition(block, each, register)}"
        yield f"  cf.cond_br {name}, {', '.join(targets)}"

    def _query(self, register: str) -> str | None:
        """The answer of an mbarrier, if that is what a predicate is."""
        name, kind = self.loaded.get(register, ("", ""))
        return name if kind == "i1" else None

    def _condition(self, block: PtxBlock, each: PtxInstruction, register: str) -> str:
        """What a predicate is: a comparison of what the block has loaded, or an argument."""
        label = self.labels[each.number]
        before = [e for e in block.instructions if e.number < each.number]
        made = next((e for e in reversed(before) if register in e.statement.defines), None)
        if made is not None and not made.statement.guard and register not in self.loaded:
            compared = self._comparison(made.statement, label)
            if compared is not None:
                return compared
            found = self._leads_to(before, made)
            if found is not None:
                name, kind = found
                return f"arith.cmpi ne, {name}, {self.arguments.value(f'b{label}', kind)} : {kind}"
        asked = self.arguments.value(self._question(register, label), "i32")
        return f"arith.cmpi ne, {asked}, %zero : i32"

    def _question(self, register: str, label: str) -> str:
        """The argument for a predicate: one for all branches by it if no loop computes it anew."""
        made = self.places.written.get(register)
        if made is None or self._block_of(made) in self.cyclic or made.statement.guard:
            return f"b{label}"
        return f"b{self.labels[made.number]}"

    def _block_of(self, instruction: PtxInstruction) -> int:
        return next(
            each.number for each in self.function.blocks if instruction in each.instructions
        )

    def _comparison(self, statement: Statement, label: str) -> str | None:
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
        if not predicate or not any(each is not None and each[1] == kind for each in sides):
            return None
        names: list[str] = []
        for n, (side, operand) in enumerate(zip(sides, statement.operands[1:], strict=True)):
            if side is not None and side[1] == kind:
                names.append(side[0])
            else:
                names.append(self._value(operand, f"c{label}_{n}", kind))
        return f"arith.cmpi {predicate}, {', '.join(names)} : {kind}"

    def _leads_to(
        self, before: Sequence[PtxInstruction], made: PtxInstruction
    ) -> tuple[str, str] | None:
        """The last integer loaded by a block that a value of it is computed from."""
        wanted = set(made.statement.uses)
        for each in reversed(before):
            statement = each.statement
            if each.number >= made.number or wanted.isdisjoint(statement.defines):
                continue
            for register in statement.defines:
                if register in wanted and (found := self.loaded.get(register)) is not None:
                    if found[1] in ("i32", "i64"):
                        return found
            if not statement.accesses:
                wanted.update(statement.uses)
        return None

    def _forget(self, statement: Statement) -> None:
        for register in statement.defines:
            self.loaded.pop(register, None)

    def _remember(self, each: PtxInstruction) -> None:
        """Which registers hold what an instruction has read."""
        statement, label = each.statement, self.labels[each.number]
        if statement.operation in MBARRIER_WAITS:
            for register in statement.defines[:1]:
                self.loaded[register] = (f"%v{label}", "i1")
        elif statement.operation in _READS and self._is_seen(statement):
            for name, register in zip(self._results(each), statement.defines, strict=False):
                self.loaded[register] = (name, f"i{statement.opcode.width}")
        elif statement.operation == "atom" and self.threads == (1, 1, 1):
            # Of more threads each has its own answer, and they would part.
            if len(statement.defines) == 1 and statement.opcode.type not in _FLOATS:
                self.loaded[statement.defines[0]] = (f"%v{label}", f"i{statement.opcode.width}")
        elif statement.operation == "mov" and len(statement.operands) == 2:
            if (found := self.loaded.get(statement.operands[1])) is not None:
                self.loaded[statement.operands[0]] = found

    def _is_seen(self, statement: Statement) -> bool:
        return self.places.of(statement.accesses[0]).space not in _UNSEEN

    def _results(self, each: PtxInstruction) -> tuple[str, ...]:
        """The names of what a load reads: none of its own for the elements of a weak vector."""
        opcode, label = each.statement.opcode, self.labels[each.number]
        if opcode.vector == 1:
            return (f"%v{label}",)
        if not each.statement.is_strong:
            return ()
        return tuple(f"%v{label}_{n}" for n in range(opcode.vector))

    # Instructions

    def _instruction(self, each: PtxInstruction) -> Iterator[str]:
        statement = each.statement
        if statement.kind in SILENT or statement.operation in _INSERTED:
            return
        if statement.kind in ACCESSES:
            yield from self._access(each)
            return
        write = _WRITERS.get(statement.operation)
        if write is None:
            raise self._unlifted(each)
        yield from write(self, each)

    def _unlifted(
        self, each: PtxInstruction, why: str = "'scoped' has no operation for it"
    ) -> UnliftableError:
        return UnliftableError(each.line, f"{each.statement.opcode.name}: {why}")

    def _access(self, each: PtxInstruction) -> Iterator[str]:
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

    def _line(self, each: PtxInstruction, kind: str, pointer: tuple[str, str], suffix: str) -> str:
        """One access."""
        statement = each.statement
        label = self.labels[each.number] + suffix
        where, space = pointer
        how = self._how(each)
        is_volatile = statement.opcode.volatile or statement.opcode.mmio
        tail = " {volatile}" if is_volatile else ""
        if statement.operation in ("ldmatrix", *_READS):
            tail = " {invariant}" if statement.operation == "ld nc" else tail
            return f"  %v{label} = scoped.load {how} {where}{tail} : {space} -> {kind}"
        data = [each for each in statement.operands if not each.startswith("[")]
        value = self._value(data[-1], f"x{label}", kind)
        if statement.operation in ("stmatrix", "st"):
            return f"  scoped.store {how} {value}, {where}{tail} : {kind}, {space}"
        types = f"{space}, {kind}"
        if statement.opcode.update == "cas":
            compared = self._value(data[-2], f"c{label}", kind)
            ordering = statement.ordering
            assert ordering is not None
            failure = Ordering.ACQUIRE if ordering.acquires else Ordering.RELAXED
            how = f"{ordering} {failure} {statement.scope}"
            values = f"{where}, {compared}, {value}"
            return f"  %v{label}, %ok{label} = scoped.cmpxchg {how} {values} : {types}"
        rmw = self._rmw(each)
        return f"  %v{label} = scoped.atomic_rmw {rmw} {how} {where}, {value} : {types}"

    def _value(self, operand: str, name: str, kind: str) -> str:
        """What an operand is: loaded by its block, a constant, or the argument ``name``."""
        found = self.loaded.get(operand)
        if found is not None and found[1] == kind:
            return found[0]
        value = self._constant(operand)
        if value is None or kind not in ("i32", "i64"):
            return self.arguments.value(name, kind)
        if kind == "i32" and value == 0:
            return "%zero"
        constant = f"%k{value}_{kind}".replace("-", "m")
        self.constants[constant] = f"  {constant} = arith.constant {value} : {kind}"
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

    def _how(self, each: PtxInstruction) -> str:
        """Ordering and scope."""
        ordering, scope = each.statement.ordering, each.statement.scope
        if ordering is None or ordering is Ordering.WEAK:
            return str(Ordering.WEAK)
        if scope is None:
            raise self._unlifted(each, "its scope is not said")
        return f"{ordering} {scope}"

    # Addresses

    def _pointer(
        self, each: PtxInstruction, access: Access, further: int = 0
    ) -> tuple[str, str] | None:
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

    def _shared(self, each: PtxInstruction, role: OperandRole) -> tuple[str, str]:
        """The argument for a place in shared memory, of this work-group or the cluster's."""
        address = each.statement.operand(role)
        spaces = each.statement.opcode.spaces
        is_peer = bool(spaces) and spaces[0] is AddressSpace.SHARED_CLUSTER
        space = AddressSpace.SHARED_CLUSTER if is_peer else AddressSpace.LOCAL
        found = self._pointer(each, Access(address, False, False, Proxy.GENERIC, space, None))
        assert found is not None
        return found

    # Synchronisation

    def fence(self, each: PtxInstruction) -> Iterator[str]:
        """A fence of everything."""
        if each.statement.opcode.modifiers:
            raise self._unlifted(each)
        yield f"  scoped.fence {self._how(each)}"

    def barrier(self, each: PtxInstruction) -> Iterator[str]:
        """A barrier of the work-group, or of some of its threads."""
        statement = each.statement
        numbers = [number(text) for text in statement.operands]
        if statement.operation.endswith("red"):
            if len(numbers) > 3:
                raise self._unlifted(each, "a reduction over some threads of the work-group")
            numbers = [0]
        if len(numbers) <= 1 or self._are_all(numbers[1]):
            yield f"  scoped.barrier {Scope.WORKGROUP}"
            return
        if numbers[0] is None or numbers[1] is None:
            raise self._unlifted(each, "which barrier, or of how many threads, is not known")
        part = statement.operation.split()[1]
        yield f"  scoped.named_barrier {part} {numbers[0]} threads {numbers[1]}"

    def _are_all(self, count: int | None) -> bool:
        """Whether a number of threads is that of the work-group."""
        if self.threads is None:
            return False
        x, y, z = self.threads
        return count == x * y * z

    def warp_barrier(self, each: PtxInstruction) -> Iterator[str]:
        """A barrier of a warp."""
        yield f"  scoped.barrier {Scope.WAVEFRONT}"

    def cluster_arrive(self, each: PtxInstruction) -> Iterator[str]:
        """An arrival at the cluster's barrier."""
        yield f"  scoped.cluster_arrive {each.statement.ordering}"

    def plain(self, each: PtxInstruction) -> Iterator[str]:
        """What has no operands, or one number."""
        statement = each.statement
        name = _PLAIN[statement.operation]
        numbers = [number(text) for text in statement.operands]
        if None in numbers or "read" in statement.opcode.modifiers:
            raise self._unlifted(each)
        if statement.operation.endswith("wait_all"):
            numbers = [0]
        yield f"  scoped.{' '.join([name, *map(str, numbers)])}"

    # mbarriers and copies

    def mbarrier_init(self, each: PtxInstruction) -> Iterator[str]:
        """An mbarrier that is made, or ended."""
        where, space = self._shared(each, OperandRole.MBARRIER)
        word = each.statement.operation.split()[1]
        count = f" count {self._number(each, 1)}" if word == "init" else ""
        yield f"  scoped.mbarrier_{word} {where}{count} : {space}"

    def expect_tx(self, each: PtxInstruction) -> Iterator[str]:
        """Bytes that a phase waits for."""
        where, space = self._shared(each, OperandRole.MBARRIER)
        size, scope = self._number(each, 1), each.statement.scope
        yield f"  scoped.mbarrier_expect_tx {scope} {where} bytes {size} : {space}"

    def _number(self, each: PtxInstruction, at: int) -> int:
        operands = each.statement.operands
        value = number(operands[at]) if at < len(operands) else None
        if value is None:
            raise self._unlifted(each, "a number that only the run knows")
        return value

    def arrival(self, each: PtxInstruction) -> Iterator[str]:
        """An arrival on an mbarrier."""
        statement = each.statement
        where, space = self._shared(each, OperandRole.MBARRIER)
        at = next(n for n, text in enumerate(statement.operands) if text.startswith("["))
        carried = ""
        if len(statement.operands) > at + 1:
            word = "expect_tx" if "expect_tx" in statement.operation else "count"
            carried = f" {word} {self._number(each, at + 1)}"
        token = bool(statement.defines)
        result = f"%v{self.labels[each.number]} = " if token else ""
        kind = " -> i64" if token else ""
        drop = " drop" if "drop" in statement.operation else ""
        how = self._how(each)
        yield f"  {result}scoped.mbarrier_arrive{drop} {how} {where}{carried} : {space}{kind}"

    def query(self, each: PtxInstruction) -> Iterator[str]:
        """A look at an mbarrier."""
        where, space = self._shared(each, OperandRole.MBARRIER)
        label = self.labels[each.number]
        kind = "i32" if "parity" in each.statement.opcode.modifiers else "i64"
        phase = self.arguments.value(f"x{label}", kind)
        word = each.statement.operation.split()[1]
        how = self._how(each)
        yield f"  %v{label} = scoped.mbarrier_{word} {how} {where}, {phase} : {space}, {kind}"

    def bulk_copy(self, each: PtxInstruction) -> Iterator[str]:
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
            signalled = Access(address, False, False, Proxy.GENERIC, space, None)
            found = self._pointer(each, signalled)
            assert found is not None
            pointers.append(found)
            tail = f" mbarrier {found[0]}"
        names, kinds = zip(*pointers, strict=True)
        yield f"  scoped.bulk_copy {names[0]}, {names[1]} size {size}{tail} : {', '.join(kinds)}"

    def async_copy(self, each: PtxInstruction) -> Iterator[str]:
        """A copy of a few bytes."""
        (to, to_space), (of, of_space) = self._copied(each)
        size = self._number(each, 2)
        yield f"  scoped.async_copy {to}, {of} size {size} : {to_space}, {of_space}"

    def _copied(self, each: PtxInstruction) -> list[tuple[str, str]]:
        """Where a copy goes, and where it comes from."""
        found = [self._pointer(each, access) for access in each.statement.accesses[:2]]
        pointers = [pointer for pointer in found if pointer is not None]
        if len(pointers) != 2:
            raise self._unlifted(each)
        return pointers

    def copies_arrive(self, each: PtxInstruction) -> Iterator[str]:
        """An arrival when the copies so far are done."""
        where, space = self._shared(each, OperandRole.MBARRIER)
        noinc = " noinc" if "noinc" in each.statement.opcode.modifiers else ""
        yield f"  scoped.async_arrive{noinc} {where} : {space}"


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

_WRITERS: Mapping[str, Callable[[_Writer, PtxInstruction], Iterator[str]]] = MappingProxyType(
    {
        **dict.fromkeys(("fence", "membar"), _Writer.fence),
        **dict.fromkeys(_BARRIERS, _Writer.barrier),
        **dict.fromkeys(_PLAIN, _Writer.plain),
        **dict.fromkeys(ARRIVALS, _Writer.arrival),
        **dict.fromkeys(MBARRIER_WAITS, _Writer.query),
        **dict.fromkeys(("mbarrier init", "mbarrier inval"), _Writer.mbarrier_init),
        "bar warp sync": _Writer.warp_barrier,
        "barrier cluster arrive": _Writer.cluster_arrive,
        "mbarrier expect_tx": _Writer.expect_tx,
        "cp async": _Writer.async_copy,
        "cp async bulk": _Writer.bulk_copy,
        "cp async mbarrier arrive": _Writer.copies_arrive,
    }
)
"""Who writes an operation that is no access."""


def _labels(function: PtxFunction) -> Mapping[int, str]:
    """What values of an instruction are called: its line, numbered where several share it."""
    lines = [each.line for each in function.instructions]
    seen: dict[int, int] = {}
    labels: dict[int, str] = {}
    for each in function.instructions:
        seen[each.line] = seen.get(each.line, 0) + 1
        several = lines.count(each.line) > 1
        labels[each.number] = f"{each.line}_{seen[each.line]}" if several else str(each.line)
    return labels


def _reachable(function: PtxFunction) -> list[PtxBlock]:
    seen, waiting = {0}, [0]
    while waiting:
        for following in function.blocks[waiting.pop()].successors:
            if following not in seen:
                seen.add(following)
                waiting.append(following)
    return [each for each in function.blocks if each.number in seen]


def _in_cycles(function: PtxFunction) -> frozenset[int]:
    """The blocks that can be run again."""
    found: set[int] = set()
    for block in function.blocks:
        seen, waiting = set[int](), list(block.successors)
        while waiting:
            each = waiting.pop()
            if each not in seen:
                seen.add(each)
                waiting += function.blocks[each].successors
        if block.number in seen:
            found.add(block.number)
    return frozenset(found)


_Sources = dict[str, frozenset[int]]


def _reaching(function: PtxFunction, places: Places) -> Mapping[int, _Sources]:
    """For each instruction that accesses memory, where registers written twice got their values."""
    several = {name for name, made in places.written.items() if made is None}
    if not several:
        return {each.number: {} for each in function.instructions}
    known: dict[int, _Sources] = {0: {}}
    work = [0]
    while work:
        block = function.blocks[work.pop()]
        now = dict(known[block.number])
        for each in block.instructions:
            _define(now, each, several)
        for following in block.successors:
            before = known.get(following)
            merged = now if before is None else _merged(before, now)
            if merged != before:
                known[following] = dict(merged)
                work.append(following)
    found: dict[int, _Sources] = {}
    for block, entry in known.items():
        now = dict(entry)
        for each in function.blocks[block].instructions:
            found[each.number] = dict(now)
            _define(now, each, several)
    return found


def _define(now: _Sources, each: PtxInstruction, several: set[str]) -> None:
    for register in each.statement.defines:
        if register in several:
            made = frozenset({each.number})
            # A guarded instruction may leave what was there.
            now[register] = made | now.get(register, _BEFORE) if each.statement.guard else made


_BEFORE: frozenset[int] = frozenset({-1})


def _merged(mine: _Sources, its: _Sources) -> _Sources:
    return {
        register: mine.get(register, _BEFORE) | its.get(register, _BEFORE)
        for register in {**mine, **its}
    }
