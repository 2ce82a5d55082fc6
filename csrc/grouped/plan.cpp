// Parses the text of a plan, once.
#include "grouped/plan.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <charconv>
#include <memory>

#include "common/plan_cache.h"

namespace mirror {
namespace {

// One line, taken apart from the left. Every refusal quotes it.
class Line {
 public:
  explicit Line(std::string_view text) : text_(text), rest_(text) {}

  std::string_view word() {
    const size_t end = std::min(rest_.find(' '), rest_.size());
    const std::string_view found = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    check(!found.empty());
    return found;
  }

  // The value of the next word, `key=value`.
  std::string_view field(std::string_view key) {
    const std::string_view found = word();
    check(found.size() > key.size() && found.starts_with(key) && found[key.size()] == '=');
    return found.substr(key.size() + 1);
  }

  bool flag(std::string_view key) {
    const std::string_view value = field(key);
    check(value == "0" || value == "1");
    return value == "1";
  }

  int64_t number(std::string_view digits) const {
    int64_t value = -1;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    check(error == std::errc() && end == digits.data() + digits.size() && value >= 0);
    return value;
  }

  TensorView view(std::string_view key) {
    std::string_view value = field(key);
    TensorView view;
    if (value == "-") return view;
    const size_t at = value.find('@');
    view.tensor = number(value.substr(0, at));
    if (at == std::string_view::npos) return view;
    value.remove_prefix(at + 1);
    const size_t first = value.find(':');
    check(first != std::string_view::npos);
    const size_t second = value.find(':', first + 1);
    view.dim = number(value.substr(0, first));
    view.start = number(value.substr(first + 1, second - first - 1));
    if (second != std::string_view::npos) view.length = number(value.substr(second + 1));
    return view;
  }

  bool done() const { return rest_.empty(); }

  void check(bool right) const {
    TORCH_CHECK_VALUE(right, "this line of the plan of a grouped embedding is wrong: '", text_,
                      "'");
  }

 private:
  std::string_view text_, rest_;
};

GroupedMode parse_mode(std::string_view name, const Line& line) {
  if (name == "sum") return GroupedMode::kSum;
  if (name == "mean") return GroupedMode::kMean;
  if (name == "max") return GroupedMode::kMax;
  line.check(name == "row");
  return GroupedMode::kRow;
}

TablePlan parse_table(Line& line) {
  TablePlan table;
  table.name = line.word();
  table.ids = line.view("ids");
  table.offsets = line.view("offsets");
  table.weights = line.view("weights");
  table.mode = parse_mode(line.field("mode"), line);
  const std::string_view padding = line.field("padding");
  if (padding != "-") table.padding = line.number(padding);
  table.last = line.flag("last");
  table.sparse = line.flag("sparse");
  line.check(line.done() && table.ids.given());
  line.check(table.offsets.given() || !table.last);
  line.check(table.mode != GroupedMode::kRow || !table.offsets.given());
  line.check(table.mode == GroupedMode::kSum || !table.weights.given());
  line.check(table.mode != GroupedMode::kMax || !table.sparse);  // nor has torch's own
  return table;
}

OutputPlan parse_output(Line& line, OutputKind kind) {
  OutputPlan output{kind, {}};
  while (!line.done()) {
    const std::string_view part = line.word();
    const bool extra = part[0] == 'x';
    line.check(!extra || kind == OutputKind::kCat);
    output.parts.push_back(extra ? -1 - line.number(part.substr(1)) : line.number(part));
  }
  line.check(!output.parts.empty() && (kind != OutputKind::kSingle || output.parts.size() == 1));
  return output;
}

// Each table and each extra stands in exactly one output.
void check_parts(GroupedPlan& plan) {
  std::vector<int64_t> parts;
  for (const OutputPlan& output : plan.outputs) {
    parts.insert(parts.end(), output.parts.begin(), output.parts.end());
  }
  std::sort(parts.begin(), parts.end());
  plan.num_extras = std::count_if(parts.begin(), parts.end(), [](int64_t p) { return p < 0; });
  bool right = plan.num_extras + static_cast<int64_t>(plan.tables.size()) ==
               static_cast<int64_t>(parts.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    right = right && parts[i] == static_cast<int64_t>(i) - plan.num_extras;
  }
  TORCH_CHECK_VALUE(right && !plan.tables.empty(),
                    "each table and each extra tensor of a grouped embedding must stand in exactly "
                    "one output of its plan");
}

std::unique_ptr<GroupedPlan> parse(std::string_view text) {
  auto plan = std::make_unique<GroupedPlan>();
  plan->hash = text_hash(text);
  for (std::string_view rest = text; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view whole = rest.substr(0, end);
    Line line(whole);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::string_view kind = line.word();
    if (kind == "table") {
      plan->tables.push_back(parse_table(line));
      plan->separate_outputs.append(whole).append("\n");
    } else if (kind == "out") {
      plan->outputs.push_back(parse_output(line, OutputKind::kSingle));
    } else if (kind == "cat") {
      plan->outputs.push_back(parse_output(line, OutputKind::kCat));
    } else {
      line.check(kind == "stack");
      plan->outputs.push_back(parse_output(line, OutputKind::kStack));
    }
  }
  check_parts(*plan);
  for (size_t t = 0; t < plan->tables.size(); ++t) {
    const TablePlan& table = plan->tables[t];
    plan->num_ids = std::max(plan->num_ids, table.ids.tensor + 1);
    plan->num_offsets = std::max(plan->num_offsets, table.offsets.tensor + 1);
    plan->num_weights = std::max(plan->num_weights, table.weights.tensor + 1);
    plan->separate_outputs += "out " + std::to_string(t) + "\n";
  }
  return plan;
}

}  // namespace

const GroupedPlan& grouped_plan(std::string_view text) {
  static PlanCache<GroupedPlan> plans;
  return plans.get(text, parse);
}

}  // namespace mirror
