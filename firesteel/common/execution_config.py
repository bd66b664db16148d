"""The settings of one program's execution."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from firesteel.common import options
from firesteel.common.config_options import ConfigOption
from firesteel.common.configuration import Configuration
from firesteel.common.options import flink
from firesteel.common.serializer import TypeSerializer
from firesteel.common.type_extraction import broken_pojo_rule
from firesteel.errors import ConfigurationError

__all__ = ["ExecutionConfig"]


class ExecutionConfig:
    """Settings of one program, on top of its :class:`Configuration`: both always say the same.

    Methods that only had a purpose on Flink's own engine keep their names and what they store, and warn once,
    as the same keys do in a Configuration.
    """

    PARALLELISM_DEFAULT = -1
    """Says: the default of the environment."""

    PARALLELISM_UNKNOWN = -2
    """Says: leave the parallelism as it is."""

    def __init__(self, configuration: Configuration | None = None) -> None:
        self._configuration = Configuration() if configuration is None else configuration
        self._serializers: dict[type, TypeSerializer[Any]] = {}
        self._pojo_types: list[type] = []

    def get_configuration(self) -> Configuration:
        """The configuration that holds these settings."""
        return self._configuration

    def _set(self, option: ConfigOption[Any], value: Any) -> ExecutionConfig:
        self._configuration.set(option, value)
        return self

    # --- parallelism ---------------------------------------------------------------------------

    def get_parallelism(self) -> int:
        """The parallelism of operators that set none; PARALLELISM_DEFAULT if none was set."""
        value = self._configuration.get(options.PARALLELISM)
        return self.PARALLELISM_DEFAULT if value is None else value

    def set_parallelism(self, parallelism: int) -> ExecutionConfig:
        """Set the parallelism of operators that set none; PARALLELISM_DEFAULT takes a setting back."""
        if parallelism == self.PARALLELISM_DEFAULT:
            self._configuration.remove_config(options.PARALLELISM.key)
        elif parallelism != self.PARALLELISM_UNKNOWN:
            self._set(options.PARALLELISM, parallelism)
        return self

    def get_max_parallelism(self) -> int:
        """The number of key groups; -1 if none was set, which means 128."""
        return self._configuration.get(options.MAX_PARALLELISM)

    def set_max_parallelism(self, max_parallelism: int) -> ExecutionConfig:
        """Set the number of key groups, the upper bound of any later parallelism (at most 32768)."""
        if not 0 < max_parallelism <= 2**15:
            raise ConfigurationError(f"the maximum parallelism lies in 1..32768, got {max_parallelism}.")
        return self._set(options.MAX_PARALLELISM, max_parallelism)

    # --- watermarks, parameters, uids ----------------------------------------------------------

    def get_auto_watermark_interval(self) -> int:
        """How often periodic watermark generators are asked, in milliseconds."""
        return self._configuration.get(options.AUTO_WATERMARK_INTERVAL)

    def set_auto_watermark_interval(self, interval: int) -> ExecutionConfig:
        """Set how often periodic watermark generators are asked, in milliseconds."""
        return self._set(options.AUTO_WATERMARK_INTERVAL, interval)

    def get_global_job_parameters(self) -> dict[str, str]:
        """The parameters that every function can read."""
        parameters = self._configuration.get(options.GLOBAL_JOB_PARAMETERS)
        return {} if parameters is None else parameters

    def set_global_job_parameters(self, global_job_parameters_dict: Mapping[str, Any]) -> ExecutionConfig:
        """Set the parameters that every function can read; their values become text."""
        return self._set(options.GLOBAL_JOB_PARAMETERS, dict(global_job_parameters_dict))

    def enable_auto_generated_uids(self) -> ExecutionConfig:
        """Give operators without a uid one, from their place in the program."""
        return self._set(options.AUTO_GENERATE_UIDS, True)

    def disable_auto_generated_uids(self) -> ExecutionConfig:
        """Demand that each operator sets its uid, so that savepoints survive any change of the program."""
        return self._set(options.AUTO_GENERATE_UIDS, False)

    def has_auto_generated_uids_enabled(self) -> bool:
        """Whether operators without a uid get one."""
        return self._configuration.get(options.AUTO_GENERATE_UIDS)

    # --- records and cancellation ---------------------------------------------------------------

    def enable_object_reuse(self) -> ExecutionConfig:
        """Hand records to chained operators as they are: for functions that neither change their input nor keep it."""
        return self._set(options.OBJECT_REUSE, True)

    def disable_object_reuse(self) -> ExecutionConfig:
        """Copy what can be changed between chained operators. The default."""
        return self._set(options.OBJECT_REUSE, False)

    def is_object_reuse_enabled(self) -> bool:
        """Whether records are handed on as they are; false unless enabled."""
        return self._configuration.get(options.OBJECT_REUSE)

    def get_task_cancellation_interval(self) -> int:
        """How often a busy function is told again that its job was cancelled, in milliseconds."""
        return self._configuration.get(options.CANCELLATION_INTERVAL)

    def set_task_cancellation_interval(self, interval: int) -> ExecutionConfig:
        """Set how often a busy function is told again that its job was cancelled, in milliseconds."""
        return self._set(options.CANCELLATION_INTERVAL, interval)

    def get_task_cancellation_timeout(self) -> int:
        """How long a busy function may take to end after a cancellation, in milliseconds; 0 means for ever."""
        return self._configuration.get(options.CANCELLATION_TIMEOUT)

    def set_task_cancellation_timeout(self, timeout: int) -> ExecutionConfig:
        """Set how long a busy function may take to end after a cancellation, in milliseconds; 0 means for ever."""
        return self._set(options.CANCELLATION_TIMEOUT, timeout)

    # --- serializers and classes ---------------------------------------------------------------

    def register_serializer(
        self, cls: type, serializer: TypeSerializer[Any] | type[TypeSerializer[Any]]
    ) -> ExecutionConfig:
        """Serialize instances of exactly this class with this serializer, in shuffles and in state."""
        made = serializer() if isinstance(serializer, type) else serializer
        if not isinstance(cls, type) or not isinstance(made, TypeSerializer):
            raise ConfigurationError(
                f"register_serializer() takes a class and a TypeSerializer, got {cls!r} and {serializer!r}."
            )
        self._serializers[cls] = made
        return self

    def get_registered_serializers(self) -> dict[type, TypeSerializer[Any]]:
        """The registered serializers by class."""
        return dict(self._serializers)

    def register_type_with_kryo_serializer(
        self, cls: type, serializer: TypeSerializer[Any] | type[TypeSerializer[Any]]
    ) -> ExecutionConfig:
        """Flink's name for :meth:`register_serializer`."""
        return self.register_serializer(cls, serializer)

    def get_registered_kryo_types(self) -> list[str]:
        """The names of the classes that have a serializer of their own."""
        return [_name(cls) for cls in self._serializers]

    def get_default_kryo_serializer_classes(self) -> dict[str, str]:
        """The names of the classes that have a serializer of their own, and the names of its class."""
        return {_name(cls): _name(type(serializer)) for cls, serializer in self._serializers.items()}

    def register_pojo_type(self, cls: type) -> ExecutionConfig:
        """Demand that a class keeps the POJO rules, and check it now."""
        broken = broken_pojo_rule(cls)
        if broken is not None:
            raise ConfigurationError(f"{_name(cls)} is no POJO. Broken {broken}.")
        if cls not in self._pojo_types:
            self._pojo_types.append(cls)
        return self

    def get_registered_pojo_types(self) -> list[str]:
        """The names of the classes registered as POJOs."""
        return [_name(cls) for cls in self._pojo_types]

    # --- settings without effect on this engine --------------------------------------------------

    def enable_closure_cleaner(self) -> ExecutionConfig:
        """Without effect: cloudpickle ships only what a function refers to."""
        return self._set(flink.CLOSURE_CLEANER, True)

    def disable_closure_cleaner(self) -> ExecutionConfig:
        """Without effect: cloudpickle ships only what a function refers to."""
        return self._set(flink.CLOSURE_CLEANER, False)

    def is_closure_cleaner_enabled(self) -> bool:
        """What was set; true unless disabled."""
        return self._configuration.get(flink.CLOSURE_CLEANER)

    def enable_generic_types(self) -> ExecutionConfig:
        """Without effect: all records are pickled."""
        return self._set(flink.GENERIC_TYPES, True)

    def disable_generic_types(self) -> ExecutionConfig:
        """Without effect: all records are pickled, so there is no slower path to forbid."""
        return self._set(flink.GENERIC_TYPES, False)

    def has_generic_types_disabled(self) -> bool:
        """What was set; false unless disabled."""
        return not self._configuration.get(flink.GENERIC_TYPES)

    def enable_force_kryo(self) -> ExecutionConfig:
        """Without effect: there is no Kryo."""
        return self._set(flink.FORCE_KRYO, True)

    def disable_force_kryo(self) -> ExecutionConfig:
        """Without effect: there is no Kryo."""
        return self._set(flink.FORCE_KRYO, False)

    def is_force_kryo_enabled(self) -> bool:
        """What was set; false unless enabled."""
        return self._configuration.get(flink.FORCE_KRYO)

    def enable_force_avro(self) -> ExecutionConfig:
        """Without effect: records are pickled."""
        return self._set(flink.FORCE_AVRO, True)

    def disable_force_avro(self) -> ExecutionConfig:
        """Without effect: records are pickled."""
        return self._set(flink.FORCE_AVRO, False)

    def is_force_avro_enabled(self) -> bool:
        """What was set; false unless enabled."""
        return self._configuration.get(flink.FORCE_AVRO)

    def get_latency_tracking_interval(self) -> int:
        """What was set, in milliseconds; 0 unless set."""
        return self._configuration.get(flink.LATENCY_INTERVAL)

    def set_latency_tracking_interval(self, interval: int) -> ExecutionConfig:
        """Without effect: there are no latency markers; the duration of each epoch is measured instead."""
        return self._set(flink.LATENCY_INTERVAL, interval)

    def is_use_snapshot_compression(self) -> bool:
        """What was set; false unless set."""
        return self._configuration.get(flink.SNAPSHOT_COMPRESSION)

    def set_use_snapshot_compression(self, use_snapshot_compression: bool) -> ExecutionConfig:
        """Without effect: state files are written as they are."""
        return self._set(flink.SNAPSHOT_COMPRESSION, use_snapshot_compression)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExecutionConfig) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(tuple(sorted(self._configuration.to_dict().items())))

    def __repr__(self) -> str:
        return f"ExecutionConfig({self._configuration!r})"


def _name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"
