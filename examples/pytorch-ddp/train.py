"""Data-parallel training by several processes, as torchrun starts them: `torchrun --nproc-per-node 2 train.py`.
In a sweep each rank of a trial is one of them. Rank 0 reports and saves; all of them hear whether to go on."""
import argparse
import datetime

import torch
import torch.distributed as dist
import tune
from torch.nn.parallel import DistributedDataParallel

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--hidden", type=int, default=32)
parser.add_argument("--epochs", type=int, default=20)
parser.add_argument("--steps", type=int, default=20, help="of an epoch")
config = parser.parse_args()

dist.init_process_group("gloo", timeout=datetime.timedelta(minutes=5))
rank, ranks = dist.get_rank(), dist.get_world_size()
torch.set_num_threads(1)
torch.manual_seed(0)  # The same weights and images on all ranks; each trains on its part of a batch.
inputs = torch.randn(1024, 16)
labels = (inputs[:, :4].sum(1) * inputs[:, 4:8].sum(1) > 0).long()
train, val = slice(0, 768), slice(768, 1024)

model = DistributedDataParallel(
    torch.nn.Sequential(torch.nn.Linear(16, config.hidden), torch.nn.ReLU(), torch.nn.Linear(config.hidden, 2)))
optimizer = torch.optim.SGD(model.parameters(), lr=config.lr, momentum=0.9)
first = 0
if tune.restored():
    saved = torch.load(tune.restored())
    model.module.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    first = saved["epoch"]
    print(f"rank {rank}: goes on from epoch {first}", flush=True)

for epoch in range(first, config.epochs):
    order = torch.randperm(768, generator=torch.Generator().manual_seed(epoch))
    for step in range(config.steps):
        batch = order[(torch.arange(64) + step * 64) % 768][rank::ranks]
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs[train][batch]), labels[train][batch]).backward()
        optimizer.step()
    with torch.no_grad():
        loss = torch.nn.functional.cross_entropy(model.module(inputs[val]), labels[val])
    goes_on = torch.ones(1)
    if rank == 0:
        path = tune.folder() / "model.pt"
        torch.save({"model": model.module.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch + 1}, path)
        try:
            tune.report(val_loss=loss.item(), checkpoint=path)
        except tune.Stop:
            goes_on[0] = 0
    dist.broadcast(goes_on, 0)
    if not goes_on:
        break
print(f"rank {rank} of {ranks} is done", flush=True)
dist.barrier()
dist.destroy_process_group()
