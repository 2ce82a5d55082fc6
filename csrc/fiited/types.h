// Plain words of a FIITED table, which kernels know too.
#pragma once

#include <cstdint>

#include "common/host_device.h"

namespace mirror::fiited {

inline constexpr int64_t kMaxChunks = 16;  // a row's live chunks are bits of 16

// Which budget a chunk counts towards.
enum class Scope { kGlobal, kTable, kColumn };

enum class Score { kFrequencyGradient, kFrequency, kGradient };
enum class Rule { kSgd, kAdagrad, kRowwiseAdagrad, kAdam };

// The numbers of one optimizer step.
struct Step {
  Rule rule;
  Score score;
  bool mean;
  double lr;
  double eps;
  double beta1;
  double beta2;
  int64_t number;  // of this step, from 1 on
  double scale;    // what stored utilities are multiplied with to give their values
};

// Whether a chunk is kept: utility bits above `bits`, or equal and the id not above `id`. -1 keeps
// everything.
struct Threshold {
  int64_t bits;
  int64_t id;
  MIRROR_HOST_DEVICE bool keeps(int64_t its_bits, int64_t its_id) const {
    return its_bits > bits || (its_bits == bits && its_id <= id);
  }
};

// What is ranked: chunks that are live or have a utility, or the best utility of rows that have no
// live chunk.
enum class Candidates { kChunks, kRows };

// A rank is 15 bits of utility, the larger the better, then an id, the smaller the better. It is
// found digit by digit (see bench_engine/kernels/fiited/ranking.py).
struct Digit {
  bool of_id;
  int shift;
  int bits;
};

// The value of a digit of a candidate, or -1 where its digits before are not those of the prefix.
MIRROR_HOST_DEVICE inline int64_t digit_of(const Digit& digit, const Threshold& prefix,
                                           int64_t bits, int64_t id) {
  int64_t number = bits;
  int64_t before = prefix.bits;
  if (digit.of_id) {
    if (bits != prefix.bits) return -1;
    number = id;
    before = prefix.id;
  }
  if (number >> (digit.shift + digit.bits) != before >> (digit.shift + digit.bits)) return -1;
  return (number >> digit.shift) & ((int64_t{1} << digit.bits) - 1);
}

}  // namespace mirror::fiited
