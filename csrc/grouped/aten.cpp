// The grouped embedding by torch's own ops, one per table.
#include "grouped/aten.h"

#include <ATen/ThreadLocalState.h>
#include <ATen/ops/_embedding_bag_forward_only.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include "common/share_out.h"

namespace mirror {
namespace {

using at::Tensor;

Tensor one_table(const TablePlan& table, const Tensor& weight, const GroupedInputs& inputs) {
  const Tensor ids = slice(table.ids, inputs.ids);
  if (table.mode == GroupedMode::kRow) return at::embedding(weight, ids);
  const Tensor offsets = table.offsets.given() ? slice(table.offsets, inputs.offsets)
                         : ids.numel() ? at::arange(0, ids.numel(), ids.size(1), ids.options())
                                       : at::zeros({ids.size(0)}, ids.options());
  std::optional<Tensor> weights;
  if (table.weights.given())
    weights = slice(table.weights, inputs.sample_weights).reshape(-1).contiguous();
  return std::get<0>(at::_embedding_bag_forward_only(
      weight, ids.reshape(-1).contiguous(), offsets.contiguous(), /*scale_grad_by_freq=*/false,
      static_cast<int64_t>(table.mode), /*sparse=*/false, weights, table.last, table.padding));
}

}  // namespace

std::vector<Tensor> grouped_embedding_aten(const GroupedPlan& plan, const GroupedInputs& inputs,
                                           int threads) {
  std::vector<Tensor> tables(plan.tables.size());
  const at::ThreadLocalState state;
  share_out(tables.size(), threads, [&](int64_t t) {
    const at::ThreadLocalStateGuard guard(state);
    tables[t] = one_table(plan.tables[t], inputs.weights[t], inputs);
  });
  std::vector<Tensor> outputs;
  for (const OutputPlan& output : plan.outputs) {
    std::vector<Tensor> parts;
    for (const int64_t part : output.parts) {
      parts.push_back(part >= 0 ? tables[part] : inputs.extras[-1 - part]);
    }
    outputs.push_back(output.kind == OutputKind::kSingle ? parts[0]
                      : output.kind == OutputKind::kCat  ? at::cat(parts, -1)
                                                         : at::stack(parts, 1));
  }
  return outputs;
}

}  // namespace mirror
