"""Litmus tests on a real GPU: run many times under stress, compared with the PTX model.

What runs there is written by ``gpu_kernels``. No import here needs a GPU:
``run_litmus_on_gpu`` takes any ``GpuDevice``.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Protocol

from fencewright.lowering.vocabulary import MOST_THREADS
from fencewright.simulator.core.condition import Formula, Observable, Outcomes
from fencewright.simulator.gpu.kernels import (
    COUNT,
    STRESS,
    Arrangement,
    GpuLitmusError,
    Launch,
    StressTest,
    prepare,
)
from fencewright.simulator.ptx.formats.columns import PtxLitmusTest
from fencewright.simulator.ptx.outcomes import outcomes

_POISON = 0xFFFFFFFF
"""The value of registers before a launch: a thread that did not run shows."""


@dataclass(frozen=True, slots=True)
class Stress:
    """The run of a test: ``instances`` at once (a power of two), ``launches`` times.

    Launches cycle through ``block_sizes``, then ``strides`` (odd, so that multiplying by one
    permutes the instances), then ``spacings`` (bytes from one instance's location to the
    next's; 128 gives each a cache line). With a ``seed`` they are drawn at random instead, and
    strides from all odd numbers. The defaults are those under which an H200 shows
    every weak behaviour that is known of it but store buffering through fence.acq_rel.
    """

    instances: int = 65536
    launches: int = 160
    block_sizes: tuple[int, ...] = (32, 64, 256, 1024)
    strides: tuple[int, ...] = (1, 3, 5, 17, 257, 4099, 32771, 65533)
    spacings: tuple[int, ...] = (4,)
    seed: int | None = None

    def __post_init__(self) -> None:
        if not _is_power_of_two(self.instances) or self.instances < max(self.block_sizes):
            raise GpuLitmusError("instances must be a power of two, and fill the largest block")
        if self.launches < 1 or self.instances * self.launches >= 1 << 32:
            raise GpuLitmusError("there must be 1 to 2^32-1 instances over all launches")
        if not all(0 < size <= MOST_THREADS for size in self.block_sizes):
            raise GpuLitmusError(f"a block has 1 to {MOST_THREADS} threads")
        if not all(stride % 2 for stride in self.strides):
            raise GpuLitmusError("strides must be odd: an even one gives an instance two partners")
        if not all(_is_power_of_two(each) and each >= 4 for each in self.spacings):
            raise GpuLitmusError("spacings must be powers of two of at least 4 bytes")

    def __iter__(self) -> Iterator[Launch]:
        sizes, strides, spacings = self.block_sizes, self.strides, self.spacings
        if self.seed is not None:
            yield from self._drawn(Random(self.seed))
            return
        for number in range(self.launches):
            turn, size = divmod(number, len(sizes))
            again, stride = divmod(turn, len(strides))
            yield Launch(sizes[size], strides[stride], spacings[again % len(spacings)])

    def _drawn(self, random: Random) -> Iterator[Launch]:
        for _ in range(self.launches):
            size, spacing = random.choice(self.block_sizes), random.choice(self.spacings)
            yield Launch(size, random.randrange(1, self.instances, 2), spacing)


def _is_power_of_two(number: int) -> bool:
    return number > 0 and number & (number - 1) == 0


@dataclass(frozen=True, slots=True)
class GpuResult:
    """The number of times that each final state was seen, with all allowed ones.

    In a state None stands for a value that no allowed outcome has. ``gave_up`` counts the
    instances that are not in the histogram: a loop in them did not end.
    """

    name: str
    instances: int
    observables: tuple[Observable, ...]
    histogram: Mapping[tuple[int | None, ...], int]
    allowed: frozenset[tuple[int | None, ...]]
    gave_up: int = 0

    @property
    def forbidden(self) -> dict[tuple[int | None, ...], int]:
        """The states that the model forbids, with how often each was seen."""
        return {state: n for state, n in self.histogram.items() if state not in self.allowed}

    def times(self, formula: Formula) -> int:
        """The number of instances that ended in a state of which ``formula`` holds."""
        return sum(
            count
            for state, count in self.histogram.items()
            if formula.holds(dict(zip(self.observables, state, strict=True)))
        )

    def by_text(self, counts: Mapping[tuple[int | None, ...], int]) -> dict[str, int]:
        """``counts`` of some of the states, with these as texts, in their order."""
        return dict(sorted((self.state_text(state), count) for state, count in counts.items()))

    def state_text(self, state: tuple[int | None, ...]) -> str:
        """A state for people; ``?`` is a value that no allowed outcome has."""
        shown = ("?" if value is None else value for value in state)
        return " ".join(f"{o}={v}" for o, v in zip(self.observables, shown, strict=True))


# Running


class GpuBuffer(Protocol):
    """Memory of a device."""

    @property
    def address(self) -> int:
        """The address at which it begins."""
        ...

    def fill(self, word: int, offset: int = 0, words: int | None = None) -> None:
        """Set 32-bit words from byte ``offset`` on."""
        ...

    def read(self) -> bytes:
        """All of it, after every earlier launch."""
        ...


class GpuKernel(Protocol):
    """A kernel of a loaded module."""

    def launch(
        self,
        grid: int,
        block: int,
        arguments: Sequence["GpuBuffer | int"],
        *,
        cluster: int = 1,
        shared_bytes: int = 0,
    ) -> None:
        """Start it after every earlier launch."""
        ...


class GpuModule(Protocol):
    """Loaded PTX."""

    def kernel(self, name: str) -> GpuKernel:
        """The entry called ``name``."""
        ...


class GpuDevice(Protocol):
    """The interface of a GPU; ``fencewright.gpu.Device`` is one."""

    def allocate(self, size: int) -> GpuBuffer:
        """So many bytes."""
        ...

    def load(self, ptx: str, /) -> GpuModule:
        """Compile and load a module."""
        ...

    def synchronize(self) -> None:
        """Wait for every launch."""
        ...


def run_litmus_on_gpu(
    test: PtxLitmusTest,
    device: GpuDevice,
    *,
    target: str = "sm_90",
    stress: Stress | None = None,
    shared: bool | frozenset[str] = False,
    allowed: Outcomes | None = None,
    peers: Sequence[GpuDevice] = (),
) -> GpuResult:
    """Run a test under stress and count its outcomes.

    ``shared`` are the locations in shared memory, True for all, in a test in one CTA.
    ``allowed`` are the outcomes that it is judged by, those of the PTX model where None.
    ``peers`` are the GPUs besides ``device`` that its threads are on; all of them reach each
    other's memory. Raises ``GpuLitmusError`` for a test that cannot be run or was not run in
    full, and what a device raises.
    """
    judged_by = outcomes(test.program) if allowed is None else allowed
    prepared = prepare(test.program, judged_by, target, shared)
    return run_prepared(test.name, prepared, judged_by, device, stress, peers)


def run_prepared(
    name: str,
    prepared: StressTest,
    allowed: Outcomes,
    device: GpuDevice,
    stress: Stress | None = None,
    peers: Sequence[GpuDevice] = (),
) -> GpuResult:
    """As ``run_litmus_on_gpu``, of a test that is ``prepared`` already, to be judged by
    ``allowed``."""
    chosen = Stress() if stress is None else stress
    wanted, there = len(prepared.modules), 1 + len(peers)
    if wanted > there:
        raise GpuLitmusError(f"its threads are on {wanted} GPUs, and {there} {_are(there)} given")
    counts = _run(prepared, (device, *peers)[:wanted], chosen)
    if sum(counts) != chosen.instances * chosen.launches:
        raise GpuLitmusError(f"{sum(counts)} instances were counted: the kernels did not all run")
    encoding = prepared.encoding
    ended = counts[: encoding.size]
    histogram = {encoding.decode(code): n for code, n in enumerate(ended) if n}
    return GpuResult(
        name,
        sum(counts),
        encoding.observables,
        histogram,
        frozenset(allowed.states),
        sum(counts[encoding.size :]),
    )


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _run(test: StressTest, devices: Sequence[GpuDevice], stress: Stress) -> tuple[int, ...]:
    """The counters. With several GPUs each location is in the memory of one, in turn."""
    first, *others = devices
    loaded = [device.load(ptx) for device, ptx in zip(devices, test.modules, strict=True)]
    count_kernel = loaded[0].kernel(COUNT)
    spacing = max(test.cell, *stress.spacings)
    size = test.memory_bytes(stress.instances, spacing)
    memories = [device.allocate(size) for device in devices]
    registers = first.allocate(test.register_bytes(stress.instances))
    gate = _Gate(first, test.arrangement, stress.instances) if others else None
    counters = first.allocate(4 * test.counters)
    counters.fill(0)
    mask = stress.instances - 1
    count_block = min(stress.instances, 256)
    for number, planned in enumerate(stress):
        launch = replace(planned, spacing=max(planned.spacing, test.cell))
        shift = launch.spacing.bit_length() - 1
        words = stress.instances * launch.spacing // 4
        turn = number % len(memories)
        turned = [*memories[turn:], *memories[:turn]]
        for location, name in enumerate(test.locations):
            memory = turned[location % len(turned)]
            memory.fill(test.program.initial.get(name, 0), 4 * words * location, words)
        registers.fill(_POISON)
        slots = test.slots(launch)
        arguments = [*turned, registers, mask, shift, launch.stride]
        if gate is not None:
            # Launches of one GPU do not wait for what another one does.
            _wait(devices)
            arguments = gate.arguments(slots, arguments)
        for gpu, module in enumerate(loaded):
            module.kernel(STRESS).launch(
                test.arrangement.blocks(slots, stress.instances, gpu),
                slots * test.arrangement.roles,
                arguments,
                cluster=test.arrangement.width,
                shared_bytes=test.shared_bytes(launch),
            )
        _wait(others)
        count_kernel.launch(
            stress.instances // count_block,
            count_block,
            [*turned, registers, counters, mask, shift],
        )
    return struct.unpack(f"<{test.counters}I", counters.read())


def _wait(devices: Sequence[GpuDevice]) -> None:
    for device in devices:
        device.synchronize()


class _Gate:
    """A counter at which the blocks of all GPUs meet before they begin."""

    def __init__(self, device: GpuDevice, arrangement: Arrangement, instances: int):
        self._counter = device.allocate(4)
        self._counter.fill(0)
        self._arrangement = arrangement
        self._instances = instances
        self._opens = 0

    def arguments(self, slots: int, others: Sequence[GpuBuffer | int]) -> list[GpuBuffer | int]:
        """The arguments of the next launch: pointers, the counter, numbers, the number that opens
        it."""
        gpus = range(len(self._arrangement.gpus))
        blocks = (self._arrangement.blocks(slots, self._instances, gpu) for gpu in gpus)
        self._opens = (self._opens + sum(blocks)) % (1 << 32)
        pointers = [each for each in others if not isinstance(each, int)]
        return [*pointers, self._counter, *others[len(pointers) :], self._opens]
