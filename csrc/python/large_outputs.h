// Memory of outputs that are large.
#pragma once

#include <c10/core/Allocator.h>

namespace mirror {

constexpr size_t kLargeOutput = 1 << 20;  // bytes from which an output is one

// The system maps memory that is new where it is first written, a page at a time, which takes
// longer than most kernels: what is given back is kept for the next output of the same size, some
// of it at most. What no cache holds lies in huge pages, and the system may take it back while
// nobody uses it (MADV_FREE). Raises std::bad_alloc where the system has no room.
c10::Allocator* large_outputs();

}  // namespace mirror
