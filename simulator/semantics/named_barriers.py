"""Barriers of gfx12: a phase is complete with the last signal that a barrier counts.

What the documents leave undefined is an error. Source: LLVM 24 AMDGPUExecutionSynchronization,
"Named Barriers" Model Extensions, s_barrier GFX12, s_barrier IDs GFX12.
"""

from collections import Counter
from dataclasses import dataclass, field

from fencewright.lowering.cdna.named_barriers import of_m0
from fencewright.lowering.vocabulary import FastStrEnum


class BarrierAction(FastStrEnum):
    """An action of a wave at a barrier."""

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
class Barrier:
    """A barrier: the signals that complete a phase, and who has signalled this one."""

    count: int = 0
    phase: int = 0
    came: list[int] = field(default_factory=list[int])

    def complete(self) -> None:
        """Begin the next phase where all signals have come."""
        if self.came and len(self.came) >= self.count:
            self.came.clear()
            self.phase += 1


OF_GROUP, OF_CLUSTER = -1, -3
"""The barriers that hardware initialises: all waves of a work-group signal the one, one wave of
each work-group the other, and any wave waits for both."""


class NamedBarriers:
    """The barriers of a work-group, and the named one that each wave has joined last.

    ``waves``: so many signal the work-group's own; ``cluster``: that of its cluster, if it is in
    one. ``group``: its number there.
    """

    def __init__(self, waves: int = 0, cluster: Barrier | None = None, group: int = 0) -> None:
        self.barriers: dict[int, Barrier] = {OF_GROUP: Barrier(waves)}
        if cluster is not None:
            self.barriers[OF_CLUSTER] = cluster
        self.group, self.waves = group, waves
        self.joined: dict[int, int] = {}
        self.phases: Counter[tuple[int, int]] = Counter()
        """Of a wave and a barrier, the phase that it waits for next."""
        self.waiting: dict[int, int] = {}

    def act(self, wave: int, action: BarrierAction, operand: int) -> Meeting:
        """An action of a wave; ``operand``: the number, and above it the count, as m0 has them.

        Raises ``Undefined``.
        """
        number, count = of_m0(operand) if operand >= 0 else (operand, 0)
        if action in (BarrierAction.WAIT, BarrierAction.LEAVE) and operand >= 0:
            if wave not in self.joined:
                raise Undefined("the wave has joined no barrier")
            number = self.joined[wave]
        barrier = self.barriers.setdefault(number, Barrier())
        match action:
            case BarrierAction.INITIALISE:
                self.barriers[number] = Barrier(count, barrier.phase)
            case BarrierAction.JOIN:
                self.joined[wave] = number
                self.phases[wave, number] = barrier.phase
            case BarrierAction.SIGNAL:
                return self._signal(wave, number, count)
            case BarrierAction.WAIT:
                self._check(number)
                self.waiting[wave] = number
                return Meeting(number, self.phases[wave, number])
            case BarrierAction.LEAVE:
                return self._leave(wave, number)
        return Meeting(number, barrier.phase)

    def may_pass(self, wave: int) -> bool:
        """True where the phase is complete that a wave waits for."""
        number = self.waiting[wave]
        return self.barriers[number].phase > self.phases[wave, number]

    def passed(self, wave: int) -> None:
        """Let a wave continue; it waits for the phase that is not complete next time."""
        number = self.waiting.pop(wave)
        self.phases[wave, number] = self.barriers[number].phase

    def ended(self, wave: int) -> None:
        """Take a wave that has ended out of the barriers of hardware; its signal counts no more.

        That the last wave of a work-group takes this out of its cluster's barrier is inferred.
        """
        self.waves -= 1
        self._drop(OF_GROUP, wave)
        if not self.waves and OF_CLUSTER in self.barriers:
            self._drop(OF_CLUSTER, self.group)

    def _drop(self, number: int, who: int) -> None:
        barrier = self.barriers[number]
        barrier.count -= 1
        if who in barrier.came:
            barrier.came.remove(who)
        barrier.complete()

    def _check(self, number: int) -> None:
        """Raise ``Undefined`` for a barrier that does not exist."""
        if not self.barriers[number].count:
            missing = "exists in clusters alone" if number == OF_CLUSTER else "is not initialised"
            raise Undefined(f"barrier {number} {missing}")

    def _signal(self, wave: int, number: int, count: int) -> Meeting:
        self._check(number)
        barrier, who = self.barriers[number], self.group if number == OF_CLUSTER else wave
        if number < 0 and who in barrier.came:
            raise Undefined(f"barrier {number} has its signal of this phase already")
        if count and count <= len(barrier.came):
            raise Undefined(f"barrier {number} has {len(barrier.came)} signals already")
        meeting = Meeting(number, barrier.phase, not barrier.came)
        barrier.count = count or barrier.count
        barrier.came.append(who)
        barrier.complete()
        return meeting

    def _leave(self, wave: int, number: int) -> Meeting:
        barrier = self.barriers[number]
        if wave in barrier.came:
            raise Undefined(f"it has signalled barrier {number}, which is not complete")
        meeting = Meeting(number, barrier.phase)
        barrier.count -= 1
        del self.joined[wave]
        barrier.complete()
        return meeting
