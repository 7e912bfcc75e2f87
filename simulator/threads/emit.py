"""The Python of one instruction: the places for the results of ``simulator.semantics``.

Source: PTX ISA, "Instruction Set".
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from fencewright.lowering.code.effects import Kind
from fencewright.lowering.ptx.code.statements import (
    Opcode,
    Statement,
    element_of,
    read_opcode,
)
from fencewright.lowering.vocabulary import AddressSpace, Ordering
from fencewright.simulator.semantics import mbarriers
from fencewright.simulator.semantics.formulas import (
    CARRY,
    WITHOUT_EFFECT,
    Formula,
    filled,
    formula_of,
    moving,
    update_of,
)
from fencewright.simulator.semantics.lanes import Fact, row_of
from fencewright.simulator.semantics.operands import (
    barrier_operands,
    copy_operands,
    elements,
    multicast_mask,
    offsets_of,
)
from fencewright.simulator.semantics.python import function, needs_values, written
from fencewright.simulator.semantics.tensors import ELEMENTS, OTHER_BOXES
from fencewright.simulator.semantics.term import Term, constant, operand
from fencewright.simulator.threads.matrices import shape_of, wmma_lines
from fencewright.simulator.threads.memory import LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW, SIZES
from fencewright.simulator.threads.operands import Operands, python_name, spelt
from fencewright.simulator.threads.unknown import NotExecuted

_SPACES: Mapping[AddressSpace, str] = {
    AddressSpace.GLOBAL: "g",
    AddressSpace.LOCAL: "s",
    AddressSpace.SHARED_CLUSTER: "s",
    AddressSpace.CONSTANT: "g",
    AddressSpace.PRIVATE: "l",
}
_WINDOWS = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW, "param": PARAM_WINDOW}


_NOTHING = WITHOUT_EFFECT | {"fence", "membar", "griddepcontrol", "createpolicy"}
"""Heads of instructions that change no value; fences go to the observer."""
_OF_REGISTERS = (Kind.COMPUTE, Kind.LANES)
"""Kinds of instructions that access no memory, executed or not."""
Lines = Iterator[str]


class Emitter:
    """The instructions of one function as lines of Python."""

    def __init__(self, operands: Operands, is_kernel: bool, updates: dict[str, Callable[..., int]]):
        self.operands, self.is_kernel, self.updates = operands, is_kernel, updates
        self.parameters: dict[str, str] = {}
        self.constants: dict[str, str] = {}

    def constant(self, text: str) -> str:
        """The name of a value that all threads of a launch have, made once for them."""
        return self.constants.setdefault(
            text, f"c_{python_name(self.operands.function.name)}_{len(self.constants)}"
        )

    def parameter(self, name: str) -> str:
        """The local variable of a parameter of calls."""
        self.parameters[name] = f"q_{python_name(name)}"
        return self.parameters[name]

    def emit(self, statement: Statement, site: int) -> Lines:
        """The lines of one instruction. Raises ``NotExecuted`` for what has no meaning here."""
        operation, opcode = statement.operation, statement.opcode
        if operation in _FIXED:
            yield from (line.format(site=site) for line in _FIXED[operation])
        elif operation in _OPERATIONS:
            yield from _OPERATIONS[operation](self, statement, site)
        elif opcode.known is None:
            yield from self._unknown(statement, site)
        elif opcode.head in _HEADS:
            yield from _HEADS[opcode.head](self, statement, site)
        elif opcode.row is not None and opcode.row.kind in (Kind.FENCE,):
            yield f"M.fence(T, {site})"
        elif opcode.head in _NOTHING:
            yield "pass"
        elif (lines := self._formula(statement)) is not None:
            yield from lines
        else:
            yield from self._unknown(statement, site)

    # Computing

    def _local(self, register: str) -> str:
        """The variable of a result."""
        if register in ("_", CARRY):
            return "carry" if register == CARRY else "_"
        if self.operands.function.type_of(register) is None:
            raise NotExecuted(f"'{register}' is no register")
        return self.operands.register(register)

    def _assign(self, register: str, value: str) -> str:
        return f"{self._local(register)} = {value}"

    def _loaded(self, register: str, value: str, opcode: Opcode) -> str:
        """A value that is loaded, in a register that may be wider."""
        width = self.operands.width(register)
        term = filled(opcode, operand(0, opcode.width), width) if width else operand(0, 64)
        return written([term], [value])[1][0]

    def _unknown(self, statement: Statement, site: int) -> Lines:
        if statement.kind not in _OF_REGISTERS:
            yield f"M.skip({site})"
        defined = [each for each in statement.defines if self.operands.function.type_of(each)]
        if statement.opcode.known is None and not defined:
            # Its operands are not known either: the first is the result of all that computes.
            first = elements(statement.operands[0]) if statement.operands else ()
            defined = [each for each in first if self.operands.function.type_of(each)]
            if not defined:
                yield f"raise NotExecuted({f'{statement.opcode.name} is not known'!r})"
                return
        for each in defined:
            yield self._assign(each, f"M.unknown({site})")
        if not defined and statement.kind in _OF_REGISTERS:
            yield "pass"

    def _formula(self, statement: Statement) -> list[str] | None:
        """The lines of an instruction that computes; None without a formula."""
        formula = formula_of(statement.opcode)
        if formula is None or len(statement.operands) != len(formula.types) + 1:
            return None
        to, *given = statement.operands
        return self._computed(statement.opcode, formula, elements(to), given)

    def _computed(
        self, opcode: Opcode, formula: Formula, targets: Sequence[str], given: Sequence[str]
    ) -> list[str]:
        texts = list(map(self.operands.value, given, formula.types))
        if formula.takes_carry:
            texts.append("carry")
        types = (*formula.types, "pred")[: len(texts)]
        terms = list(map(_operand, range(len(texts)), texts, types))
        results = formula.compute(terms, self.operands.width(targets[0]))
        if "cc" in opcode.modifiers:
            targets = (*targets, CARRY)
        results = results[: len(targets)]
        lines, values = written(results, texts)
        names = list(map(self._local, targets))
        # All at once: a result may be an operand too.
        lines.append(f"{', '.join(names)} = {', '.join(values)}")
        if not needs_values(results):
            return lines
        # A value that is not known is carried.
        carried = f"except UnknownUsed as used: {' = '.join(names)} = used.value"
        return ["try:", *(f" {line}" for line in lines), carried]

    def _mov(self, statement: Statement, site: int) -> Lines:
        opcode, (targets, given) = statement.opcode, map(elements, statement.operands)
        formula = moving(opcode, len(targets), len(given))
        yield from self._computed(opcode, formula, targets, given)

    def _cvta(self, statement: Statement, site: int) -> Lines:
        opcode, (to, source, *_) = statement.opcode, statement.operands
        value = self.operands.value(source, opcode.type)
        window = _WINDOWS.get(_space_named(opcode), 0) << 32
        if not window:
            yield self._assign(to, value)
        elif "to" in opcode.words:
            yield self._assign(to, f"{value} & 4294967295")
        else:
            yield self._assign(to, f"{value} | {window}")

    def _isspacep(self, statement: Statement, site: int) -> Lines:
        opcode, (to, source) = statement.opcode, statement.operands
        value = self.operands.value(source, "u64")
        space = _space_named(opcode)
        if space != "global":
            yield self._assign(to, f"{value} >> 32 == {_WINDOWS[space]}")
        elif "const" in opcode.words:
            yield self._assign(to, "False")
        else:
            yield self._assign(to, f"{value} >> 32 > {max(_WINDOWS.values())}")

    # Memory

    def _space(self, opcode: Opcode, at: int = 0) -> str:
        return _SPACES[opcode.spaces[at]] if len(opcode.spaces) > at else "g"

    def _parameter_place(self, address: str) -> tuple[str, str]:
        """The allocation of a parameter, and the offset in it."""
        inner = address.strip()[1:-1].strip()
        name, _, offset = (each.strip() for each in inner.partition("+"))
        place = self.operands.places.get(name, "")
        if self.is_kernel and name not in self.parameters:
            return "M.params", self.operands.sum(inner)
        at = self.operands.sum(offset) if offset else "0"
        if name in self.parameters:
            return self.parameters[name], at
        # Only what a function gives back has no declaration in it.
        return (place if place.startswith("A[") else "R[0]"), at

    def _load(self, statement: Statement, site: int) -> Lines:
        opcode = statement.opcode
        to, address = statement.operands[0], statement.operands[1]
        targets, size = elements(to), opcode.width // 8
        if size not in SIZES:
            yield from self._unknown(statement, site)
            return
        if opcode.of_parameters:
            memory, at = self._parameter_place(address)
            for number, each in enumerate(targets):
                value = f"{memory}.get({at} + {number * size}, {size})"
                if self.is_kernel and memory == "M.params" and not at.strip("0123456789 +()"):
                    value = self.constant(value)
                yield self._assign(each, self._loaded(each, value, opcode))
            return
        space = self._space(opcode)
        strong = statement.ordering not in (None, Ordering.WEAK) and space != "l"
        yield f"at = {self.operands.address(address)}"
        if strong:
            yield "yield"
        for number, each in enumerate(targets):
            at = f"at + {number * size}" if number else "at"
            if strong:
                value = f"M.strong_load(T, {at}, {size}, '{space}', {site})"
            else:
                value = f"ld{size}{space}(T, {at}, {site})"
            yield self._assign(each, self._loaded(each, value, opcode))

    def _store(self, statement: Statement, site: int) -> Lines:
        opcode = statement.opcode
        address, source = statement.operands[0], statement.operands[1]
        size = opcode.width // 8
        if size not in SIZES:
            raise NotExecuted(f"{opcode.name} is not executed")
        values = [self.operands.value(each, opcode.type) for each in elements(source)]
        if opcode.of_parameters:
            memory, at = self._parameter_place(address)
            for number, value in enumerate(values):
                yield f"{memory}.put({at} + {number * size}, {size}, {value})"
            return
        space = self._space(opcode)
        strong = statement.ordering not in (None, Ordering.WEAK) and space != "l"
        yield f"at = {self.operands.address(address)}"
        if strong:
            yield "yield"
        for number, value in enumerate(values):
            at = f"at + {number * size}" if number else "at"
            if strong:
                yield f"M.strong_store(T, {at}, {value}, {size}, '{space}', {site})"
            else:
                yield f"st{size}{space}(T, {at}, {value}, {site})"

    def _matrix_load(self, statement: Statement, site: int) -> Lines:
        """ldmatrix: each lane reads the row that it has the address of, and all get their parts."""
        opcode, (to, address) = statement.opcode, statement.operands
        targets = elements(to)
        if opcode.type != "b16" or len(targets) > 4:
            yield from self._unknown(statement, site)
            return
        space = self._space(opcode)
        kind = "ldmatrix trans" if "trans" in opcode.modifiers else "ldmatrix"
        yield f"at = {self.operands.address(address)}"
        words = ", ".join(f"ld4{space}(T, at + {4 * word}, {site})" for word in range(4))
        yield f"row = ({words}) if T.lane < {8 * len(targets)} else None"
        yield f"got = yield Meeting({kind!r}, 0xFFFFFFFF, row, {site})"
        yield from (self._assign(each, f"got[{at}]") for at, each in enumerate(targets))

    def _matrix_store(self, statement: Statement, site: int) -> Lines:
        """stmatrix: the parts of all lanes make the rows, which those with the addresses write."""
        opcode, (address, source) = statement.opcode, statement.operands
        given = [self.operands.value(each, "b32") for each in elements(source)]
        if opcode.type != "b16":
            raise NotExecuted(f"{opcode.name} is not executed")
        space = self._space(opcode)
        kind = "stmatrix trans" if "trans" in opcode.modifiers else "stmatrix"
        yield f"at = {self.operands.address(address)}"
        yield f"got = yield Meeting({kind!r}, 0xFFFFFFFF, ({', '.join(given)},), {site})"
        yield f"if T.lane < {8 * len(given)}:"
        yield from (f" st4{space}(T, at + {4 * word}, got[{word}], {site})" for word in range(4))

    def _matrix_move(self, statement: Statement, site: int) -> Lines:
        to, source = statement.operands
        value = self.operands.value(source, "b32")
        yield self._assign(to, f"(yield Meeting('movmatrix', 0xFFFFFFFF, {value}, {site}))")

    def _wmma(self, statement: Statement, site: int) -> Lines:
        """wmma.load and wmma.store: each element is one lane's, and its value is not known."""
        opcode, operands = statement.opcode, list(statement.operands)
        size, space = opcode.width // 8, self._space(opcode)
        if size not in SIZES:
            raise NotExecuted(f"{opcode.name} is not executed")
        lines, length = wmma_lines(opcode)
        address = next(each for each in operands if each.startswith("["))
        pitch = self.operands.value(operands[2], "u32") if len(operands) > 2 else str(length)
        yield f"at = {self.operands.address(address)}"
        yield (
            f"for place in share({lines}, {length}, ({pitch}) * {size}, {size}, "
            "T.lane + M.is_late):"
        )
        if opcode.kind is Kind.STORE:
            yield f" st{size}{space}(T, at + place, M.unknown({site}), {site})"
            return
        yield f" ld{size}{space}(T, at + place, {site})"
        for each in statement.defines:
            yield self._assign(each, f"M.unknown({site})")

    def _wgmma(self, statement: Statement, site: int) -> Lines:
        """wgmma.mma_async: the operands that descriptors name are read; results are not known."""
        opcode, (_, *given) = statement.opcode, statement.operands
        m, n, _ = shape_of(opcode)
        descriptors = [
            (each, extent)
            for each, extent in zip(given[:2], (m, n), strict=True)
            if self.operands.width(each) == 64
        ]
        if "sp" in opcode.words or not descriptors:
            yield from self._unknown(statement, site)
            return
        # Immediates at the end: of 16 bits one for each descriptor, after the signs of both.
        transposed = given[5 : 5 + len(descriptors)] or ["0"] * len(descriptors)
        for (each, extent), flag in zip(descriptors, transposed, strict=True):
            value = self.operands.value(each, "b64")
            yield f"M.operand(T, {value}, {extent}, {flag != '0'}, {site})"
        for each in statement.defines:
            yield self._assign(each, f"M.unknown({site})")

    def _wgmma_wait(self, statement: Statement, site: int) -> Lines:
        yield f"M.matrix_wait(T, {self.operands.value(statement.operands[0], 'u32')})"

    def _fill(self, statement: Statement, site: int) -> Lines:
        address = self.operands.address(statement.operands[0])
        size = self.operands.value(statement.operands[1], "u32")
        space = self._space(statement.opcode)
        yield f"M.fill(T, {address}, {size}, '{space}', {site})"

    def _update(self, statement: Statement, site: int) -> Lines:
        opcode, operands = statement.opcode, list(statement.operands)
        to = "_" if opcode.head == "red" else operands.pop(0)
        address, *given = operands
        count = 2 if opcode.update == "cas" else 1
        update, size, space = self._updated(opcode), opcode.width // 8, self._space(opcode)
        given = [
            [self.operands.value(each, opcode.type) for each in elements(one)]
            for one in given[:count]
        ]
        yield f"at = {self.operands.address(address)}"
        yield "yield"
        # Of a vector each element is an atomic of its own. Source: PTX ISA, atom: .vec.
        targets = elements(to) if opcode.vector > 1 and to != "_" else (to,) * opcode.vector
        for number, (target, *values) in enumerate(zip(targets, *given, strict=True)):
            place = f"at + {number * size}" if number else "at"
            call = f"M.atomic(T, {place}, {size}, '{space}', {site}, {update}, {', '.join(values)})"
            yield self._assign(target, call)

    def _updated(self, opcode: Opcode) -> str:
        """The new value of an element of a read-modify-write, as a function."""
        count = 3 if opcode.update == "cas" else 2
        if (update := update_of(opcode)) is None:
            raise NotExecuted(f"{opcode.name} is not executed")
        if opcode.name not in self.updates:
            terms = [operand(at, opcode.width) for at in range(count)]
            self.updates[opcode.name] = function(update(terms), count)
        return f"UPDATES[{opcode.name!r}]"

    # Instructions that wait

    def _barrier(self, statement: Statement, site: int) -> Lines:
        given = barrier_operands(statement.opcode, statement.operands)
        value = self.operands.value(given.predicate, "pred") if given.predicate else "None"
        number = self.operands.value(given.barrier, "u32")
        count = self.operands.value(given.threads, "u32") if given.threads else "None"
        waits = "arrive" not in statement.opcode.words
        wait = f"BarrierWait({number}, {count}, {site}, {waits}, {given.fold!r}, {value})"
        if number.isdecimal() and (count == "None" or count.isdecimal()) and not given.fold:
            wait = self.constant(wait)
        wait = f"yield {wait}"
        yield self._assign(given.result, f"({wait})") if given.result else wait

    def _warp_sync(self, statement: Statement, site: int) -> Lines:
        mask = self.operands.value(statement.operands[0], "b32")
        yield f"yield Meeting('bar.warp.sync', {mask}, None, {site})"

    def _lanes(self, statement: Statement, site: int) -> Lines:
        """shfl, vote, match, redux, elect and activemask."""
        opcode, (to, *given) = statement.opcode, statement.operands
        row = row_of(opcode)
        if row is None or len(given) != row.operands:
            yield from self._unknown(statement, site)
            return
        type = "pred" if row.fact is Fact.BALLOT else opcode.type or "b32"
        *values, mask = [
            self.operands.value(each, "b32" if at else type) for at, each in enumerate(given)
        ] or ["0"]
        value = f"({', '.join(values)})" if len(values) > 1 else "".join(values) or "None"
        meeting = f"Meeting({opcode.name!r}, {mask}, {value}, {site}, {not given})"
        targets = elements(to)
        if len(row.results) == 1:
            yield self._assign(targets[0], f"(yield {meeting})")
            return
        yield f"got = yield {meeting}"
        yield from (self._assign(each, f"got[{at}]") for at, each in enumerate(targets))

    # mbarriers

    def _mbarrier(self, statement: Statement, site: int) -> Lines:
        opcode, operands = statement.opcode, list(statement.operands)
        action = opcode.words[1]
        space = self._space(opcode)
        to = "_" if operands[0].startswith("[") else operands.pop(0)
        address = self.operands.address(operands[0])
        given = [self.operands.value(each, "u64") for each in operands[1:]]
        place = f"'{space}', {site}"
        if action == "init":
            yield f"M.mbarrier_init(T, {address}, {given[0]}, {place})"
        elif action == "inval":
            yield f"M.mbarrier_inval(T, {address}, {place})"
        elif action in ("expect_tx", "complete_tx"):
            completes = action == "complete_tx"
            yield f"M.mbarrier_bytes(T, {address}, {given[0]}, {completes}, {place})"
        elif action in ("arrive", "arrive_drop"):
            yield "yield"
            whole = mbarriers.arrival(opcode, operands[1] if given else None)
            count, bytes_ = (self.operands.value(each, "u64") for each in whole)
            drops = action == "arrive_drop"
            call = f"M.mbarrier_arrive(T, {address}, {count}, {bytes_}, {drops}, {place})"
            yield self._assign(to, call)
        else:
            yield "yield"
            call = f"M.mbarrier_test(T, {address}, {given[0]}, {place})"
            yield self._assign(to, call)

    # Asynchronous copies

    def _copy(self, statement: Statement, site: int) -> Lines:
        given = copy_operands(statement.opcode, statement.operands)
        taken = size = self.operands.value(given.size, "u32")
        if given.taken and self.operands.width(given.taken.lstrip("!")) == 1:
            taken = f"(0 if {self.operands.value(given.taken, 'pred')} else {size})"
        elif given.taken:
            taken = self.operands.value(given.taken, "u32")
        addresses = f"{self.operands.address(given.target)}, {self.operands.address(given.source)}"
        yield f"M.copy(T, {addresses}, {size}, {taken}, {site})"

    def _copy_wait(self, statement: Statement, site: int) -> Lines:
        given = statement.operands
        left = self.operands.value(given[0], "u32") if given else "None"
        yield f"M.copy_wait(T, {left})"

    def _copy_arrive(self, statement: Statement, site: int) -> Lines:
        added = mbarriers.arrivals_added(statement.opcode)
        address, space = self.operands.address(statement.operands[0]), self._space(statement.opcode)
        yield f"M.copy_arrive(T, {address}, {added}, '{space}', {site})"

    def _bulk(self, statement: Statement, site: int) -> Lines:
        opcode = statement.opcode
        if "cp_mask" in opcode.words:
            raise NotExecuted(f"{opcode.name} is not executed")
        given = copy_operands(opcode, statement.operands)
        signalled = self.operands.address(given.mbarrier) if given.mbarrier else "None"
        spaces = self._space(opcode, 0) + self._space(opcode, 1)
        more = f", {self._updated(opcode)}, {opcode.width // 8}" if opcode.update else ""
        more += self._mask(given.mask)
        yield (
            f"M.bulk(T, {self.operands.address(given.target)}, "
            f"{self.operands.address(given.source)}, {self.operands.value(given.size, 'u32')}, "
            f"{signalled}, {spaces!r}, {site}{more})"
        )

    def _mask(self, mask: str) -> str:
        """The argument for the destination blocks of a copy."""
        return f", mask={self.operands.value(mask, 'u16')}" if mask else ""

    def _tensor(self, statement: Statement, site: int) -> Lines:
        opcode, operands = statement.opcode, list(statement.operands)
        other = [each for each in opcode.words if each.startswith(OTHER_BOXES)]
        if other:
            raise NotExecuted(f"{opcode.name} is not executed: .{other[0]}")
        loads = opcode.spaces[0] is not AddressSpace.GLOBAL
        shared = operands.pop(0 if loads else 1)
        tensor, coordinates = operands[0].strip("[]").split(",", 1)
        places = [self.operands.value(each, "s32") for each in elements(coordinates.strip())]
        more = f", {self.operands.address(operands[1])}" if loads else ""
        more += self._mask(multicast_mask(opcode, operands[1:]))
        if (offsets := offsets_of(opcode, operands, len(places))) is not None:
            by = [self.operands.value(each, "u16") for each in offsets]
            more += f", offsets=({', '.join(by)},)"
        if opcode.update:
            more += f", updates={{{', '.join(self._element_updates(opcode))}}}"
        yield (
            f"M.tensor(T, {self.operands.sum(tensor.strip())}, ({', '.join(places)},), "
            f"{self.operands.address(shared)}, {site}{more})"
        )

    def _element_updates(self, opcode: Opcode) -> Iterator[str]:
        """The update of a reduction for each type of elements that has one."""
        for type, code in ELEMENTS.items():
            of_type = read_opcode(f"red.global.{opcode.update}.{type}")
            if update_of(of_type) is not None:
                yield f"{code}: {self._updated(of_type)}"

    def _tensor_field(self, statement: Statement, site: int) -> Lines:
        opcode, (address, *ordinal, value) = statement.opcode, statement.operands
        place = next((at for at in ordinal), "0")
        yield (
            f"M.replace_field(T, {self.operands.address(address)}, {opcode.words[3]!r}, "
            f"{self.operands.value(place, 'u32')}, {self.operands.value(value, opcode.type)}, "
            f"'{self._space(opcode)}', {site})"
        )

    def _tensor_map(self, statement: Statement, site: int) -> Lines:
        to, source, *_ = statement.operands
        addresses = f"{self.operands.address(to)}, {self.operands.address(source)}"
        yield f"M.copy_map(T, {addresses}, {site})"

    def _bulk_wait(self, statement: Statement, site: int) -> Lines:
        reads_only = "read" in statement.opcode.modifiers
        left = self.operands.value(statement.operands[0], "u32")
        yield f"M.bulk_wait(T, {left}, {reads_only})"

    def _store_async(self, statement: Statement, site: int) -> Lines:
        opcode, (to, source, mbarrier, *_) = statement.opcode, statement.operands
        values = [self.operands.value(each, opcode.type) for each in elements(source)]
        update = f", {self._updated(opcode)}" if opcode.update else ""
        yield (
            f"M.store_later(T, {self.operands.address(to)}, [{', '.join(values)}], "
            f"{opcode.width // 8}, {self.operands.address(mbarrier)}, {site}{update})"
        )

    def _tensor_address(self, statement: Statement, site: int) -> Lines:
        """tcgen05.alloc: the place of the given tensor memory is not known, nor its contents.

        A warp writes it once: ``.sync.aligned``.
        """
        address = self.operands.address(statement.operands[0])
        space = self._space(statement.opcode)
        yield f"if not T.lane: st4{space}(T, {address}, M.unknown({site}), {site})"

    def _tensor_commit(self, statement: Statement, site: int) -> Lines:
        """tcgen05.commit: it arrives once earlier operations complete. Source: tcgen05.commit."""
        if "multicast::cluster" in statement.opcode.words:
            raise NotExecuted(f"{statement.opcode.name} is not executed")
        address, space = self.operands.address(statement.operands[0]), self._space(statement.opcode)
        yield f"M.arrive_later(T, {address}, '{space}', {site})"

    def _refused(self, statement: Statement, site: int) -> Lines:
        yield f"raise NotExecuted({f'{statement.opcode.name} is not executed'!r})"

    # Control

    def _exit(self, statement: Statement, site: int) -> Lines:
        yield "return" if self.is_kernel else "raise ThreadEnd"

    def _call(self, statement: Statement, site: int) -> Lines:
        operands = list(statement.operands)
        given = self._arguments(operands.pop(0)) if operands[0].startswith("(") else ()
        name = operands.pop(0)
        passed = self._arguments(operands[0]) if operands and operands[0].startswith("(") else ()
        if name in ("vprintf", "puts"):
            yield from (f"{each}.put(0, 4, 0)" for each in given)
        elif name == "__assertfail":
            yield "raise Trapped('an assertion that fails')"
        elif self.operands.function.type_of(name) is not None:
            yield f"called = FUNCTIONS.get({self.operands.register(name)})"
            yield "if called is None: raise NotExecuted('a call of what is no function here')"
            yield f"yield from called(T, [{', '.join(given)}], [{', '.join(passed)}])"
        else:
            yield f"if 'f_{spelt(name)}' not in globals():"
            yield f" raise NotExecuted({f'a call of {name}, which has no body here'!r})"
            results, arguments = ", ".join(given), ", ".join(passed)
            yield f"yield from f_{spelt(name)}(T, [{results}], [{arguments}])"

    def _arguments(self, text: str) -> Sequence[str]:
        names = [each.strip() for each in text.strip()[1:-1].split(",") if each.strip()]
        unknown = [each for each in names if each not in self.parameters]
        if unknown:
            raise NotExecuted(f"a call with '{unknown[0]}', which is no parameter of its own")
        return [self.parameters[each] for each in names]


def _space_named(opcode: Opcode) -> str:
    """The space that cvta and isspacep name."""
    return next((name for name in _WINDOWS if any(name in each for each in opcode.words)), "global")


def _operand(at: int, text: str, type: str) -> Term:
    element = element_of(type)
    assert element is not None
    return constant(int(text)) if text.isdecimal() else operand(at, element[1] * element[2])


_FIXED: Mapping[str, tuple[str, ...]] = {
    "wgmma commit_group": ("T.matrix_group += 1",),
    "barrier cluster arrive": ("M.cluster_arrive(T, {site})",),
    "barrier cluster wait": ("yield ClusterWait({site})",),
    "nanosleep": ("T.is_lazy = True", "yield"),
    "cp async commit_group": ("T.copy_group += 1",),
    "cp async bulk commit_group": ("T.bulk_group += 1",),
    **dict.fromkeys(("cp async bulk prefetch", "cp async bulk prefetch tensor"), ("pass",)),
    "ret": ("return",),
    "trap": ("raise Trapped('a trap')",),
}
"""The lines of instructions that look at no operand."""
_Method = Callable[[Emitter, Statement, int], Lines]

_METHODS: Mapping[str, str] = {
    "_load": "ld|ldu|ld nc|ld param|ld param::entry|ld param::func",
    "_store": "st|st param|st param::func",
    "_fill": "st bulk",
    "_matrix_load": "ldmatrix",
    "_matrix_store": "stmatrix",
    "_matrix_move": "movmatrix",
    "_wmma": "wmma load|wmma store",
    "_wgmma": "wgmma mma_async|wgmma mma_async sp",
    "_wgmma_wait": "wgmma wait_group",
    "_update": "atom|red",
    "_barrier": "bar sync|bar red|bar arrive|barrier sync|barrier red|barrier arrive",
    "_warp_sync": "bar warp sync",
    "_mbarrier": "mbarrier init|mbarrier inval|mbarrier expect_tx|mbarrier complete_tx|"
    "mbarrier arrive|mbarrier arrive_drop|mbarrier arrive expect_tx|"
    "mbarrier arrive_drop expect_tx|mbarrier test_wait|mbarrier try_wait",
    "_copy": "cp async",
    "_copy_wait": "cp async wait_group|cp async wait_all",
    "_copy_arrive": "cp async mbarrier arrive",
    "_bulk": "cp async bulk|cp reduce async bulk",
    "_bulk_wait": "cp async bulk wait_group",
    "_store_async": "st async|red async",
    "_tensor_address": "tcgen05 alloc",
    "_tensor_commit": "tcgen05 commit",
    "_unknown": "multimem st|multimem red|tcgen05 mma|tcgen05 cp",
    "_tensor": "cp async bulk tensor|cp async bulk tensor bulk_group|cp reduce async bulk tensor",
    "_tensor_field": "tensormap replace",
    "_tensor_map": "tensormap cp_fenceproxy",
    "_refused": "st async release|red async release|"
    "sust|sured|multimem cp async bulk|multimem cp reduce async bulk|"
    "clusterlaunchcontrol try_cancel",
    "_exit": "exit",
    "_call": "call",
}
_OPERATIONS: Mapping[str, _Method] = {
    name: getattr(Emitter, method)
    for method, names in _METHODS.items()
    for name in names.split("|")
}
_HEADS: Mapping[str, _Method] = {
    name: getattr(Emitter, f"_{method}")
    for method, names in {
        "mov": "mov",
        "cvta": "cvta",
        "isspacep": "isspacep",
        "lanes": "shfl vote match redux elect activemask",
    }.items()
    for name in names.split()
}
