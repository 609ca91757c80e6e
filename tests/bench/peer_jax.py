"""JAX's side of the bench: jit with donated buffers; a queue of batches by lax.scan.

Protocol: see worker.py.
"""

import os

import workloads

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=true intra_op_parallelism_threads=%d" % workloads.THREADS

import jax
import jax.numpy as jnp
import numpy
import peer_jax_models
import worker


def key(number):
    return jax.random.PRNGKey(number)


def linear(number, inputs, outputs):
    return {"w": jax.random.normal(key(number), (inputs, outputs)) * 0.1, "b": jnp.zeros(outputs)}


def mlp():
    def loss(p, x, y):
        for layer in p[:-1]:
            x = jax.nn.relu(x @ layer["w"] + layer["b"])
        return jnp.mean((x @ p[-1]["w"] + p[-1]["b"] - y) ** 2)

    layers = [linear(0, 32, 32), linear(1, 32, 32), linear(2, 32, 1)]
    return layers, loss, jax.random.normal(key(3), (16, 32)), jax.random.normal(key(4), (16, 1))


def lenet():
    def convolution(x, layer, padding):
        x = jax.lax.conv_general_dilated(x, layer["w"], (1, 1), padding, dimension_numbers=("NHWC", "HWIO", "NHWC"))
        return jax.lax.reduce_window(jax.nn.relu(x + layer["b"]), -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")

    def loss(p, x, y):
        x = convolution(convolution(x, p[0], "SAME"), p[1], "VALID").reshape(32, 400)
        x = jax.nn.relu(x @ p[2]["w"] + p[2]["b"])
        x = jax.nn.relu(x @ p[3]["w"] + p[3]["b"])
        logits = jax.nn.log_softmax(x @ p[4]["w"] + p[4]["b"])
        return -jnp.mean(jnp.take_along_axis(logits, y[:, None], 1))

    filters = [{"w": jax.random.normal(key(i), shape) * 0.1, "b": jnp.zeros(shape[-1])}
               for i, shape in enumerate([(5, 5, 1, 6), (5, 5, 6, 16)])]
    layers = filters + [linear(5, 400, 120), linear(6, 120, 84), linear(7, 84, 10)]
    return layers, loss, jax.random.normal(key(3), (32, 28, 28, 1)), jax.random.randint(key(4), (32,), 0, 10)


def momentum_step(loss):
    def step(state, batch):
        parameters, velocities = state
        value, gradients = jax.value_and_grad(loss)(parameters, *batch)
        velocities = jax.tree.map(lambda v, g: 0.9 * v + g, velocities, gradients)
        return (jax.tree.map(lambda p, v: p - 0.01 * v, parameters, velocities), velocities), value

    return step


def reading(make):
    """As training, but the batch comes from the host and the loss is read there."""
    parameters, loss, x, y = make()
    x, y = numpy.asarray(x), numpy.asarray(y)
    step = jax.jit(momentum_step(loss), donate_argnums=0)
    state = (parameters, jax.tree.map(jnp.zeros_like, parameters))

    def run(steps):
        nonlocal state
        for _ in range(steps):
            state, value = step(state, (x, y))
            float(value)

    return run


def training(make):
    parameters, loss, x, y = make()
    step = jax.jit(momentum_step(loss), donate_argnums=0)
    state = (parameters, jax.tree.map(jnp.zeros_like, parameters))

    def run(steps):
        nonlocal state
        for _ in range(steps):
            state, value = step(state, (x, y))
        value.block_until_ready()

    return run


def queue(make, length):
    """`length` batches in one call."""
    parameters, loss, x, y = make()
    scan = jax.jit(lambda state, batches: jax.lax.scan(momentum_step(loss), state, batches), donate_argnums=0)
    state = (parameters, jax.tree.map(jnp.zeros_like, parameters))
    batches = (jnp.tile(x, (length, 1, 1)), jnp.tile(y, (length, 1, 1)))

    def run(steps):
        nonlocal state
        for _ in range(steps // length):
            state, value = scan(state, batches)
        value.block_until_ready()

    return run


def adamw():
    def update(p, m, v, g, count):
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g * g
        root = jnp.sqrt(v / (1 - 0.999**count)) + 1e-8
        return p * (1 - 1e-5) - 1e-3 / (1 - 0.9**count) * m / root, m, v

    def step(p, m, v, g, count):
        new = [update(*each, count) for each in zip(p, m, v, g)]
        return [n[0] for n in new], [n[1] for n in new], [n[2] for n in new], count + 1

    step = jax.jit(step, donate_argnums=(0, 1, 2, 4))
    p, m, v, g = ([jnp.full(shape, value, jnp.float32) for shape in workloads.ADAMW_SHAPES]
                  for value in (0.02, 0.0, 0.0, 0.01))
    count = jnp.float32(1)

    def run(steps):
        nonlocal p, m, v, count
        for _ in range(steps):
            p, m, v, count = step(p, m, v, g, count)
        p[-1].block_until_ready()

    return run


def full_size(workload):
    state, step, batch = peer_jax_models.stepper(workload.network, workload.optimizer(), workload.precision)
    step = jax.jit(step, donate_argnums=0)

    def run(steps):
        nonlocal state
        for _ in range(steps):
            state, value = step(state, batch)
        return value.block_until_ready()

    return run


def load(workload, how):
    if workload.group == workloads.FULL_SIZE:
        return full_size(workload)
    if workload.is_optimizer:
        return adamw()
    if workload.name == "mlp-queue":
        return queue(mlp, workloads.QUEUE)
    if workload.name == "mlp":
        return reading(mlp)
    return training({"mlp-ahead": mlp, "lenet5": lenet}[workload.name])


if __name__ == "__main__":
    worker.serve(load)
