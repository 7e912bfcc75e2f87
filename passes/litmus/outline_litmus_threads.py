"""The pass ``outline-litmus-threads``: bodies of litmus threads to kernels that the threads run."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass


@dataclass(frozen=True)
class OutlineLitmusThreadsPass(ModulePass):
    """Make a kernel of the body of every litmus thread that has one, called after test and thread.

    Addresses of locations become arguments; an observed value is stored, weakly and last of all,
    to an argument bound to the register's name. A body of machine instructions stays as it is.
    The kernels are marked as of one work-item, so that their branches do not diverge.

    Bodies of a test with asynchronous operations become one kernel, whose last argument says which
    thread it is: who waits for whom is then within one function, as ``insert-proxy-fences``
    needs it. Its branches may diverge. A location in LDS is one argument to all of them, and a peer
    maps it (``scoped.map_shared``). What only one argument reaches is ``llvm.noalias``.
    """

    name = "outline-litmus-threads"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        tests = [each for each in op.ops if each.name == "litmus.test"]
        if not tests:
            return
        # Every lowering passes through here: only those with a test pay for the dialects.
        from fencewright.passes.litmus.outlining import outline_threads

        outline_threads(op, tests)
