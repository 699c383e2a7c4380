"""A spiral of three classes, learned by a small network. It knows nothing of tune: it prints how it is doing."""
import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=1e-2)
parser.add_argument("--hidden", type=int, default=32)
parser.add_argument("--dropout", type=float, default=0.0)
parser.add_argument("--epochs", type=int, default=27)
config = parser.parse_args()

torch.manual_seed(0)
turns = torch.rand(900) * 3
labels = torch.arange(900) % 3
angles = turns * 2 + labels * 2.1 + torch.randn(900) * 0.1
points = torch.stack([turns * torch.cos(angles), turns * torch.sin(angles)], 1)
train, val = slice(0, 600), slice(600, 900)

model = torch.nn.Sequential(torch.nn.Linear(2, config.hidden), torch.nn.ReLU(), torch.nn.Dropout(config.dropout),
                            torch.nn.Linear(config.hidden, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=config.lr)
for epoch in range(config.epochs):
    model.train()
    for batch in torch.randperm(600).split(50):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(points[batch]), labels[batch]).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        accuracy = (model(points[val]).argmax(1) == labels[val]).float().mean().item()
    print(f"epoch {epoch + 1}: val acc: {accuracy:.4f}")
