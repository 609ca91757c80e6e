// Reads images between their pixels: along each axis a position becomes the
// pixels around it, each with a weight; the result is a weighted sum of
// gathers.
#pragma once

#include "frontends/onnx/importer/building.h"

namespace gradus::onnx {

/// One spatial axis of an image, and its treatment of positions outside.
struct PixelAxis {
  int64_t size = 1;
  bool alignCorners = false;
  std::string padding = "zeros"; // zeros, border, reflection

  double low() const { return alignCorners ? 0 : -0.5; }
  double high() const { return alignCorners ? size - 1.0 : size - 0.5; }
};

/// A pixel along one axis: its index (whole, in range), its weight (null: 1),
/// and whether it exists (null: always).
struct Tap {
  mlir::Value index, weight, isPixel;
};

/// The pixels around the positions `x` (in pixels) for the mode nearest, linear
/// or cubic. With padding other than zeros, positions may lie outside.
llvm::SmallVector<Tap> tapsOf(const Building &b, mlir::Value x,
                              const PixelAxis &axis, llvm::StringRef mode);
/// The two pixels around positions that padding has already mapped, or that are
/// padded with zeros.
llvm::SmallVector<Tap> linearTaps(const Building &b, mlir::Value x,
                                  const PixelAxis &axis);

/// `x * factor + shift`
mlir::Value scaled(const Building &b, mlir::Value x, double factor,
                   double shift);
mlir::Value clipped(const Building &b, mlir::Value x, double low, double high);

/// Images of any shape as rows: [N, C, pixels] with the pixels along axis 2, or
/// [N, pixels, C] with them along axis 1; the product of `sizes` is the number
/// of pixels.
struct Pixels {
  mlir::Value rows;
  int64_t axis = 2;
  llvm::SmallVector<int64_t> sizes;
};

/// Calls `visit` with the values at each combination of one tap of each axis,
/// times their weights. Indices are [N, points]; in the result the points
/// replace the pixels.
void forEachSample(const Building &b, const Pixels &pixels,
                   llvm::ArrayRef<llvm::SmallVector<Tap>> taps,
                   llvm::function_ref<void(mlir::Value)> visit);

/// The sum of these values.
mlir::Value sampled(const Building &b, const Pixels &pixels,
                    llvm::ArrayRef<llvm::SmallVector<Tap>> taps);

} // namespace gradus::onnx
