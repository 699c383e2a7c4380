#include "tuner/spec_schema.h"

#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/value.h"
#include "schedulers/scheduler_names.h"
#include "search/algorithm_names.h"
#include "search/domain.h"
#include "search/search_options.h"
#include "trial_runner/command_keys.h"
#include "tuner/json_schema.h"
#include "tuner/spec_keys.h"

namespace tune {
namespace {

using namespace json_schema;

Value DurationAbout(const std::string& about) { return About(Ref("duration"), about); }
Value Bytes(const std::string& about) { return About(Ref("bytes"), about); }

Value Resources() {
  return Section(
      kResourceKeys,
      {{"cpu", About(Type("number"), "Processors, thousandths of one included")},
       {"gpu", About(Type("number"), "Devices: 0.5 is half a one, above 1 whole ones")},
       {"gpu_memory", Bytes("Of a device")},
       {"memory", Bytes("A limit of the trial's process")},
       {"workers",
        Integer(
            1,
            "Ranks of a trial (data-parallel food11, or a program each), each with all of that")},
       {"spread", About(Type("boolean"), "Ranks on different machines")}},
      "What each trial is given");
}

Value Limits() {
  return Section(
      kLimitKeys,
      {{"max_concurrent", Integer(1, "Trials at a time")},
       {"sweep_time",
        DurationAbout("The sweep ends then: running trials at their next report, those "
                      "that are silent for ten times the usual at once")},
       {"trial_time", DurationAbout("A trial ends then")},
       {"no_progress", DurationAbout("A trial that reports nothing for so long hangs")},
       {"failed_trials", Integer(1, "So many end the sweep")},
       {"failed_alike",
        Integer(0,
                "So many that fail alike before any report of the metric end the sweep; 0: "
                "however many")},
       {"unplaceable", DurationAbout("How long a trial waits for a machine that can hold it")},
       {"lease", DurationAbout("How long a worker that is not heard of keeps its trials")}},
      "When something ends by itself");
}

Value Failure() {
  const Value count = Integer(-1, "Per trial; -1: no limit");
  const Value backoff = DurationAbout("Before the first retry, at most; doubles");
  std::map<std::string, Value> properties = {{"max_failures", count},
                                             {"backoff", backoff},
                                             {"backoff_max", DurationAbout("The longest wait")}};
  std::vector<std::string_view> keys(kFailureKeys.begin(), kFailureKeys.end());
  for (const auto& [cause, outcome] : kFailureCauses) {
    keys.push_back(cause);
    properties[std::string(cause)] = Object(
        {{"anyOf", List({count, Section(kCauseKeys, {{"max_failures", count}, {"backoff", backoff}},
                                        "Of this cause alone")})}});
  }
  return Section(keys, properties, "What happens when a trial fails");
}

Value Checkpoint() {
  return Section(
      kCheckpointKeys,
      {{"every", Integer(1, "Iterations from one to the next")},
       {"keep", Integer(1, "The latest of each trial")},
       {"keep_best", Integer(0, "Over the sweep")},
       {"disk_budget", Bytes("Over the sweep, such as 20GB")},
       {"storage", Object({{"type", "string"},
                           {"pattern", "^(auto|s3://[a-z0-9][a-z0-9.-]+[a-z0-9](/.*)?)$"},
                           {"description",
                            "Where they are kept: auto (the database's artifacts), or in an object "
                            "store, s3://bucket/prefix"}})},
       {"storage_credentials",
        Object({{"enum", List({Value(kWhoseCredentials[0]), Value(kWhoseCredentials[1])})},
                {"description", "Workers ask the store with their own, or the tuner signs"}})},
       {"async",
        About(Type("boolean"), "Reports do not wait until their checkpoints are durable")}},
      "What is kept of trials' checkpoints");
}

Value Stop() {
  const Value bound =
      Object({{"type", "object"},
              {"properties", Object({{"max", Type("number")}, {"min", Type("number")}})},
              {"additionalProperties", false},
              {"minProperties", 1}});
  return Object(
      {{"description", "A trial ends when a metric, training_iteration or time_total reaches this"},
       {"type", List({"object", "null"})},
       {"properties", Object({{"training_iteration", Integer(1, "Iterations")},
                              {"time_total", DurationAbout("Time of the trial")}})},
       {"additionalProperties", Object({{"anyOf", List({Type("number"), bound})}})}});
}

Value Inputs() {
  const Value input = Object(
      {{"type", "object"},
       {"required", List({"from"})},
       {"properties",
        Object({{"from", Object({{"type", "string"},
                                 {"pattern", "^s3://[A-Za-z0-9][A-Za-z0-9._-]+(/.*)?$"},
                                 {"description", "s3://bucket/prefix: a file or a folder"}})},
                {"to", About(Type("string"),
                             "Its name below {tune.inputs}; default: the "
                             "last part of from")}})},
       {"additionalProperties", false}});
  return Object({{"description", "Data that each machine fetches once, into its cache"},
                 {"type", "array"},
                 {"items", input}});
}

Value Trainable() {
  Value command = Value::MakeMap();
  const std::map<std::string, Value> properties = {
      {"command", About(Type(""), "The program and its arguments; {name} is a parameter's value")},
      {"shell", About(Type("boolean"), "The command is one text for a shell")},
      {"env", About(Type("object"), "Added to the environment")},
      {"working_dir", About(Type("string"), "Default: the folder of this file")},
      {"serve", About(Type("boolean"), "The program takes one trial after another")},
      {"setup", About(Type(""), "Shell commands before the first trial on a machine")},
      {"inputs", Inputs()},
      {"metrics",
       About(Type("object"), "Where the output tells a metric: {regex: \"acc: {number}\"}")},
      {"report_on", About(Type("string"), "The metric that ends an iteration")},
      {"iteration", About(Type("object"), "Where the output tells the iteration")}};
  for (const std::string_view key : kCommandKeys) {
    const auto found = properties.find(std::string(key));
    TUNE_CHECK(found != properties.end());
    Value property = found->second;
    if (property.Find("type")->AsString().empty()) {  // A text or a list of them.
      property.Set("type", List({"string", "array"}));
    }
    command.Set(key, std::move(property));
  }
  return Object({{"description", "What a trial runs"},
                 {"anyOf", List({Object({{"enum", List({"food11", "ask-tell"})}}),
                                 Object({{"type", "object"},
                                         {"properties", std::move(command)},
                                         {"required", List({"command"})},
                                         {"additionalProperties", false}}),
                                 Object({{"type", "object"},
                                         {"properties", Object({{"curve", Type("object")}})},
                                         {"required", List({"curve"})},
                                         {"additionalProperties", false}})})}});
}

Value Search() {
  const std::vector<std::string_view> names = SearchAlgorithmNames();
  std::map<std::string, Value> common = {
      {"unique", About(Type("boolean"), "No configuration twice")},
      {"repeat", Integer(1, "Trials of each configuration, compared by their mean")}};
  Value properties = Object({{"algorithm", Object({{"enum", Words(names)}})}});
  for (const std::string_view key : kCommonSearchOptions) {
    const auto found = common.find(std::string(key));
    TUNE_CHECK(found != common.end());
    properties.Set(key, found->second);
  }
  return Object(
      {{"description", "How configurations are chosen; other keys are the algorithm's options"},
       {"type", List({"object", "null"})},
       {"properties", std::move(properties)},
       {"required", List({"algorithm"})}});
}

Value Scheduler() {
  const std::vector<std::string_view> names = SchedulerNames();
  Value options = Value::MakeMap();
  for (const std::string_view name : names) {
    options.Set(name, Object({{"type", List({"object", "array", "null"})}}));
  }
  return Object({{"description", "What stops poor trials early"},
                 {"anyOf", List({Type("null"), Object({{"enum", Words(names)}}),
                                 Object({{"type", "object"},
                                         {"properties", std::move(options)},
                                         {"additionalProperties", false},
                                         {"minProperties", 1},
                                         {"maxProperties", 1}})})}});
}

// One form for each domain; a map that names none of them is a group of parameters, AutoTuner's
// form, or a constant.
Value Parameter() {
  Value forms = List({Object({{"type", List({"number", "string", "boolean", "null", "array"})}})});
  Value unnamed = Value::MakeList();
  for (const std::string_view domain : Domain::Names()) {
    const bool is_list = domain == "choice" || domain == "ordinal" || domain == "grid_search";
    const int64_t count = domain.starts_with('q') ? 3 : 2;  // [lo, hi, q].
    Value values = is_list ? Object({{"type", "array"}, {"minItems", 1}})
                           : Object({{"type", "array"},
                                     {"items", Type("number")},
                                     {"minItems", count},
                                     {"maxItems", count}});
    Value properties = Value::MakeMap();
    properties.Set(domain, std::move(values));
    properties.Set("when", Object({{"type", "object"}}));
    // One of its values: what the best one is believed to be.
    if (domain != "grid_search") properties.Set("guess", Object({}));
    if (domain == "choice") {
      properties.Set("weights", Object({{"type", "array"}, {"items", Type("number")}}));
    }
    forms.AsList().push_back(Object({{"type", "object"},
                                     {"properties", std::move(properties)},
                                     {"required", List({Value(domain)})},
                                     {"additionalProperties", false}}));
    unnamed.AsList().push_back(Object({{"required", List({Value(domain)})}}));
  }
  forms.AsList().push_back(Object({{"type", "object"},
                                   {"not", Object({{"anyOf", std::move(unnamed)}})},
                                   {"additionalProperties", Ref("parameter")}}));
  return Object({{"anyOf", std::move(forms)}});
}

Value OneOrMore(Value one) {
  return Object(
      {{"anyOf", List({one, Object({{"type", "array"}, {"items", one}, {"minItems", 1}})})}});
}

Value Schema() {
  const Value texts = Object({{"type", List({"array", "null"})}, {"items", Type("string")}});
  const Value limits =
      Object({{"type", List({"array", "string", "null"})}, {"items", Type("string")}});
  const std::map<std::string, Value> properties = {
      {"name", About(Type("string"), "The sweep's name; default: the file's")},
      {"trainable", Trainable()},
      {"metric", About(OneOrMore(Type("string")), "A reported value, or an expression of some")},
      {"mode", OneOrMore(Object({{"enum", List({"max", "min"})}}))},
      {"metric_constraints", About(texts, "Such as \"area <= 100\": other reports are infeasible")},
      {"feasible",
       About(limits, "Such as \"latency_ms <= 20\": results that keep to them go first")},
      {"samples", Integer(-1, "How many configurations are tried; -1: no limit")},
      {"seed", Integer(0, "Of every draw; default: drawn")},
      {"space", Object({{"description", "Parameters: domains or constants; maps nest"},
                        {"type", List({"object", "null"})},
                        {"additionalProperties", Ref("parameter")}})},
      {"constraints",
       About(texts, "Such as \"width * depth <= 64\": each configuration keeps to them")},
      {"points", Object({{"description", "Configurations to try first, whole or partial"},
                         {"type", List({"array", "null"})},
                         {"items", Type("object")}})},
      {"from", About(Object({{"type", List({"string", "object", "null"})}}),
                     "An earlier sweep to learn from, {prior: NAME} of one over other data, or "
                     "{optuna: study.db}")},
      {"search", Search()},
      {"scheduler", Scheduler()},
      {"resources", Resources()},
      {"stop", Stop()},
      {"until",
       Section(kUntilKeys,
               {{"regret", About(Type("number"), "What must still be expected to be gained")},
                {"no_gain", About(Object({{"type", List({"integer", "string"})}}),
                                  "So many trials in a row without a better result: 40, "
                                  "or 40 trials")}},
               "When more trials gain too little, the sweep ends")},
      {"limits", Limits()},
      {"failure", Failure()},
      {"checkpoint", Checkpoint()},
      {"priority", About(Type("integer"), "On a head that others use too: higher ones go first")},
      {"weight", Integer(1, "On a head: its part beside others of the owner; default: 100")},
      {"reserve", Section(kReserveKeys,
                          {{"cpu", About(Type("number"), "Processors, whole trials' worth of it")},
                           {"gpu", About(Type("number"), "Devices likewise")}},
                          "On a head: what is held free for its trials")},
      {"owner", About(Type("string"), "On a head: whose it is; default: the user")},
      {"after", About(Object({{"type", List({"string", "array", "null"})}}),
                      "On a head: the sweeps and jobs that must be over before it begins")}};
  Value schema = Section(kSpecKeys, properties, "What tune run reads");
  schema.Set("type", "object");
  schema.Set("$schema", "http://json-schema.org/draft-07/schema#");
  schema.Set("title", "A space file of tune");
  schema.Set("required", List({"metric", "mode"}));
  schema.Set(
      "definitions",
      Object({{"duration", DurationForm()}, {"bytes", BytesForm()}, {"parameter", Parameter()}}));
  return schema;
}

}  // namespace

std::string SpecSchema() { return Printed(Schema()); }

}  // namespace tune
