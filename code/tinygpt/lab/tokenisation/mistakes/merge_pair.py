"""Wrong versions of joining a pair."""

from tinygpt.lab.definitions import Mistake


def first_only(ids, pair, new):
    for place in range(len(ids) - 1):
        if (ids[place], ids[place + 1]) == pair:
            return ids[:place] + [new] + ids[place + 2 :]
    return list(ids)


def last_id_lost(ids, pair, new):
    merged, place = [], 0
    while place < len(ids) - 1:
        if (ids[place], ids[place + 1]) == pair:
            merged.append(new)
            place += 2
        else:
            merged.append(ids[place])
            place += 1
    return merged


def nothing_skipped(ids, pair, new):
    merged = []
    for place, id_ in enumerate(ids):
        if tuple(ids[place : place + 2]) == pair:
            merged.append(new)
        else:
            merged.append(id_)
    return merged


def beyond_the_end(ids, pair, new):
    merged, place = [], 0
    while place < len(ids):
        if (ids[place], ids[place + 1]) == pair:
            merged.append(new)
            place += 2
        else:
            merged.append(ids[place])
            place += 1
    return merged


def from_the_right(ids, pair, new):
    merged, place = [], len(ids) - 1
    while place >= 0:
        if place > 0 and (ids[place - 1], ids[place]) == pair:
            merged.insert(0, new)
            place -= 2
        else:
            merged.insert(0, ids[place])
            place -= 1
    return merged


def as_text(ids, pair, new):
    text = " ".join(str(id_) for id_ in ids)
    text = text.replace(f"{pair[0]} {pair[1]}", str(new))
    return [int(part) for part in text.split()]


def in_place(ids, pair, new):
    place = 0
    while place < len(ids) - 1:
        if (ids[place], ids[place + 1]) == pair:
            ids[place : place + 2] = [new]
        place += 1
    return ids


def either_order(ids, pair, new):
    merged, place = [], 0
    while place < len(ids):
        if set(ids[place : place + 2]) == set(pair) and place + 1 < len(ids):
            merged.append(new)
            place += 2
        else:
            merged.append(ids[place])
            place += 1
    return merged


MISTAKES = (
    Mistake(
        "first_only",
        first_only,
        "Joining (1, 2) to 9 in [1, 2, 3, 1, 2] should give [9, 3, 9], got [9, 3, 1, 2]",
        "The function returns at the first occurrence. Go on after it: every one of them is "
        "joined.",
    ),
    Mistake(
        "nothing_skipped",
        nothing_skipped,
        "Joining (1, 2) to 9 in [1, 2, 3, 1, 2] should give [9, 3, 9], got [9, 2, 3, 9, 2]",
        "The new id stands for both, but only the first of the two was left out. After an "
        "occurrence go on two places further. A `for` over the places cannot do that; a `while` "
        "with a place of its own can.",
    ),
    Mistake(
        "beyond_the_end",
        beyond_the_end,
        "merge_pair raised IndexError: list index out of range",
        "The last id has no neighbour to its right, and `ids[place + 1]` asks for one. Look for a "
        "pair only while `place + 1 < len(ids)`, and still keep the last id.",
    ),
    Mistake(
        "last_id_lost",
        last_id_lost,
        "Joining (1, 3) to 9 in [1, 2, 3] should give [1, 2, 3], got [1, 2]",
        "The loop ends before the last place, because a pair cannot begin there. But the last id "
        "still has to be kept when it is not part of a pair.",
    ),
    Mistake(
        "either_order",
        either_order,
        "Joining (1, 2) to 9 in [2, 1] should give [2, 1], got [9]",
        "A set has no order, so 2 1 was taken for 1 2. The new id then stands for two different "
        "strings, and decoding can give back only one. Compare tuples.",
    ),
    Mistake(
        "from_the_right",
        from_the_right,
        "Joining (1, 1) to 9 in [1, 1, 1] should give [9, 1], got [1, 9]",
        "Of two places that overlap the left one is joined. Training and encoding, and every "
        "other program that reads the merges, must agree on the side, or the same word becomes "
        "different ids.",
    ),
    Mistake(
        "as_text",
        as_text,
        "Joining (1, 2) to 9 in [11, 2, 1, 22] should give [11, 2, 1, 22], got [19, 92]",
        "In the text 11 2 1 22 the characters `1 2` stand twice, across the middle of other "
        "numbers. Ids are numbers and are compared as numbers. A search in text would have to "
        "know where each begins and ends.",
    ),
    Mistake(
        "in_place",
        in_place,
        "merge_pair should leave its input as it was; it changed it",
        "The result is right, but the list that was handed in is the one that was cut. Whoever "
        "still needs the earlier ids, as the encoder does, has lost them. Build a new list.",
    ),
)
