"""Write firesteel/common/options/flink_keys.csv: the configuration keys of Flink, asked of its own classes.

This needs an environment with apache-flink, and a JDK: `make flink-goldens` makes one and runs this in it. Only facts
are taken: key, type, default, older keys. What a key means here is said in firesteel/common/options/.
"""

import csv
import subprocess
import tempfile
import zipfile
from pathlib import Path

import pyflink

PLACE = Path(__file__).parent.parent / "firesteel" / "common" / "options" / "flink_keys.csv"
HOME = Path(pyflink.__file__).parent

# Options of single tables, formats, catalogs and hints, or the ends of keys whose beginning a user chooses.
NOT_OF_A_JOB = [
    "AsyncSinkConnectorOptions",
    "CanalJsonFormatOptions",
    "CommonCatalogOptions",
    "CommonModuleOptions",
    "CommonSecretOptions",
    "CsvFormatOptions",
    "DataGenConnectorOptions",
    "DebeziumJsonFormatOptions",
    "FactoryUtil",
    "FileCatalogStoreFactoryOptions",
    "FileSystemConnectorOptions",
    "GenericInMemoryCatalogFactoryOptions",
    "JsonFormatOptions",
    "LegacyCsvDynamicTableSinkOptions",
    "LookupJoinHintOptions",
    "LookupOptions",
    "MLPredictRuntimeConfigOptions",
    "MaxwellJsonFormatOptions",
    "OggJsonFormatOptions",
    "PrintConnectorOptions",
    "PythonDynamicTableOptions",
    "ArrowTableSourceOptions",
    "RawFormatOptions",
    "StreamConfig",
    "StreamFormat",
    "VectorSearchRuntimeConfigOptions",
]
INTERNAL = ("$", "__", "internal.", "python.internal.")
ENDS_OF_KEYS = ("factory.", "filter.", "scope.")  # of reporters, which have names that users choose
TYPES = {
    "Boolean": "boolean",
    "Integer": "integer",
    "Long": "integer",
    "Float": "float",
    "Double": "float",
    "String": "string",
    "Duration": "duration",
    "MemorySize": "memory size",
    "Map": "map",
    "List": "list",
}


def declared_options() -> list[list[str]]:
    """Class, key, type, default and older keys of every option that Flink's classes declare."""
    with tempfile.TemporaryDirectory() as folder:
        loader = next((HOME / "lib").glob("flink-table-planner-loader-*.jar"))
        with zipfile.ZipFile(loader) as archive:
            planner = archive.extract("flink-table-planner.jar", folder)
        jars = [
            *map(str, sorted((HOME / "lib").glob("*.jar"))),
            *map(str, sorted((HOME / "opt").glob("*.jar"))),
            planner,
        ]
        source = Path(__file__).with_name("FlinkOptions.java")
        path = ":".join([folder, *jars])
        subprocess.run(["javac", "-cp", path, "-d", folder, source], check=True)
        done = subprocess.run(["java", "-cp", path, "FlinkOptions", *jars], check=True, capture_output=True, text=True)
    return [line.split("\t") for line in done.stdout.splitlines() if line.count("\t") == 4]


def is_of_a_job(class_name: str, key: str) -> bool:
    """Whether a key is one that a user writes into a configuration as it is."""
    return (
        class_name.rpartition(".")[2] not in NOT_OF_A_JOB
        and ("." in key or "-" in key)
        and not key.startswith((*INTERNAL, *ENDS_OF_KEYS))
        and not any(mark in key for mark in "<#")
    )


def main() -> None:
    """Write the table."""
    rows = {
        key: (key, TYPES.get(kind, "enum"), default, older)
        for class_name, key, kind, default, older in declared_options()
        if is_of_a_job(class_name, key)
    }
    with open(PLACE, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("key", "type", "default", "older"))
        writer.writerows(rows[key] for key in sorted(rows))


if __name__ == "__main__":
    main()
