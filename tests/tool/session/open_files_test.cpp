// What is said where the limit of open files is too low.

#include "tool/failure.h"
#include "tool/session/open_files.h"

#include <gtest/gtest.h>

#include <sys/resource.h>

using namespace gradus::cli;

TEST(OpenFiles, AreEnoughUpToTheLimit) {
  EXPECT_EQ(openFilesProblem(40, {40, 40}), "");
  EXPECT_EQ(openFilesProblem(0, {0, 0}), "");
  EXPECT_NO_THROW(checkOpenFiles("--ranks 2", openFileLimit().now));
}

TEST(OpenFiles, AreTooFewInWords) {
  EXPECT_EQ(openFilesProblem(1232, {1024, 4096}),
            "needs up to 1232 open files, and the limit is 1024 "
            "(RLIMIT_NOFILE); raise it with: ulimit -n 1232");
  EXPECT_EQ(openFilesProblem(1232, {512, 1024}),
            "needs up to 1232 open files, and the limit is 512 "
            "(RLIMIT_NOFILE); an administrator can raise it, as it may be at "
            "most 1024 here (ulimit -Hn; nofile in /etc/security/limits.conf)");
}

TEST(OpenFiles, AreThoseOfTheSystem) {
  struct rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  struct rlimit low = {before.rlim_cur - 1, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_EQ(openFileLimit().now, before.rlim_cur - 1);
  EXPECT_EQ(openFileLimit().most, before.rlim_max);
  try {
    checkOpenFiles("--ranks 2", before.rlim_cur);
    ADD_FAILURE();
  } catch (const Failure &failure) {
    EXPECT_EQ(failure.code, kBadInput);
    EXPECT_EQ(std::string(failure.what()).find("--ranks 2: needs up to "), 0u);
  }
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}
