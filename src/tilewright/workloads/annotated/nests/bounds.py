"""Elements that a loop nest touches against the extents of its arrays."""

from collections.abc import Mapping
from typing import Any

from tilewright.base.errors import UsageError
from tilewright.workloads.annotated.nests.accesses import Access, AssignmentSite, collect, show
from tilewright.workloads.annotated.nests.affine import affine, domain
from tilewright.workloads.annotated.nests.limit import check_time
from tilewright.workloads.annotated.nests.nest import Declare, Stmt, counters, statements, written
from tilewright.workloads.annotated.nests.scalars import inline_temporaries

_MAX_OPERATIONS = 300_000


def check_bounds(
    stmt: Stmt, shapes: Mapping[str, tuple[int, ...]], known: Mapping[str, int], types: Mapping[str, str]
) -> None:
    """Refuse an access that surely leaves its array; those with affine loops, conditions and subscripts are checked."""
    import islpy

    stmt = inline_temporaries(stmt, types)
    changed = written(stmt) | counters(stmt) | {node.name for node in statements(stmt) if isinstance(node, Declare)}
    fixed = {name: value for name, value in known.items() if name not in counters(stmt)}
    for site in collect(stmt):
        check_time()
        where, exact = domain(site, "v", fixed, changed)
        if not exact:
            continue
        for access in site.accesses:
            extents = shapes.get(access.array)
            if extents is None or not access.index:
                continue
            if len(access.index) != len(extents):
                raise UsageError(
                    f"{access.array!r} is declared with {len(extents)} extents but used with {len(access.index)} "
                    "indices"
                )
            _check(islpy, site, access, extents, (where, fixed, changed))


def _check(isl: Any, site: AssignmentSite, access: Access, extents: tuple[int, ...], facts: Any) -> None:  # noqa: ANN401
    where, known, changed = facts
    dims = {loop.index: f"v{i}" for i, loop in enumerate(site.loops)}
    names = ", ".join(f"v{i}" for i in range(len(site.loops)))
    for axis, (index, extent) in enumerate(zip(access.index, extents, strict=True)):
        text = affine(index, dims, known, changed)
        if text is None or "p_" in text or any("p_" in each for each in where):
            continue
        context = isl.Context()
        context.set_max_operations(_MAX_OPERATIONS)
        condition = " and ".join([*where, f"({text} < 0 or {text} >= {extent})"])
        try:
            bad = isl.Set.read_from_str(context, f"{{ [{names}] : {condition} }}")
            if bad.is_empty():
                continue
            point = bad.sample_point()
            values = {
                loop.index: int(point.get_coordinate_val(isl.dim_type.set, i).to_python())
                for i, loop in enumerate(site.loops)
            }
        except isl.Error:
            continue
        at = ", ".join(f"{name} = {value}" for name, value in values.items())
        raise UsageError(
            f"{access.array}{''.join(f'[{show(each)}]' for each in access.index)} leaves its array where {at}: "
            f"extent {axis + 1} of {access.array!r} is {extent}",
            "declare it larger in input_vars, or correct the loop's bounds",
        )
