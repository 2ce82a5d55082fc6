// One checked call of a grouped embedding, as the device kernels take it: pointers, sizes and
// strides of every table.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "common/parallel_op_settings.h"
#include "grouped/plan.h"

namespace mirror {

// One table of a call. Strides count elements.
struct TableCall {
  const TablePlan* plan;

  // (rows, dim): float32, float64, bfloat16 or float16, the elements of a row side by side. nullptr
  // in a backward call that does not read the table.
  const void* weight;
  at::ScalarType dtype;
  int64_t rows, dim, row_stride;

  // int32 or int64. A bag_size of -1: the offsets say where bags start; else bags are bag_stride
  // apart.
  const void* ids;
  bool long_ids;
  int64_t num_ids, bags, bag_size, bag_stride, id_stride;

  // int32 or int64; nullptr: there are none.
  const void* offsets;
  bool long_offsets;
  int64_t num_offsets, offset_stride;

  // per_sample_weights, in the type of the table; nullptr: there are none.
  const void* sample_weights;
  int64_t sample_bag_stride, sample_stride;

  // (bags, dim): what forward writes, the gradient that backward reads.
  char* out;
  int64_t out_stride;
};

struct GroupedCall {
  const GroupedPlan* plan;
  std::vector<TableCall> tables;
  std::vector<at::Tensor> copies;  // of what had to be made contiguous
};

// Tensors of one call, in the order of the schema.
struct GroupedInputs {
  at::TensorList weights, ids, offsets, sample_weights, extras;
};

// Checks all but the values of ids and offsets, and resolves the views of the plan; `out` is left
// open. Raises TypeError and ValueError that name the table.
GroupedCall grouped_call(const GroupedPlan& plan, const GroupedInputs& inputs);

// Whether a tensor only stands for one that is not there: a list of tensors has no gaps.
bool absent(const at::Tensor& tensor);

// The same for a backward call: `grads` (..., dim) per table become `out`, and a table whose
// gradient is absent has no bags. Tables that are not needed are absent too; `weights` may be
// empty.
GroupedCall grouped_backward_call(const GroupedPlan& plan, at::TensorList grads,
                                  at::IntArrayRef rows, const GroupedInputs& inputs);

// Outputs of the plan, allocated, with the extras copied into them and `out` of all tables set.
std::vector<at::Tensor> grouped_outputs(GroupedCall& call, const GroupedInputs& inputs);

// The slice of `tensors` that a view of the plan means.
at::Tensor slice(const TensorView& view, at::TensorList tensors);

// One way to run the CPU kernel.
struct GroupedWay {
  Schedule schedule = Schedule::kFlat;
  int threads = 1;
  int prefetch = 8;  // rows ahead of the one that is added; 0: none
};

// Fills `out` of all tables. Raises IndexError that names the table for an id that is out of range,
// ValueError for offsets that are wrong.
void grouped_embedding_cpu(const GroupedCall& call, GroupedWay way);

// Raises as grouped_embedding_cpu would, and does nothing else.
void check_ids_cpu(const GroupedCall& call);

// Adds up the gradients of tables, each `weights[t]` (rows, dim) unless undefined, where zero[t]
// says that it is all zeros already; and of per_sample_weights, each `sample_weights[k]` like the
// tensor that it belongs to, zeros, unless undefined. The order of additions is that of the ids,
// whatever the number of threads.
void grouped_embedding_backward_cpu(const GroupedCall& call, const std::vector<at::Tensor>& weights,
                                    const std::vector<bool>& zero,
                                    const std::vector<at::Tensor>& sample_weights, int threads);

// The rows that the ids of a table name, each once, without padding.
std::vector<int64_t> named_rows_cpu(const TableCall& table);

// The gradient of one table as rows (nnz,) int64 and values (nnz, dim), one per id that is not
// padding.
std::pair<at::Tensor, at::Tensor> sparse_gradient_cpu(const TableCall& table);

}  // namespace mirror
