// A device made of this process, strict about its memory and mean about its order, for tests of what hosts ask of it.
//
// Arrays of the host and of the device lie on pages of their own, flush with a page that nobody may touch; while a
// kernel runs the host's arrays cannot be touched, and while the host runs the device's cannot. New memory holds NaNs.
// Nothing runs before somebody waits for it; then streams take turns at random, and a block's threads run one after
// the other in random order from barrier to barrier. What is wrong ends the process with a sentence.
#pragma once
#include <float.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <vector>

namespace device {

inline const char *where = "";
inline const char *doing = "the host";

[[noreturn]] inline void fail(const char *what) {
  fprintf(stderr, "%s: %s\n", where, what);
  _exit(1);
}
inline void check(bool good, const char *what) {
  if (!good) fail(what);
}

inline uint64_t state = 1;
inline int draw(int below) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (int)((state >> 33) % (uint64_t)below);
}

// Memory.
struct Pages {
  char *base;
  size_t whole, bytes;
};
inline std::map<char *, Pages> own, host;
constexpr size_t PAGE = 4096;

inline char *allocate(std::map<char *, Pages> &all, size_t bytes, bool first) {
  size_t room = (bytes + PAGE - 1) / PAGE * PAGE, whole = room + 2 * PAGE;
  char *base = (char *)mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(base + PAGE, room, PROT_READ | PROT_WRITE);
  memset(base + PAGE, 0xFF, room);
  char *start = base + PAGE + (first ? 0 : room - bytes);
  all[start] = {base, whole, bytes};
  return start;
}
inline void release(std::map<char *, Pages> &all, void *start, const char *what) {
  auto found = all.find((char *)start);
  check(found != all.end(), what);
  munmap(found->second.base, found->second.whole);
  all.erase(found);
}
inline void allow(std::map<char *, Pages> &all, bool open) {
  for (auto &[start, pages] : all)
    mprotect(pages.base + PAGE, pages.whole - 2 * PAGE, open ? PROT_READ | PROT_WRITE : PROT_NONE);
}
inline bool holds(const std::map<char *, Pages> &all, const void *from, size_t bytes) {
  auto after = all.upper_bound((char *)from);
  if (after == all.begin()) return false;
  auto &[start, pages] = *std::prev(after);
  return (char *)from + bytes <= start + pages.bytes;
}
inline bool beginning(const std::map<char *, Pages> &all, const void *from) {
  auto after = all.upper_bound((char *)from);
  return after != all.begin() && (char *)from < std::prev(after)->first + std::prev(after)->second.bytes;
}
inline void copy(void *to, const void *from, size_t bytes, bool up) {
  const void *there = up ? to : from, *here = up ? from : to;
  check(holds(own, there, bytes), "a copy leaves the device's array, or takes the host's for one");
  check(!beginning(own, here), "a copy takes an array of the device for the host's");
  check(!beginning(host, here) || holds(host, here, bytes), "a copy leaves the host's array");
  allow(own, true);
  memcpy(to, from, bytes);
  allow(own, false);
}

// Threads.
inline struct {
  int x;
} threadIdx, blockIdx, gridDim, blockDim;
struct Fiber {
  ucontext_t context;
  int barriers;
  bool ended;
};
inline std::vector<Fiber> fibers;
inline ucontext_t scheduler;
inline int current;
inline const std::function<void()> *entry;
extern "C" char __start_tw_shared[] __attribute__((weak)), __stop_tw_shared[] __attribute__((weak));

inline void barrier() {
  int me = current;
  ++fibers[me].barriers;
  swapcontext(&fibers[me].context, &scheduler);
}
inline void thread() {
  (*entry)();
  fibers[current].ended = true;
}
inline void block(int threads) {
  static std::vector<std::vector<char>> stacks;
  if (__start_tw_shared) memset(__start_tw_shared, 0xFF, (size_t)(__stop_tw_shared - __start_tw_shared));
  fibers.assign((size_t)threads, {});
  while ((int)stacks.size() < threads) stacks.emplace_back(32768);
  std::vector<int> order;
  for (int t = 0; t < threads; ++t) {
    getcontext(&fibers[t].context);
    fibers[t].context.uc_stack.ss_sp = stacks[t].data();
    fibers[t].context.uc_stack.ss_size = stacks[t].size();
    fibers[t].context.uc_link = &scheduler;
    makecontext(&fibers[t].context, thread, 0);
    order.insert(order.begin() + draw(t + 1), t);
  }
  for (bool more = true; more;) {
    more = false;
    for (int t : order) {
      if (fibers[t].ended) continue;
      current = threadIdx.x = t;
      swapcontext(&scheduler, &fibers[t].context);
      more |= !fibers[t].ended;
    }
    for (int t : order) check(fibers[t].barriers == fibers[0].barriers, "a barrier that not every thread reaches");
  }
}
inline void grid(int blocks, int threads, const std::function<void()> &kernel) {
  check(blocks >= 1 && threads >= 1 && threads <= 1024, "a launch beyond the device");
  allow(host, false);
  allow(own, true);
  doing = "a kernel";
  entry = &kernel;
  gridDim.x = blocks, blockDim.x = threads;
  std::vector<int> order;
  for (int b = 0; b < blocks; ++b) order.insert(order.begin() + draw(b + 1), b);
  for (int b : order) {
    blockIdx.x = b;
    block(threads);
  }
  doing = "the host";
  allow(own, false);
  allow(host, true);
}

// Streams.
struct Event {
  int asked = 0, done = 0;
};
struct Step {
  std::function<void()> run;
  Event *after;
  int count;
};
struct Stream {
  std::deque<Step> steps;
};
inline std::set<Stream *> streams;
inline std::set<Event *> events;

inline bool ready(const Stream *stream) {
  return !stream->steps.empty() && (!stream->steps[0].after || stream->steps[0].after->done >= stream->steps[0].count);
}
/* Does steps of all streams in any order until one stream, or every one of them, has nothing left. */
inline void wait(const Stream *one) {
  for (;;) {
    std::vector<Stream *> some;
    bool left = one && !one->steps.empty();
    for (Stream *each : streams) {
      if (!one) left |= !each->steps.empty();
      if (ready(each)) some.push_back(each);
    }
    if (!left) return;
    check(!some.empty(), "streams that wait for each other");
    Stream *next = some[(size_t)draw((int)some.size())];
    Step step = next->steps.front();
    next->steps.pop_front();
    step.run();
  }
}
inline void enqueue(Stream *stream, std::function<void()> run, Event *after = nullptr, int count = 0) {
  check(streams.count(stream) == 1, "a stream that is not there");
  stream->steps.push_back({std::move(run), after, count});
}
inline Stream *open_stream() {
  return *streams.insert(new Stream).first;
}
inline void close_stream(Stream *stream) {
  check(streams.erase(stream) == 1, "a stream is closed twice");
  check(stream->steps.empty(), "a stream is closed before its work is done");
  delete stream;
}

// Runs.
inline void fault(int, siginfo_t *info, void *) {
  char *at = (char *)info->si_addr;
  const char *what = "no array";
  for (auto &[start, pages] : own)
    if (at >= pages.base && at < pages.base + pages.whole) what = "an array of the device or beyond";
  for (auto &[start, pages] : host)
    if (at >= pages.base && at < pages.base + pages.whole) what = "an array of the host or beyond";
  fprintf(stderr, "%s: %s touches %s\n", where, doing, what);
  _exit(1);
}
inline void trap(int) {
  fail("an index beyond its array, or a division by zero");
}
inline void start() {
  static char stack[65536];
  stack_t other = {};
  other.ss_sp = stack, other.ss_size = sizeof stack;
  sigaltstack(&other, nullptr);
  struct sigaction action = {};
  action.sa_sigaction = fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &action, nullptr);
  sigaction(SIGBUS, &action, nullptr);
  signal(SIGILL, trap);
  signal(SIGFPE, trap);
}

// An array of the host, or of the device where it is resident, and what it should hold in the end.
template <class T> struct Array {
  std::vector<T> wanted;
  T *given;
  bool resident;

  Array(long count, bool there, bool first) : wanted((size_t)count), resident(there) {
    for (T &each : wanted) each = (T)(1 + draw(64) / (T)(T(1) / 2 == 0 ? 1 : 64));
    given = (T *)allocate(there ? own : host, (size_t)count * sizeof(T), first);
    memcpy((void *)given, wanted.data(), wanted.size() * sizeof(T));
  }
  void compare(const char *name) {
    if (resident) allow(own, true);
    for (size_t i = 0; i < wanted.size(); ++i)
      if (!(fabs((double)given[i] - (double)wanted[i]) <= (sizeof(T) == 4 ? 1e-4 : 1e-11) * fabs((double)wanted[i]))) {
        fprintf(stderr, "%s: %s[%zu] is %.17g, not %.17g\n", where, name, i, (double)given[i], (double)wanted[i]);
        _exit(1);
      }
    release(resident ? own : host, given, "an array of the caller is freed");
  }
};
inline void agree(const char *name, double got, double wanted) {
  if (fabs(got - wanted) <= 1e-11 * fabs(wanted)) return;
  fprintf(stderr, "%s: %s is %.17g, not %.17g\n", where, name, got, wanted);
  _exit(1);
}

}  // namespace device
