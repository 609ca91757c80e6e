// The preparation of an input's numbers by the recipe: normalization, and in
// training random crops, shifts and flips of images.
//
// Each value is defined to the bit: it depends on the sample, its draw and the
// recipe, not on threads or batches.

#pragma once

#include "runtime/session/session.h"
#include "training/data/resized_crop.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gradus::data {

/// The preparation of one f32 input. A sample is [C, ...] or, for images, [C,
/// H, W] or [H, W].
struct Preparation {
  /// Each value becomes (value - mean) / std in f32, with numbers for each
  /// index of the sample's first axis, or one number for all.
  std::vector<float> mean = {0}, std = {1};
  /// Scales a part of an image to the image's size, before all else.
  std::optional<ResizedCrop> resizedCrop = std::nullopt;
  /// Shifts an image by up to this many pixels along H and along W; zeros are
  /// shifted in, before normalization.
  int64_t crop = 0;
  /// Mirrors half of the images along W.
  bool flip = false;

  bool isAugmenting() const { return resizedCrop || crop > 0 || flip; }
};

/// Preparations by the name of the input.
using Preparations = std::map<std::string, Preparation>;

/// Checks that the input can be prepared in this way.
runtime::Status check(const Preparation &preparation,
                      const runtime::TensorInfo &input);

/// Prepares a sample of the input; `draw` seeds crop, shift and flip. `from`
/// and `to` do not overlap.
void prepare(const Preparation &preparation, const runtime::TensorInfo &input,
             uint64_t draw, const float *from, float *to);

} // namespace gradus::data
