"""Training and validation print the same names in lines of their own, and a switch is no switch."""
import argparse
import os

parser = argparse.ArgumentParser()
parser.add_argument("--nesterov", type=bool, default=False)
args = parser.parse_args()
momentum = float(os.environ.get("MOMENTUM") or 0.9)
for epoch in range(3):
    train, valid = 0.5 + 0.1 * epoch, 0.25 + 0.25 * (epoch == 1)
    print(f"[{epoch:03d}] Train | Loss: {1 - train:.4f} | Acc: {train:.4f}")
    print(f"[{epoch:03d}] Valid | Loss: {1 - valid:.4f} | Acc: {valid:.4f}")
