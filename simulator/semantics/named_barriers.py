"""Named barriers of work-groups: a phase is complete with the last signal that a barrier counts.

What the documents leave undefined is an error. Source: LLVM 24 AMDGPUExecutionSynchronization,
"Named Barriers" Model Extensions, s_barrier GFX12.
"""

from dataclasses import dataclass, field

from fencewright.lowering.cdna.named_barriers import of_m0
from fencewright.lowering.vocabulary import FastStrEnum


class BarrierAction(FastStrEnum):
    """An action of a wave at a named barrier."""

    INITIALISE = "initialise"
    SIGNAL = "signal"
    JOIN = "join"
    WAIT = "wait"
    LEAVE = "leave"


class Undefined(Exception):
    """An action whose effect is undefined, with the reason."""


@dataclass(frozen=True, slots=True)
class Meeting:
    """The phase of a barrier that a wave signals or waits for; ``is_first``: nobody had come."""

    number: int
    phase: int
    is_first: bool = False


@dataclass(slots=True)
class _Barrier:
    count: int = 0
    phase: int = 0
    came: list[int] = field(default_factory=list[int])


class NamedBarriers:
    """The named barriers of a work-group, and the one that each wave has joined last."""

    def __init__(self) -> None:
        self.barriers: dict[int, _Barrier] = {}
        self.joined: dict[int, tuple[int, int]] = {}
        """Of each wave its barrier, and the phase that it waits for next."""

    def act(self, wave: int, action: BarrierAction, operand: int) -> Meeting:
        """An action of a wave; ``operand``: the number, and above it the count, as m0 has them.

        Raises ``Undefined``.
        """
        number, count = of_m0(operand)
        if action in (BarrierAction.WAIT, BarrierAction.LEAVE):
            if wave not in self.joined:
                raise Undefined("the wave has joined no barrier")
            number, phase = self.joined[wave]
            if action is BarrierAction.LEAVE:
                return self._leave(wave, number)
            return Meeting(number, phase)
        barrier = self.barriers.setdefault(number, _Barrier())
        if action is BarrierAction.INITIALISE:
            self.barriers[number] = _Barrier(count, barrier.phase)
        elif action is BarrierAction.JOIN:
            self.joined[wave] = number, barrier.phase
        else:
            return self._signal(wave, number, count)
        return Meeting(number, barrier.phase)

    def may_pass(self, wave: int) -> bool:
        """True where the phase is complete that a wave waits for."""
        number, phase = self.joined[wave]
        return self.barriers[number].phase > phase

    def passed(self, wave: int) -> None:
        """Let a wave continue; it waits for the phase that is not complete next time."""
        number, _ = self.joined[wave]
        self.joined[wave] = number, self.barriers[number].phase

    def _signal(self, wave: int, number: int, count: int) -> Meeting:
        barrier = self.barriers[number]
        if not barrier.count:
            raise Undefined(f"barrier {number} is not initialised")
        if count and count <= len(barrier.came):
            raise Undefined(f"barrier {number} has {len(barrier.came)} signals already")
        meeting = Meeting(number, barrier.phase, not barrier.came)
        barrier.count = count or barrier.count
        barrier.came.append(wave)
        self._complete(barrier)
        return meeting

    def _leave(self, wave: int, number: int) -> Meeting:
        barrier = self.barriers[number]
        if wave in barrier.came:
            raise Undefined(f"it has signalled barrier {number}, which is not complete")
        meeting = Meeting(number, barrier.phase)
        barrier.count -= 1
        del self.joined[wave]
        self._complete(barrier)
        return meeting

    def _complete(self, barrier: _Barrier) -> None:
        if len(barrier.came) >= barrier.count:
            barrier.came.clear()
            barrier.phase += 1
