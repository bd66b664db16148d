"""Estimate pi by throwing darts, one per superstep of an iteration: how many land in the quarter of a circle?

The darts are not random but spread evenly, so that everybody gets the same estimate.
"""

from firesteel.dataset import ExecutionEnvironment

DARTS = 10_000


def throw(state: tuple[int, int]) -> tuple[int, int]:
    number, hits = state
    x, y = (number * 0.7548776662466927) % 1, (number * 0.5698402909980532) % 1
    return number + 1, hits + (x * x + y * y < 1)


def main() -> None:
    env = ExecutionEnvironment.get_execution_environment()
    iteration = env.from_elements((0, 0)).iterate(DARTS)
    result = iteration.close_with(iteration.map(throw))
    result.map(lambda state: f"pi is about {4 * state[1] / state[0]:.2f}").print()


if __name__ == "__main__":
    main()

# Output:
# pi is about 3.14
