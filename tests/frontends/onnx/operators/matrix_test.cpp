// Matrix products of ONNX.

#include "tests/frontends/onnx/small_model.h"

using namespace gradus;
using namespace gradus::testing;

using Values = std::vector<double>;

static SmallModel gemm(const Shape &a, const Shape &b, const Shape &c) {
  return SmallModel().input("a", a).input("b", b).input("c", c).node(
      "Gemm", {"a", "b", "c"}, {"y"});
}

TEST(Matrix, MultipliesScalesAndAdds) {
  SmallModel model = gemm({1, 2}, {2, 2}, {2})
                         .withNumber("alpha", 2)
                         .withNumber("beta", 0.5)
                         .output("y");
  EXPECT_EQ(evaluate(model, {tensor({1, 2}, {1, 10}),
                             tensor({2, 2}, {1, 2, 3, 4}), tensor({2}, {2, 4})})
                .floats,
            (Values{63, 86}));
}

TEST(Matrix, TransposesOnDemand) {
  SmallModel model =
      gemm({2, 1}, {3, 2}, {1}).with("transA", 1).with("transB", 1).output("y");
  HostTensor y =
      evaluate(model, {tensor({2, 1}, {1, 10}),
                       tensor({3, 2}, {1, 2, 3, 4, 5, 6}), tensor({1}, {0})});
  EXPECT_EQ(y.floats, (Values{21, 43, 65}));
}

TEST(Matrix, AsksForTheSizesThatWereChosen) {
  ImportOptions options;
  options.dims = {{"a.1", 2}};
  SmallModel model = SmallModel()
                         .input("a", {1, -1})
                         .input("b", {3, 2})
                         .node("MatMul", {"a", "b"}, {"y"});
  EXPECT_EQ(import(model.output("y"), options).error,
            "node \"the MatMul\" (MatMul): shapes [1, 2] and [3, 2] do not "
            "multiply; do the sizes that were chosen (--dim, inputs.dims) fit "
            "one another? If so, the exporter wrote it wrong: try the other "
            "one of PyTorch, dynamo=True or dynamo=False");
}

TEST(Matrix, RefusesSidesThatDoNotMeet) {
  EXPECT_EQ(import(gemm({1, 2}, {3, 2}, {2}).output("y")).error,
            "node \"the Gemm\" (Gemm): A has 2 columns, but B has 3 rows; the "
            "file itself is invalid, whatever runs it: try the other exporter "
            "of PyTorch, dynamo=True or dynamo=False");
  EXPECT_EQ(
      import(gemm({1, 2}, {2, 2}, {3}).output("y")).error,
      "node \"the Gemm\" (Gemm): C of shape [3] does not broadcast to [1, 2]");
}

static HostTensor matMul(const HostTensor &a, const HostTensor &b) {
  auto shape = [](const HostTensor &one) {
    return Shape(one.shape.begin(), one.shape.end());
  };
  return evaluate(SmallModel()
                      .input("a", shape(a))
                      .input("b", shape(b))
                      .node("MatMul", {"a", "b"}, {"y"})
                      .output("y"),
                  {a, b});
}

TEST(Matrix, TakesVectorsForRowsAndColumns) {
  HostTensor vector = tensor({2}, {1, 10}),
             matrix = tensor({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(matMul(vector, matrix).floats, (Values{31, 42}));
  EXPECT_EQ(matMul(matrix, vector).floats, (Values{21, 43}));
  EXPECT_EQ(matMul(vector, vector).floats, (Values{101}));
  EXPECT_TRUE(matMul(vector, vector).shape.empty());
}

TEST(Matrix, RepeatsBatches) {
  HostTensor product = matMul(tensor({2, 1, 1, 2}, {1, 2, 3, 4}),
                              tensor({2, 2, 1}, {1, 10, 100, 1000}));
  EXPECT_EQ(product.shape, (llvm::SmallVector<int64_t>{2, 2, 1, 1}));
  EXPECT_EQ(product.floats, (Values{21, 2100, 43, 4300}));
}

TEST(Matrix, TakesABatchTimesAMatrixForOneProduct) {
  SmallModel model;
  model.input("a", {3, 4, 2})
      .input("b", {2, 5})
      .node("MatMul", {"a", "b"}, {"y"})
      .output("y");
  Imported imported = import(model);
  ASSERT_EQ(imported.error, "");
  auto product = *imported.predict().getBody().getOps<MatmulOp>().begin();
  EXPECT_EQ(
      mlir::cast<mlir::RankedTensorType>(product.getA().getType()).getShape(),
      llvm::ArrayRef<int64_t>({12, 2}));
}

TEST(Matrix, SumsNothingToZeros) {
  SmallModel model;
  model.floats("a", {3, 2, 0}, {}).floats("b", {0, 4}, {});
  model.input("x", {4}).node("MatMul", {"a", "b"}, {"product"});
  model.node("Add", {"product", "x"}, {"y"}).output("y");
  HostTensor y = evaluate(model, {tensor({4}, {1, 2, 3, 4})});
  EXPECT_EQ(y.shape, (llvm::SmallVector<int64_t>{3, 2, 4}));
  EXPECT_EQ(y.floats, (Values{1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4,
                              1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4}));
}
