// Nests made at random: extents, maps, guards, combinations. Wide ones have
// long dimensions, of which some are whole vectors, and mostly plain maps in
// any order of the dimensions, with elements of 16 or 32 bits.
#pragma once

#include "kernel_text.h"

#include <algorithm>
#include <random>

namespace gradus::test {

/// Wide ones that tests run.
constexpr unsigned kWideNests = 80;

class RandomNest {
public:
  explicit RandomNest(unsigned seed, bool isWide = false)
      : random(seed), isWide(isWide) {}
  std::string text(std::string name);

private:
  int64_t pick(int64_t low, int64_t high) {
    return low + int64_t(random() % uint64_t(high - low + 1));
  }
  std::string dimName(int64_t d) { return "d" + std::to_string(d); }
  std::string dims(int64_t count);
  std::pair<std::string, int64_t> index(int64_t count);
  Operand input(std::string value, int64_t count);
  std::string inType(std::string text);

  int64_t extent(int64_t d, int64_t parallel, int64_t reduced);
  Operand turned(std::string value, int64_t count);

  std::mt19937 random;
  bool isWide, endsInPoints = false;
  int64_t points = 0; // parallel dimensions
  std::string type = "f32";
  std::vector<int64_t> extents;
};

inline std::string RandomNest::dims(int64_t count) {
  std::vector<std::string> names;
  for (int64_t d = 0; d < count; ++d)
    names.push_back(dimName(d));
  return "(" + llvm::join(names, ", ") + ")";
}

/// An index expression over the first `count` dimensions, and how far it goes.
inline std::pair<std::string, int64_t> RandomNest::index(int64_t count) {
  int64_t d = pick(0, count - 1), e = pick(0, count - 1), last = extents[d] - 1;
  switch (pick(0, 9)) {
  case 0:
    return {dimName(d) + " * 2 + 1", 2 * last + 2};
  case 1:
    return {dimName(d) + " floordiv 2", last / 2 + 1};
  case 2:
    return {dimName(d) + " mod 3", std::min<int64_t>(last, 2) + 1};
  case 3:
    return {dimName(d) + " + " + dimName(e), last + extents[e]};
  case 4:
    return {"3", 5};
  case 5:
    return {std::to_string(last) + " - " + dimName(d), last + 1};
  case 6:
    return {"(" + dimName(d) + " + " + dimName(e) + " * 4) floordiv 4",
            (last + 4 * extents[e]) / 4 + 1};
  default:
    return {dimName(d), last + 1};
  }
}

inline int64_t RandomNest::extent(int64_t d, int64_t parallel,
                                  int64_t reduced) {
  if (!isWide)
    return pick(0, 3) == 0 ? pick(1, 40) : pick(1, 6);
  if (d == 0 && parallel > 1 && reduced == 0)
    return std::vector<int64_t>{2, 16, 33, 66, 40}[pick(0, 4)];
  if (d + 1 == parallel)
    return std::vector<int64_t>{8, 16, 24, 64, 136, 17, 3, 12}[pick(0, 7)];
  if (d + 1 == parallel + reduced)
    return std::vector<int64_t>{8, 16, 32, 64, 96, 160, 33}[pick(0, 6)];
  return pick(1, 3);
}

/// Text that says f32, of the nest's own type.
inline std::string RandomNest::inType(std::string text) {
  for (size_t at = 0; (at = text.find("f32", at)) != std::string::npos;
       at += type.size())
    text.replace(at, 3, type);
  return text;
}

/// The dimensions in some order, the first or the last left out at times;
/// in half of the nests what is reduced comes first.
inline Operand RandomNest::turned(std::string value, int64_t count) {
  std::vector<int64_t> order;
  for (int64_t d = pick(0, 5) == 0; d < count; ++d)
    order.push_back(d);
  bool isWhole = points == int64_t(extents.size()); // nothing is reduced
  if (isWhole && pick(0, 1))
    std::reverse(order.begin(), order.end());
  else if (pick(0, 3) == 0)
    std::shuffle(order.begin(), order.end(), random);
  else if (endsInPoints && count > points)
    std::rotate(order.begin(),
                std::lower_bound(order.begin(), order.end(), points),
                order.end());
  std::vector<std::string> indices;
  std::vector<int64_t> shape;
  for (int64_t d : order) {
    indices.push_back(dimName(d));
    shape.push_back(extents[d]);
  }
  return {value, buffer(shape, type),
          dims(count) + " -> (" + llvm::join(indices, ", ") + ")"};
}

/// Sometimes all dimensions in order, as in most nests; sometimes guarded.
inline Operand RandomNest::input(std::string value, int64_t count) {
  if (isWide && pick(0, 5))
    return turned(value, count);
  std::vector<std::string> indices;
  std::vector<int64_t> shape;
  bool plain = pick(0, 2) == 0;
  int64_t rank = plain ? count : pick(0, 3);
  for (int64_t r = 0; r < rank; ++r) {
    auto [expression, extent] =
        plain ? std::pair(dimName(r), extents[r]) : index(count);
    indices.push_back(expression);
    shape.push_back(extent);
  }
  Operand operand{value, buffer(shape, type),
                  dims(count) + " -> (" + llvm::join(indices, ", ") + ")"};
  if (pick(0, 3) == 0) {
    int64_t d = pick(0, count - 1), e = pick(0, count - 1);
    operand.guard = dims(count) + " : (" + dimName(d) + " + " + dimName(e) +
                    " - " + std::to_string(pick(0, 4)) + " >= 0, " +
                    std::to_string(pick(3, 30)) + " - " + dimName(d) + " >= 0" +
                    (pick(0, 2) ? ")" : ", " + dimName(e) + " mod 2 == 0)");
  }
  return operand;
}

inline std::string RandomNest::text(std::string name) {
  int64_t parallel = pick(1, isWide ? 3 : 4), reduced = pick(0, isWide ? 2 : 3);
  for (int64_t d = 0; d < parallel + reduced; ++d)
    extents.push_back(extent(d, parallel, reduced));
  if (isWide) {
    type = pick(0, 1) ? "bf16" : "f32";
    endsInPoints = pick(0, 1);
    points = parallel;
  }
  NestText nest;
  nest.parallel.assign(extents.begin(), extents.begin() + parallel);
  nest.reduced.assign(extents.begin() + parallel, extents.end());
  std::string sum = "%x0";
  if (reduced) {
    nest.ins = {input("%a", parallel + reduced),
                input("%b", parallel + reduced)};
    const char *bodies[] = {
        "%p = arith.mulf %a0, %b0 : f32\n", "%p = arith.subf %a0, %b0 : f32\n",
        "%q = arith.mulf %a0, %a0 : f32\n%p = arith.addf %q, %b0 : f32\n"};
    nest.map = inType(std::string("\n^bb0(%a0: f32, %b0: f32):\n") +
                      bodies[pick(0, 2)] + "plan.yield %p : f32\n");
    nest.combine = {std::vector<std::string>{"sum", "sum", "sum", "max",
                                             "min"}[pick(0, 4)]};
  }
  nest.with = {input("%x", parallel)};
  std::string index = std::to_string(pick(0, parallel - 1));
  nest.then = inType(
      std::string("\n^bb0(") + (reduced ? "%s0: f32, " : "") +
      "%x0: f32):\n%i = plan.index " + index +
      "\n%r = arith.sitofp %i : i64 to f32\n%t = arith.addf %x0, %r : f32\n" +
      (reduced ? "%u = arith.addf %t, %s0 : f32\nplan.yield %u : f32\n"
               : "plan.yield %t : f32\n"));
  std::string all = dims(parallel);
  nest.outs = {{"%y", buffer(nest.parallel, type), all + " -> " + all}};
  bool rows = pick(0, 1);
  return kernelOf(name, nest, rows ? "rows" : "serial", rows ? extents[0] : 1);
}

} // namespace gradus::test
