"""Which loops of a nest run in parallel, and the rewrites that let more of them: distribution, interchange, wavefronts.

A loop is parallel if no dependence is carried by it, reductions apart. Where the outermost one is not, its statements
are distributed over loops of their own, an inner loop is brought outside, or a pair of loops runs tile by tile along
the diagonals of its tiles. What is tried, in that order, is what is said when nothing helps. Parallel loops become
kernels of a device, or OpenMP's on a CPU.
"""

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tilewright.base.errors import IllegalTransformError
from tilewright.workloads.annotated.lower.extents import extents_of
from tilewright.workloads.annotated.lower.lowering import text
from tilewright.workloads.annotated.lower.transforms import (
    NestContext,
    add_pragma,
    innermost,
    permute,
    scalar_replace,
)
from tilewright.workloads.annotated.nests import nest as tree
from tilewright.workloads.annotated.nests.affine import IslNames
from tilewright.workloads.annotated.nests.dependences import LoopDependence, Nest, collect
from tilewright.workloads.annotated.nests.scalars import Reduction, accumulated, local_types, reductions
from tilewright.workloads.annotated.nests.values import evaluate

MOST_PRIVATE = 2**15
"""Most elements of an array that every thread of a CPU keeps a copy of: OpenMP puts it on the stack."""
_MOST_SITES = 20
"""Most assignments of a nest that is rewritten; a larger one has been unrolled, and its loops run as they stand."""
_TILE = 32
"""Iterations per side of the tiles whose diagonals run in parallel on a CPU; a device's are single iterations."""


@dataclass(slots=True, kw_only=True)
class ParallelLoops:
    """Which loops of a nest run in parallel."""

    stmt: tree.Stmt  # the nest, rewritten
    # its parallel loops, none inside another, with what they reduce
    loops: list[tuple[tree.Loop, tuple[Reduction, ...]]] = field(default_factory=list)
    # loops around them that stay as they are, with the dependence that says so
    sequential: list[tuple[tree.Loop, LoopDependence]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # what was rewritten


def clauses(reductions: Sequence[Reduction]) -> str:
    """Return the clauses of OpenMP for what a loop reduces.

    >>> clauses([Reduction("s", "+"), Reduction("t", "max", tree.Name("n"))])
    ' reduction(+:s) reduction(max:t[:n])'
    """
    counts = ["" if each.count is None else f"[:{text(each.count)}]" for each in reductions]
    return "".join(f" reduction({each.op}:{each.name}{count})" for each, count in zip(reductions, counts, strict=True))


def free(
    loop: tree.Loop, nest: Nest, setting: NestContext, *, arrays: bool
) -> tuple[LoopDependence | None, tuple[Reduction, ...]]:
    """Return a dependence that keeps a loop (one of the nest's) from being parallel, or None, and what it reduces."""
    accumulators = list(reductions(loop, setting.types))
    apart = {each.name for each in accumulators}
    while (bad := nest.carried(loop, apart)) is not None:
        if not arrays or bad.array in apart:  # arrays: each thread may sum one into a copy
            return bad, ()
        op = accumulated(loop, bad.array, setting.types)
        count = _private_count(loop, bad.array, setting) if op is not None else None
        if op is None or count is None:
            return bad, ()
        apart.add(bad.array)
        accumulators.append(Reduction(bad.array, op, count))
    return None, tuple(accumulators)


def _private_count(loop: tree.Loop, array: str, setting: NestContext) -> tree.Expr | None:
    """Return how many elements of an array a thread's copy has, or None where that is not known to be few."""
    extent = extents_of(loop).get(array)
    if extent is None or extent.assumes:
        return None
    count = evaluate(extent.count, setting.known)
    return extent.count if isinstance(count, int) and 0 < count <= MOST_PRIVATE else None


def plan_parallel(stmt: tree.Stmt, setting: NestContext, *, device: bool = False) -> ParallelLoops:
    """Find the outermost parallel loops of a nest, rewriting it where that gives more of them.

    A loop that carries a dependence stays sequential and the loops inside it are tried: a time loop becomes a sequence
    of parallel sweeps. For a device inner loops are brought outside, and there are no sums into arrays.
    """
    planner = _Planner(setting=setting, device=device, plan=ParallelLoops(stmt=stmt))
    for loop in tree.outermost(stmt):
        planner.outer = loop
        planner.visit(loop)
    return planner.plan


@dataclass(slots=True, kw_only=True)
class _Planner:
    setting: NestContext
    device: bool  # whether the loops become kernels
    plan: ParallelLoops  # what is known so far
    outer: tree.Loop | None = None  # the outermost loop that is being planned
    _nests: list[tuple[tree.Stmt, Nest]] = field(default_factory=list)

    def visit(self, loop: tree.Loop) -> None:
        nest = self.nest(self.outer or loop)
        bad, reductions = free(loop, nest, self.setting, arrays=not self.device)
        if bad is None:
            self.plan.loops.append((loop, reductions))
            return
        rewritable = nest.complete and len(nest.sites) <= _MOST_SITES
        if rewritable and self.rewritten(loop, bad):
            return
        before, place = len(self.plan.loops), len(self.plan.sequential)
        self.plan.sequential.append((loop, bad))
        for inner in tree.outermost(loop.body):
            self.visit(inner)
        if len(self.plan.loops) > before or not rewritable:
            return
        front = wavefront(loop, self.setting, 1 if self.device else _TILE)
        if front is not None:
            del self.plan.sequential[place:]
            diagonal, threads = front
            self.replace(loop, diagonal)
            self.plan.loops.append((threads, ()))
            self.plan.notes.append(
                f"the loop over {loop.index!r} and the one inside it run as a wavefront, since both carry a {bad}"
            )

    def rewritten(self, loop: tree.Loop, bad: LoopDependence) -> bool:
        """Distribute a loop or bring another one outside it, and plan what comes of it; return whether that helps."""
        pieces = self.pieces(loop)
        moved = self.interchanged(loop) if self.device and not pieces else None
        if moved is not None:
            pieces = [moved]
            said = f"the loop over {moved.index!r} is brought outside that over {loop.index!r}, which carries a {bad}"
        else:
            said = f"the loop over {loop.index!r} is split into {len(pieces)}, since it carries a {bad}"
        if not pieces:
            return False
        top = loop is self.outer
        self.replace(loop, tree.block(*pieces))
        self.plan.notes.append(said)
        for piece in pieces:
            self.outer = piece if top else self.outer
            self.visit(piece)
        return True

    def nest(self, loop: tree.Stmt) -> Nest:
        for root, nest in self._nests:
            if root is loop:
                return nest
        nest = self.setting.nest(loop)
        self._nests.append((loop, nest))
        return nest

    def replace(self, old: tree.Stmt, new: tree.Stmt) -> None:
        self.plan.stmt = tree.swap(self.plan.stmt, old, new)
        whole = tree.swap(self.outer, old, new) if self.outer is not None else None
        self.outer = whole if isinstance(whole, tree.Loop) else None

    def pieces(self, loop: tree.Loop) -> list[tree.Loop]:
        """Return the loops that a loop is distributed over so that one of them is parallel; none if nothing helps."""
        outer = self.outer or loop
        best: tuple[tuple[int, int], list[tree.Loop]] | None = None
        tried: list[tree.Loop] = []
        for whole in (loop, _split_inside(outer, loop, self.setting)):
            if whole in tried:
                continue
            tried.append(whole)
            root = outer if whole is loop else tree.swap(outer, loop, whole)
            pieces = distributed(root, whole, self.setting)
            left = sum(not self.gained(piece) for piece in pieces) if len(pieces) > 1 else 1
            if len(pieces) > left and (best is None or (left, len(pieces)) < best[0]):
                best = (left, len(pieces)), pieces
            if left == 0:
                break
        return [] if best is None else best[1]

    def gained(self, piece: tree.Loop) -> bool:
        if free(piece, self.nest(piece), self.setting, arrays=not self.device)[0] is None:
            return True
        return self.device and self.interchanged(piece) is not None

    def interchanged(self, loop: tree.Loop) -> tree.Loop | None:
        """Return a perfect nest with a parallel loop outermost, or None."""
        loops = tree.chain(loop)
        for place in range(1, len(loops)):
            order = [loops[place].index, *(each.index for each in loops[:place])]
            if len(set(order)) < len(order):
                continue
            try:
                moved = permute(loop, order, self.setting)[0]
            except IllegalTransformError:
                continue
            if not isinstance(moved, tree.Loop):
                continue
            nest = self.setting.nest(moved)
            if free(moved, nest, self.setting, arrays=False)[0] is None:
                return moved
        return None


def distributed(root: tree.Stmt, loop: tree.Loop, setting: NestContext, *, finest: bool = False) -> list[tree.Loop]:
    """Return the loops over which a loop's statements can be distributed, in an order that keeps every dependence.

    Before: ``for (i…) { y[i] = x[i]; s[i] = s[i-1] + y[i]; }``.
    After: ``for (i…) y[i] = x[i]; for (i…) s[i] = s[i-1] + y[i];``

    Statements of one cycle of dependences stay together (Kennedy and Allen, section 2.4), and so do those that share a
    variable of the body. Neighbours that are parallel together are one loop (typed fusion), unless the finest
    distribution is asked for. The loop is an object of the root's tree.
    """
    items = tree.sequence(loop.body)
    nest = setting.nest(root)
    if (
        len(items) < 2
        or not nest.complete
        or not all(isinstance(each, tree.Assign | tree.Loop | tree.If | tree.Declare | tree.Block) for each in items)
    ):
        return [loop]
    free_of = setting.reduced(loop)
    inside = [site.number for site in nest.sites if any(each is loop for each in site.loops)]
    children = [child for child, item in enumerate(items) for _ in collect(tree.Block((item,)))]
    if len(inside) != len(children):  # what was unrolled may hold one loop at several places
        return [loop]
    place = dict(zip(inside, children, strict=True))
    near = _reachability(items, [(place[a], place[b]) for a, b in nest.ordered(loop, free_of)])
    parts = _cycles(near)

    def joined(group: Sequence[int], part: Sequence[int]) -> bool:
        """Whether two groups are parallel together, or both are not parallel alone."""
        alone = carried(part)
        return alone == carried(group) and (alone or not carried([*group, *part]))

    def carried(part: Collection[int]) -> bool:
        return nest.carried(loop, free_of, [number for number, child in place.items() if child in part]) is not None

    groups: list[list[int]] = []
    while parts:
        ready = [part for part in parts if not any(near[other[0]][part[0]] for other in parts if other is not part)]
        fitting = [part for part in ready if groups and not finest and joined(groups[-1], part)]
        if fitting:
            groups[-1] = [*groups[-1], *fitting[0]]
        else:
            groups.append(list(ready[0]))
        parts.remove((fitting or ready)[0])
    if len(groups) < 2:
        return [loop]
    return [replace(loop, body=_joined_loops([items[number] for number in sorted(group)])) for group in groups]


def _reachability(items: Sequence[tree.Stmt], edges: Collection[tuple[int, int]]) -> list[list[bool]]:
    """Return which items come before or stay with which, by way of others; what shares a variable stays together."""
    count = len(items)
    # the first of an edge has to run before the second
    near = [[a == b or (a, b) in edges for b in range(count)] for a in range(count)]
    for a, b in itertools.permutations(range(count), 2):
        item = items[a]
        if isinstance(item, tree.Declare) and item.name in tree.used(items[b]):
            near[a][b] = near[b][a] = True
    for middle, a, b in itertools.product(range(count), repeat=3):
        near[a][b] = near[a][b] or (near[a][middle] and near[middle][b])
    return near


def _cycles(near: Sequence[Sequence[bool]]) -> list[list[int]]:
    cycles: dict[int, list[int]] = {}
    for item in range(len(near)):
        first = next(other for other in range(len(near)) if near[item][other] and near[other][item])
        cycles.setdefault(first, []).append(item)
    return list(cycles.values())


def _split_inside(root: tree.Stmt, loop: tree.Loop, setting: NestContext) -> tree.Loop:
    """Return a loop whose inner loops are distributed as finely as their dependences allow."""
    items = tree.sequence(loop.body)
    new: list[tree.Stmt] = []
    for item in items:
        new += distributed(root, item, setting, finest=True) if isinstance(item, tree.Loop) else [item]
    return loop if len(new) == len(items) else replace(loop, body=tree.Block(tuple(new)))


def _joined_loops(items: Sequence[tree.Stmt]) -> tree.Stmt:
    """Join the loops of a block that one loop was distributed over, and that stand side by side again."""
    statements: list[tree.Stmt] = []
    for item in items:
        last = statements[-1] if statements else None
        if isinstance(item, tree.Loop) and isinstance(last, tree.Loop) and _loop_head(item) == _loop_head(last):
            statements[-1] = replace(last, body=tree.block(last.body, item.body))
        else:
            statements.append(item)
    return tree.block(*statements)


def _loop_head(loop: tree.Loop) -> tree.Loop:
    return replace(loop, body=tree.Block(()))


def wavefront(loop: tree.Loop, setting: NestContext, size: int) -> tuple[tree.Loop, tree.Loop] | None:
    """Run the two outer loops of a perfect nest by tiles (``size`` iterations a side), those of a diagonal in parallel.

    Before: ``for (i = 0; i <= m; i++) for (j = 0; j <= n; j++) a[i+1][j+1] = a[i][j+1] + a[i+1][j];``. After, with
    tiles of one iteration: ``for (w = 0; w <= m + n; w++) for (t = max(0, w - n); t <= min(m, w); t++)``, ``i = t``,
    ``j = w - t``; the loop over t is parallel (Lamport, The parallel execution of DO loops, 1974). Where a row also
    needs the one before further on, the inner loop is skewed by one first (Wolfe, Loop skewing, 1986). Returns the loop
    over diagonals and the parallel one, or None if dependences or bounds forbid both forms.
    """
    loops = tree.chain(loop)
    if len(loops) < 2 or abs(loops[0].step) != 1 or abs(loops[1].step) != 1:
        return None
    shape = _Front(outer=loops[0], inner=loops[1], size=size)
    nest = setting.nest(loop)
    if tree.names(loops[0].first, loops[0].last) & set(nest.names.changed) or shape.narrow(nest.names.known):
        return None
    texts = shape.texts(nest.names)
    if texts is None or not nest.complete:
        return None
    apart = setting.reduced(loop)
    for skew in (0, 1):
        times = [shape.times(nest, texts, skew, sign) for sign in ("", "-")]
        if all(nest.violated(each, apart) is None for each in times):
            return shape.built(skew, tree.used(loop))
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Front:
    """Two loops on their way to a wavefront of tiles."""

    outer: tree.Loop
    inner: tree.Loop
    size: int

    def extreme(self, bound: tree.Expr, *, low: bool) -> tree.Expr:
        """Return the least or the greatest value of a bound of the inner loop that is affine in the outer counter."""
        if self.outer.index not in tree.names(bound):
            return bound
        ends = tuple(tree.substitute(bound, {self.outer.index: each}) for each in (self.outer.first, self.outer.last))
        return tree.Call("min" if low else "max", ends)

    def narrow(self, sizes: Mapping[str, int]) -> bool:
        """Whether it is known that no diagonal has two tiles."""
        spans = [_combine(self.outer.last, "-", self.outer.first)]
        spans.append(_combine(self.extreme(self.inner.last, low=False), "-", self.extreme(self.inner.first, low=True)))
        values = [evaluate(each, sizes) for each in spans]
        return any(isinstance(each, int) and abs(each) < self.size for each in values)

    def texts(self, names: IslNames) -> tuple[str, str] | None:
        """Return the distances of both counters from their starts in isl's words, or None if they are not affine."""
        first = names.affine(self.outer.first)
        inside = names.counting({self.outer.index: "v0"})
        own = [inside.affine(each) for each in (self.inner.first, self.inner.last)]
        start = self.extreme(self.inner.first, low=self.inner.step > 0)
        ends = start.args if isinstance(start, tree.Call) else (start,)
        begins = [names.affine(each) for each in ends]
        if first is None or None in own or None in begins:
            return None
        begin = (
            begins[0]
            if len(begins) == 1
            else f"{'min' if self.inner.step > 0 else 'max'}({', '.join(map(str, begins))})"
        )
        return (
            f"(v0 - ({first}))" if self.outer.step > 0 else f"(({first}) - v0)",
            f"(v1 - {begin})" if self.inner.step > 0 else f"({begin} - v1)",
        )

    def times(self, nest: Nest, texts: tuple[str, str], skew: int, sign: str) -> dict[int, list[str]]:
        """Return the time of every instance; a sign turns the order of a diagonal's tiles round."""
        across, along = texts
        tile = f"floor({across}/{self.size})"
        front = f"{tile} + floor(({along} + {skew}*{across})/{self.size})"
        return nest.times(lambda time: [time[0], front, f"{sign}({tile})", across, along, *time[4:]])

    def built(self, skew: int, names: Collection[str]) -> tuple[tree.Loop, tree.Loop]:
        """Return the loop over diagonals and the one over a diagonal's tiles."""
        outer, inner, size = self.outer, self.inner, self.size
        w, t = (_fresh(f"tw_{kind}_{outer.index}", names) for kind in ("front", "tile"))
        up, rising = outer.step > 0, inner.step > 0
        span = _distance(outer, outer.first, outer.last)
        begin = self.extreme(inner.first, low=rising)
        end = self.extreme(inner.last, low=not rising)
        width = _distance(inner, begin, end)
        if skew:
            width = width + span
        side, rest = tree.integer(size), tree.integer(size - 1)
        rows, columns = _combine(span, "/", side), _combine(width, "/", side)
        near = _ahead(outer, outer.first, _combine(tree.Name(t), "*", side))
        far = _ahead(outer, near, rest)
        along = _combine(tree.Name(w) - tree.Name(t), "*", side)
        if skew:
            along = tree.Binary("-", along, _distance(outer, outer.first, tree.Name(outer.index)))
        left = _ahead(inner, begin, along)
        right = _ahead(inner, left, rest)
        ends = ("max", "min")
        column = replace(
            inner,
            first=tree.Call(ends[not rising], (inner.first, left)),
            last=tree.Call(ends[rising], (inner.last, right)),
        )
        row = replace(
            outer, first=near, last=tree.Call(ends[up], (outer.last, far)), body=column, pragmas=(), launch=()
        )
        threads = tree.Loop(
            index=t,
            first=tree.Call("max", (tree.integer(0), tree.Name(w) - columns)),
            last=tree.Call("min", (rows, tree.Name(w))),
            body=row,
            ctype=outer.ctype,
        )
        whole = tree.Loop(
            index=w,
            first=tree.integer(0),
            last=rows + columns,
            body=threads,
            ctype=outer.ctype,
            launch=outer.launch,
        )
        return whole, threads


def _fresh(name: str, names: Collection[str]) -> str:
    numbered = itertools.chain([name], (f"{name}{number}" for number in itertools.count(1)))
    return next(each for each in numbered if each not in names)


def _combine(left: tree.Expr, op: str, right: tree.Expr) -> tree.Expr:
    """Join two values, unless that changes nothing."""
    return left if right == tree.integer(op in "*/") else tree.Binary(op, left, right)


def _ahead(loop: tree.Loop, base: tree.Expr, amount: tree.Expr) -> tree.Expr:
    return _combine(base, "+" if loop.step > 0 else "-", amount)


def _distance(loop: tree.Loop, start: tree.Expr, stop: tree.Expr) -> tree.Expr:
    return _combine(stop, "-", start) if loop.step > 0 else _combine(start, "-", stop)


def on_cpu(
    stmt: tree.Stmt, device: Mapping[str, object], setting: NestContext, *, strict: bool = False
) -> tuple[tree.Stmt, list[str]]:
    """Run the loops of a device's kernels on threads of a CPU; without any, the nest is refused if ``strict``."""
    plan = plan_parallel(stmt, setting)
    stmt = plan.stmt
    if not plan.loops and plan.sequential:
        loop, dependence = plan.sequential[0]
        reason = f"the loop over {loop.index!r} cannot run in parallel, nor can one inside it: {dependence}"
        if strict:
            raise IllegalTransformError(reason)
        return stmt, [*plan.notes, f"{reason}; it stays sequential"]
    notes = plan.notes + [f"the loop over {loop.index!r} stays sequential: {bad}" for loop, bad in plan.sequential]
    for loop, accumulators in plan.loops:
        factor = asked_of(loop, device).get("unrollInner")
        unrolled = isinstance(factor, int) and factor > 1
        head = loop if unrolled else vector_sums(loop, setting)
        simd = " simd" if accumulators and innermost(loop) == [loop] and _sums(accumulators) else ""
        new: tree.Stmt = replace(head, pragmas=(f"omp parallel for{simd}{clauses(accumulators)}", *head.pragmas))
        for inner in innermost(loop.body) if unrolled else ():
            new = add_pragma(new, inner, [f"GCC unroll {factor}"])
        stmt = tree.swap(stmt, loop, new)
    return stmt, notes


def vector_sums(loop: tree.Loop, setting: NestContext) -> tree.Loop:
    """Let the sums of innermost loops be taken in the lanes of vectors, as those of a device are in its threads.

    Before: ``for (j…) t[i] += a[i][j] * x[j];``.
    After: ``{ double s = t[i]; #pragma omp simd reduction(+:s) for (j…) s += a[i][j] * x[j]; t[i] = s; }``
    """
    plain = [inner for inner in innermost(loop) if inner is not loop]
    candidate = scalar_replace(loop, setting, "tw_sum_") if plain else loop
    context = replace(setting, types=local_types(candidate, setting.types))
    new: tree.Stmt = candidate
    for inner in innermost(candidate):
        if inner is candidate:
            continue
        bad, reductions = free(inner, setting.nest(inner), context, arrays=False)
        if bad is None and reductions and _sums(reductions):
            new = add_pragma(new, inner, [f"omp simd{clauses(reductions)}"])
    return new if new is not candidate and isinstance(new, tree.Loop) else loop


def _sums(reductions: Sequence[Reduction]) -> bool:
    return all(each.op == "+" and each.count is None for each in reductions)


def asked_of(loop: tree.Loop, around: Mapping[str, object]) -> dict[str, object]:
    """Return what is asked of a kernel: by its own transform, by one inside it, or by that of what is around it."""
    own = next((each.launch for each in tree.loops(loop) if each.launch), ())
    return dict(own) or dict(around)


def has_directives(stmt: tree.Stmt) -> bool:
    """Whether a nest has directives of OpenMP."""
    return any(pragma.startswith("omp") for loop in tree.loops(stmt) for pragma in loop.pragmas)
