// Choices in memory and in their file.
#include "common/choices.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <shared_mutex>
#include <unordered_map>

namespace mirror {
namespace {

using Times = std::vector<double>;

// Measured calls of every way after one to warm up. Ways that are far behind after the first few
// are out, and so are, later, those that are clearly behind; the others are measured until there
// are enough calls to tell them apart.
constexpr size_t kWarmUp = 1, kFirst = 3, kMeasured = 7, kClose = 15;
// While ways take turns, each takes memory from the C library in its own sizes, and what it gives
// back the next call faults in again: such calls say nothing about those to come, when one way is
// left. So they are not counted, and the same way has the next turn, when its memory is there.
// Only so many of a kind: where faults go on, they are what the ways cost.
constexpr int64_t kFewFaults = 16;
constexpr int kLeftOut = 32;
constexpr double kFarBehind = 2.0, kBehind = 1.15;  // times the best

double median(Times values) {
  const auto middle = values.begin() + values.size() / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

struct Store {
  std::shared_mutex mutex;
  std::unordered_map<uint64_t, std::unique_ptr<Choice>> choices;
  std::vector<std::unique_ptr<Choice>> forgotten;     // calls may still be under way
  std::unordered_map<std::string, std::string> kept;  // of the file: key -> way
  std::string file;
};

Store& store() {
  static Store* const one = new Store;  // never destroyed: calls may outlive static objects
  return *one;
}

// One write of one line, so that lines of several processes do not mix. A full or read-only disk
// costs the next process its replay and this one nothing.
void keep(const std::string& key, const std::string& way) {
  std::string file;
  {
    const std::shared_lock lock(store().mutex);
    file = store().file;
  }
  if (file.empty()) return;
  const int descriptor = open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) return;
  const std::string line = key + "\t" + way + "\n";
  [[maybe_unused]] const ssize_t written = write(descriptor, line.data(), line.size());
  close(descriptor);
}

}  // namespace

Choice::Choice(std::string key, std::vector<std::string> ways, int chosen)
    : key_(std::move(key)),
      ways_(std::move(ways)),
      chosen_(chosen),
      times_(ways_.size()),
      out_(ways_.size(), false) {
  if (chosen < 0 && ways_.size() == 1) chosen_ = 0;
}

int Choice::next(bool& measure) {
  calls_.fetch_add(1, std::memory_order_relaxed);
  const int chosen = chosen_.load(std::memory_order_relaxed);
  measure = chosen < 0;
  if (!measure) return chosen;
  const std::lock_guard lock(mutex_);
  int fewest = -1;
  for (size_t way = 0; way < ways_.size(); ++way) {
    if (!out_[way] && (fewest < 0 || times_[way].size() < times_[fewest].size())) fewest = way;
  }
  return fewest;
}

void Choice::record(int way, double microseconds, int64_t page_faults) {
  {
    const std::lock_guard lock(mutex_);
    if (chosen_ >= 0) return;
    if (page_faults > kFewFaults && left_out_ < kLeftOut) {
      ++left_out_;
      return;
    }
    times_[way].push_back(microseconds);
    decide();
    if (chosen_ < 0) return;
  }
  keep(key_, ways_[chosen_]);
}

void Choice::decide() {
  size_t fewest = SIZE_MAX;
  for (size_t way = 0; way < ways_.size(); ++way) {
    if (!out_[way]) fewest = std::min(fewest, times_[way].size());
  }
  if (fewest == kWarmUp + kFirst) {
    // By the shortest times: of so few calls a neighbour on the machine may have hit most.
    drop(kFarBehind, [&](size_t way) {
      const auto first = times_[way].begin() + kWarmUp;
      return *std::min_element(first, times_[way].end());
    });
  } else if (fewest == kWarmUp + kMeasured) {
    drop(kBehind, shares(fewest));
  }
  const bool alone = std::count(out_.begin(), out_.end(), false) == 1;
  if (alone || fewest >= kWarmUp + kClose) chosen_ = drop(1.0, shares(fewest));
}

std::function<double(size_t)> Choice::shares(size_t rounds) const {
  Times typical;
  for (size_t round = kWarmUp; round < rounds; ++round) {
    Times of_round;
    for (size_t way = 0; way < ways_.size(); ++way) {
      if (!out_[way]) of_round.push_back(times_[way][round]);
    }
    typical.push_back(median(std::move(of_round)));
  }
  return [this, typical](size_t way) {
    Times shares;
    for (size_t i = 0; i < typical.size(); ++i) {
      shares.push_back(times_[way][kWarmUp + i] / typical[i]);
    }
    return median(std::move(shares));
  };
}

int Choice::drop(double factor, const std::function<double(size_t)>& statistic) {
  std::vector<double> found(ways_.size());
  int best = -1;
  for (size_t way = 0; way < ways_.size(); ++way) {
    if (out_[way]) continue;
    found[way] = statistic(way);
    if (best < 0 || found[way] < found[best]) best = static_cast<int>(way);
  }
  for (size_t way = 0; way < ways_.size(); ++way) {
    if (!out_[way] && found[way] > factor * found[best]) out_[way] = true;
  }
  return best;
}

std::string Choice::text() const {
  const std::lock_guard lock(mutex_);
  std::string line =
      key_ + "\t" + (chosen_ < 0 ? "-" : ways_[chosen_]) + "\t" + std::to_string(calls_.load());
  for (size_t way = 0; way < ways_.size(); ++way) {
    if (times_[way].size() <= kWarmUp) continue;
    line += "\t" + ways_[way] + "=" +
            std::to_string(median({times_[way].begin() + kWarmUp, times_[way].end()}));
  }
  return line;
}

Choice* find_choice(uint64_t kind) {
  const std::shared_lock lock(store().mutex);
  const auto found = store().choices.find(kind);
  return found == store().choices.end() ? nullptr : found->second.get();
}

Choice& add_choice(uint64_t kind, std::string key, std::vector<std::string> ways) {
  const std::unique_lock lock(store().mutex);
  auto& place = store().choices[kind];
  if (!place) {
    const auto kept = store().kept.find(key);
    const auto way =
        kept == store().kept.end() ? ways.end() : std::find(ways.begin(), ways.end(), kept->second);
    const int chosen = way == ways.end() ? -1 : static_cast<int>(way - ways.begin());
    place = std::make_unique<Choice>(std::move(key), std::move(ways), chosen);
  }
  return *place;
}

int64_t page_faults() {
  rusage used;
  return getrusage(RUSAGE_SELF, &used) == 0 ? used.ru_minflt : 0;
}

std::string hexadecimal(uint64_t value) {
  std::string digits(16, '0');
  for (size_t i = digits.size(); i-- > 0; value >>= 4) digits[i] = "0123456789abcdef"[value & 15];
  return digits;
}

std::string choices_text() {
  const std::shared_lock lock(store().mutex);
  std::string text;
  for (const auto& [kind, choice] : store().choices) text += choice->text() + "\n";
  return text;
}

void use_choices_file(const std::string& path) {
  std::unordered_map<std::string, std::string> kept;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t tab = line.find('\t');
    if (tab != std::string::npos) kept[line.substr(0, tab)] = line.substr(tab + 1);
  }
  const std::unique_lock lock(store().mutex);
  for (auto& [kind, choice] : store().choices) store().forgotten.push_back(std::move(choice));
  store().choices.clear();
  store().kept = std::move(kept);
  store().file = path;
}

}  // namespace mirror
