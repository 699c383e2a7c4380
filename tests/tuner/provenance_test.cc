// Where results come from: what is found out, stored, and compared at a resume.
#include "tuner/provenance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "tests/tuner/temp_folder.h"
#include "tuner/cli/keep/program_output.h"
#include "tuner/cli/run/gather_provenance.h"
#include "tuner/cli/run/git_state.h"

namespace tune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Provenance Sample() {
  Provenance provenance;
  provenance.version = "0.1.0";
  provenance.command = "tune run space.yaml";
  provenance.host = "a";
  provenance.folder = "/sweeps";
  provenance.cpus = 0;
  provenance.git = GitState{std::string(40, 'a'), false};
  provenance.data = DataState{"/data", 3, 1000, "00ff"};
  provenance.inputs = {{"s3://bucket/set", 2, 9, "0a"}, {"s3://bucket/words", 1, 5, "0b"}};
  provenance.files = {{"train.py", "01"}, {"model.py", "02"}};
  return provenance;
}

TEST(Provenance, IsReadBackAsItWasStored) {
  const Provenance sample = Sample();
  const Result<Provenance> read = DecodeProvenance(EncodeProvenance(sample));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->version, sample.version);
  EXPECT_EQ(read->command, sample.command);
  EXPECT_EQ(read->host, sample.host);
  EXPECT_EQ(read->folder, sample.folder);
  EXPECT_EQ(read->cpus, 0);
  EXPECT_EQ(read->gpus, std::nullopt);
  EXPECT_EQ(read->git, sample.git);
  EXPECT_EQ(read->data, sample.data);
  EXPECT_EQ(read->inputs, sample.inputs);
  EXPECT_EQ(read->files, sample.files);
  EXPECT_THAT(DescribeDifferences(sample, *read), IsEmpty());
}

TEST(Provenance, ThatOfAnEarlierProgramHasLessToCompare) {
  const Result<Provenance> read =
      DecodeProvenance(R"({"version":"0.1.0","command":"x","host":"a"})");
  ASSERT_TRUE(read.ok());
  EXPECT_THAT(DescribeDifferences(*read, Sample()), IsEmpty());
}

TEST(Provenance, EachThingThatDiffersIsALine) {
  Provenance now = Sample();
  now.version = "0.2.0";
  now.command = "tune resume";  // Of course it is another one.
  now.host = "b";
  now.git = GitState{std::string(40, 'a'), true};
  now.data = DataState{"/data", 4, 1100, "00fe"};
  // The other one cannot be listed any more.
  now.inputs = {{"s3://bucket/set", 3, 10, "0c"}};
  now.files = {{"train.py", "03"}};
  EXPECT_THAT(DescribeDifferences(Sample(), now),
              ElementsAre("version of tune: was 0.1.0, is 0.2.0", "host: was a, is b",
                          "git: was aaaaaaaaaaaa, is aaaaaaaaaaaa with uncommitted changes",
                          "data in /data: was 3 files of 1000 bytes (hash 00ff), is 4 files of "
                          "1100 bytes (hash 00fe)",
                          "data in s3://bucket/set: was 2 files of 9 bytes (hash 0a), is 3 files "
                          "of 10 bytes (hash 0c)",
                          "model.py: was there (hash 02), is not",
                          "train.py: was of hash 01, is of hash 03"));
}

TEST(Provenance, DataThatWasMovedWithAllItsFilesIsTheSame) {
  Provenance now = Sample();
  now.data->folder = "/elsewhere";
  EXPECT_THAT(DescribeDifferences(Sample(), now), IsEmpty());
}

TEST(Provenance, TheHashOfDataChangesWithItsNamesAndSizesButNotWithHiddenFiles) {
  TempFolder folder;
  const std::string class_dir = folder / "training/class_00";
  std::filesystem::create_directories(class_dir);
  WriteText(class_dir + "/a.jpg", "123");
  WriteText(class_dir + "/b.jpg", "12345");
  const auto first = LookAtData(folder.path());
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->file_count, 2);
  EXPECT_EQ(first->bytes, 8);

  std::filesystem::create_directories(folder / ".tune-cache");
  WriteText(folder / ".tune-cache/x", "1");
  WriteText(class_dir + "/a.jpg", "321");
  EXPECT_EQ(LookAtData(folder.path()), first);

  WriteText(class_dir + "/a.jpg", "1234");
  EXPECT_NE(LookAtData(folder.path())->hash, first->hash);
  WriteText(class_dir + "/a.jpg", "123");
  std::filesystem::rename(class_dir + "/b.jpg", class_dir + "/c.jpg");
  EXPECT_NE(LookAtData(folder.path())->hash, first->hash);
  EXPECT_EQ(LookAtData(folder / "none"), std::nullopt);
}

TEST(Provenance, ACurveHasNeitherDataNorFiles) {
  ExperimentSpec spec;
  spec.trainable = Value::MakeMap();
  spec.trainable.Set("curve", Value::MakeMap());
  TempFolder folder;
  spec.base_dir = folder.path();
  const Provenance provenance = GatherProvenance(spec, {"0.1.0", "tune run", "/data"});
  EXPECT_EQ(provenance.version, "0.1.0");
  EXPECT_EQ(provenance.data, std::nullopt);
  EXPECT_THAT(provenance.files, IsEmpty());
  EXPECT_EQ(provenance.git, std::nullopt);
}

// What a script imports and which settings it names belong to it.
TEST(Provenance, TheFilesThatAScriptTakesInAreLookedAt) {
  TempFolder folder;
  std::filesystem::create_directories(folder / "src/parts");
  WriteText(folder / "train.py",
            "import os, yaml\nfrom src.model import Net\nimport src.data as data\n"
            "cfg = yaml.safe_load(open('config.yaml'))\nother = yaml.safe_load(open('own.toml'))\n"
            "json.dump(cfg, open('all.json', 'w'))\nprint('all.json')\n");
  WriteText(folder / "src/__init__.py", "");
  WriteText(folder / "src/model.py", "from .parts import block\nfrom . import tools\n");
  WriteText(folder / "src/data.py", "");
  WriteText(folder / "src/tools.py", "import json\njson.dump(1, open('result.json', 'w'))\n");
  WriteText(folder / "src/parts/block.py", "");
  WriteText(folder / "src/unused.py", "");
  for (const char* const name :
       {"config.yaml", "own.toml", "other.yaml", "result.json", "all.json", "run.sh"}) {
    WriteText(folder / name, name);
  }
  ExperimentSpec spec;
  spec.base_dir = folder.path();
  const auto files_of = [&](const std::vector<std::string>& words) {
    spec.trainable = Value::MakeMap();
    Value command = Value::MakeList();
    for (const std::string& word : words) command.AsList().emplace_back(word);
    spec.trainable.Set("command", std::move(command));
    std::vector<std::string> names;
    for (const auto& [name, hash] : GatherProgramFiles(spec)) names.push_back(name);
    return names;
  };
  const std::vector<std::string> all = {"config.yaml",  "own.toml",     "src/__init__.py",
                                        "src/data.py",  "src/model.py", "src/parts/block.py",
                                        "src/tools.py", "train.py"};
  EXPECT_EQ(files_of({"python3", "train.py"}), all);
  EXPECT_EQ(files_of({"python3", "-m", "train"}), all);
  WriteText(folder / "run.sh", "exec python3 train.py > log\n");
  std::vector<std::string> with_shell = all;
  with_shell.insert(with_shell.begin() + 2, "run.sh");
  EXPECT_EQ(files_of({"sh", "run.sh"}), with_shell);
}

TEST(Provenance, AVariableThatTrialsTakeFromTheEnvironmentIsLookedAtUnlessItIsASecret) {
  TempFolder folder;
  ExperimentSpec spec;
  spec.base_dir = folder.path();
  Value from = Value::MakeMap();
  from.Set("from_environment", Value(true));
  Value variables = Value::MakeMap();
  variables.Set("DATA_VERSION", from);
  variables.Set("HF_TOKEN", from);
  variables.Set("DB_URL", from);
  spec.trainable = Value::MakeMap();
  spec.trainable.Set("command", Value::MakeList());
  spec.trainable.Set("env", std::move(variables));
  setenv("DATA_VERSION", "1", 1);
  setenv("HF_TOKEN", "secret", 1);
  setenv("DB_URL", "postgresql://me:word@db/trials", 1);
  Provenance was;
  was.files = GatherProgramFiles(spec);
  EXPECT_EQ(was.files.at("the variable DATA_VERSION").size(), 1u) << "a PIN could be told by more";
  EXPECT_EQ(was.files.count("the variable DB_URL"), 0u) << "it is a secret by its looks";
  setenv("DATA_VERSION", "2", 1);
  setenv("HF_TOKEN", "new", 1);
  setenv("DB_URL", "postgresql://me:other@db/trials", 1);
  Provenance is;
  is.files = GatherProgramFiles(spec);
  const std::vector<std::string> lines = DescribeProgramDifferences(was, is);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0], "the variable DATA_VERSION has changed");
}

TEST(Provenance, TheClassifiersDataAndWeightsAreLookedAt) {
  TempFolder folder;
  std::filesystem::create_directories(folder / "photos/training");
  WriteText(folder / "photos/training/0_1.jpg", "jpg");
  WriteText(folder / "pretrained.safetensors", "weights");
  ExperimentSpec spec;
  spec.trainable = "food11";
  spec.base_dir = folder.path();
  spec.space = Value::MakeMap();
  spec.space.Set("data", "photos");
  spec.space.Set("weights", "pretrained.safetensors");
  const Provenance provenance = GatherProvenance(spec, {"0.1.0", "tune run", ""});
  ASSERT_TRUE(provenance.data.has_value());
  EXPECT_EQ(provenance.data->folder, folder / "photos");
  EXPECT_EQ(provenance.data->file_count, 1);
  EXPECT_EQ(provenance.files.count("pretrained.safetensors"), 1u);
}

class GitTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!Run({"init", "-q", "-b", "main"})) GTEST_SKIP() << "git is not installed";
    WriteText(folder_ / "code", "1");
    ASSERT_TRUE(Run({"add", "code"}));
    ASSERT_TRUE(Run({"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "first"}));
  }
  bool Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"git", "-C", folder_.path()});
    const Result<ProgramOutput> output = RunForOutput(arguments, Seconds(60));
    return output.ok() && output->exit_status == 0;
  }
  TempFolder folder_;
};

TEST_F(GitTest, TellsTheCommitAndWhetherFilesWereChanged) {
  const auto clean = FindGitState(folder_.path());
  ASSERT_TRUE(clean.has_value());
  EXPECT_EQ(clean->commit.size(), 40u);
  EXPECT_EQ(clean->is_dirty, false);
  WriteText(folder_ / "code", "2");
  EXPECT_EQ(FindGitState(folder_.path())->is_dirty, true);
  EXPECT_EQ(FindGitState(folder_.path())->commit, clean->commit);
}

TEST_F(GitTest, WithoutGitTheCommitIsReadFromTheFolder) {
  std::filesystem::create_directories(folder_ / "deep/inside");
  const auto asked = FindGitState(folder_.path());
  const auto read = ReadGitFolder(folder_ / "deep/inside");
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->commit, asked->commit);
  EXPECT_EQ(read->is_dirty, std::nullopt);
  ASSERT_TRUE(Run({"pack-refs", "--all"}));
  EXPECT_EQ(ReadGitFolder(folder_.path())->commit, asked->commit);
  ASSERT_TRUE(Run({"checkout", "-q", "--detach"}));
  EXPECT_EQ(ReadGitFolder(folder_.path())->commit, asked->commit);
}

TEST(Git, AFolderInNoRepositoryHasNoState) {
  TempFolder folder;
  EXPECT_EQ(FindGitState(folder.path()), std::nullopt);
}

TEST(ProgramOutput, IsWhatAProgramPrintsAndHowItEnds) {
  const auto said = RunForOutput({"sh", "-c", "echo hello; exit 3"}, Seconds(60));
  ASSERT_TRUE(said.ok()) << said.status().message();
  EXPECT_EQ(said->out, "hello\n");
  EXPECT_EQ(said->exit_status, 3);
  EXPECT_EQ(RunForOutput({"no-such-program-here"}, Seconds(60)).status().code(),
            StatusCode::kNotFound);
}

TEST(ProgramOutput, AProgramThatDoesNotEndIsEnded) {
  const auto said = RunForOutput({"cat", "/dev/zero"}, Milliseconds(50));
  EXPECT_EQ(said.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(said.status().message(), HasSubstr("cat: did not end within"));
}

TEST(ProgramOutput, AProgramThatClosesItsOutputAndLivesOnIsEndedToo) {
  const auto said =
      RunForOutput({"sh", "-c", "exec >/dev/null; exec tail -f /dev/null"}, Milliseconds(50));
  EXPECT_EQ(said.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(said.status().message(), HasSubstr("sh: did not end within"));
}

}  // namespace
}  // namespace tune
