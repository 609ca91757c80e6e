// Nests of all shapes and forms, on three kinds of registers, against their
// definition: tiles and vectors may not show in the results.

#include "tests/codegen/kernel_text.h"
#include "tests/codegen/plan/nest_reference.h"

using namespace gradus::test;

//===-- sums of products --------------------------------------------------===//

TEST(CpuLoops, MultipliesMatricesOfAnySizeAndOrder) {
  std::string text;
  int count = 0;
  std::vector<std::vector<int64_t>> shapes = {
      {16, 32, 32}, {5, 7, 19},  {1, 10, 84}, {33, 17, 3},
      {8, 1, 40},   {3, 100, 1}, {13, 10, 16}};
  for (auto &s : shapes)
    for (std::string x : {"mk", "km"})
      for (std::string w : {"nk", "kn"}) {
        bool bias = ++count % 2;
        text += kernelOf("m" + std::to_string(count),
                         dense(s[0], s[1], s[2], x, w, bias), "serial");
      }
  KernelCheck().run(text);
}

TEST(CpuLoops, DividesTheRowsOfMatricesAnyhow) {
  std::string text;
  int count = 0;
  for (std::string x : {"mk", "km"})
    for (std::string w : {"nk", "kn"})
      text += kernelOf("r" + std::to_string(count++),
                       dense(21, 37, 29, x, w, true), "rows", 21);
  KernelCheck().run(text);
}

TEST(CpuLoops, Convolves) {
  std::string text;
  int count = 0;
  for (Convolution c :
       {Convolution{2, 1, 6, 12, 5, 2}, Convolution{1, 3, 8, 14, 5},
        Convolution{2, 3, 5, 9, 3, 1, 2}, Convolution{1, 2, 4, 18, 1}})
    for (std::string split : {"serial", "rows"}) {
      std::string n = std::to_string(count++);
      text += kernelOf("f" + n, convolution(c), split, c.batch);
      text += kernelOf("d" + n, convolutionBackwardData(c), split, c.batch);
      text += kernelOf("w" + n, convolutionBackwardWeights(c), split, c.out);
    }
  KernelCheck check;
  check.tolerance = 3e-5;
  check.run(text);
}

TEST(CpuLoops, Pools) {
  KernelCheck().run(kernelOf("a", maxPool(2, 3, 28, 2), "rows", 2) +
                    kernelOf("b", maxPool(1, 2, 9, 3), "serial"));
}

//===-- elementwise -------------------------------------------------------===//

static const char *shiftedRelu = R"(
  ^bb0(%a: f32, %c: f32):
    %p = arith.addf %a, %c : f32
    %zero = arith.constant 0.0 : f32
    %t = arith.cmpf ogt, %p, %zero : f32
    %r = arith.select %t, %p, %zero : f32
    plan.yield %r : f32
)";

/// y[n,c,h] = relu(x[n,c,h] + b[c]).
static NestText addChannels(int64_t n, int64_t c, int64_t h) {
  std::string same = "(n, c, h) -> (n, c, h)";
  return {{n, c, h},
          {},
          {},
          {{"%x", buffer({n, c, h}), same},
           {"%b", buffer({c}), "(n, c, h) -> (c)"}},
          {{"%y", buffer({n, c, h}), same}},
          {},
          "",
          shiftedRelu};
}

TEST(CpuLoops, BroadcastsAlongAnyDimension) {
  std::string text;
  int count = 0;
  std::vector<std::vector<int64_t>> shapes = {
      {3, 4, 5}, {2, 3, 64}, {4, 10, 1}, {5, 1, 33}, {1, 1, 1}, {2, 7, 100}};
  for (auto &s : shapes)
    for (std::string split : {"serial", "rows"})
      text += kernelOf("b" + std::to_string(count++),
                       addChannels(s[0], s[1], s[2]), split, s[0]);
  KernelCheck().run(text);
}

TEST(CpuLoops, Transposes) {
  std::string move = "\n ^bb0(%a: f32):\n plan.yield %a : f32\n", text;
  int count = 0;
  std::vector<std::vector<int64_t>> shapes = {
      {16, 16}, {5, 33}, {40, 7}, {1, 9}};
  for (auto &s : shapes) {
    NestText nest{{s[0], s[1]},
                  {},
                  {},
                  {{"%x", buffer({s[1], s[0]}), "(i, j) -> (j, i)"}},
                  {{"%y", buffer({s[0], s[1]}), "(i, j) -> (i, j)"}},
                  {},
                  "",
                  move};
    text += kernelOf("t" + std::to_string(count++), nest, "rows", s[0]);
  }
  KernelCheck().run(text);
}

TEST(CpuLoops, ReversesAndSkips) {
  std::string move = "\n ^bb0(%a: f32):\n plan.yield %a : f32\n";
  NestText nest{{3, 20},
                {},
                {},
                {{"%x", buffer({3, 60}), "(i, j) -> (i, 59 - 3 * j)"}},
                {{"%y", buffer({3, 20}), "(i, j) -> (i, 19 - j)"}},
                {},
                "",
                move};
  KernelCheck().run(kernelOf("skip", nest, "serial"));
}

TEST(CpuLoops, ReadsByQuotientsAndRemainders) {
  std::string move = "\n ^bb0(%a: f32):\n plan.yield %a : f32\n", text;
  int count = 0;
  for (std::string d : {"2", "3", "8"}) {
    NestText nest{
        {4, 24},
        {},
        {},
        {{"%x", buffer({8, 24}),
          "(i, j) -> (j mod " + d + ", j floordiv " + d + " + i mod 2)"}},
        {{"%y", buffer({4, 24}), "(i, j) -> (i, j)"}},
        {},
        "",
        move};
    text += kernelOf("q" + std::to_string(count++), nest, "serial");
  }
  KernelCheck().run(text);
}

/// y[i] = a x[i] + x[i], of any length, with a scalar from memory.
static std::string scaled(std::string element) {
  std::string type = buffer({-1}, element), t = " : " + element;
  NestText nest{
      {INT64_MIN},
      {},
      {},
      {{"%x", type, "(i) -> (i)"}, {"%a", buffer({}, element), "(i) -> ()"}},
      {{"%y", type, "(i) -> (i)"}},
      {},
      "",
      "\n ^bb0(%x0: " + element + ", %a0: " + element +
          "):\n %p = arith.mulf %a0, %x0" + t + "\n %r = arith.addf %p, %x0" +
          t + "\n plan.yield %r" + t + "\n"};
  return kernelOf("scaled_" + element, nest, "flat", 0);
}

TEST(CpuLoops, ServesAnyNumberOfItems) {
  for (int64_t items : {1, 3, 32, 100, 131}) {
    KernelCheck check;
    check.items = items;
    check.divisions = {{}, {1}, {3, 4}, {31, 64}};
    check.run(scaled("f32") + scaled("f64") + scaled("bf16"));
  }
}

//===-- reductions --------------------------------------------------------===//

static NestText sums(std::vector<int64_t> parallel,
                     std::vector<int64_t> reduced, std::string shape,
                     std::string map, std::string out, std::string outMap) {
  return {parallel,
          reduced,
          {{"%x", shape, map}},
          {},
          {{"%y", out, outMap}},
          {"sum"},
          "\n ^bb0(%a: f32):\n plan.yield %a : f32\n",
          plainSum};
}

TEST(CpuLoops, SumsRowsColumnsAndAll) {
  std::string text;
  int count = 0;
  std::vector<std::vector<int64_t>> shapes = {{32, 10}, {5, 100}, {64, 120},
                                              {7, 3},   {1, 50},  {50, 1}};
  for (auto &s : shapes) {
    std::string n = std::to_string(count++), x = buffer({s[0], s[1]});
    text += kernelOf("rows" + n,
                     sums({s[0]}, {s[1]}, x, "(i, j) -> (i, j)", buffer({s[0]}),
                          "(i) -> (i)"),
                     "rows", s[0]);
    text += kernelOf("columns" + n,
                     sums({s[1]}, {s[0]}, x, "(j, i) -> (i, j)", buffer({s[1]}),
                          "(j) -> (j)"),
                     "rows", s[1]);
    text += kernelOf(
        "all" + n,
        sums({}, {s[0], s[1]}, x, "(i, j) -> (i, j)", buffer({}), "() -> ()"),
        "serial");
  }
  KernelCheck().run(text);
}

TEST(CpuLoops, CombinesSeveralValuesAtOnce) {
  std::string id = "(c, i) -> (i, c)";
  NestText nest{{20},
                {33},
                {{"%x", buffer({33, 20}), id},
                 {"%l", buffer({33}, "i64"), "(c, i) -> (i)"}},
                {},
                {},
                {"sum", "max", "min", "sum", "max"},
                R"(
  ^bb0(%a: f32, %l0: i64):
    %square = arith.mulf %a, %a : f32
    %one = arith.constant 1 : i64
    %next = arith.addi %l0, %one : i64
    plan.yield %square, %a, %a, %l0, %next : f32, f32, f32, i64, i64
)",
                R"(
  ^bb0(%s0: f32, %h: f32, %l1: f32, %n0: i64, %m0: i64):
    %d0 = arith.subf %h, %l1 : f32
    plan.yield %s0, %d0, %n0, %m0 : f32, f32, i64, i64
)"};
  for (std::string name : {"%s", "%d"})
    nest.outs.push_back({name, buffer({20}), "(c) -> (c)"});
  for (std::string name : {"%n", "%m"})
    nest.outs.push_back({name, buffer({20}, "i64"), "(c) -> (c)"});
  KernelCheck().run(kernelOf("several", nest, "rows", 20));
}

TEST(CpuLoops, AccumulatesNarrowFloatsWide) {
  NestText nest{{6, 18},
                {40},
                {{"%x", buffer({6, 40}, "bf16"), "(m, n, k) -> (m, k)"},
                 {"%w", buffer({18, 40}, "f16"), "(m, n, k) -> (n, k)"}},
                {},
                {{"%y", buffer({6, 18}, "bf16"), "(m, n) -> (m, n)"}},
                {"sum"},
                R"(
  ^bb0(%a: bf16, %c: f16):
    %x0 = arith.extf %a : bf16 to f32
    %w0 = arith.extf %c : f16 to f32
    %p = arith.mulf %x0, %w0 : f32
    plan.yield %p : f32
)",
                R"(
  ^bb0(%sum: f32):
    %r = arith.truncf %sum : f32 to bf16
    plan.yield %r : bf16
)"};
  KernelCheck check;
  check.targets = {"cpu", "cpu:x86-64-v3", "cpu:x86-64-v4"};
  check.run(kernelOf("narrow", nest, "rows", 6));
}

//===-- several nests -----------------------------------------------------===//

/// Softmax of rows with the exponentials in scratch.
TEST(CpuLoops, PassesValuesThroughScratch) {
  auto softmax = [](int64_t rows, int64_t columns, std::string split) {
    bool serial = split == "serial";
    std::string inner = serial ? buffer({rows, columns}) : buffer({columns});
    std::string at = serial ? "(i, j) -> (i, j)" : "(i, j) -> (j)",
                row = "(i, j) -> (i, j)";
    std::string one = serial ? buffer({rows}) : buffer({});
    std::string place = serial ? "(i) -> (i)" : "(i) -> ()",
                wide = serial ? "(i, j) -> (i)" : "(i, j) -> ()";
    NestText high{{rows},
                  {columns},
                  {{"%x", buffer({rows, columns}), row}},
                  {},
                  {{"%h", one, place}},
                  {"max"},
                  "\n ^bb0(%a: f32):\n plan.yield %a : f32\n",
                  plainSum};
    NestText powers{{rows, columns},
                    {},
                    {},
                    {{"%x", buffer({rows, columns}), row}, {"%h", one, wide}},
                    {{"%e", inner, at}},
                    {},
                    "",
                    R"(
  ^bb0(%a: f32, %m: f32):
    %d = arith.subf %a, %m : f32
    %e0 = math.exp %d : f32
    plan.yield %e0 : f32
)"};
    NestText total{{rows},
                   {columns},
                   {{"%e", inner, at}},
                   {},
                   {{"%s", one, place}},
                   {"sum"},
                   "\n ^bb0(%a: f32):\n plan.yield %a : f32\n",
                   plainSum};
    NestText share{{rows, columns},
                   {},
                   {},
                   {{"%e", inner, at}, {"%s", one, wide}},
                   {{"%y", buffer({rows, columns}), row}},
                   {},
                   "",
                   R"(
  ^bb0(%a: f32, %m: f32):
    %q = arith.divf %a, %m : f32
    plan.yield %q : f32
)"};
    std::string body = "  %h = plan.scratch : " + one +
                       "\n  %e = plan.scratch : " + inner +
                       "\n  %s = plan.scratch : " + one + "\n";
    return kernel("softmax_" + split,
                  {{"%x", buffer({rows, columns}), ""},
                   {"%y", buffer({rows, columns}), ""}},
                  1, split, rows,
                  body + high.text() + powers.text() + total.text() +
                      share.text());
  };
  KernelCheck().run(softmax(9, 10, "rows") + softmax(9, 10, "serial"));
  KernelCheck().run(softmax(5, 100, "rows") + softmax(5, 100, "serial"));
}

TEST(CpuLoops, ComparesPositionsWithLabels) {
  NestText nest{{9, 10},
                {},
                {},
                {{"%l", buffer({9}, "i64"), "(i, j) -> (i)"}},
                {{"%y", buffer({9, 10}, "f32"), "(i, j) -> (i, j)"},
                 {"%f", buffer({9, 10}, "i1"), "(i, j) -> (i, j)"}},
                {},
                "",
                R"(
  ^bb0(%l0: i64):
    %j = plan.index 1
    %i = plan.index 0
    %e = arith.cmpi eq, %l0, %j : i64
    %b = arith.extui %e : i1 to i32
    %r = arith.sitofp %b : i32 to f32
    %lower = arith.cmpi sge, %i, %j : i64
    plan.yield %r, %lower : f32, i1
)"};
  KernelCheck().run(kernelOf("labels", nest, "rows", 9));
}

/// What pooling and its gradient read: every second element, or each twice.
TEST(CpuLoops, StridesAndRepeats) {
  std::string move = "\n ^bb0(%a: f32):\n plan.yield %a : f32\n", text;
  int count = 0;
  for (int64_t width : {1, 5, 14, 16, 40, 70})
    for (std::string by : {"2", "3", "4"}) {
      NestText strided{
          {3, width},
          {},
          {},
          {{"%x", buffer({3, 4 * width}), "(i, j) -> (i, " + by + " * j + 1)"}},
          {{"%y", buffer({3, width}), "(i, j) -> (i, j)"}},
          {},
          "",
          move};
      NestText repeated{{4, width},
                        {},
                        {},
                        {{"%x", buffer({2, width}),
                          "(i, j) -> (i floordiv 2, j floordiv " + by + ")"}},
                        {{"%y", buffer({4, width}), "(i, j) -> (i, j)"}},
                        {},
                        "",
                        move};
      text += kernelOf("s" + std::to_string(count), strided, "rows", 3);
      text += kernelOf("r" + std::to_string(count++), repeated, "rows", 4);
    }
  KernelCheck().run(text);
}
