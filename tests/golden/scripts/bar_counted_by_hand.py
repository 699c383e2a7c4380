# A bar that the script counts up, right before it shows the epoch's value.
import argparse
from tqdm.auto import tqdm
p = argparse.ArgumentParser()
p.add_argument("--lr", type=float, default=0.1)
args = p.parse_args()
with tqdm(total=5, ascii=True) as pbar:
    for epoch in range(5):
        acc = 1 - args.lr / (epoch + 1)
        pbar.update(1)
        pbar.set_postfix({"val_acc": f"{acc:.3f}"})
