# Where results come from, and keeping databases and artifacts in order.
tune_library(tune_housekeeping
  SOURCES
    provenance.cc
    cli/keep/artifact_cleanup.cc
    cli/keep/backup_command.cc
    cli/keep/bucket_cleanup.cc
    cli/keep/cgroup_limits.cc
    cli/keep/database_check.cc
    cli/keep/delete_command.cc
    cli/keep/deleted_folders.cc
    cli/keep/doctor_command.cc
    cli/keep/files_command.cc
    cli/run/gather_provenance.cc cli/run/program_watch.cc
    cli/keep/gc_command.cc
    cli/run/git_state.cc
    cli/run/input_check.cc
    cli/look/logs_command.cc
    cli/keep/machine_check.cc
    cli/keep/program_output.cc
    cli/keep/removed_checkpoint.cc
    cli/keep/stored_ask_tell.cc
  DEPS tune_bucket tune_queries tune_spec tune_json_lines tune_controller tune_devices tune_export tune_package tune_trial_process tune_core_posix)
