# A line is put together, printed by a function of the script's own. Runs anywhere.
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.1)
args = parser.parse_args()


def say(text, level="INFO"):
    print(f"[{level}] {text}", flush=True)


say(f"lr={args.lr}")
for epoch in range(1, 4):
    message = "epoch {:03d}".format(epoch)
    message += ", valid loss: %.5f" % (args.lr / epoch)
    say(message)
say(f"finished, valid loss: {args.lr / 3:.5f}", "NOTE")
