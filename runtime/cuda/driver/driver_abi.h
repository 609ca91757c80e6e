// The types of the CUDA driver's functions, declared here so that no toolkit is
// needed to build: handles, codes and structures of its binary interface since
// CUDA 12.0. A test compares them with cuda.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gradus::runtime::cuda {

/// CUresult: the values that we distinguish.
enum class Result : int32_t {
  success = 0,
  invalidValue = 1,
  outOfMemory = 2,
  notInitialized = 3,
  stubLibrary = 34,
  deviceUnavailable = 46,
  noDevice = 100,
  invalidDevice = 101,
  invalidImage = 200,
  invalidContext = 201,
  noBinaryForGpu = 209,
  eccUncorrectable = 214,
  invalidPtx = 218,
  noJitCompiler = 221,
  unsupportedPtxVersion = 222,
  invalidHandle = 400,
  illegalState = 401,
  notFound = 500,
  notReady = 600,
  illegalAddress = 700,
  launchOutOfResources = 701,
  misalignedAddress = 716,
  launchFailed = 719,
  notSupported = 801,
  driverMismatch = 803,
  captureUnsupported = 900,
  captureInvalidated = 901,
  captureWrongThread = 908,
  unknown = 999
};

/// CUdevice_attribute, CUjit_option: the values we use.
enum class DeviceAttribute : int32_t {
  maxThreadsPerBlock = 1,
  maxGridX = 5,
  maxSharedPerBlock = 8,
  warpSize = 10,
  multiprocessors = 16,
  capabilityMajor = 75,
  capabilityMinor = 76
};
enum class JitOption : int32_t { errorLog = 5, errorLogBytes = 6 };
/// CUmemorytype. `unified`: the driver derives the type from the address.
enum class MemoryType : int32_t { none = 0, host = 1, device = 2, unified = 4 };
/// CUstreamCaptureMode. Other threads may work during a capture.
enum class CaptureMode : int32_t { threadLocal = 1 };

constexpr unsigned kStreamNonBlocking = 1;
constexpr unsigned kEventWithoutTiming = 2;

using DeviceNumber = int;
using DevicePointer = uint64_t;
using Context = struct ContextHandle *;
using Module = struct ModuleHandle *;
using Function = struct FunctionHandle *;
using Stream = struct StreamHandle *;
using Event = struct EventHandle *;
using Graph = struct GraphHandle *;
using GraphNode = struct GraphNodeHandle *;
using GraphExec = struct GraphExecHandle *;
using HostFunction = void (*)(void *);

/// CUDA_KERNEL_NODE_PARAMS_v2
struct KernelParams {
  Function function;
  unsigned gridX, gridY, gridZ;
  unsigned blockX, blockY, blockZ;
  unsigned sharedBytes;
  void **arguments; // addresses of their values
  void **extra;
  void *kernel;
  Context context;
};

/// CUDA_MEMCPY3D_v2
struct CopyParams {
  size_t fromX, fromY, fromZ, fromLevel;
  MemoryType fromType;
  const void *fromHost;
  DevicePointer fromDevice;
  void *fromArray, *reserved0;
  size_t fromPitch, fromHeight;
  size_t toX, toY, toZ, toLevel;
  MemoryType toType;
  void *toHost;
  DevicePointer toDevice;
  void *toArray, *reserved1;
  size_t toPitch, toHeight;
  size_t width, height, depth;
};

/// CUDA_MEMSET_NODE_PARAMS_v1
struct FillParams {
  DevicePointer to;
  size_t pitch;
  unsigned value, elementBytes;
  size_t width, height;
};

} // namespace gradus::runtime::cuda
