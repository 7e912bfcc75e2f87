"""Constraints on the iterations that an access is executed in: of the conditions that its loops go
on under."""

from collections.abc import Iterator
from itertools import chain

from fencewright.checker.verdicts.expressions import (
    WIDE,
    Expressions,
    factors_of,
    is_data,
    is_small,
    leaves,
    number_of,
    parts_of,
)
from fencewright.checker.verdicts.model import (
    Access,
    AllOf,
    AnyOf,
    Compare,
    Constraint,
    Holds,
    Kernel,
    LinearForm,
    Literal,
    Loop,
    Not,
)
from fencewright.lowering.code.value import Apply, Iteration, Value


def executed(kernel: Kernel, access: Access, thread: int) -> tuple[Constraint, ...]:
    """The constraints under which a thread executes an access: its conditions, and its
    iterations."""
    if not kernel.loops:
        return tuple(Holds(literal, thread) for literal in access.conditions)
    form = access.place.offset
    values = [] if form is None else [value for value, _ in form.terms]
    within = {loop.head for loop in kernel.loops_of(access.instruction)}
    used = {leaf.head for leaf in leaves(values) if isinstance(leaf, Iteration)} | within
    # A loop with one exit is left in some iteration; which one matters only to what is computed of
    # it.
    literals = [
        literal
        for literal in access.conditions
        if not any(
            loop.head not in used and has_one_exit(kernel, loop)
            for loop in kernel.loops_around(literal.branch)
        )
    ]
    values += [literal.value for literal in literals]
    heads = {leaf.head for leaf in leaves(values) if isinstance(leaf, Iteration)} | within
    holds = (Holds(literal, thread) for literal in literals)
    here = kernel.block_of[access.instruction]
    # Of a wave in lock step lanes have left a loop which no branch has left.
    over = () if kernel.is_lock_step else sorted(heads - within)
    left = (_left(kernel, head, here, thread) for head in over)
    return (*holds, *_iterated(kernel, sorted(heads), thread), *chain.from_iterable(left))


def _left(kernel: Kernel, head: int, here: int, thread: int) -> Iterator[Constraint]:
    """The iteration that a thread has left a loop in, which is before a block, is one that an exit
    has a condition of; where the thread has come to the loop."""

    def make() -> Constraint | None:
        way = _way_to(kernel, head, here)
        loop = kernel.loops[head]
        exits = [
            kernel.edge_literals.get((block, target))
            for block in sorted(loop.blocks)
            for target in kernel.graph.successors[block]
            if target not in loop.blocks
        ]
        if way is None or not exits or not all(exits):
            return None
        left = (AllOf(tuple(Holds(each, thread) for each in own or ())) for own in exits)
        return AnyOf((Not(AllOf(tuple(Holds(each, thread) for each in way))), *left))

    found = kernel.remembered(("left", head, here, thread), make)
    if found is not None:
        yield found


def _way_to(kernel: Kernel, head: int, here: int) -> list[Literal] | None:
    """The conditions on which alone a thread comes to the head of a loop, from a block through
    which all come that are ``here``; None: not known."""
    way: list[Literal] = []
    node = head
    while not kernel.leads_through(node, here):
        before = kernel.graph.predecessors[node]
        entering = [each for each in before if not kernel.leads_through(node, each)]
        if len(entering) != 1:
            return None
        (above,) = entering
        literals = kernel.edge_literals.get((above, node), ())
        if not literals and len(kernel.graph.successors[above]) > 1:
            return None
        way += literals
        node = above
    return way


def has_one_exit(kernel: Kernel, loop: Loop) -> bool:
    """True of a loop that one edge leaves."""
    return kernel.remembered(
        ("one exit", loop.head),
        lambda: (
            sum(
                target not in loop.blocks
                for block in loop.blocks
                for target in kernel.graph.successors[block]
            )
            == 1
        ),
    )


def _iterated(kernel: Kernel, heads: list[int], thread: int) -> Iterator[Constraint]:
    """For each of some loops: it is the first iteration, or the loop went on to it."""
    for head in heads:
        loop = kernel.loops[head]
        went_on = kernel.remembered(
            ("went on", head), lambda loop=loop: tuple(_went_on(kernel, loop))
        )
        if went_on:
            zero = kernel.table.constant(0, loop.iteration.bits)
            first = Compare("eq", loop.iteration, thread, zero, thread)
            yield AnyOf((first, AllOf(tuple(Holds(each, thread) for each in went_on))))


def _went_on(kernel: Kernel, loop: Loop) -> Iterator[Literal]:
    """The conditions under which the iteration before went on, of a loop with one latch."""
    if len(loop.latches) != 1:
        return
    (latch,) = loop.latches
    e = Expressions(kernel.table)
    inner = kernel.loops.keys() & loop.blocks - {loop.head}
    outside = set(kernel.block_conditions[loop.head])
    own = [each for each in kernel.block_conditions[latch] if each not in outside]
    own += kernel.edge_literals.get((latch, loop.head), ())
    one = e.constant(1, loop.iteration.bits)
    before = e.apply("sub", (loop.iteration, one), loop.iteration.bits)
    for literal in own:
        parts = leaves((literal.value,))
        if any(map(is_data, parts)) or loop.iteration not in parts:
            continue
        if any(isinstance(leaf, Iteration) and leaf.head in inner for leaf in parts):
            continue  # Of an inner loop in the iteration before, which is another number now.
        value = e.substituted(literal.value, {loop.iteration: before})
        yield Literal(value, literal.polarity, literal.branch)
        unwrapped = _unwrapped(e, Literal(value, literal.polarity, literal.branch), loop)
        if unwrapped is not None:
            yield unwrapped
        bound = _below(e, literal, loop)
        if bound is not None:
            yield bound
        yield from _before_overflow(e, literal, loop, before)


def _before_overflow(
    e: Expressions, literal: Literal, loop: Loop, before: Value
) -> Iterator[Literal]:
    """Of a condition on what each iteration shifts up by one more place: it has held also where all
    bits but one, and all, were shifted out, if there have been as many iterations."""
    parts = parts_of((literal.value,), lambda part: loop.iteration not in leaves((part,)))
    shifts = (each for each in parts if isinstance(each, Apply) and each.operation == "shl")
    growing = (each for each in shifts if loop.iteration in leaves(each.arguments[1:]))
    for bits in dict.fromkeys(each.bits for each in growing):
        for number in (bits - 2, bits - 1):
            last = e.constant(number, loop.iteration.bits)
            held = e.substituted(literal.value, {loop.iteration: last})
            held = held if literal.polarity else e.negated(held)
            earlier = e.apply("ult", (before, last), 1)
            yield Literal(e.apply("or", (earlier, held), 1), True, literal.branch)


def _unwrapped(e: Expressions, literal: Literal, loop: Loop) -> Literal | None:
    """Of ``i < bound`` in every iteration so far, where ``i`` grows from 0 or more: the same
    without a wrap, as no iteration before has come to the bound."""
    value = literal.value
    if not isinstance(value, Apply) or value.operation not in ("slt", "ult"):
        return None
    low, high = value.arguments if literal.polarity else reversed(value.arguments)
    below, above = e.linear(low), e.linear(high)
    terms = dict(below.terms)
    for part, times in above.terms:
        terms[part] = terms.get(part, 0) - times
    growing = [part for part, times in terms.items() if times and loop.iteration in leaves((part,))]
    if not growing or any(terms[part] < 0 for part in growing):
        return None
    if not all(
        times <= 0 or all(map(_is_counted, factors_of(part))) for part, times in terms.items()
    ):
        return None  # A negative number would be a large one.
    form = LinearForm(below.constant - above.constant, tuple(terms.items()))
    limit = e.constant(0 if literal.polarity else 1, WIDE)
    return Literal(e.apply("slt", (value_of_form(e, form), limit), 1), True, literal.branch)


def _is_counted(value: Value) -> bool:
    return is_small(value) and isinstance(value, Apply) and is_small(value.arguments[0])


def _below(e: Expressions, literal: Literal, loop: Loop) -> Literal | None:
    """Of ``i != bound`` for all iterations before: ``i`` has not come to the bound yet."""
    value = literal.value
    if literal.polarity or not isinstance(value, Apply) or value.operation != "eq":
        return None
    left, right = (e.linear(part) for part in value.arguments)
    terms = dict(left.terms)
    for part, times in right.terms:
        terms[part] = terms.get(part, 0) - times
    constant = left.constant - right.constant
    wide = e.resized(loop.iteration, WIDE)
    step = terms.pop(wide, 0)
    if step == 0 or any(loop.iteration in leaves((part,)) for part in terms):
        return None
    # The difference has one sign until it is 0: here that of the iteration before.
    rest = LinearForm(constant - step, tuple(terms.items()))
    grown = e.apply("mul", (wide, e.constant(step, WIDE)), WIDE)
    difference = e.apply("add", (grown, value_of_form(e, rest)), WIDE)
    zero = e.constant(0, WIDE)
    pair = (difference, zero) if step > 0 else (zero, difference)
    return Literal(e.apply("slt", pair, 1), True, literal.branch)


def value_of_form(e: Expressions, form: LinearForm) -> Value:
    """A linear form as a value of 64 bits."""
    total = e.constant(form.constant, WIDE)
    for value, times in form.terms:
        if times == 0:
            continue
        part = e.apply("mul", (value, e.constant(times, WIDE)), WIDE)
        total = part if number_of(total) == 0 else e.apply("add", (total, part), WIDE)
    return total
