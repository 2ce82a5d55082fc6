// What every form of a FIITED table can do: look up, train, count utilities, evict and admit.
//
// A table has V virtual rows of k chunks; virtual chunk q = row * k + j is live (it has weights and
// optimizer slots) or missing (it reads as zeros). bench_engine/kernels/fiited/ decides when to
// prune and at which thresholds; a storage only counts and moves.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/custom_class.h>
#include <torch/custom_class.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <tuple>
#include <vector>

#include "fiited/types.h"

namespace mirror::fiited {

struct Shape {
  std::vector<int64_t> table_ends;  // rows of table t end before table_ends[t]
  int64_t dim;
  int64_t num_chunks;
  int64_t capacity;  // chunks that may be live at a time
  Scope scope;
  int64_t ttl;        // prune events after which a row that is not looked up is dropped; 0 is never
  int64_t admission;  // lookups after which an unknown row is let in; 0 and 1 are at once

  int64_t num_rows() const { return table_ends.back(); }
  int64_t width() const { return dim / num_chunks; }
  int64_t num_groups() const {
    if (scope == Scope::kGlobal) return 1;
    return scope == Scope::kColumn ? num_chunks : static_cast<int64_t>(table_ends.size());
  }
  int64_t table_of(int64_t row) const;
};

// Lookups of one recorded call: rows (N,) int64, and where bag b starts and ends in them.
struct Lookups {
  at::Tensor rows;     // (N,) int64
  at::Tensor offsets;  // (B + 1,) int64
  at::Tensor grad;     // (B, D) float32, contiguous
};

// The ids of a call as rows of all tables.
struct Bags {
  at::Tensor rows;              // (N,) int64
  at::Tensor offsets;           // (B + 1,) int64: where bags start and the last ends
  std::vector<int64_t> counts;  // bags of each table
};

// Many read a table at a time, or one changes it. Who waits to change it lets no more readers in
// before, or those of a table that serves might never leave it to those who train.
class Gate {
 public:
  std::shared_lock<std::shared_mutex> read() {
    const std::lock_guard turn(turn_);
    return std::shared_lock(mutex_);
  }
  std::unique_lock<std::shared_mutex> change() {
    const std::lock_guard turn(turn_);
    return std::unique_lock(mutex_);
  }

 private:
  std::mutex turn_;
  std::shared_mutex mutex_;
};

// Methods do not go through the gate: who calls them does.
class Storage : public torch::CustomClassHolder {
 public:
  explicit Storage(Shape shape) : shape_(std::move(shape)) {}
  const Shape& shape() const { return shape_; }
  Gate& gate() { return gate_; }

  // From one tensor of ids for each table, or one for all of them with `joint` rows; hashed with
  // `seed` where there is one.
  virtual Bags bags(const std::vector<at::Tensor>& inputs,
                    const std::vector<std::optional<at::Tensor>>& offsets,
                    std::optional<int64_t> seed, bool joint);
  // The first bag whose gradient (B, D) is not finite, or -1.
  virtual int64_t first_not_finite(const at::Tensor& grad);

  // (B, D) sums of the rows of each bag.
  virtual at::Tensor forward(const at::Tensor& rows, const at::Tensor& offsets, bool mean) = 0;
  virtual void train(const std::vector<Lookups>& lookups, const Step& step) = 0;

  // Gives every live chunk `width` slots, filled with `value`; what they held is dropped.
  virtual void set_slots(int64_t width, double value) = 0;
  virtual int64_t slot_width() = 0;
  // The value with which slots of restored chunks are filled.
  virtual void set_slot_value(double value) = 0;

  // Multiplies all stored utilities.
  virtual void scale_utilities(double factor) = 0;
  // Makes rows an event older, and drops those whose time is over. Returns the virtual chunks that
  // were live in them, sorted.
  virtual at::Tensor age() = 0;
  // How many candidates of each group have each value of a digit, among those whose digits before
  // are those of `prefix` (groups,): (groups, 2^digit.bits).
  virtual at::Tensor histogram(Candidates of, Digit digit,
                               const std::vector<Threshold>& prefix) = 0;
  // (groups, 2): live chunks that thresholds do not keep, and missing ones that they let in.
  virtual at::Tensor moves(const std::vector<Threshold>& keep) = 0;
  // Evicts and admits. Where it is wanted, virtual chunks evicted and admitted, sorted, and the
  // evicted weights; else empty tensors.
  virtual std::tuple<at::Tensor, at::Tensor, at::Tensor> apply(const std::vector<Threshold>& keep,
                                                               bool listed, bool with_weights) = 0;
  // Rows without a live chunk that the threshold does not keep lose their utilities.
  virtual void forget(Threshold keep) = 0;

  // Everything that training needs to go on, in order of the rows and the same for all forms:
  // rows (n,) int64, live (n,) int32 bit masks, utilities (n, k) bfloat16, ages (n,) int32, weights
  // (live, c), slots (live, slot width), counters of the admission filter (uint8) and their lookups
  // (1,) int64.
  virtual std::vector<at::Tensor> state() = 0;
  virtual void load_state(const std::vector<at::Tensor>& state) = 0;
  virtual at::Tensor live_masks(const at::Tensor& rows) = 0;  // int32
  virtual at::Tensor utilities(const at::Tensor& rows) = 0;   // as stored, (n, k) bfloat16
  virtual int64_t live() = 0;
  // Rows with so many live chunks, for 0 to k: (k + 1,).
  virtual at::Tensor live_histogram() = 0;
  // Bytes in use by kind; those of the system's pages may be a little more.
  virtual c10::Dict<std::string, int64_t> bytes() = 0;
  // Throws what is wrong where the parts of the storage do not fit together.
  virtual void verify() = 0;

 protected:
  Shape shape_;

 private:
  Gate gate_;
};

c10::intrusive_ptr<Storage> make_flat(Shape shape);
// A frozen one has no utilities and is not trained.
c10::intrusive_ptr<Storage> make_compact(Shape shape, bool frozen);

// Forms by name. The folder cuda adds "flat_cuda", so that a library without it needs nothing of
// it.
using Maker = c10::intrusive_ptr<Storage> (*)(Shape shape, at::Device device);
std::map<std::string, Maker>& forms();

}  // namespace mirror::fiited
