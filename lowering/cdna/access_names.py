"""The names of AMD memory accesses, decoded: path, verb, element, read-modify-write.

Names have the same parts on every generation: ``global_load_dwordx2`` and ``global_load_b64``,
``flat_atomic_smax_x2`` and ``flat_atomic_max_i64``, ``ds_add_rtn_f32``. Which of them a chip has is
not known here. Source: MI300 ISA 12; RDNA3 ISA 16; LLVM AMDGPU, FLATInstructions.td and
DSInstructions.td.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from fencewright.lowering.vocabulary import FastStrEnum, RmwKind


class Path(FastStrEnum):
    """The path of an access to memory: the format of its instruction."""

    GLOBAL = "global"
    FLAT = "flat"
    SCRATCH = "scratch"
    BUFFER = "buffer"
    TYPED_BUFFER = "tbuffer"
    IMAGE = "image"
    LDS = "ds"
    SCALAR = "s"
    SCALAR_SCRATCH = "s_scratch"


@dataclass(frozen=True, slots=True)
class AccessName:
    """The decoded name of a load, store or atomic.

    ``bits``: those that a lane accesses in memory, of one element of ``ds_read2``. ``letter``:
    of its type, ``b`` where the name has none. ``rmw``: None also for a compare-exchange, which
    ``compares``, and for what no RmwKind is. ``compares_first``: what it compares with comes
    before the new value. ``is_half``: it accesses half a register (``d16``), of ``is_upper`` the
    upper one. ``is_packed``: two numbers in 32 bits.
    ``stride``: it accesses two elements, at offsets in as many elements; 0: one.
    ``verb``: of an atomic that is no RmwKind and no compare-exchange. ``is_transposed``: lanes
    exchange parts of the loaded data. ``copies``: between LDS and other memory.
    """

    path: Path
    bits: int
    letter: str = "b"
    rmw: RmwKind | None = None
    compares: bool = False
    compares_first: bool = False
    is_half: bool = False
    is_upper: bool = False
    is_packed: bool = False
    stride: int = 0
    verb: str = ""
    is_transposed: bool = False
    copies: bool = False

    @property
    def is_float(self) -> bool:
        """True of floating-point numbers."""
        return self.letter in ("f", "bf")


INTEGER_VERBS: Mapping[RmwKind, tuple[str, str]] = MappingProxyType(
    {
        RmwKind.ADD: ("add", "u"),
        RmwKind.SUB: ("sub", "u"),
        RmwKind.AND: ("and", "b"),
        RmwKind.OR: ("or", "b"),
        RmwKind.XOR: ("xor", "b"),
        RmwKind.MAX: ("max", "i"),
        RmwKind.MIN: ("min", "i"),
        RmwKind.UMAX: ("max", "u"),
        RmwKind.UMIN: ("min", "u"),
        RmwKind.UINC_WRAP: ("inc", "u"),
        RmwKind.UDEC_WRAP: ("dec", "u"),
    }
)
"""The verb of a read-modify-write of integers, and the letter of its type."""
FLOAT_VERBS: Mapping[RmwKind, str] = MappingProxyType(
    {RmwKind.FADD: "add", RmwKind.FMIN: "min", RmwKind.FMAX: "max"}
)
"""The verb of a read-modify-write of floating-point numbers."""

SIGNED_VERBS = frozenset({"min", "max"})
"""The verbs whose arithmetic depends on the sign: theirs is the letter alone."""
_RMW_KINDS: Mapping[tuple[str, str], RmwKind] = MappingProxyType(
    dict.fromkeys(((verb, "b") for verb in ("swap", "wrxchg", "storexchg")), RmwKind.XCHG)
    | {
        (verb, letter): kind
        for kind, (verb, own) in INTEGER_VERBS.items()
        for letter in (own if verb in SIGNED_VERBS else "biu")
    }
    | {(verb, letter): kind for kind, verb in FLOAT_VERBS.items() for letter in ("f", "bf")}
)
_COMPARING = frozenset({"cmpswap", "cmpst", "cmpstore"})
_OTHER_VERBS = frozenset({"rsub", "mskor"})
"""The verbs of read-modify-writes that are no RmwKind."""
_NAMED_ELEMENTS: Mapping[str, tuple[str, int]] = MappingProxyType(
    {"byte": ("b", 8), "ubyte": ("u", 8), "sbyte": ("i", 8), "short": ("b", 16)}
    | {"ushort": ("u", 16), "sshort": ("i", 16), "dword": ("b", 32)}
    | {f"dwordx{count}": ("b", 32 * count) for count in (2, 3, 4, 8, 16)}
)

_PATH = "(?P<path>global|flat|scratch|t?buffer|image|ds|s_scratch|s)(?:_buffer)?"
_LOAD_OR_STORE = (
    rf"{_PATH}_(?:load|store|read|write)(?P<pair>2|2st64|_2addr|_2addr_stride64)?(?P<copies>(?:_async_(?:to|from))?_lds)?(?P<half>_d16(?:_hi)?)?"
    r"_(?P<element>[a-z]+\d*(?:x\d+)?)(?P<upper>_d16(?:_hi)?)?(?P<transposed>_tr_b\d+)?"
)
_VERB = (
    r"(?P<packed>pk_)?(?P<sign>[suf](?=min|max))?(?P<verb>[a-z]+?)(?:_num)?(?P<returns>_rtn)?"
    r"(?:_(?P<element>x2|(?:bf|[biuf])\d+))?"
)
_ATOMIC = f"{_PATH}_atomic_{_VERB}"
_LDS_ATOMIC = f"(?P<path>ds)_{_VERB}"
_ELEMENT = r"(bf|[biuf])(\d+)"
"""Compiled when the first name is read: starting is to cost nothing."""
_STRIDES: Mapping[str, int] = MappingProxyType(
    {"": 0, "2": 1, "2st64": 64, "_2addr": 1, "_2addr_stride64": 64}
)
_LETTERS: Mapping[str, str] = MappingProxyType({"s": "i", "u": "u", "f": "f"})


@cache
def path_of(mnemonic: str) -> Path | None:
    """The path that a name begins with, also where its other parts are not known."""
    found = re.match(f"{_PATH}_", mnemonic)
    return None if found is None else Path(found["path"])


@cache
def access_name(mnemonic: str) -> AccessName | None:
    """The decoded name of a load, store or atomic; None where a part of it is not known."""
    if (found := re.fullmatch(_LOAD_OR_STORE, mnemonic)) is not None:
        element = _element(found["element"])
        half = found["half"] or found["upper"] or ""
        if element is None:
            return None
        letter, bits = element
        stride = _STRIDES[found["pair"] or ""]
        return AccessName(
            Path(found["path"]), bits, letter, is_half=bool(half), is_upper="hi" in half,
            stride=stride, is_transposed=found["transposed"] is not None,
            copies=found["copies"] is not None,
        )  # fmt: skip
    found = re.fullmatch(_ATOMIC, mnemonic) or re.fullmatch(_LDS_ATOMIC, mnemonic)
    return None if found is None else _atomic(found)


def _atomic(found: re.Match[str]) -> AccessName | None:
    """The name of an atomic; without an element, as gfx9 has it, it is of 32 bits."""
    verb, sign, written = found["verb"], found["sign"], found["element"] or "b32"
    element = ("b", 64) if written == "x2" else _element(written)
    if element is None or (found["path"] == Path.LDS and found["element"] is None):
        return None
    letter, bits = element
    letter = _LETTERS[sign] if sign else letter
    rmw, compares = _RMW_KINDS.get((verb, letter)), verb in _COMPARING
    other = verb if rmw is None and not compares else ""
    if other and other not in _OTHER_VERBS:
        return None
    is_packed = found["packed"] is not None
    bits *= 1 + is_packed
    return AccessName(
        Path(found["path"]), bits, letter, rmw, compares=compares,
        compares_first=verb == "cmpst", is_packed=is_packed, verb=other,
    )  # fmt: skip


def _element(word: str) -> tuple[str, int] | None:
    if (named := _NAMED_ELEMENTS.get(word)) is not None:
        return named
    found = re.fullmatch(_ELEMENT, word)
    return None if found is None else (found[1], int(found[2]))
