// One call of a model whose lookups are served: all are computed when the first of them is asked
// for, and each gets its result where nothing has changed since.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/python_headers.h>

#include <memory>
#include <optional>
#include <vector>

#include "python/direct_calls.h"
#include "python/learnt.h"
#include "python/mutation_watch.h"
#include "python/pins.h"
#include "python/table_module.h"
#include "python/thread_state.h"

namespace mirror {

// What the calls of one model share.
struct ServedModel {
  std::vector<TableModule> tables;
  Pins pins;
};

// The arguments of one lookup, borrowed; nullptr or None where there is none.
struct LookupArguments {
  PyObject *input = nullptr, *offsets = nullptr, *sample_weights = nullptr;

  // False where a call has other arguments than the lookup of a table.
  bool read(PyObject* args, PyObject* kwargs);
};

// Stands on the stack of the thread that calls the model, with the interpreter locked.
class ServedCall {
 public:
  // `learnt`: nothing where the call is watched to learn from it.
  ServedCall(std::shared_ptr<ServedModel> model, std::shared_ptr<const Learnt> learnt,
             PyObject* args, PyObject* kwargs);
  ServedCall(const ServedCall&) = delete;
  ServedCall& operator=(const ServedCall&) = delete;
  ~ServedCall();

  // The innermost call of the model on this thread; nullptr where there is none.
  static ServedCall* of(const ServedModel* model);

  // The result of a lookup, a new reference; nullptr where torch's own op is to give it, without
  // an error set.
  PyObject* hand_out(size_t table, const LookupArguments& arguments);

  size_t handed_out() const { return handed_out_; }
  size_t bytes() const { return bytes_; }  // of all results
  // Lookups, in their order, of a call that is learnt from: (table, input, offsets, weights).
  PyObject* record() { return record_.get(); }
  bool writes() const { return writes_; }

 private:
  // Of a tensor when the lookups were computed.
  struct Seen {
    c10::Storage storage;
    uint32_t version;
    bool requires_grad;
    c10::SmallVector<int64_t, 5> layout;  // `.data` may be set to another part of the same storage

    explicit Seen(const at::Tensor& tensor);
    bool is(const at::Tensor& tensor) const;
  };

  void learn(size_t table, const LookupArguments& arguments);
  bool compute();
  void prefetch();
  bool take_inputs();
  bool take_weights();
  const at::Tensor& input(size_t number) const;
  bool can_be_served(const Lookup& lookup, const at::Tensor& weight) const;
  bool reads(const Lookup& lookup, const LookupArguments& arguments) const;
  bool reads(const InputView& view, PyObject* argument) const;
  bool unchanged(size_t number);
  bool watched(const c10::StorageImpl* storage) const;

  const std::shared_ptr<ServedModel> model_;
  const std::shared_ptr<const Learnt> learnt_;
  PyObject *const args_, *const kwargs_;
  ServedCall* around_;  // of the same thread

  bool computed_ = false, off_ = false, writes_ = false;
  THPObjectPtr record_;
  std::optional<ThreadState> state_;
  TensorLists given_;                   // to the op
  std::vector<Seen> inputs_, weights_;  // weights: of each lookup
  std::vector<at::Tensor> outputs_;     // undefined once handed out
  size_t handed_out_ = 0, bytes_ = 0;
  MutationWatch watch_;
};

}  // namespace mirror
