#include "fiited/cpu/requests.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "fiited/cpu/optimizer.h"
#include "fiited/cpu/parallel.h"

namespace mirror::fiited {
namespace {

constexpr int64_t kParts = 16;
constexpr int64_t kManyLookups = 8192;  // fewer are sorted in one part
constexpr int64_t kBlock = 16384;       // lookups counted by one piece of work

inline uint64_t spread(int64_t row) {
  return static_cast<uint64_t>(row) * 0x9E3779B97F4A7C15ULL;  // Knuth's multiplicative hash
}

inline int parts_for(int64_t num_lookups) { return num_lookups < kManyLookups ? 1 : kParts; }
constexpr int kPartShift = 64 - std::countr_zero(static_cast<uint64_t>(kParts));

// Rows of one part in order of their first lookup, with the lookups of each.
struct Part {
  std::vector<int64_t> rows;
  std::vector<int64_t> counts;
};

}  // namespace

int part_of(int64_t row, int64_t num_lookups) {
  return parts_for(num_lookups) == 1 ? 0 : static_cast<int>(spread(row) >> kPartShift);
}

Requests::Requests(const std::vector<Lookups>& lookups, int64_t dim, bool mean) : dim_(dim) {
  read(lookups, mean);
  group();
}

void Requests::read(const std::vector<Lookups>& lookups, bool mean) {
  int64_t num_bags = 0, num_lookups = 0;
  for (const Lookups& call : lookups) {
    num_bags += call.grad.size(0);
    num_lookups += call.rows.numel();
  }
  TORCH_CHECK_VALUE(num_bags < std::numeric_limits<int32_t>::max(),
                    "a step takes fewer than 2^31 bags, not ", num_bags);
  bags_.resize(num_bags);
  lookups_.resize(num_lookups);
  int64_t first_bag = 0, first_lookup = 0;
  for (const Lookups& call : lookups) {
    const int64_t* rows = call.rows.const_data_ptr<int64_t>();
    const int64_t* offsets = call.offsets.const_data_ptr<int64_t>();
    const float* grad = call.grad.const_data_ptr<float>();
    const int64_t bags = call.grad.size(0);
    in_parallel(bags, call.rows.numel(), [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        const int64_t length = offsets[b + 1] - offsets[b];
        const int32_t bag = static_cast<int32_t>(first_bag + b);
        bags_[bag] = {grad + b * dim_, mean && length > 1 ? 1.0f / static_cast<float>(length) : 1};
        for (int64_t i = offsets[b]; i < offsets[b + 1]; ++i)
          lookups_[first_lookup + i] = {rows[i], bag};
      }
    });
    first_bag += bags;
    first_lookup += call.rows.numel();
  }
}

void Requests::group() {
  const int64_t n = static_cast<int64_t>(lookups_.size());
  const int parts = parts_for(n);

  // A stable counting sort by part.
  const int64_t blocks = std::max<int64_t>(1, (n + kBlock - 1) / kBlock);
  std::vector<std::array<int64_t, kParts>> place(blocks);
  pieces(blocks, [&](int64_t block) {
    place[block].fill(0);
    const int64_t end = std::min(n, (block + 1) * kBlock);
    for (int64_t i = block * kBlock; i < end; ++i) ++place[block][part_of(lookups_[i].row, n)];
  });
  std::array<int64_t, kParts + 1> bounds{};
  int64_t total = 0;
  for (int p = 0; p < kParts; ++p) {
    bounds[p] = total;
    for (auto& counts : place) {
      const int64_t count = counts[p];
      counts[p] = total;
      total += count;
    }
  }
  bounds[kParts] = total;
  std::vector<Lookup> sorted(parts == 1 ? 0 : n);
  if (parts > 1) {
    pieces(blocks, [&](int64_t block) {
      const int64_t end = std::min(n, (block + 1) * kBlock);
      for (int64_t i = block * kBlock; i < end; ++i)
        sorted[place[block][part_of(lookups_[i].row, n)]++] = lookups_[i];
    });
    lookups_.swap(sorted);
  }

  // Within a part: a number for each row, then the bags of each.
  std::array<Part, kParts> found;
  bag_of_.resize(n);
  pieces(parts, [&](int64_t p) {
    const int64_t begin = bounds[p], end = parts == 1 ? n : bounds[p + 1];
    if (begin == end) return;
    Part& part = found[p];
    const uint64_t slots = std::bit_ceil(static_cast<uint64_t>(end - begin) * 2);
    const int down = 64 - std::countr_zero(slots);
    std::vector<int32_t> table(slots, -1);
    std::vector<int32_t> number(end - begin);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = lookups_[i].row;
      // The top bits chose the part.
      uint64_t slot = (spread(row) << (parts == 1 ? 0 : 64 - kPartShift)) >> down;
      while (table[slot] >= 0 && part.rows[table[slot]] != row) slot = (slot + 1) & (slots - 1);
      if (table[slot] < 0) {
        table[slot] = static_cast<int32_t>(part.rows.size());
        part.rows.push_back(row);
        part.counts.push_back(0);
      }
      number[i - begin] = table[slot];
      ++part.counts[table[slot]];
    }
    std::vector<int64_t> next(part.rows.size());
    int64_t at = begin;
    for (size_t r = 0; r < next.size(); ++r) {
      next[r] = at;
      at += part.counts[r];
    }
    for (int64_t i = begin; i < end; ++i) bag_of_[next[number[i - begin]]++] = lookups_[i].bag;
  });
  starts_.push_back(0);
  for (const Part& part : found) {
    rows_.insert(rows_.end(), part.rows.begin(), part.rows.end());
    for (const int64_t count : part.counts) starts_.push_back(starts_.back() + count);
  }
}

const float* Requests::gradient(int64_t i, float* sum) const {
  const int64_t begin = starts_[i], end = starts_[i + 1];
  const Bag& first = bags_[bag_of_[begin]];
  if (end - begin == 1 && first.scale == 1) return first.grad;
  std::fill(sum, sum + dim_, 0.0f);
  for (int64_t at = begin; at < end; ++at) {
    const Bag& bag = bags_[bag_of_[at]];
    add_scaled(bag.grad, bag.scale, dim_, sum);
  }
  return sum;
}

}  // namespace mirror::fiited
