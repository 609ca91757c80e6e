// Reads ir/scalar_ops.def as a table.

#include "ir/scalar_ops.h"

using namespace mlir;
using namespace gradus;

namespace {

enum : bool { exact = true, rounds = false };

constexpr ScalarOp kTable[] = {
#define SCALAR_OP(op, types, cost, rounding, ...)                              \
  {op::getOperationName(), types, ScalarCost::cost, rounding},
#include "ir/scalar_ops.def"
};

using Index = llvm::DenseMap<TypeID, const ScalarOp *>;

Index indexOfTable() {
  Index index;
  const ScalarOp *next = kTable;
#define SCALAR_OP(op, ...) index[TypeID::get<op>()] = next++;
#include "ir/scalar_ops.def"
  return index;
}

} // namespace

SmallVector<ScalarOp::Signature> ScalarOp::signatures() const {
  SmallVector<Signature> all;
  for (StringRef signature : llvm::split(types, "; ")) {
    auto [operands, result] = signature.split(" -> ");
    all.push_back({operands, result});
  }
  return all;
}

bool ScalarOp::changesWidth() const {
  return types.contains("wider") || types.contains("narrower");
}

ArrayRef<ScalarOp> gradus::scalarOps() { return kTable; }

const ScalarOp *gradus::scalarOp(Operation *op) {
  static const Index index = indexOfTable();
  return index.lookup(op->getName().getTypeID());
}

bool gradus::changesWidth(Operation *op) {
  const ScalarOp *scalar = scalarOp(op);
  return scalar && scalar->changesWidth();
}
