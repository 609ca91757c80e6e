// Finds an op in the tables of all families.

#include "frontends/onnx/operators/operators.h"

#include "frontends/onnx/operators/random.h"

namespace gradus::onnx {

using Family = llvm::ArrayRef<Operator>;

/// Families of shape arithmetic, which may have empty inputs. (An empty region
/// of Resize counts as absent.)
static const Family takingEmpty[] = {
    controlFlowOperators(), elementwiseOperators(), activationOperators(),
    matrixOperators(),      shapeOperators(),       reductionOperators(),
    indexingOperators(),    logicOperators(),       castOperators(),
    normOperators(),        resizeOperators(),      sequenceOperators(),
    slicingOperators(),     paddingOperators()};

/// Families that divide by sizes of their inputs, or read their first elements.
static const Family computing[] = {
    windowOperators(),       batchNormOperators(),
    transformerOperators(),  rankingOperators(),
    einsumOperators(),       recurrentOperators(),
    attentionOperators(),    lossOperators(),
    rearrangingOperators(),  alongAxisOperators(),
    quantizationOperators(), gridSampleOperators(),
    spectrumOperators(),     linearAttentionOperators(),
    unpoolOperators(),       randomOperators(),
    regionOperators(),       deformConvOperators(),
    determinantOperators()};

static void add(llvm::ArrayRef<Family> families, bool takesEmpty,
                llvm::StringMap<Operator> &all) {
  for (Family family : families)
    for (Operator op : family) {
      op.takesEmpty = takesEmpty;
      all.try_emplace(op.name, op);
    }
}

static const llvm::StringMap<Operator> &table() {
  static const llvm::StringMap<Operator> all = [] {
    llvm::StringMap<Operator> made;
    add(takingEmpty, true, made);
    add(computing, false, made);
    return made;
  }();
  return all;
}

const Operator *findOperator(llvm::StringRef type) {
  auto found = table().find(type);
  return found == table().end() ? nullptr : &found->second;
}

std::vector<const Operator *> allOperators() {
  std::vector<const Operator *> all;
  for (const auto &[name, op] : table())
    all.push_back(&op);
  llvm::sort(all, [](const Operator *a, const Operator *b) {
    return llvm::StringRef(a->name) < b->name;
  });
  return all;
}

} // namespace gradus::onnx
