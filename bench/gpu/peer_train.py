"""The lab's way to train a trial: PyTorch, torchvision's MobileNetV2 and transforms, JPEGs decoded in each epoch by loader
processes, bf16 autocast and channels_last where there is a GPU. A trial of `tune`, by its Python module.

    peer_train.py DATA IMAGE_SIZE LOADERS
"""
import os
import sys

import torch
import torchvision
from torchvision import transforms

import tune

MEAN, DEVIATION = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def loaders(data, size, batch_size, workers):
    training = transforms.Compose([
        transforms.Resize(size), transforms.CenterCrop(size), transforms.RandomHorizontalFlip(),
        transforms.RandomRotation(15), transforms.ColorJitter(0.2, 0.2, 0.2, 0.1), transforms.ToTensor(),
        transforms.Normalize(MEAN, DEVIATION)])
    plain = transforms.Compose([
        transforms.Resize(size), transforms.CenterCrop(size), transforms.ToTensor(),
        transforms.Normalize(MEAN, DEVIATION)])
    for split, transform in (("training", training), ("validation", plain)):
        images = torchvision.datasets.ImageFolder(os.path.join(data, split), transform)
        yield torch.utils.data.DataLoader(
            images, batch_size, shuffle=split == "training", num_workers=workers, persistent_workers=workers > 0,
            pin_memory=torch.cuda.is_available(), drop_last=split == "training")


def main():
    data, size, workers = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    config = tune.config()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.backends.cudnn.benchmark = True
    torch.manual_seed(1)
    model = torchvision.models.mobilenet_v2(num_classes=11, width_mult=config["width_mult"],
                                            dropout=config["dropout_probability"])
    model = model.to(device, memory_format=torch.channels_last)
    adam = torch.optim.Adam(model.parameters(), lr=config["lr"], fused=device.type == "cuda")
    training, validation = loaders(data, size, int(config["batch_size"]), workers)

    def loss_of(images, labels):
        images = images.to(device, non_blocking=True, memory_format=torch.channels_last)
        labels = labels.to(device, non_blocking=True)
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            scores = model(images)
        return torch.nn.functional.cross_entropy(scores.float(), labels), scores, labels

    checkpoint = tune.folder() / "model.pt"
    for _ in range(int(config["total_epochs"])):
        model.train()
        for images, labels in training:
            adam.zero_grad(set_to_none=True)
            loss, _, _ = loss_of(images, labels)
            loss.backward()
            adam.step()
        model.eval()
        hits = torch.zeros((), device=device)
        with torch.no_grad():
            for images, labels in validation:
                _, scores, labels = loss_of(images, labels)
                hits += (scores.argmax(1) == labels).sum()
        torch.save({"model": model.state_dict(), "adam": adam.state_dict()}, checkpoint)
        tune.report(val_accuracy=float(hits) / len(validation.dataset), checkpoint=checkpoint)


if __name__ == "__main__":  # The loaders may import this.
    main()
