// Settings of the parallel ops, as ops that Python calls.
#include "common/parallel_op_settings.h"

#include <c10/util/Exception.h>
#include <torch/library.h>

#include <atomic>
#include <string_view>

#include "common/choices.h"

namespace mirror {
namespace {

static_assert(std::atomic<ParallelOpSettings>::is_always_lock_free);
std::atomic<ParallelOpSettings> settings{ParallelOpSettings{}};

Schedule parse_schedule(std::string_view name) {
  if (name == "auto") return Schedule::kAuto;
  if (name == "table") return Schedule::kTable;
  if (name == "batch") return Schedule::kBatch;
  TORCH_CHECK_VALUE(name == "flat", "schedule must be auto, table, batch or flat, not '", name,
                    "'");
  return Schedule::kFlat;
}

void configure(std::string_view schedule, int64_t threads, bool nested,
               std::string_view choices_file) {
  TORCH_CHECK_VALUE(threads >= 0 && threads <= 4096, "threads must lie between 0 and 4096, not ",
                    threads);
  settings = ParallelOpSettings{parse_schedule(schedule), nested, static_cast<int>(threads)};
  use_choices_file(std::string(choices_file));
}

}  // namespace

ParallelOpSettings parallel_op_settings() { return settings.load(std::memory_order_relaxed); }

}  // namespace mirror

TORCH_LIBRARY_FRAGMENT(mirror, m) {
  m.def("parallel_op_configure(str schedule, int threads, bool nested, str choices_file) -> ()",
        &mirror::configure);
  m.def("parallel_op_choices() -> str", &mirror::choices_text);
}
