"""Reference for transform_peer_test: torchvision's transforms with fixed parameters.

usage: torchvision_transforms.py FOLDER. Reads FOLDER/cases.txt, a line a case: "<png> <size> <operation> <value>", and
writes FOLDER/<line number>.rgb, the resulting image's bytes. Ends with status 77 where torchvision is absent.
"""

import sys

try:
    from PIL import Image
    import torchvision.transforms as transforms
    import torchvision.transforms.functional as functional
except ImportError:
    sys.exit(77)

OPERATIONS = {
    "resize": lambda image, value: image,
    "flip": lambda image, value: functional.hflip(image),
    "rotate": lambda image, value: functional.rotate(image, value),
    "brightness": functional.adjust_brightness,
    "contrast": functional.adjust_contrast,
    "saturation": functional.adjust_saturation,
    "hue": functional.adjust_hue,
}

folder = sys.argv[1]
with open(f"{folder}/cases.txt", encoding="utf-8") as cases:
    for number, line in enumerate(cases):
        name, size, operation, value = line.split()
        image = Image.open(f"{folder}/{name}").convert("RGB")
        image = transforms.CenterCrop(int(size))(transforms.Resize(int(size))(image))
        image = OPERATIONS[operation](image, float(value))
        with open(f"{folder}/{number}.rgb", "wb") as out:
            out.write(image.tobytes())
