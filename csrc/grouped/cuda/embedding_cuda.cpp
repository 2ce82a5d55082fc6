// The grouped embedding on CUDA tensors: checks and outputs as on the CPU, then the kernels.
#include <ATen/ops/_sparse_coo_tensor_unsafe.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/DeviceGuard.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/library.h>

#include <limits>

#include "grouped/cuda/launches.h"
#include "grouped/embedding.h"

namespace mirror {
namespace {

using at::Tensor;
using at::TensorList;
using Tensors = std::vector<Tensor>;

cuda::Element element_of(at::ScalarType dtype) {
  switch (dtype) {
    case at::kFloat:
      return cuda::Element::kFloat;
    case at::kDouble:
      return cuda::Element::kDouble;
    case at::kBFloat16:
      return cuda::Element::kBFloat16;
    default:
      return cuda::Element::kHalf;
  }
}

cuda::Mode mode_of(GroupedMode mode) {
  switch (mode) {
    case GroupedMode::kSum:
      return cuda::Mode::kSum;
    case GroupedMode::kMean:
      return cuda::Mode::kMean;
    case GroupedMode::kMax:
      return cuda::Mode::kMax;
    default:
      return cuda::Mode::kRow;
  }
}

cuda::Table device_table(const TableCall& call, size_t number) {
  const auto aligned = [&](const void* first, int64_t stride) {
    const int64_t size = c10::elementSize(call.dtype);
    return reinterpret_cast<uintptr_t>(first) % 16 == 0 && stride * size % 16 == 0 &&
           call.dim * size % 16 == 0;
  };
  cuda::Table table{};
  table.weight = call.weight;
  table.rows = call.rows;
  table.row_stride = call.row_stride;
  table.ids = call.ids;
  table.num_ids = call.num_ids;
  table.bags = call.bags;
  table.bag_size = call.bag_size;
  table.bag_stride = call.bag_stride;
  table.id_stride = call.id_stride;
  table.offsets = call.offsets;
  table.num_offsets = call.num_offsets;
  table.offset_stride = call.offset_stride;
  table.sample_weights = call.sample_weights;
  table.sample_bag_stride = call.sample_bag_stride;
  table.sample_stride = call.sample_stride;
  table.out = call.out;
  table.out_stride = call.out_stride;
  table.padding = call.plan->padding;
  table.dim = call.dim;
  table.number = static_cast<int32_t>(number);
  table.element = element_of(call.dtype);
  table.mode = mode_of(call.plan->mode);
  table.long_ids = call.long_ids;
  table.long_offsets = call.long_offsets;
  table.wide = aligned(call.weight, call.row_stride) && aligned(call.out, call.out_stride);
  return table;
}

// The current stream, and memory that is held in `scratch`.
cuda::Launcher launcher(at::Device device, Tensors& scratch) {
  return {
      c10::cuda::getCurrentCUDAStream(device.index()).stream(), [device, &scratch](size_t bytes) {
        scratch.push_back(
            at::empty({static_cast<int64_t>(bytes)}, at::TensorOptions(at::kByte).device(device)));
        return scratch.back().mutable_data_ptr();
      }};
}

Tensors forward_cuda(TensorList weights, TensorList ids, TensorList offsets,
                     TensorList sample_weights, TensorList extras, std::string_view text) {
  const GroupedInputs inputs{weights, ids, offsets, sample_weights, extras};
  const GroupedPlan& plan = grouped_plan(text);
  TORCH_CHECK_VALUE(!weights.empty(), "a grouped embedding needs at least one table");
  const c10::DeviceGuard guard(weights[0].device());
  GroupedCall call = grouped_call(plan, inputs);
  Tensors outputs = grouped_outputs(call, inputs), scratch;
  std::vector<cuda::Table> tables;
  for (const TableCall& table : call.tables) tables.push_back(device_table(table, tables.size()));
  C10_CUDA_CHECK(cuda::launch_pool(launcher(weights[0].device(), scratch), tables));
  return outputs;
}

// Gradients of the tables and of per_sample_weights that are wanted, in this order.
Tensors backward_cuda(TensorList grads, TensorList weights, at::IntArrayRef rows, TensorList ids,
                      TensorList offsets, TensorList sample_weights, std::string_view text,
                      const c10::List<bool>& wanted) {
  const GroupedPlan& plan = grouped_plan(text);
  TORCH_CHECK_VALUE(!grads.empty() && wanted.size() == plan.tables.size() + sample_weights.size(),
                    "wanted must say so for each table and each tensor of per_sample_weights");
  const at::Device device = grads[0].device();
  const c10::DeviceGuard guard(device);
  const GroupedCall call =
      grouped_backward_call(plan, grads, rows, {weights, ids, offsets, sample_weights, {}});
  Tensors found, scratch;
  std::vector<cuda::Table> dense, sparse;
  std::vector<void*> gradients;
  std::vector<cuda::SparsePlace> places;
  int64_t num_ids = 0;
  for (size_t t = 0; t < plan.tables.size(); ++t) {
    if (!wanted[t]) continue;
    TORCH_CHECK_VALUE(!absent(grads[t]), "table ", plan.tables[t].name,
                      " has no gradient to pass on");
    const TableCall& table = call.tables[t];
    if (!plan.tables[t].sparse) {
      found.push_back(at::zeros({rows[t], table.dim}, grads[t].options()));
      dense.push_back(device_table(table, t));
      gradients.push_back(found.back().mutable_data_ptr());
      num_ids += table.num_ids;
      continue;
    }
    const int64_t entries = table.bags && table.dim ? table.num_ids : 0;  // else no kernel runs
    const Tensor row = at::empty({1, entries}, grads[t].options().dtype(at::kLong));
    const Tensor values = at::empty({entries, table.dim}, grads[t].options());
    sparse.push_back(device_table(table, t));
    places.push_back({row.mutable_data_ptr<int64_t>(), values.mutable_data_ptr()});
    found.push_back(at::_sparse_coo_tensor_unsafe(row, values, {rows[t], table.dim}));
  }
  TORCH_CHECK_VALUE(num_ids <= std::numeric_limits<int32_t>::max(),
                    "the gradient of a grouped embedding takes at most 2^31 - 1 ids, not ", num_ids,
                    ": use smaller batches");
  C10_CUDA_CHECK(cuda::launch_gradients(launcher(device, scratch), dense, gradients));
  C10_CUDA_CHECK(cuda::launch_sparse(launcher(device, scratch), sparse, places));
  Tensors samples(sample_weights.size());
  for (size_t k = 0; k < samples.size(); ++k) {
    if (!wanted[plan.tables.size() + k]) continue;
    samples[k] = at::zeros_like(sample_weights[k]);
    found.push_back(samples[k]);
  }
  // One table after the other: several may share one tensor.
  for (size_t t = 0; t < plan.tables.size(); ++t) {
    const TensorView& view = plan.tables[t].weights;
    if (!view.given() || !samples[view.tensor].defined() || !call.tables[t].bags) continue;
    const Tensor gradient = slice(view, samples);
    C10_CUDA_CHECK(cuda::launch_sample_gradient(
        launcher(device, scratch), device_table(call.tables[t], t), gradient.mutable_data_ptr(),
        call.tables[t].bag_size >= 0 ? gradient.stride(0) : 0, gradient.stride(-1)));
  }
  return found;
}

}  // namespace

TORCH_LIBRARY_IMPL(mirror, CUDA, m) {
  m.impl("grouped_embedding", &forward_cuda);
  m.impl("grouped_embedding_backward", &backward_cuda);
}

}  // namespace mirror
