// The grouped embedding by torch's own ops, one per table: what the fused kernel is measured
// against.
#pragma once

#include "grouped/embedding.h"

namespace mirror {

// Outputs of the plan. `threads`: so many tables at once; each op is serial then.
std::vector<at::Tensor> grouped_embedding_aten(const GroupedPlan& plan, const GroupedInputs& inputs,
                                               int threads);

}  // namespace mirror
