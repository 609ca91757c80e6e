// Pads the rows of matrices in library calls to a multiple of the vector size,
// as fast kernels need it: 50,257 logits get rows of 50,264.

#include "codegen/kernels/form_kernels_outline.h"
#include "codegen/plan/passes.h"

#include "mlir/IR/Remarks.h"

namespace gradus {
#define GEN_PASS_DEF_PADROWS
#include "codegen/plan/passes.h.inc"

namespace {
using namespace mlir;
using plan::LibraryOp;
using plan::NestOp;

/// Rows grow by at most 1 / kLeastPart.
constexpr int64_t kLeastPart = 32;

/// The length of a tensor's rows, and the padded length.
struct Rows {
  int64_t length, wide;
};

/// The padding of a tensor's rows; none if they are aligned, or too short.
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

/// The strides of a matmul's operand or result with padded rows, or none if it
/// does not consist of rows.
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

/// A tensor with all its views and the operands or results of calls that use
/// it.
class Padding {
public:
  /// Returns nothing if the rows of `value` should not grow, or if some op that
  /// writes or reads them cannot handle it.
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
  /// An operand or, after the operands, a result of a call.
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

  /// Whether a nest can handle padded rows. Flat nests stay flat: updates share
  /// a launch, and loads are vectors.
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
