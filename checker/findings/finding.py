"""Rules with stable names and levels, findings of them, and verdicts, for code of every vendor."""

from dataclasses import dataclass, field
from typing import Self

from fencewright.lowering.vocabulary import FastStrEnum


class Level(FastStrEnum):
    """The certainty and severity of a finding, the worst first."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


_ERROR, _WARNING, _NOTE = Level


DIVERGENT_BARRIER = "threads may not all come to the barrier"
"""The reason not to judge by a barrier that is in a branch which threads of a CTA take apart."""


class VerdictKind(FastStrEnum):
    """A verdict's word."""

    RACE_FREE = "race-free"
    RACE = "race"
    LAUNCH = "race only under a launch"
    NOT_JUDGED = "not judged"

    @property
    def decides_all(self) -> bool:
        """True where every pair of accesses was decided."""
        return self in (VerdictKind.RACE_FREE, VerdictKind.LAUNCH)


class Rule(FastStrEnum):
    """The stable name of each kind of finding, with the worst ``level`` that it has."""

    _value_: str
    level: Level

    def __new__(cls, name: str, level: Level) -> Self:
        """Make the word of that name."""
        rule = str.__new__(cls, name)
        rule._value_ = name
        rule.level = level
        return rule

    # Registers and waits of AMD code.
    RAW = "hazard-raw", _ERROR
    WAW = "hazard-waw", _ERROR
    ENTRY = "hazard-entry", _ERROR
    RETURN = "hazard-return", _ERROR
    TRANSLATION = "hazard-translation", _ERROR
    # Which of the LDS a load writes is not known, nor which the read is of.
    LDS_DMA = "lds-dma", _WARNING
    LDS_DMA_BARRIER = "lds-dma-barrier", _WARNING

    # Orders that a source requires.
    RELEASE = "release", _ERROR
    ACQUIRE = "acquire", _ERROR
    CUMULATIVE_ACQUIRE = "cumulative-acquire", _ERROR
    SEQ_CST = "seq-cst", _ERROR
    COHERENCE = "coherence", _ERROR
    LOST_BARRIER = "barrier-lost", _ERROR
    SCALAR_STALE = "scalar-stale", _ERROR

    # Order without a source: what is asked for is not known.
    WRITE_BACK_UNWAITED = "write-back-unwaited", _WARNING
    LDS_BARRIER = "lds-barrier", _WARNING
    CUMULATIVE = "cumulative", _WARNING
    SPIN = "spin-stale", _ERROR
    UNORDERED_WAIT = "unordered-wait", _ERROR
    UNORDERED_SIGNAL = "unordered-signal", _ERROR
    MISSING_BARRIER = "missing-barrier", _ERROR

    # Proxies, asynchronous operations, mbarriers and clusters of PTX.
    PROXY_FENCE = "proxy-fence", _ERROR
    PROXY_ACQUIRE = "proxy-acquire", _ERROR
    PROXY_READS = "proxy-reads", _ERROR
    TENSORMAP_FENCE = "tensormap-fence", _ERROR
    READ_ONLY = "read-only", _ERROR
    ASYNC_UNWAITED = "async-unwaited", _ERROR
    WGMMA_FENCE = "wgmma-fence", _ERROR
    GRID_DEPENDENCY = "grid-dependency", _WARNING
    MBARRIER_SCOPE = "mbarrier-scope", _ERROR
    MBARRIER_INIT = "mbarrier-init", _ERROR
    MBARRIER_PHASE = "mbarrier-phase", _WARNING
    MBARRIER_WAIT = "mbarrier-wait", _WARNING
    MBARRIER_BYTES = "mbarrier-bytes", _ERROR
    MBARRIER_ORDER = "mbarrier-order", _ERROR
    CLUSTER_BARRIER = "cluster-barrier", _ERROR

    # Surplus.
    SURPLUS_BARRIER = "surplus-barrier", _NOTE
    SURPLUS_WAIT = "surplus-wait", _NOTE
    SURPLUS_WRITE_BACK = "surplus-write-back", _NOTE
    SURPLUS_INVALIDATE = "surplus-invalidate", _NOTE
    SURPLUS_PROXY_FENCE = "surplus-proxy-fence", _NOTE
    SURPLUS_FENCE = "surplus-fence", _NOTE
    SURPLUS_RELEASE = "surplus-release", _NOTE
    SURPLUS_ACQUIRE = "surplus-acquire", _NOTE

    # Code that could not be judged.
    UNKNOWN = "unknown-instruction", _WARNING
    UNREACHED = "unreached-code", _WARNING
    NOT_COMPARED = "not-compared", _WARNING


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a counterexample: what a ``thread`` does at a line of the code.

    ``order``: its place in an execution; steps that nothing orders have one number.
    """

    thread: str
    line: int
    text: str
    order: int = 1


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One finding, at a line of the code; ``about``: the other lines that it concerns.

    ``lesser``: its level, where that is less than its rule's. ``cost``: of the surplus, in the
    prices' units, for the waves of a work-group, or for one if their number is not known; 0: not
    known. Of a comparison with a source: ``source_line`` asks for what is missing,
    ``earlier_source_line`` has the earlier of two accesses, both 0 if not known; ``function`` is
    the one compared, "" if there is no source. ``steps``: of a counterexample, where there is one.
    ``part``: of a wait for several counters, the one that can go.
    """

    line: int
    rule: Rule
    message: str
    lesser: Level | None = field(default=None, compare=False)
    about: tuple[int, ...] = field(default=(), compare=False)
    source_line: int = field(default=0, compare=False)
    cost: int = field(default=0, compare=False)
    function: str = field(default="", compare=False)
    earlier_source_line: int = field(default=0, compare=False)
    steps: tuple[Step, ...] = field(default=(), compare=False)
    part: str = field(default="", compare=False)

    @property
    def level(self) -> Level:
        """Its level: its own, or its rule's."""
        return self.lesser or self.rule.level


SURPLUS = frozenset(
    {
        Rule.SURPLUS_BARRIER,
        Rule.SURPLUS_WAIT,
        Rule.SURPLUS_WRITE_BACK,
        Rule.SURPLUS_INVALIDATE,
        Rule.SURPLUS_PROXY_FENCE,
        Rule.SURPLUS_FENCE,
        Rule.SURPLUS_RELEASE,
        Rule.SURPLUS_ACQUIRE,
    }
)
"""The rules about surplus."""

NOT_JUDGED = frozenset({Rule.UNKNOWN, Rule.UNREACHED, Rule.NOT_COMPARED})
"""The rules that say that something could not be judged."""
