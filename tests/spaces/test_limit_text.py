"""Limits are read by a grammar; whatever is not in it is refused with a reason."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nasgoat.errors import NasgoatError
from nasgoat.spaces.limit_text import Vocabulary, parse_limit
from tests.strategies import limit_texts

WORDS = Vocabulary(
    ["conv3x3", "max pool", "edges", "both", "3x3conv"],
    ["skip", "both"],
    {"params": {"conv3x3": 2, "skip": 0.5}},
)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("conv3x3 + 3x3conv <= 3", "conv3x3 + '3x3conv' <= 3"),
        ("2 * conv3x3 - skip*1.5 >= 1e1", "2*conv3x3 - 1.5*skip >= 10"),
        ("edges<=8", "edges <= 8"),
        ("'edges' <= 8", "'edges' <= 8"),
        ('"max pool" == 1', "'max pool' == 1"),
        ("-nodes + 3 <= -depth", "- nodes + depth <= -3"),
        ("sum(params) <= 2.5e6", "2*conv3x3 + 0.5*skip <= 2500000"),
        ("2*sum( params ) + conv3x3 <= 1", "5*conv3x3 + skip <= 1"),
        ("node:both - edge:both == 0", "node:both - edge:both == 0"),
        ("conv3x3 + conv3x3 <= 4", "2*conv3x3 <= 4"),
    ],
)
def test_limits_are_read(text: str, read: str) -> None:
    limit = parse_limit(text, WORDS)
    assert limit.text == read
    assert parse_limit(limit.text, WORDS).text == read


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("conv3x4 <= 3", "did you mean conv3x3"),
        ("conv3x3 < 3", "write <= or >="),
        ("conv3x3 = 3", "write <= or >="),
        ("conv3x3 <= 3 <= 4", "one <=, >= or =="),
        ("conv3x3", "<=, >= or == here, got 'the end'"),
        ("<= 3", "an operation, a count or a number"),
        ("3 <= 4", "must name an operation"),
        ("both <= 1", "write node:both or edge:both"),
        ("edge:conv3x3 <= 1", "operation in a limit must be one of"),
        ("node: <= 1", "an operation here"),
        ("sum(flops) <= 1", "cost of a limit must be one of params"),
        ("conv3x3 * skip <= 1", "a number here"),
        ("__import__('os') <= 1", "must be like"),
        ("conv3x3 <= 1e999", "finite"),
        ("conv3x3 <= nan", "operation in a limit"),
        ("(conv3x3) <= 1", "must be like"),
        ("", "an operation, a count or a number"),
        ("conv3x3 <= " + "1" * 30_000, "at most 20000 characters"),
    ],
)
def test_anything_else_is_refused(text: str, said: str) -> None:
    with pytest.raises(NasgoatError) as caught:
        parse_limit(text, WORDS)
    assert said in str(caught.value)


@given(limit_texts(("conv3x3", "skip")))
def test_a_limit_says_itself_in_words_it_can_read(text: str) -> None:
    limit = parse_limit(text, WORDS)
    again = parse_limit(limit.text, WORDS, limit.name)
    assert again.text == limit.text


@given(st.text(alphabet="conv3x3edgsumpar()<>=+-*'\" .1e9:", max_size=40))
def test_no_text_does_anything_but_be_read_or_refused(text: str) -> None:
    try:
        parse_limit(text, WORDS)
    except NasgoatError as problem:
        assert "must" in str(problem)


@pytest.mark.parametrize("cost", [float("nan"), float("inf"), "1", True, None, 10**400])
def test_costs_must_be_finite_numbers(cost: object) -> None:
    with pytest.raises(NasgoatError, match=r"costs\.params\.conv3x3 must be"):
        Vocabulary(["conv3x3"], [], {"params": {"conv3x3": cost}})


def test_costs_of_unknown_operations_are_refused() -> None:
    with pytest.raises(NasgoatError, match=r"did you mean conv3x3"):
        Vocabulary(["conv3x3"], [], {"params": {"conv3x4": 1}})
