"""Read-modify-writes of PTX: those that are one ``atom``, those with a loop, and its computation.

Values are in registers of their width, 8-bit ones in a 16-bit register whose upper half is
ignored on input and zero on output; addresses are 64-bit. Source: PTX ISA, atom, red;
LLVM LangRef, atomicrmw, for what each kind computes.
"""

from dataclasses import dataclass

from fencewright.lowering.ptx.chip import PtxForm
from fencewright.lowering.table import Illegal, Table, row
from fencewright.lowering.vocabulary import RmwKind, ValueType

WORD = 32
"""The bits of the word that is exchanged around a narrower value."""


@dataclass(frozen=True, slots=True)
class Native:
    """One ``atom``: its operation and type; ``red`` too where ``reduces``.

    ``negate`` is the type in which the operand is negated first. ``sinks``: an unused result
    can go to ``_``, the bit bucket.
    """

    operation: str
    reduces: bool = True
    negate: str = ""
    form: PtxForm | None = None
    system_form: PtxForm | None = None
    sinks: bool = True


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop around a compare-and-swap."""


_ATOM = "PTX ISA, atom, red: operations and types"
_NO_ATOM = f"{_ATOM}: none of this kind and width"
_NEGATED = f"{_ATOM}: subtraction is addition of the negated operand"
_LOOP = Loop()
_NO_128 = Illegal("PTX exchanges and compares 128 bits, but computes nothing on them", ("xchg",))
_AMBIGUOUS = Illegal(
    "16 bits may be f16 or bf16, and the request does not say which", ("type=f16", "type=bf16")
)
_NO_FLOAT = Illegal("there are no floating-point numbers of this width", ("i32", "i64"))

_K = RmwKind
_FLOAT = (_K.FADD, _K.FSUB, _K.FMAX, _K.FMIN)
_INTEGER = tuple(kind for kind in _K if kind not in (*_FLOAT, _K.XCHG))
_WRAPPING = (_K.UINC_WRAP, _K.UDEC_WRAP)

_ONE_ATOM = {
    _K.AND: "and.b", _K.OR: "or.b", _K.XOR: "xor.b",
    _K.MAX: "max.s", _K.MIN: "min.s", _K.UMAX: "max.u", _K.UMIN: "min.u",
}  # fmt: skip
"""Operations whose names differ by width alone."""

RMW: Table[Native | Loop | Illegal] = Table(
    "PTX read-modify-write",
    {"kind": RmwKind, "width": (8, 16, 32, 64, 128)},
    (
        row(Native("exch.b32", reduces=False), _ATOM, kind=_K.XCHG, width=32),
        row(Native("exch.b64", reduces=False), _ATOM, kind=_K.XCHG, width=64),
        row(Native("exch.b128", False, "", PtxForm.ATOMIC_128, PtxForm.ATOMIC_128_SYSTEM), _ATOM,
            kind=_K.XCHG, width=128),
        row(Native("add.u32"), _ATOM, kind=_K.ADD, width=32),
        row(Native("add.u64"), _ATOM, kind=_K.ADD, width=64),
        row(Native("add.u32", negate="s32"), _NEGATED, kind=_K.SUB, width=32),
        row(Native("add.u64", negate="s64"), _NEGATED, kind=_K.SUB, width=64),
        *(
            row(Native(f"{word}{width}"), _ATOM, kind=kind, width=width)
            for kind, word in _ONE_ATOM.items() for width in (32, 64)
        ),
        row(Native("inc.u32"), _ATOM, kind=_K.UINC_WRAP, width=32),
        row(Native("dec.u32"), _ATOM, kind=_K.UDEC_WRAP, width=32),
        row(Native("add.f32"), f"{_ATOM}; flushes subnormals in global memory",
            kind=_K.FADD, width=32),
        row(Native("add.f64"), _ATOM, kind=_K.FADD, width=64),
        row(Native("add.f32", negate="f32"), f"{_NEGATED}; flushes subnormals in global memory",
            kind=_K.FSUB, width=32),
        row(Native("add.f64", negate="f64"), _NEGATED, kind=_K.FSUB, width=64),
        # No such atom: a loop.
        row(_LOOP, _NO_ATOM, kind=(*_INTEGER, _K.XCHG), width=(8, 16)),
        row(_LOOP, _NO_ATOM, kind=_K.NAND, width=(32, 64)),
        row(_LOOP, _NO_ATOM, kind=_WRAPPING, width=64),
        row(_LOOP, _NO_ATOM, kind=(_K.FMAX, _K.FMIN), width=(32, 64)),
        # No meaning.
        row(_NO_128, _NO_ATOM, kind=(*_INTEGER, *_FLOAT), width=128),
        row(_AMBIGUOUS, "IEEE 754 binary16 and bfloat16", kind=_FLOAT, width=16),
        row(_NO_FLOAT, "IEEE 754", kind=_FLOAT, width=8),
    ),
)  # fmt: skip
"""(kind, width) -> one instruction, a loop, or why not."""

_F16, _F16X2 = ValueType.F16, ValueType.F16X2
_BF16, _BF16X2 = ValueType.BF16, ValueType.BF16X2
HALVES = (_F16, _BF16, _F16X2, _BF16X2)
_BY_ELEMENT = f"{_ATOM}: of packed types, each element is atomic by itself"
_AS_ONE = f"{_BY_ELEMENT}, so that the whole takes a compare-and-swap"


def _half(type_: ValueType, form: PtxForm, negate: bool = False) -> Native:
    # ptxas 12.9 crashes on _ for a sum of bf16.
    sinks = type_ in (_F16, _F16X2)
    return Native(f"add.noftz.{type_}", negate=type_ if negate else "", form=form, sinks=sinks)


RMW_OF_HALVES: Table[Native | Loop] = Table(
    "PTX read-modify-write of 16-bit floats",
    {
        "kind": _FLOAT,
        "type": HALVES,
        "elementwise": (False, True),
        "bf16_atom": (False, True),
    },
    (
        row(_half(_F16, PtxForm.ATOMIC_F16), _ATOM, kind=_K.FADD, type=_F16),
        row(_half(_F16, PtxForm.ATOMIC_F16, negate=True), _NEGATED, kind=_K.FSUB, type=_F16),
        row(_half(_BF16, PtxForm.ATOMIC_BF16), _ATOM, kind=_K.FADD, type=_BF16, bf16_atom=True),
        row(_half(_BF16, PtxForm.ATOMIC_BF16, negate=True), _NEGATED,
            kind=_K.FSUB, type=_BF16, bf16_atom=True),
        row(_LOOP, f"{_ATOM}: .bf16 since 7.8, sm_90",
            kind=(_K.FADD, _K.FSUB), type=_BF16, bf16_atom=False),
        row(_half(_F16X2, PtxForm.ATOMIC_F16X2), _BY_ELEMENT,
            kind=_K.FADD, type=_F16X2, elementwise=True),
        row(_half(_F16X2, PtxForm.ATOMIC_F16X2, negate=True), f"{_NEGATED}; {_BY_ELEMENT}",
            kind=_K.FSUB, type=_F16X2, elementwise=True),
        row(_half(_BF16X2, PtxForm.ATOMIC_BF16), _BY_ELEMENT,
            kind=_K.FADD, type=_BF16X2, elementwise=True, bf16_atom=True),
        row(_half(_BF16X2, PtxForm.ATOMIC_BF16, negate=True), f"{_NEGATED}; {_BY_ELEMENT}",
            kind=_K.FSUB, type=_BF16X2, elementwise=True, bf16_atom=True),
        row(_LOOP, f"{_ATOM}: .bf16x2 since 7.8, sm_90",
            kind=(_K.FADD, _K.FSUB), type=_BF16X2, elementwise=True, bf16_atom=False),
        row(_LOOP, _AS_ONE, kind=(_K.FADD, _K.FSUB), type=(_F16X2, _BF16X2), elementwise=False),
        row(_LOOP, _NO_ATOM, kind=(_K.FMAX, _K.FMIN), type=HALVES),
    ),
)  # fmt: skip
"""(kind, type, elementwise, bf16_atom) -> one instruction or a loop."""

CMPXCHG: Table[Native | Loop] = Table(
    "PTX compare-exchange",
    {"width": (8, 16, 32, 64, 128), "cas_16": (False, True)},
    (
        row(_LOOP, f"{_ATOM}: no .cas.b8", width=8),
        row(_LOOP, f"{_ATOM}: .cas.b16 since 6.3", width=16, cas_16=False),
        row(Native("cas.b16", reduces=False), _ATOM, width=16, cas_16=True),
        row(Native("cas.b32", reduces=False), _ATOM, width=32),
        row(Native("cas.b64", reduces=False), _ATOM, width=64),
        row(Native("cas.b128", False, "", PtxForm.ATOMIC_128, PtxForm.ATOMIC_128_SYSTEM), _ATOM,
            width=128),
    ),
)  # fmt: skip
"""(width, cas_16) -> one instruction or a loop."""

LOOP_WIDTH: Table[int] = Table(
    "PTX loop width",
    {"width": (8, 16, 32, 64), "cas_16": (False, True)},
    (
        row(WORD, f"{_ATOM}: no .cas.b8", width=8),
        row(WORD, f"{_ATOM}: .cas.b16 since 6.3", width=16, cas_16=False),
        row(16, _ATOM, width=16, cas_16=True),
        row(32, _ATOM, width=32),
        row(64, _ATOM, width=64),
    ),
)
"""(width, cas_16) -> the bits that a loop swaps; more than ``width``: the word around it."""


@dataclass(frozen=True, slots=True)
class Compute:
    """The computation of a kind: ``{new}`` from ``{old}`` and ``{operand}``.

    ``steps`` are pairs of a mnemonic that lacks its width, unless ``typed``, and its operands;
    ``signed`` says how a narrow value is extended; ``{wraps}`` is a predicate where ``wraps``,
    ``scratch`` are more registers of the value's width. ``form`` is what the steps need.
    """

    steps: tuple[tuple[str, str], ...]
    source: str
    signed: bool = False
    wraps: bool = False
    typed: bool = False
    scratch: tuple[str, ...] = ()
    form: PtxForm | None = None


_BOTH = "{new}, {old}, {operand}"
_LANGREF = "LLVM LangRef, atomicrmw"

COMPUTE: dict[RmwKind, Compute] = {
    _K.XCHG: Compute((("mov.b", "{new}, {operand}"),), _LANGREF),
    _K.ADD: Compute((("add.u", _BOTH),), _LANGREF),
    _K.SUB: Compute((("sub.u", _BOTH),), _LANGREF),
    _K.AND: Compute((("and.b", _BOTH),), _LANGREF),
    _K.NAND: Compute((("and.b", _BOTH), ("not.b", "{new}, {new}")), _LANGREF),
    _K.OR: Compute((("or.b", _BOTH),), _LANGREF),
    _K.XOR: Compute((("xor.b", _BOTH),), _LANGREF),
    _K.MAX: Compute((("max.s", _BOTH),), _LANGREF, signed=True),
    _K.MIN: Compute((("min.s", _BOTH),), _LANGREF, signed=True),
    _K.UMAX: Compute((("max.u", _BOTH),), _LANGREF),
    _K.UMIN: Compute((("min.u", _BOTH),), _LANGREF),
    _K.FADD: Compute((("add.rn.f", _BOTH),), _LANGREF),
    _K.FSUB: Compute((("sub.rn.f", _BOTH),), _LANGREF),
    _K.FMAX: Compute((("max.f", _BOTH),), f"{_LANGREF}: fmax returns the number beside a NaN"),
    _K.FMIN: Compute((("min.f", _BOTH),), f"{_LANGREF}: fmin returns the number beside a NaN"),
    _K.UINC_WRAP: Compute(
        (
            ("add.u", "{new}, {old}, 1"),
            ("setp.ge.u", "{wraps}, {old}, {operand}"),
            ("selp.b", "{new}, 0, {new}, {wraps}"),
        ),
        f"{_LANGREF}: old >= operand ? 0 : old + 1",
        wraps=True,
    ),
    # 0 - 1 is the greatest value, so that one comparison finds both 0 and old > operand.
    _K.UDEC_WRAP: Compute(
        (
            ("sub.u", "{new}, {old}, 1"),
            ("setp.ge.u", "{wraps}, {new}, {operand}"),
            ("selp.b", "{new}, {operand}, {new}, {wraps}"),
        ),
        f"{_LANGREF}: old == 0 || old > operand ? operand : old - 1",
        wraps=True,
    ),
}


def _typed(kind: RmwKind, type_: ValueType) -> Compute:
    """The computation of a kind on 16-bit floats, one or two of them."""
    if kind in (_K.FMAX, _K.FMIN):
        step = (f"{kind.removeprefix('f')}.{type_}", _BOTH)
        return Compute((step,), COMPUTE[kind].source, typed=True, form=PtxForm.HALF_MIN_MAX)
    if type_ in (_F16, _F16X2):
        return Compute(((f"{kind.removeprefix('f')}.rn.{type_}", _BOTH),), _LANGREF, typed=True)
    steps = (
        (f"mov.b{type_.bits}", f"{{unit}}, {_UNITS[kind, type_]}"),
        (f"fma.rn.{type_}", "{new}, {operand}, {unit}, {old}"),
    )
    source = f"{_LANGREF}; PTX ISA, fma: rounds once, and the product with 1 or -1 is exact"
    return Compute(steps, source, typed=True, scratch=("unit",), form=PtxForm.BF16_FMA)


_UNITS = {
    (_K.FADD, _BF16): "0x3F80",
    (_K.FSUB, _BF16): "0xBF80",
    (_K.FADD, _BF16X2): "0x3F803F80",
    (_K.FSUB, _BF16X2): "0xBF80BF80",
}
"""The bits of 1 and -1. Before sm_90 bf16 has no addition of its own, but a multiply-add."""

COMPUTE_OF_HALVES: dict[tuple[RmwKind, ValueType], Compute] = {
    (kind, type_): _typed(kind, type_) for kind in _FLOAT for type_ in HALVES
}
"""(kind, type) -> the computation."""
