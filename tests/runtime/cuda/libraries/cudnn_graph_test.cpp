// Graphs of operations: where their tensors are, and what they are made of.

#include "runtime/cuda/libraries/cudnn_graph.h"

#include "tests/runtime/cuda/libraries/cudnn_stub.h"

using namespace gradus::runtime;
using namespace gradus::runtime::cuda;
using namespace gradus::runtime::cuda::cudnn;
using namespace gradus::runtime::cuda::test;
using gradus::artifact::DType;
using testing::HasSubstr;

namespace {

struct CudnnGraph : CudnnStub {
  void SetUp() override {
    Environment environment(kCudnnVariable, libraryOf("stub_cudnn").c_str());
    auto opened = openSession();
    ASSERT_TRUE(opened.ok()) << opened.status();
    session = *opened;
  }
  std::shared_ptr<Session> session;
};

const StridedTensor kTensor{DType::f32, {1, 1, 10, 10}, {100, 100, 10, 1}};

} // namespace

TEST_F(CudnnGraph, KnowsWhereItsTensorsAre) {
  GraphBuilder builder(*session, "a graph");
  builder.output(kTensor, 3);
  builder.between(kTensor);
  builder.scratch(kTensor); // 400 bytes
  builder.scratch(kTensor);
  builder.number(0.5);
  auto graph = builder.finish();
  ASSERT_TRUE(graph.ok()) << graph.status();
  ASSERT_EQ(graph->places.size(), 4u);
  EXPECT_EQ(graph->places[0].in, Place::In::outputs);
  EXPECT_EQ(graph->places[0].index, 3u);
  EXPECT_EQ(graph->places[2].id, 4);
  EXPECT_EQ(graph->places[2].index, 512u);
  EXPECT_EQ(graph->places[3].number, 0.5f);
  EXPECT_EQ(graph->scratchBytes, 1024u);
}

TEST_F(CudnnGraph, HasOperationsOfThisSession) {
  GraphBuilder builder(*session, "a graph");
  auto x = builder.input(kTensor, 0), y = builder.output(kTensor, 0);
  Descriptor reshape = builder.make(Kind::reshapeOperation);
  reshape.set(Attribute::reshapeX, builder[x])
      .set(Attribute::reshapeY, builder[y]);
  builder.operation(std::move(reshape));
  ASSERT_TRUE(builder.finish().ok());
  EXPECT_THAT(written(),
              HasSubstr("31: 2200=tensor 1 2201=tensor 2\n15: 800="));
}

TEST_F(CudnnGraph, SaysWhatCannotBeDescribed) {
  GraphBuilder builder(*session, "a graph of nothing");
  Descriptor engine = builder.make(Kind::engine);
  engine.set(Attribute::engineIndex, int64_t{99});
  builder.operation(std::move(engine));
  EXPECT_EQ(builder.finish().status().message(),
            "describing a graph of nothing: the stub's words "
            "(CUDNN_STATUS_NOT_SUPPORTED 3000)");
}
