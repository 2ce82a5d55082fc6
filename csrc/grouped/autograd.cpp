// Gradients of the grouped embedding, and the gradient of its gradient.
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/clone.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/narrow.h>
#include <ATen/ops/select.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/library.h>

#include <algorithm>

#include "grouped/embedding.h"
#include "grouped/plan.h"

namespace mirror {
namespace {

using at::Tensor;
using at::TensorList;
using Context = torch::autograd::AutogradContext;
using Tensors = std::vector<Tensor>;

using ForwardSignature = Tensors(TensorList, TensorList, TensorList, TensorList, TensorList,
                                 std::string_view);
using BackwardSignature = Tensors(TensorList, TensorList, c10::SymIntArrayRef, TensorList,
                                  TensorList, TensorList, std::string_view, const c10::List<bool>&);

Tensors call_forward(TensorList weights, TensorList ids, TensorList offsets,
                     TensorList sample_weights, TensorList extras, std::string_view plan) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("mirror::grouped_embedding", "")
                             .typed<ForwardSignature>();
  return op.call(weights, ids, offsets, sample_weights, extras, plan);
}

Tensors call_backward(TensorList grads, TensorList weights, c10::SymIntArrayRef rows,
                      TensorList ids, TensorList offsets, TensorList sample_weights,
                      std::string_view plan, const c10::List<bool>& wanted) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("mirror::grouped_embedding_backward", "")
                             .typed<BackwardSignature>();
  return op.call(grads, weights, rows, ids, offsets, sample_weights, plan, wanted);
}

// Whether a call goes through the functions below. Forward-mode derivatives do too: they have none,
// and say so.
bool differentiated(std::initializer_list<TensorList> lists) {
  return std::any_of(lists.begin(), lists.end(), [](const TensorList& list) {
    return std::any_of(list.begin(), list.end(), [](const Tensor& tensor) {
      return (tensor.requires_grad() && at::GradMode::is_enabled()) || tensor._fw_grad(0).defined();
    });
  });
}

// Stands for a tensor that is not there, in a list that has no gaps; see `absent`.
Tensor placeholder(const at::TensorOptions& options) { return at::empty({0}, options); }

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

std::vector<c10::SymInt> sizes_of(TensorList tensors, int64_t dim) {
  std::vector<c10::SymInt> found;
  for (const Tensor& tensor : tensors) found.push_back(tensor.sym_size(dim));
  return found;
}

// Which tables backward reads: those of a maximum, and those whose per_sample_weights have a
// gradient. The others may change between forward and backward, as with torch's own ops.
std::vector<int64_t> tables_read(const GroupedPlan& plan, TensorList sample_weights) {
  std::vector<int64_t> found;
  for (size_t t = 0; t < plan.tables.size(); ++t) {
    const TablePlan& table = plan.tables[t];
    if (table.mode == GroupedMode::kMax ||
        (table.weights.given() && sample_weights[table.weights.tensor].requires_grad())) {
      found.push_back(static_cast<int64_t>(t));
    }
  }
  return found;
}

// The ids that backward will read. Torch's own op copies a slice, so that a script may then fill
// the tensor it is of anew; what is sliced here by the plan is copied for the same reason.
Tensors own_slices(const GroupedPlan& plan, TensorList ids) {
  Tensors found(ids.begin(), ids.end());
  std::vector<bool> copied(ids.size(), false);
  for (const TablePlan& table : plan.tables) {
    if (table.ids.dim < 0 || copied[table.ids.tensor]) continue;
    found[table.ids.tensor] = ids[table.ids.tensor].clone();
    copied[table.ids.tensor] = true;
  }
  return found;
}

// What backward reads. Autograd lets go of saved tensors after the first backward call through a
// function, but tables that were looked up one by one each have a function of their own, so that a
// script may go back through some now and through others later: these are kept beside autograd's,
// and what it says about them is said here.
class Saved {
 public:
  static void keep(Context* context, const Tensors& tensors, size_t outputs) {
    std::vector<int64_t> versions;
    for (const Tensor& tensor : tensors) versions.push_back(version_of(tensor));
    context->saved_data["tensors"] = tensors;
    context->saved_data["versions"] = versions;
    context->saved_data["gone"] = std::vector<int64_t>(outputs, kThere);
  }

  // The tensors, for the gradients of some outputs. Raises RuntimeError where one was written to
  // since, or one of the outputs has let go of them.
  static Tensors take(Context* context, const Tensors& grads) {
    std::vector<int64_t> gone = context->saved_data["gone"].toIntVector();
    const bool freed = let_go(context);
    std::replace(gone.begin(), gone.end(), kLast, freed ? kGone : kThere);
    if (freed) std::replace(gone.begin(), gone.end(), kThere, kLater);
    for (size_t o = 0; o < gone.size(); ++o) {
      if (!grads[o].defined()) continue;
      TORCH_CHECK(gone[o] != kGone, torch::autograd::ERR_BACKWARD_TWICE);
      if (gone[o] == kThere) gone[o] = kLast;
    }
    context->saved_data["gone"] = gone;
    const Tensors tensors = context->saved_data["tensors"].toTensorVector();
    const auto versions = context->saved_data["versions"].toIntVector();
    for (size_t i = 0; i < tensors.size(); ++i) {
      TORCH_CHECK(version_of(tensors[i]) == versions[i],
                  "one of the variables needed for gradient computation has been modified by an "
                  "inplace operation: [",
                  tensors[i].toString(), " ", tensors[i].sizes(), "] is at version ",
                  version_of(tensors[i]), "; expected version ", versions[i], " instead.");
    }
    return tensors;
  }

 private:
  // Of an output: not let go of; gone back through last, which may have let go of it; let go of;
  // not known, since another one was let go of.
  enum : int64_t { kThere, kLast, kGone, kLater };

  static bool let_go(Context* context) {
    try {
      context->get_saved_variables();
    } catch (const c10::Error&) {
      return true;
    }
    return false;
  }

  static int64_t version_of(const Tensor& tensor) {
    return tensor.is_inference() ? 0 : tensor._version();
  }
};

struct GroupedFunction : public torch::autograd::Function<GroupedFunction> {
  static Tensors forward(Context* context, TensorList weights, TensorList ids, TensorList offsets,
                         TensorList sample_weights, TensorList extras, const std::string& text) {
    const GroupedPlan& plan = grouped_plan(text);
    const std::vector<int64_t> read = tables_read(plan, sample_weights);
    Tensors kept;
    for (const int64_t t : read) kept.push_back(weights[t]);
    context->saved_data["plan"] = text;
    context->saved_data["read"] = read;
    context->saved_data["rows"] = sizes_of(weights, 0);
    context->saved_data["widths"] = sizes_of(weights, 1);
    context->saved_data["extra_widths"] = sizes_of(extras, -1);
    Saved::keep(context, concatenated({kept, own_slices(plan, ids), offsets, sample_weights}),
                plan.outputs.size());
    // An output that the loss does not use leaves its tables without a gradient, not with one of
    // zeros.
    context->set_materialize_grads(false);
    const at::AutoDispatchBelowADInplaceOrView guard;
    Tensors outputs = call_forward(weights, ids, offsets, sample_weights, extras, text);
    // What is of frozen tables alone asks for no gradient.
    Tensors constant;
    for (size_t o = 0; o < plan.outputs.size(); ++o) {
      const auto& parts = plan.outputs[o].parts;
      const auto trained = [&](int64_t part) {
        if (part < 0) return extras[-1 - part].requires_grad();
        const TensorView& factors = plan.tables[part].weights;
        return weights[part].requires_grad() ||
               (factors.given() && sample_weights[factors.tensor].requires_grad());
      };
      if (std::none_of(parts.begin(), parts.end(), trained)) constant.push_back(outputs[o]);
    }
    context->mark_non_differentiable(constant);
    return outputs;
  }

  static Tensors backward(Context* context, Tensors grads) {
    const std::string text = context->saved_data["plan"].toStringRef();
    const GroupedPlan& plan = grouped_plan(text);
    const int64_t tables = plan.tables.size();
    // In the order of the inputs: weights, ids, offsets, sample_weights, extras, plan.
    const int64_t first_sample = tables + plan.num_ids + plan.num_offsets;
    const int64_t first_extra = first_sample + plan.num_weights;
    Tensors result(first_extra + plan.num_extras + 1);
    const auto given =
        std::find_if(grads.begin(), grads.end(), [](const Tensor& grad) { return grad.defined(); });
    if (given == grads.end()) return result;

    Tensors parts(tables, placeholder(given->options()));
    c10::List<bool> wanted;
    for (int64_t t = 0; t < tables; ++t) wanted.push_back(false);
    split(context, plan, grads, [&](int64_t part, Tensor grad) {
      if (part < 0) {
        result[first_extra - 1 - part] = std::move(grad);
      } else {
        parts[part] = std::move(grad);
        wanted[part] = context->needs_input_grad(part);
      }
    });
    for (int64_t k = 0; k < plan.num_weights; ++k)
      wanted.push_back(context->needs_input_grad(first_sample + k));

    Unpacker saved(Saved::take(context, grads));
    const auto read = context->saved_data["read"].toIntVector();
    Tensors weights;
    if (!read.empty()) weights.assign(tables, placeholder(given->options()));
    for (const int64_t t : read) weights[t] = saved.take(1)[0];
    const Tensors ids = saved.take(plan.num_ids), offsets = saved.take(plan.num_offsets);
    const Tensors sample_weights = saved.take(plan.num_weights);
    const auto rows = context->saved_data["rows"].toSymIntVector();
    Tensors found = call_backward(parts, weights, rows, ids, offsets, sample_weights, text, wanted);
    size_t next = 0;
    for (int64_t i = 0; i < static_cast<int64_t>(wanted.size()); ++i) {
      if (wanted[i]) result[i < tables ? i : first_sample + i - tables] = std::move(found[next++]);
    }
    return result;
  }

 private:
  // Calls take(part, its gradient) for every part of every output that has a gradient.
  template <typename Take>
  static void split(Context* context, const GroupedPlan& plan, const Tensors& grads,
                    const Take& take) {
    const auto widths = context->saved_data["widths"].toSymIntVector();
    const auto extra_widths = context->saved_data["extra_widths"].toSymIntVector();
    for (size_t o = 0; o < plan.outputs.size(); ++o) {
      const OutputPlan& output = plan.outputs[o];
      const Tensor& grad = grads[o];
      if (!grad.defined()) continue;
      c10::SymInt column = 0;
      for (size_t i = 0; i < output.parts.size(); ++i) {
        const int64_t part = output.parts[i];
        const c10::SymInt& width = part >= 0 ? widths[part] : extra_widths[-1 - part];
        take(part, output.kind == OutputKind::kStack    ? grad.select(1, static_cast<int64_t>(i))
                   : output.kind == OutputKind::kSingle ? grad
                                                        : grad.narrow_symint(-1, column, width));
        column += width;
      }
    }
  }
};

// The gradient is linear in `grads`, so that its own gradient is a forward call with the tables
// that come back.
struct GroupedBackwardFunction : public torch::autograd::Function<GroupedBackwardFunction> {
  static Tensors forward(Context* context, TensorList grads, TensorList weights,
                         c10::SymIntArrayRef rows, TensorList ids, TensorList offsets,
                         TensorList sample_weights, const std::string& text,
                         const c10::List<bool>& wanted) {
    const GroupedPlan& plan = grouped_plan(text);
    const bool linear =
        weights.empty() && std::none_of(plan.tables.begin(), plan.tables.end(),
                                        [](const TablePlan& table) { return table.sparse; });
    std::vector<int64_t> types;
    for (const Tensor& grad : grads) types.push_back(static_cast<int64_t>(grad.scalar_type()));
    context->saved_data["linear"] = linear;
    context->saved_data["plan"] = text;
    context->saved_data["wanted"] = wanted;
    context->saved_data["types"] = types;
    context->saved_data["rows"] = std::vector<c10::SymInt>(rows.begin(), rows.end());
    context->saved_data["widths"] = sizes_of(grads, -1);
    context->saved_data["inputs"] = static_cast<int64_t>(
        grads.size() + weights.size() + ids.size() + offsets.size() + sample_weights.size());
    context->save_for_backward(concatenated({ids, offsets, sample_weights}));
    const at::AutoDispatchBelowADInplaceOrView guard;
    return call_backward(grads, weights, rows, ids, offsets, sample_weights, text, wanted);
  }

  static Tensors backward(Context* context, Tensors of_tables) {
    TORCH_CHECK_NOT_IMPLEMENTED(context->saved_data["linear"].toBool(),
                                "a grouped embedding has a gradient of its gradient for dense sum, "
                                "mean and plain rows only, without a "
                                "gradient of per_sample_weights: set "
                                "MIRROR_PARALLEL_OP_OPS=-aten.embedding_bag for this model");
    const GroupedPlan& plan = grouped_plan(context->saved_data["plan"].toStringRef());
    const auto wanted = context->saved_data["wanted"].toBoolList();
    const auto types = context->saved_data["types"].toIntVector();
    const auto rows = context->saved_data["rows"].toSymIntVector();
    const auto widths = context->saved_data["widths"].toSymIntVector();
    Unpacker saved(context->get_saved_variables());
    const Tensors ids = saved.take(plan.num_ids), offsets = saved.take(plan.num_offsets);
    const Tensors sample_weights = saved.take(plan.num_weights);
    Tensors tables;
    size_t next = 0;
    for (size_t t = 0; t < plan.tables.size(); ++t) {
      tables.push_back(wanted[t] ? of_tables[next++]
                                 : at::zeros_symint({rows[t], widths[t]},
                                                    of_tables[0].options().dtype(
                                                        static_cast<at::ScalarType>(types[t]))));
    }
    Tensors result = call_forward(tables, ids, offsets, sample_weights, {}, plan.separate_outputs);
    for (size_t t = 0; t < plan.tables.size(); ++t) {
      const TablePlan& table = plan.tables[t];
      if (table.mode != GroupedMode::kRow || table.padding < 0) continue;
      // Row by row, the padding row is looked up like any other, and has no gradient.
      const Tensor padded = mirror::slice(table.ids, ids).eq(table.padding).unsqueeze(-1);
      result[t] = result[t].masked_fill(padded, 0);
    }
    // After the gradients of `grads` come the other tensors, rows, plan and wanted.
    result.resize(context->saved_data["inputs"].toInt() + 3);
    return result;
  }
};

Tensors forward_autograd(TensorList weights, TensorList ids, TensorList offsets,
                         TensorList sample_weights, TensorList extras, std::string_view plan) {
  if (differentiated({weights, sample_weights, extras})) {
    return GroupedFunction::apply(weights, ids, offsets, sample_weights, extras, std::string(plan));
  }
  const at::AutoDispatchBelowADInplaceOrView guard;
  return call_forward(weights, ids, offsets, sample_weights, extras, plan);
}

Tensors backward_autograd(TensorList grads, TensorList weights, c10::SymIntArrayRef rows,
                          TensorList ids, TensorList offsets, TensorList sample_weights,
                          std::string_view plan, const c10::List<bool>& wanted) {
  if (differentiated({grads, weights, sample_weights})) {
    return GroupedBackwardFunction::apply(grads, weights, rows, ids, offsets, sample_weights,
                                          std::string(plan), wanted);
  }
  const at::AutoDispatchBelowADInplaceOrView guard;
  return call_backward(grads, weights, rows, ids, offsets, sample_weights, plan, wanted);
}

}  // namespace
}  // namespace mirror

TORCH_LIBRARY_IMPL(mirror, Autograd, m) {
  m.impl("grouped_embedding", &mirror::forward_autograd);
  m.impl("grouped_embedding_backward", &mirror::backward_autograd);
}
