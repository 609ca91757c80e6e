// ONNX's matmuls.

#include "frontends/onnx/importer/building.h"
#include "frontends/onnx/operators/exports.h"
#include "frontends/onnx/operators/operators.h"

#include "ir/build.h"

namespace gradus::onnx {
namespace {

using namespace mlir;

//===-- Gemm --------------------------------------------------------------===//

Value scaled(OpBuilder &builder, Location location, Value value,
             double factor) {
  if (factor == 1)
    return value;
  Value factors = splat(builder, location, value.getType(), factor);
  return arith::MulFOp::create(builder, location, value, factors);
}

/// Adds beta * C to `product` if the node has a C.
absl::StatusOr<Value> plusBias(Importer &importer, const Node &node,
                               Value product) {
  double beta = node.number("beta", 1);
  if (node.input(2).empty())
    return product;
  GRADUS_ASSIGN_OR_RETURN(Value bias, importer.value(node, 2));
  OpBuilder &builder = importer.builder;
  Location location = importer.location(node);
  ArrayRef<int64_t> shape = tensorType(product).getShape();
  absl::StatusOr<SmallVector<int64_t>> common =
      commonShape(tensorType(bias).getShape(), shape);
  if (!common.ok() || ArrayRef<int64_t>(*common) != shape)
    return node.error("C of shape [", joined(tensorType(bias).getShape()),
                      "] does not broadcast to [", joined(shape), "]");
  bias = scaled(builder, location, bias, beta);
  bias = broadcastLast(builder, location, bias, shape);
  return arith::AddFOp::create(builder, location, product, bias).getResult();
}

/// Explains why shapes may not fit, and what to do.
const char *wayOut(const Importer &importer) {
  return importer.hasChosenSizes()
             ? "; do the sizes that were chosen (--dim, inputs.dims) fit one "
               "another? If so, the exporter wrote it wrong: try the other one "
               "of PyTorch, dynamo=True or dynamo=False"
             : "; the file itself is invalid, whatever runs it: try the other "
               "exporter of PyTorch, dynamo=True or dynamo=False";
}

/// alpha * A * B + beta * C, where A and B may be transposed.
absl::Status gemm(Importer &importer, const Node &node) {
  GRADUS_ASSIGN_OR_RETURN(Value a, importer.value(node, 0, 2));
  GRADUS_ASSIGN_OR_RETURN(Value b, importer.value(node, 1, 2));
  bool transposeA = node.integer("transA", 0),
       transposeB = node.integer("transB", 0);
  int64_t inner = tensorType(a).getDimSize(!transposeA),
          other = tensorType(b).getDimSize(transposeB);
  if (inner != other)
    return node.error("A has ", inner, " columns, but B has ", other, " rows",
                      wayOut(importer));
  Location location = importer.location(node);
  Value product =
      matmul(importer.builder, location, a, b, transposeA, transposeB);
  product =
      scaled(importer.builder, location, product, node.number("alpha", 1));
  GRADUS_ASSIGN_OR_RETURN(Value result, plusBias(importer, node, product));
  return importer.define(node, 0, result);
}

//===-- MatMul ------------------------------------------------------------===//

SmallVector<int64_t> concatenated(ArrayRef<int64_t> front,
                                  ArrayRef<int64_t> back) {
  SmallVector<int64_t> all(front);
  all.append(back.begin(), back.end());
  return all;
}

/// [.., m, k] x [k, n] as one matmul of matrices.
Value timesMatrix(OpBuilder &builder, Location location, Value a, Value b) {
  ArrayRef<int64_t> shape = tensorType(a).getShape();
  int64_t rows = llvm::product_of(shape.drop_back());
  Value product =
      matmul(builder, location,
             reshape(builder, location, a, {rows, shape.back()}), b);
  return reshape(
      builder, location, product,
      concatenated(shape.drop_back(), {tensorType(b).getDimSize(1)}));
}

/// A batched matmul; broadcasts the batch dimensions.
absl::StatusOr<Value> timesBatch(OpBuilder &builder, Location location, Value a,
                                 Value b) {
  ArrayRef<int64_t> left = tensorType(a).getShape(),
                    right = tensorType(b).getShape();
  GRADUS_ASSIGN_OR_RETURN(SmallVector<int64_t> batch,
                          commonShape(left.drop_back(2), right.drop_back(2)));
  a = broadcastLast(builder, location, a,
                    concatenated(batch, left.take_back(2)));
  b = broadcastLast(builder, location, b,
                    concatenated(batch, right.take_back(2)));
  return matmul(builder, location, a, b);
}

/// NumPy's matmul: a vector is a row on the left and a column on the right.
absl::Status matMul(Importer &importer, const Node &node) {
  GRADUS_ASSIGN_OR_RETURN(Value a, importer.value(node, 0));
  GRADUS_ASSIGN_OR_RETURN(Value b, importer.value(node, 1));
  OpBuilder &builder = importer.builder;
  Location location = importer.location(node);
  bool rowVector = tensorType(a).getRank() == 1,
       columnVector = tensorType(b).getRank() == 1;
  if (rowVector)
    a = reshape(builder, location, a,
                concatenated({1}, tensorType(a).getShape()));
  if (columnVector)
    b = reshape(builder, location, b,
                concatenated(tensorType(b).getShape(), {1}));
  ArrayRef<int64_t> left = tensorType(a).getShape(),
                    right = tensorType(b).getShape();
  if (left.empty() || right.empty() || left.back() != right[right.size() - 2])
    return node.error("shapes [", joined(left), "] and [", joined(right),
                      "] do not multiply", wayOut(importer));
  absl::StatusOr<Value> product =
      right.size() == 2
          ? absl::StatusOr<Value>(timesMatrix(builder, location, a, b))
          : timesBatch(builder, location, a, b);
  if (!product.ok())
    return node.error(product.status().message());
  SmallVector<int64_t> shape(tensorType(*product).getShape());
  if (columnVector)
    shape.pop_back();
  if (rowVector)
    shape.erase(shape.end() - (columnVector ? 1 : 2));
  return importer.define(node, 0, reshape(builder, location, *product, shape));
}

//===-- export ------------------------------------------------------------===//

/// An operand of a matmul, with its last two dimensions exchanged if it is
/// transposed; in the result's type.
std::string matrixOf(const OpWriter &w, int input, bool transposed) {
  RankedTensorType type = w.inputType(input);
  std::string name = w.input(input);
  if (type.getElementType() != w.type().getElementType())
    name =
        w.node("Cast", {name},
               {attribute("to", int64_t(dataType(w.type().getElementType())))});
  if (!transposed)
    return name;
  SmallVector<int64_t> order = allAxes(type.getRank());
  std::swap(order[order.size() - 2], order.back());
  return w.node("Transpose", {name}, {attribute("perm", ArrayRef(order))});
}

absl::Status writeBatched(const OpWriter &w, const char *node) {
  auto product = cast<MatmulOp>(w.op);
  return w.define(node, {matrixOf(w, 0, product.getTransposeA()),
                         matrixOf(w, 1, product.getTransposeB())});
}

bool isOfMatrices(Operation *op) {
  return tensorType(op->getResult(0)).getRank() == 2;
}

absl::Status writeGemm(const OpWriter &w, const char *node) {
  auto product = cast<MatmulOp>(w.op);
  bool transA = product.getTransposeA(), transB = product.getTransposeB();
  if (!transA && !transB)
    return writeBatched(w, "MatMul");
  return w.define(node, {matrixOf(w, 0, false), matrixOf(w, 1, false)},
                  {attribute("transA", int64_t(transA)),
                   attribute("transB", int64_t(transB))});
}

const Operator kOperators[] = {
    {"Gemm", {6, "A, B, C", "integers"}, ofFloats<gemm>},
    {"MatMul", {6, "A, B", "integers"}, ofFloats<matMul>}};

// Op list: the nodes that ONNX has for ops.
constexpr ExportRow kExports[] = {
    {"gradus.matmul", "Gemm", writeGemm, isOfMatrices},
    {"gradus.matmul", "MatMul", writeBatched},
};

} // namespace

llvm::ArrayRef<Operator> matrixOperators() { return kOperators; }

llvm::ArrayRef<ExportRow> matrixExports() { return kExports; }

} // namespace gradus::onnx
