// Library commands by their definitions, in doubles.
#pragma once

#include "arrays.h"

#include "runtime/artifact/artifact.h"
#include "tests/runtime/library_ops.h"

#include <algorithm>
#include <optional>

namespace gradus::runtime::cuda::test {

//===-- products ----------------------------------------------------------===//

/// Where sizes of 1 stand for all.
inline double broadcastAt(const Array &array, Dims index) {
  for (size_t i = 0; i < index.size(); ++i)
    if (array.dims[i] == 1)
      index[i] = 0;
  return array.at(index);
}

inline Array product(const Array &a, const Array &b, const Array *bias) {
  Dims dims = a.dims;
  dims.back() = b.dims.back();
  Array c(dims);
  forEachIndex(dims, [&](const Dims &index) {
    double sum = bias ? broadcastAt(*bias, index) : 0;
    Dims left = index, right = index;
    for (size_t i = 0; i + 2 < right.size(); ++i)
      right[i] = b.dims[i] == 1 ? 0 : right[i];
    for (int64_t k = 0; k < a.dims.back(); ++k) {
      left.back() = right.end()[-2] = k;
      sum += a.at(left) * b.at(right);
    }
    c.at(index) = sum;
  });
  return c;
}

inline double activated(artifact::Activation activation, double x) {
  using artifact::Activation;
  switch (activation) {
  case Activation::none:
    return x;
  case Activation::relu:
    return std::max(x, 0.0);
  case Activation::gelu_tanh:
    return 0.5 * x *
           (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  default:
    ADD_FAILURE() << "no card has this activation";
    return NAN;
  }
}

/// d gelu(x) / dx, with tanh, by differences.
inline double geluSlope(double x) {
  const double step = 1e-5;
  auto gelu = [](double at) {
    return activated(artifact::Activation::gelu_tanh, at);
  };
  return (gelu(x + step) - gelu(x - step)) / (2 * step);
}

/// Of each row, or of each column.
inline Array sumsOf(const Array &matrix, bool ofRows) {
  Array sums(ofRows ? Dims{matrix.dims[0], 1} : Dims{1, matrix.dims[1]});
  forEachIndex(matrix.dims, [&](const Dims &index) {
    sums.at(ofRows ? Dims{index[0], 0} : Dims{0, index[1]}) += matrix.at(index);
  });
  return sums;
}

/// The result, and the second one that a product may have.
inline Arrays productsOf(const artifact::LibraryCommandT &command,
                         const Arrays &in) {
  using artifact::Activation;
  bool isGradient = activationOf(command) == Activation::gelu_tanh_gradient;
  Array sum =
      product(in[0], in[1], in.size() > 2 && !isGradient ? &in[2] : nullptr);
  Arrays made = {sum};
  for (size_t i = 0; i < sum.numbers.size(); ++i)
    made[0].numbers[i] = isGradient
                             ? sum.numbers[i] * geluSlope(in[2].numbers[i])
                             : activated(activationOf(command), sum.numbers[i]);
  if (command.outputs.size() < 2)
    return made;
  bool ofRows = command.outputs[1]->dims[0] == sum.dims[0];
  made.push_back(activationOf(command) != Activation::none ? sum
                 : ofRows ? sumsOf(in[0], true)
                          : sumsOf(in[1], false));
  return made;
}

//===-- convolutions ------------------------------------------------------===//

inline int64_t entry(const Dims &list, size_t i, int64_t otherwise) {
  return list.empty() ? otherwise : list[i];
}

/// Calls `visit` with the indices of each source, weight and result that meet;
/// weights have an axis of groups or none.
template <typename Visit>
void forEachMeeting(const artifact::LibraryCommandT &command, const Dims &x,
                    const Dims &w, const Dims &y, Visit visit) {
  const artifact::WindowsT &windows = windowsOf(command);
  size_t axes = x.size() - 2, extra = w.size() - x.size();
  Dims taps(w.begin() + ptrdiff_t(extra) + 1, w.end());
  Dims from(x.size()), tap(w.size());
  forEachIndex(y, [&](const Dims &to) {
    int64_t group = extra ? to[1] / w[1] : 0;
    tap[0] = group;
    tap[extra] = to[1] - group * w[extra];
    forEachIndex(taps, [&](const Dims &inner) {
      from[0] = to[0];
      from[1] = group * w[extra + 1] + inner[0];
      for (size_t i = 0; i < axes; ++i) {
        from[2 + i] = to[2 + i] * entry(windows.strides, i, 1) -
                      entry(windows.pads_begin, i, 0) +
                      inner[1 + i] * entry(windows.dilations, i, 1);
        if (from[2 + i] < 0 || from[2 + i] >= x[2 + i])
          return;
      }
      std::copy(inner.begin(), inner.end(), tap.begin() + ptrdiff_t(extra) + 1);
      visit(std::as_const(from), std::as_const(tap), to);
    });
  });
}

/// `y`: the sizes of the result.
inline Array convolve(const artifact::LibraryCommandT &windows, const Array &x,
                      const Array &w, const Dims &y) {
  Array made(y);
  forEachMeeting(windows, x.dims, w.dims, y,
                 [&](const Dims &from, const Dims &tap, const Dims &to) {
                   made.at(to) += x.at(from) * w.at(tap);
                 });
  return made;
}

//===-- attention ---------------------------------------------------------===//

/// softmax(scale Q K^T + mask) V of [n, h, t, d], and the logarithms of the
/// sums.
struct Attention {
  double scale = 1;
  bool isCausal = false; // query i sees keys up to i
  const Array *mask = nullptr;

  bool sees(int64_t query, int64_t key) const {
    return !isCausal || key <= query;
  }
  double masked(Dims index) const {
    if (!mask)
      return 0;
    for (size_t i = 0; i < index.size(); ++i)
      if (mask->dims[i] == 1)
        index[i] = 0;
    return mask->at(index);
  }
  double score(const Array &q, const Array &k, const Dims &i, int64_t j) const {
    const double *query = &q.at({i[0], i[1], i[2], 0}),
                 *key = &k.at({i[0], i[1], j, 0});
    double sum = 0;
    for (int64_t d = 0; d < q.dims[3]; ++d)
      sum += query[d] * key[d];
    return scale * sum + masked({i[0], i[1], i[2], j});
  }

  Arrays forward(const Array &q, const Array &k, const Array &v) const {
    Dims rows = {q.dims[0], q.dims[1], q.dims[2]};
    Array result({rows[0], rows[1], rows[2], v.dims[3]}),
        logsumexp({rows[0], rows[1], rows[2], 1});
    forEachIndex(rows, [&](const Dims &i) {
      double sum = 0;
      for (int64_t j = 0; j < k.dims[2]; ++j) {
        if (!sees(i[2], j))
          continue;
        double weight = std::exp(score(q, k, i, j));
        sum += weight;
        for (int64_t e = 0; e < v.dims[3]; ++e)
          result.at({i[0], i[1], i[2], e}) += weight * v.at({i[0], i[1], j, e});
      }
      for (int64_t e = 0; e < v.dims[3]; ++e)
        result.at({i[0], i[1], i[2], e}) /= sum;
      logsumexp.at({i[0], i[1], i[2], 0}) = std::log(sum);
    });
    return {result, logsumexp};
  }

  /// Of Q, K, V, given the result O, its gradient and the logarithms: with
  /// shares P, dV = P^T dO, and dP = dO V^T gives the scores P (dP - dO O).
  Arrays backward(const Arrays &given) const {
    const Array &q = given[0], &k = given[1], &v = given[2], &o = given[3],
                &change = given[4], &logsumexp = given[5];
    Array toQ(q.dims), toK(k.dims), toV(v.dims);
    forEachIndex(
        {q.dims[0], q.dims[1], q.dims[2], k.dims[2]}, [&](const Dims &i) {
          Dims row = {i[0], i[1], i[2], 0}, key = {i[0], i[1], i[3], 0};
          if (!sees(i[2], i[3]))
            return;
          double share = std::exp(score(q, k, i, i[3]) - logsumexp.at(row));
          double toShare = 0;
          for (row[3] = key[3] = 0; row[3] < v.dims[3]; ++row[3], ++key[3]) {
            toV.at(key) += share * change.at(row);
            toShare += change.at(row) * (v.at(key) - o.at(row));
          }
          double toScore = scale * share * toShare;
          for (row[3] = key[3] = 0; row[3] < q.dims[3]; ++row[3], ++key[3]) {
            toQ.at(row) += toScore * k.at(key);
            toK.at(key) += toScore * q.at(row);
          }
        });
    return {toQ, toK, toV};
  }
};

//===-- commands ----------------------------------------------------------===//

/// Attention of a command, whose mask is among these inputs.
inline Attention attentionOf(const artifact::LibraryCommandT &command,
                             const Arrays &in) {
  size_t others = command.op.type == artifact::LibraryOp::attention ? 3 : 6;
  return {scoresOf(command).scale, scoresOf(command).causal,
          in.size() > others ? &in[others] : nullptr};
}

/// The outputs of a command for these inputs.
inline Arrays definitionOf(const artifact::LibraryCommandT &command,
                           const Arrays &in) {
  using artifact::LibraryOp;
  Array made(command.outputs[0]->dims);
  auto sum = [&](const Dims &x, const Dims &w, const Dims &y, auto add) {
    forEachMeeting(command, x, w, y, add);
    return Arrays{made};
  };
  switch (command.op.type) {
  case LibraryOp::matmul:
    return productsOf(command, in);
  case LibraryOp::convolution:
    return {convolve(command, in[0], in[1], made.dims)};
  case LibraryOp::convolution_backward_data:
    return sum(made.dims, in[1].dims, in[0].dims,
               [&](const Dims &from, const Dims &tap, const Dims &to) {
                 made.at(from) += in[0].at(to) * in[1].at(tap);
               });
  case LibraryOp::convolution_backward_weights:
    return sum(in[0].dims, made.dims, in[1].dims,
               [&](const Dims &from, const Dims &tap, const Dims &to) {
                 made.at(tap) += in[0].at(from) * in[1].at(to);
               });
  case LibraryOp::attention:
    return attentionOf(command, in).forward(in[0], in[1], in[2]);
  case LibraryOp::attention_backward:
    return attentionOf(command, in).backward(in);
  default:
    ADD_FAILURE() << "cards have no such operation";
    return {};
  }
}

} // namespace gradus::runtime::cuda::test
