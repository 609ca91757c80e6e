// Each op of a program is written as nodes that compute the same.

#include "frontends/onnx/operators/exports.h"

#include "../written.h"

#include <set>

using namespace gradus;
using namespace gradus::testing;

/// Programs of one op each.
struct Programs {
  void add(const std::string &inputs, const std::string &body,
           const std::string &type) {
    all.push_back({inputs, body, type});
  }

  void arithmetic() {
    for (const char *op :
         {"addf", "subf", "mulf", "divf", "maximumf", "minimumf", "remf"})
      add(xz, std::string("%y = arith.") + op + " %x, %z : " + f, f);
    for (const char *op :
         {"addi", "subi", "muli", "divsi", "divui", "maxsi", "minsi", "maxui",
          "minui", "remsi", "remui", "andi", "ori", "xori", "shli", "shrui"})
      add(ij, std::string("%y = arith.") + op + " %i, %j : " + i, i);
    for (const char *op : {"andi", "ori", "xori"})
      add(pq, std::string("%y = arith.") + op + " %p, %q : " + b, b);
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
  }

  void comparisons() {
    for (const char *is : {"oeq", "ogt", "oge", "olt", "ole", "one", "ord",
                           "ueq", "ugt", "uge", "ult", "ule", "une", "uno"})
      add(xz, std::string("%y = arith.cmpf ") + is + ", %x, %z : " + f, b);
    for (const char *is :
         {"eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"})
      add(ij, std::string("%y = arith.cmpi ") + is + ", %i, %j : " + i, b);
    for (const char *op : {"isnan", "isinf", "isfinite"})
      add(x, std::string("%y = math.") + op + " %x : " + f, b);
    add("%p: " + b + ", " + xz,
        "%y = arith.select %p, %x, %z : " + b + ", " + f, f);
  }

  void casts() {
    const std::string wide = "tensor<2x3xf64>", half = "tensor<2x3xf16>",
                      large = "tensor<2x3xi64>";
    add(x, "%y = arith.extf %x : " + f + " to " + wide, wide);
    add(x, "%y = arith.truncf %x : " + f + " to " + half, half);
    for (const char *op : {"extsi", "extui"})
      add("%i: " + i,
          std::string("%y = arith.") + op + " %i : " + i + " to " + large,
          large);
    add("%l: " + large, "%y = arith.trunci %l : " + large + " to " + i, i);
    for (const char *op : {"sitofp", "uitofp"})
      add("%i: " + i,
          std::string("%y = arith.") + op + " %i : " + i + " to " + f, f);
    for (const char *op : {"fptosi", "fptoui"})
      add(x, std::string("%y = arith.") + op + " %x : " + f + " to " + large,
          large);
    add(x, "%y = arith.bitcast %x : " + f + " to " + i, i);
  }

  void elementwiseAndShapes() {
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
    add(x,
        "%y = gradus.transpose %x perm [1, 0] : " + f + " -> tensor<3x2xf32>",
        "tensor<3x2xf32>");
    add("%v: tensor<2xf32>",
        "%y = gradus.broadcast %v dims [0] : tensor<2xf32> -> " + f, f);
    add("", "%y = gradus.iota axis 1 : " + i, i);
  }

  void productsAndPieces() {
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
        "%y = gradus.pad %x low [1, 0] high [0, 2] interior [0, 0] {value = "
        "0.5 "
        ": f64} : " +
            f + " -> tensor<3x5xf32>",
        "tensor<3x5xf32>");
  }

  void indexing() {
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
  }

  void layers() {
    const std::string k = ", %s: tensor<3xf32>, %c: tensor<3xf32>";
    add(x + k,
        "%y = gradus.layer_norm %x, %s plus %c {epsilon = 1.0e-5 : f64} : " +
            f + ", tensor<3xf32>, tensor<3xf32>",
        f);
    add(x + k,
        "%y = gradus.layer_norm rms %x, %s plus %c {epsilon = 1.0e-5 : f64} "
        ": " +
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
        "%y, %l, %r = gradus.attention %q, %k, %v mask %b causal {scale = 0.5 "
        ": "
        "f64} : (" +
            q + ", " + q + ", " + q + ", tensor<1x1x1x3xf32>) -> (" + q + ", " +
            kept + ", " + kept + ")",
        q);
  }

  std::vector<Written> all;
  const std::string f = "tensor<2x3xf32>", i = "tensor<2x3xi32>",
                    b = "tensor<2x3xi1>";
  const std::string x = "%x: " + f, xz = "%x: " + f + ", %z: " + f,
                    ij = "%i: " + i + ", %j: " + i,
                    pq = "%p: " + b + ", %q: " + b;
};

std::vector<Written> programs() {
  Programs made;
  made.arithmetic();
  made.comparisons();
  made.casts();
  made.elementwiseAndShapes();
  made.productsAndPieces();
  made.indexing();
  made.layers();
  return made.all;
}

/// `%n` of numbers of both signs, `%o` of zeros and `%p`, where `%n` is above
/// them.
static std::string signedNumbers(const std::string &type) {
  return "%h = arith.constant dense<0.5> : " + type +
         "\n%o = arith.constant dense<0.0> : " + type +
         "\n%n = arith.subf %x, %h : " + type +
         "\n%p = arith.cmpf ogt, %n, %o : " + type + "\n";
}

/// x > 0 ? right x : left (exp(inner x) - 1), without factors that are empty.
static std::string exponential(const std::string &type, const std::string &left,
                               const std::string &right,
                               const std::string &inner) {
  std::string text = signedNumbers(type), scaled = "%n", plain = "%n";
  auto times = [&](const char *name, const std::string &factor,
                   const std::string &of) {
    text += std::string(name) + "f = arith.constant dense<" + factor +
            "> : " + type + "\n" + name + " = arith.mulf " + of + ", " + name +
            "f : " + type + "\n";
    return std::string(name);
  };
  if (!inner.empty())
    scaled = times("%i", inner, "%n");
  if (!right.empty())
    plain = times("%r", right, "%n");
  text += "%q = arith.cmpf ogt, " + scaled + ", %o : " + type +
          "\n%m = arith.select %q, %o, " + scaled + " : tensor<2x3xi1>, " +
          type + "\n%e = math.expm1 %m : " + type + "\n";
  times("%l", left, "%e");
  return text + "%y = arith.select %p, " + plain + ", %l : tensor<2x3xi1>, " +
         type;
}

/// The own statistics of each of `rows` rows, with numbers for each channel.
static std::string rowNorm(int rows) {
  const std::string x = "tensor<2x4x3xf32>",
                    flat = "tensor<1x" + std::to_string(rows) + "x" +
                           std::to_string(24 / rows) + "xf32>",
                    row = "tensor<" + std::to_string(rows) + "xf32>";
  return "%i = arith.constant dense<1.0> : " + row +
         "\n%o = arith.constant dense<0.0> : " + row +
         "\n%f = gradus.reshape %x : " + x + " -> " + flat +
         "\n%n, %m, %v = gradus.batch_norm_training %f, %i, %o epsilon 1.0e-5 "
         ": " +
         flat + ", " + row + "\n%b = gradus.reshape %n : " + flat + " -> " + x +
         "\n%w = gradus.broadcast %s dims [1] : tensor<4xf32> -> " + x +
         "\n%u = gradus.broadcast %c dims [1] : tensor<4xf32> -> " + x +
         "\n%p = arith.mulf %b, %w : " + x + "\n%y = arith.addf %p, %u : " + x;
}

/// Formulas that ONNX has as one node, by its type.
static std::vector<std::pair<std::string, Written>> formulas() {
  const std::string f = "tensor<2x3xf32>", i = "tensor<2x3xi32>",
                    b = "tensor<2x3xi1>", image = "tensor<2x4x3xf32>",
                    x = "%x: " + f,
                    images = "%x: " + image +
                             ", %s: tensor<4xf32>, %c: tensor<4xf32>";
  return {
      {"Softplus",
       {x,
        signedNumbers(f) + "%k = arith.negf %n : " + f +
            "\n%s = arith.select %p, %k, %n : " + b + ", " + f +
            "\n%e = math.exp %s : " + f + "\n%l = math.log1p %e : " + f +
            "\n%a = arith.select %p, %n, %o : " + b + ", " + f +
            "\n%y = arith.addf %a, %l : " + f,
        f}},
      {"Elu", {x, exponential(f, "0.75", "", ""), f}},
      {"Celu", {x, exponential(f, "0.5", "", "2.0"), f}},
      {"Selu", {x, exponential(f, "1.75", "1.0625", ""), f}},
      {"InstanceNormalization", {images, rowNorm(8), image}},
      {"GroupNormalization", {images, rowNorm(4), image}},
      {"Not",
       {"%p: " + b,
        "%t = arith.constant dense<true> : " + b +
            "\n%y = arith.xori %p, %t : " + b,
        b}},
      {"Cast",
       {x,
        "%o = arith.constant dense<0.0> : " + f +
            "\n%y = arith.cmpf une, %x, %o : " + f,
        b}},
      {"Cast",
       {"%i: " + i,
        "%o = arith.constant dense<0> : " + i +
            "\n%y = arith.cmpi ne, %i, %o : " + i,
        b}},
  };
}

TEST(Exports, WriteNodesThatComputeTheSame) {
  for (const Written &program : programs()) {
    SCOPED_TRACE(program.body);
    expectSame(program);
  }
}

/// Windows and draws have tests of their own (window_exports_test.cpp,
/// random_test.cpp).
TEST(Exports, HaveAProgramForEachRow) {
  std::set<std::pair<std::string, std::string>> tested = {
      {"gradus.convolution", "Conv"},
      {"gradus.convolution_backward_data", "ConvTranspose"},
      {"arith.addf", "Conv"},
      {"arith.addf", "ConvTranspose"},
      {"gradus.max_pool", "MaxPool"},
      {"gradus.average_pool", "AveragePool"},
      {"arith.select", "Cast"},
      {"arith.select", "Identity"},
      {"arith.mulf", "RandomUniform"}};
  std::vector<Written> all = programs();
  for (const auto &[node, program] : formulas())
    all.push_back(program);
  for (const Written &program : all) {
    Imported model = parsed(program);
    tested.merge(rowsOf(model.predict()));
  }
  for (const gradus::onnx::ExportRow &row : gradus::onnx::allExports())
    EXPECT_TRUE(tested.count({row.op, row.node}))
        << row.op << " as " << row.node;
}

/// A formula that ONNX has as one node leaves none of its parts behind.
TEST(Exports, WriteAFormulaAsItsNode) {
  for (const auto &[node, program] : formulas()) {
    SCOPED_TRACE(node);
    Types nodes = nodesOf(program);
    ASSERT_FALSE(nodes.empty());
    EXPECT_EQ(nodes.back(), node);
    nodes.pop_back();
    EXPECT_TRUE(nodes.empty() || nodes == (Types{"Constant", "Sub"}));
  }
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
