// food11: the classifier as a program of its own. It trains one configuration, evaluates and uses
// what was trained.

#include <stdlib.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/json.h"
#include "core/nearest_name.h"
#include "core/posix/durable_file.h"
#include "core/posix/environment.h"
#include "core/posix/processor_level.h"
#include "core/utf8.h"
#include "models/data/augment.h"
#include "models/data/decode.h"
#include "models/data/idx.h"
#include "models/data/load_data.h"
#include "models/train/model_folder.h"
#include "models/train/trainer.h"

namespace tune::models {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kImageBytesMax = 1u << 30;
constexpr uint64_t kDefaultSeed = 7;

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// To compute with, on every machine: the rounding of sums depends on their number, and a result
// shall not depend on who computes it.
constexpr int kThreads = 4;

// To decode images with, where their number changes nothing.
int Cores() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

int ExitStatus(const Status& status) {
  if (status.ok()) return 0;
  std::fprintf(stderr, "food11: %s\n", status.message().c_str());
  return status.code() == StatusCode::kInvalidArgument || status.code() == StatusCode::kNotFound
             ? 2
             : 1;
}

void Say(const std::string& text) {
  if (!text.empty()) std::fprintf(stderr, "food11: %s\n", text.c_str());
}

void Warn(const std::string& text) {
  if (!text.empty()) std::fprintf(stderr, "food11: warning: %s\n", text.c_str());
}

Result<std::shared_ptr<const Dataset>> Load(const std::string& data, int image_size,
                                            int threads = Cores()) {
  TUNE_ASSIGN_OR_RETURN(Dataset dataset,
                        LoadData(data, image_size, UserCacheFolder(), threads, DecodeImage));
  constexpr size_t kNamesShown = 20;  // For each reason.
  const std::string left_out = DescribeSkipped(dataset.skipped, kNamesShown);
  Warn(left_out.empty() ? "" : "data: " + left_out);
  return std::make_shared<const Dataset>(std::move(dataset));
}

struct TrainCommand {
  std::string data = EnvironmentText("FOOD11_DATA_DIR");
  std::string out;
  std::optional<int> threads;  // Nothing: as the checkpoint was trained, or kThreads.
  bool resume = false;
  std::map<std::string, std::string> parameters;
};

Configuration ToConfiguration(const std::map<std::string, std::string>& parameters) {
  Configuration configuration;
  for (const Food11Parameter& parameter : Food11Parameters()) {
    const auto it = parameters.find(std::string(parameter.name));
    if (it == parameters.end() || it->second.empty()) continue;
    const Result<Value> number = ParseJson(it->second);
    const bool use_number = parameter.kind != ParameterKind::kText &&
                            parameter.kind != ParameterKind::kChoice && number.ok();
    configuration.Set(parameter.name, use_number ? *number : Value(it->second));
  }
  return configuration;
}

// The checkpoint of the highest epoch in the folder, or "".
std::string LatestCheckpoint(const std::string& folder) {
  std::string latest;
  std::error_code error;
  for (fs::directory_iterator it(folder, error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.starts_with("checkpoint_") && !name.ends_with(".tmp")) latest = std::max(latest, name);
  }
  return latest.empty() ? "" : (fs::path(folder) / latest).string();
}

void PrintReport(const EpochReport& report) {
  std::printf("%5d  %10.4f  %14.4f  %8.4f  %12.4f  %7.2f  %8.0f\n", report.epoch, report.train_loss,
              report.train_accuracy, report.val_loss, report.val_accuracy, report.epoch_seconds,
              report.images_per_second);
  std::fflush(stdout);
}

// The checkpoint in --out to go on from, or "".
Result<std::string> CheckpointToResume(const TrainCommand& command) {
  if (command.resume && command.out.empty()) {
    return InvalidArgument(
        "--resume: --out is missing, the folder of the checkpoint to go on from");
  }
  const std::string checkpoint = command.out.empty() ? "" : LatestCheckpoint(command.out);
  if (command.resume && checkpoint.empty()) {
    Warn("--resume: there is no checkpoint in " + command.out + ", so it begins with epoch 1");
  }
  if (checkpoint.empty() || command.resume) return checkpoint;
  return InvalidArgument(checkpoint + " exists; add --resume to go on from it, or name another " +
                         "--out");
}

Result<int> ThreadsFor(const TrainCommand& command, const std::string& checkpoint) {
  if (command.threads) return *command.threads;
  if (checkpoint.empty()) return kThreads;
  TUNE_ASSIGN_OR_RETURN(const CheckpointState state, ReadCheckpointManifest(checkpoint));
  return state.threads == 0 ? kThreads : state.threads;
}

Status RunTrain(const TrainCommand& command) {
  TUNE_ASSIGN_OR_RETURN(
      Food11Options options,
      ParseFood11Options(ToConfiguration(command.parameters), kDefaultSeed, command.data));
  Warn(Food11Advice(options));
  TUNE_ASSIGN_OR_RETURN(std::string checkpoint, CheckpointToResume(command));
  TUNE_ASSIGN_OR_RETURN(const int threads, ThreadsFor(command, checkpoint));
  TUNE_ASSIGN_OR_RETURN(const std::shared_ptr<const Dataset> dataset,
                        Load(options.data, options.image_size));
  TUNE_ASSIGN_OR_RETURN(const PlacedDevice device, PlaceDevice(options.device));
  options.device = device.kind;
  Say(device.note);
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<Trainer> trainer,
                        MakeTrainer(options, dataset, threads, Seconds));
  Say(trainer->Note());
  if (!checkpoint.empty()) TUNE_RETURN_IF_ERROR(trainer->RestoreCheckpoint(checkpoint));
  Warn(trainer->run().ThreadsNote());
  std::printf("epoch  train_loss  train_accuracy  val_loss  val_accuracy  seconds  images/s\n");
  for (const EpochReport& report : trainer->history()) PrintReport(report);
  while (!trainer->finished()) {
    TUNE_ASSIGN_OR_RETURN(const EpochReport report, trainer->RunEpoch());
    PrintReport(report);
    if (command.out.empty()) continue;
    TUNE_ASSIGN_OR_RETURN(const std::string saved, trainer->SaveCheckpoint(command.out));
    std::error_code ignored;
    if (!checkpoint.empty()) fs::remove_all(checkpoint, ignored);
    checkpoint = saved;
  }
  // With fewer total_epochs, or less patience, than the checkpoint has behind it.
  if (trainer->run().owes_test()) TUNE_RETURN_IF_ERROR(trainer->RunTest().status());
  const EpochReport& last = trainer->history().back();
  if (last.end == EndReason::kDiverged) {
    return Internal("diverged: the loss of epoch " + std::to_string(last.epoch) +
                    " is not a number; a lower lr may help");
  }
  const int best = trainer->best_epoch();
  std::printf("best epoch %d (the lowest val_loss): val_accuracy %.4f, test_accuracy %.4f (%s)\n",
              best, trainer->history()[static_cast<size_t>(best - 1)].val_accuracy,
              *last.test_accuracy, std::string(EndReasonName(last.end)).c_str());
  if (command.out.empty()) return OkStatus();
  TUNE_ASSIGN_OR_RETURN(const int epoch, ExportModel(checkpoint, command.out));
  std::printf("model of epoch %d in %s\n", epoch, command.out.c_str());
  return OkStatus();
}

struct EvaluateCommand {
  std::string data = EnvironmentText("FOOD11_DATA_DIR");
  std::string weights;
  int batch_size = 32;
  int threads = kThreads;
};

Status RunEvaluate(const EvaluateCommand& command) {
  TUNE_ASSIGN_OR_RETURN(const Model model, ReadModel(command.weights));
  TUNE_ASSIGN_OR_RETURN(const std::shared_ptr<const Dataset> dataset,
                        Load(command.data, model.image_size));
  if (dataset->class_names != model.class_names) {
    return InvalidArgument("the model in " + command.weights + " knows " +
                           std::to_string(model.class_names.size()) + " classes from '" +
                           model.class_names.front() + "', the data has " +
                           std::to_string(dataset->class_names.size()) + " from '" +
                           dataset->class_names.front() + "': they must be the same");
  }
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<MobileNetV2> network,
                        MakeModelNetwork(model, command.batch_size, command.threads));
  std::printf("split       images    loss  accuracy\n");
  for (const Split split : {Split::kValidation, Split::kEvaluation}) {
    TUNE_ASSIGN_OR_RETURN(const Score score,
                          EvaluateSplit(*network, *dataset, split, command.batch_size));
    std::printf("%-10s  %6lld  %6.4f  %8.4f\n", std::string(SplitName(split)).c_str(),
                static_cast<long long>(score.image_count), score.loss, score.accuracy);
  }
  return OkStatus();
}

struct PredictCommand {
  std::string weights;
  std::vector<std::string> images;
  std::string format = "text";
  std::optional<int> top;  // Classes; nothing: three of a text, five of JSON.
  int threads = kThreads;
};

// The probabilities of one image's classes.
Result<std::vector<double>> Predict(MobileNetV2& network, const std::string& path) {
  TUNE_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, kImageBytesMax));
  const Result<std::vector<RgbImage>> decoded =
      DecodeImage(std::span(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()));
  if (!decoded.ok()) return InvalidArgument(path + ": " + decoded.status().message());
  const int size = network.options().image_size;
  std::vector<uint8_t> square(static_cast<size_t>(size) * size * 3);
  std::vector<float> input(square.size());
  ResizeAndCrop(decoded->front(), size, square);
  Normalize(square, input);
  std::vector<float> logits(static_cast<size_t>(network.options().class_count));
  const int32_t any_label = 0;
  TUNE_RETURN_IF_ERROR(network.Evaluate(input, std::span(&any_label, 1), logits).status());
  const double largest = *std::max_element(logits.begin(), logits.end());
  std::vector<double> probabilities;
  double sum = 0;
  for (const float logit : logits) {
    probabilities.push_back(std::exp(logit - largest));
    sum += probabilities.back();
  }
  for (double& p : probabilities) p /= sum;
  return probabilities;
}

struct Guess {
  std::string class_name;
  double probability = 0;
};

// The likeliest classes, the likeliest first.
std::vector<Guess> TopGuesses(const Model& model, const std::vector<double>& probabilities,
                              int top) {
  std::vector<Guess> guesses;
  for (size_t i = 0; i < probabilities.size(); ++i) {
    guesses.push_back({model.class_names[i], probabilities[i]});
  }
  std::stable_sort(guesses.begin(), guesses.end(),
                   [](const Guess& a, const Guess& b) { return a.probability > b.probability; });
  guesses.resize(std::min(guesses.size(), static_cast<size_t>(top)));
  return guesses;
}

void PrintGuesses(const std::string& path, const std::vector<Guess>& guesses) {
  std::printf("%s:", path.c_str());
  const char* separator = "";
  for (const Guess& guess : guesses) {
    std::printf("%s %s %.3f", separator, guess.class_name.c_str(), guess.probability);
    separator = ",";
  }
  std::printf("\n");
}

Value GuessesValue(const std::vector<Guess>& guesses) {
  Value list = Value::MakeList();
  for (const Guess& guess : guesses) {
    Value entry = Value::MakeMap();
    entry.Set("class", guess.class_name);
    entry.Set("probability", guess.probability);
    list.AsList().push_back(std::move(entry));
  }
  return list;
}

Status RunPredict(const PredictCommand& command) {
  TUNE_ASSIGN_OR_RETURN(const Model model, ReadModel(command.weights));
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<MobileNetV2> network,
                        MakeModelNetwork(model, /*batch_max=*/1, command.threads));
  const bool is_json = command.format == "json";
  Value answers = Value::MakeList();
  Status outcome;
  for (const std::string& path : command.images) {
    Value answer = Value::MakeMap();
    answer.Set("image", ToUtf8(path));
    const Result<std::vector<double>> probabilities = Predict(*network, path);
    if (probabilities.ok()) {
      const std::vector<Guess> guesses =
          TopGuesses(model, *probabilities, command.top.value_or(is_json ? 5 : 3));
      if (!is_json) PrintGuesses(path, guesses);
      answer.Set("classes", GuessesValue(guesses));
    } else {  // Named; the others are still answered.
      if (!outcome.ok()) std::fprintf(stderr, "food11: %s\n", outcome.message().c_str());
      outcome = probabilities.status();
      answer.Set("error", ToUtf8(outcome.message()));
    }
    answers.AsList().push_back(std::move(answer));
  }
  if (is_json) std::printf("%s\n", ToJson(answers).c_str());
  return outcome;
}

struct PrepareCommand {
  std::string data = EnvironmentText("FOOD11_DATA_DIR");
  int image_size = 224;
  int threads = Cores();
  bool quiet = false;
};

Status RunPrepare(const PrepareCommand& command) {
  TUNE_ASSIGN_OR_RETURN(const std::shared_ptr<const Dataset> dataset,
                        Load(command.data, command.image_size, command.threads));
  if (command.quiet) return OkStatus();
  for (const Split split : kSplits) {
    std::printf("%-10s  %lld images\n", std::string(SplitName(split)).c_str(),
                static_cast<long long>(dataset->split(split).count()));
  }
  std::printf("%d classes:", dataset->class_count());
  for (const std::string& name : dataset->class_names) std::printf(" %s;", name.c_str());
  std::printf("\n");
  return OkStatus();
}

template <typename Threads>
CLI::Option* AddThreads(CLI::App& command, Threads& threads, const std::string& meaning) {
  return command.add_option("--threads", threads, meaning)->check(CLI::Range(1, kThreadsMax));
}

// The default is the same on every machine.
constexpr char kThreadsMeaning[] =
    "Threads to compute with, on which the last digits of a result depend";

void AddTrain(CLI::App& app, TrainCommand& command) {
  CLI::App& train = *app.add_subcommand("train", "Train one configuration");
  train.footer(
      "Example:\n  food11 train --data data/food-photos --width_mult 0.35 --image_size 96 --lr "
      "3e-3 "
      "--out model");
  train.add_option("--out", command.out, "Folder for the checkpoint and the trained model");
  train.add_flag("--resume", command.resume, "Go on from the checkpoint in --out");
  AddThreads(train, command.threads,
             std::string(kThreadsMeaning) + " (default: " + std::to_string(kThreads) +
                 " on every machine; with --resume, as many as before)");
  for (const Food11Parameter& parameter : Food11Parameters()) {
    const std::string name(parameter.name);
    if (name == "lanes") continue;  // It trains one run, alone.
    train.add_option("--" + name, command.parameters[name], std::string(parameter.meaning));
  }
}

void AddEvaluate(CLI::App& app, EvaluateCommand& command) {
  CLI::App& evaluate = *app.add_subcommand("evaluate", "Loss and accuracy of a trained model");
  evaluate.footer("Example:\n  food11 evaluate --data data/food-photos --weights model");
  evaluate.add_option("--data", command.data, "Data folder, or synthetic (FOOD11_DATA_DIR)");
  evaluate.add_option("--weights", command.weights, "Folder of the model")->required();
  evaluate.add_option("--batch-size", command.batch_size, "Images at once")
      ->check(CLI::Range(1, 4096));
  AddThreads(evaluate, command.threads, kThreadsMeaning)->capture_default_str();
}

void AddPredict(CLI::App& app, PredictCommand& command) {
  CLI::App& predict = *app.add_subcommand("predict", "What is on these photographs?");
  predict.footer(
      "Example:\n  food11 predict --weights model lunch.jpg dinner.jpg\n"
      "  food11 predict --weights model --format json --top 1 lunch.jpg");
  predict.add_option("--weights", command.weights, "Folder of the model")->required();
  predict.add_option("images", command.images, "Image files")->required();
  predict
      .add_option("--format", command.format,
                  "text, or json: a list with an entry an image, probabilities with all digits")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  predict.add_option("--top", command.top, "Classes to show (default: 3, with json 5)")
      ->check(CLI::Range(1, 10000));
  AddThreads(predict, command.threads, kThreadsMeaning)->capture_default_str();
}

void AddPrepare(CLI::App& app, PrepareCommand& command) {
  CLI::App& prepare =
      *app.add_subcommand("prepare", "Check a data folder and decode it into its cache");
  prepare.footer("Example:\n  food11 prepare --data data/food-photos --image-size 96");
  prepare.add_option("--data", command.data, "Data folder (FOOD11_DATA_DIR)");
  prepare.add_option("--image-size", command.image_size, "Pixels")->check(CLI::Range(32, 1024));
  prepare.add_flag("--quiet", command.quiet, "Say only what is wrong");
  AddThreads(prepare, command.threads, "Threads to decode with")->capture_default_str();
}

void AddImportIdx(CLI::App& app, IdxImport& import) {
  CLI::App& command =
      *app.add_subcommand("import-idx", "Make a data folder of MNIST-like idx files");
  command.footer("Example: examples/fashion-mnist/fetch");
  command.add_option("--training-images", import.training_images)->required();
  command.add_option("--training-labels", import.training_labels)->required();
  command.add_option("--evaluation-images", import.evaluation_images)->required();
  command.add_option("--evaluation-labels", import.evaluation_labels)->required();
  command.add_option("--names", import.class_names, "Class names in the order of the labels")
      ->required()
      ->delimiter(',');
  command
      .add_option("--validation-every", import.validation_every,
                  "Each n-th training image is for validation")
      ->check(CLI::Range(2, 1000))
      ->capture_default_str();
  command.add_option("--out", import.out, "The new data folder")->required();
}

// Said here because CLI11 would only ask for a subcommand.
Status CheckCommand(int argc, char** argv) {
  static constexpr std::array<std::string_view, 5> kCommands = {"train", "evaluate", "predict",
                                                                "prepare", "import-idx"};
  if (argc < 2 || argv[1][0] == '-') return OkStatus();
  const std::string_view command = argv[1];
  if (std::find(kCommands.begin(), kCommands.end(), command) != kCommands.end()) return OkStatus();
  return InvalidArgument("no command '" + std::string(command) + "'" +
                         DidYouMean(command, kCommands));
}

// Starts the program once more where it is to be another one: for this processor, or with threads
// that sleep while they wait for each other. On a shared machine, spinning ones keep the others
// from the very cores they wait for, and training gets many times slower; libgomp reads it before
// main.
void BecomeQuick(char** argv) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return;
  const std::string quick = ProgramForProcessor(self.parent_path(), self.filename());
  if (std::getenv("OMP_WAIT_POLICY") != nullptr && quick == self) return;
  ::setenv("OMP_WAIT_POLICY", "passive", /*replace=*/0);
  ::execv(quick.c_str(), argv);  // Returns only if it fails; then it is merely slower.
}

int Main(int argc, char** argv) {
  CLI::App app("The Food-11 classifier: MobileNetV2, trained, evaluated, used.", "food11");
  app.footer("Example:\n  food11 train --data synthetic --width_mult 0.35 --image_size 64 --out m");
  app.set_version_flag("--version", TUNE_VERSION);
  app.require_subcommand(1);
  if (const Status known = CheckCommand(argc, argv); !known.ok()) return ExitStatus(known);
  TrainCommand train;
  EvaluateCommand evaluate;
  PredictCommand predict;
  PrepareCommand prepare;
  IdxImport import;
  AddTrain(app, train);
  AddEvaluate(app, evaluate);
  AddPredict(app, predict);
  AddPrepare(app, prepare);
  AddImportIdx(app, import);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help
    std::fprintf(stderr, "food11: %s (food11 --help shows the use)\n", error.what());
    return 2;
  }
  try {
    if (app.got_subcommand("train")) return ExitStatus(RunTrain(train));
    if (app.got_subcommand("evaluate")) return ExitStatus(RunEvaluate(evaluate));
    if (app.got_subcommand("predict")) return ExitStatus(RunPredict(predict));
    if (app.got_subcommand("prepare")) return ExitStatus(RunPrepare(prepare));
    return ExitStatus(ImportIdx(import));
  } catch (const std::bad_alloc&) {
    return ExitStatus(
        ResourceExhausted("no memory is left; a smaller batch_size or image_size needs less"));
  }
}

}  // namespace
}  // namespace tune::models

int main(int argc, char** argv) {
  tune::models::BecomeQuick(argv);
  return tune::models::Main(argc, argv);
}
