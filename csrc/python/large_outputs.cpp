#include "python/large_outputs.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <new>
#include <vector>

namespace mirror {
namespace {

constexpr size_t kPage = 4 << 10, kHugePage = 2 << 20, kHuge = 4 * kHugePage;
constexpr size_t kMostKept = 8,
                 kMostKeptBytes = size_t{1} << 30;  // blocks, and bytes of all together

// From kHuge on it begins where a huge page does.
struct Block {
  void* memory;
  size_t bytes;  // whole pages of its kind
};

size_t page_of(size_t bytes) { return bytes < kHuge ? kPage : kHugePage; }

// Blocks that nobody uses, the one that was given back last at the end.
struct Kept {
  std::mutex mutex;
  std::vector<Block> blocks;
  size_t bytes = 0;
};

Kept& kept() {
  static Kept* const one = new Kept;  // never destroyed: tensors may outlive static objects
  return *one;
}

// A block of this size that was kept; none where the lock is not free, which in the child of a fork
// it may never be again.
Block taken(size_t bytes) {
  const std::unique_lock lock(kept().mutex, std::try_to_lock);
  if (!lock) return {nullptr, 0};
  std::vector<Block>& blocks = kept().blocks;
  const auto found = std::find_if(blocks.rbegin(), blocks.rend(),
                                  [&](const Block& block) { return block.bytes == bytes; });
  if (found == blocks.rend()) return {nullptr, 0};
  const Block block = *found;
  blocks.erase(std::next(found).base());
  kept().bytes -= bytes;
  return block;
}

Block mapped(size_t bytes) {
  const size_t page = page_of(bytes), all = bytes + page - kPage;
  void* const start =
      mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) throw std::bad_alloc();
  const auto address = reinterpret_cast<uintptr_t>(start);
  const uintptr_t first = (address + page - 1) / page * page, last = first + bytes;
  if (first > address) munmap(start, first - address);
  if (address + all > last) munmap(reinterpret_cast<void*>(last), address + all - last);
  void* const memory = reinterpret_cast<void*>(first);
  if (bytes >= kHuge) madvise(memory, bytes, MADV_HUGEPAGE);  // nothing where there are none
  return {memory, bytes};
}

void give_back(void* context) {
  auto* const block = static_cast<Block*>(context);
  const Block own = *block;
  delete block;
  std::vector<Block> old;
  {
    const std::unique_lock lock(kept().mutex, std::try_to_lock);
    const bool large = own.bytes > kMostKeptBytes;
    if (!lock || large || (own.bytes >= kHuge && madvise(own.memory, own.bytes, MADV_FREE) != 0)) {
      old.push_back(own);
    } else {
      std::vector<Block>& blocks = kept().blocks;
      blocks.push_back(own);
      kept().bytes += own.bytes;
      while (blocks.size() > kMostKept || kept().bytes > kMostKeptBytes) {
        old.push_back(blocks.front());
        kept().bytes -= blocks.front().bytes;
        blocks.erase(blocks.begin());
      }
    }
  }
  for (const Block& one : old) munmap(one.memory, one.bytes);
}

struct LargeOutputs final : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    const size_t page = page_of(bytes), whole = (bytes + page - 1) / page * page;
    Block block = taken(whole);
    if (!block.memory) block = mapped(whole);
    return {block.memory, new Block(block), give_back, at::Device(at::kCPU)};
  }

  void copy_data(void* to, const void* from, size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }
};

}  // namespace

c10::Allocator* large_outputs() {
  static LargeOutputs* const one = new LargeOutputs;
  return one;
}

}  // namespace mirror
