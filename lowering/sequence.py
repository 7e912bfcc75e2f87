"""What is asked of a lowering and what it answers: requests, instructions, sequences."""

from dataclasses import dataclass, field

from fencewright.lowering.vocabulary import (
    AddressSpace,
    Availability,
    Compat,
    L2PerAgent,
    Operation,
    Ordering,
    Phase,
    RmwKind,
    Scope,
    ValueType,
)


class UnsupportedError(ValueError):
    """A request that has no lowering: what was asked, why not, and what would be accepted."""

    def __init__(self, asked: str, reason: str, accepted: tuple[str, ...] = ()):
        self.asked = asked
        self.reason = reason
        self.accepted = accepted
        hint = f"; accepted: {', '.join(accepted)}" if accepted else ""
        super().__init__(f"{asked}: {reason}{hint}")


@dataclass(frozen=True, slots=True)
class Request:
    """One scoped operation to lower, every choice spelled out.

    ``space`` is None for fences and barriers only. ``spaces`` limits what an ordered
    operation orders (None: everything that can be shared). ``one_as`` orders each
    address space on its own but not one against another (LLVM's ``-one-as``).
    ``width`` in bits. ``type``: what the value is, of that width; None: an integer, or for the
    floating-point kinds f32 or f64. ``elementwise``: each number of a packed value need only be
    updated atomically by itself, not the value as a whole. ``ptx_version`` as (major, minor), for PTX targets only.
    """

    op: Operation
    ordering: Ordering
    scope: Scope
    space: AddressSpace | None
    failure_ordering: Ordering | None = None
    returns: bool = True
    kind: RmwKind = RmwKind.ADD
    width: int = 32
    volatile: bool = False
    nontemporal: bool = False
    one_as: bool = False
    spaces: frozenset[AddressSpace] | None = None
    availability: Availability = Availability.FULL
    features: frozenset[str] = frozenset()
    l2_per_agent: L2PerAgent = L2PerAgent.MANY
    compat: Compat | None = None
    ptx_version: tuple[int, int] | None = None
    type: ValueType | None = None
    elementwise: bool = False

    def __str__(self) -> str:
        """The request as one would write it, for messages."""
        kind = f" {self.kind}" if self.op is Operation.ATOMIC_RMW else ""
        failure = f" {self.failure_ordering}" if self.failure_ordering else ""
        where = f" on {self.space}" if self.space else ""
        type_ = self.type or f"i{self.width}"
        whole = " elementwise" if self.elementwise else ""
        size = f" {type_}{whole}" if self.op.is_access else ""
        features = "".join(f" +{feature}" for feature in sorted(self.features))
        scope = "" if self.ordering is Ordering.WEAK else f" {self.scope}"
        return f"{self.op}{kind} {self.ordering}{failure}{scope}{size}{where}{features}"


@dataclass(frozen=True, slots=True)
class WaitCounts:
    """The greatest number of operations that may still be outstanding; None: any number."""

    vmcnt: int | None = None
    lgkmcnt: int | None = None

    def __or__(self, other: "WaitCounts") -> "WaitCounts":
        """The wait that satisfies both."""
        return WaitCounts(
            _stricter(self.vmcnt, other.vmcnt), _stricter(self.lgkmcnt, other.lgkmcnt)
        )

    def __bool__(self) -> bool:
        """Whether there is anything to wait for."""
        return self.vmcnt is not None or self.lgkmcnt is not None

    def __str__(self) -> str:
        """The operand of ``s_waitcnt``."""
        counts = (("vmcnt", self.vmcnt), ("lgkmcnt", self.lgkmcnt))
        return " ".join(f"{name}({n})" for name, n in counts if n is not None)


def _stricter(a: int | None, b: int | None) -> int | None:
    if a is None:
        return b
    return a if b is None else min(a, b)


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction of a sequence.

    ``text`` is assembly with named operand places in braces (``{dst}``, ``{addr}``,
    ``{data}``, ``{compare}``); ``modifiers`` are the cache policy bits or suffixes it
    carries; ``wait`` is set for a wait; ``source`` says where the rule is written.
    """

    mnemonic: str
    operands: str
    modifiers: tuple[str, ...]
    phase: Phase
    source: str
    wait: WaitCounts | None = None
    text: str = field(init=False)

    def __post_init__(self) -> None:
        operands = " ".join(part for part in (self.operands, *self.modifiers) if part)
        object.__setattr__(self, "text", f"{self.mnemonic} {operands}".rstrip())

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Sequence:
    """The instructions that a request lowers to, in order of execution.

    ``remarks`` say where the target had to be given something wider than was asked.
    """

    instructions: tuple[Instruction, ...]
    remarks: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """One instruction a line."""
        return "\n".join(each.text for each in self.instructions)

    def __str__(self) -> str:
        return self.text
