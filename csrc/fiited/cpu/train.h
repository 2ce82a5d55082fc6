// One training step over any form of a FIITED table.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "fiited/cpu/admission.h"
#include "fiited/cpu/optimizer.h"
#include "fiited/cpu/parallel.h"
#include "fiited/cpu/requests.h"
#include "fiited/cpu/utility.h"

namespace mirror::fiited {

inline constexpr int64_t kAhead = 8;  // rows ahead at which weights are asked for

inline float score_of(Score score, int64_t count, const float* grad, int64_t width) {
  const float length = score == Score::kFrequency ? 0 : norm(grad, width);
  return score_of(score, static_cast<float>(count), length);
}

// How a form is trained: `enter(requests, filter)` finds the places of all rows and makes room for
// those that it does not know, or does not admit them; then `utilities(place)`, `touch(place)` and
// `for_live(place, use(j, weights, slots))`.
template <typename Form>
void train_rows(Form& form, const Shape& shape, AdmissionFilter& filter,
                const std::vector<Lookups>& lookups, const Step& step) {
  const Requests requests(lookups, shape.dim, step.mean);
  const int64_t n = requests.size(), width = shape.width();
  const auto places = form.enter(requests, filter);
  const Numbers numbers(step);
  const float scale = static_cast<float>(step.scale);
  in_parallel(n, n, [&](int64_t begin, int64_t end) {
    std::vector<float> sum(shape.dim);
    for (int64_t i = begin; i < std::min(end, begin + kAhead); ++i) form.prefetch_place(places[i]);
    for (int64_t i = begin; i < end; ++i) {
      if (i + kAhead < end) form.prefetch_place(places[i + kAhead]);
      if (!Form::admitted(places[i])) continue;
      const float* const grad = requests.gradient(i, sum.data());
      const int64_t count = requests.count(i);
      Utility* const utility = form.utilities(places[i]);
      for (int64_t j = 0; j < shape.num_chunks; ++j) {
        const float more = score_of(step.score, count, grad + j * width, width) / scale;
        const int64_t q = requests.row(i) * shape.num_chunks + j;
        utility[j] = drawn_utility(value_of(utility[j]) + more, q, numbers.number);
      }
      form.touch(places[i]);
      form.for_live(places[i], [&](int64_t j, float* weights, float* slots) {
        update_chunk(numbers, grad + j * width, width, weights, slots);
      });
    }
  });
}

}  // namespace mirror::fiited
