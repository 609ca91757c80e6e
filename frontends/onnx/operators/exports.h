// The table of exports: how each op of a program is written as ONNX's nodes.
#pragma once

#include "frontends/onnx/writer/op_writer.h"

namespace gradus::onnx {

// One table per family, in the file of that name.
llvm::ArrayRef<ExportRow> elementwiseExports();
llvm::ArrayRef<ExportRow> activationExports();
llvm::ArrayRef<ExportRow> logicExports();
llvm::ArrayRef<ExportRow> castExports();
llvm::ArrayRef<ExportRow> matrixExports();
llvm::ArrayRef<ExportRow> windowExports();
llvm::ArrayRef<ExportRow> batchNormExports();
llvm::ArrayRef<ExportRow> transformerExports();
llvm::ArrayRef<ExportRow> attentionExports();
llvm::ArrayRef<ExportRow> shapeExports();
llvm::ArrayRef<ExportRow> reductionExports();
llvm::ArrayRef<ExportRow> indexingExports();
llvm::ArrayRef<ExportRow> slicingExports();
llvm::ArrayRef<ExportRow> paddingExports();
llvm::ArrayRef<ExportRow> rearrangingExports();
llvm::ArrayRef<ExportRow> randomExports();

/// The row that writes an op: the first whose condition holds, else the one
/// without a condition; null if there is none.
const ExportRow *findExport(mlir::Operation *op);

/// All rows, by the name of the op, those with a condition first.
std::vector<ExportRow> allExports();

} // namespace gradus::onnx
