# One bar over all epochs, in which each batch and each epoch shows what it has.
import argparse
from tqdm import tqdm
p = argparse.ArgumentParser()
p.add_argument("--lr", type=float, default=0.1)
p.add_argument("--epochs", type=int, default=5)
args = p.parse_args()
for epoch in (bar := tqdm(range(args.epochs))):
    for batch in range(3):
        bar.set_postfix(loss=1 / (epoch + batch + 1))
    acc = 1 - args.lr / (epoch + 1)
    bar.set_postfix(loss=1 / (epoch + 3), val_acc=acc)
