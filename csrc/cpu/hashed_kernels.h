// The kernels of the hashed embedding bag for one instruction set: included by a file that is
// compiled for it and names it. See hashed_rows.h for what they compute.
//
// The codes of many rows are found first (hashed_codes.h); a bag's rows among them, a run, are then
// added up a tile of dimensions at a time, which stays in registers.
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
  const code_t* codes;      // (count, stride)
  const uint8_t* wraps;     // (count,), for whole blocks: see Codes::wraps
  int64_t count;
};

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
        sums_(padded_) {}

  void pool(int64_t first, int64_t last, T* output) {
    for_each_run(first, last, [&](int64_t bag, const Run& run, bool opens, bool closes) {
      if (opens) std::fill(sums_.begin(), sums_.end(), A(0));
      tiles([&](auto width, int64_t d) { add<width()>(run, d); });
      if (closes) finish(bag, output + bag * layout_.dim);
    });
  }

  void pool_max(int64_t first, int64_t last, T* output, code_t* winners) {
    std::vector<code_t> winner(padded_);
    bool started = false;
    for_each_run(first, last, [&](int64_t bag, const Run& run, bool opens, bool closes) {
      if (opens) {
        std::fill(sums_.begin(), sums_.end(), A(0));
        std::fill(winner.begin(), winner.end(), code_t(-1));
        started = false;
      }
      int64_t from = 0;
      while (from < run.count && skips(run.rows[from])) ++from;
      tiles([&](auto width, int64_t d) { best<width()>(run, from, started, d, winner.data()); });
      started |= from < run.count;
      if (!closes) return;
      for (int64_t d = 0; d < layout_.dim; ++d) output[bag * layout_.dim + d] = narrow<T>(sums_[d]);
      if (winners) std::copy_n(winner.data(), layout_.dim, winners + bag * layout_.dim);
    });
  }

  void scatter(int64_t first, int64_t last, A* target, int64_t low, int64_t high) {
    const bool all = low == 0 && high == layout_.num_slots;
    std::vector<A> share(padded_), row(padded_);
    for_each_run(first, last, [&](int64_t bag, const Run& run, bool opens, bool) {
      if (opens) grad_of(bag, share.data());
      for (int64_t i = 0; i < run.count; ++i) {
        if (skips(run.rows[i])) continue;
        const A* add = share.data();
        if (run.sample_weights) {
          const A factor = widen(run.sample_weights[i]);
          for (int64_t d = 0; d < padded_; ++d) row[d] = share[d] * factor;
          add = row.data();
        }
        const code_t* codes = run.codes + i * layout_.stride;
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
    for_each_run(first, last, [&](int64_t bag, const Run& run, bool opens, bool) {
      if (opens) grad_of(bag, share.data());
      for (int64_t i = 0; i < run.count; ++i) {
        V sum{};
        if (!skips(run.rows[i])) {
          const code_t* codes = run.codes + i * layout_.stride;
          for (int64_t d = 0; d < padded_; d += kLanes) {
            V product = elements(codes, d) * load_raw<V>(share.data() + d);
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

  // Calls body(bag, run, whether it opens its bag, whether it closes it); an empty bag has one run.
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
                      codes + (at - known_from) * layout_.stride,
                      codes_.wraps() + (at - known_from),
                      count};
        body(bag, run, at == begin, at + count == stop);
        at += count;
      } while (at < stop);
    }
  }

  // Calls body(number of vectors, first dimension) until all dimensions are done.
  template <typename Body>
  MIRROR_INLINE void tiles(const Body& body) const {
    // Fewer widths of what is rare or slow anyway: each is code to compile.
    constexpr int64_t most = sizeof(code_t) == 8 ? 1 : std::is_same_v<T, float> ? 8 : 2;
    int64_t d = 0;
    for (; d + most * kLanes <= padded_; d += most * kLanes) {
      body(std::integral_constant<int, most>{}, d);
    }
    if constexpr (most > 2) {
      for (; d + 2 * kLanes <= padded_; d += 2 * kLanes) body(std::integral_constant<int, 2>{}, d);
    }
    if constexpr (most > 1) {
      if (d < padded_) body(std::integral_constant<int, 1>{}, d);
    }
  }

  // Eight elements of a row from dimension d on, which is a multiple of eight.
  MIRROR_INLINE V elements(const code_t* codes, int64_t d) const {
    if (!layout_.whole_blocks) return gather_codes<signs>(weight_, codes + d);
    const int64_t block = d / layout_.block;
    return block_elements(codes[block], d - block * layout_.block, false);
  }

  // Eight elements of a block, `within` elements behind its start; `straight` where none of them is
  // past the end of the buffer.
  MIRROR_INLINE V block_elements(code_t code, int64_t within, bool straight) const {
    const int64_t start = (signs ? code >> 1 : code) + within;
    V v;
    if (straight || start + kLanes <= layout_.num_slots) {
      v = load(weight_ + start);
    } else {
      for (int64_t k = 0; k < kLanes; ++k) {
        const int64_t slot = start + k;
        v[k] = widen(weight_[slot < layout_.num_slots ? slot : slot - layout_.num_slots]);
      }
    }
    if constexpr (signs) v *= static_cast<A>(1 - 2 * (code & 1));
    return v;
  }

  // Calls take(row, factor of the row, vector of the tile, elements) for the run's rows from `from`
  // on.
  template <int width, typename Take>
  MIRROR_INLINE void walk(const Run& run, int64_t from, int64_t d, const Take& take) const {
    const int64_t stride = layout_.stride;
    const T* factors = run.sample_weights;
    const auto factor = [&](int64_t i) { return factors ? widen(factors[i]) : A(1); };
    if (!layout_.whole_blocks) {
      for (int64_t i = from; i < run.count; ++i) {
        if (skips(run.rows[i])) continue;
        const code_t* codes = run.codes + i * stride + d;
        const A f = factor(i);
#pragma GCC unroll 8
        for (int v = 0; v < width; ++v) {
          take(i, f, v, gather_codes<signs>(weight_, codes + v * kLanes));
        }
      }
      return;
    }
    int64_t block[width], within[width];
    for (int v = 0; v < width; ++v) {
      block[v] = (d + v * kLanes) / layout_.block;
      within[v] = (d + v * kLanes) % layout_.block;
    }
    for (int64_t i = from; i < run.count; ++i) {
      if (skips(run.rows[i])) continue;
      const code_t* codes = run.codes + i * stride;
      const A f = factor(i);
      if (!run.wraps[i]) [[likely]] {
#pragma GCC unroll 8
        for (int v = 0; v < width; ++v)
          take(i, f, v, block_elements(codes[block[v]], within[v], true));
      } else {
        for (int v = 0; v < width; ++v)
          take(i, f, v, block_elements(codes[block[v]], within[v], false));
      }
    }
  }

  template <int width>
  void add(const Run& run, int64_t d) {
    V sums[width];
#pragma GCC unroll 8
    for (int v = 0; v < width; ++v) sums[v] = load_raw<V>(sums_.data() + d + v * kLanes);
    walk<width>(run, 0, d, [&](int64_t, A factor, int v, V x) {
      sums[v] += x * factor;  // one instruction, also where the factor is 1
    });
#pragma GCC unroll 8
    for (int v = 0; v < width; ++v) store<A>(sums_.data() + d + v * kLanes, sums[v]);
  }

  // As torch.max: a NaN wins, and of equals the first stays.
  template <int width>
  void best(const Run& run, int64_t from, bool started, int64_t d, code_t* winner) {
    if (from == run.count) return;
    V top[width];
    Vector<code_t> won[width];
#pragma GCC unroll 8
    for (int v = 0; v < width; ++v) {
      top[v] = load_raw<V>(sums_.data() + d + v * kLanes);
      won[v] = load_raw<Vector<code_t>>(winner + d + v * kLanes);
    }
    int64_t first = from;
    if (!started) {
#pragma GCC unroll 8
      for (int v = 0; v < width; ++v) {
        const code_t* codes = run.codes + from * layout_.stride;
        top[v] = elements(codes, d + v * kLanes);
        won[v] = element_codes(codes, d + v * kLanes);
      }
      ++first;
    }
    walk<width>(run, first, d, [&](int64_t i, A, int v, V x) {
      const auto wins = (x > top[v]) | ((x != x) & (top[v] == top[v]));
      const auto code = element_codes(run.codes + i * layout_.stride, d + v * kLanes);
      top[v] = wins ? x : top[v];
      won[v] = __builtin_convertvector(wins, Vector<code_t>) ? code : won[v];
    });
#pragma GCC unroll 8
    for (int v = 0; v < width; ++v) {
      store<A>(sums_.data() + d + v * kLanes, top[v]);
      store<code_t>(winner + d + v * kLanes, won[v]);
    }
  }

  // The codes of eight elements of a row.
  MIRROR_INLINE Vector<code_t> element_codes(const code_t* codes, int64_t d) const {
    if (!layout_.whole_blocks) return load_raw<Vector<code_t>>(codes + d);
    constexpr int shift = signs ? 1 : 0;
    const int64_t block = d / layout_.block;
    // Less than twice the slots, which may pass the signed range; so may start + k the unsigned
    // one.
    using unsigned_t = std::make_unsigned_t<code_t>;
    const auto start =
        static_cast<unsigned_t>((codes[block] >> shift) + (d - block * layout_.block));
    const code_t sign = signs ? codes[block] & 1 : 0;
    Vector<code_t> result;
    for (int64_t k = 0; k < kLanes; ++k) {
      const auto past = static_cast<unsigned_t>(layout_.num_slots - k);
      const unsigned_t slot = start < past ? start + static_cast<unsigned_t>(k) : start - past;
      result[k] = static_cast<code_t>((slot << shift) | sign);
    }
    return result;
  }

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

  void finish(int64_t bag, T* output) {
    if (call_.mode == Pool::kMean) {
      const A count = static_cast<A>(std::max<int64_t>(1, members(bag)));
      for (int64_t d = 0; d < layout_.dim; ++d) output[d] = narrow<T>(sums_[d] / count);
    } else {
      for (int64_t d = 0; d < layout_.dim; ++d) output[d] = narrow<T>(sums_[d]);
    }
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
      const int64_t start = signs ? codes[b] >> 1 : codes[b];
      const A sign = signs ? static_cast<A>(1 - 2 * (codes[b] & 1)) : A(1);
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

  const Call& call_;
  const Layout& layout_;
  const T* weight_;
  const T* grad_;
  int64_t padded_;  // dim, to whole vectors
  Codes<code_t> codes_;
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
