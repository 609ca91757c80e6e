// CPU targets: the levels that code can be emitted for, and their features.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace gradus {

struct CpuTarget {
  std::string cpu;      // as LLVM calls it
  std::string features; // added to those of `cpu`: "+avx512bf16,..."
  std::string tune;     // the processor to schedule for; empty: any

  int vectorBits = 128; // widest registers
  int registers = 16;   // how many of them
  bool fma = false;     // fused multiply-add
  bool bf16 = false;    // AVX512-BF16: conversions to it, products of pairs
};

/// "cpu" (this machine) or "cpu:x86-64-v2|v3|v4|amx".
llvm::Expected<CpuTarget> cpuTarget(llvm::StringRef name);

/// The CPU features, by LLVM's names, that a machine needs to run the code.
std::vector<std::string> requiredFeatures(const CpuTarget &target);

} // namespace gradus
