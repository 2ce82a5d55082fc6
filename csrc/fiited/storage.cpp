// The Python face of a FIITED table: torch.classes.mirror.FiitedStorage. What comes from Python is
// checked here.
#include "fiited/storage.h"

#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

#include "fiited/cpu/utility.h"
#include "fiited/formulas.h"
#include "fiited/hash.h"

namespace mirror::fiited {
namespace {

using at::Tensor;

constexpr int64_t kMostWeights = int64_t{1} << 48;  // virtual ones

template <typename T>
T one_of(std::string_view name, std::string_view given,
         std::initializer_list<std::pair<std::string_view, T>> known) {
  for (const auto& [word, value] : known)
    if (word == given) return value;
  TORCH_CHECK_VALUE(false, name, " is unknown: '", given, "'");
}

c10::intrusive_ptr<Storage> make(const std::string& layout, std::vector<int64_t> table_ends,
                                 int64_t dim, int64_t num_chunks, int64_t capacity,
                                 const std::string& scope, int64_t ttl, int64_t admission,
                                 at::Device device) {
  TORCH_CHECK_VALUE(!table_ends.empty() && num_chunks >= 1 && num_chunks <= kMaxChunks &&
                        dim >= 1 && dim % num_chunks == 0 && ttl >= 0 && ttl < 65535,
                    "a FIITED table of this shape cannot be made");
  int64_t end = 0;
  for (const int64_t table_end : table_ends) {
    TORCH_CHECK_VALUE(table_end >= end && table_end <= kMostWeights / dim,
                      "a FIITED table takes at most 2^48 weights in all rows, not ", table_end,
                      " rows of ", dim);
    end = table_end;
  }
  TORCH_CHECK_VALUE(capacity >= 0 && capacity <= end * num_chunks, "a FIITED table of ", end,
                    " rows cannot have ", capacity, " live chunks");
  Shape shape{
      std::move(table_ends),
      dim,
      num_chunks,
      capacity,
      one_of<Scope>(
          "scope", scope,
          {{"global", Scope::kGlobal}, {"table", Scope::kTable}, {"column", Scope::kColumn}}),
      ttl,
      admission};
  const auto form = forms().find(layout);
  TORCH_CHECK(form != forms().end(), "the compiled kernels hold no FIITED table of the form '",
              layout, "': where it is one of CUDA, they were built without, and need a torch with ",
              "CUDA and a CUDA toolkit of its major version; then run ",
              "`python -m bench_engine build`");
  return form->second(std::move(shape), device);
}

std::string named(int64_t table, int64_t tables) {
  return tables == 1 ? std::string() : " of table " + std::to_string(table);
}

// One table's ids as rows of all tables.
struct Ids {
  int64_t base, rows;
  std::optional<uint64_t> seed;  // ids are any numbers, hashed with this
  std::string of_table;

  template <typename index_t>
  void write(const Tensor& ids, int64_t* to) const {
    const index_t* const from = ids.const_data_ptr<index_t>();
    const int64_t n = ids.numel();
    if (seed) {
      for (int64_t i = 0; i < n; ++i) to[i] = base + hashed_row(from[i], *seed, rows);
      return;
    }
    index_t low = 0, high = 0;
    for (int64_t i = 0; i < n; ++i) {  // without a branch, so that it runs in vector registers
      low = std::min(low, from[i]);
      high = std::max(high, from[i]);
      // Unsigned, since it may wrap before it is refused.
      to[i] = static_cast<int64_t>(static_cast<uint64_t>(base) + static_cast<uint64_t>(from[i]));
    }
    if (low >= 0 && high < rows) return;
    for (int64_t i = 0; i < n; ++i)
      TORCH_CHECK_INDEX(from[i] >= 0 && from[i] < rows, "index ", from[i], " at position ", i,
                        of_table, " is out of range: ids of this table run from 0 to ", rows - 1);
  }
};

void check_ids(const Tensor& ids, std::string_view name, const std::string& of_table) {
  TORCH_CHECK_TYPE(ids.scalar_type() == at::kInt || ids.scalar_type() == at::kLong, name, of_table,
                   " must be int32 or int64, not ", ids.scalar_type());
  TORCH_CHECK_VALUE(ids.is_cpu(), name, of_table,
                    " must be on the CPU, where the table is, not on ", ids.device());
}

// Ends of the bags of one table: appended to `ends`, which begins with 0.
void append_ends(const Tensor& ids, const std::optional<Tensor>& offsets, int64_t before,
                 const std::string& of_table, std::vector<int64_t>& ends) {
  if (!offsets) {
    TORCH_CHECK_VALUE(ids.dim() == 2, "input", of_table, " must be (B, L), or (N,) with offsets, ",
                      "not ", ids.dim() == 1 ? "(N,) without them" : "of another shape");
    for (int64_t b = 1; b <= ids.size(0); ++b) ends.push_back(before + b * ids.size(1));
    return;
  }
  check_ids(*offsets, "offsets", of_table);
  TORCH_CHECK_VALUE(ids.dim() == 1 && offsets->dim() == 1, "input", of_table,
                    " with offsets must be (N,), and offsets (B,)");
  const Tensor starts = offsets->to(at::kLong).contiguous();
  const int64_t* const at = starts.const_data_ptr<int64_t>();
  const int64_t bags = starts.numel(), n = ids.numel();
  TORCH_CHECK_VALUE(bags || !n, "there are ", n, " indices", of_table,
                    " and no bag: offsets is empty");
  TORCH_CHECK_VALUE(!bags || at[0] == 0, "offsets", of_table, " must start at 0, not at ", at[0]);
  for (int64_t b = 1; b < bags; ++b) {
    TORCH_CHECK_VALUE(at[b] >= at[b - 1], "offsets", of_table, " must not fall: ", at[b],
                      " at position ", b, " follows ", at[b - 1]);
    ends.push_back(before + at[b]);
  }
  TORCH_CHECK_VALUE(!bags || at[bags - 1] <= n, "offset ", at[bags - 1], " at position ", bags - 1,
                    of_table, " runs past the ", n, " indices");
  if (bags) ends.push_back(before + n);
}

std::vector<Lookups> as_lookups(const std::vector<Tensor>& rows, const std::vector<Tensor>& offsets,
                                const std::vector<Tensor>& grads, int64_t dim) {
  std::vector<Lookups> lookups;
  for (size_t i = 0; i < rows.size(); ++i) {
    const Tensor grad = grads[i].contiguous();
    TORCH_CHECK_VALUE(
        grad.dim() == 2 && grad.size(1) == dim && grad.size(0) == offsets[i].numel() - 1,
        "the gradient must be (bags, embedding_dim), not ", grad.sizes());
    TORCH_CHECK_TYPE(grad.scalar_type() == at::kFloat, "the gradient must be float32, not ",
                     grad.scalar_type());
    lookups.push_back({rows[i], offsets[i], grad});
  }
  return lookups;
}

// (groups, 2) int64 of bits and ids.
std::vector<Threshold> thresholds(const Tensor& table, int64_t groups) {
  TORCH_CHECK_VALUE(
      table.scalar_type() == at::kLong && table.is_contiguous() && table.numel() == 2 * groups,
      "thresholds must be (", groups, ", 2) int64");
  std::vector<Threshold> found;
  const int64_t* const values = table.const_data_ptr<int64_t>();
  for (int64_t g = 0; g < groups; ++g) found.push_back({values[2 * g], values[2 * g + 1]});
  return found;
}

void load_state(const c10::intrusive_ptr<Storage>& storage, std::vector<Tensor> state) {
  const Shape& shape = storage->shape();
  TORCH_CHECK_VALUE(state.size() == 8, "a FIITED state has 8 tensors, not ", state.size());
  for (Tensor& part : state) part = part.cpu();
  const Tensor rows = state[0].contiguous(), live = state[1].contiguous();
  TORCH_CHECK_VALUE(rows.scalar_type() == at::kLong && live.scalar_type() == at::kInt &&
                        live.numel() == rows.numel(),
                    "rows and live masks of a FIITED state do not fit together");
  const int64_t* const row = rows.const_data_ptr<int64_t>();
  int64_t chunks = 0;
  for (int64_t i = 0; i < rows.numel(); ++i) {
    TORCH_CHECK_VALUE(row[i] >= 0 && row[i] < shape.num_rows() && (!i || row[i] > row[i - 1]),
                      "row ", row[i], " of a FIITED state is out of range or out of order");
    const int32_t mask = live.const_data_ptr<int32_t>()[i];
    TORCH_CHECK_VALUE(mask >= 0 && mask < int32_t{1} << shape.num_chunks, "row ", row[i],
                      " of a FIITED state has chunks that there are not");
    chunks += __builtin_popcount(mask);
  }
  TORCH_CHECK_VALUE(chunks <= shape.capacity, "a FIITED state has ", chunks,
                    " live chunks, more than the ", shape.capacity, " of this table");
  const int64_t n = rows.numel();
  TORCH_CHECK_VALUE(state[2].numel() == n * shape.num_chunks && state[3].numel() == n &&
                        state[4].numel() == chunks * shape.width() && state[5].dim() == 2 &&
                        state[5].size(0) == chunks && state[7].numel() == 1,
                    "the parts of a FIITED state do not fit together");
  const Tensor utilities = state[2].to(at::kBFloat16).contiguous();
  const uint16_t* const utility = static_cast<const uint16_t*>(utilities.const_data_ptr());
  for (int64_t i = 0; i < utilities.numel(); ++i)
    TORCH_CHECK_VALUE(utility[i] <= kLargestUtility, "a utility of row ", row[i / shape.num_chunks],
                      " of a FIITED state is negative or not finite");
  const Tensor ages = state[3].to(at::kLong).contiguous();
  for (int64_t i = 0; i < n; ++i) {
    const int64_t age = ages.const_data_ptr<int64_t>()[i];
    TORCH_CHECK_VALUE(age >= 0 && age <= std::numeric_limits<uint16_t>::max(), "the age of row ",
                      row[i], " of a FIITED state is ", age, ", not 0 to 65535");
  }
  const auto lock = storage->gate().change();
  TORCH_CHECK_VALUE(state[5].size(1) == storage->slot_width(), "a FIITED state has ",
                    state[5].size(1), " optimizer slots for each chunk, and this table ",
                    storage->slot_width());
  storage->load_state({rows, live, utilities, ages.to(at::kInt),
                       state[4].to(at::kFloat).contiguous(), state[5].to(at::kFloat).contiguous(),
                       state[6].to(at::kByte).contiguous(), state[7].to(at::kLong).contiguous()});
}

using Self = c10::intrusive_ptr<Storage>;

Rule rule_of(const std::string& name) {
  return one_of<Rule>("optimizer", name,
                      {{"sgd", Rule::kSgd},
                       {"adagrad", Rule::kAdagrad},
                       {"rowwise_adagrad", Rule::kRowwiseAdagrad},
                       {"adam", Rule::kAdam}});
}

Score score_of(const std::string& name) {
  return one_of<Score>("score", name,
                       {{"frequency*gradient", Score::kFrequencyGradient},
                        {"frequency", Score::kFrequency},
                        {"gradient", Score::kGradient}});
}

void train(const Self& self, const std::vector<Tensor>& rows, const std::vector<Tensor>& offsets,
           const std::vector<Tensor>& grads, bool mean, const std::string& score,
           const std::string& rule, const std::vector<double>& numbers, int64_t number,
           double scale) {
  const std::vector<Lookups> lookups = as_lookups(rows, offsets, grads, self->shape().dim);
  TORCH_CHECK_VALUE(numbers.size() == 4, "numbers are lr, eps, beta1 and beta2");
  const auto lock = self->gate().change();
  self->train(lookups, {rule_of(rule), score_of(score), mean, numbers[0], numbers[1], numbers[2],
                        numbers[3], number, scale});
}

Tensor histogram(const Self& self, bool of_rows, bool of_id, int64_t shift, int64_t bits,
                 const Tensor& prefix) {
  TORCH_CHECK_VALUE(shift >= 0 && bits >= 1 && bits <= 16 && shift + bits < 64,
                    "there is no such digit");
  const int64_t groups = of_rows ? 1 : self->shape().num_groups();
  const auto lock = self->gate().read();
  return self->histogram(of_rows ? Candidates::kRows : Candidates::kChunks,
                         {of_id, static_cast<int>(shift), static_cast<int>(bits)},
                         thresholds(prefix, groups));
}

// A method behind the gate, as one of those who read, or as the one who changes the table.
template <typename Result, typename... Args>
auto read(Result (Storage::*method)(Args...)) {
  return [method](const Self& self, Args... args) {
    const auto lock = self->gate().read();
    return ((*self).*method)(args...);
  };
}
template <typename Result, typename... Args>
auto change(Result (Storage::*method)(Args...)) {
  return [method](const Self& self, Args... args) {
    const auto lock = self->gate().change();
    return ((*self).*method)(args...);
  };
}

TORCH_LIBRARY_FRAGMENT(mirror, m) {
  m.class_<Storage>("FiitedStorage")
      .def(torch::init(&make))
      .def("bags",
           [](const Self& self, const std::vector<Tensor>& inputs,
              const std::vector<std::optional<Tensor>>& offsets, std::optional<int64_t> seed,
              bool joint) {
             auto [rows, ends, counts] = self->bags(inputs, offsets, seed, joint);
             return std::make_tuple(std::move(rows), std::move(ends), std::move(counts));
           })
      .def("lookup",
           [](const Self& self, const std::vector<Tensor>& inputs,
              const std::vector<std::optional<Tensor>>& offsets, std::optional<int64_t> seed,
              bool joint, bool mean) {
             auto [rows, ends, counts] = self->bags(inputs, offsets, seed, joint);
             const auto lock = self->gate().read();
             Tensor output = self->forward(rows, ends, mean);
             return std::make_tuple(std::move(output), std::move(rows), std::move(ends),
                                    std::move(counts));
           })
      .def("first_not_finite",
           [](const Self& self, const Tensor& grad) { return self->first_not_finite(grad); })
      .def("forward", read(&Storage::forward))
      .def("train", &train)
      .def("set_slots",
           [](const Self& self, const std::string& rule, double value) {
             const auto lock = self->gate().change();
             self->set_slots(slots_of(rule_of(rule), self->shape().width()), value);
           })
      .def("slot_width", read(&Storage::slot_width))
      .def("set_slot_value", change(&Storage::set_slot_value))
      .def("scale_utilities", change(&Storage::scale_utilities))
      .def("age", change(&Storage::age))
      .def("histogram", &histogram)
      .def("moves",
           [](const Self& self, const Tensor& keep) {
             const auto lock = self->gate().read();
             return self->moves(thresholds(keep, self->shape().num_groups()));
           })
      .def("apply",
           [](const Self& self, const Tensor& keep, bool listed, bool with_weights) {
             const auto lock = self->gate().change();
             return self->apply(thresholds(keep, self->shape().num_groups()), listed, with_weights);
           })
      .def("forget",
           [](const Self& self, const Tensor& keep) {
             const auto lock = self->gate().change();
             self->forget(thresholds(keep, 1)[0]);
           })
      .def("state", read(&Storage::state))
      .def("load_state", &load_state)
      .def("live_masks", read(&Storage::live_masks))
      .def("utilities", read(&Storage::utilities))
      .def("live", read(&Storage::live))
      .def("live_histogram", read(&Storage::live_histogram))
      .def("bytes", read(&Storage::bytes))
      .def("verify", read(&Storage::verify));
}

}  // namespace

Bags Storage::bags(const std::vector<Tensor>& inputs,
                   const std::vector<std::optional<Tensor>>& offsets, std::optional<int64_t> seed,
                   bool joint) {
  std::vector<int64_t> ends = shape_.table_ends;
  if (joint) ends = {ends.back()};
  const int64_t tables = static_cast<int64_t>(ends.size());
  TORCH_CHECK_VALUE(static_cast<int64_t>(inputs.size()) == tables &&
                        (offsets.empty() || offsets.size() == inputs.size()),
                    "there are ", tables, " tables, but ids of ", inputs.size());
  int64_t total = 0;
  for (int64_t t = 0; t < tables; ++t) {
    check_ids(inputs[t], "input", named(t, tables));
    total += inputs[t].numel();
  }
  const Tensor rows = at::empty({total}, at::kLong);
  std::vector<int64_t> starts{0}, counts;
  int64_t* to = rows.mutable_data_ptr<int64_t>();
  int64_t before = 0;
  for (int64_t t = 0; t < tables; ++t) {
    const std::string of_table = named(t, tables);
    const size_t known = starts.size();
    append_ends(inputs[t], offsets.empty() ? std::nullopt : offsets[t], before, of_table, starts);
    counts.push_back(static_cast<int64_t>(starts.size() - known));
    const int64_t base = t ? ends[t - 1] : 0;
    // Tables hash differently, so that ids that meet in one do not meet in the others.
    const Ids ids{base, ends[t] - base,
                  seed ? std::optional<uint64_t>(scramble(t, *seed)) : std::nullopt, of_table};
    const Tensor input = inputs[t].contiguous();
    if (input.scalar_type() == at::kInt) {
      ids.write<int32_t>(input, to + before);
    } else {
      ids.write<int64_t>(input, to + before);
    }
    before += input.numel();
  }
  const Tensor offsets_of_all = at::empty({static_cast<int64_t>(starts.size())}, at::kLong);
  std::copy(starts.begin(), starts.end(), offsets_of_all.mutable_data_ptr<int64_t>());
  return {rows, offsets_of_all, counts};
}

int64_t Storage::first_not_finite(const Tensor& given) {
  const Tensor grad = given.contiguous();
  TORCH_CHECK_TYPE(grad.scalar_type() == at::kFloat && grad.dim() == 2,
                   "the gradient must be (bags, embedding_dim) float32, not ", grad.scalar_type());
  const float* const g = grad.const_data_ptr<float>();
  const int64_t dim = grad.size(1), n = grad.numel();
  float sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += g[i] * 0.0f;  // 0 for numbers, NaN for others
  if (sum == 0) return -1;
  for (int64_t i = 0; i < n; ++i)
    if (!std::isfinite(g[i])) return i / dim;
  return -1;
}

std::map<std::string, Maker>& forms() {
  static std::map<std::string, Maker> known{
      {"flat", [](Shape shape, at::Device) { return make_flat(std::move(shape)); }},
      {"compact", [](Shape shape, at::Device) { return make_compact(std::move(shape), false); }},
      {"frozen", [](Shape shape, at::Device) { return make_compact(std::move(shape), true); }}};
  return known;
}

int64_t Shape::table_of(int64_t row) const {
  return std::upper_bound(table_ends.begin(), table_ends.end(), row) - table_ends.begin();
}

}  // namespace mirror::fiited
