// How a scan's kernel divides the rows of a batch and the columns of a matmul.

#include "codegen/kernels/scan_places.h"

#include <gtest/gtest.h>

using namespace gradus;

namespace {

TEST(ScanPlaces, ItemsHaveFourToEightRowsWhereThoseDivideThem) {
  EXPECT_EQ(rowsOfItem(5), 5);
  EXPECT_EQ(rowsOfItem(8), 4);
  EXPECT_EQ(rowsOfItem(12), 6);
  EXPECT_EQ(rowsOfItem(32), 8);
}

TEST(ScanPlaces, OtherwiseTheNextDivisorOrAll) {
  EXPECT_EQ(rowsOfItem(22), 11);
  EXPECT_EQ(rowsOfItem(13), 13);
}

TEST(ScanPlaces, PanelsAreAsNarrowAsGiveEnoughSums) {
  EXPECT_EQ(panelWidth(1024, 8, /*ofPairs=*/false), 16);
  EXPECT_EQ(panelWidth(1024, 4, /*ofPairs=*/false), 32);
  EXPECT_EQ(panelWidth(1024, 1, /*ofPairs=*/false), 64);
}

TEST(ScanPlaces, PairsNeedTwiceAsManySums) {
  EXPECT_EQ(panelWidth(1024, 8, /*ofPairs=*/true), 32);
  EXPECT_EQ(panelWidth(1024, 16, /*ofPairs=*/true), 16);
}

TEST(ScanPlaces, PanelsDivideTheColumns) {
  EXPECT_EQ(panelWidth(48, 4, /*ofPairs=*/false), 48);
  EXPECT_EQ(panelWidth(80, 1, /*ofPairs=*/false), 16);
  EXPECT_EQ(panelWidth(24, 8, /*ofPairs=*/false), 24) << "no whole vectors";
}

} // namespace
