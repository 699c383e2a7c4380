# A bar over epochs, below it one over batches that is erased.
import argparse
from tqdm import tqdm
p = argparse.ArgumentParser()
p.add_argument("--lr", type=float, default=0.1)
args = p.parse_args()
def train(epoch):
    inner = tqdm(range(4), leave=False)
    for batch in inner:
        inner.set_postfix_str(f"loss {1 / (epoch + batch + 1):.3f}")
epochs = tqdm(range(5), desc="Epochs")
for epoch in epochs:
    train(epoch)
    acc = 1 - args.lr / (epoch + 1)
    epochs.set_postfix(val_acc=acc, val_error=1 - acc)
