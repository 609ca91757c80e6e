// Kernels as text, for tests and benches: a nest from a few strings, and the
// usual ones (dense layers, convolutions, pooling, sums) for any sizes.
#pragma once

#include "llvm/ADT/StringExtras.h"

#include <string>
#include <vector>

namespace gradus::test {

/// What a nest reads or writes: `%x`, `memref<4xf32>`, `(i) -> (i)`, and where.
struct Operand {
  std::string value, type, map, guard = "";
};
using Operands = std::vector<Operand>;

inline std::string list(llvm::ArrayRef<int64_t> numbers) {
  return "[" +
         llvm::join(llvm::map_range(
                        numbers, [](int64_t n) { return std::to_string(n); }),
                    ", ") +
         "]";
}

inline std::string buffer(llvm::ArrayRef<int64_t> shape,
                          std::string element = "f32") {
  std::string text = "memref<";
  for (int64_t extent : shape)
    text += (extent < 0 ? "?" : std::to_string(extent)) + "x";
  return text + element + ">";
}

/// "values : types" in brackets after a word; nothing for no operands.
inline std::string clause(std::string word, const Operands &operands) {
  if (operands.empty())
    return "";
  std::vector<std::string> values, types;
  for (const Operand &operand : operands)
    values.push_back(operand.value), types.push_back(operand.type);
  return " " + word + "(" + llvm::join(values, ", ") + " : " +
         llvm::join(types, ", ") + ")";
}

inline std::string mapsOf(const Operands &operands) {
  std::vector<std::string> maps;
  for (const Operand &operand : operands)
    maps.push_back("affine_map<" + operand.map + ">");
  return "[" + llvm::join(maps, ", ") + "]";
}

struct NestText {
  std::vector<int64_t> parallel, reduced;
  Operands ins, with, outs;
  std::vector<std::string> combine; // "sum", ..
  std::string map, then;            // bodies from ^bb0 on

  std::string text() const {
    std::vector<std::string> guards, kinds;
    for (const Operands &operands : {ins, with})
      for (const Operand &operand : operands)
        guards.push_back(operand.guard.empty()
                             ? "unit"
                             : "affine_set<" + operand.guard + ">");
    for (const std::string &kind : combine)
      kinds.push_back("#gradus<reduction " + kind + ">");
    return "  plan.nest parallel " + list(parallel) + " reduced " +
           list(reduced) + clause("ins", ins) + clause("with", with) +
           clause("outs", outs) +
           " attributes {map_input_maps = " + mapsOf(ins) +
           ", then_input_maps = " + mapsOf(with) +
           ", output_maps = " + mapsOf(outs) + ", guards = [" +
           llvm::join(guards, ", ") + "], combine = [" +
           llvm::join(kinds, ", ") + "]}\n  map {" + map + "} then {" + then +
           "}\n";
  }
};

/// A kernel; `arguments` as (name, type), the first `inputs` of them read.
inline std::string kernel(std::string name, const Operands &arguments,
                          int inputs, std::string split, int64_t items,
                          std::string body) {
  std::vector<std::string> texts;
  for (const Operand &argument : arguments)
    texts.push_back(argument.value + ": " + argument.type);
  return "plan.kernel @" + name + "(" + llvm::join(texts, ", ") +
         ") attributes {inputs = " + std::to_string(inputs) +
         " : i64, split = #plan<split " + split +
         ">, items = " + std::to_string(items) + " : i64} {\n" + body +
         "  plan.end\n}\n";
}

/// A kernel of one nest whose arguments are the nest's operands in order.
inline std::string kernelOf(std::string name, const NestText &nest,
                            std::string split, int64_t items = 1) {
  Operands arguments = nest.ins;
  arguments.insert(arguments.end(), nest.with.begin(), nest.with.end());
  int inputs = arguments.size();
  arguments.insert(arguments.end(), nest.outs.begin(), nest.outs.end());
  return kernel(name, arguments, inputs, split, items, nest.text());
}

inline const char *product = R"(
  ^bb0(%a: f32, %c: f32):
    %p = arith.mulf %a, %c : f32
    plan.yield %p : f32
)";
inline const char *plainSum = R"(
  ^bb0(%sum: f32):
    plan.yield %sum : f32
)";
inline const char *biasRelu = R"(
  ^bb0(%sum: f32, %bias: f32):
    %z = arith.addf %sum, %bias : f32
    %zero = arith.constant 0.0 : f32
    %r = arith.maximumf %z, %zero : f32
    plan.yield %r : f32
)";

/// y[m,n] = relu(sum_k x y + b[n]); `x` and `w` give their index orders, like
/// "mk" and "nk".
inline NestText dense(int64_t m, int64_t n, int64_t k, std::string x,
                      std::string w, bool bias) {
  auto operand = [&](std::string value, std::string order) {
    auto extent = [&](char c) { return c == 'm' ? m : c == 'n' ? n : k; };
    std::string map =
        std::string("(m, n, k) -> (") + order[0] + ", " + order[1] + ")";
    return Operand{value, buffer({extent(order[0]), extent(order[1])}), map};
  };
  NestText nest{{m, n},  {k},     {operand("%x", x), operand("%w", w)},
                {},      {},      {"sum"},
                product, plainSum};
  nest.outs = {{"%y", buffer({m, n}), "(m, n) -> (m, n)"}};
  if (bias) {
    nest.with = {{"%b", buffer({n}), "(m, n) -> (n)"}};
    nest.then = biasRelu;
  }
  return nest;
}

/// A convolution's sizes; the image is square.
struct Convolution {
  int64_t batch, in, out, size, window, pad = 0, stride = 1;
  int64_t outSize() const { return (size + 2 * pad - window) / stride + 1; }
};

inline std::string inside(std::string dims, std::string a, std::string b,
                          int64_t size) {
  std::string limit = std::to_string(size - 1);
  return dims + " : (" + a + " >= 0, -(" + a + ") + " + limit + " >= 0, " + b +
         " >= 0, -(" + b + ") + " + limit + " >= 0)";
}

inline NestText convolution(const Convolution &c) {
  std::string dims = "(n, o, h, w, i, p, q)", s = std::to_string(c.stride),
              pad = std::to_string(c.pad);
  std::string row = "h * " + s + " + p - " + pad,
              column = "w * " + s + " + q - " + pad;
  NestText nest{{c.batch, c.out, c.outSize(), c.outSize()},
                {c.in, c.window, c.window},
                {},
                {},
                {},
                {"sum"},
                product,
                biasRelu};
  nest.ins = {{"%x", buffer({c.batch, c.in, c.size, c.size}),
               dims + " -> (n, i, " + row + ", " + column + ")",
               c.pad ? inside(dims, row, column, c.size) : ""},
              {"%w", buffer({c.out, c.in, c.window, c.window}),
               dims + " -> (o, i, p, q)"}};
  nest.with = {{"%b", buffer({c.out}), "(n, o, h, w) -> (o)"}};
  nest.outs = {{"%y", buffer({c.batch, c.out, c.outSize(), c.outSize()}),
                "(n, o, h, w) -> (n, o, h, w)"}};
  return nest;
}

/// dx[n,i,h,w] = sum dy[n,o,(h+pad-p)/stride,..] w[o,i,p,q].
inline NestText convolutionBackwardData(const Convolution &c) {
  std::string dims = "(n, i, h, w, o, p, q)", pad = std::to_string(c.pad),
              s = std::to_string(c.stride);
  std::string row = "h + " + pad + " - p", column = "w + " + pad + " - q",
              guard;
  if (c.stride > 1) {
    guard = ", (" + row + ") mod " + s + " == 0, (" + column + ") mod " + s +
            " == 0)";
    row = "(" + row + ") floordiv " + s,
    column = "(" + column + ") floordiv " + s;
  }
  std::string whole = inside(dims, row, column, c.outSize());
  if (!guard.empty())
    whole = whole.substr(0, whole.size() - 1) + guard;
  NestText nest{{c.batch, c.in, c.size, c.size},
                {c.out, c.window, c.window},
                {},
                {},
                {},
                {"sum"},
                product,
                plainSum};
  nest.ins = {{"%g", buffer({c.batch, c.out, c.outSize(), c.outSize()}),
               dims + " -> (n, o, " + row + ", " + column + ")", whole},
              {"%w", buffer({c.out, c.in, c.window, c.window}),
               dims + " -> (o, i, p, q)"}};
  nest.outs = {{"%d", buffer({c.batch, c.in, c.size, c.size}),
                "(n, i, h, w) -> (n, i, h, w)"}};
  return nest;
}

/// dw[o,i,p,q] = sum dy[n,o,h,w] x[n,i,h*stride+p-pad,..].
inline NestText convolutionBackwardWeights(const Convolution &c) {
  std::string dims = "(o, i, p, q, n, h, w)", s = std::to_string(c.stride),
              pad = std::to_string(c.pad);
  std::string row = "h * " + s + " + p - " + pad,
              column = "w * " + s + " + q - " + pad;
  NestText nest{{c.out, c.in, c.window, c.window},
                {c.batch, c.outSize(), c.outSize()},
                {},
                {},
                {},
                {"sum"},
                product,
                plainSum};
  nest.ins = {{"%g", buffer({c.batch, c.out, c.outSize(), c.outSize()}),
               dims + " -> (n, o, h, w)"},
              {"%x", buffer({c.batch, c.in, c.size, c.size}),
               dims + " -> (n, i, " + row + ", " + column + ")",
               c.pad ? inside(dims, row, column, c.size) : ""}};
  nest.outs = {{"%d", buffer({c.out, c.in, c.window, c.window}),
                "(o, i, p, q) -> (o, i, p, q)"}};
  return nest;
}

/// y[n,c,h,w] = max over a window of `window`, which is the stride as well.
inline NestText maxPool(int64_t batch, int64_t channels, int64_t size,
                        int64_t window) {
  std::string dims = "(n, c, h, w, p, q)", s = std::to_string(window);
  NestText nest{{batch, channels, size / window, size / window},
                {window, window},
                {},
                {},
                {},
                {"max"},
                R"(
  ^bb0(%a: f32):
    plan.yield %a : f32
)",
                plainSum};
  nest.ins = {{"%x", buffer({batch, channels, size, size}),
               dims + " -> (n, c, h * " + s + " + p, w * " + s + " + q)"}};
  nest.outs = {{"%y", buffer({batch, channels, size / window, size / window}),
                "(n, c, h, w) -> (n, c, h, w)"}};
  return nest;
}

} // namespace gradus::test
