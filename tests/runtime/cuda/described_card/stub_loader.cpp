// A driver that loads kernels and runs none, for libraries that compile kernels
// when a plan is built: cuDNN, whose engines of attention ask a driver to load
// what they compiled. There is no card.

#include <cstdint>
#include <cstring>

extern "C" {

int cuGetProcAddress_v2(const char *name, void **address, int version,
                        uint64_t flags, int *found);

int cuInit(unsigned) { return 0; }

int cuDriverGetVersion(int *version) {
  *version = 13000;
  return 0;
}

int cuDeviceGetCount(int *count) {
  *count = 0;
  return 0;
}

int cuLibraryLoadData(void **library, const void *, void *, void *, unsigned,
                      void *, void *, unsigned) {
  static int loaded;
  *library = &loaded;
  return 0;
}

int cuLibraryGetKernel(void **kernel, void *library, const char *) {
  *kernel = library;
  return 0;
}

int cuLibraryUnload(void *) { return 0; }

int cuModuleLoadData(void **module, const void *) {
  return cuLibraryLoadData(module, nullptr, nullptr, nullptr, 0, nullptr,
                           nullptr, 0);
}

int cuModuleGetFunction(void **function, void *module, const char *) {
  *function = module;
  return 0;
}

int cuModuleUnload(void *) { return 0; }

/// There is none (CUDA_ERROR_NOT_FOUND).
int cuGetExportTable(const void **table, const void *) {
  *table = nullptr;
  return 500;
}

/// All others: those that are looked for by name, and those that are asked for.
#define GRADUS_REFUSED(X)                                                      \
  X(cuGetErrorName)                                                            \
  X(cuGetErrorString)                                                          \
  X(cuCtxGetCurrent)                                                           \
  X(cuCtxGetLimit)                                                             \
  X(cuCtxPopCurrent)                                                           \
  X(cuCtxPushCurrent)                                                          \
  X(cuStreamGetCtx)                                                            \
  X(cuLinkCreate)                                                              \
  X(cuLinkAddData)                                                             \
  X(cuLinkComplete)                                                            \
  X(cuLinkDestroy)                                                             \
  X(cuLaunchKernel)                                                            \
  X(cuLaunchKernelEx)                                                          \
  X(cuLaunchCooperativeKernel)                                                 \
  X(cuDeviceGet)                                                               \
  X(cuLibraryLoadFromFile)                                                     \
  X(cuKernelSetAttribute)                                                      \
  X(cuKernelGetAttribute)                                                      \
  X(cuKernelGetFunction)                                                       \
  X(cuOccupancyMaxPotentialClusterSize)                                        \
  X(cuTensorMapEncodeTiled)                                                    \
  X(cuTensorMapEncodeIm2col)                                                   \
  X(cuRefuse)
#define GRADUS_REFUSE(name)                                                    \
  int name() { return 999; }
GRADUS_REFUSED(GRADUS_REFUSE)

int cuGetProcAddress(const char *name, void **address, int version,
                     uint64_t flags) {
  return cuGetProcAddress_v2(name, address, version, flags, nullptr);
}

int cuGetProcAddress_v2(const char *name, void **address, int, uint64_t,
                        int *found) {
  const struct {
    const char *name;
    void *address;
  } all[] = {
      {"cuInit", reinterpret_cast<void *>(&cuInit)},
      {"cuDriverGetVersion", reinterpret_cast<void *>(&cuDriverGetVersion)},
      {"cuDeviceGetCount", reinterpret_cast<void *>(&cuDeviceGetCount)},
      {"cuLibraryLoadData", reinterpret_cast<void *>(&cuLibraryLoadData)},
      {"cuLibraryGetKernel", reinterpret_cast<void *>(&cuLibraryGetKernel)},
      {"cuLibraryUnload", reinterpret_cast<void *>(&cuLibraryUnload)},
      {"cuModuleLoadData", reinterpret_cast<void *>(&cuModuleLoadData)},
      {"cuModuleGetFunction", reinterpret_cast<void *>(&cuModuleGetFunction)},
      {"cuModuleUnload", reinterpret_cast<void *>(&cuModuleUnload)},
      {"cuGetExportTable", reinterpret_cast<void *>(&cuGetExportTable)},
      {"cuGetProcAddress", reinterpret_cast<void *>(&cuGetProcAddress_v2)}};
  *address = reinterpret_cast<void *>(&cuRefuse);
  for (const auto &one : all)
    if (std::strcmp(name, one.name) == 0)
      *address = one.address;
  if (found)
    *found = 0;
  return 0;
}
}
