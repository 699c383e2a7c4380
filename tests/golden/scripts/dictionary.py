# Dictionaries are printed, and a summary as JSON. Runs anywhere.
import json
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.1)
args = parser.parse_args()


def evaluate(epoch):
    loss = args.lr / epoch
    return {"val_loss": loss, "val_acc": 1 - loss}


for epoch in range(1, 4):
    metrics = evaluate(epoch)
    metrics["epoch"] = epoch
    print(metrics)
print(json.dumps({"event": "end", "val_acc": 0.5}))
