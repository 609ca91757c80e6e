// Finds factors in products; see shared_factors.h.

#include "passes/distribution/shared_factors.h"

#include "passes/distribution/own_values.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace gradus;

namespace {

class SharedFactors {
public:
  SharedFactors(ProgramOp program, GraphOp graph)
      : own_(ownValues(program, graph)) {}

  void moveOut(AllReduceOp sum) {
    Factors found = factorsOf(sum.getOperand(0));
    if (found.factors.empty())
      return;
    sum.setOperand(0, found.part);
    OpBuilder builder(sum->getContext());
    builder.setInsertionPointAfter(sum);
    Value total = sum.getResult(0);
    SmallPtrSet<Operation *, 4> products;
    for (Value factor : llvm::reverse(found.factors)) {
      total = arith::MulFOp::create(builder, sum.getLoc(), total, factor);
      products.insert(total.getDefiningOp());
    }
    sum.getResult(0).replaceUsesWithIf(total, [&](OpOperand &use) {
      return !products.contains(use.getOwner());
    });
  }

private:
  struct Factors {
    Value part; // what is left
    SmallVector<Value> factors;
  };

  /// The shared factors of a product, from its last one to that which comes
  /// from a sum; none if none does.
  Factors factorsOf(Value value) const {
    Factors all{value, {}}, wanted = all;
    while (auto product = all.part.getDefiningOp<arith::MulFOp>()) {
      bool isLeftOwn = own_.contains(product.getLhs());
      Value shared = isLeftOwn ? product.getRhs() : product.getLhs();
      if (own_.contains(shared))
        break;
      all.part = isLeftOwn ? product.getLhs() : product.getRhs();
      all.factors.push_back(shared);
      if (comesFromSum(shared))
        wanted = all;
    }
    return wanted;
  }

  /// Whether a value is known only after a sum.
  static bool comesFromSum(Value value) {
    SmallVector<Value> open = {value};
    llvm::DenseSet<Value> seen = {value};
    while (!open.empty()) {
      Operation *maker = open.pop_back_val().getDefiningOp();
      if (isa_and_nonnull<AllReduceOp>(maker))
        return true;
      if (maker)
        for (Value operand : maker->getOperands())
          if (seen.insert(operand).second)
            open.push_back(operand);
    }
    return false;
  }

  llvm::DenseSet<Value> own_;
};

} // namespace

void gradus::moveSharedFactorsOut(ProgramOp program, GraphOp graph) {
  Block &block = graph.getBody().front();
  SharedFactors factors(program, graph);
  for (auto sum : llvm::to_vector(block.getOps<AllReduceOp>()))
    if (sum.getNumOperands() == 1)
      factors.moveOut(sum);
  sortTopologically(&block);
}
