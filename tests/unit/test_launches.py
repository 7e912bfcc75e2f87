"""Launches: from sources, guessed, with what a kernel declares, and those that cannot be."""

from pathlib import Path

import numpy as np
import pytest

from fencewright.lowering.ptx.code.text import read_ptx
from fencewright.simulator.execution import launch as execution
from fencewright.simulator.execution.launch import allocate
from fencewright.simulator.kernels.ptx.kernel import program_of
from fencewright.simulator.launches.guess import asked_launches, guess, pointers
from fencewright.simulator.launches.sources import SourceLaunch, source_launches
from fencewright.simulator.race.rules import KINDS, Fault
from fencewright.simulator.race.verdict import Judgement, judge, problem_of
from fencewright.simulator.semantics import arguments as arguments_module
from fencewright.simulator.semantics.arguments import File
from fencewright.simulator.threads.launch import (
    Array,
    Launch,
    LaunchError,
    Module,
    execute,
    is_named,
    kernel_named,
    parse_launch,
    settled,
    values,
)

HEAD = ".version 8.6\n.target sm_90\n.address_size 64\n"


def module(body: str = "ret;", before: str = "", parameters: str = "", name: str = "k") -> Module:
    """A module of one kernel, with directives before its body."""
    text = (
        f"{HEAD}.visible .entry {name}({parameters}) {before}\n"
        "{.reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .pred %p<4>;\n" + body + "\n}\n"
    )
    return Module(read_ptx(text, "k.ptx"))


def sources(text: str) -> list[SourceLaunch]:
    """The launches of a source."""
    return list(source_launches(text))


# Sources


def test_constants_of_a_source_are_evaluated() -> None:
    text = """
    #define N (1 << 12)
    constexpr int ONE = 1, BLOCK = 256 * ONE;   // not 128
    /* k<<<1, 1>>>(); */
    int main() {
      const size_t bytes = BLOCK * sizeof(float);
      dim3 grid((N + BLOCK - 1) / BLOCK, 2);
      k<<<grid, dim3(BLOCK), bytes, stream>>>(x, N, f(1, 2));
    }"""
    (found,) = sources(text)
    assert found == SourceLaunch("k", 8, (16, 2, 1), (256, 1, 1), 1024, (None, 4096, None))


def test_what_is_no_constant_is_left_out() -> None:
    text = """
    int n = read(), m = 4, p = 8;
    p = 9;
    k<float, 3><<<(n + 255) / 256, m>>>(p, m);
    k<<<get(), dim3(0)>>>();"""
    first, second = sources(text)
    assert (first.kernel, first.grid, first.block) == ("k", None, (4, 1, 1))
    assert first.arguments == (None, 4)
    assert (second.grid, second.block, second.arguments) == (None, None, ())


@pytest.mark.parametrize("text", ["1 << 99", "1 / 0", "__import__('os')", "a.b", "'x'", "N"])
def test_only_numbers_are_evaluated(text: str) -> None:
    """A name that stands for itself has no value either."""
    (found,) = sources(f"#define N N\nk<<<{text}, 1>>>();")
    assert found.grid is None


def test_hip_has_launches_of_its_own_form() -> None:
    (found,) = sources("hipLaunchKernelGGL(k, dim3(4, 2), dim3(64), 0, 0, x, 7);")
    assert (found.kernel, found.grid, found.block) == ("k", (4, 2, 1), (64, 1, 1))
    assert (found.shared, found.arguments) == (0, (None, 7))


# Guesses


_POINTERS = """
ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [n]; ld.param.u32 %r1, [m];
cvta.to.global.u64 %rd4, %rd1; add.s64 %rd5, %rd2, 8; st.global.u64 [ %rd5 + 16 ], %rd3; ret;"""
_PARAMETERS = ".param .u64 a, .param .u64 b, .param .u64 n, .param .u32 m, .param .f32 f, .param .align 8 .b8 s[24]"


def test_pointers_are_what_is_used_as_an_address() -> None:
    of = module(_POINTERS, parameters=_PARAMETERS)
    assert pointers(kernel_named(of, "k")) == {"a", "b"}


def test_a_struct_has_the_bytes_that_are_given() -> None:
    of = module(
        "ld.param.u32 %r1, [s+4]; ld.param.u64 %rd1, [a]; st.global.u32 [%rd1], %r1; ret;",
        parameters=".param .u64 a, .param .align 4 .b8 s[8]",
    )
    launch = parse_launch("k<<<1, 1>>>(u32[1], b8[8])")
    found = execute(of, launch, given={1: bytes([0, 0, 0, 0, 9, 0, 0, 0])})
    assert found.arguments[0] is not None
    assert values(found.arguments[0]) == [9]


def test_declarations_need_no_blanks() -> None:
    """Inline PTX of CUDA's headers has ``.reg.b8 myreg``."""
    text = (
        f"{HEAD}.global.u32 g = 7;\n.visible .entry k(.param.u64 a)\n"
        "{.reg.b32 %r<3>; .reg.b64 %rd<2>; .shared.align 4 .b8 q[16];"
        "{.reg.b32 h; mov.u32 h, 5; mov.u32 %r1, h;} ld.global.u32 %r2, [g];"
        "add.u32 %r1, %r1, %r2; st.shared.u32 [q+12], %r1; ld.shared.u32 %r1, [q+12];"
        "ld.param.u64 %rd1, [a]; st.global.u32 [%rd1], %r1; ret;}\n"
    )
    of = Module(read_ptx(text, "k.ptx"))
    found = execute(of, parse_launch("k<<<1, 1>>>(u32[1])"))
    assert found.arguments[0] is not None
    assert values(found.arguments[0]) == [12]


def test_a_narrow_parameter_is_no_pointer() -> None:
    body = """
.shared .b32 s[64]; ld.param.u16 %r1, [h]; ld.param.u32 %r2, [w]; mov.u32 %r3, s;
add.u32 %r1, %r1, %r3; add.u32 %r2, %r2, %r3; st.shared.u32 [%r1], 0; st.shared.u32 [%r2], 0; ret;"""
    of = module(body, parameters=".param .u16 h, .param .u32 w")
    assert guess(of, kernel_named(of, "k")).arguments == (64, 64)


def test_parameters_are_as_many_bytes_as_ptx_allows() -> None:
    of = module(
        "ld.param.u32 %r1, [b+28]; ld.param.u64 %rd1, [a]; st.global.u32 [%rd1], %r1; ret;",
        parameters=".param .u64 a, .param .align 4 .b8 s[32720], .param .align 4 .b8 b[32]",
    )
    found = execute(of, parse_launch("k<<<1, 1>>>(u32[1], b8[32720], u32[8]=iota)"))
    assert found.arguments[0] is not None
    assert values(found.arguments[0]) == [7]


def test_the_default_launch() -> None:
    of = module(_POINTERS, parameters=_PARAMETERS)
    launch = guess(of, kernel_named(of, "k"))
    assert (launch.grid, launch.block, launch.shared) == ((4, 1, 1), (128, 1, 1), 0)
    assert launch.arguments == (
        Array("b8", 65536), Array("b8", 65536), 64, 64, 1.0, Array("b8", 24),
    )  # fmt: skip
    assert str(launch) == "4 blocks x 128 threads, guessed grid and block and arguments"


def test_a_guess_keeps_what_is_declared() -> None:
    of = module(before=".maxntid 64, 1, 1 .reqnctapercluster 3, 1, 1")
    launch = guess(of, kernel_named(of, "k"))
    assert (launch.grid, launch.block, launch.guessed) == ((6, 1, 1), (64, 1, 1), ("grid", "block"))
    of = module(before=".reqntid 8, 4")
    assert settled(of, guess(of, kernel_named(of, "k")))[1].block == (8, 4, 1)


def test_a_source_says_what_it_can() -> None:
    of = module("ret;", parameters=".param .u32 n", name="_Z1kj")
    (launch,) = asked_launches(of, "k", sources("k<<<2, 96>>>(12); other<<<1, 1>>>();"))
    assert launch == Launch("_Z1kj", (2, 1, 1), (96, 1, 1), 0, (12,))
    (launch,) = asked_launches(of, "all", sources("k<<<n, 96>>>(n);"))
    assert (launch.block, launch.arguments) == ((96, 1, 1), (64,))
    assert launch.guessed == ("grid", "arguments")


def test_a_launch_of_a_template_is_one_of_each_of_its_kernels() -> None:
    both = "".join(f".visible .entry _Z1kI{each}EvT_(.param .u32 n) {{ ret; }}\n" for each in "ij")
    of = Module(read_ptx(HEAD + both, "k.ptx"))
    launches = sources("k<int><<<2, 96>>>(12); k<unsigned><<<2, 96>>>(12);")
    found = asked_launches(of, "k", launches)
    assert [each.kernel for each in found] == ["_Z1kIiEvT_", "_Z1kIjEvT_"]


_MESSAGE = """
ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x;
setp.ne.u32 %p1, %r2, 0; @%p1 ret; setp.ne.u32 %p2, %r1, 0; @%p2 bra READ;
st.global.u32 [%rd1], 1; st.relaxed.gpu.global.u32 [%rd2], 1; ret;
READ: ld.relaxed.gpu.global.u32 %r3, [%rd2]; setp.eq.u32 %p3, %r3, 0; @%p3 bra READ;
ld.global.u32 %r4, [%rd1]; ret;"""
_TWO = ".param .u64 a, .param .u64 b"


def test_a_guess_shows_what_no_size_orders_and_nothing_else() -> None:
    of = module(_MESSAGE, parameters=_TWO)
    found = judge(of, guess(of, kernel_named(of, "k")))
    assert found.judgement is Judgement.RACE
    assert all(each.text.endswith("(guessed launch)") for each in found.findings)
    assert "guessed" in str(found)
    of = module(
        "ld.param.u64 %rd1, [a]; mov.u32 %r1, %ctaid.x; st.global.u32 [%rd1], %r1; ret;",
        parameters=_TWO,
    )
    found = judge(of, guess(of, kernel_named(of, "k")))
    assert (found.judgement, found.findings) == (Judgement.NOT_JUDGED, ())
    assert found.problem.startswith("a race under guessed sizes or contents")
    found = judge(of, parse_launch("k<<<4, 128>>>(i32[64], 0)"))
    assert found.judgement is Judgement.RACE


_OWN = "mov.u32 %r2, %tid.x; mov.u32 %r1, s; shl.b32 %r3, %r2, 4; add.u32 %r1, %r1, %r3;"
_ONE = "setp.ne.u32 %p1, %r2, 0; @%p1 ret;"


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (Fault.SCOPE, "atom.cta.global.add.u32 %r2, [%rd1], 1;"),
        (Fault.READ_ONLY, "ld.global.nc.u32 %r2, [%rd1]; mov.u32 %r3, %ctaid.x;"
                          "st.global.u32 [%rd1], %r3;"),
        (Fault.COPY, f"{_OWN} cp.async.ca.shared.global [%r1], [%rd1], 16; bar.sync 0;"
                     "xor.b32 %r1, %r1, 16; ld.shared.u32 %r4, [%r1];"),
        (Fault.PROXY, f"{_OWN} st.shared.u32 [%r1], %r2; bar.sync 0; {_ONE}"
                      "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], 16;"
                      "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"),
        (Fault.SOURCE, f"{_OWN} {_ONE} cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], 16;"
                       "cp.async.bulk.commit_group; st.shared.u32 [%r1], 7;"),
        (Fault.INITIALISATION, "mov.u32 %r1, s; mbarrier.init.shared::cta.b64 [%r1], 1;"),
    ],
    ids=str,
)  # fmt: skip
def test_a_guess_shows_faults_of_every_size(kind: Fault, body: str) -> None:
    """A scope, a proxy, a copy, the read-only path and an mbarrier are wrong in any launch."""
    shared = ".shared .align 16 .b8 s[2048];"
    of = module(f"{shared} ld.param.u64 %rd1, [a]; {body} ret;", parameters=_TWO)
    found = judge(of, guess(of, kernel_named(of, "k")))
    assert kind in {each.kind for each in found.errors}
    assert all("(guessed launch)" in each.text for each in found.findings)
    kept = {each for each in Fault if not KINDS[each].needs_launch}
    assert {each.kind for each in found.findings} <= kept


def test_a_guess_shows_nothing_else() -> None:
    """Plain conflicts, sizes, equal values, hangs and divergence depend on the launch."""
    assert {each for each in Fault if KINDS[each].needs_launch} == {
        Fault.WRITE_READ, Fault.READ_WRITE, Fault.WRITE_WRITE, Fault.SAME_VALUE, Fault.SIZE,
        Fault.PEER_BEGIN, Fault.PEER_EXIT, Fault.HANG, Fault.DIVERGENCE, Fault.UNWRITTEN,
    }  # fmt: skip


@pytest.mark.parametrize(
    "body", ["st.global.u32 [%rd1+65536], 1; ret;", "L: ld.relaxed.gpu.global.u32 %r1, [%rd1]; "
             "setp.eq.u32 %p1, %r1, 0; @%p1 bra L; ret;"]
)  # fmt: skip
def test_a_guess_that_does_not_fit_is_not_judged(body: str) -> None:
    of = module(f"ld.param.u64 %rd1, [a]; {body}", parameters=_TWO)
    found = judge(of, guess(of, kernel_named(of, "k")))
    assert str(found).startswith("not judged: the guessed launch does not fit this kernel (")
    assert found.findings == ()


# Launches as they are written


def test_what_is_declared_may_be_left_out() -> None:
    of = module(before=".reqntid 32, 2")
    assert settled(of, parse_launch("k<<<3>>>()"))[1].block == (32, 2, 1)
    assert settled(of, parse_launch("k<<<3, , 64>>>()"))[1].shared == 64
    of = module(before=".reqnctapercluster 2")
    assert settled(of, parse_launch("k<<<4, 32>>>()"))[1].cluster == (2, 1, 1)


def test_arrays_of_raw_files(tmp_path: Path) -> None:
    raw = tmp_path / "x.bin"
    raw.write_bytes(bytes(range(16)))
    of = module("ret;", parameters=_TWO)
    run = execute(of, parse_launch(f"k<<<1, 1>>>(u32[]={raw}, u8[16]={raw})"))
    first, second = run.arguments
    assert first is not None
    assert second is not None
    assert values(first) == [0x03020100, 0x07060504, 0x0B0A0908, 0x0F0E0D0C]
    assert values(second, "u8") == list(range(16))
    with pytest.raises(LaunchError, match="has 16 bytes, which are not 5 of u32"):
        execute(of, parse_launch(f"k<<<1, 1>>>(u32[5]={raw}, 0)"))


@pytest.mark.parametrize(
    ("before", "text", "problem"),
    [
        ("", "k<<<1>>>()", "k declares no .reqntid: give the block"),
        ("", "k<<<1, (1, 1, 128)>>>()", "a block of 1x1x128: 1024x1024x64 are"),
        ("", "k<<<(1, 70000), 1>>>()", "a grid of 1x70000x1: "),
        (".maxntid 64", "k<<<1, 128>>>()", "k is compiled for blocks of up to 64 threads, not 128"),
        (".reqnctapercluster 2", "k<<<4, 32, 0, 4>>>()", "k is compiled for clusters of 2x1x1 blocks, not 4x1x1"),
        ("", "k<<<32, 32, 0, 32>>>()", "a cluster of 32 blocks: 16 are the most"),
        ("", "k<<<1, 32, 300000>>>()", "300000 bytes of shared memory: 232448 are the most"),
        ("", "k<<<1, 32>>>(7)", "k takes 0 arguments, not 1: give"),
        ("", "k<<<1, 32>>>(u32[4]=none.bin)", "and there is no such file"),
        ("", "k<<<1, 32>>>(i32[4]=1.5)", "give an integer from -2147483648 to 4294967295"),
        ("", "k<<<1, 32>>>(u8[4]=300)", "give an integer from -128 to 255"),
        ("", "k<<<1, 32>>>(i8[4]=nan)", "give an integer from -128 to 255"),
        ("", "j<<<1, 32>>>()", "there is no kernel 'j': there is k"),
    ],
)  # fmt: skip
def test_launches_that_cannot_be(before: str, text: str, problem: str) -> None:
    with pytest.raises(LaunchError, match=problem) as raised:
        execute(module(before=before), parse_launch(text))
    assert "\n" not in str(raised.value)


def test_a_number_is_no_array() -> None:
    of = module("ld.param.u64 %rd1, [a]; ld.global.u32 %r1, [%rd1]; ret;", parameters=_TWO)
    with pytest.raises(LaunchError, match="argument 0 is 5, but a is used as an address: give an"):
        list(asked_launches(of, "k<<<1, 1>>>(5, 5)", ()))
    (launch,) = asked_launches(of, "k<<<1, 1>>>(0, 5)", ())
    assert launch.arguments == (0, 5)


def test_names_of_cpp_need_no_mangling() -> None:
    of = module(name="_ZN2ns4sortIfEEvv")
    assert kernel_named(of, "sort").name == "_ZN2ns4sortIfEEvv"
    with pytest.raises(LaunchError, match="there is no kernel 'sor'"):
        kernel_named(of, "sor")


def test_a_struct_has_its_members_where_c_puts_them() -> None:
    """Pointers of their own, to another argument, and numbers at multiples of their sizes."""
    body = """
    ld.param.u64 %rd1, [s]; ld.param.u32 %r1, [s+8]; ld.param.u64 %rd2, [s+16];
    ld.param.f64 %rd3, [s+24]; st.global.u32 [%rd1+4], %r1; st.global.u64 [%rd2], %rd3; ret;"""
    found = module(
        body.replace("f64", "b64"), parameters=".param .u64 a, .param .align 8 .b8 s[32]"
    )
    launch = parse_launch("k<<<1, 1>>>(f64[1], {u32[2], i32(-7), @0, f64(1.5)})")
    run = execute(found, launch)
    assert run.outcome.is_done, run.outcome.problem
    (array, _) = run.arguments
    assert array is not None
    assert values(array, "f64") == [1.5]
    (member,) = (
        each for each in run.machine.memory.allocations.values() if each.name == "s at byte 0"
    )
    assert values(member, "s32") == [0, -7]


def test_a_limit_of_turns_has_its_place() -> None:
    found = module("L: add.u32 %r1, %r1, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra L; ret;")
    run = execute(found, parse_launch("k<<<1, 1>>>()"), limit=10)
    assert "a loop does not end, or the launch is too large" in (said := problem_of(run))
    assert ", at k.ptx:" in said


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("{i32(1), @0}", "argument 0 is '@0', which is no array before it"),
        ("{3}", "argument 0 has the member '3': give an array"),
        ("{i32(1.5)}", "argument 0 has the member"),
        ("{i64(1), i64(2)}", "s has 8 bytes: a struct of 16 does not fit"),
    ],
)
def test_structs_that_cannot_be(arguments: str, problem: str) -> None:
    found = module(parameters=".param .align 8 .b8 s[8]")
    with pytest.raises(LaunchError, match=f"^{problem.replace('(', '[(]')}"):
        execute(found, parse_launch(f"k<<<1, 1>>>({arguments})"))


@pytest.mark.parametrize(
    ("name", "is_it"),
    [
        ("tk", True),
        ("tk<64>", True),
        ("tk<64, false>", True),
        ("tk<32>", False),
        ("tk<64, true>", False),
        ("t", False),
    ],
)
def test_a_kernel_has_the_arguments_of_its_template(name: str, is_it: bool) -> None:
    assert is_named("_Z2tkILi64ELb0EEvPi", name) is is_it
    assert parse_launch(f"{name}<<<1, 64>>>(i32[4])").kernel == name


def test_arrays_of_one_content_are_drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[int] = []

    def draw(type: str, count: int, seed: int, below: int) -> bytes:
        counts.append(count)
        return bytes(4 * count)

    monkeypatch.setattr(arguments_module, "_random", draw)
    for count in (3, 3, 5):
        assert arguments_module.array_bytes(Array("u32", count, "random(6047)")) == bytes(4 * count)
    assert counts == [3, 5]


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.asfortranarray(np.arange(6, dtype=np.uint32).reshape(2, 3)), "has elements by columns"),
        (np.arange(6, dtype=">u4"), "has elements of '>u4': numbers by rows in little endian"),
    ],
)
def test_both_executors_refuse_the_same_files(
    tmp_path: Path, array: np.ndarray, message: str
) -> None:
    np.save(tmp_path / "a.npy", array)
    given = File(str(tmp_path / "a.npy"))
    kernel = module(parameters=".param .u64 a")
    for refusal in (
        lambda: execute(kernel, Launch("k", (1, 1, 1), (32, 1, 1), 0, (given,))),
        lambda: allocate(
            program_of(kernel.ptx, kernel.ptx.functions["k"]),
            execution.Launch((1, 1, 1), (32, 1, 1), (given,)),
        ),
    ):
        with pytest.raises(LaunchError, match=message):
            refusal()
