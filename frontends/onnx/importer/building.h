// Short names for handlers that build several ops for one node.
#pragma once

#include "frontends/onnx/importer/fold.h"
#include "frontends/onnx/importer/importer.h"

#include "ir/arithmetic.h"

namespace gradus::onnx {

/// Builds the ops of one node at its location.
struct Building : Arithmetic {
  Building(Importer &importer, const Node &node)
      : Arithmetic(importer.builder, importer.location(node)),
        importer(importer), node(node) {}

  /// The attribute `axis`, counted from the front.
  absl::StatusOr<int64_t> axis(int64_t rank, int64_t fallback) const {
    absl::StatusOr<int64_t> axis =
        normalAxis(node.integer("axis", fallback), rank);
    return axis.ok() ? axis : node.error(axis.status().message());
  }
  /// Whether the integers of an input are unsigned.
  bool isUnsigned(int input = 0) const {
    return importer.isUnsigned(node, input);
  }
  /// Maps integers so that signed comparison orders them; applying it twice
  /// gives them back.
  mlir::Value ordered(mlir::Value value, bool isUnsigned) const;
  mlir::Value shaped(mlir::Value value, llvm::ArrayRef<int64_t> shape) const {
    return reshape(builder, loc, value, shape);
  }
  mlir::Value permuted(mlir::Value value, llvm::ArrayRef<int64_t> order) const {
    return transpose(builder, loc, value, order);
  }

  /// The index along `axis` of each element of a shape, as i64.
  mlir::Value indicesAlong(llvm::ArrayRef<int64_t> shape, int64_t axis) const {
    return iota(builder, loc,
                mlir::RankedTensorType::get(shape, builder.getI64Type()), axis);
  }

  /// Gathers the slices of `input` along `axis` at these indices.
  mlir::Value gatherAlong(mlir::Value input, int64_t axis,
                          llvm::ArrayRef<int64_t> places) const {
    return gatherAlong(input, axis, integers(places, importer.context()));
  }
  /// Gathers `count` slices; `placeOf` gives the index of each.
  mlir::Value gatherAlong(mlir::Value input, int64_t axis, int64_t count,
                          llvm::function_ref<int64_t(int64_t)> placeOf) const {
    Constant places = zeros(builder.getI64Type(), {count}); // checks the count
    for (int64_t i = 0; i < count; ++i)
      places.tensor.integers[i] = placeOf(i);
    return gatherAlong(input, axis, places);
  }

  /// Slices `count` elements of `input` along `axis`, beginning at `start`.
  mlir::Value cutAlong(mlir::Value input, int64_t axis, int64_t start,
                       int64_t count) const {
    llvm::SmallVector<int64_t> shape(tensorType(input).getShape());
    llvm::SmallVector<int64_t> starts(shape.size(), 0), steps(shape.size(), 1);
    shape[axis] = count;
    starts[axis] = count ? start : 0;
    return make<SliceOp>(tensorType(input).clone(shape), input, starts, steps);
  }

  Importer &importer;
  const Node &node;

private:
  mlir::Value gatherAlong(mlir::Value input, int64_t axis,
                          const Constant &places) const {
    llvm::SmallVector<int64_t> shape(tensorType(input).getShape());
    shape[axis] = places.tensor.size();
    mlir::Value at =
        mlir::arith::ConstantOp::create(builder, loc, toAttribute(places));
    return make<GatherOp>(tensorType(input).clone(shape), input, at, axis,
                          /*batch_dims=*/0);
  }
};

/// A handler of a table entry, and its requirement: all inputs are floats, or
/// all are integers, of one type.
using Handler = absl::Status (*)(Importer &, const Node &);
absl::Status checkElements(const Importer &importer, const Node &node,
                           bool floats);

template <Handler build>
absl::Status ofFloats(Importer &importer, const Node &node) {
  GRADUS_RETURN_IF_ERROR(checkElements(importer, node, /*floats=*/true));
  return build(importer, node);
}
template <Handler build>
absl::Status ofIntegers(Importer &importer, const Node &node) {
  GRADUS_RETURN_IF_ERROR(checkElements(importer, node, /*floats=*/false));
  return build(importer, node);
}

/// Checks that the attribute `to` of a cast is a type that we have.
absl::Status judgeCast(const Node &node);

/// Refuses a node that asks, by the attribute `key`, to compute with `element`s
/// in another type than we do; without the attribute ONNX says `otherwise`.
absl::Status checkPrecision(const Node &node, const char *key,
                            mlir::Type element, int64_t otherwise);

/// Converts elements to any other type as ONNX does: towards zero, and every
/// number but 0 is true. Numbers too large for a small integer lose their upper
/// bits.
mlir::Value castTo(const Building &b, mlir::Value value, mlir::Type element,
                   bool fromUnsigned = false, bool toUnsigned = false);

} // namespace gradus::onnx
