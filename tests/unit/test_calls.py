"""Calls with what they call in their place: AMD assembly and PTX, and what is refused by name."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from fencewright.checker.lifting.amd import scoped_with_calls
from fencewright.checker.lifting.nvidia import ptx_to_scoped
from fencewright.checker.lifting.writer import UnliftableError
from fencewright.lowering.cdna.code import calls as cdna_calls
from fencewright.lowering.cdna.code.flow import flow_of
from fencewright.lowering.cdna.code.text import Assembly, read_assembly
from fencewright.lowering.code import calls
from fencewright.lowering.ptx.code.text import PtxFile, read_ptx
from fencewright.tools import fence_check

ENTRY = "s_waitcnt vmcnt(0) lgkmcnt(0)"
RETURN = "s_setpc_b64 s[30:31]"
CALL = "s_swappc_b64 s[30:31], s[16:17]"
WAIT, BACK, INV = "s_waitcnt vmcnt(0)", "buffer_wbl2 sc1", "buffer_inv sc1"
DATA = "global_store_dword v[4:5], v6, off"
PUBLISH = (ENTRY, BACK, WAIT, "global_store_dword v[0:1], v2, off sc1", RETURN)


def address(name: str, first: int = 16) -> tuple[str, ...]:
    """What LLVM makes of the address of a function that is in the same file."""
    last = first + 1
    return (
        f"s_getpc_b64 s[{first}:{last}]",
        f"s_add_u32 s{first}, s{first}, {name}@rel32@lo+4",
        f"s_addc_u32 s{last}, s{last}, {name}@rel32@hi+12",
    )


def entry(name: str) -> tuple[str, ...]:
    """What LLVM makes of the address of a function that another file may replace."""
    return (
        "s_getpc_b64 s[4:5]",
        f"s_add_u32 s4, s4, {name}@gotpcrel32@lo+4",
        f"s_addc_u32 s5, s5, {name}@gotpcrel32@hi+12",
        "s_load_dwordx2 s[16:17], s[4:5], 0x0",
        "s_waitcnt lgkmcnt(0)",
    )


def assembly(chip: str = "gfx942", /, **functions: Sequence[str]) -> Assembly:
    lines = [f'\t.amdgcn_target "amdgcn-amd-amdhsa--{chip}"']
    for name, body in functions.items():
        lines += [f"\t.type {name},@function", f"{name}:", *body]
    return read_assembly("\n".join(lines), "f.s")


def scoped(module: Assembly) -> list[str]:
    """The operations of ``k``, one block of which may follow another, without types and lines."""
    text = scoped_with_calls(module, module.functions["k"])
    return [
        re.sub(r"(%[a-z]+)\d+(_\d+)?(?=[ ,])|%p\d+", r"\1", line).strip().replace("scoped.", "")
        for line in text.replace(" :", "\n").splitlines()
        if "scoped." in line
    ]


PUBLISHES = ["store weak %x,", "fence release agent", "store relaxed agent %x,"]


@pytest.mark.parametrize(
    "to", [address("f"), entry("f"), (*address("f", 8), "s_mov_b64 s[16:17], s[8:9]")]
)
def test_what_is_called_stands_in_the_place_of_the_call(to: Sequence[str]) -> None:
    module = assembly(f=PUBLISH, k=(DATA, *to, CALL, "s_endpgm"))
    assert scoped(module) == PUBLISHES
    without = [each for each in PUBLISH if each is not BACK]
    assert "fence release agent" not in scoped(assembly(f=without, k=(DATA, *to, CALL, "s_endpgm")))


def test_an_address_outlives_a_call_in_a_lane() -> None:
    spill = ("v_writelane_b32 v40, s16, 0", "v_writelane_b32 v40, s17, 1", "s_mov_b64 s[16:17], 0")
    back = ("v_readlane_b32 s17, v40, 1", "v_readlane_b32 s16, v40, 0")
    body = (*address("f"), *spill, *back, CALL, "s_endpgm")
    assert scoped(assembly(f=PUBLISH, k=body)) == PUBLISHES[1:]
    lost = (*address("f"), *spill, "v_mov_b32_e32 v40, 0", *back, CALL, "s_endpgm")
    with pytest.raises(UnliftableError, match="which function it calls is not known"):
        scoped(assembly(f=PUBLISH, k=lost))


def test_each_call_has_a_copy_with_addresses_of_its_own() -> None:
    other = "v_mov_b32_e32 v0, v9"
    same, others = (
        scoped_with_calls(module, module.functions["k"])
        for module in (
            assembly(f=PUBLISH, k=(*address("f"), CALL, *between, CALL, "s_endpgm"))
            for between in ((), (other,))
        )
    )
    assert re.findall(r"agent %x\w+, (%p\d)", same) == ["%p0", "%p0"]
    assert re.findall(r"agent %x\w+, (%p\d)", others) == ["%p0", "%p1"]
    assert re.findall(r"agent (%x\w+)", same) == ["%x7_1", "%x7_2"]


def test_an_address_is_lost_where_what_is_called_changes_its_register() -> None:
    changes = (ENTRY, "s_mov_b32 s16, 0", RETURN)
    with pytest.raises(UnliftableError, match="which function it calls is not known"):
        scoped(assembly(f=changes, k=(*address("f"), CALL, CALL, "s_endpgm")))


def test_a_loop_and_several_returns_in_what_is_called() -> None:
    poll = (ENTRY, "L:", "global_load_dword v7, v[0:1], off sc1", WAIT,
            "v_cmp_eq_u32_e32 vcc, 0, v7", "s_cbranch_vccnz L", INV,
            "s_cbranch_scc0 M", RETURN, "M:", "ds_write_b32 v0, v1", RETURN)  # fmt: skip
    after = "global_load_dword v3, v[4:5], off"
    module = assembly(f=poll, k=(*address("f"), CALL, CALL, after, "s_endpgm"))
    text = scoped_with_calls(module, module.functions["k"])
    assert len(re.findall(r"cond_br %t\w+, \^b", text)) == 4
    once = ["%v = load relaxed agent", "fence acquire agent", "store weak %x,"]
    assert scoped(module) == [*once, *once, "%v = load weak"]
    # A loop waits for what it has loaded, and either return leads to what follows the call.
    assert re.search(r"%t\w+ = arith.cmpi ne, %v6_1", text)


def test_what_is_jumped_to_returns_for_the_one_that_jumps() -> None:
    jump = (ENTRY, "ds_write_b32 v0, v1", *address("f"), "s_setpc_b64 s[16:17]")
    module = assembly(f=PUBLISH, g=jump, k=(*address("g"), CALL, DATA, "s_endpgm"))
    assert scoped(module) == ["store weak %x,", *PUBLISHES[1:], "store weak %x,"]


def test_gfx1250_calls() -> None:
    to = ("s_get_pc_i64 s[16:17]", "s_add_nc_u64 s[16:17], s[16:17], f@rel64+4")
    body = (
        "s_wait_loadcnt_dscnt 0x0", "s_wait_kmcnt 0x0", "s_wait_storecnt 0x0",
        "global_wb scope:SCOPE_DEV", "s_wait_storecnt 0x0",
        "global_store_b32 v[0:1], v2, off scope:SCOPE_DEV", "s_set_pc_i64 s[30:31]",
    )  # fmt: skip
    call = "s_swap_pc_i64 s[30:31], s[16:17]"
    module = assembly(
        "gfx1250", f=body, k=("global_store_b32 v[4:5], v6, off", *to, call, "s_endpgm")
    )
    assert scoped(module) == PUBLISHES


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ((*address("g"), CALL), "g, which it calls, is not in the file"),
        ((*address("k"), CALL), "k, which it calls, calls itself"),
        (("s_mov_b64 s[16:17], s[2:3]", CALL), "which function it calls is not known"),
        ((*address("f"), "s_add_u32 s16, s16, s2", CALL), "which function it calls is not known"),
        ((*address("f"), "s_cbranch_scc0 L", *address("g"), "L:", CALL), "is not known"),
        ((*entry("f")[:3], "s_mov_b64 s[16:17], s[4:5]", CALL), "which function it calls is not"),
    ],
)
def test_what_cannot_stand_in_its_call_is_named(body: Sequence[str], why: str) -> None:
    module = assembly(f=PUBLISH, k=(*body, "s_endpgm"))
    with pytest.raises(UnliftableError, match=re.escape(why)) as problem:
        scoped(module)
    (call,) = (each for each in module.functions["k"].instructions if each.text == CALL)
    assert problem.value.line == call.line


def test_functions_that_call_one_another_are_refused() -> None:
    f, g = ((ENTRY, *address(each), CALL, RETURN) for each in "gf")
    with pytest.raises(UnliftableError, match="f, which it calls, calls itself"):
        scoped(assembly(f=f, g=g, k=(*address("f"), CALL, "s_endpgm")))


def test_calls_that_double_again_and_again_have_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "MOST_INSTRUCTIONS", 1000)
    call = {n: (*address(f"f{n}"), CALL) for n in range(1, 21)}
    amd = {f"f{n}": (ENTRY, *call[n + 1], *call[n + 1], RETURN) for n in range(20)}
    with pytest.raises(UnliftableError, match="there are more than 1000 instructions"):
        scoped(assembly(**amd, f20=PUBLISH, k=(*address("f0"), CALL, "s_endpgm")))
    ptx = "".join(f".func f{n}() {{ call f{n + 1}; call f{n + 1}; ret; }}\n" for n in range(20))
    module = read_ptx(
        f"{HEAD}{ptx}.func f20() {{ bar.sync 0; ret; }} .entry k() {{ call f0; ret; }}"
    )
    with pytest.raises(UnliftableError, match="there are more than 1000 instructions"):
        ptx_to_scoped(module, module.functions["k"])


def test_who_is_called() -> None:
    module = assembly(f=PUBLISH, g=(ENTRY, *entry("f"), CALL, RETURN), k=(*address("g"), CALL))
    assert cdna_calls.callees(module) == {"f", "g"}
    calls = cdna_calls.calls_of(flow_of(module.functions["g"]))
    assert [each.name for each in calls.values()] == ["f"]


# PTX

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"
RAISE = (
    ".func raise(.param .b64 a, .param .b32 v) {\n.reg .b64 d<2>; .reg .b32 r<2>;\n"
    "ld.param.b64 d1, [a]; ld.param.b32 r1, [v]; fence.acq_rel.gpu; "
    "st.relaxed.gpu.global.b32 [d1], r1; ret;\n}\n"
)
PASSED = "{ .param .b64 p; .param .b32 q; st.param.b64 [p], %s; st.param.b32 [q], 1; %s raise, (p, q); }\n"


def ptx(functions: str, body: str) -> PtxFile:
    return read_ptx(
        f"{HEAD}{functions}.entry k(.param .b64 x, .param .b64 y) {{\n"
        ".reg .b64 d<9>; .reg .b32 r<9>; .reg .pred p<9>;\n"
        f"ld.param.b64 d1, [x]; ld.param.b64 d2, [y];\n{body}\nret;\n}}\n",
        "k.ptx",
    )


def from_ptx(module: PtxFile) -> str:
    return ptx_to_scoped(module, module.functions["k"])


def test_what_ptx_calls_is_given_its_arguments() -> None:
    text = from_ptx(ptx(RAISE, "st.global.b32 [d1], 5;\n" + PASSED % ("d2", "call")))
    by_hand = "st.global.b32 [d1], 5; fence.acq_rel.gpu; st.relaxed.gpu.global.b32 [d2], 1;"
    plain = from_ptx(ptx("", by_hand))
    assert [each for each in text.splitlines() if "scoped" in each] == [
        each for each in plain.splitlines() if "scoped" in each
    ]


def test_copies_keep_their_registers_apart_and_share_their_variables() -> None:
    where = (
        ".func put(.param .b32 v) { .shared .b32 own[4]; .reg .b32 r<2>; ld.param.b32 r1, [v];\n"
        "st.shared.b32 [own], r1; st.shared.b32 [sm], r1; ret; }\n.shared .b32 sm[4];\n"
    )
    call = "{ .param .b32 q; st.param.b32 [q], %s; call put, (q); }\n"
    text = from_ptx(
        ptx(where, "mov.b32 r1, 7;\n" + call % "r1" + call % "8" + "st.shared.b32 [sm], r1;")
    )
    assert re.findall(r"%[xk]\w+, (%p\d)", text) == ["%p0", "%p1", "%p0", "%p1", "%p1"]


def test_what_ptx_returns_is_what_a_loop_waits_for() -> None:
    look = (
        ".func (.param .b32 o) look(.param .b64 a) { .reg .b64 d<2>; .reg .b32 r<2>;\n"
        "ld.param.b64 d1, [a]; ld.acquire.gpu.global.b32 r1, [d1]; st.param.b32 [o], r1; ret; }\n"
    )
    call = (
        "L: { .param .b64 p; .param .b32 q; st.param.b64 [p], d2; call (q), look, (p);\n"
        "ld.param.b32 r1, [q]; }\nsetp.eq.s32 p1, r1, 0; @p1 bra L;"
    )
    text = from_ptx(ptx(look, call))
    value = re.search(r"(%v\w+) = scoped.load acquire agent %p0", text)
    assert value is not None
    assert f"arith.cmpi eq, {value[1]}, %zero" in text


def test_a_guarded_call_and_a_guarded_return_are_branches() -> None:
    some = ".func some() { .reg .pred q<2>; @q1 ret; bar.sync 0; @!q1 ret;\nmembar.gl; ret; }\n"
    text = from_ptx(ptx(some, "@p1 call some;\nst.global.b32 [d1], r1;"))
    assert len(re.findall("cf.cond_br", text)) == 3
    order = re.findall(r"scoped.(\w+)", text)
    assert order == ["barrier", "fence", "store"]


@pytest.mark.parametrize(
    ("functions", "body", "why"),
    [
        ("", "call g;", "call: g, which it calls, is not in the file"),
        (".func f() { call f; ret; }\n", "call f;", "call: f, which it calls, calls itself"),
        (
            ".func f() { ret; }\n",
            "mov.u64 %d, f; call %d, p;",
            "which function it calls is not known",
        ),
    ],
)
def test_what_ptx_cannot_call_is_named(functions: str, body: str, why: str) -> None:
    with pytest.raises(UnliftableError, match=re.escape(why)):
        from_ptx(ptx(functions, body))


# The command

CALLS = Path(__file__).parents[1] / "lit/tools/fence-check"


@pytest.mark.parametrize("suffix", ["s", "ptx"])
def test_the_command_names_what_is_called(suffix: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(CALLS / f"calls.{suffix}")
    assert fence_check.main(["--to", "scoped", file]) == 3
    out, err = capsys.readouterr()
    assert re.findall(r"@\w+", out) == ["@producer"]
    assert re.findall(r"error: (\w+) .*: (\w+), which it calls, is", err) == [
        ("other", "elsewhere")
    ]
    assert fence_check.main(["--lift", file]) == 0
    assert re.findall("call of (.*)", capsys.readouterr().out) == ["publish", "elsewhere"]
