# Options from the environment; bars on standard error. Runs anywhere.
import os
import sys

lr = float(os.environ.get("LR", "0.1"))
hidden = int(os.getenv("HIDDEN", 64))
for epoch in range(1, 4):
    for step in range(1, 4):
        sys.stderr.write(f"\rEpoch {epoch}: {step}/3 |{'#' * step}| [00:01<00:00, {step}.1it/s, loss={lr / epoch:.3f}]")
    sys.stderr.write("\n")
    print("Epoch %d: dev_f1=%.4f" % (epoch, 1 - lr / epoch), flush=True)
print("Training finished. Best dev_f1=%.4f" % (1 - lr / 3))
