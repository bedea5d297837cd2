// signals.hpp - how this program reacts to signals.
#pragma once

namespace sweepsort::cli {

/// SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT, SIGXCPU (ulimit -S -t) and SIGALRM: remove temporary files,
/// then die by the same signal, so that the parent sees it. A signal that the parent ignored (nohup) stays
/// ignored. SIGXFSZ is ignored, so that a write beyond the limit fails with a message. SIGUSR1 is blocked
/// here and received by the progress thread, so call this before any other thread starts.
void install_signal_handlers();

}  // namespace sweepsort::cli
