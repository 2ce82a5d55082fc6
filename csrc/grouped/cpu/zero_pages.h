// Large tensors of zeros that take no memory until they are written: pages that the system maps on
// the first touch.
#pragma once

#include <ATen/core/Tensor.h>

namespace mirror {

// A matrix of zeros. Where at most `written` rows will be written and most pages will not be, its
// memory is mapped lazily, so that neither time nor memory is spent on what stays zero; else, or
// where earlier matrices of this size were read as a whole, the memory is left as it is and
// `filled` is false.
at::Tensor zeros_or_empty(int64_t rows, int64_t columns, const at::TensorOptions& options,
                          int64_t written, bool& filled);

}  // namespace mirror
