# What trials left on disk: where it lies, and what of it nobody needs.
tune_library(tune_artifacts
  SOURCES
    artifact_garbage.cc
    artifact_path.cc
    artifact_store.cc
  DEPS tune_core tune_events tune_s3_address tune_checkpoint_name)
