#include "sizes_text.hpp"

#include <algorithm>

namespace arm_runtime::vgf {
namespace {

constexpr size_t kMaxSymbols = 4;
constexpr size_t kMaxName = 64;
constexpr int64_t kMaxNumber = 0x7fffffff;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

class SizesText {
  public:
    explicit SizesText(const std::string& text) : text_(text) {}

    SaidSizes read() {
        while (accept('[')) out_.shapes.push_back(shape());
        while (is_letter(next())) bounds();
        if (at_ != text_.size()) fail("expected a shape in brackets or the bounds of a name");
        for (const Symbol& symbol : out_.symbols) {
            if (symbol.least < symbol.most) continue;
            fail("'" + symbol.name + "' needs bounds that differ, such as " + symbol.name +
                 "=1..8");
        }
        check_least();
        return std::move(out_);
    }

  private:
    void check_least() const {
        std::vector<int64_t> least;
        least.reserve(out_.symbols.size());
        for (const Symbol& symbol : out_.symbols) least.push_back(symbol.least);
        for (const auto& shape : out_.shapes) {
            for (const SizeExpression& size : shape) {
                if (size.at(least.data()) < 1) {
                    fail("'" + size.text(out_.symbols) + "' may be less than 1");
                }
            }
        }
    }

    std::vector<SizeExpression> shape() {
        std::vector<SizeExpression> sizes;
        if (accept(']')) return sizes;
        do sizes.push_back(size());
        while (accept(','));
        expect("]");
        return sizes;
    }

    /// "4", "n", "8*n", "n+1", "8*n-1".
    SizeExpression size() {
        SizeExpression out{0, 0, 0};
        if (is_letter(next())) {
            out.factor = 1;
        } else {
            out.offset = number();
            if (!accept('*')) return out;
            std::swap(out.factor, out.offset);
        }
        out.symbols = 1U << symbol(name());
        if (accept('+')) out.offset = number();
        if (accept('-')) out.offset = -number();
        return out;
    }

    void bounds() {
        Symbol& symbol = out_.symbols[known(name())];
        expect("=");
        symbol.least = number();
        expect("..");
        symbol.most = number();
    }

    size_t place(const std::string& name) const {
        const auto& all = out_.symbols;
        const auto found = std::find_if(all.begin(), all.end(),
                                        [&](const Symbol& symbol) { return symbol.name == name; });
        return static_cast<size_t>(found - all.begin());
    }

    size_t known(const std::string& name) const {
        const size_t found = place(name);
        if (found == out_.symbols.size()) fail("no shape has '" + name + "'");
        return found;
    }

    size_t symbol(const std::string& name) {
        const size_t found = place(name);
        if (found == kMaxSymbols) fail("more than " + std::to_string(kMaxSymbols) + " names");
        // Without bounds they are equal.
        if (found == out_.symbols.size()) out_.symbols.push_back({name, 1, 1});
        return found;
    }

    std::string name() {
        if (!is_letter(next())) fail("expected a name");
        const size_t begin = at_;
        while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
        if (at_ - begin > kMaxName) fail("a name of more than 64 letters");
        return text_.substr(begin, at_ - begin);
    }

    int64_t number() {
        if (!is_digit(next())) fail("expected a number");
        int64_t value = 0;
        for (; at_ < text_.size() && is_digit(text_[at_]); ++at_) {
            value = 10 * value + (text_[at_] - '0');
            if (value > kMaxNumber) fail("a number of more than 31 bits");
        }
        if (value == 0) fail("a size or bound of 0");
        return value;
    }

    /// The next character that is no space, NUL at the end.
    char next() {
        while (at_ < text_.size() && text_[at_] == ' ') ++at_;
        return at_ < text_.size() ? text_[at_] : '\0';
    }

    bool accept(char wanted) {
        if (next() != wanted || at_ == text_.size()) return false;
        ++at_;
        return true;
    }

    void expect(const std::string& wanted) {
        for (const char c : wanted) {
            if (!accept(c)) fail("expected '" + wanted + "'");
        }
    }

    [[noreturn]] void fail(const std::string& problem) const {
        throw Error("the sizes '" + text_.substr(0, 256) + "', at character " +
                    std::to_string(at_) + ": " + problem);
    }

    const std::string& text_;
    size_t at_ = 0;
    SaidSizes out_;
};

}  // namespace

SaidSizes read_sizes_text(const std::string& text) { return SizesText(text).read(); }

}  // namespace arm_runtime::vgf
