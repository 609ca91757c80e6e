// Our declarations of cuBLASLt's types and functions are those of cublasLt.h,
// where a toolkit is at hand.

#include "runtime/cuda/libraries/cublaslt_library.h"

#include <gtest/gtest.h>

#if __has_include(<cublasLt.h>)

#include "tests/runtime/cuda/same_signature.h"

#include <cublasLt.h>

namespace lt = gradus::runtime::cuda::cublaslt;

#define GRADUS_CUBLASLT(name, symbol, gives, parameters)                       \
  static_assert(                                                               \
      kSameSignature<decltype(lt::Library::name), decltype(&::symbol)>,        \
      #symbol);
#include "runtime/cuda/libraries/cublaslt.def"

#define EXPECT_CODE(ours, theirs) EXPECT_EQ(int(lt::ours), int(::theirs))

TEST(CublasLtAbi, HasTheSameCodes) {
  EXPECT_CODE(Code::success, CUBLAS_STATUS_SUCCESS);
  EXPECT_CODE(Code::notInitialized, CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_CODE(Code::outOfMemory, CUBLAS_STATUS_ALLOC_FAILED);
  EXPECT_CODE(Code::invalidValue, CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_CODE(Code::archMismatch, CUBLAS_STATUS_ARCH_MISMATCH);
  EXPECT_CODE(Code::mappingError, CUBLAS_STATUS_MAPPING_ERROR);
  EXPECT_CODE(Code::executionFailed, CUBLAS_STATUS_EXECUTION_FAILED);
  EXPECT_CODE(Code::internalError, CUBLAS_STATUS_INTERNAL_ERROR);
  EXPECT_CODE(Code::notSupported, CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_CODE(Code::licenseError, CUBLAS_STATUS_LICENSE_ERROR);
}

TEST(CublasLtAbi, HasTheSameNumbers) {
  EXPECT_CODE(Type::f32, CUDA_R_32F);
  EXPECT_CODE(Type::f16, CUDA_R_16F);
  EXPECT_CODE(Type::bf16, CUDA_R_16BF);
  EXPECT_CODE(Compute::f32, CUBLAS_COMPUTE_32F);
  EXPECT_CODE(Operation::none, CUBLAS_OP_N);
  EXPECT_CODE(Operation::transpose, CUBLAS_OP_T);
  EXPECT_CODE(MatmulAttribute::transposeA, CUBLASLT_MATMUL_DESC_TRANSA);
  EXPECT_CODE(MatmulAttribute::transposeB, CUBLASLT_MATMUL_DESC_TRANSB);
  EXPECT_CODE(MatmulAttribute::epilogue, CUBLASLT_MATMUL_DESC_EPILOGUE);
  EXPECT_CODE(MatmulAttribute::biasPointer, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
  EXPECT_CODE(MatmulAttribute::auxiliaryPointer,
              CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER);
  EXPECT_CODE(MatmulAttribute::auxiliaryLead,
              CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD);
  EXPECT_CODE(LayoutAttribute::batchCount, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
  EXPECT_CODE(LayoutAttribute::batchOffset,
              CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
  EXPECT_CODE(PreferenceAttribute::mostWorkspace,
              CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
  EXPECT_CODE(PreferenceAttribute::reductionSchemes,
              CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
  EXPECT_CODE(PreferenceAttribute::alignmentA,
              CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
  EXPECT_CODE(PreferenceAttribute::alignmentD,
              CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
  EXPECT_CODE(Epilogue::none, CUBLASLT_EPILOGUE_DEFAULT);
  EXPECT_CODE(Epilogue::relu, CUBLASLT_EPILOGUE_RELU);
  EXPECT_CODE(Epilogue::bias, CUBLASLT_EPILOGUE_BIAS);
  EXPECT_CODE(Epilogue::gelu, CUBLASLT_EPILOGUE_GELU);
  EXPECT_CODE(Epilogue::geluKept, CUBLASLT_EPILOGUE_GELU_AUX);
  EXPECT_EQ(int(lt::Epilogue::geluKept) | int(lt::Epilogue::bias),
            CUBLASLT_EPILOGUE_GELU_AUX_BIAS);
  EXPECT_CODE(Epilogue::geluSlope, CUBLASLT_EPILOGUE_DGELU);
  EXPECT_CODE(Epilogue::sumOfA, CUBLASLT_EPILOGUE_BGRADA);
  EXPECT_CODE(Epilogue::sumOfB, CUBLASLT_EPILOGUE_BGRADB);
  EXPECT_CODE(kReduceInComputeType, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
  EXPECT_CODE(kReduceAnyWay, CUBLASLT_REDUCTION_SCHEME_MASK);
}

TEST(CublasLtAbi, HasStructuresOfTheSameForm) {
  EXPECT_EQ(sizeof(lt::Algorithm), sizeof(::cublasLtMatmulAlgo_t));
  EXPECT_EQ(sizeof(lt::Found), sizeof(::cublasLtMatmulHeuristicResult_t));
  EXPECT_EQ(offsetof(lt::Found, workspace),
            offsetof(::cublasLtMatmulHeuristicResult_t, workspaceSize));
  EXPECT_EQ(offsetof(lt::Found, state),
            offsetof(::cublasLtMatmulHeuristicResult_t, state));
  EXPECT_EQ(offsetof(lt::Found, waves),
            offsetof(::cublasLtMatmulHeuristicResult_t, wavesCount));
}

#else

TEST(CublasLtAbi, HasTheSameCodes) {
  GTEST_SKIP() << "no cublasLt.h on this machine";
}

#endif
