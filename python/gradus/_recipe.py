"""The recipe of a step as users see it: a copy that says so where it is changed."""

import copy


class Recipe(dict):
    """A dictionary that is not written: what is written to a copy would have no effect on the step."""

    def _refuse(self, *arguments, **named):
        raise TypeError("step.recipe is a copy, and what is written to it has no effect: step.set(\"optimizer.learning_rate\", 0.05) sets a "
                        "number from the next step on, and compile(recipe={**step.recipe, ...}) makes another step")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __deepcopy__(self, memo):
        return {key: copy.deepcopy(value, memo) for key, value in self.items()}

    def __reduce__(self):
        return dict, (dict(self),)
