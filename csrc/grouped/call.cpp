// Checks the tensors of a grouped embedding and resolves what its plan says about them.
#include <ATen/EmptyTensor.h>
#include <ATen/ops/copy.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/narrow.h>
#include <ATen/ops/select.h>
#include <c10/util/SmallVector.h>

#include "grouped/embedding.h"
#include "grouped/output_block.h"

namespace mirror {
namespace {

using at::Tensor;
using Sizes = c10::SmallVector<int64_t, 4>;

constexpr int64_t kAlignment = 64;
// What outputs may share: where they are larger, an allocation each does not matter.
constexpr int64_t kSharedBytes = int64_t{16} << 20;

// A tensor or a slice of it, without the cost of a tensor of its own.
struct Slice {
  const char* data;
  at::ScalarType dtype;
  Sizes sizes, strides;

  int64_t dim() const { return static_cast<int64_t>(sizes.size()); }
  int64_t numel() const {
    int64_t count = 1;
    for (const int64_t size : sizes) count *= size;
    return count;
  }
};

Slice as_slice(const Tensor& tensor) {
  return {static_cast<const char*>(tensor.const_data_ptr()), tensor.scalar_type(),
          Sizes(tensor.sizes().begin(), tensor.sizes().end()),
          Sizes(tensor.strides().begin(), tensor.strides().end())};
}

Slice resolve(const TensorView& view, at::TensorList tensors, const TablePlan& table) {
  const Tensor& tensor = tensors[view.tensor];
  Slice found = as_slice(tensor);
  if (view.dim < 0) return found;
  const int64_t length = view.length < 0 ? 1 : view.length;
  TORCH_CHECK_VALUE(view.dim < found.dim() && view.start + length <= found.sizes[view.dim],
                    "table ", table.name, ": its slice from ", view.start, " to ",
                    view.start + length, " of dimension ", view.dim,
                    " lies outside a tensor of shape ", tensor.sizes());
  found.data += view.start * found.strides[view.dim] * tensor.element_size();
  if (view.length < 0) {
    found.sizes.erase(found.sizes.begin() + view.dim);
    found.strides.erase(found.strides.begin() + view.dim);
  } else {
    found.sizes[view.dim] = view.length;
  }
  return found;
}

void check_index(const Slice& slice, const char* what, const TablePlan& table) {
  TORCH_CHECK_TYPE(slice.dtype == at::kLong || slice.dtype == at::kInt, "table ", table.name, ": ",
                   what, " must be int32 or int64, not ", slice.dtype);
}

// Whether the elements follow one another at one distance, which becomes `stride`.
bool one_stride(const Slice& slice, int64_t& stride) {
  stride = 1;
  bool last = true;
  int64_t expected = 0;  // also where the last dimension repeats one element
  for (int64_t d = slice.dim(); d-- > 0;) {
    if (slice.sizes[d] == 1) continue;
    if (last) {
      stride = slice.strides[d];
    } else if (slice.strides[d] != expected) {
      return false;
    }
    expected = slice.strides[d] * slice.sizes[d];
    last = false;
  }
  return true;
}

struct Resolver {
  const GroupedInputs& inputs;
  GroupedCall& call;

  Slice contiguous(const TensorView& view, at::TensorList tensors) {
    call.copies.push_back(slice(view, tensors).contiguous());
    return as_slice(call.copies.back());
  }

  void ids(TableCall& out) {
    const TablePlan& table = *out.plan;
    Slice ids = resolve(table.ids, inputs.ids, table);
    check_index(ids, "ids", table);
    out.num_ids = ids.numel();
    out.long_ids = ids.dtype == at::kLong;
    out.bag_size = -1;
    out.bag_stride = out.num_offsets = out.offset_stride = 0;
    out.offsets = nullptr;
    if (table.mode == GroupedMode::kRow) {
      if (!one_stride(ids, out.bag_stride)) {
        ids = contiguous(table.ids, inputs.ids);
        out.bag_stride = 1;
      }
      out.bags = out.num_ids;
      out.bag_size = out.id_stride = 1;
    } else if (table.offsets.given()) {
      TORCH_CHECK_VALUE(ids.dim() == 1, "table ", table.name,
                        ": ids must have one dimension where there are offsets, not ", ids.dim());
      out.id_stride = ids.strides[0];
      const Slice offsets = resolve(table.offsets, inputs.offsets, table);
      check_index(offsets, "offsets", table);
      TORCH_CHECK_VALUE(offsets.dim() == 1, "table ", table.name,
                        ": offsets must have one dimension, not ", offsets.dim());
      TORCH_CHECK_VALUE(!table.last || offsets.sizes[0] >= 1, "table ", table.name,
                        ": offsets must hold at least one value where the last offset is included");
      out.offsets = offsets.data;
      out.long_offsets = offsets.dtype == at::kLong;
      out.num_offsets = offsets.sizes[0];
      out.offset_stride = offsets.strides[0];
      out.bags = out.num_offsets - table.last;
    } else {
      TORCH_CHECK_VALUE(ids.dim() == 2, "table ", table.name,
                        ": ids without offsets must be (bags, ids per bag), not ", ids.sizes);
      out.bags = ids.sizes[0];
      out.bag_size = ids.sizes[1];
      out.bag_stride = ids.strides[0];
      out.id_stride = ids.strides[1];
    }
    out.ids = ids.data;
  }

  void sample_weights(TableCall& out) {
    const TablePlan& table = *out.plan;
    out.sample_weights = nullptr;
    out.sample_bag_stride = out.sample_stride = 0;
    if (!table.weights.given()) return;
    const Slice weights = resolve(table.weights, inputs.sample_weights, table);
    TORCH_CHECK_TYPE(weights.dtype == out.dtype, "table ", table.name,
                     ": per_sample_weights must have the type of the table, ", out.dtype, ", not ",
                     weights.dtype);
    const bool bags = out.bag_size >= 0;
    TORCH_CHECK_VALUE(bags ? weights.dim() == 2 && weights.sizes[0] == out.bags &&
                                 weights.sizes[1] == out.bag_size
                           : weights.dim() == 1 && weights.sizes[0] == out.num_ids,
                      "table ", table.name,
                      ": per_sample_weights must have the shape of the ids, not ", weights.sizes);
    out.sample_weights = weights.data;
    out.sample_bag_stride = bags ? weights.strides[0] : 0;
    out.sample_stride = weights.strides[bags ? 1 : 0];
  }

  // Of a matrix whose rows have their elements side by side; copied where they do not.
  Tensor rows_of(const Tensor& matrix) {
    if (matrix.stride(-1) == 1 || matrix.size(-1) <= 1) return matrix;
    return call.copies.emplace_back(matrix.contiguous());
  }
};

void check_count(const char* what, at::TensorList tensors, int64_t expected) {
  TORCH_CHECK_VALUE(static_cast<int64_t>(tensors.size()) == expected, "the plan knows ", expected,
                    " ", what, " but the call has ", tensors.size());
}

void check_counts(const GroupedPlan& plan, const GroupedInputs& inputs) {
  check_count("id tensors", inputs.ids, plan.num_ids);
  check_count("offset tensors", inputs.offsets, plan.num_offsets);
  check_count("per_sample_weights", inputs.sample_weights, plan.num_weights);
}

void check_float(at::ScalarType dtype, const TablePlan& table) {
  TORCH_CHECK_TYPE(
      dtype == at::kFloat || dtype == at::kDouble || dtype == at::kBFloat16 || dtype == at::kHalf,
      "table ", table.name, " must be float32, float64, bfloat16 or float16, not ", dtype);
}

void check_devices(const GroupedPlan& plan, at::Device device, const GroupedInputs& inputs) {
  for (size_t t = 0; t < inputs.weights.size(); ++t) {
    TORCH_CHECK_VALUE(inputs.weights[t].device() == device, "table ", plan.tables[t].name,
                      " is on ", inputs.weights[t].device(), ", the first one on ", device,
                      ": all must be on one device");
  }
  const auto check = [&](const char* what, at::TensorList tensors) {
    for (const Tensor& tensor : tensors) {
      TORCH_CHECK_VALUE(tensor.device() == device, what, " of a grouped embedding are on ",
                        tensor.device(), ", the tables on ", device, ": all must be on one device");
    }
  };
  check("ids", inputs.ids);
  check("offsets", inputs.offsets);
  check("per_sample_weights", inputs.sample_weights);
  check("extra tensors", inputs.extras);
}

GroupedCall empty_call(const GroupedPlan& plan) {
  GroupedCall call{&plan, std::vector<TableCall>(plan.tables.size()), {}};
  for (size_t t = 0; t < plan.tables.size(); ++t) call.tables[t].plan = &plan.tables[t];
  return call;
}

// Shape of a table's own output.
Sizes output_sizes(const TableCall& call, const GroupedInputs& inputs) {
  const TablePlan& table = *call.plan;
  if (table.mode != GroupedMode::kRow) return {call.bags, call.dim};
  Sizes sizes = resolve(table.ids, inputs.ids, table).sizes;
  sizes.push_back(call.dim);
  return sizes;
}

// Shape of an output.
struct Shape {
  const Tensor* like;
  Sizes sizes;
  int64_t width;  // elements of a bag in all parts

  // Rounded up to whole cache lines; too many to share where the number overflows.
  int64_t padded_bytes() const {
    int64_t bytes = like->element_size();
    for (const int64_t size : sizes)
      if (__builtin_mul_overflow(bytes, size, &bytes)) return kSharedBytes + 1;
    return bytes > kSharedBytes ? bytes : (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
};

Shape shape_of(const OutputPlan& output, const GroupedCall& call, const GroupedInputs& inputs) {
  Shape shape{nullptr, {}, 0};
  for (const int64_t part : output.parts) {
    const bool table = part >= 0;
    const Tensor& tensor = table ? inputs.weights[part] : inputs.extras[-1 - part];
    const Sizes own = table ? output_sizes(call.tables[part], inputs)
                            : Sizes(tensor.sizes().begin(), tensor.sizes().end());
    const auto name = [&] {
      return table ? "table " + call.plan->tables[part].name
                   : "extra tensor " + std::to_string(-1 - part);
    };
    TORCH_CHECK_VALUE(!own.empty(), name(), " has no dimension to concatenate");
    if (!shape.like) {
      shape.like = &tensor;
      shape.sizes = own;
    }
    TORCH_CHECK_TYPE(tensor.scalar_type() == shape.like->scalar_type(), name(), " is ",
                     tensor.scalar_type(), " but what it is joined with is ",
                     shape.like->scalar_type());
    TORCH_CHECK_VALUE(
        own.size() == shape.sizes.size() &&
            std::equal(own.begin(), own.end() - 1, shape.sizes.begin()) &&
            (output.kind != OutputKind::kStack || (own.size() == 2 && own == shape.sizes)),
        name(), " gives shape ", own, ", which cannot be joined with ", shape.sizes);
    shape.width += own.back();
  }
  if (output.kind == OutputKind::kStack) {
    shape.sizes.insert(shape.sizes.end() - 1, static_cast<int64_t>(output.parts.size()));
  } else {
    shape.sizes.back() = shape.width;
  }
  return shape;
}

// A tensor whose storage is part of a block, which lives as long as any of its parts. The storages
// are several, since outputs of an op must not be views of one another: each may be resized, freed
// and saved by itself.
Tensor part_of(const c10::Storage& block, int64_t offset, const Shape& shape) {
  c10::DataPtr data(
      static_cast<char*>(block.mutable_data()) + offset,
      c10::Storage(block).unsafeReleaseStorageImpl(),
      [](void* kept) {
        c10::intrusive_ptr<c10::StorageImpl>::reclaim(static_cast<c10::StorageImpl*>(kept));
      },
      c10::Device(c10::kCPU));
  const int64_t bytes = c10::multiply_integers(shape.sizes) * shape.like->element_size();
  c10::Storage part(c10::Storage::use_byte_size_t(), bytes, std::move(data),
                    c10::GetAllocator(c10::kCPU),
                    /*resizable=*/true);
  Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(
      std::move(part), c10::DispatchKeySet(c10::DispatchKey::CPU), shape.like->dtype());
  tensor.unsafeGetTensorImpl()->set_sizes_contiguous(shape.sizes);
  return tensor;
}

Tensor allocate_alone(const Shape& shape) {
  // Past the dispatcher, which takes longer than a small lookup.
  return shape.like->is_cpu()
             ? Tensor(at::detail::empty_cpu(shape.sizes, shape.like->scalar_type()))
             : at::empty(shape.sizes, shape.like->options());
}

// On the CPU consecutive outputs share a block: to a small lookup one allocation per output is a
// cost.
std::vector<Tensor> allocate(const std::vector<Shape>& shapes) {
  std::vector<Tensor> outputs;
  outputs.reserve(shapes.size());
  for (size_t first = 0, end; first < shapes.size(); first = end) {
    int64_t bytes = shapes[first].padded_bytes();
    for (end = first + 1; end < shapes.size() && shapes[first].like->is_cpu(); ++end) {
      if (bytes + shapes[end].padded_bytes() > kSharedBytes) break;
      bytes += shapes[end].padded_bytes();
    }
    if (end == first + 1 && !(shapes[first].like->is_cpu() && is_kept(bytes))) {
      outputs.push_back(allocate_alone(shapes[first]));
      continue;
    }
    const c10::Storage block = output_block(bytes);
    int64_t offset = 0;
    for (size_t i = first; i < end; ++i) {
      outputs.push_back(part_of(block, offset, shapes[i]));
      offset += shapes[i].padded_bytes();
    }
  }
  return outputs;
}

}  // namespace

bool absent(const Tensor& tensor) { return tensor.dim() == 1 && tensor.numel() == 0; }

Tensor slice(const TensorView& view, at::TensorList tensors) {
  const Tensor& tensor = tensors[view.tensor];
  if (view.dim < 0) return tensor;
  return view.length < 0 ? tensor.select(view.dim, view.start)
                         : tensor.narrow(view.dim, view.start, view.length);
}

GroupedCall grouped_call(const GroupedPlan& plan, const GroupedInputs& inputs) {
  check_count("tables", inputs.weights, static_cast<int64_t>(plan.tables.size()));
  check_count("extra tensors", inputs.extras, plan.num_extras);
  check_counts(plan, inputs);
  check_devices(plan, inputs.weights[0].device(), inputs);
  GroupedCall call = empty_call(plan);
  Resolver resolver{inputs, call};
  for (size_t t = 0; t < plan.tables.size(); ++t) {
    TableCall& out = call.tables[t];
    const Tensor& given = inputs.weights[t];
    TORCH_CHECK_VALUE(given.dim() == 2, "table ", out.plan->name,
                      " must have two dimensions, (rows, dim), not ", given.dim());
    check_float(given.scalar_type(), *out.plan);
    const Tensor weight = resolver.rows_of(given);
    out.dtype = weight.scalar_type();
    out.weight = weight.const_data_ptr();
    out.rows = weight.size(0);
    out.dim = weight.size(1);
    out.row_stride = weight.stride(0);
    resolver.ids(out);
    resolver.sample_weights(out);
  }
  return call;
}

GroupedCall grouped_backward_call(const GroupedPlan& plan, at::TensorList grads,
                                  at::IntArrayRef rows, const GroupedInputs& inputs) {
  const int64_t tables = static_cast<int64_t>(plan.tables.size());
  check_count("gradients", grads, tables);
  TORCH_CHECK_VALUE(static_cast<int64_t>(rows.size()) == tables, "the plan knows ", tables,
                    " tables but the call has ", rows.size(), " numbers of rows");
  if (!inputs.weights.empty()) check_count("tables", inputs.weights, tables);
  check_counts(plan, inputs);
  check_devices(plan, grads[0].device(), inputs);
  GroupedCall call = empty_call(plan);
  Resolver resolver{inputs, call};
  for (size_t t = 0; t < plan.tables.size(); ++t) {
    TableCall& out = call.tables[t];
    if (absent(grads[t])) continue;  // it has no bags then
    check_float(grads[t].scalar_type(), *out.plan);
    out.dtype = grads[t].scalar_type();
    out.rows = rows[t];
    out.dim = grads[t].size(-1);
    if (!inputs.weights.empty() && !absent(inputs.weights[t])) {
      const Tensor& given = inputs.weights[t];
      TORCH_CHECK_VALUE(given.dim() == 2 && given.size(0) == out.rows && given.size(1) == out.dim &&
                            given.scalar_type() == out.dtype,
                        "table ", out.plan->name, " must be ", out.dtype, " of shape (", out.rows,
                        ", ", out.dim, ") in the gradient of a grouped embedding, not ",
                        given.scalar_type(), " of shape ", given.sizes());
      const Tensor weight = resolver.rows_of(given);
      out.weight = weight.const_data_ptr();
      out.row_stride = weight.stride(0);
    }
    TORCH_CHECK_VALUE(out.weight || out.plan->mode != GroupedMode::kMax || !out.rows, "table ",
                      out.plan->name, ": the gradient of a maximum needs the table");
    resolver.ids(out);
    resolver.sample_weights(out);
    TORCH_CHECK_VALUE(grads[t].numel() == out.bags * out.dim, "table ", out.plan->name,
                      ": its gradient has shape ", grads[t].sizes(), ", not that of its output");
    // A gradient of more than two dimensions is that of rows, and seldom anything but contiguous.
    const Tensor grad =
        grads[t].dim() == 2
            ? resolver.rows_of(grads[t])
            : call.copies.emplace_back(grads[t].reshape({out.bags, out.dim}).contiguous());
    out.out = static_cast<char*>(const_cast<void*>(grad.const_data_ptr()));
    out.out_stride = grad.stride(0);
  }
  return call;
}

std::vector<Tensor> grouped_outputs(GroupedCall& call, const GroupedInputs& inputs) {
  std::vector<Shape> shapes;
  shapes.reserve(call.plan->outputs.size());
  for (const OutputPlan& output : call.plan->outputs)
    shapes.push_back(shape_of(output, call, inputs));
  std::vector<Tensor> outputs = allocate(shapes);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& joined = outputs[i];
    int64_t column = 0;
    for (const int64_t part : call.plan->outputs[i].parts) {
      if (part < 0) {
        const Tensor& extra = inputs.extras[-1 - part];
        joined.narrow(-1, column, extra.size(-1)).copy_(extra);
        column += extra.size(-1);
        continue;
      }
      TableCall& table = call.tables[part];
      table.out = static_cast<char*>(joined.mutable_data_ptr()) + column * joined.element_size();
      table.out_stride = shapes[i].width;
      column += table.dim;
    }
  }
  return outputs;
}

}  // namespace mirror
