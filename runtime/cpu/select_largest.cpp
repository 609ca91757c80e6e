// Magnitudes are compared as integers: the bits of a float without its sign
// grow with it.

#include "runtime/cpu/select_largest.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace gradus::runtime {

namespace {

/// Elements that are looked at together, to pass over those of which none is
/// large.
constexpr int64_t kGlance = 32;
/// Elements of which a guess is made.
constexpr size_t kSample = 1 << 14;

template <typename Bits, typename Number> Bits unsignedBits(Number number) {
  return std::bit_cast<Bits>(number) & std::numeric_limits<Bits>::max();
}

/// The magnitude of a number as bits that compare as numbers do; those of all
/// NaNs are equal, and above infinity.
template <typename Bits, typename Number> Bits magnitudeOf(Number number) {
  constexpr Bits infinity =
      std::bit_cast<Bits>(std::numeric_limits<Number>::infinity());
  return std::min<Bits>(unsignedBits<Bits>(number), infinity + 1);
}

/// Calls `visit(index, number)` for the numbers of [begin, end) whose magnitude
/// is at least `low`, which is at most that of a NaN. Few are, so whole groups
/// are looked at first.
template <typename Bits, typename Number, typename Visit>
void forEachIn(const Number *numbers, int64_t begin, int64_t end, Bits low,
               const Visit &visit) {
  int64_t i = begin;
  for (; i + kGlance <= end; i += kGlance) {
    Bits any = 0;
    for (int64_t j = 0; j < kGlance; ++j)
      any |= unsignedBits<Bits>(numbers[i + j]) >= low;
    if (!any)
      continue;
    uint32_t mask = 0;
    for (int64_t j = 0; j < kGlance; ++j)
      mask |= uint32_t(unsignedBits<Bits>(numbers[i + j]) >= low) << j;
    for (; mask; mask &= mask - 1) {
      int64_t j = i + std::countr_zero(mask);
      visit(j, numbers[j]);
    }
  }
  for (; i < end; ++i)
    if (unsignedBits<Bits>(numbers[i]) >= low)
      visit(i, numbers[i]);
}

} // namespace

template <typename Number>
Selection<Number>::Selection(Selected<Number> selected,
                             SelectionScratch scratch, ThreadPool &pool)
    : selected_(selected), scratch_(scratch), pool_(pool),
      parts_(scratch.parts) {
  size_t size = selected.numbers.size();
  for (size_t part = 0; part < scratch.parts; ++part) {
    parts_[part].begin = static_cast<int64_t>(size * part / scratch.parts);
    parts_[part].end = static_cast<int64_t>(size * (part + 1) / scratch.parts);
  }
}

template <typename Number> void Selection<Number>::run() {
  findCut();
  if (selected_.threshold)
    countAboveThreshold();
  divideEntries();
  onParts([this](size_t part) { write(part); });
  leaveRest();
}

template <typename Number>
template <typename Work>
void Selection<Number>::onParts(Work work) {
  if (parts_.size() == 1)
    return work(0);
  pool_.run(
      static_cast<int64_t>(parts_.size()),
      [](void *context, int64_t part) {
        (*static_cast<Work *>(context))(static_cast<size_t>(part));
      },
      &work);
}

//===-- memory ------------------------------------------------------------===//

template <typename Number> uint32_t *Selection<Number>::countsOf(size_t part) {
  return static_cast<uint32_t *>(scratch_.memory) +
         (part << scratch_.digitBits);
}

template <typename Number>
uint32_t *Selection<Number>::listedIndices(size_t part) {
  return countsOf(scratch_.parts) + part * scratch_.listed;
}

template <typename Number>
Number *Selection<Number>::listedNumbers(size_t part) {
  return reinterpret_cast<Number *>(listedIndices(scratch_.parts)) +
         part * scratch_.listed;
}

/// Lists the elements that reach the floor, if there is room for them.
template <typename Number> void Selection<Number>::list(size_t number) {
  Part &part = parts_[number];
  uint32_t *indices = listedIndices(number);
  Number *numbers = listedNumbers(number);
  auto room = static_cast<int64_t>(scratch_.listed);
  int64_t listed = 0;
  forEachIn(selected_.numbers.data(), part.begin, part.end, floor_,
            [&](int64_t i, Number each) {
              if (listed < room) {
                indices[listed] = static_cast<uint32_t>(i);
                numbers[listed] = each;
              }
              ++listed;
            });
  part.listed = listed <= room ? listed : -1;
}

/// Calls `visit(index, number)` for the elements of a part that reach `low` and
/// the floor.
template <typename Number>
template <typename Visit>
void Selection<Number>::forEachFrom(size_t number, Bits low,
                                    const Visit &visit) {
  const Part &part = parts_[number];
  if (part.listed < 0)
    return forEachIn(selected_.numbers.data(), part.begin, part.end,
                     std::max(low, floor_), visit);
  const uint32_t *indices = listedIndices(number);
  const Number *numbers = listedNumbers(number);
  for (int64_t i = 0; i < part.listed; ++i)
    if (unsignedBits<Bits>(numbers[i]) >= low)
      visit(static_cast<int64_t>(indices[i]), numbers[i]);
}

//===-- the cut -----------------------------------------------------------===//

/// First passes over what is smaller than a guess; where that was too high, it
/// looks at all.
template <typename Number> void Selection<Number>::findCut() {
  floor_ = guess();
  for (Part &part : parts_)
    part.listed = -1;
  if (floor_ > 0 && scratch_.listed > 0)
    onParts([this](size_t part) { list(part); });
  if (narrowDown())
    return;
  floor_ = 0;
  for (Part &part : parts_)
    part.listed = -1;
  narrowDown();
}

/// A magnitude that more elements than are wanted have, as it seems from some
/// of them: the one that twice their part of these have.
template <typename Number> auto Selection<Number>::guess() -> Bits {
  size_t size = selected_.numbers.size(), step = size / kSample;
  if (step < 2)
    return 0;
  uint32_t *counts = countsOf(0);
  const int shift = std::numeric_limits<Bits>::digits - scratch_.digitBits;
  std::fill_n(counts, size_t(1) << scratch_.digitBits, 0);
  for (size_t i = 0; i < kSample; ++i)
    ++counts[magnitudeOf<Bits>(selected_.numbers[i * step]) >> shift];
  size_t wanted = 2 * kSample * selected_.indices.size() / size + 64;
  size_t digit = size_t(1) << scratch_.digitBits, having = 0;
  while (digit > 0 && having < wanted)
    having += counts[--digit];
  return static_cast<Bits>(digit) << shift;
}

/// Each pass appends a digit to the prefix of the smallest element that is
/// taken. It ends early where all that have the prefix are taken. False if
/// fewer elements than are wanted reach the floor.
template <typename Number> bool Selection<Number>::narrowDown() {
  prefix_ = 0;
  shift_ = std::numeric_limits<Bits>::digits;
  wanted_ = static_cast<int64_t>(selected_.indices.size());
  auto having = static_cast<int64_t>(selected_.numbers.size());
  for (Part &part : parts_) {
    part.larger = 0;
    part.equal = part.end - part.begin;
  }
  while (shift_ > 0 && having > wanted_) {
    int width = std::min(scratch_.digitBits, shift_);
    shift_ -= width;
    onParts([&](size_t part) { countDigits(part, width); });
    chooseDigit(width);
    having = 0;
    for (const Part &part : parts_)
      having += part.equal;
    if (having < wanted_)
      return false;
  }
  return true;
}

template <typename Number>
void Selection<Number>::countDigits(size_t part, int width) {
  uint32_t *counts = countsOf(part);
  std::fill_n(counts, size_t(1) << width, 0);
  const Bits mask = (Bits(1) << width) - 1, prefix = prefix_;
  const int shift = shift_, above = shift_ + width;
  forEachFrom(part, prefix << above, [=](int64_t, Number each) {
    Bits bits = magnitudeOf<Bits>(each);
    if (bits >> above == prefix)
      ++counts[bits >> shift & mask];
  });
}

/// Takes the digit that the wanted elements reach down to.
template <typename Number> void Selection<Number>::chooseDigit(int width) {
  auto digit = static_cast<size_t>((Bits(1) << width) - 1);
  for (;; --digit) {
    int64_t having = 0;
    for (size_t part = 0; part < parts_.size(); ++part)
      having += countsOf(part)[digit];
    if (having >= wanted_ || digit == 0)
      break;
    wanted_ -= having;
  }
  for (size_t part = 0; part < parts_.size(); ++part) {
    const uint32_t *counts = countsOf(part);
    parts_[part].equal = counts[digit];
    for (size_t higher = digit + 1; higher < size_t(1) << width; ++higher)
      parts_[part].larger += counts[higher];
  }
  prefix_ = prefix_ << width | static_cast<Bits>(digit);
}

template <typename Number>
bool Selection<Number>::isAtCut(Number number) const {
  return magnitudeOf<Bits>(number) >> shift_ == prefix_;
}

/// The smallest magnitude that may be taken.
template <typename Number> auto Selection<Number>::lowest() const -> Bits {
  return std::max(least_, prefix_ << shift_);
}

/// Counts again, without what does not reach the threshold.
template <typename Number> void Selection<Number>::countAboveThreshold() {
  least_ = magnitudeOf<Bits>(*selected_.threshold);
  onParts([this](size_t number) {
    Part &part = parts_[number];
    part.larger = part.equal = 0;
    forEachFrom(number, lowest(), [&](int64_t, Number each) {
      ++(isAtCut(each) ? part.equal : part.larger);
    });
  });
}

//===-- what is taken -----------------------------------------------------===//

/// Entries are bounded even where counts are wrong, as those of a forged file
/// whose scratch lies in the input.
template <typename Number> void Selection<Number>::divideEntries() {
  const auto all = static_cast<int64_t>(selected_.indices.size());
  int64_t next = 0, left = wanted_;
  for (Part &part : parts_) {
    part.equal = std::min(part.equal, left);
    left -= part.equal;
    part.first = next;
    next = part.last = std::min(all, part.first + part.larger + part.equal);
  }
}

template <typename Number> void Selection<Number>::write(size_t number) {
  Part &part = parts_[number];
  int64_t to = part.first, equal = part.equal;
  forEachFrom(number, lowest(), [&](int64_t i, Number each) {
    if (to == part.last || (isAtCut(each) && --equal < 0))
      return;
    auto at = static_cast<size_t>(to++);
    selected_.indices[at] = static_cast<int32_t>(i);
    selected_.values[at] = each;
  });
}

template <typename Number> void Selection<Number>::leaveRest() {
  auto taken = static_cast<ptrdiff_t>(parts_.back().last);
  std::fill(selected_.indices.begin() + taken, selected_.indices.end(),
            static_cast<int32_t>(selected_.numbers.size()));
  std::fill(selected_.values.begin() + taken, selected_.values.end(),
            Number(0));
}

template class Selection<float>;
template class Selection<double>;

} // namespace gradus::runtime
