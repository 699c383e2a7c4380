# Flags of absl.
from absl import app, flags
FLAGS = flags.FLAGS
flags.DEFINE_float("lr", 1e-2, "x")
flags.DEFINE_integer("batch", 32, "x")
flags.DEFINE_enum("opt", "sgd", ["sgd", "lamb"], "x")
def main(_):
    for i in range(3):
        print("step %d: loss = %.4f, eval/accuracy = %.4f" % (i, 1.0 / (i+1), 0.5))
app.run(main)
