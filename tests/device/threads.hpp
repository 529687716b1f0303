// What a kernel's text needs of CUDA, on one thread of this process: blocks one after the other, a block's threads as
// coroutines that take turns from barrier to barrier.
#pragma once
#include <cmath>
#include <csetjmp>
#include <cstring>
#include <ucontext.h>
#include <utility>
#include <vector>

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static
#define __align__(n) __attribute__((aligned(n)))
#define __syncthreads() device::barrier()

inline float __int_as_float(int bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
inline double __longlong_as_double(long long bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
#define VECTOR(name, type, ...) \
  struct alignas(sizeof(type) * (sizeof #__VA_ARGS__ > 5 ? 4 : 2)) name { \
    type __VA_ARGS__; \
  };
VECTOR(float2, float, x, y)
VECTOR(float4, float, x, y, z, w)
VECTOR(double2, double, x, y)
VECTOR(int2, int, x, y)
VECTOR(int4, int, x, y, z, w)
VECTOR(longlong2, long long, x, y)
template <typename T> inline T __ldca(const T *at) { return *at; }
template <typename T> inline void __stwb(T *at, const T &value) { *at = value; }
static unsigned atomicAdd(unsigned *at, unsigned more) {
  unsigned before = *at;
  *at += more;
  return before;
}
static struct {
  int x;
} threadIdx, blockIdx, gridDim;
alignas(16) static unsigned char tw_room[1 << 18];

namespace device {
// A context starts a coroutine, which is then kept for the next blocks; jumps go on without a call of the system.
struct Thread {
  ucontext_t context;
  std::vector<char> stack;
  jmp_buf place;
  bool ended;
};
static std::vector<Thread> threads;
static jmp_buf scheduler;
static void (*body)(void **);
static void **given;
static int running;

static void barrier() {
  int me = running;
  if (!_setjmp(threads[me].place)) _longjmp(scheduler, 1);
}
static void start() {
  for (;;) {
    body(given);
    threads[running].ended = true;
    barrier();
  }
}
static void go_on(Thread &thread) {
  if (_setjmp(scheduler)) return;
  if (!thread.stack.empty()) _longjmp(thread.place, 1);
  thread.stack.resize(65536);
  getcontext(&thread.context);
  thread.context.uc_stack.ss_sp = thread.stack.data();
  thread.context.uc_stack.ss_size = thread.stack.size();
  makecontext(&thread.context, start, 0);
  setcontext(&thread.context);
}
static void launch(void (*kernel)(void **), int blocks, int count, void **arguments) {
  body = kernel, given = arguments, gridDim.x = blocks;
  if ((int)threads.size() < count) threads.resize((size_t)count);
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
    for (int t = 0; t < count; ++t) threads[t].ended = false;
    for (bool more = true; more;) {
      more = false;
      for (int t = 0; t < count; ++t) {
        if (threads[t].ended) continue;
        running = threadIdx.x = t;
        go_on(threads[t]);
        more |= !threads[t].ended;
      }
    }
  }
}
template <class... A, std::size_t... I>
void call(void (*kernel)(A...), void **arguments, std::index_sequence<I...>) {
  kernel(*(A *)arguments[I]...);
}
template <class... A>
void call(void (*kernel)(A...), void **arguments) {
  call(kernel, arguments, std::index_sequence_for<A...>());
}
template <class... A>
int arity(void (*)(A...)) {
  return (int)sizeof...(A);
}
}  // namespace device

#define LAUNCHER(kernel)                                                                       \
  extern "C" int count_##kernel() { return device::arity(kernel); }                            \
  extern "C" void launch_##kernel(int blocks, int count, void **arguments) {                   \
    device::launch([](void **all) { device::call(kernel, all); }, blocks, count, arguments); \
  }
