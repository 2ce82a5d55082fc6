// Large tables in huge pages: finding where a row at a random place lies takes as long as reading
// it where pages are small.
#pragma once

#include <ATen/core/Tensor.h>

namespace mirror {

// Has the system put the memory of these tables, as it is and where it is, into huge pages (Linux
// 6.1 and newer). Left alone are small tables, memory that is mapped from files or by few pages
// only, and all where the system's administrator wants no huge pages. Returns how many bytes lie in
// blocks that are huge pages now.
int64_t use_huge_pages(at::TensorList tables);

}  // namespace mirror
