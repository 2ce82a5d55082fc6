// Rows of gradients, remembered by the memory that they are in.
#include "grouped/cpu/touched_rows.h"

#include <ATen/core/DimVector.h>
#include <c10/core/impl/COW.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <unordered_map>

namespace mirror {
namespace {

using c10::StorageImpl;

struct Noted {
  c10::weak_intrusive_ptr<StorageImpl> storage;
  std::shared_ptr<const Rows> rows;
  at::DimVector sizes;  // of the gradient: a view of another shape has other rows
};

struct Notes {
  std::mutex mutex;
  std::unordered_map<const StorageImpl*, Noted> of;
  size_t look_through = 64;  // at so many, those of memory that is gone are forgotten
};

Notes& notes() {
  static Notes* const one = new Notes;  // never destroyed: gradients may outlive static objects
  return *one;
}

std::atomic<bool> wanted{false};

}  // namespace

bool touched_rows_wanted() { return wanted.load(std::memory_order_relaxed); }

void want_touched_rows() { wanted.store(true, std::memory_order_relaxed); }

void note_touched_rows(const at::Tensor& gradient, Rows rows) {
  const c10::Storage& storage = gradient.storage();
  StorageImpl* const memory = storage.unsafeGetStorageImpl();
  // The clone goes at once, and leaves the memory as copy-on-write memory.
  if (!c10::impl::cow::lazy_clone_storage(*memory)) return;
  Noted noted{storage.getWeakStorageImpl(), std::make_shared<const Rows>(std::move(rows)),
              at::DimVector(gradient.sizes())};
  const std::lock_guard lock(notes().mutex);
  auto& of = notes().of;
  if (of.size() >= notes().look_through) {
    std::erase_if(of, [](const auto& note) { return note.second.storage.expired(); });
    notes().look_through = std::max<size_t>(64, 2 * of.size());
  }
  of.insert_or_assign(memory, std::move(noted));
}

std::shared_ptr<const Rows> touched_rows(const at::Tensor& gradient) {
  const c10::Storage& storage = gradient.storage();
  const StorageImpl* const memory = storage.unsafeGetStorageImpl();
  if (!c10::impl::cow::is_cow_data_ptr(storage.data_ptr()) || gradient.storage_offset() != 0 ||
      gradient.nbytes() != storage.nbytes()) {
    return nullptr;
  }
  const std::lock_guard lock(notes().mutex);
  const auto found = notes().of.find(memory);
  // A note keeps the address of memory that is gone from being another one's.
  const bool known =
      found != notes().of.end() && gradient.sizes() == at::IntArrayRef(found->second.sizes);
  return known ? found->second.rows : nullptr;
}

}  // namespace mirror
