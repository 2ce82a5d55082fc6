// What was learnt about the lookups of a model's call: which argument each of them reads.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/python_headers.h>
#include <torch/csrc/utils/object_ptr.h>

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace mirror {

// A tensor among the arguments of a call: the first step is a position or a keyword, the others are
// positions in lists and tuples, keys of dictionaries, or (name,) for an attribute of an object.
struct InputPath {
  std::vector<THPObjectPtr> steps;

  // Borrowed; nullptr where there is no tensor that is a tensor and no more.
  PyObject* follow(PyObject* args, PyObject* kwargs) const;
};

struct LearntInput {
  InputPath path;
  bool copied;  // lookups read values that are equal to its own, not its memory
  std::vector<std::pair<size_t, size_t>> places;  // role and place in its list, at least one
};

// An input or a slice of it along one dimension, as in a plan (grouped/plan.h).
struct InputView {
  int64_t input = -1;  // -1: there is none
  int64_t dim = -1, start = 0, length = -1;

  // Whether `tensor` is this view of `base`: same memory, sizes and strides.
  bool is(const at::Tensor& tensor, const at::Tensor& base) const;
  // Whether `tensor` holds the numbers of this view of `base`, which are int64, in the same sizes;
  // false where it has more than two dimensions.
  bool equals(const at::Tensor& tensor, const at::Tensor& base) const;
};

struct Lookup {
  size_t table;
  bool bag;         // pools; else each id gives its row
  int64_t padding;  // padding_idx; -1: there is none
  InputView ids, offsets, sample_weights;
};

struct Learnt {
  std::string plan;
  std::vector<LearntInput> inputs;
  std::array<std::vector<size_t>, 3> lists;  // inputs that are ids, offsets, per_sample_weights
  std::vector<Lookup> lookups;               // in the order of the plan
  std::vector<std::vector<size_t>> of_table;
  bool writes;  // the call writes to memory between its lookups

  // From (plan, ((path, copied), ...), lists, lookups, writes), tuples as the members here. Raises
  // python_error.
  Learnt(PyObject* told, size_t tables);
};

}  // namespace mirror
