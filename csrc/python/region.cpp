#include "python/region.h"

#include <ATen/EmptyTensor.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>
#include <pthread.h>
#include <structmember.h>
#include <torch/csrc/Dtype.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/object_ptr.h>

#include <algorithm>
#include <memory>

#include "python/large_outputs.h"
#include "python/plain_tensor.h"
#include "python/thread_state.h"

namespace mirror {
namespace {

using at::Tensor;
using Tensors = c10::SmallVector<Tensor, 4>;

struct RegionObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  Region* region;
  PyObject* original;  // a function, which does not lead back here
};
PyTypeObject* region_type = nullptr;

// OpenMP's threads do not survive a fork: a child uses one.
bool forked = false;
const int watch_forks = pthread_atfork(nullptr, nullptr, [] { forked = true; });

// Batch sizes of one bucket share a kernel: up to 4, 16, 64, 256 ...
int64_t bucket_of(int64_t batch) {
  int64_t bucket = 0;
  while (bucket < 30 && int64_t{4} << (2 * bucket) < batch) ++bucket;
  return bucket;
}

bool records_gradient(const Tensor& tensor) {
  return c10::GradMode::is_enabled() && tensor.requires_grad();
}

LinearSize size_of(PyObject* told) {
  LinearSize size;
  if (!PyArg_ParseTuple(told, "LL", &size.batch, &size.constant)) throw python_error();
  return size;
}

BufferLayout layout_of(PyObject* told) {
  PyObject *type, *sizes, *strides;
  if (!PyArg_ParseTuple(told, "OO!O!", &type, &PyTuple_Type, &sizes, &PyTuple_Type, &strides))
    throw python_error();
  TORCH_CHECK_TYPE(THPDtype_Check(type), "a layout is (dtype, sizes, strides)");
  BufferLayout layout{reinterpret_cast<THPDtype*>(type)->scalar_type, {}, {}};
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(sizes); ++i)
    layout.sizes.push_back(size_of(PyTuple_GET_ITEM(sizes, i)));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(strides); ++i)
    layout.strides.push_back(size_of(PyTuple_GET_ITEM(strides, i)));
  TORCH_CHECK_VALUE(layout.sizes.size() == layout.strides.size(), "as many strides as sizes");
  return layout;
}

std::vector<BufferLayout> layouts_of(PyObject* told) {
  std::vector<BufferLayout> layouts;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(told); ++i)
    layouts.push_back(layout_of(PyTuple_GET_ITEM(told, i)));
  return layouts;
}

}  // namespace

bool BufferLayout::fits(const Tensor& tensor, int64_t batch) const {
  const at::IntArrayRef own = tensor.sizes(), steps = tensor.strides();
  if (tensor.scalar_type() != type || own.size() != sizes.size()) return false;
  for (size_t d = 0; d < own.size(); ++d) {
    if (own[d] < 1 || own[d] != sizes[d].at(batch)) return false;
    if (own[d] > 1 && steps[d] != strides[d].at(batch)) return false;
  }
  return true;
}

Tensor BufferLayout::made(int64_t batch) const {
  at::DimVector own, steps;
  for (const LinearSize& size : sizes) own.push_back(size.at(batch));
  for (const LinearSize& stride : strides) steps.push_back(stride.at(batch));
  const size_t bytes = at::detail::computeStorageNbytes(own, steps, c10::elementSize(type));
  if (bytes < kLargeOutput) return Tensor(at::detail::empty_strided_cpu(own, steps, type));
  constexpr c10::DispatchKeySet cpu(c10::DispatchKey::CPU);
  return Tensor(at::detail::empty_strided_generic(own, steps, large_outputs(), cpu, type));
}

PyObject* Region::call(PyObject* const* arguments, size_t count, bool* original) const {
  *original = false;
  c10::SmallVector<void*, 64> buffers;
  c10::SmallVector<const Tensor*, 64> given;
  for (size_t i = 0; i < count; ++i) {
    if (PyLong_CheckExact(arguments[i])) continue;  // a size, which the tensors have as well
    if (!THPVariable_CheckExact(arguments[i])) return nullptr;
    const Tensor& tensor = THPVariable_Unpack(arguments[i]);
    if (!is_plain(tensor) || records_gradient(tensor)) return nullptr;
    given.push_back(&tensor);
  }
  if (given.size() != inputs.size()) return nullptr;
  int64_t batch = 1;
  if (batch_input >= 0) {
    const Tensor& tensor = *given[batch_input];
    if (tensor.dim() <= batch_dim) return nullptr;
    batch = (tensor.size(batch_dim) - batch_size.constant) / batch_size.batch;
  }
  if (batch < 1) return nullptr;
  const int64_t bucket = bucket_of(batch), threads = forked ? 1 : at::get_num_threads();
  const auto found = std::find_if(kernels.begin(), kernels.end(), [&](const RegionKernel& one) {
    return one.bucket == bucket && one.threads == threads;
  });
  if (found == kernels.end()) return nullptr;
  const RegionKernel& kernel = *found;  // which stays where it is when others are added
  for (size_t i = 0; i < given.size(); ++i) {
    if (!inputs[i].fits(*given[i], batch)) return nullptr;
    buffers.push_back(const_cast<void*>(given[i]->const_data_ptr()));
  }
  if (!kernel.function) {
    *original = true;
    return nullptr;
  }
  Tensors made;
  for (const BufferLayout& layout : kernel.made) {
    made.push_back(layout.made(batch));
    buffers.push_back(made.back().mutable_data_ptr());
  }
  // A thread that is still here when the interpreter ends is unwound where it would go on, which no
  // destructor may be in the way of.
  PyThreadState* const others_may_run = PyEval_SaveThread();
  const int64_t refused = kernel.function(buffers.data(), batch, threads);
  PyEval_RestoreThread(others_may_run);
  if (refused) return nullptr;
  if (!several) return THPVariable_Wrap(std::move(made[0]));
  THPObjectPtr results(PyTuple_New(static_cast<Py_ssize_t>(outputs)));
  if (!results) throw python_error();
  for (size_t i = 0; i < outputs; ++i) {
    PyObject* const result = THPVariable_Wrap(std::move(made[i]));
    if (!result) throw python_error();
    PyTuple_SET_ITEM(results.get(), static_cast<Py_ssize_t>(i), result);
  }
  return results.release();
}

namespace {

PyObject* region_call(PyObject* object, PyObject* const* arguments, size_t count, PyObject* names) {
  HANDLE_TH_ERRORS
  bool original = false;
  PyObject* result = nullptr;
  if (thread_state() && !(names && PyTuple_GET_SIZE(names)))
    result = region_of(object)->call(arguments, PyVectorcall_NARGS(count), &original);
  if (result) return result;
  if (original) {
    return PyObject_Vectorcall(reinterpret_cast<RegionObject*>(object)->original, arguments,
                               PyVectorcall_NARGS(count), nullptr);
  }
  Py_RETURN_NOTIMPLEMENTED;
  END_HANDLE_TH_ERRORS
}

// decide(bucket, threads, address of the function or 0, layouts of outputs and temps)
PyObject* region_decide(PyObject* object, PyObject* args) {
  HANDLE_TH_ERRORS
  long long bucket, threads;
  unsigned long long address;
  PyObject* made;
  if (!PyArg_ParseTuple(args, "LLKO!", &bucket, &threads, &address, &PyTuple_Type, &made))
    return nullptr;
  Region* const region = reinterpret_cast<RegionObject*>(object)->region;
  std::vector<BufferLayout> layouts = layouts_of(made);
  TORCH_CHECK_VALUE(!address || layouts.size() >= region->outputs, "fewer layouts than outputs");
  region->kernels.push_back(
      {bucket, threads, reinterpret_cast<RegionKernel::Function>(address), std::move(layouts)});
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}

// Region(original, layouts of inputs, (input, dimension, (batch, constant)) or None, outputs,
// several)
PyObject* region_new(PyTypeObject* type, PyObject* args, PyObject*) {
  HANDLE_TH_ERRORS
  PyObject *original, *inputs, *place;
  Py_ssize_t outputs;
  int several;
  if (!PyArg_ParseTuple(args, "OO!Onp", &original, &PyTuple_Type, &inputs, &place, &outputs,
                        &several))
    return nullptr;
  auto region = std::make_unique<Region>(
      Region{layouts_of(inputs), -1, -1, {1, 0}, static_cast<size_t>(outputs), several != 0, {}});
  if (place != Py_None) {
    PyObject* size;
    if (!PyArg_ParseTuple(place, "LLO", &region->batch_input, &region->batch_dim, &size))
      return nullptr;
    region->batch_size = size_of(size);
    TORCH_CHECK_VALUE(region->batch_input >= 0 && region->batch_dim >= 0 &&
                          region->batch_input < static_cast<int64_t>(region->inputs.size()) &&
                          region->batch_size.batch != 0,
                      "the batch size has no place among the inputs");
  }
  TORCH_CHECK_VALUE(outputs >= 1, "a region has an output");
  PyObject* const self = type->tp_alloc(type, 0);
  if (!self) return nullptr;
  reinterpret_cast<RegionObject*>(self)->vectorcall = region_call;
  reinterpret_cast<RegionObject*>(self)->region = region.release();
  reinterpret_cast<RegionObject*>(self)->original = Py_NewRef(original);
  return self;
  END_HANDLE_TH_ERRORS
}

void region_free(PyObject* object) {
  PyTypeObject* const type = Py_TYPE(object);
  delete reinterpret_cast<RegionObject*>(object)->region;
  Py_CLEAR(reinterpret_cast<RegionObject*>(object)->original);
  type->tp_free(object);
  Py_DECREF(type);
}

PyMethodDef region_methods[] = {{"decide", region_decide, METH_VARARGS, nullptr},
                                {nullptr, nullptr, 0, nullptr}};
PyMemberDef region_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(RegionObject, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyType_Slot region_slots[] = {{Py_tp_new, reinterpret_cast<void*>(region_new)},
                              {Py_tp_dealloc, reinterpret_cast<void*>(region_free)},
                              {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                              {Py_tp_methods, region_methods},
                              {Py_tp_members, region_members},
                              {0, nullptr}};
PyType_Spec region_spec = {"mirror_python.Region", sizeof(RegionObject), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL, region_slots};

}  // namespace

const Region* region_of(PyObject* object) {
  if (Py_TYPE(object) == region_type) return reinterpret_cast<RegionObject*>(object)->region;
  PyErr_SetString(PyExc_TypeError, "this is no mirror_python.Region");
  return nullptr;
}

bool add_region_type(PyObject* module) {
  region_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&region_spec));
  return region_type && PyModule_AddType(module, region_type) == 0;
}

}  // namespace mirror
