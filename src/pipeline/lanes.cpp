// lanes.cpp - begins, restarts and runs the lanes' sessions.
#include "pipeline/lanes.hpp"

#include <utility>

namespace sweepsort {

Lanes::Lanes(const Backends& backends, SortJob job, uint32_t lanes)
    : backends_(backends), job_(std::move(job)), sessions_(lanes) {}

void Lanes::change(SortJob job) {
  job_ = std::move(job);
  for (auto& session : sessions_) session.reset();
}

void Lanes::begin() {
  for (uint32_t lane = 0; lane < sessions_.size(); ++lane) (void)session(lane, job_.count);
}

SortSession& Lanes::session(uint32_t lane, uint64_t count) {
  std::unique_ptr<SortSession>& mine = sessions_[lane];
  Backend& backend = *backends_[lane % backends_.size()];
  if (!mine) {
    mine = backend.begin_sort(job_);
    if (count == job_.count) return *mine;
  }
  if (!mine->restart(count)) {
    SortJob job = job_;
    job.count = count;
    mine.reset();  // never hold two at a time
    mine = backend.begin_sort(job);
  }
  return *mine;
}

void Lanes::run(decltype(Stages::load) load, decltype(Stages::store) store,
                const std::function<void()>& cancel) {
  const auto sort = [&](uint32_t lane, uint64_t) {
    SortSummary summary = sessions_[lane]->sort();
    if (first_sort_.algorithm.empty()) first_sort_ = std::move(summary);
  };
  const StageTimes times =
      run_stages(static_cast<uint32_t>(sessions_.size()), {std::move(load), sort, std::move(store), cancel});
  times_.load_s += times.load_s;
  times_.sort_s += times.sort_s;
  times_.store_s += times.store_s;
}

}  // namespace sweepsort
