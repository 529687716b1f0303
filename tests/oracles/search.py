"""Whether whole numbers exist that satisfy conditions: bounds are propagated, and what stays open is cut in two.

Conditions are forms that are not negative (:mod:`tests.oracles.forms`). In a box of classes, one per
variable, every condition bounds each of its variables by the bounds of the others; a box is given up where none are
left. Where that decides no more, a variable with few numbers is cut. Nothing is approximated: a box is a
solution only where every condition holds for all of its numbers.

Source: Davis, "Constraint propagation with interval labels" (Artificial Intelligence 32, 1987); Land and Doig, "An
automatic method of solving discrete programming problems" (Econometrica 28(3), 1960).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from tests.oracles.forms import Ambiguous, AtomKind, Class, Form, FormScope

Condition = Callable[[], Sequence[Form]]
"""Numbers that must not be negative, computed when they are asked for; they may be :class:`Ambiguous`."""
_ROUNDS = 8
"""How often bounds go round before a variable is cut."""


def solution(ranges: Sequence[Class], conditions: Callable[[FormScope], Iterator[Condition]]) -> list[Class] | None:
    """Return classes of numbers all of which satisfy every condition, or None if no numbers do.

    Args:
        ranges: Per variable the numbers that it stands for.
        conditions: Yields the conditions over the variables of a scope.

    >>> def multiples(scope):
    ...     yield lambda: [Form(-7, {Atom(0): 3}), Form(8, {Atom(0): -3})]  # 7 <= 3 x <= 8
    >>> from tests.oracles.forms import Atom
    >>> solution([Class(0, 2**40)], multiples) is None
    True
    """
    scope, work = FormScope(), [list(ranges)]
    failures = [0] * len(ranges)
    while work:
        scope.classes = work.pop()
        before = list(scope.classes)
        forms, ambiguous = _computed(conditions(scope))
        failed = _propagated(scope, forms)
        if failed is not None:
            for depth in {atom.depth for atom in failed.terms}:
                failures[depth] += 1
            continue
        if ambiguous is not None and scope.classes != before:
            work.append(scope.classes)
            continue
        still = [form for form in forms if scope.sign(form) is None]
        if not still and ambiguous is None:
            return scope.classes
        work += _cut(scope, still, ambiguous, failures)
    return None


def _computed(conditions: Iterator[Condition]) -> tuple[list[Form], Ambiguous | None]:
    """The conditions that are forms, and where to cut so that another one is."""
    forms: list[Form] = []
    first: Ambiguous | None = None
    try:
        for condition in conditions:
            try:
                forms += condition()
            except Ambiguous as why:
                first = first or why
    except Ambiguous as why:  # what the next ones need is not known
        first = first or why
    return forms, first


def _propagated(scope: FormScope, forms: list[Form]) -> Form | None:
    """Tighten the classes of a scope by all conditions; return one that nothing is left for, if there is one."""
    for _ in range(_ROUNDS):
        changed = False
        for form in forms:
            terms = [(factor, atom, *scope.classes[atom.depth].bounds(atom)) for atom, factor in form.terms.items()]
            most = form.constant + sum(factor * (high if factor > 0 else low) for factor, _, low, high in terms)
            if most < 0:
                return form
            for factor, atom, low, high in terms:
                if atom.kind is not AtomKind.ITSELF or abs(factor) * (high - low) <= most:
                    continue
                # The others add at most `most` less this one's own share.
                own = scope.classes[atom.depth]
                if factor > 0:
                    own = replace(own, low=max(own.low, high - most // factor))
                else:
                    own = replace(own, high=min(own.high, low + most // -factor))
                if own.low > own.high:
                    return form
                if own != scope.classes[atom.depth]:
                    scope.classes[atom.depth] = own
                    changed = True
        if not changed:
            break
    return None


def _cut(
    scope: FormScope, still: list[Form], ambiguous: Ambiguous | None, failures: Sequence[int]
) -> list[list[Class]]:
    """Cut the box where the fewest numbers are open, by how often boxes have failed there.

    Source: Boussemart et al., "Boosting systematic search by weighting constraints" (ECAI 2004), dom/wdeg.
    """
    ranks: dict[int, float] = {}
    for atom in (atom for form in still for atom in form.terms):
        own = scope.classes[atom.depth]
        if own.low < own.high:
            ranks[atom.depth] = (own.high - own.low) / (1 + failures[atom.depth])
    best = min(ranks, key=lambda depth: ranks[depth], default=None)
    if ambiguous is not None:
        depth = ambiguous.atom.depth
        own = scope.classes[depth]
        if best is None or (own.high - own.low) / (1 + failures[depth]) <= ranks[best]:
            return [_with(scope, depth, piece) for piece in own.cut(ambiguous.atom, ambiguous.at)]
    if best is None:
        raise ValueError("conditions stay open though all numbers are known")
    own = scope.classes[best]
    middle = (own.low + own.high) // 2
    halves = replace(own, low=middle + 1), replace(own, high=middle)
    return [_with(scope, best, half) for half in halves if half.size]


def _with(scope: FormScope, depth: int, piece: Class) -> list[Class]:
    return [*scope.classes[:depth], piece, *scope.classes[depth + 1 :]]
