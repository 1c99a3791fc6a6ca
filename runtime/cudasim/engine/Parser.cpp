// The PTX grammar: a recursive parser over Lexer.h.
//
// Strict on purpose. An early prototype took `.loc` to end at `;` and silently swallowed a quarter of the program; here
// whatever the grammar does not name is an error with its line. Only instructions stay open: their mnemonics are
// judged by the decoder, which refuses one function, not the module.
#include "runtime/cudasim/engine/Lexer.h"
#include "runtime/cudasim/engine/Ptx.h"

#include <cstdlib>

namespace graphc::cudasim::ptx {

namespace {

class Parser {
public:
  Parser(std::string_view text, Program &program) : lexer(text), program(program) {}

  void module() {
    while (lexer.peek().kind != Tok::End)
      topLevel();
    if (program.version == 0)
      fail("no .version directive");
    if (program.target.empty())
      fail("no .target directive");
  }

private:
  Lexer lexer;
  Program &program;

  // -- while inside a function
  struct RegisterRange {
    int first;
    uint32_t count;
  };
  struct Scope {
    int id;
    std::unordered_map<std::string_view, int> registers, variables;
    std::unordered_map<std::string_view, RegisterRange> ranges;
  };
  Function *function = nullptr;
  std::vector<Scope> scopes;
  uint32_t locFile = 0, locLine = 0;

  [[noreturn]] void fail(std::string message) {
    throw Failed{"line " + std::to_string(lexer.line()) + ": " + message};
  }
  std::string shown() {
    const Token &token = lexer.peek();
    return token.kind == Tok::End ? "the end of the text" : "'" + std::string(token.text) + "'";
  }
  void expect(char c) {
    if (!lexer.peek().is(c))
      fail(std::string("expected '") + c + "', found " + shown());
    lexer.take();
  }
  bool accept(char c) {
    if (!lexer.peek().is(c))
      return false;
    lexer.take();
    return true;
  }
  std::string_view expectName() {
    if (lexer.peek().kind != Tok::Name)
      fail("expected a name, found " + shown());
    return lexer.take().text;
  }
  int64_t expectInteger() {
    bool minus = accept('-');
    if (lexer.peek().kind != Tok::Integer)
      fail("expected an integer, found " + shown());
    int64_t value = lexer.take().integer;
    return minus ? -value : value;
  }
  bool dot(std::string_view name) const {
    return lexer.peek().kind == Tok::Dot && lexer.peek().text.substr(1) == name;
  }
  bool acceptDot(std::string_view name) {
    if (!dot(name))
      return false;
    lexer.take();
    return true;
  }

  static bool spaceNamed(std::string_view text, Space &space) {
    if (text == "global") space = Space::Global;
    else if (text == "const") space = Space::Const;
    else if (text == "shared") space = Space::Shared;
    else if (text == "local") space = Space::Local;
    else if (text == "param") space = Space::Param;
    else return false;
    return true;
  }

  void topLevel() {
    const Token &token = lexer.peek();
    if (token.is(';')) {
      lexer.take();
      return;
    }
    if (token.kind != Tok::Dot)
      fail("expected a directive, found " + shown());
    std::string_view name = token.text.substr(1);
    if (name == "version") {
      lexer.take();
      if (lexer.peek().kind != Tok::Float64)
        fail(".version needs major.minor");
      std::string text(lexer.take().text);
      int major = std::atoi(text.c_str());
      int minor = std::atoi(text.c_str() + text.find('.') + 1);
      program.version = major * 10 + minor;
    } else if (name == "target") {
      lexer.take();
      program.target = std::string(expectName());
      while (accept(','))
        expectName(); // debug, texmode_independent, …
    } else if (name == "address_size") {
      lexer.take();
      if (expectInteger() != 64)
        fail(".address_size must be 64");
    } else if (name == "file") {
      lexer.take();
      uint64_t index = uint64_t(expectInteger());
      if (index > 65535)
        fail(".file number too large");
      if (lexer.peek().kind != Tok::String)
        fail(".file needs a quoted name");
      if (program.files.size() <= index)
        program.files.resize(index + 1);
      program.files[index] = std::string(lexer.take().text);
      while (accept(','))
        expectInteger();
    } else if (name == "loc") {
      lexer.take();
      lexer.takeLine();
    } else if (name == "section") {
      lexer.take();
      lexer.take();
      expect('{');
      for (int depth = 1; depth;) {
        if (lexer.peek().kind == Tok::End)
          fail(".section does not end");
        Token inner = lexer.take();
        depth += inner.is('{') - inner.is('}');
      }
    } else if (name == "pragma") {
      pragma();
    } else if (name == "alias") {
      lexer.take();
      std::string_view alias = expectName();
      expect(',');
      std::string_view aliasee = expectName();
      expect(';');
      auto it = program.functionIndex.find(aliasee);
      if (it == program.functionIndex.end())
        fail(".alias of an unknown function");
      program.functionIndex[alias] = it->second;
    } else {
      linkage();
    }
  }

  void pragma() {
    lexer.take();
    do {
      if (lexer.peek().kind != Tok::String)
        fail(".pragma needs a quoted name");
      lexer.take();
    } while (accept(','));
    expect(';');
  }

  void linkage() {
    bool isExtern = false;
    for (;;) {
      if (acceptDot("extern"))
        isExtern = true;
      else if (!acceptDot("visible") && !acceptDot("weak") && !acceptDot("common"))
        break;
    }
    if (dot("entry") || dot("func")) {
      parseFunction(isExtern);
      return;
    }
    Space space;
    if (lexer.peek().kind != Tok::Dot || !spaceNamed(lexer.peek().text.substr(1), space))
      fail("unknown directive " + shown());
    lexer.take();
    do {
      Variable variable = declarator(space, isExtern);
      program.globalIndex.insert_or_assign(variable.name, int(program.globals.size()));
      program.globals.push_back(std::move(variable));
    } while (repeatsDeclarator());
    expect(';');
  }

  // `.global .u32 a, b;` is legal: later declarators reuse the type.
  Variable last;
  bool repeatsDeclarator() { return accept(','); }

  Variable declarator(Space space, bool isExtern) {
    Variable variable;
    variable.space = space;
    variable.isExtern = isExtern;
    variable.line = lexer.line();
    if (lexer.peek().kind != Tok::Dot) { // after a comma
      variable.type = last.type;
      variable.align = last.align;
      variable.elementBytes = last.elementBytes;
    } else {
      variable.type = Type::None;
      uint32_t align = 0, lanes = 1;
      while (lexer.peek().kind == Tok::Dot) {
        std::string_view name = lexer.take().text.substr(1);
        if (name == "align")
          align = uint32_t(expectInteger());
        else if (name == "v2" || name == "v4" || name == "v8")
          lanes = uint32_t(name[1] - '0');
        else if (name == "ptr") {
          Space pointee;
          if (lexer.peek().kind == Tok::Dot && spaceNamed(lexer.peek().text.substr(1), pointee))
            lexer.take();
          if (acceptDot("align"))
            expectInteger();
        } else if (name == "attribute") {
          expect('(');
          while (!lexer.peek().is(')'))
            lexer.take();
          expect(')');
        } else if (name == "texref" || name == "samplerref" || name == "surfref") {
          variable.type = Type::B64;
        } else if ((variable.type = typeNamed(name)) == Type::None)
          fail("unknown type or attribute '." + std::string(name) + "'");
      }
      if (variable.type == Type::None)
        fail("a variable needs a type");
      variable.elementBytes = sizeOf(variable.type) * lanes;
      variable.align = align ? align : (variable.elementBytes ? variable.elementBytes : 1);
      last = variable;
    }
    variable.name = expectName();
    uint64_t count = 1;
    bool array = false;
    while (accept('[')) {
      array = true;
      if (lexer.peek().is(']'))
        variable.unsizedArray = true;
      else
        count *= uint64_t(expectInteger());
      expect(']');
    }
    if (accept('=')) {
      initializer(variable.initializer);
      if (variable.unsizedArray) {
        count = variable.initializer.items.size();
        variable.unsizedArray = false;
      }
    }
    (void)array;
    variable.size = variable.unsizedArray ? 0 : count * variable.elementBytes;
    return variable;
  }

  void initializer(Initializer &into) {
    if (accept('{')) {
      if (accept('}'))
        return;
      do
        initializer(into);
      while (accept(','));
      expect('}');
      return;
    }
    Initializer::Item item;
    bool minus = accept('-');
    Token token = lexer.take();
    if (token.kind == Tok::Integer) {
      item.value = minus ? -token.integer : token.integer;
      if (accept('(')) { // mask(symbol)
        item.mask = uint64_t(item.value);
        item.value = 0;
        symbolItem(item, expectName());
        expect(')');
      }
    } else if (token.kind == Tok::Float32 || token.kind == Tok::Float64) {
      item.isFloat = true;
      item.real = minus ? -token.real : token.real;
    } else if (token.kind == Tok::Name && !minus) {
      symbolItem(item, token.text);
    } else {
      fail("bad initialiser");
    }
    into.items.push_back(item);
  }
  void symbolItem(Initializer::Item &item, std::string_view name) {
    item.isSymbol = true;
    if (name == "generic" && accept('(')) {
      item.generic = true;
      name = expectName();
      expect(')');
    }
    item.symbol = name;
    if (accept('+'))
      item.value = expectInteger();
    else if (lexer.peek().is('-'))
      item.value = expectInteger();
  }

  // -- functions ---------------------------------------------------------------------------------------------------

  void parameterList(std::vector<int> &into) {
    expect('(');
    if (accept(')'))
      return;
    do {
      if (lexer.peek().kind != Tok::Dot)
        fail("expected a parameter, found " + shown());
      bool isRegister = dot("reg");
      if (!isRegister && !dot("param"))
        fail("a parameter begins with .param or .reg");
      lexer.take();
      Variable variable = declarator(Space::Param, false);
      variable.isRegister = isRegister;
      if (isRegister) {
        variable.reg = int(function->registers.size());
        function->registers.push_back(variable.type);
        scopes[0].registers[variable.name] = variable.reg;
      } else {
        scopes[0].variables[variable.name] = int(function->variables.size());
      }
      into.push_back(int(function->variables.size()));
      function->variables.push_back(std::move(variable));
    } while (accept(','));
    expect(')');
  }

  void dimensions(uint32_t (&into)[3]) {
    into[0] = uint32_t(expectInteger());
    into[1] = into[2] = 1;
    for (int i = 1; i < 3 && accept(','); ++i)
      into[i] = uint32_t(expectInteger());
  }

  void parseFunction(bool isExtern) {
    Function result;
    function = &result;
    scopes.clear();
    scopes.push_back({0, {}, {}, {}});
    result.line = lexer.line();
    result.isEntry = dot("entry");
    lexer.take();
    if (!result.isEntry && dot("attribute")) {
      lexer.take();
      expect('(');
      while (!accept(')'))
        lexer.take();
    }
    if (!result.isEntry && lexer.peek().is('('))
      parameterList(result.results);
    result.name = expectName();
    if (lexer.peek().is('('))
      parameterList(result.params);
    while (lexer.peek().kind == Tok::Dot) {
      std::string_view name = lexer.peek().text.substr(1);
      if (name == "pragma") {
        pragma();
        continue;
      }
      lexer.take();
      uint32_t ignored[3];
      if (name == "maxntid")
        dimensions(result.maxntid);
      else if (name == "reqntid")
        dimensions(result.reqntid);
      else if (name == "minnctapersm")
        result.minctapersm = uint32_t(expectInteger());
      else if (name == "maxnreg")
        result.maxnreg = uint32_t(expectInteger());
      else if (name == "maxnctapersm" || name == "maxclusterrank")
        expectInteger();
      else if (name == "reqnctapercluster") {
        dimensions(ignored);
        if (uint64_t(ignored[0]) * ignored[1] * ignored[2] > 1)
          result.refused = "line " + std::to_string(lexer.line()) + ": thread block clusters are not supported";
      } else if (name == "noreturn" || name == "explicitcluster" || name == "blocksareclusters" || name == "unique")
        ;
      else if (name == "abi_preserve" || name == "abi_preserve_control")
        expectInteger();
      else
        fail("unknown function directive '." + std::string(name) + "'");
    }
    locFile = locLine = 0;
    if (lexer.peek().is('{')) {
      result.hasBody = true;
      lexer.take();
      body();
    } else {
      expect(';');
    }
    (void)isExtern;
    function = nullptr;
    auto it = program.functionIndex.find(result.name);
    if (it != program.functionIndex.end()) { // forward declaration, then definition
      if (result.hasBody) {
        if (program.functions[it->second].hasBody)
          fail("function " + std::string(result.name) + " is defined twice");
        program.functions[it->second] = std::move(result);
      }
      return;
    }
    program.functionIndex[result.name] = int(program.functions.size());
    program.functions.push_back(std::move(result));
  }

  void body() {
    for (;;) {
      const Token &token = lexer.peek();
      if (token.kind == Tok::End)
        fail("the function body does not end");
      if (token.is('}')) {
        lexer.take();
        if (scopes.size() == 1)
          return;
        scopes.pop_back();
      } else if (token.is('{')) {
        lexer.take();
        function->scopeParents.push_back(scopes.back().id);
        scopes.push_back({int(function->scopeParents.size()) - 1, {}, {}, {}});
      } else if (token.is(';')) {
        lexer.take();
      } else if (token.kind == Tok::Dot) {
        bodyDirective();
      } else {
        statement();
      }
    }
  }

  void bodyDirective() {
    std::string_view name = lexer.peek().text.substr(1);
    Space space;
    if (name == "reg") {
      lexer.take();
      registers();
    } else if (name == "loc") {
      uint32_t line = lexer.line();
      lexer.take();
      std::string text(lexer.takeLine());
      char *rest = nullptr;
      locFile = uint32_t(std::strtoul(text.c_str(), &rest, 10));
      char *rest2 = nullptr;
      locLine = uint32_t(std::strtoul(rest, &rest2, 10));
      if (rest == text.c_str() || rest2 == rest)
        throw Failed{"line " + std::to_string(line) + ": .loc needs a file number and a line"};
    } else if (name == "pragma") {
      pragma();
    } else if (name == "branchtargets") {
      lexer.take();
      if (function->labels.empty() || function->labels.back().index != function->instructions.size())
        fail(".branchtargets needs a label");
      std::vector<std::string_view> targets;
      do
        targets.push_back(expectName());
      while (accept(','));
      expect(';');
      function->branchTargets.push_back({function->labels.back().name, std::move(targets)});
    } else if (name == "callprototype" || name == "calltargets") {
      // A call through a pointer tries every function whose address is taken and whose parameters fit.
      while (!lexer.peek().is(';') && lexer.peek().kind != Tok::End)
        lexer.take();
      expect(';');
    } else if (spaceNamed(name, space)) {
      lexer.take();
      do {
        Variable variable = declarator(space, false);
        scopes.back().variables[variable.name] = int(function->variables.size());
        function->variables.push_back(std::move(variable));
      } while (repeatsDeclarator());
      expect(';');
    } else {
      fail("unknown directive '." + std::string(name) + "' in a function");
    }
  }

  void registers() {
    Type type = Type::None;
    while (lexer.peek().kind == Tok::Dot) {
      std::string_view name = lexer.take().text.substr(1);
      if (name == "v2" || name == "v4")
        fail("vector registers are not supported");
      type = typeNamed(name);
      if (type == Type::None)
        fail("unknown register type '." + std::string(name) + "'");
    }
    if (type == Type::None)
      fail(".reg needs a type");
    do {
      std::string_view name = expectName();
      uint32_t count = 1;
      int first = int(function->registers.size());
      if (accept('<')) {
        int64_t wanted = expectInteger();
        if (wanted < 0 || wanted > 1 << 20)
          fail("bad register count");
        count = uint32_t(wanted);
        expect('>');
        scopes.back().ranges[name] = {first, count};
      } else {
        scopes.back().registers[name] = first;
      }
      function->registers.insert(function->registers.end(), count, type);
    } while (accept(','));
    expect(';');
  }

  int findRegister(std::string_view name) const {
    size_t digits = name.size();
    while (digits > 0 && digit(name[digits - 1]))
      --digits;
    for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope) {
      auto exact = scope->registers.find(name);
      if (exact != scope->registers.end())
        return exact->second;
      if (digits < name.size()) {
        // A prefix may itself end in digits (`%r1<4>`), so try every split.
        for (size_t split = digits; split < name.size(); ++split) {
          auto range = scope->ranges.find(name.substr(0, split));
          if (range == scope->ranges.end())
            continue;
          uint32_t index = 0;
          std::from_chars(name.data() + split, name.data() + name.size(), index);
          if (index < range->second.count)
            return range->second.first + int(index);
        }
      }
    }
    return -1;
  }

  void statement() {
    Instruction instruction;
    const char *begin = lexer.tokenStart();
    instruction.at = {lexer.line(), locFile, locLine};
    instruction.scope = scopes.back().id;
    if (accept('@')) {
      instruction.guardNegated = accept('!');
      std::string_view name = expectName();
      instruction.guard = findRegister(name);
      if (instruction.guard < 0 || function->registers[instruction.guard] != Type::Pred)
        fail("'" + std::string(name) + "' is not a predicate register");
    }
    if (lexer.peek().kind != Tok::Name)
      fail("expected an instruction, found " + shown());
    lexer.takeMnemonic(instruction.parts);
    if (instruction.parts.size() == 1 && lexer.peek().is(':')) {
      lexer.take();
      function->labels.push_back({instruction.parts[0], scopes.back().id, uint32_t(function->instructions.size())});
      return;
    }
    if (!lexer.peek().is(';')) {
      do
        instruction.operands.push_back(operand());
      while (accept(','));
    }
    if (!lexer.peek().is(';'))
      fail("expected ';' after " + std::string(instruction.parts[0]) + ", found " + shown());
    instruction.text = std::string_view(begin, size_t(lexer.tokenStart() + 1 - begin));
    lexer.take();
    function->instructions.push_back(std::move(instruction));
  }

  /// `r1.b0`, `r2.h10`: part of a register.
  void selectorInto(Operand &operand) {
    const Token &token = lexer.peek();
    if (token.kind != Tok::Dot || token.text.size() < 3 || (token.text[1] != 'b' && token.text[1] != 'h'))
      return;
    for (char c : token.text.substr(2))
      if (c < '0' || c > '7')
        return;
    operand.selector = lexer.take().text.substr(1);
  }

  void nameInto(Operand &operand, std::string_view name) {
    if (name[0] == '%') {
      operand.reg = findRegister(name);
      if (operand.reg >= 0) {
        operand.kind = Operand::Kind::Register;
        selectorInto(operand);
        return;
      }
      operand.kind = Operand::Kind::Special;
      operand.name = name;
      if (lexer.peek().kind == Tok::Dot) {
        Token suffix = lexer.take();
        operand.name = std::string_view(name.data(), size_t(suffix.text.data() + suffix.text.size() - name.data()));
      }
      return;
    }
    operand.reg = findRegister(name);
    if (operand.reg >= 0) {
      operand.kind = Operand::Kind::Register;
      selectorInto(operand);
      return;
    }
    for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope) {
      auto it = scope->variables.find(name);
      if (it != scope->variables.end()) {
        operand.kind = Operand::Kind::Variable;
        operand.var = it->second;
        operand.name = name;
        return;
      }
    }
    operand.kind = Operand::Kind::Symbol;
    operand.name = name;
  }

  void offsetInto(Operand &operand) {
    if (accept('+'))
      operand.value += expectInteger();
    else if (lexer.peek().is('-'))
      operand.value += expectInteger();
  }

  Operand operand() {
    Operand result;
    const Token &token = lexer.peek();
    if (token.is('{')) {
      lexer.take();
      result.kind = Operand::Kind::Vector;
      if (!accept('}')) {
        do
          result.elements.push_back(operand());
        while (accept(','));
        expect('}');
      }
      return result;
    }
    if (token.is('(')) {
      lexer.take();
      result.kind = Operand::Kind::List;
      if (!accept(')')) {
        do
          result.elements.push_back(operand());
        while (accept(','));
        expect(')');
      }
      return result;
    }
    if (token.is('[')) {
      lexer.take();
      if (lexer.peek().kind == Tok::Name) {
        nameInto(result, lexer.take().text);
      } else {
        result.value = expectInteger();
      }
      offsetInto(result);
      result.kind = Operand::Kind::Address;
      while (accept(','))
        result.elements.push_back(operand());
      expect(']');
      return result;
    }
    if (token.is('!')) {
      lexer.take();
      result = operand();
      result.negate = true;
      return result;
    }
    if (token.is('-') || token.is('+')) {
      bool minus = lexer.take().is('-');
      result = operand();
      if (minus) {
        if (result.kind == Operand::Kind::Integer)
          result.value = -result.value;
        else if (result.kind == Operand::Kind::Float32 || result.kind == Operand::Kind::Float64) {
          result.real = -result.real;
          result.value ^= result.kind == Operand::Kind::Float32 ? int64_t(0x80000000) : INT64_MIN;
        }
        else if (result.kind == Operand::Kind::Register && !result.negate)
          result.negate = true; // the decoder knows which instructions allow it
        else
          fail("only a constant can be negated");
      }
      return result;
    }
    if (token.is('~')) {
      lexer.take();
      result = operand();
      result.value = ~result.value;
      return result;
    }
    if (token.kind == Tok::Integer) {
      result.kind = Operand::Kind::Integer;
      result.value = lexer.take().integer;
      return result;
    }
    if (token.kind == Tok::Float32 || token.kind == Tok::Float64) {
      result.kind = token.kind == Tok::Float32 ? Operand::Kind::Float32 : Operand::Kind::Float64;
      result.value = token.integer;
      result.real = token.real;
      lexer.take();
      return result;
    }
    if (token.kind != Tok::Name)
      fail("expected an operand, found " + shown());
    std::string_view name = lexer.take().text;
    if (name == "_")
      result.kind = Operand::Kind::Sink;
    else if (name == "WARP_SZ") {
      result.kind = Operand::Kind::Integer;
      result.value = 32;
    } else
      nameInto(result, name);
    if (result.kind == Operand::Kind::Variable || result.kind == Operand::Kind::Symbol)
      offsetInto(result);
    if (lexer.peek().is('|')) {
      lexer.take();
      Operand second = operand();
      bool firstIs = result.kind == Operand::Kind::Register || result.kind == Operand::Kind::Sink;
      bool secondIs = second.kind == Operand::Kind::Register || second.kind == Operand::Kind::Sink;
      if (!firstIs || !secondIs)
        fail("'|' joins two registers");
      result.kind = Operand::Kind::Pair;
      result.reg2 = second.reg;
    }
    return result;
  }
};

} // namespace

bool parse(std::string_view text, Program &program, std::string &error) {
  try {
    Parser(text, program).module();
    return true;
  } catch (Failed &failed) {
    error = failed.message;
    return false;
  }
}

} // namespace graphc::cudasim::ptx
