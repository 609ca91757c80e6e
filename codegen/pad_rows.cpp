// Gives rows between a library's products and nests a length that vectors and
// tensor cores can work with: 50,257 logits lie in rows of 50,264.

#include "codegen/nest.h"
#include "codegen/passes.h"

#include "mlir/IR/Remarks.h"

namespace gradus {
#define GEN_PASS_DEF_PADROWS
#include "codegen/passes.h.inc"

namespace {
using namespace mlir;
using plan::LibraryOp;
using plan::NestOp;

/// The most that rows may grow by, as a part of them.
constexpr int64_t kMostGrowth = 32;

/// Another type for a tensor and all its views, and the strides of products
/// that go with it.
class Widening {
public:
  Widening(Value value, int64_t alignment) : value_(value) {
    ArrayRef<int64_t> shape = shapeOf(value);
    if (shape.size() < 2 || product(shape.drop_back()) < 2)
      return;
    auto type = cast<RankedTensorType>(value.getType());
    int64_t bytes = type.getElementTypeBitWidth() / 8;
    length_ = shape.back();
    if (bytes > 0 && alignment % bytes == 0)
      wide_ = llvm::alignTo(length_, alignment / bytes);
  }

  /// Whether rows are to grow, and all that write and read them can.
  bool isWanted() {
    bool grows = wide_ > length_ && (wide_ - length_) * kMostGrowth <= length_;
    return grows && collectWriter() && collectReaders(value_) &&
           !calls_.empty();
  }

  void apply() {
    for (Value view : views_)
      setRows(view);
    for (const auto &[slot, strides] : calls_)
      setStrides(slot.first, slot.second, strides);
  }

  int64_t length() const { return length_; }
  int64_t wide() const { return wide_; }

private:
  /// Operand, or behind them result, of a call.
  using Slot = std::pair<LibraryOp, unsigned>;

  bool collectWriter() {
    Operation *writer = value_.getDefiningOp();
    if (auto call = dyn_cast<LibraryOp>(writer))
      return addCall(call, call.getOperands().size() +
                               cast<OpResult>(value_).getResultNumber());
    return isa<NestOp>(writer);
  }

  bool collectReaders(Value view) {
    views_.push_back(view);
    for (OpOperand &use : view.getUses()) {
      Operation *reader = use.getOwner();
      if (auto reshape = dyn_cast<ReshapeOp>(reader)) {
        ArrayRef<int64_t> shape = shapeOf(reshape.getResult());
        if (shape.empty() || shape.back() != length_ ||
            !collectReaders(reshape.getResult()))
          return false;
      } else if (auto call = dyn_cast<LibraryOp>(reader)) {
        if (!addCall(call, use.getOperandNumber()))
          return false;
      } else if (!isa<NestOp>(reader)) {
        return false;
      }
    }
    return true;
  }

  bool addCall(LibraryOp call, unsigned position) {
    if (call.getCall() != "matmul")
      return false;
    auto layout = cast<DictionaryAttr>(call.getLayouts()[position]);
    auto list = [&](StringRef name) {
      return layout.getAs<DenseI64ArrayAttr>(name).asArrayRef();
    };
    SmallVector<int64_t> strides(list("strides"));
    for (auto [size, stride] : llvm::zip(list("dims"), strides)) {
      if (stride < length_ && stride * (size - 1) < length_)
        continue; // within a row
      if (stride % length_ != 0)
        return false;
      stride = stride / length_ * wide_;
    }
    calls_.push_back({{call, position}, strides});
    return list("inner_blocks").empty();
  }

  void setRows(Value view) const {
    auto type = cast<RankedTensorType>(view.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape.back() = wide_;
    view.setType(type.clone(shape));
  }

  static void setStrides(LibraryOp call, unsigned position,
                         ArrayRef<int64_t> strides) {
    SmallVector<Attribute> layouts(call.getLayouts().getValue());
    NamedAttrList layout(cast<DictionaryAttr>(layouts[position]));
    layout.set("strides", DenseI64ArrayAttr::get(call.getContext(), strides));
    layouts[position] = layout.getDictionary(call.getContext());
    call.setLayoutsAttr(ArrayAttr::get(call.getContext(), layouts));
  }

  Value value_;
  int64_t length_ = 0, wide_ = 0;
  SmallVector<Value> views_;
  SmallVector<std::pair<Slot, SmallVector<int64_t>>> calls_;
};

struct PadRows : impl::PadRowsBase<PadRows> {
  using Base::Base;

  void runOnOperation() override {
    if (alignment < 1) {
      getOperation().emitError("pad-rows: alignment is ")
          << alignment.getValue() << ", expected at least 1";
      return signalPassFailure();
    }
    for (auto graph : getOperation().getBody().getOps<GraphOp>())
      for (Operation &op : graph.getBody().front())
        if (isa<NestOp, LibraryOp>(op))
          for (Value result : op.getResults())
            visit(result);
  }

  void visit(Value value) {
    Widening widening(value, alignment);
    if (!widening.isWanted())
      return;
    widening.apply();
    remark::passed(value.getLoc(),
                   remark::RemarkOpts::name("Padded").category(getArgument()))
        << "rows of " << std::to_string(widening.length())
        << " numbers have room for " << std::to_string(widening.wide());
  }
};

} // namespace
} // namespace gradus
