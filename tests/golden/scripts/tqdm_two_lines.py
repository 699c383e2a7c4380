# A bar beside two printed lines, of which the loss comes last.
import argparse
from tqdm import tqdm
def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--lr", default=0.1, type=float)
    p.add_argument("--momentum", default=0.9, type=float)
    p.add_argument("--width", default=1024 * 2, type=int)
    p.add_argument("--amsgrad", action=argparse.BooleanOptionalAction, default=False)
    p.add_argument("--betas", nargs="+", type=float, default=[0.9, 0.999])
    return p.parse_args()
args = get_args()
best = 0
for epoch in range(3):
    bar = tqdm(range(5), desc=f"epoch {epoch}")
    for i in bar:
        bar.set_postfix(loss=1.0)
    acc = 0.5 + 0.1 * epoch
    best = max(best, acc)
    print(f"Val Acc: {acc:.4f} | Best: {best:.4f}")
    print(f"Val Loss: {1-acc:.4f}")
