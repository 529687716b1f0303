"""What the hosts of device programs have in common: buffers, copies and launches in order."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tilewright.workloads.annotated.lower.device import Branch, DeviceProgram, Host, KernelRun, LoopKernel, Repeat, Step
from tilewright.workloads.annotated.lower.kernels import counted
from tilewright.workloads.annotated.lower.lowering import lines, text
from tilewright.workloads.annotated.nests.nest import Block, Convert, If, Stmt, Verbatim


def quoted(line: str) -> str:
    """A line inside of a C string."""
    return line.replace("\\", "\\\\").replace('"', '\\"')


def text_name(program: DeviceProgram) -> str:
    """The variable that holds the device text."""
    return program.kernels[0].name.rpartition("_")[0] + "_text"


class HostWriter(ABC):
    """What the two hosts have in common: the walk over the steps."""

    def __init__(self, program: DeviceProgram) -> None:
        self.program = program
        self.launch = program.launch
        self.types = dict(program.arrays)

    def bytes_of(self, name: str) -> str:
        """The size of an array as a C expression."""
        return f"{self.counted('size_t', name)} * sizeof({self.types[name]})"

    def counted(self, ctype: str, name: str) -> str:
        """The number of elements of an array, in a type of C."""
        return text(Convert(ctype, self.program.extents[name]))

    def steps(self, steps: Sequence[Step], depth: int) -> Iterator[str]:
        """The lines of the host for steps, one after the other."""
        for step in steps:
            if isinstance(step, Host):
                yield from lines(step.stmt, depth)
            elif isinstance(step, Repeat):
                yield from lines(replace(step.loop, body=self.inside(step.steps, depth)), depth)
            elif isinstance(step, Branch):
                other = self.inside(step.other, depth) if step.other else None
                yield from lines(If(step.test, self.inside(step.then, depth), other), depth)
            else:
                yield from self.run(step, depth)

    def inside(self, steps: Sequence[Step], depth: int) -> Stmt:
        """Steps between the braces of a statement."""
        return Block((Verbatim("\n".join(self.steps(steps, depth + 1))),))

    @abstractmethod
    def run(self, step: KernelRun, depth: int) -> Iterator[str]:
        """Yield the lines of one kernel's launch."""

    def bounds(self, kernel: LoopKernel, depth: int) -> list[str]:
        """Lines that compute the bounds of a kernel's loop, and a test that it runs at all."""
        pad = "  " * depth
        if kernel.loop is None:
            return [f"{pad}{{"]
        first, last = text(kernel.loop.first), text(kernel.loop.last)
        compare, ctype = "<=" if kernel.loop.step > 0 else ">=", counted(kernel)
        return [
            f"{pad}{{",
            f"{pad}  const {ctype} tw_first = {first};",
            f"{pad}  const {ctype} tw_last = {last};",
            f"{pad}  if (tw_first {compare} tw_last) {{",
        ]

    @staticmethod
    def closed(kernel: LoopKernel, depth: int) -> list[str]:
        """What closes the braces of a launch."""
        pad = "  " * depth
        return [f"{pad}}}"] if kernel.loop is None else [f"{pad}  }}", f"{pad}}}"]

    def pieces(self, kernel: LoopKernel, depth: int) -> list[str]:
        """Lines that begin a loop over the pieces of an iteration space, one per stream."""
        pad = "  " * depth
        loop = kernel.loop
        if loop is None:
            return []
        count, ctype = kernel.launch.streams, counted(kernel)
        return [
            f"{pad}for (int tw_s = 0; tw_s < {count}; tw_s++) {{",
            f"{pad}  const {ctype} tw_size = (tw_last - tw_first + {count}) / {count};",
            f"{pad}  const {ctype} tw_a = tw_first + tw_s * tw_size;",
            f"{pad}  const {ctype} tw_b = tw_a + tw_size - 1 < tw_last ? tw_a + tw_size - 1 : tw_last;",
            f"{pad}  if (tw_a > tw_last) break;",
        ]

    def piece(self, name: str, low: int, high: int, depth: int) -> list[str]:
        """Lines that compute the elements of an array in a piece: halos go to the first and the last one."""
        pad, size = "  " * depth, self.counted("long", name)
        return [
            f"{pad}long tw_from = tw_s == 0 ? (long)tw_a - {low} : tw_a;",
            f"{pad}long tw_to = tw_b == tw_last ? (long)tw_b + {high} : tw_b;",
            f"{pad}if (tw_from < 0) tw_from = 0;",
            f"{pad}if (tw_to > {size} - 1) tw_to = {size} - 1;",
        ]
