// The arithmetic of torch's optimizers, element by element: every operation rounds, or is fused,
// where torch's own kernels round or fuse it. Files that include this switch contraction off.
#pragma once

#include <cmath>
#include <cstdint>

namespace mirror::optimizer {

// torch/optim/sgd.py, _single_tensor_sgd.
struct Sgd {
  double lr, weight_decay, momentum, dampening;
  bool nesterov, maximize;

  bool plain() const { return weight_decay == 0 && momentum == 0; }

  // weight + 0 * -lr is the weight, -0 included, where the product is -0.
  bool skips_zeros() const {
    return plain() && !maximize && std::signbit(-lr) && std::isfinite(static_cast<float>(lr));
  }

  // n elements of a table; `buffer`: nullptr without momentum; `first`: it holds nothing yet.
  template <typename T>
  void dense(T* weight, const T* gradient, T* buffer, bool first, int64_t n) const {
    const T step = static_cast<T>(-lr), decay = static_cast<T>(weight_decay);
    const T keep = static_cast<T>(momentum), share = static_cast<T>(1 - dampening);
    const T sign = maximize ? T(-1) : T(1);
    const bool decays = weight_decay != 0;
    for (int64_t i = 0; i < n; ++i) {
      T grad = sign * gradient[i];
      if (decays) grad = std::fma(weight[i], decay, grad);
      if (buffer) {
        const T kept = keep * buffer[i];
        buffer[i] = first ? grad : std::fma(grad, share, kept);
        grad = nesterov ? std::fma(buffer[i], keep, grad) : buffer[i];
      }
      weight[i] = std::fma(grad, step, weight[i]);
    }
  }

  // A row of values of a sparse gradient.
  template <typename T>
  void sparse(T* __restrict__ weight, const T* __restrict__ values, int64_t n) const {
    const T step = static_cast<T>(maximize ? lr : -lr);
    for (int64_t i = 0; i < n; ++i) weight[i] = std::fma(values[i], step, weight[i]);
  }
};

// Rules with a square root go over a block twice: begin() updates the state and puts under `roots`
// what finish() wants the roots of. The roots are taken by torch's own sqrt in between, which MKL
// may round another way than the processor does.

// torch/optim/adagrad.py, _single_tensor_adagrad; `rate` is the one after its decay.
struct Adagrad {
  double weight_decay, eps;
  bool maximize;

  template <typename T>
  T signed_gradient(T gradient, T weight, T decay) const {
    const T grad = maximize ? -gradient : gradient;
    return weight_decay == 0 ? grad : std::fma(weight, decay, grad);
  }

  template <typename T>
  void begin_dense(const T* __restrict__ weight, const T* __restrict__ gradient,
                   T* __restrict__ sum, T* __restrict__ roots, int64_t n) const {
    const T decay = static_cast<T>(weight_decay);
    for (int64_t i = 0; i < n; ++i) {
      const T grad = signed_gradient(gradient[i], weight[i], decay);
      roots[i] = sum[i] = std::fma(grad, grad, sum[i]);
    }
  }

  template <typename T>
  void finish_dense(T* __restrict__ weight, const T* __restrict__ gradient,
                    const T* __restrict__ roots, double rate, int64_t n) const {
    const T step = static_cast<T>(-rate), small = static_cast<T>(eps);
    const T decay = static_cast<T>(weight_decay);
    for (int64_t i = 0; i < n; ++i) {
      const T scaled = step * signed_gradient(gradient[i], weight[i], decay);
      const T change = scaled / (roots[i] + small);
      weight[i] = weight[i] + change;
    }
  }

  // Of a row of a sparse gradient; the states are sum and nothing.
  template <typename T>
  void begin(const T* __restrict__ values, T* __restrict__ sum, T*, T* __restrict__ roots,
             int64_t n) const {
    for (int64_t i = 0; i < n; ++i) {
      const T square = values[i] * values[i];
      roots[i] = sum[i] = sum[i] + square;
    }
  }

  template <typename T>
  void finish(T* __restrict__ weight, const T* __restrict__ values, const T*,
              const T* __restrict__ roots, double rate, int64_t n) const {
    const T step = static_cast<T>(maximize ? rate : -rate), small = static_cast<T>(eps);
    for (int64_t i = 0; i < n; ++i) {
      weight[i] = std::fma(values[i] / (roots[i] + small), step, weight[i]);
    }
  }
};

// torch/optim/_functional.py, sparse_adam; `rate` has the corrections of both biases.
struct SparseAdam {
  double beta1, beta2, eps;
  bool maximize;

  // The states are the averages of gradients and of their squares.
  template <typename T>
  void begin(const T* __restrict__ values, T* __restrict__ average, T* __restrict__ square_average,
             T* __restrict__ roots, int64_t n) const {
    const T share1 = static_cast<T>(1 - beta1), share2 = static_cast<T>(1 - beta2);
    for (int64_t i = 0; i < n; ++i) {
      const T grad = maximize ? -values[i] : values[i];
      const T square = grad * grad;
      const T more = (grad - average[i]) * share1;
      const T more_square = (square - square_average[i]) * share2;
      average[i] = average[i] + more;
      roots[i] = square_average[i] = square_average[i] + more_square;
    }
  }

  template <typename T>
  void finish(T* __restrict__ weight, const T*, const T* __restrict__ average,
              const T* __restrict__ roots, double rate, int64_t n) const {
    const T step = static_cast<T>(-rate), small = static_cast<T>(eps);
    for (int64_t i = 0; i < n; ++i) {
      const T change = step * (average[i] / (roots[i] + small));
      weight[i] = weight[i] + change;
    }
  }
};

}  // namespace mirror::optimizer
