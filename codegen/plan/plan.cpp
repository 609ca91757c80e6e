// The plan dialect: registration, verifiers and the text form of kernels.

#include "codegen/plan/plan.h"

#include "codegen/plan/nest.h"
#include "codegen/plan/plan_ops.h"
#include "codegen/plan/winograd_weight_tiles.h"
#include "runtime/artifact_generated.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace gradus;
using namespace gradus::plan;

#include "codegen/plan/plan_dialect.cpp.inc"
#include "codegen/plan/plan_enums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "codegen/plan/plan_attributes.cpp.inc"
#include "codegen/plan/plan_interfaces.cpp.inc"
#define GET_OP_CLASSES
#include "codegen/plan/plan_ops.cpp.inc"

void PlanDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "codegen/plan/plan_ops.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "codegen/plan/plan_attributes.cpp.inc"
      >();
}

//===-- commands ----------------------------------------------------------===//

int64_t LaunchOp::getInplaceOperand(unsigned result) {
  return getInplace()[result];
}

int64_t LibraryOp::getScratchBytes() { return getScratch(); }

/// Checks the name of an activation, which may be null.
static LogicalResult verifyActivation(Operation *op, StringAttr activation,
                                      ArrayRef<StringRef> names) {
  if (!activation || llvm::is_contained(names, activation.getValue()))
    return success();
  return op->emitOpError("has the activation ")
         << activation << ", expected one of " << llvm::join(names, ", ");
}

LogicalResult LibraryOp::verify() {
  const StringRef calls[] = {
#define GRADUS_LIBRARY_OP(name, Table) #name,
#include "runtime/library_ops.def"
  };
  if (!llvm::is_contained(calls, getCall()))
    return emitOpError("calls '") << getCall() << "', expected one of "
                                  << llvm::join(ArrayRef(calls), ", ");
  SmallVector<StringRef> activations;
  for (artifact::Activation each : artifact::EnumValuesActivation())
    activations.push_back(artifact::EnumNameActivation(each));
  if (failed(verifyActivation(
          *this, getConfig().getAs<StringAttr>("activation"), activations)))
    return failure();
  size_t tensors = getNumOperands() + getNumResults();
  if (!getLayouts().empty() && getLayouts().size() != tensors)
    return emitOpError("has ") << getLayouts().size() << " layouts of its "
                               << tensors << " tensors";
  return success();
}

LogicalResult LibraryOp::verifySymbolUses(SymbolTableCollection &symbols) {
  FlatSymbolRefAttr name = getEpilogueAttr();
  if (!name || symbols.lookupNearestSymbolFrom<KernelOp>(*this, name))
    return success();
  return emitOpError("has the epilogue ")
         << name << ", but the program has no such kernel";
}

//===-- winograd ----------------------------------------------------------===//

/// Checks that blocked images have these plain sizes and channels.
static LogicalResult verifyImages(WinogradOp op, Value images, StringRef what,
                                  int64_t channels) {
  auto shape = cast<RankedTensorType>(images.getType()).getShape();
  if (shape.size() == 5 && shape[4] == 16 && shape[1] * 16 == channels)
    return success();
  return op.emitOpError() << "has an " << what << " of type "
                          << images.getType() << ", expected blocks of 16 of "
                          << channels << " channels";
}

/// Checks that the outputs are as many as padding of 0 to 2 gives.
static LogicalResult verifyPads(WinogradOp op, Value input, Value output) {
  auto from = cast<RankedTensorType>(input.getType()).getShape(),
       to = cast<RankedTensorType>(output.getType()).getShape();
  ArrayRef<int64_t> pads = op.getPads();
  if (pads.size() != 2)
    return op.emitOpError() << "has " << pads.size() << " pads, expected 2";
  for (unsigned d = 0; d < 2; ++d) {
    int64_t behind = to[2 + d] + 2 - from[2 + d] - pads[d];
    if (from[0] != to[0] || pads[d] < 0 || pads[d] > 2 || behind < 0 ||
        behind > 2)
      return op.emitOpError() << "makes " << output.getType() << " of "
                              << input.getType() << " with " << pads[d]
                              << " zeros before it, expected padding of 0 to 2";
  }
  return success();
}

/// Checks what is applied to outputs: a bias with an element for each, and one
/// of the activations that kernels compute.
static LogicalResult verifyEpilogue(WinogradOp op, int64_t outputs) {
  if (op.getKind() != WinogradKind::forward &&
      (op.getBias() || op.getActivation()))
    return op.emitOpError(
        "has a bias or an activation, and is no forward pass");
  if (Value bias = op.getBias();
      bias && shapeOf(bias) != ArrayRef<int64_t>(outputs))
    return op.emitOpError()
           << "has a bias of type " << bias.getType() << ", expected "
           << outputs << " elements in one dimension";
  return verifyActivation(op, op.getActivationAttr(),
                          {"relu", "tanh", "sigmoid", "gelu_erf", "gelu_tanh"});
}

/// Checks that the scratch of an item, which has at least a row of tiles, is
/// not too large for the stack of a thread.
static LogicalResult verifyScratch(WinogradOp op) {
  WinogradSizes sizes = winogradSizes(op);
  int64_t bytes = WinogradTiles(sizes).scratchBytes(sizes);
  bool fits = bytes <= kWinogradScratch;
  if (op.getKind() == WinogradKind::weight_gradient) {
    WinogradWeightTiles tiles(sizes);
    fits = tiles.group.tiles != 0;
    tiles.group.tiles = sizes.tileColumns();
    bytes = tiles.scratchBytes();
  }
  if (fits)
    return success();
  return op.emitOpError() << "needs " << bytes
                          << " bytes of scratch for a row of "
                          << sizes.tileColumns()
                          << " tiles, which do not fit the stack of a thread";
}

LogicalResult WinogradOp::verify() {
  bool givesWeights = getKind() == WinogradKind::weight_gradient,
       isForward = getKind() == WinogradKind::forward;
  Value weights = givesWeights ? getResult() : getOther(),
        gradient = givesWeights ? getOther() : getSource(),
        input = getKind() == WinogradKind::input_gradient ? getResult()
                                                          : getSource(),
        output = isForward ? getResult() : gradient;
  ArrayRef<int64_t> shape = shapeOf(weights);
  if (getTile() != 2 && getTile() != 4)
    return emitOpError() << "has tiles of " << getTile() << ", expected 2 or 4";
  if (shape.size() != 4 || shape[2] != 3 || shape[3] != 3)
    return emitOpError() << "has weights of type " << weights.getType()
                         << ", expected windows of 3x3";
  for (Value each : {weights, input, output})
    if (llvm::is_contained(shapeOf(each), 0))
      return emitOpError() << "has a tensor of type " << each.getType()
                           << ", expected elements";
  if (failed(verifyImages(*this, input, "input", shape[1])) ||
      failed(verifyImages(*this, output, "output", shape[0])) ||
      failed(verifyEpilogue(*this, shape[0])) ||
      failed(verifyPads(*this, input, output)))
    return failure();
  return verifyScratch(*this);
}

//===-- nest --------------------------------------------------------------===//

SmallVector<int64_t> NestOp::getExtents() {
  SmallVector<int64_t> extents(getParallel());
  extents.append(getReduced().begin(), getReduced().end());
  return extents;
}

AffineMap NestOp::getInputMap(unsigned i) {
  unsigned first = getMapInputs().size();
  return i < first
             ? cast<AffineMapAttr>(getMapInputMaps()[i]).getValue()
             : cast<AffineMapAttr>(getThenInputMaps()[i - first]).getValue();
}

IntegerSet NestOp::getGuard(unsigned i) {
  auto set = dyn_cast<IntegerSetAttr>(getGuards()[i]);
  return set ? set.getValue() : IntegerSet();
}

AffineMap NestOp::getOutputMap(unsigned i) {
  return cast<AffineMapAttr>(getOutputMaps()[i]).getValue();
}

/// Checks that each operand has a map over `dims` dimensions, with a result for
/// each of its dimensions.
static LogicalResult verifyMaps(NestOp nest, ValueRange values, ArrayAttr maps,
                                unsigned dims, StringRef what) {
  if (maps.size() != values.size())
    return nest.emitOpError() << "has " << values.size() << " " << what
                              << " and " << maps.size() << " maps of them";
  for (auto [value, attribute] : llvm::zip(values, maps)) {
    AffineMap map = cast<AffineMapAttr>(attribute).getValue();
    int64_t rank = cast<ShapedType>(value.getType()).getRank();
    if (map.getNumDims() != dims || map.getNumResults() != rank)
      return nest.emitOpError()
             << "maps one of its " << what << " by " << AffineMapAttr::get(map)
             << ", expected " << dims << " dimensions and " << rank
             << " results";
  }
  return success();
}

/// Checks the number of values that a region takes and yields.
static LogicalResult verifyNestRegion(NestOp nest, Region &region,
                                      StringRef name, unsigned takes,
                                      unsigned yields) {
  if (region.getNumArguments() != takes)
    return nest.emitOpError()
           << name << " region takes " << region.getNumArguments()
           << " values, expected " << takes;
  auto yield = region.front().empty()
                   ? YieldOp()
                   : dyn_cast<YieldOp>(region.front().back());
  if (!yield || yield.getValues().size() != yields)
    return nest.emitOpError() << name << " region must end in a plan.yield of "
                              << yields << " values";
  return success();
}

static LogicalResult verifyNestRegions(NestOp nest, unsigned outputs) {
  unsigned combined = nest.getCombine().size();
  if (combined &&
      failed(verifyNestRegion(nest, nest.getMap(), "map",
                              nest.getMapInputs().size(), combined)))
    return failure();
  return verifyNestRegion(nest, nest.getThen(), "then",
                          combined + nest.getThenInputs().size(), outputs);
}

LogicalResult NestOp::verify() {
  unsigned parallel = getParallel().size();
  bool onTensors = getOuts().empty();
  ValueRange outputs =
      onTensors ? ValueRange(getResults()) : ValueRange(getOuts());
  if (failed(verifyMaps(*this, getMapInputs(), getMapInputMaps(), getNumDims(),
                        "map inputs")) ||
      failed(verifyMaps(*this, getThenInputs(), getThenInputMaps(), parallel,
                        "then inputs")) ||
      failed(verifyMaps(*this, outputs, getOutputMaps(), parallel, "outputs")))
    return failure();
  if (getGuards().size() != getMapInputs().size() + getThenInputs().size())
    return emitOpError() << "needs one guard (or unit) an input";
  if (getMap().empty() != (getCombine().empty()))
    return emitOpError()
           << "combines values if and only if it has a map region";
  if (failed(verifyNestRegions(*this, outputs.size())))
    return failure();
  std::string wrong = unsupportedIn(*this);
  return wrong.empty() ? success() : emitOpError(wrong);
}

/// A nest over buffers reads its inputs and writes its outputs.
void NestOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  for (OpOperand &operand : (*this)->getOpOperands())
    if (isa<MemRefType>(operand.get().getType()))
      effects.emplace_back(MemoryEffects::Read::get(), &operand);
  for (OpOperand &out : getOutsMutable())
    effects.emplace_back(MemoryEffects::Write::get(), &out);
}

//===-- take, add_at ------------------------------------------------------===//

static ShapedType outTypeOf(Operation *op, Value out) {
  return cast<ShapedType>(out ? out.getType() : op->getResult(0).getType());
}

ShapedType TakeOp::getOutType() { return outTypeOf(*this, getOut()); }
ShapedType AddAtOp::getOutType() { return outTypeOf(*this, getOut()); }

using Effects =
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>;

/// On buffers the inputs are read and, if `writesLast`, the last operand is
/// written.
static void addBufferEffects(Operation *op, bool writesLast, Effects &effects) {
  for (OpOperand &operand : op->getOpOperands())
    if (isa<MemRefType>(operand.get().getType()))
      effects.emplace_back(MemoryEffects::Read::get(), &operand);
  if (writesLast)
    effects.emplace_back(MemoryEffects::Write::get(),
                         &op->getOpOperand(op->getNumOperands() - 1));
}

void TakeOp::getEffects(Effects &effects) {
  addBufferEffects(*this, bool(getOut()), effects);
}

void AddAtOp::getEffects(Effects &effects) {
  addBufferEffects(*this, bool(getOut()), effects);
}

//===-- loop --------------------------------------------------------------===//

/// The number of loops around an op.
static unsigned loopsAround(Operation *op) {
  auto loop = dyn_cast<LoopOp>(op->getParentOp());
  return loop ? 1 + loopsAround(loop) : 0;
}

LogicalResult LoopOp::verify() {
  auto kernel = (*this)->getParentOfType<KernelOp>();
  if (!kernel || kernel.getSplit() != Split::rows)
    return emitOpError("stands in no kernel over rows");
  unsigned around = 1 + loopsAround(*this);
  for (AffineMap map : {getFirst(), getEnd()})
    if (map.getNumDims() != around || map.getNumSymbols() ||
        map.getNumResults() == 0)
      return emitOpError() << "is limited by " << AffineMapAttr::get(map)
                           << ", expected results over " << around
                           << " dimensions";
  if (Value at = getAt()) {
    auto type = cast<MemRefType>(at.getType());
    if (!type.getElementType().isInteger(32) ||
        type.getRank() != getFirst().getNumResults())
      return emitOpError("reads its position from ")
             << type << ", expected integers of 32 bits with "
             << getFirst().getNumResults() << " dimensions";
  }
  for (Operation &op : getBody().front()) {
    auto nest = dyn_cast<NestOp>(op);
    if (!nest && !isa<LoopOp>(op))
      return op.emitOpError("stands in a loop, which repeats nests and loops");
    if (nest && nest.getParallel().size() <= around)
      return nest.emitOpError() << "has " << nest.getParallel().size()
                                << " parallel dimensions, expected the item's "
                                   "and those of "
                                << around << " loops around it";
  }
  return success();
}

//===-- kernel ------------------------------------------------------------===//

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  auto &builder = parser.getBuilder();
  StringAttr name;
  SmallVector<OpAsmParser::Argument> arguments;
  if (parser.parseSymbolName(name, getSymNameAttrName(result.name),
                             result.attributes) ||
      parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren,
                               /*allowType=*/true) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  SmallVector<Type> types;
  for (auto &argument : arguments)
    types.push_back(argument.type);
  result.addAttribute(getFunctionTypeAttrName(result.name),
                      TypeAttr::get(builder.getFunctionType(types, {})));
  return parser.parseRegion(*result.addRegion(), arguments);
}

void KernelOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  printer << '(';
  llvm::interleaveComma(getArguments(), printer, [&](BlockArgument argument) {
    printer.printRegionArgument(argument);
  });
  printer << ')';
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(), {getSymNameAttrName(), getFunctionTypeAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

/// Checks that pairs are the same memory as their buffer.
static LogicalResult verifyPairs(PairsOp op) {
  auto source = dyn_cast<MemRefType>(op->getOperand(0).getType());
  if (!source || source.getRank() == 0 ||
      !source.getElementType().isIntOrFloat() ||
      source.getElementTypeBitWidth() != 16 || source.getShape().back() % 2)
    return op.emitOpError() << "sees " << op->getOperand(0).getType()
                            << " as pairs, expected 16-bit numbers with a last "
                               "dimension of even size";
  SmallVector<int64_t> shape(source.getShape());
  shape.back() /= 2;
  auto pairs = MemRefType::get(shape, IntegerType::get(op.getContext(), 32),
                               source.getLayout(), source.getMemorySpace());
  if (op->getResult(0).getType() != pairs)
    return op.emitOpError()
           << "sees " << source << " as " << op->getResult(0).getType()
           << ", expected " << pairs;
  return success();
}

/// Checks views as well, which stand in kernels alone.
LogicalResult KernelOp::verify() {
  if (getInputs() < 0 || getInputs() > getNumArguments())
    return emitOpError() << "has " << getNumArguments()
                         << " arguments, of which " << getInputs()
                         << " cannot be inputs";
  for (Type type : getArgumentTypes())
    if (!isa<MemRefType>(type))
      return emitOpError() << "takes memrefs, found " << type;
  auto made = getBody().walk([](NestOp nest) {
    return nest->getNumResults() ? WalkResult::interrupt()
                                 : WalkResult::advance();
  });
  if (made.wasInterrupted())
    return emitOpError("has a nest with results; its nests write buffers");
  return success(llvm::all_of(getBody().getOps<PairsOp>(), [](PairsOp pairs) {
    return succeeded(verifyPairs(pairs));
  }));
}
