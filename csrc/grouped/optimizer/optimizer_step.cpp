// Ops that update all tables of an optimizer at once, to the very bits that torch's own step leaves
// (torch/optim/sgd.py, adagrad.py, sparse_adam.py), whatever the number of threads.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("fp-contract=off")
#endif
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <algorithm>

#include "common/choices.h"
#include "common/parallel_op_settings.h"
#include "common/share_out.h"
#include "common/threads.h"
#include "grouped/optimizer/rules.h"
#include "grouped/optimizer/tables.h"

namespace mirror::optimizer {
namespace {

using at::Tensor;
using at::TensorList;

// Elements of a piece of work, and so few that a second thread costs more than it saves.
constexpr int64_t kPiece = 1 << 15, kSerial = 1 << 14;
// Elements that are taken through a rule with roots together: they stay in the caches.
constexpr int64_t kBlock = 1 << 12;

// Elements of a dense gradient, rows of one that was coalesced, or, of a sparse gradient whose
// values count one by one, the rows of the table that a thread sees to.
struct Piece {
  const Table* table;
  int64_t begin, end;
};

int64_t length(const Table& table) {
  if (table.touched) return static_cast<int64_t>(table.touched->size());
  if (!table.sparse) return table.dim;
  return table.starts.empty() ? table.nnz : static_cast<int64_t>(table.starts.size()) - 1;
}

int64_t elements(const Table& table) {
  if (table.touched) return length(table) * table.dim;
  return table.sparse ? table.nnz * table.dim : table.dim;
}

int threads_for(const Step& step) {
  int64_t all = 0;
  for (const Table& table : step.tables) all += elements(table);
  if (all < kSerial || !may_run_parallel()) return 1;
  const int asked = parallel_op_settings().threads, torch = at::get_num_threads();
  return asked ? std::min(asked, torch) : torch;
}

// `in_order`: values of a row count one after the other, so that a row belongs to one piece.
std::vector<Piece> pieces(const Step& step, bool in_order, int threads) {
  std::vector<Piece> found;
  const int64_t tables = static_cast<int64_t>(step.tables.size());
  for (const Table& table : step.tables) {
    const bool by_row = table.sparse && in_order;
    const int64_t whole = by_row ? table.rows : length(table);
    int64_t parts = std::max<int64_t>(1, elements(table) / kPiece);
    // Each part of these reads all ids.
    if (by_row) parts = std::min<int64_t>(parts, std::max<int64_t>(1, 2 * threads / tables));
    if (threads == 1) parts = 1;
    for (int64_t part = 0; part < parts; ++part) {
      found.push_back({&table, whole * part / parts, whole * (part + 1) / parts});
    }
  }
  return found;
}

// The gradient of the row that is i-th of those that differ: its values, added up into `sum` where
// there are several. `row`: which one it is.
template <typename T>
const T* row_gradient(const Table& table, int64_t i, T* sum, int64_t& row) {
  const T* const values = static_cast<const T*>(table.values);
  const int64_t dim = table.dim;
  if (table.starts.empty()) {
    row = table.ids[i];
    return values + i * dim;
  }
  const int64_t first = table.starts[i], end = table.starts[i + 1];
  row = table.ids[table.order[first]];
  const T* const from = values + table.order[first] * dim;
  if (end - first == 1) return from;
  std::copy(from, from + dim, sum);
  for (int64_t k = first + 1; k < end; ++k) {
    const T* const more = values + table.order[k] * dim;
    for (int64_t d = 0; d < dim; ++d) sum[d] = sum[d] + more[d];
  }
  return sum;
}

template <typename T>
T* at_place(void* memory, int64_t place) {
  return memory ? static_cast<T*>(memory) + place : nullptr;
}

template <typename T>
void run(const Sgd& rule, const Piece& piece) {
  const Table& table = *piece.table;
  T* const weight = static_cast<T*>(table.weight);
  const T* const values = static_cast<const T*>(table.values);
  if (table.touched) {
    for (int64_t i = piece.begin; i < piece.end; ++i) {
      const int64_t place = (*table.touched)[i] * table.dim;
      rule.dense(weight + place, values + place, static_cast<T*>(nullptr), false, table.dim);
    }
    return;
  }
  if (!table.sparse) {
    rule.dense(weight + piece.begin, values + piece.begin,
               at_place<T>(table.states[0], piece.begin), table.first, piece.end - piece.begin);
    return;
  }
  for (int64_t i = 0; i < table.nnz; ++i) {
    const int64_t row = table.ids[i];
    if (row < piece.begin || row >= piece.end) continue;
    rule.sparse(weight + row * table.dim, values + i * table.dim, table.dim);
  }
}

// Rows of a sparse gradient through a rule with roots, a block of them at a time.
template <typename T, typename Rule>
void run_rows(const Rule& rule, const Piece& piece) {
  const Table& table = *piece.table;
  const int64_t dim = table.dim;
  const int64_t most = std::clamp<int64_t>(kBlock / std::max<int64_t>(1, dim), 1,
                                           std::max<int64_t>(1, piece.end - piece.begin));
  const Tensor buffer = at::empty({most * dim}, at::TensorOptions(table.dtype));
  T* const roots = buffer.mutable_data_ptr<T>();
  std::vector<T> sums(most * dim);
  std::vector<const T*> gradients(most);
  std::vector<int64_t> places(most);
  for (int64_t begin = piece.begin; begin < piece.end; begin += most) {
    const int64_t count = std::min(most, piece.end - begin);
    for (int64_t j = 0; j < count; ++j) {
      int64_t row = 0;
      gradients[j] = row_gradient<T>(table, begin + j, sums.data() + j * dim, row);
      places[j] = row * dim;
      rule.begin(gradients[j], at_place<T>(table.states[0], places[j]),
                 at_place<T>(table.states[1], places[j]), roots + j * dim, dim);
    }
    buffer.narrow(0, 0, count * dim).sqrt_();
    for (int64_t j = 0; j < count; ++j) {
      rule.finish(static_cast<T*>(table.weight) + places[j], gradients[j],
                  static_cast<const T*>(table.states[0]) + places[j], roots + j * dim, table.rate,
                  dim);
    }
  }
}

template <typename T>
void run(const Adagrad& rule, const Piece& piece) {
  if (piece.table->sparse) return run_rows<T>(rule, piece);
  const Table& table = *piece.table;
  const Tensor buffer =
      at::empty({std::min(kBlock, piece.end - piece.begin)}, at::TensorOptions(table.dtype));
  T* const roots = buffer.mutable_data_ptr<T>();
  for (int64_t begin = piece.begin; begin < piece.end; begin += kBlock) {
    const int64_t n = std::min(kBlock, piece.end - begin);
    T* const weight = static_cast<T*>(table.weight) + begin;
    const T* const gradient = static_cast<const T*>(table.values) + begin;
    rule.begin_dense(weight, gradient, static_cast<T*>(table.states[0]) + begin, roots, n);
    buffer.narrow(0, 0, n).sqrt_();
    rule.finish_dense(weight, gradient, roots, table.rate, n);
  }
}

template <typename T>
void run(const SparseAdam& rule, const Piece& piece) {
  run_rows<T>(rule, piece);
}

void bump(const Tensor& tensor) { tensor.unsafeGetTensorImpl()->bump_version(); }

template <typename Rule>
void update(const Rule& rule, Step& step, const Parameters& parameters, bool in_order) {
  const int threads = threads_for(step);
  if (!in_order) coalesce(step, threads);
  const std::vector<Piece> work = pieces(step, in_order, threads);
  share_out(static_cast<int64_t>(work.size()), threads, [&](int64_t i) {
    work[i].table->dtype == at::kFloat ? run<float>(rule, work[i]) : run<double>(rule, work[i]);
  });
  for (const size_t number : step.numbers) {
    bump(parameters.weights[number]);
    for (const TensorList& states : parameters.states) bump(states[number]);
  }
}

std::vector<int64_t> told(const Step& step) {
  std::vector<int64_t> numbers;
  for (const Left left : step.left) numbers.push_back(static_cast<int64_t>(left));
  return numbers;
}

std::vector<int64_t> sgd_step(TensorList weights, TensorList gradients, TensorList buffers,
                              bool first, double lr, double weight_decay, double momentum,
                              double dampening, bool nesterov, bool maximize) {
  const Sgd rule{lr, weight_decay, momentum, dampening, nesterov, maximize};
  Parameters parameters{weights, gradients, {}, {}};
  if (momentum != 0) parameters.states.push_back(buffers);
  // torch's own leaves values alone where lr is 0, NaN or not.
  Step step = checked(parameters, {.dense = true,
                                   .sparse = rule.plain() && lr != 0,
                                   .sums_first = false,
                                   .skips_zeros = rule.skips_zeros()});
  for (Table& table : step.tables) table.first = first;
  update(rule, step, parameters, /*in_order=*/true);
  return told(step);
}

// What a step counter holds after one more, as torch counts.
double counted(const Tensor& count) {
  if (count.scalar_type() == at::kFloat) return *count.mutable_data_ptr<float>() += 1;
  return *count.mutable_data_ptr<double>() += 1;
}

std::vector<int64_t> adagrad_step(TensorList weights, TensorList gradients, TensorList sums,
                                  TensorList steps, double lr, double lr_decay, double weight_decay,
                                  double eps, bool maximize) {
  const Adagrad rule{weight_decay, eps, maximize};
  const Parameters parameters{weights, gradients, {sums}, steps};
  const Abilities abilities{
      .dense = true, .sparse = weight_decay == 0, .sums_first = true, .skips_zeros = false};
  Step step = checked(parameters, abilities);
  for (size_t t = 0; t < step.tables.size(); ++t) {
    const Tensor& count = steps[step.numbers[t]];
    const double decayed = (counted(count) - 1) * lr_decay;
    step.tables[t].rate = lr / (1 + decayed);
    bump(count);
  }
  update(rule, step, parameters, /*in_order=*/false);
  return told(step);
}

std::vector<int64_t> sparse_adam_step(TensorList weights, TensorList gradients, TensorList averages,
                                      TensorList square_averages, at::ArrayRef<double> step_sizes,
                                      double beta1, double beta2, double eps, bool maximize) {
  TORCH_CHECK_VALUE(step_sizes.size() == weights.size(),
                    "there must be a step size for each parameter");
  const SparseAdam rule{beta1, beta2, eps, maximize};
  const Parameters parameters{weights, gradients, {averages, square_averages}, {}};
  Step step = checked(parameters,
                      {.dense = false, .sparse = true, .sums_first = true, .skips_zeros = false});
  for (size_t t = 0; t < step.tables.size(); ++t) {
    step.tables[t].rate = step_sizes[step.numbers[t]];
  }
  update(rule, step, parameters, /*in_order=*/false);
  return told(step);
}

// The way of a kind of step to take now, of `kWays`; plus their number where its time is wanted.
const std::vector<std::string> kWays{"one update", "untouched"};

Choice& choice_of(const std::string& key) {
  return choice(
      mixed(std::hash<std::string>{}(key), 0x5374'6570), [&] { return key; }, [] { return kWays; });
}

int64_t turn(std::string_view key) {
  bool measure = false;
  const int way = choice_of(std::string(key)).next(measure);
  return way + (measure ? static_cast<int64_t>(kWays.size()) : 0);
}

void took(std::string_view key, int64_t way, double microseconds, int64_t page_faults) {
  choice_of(std::string(key)).record(static_cast<int>(way), microseconds, page_faults);
}

}  // namespace
}  // namespace mirror::optimizer

// Each gives, for every parameter, why it was left to torch; zero where it was updated.
TORCH_LIBRARY_FRAGMENT(mirror, m) {
  m.def(
      "sgd_step(Tensor(a!)[] weights, Tensor[] gradients, Tensor(b!)[] buffers, bool first, float "
      "lr, float weight_decay, float momentum, float dampening, bool nesterov, bool maximize) -> "
      "int[]");
  m.def(
      "adagrad_step(Tensor(a!)[] weights, Tensor[] gradients, Tensor(b!)[] sums, Tensor(c!)[] "
      "steps, float lr, float lr_decay, float weight_decay, float eps, bool maximize) -> int[]");
  m.def(
      "sparse_adam_step(Tensor(a!)[] weights, Tensor[] gradients, Tensor(b!)[] averages, "
      "Tensor(c!)[] square_averages, float[] step_sizes, float beta1, float beta2, float eps, bool "
      "maximize) -> int[]");
  m.def("optimizer_turn(str key) -> int", &mirror::optimizer::turn);
  m.def("optimizer_took(str key, int way, float microseconds, int page_faults) -> ()",
        &mirror::optimizer::took);
}

TORCH_LIBRARY_IMPL(mirror, CompositeExplicitAutograd, m) {
  m.impl("sgd_step", &mirror::optimizer::sgd_step);
  m.impl("adagrad_step", &mirror::optimizer::adagrad_step);
  m.impl("sparse_adam_step", &mirror::optimizer::sparse_adam_step);
}
