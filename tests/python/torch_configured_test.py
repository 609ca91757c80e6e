"""What Lightning's configure_optimizers returns, schedules of transformers, and names of labels become keys of the recipe."""

import os
import sys
import unittest
import warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from needs_torch import torch, torch_is_missing  # noqa: E402
import pages  # noqa: E402

if torch:
    from gradus import NotExpressible  # noqa: E402
    from gradus.torch_.recipe import recipe_of  # noqa: E402

WHY = pages.missing("transformers")


def optimizer():
    return torch.optim.AdamW([torch.nn.Parameter(torch.zeros(3))], lr=0.5)


def halving(moves):
    return torch.optim.lr_scheduler.StepLR(moves, 2, 0.5)


@unittest.skipIf(torch is None, torch_is_missing())
class Configured(unittest.TestCase):
    def piece(self, given, **keys):
        recipe = recipe_of(optimizer=given, **keys)
        self.assertEqual((recipe["optimizer"]["type"], recipe["optimizer"]["learning_rate"]), ("adamw", 0.5))
        return recipe["schedule"]["learning_rate"][0]

    def test_each_form_is_an_optimizer_with_its_schedule(self):
        each_epoch = {"type": "step", "period": 2, "rate": 0.5, "interval": "epoch"}
        each_step = {"type": "step", "period": 2, "rate": 0.5}
        moves = optimizer()
        said = {"scheduler": halving(moves), "interval": "step", "monitor": "val_loss", "frequency": 1, "name": "rate"}
        self.assertEqual(self.piece({"optimizer": moves, "lr_scheduler": said["scheduler"]}), each_epoch)
        self.assertEqual(self.piece(([moves], [said["scheduler"]])), each_epoch)
        self.assertEqual(self.piece({"optimizer": moves, "lr_scheduler": said}), each_step)
        self.assertEqual(self.piece([{"optimizer": moves, "lr_scheduler": said}]), each_step)
        self.assertEqual(self.piece(([moves], [said])), each_step)
        self.assertEqual(self.piece(([moves], said)), each_step)
        self.assertEqual(self.piece(([moves], said["scheduler"])), each_epoch)
        self.assertEqual(self.piece([[moves], {"scheduler": said["scheduler"]}]), each_epoch)

    def test_an_interval_that_is_given_counts(self):
        moves = optimizer()
        calls = halving(moves)
        unsaid, epochs = {"optimizer": moves, "lr_scheduler": calls}, {"scheduler": calls, "interval": "epoch"}
        self.assertNotIn("interval", self.piece(unsaid, interval="step"))
        self.assertNotIn("interval", self.piece({"optimizer": moves, "lr_scheduler": {"scheduler": calls}}, interval="step"))
        self.assertEqual(self.piece(unsaid, interval="epoch")["interval"], "epoch")
        self.assertNotIn("interval", self.piece(moves, scheduler=calls))
        self.assertEqual(self.piece({"optimizer": moves, "lr_scheduler": epochs}, interval="epoch")["interval"], "epoch")
        self.says("says 'epoch'", {"optimizer": moves, "lr_scheduler": epochs}, interval="step")

    def test_an_unknown_key_is_warned_of(self):
        moves = optimizer()
        calls = halving(moves)
        with self.assertWarnsRegex(UserWarning, "'intervall' is not known"):
            recipe_of(optimizer={"optimizer": moves, "lr_scheduler": {"scheduler": calls, "intervall": "step"}})
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            recipe_of(optimizer={"optimizer": moves, "lr_scheduler": {"scheduler": calls, "monitor": "val_loss"}})

    def test_an_optimizer_alone_has_no_schedule(self):
        moves = optimizer()
        for given in (moves, [moves], {"optimizer": moves}, ([moves], [])):
            self.assertEqual(recipe_of(optimizer=given), recipe_of(optimizer=moves))

    def test_what_a_recipe_says_stays(self):
        self.assertEqual(recipe_of(optimizer={"type": "lion"}), {"optimizer": {"type": "lion"}})

    def says(self, words, given, **keys):
        with self.assertRaises(NotExpressible) as found:
            recipe_of(optimizer=given, **keys)
        self.assertIn(words, str(found.exception))

    def test_what_has_no_form_is_refused(self):
        moves = optimizer()
        calls = halving(moves)
        self.says("the frequency 5", {"optimizer": moves, "lr_scheduler": {"scheduler": calls, "frequency": 5}})
        self.says("found 'schedule'", {"optimizer": moves, "lr_scheduler": {"schedule": calls}})
        self.says("given twice", {"optimizer": moves, "lr_scheduler": calls}, scheduler=calls)
        self.says("1 optimizers and 2 schedulers", ([moves], [calls, calls]))
        other = optimizer()
        self.says("another one after each epoch", ([moves, other], [calls, {"scheduler": halving(other), "interval": "step"}]))

    def test_lightnings_words_for_precision(self):
        self.assertEqual([recipe_of(precision=word)["precision"] for word in ("bf16-mixed", "16-mixed", "32-true", 32, "bf16")],
                         ["bf16", "f16", "f32", "f32", "bf16"])
        self.says("weights and states are f32", None, precision="bf16-true")

    def test_labels_have_the_name_that_is_given(self):
        self.assertEqual(recipe_of(loss=torch.nn.MSELoss(), label="labels", output="out")["loss"],
                         {"type": "mse", "reduction": "mean", "label": "labels", "output": "out"})
        self.assertEqual(recipe_of(loss="mse", label="target")["loss"], {"type": "mse", "label": "target"})
        self.assertEqual(recipe_of(loss={"type": "mse"}, label="target", output="out")["loss"],
                         {"type": "mse", "label": "target", "output": "out"})
        self.assertEqual(recipe_of(loss={"type": "mse", "label": "y"}, label="y")["loss"], {"type": "mse", "label": "y"})

    def test_two_names_of_the_labels_are_refused(self):
        with self.assertRaisesRegex(NotExpressible, "label='target' is given, and the loss says 'y'"):
            recipe_of(loss={"type": "mse", "label": "y"}, label="target")

    def test_an_exported_loss_has_labels_of_these_names(self):
        from gradus.torch_.export import exported

        def of(label, *labels):
            return exported(torch.nn.Linear(3, 2), torch.ones(4, 3), label=label, labels=labels,
                            loss=lambda out, *targets: sum((out - target).square().mean() for target in targets)).label_names

        self.assertEqual(of("labels", torch.zeros(4, 2)), ["labels"])
        self.assertEqual(of(["first", "second"], torch.zeros(4, 2), torch.ones(4, 2)), ["first", "second"])
        with self.assertRaisesRegex(NotExpressible, "1 names, and the example of the labels 2 tensors"):
            of("labels", torch.zeros(4, 2), torch.ones(4, 2))


@unittest.skipIf(WHY, WHY)
class Transformers(unittest.TestCase):
    """The factors of each schedule, as a step of ours computes them."""

    def factors(self, name, updates, **options):
        import transformers

        from steps import step_of
        from gradus.torch_.export import exported

        module = torch.nn.Linear(2, 1)
        moves = torch.optim.SGD(module.parameters(), lr=0.25)
        calls = transformers.get_scheduler(name, moves, **options)
        file = exported(module, torch.ones(1, 2))
        recipe = recipe_of(module, torch.nn.MSELoss(), moves, calls, names=file.names, metrics=["learning_rate"])
        expected, found = [], []
        with step_of(file.model, recipe) as step:
            for _ in range(updates):
                found.append(step(torch.ones(1, 2), torch.ones(1, 1)).learning_rate)
                expected.append(moves.param_groups[0]["lr"])
                moves.step()
                calls.step()
        for number, (mine, other) in enumerate(zip(found, expected)):
            self.assertAlmostEqual(mine, other, delta=1e-6, msg=f"{name}, update {number}")
        self.assertGreater(max(found), 0)
        return [piece["type"] for piece in recipe["schedule"]["learning_rate"]]

    def test_they_are_pieces(self):
        both = {"num_warmup_steps": 4, "num_training_steps": 12}
        self.assertEqual(self.factors("constant", 3), ["constant"])
        self.assertEqual(self.factors("constant_with_warmup", 7, num_warmup_steps=4), ["linear", "constant"])
        self.assertEqual(self.factors("linear", 12, **both), ["linear", "linear"])
        self.assertEqual(self.factors("cosine", 12, **both), ["linear", "cosine"])
        self.assertEqual(self.factors("linear", 5, num_warmup_steps=0, num_training_steps=5), ["linear"])

    def test_others_are_tables_as_long_as_they_say(self):
        both = {"num_warmup_steps": 2, "num_training_steps": 9}
        self.assertEqual(self.factors("polynomial", 9, **both), ["list"])
        self.assertEqual(self.factors("cosine_with_restarts", 9, **both), ["list"])
        self.assertEqual(self.factors("cosine_with_min_lr", 9, scheduler_specific_kwargs={"min_lr_rate": 0.1}, **both), ["linear", "cosine"])


if __name__ == "__main__":
    unittest.main()
