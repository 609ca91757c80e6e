"""No source decides by the words of an error, so that an error may be reworded."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import error_words


class ErrorWords(unittest.TestCase):
    def test_no_source_decides_by_the_words_of_an_error(self):
        self.assertEqual(error_words.places(), [])

    def test_what_only_shortens_words_still_does(self):
        for path, each in error_words.SHORTEN:
            self.assertIn(each, error_words.decisions(error_words.read(path)), path)

    def test_searches_of_words_are_found(self):
        for text in (
            'if (status.message().find("support") != npos) return;',
            "return absl::StrContains(result.status().message(), file);",
            'if (failure.what() == "none") return;',
            'std::string why = dlerror();\nbool missing = why.starts_with(file);',
            'const char *words = dlerror();\nstd::string why = words ? words : file;\nif (why.starts_with(file)) return;',
            'const char *words = dlerror();\nif (strstr(words, "cannot open")) return;',
            'std::string said;\nllvm::raw_string_ostream stream(said);\nparsePassPipeline(text, manager, stream);\n'
            'if (StringRef(said).contains("with options")) return;',
            'auto words = llvm::toString(made.takeError());\nif (words.find("x") == 0) return;',
            'std::string place(node.error("").message());\nreason.consume_front(place);\nplace.size();\n'
            'words.find(place);\nplace.find("x");',
        ):
            self.assertTrue(error_words.decisions(text), text)

    def test_words_that_are_only_passed_on_are_not(self):
        for text in (
            "return failed(file, status.message());",
            'std::string words = dlerror();\nreturn failed("cannot be opened: ", words);',
            "if (words.find(\"x\") == 0) return; // not an error's",
            '// status.message().find("support")',
            'return words.empty() ? error.what() : words;',
            "if (status.code() == StatusCode::cancelled) return status.message();",
        ):
            self.assertEqual(error_words.decisions(text), [], text)


if __name__ == "__main__":
    unittest.main()
