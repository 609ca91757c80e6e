// Also keeps the epilogue of a matmul as a kernel, for GPUs whose library has
// no algorithm for both at once.
//
// A library can only tell what it supports where it runs, when the artifact is
// loaded. The kernel reads the matmul in f32 and rounds once, like the library.
// would.

#include "codegen/kernels/form_kernels_outline.h"
#include "codegen/plan/nest.h"
#include "codegen/plan/passes.h"

#include "mlir/IR/Remarks.h"

namespace gradus {
#define GEN_PASS_DEF_KEEPEPILOGUES
#include "codegen/plan/passes.h.inc"

namespace {
using namespace mlir;
using plan::KernelOp;
using plan::LibraryOp;

/// The activation of a call; "" for none.
StringRef activationOf(LibraryOp call) {
  auto name = call.getConfig().getAs<StringAttr>("activation");
  return name ? name.getValue() : "";
}

//===-- formulas ---------------------------------------------------------===//

/// An epilogue as a graph of rank-0 f32 tensors: the arguments are the matmul
/// and, if there is one, the third input; the values are the result and the
/// input of the activation.
struct Formula {
  Block block;
  Value result, activated;
};

void writeFormula(LibraryOp call, Formula &formula) {
  Location location = call.getLoc();
  OpBuilder builder(call.getContext());
  builder.setInsertionPointToStart(&formula.block);
  auto type = RankedTensorType::get({}, builder.getF32Type());
  Value product = formula.block.addArgument(type, location), third;
  if (call.getOperands().size() > 2)
    third = formula.block.addArgument(type, location);
  StringRef activation = activationOf(call);
  if (activation == "gelu_tanh_gradient") {
    auto gelu = GeluOp::create(builder, location, third, /*tanh=*/true);
    formula.result = gelu.pullback(builder, product)[0];
    gelu.erase();
    return;
  }
  Value sum = product;
  if (third)
    sum = arith::AddFOp::create(builder, location, product, third);
  formula.activated = formula.result = sum;
  if (activation == "relu")
    formula.result = ReluOp::create(builder, location, sum);
  else if (activation == "gelu_tanh")
    formula.result = GeluOp::create(builder, location, sum, /*tanh=*/true);
}

/// Writes the formula on scalars; returns the scalar of each value.
DenseMap<Value, Value> writeScalars(OpBuilder &builder, Formula &formula,
                                    ValueRange scalars) {
  DenseMap<Value, Value> made;
  for (auto [argument, scalar] :
       llvm::zip_equal(formula.block.getArguments(), scalars))
    made[argument] =
        convert(builder, scalar.getLoc(), scalar, builder.getF32Type());
  for (Operation &op : formula.block) {
    Value scalar;
    if (TypedAttr splat = splatOf(op.getResult(0))) {
      scalar = arith::ConstantOp::create(builder, op.getLoc(), splat);
    } else {
      SmallVector<Value> operands;
      for (Value operand : op.getOperands())
        operands.push_back(made.at(operand));
      scalar = cast<Elementwise>(&op).buildScalar(builder, operands);
    }
    made[op.getResult(0)] = scalar;
  }
  return made;
}

//===-- buffers ----------------------------------------------------------===//

/// A tensor of the call as a 1-D buffer, and the index of the element that a
/// point of the result uses.
struct Line {
  MemRefType type;
  AffineMap map;
};

class EpilogueKernel {
public:
  explicit EpilogueKernel(LibraryOp call)
      : call_(call), domain_(call.getContext()) {
    position_ = domain_.parallel(listOf(resultNumber(), "dims"));
  }

  KernelOp build() {
    unsigned inputs = 1;
    SmallVector<Line> lines = {lineOf(resultNumber())};
    lines[0].type = MemRefType::get(lines[0].type.getShape(),
                                    Float32Type::get(call_.getContext()));
    for (; inputs + 1 < call_.getOperands().size(); ++inputs)
      lines.push_back(lineOf(inputs + 1));
    for (unsigned i = 0; i < call_.getNumResults(); ++i)
      lines.push_back(lineOf(resultNumber() + i));
    return kernelOver(lines, inputs);
  }

private:
  unsigned resultNumber() { return call_.getOperands().size(); }

  ArrayRef<int64_t> listOf(unsigned tensor, StringRef name) {
    auto layout = cast<DictionaryAttr>(call_.getLayouts()[tensor]);
    return layout.getAs<DenseI64ArrayAttr>(name).asArrayRef();
  }

  /// The buffer of operand `tensor` or, after the operands, of a result.
  /// Dimensions of size 1 are broadcast.
  Line lineOf(unsigned tensor) {
    Value value = tensor < resultNumber()
                      ? call_.getOperand(tensor)
                      : call_.getResult(tensor - resultNumber());
    AffineExpr place = domain_.constant(0);
    for (auto [index, dim, stride] : llvm::zip_equal(
             position_, listOf(tensor, "dims"), listOf(tensor, "strides")))
      if (dim > 1)
        place = place + index * stride;
    auto type = cast<RankedTensorType>(value.getType());
    return {MemRefType::get({type.getNumElements()}, type.getElementType()),
            domain_.thenMap({place})};
  }

  KernelOp kernelOver(ArrayRef<Line> lines, unsigned inputs) {
    OpBuilder builder(call_.getContext());
    Location location = builder.getUnknownLoc();
    auto types = llvm::map_to_vector(
        lines, [](const Line &line) -> Type { return line.type; });
    NestParts parts = domain_.elementwise();
    bool isPoint = parts.parallel.empty();
    auto kernel = KernelOp::create(
        builder, location, "kernel", builder.getFunctionType(types, {}), inputs,
        isPoint ? plan::Split::serial : plan::Split::rows,
        isPoint ? 1 : parts.parallel[0], ArrayAttr(), ArrayAttr(),
        StringAttr());
    Block *body = builder.createBlock(&kernel.getBody());
    for (auto [number, line] : llvm::enumerate(lines)) {
      Value memory = body->addArgument(line.type, location);
      if (number < inputs) {
        parts.thenReads.push_back({memory, line.map, {}});
        continue;
      }
      parts.outs.push_back(memory);
      parts.outputMaps.push_back(line.map);
    }
    buildNest(builder, location, parts, nullptr,
              [&](OpBuilder &inside, Location, ValueRange values) {
                return bodyOf(inside, values, parts.outs);
              });
    plan::EndOp::create(builder, location);
    return kernel;
  }

  /// Computes the results, each rounded to the type in which it is stored.
  SmallVector<Value> bodyOf(OpBuilder &builder, ValueRange values,
                            ValueRange outs) {
    Formula formula;
    writeFormula(call_, formula);
    auto scalars = writeScalars(builder, formula, values);
    SmallVector<Value> results;
    for (Value value : {formula.result, formula.activated})
      if (results.size() < outs.size())
        results.push_back(convert(
            builder, value.getLoc(), scalars.at(value),
            cast<MemRefType>(outs[results.size()].getType()).getElementType()));
    return results;
  }

  LibraryOp call_;
  Domain domain_;
  SmallVector<AffineExpr> position_;
};

//===-- the pass ----------------------------------------------------------===//

/// The sum of an operand is not an epilogue: it needs no kernel of ours
/// (runtime/cuda/plain_product.h).
bool hasEpilogue(LibraryOp call) {
  return call.getCall() == "matmul" &&
         (call.getOperands().size() > 2 || !activationOf(call).empty());
}

struct KeepEpilogues : impl::KeepEpiloguesBase<KeepEpilogues> {
  using Base::Base;

  void runOnOperation() override {
    KernelTable kernels(getOperation());
    for (auto graph : getOperation().getBody().getOps<GraphOp>())
      for (auto call : graph.getBody().getOps<LibraryOp>())
        if (hasEpilogue(call) &&
            (failed(checkFormula(call)) || (keep(call, kernels), false)))
          return signalPassFailure();
  }

  /// Checks that the epilogue has a formula here: one that cuBLASLt fuses with
  /// a matmul.
  static LogicalResult checkFormula(LibraryOp call) {
    StringRef activation = activationOf(call);
    if (activation == "gelu_tanh_gradient" && call.getOperands().size() < 3)
      return call.emitError("has the activation \"gelu_tanh_gradient\" and ")
             << call.getOperands().size()
             << " operands, expected a third: what gelu was of";
    if (!llvm::is_contained({"", "relu", "gelu_tanh", "gelu_tanh_gradient"},
                            activation))
      return call.emitError("has the activation \"")
             << activation
             << "\", expected relu, gelu_tanh or gelu_tanh_gradient";
    return success();
  }

  void keep(LibraryOp call, KernelTable &kernels) {
    StringRef label = call.getLabel().value_or(call.getCall());
    KernelOp kernel =
        kernels.add(EpilogueKernel(call).build(),
                    "epilogue" + label.substr(call.getCall().size()).str());
    call.setEpilogue(kernel.getSymName());
    remark::passed(call.getLoc(),
                   remark::RemarkOpts::name("Kept").category(getArgument()))
        << "what stands behind the product is " << kernel.getSymName()
        << ", too";
  }
};

} // namespace
} // namespace gradus
