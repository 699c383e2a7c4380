// Secrets among the values under a command's `env`: passwords, tokens and keys, known by their
// variable's name or by what they look like. They stay on the machine where they were written down:
// what is stored and sent says only that the variable comes from the environment,
//
//   env: {HF_TOKEN: {from_environment: true}}
//
// which is that of `tune run` or `tune resume` for local workers, and that of `tune worker`
// elsewhere.
//
// Thread rule: pure functions.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "core/value.h"

namespace tune {

struct Secret {
  std::string name;  // Of the variable.
  std::string value;
};

// HF_TOKEN, WANDB_API_KEY, aws_secret, DB_PASSWORD, SMTP_PASS, GH_TOKEN_2 and their like.
bool NamesSecret(std::string_view variable);

// The part of a value that is a secret whatever its variable is called, else empty: s3cret of
// postgresql://me:s3cret@db/trials (RFC 3986, 3.2.1), of Server=db;Password=s3cret and of
// https://host/?api_key=s3cret, of {"password": "s3cret"} and of a .netrc's lines; ghp_..., sk-...
// and other keys that begin as their makers' do.
std::string_view SecretIn(std::string_view value);

// With "$HF_TOKEN" in the place of its value: of what a program or a tool printed, before it is
// sent and stored.
std::string WithoutSecrets(std::string text, const std::vector<Secret>& secrets);

// Puts {from_environment: true} in the place of each secret under `env` of a space file's document,
// and returns what stood there. What is no text is none, nor is a text with parameters in it (see
// below); {value: TEXT} says that this is none either.
std::vector<Secret> TakeSecrets(Value& document);

// kInvalidArgument, with the place, of a secret that stands in one text with parameters
// ("word-{tune.trial}"): one is to be stored and the other is not.
Status RefuseSecretsWithParameters(const Value& document);

// The variables that a trainable takes from the environment of the worker that runs it.
std::vector<std::string> VariablesFromEnvironment(const Value& trainable);

// The values that an environment has of them; it says "" of a variable that it does not have.
std::vector<Secret> SecretsOf(const Value& trainable,
                              const std::function<std::string(const char*)>& environment);

// For the person who has to set it, on whichever machine.
std::string DescribeMissingVariable(const std::string& name);

}  // namespace tune
