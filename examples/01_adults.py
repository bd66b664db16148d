"""Keep the adults: the smallest complete program."""

from dataclasses import dataclass

from firesteel.datastream import FilterFunction, StreamExecutionEnvironment


@dataclass
class Person:
    name: str
    age: int

    def __str__(self) -> str:
        return f"{self.name}: age {self.age}"


class IsAdult(FilterFunction):
    def filter(self, value: Person) -> bool:
        return value.age >= 18


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)  # several subtasks would print their numbers: "2> Wilma: age 35"

    flintstones = env.from_elements(Person("Fred", 35), Person("Wilma", 35), Person("Pebbles", 2))
    flintstones.filter(IsAdult()).print()  # a lambda would do as well

    env.execute("adults")


if __name__ == "__main__":
    main()

# Output:
# Fred: age 35
# Wilma: age 35
