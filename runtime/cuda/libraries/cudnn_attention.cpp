// Builds the patterns operation by operation. Engines match exactly these
// forms: matmul with transposed keys, numbers as f32, indices as i32, and the
// softmax result as f16 or bf16 when it enters a matmul.

#include "runtime/cuda/libraries/cudnn_attention.h"

#include "runtime/artifact/attention_mask.h"
#include "runtime/library_ops.h"

#include <algorithm>
#include <limits>

namespace gradus::runtime::cuda::cudnn {

namespace {

using artifact::DType;
using artifact::LibraryCommand;
using artifact::LibraryOp;
using Dims = std::vector<int64_t>;
using Tensor = GraphBuilder::Tensor;

constexpr size_t kOldest = 91800; // deterministic gradients on all GPUs

//===-- tensors -----------------------------------------------------------===//

StridedTensor dense(DType dtype, Dims dims) {
  StridedTensor tensor{dtype, std::move(dims), {}};
  tensor.strides.assign(tensor.rank(), 1);
  for (size_t i = tensor.rank(); i-- > 1;)
    tensor.strides[i - 1] = tensor.strides[i] * tensor.dims[i];
  return tensor;
}

/// The tensor with its last two axes exchanged.
StridedTensor transposed(StridedTensor tensor) {
  std::swap(tensor.dims[2], tensor.dims[3]);
  std::swap(tensor.strides[2], tensor.strides[3]);
  return tensor;
}

//===-- operations --------------------------------------------------------===//

/// Graphs of attention over n sequences of h heads, t queries and s keys.
class AttentionBuilder : public GraphBuilder {
public:
  AttentionBuilder(const Session &session, std::string what,
                   const StridedTensor &query, const StridedTensor &key)
      : GraphBuilder(session, std::move(what)),
        scores_{query.dims[0], query.dims[1], query.dims[2], key.dims[2]},
        rows_{query.dims[0], query.dims[1], query.dims[2], 1} {}

  Tensor scores(DType dtype = DType::f32) {
    return between(dense(dtype, scores_));
  }
  Tensor rows() { return between(dense(DType::f32, rows_)); }
  StridedTensor denseRows() const { return dense(DType::f32, rows_); }

  void multiply(Tensor a, Tensor b, Tensor c) {
    Descriptor matmul = make(Kind::matmul);
    matmul.set(Attribute::matmulCompute, DataType::f32);
    Descriptor made = make(Kind::matmulOperation);
    made.set(Attribute::matmulDescriptor, part(std::move(matmul)))
        .set(Attribute::matmulA, (*this)[a])
        .set(Attribute::matmulB, (*this)[b])
        .set(Attribute::matmulC, (*this)[c]);
    operation(std::move(made));
  }

  void reduce(ReductionOperator by, Tensor x, Tensor y) {
    Descriptor reduction = make(Kind::reduction);
    reduction.set(Attribute::reductionOperator, by)
        .set(Attribute::reductionCompute, DataType::f32);
    Descriptor made = make(Kind::reductionOperation);
    made.set(Attribute::reductionDescriptor, part(std::move(reduction)))
        .set(Attribute::reductionX, (*this)[x])
        .set(Attribute::reductionY, (*this)[y]);
    operation(std::move(made));
  }

  /// Reshapes x to y.
  void reshape(Tensor x, Tensor y) {
    Descriptor made = make(Kind::reshapeOperation);
    made.set(Attribute::reshapeX, (*this)[x])
        .set(Attribute::reshapeY, (*this)[y]);
    operation(std::move(made));
  }

  /// The optional operands of a pointwise operation.
  struct Also {
    const Tensor *b = nullptr, *t = nullptr;
    int64_t axis = -1;
    DataType math = DataType::f32;
  };
  void pointwise(PointwiseMode mode, Tensor x, Tensor y, const Also &also) {
    Descriptor pointwise = make(Kind::pointwise);
    pointwise.set(Attribute::pointwiseMode, mode)
        .set(Attribute::pointwiseMath, also.math);
    if (also.axis >= 0)
      pointwise.set(Attribute::pointwiseAxis, also.axis);
    Descriptor made = make(Kind::pointwiseOperation);
    made.set(Attribute::pointwiseDescriptor, part(std::move(pointwise)))
        .set(Attribute::pointwiseX, (*this)[x])
        .set(Attribute::pointwiseY, (*this)[y]);
    if (also.b)
      made.set(Attribute::pointwiseB, (*this)[*also.b]);
    if (also.t)
      made.set(Attribute::pointwiseT, (*this)[*also.t]);
    operation(std::move(made));
  }

  void combine(PointwiseMode mode, Tensor x, Tensor b, Tensor y) {
    pointwise(mode, x, y, {.b = &b});
  }
  Tensor combine(PointwiseMode mode, Tensor x, Tensor b) {
    Tensor y = scores();
    combine(mode, x, b, y);
    return y;
  }
  Tensor exponential(Tensor x) {
    Tensor y = scores();
    pointwise(PointwiseMode::exponential, x, y, {});
    return y;
  }

  /// Keeps the scores of keys up to the query's position, sets others to -inf.
  Tensor maskLater(Tensor x) {
    Tensor row = scores(DType::i32), column = scores(DType::i32),
           isSeen = scores(DType::boolean), y = scores();
    pointwise(PointwiseMode::index, x, row, {.axis = 2});
    pointwise(PointwiseMode::index, x, column, {.axis = 3});
    pointwise(PointwiseMode::isAtLeast, row, isSeen,
              {.b = &column, .math = DataType::boolean});
    Tensor never = number(-std::numeric_limits<float>::infinity());
    pointwise(PointwiseMode::select, x, y, {.b = &never, .t = &isSeen});
    return y;
  }

private:
  Dims scores_, rows_;
};

//===-- forward -----------------------------------------------------------===//

/// The tensors of a command, as artifact.fbs lists them.
struct Attention {
  Tensors inputs, outputs;
  float scale = 1;
  bool isCausal = false;
  size_t mask = 0; // index among the inputs; 0: none
  std::string what;
};

/// The scores scale Q K' + mask; the keys are already transposed.
Tensor scoresOf(AttentionBuilder &graph, const Attention &made, Tensor query,
                Tensor key, Tensor scale) {
  Tensor scores = graph.scores();
  graph.multiply(query, key, scores);
  scores = graph.combine(PointwiseMode::multiply, scores, scale);
  if (!made.mask)
    return scores;
  Tensor mask = graph.input(made.inputs[made.mask], made.mask);
  return graph.combine(PointwiseMode::add, scores, mask);
}

void forward(AttentionBuilder &graph, const Attention &made) {
  Tensor query = graph.input(made.inputs[0], 0),
         key = graph.input(transposed(made.inputs[1]), 1),
         value = graph.input(made.inputs[2], 2),
         result = graph.output(made.outputs[0], 0),
         logsumexp = graph.output(made.outputs[1], 1);
  Tensor scores = scoresOf(graph, made, query, key, graph.number(made.scale));
  if (made.isCausal)
    scores = graph.maskLater(scores);

  Tensor greatest = graph.rows(), sum = graph.rows(), log = graph.rows();
  graph.reduce(ReductionOperator::greatest, scores, greatest);
  Tensor powers = graph.exponential(
      graph.combine(PointwiseMode::subtract, scores, greatest));
  graph.reduce(ReductionOperator::add, powers, sum);
  graph.pointwise(PointwiseMode::logarithm, sum, log, {});
  graph.combine(PointwiseMode::add, greatest, log, logsumexp);

  Tensor shares = graph.scores(made.inputs[0].dtype);
  graph.combine(PointwiseMode::divide, powers, sum, shares);
  graph.multiply(shares, value, result);
}

//===-- backward ----------------------------------------------------------===//

/// With P the probabilities and dP = dO V': dV = P' dO, dS = scale P (dP - row
/// sums of dO O), dQ = dS K, dK = dS' Q. dQ is the result of a matmul, since
/// sums in f32 on the side would have no fixed order.
void backward(AttentionBuilder &graph, const Attention &made) {
  DType dtype = made.inputs[0].dtype;
  StridedTensor keysTransposed = transposed(made.inputs[1]);
  Tensor query = graph.input(made.inputs[0], 0),
         key = graph.input(keysTransposed, 1),
         value = graph.input(transposed(made.inputs[2]), 2),
         result = graph.input(made.inputs[3], 3),
         gradient = graph.input(made.inputs[4], 4),
         logsumexp = graph.input(made.inputs[5], 5);

  Tensor product = graph.between(dense(DType::f32, made.inputs[3].dims)),
         sums = graph.rows(), rows = graph.scratch(graph.denseRows());
  graph.combine(PointwiseMode::multiply, gradient, result, product);
  graph.reduce(ReductionOperator::add, product, sums);
  graph.combine(PointwiseMode::multiply, sums, graph.number(1), rows);

  Tensor scale = graph.number(made.scale),
         scores = scoresOf(graph, made, query, key, scale);
  scores = graph.combine(PointwiseMode::subtract, scores, logsumexp);
  if (made.isCausal)
    scores = graph.maskLater(scores);
  Tensor shares = graph.exponential(scores);
  Dims turned{made.inputs[0].dims[0], made.inputs[0].dims[1],
              made.inputs[1].dims[2], made.inputs[0].dims[2]};
  auto turn = [&](Tensor x) {
    StridedTensor form =
        transposed(dense(dtype, {turned[0], turned[1], turned[3], turned[2]}));
    Tensor y = graph.between(form);
    graph.reshape(x, y);
    return y;
  };
  graph.multiply(turn(shares), gradient, graph.output(made.outputs[2], 2));

  Tensor change = graph.scores();
  graph.multiply(gradient, value, change);
  change = graph.combine(PointwiseMode::subtract, change, rows);
  change = graph.combine(PointwiseMode::multiply, change, shares);
  change = graph.combine(PointwiseMode::multiply, change, scale);
  graph.multiply(turn(change), query, graph.output(made.outputs[1], 1));
  Tensor keys = graph.between(transposed(keysTransposed));
  graph.reshape(key, keys);
  graph.multiply(change, keys, graph.output(made.outputs[0], 0));
}

//===-- reading -----------------------------------------------------------===//

/// Checks that all tensors have the same 16-bit type, except the logsumexp,
/// which is f32, and a mask, which may be.
Status checkTypes(const Attention &made) {
  DType dtype = made.inputs[0].dtype;
  auto fits = [&](const StridedTensor &tensor, bool isLogsumexp) {
    return tensor.dtype == (isLogsumexp ? DType::f32 : dtype);
  };
  bool isBackward = made.outputs.size() == 3;
  bool allFit = dtype == DType::f16 || dtype == DType::bf16;
  for (size_t i = 0; i < made.inputs.size(); ++i)
    allFit =
        allFit &&
        (fits(made.inputs[i], i == 5) ||
         (made.mask && i == made.mask && made.inputs[i].dtype == DType::f32));
  for (size_t i = 0; i < made.outputs.size(); ++i)
    allFit = allFit && fits(made.outputs[i], !isBackward && i == 1);
  if (!allFit)
    return invalid(
        "cuDNN attends in f16 or bf16, all of one type, and this is ",
        made.what);
  return Status();
}

StatusOr<Attention> read(const LibraryCommand &command) {
  Attention made;
  GRADUS_ASSIGN(made.inputs, stridedOf(command.inputs(), "input"));
  GRADUS_ASSIGN(made.outputs, stridedOf(command.outputs(), "output"));
  made.scale = float(runtime::scoresOf(command)->scale());
  made.isCausal = runtime::scoresOf(command)->causal();
  made.mask = hasMask(command) ? inputsBeforeMask(command.op_type()) : 0;
  const StridedTensor &query = made.inputs[0], &key = made.inputs[1];
  made.what = inWords(artifact::EnumNameLibraryOp(command.op_type()), " of ",
                      toString(TensorType{query.dtype, query.dims}), " to ",
                      toString(TensorType{key.dtype, key.dims}));
  GRADUS_TRY(checkTypes(made));
  return made;
}

} // namespace

Status checkAttention(const LibraryCommand &command) {
  return read(command).status();
}

//===-- parts -------------------------------------------------------------===//

namespace {

constexpr uint64_t kAlignment = 16;    // that tensors of graphs declare
constexpr int64_t kMostRuns = 1 << 10; // of a graph, for one command

/// The starts of parts of `size` in `all`; the last part ends at its end.
std::vector<int64_t> startsOf(int64_t all, int64_t size) {
  std::vector<int64_t> starts;
  for (int64_t start = 0; start + size < all; start += size)
    starts.push_back(start);
  starts.push_back(all - size);
  return starts;
}

/// The sizes of parts for each number of parts, without duplicates. The number
/// is bounded, since a file may contain any size.
std::vector<int64_t> sizesOf(int64_t all) {
  std::vector<int64_t> sizes;
  for (int64_t count = 1; count <= std::min(all, kMostRuns); ++count)
    if (int64_t size = (all + count - 1) / count;
        sizes.empty() || size < sizes.back())
      sizes.push_back(size);
  return sizes;
}

std::vector<RunOffsets> offsetsOf(const Attention &made, AttentionPart part) {
  int64_t sequences = made.inputs[0].dims[0], heads = made.inputs[0].dims[1];
  std::vector<RunOffsets> parts;
  for (int64_t s : startsOf(sequences, part.sequences))
    for (int64_t h : startsOf(heads, part.heads)) {
      auto of = [&](const Tensors &tensors) {
        std::vector<uint64_t> offsets;
        for (const StridedTensor &each : tensors) // masks may be broadcast
          offsets.push_back(
              bytesOf(each.dtype) *
              uint64_t((each.dims[0] == sequences ? s * each.strides[0] : 0) +
                       (each.dims[1] == heads ? h * each.strides[1] : 0)));
        return offsets;
      };
      parts.push_back({of(made.inputs), of(made.outputs)});
    }
  return parts;
}

bool isAligned(const RunOffsets &part) {
  auto fits = [](uint64_t offset) { return offset % kAlignment == 0; };
  return std::all_of(part.inputs.begin(), part.inputs.end(), fits) &&
         std::all_of(part.outputs.begin(), part.outputs.end(), fits);
}

void narrow(Attention &made, AttentionPart part) {
  for (Tensors *tensors : {&made.inputs, &made.outputs})
    for (StridedTensor &each : *tensors) {
      each.dims[0] = std::min(each.dims[0], part.sequences);
      each.dims[1] = std::min(each.dims[1], part.heads);
    }
}

} // namespace

StatusOr<std::vector<AttentionPart>>
attentionParts(const LibraryCommand &command) {
  GRADUS_ASSIGN(Attention made, read(command));
  int64_t sequences = made.inputs[0].dims[0], heads = made.inputs[0].dims[1];
  std::vector<AttentionPart> all = {{sequences, heads}};
  if (command.op_type() == LibraryOp::attention)
    return all;
  for (int64_t size : sizesOf(sequences))
    if (size < sequences)
      all.push_back({size, heads});
  for (int64_t size : sizesOf(heads))
    if (size < heads && sequences <= kMostRuns / ((heads + size - 1) / size))
      all.push_back({1, size});
  std::erase_if(all, [&](AttentionPart part) {
    std::vector<RunOffsets> parts = offsetsOf(made, part);
    return !std::all_of(parts.begin(), parts.end(), isAligned);
  });
  return all;
}

StatusOr<OperationGraph> attentionGraph(const Session &session,
                                        const LibraryCommand &command,
                                        AttentionPart part) {
  if (size_t version = session.library.version(); version < kOldest)
    return failed("attention needs cuDNN 9.18 or later, and this one is ",
                  versionText(version),
                  "; a plan compiled with --libraries never needs "
                  "none");
  GRADUS_ASSIGN(Attention made, read(command));
  std::vector<RunOffsets> parts = offsetsOf(made, part);
  narrow(made, part);
  AttentionBuilder graph(session, made.what, made.inputs[0], made.inputs[1]);
  if (command.op_type() == LibraryOp::attention)
    forward(graph, made);
  else
    backward(graph, made);
  GRADUS_ASSIGN(OperationGraph whole, graph.finish());
  if (parts.size() > 1)
    whole.runs = std::move(parts);
  return whole;
}

} // namespace gradus::runtime::cuda::cudnn
