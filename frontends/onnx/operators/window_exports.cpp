// Writes convolutions and pooling.

#include "frontends/onnx/operators/exports.h"

#include "ir/build.h"
#include "ir/window.h"

namespace gradus::onnx {
namespace {

using namespace mlir;

/// The attributes that all ops with a window have.
template <typename Op>
Attributes windowAttributes(Op op, ArrayRef<int64_t> window) {
  SmallVector<int64_t> pads(op.getPadsBegin());
  llvm::append_range(pads, op.getPadsEnd());
  return {attribute("kernel_shape", window),
          attribute("strides", op.getStrides()),
          attribute("pads", ArrayRef(pads)),
          attribute("dilations", op.getDilations())};
}

ArrayRef<int64_t> kernelOf(Value weight) {
  return tensorType(weight).getShape().drop_front(2);
}

Attributes attributesOf(ConvolutionOp op) {
  Attributes all = windowAttributes(op, kernelOf(op.getWeight()));
  all.push_back(attribute("group", int64_t(op.getGroups())));
  return all;
}

/// The output padding is what the result is larger than the windows reach.
Attributes attributesOf(ConvolutionBackwardDataOp op) {
  Attributes all = windowAttributes(op, kernelOf(op.getWeight()));
  all.push_back(attribute("group", int64_t(op.getGroups())));
  Window window{kernelOf(op.getWeight()), op.getStrides(), op.getPadsBegin(),
                op.getPadsEnd(), op.getDilations()};
  ArrayRef<int64_t> from = tensorType(op.getGradient()).getShape();
  SmallVector<int64_t> extra;
  for (size_t d = 0; d + 2 < from.size(); ++d)
    extra.push_back(op.getType().getDimSize(d + 2) -
                    (op.getStrides()[d] * (from[d + 2] - 1) + window.reach(d) -
                     op.getPadsBegin()[d] - op.getPadsEnd()[d]));
  all.push_back(attribute("output_padding", ArrayRef(extra)));
  return all;
}

template <typename Op>
absl::Status writeConvolution(const OpWriter &w, const char *node) {
  return w.define(node, w.inputs(), attributesOf(cast<Op>(w.op)));
}

/// The bias of each channel that a sum adds to a convolution; null if it does
/// not.
template <typename Op> Value channelBias(Operation *op) {
  auto convolution = op->getOperand(0).getDefiningOp<Op>();
  auto bias = op->getOperand(1).getDefiningOp<BroadcastOp>();
  bool isForEach = convolution && bias && bias.getDimensions().size() == 1 &&
                   bias.getDimensions()[0] == 1 &&
                   tensorType(bias.getInput()).getDimSize(0) ==
                       tensorType(bias.getResult()).getDimSize(1);
  return isForEach ? bias.getInput() : Value();
}

template <typename Op> bool isBiased(Operation *op) {
  return bool(channelBias<Op>(op));
}

template <typename Op>
absl::Status writeBiased(const OpWriter &w, const char *node) {
  auto convolution = w.op->getOperand(0).getDefiningOp<Op>();
  Names inputs = OpWriter(w.graph, convolution).inputs();
  inputs.push_back(w.graph.nameOf(channelBias<Op>(w.op)));
  return w.define(node, inputs, attributesOf(convolution));
}

absl::Status writeMaxPool(const OpWriter &w, const char *node) {
  auto pool = cast<MaxPoolOp>(w.op);
  w.graph.refuse(pool.getIndices(),
                 w.error("gives positions in its windows, which ONNX has no "
                         "node for"));
  return w.define(node, w.inputs(), windowAttributes(pool, pool.getWindow()));
}

absl::Status writeAveragePool(const OpWriter &w, const char *node) {
  auto pool = cast<AveragePoolOp>(w.op);
  Attributes all = windowAttributes(pool, pool.getWindow());
  bool isPlain = llvm::all_of(pool.getDilations(),
                              [](int64_t dilation) { return dilation == 1; });
  if (isPlain)
    all.pop_back();
  else
    w.graph.needOpset(19);
  all.push_back(
      attribute("count_include_pad", int64_t(pool.getCountIncludePad())));
  return w.define(node, w.inputs(), all);
}

// Op list: the nodes that ONNX has for ops.
constexpr ExportRow kExports[] = {
    {"arith.addf", "Conv", writeBiased<ConvolutionOp>, isBiased<ConvolutionOp>},
    {"arith.addf", "ConvTranspose", writeBiased<ConvolutionBackwardDataOp>,
     isBiased<ConvolutionBackwardDataOp>},
    {"gradus.convolution", "Conv", writeConvolution<ConvolutionOp>},
    {"gradus.convolution_backward_data", "ConvTranspose",
     writeConvolution<ConvolutionBackwardDataOp>},
    {"gradus.max_pool", "MaxPool", writeMaxPool},
    {"gradus.average_pool", "AveragePool", writeAveragePool},
};

} // namespace

llvm::ArrayRef<ExportRow> windowExports() { return kExports; }

} // namespace gradus::onnx
