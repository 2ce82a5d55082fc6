// Sums, means and maxima of bags: a tile of dimensions of a run of rows at a time, which stays in
// registers from a bag's first row to its last where it is one run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "hashed/cpu/bags.h"

namespace mirror::hashed {
namespace {

// Whole numbers of the size of a sum, for comparisons in vector registers.
template <typename A>
using Integer = std::conditional_t<sizeof(A) == 8, int64_t, int32_t>;

template <typename T, typename code_t, bool signs>
class Pooling : public Bags<T, code_t, signs> {
 public:
  using Base = Bags<T, code_t, signs>;
  using typename Base::A;
  using typename Base::Run;

  explicit Pooling(const Call& call) : Base(call), sums_(Base::padded_) {}

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

 private:
  using Base::call_, Base::for_each_run, Base::layout_, Base::members, Base::padded_,
      Base::place_step_, Base::row_step_, Base::skips, Base::weight_;

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

  // Calls body(lanes of a vector, number of vectors, first dimension) until all dimensions are
  // done. Vectors of sixteen lie in one block.
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
        for (int v = 0; v < width; ++v)
          take(i, v, Base::template block_elements<lanes>(codes[v][i], within[v]));
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
                       : Base::template elements<lanes>(run, from, at);
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

  // Whether there are vectors of sixteen; in double they would not fit a register.
  static constexpr bool kSixteens = sizeof(A) == 4 && sizeof(code_t) == 4;
  template <int64_t n>
  static constexpr std::integral_constant<int64_t, n> kNumber{};

  std::vector<A> sums_;  // of a bag that goes on in another run
};

}  // namespace
}  // namespace mirror::hashed
