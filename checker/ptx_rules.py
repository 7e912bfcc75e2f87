"""The findings in PTX: the rules by their stable names, and what is said of one."""

from dataclasses import dataclass, field

from fencewright.checker.findings import Level
from fencewright.lowering.vocabulary import Word


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
