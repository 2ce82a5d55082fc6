// Memory that outputs of one call share, kept from call to call.
#pragma once

#include <c10/core/Storage.h>

#include <cstdint>

namespace mirror {

// Memory of the CPU of at least `bytes`, uninitialized. What is let go of is kept for the calls to
// come, some of it: the system's allocator would give the end of its heap back after one call and
// find it anew, page by page, in the next, which can take longer than a lookup.
c10::Storage output_block(int64_t bytes);

// Whether memory of this size is kept.
bool is_kept(int64_t bytes);

}  // namespace mirror
