// How numbers and tables read.

#include "messages/printable.h"
#include "tool/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

using namespace gradus::cli;

TEST(Text, ShortensBytes) {
  EXPECT_EQ(bytesText(0), "0 B");
  EXPECT_EQ(bytesText(1023), "1023 B");
  EXPECT_EQ(bytesText(1536), "1.5 KiB");
  EXPECT_EQ(bytesText(512.0 * 1024 * 1024), "512 MiB");
}

TEST(Text, ShortensRates) {
  EXPECT_EQ(rateText(12.5e9), "12.5 GB/s");
  EXPECT_EQ(rateText(812.4e6), "812 MB/s");
  EXPECT_EQ(rateText(2e3), "0.002 MB/s");
}

TEST(Text, ShortensDurations) {
  EXPECT_EQ(durationText(8.12e-6), "8.1 us");
  EXPECT_EQ(durationText(2.9e-4), "0.290 ms");
  EXPECT_EQ(durationText(0.25), "250 ms");
  EXPECT_EQ(durationText(12.345), "12.35 s");
}

TEST(Text, GivesFourDigitsOfMilliseconds) {
  EXPECT_EQ(millisecondsText(0.04213), "0.0421");
  EXPECT_EQ(millisecondsText(1.25), "1.250");
  EXPECT_EQ(millisecondsText(312.48), "312.5");
}

TEST(Text, GivesTimesOfDay) {
  EXPECT_EQ(clockText(59.4), "59s");
  EXPECT_EQ(clockText(185), "3:05");
  EXPECT_EQ(clockText(3723), "1:02:03");
}

TEST(Text, ShortensCounts) {
  EXPECT_EQ(countText(999), "999");
  EXPECT_EQ(countText(44426), "44.4k");
  EXPECT_EQ(countText(25557032), "25.6M");
}

TEST(Number, ThatIsNoneHasNoSign) {
  for (double none : {std::copysign(NAN, 1.0), std::copysign(NAN, -1.0)})
    EXPECT_EQ(number("%.4f", none), "nan");
  EXPECT_EQ(number("%.1f", -INFINITY), "-inf");
}

TEST(Table, PutsNumbersToTheRight) {
  Table table({"op", "count"});
  table.row({"matmul", "3"});
  table.row({"add", "12"});
  EXPECT_EQ(table.text(),
            "  op      count\n  matmul      3\n  add        12\n");
}

TEST(Table, WithoutAHeaderPadsOnTheRight) {
  Table table;
  table.row({"time", "3 s"});
  table.row({"artifact", "x"});
  EXPECT_EQ(table.text(""), "time      3 s\nartifact  x\n");
}

TEST(Table, WritesOutWhatWouldMoveTheCursor) {
  Table table;
  table.row({"a\nb", "\x1b[31m"});
  EXPECT_EQ(table.text(""), "a\\nb  \\x1b[31m\n");
  EXPECT_EQ(Table({"a\nb"}).text(""), "a\\nb\n") << "a class may be called so";
}

TEST(Printable, IsWhatATerminalShowsAsItIs) {
  for (const char *text : {"fc.weight", "Größe 3 µm", "层.重量", "a\\n"})
    EXPECT_EQ(gradus::printable(text), text);
}

TEST(Printable, WritesOutWhatATerminalObeys) {
  EXPECT_EQ(gradus::printable("\n\r\t\x1b[31m\x7f"),
            "\\n\\x0d\\x09\\x1b[31m\\x7f");
  EXPECT_EQ(gradus::printable(std::string_view("\0", 1)), "\\x00");
  EXPECT_EQ(gradus::printable("\xc2\x9b"
                              "31m"),
            "\\xc2\\x9b"
            "31m"); // CSI
}

TEST(Printable, WritesOutWhatIsNoUtf8) {
  EXPECT_EQ(gradus::printable("mod\xe9le"), "mod\\xe9le");
  EXPECT_EQ(gradus::printable("\xe5\xb1"), "\\xe5\\xb1");
}

TEST(Printable, KeepsTheLinesOfWords) {
  EXPECT_EQ(gradus::printableLines("a\n  \tb\x1b\n  c\n  "),
            "a\n  \tb\\x1b\n  c\n  ");
}

TEST(Printable, LetsNoNameBeginALine) {
  EXPECT_EQ(gradus::printableLines("tensor 'w\ngradus: all is well'"),
            "tensor 'w\\ngradus: all is well'");
  EXPECT_EQ(gradus::printableLines("a\n b\n"), "a\\n b\\n");
}

TEST(Printable, WritesOutWhatTurnsTheDirectionOfText) {
  EXPECT_EQ(gradus::printable("a\xe2\x80\xae"
                              "b"),
            "a\\xe2\\x80\\xae"
            "b");
  EXPECT_EQ(gradus::printable("\xe2\x80\xa8\xe2\x81\xa6"),
            "\\xe2\\x80\\xa8\\xe2\\x81\\xa6");
  EXPECT_EQ(gradus::printable("‘a’ … ⁂"), "‘a’ … ⁂");
}

TEST(Printable, KnowsNoOtherUtf8ThanNamesDo) {
  for (const char *text : {"\xed\xa0\x80", "\xe0\x80\xaf", "\xf4\x90\x80\x80"})
    EXPECT_EQ(gradus::printable(text)[0], '\\') << "a surrogate, or too long";
}

TEST(Text, IsHeardWhileSomeoneListens) {
  testing::internal::CaptureStderr();
  warn("before");
  {
    HeardWords heard;
    warn("it is late");
    note("at last");
    ASSERT_EQ(heard.said().size(), 2u);
    EXPECT_EQ(heard.said()[0].words, "it is late");
    EXPECT_EQ(heard.said()[0].kind, gradus::training::Remark::warning);
    EXPECT_EQ(heard.said()[1].kind, gradus::training::Remark::note);
    EXPECT_EQ(heard.leftOut(), 0);
    for (int i = 0; i < 500; ++i)
      note("more");
    EXPECT_EQ(heard.said().size(), 200u);
    EXPECT_EQ(heard.leftOut(), 302);
  }
  warn("after");
  EXPECT_EQ(testing::internal::GetCapturedStderr().find(
                "warning: before\nwarning: it is late\nnote: at last\n"),
            0u);
}

TEST(Text, IsSaidByNoThreadThatIsSilent) {
  testing::internal::CaptureStderr();
  HeardWords heard;
  {
    Silence silence(true);
    warn("hidden");
    {
      Silence inner(false);
      note("loud");
    }
    tell(gradus::training::Remark::note, "hidden");
    std::thread([] { note("of another thread"); }).join();
  }
  note("after");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "note: loud\nnote: of another thread\nnote: after\n");
  EXPECT_EQ(heard.said().size(), 3u);
}
