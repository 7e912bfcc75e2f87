"""Inline PTX and NVVM's intrinsics in LLVM IR: which ``scoped`` operation each is, if one says it.

A call that is one unconditional operation which ``scoped`` has words for becomes that operation.
It keeps its text (``dialect.ASM``) and is written back as that text while nothing of it has
changed. What
``scoped`` cannot say stays text: an access under a predicate, of a vector, with a cache hint,
through an integer. Of an atomic read-modify-write that stays text it is noted what it is
(``UPDATE``), and of what touches no memory that it does not. All other calls may do anything.

Source: PTX ISA; LLVM NVPTXUsage, NVPTX Intrinsics; LLVM IntrinsicsNVVM.td.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import MappingProxyType

from xdsl.dialects.builtin import (
    DictionaryAttr,
    Float32Type,
    Float64Type,
    IntAttr,
    IntegerAttr,
    StringAttr,
    UnitAttr,
    i1,
    i32,
    i64,
)
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute, Block, Operation
from xdsl.utils.exceptions import VerifyException

from fencewright.lowering.code.effects import Proxy
from fencewright.lowering.llvm.intrinsics.nvvm_ptx import AS_PTX
from fencewright.lowering.ptx.code.inline import is_volatile_memory, read
from fencewright.lowering.ptx.code.statements import (
    ACCESSES,
    SILENT,
    Statement,
    number,
    read_statement,
)
from fencewright.lowering.vocabulary import AddressSpace, Ordering, RmwKind, Scope
from fencewright.mlir_dialects import scoped, scoped_async
from fencewright.mlir_dialects.attributes import (
    ADDRESS_SPACES,
    ORDERINGS,
    RMW_KINDS,
    SCOPES,
    OrderingAttr,
    ScopeAttr,
)
from fencewright.mlir_dialects.llvm_ir import dialect as llvm_ir

_CALL = re.compile(
    r"(?:tail |musttail |notail )?call (?P<type>.+?) "
    r'(?:asm (?P<flags>(?:sideeffect |alignstack |inteldialect |unwind )*)"(?P<text>[^"]*)", '
    r'"(?P<constraints>[^"]*)"|@(?P<intrinsic>llvm\.nvvm\.[\w.]+))'
    r"\((?P<operands>.*)\)(?P<rest>[^()]*)"
)
_NOALIAS = "!noalias "
"""Metadata by which LLVM moves accesses past a call."""
_ESCAPE = re.compile(r"\\([0-9A-Fa-f]{2}|\\)")
_OPERAND = re.compile(
    rf"(?P<type>{llvm_ir.SIMPLE_TYPE}) (?:[a-z]\w*(?:\([^)]*\))? )*(?P<value>\S+)"
)
_PLACE = re.compile(r"\{(\d+)\}")
_ADDRESS = re.compile(r"\[ ?(\$\d+)(?: ?\+ ?0)? ?\]")
_UNIT = UnitAttr()


@dataclass(frozen=True, slots=True)
class Translation:
    """The translation of a call. ``op_type``: the operation that it becomes; None: it stays text.

    ``operands``: for each its number among the values of the call's template, or the text of a
    constant; ``types`` their types.
    """

    op_type: type[Operation] | None = None
    operands: tuple[int | str, ...] = ()
    types: tuple[Attribute, ...] = ()
    result_types: tuple[Attribute, ...] = ()
    properties: dict[str, Attribute] = field(default_factory=dict[str, Attribute])
    attributes: dict[str, Attribute] = field(default_factory=dict[str, Attribute])


NOT_UNDERSTOOD = Translation()


@lru_cache(maxsize=1 << 12)
def understand(template: str) -> Translation:
    """The translation of the call of a template (of an ``llvm_ir.inst``)."""
    found = _CALL.fullmatch(template)
    if found is None or _NOALIAS in found["rest"]:
        return NOT_UNDERSTOOD
    call = _call_of(found)
    if call is None or call.statements is None:
        return NOT_UNDERSTOOD
    heard = [each for each in call.statements if each.kind not in SILENT]
    if not heard:
        # A text that is said to change memory is there to keep others from moving.
        return (
            NOT_UNDERSTOOD if call.clobbers else Translation(attributes={llvm_ir.NO_ACCESS: _UNIT})
        )
    if len(heard) == 1 and call.has_side_effects:
        said = _said(call, heard[0])
        if said is not None and (whole := _as_operation(template, call, said)) is not None:
            return whole
    return _as_text(heard, call.has_side_effects)


def say(
    statement: Statement, operands: Sequence[tuple[str, str]], result: str = "void"
) -> "Said | None":
    """The operation of ``scoped`` that one unconditional statement is; None if none says it.

    ``operands``: type and value of each as LLVM writes them; ``result``: its type. ``$0`` of the
    statement is the result if there is one, the next ``$n`` are the operands in their order.
    """
    outputs = 0 if result == "void" else 1
    return _said(_Call(result, (statement,), tuple(operands), outputs, True, True), statement)


@dataclass(frozen=True, slots=True)
class _Call:
    """A call of inline PTX, or of an intrinsic as if it were that.

    ``operands``: type and value of each, the results not among them, which are ``outputs`` many.
    """

    type: str
    statements: Sequence[Statement] | None
    operands: tuple[tuple[str, str], ...]
    outputs: int
    has_side_effects: bool
    clobbers: bool


def _call_of(found: re.Match[str]) -> _Call | None:
    operands = tuple(_operands(found["operands"]))
    outputs = 0 if found["type"] == "void" else 1
    if found["intrinsic"] is not None:
        text = AS_PTX.get(found["intrinsic"])
        statement = None if text is None else read_statement(text)
        statements = None if statement is None else (statement,)
        return _Call(found["type"], statements, operands, outputs, True, True)
    constraints = found["constraints"]
    text = _ESCAPE.sub(_unescaped, found["text"])
    outputs = sum(each.strip().startswith("=") for each in constraints.split(","))
    return _Call(
        found["type"],
        read(text, constraints),
        operands,
        outputs,
        "sideeffect" in found["flags"],
        is_volatile_memory(constraints),
    )


def _unescaped(found: re.Match[str]) -> str:
    return "\\" if found[1] == "\\" else chr(int(found[1], 16))


def _operands(text: str) -> Iterator[tuple[str, str]]:
    """Type and value of each operand; "" for the type of one that is neither place nor number."""
    depth = start = 0
    for at, character in enumerate(f"{text},"):
        depth += {"(": 1, "<": 1, "[": 1, ")": -1, ">": -1, "]": -1}.get(character, 0)
        if character == "," and not depth:
            given = text[start:at].strip()
            if given:
                said = _OPERAND.fullmatch(given)
                yield (said["type"], said["value"]) if said else ("", given)
            start = at + 1


@dataclass(frozen=True, slots=True)
class Said:
    """An operation of ``scoped`` before it is made: operands by their places in the text."""

    op_type: type[Operation]
    properties: Mapping[str, Attribute | None] = field(default_factory=dict[str, Attribute | None])
    operands: tuple[str, ...] = ()
    result: Attribute | None = None


@dataclass(frozen=True, slots=True)
class _Reader:
    """One statement, with its operands in LLVM IR."""

    call: _Call
    statement: Statement

    @property
    def modifiers(self) -> frozenset[str]:
        """The words of the name that say nothing of ordering, scope, space or type."""
        return self.statement.opcode.modifiers

    def given(self, place: str) -> tuple[str, str] | None:
        """Type and value of the operand ``$n``; None for a result, or for another operand."""
        at = int(place[1:]) - self.call.outputs if re.fullmatch(r"\$\d+", place) else -1
        return self.call.operands[at] if 0 <= at < len(self.call.operands) else None

    def gives(self, place: str, type_: str) -> bool:
        """True if an operand is the only result, of this type."""
        return place == "$0" and self.call.outputs == 1 and self.call.type == type_

    def type_of(self, place: str) -> Attribute | None:
        """The type of an operand."""
        given = self.given(place)
        return llvm_ir.type_from_text(given[0]) if given and given[0] else None

    def constant(self, text: str) -> int | None:
        """The number that an operand is, in the text or by its value."""
        given = self.given(text)
        return number(given[1] if given else text)

    def pointer(self, text: str, space: AddressSpace | None = None) -> str | None:
        """The place in ``[$n]``, if it is a pointer to ``space``; None: to that which the name
        says."""
        if space is None:
            said = self.statement.opcode.spaces
            if len(said) > 1:
                return None
            space = said[0] if said else AddressSpace.GENERIC
        found = _ADDRESS.fullmatch(text)
        type_ = self.type_of(found[1]) if found else None
        if found is None or not isinstance(type_, LLVMPointerType):
            return None
        number = type_.addr_space.data if isinstance(type_.addr_space, IntAttr) else 0
        return found[1] if number == space.number else None


def _said(call: _Call, statement: Statement) -> Said | None:
    made = _OPERATIONS.get(statement.operation)
    return None if made is None or statement.guard else made(_Reader(call, statement))


def _as_operation(template: str, call: _Call, said: Said) -> Translation | None:
    """The operation; None if it does not take all that the call is given, or means nothing."""
    properties = {name: each for name, each in said.properties.items() if each is not None}
    operands: list[int | str] = []
    order: dict[int, int] = {}
    for place in said.operands:
        _, value = call.operands[int(place[1:]) - call.outputs]
        if found := _PLACE.fullmatch(value):
            order[int(found[1])] = len(operands)
            operands.append(int(found[1]))
        else:
            operands.append(value)
    places = llvm_ir.parse_template(template).operands
    if sorted(order) != [*range(places)] or len(set(said.operands)) != len(said.operands):
        return None
    text = _PLACE.sub(lambda each: f"{{{order[int(each[1])]}}}", template)
    kept = {"text": StringAttr(text), "was": DictionaryAttr(dict(properties))}
    results = () if said.result is None else (said.result,)
    types = [
        llvm_ir.type_from_text(call.operands[int(p[1:]) - call.outputs][0]) for p in said.operands
    ]
    op = said.op_type.create(
        operands=Block(arg_types=types).args, result_types=results, properties=dict(properties)
    )
    try:
        op.verify_()
    except VerifyException:
        return None
    attributes: dict[str, Attribute] = {llvm_ir.ASM: DictionaryAttr(kept)}
    if place := llvm_ir.DEBUG_LOCATION.search(template):
        attributes[llvm_ir.METADATA] = StringAttr(place[0])
    return Translation(said.op_type, tuple(operands), tuple(types), results, properties, attributes)


def _as_text(heard: Sequence[Statement], has_side_effects: bool) -> Translation:
    if not all(map(_is_generic, heard)):
        return NOT_UNDERSTOOD
    said: dict[str, Attribute] | None = {"ordering": ORDERINGS[Ordering.WEAK]}
    strong = [each for each in heard if each.is_strong]
    if strong:
        said = strong_access(strong[0]) if len(heard) == 1 and has_side_effects else None
        if said is None:
            return NOT_UNDERSTOOD
        if strong[0].operation in ("atom", "red") and strong[0].opcode.update != "cas":
            said["update"] = _UNIT
    return Translation(attributes={llvm_ir.ACCESS: DictionaryAttr(said)})


def strong_access(statement: Statement) -> dict[str, Attribute] | None:
    """Ordering and scope of one strong access in the generic proxy, as ``ACCESS`` notes them."""
    ordering, scope = statement.ordering, statement.scope
    if not _is_generic(statement) or not statement.is_strong or ordering is None or scope is None:
        return None
    return {"ordering": ORDERINGS[ordering], "scope": SCOPES[scope]}


def _is_generic(statement: Statement) -> bool:
    """True if a statement is nothing but accesses in the generic proxy.

    The addresses of ``multimem`` are others of memory that has some already.
    """
    proxies = {each.proxy for each in statement.accesses}
    return (
        statement.kind in ACCESSES
        and proxies <= {Proxy.GENERIC}
        and statement.opcode.head != "multimem"
    )


def access_of(op: Operation) -> tuple[Ordering, Scope | None] | None:
    """The ordering and scope of an access that is text; None for any other operation."""
    said = op.attributes.get(llvm_ir.ACCESS)
    if not isinstance(said, DictionaryAttr):
        return None
    ordering, scope = said.data.get("ordering"), said.data.get("scope")
    if not isinstance(ordering, OrderingAttr):
        return None
    return ordering.data, scope.data if isinstance(scope, ScopeAttr) else None


# Accesses


def _ordered(read: _Reader) -> dict[str, Attribute | None]:
    ordering, scope = read.statement.ordering, read.statement.scope
    assert ordering is not None
    weak = ordering is Ordering.WEAK
    return {
        "ordering": ORDERINGS[ordering],
        "scope": None if weak or scope is None else SCOPES[scope],
        "volatile": _UNIT if read.statement.opcode.volatile else None,
    }


def _fits(read: _Reader, type_: Attribute | None) -> bool:
    """True where a value has the type of the name; accesses of I/O memory are not ``scoped``'s."""
    opcode = read.statement.opcode
    return (
        type_ is not None
        and not opcode.mmio
        and opcode.vector == 1
        and not isinstance(type_, LLVMPointerType)
        and scoped.width_of(type_) == opcode.width
    )


def _load(read: _Reader) -> Said | None:
    _, address = read.statement.operands
    pointer, type_ = read.pointer(address), llvm_ir.type_from_text(read.call.type)
    if pointer is None or not _fits(read, type_) or read.modifiers - {"volatile"}:
        return None
    return Said(scoped.LoadOp, _ordered(read), (pointer,), type_)


def _store(read: _Reader) -> Said | None:
    address, value = read.statement.operands
    pointer, type_ = read.pointer(address), read.type_of(value)
    if pointer is None or not _fits(read, type_) or read.modifiers - {"volatile"}:
        return None
    return Said(scoped.StoreOp, _ordered(read), (value, pointer))


_FLOATS = (Float32Type(), Float64Type())


def _update(read: _Reader) -> Said | None:
    *_, address, value = read.statement.operands
    pointer, type_ = read.pointer(address), read.type_of(value)
    opcode = read.statement.opcode
    if pointer is None or not _fits(read, type_) or read.modifiers - {opcode.update}:
        return None
    kind = opcode.rmw
    if kind is None or (kind is RmwKind.FADD) != (type_ in _FLOATS):
        return None
    if read.call.outputs and llvm_ir.type_from_text(read.call.type) != type_:
        return None
    properties = {**_ordered(read), "kind": RMW_KINDS[kind]}
    return Said(scoped.AtomicRmwOp, properties, (pointer, value), type_)


# Fences and barriers


def _fence(read: _Reader) -> Said | None:
    ordering, scope = read.statement.ordering, read.statement.scope
    if read.modifiers & _RESTRICTED:
        return _restricted(read, scoped_async.Proxy.GENERIC)
    if ordering is None or scope is None or read.modifiers - _MEMBARS:
        return None
    return Said(scoped.FenceOp, {"ordering": ORDERINGS[ordering], "scope": SCOPES[scope]})


_MEMBARS = frozenset({"gl"})
_RESTRICTED = frozenset({"sync_restrict::shared::cta", "sync_restrict::shared::cluster"})


def _restricted(read: _Reader, proxy: scoped_async.Proxy) -> Said | None:
    ordering, scope = read.statement.ordering, read.statement.scope
    if ordering is None or scope is not Scope.CLUSTER or read.modifiers - _RESTRICTED:
        return None
    properties = {"ordering": ORDERINGS[ordering], "proxy": scoped_async.PROXIES[proxy]}
    return Said(scoped_async.ClusterFenceOp, properties)


def _between_proxies(read: _Reader) -> Said | None:
    return _restricted(read, scoped_async.Proxy.ASYNC)


def _tensormap_fence(read: _Reader) -> Said | None:
    """An acquire of the 128 bytes of a map, or a release."""
    ordering, scope = read.statement.ordering, read.statement.scope
    places = [read.pointer(each) for each in read.statement.operands[:1]]
    sizes = [read.constant(each) for each in read.statement.operands[1:]]
    if None in places or sizes != [128] * len(places) or ordering is None or scope is None:
        return None
    properties = {"ordering": ORDERINGS[ordering], "scope": SCOPES[scope]}
    return (
        None if read.modifiers else Said(scoped_async.TensormapFenceOp, properties, _known(places))
    )


def _barrier(read: _Reader) -> Said | None:
    given = [read.constant(each) for each in read.statement.operands]
    if read.modifiers - {"aligned", "cta"} or None in given or not given:
        return None
    if given == [0] and read.statement.operation_words[-1] == "sync":
        properties = {"ordering": ORDERINGS[Ordering.ACQ_REL], "scope": SCOPES[Scope.WORKGROUP]}
        return Said(scoped.BarrierOp, properties)
    if len(given) != 2:
        return None
    part = scoped_async.BarrierPart(read.statement.operation_words[-1])
    properties = {
        "part": scoped_async.BarrierPartAttr(part),
        "number": _integer(given[0]),
        "threads": _integer(given[1]),
    }
    return Said(scoped_async.NamedBarrierOp, properties)


def _wavefront_barrier(read: _Reader) -> Said | None:
    """One of all lanes: with a mask of some it is text."""
    (mask,) = read.statement.operands or ("",)
    if read.modifiers or read.constant(mask) not in (-1, 0xFFFFFFFF):
        return None
    properties = {"ordering": ORDERINGS[Ordering.ACQ_REL], "scope": SCOPES[Scope.WAVEFRONT]}
    return Said(scoped.BarrierOp, properties)


def _integer(value: int | None) -> IntegerAttr | None:
    return None if value is None else IntegerAttr(value, i64)


def _cluster_arrive(read: _Reader) -> Said | None:
    ordering = read.statement.ordering
    if ordering is None or read.modifiers - {"aligned", "cluster"}:
        return None
    return Said(scoped_async.ClusterArriveOp, {"ordering": ORDERINGS[ordering]})


def _proxy_fence(read: _Reader) -> Said | None:
    spaces = read.statement.opcode.spaces
    if read.modifiers or len(spaces) > 1:
        return None
    space = ADDRESS_SPACES[spaces[0]] if spaces else None
    return Said(scoped_async.ProxyFenceOp, {"space": space})


def _plain(op_type: type[Operation], **properties: Attribute) -> "Callable[[_Reader], Said | None]":
    """The operation of a statement without operands, all of whose words its row has."""

    def made(read: _Reader) -> Said | None:
        if read.statement.operands or read.modifiers - {"aligned", "sync", "cluster", "cta"}:
            return None
        return Said(op_type, properties)

    return made


def _waiting(op_type: type[Operation]) -> "Callable[[_Reader], Said | None]":
    """The wait for all groups but so many."""

    def made(read: _Reader) -> Said | None:
        if len(read.statement.operands) != 1 or read.modifiers - {"aligned", "sync", "read"}:
            return None
        pending = _integer(read.constant(read.statement.operands[0]))
        if pending is None:
            return None
        reads = _UNIT if "read" in read.modifiers else None
        return Said(op_type, {"pending": pending, "read": reads})

    return made


# mbarriers


def _mbarrier(
    read: _Reader, op_type: type[Operation], operand: str, **properties: Attribute | None
) -> Said | None:
    """An operation on the mbarrier in ``operand``, with its ``properties``."""
    pointer = read.pointer(operand)
    known = {"b64", "count", "parity", "noinc"} | {"release", "relaxed", "acquire"}
    if pointer is None or read.modifiers - known:
        return None
    return Said(op_type, properties, (pointer,))


def _mbarrier_init(read: _Reader) -> Said | None:
    address, count = read.statement.operands
    if (given := _integer(read.constant(count))) is None:
        return None
    return _mbarrier(read, scoped_async.MbarrierInitOp, address, count=given)


def _mbarrier_inval(read: _Reader) -> Said | None:
    return _mbarrier(read, scoped_async.MbarrierInvalOp, read.statement.operands[0])


def _mbarrier_bytes(op_type: type[Operation]) -> "Callable[[_Reader], Said | None]":
    """An operation on the bytes that a phase waits for."""

    def made(read: _Reader) -> Said | None:
        address, count = read.statement.operands
        given, scope = _integer(read.constant(count)), read.statement.scope
        if given is None or scope is None:
            return None
        return _mbarrier(read, op_type, address, scope=SCOPES[scope], bytes=given)

    return made


def _mbarrier_arrive(read: _Reader) -> Said | None:
    """An arrival, with its token if that is all that the text gives."""
    operands = list(read.statement.operands)
    token = "_" if not operands or operands[0].startswith("[") else operands.pop(0)
    if token != "_" and not read.gives(token, "i64"):
        return None
    ordering, scope = read.statement.ordering, read.statement.scope
    given = [_integer(read.constant(each)) for each in operands[1:]]
    if ordering is None or scope is None or None in given or len(given) > 1:
        return None
    words = read.statement.operation_words
    said = {("expect_tx" if "expect_tx" in words else "count"): each for each in given}
    drop = _UNIT if "arrive_drop" in words else None
    made = _mbarrier(
        read,
        scoped_async.MbarrierArriveOp,
        operands[0],
        ordering=ORDERINGS[ordering],
        scope=SCOPES[scope],
        drop=drop,
        **said,
    )
    return made if made is None or token == "_" else replace(made, result=i64)


def _mbarrier_wait(read: _Reader) -> Said | None:
    """A loop around one wait for a parity, or a question whose answer is all that the text
    gives."""
    statement = read.statement
    ordering, scope = statement.ordering, statement.scope
    if ordering is None or scope is None or len(statement.operands) != 3:
        return None
    complete, address, phase = statement.operands
    asks = read.gives(complete, "i1")
    if asks is statement.loops or (statement.loops and "parity" not in read.modifiers):
        return None
    if read.type_of(phase) != (i32 if "parity" in read.modifiers else i64):
        return None
    op_type = _QUESTIONS[statement.operation] if asks else scoped_async.MbarrierWaitOp
    said = _mbarrier(read, op_type, address, ordering=ORDERINGS[ordering], scope=SCOPES[scope])
    if said is None:
        return None
    return Said(op_type, said.properties, (phase, *said.operands), i1 if asks else None)


_QUESTIONS: Mapping[str, type[Operation]] = MappingProxyType(
    {
        "mbarrier try_wait": scoped_async.MbarrierTryWaitOp,
        "mbarrier test_wait": scoped_async.MbarrierTestWaitOp,
    }
)


def _tensor_commit(read: _Reader) -> Said | None:
    if read.modifiers ^ {"cta_group::1", "mbarrier::arrive::one"}:
        return None
    pointer = read.pointer(read.statement.operands[0], AddressSpace.LOCAL)
    return None if pointer is None else Said(scoped_async.Tcgen05CommitOp, {}, (pointer,))


# Copies


def _async_copy(read: _Reader) -> Said | None:
    """One of a constant size; how many bytes of these it reads may be an operand, but no
    predicate."""
    spaces = read.statement.opcode.spaces
    if read.modifiers - {"ca", "cg"} or len(spaces) != 2:
        return None
    to, of, size, *reads = read.statement.operands
    places = (read.pointer(to, spaces[0]), read.pointer(of, spaces[1]))
    given = _integer(read.constant(size))
    if None in places or given is None or any(read.type_of(each) != i32 for each in reads):
        return None
    return Said(scoped_async.AsyncCopyOp, {"size": given}, (*_known(places), *reads))


def _bulk_copy(read: _Reader) -> Said | None:
    """One that completes on an mbarrier beside its destination, or with its group."""
    spaces = read.statement.opcode.spaces
    to, of, size, *mbarriers = read.statement.operands
    ends = frozenset({_COMPLETES if mbarriers else "bulk_group"})
    if read.modifiers != ends or len(spaces) != 2 or len(mbarriers) > 1:
        return None
    places = [read.pointer(to, spaces[0]), read.pointer(of, spaces[1])]
    places += [read.pointer(each, spaces[0]) for each in mbarriers]
    given = _integer(read.constant(size))
    if None in places or given is None:
        return None
    return Said(scoped_async.BulkCopyOp, {"size": given}, _known(places))


_COMPLETES = "mbarrier::complete_tx::bytes"


def _tensor_load(read: _Reader) -> Said | None:
    """A copy of a tile that completes on an mbarrier: no gathering, multicast or cache hint."""
    if len(read.statement.operands) != 3 or read.modifiers - _TILED - {_COMPLETES}:
        return None
    to, tensor, mbarrier = read.statement.operands
    places = [read.pointer(to, read.statement.opcode.spaces[0]), *_tile(read, tensor)]
    places.insert(2, read.pointer(mbarrier, AddressSpace.LOCAL))
    if None in places or len(places) < 4:
        return None
    return Said(scoped_async.TensorLoadOp, {}, _known(places))


def _tensor_store(read: _Reader) -> Said | None:
    if len(read.statement.operands) != 2 or read.modifiers - _TILED:
        return None
    tensor, source = read.statement.operands
    map_, *coordinates = _tile(read, tensor)
    places = [map_, read.pointer(source, AddressSpace.LOCAL), *coordinates]
    if None in places or not coordinates:
        return None
    return Said(scoped_async.TensorStoreOp, {}, _known(places))


_TILED = frozenset({"tile", *(f"{n}d" for n in range(1, 6))})


def _tile(read: _Reader, text: str) -> list[str | None]:
    """The places of a tensor's map and coordinates in ``[$0, {$1, $2}]``."""
    found = _TENSOR.fullmatch(text)
    if found is None:
        return [None]
    coordinates = [each.strip() for each in found[2].split(",")]
    types = [read.type_of(each) for each in coordinates]
    given = [at if type_ == i32 else None for at, type_ in zip(coordinates, types, strict=True)]
    return [read.pointer(f"[{found[1]}]", AddressSpace.GENERIC), *given]


_TENSOR = re.compile(r"\[(\$\d+), ?\{([^{}]*)\}\]")


def _store_async(read: _Reader) -> Said | None:
    if read.modifiers - {_COMPLETES} or read.statement.opcode.vector != 1:
        return None
    address, value, mbarrier = read.statement.operands
    places = (read.pointer(address), read.pointer(mbarrier))
    if None in places or not _fits(read, read.type_of(value)):
        return None
    return Said(scoped_async.StoreAsyncOp, {}, (value, *_known(places)))


def _async_arrive(read: _Reader) -> Said | None:
    noinc = _UNIT if "noinc" in read.modifiers else None
    return _mbarrier(read, scoped_async.AsyncArriveOp, read.statement.operands[0], noinc=noinc)


def _known(places: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(each for each in places if each is not None)


_BEFORE = scoped_async.SIDES[scoped_async.Side.BEFORE]
_AFTER = scoped_async.SIDES[scoped_async.Side.AFTER]
_LOADS = scoped_async.DIRECTIONS[scoped_async.Direction.LOADS]
_STORES = scoped_async.DIRECTIONS[scoped_async.Direction.STORES]

_OPERATIONS: Mapping[str, Callable[[_Reader], Said | None]] = MappingProxyType(
    {
        "ld": _load,
        "st": _store,
        "atom": _update,
        "red": _update,
        "fence": _fence,
        "membar": _fence,
        "bar sync": _barrier,
        "bar warp sync": _wavefront_barrier,
        "bar arrive": _barrier,
        "barrier sync": _barrier,
        "barrier arrive": _barrier,
        "barrier cluster arrive": _cluster_arrive,
        "barrier cluster wait": _plain(scoped_async.ClusterWaitOp),
        "fence proxy async": _proxy_fence,
        "fence proxy alias": _plain(scoped_async.AliasFenceOp),
        "fence proxy async::generic": _between_proxies,
        "fence proxy tensormap::generic": _tensormap_fence,
        "fence mbarrier_init": _plain(scoped_async.MbarrierInitFenceOp),
        "mbarrier init": _mbarrier_init,
        "mbarrier inval": _mbarrier_inval,
        "mbarrier expect_tx": _mbarrier_bytes(scoped_async.MbarrierExpectTxOp),
        "mbarrier complete_tx": _mbarrier_bytes(scoped_async.MbarrierCompleteTxOp),
        "mbarrier arrive": _mbarrier_arrive,
        "mbarrier arrive_drop": _mbarrier_arrive,
        "mbarrier arrive expect_tx": _mbarrier_arrive,
        "mbarrier arrive_drop expect_tx": _mbarrier_arrive,
        "mbarrier try_wait": _mbarrier_wait,
        "mbarrier test_wait": _mbarrier_wait,
        "cp async": _async_copy,
        "cp async bulk": _bulk_copy,
        "cp async bulk tensor": _tensor_load,
        "cp async bulk tensor bulk_group": _tensor_store,
        "st async": _store_async,
        "cp async mbarrier arrive": _async_arrive,
        "cp async commit_group": _plain(scoped_async.AsyncCommitGroupOp),
        "cp async wait_group": _waiting(scoped_async.AsyncWaitGroupOp),
        "cp async bulk commit_group": _plain(scoped_async.BulkCommitGroupOp),
        "cp async bulk wait_group": _waiting(scoped_async.BulkWaitGroupOp),
        "wgmma fence": _plain(scoped_async.WgmmaFenceOp),
        "wgmma commit_group": _plain(scoped_async.WgmmaCommitGroupOp),
        "wgmma wait_group": _waiting(scoped_async.WgmmaWaitGroupOp),
        "tcgen05 commit": _tensor_commit,
        "tcgen05 fence::before_thread_sync": _plain(scoped_async.Tcgen05FenceOp, side=_BEFORE),
        "tcgen05 fence::after_thread_sync": _plain(scoped_async.Tcgen05FenceOp, side=_AFTER),
        "tcgen05 wait::ld": _plain(scoped_async.Tcgen05WaitOp, direction=_LOADS),
        "tcgen05 wait::st": _plain(scoped_async.Tcgen05WaitOp, direction=_STORES),
    }
)
"""By the words of its row (``lowering.ptx.code.statements``), the maker of an operation from a
statement."""
