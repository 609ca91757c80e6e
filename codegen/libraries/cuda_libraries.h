// The libraries of NVIDIA GPUs: cuBLASLt for matmul, cuDNN for convolution and
// attention. Neither is called at compile time: the artifact says which call is
// wanted, and the GPU's library chooses the algorithm at run time.
#pragma once

#include "codegen/libraries/library.h"

namespace gradus {

const Library &cudaLibraries();

} // namespace gradus
