"""How a table environment works: on streams or on bounded input, and with which names."""

from __future__ import annotations

from firesteel.common import Configuration
from firesteel.common.options import RUNTIME_MODE
from firesteel.common.options import table as options

__all__ = ["EnvironmentSettings"]


class EnvironmentSettings:
    """The settings with which a table environment begins.

    ::

        settings = EnvironmentSettings.in_streaming_mode()
        settings = EnvironmentSettings.new_instance().in_batch_mode().with_built_in_catalog_name("shop").build()
    """

    class Builder:
        """Puts settings together."""

        def __init__(self) -> None:
            self._configuration = Configuration()
            self._streaming = True

        def with_configuration(self, config: Configuration) -> EnvironmentSettings.Builder:
            """Take over a configuration."""
            self._configuration.add_all(config)
            return self

        def in_batch_mode(self) -> EnvironmentSettings.Builder:
            """All input is bounded, and only final rows are wanted."""
            self._streaming = False
            return self

        def in_streaming_mode(self) -> EnvironmentSettings.Builder:
            """Results change while input comes."""
            self._streaming = True
            return self

        def with_built_in_catalog_name(self, built_in_catalog_name: str) -> EnvironmentSettings.Builder:
            """The name of the catalog that is there from the beginning."""
            self._configuration.set(options.BUILTIN_CATALOG_NAME, built_in_catalog_name)
            return self

        def with_built_in_database_name(self, built_in_database_name: str) -> EnvironmentSettings.Builder:
            """The name of the database in it."""
            self._configuration.set(options.BUILTIN_DATABASE_NAME, built_in_database_name)
            return self

        def build(self) -> EnvironmentSettings:
            """The settings."""
            return EnvironmentSettings(self._configuration, self._streaming)

    def __init__(self, configuration: Configuration | None = None, streaming: bool = True) -> None:
        self._configuration = Configuration() if configuration is None else configuration.clone()
        self._configuration.set(RUNTIME_MODE, "STREAMING" if streaming else "BATCH")
        self._streaming = streaming

    def get_built_in_catalog_name(self) -> str:
        """The name of the catalog that is there from the beginning."""
        return self._configuration.get(options.BUILTIN_CATALOG_NAME)

    def get_built_in_database_name(self) -> str:
        """The name of the database in it."""
        return self._configuration.get(options.BUILTIN_DATABASE_NAME)

    def is_streaming_mode(self) -> bool:
        """Whether results change while input comes."""
        return self._streaming

    def get_configuration(self) -> Configuration:
        """All settings by their keys."""
        return self._configuration

    @staticmethod
    def new_instance() -> EnvironmentSettings.Builder:
        """Begin settings."""
        return EnvironmentSettings.Builder()

    @staticmethod
    def in_streaming_mode() -> EnvironmentSettings:
        """The usual settings for streams."""
        return EnvironmentSettings.new_instance().in_streaming_mode().build()

    @staticmethod
    def in_batch_mode() -> EnvironmentSettings:
        """The usual settings for bounded input."""
        return EnvironmentSettings.new_instance().in_batch_mode().build()
