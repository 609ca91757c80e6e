// Functions that ONNX does not have are formulas of others.

#include "../written.h"

using namespace gradus;
using namespace gradus::testing;

TEST(LogicExports, RoundingKeepsTheSign) {
  expectEqual(outputOf("%y = math.round %x", {-2.5, -0.4, 0.5, 1.49}),
              {-3, 0, 1, 1});
  expectEqual(outputOf("%y = math.trunc %x", {-2.5, -0.4, 0.5, 1.9}),
              {-2, 0, 0, 1});
}

TEST(LogicExports, ComparisonsKnowNaN) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::pair<const char *, std::vector<int64_t>> cases[] = {
      {"oeq", {0, 1, 0}}, {"une", {1, 0, 1}}, {"one", {0, 0, 1}},
      {"ueq", {1, 1, 0}}, {"ult", {1, 0, 1}}, {"uno", {1, 0, 0}},
      {"ord", {0, 1, 1}}};
  for (const auto &[is, expected] : cases) {
    Imported model = parsed(
        {"%x: tensor<3xf32>, %z: tensor<3xf32>",
         std::string("%y = arith.cmpf ") + is + ", %x, %z : tensor<3xf32>",
         "tensor<3xi1>"});
    Imported again = importedAgain(model);
    auto found =
        evaluate(again, {tensor({3}, {nan, 1, 1}), tensor({3}, {1, 1, 2})});
    EXPECT_EQ(found.at(0).integers,
              decltype(found.at(0).integers)(expected.begin(), expected.end()))
        << is;
  }
}

TEST(LogicExports, InfinityOf16BitsNeedsALaterSetOfOperators) {
  const std::pair<const char *, int64_t> cases[] = {
      {"f32", 18}, {"f64", 18}, {"f16", 20}, {"bf16", 22}};
  for (const char *op : {"isinf", "isfinite"})
    for (const auto &[element, opset] : cases) {
      std::string type = std::string("tensor<3x") + element + ">";
      EXPECT_EQ(versionsOf({"%x: " + type,
                            std::string("%y = math.") + op + " %x : " + type,
                            "tensor<3xi1>"})
                    .first,
                opset)
          << op << " " << element;
    }
}

TEST(LogicExports, ArithmeticOfBooleansIsAnError) {
  const std::string b = "tensor<2xi1>";
  auto error = [&](const std::string &op) {
    return errorOf({"%p: " + b + ", %q: " + b,
                    "%y = " + op + " %p, %q : " + b + " loc(\"n\")", b});
  };
  for (const char *op :
       {"arith.addi", "arith.subi", "arith.muli", "arith.divsi", "arith.divui",
        "arith.remsi", "arith.remui", "arith.maxsi", "arith.minsi",
        "arith.maxui", "arith.minui", "arith.shli", "arith.shrui"})
    EXPECT_EQ(error(op), std::string("node \"n\" (") + op +
                             "): is of booleans, for which ONNX has no such "
                             "node");
  for (const char *is :
       {"slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"})
    EXPECT_EQ(error(std::string("arith.cmpi ") + is + ","),
              "node \"n\" (arith.cmpi): is of booleans, for which ONNX has no "
              "such node");
  for (const char *is : {"eq", "ne"})
    expectSame({"%p: " + b + ", %q: " + b,
                std::string("%y = arith.cmpi ") + is + ", %p, %q : " + b, b});
}
