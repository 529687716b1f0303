"""Kernels over long vectors: what Krylov methods do between two products, alone and fused.

A kernel is a list of assignments and sums that every element goes through in order; fusing two kernels is appending
their lists, with the vectors that they share named alike, so that each vector is read once and written once. The
kernels of Mametjanov et al. ("Autotuning stencil-based computations on GPUs", CLUSTER 2012, table II) are here by name.

Sums are taken over blocks of :data:`BLOCK` elements and the blocks' sums are added in order in double precision, so a
result does not depend on the number of threads.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tilewright.base.errors import UsageError
from tilewright.base.fingerprint import fingerprint
from tilewright.codegen.matrices.dia import vector_head
from tilewright.codegen.source import KernelSource, c_source

BLOCK = 4096
"""Elements per partial sum."""
MOST_TERMS = 16
"""Terms of one multiple AXPY."""
_NAME = re.compile(r"[A-Za-z_]\w*")
_FORMULA = re.compile(r"[\w\s+*()-]*")


def _names(formula: str) -> list[str]:
    return _NAME.findall(formula)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """An assignment ``target = formula``, or a sum of ``formula`` over all elements where the target is empty.

    Attributes:
        target: A vector, or nothing.
        formula: Vectors and scalars with + - * and parentheses.
    """

    target: str = ""
    formula: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorKernel:
    """What a kernel does to every element.

    Attributes:
        name: Its name.
        scalars: Its scalars, in argument order.
        vectors: Its vectors, in argument order.
        operations: What is done, in order; an assignment is seen by what follows.
    """

    name: str
    scalars: tuple[str, ...] = ()
    vectors: tuple[str, ...]
    operations: tuple[Operation, ...]

    @property
    def written(self) -> tuple[str, ...]:
        """Vectors that it writes."""
        return tuple(dict.fromkeys(each.target for each in self.operations if each.target))

    @property
    def read(self) -> tuple[str, ...]:
        """Vectors whose former elements it needs."""
        found: dict[str, None] = {}
        assigned: set[str] = set()
        for each in self.operations:
            found |= dict.fromkeys(
                name for name in _names(each.formula) if name in self.vectors and name not in assigned
            )
            assigned.add(each.target)
        return tuple(name for name in self.vectors if name in found)

    @property
    def sums(self) -> int:
        """Number of sums that it returns."""
        return sum(not each.target for each in self.operations)

    @property
    def moved(self) -> int:
        """Vectors' lengths that move between memory and the CPU, once every vector is longer than the caches."""
        fresh = [name for name in self.written if name not in self.read]
        return len(self.read) + len(self.written) + len(fresh)

    @property
    def streams(self) -> bool:
        """Whether it writes a vector that it does not read: that one may be stored past the caches."""
        return any(name not in self.read for name in self.written)


def kernel(name: str, vectors: str, *operations: str, scalars: str = "") -> VectorKernel:
    """Write a kernel down.

    Args:
        name: Its name.
        vectors: Names, separated by spaces.
        operations: ``y = a * x + y`` assigns, ``x * y`` sums.
        scalars: Names, separated by spaces.

    Returns:
        The kernel.

    Raises:
        UsageError: If a formula holds anything but these names, whole numbers, + - * and parentheses.

    >>> kernel("axpy", "x y", "y = a * x + y", scalars="a").moved
    3
    """
    parsed = []
    known = {*vectors.split(), *scalars.split()}
    for text in operations:
        target, _, formula = text.rpartition("=")
        target, formula = target.strip(), formula.strip()
        unknown = [word for word in (*_names(formula), *([target] if target else [])) if word not in known]
        if unknown or not formula or not _FORMULA.fullmatch(formula) or (target and target not in vectors.split()):
            raise UsageError(
                f"{text!r} is no operation on {', '.join(sorted(known))}",
                "write 'y = a * x + y' to assign, 'x * y' to sum",
            )
        parsed.append(Operation(target=target, formula=formula))
    return VectorKernel(
        name=name, scalars=tuple(scalars.split()), vectors=tuple(vectors.split()), operations=tuple(parsed)
    )


def multiple(terms: int) -> VectorKernel:
    """Return the multiple AXPY: y += a0 x0 + a1 x1 + ….

    Raises:
        UsageError: If there are no terms, or more than :data:`MOST_TERMS`.
    """
    if not 1 <= terms <= MOST_TERMS:
        raise UsageError(f"a multiple AXPY has 1 to {MOST_TERMS} terms, got {terms}")
    each = range(terms)
    return kernel(
        f"maxpy{terms}",
        " ".join([*(f"x{k}" for k in each), "y"]),
        "y = y + " + " + ".join(f"a{k} * x{k}" for k in each),
        scalars=" ".join(f"a{k}" for k in each),
    )


CATALOGUE = {
    each.name: each
    for each in (
        kernel("axpy", "x y", "y = a * x + y", scalars="a"),
        kernel("aypx", "x y", "y = a * y + x", scalars="a"),
        kernel("waxpy", "x y w", "w = a * x + y", scalars="a"),
        kernel("scale", "x", "x = a * x", scalars="a"),
        kernel("dot", "x y", "x * y"),
        kernel("norm2", "x", "x * x"),
        kernel("dot_norm2", "x y", "x * y", "x * x"),
        kernel("axpy_norm2", "x y", "y = a * x + y", "y * y", scalars="a"),
        kernel("axpy_dot", "x y z", "y = a * x + y", "y * z", scalars="a"),
        kernel("cg_update", "p q x r", "x = a * p + x", "r = r - a * q", "r * r", scalars="a"),
    )
}
"""The kernels of table II and compositions; the multiple AXPY is :func:`multiple`."""


def fuse(first: VectorKernel, second: VectorKernel, share: Mapping[str, str]) -> VectorKernel:
    """Fuse two kernels: the second runs on each element right after the first.

    Args:
        first: A kernel.
        second: Another one.
        share: The second one's vectors that are vectors of the first, by name: ``{"x": "y"}``. Others stay separate.

    Returns:
        The fused kernel: the first one's arguments, then what the second one adds.

    Raises:
        UsageError: If a name in ``share`` is none of theirs.

    >>> fuse(CATALOGUE["axpy"], CATALOGUE["norm2"], {"x": "y"}).operations[-1].formula
    'y * y'
    """
    for inner, outer in share.items():
        if inner not in second.vectors or outer not in first.vectors:
            raise UsageError(
                f"{second.name!r} shares {list(second.vectors)} with {list(first.vectors)}, got {dict(share)}"
            )
    taken = {*first.vectors, *first.scalars}
    names = dict(share)
    for name in (*second.vectors, *second.scalars):
        if name not in names:
            fresh = name
            while fresh in taken:
                fresh += "_"
            names[name] = fresh
            taken.add(fresh)
    renamed = tuple(
        replace(each, target=names.get(each.target, ""), formula=_NAME.sub(lambda m: names[m[0]], each.formula))
        for each in second.operations
    )
    return VectorKernel(
        name=f"{first.name}+{second.name}",
        scalars=first.scalars + tuple(names[name] for name in second.scalars),
        vectors=first.vectors + tuple(names[name] for name in second.vectors if name not in share),
        operations=first.operations + renamed,
    )


def emit_vectors(what: VectorKernel, dtype: str, vector_bytes: int, vectors: int) -> KernelSource[None]:
    """Write a kernel in C.

    ``array`` holds the vectors' addresses, ``size`` their length, the number of threads and whether vectors that are
    only written go past the caches; ``work`` has room for as many doubles as sums times blocks, and holds the sums
    afterwards; the last argument points to the scalars, as doubles.

    Args:
        what: The kernel.
        dtype: ``float32`` or ``float64``.
        vector_bytes: Bytes per vector register.
        vectors: Registers of elements per iteration.

    Returns:
        The source.

    Raises:
        UsageError: If C kernels do not compute in that type.
    """
    head = vector_head(dtype, vector_bytes)
    entry = f"tw_vectors_{fingerprint(what, dtype, vector_bytes, vectors, _TEXT, head)[:12]}"
    fresh = [name for name in what.written if name not in what.read]
    body = [f"    {_load(what, v)}\n    {_work(what, v)}" for v in range(vectors)]
    stores = [_store(what, v, past=frozenset()) for v in range(vectors)]
    pasts = [_store(what, v, past=frozenset(fresh)) for v in range(vectors)]
    sums = range(what.sums)
    text = _TEXT.format(
        entry=entry,
        block=BLOCK,
        sums=what.sums,
        most=max(1, what.sums),
        pointers=" ".join(
            f"{'real' if name in what.written else 'const real'} *const p_{name} = (real *)array[{i}] + from;"
            for i, name in enumerate(what.vectors)
        ),
        scalars=" ".join(f"const real {name} = (real)scalar[{i}];" for i, name in enumerate(what.scalars)),
        accumulators=" ".join(f"vec t{k}_{v} = zero;" for v in range(vectors) for k in sums),
        singles=" ".join(f"real t{k} = 0;" for k in sums),
        peel=f"  if (stream) for (; i < n && ((uintptr_t)(p_{fresh[0]} + i) & (BYTES - 1)); ++i) {{ {_single(what)} }}"
        if fresh
        else "",
        aligned=" && ".join(f"!((uintptr_t)(p_{name} + i) & (BYTES - 1))" for name in fresh) or "0",
        step=vectors,
        body="\n".join(body),
        past="\n".join(f"      {line}" for line in pasts),
        plain="\n".join(f"      {line}" for line in stores),
        single=_single(what),
        finish=" ".join(_total(k, vectors) for k in sums),
    )
    return c_source(f"{head}\n{text}", entry)


def _at(v: int) -> str:
    return f"i + {v} * LANES" if v else "i"


def _load(what: VectorKernel, v: int) -> str:
    return " ".join(f"vec {name}_{v} = *(const vec *)(p_{name} + {_at(v)});" for name in what.read)


def _work(what: VectorKernel, v: int) -> str:
    """Write the operations on one register of every vector."""
    parts, number = [], 0
    declared = set(what.read)
    for each in what.operations:
        formula = _NAME.sub(lambda m: f"{m[0]}_{v}" if m[0] in what.vectors else m[0], each.formula)
        if each.target:
            kind = "" if each.target in declared else "vec "
            declared.add(each.target)
            parts.append(f"{kind}{each.target}_{v} = {formula};")
        else:
            parts.append(f"t{number}_{v} += {formula};")
            number += 1
    return " ".join(parts)


def _store(what: VectorKernel, v: int, past: frozenset[str]) -> str:
    return " ".join(
        f"past(p_{name} + {_at(v)}, {name}_{v});" if name in past else f"*(vec *)(p_{name} + {_at(v)}) = {name}_{v};"
        for name in what.written
    )


def _single(what: VectorKernel) -> str:
    """Write the operations on one element."""
    parts = [f"real {name} = p_{name}[i];" for name in what.read]
    number = 0
    declared = set(what.read)
    for each in what.operations:
        if each.target:
            kind = "" if each.target in declared else "real "
            declared.add(each.target)
            parts.append(f"{kind}{each.target} = {each.formula};")
        else:
            parts.append(f"t{number} += {each.formula};")
            number += 1
    return " ".join([*parts, *(f"p_{name}[i] = {name};" for name in what.written)])


def _total(k: int, vectors: int) -> str:
    """Add up the accumulators of one sum: registers in pairs, then lanes."""
    names = [f"t{k}_{v}" for v in range(vectors)]
    while len(names) > 1:
        pairs = [" + ".join(names[i : i + 2]) for i in range(0, len(names), 2)]
        names = [f"({pair})" for pair in pairs]
    lanes = f"{{ const vec all = {names[0]}; for (int l = 0; l < LANES; ++l) s += all[l]; }}"
    return f"{{ double s = t{k}; {lanes} sum[{k}] = s; }}"


_TEXT = """
/* Elements from ... from + n - 1; their sums go to sum. */
static void block(void *const *array, int64_t from, int64_t n, int stream, const double *scalar, double *sum) {{
  {pointers}
  {scalars}
  const vec zero = {{0}};
  {accumulators}
  {singles}
  int64_t i = 0;
  (void)zero; (void)scalar; (void)sum; (void)stream;
{peel}
  if (stream && {aligned})
    for (; i + {step} * LANES <= n; i += {step} * LANES) {{
{body}
{past}
    }}
  for (; i + {step} * LANES <= n; i += {step} * LANES) {{
{body}
{plain}
  }}
  for (; i < n; ++i) {{ {single} }}
  {finish}
}}

void {entry}(void *const *array, const int64_t *size, double *work, const double *scalar) {{
  const int64_t n = size[0], blocks = (n + {block} - 1) / {block};
  const int stream = (int)size[2];
  double total[{most}] = {{0}};
#ifdef _OPENMP
  if (size[1] > 1) {{
#pragma omp parallel for schedule(static) num_threads((int)size[1])
    for (int64_t b = 0; b < blocks; ++b) {{
      block(array, b * {block}, least({block}, n - b * {block}), stream, scalar, work + b * {sums});
      if (stream) settle();
    }}
  }} else
#endif
  {{
    for (int64_t b = 0; b < blocks; ++b)
      block(array, b * {block}, least({block}, n - b * {block}), stream, scalar, work + b * {sums});
    if (stream) settle();
  }}
  for (int64_t b = 0; b < blocks; ++b)
    for (int k = 0; k < {sums}; ++k) total[k] += work[b * {sums} + k];
  for (int k = 0; k < {sums}; ++k) work[k] = total[k];
}}
"""
