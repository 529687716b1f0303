"""The host's part of a device program: allocation, transfers, launches, in CUDA's or OpenCL's run-time calls.

What the calls are is written in ``host.h``, by the library and what the call is for; where a library needs none, it has
no such block. The order in which they come is the same for both.
"""

from collections.abc import Sequence
from pathlib import Path

from tilewright.codegen import ir
from tilewright.codegen.print.base import blocks
from tilewright.codegen.print.dialects import host_head
from tilewright.codegen.print.source import CUDA, OPENCL, SourceDialect
from tilewright.workloads.annotated.lower.device import DeviceProgram, LoopKernel
from tilewright.workloads.annotated.lower.kernels import counted, kernels_text, parameters
from tilewright.workloads.annotated.lower.lowering import lines, text
from tilewright.workloads.annotated.nests import nest as tree

_PREFERENCES = {48: "L1", 16: "Shared", 32: "Equal"}
_BOUNDS = ("tw_first", "tw_last")


def host_prelude(program: DeviceProgram, dialect: SourceDialect) -> str:
    """Return what the top of a host's file needs: includes, and the kernels; for OpenCL helpers, and those as text."""
    if dialect is CUDA:
        return host_head("cuda") + kernels_text(program, CUDA)
    kernels = kernels_text(program, OPENCL).replace("\\", "\\\\").replace('"', '\\"')
    quoted = "\n".join(f'  "{line}\\n"' for line in kernels.splitlines())
    name = _text_name(program)
    return f"{host_head('opencl')}static const char *{name} =\n{quoted};\nstatic cl_program {name}_program = NULL;\n"


def host_body(program: DeviceProgram, dialect: SourceDialect) -> str:
    """Return what replaces a region: in a CUDA file, or in a C file that uses OpenCL."""
    return "\n".join([*_Host(program, cuda=dialect is CUDA).whole(), ""])


def _text_name(program: DeviceProgram) -> str:
    return program.kernels[0].name.rpartition("_")[0] + "_text"


class _Host:
    """A region's host, in the calls of one library."""

    def __init__(self, program: DeviceProgram, *, cuda: bool) -> None:
        self.program, self.cuda, launch = program, cuda, program.launch
        self.types = program.arrays
        self.texts = blocks("host.h", Path(__file__).parent)
        self.resident = cuda and launch.resident
        self.streams = 1 if program.streams is None or self.resident else program.kernels[0].launch.streams
        self.streamed = program.streams is not None and not self.resident
        preferred = {kernel.launch.l1 for kernel in program.kernels} if cuda else {0}
        self.preferred = preferred.pop() if len(preferred) == 1 else None  # for all kernels alike

    def put(self, name: str, depth: int, **words: object) -> list[str]:
        """Return the lines of a call, or of what both libraries have alike."""
        template = self.texts.get(name) or self.texts.get(f"{'cuda' if self.cuda else 'opencl'} {name}")
        text = "" if template is None else template.filled({key: str(value) for key, value in words.items()})
        return ["  " * depth + line for line in text.splitlines()]

    def each(self, name: str, arrays: Sequence[str]) -> list[str]:
        return [
            line
            for array in arrays
            for line in self.put(
                name,
                2,
                array=array,
                type=self.types[array],
                bytes=f"{self.count('size_t', array)} * sizeof({self.types[array]})",
            )
        ]

    def whole(self) -> list[str]:
        launch, kernels, name = self.program.launch, self.program.kernels, _text_name(self.program)
        arrays = [] if self.resident else list(self.types)
        pinned = arrays if launch.pinned else []
        copied = [] if self.streamed else arrays
        entries = [k.name + end for k in kernels for end in ("", "_finish") if k.reductions or not end]
        words = {"text": name, "count": self.streams}
        at = {"platform": launch.platform, "device": launch.device, "flags": launch.flags}
        out = ["  {", *self.put("open", 2, **words, **at), *self.each("declare", arrays), *self.each("memory", arrays)]
        out += [line for entry in entries for line in self.put("kernel", 2, kernel=entry, **words)]
        out += self.each("pin", pinned)
        out += self.prefer(_PREFERENCES.get(self.preferred or 0), 2)
        out += self.each("in", copied)
        out += self.in_streams(2) if self.streamed else self.step(self.program.host, 2)
        out += self.each("out", [each for each in copied if each in self.program.written])
        out += self.each("unpin", pinned)
        out += self.prefer("None" if self.cuda and any(kernel.launch.l1 for kernel in kernels) else None, 2)
        out += [line for entry in entries for line in self.put("release", 2, kernel=entry)]
        out += self.put("wait", 2) if self.resident else self.each("free", arrays)
        return [*out, *self.put("close", 2, **words), "  }"]

    def prefer(self, kind: str | None, depth: int) -> list[str]:
        return [] if kind is None else self.put("prefer", depth, kind=kind)

    def count(self, ctype: str, array: str) -> str:
        return text(tree.Convert(ctype, self.program.extents[array]))

    def step(self, stmt: tree.Stmt, depth: int) -> list[str]:
        if isinstance(stmt, LoopKernel):
            return self.run(stmt, depth)
        if isinstance(stmt, tree.Block):
            return [line for each in stmt.body for line in self.step(each, depth)]
        if not any(tree.every(stmt, LoopKernel)):
            return lines(stmt, depth)
        inside = ("\n".join(self.step(part, depth + 1)) for part in tree.parts(stmt))
        return lines(tree.with_parts(stmt, tuple(map(tree.Verbatim, inside))), depth)

    def run(self, kernel: LoopKernel, depth: int) -> list[str]:
        """Launch a kernel, and another one that joins what its blocks reduce."""
        launch = kernel.launch
        inner = depth + (1 if kernel.loop is None else 2)
        blocks, threads = (1, 1) if kernel.loop is None else (launch.blocks, launch.threads)
        sums = [{"scalar": e.name, "type": self.program.reduced[e.name]} for e in kernel.reductions]
        out = self.bounds(kernel, depth)
        out += [line for each in sums for line in self.put("partial", inner, **each, blocks=launch.blocks)]
        if self.preferred is None:
            out += self.prefer(_PREFERENCES.get(launch.l1, "None"), inner)
        out += self.start(kernel.name, self.arguments(kernel, _BOUNDS), blocks, threads, inner)
        if sums:
            arguments = [(f"{launch.blocks}", "int")]
            for each in sums:
                arguments += [(f"tw_part_{each['scalar']}", ""), (each["scalar"], "")]
            out += self.start(f"{kernel.name}_finish", arguments, 1, threads, inner)
        out += [line for each in sums for line in self.put("total", inner, **each)]
        return out + self.closed(kernel, depth)

    def start(
        self,
        kernel: str,
        arguments: Sequence[tuple[str, str]],  # values with their types in C; without one the value is a variable
        blocks: int,
        threads: int,
        depth: int,
        queue: str = "",  # the number of the stream
    ) -> list[str]:
        out = []
        for place, (value, ctype) in enumerate(arguments):
            out += self.put(
                "value" if ctype else "variable", depth, kernel=kernel, place=place, ctype=ctype, value=value
            )
        grid = f"{blocks}, {threads}" + f", 0, tw_stream[{queue}]" * bool(queue)
        words = {"blocks": blocks, "threads": threads, "grid": grid, "queue": queue or 0}
        return out + self.put("start", depth, kernel=kernel, arguments=", ".join(v for v, _ in arguments), **words)

    def arguments(self, kernel: LoopKernel, bounds: tuple[str, str]) -> list[tuple[str, str]]:
        ends = dict(zip(_BOUNDS, bounds, strict=True))
        arguments = []
        for name, kind in parameters(kernel, self.program).items():
            ctype = kind.name if isinstance(kind, ir.Native) else "cl_mem"
            if name.startswith("tw_len_"):
                value = self.count(ctype, name.removeprefix("tw_len_"))
            else:
                value = self.array(name) if name in kernel.arrays else ends.get(name, name)
            arguments.append((value, ctype))
        return arguments

    def array(self, name: str) -> str:
        """An array's place on the device; kernels take rows one after the other."""
        if not self.resident:
            return f"dev_{name}"
        return name if len(self.program.shapes[name]) == 1 else f"({self.types[name]} *){name}"

    def bounds(self, kernel: LoopKernel, depth: int) -> list[str]:
        """Compute the bounds of a kernel's loop, and test that it runs at all."""
        if kernel.loop is None:
            return ["  " * depth + "{"]
        ends = {"first": text(kernel.loop.first), "last": text(kernel.loop.last)}
        return self.put("bounds", depth, ctype=counted(kernel), compare="<=" if kernel.loop.step > 0 else ">=", **ends)

    @staticmethod
    def closed(kernel: LoopKernel, depth: int) -> list[str]:
        ends = (depth,) if kernel.loop is None else (depth + 1, depth)
        return ["  " * each + "}" for each in ends]

    def in_streams(self, depth: int) -> list[str]:
        """Copy every piece in, compute it and copy it back in a stream of its own; halos are complete before that."""
        kernel, pad = self.program.kernels[0], "  " * (depth + 2)
        launch, words = kernel.launch, {"count": self.streams}
        halos = self.program.streams or {}
        wide = any(low or high for low, high in halos.values())
        pieces = self.put("pieces", depth + 2, ctype=counted(kernel), **words) if kernel.loop is not None else []
        out = [*self.bounds(kernel, depth), *self.put("streams", depth + 2, **words), *pieces]
        for name in kernel.arrays:
            out += self.piece("piece in", name, halos[name], depth + 3)
        out += [*self.put("copied", depth + 3), pad + "}"]
        out += self.put("all copied", depth + 2, **words) if wide else []
        out += pieces
        out += self.put("halos copied", depth + 3, **words) if wide else []
        arguments = self.arguments(kernel, ("tw_a", "tw_b"))
        out += self.start(kernel.name, arguments, launch.blocks, launch.threads, depth + 3, "tw_s")
        for name in sorted(kernel.written):
            out += self.piece("piece out", name, (0, 0), depth + 3)
        return [*out, pad + "}", *self.put("streams done", depth + 2, **words), *self.closed(kernel, depth)]

    def piece(self, copy: str, name: str, halo: tuple[int, int], depth: int) -> list[str]:
        """Copy the elements of an array in a piece: halos go to the first and the last one."""
        (call,) = self.put(copy, 0, array=name, type=self.types[name])
        return self.put("piece", depth, low=halo[0], high=halo[1], size=self.count("long", name), copy=call)
