"""What the bench of optimizers makes of its runs: trials, marks and tables."""

import json
import math
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import optimizers


def run_of(values, ms=2.0, setting=None):
    """A run that was evaluated every 10 steps."""
    return {"setting": setting or {}, "seed": 0, "curve": [(10 * (i + 1), value) for i, value in enumerate(values)], "ms": ms}


class Trials(unittest.TestCase):
    def test_all_spaces_are_two_decades_by_two(self):
        for each in optimizers.OPTIMIZERS:
            self.assertEqual(len(each.space), 2)
            for low, high in each.space.values():
                self.assertAlmostEqual(high / low, 100)

    def test_each_fifth_of_a_range_is_tried_once(self):
        for each in optimizers.OPTIMIZERS:
            settings = list(optimizers.trials(each))
            self.assertEqual(len(settings), 5)
            for key, (low, high) in each.space.items():
                fifths = sorted(int(5 * math.log(setting[key] / low) / math.log(high / low)) for setting in settings)
                self.assertEqual(fifths, [0, 1, 2, 3, 4])

    def test_numbers_that_are_set_are_in_the_recipe(self):
        """A number that is 0 when compiling cannot be set."""
        for each in optimizers.OPTIMIZERS:
            for key in each.space:
                part, number = key.split(".")
                self.assertGreater(each.recipe.get(part, each.recipe["optimizer"])[number], 0)  # thor has the keys of precondition


class Curves(unittest.TestCase):
    def test_evaluations_are_read_once_each(self):
        lines = [{"step": 5, "epoch": 1, "test": {"loss": 2.0, "accuracy": 0.25}},
                 {"epoch": 1, "step": 8, "train": {"loss": 1.0}, "test": {}},
                 {"step": 10, "epoch": 2, "test": {"loss": None, "accuracy": 0.5}},
                 {"epoch": 2, "step": 10, "train": {"loss": 1.0}, "test": {"loss": None, "accuracy": 0.5}},
                 {"steps": 10, "test": {"loss": None, "accuracy": 0.5}}]
        lines = [json.dumps(line) for line in lines]
        loss, error = optimizers.TASKS[0], optimizers.TASKS[1]
        self.assertEqual(optimizers.curve_of(error, lines), [(5, 0.75), (10, 0.5)])
        self.assertEqual(optimizers.curve_of(loss, lines), [(5, 2.0), (10, math.inf)])

    def test_the_mark_is_at_three_quarters(self):
        self.assertEqual(optimizers.at_mark([run_of([8, 6, 4, 2]), run_of([8, 6, 5, 2])]), 4.5)

    def test_there_is_no_mark_where_a_run_ends_before_it(self):
        """A run that fails before it is evaluated has its last step alone."""
        failed = {"setting": {}, "seed": 0, "curve": [(40, math.inf)], "ms": math.inf}
        self.assertEqual(optimizers.at_mark([run_of([8, 6, 4, 2]), failed]), math.inf)
        self.assertEqual(optimizers.reached([run_of([8, 6, 4, 2])], math.inf), ("no mark", ""))

    def test_the_best_ends_lowest(self):
        runs = [run_of([1, 3], setting={"a": 1}), run_of([4, 2], setting={"a": 2}), run_of([1, math.inf], setting={"a": 3})]
        self.assertEqual(optimizers.best_of(runs), {"a": 2})


class Tables(unittest.TestCase):
    def test_steps_and_seconds_are_means_at_the_least_time_of_a_step(self):
        self.assertEqual(optimizers.reached([run_of([3, 2, 1], ms=50.0), run_of([2, 1, 1], ms=40.0)], 2), ("15", "0.6"))

    def test_what_some_runs_reach_is_said_so(self):
        self.assertEqual(optimizers.reached([run_of([3, 2]), run_of([3, 3])], 2), ("1 of 2 runs", ""))

    def test_the_goal_is_a_part_of_sgds_time(self):
        results = {"sgd": {"steps": 40, "best": [run_of([9, 8, 7, 6], ms=1.0)]},
                   "thor": {"steps": 40, "best": [run_of([9, 6, 5, 5], ms=1.5)]}}
        self.assertEqual(optimizers.goal_of(results), "THOR reaches sgd's last loss in 0.75 of its time (goal 0.6)")
        results["thor"]["best"] = [run_of([9, 6, 5, 5]), run_of([9, 9, 9, 7])]
        self.assertEqual(optimizers.goal_of(results), "THOR reaches sgd's last loss in 1 of 2 runs")
        results["sgd"]["best"] = [run_of([9, 8, 7, 6]), run_of([9, math.inf])]
        self.assertEqual(optimizers.goal_of(results),
                         "sgd's last loss is no number in some of its runs, so there is none for THOR to reach")

    def test_each_optimizer_has_a_row_for_its_best_and_its_defaults(self):
        result = {"best": [run_of([4, 3, 2, 1], setting={"a": 0.5, "b": 2.0})], "defaults": [run_of([5, 5, 5, 5])]}
        self.assertEqual(list(optimizers.rows({"adamw": result})),
                         [["adamw", "0.5, 2", "1", "30", "0.1", "2.00"], ["adamw", "defaults", "5", "0 of 1 runs", "", "2.00"]])


if __name__ == "__main__":
    unittest.main()
