"""Wrong orders of a graph."""

from tinygpt.lab.definitions import Mistake


def every_use(result):
    order = []
    for parent in result.parents:
        order += every_use(parent)
    return order + [result]


def before_its_parents(result):
    order, stack = [], [result]
    while stack:
        node = stack.pop()
        if node not in order:
            order.append(node)
            stack.extend(node.parents)
    return order


def breadth_first(result):
    order, waiting = [], [result]
    while waiting:
        node = waiting.pop(0)
        if node not in order:
            order.append(node)
            waiting.extend(node.parents)
    return order[::-1]


def seen_when_pushed(result):
    order, seen, stack = [], {result}, [(result, False)]
    while stack:
        node, parents_done = stack.pop()
        if parents_done:
            order.append(node)
            continue
        stack.append((node, True))
        for parent in node.parents:
            if parent not in seen:
                seen.add(parent)
                stack.append((parent, False))
    return order


def reached_first_reversed(result):
    order, seen, stack = [], set(), [result]
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            order.append(node)
            stack.extend(node.parents)
    return order[::-1]


def result_first(result):
    order, seen, stack = [], set(), [(result, False)]
    while stack:
        node, parents_done = stack.pop()
        if parents_done:
            order.append(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack.extend((parent, False) for parent in node.parents)
    return order[::-1]


def seen_by_number(result):
    order, seen, stack = [], set(), [(result, False)]
    while stack:
        node, parents_done = stack.pop()
        if parents_done:
            order.append(node)
        elif node.data not in seen:
            seen.add(node.data)
            stack.append((node, True))
            stack.extend((parent, False) for parent in node.parents)
    return order


def without_the_given(result):
    order, seen, stack = [], set(), [(result, False)]
    while stack:
        node, parents_done = stack.pop()
        if parents_done:
            order.append(node)
        elif node.parents and id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((parent, False) for parent in node.parents)
    return order


def sorted_out_afterwards(result):
    def walk(node):
        order = []
        for parent in node.parents:
            order += walk(parent)
        return order + [node]

    return list(dict.fromkeys(walk(result)))


def recursive(result):
    order, seen = [], set()

    def visit(node):
        if node not in seen:
            seen.add(node)
            for parent in node.parents:
                visit(parent)
            order.append(node)

    visit(result)
    return order


def marked_on_the_node(result):
    order = []

    def visit(node):
        if not getattr(node, "visited", False):
            node.visited = True
            for parent in node.parents:
                visit(parent)
            order.append(node)

    visit(result)
    return order


def a_set(result):
    seen, stack = set(), [result]
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            stack.extend(node.parents)
    return seen


MISTAKES = (
    Mistake(
        "every_use",
        every_use,
        "Each number should come once; e comes 2 times",
        "There is no record of what has been visited, so a number that is used twice is listed "
        "twice. Its gradient would be passed on twice too. Keep a set of the nodes seen.",
    ),
    Mistake(
        "before_its_parents",
        before_its_parents,
        "w x should come after w, from which it was computed; the order is: y, b, w x, x, w",
        "A node is listed when the walk reaches it, before its parents. Reversing the list helps "
        "in this graph and not in every one: where q uses p and both are added, it may put q "
        "first. List a node on the way back, when all its parents are in the list.",
    ),
    Mistake(
        "breadth_first",
        breadth_first,
        "q should come after p, from which it was computed; the order is: 3, x, q, p, r",
        "The walk goes level by level from the result, and p stands on the first level because r "
        "uses it directly. That q uses p as well comes to light only later. The level of a node "
        "does not say who needs it; the depth-first walk does.",
    ),
    Mistake(
        "seen_when_pushed",
        seen_when_pushed,
        "q should come after p, from which it was computed; the order is: q, 3, x, p, r",
        "A node was marked as seen when it was put on the list of what waits, and so p kept the "
        "place that r gave it, although q came to need it sooner. Mark a node when its turn "
        "comes, not when it is put on the list.",
    ),
    Mistake(
        "reached_first_reversed",
        reached_first_reversed,
        "q should come after p, from which it was computed; the order is: q, x, 3, p, s",
        "The nodes are listed as the walk reaches them, and the list is reversed. That gives the "
        "right order for many graphs, among them r = p + q, and a wrong one as soon as the "
        "terms stand the other way round. List a node on the way back, when all its parents "
        "are in the list.",
    ),
    Mistake(
        "result_first",
        result_first,
        "w x should come after w, from which it was computed; the order is: y, w x, w, x, b",
        "This order is right and begins with the result. A walk that appends a node when its "
        "parents are done has them in front already; leave out the reversal. `backward` reverses "
        "later.",
    ),
    Mistake(
        "seen_by_number",
        seen_by_number,
        "a is missing from the order, which is: c, a + c",
        "The set holds the numbers and not the nodes, so of two nodes that happen to hold 1.0 "
        "one is lost. Remember the node itself, or its `id`.",
    ),
    Mistake(
        "without_the_given",
        without_the_given,
        "w is missing from the order, which is: w x, y",
        "Numbers without parents were left out. They have nothing to pass on, but the walk "
        "through this list is also what resets their gradients. List every node once.",
    ),
    Mistake(
        "sorted_out_afterwards",
        sorted_out_afterwards,
        "In 12 doublings of a number topological_order should look at each of 13 numbers once or "
        "a few times, got 8,191 looks",
        "The list is right, and the way to it follows every path: 2, 4, 8, … of them. At 30 "
        "doublings it would take minutes. Ask whether a node has been seen before its parents "
        "are walked.",
    ),
    Mistake(
        "recursive",
        recursive,
        "topological_order of a sum of 5,000 terms should not need functions nested as deeply",
        "This is the order as most people write it, and it is right for shallow graphs. Python "
        "allows about 1,000 calls inside each other; a long sum is deeper. Keep the nodes that "
        "wait in a list of your own.",
    ),
    Mistake(
        "marked_on_the_node",
        marked_on_the_node,
        "topological_order raised AttributeError: 'Value' object has no attribute 'visited'",
        "The mark was to be kept on the node. A Value has only the attributes in its "
        "`__slots__`; and a mark that stays would hide the node from the next walk. Keep a set "
        "beside the walk.",
    ),
    Mistake(
        "a_set",
        a_set,
        "topological_order should return a list, got set",
        "The set holds every node, and no order. The order is the whole point: append to a list "
        "when a node's parents are done.",
    ),
)
