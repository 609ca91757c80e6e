// Opens a device by its name.

#include "runtime/session/devices.h"

#include "runtime/cpu/cpu_device.h"
#include "runtime/device/plug_in.h"
#include "runtime/plug_in.h"

#include <algorithm>

namespace gradus::runtime {

namespace {

bool isNumber(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char each) {
    return each >= '0' && each <= '9';
  });
}

//===-- plug-ins ----------------------------------------------------------===//

constexpr PlugIn kGpus{"GRADUS_CUDA_LIBRARY", "libgradus_cuda.so", kOpenDevice};
constexpr PlugIn kEmulated{"GRADUS_EMULATED_LIBRARY", "libgradus_emulated.so",
                           kOpenEmulated};

StatusOr<std::shared_ptr<Device>> openBy(const PlugIn &plugIn,
                                         const std::string &name) {
  auto library = loadPlugIn(plugIn);
  GRADUS_TRY(at(library.status(), "device ", name));
  std::string error;
  Device *device = library->function<OpenDevice>(plugIn.function)(
      GRADUS_VERSION, name.c_str(), &error);
  if (!device)
    return failed("device ", name, ": ", error);
  return std::shared_ptr<Device>(device);
}

} // namespace

StatusOr<std::shared_ptr<Device>> openDevice(const std::string &name) {
  constexpr std::string_view kCard = "cuda:";
  if (name == "cpu")
    return std::make_shared<CpuDevice>();
  if (name.starts_with(kCard) &&
      !isNumber(std::string_view(name).substr(kCard.size())))
    return invalid("device ", name,
                   ": expected the number of a card behind cuda:");
  if (name == "emulated")
    return openBy(kEmulated, name);
  if (name == "cuda" || name.starts_with(kCard))
    return openBy(kGpus, name);
  return invalid("device ", name,
                 " is not one of: cpu, cuda, cuda:NUMBER, emulated");
}

GpuFacts gpuFacts() {
  GpuFacts facts;
  auto library = loadPlugIn(kGpus);
  facts.plugIn = library.ok() ? library->file() : library.status().message();
  if (auto *tell = library.ok() ? library->function<TellGpuFacts>(kTellGpuFacts)
                                : nullptr)
    tell(GRADUS_VERSION, &facts);
  return facts;
}

} // namespace gradus::runtime
