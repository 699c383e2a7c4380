#!/usr/bin/python3
"""What torchvision's MobileNetV2 computes from weights and images that need no file: they are drawn by core/random.h's
KeyedRandom from the names of the tensors. tests/models/network_test.cc and parity_test.cc draw the same.

    parity_reference.py --width 0.35 --size 96 --batch 16 --gradients full --output reference.txt

Writes lines of "name value value ...": the options; the logits in evaluation; the gradients in training (`full`: every
value; `summary`: the norm and the projection on a keyed vector of signs); the losses before each Adam step; the logits
in evaluation after the last.
"""
import argparse
import os
import sys

try:
    import numpy
    import torch
    import torchvision
except ImportError as error:
    print(f"parity_reference.py: {error}; install python3-torch and python3-torchvision", file=sys.stderr)
    sys.exit(77)

MASK = (1 << 64) - 1
GOLDEN_GAMMA = 0x9E3779B97F4A7C15
LEARNING_RATE = 1e-4


def mix(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def stable_hash(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = ((value ^ byte) * 0x100000001B3) & MASK
    return mix(value)


def uniform(purpose, shape):
    """KeyedRandom(0, purpose).NextDouble(), as often as `shape` has elements, scaled to [-1, 1)."""
    state = mix(GOLDEN_GAMMA)
    state = mix(state ^ stable_hash(purpose))
    state = mix(state ^ 1)
    state = mix(state ^ 2)
    count = int(numpy.prod(shape))
    with numpy.errstate(over="ignore"):
        z = numpy.uint64(state) + numpy.arange(1, count + 1, dtype=numpy.uint64) * numpy.uint64(GOLDEN_GAMMA)
        z = (z ^ (z >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
        z = z ^ (z >> numpy.uint64(31))
    return (2 * ((z >> numpy.uint64(11)).astype(numpy.float64) * 2.0**-53) - 1).reshape(shape)


def parameter(name, shape, shift):
    """Weights of about torchvision's spread; batch norms and biases that are neither one nor zero.

    With a shift of two before each ReLU6 few values are near its corners. There, an error in the last bit decides
    whether a gradient passes: without the shift, PyTorch's own single and double precision differ by a hundredth.
    """
    draw = uniform(name, shape)
    if name.endswith("running_mean"):
        return 0.1 * draw
    if name.endswith("running_var"):
        return 1 + 0.2 * draw
    if len(shape) == 4:
        return numpy.sqrt(6.0 / (shape[0] * shape[2] * shape[3])) * draw
    if len(shape) == 2:
        return 0.05 * draw
    if name.endswith(".weight"):
        return 1 + 0.2 * draw
    before_relu6 = name.startswith("features.") and name.endswith(".1.bias")
    return (shift if before_relu6 else 0) + 0.1 * draw


def build(options, dtype):
    model = torchvision.models.mobilenet_v2(num_classes=options.classes, width_mult=options.width, dropout=0.0)
    with torch.no_grad():
        for name, tensor in model.state_dict().items():
            if name.endswith("num_batches_tracked"):
                continue
            tensor.copy_(torch.from_numpy(parameter(name, tuple(tensor.shape), options.shift).astype(numpy.float32)))
    return model.to(dtype)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--width", type=float, required=True)
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--classes", type=int, default=11)
    parser.add_argument("--shift", type=float, default=2)
    parser.add_argument("--weight-decay", type=float, default=0)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--gradients", choices=["full", "summary"], default="full")
    parser.add_argument("--double", action="store_true", help="compute in double precision")
    parser.add_argument("--output", required=True)
    options = parser.parse_args()
    dtype = torch.float64 if options.double else torch.float32
    torch.set_num_threads(1)  # Two would wait for each other where other tests run beside.

    images = uniform("images", (options.batch, options.size, options.size, 3)).astype(numpy.float32)
    x = torch.from_numpy(images).permute(0, 3, 1, 2).to(dtype)
    y = torch.arange(options.batch) % options.classes
    model = build(options, dtype)
    adam = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, weight_decay=options.weight_decay)
    with open(options.output + ".part", "w") as output:

        def write(name, values):
            flat = numpy.asarray(values, dtype=numpy.float64).reshape(-1)
            output.write(name + " " + " ".join(f"{value:.9g}" for value in flat) + "\n")

        numbers = [options.width, options.size, options.batch, options.classes, options.shift]
        write("options", numbers + [options.weight_decay])
        model.eval()
        with torch.no_grad():
            write("logits", model(x).numpy())
        model.train()
        losses = []
        for step in range(options.steps):
            adam.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            losses.append(loss.item())
            if step == 0:
                for name, tensor in model.named_parameters():
                    gradient = tensor.grad.numpy().astype(numpy.float64)
                    if options.gradients == "full":
                        write("gradient/" + name, gradient)
                    else:
                        signs = numpy.where(uniform("signs/" + name, gradient.shape) < 0, -1.0, 1.0)
                        norm = numpy.sqrt((gradient**2).sum())
                        write("gradient/" + name, [norm, (gradient * signs).sum()])
            adam.step()
        write("losses", losses)
        model.eval()
        with torch.no_grad():
            write("logits_after", model(x).numpy())

    os.replace(options.output + ".part", options.output)


main()
