// The commands that keep a database, and the machine, in order.
#include <unistd.h>

#include <iostream>

#include "core/posix/environment.h"
#include "core/posix/real_clock.h"
#include "trial_runner/package/cache_trim.h"
#include "tuner/cli/commands.h"
#include "tuner/cli/head/tokens_command.h"
#include "tuner/cli/keep/backup_command.h"
#include "tuner/cli/keep/delete_command.h"
#include "tuner/cli/keep/doctor_command.h"
#include "tuner/cli/keep/gc_command.h"

namespace tune {
namespace {

void AddBackup(Commands& commands) {
  const auto [command, backup] = commands.Add<BackupOptions>(
      "backup",
      "A copy of the database and its artifacts, also while a tuner writes.\nExample: tune backup "
      "/backups/monday.db");
  command->add_option("file", backup->file, "The copy; it must not be there yet")
      ->type_name("FILE")
      ->required();
  commands.Bind(command, [backup = backup](const Invocation& invocation) {
    backup->db_path = invocation.db_path;
    return Answered(BackupCommand(*backup, std::cout, std::cerr));
  });
}

void AddDelete(Commands& commands) {
  const auto [command, doomed] = commands.Add<DeleteOptions>(
      "delete", "A sweep with all its rows and artifacts.\nExample: tune delete food11 --yes");
  command->add_option("name", doomed->name, "The sweep")->type_name("NAME")->required();
  command->add_flag("--yes", doomed->yes, "Does not ask");
  commands.Bind(command, [doomed = doomed](const Invocation& invocation) {
    doomed->db_path = invocation.db_path;
    doomed->is_terminal = isatty(STDIN_FILENO) != 0 && isatty(STDERR_FILENO) != 0;
    return Answered(DeleteCommand(*doomed, RealClock(), std::cin, std::cout, std::cerr));
  });
}

void AddGc(Commands& commands) {
  const auto [command, gc] = commands.Add<GcOptions>(
      "gc",
      "Removes checkpoints and leftovers that nothing needs any more.\nExample: tune gc --dry-run");
  command->add_flag("--dry-run", gc->dry_run, "Only says what would be removed");
  command->add_flag("--vacuum", gc->vacuum,
                    "Packs the database, too (needs room for a copy of it)");
  AddFormat(command, gc->format);
  commands.Bind(command, [gc = gc](const Invocation& invocation) {
    gc->db_path = invocation.db_path;
    gc->cache = UserCacheFolder();
    gc->cache_budget_bytes = kCacheBudgetBytes;
    gc->width = OutputWidth();
    return Answered(GcCommand(*gc, RealClock(), std::cout, std::cerr));
  });
}

void AddDoctor(Commands& commands) {
  const auto [command, doctor] = commands.Add<DoctorOptions>(
      "doctor",
      "Looks at the machine, the disk, the programs and the database.\nExample: tune doctor");
  AddFormat(command, doctor->format);
  commands.Bind(command, [doctor = doctor](const Invocation& invocation) {
    doctor->db_path = invocation.db_path;
    doctor->width = OutputWidth();
    doctor->program_dir = invocation.program_dir;
    doctor->version = TUNE_VERSION;
    return Answered(DoctorCommand(*doctor, RealClock(), std::cout, std::cerr));
  });
}

void AddTokens(Commands& commands) {
  const auto [command, tokens] = commands.Add<TokensOptions>(
      "tokens",
      "Whose workers may join, and whose keys a head's page knows; a key is shown once, and made "
      "for "
      "a viewer who looks, a user who submits and changes what is his own, or an admin.\nExample: "
      "tune tokens\nExample: tune tokens create --role user --name ada --expires 90d > "
      "ada.head\nExample: tune tokens revoke 1f3a9c02");
  command
      ->add_option(
          "what", tokens->words,
          "create: makes one, and prints the line to join with, or the page's address with "
          "the key; revoke ID: ends one; default: lists them")
      ->type_name("create | revoke ID");
  command
      ->add_option("--role", tokens->role,
                   "Whose it is: worker, viewer, user or admin; default: worker")
      ->type_name("ROLE");
  command->add_option("--name", tokens->name, "Whose key it is: the owner of what it submits")
      ->type_name("NAME");
  command->add_flag("--new", tokens->make_new, "As create");
  command->add_option("--revoke", tokens->revoke, "As revoke ID")
      ->type_name("ID")
      ->excludes("--new");
  AddTokenExpires(command, tokens->validity, "--expires,--token-expires");
  AddFormat(command, tokens->format);
  commands.Bind(command, [tokens = tokens](const Invocation& invocation) {
    tokens->db_path = invocation.db_path;
    tokens->width = OutputWidth();
    return Answered(TokensCommand(*tokens, RealClock().Now(), std::cout, std::cerr));
  });
}

}  // namespace

void AddUpkeepCommands(Commands& commands) {
  AddBackup(commands);
  AddDelete(commands);
  AddGc(commands);
  AddDoctor(commands);
  AddTokens(commands);
}

}  // namespace tune
