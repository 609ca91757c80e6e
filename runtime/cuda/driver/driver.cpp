// Loads the driver's functions by their exported names, which include the
// version of their types: a driver that lacks one is older than required.

#include "runtime/cuda/driver/driver.h"

#include "runtime/cuda/driver/symbols.h"
#include "runtime/shared_library.h"

namespace gradus::runtime::cuda {

namespace {

constexpr const char *kOldest = "CUDA 12.0 (version 525)";

/// The version of a driver: "of CUDA 11.4".
std::string versionOf(const Driver &driver) {
  int version = 0;
  if (!driver.driverVersion ||
      driver.driverVersion(&version) != Result::success)
    return "of an unknown version";
  return inWords("of CUDA ", version / 1000, ".", version % 1000 / 10);
}

/// Explains a code to users; null if the driver's own words suffice.
const char *meaningOf(Result result) {
  switch (result) {
  case Result::outOfMemory:
    return "the GPU has too little free memory";
  case Result::stubLibrary:
    return "libcuda.so.1 is the toolkit's stub, and no driver";
  case Result::noDevice:
    return "the NVIDIA driver finds no GPU";
  case Result::driverMismatch:
    return "the NVIDIA driver's library and its kernel module are of different "
           "versions (a restart may be due)";
  case Result::invalidImage:
    return "the GPU code is damaged, or of a newer CUDA than the NVIDIA driver";
  case Result::noBinaryForGpu:
    return "there is no code for this GPU's architecture";
  case Result::unsupportedPtxVersion:
    return "the PTX is newer than the NVIDIA driver";
  case Result::noJitCompiler:
    return "the NVIDIA driver has no compiler for PTX";
  case Result::eccUncorrectable:
    return "the GPU's memory has an error that it cannot correct";
  case Result::illegalAddress:
  case Result::misalignedAddress:
  case Result::launchFailed:
    return "a kernel failed, and the GPU forgot all that this program had "
           "there";
  case Result::deviceUnavailable:
    return "the GPU is not available: another program has it for itself, its "
           "compute mode forbids it, or it was lost";
  case Result::unknown:
    return "the driver cannot say why: the GPU was lost, or its kernel module "
           "does not work";
  default:
    return nullptr;
  }
}

std::string textOf(Result (*function)(Result, const char **), Result result) {
  const char *text = nullptr;
  return function(result, &text) == Result::success && text ? text : "";
}

} // namespace

StatusOr<Driver> loadDriver(const std::string &library) {
  auto opened = SharedLibrary::open(library);
  GRADUS_TRY(at(opened.status(), "no NVIDIA driver on this machine"));
  Driver driver;
  Symbols symbols(*opened);
#define GRADUS_CUDA(needs, name, symbol, parameters)                           \
  symbols.take(driver.name, #symbol);
#include "runtime/cuda/driver/driver.def"
  if (!symbols.missing())
    return driver;
  Status status = failed("the NVIDIA driver ", library, " is ",
                         versionOf(driver), " and has no ", symbols.missing(),
                         "; needs one of ", kOldest, " or later");
  opened->close();
  return status;
}

StatusOr<const Driver *> systemDriver() {
  static const StatusOr<Driver> driver = loadDriver("libcuda.so.1");
  if (!driver.ok())
    return driver.status();
  return &*driver;
}

Status check(const Driver &driver, Result result, const std::string &what) {
  if (result == Result::success)
    return Status();
  const char *meaning = meaningOf(result);
  std::string words = meaning ? meaning : textOf(driver.errorString, result);
  std::string report = driver.report ? driver.report() : "";
  return failed(what, ": ", report.empty() ? words : report, " (",
                textOf(driver.errorName, result), " ", int(result), ")");
}

} // namespace gradus::runtime::cuda
