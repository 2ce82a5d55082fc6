// The types that serve a model from Python: Serving, one for each model, and Table, which stands in
// for the call of each of its tables.
#pragma once

#include <torch/csrc/python_headers.h>

namespace mirror {

// False with an error set.
bool add_serving_types(PyObject* module);

}  // namespace mirror
