// Memory of outputs that no cache holds.
#pragma once

#include <c10/core/Allocator.h>

namespace mirror {

constexpr size_t kLargeOutput = 8 << 20;  // bytes from which an output is one

// Memory in huge pages, for the system maps memory that is new where it is first written, a page at
// a time, which takes longer than most kernels unless pages are huge. What is given back is kept
// for the next output of the same size, as long as the system does not need it (MADV_FREE), and
// some of it at most: then nothing is mapped at all. Raises std::bad_alloc where the system has no
// room.
c10::Allocator* large_outputs();

}  // namespace mirror
