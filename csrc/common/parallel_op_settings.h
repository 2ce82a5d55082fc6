// How the parallel ops are to run: set from Python (bench_engine/kernels/parallel_op/ops.py), read
// by every call.
#pragma once

#include <cstdint>
#include <string>

namespace mirror {

// Which pieces of work threads take: whole tables, ranges of bags of all tables, or pieces of equal
// cost of all tables laid end to end. kAuto: the measured best.
enum class Schedule : uint8_t { kAuto, kTable, kBatch, kFlat };

// Eight bytes, so that it is read and written at once.
struct alignas(8) ParallelOpSettings {
  Schedule schedule = Schedule::kAuto;
  bool nested = false;  // whether ops that run side by side may use threads of their own
  int threads = 0;      // at most so many; 0: as many as torch has
};

ParallelOpSettings parallel_op_settings();

}  // namespace mirror
