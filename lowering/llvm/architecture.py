"""LLVM IR's names on each architecture, and its encodings of that architecture's instructions.

One row an architecture; a third one is a new row. Where a module does not say which it is
for, every architecture's words are understood: no two mean different things by one word.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from types import MappingProxyType

from fencewright.lowering.vocabulary import AddressSpace, Ordering, Scope

UNORDERED = "unordered"
"""An atomic access whose value is one that was stored; on AMD's chips LLVM makes it a plain access,
even if volatile. Source: LLVM LangRef, Ordering; SIMemoryLegalizer, expandLoad and expandStore."""

ORDERING_OF: Mapping[str | None, Ordering] = MappingProxyType(
    {
        None: Ordering.WEAK,
        UNORDERED: Ordering.WEAK,
        "monotonic": Ordering.RELAXED,
        "acquire": Ordering.ACQUIRE,
        "release": Ordering.RELEASE,
        "acq_rel": Ordering.ACQ_REL,
        "seq_cst": Ordering.SEQ_CST,
    }
)
"""LLVM's word of an ordering (None: not atomic) -> the ordering."""

ORDERING_WORD = "|".join(filter(None, ORDERING_OF))
"""The pattern of such a word."""

_TRIPLE = re.compile(r'target triple = "([^"]*)"')

Syncscopes = Mapping[str | None, tuple[Scope, bool]]
"""LLVM's name of a scope (None: written without a name) -> the scope, and whether one-as."""


@dataclass(frozen=True, eq=False)
class Architecture:
    """LLVM's words for one architecture.

    ``name`` as in ``lowering.targets``. ``triples``: the first parts of its triples;
    ``chip_triples``: a pattern of those that name a chip, and that chip's name.
    ``spaces``: the numbers of the address spaces that it shares with the vocabulary.
    ``features``: what ``target-features`` may switch that changes the lowering, each with the
    function attribute that means the same; ``version``: the feature that is a PTX version.
    ``access_orders``: an access carries its ordering, and becomes inline assembly as well; if not,
    it stays LLVM's, relaxed, between what orders it.
    ``work_group``: what a kernel says of the most threads of a work-group: the numbers in a match
    are to be multiplied.
    """

    name: str
    triples: tuple[str, ...]
    syncscopes: Syncscopes
    spaces: frozenset[int]
    source: str
    chip_triples: tuple[str, str] = (r"(?!)", "")
    features: Mapping[str, str] = field(default_factory=dict[str, str])
    version: re.Pattern[str] | None = None
    access_orders: bool = False
    work_group: tuple[re.Pattern[str], ...] = ()

    @cached_property
    def syncscope_of(self) -> Mapping[tuple[Scope, bool], str | None]:
        """A scope, and whether it is one-as -> LLVM's name of it."""
        return {scope: name for name, scope in self.syncscopes.items()}

    def is_triple_of(self, triple: str, target: str) -> bool:
        """True if ``triple`` can be that of the chip ``target``."""
        machine = triple.partition("-")[0]
        return machine in self.triples or self._chip_in(machine) == target

    def has_machine(self, machine: str) -> bool:
        """True if the first part of a triple is one of this architecture."""
        return machine in self.triples or self._chip_in(machine) is not None

    def most_threads(self, function: str) -> int | None:
        """The most threads of a work-group, if ``function`` says so; None if it does not.

        ``function``: its header, in which groups of attributes and metadata nodes are written out.
        """
        found = (each for pattern in self.work_group for each in pattern.finditer(function))
        sizes = [prod(int(number) for number in each.groups() if number) for each in found]
        return min(sizes, default=None)

    def _chip_in(self, machine: str) -> str | None:
        pattern, chip = self.chip_triples
        named = re.fullmatch(pattern, machine)
        return named.expand(chip) if named else None


def _amdgpu_syncscopes() -> Syncscopes:
    names: dict[str | None, tuple[Scope, bool]] = {
        None: (Scope.SYSTEM, False),
        "one-as": (Scope.SYSTEM, True),
    }
    for scope in Scope:
        if scope is not Scope.SYSTEM:
            names[scope.value] = (scope, False)
            names[f"{scope.value}-one-as"] = (scope, True)
    return names


_SHARED_NUMBERS = frozenset(each.number for each in AddressSpace)

CDNA = Architecture(
    name="cdna",
    triples=("amdgcn", "amdgpu"),
    chip_triples=(r"amdgpu([0-9]+)\.([0-9a-z]+)", r"gfx\1\2"),
    syncscopes=_amdgpu_syncscopes(),
    # Its 7 is a buffer, not shared memory.
    spaces=_SHARED_NUMBERS - {AddressSpace.SHARED_CLUSTER.number},
    features={"tgsplit": "amdgpu-tg-split"},
    work_group=(
        re.compile(r'"amdgpu-flat-work-group-size"="[0-9]+,([0-9]+)"'),
        re.compile(r"!reqd_work_group_size !\{i32 ([0-9]+), i32 ([0-9]+), i32 ([0-9]+)\}"),
    ),
    source="LLVM AMDGPUUsage: Target Triples, Memory Scopes, Address Spaces, Target Features, LLVM "
    "IR Attributes; OpenCL C 3.0, reqd_work_group_size",
)

PTX = Architecture(
    name="ptx",
    triples=("nvptx64",),
    syncscopes={
        None: (Scope.SYSTEM, False),
        "device": (Scope.AGENT, False),
        "cluster": (Scope.CLUSTER, False),
        "block": (Scope.WORKGROUP, False),
        "singlethread": (Scope.SINGLETHREAD, False),
    },
    spaces=_SHARED_NUMBERS,
    version=re.compile(r"\+ptx([0-9]+)([0-9])"),
    access_orders=True,
    # LLVM turns older modules' !nvvm.annotations into these attributes.
    work_group=(re.compile(r'"nvvm\.(?:req|max)ntid"="([0-9]+)(?:,([0-9]+))?(?:,([0-9]+))?"'),),
    source="LLVM NVPTXUsage: Triples, Address Spaces, Kernel Metadata; LLVM NVPTX.h, Scope, and "
    "NVPTX.td, +ptxNN; PTX ISA, .reqntid and .maxntid",
)

ARCHITECTURES = {each.name: each for each in (CDNA, PTX)}
"""The architectures by the names of ``lowering.targets``."""

UNKNOWN = Architecture(
    name="unknown",
    triples=(),
    # Export prefers the names of the last one.
    syncscopes={**PTX.syncscopes, **CDNA.syncscopes},
    spaces=CDNA.spaces & PTX.spaces,
    source="; ".join(each.source for each in (CDNA, PTX)),
)
"""The names of all architectures, for a module that does not say its own."""


def triples_in(lines: Iterable[str]) -> list[str]:
    """The triples that the lines of a module name; at most one, if LLVM has verified it."""
    return [found[1] for found in map(_TRIPLE.fullmatch, lines) if found]


def architecture_of(triples: Iterable[str]) -> Architecture:
    """The architecture of a module with these triples; ``UNKNOWN`` if it is none of ours."""
    for triple in triples:
        for each in ARCHITECTURES.values():
            if each.has_machine(triple.partition("-")[0]):
                return each
    return UNKNOWN
