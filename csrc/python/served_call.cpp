#include "python/served_call.h"

#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <exception>

#include "python/plain_tensor.h"

namespace mirror {
namespace {

using at::Tensor;

thread_local ServedCall* innermost = nullptr;

// Bytes that an op writes, and reads as many of, which leave little of a cache of the second level.
constexpr size_t kEvicting = 1 << 18;

void prefetch_tensor(const Tensor& tensor) {
  const char* const tensor_impl = reinterpret_cast<const char*>(tensor.unsafeGetTensorImpl());
  for (int line = 0; line < 3; ++line) __builtin_prefetch(tensor_impl + 64 * line);
  __builtin_prefetch(tensor.storage().unsafeGetStorageImpl());
}

bool is_index(const Tensor& tensor) {
  return tensor.scalar_type() == at::kLong || tensor.scalar_type() == at::kInt;
}

// Inference tensors have none.
uint32_t version_of(const Tensor& tensor) {
  return tensor.is_inference() ? 0
                               : tensor.unsafeGetTensorImpl()->version_counter().current_version();
}

bool given(PyObject* argument) { return argument && argument != Py_None; }

// Whether a tensor that is an argument can be copied as ids: it may hold numbers of any real type.
bool holds_numbers(const Tensor& tensor) {
  return !at::isComplexType(tensor.scalar_type()) && !at::isQIntType(tensor.scalar_type());
}

int64_t sliced_dim(const InputView& view, const Tensor& base) {
  return base.dim() - (view.dim >= 0 && view.length < 0);
}

// Size of a view along one of its dimensions, which it must have.
int64_t size_of(const InputView& view, const Tensor& base, int64_t dim) {
  if (view.dim < 0) return base.size(dim);
  if (view.length < 0) return base.size(dim < view.dim ? dim : dim + 1);
  return dim == view.dim ? view.length : base.size(dim);
}

// Offset, sizes and strides.
c10::SmallVector<int64_t, 5> layout_of(const Tensor& tensor) {
  c10::SmallVector<int64_t, 5> found{tensor.storage_offset()};
  found.append(tensor.sizes().begin(), tensor.sizes().end());
  found.append(tensor.strides().begin(), tensor.strides().end());
  return found;
}

}  // namespace

bool LookupArguments::read(PyObject* args, PyObject* kwargs) {
  PyObject** const places[] = {&input, &offsets, &sample_weights};
  const char* const names[] = {"input", "offsets", "per_sample_weights"};
  const Py_ssize_t count = PyTuple_GET_SIZE(args);
  if (count > 3) return false;
  for (Py_ssize_t i = 0; i < count; ++i) *places[i] = PyTuple_GET_ITEM(args, i);
  if (!kwargs) return input;
  Py_ssize_t at = 0, used = 0;
  PyObject *name, *value;
  while (PyDict_Next(kwargs, &at, &name, &value)) {
    for (int i = 0; i < 3; ++i) {
      if (PyUnicode_CompareWithASCIIString(name, names[i]) != 0 || *places[i]) continue;
      *places[i] = value;
      ++used;
    }
  }
  return input && used == PyDict_GET_SIZE(kwargs);
}

ServedCall::Seen::Seen(const Tensor& tensor)
    : storage(tensor.storage()),
      version(version_of(tensor)),
      requires_grad(tensor.requires_grad()),
      layout(layout_of(tensor)) {}

bool ServedCall::Seen::is(const Tensor& tensor) const {
  return tensor.storage().is_alias_of(storage) && version_of(tensor) == version &&
         tensor.requires_grad() == requires_grad && layout_of(tensor) == layout;
}

ServedCall::ServedCall(std::shared_ptr<ServedModel> model, std::shared_ptr<const Learnt> learnt,
                       PyObject* args, PyObject* kwargs)
    : model_(std::move(model)),
      learnt_(std::move(learnt)),
      args_(args),
      kwargs_(kwargs),
      around_(innermost),
      record_(learnt_ ? nullptr : PyList_New(0)) {
  innermost = this;
}

// Greenlets of one thread need not end in the order in which they began.
ServedCall::~ServedCall() {
  ServedCall** place = &innermost;
  while (*place && *place != this) place = &(*place)->around_;
  if (*place) *place = around_;
}

ServedCall* ServedCall::of(const ServedModel* model) {
  ServedCall* call = innermost;
  while (call && call->model_.get() != model) call = call->around_;
  return call;
}

PyObject* ServedCall::hand_out(size_t table, const LookupArguments& arguments) {
  if (!learnt_) {
    learn(table, arguments);
    return nullptr;
  }
  if (off_) return nullptr;
  if (!computed_) {
    computed_ = true;
    if (!compute()) {
      off_ = true;
      outputs_.clear();
      return nullptr;
    }
  }
  if (watch_.written([this](const c10::StorageImpl* storage) { return watched(storage); })) {
    off_ = true;
    outputs_.clear();
    watch_.stop();
    return nullptr;
  }
  for (const size_t number : learnt_->of_table[table]) {
    if (!outputs_[number].defined() || !reads(learnt_->lookups[number], arguments)) continue;
    if (!unchanged(number)) return nullptr;
    if (++handed_out_ == outputs_.size()) watch_.stop();
    return THPVariable_Wrap(std::exchange(outputs_[number], Tensor()));
  }
  return nullptr;
}

void ServedCall::learn(size_t table, const LookupArguments& arguments) {
  if (!record_ || !thread_state() || !model_->pins.hold()) return;
  // Lookups in another mode than the first would be computed in that one's.
  if (PyList_GET_SIZE(record_.get()) == 0) {
    state_ = thread_state();
    watch_.start(/*exact=*/false);
  } else if (thread_state() != state_) {
    return;
  }
  writes_ = watch_.written([](const c10::StorageImpl*) { return true; });
  const auto or_none = [](PyObject* argument) { return argument ? argument : Py_None; };
  THPObjectPtr lookup(Py_BuildValue("nOOO", static_cast<Py_ssize_t>(table), arguments.input,
                                    or_none(arguments.offsets), or_none(arguments.sample_weights)));
  if (!lookup || PyList_Append(record_.get(), lookup.get()) != 0) PyErr_Clear();
}

bool ServedCall::compute() {
  state_ = thread_state();
  if (!state_ || !model_->pins.hold_with_code()) return false;
  try {
    if (!take_inputs() || !take_weights()) return false;
    outputs_ = call_grouped_embedding(given_, learnt_->plan);
  } catch (const std::exception&) {
    return false;  // an id out of range, say: torch's own op has its own error
  }
  watch_.start(learnt_->writes);
  prefetch();
  return true;
}

// What lookups are handed out by was in the caches before the op ran, and comes back sooner all at
// once than one lookup after another.
void ServedCall::prefetch() {
  for (const Tensor& output : outputs_) bytes_ += output.nbytes();
  if (bytes_ < kEvicting) return;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    model_->tables[learnt_->lookups[i].table].prefetch();
    prefetch_tensor(given_[0][i]);
    __builtin_prefetch(outputs_[i].unsafeGetTensorImpl());
  }
  for (size_t i = 0; i < inputs_.size(); ++i) prefetch_tensor(input(i));
}

bool ServedCall::take_inputs() {
  for (size_t role = 0; role < learnt_->lists.size(); ++role)
    given_[1 + role].resize(learnt_->lists[role].size());
  inputs_.reserve(learnt_->inputs.size());
  for (const LearntInput& learnt : learnt_->inputs) {
    PyObject* const found = learnt.path.follow(args_, kwargs_);
    if (!found) return false;
    Tensor tensor = THPVariable_Unpack(found);
    // Autograd refuses to save an inference tensor, and torch's own op says so.
    if (!is_plain(tensor) || (state_->grad && tensor.is_inference())) return false;
    if (learnt.copied) {
      if (!holds_numbers(tensor)) return false;
      // The model goes back through copies of its own, whatever becomes of the argument.
      tensor = tensor.detach().to(at::kLong, /*non_blocking=*/false, /*copy=*/true);
    }
    inputs_.emplace_back(tensor);
    for (const auto& [role, place] : learnt.places) given_[1 + role][place] = tensor;
  }
  return true;
}

bool ServedCall::take_weights() {
  const size_t lookups = learnt_->lookups.size();
  weights_.reserve(lookups);
  given_[0].reserve(lookups);
  for (const Lookup& lookup : learnt_->lookups) {
    TableModule& table = model_->tables[lookup.table];
    THPObjectPtr module(table.module());
    if (!module || !table.unchanged(module.get())) return false;
    PyObject* const weight = table.weight();
    if (!weight || !THPVariable_CheckExact(weight)) return false;
    const Tensor& tensor = given_[0].emplace_back(THPVariable_Unpack(weight));
    if (!can_be_served(lookup, tensor)) return false;
    weights_.emplace_back(tensor);
  }
  return true;
}

const Tensor& ServedCall::input(size_t number) const {
  const auto& [role, place] = learnt_->inputs[number].places[0];
  return given_[1 + role][place];
}

// What torch's own op gives to the bit, or refuses where the grouped one does not.
bool ServedCall::can_be_served(const Lookup& lookup, const Tensor& weight) const {
  if (!is_plain(weight) || weight.dim() != 2 || lookup.padding >= weight.size(0)) return false;
  if (state_->grad && weight.is_inference()) return false;
  // A hook would be called where the loss does not use the lookup, too.
  if (state_->grad && !torch::autograd::impl::hooks(weight).empty()) return false;
  const at::ScalarType type = weight.scalar_type();
  if (lookup.bag && type != at::kFloat && type != at::kDouble) return false;
  const Tensor& ids = input(lookup.ids.input);
  if (!is_index(ids) || ids.numel() == 0) return false;
  const int64_t dim = sliced_dim(lookup.ids, ids);
  if (lookup.offsets.input >= 0) {
    const Tensor& offsets = input(lookup.offsets.input);
    return dim == 1 && offsets.scalar_type() == ids.scalar_type() && offsets.numel() > 0;
  }
  if (!lookup.bag) return dim >= 1;
  return dim == 2 && size_of(lookup.ids, ids, 1) > 0;
}

bool ServedCall::reads(const Lookup& lookup, const LookupArguments& arguments) const {
  return reads(lookup.ids, arguments.input) && reads(lookup.offsets, arguments.offsets) &&
         reads(lookup.sample_weights, arguments.sample_weights);
}

// Whether an argument is what was expected of it: the view of an input, or nothing.
bool ServedCall::reads(const InputView& view, PyObject* argument) const {
  if (view.input < 0) return !given(argument);
  if (!given(argument) || !THPVariable_CheckExact(argument)) return false;
  const Tensor& tensor = THPVariable_Unpack(argument);
  return learnt_->inputs[view.input].copied ? view.equals(tensor, input(view.input))
                                            : view.is(tensor, input(view.input));
}

// Whether a lookup would give now what it gave when all were computed.
bool ServedCall::unchanged(size_t number) {
  const Lookup& lookup = learnt_->lookups[number];
  if (thread_state() != state_ || !model_->pins.hold()) return false;
  const auto same = [&](const InputView& view) {
    return view.input < 0 || inputs_[view.input].is(input(view.input));
  };
  if (!same(lookup.ids) || !same(lookup.offsets) || !same(lookup.sample_weights)) return false;
  TableModule& table = model_->tables[lookup.table];
  THPObjectPtr module(table.module());
  if (!module || !table.unchanged(module.get())) return false;
  PyObject* const weight = table.weight();
  return weight && THPVariable_CheckExact(weight) &&
         THPVariable_Unpack(weight).is_same(given_[0][number]) &&
         weights_[number].is(given_[0][number]);
}

bool ServedCall::watched(const c10::StorageImpl* storage) const {
  const auto holds = [&](const Seen& seen) {
    return seen.storage.unsafeGetStorageImpl() == storage;
  };
  return std::any_of(inputs_.begin(), inputs_.end(), holds) ||
         std::any_of(weights_.begin(), weights_.end(), holds);
}

}  // namespace mirror
