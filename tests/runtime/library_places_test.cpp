// Where libraries are looked for.

#include "runtime/library_places.h"

#include "runtime/own_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

using namespace gradus::runtime;
using testing::ElementsAre;

TEST(LibraryPlaces, AreBesideThisCodeAndThenTheSystems) {
  unsetenv("GRADUS_ANY_LIBRARY");
  std::string here = ownFolder();
  EXPECT_THAT(libraryPlaces("GRADUS_ANY_LIBRARY", {"a.so.2", "a.so.1"}),
              ElementsAre(here + "/a.so.2", here + "/a.so.1",
                          here + "/../lib/a.so.2", here + "/../lib/a.so.1",
                          "a.so.2", "a.so.1"));
}

TEST(LibraryPlaces, AreWhatTheEnvironmentNamesAndNothingElseThen) {
  setenv("GRADUS_ANY_LIBRARY", "/else/a.so", 1);
  EXPECT_THAT(libraryPlaces("GRADUS_ANY_LIBRARY", {"a.so"}),
              ElementsAre("/else/a.so"));
  unsetenv("GRADUS_ANY_LIBRARY");
}

/// An empty name would be this program's own.
TEST(LibraryPlaces, AreAsEverWhereTheVariableIsEmpty) {
  setenv("GRADUS_ANY_LIBRARY", "", 1);
  EXPECT_EQ(libraryPlaces("GRADUS_ANY_LIBRARY", {"a.so"}).size(), 3u);
  unsetenv("GRADUS_ANY_LIBRARY");
}

TEST(LibraryPlaces, AreKnownWhereAFileIsThere) {
  setenv("GRADUS_ANY_LIBRARY", "/proc/self/exe", 1);
  EXPECT_EQ(knownPlace("GRADUS_ANY_LIBRARY", {"a.so"}), "/proc/self/exe");
  setenv("GRADUS_ANY_LIBRARY", "/nowhere/a.so", 1);
  EXPECT_EQ(knownPlace("GRADUS_ANY_LIBRARY", {"a.so"}), "");
  unsetenv("GRADUS_ANY_LIBRARY");
  EXPECT_EQ(knownPlace("GRADUS_ANY_LIBRARY", {"libc.so.6"}), "")
      << "the system's loader knows it";
}
