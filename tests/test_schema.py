import pytest

from orla.errors import OrlaError
from orla.schema import nearest_hint, validate

SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["parts"],
    "properties": {
        "parts": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "cut": {"type": "integer", "minimum": 1},
                "fraction": {"type": "number", "exclusiveMaximum": 1},
            },
        },
        "optimizer": {"enum": ["adam", "sgd"]},
        "grid": {"type": "array", "minItems": 1, "items": {"type": "number"}},
        "tail": {"anyOf": [{"type": "integer"}, {"type": "number"}]},
        "learner": {"type": "string", "pattern": "^(rtrl|k-[0-9]+)$", "examples": ["rtrl", "k-4"]},
        "splits": {
            "type": "object",
            "additionalProperties": False,
            "patternProperties": {"^[0-9]+-[0-9]+$": {"type": "number"}},
        },
    },
}

MISTAKES = [
    ({"parts": {"cuts": 2}}, '"parts.cuts" is not a known key; the nearest is "cut"'),
    ({"pats": {}}, '"pats" is not a known key; the nearest is "parts"'),
    ({"parts": {"zzzz": 2}}, 'there are "cut", "fraction"'),
    ({}, '"parts" is missing'),
    ({"parts": {"cut": "200"}}, '"parts.cut" must be a whole number, not "200"'),
    ({"parts": {"fraction": "1e-3"}}, "for text: write 0.001)"),
    ({"parts": {"fraction": "1e-9"}}, "for text: write 1.0e-09)"),
    ({"parts": {"cut": 20.0}}, '"parts.cut" must be a whole number, not 20.0 (write 20)'),
    ({"parts": {"cut": 20.5}}, '"parts.cut" must be a whole number, not 20.5'),
    ({"parts": {"cut": "1e4"}}, 'must be a whole number, not "1e4" (write 10000)'),
    ({"parts": {"cut": "1e300"}}, 'must be a whole number, not "1e300"'),
    ({"parts": {"cut": True}}, '"parts.cut" must be a whole number, not true'),
    ({"parts": {"cut": 0}}, '"parts.cut" must be at least 1, not 0'),
    ({"parts": {"fraction": 1}}, '"parts.fraction" must be less than 1, not 1'),
    ({"parts": 3}, '"parts" must be a mapping, not 3'),
    ({"parts": {}, "optimizer": "adan"}, '"optimizer" cannot be "adan"; the nearest is "adam"'),
    ({"parts": {}, "learner": "rtlr"}, '"learner" cannot be "rtlr"; the nearest is "rtrl"'),
    ({"parts": {}, "grid": []}, '"grid" must have at least 1 entries, not 0'),
    ({"parts": {}, "grid": [1, True]}, '"grid[1]" must be a number, not true'),
    ({"parts": {}, "tail": "x"}, '"tail" must be a whole number or a number, not "x"'),
    ({"parts": {}, "splits": {"half": 0.5}}, '"splits.half" is not a known key'),
    ([], "the document must be a mapping, not []"),
    # A misspelt key is named before the one that it leaves missing, and before other mistakes.
    ({"part": {}}, '"part" is not a known key'),
    ({"grid": [], "parts": {"zut": 1}}, '"parts.zut" is not a known key'),
]


@pytest.mark.parametrize(("document", "message"), MISTAKES)
def test_a_mistake_is_one_line_that_names_key_and_mend(document, message):
    with pytest.raises(OrlaError) as raised:
        validate(document, SCHEMA, "config.yaml")
    assert str(raised.value).startswith("config.yaml: ")
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_the_key_that_is_missing_is_named_and_not_one_that_is_there():
    two = SCHEMA | {"required": ["parts", "grid"]}
    with pytest.raises(OrlaError, match='"grid" is missing; add it'):
        validate({"parts": {}}, two, "c")


def test_alternatives_of_several_kinds_are_told_once():
    either = {"anyOf": [{"type": ["string", "null"]}, {"type": "string"}, {"type": "array"}]}
    with pytest.raises(OrlaError, match='"a" must be text or nothing or a list, not 3'):
        validate({"a": 3}, {"properties": {"a": either}}, "c")


def test_a_right_document_passes():
    validate({"parts": {"cut": 200, "fraction": 0.5}, "splits": {"50-50": 0.5}}, SCHEMA, "c")


def test_of_many_valid_words_the_first_are_told():
    assert nearest_hint("x", []) == "none is allowed here"
    told = nearest_hint("zzzz", [f"indy_{i:02d}" for i in range(45)])
    assert told.startswith('there are "indy_00", ') and told.endswith('"indy_19" and 25 more')
    assert "more" not in nearest_hint("zzzz", [f"indy_{i:02d}" for i in range(20)])
