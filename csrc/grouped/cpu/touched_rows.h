// Which rows of a dense gradient may be other than zero, for whoever would have to read all of it.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace mirror {

using Rows = std::vector<int64_t>;

// Whether anybody asks for them: until then nothing is noted.
bool touched_rows_wanted();
void want_touched_rows();

// Remembers that all other rows of a gradient that was just made are +0. Its memory becomes
// copy-on-write memory of one owner: whoever writes to it, through whatever tensor, gets it as it
// is, and this shows.
void note_touched_rows(const at::Tensor& gradient, Rows rows);

// The rows, each once; nullptr where they are not known, or somebody may have written since.
std::shared_ptr<const Rows> touched_rows(const at::Tensor& gradient);

}  // namespace mirror
