#include "grouped/output_block.h"

#include <c10/core/CPUAllocator.h>

#include <mutex>
#include <vector>

namespace mirror {
namespace {

// Below, an allocator keeps what it is given back; above, an allocation does not matter.
constexpr int64_t kSmallest = int64_t{64} << 10, kLargest = int64_t{16} << 20;
constexpr size_t kMostKept = size_t{32} << 20;  // in all blocks
// A kept block may be larger than what is asked for by this share of it.
constexpr size_t kShareWasted = 4;

struct Block {
  c10::DataPtr data;
  size_t bytes;
};

class Kept {
 public:
  // nullptr where none fits. A thread that has to wait, or whose parent was forked while another
  // one was in here, goes without.
  Block* take(size_t bytes) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return nullptr;
    for (size_t i = blocks_.size(); i-- > 0;) {
      Block* const block = blocks_[i];
      if (block->bytes < bytes || block->bytes - bytes > block->bytes / kShareWasted) continue;
      blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(i));
      bytes_ -= block->bytes;
      return block;
    }
    return nullptr;
  }

  // The oldest make room.
  void give(Block* block) {
    std::vector<Block*> gone;
    {
      const std::unique_lock lock(mutex_, std::try_to_lock);
      if (lock) {
        blocks_.push_back(block);
        bytes_ += block->bytes;
        while (bytes_ > kMostKept) {
          bytes_ -= blocks_.front()->bytes;
          gone.push_back(blocks_.front());
          blocks_.erase(blocks_.begin());
        }
      } else {
        gone.push_back(block);
      }
    }
    for (const Block* const one : gone) delete one;
  }

 private:
  std::mutex mutex_;
  std::vector<Block*> blocks_;
  size_t bytes_ = 0;
};

// Never destroyed: tensors may outlive what is.
Kept& kept() {
  static Kept* const blocks = new Kept;
  return *blocks;
}

}  // namespace

bool is_kept(int64_t bytes) { return bytes >= kSmallest && bytes <= kLargest; }

c10::Storage output_block(int64_t bytes) {
  const size_t wanted = static_cast<size_t>(bytes);
  c10::Allocator* const allocator = c10::GetCPUAllocator();
  if (!is_kept(bytes)) {
    return {c10::Storage::use_byte_size_t(), wanted, allocator->allocate(wanted), allocator,
            /*resizable=*/false};
  }
  Block* block = kept().take(wanted);
  if (!block) block = new Block{allocator->allocate(wanted), wanted};
  c10::DataPtr data(
      block->data.get(), block, [](void* given) { kept().give(static_cast<Block*>(given)); },
      c10::Device(c10::kCPU));
  return {c10::Storage::use_byte_size_t(), wanted, std::move(data), allocator,
          /*resizable=*/false};
}

}  // namespace mirror
