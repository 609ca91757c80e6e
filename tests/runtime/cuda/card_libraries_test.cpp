// What a machine without the vendor's libraries says.

#include "runtime/cuda/card_libraries.h"

#include "emulated_card.h"

using namespace gradus::runtime::cuda;
using namespace gradus::runtime::cuda::test;

struct CardLibraries : EmulatedCard {};

TEST_F(CardLibraries, SayThatThereAreNone) {
  EXPECT_EQ(cardLibraries(*card_).status().message(),
            "this Gradus runs no library commands on the emulated GPU");
}
