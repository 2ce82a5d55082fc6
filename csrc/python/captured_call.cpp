#include "python/captured_call.h"

#include <structmember.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/object_ptr.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <string_view>
#include <vector>

#include "python/call_signature.h"
#include "python/module_stamps.h"
#include "python/pins.h"

namespace mirror {
namespace {

// Kinds of calls that a graph is known to give; the oldest makes room.
constexpr size_t kKnownCalls = 32;

// Where a value comes from when a graph is called.
struct Source {
  enum Kind { kArgument, kSize, kHeld, kConstant, kOutput } kind;
  Py_ssize_t place = 0, dim = 0;
  THPObjectPtr constant;

  // A new reference. `outputs`: of the graph, nullptr before it ran.
  PyObject* value(const CallSignature& call, const std::vector<PyObject*>& held,
                  PyObject* outputs) const {
    switch (kind) {
      case kArgument:
        return Py_NewRef(call.tensors[place]);
      case kSize:
        return PyLong_FromLongLong(THPVariable_Unpack(call.tensors[place]).size(dim));
      case kHeld:
        return Py_NewRef(held[place]);
      case kConstant:
        return Py_NewRef(const_cast<PyObject*>(constant.get()));
      case kOutput:
        if (place < PySequence_Fast_GET_SIZE(outputs))
          return Py_NewRef(PySequence_Fast_GET_ITEM(outputs, place));
    }
    PyErr_SetString(PyExc_RuntimeError, "a graph has fewer outputs than it had");
    return nullptr;
  }
};

// What a call returns: one value, or a collection of these.
struct Result {
  enum Kind { kValue, kList, kTuple, kDict } kind = kValue;
  Source source;
  std::vector<Result> items;
  std::vector<THPObjectPtr> keys;

  PyObject* made(const CallSignature& call, const std::vector<PyObject*>& held,
                 PyObject* outputs) const {
    if (kind == kValue) return source.value(call, held, outputs);
    const Py_ssize_t size = static_cast<Py_ssize_t>(items.size());
    THPObjectPtr made(kind == kDict   ? PyDict_New()
                      : kind == kList ? PyList_New(size)
                                      : PyTuple_New(size));
    if (!made) return nullptr;
    for (Py_ssize_t i = 0; i < size; ++i) {
      THPObjectPtr item(items[i].made(call, held, outputs));
      if (!item) return nullptr;
      if (kind == kDict) {
        if (PyDict_SetItem(made.get(), const_cast<PyObject*>(keys[i].get()), item.get()) != 0)
          return nullptr;
      } else if (kind == kList) {
        PyList_SET_ITEM(made.get(), i, item.release());
      } else {
        PyTuple_SET_ITEM(made.get(), i, item.release());
      }
    }
    return made.release();
  }
};

// A kind of calls, and the strings whose addresses are in its words.
struct KnownCall {
  std::vector<uint64_t> words;
  std::vector<THPObjectPtr> names;

  explicit KnownCall(const CallSignature& call) : words(call.words.begin(), call.words.end()) {
    for (PyObject* const name : call.names) names.emplace_back(Py_NewRef(name));
  }
  bool is(const CallSignature& call) const {
    return words.size() == call.words.size() &&
           std::equal(words.begin(), words.end(), call.words.begin());
  }
};

struct Graph {
  THPObjectPtr call;
  bool repeatable;  // who fails has done nothing yet
  std::vector<Source> inputs;
  Result result;
  Pins pins;

  // What the compiler's own guards were asked about last, and held for.
  std::deque<KnownCall> calls;
  ModuleStamps stamps;
  std::vector<PyObject*> held;  // tensors of the modules, kept alive by what is stamped
  Words held_words;

  bool knows(const CallSignature& call) const {
    return std::any_of(calls.begin(), calls.end(),
                       [&](const KnownCall& known) { return known.is(call); });
  }
  bool holds(PyObject* module) {
    if (!stamps.hold(module) || !pins.hold_with_code()) return false;
    Words now;
    return words_of(held, now) && now == held_words;
  }
  static bool words_of(const std::vector<PyObject*>& tensors, Words& words) {
    return std::all_of(tensors.begin(), tensors.end(), [&](PyObject* tensor) {
      return append_tensor(words, THPVariable_Unpack(tensor));
    });
  }

  PyObject* run(const CallSignature& given) const {
    const THPObjectPtr function(Py_NewRef(const_cast<PyObject*>(call.get())));
    std::vector<THPObjectPtr> taken;
    c10::SmallVector<PyObject*, 64> arguments;
    taken.reserve(inputs.size());
    for (const Source& input : inputs) {
      taken.emplace_back(input.value(given, held, nullptr));
      if (!taken.back()) return nullptr;
      arguments.push_back(taken.back().get());
    }
    THPObjectPtr outputs(PyObject_Vectorcall(const_cast<PyObject*>(function.get()),
                                             arguments.data(), arguments.size(), nullptr));
    if (!outputs) return nullptr;
    if (!PyList_CheckExact(outputs.get()) && !PyTuple_CheckExact(outputs.get())) {
      PyErr_SetString(PyExc_TypeError, "a graph returns a list or a tuple");
      return nullptr;
    }
    return result.made(given, held, outputs.get());
  }
};

struct State {
  THPObjectPtr otherwise;
  std::vector<std::shared_ptr<Graph>> graphs;
};

struct CapturedCall {
  PyObject_HEAD State* state;
  Py_ssize_t calls;  // that went past the compiler's guards
};

PyTypeObject* captured_type = nullptr;

State& state_of(PyObject* object) { return *reinterpret_cast<CapturedCall*>(object)->state; }

Source source_of(PyObject* told) {
  const char* kind;
  PyObject* value;
  Py_ssize_t dim;
  if (!PyArg_ParseTuple(told, "sOn", &kind, &value, &dim)) throw python_error();
  const std::string_view name(kind);
  if (name == "constant") return {Source::kConstant, 0, 0, THPObjectPtr(Py_NewRef(value))};
  const Py_ssize_t place = PyLong_AsSsize_t(value);
  if (place < 0) throw python_error();
  if (name == "argument") return {Source::kArgument, place, 0, {}};
  if (name == "size") return {Source::kSize, place, dim, {}};
  if (name == "held") return {Source::kHeld, place, 0, {}};
  TORCH_CHECK_VALUE(name == "output", "a source is an argument, a size, held, constant or output");
  return {Source::kOutput, place, 0, {}};
}

// ("list", items), ("tuple", items), ("dict", items, keys), or a source.
Result result_of(PyObject* told) {
  const char* const kind = PyUnicode_AsUTF8(PyTuple_GetItem(told, 0));
  if (!kind) throw python_error();
  const std::string_view name(kind);
  Result result;
  if (name != "list" && name != "tuple" && name != "dict") {
    result.source = source_of(told);
    return result;
  }
  result.kind = name == "list" ? Result::kList : name == "tuple" ? Result::kTuple : Result::kDict;
  PyObject *items, *keys = nullptr;
  if (!PyArg_ParseTuple(told, "sO!|O!", &kind, &PyTuple_Type, &items, &PyTuple_Type, &keys))
    throw python_error();
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items); ++i) {
    result.items.push_back(result_of(PyTuple_GET_ITEM(items, i)));
    if (keys) result.keys.emplace_back(Py_NewRef(PyTuple_GET_ITEM(keys, i)));
  }
  return result;
}

// add(call, repeatable, inputs, result, pins, hooks): the graph's number.
PyObject* captured_add(PyObject* object, PyObject* args) {
  HANDLE_TH_ERRORS
  int repeatable;
  PyObject *call, *inputs, *result, *functions, *hooks;
  if (!PyArg_ParseTuple(args, "OpO!O!O!O!", &call, &repeatable, &PyTuple_Type, &inputs,
                        &PyTuple_Type, &result, &PyTuple_Type, &functions, &PyTuple_Type, &hooks))
    return nullptr;
  std::vector<Source> sources;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inputs); ++i)
    sources.push_back(source_of(PyTuple_GET_ITEM(inputs, i)));
  State& state = state_of(object);
  state.graphs.push_back(std::make_shared<Graph>(Graph{.call = THPObjectPtr(Py_NewRef(call)),
                                                       .repeatable = repeatable != 0,
                                                       .inputs = std::move(sources),
                                                       .result = result_of(result),
                                                       .pins = Pins(functions, hooks),
                                                       .calls = {},
                                                       .stamps = {},
                                                       .held = {},
                                                       .held_words = {}}));
  return PyLong_FromSize_t(state.graphs.size() - 1);
  END_HANDLE_TH_ERRORS
}

// vouch(graph, module, args, kwargs, held, check): whether the graph gives this call, and calls
// like it as long as nothing changes: `check()` asks the compiler's guards.
PyObject* captured_vouch(PyObject* object, PyObject* arguments) {
  HANDLE_TH_ERRORS
  Py_ssize_t number;
  PyObject *module, *args, *kwargs, *held, *check;
  if (!PyArg_ParseTuple(arguments, "nOO!O!O!O", &number, &module, &PyTuple_Type, &args,
                        &PyDict_Type, &kwargs, &PyTuple_Type, &held, &check))
    return nullptr;
  TORCH_CHECK_INDEX(number >= 0 && number < std::ssize(state_of(object).graphs), "no such graph");
  const std::shared_ptr<Graph> graph = state_of(object).graphs[number];
  CallSignature call;
  ModuleStamps stamps;
  Words held_words;
  std::vector<PyObject*> tensors;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(held); ++i) {
    tensors.push_back(PyTuple_GET_ITEM(held, i));
    TORCH_CHECK_TYPE(THPVariable_Check(tensors.back()), "what is held is a tensor");
  }
  if (!call.take(args, kwargs) || !stamps.take(module) || !graph->pins.hold_with_code() ||
      !Graph::words_of(tensors, held_words)) {
    Py_RETURN_FALSE;
  }
  THPObjectPtr right(PyObject_CallNoArgs(check));
  if (!right) return nullptr;
  if (right.get() != Py_True || !stamps.hold(module)) Py_RETURN_FALSE;
  if (!(stamps == graph->stamps && held_words == graph->held_words && tensors == graph->held))
    graph->calls.clear();
  graph->stamps = std::move(stamps);
  graph->held_words = std::move(held_words);
  graph->held = std::move(tensors);
  if (!graph->knows(call)) graph->calls.emplace_front(call);
  if (graph->calls.size() > kKnownCalls) graph->calls.pop_back();
  Py_RETURN_TRUE;
  END_HANDLE_TH_ERRORS
}

// unchanged(module): whether a graph was vouched for, and only the arguments may have changed
// since.
PyObject* captured_unchanged(PyObject* object, PyObject* module) {
  HANDLE_TH_ERRORS
  const auto& graphs = state_of(object).graphs;
  return PyBool_FromLong(std::any_of(graphs.begin(), graphs.end(), [&](const auto& graph) {
    return !graph->calls.empty() && graph->holds(module);
  }));
  END_HANDLE_TH_ERRORS
}

PyObject* captured_call(PyObject* object, PyObject* args, PyObject* kwargs) {
  HANDLE_TH_ERRORS
  PyObject* const module = PyTuple_GetItem(args, 0);
  if (!module) return nullptr;
  THPObjectPtr rest(PyTuple_GetSlice(args, 1, PyTuple_GET_SIZE(args)));
  return rest ? call_captured(object, module, rest.get(), kwargs) : nullptr;
  END_HANDLE_TH_ERRORS
}

// CapturedCall(otherwise): otherwise(self, module, args, kwargs) gives a call that no graph is
// known for.
PyObject* captured_new(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject* otherwise;
  if (!PyArg_ParseTuple(args, "O", &otherwise)) return nullptr;
  PyObject* const self = type->tp_alloc(type, 0);
  if (!self) return nullptr;
  reinterpret_cast<CapturedCall*>(self)->state = new State{THPObjectPtr(Py_NewRef(otherwise)), {}};
  return self;
}

int captured_traverse(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(object));
  const State* const state = reinterpret_cast<CapturedCall*>(object)->state;
  if (!state) return 0;
  Py_VISIT(const_cast<PyObject*>(state->otherwise.get()));
  for (const auto& graph : state->graphs) {
    if (graph.use_count() > 1) continue;  // a call is in it
    Py_VISIT(const_cast<PyObject*>(graph->call.get()));
    if (const int found = graph->pins.visit(visit, arg)) return found;
  }
  return 0;
}

int captured_clear(PyObject* object) {
  delete std::exchange(reinterpret_cast<CapturedCall*>(object)->state, nullptr);
  return 0;
}

void captured_free(PyObject* object) {
  PyTypeObject* const type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  captured_clear(object);
  type->tp_free(object);
  Py_DECREF(type);
}

PyMethodDef captured_methods[] = {{"add", captured_add, METH_VARARGS, nullptr},
                                  {"unchanged", captured_unchanged, METH_O, nullptr},
                                  {"vouch", captured_vouch, METH_VARARGS, nullptr},
                                  {nullptr, nullptr, 0, nullptr}};
PyMemberDef captured_members[] = {
    {"calls", T_PYSSIZET, offsetof(CapturedCall, calls), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyType_Slot captured_slots[] = {{Py_tp_new, reinterpret_cast<void*>(captured_new)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(captured_free)},
                                {Py_tp_traverse, reinterpret_cast<void*>(captured_traverse)},
                                {Py_tp_clear, reinterpret_cast<void*>(captured_clear)},
                                {Py_tp_call, reinterpret_cast<void*>(captured_call)},
                                {Py_tp_methods, captured_methods},
                                {Py_tp_members, captured_members},
                                {0, nullptr}};
PyType_Spec captured_spec = {"mirror_python.CapturedCall", sizeof(CapturedCall), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, captured_slots};

}  // namespace

PyObject* call_captured(PyObject* captured, PyObject* module, PyObject* args, PyObject* kwargs) {
  CapturedCall* const self = reinterpret_cast<CapturedCall*>(captured);
  CallSignature call;
  if (call.take(args, kwargs)) {
    for (const std::shared_ptr<Graph>& known : self->state->graphs) {
      if (!known->knows(call) || !known->holds(module)) continue;
      const std::shared_ptr<Graph> graph = known;  // the graph may call whom it likes
      PyObject* const result = graph->run(call);
      if (result) {
        ++self->calls;
        return result;
      }
      // An id out of range, say: who is asked otherwise has an error of his own for that.
      if (!graph->repeatable || !PyErr_ExceptionMatches(PyExc_Exception)) return nullptr;
      PyErr_Clear();
      break;
    }
  }
  const THPObjectPtr otherwise(Py_NewRef(self->state->otherwise.get()));
  THPObjectPtr empty(kwargs ? nullptr : PyDict_New());
  if (!kwargs && !empty) return nullptr;
  return PyObject_CallFunctionObjArgs(const_cast<PyObject*>(otherwise.get()), captured, module,
                                      args, kwargs ? kwargs : empty.get(), nullptr);
}

bool is_captured_call(PyObject* object) { return Py_TYPE(object) == captured_type; }

bool add_captured_call_type(PyObject* module) {
  captured_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&captured_spec));
  return captured_type && PyModule_AddType(module, captured_type) == 0;
}

}  // namespace mirror
