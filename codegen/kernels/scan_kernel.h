// The kernel of a scan: its steps are a loop around the nests of its body.
//
// If each nest of the body keeps to its own rows, the samples of a batch, an
// item is a few rows and goes through all steps by itself, without waiting for
// others; else one item has all. Weights are read in panels of columns, which a
// command before the kernel packs.
#pragma once

#include "codegen/kernels/form_kernels_outline.h"
#include "ir/scan_ops.h"

namespace gradus {

/// A part of a scan's body as nests on tensors.
struct ScanSegment {
  GraphOp graph;
  llvm::SmallVector<mlir::Value> inputs, outputs; // values of the body
};

/// The segments of a scan's body, in order. Concatenations lie between them:
/// the nests write the parts where they belong.
struct ScanNests {
  ScanOp scan;
  llvm::SmallVector<ScanSegment> segments;
  /// The concatenations that read what the segment of this number writes.
  llvm::SmallVector<llvm::SmallVector<ConcatenateOp>> joins;
  /// Whether matmuls of bf16 multiply pairs of them.
  bool pairs = false;
};

/// Builds a launch of the scan's kernel; returns the values that stand for the
/// scan's results, none if its body cannot be a kernel.
llvm::SmallVector<mlir::Value> launchScan(mlir::OpBuilder &builder,
                                          const ScanNests &nests,
                                          KernelTable &kernels);

} // namespace gradus
