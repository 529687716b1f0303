// CUDA's run-time calls that generated hosts make, on the device of device.hpp.
#pragma once
#include "device.hpp"

#define __global__
#define __shared__ static __attribute__((section("tw_shared")))
#define __align__(n) __attribute__((aligned(n)))
#define __syncthreads device::barrier
using device::blockDim, device::blockIdx, device::gridDim, device::threadIdx;

typedef int cudaError_t;
typedef device::Stream *cudaStream_t;
typedef device::Event *cudaEvent_t;
enum { cudaSuccess, cudaHostRegisterDefault = 0 };
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost };
enum cudaFuncCache { cudaFuncCachePreferNone, cudaFuncCachePreferShared, cudaFuncCachePreferL1, cudaFuncCachePreferEqual };

namespace device {
inline Stream *standard = open_stream();
inline std::map<const void *, size_t> pinned;
inline int preference = cudaFuncCachePreferNone, preferred = 0, pins = 0, waits = 0;

struct Launcher {
  int blocks, threads;
  Stream *stream;
  void operator()(std::function<void()> kernel) const {
    Launcher me = *this;
    if (preference != cudaFuncCachePreferNone) ++preferred;
    enqueue(stream, [me, kernel] { grid(me.blocks, me.threads, kernel); });
  }
};
inline Launcher launch(int blocks, int threads, size_t = 0, Stream *stream = nullptr) {
  return {blocks, threads, stream ? stream : standard};
}
}  // namespace device

inline const char *cudaGetErrorString(int) { return ""; }
inline int cudaGetLastError() { return 0; }
inline int cudaMalloc(void **where, size_t bytes) {
  *where = device::allocate(device::own, bytes, device::draw(2));
  device::allow(device::own, false);
  return 0;
}
inline int cudaFree(void *array) {
  device::wait(nullptr);
  device::release(device::own, array, "what is freed is not on the device");
  return 0;
}
inline int cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
  device::enqueue(device::standard, [=] { device::copy(to, from, bytes, kind == cudaMemcpyHostToDevice); });
  device::wait(device::standard);
  return 0;
}
inline int cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  device::enqueue(stream, [=] { device::copy(to, from, bytes, kind == cudaMemcpyHostToDevice); });
  return 0;
}
inline int cudaDeviceSynchronize() {
  device::wait(nullptr);
  return 0;
}
inline int cudaStreamCreate(cudaStream_t *stream) {
  *stream = device::open_stream();
  return 0;
}
inline int cudaStreamDestroy(cudaStream_t stream) {
  device::close_stream(stream);
  return 0;
}
inline int cudaEventCreate(cudaEvent_t *event) {
  *event = *device::events.insert(new device::Event).first;
  return 0;
}
inline int cudaEventDestroy(cudaEvent_t event) {
  device::check(device::events.erase(event) == 1, "an event is destroyed twice");
  delete event;
  return 0;
}
inline int cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  int count = ++event->asked;
  device::enqueue(stream, [=] { event->done = count; });
  return 0;
}
inline int cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, int) {
  ++device::waits;
  device::enqueue(stream, [] {}, event, event->asked);
  return 0;
}
inline int cudaHostRegister(void *array, size_t bytes, int) {
  device::check(device::holds(device::host, array, bytes), "more is pinned than the array");
  device::check(device::pinned.emplace(array, bytes).second, "an array is pinned twice");
  ++device::pins;
  return 0;
}
inline int cudaHostUnregister(void *array) {
  device::check(device::pinned.erase(array) == 1, "what is unpinned is not pinned");
  return 0;
}
inline int cudaDeviceSetCacheConfig(cudaFuncCache kind) {
  device::preference = kind;
  return 0;
}

namespace device {
/* What a region must leave behind it: nothing. */
inline void finished(size_t resident) {
  for (const Stream *each : streams) check(each->steps.empty(), "the host goes on before the device is done");
  check(own.size() == resident, "an array of the device is not freed");
  check(streams.size() == 1, "a stream is left open");
  check(events.empty(), "an event is left");
  check(pinned.empty(), "an array stays pinned");
  check(preference == cudaFuncCachePreferNone, "the preference of the cache stays");
}
}  // namespace device
