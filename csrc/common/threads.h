// Whether the calling thread may start a parallel region.
#pragma once

namespace mirror {

// False inside a parallel region, and in a forked child whose parent had threads: OpenMP waits
// there for ever for the workers that the child does not have.
bool may_run_parallel();

}  // namespace mirror
