// Tests that run on the emulated card and, where there is one, on a card of
// this machine: "On/NAME.TEST/EmulatedCard" and "On/NAME.TEST/Card".
#pragma once

#include "runtime/cuda/card.h"
#include "runtime/emulated/fake_driver.h"

#include <gtest/gtest.h>

namespace gradus::runtime::cuda::test {

enum class Where { emulated, card };

class OnCards : public testing::TestWithParam<Where> {
protected:
  /// Opens it; where there is no card, the test is skipped and says why.
  void open(const FakeOptions &options = {}) {
    card_.reset();
    fake_.reset();
    if (isEmulated()) {
      fake_ = std::make_unique<FakeDriver>(options);
      card_ = *Card::open(fake_->driver(), 0);
      return;
    }
    auto driver = systemDriver();
    if (!driver.ok())
      GTEST_SKIP() << driver.status();
    auto card = Card::open(**driver, 0);
    if (!card.ok())
      GTEST_SKIP() << card.status();
    card_ = *std::move(card);
  }
  bool isEmulated() const { return GetParam() == Where::emulated; }

  std::unique_ptr<FakeDriver> fake_; // null: a card
  std::unique_ptr<Card> card_;
};

inline std::string nameOfPlace(const testing::TestParamInfo<Where> &where) {
  return where.param == Where::emulated ? "EmulatedCard" : "Card";
}

} // namespace gradus::runtime::cuda::test
