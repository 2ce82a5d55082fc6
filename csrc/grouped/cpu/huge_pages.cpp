// Huge pages under tables that are there already.
#include "grouped/cpu/huge_pages.h"

#include <sys/mman.h>
#include <torch/library.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25  // of Linux 6.1; older ones refuse it
#endif

namespace mirror {
namespace {

constexpr uintptr_t kHuge = kHugePage;
// What a processor's second-level TLB reaches with small pages is some megabytes.
constexpr uintptr_t kSmall = 8 << 20;

using Block = std::pair<uintptr_t, uintptr_t>;  // from, to

// The pages of the tables, those that touch one another joined: a huge page may hold the end of one
// table and the beginning of the next.
std::vector<Block> pages_of(at::TensorList tables, uintptr_t page) {
  std::vector<Block> found;
  for (const at::Tensor& table : tables) {
    if (!table.is_cpu() || !table.has_storage() || !table.storage().nbytes()) continue;
    const auto start = reinterpret_cast<uintptr_t>(table.storage().data());
    found.push_back(
        {start / page * page, (start + table.storage().nbytes() + page - 1) / page * page});
  }
  std::sort(found.begin(), found.end());
  std::vector<Block> joined;
  for (const Block& block : found) {
    if (!joined.empty() && block.first <= joined.back().second) {
      joined.back().second = std::max(joined.back().second, block.second);
    } else {
      joined.push_back(block);
    }
  }
  return joined;
}

// Whether all pages are in memory: a huge page in the place of fewer would take memory.
bool all_there(uintptr_t start, uintptr_t page) {
  std::vector<unsigned char> there(kHuge / page);
  return mincore(reinterpret_cast<void*>(start), kHuge, there.data()) == 0 &&
         std::all_of(there.begin(), there.end(), [](unsigned char bits) { return bits & 1; });
}

}  // namespace

bool huge_pages_wanted() {
  static const bool wanted = [] {
    std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
    std::string said;
    return std::getline(file, said) && said.find("[never]") == std::string::npos;
  }();
  return wanted;
}

int64_t use_huge_pages(at::TensorList tables) {
  const uintptr_t page = sysconf(_SC_PAGESIZE);
  const std::vector<Block> blocks = pages_of(tables, page);
  uintptr_t all = 0;
  for (const auto& [from, to] : blocks) all += to - from;
  if (all < kSmall || !huge_pages_wanted()) return 0;
  int64_t huge = 0;
  for (const auto& [from, to] : blocks) {
    for (uintptr_t start = (from + kHuge - 1) / kHuge * kHuge; start + kHuge <= to;
         start += kHuge) {
      if (!all_there(start, page)) continue;
      if (madvise(reinterpret_cast<void*>(start), kHuge, MADV_COLLAPSE) == 0) {
        huge += kHuge;
      } else if (errno == EINVAL && !huge) {
        break;  // the kernel does not know it, or this memory is of a kind that has none
      }
    }
  }
  return huge;
}

}  // namespace mirror

TORCH_LIBRARY_FRAGMENT(mirror, m) {
  m.def("use_huge_pages(Tensor[] tables) -> int", &mirror::use_huge_pages);
}
