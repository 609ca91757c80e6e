#include "codegen/artifact/locations.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

TEST(Locations, FusedNamesComeOnceInOrder) {
  mlir::MLIRContext context;
  mlir::Builder builder(&context);
  auto conv = mlir::NameLoc::get(builder.getStringAttr("conv1"));
  auto relu = mlir::NameLoc::get(builder.getStringAttr("relu1"));
  auto fused = builder.getFusedLoc({conv, relu, conv});
  EXPECT_EQ(gradus::nodesAt(fused),
            (std::vector<std::string>{"conv1", "relu1"}));
  EXPECT_TRUE(gradus::nodesAt(builder.getUnknownLoc()).empty());
}
