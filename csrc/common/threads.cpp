// What threads at::parallel_for has, and where it must not be called.
#include "common/threads.h"

#include <ATen/Parallel.h>
#include <fcntl.h>
#include <pthread.h>
#include <torch/library.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace mirror {
namespace {

// Written around fork(), where no other thread runs in the child.
bool parent_had_threads = false;
bool workers_are_lost = false;

// Field 20 of /proc/self/stat; the name before it may hold spaces, but ends with the last ')'.
// Where it cannot be read, threads are assumed.
bool has_threads() {
  char text[1024];
  const int file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return true;
  const ssize_t length = read(file, text, sizeof(text) - 1);
  close(file);
  text[length < 0 ? 0 : length] = '\0';
  const char* field = std::strrchr(text, ')');
  for (int i = 2; field && i < 20; ++i) field = std::strchr(field + 1, ' ');
  return !field || std::atoi(field) != 1;
}

const int watch_forks = pthread_atfork([] { parent_had_threads = has_threads(); }, nullptr,
                                       [] { workers_are_lost |= parent_had_threads; });

// How many threads at::parallel_for really uses in this library: 1 when it was built without
// OpenMP.
int64_t parallel_threads() {
  std::atomic<int64_t> used{0};
  at::parallel_for(0, at::get_num_threads(), 1, [&](int64_t, int64_t) { ++used; });
  return used;
}

}  // namespace

bool may_run_parallel() {
  return watch_forks == 0 && !workers_are_lost && !at::in_parallel_region();
}

TORCH_LIBRARY_FRAGMENT(mirror, m) { m.def("parallel_threads() -> int", &parallel_threads); }

}  // namespace mirror
