#include "quantized/arguments.h"

#include <algorithm>

namespace mirror::quantized {

using at::Tensor;

namespace {

constexpr int64_t kMostDim = 1 << 20;
constexpr int64_t kMostTables = 1 << 24;

}  // namespace

Format format_of(std::string_view storage, int64_t dim) {
  TORCH_CHECK_VALUE(dim >= 1 && dim <= kMostDim, "embedding_dim must lie between 1 and ", kMostDim,
                    ", not ", dim);
  if (storage == "int8") return Format::of(Kind::kInt8, dim);
  if (storage == "int4") return Format::of(Kind::kInt4, dim);
  if (storage == "float16") return Format::of(Kind::kFloat16, dim);
  TORCH_CHECK_VALUE(false, "storage must be int8, int4 or float16, not '", storage, "'");
}

Table table_of(const Tensor& rows, std::string_view storage, int64_t dim, int64_t num_embeddings,
               int64_t remainders) {
  const Format format = format_of(storage, dim);
  TORCH_CHECK_TYPE(rows.scalar_type() == at::kByte, "rows must be uint8, not ", rows.scalar_type());
  TORCH_CHECK_VALUE(
      rows.is_cpu() && rows.is_contiguous() && rows.dim() == 2 && rows.size(1) == format.stride,
      "rows must be (rows, ", format.stride, ") on the CPU, not ", rows.sizes());
  const int64_t needed =
      remainders > 0 ? remainders + (num_embeddings + remainders - 1) / remainders : num_embeddings;
  TORCH_CHECK_VALUE(num_embeddings >= 1 && remainders >= 0 && rows.size(0) >= needed, "a table of ",
                    num_embeddings, " ids needs ", needed, " rows, not ", rows.size(0));
  return {format, rows.const_data_ptr<uint8_t>(), rows.size(0), remainders};
}

Bags bags_of(const Tensor& ids, const Optional& offsets, const Optional& samples,
             int64_t num_embeddings, int64_t padding, bool mean) {
  TORCH_CHECK_TYPE(
      ids.scalar_type() == at::kLong && (!offsets || offsets->scalar_type() == at::kLong),
      "ids and offsets must be int64");
  TORCH_CHECK_VALUE(ids.is_cpu() && ids.is_contiguous() &&
                        (!offsets || (offsets->is_cpu() && offsets->is_contiguous())),
                    "ids and offsets must be contiguous, on the CPU where the table is");
  const int64_t n = ids.numel();
  TORCH_CHECK_VALUE(offsets ? offsets->numel() || !n : ids.dim() == 2,
                    "ids need offsets that say where bags start, or two dimensions");
  TORCH_CHECK_VALUE(!samples || (samples->scalar_type() == at::kFloat && samples->numel() == n &&
                                 samples->is_contiguous()),
                    "sample weights must be float32, one for each id");
  const int64_t* const id = ids.const_data_ptr<int64_t>();
  int64_t low = 0, high = 0;
  for (int64_t i = 0; i < n; ++i) {  // without a branch, so that it runs in vector registers
    low = std::min(low, id[i]);
    high = std::max(high, id[i]);
  }
  if (low < 0 || high >= num_embeddings) {
    for (int64_t i = 0; i < n; ++i)
      TORCH_CHECK_INDEX(id[i] >= 0 && id[i] < num_embeddings, "index ", id[i], " at position ", i,
                        " is out of range: ids of this table run from 0 to ", num_embeddings - 1);
  }
  return {id,
          offsets ? offsets->const_data_ptr<int64_t>() : nullptr,
          samples ? samples->const_data_ptr<float>() : nullptr,
          n,
          offsets ? offsets->numel() : ids.size(0),
          offsets ? 0 : ids.size(1),
          padding,
          mean};
}

int64_t members(const Bags& bags, int64_t bag) {
  int64_t count = 0;
  for (int64_t i = bags.begin(bag); i < bags.end(bag); ++i) count += bags.ids[i] != bags.padding;
  return count;
}

void check_grad(const Tensor& grad, const Bags& bags, int64_t dim) {
  TORCH_CHECK_TYPE(grad.scalar_type() == at::kFloat, "the gradient must be float32, not ",
                   grad.scalar_type());
  TORCH_CHECK_VALUE(grad.is_contiguous() && grad.dim() == 2 && grad.size(0) == bags.num_bags &&
                        grad.size(1) == dim,
                    "the gradient must be (bags, embedding_dim), not ", grad.sizes());
}

std::vector<fiited::Lookups> recorded(const std::vector<Tensor>& which,
                                      const std::vector<Tensor>& ends,
                                      const std::vector<Tensor>& grads, int64_t num_rows,
                                      int64_t dim) {
  TORCH_CHECK_VALUE(which.size() == ends.size() && which.size() == grads.size(),
                    "a step takes as many rows as ends and gradients");
  std::vector<fiited::Lookups> lookups;
  for (size_t i = 0; i < which.size(); ++i) {
    TORCH_CHECK_VALUE(ends[i].numel() >= 1, "ends of bags begin with 0");
    const Tensor starts = ends[i].slice(0, 0, ends[i].numel() - 1);
    const Bags bags = bags_of(which[i], starts, std::nullopt, num_rows, -1, false);
    check_grad(grads[i], bags, dim);
    lookups.push_back({which[i], ends[i], grads[i]});
  }
  return lookups;
}

float* slots_of(const Optional& sums, int64_t num_rows) {
  TORCH_CHECK_VALUE(!sums || (sums->is_cpu() && sums->is_contiguous() &&
                              sums->scalar_type() == at::kFloat && sums->numel() == num_rows),
                    "the sums of row-wise Adagrad must be float32, one for each row");
  return sums ? sums->mutable_data_ptr<float>() : nullptr;
}

Draw draw_of(int64_t seed, int64_t step, int64_t table) {
  TORCH_CHECK_VALUE(table >= 0 && table < kMostTables, "a step takes fewer than ", kMostTables,
                    " tables");
  return {static_cast<uint64_t>(seed), static_cast<uint64_t>(step), static_cast<uint32_t>(table),
          0};
}

}  // namespace mirror::quantized
