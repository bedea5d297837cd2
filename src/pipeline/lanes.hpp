// lanes.hpp - sessions that take turns: while one sorts, the next is filled and the last is emptied.
#pragma once

#include "backend/backend.hpp"
#include "pipeline/stages.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sweepsort {

/// One session per lane, each used again and again. They are distributed over the backends in turn.
class Lanes {
 public:
  /// Sessions hold up to `job.count` records. Allocates nothing yet.
  Lanes(const Backends& backends, SortJob job, uint32_t lanes);

  /// From now on, sessions are for this job. Frees the present ones.
  void change(SortJob job);
  /// Begins all sessions. Throws Error if there is not enough room for them.
  void begin();
  /// The lane's session, emptied and ready for `count` records.
  SortSession& session(uint32_t lane, uint64_t count);
  /// The lane's session as it is.
  SortSession& operator[](uint32_t lane) { return *sessions_[lane]; }

  /// Passes items through the stages (stages.hpp). The lane's session sorts each item.
  void run(decltype(Stages::load) load, decltype(Stages::store) store,
           const std::function<void()>& cancel = {});

  /// Times of all runs so far.
  StageTimes times() const { return times_; }
  /// The algorithm that sorted the first item.
  const std::string& algorithm() const { return first_sort_.algorithm; }
  std::string algorithm_why() const {
    return first_sort_.why.empty() ? "" : "of the first part: " + first_sort_.why;
  }

 private:
  const Backends& backends_;
  SortJob job_;
  std::vector<std::unique_ptr<SortSession>> sessions_;
  StageTimes times_;
  SortSummary first_sort_;
};

}  // namespace sweepsort
