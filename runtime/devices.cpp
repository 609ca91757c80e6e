// From the name of a device to the device.

#include "runtime/devices.h"

#include "runtime/cpu/cpu_device.h"

#include <algorithm>

namespace gradus::runtime {

namespace {

bool isNumber(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char each) {
    return each >= '0' && each <= '9';
  });
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
  if (name == "cuda" || name.starts_with(kCard))
    return invalid("device ", name, ": this Gradus has no CUDA executor");
  if (name == "emulated")
    return invalid("device ", name, ": this Gradus emulates no GPU");
  return invalid("device ", name,
                 " is not one of: cpu, cuda, cuda:NUMBER, emulated");
}

} // namespace gradus::runtime
