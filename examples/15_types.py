"""What streams are made of: tuples, classes with fields, rows. Any Python object will do, some are known by field."""

from dataclasses import dataclass

from firesteel.common import Row, Types
from firesteel.common.tuples import Tuple2
from firesteel.datastream import StreamExecutionEnvironment


@dataclass
class Person:
    """With defaults for all fields, it keeps the rules of a POJO: its fields are known by name."""

    name: str = ""
    age: int = 0


def main() -> None:
    person = Tuple2.of("Fred", 35)
    print(person.f0, "is", person.f1)  # a Python tuple whose fields have Flink's names
    print(person == ("Fred", 35))
    print(Types.STRING().check(35))

    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)

    people = [Person("Fred Flintstone", 35), Person("Wilma Flintstone", 35), Person("Pebbles Flintstone", 2)]
    stream = env.from_collection(people)
    stream.key_by("name").max("age").map(lambda person: Row(name=person.name, age=person.age)).print()

    env.execute("types")


if __name__ == "__main__":
    main()

# Output:
# Fred is 35
# True
# expected String, got 35 (int)
# Row(name='Fred Flintstone', age=35)
# Row(name='Wilma Flintstone', age=35)
# Row(name='Pebbles Flintstone', age=2)
