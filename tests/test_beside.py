"""Two texts in columns: what is alike stands beside each other, what differs is marked, and nothing is lost."""

from sesa_env.beside import side_by_side


def test_lines_that_differ_are_marked():
    found = side_by_side("one\ntwo\nthree\n", "one\ntoo\nand\nthree\n", 43)
    assert found.splitlines() == [
        "one                  | one",
        "two                  ! too", "                     ! and", "three                | three",
    ]  # fmt: skip


def test_long_lines_are_wrapped_in_their_column():
    long = "word " * 12
    rows = side_by_side(long, "short", 43).splitlines()
    assert len(rows) == 3
    assert "".join(row[:20] for row in rows).split() == long.split()
    assert all(row[21] == "!" for row in rows)


def test_a_narrow_terminal_still_has_two_columns():
    assert side_by_side("a", "a", 5) == f"{'a':20} | a\n"
