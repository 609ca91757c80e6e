// Blobs: entries, constants that code reaches, and the refusal of calls
// outside.

#include "codegen/cpu/object.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/Support/SourceMgr.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

using namespace gradus;

static ObjectBytes objectOf(const char *text) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  auto module = llvm::parseAssemblyString(text, diagnostic, context);
  EXPECT_TRUE(module) << diagnostic.getMessage().str();
  auto machine =
      llvm::cantFail(targetMachine(llvm::cantFail(cpuTarget("cpu:x86-64-v2"))));
  return llvm::cantFail(compileToObject(*module, *machine));
}

/// Emitted code carries no type for the sanitizer to check.
__attribute__((no_sanitize("function"))) static double call(char *entry,
                                                            double x) {
  return reinterpret_cast<double (*)(double)>(entry)(x);
}

namespace {

/// A blob where it can be called.
class Executable {
public:
  explicit Executable(const Blob &blob) : blob(blob) {
    memory = static_cast<char *>(mmap(nullptr, size, PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    std::copy(blob.bytes.begin(), blob.bytes.end(), memory);
    mprotect(memory, size, PROT_READ | PROT_EXEC);
  }
  ~Executable() { munmap(memory, size); }

  double operator()(size_t entry, double x) const {
    return call(memory + blob.entries[entry], x);
  }

private:
  static constexpr size_t size = 4096;
  const Blob &blob;
  char *memory;
};

} // namespace

TEST(CpuObject, LaysOutCodeWithItsConstants) {
  Blob blob = llvm::cantFail(joinObjects(objectOf(R"(
define double @f(double %x) {
  %y = fmul double %x, 0x400921FB54442D18
  ret double %y
}
define double @g(double %x) {
  %y = call double @f(double %x)
  %z = fadd double %y, 1.5
  ret double %z
})"),
                                         {"g", "f"}));
  Executable code(blob);
  EXPECT_DOUBLE_EQ(code(0, 2), 2 * 3.14159265358979323846 + 1.5);
  EXPECT_DOUBLE_EQ(code(1, 2), 2 * 3.14159265358979323846);
}

// Functions of the same name that no other object sees stay apart.
TEST(CpuObject, LetsObjectsCallEachOther) {
  ObjectBytes objects[] = {objectOf(R"(
declare double @g(double %x)
define internal double @own(double %x) noinline {
  %y = fmul double %x, 3.0
  ret double %y
}
define double @f(double %x) {
  %y = call double @g(double %x)
  %z = call double @own(double %y)
  ret double %z
})"),
                           objectOf(R"(
define internal double @own(double %x) noinline {
  %y = fadd double %x, 5.0
  ret double %y
}
define double @g(double %x) {
  %y = call double @own(double %x)
  %z = fadd double %y, 0.25
  ret double %z
})")};
  Blob blob = llvm::cantFail(joinObjects(objects, {"f", "g"}));
  Executable code(blob);
  EXPECT_EQ(code(0, 2), 3 * 7.25);
  EXPECT_EQ(code(1, 2), 7.25);
}

TEST(CpuObject, RefusesCodeThatCallsALibrary) {
  auto blob = joinObjects(objectOf(R"(
declare double @llvm.sin.f64(double)
define double @f(double %x) {
  %y = call double @llvm.sin.f64(double %x)
  ret double %y
})"),
                          {"f"});
  EXPECT_EQ(llvm::toString(blob.takeError()),
            "emitted code calls 'sin', which is not part of it");
}
