// The text of a plan of ops side by side, read line by line.
#include <ATen/core/enum_tag.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

#include "common/plan_cache.h"
#include "side_by_side/side_by_side.h"

namespace mirror {
namespace {

using c10::IValue;
using c10::TypeKind;
using Kind = BranchArgument::Kind;

// A value of the text, before it is known what the op wants there.
struct Literal {
  enum { kNone, kBool, kInt, kFloat, kText, kInput, kList } kind;
  int64_t integer = 0;  // also of kBool, and the number of kInput
  double number = 0;
  std::string text = {};
  std::vector<Literal> items = {};
};

// One line, read from the left. Every refusal quotes it.
class Line {
 public:
  explicit Line(std::string_view text) : text_(text), rest_(text) {}

  [[noreturn]] void refuse(const std::string& why) const {
    TORCH_CHECK_VALUE(false, "this line of the plan of ops side by side is wrong (", why, "): '",
                      text_, "'");
    std::abort();
  }

  std::string_view until(char end) {
    const size_t at = rest_.find(end);
    if (at == std::string_view::npos) refuse(std::string("'") + end + "' is missing");
    const std::string_view found = rest_.substr(0, at);
    rest_.remove_prefix(at + 1);
    return found;
  }

  std::vector<Literal> list(char end) {
    std::vector<Literal> items;
    if (skip(end)) return items;
    do {
      items.push_back(value());
    } while (skip(','));
    if (!skip(end)) refuse(std::string("'") + end + "' is missing");
    return items;
  }

  bool done() const { return rest_.empty(); }

 private:
  bool skip(char wanted) {
    while (rest_.starts_with(' ')) rest_.remove_prefix(1);
    if (!rest_.starts_with(wanted)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  Literal value() {
    if (skip('[')) return {.kind = Literal::kList, .items = list(']')};
    if (skip('\'')) return {.kind = Literal::kText, .text = std::string(until('\''))};
    const std::string_view whole = rest_.substr(0, rest_.find_first_of(",)]"));
    rest_.remove_prefix(whole.size());
    const bool input = whole.starts_with('%');
    const std::string_view word = whole.substr(input);
    if (!input && word == "None") return {.kind = Literal::kNone};
    if (!input && (word == "True" || word == "False")) {
      return {.kind = Literal::kBool, .integer = word == "True"};
    }
    const char* const end = word.data() + word.size();
    Literal found{.kind = input ? Literal::kInput : Literal::kInt};
    if (const auto read = std::from_chars(word.data(), end, found.integer);
        read.ptr == end && read.ec == std::errc() && (!input || found.integer >= 0)) {
      return found;
    }
    found.kind = Literal::kFloat;
    const auto read = std::from_chars(word.data(), end, found.number);
    if (input || read.ptr != end || read.ec != std::errc()) {
      refuse("'" + std::string(whole) + "' is no value");
    }
    return found;
  }

  std::string_view text_, rest_;
};

// The constant that `literal` means as an argument of type `type`, if it can be one.
std::optional<IValue> constant(const Literal& literal, const c10::TypePtr& type) {
  const bool whole = literal.kind == Literal::kInt;
  const double number = whole ? static_cast<double>(literal.integer) : literal.number;
  const bool numeric = whole || literal.kind == Literal::kFloat;
  switch (type->kind()) {
    case TypeKind::OptionalType:
      if (literal.kind == Literal::kNone) return IValue();
      return constant(literal, type->expectRef<c10::OptionalType>().getElementType());
    case TypeKind::BoolType:
      if (literal.kind == Literal::kBool) return IValue(literal.integer != 0);
      return std::nullopt;
    case TypeKind::IntType:
    case TypeKind::SymIntType:
      if (whole) return IValue(literal.integer);
      return std::nullopt;
    case TypeKind::FloatType:
    case TypeKind::SymFloatType:
      if (numeric) return IValue(number);
      return std::nullopt;
    case TypeKind::NumberType:
      if (literal.kind == Literal::kBool) return IValue(literal.integer != 0);
      if (numeric) return whole ? IValue(literal.integer) : IValue(number);
      return std::nullopt;
    case TypeKind::StringType:
      if (literal.kind == Literal::kText) return IValue(literal.text);
      return std::nullopt;
    case TypeKind::ListType:
      break;
    default:
      return std::nullopt;
  }
  if (literal.kind != Literal::kList) return std::nullopt;
  const c10::TypePtr& element = type->expectRef<c10::ListType>().getElementType();
  c10::List<int64_t> integers;
  c10::List<double> numbers;
  const bool of_integers = element->kind() != TypeKind::FloatType;
  for (const Literal& item : literal.items) {
    const std::optional<IValue> found = constant(item, element);
    if (!found || !(of_integers ? found->isInt() : found->isDouble())) return std::nullopt;
    of_integers ? integers.push_back(found->toInt()) : numbers.push_back(found->toDouble());
  }
  return of_integers ? IValue(std::move(integers)) : IValue(std::move(numbers));
}

bool takes(const c10::TypePtr& type, TypeKind kind) {
  if (const auto optional = type->cast<c10::OptionalType>()) {
    return optional->getElementType()->kind() == kind;
  }
  return type->kind() == kind;
}

BranchArgument parse_argument(const Literal& literal, const c10::Argument& wanted,
                              const Line& line) {
  const c10::TypePtr& type = wanted.type();
  BranchArgument argument;
  if (literal.kind == Literal::kInput && takes(type, TypeKind::TensorType)) {
    argument.kind = Kind::kInput;
    argument.inputs = {literal.integer};
    return argument;
  }
  if (literal.kind == Literal::kList && type->isSubtypeOf(*c10::ListType::ofTensors())) {
    argument.kind = Kind::kInputs;
    for (const Literal& item : literal.items) {
      if (item.kind != Literal::kInput) line.refuse("'" + wanted.name() + "' is a list of inputs");
      argument.inputs.push_back(item.integer);
    }
    return argument;
  }
  std::optional<IValue> value = constant(literal, type);
  if (!value) line.refuse("'" + wanted.name() + "' must be " + type->str());
  argument.constant = *std::move(value);
  return argument;
}

c10::OperatorHandle find_op(std::string_view name, const Line& line) {
  const std::string_view space = "aten::";
  const size_t dot = name.find('.');
  const std::string base(name.substr(0, dot));
  const std::string overload(dot == std::string_view::npos ? "" : name.substr(dot + 1));
  const auto op = c10::Dispatcher::singleton().findSchema({base, overload});
  if (!name.starts_with(space) || !op) line.refuse("there is no aten op of this name");
  const c10::FunctionSchema& schema = op->schema();
  if (schema.returns().size() != 1 || schema.returns()[0].type()->kind() != TypeKind::TensorType) {
    line.refuse("the op does not return one tensor");
  }
  bool aliases =
      schema.returns()[0].alias_info() || op->hasTag(at::Tag::maybe_aliasing_or_mutating);
  for (const c10::Argument& argument : schema.arguments())
    aliases |= argument.alias_info() != nullptr;
  if (aliases) line.refuse("the op writes to an argument or returns a view");
  if (op->hasTag(at::Tag::nondeterministic_seeded)) line.refuse("the op draws random numbers");
  return *op;
}

Branch parse_branch(Line& line) {
  const std::string_view name = line.until('(');
  Branch branch{find_op(name, line), {}, -1};
  if (name == "aten::linear" || name == "aten::mm") branch.product = 0;
  if (name == "aten::addmm") branch.product = 1;
  const std::vector<Literal> literals = line.list(')');
  if (!line.done()) line.refuse("something follows the ')'");
  const std::vector<c10::Argument>& wanted = branch.op.schema().arguments();
  if (literals.size() > wanted.size()) line.refuse("too many arguments");
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (i < literals.size()) {
      branch.arguments.push_back(parse_argument(literals[i], wanted[i], line));
    } else if (wanted[i].default_value()) {
      branch.arguments.push_back({.constant = *wanted[i].default_value()});
    } else {
      line.refuse("'" + wanted[i].name() + "' is missing");
    }
  }
  return branch;
}

std::unique_ptr<SideBySidePlan> parse(std::string_view text) {
  auto plan = std::make_unique<SideBySidePlan>();
  plan->hash = text_hash(text);
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    Line line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    plan->branches.push_back(parse_branch(line));
    for (const BranchArgument& argument : plan->branches.back().arguments) {
      for (const int64_t input : argument.inputs) {
        plan->num_inputs = std::max(plan->num_inputs, input + 1);
      }
    }
  }
  TORCH_CHECK_VALUE(!plan->branches.empty(), "the plan of ops side by side has no line");
  return plan;
}

}  // namespace

const SideBySidePlan& side_by_side_plan(std::string_view text) {
  static PlanCache<SideBySidePlan> plans;
  return plans.get(text, parse);
}

}  // namespace mirror
