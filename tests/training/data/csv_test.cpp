// Text with a header row, and what is said of cells that are no numbers.

#include "tests/training/data/files.h"
#include "training/data/formats.h"

using namespace gradus::data;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

FileBytes file(const std::string &text) {
  auto owner = std::make_shared<std::vector<uint8_t>>(text.begin(), text.end());
  return {*owner, owner};
}

std::string mistake(const std::string &text) {
  return wordsOf(readCsv(file(text)).status());
}

} // namespace

TEST(Csv, GivesEachColumnUnderItsName) {
  auto columns = readCsv(file("age, size\r\n3,0.5\r\n\r\n4,-1e2"));
  ASSERT_TRUE(columns.ok()) << columns.status();
  ASSERT_EQ(columns->size(), 2u);
  EXPECT_EQ((*columns)[1].name, "size");
  EXPECT_THAT(valuesOf<double>((*columns)[0].bytes), ElementsAre(3, 4));
  EXPECT_THAT(valuesOf<double>((*columns)[1].bytes), ElementsAre(0.5, -100));
  EXPECT_EQ((*columns)[0].notInteger, "");
  EXPECT_EQ((*columns)[1].notInteger,
            "line 2, column 'size': expected an integer, found '0.5'");
}

TEST(Csv, TakesChosenColumnsAndRangesAsOneTensor) {
  auto column =
      readCsvColumns(file("a,b,c,d\n1,2,3,4\n5,6,7,8\n"), "x", "d,a..b");
  ASSERT_TRUE(column.ok()) << column.status();
  EXPECT_EQ(gradus::runtime::toString(column->type), "2x3xf64");
  EXPECT_THAT(valuesOf<double>(column->bytes), ElementsAre(4, 1, 2, 8, 5, 6));
}

TEST(Csv, ReadsQuotesAndAByteOrderMark) {
  auto columns =
      readCsv(file("\xef\xbb\xbf\"a \"\"b\"\",\nc\",d\n\"1\",\"2\"\n"));
  ASSERT_TRUE(columns.ok()) << columns.status();
  EXPECT_EQ((*columns)[0].name, "a \"b\",\nc");
  EXPECT_THAT(valuesOf<double>((*columns)[1].bytes), ElementsAre(2));
}

TEST(Csv, TakesDecimalNumbersAlone) {
  auto columns = readCsv(file("a,b,c,d\n1e1,0x10,0X1p4,+1.5\n"));
  ASSERT_TRUE(columns.ok()) << columns.status();
  EXPECT_THAT(valuesOf<double>((*columns)[0].bytes), ElementsAre(10));
  EXPECT_EQ((*columns)[1].notNumber,
            "line 2, column 'b': expected a number, found '0x10'");
  EXPECT_EQ((*columns)[2].notNumber,
            "line 2, column 'c': expected a number, found '0X1p4'");
  EXPECT_EQ((*columns)[3].notNumber, "");
}

TEST(Csv, RemembersTheFirstCellThatIsNoNumber) {
  auto columns = readCsv(file("a,b\n1,2\n3,red\n,nan\n"));
  ASSERT_TRUE(columns.ok()) << columns.status();
  EXPECT_EQ((*columns)[0].notNumber,
            "line 4, column 'a': expected a number, found ''");
  EXPECT_EQ((*columns)[1].notNumber,
            "line 3, column 'b': expected a number, found 'red'");
}

TEST(Csv, NamesTheLineOfARowThatDoesNotFit) {
  EXPECT_THAT(mistake("a,b\n1,2\n3\n"),
              HasSubstr("line 3: has 1 cells, but the header has 2"));
  EXPECT_THAT(mistake("a,b\n1,2,3\n"),
              HasSubstr("line 2: has 3 cells, but the header has 2"));
  EXPECT_THAT(mistake("a,b\n\"1\"x,2\n"),
              HasSubstr("line 2: expected a comma behind a quoted cell"));
  EXPECT_THAT(mistake("a,b\n1,\"2\n"),
              HasSubstr("line 2: a quote is never closed"));
}

TEST(Csv, RefusesWhatIsNoText) {
  EXPECT_THAT(mistake(std::string("a,b\n1,\0\n", 8)),
              HasSubstr("line 2: has a zero byte"));
  EXPECT_THAT(mistake(std::string("a,b\n1,\"\0\"\n", 10)),
              HasSubstr("line 2: has a zero byte"));
  EXPECT_THAT(mistake(""), HasSubstr("is empty"));
}

TEST(Csv, SaysWhichColumnsThereAre) {
  EXPECT_THAT(wordsOf(readCsvColumns(file("a,b\n1,2\n"), "x", "c").status()),
              HasSubstr("has no column 'c'; it has a, b"));
  EXPECT_THAT(wordsOf(readCsvColumns(file("a,b\n1,2\n"), "x", "b..a").status()),
              HasSubstr("column 'a' stands before 'b'"));
  EXPECT_THAT(mistake("a,a\n1,2\n"), HasSubstr("two columns are named 'a'"));
}

// Any answer will do, but there must be one.
TEST(Csv, SurvivesAnyByteAnywhere) {
  std::string whole = "a,\"b\"\r\n1,\"2\"\n-3e4,5\n";
  for (size_t i = 0; i < whole.size(); ++i)
    for (int byte = 0; byte < 256; ++byte) {
      std::string damaged = whole;
      damaged[i] = byte;
      auto columns = readCsv(file(damaged));
      if (columns.ok()) {
        for (const Column &column : *columns)
          EXPECT_EQ(column.bytes.size(), column.type.shape[0] * 8u);
      }
    }
}
