"""The fusion paper's program skeletons: what a fused pipeline transfers, loads, computes and stores, with sizes.

python reproduce/skeleton.py PIPELINE [--fusion F] [--dtype TYPE] [--no-shared]

Source: Ben Cheikh et al. (2015), (2)-(18) and listings 1-4. Sizes are symbols: IM for a grid, TL for a tile, TL' for
one with its halo (14); listing 4 lacks the factor 2 of (14), which is here. Listing 2 writes Op:I for a float
filter, which (21) says is Op:SP. Conversions between element types belong to the access that they follow: no Op.
"""

import argparse
from dataclasses import dataclass

from tilewright.verbs.load import load_value
from tilewright.workloads.pipelines.fusions import Fusion, GroupPlan, parse, plan_group
from tilewright.workloads.pipelines.problem import PipelineProblem, halo_text, make_pipeline_problem
from tilewright.workloads.pipelines.verbs import as_pipeline

_OPERATIONS = {"float32": "SP", "float64": "DP"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One action of a skeleton.

    Attributes:
        kind: ``DTransfer``, ``DAccess``, ``Op`` or ``Sync``.
        what: ``HostToDevice``, ``Load``, ``SP``, ``BarrierSync``, ….
        memory: ``GlobalMem`` or ``ShMem``, for accesses.
        size: Number of elements, as a formula.
        item: Bytes per element, for transfers and accesses.
    """

    kind: str
    what: str
    memory: str = ""
    size: str = ""
    item: int = 0

    def __str__(self) -> str:
        arguments = [self.memory, self.size, str(self.item) if self.item else ""]
        inside = ", ".join(text for text in arguments if text)
        return f"{self.kind}:{self.what}({inside});" if inside else f"{self.kind}:{self.what}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """The loop over tiles of one group.

    Attributes:
        title: The group.
        sizes: Lines that define tile sizes.
        body: Per part a comment (or nothing) and its actions.
    """

    title: str
    sizes: tuple[str, ...]
    body: tuple[tuple[str, tuple[Action, ...]], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Skeleton:
    """The skeleton of a pipeline under a fusion."""

    before: tuple[Action, ...]
    loops: tuple[Loop, ...]
    after: tuple[Action, ...]

    def __str__(self) -> str:
        lines = [line for loop in self.loops for line in loop.sizes]
        lines += [str(action) for action in self.before]
        for loop in self.loops:
            lines += ["", *([f"\\\\{loop.title}"] if loop.title else []), "For i = 1 To #Blk_SM", "{"]
            for comment, actions in loop.body:
                lines += [f"    \\\\{comment}"] if comment else []
                lines += [f"    {action}" for action in actions]
            lines.append("}")
        return "\n".join([*lines, "", *(str(action) for action in self.after)])

    @property
    def actions(self) -> tuple[Action, ...]:
        """Every action in order."""
        inner = (action for loop in self.loops for _, actions in loop.body for action in actions)
        return (*self.before, *inner, *self.after)


def skeleton(problem: PipelineProblem, fusion: Fusion, *, shared: bool = True) -> Skeleton:
    """Write a pipeline's skeleton.

    Args:
        problem: The pipeline with its element types.
        fusion: Its groups.
        shared: Whether tiles are kept in shared memory; groups that read cells only at the centre never need it, and
            fused groups with halos always do.
    """
    pipeline = problem.pipeline
    before = tuple(_transfer("HostToDevice", problem, grid) for grid in pipeline.inputs)
    after = tuple(_transfer("DeviceToHost", problem, grid) for grid in pipeline.outputs)
    loops = tuple(_loop(problem, plan_group(pipeline, group), shared, len(fusion) > 1) for group in fusion)
    return Skeleton(before=before, loops=loops, after=after)


def _transfer(what: str, problem: PipelineProblem, grid: str) -> Action:
    return Action(kind="DTransfer", what=what, size="IM", item=problem.itemsize(grid))


def _loop(problem: PipelineProblem, plan: GroupPlan, shared: bool, several: bool) -> Loop:
    title = ", ".join(problem.pipeline.stencils[i].name for i in plan.stencils) if several else ""
    wide = [grid for grid in plan.shared if sum(map(sum, plan.halo(grid) or ()))]
    computing = [i for i in plan.stencils if not problem.pipeline.stencils[i].convert]
    if not wide:
        return Loop(title=title, sizes=(), body=(("", _pointwise(problem, plan, computing)),))
    if len(plan.stencils) == 1 and not shared:
        window = f"W{plan.stencils[0] + 1 if several else ''}"
        stencil = problem.pipeline.stencils[plan.stencils[0]]
        actions = [_access("Load", "GlobalMem", f"{window} × TL", problem, grid) for grid in plan.inputs]
        actions += [_op(problem, plan.stencils[0], f"{window} × TL")]
        actions += [_access("Store", "GlobalMem", "TL", problem, grid) for grid in plan.outputs]
        return Loop(title=title, sizes=(f"{window} = {stencil.window};",), body=(("", tuple(actions)),))
    return _shared_loop(problem, plan, title)


def _pointwise(problem: PipelineProblem, plan: GroupPlan, computing: list[int]) -> tuple[Action, ...]:
    actions = [_access("Load", "GlobalMem", "TL", problem, grid) for grid in plan.inputs]
    actions += [_op(problem, i, "TL") for i in computing]
    return (*actions, *(_access("Store", "GlobalMem", "TL", problem, grid) for grid in plan.outputs))


def _tile(problem: PipelineProblem, plan: GroupPlan, grid: str) -> str:
    """TL' of a grid, or TL where it has no halo or is not kept on chip."""
    halo = plan.halo(grid)
    if halo is None or not sum(map(sum, halo)):
        return "TL"
    return f"TL{problem.pipeline.grids.index(grid) + 1}'"


def _sizes(problem: PipelineProblem, plan: GroupPlan) -> tuple[str, ...]:
    lines = []
    for grid in plan.shared:
        halo = plan.halo(grid)
        if halo is None or not sum(map(sum, halo)):
            continue
        number = problem.pipeline.grids.index(grid) + 1
        lines.append(f"H{number}' = {halo_text(halo)};")
        names = ("z", "y", "x")[-len(halo) :]
        factors = [
            f"(TL{name} + {_both(pair)})" if sum(pair) else f"TL{name}" for name, pair in zip(names, halo, strict=True)
        ]
        lines.append(f"TL{number}' = {' × '.join(factors)};")
    return tuple(lines)


def _both(pair: tuple[int, int]) -> str:
    return f"2×{pair[0]}" if pair[0] == pair[1] else f"{pair[0]}+{pair[1]}"


def _shared_loop(problem: PipelineProblem, plan: GroupPlan, title: str) -> Loop:
    load: list[Action] = []
    for grid in plan.inputs:
        tile = _tile(problem, plan, grid)
        load += [_access("Load", "GlobalMem", tile, problem, grid), _access("Store", "ShMem", tile, problem, grid)]
    load.append(Action(kind="Sync", what="BarrierSync"))
    body: list[tuple[str, tuple[Action, ...]]] = [("load input tiles in ShMem", tuple(load))]
    sizes = list(_sizes(problem, plan))
    for i in plan.stencils:
        stencil = problem.pipeline.stencils[i]
        target = _tile(problem, plan, stencil.output) if stencil.output in plan.inner else "TL"
        window = stencil.window
        size = f"W{i + 1} × {target}" if window > 1 else target
        if window > 1:
            sizes.append(f"W{i + 1} = {window};")
        actions = []
        for grid in stencil.inputs:
            reads = sum(1 for read in stencil.reads if read.field == grid)
            count = size if reads == window and window > 1 else (target if reads == 1 else f"{reads} × {target}")
            actions.append(_access("Load", "ShMem", count, problem, grid))
        if not stencil.convert:
            actions.append(_op(problem, i, size))
        if stencil.output in plan.inner:
            actions.append(_access("Store", "ShMem", target, problem, stencil.output))
        if stencil.output in plan.outputs:
            actions.append(_access("Store", "GlobalMem", "TL", problem, stencil.output))
        if stencil.output in plan.inner:
            actions.append(Action(kind="Sync", what="BarrierSync"))
        body.append((stencil.name, tuple(actions)))
    return Loop(title=title, sizes=tuple(sizes), body=tuple(body))


def _access(what: str, memory: str, size: str, problem: PipelineProblem, grid: str) -> Action:
    return Action(kind="DAccess", what=what, memory=memory, size=size, item=problem.itemsize(grid))


def _op(problem: PipelineProblem, number: int, size: str) -> Action:
    stencil = problem.pipeline.stencils[number]
    return Action(kind="Op", what=_OPERATIONS.get(problem.dtype(stencil.inputs[0]), "I"), size=size)


def main() -> None:
    """Print the skeleton of a pipeline under a fusion."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pipeline", help="blend, convrows, blur, sobel, canny, unsharp or harris, or FILE.py:FUNCTION")
    parser.add_argument("--fusion", default="full", help="'(S1, S2) | S3', full or none")
    parser.add_argument("--dtype", default="float32", help="element type of the inputs")
    parser.add_argument("--no-shared", action="store_true", help="read single stencils from global memory (listing 2)")
    given = parser.parse_args()
    pipeline = as_pipeline(load_value(given.pipeline), {})
    problem = make_pipeline_problem(pipeline, (4096,) * pipeline.rank, given.dtype)
    print(skeleton(problem, parse(pipeline, given.fusion), shared=not given.no_shared))


if __name__ == "__main__":
    main()
