#include "python/compiled_function.h"

#include <ATen/core/DimVector.h>
#include <ATen/core/Tensor.h>
#include <c10/core/DefaultDtype.h>
#include <structmember.h>
#include <torch/csrc/Dtype.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/object_ptr.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "python/pins.h"
#include "python/plain_tensor.h"
#include "python/region.h"
#include "python/thread_state.h"

namespace mirror {
namespace {

using at::Tensor;

// A tensor as it was when a graph was captured. Size -1: the batch size.
struct Layout {
  at::ScalarType type;
  at::DimVector sizes, strides;

  bool fits(const Tensor& tensor, int64_t batch) const {
    const at::IntArrayRef own = tensor.sizes();
    if (tensor.scalar_type() != type || own.size() != sizes.size()) return false;
    for (size_t d = 0; d < own.size(); ++d) {
      if (own[d] != (sizes[d] < 0 ? batch : sizes[d])) return false;
    }
    return tensor.strides() == at::IntArrayRef(strides);
  }
};

// Arguments of one kind, and the graph for them.
struct Graph {
  bool varies;  // with the size of the first argument's first dimension, which is above 1
  at::ScalarType default_type;
  std::vector<Layout> arguments, constants;
  THPObjectPtr call;
  THPObjectPtr region;                // where the graph is nothing else
  std::vector<long> places;           // of what the region takes: arguments, then ~ constants
  std::vector<THPObjectPtr> tensors;  // the constants

  bool fits(PyObject* const* given, size_t count) const {
    if (count != arguments.size() || c10::get_default_dtype_as_scalartype() != default_type)
      return false;
    int64_t batch = 0;
    if (varies) {
      const Tensor& first = THPVariable_Unpack(given[0]);
      if (first.dim() == 0 || (batch = first.size(0)) <= 1) return false;
    }
    for (size_t i = 0; i < count; ++i) {
      if (!arguments[i].fits(THPVariable_Unpack(given[i]), batch)) return false;
    }
    return true;
  }

  // Whether constants are as they were; where `grad`, none of them may ask for a gradient.
  bool holds(bool grad) const {
    for (size_t i = 0; i < tensors.size(); ++i) {
      const Tensor& tensor = THPVariable_Unpack(const_cast<PyObject*>(tensors[i].get()));
      if (!is_plain(tensor) || (grad && tensor.requires_grad()) || !constants[i].fits(tensor, 0))
        return false;
    }
    return true;
  }
};

struct State {
  THPObjectPtr function;
  Pins pins;
  std::vector<THPObjectPtr> parameters;
  std::vector<std::shared_ptr<const Graph>> graphs;
};

struct CompiledFunction {
  PyObject_HEAD vectorcallfunc vectorcall;
  State* state;
};

State* state_of(PyObject* object) { return reinterpret_cast<CompiledFunction*>(object)->state; }

bool plain_arguments(PyObject* const* arguments, size_t count, bool grad) {
  return std::all_of(arguments, arguments + count, [&](PyObject* argument) {
    if (!THPVariable_CheckExact(argument)) return false;
    const Tensor& tensor = THPVariable_Unpack(argument);
    return is_plain(tensor) && !(grad && tensor.requires_grad());
  });
}

// The graph, or the function itself where that was found to be faster. nullptr without an error
// set where this is not to be decided here.
PyObject* run(State& state, PyObject* const* arguments, size_t count) {
  const auto mode = usual_state();
  if (!mode || !plain_arguments(arguments, count, mode->grad) || !state.pins.hold()) return nullptr;
  const auto found = std::find_if(state.graphs.begin(), state.graphs.end(),
                                  [&](const auto& graph) { return graph->fits(arguments, count); });
  if (found == state.graphs.end() || !(*found)->holds(mode->grad)) return nullptr;
  const auto asks = [](const THPObjectPtr& parameter) {
    return THPVariable_Unpack(const_cast<PyObject*>(parameter.get())).requires_grad();
  };
  if (mode->grad && std::any_of(state.parameters.begin(), state.parameters.end(), asks))
    return nullptr;
  const std::shared_ptr<const Graph> graph = *found;  // another thread may capture meanwhile
  if (!graph->region)
    return PyObject_Vectorcall(const_cast<PyObject*>(graph->call.get()), arguments, count, nullptr);
  c10::SmallVector<PyObject*, 64> taken;
  for (const long place : graph->places)
    taken.push_back(place >= 0 ? arguments[place]
                               : const_cast<PyObject*>(graph->tensors[~place].get()));
  bool original = false;
  PyObject* const result = region_of(const_cast<PyObject*>(graph->region.get()))
                               ->call(taken.data(), taken.size(), &original);
  if (!original) return result;
  const THPObjectPtr function(Py_NewRef(state.function.get()));
  return PyObject_Vectorcall(const_cast<PyObject*>(function.get()), arguments, count, nullptr);
}

PyObject* compiled_call(PyObject* object, PyObject* const* arguments, size_t count,
                        PyObject* names) {
  HANDLE_TH_ERRORS
  PyObject* result = nullptr;
  if (!(names && PyTuple_GET_SIZE(names)))
    result = run(*state_of(object), arguments, PyVectorcall_NARGS(count));
  if (result || PyErr_Occurred()) return result;
  Py_RETURN_NOTIMPLEMENTED;
  END_HANDLE_TH_ERRORS
}

Layout layout_of(PyObject* told) {
  PyObject *type, *sizes, *strides;
  if (!PyArg_ParseTuple(told, "OO!O!", &type, &PyTuple_Type, &sizes, &PyTuple_Type, &strides))
    throw python_error();
  TORCH_CHECK_TYPE(THPDtype_Check(type), "a layout is (dtype, sizes, strides)");
  Layout layout{reinterpret_cast<THPDtype*>(type)->scalar_type, {}, {}};
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(sizes); ++i)
    layout.sizes.push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(sizes, i)));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(strides); ++i)
    layout.strides.push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(strides, i)));
  if (PyErr_Occurred()) throw python_error();
  return layout;
}

std::vector<THPObjectPtr> tensors_of(PyObject* tuple) {
  std::vector<THPObjectPtr> tensors;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    PyObject* const tensor = PyTuple_GET_ITEM(tuple, i);
    TORCH_CHECK_TYPE(THPVariable_Check(tensor), "parameters and constants are tensors");
    tensors.emplace_back(Py_NewRef(tensor));
  }
  return tensors;
}

// add(varies, layouts of arguments, constants, call, Region or None, what the region takes)
PyObject* compiled_add(PyObject* object, PyObject* args) {
  HANDLE_TH_ERRORS
  int varies;
  PyObject *arguments, *constants, *call, *region, *places;
  if (!PyArg_ParseTuple(args, "pO!O!OOO!", &varies, &PyTuple_Type, &arguments, &PyTuple_Type,
                        &constants, &call, &region, &PyTuple_Type, &places))
    return nullptr;
  const Py_ssize_t count = PyTuple_GET_SIZE(arguments);
  TORCH_CHECK_VALUE(!varies || count > 0, "the batch size is that of the first argument");
  auto graph = std::make_shared<Graph>();
  graph->varies = varies;
  graph->default_type = c10::get_default_dtype_as_scalartype();
  for (Py_ssize_t i = 0; i < count; ++i)
    graph->arguments.push_back(layout_of(PyTuple_GET_ITEM(arguments, i)));
  graph->tensors = tensors_of(constants);
  for (const THPObjectPtr& constant : graph->tensors) {
    const Tensor& tensor = THPVariable_Unpack(const_cast<PyObject*>(constant.get()));
    graph->constants.push_back(
        {tensor.scalar_type(), at::DimVector(tensor.sizes()), at::DimVector(tensor.strides())});
  }
  graph->call = Py_NewRef(call);
  if (region != Py_None) {
    if (!region_of(region)) return nullptr;
    graph->region = Py_NewRef(region);
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(places); ++i) {
    const long place = PyLong_AsLong(PyTuple_GET_ITEM(places, i));
    if (place == -1 && PyErr_Occurred()) return nullptr;
    TORCH_CHECK_VALUE(
        place >= 0 ? place < count : ~place < static_cast<long>(graph->tensors.size()),
        "a region takes what there is");
    graph->places.push_back(place);
  }
  state_of(object)->graphs.push_back(std::move(graph));
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}

PyObject* compiled_holds(PyObject* object, PyObject*) {
  HANDLE_TH_ERRORS
  return PyBool_FromLong(state_of(object)->pins.hold());
  END_HANDLE_TH_ERRORS
}

// CompiledFunction(function, pins, hooks, dictionaries, parameters); pins and hooks as in pins.h.
PyObject* compiled_new(PyTypeObject* type, PyObject* args, PyObject*) {
  HANDLE_TH_ERRORS
  PyObject *function, *functions, *hooks, *dicts, *parameters;
  if (!PyArg_ParseTuple(args, "OO!O!O!O!", &function, &PyTuple_Type, &functions, &PyTuple_Type,
                        &hooks, &PyTuple_Type, &dicts, &PyTuple_Type, &parameters))
    return nullptr;
  auto state = std::make_unique<State>(
      State{THPObjectPtr(Py_NewRef(function)), Pins(functions, hooks), tensors_of(parameters), {}});
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(dicts); ++i) {
    PyObject* const dict = PyTuple_GET_ITEM(dicts, i);
    TORCH_CHECK_TYPE(PyDict_Check(dict), "dictionaries are dictionaries");
    state->pins.pin_all(dict);
  }
  PyObject* const self = type->tp_alloc(type, 0);
  if (!self) return nullptr;
  reinterpret_cast<CompiledFunction*>(self)->vectorcall = compiled_call;
  reinterpret_cast<CompiledFunction*>(self)->state = state.release();
  return self;
  END_HANDLE_TH_ERRORS
}

// A module may lead to what compiled it.
int compiled_traverse(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(object));
  const State* const state = state_of(object);
  if (!state) return 0;
  Py_VISIT(const_cast<PyObject*>(state->function.get()));
  for (const THPObjectPtr& parameter : state->parameters)
    Py_VISIT(const_cast<PyObject*>(parameter.get()));
  for (const auto& graph : state->graphs) {
    if (graph.use_count() > 1) continue;  // a call is in it
    Py_VISIT(const_cast<PyObject*>(graph->call.get()));
    Py_VISIT(const_cast<PyObject*>(graph->region.get()));
    for (const THPObjectPtr& tensor : graph->tensors) Py_VISIT(const_cast<PyObject*>(tensor.get()));
  }
  return state->pins.visit(visit, arg);
}

void compiled_free(PyObject* object) {
  PyTypeObject* const type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  delete std::exchange(reinterpret_cast<CompiledFunction*>(object)->state, nullptr);
  type->tp_free(object);
  Py_DECREF(type);
}

PyMethodDef compiled_methods[] = {{"add", compiled_add, METH_VARARGS, nullptr},
                                  {"holds", compiled_holds, METH_NOARGS, nullptr},
                                  {nullptr, nullptr, 0, nullptr}};
PyMemberDef compiled_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(CompiledFunction, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyType_Slot compiled_slots[] = {{Py_tp_new, reinterpret_cast<void*>(compiled_new)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(compiled_free)},
                                {Py_tp_traverse, reinterpret_cast<void*>(compiled_traverse)},
                                {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                                {Py_tp_methods, compiled_methods},
                                {Py_tp_members, compiled_members},
                                {0, nullptr}};
PyType_Spec compiled_spec = {"mirror_python.CompiledFunction", sizeof(CompiledFunction), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
                             compiled_slots};

}  // namespace

bool add_compiled_function_type(PyObject* module) {
  THPObjectPtr type(PyType_FromSpec(&compiled_spec));
  return type && PyModule_AddType(module, reinterpret_cast<PyTypeObject*>(type.get())) == 0;
}

}  // namespace mirror
