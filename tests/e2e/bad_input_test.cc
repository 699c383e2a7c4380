// What a person gets wrong: one clear line with place and remedy, exit status 2, nothing half-made.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/e2e/program.h"

namespace tune::testing {
namespace {

constexpr char kGood[] =
    "trainable: {curve: {value: \"x + t\"}}\nmetric: loss\nmode: min\nsamples: 2\nspace: {x: "
    "{uniform: [0, 1]}}\n";

struct BadSpec {
  const char* name;
  std::string text;
  std::vector<std::string> says;  // All of these stand in the one line.
};

void PrintTo(const BadSpec& spec, std::ostream* out) { *out << spec.name; }

std::string Curve(const std::string& rest) {
  return "trainable: {curve: {value: \"1 + t\"}}\nmetric: loss\nmode: min\n" + rest;
}
std::string Food(const std::string& space, const std::string& metric = "val_accuracy") {
  return "trainable: food11\nmetric: " + metric + "\nmode: max\nspace: {" + space + "}\n";
}

class BadSpecs : public ::testing::TestWithParam<BadSpec> {};

TEST_P(BadSpecs, IsOneLineWithItsPlaceAndNothingIsMade) {
  TestFolder folder;
  const std::string space = folder.Write("space.yaml", GetParam().text);
  const ProgramResult result = RunTune(folder, {"run", space});
  EXPECT_EQ(result.exit_status, 2) << result.err;
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  for (const std::string& words : GetParam().says) {
    EXPECT_NE(result.err.find(words), std::string::npos)
        << "expected '" << words << "' in: " << result.err;
  }
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(folder.Names(), std::vector<std::string>{"space.yaml"});
}

INSTANTIATE_TEST_SUITE_P(
    Table, BadSpecs,
    ::testing::Values(
        BadSpec{"yaml_syntax", "metric: [loss\nmode: min\n", {"space.yaml:"}},
        BadSpec{"unknown_key", Curve("sampels: 4\n"), {"space.yaml:4:1", "sampels", "samples"}},
        BadSpec{"unknown_nested_key",
                Curve("scheduler: {asha: {max_tt: 4}}\n"),
                {":4:", "max_tt", "max_t"}},
        BadSpec{"unknown_scheduler", Curve("scheduler: {ashaa: {max_t: 4}}\n"), {"ashaa", "asha"}},
        BadSpec{"unknown_domain", Curve("space: {x: {unifrom: [0, 1]}}\n"), {"unifrom", "uniform"}},
        BadSpec{"duplicate_key", Curve("samples: 4\nsamples: 5\n"), {":5:", "samples"}},
        BadSpec{"wrong_type", Curve("samples: many\n"), {":4:10", "samples", "many"}},
        BadSpec{"missing_metric", "trainable: {curve: {value: \"1\"}}\nmode: min\n", {"metric"}},
        BadSpec{"wrong_mode",
                "trainable: {curve: {value: \"1\"}}\nmetric: loss\nmode: maximise\n",
                {"max", "min"}},
        BadSpec{"lo_not_below_hi",
                Curve("space: {x: {uniform: [1, 1]}}\n"),
                {":4:26:", "uniform", "lo"}},
        BadSpec{"empty_choice", Curve("space: {x: {choice: []}}\n"), {":4:", "choice"}},
        BadSpec{"log_at_zero", Curve("space: {x: {loguniform: [0, 1]}}\n"), {":4:", "loguniform"}},
        BadSpec{"not_a_multiple_of_q",
                Curve("space: {x: {quniform: [0, 1, 0.3]}}\n"),
                {":4:", "quniform"}},
        BadSpec{"grace_above_max",
                Curve("scheduler: {asha: {max_t: 4, grace_period: 5}}\n"),
                {"grace_period", "max_t"}},
        BadSpec{"reduction_below_two",
                Curve("scheduler: {asha: {reduction_factor: 1}}\n"),
                {"reduction_factor"}},
        BadSpec{"no_samples", Curve("samples: 0\n"), {"samples"}},
        BadSpec{"not_there_yet",
                Curve("checkpoint: {storage: s3}\n"),
                {"checkpoint.storage", "expected auto, or s3://bucket/prefix"}},
        BadSpec{"constraint_of_nothing",
                Curve("constraints: [\"lrr < 1\"]\n"),
                {"constraints", "there is no parameter 'lrr'"}},
        BadSpec{"grid_of_a_continuous_domain",
                Curve("search: {algorithm: grid}\nspace: {x: {uniform: [0, 1]}}\n"),
                {"grid", "x"}},
        BadSpec{"more_gpu_than_there_is",
                Curve("resources: {gpu: 3}\n"),
                {"gpu: 3", "0 GPUs", "--gpus"}},
        BadSpec{"bad_fraction", Curve("resources: {gpu: 1.5}\n"), {"gpu", "1.5"}},
        BadSpec{"curve_uses_an_unknown_name",
                "trainable: {curve: {value: \"xx + t\"}}\nmetric: loss\nmode: min\nspace: {x: "
                "{uniform: [0, 1]}}\n",
                {"xx"}},
        BadSpec{"metric_never_reported",
                Food("data: synthetic", "val_acuracy"),
                {"val_acuracy", "val_accuracy"}},
        BadSpec{"unknown_parameter", Food("data: synthetic, lrr: 0.1"), {"lrr", "lr"}},
        BadSpec{"parameter_out_of_range",
                Food("data: synthetic, batch_size: {choice: [0]}"),
                {"batch_size"}},
        BadSpec{"pbt_cannot_change_the_network",
                Food("data: synthetic, width_mult: {choice: [0.5, 1]}") +
                    "scheduler: {pbt: {hyperparam_mutations: [width_mult]}}\n",
                {":5:42:", "width_mult"}},
        BadSpec{"pbt_beside_a_search_that_learns",
                Food("data: synthetic, lr: {uniform: [0.1, 1]}") +
                    "scheduler: pbt\nsearch: {algorithm: tpe}\n",
                {":6:21:", "tpe", "pbt", "random"}},
        BadSpec{"data_folder_missing", Food("data: no/such/folder"), {"no/such/folder"}}),
    [](const ::testing::TestParamInfo<BadSpec>& info) { return std::string(info.param.name); });

TEST(BadInput, AMissingFileIsNamed) {
  TestFolder folder;
  const ProgramResult result = RunTune(folder, {"run", "nothing.yaml"});
  EXPECT_EQ(result.exit_status, 2);
  EXPECT_NE(result.err.find("nothing.yaml"), std::string::npos) << result.err;
  EXPECT_TRUE(folder.Names().empty());
}

TEST(BadInput, AnUnknownOptionOrCommandIsTwo) {
  TestFolder folder;
  EXPECT_EQ(RunTune(folder, {"run"}).exit_status, 2);
  EXPECT_EQ(RunTune(folder, {"rnu", "space.yaml"}).exit_status, 2);
  EXPECT_EQ(RunTune(folder, {"run", "space.yaml", "--sample", "4"}).exit_status, 2);
  EXPECT_EQ(RunTune(folder, {}).exit_status, 0) << "it shows help";
  const std::string said = RunTune(folder, {"rnu", "space.yaml"}).err;
  EXPECT_NE(said.find("no command 'rnu'; did you mean 'run'?"), std::string::npos) << said;
}

TEST(BadInput, OptionsAreHeldToTheRulesOfTheFile) {
  TestFolder folder;
  const std::string space = folder.Write("space.yaml", kGood);
  const std::vector<std::pair<std::string, std::string>> options = {
      {"--set", "samples=0"},   {"--name", "../elsewhere"}, {"--name", ".."}, {"--name", ""},
      {"--name", "two\nlines"}, {"--seed", "-1"},           {"--db", ""},     {"--cpus", "-1"},
      {"--gpus", "-1"},         {"--gpus", "99999"}};
  for (const auto& [option, value] : options) {
    const ProgramResult result = RunTune(folder, {"run", space, option, value});
    EXPECT_EQ(result.exit_status, 2) << option << " " << value << ": " << result.err;
    EXPECT_NE(result.err.find(option), std::string::npos) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_EQ(folder.Names(), std::vector<std::string>{"space.yaml"});
  }
}

TEST(BadInput, ADatabaseThatIsNotOursIsLeftAsItIs) {
  TestFolder folder;
  const std::string space = folder.Write("space.yaml", kGood);
  const std::string text =
      "this is a letter, not a database; it is longer than a header of a hundred bytes, as "
      "letters usually are, and nobody wants to lose it\n";
  folder.Write("tune.db", text);
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"run", space}, {"resume"}, {"results"}, {"status"}, {"list"}}) {
    const ProgramResult result = RunTune(folder, arguments);
    EXPECT_NE(result.exit_status, 0) << arguments[0];
    EXPECT_NE(result.err.find("tune.db"), std::string::npos) << arguments[0] << ": " << result.err;
  }
  std::ifstream in(folder / "tune.db");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), text);
  EXPECT_EQ(folder.Names(), (std::vector<std::string>{"space.yaml", "tune.db"}));
}

TEST(BadInput, AFolderThatIsMissingForTheDatabaseIsNamed) {
  TestFolder folder;
  const std::string space = folder.Write("space.yaml", kGood);
  const ProgramResult result = RunTune(folder, {"run", space, "--db", "no/such/tune.db"});
  EXPECT_EQ(result.exit_status, 2) << result.err;
  EXPECT_NE(result.err.find("no/such"), std::string::npos) << result.err;
}

TEST(BadInput, ResumeWithNothingToResumeIsTwoAndTouchesNothing) {
  TestFolder folder;
  const ProgramResult result = RunTune(folder, {"resume"});
  EXPECT_EQ(result.exit_status, 2);
  EXPECT_NE(result.err.find("nothing to resume"), std::string::npos) << result.err;
  EXPECT_TRUE(folder.Names().empty());
  folder.Write("tune.db", "");
  const ProgramResult empty = RunTune(folder, {"resume"});
  EXPECT_EQ(empty.exit_status, 2);
  EXPECT_NE(empty.err.find("nothing to resume"), std::string::npos) << empty.err;
  EXPECT_EQ(folder.Names(), std::vector<std::string>{"tune.db"});
}

TEST(BadInput, AnAddressThatIsNotOfThisMachineCannotBeListenedOn) {
  TestFolder folder;
  const std::string space = folder.Write("space.yaml", kGood);
  for (const char* address : {"192.0.2.1:0", "127.0.0.1", "no.such.host.invalid:0", "off"}) {
    const ProgramResult result = RunTune(folder, {"run", space, "--listen", address});
    EXPECT_EQ(result.exit_status, 2) << address;
    EXPECT_NE(result.err.find("--listen"), std::string::npos) << result.err;
  }
  EXPECT_EQ(folder.Names(), std::vector<std::string>{"space.yaml"});
}

TEST(BadInput, ADryRunStartsAndWritesNothing) {
  TestFolder folder;
  const ProgramResult result =
      RunTune(folder, {"run", folder.Write("space.yaml", kGood), "--dry-run"});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(folder.Names(), std::vector<std::string>{"space.yaml"});
}

// As `tune plan` says, and as the sweep then has them.
TEST(BadInput, ADryRunCountsTrialsAndNotSamples) {
  TestFolder folder;
  const std::string space =
      folder.Write("space.yaml",
                   "metric: value\nmode: min\nsamples: 2\ntrainable: {curve: {value: x}}\n"
                   "space: {x: {grid_search: [1, 2, 3]}}\nsearch: {algorithm: random, repeat: 2}\n"
                   "scheduler: asha\n");
  const ProgramResult result = RunTune(folder, {"run", space, "--dry-run"});
  EXPECT_NE(result.out.find("  trials     12 (6 for each of 2 samples: "), std::string::npos)
      << result.out;
  EXPECT_NE(result.out.find("  scheduler  asha\n"), std::string::npos) << result.out;
}

TEST(BadInput, AnAnswerThatCannotBeWrittenIsAFailure) {
  TestFolder folder;
  const std::string space = folder.Write("space.yaml", kGood);
  ASSERT_TRUE(Succeeded(RunTune(folder, {"run", space})));
  const std::string command = BinDir() + "/tune --db '" + (folder / "tune.db") +
                              "' results > /dev/full 2> '" + (folder / "err") + "'";
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 1);
}

TEST(BadInput, AQueryThatWritesIsRefused) {
  TestFolder folder;
  ASSERT_TRUE(Succeeded(RunTune(folder, {"run", folder.Write("space.yaml", kGood)})));
  const ProgramResult result = RunTune(folder, {"results", "--sql", "delete from reports"});
  EXPECT_EQ(result.exit_status, 2) << result.err;
  EXPECT_NE(RunTune(folder, {"results", "--sql", "select nonsense from trials"}).exit_status, 0);
}

// A raw Food-11 folder of tiny JPEGs, made by the project's own idx reader from two classes of
// noise.
void MakePhotos(const TestFolder& folder, const std::string& name, int per_class) {
  for (const char* split : {"training", "validation", "evaluation"}) {
    for (int label = 0; label < 2; ++label) {
      const std::string class_folder =
          folder / (name + "/" + split + "/class_0" + std::to_string(label));
      std::filesystem::create_directories(class_folder);
      for (int i = 0; i < per_class; ++i) {
        // A binary PNM is an image like others to the decoder.
        std::ofstream out(class_folder + "/" + std::to_string(i) + ".ppm", std::ios::binary);
        out << "P6 40 40 255\n";
        for (int b = 0; b < 40 * 40 * 3; ++b)
          out.put(static_cast<char>((b * 7 + i * 13) * (label + 1)));
      }
    }
  }
}

constexpr char kPhotoSpace[] =
    "trainable: food11\nmetric: val_accuracy\nmode: max\n"
    "space: {data: photos, image_size: 32, width_mult: 0.35, batch_size: 4, total_epochs: 1}\n";

TEST(BadInput, ABrokenImageIsNamedCountedAndLeftOut) {
  TestFolder folder;
  MakePhotos(folder, "photos", 4);
  std::filesystem::resize_file(folder / "photos/training/class_01/2.ppm", 100);
  std::ofstream(folder / "photos/training/class_01/notes.txt") << "x";
  const ProgramResult result = RunTune(folder, {"run", folder.Write("space.yaml", kPhotoSpace)});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_NE(result.err.find("2 files are left out: training/class_01/notes.txt"), std::string::npos)
      << result.err;
  EXPECT_NE(result.err.find("training/class_01/2.ppm (truncated PNM image)"), std::string::npos)
      << result.err;
}

TEST(BadInput, AClassThatLosesAllItsImagesIsAnErrorBeforeTheStart) {
  TestFolder folder;
  MakePhotos(folder, "photos", 2);
  for (const char* name : {"0.ppm", "1.ppm"}) {
    std::filesystem::resize_file(folder / (std::string("photos/validation/class_00/") + name), 100);
  }
  const ProgramResult result = RunTune(folder, {"run", folder.Write("space.yaml", kPhotoSpace)});
  EXPECT_EQ(result.exit_status, 2) << result.err;
  EXPECT_NE(result.err.find("class_00"), std::string::npos) << result.err;
  EXPECT_FALSE(std::filesystem::exists(folder / "tune.db"));
}

TEST(BadInput, NoWorkerAndNobodyWhoCouldJoinIsRefused) {
  TestFolder folder;
  const ProgramResult result =
      RunTune(folder, {"run", folder.Write("space.yaml", kGood), "--cpus", "0"});
  EXPECT_EQ(result.exit_status, 2);
  EXPECT_NE(result.err.find("--listen"), std::string::npos) << result.err;
}

TEST(BadInput, AnEmptyOrBrokenDataFolderIsNamedBeforeTheStart) {
  TestFolder folder;
  std::filesystem::create_directory(folder / "photos");
  const std::string space = folder.Write("space.yaml",
                                         "trainable: food11\nmetric: val_accuracy\nmode: "
                                         "max\nspace: {data: photos, image_size: 32}\n");
  const ProgramResult result = RunTune(folder, {"run", space});
  EXPECT_EQ(result.exit_status, 2) << result.err;
  EXPECT_NE(result.err.find("photos"), std::string::npos) << result.err;
  EXPECT_EQ(folder.Names(), (std::vector<std::string>{"photos", "space.yaml"}));
}

}  // namespace
}  // namespace tune::testing
