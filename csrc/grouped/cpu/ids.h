// The ids of one table of a grouped embedding, bag by bag, checked as they are read.
#pragma once

#include <c10/util/Exception.h>

#include <cstdint>
#include <utility>

#include "grouped/embedding.h"

namespace mirror {

[[noreturn]] __attribute__((noinline)) inline void refuse_id(const TableCall& table, int64_t bag,
                                                             int64_t number, int64_t id) {
  // The position counts ids of the table, as they lie in its bags.
  const int64_t position = table.bag_size < 0 ? number : bag * table.bag_size + number;
  TORCH_CHECK_INDEX(false, "table ", table.plan->name, ": index ", id, " at position ", position,
                    " is out of range: ids of this table run from 0 to ", table.rows - 1);
}

// The ids of a table.
template <typename index_t>
class Ids {
 public:
  explicit Ids(const TableCall& table)
      : table_(table), ids_(static_cast<const index_t*>(table.ids)) {}

  const index_t* at(int64_t bag, int64_t number) const {
    return ids_ + bag * table_.bag_stride + number * table_.id_stride;
  }

  // Begin and end of a bag: numbers of ids within the table, or within the bag where all bags have
  // one size.
  std::pair<int64_t, int64_t> bag(int64_t bag) const {
    if (table_.bag_size >= 0) return {0, table_.bag_size};
    const int64_t begin = offset(bag);
    const int64_t end = bag + 1 < table_.num_offsets ? offset(bag + 1) : table_.num_ids;
    TORCH_CHECK_VALUE(
        begin >= 0 && begin <= end && end <= table_.num_ids && (bag > 0 || begin == 0), "table ",
        table_.plan->name,
        ": offsets must start at 0, never fall and not "
        "pass the ",
        table_.num_ids, " ids: bag ", bag, " runs from ", begin, " to ", end);
    return {begin, end};
  }

  // An id of a bag. Raises IndexError where the table has no such row.
  int64_t checked(int64_t bag, int64_t number) const {
    const int64_t id = *at(bag, number);
    if (static_cast<uint64_t>(id) >= static_cast<uint64_t>(table_.rows))
      refuse_id(table_, bag, number, id);
    return id;
  }

 private:
  int64_t offset(int64_t bag) const {
    const int64_t at = bag * table_.offset_stride;
    return table_.long_offsets ? static_cast<const int64_t*>(table_.offsets)[at]
                               : static_cast<const int32_t*>(table_.offsets)[at];
  }

  const TableCall& table_;
  const index_t* ids_;
};

}  // namespace mirror
