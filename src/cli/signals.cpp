// signals.cpp - clean-up on the signals that end us.
#include "cli/signals.hpp"

#include "cli/progress.hpp"
#include "sweepsort.hpp"

#include <pthread.h>
#include <unistd.h>

#include <csignal>

namespace sweepsort::cli {
namespace {

/// Makes only async-signal-safe calls. Until everything is removed, the same signal in another thread still
/// calls this handler.
void clean_up_and_die(int signal) {
  remove_temporary_files();
  erase_progress_line();
  std::signal(signal, SIG_DFL);
  sigset_t this_one;
  sigemptyset(&this_one);
  sigaddset(&this_one, signal);
  pthread_sigmask(SIG_UNBLOCK, &this_one, nullptr);
  std::raise(signal);
  _exit(128 + signal);  // as the first process of a container, which no default action ends
}

}  // namespace

void install_signal_handlers() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT, SIGXCPU, SIGALRM}) {
    struct sigaction previous {};
    sigaction(signal, nullptr, &previous);
    if (previous.sa_handler == SIG_IGN) continue;
    struct sigaction action {};
    action.sa_handler = clean_up_and_die;
    sigfillset(&action.sa_mask);
    sigaction(signal, &action, nullptr);
  }
  std::signal(SIGXFSZ, SIG_IGN);
  sigset_t progress;
  sigemptyset(&progress);
  sigaddset(&progress, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &progress, nullptr);
}

}  // namespace sweepsort::cli
