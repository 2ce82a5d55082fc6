// A part of a program that is one generated kernel: checks of its inputs, outputs, and the call.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>
#include <torch/csrc/python_headers.h>

#include <cstdint>
#include <deque>
#include <vector>

namespace mirror {

// A number of elements: linear in the batch size.
struct LinearSize {
  int64_t batch, constant;

  int64_t at(int64_t b) const { return batch * b + constant; }
};

// A tensor as a kernel takes it.
struct BufferLayout {
  at::ScalarType type;
  c10::SmallVector<LinearSize, 4> sizes, strides;

  // Whether a tensor of the CPU is one, at a batch size; what a dimension of one element has for a
  // stride tells nothing. No size may be 0.
  bool fits(const at::Tensor& tensor, int64_t batch) const;
  at::Tensor made(int64_t batch) const;
};

// What was decided for one bucket of batch sizes and one number of threads.
struct RegionKernel {
  using Function = int64_t (*)(void* const* buffers, int64_t batch, int64_t threads);

  int64_t bucket, threads;
  Function function;  // nullptr: the original is faster
  std::vector<BufferLayout> made;
};

struct Region {
  std::vector<BufferLayout> inputs;
  int64_t batch_input, batch_dim;  // where the batch size is read; -1: it is 1
  LinearSize batch_size;
  size_t outputs;  // the first of what a kernel makes
  bool several;    // returns a tuple
  std::deque<RegionKernel> kernels;

  // The result for these arguments, a new reference, where it has been decided that a kernel is to
  // give it. Else nullptr without an error set: `original` tells whether the original was decided
  // for; where not, it was not decided, the arguments do not fit, or an index is out of range.
  // Numbers among the arguments are passed over. Modes of the thread are not asked about.
  PyObject* call(PyObject* const* arguments, size_t count, bool* original) const;
};

// The Region of a Python object; nullptr with an error set where it has none.
const Region* region_of(PyObject* object);

// Adds the type Region. False with an error set.
bool add_region_type(PyObject* module);

}  // namespace mirror
