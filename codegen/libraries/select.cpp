// Gives large matmuls and convolutions, with their bias and activation, to a
// library if it is faster than our nests, or to Winograd's algorithm if that is
// faster than both.
//
// Calls use the layouts that the library prefers, between reorders, most of
// which propagate_layouts.cpp removes. It also erases the replaced ops, which
// are left without users.

#include "codegen/libraries/blocked_tensor.h"
#include "codegen/libraries/channel_blocks.h"
#include "codegen/libraries/select_attention.h"
#include "codegen/libraries/select_epilogue.h"
#include "codegen/libraries/select_winograd.h"
#include "codegen/plan/nest.h"
#include "codegen/plan/passes.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/TypeSwitch.h"

#include <numeric>

namespace gradus {
#define GEN_PASS_DEF_SELECT
#include "codegen/plan/passes.h.inc"

namespace {
using namespace mlir;
using plan::LibraryOp;

//===-- candidates -------------------------------------------------------===//

std::optional<Candidate> candidate(MatmulOp op) {
  ArrayRef<int64_t> a = shapeOf(op.getA()), y = op.getType().getShape();
  size_t rank = y.size();
  int64_t k = op.getTransposeA() ? a[rank - 2] : a[rank - 1];
  SmallVector<int64_t> left(y), right(y);
  left[rank - 1] = right[rank - 2] = k;
  Candidate found(op);
  found.call.name = "matmul";
  found.operands = {op.getA(), op.getB()};
  found.call.operands = {
      op.getTransposeA() ? transposedLayout(left) : rowMajorLayout(left),
      op.getTransposeB() ? transposedLayout(right) : rowMajorLayout(right)};
  found.call.result = rowMajorLayout(y);
  found.size.flops = 2 * product(y) * k;
  found.size.narrowest = std::min({y[rank - 1], y[rank - 2], k});
  return found;
}

/// The layout of weights in oneDNN, which has a dimension for groups.
LibraryLayout weightLayout(ArrayRef<int64_t> shape, int64_t groups) {
  SmallVector<int64_t> dims(shape);
  if (groups > 1) {
    dims[0] /= groups;
    dims.insert(dims.begin(), groups);
  }
  return rowMajorLayout(dims);
}

template <typename Op>
Candidate convolution(Op op, ArrayRef<int64_t> weight,
                      ArrayRef<int64_t> output) {
  Candidate found(op);
  found.operands = llvm::to_vector(op->getOperands());
  LibraryCall &call = found.call;
  call.name = op->getName().stripDialect().str();
  call.strides = SmallVector<int64_t>(op.getStrides());
  call.dilations = SmallVector<int64_t>(op.getDilations());
  call.padsBegin = SmallVector<int64_t>(op.getPadsBegin());
  call.padsEnd = SmallVector<int64_t>(op.getPadsEnd());
  bool givesWeights = isa<ConvolutionBackwardWeightsOp>(op);
  LibraryLayout weights = weightLayout(weight, op.getGroups());
  call.operands = {rowMajorLayout(shapeOf(found.operands[0])),
                   givesWeights ? rowMajorLayout(output) : weights};
  call.result =
      givesWeights ? weights : rowMajorLayout(op.getType().getShape());
  found.size.flops = 2 * product(output) * product(weight.drop_front(1));
  found.size.narrowest =
      std::min(weight[0] / int64_t(op.getGroups()), weight[1]);
  found.size.taps = product(weight.drop_front(2));
  found.size.channels = weight[0];
  found.size.givesWeights = givesWeights;
  found.size.is16Bits = !getElementTypeOrSelf(found.operands[0]).isF32();
  found.size.isPointwise = op.getGroups() == 1 && found.size.taps == 1;
  found.size.isDepthwise = op.getGroups() > 1 && weight[1] == 1 &&
                           weight[0] == int64_t(op.getGroups());
  found.size.isGrouped = op.getGroups() > 1 && !found.size.isDepthwise;
  found.size.channelsInCommon =
      std::gcd(weight[0] / int64_t(op.getGroups()), weight[1]);
  found.size.windowDims = weight.size() - 2;
  found.size.isDilated = llvm::any_of(
      op.getDilations(), [](int64_t dilation) { return dilation > 1; });
  constexpr int64_t kFewInputs = 16, kStemOutputs = 32; // 3 to 32, or to 64
  found.size.mayBeNarrow =
      op.getGroups() == 1 && !isa<ConvolutionBackwardDataOp>(op);
  found.size.isStem = found.size.mayBeNarrow && weight[1] < kFewInputs &&
                      weight[0] >= kStemOutputs;
  return found;
}

std::optional<Candidate> candidateOf(Operation *op) {
  using Found = std::optional<Candidate>;
  return llvm::TypeSwitch<Operation *, Found>(op)
      .Case([](MatmulOp matmul) { return candidate(matmul); })
      .Case([](ConvolutionOp conv) -> Found {
        return convolution(conv, shapeOf(conv.getWeight()),
                           conv.getType().getShape());
      })
      .Case([](ConvolutionBackwardDataOp conv) -> Found {
        return convolution(conv, shapeOf(conv.getWeight()),
                           shapeOf(conv.getGradient()));
      })
      .Case([](ConvolutionBackwardWeightsOp conv) -> Found {
        return convolution(conv, conv.getType().getShape(),
                           shapeOf(conv.getGradient()));
      })
      .Default(std::nullopt);
}

//===-- calls -------------------------------------------------------------===//

/// The tensor type for a layout: the plain shape if it is row-major, the
/// blocked shape for blocked channels, else 1-D.
RankedTensorType typeIn(const LibraryLayout &layout, const LibraryLayout &plain,
                        RankedTensorType type) {
  if (layout == plain)
    return type;
  if (int64_t block = channelBlockOf(layout))
    return RankedTensorType::get(blockedShape(layout.dims, block),
                                 type.getElementType());
  return RankedTensorType::get({layout.elements}, type.getElementType());
}

DictionaryAttr configOf(Builder &b, const LibraryCall &call) {
  SmallVector<NamedAttribute> entries;
  if (call.name != "matmul") {
    entries = {
        b.getNamedAttr("strides", b.getDenseI64ArrayAttr(call.strides)),
        b.getNamedAttr("dilations", b.getDenseI64ArrayAttr(call.dilations)),
        b.getNamedAttr("pads_begin", b.getDenseI64ArrayAttr(call.padsBegin)),
        b.getNamedAttr("pads_end", b.getDenseI64ArrayAttr(call.padsEnd))};
  }
  if (!call.activation.empty())
    entries.push_back(
        b.getNamedAttr("activation", b.getStringAttr(call.activation)));
  return b.getDictionaryAttr(entries);
}

/// The value before a rounding that a reorder can do itself: for parameters and
/// inputs. Other values are rounded by the nests that compute them, which may
/// be blocked.
Value beforeRounding(Value value) {
  auto round = value.getDefiningOp<arith::TruncFOp>();
  if (!round || !getElementTypeOrSelf(round.getIn()).isF32())
    return value;
  Operation *maker = round.getIn().getDefiningOp();
  return !maker || isa<ReadOp>(maker) ? round.getIn() : value;
}

Type typeOf(LibraryElement element, MLIRContext *context) {
  Builder b(context);
  return element == LibraryElement::bf16  ? b.getBF16Type()
         : element == LibraryElement::f16 ? b.getF16Type()
                                          : b.getF32Type();
}

/// The label of a call: "matmul+bias+relu".
std::string labelOf(const LibraryCall &call) {
  std::string label = call.name;
  if (call.hasBias())
    label += "+bias";
  if (!call.activation.empty())
    label += "+" + call.activation;
  else if (call.second)
    label += "+sum";
  return label;
}

/// Reshapes a value to a type.
Value viewed(OpBuilder &builder, Value value, Type type) {
  if (value.getType() == type)
    return value;
  return ReshapeOp::create(builder, value.getLoc(), type, value);
}

/// Replaces the candidate by a call between reorders.
LibraryOp emitCall(Candidate &found, const LibraryCall &chosen) {
  OpBuilder builder(found.op);
  MLIRContext *context = builder.getContext();
  Location location = found.op->getLoc();
  SmallVector<Value> operands;
  SmallVector<Attribute> layouts;
  for (auto [value, plain, layout] :
       llvm::zip(found.operands, found.call.operands, chosen.operands)) {
    auto type = cast<RankedTensorType>(value.getType());
    Value from = plain == layout ? value : beforeRounding(value);
    if (layout.element != plain.element) {
      type = type.clone(typeOf(layout.element, context));
      from = arith::TruncFOp::create(builder, location, type, from);
    }
    operands.push_back(reorder(builder, location, from,
                               typeIn(layout, plain, type), plain, layout));
    layouts.push_back(toAttribute(layout, context));
  }
  layouts.push_back(toAttribute(chosen.result, context));
  RankedTensorType whole = found.type(),
                   type = whole.clone(typeOf(chosen.result.element, context));
  SmallVector<Type> types = {typeIn(chosen.result, found.call.result, type)};
  if (chosen.second) {
    layouts.push_back(toAttribute(*chosen.second, context));
    types.push_back(found.second.getType());
  }
  auto call = LibraryOp::create(
      builder, location, types, chosen.name, operands,
      configOf(builder, chosen), builder.getArrayAttr(layouts), chosen.scratch,
      found.size.flops, builder.getStringAttr(labelOf(chosen)),
      /*epilogue=*/{});
  Value result = reorder(builder, location, call.getResult(0), type,
                         chosen.result, found.call.result);
  if (type != whole)
    result = arith::ExtFOp::create(builder, location, whole, result);
  found.result.replaceAllUsesWith(
      viewed(builder, result, found.result.getType()));
  if (chosen.second)
    found.second.replaceAllUsesWith(call.getResult(1));
  return call;
}

//===-- the pass ----------------------------------------------------------===//

struct Select : impl::SelectBase<Select> {
  using Base::Base;

  void runOnOperation() override {
    if (library != "auto" && library != "never" && library != "always") {
      getOperation().emitError("select: library is '")
          << library << "', expected auto, never or always";
      return signalPassFailure();
    }
    library_ = findLibrary(provider);
    if (!library_) {
      getOperation().emitError("select: provider is '")
          << provider << "', expected onednn or cuda";
      return signalPassFailure();
    }
    auto asked = epiloguesOf(epilogues);
    if (!asked) {
      getOperation().emitError("select: epilogues is '")
          << epilogues << "', expected all, bias or none";
      return signalPassFailure();
    }
    epilogues_ = *asked;
    mayUseWinograd_ = winograd && leavesChoiceOfConvolutions(getOperation());
    for (auto graph : getOperation().getBody().getOps<GraphOp>())
      selectIn(graph);
    std::string why = hasProducts_ ? library_->whyUnasked() : "";
    if (!why.empty())
      emitWarning(UnknownLoc::get(&getContext())) << why;
  }

  void selectIn(GraphOp graph) {
    if (library == "never")
      return;
    selectAttention(graph);
    Block &block = graph.getBody().front();
    SmallVector<Operation *> ops;
    for (Operation &op : block)
      ops.push_back(&op);
    bool areOf8 = blocksOf8 && prefersBlocksOf8(blockTimes(ops));
    if (areOf8)
      tell(graph.getLoc(), "blocks of 8 channels for convolutions");
    for (Operation *op : ops)
      if (auto found = candidateOf(op); found && isLibrarys(*found)) {
        if (areOf8)
          useBlocksOf8(*found);
        select(*found);
      }
  }

  BlockTimes blockTimes(ArrayRef<Operation *> ops) {
    BlockTimes times;
    for (Operation *op : ops)
      if (auto found = candidateOf(op); found && isLibrarys(*found))
        addConvolution(times, *found, mayBeWinograds(*found));
    return times;
  }

  void selectAttention(GraphOp graph) {
    AttentionSelection attention(*library_, graph);
    for (Operation &op : llvm::make_early_inc_range(graph.getBody().front())) {
      std::optional<ProductSize> size = attention.sizeOf(&op);
      if (!size)
        continue;
      if (StringRef reason = reasonAgainst(*size); !reason.empty())
        explain(op.getLoc(), op.getName().stripDialect(), reason);
      else
        tell(attention.select(&op));
    }
    attention.tidy();
  }

  StringRef reasonAgainst(const ProductSize &size) {
    return library == "always" ? "" : library_->reasonAgainst(size);
  }

  bool isLibrarys(const Candidate &found) {
    return accepts(found.result.getType()) &&
           llvm::all_of(found.operands, [&](Value operand) {
             return accepts(operand.getType());
           });
  }

  bool accepts(Type type) {
    Type element = getElementTypeOrSelf(type);
    return library_->accepts(element) && (narrow || !element.isBF16());
  }

  void explain(Location location, StringRef call, StringRef reason,
               StringRef what = "stays with our own code") {
    remark::missed(
        location,
        remark::RemarkOpts::name("NotSelected").category(getArgument()))
        << call << " " << what << ": " << reason;
  }

  void tell(LibraryOp call) {
    tell(call.getLoc(), call.getLabel()->str() + " by the library");
  }
  void tell(plan::WinogradOp op, const std::string &why) {
    tell(op.getLoc(), "convolution, " +
                          plan::stringifyWinogradKind(op.getKind()).str() +
                          ", by Winograd's algorithm on tiles of " +
                          std::to_string(op.getTile()) + " (" + why + ")");
  }
  void tell(Location location, const std::string &what) {
    remark::passed(location,
                   remark::RemarkOpts::name("Selected").category(getArgument()))
        << what;
  }

  /// Whether Winograd's algorithm has the convolution, before its epilogue.
  bool mayBeWinograds(const Candidate &found) {
    return mayUseWinograd_ && found.call.name != "matmul" &&
           found.call.channelBlock != 8 && winogradTile(found, tiles).tile;
  }

  void select(Candidate &found) {
    if (StringRef reason = reasonAgainst(found.size);
        !reason.empty() && !mayBeWinograds(found))
      return explain(found.op->getLoc(), found.call.name, reason);
    takeEpilogue(found, *library_, epilogues_,
                 [&](Type type) { return accepts(type); });
    if (mayUseWinograd_ && found.call.name != "matmul") {
      WinogradTile of =
          found.call.channelBlock == 8
              ? WinogradTile{0, "the graph has blocks of 8 channels"}
              : winogradTile(found, tiles);
      if (of.tile)
        return tell(emitWinograd(found, of.tile), of.reason);
      explain(found.op->getLoc(), found.call.name, of.reason,
              "is not by Winograd's algorithm");
    }
    if (library_->has(found.call, CallFeatures::roundedResult))
      found.call.result.element = found.call.operands[0].element;
    found.call.tiles = tiles;
    LibraryCall chosen = found.call;
    if (!library_->choose(chosen))
      return explain(found.op->getLoc(), found.call.name,
                     "the library refuses it on this machine");
    tell(emitCall(found, chosen));
    hasProducts_ = true;
  }

private:
  const Library *library_ = nullptr;
  Epilogues epilogues_ = Epilogues::all;
  bool mayUseWinograd_ = false;
  bool hasProducts_ = false; // the library got some calls
};

} // namespace
} // namespace gradus
