// Fuses two nests into one by composing their maps and their scalar code.

#include "codegen/nests/fuse.h"
#include "codegen/nests/fuse_maps.h"

namespace gradus {
using namespace mlir;
using plan::NestOp;

namespace {

/// The body of one region, expressed at points of another nest.
struct Copied {
  Region &region;
  const Point &point;

  SmallVector<Value> build(OpBuilder &builder, Location location,
                           ValueRange arguments) const {
    return copyBody(builder, region, arguments, [&](unsigned dim) {
      return emitAffine(builder, location, point.position[dim]);
    });
  }
};

/// The point that maps a nest to itself.
Point identity(unsigned dims, MLIRContext *context) {
  Point point{{}, dims};
  for (unsigned d = 0; d < dims; ++d)
    point.position.push_back(getAffineDimExpr(d, context));
  return point;
}

NestRead composed(const NestRead &read, const Point &point) {
  return {read.value, point.through(read.map), point.through(read.guard)};
}

/// Builds a nest that replaces others, with the locations of all of them.
NestOp rebuild(ArrayRef<NestOp> nests, NestParts parts, ScalarBody map,
               ScalarBody then) {
  SmallVector<Location> locations;
  parts.label.clear();
  for (NestOp nest : nests) {
    locations.push_back(nest.getLoc());
    parts.label = joinLabels(parts.label, labelOf(nest));
  }
  NestOp last = nests.back();
  OpBuilder builder(last);
  return buildNest(builder, FusedLoc::get(builder.getContext(), locations),
                   parts, map, then);
}

//===-- a consumer after its producer ------------------------------------===//

/// The consumer's point in terms of the producer's domain, if both have the
/// same number of points and the consumer reads each result only at its own
/// point.
std::optional<Point> consumerPoint(NestOp producer, NestOp consumer) {
  if (product(producer.getParallel()) != product(consumer.getParallel()))
    return std::nullopt;
  std::optional<Point> found;
  for (const NestRead &read : partsOf(consumer).thenReads) {
    auto result = dyn_cast<OpResult>(read.value);
    if (!result || result.getOwner() != producer)
      continue;
    AffineMap written = producer.getOutputMap(result.getResultNumber());
    if (!found)
      found = pointAt(read.map, consumer.getParallel(), written);
    if (!found || read.isGuarded() ||
        found->through(read.map) != simplifyAffineMap(written))
      return std::nullopt;
  }
  return found;
}

/// The consumer's reads in the merged nest: the producer's results are scalars,
/// the others become reads of the merged nest.
struct MergedReads {
  MergedReads(NestOp producer, NestOp consumer, const Point &point) {
    for (const NestRead &read : partsOf(consumer).thenReads) {
      auto result = dyn_cast<OpResult>(read.value);
      bool own = result && result.getOwner() == producer;
      ofProducer.push_back(own ? int(result.getResultNumber()) : -1);
      if (!own)
        others.push_back(composed(read, point));
    }
  }

  SmallVector<Value> arguments(ValueRange produced,
                               ValueRange otherValues) const {
    SmallVector<Value> values;
    unsigned next = 0;
    for (int result : ofProducer)
      values.push_back(result >= 0 ? produced[result] : otherValues[next++]);
    return values;
  }

  SmallVector<int> ofProducer; // number of the result, or -1
  SmallVector<NestRead> others;
};

bool hasOtherUsers(Value value, Operation *user) {
  return llvm::any_of(value.getUsers(),
                      [&](Operation *other) { return other != user; });
}

/// The producer's results that have users besides the consumer.
SmallVector<unsigned> keptResults(NestOp producer, NestOp consumer) {
  SmallVector<unsigned> kept;
  for (OpResult result : producer->getResults())
    if (hasOtherUsers(result, consumer))
      kept.push_back(result.getResultNumber());
  return kept;
}

void replaceResults(NestOp nest, ArrayRef<unsigned> results,
                    ValueRange values) {
  for (auto [result, value] : llvm::zip(results, values))
    nest->getResult(result).replaceAllUsesWith(value);
}

SmallVector<unsigned> allResults(NestOp nest) {
  return llvm::to_vector(llvm::seq<unsigned>(0, nest->getNumResults()));
}

/// Keeps only some results of a nest.
void keepResults(NestParts &parts, ArrayRef<unsigned> kept) {
  SmallVector<AffineMap> maps;
  SmallVector<Type> types;
  for (unsigned result : kept) {
    maps.push_back(parts.outputMaps[result]);
    types.push_back(parts.resultTypes[result]);
  }
  parts.outputMaps = maps;
  parts.resultTypes = types;
}

SmallVector<Value> chosen(ArrayRef<unsigned> numbers, ArrayRef<Value> values) {
  return llvm::map_to_vector(numbers,
                             [&](unsigned number) { return values[number]; });
}

} // namespace

FusionResult mergeConsumer(NestOp producer, NestOp consumer,
                           llvm::function_ref<bool()> isBetween) {
  if (!consumer.isElementwise())
    return {{}, "the consumer reduces"};
  auto point = consumerPoint(producer, consumer);
  if (!point)
    return {{}, "the nests run over different points"};
  if (isBetween())
    return {{},
            "something between the nests needs the one and feeds the other"};
  MergedReads reads(producer, consumer, *point);
  SmallVector<unsigned> kept = keptResults(producer, consumer);
  NestParts own = partsOf(producer), parts = own;
  unsigned ownValues = own.combine.size() + own.thenReads.size();
  llvm::append_range(parts.thenReads, reads.others);
  keepResults(parts, kept);
  for (unsigned result : allResults(consumer)) {
    parts.outputMaps.push_back(point->through(consumer.getOutputMap(result)));
    parts.resultTypes.push_back(consumer->getResult(result).getType());
  }
  MLIRContext *context = producer.getContext();
  Point all = identity(own.dims(), context);
  auto map = [&](OpBuilder &builder, Location location, ValueRange values) {
    return Copied{producer.getMap(), all}.build(builder, location, values);
  };
  auto then = [&](OpBuilder &builder, Location location, ValueRange values) {
    auto produced = Copied{producer.getThen(), all}.build(
        builder, location, values.take_front(ownValues));
    auto consumed = Copied{consumer.getThen(), *point}.build(
        builder, location,
        reads.arguments(produced, values.drop_front(ownValues)));
    SmallVector<Value> yielded = chosen(kept, produced);
    llvm::append_range(yielded, consumed);
    return yielded;
  };
  NestOp merged = rebuild({producer, consumer}, parts, map, then);
  replaceResults(consumer, allResults(consumer),
                 merged.getResults().drop_front(kept.size()));
  consumer.erase();
  replaceResults(producer, kept, merged.getResults().take_front(kept.size()));
  producer.erase();
  return {merged};
}

//===-- siblings ----------------------------------------------------------===//

NestOp mergeSiblings(NestOp first, NestOp second) {
  NestParts a = partsOf(first), b = partsOf(second), parts = a;
  llvm::append_range(parts.mapReads, b.mapReads);
  llvm::append_range(parts.thenReads, b.thenReads);
  llvm::append_range(parts.combine, b.combine);
  llvm::append_range(parts.outputMaps, b.outputMaps);
  llvm::append_range(parts.resultTypes, b.resultTypes);
  Point all = identity(a.dims(), first.getContext());
  auto both = [&](Region &regionA, Region &regionB, OpBuilder &builder,
                  Location location, ValueRange forA, ValueRange forB) {
    auto yielded = Copied{regionA, all}.build(builder, location, forA);
    llvm::append_range(yielded,
                       Copied{regionB, all}.build(builder, location, forB));
    return yielded;
  };
  auto map = [&](OpBuilder &builder, Location location, ValueRange values) {
    return both(first.getMap(), second.getMap(), builder, location,
                values.take_front(a.mapReads.size()),
                values.drop_front(a.mapReads.size()));
  };
  auto then = [&](OpBuilder &builder, Location location, ValueRange values) {
    // The combined values of both come first, then the reads of both.
    auto combined = values.take_front(parts.combine.size());
    auto reads = values.drop_front(parts.combine.size());
    SmallVector<Value> forA(combined.take_front(a.combine.size()));
    llvm::append_range(forA, reads.take_front(a.thenReads.size()));
    SmallVector<Value> forB(combined.drop_front(a.combine.size()));
    llvm::append_range(forB, reads.drop_front(a.thenReads.size()));
    return both(first.getThen(), second.getThen(), builder, location, forA,
                forB);
  };
  NestOp merged = rebuild({first, second}, parts, map, then);
  first.replaceAllUsesWith(
      merged.getResults().take_front(first->getNumResults()));
  second.replaceAllUsesWith(
      merged.getResults().drop_front(first->getNumResults()));
  first.erase();
  second.erase();
  return merged;
}

//===-- a producer inside its consumer ------------------------------------===//

namespace {

/// The producer's point that computes the element that is read.
std::optional<Point> producerPoint(NestOp producer, const NestRead &read) {
  unsigned result = cast<OpResult>(read.value).getResultNumber();
  return pointAt(producer.getOutputMap(result), producer.getParallel(),
                 read.map);
}

bool isResultOf(Value value, NestOp producer) {
  return value.getDefiningOp() == producer;
}

bool handsOnReads(NestOp producer) {
  return llvm::all_of(producer.getThen().front().getTerminator()->getOperands(),
                      [](Value value) { return isa<BlockArgument>(value); });
}

/// The reads of one region of the consumer after inlining, and the computation
/// of the region's old arguments from their values.
struct InlinedReads {
  InlinedReads(NestOp producer, ArrayRef<NestRead> given) : producer(producer) {
    for (const NestRead &read : given) {
      first.push_back(reads.size());
      if (!isResultOf(read.value, producer)) {
        points.push_back({});
        result.push_back(-1);
        reads.push_back(read);
        continue;
      }
      points.push_back(*producerPoint(producer, read));
      result.push_back(cast<OpResult>(read.value).getResultNumber());
      for (const NestRead &inner : partsOf(producer).thenReads) {
        NestRead outer = composed(inner, points.back());
        outer.guard = intersect(outer.guard, read.guard);
        reads.push_back(outer);
      }
    }
  }

  SmallVector<Value> arguments(OpBuilder &builder, Location location,
                               ValueRange values) const {
    SmallVector<Value> old;
    unsigned width = producer.getThenInputs().size();
    for (auto [index, point] : llvm::enumerate(points)) {
      if (result[index] < 0) {
        old.push_back(values[first[index]]);
        continue;
      }
      auto computed = Copied{producer.getThen(), point}.build(
          builder, location, values.slice(first[index], width));
      old.push_back(computed[result[index]]);
    }
    return old;
  }

  mutable NestOp producer;
  SmallVector<NestRead> reads;
  SmallVector<Point> points;
  SmallVector<int> result;
  SmallVector<unsigned> first;
};

} // namespace

bool canInline(NestOp consumer, NestOp producer) {
  if (!producer.isElementwise() || consumer == producer)
    return false;
  NestParts parts = partsOf(consumer);
  bool handsOn = handsOnReads(producer);
  auto fits = [&](const NestRead &read) {
    return !isResultOf(read.value, producer) ||
           ((!read.isGuarded() || handsOn) && producerPoint(producer, read));
  };
  return llvm::all_of(parts.mapReads, fits) &&
         llvm::all_of(parts.thenReads, fits);
}

bool addsNoReads(NestOp consumer, NestOp producer) {
  int64_t points = product(producer.getParallel());
  NestParts parts = partsOf(consumer), own = partsOf(producer);
  auto hasAll = [&](ArrayRef<NestRead> reads) {
    return llvm::all_of(reads, [&](const NestRead &read) {
      return !isResultOf(read.value, producer) ||
             llvm::all_of(own.thenReads, [&](const NestRead &inner) {
               return product(shapeOf(inner.value)) < points ||
                      llvm::is_contained(
                          reads,
                          composed(inner, *producerPoint(producer, read)));
             });
    });
  };
  return hasAll(parts.mapReads) && hasAll(parts.thenReads);
}

NestOp inlineProducer(NestOp consumer, NestOp producer) {
  NestParts parts = partsOf(consumer);
  InlinedReads map(producer, parts.mapReads), then(producer, parts.thenReads);
  Point all = identity(parts.dims(), consumer.getContext());
  unsigned combined = parts.combine.size();
  parts.mapReads = map.reads;
  parts.thenReads = then.reads;
  auto mapBody = [&](OpBuilder &builder, Location location, ValueRange values) {
    return Copied{consumer.getMap(), all}.build(
        builder, location, map.arguments(builder, location, values));
  };
  auto thenBody = [&](OpBuilder &builder, Location location,
                      ValueRange values) {
    SmallVector<Value> arguments(values.take_front(combined));
    llvm::append_range(arguments, then.arguments(builder, location,
                                                 values.drop_front(combined)));
    return Copied{consumer.getThen(), all}.build(builder, location, arguments);
  };
  NestOp merged = rebuild({producer, consumer}, parts, mapBody, thenBody);
  consumer.replaceAllUsesWith(merged.getResults());
  consumer.erase();
  return merged;
}

//===-- reshapes and unused results --------------------------------------===//

bool readThroughReshape(ReshapeOp reshape) {
  Value input = reshape.getInput();
  if (getElementTypeOrSelf(input) != getElementTypeOrSelf(reshape.getType()))
    return false; // Nests have signless types.
  SmallVector<NestOp> readers;
  for (Operation *user : reshape->getUsers())
    if (auto nest = dyn_cast<NestOp>(user);
        nest && !llvm::is_contained(readers, nest))
      readers.push_back(nest);
  bool changed = false;
  for (NestOp nest : readers) {
    NestParts parts = partsOf(nest);
    unsigned done = 0;
    auto redirect = [&](NestRead &read) {
      auto map =
          read.value == reshape
              ? throughReshape(read.map, shapeOf(input), shapeOf(reshape))
              : std::nullopt;
      if (map)
        read = {input, *map, read.guard}, ++done;
    };
    llvm::for_each(parts.mapReads, redirect);
    llvm::for_each(parts.thenReads, redirect);
    if (!done)
      continue;
    Point all = identity(parts.dims(), nest.getContext());
    auto copy = [&](Region &region) {
      return [&](OpBuilder &builder, Location location, ValueRange values) {
        return Copied{region, all}.build(builder, location, values);
      };
    };
    NestOp rebuilt =
        rebuild(nest, parts, copy(nest.getMap()), copy(nest.getThen()));
    nest.replaceAllUsesWith(rebuilt.getResults());
    nest.erase();
    changed = true;
  }
  return changed;
}

namespace {

bool isUsed(Value value) { return !value.use_empty(); }

bool isAllUsed(NestOp nest) {
  return llvm::all_of(nest.getThen().getArguments(), isUsed) &&
         llvm::all_of(nest->getResults(), isUsed) &&
         (nest.getMap().empty() ||
          llvm::all_of(nest.getMap().getArguments(), isUsed));
}

SmallVector<unsigned> usedResults(NestOp nest) {
  SmallVector<unsigned> used;
  for (OpResult result : nest->getResults())
    if (isUsed(result))
      used.push_back(result.getResultNumber());
  return used;
}

/// The reads whose values a region uses.
SmallVector<NestRead> usedReads(ArrayRef<NestRead> reads,
                                ArrayRef<BlockArgument> arguments) {
  SmallVector<NestRead> used;
  for (auto [read, argument] : llvm::zip(reads, arguments))
    if (isUsed(argument))
      used.push_back(read);
  return used;
}

/// Spreads the values of the used arguments of a region over all arguments; the
/// others are null.
SmallVector<Value> spread(ArrayRef<BlockArgument> arguments,
                          ValueRange values) {
  SmallVector<Value> spread;
  unsigned next = 0;
  for (BlockArgument argument : arguments)
    spread.push_back(isUsed(argument) ? values[next++] : Value());
  return spread;
}

} // namespace

NestOp dropUnused(NestOp nest) {
  if (isAllUsed(nest))
    return nest;
  NestParts parts = partsOf(nest);
  unsigned combined = parts.combine.size();
  SmallVector<unsigned> kept = usedResults(nest);
  auto mapArguments =
      combined ? ArrayRef<BlockArgument>(nest.getMap().getArguments())
               : ArrayRef<BlockArgument>();
  ArrayRef<BlockArgument> thenArguments =
      nest.getThen().getArguments().drop_front(combined);
  parts.mapReads = usedReads(parts.mapReads, mapArguments);
  parts.thenReads = usedReads(parts.thenReads, thenArguments);
  keepResults(parts, kept);
  Point all = identity(parts.dims(), nest.getContext());
  auto map = [&](OpBuilder &builder, Location location, ValueRange values) {
    return Copied{nest.getMap(), all}.build(builder, location,
                                            spread(mapArguments, values));
  };
  auto then = [&](OpBuilder &builder, Location location, ValueRange values) {
    SmallVector<Value> arguments(values.take_front(combined));
    llvm::append_range(arguments,
                       spread(thenArguments, values.drop_front(combined)));
    return chosen(
        kept, Copied{nest.getThen(), all}.build(builder, location, arguments));
  };
  NestOp rebuilt = rebuild(nest, parts, map, then);
  replaceResults(nest, kept, rebuilt.getResults());
  nest.erase();
  return rebuilt;
}

} // namespace gradus
