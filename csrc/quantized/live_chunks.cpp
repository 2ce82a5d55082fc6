// Tables that hold quantized chunks of the ids that earn them, and zeros for all others: FIITED
// without its weight in metadata. Called from bench_engine/kernels/quantized/quantized_fiited.py;
// see buckets.h for where a chunk is, and docs/quantized.md for the rules.
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "fiited/cpu/optimizer.h"
#include "fiited/cpu/parallel.h"
#include "fiited/cpu/requests.h"
#include "quantized/arguments.h"
#include "quantized/buckets.h"
#include "quantized/cpu/rows.h"

namespace mirror::quantized {
namespace {

using at::Tensor;

constexpr int64_t kTogether = 32;  // chunks whose buckets are asked for before the first is read
constexpr int64_t kParts = 16;     // of the buckets, each changed by one thread
constexpr int64_t kManyChunks = 4096;  // fewer are changed by one thread

// A table, and how it is read.
struct Live {
  const Bucket* buckets;
  Addresses addresses;
  Table table;  // of chunks
  int64_t chunks, num_embeddings;

  int64_t width() const { return table.format.dim; }
  int64_t dim() const { return width() * chunks; }
  int64_t missing() const { return table.num_rows; }  // stands for the row of what does not live
};

Live live_of(const Tensor& buckets, const Tensor& rows, std::string_view storage, int64_t dim,
             int64_t num_embeddings, int64_t chunks) {
  TORCH_CHECK_VALUE(chunks >= 1 && dim % chunks == 0, "embedding_dim ", dim,
                    " is not divisible by num_chunks ", chunks);
  TORCH_CHECK_VALUE(buckets.is_cpu() && buckets.is_contiguous() && buckets.dim() == 2 &&
                        buckets.scalar_type() == at::kByte && buckets.size(1) == sizeof(Bucket) &&
                        reinterpret_cast<uintptr_t>(buckets.const_data_ptr()) % 16 == 0,
                    "buckets must be (buckets, ", sizeof(Bucket), ") uint8 on the CPU, not ",
                    buckets.sizes());
  const int64_t count = buckets.size(0);
  const Table table = table_of(rows, storage, dim / chunks, 1, 0);
  TORCH_CHECK_VALUE(count >= 1 && table.num_rows == count * kPlaces &&
                        (num_embeddings * chunks - 1) / count < kMostKeys,
                    count, " buckets do not go with ", table.num_rows, " rows and the chunks of ",
                    num_embeddings, " ids");
  return {static_cast<const Bucket*>(buckets.const_data_ptr()), Addresses(count), table, chunks,
          num_embeddings};
}

// Rows of one part of the vectors of ids; `missing` where it does not live.
void find(const Live& live, const int64_t* ids, int64_t n, int64_t part, int64_t padding,
          int64_t* rows) {
  Address at[kTogether];
  for (int64_t start = 0; start < n; start += kTogether) {
    const int64_t count = std::min(kTogether, n - start);
    for (int64_t i = 0; i < count; ++i) {
      at[i] = live.addresses.of(ids[start + i] * live.chunks + part);
      __builtin_prefetch(live.buckets + at[i].bucket);
    }
    for (int64_t i = 0; i < count; ++i) {
      const int64_t place = live.buckets[at[i].bucket].find(at[i].key);
      rows[start + i] =
          place < 0 || ids[start + i] == padding ? live.missing() : at[i].bucket * kPlaces + place;
    }
  }
}

// Divides the sums of bags [first, last) by the number of their ids.
void divide(const Bags& bags, int64_t first, int64_t last, int64_t dim, float* output) {
  for (int64_t b = first; b < last; ++b) {
    const int64_t count = members(bags, b);
    if (count < 2) continue;
    for (int64_t d = 0; d < dim; ++d) output[b * dim + d] /= static_cast<float>(count);
  }
}

Tensor pool(const Tensor& buckets, const Tensor& rows, const Tensor& ids, const Optional& offsets,
            const Optional& samples, std::string_view storage, int64_t dim, int64_t num_embeddings,
            int64_t chunks, int64_t padding, bool mean) {
  const Live live = live_of(buckets, rows, storage, dim, num_embeddings, chunks);
  const Bags bags = bags_of(ids, offsets, samples, num_embeddings, padding, mean);
  const Tensor output = at::empty({bags.num_bags, dim}, rows.options().dtype(at::kFloat));
  const Tensor found = at::empty({bags.num_ids}, ids.options());
  const int64_t width = live.width();
  // Of vectors of one chunk the pooled ones are the output.
  const Tensor part = chunks == 1 ? output : at::empty({bags.num_bags, width}, output.options());
  int64_t* const places = found.mutable_data_ptr<int64_t>();
  float* const to = output.mutable_data_ptr<float>();
  float* const of_part = part.mutable_data_ptr<float>();
  Bags of_rows = bags;
  of_rows.ids = places;
  of_rows.padding = live.missing();
  of_rows.mean = false;  // what does not live counts too
  for (int64_t j = 0; j < chunks; ++j) {
    fiited::in_parallel(bags.num_ids, bags.num_ids, [&](int64_t first, int64_t last) {
      find(live, bags.ids + first, last - first, j, padding, places + first);
    });
    fiited::in_parallel(bags.num_bags, bags.num_ids + bags.num_bags,
                        [&](int64_t first, int64_t last) {
                          kernels().pool(live.table, of_rows, first, last, of_part);
                          for (int64_t b = first; chunks > 1 && b < last; ++b)
                            std::copy_n(of_part + b * width, width, to + b * dim + j * width);
                          if (mean && j == chunks - 1) divide(bags, first, last, dim, to);
                        });
  }
  return output;
}

// Rows of the chunks of ids, (n, chunks) int64; -1 where one does not live.
Tensor places(const Tensor& buckets, const Tensor& rows, const Tensor& ids,
              std::string_view storage, int64_t dim, int64_t num_embeddings, int64_t chunks) {
  const Live live = live_of(buckets, rows, storage, dim, num_embeddings, chunks);
  const Bags bags =
      bags_of(ids.unsqueeze(1), std::nullopt, std::nullopt, num_embeddings, -1, false);
  const Tensor found = at::empty({bags.num_ids, chunks}, ids.options());
  int64_t* const to = found.mutable_data_ptr<int64_t>();
  std::vector<int64_t> of_part(bags.num_ids);
  for (int64_t j = 0; j < chunks; ++j) {
    find(live, bags.ids, bags.num_ids, j, -1, of_part.data());
    for (int64_t i = 0; i < bags.num_ids; ++i)
      to[i * chunks + j] = of_part[i] == live.missing() ? -1 : of_part[i];
  }
  return found;
}

// The chunks that live, rising, and the utility of each as it is stored: (n,) int64 and (n,)
// bfloat16.
std::tuple<Tensor, Tensor> listed(const Tensor& buckets, const Tensor& rows,
                                  std::string_view storage, int64_t dim, int64_t num_embeddings,
                                  int64_t chunks) {
  const Live live = live_of(buckets, rows, storage, dim, num_embeddings, chunks);
  std::vector<std::pair<int64_t, fiited::Utility>> found;
  for (int64_t b = 0; b < buckets.size(0); ++b)
    for (int64_t e = 0; e < kPlaces; ++e)
      if (const uint16_t key = live.buckets[b].keys[e])
        found.emplace_back(live.addresses.chunk_of({b, key}), live.buckets[b].utilities[e]);
  std::sort(found.begin(), found.end());
  const int64_t n = static_cast<int64_t>(found.size());
  const Tensor which = at::empty({n}, at::kLong), utilities = at::empty({n}, at::kBFloat16);
  auto* const utility = static_cast<fiited::Utility*>(utilities.mutable_data_ptr());
  for (int64_t i = 0; i < n; ++i)
    std::tie(which.mutable_data_ptr<int64_t>()[i], utility[i]) = found[i];
  return {which, utilities};
}

// Multiplies all utilities.
void rescale(const Tensor& buckets, double factor) {
  TORCH_CHECK_VALUE(buckets.is_contiguous() && buckets.size(1) == sizeof(Bucket),
                    "buckets must be (buckets, ", sizeof(Bucket), ")");
  auto* const of = static_cast<Bucket*>(buckets.mutable_data_ptr());
  for (int64_t b = 0; b < buckets.size(0); ++b)
    for (fiited::Utility& utility : of[b].utilities)
      utility = fiited::nearest_utility(fiited::value_of(utility) * static_cast<float>(factor));
}

// -- a step

// The gradient of each row of a step, (dim,), where it lies or summed up.
class Gradients {
 public:
  Gradients(const fiited::Requests& requests, int64_t dim) : of_(requests.size()) {
    std::vector<int64_t> place(requests.size());
    int64_t several = 0;
    for (int64_t i = 0; i < requests.size(); ++i) place[i] = requests.count(i) > 1 ? several++ : 0;
    room_.resize(several * dim);
    fiited::in_parallel(requests.size(), requests.size(), [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i)
        of_[i] = requests.gradient(i, room_.data() + place[i] * dim);
    });
  }
  const float* operator[](int64_t i) const { return of_[i]; }

 private:
  std::vector<const float*> of_;
  std::vector<float> room_;
};

// A chunk of a step: part `part` of the `request`-th row.
struct Item {
  Address at;
  int64_t request;
  int32_t part;
  float length;   // of its gradient
  int64_t times;  // that it was looked up before it may live, with those of this step
};

// Items in the order of their rows, those of neighbouring buckets together.
struct Sorted {
  std::vector<Item> items;
  std::vector<int64_t> ends;  // of the parts

  Sorted(const fiited::Requests& requests, const Live& live, int64_t buckets) {
    const int64_t n = requests.size() * live.chunks, parts = n < kManyChunks ? 1 : kParts;
    std::vector<Item> found;
    found.reserve(n);
    ends.assign(parts + 1, 0);
    const auto part_of = [&](const Item& item) { return item.at.bucket * parts / buckets; };
    for (int64_t i = 0; i < requests.size(); ++i)
      for (int64_t j = 0; j < live.chunks; ++j) {
        const Address at = live.addresses.of(requests.row(i) * live.chunks + j);
        found.push_back({at, i, static_cast<int32_t>(j), 0, 0});
        ++ends[part_of(found.back()) + 1];
      }
    for (int64_t p = 0; p < parts; ++p) ends[p + 1] += ends[p];
    if (parts == 1) {
      items = std::move(found);
      return;
    }
    std::vector<int64_t> next(ends.begin(), ends.end() - 1);
    items.resize(n);
    for (const Item& item : found) items[next[part_of(item)]++] = item;
  }
  int64_t parts() const { return static_cast<int64_t>(ends.size()) - 1; }
};

// The numbers of a step beside those of its rule.
struct Admission {
  int64_t times;   // lookups after which a chunk may live
  float margin;    // how many times the utility of the one whose place it takes
  float scale;     // of stored utilities
  float slot;      // that sums start at
  int64_t window;  // lookups of a bucket between two halvings of its counters
};

class Stepped {
 public:
  Stepped(const Live& live, Bucket* buckets, uint8_t* counters, uint8_t* rows, float* sums,
          const Rule& rule, const Draw& draw, const Admission& admission)
      : live_(live),
        buckets_(buckets),
        counters_(counters),
        rows_(rows),
        sums_(sums),
        rule_(rule),
        draw_(draw),
        admission_(admission) {}

  // What live chunks gained and learnt, then who comes in: so no chunk loses its place before its
  // gradient counts. Returns chunks that were let in and that made room.
  std::pair<int64_t, int64_t> part(const fiited::Requests& requests, const Gradients& gradients,
                                   Item* first, Item* last) const {
    std::vector<float> room(live_.width());
    std::vector<Item*> others;
    for (Item* item = first; item != last; ++item) {
      ask_for(item, last);
      Bucket& bucket = buckets_[item->at.bucket];
      const float* const grad = gradients[item->request] + item->part * live_.width();
      item->length = fiited::norm(grad, live_.width());
      const int64_t place = bucket.find(item->at.key);
      if (place < 0) {
        item->times = count_lookups(bucket, counters_ + item->at.bucket * kCounters,
                                    chunk_of(requests, *item), requests.count(item->request),
                                    admission_.window);
        if (item->times >= admission_.times) others.push_back(item);
        continue;
      }
      const float gained =
          fiited::value_of(bucket.utilities[place]) + item->length / admission_.scale;
      bucket.utilities[place] = fiited::drawn_utility(gained, chunk_of(requests, *item),
                                                      static_cast<int64_t>(draw_.step));
      update(item->at.bucket * kPlaces + place, grad, room.data());
    }
    std::pair<int64_t, int64_t> moved{0, 0};
    for (const Item* item : others) {
      Bucket& bucket = buckets_[item->at.bucket];
      // As if each lookup had had the gradient of those of this step.
      const float each = item->length / static_cast<float>(requests.count(item->request));
      const float utility = each * static_cast<float>(item->times) / admission_.scale;
      const int64_t place = bucket.weakest();
      const bool taken = bucket.keys[place] != 0;
      if (taken && utility <= admission_.margin * fiited::value_of(bucket.utilities[place]))
        continue;
      bucket.keys[place] = item->at.key;
      bucket.utilities[place] = fiited::nearest_utility(utility);
      const int64_t row = item->at.bucket * kPlaces + place;
      std::fill_n(rows_ + row * live_.table.format.stride, live_.table.format.stride, uint8_t{0});
      if (sums_) sums_[row] = admission_.slot;
      update(row, gradients[item->request] + item->part * live_.width(), room.data());
      ++moved.first;
      moved.second += taken;
    }
    return moved;
  }

 private:
  static constexpr int64_t kAhead = 8;

  void ask_for(const Item* item, const Item* last) const {
    if (last - item <= 2 * kAhead) return;
    __builtin_prefetch(buckets_ + item[2 * kAhead].at.bucket, 1);
    const Address& at = item[kAhead].at;
    const int64_t place = buckets_[at.bucket].find(at.key);
    if (place < 0) return __builtin_prefetch(counters_ + at.bucket * kCounters, 1);
    const int64_t row = at.bucket * kPlaces + place;
    __builtin_prefetch(rows_ + row * live_.table.format.stride, 1);
    if (sums_) __builtin_prefetch(sums_ + row, 1);
  }
  int64_t chunk_of(const fiited::Requests& requests, const Item& item) const {
    return requests.row(item.request) * live_.chunks + item.part;
  }
  void update(int64_t row, const float* grad, float* room) const {
    Draw draw = draw_;
    draw.row = row;
    kernels().update(live_.table.format, grad, rule_, draw, sums_ ? sums_ + row : nullptr, room,
                     rows_ + row * live_.table.format.stride);
  }

  const Live& live_;
  Bucket* buckets_;
  uint8_t* counters_;
  uint8_t* rows_;
  float* sums_;
  Rule rule_;
  Draw draw_;
  Admission admission_;
};

// Trains what lives and lets in what earns it. Returns how many chunks came in, and how many of
// them took the place of another.
std::tuple<int64_t, int64_t> step(const Tensor& buckets, const Tensor& counters, const Tensor& rows,
                                  const Optional& sums, const std::vector<Tensor>& which,
                                  const std::vector<Tensor>& ends, const std::vector<Tensor>& grads,
                                  std::string_view storage, int64_t dim, int64_t num_embeddings,
                                  int64_t chunks, double lr, double eps, double step_lr,
                                  double slot, int64_t seed, int64_t number, int64_t table,
                                  int64_t times, double margin, double scale) {
  const Live live = live_of(buckets, rows, storage, dim, num_embeddings, chunks);
  TORCH_CHECK_VALUE(counters.is_cpu() && counters.is_contiguous() &&
                        counters.scalar_type() == at::kByte &&
                        counters.numel() == buckets.size(0) * kCounters,
                    "counters must be (buckets, ", kCounters, ") uint8");
  const fiited::Requests requests(recorded(which, ends, grads, num_embeddings, dim), dim, false);
  const Gradients gradients(requests, dim);
  Sorted sorted(requests, live, buckets.size(0));
  const Admission admission{times, static_cast<float>(margin), static_cast<float>(scale),
                            static_cast<float>(slot), kCounters * std::max<int64_t>(times, 16) / 2};
  const Stepped stepped(
      live, static_cast<Bucket*>(buckets.mutable_data_ptr()), counters.mutable_data_ptr<uint8_t>(),
      rows.mutable_data_ptr<uint8_t>(), slots_of(sums, live.table.num_rows),
      {static_cast<float>(lr), static_cast<float>(eps), static_cast<float>(step_lr)},
      draw_of(seed, number, table), admission);
  std::vector<std::pair<int64_t, int64_t>> moved(sorted.parts());
  fiited::pieces(sorted.parts(), [&](int64_t p) {
    Item* const items = sorted.items.data();
    moved[p] =
        stepped.part(requests, gradients, items + sorted.ends[p], items + sorted.ends[p + 1]);
  });
  std::tuple<int64_t, int64_t> all{0, 0};
  for (const auto& [came, replaced] : moved) {
    std::get<0>(all) += came;
    std::get<1>(all) += replaced;
  }
  return all;
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(mirror, m) {
  m.def(
      "live_pool(Tensor buckets, Tensor rows, Tensor ids, Tensor? offsets, Tensor? samples, "
      "str storage, int dim, int num_embeddings, int chunks, int padding, bool mean) -> Tensor");
  m.def(
      "live_places(Tensor buckets, Tensor rows, Tensor ids, str storage, int dim, "
      "int num_embeddings, int chunks) -> Tensor");
  m.def(
      "live_listed(Tensor buckets, Tensor rows, str storage, int dim, int num_embeddings, "
      "int chunks) -> (Tensor, Tensor)");
  m.def("live_rescale(Tensor(a!) buckets, float factor) -> ()");
  m.def(
      "live_step(Tensor(a!) buckets, Tensor(b!) counters, Tensor(c!) rows, Tensor(d!)? sums, "
      "Tensor[] which, Tensor[] ends, Tensor[] grads, str storage, int dim, int num_embeddings, "
      "int chunks, float lr, float eps, float step_lr, float slot, int seed, int number, int "
      "table, int times, "
      "float margin, float scale) -> (int, int)");
  // Bytes of a bucket with its counters, places of one, and the most chunks that one tells apart.
  m.def("live_layout() -> (int, int, int)", [] {
    return std::tuple<int64_t, int64_t, int64_t>(sizeof(Bucket) + kCounters, kPlaces, kMostKeys);
  });
}

TORCH_LIBRARY_IMPL(mirror, CPU, m) {
  m.impl("live_pool", pool);
  m.impl("live_places", places);
  m.impl("live_listed", listed);
  m.impl("live_rescale", rescale);
  m.impl("live_step", step);
}

}  // namespace mirror::quantized
