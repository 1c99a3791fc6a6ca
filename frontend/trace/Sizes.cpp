#include "frontend/trace/Sizes.h"

#include "frontend/tensor/Raise.h"

#include <cctype>
#include <cstdlib>

namespace graphc::trace {

bool SizeNames::isSymbolic(int64_t size) const {
  // A program multiplies sizes by each other and by small numbers: whatever is near a multiple of a stand-in came from it.
  for (const SymbolicSize &symbol : symbols_)
    if (std::abs(size) >= symbol.standIn / 2)
      return true;
  return false;
}

const SymbolicSize *SizeNames::split(int64_t size, int64_t &factor, int64_t &rest) const {
  // The largest stand-in first: a polynomial in it, whose coefficients are expressions of the others.
  const SymbolicSize *largest = nullptr;
  for (const SymbolicSize &symbol : symbols_)
    if (std::abs(size) >= symbol.standIn / 2 && (!largest || symbol.standIn > largest->standIn))
      largest = &symbol;
  if (!largest)
    return nullptr;
  factor = (size + (size > 0 ? largest->standIn / 2 : -largest->standIn / 2)) / largest->standIn;
  rest = size - factor * largest->standIn;
  return largest;
}

std::string SizeNames::text(int64_t size) const {
  int64_t factor = 0, rest = 0;
  const SymbolicSize *symbol = split(size, factor, rest);
  if (!symbol)
    return std::to_string(size);
  std::string result = factor == 1 ? symbol->name : symbol->name + " * " + (isSymbolic(factor) ? "(" + text(factor) + ")" : text(factor));
  return rest == 0 ? result : result + " + " + text(rest);
}

int64_t SizeNames::at(int64_t size, const std::vector<int64_t> &values) const {
  int64_t factor = 0, rest = 0;
  const SymbolicSize *symbol = split(size, factor, rest);
  return symbol ? at(factor, values) * values[static_cast<size_t>(symbol - symbols_.data())] + at(rest, values) : size;
}

namespace {

/// sum := product (('+' | '-') product)*; product := atom (('*' | 'floordiv' | 'ceildiv' | 'mod') atom)*
class Evaluator {
public:
  Evaluator(const std::string &text, const std::vector<int64_t> &symbols) : text_(text), symbols_(symbols) {}
  int64_t run() {
    int64_t value = sum();
    skip();
    if (at_ != text_.size())
      fail();
    return value;
  }

private:
  [[noreturn]] void fail() { raise(Code::Internal, "the size '", text_, "' does not parse"); }
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ')
      ++at_;
  }
  bool take(const char *word) {
    skip();
    std::string_view rest = std::string_view(text_).substr(at_), wanted = word;
    if (!rest.starts_with(wanted))
      return false;
    at_ += wanted.size();
    return true;
  }
  int64_t sum() {
    int64_t value = product();
    while (true) {
      if (take("+"))
        value += product();
      else if (take("-"))
        value -= product();
      else
        return value;
    }
  }
  int64_t product() {
    int64_t value = atom();
    while (true) {
      if (take("*")) {
        value *= atom();
      } else if (take("floordiv")) {
        int64_t by = atom();
        value = value / by - (value % by != 0 && (value < 0) != (by < 0));
      } else if (take("ceildiv")) {
        int64_t by = atom();
        value = value / by + (value % by != 0 && (value < 0) == (by < 0));
      } else if (take("mod")) {
        int64_t by = atom();
        value = ((value % by) + by) % by;
      } else {
        return value;
      }
    }
  }
  int64_t atom() {
    if (take("-"))
      return -atom();
    if (take("(")) {
      int64_t value = sum();
      if (!take(")"))
        fail();
      return value;
    }
    skip();
    bool symbol = at_ < text_.size() && text_[at_] == 's';
    at_ += symbol;
    size_t start = at_;
    int64_t number = 0;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])))
      number = number * 10 + (text_[at_++] - '0');
    if (at_ == start || (symbol && static_cast<size_t>(number) >= symbols_.size()))
      fail();
    return symbol ? symbols_[static_cast<size_t>(number)] : number;
  }
  const std::string &text_;
  const std::vector<int64_t> &symbols_;
  size_t at_ = 0;
};

} // namespace

int64_t evaluateSize(const std::string &text, const std::vector<int64_t> &symbols) { return Evaluator(text, symbols).run(); }

} // namespace graphc::trace
