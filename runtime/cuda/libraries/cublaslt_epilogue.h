// The cuBLASLt epilogue of a matmul.
#pragma once

#include "runtime/cuda/libraries/cublaslt_abi.h"
#include "runtime/cuda/libraries/matmul_form.h"

#include <string>

namespace gradus::runtime::cuda::cublaslt {

/// The value of cublasLtEpilogue_t for a matmul.
uint32_t epilogueOf(const MatmulForm &form);
/// The name without its prefix: "GELU_AUX_BIAS"; empty for none.
std::string nameOfEpilogue(uint32_t epilogue);

} // namespace gradus::runtime::cuda::cublaslt
