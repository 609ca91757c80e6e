// A profiler: takes ranges as NVTX gives them, and prints them on stderr. Where
// NVIDIA's header is at hand, our numbers and layouts are compared with it.

#include <cstddef>
#include <cstdint>
#include <cstdio>

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>

#define SAME(ours, theirs) static_assert((ours) == int(theirs), #theirs)
SAME(1, NVTX_CB_MODULE_CORE);
SAME(9, NVTX_CBID_CORE_RangePushA);
SAME(11, NVTX_CBID_CORE_RangePop);
SAME(16, NVTX_CBID_CORE_SIZE);
SAME(9, NVTX_CBID_CUDA_SIZE);
SAME(15, NVTX_CBID_OPENCL_SIZE);
SAME(7, NVTX_CBID_CUDART_SIZE);
SAME(16, NVTX_CBID_CORE2_SIZE);
SAME(7, NVTX_CBID_SYNC_SIZE);
SAME(1, NVTX_ETID_CALLBACKS);
SAME(3, NVTX_ETID_VERSIONINFO);
SAME(8, offsetof(NvtxExportTableCallbacks, GetModuleFunctionTable));
SAME(8, offsetof(NvtxExportTableVersionInfo, version));
SAME(16, offsetof(NvtxExportTableVersionInfo, SetInjectionNvtxVersion));
#endif

namespace {

using Function = void (*)();
struct Callbacks {
  size_t bytes;
  int (*placesOf)(int module, Function ***table, unsigned *count);
};

int depth = 0;

int push(const char *name) {
  std::fprintf(stderr, "%*s%s\n", 2 * depth, "", name);
  return depth++;
}
int pop() { return --depth; }

} // namespace

extern "C" int
InitializeInjectionNvtx2(const void *(*tableOf)(uint32_t which)) {
  auto *callbacks = static_cast<const Callbacks *>(tableOf(1));
  Function **places = nullptr;
  unsigned count = 0;
  // A profiler takes what it finds of the other modules, too.
  for (int module = 6; module >= 1; --module)
    if (!callbacks->placesOf(module, &places, &count) || !places || !count)
      return 0;
  *places[9] = reinterpret_cast<Function>(push);
  *places[11] = reinterpret_cast<Function>(pop);
  return count == 16 && !callbacks->placesOf(7, &places, &count);
}
