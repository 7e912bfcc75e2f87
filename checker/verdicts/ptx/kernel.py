"""A PTX function as a kernel of verdicts: its accesses, fences, barriers, mbarriers and groups.

Source: PTX ISA, "Memory Consistency Model"; "Parallel Synchronization and Communication
Instructions"; "Asynchronous copy".
"""

import re
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import count

from fencewright.checker.verdicts.arithmetic import is_alike
from fencewright.checker.verdicts.expressions import (
    UNKNOWN_PLACE,
    choices,
    factors_of,
    is_variable,
    leaves,
    moved,
    number_of,
    object_at,
    with_constant_tables,
)
from fencewright.checker.verdicts.model import (
    END,
    Access,
    Agent,
    Assumption,
    Barrier,
    Fence,
    Group,
    Kernel,
    LinearForm,
    Literal,
    MbarrierStep,
    Obstacle,
    Place,
    Region,
    Root,
    Step,
    SyncGroup,
)
from fencewright.checker.verdicts.ptx.calls import text_of, unknown_callee, with_calls
from fencewright.checker.verdicts.ptx.polls import with_polls_apart
from fencewright.checker.verdicts.ptx.rounding import rounded
from fencewright.checker.verdicts.ptx.values import RESERVED, Registers, is_parameter
from fencewright.lowering.code import effects
from fencewright.lowering.code.effects import Kind, Proxy
from fencewright.lowering.code.records import record
from fencewright.lowering.code.value import Apply, Opaque, Param, Result, Value, parts_first
from fencewright.lowering.ptx.code.addresses import Places
from fencewright.lowering.ptx.code.calls import CALL
from fencewright.lowering.ptx.code.statements import (
    ACCESSES,
    ARRIVALS,
    MBARRIER_WAITS,
    PROXY_FENCES,
    Opcode,
    OperandRole,
    number,
    read_opcode,
)
from fencewright.lowering.ptx.code.text import PtxFile, PtxFunction, PtxInstruction
from fencewright.lowering.vocabulary import MOST_THREADS, AddressSpace, Ordering, Scope

_SHARED = (AddressSpace.LOCAL, AddressSpace.SHARED_CLUSTER)
_OWN = (AddressSpace.PRIVATE, AddressSpace.CONSTANT)
_POINTER_BITS = 64
_LANES, _LANE_BITS = 32, (1, 2, 4, 8, 16)
_COMMUTATIVE = frozenset("add mul and or xor min max umin umax smin smax".split())
"""Operations, of PTX and of expressions, whose two values may change places. Of floats a NaN is one
constant, but of f64 the NaN of an operand. Source: PTX ISA, 9.7.3."""
_ELSEWHERE = frozenset("tex tld4 suld sust sured".split())
_SPECIAL = re.compile(r"%(?:tid|ntid|ctaid|nctaid|clusterid|cluster_ctaid)\.[xyz]|%cluster_ctarank")
_NAMED = Root(Region.SHARED, "named barriers")
_DYNAMIC = "dynamic shared memory"
_GRID_WAIT, _GRID_LAUNCH = "griddepcontrol wait", "griddepcontrol launch_dependents"
_MAP_BYTES = 128
_WORD_BYTES = 4
_SWIZZLED_BYTES = 1024
"""The bytes of the largest pattern that is repeated in a matrix."""
_LEAST_BYTES = 16
"""The bytes that a tensor copy or a matrix has at least, from its address on: of its first row.

Source: PTX ISA, cp.async.bulk.tensor (the size of a row); "Matrix Descriptor Format".
"""
_COLLECTIVES = frozenset({"tensormap cp_fenceproxy", "tcgen05 alloc"})
"""The operations that a warp does once, not each of its lanes."""
_OBJECTS: Mapping[AddressSpace, frozenset[Region]] = {
    AddressSpace.GLOBAL: frozenset({Region.GLOBAL, Region.PARAMETER, Region.POINTER}),
    **dict.fromkeys(_SHARED, frozenset({Region.SHARED})),
}
_STEPS: Mapping[str, Step] = {
    "mbarrier init": Step.INIT,
    "mbarrier inval": Step.INVALIDATE,
    "mbarrier expect_tx": Step.EXPECT,
    "cp async mbarrier arrive": Step.ARRIVE,
    "tcgen05 commit": Step.ARRIVE,
    **dict.fromkeys(ARRIVALS, Step.ARRIVE),
    **dict.fromkeys(MBARRIER_WAITS, Step.WAIT),
}
_GROUPS: Mapping[str, Agent] = {
    "cp async commit_group": Agent.COPY,
    "cp async wait_group": Agent.COPY,
    "cp async wait_all": Agent.COPY,
    "cp async bulk commit_group": Agent.GROUP,
    "cp async bulk wait_group": Agent.GROUP,
    "wgmma commit_group": Agent.PRODUCT,
    "wgmma wait_group": Agent.PRODUCT,
}
_BARRIERS = frozenset(
    {"bar sync", "bar red", "bar arrive", "barrier sync", "barrier red", "barrier arrive"}
)
_COUNTED = _STEPS.keys() | _BARRIERS
"""Operations on mbarriers, and on barriers that count those who arrive."""
_Choices = tuple[tuple[tuple[Literal, ...], Place | None], ...]
"""The conditions and the place of each object that an access may be of."""
_ONE_ACCESS: _Choices = (((), None),)
_BY_THREAD = (Kind.LOAD, Kind.STORE)
_NOT_FOLLOWED = (Proxy.TENSORMAP, Proxy.CONSTANT)
_DOUBTFUL = frozenset({CALL, _GRID_LAUNCH, "st async release", "red async release", "brx"})
"""Operations that may be obstacles."""
_LEVELS: Mapping[str, Scope] = {
    **dict.fromkeys(_BARRIERS, Scope.WORKGROUP),
    "bar warp sync": Scope.WAVEFRONT,
    "barrier cluster arrive": Scope.CLUSTER,
    "barrier cluster wait": Scope.CLUSTER,
}


def kernel_of(file: PtxFile, function: PtxFunction) -> Kernel:
    """The kernel that a function of a file is."""
    whole, uncalled = with_calls(file, function)
    whole = with_polls_apart(whole)
    kernel = _Filler(file, whole, uncalled).kernel()
    fixed = _fixed(kernel)
    return _Filler(file, whole, uncalled, fixed).kernel() if fixed else kernel


def _fixed(kernel: Kernel) -> dict[int, str]:
    """The loads of what places that are written depend on, of numbers at a place that is one for
    all threads, in an object that nobody writes: they have names as parameters have."""
    written = {each.place.root for each in kernel.accesses if each.writes}
    if any(root.region is Region.UNKNOWN for root in written):
        return {}
    places = [each.place.offset for each in kernel.accesses if each.place.root in written]
    terms = (value for form in places if form is not None for value, _ in form.terms)
    asked = {each.instruction for each in leaves(terms) if isinstance(each, Result)}
    if not asked:
        return {}
    loads = [each for each in kernel.accesses if _is_fixed(each) and each.place.root not in written]
    names = {each.place: "" for each in loads if each.instruction in asked}
    for n, place in enumerate(names):
        rest = "" if place.offset == LinearForm(0) else f"({n})"
        names[place] = f"*{place.root.name}{rest}"
    return {each.instruction: names[each.place] for each in loads if each.place in names}


def _is_fixed(load: Access) -> bool:
    """True of a load of a number, of arguments at a place that all threads have alike."""
    if load.is_strong or load.agent is not Agent.THREAD or load.place.offset is None:
        return False
    is_number = load.result is not None and load.result.bits < _POINTER_BITS
    is_given = load.place.root.region in (Region.PARAMETER, Region.GLOBAL)
    terms = load.place.offset.terms
    return is_number and is_given and all(is_alike(each, is_one_cta=False) for each, _ in terms)


@dataclass(frozen=True, slots=True)
class _Matrix:
    """A matrix in shared memory: its bytes, at most, from a place on; None: not known."""

    place: Place
    size: int | None


class _Filler:
    def __init__(
        self,
        file: PtxFile,
        function: PtxFunction,
        uncalled: str = "",
        fixed: Mapping[int, str] | None = None,
    ):
        self.function = function
        self.uncalled = uncalled
        self.places = Places(file, function)
        self.registers = Registers(self.places, fixed)
        self.expressions = self.registers.expressions
        self.numbers = count()
        self.open: set[int] = set()
        self.known: dict[tuple[Value, AddressSpace | None, Value | None], Place | None] = {}
        """The places of addresses that are computed of no pointer from memory."""
        self.chosen: dict[tuple[Value, AddressSpace | None], _Choices] = {}
        """The objects that weak accesses by an address may be of."""
        self.tables: dict[Root, Root] = {}
        """The objects of tables of pointers that an index selects, with the table's own."""

    def kernel(self) -> Kernel:
        registers, function = self.registers, self.function
        reached = [block for block in function.blocks if block.number in registers.dominators]
        lines: dict[int, int] = {}
        guarded: list[PtxInstruction] = []
        specials: set[str] = set()
        by_kind: dict[Kind, list[PtxInstruction]] = {kind: [] for kind in Kind}
        others: list[PtxInstruction] = []
        accessing: list[PtxInstruction] = []
        for block in reached:
            for each in block.instructions:
                statement = each.statement
                lines[each.number] = each.line
                specials.update(statement.specials)
                if statement.guard:
                    guarded.append(each)
                if statement.kind is not Kind.COMPUTE:
                    by_kind[statement.kind].append(each)
                    others.append(each)
                    if statement.accesses or statement.kind is Kind.TENSOR:
                        accessing.append(each)
        mbarriers = tuple(
            step for each in self._those(others, _COUNTED) for step in self._mbarriers(each)
        )
        for each in by_kind[Kind.LOAD]:  # Whatever uses an index has to be known first.
            for pointer in self._pointers(each):
                self._loaded(pointer)
        own = (access for each in accessing for access in self._accesses(each))
        accesses = with_constant_tables((_bounded(each, mbarriers) for each in own), self.tables)
        grouped = [
            each
            for each in accesses
            if each.agent is Agent.GROUP and each.reads
            if each.place.root.region is Region.SHARED and each.place.rank is None
        ]
        early = self._early(others, accesses)
        # A trap ends all threads of the kernel.
        exits = [each for each in by_kind[Kind.END] if each.statement.operation != "trap"]
        return Kernel(
            name=function.name,
            table=registers.table,
            graph=registers.graph,
            entry=0,
            dominators=registers.dominators,
            loops=registers.loops,
            instructions={
                block.number: tuple(each.number for each in block.instructions) for block in reached
            },
            lines=lines,
            accesses=accesses,
            ends=tuple(self._end(each, access) for each in exits for access in grouped),
            fences=tuple(fence for each in by_kind[Kind.FENCE] for fence in self._fences(each)),
            barriers=tuple(self._barrier(each) for each in self._those(others, _LEVELS)),
            mbarriers=mbarriers,
            groups=tuple(self._group(each) for each in self._those(others, _GROUPS)),
            exits=frozenset(each.number for each in exits),
            block_conditions=registers.conditions,
            guards={each.number: own for each in guarded if (own := self._guards(each))},
            sync_groups=self._sync_groups(accesses),
            edge_literals={
                edge: own
                for edge, value in registers.edge_literals.items()
                if (own := tuple(self.expressions.literals(value, True, edge[0])))
            },
            recurrences=registers.recurrences(),
            origins=registers.origins,
            exchanges={
                value: found
                for each in by_kind[Kind.LANES]
                if (found := self._exchange(each)) is not None
                for value in (registers.result(each, each.statement.defines[0]),)
            },
            commutative=_COMMUTATIVE
            | {
                each.name
                for each in function.opcodes
                if each.operation in _COMMUTATIVE and each.type != "f64"
            },
            assumes=frozenset(
                [Assumption.TABLES] * bool(self.tables)
                + [Assumption.GRID_BEFORE] * bool(early)
                + [Assumption.DEPENDENTS_WAIT for _ in self._those(others, (_GRID_LAUNCH,))]
            ),
            required=function.threads,
            most_threads=function.most_threads or MOST_THREADS,
            specials=frozenset(filter(_SPECIAL.fullmatch, specials)),
            obstacles=tuple(
                sorted(self._obstacles(others, accesses, early), key=lambda each: each.line)
            ),
        )

    def _exchange(self, each: PtxInstruction) -> tuple[Value, int] | None:
        """The value that all lanes of a warp exchange by a bit of their number, and the bit.

        Source: PTX ISA, shfl.sync: mode bfly, one segment (31), all lanes (-1).
        """
        statement = each.statement
        if statement.operation != "shfl" or "bfly" not in statement.opcode.modifiers:
            return None
        if statement.guard or self.registers.around.get(self.registers.block_of[each.number]):
            return None
        _, source, *others = statement.operands
        bit, *rest = (number_of(self.registers.operand(each, text, 32)) for text in others)
        if rest != [_LANES - 1, (1 << _LANES) - 1] or bit not in _LANE_BITS:
            return None
        return self.registers.operand(each, source, 32), bit

    def _those(
        self, instructions: Iterable[PtxInstruction], rows: Collection[str]
    ) -> list[PtxInstruction]:
        """The instructions whose operation has a row."""
        if self.function.operations.isdisjoint(rows):
            return []
        return [each for each in instructions if each.statement.operation in rows]

    @cached_property
    def load_at(self) -> Mapping[int, PtxInstruction]:
        """The load that an instruction is."""
        instructions = self.function.instructions
        return {each.number: each for each in instructions if each.statement.kind is Kind.LOAD}

    # Conditions

    def _guards(self, each: PtxInstruction) -> tuple[Literal, ...]:
        guard = self.registers.guard(each)
        if guard is None or each.statement.kind in (Kind.BRANCH, Kind.END):
            return ()
        return tuple(self.expressions.literals(*guard, -1))

    def _conditions(
        self, each: PtxInstruction, of_one_lane: Container[str] = ()
    ) -> tuple[Literal, ...]:
        registers = self.registers
        own = registers.conditions[registers.block_of[each.number]]
        if each.statement.guard:
            own = (*own, *self._guards(each))
        if each.statement.operation not in of_one_lane:
            return own
        return (*own, Literal(self.registers.table.thread("%elect", 1), True))

    # Accesses

    def _accesses(self, each: PtxInstruction) -> Iterator[Access]:
        statement = each.statement
        form = _form_of(statement.opcode.name)
        if not form.has_places:
            return
        if statement.kind is Kind.TENSOR:
            if OperandRole.TENSOR_MEMORY in statement.shape.roles:
                yield self._of_tensor_memory(each)
            yield from self._of_map(each)
        for given in statement.accesses:
            access = replace(given, proxy=Proxy.GENERIC) if form.is_collective else given
            if access.space in _OWN or access.proxy in _NOT_FOLLOWED:
                continue
            for literals, place in self._choices(each, access):
                made = self._access(each, access, literals, place)
                if made is not None:
                    yield made

    def _choices(self, each: PtxInstruction, access: effects.Access) -> _Choices:
        """The conditions and the object of each access that a weak one by a thread may be; the
        places of other accesses are not looked for here."""
        statement, space = each.statement, access.space
        if statement.kind not in _BY_THREAD or not access.address or statement.is_strong:
            return _ONE_ACCESS
        value = self.registers.address(each, access.address)
        if (known := self.chosen.get((value, space))) is None:
            found = choices(
                self.expressions, value, lambda form: self._pointer(form, space) is not None
            )
            places = ((own.literals, self._place_of(own.address, space, None)) for own in found)
            known = tuple((literals, place) for literals, place in places if place is not None)
            self.chosen[value, space] = known
        return known

    def _end(self, each: PtxInstruction, access: Access) -> Access:
        """The end of a thread, as a write of the shared memory that a copy of its own reads.

        Source: PTX ISA, cp.async.bulk.wait_group; a CTA's shared memory lasts as long as it does.
        """
        guard = self.registers.guard(each)
        own = () if guard is None else tuple(self.expressions.literals(*guard, -1))
        return Access(
            number=next(self.numbers),
            instruction=each.number,
            line=each.line,
            text=END,
            place=access.place,
            size=access.size,
            reads=False,
            writes=True,
            conditions=(*self._conditions(each), *own),
            obstacle=access.obstacle,
            least=access.least,
        )

    def _of_tensor_memory(self, each: PtxInstruction) -> Access:
        statement = each.statement
        writes = statement.operation != "tcgen05 ld"
        return Access(
            number=next(self.numbers),
            instruction=each.number,
            line=each.line,
            text=text_of(each),
            place=Place(Root(Region.TENSOR, "tensor memory"), None),
            size=None,
            reads=not writes,
            writes=writes,
            conditions=self._conditions(each),
            agent=Agent.TENSOR,
            obstacle="places in tensor memory are not followed",
        )

    def _of_map(self, each: PtxInstruction) -> Iterator[Access]:
        """The tensor map that a copy goes by, if a thread may change it."""
        statement = each.statement
        operand = statement.operand(OperandRole.TENSORMAP)
        if not operand or statement.kind is not Kind.TENSOR:
            return
        address = operand.partition(",")[0].strip()
        if any(is_parameter(value) for value, _ in self._form_of_map(each, address).terms):
            return  # Nobody writes parameters.
        read = effects.Access(
            address, True, False, Proxy.TENSORMAP, AddressSpace.GLOBAL, _MAP_BYTES
        )
        place = self._place(each, address, AddressSpace.GLOBAL)
        if place is None or (place.root.region is Region.UNKNOWN and not self._changes_maps):
            return
        made = self._access(each, read)
        if made is not None:
            yield made

    @cached_property
    def _changes_maps(self) -> bool:
        return any(each.head == "tensormap" for each in self.function.opcodes)

    def _access(
        self,
        each: PtxInstruction,
        access: effects.Access,
        literals: tuple[Literal, ...] = (),
        place: Place | None = None,
    ) -> Access | None:
        statement = each.statement
        form = _form_of(statement.opcode.name)
        obstacle, least = "", None
        size = self._size(each, access) if form.has_own_size else access.size
        if not access.address:
            place, obstacle = self._of_tensor(each), "the place of a tensor copy"
        elif statement.kind is Kind.TENSOR and statement.operand(OperandRole.DESCRIPTOR):
            matrix = self._matrix(each, access.address)
            place, size, obstacle = matrix.place, matrix.size, "the bytes of a matrix descriptor"
            if place.root.region is not Region.UNKNOWN:
                least = _LEAST_BYTES
        else:
            place = place or self._place(each, access.address, access.space)
            if place is None:
                return None
            if size is None and statement.kind is Kind.TENSOR:
                obstacle, least = "the bytes of a tensor copy", _LEAST_BYTES
            elif size is None:
                obstacle = "an access of unknown size"
            elif place.offset is None:
                obstacle = "an address that is not known"
        value = compared = result = mbarrier = None
        parts: tuple[Value, ...] = ()
        if statement.kind in (Kind.STORE, Kind.RMW):
            used = [operand for role, operand in statement.roles if role is OperandRole.USE]
            sources = [operand for operand in used if not operand.startswith(("[", "{"))]
            if sources and access.writes:
                is_cas = form.update == "cas"
                value = self._sized(each, sources[1 if is_cas and len(sources) > 1 else 0], size)
                compared = self._sized(each, sources[0], size) if is_cas else None
            elif not sources and statement.kind is Kind.STORE:
                parts = tuple(
                    self.registers.operand(each, name, statement.opcode.width)
                    for operand in used
                    if operand.startswith("{")
                    for name in operand.strip("{} ").split(",")
                )
        if access.reads and statement.kind in ACCESSES and len(statement.defines) == 1:
            result = self.registers.result(each, statement.defines[0])
        if OperandRole.SIGNAL in statement.shape.roles:
            # Of a copy to several CTAs the mbarrier of each.
            at = self.registers.address(each, statement.operand(OperandRole.SIGNAL))
            mbarrier = self._place_of(at, AddressSpace.LOCAL, None)
        conditions = self._conditions(each, _COLLECTIVES)
        return Access(
            number=next(self.numbers),
            instruction=each.number,
            line=each.line,
            text=text_of(each),
            place=place,
            size=size,
            reads=access.reads,
            writes=access.writes,
            conditions=(*conditions, *literals) if literals else conditions,
            is_strong=form.is_strong,
            acquires=form.acquires,
            releases=form.releases,
            scope=form.scope,
            agent=form.agent,
            proxy=access.proxy,
            mbarrier=mbarrier,
            value=value,
            parts=parts,
            result=result,
            update=form.update,
            compared=compared,
            is_coherent=form.is_coherent,
            obstacle=obstacle,
            least=least,
        )

    def _size(self, each: PtxInstruction, access: effects.Access) -> int | None:
        """The bytes of an access: of its name, or a constant operand of a bulk copy or store."""
        statement = each.statement
        is_bulk = statement.kind is Kind.COPY or statement.operation == "st bulk"
        if statement.opcode.head == "tensormap":
            return _MAP_BYTES
        if statement.operation == "tcgen05 alloc":
            return _WORD_BYTES
        if access.proxy is Proxy.TENSORMAP:
            return access.size
        if statement.opcode.head in ("wmma", "multimem"):
            return None  # Rows of a matrix, or copies of several devices.
        if access.size is not None or not is_bulk:
            return access.size
        for role, operand in statement.roles:
            if role is OperandRole.USE:
                return number_of(self.registers.operand(each, operand, 64))
        return None

    def _sized(self, each: PtxInstruction, text: str, size: int | None) -> Value:
        bits = 8 * (size or 8)
        return self.expressions.resized(self.registers.operand(each, text, bits), bits)

    def _place(
        self, each: PtxInstruction, address: str, space: AddressSpace | None
    ) -> Place | None:
        """The place of an access; None for memory that no other thread reaches."""
        value = self.registers.address(each, address)
        return self._place_of(value, space, self._ranks(each, space))

    def _ranks(self, each: PtxInstruction, space: AddressSpace | None) -> Value | None:
        """The CTAs of a cluster that an instruction accesses at once; None if it names one."""
        # Each of a pair has its own address for a collective operation.
        if space not in _SHARED or each.statement.operation in _COLLECTIVES:
            return None
        if not _has_word(each.statement.opcode.words, ("multicast", "cta_group::2")):
            return None
        return self.registers.table.opaque(f"ranks of {each.number}", 32, varies=True)

    def _place_of(
        self, value: Value, space: AddressSpace | None, rank: Value | None
    ) -> Place | None:
        key = value, space, rank
        if key in self.known:
            return self.known[key]
        remote = _mapa_in(value) if self._is_in_cluster else None
        if remote is not None:
            rank = self.expressions.resized(remote.arguments[1], 32)
            value = self.expressions.substituted(value, {remote: remote.arguments[0]})
        form = self.expressions.linear(value)
        pointer = self._pointer(form, space)
        if pointer is None:
            place = self._rounded(value, space, rank)
        else:
            place = self._from(pointer, form, rank)
        if not isinstance(pointer, Result):
            self.known[key] = place
        return place

    @cached_property
    def _is_in_cluster(self) -> bool:
        return any(each.head == "mapa" for each in self.function.opcodes)

    def _rounded(self, address: Value, space: AddressSpace | None, rank: Value | None) -> Place:
        """The place of an address that one variable's is rounded to; of any other nothing is
        known."""
        variables = self.places.variables
        found = rounded(
            self.expressions,
            address,
            lambda name: variables[name].alignment if name in variables else 1,
        )
        begin = None if found is None else self._begin(found[0])
        if found is None or begin is None or begin.root.region is not Region.SHARED:
            return Place(Root(Region.UNKNOWN, _space_name(space)), None, rank)
        return moved(begin, self.expressions.linear(found[1]), rank)

    def _from(self, pointer: Value, form: LinearForm, rank: Value | None) -> Place | None:
        begin = self._begin(pointer)
        if begin is None:
            return None
        rest = tuple((part, times) for part, times in form.terms if part is not pointer)
        return moved(begin, LinearForm(form.constant, rest), rank)

    def _of_tensor(self, each: PtxInstruction) -> Place:
        """The tensor in global memory that a copy's map describes: an object of its own."""
        operand = each.statement.operand(OperandRole.TENSORMAP)
        form = self._form_of_map(each, operand.partition(",")[0].strip())
        pointer = form.terms[0][0] if len(form.terms) == 1 else None
        if pointer is None or not (isinstance(pointer, Param) or is_parameter(pointer)):
            return Place(Root(Region.UNKNOWN, "global"), None)
        name = pointer.name if isinstance(pointer, Param | Opaque) else ""
        return Place(Root(Region.PARAMETER, f"tensor of {name}+{form.constant}"), None)

    def _form_of_map(self, each: PtxInstruction, address: str) -> LinearForm:
        return self.expressions.linear(self.registers.address(each, address))

    def _matrix(self, each: PtxInstruction, operand: str) -> _Matrix:
        """The shared memory that a matrix descriptor describes. Source: PTX ISA, "Matrix Descriptor
        Format"."""
        ranks = self._ranks(each, AddressSpace.LOCAL)
        unknown = _Matrix(Place(Root(Region.UNKNOWN, "shared"), None, ranks), None)
        start = self.expressions.start_of_matrix(self.registers.operand(each, operand, 64))
        if start is None:
            return unknown
        address, fields = start
        place = self._place_of(address, AddressSpace.LOCAL, ranks)
        if place is None or place.root.region is Region.UNKNOWN:
            return unknown
        columns = each.statement.opcode.columns
        if fields is None or columns is None or "sp" in each.statement.opcode.words:
            return _Matrix(place, None)
        # Rows in groups of 8, from one group to the next by either stride.
        strides = sum((fields >> bit & 0x3FFF) << 4 for bit in (16, 32))
        rows = max(64, columns)
        return _Matrix(place, rows // 8 * strides + _SWIZZLED_BYTES)

    def _pointer(self, form: LinearForm, space: AddressSpace | None) -> Value | None:
        """The one value of an address that it begins with."""
        once = [value for value, times in form.terms if times == 1]
        variables = [value for value in once if is_variable(value)]
        if variables or any(is_variable(part) for v, _ in form.terms for part in factors_of(v)):
            return variables[0] if len(variables) == 1 else None
        # An index of 64 bits may be a parameter too; then which is the pointer is not known.
        found = [
            value
            for value in once
            if isinstance(value, Param | Result) and value.bits == _POINTER_BITS
        ]
        return found[0] if len(found) == 1 and space not in _SHARED else None

    def _begin(self, pointer: Value) -> Place | None:
        """The beginning of the object that a pointer points to; None for a thread's own."""
        if isinstance(pointer, Result):
            return self._loaded(pointer)
        assert isinstance(pointer, Param)
        root = self._root(pointer)
        return None if root is None else Place(root, LinearForm(0))

    @cached_property
    def _dynamic(self) -> str:
        """The name of the shared memory whose size a launch has."""
        variables = self.places.variables.items()
        names = [name for name, v in variables if v.space == "shared" and v.size is None]
        return f"{_DYNAMIC} '{names[0]}'" if len(names) == 1 else _DYNAMIC

    def _root(self, pointer: Param) -> Root | None:
        if is_variable(pointer):
            name = pointer.name[1:]
            if name == RESERVED:
                return Root(Region.SHARED, "reserved shared memory")
            variable = self.places.variables[name]
            if variable.space == "shared":
                if variable.size is None:
                    # All variables of open size begin at one place. Source: PTX ISA, ".extern".
                    return Root(Region.SHARED, self._dynamic)
                return Root(Region.SHARED, name, variable.size)
            return Root(Region.GLOBAL, name, variable.size) if variable.space == "global" else None
        return Root(Region.PARAMETER, pointer.name)

    def _loaded(self, pointer: Result) -> Place:
        """The object that a pointer from memory points to."""
        load = self.load_at.get(pointer.instruction)
        if load is None or pointer.instruction in self.open:
            return UNKNOWN_PLACE
        self.open.add(pointer.instruction)
        places = [
            self._place(load, access.address, access.space) for access in load.statement.accesses
        ]
        self.open.discard(pointer.instruction)
        place = places[0] if len(places) == 1 else None
        if place is None:
            return UNKNOWN_PLACE
        at = 8 * load.statement.defines.index(pointer.register)
        return object_at(moved(place, LinearForm(at), place.rank), self.tables)

    def _pointers(self, each: PtxInstruction) -> Iterator[Result]:
        """The values of 64 bits that an instruction loads."""
        for register in each.statement.defines:
            value = self.registers.result(each, register)
            if isinstance(value, Result) and value.bits == _POINTER_BITS:
                yield value

    # Instructions that order

    def _barrier(self, each: PtxInstruction) -> Barrier:
        statement = each.statement
        level = _LEVELS[statement.operation]
        arrives, waits = True, True
        name = threads = mask = None
        operands = [operand for role, operand in statement.roles if role is not OperandRole.DEFINE]
        words = statement.operation_words
        if level is Scope.WORKGROUP:
            waits = words[-1] != "arrive"
            first = self.registers.operand(each, operands[0], 32) if operands else None
            zero = self.expressions.constant(0, 32)
            name = None if first is zero else first
            is_counted = len(operands) > 1 and words[-1] != "red"
            is_counted |= words[-1] == "red" and len(operands) > 2
            threads = self.registers.operand(each, operands[1], 32) if is_counted else None
        elif level is Scope.WAVEFRONT:
            given = self.registers.operand(each, operands[0], 32)
            mask = None if given is self.expressions.constant(-1, 32) else given
        else:
            arrives, waits = words[-1] == "arrive", words[-1] == "wait"
        ordering = statement.ordering
        orders = ordering is not Ordering.RELAXED
        return Barrier(
            instruction=each.number,
            level=level,
            conditions=self._conditions(each),
            name=name,
            count=threads,
            arrives=arrives,
            waits=waits,
            acquires=orders and waits,
            releases=orders and arrives,
            mask=mask,
        )

    def _mbarriers(self, each: PtxInstruction) -> Iterator[MbarrierStep]:
        statement = each.statement
        if statement.operation in _BARRIERS:
            yield from self._named_barriers(each)
            return
        step = _STEPS[statement.operation]
        address = statement.operand(OperandRole.MBARRIER) or statement.operand(OperandRole.SIGNAL)
        place = self._place(each, address, AddressSpace.LOCAL)
        if place is None:
            return
        ordering = statement.ordering
        numbers = [operand for role, operand in statement.roles if role is OperandRole.USE]
        first = self.registers.operand(each, numbers[0], 32) if numbers else None
        result = self.registers.result(each, statement.defines[0]) if statement.defines else None
        expects = "expect_tx" in statement.operation_words
        is_wait = step is Step.WAIT
        yield MbarrierStep(
            instruction=each.number,
            step=step,
            place=place,
            conditions=self._conditions(each),
            acquires=is_wait and ordering is not Ordering.RELAXED,
            releases=step is Step.ARRIVE and ordering is not Ordering.RELAXED,
            scope=statement.scope or Scope.WORKGROUP,
            count=first if step in (Step.INIT, Step.ARRIVE) and not expects else None,
            bytes=first if expects else None,
            phase=first if is_wait else None,
            is_parity="parity" in statement.opcode.words,
            result=result,
            copies=statement.operation in ("cp async mbarrier arrive", "tcgen05 commit"),
            retries=statement.loops,
            drops="arrive_drop" in statement.operation_words,
        )

    def _named_barriers(self, each: PtxInstruction) -> Iterator[MbarrierStep]:
        """A barrier of a CTA at which some threads only arrive, as an mbarrier: who waits arrives
        first, and waits for the phase of that."""
        if not self._arrived_at:
            return
        barrier = self._barrier(each)
        name = barrier.name or self.expressions.constant(0, 32)
        numbers = {number_of(name), *map(number_of, self._arrived_at)}
        if None not in numbers and name not in self._arrived_at:
            return
        offset = self.expressions.linear(
            self.expressions.apply("mul", (name, self.expressions.constant(8, 32)), 32)
        )
        state = self.registers.table.result(each.number, "", 32)
        arrival = MbarrierStep(
            instruction=each.number,
            step=Step.ARRIVE,
            place=Place(_NAMED, offset),
            conditions=barrier.conditions,
            releases=barrier.releases,
            result=state,
            expected=barrier.count or self.registers.table.constant("%ntid.x", 32),
        )
        yield arrival
        if barrier.waits:
            wait = replace(arrival, step=Step.WAIT, releases=False, result=None)
            yield replace(wait, acquires=barrier.acquires, phase=state, retries=True)

    @cached_property
    def _arrived_at(self) -> frozenset[Value]:
        """The names of the barriers at which some threads only arrive."""
        zero = self.expressions.constant(0, 32)
        return frozenset(
            self._barrier(each).name or zero
            for each in self._those(self.function.instructions, ("bar arrive", "barrier arrive"))
            if self.registers.block_of[each.number] in self.registers.dominators
        )

    def _group(self, each: PtxInstruction) -> Group:
        statement = each.statement
        waits = "wait_group" in statement.operation_words
        pending = number(statement.operands[0]) if waits and statement.operands else None
        everything = statement.operation == "cp async wait_all"
        return Group(
            instruction=each.number,
            agent=_GROUPS[statement.operation],
            conditions=self._conditions(each),
            pending=0 if everything else pending,
            everything=everything,
            reads_only="read" in statement.opcode.words,
        )

    def _sync_groups(self, accesses: tuple[Access, ...]) -> tuple[SyncGroup, ...]:
        """The blocks into which every edge tests a strong read or a wait."""
        registers = self.registers
        results: dict[Value, int] = {
            access.result: access.instruction
            for access in accesses
            if access.result is not None and (access.is_strong or access.is_atomic)
        }
        for each in self._those(self.function.instructions, MBARRIER_WAITS):
            for register in each.statement.defines:
                results[registers.result(each, register)] = each.number
        return registers.sync_groups(results.get) if results else ()

    def _fences(self, each: PtxInstruction) -> Iterator[Fence]:
        statement = each.statement
        is_map_copy = statement.operation == "tensormap cp_fenceproxy"
        if not (is_map_copy or statement.opcode.head in ("fence", "membar")):
            return
        ordering = statement.ordering
        row = statement.opcode.row
        is_proxy = statement.operation in PROXY_FENCES
        is_crossing = is_map_copy or statement.opcode.is_one_way
        place = None
        if is_crossing and not is_map_copy and statement.operands:
            place = self._place(each, statement.operands[0].strip("[] "), AddressSpace.GLOBAL)
        spaces = () if is_map_copy else statement.opcode.spaces
        yield Fence(
            instruction=each.number,
            scope=statement.scope or (Scope.SYSTEM if is_proxy else Scope.AGENT),
            acquires=ordering is not None and ordering.acquires,
            releases=ordering is not None and ordering.releases,
            proxies=frozenset({row.proxy} if is_proxy and row else ()),
            regions=frozenset(region for space in spaces for region in _OBJECTS.get(space, ())),
            is_one_sided=is_crossing,
            place=place,
            of_mbarriers=statement.operation == "fence mbarrier_init",
            is_sequential=ordering is Ordering.SEQ_CST,
        )

    # Obstacles

    def _obstacles(
        self,
        instructions: list[PtxInstruction],
        accesses: Sequence[Access],
        early: Sequence[Access],
    ) -> Iterator[Obstacle]:
        if not self.function.is_entry:
            yield Obstacle("a function that kernels call is judged in them", self.function.line)
        if self.registers.is_irreducible:
            yield Obstacle("a loop with several entries", self.function.line)
        doubtful = {each.name for each in self.function.opcodes if _is_doubtful(each.name)}
        for each in instructions if doubtful else ():
            statement = each.statement
            if statement.opcode.name not in doubtful:
                continue
            if statement.kind is Kind.OPAQUE:
                problem = statement.opcode.problem
                yield Obstacle(f"'{statement.opcode.name}' {problem}", each.line)
            elif (callee := unknown_callee(statement)) is not None:
                yield Obstacle(self.uncalled or f"a call of '{callee}'", each.line)
            elif statement.opcode.head in _ELSEWHERE:
                yield Obstacle("textures, surfaces and tensor maps are not followed", each.line)
            elif _has_word(statement.opcode.words, ("sync_restrict",)):
                yield Obstacle("a fence that is about shared memory alone", each.line)
            elif statement.operation == _GRID_LAUNCH and not self._those(
                instructions, (_GRID_WAIT,)
            ):
                yield Obstacle("another grid may run beside this one", each.line)
            elif statement.operation in ("st async release", "red async release"):
                yield Obstacle(f"nothing is known to wait for {statement.opcode.name}", each.line)
            elif statement.operation == "brx" and statement.guard:
                yield Obstacle("a branch by a table under a condition", each.line)
        yield from self.registers.obstacles()
        yield from _beside_grid(accesses, early)

    def _early(
        self, instructions: list[PtxInstruction], accesses: Sequence[Access]
    ) -> list[Access]:
        """The accesses that the grid before may run beside, where the kernel waits for it.

        Source: PTX ISA, griddepcontrol.
        """
        if not (every := self._those(instructions, (_GRID_WAIT,))):
            return []
        block_of = self.registers.block_of
        own = (each.number for each in reversed(every) if not each.statement.guard)
        waits = {block_of[number]: number for number in own}
        before = self.registers.graph.reachable([0], lambda block: block not in waits)
        return [
            access
            for access in accesses
            if access.place.root.region not in (Region.SHARED, Region.TENSOR)
            and (block := block_of[access.instruction]) in before
            and access.instruction < waits.get(block, access.instruction + 1)
        ]


def _beside_grid(accesses: Sequence[Access], early: Sequence[Access]) -> Iterator[Obstacle]:
    """The first of some early accesses that the grid before may race with.

    Others read objects of which nothing is accessed after the wait: what has to be waited for is
    in none of these, if the kernel's own wait is in its place.
    """
    numbers = {each.number for each in early}
    others = {each.place.root for each in accesses if each.number not in numbers or each.writes}
    for each in early:
        is_plain = not each.writes and not each.is_strong and each.place.offset is not None
        if not is_plain or each.place.root in others or each.place.root.region is Region.UNKNOWN:
            yield Obstacle("the grid before may run beside this access", each.line)
            return


@cache
def _has_word(words: tuple[str, ...], beginnings: tuple[str, ...]) -> bool:
    return any(word.startswith(beginnings) for word in words)


def _space_name(space: AddressSpace | None) -> str:
    if space is None:
        return ""
    return "shared" if space in _SHARED else "global"


def _agent_of(opcode: Opcode) -> Agent:
    if opcode.operation == "cp async":
        return Agent.COPY
    if opcode.operation in _COLLECTIVES or opcode.head == "tensormap":
        return Agent.THREAD
    if opcode.head == "wgmma":
        return Agent.PRODUCT
    if "bulk_group" in opcode.words:
        return Agent.GROUP
    if opcode.kind is Kind.COPY or ("bulk" in opcode.words and opcode.head == "cp"):
        return Agent.TRANSACTION
    return Agent.TENSOR if opcode.kind is Kind.TENSOR else Agent.THREAD


@record()
class _Form:
    """The facts about accesses that all instructions of one name share.

    ``has_places``: accesses are of memory that threads share. ``has_own_size``: the size is not
    that of an element.
    """

    has_places: bool
    has_own_size: bool
    is_collective: bool
    is_strong: bool
    acquires: bool
    releases: bool
    scope: Scope | None
    agent: Agent
    update: str
    is_coherent: bool


@cache
def _form_of(name: str) -> _Form:
    """The form of the accesses of an instruction's name."""
    opcode = read_opcode(name)
    operation, ordering = opcode.operation, opcode.ordering
    is_collective = operation in _COLLECTIVES
    is_strong = ordering not in (None, Ordering.WEAK) and not is_collective
    is_fence = opcode.kind is Kind.FENCE and not is_collective
    is_update = opcode.kind is Kind.RMW
    return _Form(
        has_places=not (opcode.of_parameters or operation in _STEPS or is_fence),
        has_own_size=opcode.kind is Kind.COPY
        or opcode.head in ("tensormap", "wmma", "multimem")
        or operation in ("tcgen05 alloc", "st bulk"),
        is_collective=is_collective,
        is_strong=is_strong,
        acquires=ordering is not None and ordering.acquires,
        releases=ordering is not None and ordering.releases,
        scope=opcode.scope if ordering not in (None, Ordering.WEAK) else None,
        agent=_agent_of(opcode),
        update=(opcode.update or "update") if is_update else "",
        is_coherent=operation != "ld nc",
    )


@cache
def _is_doubtful(name: str) -> bool:
    """True of an instruction's name that may be an obstacle."""
    opcode = read_opcode(name)
    return (
        opcode.kind is Kind.OPAQUE
        or opcode.operation in _DOUBTFUL
        or opcode.head in _ELSEWHERE
        or _has_word(opcode.words, ("sync_restrict",))
    )


def _mapa_in(value: Value) -> Apply | None:
    """The ``mapa`` that an address is computed from; None if none or several."""
    found = {
        part
        for part in parts_first((value,))
        if isinstance(part, Apply) and "mapa" in part.operation
    }
    only = found.pop() if len(found) == 1 else None
    return only if isinstance(only, Apply) and len(only.arguments) == 2 else None


def _bounded(access: Access, steps: Sequence[MbarrierStep]) -> Access:
    """A tensor copy with the bytes that its mbarrier expects, which it has at most."""
    if access.least is None or access.size is not None or access.mbarrier is None:
        return access
    expected = {
        number_of(each.bytes)
        for each in steps
        if each.bytes is not None and each.place.root == access.mbarrier.root
    }
    sizes = [size for size in expected if size is not None]
    return replace(access, size=max(sizes)) if sizes and None not in expected else access
