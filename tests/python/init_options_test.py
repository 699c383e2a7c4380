"""`tune init`: options over which no sweep should search, and ranges that hold their defaults."""

import re
import unittest

from init_sharing_test import ARGUMENTS, PRINTED, space_of


class Amounts(unittest.TestCase):
    def test_how_long_and_how_often_is_no_parameter(self):
        names = ("num_seeds", "n-seeds", "runs", "num-runs", "n-episodes", "num_boost_round", "num-trials", "repetitions", "nrounds",
                 "restarts", "generations", "n-envs")
        script = ARGUMENTS + "".join(f"p.add_argument('--{n}', type=int, default=60)\n" for n in names) + PRINTED
        self.assertIn("left as they are: " + ", ".join("--" + n for n in names), space_of("train.py", script))

    def test_what_its_name_says_of_a_real_number_holds_of_no_whole_one(self):
        names = ("lr-step", "lr_step_size", "lr-patience", "lr-milestone", "lr-warmup")
        script = ARGUMENTS + "".join(f"p.add_argument('--{n}', type=int, default=30)\n" for n in names) + PRINTED
        self.assertIn("left as they are: " + ", ".join("--" + n for n in names), space_of("train.py", script))
        script = ARGUMENTS + "p.add_argument('--beta2', type=int, default=4)\n" + PRINTED
        self.assertIn("  beta2: {randint: [2, 9]} ", space_of("train.py", script))

    def test_of_a_whole_number_that_only_sounds_like_a_share_whole_ones_are_tried(self):
        names = ("bagging-freq", "dropout-layers", "momentum-steps", "subsample-freq")
        space = space_of("train.py", ARGUMENTS + "".join(f"p.add_argument('--{n}', type=int, default=5)\n" for n in names) + PRINTED)
        self.assertNotIn("uniform: [0.", space.replace("loguniform", ""))

    def test_what_counts_batches_is_no_size_of_one(self):
        names = ("num_batch", "num_batches", "log-every-n-batches", "batch-log-interval", "batches_per_epoch", "batch_workers", "warmup_batches")
        space = space_of("train.py", ARGUMENTS + "".join(f"p.add_argument('--{n}', type=int, default=50)\n" for n in names) + PRINTED)
        self.assertIn("left as they are: " + ", ".join("--" + n for n in names), space)
        self.assertNotIn("32", space_of("train.py", ARGUMENTS + "p.add_argument('--batch_norm', type=int, default=0)\n" + PRINTED))
        for name in ("batch", "bs", "train_batch_size", "batchSize", "per_gpu_train_batch_size", "mini_batch", "num_minibatches"):
            space = space_of("train.py", ARGUMENTS + f"p.add_argument('--{name}', type=int, default=50)\n" + PRINTED)
            self.assertIn(f"  {name}: {{choice: [25, 50, 100]}} ", space)

    def test_whole_numbers_get_whole_values_and_switches_zero_and_one(self):
        for name, default in (("use_dropout", 1), ("use_momentum", 1), ("use_bn", 1), ("bias", 1), ("bidirectional", 0), ("no_bias", 0), ("aug", 1)):
            space = space_of("train.py", ARGUMENTS + f"p.add_argument('--{name}', type=int, default={default})\n" + PRINTED)
            self.assertIn(f"  {name}: {{choice: [0, 1]}} ", space)
        for name, default in (("bagging_freq", 1), ("subsample_freq", 1), ("label_smoothing", 0), ("C", 1), ("use_gpu", 1), ("num_heads", 1), ("dropout", 0), ("momentum", 1)):
            space = space_of("train.py", ARGUMENTS + f"p.add_argument('--{name}', type=int, default={default})\n" + PRINTED)
            self.assertNotRegex(space, rf"\n  {name}: {{(?:log)?uniform|\n  {name}: .*choice: \[0, 1\]")

    def test_a_range_holds_the_default_and_nothing_that_the_name_rules_out(self):
        for name, default, expected in (("alpha", -1.0, None), ("lr-power", -0.5, None), ("cutmix-prob", 1.0, "[0.5, 1.0]"),
                                        ("epsilon-start", 1.0, "[0.5, 1.0]"), ("beta", 4.0, "[2.0, 8.0]"),
                                        ("lr-factor", 0.5, "[0.0, 0.95]"), ("lr_gamma", 0.9, "[0.8, 0.99]"), ("lr_warmup_ratio", 0.3, "[0.15, 0.6]"),
                                        ("alpha", 0.99, "[0.8, 0.999]"), ("distill_alpha", 0.9, "[0.8, 0.999]"), ("wd", "'1e-4'", "[1.0e-05, 0.001]"),
                                        ("eps", 1e-08, "[1.0e-09, 1.0e-07]"), ("gae_lambda", 0.95, "[0.8, 0.999]"), ("beta1", 0.9, "[0.8, 0.999]")):
            space = space_of("train.py", ARGUMENTS + f"p.add_argument('--{name}', type=float, default={default})\n" + PRINTED)
            self.assertIn(f"left as they are: --{name}" if expected is None else expected, space, name)

    def test_around_an_infinite_or_a_vast_number_no_range_is_made(self):
        script = ("INF = 1e400\n" + ARGUMENTS + "p.add_argument('--wd', type=float, default=1e308)\np.add_argument('--q', type=float, default=1e400)\n"
                  "p.add_argument('--norm', type=float, choices=[1e400, 2])\n" + PRINTED)
        self.assertIn("left as they are: --wd, --q, --norm", space_of("train.py", script))

    def test_a_ratio_of_two_penalties_is_between_none_and_all(self):
        script = ARGUMENTS + "p.add_argument('--l1_ratio', type=float, default=0.5)\n" + PRINTED
        self.assertIn("  l1_ratio: {uniform: [0.0, 1.0]} ", space_of("train.py", script))

    def test_a_switch_and_its_contrary_that_set_one_attribute_are_one_parameter(self):
        script = ARGUMENTS + ("p.add_argument('--bn', dest='bn', action='store_true')\np.add_argument('--no-bn', dest='bn', action='store_false')\n"
                              "p.set_defaults(bn=False)\n") + PRINTED
        space = space_of("train.py", script)
        self.assertIn("  bn: {choice: [--bn, --no-bn]} ", space)
        self.assertIn('--lr, "{lr}", "{bn}"]', space)
        self.assertNotIn("no_bn", space)

    def test_choices_are_words_that_argparse_takes(self):
        for option, domain in (("'--bias', type=eval, default=True, choices=[True, False]", '{choice: ["True", "False"]}'),
                               ("'--bias', type=ast.literal_eval, default=True, choices=[True, False]", '{choice: ["True", "False"]}'),
                               ("'--bias', type=lambda x: bool(int(x)), default=True", '{choice: ["1", "0"]}'),
                               ("'--bias', choices=['a', 'b', None], default='a'", '{choice: ["a", "b"]}')):
            space = space_of("train.py", ARGUMENTS + f"p.add_argument({option})\n" + PRINTED)
            self.assertIn(f"  bias: {domain} ", space)
        for option in ("default=False, choices=[True, False]", "choices=[1, 2]", "default=None, choices=['a', 'b', None]"):
            space = space_of("train.py", ARGUMENTS + f"p.add_argument('--bias', {option})\n" + PRINTED)
            self.assertIn("left as they are: --bias", space)


class Meaning(unittest.TestCase):
    """Options that change what the metric means are no parameters of a sweep."""

    def left(self, metric, *options, body=""):
        declared = "".join(f"p.add_argument({o})\n" for o in options)
        script = ARGUMENTS + declared + body + f"for e in (1, 2):\n    print(f'epoch {{e}} {metric} {{1 / e}}')\n"
        line = re.search(r"; (.*) \(changes? what (\w+) means\)|: ([^;]*) \(changes? what \w+ means\)", space_of("train.py", script))
        return (line.group(1) or line.group(3)).split(", ") if line else []

    def test_a_letter_or_a_ratio_that_says_what_the_data_are(self):
        told = ("'--n', type=int, default=100, help='number of samples'", "'--d', type=int, default=9, help='dimension of the data'",
                "'--ratio', type=float, default=0.8, help='train/test split ratio'")
        self.assertEqual(self.left("val_acc", *told), ["--n", "--d", "--ratio"])
        plain = ("'--n', type=int, default=100", "'--ratio', type=float, default=0.8", "'--p', type=float, default=0.2, help='of dropout'")
        self.assertEqual(self.left("val_acc", *plain), [])
        made = "a = p.parse_args()\nX, y = make_blobs(n_samples=a.n, centers=3)\nsplit(X, y, train_size=a.ratio)\n"
        self.assertEqual(self.left("val_acc", *plain, body=made), ["--n", "--ratio"])

    LOSS = "'--loss', choices=['mse', 'mae'], default='mse'"
    WEIGHT = "'--kl-weight', type=float, default=1.0"
    SMOOTHING = "'--label-smoothing', type=float, default=0.1"

    def test_the_loss_and_its_weights_beside_a_loss(self):
        self.assertEqual(self.left("val_loss", self.LOSS, self.WEIGHT, self.SMOOTHING, "'--criterion', choices=['ce', 'focal']"),
                         ["--loss", "--kl-weight", "--label-smoothing", "--criterion"])
        for metric in ("val_acc", "val_rmse"):
            self.assertEqual(self.left(metric, self.LOSS, self.WEIGHT, self.SMOOTHING), [], metric)
        self.assertEqual(self.left("val_loss", "'--weight-decay', type=float, default=0.1"), [])

    def test_what_no_word_says_to_be_of_the_training_is_shown_and_not_searched(self):
        options = ("'--features', choices=['M', 'S', 'MS'], default='M'", "'--lowercase', action='store_true'", "'--site', type=int, default=3",
                   "'--max-distance', type=float, default=80.0", "'--lr-site', type=float, default=0.1", "'--norm-reward', action='store_true'",
                   "'--block-size', type=int, default=128", "'--max-depth', type=float, default=80.0")
        script = ARGUMENTS + "".join(f"p.add_argument({o})\n" for o in options) + PRINTED
        space = space_of("train.py", script)
        self.assertIn("no word says that they are of the training", space)
        for line in ('# features: {choice: ["M", "S", "MS"]}   # and in the command: --features, "{features}"', "# lowercase: {choice: [true, false]}   # and lowercase_flag: {const: --lowercase, when: {lowercase: true}}; "
                     'in the command: ["{lowercase_flag}"]', "# norm_reward: {choice: [true, false]}",
                     '# block_size: {choice: [64, 128, 256]}   # and in the command: --block-size, "{block_size}"', "# max_depth: {uniform: [40.0, 160.0]}",
                     '# site: {randint: [1, 7]}   # and in the command: --site, "{site}"'):
            self.assertIn("  " + line, space)
        self.assertIn('--lr-site, "{lr_site}"]', space)
        asked = space_of("train.py", script, given="python3 train.py --site {site}")
        self.assertIn("  site: {randint: [1, 7]}", asked)

    def test_what_the_script_computes_its_loss_with(self):
        options = ["'--huber-delta', type=float, default=1.0", "'--reduction', choices=['mean', 'sum'], default='mean'",
                   "'--temperature', type=float, default=0.1", "'--lam', type=float, default=0.1", "'--gamma', type=float, default=2.0",
                   "'--p', type=int, default=2, help='norm of the error'"]
        body = "loss = mse + a.lam * l1\ncriterion = FocalLoss(gamma=a.gamma)\n"
        self.assertEqual(self.left("val_loss", *options, body=body), [o.split("'")[1] for o in options])
        self.assertEqual(self.left("val_acc", *options, body=body), [])
        lr = "'--rate', type=float, default=0.1"
        self.assertEqual(self.left("val_loss", lr, body="loss = train(a.rate, 3)\nparam -= a.rate * loss\n"), [])

    def test_what_belongs_to_the_measure_or_to_its_task(self):
        for metric, name in (("val_psnr", "scale"), ("val_ssim", "sigma"), ("val_ece", "bins"), ("val_dice", "smooth"),
                             ("val_pinball", "rho"), ("robust_acc", "eps")):
            option = f"'--{name}', type=float, default=0.5"
            self.assertEqual((self.left(metric, option), self.left("val_acc", option)), ([f"--{name}"], []), name)
        options = ["'--num-way', type=int, default=5", "'--shots', type=int, default=5", "'--unit', choices=['m', 'cm']",
                   "'--tokenizer', choices=['bpe', 'char']", "'--subject', type=int, default=3", "'--snr', type=float, default=10.0",
                   "'--class-id', type=int, default=2", "'--num-agents', type=int, default=2", "'--train-fraction', type=float, default=0.8", "'--lead-time', type=int, default=6",
                   "'--tweedie-variance-power', type=float, default=1.5", "'--ignore-background', action='store_true'"]
        self.assertEqual(self.left("val_acc", *options), [o.split("'")[1] for o in options])
        self.assertEqual(self.left("val_acc", "'--units', type=int, default=64"), [])

    def test_what_is_measured_and_on_what(self):
        options = ["'--horizon', type=int, default=12", "'--threshold', type=float, default=0.5", "'--window', type=int, default=10",
                   "'--noise', type=float, default=0.1", "'--subset', type=int, default=1000", "'--year', type=int, default=2020",
                   "'--reward-scale', type=float, default=1.0", "'--env', choices=['CartPole', 'Pendulum']",
                   "'--scoring', choices=['r2', 'neg_mse']", "'--top-n', type=int, default=10", "'--iou-thres', type=float, default=0.5"]
        self.assertEqual(self.left("val_acc", *options), [o.split("'")[1] for o in options])

    def test_how_it_is_measured_and_on_which_made_data(self):
        options = ["'--average', choices=['macro', 'micro'], default='macro'", "'--quantile', type=float, default=0.5",
                   "'--tolerance', type=float, default=0.1", "'--n-points', type=int, default=400", "'--num_points', type=int, default=400",
                   "'--sigma', type=float, default=0.5, help='noise of the synthetic data'",
                   "'--corruption', type=float, default=0.2", "'--difficulty', type=int, default=2", "'--imbalance-ratio', type=float, default=0.1",
                   "'--data-fraction', type=float, default=1.0", "'--subsample-data', type=float, default=1.0",
                   "'--input-dim', type=int, default=784", "'--in-channels', type=int, default=3",
                   "'--sample-rate', type=int, default=16000"]
        self.assertEqual(self.left("val_acc", *options), [o.split("'")[1] for o in options])

    def test_a_run_on_little_or_with_the_answer(self):
        options = [f"'--{name}', action='store_true'" for name in ("fast-dev-run", "tiny", "toy-data", "easy", "oracle", "debug")]
        options.append("'--overfit-batches', type=int, default=0")
        self.assertEqual(self.left("val_acc", *options), [o.split("'")[1] for o in options])

    def test_names_that_are_alike_are_searched(self):
        options = ("'--sigma', type=float, default=0.5, help='width of the kernel'", "'--tolerance', type=float, default=0.0001",
                   "'--sample-rate', type=float, default=0.8", "'--inducing-points', type=int, default=50", "'--easy-margin', action='store_true'",
                   "'--average', action='store_true'")
        self.assertEqual(self.left("val_acc", *options), [])

    def test_k_of_folds_and_k_of_the_nearest_neighbours(self):
        k = "'--k', type=int, default=5"
        for body in ("cv = KFold(n_splits=a.k)\n", "s = cross_val_score(m, x, y, cv=a.k)\n", "cv = StratifiedKFold(a.k)\n",
                     "print(f'fold {i}')\n"):
            self.assertEqual(self.left("val_acc", k, body=body), ["--k"], body)
        for body in ("m = KNeighborsClassifier(a.k)\ncv = KFold(5)\n", "import click\n@click.command()\ndef f(): pass\n"):
            self.assertEqual(self.left("val_acc", k, body=body), [], body)

    def test_k_of_the_metric_and_k_of_the_nearest_neighbours(self):
        k = "'--k', type=int, default=5"
        self.assertEqual((self.left("recall", k), self.left("acc", k)), (["--k"], []))

    def test_a_weight_between_the_parts_of_a_variational_autoencoder(self):
        beta = "'--beta', type=float, default=1.0"
        self.assertEqual((self.left("val_loss", beta, body="kl_div = 1\n"), self.left("val_loss", beta)), (["--beta"], []))


class Seeds(unittest.TestCase):
    """A seed that makes the split or the data is one for all trials; any other is each trial's own."""

    SEED = "p.add_argument('--seed', type=int, default=3)\na = p.parse_args()\n"
    LOOP = "for e in (1, 2):\n    order = rng.permutation(9)\n    print(f'val_acc {e}')\n"

    def reason(self, body, seed=SEED):
        """Why it is left; None: it is each trial's own."""
        space = space_of("train.py", ARGUMENTS + seed + body + self.LOOP)
        left = re.search(r"--seed( 0)? \((it makes the (?:split|data))\)", space)
        self.assertEqual('--seed, "{tune.seed}"' in space and "  # --seed: each trial has its own, {tune.seed}" in space, left is None, space)
        return left and left.group(2)

    def test_a_seed_that_makes_the_split_is_left(self):
        for body in ("t, v = train_test_split(x, test_size=0.2, random_state=a.seed)\n",
                     "cv = StratifiedKFold(5, shuffle=True, random_state=a.seed)\n",
                     "t, v = random_split(d, [8, 2], generator=torch.Generator().manual_seed(a.seed))\n",
                     "g = torch.Generator()\ng.manual_seed(a.seed)\nt, v = random_split(d, [8, 2], generator=g)\n",
                     "torch.manual_seed(a.seed)\nt, v = torch.utils.data.random_split(d, [8, 2])\n",
                     "rng = np.random.default_rng(a.seed)\nidx = rng.permutation(len(x))\n", "i = np.random.RandomState(a.seed).permutation(9)\n",
                     "random.seed(a.seed)\nrandom.shuffle(names)\n", "set_seed(a.seed)\nt, v = train_test_split(x)\n",
                     "def prepare(s):\n    return train_test_split(x, random_state=s)\nt, v = prepare(a.seed)\n",
                     "d = load_dataset('x').train_test_split(test_size=0.1, seed=a.seed)\n", "v = df.sample(frac=0.2, random_state=a.seed)\n",
                     "np.random.seed(a.seed)\nmask = np.random.rand(len(x)) < 0.8\n", "np.random.seed(a.seed)\nt = df.sample(frac=0.8)\n",
                     "t = ds.shuffle(99, seed=a.seed).take(80)\n"):
            self.assertEqual(self.reason(body), "it makes the split", body)

    def test_a_seed_that_makes_the_data_is_left(self):
        for body in ("x, y = make_classification(100, random_state=a.seed)\n", "x, y = load_data(seed=a.seed)\n",
                     "rng = random.Random(a.seed)\nseries = [0.0]\nfor _ in range(9):\n    series.append(0.5 * series[-1] + rng.gauss(0, 1))\n",
                     "rng = np.random.default_rng(a.seed)\nX = rng.normal(size=(9, 2))\n", "np.random.seed(a.seed)\nX = np.random.randn(9, 2)\n"):
            self.assertEqual(self.reason(body), "it makes the data", body)

    def test_a_seed_of_the_training_alone_is_each_trials_own(self):
        for body in ("m = MLPClassifier(random_state=a.seed)\nt, v = train_test_split(x, random_state=0)\n",
                     "torch.manual_seed(a.seed)\nd = DataLoader(t, shuffle=True)\n",
                     "rng = np.random.default_rng(a.seed)\nW = rng.normal(size=(4, 2))\n",
                     "np.random.seed(a.seed)\nfor e in (1, 2):\n    drop = np.random.rand(5) < 0.5\n",
                     "np.random.seed(0)\nX = np.random.randn(9)\nnp.random.seed(a.seed)\nw = np.random.randn(9)\n",
                     "np.random.seed(a.seed)\nX = np.random.default_rng(0).normal(size=9)\ncv = KFold(5)\n", "key = jax.random.PRNGKey(a.seed)\n"
                     "key, sub = jax.random.split(key)\n", "rng = random.Random(a.seed)\ndef batches():\n    return rng.permutation(9)\n"
                     "for e in (1, 2):\n    batches()\n"):
            self.assertIsNone(self.reason(body), body)

    def test_of_two_seeds_the_one_of_the_split_is_left(self):
        seeds = self.SEED.replace("a = p", "p.add_argument('--split-seed', type=int, default=1)\na = p")
        space = space_of("train.py", ARGUMENTS + seeds + "t, v = train_test_split(x, random_state=a.split_seed)\n" + self.LOOP)
        self.assertIn("; --split-seed (it makes the split)", space.replace("are: ", "; "))
        self.assertIn("  # --seed: each trial has its own, {tune.seed}\n", space)

    def test_without_a_default_one_number_is_given_to_all_trials(self):
        seed = "p.add_argument('--seed', type=int)\na = p.parse_args()\n"
        space = space_of("train.py", ARGUMENTS + seed + "t, v = train_test_split(x, random_state=a.seed)\n" + self.LOOP)
        self.assertIn('--seed, "0"', space)
        self.assertIn("--seed 0 (it makes the split)", space)


class Lengths(unittest.TestCase):
    """The number of iterations that the suggested scheduler counts to."""

    def length(self, body, *options):
        """(max_t, the comment on it)"""
        declared = "".join(f"p.add_argument({o})\n" for o in options)
        space = space_of("train.py", ARGUMENTS + declared + "a = p.parse_args()\n" + body)
        return re.search(r"max_t: ([^,]*), grace_period: 1\}\}   # stops poor trials early; (?:max_t: )?(.*)", space).groups()

    PRINT = "    print(f'epoch {e} val_loss {v}')\n"

    def test_it_is_that_of_the_loop_that_prints_the_metric(self):
        for body, count in (("NUM_EPOCHS = 200\nfor epoch in range(NUM_EPOCHS):\n", "200"), ("for epoch in tqdm(range(1, 201)):\n", "200"),
                            ("cfg = dict(epochs=50)\nfor epoch in range(cfg['epochs']):\n", "50"),
                            ("class Config:\n    epochs = 30\ncfg = Config()\nfor epoch in range(cfg.epochs):\n", "30"),
                            ("epochs: int = 9\nfor epoch in range(epochs):\n", "9"), ("for epoch in range(tune.iteration(), 8):\n", "8")):
            self.assertEqual(self.length(body + self.PRINT), (count, "epochs"), body)
        for option, name in (("'--max-iters', type=int, default=5000", "max_iters"),
                             ("'--num_train_epochs', type=int, default=5000", "num_train_epochs"),
                             ("'--n-iter', type=int, default=5000", "n_iter")):
            self.assertEqual(self.length(f"for i in range(a.{name}):\n" + self.PRINT, option), ("5000", "iterations"))
        self.assertEqual(self.length("for epoch in range(1 if a.quick else 6):\n" + self.PRINT, "'--quick', action='store_true'"), ("6", "epochs"))
        every = "'--eval-every', type=int, default=10"
        for body in ("for i in range(300):\n  if i % a.eval_every == 0:\n", "step = 0\nwhile step < 300:\n  step += 1\n  if step % 10 == 0:\n",
                     "for i in range(300):\n  if i % 10 != 0: continue\n  if True:\n"):
            self.assertEqual(self.length(body + self.PRINT, every), ("30", "iterations"), body)
        for body, count in (("for it in range(31):\n  if it % 10 == 0 or it == 30:\n", "5"), ("for i in range(6):\n  if i % 1 == 0 or i == 5:\n", "6")):
            self.assertEqual(self.length(body + self.PRINT), (count, "iterations"), body)
        self.assertEqual(self.length("def test():\n" + self.PRINT + "def main():\n    for epoch in range(7):\n        test()\nmain()\n")[0], "7")

    def test_where_it_is_not_known_it_is_to_be_given(self):
        said = ("...", "for max_t give how many values of val_loss a whole trial prints")
        for body in ("while True:\n", "for x in loader:\n", "for e in range(9):\n  for x in loader:\n", "for e in range(n()):\n",
                     "best = 9\nfor e in range(9):\n  v = f()\n  if v < best:\n"):
            self.assertEqual(self.length(body + self.PRINT, "'--epochs', type=int, default=4"), said, body)


class Ranges(unittest.TestCase):
    def test_the_default_lies_within_and_a_factor_stays_below_one(self):
        for option, domain in (("'--lr-decay', type=float, default=0.95", "lr_decay: {uniform: [0.9, 0.995]}"),
                               ("'--ema-decay', type=float, default=0.999", "ema_decay: {uniform: [0.998, 0.9999]}"),
                               ("'--lr-decay', type=float, default=0.1", "lr_decay: {uniform: [0.05, 0.2]}"),
                               ("'--weight-decay', type=float, default=0.5", "weight_decay: {loguniform: [0.05, 5.0]}"),
                               ("'--smoothing', type=float, default=0.9", "smoothing: {uniform: [0.8, 0.99]}"),
                               ("'--smoothing', type=float, default=0.1", "smoothing: {uniform: [0.0, 0.2]}"),
                               ("'--mom', type=float, default=0.9", "mom: {uniform: [0.5, 0.99]}"),
                               ("'--decay-rate', type=float, default=0.3", "decay_rate: {uniform: [0.15, 0.6]}"),
                               ("'--ema', type=float, default=0.8", "ema: {uniform: [0.6, 0.98]}"),
                               ("'--C', type=float, default=1.0", "C: {loguniform: [0.01, 100.0]}")):
            space = space_of("train.py", ARGUMENTS + f"p.add_argument({option})\n" + PRINTED)
            self.assertIn(f"\n  {domain}   #", space)


class NotSeen(unittest.TestCase):
    def test_options_made_in_a_loop_are_told(self):
        text = ARGUMENTS + "for name in names():\n    p.add_argument('--' + name, type=float)\n"
        self.assertIn("\n  # options made in a loop are not seen: '--' + name\n", space_of("train.py", text + PRINTED))
        self.assertNotIn("not seen", space_of("train.py", ARGUMENTS + PRINTED))

    def test_fields_of_classes_that_stand_elsewhere_are_told(self):
        text = ("from transformers import HfArgumentParser, TrainingArguments\n@dataclass\nclass Model:\n    rate: float = 0.1\n"
                "parser = HfArgumentParser((Model, TrainingArguments))\n")
        space = space_of("train.py", text + PRINTED)
        self.assertIn("\n  # options that are fields of TrainingArguments are not seen, such as --learning_rate: ", space)


class OfTheCommand(unittest.TestCase):
    """Options that the person's command gives already."""

    def space(self, given, *options):
        declared = "".join(f"p.add_argument({o})\n" for o in options)
        return space_of("train.py", ARGUMENTS + declared + PRINTED, given=given)

    def test_a_value_of_the_command_gives_the_range_and_stands_there_once(self):
        for given in ("torchrun --nproc 2 train.py --lr 0.3", "torchrun --nproc 2 train.py --lr=0.3"):
            space = self.space(given)
            self.assertIn('  command: [torchrun, --nproc, "2", train.py, --lr, "{lr}"]\n', space)
            self.assertIn("  lr: {loguniform: [0.03, 3.0]}   # a rate: on a log scale; the command gave 0.3\n", space)

    def test_what_is_not_searched_over_stays_as_it_is_given(self):
        options = ("'data'", "'--seed', type=int, default=0", "'--epochs', type=int, default=9")
        space = self.space("python3 train.py data.csv --seed 7 --epochs 5", *options)
        self.assertIn('  command: [python3, train.py, data.csv, --seed, "7", --epochs, "5", --lr, "{lr}"]\n', space)
        self.assertNotIn("TO DO", space)


class WhatAnOptionAccepts(unittest.TestCase):
    """A domain holds what the option takes, and its default."""

    def domains(self, text):
        return dict(re.findall(r"^  (\w+): (\{.*?\})   #", space_of("train.py", text + PRINTED), re.M))

    def test_choices_of_argparse(self):
        options = ("'--lr', type=float, choices=[0.1, 0.01], default=0.01", "'--layers', type=int, choices=range(1, 4), default=2",
                   "'--depth', type=int, choices=range(2, 9), default=4", "'--alpha', type=float, choices=ALPHAS, default=0.5",
                   "'--act', choices=ACTS.keys(), default='relu'", "'--width', type=int, choices=widths(), default=8")
        text = "ALPHAS = (0.5, 0.25)\nACTS = {'relu': 1, 'tanh': 2}\n" + ARGUMENTS.replace("p.add_argument('--lr', type=float, default=0.1)\n", "")
        self.assertEqual(self.domains(text + "".join(f"p.add_argument({o})\n" for o in options)),
                         {"lr": "{choice: [0.1, 0.01]}", "layers": "{choice: [1, 2, 3]}", "depth": "{randint: [2, 9]}",
                          "alpha": "{choice: [0.5, 0.25]}", "act": '{choice: ["relu", "tanh"]}'})

    def test_bounds_of_click(self):
        options = ("'--depth', type=click.IntRange(2, 6), default=3", "'--lr', type=click.FloatRange(0.001, 0.02), default=0.01",
                   "'--dropout', type=click.FloatRange(0, 1, min_open=True), default=0.1", "'--heads', type=click.IntRange(min=3), default=4",
                   "'--mixup', type=click.FloatRange(0, 1, min_open=True)", "'--opt', type=click.Choice(['sgd', 'profile']), default='sgd'")
        text = "import click\n@click.command()\n" + "".join(f"@click.option({o})\n" for o in options) + "def main(**o):\n    pass\nmain()\n"
        self.assertEqual(self.domains(text), {
            "depth": "{randint: [2, 7]}", "lr": "{loguniform: [0.001, 0.02]}", "dropout": "{uniform: [0.001, 0.6]}",
            "heads": "{choice: [3, 4, 8]}", "mixup": "{uniform: [0.001, 1.0]}", "opt": '{choice: ["sgd", "profile"]}'})

    def test_bounds_of_typer_and_absl(self):
        text = ("import typer\ndef main(lr: float = typer.Option(0.1, min=0.05, max=0.2), layers: int = typer.Option(2, min=2, max=3)):\n"
                "    pass\ntyper.run(main)\n")
        self.assertEqual(self.domains(text), {"lr": "{loguniform: [0.05, 0.2]}", "layers": "{randint: [2, 4]}"})
        text = ("from absl import flags\nflags.DEFINE_float('lr', 0.1, 'rate', lower_bound=0.05)\n"
                "flags.DEFINE_integer('depth', 3, 'depth', 1, 4)\n")
        self.assertEqual(self.domains(text), {"lr": "{loguniform: [0.05, 1.0]}", "depth": "{randint: [1, 5]}"})

    def test_choices_of_dataclasses(self):
        text = ("from simple_parsing import ArgumentParser, choice\nfrom typing import Literal, Optional\n@dataclass\nclass A:\n"
                "    lr: Literal[0.1, 0.01] = 0.1\n    depth: Optional[Literal[2, 4]] = 2\n    arch: Literal['profile', 'mlp'] = 'mlp'\n"
                "    act: str = choice('relu', 'tanh', default='relu')\n"
                "    wd: float = field(default=0.1, metadata={'choices': [0.1, 0.2]})\n    width: int = Field(8, ge=6, lt=16)\n")
        self.assertEqual(self.domains(text), {
            "lr": "{choice: [0.1, 0.01]}", "depth": "{choice: [2, 4]}", "arch": '{choice: ["profile", "mlp"]}',
            "act": '{choice: ["relu", "tanh"]}', "wd": "{choice: [0.1, 0.2]}", "width": "{choice: [6, 8, 15]}"})

    def test_defaults_that_are_set_later_or_outside(self):
        text = ARGUMENTS + "p.add_argument('--depth', type=int, default=3)\np.set_defaults(lr=0.5, depth=8)\n"
        text += "p.add_argument('--wd', type=float, default=float(os.environ.get('WD', '0.2')))\n"
        self.assertEqual(self.domains(text), {"lr": "{loguniform: [0.05, 5.0]}", "depth": "{randint: [4, 17]}", "wd": "{loguniform: [0.02, 2.0]}"})

    def test_words_that_may_be_missing(self):
        text = "import sys\ntry:\n    C = float(sys.argv[1])\nexcept IndexError:\n    C = 1.0\n"
        text += "act = sys.argv[2] if len(sys.argv) > 2 else 'relu'\nprint('val_acc:', 0.5)\n"
        space = space_of("train.py", text)
        self.assertEqual(self.domains(text)["C"], self.domains(ARGUMENTS + "p.add_argument('--C', type=float, default=1.0)\n")["C"])
        self.assertIn('command: [python3, train.py, "{C}", relu]', space)
        self.assertIn("# left as they are: act", space)

    def test_a_case_of_a_shell_script_in_one_line(self):
        text = ('lr=0.1; hidden=32\nwhile getopts "l:h:" o; do case $o in l) lr=$OPTARG;; h) hidden=$OPTARG;; esac; done\n'
                'echo "accuracy: $lr"\n')
        space = space_of("train.sh", text)
        self.assertIn('-l, "{lr}", -h, "{hidden}"]', space)
        self.assertIn("  lr: {loguniform: [0.01, 1.0]} ", space)

    def test_switches_and_texts_of_the_environment(self):
        text = ("import os\nbn = os.environ.get('USE_BN', '0') == '1'\nema = bool(int(os.getenv('EMA', '1')))\n"
                "sched = os.environ.get('SCHED', 'cosine')\nwhere = os.environ.get('DATA_DIR', 'data')\n"
                "mode = os.environ.get('WANDB_MODE', 'offline')\nkey = os.environ.get('API_KEY', 'none')\nprint('val_acc:', 0.5)\n")
        space = space_of("train.py", text)
        self.assertEqual(self.domains(text), {"use_bn": "{choice: [0, 1]}", "ema": "{choice: [0, 1]}"})
        self.assertIn("# left as they are: sched\n", space)

    def test_what_is_said_of_a_script_that_prints_nothing_known(self):
        text = "import math, sys\nlr = float(sys.argv[1])\nopen('x.csv', 'w').write(str(math.log10(lr)))\n"
        self.assertIn("it seems to print nothing. Let it print its value", space_of("train.py", text))
        self.assertIn("Run it once: `tune init train.py --log FILE` reads", space_of("train.py", text + "print(lr)\n"))

    def test_values_of_an_ini_file(self):
        text = "import configparser, sys\ncfg = configparser.ConfigParser()\ncfg.read(sys.argv[1])\nprint('val_acc:', cfg.getfloat('train', 'lr'))\n"
        self.assertIn("# TO DO: the script reads values from an INI file, which is not looked into.", space_of("train.py", text))

    def test_a_default_that_its_name_does_not_foresee(self):
        text = ARGUMENTS + "p.add_argument('--momentum', type=float, default=0.0)\np.add_argument('--subsample', type=float, default=0.3)\n"
        self.assertEqual(self.domains(text), {"lr": "{loguniform: [0.01, 1.0]}", "momentum": "{uniform: [0.0, 0.99]}",
                                              "subsample": "{uniform: [0.3, 1.0]}"})


if __name__ == "__main__":
    unittest.main()
