// The kernels of the hashed embedding bag for one instruction set: included by a file that is
// compiled for it and names it. See hashed_rows.h for what they compute.
//
// The codes of many rows are found first (hashed_codes.h); a bag's rows among them, a run, are then
// added up a tile of dimensions at a time, which stays in registers from a bag's first row to its
// last where it is one run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "hashed_codes.h"
#include "hashed_rows.h"
#include "hashed_vectors.h"

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

// Whole numbers of the size of a sum, for comparisons in vector registers.
template <typename A>
using Integer = std::conditional_t<sizeof(A) == 8, int64_t, int32_t>;

template <typename T, typename code_t, bool signs>
class Bags {
 public:
  using A = Sum<T>;
  using V = Vector<A>;
  using Run = RunOf<T, code_t>;

  explicit Bags(const Call& call)
      : call_(call),
        layout_(*call.layout),
        weight_(static_cast<const T*>(call.weight)),
        grad_(static_cast<const T*>(call.grad)),
        padded_((layout_.dim + kLanes - 1) / kLanes * kLanes),
        codes_(layout_),
        row_step_(codes_.row_step()),
        place_step_(codes_.place_step()),
        sums_(padded_) {}

  void pool(int64_t first, int64_t last, T* output) {
    if (call_.padding < 0 && !call_.sample_weights) {
      pool_bags<true>(first, last, output);
    } else {
      pool_bags<false>(first, last, output);
    }
  }

  void pool_max(int64_t first, int64_t last, T* output, code_t* winners) {
    if (winners) {
      max_of_bags<true>(first, last, output, winners);
    } else {
      max_of_bags<false>(first, last, output, winners);
    }
  }

  void scatter(int64_t first, int64_t last, A* target, int64_t low, int64_t high) {
    const bool all = low == 0 && high == layout_.num_slots;
    std::vector<A> share(padded_), row(padded_);
    for_each_run(first, last, [&](int64_t bag, const Run& run) {
      if (run.opens) grad_of(bag, share.data());
      for (int64_t i = 0; i < run.count; ++i) {
        if (skips(run.rows[i])) continue;
        const A* add = share.data();
        if (run.sample_weights) {
          const A factor = widen(run.sample_weights[i]);
          for (int64_t d = 0; d < padded_; ++d) row[d] = share[d] * factor;
          add = row.data();
        }
        const code_t* codes = run.codes + i * row_step_;
        if (layout_.whole_blocks) {
          scatter_blocks(codes, add, target, low, high);
        } else if (all) {
          scatter_all(codes, add, target);
        } else {
          scatter_own(codes, add, target, low, high);
        }
      }
    });
  }

  void sample_gradient(int64_t first, int64_t last, T* gradient) {
    std::vector<A> share(padded_);
    for_each_run(first, last, [&](int64_t bag, const Run& run) {
      if (run.opens) grad_of(bag, share.data());
      for (int64_t i = 0; i < run.count; ++i) {
        V sum{};
        if (!skips(run.rows[i])) {
          for (int64_t d = 0; d < padded_; d += kLanes) {
            V product = elements<kLanes>(run, i, d) * load_raw<V>(share.data() + d);
            // Nor may a NaN get in from behind the last dimension.
            for (int64_t k = layout_.dim - d; k < kLanes; ++k) product[k] = 0;
            sum += product;
          }
        }
        A total = 0;
        for (int64_t k = 0; k < kLanes; ++k) total += sum[k];
        gradient[run.first + i] = narrow<T>(total);
      }
    });
  }

 private:
  MIRROR_INLINE bool skips(int64_t row) const { return row == call_.padding; }

  template <bool plain>
  void pool_bags(int64_t first, int64_t last, T* output) {
    for_each_run(first, last, [&](int64_t bag, const Run& run) {
      const bool divide = run.closes && call_.mode == Pool::kMean;
      const A divisor = divide ? static_cast<A>(std::max<int64_t>(1, members(bag))) : A(1);
      tiles([&](auto lanes, auto width, int64_t d) {
        add<lanes(), width(), plain>(run, d, divisor, output + bag * layout_.dim);
      });
    });
  }

  template <bool wanted>
  void max_of_bags(int64_t first, int64_t last, T* output, code_t* winners) {
    std::vector<code_t> winner(padded_);
    std::vector<Integer<A>> won(padded_);
    bool started = false;
    for_each_run(first, last, [&](int64_t bag, const Run& run) {
      if (run.opens) started = false;
      int64_t from = 0;
      while (from < run.count && skips(run.rows[from])) ++from;
      if (from < run.count) {
        tiles([&](auto lanes, auto width, int64_t d) {
          best<lanes(), width(), wanted>(run, from, started, d, won.data());
        });
        if (wanted) keep_winners(run, started, won.data(), winner.data());
        started = true;
      }
      if (!run.closes) return;
      T* out = output + bag * layout_.dim;
      for (int64_t d = 0; d < layout_.dim; ++d) out[d] = narrow<T>(started ? sums_[d] : A(0));
      if (!wanted) return;
      if (!started) std::fill(winner.begin(), winner.end(), code_t(-1));
      std::copy_n(winner.data(), layout_.dim, winners + bag * layout_.dim);
    });
  }

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

  // Calls body(lanes of a vector, number of vectors, first dimension) until all dimensions are done.
  // Vectors of sixteen lie in one block.
  template <typename Body>
  MIRROR_INLINE void tiles(const Body& body) const {
    // Fewer widths of what is rare or slow anyway: each is code to compile.
    constexpr int64_t most = sizeof(code_t) == 8 ? 1 : std::is_same_v<T, float> ? 8 : 2;
    int64_t d = 0;
    if constexpr (kSixteens) {
      if (layout_.whole_blocks && layout_.block % 16 == 0) {
        for (; d + 64 <= padded_; d += 64) body(kNumber<16>, kNumber<4>, d);
        for (; d + 16 <= padded_; d += 16) body(kNumber<16>, kNumber<1>, d);
      }
    }
    for (; d + most * kLanes <= padded_; d += most * kLanes) {
      body(kNumber<kLanes>, kNumber<most>, d);
    }
    if constexpr (most > 2) {
      for (; d + 2 * kLanes <= padded_; d += 2 * kLanes) body(kNumber<kLanes>, kNumber<2>, d);
    }
    if constexpr (most > 1) {
      if (d < padded_) body(kNumber<kLanes>, kNumber<1>, d);
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

  // Calls take(row, vector of the tile, elements) for the run's rows from `from` on; a plain call
  // has no padding.
  template <int64_t lanes, int width, bool plain, typename Take>
  MIRROR_INLINE void walk(const Run& run, int64_t from, int64_t d, const Take& take) const {
    if (layout_.whole_blocks) {
      const code_t* codes[width];
      int64_t within[width];
      for (int v = 0; v < width; ++v) {
        const int64_t block = (d + v * lanes) / layout_.block;
        codes[v] = run.codes + block * place_step_;
        within[v] = d + v * lanes - block * layout_.block;
      }
      for (int64_t i = from; i < run.count; ++i) {
        if (!plain && skips(run.rows[i])) continue;
#pragma GCC unroll 8
        for (int v = 0; v < width; ++v) take(i, v, block_elements<lanes>(codes[v][i], within[v]));
      }
    } else if constexpr (lanes == kLanes) {
      const code_t* codes = run.codes + d;
      for (int64_t i = from; i < run.count; ++i) {
        if (!plain && skips(run.rows[i])) continue;
#pragma GCC unroll 8
        for (int v = 0; v < width; ++v) {
          take(i, v, gather_codes<signs>(weight_, codes + i * layout_.stride + v * kLanes));
        }
      }
    }
  }

  template <int64_t lanes, int width, bool plain>
  void add(const Run& run, int64_t d, A divisor, T* output) {
    Vector<A, lanes> sums[width];
#pragma GCC unroll 8
    for (int v = 0; v < width; ++v) {
      const Vector<A, lanes> none{};
      sums[v] = run.opens ? none : load_raw<Vector<A, lanes>>(sums_.data() + d + v * lanes);
    }
    walk<lanes, width, plain>(run, 0, d, [&](int64_t i, int v, const Vector<A, lanes>& x) {
      if (!plain && run.sample_weights) {
        sums[v] += x * widen(run.sample_weights[i]);
      } else {
        sums[v] += x;
      }
    });
#pragma GCC unroll 8
    for (int v = 0; v < width; ++v) {
      const int64_t at = d + v * lanes;
      if (run.closes) {
        if (divisor != 1) sums[v] /= divisor;
        store<lanes>(output + at, sums[v], layout_.dim - at);
      } else {
        store_raw(sums_.data() + at, sums[v]);
      }
    }
  }

  // As torch.max: a NaN wins, and of equals the first stays. `won` has the row of the run that won
  // each dimension, -1 where an earlier run did.
  template <int64_t lanes, int width, bool wanted>
  void best(const Run& run, int64_t from, bool started, int64_t d, Integer<A>* won) {
    Vector<A, lanes> top[width];
    Vector<Integer<A>, lanes> row[width];
#pragma GCC unroll 8
    for (int v = 0; v < width; ++v) {
      const int64_t at = d + v * lanes;
      top[v] = started ? load_raw<Vector<A, lanes>>(sums_.data() + at)
                       : elements<lanes>(run, from, at);
      row[v] = Vector<Integer<A>, lanes>{} + (started ? Integer<A>(-1) : Integer<A>(from));
    }
    walk<lanes, width, false>(
        run, started ? from : from + 1, d, [&](int64_t i, int v, const Vector<A, lanes>& x) {
          const auto wins = (x > top[v]) | ((x != x) & (top[v] == top[v]));
          top[v] = wins ? x : top[v];
          if (wanted) row[v] = wins ? Vector<Integer<A>, lanes>{} + Integer<A>(i) : row[v];
        });
#pragma GCC unroll 8
    for (int v = 0; v < width; ++v) {
      store_raw(sums_.data() + d + v * lanes, top[v]);
      if (wanted) store_raw(won + d + v * lanes, row[v]);
    }
  }

  // The codes of the elements that won.
  void keep_winners(const Run& run, bool started, const Integer<A>* won, code_t* winner) const {
    const int64_t dim = layout_.dim;
    if (layout_.whole_blocks) {
      for (int64_t b = 0, d = 0; d < dim; ++b, d += layout_.block) {
        const code_t* codes = run.codes + b * place_step_;
        for (int64_t k = 0; k < std::min(layout_.block, dim - d); ++k) {
          if (won[d + k] >= 0) winner[d + k] = element_code(codes[won[d + k]], k);
        }
      }
    } else if (started) {
      for (int64_t d = 0; d < dim; ++d) {
        if (won[d] >= 0) winner[d] = run.codes[won[d] * layout_.stride + d];
      }
    } else {
      for (int64_t d = 0; d < dim; ++d) winner[d] = run.codes[won[d] * layout_.stride + d];
    }
  }

  // The code of the element that lies `within` elements behind the start of a block.
  code_t element_code(code_t code, int64_t within) const {
    constexpr int shift = signs ? 1 : 0;
    int64_t slot = (code >> shift) + within;
    slot -= slot >= layout_.num_slots ? layout_.num_slots : 0;
    return static_cast<code_t>((slot << shift) | (signs ? code & 1 : 0));
  }

  static MIRROR_INLINE A sign_of(code_t code) { return kSigns[code & 1]; }

  int64_t members(int64_t bag) const {
    const int64_t begin = call_.begin(bag), end = call_.end(bag);
    if (call_.padding < 0) return end - begin;
    return end - begin -
           (call_.narrow_ids ? paddings<int32_t>(begin, end) : paddings<int64_t>(begin, end));
  }

  template <typename index_t>
  int64_t paddings(int64_t begin, int64_t end) const {
    const index_t* ids = static_cast<const index_t*>(call_.ids);
    return std::count(ids + begin, ids + end, static_cast<index_t>(call_.padding));
  }

  // What each id of a bag has of its gradient, before sample weights.
  void grad_of(int64_t bag, A* share) const {
    const A count =
        call_.mode == Pool::kMean ? static_cast<A>(std::max<int64_t>(1, members(bag))) : A(1);
    const T* grad = grad_ + bag * layout_.dim;
    for (int64_t d = 0; d < layout_.dim; ++d) share[d] = widen(grad[d]) / count;
  }

  void scatter_all(const code_t* __restrict__ codes, const A* __restrict__ add,
                   A* __restrict__ target) const {
    for (int64_t d = 0; d < layout_.dim; ++d) {
      if constexpr (signs) {
        target[codes[d] >> 1] += add[d] * static_cast<A>(1 - 2 * (codes[d] & 1));
      } else {
        target[codes[d]] += add[d];
      }
    }
  }

  // Without branches: what belongs to another part is added to a number that nobody reads.
  void scatter_own(const code_t* codes, const A* add, A* target, int64_t low, int64_t high) const {
    A unread[kLanes] = {};
    const uint64_t size = static_cast<uint64_t>(high - low);
    for (int64_t d = 0; d < layout_.dim; ++d) {
      const int64_t slot = signs ? codes[d] >> 1 : codes[d];
      const A value = signs ? add[d] * static_cast<A>(1 - 2 * (codes[d] & 1)) : add[d];
      A* to = static_cast<uint64_t>(slot - low) < size ? target + slot : unread + d % kLanes;
      *to += value;
    }
  }

  void scatter_blocks(const code_t* codes, const A* add, A* target, int64_t low,
                      int64_t high) const {
    const int64_t num_slots = layout_.num_slots;
    for (int64_t b = 0, d = 0; d < layout_.dim; ++b, d += layout_.block) {
      const int64_t size = std::min(layout_.block, layout_.dim - d);
      const code_t code = codes[b * place_step_];
      const int64_t start = signs ? code >> 1 : code;
      const A sign = signs ? sign_of(code) : A(1);
      if (size % kLanes == 0 && start >= low && start + size <= high) [[likely]] {
        for (int64_t k = 0; k < size; k += kLanes) {
          V sum = load_raw<V>(target + start + k);
          sum += load_raw<V>(add + d + k) * sign;
          store_raw(target + start + k, sum);
        }
        continue;
      }
      const int64_t straight = std::min(size, num_slots - start);  // the rest goes on at slot 0
      add_between(add + d, straight, sign, target, start, low, high);
      add_between(add + d + straight, size - straight, sign, target, 0, low, high);
    }
  }

  // target[start + k] += sign * add[k], for those slots that are in [low, high).
  static void add_between(const A* __restrict__ add, int64_t count, A sign, A* __restrict__ target,
                          int64_t start, int64_t low, int64_t high) {
    const int64_t from = std::max<int64_t>(0, low - start), to = std::min(count, high - start);
    for (int64_t k = from; k < to; ++k) target[start + k] += add[k] * sign;
  }

  static constexpr A kSigns[2] = {1, -1};
  // Whether there are vectors of sixteen; in double they would not fit a register.
  static constexpr bool kSixteens = sizeof(A) == 4 && sizeof(code_t) == 4;
  template <int64_t n>
  static constexpr std::integral_constant<int64_t, n> kNumber{};

  const Call& call_;
  const Layout& layout_;
  const T* weight_;
  const T* grad_;
  int64_t padded_;  // dim, to whole vectors
  Codes<code_t> codes_;
  int64_t row_step_, place_step_;
  std::vector<A> sums_;
};

// Calls body(Bags) for the types of a call.
template <typename Body>
void with_bags(const Call& call, const Body& body) {
  const auto with_types = [&](auto element) {
    using T = decltype(element);
    const bool signs = call.layout->signs;
    if (call.layout->narrow) {
      signs ? body(Bags<T, int32_t, true>(call)) : body(Bags<T, int32_t, false>(call));
    } else {
      signs ? body(Bags<T, int64_t, true>(call)) : body(Bags<T, int64_t, false>(call));
    }
  };
  switch (call.element) {
    case Element::kFloat:
      return with_types(float{});
    case Element::kDouble:
      return with_types(double{});
    case Element::kBFloat16:
      return with_types(BFloat16{});
    case Element::kHalf:
      return with_types(Half{});
  }
}

template <typename T, typename C, bool signs>
T element_of(const Bags<T, C, signs>&);
template <typename T, typename C, bool signs>
C code_of(const Bags<T, C, signs>&);

void pool(const Call& call, int64_t first, int64_t last, void* output) {
  with_bags(call, [&](auto bags) {
    bags.pool(first, last, static_cast<decltype(element_of(bags))*>(output));
  });
}

void pool_max(const Call& call, int64_t first, int64_t last, void* output, void* winners) {
  with_bags(call, [&](auto bags) {
    bags.pool_max(first, last, static_cast<decltype(element_of(bags))*>(output),
                  static_cast<decltype(code_of(bags))*>(winners));
  });
}

void scatter(const Call& call, int64_t first, int64_t last, void* target, int64_t low,
             int64_t high) {
  with_bags(call, [&](auto bags) {
    bags.scatter(first, last, static_cast<Sum<decltype(element_of(bags))>*>(target), low, high);
  });
}

void sample_gradient(const Call& call, int64_t first, int64_t last, void* gradient) {
  with_bags(call, [&](auto bags) {
    bags.sample_gradient(first, last, static_cast<decltype(element_of(bags))*>(gradient));
  });
}

constexpr Kernels kernels_named(const char* name) {
  return {name, pool, pool_max, scatter, sample_gradient};
}

}  // namespace
}  // namespace mirror::hashed
