// Checks the tables of an optimizer step.
#include "grouped/optimizer/tables.h"

#include <ATen/ops/sort.h>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include <algorithm>

#include "common/share_out.h"

namespace mirror::optimizer {
namespace {

using at::Tensor;

// Of longer lists torch's sort depends on where it is called, so they are sorted where coalesce()
// would be.
constexpr int64_t kSortedAnywhere = 1 << 15;

// Whether threads compute alike: a thread whose denormals are flushed has workers that keep theirs.
bool usual_arithmetic() {
#if defined(__SSE__)
  constexpr unsigned kFlags = 0x3F, kUsual = 0x1F80;
  return (_mm_getcsr() & ~kFlags) == kUsual;
#else
  return true;
#endif
}

// A tensor without lazy signs, zeros or classes of its own.
bool ordinary(const Tensor& tensor) {
  return tensor.device().is_cpu() && !tensor.is_inference() && !tensor.is_neg() &&
         !tensor._is_zerotensor() && !tensor.key_set().has(c10::DispatchKey::Python);
}

bool dense(const Tensor& tensor) {
  return tensor.layout() == at::kStrided && tensor.is_contiguous() && tensor.has_storage();
}

Left state_of(const Parameters& parameters, size_t i) {
  const Tensor& weight = parameters.weights[i];
  for (const at::TensorList& states : parameters.states) {
    const Tensor& state = states[i];
    if (!ordinary(state) || !dense(state) || state.scalar_type() != weight.scalar_type() ||
        state.sizes() != weight.sizes()) {
      return Left::kState;
    }
  }
  if (parameters.steps.empty()) return Left::kTaken;
  const Tensor& count = parameters.steps[i];
  const bool number = count.scalar_type() == at::kFloat || count.scalar_type() == at::kDouble;
  return ordinary(count) && dense(count) && count.numel() == 1 && number ? Left::kTaken
                                                                         : Left::kState;
}

Left gradient_of(const Tensor& weight, const Tensor& gradient, const Abilities& abilities) {
  if (!ordinary(gradient)) return Left::kDevice;
  if (gradient.scalar_type() != weight.scalar_type()) return Left::kType;
  if (gradient.sizes() != weight.sizes()) return Left::kLayout;
  if (gradient.layout() == at::kStrided) {
    if (!abilities.dense) return Left::kRule;
    return dense(gradient) ? Left::kTaken : Left::kLayout;
  }
  if (gradient.layout() != at::kSparse || gradient.sparse_dim() != 1 || gradient.dense_dim() != 1) {
    return Left::kLayout;
  }
  return abilities.sparse ? Left::kTaken : Left::kRule;
}

Left weight_of(const Tensor& weight) {
  if (!ordinary(weight)) return Left::kDevice;
  if (weight.scalar_type() != at::kFloat && weight.scalar_type() != at::kDouble) return Left::kType;
  return dense(weight) ? Left::kTaken : Left::kLayout;
}

// Fills in the gradient; false where an id names no row.
bool take_gradient(const Tensor& gradient, const Abilities& abilities, Table& table) {
  if (gradient.layout() == at::kStrided) {
    table.values = gradient.const_data_ptr();
    if (abilities.skips_zeros && gradient.dim() == 2) {
      table.touched = touched_rows(gradient);
      if (table.touched) return true;
      want_touched_rows();
    }
    table.dim *= table.rows;
    table.rows = 1;
    return true;
  }
  table.held_ids = gradient._indices().contiguous();
  table.ids = table.held_ids.const_data_ptr<int64_t>();
  table.held_values = gradient._values().contiguous();
  table.values = table.held_values.const_data_ptr();
  table.nnz = gradient._nnz();
  table.sparse = true;
  table.unique = !abilities.sums_first || gradient.is_coalesced() || table.nnz < 2;
  return std::all_of(table.ids, table.ids + table.nnz,
                     [&](int64_t id) { return id >= 0 && id < table.rows; });
}

struct Range {
  const char *begin, *end;
  bool written;
};

// Whether memory that is written belongs to one tensor alone: else the order of updates counts.
bool apart(const Parameters& parameters) {
  std::vector<Range> ranges;
  const auto add = [&](const Tensor& tensor, bool written) {
    if (!tensor.defined() || !tensor.device().is_cpu() || !tensor.has_storage()) return;
    const c10::Storage& storage = tensor.storage();
    const char* begin = static_cast<const char*>(storage.data());
    const char* end = begin + storage.nbytes();
    if (tensor.is_contiguous()) {
      begin = static_cast<const char*>(tensor.const_data_ptr());
      end = begin + tensor.nbytes();
    }
    if (begin != end) ranges.push_back({begin, end, written});
  };
  for (const Tensor& weight : parameters.weights) add(weight, true);
  for (const at::TensorList& states : parameters.states) {
    for (const Tensor& state : states) add(state, true);
  }
  for (const Tensor& count : parameters.steps) add(count, true);
  for (const Tensor& gradient : parameters.gradients) {
    add(gradient.is_sparse() ? gradient._values() : gradient, false);
  }
  std::sort(ranges.begin(), ranges.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
  const char *end = nullptr, *written_end = nullptr;
  for (const Range& range : ranges) {
    if (range.begin < (range.written ? end : written_end)) return false;
    end = std::max(end, range.end);
    if (range.written) written_end = std::max(written_end, range.end);
  }
  return true;
}

void sort_rows(Table& table) {
  const auto [sorted, places] = at::sort(table.held_ids.select(0, 0), 0);
  const int64_t* const row = sorted.const_data_ptr<int64_t>();
  const int64_t* const place = places.const_data_ptr<int64_t>();
  table.order.assign(place, place + table.nnz);
  for (int64_t i = 0; i < table.nnz; ++i) {
    if (i == 0 || row[i] != row[i - 1]) table.starts.push_back(i);
  }
  table.starts.push_back(table.nnz);
}

}  // namespace

Step checked(const Parameters& parameters, const Abilities& abilities) {
  Step step;
  const size_t count = parameters.weights.size();
  step.left.assign(count, Left::kMemory);
  if (!usual_arithmetic() || !apart(parameters)) return step;
  step.tables.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const Tensor &weight = parameters.weights[i], &gradient = parameters.gradients[i];
    Left& left = step.left[i];
    left = weight_of(weight);
    if (left == Left::kTaken) left = gradient_of(weight, gradient, abilities);
    if (left == Left::kTaken) left = state_of(parameters, i);
    if (left != Left::kTaken) continue;
    Table table;
    table.dtype = weight.scalar_type();
    table.weight = weight.mutable_data_ptr();
    table.rows = weight.dim() ? weight.size(0) : 1;
    table.dim = table.rows ? weight.numel() / table.rows : 1;
    for (size_t s = 0; s < parameters.states.size(); ++s) {
      table.states[s] = parameters.states[s][i].mutable_data_ptr();
    }
    if (!take_gradient(gradient, abilities, table)) {
      left = Left::kIds;
      continue;
    }
    step.tables.push_back(std::move(table));
    step.numbers.push_back(i);
  }
  return step;
}

void coalesce(Step& step, int threads) {
  std::vector<Table*> jobs;
  for (Table& table : step.tables) {
    if (!table.sparse || table.unique) continue;
    if (table.nnz < kSortedAnywhere) {
      jobs.push_back(&table);
    } else {
      sort_rows(table);
    }
  }
  share_out(static_cast<int64_t>(jobs.size()), threads, [&](int64_t i) { sort_rows(*jobs[i]); });
}

}  // namespace mirror::optimizer
