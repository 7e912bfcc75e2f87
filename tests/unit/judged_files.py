"""The reports of files with all questions to z3, as one process gives them."""

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from hashlib import sha256
from io import StringIO
from typing import Any
from unittest.mock import patch

from fencewright.checker.verdicts.solver import z3_module
from fencewright.lowering.code.value import Value
from fencewright.tools import programs


def judged(paths: Sequence[str]) -> str:
    """The reports, after a line for each question: a digest of it, the answer, the steps."""
    solvers = z3_module().Solver
    check = solvers.check

    def checked(solver: Any) -> Any:
        answer, question = check(solver), sha256(solver.sexpr().encode()).hexdigest()
        print(question[:16], answer, solver.statistics().get_key_value("rlimit count"))
        return answer

    arguments = ["fence-check", "--prove", "--notes", "--surplus", "--format", "json", *paths]
    with (
        redirect_stdout(StringIO()) as written,
        patch.object(solvers, "check", checked),
        patch.object(sys, "argv", arguments),
    ):
        programs.fence_check()
    return written.getvalue()


def number_as_text(value: Value) -> int:
    """A hash that differs from process to process, as a value's address does."""
    return hash(str(value.number))


if __name__ == "__main__":
    with patch.object(Value, "__hash__", number_as_text):
        print(judged(sys.argv[1:]))
