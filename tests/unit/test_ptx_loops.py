"""The loops and plain sequences of PTX read-modify-writes, executed on values, with interference."""

import operator
import random
import re
import struct
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from campaigns import Share, first_share

from fencewright.lowering.lower import lower
from fencewright.lowering.ptx.atomics import RMW
from fencewright.lowering.sequence import Sequence
from fencewright.lowering.table import Illegal
from fencewright.lowering.vocabulary import RmwKind

ADDRESS = 0x1000
Interfere = Callable[[bytearray], None]


class Thread:
    """One thread that executes a sequence on ``memory``, the bytes from ADDRESS & ~7 on.

    ``interfere`` is another thread: it is let in just before every ``atom``.
    """

    def __init__(self, memory: bytearray, interfere: Interfere):
        self.memory = memory
        self.interfere = interfere
        self.registers: dict[str, int] = {}
        self.steps = 0

    def run(self, sequence: Sequence, **operands: int) -> None:
        self.registers |= operands
        lines = [each.text for each in sequence.instructions]
        labels = {line[1:-2]: n for n, line in enumerate(lines) if line.endswith("}:")}
        at = 0
        while at < len(lines):
            self.steps += 1
            assert self.steps < 1000, "the loop does not end"
            target = self._step(lines[at])
            at = at + 1 if target is None else labels[target]

    def _step(self, line: str) -> str | None:
        """Execute one line; the label to go to, if any."""
        if line.startswith((".reg", "fence")) or line.endswith(":"):
            return None
        if line.startswith("@"):
            predicate, line = line.split(" ", 1)
            if not self.registers[predicate[2:-1]]:
                return None
        mnemonic, operands = line.split(" ", 1)
        parts, values = mnemonic.split("."), operands.split(", ")
        if parts[0] == "bra":
            return values[0][1:-1]
        if parts[0] == "ld":
            self._write(values[0], self._load(self._address(values[1]), _bits(parts)))
        elif parts[0] == "st":
            self._store(self._address(values[0]), _bits(parts), self._read(values[1]))
        elif parts[0] in ("atom", "red"):
            self._atom(parts, values if parts[0] == "atom" else ["_", *values])
        else:
            arguments = [self._read(value) for value in values[1:]]
            self._write(values[0], _compute(parts, arguments))
        return None

    def _atom(self, parts: list[str], values: list[str]) -> None:
        self.interfere(self.memory)
        address, bits = self._address(values[1]), _bits(parts)
        old = self._load(address, bits)
        arguments = [self._read(value) for value in values[2:]]
        new = _swap(parts[-2:], old, arguments, bits)
        self._store(address, bits, new)
        self._write(values[0], old)

    def _address(self, operand: str) -> int:
        address = self._read(operand.strip("[]"))
        return address - (ADDRESS & ~7)

    def _load(self, address: int, bits: int) -> int:
        assert address % (bits // 8) == 0, "misaligned"
        return int.from_bytes(self.memory[address : address + bits // 8], "little")

    def _store(self, address: int, bits: int, value: int) -> None:
        raw = (value & _mask(bits)).to_bytes(bits // 8, "little")
        self.memory[address : address + bits // 8] = raw

    def _read(self, operand: str) -> int:
        if operand.startswith("{"):
            return self.registers[operand[1:-1]]
        return int(operand)

    def _write(self, operand: str, value: int) -> None:
        if operand != "_":
            self.registers[operand[1:-1]] = value


def _bits(parts: list[str]) -> int:
    found = re.search(r"\d+$", parts[-1])
    assert found
    return int(found[0])


def _mask(bits: int) -> int:
    return (1 << bits) - 1


def _signed(value: int, bits: int) -> int:
    value &= _mask(bits)
    return value - (1 << bits) if value >> (bits - 1) else value


def _typed(value: int, type_: str) -> int | float:
    bits = int(type_[1:])
    if type_[0] == "f":
        return struct.unpack(
            "<f" if bits == 32 else "<d", (value & _mask(bits)).to_bytes(bits // 8, "little")
        )[0]
    return _signed(value, bits) if type_[0] == "s" else value & _mask(bits)


def _raw(value: int | float, type_: str) -> int:
    bits = int(type_[1:])
    if type_[0] == "f":
        return int.from_bytes(struct.pack("<f" if bits == 32 else "<d", value), "little")
    return int(value) & _mask(bits)


ARITHMETIC: dict[str, Callable[..., Any]] = {
    "mov": operator.pos,
    "neg": operator.neg,
    "not": operator.inv,
    "add": operator.add,
    "sub": operator.sub,
    "and": int.__and__,
    "or": int.__or__,
    "xor": int.__xor__,
    "shl": int.__lshift__,
    "max": max,
    "min": min,
}


def _compute(parts: list[str], arguments: list[int]) -> int:
    """PTX arithmetic, as far as the sequences use it."""
    name, type_ = parts[0], parts[-1]
    if name == "cvt":
        return _raw(_typed(arguments[0], type_), parts[1])
    if name == "bfe":
        field = (arguments[0] >> arguments[1]) & _mask(arguments[2])
        return _raw(_typed(field, f"{type_[0]}{arguments[2]}"), type_)
    if name == "bfi":
        into = arguments[1] & ~(_mask(arguments[3]) << arguments[2])
        return into | (arguments[0] & _mask(arguments[3])) << arguments[2]
    if name == "selp":
        return arguments[0] if arguments[2] else arguments[1]
    values = [_typed(value, type_) for value in arguments]
    if name == "setp":
        return {
            "ne": values[0] != values[1],
            "eq": values[0] == values[1],
            "ge": values[0] >= values[1],
        }[parts[1]]
    result = ARITHMETIC[name](*values)
    return _raw(result, type_)


def _swap(operation: list[str], old: int, arguments: list[int], bits: int) -> int:
    name, type_ = operation
    if name == "cas":
        return arguments[1] if old == arguments[0] & _mask(bits) else old
    if name == "exch":
        return arguments[0]
    if name == "inc":
        return 0 if old >= arguments[0] else old + 1
    if name == "dec":
        return arguments[0] if old == 0 or old > arguments[0] else old - 1
    return _compute([name, type_], [old, arguments[0]])


def _reference(kind: RmwKind, bits: int, old: int, operand: int) -> int:
    """What LLVM's LangRef says that ``atomicrmw`` computes."""
    k = RmwKind
    if kind in (k.FADD, k.FSUB, k.FMAX, k.FMIN):
        a, b = _typed(old, f"f{bits}"), _typed(operand, f"f{bits}")
        return _raw(
            {k.FADD: a + b, k.FSUB: a - b, k.FMAX: max(a, b), k.FMIN: min(a, b)}[kind], f"f{bits}"
        )
    a, b = _signed(old, bits), _signed(operand, bits)
    return {
        k.XCHG: operand,
        k.ADD: old + operand,
        k.SUB: old - operand,
        k.AND: old & operand,
        k.NAND: ~(old & operand),
        k.OR: old | operand,
        k.XOR: old ^ operand,
        k.MAX: max(a, b),
        k.MIN: min(a, b),
        k.UMAX: max(old, operand),
        k.UMIN: min(old, operand),
        k.UINC_WRAP: 0 if old >= operand else old + 1,
        k.UDEC_WRAP: operand if old == 0 or old > operand else old - 1,
    }[kind] & _mask(bits)


FLOATS = (0.0, 1.5, -2.25, 1e10)


def _values(kind: RmwKind, bits: int, rng: random.Random) -> Iterator[tuple[int, int]]:
    if kind in (RmwKind.FADD, RmwKind.FSUB, RmwKind.FMAX, RmwKind.FMIN):
        for a in FLOATS:
            for b in FLOATS:
                yield _raw(a, f"f{bits}"), _raw(b, f"f{bits}")
        return
    edges = (0, 1, 2, _mask(bits), _mask(bits) >> 1, (_mask(bits) >> 1) + 1)
    for a in edges:
        for b in edges:
            yield a, b
    for _ in range(10):
        yield rng.getrandbits(bits), rng.getrandbits(bits)


class Interference:
    """Another thread that writes a few bytes, of this value or of its neighbours."""

    def __init__(self, rng: random.Random, times: int):
        self.rng, self.times = rng, times

    def __call__(self, memory: bytearray) -> None:
        if self.times == 0:
            return
        self.times -= 1
        at = self.rng.randrange(len(memory))
        memory[at] = self.rng.getrandbits(8)


TARGETS = [("sm_70", "6.0"), ("sm_90", "8.6")]
LEGAL = [
    (kind, width)
    for kind in RmwKind
    for width in (8, 16, 32, 64)
    if not isinstance(RMW[kind, width].value, Illegal)
]


@pytest.mark.parametrize("space", ["global", "local", "private"])
@pytest.mark.parametrize(("target", "version"), TARGETS)
@pytest.mark.parametrize(("kind", "width"), LEGAL)
@pytest.mark.parametrize("share", first_share(10))
def test_read_modify_write(
    kind: RmwKind, width: int, target: str, version: str, space: str, share: Share
):
    rng = random.Random(f"{kind}{width}")
    for returns in (True, False):
        sequence = lower(
            op="atomic_rmw", kind=kind, width=width, ordering="seq_cst", scope="agent",
            space=space, returns=returns, target=target, ptx_version=version,
        )  # fmt: skip
        for old, operand in share.of([*_values(kind, width, rng)]):
            for times in (0, 1, 5):
                _check_rmw(sequence, kind, width, old, operand, rng, times, returns, space)


def _check_rmw(
    sequence: Sequence,
    kind: RmwKind,
    width: int,
    old: int,
    operand: int,
    rng: random.Random,
    times: int,
    returns: bool,
    space: str,
) -> None:
    size = width // 8
    offset = rng.randrange(0, 8, size)
    memory = bytearray(rng.getrandbits(8) for _ in range(8))
    memory[offset : offset + size] = old.to_bytes(size, "little")
    # Random bytes are not always numbers, so that floats have interference in other values only.
    floats = kind in (RmwKind.FADD, RmwKind.FSUB, RmwKind.FMAX, RmwKind.FMIN)
    interference = Interference(rng, 0 if floats or space == "private" else times)
    snapshots: list[bytes] = [bytes(memory)]

    def interfere(shared: bytearray) -> None:
        interference(shared)
        snapshots.append(bytes(shared))

    thread = Thread(memory, interfere)
    junk = rng.getrandbits(8) << 8 if width == 8 else 0
    thread.run(sequence, addr=(ADDRESS & ~7) + offset, data=operand | junk)
    before = snapshots[-1]
    seen = int.from_bytes(before[offset : offset + size], "little")
    new = _reference(kind, width, seen, operand)
    expected = bytearray(before)
    expected[offset : offset + size] = new.to_bytes(size, "little")
    assert memory == expected
    if returns:
        assert thread.registers["dst"] == seen


@pytest.mark.parametrize("space", ["global", "private"])
@pytest.mark.parametrize(("target", "version"), TARGETS)
@pytest.mark.parametrize("width", [8, 16, 32, 64])
def test_compare_exchange(width: int, target: str, version: str, space: str):
    rng = random.Random(width)
    sequence = lower(
        op="cmpxchg", width=width, ordering="acq_rel", failure_ordering="acquire", scope="agent",
        space=space, target=target, ptx_version=version,
    )  # fmt: skip
    size = width // 8
    outcomes: set[bool] = set()
    for attempt in range(200):
        offset = rng.randrange(0, 8, size)
        memory = bytearray(rng.getrandbits(8) for _ in range(8))
        old = int.from_bytes(memory[offset : offset + size], "little")
        compare = old if attempt % 3 else rng.getrandbits(width)
        new = rng.getrandbits(width)
        interference = Interference(rng, 0 if space == "private" else attempt % 4)
        seen: list[bytes] = []

        def interfere(
            shared: bytearray, by: Interference = interference, log: list[bytes] = seen
        ) -> None:
            by(shared)
            log.append(bytes(shared))

        thread = Thread(memory, interfere)
        start = bytes(memory)
        thread.run(sequence, addr=(ADDRESS & ~7) + offset, data=new, compare=compare)
        before = bytearray(seen[-1] if seen else start)
        found = int.from_bytes(before[offset : offset + size], "little")
        succeeded = found == compare
        outcomes.add(succeeded)
        if succeeded:
            before[offset : offset + size] = new.to_bytes(size, "little")
        assert memory == before
        assert thread.registers["dst"] == found
    assert outcomes == {False, True}


def test_a_wrong_loop_is_noticed():
    """The check has teeth: without the ``not`` of a nand, results are wrong."""
    sequence = lower(
        op="atomic_rmw", kind="nand", ordering="relaxed", scope="agent", space="global",
        target="sm_90",
    )  # fmt: skip
    broken = Sequence(
        tuple(each for each in sequence.instructions if each.mnemonic not in ("not.b32",))
    )
    with pytest.raises(AssertionError):
        _check_rmw(broken, RmwKind.NAND, 32, 3, 5, random.Random(0), 0, True, "global")


def test_a_swap_that_does_not_compare_is_noticed():
    """The interference has teeth: a loop that never retries loses the other thread's write."""
    sequence = lower(
        op="atomic_rmw", kind="add", width=8, ordering="relaxed", scope="agent", space="global",
        target="sm_90",
    )  # fmt: skip
    broken = Sequence(tuple(each for each in sequence.instructions if each.mnemonic != "bra"))

    def check_often() -> None:
        rng = random.Random(1)
        for _ in range(20):
            _check_rmw(broken, RmwKind.ADD, 8, 3, 5, rng, 1, True, "global")

    with pytest.raises(AssertionError):
        check_often()
