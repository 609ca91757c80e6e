// Reads tensors from the command, and merges the groups of filters; the three
// operations differ only in names.

#include "runtime/cuda/libraries/cudnn_convolution.h"

#include "runtime/flat.h"
#include "runtime/library_ops.h"

namespace gradus::runtime::cuda::cudnn {

namespace {

using artifact::LibraryCommand;
using artifact::LibraryOp;
using Dims = std::vector<int64_t>;

/// The tensors of a convolution, of which any may be the result.
struct Convolution {
  StridedTensor source, weights, result;
  Dims strides, dilations, padsBegin, padsEnd;
};

//===-- reading -----------------------------------------------------------===//

/// Merges [g, o/g, ...] to [o, ...]: groups must be contiguous.
Status joinGroups(StridedTensor &weights, size_t rank) {
  if (weights.rank() == rank)
    return Status();
  Dims &dims = weights.dims, &strides = weights.strides;
  if (dims[0] > 1 && dims[1] > 1 && strides[0] != dims[1] * strides[1])
    return invalid("cuDNN takes filters of groups that lie behind each other, "
                   "and these have strides ",
                   strides[0], " and ", strides[1]);
  if (dims[1] == 1)
    strides[1] = strides[0];
  dims[1] *= dims[0];
  dims.erase(dims.begin());
  strides.erase(strides.begin());
  return Status();
}

/// Expands [n, c, w] to [n, c, 1, w].
void addAxis(StridedTensor &tensor) {
  tensor.strides.insert(tensor.strides.begin() + 2,
                        tensor.dims[2] * tensor.strides[2]);
  tensor.dims.insert(tensor.dims.begin() + 2, 1);
}

Dims windowOf(const flatbuffers::Vector<int64_t> *list, size_t axes,
              int64_t otherwise) {
  Dims values = valuesOf(list);
  if (values.empty())
    values.assign(axes, otherwise);
  return values;
}

Status checkAlone(const LibraryCommand &command) {
  bool hasBias =
      countOf(command.inputs()) > 2 || countOf(command.outputs()) > 1;
  artifact::Activation activation = activationOf(command);
  if (hasBias || activation != artifact::Activation::none)
    return invalid("convolutions of cards have no ",
                   hasBias ? "bias" : artifact::EnumNameActivation(activation),
                   " behind them");
  return Status();
}

StatusOr<Convolution> convolutionOf(const LibraryCommand &command) {
  GRADUS_TRY(checkAlone(command));
  LibraryOp op = command.op_type();
  bool givesData = op == LibraryOp::convolution_backward_data,
       givesWeights = op == LibraryOp::convolution_backward_weights;
  Convolution made;
  GRADUS_ASSIGN(Tensors inputs, stridedOf(command.inputs(), "input"));
  GRADUS_ASSIGN(Tensors outputs, stridedOf(command.outputs(), "output"));
  made.source = givesData ? outputs[0] : inputs[0];
  made.weights = givesWeights ? outputs[0] : inputs[1];
  made.result =
      op == LibraryOp::convolution ? outputs[0] : inputs[givesWeights ? 1 : 0];
  size_t rank = made.source.rank(), axes = rank - 2;
  GRADUS_TRY(joinGroups(made.weights, rank));
  const artifact::Windows &windows = *runtime::windowsOf(command);
  made.strides = windowOf(windows.strides(), axes, 1);
  made.dilations = windowOf(windows.dilations(), axes, 1);
  made.padsBegin = windowOf(windows.pads_begin(), axes, 0);
  made.padsEnd = windowOf(windows.pads_end(), axes, 0);
  if (axes > 1)
    return made;
  for (StridedTensor *tensor : {&made.source, &made.weights, &made.result})
    addAxis(*tensor);
  for (Dims *ones : {&made.strides, &made.dilations})
    ones->insert(ones->begin(), 1);
  for (Dims *pads : {&made.padsBegin, &made.padsEnd})
    pads->insert(pads->begin(), 0);
  return made;
}

//===-- describing --------------------------------------------------------===//

/// The attribute names of an operation's operands.
struct Names {
  Kind kind;
  Attribute convolution, source, weights, result, alpha, beta;
};

const Names &namesOf(LibraryOp op) {
  static const Names forward{
      Kind::convolutionForward, Attribute::forwardConvolution,
      Attribute::forwardSource, Attribute::forwardWeights,
      Attribute::forwardResult, Attribute::forwardAlpha,
      Attribute::forwardBeta};
  static const Names data{
      Kind::convolutionBackwardData,   Attribute::backwardDataConvolution,
      Attribute::backwardDataResult,   Attribute::backwardDataWeights,
      Attribute::backwardDataGradient, Attribute::backwardDataAlpha,
      Attribute::backwardDataBeta};
  static const Names filter{
      Kind::convolutionBackwardFilter,   Attribute::backwardFilterConvolution,
      Attribute::backwardFilterSource,   Attribute::backwardFilterResult,
      Attribute::backwardFilterGradient, Attribute::backwardFilterAlpha,
      Attribute::backwardFilterBeta};
  return op == LibraryOp::convolution                 ? forward
         : op == LibraryOp::convolution_backward_data ? data
                                                      : filter;
}

Descriptor windowsOf(const GraphBuilder &builder, const Convolution &made) {
  Descriptor windows = builder.make(Kind::convolution);
  windows.set(Attribute::convolutionCompute, DataType::f32)
      .set(Attribute::convolutionMode, ConvolutionMode::crossCorrelation)
      .set(Attribute::convolutionAxes, int64_t(made.strides.size()))
      .set(Attribute::convolutionStrides, made.strides)
      .set(Attribute::convolutionDilations, made.dilations)
      .set(Attribute::convolutionPadsBegin, made.padsBegin)
      .set(Attribute::convolutionPadsEnd, made.padsEnd);
  return windows;
}

std::string toText(const StridedTensor &tensor) {
  return toString(TensorType{tensor.dtype, tensor.dims});
}

} // namespace

Status checkConvolution(const LibraryCommand &command) {
  return convolutionOf(command).status();
}

StatusOr<OperationGraph> convolutionGraph(const Session &session,
                                          const LibraryCommand &command) {
  GRADUS_ASSIGN(Convolution made, convolutionOf(command));
  LibraryOp op = command.op_type();
  bool givesData = op == LibraryOp::convolution_backward_data,
       givesWeights = op == LibraryOp::convolution_backward_weights;
  GraphBuilder builder(session, inWords(artifact::EnumNameLibraryOp(op), " of ",
                                        toText(made.source), " and ",
                                        toText(made.weights)));
  auto source = givesData ? builder.output(made.source, 0)
                          : builder.input(made.source, 0);
  auto weights = givesWeights ? builder.output(made.weights, 0)
                              : builder.input(made.weights, 1);
  auto result = op == LibraryOp::convolution
                    ? builder.output(made.result, 0)
                    : builder.input(made.result, givesWeights ? 1 : 0);

  const Names &names = namesOf(op);
  Descriptor operation = builder.make(names.kind);
  operation.set(names.convolution, builder.part(windowsOf(builder, made)))
      .set(names.source, builder[source])
      .set(names.weights, builder[weights])
      .set(names.result, builder[result])
      .set(names.alpha, 1.0f)
      .set(names.beta, 0.0f);
  builder.operation(std::move(operation));
  GRADUS_ASSIGN(OperationGraph graph, builder.finish());
  graph.isF32 =
      (givesData ? made.weights : made.source).dtype == artifact::DType::f32;
  return graph;
}

} // namespace gradus::runtime::cuda::cudnn
