"""Forms of PTX instructions: the qualifiers that an operation takes, in the manual's notation.

A form is a text of slots: ``weak?`` may be there, ``type`` must, ``relaxed|acquire`` is one of
the two, ``TYPE`` one word of ``SLOTS``, ``TYPE*`` any number of them. The order does not matter, as
it does not to the assembler. The name of an instruction *fits* a form if every word is taken by a
slot and every slot that must be filled is. Source: PTX ISA, the syntax of each instruction.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType

SLOTS: Mapping[str, str] = MappingProxyType(
    {
        "SPACE": "const|global|local|shared|shared::cta|shared::cluster",
        "GENERIC": "global|shared|shared::cta|shared::cluster",
        "STORED": "global|local|shared|shared::cta|shared::cluster",
        "SHARED": "shared|shared::cta|shared::cluster",
        "SCOPE": "cta|cluster|gpu|sys",
        "COP": "ca|cg|cs|lu|cv",
        "STORE_COP": "wb|cg|cs|wt",
        "EVICT1": "L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|"
        "L1::no_allocate",
        "EVICT2": "L2::evict_normal|L2::evict_first|L2::evict_last",
        "HINT": "L2::cache_hint",
        "PREFETCH": "L2::64B|L2::128B|L2::256B",
        "VEC": "v2|v4|v8",
        "TYPE": r"[bus](8|16|32|64)|b128|f(32|64)",
        "HALF": "b?f16(x2)?",
        "ANY": r"[busf]\d+(x\d+)?|bf16(x2)?|tf32|u?e\d+m\d+(x\d+)?|b\d+x\d+_p64|b6p2x16|b6x16_p32|"
        "b4x16|b4x16_p64|s2f6x2|pred",
        "BOOLEAN": "and|or|xor",
        "REDUCES": "and|or|xor|add|inc|dec|min|max",
        "SMALL": r"u?e\d+m\d+(x\d+)?|s2f6x2",
        "ROUND": "rn|rz|rm|rp",
        "TO_INTEGER": "rni|rzi|rmi|rpi",
        "COMPARE": "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan",
        "BYTES": "mbarrier::complete_tx::bytes",
        "DIMENSION": "1d|2d|3d|4d|5d",
        "MODE": "tile|tile::gather4|tile::scatter4|im2col|im2col::w|im2col::w::128|im2col_no_offs",
        "MULTICAST": r"multicast::cluster(::\w+)?",
        "GROUP": "cta_group::1|cta_group::2",
        "SHAPE": r"m\d+n\d+(k\d+)?|\d+x\d+b?(x2)?|x\d+",
        "LAYOUT": "row|col|trans",
        "KIND": r"kind::\w+",
        "FIELD": "global_address|rank|box_dim|global_dim|global_stride|element_stride|elemtype|"
        "interleave_layout|swizzle_mode|swizzle_atomicity|fill_mode",
        "TENSOR_WORD": r"kind::\w+|sp|sp::ordered_metadata|ws|ashift|block_scale|scale_vec::\w+|"
        r"block\d+|"
        r"collector::\w+(::\w+)?|pack::16b|unpack::16b|num|red|min|max|abs|NaN|spcompress|warpx\d(::\w+)*|"
        r"down|mbarrier::arrive::one|satfinite|xor|and|popc|shared::cluster|multicast::cluster|sync|aligned",
        "TEXTURE": r"\d+d|a1d|a2d|2dms|a2dms|cube|acube|base|level|grad|r|g|b|a|trap|clamp|zero|"
        r"ca|cg|cs|cv|wb|wt|unified|p|add|min|max|and|or|v2|v4",
        "ARITHMETIC": r"rn|rz|rm|rp|rna|rs|rni|rzi|rmi|rpi|sat|ftz|approx|full|relu|satfinite|"
        r"oob|noftz|scaled::n2::ue8m0|lo|hi|wide|cc|xorsign|abs|NaN|nan|num|eq|ne|lt|le|gt|ge|ls|hs|equ|neu|ltu|leu|"
        r"gtu|geu|and|or|xor|popc|all|any|uni|ballot|sync|aligned|up|down|bfly|idx|add|min|max|f4e|b4e|rc8|"
        r"ecl|ecr|rc16|to|global|shared|shared::cta|shared::cluster|local|const|param|param::entry|"
        r"param::func|l|r|clamp|wrap|shiftamt|finite|infinite|number|notanumber|normal|subnormal|pack|trans|"
        r"fractional|range|L2::\w+|L1::\w+|L1|L2|tensormap|row|col|m\d+n\d+(k\d+)?|kind::\w+|block_scale|"
        r"scale_vec::\w+|sp|sp::ordered_metadata|h[01]{1,2}|h[0-3]{1,2}|b[0-3]{1,4}|po|shr7|shr15|width|height|depth|"
        r"channel_data_type|channel_order|normalized_coords|force_unnormalized_coords|filter_mode|"
        r"addr_mode_[012]|memory_layout|array_size|num_mipmap_levels|num_samples|texref|samplerref|"
        r"surfref|inc|dec|is_canceled|get_first_ctaid(::[xyz])?|tile|tile::gather4|im2col|im2col::w|"
        r"im2col::w::128|[1-5]d|v[24]|BoolOp|volatile|match|b128|cvt|level|mask",
    }
)
"""The slots that have a name: the words that fill them, as a regular expression."""

_WIDE = tuple(f"global? EVICT1? EVICT2 HINT? {each}" for each in ("v8 [busf]32", "v4 [busf]64"))
_LD = ("global? EVICT1? HINT? PREFETCH? VEC? TYPE", *_WIDE)
_ST = ("global? EVICT1? HINT? VEC? TYPE", *_WIDE)
_STRONG_LD = ("GENERIC? VEC? TYPE", *_LD)
_STRONG_ST = ("GENERIC? VEC? TYPE", *_ST)
_INTEGER = "[us](16|32|64)"
_BITS = "b(16|32|64)"
_SUMS = (
    _INTEGER,
    "sat s32",
    "cc [us]32",
    "cc [us]64",
    "ROUND? ftz? sat? f32",
    "ROUND? ftz? f32x2",
    "ROUND? f64",
    "rn? ftz? sat? f16|f16x2",
    "rn? bf16|bf16x2",
    "ROUND? sat? f32 f16|bf16",
)
_PACKED_SUMS = ("sat? u8x4|s8x4", "sat u16x2|s16x2|u32")
"""Forms of PTX 9.2, on sm_120 and its family. Source: PTX ISA, Integer Arithmetic Instructions:
add, sub, min."""
_SATURATING = tuple(
    f"sat {to}{bits} {of}{wide}"
    for to in "us"
    for bits in (8, 16, 32, 64)
    for of in "us"
    for wide in (8, 16, 32, 64)
    if (wide > bits if to == of else of == "s" or wide >= bits)
)
"""Between integers where a value may not fit: the others have nothing to saturate."""
_SCALAR_UPDATES = (
    "and|or|xor b(32|64)",
    "add [us]32|u64|f32|f64",
    "inc|dec u32",
    "min|max [us](32|64)",
    "add noftz HALF",
)
_UPDATES = (
    *(f"GENERIC? {each}" for each in _SCALAR_UPDATES),
    *(f"global? HINT {each}" for each in _SCALAR_UPDATES),
    "global? add HINT? v2|v4 f32",
    "global? add|min|max noftz HINT? v2|v4 HALF",
    "global? add|min|max noftz HINT? v8 b?f16",
)
_MMA = "sync aligned SHAPE* LAYOUT* ANY* TENSOR_WORD*"
_ARRIVE = "release|relaxed? cta|cluster? SHARED? noComplete? b64"
_WAIT = "parity? acquire|relaxed? cta|cluster? SHARED? phaseParity? b64"
_ARITHMETIC = "ANY* ARITHMETIC*"

_ROWS: Sequence[tuple[str, tuple[str, ...]]] = (
    # Computing: those that the ptx dialect has, exactly.
    ("add", (*_SUMS, *_PACKED_SUMS, "u16x2|s16x2")),
    ("sub", (*_SUMS, "sat? u8x4|s8x4")),
    ("mul", (f"hi|lo {_INTEGER}", "wide [us](16|32)", "ROUND? ftz? sat? f32", "ROUND? ftz? f32x2",
             "ROUND? f64",
             "rn? ftz? sat? f16|f16x2", "rn? bf16|bf16x2")),
    ("min|max", (_INTEGER, "u16x2|s16x2|u8x4|s8x4", "relu s32|s16x2|s8x4", "ftz? NaN? f32",
                 "ftz? NaN? xorsign abs f32", "f64",
                 "ftz? NaN? f16|f16x2", "ftz? NaN? xorsign abs f16|f16x2", "NaN? bf16|bf16x2",
                 "NaN? xorsign abs bf16|bf16x2")),
    ("fma", ("ROUND ftz? sat? f32", "ROUND ftz? f32x2", "ROUND f64", "rn ftz? sat? f16|f16x2",
             "rn ftz? relu f16|f16x2", "rn relu? bf16|bf16x2", "rn oob relu? f16|f16x2|bf16|bf16x2",
             "ROUND sat? f32 f16|bf16")),
    ("and|or|xor|not", (_BITS, "pred")),
    ("shl", (_BITS,)),
    ("shr", (f"{_BITS}|{_INTEGER}",)),
    ("bfe", ("[us](32|64)",)),
    ("setp", (f"eq|ne {_BITS} BOOLEAN?", "eq|ne|lt|le|gt|ge s(16|32|64) BOOLEAN?",
              "eq|ne|lt|le|gt|ge|lo|ls|hi|hs u(16|32|64) BOOLEAN?",
              "COMPARE ftz? f32 BOOLEAN?", "COMPARE f64 BOOLEAN?",
              "COMPARE ftz? f16|f16x2 BOOLEAN?",
              "COMPARE bf16|bf16x2 BOOLEAN?")),
    ("selp", (f"{_BITS}|{_INTEGER}|f32|f64",)),
    ("cvt", ("[us](8|16|32|64) [us](8|16|32|64)", *_SATURATING,
             "TO_INTEGER ftz? sat? [us](8|16|32|64) f32",
             "TO_INTEGER sat? [us](8|16|32|64) f16|f64", "TO_INTEGER [us](8|16|32|64) bf16",
             "ROUND sat? f(16|32|64) [us](8|16|32|64)", "ROUND bf16 [us](8|16|32|64)",
             "ftz? sat? f32 f16", "ftz? f32 bf16", "sat? f64 f16", "f64 bf16", "ftz? sat? f64 f32",
             "ROUND ftz? sat? f32 f64", "ROUND sat? f16 f64", "ROUND ftz? sat? f16 f32",
             "rn|rz relu? satfinite? f16|bf16 f32",
             "ROUND bf16 f16|f32|f64", "ROUND f16 bf16",
             "TO_INTEGER? sat? f16 f16", "TO_INTEGER? ftz? sat? f32 f32",
             "TO_INTEGER? sat? f64 f64",
             "TO_INTEGER? bf16 bf16", "rn|rz|rs relu? satfinite? f16x2|bf16x2 f32",
             "ROUND relu? satfinite? scaled::n2::ue8m0? f16x2|bf16x2 SMALL",
             "rn|rz|rna relu? satfinite? tf32 f32",
             "ROUND|rs relu? satfinite? scaled::n2::ue8m0? SMALL f32|f16x2|bf16x2",
             "pack sat? ANY*")),
    # Memory
    ("ld", ("weak? SPACE? COP? VEC? TYPE", "weak? global? COP? HINT? PREFETCH? VEC? TYPE",
            *(f"weak? {each}" for each in _LD),
            "volatile STORED? VEC? TYPE", "volatile global? PREFETCH VEC? TYPE",
            *(f"volatile {each}" for each in _WIDE),
            *(f"relaxed|acquire SCOPE {each}" for each in _STRONG_LD),
            "mmio relaxed|acquire sys global? TYPE")),
    ("ld nc", ("global ca|cg|cs? HINT? PREFETCH? VEC? TYPE",
               "global EVICT1? HINT? PREFETCH? VEC? TYPE", *_WIDE)),
    ("ld param|ld param::entry|ld param::func", ("weak? COP? VEC? TYPE",)),
    ("st param|st param::func", ("weak? STORE_COP? VEC? TYPE",)),
    ("ldu", ("global? VEC? TYPE",)),
    ("st", ("weak? STORED? STORE_COP? VEC? TYPE", "weak? global? STORE_COP? HINT? VEC? TYPE",
            *(f"weak? {each}" for each in _ST), "volatile STORED? VEC? TYPE",
            *(f"volatile {each}" for each in _WIDE),
            *(f"relaxed|release SCOPE {each}" for each in _STRONG_ST),
            "mmio relaxed|release sys global? TYPE")),
    ("st bulk", ("weak? shared::cta?",)),
    ("discard", ("global? L2",)),
    ("atom", tuple(f"relaxed|acquire|release|acq_rel? SCOPE? {each}" for each in (
        "GENERIC? cas b(16|32|64|128)", "GENERIC? exch b(32|64|128)",
        "global? exch HINT b(32|64|128)",
        *_UPDATES))),
    ("red", tuple(f"relaxed|release? SCOPE? {each}" for each in _UPDATES)),
    ("ldmatrix", ("sync aligned SHAPE* trans? SHARED? ANY*",)),
    ("stmatrix", ("sync aligned SHAPE* trans? SHARED? ANY*",)),
    ("wmma load", ("a|b|c sync aligned row|col SHAPE GENERIC? ANY",)),
    ("wmma store", ("d sync aligned row|col SHAPE GENERIC? ANY",)),
    ("multimem ld_reduce", ("weak? global? and|or|xor|add|min|max acc::f32|acc::f16? VEC? ANY",
                            "relaxed|acquire SCOPE global? and|or|xor|add|min|max "
                            "acc::f32|acc::f16? VEC? ANY")),
    ("multimem st", ("weak? global? VEC? ANY", "relaxed|release SCOPE global? VEC? ANY")),
    ("multimem red", ("relaxed|release? SCOPE? global? and|or|xor|add|min|max VEC? ANY",)),
    ("tex|tld4|suld|sust|sured", ("TEXTURE* ANY*",)),
    # Synchronisation
    ("fence", ("sc|acq_rel|acquire|release? SCOPE",
               "acquire sync_restrict::shared::cluster cluster",
               "release sync_restrict::shared::cta cluster")),
    ("membar", ("cta|gl|sys",)),
    ("fence mbarrier_init", ("release cluster",)),
    ("bar sync", ("cta?",)),
    ("bar red", ("cta? popc u32", "cta? and|or pred")),
    ("bar arrive", ("cta?",)),
    ("bar warp sync", ("",)),
    ("barrier sync", ("cta? aligned?",)),
    ("barrier red", ("cta? popc aligned? u32", "cta? and|or aligned? pred")),
    ("barrier arrive", ("cta? aligned?",)),
    ("barrier cluster arrive", ("release|relaxed? aligned?",)),
    ("barrier cluster wait", ("acquire? aligned?",)),
    ("griddepcontrol wait", ("",)),
    ("griddepcontrol launch_dependents", ("",)),
    ("mbarrier init", ("SHARED? b64 layout::v0|layout::v1?",)),
    ("mbarrier inval", ("SHARED? b64 layout::v0|layout::v1?",)),
    ("mbarrier expect_tx", ("relaxed? cta|cluster? SHARED? b64 layout::v0|layout::v1?",)),
    ("mbarrier complete_tx", ("relaxed? cta|cluster? SHARED? b64 layout::v0|layout::v1?",)),
    ("mbarrier arrive", (_ARRIVE,)),
    ("mbarrier arrive_drop", (_ARRIVE,)),
    ("mbarrier arrive expect_tx", (_ARRIVE,)),
    ("mbarrier arrive_drop expect_tx", (_ARRIVE,)),
    ("mbarrier test_wait", (_WAIT,)),
    ("mbarrier try_wait", (_WAIT,)),
    # Proxies
    ("fence proxy alias", ("",)),
    ("fence proxy async", ("global|shared::cta|shared::cluster?",)),
    ("fence proxy async::generic", ("acquire sync_restrict::shared::cluster cluster",
                                    "release sync_restrict::shared::cta cluster")),
    ("fence proxy tensormap::generic", ("acquire|release SCOPE",)),
    ("membar proxy", ("alias|async",)),
    ("tensormap replace", ("tile FIELD global|shared::cta? b1024 b32|b64",)),
    ("tensormap cp_fenceproxy", ("global shared::cta tensormap::generic release SCOPE sync aligned",
                                 )),
    # Copies
    ("cp async", ("ca|cg SHARED global HINT? PREFETCH?",)),
    ("cp async commit_group", ("",)),
    ("cp async wait_group", ("",)),
    ("cp async wait_all", ("",)),
    ("cp async mbarrier arrive", ("noinc? SHARED? b64",)),
    ("cp async bulk", ("shared::cluster|shared::cta global BYTES ignore_oob? MULTICAST? HINT?",
                       "shared::cluster shared::cta BYTES",
                       "global shared::cta bulk_group cp_mask? HINT?")),
    ("cp async bulk prefetch", ("L2 global HINT?",)),
    ("cp async bulk commit_group", ("",)),
    ("cp async bulk wait_group", ("read?",)),
    ("cp async bulk tensor",
     ("DIMENSION shared::cluster|shared::cta global MODE? BYTES MULTICAST? GROUP? HINT?",)),
    ("cp async bulk tensor bulk_group", ("DIMENSION global shared::cta MODE? HINT?",)),
    ("cp async bulk prefetch tensor", ("DIMENSION L2 global MODE? HINT?",)),
    ("cp reduce async bulk", ("shared::cluster shared::cta BYTES REDUCES ANY",
                              "global shared::cta bulk_group HINT? noftz? REDUCES ANY")),
    ("cp reduce async bulk tensor", ("DIMENSION global shared::cta REDUCES MODE? bulk_group HINT?",
                                     )),
    ("multimem cp async bulk", ("bulk_group global shared::cta cp_mask?",)),
    ("multimem cp reduce async bulk", ("bulk_group global shared::cta noftz? REDUCES ANY",)),
    ("st async", ("weak? shared::cluster? BYTES VEC? ANY",)),
    ("st async release", ("mmio? SCOPE global? VEC? ANY",)),
    ("red async", ("relaxed? cluster? shared::cluster? BYTES REDUCES ANY",)),
    ("red async release", ("mmio? SCOPE global? REDUCES ANY",)),
    ("clusterlaunchcontrol try_cancel", ("async shared::cta? BYTES multicast::cluster::all? b128",
                                         )),
    # Tensor cores
    ("wgmma mma_async", (_MMA,)),
    ("wgmma mma_async sp", (_MMA,)),
    ("wgmma fence", ("sync aligned",)),
    ("wgmma commit_group", ("sync aligned",)),
    ("wgmma wait_group", ("sync aligned",)),
    ("tcgen05 mma", ("GROUP KIND TENSOR_WORD*",)),
    ("tcgen05 cp", ("GROUP SHAPE TENSOR_WORD* ANY*",)),
    ("tcgen05 shift", ("GROUP down",)),
    ("tcgen05 ld", ("sync aligned SHAPE* TENSOR_WORD* ANY*",)),
    ("tcgen05 st", ("sync aligned SHAPE* TENSOR_WORD* ANY",)),
    ("tcgen05 wait::ld", ("sync aligned",)),
    ("tcgen05 wait::st", ("sync aligned",)),
    ("tcgen05 commit", ("GROUP mbarrier::arrive::one shared::cluster? multicast::cluster? b64",)),
    ("tcgen05 fence::before_thread_sync", ("",)),
    ("tcgen05 fence::after_thread_sync", ("",)),
    ("tcgen05 alloc", ("GROUP sync aligned shared::cta? b32",)),
    ("tcgen05 dealloc", ("GROUP sync aligned b32",)),
    ("tcgen05 relinquish_alloc_permit", ("GROUP sync aligned",)),
    # Control
    ("bra", ("uni?",)),
    ("brx", ("idx uni?",)),
    ("call", ("uni?",)),
    ("ret", ("uni?",)),
    ("exit", ("",)),
    ("trap", ("",)),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Slot:
    """A slot of a form: the ``words`` and ``patterns`` that fill it, as many as there are if
    ``is_repeated``."""

    words: frozenset[str]
    patterns: str
    name: str
    is_type: bool
    is_required: bool
    is_repeated: bool

    def takes(self, word: str) -> bool:
        """True of a word that fills it."""
        return word in self.words or bool(self.patterns and re.fullmatch(self.patterns, word))


_NOUNS = {
    "SCOPE": "a scope",
    "TYPE": "a type",
    "ANY": "a type",
    "HALF": "a type",
    "ROUND": "a rounding",
}
"""Words for the slots that every reader of PTX has one for."""


@dataclass(frozen=True, slots=True)
class Fit:
    """The fit of a name to the nearest form of its operation.

    ``unread``: the words that no slot takes. ``repeated``: those of them whose slot has another
    word already. ``missing``: the slots that must be filled and are not.
    """

    unread: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def faults(self) -> int:
        """The number of words too many and too few; 0 for a form that the manual has."""
        return len(self.unread) + len(self.missing)

    def __str__(self) -> str:
        said = [
            f"a second .{each}" if each in self.repeated else f".{each} does not belong"
            for each in self.unread
        ]
        said += [f"{_NOUNS.get(each, f'.{each}')} is missing" for each in self.missing]
        return ", ".join(said)


_TYPES = frozenset(
    (
        *(f"{each}{bits}" for each in "bus" for bits in (8, 16, 32, 64)),
        "b128",
        "f16",
        "bf16",
        "f32",
        "f64",
    )
)
_PART = re.compile(r"(?:\[(\w+)\]|\(([\w|]+)\)|(\w|:))(\??)")
_PARTS = re.compile(rf"(?:{_PART.pattern})+")
"""A spelling of finitely many words: letters, one of ``[us]``, one of ``(16|32)``, and ``?``."""
_ALTERNATIVE = re.compile(r"(?:\((?:[^()]|\([^()]*\))*\)|[^|()])+")


@cache
def slots_of(form: str) -> tuple[Slot, ...]:
    """The slots of a form, in their order."""
    return tuple(map(_slot, form.split()))


@cache
def _slot(text: str) -> Slot:
    name = text.rstrip("?*")
    words, patterns = _words(name)
    is_repeated = text.endswith("*")
    is_type = not is_repeated and not words.isdisjoint(_TYPES)
    return Slot(words, patterns, name, is_type, text == name, is_repeated)


@cache
def _words(text: str) -> tuple[frozenset[str], str]:
    """The words of the alternatives that can be listed, and the others as one regular
    expression."""
    words: set[str] = set()
    patterns: list[str] = []
    for each in _ALTERNATIVE.findall(text) if "(" in text else text.split("|"):
        if each in SLOTS:
            listed, pattern = _words(SLOTS[each])
            words |= listed
            patterns += [pattern] if pattern else []
        elif each.replace(":", "").isalnum():
            words.add(each)
        elif _PARTS.fullmatch(each):
            words |= _listed(each)
        else:
            patterns.append(each)
    return frozenset(words), "|".join(patterns)


def _listed(text: str) -> set[str]:
    found = {""}
    for letters, group, letter, optional in _PART.findall(text):
        given = [*letters] or (group.split("|") if group else [letter])
        found = {f"{a}{b}" for a in found for b in (given if not optional else [*given, ""])}
    return found


_IN_FRONT = {"bar": "cta", "barrier": "cta"}
"""Qualifiers that stand in front of the rest of the name, as in barrier.cta.sync."""
FORMS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {name: forms for names, forms in _ROWS for name in names.split("|")}
)
"""The forms of an operation by its words; those that compute have one that fits any."""


def fit(operation: str, name: str) -> Fit:
    """The fit of a name that has the words of an operation to the nearest form of it."""
    words = name.split(".")
    misplaced = [each for each in words[2:] if each == _IN_FRONT.get(words[0])]
    for each in operation.split():
        words.remove(each)
    forms = FORMS.get(operation, (_ARITHMETIC,))
    found: Fit | None = None
    for each in forms:
        tried = _fit(slots_of(each), words)
        if found is None or (tried.faults, len(tried.unread)) < (found.faults, len(found.unread)):
            found = tried
        if not found.faults:
            break
    assert found is not None, operation
    return replace(found, unread=(*found.unread, *misplaced)) if misplaced else found


def _fit(slots: Sequence[Slot], words: Sequence[str]) -> Fit:
    left = [*words]
    missing: list[str] = []
    taken: list[Slot] = []
    for slot in slots:
        # Types mean something by their order, as in cvt.f64.f32: the next one is for the next slot.
        given = [next(filter(_slot("ANY").takes, left), "")] if slot.is_type else left
        found = [each for each in given if slot.takes(each)]
        for each in found if slot.is_repeated else found[:1]:
            left.remove(each)
        if found:
            taken.append(slot)
        elif slot.is_required:
            missing.append(slot.name)
    repeated = [each for each in left if any(slot.takes(each) for slot in taken)]
    return Fit(tuple(left), tuple(repeated), tuple(missing))
