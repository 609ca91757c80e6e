// Values outside the context are resources of MLIR's builtin dialect.

#include "ir/evaluator/values_in_place.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"

#include <cstring>

using namespace mlir;

/// Below this size a copy is cheaper than a resource.
static constexpr size_t kMany = size_t(1) << 20;

/// Whether elements fill whole bytes: the context packs booleans, other memory
/// does not.
static bool fillsBytes(Type element) {
  return element.isIntOrFloat() && element.getIntOrFloatBitWidth() % 8 == 0;
}

static bool areAllEqual(ArrayRef<char> bytes, size_t width) {
  return std::memcmp(bytes.data(), bytes.data() + width,
                     bytes.size() - width) == 0;
}

ElementsAttr gradus::valuesInPlace(RankedTensorType type, ArrayRef<char> bytes,
                                   StringRef name, std::function<void()> done) {
  Type element = type.getElementType();
  if (bytes.size() < kMany || !fillsBytes(element) ||
      areAllEqual(bytes, element.getIntOrFloatBitWidth() / 8)) {
    ElementsAttr copied = DenseElementsAttr::getFromRawBuffer(type, bytes);
    done();
    return copied;
  }
  AsmResourceBlob blob(
      bytes, /*dataAlignment=*/1,
      [done = std::move(done)](void *, size_t, size_t) { done(); },
      /*dataIsMutable=*/false);
  return DenseResourceElementsAttr::get(type, name, std::move(blob));
}

ArrayRef<char> gradus::bytesOfValues(ElementsAttr values) {
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(values))
    return resource.getRawHandle().getBlob()->getData();
  return cast<DenseElementsAttr>(values).getRawData();
}

const void *gradus::holderOf(ElementsAttr values) {
  if (auto resource = dyn_cast_or_null<DenseResourceElementsAttr>(values))
    return resource.getRawHandle().getResource();
  return values ? values.getAsOpaquePointer() : nullptr;
}

void gradus::giveBackValues(ElementsAttr values) {
  if (auto resource = dyn_cast_or_null<DenseResourceElementsAttr>(values))
    resource.getRawHandle().getResource()->setBlob(AsmResourceBlob());
}
