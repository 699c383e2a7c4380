// What workers without credentials may ask of a sweep's object store: the tuner signs just what
// they need to keep a checkpoint of their trial, and to go on from one of the sweep.
//
//   GET, HEAD  <root>/<trial>/<checkpoint>/...         of any trial
//   PUT, POST  <root>/<their trial>/<checkpoint>/...   whole, or in parts; DELETE of an upload
//
// What is sent must be named by its SHA-256: an address that somebody finds in a log, or that
// outlives its lease, writes nothing else. Nothing is listed, and no object removed.
//
// Thread rule: pure.
#pragma once

#include <string>

#include "core/status.h"
#include "trial_runner/checkpoint_transfer.h"

namespace tune {

// `root`: the sweep's keys begin with it and "/". kInvalidArgument: no worker needs that.
Status CheckLentRequest(const SignStoreRequest& request, const std::string& root);

}  // namespace tune
