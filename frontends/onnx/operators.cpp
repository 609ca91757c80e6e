// Finds an op in the families' tables.

#include "frontends/onnx/operators.h"

namespace gradus::onnx {

using Family = llvm::ArrayRef<Operator>;

/// What arithmetic of shapes is made of. (An empty region of Resize is none.)
static const Family takingEmpty[] = {
    controlFlowOperators(), elementwiseOperators(), activationOperators(),
    matrixOperators(),      shapeOperators(),       reductionOperators(),
    indexingOperators(),    logicOperators(),       normOperators(),
    resizeOperators(),      sequenceOperators()};

/// What divides by the sizes of its inputs, or looks at their first elements.
static const Family computing[] = {
    windowOperators(),    batchNormOperators(),      transformerOperators(),
    rankingOperators(),   einsumOperators(),         recurrentOperators(),
    attentionOperators(), lossOperators(),           rearrangingOperators(),
    alongAxisOperators(), quantizationOperators(),   gridSampleOperators(),
    spectrumOperators(),  linearAttentionOperators()};

static void add(llvm::ArrayRef<Family> families, bool takesEmpty,
                llvm::StringMap<Operator> &all) {
  for (Family family : families)
    for (Operator op : family) {
      op.takesEmpty = takesEmpty;
      all.try_emplace(op.name, op);
    }
}

static llvm::StringMap<Operator> allOperators() {
  llvm::StringMap<Operator> all;
  add(takingEmpty, true, all);
  add(computing, false, all);
  return all;
}

const Operator *findOperator(llvm::StringRef type) {
  static const llvm::StringMap<Operator> all = allOperators();
  auto found = all.find(type);
  return found == all.end() ? nullptr : &found->second;
}

} // namespace gradus::onnx
