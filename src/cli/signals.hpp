// signals.hpp - what the signals do to us.
#pragma once

namespace sweepsort::cli {

/// SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT, SIGXCPU (ulimit -t) and SIGALRM: remove temporary files, then
/// die by that signal, so that the parent sees it. A signal that the parent had ignored (nohup) stays
/// ignored. SIGXFSZ is ignored: a write beyond the limit fails and gets a message. SIGUSR1 is blocked here
/// and taken by the progress thread: call this before any other thread starts.
void install_signal_handlers();

}  // namespace sweepsort::cli
