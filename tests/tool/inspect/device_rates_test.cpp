// Rates of this machine are measured, those of cards are known or not.

#include "tool/inspect/device_rates.h"

#include <gtest/gtest.h>

using namespace gradus::cli;

TEST(DeviceRates, AreMeasuredOfThisMachine) {
  DeviceRates rates = ratesOfMachine(1, 1 << 20);
  EXPECT_FALSE(rates.isCard());
  EXPECT_GT(rates.bytes, 1e8);
  EXPECT_GE(rates.productFlops, rates.flops); // pairs of bf16, if it has them
  EXPECT_EQ(rates.source(), "measured just now on 1 thread");
}

TEST(DeviceRates, AreThoseOfKnownCards) {
  const DeviceRates *card = findCard("NVIDIA H200");
  ASSERT_TRUE(card);
  EXPECT_TRUE(card->isCard());
  EXPECT_EQ(card->bytes, 4.8e12);
  EXPECT_EQ(card->source(), "by its data sheet");
  for (const DeviceRates &each : knownCards()) {
    EXPECT_EQ(findCard(each.device), &each);
    EXPECT_GT(each.productFlops, 10 * each.flops) << each.device;
    EXPECT_GT(each.bytes, 1e12) << each.device;
    EXPECT_FALSE(each.title.empty());
  }
}

/// A part of a card is not the card.
TEST(DeviceRates, AreNotKnownOfOthers) {
  for (const char *name : {"NVIDIA H200 MIG 1g.18gb", "NVIDIA H100 PCIe",
                           "H200", "", "the emulated GPU"})
    EXPECT_FALSE(findCard(name)) << name;
}
