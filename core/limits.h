// Every limit of the system, in one place, so that nothing grows without bound and each bound can
// be tested.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tune::limits {

// Texts and files.
inline constexpr int kJsonDepthMax = 64;
inline constexpr size_t kSpecBytesMax = 4u << 20;
inline constexpr int64_t kSpecNodesMax =
    1'000'000;  // Values of a YAML text, its aliases written out.
inline constexpr size_t kNameBytesMax = 200;
inline constexpr int64_t kPriorityMax = 1'000;    // Of a sweep on a head, up and down.
inline constexpr int64_t kWeightMax = 1'000'000;  // Likewise.
inline constexpr size_t kExpressionBytesMax = 4096;
inline constexpr int kExpressionDepthMax = 64;   // Parentheses, signs and powers within each other.
inline constexpr int kExpressionStackMax = 256;  // Values that wait for an operator.
inline constexpr size_t kErrorBytesMax =
    4096;  // An error text kept with an attempt; longer ones are cut.

// A sweep.
inline constexpr int64_t kSamplesMax = 10'000'000;
inline constexpr size_t kPointsMax = 10'000;         // Configurations to try first.
inline constexpr int64_t kListedPointsMax = 10'000;  // Of a grid that is written out as a list.
inline constexpr int64_t kRepeatMax = 1'000;         // Trials of one configuration.
inline constexpr int64_t kGridPointsMax = 10'000'000;
inline constexpr int64_t kObjectivesMax = 8;
inline constexpr int64_t kLeadingCombinationsMax = 1'000'000;  // Of what constraints look at.
inline constexpr int64_t kParametersMax = 1'000;
inline constexpr int64_t kMetricsPerReportMax = 1'000;
inline constexpr int64_t kAskMax = 100'000;  // Configurations in one answer of ask-tell.
inline constexpr int64_t kConcurrencyMax = 10'000;

// Recorded learning curves.
inline constexpr size_t kCsvCellBytesMax = 64u << 10;
inline constexpr size_t kCsvCellsMax = 4'096;  // In a line.
inline constexpr int64_t kCurvesMax = 1'000'000;
inline constexpr int64_t kCurvePointsMax = 50'000'000;  // Of all curves together.

// The control plane.
inline constexpr size_t kEventsPerCommit = 1'024;
inline constexpr size_t kEventQueueMax = 65'536;
inline constexpr size_t kMessageBytesMax = 16u << 20;  // On the wire: one batch.
inline constexpr size_t kBatchBytes = 1u << 20;  // A batch is sent when it is about this large ...
inline constexpr size_t kBatchMessagesMax = 4'096;     // ... or holds so many messages.
inline constexpr size_t kJsonTextBytesMax = 4u << 20;  // A configuration or trainable, as JSON.
inline constexpr size_t kPathBytesMax = 4'096;
inline constexpr size_t kDevicesPerWorkerMax = 1'024;
inline constexpr int64_t kDeviceBytesMax = int64_t{1} << 50;  // Of one device's memory.
inline constexpr size_t kHeldAttemptsMax = 65'536;            // In one Hello.
inline constexpr int kAheadPerSlotMax = 8;  // Leases granted ahead of need, for each running one.
inline constexpr int64_t kAheadHorizonUs = 20'000;  // Trials shorter than this get leases ahead.
static_assert(kEventsPerCommit <= kEventQueueMax);
static_assert(kBatchBytes + 2 * kJsonTextBytesMax < kMessageBytesMax);

// Trial processes.
inline constexpr size_t kTrialLineBytesMax = 4u << 20;  // One message of a trial process.
inline constexpr int64_t kAttemptLogBytesMax =
    16 << 20;                                    // What an attempt prints; the rest is dropped.
inline constexpr int64_t kKillGraceMs = 5'000;   // From SIGTERM to SIGKILL.
inline constexpr int64_t kStopGraceMs = 30'000;  // From the answer "stop" to SIGTERM.
// From asking one attempt of several to leave its process to SIGKILL: a step of training long.
inline constexpr int64_t kLeaveGraceMs = 30'000;

// Joining from other machines.
inline constexpr size_t kJoinTokensMax = 1'000;
inline constexpr size_t kTlsFileBytesMax = 4u << 20;
inline constexpr int64_t kJoinProbeMs = 10'000;  // A worker's first look at its tuner.
inline constexpr int64_t kConnectMs = 10'000;    // One attempt to connect.
// A peer that answers nothing: asked after so long, given up after as long again.
inline constexpr int64_t kKeepaliveMs = 10'000;
// Who does not get through its handshake, or says nothing after it.
inline constexpr int64_t kStrangerMs = 10'000;

// Folders that are sent to workers of other machines.
inline constexpr int64_t kPackageBytesMax = 512 << 20;
inline constexpr size_t kPackageEntriesMax = 200'000;
inline constexpr int kPackageDepthMax = 64;
inline constexpr size_t kPackagePieceBytes = 256u << 10;  // One message of it.
inline constexpr size_t kPackagesKeptMax = 16;            // In a worker's cache.
inline constexpr int kPackageTriesMax = 3;                // Of one that came with a wrong hash.
inline constexpr size_t kIgnoreFileBytesMax = 64u << 10;

// Checkpoints that are sent to the tuner.
inline constexpr int64_t kCheckpointBytesMax = int64_t{64} << 30;  // Of one, unless a person says.
inline constexpr int kCheckpointCallsMax = 64;                     // A tuner serves at a time.
inline constexpr int kCheckpointThreadsMax = 4;  // On their way at a time, of a sweep on a worker.
inline constexpr int kCheckpointTriesMax = 3;    // Of one that came with a wrong hash.

// Object stores.
inline constexpr size_t kS3KeyBytesMax = 1'024;  // S3's own.
inline constexpr size_t kS3PrefixBytesMax = 512;
inline constexpr int64_t kS3PartBytes = 16 << 20;      // Larger files go in parts of this size.
inline constexpr int64_t kS3PartsMax = 10'000;         // S3's own, of one file.
inline constexpr int kS3PartsAtOnce = 4;               // On their way, of one checkpoint.
inline constexpr size_t kS3AnswerBytesMax = 16 << 20;  // A list, a manifest, an error.
inline constexpr int kS3TriesMax = 6;                  // Of one request, before others are asked.
inline constexpr int64_t kS3PauseMs = 100;             // Drawn up to this; doubles.
inline constexpr int64_t kS3PauseMsMax = 5'000;
inline constexpr int64_t kS3SilenceMs = 30'000;  // A store that sends and takes nothing.
// From being told to end until what is on its way to a store is given up.
inline constexpr int64_t kUploadGraceMs = 20'000;

// Leases.
inline constexpr int64_t kHeartbeatMs = 1'000;
inline constexpr int64_t kLeaseMs = 60'000;
inline constexpr int64_t kTryAgainMs = 60'000;  // A sweep that a machine cannot run; doubles.
inline constexpr int64_t kTryAgainMsMax = 960'000;
inline constexpr int64_t kReconnectMs = 200;  // Before the first attempt to connect again; doubles.
inline constexpr int64_t kReconnectMsMax = 5'000;
static_assert(kHeartbeatMs * 3 < kLeaseMs);

}  // namespace tune::limits
