// FlatBuffers lists and strings as plain values; missing ones are empty.

#pragma once

#include "runtime/artifact_generated.h"
#include "runtime/tensor_type.h"

#include <string>
#include <vector>

namespace gradus::runtime {

template <typename T> size_t countOf(const flatbuffers::Vector<T> *list) {
  return list ? list->size() : 0;
}

template <typename T>
std::vector<T> valuesOf(const flatbuffers::Vector<T> *list) {
  return list ? std::vector<T>(list->begin(), list->end()) : std::vector<T>();
}

/// Whether lists start at a multiple of their elements' size, which
/// FlatBuffers' own verifier does not check.
template <typename... T>
bool areAligned(const flatbuffers::Vector<T> *...lists) {
  return ((countOf(lists) == 0 ||
           reinterpret_cast<uintptr_t>(lists->Data()) % sizeof(T) == 0) &&
          ...);
}

inline std::string textOf(const flatbuffers::String *text) {
  return text ? text->str() : std::string();
}

/// A missing type counts as an f32 scalar; verification refuses it where a type
/// is needed.
inline TensorType typeOf(const artifact::TensorType *type) {
  return type ? TensorType{type->dtype(), valuesOf(type->shape())}
              : TensorType();
}

/// A plan's target "cpu:x86-64-v3" is of the kind "cpu".
inline bool isOfKind(const std::string &target, const std::string &kind) {
  return target == kind || target.starts_with(kind + ":");
}

} // namespace gradus::runtime
