"""The rules of folders tell what may be included from what may not, and see circles."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import folders


class Folders(unittest.TestCase):
    def test_a_folder_includes_from_those_below_it(self):
        for path, included in (("codegen/cpu/loops.cpp", "codegen/plan/nest.h"), ("codegen/cpu/loops.cpp", "codegen/cpu/ops.h"),
                               ("codegen/plan/nest.cpp", "ir/ops/x.h"), ("tool/run/run.cpp", "runtime/session/session.h"),
                               ("codegen/gpu/object.cpp", "runtime/emulated/abi.h"), ("passes/clock.cpp", "runtime/well_known.h"),
                               ("ir/ops/nn_ops.td", "ir/dialect.td"), ("ir/gradus.td", "ir/ops/nn_ops.td")):
            self.assertTrue(folders.may_include(path, included), (path, included))

    def test_a_folder_includes_nothing_else(self):
        for path, included in (("codegen/plan/nest.cpp", "codegen/cpu/loops.h"), ("ir/build.cpp", "ir/ops/x.h"), ("ir/build.cpp", "passes/state.h"),
                               ("ir/gradus.td", "passes/passes.td"), ("passes/clock.cpp", "runtime/names.h"), ("runtime/file.cpp", "messages/message.h"),
                               ("codegen/gpu/object.cpp", "runtime/emulated/launch.h"), ("training/data/feed.cpp", "tool/text.h"),
                               ("tool/run/run.cpp", "frontends/onnx/import.h"), ("codegen/new_folder/x.cpp", "codegen/plan/nest.h")):
            self.assertFalse(folders.may_include(path, included), (path, included))

    def test_a_level_stands_on_those_before(self):
        graph = {"a": set(), "b": {"a"}, "c": {"a"}, "d": {"b", "c", "elsewhere"}}
        self.assertEqual(folders.levels(graph), [["a"], ["b", "c"], ["d"]])

    def test_a_circle_and_what_stands_on_it_have_no_level(self):
        self.assertEqual(folders.levels({"a": set(), "b": {"c"}, "c": {"b"}, "d": {"b"}}), [["a"]])


if __name__ == "__main__":
    unittest.main()
