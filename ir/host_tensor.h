// A tensor in host memory, as the reference evaluator uses it: floats of any
// width as f64, integers and booleans of any width as i64.
#pragma once

#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <vector>

namespace gradus {

struct HostTensor {
  llvm::SmallVector<int64_t> shape;
  bool isFloat = true;
  std::vector<double> floats;    // row-major; used if isFloat
  std::vector<int64_t> integers; // row-major; used otherwise

  int64_t size() const {
    int64_t count = 1;
    for (int64_t extent : shape)
      count *= extent;
    return count;
  }
};

} // namespace gradus
