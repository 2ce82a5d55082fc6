// Where the live chunks of a table are, and what is known of them: buckets of one cache line.
//
// Chunk c = id * chunks + part of C in all, B buckets. With h = c div B and l = c mod B, the bucket
// is (l + spread(h)) mod B and the key in it h + 1, so that bucket and key together tell the chunk,
// and B chunks that follow one another have B buckets. Place e of bucket b is row b * 14 + e of the
// quantized rows.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "fiited/cpu/utility.h"
#include "fiited/hash.h"

namespace mirror::quantized {

constexpr int64_t kPlaces = 14;    // of a bucket
constexpr int64_t kCounters = 32;  // bytes beside a bucket that count lookups of other chunks
constexpr int64_t kMostKeys = 65535;

struct alignas(64) Bucket {
  uint16_t keys[kPlaces];  // 0 where a place is free
  fiited::Utility utilities[kPlaces];
  uint32_t seen;  // lookups that were counted since counters were halved
  uint32_t unused;

  // The place with a key, or -1.
  int64_t find(uint16_t key) const {
#if defined(__SSE2__)  // its second half reads two utilities with the keys
    const __m128i wanted = _mm_set1_epi16(static_cast<int16_t>(key));
    const auto* const from = reinterpret_cast<const __m128i*>(keys);
    const __m128i first = _mm_cmpeq_epi16(_mm_load_si128(from), wanted);
    const __m128i second = _mm_cmpeq_epi16(_mm_load_si128(from + 1), wanted);
    const unsigned equal = static_cast<unsigned>(_mm_movemask_epi8(_mm_packs_epi16(first, second)));
    const unsigned places = equal & ((1u << kPlaces) - 1);
    return places ? std::countr_zero(places) : -1;
#else
    for (int64_t e = 0; e < kPlaces; ++e)
      if (keys[e] == key) return e;
    return -1;
#endif
  }
  // A free place, or the one of the least utility.
  int64_t weakest() const {
    int64_t least = 0;
    for (int64_t e = 0; e < kPlaces; ++e) {
      if (!keys[e]) return e;
      if (utilities[e] < utilities[least]) least = e;
    }
    return least;
  }
};
static_assert(sizeof(Bucket) == 64);

struct Address {
  int64_t bucket;
  uint16_t key;
};

class Addresses {
 public:
  explicit Addresses(int64_t buckets)
      : buckets_(static_cast<uint64_t>(buckets)),
        short_(buckets > 1 && buckets >> 32 == 0),
        reciprocal_(short_ ? ~uint64_t{0} / buckets_ + 1 : 0) {}

  Address of(int64_t chunk) const {
    const uint64_t c = static_cast<uint64_t>(chunk);
    // A product in place of a division, exact for numbers of 32 bits (Lemire et al. 2019,
    // arXiv:1902.01961).
    const uint64_t high =
        short_ && c >> 32 == 0
            ? static_cast<uint64_t>(static_cast<unsigned __int128>(reciprocal_) * c >> 64)
            : c / buckets_;
    const uint64_t spread = static_cast<uint64_t>(
        fiited::hashed_row(static_cast<int64_t>(high), 0, static_cast<int64_t>(buckets_)));
    uint64_t bucket = c - high * buckets_ + spread;
    if (bucket >= buckets_) bucket -= buckets_;
    return {static_cast<int64_t>(bucket), static_cast<uint16_t>(high + 1)};
  }
  // The chunk of a key, which `of` gave.
  int64_t chunk_of(const Address& address) const {
    const int64_t high = address.key - 1, buckets = static_cast<int64_t>(buckets_);
    int64_t low = address.bucket - fiited::hashed_row(high, 0, buckets);
    if (low < 0) low += buckets;
    return high * buckets + low;
  }

 private:
  uint64_t buckets_;
  bool short_;
  uint64_t reciprocal_;
};

// Counts `times` more lookups of a chunk that does not live, and says how many there were: a
// count-min sketch of two counters with conservative update, too high at times and never too low,
// but that all are halved after `window` lookups (TinyLFU, Einziger et al. 2017, arXiv:1512.00727).
inline int64_t count_lookups(Bucket& bucket, uint8_t* counters, int64_t chunk, int64_t times,
                             int64_t window) {
  const uint64_t hash = fiited::scramble(static_cast<uint64_t>(chunk), 1);
  constexpr uint64_t kMask = kCounters - 1;
  const uint64_t first = hash & kMask, second = (first + 1 + (hash >> 32) % kMask) & kMask;
  const int64_t before = std::min(counters[first], counters[second]);
  const int64_t now = std::min<int64_t>(before + times, 255);
  for (const uint64_t at : {first, second})
    counters[at] = static_cast<uint8_t>(std::max<int64_t>(counters[at], now));
  bucket.seen += static_cast<uint32_t>(std::min<int64_t>(times, 255));
  if (bucket.seen >= window) {
    for (int64_t i = 0; i < kCounters; ++i) counters[i] /= 2;
    bucket.seen = 0;
  }
  return now;
}

}  // namespace mirror::quantized
