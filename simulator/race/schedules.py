"""Schedules of a launch: two orders of all threads, and delays of one thread each.

One execution misses a race where the order in which a lock or a ticket was won orders the two
accesses by luck. Of the races of ScoR that one order misses the reverse finds all; of seven that
both miss, the delay of one thread before one of its strong operations, or before it begins, finds
all but those that need two delays. Random priorities find no more than random orders do.
"""

from collections.abc import Iterator, Mapping

from fencewright.simulator.threads.schedule import Delay, Schedule, Stops

ORDERS = (Schedule(), Schedule(is_reverse=True, is_late=True))
"""In order with copies done at once; in reverse order with copies done as late as possible."""
MOST_DELAYS = 64
MOST_WORK = 100_000
"""The accesses and turns of threads that all runs with a delay may have together."""


def delays(stops: Mapping[int, Stops], work: int) -> Iterator[Delay]:
    """The delays of one run each, within a budget.

    ``stops``: of the threads, or waves, of the run in order, whose start every delay shares.
    ``work``: the accesses and turns of that run. Threads that stop at the same operations have one
    role: its first thread is held before each of them first, then its last one, then both at their
    last time.
    """
    most = min(MOST_DELAYS, MOST_WORK // max(work, 1))
    for number, delay in enumerate(dict.fromkeys(_candidates(stops))):
        if number == most:
            return
        yield delay


def _candidates(stops: Mapping[int, Stops]) -> Iterator[Delay]:
    roles: dict[tuple[int, ...], list[int]] = {}
    for thread in sorted(stops):
        roles.setdefault(tuple(sorted(stops[thread])), []).append(thread)
    if sum(map(len, roles.values())) < 2:
        return
    for is_last_time in (False, True):
        for place in (0, -1):
            for threads in roles.values():
                thread = threads[place]
                if not is_last_time:
                    yield Delay(thread, 0)
                for times in stops[thread].values():
                    yield Delay(thread, times[is_last_time])
