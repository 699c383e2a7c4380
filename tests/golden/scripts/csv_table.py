# A table with its header. Runs anywhere.
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.1)
args = parser.parse_args()

print("epoch,train_loss,val_acc")
for epoch in range(1, 4):
    print(f"{epoch},{args.lr / epoch:.4f},{1 - args.lr / epoch:.4f}")
