// The functions that libgradus_cuda.so exports.

#include "runtime/device/plug_in.h"

#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/gpu_facts.h"

#include <charconv>
#include <cstring>

using namespace gradus::runtime;

static StatusOr<std::unique_ptr<cuda::CudaDevice>> open(const char *name) {
  const char *number = std::strchr(name, ':');
  int index = 0;
  if (number &&
      std::from_chars(number + 1, name + std::strlen(name), index).ec !=
          std::errc())
    return invalid("no machine has so many cards");
  return cuda::CudaDevice::openCard(index);
}

static std::string refusalOf(const char *version) {
  return versionRefusal("libgradus_cuda.so", GRADUS_VERSION, version);
}

extern "C" __attribute__((visibility("default"))) Device *
gradus_open_device(const char *version, const char *name, std::string *error) {
  *error = refusalOf(version);
  return error->empty() ? handOver(open(name), error) : nullptr;
}

extern "C" __attribute__((visibility("default"))) void
gradus_tell_gpu_facts(const char *version, GpuFacts *facts) {
  facts->driver = refusalOf(version);
  if (!facts->driver.empty())
    return;
  auto driver = cuda::systemDriver();
  if (driver.ok())
    cuda::addDriverFacts(**driver, *facts);
  else
    facts->driver = driver.status().message();
  cuda::addLibraryFacts(*facts);
}
