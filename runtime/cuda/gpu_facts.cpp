// Asks the driver about each GPU without creating a context.

#include "runtime/cuda/gpu_facts.h"

#include "runtime/cuda/libraries/cublaslt_library.h"
#include "runtime/cuda/libraries/cudnn_library.h"

#include <dlfcn.h>

namespace gradus::runtime::cuda {

namespace {

StatusOr<CardFacts> cardFacts(const Driver &driver, int index) {
  auto tell = [&](Result result) {
    return check(driver, result, inWords("asking about GPU ", index));
  };
  DeviceNumber device = 0;
  char name[256] = "";
  int major = 0, minor = 0;
  CardFacts facts;
  size_t bytes = 0;
  GRADUS_TRY(tell(driver.deviceGet(&device, index)));
  GRADUS_TRY(tell(driver.deviceName(name, sizeof(name), device)));
  GRADUS_TRY(tell(driver.deviceMemory(&bytes, device)));
  GRADUS_TRY(tell(driver.deviceAttribute(
      &major, DeviceAttribute::capabilityMajor, device)));
  GRADUS_TRY(tell(driver.deviceAttribute(
      &minor, DeviceAttribute::capabilityMinor, device)));
  return CardFacts{name, inWords("sm_", major, minor), bytes};
}

Status addCards(const Driver &driver, std::vector<CardFacts> &cards) {
  int count = 0;
  GRADUS_TRY(check(driver, driver.init(0), "starting CUDA"));
  GRADUS_TRY(check(driver, driver.deviceCount(&count), "counting GPUs"));
  for (int i = 0; i < count; ++i) {
    GRADUS_ASSIGN(CardFacts card, cardFacts(driver, i));
    cards.push_back(std::move(card));
  }
  return Status();
}

/// The version and file of a library: "9.19.0, /usr/lib/libcudnn.so.9".
template <typename Library>
std::string factsOf(const StatusOr<Library> &library) {
  if (!library.ok())
    return library.status().message();
  Dl_info opened{};
  dladdr(reinterpret_cast<const void *>(library->version), &opened);
  return inWords(versionText(library->version()), ", ",
                 opened.dli_fname ? opened.dli_fname : "of an unknown file");
}

} // namespace

void addDriverFacts(const Driver &driver, GpuFacts &facts) {
  int version = 0;
  Status status = check(driver, driver.driverVersion(&version),
                        "asking for the driver's version");
  facts.driver = inWords("CUDA ", version / 1000, ".", version % 1000 / 10);
  if (status.ok())
    status = addCards(driver, facts.cards);
  if (!status.ok())
    facts.driver = status.message();
}

void addLibraryFacts(GpuFacts &facts) {
  facts.libraries.emplace_back("cublaslt", factsOf(cublaslt::load()));
  facts.libraries.emplace_back("cudnn", factsOf(cudnn::load()));
}

} // namespace gradus::runtime::cuda
