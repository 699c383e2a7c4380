// What is read of a script's text before it is run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "trial_runner/command_spec.h"
#include "trial_runner/script_booleans.h"
#include "trial_runner/script_files.h"
#include "tuner/spec_reader.h"

namespace tune {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ScriptsTest : public testing::Test {
 protected:
  ScriptsTest() { std::filesystem::create_directories(folder_); }
  ~ScriptsTest() override { std::filesystem::remove_all(folder_); }

  CommandSpec SpecOf(const std::string& yaml) {
    const auto document = ParseYaml(yaml);
    EXPECT_TRUE(document.ok()) << document.status().message();
    auto spec = CommandSpec::Parse(*document);
    EXPECT_TRUE(spec.ok()) << spec.status().message();
    return *std::move(spec);
  }
  CommandSpec ScriptSpec(const std::string& text) {
    std::ofstream(folder_ + "/train.py") << text;
    return SpecOf("{command: [python3, train.py, --amp, '{amp}', '--tta={tta}', -n, '{n}']}");
  }
  std::vector<std::string> Misread(const std::string& text) {
    std::vector<std::string> read;
    for (const MisreadBoolean& one : MisreadBooleans(ScriptSpec(text), folder_)) {
      read.push_back(one.name + " as " + one.parameter + " " + one.how);
    }
    return read;
  }
  std::vector<std::string> OfCommand(const std::string& text) {
    return FilesOfTheCommand(SpecOf("{command: [bash, -c, \"" + text + "\"]}"));
  }
  std::vector<std::string> Newest(const std::string& text) {
    return NewestOnesTaken(ScriptSpec(text), folder_);
  }
  bool BySecond(const std::string& text) { return NamesBySecond(ScriptSpec(text), folder_); }

  const std::string folder_ = testing::TempDir() + "scripts_test";
};

TEST_F(ScriptsTest, AnOptionWithoutTypeTakesFalseForTrue) {
  const std::string option = "p.add_argument('--amp', default='')\nargs = p.parse_args()\n";
  const std::string as_bool =
      "the option --amp as amp as bool(...) does, for which each text is true, also false";
  for (const char* const use : {"if args.amp:\n", "if not args.amp:\n", "x = bool(args.amp)\n",
                                "x = 2 if args.amp else 1\n"}) {
    EXPECT_THAT(Misread(option + use), ElementsAre(as_bool)) << use;
  }
  EXPECT_THAT(Misread(option + "if args.amp == '1':\n"),
              ElementsAre("the option --amp as amp by a comparison with '1', which neither is"));
  EXPECT_THAT(Misread("p.add_argument(\"--tta\")\nif opt.tta:\n"),
              ElementsAre("the option --tta as tta as bool(...) does, for which each text is true, "
                          "also false"));
}

TEST_F(ScriptsTest, AnOptionThatTellsTrueFromFalseIsNotMisread) {
  for (const char* const script :
       {"p.add_argument('--amp', type=str2bool)\nif args.amp:\n",
        "p.add_argument('--amp', action='store_true')\nif args.amp:\n",
        "p.add_argument('--amp')\nif args.amp == 'true':\n",
        "p.add_argument('--amp')\nargs.amp = args.amp.lower() == 'true'\nif args.amp:\n",
        "p.add_argument('--amp')\nargs.amp = parse(args.amp)\nif args.amp:\n",
        "p.add_argument('--other')\nif args.amp:\n",
        "p.add_argument('--amp')\nprint(args.amp)\n"}) {
    EXPECT_THAT(Misread(script), IsEmpty()) << script;
  }
}

TEST_F(ScriptsTest, ACommandThatWritesValuesIntoAFileSharesIt) {
  EXPECT_THAT(OfCommand("sed s/LR/{lr}/ base.yaml > run.yaml; ./train run.yaml"),
              ElementsAre("run.yaml"));
  EXPECT_THAT(OfCommand("echo lr={lr} >config.py && python3 train.py"), ElementsAre("config.py"));
  EXPECT_THAT(OfCommand("sed -i s/lr=.*/lr={lr}/ run.cfg; ./train run.cfg"),
              ElementsAre("run.cfg"));
  EXPECT_THAT(OfCommand("./train {lr} > /tmp/out.txt; tail -1 /tmp/out.txt"),
              ElementsAre("/tmp/out.txt"));
  for (const char* const text :
       {"echo {lr} > {tune.dir}/run.yaml; ./train {tune.dir}/run.yaml",
        "echo {lr} > $TUNE_DIR/run.yaml; ./train $TUNE_DIR/run.yaml",
        "cd $(mktemp -d); echo {lr} > run.yaml; ./train run.yaml", "./train {lr} > log.txt",
        "./train {lr} 2>&1 | tee log.txt", "./train {lr} > /dev/null; cat /dev/null",
        "./train {lr} >> log.txt", "./train {lr}"}) {
    EXPECT_THAT(OfCommand(text), IsEmpty()) << text;
  }
}

TEST_F(ScriptsTest, TheNewestOfItsOwnFoldersMayBeAnotherTrials) {
  const std::string makes = "out = f'runs/exp{n}'\n";
  EXPECT_THAT(Newest(makes + "last = max(glob.glob('runs/exp*'), key=os.path.getmtime)\n"),
              ElementsAre("runs/exp*"));
  EXPECT_THAT(Newest(makes + "last = sorted(glob(\"runs/exp*\"))[-1]\n"), ElementsAre("runs/exp*"));
  for (const char* const text :
       {"last = sorted(glob('shards/*.tar'))[-1]\n", "for f in sorted(glob('runs/exp*')):\n",
        "# last = max(glob('runs/exp*'))\n"}) {
    EXPECT_THAT(Newest(makes + text), IsEmpty()) << text;
  }
  EXPECT_THAT(Newest(makes + "os.chdir(os.environ['TUNE_DIR'])\nlast = max(glob('runs/exp*'))\n"),
              IsEmpty());
}

TEST_F(ScriptsTest, AFolderNamedByTheSecondIsSharedByTrialsThatBeginTogether) {
  const std::string stamp = "stamp = time.strftime('%Y%m%d-%H%M%S')\nout = f'runs/{stamp}'\n";
  EXPECT_TRUE(BySecond(stamp + "os.makedirs(out, exist_ok=True)\n"));
  EXPECT_TRUE(BySecond("open(f'out-{int(time.time())}.json', 'w')\n"));
  EXPECT_TRUE(BySecond(stamp + "Path(out).mkdir(exist_ok=True)\n"));
  EXPECT_FALSE(
      BySecond("begin = int(time.time())\njson.dump({'s': begin}, open('m.json', 'w'))\n"));
  EXPECT_FALSE(BySecond(stamp + "os.makedirs(out)\n")) << "the second trial fails aloud";
  EXPECT_FALSE(BySecond(stamp + "print(stamp)\n"));
  EXPECT_FALSE(BySecond(stamp + "out += str(os.getpid())\nos.makedirs(out, exist_ok=True)\n"));
  EXPECT_FALSE(BySecond("stamp = time.strftime('%Y%m%d')\nos.makedirs(stamp, exist_ok=True)\n"));
}

}  // namespace
}  // namespace tune
