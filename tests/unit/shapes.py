"""Wrong and right forms of code in one text, as a diff has them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fencewright.checker.findings.finding import Level

Said = Callable[[str, str], Sequence[tuple[str, str]]]
"""The rules and levels that the checker reports of a body on a target."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A wrong form with its finding, and the right form.

    Lines of ``code`` that begin with ``-`` are of the wrong form alone, with ``+`` of the right one.
    """

    name: str
    target: str
    rule: str
    level: str
    code: str

    def form(self, mark: str) -> str:
        """The lines of one form, without their marks."""
        lines = self.code.splitlines(keepends=True)
        return "".join(
            each.removeprefix(mark) for each in lines if each[0] not in {"-", "+"} - {mark}
        )

    def check(self, said: Said) -> None:
        """Fail unless the wrong form has its finding, and the right form none but notes."""
        finding = (self.rule, self.level)
        assert finding in said(self.form("-"), self.target)
        right = said(self.form("+"), self.target)
        assert finding not in right
        assert [each for each in right if each[1] != Level.NOTE] == []
