"""An AMD function as a kernel of verdicts: its accesses, waits, barriers and conditions.

A thread is a lane of a wave. Lanes of one wave execute an instruction together and the next one
after it, so that their own accesses are in the order of the text; those of other waves are ordered
by barriers once they are performed, which a counter says. Source: LLVM AMDGPUUsage, "Memory Model";
MI300 ISA 4.4.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import chain, count, product

from fencewright.checker.amd.accesses import Mode, Operation
from fencewright.checker.amd.guarantees import LiftedFunction
from fencewright.checker.verdicts.amd.halves import Halves
from fencewright.checker.verdicts.amd.lemmas import Handing
from fencewright.checker.verdicts.amd.values import KERNEL_ARGUMENTS, Executed, LaneRegisters
from fencewright.checker.verdicts.amd.words import SHARED_BASE
from fencewright.checker.verdicts.expressions import (
    Choice,
    choices,
    leaves,
    names_in,
    origins_of,
)
from fencewright.checker.verdicts.model import (
    Access,
    Agent,
    Assumption,
    Barrier,
    Group,
    Kernel,
    LinearForm,
    Literal,
    Obstacle,
    Place,
    Region,
    Root,
    SyncGroup,
)
from fencewright.lowering.cdna.access_names import AccessName, Path, access_name, path_of
from fencewright.lowering.cdna.chips import Counter
from fencewright.lowering.cdna.code.flow import Step
from fencewright.lowering.cdna.code.operands.operands import fault_of, is_on_barrier
from fencewright.lowering.cdna.counters.scoreboard import CounterEventKind
from fencewright.lowering.code.effects import Kind
from fencewright.lowering.code.value import Iteration, Param, Result, Value
from fencewright.lowering.vocabulary import AddressSpace, RmwKind, Scope

NO_DESCRIPTOR = "no kernel descriptor says what its registers begin with"
"""The obstacle of code by hand: nothing is known of an address, but all of the order."""
_LDS = "the LDS"
_POINTER_BITS = 64
_PC = "the code's address"
_SYMBOL = "symbol "
_UPDATES: Mapping[RmwKind, str] = {RmwKind.ADD: "add", RmwKind.XCHG: "exch"}
_OWN = (AddressSpace.PRIVATE,)
_OBSTACLES = frozenset({Kind.OPAQUE, Kind.CALL, Kind.SIGNAL, Kind.END})
"""The kinds of all that may be one, besides parts of barriers."""
_SPLIT_SIGNAL, _SPLIT_WAIT, _WHOLE = "s_barrier_signal", "s_barrier_wait", "s_barrier"
_COPIES = str(Counter.VMCNT)
"""The counter of loads to LDS, which come in the order of their issue. Source: MI300 ISA 9.1.9."""
_UNORDERED = CounterEventKind.SCALAR | CounterEventKind.FLAT


def kernel_of(lifted: LiftedFunction) -> Kernel:
    """The kernel that a function is."""
    return _Filler(lifted).kernel()


class _Filler:
    def __init__(self, lifted: LiftedFunction):
        self.lifted = lifted
        self.code = lifted.code
        self.mode: Mode = lifted.mode
        self.flow = self.code.flow
        self.function = self.flow.function
        self.registers = registers = LaneRegisters.of(self.flow)
        self.expressions = registers.expressions
        self.accesses_made = count()
        self.open: set[int] = set()
        self.places: dict[tuple[Value | None, AddressSpace | None, int], Place] = {}
        self.lds = Root(
            Region.SHARED, _LDS, self.function.descriptor.get("group_segment_fixed_size") or None
        )
        self.by_value = frozenset(
            each.name for each in self.function.arguments if each.kind == "by_value"
        )
        self.reached = [block for block in registers.graph.nodes if block in registers.dominators]
        self.operations: Mapping[int, Operation] = dict(self._operations())
        active = {each.active for each in registers.executed.values()}
        literals = {each: self._literals(each) for each in active}
        self.guards = {
            number: own
            for number, each in registers.executed.items()
            if (own := literals[each.active])
        }
        """The conditions of accesses: that the thread's bit of EXEC is set."""

    def _operations(self) -> Iterator[tuple[int, Operation]]:
        """The operations by the numbers of their instructions; joins that are made two have some
        twice."""
        of_step = {id(each.step): each for each in self.code.operations}
        for block in self.reached:
            for number in self.registers.numbers[block]:
                operation = of_step.get(id(self.registers.steps[number]))
                if operation is not None:
                    yield number, operation

    def kernel(self) -> Kernel:
        registers = self.registers
        reached = self.reached
        numbers = [number for block in reached for number in registers.numbers[block]]
        accesses = self._with_strength(
            tuple(
                access
                for number in numbers
                if number in registers.executed
                for access in self._accesses(number, registers.executed[number])
            )
        )
        handing = Handing(self.lifted, self.operations)
        barriers = tuple(self._barriers(numbers))
        return Kernel(
            name=self.function.name,
            table=registers.table,
            graph=registers.graph,
            entry=0,
            dominators=registers.dominators,
            loops=registers.loops,
            instructions={block: registers.numbers[block] for block in reached},
            lines={number: registers.steps[number].instruction.line for number in numbers},
            accesses=accesses,
            fences=(),
            barriers=barriers,
            mbarriers=(),
            groups=tuple(self._groups(numbers)),
            exits=frozenset(n for n in numbers if registers.steps[n].effects.kind is Kind.END),
            block_conditions=registers.conditions,
            guards=self.guards,
            sync_groups=self._sync_groups(accesses),
            edge_literals={
                edge: own
                for edge, value in registers.edge_literals.items()
                if (own := tuple(self.expressions.literals(value, True, edge[0])))
            },
            origins=registers.origins,
            undecided=tuple(registers.numbers[block][-1] for block in sorted(registers.undecided)),
            required=None,
            specials=self._specials(accesses),
            obstacles=tuple(sorted(self._obstacles(numbers), key=lambda each: each.line)),
            lanes=registers.lanes,
            is_lock_step=True,
            most_threads=registers.threads,
            ordered_queues=frozenset({_COPIES}),
            handing=handing,
            meeting=handing.met_at_barrier,
            halves=Halves(handing),
            assumes=frozenset({Assumption.NO_CLUSTERS} if registers.reads_cluster_slot else ()),
        )

    # Conditions

    def _literals(self, active: Value) -> tuple[Literal, ...]:
        if active is self.registers.booleans.true:
            return ()
        return tuple(self.expressions.literals(active, True, -1))

    def _conditions(self, number: int, choice: Choice | None) -> tuple[Literal, ...]:
        own = self.registers.conditions[self.registers.block_of[number]]
        guard, chosen = self.guards.get(number, ()), choice.literals if choice else ()
        return (*own, *guard, *chosen) if guard or chosen else own

    def _specials(self, accesses: Sequence[Access]) -> frozenset[str]:
        """The indices and sizes that places, values and conditions depend on."""
        values = dict.fromkeys(self.registers.edge_literals.values())
        conditions = {id(each.conditions): each.conditions for each in accesses}
        places = {id(each.place): each.place.offset for each in accesses}
        literals = chain.from_iterable(conditions.values())
        terms = chain.from_iterable(form.terms for form in places.values() if form is not None)
        values |= dict.fromkeys(literal.value for literal in literals)
        values |= dict.fromkeys(each.value for each in accesses if each.value is not None)
        values |= dict.fromkeys(value for value, _ in terms)
        return names_in(values, self.registers.packed.__contains__)

    # Accesses

    def _accesses(self, number: int, executed: Executed) -> Iterator[Access]:
        step = executed.step
        effects = step.effects
        if effects.space in _OWN:
            return
        is_scalar = effects.space is AddressSpace.CONSTANT
        if number not in self.operations and not is_scalar:
            return  # Private memory.
        address = executed.address
        if is_scalar and self._is_argument(address):
            return
        name = access_name(step.instruction.mnemonic)
        offsets = (0,) if name is None else _offsets(step, name)
        for choice, (part, offset) in product(self._choices(number, executed), enumerate(offsets)):
            access = self._access(number, executed, name, choice, offset, part)
            yield access
            if effects.kind is Kind.COPY:
                yield self._in_lds(access, executed)

    def _choices(self, number: int, executed: Executed) -> Sequence[Choice | None]:
        """The objects that a weak access may be of, and the addresses in them; None: of no address
        that is known."""
        effects, address = executed.step.effects, executed.address
        if address is None:
            return (None,)
        whole = Choice(address)
        operation = self.operations.get(number)
        is_strong = operation is not None and operation.has_scope_bits
        if is_strong or address.bits < _POINTER_BITS or effects.kind not in (Kind.LOAD, Kind.STORE):
            return (whole,)
        found = [*choices(self.expressions, address, lambda form: bool(self._pointer(form)))]
        if len(found) == 1:
            return found
        roots = {self._place(each.address, effects.space, 0).root for each in found}
        # Lanes of one store may choose otherwise, and write one place of one object.
        return found if effects.kind is Kind.LOAD or len(roots) == len(found) else (whole,)

    def _is_argument(self, address: Value | None) -> bool:
        if address is None:
            return False
        return any(
            isinstance(value, Param) and value.name == KERNEL_ARGUMENTS
            for value, _ in self.expressions.linear(address).terms
        )

    def _access(
        self,
        number: int,
        executed: Executed,
        name: AccessName | None,
        choice: Choice | None,
        offset: int,
        part: int,
    ) -> Access:
        step = executed.step
        effects = step.effects
        operation = self.operations.get(number)
        size = None if name is None else name.bits // 8
        space = effects.space
        place = self._place(None if choice is None else choice.address, space, offset)
        obstacle = ""
        if size is None:
            obstacle = "an access of unknown size"
        elif place.offset is None:
            obstacle = "an address that is not known"
        is_update = effects.kind is Kind.RMW
        value, compared = self._values(executed, name, part)
        result = self._returned(step, executed, size, part)
        scope = operation.scope if operation is not None else Scope.WAVEFRONT
        in_lds = place.root.region is Region.SHARED
        is_strong = is_update or (operation is not None and not in_lds and operation.has_scope_bits)
        update = ""
        if is_update:
            compares = name is not None and name.compares
            rmw = None if name is None else name.rmw
            update = "cas" if compares else _UPDATES.get(rmw, "update") if rmw else "update"
        conditions = self._conditions(number, choice)
        if is_strong and executed.is_alike:  # The first lane does for all what each would do.
            of = {self.registers.first_of(each) for each in conditions}
            conditions = tuple(x for x in conditions if self.registers.first_of(x) is None)
            share = self.registers.share_of(value) if value and update == "add" else None
            if share is not None and share[1] in of:
                value = self.expressions.constant(share[0], 8 * (size or 0))
        return Access(
            number=next(self.accesses_made),
            instruction=number,
            line=step.instruction.line,
            text=step.instruction.text,
            place=place,
            size=size,
            reads=effects.accesses[0].reads,
            writes=effects.accesses[0].writes,
            conditions=conditions,
            is_strong=is_strong,
            scope=scope if is_strong else None,
            value=value,
            result=result,
            update=update,
            compared=compared,
            obstacle=obstacle,
            queue=self._queue(step, in_lds=in_lds),
        )

    def _queue(self, step: Step, *, in_lds: bool) -> str:
        """The counter of an access that is not done for others of its work-group when issued."""
        if not in_lds and self.mode.keeps_order and step.effects.space is not AddressSpace.CONSTANT:
            return ""
        events = step.effects.events  # Of an access in LDS by any address the last counts there.
        return str(events[-1 if in_lds else 0].counter) if events else ""

    def _in_lds(self, load: Access, executed: Executed) -> Access:
        """The write of LDS that a load without registers makes, from m0 on, a lane after the
        other."""
        registers, e = self.registers, self.expressions
        place = Place(self.lds, None)
        if executed.m0 is not None and load.size is not None:
            lane = e.apply("mul", (registers.lane(), e.constant(load.size, 32)), 32)
            first = registers.words.apply("and", executed.m0, e.constant(0xFFFF, 32))
            constant = e.constant(_offset(executed.step, "offset"), 32)
            total = e.apply("add", (e.apply("add", (first, lane), 32), constant), 32)
            place = Place(self.lds, e.linear(e.resized(total, 64, signed=True)))
        events = executed.step.effects.events
        return replace(
            load,
            number=next(self.accesses_made),
            place=place,
            reads=False,
            writes=True,
            is_strong=False,
            scope=None,
            agent=Agent.COPY,
            value=None,
            result=None,
            obstacle="" if place.offset is not None else "an address that is not known",
            queue=str(events[0].counter) if events else "",
        )

    def _values(
        self, executed: Executed, name: AccessName | None, part: int
    ) -> tuple[Value | None, Value | None]:
        """The values that an access writes, and that it compares with."""
        step, words = executed.step, self.registers.words
        if name is None or step.effects.kind not in (Kind.STORE, Kind.RMW):
            return None, None
        data = [n for n, _ in enumerate(step.instruction.operands) if self._is_data(step, n)]
        if not data:
            return None, None
        values = [executed.operands[n] for n in data]
        if name.compares:
            both = values[0]
            if len(values) == 2:
                new, old = (1, 0) if name.compares_first else (0, 1)
                return values[new], values[old]
            if both is None or both.bits != 2 * name.bits or name.bits != 32:
                return None, None
            return words.low(both), words.high(both)
        value = values[min(part, len(values) - 1)]
        if value is None or value.bits < name.bits:
            return None, None
        return self.expressions.resized(value, name.bits), None

    def _is_data(self, step: Step, place: int) -> bool:
        """True of an operand that an access writes or compares with."""
        operands = step.instruction.operands
        first = int(bool(step.effects.defines) and step.effects.kind is Kind.RMW)
        path = path_of(step.instruction.mnemonic)
        if path is Path.BUFFER:
            return place == 0
        if path is Path.LDS:
            return place > first
        last = len(operands) - int(path is Path.GLOBAL)
        return first < place < last

    def _returned(
        self, step: Step, executed: Executed, size: int | None, part: int
    ) -> Value | None:
        """The value that an access returns, of one or two whole words."""
        names = [name for name in step.effects.defines if name in executed.loaded]
        if size == 4 and len(names) > part:
            return executed.loaded[names[part]]
        if size == 8 and len(names) > 2 * part + 1:
            low, high = names[2 * part : 2 * part + 2]
            return self.registers.words.pair(executed.loaded[low], executed.loaded[high])
        return None

    def _place(self, address: Value | None, space: AddressSpace | None, offset: int) -> Place:
        key = address, space, offset
        place = self.places.get(key)
        if place is None:
            place = self._place_of(address, space, offset)
            if not self.open:  # What is open is not known for as long.
                self.places[key] = place
        return place

    def _place_of(self, address: Value | None, space: AddressSpace | None, offset: int) -> Place:
        if space is AddressSpace.LOCAL:
            if address is None:
                return Place(self.lds, None)
            form = self.expressions.linear(self.expressions.resized(address, 64, signed=True))
            return Place(self.lds, replace(form, constant=form.constant + offset))
        name = "" if space is AddressSpace.GENERIC else "global"
        if address is None:
            return Place(Root(Region.UNKNOWN, name), None)
        form = self.expressions.linear(address)
        found = self._pointer(form)
        if found is None:
            return Place(Root(Region.UNKNOWN, name), None)
        pointer, root = found
        rest = tuple(
            (part, times)
            for part, times in form.terms
            if part is not pointer and not (isinstance(part, Param) and part.name == _PC)
        )
        return Place(root, LinearForm(form.constant + offset, rest))

    def _pointer(self, form: LinearForm) -> tuple[Value, Root] | None:
        """The one value of an address that it begins with, and the object that it points to."""
        once = [
            value
            for value, times in form.terms
            if times == 1 and isinstance(value, Param | Result) and value.bits == _POINTER_BITS
        ]
        symbols = [each for each in once if isinstance(each, Param) and _is_symbol(each)]
        if symbols:
            if len(symbols) > 1:
                return None
            return symbols[0], Root(Region.GLOBAL, str(symbols[0].name).removeprefix(_SYMBOL))
        if len(once) == 1 and isinstance(once[0], Param) and once[0].name == SHARED_BASE:
            return once[0], self.lds
        pointers = [
            each for each in once if not isinstance(each, Param) or each.name not in self.by_value
        ]
        if len(pointers) != 1:
            return None
        (pointer,) = pointers
        if isinstance(pointer, Param):
            return pointer, Root(Region.PARAMETER, pointer.name)
        assert isinstance(pointer, Result)
        return pointer, self._loaded(pointer)

    def _loaded(self, pointer: Result) -> Root:
        """The object that a pointer from memory points to: of one place, one object."""
        unknown = Root(Region.UNKNOWN, "global")
        executed = self.registers.executed.get(pointer.instruction)
        if executed is None or pointer.instruction in self.open:
            return unknown
        self.open.add(pointer.instruction)
        address = executed.address
        place = self._place(address, executed.step.effects.space, 0)
        self.open.discard(pointer.instruction)
        if place.offset is None or place.offset.terms:
            return unknown
        low = pointer.register.partition(":")[0]
        names = executed.step.effects.defines
        at = place.offset.constant + 4 * (names.index(low) if low in names else 0)
        return Root(Region.POINTER, f"[{place.root.name}+{at}]")

    def _with_strength(self, accesses: tuple[Access, ...]) -> tuple[Access, ...]:
        """Accesses of which those are strong, too, that a poll or an atomic makes flags.

        Stores of some chips carry no scope, and LDS has none: there a store or load is one to a
        flag if it is of the very place of an access that polls, or that is strong and decides a
        way; and a store is one right after a wait that only stores need, or in an array that polls
        read: there its instruction is that of an atomic store.
        """
        notified = 0 if self.mode.chip.scope_bits else self.lifted.after_waits
        polled = {each.number for each in accesses if self._polls(each, accesses)}
        returns = any(each.is_strong and each.result is not None for each in accesses)
        if not (polled or returns or notified):
            return accesses
        decisive = self._decisive(accesses) if returns else frozenset[Value]()
        flags = {
            _shape(each)
            for each in accesses
            if each.reads and each.place.offset is not None
            if each.number in polled
            or (
                each.is_strong
                and each.result is not None
                and not decisive.isdisjoint(leaves((each.result,)))
            )
        }
        arrays = {_array(each) for each in accesses if each.number in polled}
        found: list[Access] = []
        for each in accesses:
            in_lds = each.place.root.region is Region.SHARED
            is_open = in_lds or (each.writes and not self.mode.chip.scope_bits)
            scope = Scope.WORKGROUP if in_lds else Scope.SYSTEM
            if each.number in polled and not in_lds:
                scope = self.operations[each.instruction].scope
            is_flag = each.number in polled or (is_open and _shape(each) in flags)
            is_flag = is_flag or (is_open and not in_lds and _array(each) in arrays)
            if not in_lds and each.writes and each.agent is Agent.THREAD:
                is_flag = is_flag or self._is_of(each, notified)
            if not each.is_strong and is_flag:
                each = replace(each, is_strong=True, scope=scope)
            found.append(each)
        return tuple(found)

    def _decisive(self, accesses: Sequence[Access]) -> Set[Value]:
        """The leaves of all values that decide a way or a lane, also by way of loops."""
        values = [*self.registers.edge_literals.values()]
        values += [literal.value for each in accesses for literal in each.conditions]
        return origins_of(values, self.registers.origins)

    def _is_of(self, access: Access, operations: int) -> bool:
        operation = self.operations.get(access.instruction)
        return operation is not None and bool(operation.bit & operations)

    def _polls(self, access: Access, accesses: Sequence[Access]) -> bool:
        """True of a load in a loop without writes, whose result decides when to leave."""
        registers = self.registers
        if access.writes or access.result is None or access.place.offset is None:
            return False
        if access.instruction not in self.operations:
            return False
        block_of = registers.block_of
        loops = registers.around.get(block_of[access.instruction])
        if not loops:
            return False
        loop = min(loops, key=lambda each: len(each.blocks))
        if any(each.writes and block_of[each.instruction] in loop.blocks for each in accesses):
            return False
        own = leaves([value for value, _ in access.place.offset.terms])
        if any(isinstance(leaf, Iteration) and leaf.head == loop.head for leaf in own):
            return False
        result = access.result
        results = leaves((result,))
        return any(
            not results.isdisjoint(leaves((value,)))
            for (start, end), value in registers.edge_literals.items()
            if start in loop.blocks and end not in loop.blocks
        )

    # Instructions that order

    def _barriers(self, numbers: Sequence[int]) -> Iterator[Barrier]:
        """The barriers of all waves of a work-group; of one in two parts, the signal: what is
        waited for after it may not be done when others go on."""
        names = {_SPLIT_SIGNAL, _WHOLE} & self.function.mnemonics
        for number in numbers if names else ():
            mnemonic = self.registers.steps[number].instruction.mnemonic
            if mnemonic not in names:
                continue
            is_split = mnemonic == _SPLIT_SIGNAL and self._is_joined(number)
            if mnemonic == _WHOLE or is_split:
                conditions = self.registers.conditions[self.registers.block_of[number]]
                ends = tuple(self._next_met(number, forward=True)) if is_split else ()
                yield Barrier(number, Scope.WORKGROUP, conditions, ends=ends)

    def _is_joined(self, part: int) -> bool:
        """True of one part of a work-group's barrier that the other part is next to on every way,
        with nothing between that other waves may meet."""
        steps = self.registers.steps
        signals = steps[part].instruction.mnemonic == _SPLIT_SIGNAL
        others = (steps[each] for each in self._next_met(part, forward=signals))
        of_other = _SPLIT_WAIT if signals else _SPLIT_SIGNAL
        is_other = all(x.instruction.mnemonic == of_other and _is_of_all(x) for x in others)
        return is_other and _is_of_all(steps[part])

    def _next_met(self, number: int, *, forward: bool) -> Iterator[int]:
        """The first instructions on the ways from one, or to it, that other waves may meet; where
        a way has none, the entry."""
        registers = self.registers
        step = 1 if forward else -1
        graph = registers.graph if forward else registers.graph.backward
        block = registers.block_of[number]
        own = registers.numbers[block][::step]
        work, seen = [(block, own[own.index(number) + 1 :])], set[int]()
        while work:
            block, own = work.pop()
            first = next((each for each in own if self._is_met(each)), None)
            if first is not None or (block == 0 and not forward):
                yield 0 if first is None else first
                continue
            after = [each for each in graph.successors[block] if each not in seen]
            seen.update(after)
            work += ((each, registers.numbers[each][::step]) for each in after)

    def _is_met(self, number: int) -> bool:
        """True of a barrier's instruction, the end, the maintenance of a cache, and of an access
        but for one of the arguments."""
        step = self.registers.steps[number]
        if is_on_barrier(step.instruction.mnemonic) or step.effects.kind in (Kind.CACHE, Kind.END):
            return True
        executed = self.registers.executed.get(number)
        is_scalar = step.effects.space is AddressSpace.CONSTANT
        is_argument = executed is not None and is_scalar and self._is_argument(executed.address)
        return bool(step.effects.accesses) and not is_argument

    def _groups(self, numbers: Sequence[int]) -> Iterator[Group]:
        """The groups of accesses that counters count in order, and the waits for them."""
        steps = self.registers.steps
        for number in numbers:
            for event in steps[number].effects.events:
                if event.certain and not event.kind & _UNORDERED:
                    guard = self.guards.get(number, ())
                    yield Group(number, Agent.COPY, guard, queue=str(event.counter))
        waits = self.lifted.waits
        for number in numbers if waits else ():
            if steps[number].effects.kind is Kind.WAIT:
                for queue, least in waits.get(id(steps[number]), {}).items():
                    yield Group(number, Agent.COPY, (), pending=least, queue=queue)

    def _sync_groups(self, accesses: tuple[Access, ...]) -> tuple[SyncGroup, ...]:
        """The blocks into which every edge tests the value that a strong access has returned."""
        strong = {access.instruction for access in accesses if access.reads and access.is_strong}
        if not strong:
            return ()

        def read(part: Value) -> int | None:
            if isinstance(part, Result) and part.instruction in strong:
                return part.instruction
            return None

        return self.registers.sync_groups(read)

    # Obstacles

    def _obstacles(self, numbers: Sequence[int]) -> Iterator[Obstacle]:
        steps, mnemonics = self.registers.steps, self.function.mnemonics
        first = steps[numbers[0]].instruction.line if numbers else 1
        if self.flow.is_called:
            yield Obstacle("a function that kernels call is judged in them", first)
        elif not self.function.descriptor:
            yield Obstacle(NO_DESCRIPTOR, first)
        if self.registers.is_irreducible or self.registers.graph.predecessors[0]:
            yield Obstacle("a loop with several entries", first)
        yield from self.registers.obstacles()
        parts = {each for each in mnemonics if is_on_barrier(each)} - {_WHOLE}
        for number in numbers:
            step = steps[number]
            effects, instruction = step.effects, step.instruction
            if effects.kind not in _OBSTACLES and instruction.mnemonic not in parts:
                continue
            if effects.kind is Kind.OPAQUE:
                problem = fault_of(instruction, self.flow.chip.generation)
                yield Obstacle(problem or f"'{instruction.mnemonic}'", instruction.line)
            elif effects.kind is Kind.CALL or effects.is_subroutine:
                yield Obstacle("a call", instruction.line)
            elif is_on_barrier(instruction.mnemonic) and not self._is_followed(number, step):
                yield Obstacle(f"'{instruction.text}' is not followed", instruction.line)
            elif effects.kind is Kind.SIGNAL and path_of(instruction.mnemonic) is Path.LDS:
                yield Obstacle(f"'{instruction.mnemonic}' is not followed", instruction.line)
            elif step.is_way_out:
                yield Obstacle(f"'{instruction.text}' is not followed", instruction.line)

    def _is_followed(self, number: int, step: Step) -> bool:
        mnemonic = step.instruction.mnemonic
        is_part = mnemonic in (_SPLIT_SIGNAL, _SPLIT_WAIT)
        return mnemonic == _WHOLE or (is_part and self._is_joined(number))


def _shape(access: Access) -> object:
    """The place of an access without its constant offset: one of flags beside each other."""
    offset = access.place.offset
    return access.place.root, None if offset is None else offset.terms, access.size


def _array(access: Access) -> object:
    return access.place.root, access.size


def _is_symbol(value: Param) -> bool:
    return value.name.startswith(_SYMBOL)


def _offset(step: Step, name: str) -> int:
    for word in step.instruction.modifiers:
        if word.startswith(f"{name}:"):
            return int(word.partition(":")[2], 0)
    return 0


def _is_of_all(step: Step) -> bool:
    """True of an instruction on the barrier of all waves of a work-group."""
    return tuple(map(str, step.instruction.operands)) == ("-1",)


def _offsets(step: Step, name: AccessName) -> tuple[int, ...]:
    """The offsets of the parts of an access besides its constant one: two of ``ds_read2``."""
    if not name.stride:
        return (0,)
    unit = name.stride * name.bits // 8
    return tuple(_offset(step, f"offset{n}") * unit for n in range(2))
