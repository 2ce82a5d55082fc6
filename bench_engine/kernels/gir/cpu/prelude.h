// What generated kernels are written in: vectors of W floats, their mathematics, and parallel loops.
//
// W is defined before this file. NaN and infinities behave as in IEEE 754; errors in ulp are those that
// tests/kernels/gir/test_gir_vector_math.py finds against float64.

#include <cstdint>
#include <cstring>
#include <omp.h>
#include <utility>

namespace {

typedef float vf __attribute__((vector_size(4 * W)));
typedef float vfu __attribute__((vector_size(4 * W), aligned(4), may_alias));
typedef int32_t vi __attribute__((vector_size(4 * W)));

constexpr float INF = __builtin_inff();

inline vf splat(float x) { return x - vf{}; }  // not a sum, which would make 0 of -0
inline vi lanes() {
  vi v{};
  for (int i = 0; i < W; ++i) v[i] = i;
  return v;
}
inline vi first(int64_t n) { return lanes() < static_cast<int32_t>(n); }

// Moves. `part` moves the first n elements; the others of what is loaded are 0.
inline vf load(const float* p) { return *reinterpret_cast<const vfu*>(p); }
inline void store(float* p, vf v) { *reinterpret_cast<vfu*>(p) = v; }
#if defined(__AVX512F__) && W == 16 && !defined(__clang__)
typedef float v16 __attribute__((vector_size(64), may_alias));
inline vf load_part(const float* p, int64_t n) {
  return (vf)__builtin_ia32_loadups512_mask(p, (v16){}, (unsigned short)((1u << n) - 1));
}
inline void store_part(float* p, vf v, int64_t n) {
  __builtin_ia32_storeups512_mask(p, (v16)v, (unsigned short)((1u << n) - 1));
}
inline void stream(float* p, vf v) {
  if (reinterpret_cast<uintptr_t>(p) & 63) return store(p, v);
  __builtin_ia32_movntps512(p, (v16)v);
}
inline void stream_done() { __builtin_ia32_sfence(); }
inline bool any(vi mask) { return __builtin_ia32_cvtd2mask512(mask); }
// Of NaN these give NaN: minps and maxps hand on their second operand.
inline vf at_most(vf v, float limit) {
  return (vf)__builtin_ia32_minps512_mask((v16)splat(limit), (v16)v, (v16){}, 0xffff, 4);
}
inline vf at_least(vf v, float limit) {
  return (vf)__builtin_ia32_maxps512_mask((v16)splat(limit), (v16)v, (v16){}, 0xffff, 4);
}
#define SCALES
inline vf times_power_of_two(vf y, vf n) {
  return (vf)__builtin_ia32_scalefps512_mask((v16)y, (v16)n, (v16){}, 0xffff, 4);
}
#elif defined(__AVX__) && W == 8 && !defined(__clang__)
typedef float v8 __attribute__((vector_size(32), may_alias));
typedef int32_t v8i __attribute__((vector_size(32), may_alias));
inline vf load_part(const float* p, int64_t n) {
  return (vf)__builtin_ia32_maskloadps256(reinterpret_cast<const v8*>(p), (v8i)first(n));
}
inline void store_part(float* p, vf v, int64_t n) {
  __builtin_ia32_maskstoreps256(reinterpret_cast<v8*>(p), (v8i)first(n), (v8)v);
}
inline void stream(float* p, vf v) {
  if (reinterpret_cast<uintptr_t>(p) & 31) return store(p, v);
  __builtin_ia32_movntps256(p, (v8)v);
}
inline void stream_done() { __builtin_ia32_sfence(); }
inline bool any(vi mask) { return __builtin_ia32_movmskps256((v8)mask); }
// Of NaN these give NaN: minps and maxps hand on their second operand.
inline vf at_most(vf v, float limit) { return (vf)__builtin_ia32_minps256((v8)splat(limit), (v8)v); }
inline vf at_least(vf v, float limit) { return (vf)__builtin_ia32_maxps256((v8)splat(limit), (v8)v); }
#else
inline vf load_part(const float* p, int64_t n) {
  vf v{};
  for (int64_t i = 0; i < n; ++i) v[i] = p[i];
  return v;
}
inline void store_part(float* p, vf v, int64_t n) {
  for (int64_t i = 0; i < n; ++i) p[i] = v[i];
}
inline void stream(float* p, vf v) { store(p, v); }
inline void stream_done() {}
inline bool any(vi mask) {
  int32_t found = 0;
  for (int i = 0; i < W; ++i) found |= mask[i];
  return found;
}
inline vf at_most(vf v, float limit) { return v > limit ? splat(limit) : v; }
inline vf at_least(vf v, float limit) { return v < limit ? splat(limit) : v; }
#endif
inline vf load_strided(const float* p, int64_t step, int64_t n = W) {
  vf v{};
  for (int64_t i = 0; i < n; ++i) v[i] = p[i * step];
  return v;
}
inline void store_strided(float* p, int64_t step, vf v, int64_t n = W) {
  for (int64_t i = 0; i < n; ++i) p[i * step] = v[i];
}
// A vector of places, each made of its number.
template <class F>
inline vi places(F f) {
  return [f]<int... i>(std::integer_sequence<int, i...>) { return vi{f(i)...}; }(std::make_integer_sequence<int, W>{});
}
// W rows of W floats, `step` apart, become columns: first in squares of four, then the squares change places. What
// shuffles do is known to the compiler, which has an instruction for each of these.
inline void transpose(const float* from, int64_t step, float* to) {
  const vi singles = places([](int i) { return (i & ~3) + (i >> 1 & 1) + (i & 1) * W; });
  const vi pairs = places([](int i) { return (i & ~3) + (i & 1) + (i >> 1 & 1) * W; });
  const vi halves = places([](int i) { return i < W / 2 ? i : i + W / 2; });
  const vi evens = places([](int i) { return 2 * (i & ~3) + (i & 3); });
  vf v[W], t[W];
  for (int i = 0; i < W; ++i) v[i] = load(from + i * step);
  for (int i = 0; i < W; i += 2) {
    t[i] = __builtin_shuffle(v[i], v[i + 1], singles);
    t[i + 1] = __builtin_shuffle(v[i], v[i + 1], singles + 2);
  }
  for (int i = 0; i < W; i += 4) {
    v[i] = __builtin_shuffle(t[i], t[i + 2], pairs);
    v[i + 1] = __builtin_shuffle(t[i], t[i + 2], pairs + 2);
    v[i + 2] = __builtin_shuffle(t[i + 1], t[i + 3], pairs);
    v[i + 3] = __builtin_shuffle(t[i + 1], t[i + 3], pairs + 2);
  }
  // Now v[4 a + k] holds, four floats of each, rows 4 a to 4 a + 3 of the columns 4 b + k.
  for (int k = 0; k < 4 && W == 8; ++k) {
    t[k] = __builtin_shuffle(v[k], v[k + W / 2], halves);
    v[k + W / 2] = __builtin_shuffle(v[k], v[k + W / 2], halves + W / 2);
    v[k] = t[k];
  }
  for (int k = 0; k < 4 && W == 16; ++k) {
    for (int i = k; i < W; i += 8) {
      t[i] = __builtin_shuffle(v[i], v[i + 4], halves);
      t[i + 4] = __builtin_shuffle(v[i], v[i + 4], halves + W / 2);
    }
    for (int i = k; i < 8; i += 4) {
      v[2 * i - k] = __builtin_shuffle(t[i], t[i + 8], evens);
      v[2 * i - k + 4] = __builtin_shuffle(t[i], t[i + 8], evens + 4);
    }
  }
  for (int i = 0; i < W; ++i) store(to + i * W, v[i]);
}
inline vf keep(int64_t n, vf v, float other) { return first(n) ? v : splat(other); }

// Integers. An index that is out of range is 0, and the kernel gives up when it is done.
inline int64_t k_row(int64_t i, int64_t n, int* bad) {
  if (static_cast<uint64_t>(i) < static_cast<uint64_t>(n)) return i;
  __atomic_store_n(bad, 1, __ATOMIC_RELAXED);
  return 0;
}
inline int64_t k_upto(int64_t i, int64_t n, int* bad) { return k_row(i, n + 1, bad); }
inline int64_t k_wrap(int64_t i, int64_t n) { return i < 0 ? i + n : i; }
inline int64_t k_idiv(int64_t i, int64_t n) { return i / n; }
inline int64_t k_imin(int64_t i, int64_t n) { return i < n ? i : n; }
inline float k_float(int64_t i) { return static_cast<float>(i); }
inline int64_t k_irem(int64_t i, int64_t n) {
  const int64_t rest = i % n;
  return rest && (rest < 0) != (n < 0) ? rest + n : rest;
}

// Arithmetic that keeps NaN.
inline vf k_max(vf a, vf b) { return (a > b) | (a != a) ? a : b; }
inline vf k_min(vf a, vf b) { return (a < b) | (a != a) ? a : b; }
inline vf k_relu(vf a) { return (a > 0.0f) | (a != a) ? a : vf{}; }
inline vf k_abs(vf a) { return (vf)((vi)a & 0x7fffffff); }
inline vf k_where(vf c, vf a, vf b) { return c != 0.0f ? a : b; }
#define COMPARISON(name, sign)                                                  \
  inline vf name(vf a, vf b) { return a sign b ? splat(1) : vf{}; }             \
  inline float name(float a, float b) { return a sign b; }
COMPARISON(k_gt, >) COMPARISON(k_ge, >=) COMPARISON(k_lt, <) COMPARISON(k_le, <=) COMPARISON(k_eq, ==)
COMPARISON(k_ne, !=)
inline vf k_sqrt(vf a) {
  for (int i = 0; i < W; ++i) a[i] = __builtin_sqrtf(a[i]);
  return a;
}
inline vf with_sign(vf a, vf sign) { return (vf)(((vi)a & 0x7fffffff) | ((vi)sign & INT32_MIN)); }
inline vf power_of_two(vi n) { return (vf)((n + 127) << 23); }

// exp(x) is what this returns times 2^n: Cody and Waite's reduction, and a minimax polynomial of
// degree 6. ROUND + n is `shifted`, whose low bits are n.
constexpr float ROUND = 12582912.0f;
inline vf exp_of_rest(vf x, vf* shifted) {
  *shifted = x * 1.44269504f + ROUND;
  const vf n = *shifted - ROUND;
  vf r = x - n * 0.693359375f;
  r = r + n * 2.12194440e-4f;
  vf p = splat(1.381432055e-3f);
  p = p * r + 8.368850686e-3f;
  p = p * r + 4.166840017e-2f;
  p = p * r + 1.666651964e-1f;
  p = p * r + 4.999999404e-1f;
  p = p * r + 1.0f;
  return p * r + 1.0f;
}
#ifdef SCALES
inline vf k_exp(vf x) {
  vf shifted;
  const vf y = exp_of_rest(at_least(at_most(x, 89.0f), -104.5f), &shifted);
  return times_power_of_two(y, shifted - ROUND);
}
inline vf exp_within_87(vf x) { return k_exp(x); }
#else
inline vf exp_near(vf y, vf shifted) { return (vf)((vi)y + ((vi)shifted << 23)); }
inline vf exp_within_87(vf x) {  // of NaN it may be a number
  vf shifted;
  const vf y = exp_of_rest(x, &shifted);
  return exp_near(y, shifted);
}
// Of masks, which are far below, the result is 0; in two steps otherwise, for it may be denormal, infinite or NaN.
__attribute__((noinline, cold)) vf exp_far(vf x, vf y, vf shifted) {
  const vi zero = x < -104.5f;
  if (!any(~(zero | (k_abs(x) <= 87.0f)))) return zero ? vf{} : exp_near(y, shifted);
  y = exp_of_rest(at_least(at_most(x, 89.0f), -104.5f), &shifted);
  const vi n = (vi)shifted - (vi)splat(ROUND), half = n >> 1;
  return x == x ? y * power_of_two(half) * power_of_two(n - half) : x;
}
inline vf k_exp(vf x) {
  vf shifted;
  const vf y = exp_of_rest(x, &shifted);
  return __builtin_expect(any(~(k_abs(x) <= 87.0f)), 0) ? exp_far(x, y, shifted) : exp_near(y, shifted);
}
#endif

// Normal u is m * 2^e, m in [sqrt(1/2), sqrt(2)).
inline vi exponent_of(vf u) { return ((vi)u - 0x3f3504f3) >> 23; }
inline vf mantissa_of(vf u) { return (vf)((((vi)u - 0x3f3504f3) & 0x7fffff) + 0x3f3504f3); }
// log((1 + f) * 2^e): the polynomial of Cephes' logf.
inline vf log_of(vf f, vi exponent) {
  const vf e = __builtin_convertvector(exponent, vf), z = f * f;
  vf p = splat(7.0376836292e-2f);
  p = p * f - 1.1514610310e-1f;
  p = p * f + 1.1676998740e-1f;
  p = p * f - 1.2420140846e-1f;
  p = p * f + 1.4249322787e-1f;
  p = p * f - 1.6668057665e-1f;
  p = p * f + 2.0000714765e-1f;
  p = p * f - 2.4999993993e-1f;
  p = p * f + 3.3333331174e-1f;
  const vf y = p * f * z - e * 2.12194440e-4f;
  return f + (y - 0.5f * z) + e * 0.693359375f;
}
// Of what is 0, denormal, infinite, negative or NaN too.
__attribute__((noinline, cold)) vf log_far(vf u) {
  const vi tiny = u < 1.17549435e-38f;
  const vf scaled = tiny ? u * 8388608.0f : u;
  vf y = log_of(mantissa_of(scaled) - 1.0f, exponent_of(scaled) - (tiny & 23));
  y = u == INF ? splat(INF) : y;
  y = u == 0.0f ? splat(-INF) : y;
  return (u < 0.0f) | (u != u) ? splat(__builtin_nanf("")) : y;
}
inline vf k_log(vf u) {
  if (__builtin_expect(any(~((u >= 1.17549435e-38f) & (u < INF))), 0)) return log_far(u);
  return log_of(mantissa_of(u) - 1.0f, exponent_of(u));
}
// With what the sum of x and 1 has lost, which matters for small x only.
inline vf log1p_near(vf x) {
  const vf u = x + 1.0f, lost = x > 1.0f ? 1.0f - (u - x) : x - (u - 1.0f);
  const vi e = exponent_of(u);
  const vf y = log_of((mantissa_of(u) - 1.0f) + lost * power_of_two(-e), e);
  return k_abs(x) < 5e-8f ? x : y;
}
__attribute__((noinline, cold)) vf log1p_far(vf x) {
  const vi near = (x > -1.0f) & (x < 1e7f);
  return near ? log1p_near(near ? x : vf{}) : log_far(x + 1.0f);
}
inline vf k_log1p(vf x) {
  return __builtin_expect(any(~((x > -1.0f) & (x < 1e7f))), 0) ? log1p_far(x) : log1p_near(x);
}

inline vf k_tanh(vf x) {
  const vf a = k_abs(x), z = x * x;
  vf p = splat(-5.70498872745e-3f);
  p = p * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  const vf small = p * z * x + x;
  const vf large = 1.0f - 2.0f / (exp_within_87(at_most(a + a, 80.0f)) + 1.0f);
  return a >= 0.625f ? with_sign(large, x) : small;
}

// Two polynomials, the second in the exponent, after N. Juffa.
inline vf k_erf(vf x) {
  const vf a = k_abs(x), s = x * x;
  vf r = -1.72853470e-5f * a + 3.83197126e-4f;
  r = r * s + (-3.88396438e-3f * a + 2.42546219e-2f);
  r = r * a - 1.06777877e-1f;
  r = r * a - 6.34846687e-1f;
  r = r * a - 1.28717512e-1f;
  r = r * a - a;
  r = a > 5.0f ? splat(-87.0f) : r;
  vf q = splat(-5.96761703e-4f);
  q = q * s + 4.99119423e-3f;
  q = q * s - 2.67681349e-2f;
  q = q * s + 1.12819925e-1f;
  q = q * s - 3.76125336e-1f;
  q = q * s + 1.28379166e-1f;
  return a > 0.927734375f ? with_sign(1.0f - exp_within_87(r), x) : q * x + x;
}

// The normal distribution's: 1/2 + x P(x^2) / Q(x^2) within 2e-7, minimax of |x| <= 5.5.
inline vf k_ndtr(vf x) {
  const vf a = at_least(at_most(x, 5.5f), -5.5f), s = a * a;
  vf p = splat(2.2931177e-8f);
  p = p * s + 6.30158638e-6f;
  p = p * s + 1.64573343e-4f;
  p = p * s + 4.65147942e-3f;
  p = p * s + 3.34588513e-2f;
  p = p * s + 3.98942262e-1f;
  vf q = splat(1.19902859e-6f);
  q = q * s + 7.21668912e-5f;
  q = q * s + 1.86064362e-3f;
  q = q * s + 2.84161065e-2f;
  q = q * s + 2.50535309e-1f;
  q = q * s + 1.0f;
  return x < -5.5f ? vf{} : at_least(a * (p / q) + 0.5f, 0.0f);
}

// The same of one number.
inline float k_max(float a, float b) { return a > b || a != a ? a : b; }
inline float k_min(float a, float b) { return a < b || a != a ? a : b; }
inline float k_relu(float a) { return a > 0 || a != a ? a : 0; }
inline float k_abs(float a) { return __builtin_fabsf(a); }
inline float k_where(float c, float a, float b) { return c != 0 ? a : b; }
inline float k_sqrt(float a) { return __builtin_sqrtf(a); }
inline float k_exp(float a) { return k_exp(splat(a))[0]; }
inline float k_log(float a) { return k_log(splat(a))[0]; }
inline float k_log1p(float a) { return k_log1p(splat(a))[0]; }
inline float k_tanh(float a) { return k_tanh(splat(a))[0]; }
inline float k_erf(float a) { return k_erf(splat(a))[0]; }
inline float k_ndtr(float a) { return k_ndtr(splat(a))[0]; }

// Reductions: one more element, and all elements of a vector.
template <class T>
inline T more_sum(T a, T b) { return a + b; }
template <class T>
inline T more_max(T a, T b) { return k_max(b, a); }
template <class T>
inline T more_min(T a, T b) { return k_min(b, a); }
// Each element with its partner at a distance, then at half of it.
template <class More>
inline float across(vf v, const More& more) {
  for (int half = W / 2; half; half /= 2) v = more(v, __builtin_shuffle(v, lanes() ^ half));
  return v[0];
}
inline float all_sum(vf v) { return across(v, [](vf a, vf b) { return a + b; }); }

// What a loop over vectors reduces to: `more` takes a vector, or its first n elements; `join` what another has.
struct Sum {
  vf sum{};
  inline void more(vf x) { sum += x; }
  inline void more(vf x, int64_t n) { sum += keep(n, x, 0); }
  inline void join(const Sum& other) { sum += other.sum; }
  inline float total() const { return all_sum(sum); }
};
// NaN is kept apart, for a comparison that keeps it takes twice as long, and the next waits for it.
template <int sign>
struct Extreme {
  static inline vf further(vf a, vf b) { return sign > 0 ? (a > b ? a : b) : (a < b ? a : b); }
  vf best = splat(sign * -INF), odd{};
  inline void more(vf x) {
    odd = x == x ? odd : x;
    best = further(x, best);
  }
  inline void more(vf x, int64_t n) { more(keep(n, x, sign * -INF)); }
  inline void join(const Extreme& other) {
    odd = other.odd == other.odd ? odd : other.odd;
    best = further(other.best, best);
  }
  inline float total() const { return any(odd != odd) ? __builtin_nanf("") : across(best, further); }
};
using Max = Extreme<1>;
using Min = Extreme<-1>;

// The sum of exp(x - maximum) while the maximum grows (Milakov and Gimelshein 2018).
struct Online {
  vf max = splat(-INF), sum{};
  inline void more(vf x) {
    if (any(x > max)) {
      const vf larger = k_max(max, x);
      sum *= max == larger ? splat(1) : k_exp(max - larger);
      max = larger;
    }
    sum += x == max ? splat(1) : k_exp(x - max);
  }
  inline void more(vf x, int64_t n) {
    const vf before = sum;
    const vf old = max;
    more(keep(n, x, -INF));
    const vf unchanged = max == old ? splat(1) : k_exp(old - max);
    sum = keep(n, sum, 0) + (first(n) ? vf{} : before * unchanged);
  }
  inline void join(const Online& other) {
    const vf larger = k_max(max, other.max);
    sum = sum * (max == larger ? splat(1) : k_exp(max - larger)) +
          other.sum * (other.max == larger ? splat(1) : k_exp(other.max - larger));
    max = larger;
  }
  inline float total(float largest) const {
    if (largest - largest != 0) return __builtin_nanf("");
    return all_sum(sum * (max == largest ? splat(1) : k_exp(max - largest)));
  }
};

// f(begin, end, part) for equal parts of 0 .. n - 1, each of `grain` at least; grain 0 for one part.
constexpr int64_t MOST_PARTS = 256;
template <class F>
inline void parallel(int64_t threads, int64_t n, int64_t grain, const F& f) {
  int64_t parts = grain > 0 ? (n + grain - 1) / grain : 1;
  parts = parts < threads ? parts : threads;
  parts = parts < MOST_PARTS ? parts : MOST_PARTS;
  if (parts <= 1) return f(int64_t{0}, n, int64_t{0});
#pragma omp parallel for num_threads(parts) schedule(static, 1)
  for (int64_t part = 0; part < parts; ++part) f(n * part / parts, n * (part + 1) / parts, part);
}

}  // namespace
