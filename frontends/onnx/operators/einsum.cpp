// Einsum: sums of products over named dimensions, as matmuls.

#include "frontends/onnx/importer/building.h"
#include "frontends/onnx/operators/operators.h"

#include "llvm/ADT/StringExtras.h"

namespace gradus::onnx {
namespace {

using namespace mlir;

/// A value and the letter of each dimension. Dimensions of an ellipsis are
/// digits, counted from the end.
struct Term {
  Value value;
  std::string letters;
};

bool has(StringRef letters, char letter) { return letters.contains(letter); }

/// The letters of one side of the equation for a tensor of this rank.
absl::StatusOr<std::string> lettersOf(const Node &node, StringRef text,
                                      int64_t rank) {
  auto [front, back] = text.split("...");
  bool open = text.contains("...");
  std::string letters = front.str();
  int64_t hidden = rank - int64_t(front.size() + (open ? back.size() : 0));
  for (int64_t i = 0; open && i < hidden; ++i)
    letters += char('0' + hidden - 1 - i);
  letters += open ? back.str() : "";
  if (hidden < 0 || hidden > 9 || (!open && hidden > 0))
    return node.error("\"", text.str(), "\" stands for a tensor of rank ",
                      rank);
  return letters;
}

/// Takes the diagonal of two dimensions with one letter: every (n + 1)-th
/// element of the two as one dimension.
absl::StatusOr<Term> diagonals(const Building &b, Term term) {
  for (size_t i = 0; i < term.letters.size();) {
    char letter = term.letters[i];
    size_t second = term.letters.find(letter, i + 1);
    if (second == std::string::npos) {
      ++i;
      continue;
    }
    ArrayRef<int64_t> shape = tensorType(term.value).getShape();
    int64_t size = shape[i];
    if (shape[second] != size)
      return b.node.error("dimension '", std::string(1, letter),
                          "' has the sizes ", size, " and ", shape[second]);
    SmallVector<int64_t> order =
        axesExcept(shape.size(), {int64_t(i), int64_t(second)});
    SmallVector<int64_t> to;
    for (int64_t d : order)
      to.push_back(shape[d]);
    order.append({int64_t(i), int64_t(second)});
    to.push_back(size * size);
    Value square = b.shaped(b.permuted(term.value, order), to);
    SmallVector<int64_t> starts(to.size(), 0), steps(to.size(), 1);
    to.back() = size;
    steps.back() = size + 1;
    term.value =
        b.make<SliceOp>(tensorType(square).clone(to), square, starts, steps);
    term.letters.erase(second, 1);
    term.letters.erase(i, 1);
    term.letters += letter;
  }
  return term;
}

/// Sums over letters that are no longer needed.
Term summed(const Building &b, Term term, StringRef needed) {
  SmallVector<int64_t> axes;
  std::string kept;
  for (auto [d, letter] : llvm::enumerate(term.letters))
    if (has(needed, letter))
      kept += letter;
    else
      axes.push_back(d);
  if (axes.empty())
    return term;
  return {sum(b.builder, b.loc, term.value, axes), kept};
}

Value ordered(const Building &b, const Term &term, StringRef letters) {
  SmallVector<int64_t> order;
  for (char letter : letters)
    order.push_back(term.letters.find(letter));
  return b.permuted(term.value, order);
}

int64_t extentOf(const Term &term, char letter) {
  return tensorType(term.value).getDimSize(term.letters.find(letter));
}

/// Groups the dimensions of two terms by their role in the product.
struct Contraction {
  std::string batch, left, right, inner;

  Contraction(const Term &a, const Term &b, StringRef needed) {
    for (char letter : a.letters)
      (!has(b.letters, letter) ? left
       : has(needed, letter)   ? batch
                               : inner) += letter;
    for (char letter : b.letters)
      if (!has(a.letters, letter))
        right += letter;
  }
};

SmallVector<int64_t> extents(const Term &term, StringRef letters) {
  SmallVector<int64_t> result;
  for (char letter : letters)
    result.push_back(extentOf(term, letter));
  return result;
}

/// Combines two terms by a batched matmul.
Term contracted(const Building &b, Term x, Term y, StringRef needed) {
  std::string ofBoth = needed.str();
  x = summed(b, x, ofBoth + y.letters);
  y = summed(b, y, ofBoth + x.letters);
  Contraction c(x, y, needed);
  int64_t batch = llvm::product_of(extents(x, c.batch)),
          m = llvm::product_of(extents(x, c.left)),
          n = llvm::product_of(extents(y, c.right)),
          k = llvm::product_of(extents(x, c.inner));
  Value left =
      b.shaped(ordered(b, x, c.batch + c.left + c.inner), {batch, m, k});
  Value right =
      b.shaped(ordered(b, y, c.batch + c.inner + c.right), {batch, k, n});
  SmallVector<int64_t> shape = extents(x, c.batch + c.left);
  llvm::append_range(shape, extents(y, c.right));
  Value result = matmul(b.builder, b.loc, left, right);
  return {b.shaped(result, shape), c.batch + c.left + c.right};
}

/// Checks that each letter has one size; dimensions of size 1 are repeated.
absl::Status agree(const Building &b, MutableArrayRef<Term> terms) {
  std::map<char, int64_t> sizes;
  for (const Term &term : terms)
    for (char letter : term.letters) {
      int64_t extent = extentOf(term, letter),
              &size = sizes.try_emplace(letter, extent).first->second;
      if (size != extent && size != 1 && extent != 1)
        return b.node.error("dimension '", std::string(1, letter),
                            "' has the sizes ", size, " and ", extent);
      size = std::max(size, extent);
    }
  for (Term &term : terms) {
    SmallVector<int64_t> shape;
    for (char letter : term.letters)
      shape.push_back(sizes[letter]);
    term.value = broadcastLast(b.builder, b.loc, term.value, shape);
  }
  return absl::OkStatus();
}

/// The result's letters of an equation without an arrow: those that occur once,
/// in order.
std::string impliedResult(StringRef inputs) {
  std::string result;
  for (char letter = 'A'; letter <= 'z'; ++letter)
    if (llvm::isAlpha(letter) && inputs.count(letter) == 1)
      result += letter;
  return (inputs.contains("...") ? "..." : "") + result;
}

absl::StatusOr<SmallVector<Term>> termsOf(const Building &b, StringRef text) {
  SmallVector<StringRef> parts;
  text.split(parts, ',');
  if (int(parts.size()) != b.node.inputCount())
    return b.node.error("its equation names ", parts.size(), " inputs, it has ",
                        b.node.inputCount());
  SmallVector<Term> terms;
  for (auto [i, part] : llvm::enumerate(parts)) {
    GRADUS_ASSIGN_OR_RETURN(Value value, b.importer.value(b.node, i));
    if (!Building::isFloat(value))
      return b.node.error("its inputs hold no floats");
    GRADUS_ASSIGN_OR_RETURN(
        std::string letters,
        lettersOf(b.node, part, tensorType(value).getRank()));
    GRADUS_ASSIGN_OR_RETURN(terms.emplace_back(),
                            diagonals(b, {value, letters}));
  }
  GRADUS_RETURN_IF_ERROR(agree(b, terms));
  return terms;
}

absl::Status einsum(Importer &importer, const Node &node) {
  Building b(importer, node);
  std::string equation = node.text("equation", "");
  llvm::erase(equation, ' ');
  auto [inputs, output] = StringRef(equation).split("->");
  std::string result =
      StringRef(equation).contains("->") ? output.str() : impliedResult(inputs);
  GRADUS_ASSIGN_OR_RETURN(SmallVector<Term> terms, termsOf(b, inputs));
  std::string hidden; // letters that an ellipsis stands for
  for (char digit = '9'; digit >= '0'; --digit)
    if (llvm::any_of(terms, [&](Term &t) { return has(t.letters, digit); }))
      hidden += digit;
  auto [front, back] = StringRef(result).split("...");
  if (StringRef(result).contains("..."))
    result = front.str() + hidden + back.str();
  for (char letter : result)
    if (llvm::none_of(terms, [&](Term &t) { return has(t.letters, letter); }))
      return node.error("its result has the dimension '",
                        std::string(1, letter), "', which no input has");
  Term total = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) {
    std::string needed = result;
    for (size_t later = i + 1; later < terms.size(); ++later)
      needed += terms[later].letters;
    total = contracted(b, total, terms[i], needed);
  }
  total = summed(b, total, result);
  return importer.define(node, 0, ordered(b, total, result));
}

const Operator kOperators[] = {
    {"Einsum", {12, "Inputs", "integers"}, ofFloats<einsum>}};

} // namespace

llvm::ArrayRef<Operator> einsumOperators() { return kOperators; }

} // namespace gradus::onnx
