// Zeros from the system's pages.
#include "grouped/cpu/zero_pages.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "grouped/cpu/huge_pages.h"

namespace mirror {
namespace {

// From here on the C library maps memory anew for every tensor: its pages are zeroed by the system
// in any case, and then once more by whoever fills them.
constexpr int64_t kAlwaysMapped = 32 << 20;
// From here on whole memory is taken in huge pages. The C library may keep the memory of a gradient
// for the next one, or give it back and take it page by page again, which takes six times as long.
constexpr int64_t kWorthHuge = 2 * kHugePage;
// A page that is mapped on its first touch takes about as long as filling so many that are there
// already.
constexpr int64_t kPagesPerTouch = 16;
// Of memory that is always mapped, and of which less than a fourth is touched, single pages are
// mapped; of other memory huge ones, which take a tenth of the time for the whole.
constexpr int64_t kSparse = 4;
// Of memory that is given back, each so manyth is looked at, and where laziness was given up, it is
// tried again at each so manyth.
constexpr uint32_t kLookAt = 16, kTryAgain = 256;
// More sizes than these are forgotten.
constexpr size_t kSizes = 1024;

// What became of lazy memory of one size. A reader of all of it, such as a dense update, maps each
// page after all, and filling the memory would have taken less time.
struct Habit {
  bool read = false;
  uint32_t returned = 0, filled = 0;
};

struct Mapping {
  void* start;
  int64_t length;  // of the mapping
  int64_t bytes;   // of the tensor
  bool lazy;
};

// Sizes of what is mapped. The context of a tensor's memory is the memory itself, so that torch can
// make it copy-on-write (touched_rows.h), and says no more.
struct Mapped {
  std::mutex mutex;
  std::unordered_map<void*, Mapping> mappings;
  std::unordered_map<int64_t, Habit> habits;  // by bytes
};

Mapped& mapped() {
  static Mapped* const one = new Mapped;  // never destroyed: tensors may outlive static objects
  return *one;
}

int64_t page_size() {
  static const int64_t size = sysconf(_SC_PAGESIZE);
  return size;
}

// Whether memory of this size should rather be filled.
bool read_after_all(int64_t bytes) {
  const std::lock_guard lock(mapped().mutex);
  const auto found = mapped().habits.find(bytes);
  return found != mapped().habits.end() && found->second.read &&
         ++found->second.filled % kTryAgain != 0;
}

// Whether most pages are mapped.
bool mostly_mapped(void* memory, int64_t bytes) {
  std::vector<unsigned char> there((bytes + page_size() - 1) / page_size());
  if (mincore(memory, bytes, there.data()) != 0) return false;
  const auto mapped =
      std::count_if(there.begin(), there.end(), [](unsigned char bits) { return bits & 1; });
  return 2 * mapped > static_cast<int64_t>(there.size());
}

void unmap(void* memory) {
  Mapping mapping;
  bool look = false;
  {
    const std::lock_guard lock(mapped().mutex);
    const auto found = mapped().mappings.find(memory);
    mapping = found->second;
    mapped().mappings.erase(found);
    if (mapping.lazy) {
      if (mapped().habits.size() > kSizes) mapped().habits.clear();
      Habit& habit = mapped().habits[mapping.bytes];
      look = habit.read || habit.returned++ % kLookAt == 0;
    }
  }
  const bool read = look && mostly_mapped(memory, mapping.bytes);
  munmap(mapping.start, mapping.length);
  if (!look) return;
  const std::lock_guard lock(mapped().mutex);
  mapped().habits[mapping.bytes].read = read;
}

// Memory of zeros, of which no page is there; nullptr where the system has no room for it.
void* map(int64_t bytes, bool lazy) {
  const int64_t length = lazy ? bytes : bytes + kHugePage + kHugePage / 2;
  void* const start = mmap(nullptr, length, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return nullptr;
  void* memory = start;
  if (!lazy) {
    const auto first = (reinterpret_cast<uintptr_t>(start) + kHugePage - 1) / kHugePage * kHugePage;
    memory = reinterpret_cast<void*>(first);
    // Half of a huge page is left to small ones at most. No harm where there are none.
    madvise(memory, (bytes + kHugePage / 2) / kHugePage * kHugePage, MADV_HUGEPAGE);
  }
  const std::lock_guard lock(mapped().mutex);
  mapped().mappings[memory] = {start, length, bytes, lazy};
  return memory;
}

}  // namespace

at::Tensor zeros_or_empty(int64_t rows, int64_t columns, const at::TensorOptions& options,
                          int64_t written, bool& filled) {
  const int64_t page = page_size();
  const int64_t element = static_cast<int64_t>(options.dtype().itemsize());
  const int64_t bytes = rows * columns * element;
  const int64_t pages = bytes / page, touched = written * ((columns * element + page - 1) / page);
  const bool always = bytes >= kAlwaysMapped;
  const bool lazy = touched * (always ? kSparse : kPagesPerTouch) < pages && !read_after_all(bytes);
  if (lazy || always || (bytes >= kWorthHuge && huge_pages_wanted())) {
    if (void* const memory = map(bytes, lazy)) {
      filled = true;
      return at::for_blob(memory, {rows, columns})
          .context(memory, unmap)
          .options(options)
          .make_tensor();
    }
  }
  filled = false;
  return at::empty({rows, columns}, options);
}

}  // namespace mirror
