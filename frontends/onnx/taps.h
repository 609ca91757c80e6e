// Reading images between their pixels: along each axis a place becomes the
// pixels around it, each with a weight; together they are a weighted sum of
// gathers.
#pragma once

#include "frontends/onnx/building.h"

namespace gradus::onnx {

/// One spatial axis of an image, and how what lies outside is treated.
struct PixelAxis {
  int64_t size = 1;
  bool alignCorners = false;
  std::string padding = "zeros"; // zeros, border, reflection

  double low() const { return alignCorners ? 0 : -0.5; }
  double high() const { return alignCorners ? size - 1.0 : size - 0.5; }
};

/// A pixel along one axis: its index (whole, inside), what it weighs (null: 1),
/// and whether it is one (null: always).
struct Tap {
  mlir::Value index, weight, isPixel;
};

/// The pixels around the places `x`, in pixels: by the mode nearest, linear or
/// cubic. What padding other than zeros brings back need not lie inside.
llvm::SmallVector<Tap> tapsOf(const Building &b, mlir::Value x,
                              const PixelAxis &axis, llvm::StringRef mode);
/// The two pixels around places that padding has brought back already, or that
/// are padded with zeros.
llvm::SmallVector<Tap> linearTaps(const Building &b, mlir::Value x,
                                  const PixelAxis &axis);

/// `x * factor + shift`
mlir::Value scaled(const Building &b, mlir::Value x, double factor,
                   double shift);
mlir::Value clipped(const Building &b, mlir::Value x, double low, double high);

/// Images of any shape as rows: [N, C, pixels] with the pixels along axis 2, or
/// [N, pixels, C] with them along axis 1; `sizes` multiply to the pixels.
struct Pixels {
  mlir::Value rows;
  int64_t axis = 2;
  llvm::SmallVector<int64_t> sizes;
};

/// Calls `visit` with the values at each combination of one tap of each axis,
/// times their weights. Indices are [N, points]; in the result they take the
/// place of the pixels.
void forEachSample(const Building &b, const Pixels &pixels,
                   llvm::ArrayRef<llvm::SmallVector<Tap>> taps,
                   llvm::function_ref<void(mlir::Value)> visit);

/// The sum of them.
mlir::Value sampled(const Building &b, const Pixels &pixels,
                    llvm::ArrayRef<llvm::SmallVector<Tap>> taps);

} // namespace gradus::onnx
