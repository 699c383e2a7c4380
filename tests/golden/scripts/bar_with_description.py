# One bar over all epochs that says all before its picture.
import argparse
import sys
import tqdm
p = argparse.ArgumentParser()
p.add_argument("--lr", type=float, default=0.1)
args = p.parse_args()
class Trainer:
    def fit(self):
        self.bar = tqdm.trange(5, desc="training", file=sys.stdout, leave=False)
        for epoch in self.bar:
            self.bar.set_description(f"epoch {epoch} | val_acc {1 - args.lr / (epoch + 1):.3f}")
Trainer().fit()
