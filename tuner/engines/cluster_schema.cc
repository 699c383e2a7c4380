#include <array>
#include <map>
#include <string>
#include <string_view>

#include "core/value.h"
#include "tuner/engines/cluster_file.h"
#include "tuner/engines/cluster_keys.h"
#include "tuner/json_schema.h"

namespace tune {
namespace {

using namespace json_schema;

// ssh and sbatch take numbers among their words.
Value WordsOf(const std::string& about) {
  return About(Object({{"type", "array"},
                       {"items", Object({{"type", List({"string", "integer"})}})},
                       {"minItems", 1}}),
               about);
}

Value Count(int64_t least, const std::string& about) {
  return About(Object({{"anyOf", List({Object({{"type", "integer"}, {"minimum", least}}),
                                       Object({{"enum", List({Value("all")})}})})}}),
               about);
}

Value Name(const std::string& about) {
  return About(Object({{"type", "string"}, {"pattern", "^[a-z]([a-z0-9-]{0,22}[a-z0-9])?$"}}),
               about);
}

Value Head() {
  return Section(kClusterHeadKeys,
                 {{"listen", About(Type("string"), "HOST:PORT for workers; default: 0.0.0.0:7443")},
                  {"address", About(Type("string"),
                                    "HOST:PORT where workers reach the head, if "
                                    "the head cannot tell it by itself")},
                  {"http", About(Type("string"), "HOST:PORT of the page; default: no page")},
                  {"cpus", Integer(0, "Of the head's own worker; default: 0, it has none")},
                  {"gpus", Integer(0, "Likewise")}},
                 "The head, as tune head takes it");
}

Value Slurm() {
  return Section(kSlurmKeys,
                 {{"partition", About(Type("string"), "Default: Slurm's")},
                  {"account", About(Type("string"), "Default: Slurm's")},
                  {"qos", About(Type("string"), "Default: Slurm's")},
                  {"time", About(Ref("duration"), "Wall time of a worker's job; it leaves before")},
                  {"options", WordsOf("Further options of sbatch, such as --exclusive")},
                  {"programs", About(Type("string"),
                                     "The folder of tune's programs on the nodes; default: "
                                     "the same as here")}},
                 "Workers are jobs of Slurm");
}

Value Ssh() {
  Value schema =
      Section(kSshKeys,
              {{"hosts", WordsOf("One worker each; names as ssh's configuration has them")},
               {"user", About(Type("string"), "Default: as ssh's configuration says")},
               {"options", WordsOf("Further options of ssh, such as -p, 2222")},
               {"folder", About(Type("string"),
                                "There, for programs and logs; default: "
                                ".cache/tune/engine")}},
              "Workers are started over SSH");
  schema.Set("required", List({Value("hosts")}));
  return schema;
}

Value Command() {
  Value schema = Section(kCommandEngineKeys,
                         {{"up", WordsOf("Makes the machine {name}")},
                          {"down", WordsOf("Removes the machine {name}; no error if it is gone")},
                          {"list", WordsOf("Prints which machines there are")},
                          {"log", WordsOf("Prints what the machine {name} has said")}},
                         "Workers are machines that commands of yours make and remove");
  schema.Set("required", List({Value("up"), Value("down"), Value("list")}));
  return schema;
}

Value Kubernetes() {
  Value schema = Section(
      kKubernetesKeys,
      {{"namespace", About(Type("string"), "Default: the context's")},
       {"image", About(Type("string"), "A container image with tune in it")},
       {"gpu_resource", About(Type("string"), "Default: nvidia.com/gpu")},
       {"kubeconfig", About(Type("string"), "Default: as kubectl finds it, or the pod's account")},
       {"context", About(Type("string"), "Of the kubeconfig; default: its current one")},
       {"queue", About(Type("string"), "A local queue of Kueue")},
       {"grace", About(Ref("duration"), "Until a pod that is to end is killed; default: 1m")},
       {"template", About(Type("object"), "A pod template (metadata, spec) for all workers")}},
      "Workers are Jobs of Kubernetes");
  schema.Set("required", List({Value("image")}));
  return schema;
}

Value Worker() {
  return Section(kPoolWorkerKeys,
                 {{"cpus", Count(1, "CPUs; default: 1, over SSH all")},
                  {"gpus", Count(0, "GPUs; default: 0, over SSH all")},
                  {"gpu_memory", About(Ref("bytes"), "Of each GPU, such as 80GiB")},
                  {"memory", About(Ref("bytes"), "What the engine is asked for, such as 64GiB")}},
                 "What each worker has");
}

Value Pool() {
  Value schema = Section(
      kPoolKeys,
      {{"slurm", Slurm()},
       {"ssh", Ssh()},
       {"command", Command()},
       {"kubernetes", Kubernetes()},
       {"worker", Worker()},
       {"min", Integer(0, "So many workers are always there; default: 0")},
       {"max", Integer(1, "No more than these; default: 8, over SSH one for each host")},
       {"idle", About(Ref("duration"), "A worker without work goes after this; default: 10m")},
       {"spot", About(Type("boolean"), "Its machines may be taken away at any time")},
       {"join_timeout", About(Ref("duration"),
                              "How long a worker that was started may take to join; default: "
                              "10m")}},
      "Workers of one kind; the first pool that can hold a trial is asked first");
  Value engines = Value::MakeList();
  for (const std::string_view key : kEngineKeys) {
    engines.AsList().push_back(Object({{"required", List({Value(key)})}}));
  }
  schema.Set("type", "object");
  schema.Set("oneOf", std::move(engines));
  return schema;
}

}  // namespace

std::string ClusterSchema() {
  const Value pools = Object({{"description", "The pools of workers, by name"},
                              {"type", "object"},
                              {"propertyNames", Name("")},
                              {"additionalProperties", Pool()},
                              {"minProperties", 1}});
  Value schema = Section(kClusterKeys,
                         {{"name", Name("The cluster's name; default: the file's")},
                          {"head", Head()},
                          {"pools", pools}},
                         "What tune cluster reads");
  schema.Set("type", "object");
  schema.Set("$schema", "http://json-schema.org/draft-07/schema#");
  schema.Set("title", "A cluster file of tune");
  schema.Set("required", List({Value("pools")}));
  schema.Set("definitions", Object({{"duration", DurationForm()}, {"bytes", BytesForm()}}));
  return Printed(schema);
}

}  // namespace tune
