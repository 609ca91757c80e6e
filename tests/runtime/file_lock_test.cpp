#include "runtime/file_lock.h"

#include "test_artifact.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

using namespace gradus::runtime;

TEST(FileLock, IsOnesUntilTheFileIsClosed) {
  std::string path = gradus::test::writeFile({}, "locked");
  int one = open(path.c_str(), O_RDONLY), other = open(path.c_str(), O_RDONLY);
  EXPECT_EQ(tryLock(one), Lock::taken);
  EXPECT_EQ(tryLock(other), Lock::held);
  EXPECT_EQ(
      lockOwnerOf(other).find("process " + std::to_string(getpid()) + " ("), 0u)
      << lockOwnerOf(other);
  close(one);
  EXPECT_EQ(tryLock(other), Lock::taken);
  close(other);
}

TEST(FileLock, IsOfNobodyWhereThereIsNone) {
  EXPECT_EQ(tryLock(-1), Lock::none);
  EXPECT_EQ(lockOwnerOf(-1), "");
}
