// OpenCL's calls that generated hosts make, on the device of device.hpp.
#pragma once
#include "../device.hpp"

#include <string>
#include <tuple>
#include <utility>

#define __kernel
#define __global
#define __local static __attribute__((section("tw_shared")))
#define restrict __restrict__
#define vec_type_hint(type) unused
#define work_group_size_hint(x, y, z) unused
#define CLK_LOCAL_MEM_FENCE 0
#define barrier(fence) device::barrier()
typedef unsigned long ulong;
inline size_t get_local_id(int) { return (size_t)device::threadIdx.x; }
inline size_t get_group_id(int) { return (size_t)device::blockIdx.x; }
inline size_t get_num_groups(int) { return (size_t)device::gridDim.x; }

namespace device {
struct Memory {
  char *start;
};
struct Kernel {
  const struct Entry *entry;
  std::vector<std::string> given;
};
typedef std::function<void()> Ready;
struct Entry {
  size_t count;
  std::function<Ready(const std::vector<std::string> &)> bind;
};
inline std::map<std::string, Entry> entries;
inline std::set<Memory *> memories;
inline std::set<Kernel *> kernels;

template <class T> T taken(const std::string &given) {
  if constexpr (std::is_pointer_v<T>) {
    Memory *memory;
    check(given.size() == sizeof memory, "an argument is no array");
    memcpy(&memory, given.data(), sizeof memory);
    check(memories.count(memory) == 1, "an argument is no array of the device");
    return (T)memory->start;
  } else {
    std::remove_const_t<T> value;
    check(given.size() == sizeof value, "an argument has another size than its parameter");
    memcpy(&value, given.data(), sizeof value);
    return value;
  }
}
template <class... A, size_t... I>
Ready bound(void (*function)(A...), const std::vector<std::string> &given, std::index_sequence<I...>) {
  std::tuple<A...> values{taken<A>(given[I])...};
  return [=] { std::apply(function, values); };
}
template <class... A> int kernel(const char *name, void (*function)(A...)) {
  entries[name] = {sizeof...(A), [=](const std::vector<std::string> &given) {
                     return bound(function, given, std::index_sequence_for<A...>());
                   }};
  return 0;
}
}  // namespace device

typedef int cl_int;
typedef unsigned cl_uint;
typedef int cl_bool;
typedef int cl_device_id, cl_context;
typedef int cl_platform_id;
typedef const int *cl_program;
typedef device::Memory *cl_mem;
typedef device::Kernel *cl_kernel;
typedef device::Stream *cl_command_queue;
enum { CL_SUCCESS, CL_FALSE = 0, CL_TRUE, CL_MEM_READ_WRITE = 1, CL_DEVICE_TYPE_ALL = -1, CL_PROGRAM_BUILD_LOG };

inline int clGetPlatformIDs(cl_uint, cl_platform_id *, cl_uint *count) { return (int)(*count = 1) - 1; }
inline int clGetDeviceIDs(cl_platform_id, int, cl_uint, cl_device_id *, cl_uint *count) { return (int)(*count = 1) - 1; }
inline cl_context clCreateContext(void *, int, cl_device_id *, void *, void *, cl_int *error) { return *error = 0; }
inline cl_program clCreateProgramWithSource(cl_context, int, const char **, void *, cl_int *error) {
  *error = 0;
  static const int program = 1;
  return &program;
}
inline int clBuildProgram(cl_program, int, cl_device_id *, const char *, void *, void *) { return 0; }
inline int clGetProgramBuildInfo(cl_program, cl_device_id, int, size_t, char *, void *) { return 0; }
inline cl_command_queue clCreateCommandQueue(cl_context, cl_device_id, int, cl_int *error) {
  *error = 0;
  return device::open_stream();
}
inline int clReleaseCommandQueue(cl_command_queue queue) {
  device::close_stream(queue);
  return 0;
}
inline cl_mem clCreateBuffer(cl_context, int, size_t bytes, void *, cl_int *error) {
  *error = 0;
  char *start = device::allocate(device::own, bytes, device::draw(2));
  device::allow(device::own, false);
  return *device::memories.insert(new device::Memory{start}).first;
}
inline int clReleaseMemObject(cl_mem memory) {
  for (const device::Stream *each : device::streams)
    device::check(each->steps.empty(), "an array is released before the device is done");
  device::check(device::memories.erase(memory) == 1, "what is released is not on the device");
  device::release(device::own, memory->start, "what is released is not on the device");
  delete memory;
  return 0;
}
inline cl_kernel clCreateKernel(cl_program, const char *name, cl_int *error) {
  *error = 0;
  auto found = device::entries.find(name);
  device::check(found != device::entries.end(), "a kernel that the text does not hold");
  return *device::kernels.insert(new device::Kernel{&found->second, {}}).first;
}
inline int clReleaseKernel(cl_kernel kernel) {
  device::check(device::kernels.erase(kernel) == 1, "a kernel is released twice");
  delete kernel;
  return 0;
}
inline int clSetKernelArg(cl_kernel kernel, cl_uint place, size_t size, const void *value) {
  if (kernel->given.size() <= place) kernel->given.resize(place + 1);
  kernel->given[place].assign((const char *)value, size);
  return 0;
}
inline int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint rank, void *, const size_t *whole,
                                  const size_t *local, int, void *, void *) {
  device::check(rank == 1 && *whole % *local == 0, "a launch beyond the device");
  device::check(kernel->given.size() == kernel->entry->count, "another number of arguments than of parameters");
  device::Ready ready = kernel->entry->bind(kernel->given);
  int blocks = (int)(*whole / *local), threads = (int)*local;
  device::enqueue(queue, [=] { device::grid(blocks, threads, ready); });
  return 0;
}
inline int moved(cl_command_queue queue, cl_mem memory, cl_bool now, size_t offset, size_t bytes, void *array, bool up) {
  device::check(device::memories.count(memory) == 1, "a copy without an array of the device");
  char *there = memory->start + offset;
  device::enqueue(queue, [=] { device::copy(up ? there : array, up ? array : there, bytes, up); });
  if (now) device::wait(queue);
  return 0;
}
inline int clEnqueueWriteBuffer(cl_command_queue queue, cl_mem memory, cl_bool now, size_t offset, size_t bytes,
                                void *array, int, void *, void *) {
  return moved(queue, memory, now, offset, bytes, array, true);
}
inline int clEnqueueReadBuffer(cl_command_queue queue, cl_mem memory, cl_bool now, size_t offset, size_t bytes,
                               void *array, int, void *, void *) {
  return moved(queue, memory, now, offset, bytes, array, false);
}
inline int clFinish(cl_command_queue queue) {
  device::wait(queue);
  return 0;
}

namespace device {
inline void finished(size_t resident) {
  check(own.size() == resident, "an array of the device is not released");
  check(kernels.empty(), "a kernel is not released");
  check(streams.empty(), "a queue is not released");
}
}  // namespace device
