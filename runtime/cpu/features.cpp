// Detects the features of the CPU by CPUID.

#include "runtime/cpu/features.h"

#include "runtime/flat.h"

#include <algorithm>
#include <cpuid.h>
#include <cstdio>

namespace gradus::runtime {

namespace {

/// Register contents that the system must save for a feature to be usable.
enum class State { none, avx, avx512, amx };

/// One bit of CPUID: `reg` is 0..3 for eax, ebx, ecx, edx.
struct Feature {
  const char *name;
  unsigned leaf, subleaf, reg, bit;
  State state = State::none;
};

constexpr Feature kFeatures[] = {
    {"cx8", 1, 0, 3, 8},
    {"cmov", 1, 0, 3, 15},
    {"mmx", 1, 0, 3, 23},
    {"fxsr", 1, 0, 3, 24},
    {"sse", 1, 0, 3, 25},
    {"sse2", 1, 0, 3, 26},
    {"sse3", 1, 0, 2, 0},
    {"pclmul", 1, 0, 2, 1},
    {"ssse3", 1, 0, 2, 9},
    {"fma", 1, 0, 2, 12, State::avx},
    {"cx16", 1, 0, 2, 13},
    {"sse4.1", 1, 0, 2, 19},
    {"sse4.2", 1, 0, 2, 20},
    {"crc32", 1, 0, 2, 20},
    {"movbe", 1, 0, 2, 22},
    {"popcnt", 1, 0, 2, 23},
    {"aes", 1, 0, 2, 25},
    {"xsave", 1, 0, 2, 27},
    {"avx", 1, 0, 2, 28, State::avx},
    {"f16c", 1, 0, 2, 29, State::avx},
    {"rdrnd", 1, 0, 2, 30},
    {"fsgsbase", 7, 0, 1, 0},
    {"bmi", 7, 0, 1, 3},
    {"avx2", 7, 0, 1, 5, State::avx},
    {"bmi2", 7, 0, 1, 8},
    {"invpcid", 7, 0, 1, 10},
    {"rtm", 7, 0, 1, 11},
    {"avx512f", 7, 0, 1, 16, State::avx512},
    {"evex512", 7, 0, 1, 16, State::avx512},
    {"avx512dq", 7, 0, 1, 17, State::avx512},
    {"rdseed", 7, 0, 1, 18},
    {"adx", 7, 0, 1, 19},
    {"avx512ifma", 7, 0, 1, 21, State::avx512},
    {"clflushopt", 7, 0, 1, 23},
    {"clwb", 7, 0, 1, 24},
    {"avx512cd", 7, 0, 1, 28, State::avx512},
    {"sha", 7, 0, 1, 29},
    {"avx512bw", 7, 0, 1, 30, State::avx512},
    {"avx512vl", 7, 0, 1, 31, State::avx512},
    {"avx512vbmi", 7, 0, 2, 1, State::avx512},
    {"pku", 7, 0, 2, 4},
    {"waitpkg", 7, 0, 2, 5},
    {"avx512vbmi2", 7, 0, 2, 6, State::avx512},
    {"shstk", 7, 0, 2, 7},
    {"gfni", 7, 0, 2, 8},
    {"vaes", 7, 0, 2, 9, State::avx},
    {"vpclmulqdq", 7, 0, 2, 10, State::avx},
    {"avx512vnni", 7, 0, 2, 11, State::avx512},
    {"avx512bitalg", 7, 0, 2, 12, State::avx512},
    {"avx512vpopcntdq", 7, 0, 2, 14, State::avx512},
    {"rdpid", 7, 0, 2, 22},
    {"cldemote", 7, 0, 2, 25},
    {"movdiri", 7, 0, 2, 27},
    {"movdir64b", 7, 0, 2, 28},
    {"enqcmd", 7, 0, 2, 29},
    {"uintr", 7, 0, 3, 5},
    {"avx512vp2intersect", 7, 0, 3, 8, State::avx512},
    {"serialize", 7, 0, 3, 14},
    {"tsxldtrk", 7, 0, 3, 16},
    {"pconfig", 7, 0, 3, 18},
    {"amx-bf16", 7, 0, 3, 22, State::amx},
    {"avx512fp16", 7, 0, 3, 23, State::avx512},
    {"amx-tile", 7, 0, 3, 24, State::amx},
    {"amx-int8", 7, 0, 3, 25, State::amx},
    {"sha512", 7, 1, 0, 0},
    {"sm3", 7, 1, 0, 1},
    {"sm4", 7, 1, 0, 2},
    {"avxvnni", 7, 1, 0, 4, State::avx},
    {"avx512bf16", 7, 1, 0, 5, State::avx512},
    {"cmpccxadd", 7, 1, 0, 7},
    {"amx-fp16", 7, 1, 0, 21, State::amx},
    {"avxifma", 7, 1, 0, 23, State::avx},
    {"avxvnniint8", 7, 1, 3, 4, State::avx},
    {"avxneconvert", 7, 1, 3, 5, State::avx},
    {"amx-complex", 7, 1, 3, 8, State::amx},
    {"avxvnniint16", 7, 1, 3, 10, State::avx},
    {"prefetchi", 7, 1, 3, 14},
    {"xsaveopt", 13, 1, 0, 0},
    {"xsavec", 13, 1, 0, 1},
    {"xsaves", 13, 1, 0, 3},
    {"ptwrite", 20, 0, 1, 4},
    {"sahf", 0x80000001, 0, 2, 0},
    {"lzcnt", 0x80000001, 0, 2, 5},
    {"sse4a", 0x80000001, 0, 2, 6},
    {"prfchw", 0x80000001, 0, 2, 8},
    {"xop", 0x80000001, 0, 2, 11, State::avx},
    {"lwp", 0x80000001, 0, 2, 15},
    {"fma4", 0x80000001, 0, 2, 16, State::avx},
    {"tbm", 0x80000001, 0, 2, 21},
    {"mwaitx", 0x80000001, 0, 2, 29},
    {"64bit", 0x80000001, 0, 3, 29},
    {"clzero", 0x80000008, 0, 1, 0},
    {"rdpru", 0x80000008, 0, 1, 4},
    {"wbnoinvd", 0x80000008, 0, 1, 9},
};

/// The registers that the system saves, as XCR0 lists them.
uint64_t savedRegisters() {
  unsigned eax, ebx, ecx, edx;
  if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx >> 27 & 1))
    return 0;
  unsigned low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}

bool isSaved(State state) {
  static const uint64_t saved = savedRegisters();
  switch (state) {
  case State::none:
    return true;
  case State::avx:
    return (saved & 0x6) == 0x6;
  case State::avx512:
    return (saved & 0xe6) == 0xe6;
  case State::amx:
    return (saved & 0x60000) == 0x60000;
  }
  return false;
}

bool isPresent(const Feature &feature) {
  unsigned registers[4] = {};
  return __get_cpuid_count(feature.leaf, feature.subleaf, &registers[0],
                           &registers[1], &registers[2], &registers[3]) &&
         (registers[feature.reg] >> feature.bit & 1) && isSaved(feature.state);
}

std::vector<std::string> readFeatures() {
  std::vector<std::string> names = {"nopl", "x87"}; // every x86-64 has these
  for (const Feature &feature : kFeatures)
    if (isPresent(feature))
      names.push_back(feature.name);
  std::sort(names.begin(), names.end());
  return names;
}

} // namespace

const std::vector<std::string> &cpuFeatures() {
  static const std::vector<std::string> features = readFeatures();
  return features;
}

std::string cpuModel() {
  unsigned parts[4] = {}, most, signature = 0, unused[3];
  if (__get_cpuid(0, &most, &parts[0], &parts[2], &parts[1]))
    __get_cpuid(1, &signature, &unused[0], &unused[1], &unused[2]);
  char number[16];
  std::snprintf(number, sizeof(number), " %08x", signature);
  return reinterpret_cast<const char *>(parts) + std::string(number);
}

std::string missingFeatures(
    const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>
        *needed) {
  std::string missing;
  const auto &have = cpuFeatures();
  for (size_t i = 0; i < countOf(needed); ++i) {
    std::string name = textOf(needed->Get(i));
    if (!std::binary_search(have.begin(), have.end(), name))
      append(missing, missing.empty() ? "" : ", ", name);
  }
  return missing;
}

} // namespace gradus::runtime
