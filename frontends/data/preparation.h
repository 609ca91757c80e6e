// What a recipe has done to the numbers of an input before a step sees them:
// normalization, and in training random parts, moves and flips of images.
//
// Each value is defined to the bit: it depends on the sample, its draw and the
// recipe, not on threads or batches.

#pragma once

#include "frontends/data/resized_crop.h"
#include "runtime/session.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gradus::data {

/// Of one f32 input, whose sample is [C, ...] or, of an image, [C, H, W] or
/// [H, W].
struct Preparation {
  /// Each value becomes (value - mean) / std in f32, by its place along the
  /// sample's first axis; of one number each, the same for all.
  std::vector<float> mean = {0}, std = {1};
  /// A part of an image is scaled to its size; before all else.
  std::optional<ResizedCrop> resizedCrop = std::nullopt;
  /// An image is moved by up to so many pixels along H and along W; zeros come
  /// in from outside, before normalization.
  int64_t crop = 0;
  /// Half of the images are mirrored along W.
  bool flip = false;

  bool isAugmenting() const { return resizedCrop || crop > 0 || flip; }
};

/// By the name of the input.
using Preparations = std::map<std::string, Preparation>;

/// Checks that the input can be prepared so.
runtime::Status check(const Preparation &preparation,
                      const runtime::TensorInfo &input);

/// Prepares a sample of the input; `draw` decides on part, move and flip.
/// `from` and `to` do not overlap.
void prepare(const Preparation &preparation, const runtime::TensorInfo &input,
             uint64_t draw, const float *from, float *to);

} // namespace gradus::data
