"""The lanes of a wave that are together: for each wave a tree of its lanes' places.

A wave's entries are the tree in preorder. A leaf is lanes that run together at ``segment``; an
inner entry is where the leaves under it meet again, and has the lanes that wait there too. The
last leaf runs. Entries at the same depth under one parent all end at its segment.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fencewright.simulator.execution.lanes import LaneFlags, Numbers
from fencewright.simulator.execution.segments import EXIT

Rows = NDArray[np.intp]
"""The numbers of waves."""

_LEAVES = 4
"""Entries of each wave for which there is room at first."""


@dataclass(frozen=True, slots=True, eq=False)
class _Entry:
    segment: int
    until: int
    lanes: LaneFlags
    depth: int
    blocked: bool


class Convergence:
    """The trees of ``waves`` waves; ``segment`` is where the running leaf of each is.

    ``active``: its lanes. A wave with segment ``EXIT`` does not run: it has ended, or its lanes
    wait at a barrier. ``alive``: lanes that have not ended.
    """

    def __init__(self, waves: int, lanes: int) -> None:
        self.segment: Numbers = np.full(waves, EXIT, dtype=np.int64)
        self.active: LaneFlags = np.zeros((waves, lanes), dtype=np.bool_)
        self.alive: LaneFlags = np.zeros((waves, lanes), dtype=np.bool_)
        self._last: Numbers = np.full(waves, -1, dtype=np.int64)
        self._segment: Numbers = np.zeros((waves, _LEAVES), dtype=np.int64)
        self._until: Numbers = np.zeros((waves, _LEAVES), dtype=np.int64)
        self._depth: Numbers = np.zeros((waves, _LEAVES), dtype=np.int64)
        self._blocked: LaneFlags = np.zeros((waves, _LEAVES), dtype=np.bool_)
        self._lanes: LaneFlags = np.zeros((waves, _LEAVES, lanes), dtype=np.bool_)

    def begin(self, rows: Rows, lanes: LaneFlags) -> None:
        """Waves start at segment 0."""
        self._last[rows] = 0
        self._segment[rows, 0] = 0
        self._until[rows, 0] = EXIT
        self._depth[rows, 0] = 0
        self._blocked[rows] = False
        self._lanes[rows, 0] = lanes
        self.alive[rows] = lanes
        self._show(rows)

    def jump(self, rows: Rows, segment: int) -> None:
        """The lanes that run go to a segment; where others are to meet them there, they wait."""
        last = self._last[rows]
        self._segment[rows, last] = segment
        self.segment[rows] = segment
        arrived = self._until[rows, last] == segment
        if arrived.any():
            self._leave(rows[arrived])

    def diverge(self, rows: Rows, taken: LaneFlags, to: int, other: int, meets: int) -> None:
        """Of the lanes that run some go to segment ``to``, the rest to ``other``, until
        ``meets``."""
        rest = self.active[rows] & ~taken
        last = self._last[rows]
        until = self._until[rows, last]
        inner = (until != meets) & (meets != EXIT)
        into = rows[inner]
        self._segment[into, last[inner]] = meets
        # If the lanes already have to meet there, the two sides take the place of one.
        depth = self._depth[rows, last] + inner
        self._last[rows] = np.where(inner, last, last - 1)
        for lanes, segment in ((rest, other), (taken, to)):
            if segment != meets:
                self._push(rows, lanes, segment, np.where(inner, meets, until), depth)
        if other == meets and to == meets:
            self._leave_to_last(rows)
        self._show(rows)

    def _push(
        self, rows: Rows, lanes: LaneFlags, segment: int, until: Numbers, depth: Numbers
    ) -> None:
        last = self._last[rows] + 1
        while last.max() >= self._segment.shape[1]:
            self._grow()
        self._last[rows] = last
        self._segment[rows, last] = segment
        self._until[rows, last] = until
        self._depth[rows, last] = depth
        self._blocked[rows, last] = False
        self._lanes[rows, last] = lanes

    def _grow(self) -> None:
        for name in ("_segment", "_until", "_depth", "_blocked", "_lanes"):
            old = getattr(self, name)
            setattr(self, name, np.concatenate([old, np.zeros_like(old)], axis=1))

    def end(self, rows: Rows) -> None:
        """The lanes that run have ended."""
        self.alive[rows] &= ~self.active[rows]
        self._leave(rows)

    def _leave(self, rows: Rows) -> None:
        """The running leaf is gone: the next one that has lanes runs."""
        self._last[rows] -= 1
        self._leave_to_last(rows)

    def _leave_to_last(self, rows: Rows) -> None:
        left = rows
        while left.size:
            left = left[self._last[left] >= 0]
            last = self._last[left]
            lanes = self._lanes[left, last] & self.alive[left]
            done = ~lanes.any(axis=1) | (self._segment[left, last] == self._until[left, last])
            left = left[done]
            self._last[left] -= 1
        self._show(rows)

    def _show(self, rows: Rows) -> None:
        """Sets the leaf that runs in each wave; if the last one is at a barrier, another."""
        last = self._last[rows]
        ended = last < 0
        self.segment[rows] = np.where(ended, EXIT, self._segment[rows, last])
        self.active[rows] = self._lanes[rows, last] & self.alive[rows] & ~ended[:, None]
        blocked = self._blocked[rows, last] & ~ended
        if blocked.any():
            self.segment[rows[blocked]] = EXIT
            for row in rows[blocked & (last > 0)]:
                self.turn(int(row))

    # Barriers

    def block(self, rows: Rows, following: int) -> None:
        """The lanes that run wait at a barrier, then go to segment ``following``."""
        last = self._last[rows]
        self._segment[rows, last] = following
        self._blocked[rows, last] = True
        self._show(rows)

    def release(self, rows: Rows, lanes: LaneFlags) -> None:
        """Lanes that wait at a barrier go on."""
        there = (self._lanes[rows] & lanes[:, None, :]).any(axis=2)
        self._blocked[rows] &= ~there
        # Lanes whose meeting is the other side of a barrier have arrived.
        last = np.maximum(self._last[rows], 0)
        arrived = (self._last[rows] >= 0) & (self._segment[rows, last] == self._until[rows, last])
        arrived &= ~self._blocked[rows, last]
        self._show(rows)
        if arrived.any():
            self._leave(rows[arrived])

    # All waves

    def state(self) -> Iterator[NDArray[Any]]:
        """All that decides which lanes run where."""
        yield from (self.segment, self.active, self.alive, self._last, self._segment, self._until)
        yield from (self._depth, self._blocked, self._lanes)

    def places(self) -> list[int]:
        """The segments at which lanes run or wait."""
        numbers: Numbers = np.arange(self._segment.shape[1], dtype=np.int64)
        last = np.where(self.alive.any(axis=1), self._last, -1)
        there: LaneFlags = np.less_equal(numbers[None, :], last[:, None])
        return np.unique(self._segment[there]).tolist()

    @property
    def most_places(self) -> int:
        """The most places at which lanes of one wave are."""
        return int(self._last.max()) + 1

    # Taking turns

    def is_split(self, rows: Rows) -> LaneFlags:
        """True if only some of the lanes of each wave run."""
        return self._last[rows] > 0

    def turn(self, row: int) -> bool:
        """Let other lanes of a wave run, also those that wait for the rest; whether there are
        any."""
        roots = self._tree(row)
        path = _waiting(roots, self.alive[row])
        if path is None:
            return False
        _to_the_end(roots, path)
        entries = list(_preorder(roots))
        while len(entries) > self._segment.shape[1]:
            self._grow()
        for n, each in enumerate(entries):
            self._segment[row, n] = each.segment
            self._until[row, n] = each.until
            self._depth[row, n] = each.depth
            self._blocked[row, n] = each.blocked
            self._lanes[row, n] = each.lanes
        self._last[row] = len(entries) - 1
        self.segment[row] = entries[-1].segment
        self.active[row] = entries[-1].lanes & self.alive[row]
        return True

    def _tree(self, row: int) -> "list[_Node]":
        roots: list[_Node] = []
        above: list[_Node] = []
        for n in range(int(self._last[row]) + 1):
            entry = _Entry(
                int(self._segment[row, n]),
                int(self._until[row, n]),
                self._lanes[row, n].copy(),
                int(self._depth[row, n]),
                bool(self._blocked[row, n]),
            )
            node = _Node(entry, [])
            del above[entry.depth :]
            (above[-1].under if above else roots).append(node)
            above.append(node)
        return roots


@dataclass(slots=True, eq=False)
class _Node:
    entry: _Entry
    under: "list[_Node]"


def _waiting(roots: list[_Node], alive: LaneFlags) -> "list[_Node] | None":
    """The way to lanes that could run and do not: the ones that have waited longest.

    Lanes that wait for others of their wave become a leaf of their own.
    """

    def search(nodes: list[_Node], way: list[_Node], is_last: bool) -> list[_Node] | None:
        for n, node in enumerate(nodes):
            last = is_last and n == len(nodes) - 1
            here = [*way, node]
            if not node.under:
                runs = last and not node.entry.blocked
                if not runs and not node.entry.blocked and (node.entry.lanes & alive).any():
                    return here
                continue
            found = search(node.under, here, last)
            if found is not None:
                return found
            lanes = node.entry.lanes & alive
            for each in node.under:
                lanes = lanes & ~each.entry.lanes
            if lanes.any():
                own = _Node(replace(node.entry, lanes=lanes), [])
                node.entry = replace(node.entry, lanes=node.entry.lanes & ~lanes)
                nodes.insert(n + 1, own)
                return [*way, own]
        return None

    return search(roots, [], True)


def _to_the_end(roots: list[_Node], way: list[_Node]) -> None:
    nodes = roots
    for each in way:
        nodes.sort(key=lambda node: node is each)
        nodes = each.under


def _preorder(nodes: list[_Node]) -> Iterator[_Entry]:
    for each in nodes:
        yield each.entry
        yield from _preorder(each.under)
