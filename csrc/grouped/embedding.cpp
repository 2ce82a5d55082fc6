// Schema and CPU dispatch of the grouped embedding: T embedding bags and embeddings as one op. Its
// gradients are in autograd.cpp, its fake kernels in
// bench_engine/kernels/parallel_op/ops.py.
#include "grouped/embedding.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/ops/_sparse_coo_tensor_unsafe.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros_like.h>
#include <torch/library.h>

#include <array>
#include <bit>

#include "common/choices.h"
#include "common/threads.h"
#include "grouped/aten.h"
#include "grouped/cpu/touched_rows.h"
#include "grouped/cpu/work.h"
#include "grouped/cpu/zero_pages.h"

namespace mirror {
namespace {

using at::Tensor;
using at::TensorList;
using Tensors = std::vector<Tensor>;

// Work below which a parallel region takes longer than it saves, in units of cpu/work.h: a few
// microseconds.
constexpr int64_t kSerialCost = 1 << 14;
constexpr const char* kScheduleNames[] = {"auto", "table", "batch", "flat"};

int threads_for(int64_t cost, const ParallelOpSettings& settings) {
  if (cost < kSerialCost || !may_run_parallel()) return 1;
  const int torch = at::get_num_threads();
  return settings.threads ? std::min(settings.threads, torch) : torch;
}

// One way to compute the op: the fused kernel, or torch's own op per table; on one thread, or on as
// many as a call may use.
struct Way {
  bool fused, parallel;
  Schedule schedule;
  int prefetch;

  std::string name(int threads) const {
    const std::string count = parallel ? std::to_string(threads) + " threads" : "1 thread";
    if (!fused) return parallel ? "aten, " + count : "untouched";
    const std::string by =
        parallel ? std::string(" by ") + kScheduleNames[static_cast<int>(schedule)] : "";
    return "fused" + by + ", " + count + ", prefetch " + std::to_string(prefetch);
  }
};

// Rows ahead, both measured: few suit rows of many cache lines, many those of one.
constexpr int kPrefetches[] = {8, 32};

std::vector<Way> ways_of(Schedule asked, bool parallel) {
  std::vector<Way> found;
  const auto fused = [&](Schedule schedule, bool several) {
    for (const int prefetch : kPrefetches) found.push_back({true, several, schedule, prefetch});
  };
  fused(Schedule::kTable, false);
  if (parallel) {
    for (const Schedule schedule : {Schedule::kFlat, Schedule::kBatch, Schedule::kTable}) {
      if (asked == Schedule::kAuto || asked == schedule) fused(schedule, true);
    }
    found.push_back({false, true, Schedule::kTable, 0});
  }
  found.push_back({false, false, Schedule::kTable, 0});
  return found;
}

// The ways that are measured, in an order that never changes.
const std::vector<Way>& ways(Schedule asked, bool parallel) {
  static const auto all = [] {
    std::array<std::array<std::vector<Way>, 2>, std::size(kScheduleNames)> lists;
    for (size_t schedule = 0; schedule < lists.size(); ++schedule) {
      for (const bool several : {false, true}) {
        lists[schedule][several] = ways_of(static_cast<Schedule>(schedule), several);
      }
    }
    return lists;
  }();
  return all[static_cast<size_t>(asked)][parallel];
}

// Calls of one plan are of one kind when their ids and bags are as many, to a factor of root two,
// their tables as large, to a factor of two, the types of tables and ids the same, and they may use
// as many threads.
struct Kind {
  uint64_t plan, types = 0;
  int64_t tables, width = 0, ids = 0, bags = 0, bytes = 0, threads, torch_threads;
  Schedule schedule;

  Kind(const GroupedCall& call, int count, Schedule asked)
      : plan(call.plan->hash),
        tables(call.tables.size()),
        threads(count),
        torch_threads(at::get_num_threads()),
        schedule(asked) {
    for (const TableCall& table : call.tables) {
      width += table.dim;
      ids += table.num_ids;
      bags += table.bags;
      bytes += table.rows * table.dim * c10::elementSize(table.dtype);
      const bool apart = table.bag_size > 1 && table.bag_stride != table.bag_size * table.id_stride;
      types = mixed(types, 4 * static_cast<uint64_t>(table.dtype) + 2 * table.long_ids + apart);
    }
    ids = half_octave(ids);
    bags = half_octave(bags);
    bytes = std::bit_width(static_cast<uint64_t>(bytes));
  }

  // Twice the logarithm to base 2, rounded down, plus two; zero for none.
  static int64_t half_octave(int64_t n) {
    const uint64_t value = static_cast<uint64_t>(n);
    const int64_t octave = std::bit_width(value);
    const bool upper =
        octave > 1 && octave < 32 && value * value >= (uint64_t{1} << (2 * octave - 1));
    return 2 * octave + upper;
  }

  uint64_t hash() const {
    uint64_t hash = mixed(plan, types);
    for (const int64_t part : {tables, width, ids, bags, bytes, threads, torch_threads,
                               static_cast<int64_t>(schedule)}) {
      hash = mixed(hash, static_cast<uint64_t>(part));
    }
    return hash;
  }

  std::string key() const {
    const auto power = [](int64_t twice) {
      return twice ? "2^" + std::to_string(twice / 2 - 1) + (twice % 2 ? ".5" : "")
                   : std::string("0");
    };
    return "T=" + std::to_string(tables) + " width=" + std::to_string(width) +
           " ids>=" + power(ids) + " bags>=" + power(bags) + " bytes<2^" + std::to_string(bytes) +
           " threads=" + std::to_string(threads) + "/" + std::to_string(torch_threads) +
           " schedule=" + kScheduleNames[static_cast<int>(schedule)] +
           " types=" + hexadecimal(types) + " plan=" + hexadecimal(plan);
  }
};

Tensors run(const Way& way, int threads, GroupedCall& call, const GroupedInputs& inputs) {
  const int used = way.parallel ? threads : 1;
  if (way.fused) {
    Tensors outputs = grouped_outputs(call, inputs);
    grouped_embedding_cpu(call, {way.schedule, used, way.prefetch});
    return outputs;
  }
  check_ids_cpu(call);  // torch's own ops name no table, and not all of them look
  return grouped_embedding_aten(*call.plan, inputs, used);
}

Tensors forward_cpu(TensorList weights, TensorList ids, TensorList offsets,
                    TensorList sample_weights, TensorList extras, std::string_view text) {
  const GroupedInputs inputs{weights, ids, offsets, sample_weights, extras};
  const ParallelOpSettings settings = parallel_op_settings();
  GroupedCall call = grouped_call(grouped_plan(text), inputs);
  const int threads = threads_for(total_cost(call), settings);
  const std::vector<Way>& all = ways(settings.schedule, threads > 1);
  // One fused way is as good as another there: fused ones agree to the bit, torch's own ops only to
  // rounding.
  const bool fixed = at::globalContext().deterministicAlgorithms();
  if (fixed || !may_run_parallel())
    return run(all[threads > 1 ? std::size(kPrefetches) : 0], threads, call, inputs);
  const Kind kind(call, threads, settings.schedule);
  Choice& measured = choice(
      kind.hash(), [&] { return kind.key(); },
      [&] {
        std::vector<std::string> names;
        for (const Way& way : all) names.push_back(way.name(threads));
        return names;
      });
  Tensors outputs;
  run_chosen(measured, [&](int way) { outputs = run(all[way], threads, call, inputs); });
  return outputs;
}

// A list of rows pays where it is this many times shorter than the table.
constexpr int64_t kFewRows = 4;

// Notes the rows of dense gradients, for an update that need not go through all of them.
void note_rows(const GroupedCall& call, const Tensors& dense, int threads) {
  if (!touched_rows_wanted()) return;
  share_out(static_cast<int64_t>(call.tables.size()), threads, [&](int64_t t) {
    const TableCall& table = call.tables[t];
    if (!dense[t].defined() || table.num_ids * kFewRows > table.rows) return;
    note_touched_rows(dense[t], named_rows_cpu(table));
  });
}

// Gradients of the tables and of per_sample_weights that are wanted, in this order.
Tensors backward_cpu(TensorList grads, TensorList weights, at::IntArrayRef rows, TensorList ids,
                     TensorList offsets, TensorList sample_weights, std::string_view text,
                     const c10::List<bool>& wanted) {
  const GroupedPlan& plan = grouped_plan(text);
  TORCH_CHECK_VALUE(wanted.size() == plan.tables.size() + sample_weights.size(),
                    "wanted must say so for each table and each tensor of per_sample_weights");
  const ParallelOpSettings settings = parallel_op_settings();
  const GroupedCall call =
      grouped_backward_call(plan, grads, rows, {weights, ids, offsets, sample_weights, {}});
  Tensors dense(plan.tables.size()), samples(sample_weights.size());
  std::vector<bool> zero(plan.tables.size());
  int64_t to_fill = 0;
  for (size_t t = 0; t < dense.size(); ++t) {
    TORCH_CHECK_VALUE(!wanted[t] || !absent(grads[t]), "table ", plan.tables[t].name,
                      " has no gradient to pass on");
    if (!wanted[t] || plan.tables[t].sparse) continue;
    bool filled = false;
    dense[t] = zeros_or_empty(rows[t], call.tables[t].dim, grads[t].options(),
                              call.tables[t].num_ids, filled);
    zero[t] = filled;
    if (!filled) to_fill += dense[t].numel();
  }
  for (size_t k = 0; k < samples.size(); ++k) {
    if (wanted[dense.size() + k]) samples[k] = at::zeros_like(sample_weights[k]);
  }
  const int threads = threads_for(total_cost(call) + to_fill, settings);
  grouped_embedding_backward_cpu(call, dense, zero, samples, threads);
  note_rows(call, dense, threads);
  std::vector<size_t> sparse;
  for (size_t t = 0; t < dense.size(); ++t) {
    if (wanted[t] && plan.tables[t].sparse) sparse.push_back(t);
  }
  share_out(sparse.size(), threads, [&](int64_t i) {
    const TableCall& table = call.tables[sparse[i]];
    const auto [row, values] = sparse_gradient_cpu(table);
    dense[sparse[i]] =
        at::_sparse_coo_tensor_unsafe(row.unsqueeze(0), values, {table.rows, table.dim});
  });
  Tensors found;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i]) found.push_back(i < dense.size() ? dense[i] : samples[i - dense.size()]);
  }
  return found;
}

}  // namespace
}  // namespace mirror

TORCH_LIBRARY_FRAGMENT(mirror, m) {
  m.def(
      "grouped_embedding(Tensor[] weights, Tensor[] ids, Tensor[] offsets, Tensor[] "
      "per_sample_weights, "
      "Tensor[] extras, str plan) -> Tensor[]");
  m.def(
      "grouped_embedding_backward(Tensor[] grads, Tensor[] weights, SymInt[] rows, Tensor[] ids, "
      "Tensor[] offsets, Tensor[] per_sample_weights, str plan, bool[] wanted) -> Tensor[]");
}

TORCH_LIBRARY_IMPL(mirror, CPU, m) {
  m.impl("grouped_embedding", &mirror::forward_cpu);
  m.impl("grouped_embedding_backward", &mirror::backward_cpu);
}
