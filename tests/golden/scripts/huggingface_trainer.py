# The Trainer of Hugging Face, options in a dataclass.
from dataclasses import dataclass, field
from transformers import HfArgumentParser, Trainer, TrainingArguments
@dataclass
class ModelArguments:
    model_name: str = "bert"
    learning_rate: float = 5e-5
    warmup_ratio: float = 0.1
    num_labels: int = 2
    per_device_train_batch_size: int = field(default=16)
def compute_metrics(p):
    return {"accuracy": 0.5, "f1": 0.4}
parser = HfArgumentParser(ModelArguments)
trainer = Trainer(model=None, compute_metrics=compute_metrics)
trainer.train()
