// Which calls of a model are alike: those of one kind share a choice between its ways.
#pragma once

#include <torch/csrc/python_headers.h>

#include <cstdint>

namespace mirror {

// A number for the mode of the thread, `training`, and the arguments: types, devices and sizes to a
// power of two. 0 where somebody else looks at the calls of this thread (thread_state.h), or an
// argument is a tensor with ideas of its own.
uint64_t call_kind(bool training, PyObject* args, PyObject* kwargs);

// A number for how arguments are passed: how many by position, and the names of the others.
uint64_t call_form(bool training, PyObject* args, PyObject* kwargs);

}  // namespace mirror
