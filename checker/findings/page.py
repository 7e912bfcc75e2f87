"""Pages of rules: a paragraph, the repair, examples wrong and right, and the source."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from fencewright.checker.findings.advice import ADVICE, Pair
from fencewright.checker.findings.finding import Level, Rule
from fencewright.lowering.llvm.architecture import CDNA, PTX, Architecture


@dataclass(frozen=True, slots=True)
class Example:
    """Code in which a rule finds something, and the same code put right.

    ``source``: the body of its function in LLVM IR, whose lines ``.loc`` counts from 1; "" if the
    rule needs none. ``options``: those with which fence-check prints the finding.
    """

    architecture: Architecture
    chip: str
    bad: str
    good: str
    source: str = ""
    options: tuple[str, ...] = ()
    descriptor: str = ""
    """Directives of the kernel's descriptor; without any the code is that of a function."""


amd_example = partial(Example, CDNA, "gfx942")
ptx_example = partial(Example, PTX, "sm_90a")


@dataclass(frozen=True, slots=True)
class RulePage:
    """The documentation of one rule.

    ``levels``: those that its findings have, the worst first. ``summary``: one sentence without a
    full stop. ``text``: one paragraph on what is found and why it is wrong. ``source``: where the
    manuals say so.
    """

    rule: Rule
    levels: tuple[Level, ...]
    summary: str
    text: str
    source: str
    examples: tuple[Example, ...]
    architectures: tuple[Architecture, ...] = (CDNA, PTX)

    def kind(self) -> str:
        """Its levels and the code that it is about: ``error, note; AMD, PTX``."""
        vendors = ", ".join("PTX" if each is PTX else "AMD" for each in self.architectures)
        return f"{', '.join(self.levels)}; {vendors}"

    def lines(self, heading: str = "#") -> Iterator[str]:
        """The page as Markdown, below a ``heading`` of that depth."""
        yield f"{heading} {self.rule}"
        advice = ADVICE[self.rule]
        yield from ("", f"*{self.kind()}*", "", f"{self.summary}.", "", self.text)
        yield from ("", f"Repair: {advice.fix}")
        yield from ("", f"When to ignore it: {advice.suppress[0].lower()}{advice.suppress[1:]}")
        yield from _bodies("CUDA", advice.cuda)
        yield from _bodies("HIP", advice.hip)
        for each in self.examples:
            options = f", with `{' '.join(each.options)}`" if each.options else ""
            if each.source:
                yield from ("", "The source:", "", *_block(each.source))
            yield from ("", f"Wrong on {each.chip}{options}:", "", *_block(each.bad))
            yield from ("", "Right:", "", *_block(each.good))
        yield from ("", f"Source: {self.source}.")


def _page_of_one(
    rule: Rule,
    levels: tuple[Level, ...],
    summary: str,
    text: str,
    source: str,
    bad: str,
    good: str,
    *,
    architecture: Architecture,
    chip: str,
    asked: str = "",
    options: tuple[str, ...] = (),
    descriptor: str = "",
) -> RulePage:
    """The page of a rule of one vendor with one example; ``asked``: the example's source."""
    options = options or (("--surplus",) if levels == (Level.NOTE,) else ())
    example = Example(architecture, chip, bad, good, asked, options, descriptor)
    return RulePage(rule, levels, summary, text, source, (example,), (architecture,))


amd_page = partial(_page_of_one, architecture=CDNA, chip="gfx942")
ptx_page = partial(_page_of_one, architecture=PTX, chip="sm_90a")


def _bodies(language: str, pair: Pair | None) -> Iterator[str]:
    """A wrong and a right kernel in a language, one below the other."""
    if pair is None:
        return
    yield from ("", f"Wrong in {language}:", "", *_block(pair.bad))
    yield from ("", "Right:", "", *_block(pair.good))


def _block(code: str) -> Iterator[str]:
    """Lines as Markdown's indented code, which reads as well on a terminal."""
    return (f"    {line}" for line in code.splitlines())
