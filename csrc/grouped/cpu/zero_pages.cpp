// Zeros from the system's pages.
#include "grouped/cpu/zero_pages.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <sys/mman.h>
#include <unistd.h>

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
      const auto unmap = [bytes](void* start) { munmap(start, bytes); };
      return at::from_blob(memory, {rows, columns}, unmap, options);
    }
    filled = false;  // the system has no room for another mapping
  }
  return at::empty({rows, columns}, options);
}

}  // namespace mirror
