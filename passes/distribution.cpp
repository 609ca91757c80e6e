// The recipe's `distribution`; see distribution.h.

#include "passes/distribution.h"

#include "runtime/logical_ranks.h"
#include "runtime/well_known.h"

using namespace mlir;
using namespace gradus;

namespace {

using enum recipe::Kind;
using recipe::Field;
using S = DistributionSettings;
using Keys = recipe::Keys<S>;
using A = AdasumSettings;
using Sparse = SparseSettings;

/// The keys of what is computed.
Keys meaning() {
  return {Field{"mode", choice, "\"none\"", "how they share the work"}
              .among({{"none"}, {"data_parallel"}})
              .into(&S::mode),
          Field{"logical_ranks", integer, "null",
                "ranks that the bits of a run are of, however many processes "
                "compute them in turn: a power of two up to 65536; null: as "
                "many as processes"}
              .from(1)
              .into(&S::logicalRanks),
          Field{"ranks", integer, "null",
                "the number of processes that may train; null: any"}
              .from(1)
              .below(kMostProcesses + 1)
              .into(&S::ranks),
          Field{"zero", integer, "0",
                "1: each process keeps and updates a part of what optimizers "
                "remember (ZeRO-1), which needs ranks"}
              .from(0)
              .below(2)
              .into(&S::zero),
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
          Field{"local_clip", number, "null",
                "the largest absolute value of an element of a rank's own "
                "gradient, before these are summed; null: any"}
              .positive()
              .into(&S::own, &OwnSettings::clip)};
}

/// The keys of sums of a part of the elements.
Keys sparseKeys() {
  auto bound = [](const Field &field, auto member) {
    return field.into(&S::sparse, member);
  };
  return {
      bound(Field{"ratio", number, "null",
                  "with reduce sparse_topk: the part of each tensor's elements "
                  "that a process sends, up to 1"}
                .positive(),
            &Sparse::ratio),
      bound(Field{"threshold", number, "null",
                  "with reduce sparse_threshold: the smallest absolute value "
                  "that a process sends"}
                .positive(),
            &Sparse::threshold),
      bound(Field{"capacity", number, "0.05",
                  "with reduce sparse_threshold: the part of each tensor's "
                  "elements that a message has room for; of more the largest "
                  "are sent"}
                .positive(),
            &Sparse::capacity),
      bound(Field{"error_feedback", boolean, "true",
                  "with sparse sums: what is not sent is added to the next "
                  "gradient; else it is lost"},
            &Sparse::errorFeedback),
      bound(Field{"momentum_correction", boolean, "false",
                  "with sparse sums: each process adds up the momentum of sgd "
                  "by itself, before it selects (Deep Gradient Compression)"},
            &Sparse::momentumCorrection),
      bound(Field{"warmup", integer, "0",
                  "with sparse sums: first updates in which gradients are "
                  "summed whole"}
                .from(0)
                .below(1e9),
            &Sparse::warmup)};
}

/// The keys of `outer`, by default those of DiLoCo.
recipe::Keys<OuterSettings> outerKeys() {
  using O = OuterSettings;
  return {
      Field{"learning_rate", number, "0.7",
            "part of the way that weights go; 1 without momentum is the "
            "mean"}
          .positive()
          .into(&O::learningRate),
      Field{"momentum", number, "0.9", "of the ways so far"}
          .from(0)
          .below(1)
          .into(&O::momentum),
      Field{"nesterov", boolean, "true", "looks ahead along the momentum"}.into(
          &O::nesterov)};
}

/// The keys of `adasum`.
recipe::Keys<A> adasumKeys() {
  return {
      Field{"of", choice, "\"gradients\"",
            "what is combined: gradients, or what each process's own update "
            "has changed of the weights"}
          .among({{"gradients"}, {"weights"}})
          .into(&A::of),
      Field{"within", integer, "1",
            "neighbouring processes that share their mean first, and are one "
            "of a combination; \"host\", or 0: those of a host"}
          .from(0)
          .orWord("host")
          .into(&A::within),
      Field{"per", choice, "\"tensor\"",
            "what is one vector: each tensor, or all of them"}
          .among({{"tensor"}, {"model"}})
          .into(&A::per),
      Field{"epsilon", number, "0",
            "what each group of `within` adds to a dot product, as MindSpore "
            "does"}
          .from(0)
          .under({"mindspore"}, "1e-12")
          .into(&A::epsilon)};
}

/// The keys of what is combined.
Keys combining() {
  return {
      Field{"reduce", choice, "\"plain\"",
            "how gradients are combined: as sums in their own type, in f16 or "
            "bf16; by AdaSum, which is a sum where they are orthogonal and a "
            "mean where they are equal; as sums of each process's largest "
            "elements, or of those that reach a threshold; or local, partial: "
            "they are not, and weights meet, all after some updates or a part "
            "of them in each"}
          .among({{"plain"},
                  {"half"},
                  {"bf16"},
                  {"adasum"},
                  {"local"},
                  {"partial"},
                  {"sparse_topk"},
                  {"sparse_threshold"}})
          .into(&S::reduce),
      Field{"every", integer, "1",
            "with reduce local: updates that each process makes of its own "
            "samples alone, from one meeting of all to the next"}
          .from(1)
          .below(1e9)
          .into(&S::local, &LocalSettings::every),
      Field{"outer", object, "{}",
            "with reduce local: how weights go on from the mean over "
            "processes, by default as DiLoCo's"}
          .of(outerKeys())
          .into(&S::local, &LocalSettings::outer),
      Field{"parts", integer, "null",
            "with reduce partial: parts of the parameters, of about equal "
            "bytes, of which one meets in each update, by turns; 1 is reduce "
            "plain; null: 4, or as bucket_elements cuts them (SINGA's rule)"}
          .from(1)
          .below(kMostParts + 1)
          .into(&S::local, &LocalSettings::parts),
      Field{"adasum", object, "{}", "of reduce: adasum"}
          .of(adasumKeys())
          .into(&S::adasum),
  };
}

/// The keys of how gradients travel.
Keys travel() {
  return {
      Field{"half_scale", number, "null",
            "factor of gradients while they have 16 bits; null: the loss "
            "scale, or 1 without one"}
          .positive()
          .into(&S::own, &OwnSettings::halfScale),
      Field{"bucket_bytes", bytes, "16777216",
            "of gradients that travel together, such as \"16MiB\", the default"}
          .from(1)
          .into(&S::bucketBytes),
      Field{"bucket_elements", integer, "null",
            "gradients of more elements travel alone, others together until "
            "they have more (SINGA's threshold); null: bucket_bytes says it"}
          .from(1)
          .under({"singa"}, "2097152")
          .into(&S::cuts, &BucketRules::elements),
      Field{"gradient_splits", list, "null",
            "indices in the list of trained parameters at which a new "
            "group of gradients begins, which travels alone; an empty list: in "
            "its middle; null: bucket_bytes or bucket_elements say it"}
          .of(recipe::Fields{Field{"", integer, "0", "an index"}.from(0)})
          .into(&S::cuts, &BucketRules::splits),
      Field{"in_flight", integer, "2",
            "groups of gradients that travel while another is waited for"}
          .from(1)
          .into(&S::inFlight)};
}

} // namespace

const recipe::Field &gradus::distributionKey() {
  static const Field key = [] {
    recipe::Fields all;
    for (const Keys &keys : {meaning(), combining(), travel(), sparseKeys()})
      all.insert(all.end(), keys.begin(), keys.end());
    all.push_back(recipe::compat("instead of the recipe's"));
    return Field{"distribution", object, "{}", "training on several processes"}
        .of(all)
        .shortFor("mode")
        .flagged();
  }();
  return key;
}

DistributionSettings gradus::distributionOf(ProgramOp program) {
  auto settings =
      recipe::valueOf(program, distributionKey()).as<DistributionSettings>();
  if (settings.reduce == ReduceType::partial &&
      settings.local.parts == kPlainParts)
    settings.reduce = ReduceType::plain;
  return settings;
}

static Value readPlace(OpBuilder &builder, Location loc, ProgramOp program,
                       StringRef name, double alone) {
  auto type = RankedTensorType::get({}, builder.getI64Type());
  if (failed(ensureState(program, name, type, Role::place, alone)))
    return {};
  return readState(builder, loc, name, type);
}

Value gradus::readRanks(OpBuilder &builder, Location loc, ProgramOp program) {
  DistributionSettings settings = distributionOf(program);
  if (auto fixed =
          settings.logicalRanks ? settings.logicalRanks : settings.ranks)
    return splat(builder, loc, RankedTensorType::get({}, builder.getI64Type()),
                 *fixed);
  return readPlace(builder, loc, program, well_known::kRanks, 1);
}

Value gradus::readRank(OpBuilder &builder, Location loc, ProgramOp program) {
  return readPlace(builder, loc, program, well_known::kRank, 0);
}

Value gradus::sumOverRanks(OpBuilder &builder, Location loc, Value value,
                           StringRef parameter) {
  auto sum = AllReduceOp::create(builder, loc, value);
  sum.setParameters(parameter);
  return sum.getResult(0);
}

bool gradus::isOverRanks(Operation *op) {
  auto sum = dyn_cast<AllReduceOp>(op);
  return sum && sum.getAxis() == kDataAxis && sum.isSharedByAll();
}

Value gradus::rowOfRank(const Arithmetic &math, Value own, int64_t ranks,
                        Value rank) {
  RankedTensorType type = tensorType(own);
  SmallVector<int64_t> shape = {ranks};
  llvm::append_range(shape, type.getShape());
  auto dims = llvm::to_vector(llvm::seq<int64_t>(1, type.getRank() + 1));
  Value rows = iota(math.builder, math.loc,
                    RankedTensorType::get(shape, math.builder.getI64Type()), 0);
  Value isOwn =
      math.compare(arith::CmpIPredicate::eq, rows,
                   broadcastScalar(math.builder, math.loc, rank, shape));
  Value spread = broadcast(math.builder, math.loc, own, shape, dims);
  return math.select(isOwn, spread, math.number(0, spread));
}

int64_t gradus::gatheredBytes(RankedTensorType own) {
  return llvm::alignTo(own.getNumElements() * own.getElementTypeBitWidth() / 8,
                       64);
}

Value gradus::gatherOverRanks(const Arithmetic &math, Value own, int64_t ranks,
                              Value rank) {
  RankedTensorType type = tensorType(own);
  int64_t count = type.getNumElements(),
          whole = gatheredBytes(type) * 8 / type.getElementTypeBitWidth();
  if (whole > count)
    own = PadOp::create(math.builder, math.loc, type.clone({whole}), own,
                        ArrayRef<int64_t>{0}, ArrayRef<int64_t>{whole - count},
                        ArrayRef<int64_t>{0}, APFloat(0.0));
  auto all = AllReduceOp::create(math.builder, math.loc,
                                 rowOfRank(math, own, ranks, rank));
  all.setGroupsAttr(GroupsAttr::get(all.getContext(), /*within=*/1,
                                    InGroup::sum, AcrossGroups::gather,
                                    math.builder.getF64FloatAttr(0)));
  return all.getResult(0);
}

Value gradus::ranksLike(const Arithmetic &math, Value ranks, Value like) {
  RankedTensorType type = tensorType(like);
  Value count = convert(math.builder, math.loc, ranks, type.getElementType());
  return broadcastScalar(math.builder, math.loc, count, type.getShape());
}

Value gradus::meanOverRanks(const Arithmetic &math, Value value, Value ranks) {
  Value total = sumOverRanks(math.builder, math.loc, value);
  return math.divide(total, ranksLike(math, ranks, value));
}
