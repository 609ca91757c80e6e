// The commands of a graph as the artifact has them.
#pragma once

#include "codegen/artifact/command_writer.h"

#include "tests/codegen/program_text.h"

namespace gradus {

/// The plan of the graph @train of a program in text, which has commands.
class WrittenGraph {
public:
  /// `registry` may have dialects of a test's own.
  explicit WrittenGraph(
      const char *text, const Tuning &tuning = {},
      mlir::DialectRegistry registry = mlir::DialectRegistry())
      : text_(text, std::move(registry)) {
    ConstantPlaces constants;
    StatePlaces states = placeStates(text_.program());
    PlannedProgram program;
    program.graphs.push_back(text_.graph("train"));
    program.memory.push_back(planMemory(program.graphs[0], states, constants));
    text_.program().walk(
        [&](plan::KernelOp kernel) { program.kernels.push_back(kernel); });
    BufferTable buffers;
    const std::optional<GpuModel> none;
    LaunchTraffic traffic(none);
    builder_.Finish(CommandWriter(builder_, program, states, 0, buffers, tuning,
                                  traffic)
                        .run());
  }

  const artifact::Command &command(unsigned number) const {
    return *flatbuffers::GetRoot<artifact::GraphPlan>(
                builder_.GetBufferPointer())
                ->commands()
                ->Get(number);
  }

private:
  ProgramText text_;
  flatbuffers::FlatBufferBuilder builder_;
};

} // namespace gradus
