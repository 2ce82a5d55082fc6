// Schema and checks of tables of quantized rows on the CPU, and the threads that share their work.
// Called from bench_engine/kernels/quantized/; see cpu/rows.h for what a row is.
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "fiited/cpu/parallel.h"
#include "fiited/cpu/requests.h"
#include "quantized/cpu/rows.h"

namespace mirror::quantized {
namespace {

using at::Tensor;
using Optional = std::optional<Tensor>;

constexpr int64_t kMostDim = 1 << 20;
constexpr int64_t kMostTables = 1 << 24;
// Rows ahead at which a step asks for a row and its slot.
constexpr int64_t kAhead = 8;

Format format_of(std::string_view storage, int64_t dim) {
  TORCH_CHECK_VALUE(dim >= 1 && dim <= kMostDim, "embedding_dim must lie between 1 and ", kMostDim,
                    ", not ", dim);
  if (storage == "int8") return Format::of(Kind::kInt8, dim);
  if (storage == "int4") return Format::of(Kind::kInt4, dim);
  if (storage == "float16") return Format::of(Kind::kFloat16, dim);
  TORCH_CHECK_VALUE(false, "storage must be int8, int4 or float16, not '", storage, "'");
}

// `remainders` is 0 for a table with a row for each id.
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

// Ids (N,) and where bags start in them, or (B, L). Values of ids are checked here, those of
// offsets by who calls.
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

Tensor pool(const Tensor& rows, const Tensor& ids, const Optional& offsets, const Optional& samples,
            std::string_view storage, int64_t dim, int64_t num_embeddings, int64_t remainders,
            int64_t padding, bool mean) {
  const Table table = table_of(rows, storage, dim, num_embeddings, remainders);
  const Bags bags = bags_of(ids, offsets, samples, num_embeddings, padding, mean);
  const Tensor output = at::empty({bags.num_bags, dim}, rows.options().dtype(at::kFloat));
  float* const to = output.mutable_data_ptr<float>();
  fiited::in_parallel(
      bags.num_bags, bags.num_ids + bags.num_bags,
      [&](int64_t first, int64_t last) { kernels().pool(table, bags, first, last, to); });
  return output;
}

// Ids of each bag that take part.
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

// Gradients of the rows that were looked up, straight through the rounding: rows of the table, and
// the gradient of each, (n,) and (n, D).
std::tuple<Tensor, Tensor> row_gradients(const Tensor& grad, const Tensor& rows, const Tensor& ids,
                                         const Tensor& offsets, const Optional& samples,
                                         std::string_view storage, int64_t dim,
                                         int64_t num_embeddings, int64_t remainders,
                                         int64_t padding, bool mean) {
  const Table table = table_of(rows, storage, dim, num_embeddings, remainders);
  const Bags bags = bags_of(ids, offsets, samples, num_embeddings, padding, mean);
  check_grad(grad, bags, dim);
  std::vector<int64_t> start(bags.num_bags + 1);
  for (int64_t b = 0; b < bags.num_bags; ++b) start[b + 1] = start[b] + members(bags, b);
  const int64_t count = start.back(), rows_each = remainders > 0 ? 2 : 1;
  const Tensor found = at::empty({rows_each * count}, ids.options());
  const Tensor gradients = at::empty({rows_each * count, dim}, grad.options());
  int64_t* const row = found.mutable_data_ptr<int64_t>();
  float* const to = gradients.mutable_data_ptr<float>();
  const float* const from = grad.const_data_ptr<float>();
  fiited::in_parallel(bags.num_bags, count, [&](int64_t first, int64_t last) {
    std::vector<float> other(dim);
    for (int64_t b = first; b < last; ++b) {
      const int64_t size = start[b + 1] - start[b];
      int64_t at = start[b];
      for (int64_t i = bags.begin(b); i < bags.end(b); ++i) {
        const int64_t id = bags.ids[i];
        if (id == bags.padding) continue;
        const float factor =
            (bags.samples ? bags.samples[i] : 1.0f) / (bags.mean ? static_cast<float>(size) : 1.0f);
        const float* const of_bag = from + b * dim;
        const auto give = [&](int64_t place, int64_t its_row, const float* partner) {
          row[place] = its_row;
          float* const into = to + place * dim;
          for (int64_t d = 0; d < dim; ++d)
            into[d] = of_bag[d] * factor * (partner ? partner[d] : 1);
        };
        if (!remainders) {
          give(at++, id, nullptr);
          continue;
        }
        const int64_t quotient = table.quotient(id), remainder = id - quotient * remainders;
        kernels().read(table.format, table.row(remainders + quotient), other.data());
        give(at, remainder, other.data());
        kernels().read(table.format, table.row(remainder), other.data());
        give(count + at++, remainders + quotient, other.data());
      }
    }
  });
  return {found, gradients};
}

// Gradient (N,) of the sample weights.
Tensor sample_gradient(const Tensor& grad, const Tensor& rows, const Tensor& ids,
                       const Tensor& offsets, std::string_view storage, int64_t dim,
                       int64_t num_embeddings, int64_t remainders, int64_t padding, bool mean) {
  const Table table = table_of(rows, storage, dim, num_embeddings, remainders);
  const Bags bags = bags_of(ids, offsets, std::nullopt, num_embeddings, padding, mean);
  check_grad(grad, bags, dim);
  const Tensor gradient = at::empty({bags.num_ids}, grad.options());
  float* const to = gradient.mutable_data_ptr<float>();
  const float* const from = grad.const_data_ptr<float>();
  fiited::in_parallel(bags.num_bags, bags.num_ids, [&](int64_t first, int64_t last) {
    std::vector<float> vector(dim);
    for (int64_t b = first; b < last; ++b) {
      const int64_t size = mean ? std::max<int64_t>(1, members(bags, b)) : 1;
      for (int64_t i = bags.begin(b); i < bags.end(b); ++i) {
        to[i] = 0;
        if (bags.ids[i] == bags.padding) continue;
        const Bags one{bags.ids + i, nullptr, nullptr, 1, 1, 1, -1, false};
        kernels().pool(table, one, 0, 1, vector.data());
        for (int64_t d = 0; d < dim; ++d) to[i] += from[b * dim + d] * vector[d];
        to[i] /= static_cast<float>(size);
      }
    }
  });
  return gradient;
}

Draw draw_of(int64_t seed, int64_t step, int64_t table) {
  TORCH_CHECK_VALUE(table >= 0 && table < kMostTables, "a step takes fewer than ", kMostTables,
                    " tables");
  return {static_cast<uint64_t>(seed), static_cast<uint64_t>(step), static_cast<uint32_t>(table),
          0};
}

// Sums the gradients of each row in the order in which they were recorded, and updates it. `sums`
// (rows,) is that of row-wise Adagrad; without it the rule is SGD. `which[i]` (n,) are rows,
// `ends[i]` (bags + 1,) where the bags of `grads[i]` (bags, D) start and end among them.
void step(const Tensor& rows, const Optional& sums, const std::vector<Tensor>& which,
          const std::vector<Tensor>& ends, const std::vector<Tensor>& grads,
          std::string_view storage, int64_t dim, double lr, double eps, int64_t seed,
          int64_t number, int64_t table) {
  const Format format = format_of(storage, dim);
  const int64_t num_rows = rows.size(0);
  table_of(rows, storage, dim, num_rows, 0);
  TORCH_CHECK_VALUE(!sums || (sums->is_cpu() && sums->is_contiguous() &&
                              sums->scalar_type() == at::kFloat && sums->numel() == num_rows),
                    "the sums of row-wise Adagrad must be float32, one for each row");
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
  const fiited::Requests requests(lookups, dim, false);
  const Draw base = draw_of(seed, number, table);
  const Rule rule{static_cast<float>(lr), static_cast<float>(eps)};
  uint8_t* const bytes = rows.mutable_data_ptr<uint8_t>();
  float* const slots = sums ? sums->mutable_data_ptr<float>() : nullptr;
  fiited::in_parallel(requests.size(), requests.size(), [&](int64_t first, int64_t last) {
    std::vector<float> sum(dim), room(dim);
    for (int64_t i = first; i < last; ++i) {
      if (i + kAhead < last) {
        const int64_t ahead = requests.row(i + kAhead);
        __builtin_prefetch(bytes + ahead * format.stride, 1);
        __builtin_prefetch(bytes + (ahead + 1) * format.stride - 1, 1);
        if (slots) __builtin_prefetch(slots + ahead, 1);
      }
      const int64_t row = requests.row(i);
      Draw draw = base;
      draw.row = row;
      kernels().update(format, requests.gradient(i, sum.data()), rule, draw,
                       slots ? slots + row : nullptr, room.data(), bytes + row * format.stride);
    }
  });
}

// Writes numbers (n, D) to rows `first` to `first + n`, rounded at random.
void write(const Tensor& rows, const Tensor& values, std::string_view storage, int64_t seed,
           int64_t number, int64_t first) {
  TORCH_CHECK_TYPE(values.scalar_type() == at::kFloat, "vectors must be float32, not ",
                   values.scalar_type());
  TORCH_CHECK_VALUE(values.is_cpu() && values.dim() == 2, "vectors must be (rows, embedding_dim)");
  const Format format = format_of(storage, values.size(1));
  table_of(rows, storage, values.size(1), rows.size(0), 0);
  TORCH_CHECK_VALUE(first >= 0 && first + values.size(0) <= rows.size(0), "there are no rows ",
                    first, " to ", first + values.size(0), " in a table of ", rows.size(0));
  const Tensor numbers = values.contiguous();
  const float* const from = numbers.const_data_ptr<float>();
  uint8_t* const bytes = rows.mutable_data_ptr<uint8_t>();
  const Draw base = draw_of(seed, number, 0);
  fiited::in_parallel(values.size(0), values.size(0), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Draw draw = base;
      draw.row = first + i;
      kernels().write(format, from + i * format.dim, draw, bytes + draw.row * format.stride);
    }
  });
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(mirror, m) {
  m.def(
      "quantized_pool(Tensor rows, Tensor ids, Tensor? offsets, Tensor? samples, str storage, "
      "int dim, int num_embeddings, int remainders, int padding, bool mean) -> Tensor");
  m.def(
      "quantized_row_gradients(Tensor grad, Tensor rows, Tensor ids, Tensor offsets, "
      "Tensor? samples, str storage, int dim, int num_embeddings, int remainders, int padding, "
      "bool mean) -> (Tensor, Tensor)");
  m.def(
      "quantized_sample_gradient(Tensor grad, Tensor rows, Tensor ids, Tensor offsets, "
      "str storage, int dim, int num_embeddings, int remainders, int padding, bool mean) "
      "-> Tensor");
  m.def(
      "quantized_step(Tensor(a!) rows, Tensor(b!)? sums, Tensor[] which, Tensor[] ends, "
      "Tensor[] grads, str storage, int dim, float lr, float eps, int seed, "
      "int number, int table) -> ()");
  m.def(
      "quantized_write(Tensor(a!) rows, Tensor values, str storage, int seed, int number, "
      "int first) -> ()");
  m.def("quantized_stride(str storage, int dim) -> int",
        [](std::string_view storage, int64_t dim) { return format_of(storage, dim).stride; });
  // Whose kernels this process runs: avx512, avx2 or portable.
  m.def("quantized_instruction_set() -> str", [] { return std::string(kernels().name); });
}

TORCH_LIBRARY_IMPL(mirror, CPU, m) {
  m.impl("quantized_pool", pool);
  m.impl("quantized_row_gradients", row_gradients);
  m.impl("quantized_sample_gradient", sample_gradient);
  m.impl("quantized_step", step);
  m.impl("quantized_write", write);
}

}  // namespace mirror::quantized
