# Where results come from, and keeping databases and artifacts in order.
tune_library(tune_housekeeping
  SOURCES
    provenance.cc
    cli/artifact_cleanup.cc
    cli/backup_command.cc
    cli/bucket_cleanup.cc
    cli/cgroup_limits.cc
    cli/database_check.cc
    cli/delete_command.cc
    cli/deleted_folders.cc
    cli/doctor_command.cc
    cli/files_command.cc
    cli/gather_provenance.cc cli/program_watch.cc
    cli/gc_command.cc
    cli/git_state.cc
    cli/input_check.cc
    cli/logs_command.cc
    cli/machine_check.cc
    cli/program_output.cc
    cli/stored_ask_tell.cc
  DEPS tune_bucket tune_queries tune_spec tune_json_lines tune_controller tune_devices tune_export tune_package tune_trial_process tune_core_posix)
