// Opens a device by its name.

#include "runtime/session/devices.h"

#include "runtime/cpu/cpu_device.h"
#include "runtime/device/plug_in.h"
#include "runtime/shared_library.h"

#include <algorithm>

namespace gradus::runtime {

namespace {

bool isNumber(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char each) {
    return each >= '0' && each <= '9';
  });
}

//===-- the plug-in for GPUs ----------------------------------------------===//

constexpr const char *kVariable = "GRADUS_CUDA_LIBRARY",
                     *kPlugIn = "libgradus_cuda.so";

struct PlugIn {
  std::string file;
  OpenDevice *open = nullptr;
  TellGpuFacts *tell = nullptr;
};

/// The library stays open: its devices may live as long as the program.
StatusOr<PlugIn> loadPlugIn() {
  LibrarySearch search = findLibrary({kVariable, {kPlugIn}});
  if (!search.found)
    return failed("needs ", kPlugIn,
                  ", which cannot be loaded: ", search.reasons(), " (",
                  kVariable, " may name it)");
  const SharedLibrary &library = *search.found;
  auto *open = library.function<OpenDevice>(kOpenDevice);
  auto *tell = library.function<TellGpuFacts>(kTellGpuFacts);
  if (!open || !tell)
    return failed(library.file(), " is no ", kPlugIn, " of Gradus");
  return PlugIn{library.file(), open, tell};
}

StatusOr<std::shared_ptr<Device>> openByPlugIn(const std::string &name) {
  auto plugIn = loadPlugIn();
  GRADUS_TRY(at(plugIn.status(), "device ", name));
  std::string error;
  Device *device = plugIn->open(GRADUS_VERSION, name.c_str(), &error);
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
  if (name == "cuda" || name == "emulated" || name.starts_with(kCard))
    return openByPlugIn(name);
  return invalid("device ", name,
                 " is not one of: cpu, cuda, cuda:NUMBER, emulated");
}

GpuFacts gpuFacts() {
  GpuFacts facts;
  auto plugIn = loadPlugIn();
  facts.plugIn = plugIn.ok() ? plugIn->file : plugIn.status().message();
  if (plugIn.ok())
    plugIn->tell(GRADUS_VERSION, &facts);
  return facts;
}

} // namespace gradus::runtime
