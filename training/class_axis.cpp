// The compiler has already refused recipes in which the axis is ambiguous.

#include "training/class_axis.h"

namespace gradus::training {

static std::optional<int64_t> axisWithout(const std::vector<int64_t> &output,
                                          const std::vector<int64_t> &labels) {
  for (size_t axis = 1; axis < output.size(); ++axis) {
    std::vector<int64_t> rest = output;
    rest.erase(rest.begin() + axis);
    if (rest == labels)
      return axis;
  }
  return std::nullopt;
}

std::optional<int64_t> classAxis(const nlohmann::json &loss,
                                 const std::vector<int64_t> &output,
                                 const std::vector<int64_t> &labels) {
  auto said = loss.find("class_axis");
  if (said == loss.end() || !said->is_number_integer())
    return axisWithout(output, labels);
  int64_t axis = said->get<int64_t>(), rank = output.size();
  axis += axis < 0 ? rank : 0;
  return axis >= 0 && axis < rank ? std::optional(axis) : std::nullopt;
}

} // namespace gradus::training
