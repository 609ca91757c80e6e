// Reads the header of the file alone.

#include "tool/inspect/inspect_tensors.h"

#include "messages/json_text.h"
#include "messages/printable.h"
#include "runtime/safetensors.h"
#include "tool/failure.h"
#include "tool/foreign_file.h"
#include "tool/text.h"

#include "absl/strings/match.h"

#include <nlohmann/json.hpp>

#include <cstdio>

using namespace gradus::runtime;
using nlohmann::ordered_json;

namespace gradus::cli {

bool isTensorFile(const std::string &path) {
  return absl::EndsWith(path, ".safetensors");
}

static ordered_json factsOf(const Safetensors &file) {
  ordered_json tensors = ordered_json::array();
  for (const NamedTensor &tensor : file.tensors())
    tensors.push_back({{"name", tensor.name},
                       {"type", toString(tensor.type)},
                       {"bytes", tensor.data.size()}});
  return {{"metadata", file.metadata()}, {"tensors", tensors}};
}

/// The figures of a training run are for the run that goes on.
static std::string shown(const std::string &key, const std::string &value) {
  constexpr size_t kMost = 60;
  return printable(key + " " + (value.size() > kMost ? "..." : value));
}

static void print(const std::string &path, const Safetensors &file) {
  size_t bytes = 0;
  Table table({"tensor", "type"});
  for (const NamedTensor &tensor : file.tensors()) {
    bytes += tensor.data.size();
    table.row({tensor.name, toString(tensor.type)});
  }
  std::printf("%s: %zu tensors, %s\n", printable(path).c_str(),
              file.tensors().size(),
              bytesText(static_cast<double>(bytes)).c_str());
  for (const auto &[key, value] : file.metadata())
    std::printf("  %s\n", shown(key, value).c_str());
  std::fputs(table.text().c_str(), stdout);
}

void inspectTensors(const std::string &path, bool json) {
  refuseForeign(path, Wanted::weights);
  Safetensors file = take(Safetensors::open(path));
  if (!json)
    return print(path, file);
  printJson(factsOf(file));
}

} // namespace gradus::cli
