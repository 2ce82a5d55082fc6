// The flat form: an address and a utility for every virtual chunk, and one pool of chunks. Quick,
// and as large in metadata as there are virtual rows.
#include <ATen/ops/empty.h>

#include <algorithm>
#include <limits>
#include <mutex>

#include "fiited/cpu/array.h"
#include "fiited/cpu/counting.h"
#include "fiited/cpu/forward.h"
#include "fiited/cpu/train.h"

namespace mirror::fiited {
namespace {

constexpr int64_t kRowsPerPart = 1 << 16;

class Flat final : public Storage {
 public:
  using Place = const int32_t*;  // addresses of the row's chunks

  explicit Flat(Shape shape)
      : Storage(std::move(shape)),
        k_(shape_.num_chunks),
        width_(shape_.width()),
        filter_(shape_.admission, shape_.capacity / shape_.num_chunks),
        address_(virtual_chunks()),
        utility_(virtual_chunks()),
        weights_((shape_.capacity + 1) * width_),
        owner_(shape_.capacity + 1) {
    address_.resize(virtual_chunks());
    utility_.resize(virtual_chunks());
    if (shape_.ttl) {
      age_ = Array<uint16_t>(shape_.num_rows());
      age_.resize(shape_.num_rows());
    }
    reserve(1);
    clear();
  }

  // -- reading --

  void prefetch(int64_t row) const { __builtin_prefetch(address_.data() + row * k_); }
  int64_t find(int64_t row) const { return row; }
  void prefetch_found(int64_t) const {}
  Place locate(int64_t row) const { return address_.data() + row * k_; }
  void prefetch(Place place) const {
    for (int64_t j = 0; j < k_; ++j)
      prefetch_bytes(weights_.data() + place[j] * width_, width_ * sizeof(float));
  }
  // A missing chunk is the null chunk, whose weights are zero.
  void add(Place place, float* out) const {
    for (int64_t j = 0; j < k_; ++j)
      add_chunk(weights_.data() + place[j] * width_, width_, out + j * width_);
  }

#ifdef MIRROR_FIITED_WIDE
  template <int kRegisters>
  void add(Place place, Registers<kRegisters>& sums) const {
    add_apart(weights_.data(), place, width_, sums);
  }
#endif

  int64_t bytes_to_read() const { return address_.bytes() + weights_.bytes(); }

  at::Tensor forward(const at::Tensor& rows, const at::Tensor& offsets, bool mean) override {
    return fiited::forward(*this, shape_, rows, offsets, mean);
  }

  // -- training --

  static bool admitted(int64_t row) { return row >= 0; }
  std::vector<int64_t> enter(const Requests& requests, AdmissionFilter& filter) {
    std::vector<int64_t> places(requests.size());
    for (int64_t i = 0; i < requests.size(); ++i) {
      const int64_t row = requests.row(i);
      const bool enters = !filter.counts() || known(row) || filter.admits(row, requests.count(i));
      places[i] = enters ? row : -1;
    }
    return places;
  }
  void prefetch_place(int64_t row) const {
    if (row < 0) return;
    __builtin_prefetch(utility_.data() + row * k_);
    prefetch(locate(row));
  }
  Utility* utilities(int64_t row) { return utility_.data() + row * k_; }
  void touch(int64_t row) {
    if (age_.size()) age_[row] = 0;
  }
  template <typename Use>
  void for_live(int64_t row, const Use& use) {
    for (int64_t j = 0; j < k_; ++j) {
      const int64_t at = address_[row * k_ + j];
      if (at) use(j, weights_.data() + at * width_, slots_.data() + at * slot_width_);
    }
  }

  void train(const std::vector<Lookups>& lookups, const Step& step) override {
    TORCH_CHECK(slot_width_ == slots_of(step.rule, width_),
                "the optimizer's slots do not fit: call set_slots first");
    known_changed();
    train_rows(*this, shape_, filter_, lookups, step);
  }

  int64_t slot_width() override { return slot_width_; }
  void set_slot_value(double value) override { slot_value_ = static_cast<float>(value); }
  void set_slots(int64_t width, double value) override {
    Array<float> slots((shape_.capacity + 1) * width);
    slots.reserve(used_ * width);
    // Nothing throws from here on.
    slot_width_ = width;
    slot_value_ = static_cast<float>(value);
    slots_ = Array<float>();
    slots_ = std::move(slots);
    slots_.resize(used_ * width);
    std::fill(slots_.data(), slots_.data() + slots_.size(), slot_value_);
  }

  // -- pruning --

  void scale_utilities(double factor) override {
    known_changed();
    const float by = static_cast<float>(factor);
    in_parallel(utility_.size(), utility_.size(), [&](int64_t begin, int64_t end) {
      Utility* const u = utility_.data();
      for (int64_t q = begin; q < end; ++q) u[q] = nearest_utility(value_of(u[q]) * by);
    });
  }

  at::Tensor age() override {
    std::vector<int64_t> evicted;
    for (int64_t row = 0; row < shape_.num_rows(); ++row) {
      if (age_[row] < shape_.ttl) continue;
      for (int64_t q = row * k_; q < (row + 1) * k_; ++q)
        if (address_[q]) evicted.push_back(q);
    }
    const at::Tensor chunks = as_tensor(evicted);
    // Nothing throws from here on.
    known_changed();
    for (const int64_t q : evicted) evict(q);
    for (int64_t row = 0; row < shape_.num_rows(); ++row) {
      if (age_[row] >= shape_.ttl) {
        std::fill_n(utility_.data() + row * k_, k_, Utility{0});
      } else {
        ++age_[row];
      }
    }
    return chunks;
  }

  at::Tensor histogram(Candidates of, Digit digit, const std::vector<Threshold>& prefix) override {
    const int64_t values = int64_t{1} << digit.bits;
    if (of == Candidates::kRows) {
      return counted(1, values, num_known(), [&](const auto& add, int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t row = known_[i];
          const Utility best = best_without_live(row);
          if (!best) continue;
          const int64_t value = digit_of(digit, prefix[0], best, row);
          if (value >= 0) add(0, value);
        }
      });
    }
    return counted(shape_.num_groups(), values, num_known(),
                   [&](const auto& add, int64_t begin, int64_t end) {
                     for_candidates(begin, end, [&](int64_t q, int64_t group) {
                       const int64_t value = digit_of(digit, prefix[group], utility_[q], q);
                       if (value >= 0) add(group, value);
                     });
                   });
  }

  at::Tensor moves(const std::vector<Threshold>& keep) override {
    return counted(shape_.num_groups(), 2, num_known(),
                   [&](const auto& add, int64_t begin, int64_t end) {
                     for_candidates(begin, end, [&](int64_t q, int64_t group) {
                       const bool kept = keep[group].keeps(utility_[q], q);
                       if (kept != (address_[q] != 0)) add(group, kept);
                     });
                   });
  }

  std::tuple<at::Tensor, at::Tensor, at::Tensor> apply(const std::vector<Threshold>& keep,
                                                       bool listed, bool with_weights) override {
    std::vector<int64_t> evicted, admitted;
    std::vector<float> weights;
    for_candidates(0, num_known(), [&](int64_t q, int64_t group) {
      const bool kept = keep[group].keeps(utility_[q], q);
      if (kept != (address_[q] != 0)) (kept ? admitted : evicted).push_back(q);
    });
    for (const int64_t q : evicted) {
      if (!with_weights) break;
      const float* const w = weights_.data() + address_[q] * width_;
      weights.insert(weights.end(), w, w + width_);
    }
    const std::vector<int64_t> none;
    std::tuple lists{as_tensor(listed ? evicted : none), as_tensor(listed ? admitted : none),
                     as_tensor(weights).view({-1, width_})};
    const int64_t live =
        live_ + static_cast<int64_t>(admitted.size()) - static_cast<int64_t>(evicted.size());
    TORCH_CHECK(live <= shape_.capacity, "thresholds let in more chunks than the ", shape_.capacity,
                " that may live");
    reserve(std::max(used_, live + 1));
    // Nothing throws from here on.
    for (const int64_t q : evicted) evict(q);
    for (const int64_t q : admitted) admit(q);
    return lists;
  }

  void forget(Threshold keep) override {
    const int64_t n = num_known();
    in_parallel(n, n, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t row = known_[i];
        const Utility best = best_without_live(row);
        if (best && !keep.keeps(best, row)) std::fill_n(utility_.data() + row * k_, k_, Utility{0});
      }
    });
    known_changed();
    give_back_heap(bytes_to_read());
  }

  // -- state --

  std::vector<at::Tensor> state() override {
    const std::vector<int64_t> rows = find_known();
    const int64_t n = static_cast<int64_t>(rows.size());
    const at::Tensor which = as_tensor(rows);
    const at::Tensor ages = at::zeros({n}, at::kInt);
    const at::Tensor weights = at::empty({live(), width_}, at::kFloat);
    const at::Tensor slots = at::empty({live(), slot_width_}, at::kFloat);
    float* w = weights.mutable_data_ptr<float>();
    float* s = slots.mutable_data_ptr<float>();
    int32_t* const age = ages.mutable_data_ptr<int32_t>();
    for (int64_t i = 0; i < n; ++i) {
      if (age_.size()) age[i] = age_[rows[i]];
      for_live(rows[i], [&](int64_t, const float* from, const float* from_slots) {
        w = std::copy(from, from + width_, w);
        s = std::copy(from_slots, from_slots + slot_width_, s);
      });
    }
    return {which, live_masks(which),  utilities(which), ages, weights,
            slots, filter_.counters(), filter_.seen()};
  }

  void load_state(const std::vector<at::Tensor>& state) override {
    const int64_t* const rows = state[0].const_data_ptr<int64_t>();
    const int32_t* const masks = state[1].const_data_ptr<int32_t>();
    const Utility* const utilities = stored(state[2]);
    const int32_t* const ages = state[3].const_data_ptr<int32_t>();
    const float* weights = state[4].const_data_ptr<float>();
    const float* slots = state[5].const_data_ptr<float>();
    reserve(std::max(used_, state[5].size(0) + 1));
    // Nothing throws from here on.
    keep_room(true);
    clear();
    for (int64_t i = 0; i < state[0].numel(); ++i) {
      if (age_.size()) age_[rows[i]] = static_cast<uint16_t>(ages[i]);
      for (int64_t j = 0; j < k_; ++j) {
        const int64_t q = rows[i] * k_ + j;
        utility_[q] = utilities[i * k_ + j];
        if (!(masks[i] >> j & 1)) continue;
        const int64_t at = admit(q);
        std::copy(weights, weights + width_, weights_.data() + at * width_);
        std::copy(slots, slots + slot_width_, slots_.data() + at * slot_width_);
        weights += width_;
        slots += slot_width_;
      }
    }
    keep_room(false);
    filter_.load(state[6], state[7]);
  }

  at::Tensor live_masks(const at::Tensor& rows) override {
    const at::Tensor masks = at::empty({rows.numel()}, at::kInt);
    const int64_t* const ids = rows.const_data_ptr<int64_t>();
    int32_t* const out = masks.mutable_data_ptr<int32_t>();
    for (int64_t i = 0; i < rows.numel(); ++i) out[i] = mask_of(ids[i]);
    return masks;
  }
  at::Tensor utilities(const at::Tensor& rows) override {
    const at::Tensor values = at::empty({rows.numel(), k_}, at::kBFloat16);
    const int64_t* const ids = rows.const_data_ptr<int64_t>();
    Utility* out = stored(values);
    for (int64_t i = 0; i < rows.numel(); ++i) {
      const Utility* const from = utility_.data() + ids[i] * k_;
      out = std::copy(from, from + k_, out);
    }
    return values;
  }
  int64_t live() override { return live_; }
  at::Tensor live_histogram() override {
    return counted(1, k_ + 1, shape_.num_rows(),
                   [&](const auto& add, int64_t begin, int64_t end) {
                     for (int64_t row = begin; row < end; ++row)
                       add(0, __builtin_popcount(mask_of(row)));
                   })
        .view({-1});
  }

  c10::Dict<std::string, int64_t> bytes() override {
    c10::Dict<std::string, int64_t> bytes;
    bytes.insert("weights", weights_.bytes());
    bytes.insert("index", address_.bytes());
    bytes.insert("utilities", utility_.bytes());
    bytes.insert("owners", owner_.bytes());
    bytes.insert("optimizer", slots_.bytes());
    bytes.insert("other", age_.bytes() + filter_.bytes());
    return bytes;
  }

  void verify() override {
    int64_t live = 0, free = 0;
    for (int64_t q = 0; q < virtual_chunks(); ++q) {
      if (!address_[q]) continue;
      TORCH_CHECK(owner_[address_[q]] == q, "owner[address[q]] is ", owner_[address_[q]],
                  " for q = ", q);
      ++live;
    }
    for (int64_t at = free_; at; at = -1 - owner_[at]) ++free;
    const int64_t never_used = shape_.capacity + 1 - used_;
    TORCH_CHECK(live == live_ && live + free + never_used == shape_.capacity, "of ",
                shape_.capacity, " chunks ", live, " are live and ", free + never_used, " free");
    for (int64_t d = 0; d < width_; ++d)
      TORCH_CHECK(weights_[d] == 0, "the null chunk holds ", weights_[d]);
    for (int64_t q = 0; q < virtual_chunks(); ++q)
      TORCH_CHECK(utility_[q] >= 0 && utility_[q] <= kLargestUtility, "the utility of ", q, " is ",
                  utility_[q]);
  }

 private:
  int64_t virtual_chunks() const { return shape_.num_rows() * shape_.num_chunks; }

  // Room for so many physical chunks, the null chunk among them; as that of Array.
  void reserve(int64_t chunks) {
    weights_.reserve(chunks * width_);
    slots_.reserve(chunks * slot_width_);
    owner_.reserve(chunks);
  }
  void keep_room(bool keep) noexcept {
    weights_.keep_room(keep);
    slots_.keep_room(keep);
    owner_.keep_room(keep);
  }

  // Does not throw, since there is room for the null chunk.
  void clear() {
    known_changed();
    std::fill_n(address_.data(), address_.size(), 0);
    std::fill_n(utility_.data(), utility_.size(), Utility{0});
    live_ = free_ = 0;
    used_ = 1;  // the null chunk
    weights_.resize(0);
    weights_.resize(width_);
    slots_.resize(0);
    slots_.resize(slot_width_);
    owner_.resize(0);
    owner_.resize(1);
    std::fill_n(age_.data(), age_.size(), kNeverLookedUp);
  }

  // Known rows are few of all, and looked for once for all counts of a prune event.
  // Those who only read the table may ask at the same time.
  int64_t num_known() {
    const std::lock_guard lock(finding_);
    if (known_.empty()) known_ = find_known();
    return static_cast<int64_t>(known_.size());
  }
  std::vector<int64_t> find_known() const {
    const int64_t rows = shape_.num_rows(), parts = (rows + kRowsPerPart - 1) / kRowsPerPart;
    std::vector<std::vector<int64_t>> found(parts);
    pieces(parts, [&](int64_t part) {
      const int64_t end = std::min(rows, (part + 1) * kRowsPerPart);
      for (int64_t row = part * kRowsPerPart; row < end; ++row)
        if (known(row)) found[part].push_back(row);
    });
    std::vector<int64_t> all;
    for (const auto& part : found) all.insert(all.end(), part.begin(), part.end());
    return all;
  }
  void known_changed() { std::vector<int64_t>().swap(known_); }  // = {} would keep its memory

  // Calls use(q, group) for the chunks of known rows [begin, end) that live or have a utility, in
  // order.
  template <typename Use>
  void for_candidates(int64_t begin, int64_t end, const Use& use) const {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = known_[i];
      const int64_t table = shape_.scope == Scope::kTable ? shape_.table_of(row) : 0;
      for (int64_t j = 0; j < k_; ++j) {
        const int64_t q = row * k_ + j;
        if (utility_[q] || address_[q]) use(q, shape_.scope == Scope::kColumn ? j : table);
      }
    }
  }

  int32_t mask_of(int64_t row) const {
    int32_t mask = 0;
    for (int64_t j = 0; j < k_; ++j) mask |= int32_t{address_[row * k_ + j] != 0} << j;
    return mask;
  }
  bool known(int64_t row) const {
    int32_t any = 0;
    for (int64_t q = row * k_; q < (row + 1) * k_; ++q) any |= address_[q] | utility_[q];
    return any;
  }
  // The row's best utility, or 0 where it has a live chunk.
  Utility best_without_live(int64_t row) const {
    Utility best = 0;
    for (int64_t q = row * k_; q < (row + 1) * k_; ++q) {
      if (address_[q]) return 0;
      best = std::max(best, utility_[q]);
    }
    return best;
  }

  // Pops an address, zeroes its weights and makes its slots anew.
  int64_t admit(int64_t q) {
    int64_t at = free_;
    if (at) {
      free_ = -1 - owner_[at];
    } else {
      reserve(used_ + 1);
      at = used_++;
      weights_.resize(used_ * width_);
      slots_.resize(used_ * slot_width_);
      owner_.resize(used_);
    }
    std::fill_n(weights_.data() + at * width_, width_, 0.0f);
    std::fill_n(slots_.data() + at * slot_width_, slot_width_, slot_value_);
    owner_[at] = static_cast<int32_t>(q);
    address_[q] = static_cast<int32_t>(at);
    ++live_;
    return at;
  }
  void evict(int64_t q) {
    const int32_t at = address_[q];
    owner_[at] = -1 - static_cast<int32_t>(free_);
    free_ = at;
    address_[q] = 0;
    --live_;
  }

  int64_t k_;
  int64_t width_;
  int64_t slot_width_ = 0;
  float slot_value_ = 0;
  AdmissionFilter filter_;
  Array<int32_t> address_;  // of virtual chunks; 0 is the null chunk
  Array<Utility> utility_;  // of virtual chunks
  Array<float> weights_;    // of physical chunks
  Array<float> slots_;
  Array<int32_t> owner_;        // virtual chunk of a live one; -1 - the next free one of a free one
  std::vector<int64_t> known_;  // rows with a live chunk or a utility; empty when not looked for
  std::mutex finding_;          // them
  Array<uint16_t> age_;         // of rows; empty where they do not age
  int64_t used_ = 1;            // physical chunks that were ever used, the null chunk among them
  int64_t free_ = 0;            // top of the stack of free ones; 0 at its end
  int64_t live_ = 0;
};

}  // namespace

c10::intrusive_ptr<Storage> make_flat(Shape shape) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max() - 1;
  TORCH_CHECK_VALUE(shape.num_rows() <= kMost / shape.num_chunks,
                    "the flat layout takes fewer than 2^31 virtual chunks, not ", shape.num_rows(),
                    " rows of ", shape.num_chunks, ": use layout=\"compact\"");
  return c10::make_intrusive<Flat>(std::move(shape));
}

}  // namespace mirror::fiited
