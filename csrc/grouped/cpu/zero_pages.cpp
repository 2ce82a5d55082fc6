// Zeros from the system's pages.
#include "grouped/cpu/zero_pages.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <sys/mman.h>
#include <unistd.h>

#include <mutex>
#include <unordered_map>

namespace mirror {
namespace {

// From here on the C library maps memory anew for every tensor: its pages are zeroed by the system
// in any case, and then once more by whoever fills them.
constexpr int64_t kAlwaysMapped = 32 << 20;
// A page that is mapped on its first touch takes about as long as filling so many that are there
// already.
constexpr int64_t kPagesPerTouch = 16;
// Of memory of which less than a fourth is touched, single pages are mapped; of other memory huge
// ones, which take a tenth of the time for the whole.
constexpr int64_t kSparse = 4;

// Sizes of what is mapped. The context of a tensor's memory is the memory itself, so that torch can
// make it copy-on-write (touched_rows.h), and says no more.
struct Mapped {
  std::mutex mutex;
  std::unordered_map<void*, int64_t> bytes;
};

Mapped& mapped() {
  static Mapped* const one = new Mapped;  // never destroyed: tensors may outlive static objects
  return *one;
}

void unmap(void* memory) {
  int64_t bytes = 0;
  {
    const std::lock_guard lock(mapped().mutex);
    const auto found = mapped().bytes.find(memory);
    bytes = found->second;
    mapped().bytes.erase(found);
  }
  munmap(memory, bytes);
}

}  // namespace

at::Tensor zeros_or_empty(int64_t rows, int64_t columns, const at::TensorOptions& options,
                          int64_t written, bool& filled) {
  static const int64_t page = sysconf(_SC_PAGESIZE);
  const int64_t element = static_cast<int64_t>(options.dtype().itemsize());
  const int64_t bytes = rows * columns * element;
  const int64_t pages = bytes / page, touched = written * ((columns * element + page - 1) / page);
  filled = bytes >= kAlwaysMapped || touched * kPagesPerTouch < pages;
  if (filled) {
    void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory != MAP_FAILED) {
      if (touched * kSparse >= pages)
        madvise(memory, bytes, MADV_HUGEPAGE);  // no harm where there are none
      {
        const std::lock_guard lock(mapped().mutex);
        mapped().bytes[memory] = bytes;
      }
      return at::for_blob(memory, {rows, columns})
          .context(memory, unmap)
          .options(options)
          .make_tensor();
    }
    filled = false;  // the system has no room for another mapping
  }
  return at::empty({rows, columns}, options);
}

}  // namespace mirror
