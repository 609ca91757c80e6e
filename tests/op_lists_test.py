"""Lists of ops: hand-written ones only become fewer."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import op_lists

# A ratchet: the number of lists in each folder that give no reason. Never raise one: `tests/op_lists.py` says what to do.
MOST = {"ir": 0, "passes": 0, "codegen": 0, "frontends": 0, "tool": 0}

FOUND = (
    ("isa<A, BOp, COp, DOp>(op)", ["BOp", "COp", "DOp"]),
    ("isa<AOp>(op) ||\n  isa<arith::BOp, COp>(op)", ["AOp", "arith::BOp", "COp"]),
    ("  .Case<AOp, BOp,\n   COp>(lower)", ["AOp", "BOp", "COp"]),
    ('{"gradus.a", "gradus.b", "arith.addf"}', ["gradus.a", "gradus.b", "arith.addf"]),
    ('name == "math.a" || name == "math.b" ||\n name == "math.c"', ["math.a", "math.b", "math.c"]),
    ('{"math.a", 1}, {"math.b", 2}, {"math.c", 3}', ["math.a", "math.b", "math.c"]),
)
NOT_FOUND = (
    "isa<AOp, BOp>(op)",
    "if (isa<AOp>(x)) return a; if (isa<BOp>(x)) return b; if (isa<COp>(x)) return c;",
    "quotient<AOp, BOp, COp>",
)


class OpLists(unittest.TestCase):
    maxDiff = None

    def test_no_folder_has_more_than_before(self):
        self.assertEqual(set(MOST), set(op_lists.FOLDERS))
        for folder, most in MOST.items():
            with self.subTest(folder):
                lists = [f"{path}:{line}: {', '.join(ops)}" for path, line, ops in op_lists.found([folder])]
                self.assertLessEqual(len(lists), most, "\n".join(lists))

    def test_a_list_is_found(self):
        for text, ops in FOUND:
            self.assertEqual(op_lists.lists_in(text), [(1, ops)], text)
        for text in NOT_FOUND:
            self.assertEqual(op_lists.lists_in(text), [], text)

    def test_a_reason_stands_in_the_comment_above(self):
        lines = ["/// Whether.", "/// Op list: no other place knows.", "bool f() {", "  return isa<AOp, BOp, COp>(op);", "}"]
        self.assertTrue(op_lists.is_marked(lines, 4))
        self.assertFalse(op_lists.is_marked(["/// Whether.", *lines[2:]], 3))
        self.assertFalse(op_lists.is_marked([*lines, "bool g() {", "  return isa<AOp, BOp, COp>(op);"], 7))

    def test_lists_with_a_reason_are_there(self):
        self.assertGreater(sum(op_lists.structure_test.read(path).count(op_lists.MARK)
                               for path in op_lists.structure_test.sources(".cpp")), 3)


if __name__ == "__main__":
    unittest.main()
