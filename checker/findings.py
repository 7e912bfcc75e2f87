"""Findings in code that others made: rules with stable names, levels, and single findings."""

from dataclasses import dataclass, field

from fencewright.lowering.vocabulary import Word


class Rule(Word):
    """What is wrong: the stable names of findings."""

    RAW = "hazard-raw"
    WAW = "hazard-waw"
    ENTRY = "hazard-entry"
    RETURN = "hazard-return"
    RELEASE = "release"
    ACQUIRE = "acquire"
    CUMULATIVE_ACQUIRE = "cumulative-acquire"
    SEQ_CST = "seq-cst"
    LOST_BARRIER = "barrier-lost"
    COHERENCE = "coherence"
    TRANSLATION = "hazard-translation"
    LDS_DMA = "lds-dma"
    SCALAR_STALE = "scalar-stale"
    UNWAITED = "write-back-unwaited"
    LDS_BARRIER = "lds-barrier"
    LDS_DMA_BARRIER = "lds-dma-barrier"
    CUMULATIVE = "cumulative"
    SPIN = "spin-stale"
    UNORDERED_WAIT = "unordered-wait"
    UNORDERED_SIGNAL = "unordered-signal"
    SURPLUS_BARRIER = "surplus-barrier"
    SURPLUS_WAIT = "surplus-wait"
    SURPLUS_WRITE_BACK = "surplus-write-back"
    SURPLUS_INVALIDATE = "surplus-invalidate"
    UNKNOWN = "unknown-instruction"
    UNREACHED = "unreached-code"
    NOT_COMPARED = "not-compared"


class Level(Word):
    """How sure and how bad a finding is."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


LEVELS = {
    Rule.RAW: Level.ERROR,
    Rule.WAW: Level.ERROR,
    Rule.ENTRY: Level.ERROR,
    Rule.RETURN: Level.ERROR,
    Rule.RELEASE: Level.ERROR,
    Rule.ACQUIRE: Level.ERROR,
    Rule.CUMULATIVE_ACQUIRE: Level.ERROR,
    Rule.SEQ_CST: Level.ERROR,
    Rule.LOST_BARRIER: Level.ERROR,
    Rule.COHERENCE: Level.ERROR,
    Rule.SCALAR_STALE: Level.ERROR,
    Rule.TRANSLATION: Level.ERROR,
    # Which of the LDS a load writes is not known, nor which the read is of.
    Rule.LDS_DMA: Level.WARNING,
    Rule.LDS_DMA_BARRIER: Level.WARNING,
    # What the source asks for is not known.
    Rule.UNWAITED: Level.WARNING,
    Rule.LDS_BARRIER: Level.WARNING,
    Rule.CUMULATIVE: Level.WARNING,
    Rule.SPIN: Level.WARNING,
    Rule.UNORDERED_WAIT: Level.WARNING,
    Rule.UNORDERED_SIGNAL: Level.WARNING,
    Rule.SURPLUS_BARRIER: Level.NOTE,
    Rule.SURPLUS_WAIT: Level.NOTE,
    Rule.SURPLUS_WRITE_BACK: Level.NOTE,
    Rule.SURPLUS_INVALIDATE: Level.NOTE,
    Rule.UNKNOWN: Level.WARNING,
    Rule.UNREACHED: Level.WARNING,
    Rule.NOT_COMPARED: Level.WARNING,
}
"""The level of each rule, at most."""


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One finding, at a line of the assembly; ``about``: the other lines that it concerns.

    ``lesser``: its level, where that is less than its rule's. ``source_line``: where its source asks
    for what is missing; 0: not known. ``cost``: of what can go, in units of ``lowering.cdna.performance.costs``
    for the waves of a work-group, or for one if their number is not known.
    """

    line: int
    rule: Rule
    message: str
    lesser: Level | None = field(default=None, compare=False)
    about: tuple[int, ...] = field(default=(), compare=False)
    source_line: int = field(default=0, compare=False)
    cost: int = field(default=0, compare=False)

    @property
    def level(self) -> Level:
        """How sure and how bad it is."""
        return self.lesser or LEVELS[self.rule]


class PtxRule(Word):
    """What is wrong: the stable names of findings."""

    PROXY_FENCE = "proxy-fence"
    PROXY_ACQUIRE = "proxy-acquire"
    PROXY_READS = "proxy-reads"
    UNWAITED = "async-unwaited"
    TENSORMAP_FENCE = "tensormap-fence"
    READ_ONLY = "read-only"
    GRID_DEPENDENCY = "grid-dependency"
    MBARRIER_SCOPE = "mbarrier-scope"
    MBARRIER_INIT = "mbarrier-init"
    CLUSTER_BARRIER = "cluster-barrier"
    MISSING_BARRIER = "missing-barrier"
    UNORDERED_WAIT = "unordered-wait"
    UNORDERED_SIGNAL = "unordered-signal"
    SPIN = "spin-stale"
    MBARRIER_PHASE = "mbarrier-phase"
    MBARRIER_WAIT = "mbarrier-wait"
    MBARRIER_BYTES = "mbarrier-bytes"
    MBARRIER_ORDER = "mbarrier-order"
    WGMMA_FENCE = "wgmma-fence"
    SURPLUS_PROXY_FENCE = "surplus-proxy-fence"
    SURPLUS_FENCE = "surplus-fence"
    SURPLUS_RELEASE = "surplus-release"
    SURPLUS_ACQUIRE = "surplus-acquire"
    SURPLUS_BARRIER = "surplus-barrier"
    SURPLUS_WAIT = "surplus-wait"
    UNKNOWN = "unknown-instruction"


SURPLUS = (
    PtxRule.SURPLUS_PROXY_FENCE,
    PtxRule.SURPLUS_FENCE,
    PtxRule.SURPLUS_RELEASE,
    PtxRule.SURPLUS_ACQUIRE,
    PtxRule.SURPLUS_BARRIER,
    PtxRule.SURPLUS_WAIT,
)
"""The rules about what can go."""


@dataclass(frozen=True, slots=True, order=True)
class PtxFinding:
    """One finding, at a line of the text; ``about``: the other lines that it concerns.

    ``cost``: of what can go, in the units of the prices, if that is known.
    """

    line: int
    rule: PtxRule
    level: Level
    message: str
    about: tuple[int, ...] = ()
    cost: int = field(default=0, compare=False)
