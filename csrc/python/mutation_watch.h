// Notices ops that write to memory, on one thread and for a while: versions of tensors do not tell
// of writes through `.data` or to inference tensors.
#pragma once

#include <c10/core/StorageImpl.h>

#include <cstddef>
#include <functional>

namespace mirror {

// From start() until stop(), or the end of its life, `written()` tells whether this thread called
// an op that writes to memory that `watched` names. Watches may be nested.
class MutationWatch {
 public:
  MutationWatch() = default;
  MutationWatch(const MutationWatch&) = delete;
  MutationWatch& operator=(const MutationWatch&) = delete;
  ~MutationWatch() { stop(); }

  // `exact`: tell what an op wrote to, which costs every op some time; else any write counts.
  void start(bool exact);
  void stop();
  bool written(const std::function<bool(const c10::StorageImpl*)>& watched) const;

 private:
  bool on_ = false, exact_ = false;
  size_t before_ = 0;
};

}  // namespace mirror
