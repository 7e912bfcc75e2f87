"""The parameters and variables that the addresses of a PTX function are made of.

Registers are followed through copies, conversions and sums, whatever is added to them, and
whatever path control takes.
"""

from collections.abc import Container, Mapping
from types import MappingProxyType

from fencewright.lowering.code.dataflow import solve
from fencewright.lowering.code.graph import Graph
from fencewright.lowering.ptx.code.statements import Statement, names_in
from fencewright.lowering.ptx.code.text import PtxFunction

_FOLLOWED: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {
        **dict.fromkeys(("mov", "cvta", "cvt", "add", "sub", "and", "or", "mapa"), (1,)),
        "mad": (3,),
        "selp": (1, 2),
    }
)
"""The operands that a result points to the same as."""

_ADDED: Mapping[str, tuple[int, ...]] = MappingProxyType({"add": (2,)})
"""Those that may be the pointer instead: a number that is added may be a parameter too."""

_NOTHING = frozenset[str]()


class Pointers:
    """Of each register the parameters and ``variables`` that it may point to or into."""

    def __init__(self, function: PtxFunction, variables: Container[str]) -> None:
        parameters = {each.name for each in function.parameters}
        self._likely = _origins(function, variables, parameters, {})
        self._possible = _origins(function, variables, parameters, _ADDED)
        self._variables = variables

    def of(self, address: str) -> frozenset[str]:
        """The names that an address, as it is written, is made of; empty if not known."""
        name = next(iter(names_in(address)), "")
        if name in self._variables:
            return frozenset({name})
        return self._likely.get(name) or self._possible.get(name, _NOTHING)


def _origins(
    function: PtxFunction,
    variables: Container[str],
    parameters: Container[str],
    more: Mapping[str, tuple[int, ...]],
) -> Mapping[str, frozenset[str]]:
    """The origins of each register that has some; ``more``: operands beside ``_FOLLOWED``."""
    edges: dict[str, list[str]] = {}
    start: dict[str, frozenset[str]] = {}
    for each in function.instructions:
        for result in each.statement.defines:
            edges.setdefault(result, [])
            for source in _sources(each.statement, more):
                if source in variables or source in parameters:
                    start[result] = start.get(result, _NOTHING) | {source}
                else:
                    edges.setdefault(source, []).append(result)
    graph = Graph(tuple(edges), edges)
    return solve(graph, start, lambda _, names: names, lambda one, other: one | other)


def _sources(statement: Statement, more: Mapping[str, tuple[int, ...]]) -> list[str]:
    """The names that the result of an instruction may point to."""
    head = statement.opcode.head
    if head == "ld":
        places = (1,) if statement.opcode.of_parameters else ()
    else:
        places = _FOLLOWED.get(head, ()) + more.get(head, ())
    operands = [statement.operands[n] for n in places if n < len(statement.operands)]
    return [name for each in operands for name in names_in(each)]
