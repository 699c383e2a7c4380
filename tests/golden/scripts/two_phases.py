# Subcommands, a switch, text-to-bool, and a final test value. Runs anywhere.
import argparse
import sys


def to_bool(text):
    return text.lower() in ("1", "true", "yes")


DEFAULT_RATE = 3e-4
parser = argparse.ArgumentParser()
parser.add_argument("-lr", "--learning-rate", type=float, default=DEFAULT_RATE, help="the rate")
parser.add_argument("--use-bias", type=to_bool, default=True)
parser.add_argument("--label_smoothing", type=float, default=0.1)
parser.add_argument("--augment", action="store_true")
parser.add_argument("--max_epochs", type=int, default=3)
parser.add_argument("--out", default="/tmp")
args = parser.parse_args(sys.argv[1:])
for epoch in range(args.max_epochs):
    error = (args.learning_rate - 0.001) ** 2 + 1.0 / (epoch + 1)
    print(f"[{epoch + 1}/{args.max_epochs}] valid error={error:.6e}")
print("test error = %.5f" % (error * 1.1))
