// The hashed embedding bag on the CPU: shares the bags out to threads.
#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

#include <algorithm>
#include <string>
#include <vector>

#include "common/share_out.h"
#include "common/threads.h"
#include "hashed/cpu/rows.h"
#include "hashed/embedding_bag.h"

namespace mirror {
namespace {

using at::Tensor;

// Elements (ids x dimension) one thread should have at least: about 20 µs of work.
constexpr int64_t kGrainElements = 32768;
// Parts for each thread, so that one that is late does not hold up the others.
constexpr int64_t kPartsPerThread = 4;
// The backward splits its bags into at most so many parts, each with a gradient buffer of its own.
constexpr int64_t kMaxParts = 16;
// All of these take so many bytes at most.
constexpr int64_t kMostBytes = int64_t{64} << 20;
// So many bytes of buffers stay with a thread from one call to the next: fresh pages would cost as
// much as what is added there.
constexpr size_t kKeptBytes = size_t{16} << 20;
// From so many slots on, finding them in memory is what takes time.
constexpr int64_t kFarSlots = int64_t{1} << 20;

hashed::Element element_of(const Tensor& t) {
  switch (t.scalar_type()) {
    case at::kDouble:
      return hashed::Element::kDouble;
    case at::kBFloat16:
      return hashed::Element::kBFloat16;
    case at::kHalf:
      return hashed::Element::kHalf;
    default:
      return hashed::Element::kFloat;
  }
}

hashed::Layout layout_of(const HashedLayout& layout) {
  return {layout.hash, layout.seed, layout.signs, layout.block, layout.dim, layout.num_slots};
}

hashed::Call call_of(const HashedBags& bags, const hashed::Layout& layout, const Tensor& element) {
  hashed::Call call{};
  call.layout = &layout;
  call.element = element_of(element);
  call.mode = bags.mode == Pooling::kMean ? hashed::Pool::kMean : hashed::Pool::kSum;
  call.ids = bags.indices.const_data_ptr();
  call.narrow_ids = bags.indices.scalar_type() == at::kInt;
  call.num_ids = bags.num_ids;
  call.num_bags = bags.num_bags;
  call.offsets = bags.offsets.defined() ? bags.offsets.const_data_ptr<int64_t>() : nullptr;
  call.bag_size = bags.bag_size;
  call.padding = bags.padding_idx;
  call.sample_weights =
      bags.sample_weights.defined() ? bags.sample_weights.const_data_ptr() : nullptr;
  return call;
}

int64_t elements_of(const hashed::Call& call) { return call.num_ids * call.layout->dim; }

// Threads that are worth starting for a call.
int useful_threads(const hashed::Call& call) {
  if (!may_run_parallel()) return 1;
  const int64_t work = elements_of(call) + call.num_bags * call.layout->dim;
  return static_cast<int>(std::clamp<int64_t>(work / kGrainElements, 1, at::get_num_threads()));
}

// Bags of parts 0 .. parts-1 such that each part has about the same number of ids.
std::vector<int64_t> split_bags(const hashed::Call& call, int64_t parts) {
  std::vector<int64_t> bounds(parts + 1, call.num_bags);
  bounds[0] = 0;
  for (int64_t p = 1; p < parts; ++p) {
    const int64_t even = call.num_bags / parts * p + call.num_bags % parts * p / parts;
    if (call.offsets == nullptr) {
      bounds[p] = even;
    } else {
      const int64_t* found =
          std::lower_bound(call.offsets, call.offsets + call.num_bags, call.num_ids / parts * p);
      // Bags without ids cost time too: of all bags at one place take the even share.
      const int64_t* last =
          std::upper_bound(found, call.offsets + call.num_bags, call.num_ids / parts * p);
      bounds[p] = std::clamp(even, found - call.offsets, last - call.offsets);
    }
  }
  return bounds;
}

// Calls work(first bag, last bag) for all bags, on as many threads as pay.
template <typename Work>
void over_bags(const hashed::Call& call, const Work& work) {
  const int threads = useful_threads(call);
  if (threads == 1) return work(0, call.num_bags);
  const std::vector<int64_t> bounds = split_bags(call, threads * kPartsPerThread);
  share_out(static_cast<int64_t>(bounds.size()) - 1, threads,
            [&](int64_t p) { work(bounds[p], bounds[p + 1]); });
}

// Memory of the calling thread for so many numbers, whatever is in it.
template <typename sum_t>
class Room {
 public:
  explicit Room(int64_t count) {
    if (numbers_.size() < static_cast<size_t>(count)) numbers_.resize(count);
  }
  Room(const Room&) = delete;
  ~Room() {
    if (numbers_.size() * sizeof(sum_t) > kKeptBytes) std::vector<sum_t>().swap(numbers_);
  }
  sum_t* data() const { return numbers_.data(); }

 private:
  inline static thread_local std::vector<sum_t> numbers_;
};

// The first part's bags are summed in the target, those of the others in buffers that are then
// added to it in order. How many there are is a function of the sizes alone: the number of threads
// must not change the result.
template <typename sum_t>
void backward_in_parts(const hashed::Call& call, int64_t parts, int threads, sum_t* target) {
  const int64_t num_slots = call.layout->num_slots;
  const std::vector<int64_t> bounds = split_bags(call, parts);
  const Room<sum_t> room((parts - 1) * num_slots);
  const auto sums = [&, others = room.data()](int64_t p) {
    return p == 0 ? target : others + (p - 1) * num_slots;
  };
  share_out(parts, threads, [&](int64_t p) {
    if (p > 0) std::fill_n(sums(p), num_slots, sum_t(0));
    hashed::kernels().scatter(call, bounds[p], bounds[p + 1], sums(p), 0, num_slots);
  });
  const int64_t piece = std::max<int64_t>(1, kGrainElements / parts);
  share_out((num_slots + piece - 1) / piece, threads, [&](int64_t i) {
    const int64_t last = std::min(num_slots, (i + 1) * piece);
    for (int64_t p = 1; p < parts; ++p) {
      const sum_t* from = sums(p);
      for (int64_t s = i * piece; s < last; ++s) target[s] += from[s];
    }
  });
}

template <typename sum_t>
void backward_sum(const hashed::Call& call, sum_t* target) {
  const int64_t num_slots = call.layout->num_slots, elements = elements_of(call);
  const int threads = useful_threads(call);
  // A buffer is worth its clearing and adding where as many elements are added to it.
  const int64_t room = kMostBytes / (num_slots * static_cast<int64_t>(sizeof(sum_t)));
  const int64_t parts =
      std::min({kMaxParts, elements / kGrainElements, elements / num_slots, room + 1});
  if (parts > 1) return backward_in_parts(call, parts, threads, target);
  // Few elements in a large buffer: every thread walks all bags and adds to slots of its own, so
  // the order of additions is that of one thread.
  const int64_t owners = num_slots < kFarSlots ? 1 : threads;
  const auto bound = [&](int64_t p) {
    return num_slots / owners * p + num_slots % owners * p / owners;
  };
  share_out(owners, threads, [&](int64_t p) {
    hashed::kernels().scatter(call, 0, call.num_bags, target, bound(p), bound(p + 1));
  });
}

}  // namespace

void hashed_embedding_bag_cpu(const HashedBags& bags, const Tensor& weight, const Tensor& output,
                              const Tensor& winners) {
  const hashed::Layout layout = layout_of(bags.layout);
  hashed::Call call = call_of(bags, layout, weight);
  call.weight = weight.const_data_ptr();
  void* target = output.mutable_data_ptr();
  void* won = winners.defined() && winners.numel() ? winners.mutable_data_ptr() : nullptr;
  over_bags(call, [&](int64_t first, int64_t last) {
    if (bags.mode == Pooling::kMax) {
      hashed::kernels().pool_max(call, first, last, target, won);
    } else {
      hashed::kernels().pool(call, first, last, target);
    }
  });
}

Tensor hashed_embedding_bag_backward_cpu(const HashedBags& bags, const Tensor& grad) {
  const hashed::Layout layout = layout_of(bags.layout);
  hashed::Call call = call_of(bags, layout, grad);
  call.grad = grad.const_data_ptr();
  const bool wide = grad.scalar_type() == at::kDouble;
  const Tensor target =
      at::zeros({layout.num_slots}, grad.options().dtype(wide ? at::kDouble : at::kFloat));
  if (wide) {
    backward_sum(call, target.mutable_data_ptr<double>());
  } else {
    backward_sum(call, target.mutable_data_ptr<float>());
  }
  return target.to(grad.scalar_type());
}

Tensor hashed_embedding_bag_sample_gradient_cpu(const HashedBags& bags, const Tensor& grad,
                                                const Tensor& weight) {
  const hashed::Layout layout = layout_of(bags.layout);
  hashed::Call call = call_of(bags, layout, grad);
  call.grad = grad.const_data_ptr();
  call.weight = weight.const_data_ptr();
  const Tensor gradient =
      at::zeros(bags.indices.sizes(), grad.options());  // behind the last bag: 0
  void* target = gradient.mutable_data_ptr();
  over_bags(call, [&](int64_t first, int64_t last) {
    hashed::kernels().sample_gradient(call, first, last, target);
  });
  return gradient;
}

Tensor hashed_embedding_bag_max_backward_cpu(const Tensor& grad, const Tensor& winners,
                                             int64_t num_slots, bool signs) {
  const bool wide = grad.scalar_type() == at::kDouble;
  const Tensor target =
      at::zeros({num_slots}, grad.options().dtype(wide ? at::kDouble : at::kFloat));
  AT_DISPATCH_FLOATING_TYPES_AND2(
      at::kHalf, at::kBFloat16, grad.scalar_type(), "hashed_max_backward", [&] {
        using sum_t = std::conditional_t<std::is_same_v<scalar_t, double>, double, float>;
        AT_DISPATCH_INDEX_TYPES(winners.scalar_type(), "hashed_max_backward", [&] {
          const scalar_t* from = grad.const_data_ptr<scalar_t>();
          const index_t* codes = winners.const_data_ptr<index_t>();
          sum_t* to = target.mutable_data_ptr<sum_t>();
          for (int64_t i = 0; i < grad.numel(); ++i) {
            if (codes[i] == -1) continue;
            const int64_t slot = signs ? codes[i] >> 1 : codes[i];
            TORCH_CHECK_INDEX(slot >= 0 && slot < num_slots, "winner ", codes[i], " at position ",
                              i, " is out of range for ", num_slots, " slots");
            const sum_t value = static_cast<sum_t>(from[i]);
            to[slot] += signs && (codes[i] & 1) ? -value : value;
          }
        });
      });
  return target.to(grad.scalar_type());
}

TORCH_LIBRARY_FRAGMENT(mirror, m) {
  // Whose kernels this process runs: avx512, avx2 or portable.
  m.def("hashed_instruction_set() -> str", [] { return std::string(hashed::kernels().name); });
}

}  // namespace mirror
