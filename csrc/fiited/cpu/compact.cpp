// The compact form: an index of the rows that are known, with one address for the packed live
// chunks of each. Its memory follows what lives, not how many virtual rows there are.
#include <ATen/ops/empty.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <numeric>

#include "fiited/cpu/array.h"
#include "fiited/cpu/blocks.h"
#include "fiited/cpu/counting.h"
#include "fiited/cpu/forward.h"
#include "fiited/cpu/index.h"
#include "fiited/cpu/train.h"

namespace mirror::fiited {
namespace {

class Compact final : public Storage {
 public:
  Compact(Shape shape, bool frozen)
      : Storage(std::move(shape)),
        k_(shape_.num_chunks),
        width_(shape_.width()),
        all_((uint32_t{1} << k_) - 1),
        filter_(shape_.admission, shape_.capacity / k_),
        frozen_(frozen),
        index_(frozen ? 0 : k_) {
    for (int64_t m = 1; m <= k_; ++m)
      blocks_.emplace_back(m, width_, std::min(shape_.num_rows(), shape_.capacity / m));
  }

  // -- reading --

  at::Tensor forward(const at::Tensor& rows, const at::Tensor& offsets, bool mean) override {
    return fiited::forward(Reader(*this), shape_, rows, offsets, mean);
  }

  // -- training --

  static bool admitted(int64_t slot) { return slot >= 0; }
  std::vector<int64_t> enter(const Requests& requests, AdmissionFilter& filter) {
    const int64_t n = requests.size();
    std::vector<int64_t> slots(n);
    const auto find_all = [&] {
      in_parallel(n, n, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          if (i + kIndexAhead < end) index_.prefetch(requests.row(i + kIndexAhead));
          slots[i] = index_.find(requests.row(i));
        }
      });
    };
    find_all();
    std::vector<int64_t> fresh;
    for (int64_t i = 0; i < n; ++i) {
      if (slots[i] >= 0 && (!filter.counts() || known(slots[i]))) continue;
      if (!filter.admits(requests.row(i), requests.count(i))) {
        slots[i] = -1;
      } else if (slots[i] < 0) {
        fresh.push_back(i);
      }
    }
    if (index_.reserve(static_cast<int64_t>(fresh.size()))) {
      const std::vector<int64_t> before = slots;
      find_all();
      for (int64_t i = 0; i < n; ++i)
        if (before[i] < 0) slots[i] = -1;  // not admitted, or not there yet
    }
    for (const int64_t i : fresh) slots[i] = index_.insert(requests.row(i));
    return slots;
  }
  void prefetch_place(int64_t slot) const {
    if (slot < 0) return;
    const Index::Entry& entry = index_[slot];
    __builtin_prefetch(index_.utilities(slot));
    if (entry.live)
      prefetch_bytes(blocks_of(entry).weights(entry.address),
                     std::popcount(entry.live) * width_ * static_cast<int64_t>(sizeof(float)));
  }
  Utility* utilities(int64_t slot) { return index_.utilities(slot); }
  void touch(int64_t slot) { index_[slot].age = 0; }
  template <typename Use>
  void for_live(int64_t slot, const Use& use) {
    const Index::Entry& entry = index_[slot];
    if (!entry.live) return;
    Blocks& blocks = blocks_of(entry);
    float* weights = blocks.weights(entry.address);
    float* slots = blocks.slots(entry.address);
    for (uint32_t left = entry.live; left; left &= left - 1) {
      use(std::countr_zero(left), weights, slots);
      weights += width_;
      slots += slot_width_;
    }
  }

  void train(const std::vector<Lookups>& lookups, const Step& step) override {
    TORCH_CHECK(!frozen_, "a frozen table is not trained");
    TORCH_CHECK(slot_width_ == slots_of(step.rule, width_),
                "the optimizer's slots do not fit: call set_slots first");
    train_rows(*this, shape_, filter_, lookups, step);
  }

  int64_t slot_width() override { return slot_width_; }
  void set_slot_value(double value) override { slot_value_ = static_cast<float>(value); }
  void set_slots(int64_t width, double value) override {
    std::vector<Array<float>> room;
    for (const Blocks& blocks : blocks_) room.push_back(blocks.room_for_slots(width));
    slot_width_ = width;
    slot_value_ = static_cast<float>(value);
    for (size_t i = 0; i < blocks_.size(); ++i)
      blocks_[i].set_slots(std::move(room[i]), slot_width_, slot_value_);
  }

  // -- pruning --

  void scale_utilities(double factor) override {
    const float by = static_cast<float>(factor);
    in_parallel(index_.slots(), index_.slots(), [&](int64_t begin, int64_t end) {
      for (Utility* u = index_.utilities(begin); u != index_.utilities(end); ++u)
        *u = nearest_utility(value_of(*u) * by);
    });
  }

  at::Tensor age() override {
    std::vector<int64_t> expired, evicted;
    for (int64_t slot = 0; slot < index_.slots(); ++slot) {
      if (!index_.used(slot) || index_[slot].age < shape_.ttl) continue;
      expired.push_back(slot);
      for (uint32_t left = index_[slot].live; left; left &= left - 1)
        evicted.push_back(index_.row(slot) * k_ + std::countr_zero(left));
    }
    std::sort(evicted.begin(), evicted.end());
    const at::Tensor chunks = as_tensor(evicted);
    // Nothing throws from here on.
    for (int64_t slot = 0; slot < index_.slots(); ++slot)
      if (index_.used(slot) && index_[slot].age < shape_.ttl) ++index_[slot].age;
    for (const int64_t slot : expired) set_live(slot, 0);
    index_.remove(expired);
    return chunks;
  }

  at::Tensor histogram(Candidates of, Digit digit, const std::vector<Threshold>& prefix) override {
    if (of == Candidates::kRows) {
      return counted(1, int64_t{1} << digit.bits, index_.slots(),
                     [&](const auto& add, int64_t begin, int64_t end) {
                       for (int64_t slot = begin; slot < end; ++slot) {
                         const Utility best = best_without_live(slot);
                         if (best <= 0) continue;
                         const int64_t value = digit_of(digit, prefix[0], best, index_.row(slot));
                         if (value >= 0) add(0, value);
                       }
                     });
    }
    return counted(shape_.num_groups(), int64_t{1} << digit.bits, index_.slots(),
                   [&](const auto& add, int64_t begin, int64_t end) {
                     for_chunks(begin, end,
                                [&](int64_t q, int64_t group, Utility utility, bool live) {
                                  if (utility <= 0 && !live) return;
                                  const int64_t value = digit_of(digit, prefix[group], utility, q);
                                  if (value >= 0) add(group, value);
                                });
                   });
  }

  at::Tensor moves(const std::vector<Threshold>& keep) override {
    return counted(
        shape_.num_groups(), 2, index_.slots(), [&](const auto& add, int64_t begin, int64_t end) {
          for_chunks(begin, end, [&](int64_t q, int64_t group, Utility utility, bool live) {
            const bool kept = keep[group].keeps(utility, q);
            if (live && !kept) add(group, 0);
            if (!live && kept && utility > 0) add(group, 1);
          });
        });
  }

  // Evicts first, so that there is room for what is admitted.
  std::tuple<at::Tensor, at::Tensor, at::Tensor> apply(const std::vector<Threshold>& keep,
                                                       bool listed, bool with_weights) override {
    std::vector<int64_t> evicted, admitted;
    std::vector<float> weights;
    std::vector<Change> changes;
    for (int64_t slot = 0; slot < index_.slots(); ++slot) {
      if (!index_.used(slot)) continue;
      const Index::Entry& entry = index_[slot];
      const uint32_t live = entry.live, wanted = kept(slot, keep) & (live | with_utility(slot));
      if (wanted == live) continue;
      changes.push_back(
          {slot, static_cast<uint16_t>(live & wanted), static_cast<uint16_t>(wanted)});
      if (!listed) continue;
      for (uint32_t left = live & ~wanted; left; left &= left - 1) {
        const int j = std::countr_zero(left);
        evicted.push_back(index_.row(slot) * k_ + j);
        if (!with_weights) continue;
        const float* const w = blocks_of(entry).weights(entry.address) + rank(live, j) * width_;
        weights.insert(weights.end(), w, w + width_);
      }
      for (uint32_t left = wanted & ~live; left; left &= left - 1)
        admitted.push_back(index_.row(slot) * k_ + std::countr_zero(left));
    }
    std::sort(admitted.begin(), admitted.end());
    auto lists = sorted(evicted, admitted, weights, with_weights);
    const Room room(*this, most_blocks(changes));
    // Nothing throws from here on.
    for (const Change& change : changes)
      if (index_[change.slot].live != change.stays) set_live(change.slot, change.stays);
    for (const Change& change : changes)
      if (change.stays != change.wanted) set_live(change.slot, change.wanted);
    return lists;
  }

  void forget(Threshold keep) override {
    std::vector<int64_t> forgotten;
    for (int64_t slot = 0; slot < index_.slots(); ++slot) {
      if (!index_.used(slot) || index_[slot].live) continue;
      const Utility best = best_without_live(slot);
      if (!best || !keep.keeps(best, index_.row(slot))) forgotten.push_back(slot);
    }
    index_.remove(forgotten);
    give_back_heap(bytes_to_read());
  }

  // -- state --

  std::vector<at::Tensor> state() override {
    std::vector<int64_t> slots;
    for (int64_t slot = 0; slot < index_.slots(); ++slot)
      if (index_.used(slot) && known(slot)) slots.push_back(slot);
    std::sort(slots.begin(), slots.end(),
              [&](int64_t a, int64_t b) { return index_.row(a) < index_.row(b); });
    const int64_t n = static_cast<int64_t>(slots.size());
    const at::Tensor rows = at::empty({n}, at::kLong);
    const at::Tensor masks = at::empty({n}, at::kInt);
    const at::Tensor utilities = at::zeros({n, k_}, at::kBFloat16);
    const at::Tensor ages = at::zeros({n}, at::kInt);
    const at::Tensor weights = at::empty({live_, width_}, at::kFloat);
    const at::Tensor chunk_slots = at::empty({live_, slot_width_}, at::kFloat);
    Utility* u = stored(utilities);
    float* w = weights.mutable_data_ptr<float>();
    float* s = chunk_slots.mutable_data_ptr<float>();
    for (int64_t i = 0; i < n; ++i) {
      const Index::Entry& entry = index_[slots[i]];
      rows.mutable_data_ptr<int64_t>()[i] = index_.row(slots[i]);
      masks.mutable_data_ptr<int32_t>()[i] = entry.live;
      if (shape_.ttl) ages.mutable_data_ptr<int32_t>()[i] = entry.age;
      if (!frozen_) u = std::copy_n(index_.utilities(slots[i]), k_, u);
      for_live(slots[i], [&](int64_t, const float* from, const float* from_slots) {
        w = std::copy_n(from, width_, w);
        s = std::copy_n(from_slots, slot_width_, s);
      });
    }
    return {rows, masks, utilities, ages, weights, chunk_slots, filter_.counters(), filter_.seen()};
  }

  void load_state(const std::vector<at::Tensor>& state) override {
    const int64_t n = state[0].numel();
    const int64_t* const rows = state[0].const_data_ptr<int64_t>();
    const int32_t* const masks = state[1].const_data_ptr<int32_t>();
    const Utility* const utilities = stored(state[2]);
    const int32_t* const ages = state[3].const_data_ptr<int32_t>();
    const float* weights = state[4].const_data_ptr<float>();
    const float* slots = state[5].const_data_ptr<float>();
    std::vector<int64_t> blocks_of_size(k_ + 1);
    for (int64_t i = 0; i < n; ++i)
      ++blocks_of_size[std::popcount(static_cast<uint32_t>(masks[i]))];
    Index index(frozen_ ? 0 : k_);
    index.reserve(n);
    const Room room(*this, blocks_of_size);
    // Nothing throws from here on.
    index_ = std::move(index);
    for (Blocks& blocks : blocks_) blocks.clear();
    live_ = 0;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t slot = index_.insert(rows[i]);
      index_[slot].age = static_cast<uint16_t>(ages[i]);
      if (!frozen_) std::copy_n(utilities + i * k_, k_, index_.utilities(slot));
      set_live(slot, static_cast<uint32_t>(masks[i]));
      for_live(slot, [&](int64_t, float* to, float* to_slots) {
        std::copy_n(weights, width_, to);
        std::copy_n(slots, slot_width_, to_slots);
        weights += width_;
        slots += slot_width_;
      });
    }
    filter_.load(state[6], state[7]);
  }

  at::Tensor live_masks(const at::Tensor& rows) override {
    const at::Tensor masks = at::empty({rows.numel()}, at::kInt);
    const int64_t* const ids = rows.const_data_ptr<int64_t>();
    for (int64_t i = 0; i < rows.numel(); ++i)
      masks.mutable_data_ptr<int32_t>()[i] = index_[index_.find_or_end(ids[i])].live;
    return masks;
  }
  at::Tensor utilities(const at::Tensor& rows) override {
    const at::Tensor values = at::zeros({rows.numel(), k_}, at::kBFloat16);
    const int64_t* const ids = rows.const_data_ptr<int64_t>();
    for (int64_t i = 0; i < rows.numel(); ++i) {
      const int64_t slot = index_.find(ids[i]);
      if (slot >= 0 && !frozen_) std::copy_n(index_.utilities(slot), k_, stored(values) + i * k_);
    }
    return values;
  }
  int64_t live() override { return live_; }
  at::Tensor live_histogram() override {
    const at::Tensor rows = at::zeros({k_ + 1}, at::kLong);
    int64_t* const of = rows.mutable_data_ptr<int64_t>();
    for (int64_t m = 1; m <= k_; ++m) of[m] = blocks_[m - 1].size();
    of[0] = shape_.num_rows() - std::accumulate(of + 1, of + k_ + 1, int64_t{0});
    return rows;
  }

  c10::Dict<std::string, int64_t> bytes() override {
    int64_t weights = 0, slots = 0, owners = 0;
    for (const Blocks& blocks : blocks_) {
      weights += blocks.weight_bytes();
      slots += blocks.slot_bytes();
      owners += blocks.owner_bytes();
    }
    c10::Dict<std::string, int64_t> bytes;
    bytes.insert("weights", weights);
    bytes.insert("index", index_.bytes());
    bytes.insert("utilities", index_.utility_bytes());
    bytes.insert("owners", owners);
    bytes.insert("optimizer", slots);
    bytes.insert("other", filter_.bytes());
    return bytes;
  }

  void verify() override {
    int64_t live = 0, entries = 0;
    for (int64_t slot = 0; slot < index_.slots(); ++slot) {
      if (!index_.used(slot)) continue;
      const Index::Entry& entry = index_[slot];
      TORCH_CHECK(index_.find(index_.row(slot)) == slot, "row ", index_.row(slot), " is not found");
      TORCH_CHECK(entry.live <= all_, "row ", index_.row(slot), " has live chunks ", entry.live);
      for (int64_t j = 0; j < k_ && !frozen_; ++j) {
        const Utility utility = index_.utilities(slot)[j];
        TORCH_CHECK(utility >= 0 && utility <= kLargestUtility, "a utility of row ",
                    index_.row(slot), " is ", utility);
      }
      ++entries;
      live += std::popcount(entry.live);
      if (!entry.live) continue;
      const Blocks& blocks = blocks_of(entry);
      TORCH_CHECK(entry.address < blocks.size() && blocks.owner(entry.address) == index_.row(slot),
                  "the owner of the chunks of row ", index_.row(slot), " is another row");
    }
    int64_t in_blocks = 0;
    for (int64_t m = 1; m <= k_; ++m) in_blocks += m * blocks_[m - 1].size();
    TORCH_CHECK(
        entries == index_.size() && live == live_ && live == in_blocks && live <= shape_.capacity,
        live, " chunks of ", entries, " rows are live, ", live_, " of ", index_.size(),
        " were counted, ", in_blocks, " are stored, for ", shape_.capacity);
  }

 private:
  // Where the blocks of m chunks begin, for a look-up without their other members.
  struct Packed {
    const float* weights;
    int64_t stride;
  };

  // What a look-up reads, as forward() wants it.
  class Reader {
   public:
    // The packed chunks of a row, and which they are; weights of no chunk are not to be read.
    struct Place {
      const float* weights;
      uint32_t live;
    };

    explicit Reader(const Compact& table)
        : index_(table.index_),
          width_(table.width_),
          dim_(table.shape_.dim),
          all_(table.all_),
          bytes_to_read_(table.bytes_to_read()) {
      for (int64_t m = 1; m <= table.k_; ++m)
        packed_[m] = {table.blocks_[m - 1].weights(0), m * width_};
    }

    void prefetch(int64_t row) const { index_.prefetch(row); }
    int64_t find(int64_t row) const { return index_.find_or_end(row); }
    void prefetch_found(int64_t slot) const { __builtin_prefetch(&index_[slot]); }
    Place locate(int64_t slot) const {
      const Index::Entry& entry = index_[slot];
      const Packed& packed = packed_[std::popcount(entry.live)];
      return {packed.weights + entry.address * packed.stride, entry.live};
    }
    void prefetch(const Place& place) const {
      prefetch_bytes(place.weights, std::popcount(place.live) * width_ * sizeof(float));
    }
    void add(const Place& place, float* out) const {
      if (place.live == all_) return add_chunk(place.weights, dim_, out);
      const float* from = place.weights;
      for (uint32_t left = place.live; left; left &= left - 1, from += width_)
        add_chunk(from, width_, out + std::countr_zero(left) * width_);
    }
#ifdef MIRROR_FIITED_WIDE
    template <int kRegisters>
    void add(const Place& place, Registers<kRegisters>& sums) const {
      add_packed(place.weights, place.live, width_, sums);
    }
#endif
    int64_t bytes_to_read() const { return bytes_to_read_; }

   private:
    const Index& index_;
    int64_t width_;
    int64_t dim_;
    uint32_t all_;
    int64_t bytes_to_read_;
    std::array<Packed, kMaxChunks + 1> packed_{};
  };

  // A row whose live chunks change: first evicted, later admitted.
  struct Change {
    int64_t slot;
    uint16_t stays;
    uint16_t wanted;
  };

  // Room for so many blocks of m chunks, kept for as long as this lives: chunks then move without
  // asking for memory.
  class Room {
   public:
    Room(Compact& table, const std::vector<int64_t>& blocks) : blocks_(table.blocks_) {
      try {
        for (size_t m = 1; m < blocks.size(); ++m) {
          blocks_[m - 1].reserve(blocks[m]);
          blocks_[m - 1].keep_room(true);
        }
      } catch (...) {
        give_up();
        throw;
      }
    }
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;
    ~Room() { give_up(); }

   private:
    void give_up() noexcept {
      for (Blocks& blocks : blocks_) blocks.keep_room(false);
    }
    std::vector<Blocks>& blocks_;
  };

  // The most blocks of m chunks that there are at a time while changes are made.
  std::vector<int64_t> most_blocks(const std::vector<Change>& changes) const {
    std::vector<int64_t> now(k_ + 1), most;
    for (int64_t m = 1; m <= k_; ++m) now[m] = blocks_[m - 1].size();
    most = now;
    int64_t live = live_;
    const auto change = [&](int from, int to) {
      if (from == to) return;
      if (to) most[to] = std::max(most[to], ++now[to]);
      if (from) --now[from];
      live += to - from;
    };
    for (const Change& c : changes)
      change(std::popcount(index_[c.slot].live), std::popcount(c.stays));
    for (const Change& c : changes) change(std::popcount(c.stays), std::popcount(c.wanted));
    TORCH_CHECK(live <= shape_.capacity, "thresholds let in more chunks than the ", shape_.capacity,
                " that may live");
    return most;
  }

  int64_t bytes_to_read() const {
    return index_.bytes() + live_ * width_ * static_cast<int64_t>(sizeof(float));
  }

  Blocks& blocks_of(const Index::Entry& entry) { return blocks_[std::popcount(entry.live) - 1]; }
  const Blocks& blocks_of(const Index::Entry& entry) const {
    return blocks_[std::popcount(entry.live) - 1];
  }
  // Live chunks before chunk j.
  static int rank(uint32_t live, int j) { return std::popcount(live & ((uint32_t{1} << j) - 1)); }

  bool known(int64_t slot) const { return index_[slot].live || (!frozen_ && with_utility(slot)); }
  uint32_t with_utility(int64_t slot) const {
    uint32_t chunks = 0;
    for (int64_t j = 0; j < k_; ++j) chunks |= uint32_t{index_.utilities(slot)[j] > 0} << j;
    return chunks;
  }
  // The row's best utility, or 0 where it has a live chunk or the slot is empty.
  Utility best_without_live(int64_t slot) const {
    if (!index_.used(slot) || index_[slot].live) return 0;
    return *std::max_element(index_.utilities(slot), index_.utilities(slot) + k_);
  }
  int64_t group_of(int64_t row, int64_t j) const {
    if (shape_.scope == Scope::kGlobal) return 0;
    return shape_.scope == Scope::kColumn ? j : shape_.table_of(row);
  }
  uint32_t kept(int64_t slot, const std::vector<Threshold>& keep) const {
    const int64_t row = index_.row(slot);
    uint32_t chunks = 0;
    for (int64_t j = 0; j < k_; ++j) {
      const Threshold& threshold = keep[group_of(row, j)];
      chunks |= uint32_t{threshold.keeps(index_.utilities(slot)[j], row * k_ + j)} << j;
    }
    return chunks;
  }
  // Calls use(q, group, utility, live) for the chunks of the rows in slots [begin, end).
  template <typename Use>
  void for_chunks(int64_t begin, int64_t end, const Use& use) const {
    for (int64_t slot = begin; slot < end; ++slot) {
      if (!index_.used(slot)) continue;
      const int64_t row = index_.row(slot);
      const int64_t table = shape_.scope == Scope::kTable ? shape_.table_of(row) : 0;
      for (int64_t j = 0; j < k_; ++j)
        use(row * k_ + j, shape_.scope == Scope::kColumn ? j : table, index_.utilities(slot)[j],
            index_[slot].live >> j & 1);
    }
  }

  // Gives a row other live chunks: those that stay keep what they hold, new ones begin at zero.
  void set_live(int64_t slot, uint32_t live) {
    const Index::Entry before = index_[slot];
    Index::Entry& entry = index_[slot];
    if (live) {
      Blocks& to = blocks_[std::popcount(live) - 1];
      entry.address = static_cast<uint32_t>(to.add(static_cast<uint32_t>(index_.row(slot))));
      for (uint32_t left = live; left; left &= left - 1) {
        const int j = std::countr_zero(left), at = rank(live, j);
        float* const weights = to.weights(entry.address) + at * width_;
        float* const slots = to.slots(entry.address) + at * slot_width_;
        if (before.live >> j & 1) {
          Blocks& from = blocks_of(before);
          const int was = rank(before.live, j);
          std::copy_n(from.weights(before.address) + was * width_, width_, weights);
          std::copy_n(from.slots(before.address) + was * slot_width_, slot_width_, slots);
        } else {
          std::fill_n(slots, slot_width_, slot_value_);
        }
      }
    }
    entry.live = static_cast<uint16_t>(live);
    if (before.live) {
      const uint32_t moved = blocks_of(before).remove(before.address, Index::kNone);
      if (moved != Index::kNone) index_[index_.find(moved)].address = before.address;
    }
    live_ += std::popcount(live) - std::popcount(before.live);
  }

  // In order of the virtual chunks.
  std::tuple<at::Tensor, at::Tensor, at::Tensor> sorted(const std::vector<int64_t>& evicted,
                                                        const std::vector<int64_t>& admitted,
                                                        const std::vector<float>& weights,
                                                        bool with_weights) const {
    const at::Tensor order = as_tensor(evicted).argsort();
    at::Tensor their_weights = as_tensor(weights).view({-1, width_});
    if (with_weights) their_weights = their_weights.index_select(0, order);
    return {as_tensor(evicted).index_select(0, order), as_tensor(admitted), their_weights};
  }

  int64_t k_;
  int64_t width_;
  uint32_t all_;  // every chunk live
  int64_t slot_width_ = 0;
  float slot_value_ = 0;
  AdmissionFilter filter_;
  bool frozen_;
  Index index_;
  std::vector<Blocks> blocks_;  // by the number of live chunks, from 1 on
  int64_t live_ = 0;
};

}  // namespace

c10::intrusive_ptr<Storage> make_compact(Shape shape, bool frozen) {
  TORCH_CHECK_VALUE(shape.num_rows() < Index::kNone,
                    "the compact layout takes fewer than 2^32 - 1 rows, not ", shape.num_rows());
  return c10::make_intrusive<Compact>(std::move(shape), frozen);
}

}  // namespace mirror::fiited
