// Finds the row of an op in the tables of all families.

#include "frontends/onnx/operators/exports.h"

namespace gradus::onnx {

std::vector<ExportRow> allExports() {
  std::vector<ExportRow> all;
  for (llvm::ArrayRef<ExportRow> family :
       {elementwiseExports(), activationExports(), logicExports(),
        castExports(), matrixExports(), windowExports(), batchNormExports(),
        transformerExports(), attentionExports(), shapeExports(),
        reductionExports(), indexingExports(), slicingExports(),
        paddingExports(), rearrangingExports(), randomExports()})
    all.insert(all.end(), family.begin(), family.end());
  llvm::stable_sort(all, [](const ExportRow &a, const ExportRow &b) {
    int order = llvm::StringRef(a.op).compare(b.op);
    return order ? order < 0 : a.matches && !b.matches;
  });
  return all;
}

const ExportRow *findExport(mlir::Operation *op) {
  static const auto table = [] {
    llvm::StringMap<std::vector<ExportRow>> made;
    for (const ExportRow &row : allExports())
      made[row.op].push_back(row);
    return made;
  }();
  auto found = table.find(op->getName().getStringRef());
  if (found == table.end())
    return nullptr;
  for (const ExportRow &row : found->second)
    if (!row.matches || row.matches(op))
      return &row;
  return nullptr;
}

} // namespace gradus::onnx
