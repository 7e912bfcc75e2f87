"""Operations that a certificate does not cover, with reasons.

A certificate has the operations of ``shapes.operations``. Others are lowered by the same rows, or
by rows that no tests are built for: ``UNCERTIFIED`` has a reason for each of these.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from fencewright.lowering.vocabulary import (
    AddressSpace,
    Operation,
    Ordering,
    RmwKind,
    Scope,
)


@dataclass(frozen=True, slots=True)
class Uncertified:
    """A reason for operations without a certificate; ``where`` selects them by columns."""

    name: str
    reason: str
    where: Mapping[str, tuple[object, ...]]


UNCERTIFIED: tuple[Uncertified, ...] = (
    Uncertified("private memory", "no other thread reaches it",
         {"space": (AddressSpace.PRIVATE,)}),
    Uncertified("constant memory", "nobody writes to it",
         {"space": (AddressSpace.CONSTANT,)}),
    Uncertified("distributed shared memory",
         "the source language's LDS is one work-group's, so that no test can reach another's; its "
         "rows are those of shared memory at the same scopes",
         {"space": (AddressSpace.SHARED_CLUSTER,)}),
    Uncertified("weak",
         "a plain access orders nothing; every test of every battery has some, as its data",
         {"ordering": (Ordering.WEAK,), "volatile": (False,)}),
    Uncertified("volatile",
         "LLVM's volatile is not for other threads: no test can tell it from a plain access. That "
         "its bits and waits are LLVM's is what the differential tests are for",
         {"ordering": (Ordering.WEAK,), "volatile": (True,)}),
    Uncertified("compare-and-swap loop",
         "what PTX has no instruction for; tests/unit/test_cas_loops.py runs batteries on loops in "
         "the PTX model, tests/unit/test_ptx_loops.py executes them on values",
         {"loops": (True,)}),
    Uncertified("negated operand",
         "a subtraction is an addition of what was negated before; the addition is certified",
         {"op": (Operation.ATOMIC_RMW,), "kind": (RmwKind.SUB, RmwKind.FSUB),
          "architecture": ("ptx",)}),
    Uncertified("wave barrier",
         "the threads of one wave run as one: there is nobody to wait for",
         {"op": (Operation.BARRIER,), "scope": (Scope.SINGLETHREAD, Scope.WAVEFRONT)}),
    Uncertified("fence of shared memory alone",
         "as narrow as shared memory reaches, or restricted to it, which the PTX model shows to be "
         "enough (tests/unit/test_coverage.py, test_minimise_ptx.py)",
         {"op": (Operation.FENCE,), "limited": (True,), "architecture": ("ptx",)}),
    Uncertified("unused exchange",
         "a compare-exchange whose old value nobody takes counts as a store where these count "
         "apart; its sequence is that of a read-modify-write with the same orderings, which is "
         "certified (tests/unit/test_coverage.py)",
         {"op": (Operation.CMPXCHG,), "returns": (False,), "limited": (False,),
          "architecture": ("cdna",)}),
    Uncertified("limited operation",
         "what limits an operation (address spaces, one-as, av(none)) chooses among the rows of "
         "its phases; fences with each limit, and loads, stores and atomics with most, are "
         "certified",
         {"limited": (True,), "architecture": ("cdna",)}),
)  # fmt: skip
"""Every reason for which an operation that is lowered is in no certificate; the first one holds."""
