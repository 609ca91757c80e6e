// A row is a channel, or a block of channels, of all samples. Its elements are
// in several places, one a sample, each of which should be long enough for the
// processor to see that the elements follow each other.

#include "codegen/nests/share_rows.h"

#include "codegen/plan/nest.h"
#include "codegen/plan/nest_cost.h"

namespace gradus {
namespace {
using namespace mlir;
using plan::NestOp;

/// The minimum rows, as no more threads than rows can work, and the minimum
/// bytes that are together in each sample. A sum that is cut has up to 16
/// parts, but with so many rows as the least, MobileNetV2's tensors of 144 and
/// 192 channels in blocks of 16 would be read once more.
constexpr int64_t kLeastRows = 8, kLeastRun = 512;

AffineExpr dimOf(NestOp nest, unsigned dim) {
  return getAffineDimExpr(dim, nest.getContext());
}

/// The position among the results of a map of a dimension alone; -1: none.
int placeOf(AffineMap map, AffineExpr dim) {
  for (auto [place, result] : llvm::enumerate(map.getResults()))
    if (result == dim)
      return place;
  return -1;
}

/// The bytes of a tensor behind one index of a dimension.
int64_t runBytes(Value value, unsigned dim) {
  auto type = cast<RankedTensorType>(value.getType());
  ArrayRef<int64_t> inner = type.getShape().drop_front(dim + 1);
  return product(inner) * bytesOf(type.clone({1}));
}

/// Whether row `dim` of a user has the elements of a tensor that row 0 of the
/// sum has.
bool readsSameRow(NestOp sum, NestOp user, unsigned dim) {
  unsigned inputs = sum.getMapInputs().size();
  for (unsigned i = 0; i < inputs; ++i)
    for (auto [j, operand] : llvm::enumerate(user.getThenInputs())) {
      if (operand != sum->getOperand(i))
        continue;
      int place = placeOf(sum.getInputMap(i), dimOf(sum, 0));
      if (place >= 0 && runBytes(operand, place) >= kLeastRun &&
          user.getInputMap(j).getResult(place) == dimOf(user, dim))
        return true;
    }
  return false;
}

/// The dimension of a user that is the row of the sum's results; -1: none.
int rowOf(NestOp sum, NestOp user) {
  int row = -1;
  for (auto [i, operand] : llvm::enumerate(user.getThenInputs())) {
    if (operand.getDefiningOp() != sum)
      continue;
    AffineMap written =
        sum.getOutputMap(cast<OpResult>(operand).getResultNumber());
    AffineMap read = user.getInputMap(i);
    if (written.getNumResults() == 0 || written.getResult(0) != dimOf(sum, 0))
      return -1;
    auto dim = dyn_cast<AffineDimExpr>(read.getResult(0));
    if (!dim || (row >= 0 && row != int(dim.getPosition())))
      return -1;
    row = dim.getPosition();
  }
  bool isSame = row >= 0 && user.getParallel()[row] == sum.getParallel()[0];
  return isSame && readsSameRow(sum, user, row) ? row : -1;
}

/// Makes a dimension of an elementwise nest its first one.
void moveToFront(NestOp nest, unsigned first) {
  MLIRContext *context = nest.getContext();
  NestParts parts = partsOf(nest);
  unsigned dims = parts.dims();
  SmallVector<AffineExpr> position(dims); // of the old dimensions
  SmallVector<unsigned> places(dims);
  int64_t rows = parts.parallel[first];
  parts.parallel.erase(parts.parallel.begin() + first);
  parts.parallel.insert(parts.parallel.begin(), rows);
  for (unsigned dim = 0; dim < dims; ++dim) {
    places[dim] = dim == first ? 0 : dim < first ? dim + 1 : dim;
    position[dim] = getAffineDimExpr(places[dim], context);
  }
  auto moved = [&](AffineMap map) {
    return map.replaceDimsAndSymbols(position, {}, dims, 0);
  };
  for (NestRead &read : parts.thenReads) {
    read.map = moved(read.map);
    if (read.isGuarded())
      read.guard = read.guard.replaceDimsAndSymbols(position, {}, dims, 0);
  }
  for (AffineMap &map : parts.outputMaps)
    map = moved(map);
  OpBuilder builder(nest);
  NestOp made = buildNest(
      builder, nest.getLoc(), parts, nullptr,
      [&](OpBuilder &inside, Location location, ValueRange values) {
        return copyBody(inside, nest.getThen(), values, [&](unsigned dim) {
          return indexOf(inside, location, places[dim]);
        });
      });
  nest->replaceAllUsesWith(made);
  nest.erase();
}

} // namespace

bool shareRows(NestOp sum, int64_t mostBytes) {
  if (sum.getReduced().empty() || sum.getParallel().empty() ||
      isContraction(sum))
    return false;
  int64_t rows = sum.getParallel()[0], bytes = 0;
  for (Value input : sum.getMapInputs())
    bytes += bytesOf(input.getType());
  if (rows < kLeastRows || bytes / rows > mostBytes)
    return false;
  bool isShared = false;
  llvm::SmallSetVector<Operation *, 4> users(sum->user_begin(),
                                             sum->user_end());
  for (Operation *user : users)
    if (auto nest = dyn_cast<NestOp>(user); nest && nest.isElementwise())
      if (int row = rowOf(sum, nest); row >= 0) {
        moveToFront(nest, row);
        isShared = true;
      }
  return isShared;
}

} // namespace gradus
