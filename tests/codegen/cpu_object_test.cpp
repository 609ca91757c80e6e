// Blobs: entries, constants that code reaches, and the refusal of calls
// outside.

#include "codegen/cpu_object.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/Support/SourceMgr.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

using namespace gradus;

static llvm::Expected<Blob> blobOf(const char *text,
                                   std::vector<std::string> names) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  auto module = llvm::parseAssemblyString(text, diagnostic, context);
  EXPECT_TRUE(module) << diagnostic.getMessage().str();
  auto machine =
      llvm::cantFail(targetMachine(llvm::cantFail(cpuTarget("cpu:x86-64-v2"))));
  return compileToBlob(*module, *machine, names);
}

/// Emitted code carries no type for the sanitizer to check.
__attribute__((no_sanitize("function"))) static double call(char *entry,
                                                            double x) {
  return reinterpret_cast<double (*)(double)>(entry)(x);
}

TEST(CpuObject, LaysOutCodeWithItsConstants) {
  Blob blob = llvm::cantFail(blobOf(R"(
define double @f(double %x) {
  %y = fmul double %x, 0x400921FB54442D18
  ret double %y
}
define double @g(double %x) {
  %y = call double @f(double %x)
  %z = fadd double %y, 1.5
  ret double %z
})",
                                    {"g", "f"}));
  void *memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::copy(blob.bytes.begin(), blob.bytes.end(), static_cast<char *>(memory));
  mprotect(memory, 4096, PROT_READ | PROT_EXEC);
  char *code = static_cast<char *>(memory);
  EXPECT_DOUBLE_EQ(call(code + blob.entries[0], 2),
                   2 * 3.14159265358979323846 + 1.5);
  EXPECT_DOUBLE_EQ(call(code + blob.entries[1], 2), 2 * 3.14159265358979323846);
  munmap(memory, 4096);
}

TEST(CpuObject, RefusesCodeThatCallsALibrary) {
  auto blob = blobOf(R"(
declare double @llvm.sin.f64(double)
define double @f(double %x) {
  %y = call double @llvm.sin.f64(double %x)
  ret double %y
})",
                     {"f"});
  EXPECT_EQ(llvm::toString(blob.takeError()),
            "emitted code calls 'sin', which is not part of it");
}
