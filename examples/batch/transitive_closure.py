"""Who can reach whom? Known paths are extended by an edge in each superstep, until no new one is found."""

from collections.abc import Iterable

from firesteel.dataset import ExecutionEnvironment

FLIGHTS = [("Oslo", "Rome"), ("Rome", "Cairo"), ("Cairo", "Lagos"), ("Lima", "Quito")]


def only_new(found: Iterable[tuple[str, str]], known: Iterable[tuple[str, str]]) -> Iterable[tuple[str, str]]:
    return [] if list(known) else list(found)[:1]


def main() -> None:
    env = ExecutionEnvironment.get_execution_environment()
    flights = env.from_collection(FLIGHTS)
    paths = flights.iterate(10)
    longer = paths.join(flights).where(1).equal_to(0).with_(lambda path, flight: (path[0], flight[1]))
    after = paths.union(longer).distinct()
    new = after.co_group(paths).where("*").equal_to("*").with_(only_new)
    for start, end in sorted(paths.close_with(after, new).collect()):
        print(f"{start} to {end}")


if __name__ == "__main__":
    main()

# Output:
# Cairo to Lagos
# Lima to Quito
# Oslo to Cairo
# Oslo to Lagos
# Oslo to Rome
# Rome to Cairo
# Rome to Lagos
