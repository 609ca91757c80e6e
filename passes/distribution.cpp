// The recipe's `distribution`; see distribution.h.

#include "passes/distribution.h"

#include "runtime/well_known.h"

using namespace mlir;
using namespace gradus;

const recipe::Field &gradus::distributionKey() {
  using enum recipe::Kind;
  using recipe::Choice;
  using recipe::Field;
  using S = DistributionSettings;
  static const Field key =
      Field{"distribution", object, "{}", "training on several processes"}.of(
          recipe::Keys<S>{
              Field{"mode", choice, "\"none\"", "how they share the work"}
                  .among({{"none"}, {"data_parallel"}})
                  .into(&S::mode),
              Field{"mean", boolean, "true",
                    "gradients are the mean over the processes; else their sum"}
                  .into(&S::mean),
              Field{"loss_mean", choice, "\"global\"",
                    "whose labels count in the mean of a loss: those of all "
                    "processes, or each one's before the mean over processes"}
                  .among({{"global"}, {"rank"}})
                  .into(&S::lossMean),
              Field{"batch_norm", choice, "\"average\"",
                    "statistics of batch normalization: of each process's "
                    "samples, with running statistics that are averaged or "
                    "those of the first process, or of all samples"}
                  .among({{"average"}, {"local"}, {"synchronized"}})
                  .into(&S::batchNorm),
              Field{"bucket_bytes", bytes, "\"16MiB\"",
                    "of gradients that travel together"}
                  .from(1)
                  .into(&S::bucketBytes),
              Field{"gradient_splits", list, "null",
                    "indices in the list of trained parameters at which a new "
                    "group of gradients begins; an empty list: in its middle"}
                  .of(recipe::Fields{
                      Field{"", integer, "0", "an index"}.from(0)})
                  .into(&S::gradientSplits)});
  return key;
}

DistributionSettings gradus::distributionOf(ProgramOp program) {
  return recipe::valueOf(program, distributionKey()).as<DistributionSettings>();
}

static Value readPlace(OpBuilder &builder, Location loc, ProgramOp program,
                       StringRef name, double alone) {
  auto type = RankedTensorType::get({}, builder.getI64Type());
  if (failed(ensureState(program, name, type, Role::place, alone)))
    return {};
  return readState(builder, loc, name, type);
}

Value gradus::readRanks(OpBuilder &builder, Location loc, ProgramOp program) {
  return readPlace(builder, loc, program, well_known::kRanks, 1);
}

Value gradus::readRank(OpBuilder &builder, Location loc, ProgramOp program) {
  return readPlace(builder, loc, program, well_known::kRank, 0);
}

Value gradus::sumOverRanks(OpBuilder &builder, Location loc, Value value) {
  return AllReduceOp::create(builder, loc, value).getResult(0);
}
