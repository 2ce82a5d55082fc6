#include "python/large_outputs.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <new>
#include <vector>

namespace mirror {
namespace {

constexpr size_t kHugePage = 2 << 20;
constexpr size_t kMostKept = 8,
                 kMostKeptBytes = size_t{1} << 30;  // blocks, and bytes of all together

struct Block {
  void* memory;  // begins where a huge page does
  size_t bytes;  // whole huge pages
};

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
  void* const start =
      mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) throw std::bad_alloc();
  const auto address = reinterpret_cast<uintptr_t>(start);
  const uintptr_t first = (address + kHugePage - 1) / kHugePage * kHugePage;
  if (first > address) munmap(start, first - address);
  const uintptr_t last = first + bytes;
  munmap(reinterpret_cast<void*>(last), address + bytes + kHugePage - last);
  void* const memory = reinterpret_cast<void*>(first);
  madvise(memory, bytes, MADV_HUGEPAGE);  // nothing happens where there are none
  return {memory, bytes};
}

void give_back(void* context) {
  auto* const block = static_cast<Block*>(context);
  const Block own = *block;
  delete block;
  std::vector<Block> old;
  {
    const std::unique_lock lock(kept().mutex, std::try_to_lock);
    if (!lock || own.bytes > kMostKeptBytes || madvise(own.memory, own.bytes, MADV_FREE) != 0) {
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
    const size_t whole = (bytes + kHugePage - 1) / kHugePage * kHugePage;
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
