#include "fiited/cpu/admission.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

#include <algorithm>
#include <bit>

#include "fiited/hash.h"

namespace mirror::fiited {
namespace {

constexpr int kHashes = 4;
constexpr int64_t kCountersPerRow = 8;
constexpr int64_t kHalveAfter = 8;  // lookups per counter
constexpr int64_t kMaxTimes = 255;

}  // namespace

AdmissionFilter::AdmissionFilter(int64_t times, int64_t rows) : times_(times) {
  TORCH_CHECK_VALUE(times >= 0 && times <= kMaxTimes, "admission_filter must be 0 to ", kMaxTimes,
                    ", not ", times);
  if (!counts()) return;
  const int64_t size =
      std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(rows, 128))) * kCountersPerRow;
  counters_ = Array<uint8_t>(size);
  counters_.resize(size);
}

bool AdmissionFilter::admits(int64_t row, int64_t count) {
  if (!counts()) return true;
  const uint64_t mask = counters_.size() - 1;
  const uint64_t hash = scramble(static_cast<uint64_t>(row), 0), stride = scramble(hash, 0) | 1;
  uint8_t* of_row[kHashes];
  int64_t least = kMaxTimes;
  for (int i = 0; i < kHashes; ++i) {
    of_row[i] = &counters_[(hash + i * stride) & mask];
    least = std::min<int64_t>(least, *of_row[i]);
  }
  const int64_t now = std::min(least + std::min(count, kMaxTimes), kMaxTimes);
  for (uint8_t* counter : of_row) *counter = static_cast<uint8_t>(std::max<int64_t>(*counter, now));
  seen_ += count;
  if (seen_ >= kHalveAfter * counters_.size()) halve();
  return now >= times_;
}

at::Tensor AdmissionFilter::counters() const {
  const at::Tensor copy = at::empty({counters_.size()}, at::kByte);
  std::copy_n(counters_.data(), counters_.size(), copy.mutable_data_ptr<uint8_t>());
  return copy;
}

at::Tensor AdmissionFilter::seen() const { return at::full({1}, seen_, at::kLong); }

// Counters of another size are of another table: counting begins anew.
void AdmissionFilter::load(const at::Tensor& counters, const at::Tensor& seen) {
  const bool fits = counters.numel() == counters_.size();
  std::fill_n(counters_.data(), counters_.size(), uint8_t{0});
  if (fits) std::copy_n(counters.const_data_ptr<uint8_t>(), counters_.size(), counters_.data());
  seen_ = fits ? seen.const_data_ptr<int64_t>()[0] : 0;
}

void AdmissionFilter::halve() {
  for (int64_t i = 0; i < counters_.size(); ++i) counters_[i] /= 2;
  seen_ = 0;
}

}  // namespace mirror::fiited
