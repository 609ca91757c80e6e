#include "messages/caught.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <vector>

/// What is said of the exception that a call throws.
template <typename Call> static std::string said(Call call) {
  try {
    call();
  } catch (...) {
    return gradus::wordsOfCaught();
  }
  return "";
}

TEST(Caught, SaysWhatTheSystemSaysOfWhichFile) {
  EXPECT_EQ(said([] { (void)std::filesystem::file_size("/no such file"); }),
            "/no such file: No such file or directory");
  EXPECT_EQ(said([] { throw std::system_error(EIO, std::generic_category()); }),
            "Input/output error");
}

TEST(Caught, SaysOfWhichThereIsNoMore) {
  EXPECT_EQ(said([] { throw std::bad_alloc(); }), "out of memory");
  EXPECT_EQ(said([] { std::string().resize(std::string::npos); }),
            "asks for more memory than there can be");
  EXPECT_EQ(
      said([] { throw std::system_error(EAGAIN, std::generic_category()); }),
      "out of memory for another thread, or out of threads (ulimit -v, "
      "ulimit -u)");
}

TEST(Caught, AsksToReportWhatNobodyHasThoughtOf) {
  EXPECT_EQ(said([] { (void)std::vector<int>().at(0); })
                .find("stopped by a mistake of Gradus, not of yours; please "
                      "report the command and these words of a library: "),
            0u);
}
