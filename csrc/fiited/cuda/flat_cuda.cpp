#include "fiited/cuda/flat_cuda.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/nonzero.h>
#include <ATen/ops/sort.h>
#include <ATen/ops/zeros.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>
#include <limits>

#include "fiited/cpu/counting.h"
#include "fiited/cpu/requests.h"

namespace mirror::fiited::cuda {
namespace {

using at::Tensor;

// "cuda" alone is the current device.
at::Device with_index(at::Device device) {
  if (device.has_index()) return device;
  return c10::impl::VirtualGuardImpl(device.type()).getDevice();
}

// The places of what is true, in order.
Tensor places(const Tensor& marks) { return at::nonzero(marks).view({-1}); }

template <typename T>
T* data(const Tensor& tensor) {
  return static_cast<T*>(tensor.data_ptr());
}

const bool registered = forms()
                            .emplace("flat_cuda",
                                     [](Shape shape, at::Device device) {
                                       return c10::intrusive_ptr<Storage>(
                                           c10::make_intrusive<FlatCuda>(std::move(shape), device));
                                     })
                            .second;

}  // namespace

FlatCuda::FlatCuda(Shape shape, at::Device device)
    : Storage(std::move(shape)),
      device_(with_index(device)),
      filter_(shape_.admission, shape_.capacity / shape_.num_chunks) {
  const int64_t rows = shape_.num_rows(), chunks = shape_.num_chunks, capacity = shape_.capacity;
  TORCH_CHECK_VALUE(rows * chunks < std::numeric_limits<int32_t>::max(),
                    "the flat layout takes fewer than 2^31 virtual chunks, not ", rows * chunks,
                    ": use fewer rows or chunks, or hashed_ids");
  TORCH_CHECK_VALUE(shape_.dim + chunks < kMostSharedFloats, "a FIITED table on a GPU takes fewer ",
                    "than ", kMostSharedFloats - chunks, " dimensions, not ", shape_.dim);
  const c10::DeviceGuard guard(device_);
  ends_ = empty({static_cast<int64_t>(shape_.table_ends.size())}, at::kLong);
  ends_.copy_(as_tensor(shape_.table_ends));
  address_ = empty({rows, chunks}, at::kInt);
  utility_ = empty({rows, chunks}, at::kBFloat16);
  weights_ = empty({capacity + 1, shape_.width()}, at::kFloat).zero_();
  slots_ = empty({capacity + 1, 0}, at::kFloat);
  owner_ = empty({capacity + 1}, at::kInt);
  free_ = empty({capacity}, at::kInt);
  age_ = empty({shape_.ttl ? rows : 0}, at::kShort);
  load_state({at::empty({0}, at::kLong), at::empty({0}, at::kInt),
              at::empty({0, chunks}, at::kBFloat16), at::empty({0}, at::kInt),
              at::empty({0, shape_.width()}, at::kFloat), at::empty({0, 0}, at::kFloat),
              at::empty({0}, at::kByte), at::zeros({1}, at::kLong)});
}

// -- reading
// ---------------------------------------------------------------------------------------

int64_t FlatCuda::first_not_finite(const Tensor& given) {
  const c10::DeviceGuard guard(device_);
  TORCH_CHECK_TYPE(given.scalar_type() == at::kFloat && given.dim() == 2,
                   "the gradient must be (bags, embedding_dim) float32, not ", given.scalar_type());
  TORCH_CHECK_VALUE(given.device() == device_, "the gradient must be on ", device_,
                    ", where the table is, not on ", given.device());
  const Tensor grad = given.contiguous();
  const int64_t size = grad.numel();
  if (!size) return -1;
  const Tensor first = at::full({1}, size, at::TensorOptions(at::kLong).device(device_));
  start(FindNotFinite{grad.const_data_ptr<float>(), size, data<int64_t>(first)});
  const int64_t found = first.item<int64_t>();
  return found == size ? -1 : found / grad.size(1);
}

Tensor FlatCuda::forward(const Tensor& given_rows, const Tensor& given_offsets, bool mean) {
  const c10::DeviceGuard guard(device_);
  const Tensor rows = given_rows.to(device_).contiguous();
  const Tensor offsets = given_offsets.to(device_).contiguous();
  const int64_t bags = offsets.numel() - 1;
  const Tensor output = empty({bags, shape_.dim}, at::kFloat);
  const bool wide = shape_.width() % 4 == 0;
  start(Pool{table(), rows.const_data_ptr<int64_t>(), offsets.const_data_ptr<int64_t>(),
             data<float>(output), bags, lanes_for(wide ? shape_.dim / 4 : shape_.dim), wide, mean});
  return output;
}

// -- training
// --------------------------------------------------------------------------------------

void FlatCuda::train(const std::vector<Lookups>& lookups, const Step& step) {
  const c10::DeviceGuard guard(device_);
  TORCH_CHECK(slot_width() == slots_of(step.rule, shape_.width()),
              "the optimizer's slots do not fit: call set_slots first");
  if (lookups.empty()) return;
  std::vector<Tensor> rows_of_calls;
  for (const Lookups& call : lookups) {
    TORCH_CHECK_VALUE(call.rows.device() == device_ && call.offsets.device() == device_ &&
                          call.grad.device() == device_,
                      "the gradient must be on ", device_, ", where the table is, not on ",
                      call.grad.device());
    rows_of_calls.push_back(call.rows);
  }
  const Tensor all_rows = at::cat(rows_of_calls).to(at::kInt);
  const int64_t size = all_rows.numel();
  const Tensor sources = empty({size, static_cast<int64_t>(sizeof(Source))}, at::kByte);
  int64_t first = 0;
  for (const Lookups& call : lookups) {
    start(ListLookups{call.offsets.const_data_ptr<int64_t>(), call.grad.const_data_ptr<float>(),
                      data<Source>(sources) + first, call.grad.size(0), shape_.dim, step.mean});
    first += call.rows.numel();
  }
  const auto [rows, order] = at::sort(all_rows, /*stable=*/true, /*dim=*/0, /*descending=*/false);
  const Tensor out = filter_.counts() ? refused(rows, order) : Tensor();
  const TrainRows body{table(),
                       rows.const_data_ptr<int32_t>(),
                       order.const_data_ptr<int64_t>(),
                       data<Source>(sources),
                       out.defined() ? out.const_data_ptr<uint8_t>() : nullptr,
                       size,
                       lanes_for(shape_.dim),
                       Numbers(step),
                       step.score,
                       static_cast<float>(step.scale)};
  C10_CUDA_CHECK(launch_training(stream(), body));
}

Tensor FlatCuda::refused(const Tensor& rows, const Tensor& order) {
  const int64_t size = rows.numel();
  const Tensor known = empty({size}, at::kByte);
  start(FindKnown{table(), rows.const_data_ptr<int32_t>(), data<uint8_t>(known), size});
  const Tensor rows_here = rows.cpu(), order_here = order.cpu(), known_here = known.cpu();
  const int32_t* const row = rows_here.const_data_ptr<int32_t>();
  const uint8_t* const is_known = known_here.const_data_ptr<uint8_t>();
  // Counters are shared by rows, so rows are counted in the same order as on the CPU.
  struct Newcomer {
    int part;
    int64_t first, at, count;
  };
  std::vector<Newcomer> newcomers;
  for (int64_t at = 0; at < size; ++at) {
    if (is_known[at]) continue;
    if (at && row[at] == row[at - 1]) {
      ++newcomers.back().count;
    } else {
      newcomers.push_back(
          {part_of(row[at], size), order_here.const_data_ptr<int64_t>()[at], at, 1});
    }
  }
  std::sort(newcomers.begin(), newcomers.end(), [](const Newcomer& a, const Newcomer& b) {
    return std::tie(a.part, a.first) < std::tie(b.part, b.first);
  });
  const Tensor marks = at::zeros({size}, at::kByte);
  for (const Newcomer& newcomer : newcomers)
    data<uint8_t>(marks)[newcomer.at] = !filter_.admits(row[newcomer.at], newcomer.count);
  return marks.to(device_);
}

void FlatCuda::set_slots(int64_t width, double value) {
  const c10::DeviceGuard guard(device_);
  set_slot_value(value);
  slots_ =
      empty({0, 0}, at::kFloat);  // so that both need not fit at once; no rule's slots if it throws
  slots_ = empty({shape_.capacity + 1, width}, at::kFloat).fill_(slot_value_);
}

// -- pruning
// ---------------------------------------------------------------------------------------

void FlatCuda::scale_utilities(double factor) {
  const c10::DeviceGuard guard(device_);
  start(ScaleUtilities{table(), static_cast<float>(factor)});
}

Tensor FlatCuda::age() {
  const c10::DeviceGuard guard(device_);
  const Tensor marks = empty({utility_.numel()}, at::kByte);
  start(MarkExpired{table(), shape_.ttl, data<uint8_t>(marks)});
  const Tensor expired = places(marks);
  evict(expired, nullptr);
  start(Age{table(), shape_.ttl});
  return expired.cpu();
}

Tensor FlatCuda::histogram(Candidates of, Digit digit, const std::vector<Threshold>& prefix) {
  const bool of_rows = of == Candidates::kRows;
  return counted(of_rows ? Counted::kRowDigits : Counted::kChunkDigits, digit, prefix,
                 of_rows ? 1 : shape_.num_groups(), int64_t{1} << digit.bits);
}

Tensor FlatCuda::moves(const std::vector<Threshold>& keep) {
  return counted(Counted::kMoves, {}, keep, shape_.num_groups(), 2);
}

Tensor FlatCuda::live_histogram() {
  return counted(Counted::kLive, {}, {}, 1, shape_.num_chunks + 1).view({-1});
}

Tensor FlatCuda::counted(Counted what, Digit digit, const std::vector<Threshold>& keep,
                         int64_t groups, int64_t values) const {
  const c10::DeviceGuard guard(device_);
  const Tensor limits = on_device(keep), sums = empty({groups, values}, at::kLong).zero_();
  start(CountRows{table(), what, digit, data<Threshold>(limits), data<int64_t>(sums), values});
  return sums.cpu();
}

std::tuple<Tensor, Tensor, Tensor> FlatCuda::apply(const std::vector<Threshold>& keep, bool listed,
                                                   bool with_weights) {
  const c10::DeviceGuard guard(device_);
  const Tensor limits = on_device(keep), marks = empty({utility_.numel()}, at::kByte);
  start(MarkMoves{table(), data<Threshold>(limits), data<uint8_t>(marks)});
  const Tensor evicted = places(marks.eq(1)), admitted = places(marks.eq(2));
  TORCH_CHECK(live_ - evicted.numel() + admitted.numel() <= shape_.capacity,
              "thresholds let in more chunks than the ", shape_.capacity, " that may live");
  const Tensor weights = empty({with_weights ? evicted.numel() : 0, shape_.width()}, at::kFloat);
  evict(evicted, with_weights ? data<float>(weights) : nullptr);
  admit(admitted);
  if (!listed) return {empty({0}, at::kLong).cpu(), empty({0}, at::kLong).cpu(), weights.cpu()};
  return {evicted.cpu(), admitted.cpu(), weights.cpu()};
}

void FlatCuda::evict(const Tensor& which, float* weights) {
  const int64_t size = which.numel();
  start(Evict{table(), which.const_data_ptr<int64_t>(), size, shape_.capacity - live_, weights});
  live_ -= size;
}

void FlatCuda::admit(const Tensor& which) {
  const int64_t size = which.numel();
  start(
      Admit{table(), which.const_data_ptr<int64_t>(), size, shape_.capacity - live_, slot_value_});
  live_ += size;
}

void FlatCuda::forget(Threshold keep) {
  const c10::DeviceGuard guard(device_);
  start(Forget{table(), keep});
}

// -- state
// -----------------------------------------------------------------------------------------

std::vector<Tensor> FlatCuda::state() {
  const c10::DeviceGuard guard(device_);
  const Tensor rows = places(address_.ne(0).any(1).logical_or_(utility_.gt(0).any(1)));
  const Tensor addresses = address_.view({-1}).index_select(0, places(address_.view({-1}).ne(0)));
  const Tensor ages = shape_.ttl ? age_.index_select(0, rows).to(at::kInt).bitwise_and_(0xFFFF)
                                 : empty({rows.numel()}, at::kInt).zero_();
  return {rows.cpu(),
          live_masks(rows).cpu(),
          utilities(rows).cpu(),
          ages.cpu(),
          weights_.index_select(0, addresses).cpu(),
          slots_.index_select(0, addresses).cpu(),
          filter_.counters(),
          filter_.seen()};
}

void FlatCuda::load_state(const std::vector<Tensor>& state) {
  const c10::DeviceGuard guard(device_);
  const int64_t live = state[5].size(0), chunks = shape_.num_chunks;
  TORCH_CHECK_VALUE(!live || state[5].size(1) == slot_width(), "a FIITED state has ",
                    state[5].size(1), " slots for each chunk, this table ", slot_width());
  // All that takes memory comes first: where there is too little, nothing has changed.
  const Tensor rows = state[0].to(device_);
  const Tensor utilities = state[2].to(device_).view({-1, chunks});
  const Tensor ages = state[3].to(device_).to(at::kShort);
  // Chunks take the addresses from 1 on, in their order; the next are popped in theirs.
  const Tensor masks = state[1].to(device_).view({-1, 1});
  const Tensor chunk = at::arange(chunks, masks.options());
  const Tensor is_live = masks.bitwise_right_shift(chunk).bitwise_and_(1).ne(0);
  const Tensor which =
      rows.view({-1, 1}).mul(chunks).add(chunk).masked_select(is_live);  // int64, ascending
  const Tensor addresses = at::arange(1, live + 1, address_.options());
  const Tensor stack = at::arange(shape_.capacity, 0, -1, free_.options());
  utility_.zero_().index_copy_(0, rows, utilities);
  if (shape_.ttl) age_.fill_(kNeverLookedUp).index_copy_(0, rows, ages);
  address_.zero_().view({-1}).index_copy_(0, which, addresses);
  owner_.fill_(-1).narrow(0, 1, live).copy_(which);
  free_.copy_(stack);
  weights_.narrow(0, 1, live).copy_(state[4].view({live, shape_.width()}));
  if (live) slots_.narrow(0, 1, live).copy_(state[5]);
  live_ = live;
  filter_.load(state[6], state[7]);
}

Tensor FlatCuda::live_masks(const Tensor& rows) {
  const c10::DeviceGuard guard(device_);
  const Tensor live = address_.index_select(0, rows.to(device_)).ne(0).to(at::kInt);
  const Tensor chunk = at::arange(shape_.num_chunks, live.options());
  return live.bitwise_left_shift(chunk).sum(1, /*keepdim=*/false, at::kInt);
}

Tensor FlatCuda::utilities(const Tensor& rows) {
  const c10::DeviceGuard guard(device_);
  return utility_.index_select(0, rows.to(device_));
}

c10::Dict<std::string, int64_t> FlatCuda::bytes() {
  const auto bytes_of = [](const Tensor& tensor) { return static_cast<int64_t>(tensor.nbytes()); };
  c10::Dict<std::string, int64_t> bytes;
  bytes.insert("weights", bytes_of(weights_));
  bytes.insert("index", bytes_of(address_));
  bytes.insert("utilities", bytes_of(utility_));
  bytes.insert("owners", bytes_of(owner_) + bytes_of(free_));
  bytes.insert("optimizer", bytes_of(slots_));
  bytes.insert("other", bytes_of(age_) + bytes_of(ends_) + filter_.bytes());
  return bytes;
}

// On the CPU, since it is for tests.
void FlatCuda::verify() {
  const c10::DeviceGuard guard(device_);
  const Tensor addresses = address_.cpu(), owners = owner_.cpu(), stack = free_.cpu();
  const Tensor utilities = utility_.cpu(), null_chunk = weights_.select(0, 0).cpu();
  const int32_t* const address = addresses.const_data_ptr<int32_t>();
  const int32_t* const owner = owners.const_data_ptr<int32_t>();
  int64_t live = 0;
  for (int64_t q = 0; q < addresses.numel(); ++q) {
    if (!address[q]) continue;
    TORCH_CHECK(owner[address[q]] == q, "owner[address[q]] is ", owner[address[q]], " for q = ", q);
    ++live;
  }
  TORCH_CHECK(live == live_, "of ", shape_.capacity, " chunks ", live, " are live, not ", live_);
  std::vector<bool> free(shape_.capacity + 1);
  for (int64_t i = 0; i < shape_.capacity - live_; ++i) {
    const int32_t at = stack.const_data_ptr<int32_t>()[i];
    TORCH_CHECK(at > 0 && at <= shape_.capacity && owner[at] == -1 && !free[at], "the address ", at,
                " is on the stack of free ones, but not free");
    free[at] = true;
  }
  TORCH_CHECK(null_chunk.eq(0).all().item<bool>(), "the null chunk is not zero");
  for (int64_t q = 0; q < utilities.numel(); ++q)
    TORCH_CHECK(data<Utility>(utilities)[q] <= kLargestUtility, "the utility of ", q, " is ",
                data<Utility>(utilities)[q]);
}

// -- inside
// ----------------------------------------------------------------------------------------

Table FlatCuda::table() const {
  return {data<int32_t>(address_),
          data<Utility>(utility_),
          data<float>(weights_),
          data<float>(slots_),
          data<int32_t>(owner_),
          data<int32_t>(free_),
          shape_.ttl ? data<uint16_t>(age_) : nullptr,
          data<int64_t>(ends_),
          static_cast<int32_t>(ends_.numel()),
          static_cast<int32_t>(shape_.num_chunks),
          static_cast<int32_t>(shape_.width()),
          static_cast<int32_t>(slots_.size(1)),
          shape_.scope,
          shape_.num_rows()};
}

cudaStream_t FlatCuda::stream() const {
  return c10::cuda::getCurrentCUDAStream(device_.index()).stream();
}

void FlatCuda::start(const Body& body) const { C10_CUDA_CHECK(launch(stream(), body)); }

Tensor FlatCuda::empty(at::IntArrayRef sizes, at::ScalarType type) const {
  return at::empty(sizes, at::TensorOptions(type).device(device_));
}

Tensor FlatCuda::on_device(const std::vector<Threshold>& thresholds) const {
  const Tensor here = at::empty({static_cast<int64_t>(thresholds.size()), 2}, at::kLong);
  std::copy(thresholds.begin(), thresholds.end(), data<Threshold>(here));
  return here.to(device_);
}

}  // namespace mirror::fiited::cuda
