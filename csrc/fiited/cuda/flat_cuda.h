// The flat form on a GPU: as on the CPU an address and a utility for every virtual chunk and one
// pool of chunks, all of it allocated when it is made. Results are those of the CPU, bit for bit.
#pragma once

#include <cuda_runtime_api.h>

#include "fiited/cpu/admission.h"
#include "fiited/cuda/launches.h"
#include "fiited/storage.h"

namespace mirror::fiited::cuda {

// Tensors are on `device`; those that are handed out to decide or to save are on the CPU.
class FlatCuda final : public Storage {
 public:
  FlatCuda(Shape shape, at::Device device);

  // Waits for the device once, to say which id is out of range.
  Bags bags(const std::vector<at::Tensor>& inputs,
            const std::vector<std::optional<at::Tensor>>& offsets, std::optional<int64_t> seed,
            bool joint) override;
  int64_t first_not_finite(const at::Tensor& grad) override;

  at::Tensor forward(const at::Tensor& rows, const at::Tensor& offsets, bool mean) override;
  // Does not wait for the device, except with an admission filter, which counts on the CPU.
  void train(const std::vector<Lookups>& lookups, const Step& step) override;

  void set_slots(int64_t width, double value) override;
  int64_t slot_width() override { return slots_.size(1); }
  void set_slot_value(double value) override { slot_value_ = static_cast<float>(value); }

  void scale_utilities(double factor) override;
  at::Tensor age() override;
  at::Tensor histogram(Candidates of, Digit digit, const std::vector<Threshold>& prefix) override;
  at::Tensor moves(const std::vector<Threshold>& keep) override;
  std::tuple<at::Tensor, at::Tensor, at::Tensor> apply(const std::vector<Threshold>& keep,
                                                       bool listed, bool with_weights) override;
  void forget(Threshold keep) override;

  std::vector<at::Tensor> state() override;
  void load_state(const std::vector<at::Tensor>& state) override;
  at::Tensor live_masks(const at::Tensor& rows) override;
  at::Tensor utilities(const at::Tensor& rows) override;
  int64_t live() override { return live_; }
  at::Tensor live_histogram() override;
  c10::Dict<std::string, int64_t> bytes() override;
  void verify() override;

 private:
  Table table() const;
  cudaStream_t stream() const;
  void start(const Body& body) const;
  at::Tensor empty(at::IntArrayRef sizes, at::ScalarType type) const;
  at::Tensor on_device(const std::vector<Threshold>& thresholds) const;
  at::Tensor counted(Counted what, Digit digit, const std::vector<Threshold>& keep, int64_t groups,
                     int64_t values) const;
  // Of rows sorted, and the numbers of their lookups: a mark at the first lookup of a row that the
  // admission filter does not let in.
  at::Tensor refused(const at::Tensor& rows, const at::Tensor& order);
  void evict(const at::Tensor& which, float* weights);
  void admit(const at::Tensor& which);

  at::Device device_;
  AdmissionFilter filter_;
  at::Tensor ends_;     // of tables (T,) int64
  at::Tensor address_;  // (V, k) int32
  at::Tensor utility_;  // (V, k) bfloat16
  at::Tensor weights_;  // (P + 1, c) float32; the null chunk first
  at::Tensor slots_;    // (P + 1, slot width) float32
  at::Tensor owner_;    // (P + 1,) int32
  at::Tensor free_;     // (P,) int32; the first P - live are a stack
  at::Tensor age_;      // (V,) the bits of uint16; (0,) where rows do not age
  float slot_value_ = 0;
  int64_t live_ = 0;
};

}  // namespace mirror::fiited::cuda
