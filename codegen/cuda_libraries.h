// What cards have libraries for: products by cuBLASLt, convolutions and
// attention by cuDNN. Neither is asked at compile time: an artifact says which
// call it wants, and the card it runs on chooses the algorithm.
#pragma once

#include "codegen/library.h"

namespace gradus {

const Library &cudaLibraries();

} // namespace gradus
