// Our declarations of the driver's types and functions are those of cuda.h,
// where a toolkit is at hand.

#include "runtime/cuda/driver/driver.h"

#include <gtest/gtest.h>

#if __has_include(<cuda.h>)

#include "tests/runtime/cuda/same_signature.h"

#include <cuda.h>

namespace gpu = gradus::runtime::cuda;

// cuda.h has some of the names as macros for a later version of the same form.
#define GRADUS_CUDA(needs, name, symbol, parameters)                           \
  static_assert(                                                               \
      kSameSignature<decltype(gpu::Driver::name), decltype(&::symbol)>,        \
      #symbol);
#include "runtime/cuda/driver/driver.def"

#define EXPECT_FIELD(Ours, ours, Theirs, theirs)                               \
  EXPECT_EQ(offsetof(gpu::Ours, ours), offsetof(::Theirs, theirs)) << #ours

TEST(CudaDriverAbi, HasStructuresOfTheSameForm) {
  EXPECT_EQ(sizeof(gpu::KernelParams), sizeof(::CUDA_KERNEL_NODE_PARAMS_v2));
  EXPECT_FIELD(KernelParams, gridX, CUDA_KERNEL_NODE_PARAMS_v2, gridDimX);
  EXPECT_FIELD(KernelParams, blockX, CUDA_KERNEL_NODE_PARAMS_v2, blockDimX);
  EXPECT_FIELD(KernelParams, sharedBytes, CUDA_KERNEL_NODE_PARAMS_v2,
               sharedMemBytes);
  EXPECT_FIELD(KernelParams, arguments, CUDA_KERNEL_NODE_PARAMS_v2,
               kernelParams);
  EXPECT_FIELD(KernelParams, context, CUDA_KERNEL_NODE_PARAMS_v2, ctx);
  EXPECT_EQ(sizeof(gpu::CopyParams), sizeof(::CUDA_MEMCPY3D));
  EXPECT_FIELD(CopyParams, fromType, CUDA_MEMCPY3D, srcMemoryType);
  EXPECT_FIELD(CopyParams, fromDevice, CUDA_MEMCPY3D, srcDevice);
  EXPECT_FIELD(CopyParams, fromPitch, CUDA_MEMCPY3D, srcPitch);
  EXPECT_FIELD(CopyParams, toType, CUDA_MEMCPY3D, dstMemoryType);
  EXPECT_FIELD(CopyParams, toDevice, CUDA_MEMCPY3D, dstDevice);
  EXPECT_FIELD(CopyParams, toPitch, CUDA_MEMCPY3D, dstPitch);
  EXPECT_FIELD(CopyParams, width, CUDA_MEMCPY3D, WidthInBytes);
  EXPECT_FIELD(CopyParams, depth, CUDA_MEMCPY3D, Depth);
  EXPECT_EQ(sizeof(gpu::FillParams), sizeof(::CUDA_MEMSET_NODE_PARAMS));
  EXPECT_FIELD(FillParams, value, CUDA_MEMSET_NODE_PARAMS, value);
  EXPECT_FIELD(FillParams, elementBytes, CUDA_MEMSET_NODE_PARAMS, elementSize);
  EXPECT_FIELD(FillParams, height, CUDA_MEMSET_NODE_PARAMS, height);
}

#define EXPECT_CODE(ours, theirs) EXPECT_EQ(int(gpu::ours), int(::theirs))

TEST(CudaDriverAbi, HasTheSameCodes) {
  EXPECT_CODE(Result::outOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_CODE(Result::stubLibrary, CUDA_ERROR_STUB_LIBRARY);
  EXPECT_CODE(Result::deviceUnavailable, CUDA_ERROR_DEVICE_UNAVAILABLE);
  EXPECT_CODE(Result::noDevice, CUDA_ERROR_NO_DEVICE);
  EXPECT_CODE(Result::invalidDevice, CUDA_ERROR_INVALID_DEVICE);
  EXPECT_CODE(Result::invalidImage, CUDA_ERROR_INVALID_IMAGE);
  EXPECT_CODE(Result::invalidContext, CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_CODE(Result::noBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_CODE(Result::eccUncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE);
  EXPECT_CODE(Result::invalidPtx, CUDA_ERROR_INVALID_PTX);
  EXPECT_CODE(Result::noJitCompiler, CUDA_ERROR_JIT_COMPILER_NOT_FOUND);
  EXPECT_CODE(Result::unsupportedPtxVersion,
              CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  EXPECT_CODE(Result::invalidHandle, CUDA_ERROR_INVALID_HANDLE);
  EXPECT_CODE(Result::illegalState, CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_CODE(Result::notFound, CUDA_ERROR_NOT_FOUND);
  EXPECT_CODE(Result::notReady, CUDA_ERROR_NOT_READY);
  EXPECT_CODE(Result::illegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_CODE(Result::launchOutOfResources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  EXPECT_CODE(Result::misalignedAddress, CUDA_ERROR_MISALIGNED_ADDRESS);
  EXPECT_CODE(Result::launchFailed, CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_CODE(Result::notSupported, CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_CODE(Result::driverMismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
  EXPECT_CODE(Result::captureUnsupported,
              CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_CODE(Result::captureInvalidated,
              CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_CODE(Result::captureWrongThread,
              CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
  EXPECT_CODE(Result::unknown, CUDA_ERROR_UNKNOWN);
}

TEST(CudaDriverAbi, AsksForTheSameFacts) {
  EXPECT_CODE(DeviceAttribute::maxThreadsPerBlock,
              CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  EXPECT_CODE(DeviceAttribute::maxGridX, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
  EXPECT_CODE(DeviceAttribute::maxSharedPerBlock,
              CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  EXPECT_CODE(DeviceAttribute::warpSize, CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  EXPECT_CODE(DeviceAttribute::multiprocessors,
              CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  EXPECT_CODE(DeviceAttribute::capabilityMajor,
              CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  EXPECT_CODE(DeviceAttribute::capabilityMinor,
              CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  EXPECT_CODE(JitOption::errorLog, CU_JIT_ERROR_LOG_BUFFER);
  EXPECT_CODE(JitOption::errorLogBytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
  EXPECT_CODE(MemoryType::unified, CU_MEMORYTYPE_UNIFIED);
  EXPECT_CODE(CaptureMode::threadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  EXPECT_EQ(gpu::kStreamNonBlocking, unsigned(CU_STREAM_NON_BLOCKING));
  EXPECT_EQ(gpu::kEventWithoutTiming, unsigned(CU_EVENT_DISABLE_TIMING));
}

#else

TEST(CudaDriverAbi, HasStructuresOfTheSameForm) {
  GTEST_SKIP() << "no cuda.h on this machine";
}

#endif
