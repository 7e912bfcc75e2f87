"""Reading and writing PTX litmus tests: round trips, and errors with their position."""

from pathlib import Path

import pytest

from fencewright.lowering.vocabulary import Ordering, RmwKind, Scope
from fencewright.simulator.core.condition import LitmusError, Register
from fencewright.simulator.core.program import Move, Placement
from fencewright.simulator.ptx.events import (
    Atom,
    Bar,
    BarrierRole,
    Ld,
    MbarrierArrive,
    PtxFence,
    PtxInstruction,
    PtxProxy,
    St,
)
from fencewright.simulator.ptx.formats.columns import (
    instruction_text,
    parse_litmus,
    read_litmus,
    write_litmus,
)
from fencewright.simulator.ptx.instructions import Alias, Restriction
from fencewright.simulator.ptx.outcomes import outcomes
from fencewright.simulator.ptx.witnesses import explain

LITMUS = Path(__file__).parents[1] / "litmus" / "ptx"


def one(instruction: str) -> PtxInstruction:
    text = f"PTX t\n{{ b = mbarrier(1); }}\nP0@cta 0,gpu 0 ;\n{instruction} ;\nexists true"
    return parse_litmus(text).program.threads[0].instructions[0]


WORDS = """PTX words
{ x=-1; y=0x80000000; P0:r0=4294967295; P0:r1=-1; }
P0@cta 0,gpu 0 ;
"""


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("add r2, r0, 2", 1),
        ("sub r2, 0, 1", 0xFFFFFFFF),
        ("mul r2, r0, r1", 1),
        ("mul r2, 65536, 65536", 0),
        ("div r2, -7, 2", 0xFFFFFFFD),
        ("div r2, -2147483648, -1", 0x80000000),
        ("div r2, 7, 0", 0),
        ("min r2, r0, 1", 0xFFFFFFFF),
        ("max r2, r0, 1", 1),
        ("setp.lt.u32 r2, r0, 1", 0),
        ("setp.le.u32 r2, 1, r0", 1),
        ("setp.eq r2, r0, r1", 1),
        ("setp.ne r2, r0, -1", 0),
        ("atom.add r2, x, 2 ; ld r2, x", 1),
        ("atom.min r2, y, 1 ; ld r2, y", 0x80000000),
        ("atom.min.u32 r2, y, 1 ; ld r2, y", 1),
        ("atom.max r2, x, 1 ; ld r2, x", 1),
        ("atom.max.u32 r2, x, 1 ; ld r2, x", 0xFFFFFFFF),
        ("atom.cas r2, x, 4294967295, 7 ; ld r2, x", 7),
        ("mov r2, 1 ; blt r0, 1, L ; mov r2, 2 ; L:", 1),
        ("mov r2, 1 ; beq r0, -1, L ; mov r2, 2 ; L:", 1),
    ],
)
def test_values_are_words_of_32_bits(code: str, value: int) -> None:
    test = parse_litmus(f"{WORDS} {code} ;\nexists (P0:r2 == {value})")
    assert parse_litmus(write_litmus(test)) == test
    assert [state[Register(0, "r2")] for state in outcomes(test.program).as_mappings()] == [value]
    witness = explain(test.program, test.condition.formula)
    assert witness is not None
    assert all(0 <= each < 1 << 32 for each in witness.values)


@pytest.mark.parametrize("path", sorted(LITMUS.glob("*.litmus")), ids=lambda path: path.stem)
def test_round_trip(path: Path) -> None:
    test = read_litmus(path)
    assert parse_litmus(write_litmus(test)) == test


@pytest.mark.parametrize(
    ("text", "instruction"),
    [
        ("ld r0, x", Ld("r0", "x")),
        ("ld.volatile r0, x", Ld("r0", "x", Ordering.RELAXED, Scope.SYSTEM)),
        ("ld.mmio.relaxed.sys r0, x", Ld("r0", "x", Ordering.RELAXED, Scope.SYSTEM)),
        ("ld.ca r0, x", Ld("r0", "x")),
        ("ld.weak.global.cg r0, x", Ld("r0", "x")),
        ("ld.nc r0, x", Ld("r0", "x", proxy=PtxProxy.TEXTURE)),
        ("ld.global.cs.nc r0, x", Ld("r0", "x", proxy=PtxProxy.TEXTURE)),
        ("st.global.wt x, 1", St("x", 1)),
        ("ld r0, 7", Move("r0", 7)),
        ("tld.weak r0, x", Ld("r0", "x", proxy=PtxProxy.TEXTURE)),
        ("st.release.cluster x, -1", St("x", -1, Ordering.RELEASE, Scope.CLUSTER)),
        ("atom.add r0, x, 1", Atom("r0", "x", RmwKind.ADD, 1)),
        (
            "atom.acquire.sys.cas r0, x, 0, r1",
            Atom("r0", "x", RmwKind.XCHG, "r1", 0, Ordering.ACQUIRE, Scope.SYSTEM),
        ),
        ("red.relaxed.gpu.max x, 3", Atom(None, "x", RmwKind.MAX, 3)),
        ("fence.gpu", PtxFence(Ordering.ACQ_REL, Scope.AGENT)),
        ("membar.gl", PtxFence(Ordering.SEQ_CST, Scope.AGENT)),
        (
            "fence.release.sync_restrict::shared::cta.cluster",
            PtxFence(Ordering.RELEASE, Scope.CLUSTER, Restriction.OWN),
        ),
        (
            "fence.acquire.sync_restrict::shared::cluster.cluster",
            PtxFence(Ordering.ACQUIRE, Scope.CLUSTER, Restriction.CLUSTER),
        ),
        ("bar.cta.sync 1", Bar(BarrierRole.SYNC, 1)),
        ("bar.cta.red 1, r2, 64", Bar(BarrierRole.SYNC, 1, "r2", 64)),
        ("mbarrier.arrive b", MbarrierArrive("b")),
    ],
)
def test_instructions_and_their_defaults(text: str, instruction: PtxInstruction) -> None:
    assert one(text) == instruction
    assert one(instruction_text(instruction)) == instruction


@pytest.mark.parametrize(
    ("instruction", "message"),
    [
        ("frob x", "unknown instruction 'frob'"),
        ("ld.acquire r0, x", "ld.acquire needs a scope: .cta, .cluster, .gpu, .sys"),
        ("ld.weak.gpu r0, x", "ld.weak.gpu is weak, so it has no scope"),
        ("ld.release.gpu r0, x", "ld cannot be .release; it takes .weak, .relaxed, .acquire"),
        ("st.acquire.gpu x, 1", "st cannot be .acquire; it takes .weak, .relaxed, .release"),
        ("ld.relaxed.acquire.gpu r0, x", "ld.relaxed.acquire.gpu has two orderings"),
        ("ld.relaxed.gpu.cta r0, x", "ld.relaxed.gpu.cta has two scopes"),
        ("ld.relaxed.warp r0, x", "unknown qualifier '.warp' in ld.relaxed.warp"),
        ("ld.weak r0", "ld.weak takes 2 operands, not 1"),
        ("ld.relaxed.gpu.cg r0, x", "ld.relaxed.gpu.cg is not weak, so it has no .cg"),
        ("ld.volatile.ca r0, x", "ld.volatile.ca is not weak, so it has no .ca"),
        ("st.release.gpu.wb x, 1", "st.release.gpu.wb is not weak, so it has no .wb"),
        ("ld.acquire.gpu.nc r0, x", "ld cannot be .acquire; it takes .weak"),
        ("ld.volatile.nc r0, x", "ld.volatile.nc is non-coherent, so it is weak"),
        ("ld.nc.cv r0, x", "unknown qualifier '.cv' in ld.nc.cv"),
        ("multimem.st.mmio.u32 [x], 1", "multimem.st.mmio.u32 is no form of multimem (.mmio does"),
        (
            "ld.mmio.relaxed.gpu r0, x",
            "ld.mmio.relaxed.gpu is no form of ld (.mmio does not belong)",
        ),
        ("st.mmio x, 1", "st.mmio is no form of st (.mmio does not belong)"),
        ("ld.ca.cg r0, x", "unknown qualifier '.cg' in ld.ca.cg"),
        ("st.ca x, 1", "unknown qualifier '.ca' in st.ca"),
        ("st.nc x, 1", "unknown qualifier '.nc' in st.nc"),
        ("tld.nc r0, x", "unknown qualifier '.nc' in tld.nc"),
        ("cold.cg r0, x", "unknown qualifier '.cg' in cold.cg"),
        ("fence.sc", "fence.sc needs a scope: .cta, .cluster, .gpu, .sys"),
        (
            "fence.relaxed.gpu",
            "fence cannot be .relaxed; it takes .acquire, .release, .acq_rel, .sc",
        ),
        (
            "fence.acquire.sync_restrict::shared::cta.cluster",
            "sync_restrict::shared::cta is for release fences at cluster scope",
        ),
        (
            "fence.release.sync_restrict::shared::cta.gpu",
            "sync_restrict::shared::cta is for release fences at cluster scope",
        ),
        ("atom.gpu r0, x, 1", "atom.gpu needs one operation"),
        ("mbarrier.arrive.release.gpu b", "an mbarrier operation has the scope .cta or .cluster"),
        ("barrier.cluster.wait.relaxed", "barrier cannot be .relaxed; it takes .acquire"),
        ("cp.async.bulk.wait_group -1", "wait_group takes a number of groups"),
        ("membar.gpu", "membar needs one of .cta, .gl, .sys"),
        (
            "cp.async.bulk.multicast::cluster x, y, b",
            ".multicast::cluster is not modelled: write a copy for each CTA",
        ),
        (
            "tcgen05.mma.cta_group::2 x, y, y",
            ".cta_group::2 is not modelled: a pair of CTAs that works on one tile",
        ),
        ("tcgen05.alloc x, 32", ".alloc is not modelled: a location @ tmem is allocated"),
        ("ldmatrix.sync r0, x", "ldmatrix.sync is not modelled: tiles spread over lanes"),
        ("cp.async.bulk {x, y}, x, b", "cp.async.bulk copies as many words as it writes"),
        ("cp.async x, y, 4, 0", "zeros for bytes that cp.async does not read are not simulated"),
        (
            "cp.reduce.async.bulk x, y, b",
            "cp.reduce.async.bulk needs one operation: .add, .sub, .and, .or, .xor, .min, .max",
        ),
        (
            "fence.proxy.async::generic.release.sync_restrict::shared::cluster::read.cluster",
            "fence.proxy.async::generic.release.sync_restrict::shared::cluster::read.cluster "
            "is not modelled: a fence that is not cumulative",
        ),
        (
            "mbarrier.try_wait.parity b",
            "mbarrier.try_wait.parity takes 2 to 3 operands, not 1",
        ),
        ("barrier.cta.arrive 1", "barrier.cta.arrive needs the number of threads that take part"),
        ("?", "expected an instruction, found '?'"),
    ],
)
def test_bad_instructions(instruction: str, message: str) -> None:
    with pytest.raises(LitmusError) as raised:
        one(instruction)
    assert str(raised.value).startswith(f"<litmus>:4:1: error: {message}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ARM t { }", "f:1:1: error: expected 'PTX name', quoted remarks and '{'"),
        ("PTX t {", "f:1:7: error: this '{' is never closed"),
        (
            "PTX t {}\nP0@cta 0,gpu 0 ;",
            "f:2:17: error: expected a condition: exists, ~exists or forall",
        ),
        (
            "PTX t { x=; }\nexists true",
            "f:1:9: error: expected 'x=0', 'P0:r0=0' or an alias, found 'x='",
        ),
        ("PTX t { x=y; }\nexists true", "f:1:11: error: expected a number, found 'y'"),
        ("PTX t { a @ fast aliases x; }\nexists true", "f:1:9: error: unknown proxy 'fast'"),
        ("PTX t { x=0; x=1; }\nexists true", "f:1:14: error: x is declared twice"),
        ("PTX t { P0:r1=0; P0:r1=1; }\nexists true", "f:1:18: error: P0:r1 is declared twice"),
        (
            "PTX t { a @ generic aliases x; a=1; }\nexists true",
            "f:1:32: error: a is declared twice",
        ),
        (
            "PTX t { a @ generic aliases b; b @ generic aliases a; }\nexists true",
            "f:1:32: error: b is an alias of itself",
        ),
        (
            "PTX t { P1:r0=1; }\nP0@cta 0,gpu 0 ;\nexists true",
            "f:1:9: error: there is no thread P1",
        ),
        (
            "PTX t { x=4294967296; }\nexists true",
            "f:1:11: error: '4294967296' does not fit in 32 bits",
        ),
        (
            "PTX t { x=-2147483649; }\nexists true",
            "f:1:11: error: '-2147483649' does not fit in 32 bits",
        ),
        (
            f"PTX t {{ x={'9' * 6000}; }}\nexists true",
            f"f:1:11: error: '{'9' * 24}' does not fit in 32 bits",
        ),
        (
            f"PTX t {{ b = mbarrier({'9' * 6000}); }}\nexists true",
            "f:1:9: error: an mbarrier expects 1 to 2^20 - 1 arrivals",
        ),
        (
            "PTX t {}\nP0@cta 0,gpu 0 ;\nst.weak x, 0x100000000 ;\nexists true",
            "f:3:12: error: '0x100000000' does not fit in 32 bits",
        ),
        (
            f"PTX t {{}}\nP0@cta {'9' * 6000},gpu 0 ;\nexists true",
            f"f:2:8: error: '{'9' * 24}' does not fit in 32 bits",
        ),
        (
            "PTX t {}\nP0@cta 0,gpu 0 ;\nst.weak x, 1 ;\nexists (x == 4294967297)",
            "f:4:14: error: 4294967297 does not fit in 32 bits",
        ),
        (
            "PTX t { s @ surface aliases x; }\nP0@cta 0,gpu 0 ;\n ld.weak r0, s ;\nexists true",
            "f:3:2: error: s is x through the surface proxy; ld.weak goes through the generic proxy",
        ),
        (
            "PTX t { s @ surface aliases x; }\nP0@cta 0,gpu 0 ;\nst.weak x, 1 ;\nexists (s == 1)",
            "f:4:9: error: s is another name of x: name that",
        ),
        (
            "PTX t {}\nP0@cta 0,gpu 0 ;\nst.weak x, 1 ;\nexists (x == 1 /\\ y == 0)",
            "f:4:19: error: the condition names y, which nothing in the test accesses",
        ),
        (
            "PTX t {}\nP0@cta 0,gpu 0 ;\nld.weak r0, x ;\nexists (P0:r0 == 0 /\\ 0:r1 == 0)",
            "f:4:23: error: the condition names P0:r1, which nothing in the test sets",
        ),
        (
            "PTX t {}\nP0@cta 0,gpu 0 ;\nld.weak r0, x ;\nexists (P1:r0 == 0)",
            "f:4:9: error: the condition names P1:r0, but there is no thread P1",
        ),
        ('PTX t "remark {}\nexists true', "f:1:7: error: this remark is never closed"),
        (
            "PTX t {}\n P1@cta 0,gpu 0 ;\nexists true",
            "f:2:2: error: expected 'P0@cta N,gpu N', found 'P1@cta 0,gpu 0'",
        ),
        (
            "PTX t {}\n P0@cta 0,gpu 0 ;\n ld r0, x | ld r0, y ;\nexists true",
            "f:3:2: error: this row has 2 columns, the threads are 1",
        ),
        (
            "PTX t {}\n P0@cta 0,gpu 0 | P1@cta 0,gpu 0;\n ld r0, x | ld q0, y ;\nexists true",
            "f:3:16: error: expected a register like r0, found 'q0'",
        ),
        (
            "PTX t {}\n P0@cta 0,gpu 0 ;\n st.weak x, (* a\ncomment *) y ;\nexists true",
            "f:4:12: error: expected a number, found 'y'",
        ),
    ],
)
def test_errors_have_a_position(text: str, message: str) -> None:
    with pytest.raises(LitmusError) as raised:
        parse_litmus(text, "f")
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("head", "remarks"),
    [
        ("", ()),
        ('"one" "two"\n"three"', ("one", "two", "three")),
        ('"the "flag" is set"', ('the "flag" is set',)),
        ('"it says "set"" "next"', ('it says "set"', "next")),
        ('"five"" feet"', ('five"" feet',)),
        ('"said "no,\nnever"\n"', ('said "no,\nnever"\n',)),
        ('"the set {x, "y"}"', ('the set {x, "y"}',)),
    ],
)
def test_remarks(head: str, remarks: tuple[str, ...]) -> None:
    test = parse_litmus(f"PTX t\n{head}\n{{ x=1; }}\nP0@cta 0,gpu 0 ;\nexists (x == 1)")
    assert test.remarks == remarks
    assert parse_litmus(write_litmus(test)) == test


@pytest.mark.parametrize("written", ["-1", "4294967295", "0xFFFFFFFF"])
def test_a_negative_number_is_its_word(written: str) -> None:
    test = parse_litmus(
        f"PTX t {{ x={written}; }}\nP0@cta 0,gpu 0 ;\nld.weak r0, x ;\n"
        "forall (P0:r0 == -1 /\\ x == 0xffffffff)"
    )
    found = outcomes(test.program)
    assert found.states == {(0xFFFFFFFF, 0xFFFFFFFF)}
    assert test.condition.verdict(found)
    witness = explain(test.program, test.condition.formula)
    assert witness is not None
    assert witness.allowed


def test_placements_and_initial_state() -> None:
    test = parse_litmus(
        'PTX t\n"one" "two"\n{ x=3; P0:r1=2; a @ texture aliases x; b = mbarrier(2); }\n'
        "P0@cta 1,cluster 2,gpu 3 ;\ntld.weak r0, a ; // a comment\nexists (x == 3)"
    )
    assert test.remarks == ("one", "two")
    program = test.program
    assert program.initial == {"x": 3}
    assert program.aliases == {"a": Alias("x", PtxProxy.TEXTURE)}
    assert program.mbarriers == {"b": 2}
    assert program.threads[0].placement == Placement(1, agent=3, cluster=2)
    assert program.registers_of(0) == {"r1": 2}
    assert "a @ texture aliases x;" in write_litmus(test)


@pytest.mark.parametrize(
    ("instruction", "column", "message"),
    [
        ("cp.async.bulk x, [b, y], b", 18, "only a tensor copy has a tensor map"),
        ("cp.async.bulk {x, 5}, {x, x}, b", 19, "expected a location, found '5'"),
        ("mbarrier.init b, 0", 18, "an mbarrier expects 1 to 2^20 - 1 arrivals"),
    ],
)
def test_bad_operands_of_asynchronous_instructions(
    instruction: str, column: int, message: str
) -> None:
    with pytest.raises(LitmusError) as raised:
        one(instruction)
    assert str(raised.value) == f"<litmus>:4:{column}: error: {message}"
