"""The peer's training step: torchvision's MobileNetV2 in PyTorch, channels_last, bf16 autocast, fused Adam, the whole step a
CUDA graph, one batch lying on the card.

    peer_step.py WIDTH SIZE BATCH SECONDS [cpu]

Prints "ready", waits for a line, trains for so many seconds and prints images/s: so that several begin together. On
the CPU, without graph and autocast, it is there to be tried out.
"""
import sys
import time

import torch
import torchvision


def make_step(width, size, batch, device):
    torch.manual_seed(1)
    torch.backends.cudnn.benchmark = True
    on_card = device == "cuda"
    model = torchvision.models.mobilenet_v2(num_classes=11, width_mult=width)
    model = model.to(device, memory_format=torch.channels_last).train()
    options = {"fused": True, "capturable": True} if on_card else {}
    adam = torch.optim.Adam(model.parameters(), lr=1e-4, **options)
    images = torch.randn(batch, 3, size, size, device=device).to(memory_format=torch.channels_last)
    labels = torch.arange(batch, device=device) % 11

    def step():
        adam.zero_grad(set_to_none=True)
        with torch.autocast(device, torch.bfloat16, enabled=on_card):
            scores = model(images)
        torch.nn.functional.cross_entropy(scores.float(), labels).backward()
        adam.step()

    if not on_card:
        return step, lambda: None
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(5):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    adam.zero_grad(set_to_none=True)
    with torch.cuda.graph(graph):
        step()
    return graph.replay, torch.cuda.synchronize


def main():
    width, size, batch, seconds = float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
    step, wait = make_step(width, size, batch, sys.argv[5] if len(sys.argv) > 5 else "cuda")
    for _ in range(3):
        step()
    wait()
    print("ready", flush=True)
    sys.stdin.readline()
    steps, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < seconds:
        for _ in range(10):
            step()
        wait()
        steps += 10
    print(batch * steps / (time.perf_counter() - begin), flush=True)


main()
