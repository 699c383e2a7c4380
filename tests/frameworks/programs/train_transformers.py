"""Hugging Face's Trainer, which keeps its two latest checkpoints itself, with shuffled data and dropout."""

import torch
import transformers
import tune
from transformers_test import examples
from tune.transformers import ReportCallback


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(
            torch.nn.Linear(4, 8), torch.nn.Dropout(0.3), torch.nn.Tanh(), torch.nn.Linear(8, 1)
        )

    def forward(self, inputs=None, labels=None):
        answers = self.net(inputs)
        return {"loss": torch.nn.functional.mse_loss(answers, labels), "logits": answers}


transformers.set_seed(tune.seed())
trainer = transformers.Trainer(
    Model(),
    transformers.TrainingArguments(
        output_dir=str(tune.folder()),
        eval_strategy="epoch",
        save_strategy="epoch",
        save_total_limit=2,
        num_train_epochs=40,
        per_device_train_batch_size=4,
        learning_rate=tune.config()["lr"],
        use_cpu=True,
        report_to=[],
        disable_tqdm=True,
        logging_strategy="no",
        seed=tune.seed(),
    ),
    train_dataset=examples(),
    eval_dataset=examples(),
    callbacks=[ReportCallback("eval_loss", checkpoint=True)],
)
trainer.train(resume_from_checkpoint=tune.restored())
