# Command-line options of typer, values between commas of print.
import typer
from typing import Literal
app = typer.Typer()
@app.command()
def train(lr: float = 3e-4, heads: int = typer.Option(8, help="x"), bias: bool = True, opt: str = "adamw", epochs: int = 2):
    for e in range(epochs):
        print("val_loss", lr * 2, "val_acc", 0.5 + lr)
if __name__ == "__main__":
    app()
