"""Every rule has a page, and what its examples say is so."""

import re
from pathlib import Path

import pytest

from fencewright.checker.findings.finding import NOT_JUDGED, SURPLUS, Level, Rule
from fencewright.checker.findings.page import Example
from fencewright.checker.findings.registry import PAGES
from fencewright.lowering.llvm.architecture import CDNA, PTX, Architecture
from fencewright.tools.embedded.in_process import TOOLS, call

ROOT = Path(__file__).parents[2]
EXAMPLES = [(page.rule, each) for page in PAGES.values() for each in page.examples]
IDS = [f"{rule}-{example.architecture.name}" for rule, example in EXAMPLES]

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


def file_of(example: Example, code: str) -> str:
    """A whole file with ``code`` as the body of its function ``k``."""
    located = '.file 1 "/" "k.c"\n' if example.source else ""
    if example.architecture is PTX:
        return f"{_PTX_HEAD.format(chip=example.chip)}{code}ret;\n}}\n{located}"
    end = f"{_KERNEL}{example.descriptor}.end_amdhsa_kernel\n" if example.descriptor else ""
    return f"{_AMD_HEAD.format(chip=example.chip)}{located}{code}{end}"


def source_of(example: Example) -> str:
    """The whole module of ``source``."""
    body = "".join(
        f"  {line}, !dbg !DILocation(line: {number}, column: 1, scope: !2)\n"
        for number, line in enumerate(example.source.splitlines(), 1)
    )
    return f"define void @k({_ARGUMENTS}) {{\n{body}  ret void\n}}\n{_DEBUG}"


def printed(example: Example, code: str, folder: Path) -> str:
    """What fence-check prints of a body."""
    file = folder / ("k.ptx" if example.architecture is PTX else "k.s")
    file.write_text(file_of(example, code))
    arguments = [str(file), *example.options]
    if example.source:
        source = folder / "k.ll"
        source.write_text(source_of(example))
        arguments += ["--source", str(source)]
    done = call(TOOLS["fence-check"], arguments)
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize(("rule", "example"), EXAMPLES, ids=IDS)
def test_the_wrong_code_has_the_finding_and_the_right_code_none(
    rule: Rule, example: Example, tmp_path: Path
) -> None:
    wrong = printed(example, example.bad, tmp_path)
    assert f"[{rule}]" in wrong, wrong
    findings = [line for line in wrong.splitlines() if line.endswith(f"[{rule}]")]
    shown = {level for level in Level for line in findings if f": {level}: " in line}
    assert shown <= set(PAGES[rule].levels), wrong
    assert "]\n" not in printed(example, example.good, tmp_path)


@pytest.mark.parametrize("rule", Rule)
def test_a_page_has_an_example_of_its_vendors_and_the_level_of_its_rule(rule: Rule) -> None:
    page = PAGES[rule]
    assert page.levels[0] is rule.level
    assert list(page.levels) == sorted(page.levels, key=list(Level).index)
    assert page.examples
    assert {each.architecture for each in page.examples} <= set(page.architectures)


def test_the_groups_of_rules_are_what_their_names_say() -> None:
    assert {each for each in Rule if each.startswith("surplus-")} == SURPLUS
    assert all(each.level is Level.NOTE for each in SURPLUS)
    assert all(each.level is Level.WARNING for each in NOT_JUDGED)


@pytest.mark.parametrize(
    ("page", "architecture"), [("checker-amd.md", CDNA), ("checker-ptx.md", PTX)]
)
def test_the_manual_lists_every_rule_of_a_vendor(page: str, architecture: Architecture) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    rows = set(re.findall(r"^\| \[`([a-z-]+)`\]\(reference/rules\.md#\1\) \|", text, re.M))
    assert rows == {rule for rule, each in PAGES.items() if architecture in each.architectures}


def test_an_unknown_rule_is_wrong_usage() -> None:
    done = call(TOOLS["fence-check"], ["--explain", "nope"])
    assert done.status == 2
    assert done.stderr.count("\n") == 1
    assert "'nope' is no rule: fence-check --list-rules lists them" in done.stderr
