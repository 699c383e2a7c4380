// Messages from their wire form, which is used up; what is out of range is refused.
//
// Thread rule: pure functions.
#pragma once

#include <string>

#include "core/status.h"
#include "proto/tune/v1/tune.pb.h"
#include "trial_runner/wire/codec.h"

namespace tune {

// Errors name the field, what was read and what was expected.
Status Read(v1::FromWorker& in, FromWorker& out);
Status Read(v1::ToWorker& in, ToWorker& out);
Status Read(v1::FetchRequest& in, FetchRequest& out);
Status Read(v1::FetchPiece& in, std::string& text);
Status Read(v1::CheckpointCall& in, CheckpointCall& out);
Status Read(v1::CheckpointAnswer& in, CheckpointAnswer& out);

}  // namespace tune
