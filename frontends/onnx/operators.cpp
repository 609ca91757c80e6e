// Finds an op in the families' tables.

#include "frontends/onnx/operators.h"

namespace gradus::onnx {

static llvm::StringMap<const Operator *> allOperators() {
  llvm::StringMap<const Operator *> result;
  for (llvm::ArrayRef<Operator> family :
       {controlFlowOperators(),  elementwiseOperators(),
        activationOperators(),   matrixOperators(),
        windowOperators(),       batchNormOperators(),
        shapeOperators(),        reductionOperators(),
        indexingOperators(),     logicOperators(),
        transformerOperators(),  rankingOperators(),
        einsumOperators(),       recurrentOperators(),
        attentionOperators(),    normOperators(),
        lossOperators(),         resizeOperators(),
        rearrangingOperators(),  sequenceOperators(),
        quantizationOperators(), gridSampleOperators(),
        spectrumOperators(),     linearAttentionOperators()})
    for (const Operator &op : family)
      result[op.name] = &op;
  return result;
}

const Operator *findOperator(llvm::StringRef type) {
  static const llvm::StringMap<const Operator *> all = allOperators();
  return all.lookup(type);
}

} // namespace gradus::onnx
