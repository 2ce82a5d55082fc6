// The lookups of one training step by row: which rows, how often, in which bags.
#pragma once

#include <cstdint>
#include <vector>

#include "fiited/storage.h"

namespace mirror::fiited {

// Rows of a step come by their part, and within a part in order of their first lookup.
int part_of(int64_t row, int64_t num_lookups);

// Rows are in an order that depends on the lookups alone, not on the number of threads; the lookups
// of a row are in the order in which they were made.
class Requests {
 public:
  // Tensors must outlive this. With `mean`, gradients count as divided by the size of their bag.
  Requests(const std::vector<Lookups>& lookups, int64_t dim, bool mean);

  int64_t size() const { return static_cast<int64_t>(rows_.size()); }
  int64_t row(int64_t i) const { return rows_[i]; }
  int64_t count(int64_t i) const { return starts_[i + 1] - starts_[i]; }
  // The row's gradient (dim,): summed into `sum`, or where it lies.
  const float* gradient(int64_t i, float* sum) const;

 private:
  struct Bag {
    const float* grad;
    float scale;
  };
  struct Lookup {
    int64_t row;
    int32_t bag;
  };

  void read(const std::vector<Lookups>& lookups, bool mean);
  void group();

  int64_t dim_;
  std::vector<Bag> bags_;
  std::vector<Lookup> lookups_;
  std::vector<int64_t> rows_;
  std::vector<int64_t> starts_;  // of each row's lookups in bag_of_, and their number at the end
  std::vector<int32_t> bag_of_;
};

}  // namespace mirror::fiited
