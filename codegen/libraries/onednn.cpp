// Asks oneDNN for layouts and scratch by creating primitive descriptors;
// nothing is run. The library is loaded when a program first needs it.

#include "codegen/libraries/onednn.h"

#include "codegen/libraries/blocked_tensor.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

#ifdef GRADUS_WITH_ONEDNN
#include "runtime/library_places.h"
#include "runtime/onednn_functions.h"
#endif

namespace gradus {
using namespace mlir;

#ifndef GRADUS_WITH_ONEDNN

bool hasOneDnn() { return false; }
bool askOneDnn(LibraryCall &, bool) { return true; }
static std::vector<std::string> places() { return {}; }

#else

namespace {

namespace onednn = runtime::onednn;

struct Functions : onednn::Functions {
  dnnl_engine_t engine = nullptr;
};

std::vector<std::string> places() {
  return runtime::libraryPlaces(onednn::kVariable, {onednn::kName});
}

/// The functions of the library; null if it is missing.
const Functions *library() {
  static const Functions *loaded = []() -> const Functions * {
    auto search = runtime::findLibrary(onednn::wanted());
    if (!search.found)
      return nullptr;
    auto *result = new Functions;
    if (result->take(*search.found) ||
        result->dnnl_engine_create(&result->engine, dnnl_cpu, 0) !=
            dnnl_success)
      return nullptr;
    return result;
  }();
  return loaded;
}

/// A handle of the library with its destructor.
template <typename Handle> struct Owned {
  explicit Owned(dnnl_status_t (*destroy)(Handle)) : destroy(destroy) {}
  Owned(const Owned &) = delete;
  ~Owned() {
    if (handle)
      destroy(handle);
  }
  Handle handle = nullptr;
  dnnl_status_t (*destroy)(Handle);
};

using Description = Owned<dnnl_memory_desc_t>;

/// The form to ask for where the library may choose: blocks of so many channels
/// where these are asked for, of 8 only if channels fill them.
dnnl_format_tag_t tagOf(const LibraryLayout &layout, int64_t channelBlock) {
  if (layout.dims.size() != 4)
    return dnnl_format_tag_any;
  if (channelBlock == 8 && layout.dims[1] % 8 == 0)
    return dnnl_nChw8c;
  return channelBlock == 16 ? dnnl_nChw16c : dnnl_format_tag_any;
}

/// Describes a layout as it is, or, if it is free, as it may become.
bool describe(const Functions &library, const LibraryLayout &layout, bool free,
              Description &description, int64_t channelBlock = 0) {
  int rank = layout.dims.size();
  dnnl_data_type_t type = layout.element == LibraryElement::bf16  ? dnnl_bf16
                          : layout.element == LibraryElement::f16 ? dnnl_f16
                                                                  : dnnl_f32;
  dnnl_status_t status =
      free ? library.dnnl_memory_desc_create_with_tag(
                 &description.handle, rank, layout.dims.data(), type,
                 tagOf(layout, channelBlock))
           : library.dnnl_memory_desc_create_with_strides(
                 &description.handle, rank, layout.dims.data(), type,
                 layout.strides.data());
  return status == dnnl_success;
}

runtime::onednn::Eltwise eltwiseOf(StringRef activation) {
  return llvm::StringSwitch<runtime::onednn::Eltwise>(activation)
      .Case("tanh", {dnnl_eltwise_tanh})
      .Case("gelu_tanh", {dnnl_eltwise_gelu_tanh})
      .Case("gelu_erf", {dnnl_eltwise_gelu_erf})
      .Case("sigmoid", {dnnl_eltwise_logistic})
      .Default(runtime::onednn::kRelu);
}

bool setAttributes(const Functions &library, StringRef activation,
                   Owned<dnnl_primitive_attr_t> &attributes) {
  if (library.dnnl_primitive_attr_create(&attributes.handle) != dnnl_success ||
      library.dnnl_primitive_attr_set_scratchpad_mode(
          attributes.handle, dnnl_scratchpad_mode_user) != dnnl_success)
    return false;
  if (activation.empty())
    return true;
  Owned<dnnl_post_ops_t> post(library.dnnl_post_ops_destroy);
  auto [kind, alpha] = eltwiseOf(activation);
  return library.dnnl_post_ops_create(&post.handle) == dnnl_success &&
         library.dnnl_post_ops_append_eltwise(post.handle, kind, alpha, 0) ==
             dnnl_success &&
         library.dnnl_primitive_attr_set_post_ops(attributes.handle,
                                                  post.handle) == dnnl_success;
}

/// The descriptors of a call: operands 0 and 1, an optional bias, the result.
struct Descriptions {
  explicit Descriptions(const Functions &library)
      : source(library.dnnl_memory_desc_destroy),
        weights(library.dnnl_memory_desc_destroy),
        bias(library.dnnl_memory_desc_destroy),
        result(library.dnnl_memory_desc_destroy) {}

  bool fill(const Functions &library, const LibraryCall &call, bool free) {
    bool givesWeights = call.name == "convolution_backward_weights";
    int64_t block = call.channelBlock, ofOther = givesWeights ? block : 0,
            ofResult = givesWeights ? 0 : block;
    return describe(library, call.operands[0], free, source, block) &&
           describe(library, call.operands[1], free, weights, ofOther) &&
           (call.operands.size() < 3 ||
            describe(library, call.operands[2], false, bias)) &&
           describe(library, call.result, free, result, ofResult);
  }

  Description source, weights, bias, result;
};

using Primitive = Owned<dnnl_primitive_desc_t>;

dnnl_status_t describeConvolution(const Functions &library,
                                  const LibraryCall &call,
                                  const Descriptions &of,
                                  const_dnnl_primitive_attr_t attributes,
                                  Primitive &primitive) {
  SmallVector<int64_t> dilations(call.dilations); // dilation 1 is 0 in oneDNN
  for (int64_t &dilation : dilations)
    --dilation;
  const int64_t *s = call.strides.data(), *d = dilations.data(),
                *b = call.padsBegin.data(), *e = call.padsEnd.data();
  if (call.name == "convolution_backward_data")
    return library.dnnl_convolution_backward_data_primitive_desc_create(
        &primitive.handle, library.engine, dnnl_convolution_direct,
        of.result.handle, of.weights.handle, of.source.handle, s, d, b, e,
        nullptr, attributes);
  if (call.name == "convolution_backward_weights")
    return library.dnnl_convolution_backward_weights_primitive_desc_create(
        &primitive.handle, library.engine, dnnl_convolution_direct,
        of.source.handle, of.result.handle, nullptr, of.weights.handle, s, d, b,
        e, nullptr, attributes);
  return library.dnnl_convolution_forward_primitive_desc_create(
      &primitive.handle, library.engine, dnnl_forward_training,
      dnnl_convolution_direct, of.source.handle, of.weights.handle,
      of.bias.handle, of.result.handle, s, d, b, e, attributes);
}

SmallVector<int64_t> listOf(const Functions &library,
                            const_dnnl_memory_desc_t from, dnnl_query_t what,
                            size_t count) {
  const dnnl_dims_t *list = nullptr;
  if (library.dnnl_memory_desc_query(from, what, &list) != dnnl_success ||
      !list)
    return {};
  return SmallVector<int64_t>(*list, *list + count);
}

/// Copies the layout that the library chose.
void take(const Functions &library, const_dnnl_memory_desc_t from,
          LibraryLayout &layout) {
  int blocks = 0;
  library.dnnl_memory_desc_query(from, dnnl_query_inner_nblks_s32, &blocks);
  size_t rank = layout.dims.size();
  layout.strides = listOf(library, from, dnnl_query_strides, rank);
  layout.paddedDims = listOf(library, from, dnnl_query_padded_dims, rank);
  layout.innerBlocks = listOf(library, from, dnnl_query_inner_blks, blocks);
  layout.innerAxes = listOf(library, from, dnnl_query_inner_idxs, blocks);
  layout.elements =
      library.dnnl_memory_desc_get_size(from) / bytesOf(layout.element);
}

/// The queries for the layouts of operand 0, operand 1 and the result.
struct Queries {
  dnnl_query_t source = dnnl_query_src_md, weights = dnnl_query_weights_md,
               result = dnnl_query_dst_md;
};

Queries queriesOf(StringRef call) {
  if (call == "convolution_backward_data")
    return {dnnl_query_diff_dst_md, dnnl_query_weights_md,
            dnnl_query_diff_src_md};
  if (call == "convolution_backward_weights")
    return {dnnl_query_src_md, dnnl_query_diff_dst_md,
            dnnl_query_diff_weights_md};
  return {};
}

/// The library's name of its implementation; empty if it does not say.
StringRef nameOf(const Functions &library, const Primitive &primitive) {
  const char *name = nullptr;
  bool isKnown = library.dnnl_primitive_desc_query(primitive.handle,
                                                   dnnl_query_impl_info_str, 0,
                                                   &name) == dnnl_success;
  return isKnown ? name : "";
}

/// Whether the library's choice for the gradient of a strided convolution's
/// input has last channels without gaining by them. Where the target has no
/// tiles of bf16, the library's kernels of blocks are faster in f32 and as fast
/// in 16 bits, and the reorders around the others took as long as the
/// convolution (ResNet-50's first shortcut, in 16 bits: 11 ms, and 12 for
/// these; ResNet-18's step in f32 260 ms instead of 234).
bool hasLastChannelsInVain(const LibraryCall &call, StringRef name) {
  return call.name == "convolution_backward_data" &&
         call.result.dims.size() == 4 && call.strides[0] > 1 &&
         channelBlockOf(call.result) == 0 && name.starts_with("brgconv") &&
         !(call.tiles && call.operands[0].element == LibraryElement::bf16);
}

/// Asks for a call as it is. Returns the library's name of its implementation;
/// nothing if it has none, or has plain loops alone for the blocks asked for.
std::optional<std::string> ask(const Functions &library, LibraryCall &call,
                               bool free) {
  Descriptions of(library);
  Owned<dnnl_primitive_attr_t> attributes(library.dnnl_primitive_attr_destroy);
  Primitive primitive(library.dnnl_primitive_desc_destroy);
  if (!of.fill(library, call, free) ||
      !setAttributes(library, call.activation, attributes))
    return std::nullopt;
  dnnl_status_t status =
      call.name == "matmul"
          ? library.dnnl_matmul_primitive_desc_create(
                &primitive.handle, library.engine, of.source.handle,
                of.weights.handle, of.bias.handle, of.result.handle,
                attributes.handle)
          : describeConvolution(library, call, of, attributes.handle,
                                primitive);
  if (status != dnnl_success)
    return std::nullopt;
  StringRef name = nameOf(library, primitive);
  // Blocks that its fast kernels do not have it computes by plain loops.
  if (call.channelBlock && !name.starts_with("jit"))
    return std::nullopt;
  auto chosen = [&](dnnl_query_t what) {
    return library.dnnl_primitive_desc_query_md(primitive.handle, what, 0);
  };
  Queries queries = queriesOf(call.name);
  if (free) {
    take(library, chosen(queries.source), call.operands[0]);
    take(library, chosen(queries.weights), call.operands[1]);
    take(library, chosen(queries.result), call.result);
  }
  const_dnnl_memory_desc_t scratch = chosen(dnnl_query_scratchpad_md);
  call.scratch = scratch ? library.dnnl_memory_desc_get_size(scratch) : 0;
  return name.str();
}

} // namespace

bool hasOneDnn() { return library() != nullptr; }

bool askOneDnn(LibraryCall &call, bool free) {
  const Functions *loaded = library();
  if (!loaded || (call.channelBlock && ask(*loaded, call, free)))
    return true;
  call.channelBlock = 0;
  std::optional<std::string> name = ask(*loaded, call, free);
  if (!name)
    return false;
  if (LibraryCall blocks = call; free && hasLastChannelsInVain(call, *name)) {
    blocks.channelBlock = 16;
    if (ask(*loaded, blocks, free) && channelBlockOf(blocks.result) == 16 &&
        channelBlockOf(blocks.operands[0]) == 16) // no padded channels
      call = blocks;
  }
  return true;
}

#endif

namespace {

/// Below these limits, and kFewestOneDnnFlops, our nests are at least as fast
/// (measured on AVX-512: equal at 34 MFLOP, 1.6 times as fast with 16
/// channels), and they fuse. A large convolution goes to the library even if it
/// is narrow (ResNet's 7x7 over 8 images of 224: 4.2 ms instead of 8, the
/// gradient of its weights 5.1 instead of 14). A stem in f32 does earlier, as
/// what is behind it is in blocks then (MobileNet's 3x3: 128 ms a step instead
/// of 133).
constexpr int64_t kMinimumWidth = 32, kMuchFlops = 500'000'000,
                  kStemFlops = 100'000'000;
/// Depthwise and narrow pointwise convolutions gain by blocks, which the work
/// around them is done in: MobileNetV2's step takes 0.73 of the time. Gradients
/// of EfficientNet's weights took 124 ms with the library's for windows of 5x5
/// and 38 with ours. In 16 bits its gradient of a depthwise convolution by
/// strides runs at 1 GFLOP/s, so all of this is for f32 alone. Its kernels for
/// single channels are for two dimensions without dilation: others are plain
/// loops, up to 10 times as slow as ours.
constexpr int64_t kBlockedFlops = 5'000'000, kBlock = 16, kMostTaps = 9;

class OneDnn final : public Library {
public:
  bool accepts(Type element) const override {
    return element.isF32() || element.isBF16();
  }

  StringRef reasonAgainst(const ProductSize &size) const override {
    if (size.isDepthwise)
      return reasonAgainstDepthwise(size);
    if (size.channelBlock || fillsGroups(size))
      return size.flops < kBlockedFlops ? "it is small" : "";
    if (size.flops < kFewestOneDnnFlops)
      return "it is small";
    int64_t much = size.isStem && !size.is16Bits ? kStemFlops : kMuchFlops;
    bool isMuch = size.mayBeNarrow && size.flops >= much;
    int64_t width = size.isPointwise && !size.is16Bits ? kBlock : kMinimumWidth;
    return size.narrowest < width && !isMuch ? "it is narrow" : "";
  }

  static StringRef reasonAgainstDepthwise(const ProductSize &size) {
    if (size.flops < kBlockedFlops)
      return "it is small";
    if (size.windowDims != 2 || size.isDilated)
      return "the library has plain loops for such windows of single channels";
    if (size.is16Bits)
      return "it is depthwise, whose gradients of 16 bits are slow in the "
             "library";
    if (size.givesWeights && size.taps > kMostTaps)
      return "the library's gradient of so large windows is slow";
    return !size.channelBlock && size.channels % kBlock
               ? "its channels fill no blocks"
               : "";
  }

  /// Groups of whole blocks run at 0.9 of a processor's rate, while our nests
  /// reach 0.4 of it.
  static bool fillsGroups(const ProductSize &size) {
    return size.isGrouped && !size.is16Bits && size.windowDims == 2 &&
           !size.isDilated && size.channelsInCommon % kBlock == 0;
  }

  CallFeatures featuresOf(const LibraryCall &) const override {
    return CallFeatures::bias | CallFeatures::activations;
  }
  bool takesRounding(Type, Type rounded) const override {
    return accepts(rounded);
  }
  bool reorders() const override { return true; }
  std::optional<int64_t>
  attentionScratch(const AttentionSize &) const override {
    return std::nullopt;
  }

  /// Row-major order is as fast as other layouts for matmul.
  bool choose(LibraryCall &call) const override {
    return askOneDnn(call, /*free=*/call.name != "matmul");
  }

  std::string whyUnasked() const override {
    if (hasOneDnn())
      return "";
    std::vector<std::string> tried = places();
    std::string where =
        tried.empty() ? "this build of the compiler is made without it"
                      : "it was looked for as " + llvm::join(tried, ", ") +
                            "; GRADUS_ONEDNN_LIBRARY may name its file";
    return "oneDNN cannot be asked (" + where +
           "): its calls are planned without, with all tensors in row-major "
           "order, which is slower, and none that it would turn down is left "
           "to our own code";
  }
};

} // namespace

const Library &oneDnn() {
  static const OneDnn library;
  return library;
}

} // namespace gradus
