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
#include "quantized/arguments.h"
#include "quantized/cpu/rows.h"

namespace mirror::quantized {
namespace {

using at::Tensor;

// Rows ahead at which a step asks for a row and its slot.
constexpr int64_t kAhead = 8;

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

// Sums the gradients of each row in the order in which they were recorded, and updates it. `sums`
// (rows,) is that of row-wise Adagrad; without it the rule is SGD.
void step(const Tensor& rows, const Optional& sums, const std::vector<Tensor>& which,
          const std::vector<Tensor>& ends, const std::vector<Tensor>& grads,
          std::string_view storage, int64_t dim, double lr, double eps, double step_lr,
          int64_t seed, int64_t number, int64_t table) {
  const Format format = format_of(storage, dim);
  const int64_t num_rows = rows.size(0);
  table_of(rows, storage, dim, num_rows, 0);
  const fiited::Requests requests(recorded(which, ends, grads, num_rows, dim), dim, false);
  const Draw base = draw_of(seed, number, table);
  const Rule rule{static_cast<float>(lr), static_cast<float>(eps), static_cast<float>(step_lr)};
  uint8_t* const bytes = rows.mutable_data_ptr<uint8_t>();
  float* const slots = slots_of(sums, num_rows);
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
      "Tensor[] grads, str storage, int dim, float lr, float eps, float step_lr, "
      "int seed, int number, int table) -> ()");
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
