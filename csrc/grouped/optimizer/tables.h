// The tables of one optimizer step: checked, and as the kernels take them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "grouped/cpu/touched_rows.h"

namespace mirror::optimizer {

// Why a parameter is left to torch. The numbers are those of
// bench_engine/kernels/parallel_op/entry/optimizer_step.py.
enum class Left : int64_t { kTaken, kDevice, kType, kLayout, kState, kMemory, kIds, kRule };

// One parameter, its gradient and its state.
struct Table {
  at::ScalarType dtype;
  void* weight;
  int64_t rows, dim;  // one row where the gradient is dense and all of it counts
  void* states[2] = {nullptr, nullptr};
  bool first = false;  // of SGD: the buffer of the momentum holds nothing yet
  double rate = 0;     // of learning, where each table has its own

  const void* values = nullptr;  // of the gradient
  bool sparse = false;
  std::shared_ptr<const Rows> touched;  // of a dense one: the rows that are not all +0, if known
  const int64_t* ids = nullptr;         // of a sparse gradient: (nnz,), a row of values each
  int64_t nnz = 0;
  bool unique = false;  // whether no id occurs twice

  at::Tensor held_ids, held_values;

  // Of a sparse gradient that was coalesced: places of its values, and where each row's start.
  std::vector<int64_t> order, starts;
};

// What a step reads and writes. Tensors of `states` may be undefined; `steps` may be empty.
struct Parameters {
  at::TensorList weights, gradients;
  std::vector<at::TensorList> states;
  at::TensorList steps;
};

// What a rule can do with gradients.
struct Abilities {
  bool dense = false, sparse = false;
  bool sums_first = false;   // whether the values of one row are added up before they count
  bool skips_zeros = false;  // whether rows whose gradient is +0 stay as they are
};

struct Step {
  std::vector<Left> left;       // of each parameter
  std::vector<Table> tables;    // of those that are taken
  std::vector<size_t> numbers;  // which these are
};

// The tables that an op may update, with the very bits of torch's own; none of them changes here.
Step checked(const Parameters& parameters, const Abilities& abilities);

// Sorts what has to be summed row by row, as torch's coalesce() does.
void coalesce(Step& step, int threads);

}  // namespace mirror::optimizer
