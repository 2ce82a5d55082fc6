// The plan of a grouped embedding: which table takes which ids, and what becomes of its output. The
// text is written by bench_engine/kernels/parallel_op/plan.py, which explains it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mirror {

// How the rows of a bag become one vector; kRow: each id is a bag of its own (torch.nn.Embedding).
enum class GroupedMode { kSum, kMean, kMax, kRow };

// One of the tensors of a list, or a slice of it along one dimension.
struct TensorView {
  int64_t tensor = -1;  // position in its list; -1: there is none
  int64_t dim = -1;     // -1: the whole tensor
  int64_t start = 0;
  int64_t length = -1;  // -1: the dimension is dropped, as by select

  bool given() const { return tensor >= 0; }
};

struct TablePlan {
  std::string name;  // for error messages
  TensorView ids;
  TensorView offsets;
  TensorView weights;  // per_sample_weights
  GroupedMode mode = GroupedMode::kSum;
  int64_t padding = -1;  // padding_idx; -1: there is none
  bool last = false;     // include_last_offset
  bool sparse = false;   // sparse gradient
};

enum class OutputKind { kSingle, kCat, kStack };

struct OutputPlan {
  OutputKind kind = OutputKind::kSingle;
  std::vector<int64_t> parts;  // t >= 0: table t; below: extra -1 - part
};

struct GroupedPlan {
  std::vector<TablePlan> tables;
  std::vector<OutputPlan> outputs;
  int64_t num_ids = 0, num_offsets = 0, num_weights = 0, num_extras = 0;
  uint64_t hash = 0;             // of the text, the same in every process
  std::string separate_outputs;  // the text with one output per table, for the gradient's gradient
};

// Parsed once per text; the reference stays valid. Raises ValueError that quotes the line that is
// wrong.
const GroupedPlan& grouped_plan(std::string_view text);

}  // namespace mirror
