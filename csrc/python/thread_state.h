// What of a thread decides what a lookup in it gives.
#pragma once

#include <cstdint>
#include <optional>

namespace mirror {

struct ThreadState {
  bool grad, inference;
  uint64_t included, excluded;  // dispatch keys

  bool operator==(const ThreadState&) const = default;
};

// Nothing where somebody else looks at the ops of this thread, and is to see those of the script:
// tracing, functorch, a torch function or dispatch mode, hooks of saved tensors.
std::optional<ThreadState> thread_state();

// Nothing in autocast either, where an op does not do what its name says.
std::optional<ThreadState> usual_state();

}  // namespace mirror
