# Values of a dictionary in a loop, and f-strings with an equals sign. Runs anywhere.
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.1)
args = parser.parse_args()

for epoch in range(1, 4):
    results = {"train_loss": args.lr / epoch, "valid_accuracy": 1 - args.lr / epoch}
    lr_now = args.lr
    print(f"{epoch=} {lr_now=:.3g}", " ".join(f"{k}={v:.4f}" for k, v in results.items()))
for k, v in results.items():
    print(f"best {k}={v:.4f}")
