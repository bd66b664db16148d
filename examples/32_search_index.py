"""Continuous ETL: changes of products go to a search index. Writing by key makes it safe to write again."""

import json
import tempfile
from pathlib import Path
from typing import Any

from firesteel.common import RestartStrategies, Row, Types
from firesteel.datastream import MapFunction, RuntimeContext, SinkFunction, StreamExecutionEnvironment
from firesteel.datastream.formats.json import JsonRowDeserializationSchema
from firesteel.datastream.formats.parsing import ParseRecords

CHANGES = [
    '{"id": 1, "title": "Green tea", "price": 2.5}',
    '{"id": 2, "title": "Salt", "price": 0.9}',
    '{"id": 1, "title": "Green tea", "price": 2.8}',
    '{"id": 3, "title": "Black bread", "price": 1.8}',
]
PRODUCT = Types.ROW_NAMED(["id", "title", "price"], [Types.LONG(), Types.STRING(), Types.DOUBLE()])


class StubIndex:
    """Stands for a search engine: a document per id, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def upsert(self, document_id: int, document: dict[str, Any]) -> None:
        (self.folder / f"{document_id}.json").write_text(json.dumps(document))

    def documents(self) -> list[dict[str, Any]]:
        return [json.loads(path.read_text()) for path in sorted(self.folder.iterdir())]


class ToDocument(MapFunction):
    """Fails once, on the way: everything since the last checkpoint comes again."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.attempt = runtime_context.get_attempt_number()

    def map(self, value: Row) -> dict[str, Any]:
        if value.id == 3 and self.attempt == 0:
            raise ConnectionError("the network is away")
        return {**value.as_dict(), "words": value.title.lower().split()}


class IndexSink(SinkFunction):
    def __init__(self, index: StubIndex) -> None:
        self.index = index

    def invoke(self, value: dict[str, Any], context: Any = None) -> None:
        self.index.upsert(value["id"], value)


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        index = StubIndex(Path(directory))

        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(1)
        env.set_restart_strategy(RestartStrategies.fixed_delay_restart(3, 0))

        schema = JsonRowDeserializationSchema.builder().type_info(PRODUCT).build()
        products = env.from_collection(CHANGES).process(ParseRecords(schema))
        # By key: the changes of one product stay in order, whatever the parallelism.
        products.key_by(lambda product: product.id).map(ToDocument()).add_sink(IndexSink(index))

        env.execute("search index")
        for document in index.documents():
            print(document)


if __name__ == "__main__":
    main()

# Output:
# {'id': 1, 'title': 'Green tea', 'price': 2.8, 'words': ['green', 'tea']}
# {'id': 2, 'title': 'Salt', 'price': 0.9, 'words': ['salt']}
# {'id': 3, 'title': 'Black bread', 'price': 1.8, 'words': ['black', 'bread']}
