// Casts are written with the signs of integers, which graphs do not have.

#include "../written.h"

using namespace gradus;
using namespace gradus::testing;

TEST(Casts, UnsignedIntegersStayUnsigned) {
  Imported model = parsed({"%x: tensor<3xui8>",
                           "%i = gradus.reshape %x : tensor<3xui8> -> "
                           "tensor<3xi8>\n%y = arith.uitofp %i : tensor<3xi8> "
                           "to tensor<3xf32>",
                           "tensor<3xf32>"});
  auto written = gradus::onnx::writeProgram(model.program(), false);
  ASSERT_TRUE(written.ok());
  EXPECT_EQ(written->model.graph().node_size(), 1); // one cast of the input
  Imported again = importedAgain(model);
  HostTensor bytes = zeros({3}, false);
  bytes.integers = {0, 128, 255};
  expectEqual(evaluate(again, {bytes}).at(0).floats, {0, 128, 255});
}

TEST(Casts, SmallIntegersLoseUpperBits) {
  expectSame({"%x: tensor<4xf32>",
              "%w = arith.fptosi %x : tensor<4xf32> to tensor<4xi32>\n%y = "
              "arith.trunci %w : tensor<4xi32> to tensor<4xi8>",
              "tensor<4xi8>"});
}

TEST(Casts, BooleansHaveNoSignAndNoLowestBit) {
  const std::string b = "tensor<2xi1>", i = "tensor<2xi32>",
                    f = "tensor<2xf32>";
  auto error = [](const std::string &op, const std::string &from,
                  const std::string &to) {
    return errorOf(
        {"%x: " + from,
         "%y = " + op + " %x : " + from + " to " + to + " loc(\"n\")", to});
  };
  auto expected = [](const std::string &op) {
    return "node \"n\" (" + op +
           "): is of booleans, for which ONNX has no such node";
  };
  EXPECT_EQ(error("arith.trunci", i, b), expected("arith.trunci"));
  EXPECT_EQ(error("arith.extsi", b, i), expected("arith.extsi"));
  EXPECT_EQ(error("arith.sitofp", b, f), expected("arith.sitofp"));
  EXPECT_EQ(error("arith.fptosi", f, b), expected("arith.fptosi"));
  EXPECT_EQ(error("arith.extui", b, i), "");
  EXPECT_EQ(error("arith.uitofp", b, f), "");
}
