// Emits a nest for the threads of a group.
#pragma once

#include "codegen/gpu/combine.h"

namespace gradus {

/// The item and the positions of the loops around a nest.
struct GpuItem {
  mlir::Value number;
  llvm::SmallVector<mlir::Value> loops;
  bool isTile = false; // a tile of the only nest, not an index of d0
};

class NestEmitter {
public:
  NestEmitter(GpuBuilder &builder, mlir::gpu::GPUFuncOp function,
              const GpuThread &thread, const GpuMapping &mapping,
              llvm::function_ref<GpuBuffer(mlir::Value)> bufferOf)
      : b_(builder), function_(function), thread_(thread), bufferOf_(bufferOf),
        combiner_(builder, function, thread, mapping) {}

  /// Emits all points of an item.
  void emit(const Nest &nest, const GpuItem &item, const NestMapping &mapping);

private:
  using Values = GpuBuilder::Values;
  /// The elements of each input at the positions that a thread has at once.
  using Elements = llvm::SmallVector<Values>;

  mlir::Value positionOf(const Nest &nest, const Values &positions, int64_t dim,
                         int64_t n);
  Values positionsAt(const Nest &nest, const GpuItem &item, mlir::Value number,
                     int64_t count);
  void emitTile(const Nest &nest, const GpuItem &item, mlir::Value tile);
  void finishTile(const Nest &nest, const GpuItem &item, mlir::Value tile,
                  const LaneCombiner::Share &share);
  Values reduce(const Nest &nest, const Values &positions);
  Values sumUp(const Nest &nest, unsigned dim, const Values &positions,
               const Values &totals);
  Values takeTurns(const Nest &nest, int64_t points, bool isShared,
                   llvm::function_ref<Values(mlir::Value)> positionsAt,
                   Values totals);
  Elements readPoint(const Nest &nest, const Values &positions);
  Values addPoint(const Nest &nest, const Values &positions,
                  const Elements &elements, mlir::ValueRange totals);
  /// Runs the `then` region for `count` points and stores the results. `known`
  /// has the elements of inputs that were already read.
  void finish(const Nest &nest, const Values &positions, Values totals,
              int64_t count, const Elements &known = {});
  mlir::Value guarded(const Access &access, mlir::ValueRange positions,
                      mlir::Type type, llvm::function_ref<mlir::Value()> load);
  Values readSingly(const Nest &nest, const Access &access,
                    const Values &positions, int64_t count);
  Values read(const Nest &nest, const Access &access, const Values &positions,
              int64_t count);

  // gpu/turned.cpp
  struct Tile;
  void emitTurned(const Nest &nest, mlir::Value number);
  void putDown(const Nest &nest, const Tile &tile, unsigned input);
  void takeUp(const Nest &nest, const Tile &tile, int64_t k);

  GpuBuilder &b_;
  mlir::gpu::GPUFuncOp function_;
  const GpuThread &thread_;
  llvm::function_ref<GpuBuffer(mlir::Value)> bufferOf_;
  LaneCombiner combiner_;
  NestMapping mapping_; // of the nest that is emitted
  mlir::Value lane_;    // of the lanes that share a point
};

} // namespace gradus
