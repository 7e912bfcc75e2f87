"""Pages of rules: a paragraph, an example that is wrong and one that is right, and the source."""

from collections.abc import Iterator
from dataclasses import dataclass

from fencewright.checker.findings.finding import Level, Rule
from fencewright.lowering.llvm.architecture import CDNA, PTX, Architecture

_PTX_HEAD = """.version 8.6
.target {chip}
.address_size 64
.visible .entry k(.param .u64 data, .param .u64 flag)
{{
.reg .pred %p<4>; .reg .b32 %r<20>; .reg .f32 %f<4>; .reg .b64 %rd<12>;
.shared .align 128 .b8 tile[1024]; .shared .align 8 .b64 bar;
ld.param.u64 %rd1, [data]; ld.param.u64 %rd2, [flag];
mov.u32 %r9, %tid.x; setp.eq.u32 %p0, %r9, 0;
"""
_AMD_HEAD = '\t.amdgcn_target "amdgcn-amd-amdhsa--{chip}"\n\t.type k,@function\nk:\n'
_KERNEL = ".amdhsa_kernel k\n.amdhsa_next_free_vgpr 16\n.amdhsa_next_free_sgpr 48\n"
_DEBUG = """!1 = !DIFile(filename: "k.c", directory: "/")
!2 = distinct !DISubprogram(name: "k", file: !1, line: 1)
"""
_ARGUMENTS = "ptr addrspace(1) %data, ptr addrspace(1) %flag, ptr addrspace(3) %lds"


@dataclass(frozen=True, slots=True)
class Example:
    """Code in which a rule finds something, and the same code put right.

    ``source``: the body of its function in LLVM IR, whose lines ``.loc`` counts from 1; "" if the
    rule needs none. ``options``: those with which fence-check prints the finding.
    """

    bad: str
    good: str
    architecture: Architecture = CDNA
    chip: str = "gfx942"
    source: str = ""
    options: tuple[str, ...] = ()
    descriptor: str = ""
    """Directives of the kernel's descriptor; without any the code is that of a function."""

    def file(self, code: str) -> str:
        """A whole file with ``code`` as the body of its function ``k``."""
        located = '.file 1 "/" "k.c"\n' if self.source else ""
        if self.architecture is PTX:
            return f"{_PTX_HEAD.format(chip=self.chip)}{code}ret;\n}}\n{located}"
        end = f"{_KERNEL}{self.descriptor}.end_amdhsa_kernel\n" if self.descriptor else ""
        return f"{_AMD_HEAD.format(chip=self.chip)}{located}{code}{end}"

    def source_file(self) -> str:
        """The whole module of ``source``."""
        body = "".join(
            f"  {line}, !dbg !DILocation(line: {number}, column: 1, scope: !2)\n"
            for number, line in enumerate(self.source.splitlines(), 1)
        )
        return f"define void @k({_ARGUMENTS}) {{\n{body}  ret void\n}}\n{_DEBUG}"


@dataclass(frozen=True, slots=True)
class RulePage:
    """What there is to say about one rule.

    ``levels``: those that its findings have, the worst first. ``summary``: one sentence without a
    full stop. ``text``: one paragraph on what is found and why it is wrong. ``source``: where the
    manuals say so.
    """

    rule: Rule
    levels: tuple[Level, ...]
    architectures: tuple[Architecture, ...]
    summary: str
    text: str
    source: str
    examples: tuple[Example, ...]

    def kind(self) -> str:
        """Its levels and the code that it is about: ``error, note; AMD, PTX``."""
        vendors = ", ".join("PTX" if each is PTX else "AMD" for each in self.architectures)
        return f"{', '.join(self.levels)}; {vendors}"

    def lines(self, heading: str = "#") -> Iterator[str]:
        """The page as Markdown, below a ``heading`` of that depth."""
        yield f"{heading} {self.rule}"
        yield from ("", f"*{self.kind()}*", "", f"{self.summary}.", "", self.text)
        for each in self.examples:
            options = f", with `{' '.join(each.options)}`" if each.options else ""
            if each.source:
                yield from ("", "The source:", "", *_block(each.source))
            yield from ("", f"Wrong on {each.chip}{options}:", "", *_block(each.bad))
            yield from ("", "Right:", "", *_block(each.good))
        yield from ("", f"Source: {self.source}.")


def _block(code: str) -> Iterator[str]:
    """Lines as Markdown's indented code, which reads as well on a terminal."""
    return (f"    {line}" for line in code.splitlines())
