// gradus doctor: reports what this machine and this installation can do.

#include "messages/json_text.h"
#include "runtime/collectives/open_mpi.h"
#include "runtime/cpu/features.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/cuda_folder.h"
#include "runtime/memory.h"
#include "runtime/session/devices.h"
#include "tool/commands.h"
#include "tool/compiler_library.h"
#include "tool/text.h"
#ifdef GRADUS_WITH_ONEDNN
#include "runtime/cpu/onednn_library.h"
#endif

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <unistd.h>

namespace gradus::cli {
namespace {

/// The value of the first line of a /proc file that begins with `key`.
std::string procValue(const char *path, const std::string &key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.rfind(key, 0) == 0) {
      size_t start = line.find_first_not_of(" \t", line.find(':') + 1);
      return start == std::string::npos ? "" : line.substr(start);
    }
  return "";
}

/// The highest `--target cpu:LEVEL` that this machine runs.
std::string bestLevel() {
  struct Level {
    const char *name;
    std::vector<const char *>
        needs; // beyond the previous level, in LLVM's names
  };
  static const Level kLevels[] = {
      {"x86-64-v2", {"sse4.2", "ssse3", "popcnt", "cx16"}},
      {"x86-64-v3", {"avx2", "fma", "bmi", "bmi2", "f16c", "movbe"}},
      {"x86-64-v4",
       {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}},
      {"amx", {"avx512bf16", "amx-tile", "amx-bf16"}}};
  const std::vector<std::string> &features = runtime::cpuFeatures();
  std::string best = "none";
  for (const Level &level : kLevels) {
    for (const char *need : level.needs)
      if (std::find(features.begin(), features.end(), need) == features.end())
        return best;
    best = level.name;
  }
  return best;
}

/// The system's setting, and whether a session whose memory is on small pages
/// has it moved.
std::string hugePages() {
  std::string setting = runtime::hugePageSetting();
  if (setting == "never")
    return setting + ", small pages stay";
  return setting + (runtime::gathersHugePages()
                        ? ", small pages are gathered after the first step"
                        : ", small pages stay (no MADV_COLLAPSE: Linux 6.1)");
}

/// Loads oneDNN as a plan that needs it would.
std::string oneDnnVersion() {
#ifdef GRADUS_WITH_ONEDNN
  auto library = runtime::oneDnn();
  if (!library.ok())
    return library.status().message();
  const dnnl_version_t *version = (*library)->dnnl_version();
  return std::to_string(version->major) + "." + std::to_string(version->minor) +
         "." + std::to_string(version->patch);
#else
  return "not built in";
#endif
}

/// The place of the tools that compile for GPUs, or the reason why they fail.
std::string ptxas() {
  CudaFolder folder = cudaFolder();
  std::string problem = folder.problem();
  return problem.empty() ? folder.path + "/bin/ptxas, and libdevice"
                         : "needs a CUDA toolkit: " + problem;
}

/// The first line that mpirun prints of itself.
std::string mpirunVersion() {
  std::string line;
  if (FILE *printed = popen("mpirun --version 2>/dev/null", "re")) {
    for (int letter; (letter = std::fgetc(printed)) != EOF;)
      line += static_cast<char>(letter);
    pclose(printed);
  }
  line.resize(std::min(line.find('\n'), line.size()));
  return line.empty() ? "not found on the PATH: install Open MPI to train on "
                        "several processes"
                      : line;
}

/// Returns what training on several processes needs.
nlohmann::ordered_json mpiFacts() {
  auto library = runtime::mpiLibrary();
  return {{"mpi library", library.ok() ? *library : library.status().message()},
          {"mpirun", mpirunVersion()}};
}

/// A GPU in words: "NVIDIA H200, 139.8 GiB, sm_90".
std::string cardText(const runtime::CardFacts &card) {
  return card.name + ", " + bytesText(double(card.bytes)) + ", " +
         card.architecture;
}

nlohmann::ordered_json cudaFacts() {
  runtime::GpuFacts gpus = runtime::gpuFacts();
  nlohmann::ordered_json facts = {{"cuda library", gpus.plugIn}};
  if (!gpus.driver.empty())
    facts["cuda driver"] = gpus.driver;
  for (size_t i = 0; i < gpus.cards.size(); ++i)
    facts["cuda:" + std::to_string(i)] = cardText(gpus.cards[i]);
  for (const auto &[name, found] : gpus.libraries)
    facts[name] = found;
  facts["ptxas"] = ptxas();
  return facts;
}

nlohmann::ordered_json facts() {
  std::string library = compilerLibraryPath();
  double memory = double(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  nlohmann::ordered_json all = {
      {"gradus", GRADUS_VERSION},
      {"cpu", procValue("/proc/cpuinfo", "model name")},
      {"target", "cpu:" + bestLevel()},
      {"cores", runtime::availableCores()},
      {"memory", bytesText(memory)},
      {"huge pages", hugePages()},
      {"onednn", oneDnnVersion()},
      {"compiler", library.empty() ? "not installed" : library}};
  all.update(mpiFacts());
  all.update(cudaFacts());
  return all;
}

void run(bool json) {
  nlohmann::ordered_json all = facts();
  if (json) {
    printJson(all);
    return;
  }
  Table table;
  for (const auto &[key, value] : all.items())
    table.row(
        {key, value.is_string() ? value.get<std::string>() : jsonText(value)});
  std::fputs(table.text("").c_str(), stdout);
}

} // namespace

constexpr const char *kFooter = R"(Examples:
  gradus doctor            processor, cores, libraries, what MPI and GPUs need
  gradus doctor --json)";

void addDoctor(CLI::App &app) {
  auto json = std::make_shared<bool>(false);
  CLI::App *command =
      app.add_subcommand("doctor", "What this machine and installation can do");
  command->footer(kFooter);
  command->add_flag("--json", *json, "One JSON object");
  command->callback([json] { run(*json); });
}

} // namespace gradus::cli
