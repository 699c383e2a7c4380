# Command-line options of click, f-strings in percent and with exponents.
import click
@click.command()
@click.option("--learning-rate", "-l", default=1e-3, type=float, show_default=True)
@click.option("--hidden", default=128)
@click.option("--dropout", default=0.1)
@click.option("--shuffle/--no-shuffle", default=True)
@click.option("--activation", type=click.Choice(["relu", "gelu"]), default="relu")
@click.option("--epochs", default=3)
def main(learning_rate, hidden, dropout, shuffle, activation, epochs):
    for epoch in range(epochs):
        val_loss = (learning_rate - 0.01) ** 2 + 1/(epoch+1)
        click.echo(f"epoch {epoch}: train loss {val_loss*1.1:.3e}, val loss {val_loss:.3e}, val acc {1-val_loss/2:.2%}")
if __name__ == "__main__": main()
