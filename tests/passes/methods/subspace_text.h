// Random directions as states of a program's text. For tests.
#pragma once

#include "ir/philox.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace gradus::testing {

/// A parameter of a program, with its shape as a type's text has it.
struct SubspacePart {
  std::string name, shape;
  int64_t size;
};

using Direction = std::vector<double>;

inline double product(const Direction &one, const Direction &other) {
  double sum = 0;
  for (size_t i = 0; i < one.size(); ++i)
    sum += one[i] * other[i];
  return sum;
}

/// Orthonormal directions of so many numbers.
inline std::vector<Direction> orthonormal(int64_t count, int64_t size) {
  Philox stream(7, "basis");
  std::vector<Direction> rows(static_cast<size_t>(count),
                              Direction(static_cast<size_t>(size)));
  uint64_t drawn = 0;
  for (size_t k = 0; k < rows.size(); ++k) {
    Direction &row = rows[k];
    for (double &number : row)
      number = stream.uniform(drawn++) * 2 - 1;
    for (size_t before = 0; before < k; ++before) {
      double along = product(row, rows[before]);
      for (size_t i = 0; i < row.size(); ++i)
        row[i] -= along * rows[before][i];
    }
    double length = std::sqrt(product(row, row));
    for (double &number : row)
      number /= length;
  }
  return rows;
}

/// The bytes of a number of f32, as they lie in memory.
inline std::string hex(double number) {
  auto narrow = static_cast<float>(number);
  uint8_t bytes[sizeof narrow];
  std::memcpy(bytes, &narrow, sizeof narrow);
  std::string text;
  for (int byte : bytes)
    for (int digit : {byte >> 4, byte & 15})
      text += "0123456789ABCDEF"[digit];
  return text;
}

/// The states of `count` random directions of all parameters together.
inline std::string basisText(int64_t count,
                             const std::vector<SubspacePart> &parts) {
  int64_t size = 0;
  for (const SubspacePart &part : parts)
    size += part.size;
  std::vector<Direction> rows = orthonormal(count, size);
  std::string states;
  int64_t first = 0;
  for (const SubspacePart &part : parts) {
    std::string numbers,
        type = "tensor<" + std::to_string(count) + "x" + part.shape + "xf32>";
    for (const Direction &row : rows)
      for (int64_t i = first; i < first + part.size; ++i)
        numbers += hex(row[static_cast<size_t>(i)]);
    first += part.size;
    states += "  gradus.state @\"dim_reduce/basis/" + part.name +
              "\" : " + type +
              " {fixed, role = #gradus.role<slot>, value = dense<\"0x" +
              numbers + "\"> : " + type + "}\n";
  }
  return states;
}

} // namespace gradus::testing
