// PTX text to tokens. Private to Parser.cpp.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace graphc::cudasim::ptx {

/// Thrown inside the parser and caught at its door.
struct Failed {
  std::string message;
};

enum class Tok : uint8_t { End, Name, Dot, Integer, Float32, Float64, String, Punct };

struct Token {
  Tok kind = Tok::End;
  std::string_view text;
  int64_t integer = 0;
  double real = 0;
  uint32_t line = 0;
  bool is(char c) const { return kind == Tok::Punct && text[0] == c; }
};

inline bool nameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%'; }
inline bool digit(char c) { return c >= '0' && c <= '9'; }
inline bool nameChar(char c) { return nameStart(c) || digit(c); }

class Lexer {
public:
  explicit Lexer(std::string_view text) : at(text.data()), end(text.data() + text.size()) { advance(); }
  const Token &peek() const { return token; }
  Token take() {
    Token taken = token;
    advance();
    return taken;
  }
  const char *tokenStart() const { return start; }
  const char *lastEnd() const { return previousEnd; }
  uint32_t line() const { return token.line; }

  /// The mnemonic at a name token: dotted pieces with no blanks between, split.
  void takeMnemonic(std::vector<std::string_view> &parts) {
    const char *p = start;
    for (;;) {
      const char *piece = p;
      while (p < end && (nameChar(*p) || (*p == ':' && p + 1 < end && p[1] == ':')))
        p += *p == ':' ? 2 : 1;
      if (p == piece)
        throw Failed{"line " + std::to_string(token.line) + ": an instruction name ends with a dot"};
      parts.emplace_back(piece, size_t(p - piece));
      if (p < end && *p == '.')
        ++p;
      else
        break;
    }
    at = p;
    advance();
  }
  /// Rest of the current source line after the current token, without comments; the next token is on the next line.
  std::string_view takeLine() {
    const char *begin = start;
    const char *p = begin;
    while (p < end && *p != '\n' && !(*p == '/' && p + 1 < end && p[1] == '/'))
      ++p;
    std::string_view text(begin, size_t(p - begin));
    while (p < end && *p != '\n')
      ++p;
    at = p;
    lineNumber = token.line;
    advance();
    return text;
  }

private:
  void advance() {
    previousEnd = at;
    for (;;) { // blanks and comments
      if (at >= end) {
        token = {Tok::End, {}, 0, 0, lineNumber};
        start = end;
        return;
      }
      if (*at == '\n') {
        ++lineNumber;
        ++at;
      } else if (*at == ' ' || *at == '\t' || *at == '\r' || *at == 0) {
        ++at;
      } else if (*at == '/' && at + 1 < end && at[1] == '/') {
        while (at < end && *at != '\n')
          ++at;
      } else if (*at == '/' && at + 1 < end && at[1] == '*') {
        at += 2;
        while (at + 1 < end && !(*at == '*' && at[1] == '/')) {
          lineNumber += *at == '\n';
          ++at;
        }
        at = at + 2 < end ? at + 2 : end;
      } else {
        break;
      }
    }
    start = at;
    token = {};
    token.line = lineNumber;
    char c = *at;
    if (nameStart(c)) {
      while (at < end && nameChar(*at))
        ++at;
      token.kind = Tok::Name;
    } else if (c == '.' && at + 1 < end && nameStart(at[1])) {
      ++at;
      while (at < end && (nameChar(*at) || (*at == ':' && at + 1 < end && at[1] == ':')))
        at += *at == ':' ? 2 : 1;
      token.kind = Tok::Dot;
    } else if (digit(c)) {
      lexNumber();
    } else if (c == '"') {
      ++at;
      while (at < end && *at != '"')
        at += *at == '\\' ? 2 : 1;
      ++at;
      if (at > end)
        throw Failed{"line " + std::to_string(lineNumber) + ": a string does not end"};
      token.kind = Tok::String;
      token.text = std::string_view(start + 1, size_t(at - start) - 2);
      return;
    } else {
      ++at;
      token.kind = Tok::Punct;
    }
    token.text = std::string_view(start, size_t(at - start));
  }

  void lexNumber() {
    token.kind = Tok::Integer;
    if (*at == '0' && at + 1 < end && (at[1] == 'f' || at[1] == 'F' || at[1] == 'd' || at[1] == 'D')) {
      unsigned digits = at[1] == 'f' || at[1] == 'F' ? 8 : 16;
      uint64_t bits = 0;
      at += 2;
      auto [p, ec] = std::from_chars(at, at + digits < end ? at + digits : end, bits, 16);
      if (p != at + digits)
        throw Failed{"line " + std::to_string(lineNumber) + ": a float constant needs " + std::to_string(digits) +
                     " hexadecimal digits"};
      at = p;
      token.integer = int64_t(bits);
      if (digits == 8) {
        uint32_t word = uint32_t(bits);
        float value;
        std::memcpy(&value, &word, 4);
        token.real = value;
        token.kind = Tok::Float32;
      } else {
        std::memcpy(&token.real, &bits, 8);
        token.kind = Tok::Float64;
      }
      return;
    }
    int base = 10;
    if (*at == '0' && at + 1 < end && (at[1] == 'x' || at[1] == 'X')) {
      base = 16;
      at += 2;
    } else if (*at == '0' && at + 1 < end && (at[1] == 'b' || at[1] == 'B')) {
      base = 2;
      at += 2;
    } else if (*at == '0' && at + 1 < end && digit(at[1])) {
      base = 8;
    }
    uint64_t value = 0;
    const char *first = at;
    auto [p, ec] = std::from_chars(at, end, value, base);
    if (ec != std::errc() || p == first)
      throw Failed{"line " + std::to_string(lineNumber) + ": bad integer constant"};
    if (base == 10 && p < end && (*p == '.' || *p == 'e' || *p == 'E') && p + 1 < end &&
        (digit(p[1]) || p[1] == '-' || p[1] == '+')) {
      auto [q, ec2] = std::from_chars(first, end, token.real);
      token.kind = Tok::Float64;
      std::memcpy(&token.integer, &token.real, 8);
      at = q;
      return;
    }
    at = p;
    if (at < end && (*at == 'U' || *at == 'u'))
      ++at;
    token.integer = int64_t(value);
  }

  const char *at, *end;
  const char *start = nullptr, *previousEnd = nullptr;
  uint32_t lineNumber = 1;
  Token token;
};

} // namespace graphc::cudasim::ptx
