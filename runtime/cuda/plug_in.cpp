// The functions that libgradus_cuda.so exports.

#include "runtime/device/plug_in.h"

#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/gpu_facts.h"
#include "runtime/emulated/fake_options.h"

#include <charconv>
#include <cstdlib>
#include <cstring>

using namespace gradus::runtime;

static StatusOr<std::unique_ptr<cuda::CudaDevice>> openEmulated() {
  constexpr const char *kOptions = "GRADUS_EMULATED";
  const char *text = std::getenv(kOptions);
  auto options = cuda::readFakeOptions(text ? text : "");
  GRADUS_TRY(at(options.status(), kOptions));
  return cuda::CudaDevice::openEmulated(*options);
}

static StatusOr<std::unique_ptr<cuda::CudaDevice>> open(const char *name) {
  if (std::strcmp(name, "emulated") == 0)
    return openEmulated();
  const char *number = std::strchr(name, ':');
  int index = 0;
  if (number &&
      std::from_chars(number + 1, name + std::strlen(name), index).ec !=
          std::errc())
    return invalid("no machine has so many cards");
  return cuda::CudaDevice::openCard(index);
}

/// The reason why a runtime of another version is refused; empty: it is not.
static std::string refusalOf(const char *version) {
  if (std::strcmp(version, GRADUS_VERSION) == 0)
    return "";
  return inWords("libgradus_cuda.so is of Gradus " GRADUS_VERSION
                 ", and this is Gradus ",
                 version);
}

extern "C" __attribute__((visibility("default"))) Device *
gradus_open_device(const char *version, const char *name, std::string *error) {
  *error = refusalOf(version);
  if (!error->empty())
    return nullptr;
  auto device = open(name);
  if (device.ok())
    return (*std::move(device)).release();
  *error = device.status().message();
  return nullptr;
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
