// Gradients of the hashed embedding bag, any number of times.
//
// Sum and mean pooling are linear in the weight and in the sample weights, so three ops are closed
// under differentiation: the bag itself, its gradient to the weight (`backward`) and its gradient
// to the sample weights (`sample_gradient`).
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/where.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <optional>
#include <string>
#include <string_view>
#include <tuple>

namespace mirror {
namespace {

using at::Tensor;
using c10::SymInt;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using Optional = std::optional<Tensor>;
using Tensors = std::vector<Tensor>;

// What every op is told of a table and its bags, beside tensors.
struct Options {
  SymInt num_embeddings;
  std::string_view mode, hash;
  int64_t seed;
  bool signs;
  int64_t block_size;
  SymInt padding_idx;
  bool include_last_offset;
};

// The same, as a context keeps it.
using Kept = std::tuple<SymInt, std::string, std::string, int64_t, bool, int64_t, SymInt, bool>;

void keep(AutogradContext* context, const Options& o) {
  context->saved_data["options"] =
      Kept(o.num_embeddings, std::string(o.mode), std::string(o.hash), o.seed, o.signs,
           o.block_size, o.padding_idx, o.include_last_offset);
}

// Calls the ops for one table; holds the texts of its options.
class Ops {
 public:
  explicit Ops(const Options& options) : options_(options) {}
  explicit Ops(AutogradContext* context)
      : kept_(context->saved_data["options"].to<Kept>()),
        options_{std::get<0>(kept_), std::get<1>(kept_), std::get<2>(kept_), std::get<3>(kept_),
                 std::get<4>(kept_), std::get<5>(kept_), std::get<6>(kept_), std::get<7>(kept_)} {}
  Ops(const Ops&) = delete;

  std::tuple<Tensor, Tensor> bag(const Tensor& weight, const Tensor& indices,
                                 const Optional& offsets, const Optional& samples,
                                 const SymInt& dim, bool winners_wanted) const {
    static const auto op =
        c10::Dispatcher::singleton()
            .findSchemaOrThrow("mirror::hashed_embedding_bag", "")
            .typed<std::tuple<Tensor, Tensor>(
                const Tensor&, const Tensor&, const Optional&, const Optional&, SymInt, SymInt,
                std::string_view, std::string_view, int64_t, bool, int64_t, SymInt, bool, bool)>();
    const Options& o = options_;
    return op.call(weight, indices, offsets, samples, o.num_embeddings, dim, o.mode, o.hash, o.seed,
                   o.signs, o.block_size, o.padding_idx, o.include_last_offset, winners_wanted);
  }

  Tensor weight_gradient(const Tensor& grad, const Tensor& indices, const Optional& offsets,
                         const Optional& samples, const SymInt& num_slots) const {
    static const auto op =
        c10::Dispatcher::singleton()
            .findSchemaOrThrow("mirror::hashed_embedding_bag_backward", "")
            .typed<Tensor(const Tensor&, const Tensor&, const Optional&, const Optional&, SymInt,
                          SymInt, std::string_view, std::string_view, int64_t, bool, int64_t,
                          SymInt, bool)>();
    const Options& o = options_;
    return op.call(grad, indices, offsets, samples, num_slots, o.num_embeddings, o.mode, o.hash,
                   o.seed, o.signs, o.block_size, o.padding_idx, o.include_last_offset);
  }

  Tensor sample_gradient(const Tensor& grad, const Tensor& weight, const Tensor& indices,
                         const Optional& offsets) const {
    static const auto op =
        c10::Dispatcher::singleton()
            .findSchemaOrThrow("mirror::hashed_embedding_bag_sample_gradient", "")
            .typed<Tensor(const Tensor&, const Tensor&, const Tensor&, const Optional&, SymInt,
                          std::string_view, std::string_view, int64_t, bool, int64_t, SymInt,
                          bool)>();
    const Options& o = options_;
    return op.call(grad, weight, indices, offsets, o.num_embeddings, o.mode, o.hash, o.seed,
                   o.signs, o.block_size, o.padding_idx, o.include_last_offset);
  }

 private:
  Kept kept_;
  Options options_;
};

Tensor max_gradient(const Tensor& grad, const Tensor& winners, SymInt num_slots, bool signs) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("mirror::hashed_embedding_bag_max_backward", "")
                             .typed<Tensor(const Tensor&, const Tensor&, SymInt, bool)>();
  return op.call(grad, winners, num_slots, signs);
}

// Whether a call goes through the functions below. Forward-mode derivatives do too: they have none,
// and say so.
bool differentiated(const Tensor& tensor) {
  return (tensor.requires_grad() && at::GradMode::is_enabled()) || tensor._fw_grad(0).defined();
}
bool differentiated(const Optional& tensor) { return tensor && differentiated(*tensor); }

bool requires_grad(const Optional& tensor) { return tensor && tensor->requires_grad(); }

Tensor or_undefined(const Optional& tensor) { return tensor.value_or(Tensor()); }

Optional if_defined(const Tensor& tensor) {
  return tensor.defined() ? Optional(tensor) : std::nullopt;
}

// Gradients of the two differentiable inputs at positions 0 and `second` of `count`.
Tensors placed(Tensor first, Tensor other, size_t second, size_t count) {
  Tensors result(count);
  result[0] = std::move(first);
  result[second] = std::move(other);
  return result;
}

struct BagFunction : public Function<BagFunction> {
  static Tensors forward(AutogradContext* context, const Tensor& weight, const Tensor& indices,
                         const Optional& offsets, const Optional& samples, const SymInt& dim,
                         bool winners_wanted, const Options& options) {
    keep(context, options);
    context->saved_data["slots"] = weight.sym_size(0);
    context->saved_data["of_weight"] = weight.requires_grad();
    const at::AutoDispatchBelowADInplaceOrView guard;
    auto [output, winners] =
        Ops(options).bag(weight, indices, offsets, samples, dim, winners_wanted);
    context->mark_non_differentiable({winners});
    if (options.mode == "max") {
      context->save_for_backward({winners});
    } else {
      context->save_for_backward({requires_grad(samples) ? weight : Tensor(), indices,
                                  or_undefined(offsets), or_undefined(samples)});
    }
    return {output, winners};
  }

  static Tensors backward(AutogradContext* context, Tensors grads) {
    const Ops ops(context);
    const Tensors saved = context->get_saved_variables();
    const SymInt slots = context->saved_data["slots"].toSymInt();
    Tensor by_weight, by_samples;
    if (saved.size() == 1) {
      const bool signs = std::get<4>(context->saved_data["options"].to<Kept>());
      by_weight = max_gradient(grads[0], saved[0], slots, signs);
    } else {
      const Optional offsets = if_defined(saved[2]), samples = if_defined(saved[3]);
      if (context->saved_data["of_weight"].toBool()) {
        by_weight = ops.weight_gradient(grads[0], saved[1], offsets, samples, slots);
      }
      if (saved[0].defined()) {
        by_samples = ops.sample_gradient(grads[0], saved[0], saved[1], offsets);
      }
    }
    return placed(std::move(by_weight), std::move(by_samples), 3, 7);
  }
};

struct WeightGradientFunction : public Function<WeightGradientFunction> {
  static Tensor forward(AutogradContext* context, const Tensor& grad, const Tensor& indices,
                        const Optional& offsets, const Optional& samples, const SymInt& slots,
                        const Options& options) {
    keep(context, options);
    context->saved_data["dim"] = grad.sym_size(1);
    context->saved_data["of_grad"] = grad.requires_grad();
    context->save_for_backward({requires_grad(samples) ? grad : Tensor(), indices,
                                or_undefined(offsets), or_undefined(samples)});
    const at::AutoDispatchBelowADInplaceOrView guard;
    return Ops(options).weight_gradient(grad, indices, offsets, samples, slots);
  }

  static Tensors backward(AutogradContext* context, Tensors grads) {
    const Ops ops(context);
    const Tensors saved = context->get_saved_variables();
    const Optional offsets = if_defined(saved[2]), samples = if_defined(saved[3]);
    Tensor by_grad, by_samples;
    if (context->saved_data["of_grad"].toBool()) {
      const SymInt dim = context->saved_data["dim"].toSymInt();
      by_grad = std::get<0>(ops.bag(grads[0], saved[1], offsets, samples, dim, false));
    }
    if (saved[0].defined()) {
      by_samples = ops.sample_gradient(saved[0], grads[0], saved[1], offsets);
    }
    return placed(std::move(by_grad), std::move(by_samples), 3, 6);
  }
};

struct SampleGradientFunction : public Function<SampleGradientFunction> {
  static Tensor forward(AutogradContext* context, const Tensor& grad, const Tensor& weight,
                        const Tensor& indices, const Optional& offsets, const Options& options) {
    keep(context, options);
    context->saved_data["of_grad"] = grad.requires_grad();
    context->saved_data["of_weight"] = weight.requires_grad();
    context->save_for_backward({grad, weight, indices, or_undefined(offsets)});
    const at::AutoDispatchBelowADInplaceOrView guard;
    return Ops(options).sample_gradient(grad, weight, indices, offsets);
  }

  static Tensors backward(AutogradContext* context, Tensors grads) {
    const Ops ops(context);
    const Tensors saved = context->get_saved_variables();
    const Tensor &grad = saved[0], &weight = saved[1], &indices = saved[2];
    const Optional offsets = if_defined(saved[3]);
    Tensor by_grad, by_weight;
    if (context->saved_data["of_grad"].toBool()) {
      by_grad = std::get<0>(ops.bag(weight, indices, offsets, grads[0], grad.sym_size(1), false));
    }
    if (context->saved_data["of_weight"].toBool()) {
      by_weight = ops.weight_gradient(grad, indices, offsets, grads[0], weight.sym_size(0));
    }
    return placed(std::move(by_grad), std::move(by_weight), 1, 5);
  }
};

struct MaxGradientFunction : public Function<MaxGradientFunction> {
  static Tensor forward(AutogradContext* context, const Tensor& grad, const Tensor& winners,
                        const SymInt& slots, bool signs) {
    context->saved_data["signs"] = signs;
    context->save_for_backward({winners});
    const at::AutoDispatchBelowADInplaceOrView guard;
    return max_gradient(grad, winners, slots, signs);
  }

  static Tensors backward(AutogradContext* context, Tensors grads) {
    const bool signs = context->saved_data["signs"].toBool();
    const Tensor codes = context->get_saved_variables()[0].to(at::kLong);
    const Tensor slots = (signs ? codes.bitwise_right_shift(1) : codes).clamp_min(0);
    Tensor value = grads[0].index({slots});
    if (signs) value = at::where(codes.bitwise_and(1).eq(1), -value, value);
    return placed(at::where(codes.ge(0), value, 0), Tensor(), 1, 4);
  }
};

std::tuple<Tensor, Tensor> bag(const Tensor& weight, const Tensor& indices, const Optional& offsets,
                               const Optional& samples, SymInt num_embeddings, SymInt dim,
                               std::string_view mode, std::string_view hash, int64_t seed,
                               bool signs, int64_t block_size, SymInt padding_idx,
                               bool include_last_offset, bool winners_wanted) {
  const Options options{num_embeddings, mode,       hash,        seed,
                        signs,          block_size, padding_idx, include_last_offset};
  if (differentiated(weight) || differentiated(samples)) {
    Tensors found = BagFunction::apply(weight, indices, offsets, samples, dim,
                                       winners_wanted || mode == "max", options);
    return {std::move(found[0]), std::move(found[1])};
  }
  const at::AutoDispatchBelowADInplaceOrView guard;
  return Ops(options).bag(weight, indices, offsets, samples, dim, winners_wanted);
}

Tensor weight_gradient(const Tensor& grad, const Tensor& indices, const Optional& offsets,
                       const Optional& samples, SymInt num_slots, SymInt num_embeddings,
                       std::string_view mode, std::string_view hash, int64_t seed, bool signs,
                       int64_t block_size, SymInt padding_idx, bool include_last_offset) {
  const Options options{num_embeddings, mode,       hash,        seed,
                        signs,          block_size, padding_idx, include_last_offset};
  if (differentiated(grad) || differentiated(samples)) {
    return WeightGradientFunction::apply(grad, indices, offsets, samples, num_slots, options);
  }
  const at::AutoDispatchBelowADInplaceOrView guard;
  return Ops(options).weight_gradient(grad, indices, offsets, samples, num_slots);
}

Tensor sample_gradient(const Tensor& grad, const Tensor& weight, const Tensor& indices,
                       const Optional& offsets, SymInt num_embeddings, std::string_view mode,
                       std::string_view hash, int64_t seed, bool signs, int64_t block_size,
                       SymInt padding_idx, bool include_last_offset) {
  const Options options{num_embeddings, mode,       hash,        seed,
                        signs,          block_size, padding_idx, include_last_offset};
  if (differentiated(grad) || differentiated(weight)) {
    return SampleGradientFunction::apply(grad, weight, indices, offsets, options);
  }
  const at::AutoDispatchBelowADInplaceOrView guard;
  return Ops(options).sample_gradient(grad, weight, indices, offsets);
}

Tensor max_backward(const Tensor& grad, const Tensor& winners, SymInt num_slots, bool signs) {
  if (differentiated(grad)) {
    return MaxGradientFunction::apply(grad, winners, num_slots, signs);
  }
  const at::AutoDispatchBelowADInplaceOrView guard;
  return max_gradient(grad, winners, num_slots, signs);
}

}  // namespace
}  // namespace mirror

TORCH_LIBRARY_IMPL(mirror, Autograd, m) {
  m.impl("hashed_embedding_bag", &mirror::bag);
  m.impl("hashed_embedding_bag_backward", &mirror::weight_gradient);
  m.impl("hashed_embedding_bag_sample_gradient", &mirror::sample_gradient);
  m.impl("hashed_embedding_bag_max_backward", &mirror::max_backward);
}
