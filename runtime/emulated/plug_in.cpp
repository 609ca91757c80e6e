// The function that libgradus_emulated.so exports.

#include "runtime/device/plug_in.h"

#include "runtime/emulated/emulated_device.h"
#include "runtime/emulated/fake_options.h"

#include <cstdlib>

using namespace gradus::runtime;

static StatusOr<std::unique_ptr<cuda::CudaDevice>> open() {
  constexpr const char *kOptions = "GRADUS_EMULATED";
  const char *text = std::getenv(kOptions);
  auto options = cuda::readFakeOptions(text ? text : "");
  GRADUS_TRY(at(options.status(), kOptions));
  return cuda::openEmulated(*options);
}

/// Gives memory of the emulated GPU with these contents, for programs that try
/// inputs on a device (gradus.h). It lasts as long as a session on that GPU;
/// null where there is none, or no more memory.
extern "C" __attribute__((visibility("default"))) void *
gradus_emulated_memory(const void *bytes, size_t size) {
  return cuda::emulatedMemory(bytes, size);
}

extern "C" __attribute__((visibility("default"))) Device *
gradus_open_emulated_device(const char *version, const char *,
                            std::string *error) {
  *error = versionRefusal("libgradus_emulated.so", GRADUS_VERSION, version);
  return error->empty() ? handOver(open(), error) : nullptr;
}
