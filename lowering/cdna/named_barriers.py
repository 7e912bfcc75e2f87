"""Instructions that use the named barriers of a work-group, by the number of the barrier.

A barrier completes when as many waves have signalled as it counts, and starts anew. Who waits has
joined it before: s_barrier_wait is for the barrier that was joined last. s_barrier_leave is left
out on purpose: it takes a wave out of the count for good.
Source: LLVM 24 AMDGPUExecutionSynchronization, s_barrier GFX12; m0 as LLVM 22.1.8 fills it.
"""

from typing import NamedTuple

SOURCE = "LLVM 24 AMDGPUExecutionSynchronization, s_barrier GFX12"

_COUNT = 16
"""The lowest bit of the count in m0; the number of the barrier is in bits 0 to 4."""

MOST_SIGNALS = 127
"""The count has seven bits."""


class BarrierUse(NamedTuple):
    """An instruction of a barrier: its operand, and the value of m0 that it needs."""

    mnemonic: str
    operand: str
    m0: int | None = None


def initialise(number: int, signals: int) -> BarrierUse:
    """The barrier completes with so many ``signals``; none has come yet."""
    return BarrierUse("s_barrier_init", "m0", signals << _COUNT | number)


def signal(number: int, signals: int | None = None) -> BarrierUse:
    """The wave arrives, joined or not; with ``signals``, at a barrier that now counts so many."""
    if signals is None:
        return BarrierUse("s_barrier_signal", str(number))
    return BarrierUse("s_barrier_signal", "m0", signals << _COUNT | number)


def join(number: int) -> BarrierUse:
    """The wave can wait for a phase of the barrier that is not complete yet."""
    return BarrierUse("s_barrier_join", str(number))


def wait(number: int) -> BarrierUse:
    """Until the phase is complete."""
    return BarrierUse("s_barrier_wait", str(number))


def of_m0(m0: int) -> tuple[int, int]:
    """The number of a barrier and the count, 0 for none, that m0 holds."""
    return m0 & 0x1F, m0 >> _COUNT & MOST_SIGNALS
