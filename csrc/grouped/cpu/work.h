// Divides the bags of several tables among threads.
#pragma once

#include <algorithm>
#include <vector>

#include "common/share_out.h"
#include "grouped/embedding.h"

namespace mirror {

// Elements that cost about as much as starting one bag.
constexpr int64_t kBagCost = 16;

inline int64_t bag_cost(const TableCall& table) {
  return kBagCost + (table.bags ? table.num_ids * table.dim / table.bags : 0);
}

inline int64_t total_cost(const GroupedCall& call) {
  int64_t cost = 0;
  for (const TableCall& table : call.tables) cost += table.bags * bag_cost(table);
  return cost;
}

// Bags of one table, from `begin` to `end`.
struct Range {
  size_t table;
  int64_t begin, end;
};

// The work of a call in `pieces()` pieces, each some ranges of bags of some tables.
class Pieces {
 public:
  Pieces(const GroupedCall& call, Schedule schedule, int threads) : call_(call) {
    const int64_t tables = call.tables.size();
    const int64_t bags = call.tables[0].bags;
    const bool equal = std::all_of(call.tables.begin(), call.tables.end(),
                                   [&](const TableCall& table) { return table.bags == bags; });
    if (threads == 1) {
      pieces_ = 1;
    } else if (schedule == Schedule::kTable) {
      pieces_ = tables;
      schedule_ = schedule;
    } else if (schedule == Schedule::kBatch && equal) {
      pieces_ = std::clamp<int64_t>(bags, 1, threads * kPiecesPerThread);
      schedule_ = schedule;
    } else {
      pieces_ = threads * kPiecesPerThread;
      schedule_ = Schedule::kFlat;
      ends_.reserve(tables);
      for (const TableCall& table : call.tables)
        total_ += table.bags * bag_cost(table), ends_.push_back(total_);
    }
  }

  int64_t pieces() const { return pieces_; }

  // The ranges of a piece.
  std::vector<Range> piece(int64_t number) const {
    const size_t tables = call_.tables.size();
    std::vector<Range> ranges;
    if (pieces_ == 1) {
      ranges.reserve(tables);
      for (size_t t = 0; t < tables; ++t) ranges.push_back({t, 0, call_.tables[t].bags});
    } else if (schedule_ == Schedule::kTable) {
      ranges.push_back({static_cast<size_t>(number), 0, call_.tables[number].bags});
    } else if (schedule_ == Schedule::kBatch) {
      const int64_t bags = call_.tables[0].bags;
      const int64_t begin = bags * number / pieces_, end = bags * (number + 1) / pieces_;
      ranges.reserve(tables);
      for (size_t t = 0; t < tables && begin < end; ++t) ranges.push_back({t, begin, end});
    } else {
      flat(number, ranges);
    }
    return ranges;
  }

 private:
  // More pieces than threads, since threads of a shared machine are not equally fast.
  static constexpr int64_t kPiecesPerThread = 4;

  void flat(int64_t number, std::vector<Range>& ranges) const {
    const int64_t low = total_ * number / pieces_, high = total_ * (number + 1) / pieces_;
    size_t t = std::upper_bound(ends_.begin(), ends_.end(), low) - ends_.begin();
    for (; t < ends_.size(); ++t) {
      const TableCall& table = call_.tables[t];
      const int64_t cost = bag_cost(table), start = ends_[t] - table.bags * cost;
      if (start >= high) return;
      // A bag belongs to the piece in which it starts.
      const int64_t begin = std::max<int64_t>(0, (low - start + cost - 1) / cost);
      const int64_t end = std::min(table.bags, (high - start + cost - 1) / cost);
      if (begin < end) ranges.push_back({t, begin, end});
    }
  }

  const GroupedCall& call_;
  Schedule schedule_ = Schedule::kTable;
  int64_t pieces_, total_ = 0;
  std::vector<int64_t> ends_;  // of the tables' costs laid end to end
};

}  // namespace mirror
