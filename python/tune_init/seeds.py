"""What a script does with its seed: where that makes the split or the data, trials with seeds of their own are not to be compared."""

import ast
import re

from domains import is_seed
from lines import places_of
from measures import words_of
from options import dotted

SPLIT, DATA = "it makes the split", "it makes the data"
SPLITTERS = ("train_test_split", "train_val_split", "train_valid_split", "random_split", "KFold", "StratifiedKFold", "GroupKFold",
             "StratifiedGroupKFold", "RepeatedKFold", "RepeatedStratifiedKFold", "ShuffleSplit", "StratifiedShuffleSplit",
             "GroupShuffleSplit", "sample")
# Of a call that parts the data, whatever its name is.
SPLIT_WORDS = ("test_size", "train_size", "val_size", "valid_size", "validation_size", "validation_split", "val_split",
               "test_split", "val_fraction", "n_splits")
MADE_DATA = re.compile(r"make_(?:\w*classification|regression|blobs|moons|circles|gaussian_quantiles|hastie_10_2|friedman\d|low_rank_matrix|s_curve|"
                       r"sparse_\w+|swiss_roll|checkerboard|biclusters)$|resample$")
# Of functions whose insides are not looked into: load_data(seed), make_folds(seed).
WORDS = {"split": SPLIT, "splits": SPLIT, "fold": SPLIT, "folds": SPLIT, "data": DATA, "dataset": DATA, "datasets": DATA}
NO_MAKERS = ("loader", "loaders", "augment", "augmentation", "parallel", "sampler", "collator", "seed", "seeds", "module")
GENERATORS = ("RandomState", "default_rng", "Random", "Generator", "manual_seed", "PRNGKey", "key", "SeedSequence", "PCG64",
              "MT19937", "check_random_state", "int", "split", "spawn", "fold_in")
SEEDERS = {"np.random.seed": "numpy", "numpy.random.seed": "numpy", "random.seed": "random", "torch.manual_seed": "torch"}
SEEDERS_OF_ALL = re.compile(r"(?:set_|fix_)?(?:global_|random_|all_)?seeds?(?:_everything|_all)?$|seed_everything$|set_random_seeds?$|seed_all$")
MODULES = (("np.random.", "numpy"), ("numpy.random.", "numpy"), ("random.", "random"), ("torch.", "torch"))
ORDERS = ("permutation", "permuted", "shuffle", "randperm", "choice", "sample")
DRAWS = ("normal", "randn", "standard_normal", "uniform", "rand", "random", "randint", "integers", "multivariate_normal", "binomial",
         "poisson", "bernoulli", "gauss", "exponential", "laplace", "random_sample")
OF_DATA = ("x", "xs", "xx", "y", "ys", "yy", "data", "dataset", "input", "inputs", "target", "targets", "label", "labels", "feature", "features",
           "noise", "px", "prices", "rows", "records", "docs", "sentences", "tokens", "train", "val", "valid", "test", "images", "signal", "series", "points", "samples", "xtrain", "ytrain", "xtr", "ytr")

MASKS = ("mask", "masks", "msk", "split", "fold", "folds", "holdout", "sel", "selected", "train", "test", "val", "valid", "idx")  # rand(n) < 0.8


class Seeds:
    """The uses of the seed options of one module."""

    def __init__(self, tree, options):
        self.tree, self.nodes, self.places = tree, list(ast.walk(tree)), places_of(tree)
        self.calls = [n for n in self.nodes if isinstance(n, ast.Call)]
        self.functions = {n.name: n for n in self.nodes if isinstance(n, ast.FunctionDef)}
        self.names = {re.split(r"\W", o.flag.lstrip("-"))[-1].lower() or o.name for o in options}
        self.names |= {o.name for o in options}
        self.compared = {n for c in self.nodes if isinstance(c, ast.Compare) for n in ast.walk(c.left) if isinstance(n, ast.Call)}
        self.appended = set()  # Calls whose values are added to a list.
        self.drawn = set()  # What holds the seed, or a generator that it begins: variables by their text.
        self.seedings = []  # (line, module, whether by the seed)
        for _ in range(4):  # One holds what another does.
            self.follow()

    def is_seed(self, node):
        """Whether the expression is the seed, or a generator made from it."""
        if isinstance(node, (ast.Name, ast.Attribute)):
            last = node.id if isinstance(node, ast.Name) else node.attr
            return last.lower() in self.names or ast.unparse(node) in self.drawn
        if isinstance(node, ast.Subscript):
            key = node.slice.value if isinstance(node.slice, ast.Constant) else None
            return key in self.names or self.is_seed(node.value)
        if isinstance(node, ast.Call):
            name = dotted(node.func).split(".")[-1]
            owner = [node.func.value] if isinstance(node.func, ast.Attribute) else []
            return name in GENERATORS and any(map(self.is_seed, [*given_to(node), *owner]))
        parts = {ast.BinOp: ("left", "right"), ast.IfExp: ("body", "orelse")}.get(type(node), ())
        return any(self.is_seed(getattr(node, part)) for part in parts) or isinstance(node, ast.BoolOp) and any(map(self.is_seed, node.values))

    def follow(self):
        """Adds what is assigned, given to functions of the script, or seeded with what is known by now."""
        for node in self.nodes:
            if isinstance(node, ast.Assign) and self.is_seed(node.value):
                self.drawn |= {ast.unparse(n) for t in node.targets for n in (t.elts if isinstance(t, ast.Tuple) else [t])}
            elif isinstance(node, ast.NamedExpr) and self.is_seed(node.value):
                self.drawn.add(ast.unparse(node.target))
        self.seedings = []
        for call in self.calls:
            name = dotted(call.func)
            function = self.functions.get(name.split(".")[-1])
            is_seeded = any(map(self.is_seed, given_to(call)))
            if function is not None and is_seeded:
                parameters = [a.arg for a in function.args.args if a.arg not in ("self", "cls")]
                given = [*zip(parameters, call.args), *((k.arg, k.value) for k in call.keywords if k.arg)]
                self.drawn |= {parameter for parameter, value in given if self.is_seed(value)}
            elif name in SEEDERS:
                self.seedings.append((call.lineno, SEEDERS[name], is_seeded))
            elif SEEDERS_OF_ALL.match(name.split(".")[-1]) and function is None:
                self.seedings += [(call.lineno, module, is_seeded) for module in ("numpy", "random", "torch")]
            elif name.endswith(".manual_seed") and is_seeded:
                self.drawn.add(ast.unparse(call.func.value))

    def is_module_seeded(self, module, line):
        """Whether what the module draws at this line hangs on the seed: by the last call before it, else by any."""
        found = sorted((at, by_seed) for at, of, by_seed in self.seedings if of == module)
        before = [by_seed for at, by_seed in found if at < line]
        return before[-1] if before else any(by_seed for _, by_seed in found)

    def is_drawn(self, call):
        """Whether the seed decides what the call gives."""
        name = dotted(call.func)
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        if any(map(self.is_seed, given_to(call))) or owner is not None and self.is_seed(owner):
            return True
        words = {k.arg: ast.unparse(k.value) for k in call.keywords if k.arg}
        if {"random_state", "seed", "rng", "generator"} & set(words) or owner is not None and any(isinstance(n, ast.Call) for n in ast.walk(owner)):
            return False  # Of a generator of its own.
        module = next((module for begin, module in MODULES if name.startswith(begin)), "")
        module = module or {"random_split": "torch"}.get(name.split(".")[-1], "")
        if not module and name.split(".")[-1] in SPLITTERS and name != "sample":
            is_plain = name.split(".")[-1].endswith("KFold") and not name.split(".")[-1].startswith("Repeated")
            is_shuffled = words.get("shuffle", str(not is_plain)) != "False"
            module = "numpy" if is_shuffled and not name.endswith(".sample") else ""
        if name.endswith(".sample") and {"frac", "n"} & set(words) and owner is not None and not self.is_source(owner):
            module = "numpy"  # Of a data frame.
        return bool(module) and self.is_module_seeded(module, call.lineno)

    def use_of(self, call, targets):
        """SPLIT, DATA or "" of a call and the names that its value is given."""
        last = dotted(call.func).split(".")[-1]
        _, depth, _ = self.places.get(call, (None, 0, []))
        if last in ("take", "skip") and any(self.is_seeded_shuffle(n) for n in ast.walk(call.func)):
            return SPLIT
        if last not in SPLITTERS + ORDERS + DRAWS and not self.is_other_maker(call, last):
            return ""
        is_of_dataset = last == "shuffle" and isinstance(call.func, ast.Attribute) and not self.is_source(call.func.value)
        if is_of_dataset or not self.is_drawn(call) or any(k.arg == "shuffle" and ast.unparse(k.value) == "False" for k in call.keywords):
            return ""
        if last in SPLITTERS and (last != "sample" or any(k.arg in ("random_state", "frac") for k in call.keywords)):
            return SPLIT
        if last in DRAWS and depth == 0 and call in self.compared and any(set(words_of(name)) & set(MASKS) for name in targets):
            return SPLIT
        if last in ORDERS:
            if last == "choice" and is_named_as_data(targets):
                return DATA
            return SPLIT if depth == 0 else ""  # Else of the batches.
        if last in DRAWS:
            return DATA if (depth == 0 or call in self.appended) and is_named_as_data(targets) else ""
        if MADE_DATA.match(last):
            return DATA
        return SPLIT if any(k.arg in SPLIT_WORDS for k in call.keywords) else next(WORDS[w] for w in words_of(last) if w in WORDS)

    def is_seeded_shuffle(self, node):
        """Of tf.data: shuffle(1000, seed=seed)."""
        return isinstance(node, ast.Call) and dotted(node.func).split(".")[-1] == "shuffle" and any(map(self.is_seed, given_to(node)))

    @staticmethod
    def is_other_maker(call, last):
        """Whether the call makes data or a split by its name or its words."""
        words = set(words_of(last))
        is_named = bool(words & set(WORDS)) and not words & set(NO_MAKERS) and last not in GENERATORS
        return is_named or bool(MADE_DATA.match(last)) or any(k.arg in SPLIT_WORDS for k in call.keywords)

    def is_source(self, node):
        """Whether the expression draws by chance: a generator, or a module that has one."""
        return self.is_seed(node) or dotted(node) in ("random", "np.random", "numpy.random", "jax.random") or dotted(node).endswith(("utils", "rng"))

    def use(self):
        """SPLIT or DATA, where the seed reaches one; "" for others."""
        targets = {}  # Of a call within an assigned value.
        for node in self.nodes:
            if isinstance(node, (ast.Assign, ast.Return)) and node.value is not None:
                names = [ast.unparse(n).split(".")[-1] for t in getattr(node, "targets", []) for n in (t.elts if isinstance(t, ast.Tuple) else [t])]
                targets.update((inner, names) for inner in ast.walk(node.value) if isinstance(inner, ast.Call))
        for call in self.calls:  # series.append(rng.gauss(0, 1))
            if isinstance(call.func, ast.Attribute) and call.func.attr in ("append", "extend") and call.args:
                inner = [n for n in ast.walk(call.args[0]) if isinstance(n, ast.Call)]
                targets.update((n, [ast.unparse(call.func.value).split(".")[-1]]) for n in inner)
                self.appended.update(inner)
        found = {self.use_of(call, targets.get(call, [])) for call in self.calls}
        return next((use for use in (SPLIT, DATA) if use in found), "")


def is_named_as_data(names):
    return any(words_of(name)[:1] and words_of(name)[0] in OF_DATA for name in names)


def given_to(call):
    return [*call.args, *(k.value for k in call.keywords)]


def use_of_seeds(trees, options):
    """name: what the seed option makes, SPLIT or DATA, in any of the script's modules; those of the training alone are not named."""
    found = {}
    for option in (o for o in options if is_seed(o.name)):
        named = next((WORDS[w] for w in words_of(option.name) if w in WORDS), "")  # "--split-seed"
        uses = {named or Seeds(tree, [option]).use() for tree in trees}
        use = next((use for use in (SPLIT, DATA) if use in uses), "")
        found.update({option.name: use} if use else {})
    return found
