// Each op of a program is written as nodes that compute the same.

#include "frontends/onnx/operators/exports.h"

#include "../written.h"

#include <set>

using namespace gradus;
using namespace gradus::testing;

/// Programs of one op, or of a formula that ONNX has as one node.
std::vector<Written> programs() {
  std::vector<Written> all;
  auto add = [&](const std::string &inputs, const std::string &body,
                 const std::string &type) {
    all.push_back({inputs, body, type});
  };
  const std::string f = "tensor<2x3xf32>", i = "tensor<2x3xi32>",
                    b = "tensor<2x3xi1>";
  const std::string x = "%x: " + f, xz = "%x: " + f + ", %z: " + f,
                    ij = "%i: " + i + ", %j: " + i,
                    pq = "%p: " + b + ", %q: " + b;
  for (const char *op :
       {"addf", "subf", "mulf", "divf", "maximumf", "minimumf", "remf"})
    add(xz, std::string("%y = arith.") + op + " %x, %z : " + f, f);
  for (const char *op :
       {"addi", "subi", "muli", "divsi", "divui", "maxsi", "minsi", "maxui",
        "minui", "remsi", "remui", "andi", "ori", "xori", "shli", "shrui"})
    add(ij, std::string("%y = arith.") + op + " %i, %j : " + i, i);
  for (const char *op : {"andi", "ori", "xori"})
    add(pq, std::string("%y = arith.") + op + " %p, %q : " + b, b);
  add("%p: " + b,
      "%t = arith.constant dense<true> : " + b +
          "\n%y = arith.xori %p, %t : " + b,
      b);
  for (const char *op :
       {"tanh",      "exp",   "erf",   "sqrt",  "log",   "log1p", "expm1",
        "rsqrt",     "exp2",  "log2",  "log10", "absf",  "ceil",  "floor",
        "roundeven", "round", "trunc", "sin",   "cos",   "tan",   "sinh",
        "cosh",      "asin",  "acos",  "atan",  "asinh", "acosh", "atanh"})
    add(x, std::string("%y = math.") + op + " %x : " + f, f);
  add(x, "%y = arith.negf %x : " + f, f);
  add("%i: " + i, "%y = math.absi %i : " + i, i);
  add(xz, "%y = math.powf %x, %z : " + f, f);
  add(xz, "%y = math.fma %x, %z, %x : " + f, f);
  for (const char *is : {"oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq",
                         "ugt", "uge", "ult", "ule", "une", "uno"})
    add(xz, std::string("%y = arith.cmpf ") + is + ", %x, %z : " + f, b);
  for (const char *is :
       {"eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"})
    add(ij, std::string("%y = arith.cmpi ") + is + ", %i, %j : " + i, b);
  const std::string zeros = "%o = arith.constant dense<0.0> : " + f + "\n",
                    nulls = "%o = arith.constant dense<0> : " + i + "\n";
  add(x, zeros + "%y = arith.cmpf une, %x, %o : " + f, b);
  add("%i: " + i, nulls + "%y = arith.cmpi ne, %i, %o : " + i, b);
  for (const char *op : {"isnan", "isinf", "isfinite"})
    add(x, std::string("%y = math.") + op + " %x : " + f, b);
  add("%p: " + b + ", " + xz, "%y = arith.select %p, %x, %z : " + b + ", " + f,
      f);
  const std::string wide = "tensor<2x3xf64>", half = "tensor<2x3xf16>",
                    large = "tensor<2x3xi64>";
  add(x, "%y = arith.extf %x : " + f + " to " + wide, wide);
  add(x, "%y = arith.truncf %x : " + f + " to " + half, half);
  for (const char *op : {"extsi", "extui"})
    add("%i: " + i,
        std::string("%y = arith.") + op + " %i : " + i + " to " + large, large);
  add("%l: " + large, "%y = arith.trunci %l : " + large + " to " + i, i);
  for (const char *op : {"sitofp", "uitofp"})
    add("%i: " + i, std::string("%y = arith.") + op + " %i : " + i + " to " + f,
        f);
  for (const char *op : {"fptosi", "fptoui"})
    add(x, std::string("%y = arith.") + op + " %x : " + f + " to " + large,
        large);
  add(x, "%y = arith.bitcast %x : " + f + " to " + i, i);
  for (const char *op : {"relu", "sigmoid", "gelu", "stop_gradient"})
    add(x, std::string("%y = gradus.") + op + " %x : " + f, f);
  add(x, "%y = gradus.gelu %x tanh : " + f, f);
  add(x, "%y = gradus.clip %x from 0.2 to 0.7 : " + f, f);
  add(x, "%y = gradus.leaky_relu %x slope 0.1 : " + f, f);
  add(x, "%y = gradus.dropout %x ratio 0.5 : " + f, f);
  add(x, "%y = gradus.softmax %x axis 1 : " + f, f);
  add(x, "%y = gradus.softmax log %x axis 0 : " + f, f);
  add(x, "%y = gradus.reshape %x : " + f + " -> tensor<6xf32>",
      "tensor<6xf32>");
  add(x, "%y = gradus.transpose %x perm [1, 0] : " + f + " -> tensor<3x2xf32>",
      "tensor<3x2xf32>");
  add("%v: tensor<2xf32>",
      "%y = gradus.broadcast %v dims [0] : tensor<2xf32> -> " + f, f);
  add("", "%y = gradus.iota axis 1 : " + i, i);
  for (const char *kind : {"sum", "max", "min", "mean"})
    add(x,
        std::string("%y = gradus.reduce ") + kind + " %x axes [1] : " + f +
            " -> tensor<2xf32>",
        "tensor<2xf32>");
  add(xz,
      "%y = gradus.matmul %x, %z transposed : " + f + ", " + f +
          " -> tensor<2x2xf32>",
      "tensor<2x2xf32>");
  add("%m: tensor<2x2x3xf32>, %n: tensor<2x2x3xf32>",
      "%y = gradus.matmul %m transposed, %n : tensor<2x2x3xf32>, "
      "tensor<2x2x3xf32> -> tensor<2x3x3xf32>",
      "tensor<2x3x3xf32>");
  add(x,
      "%y = gradus.slice %x starts [1, 2] steps [-1, -2] : " + f +
          " -> tensor<2x2xf32>",
      "tensor<2x2xf32>");
  add(xz,
      "%y = gradus.concatenate %x, %z axis 1 : " + f + ", " + f +
          " -> tensor<2x6xf32>",
      "tensor<2x6xf32>");
  add(x,
      "%y = gradus.pad %x low [1, 0] high [0, 2] interior [0, 0] {value = 0.5 "
      ": f64} : " +
          f + " -> tensor<3x5xf32>",
      "tensor<3x5xf32>");
  const std::string at = ", %at: tensor<2x2xi64>";
  add(x + at,
      "%y = gradus.gather %x at %at axis 1 : " + f +
          ", tensor<2x2xi64> -> tensor<2x2x2xf32>",
      "tensor<2x2x2xf32>");
  add(x + at,
      "%y = gradus.gather %x at %at axis 1 batch 1 : " + f +
          ", tensor<2x2xi64> -> tensor<2x2xf32>",
      "tensor<2x2xf32>");
  add("%u: tensor<2x3x4x5xf32>" + at,
      "%y = gradus.gather %u at %at axis 3 batch 1 : tensor<2x3x4x5xf32>, "
      "tensor<2x2xi64> -> tensor<2x3x4x2xf32>",
      "tensor<2x3x4x2xf32>");
  add("%w: tensor<2x2xf32>" + at,
      "%y = gradus.scatter_add %w at %at axis 1 batch 1 : tensor<2x2xf32>, "
      "tensor<2x2xi64> -> " +
          f,
      f);
  const std::string k = ", %s: tensor<3xf32>, %c: tensor<3xf32>";
  add(x + k,
      "%y = gradus.layer_norm %x, %s plus %c {epsilon = 1.0e-5 : f64} : " + f +
          ", tensor<3xf32>, tensor<3xf32>",
      f);
  add(x + k,
      "%y = gradus.layer_norm rms %x, %s plus %c {epsilon = 1.0e-5 : f64} : " +
          f + ", tensor<3xf32>, tensor<3xf32>",
      f);
  add(x + k,
      "%y = gradus.batch_norm %x, %s, %c mean %c variance %s epsilon 1.0e-5 "
      ": " +
          f + ", tensor<3xf32>",
      f);
  for (const char *result : {"%y, %m, %v", "%m, %y, %v", "%m, %v, %y"})
    add(x + k,
        std::string(result) +
            " = gradus.batch_norm_training %x, %s, %c epsilon 1.0e-5 : " + f +
            ", tensor<3xf32>",
        result[1] == 'y' ? f : "tensor<3xf32>");
  const std::string q = "tensor<1x2x3x4xf32>", kept = "tensor<1x2x3xf32>";
  add("%q: " + q + ", %k: " + q + ", %v: " + q + ", %b: tensor<1x1x1x3xf32>",
      "%y, %l, %r = gradus.attention %q, %k, %v mask %b causal {scale = 0.5 : "
      "f64} : (" +
          q + ", " + q + ", " + q + ", tensor<1x1x1x3xf32>) -> (" + q + ", " +
          kept + ", " + kept + ")",
      q);
  return all;
}

TEST(Exports, WriteNodesThatComputeTheSame) {
  for (const Written &program : programs()) {
    SCOPED_TRACE(program.body);
    expectSame(program);
  }
}

/// Ops with windows have tests of their own (window_exports_test.cpp).
TEST(Exports, HaveAProgramForEachOp) {
  std::set<std::string> tested = {"gradus.convolution",
                                  "gradus.convolution_backward_data",
                                  "gradus.max_pool", "gradus.average_pool"};
  for (const Written &program : programs()) {
    Imported model = parsed(program);
    for (mlir::Operation &op : model.predict().getBody().front())
      tested.insert(op.getName().getStringRef().str());
  }
  for (const gradus::onnx::ExportRow &row : gradus::onnx::allExports())
    EXPECT_TRUE(tested.count(row.op)) << row.op;
}

TEST(Exports, HaveOneRowWithoutAConditionAtMost) {
  std::vector<gradus::onnx::ExportRow> all = gradus::onnx::allExports();
  for (size_t i = 1; i < all.size(); ++i)
    EXPECT_FALSE(llvm::StringRef(all[i].op) == all[i - 1].op &&
                 !all[i - 1].matches && !all[i].matches)
        << all[i].op;
}

TEST(Exports, AnOpWithoutARowIsAnErrorWithItsName) {
  EXPECT_EQ(
      errorOf({"%x: tensor<4xf32>, %z: tensor<4xf32>",
               "%y = math.copysign %x, %z : tensor<4xf32> loc(\"the sign\")",
               "tensor<4xf32>"}),
      "node \"the sign\" (math.copysign): ONNX has no form of the op that "
      "Gradus knows");
}
