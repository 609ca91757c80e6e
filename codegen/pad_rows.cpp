// Gives rows of matrices that a library multiplies a length of whole vectors,
// as its fast kernels want it: 50,257 logits lie in rows of 50,264.

#include "codegen/form_kernels_outline.h"
#include "codegen/passes.h"

#include "mlir/IR/Remarks.h"

namespace gradus {
#define GEN_PASS_DEF_PADROWS
#include "codegen/passes.h.inc"

namespace {
using namespace mlir;
using plan::LibraryOp;
using plan::NestOp;

/// Rows grow by no more than a part of them.
constexpr int64_t kLeastPart = 32;

/// The length of a tensor's rows, and the one that they should have.
struct Rows {
  int64_t length, wide;
};

/// None: they are right, or too short to grow.
std::optional<Rows> growing(Value value, int64_t alignment) {
  auto type = cast<RankedTensorType>(value.getType());
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  if (type.getRank() < 2 || product(type.getShape().drop_back()) < 2 ||
      bytes == 0 || alignment % bytes != 0)
    return std::nullopt;
  int64_t length = type.getShape().back();
  int64_t wide = llvm::alignTo(length, alignment / bytes);
  bool grows = wide > length && (wide - length) * kLeastPart <= length;
  return grows ? std::optional(Rows{length, wide}) : std::nullopt;
}

/// The strides of a product's operand or result in wide rows, or none where it
/// is not made of rows.
std::optional<SmallVector<int64_t>> widened(DictionaryAttr layout, Rows rows) {
  auto list = [&](StringRef name) {
    return layout.getAs<DenseI64ArrayAttr>(name).asArrayRef();
  };
  SmallVector<int64_t> strides(list("strides"));
  int64_t last = 0; // position in a row
  for (auto [size, stride] : llvm::zip(list("dims"), strides))
    if (stride % rows.length == 0 && stride > 0)
      stride = stride / rows.length * rows.wide;
    else
      last += stride * (size - 1);
  bool isOfRows = last < rows.length && list("inner_blocks").empty();
  return isOfRows ? std::optional(strides) : std::nullopt;
}

/// A tensor with all its views, and the places of calls that it has.
class Padding {
public:
  /// None where the rows of `value` are not to grow, or someone that writes or
  /// reads them needs them as they are.
  static std::optional<Padding> of(Value value, int64_t alignment) {
    auto rows = growing(value, alignment);
    if (!rows)
      return std::nullopt;
    Padding padding(*rows);
    bool isMade = padding.addWriter(cast<OpResult>(value)) &&
                  padding.addReaders(value) && !padding.calls_.empty();
    return isMade ? std::optional(std::move(padding)) : std::nullopt;
  }

  void apply() {
    for (Value view : views_) {
      auto type = cast<RankedTensorType>(view.getType());
      SmallVector<int64_t> shape(type.getShape());
      shape.back() = rows_.wide;
      view.setType(type.clone(shape));
    }
    for (const Place &place : calls_)
      setStrides(place);
  }

  Rows rows() const { return rows_; }

private:
  /// Operand, or behind them result, of a call.
  struct Place {
    LibraryOp call;
    unsigned position;
    SmallVector<int64_t> strides;
  };

  explicit Padding(Rows rows) : rows_(rows) {}

  bool addWriter(OpResult value) {
    if (auto call = dyn_cast<LibraryOp>(value.getOwner()))
      return addCall(call, call.getOperands().size() + value.getResultNumber());
    return isOfRows(value.getOwner());
  }

  bool addReaders(Value view) {
    views_.push_back(view);
    return llvm::all_of(view.getUses(), [&](OpOperand &use) {
      Operation *reader = use.getOwner();
      if (auto reshape = dyn_cast<ReshapeOp>(reader)) {
        ArrayRef<int64_t> shape = shapeOf(reshape.getResult());
        return !shape.empty() && shape.back() == rows_.length &&
               addReaders(reshape.getResult());
      }
      if (auto call = dyn_cast<LibraryOp>(reader))
        return addCall(call, use.getOperandNumber());
      return isOfRows(reader);
    });
  }

  /// Nests that take all elements in a line stay as they are: updates share a
  /// launch, and loads are of vectors.
  static bool isOfRows(Operation *op) {
    auto nest = dyn_cast<NestOp>(op);
    return nest && !isFlat(nest);
  }

  bool addCall(LibraryOp call, unsigned position) {
    if (call.getCall() != "matmul")
      return false;
    auto layout = cast<DictionaryAttr>(call.getLayouts()[position]);
    auto strides = widened(layout, rows_);
    if (strides)
      calls_.push_back({call, position, std::move(*strides)});
    return strides.has_value();
  }

  static void setStrides(const Place &place) {
    LibraryOp call = place.call;
    SmallVector<Attribute> layouts(call.getLayouts().getValue());
    NamedAttrList layout(cast<DictionaryAttr>(layouts[place.position]));
    layout.set("strides",
               DenseI64ArrayAttr::get(call.getContext(), place.strides));
    layouts[place.position] = layout.getDictionary(call.getContext());
    call.setLayoutsAttr(ArrayAttr::get(call.getContext(), layouts));
  }

  Rows rows_;
  SmallVector<Value> views_;
  SmallVector<Place> calls_;
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
    auto padding = Padding::of(value, alignment);
    if (!padding)
      return;
    padding->apply();
    remark::passed(value.getLoc(),
                   remark::RemarkOpts::name("Padded").category(getArgument()))
        << "rows of " << std::to_string(padding->rows().length)
        << " numbers have room for " << std::to_string(padding->rows().wide);
  }
};

} // namespace
} // namespace gradus
