// All that a compiler's guards may ask of the arguments of a call, as numbers.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>
#include <torch/csrc/python_headers.h>

#include <cstdint>
#include <vector>

namespace mirror {

using Words = c10::SmallVector<uint64_t, 512>;

// Appends type, keys, device, offset, sizes and strides. False for a tensor that has no strides, or
// symbolic ones.
bool append_tensor(Words& words, const at::Tensor& tensor);

struct CallSignature {
  Words words;
  c10::SmallVector<PyObject*, 64> tensors;  // borrowed, in the order of the arguments
  c10::SmallVector<PyObject*, 8> names;     // of dictionaries, borrowed; `words` has addresses

  // False where the thread is in a mode that others look on in, or an argument is something else
  // than tensors, None, bool, int, and lists, tuples and dictionaries by names of these.
  bool take(PyObject* args, PyObject* kwargs);

 private:
  bool add(PyObject* value, int depth);
  bool add_items(PyObject* dict, int depth);
  void add_duplicates();
};

}  // namespace mirror
