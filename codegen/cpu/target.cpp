// The table of CPU levels, and detection of the best level of this machine.

#include "codegen/cpu/target.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"

using namespace gradus;
using llvm::StringRef;

namespace {

/// A level includes the features of its `base`, recursively.
struct Level {
  StringRef name, base, cpu, features, adds;
  int vectorBits, registers;
  bool fma, bf16;
};

constexpr StringRef kV4Extras =
    "+avx512bf16,+avx512fp16,+amx-tile,+amx-bf16,+amx-int8";

const Level levels[] = {
    {"x86-64-v2", "", "x86-64-v2", "",
     "cx16 sahf popcnt sse3 ssse3 sse4.1 sse4.2", 128, 16, false, false},
    {"x86-64-v3", "x86-64-v2", "x86-64-v3", "",
     "avx avx2 bmi bmi2 f16c fma lzcnt movbe", 256, 16, true, false},
    {"x86-64-v4", "x86-64-v3", "x86-64-v4", "",
     "avx512f avx512bw avx512cd avx512dq avx512vl", 512, 32, true, false},
    {"v4+bf16", "x86-64-v4", "x86-64-v4", "+avx512bf16", "avx512bf16", 512, 32,
     true, true},
    {"amx", "v4+bf16", "x86-64-v4", kV4Extras,
     "avx512fp16 amx-tile amx-bf16 amx-int8", 512, 32, true, true},
};

const Level *findLevel(StringRef name) {
  const Level *found =
      llvm::find_if(levels, [&](const Level &l) { return l.name == name; });
  return found == std::end(levels) ? nullptr : found;
}

std::vector<std::string> featuresOf(const Level &level) {
  std::vector<std::string> features;
  if (const Level *base = findLevel(level.base))
    features = featuresOf(*base);
  llvm::SmallVector<StringRef> added;
  level.adds.split(added, ' ');
  features.insert(features.end(), added.begin(), added.end());
  return features;
}

CpuTarget targetOf(const Level &level) {
  CpuTarget target;
  target.cpu = level.cpu.str();
  target.features = level.features.str();
  target.vectorBits = level.vectorBits;
  target.registers = level.registers;
  target.fma = level.fma;
  target.bf16 = level.bf16;
  return target;
}

/// The best level whose features this machine has.
const Level &hostLevel() {
  llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
  for (const Level &level : llvm::reverse(levels))
    if (llvm::all_of(featuresOf(level),
                     [&](const std::string &f) { return host.lookup(f); }))
      return level;
  return levels[0];
}

/// The level of a target, which `cpu` and `features` identify.
const Level &levelOf(const CpuTarget &target) {
  for (const Level &level : levels)
    if (level.cpu == target.cpu && level.features == target.features)
      return level;
  return levels[0];
}

} // namespace

llvm::Expected<CpuTarget> gradus::cpuTarget(StringRef name) {
  if (name == "cpu") {
    CpuTarget target = targetOf(hostLevel());
    target.tune = llvm::sys::getHostCPUName().str();
    return target;
  }
  StringRef level = name;
  if (level.consume_front("cpu:") && !level.contains('+'))
    if (const Level *found = findLevel(level))
      return targetOf(*found);
  return llvm::createStringError(
      "target is '" + name.str() +
      "', expected cpu (this machine) or one of cpu:x86-64-v2, "
      "cpu:x86-64-v3, cpu:x86-64-v4, cpu:amx");
}

std::vector<std::string> gradus::requiredFeatures(const CpuTarget &target) {
  return featuresOf(levelOf(target));
}
