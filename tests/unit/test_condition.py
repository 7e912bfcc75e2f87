"""Final conditions: reading, precedence, positions of errors, verdicts on outcome sets."""

import pytest

from fencewright.simulator.core.condition import (
    And,
    Compare,
    Comparison,
    Condition,
    LitmusError,
    Memory,
    Not,
    Or,
    Outcomes,
    Quantifier,
    Register,
    SourceText,
    parse_condition,
)

R0, R1, X = Register(0, "r0"), Register(1, "r1"), Memory("x")


def equal(left: Register | Memory, right: int) -> Compare:
    return Compare(Comparison.EQ, left, right)


@pytest.mark.parametrize(
    ("text", "quantifier", "formula"),
    [
        ("exists (P0:r0 == 1)", Quantifier.EXISTS, equal(R0, 1)),
        ("exists (0:r0 = 1)", Quantifier.EXISTS, equal(R0, 1)),
        ("~exists x == -1", Quantifier.NOT_EXISTS, equal(X, 0xFFFFFFFF)),
        ("exists x == -0x1", Quantifier.EXISTS, equal(X, 0xFFFFFFFF)),
        ("exists x == 007", Quantifier.EXISTS, equal(X, 7)),
        ("exists x == -2147483648", Quantifier.EXISTS, equal(X, 0x80000000)),
        ("~ exists [x] == 0x10", Quantifier.NOT_EXISTS, equal(X, 16)),
        ("forall true", Quantifier.FORALL, And(())),
        (
            "exists (P0:r0 == 1 \\/ P1:r1 == 2 /\\ ~x == 3)",
            Quantifier.EXISTS,
            Or((equal(R0, 1), And((equal(R1, 2), Not(equal(X, 3)))))),
        ),
        (
            "exists ((P0:r0 == 1 or P1:r1 == 2) and not (x == 3))",
            Quantifier.EXISTS,
            And((Or((equal(R0, 1), equal(R1, 2))), Not(equal(X, 3)))),
        ),
        ("exists P0:r0 != P1:r1", Quantifier.EXISTS, Compare(Comparison.NE, R0, R1)),
    ],
)
def test_conditions_are_read(text: str, quantifier: Quantifier, formula: Compare) -> None:
    condition = parse_condition(text)
    assert condition == Condition(quantifier, formula)
    assert parse_condition(str(condition)) == condition


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "sometimes (x == 1)",
            "t:1:1: error: expected exists, ~exists or forall, found 'sometimes'",
        ),
        ("exists (x == 1", "t:1:15: error: expected ')', found the end of the file"),
        (
            "exists (x ==\n  )",
            "t:2:3: error: expected a register, a location or a number, found ')'",
        ),
        ("exists (x 1)", "t:1:11: error: expected a comparison, found '1'"),
        ("exists (x == 1) y", "t:1:17: error: unexpected 'y' after the condition"),
        (
            "exists (x == 4294967296)",
            "t:1:14: error: 4294967296 does not fit in 32 bits",
        ),
        (
            f"exists (x == 1 or x == -{'9' * 6000})",
            f"t:1:24: error: -{'9' * 23} does not fit in 32 bits",
        ),
        (
            "exists (x >= -1)",
            "t:1:11: error: values are unsigned: compare a negative number by == or != only",
        ),
        ("exists (x == $)", "t:1:14: error: unexpected character '$' in the condition"),
    ],
)
def test_errors_have_a_position(text: str, message: str) -> None:
    with pytest.raises(LitmusError) as raised:
        parse_condition(SourceText(text, "t"))
    assert str(raised.value) == message


def outcome_set(*states: tuple[int | None, ...]) -> Outcomes:
    return Outcomes((R0, X), frozenset(states))


@pytest.mark.parametrize(
    ("text", "states", "verdict"),
    [
        ("exists (P0:r0 == 1)", [(0, 0), (1, 0)], True),
        ("exists (P0:r0 == 2)", [(0, 0), (1, 0)], False),
        ("~exists (P0:r0 == 1)", [(0, 0), (1, 0)], False),
        ("~exists (P0:r0 == 2)", [(0, 0), (1, 0)], True),
        ("forall (x == 0)", [(0, 0), (1, 0)], True),
        ("forall (P0:r0 == 0)", [(0, 0), (1, 0)], False),
        ("exists (P9:r9 == 0)", [(0, 0)], True),
        ("exists (P0:r0 == 0)", [(None, 0)], False),
        ("exists (x == 0)", [(None, 0)], True),
        ("forall (P0:r0 == 1)", [(None, 0), (1, 0)], True),
    ],
)
def test_verdicts(text: str, states: list[tuple[int | None, ...]], verdict: bool) -> None:
    assert parse_condition(text).verdict(outcome_set(*states)) is verdict


@pytest.mark.parametrize("symbol", list(Comparison))
def test_every_comparison(symbol: Comparison) -> None:
    expected = {"==": (0, 1, 0), "!=": (1, 0, 1), "<": (1, 0, 0), "<=": (1, 1, 0)}
    expected |= {">": (0, 0, 1), ">=": (0, 1, 1)}
    found = tuple(int(symbol.holds(a, 1)) for a in (0, 1, 2))
    assert found == expected[symbol.value]


def test_projection_keeps_what_is_asked_for() -> None:
    projected = outcome_set((0, 5), (1, 5)).project([X, R1])
    assert projected == Outcomes((X, R1), frozenset({(5, 0)}))
    assert str(outcome_set((1, 5), (0, 5))) == "P0:r0=0 x=5\nP0:r0=1 x=5"
