// Large tables in huge pages: finding where a row at a random place lies takes as long as reading
// it where pages are small.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace mirror {

constexpr int64_t kHugePage = 2 << 20;

// Whether whoever runs the system lets programs ask for them.
bool huge_pages_wanted();

// Has the system put the memory of these tables, as it is and where it is, into huge pages (Linux
// 6.1 and newer). It stays as it is where the tables are small together, where pages are not in
// memory, which a huge page would take, and where whoever runs the system wants no huge pages.
// Returns how many bytes lie in huge pages now.
int64_t use_huge_pages(at::TensorList tables);

}  // namespace mirror
