// Examines the users of a matmul or convolution, and those of its operands.
//
// Between the call's result and its activation a graph may round and reshape.
// Fusing the activation across these is equivalent and rounds once less.

#include "codegen/libraries/select_epilogue.h"

#include "codegen/plan/nest.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"

namespace gradus {
using namespace mlir;

RankedTensorType Candidate::type() const {
  return cast<RankedTensorType>(product->getResult(0).getType())
      .clone(getElementTypeOrSelf(result.getType()));
}

namespace {

//===-- readers -----------------------------------------------------------===//

/// The only user of a value, if it is an op of this type.
template <typename Op> Op onlyUser(Value value) {
  return value.hasOneUse() ? dyn_cast<Op>(*value.user_begin()) : Op();
}

bool isView(Operation *op) {
  return isa_and_present<ReshapeOp, arith::ExtFOp>(op);
}

/// Collects the users of a value, looking through reshapes and widenings.
void findReaders(Value value, SmallVectorImpl<Operation *> &readers) {
  for (Operation *user : value.getUsers())
    if (isView(user))
      findReaders(user->getResult(0), readers);
    else
      readers.push_back(user);
}

/// The value of which this one is a view.
Value origin(Value value) {
  while (isView(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

/// The result of an op in the given element type: rounded, if that is its only
/// use.
Value resultAs(Type element, Operation *op) {
  Value result = op->getResult(0);
  if (getElementTypeOrSelf(result.getType()) == element)
    return result;
  auto round = onlyUser<arith::TruncFOp>(result);
  return round && getElementTypeOrSelf(round.getType()) == element
             ? round.getResult()
             : Value();
}

LibraryLayout layoutLike(const LibraryLayout &other, ArrayRef<int64_t> dims) {
  LibraryLayout layout = rowMajorLayout(dims);
  layout.element = other.element;
  return layout;
}

LibraryElement elementOf(Value value) {
  Type element = getElementTypeOrSelf(value.getType());
  return element.isBF16()  ? LibraryElement::bf16
         : element.isF16() ? LibraryElement::f16
                           : LibraryElement::f32;
}

/// Sets the element types of the call's operands and result.
void setElements(Candidate &found) {
  for (auto [layout, value] :
       llvm::zip_equal(found.call.operands, found.operands))
    layout.element = elementOf(value);
  found.call.result.element = elementOf(found.result);
}

//===-- bias and rounding -------------------------------------------------===//

/// Fuses a bias along the channels.
void takeBias(Candidate &found, int64_t channelDim) {
  auto add = onlyUser<arith::AddFOp>(found.result);
  if (!add)
    return;
  Value other = add.getLhs() == found.result ? add.getRhs() : add.getLhs();
  auto broadcast = other.getDefiningOp<BroadcastOp>();
  if (!broadcast ||
      broadcast.getDimensions() != ArrayRef<int64_t>{channelDim} ||
      shapeOf(broadcast.getInput())[0] != shapeOf(add)[channelDim])
    return;
  SmallVector<int64_t> dims = {shapeOf(add)[channelDim]};
  if (found.call.name == "matmul")
    dims.insert(dims.begin(), shapeOf(add).size() - 1, 1);
  found.operands.push_back(broadcast.getInput());
  found.call.operands.push_back(rowMajorLayout(dims));
  found.continueWith(add);
}

/// Reads a bias of the result's type directly instead of its widened form.
void readNarrowBias(Candidate &found) {
  if (found.operands.size() < 3)
    return;
  Value &bias = found.operands[2];
  auto wide = bias.getDefiningOp<arith::ExtFOp>();
  if (wide && getElementTypeOrSelf(wide.getIn().getType()) ==
                  getElementTypeOrSelf(found.result.getType()))
    bias = wide.getIn();
}

/// Rounds a result before a mask instead of behind it: the gradient of a relu
/// keeps a number or makes it zero, so that either order gives the same. The
/// old ops are left without users.
void roundBeforeMask(Candidate &found) {
  auto mask = onlyUser<arith::SelectOp>(found.result);
  auto round = mask ? onlyUser<arith::TruncFOp>(mask) : arith::TruncFOp();
  if (!round || mask.getTrueValue() != found.result ||
      !matchPattern(mask.getFalseValue(), m_PosZeroFloat()))
    return;
  OpBuilder builder(round);
  Location location = round.getLoc();
  Value zero = splat(builder, location, round.getType(), 0);
  mask->setOperand(1, mask.getFalseValue());
  builder.setInsertionPointAfterValue(found.result);
  Value early =
      arith::TruncFOp::create(builder, location, round.getType(), found.result);
  builder.setInsertionPoint(round);
  round->replaceAllUsesWith(arith::SelectOp::create(
      builder, location, mask.getCondition(), early, zero));
}

/// Fuses the rounding of the result if it is the only use.
void takeRounding(Candidate &found, const Library &library,
                  llvm::function_ref<bool(Type)> accepts) {
  auto round = onlyUser<arith::TruncFOp>(found.result);
  Type operands = getElementTypeOrSelf(found.operands[0].getType());
  if (round && accepts(round.getType()) &&
      library.takesRounding(operands, getElementTypeOrSelf(round.getType())))
    found.continueWith(round);
}

//===-- activations -------------------------------------------------------===//

StringRef activationOf(Operation *op) {
  if (auto gelu = dyn_cast<GeluOp>(op))
    return gelu.getTanh() ? "gelu_tanh" : "gelu_erf";
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case<ReluOp>([](auto) { return "relu"; })
      .Case<SigmoidOp>([](auto) { return "sigmoid"; })
      .Case<math::TanhOp>([](auto) { return "tanh"; })
      .Default(StringRef());
}

/// Fuses the activation if it is the only use.
bool takeActivation(Candidate &found, const Library &library,
                    ArrayRef<Operation *> readers) {
  if (readers.size() != 1)
    return false;
  StringRef activation = activationOf(readers[0]);
  bool isNext = llvm::is_contained(found.result.getUsers(), readers[0]);
  if (activation.empty() ||
      !(isNext || library.has(found.call, CallFeatures::behindViews)) ||
      !library.has(found.call, activationFeature(activation)))
    return false;
  Type element = getElementTypeOrSelf(found.result.getType());
  Value result =
      isNext ? readers[0]->getResult(0) : resultAs(element, readers[0]);
  if (!result)
    return false;
  found.call.activation = activation.str();
  found.continueWith(result);
  return true;
}

/// Fuses a gelu whose input has other uses: the call returns both.
bool takeActivationBeside(Candidate &found, const Library &library,
                          ArrayRef<Operation *> readers) {
  auto isGelu = [](Operation *op) {
    return isa<GeluOp>(op) && cast<GeluOp>(op).getTanh();
  };
  const auto *gelu = llvm::find_if(readers, isGelu);
  if (gelu == readers.end() ||
      !library.has(found.call, CallFeatures::geluInput))
    return false;
  Value result = resultAs(getElementTypeOrSelf(found.result.getType()), *gelu);
  if (!result)
    return false;
  found.call.activation = activationOf(*gelu).str();
  found.second = found.result;
  found.call.second = found.call.result;
  found.result = result;
  return true;
}

//===-- gradients of activations ------------------------------------------===//

/// Whether a value is computed like `pattern`; records the values that
/// correspond to the pattern's arguments.
bool matches(Value value, Value pattern, DenseMap<Value, Value> &arguments) {
  if (isa<BlockArgument>(pattern))
    return arguments.try_emplace(pattern, value).first->second == value;
  Operation *op = value.getDefiningOp(), *other = pattern.getDefiningOp();
  if (!op || op->getName() != other->getName() ||
      op->getAttrDictionary() != other->getAttrDictionary())
    return false;
  auto matchOperands = [&](bool isSwapped) {
    DenseMap<Value, Value> noted = arguments;
    unsigned count = op->getNumOperands();
    for (unsigned i = 0; i < count; ++i)
      if (!matches(op->getOperand(isSwapped ? count - 1 - i : i),
                   other->getOperand(i), noted))
        return false;
    arguments = std::move(noted);
    return true;
  };
  return matchOperands(false) ||
         (op->hasTrait<OpTrait::IsCommutative>() && matchOperands(true));
}

/// The gradient of a gelu: the incoming gradient, and the input of gelu.
struct GeluGradient {
  Value given, input;
};

/// Matches an op against the gradient of gelu as autodiff builds it.
std::optional<GeluGradient> geluGradient(Operation *op) {
  if (!isa<arith::MulFOp>(op))
    return std::nullopt;
  Type type = op->getResult(0).getType();
  Block block;
  Value input = block.addArgument(type, op->getLoc()),
        given = block.addArgument(type, op->getLoc());
  OpBuilder builder(op->getContext());
  builder.setInsertionPointToStart(&block);
  auto gelu = GeluOp::create(builder, op->getLoc(), input, /*tanh=*/true);
  Value pattern = gelu.pullback(builder, given)[0];
  DenseMap<Value, Value> arguments;
  if (!matches(op->getResult(0), pattern, arguments))
    return std::nullopt;
  return GeluGradient{arguments.lookup(given), arguments.lookup(input)};
}

/// Fuses the gradient of a gelu whose incoming gradient is the call's result.
/// The input of gelu must be available in the result's element type.
bool takeGeluGradient(Candidate &found, const Library &library,
                      ArrayRef<Operation *> readers) {
  if (readers.size() != 1 ||
      !library.has(found.call, CallFeatures::geluGradient))
    return false;
  auto gradient = geluGradient(readers[0]);
  if (!gradient || origin(gradient->given) != origin(found.result))
    return false;
  Type element = getElementTypeOrSelf(found.result.getType());
  Value input = origin(gradient->input), result = resultAs(element, readers[0]);
  if (!result || getElementTypeOrSelf(input.getType()) != element ||
      cast<RankedTensorType>(input.getType()).getNumElements() !=
          found.type().getNumElements())
    return false;
  found.operands.push_back(input);
  found.call.operands.push_back(found.call.result);
  found.call.activation = "gelu_tanh_gradient";
  found.continueWith(result);
  return true;
}

//===-- sums of operands --------------------------------------------------===//

/// Whether a sum over a view of a matrix keeps exactly one of its axes.
bool leaves(ReduceOp reduce, unsigned axis, ArrayRef<int64_t> matrix) {
  ArrayRef<int64_t> shape = shapeOf(reduce.getInput());
  int64_t left = axis == 0 ? 0 : int64_t(shape.size()) - 1;
  return reduce.getKind() == Reduction::sum &&
         reduce.getAxes().size() + 1 == shape.size() &&
         !llvm::is_contained(reduce.getAxes(), left) &&
         shape[left] == matrix[axis];
}

/// Fuses the sum of an operand along the contracted axis; next to a weight's
/// gradient that is the gradient of the bias.
bool takeSum(Candidate &found, unsigned operand) {
  auto matmul = cast<MatmulOp>(found.product);
  bool isTurned =
      operand == 0 ? matmul.getTransposeA() : matmul.getTransposeB();
  unsigned left = (operand == 0) == isTurned; // the axis that is not contracted
  Value value = found.operands[operand], base = value;
  while (auto view = base.getDefiningOp<ReshapeOp>())
    base = view.getInput();
  SmallVector<Operation *> readers;
  findReaders(base, readers);
  for (Operation *reader : readers) {
    auto reduce = dyn_cast<ReduceOp>(reader);
    if (!reduce || reduce->use_empty() ||
        !leaves(reduce, left, shapeOf(value)) ||
        getElementTypeOrSelf(reduce.getType()) !=
            getElementTypeOrSelf(found.result.getType()) ||
        !llvm::all_of(reduce->getUsers(), [&](Operation *user) {
          return found.op->isBeforeInBlock(user);
        }))
      continue;
    SmallVector<int64_t> dims = {1, 1};
    dims[operand] = shapeOf(reduce)[0];
    found.second = reduce;
    found.call.second = layoutLike(found.call.result, dims);
    return true;
  }
  return false;
}

} // namespace

std::optional<Epilogues> epiloguesOf(StringRef name) {
  return llvm::StringSwitch<std::optional<Epilogues>>(name)
      .Case("none", Epilogues::none)
      .Case("bias", Epilogues::bias)
      .Case("all", Epilogues::all)
      .Default(std::nullopt);
}

void takeEpilogue(Candidate &found, const Library &library, Epilogues epilogues,
                  llvm::function_ref<bool(Type)> accepts) {
  bool isMatmul = found.call.name == "matmul";
  bool hasEpilogue = isMatmul || found.call.name == "convolution";
  if (hasEpilogue && epilogues != Epilogues::none &&
      library.has(found.call, CallFeatures::bias))
    takeBias(found, isMatmul ? shapeOf(found.result).size() - 1 : 1);
  roundBeforeMask(found);
  takeRounding(found, library, accepts);
  readNarrowBias(found);
  setElements(found);
  if (epilogues != Epilogues::all)
    return;
  if (hasEpilogue) {
    SmallVector<Operation *> readers;
    findReaders(found.result, readers);
    bool isTaken = takeActivation(found, library, readers) ||
                   takeActivationBeside(found, library, readers) ||
                   takeGeluGradient(found, library, readers);
    if (isTaken && !found.second)
      takeRounding(found, library, accepts);
    setElements(found);
  }
  auto takesSum = [&](unsigned operand, CallFeatures feature) {
    return library.has(found.call, feature) && takeSum(found, operand);
  };
  if (isMatmul)
    takesSum(1, CallFeatures::weightsSum) ||
        takesSum(0, CallFeatures::sourceSum);
}

} // namespace gradus
