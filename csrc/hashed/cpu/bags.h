// The bags of a call, in runs of rows whose codes are known: what pooling and gradients share. Part
// of what is compiled once per instruction set, so everything is in an unnamed namespace.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "hashed/cpu/codes.h"
#include "hashed/cpu/rows.h"
#include "hashed/cpu/vectors.h"

namespace mirror::hashed {
namespace {

// The rows of one bag among those whose codes are known.
template <typename T, typename code_t>
struct RunOf {
  int64_t first;            // position of its first id
  const int64_t* rows;      // (count,), the ids
  const T* sample_weights;  // (count,), or null
  const code_t* codes;      // of its first row: see Codes::row_step and place_step
  int64_t count;
  bool opens, closes;  // whether it starts its bag, and ends it
};

template <typename Element, typename Code, bool with_signs>
class Bags {
 public:
  using T = Element;
  using code_t = Code;
  using A = Sum<T>;
  using Run = RunOf<T, code_t>;

 protected:
  static constexpr bool signs = with_signs;

  explicit Bags(const Call& call)
      : call_(call),
        layout_(*call.layout),
        weight_(static_cast<const T*>(call.weight)),
        padded_((layout_.dim + kLanes - 1) / kLanes * kLanes),
        codes_(layout_),
        row_step_(codes_.row_step()),
        place_step_(codes_.place_step()) {}

  MIRROR_INLINE bool skips(int64_t row) const { return row == call_.padding; }

  // Calls body(bag, run); an empty bag has one run.
  template <typename Body>
  void for_each_run(int64_t first, int64_t last, const Body& body) {
    const T* sample_weights = static_cast<const T*>(call_.sample_weights);
    const int64_t end = first < last ? call_.end(last - 1) : 0;
    int64_t known_from = 0, known_to = 0;  // ids whose codes are at hand
    const code_t* codes = nullptr;
    for (int64_t bag = first; bag < last; ++bag) {
      const int64_t begin = call_.begin(bag), stop = call_.end(bag);
      int64_t at = begin;
      do {
        if (at == known_to || codes == nullptr) {
          if (at < stop) {
            known_from = at;
            known_to = std::min(end, at + codes_.capacity());
            codes = codes_.of(call_, known_from, known_to - known_from);
          }
        }
        const int64_t count = at < stop ? std::min(stop, known_to) - at : 0;
        const Run run{at,
                      codes_.rows() + (at - known_from),
                      sample_weights ? sample_weights + at : nullptr,
                      codes + (at - known_from) * row_step_,
                      count,
                      at == begin,
                      at + count == stop};
        body(bag, run);
        at += count;
      } while (at < stop);
    }
  }

  // Elements of the run's row i from dimension d on, which is a multiple of their number.
  template <int64_t lanes>
  MIRROR_INLINE Vector<A, lanes> elements(const Run& run, int64_t i, int64_t d) const {
    const code_t* codes = run.codes + i * row_step_;
    if (layout_.whole_blocks) {
      const int64_t block = d / layout_.block;
      return block_elements<lanes>(codes[block * place_step_], d - block * layout_.block);
    }
    if constexpr (lanes == kLanes) return gather_codes<signs>(weight_, codes + d);
    __builtin_unreachable();
  }

  // Elements of a block, `within` elements behind its start.
  template <int64_t lanes>
  MIRROR_INLINE Vector<A, lanes> block_elements(code_t code, int64_t within) const {
    const int64_t start = signs ? code >> 1 : code;
    Vector<A, lanes> v;
    if (start <= layout_.num_slots - lanes - within) [[likely]] {
      v = load<lanes>(weight_ + within + start);
    } else {
      for (int64_t k = 0; k < lanes; ++k) {
        const int64_t slot = start + within + k;
        v[k] = widen(weight_[slot < layout_.num_slots ? slot : slot - layout_.num_slots]);
      }
    }
    if constexpr (signs) v *= sign_of(code);
    return v;
  }

  static MIRROR_INLINE A sign_of(code_t code) { return kSigns[code & 1]; }

  // The ids of a bag that take part.
  int64_t members(int64_t bag) const {
    const int64_t begin = call_.begin(bag), end = call_.end(bag);
    if (call_.padding < 0) return end - begin;
    return end - begin -
           (call_.narrow_ids ? paddings<int32_t>(begin, end) : paddings<int64_t>(begin, end));
  }

  const Call& call_;
  const Layout& layout_;
  const T* weight_;
  int64_t padded_;  // dim, to whole vectors
  Codes<code_t> codes_;
  int64_t row_step_, place_step_;

 private:
  template <typename index_t>
  int64_t paddings(int64_t begin, int64_t end) const {
    const index_t* ids = static_cast<const index_t*>(call_.ids);
    const index_t padding = static_cast<index_t>(call_.padding);
    return padding == call_.padding ? std::count(ids + begin, ids + end, padding) : 0;
  }

  static constexpr A kSigns[2] = {1, -1};
};

}  // namespace
}  // namespace mirror::hashed
