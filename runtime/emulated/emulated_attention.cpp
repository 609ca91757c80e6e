// Attention in the emulated GPU's library, one head at a time.

#include "runtime/artifact/attention_mask.h"
#include "runtime/emulated/emulated_ops.h"
#include "runtime/emulated/emulated_product.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace gradus::runtime::cuda {

namespace {

using Dims = std::vector<int64_t>;

/// The scores of attention, forward and backward, for t queries and s keys.
struct Scores {
  Matrices query, key; // keys [d x s]
  std::optional<Matrices> mask;
  size_t maskInput;
  float scale;
  bool causal;

  Scores(const artifact::LibraryCommand &command, const Tensors &inputs)
      : query(inputs[0]), key(Matrices::transposed(inputs[1])),
        maskInput(inputsBeforeMask(command.op_type())),
        scale(float(scoresOf(command)->scale())),
        causal(scoresOf(command)->causal()) {
    const Dims &q = inputs[0].dims, &k = inputs[1].dims;
    if (hasMask(command))
      mask.emplace(broadcast(inputs[maskInput], {q[0], q[1], q[2], k[2]}));
  }

  int64_t queries() const { return query.rows(); }
  int64_t keys() const { return key.columns(); }
  /// The number of keys that query i attends to.
  int64_t seenBy(int64_t i) const {
    return causal ? std::min(i + 1, keys()) : keys();
  }
  /// The scores scale Q K^T + mask of a head.
  Numbers of(const CallAddresses &at, size_t head) const {
    Numbers q, k, scores(size_t(queries() * keys()), 0);
    query.read(at.inputs[0], head, q);
    key.read(at.inputs[1], head, k);
    for (float &each : q)
      each *= scale;
    addProduct(queries(), query.columns(), keys(), {q.data(), query.columns()},
               {k.data(), keys()}, {scores.data(), keys()});
    if (mask) {
      Numbers added;
      mask->read(at.inputs[maskInput], head, added);
      for (size_t i = 0; i < scores.size(); ++i)
        scores[i] += added[i];
    }
    return scores;
  }
};

/// Replaces the first `seen` scores by their softmax, the others by zeros.
/// Returns the logarithm of the sum of exponentials.
float softmax(float *scores, int64_t seen, int64_t all) {
  float most = *std::max_element(scores, scores + seen);
  double sum = 0;
  for (int64_t j = 0; j < seen; ++j)
    sum += scores[j] = std::exp(scores[j] - most);
  for (int64_t j = 0; j < seen; ++j)
    scores[j] = float(double(scores[j]) / sum);
  std::fill(scores + seen, scores + all, 0.f);
  return float(double(most) + std::log(sum));
}

/// Computes c = a b or, below, c = a^T b for dense matrices.
Numbers product(int64_t rows, int64_t depth, int64_t columns, const Numbers &a,
                const Numbers &b) {
  Numbers c(size_t(rows * columns), 0);
  addProduct(rows, depth, columns, {a.data(), depth}, {b.data(), columns},
             {c.data(), columns});
  return c;
}
Numbers productOfTransposed(int64_t rows, int64_t depth, int64_t columns,
                            const Numbers &a, const Numbers &b) {
  Numbers c(size_t(rows * columns), 0);
  addProduct(rows, depth, columns, {a.data(), 1, rows}, {b.data(), columns},
             {c.data(), columns});
  return c;
}

} // namespace

EmulatedOp attentionOp(const artifact::LibraryCommand &command,
                       const Tensors &inputs, const Tensors &outputs) {
  Scores scores(command, inputs);
  Matrices value(inputs[2]), result(outputs[0]), logsumexp(outputs[1]);
  return [=](const CallAddresses &at) {
    int64_t t = scores.queries(), s = scores.keys();
    Numbers v, sums(size_t(t), 0);
    for (size_t head = 0; head < result.count(); ++head) {
      Numbers p = scores.of(at, head);
      for (int64_t i = 0; i < t; ++i)
        sums[size_t(i)] = softmax(&p[size_t(i * s)], scores.seenBy(i), s);
      value.read(at.inputs[2], head, v);
      result.write(product(t, s, value.columns(), p, v), at.outputs[0], head);
      logsumexp.write(sums, at.outputs[1], head);
    }
  };
}

namespace {

/// Computes the gradients of one head, with matrices named as in the command.
struct AttentionBackward {
  Scores scores;
  Matrices key, value; // values [e x s]
  Matrices result, gradient, logsumexp;
  Matrices toQuery, toKey, toValue;

  AttentionBackward(const artifact::LibraryCommand &command,
                    const Tensors &inputs, const Tensors &outputs)
      : scores(command, inputs), key(inputs[1]),
        value(Matrices::transposed(inputs[2])), result(inputs[3]),
        gradient(inputs[4]), logsumexp(inputs[5]), toQuery(outputs[0]),
        toKey(outputs[1]), toValue(outputs[2]) {}

  /// Computes P, the softmax of the scores, and the gradient of the scores from
  /// that of P: P (dP - sum of dP P), where the sum equals the sum of dO O.
  void throughSoftmax(Numbers &p, Numbers &change, const Numbers &sums,
                      const Numbers &o, const Numbers &gradients) const {
    int64_t s = scores.keys(), e = result.columns();
    for (int64_t i = 0; i < scores.queries(); ++i) {
      double mean = 0;
      for (int64_t j = 0; j < e; ++j)
        mean += double(o[size_t(i * e + j)]) * gradients[size_t(i * e + j)];
      int64_t seen = scores.seenBy(i);
      for (int64_t j = 0; j < s; ++j) {
        float &score = p[size_t(i * s + j)], &to = change[size_t(i * s + j)];
        score = j < seen ? std::exp(score - sums[size_t(i)]) : 0;
        to = score * float(double(to) - mean);
      }
    }
  }

  void run(const CallAddresses &at, size_t head) const {
    int64_t t = scores.queries(), s = scores.keys(), d = key.columns(),
            e = result.columns();
    Numbers q, k, v, o, gradients, sums;
    scores.query.read(at.inputs[0], head, q);
    key.read(at.inputs[1], head, k);
    value.read(at.inputs[2], head, v);
    result.read(at.inputs[3], head, o);
    gradient.read(at.inputs[4], head, gradients);
    logsumexp.read(at.inputs[5], head, sums);
    Numbers p = scores.of(at, head), change = product(t, e, s, gradients, v);
    throughSoftmax(p, change, sums, o, gradients);
    toValue.write(productOfTransposed(s, t, e, p, gradients), at.outputs[2],
                  head);
    for (float &each : change)
      each *= scores.scale;
    toQuery.write(product(t, s, d, change, k), at.outputs[0], head);
    toKey.write(productOfTransposed(s, t, d, change, q), at.outputs[1], head);
  }
};

} // namespace

EmulatedOp attentionBackwardOp(const artifact::LibraryCommand &command,
                               const Tensors &inputs, const Tensors &outputs) {
  return [op = AttentionBackward(command, inputs, outputs)](
             const CallAddresses &at) {
    for (size_t head = 0; head < op.result.count(); ++head)
      op.run(at, head);
  };
}

} // namespace gradus::runtime::cuda
