# An example of PyTorch's form: argparse, str.format, a summary of two values. Runs anywhere.
import argparse, random
BATCH = 64
def main():
    parser = argparse.ArgumentParser(description='MNIST')
    parser.add_argument('--batch-size', type=int, default=BATCH, metavar='N')
    parser.add_argument('--test-batch-size', type=int, default=1000)
    parser.add_argument('--epochs', type=int, default=3)
    parser.add_argument('--lr', type=float, default=1.0, metavar='LR')
    parser.add_argument('--gamma', type=float, default=0.7)
    parser.add_argument('--no-cuda', action='store_true', default=False)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--log-interval', type=int, default=10)
    parser.add_argument('--optimizer', choices=['sgd','adam'], default='sgd')
    parser.add_argument('--nesterov', action='store_true')
    parser.add_argument('--data-dir', default='./data')
    args = parser.parse_args()
    random.seed(args.seed)
    for epoch in range(1, args.epochs + 1):
        for b in range(2):
            loss = 1/(epoch+b)
            print('Train Epoch: {} [{}/{} ({:.0f}%)]\tLoss: {:.6f}'.format(epoch, b, 10, 10*b, loss))
        test_loss = abs(args.lr-0.3)/epoch; correct = 9000+epoch
        print('\nTest set: Average loss: {:.4f}, Accuracy: {}/{} ({:.0f}%)\n'.format(test_loss, correct, 10000, 100. * correct / 10000))
main()
