// The types of cuBLASLt's functions, declared here so that no toolkit is needed
// to build: handles, codes and numbers of its binary interface since CUDA 12.0.
// A test compares them with cublasLt.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gradus::runtime::cuda::cublaslt {

/// cublasStatus_t
enum class Code : int32_t {
  success = 0,
  notInitialized = 1,
  outOfMemory = 3,
  invalidValue = 7,
  archMismatch = 8,
  mappingError = 11,
  executionFailed = 13,
  internalError = 14,
  notSupported = 15,
  licenseError = 16
};

/// cudaDataType_t, cublasComputeType_t, cublasOperation_t: the values we use.
enum class Type : int32_t { f32 = 0, f16 = 2, bf16 = 14 };
enum class Compute : int32_t { f32 = 68 };
enum class Operation : int32_t { none = 0, transpose = 1 };

/// cublasLtMatmulDescAttributes_t
enum class MatmulAttribute : int32_t {
  transposeA = 3,
  transposeB = 4,
  epilogue = 7,
  biasPointer = 8,
  auxiliaryPointer = 11,
  auxiliaryLead = 12
};
/// cublasLtMatrixLayoutAttribute_t
enum class LayoutAttribute : int32_t { batchCount = 5, batchOffset = 6 };
/// cublasLtMatmulPreferenceAttributes_t
enum class PreferenceAttribute : int32_t {
  mostWorkspace = 1,
  reductionSchemes = 3,
  alignmentA = 5,
  alignmentB = 6,
  alignmentC = 7,
  alignmentD = 8
};

/// cublasLtEpilogue_t: bits, where `bias` combines with the activations.
/// `geluKept` writes the input of gelu, `geluSlope` reads it; `sumOfA` and
/// `sumOfB` write the sum of an operand to the bias pointer.
enum class Epilogue : uint32_t {
  none = 1,
  relu = 2,
  bias = 4,
  gelu = 32,
  geluKept = 160,
  geluSlope = 192,
  sumOfA = 256,
  sumOfB = 512
};

/// cublasLtReductionScheme_t: how partial sums may be combined.
constexpr uint32_t kReduceInComputeType = 2;
constexpr uint32_t kReduceAnyWay = 7;

using Handle = struct CublasLtHandle *;
using Matmul = struct MatmulData *;
using Layout = struct LayoutData *;
using Preference = struct PreferenceData *;

/// cublasLtMatmulAlgo_t
struct Algorithm {
  uint64_t data[8];
};

/// cublasLtMatmulHeuristicResult_t
struct Found {
  Algorithm algorithm;
  size_t workspace;
  Code state;
  float waves;
  int32_t reserved[4];
};

} // namespace gradus::runtime::cuda::cublaslt
