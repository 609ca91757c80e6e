#include "runtime/memory.h"

#include "huge_pages.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

// As <linux/prctl.h> of newer systems has them.
#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#endif
#ifndef PR_MDWE_REFUSE_EXEC_GAIN
#define PR_MDWE_REFUSE_EXEC_GAIN 1
#endif

using namespace gradus::runtime;

TEST(MemoryBlock, IsZeroAndAligned) {
  auto block = MemoryBlock::allocate(100000, "state");
  ASSERT_TRUE(block.ok());
  EXPECT_EQ(block->size(), 100000u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(block->data()) % 64, 0u);
  for (size_t i = 0; i < block->size(); ++i)
    ASSERT_EQ(block->data()[i], 0);
}

TEST(MemoryBlock, OfNothingIsNothing) {
  auto block = MemoryBlock::allocate(0, "arena");
  ASSERT_TRUE(block.ok());
  EXPECT_EQ(block->data(), nullptr);
}

TEST(MemoryBlock, RefusesWhatTheMachineDoesNotHave) {
  std::string words =
      MemoryBlock::allocate(size_t{1} << 60, "arena").status().message();
  EXPECT_EQ(words.find("needs 1152921504606846976 bytes for its arena, and "
                       "this machine has "),
            0u);
}

TEST(MemoryBlock, EndsInAFault) {
  auto block = MemoryBlock::allocate(4096, "state");
  EXPECT_DEATH(block->data()[4096] = 1, "");
  EXPECT_DEATH(block->data()[-1] = 1, "");
}

TEST(MemoryBlock, GathersSmallPagesOnHugeOnes) {
  if (!gathersHugePages() || hugePageSetting() == "never")
    GTEST_SKIP() << "no MADV_COLLAPSE here, or huge pages are never used";
  EXPECT_TRUE(gradus::test::holdsOnce([] {
    auto block = MemoryBlock::allocate(64 << 20, "state");
    gradus::test::fillSmallPages(block->data(), block->size(), 7);
    long before = gradus::test::hugeKibibytes(block->data());
    block->gather();
    for (size_t i = 0; i < block->size(); i += 1000)
      EXPECT_EQ(block->data()[i], 7);
    return before == 0 && gradus::test::hugeKibibytes(block->data()) > 0;
  }));
}

/// A block whose first half was gathered, a page of which is cut then, and
/// whose second half grows: whether it is gathered again behind the growth
/// alone.
static bool gathersOnlyGrowth() {
  constexpr size_t kPart = 64 << 20, kPage = 4096;
  auto block = MemoryBlock::allocate(2 * kPart, "state");
  gradus::test::fillSmallPages(block->data(), kPart, 7);
  block->gather();
  long gathered = gradus::test::hugeKibibytes(block->data());
  // Protecting one small page cuts the huge one around it.
  uint8_t *middle = block->data() + kPart / 2;
  EXPECT_EQ(mprotect(middle, kPage, PROT_READ), 0);
  EXPECT_EQ(mprotect(middle, kPage, PROT_READ | PROT_WRITE), 0);
  long cut = gradus::test::hugeKibibytes(block->data());
  block->gather();
  long again = gradus::test::hugeKibibytes(block->data());
  block->data()[kPart + kPart / 2] = 7;
  block->gather();
  return cut < gathered && again == cut &&
         gradus::test::hugeKibibytes(block->data()) > cut;
}

TEST(MemoryBlock, GathersAgainOnlyWhatHasGrown) {
  if (!gathersHugePages() || hugePageSetting() == "never")
    GTEST_SKIP() << "no MADV_COLLAPSE here, or huge pages are never used";
  EXPECT_TRUE(gradus::test::holdsOnce(gathersOnlyGrowth));
}

TEST(HugePageSetting, IsTheWordInBrackets) {
  std::string file = testing::TempDir() + "huge-page-setting";
  auto found = [&](const char *content) {
    std::ofstream(file) << content;
    return hugePageSetting(file.c_str());
  };
  EXPECT_EQ(found("[always] madvise never\n"), "always");
  EXPECT_EQ(found("always madvise [never]\n"), "never");
  EXPECT_EQ(found("always [madvise\n"), "no setting");
  EXPECT_EQ(found(""), "no setting");
  EXPECT_EQ(hugePageSetting("/no/such/file"), "no setting");
}

TEST(MemoryBlock, GathersNothingOfAFewPages) {
  EXPECT_TRUE(gradus::test::holdsOnce([] {
    auto block = MemoryBlock::allocate(8 << 20, "state");
    gradus::test::fillSmallPages(block->data(), block->size(), 7);
    block->gather();
    return gradus::test::hugeKibibytes(block->data()) == 0;
  }));
}

// The sanitizer of function types looks in front of a function.
#if defined(__clang__)
__attribute__((no_sanitize("function")))
#endif
static int call(const uint8_t *code) {
  return reinterpret_cast<int (*)()>(reinterpret_cast<uintptr_t>(code))();
}

namespace {

/// Runs in a child of fork: a system as hardened services have it, which cannot
/// be had back. 77: this kernel has no such mode.
int hardened(int (*test)()) {
  pid_t child = fork();
  if (child == 0)
    _exit(prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0) == 0 ? test()
                                                                     : 77);
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

const uint8_t fortyTwo[] = {0xb8, 42, 0, 0, 0, 0xc3}; // mov eax, 42; ret

} // namespace

TEST(LoadCode, RunsWhereWrittenMemoryNeverBecomesCode) {
  int found = hardened([] {
    auto code = loadCode(fortyTwo);
    return code.ok() ? call(code->data()) : 1;
  });
  if (found == 77)
    GTEST_SKIP() << "this kernel has no PR_SET_MDWE";
  EXPECT_EQ(found, 42);
}

TEST(AllowsWritableCode, SaysWhatTheSystemDoes) {
  void *page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_EQ(allowsWritableCode(), page != MAP_FAILED);
  int found = hardened([] { return allowsWritableCode() ? 1 : 0; });
  EXPECT_TRUE(found == 0 || found == 77);
}

TEST(LoadCode, MakesCodeThatRunsAndCannotBeWritten) {
  auto code = loadCode(fortyTwo);
  ASSERT_TRUE(code.ok());
  EXPECT_EQ(call(code->data()), 42);
  EXPECT_DEATH(code->data()[0] = 1, "");
}
