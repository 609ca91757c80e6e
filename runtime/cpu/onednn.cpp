// Makes a oneDNN primitive from a library command, and runs it.

#include "runtime/cpu/onednn.h"

#include "runtime/cpu/call_memory.h"
#include "runtime/cpu/openmp.h"
#include "runtime/flat.h"
#include "runtime/library_ops.h"
#include "runtime/status.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace gradus::runtime {

namespace {

using artifact::Activation;
using artifact::LibraryCommand;
using artifact::LibraryTensor;

const char *nameOf(dnnl_status_t status) {
  switch (status) {
  case dnnl_out_of_memory:
    return "out of memory";
  case dnnl_invalid_arguments:
    return "invalid arguments";
  case dnnl_unimplemented:
    return "not implemented on this machine";
  default:
    return "runtime error";
  }
}

Status check(dnnl_status_t status, const char *what) {
  if (status == dnnl_success)
    return Status();
  return failed("oneDNN: ", what, ": ", nameOf(status));
}

//===-- owned handles -----------------------------------------------------===//

/// A oneDNN object that is destroyed at the end of the scope.
template <typename Handle> struct Owned {
  explicit Owned(dnnl_status_t (*destroyer)(Handle)) : destroy(destroyer) {}
  Owned(const Owned &) = delete;
  ~Owned() {
    if (handle)
      destroy(handle);
  }
  dnnl_status_t (*destroy)(Handle);
  Handle handle = nullptr;
};

using Description = Owned<dnnl_memory_desc_t>;

//===-- memory descriptions -----------------------------------------------===//

dnnl_data_type_t typeOf(DType dtype) {
  switch (dtype) {
  case DType::bf16:
    return dnnl_bf16;
  case DType::f16:
    return dnnl_f16;
  case DType::i32:
    return dnnl_s32;
  case DType::i8:
    return dnnl_s8;
  case DType::u8:
    return dnnl_u8;
  default:
    return dnnl_f32;
  }
}

std::vector<int64_t> denseStrides(const std::vector<int64_t> &dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;)
    strides[i - 1] = strides[i] * dims[i];
  return strides;
}

/// Whether a list of a oneDNN memory description equals the artifact's.
bool sameList(const OneDnn &library, const_dnnl_memory_desc_t description,
              dnnl_query_t what, const std::vector<int64_t> &wanted) {
  const dnnl_dims_t *found = nullptr;
  return library.dnnl_memory_desc_query(description, what, &found) ==
             dnnl_success &&
         std::equal(wanted.begin(), wanted.end(), *found);
}

bool hasLayout(const OneDnn &library, const_dnnl_memory_desc_t description,
               const LibraryTensor &tensor) {
  int blocks = 0;
  library.dnnl_memory_desc_query(description, dnnl_query_inner_nblks_s32,
                                 &blocks);
  return static_cast<size_t>(blocks) == countOf(tensor.inner_blocks()) &&
         sameList(library, description, dnnl_query_inner_blks,
                  valuesOf(tensor.inner_blocks())) &&
         sameList(library, description, dnnl_query_inner_idxs,
                  valuesOf(tensor.inner_axes())) &&
         sameList(library, description, dnnl_query_strides,
                  valuesOf(tensor.strides())) &&
         sameList(library, description, dnnl_query_padded_dims,
                  valuesOf(tensor.padded_dims()));
}

/// Blocked layouts cannot be described by their blocks, only by oneDNN's names:
/// tries them all, which takes well under a millisecond.
Status describeBlocked(const OneDnn &library, const LibraryTensor &tensor,
                       Description &description) {
  auto dims = valuesOf(tensor.dims());
  for (int tag = 1; tag < dnnl_format_tag_last; ++tag) {
    if (library.dnnl_memory_desc_create_with_tag(
            &description.handle, static_cast<int>(dims.size()), dims.data(),
            typeOf(tensor.dtype()),
            static_cast<dnnl_format_tag_t>(tag)) != dnnl_success)
      continue;
    if (hasLayout(library, description.handle, tensor))
      return Status();
    library.dnnl_memory_desc_destroy(description.handle);
    description.handle = nullptr;
  }
  return invalid("oneDNN has no layout with these blocks and strides");
}

Status describe(const OneDnn &library, const LibraryTensor &tensor,
                Description &description) {
  if (countOf(tensor.inner_blocks()) > 0)
    return describeBlocked(library, tensor, description);
  auto dims = valuesOf(tensor.dims());
  auto strides = countOf(tensor.strides()) ? valuesOf(tensor.strides())
                                           : denseStrides(dims);
  return check(library.dnnl_memory_desc_create_with_strides(
                   &description.handle, static_cast<int>(dims.size()),
                   dims.data(), typeOf(tensor.dtype()), strides.data()),
               "a tensor's layout");
}

//===-- attributes --------------------------------------------------------===//

onednn::Eltwise eltwiseOf(Activation activation) {
  switch (activation) {
  case Activation::tanh:
    return {dnnl_eltwise_tanh};
  case Activation::gelu_tanh:
    return {dnnl_eltwise_gelu_tanh};
  case Activation::gelu_erf:
    return {dnnl_eltwise_gelu_erf};
  case Activation::sigmoid:
    return {dnnl_eltwise_logistic};
  default:
    return onednn::kRelu;
  }
}

Status setAttributes(const OneDnn &library, Activation activation,
                     Owned<dnnl_primitive_attr_t> &attributes) {
  GRADUS_TRY(check(library.dnnl_primitive_attr_create(&attributes.handle),
                   "attributes"));
  GRADUS_TRY(check(library.dnnl_primitive_attr_set_scratchpad_mode(
                       attributes.handle, dnnl_scratchpad_mode_user),
                   "scratchpad mode"));
  if (activation == Activation::none)
    return Status();
  Owned<dnnl_post_ops_t> post(library.dnnl_post_ops_destroy);
  GRADUS_TRY(check(library.dnnl_post_ops_create(&post.handle), "epilogue"));
  auto [kind, alpha] = eltwiseOf(activation);
  GRADUS_TRY(
      check(library.dnnl_post_ops_append_eltwise(post.handle, kind, alpha, 0),
            "activation"));
  return check(
      library.dnnl_primitive_attr_set_post_ops(attributes.handle, post.handle),
      "epilogue");
}

//===-- primitive descriptions --------------------------------------------===//

/// One list of a convolution's windows, filled up to all axes as oneDNN needs
/// it.
std::vector<int64_t> window(const flatbuffers::Vector<int64_t> *list,
                            size_t axes, int64_t otherwise, int64_t minus = 0) {
  std::vector<int64_t> full = valuesOf(list);
  full.resize(axes, otherwise);
  for (int64_t &number : full)
    number -= minus;
  return full;
}

struct Windows {
  Windows(const artifact::Windows &of, size_t axes)
      : strides(window(of.strides(), axes, 1)),
        dilations(window(of.dilations(), axes, 1, /*minus=*/1)), // 0 = dense
        padsBegin(window(of.pads_begin(), axes, 0)),
        padsEnd(window(of.pads_end(), axes, 0)) {}

  std::vector<int64_t> strides, dilations, padsBegin, padsEnd;
};

/// The memory descriptions of a call in the order of the artifact: inputs,
/// outputs.
using Descriptions = std::vector<std::unique_ptr<Description>>;

/// Describes the primitive of each call, and names oneDNN's argument of each
/// memory in the order of the artifact. A verified command has the operands of
/// its call.
struct Primitive {
  const OneDnn &library;
  const LibraryCommand &command;
  const Descriptions &of;
  const_dnnl_primitive_attr_t attributes;
  dnnl_primitive_desc_t *result;
  std::vector<int> &arguments;

  dnnl_status_t operator()(const artifact::MatmulCall &);
  dnnl_status_t operator()(const artifact::ConvolutionCall &);
  dnnl_status_t operator()(const artifact::ConvolutionBackwardDataCall &);
  dnnl_status_t operator()(const artifact::ConvolutionBackwardWeightsCall &);
  dnnl_status_t operator()(const artifact::ReorderCall &);
  dnnl_status_t operator()(const artifact::AttentionCall &) {
    return dnnl_unimplemented;
  }
  dnnl_status_t operator()(const artifact::AttentionBackwardCall &) {
    return dnnl_unimplemented;
  }

private:
  bool hasBias() const { return countOf(command.inputs()) > 2; }
  /// The description of a memory; null if there is none of this number.
  const_dnnl_memory_desc_t description(size_t i) const {
    return i < of.size() ? of[i]->handle : nullptr;
  }
  const_dnnl_memory_desc_t bias() const {
    return hasBias() ? description(2) : nullptr;
  }
  const_dnnl_memory_desc_t output() const {
    return description(countOf(command.inputs()));
  }
  void nameForward();
  Windows fullWindows(const artifact::Windows &windows) const {
    return {windows, countOf(command.inputs()->Get(0)->dims()) - 2};
  }
};

void Primitive::nameForward() {
  arguments = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST};
  if (hasBias())
    arguments.insert(arguments.begin() + 2, DNNL_ARG_BIAS);
}

dnnl_status_t Primitive::operator()(const artifact::MatmulCall &) {
  nameForward();
  return library.dnnl_matmul_primitive_desc_create(
      result, library.engine, description(0), description(1), bias(), output(),
      attributes);
}

dnnl_status_t Primitive::operator()(const artifact::ConvolutionCall &call) {
  nameForward();
  Windows w = fullWindows(*call.windows());
  return library.dnnl_convolution_forward_primitive_desc_create(
      result, library.engine, dnnl_forward_training, dnnl_convolution_direct,
      description(0), description(1), bias(), output(), w.strides.data(),
      w.dilations.data(), w.padsBegin.data(), w.padsEnd.data(), attributes);
}

dnnl_status_t
Primitive::operator()(const artifact::ConvolutionBackwardDataCall &call) {
  arguments = {DNNL_ARG_DIFF_DST, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_SRC};
  Windows w = fullWindows(*call.windows());
  return library.dnnl_convolution_backward_data_primitive_desc_create(
      result, library.engine, dnnl_convolution_direct, description(2),
      description(1), description(0), w.strides.data(), w.dilations.data(),
      w.padsBegin.data(), w.padsEnd.data(), nullptr, attributes);
}

dnnl_status_t
Primitive::operator()(const artifact::ConvolutionBackwardWeightsCall &call) {
  arguments = {DNNL_ARG_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_WEIGHTS,
               DNNL_ARG_DIFF_BIAS};
  Windows w = fullWindows(*call.windows());
  return library.dnnl_convolution_backward_weights_primitive_desc_create(
      result, library.engine, dnnl_convolution_direct, description(0),
      description(2), description(3), description(1), w.strides.data(),
      w.dilations.data(), w.padsBegin.data(), w.padsEnd.data(), nullptr,
      attributes);
}

dnnl_status_t Primitive::operator()(const artifact::ReorderCall &) {
  arguments = {DNNL_ARG_FROM, DNNL_ARG_TO};
  return library.dnnl_reorder_primitive_desc_create(
      result, description(0), library.engine, description(1), library.engine,
      attributes);
}

std::vector<const LibraryTensor *> tensorsOf(const LibraryCommand &command) {
  std::vector<const LibraryTensor *> tensors;
  for (size_t i = 0; i < countOf(command.inputs()); ++i)
    tensors.push_back(command.inputs()->Get(i));
  for (size_t i = 0; i < countOf(command.outputs()); ++i)
    tensors.push_back(command.outputs()->Get(i));
  return tensors;
}

} // namespace

StatusOr<std::unique_ptr<OneDnnCall>>
OneDnnCall::create(const LibraryCommand &command,
                   const std::vector<uint8_t *> &buffers, ThreadPool &pool,
                   int logical) {
  GRADUS_ASSIGN(const OneDnn *library, oneDnn());
  std::unique_ptr<OneDnnCall> call(new OneDnnCall(*library, pool, logical));
  OpenMpScope scope(pool, logical);
  GRADUS_TRY(call->prepare(command, buffers));
  return call;
}

OneDnnCall::~OneDnnCall() {
  for (const dnnl_exec_arg_t &argument : arguments_)
    library_.dnnl_memory_destroy(argument.memory);
  if (primitive_)
    library_.dnnl_primitive_destroy(primitive_);
}

Status OneDnnCall::addMemory(const_dnnl_memory_desc_t description, int argument,
                             void *data) {
  dnnl_memory_t memory = nullptr;
  GRADUS_TRY(check(
      library_.dnnl_memory_create(&memory, description, library_.engine, data),
      "memory"));
  arguments_.push_back({argument, memory});
  return Status();
}

Status OneDnnCall::prepare(const LibraryCommand &command,
                           const std::vector<uint8_t *> &buffers) {
  auto tensors = tensorsOf(command);
  Descriptions descriptions;
  for (const LibraryTensor *tensor : tensors) {
    descriptions.push_back(
        std::make_unique<Description>(library_.dnnl_memory_desc_destroy));
    GRADUS_TRY(describe(library_, *tensor, *descriptions.back()));
  }
  Owned<dnnl_primitive_attr_t> attributes(library_.dnnl_primitive_attr_destroy);
  GRADUS_TRY(setAttributes(library_, activationOf(command), attributes));
  Owned<dnnl_primitive_desc_t> description(
      library_.dnnl_primitive_desc_destroy);
  std::vector<int> arguments;
  Primitive primitive{
      library_, command, descriptions, attributes.handle, &description.handle,
      arguments};
  GRADUS_TRY(check(visitLibraryOp(
                       command, [] { return dnnl_unimplemented; }, primitive),
                   "these shapes and layouts"));
  GRADUS_TRY(
      check(library_.dnnl_primitive_create(&primitive_, description.handle),
            "a kernel"));
  for (size_t i = 0; i < tensors.size(); ++i)
    GRADUS_TRY(addMemory(descriptions[i]->handle, arguments[i],
                         buffers[tensors[i]->buffer()]));
  const_dnnl_memory_desc_t scratch = library_.dnnl_primitive_desc_query_md(
      description.handle, dnnl_query_scratchpad_md, 0);
  scratchSize_ = scratch ? library_.dnnl_memory_desc_get_size(scratch) : 0;
  if (scratchSize_ == 0)
    return Status();
  return addMemory(scratch, DNNL_ARG_SCRATCHPAD, DNNL_MEMORY_NONE);
}

Status OneDnnCall::setScratch(void *scratch) {
  if (scratchSize_ == 0)
    return Status();
  return check(
      library_.dnnl_memory_set_data_handle(arguments_.back().memory, scratch),
      "scratch");
}

Status OneDnnCall::run() {
  OpenMpScope threads(pool_, logical_);
  // Objects of the first run, such as machine code, may live as long as the
  // process: they would use up the cells.
  std::optional<CallMemoryScope> memory;
  if (std::exchange(hasRun_, true))
    memory.emplace();
  return check(library_.dnnl_primitive_execute(
                   primitive_, library_.stream,
                   static_cast<int>(arguments_.size()), arguments_.data()),
               "execution");
}

} // namespace gradus::runtime
