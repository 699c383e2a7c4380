// SIGTERM ends a trial process as it does any program, unless reported iterations would be lost,
// which no checkpoint holds yet: then it is put off. The worker does not wait for that longer than
// the grace time.
//
// Thread rule: one object in a process, one thread; the signal may come in any.
#pragma once

namespace tune {

class SigtermGate {
 public:
  // From now on it is only noted.
  void PutOff();
  // From now on it ends the process; at once if it came meanwhile.
  void Let();
  // It came while it was put off.
  static bool HasCome();

 private:
  bool is_put_off_ = false;
};

}  // namespace tune
