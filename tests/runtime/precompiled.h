// The headers that almost every test of the runtime and of the run side of the
// tool includes.
#pragma once
#include "runtime/artifact_generated.h"

#include "absl/status/statusor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
