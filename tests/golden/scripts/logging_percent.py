# The module logging, percent signs, a needed option. Runs anywhere.
import logging, argparse
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
log = logging.getLogger(__name__)
p = argparse.ArgumentParser()
p.add_argument("--lr", type=float, required=True)
p.add_argument("--weight_decay", type=float, default=0.0)
p.add_argument("--num_layers", type=int, default=4)
a = p.parse_args()
for e in range(3):
    log.info("epoch %d train_loss=%.4f", e, 1.0)
    log.info("epoch %d val_acc=%.4f lr=%g", e, 0.5 + 0.1*e - a.lr, a.lr)
