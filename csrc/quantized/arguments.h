// What ops of quantized rows are given, checked.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "fiited/storage.h"
#include "quantized/cpu/rows.h"

namespace mirror::quantized {

using Optional = std::optional<at::Tensor>;

Format format_of(std::string_view storage, int64_t dim);

// Rows (rows, stride) that are enough for so many ids. `remainders` is 0 for a table with a row for
// each id.
Table table_of(const at::Tensor& rows, std::string_view storage, int64_t dim,
               int64_t num_embeddings, int64_t remainders);

// Ids (N,) and where bags start in them, or (B, L). Values of ids are checked here, those of
// offsets by who calls.
Bags bags_of(const at::Tensor& ids, const Optional& offsets, const Optional& samples,
             int64_t num_embeddings, int64_t padding, bool mean);

// Ids of a bag that take part.
int64_t members(const Bags& bags, int64_t bag);

void check_grad(const at::Tensor& grad, const Bags& bags, int64_t dim);

// The lookups of a step: `which[i]` (n,) are rows, `ends[i]` (bags + 1,) where the bags of
// `grads[i]` (bags, D) start and end among them.
std::vector<fiited::Lookups> recorded(const std::vector<at::Tensor>& which,
                                      const std::vector<at::Tensor>& ends,
                                      const std::vector<at::Tensor>& grads, int64_t num_rows,
                                      int64_t dim);

// What row-wise Adagrad sums up for each row; null for SGD.
float* slots_of(const Optional& sums, int64_t num_rows);

// Of no row yet.
Draw draw_of(int64_t seed, int64_t step, int64_t table);

}  // namespace mirror::quantized
