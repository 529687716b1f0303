"""The host's part of a device program: allocation, transfers, launches, in CUDA's and OpenCL's run-time calls."""

from collections.abc import Iterator

from tilewright.codegen.print.host_heads import CUDA_HEAD, OPENCL_HEAD
from tilewright.codegen.print.source import CUDA, OPENCL
from tilewright.workloads.annotated.lower.device import DeviceProgram, KernelRun, LoopKernel
from tilewright.workloads.annotated.lower.host import HostWriter, quoted, text_name
from tilewright.workloads.annotated.lower.kernels import counted, kernels_text, parameters, reduced_type


def cuda_prelude(program: DeviceProgram) -> str:
    """Return what the top of a CUDA file needs: includes and kernels."""
    return CUDA_HEAD + kernels_text(program, CUDA)


def opencl_prelude(program: DeviceProgram) -> str:
    """Return what the top of a file for OpenCL needs: includes, helpers and the kernels as a string."""
    name = text_name(program)
    text = "\n".join(f'  "{quoted(line)}\\n"' for line in kernels_text(program, OPENCL).splitlines())
    return f"{OPENCL_HEAD}static const char *{name} =\n{text};\nstatic cl_program {name}_program = NULL;\n"


class _Cuda(HostWriter):
    """CUDA's run-time calls."""

    def whole(self) -> list[str]:
        launch, names = self.launch, [name for name, _ in self.program.arrays]
        out = ["  {"]
        self.dev = {name: self.resident(name) if launch.resident else f"dev_{name}" for name in names}
        if not launch.resident:
            out += [f"    {self.types[name]} *dev_{name};" for name in names]
            out += [f"    TW_CUDA(cudaMalloc((void **)&dev_{name}, {self.bytes_of(name)}));" for name in names]
        pinned = launch.pinned and not launch.resident
        if pinned:
            out += [
                f"    TW_CUDA(cudaHostRegister((void *){n}, {self.bytes_of(n)}, cudaHostRegisterDefault));"
                for n in names
            ]
        preferred = {kernel.launch.l1 for kernel in self.program.kernels}
        self.even = len(preferred) == 1
        out += self.prefer(preferred.pop(), "    ") if self.even else []
        streamed = self.program.streams is not None and not launch.resident
        if not launch.resident and not streamed:
            out += [self.copy(name, "HostToDevice") for name in names]
        out += self.streams(2) if streamed else list(self.steps(self.program.steps, 2))
        if not launch.resident and not streamed:
            out += [self.copy(name, "DeviceToHost") for name in names if name in self.program.written]
        if pinned:
            out += [f"    TW_CUDA(cudaHostUnregister((void *){name}));" for name in names]
        if any(kernel.launch.l1 for kernel in self.program.kernels):
            out.append("    TW_CUDA(cudaDeviceSetCacheConfig(cudaFuncCachePreferNone));")
        if launch.resident:
            out.append("    TW_CUDA(cudaDeviceSynchronize());")
        else:
            out += [f"    TW_CUDA(cudaFree(dev_{name}));" for name in names]
        return [*out, "  }"]

    @staticmethod
    def prefer(kilobytes: int, pad: str, other: str = "") -> list[str]:
        """The call that says how the cache is divided; without a preference, what is given."""
        kinds = {48: "cudaFuncCachePreferL1", 16: "cudaFuncCachePreferShared", 32: "cudaFuncCachePreferEqual"}
        kind = kinds.get(kilobytes, other)
        return [f"{pad}TW_CUDA(cudaDeviceSetCacheConfig({kind}));"] if kind else []

    def resident(self, name: str) -> str:
        """The caller's pointer to an array on the device; kernels take rows one after the other."""
        return name if len(self.program.shapes[name]) == 1 else f"({self.types[name]} *){name}"

    def copy(self, name: str, way: str) -> str:
        pair = f"dev_{name}, {name}" if way == "HostToDevice" else f"(void *){name}, dev_{name}"
        return f"    TW_CUDA(cudaMemcpy({pair}, {self.bytes_of(name)}, cudaMemcpy{way}));"

    def arguments(self, kernel: LoopKernel, bounds: tuple[str, str] = ("tw_first", "tw_last")) -> str:
        out = []
        for name in parameters(kernel):
            if name == "tw_first":
                out.append(bounds[0])
            elif name == "tw_last":
                out.append(bounds[1])
            elif name in self.dev:
                out.append(self.dev[name])
            elif name.startswith("tw_len_"):
                out.append(self.counted(counted(kernel), name.removeprefix("tw_len_")))
            else:
                out.append(name)
        return ", ".join(out)

    def run(self, step: KernelRun, depth: int) -> Iterator[str]:
        kernel, launch = step.kernel, step.kernel.launch
        pad = "  " * (depth + (1 if kernel.loop is None else 2))
        yield from self.bounds(kernel, depth)
        grid = "1, 1" if kernel.loop is None else f"{launch.blocks}, {launch.threads}"
        for each in kernel.reductions:
            ctype = reduced_type(self.program, each.name)
            yield f"{pad}{ctype} *tw_part_{each.name};"
            yield f"{pad}TW_CUDA(cudaMalloc((void **)&tw_part_{each.name}, {launch.blocks} * sizeof({ctype})));"
        if not self.even:
            yield from self.prefer(launch.l1, pad, "cudaFuncCachePreferNone")
        yield f"{pad}{kernel.name}<<<{grid}>>>({self.arguments(kernel)});"
        yield f"{pad}TW_CUDA(cudaGetLastError());"
        if kernel.reductions:
            args = ", ".join(f"tw_part_{each.name}, {each.name}" for each in kernel.reductions)
            yield f"{pad}{kernel.name}_finish<<<1, {launch.threads}>>>({launch.blocks}, {args});"
            yield f"{pad}TW_CUDA(cudaGetLastError());"
        for each in kernel.reductions:
            size = f"sizeof({reduced_type(self.program, each.name)})"
            yield f"{pad}TW_CUDA(cudaMemcpy(&{each.name}, tw_part_{each.name}, {size}, cudaMemcpyDeviceToHost));"
            yield f"{pad}TW_CUDA(cudaFree(tw_part_{each.name}));"
        yield from self.closed(kernel, depth)

    def streams(self, depth: int) -> list[str]:
        """Every piece is copied in, computed and copied back in a stream of its own; halos are waited for."""
        kernel, pad = self.program.kernels[0], "  " * (depth + 2)
        count = kernel.launch.streams
        halos = {name: (low, high) for name, low, high in self.program.streams.halos} if self.program.streams else {}
        wide = any(low or high for low, high in halos.values())
        out = [
            *self.bounds(kernel, depth),
            f"{pad}cudaStream_t tw_stream[{count}];",
            f"{pad}cudaEvent_t tw_event[{count}];",
        ]
        each = f"{pad}for (int tw_s = 0; tw_s < {count}; tw_s++) "
        out += [f"{each}{{ TW_CUDA(cudaStreamCreate(&tw_stream[tw_s])); TW_CUDA(cudaEventCreate(&tw_event[tw_s])); }}"]
        out += self.pieces(kernel, depth + 2)
        for name in kernel.arrays:
            size = f"(size_t)(tw_to - tw_from + 1) * sizeof({self.types[name]})"
            pair = f"dev_{name} + tw_from, {name} + tw_from"
            copy = f"cudaMemcpyAsync({pair}, {size}, cudaMemcpyHostToDevice, tw_stream[tw_s])"
            out += [
                f"{pad}  {{",
                *self.piece(name, *halos[name], depth + 4),
                f"{pad}    if (tw_from <= tw_to) TW_CUDA({copy});",
                f"{pad}  }}",
            ]
        out += [f"{pad}  TW_CUDA(cudaEventRecord(tw_event[tw_s], tw_stream[tw_s]));", f"{pad}}}"]
        out += self.pieces(kernel, depth + 2)
        if wide:
            out.append(
                f"{pad}  for (int tw_n = 0; tw_n < {count}; tw_n++) "
                "TW_CUDA(cudaStreamWaitEvent(tw_stream[tw_s], tw_event[tw_n], 0));"
            )
        grid = f"{kernel.launch.blocks}, {kernel.launch.threads}, 0, tw_stream[tw_s]"
        out.append(f"{pad}  {kernel.name}<<<{grid}>>>({self.arguments(kernel, ('tw_a', 'tw_b'))});")
        out.append(f"{pad}  TW_CUDA(cudaGetLastError());")
        for name in sorted(kernel.written):
            size = f"(size_t)(tw_to - tw_from + 1) * sizeof({self.types[name]})"
            pair = f"{name} + tw_from, dev_{name} + tw_from"
            copy = f"cudaMemcpyAsync({pair}, {size}, cudaMemcpyDeviceToHost, tw_stream[tw_s])"
            out += [
                f"{pad}  {{",
                *self.piece(name, 0, 0, depth + 4),
                f"{pad}    if (tw_from <= tw_to) TW_CUDA({copy});",
                f"{pad}  }}",
            ]
        out += [f"{pad}}}", f"{pad}TW_CUDA(cudaDeviceSynchronize());"]
        out += [f"{each}{{ TW_CUDA(cudaStreamDestroy(tw_stream[tw_s])); TW_CUDA(cudaEventDestroy(tw_event[tw_s])); }}"]
        return [*out, *self.closed(kernel, depth)]


class _OpenCL(HostWriter):
    """OpenCL's run-time calls."""

    def whole(self) -> list[str]:
        launch, names = self.launch, [name for name, _ in self.program.arrays]
        text = text_name(self.program)
        queues = 1 if self.program.streams is None else self.program.kernels[0].launch.streams
        out = [
            "  {",
            "    cl_int tw_error;",
            f"    struct tw_device tw_dev = tw_open({launch.platform}, {launch.device});",
        ]
        out += [f"    cl_command_queue tw_queue[{queues}];", f"    for (int tw_q = 0; tw_q < {queues}; tw_q++) {{"]
        out += ["      tw_queue[tw_q] = clCreateCommandQueue(tw_dev.context, tw_dev.id, 0, &tw_error);"]
        out += ["      TW_OPENCL(tw_error);", "    }"]
        out.append(f'    if ({text}_program == NULL) {text}_program = tw_build(tw_dev, {text}, "{launch.flags}");')
        for name in names:
            out.append(
                f"    cl_mem dev_{name} = clCreateBuffer(tw_dev.context, CL_MEM_READ_WRITE, {self.bytes_of(name)}, "
                "NULL, &tw_error);"
            )
            out.append("    TW_OPENCL(tw_error);")
        for kernel in self.kernel_names():
            out += [
                f'    cl_kernel {kernel} = clCreateKernel({text}_program, "{kernel}", &tw_error);',
                "    TW_OPENCL(tw_error);",
            ]
        if self.program.streams is None:
            out += [self.copy(name, "Write") for name in names]
            out += list(self.steps(self.program.steps, 2))
            out += [self.copy(name, "Read") for name in names if name in self.program.written]
        else:
            out += self.streams(2)
        out += [f"    TW_OPENCL(clReleaseKernel({kernel}));" for kernel in self.kernel_names()]
        out += [f"    TW_OPENCL(clReleaseMemObject(dev_{name}));" for name in names]
        out += [f"    for (int tw_q = 0; tw_q < {queues}; tw_q++) TW_OPENCL(clReleaseCommandQueue(tw_queue[tw_q]));"]
        return [*out, "  }"]

    def kernel_names(self) -> list[str]:
        return [
            name for k in self.program.kernels for name in ([k.name, f"{k.name}_finish"] if k.reductions else [k.name])
        ]

    def copy(self, name: str, way: str) -> str:
        return (
            f"    TW_OPENCL(clEnqueue{way}Buffer(tw_queue[0], dev_{name}, CL_TRUE, 0, {self.bytes_of(name)}, "
            f"(void *){name}, 0, NULL, NULL));"
        )

    def arguments(
        self, kernel: LoopKernel, pad: str, bounds: tuple[str, str] = ("tw_first", "tw_last")
    ) -> Iterator[str]:
        scalars = dict(kernel.scalars)
        for place, name in enumerate(parameters(kernel)):
            if name in {"tw_first", "tw_last"}:
                value, ctype = bounds[name == "tw_last"], counted(kernel)
            elif name in kernel.arrays:
                value, ctype = f"dev_{name}", "cl_mem"
            elif name.startswith("tw_part_"):
                value, ctype = name, "cl_mem"
            elif name.startswith("tw_len_"):
                ctype = counted(kernel)
                value = self.counted(ctype, name.removeprefix("tw_len_"))
            else:
                value, ctype = name, scalars[name]
            given = f"TW_OPENCL(clSetKernelArg({kernel.name}, {place}, sizeof tw_x, &tw_x));"
            yield f"{pad}{{ {ctype} tw_x = {value}; {given} }}"

    def start(self, name: str, blocks: int, threads: int, pad: str, queue: str = "0") -> list[str]:
        return [
            f"{pad}{{ size_t tw_global = (size_t){blocks} * {threads}, tw_local = {threads};",
            f"{pad}  TW_OPENCL(clEnqueueNDRangeKernel(tw_queue[{queue}], {name}, 1, NULL, &tw_global, &tw_local, ",
            f"{pad}    0, NULL, NULL)); }}",
        ]

    def run(self, step: KernelRun, depth: int) -> Iterator[str]:
        kernel, launch = step.kernel, step.kernel.launch
        pad = "  " * (depth + (1 if kernel.loop is None else 2))
        yield from self.bounds(kernel, depth)
        for each in kernel.reductions:
            ctype = reduced_type(self.program, each.name)
            size = f"{launch.blocks} * sizeof({ctype})"
            made = f"clCreateBuffer(tw_dev.context, CL_MEM_READ_WRITE, {size}, NULL, &tw_error)"
            yield f"{pad}cl_mem tw_part_{each.name} = {made};"
            yield f"{pad}TW_OPENCL(tw_error);"
        yield from self.arguments(kernel, pad)
        blocks, threads = (1, 1) if kernel.loop is None else (launch.blocks, launch.threads)
        yield from self.start(kernel.name, blocks, threads, pad)
        if kernel.reductions:
            finish = f"{kernel.name}_finish"
            yield f"{pad}{{ int tw_x = {launch.blocks}; TW_OPENCL(clSetKernelArg({finish}, 0, sizeof tw_x, &tw_x)); }}"
            for place, each in enumerate(kernel.reductions):
                part = f"tw_part_{each.name}"
                yield f"{pad}TW_OPENCL(clSetKernelArg({finish}, {1 + 2 * place}, sizeof {part}, &{part}));"
                yield f"{pad}TW_OPENCL(clSetKernelArg({finish}, {2 + 2 * place}, sizeof {each.name}, &{each.name}));"
            yield from self.start(finish, 1, launch.threads, pad)
        for each in kernel.reductions:
            part = f"tw_part_{each.name}"
            yield (
                f"{pad}TW_OPENCL(clEnqueueReadBuffer(tw_queue[0], {part}, CL_TRUE, 0, sizeof {each.name}, "
                f"&{each.name}, 0, NULL, NULL));"
            )
            yield f"{pad}TW_OPENCL(clReleaseMemObject({part}));"
        yield from self.closed(kernel, depth)

    def streams(self, depth: int) -> list[str]:
        """Every piece has a queue of its own; halos are complete before a kernel starts."""
        kernel, pad = self.program.kernels[0], "  " * (depth + 2)
        halos = {name: (low, high) for name, low, high in self.program.streams.halos} if self.program.streams else {}
        out = [*self.bounds(kernel, depth), *self.pieces(kernel, depth + 2)]
        for name in kernel.arrays:
            out += [f"{pad}  {{", *self.piece(name, *halos[name], depth + 4)]
            out.append(
                f"{pad}    if (tw_from <= tw_to) TW_OPENCL(clEnqueueWriteBuffer(tw_queue[tw_s], dev_{name}, CL_FALSE, "
                f"(size_t)tw_from * sizeof({self.types[name]}), "
                f"(size_t)(tw_to - tw_from + 1) * sizeof({self.types[name]}), "
                f"(void *)({name} + tw_from), 0, NULL, NULL));"
            )
            out.append(f"{pad}  }}")
        out.append(f"{pad}}}")
        wait = f"{pad}for (int tw_q = 0; tw_q < {kernel.launch.streams}; tw_q++) TW_OPENCL(clFinish(tw_queue[tw_q]));"
        if any(low or high for low, high in halos.values()):
            out.append(wait)
        out += self.pieces(kernel, depth + 2)
        out += list(self.arguments(kernel, f"{pad}  ", ("tw_a", "tw_b")))
        out += self.start(kernel.name, kernel.launch.blocks, kernel.launch.threads, f"{pad}  ", "tw_s")
        for name in sorted(kernel.written):
            out += [f"{pad}  {{", *self.piece(name, 0, 0, depth + 4)]
            out.append(
                f"{pad}    if (tw_from <= tw_to) TW_OPENCL(clEnqueueReadBuffer(tw_queue[tw_s], dev_{name}, CL_FALSE, "
                f"(size_t)tw_from * sizeof({self.types[name]}), "
                f"(size_t)(tw_to - tw_from + 1) * sizeof({self.types[name]}), "
                f"(void *)({name} + tw_from), 0, NULL, NULL));"
            )
            out.append(f"{pad}  }}")
        return [*out, f"{pad}}}", wait, *self.closed(kernel, depth)]


def cuda_body(program: DeviceProgram) -> str:
    """Return what replaces a region in a CUDA file."""
    return "\n".join([*_Cuda(program).whole(), ""])


def opencl_body(program: DeviceProgram) -> str:
    """Return what replaces a region in a C file that uses OpenCL."""
    return "\n".join([*_OpenCL(program).whole(), ""])
