#include "python/serving.h"

#include <structmember.h>
#include <torch/csrc/Exceptions.h>

#include <new>
#include <unordered_map>

#include "python/call_kind.h"
#include "python/captured_call.h"
#include "python/served_call.h"

namespace mirror {
namespace {

// Calls in a row in which a lookup was not what was learnt, after which it is learnt anew; and how
// often that is done for one form of calls.
constexpr int kMisses = 2, kLessons = 8;

// What is known of the calls of one form.
struct Form {
  std::shared_ptr<const Learnt> learnt;
  int misses = 0, lessons = 0;
};

// The way that was kept for calls of one kind; 0 calls: for good.
struct Kept {
  bool served;
  int64_t calls;
  THPObjectPtr captured;  // the CapturedCall that was kept, if any
};

struct Serving {
  PyObject_HEAD std::shared_ptr<ServedModel> model;
  PyObject* learn;
  std::unordered_map<uint64_t, Kept> kept;
  std::unordered_map<uint64_t, Form> forms;
  Py_ssize_t calls, lookups;  // served so far
  Py_ssize_t bytes;           // of the results of the last call
};

struct Table {
  PyObject_HEAD std::shared_ptr<ServedModel> model;
  Py_ssize_t number;
};

struct Names {
  PyObject* call = PyUnicode_InternFromString("_call_impl");
  PyObject* training = PyUnicode_InternFromString("training");
  PyObject* turn = PyUnicode_InternFromString("turn");
};

const Names& names() {
  static const Names all;
  return all;
}

// module._call_impl(*args, **kwargs): the module as it is.
PyObject* call_module(PyObject* module, PyObject* args, PyObject* kwargs) {
  THPObjectPtr call(PyObject_GetAttr(module, names().call));
  return call ? PyObject_Call(call.get(), args, kwargs) : nullptr;
}

bool is_training(PyObject* module) {
  THPObjectPtr training(PyObject_GetAttr(module, names().training));
  if (!training) PyErr_Clear();
  return training.get() == Py_True;
}

// What Python makes of the lookups of a call; nothing where they cannot be served.
std::shared_ptr<const Learnt> lesson(Serving* self, ServedCall& call, PyObject* args,
                                     PyObject* kwargs) {
  THPObjectPtr told(PyObject_CallFunction(self->learn, "OOOO", call.record(),
                                          call.writes() ? Py_True : Py_False, args,
                                          kwargs ? kwargs : Py_None));
  if (!told) throw python_error();
  if (told.get() == Py_None) return nullptr;
  return std::make_shared<const Learnt>(told.get(), self->model->tables.size());
}

PyObject* serve(Serving* self, PyObject* module, bool training, PyObject* args, PyObject* kwargs) {
  const uint64_t number = call_form(training, args, kwargs);
  const Form before = self->forms[number];
  const std::shared_ptr<const Learnt>& learnt = before.learnt;
  if (!learnt && before.lessons >= kLessons) return call_module(module, args, kwargs);
  // Not on the stack, which greenlets move about while others look for their own calls.
  const auto call = std::make_unique<ServedCall>(self->model, learnt, args, kwargs);
  THPObjectPtr result(call_module(module, args, kwargs));
  if (!result) return nullptr;
  if (!learnt) {
    std::shared_ptr<const Learnt> found = lesson(self, *call, args, kwargs);
    Form& form = self->forms[number];
    form = {std::move(found), 0, form.lessons + 1};
    return result.release();
  }
  const bool all = call->handed_out() == learnt->lookups.size();
  self->calls += all;
  self->bytes = static_cast<Py_ssize_t>(call->bytes());
  self->lookups += static_cast<Py_ssize_t>(call->handed_out());
  Form& form = self->forms[number];
  form.misses = all ? 0 : form.misses + 1;
  if (form.misses >= kMisses) form = {nullptr, 0, form.lessons};
  return result.release();
}

// The way that was kept for a call of this kind, which counts as one; nullptr where none is.
const Kept* kept_way(Serving* self, uint64_t kind) {
  const auto found = self->kept.find(kind);
  if (found == self->kept.end()) return nullptr;
  if (found->second.calls > 0 && --found->second.calls == 0) {
    self->kept.erase(found);
    return nullptr;
  }
  return &found->second;
}

PyObject* serving_enter(PyObject* object, PyObject* const* arguments, Py_ssize_t count) {
  HANDLE_TH_ERRORS
  if (count != 4 || !PyTuple_Check(arguments[2]) || !PyDict_Check(arguments[3])) {
    PyErr_SetString(PyExc_TypeError, "enter(turns, module, args, kwargs)");
    return nullptr;
  }
  Serving* const self = reinterpret_cast<Serving*>(object);
  PyObject *const module = arguments[1], *const args = arguments[2];
  PyObject* const kwargs = PyDict_GET_SIZE(arguments[3]) ? arguments[3] : nullptr;
  const bool training = is_training(module);
  const uint64_t kind = self->model->pins.hold() ? call_kind(training, args, kwargs) : 0;
  if (!kind) return call_module(module, args, kwargs);
  if (const Kept* const kept = kept_way(self, kind)) {
    if (kept->captured) {
      const THPObjectPtr captured(Py_NewRef(const_cast<PyObject*>(kept->captured.get())));
      return call_captured(const_cast<PyObject*>(captured.get()), module, args, kwargs);
    }
    return kept->served ? serve(self, module, training, args, kwargs)
                        : call_module(module, args, kwargs);
  }
  THPObjectPtr number(PyLong_FromUnsignedLongLong(kind));
  if (!number) return nullptr;
  return PyObject_CallMethodObjArgs(arguments[0], names().turn, number.get(), module, args,
                                    arguments[3], nullptr);
  END_HANDLE_TH_ERRORS
}

PyObject* serving_serve(PyObject* object, PyObject* args, PyObject* kwargs) {
  HANDLE_TH_ERRORS
  PyObject* const module = PyTuple_GetItem(args, 0);
  if (!module) return nullptr;
  THPObjectPtr rest(PyTuple_GetSlice(args, 1, PyTuple_GET_SIZE(args)));
  if (!rest) return nullptr;
  return serve(reinterpret_cast<Serving*>(object), module, is_training(module), rest.get(), kwargs);
  END_HANDLE_TH_ERRORS
}

PyObject* serving_keep(PyObject* object, PyObject* args) {
  unsigned long long kind;
  int served;
  Py_ssize_t calls;
  PyObject* captured = nullptr;
  if (!PyArg_ParseTuple(args, "Kpn|O", &kind, &served, &calls, &captured)) return nullptr;
  const bool other = captured && is_captured_call(captured);
  reinterpret_cast<Serving*>(object)->kept[kind] = {
      served != 0, calls, THPObjectPtr(other ? Py_NewRef(captured) : nullptr)};
  Py_RETURN_NONE;
}

PyObject* serving_forget(PyObject* object, PyObject*) {
  reinterpret_cast<Serving*>(object)->kept.clear();
  Py_RETURN_NONE;
}

PyObject* serving_add_table(PyObject* object, PyObject* args) {
  HANDLE_TH_ERRORS
  PyObject *module, *attributes, *stand_in;
  if (!PyArg_ParseTuple(args, "OO!O", &module, &PyDict_Type, &attributes, &stand_in))
    return nullptr;
  auto& tables = reinterpret_cast<Serving*>(object)->model->tables;
  tables.emplace_back(module, attributes, stand_in);
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}

PyObject* serving_new(PyTypeObject* type, PyObject* args, PyObject*) {
  HANDLE_TH_ERRORS
  PyObject *learn, *functions, *hooks;
  if (!PyArg_ParseTuple(args, "OO!O!", &learn, &PyTuple_Type, &functions, &PyTuple_Type, &hooks))
    return nullptr;
  auto model = std::make_shared<ServedModel>(std::vector<TableModule>(), Pins(functions, hooks));
  Serving* const self = reinterpret_cast<Serving*>(type->tp_alloc(type, 0));
  if (!self) return nullptr;
  new (&self->model) std::shared_ptr<ServedModel>(std::move(model));
  new (&self->kept) std::unordered_map<uint64_t, Kept>();
  new (&self->forms) std::unordered_map<uint64_t, Form>();
  self->learn = Py_NewRef(learn);
  return reinterpret_cast<PyObject*>(self);
  END_HANDLE_TH_ERRORS
}

void serving_free(PyObject* object) {
  Serving* const self = reinterpret_cast<Serving*>(object);
  PyTypeObject* const type = Py_TYPE(object);
  Py_CLEAR(self->learn);
  self->forms.~unordered_map();
  self->kept.~unordered_map();
  self->model.~shared_ptr();
  type->tp_free(object);
  Py_DECREF(type);
}

PyObject* table_new(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject *serving, *module;
  Py_ssize_t number;
  if (!PyArg_ParseTuple(args, "OnO", &serving, &number, &module)) return nullptr;
  Table* const self = reinterpret_cast<Table*>(type->tp_alloc(type, 0));
  if (!self) return nullptr;
  new (&self->model) std::shared_ptr<ServedModel>(reinterpret_cast<Serving*>(serving)->model);
  self->number = number;
  return reinterpret_cast<PyObject*>(self);
}

void table_free(PyObject* object) {
  PyTypeObject* const type = Py_TYPE(object);
  reinterpret_cast<Table*>(object)->model.~shared_ptr();
  type->tp_free(object);
  Py_DECREF(type);
}

PyObject* table_call(PyObject* object, PyObject* args, PyObject* kwargs) {
  HANDLE_TH_ERRORS
  const Table* const self = reinterpret_cast<Table*>(object);
  if (ServedCall* const call = ServedCall::of(self->model.get())) {
    LookupArguments arguments;
    if (arguments.read(args, kwargs)) {
      PyObject* const result = call->hand_out(static_cast<size_t>(self->number), arguments);
      if (result || PyErr_Occurred()) return result;
    }
  }
  THPObjectPtr module(self->model->tables[self->number].module());
  if (!module) {
    PyErr_SetString(PyExc_ReferenceError, "the module that this stood in for is gone");
    return nullptr;
  }
  return call_module(module.get(), args, kwargs);
  END_HANDLE_TH_ERRORS
}

// A class that says in Python what a call does is called through here all the same.
PyObject* table_call_compiled(PyObject* type, PyObject* derived) {
  if (!PyType_Check(derived) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(derived),
                                                  reinterpret_cast<PyTypeObject*>(type))) {
    PyErr_SetString(PyExc_TypeError, "call_compiled takes a class derived from this one");
    return nullptr;
  }
  reinterpret_cast<PyTypeObject*>(derived)->tp_call = table_call;
  Py_RETURN_NONE;
}

template <typename Function>
PyCFunction as_c_function(Function* function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(function));
}

PyMethodDef serving_methods[] = {
    {"enter", as_c_function(serving_enter), METH_FASTCALL, nullptr},
    {"serve", as_c_function(serving_serve), METH_VARARGS | METH_KEYWORDS, nullptr},
    {"keep", serving_keep, METH_VARARGS, nullptr},
    {"forget", serving_forget, METH_NOARGS, nullptr},
    {"add_table", serving_add_table, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};
PyMemberDef serving_members[] = {
    {"calls", T_PYSSIZET, offsetof(Serving, calls), READONLY, nullptr},
    {"bytes", T_PYSSIZET, offsetof(Serving, bytes), READONLY, nullptr},
    {"lookups", T_PYSSIZET, offsetof(Serving, lookups), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyType_Slot serving_slots[] = {{Py_tp_new, reinterpret_cast<void*>(serving_new)},
                               {Py_tp_dealloc, reinterpret_cast<void*>(serving_free)},
                               {Py_tp_methods, serving_methods},
                               {Py_tp_members, serving_members},
                               {0, nullptr}};
PyType_Spec serving_spec = {"mirror_python.Serving", sizeof(Serving), 0, Py_TPFLAGS_DEFAULT,
                            serving_slots};

PyMethodDef table_methods[] = {{"call_compiled", table_call_compiled, METH_O | METH_CLASS, nullptr},
                               {nullptr, nullptr, 0, nullptr}};
PyType_Slot table_slots[] = {{Py_tp_new, reinterpret_cast<void*>(table_new)},
                             {Py_tp_dealloc, reinterpret_cast<void*>(table_free)},
                             {Py_tp_call, reinterpret_cast<void*>(table_call)},
                             {Py_tp_methods, table_methods},
                             {0, nullptr}};
PyType_Spec table_spec = {"mirror_python.Table", sizeof(Table), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, table_slots};

}  // namespace

bool add_serving_types(PyObject* module) {
  for (PyType_Spec* const spec : {&serving_spec, &table_spec}) {
    THPObjectPtr type(PyType_FromSpec(spec));
    if (!type || PyModule_AddType(module, reinterpret_cast<PyTypeObject*>(type.get())) != 0)
      return false;
  }
  return true;
}

}  // namespace mirror
