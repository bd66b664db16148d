"""Which vertices of a graph belong together? Each takes the smallest label of its neighbours while labels change.

A delta iteration looks only at what has changed in the superstep before.
"""

from collections.abc import Iterator

from firesteel.dataset import ExecutionEnvironment

VERTICES = range(1, 11)
EDGES = [(1, 2), (2, 3), (4, 5), (6, 7), (7, 8), (8, 9), (9, 10)]


def if_smaller(new: tuple[int, int], old: tuple[int, int]) -> Iterator[tuple[int, int]]:
    if new[1] < old[1]:
        yield new


def main() -> None:
    env = ExecutionEnvironment.get_execution_environment()
    edges = env.from_collection(EDGES).flat_map(lambda edge: [edge, (edge[1], edge[0])])
    labels = env.from_collection([(vertex, vertex) for vertex in VERTICES])

    iteration = labels.iterate_delta(labels, 100, 0)
    offered = iteration.get_workset().join(edges).where(0).equal_to(0).with_(lambda vertex, edge: (edge[1], vertex[1]))
    best = offered.group_by(0).min(1)
    changed = best.join(iteration.get_solution_set()).where(0).equal_to(0).with_(if_smaller)
    components = iteration.close_with(changed, changed)

    members = components.group_by(1).reduce_group(lambda group: [sorted(vertex for vertex, _ in group)])
    for component in sorted(members.collect()):
        print(component)


if __name__ == "__main__":
    main()

# Output:
# [1, 2, 3]
# [4, 5]
# [6, 7, 8, 9, 10]
