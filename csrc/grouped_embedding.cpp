// Schema, gradients and dispatch of the grouped embedding: T embedding bags and embeddings as one
// op. Fake kernels are registered from bench_engine/kernels/parallel_op/ops.py.
#include "grouped_embedding.h"

#include <ATen/Parallel.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_sparse_coo_tensor_unsafe.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/narrow.h>
#include <ATen/ops/select.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <bit>
#include <chrono>

#include "choices.h"
#include "cpu/grouped_work.h"
#include "cpu/zero_pages.h"
#include "grouped_aten.h"
#include "threads.h"

namespace mirror {
namespace {

using at::Tensor;
using at::TensorList;
using Tensors = std::vector<Tensor>;

// Work below which a parallel region takes longer than it saves, in units of grouped_work.h: a few
// microseconds.
constexpr int64_t kSerialCost = 1 << 14;

int threads_for(int64_t cost) {
  if (cost < kSerialCost || !may_run_parallel()) return 1;
  const int most = parallel_op_settings().threads, torch = at::get_num_threads();
  return most ? std::min(most, torch) : torch;
}

// One way to compute the op: the fused kernel, or torch's own op per table.
struct Way {
  bool fused;
  GroupedWay kernel;

  std::string name() const {
    const std::string threads =
        std::to_string(kernel.threads) + (kernel.threads == 1 ? " thread" : " threads");
    if (!fused) return kernel.threads == 1 ? "untouched" : "aten, " + threads;
    static constexpr const char* kNames[] = {"", "table", "batch", "flat"};
    const std::string by =
        kernel.threads == 1 ? "" : std::string(" by ") + kNames[static_cast<int>(kernel.schedule)];
    return "fused" + by + ", " + threads + ", prefetch " + std::to_string(kernel.prefetch);
  }
};

// None at all is the slowest of the three wherever a row is not in the nearest cache, and saves
// nothing where it is.
constexpr int kPrefetches[] = {8, 32};

std::vector<Way> ways(int threads) {
  std::vector<Way> found;
  const Schedule asked = parallel_op_settings().schedule;
  const auto fused = [&](Schedule schedule, int count) {
    for (const int prefetch : kPrefetches) found.push_back({true, {schedule, count, prefetch}});
  };
  fused(Schedule::kFlat, 1);
  if (threads > 1) {
    for (const Schedule schedule : {Schedule::kFlat, Schedule::kBatch, Schedule::kTable}) {
      if (asked == Schedule::kAuto || asked == schedule) fused(schedule, threads);
    }
    found.push_back({false, {Schedule::kTable, threads, 0}});
  }
  found.push_back({false, {Schedule::kTable, 1, 0}});
  return found;
}

// Calls of one plan whose ids and bags are as many, to a factor of root two, whose tables are as
// large, to a factor of two, and that may use as many threads, are of one kind.
struct Kind {
  uint64_t plan;
  int64_t tables = 0, width = 0, ids = 0, bags = 0, bytes = 0, threads;
  Schedule schedule;

  Kind(const GroupedCall& call, int count)
      : plan(call.plan->hash), threads(count), schedule(parallel_op_settings().schedule) {
    tables = call.tables.size();
    for (const TableCall& table : call.tables) {
      width += table.dim;
      ids += table.num_ids;
      bags += table.bags;
      bytes += table.rows * table.dim * c10::elementSize(table.dtype);
    }
    ids = half_octave(ids);
    bags = half_octave(bags);
    bytes = std::bit_width(static_cast<uint64_t>(bytes));
  }

  // Twice the logarithm to base 2, rounded down.
  static int64_t half_octave(int64_t n) {
    const uint64_t value = static_cast<uint64_t>(n);
    const int64_t octave = std::bit_width(value);
    return 2 * octave + (octave > 1 && value * value >= (uint64_t{1} << (2 * octave - 1)));
  }

  uint64_t hash() const {
    uint64_t hash = plan;
    for (const int64_t part :
         {tables, width, ids, bags, bytes, threads, static_cast<int64_t>(schedule)}) {
      hash = (hash ^ static_cast<uint64_t>(part)) * 0x9E3779B97F4A7C15ULL;
      hash ^= hash >> 29;
    }
    return hash;
  }

  std::string key() const {
    static constexpr const char* kNames[] = {"auto", "table", "batch", "flat"};
    const auto power = [](int64_t twice) {
      return "2^" + std::to_string(twice / 2 - 1) + (twice % 2 ? ".5" : "");
    };
    char plan_text[17];
    std::snprintf(plan_text, sizeof(plan_text), "%016llx", static_cast<unsigned long long>(plan));
    return "T=" + std::to_string(tables) + " width=" + std::to_string(width) +
           " ids>=" + power(ids) + " bags>=" + power(bags) + " bytes<2^" + std::to_string(bytes) +
           " threads=" + std::to_string(threads) +
           " schedule=" + kNames[static_cast<int>(schedule)] + " plan=" + plan_text;
  }
};

Tensors run(const Way& way, GroupedCall& call, const GroupedInputs& inputs) {
  if (way.fused) {
    Tensors outputs = grouped_outputs(call, inputs);
    grouped_embedding_cpu(call, way.kernel);
    return outputs;
  }
  check_ids_cpu(call);  // torch's own ops name no table, and not all of them look
  return grouped_embedding_aten(*call.plan, inputs, way.kernel.threads);
}

Tensors forward_cpu(TensorList weights, TensorList ids, TensorList offsets,
                    TensorList sample_weights, TensorList extras, std::string_view text) {
  const GroupedInputs inputs{weights, ids, offsets, sample_weights, extras};
  GroupedCall call = grouped_call(grouped_plan(text), inputs);
  const int threads = threads_for(total_cost(call));
  if (!may_run_parallel()) return run({true, {}}, call, inputs);
  const Kind kind(call, threads);
  // Per number of threads and schedule; the same list for every kind.
  const std::vector<Way> all = ways(threads);
  Choice& measured = choice(
      kind.hash(), [&] { return kind.key(); },
      [&] {
        std::vector<std::string> names;
        for (const Way& way : all) names.push_back(way.name());
        return names;
      });
  bool measure = false;
  const int way = measured.next(measure);
  if (!measure) return run(all[way], call, inputs);
  const auto start = std::chrono::steady_clock::now();
  Tensors outputs = run(all[way], call, inputs);
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
  measured.record(way, took.count());
  return outputs;
}

// Gradients of the tables and of per_sample_weights that are wanted, in this order.
Tensors backward_cpu(TensorList grads, TensorList weights, at::IntArrayRef rows, TensorList ids,
                     TensorList offsets, TensorList sample_weights, std::string_view text,
                     const c10::List<bool>& wanted) {
  const GroupedPlan& plan = grouped_plan(text);
  TORCH_CHECK_VALUE(wanted.size() == plan.tables.size() + sample_weights.size(),
                    "wanted must say so for each table and each tensor of per_sample_weights");
  const GroupedCall call =
      grouped_backward_call(plan, grads, rows, {weights, ids, offsets, sample_weights, {}});
  Tensors dense(plan.tables.size()), samples(sample_weights.size());
  std::vector<bool> zero(plan.tables.size());
  int64_t to_fill = 0;
  for (size_t t = 0; t < dense.size(); ++t) {
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
  const int threads = threads_for(total_cost(call) + to_fill);
  grouped_embedding_backward_cpu(call, dense, zero, samples, threads);
  Tensors found;
  for (size_t t = 0; t < dense.size(); ++t) {
    if (!wanted[t]) continue;
    if (!plan.tables[t].sparse) {
      found.push_back(dense[t]);
      continue;
    }
    const auto [row, values] = sparse_gradient_cpu(call.tables[t]);
    found.push_back(
        at::_sparse_coo_tensor_unsafe(row.unsqueeze(0), values, {rows[t], call.tables[t].dim}));
  }
  for (size_t k = 0; k < samples.size(); ++k) {
    if (wanted[dense.size() + k]) found.push_back(samples[k]);
  }
  return found;
}

Tensors call_forward(TensorList weights, TensorList ids, TensorList offsets,
                     TensorList sample_weights, TensorList extras, std::string_view plan) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("mirror::grouped_embedding", "")
                             .typed<decltype(forward_cpu)>();
  return op.call(weights, ids, offsets, sample_weights, extras, plan);
}

using BackwardSignature = Tensors(TensorList, TensorList, c10::SymIntArrayRef, TensorList,
                                  TensorList, TensorList, std::string_view, const c10::List<bool>&);

Tensors call_backward(TensorList grads, TensorList weights, c10::SymIntArrayRef rows,
                      TensorList ids, TensorList offsets, TensorList sample_weights,
                      std::string_view plan, const c10::List<bool>& wanted) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("mirror::grouped_embedding_backward", "")
                             .typed<BackwardSignature>();
  return op.call(grads, weights, rows, ids, offsets, sample_weights, plan, wanted);
}

bool any_requires_grad(std::initializer_list<TensorList> lists) {
  if (!at::GradMode::is_enabled()) return false;
  for (const TensorList& list : lists) {
    for (const Tensor& tensor : list) {
      if (tensor.requires_grad()) return true;
    }
  }
  return false;
}

// Tensors saved one by one, and taken out again as lists.
class Unpacker {
 public:
  explicit Unpacker(Tensors saved) : saved_(std::move(saved)) {}
  Tensors take(int64_t count) {
    Tensors part(saved_.begin() + at_, saved_.begin() + at_ + count);
    at_ += count;
    return part;
  }

 private:
  Tensors saved_;
  int64_t at_ = 0;
};

Tensors concatenated(std::initializer_list<TensorList> lists) {
  Tensors all;
  for (const TensorList& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

std::vector<c10::SymInt> widths(TensorList tensors) {
  std::vector<c10::SymInt> found;
  for (const Tensor& tensor : tensors) found.push_back(tensor.sym_size(-1));
  return found;
}

struct GroupedFunction : public torch::autograd::Function<GroupedFunction> {
  using Context = torch::autograd::AutogradContext;

  static Tensors forward(Context* context, TensorList weights, TensorList ids, TensorList offsets,
                         TensorList sample_weights, TensorList extras, const std::string& text) {
    const GroupedPlan& plan = grouped_plan(text);
    bool keep_weights =
        false;  // else a table may change between forward and backward, as with torch's own ops
    for (const Tensor& tensor : sample_weights) keep_weights |= tensor.requires_grad();
    for (const TablePlan& table : plan.tables) keep_weights |= table.mode == GroupedMode::kMax;
    std::vector<c10::SymInt> rows;
    for (const Tensor& weight : weights) rows.push_back(weight.sym_size(0));
    context->saved_data["plan"] = text;
    context->saved_data["rows"] = rows;
    context->saved_data["widths"] = widths(weights);
    context->saved_data["extra_widths"] = widths(extras);
    context->saved_data["keep_weights"] = keep_weights;
    context->save_for_backward(
        concatenated({keep_weights ? weights : TensorList{}, ids, offsets, sample_weights}));
    const at::AutoDispatchBelowADInplaceOrView guard;
    return call_forward(weights, ids, offsets, sample_weights, extras, text);
  }

  static Tensors backward(Context* context, Tensors grads) {
    const std::string text = context->saved_data["plan"].toStringRef();
    const GroupedPlan& plan = grouped_plan(text);
    const int64_t tables = plan.tables.size();
    const auto rows = context->saved_data["rows"].toSymIntVector();
    const auto widths = context->saved_data["widths"].toSymIntVector();
    const auto extra_widths = context->saved_data["extra_widths"].toSymIntVector();
    Unpacker saved(context->get_saved_variables());
    const Tensors weights = saved.take(context->saved_data["keep_weights"].toBool() ? tables : 0);
    const Tensors ids = saved.take(plan.num_ids), offsets = saved.take(plan.num_offsets);
    const Tensors sample_weights = saved.take(plan.num_weights);

    // In the order of the inputs: weights, ids, offsets, sample_weights, extras, plan.
    const int64_t first_sample = tables + plan.num_ids + plan.num_offsets;
    const int64_t first_extra = first_sample + plan.num_weights;
    Tensors result(first_extra + plan.num_extras + 1);
    Tensors parts(tables);
    for (size_t o = 0; o < plan.outputs.size(); ++o) {
      const OutputPlan& output = plan.outputs[o];
      c10::SymInt column = 0;
      for (size_t i = 0; i < output.parts.size(); ++i) {
        const int64_t part = output.parts[i];
        if (output.kind == OutputKind::kStack) {
          parts[part] = grads[o].select(1, i);
          continue;
        }
        const c10::SymInt& width = part >= 0 ? widths[part] : extra_widths[-1 - part];
        Tensor own = output.kind == OutputKind::kSingle ? grads[o]
                                                        : grads[o].narrow_symint(-1, column, width);
        column += width;
        (part >= 0 ? parts[part] : result[first_extra - 1 - part]) = std::move(own);
      }
    }
    c10::List<bool> wanted;
    for (int64_t t = 0; t < tables; ++t) wanted.push_back(context->needs_input_grad(t));
    for (int64_t k = 0; k < plan.num_weights; ++k)
      wanted.push_back(context->needs_input_grad(first_sample + k));
    Tensors found = call_backward(parts, weights, rows, ids, offsets, sample_weights, text, wanted);
    size_t next = 0;
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i])
        result[static_cast<int64_t>(i) < tables ? i : first_sample + i - tables] =
            std::move(found[next++]);
    }
    return result;
  }
};

// The gradient is linear in `grads`, so that its own gradient is a forward call with the tables
// that come back.
struct GroupedBackwardFunction : public torch::autograd::Function<GroupedBackwardFunction> {
  using Context = torch::autograd::AutogradContext;

  static Tensors forward(Context* context, TensorList grads, TensorList weights,
                         c10::SymIntArrayRef rows, TensorList ids, TensorList offsets,
                         TensorList sample_weights, const std::string& text,
                         const c10::List<bool>& wanted) {
    const GroupedPlan& plan = grouped_plan(text);
    bool linear = weights.empty();
    for (const TablePlan& table : plan.tables) linear &= !table.sparse;
    context->saved_data["linear"] = linear;
    context->saved_data["plan"] = text;
    context->saved_data["wanted"] = wanted;
    context->saved_data["inputs"] = static_cast<int64_t>(
        grads.size() + weights.size() + ids.size() + offsets.size() + sample_weights.size());
    context->save_for_backward(concatenated({ids, offsets, sample_weights}));
    std::vector<c10::SymInt> shapes(rows.begin(), rows.end());
    context->saved_data["rows"] = shapes;
    context->saved_data["widths"] = widths(grads);
    const at::AutoDispatchBelowADInplaceOrView guard;
    return call_backward(grads, weights, rows, ids, offsets, sample_weights, text, wanted);
  }

  static Tensors backward(Context* context, Tensors tables_of) {
    TORCH_CHECK_NOT_IMPLEMENTED(context->saved_data["linear"].toBool(),
                                "a grouped embedding has a gradient of its gradient for dense sum, "
                                "mean and plain rows only, without a "
                                "gradient of per_sample_weights: set "
                                "MIRROR_PARALLEL_OP_OPS=-aten.embedding_bag for this model");
    const GroupedPlan& plan = grouped_plan(context->saved_data["plan"].toStringRef());
    const auto wanted = context->saved_data["wanted"].toBoolList();
    const auto rows = context->saved_data["rows"].toSymIntVector();
    const auto widths = context->saved_data["widths"].toSymIntVector();
    Unpacker saved(context->get_saved_variables());
    const Tensors ids = saved.take(plan.num_ids), offsets = saved.take(plan.num_offsets);
    const Tensors sample_weights = saved.take(plan.num_weights);
    Tensors tables;
    size_t next = 0;
    for (size_t t = 0; t < plan.tables.size(); ++t) {
      tables.push_back(wanted[t] ? tables_of[next++]
                                 : at::zeros_symint({rows[t], widths[t]}, tables_of[0].options()));
    }
    Tensors result = call_forward(tables, ids, offsets, sample_weights, {}, plan.separate_outputs);
    // After the gradients of `grads` come the other tensors, rows, plan and wanted.
    result.resize(context->saved_data["inputs"].toInt() + 3);
    return result;
  }
};

Tensors forward_autograd(TensorList weights, TensorList ids, TensorList offsets,
                         TensorList sample_weights, TensorList extras, std::string_view plan) {
  if (any_requires_grad({weights, sample_weights, extras})) {
    return GroupedFunction::apply(weights, ids, offsets, sample_weights, extras, std::string(plan));
  }
  const at::AutoDispatchBelowADInplaceOrView guard;
  return call_forward(weights, ids, offsets, sample_weights, extras, plan);
}

Tensors backward_autograd(TensorList grads, TensorList weights, c10::SymIntArrayRef rows,
                          TensorList ids, TensorList offsets, TensorList sample_weights,
                          std::string_view plan, const c10::List<bool>& wanted) {
  if (any_requires_grad({grads, weights, sample_weights})) {
    return GroupedBackwardFunction::apply(grads, weights, rows, ids, offsets, sample_weights,
                                          std::string(plan), wanted);
  }
  const at::AutoDispatchBelowADInplaceOrView guard;
  return call_backward(grads, weights, rows, ids, offsets, sample_weights, plan, wanted);
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

TORCH_LIBRARY_IMPL(mirror, Autograd, m) {
  m.impl("grouped_embedding", &mirror::forward_autograd);
  m.impl("grouped_embedding_backward", &mirror::backward_autograd);
}
