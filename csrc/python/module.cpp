// What Python finds under `mirror_python`: functions and types over the ops.
#include "python/captured_call.h"
#include "python/compiled_function.h"
#include "python/direct_calls.h"
#include "python/region.h"
#include "python/serving.h"

namespace {

// The cast is how CPython takes functions with an array of arguments.
PyMethodDef methods[] = {
    {"grouped_embedding",
     reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(mirror::grouped_embedding)),
     METH_FASTCALL, nullptr},
    {nullptr, nullptr, 0, nullptr}};
PyModuleDef definition = {.m_base = PyModuleDef_HEAD_INIT,
                          .m_name = "mirror_python",
                          .m_doc = nullptr,
                          .m_size = -1,
                          .m_methods = methods,
                          .m_slots = nullptr,
                          .m_traverse = nullptr,
                          .m_clear = nullptr,
                          .m_free = nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_mirror_python() {
  PyObject* const module = PyModule_Create(&definition);
  if (module &&
      !(mirror::add_serving_types(module) && mirror::add_region_type(module) &&
        mirror::add_compiled_function_type(module) && mirror::add_captured_call_type(module))) {
    Py_DECREF(module);
    return nullptr;
  }
  return module;
}
