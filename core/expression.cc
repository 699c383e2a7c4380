#include "core/expression.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "core/check.h"
#include "core/limits.h"
#include "core/nearest_name.h"

namespace tune {
namespace {

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

// Recursive descent by the grammar of the header; emits the postfix program while it reads.
class ExpressionParser {
 public:
  explicit ExpressionParser(std::string_view text) : text_(text) {}

  Result<Expression> Run() {
    if (text_.size() > limits::kExpressionBytesMax) {
      return InvalidArgument("an expression of " + std::to_string(text_.size()) +
                             " characters; at most " + std::to_string(limits::kExpressionBytesMax) +
                             " are allowed");
    }
    out_.text_ = std::string(text_);
    TUNE_RETURN_IF_ERROR(Advance());
    TUNE_RETURN_IF_ERROR(ReadDisjunction());
    if (token_.kind != Kind::kEnd) return Unexpected("an operator or the end");
    return std::move(out_);
  }

 private:
  using Op = Expression::Op;

  enum class Kind { kEnd, kNumber, kName, kText, kSymbol };
  struct Token {
    Kind kind = Kind::kEnd;
    std::string_view text;  // Of a quoted text: without the quotes.
    double number = 0;
    size_t begin = 0;
  };

  struct Function {
    std::string_view name;
    Op op;
    bool many;  // Two or more arguments; otherwise exactly one.
  };
  static constexpr std::array<Function, 12> kFunctions = {{{"exp", Op::kExp, false},
                                                           {"log", Op::kLog, false},
                                                           {"log10", Op::kLog10, false},
                                                           {"log2", Op::kLog2, false},
                                                           {"sqrt", Op::kSqrt, false},
                                                           {"abs", Op::kAbs, false},
                                                           {"min", Op::kMin, true},
                                                           {"max", Op::kMax, true},
                                                           {"sin", Op::kSin, false},
                                                           {"cos", Op::kCos, false},
                                                           {"floor", Op::kFloor, false},
                                                           {"round", Op::kRound, false}}};

  // One more level of nesting for as long as it lives.
  class Level {
   public:
    explicit Level(int& depth) : depth_(depth) { ++depth_; }
    ~Level() { --depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    int& depth_;
  };

  Status ErrorAt(size_t begin, std::string_view what) const {
    return InvalidArgument("column " + std::to_string(begin + 1) + " of '" + std::string(text_) +
                           "': " + std::string(what));
  }

  Status Unexpected(std::string_view expected) const {
    const std::string read = token_.kind == Kind::kEnd    ? "the end"
                             : token_.kind == Kind::kText ? "a quoted text"
                                                          : "'" + std::string(token_.text) + "'";
    return ErrorAt(token_.begin, "read " + read + ", expected " + std::string(expected));
  }

  // ---- tokens

  Status Advance() {
    size_t pos = token_end_;
    while (pos < text_.size() &&
           (text_[pos] == ' ' || text_[pos] == '\t' || text_[pos] == '\n' || text_[pos] == '\r')) {
      ++pos;
    }
    token_ = Token{Kind::kEnd, {}, 0, pos};
    token_end_ = pos;
    if (pos == text_.size()) return OkStatus();
    const char c = text_[pos];
    if (IsLetter(c)) return TakeName();
    if (IsDigit(c) || (c == '.' && pos + 1 < text_.size() && IsDigit(text_[pos + 1]))) {
      return TakeNumber();
    }
    if (c == '"' || c == '\'') return TakeText(c);
    return TakeSymbol();
  }

  Status TakeName() {
    size_t pos = token_.begin;
    const auto letter_at = [&](size_t i) { return i < text_.size() && IsLetter(text_[i]); };
    do {
      ++pos;
      if (pos < text_.size() && text_[pos] == '.' && letter_at(pos + 1)) ++pos;
    } while (letter_at(pos) || (pos < text_.size() && IsDigit(text_[pos])));
    token_.kind = Kind::kName;
    token_.text = text_.substr(token_.begin, pos - token_.begin);
    token_end_ = pos;
    return OkStatus();
  }

  Status TakeNumber() {
    const char* const begin = text_.data() + token_.begin;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), token_.number);
    token_end_ = static_cast<size_t>(end - text_.data());
    token_.kind = Kind::kNumber;
    token_.text = text_.substr(token_.begin, token_end_ - token_.begin);
    if (error != std::errc()) {
      return ErrorAt(token_.begin,
                     "'" + std::string(token_.text) + "' is beyond the range of a double");
    }
    if (token_end_ < text_.size() && IsLetter(text_[token_end_])) {
      return ErrorAt(token_end_, "a letter directly after a number; write 2 * x");
    }
    return OkStatus();
  }

  Status TakeText(char quote) {
    const size_t end = text_.find(quote, token_.begin + 1);
    if (end == std::string_view::npos) return ErrorAt(token_.begin, "this quote is never closed");
    token_.kind = Kind::kText;
    token_.text = text_.substr(token_.begin + 1, end - token_.begin - 1);
    token_end_ = end + 1;
    return OkStatus();
  }

  Status TakeSymbol() {
    static constexpr std::string_view kSymbols[] = {"<=", ">=", "==", "!=", "<", ">", "+",
                                                    "-",  "*",  "/",  "^",  "(", ")", ","};
    const std::string_view rest = text_.substr(token_.begin);
    for (const std::string_view symbol : kSymbols) {
      if (rest.substr(0, symbol.size()) != symbol) continue;
      // '**' is Python's power; here it would be read as a product of a product.
      if (symbol == "*" && rest.substr(0, 2) == "**") {
        return ErrorAt(token_.begin, "read '**'; a power is written '^'");
      }
      token_.kind = Kind::kSymbol;
      token_.text = rest.substr(0, symbol.size());
      token_end_ = token_.begin + symbol.size();
      return OkStatus();
    }
    if (rest.front() == '=') return ErrorAt(token_.begin, "read '='; equality is written '=='");
    if (static_cast<unsigned char>(rest.front()) < 0x20 ||
        static_cast<unsigned char>(rest.front()) > 0x7e) {
      return ErrorAt(token_.begin, "a character that has no meaning here");
    }
    return ErrorAt(token_.begin, "'" + std::string(rest.substr(0, 1)) + "' has no meaning here");
  }

  bool IsSymbol(std::string_view symbol) const {
    return token_.kind == Kind::kSymbol && token_.text == symbol;
  }
  bool IsWord(std::string_view word) const {
    return token_.kind == Kind::kName && token_.text == word;
  }

  // ---- the program

  // `pushed` is how many values the instruction adds to the stack: 1, 0 or -1.
  Status Emit(Expression::Instruction instruction, int pushed) {
    stack_ += pushed;
    if (stack_ > limits::kExpressionStackMax) return TooDeep();
    out_.program_.push_back(instruction);
    return OkStatus();
  }
  Status EmitUnary(Op op) { return Emit({op}, 0); }
  Status EmitBinary(Op op) { return Emit({op}, -1); }

  Status TooDeep() const { return ErrorAt(token_.begin, "nested too deeply"); }

  uint32_t SlotOf(std::string_view written, size_t begin) {
    std::string name(written);
    std::replace(name.begin(), name.end(), '.', '/');
    auto& variables = out_.variables_;
    for (size_t i = 0; i < variables.size(); ++i) {
      if (variables[i].name == name) return static_cast<uint32_t>(i);
    }
    ExpressionVariable variable;
    variable.name = std::move(name);
    variable.column = static_cast<int>(begin) + 1;
    variables.push_back(std::move(variable));
    return static_cast<uint32_t>(variables.size() - 1);
  }

  // ---- the grammar, from the loosest binding to the tightest

  Status ReadDisjunction() {
    const Level level(depth_);
    if (depth_ > limits::kExpressionDepthMax) return TooDeep();
    TUNE_RETURN_IF_ERROR(ReadConjunction());
    while (IsWord("or")) {
      TUNE_RETURN_IF_ERROR(Advance());
      TUNE_RETURN_IF_ERROR(ReadConjunction());
      TUNE_RETURN_IF_ERROR(EmitBinary(Op::kOr));
    }
    return OkStatus();
  }

  Status ReadConjunction() {
    TUNE_RETURN_IF_ERROR(ReadNegation());
    while (IsWord("and")) {
      TUNE_RETURN_IF_ERROR(Advance());
      TUNE_RETURN_IF_ERROR(ReadNegation());
      TUNE_RETURN_IF_ERROR(EmitBinary(Op::kAnd));
    }
    return OkStatus();
  }

  Status ReadNegation() {
    if (!IsWord("not")) return ReadComparison();
    const Level level(depth_);
    if (depth_ > limits::kExpressionDepthMax) return TooDeep();
    TUNE_RETURN_IF_ERROR(Advance());
    TUNE_RETURN_IF_ERROR(ReadNegation());
    return EmitUnary(Op::kNot);
  }

  std::optional<Op> ComparisonOp() const {
    if (token_.kind != Kind::kSymbol) return std::nullopt;
    if (token_.text == "<") return Op::kLess;
    if (token_.text == "<=") return Op::kLessEqual;
    if (token_.text == ">") return Op::kGreater;
    if (token_.text == ">=") return Op::kGreaterEqual;
    if (token_.text == "==") return Op::kEqual;
    if (token_.text == "!=") return Op::kNotEqual;
    return std::nullopt;
  }

  Status ReadComparison() {
    if (token_.kind == Kind::kText) return ReadTextFirst();
    const size_t begin = token_.begin;
    const size_t program_before = out_.program_.size();
    TUNE_RETURN_IF_ERROR(ReadSum());
    const std::optional<Op> op = ComparisonOp();
    if (!op) return OkStatus();
    const size_t op_begin = token_.begin;
    TUNE_RETURN_IF_ERROR(Advance());
    if (token_.kind == Kind::kText) {
      // A name alone stood before the operator if exactly that was emitted; take it back.
      const auto& program = out_.program_;
      if (program.size() != program_before + 1 || program.back().op != Op::kVariable) {
        return ErrorAt(begin, "only a parameter's name can be compared with a quoted text");
      }
      ExpressionVariable& variable = out_.variables_[program.back().index];
      const std::string name = variable.name;
      if (!number_uses_before_) variable.used_as_number = false;
      out_.program_.pop_back();
      --stack_;
      const Token text = token_;
      TUNE_RETURN_IF_ERROR(Advance());
      TUNE_RETURN_IF_ERROR(EmitTextComparison(name, begin, text.text, *op, op_begin));
    } else {
      TUNE_RETURN_IF_ERROR(ReadSum());
      TUNE_RETURN_IF_ERROR(EmitBinary(*op));
    }
    return RefuseChain();
  }

  Status ReadTextFirst() {
    const Token text = token_;
    TUNE_RETURN_IF_ERROR(Advance());
    const std::optional<Op> op = ComparisonOp();
    if (!op) return Unexpected("== or != after a quoted text");
    const size_t op_begin = token_.begin;
    TUNE_RETURN_IF_ERROR(Advance());
    if (token_.kind != Kind::kName) return Unexpected("a parameter's name");
    const Token name = token_;
    TUNE_RETURN_IF_ERROR(Advance());
    TUNE_RETURN_IF_ERROR(EmitTextComparison(name.text, name.begin, text.text, *op, op_begin));
    return RefuseChain();
  }

  Status EmitTextComparison(std::string_view name, size_t name_begin, std::string_view text, Op op,
                            size_t op_begin) {
    if (op != Op::kEqual && op != Op::kNotEqual) {
      return ErrorAt(op_begin, "a quoted text has no order; compare it with == or !=");
    }
    const uint32_t slot = SlotOf(name, name_begin);
    out_.variables_[slot].used_as_text = true;
    out_.variables_[slot].texts.emplace_back(text);
    out_.texts_.emplace_back(text);
    const uint32_t text_index = static_cast<uint32_t>(out_.texts_.size() - 1);
    return Emit({op == Op::kEqual ? Op::kTextEqual : Op::kTextNotEqual, slot, text_index}, 1);
  }

  Status RefuseChain() const {
    if (!ComparisonOp()) return OkStatus();
    return ErrorAt(token_.begin, "comparisons do not chain; write a < b and b < c");
  }

  Status ReadSum() {
    TUNE_RETURN_IF_ERROR(ReadProduct());
    while (IsSymbol("+") || IsSymbol("-")) {
      const Op op = token_.text == "+" ? Op::kAdd : Op::kSubtract;
      TUNE_RETURN_IF_ERROR(Advance());
      TUNE_RETURN_IF_ERROR(ReadProduct());
      TUNE_RETURN_IF_ERROR(EmitBinary(op));
    }
    return OkStatus();
  }

  Status ReadProduct() {
    TUNE_RETURN_IF_ERROR(ReadSigned());
    while (IsSymbol("*") || IsSymbol("/")) {
      const Op op = token_.text == "*" ? Op::kMultiply : Op::kDivide;
      TUNE_RETURN_IF_ERROR(Advance());
      TUNE_RETURN_IF_ERROR(ReadSigned());
      TUNE_RETURN_IF_ERROR(EmitBinary(op));
    }
    return OkStatus();
  }

  Status ReadSigned() {
    if (!IsSymbol("-") && !IsSymbol("+")) return ReadPower();
    const Level level(depth_);
    if (depth_ > limits::kExpressionDepthMax) return TooDeep();
    const bool negative = token_.text == "-";
    TUNE_RETURN_IF_ERROR(Advance());
    TUNE_RETURN_IF_ERROR(ReadSigned());
    return negative ? EmitUnary(Op::kNegate) : OkStatus();
  }

  Status ReadPower() {
    TUNE_RETURN_IF_ERROR(ReadPrimary());
    if (!IsSymbol("^")) return OkStatus();
    const Level level(depth_);
    if (depth_ > limits::kExpressionDepthMax) return TooDeep();
    TUNE_RETURN_IF_ERROR(Advance());
    TUNE_RETURN_IF_ERROR(ReadSigned());
    return EmitBinary(Op::kPower);
  }

  Status ReadPrimary() {
    if (token_.kind == Kind::kNumber) {
      TUNE_RETURN_IF_ERROR(Emit({Op::kConstant, 0, 0, token_.number}, 1));
      return Advance();
    }
    if (IsSymbol("(")) {
      TUNE_RETURN_IF_ERROR(Advance());
      TUNE_RETURN_IF_ERROR(ReadDisjunction());
      if (!IsSymbol(")")) return Unexpected("an operator or ')'");
      return Advance();
    }
    if (token_.kind == Kind::kText) {
      return ErrorAt(token_.begin,
                     "a quoted text can only be compared with a parameter by == or !=");
    }
    if (token_.kind != Kind::kName || IsWord("and") || IsWord("or") || IsWord("not")) {
      return Unexpected("a number, a parameter, a function or '('");
    }
    const Token name = token_;
    TUNE_RETURN_IF_ERROR(Advance());
    if (IsSymbol("(")) return ReadCall(name);
    const uint32_t slot = SlotOf(name.text, name.begin);
    number_uses_before_ = out_.variables_[slot].used_as_number;
    out_.variables_[slot].used_as_number = true;
    return Emit({Op::kVariable, slot}, 1);
  }

  Status ReadCall(const Token& name) {
    const auto* const function =
        std::find_if(kFunctions.begin(), kFunctions.end(),
                     [&](const Function& candidate) { return candidate.name == name.text; });
    if (function == kFunctions.end()) {
      std::vector<std::string_view> known;
      for (const Function& candidate : kFunctions) known.push_back(candidate.name);
      return ErrorAt(name.begin, "'" + std::string(name.text) + "' is not a function" +
                                     DidYouMean(name.text, known));
    }
    int count = 0;
    do {
      TUNE_RETURN_IF_ERROR(Advance());
      TUNE_RETURN_IF_ERROR(ReadDisjunction());
      if (++count > 1 && function->many) TUNE_RETURN_IF_ERROR(EmitBinary(function->op));
    } while (function->many && IsSymbol(","));
    if (!IsSymbol(")")) {
      return Unexpected(IsSymbol(",") ? "')': " + std::string(name.text) + " takes one argument"
                                      : std::string("an operator, ',' or ')'"));
    }
    if (function->many && count < 2) {
      return ErrorAt(name.begin, std::string(name.text) + " takes two or more arguments");
    }
    TUNE_RETURN_IF_ERROR(Advance());
    return function->many ? OkStatus() : EmitUnary(function->op);
  }

  std::string_view text_;
  Token token_;
  size_t token_end_ = 0;
  int depth_ = 0;
  int stack_ = 0;
  // Whether the variable read last had been used as a number before: a text comparison takes that
  // use back.
  bool number_uses_before_ = false;
  Expression out_;
};

Result<Expression> Expression::Parse(std::string_view text) { return ExpressionParser(text).Run(); }

}  // namespace tune
