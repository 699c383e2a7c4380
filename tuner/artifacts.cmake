# What trials left on disk: where it lies.
tune_library(tune_artifacts
  SOURCES
    artifact_path.cc
  DEPS tune_core tune_events)
