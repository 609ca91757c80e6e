#include "runtime/origin.h"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

using gradus::runtime::Origin;

TEST(Origin, IsAnotherProcessInAChildOfFork) {
  Origin parents;
  pid_t child = fork();
  if (child == 0)
    _exit(parents.isOther() && !Origin().isOther() ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(parents.isOther());
}
