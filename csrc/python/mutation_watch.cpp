// As torch is built: a RecordFunction has another member without it.
#ifndef NDEBUG
#define NDEBUG
#endif
#include "python/mutation_watch.h"

#include <ATen/core/function_schema.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace mirror {
namespace {

// Of this thread: watches that are on, those of them that are exact, the callback that serves them,
// and what it saw written; nullptr where that was not looked at.
struct Watched {
  int watches = 0, exact = 0;
  bool looks = false;  // whether the callback sees arguments
  at::CallbackHandle callback = 0;
  std::vector<const c10::StorageImpl*> writes;
};
thread_local Watched watched;

// Places of the arguments that an op writes to. A schema is copied when it is asked for, so what it
// says is kept. The name belongs to the schema of one overload: its address tells overloads apart.
const std::vector<size_t>* written_arguments(const at::RecordFunction& call) {
  thread_local std::unordered_map<const char*, std::vector<size_t>> known;
  if (const auto found = known.find(call.name()); found != known.end()) return &found->second;
  const auto schema = call.operator_schema();
  if (!schema) return nullptr;  // who knows; its name may be gone before the next one comes
  std::vector<size_t>& places = known[call.name()];
  for (size_t i = 0; i < schema->arguments().size(); ++i) {
    const auto* const alias = schema->arguments()[i].alias_info();
    if (alias && alias->isWrite()) places.push_back(i);
  }
  return &places;
}

void note(const c10::IValue& argument) {
  if (argument.isTensor() && argument.toTensor().defined() && argument.toTensor().has_storage()) {
    watched.writes.push_back(argument.toTensor().storage().unsafeGetStorageImpl());
  } else if (argument.isTensorList()) {
    for (const at::Tensor& tensor : argument.toTensorVector()) note(tensor);
  } else if (!argument.isNone()) {
    watched.writes.push_back(nullptr);
  }
}

std::unique_ptr<at::ObserverContext> seen(const at::RecordFunction& call) {
  const std::vector<size_t>* const places = written_arguments(call);
  if (places && places->empty()) return nullptr;
  if (!places || !watched.looks || call.inputs().size() <= places->back()) {
    watched.writes.push_back(nullptr);
  } else {
    for (const size_t place : *places) note(call.inputs()[place]);
  }
  return nullptr;
}

// The callback there is to be, in place of the one there is.
void renew() {
  const bool wanted = watched.watches > 0, looks = watched.exact > 0;
  if (watched.callback && (!wanted || looks != watched.looks)) {
    at::removeCallback(watched.callback);
    watched.callback = 0;
  }
  watched.looks = looks;
  if (wanted && !watched.callback) {
    watched.callback = at::addThreadLocalCallback(
        at::RecordFunctionCallback(seen).needsInputs(looks).scopes({at::RecordScope::FUNCTION}));
  }
  if (!wanted) watched.writes.clear();
}

}  // namespace

void MutationWatch::start(bool exact) {
  on_ = true;
  exact_ = exact;
  before_ = watched.writes.size();
  ++watched.watches;
  watched.exact += exact;
  renew();
}

void MutationWatch::stop() {
  if (!on_) return;
  on_ = false;
  --watched.watches;
  watched.exact -= exact_;
  renew();
}

bool MutationWatch::written(const std::function<bool(const c10::StorageImpl*)>& is_watched) const {
  return on_ && std::any_of(watched.writes.begin() + static_cast<int64_t>(before_),
                            watched.writes.end(), [&](const c10::StorageImpl* storage) {
                              return !storage || is_watched(storage);
                            });
}

}  // namespace mirror
