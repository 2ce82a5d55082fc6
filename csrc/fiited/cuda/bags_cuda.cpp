// The ids of a call on a GPU: rows, where bags end, and whether all of it is in range.
#include <ATen/ops/empty.h>
#include <c10/core/DeviceGuard.h>

#include "fiited/cuda/flat_cuda.h"

namespace mirror::fiited::cuda {
namespace {

using at::Tensor;
using Offsets = std::vector<std::optional<Tensor>>;

bool is_index(const Tensor& ids) {
  return ids.scalar_type() == at::kInt || ids.scalar_type() == at::kLong;
}

bool has_offsets(const Offsets& offsets, size_t table) {
  return !offsets.empty() && offsets[table].has_value();
}

// Whether types and dimensions are those of ids with their offsets.
bool are_ids(const Tensor& ids, const Tensor* offsets) {
  if (!offsets) return is_index(ids) && ids.dim() == 2;
  return is_index(ids) && is_index(*offsets) && ids.dim() == 1 && offsets->dim() == 1 &&
         (offsets->numel() || !ids.numel());
}

}  // namespace

Bags FlatCuda::bags(const std::vector<Tensor>& inputs, const Offsets& offsets,
                    std::optional<int64_t> seed, bool joint) {
  const c10::DeviceGuard guard(device_);
  std::vector<int64_t> ends = shape_.table_ends;
  if (joint) ends = {ends.back()};
  bool fits = inputs.size() == ends.size() && (offsets.empty() || offsets.size() == inputs.size());
  const auto check_device = [&](const Tensor& ids, const char* name) {
    TORCH_CHECK_VALUE(ids.device() == device_, name, " must be on ", device_,
                      ", where the table is, not on ", ids.device());
  };
  std::vector<IdsOfTable> tables;
  std::vector<Tensor> held;  // until their kernels are on the stream
  std::vector<int64_t> counts;
  int64_t num_ids = 0, num_bags = 0;
  for (size_t t = 0; fits && t < inputs.size(); ++t) {
    check_device(inputs[t], "input");
    const Tensor* const given = has_offsets(offsets, t) ? &*offsets[t] : nullptr;
    if (given) check_device(*given, "offsets");
    fits = are_ids(inputs[t], given);
    if (!fits) break;
    held.push_back(inputs[t].contiguous());
    const Tensor ids = held.back(), starts = given ? given->contiguous() : Tensor();
    if (given) held.push_back(starts);
    const int64_t base = t ? ends[t - 1] : 0;
    IdsOfTable of{};
    of.ids = ids.const_data_ptr();
    of.offsets = given ? starts.const_data_ptr() : nullptr;
    of.long_ids = ids.scalar_type() == at::kLong;
    of.long_offsets = given && starts.scalar_type() == at::kLong;
    of.num_ids = ids.numel();
    of.num_bags = given ? starts.numel() : ids.size(0);
    of.bag_size = given ? 0 : ids.size(1);
    of.first_row = base;
    of.rows = ends[t] - base;
    of.first_id = num_ids;
    of.first_bag = num_bags;
    of.seed = seed ? scramble(t, *seed) : 0;
    tables.push_back(of);
    counts.push_back(of.num_bags);
    num_ids += of.num_ids;
    num_bags += of.num_bags;
  }
  if (fits) {
    const Tensor rows = empty({num_ids}, at::kLong), bag_ends = empty({num_bags + 1}, at::kLong);
    const Tensor wrong = empty({1}, at::kInt).zero_();
    for (size_t first = 0; first < tables.size(); first += ReadIds::kMostTables) {
      ReadIds body{};
      for (size_t t = first; t < tables.size() && body.tables < ReadIds::kMostTables; ++t) {
        body.table[body.tables++] = tables[t];
        body.first_thread[body.tables] =
            body.first_thread[body.tables - 1] + tables[t].num_ids + tables[t].num_bags;
      }
      body.hashed = seed.has_value();
      body.rows = rows.mutable_data_ptr<int64_t>();
      body.ends = bag_ends.mutable_data_ptr<int64_t>();
      body.wrong = wrong.mutable_data_ptr<int32_t>();
      start(body);
    }
    if (!wrong.item<int32_t>()) return {rows, bag_ends, counts};
  }
  // The CPU says what is wrong, and where.
  std::vector<Tensor> inputs_here;
  Offsets offsets_here;
  for (const Tensor& ids : inputs) inputs_here.push_back(ids.cpu());
  for (const auto& starts : offsets)
    offsets_here.push_back(starts ? std::optional(starts->cpu()) : std::nullopt);
  Storage::bags(inputs_here, offsets_here, seed, joint);
  TORCH_CHECK(false, "ids changed while they were read");
}

}  // namespace mirror::fiited::cuda
