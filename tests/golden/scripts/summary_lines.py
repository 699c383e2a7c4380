# The metric stands in summaries, too. Runs anywhere.
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.1)
args = parser.parse_args()

best = 0
for epoch in range(1, 4):
    val_acc = 1 - args.lr / epoch
    best = max(best, val_acc)
    print(f"Epoch {epoch:2d} loss {1 - val_acc:.4f} val_acc {val_acc:.4f}")
    if val_acc == best:
        print(f"New best val_acc {best:.4f}, saved")
print(f"Done. Best val_acc {best:.4f} (epoch {epoch})")
print(f"Restored best: val_acc {best:.4f}")
