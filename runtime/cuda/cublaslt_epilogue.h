// Which of cuBLASLt's epilogues a product asks for.
#pragma once

#include "runtime/cuda/cublaslt_abi.h"
#include "runtime/cuda/matmul_form.h"

#include <string>

namespace gradus::runtime::cuda::cublaslt {

/// The number that cublasLtEpilogue_t has for it.
uint32_t epilogueOf(const MatmulForm &form);
/// Without what stands before it there: "GELU_AUX_BIAS"; empty for none.
std::string nameOfEpilogue(uint32_t epilogue);

} // namespace gradus::runtime::cuda::cublaslt
