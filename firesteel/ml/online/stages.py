"""Stages whose tables are streams: estimators that never cease to learn, and models that come in versions."""

from __future__ import annotations

import zlib
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from firesteel.datastream import DataStream, KeyedStream
from firesteel.errors import ConfigurationError, ProgramError, UnsupportedError
from firesteel.ml.api import Estimator, Model, Stage, Table
from firesteel.ml.common.param import HasModelVersionCol
from firesteel.ml.online.batches import Windows
from firesteel.ml.online.learner import Learner, ModelVersion
from firesteel.ml.online.predicting import VERSIONS, PredictByBroadcast, PredictByKey
from firesteel.ml.online.training import Train
from firesteel.ml.saving import Saved, Saving

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["OnlineEstimator", "OnlineModel"]

S = TypeVar("S", bound=Stage)


class OnlineModel(Model, HasModelVersionCol):
    """A model that comes in versions: a record is predicted with the one that was in force at its time.

    Without timestamps, that is the newest that has come. Records before the first version wait for it, unless the
    estimator was given model data to begin with.
    """

    estimator_class: ClassVar[type[OnlineEstimator]]
    """The estimator whose algorithm it predicts by."""
    _versions: DataStream | None = None
    _initial: dict[str, Any] | None = None
    _keyed: bool = False

    def get_model_data(self) -> list[Table]:
        """The versions, as a stream of :class:`~firesteel.ml.online.ModelVersion`."""
        return [self._fitted()]

    def set_model_data(self, *inputs: Table) -> Self:
        """Take the versions from another stream, such as one that another job has written.

        If they belong to models per key, the stream is keyed.
        """
        self._versions = one_stream(self, inputs)
        self._keyed = isinstance(self._versions, KeyedStream)
        return self

    def follow(self, versions: DataStream, initial: dict[str, Any] | None, keyed: bool) -> Self:
        """Take the versions from an estimator, with what it began with, and whether there is a model per key."""
        self._versions, self._initial, self._keyed = versions, initial, keyed
        return self

    def transform(self, *inputs: Table) -> list[Table]:
        """The records with the fields that the model adds, and ``model_version_col``."""
        stream = one_stream(self, inputs)
        versions, learner = self._fitted(), _with_params_of(self, self.estimator_class()).learner()
        name = type(self).__name__
        if not self._keyed:
            spread = stream if isinstance(stream, KeyedStream) else stream.key_by(_spread)
            connected = spread.connect(versions.broadcast(VERSIONS))
            return [connected.process(PredictByBroadcast(learner, self._initial, self.model_version_col)).name(name)]
        if not isinstance(stream, KeyedStream):
            raise ProgramError(f"{name} has a model per key: call key_by() on the stream that is to be predicted, too.")
        models = versions.key_by(_key_of, stream.get_key_type())
        predict = PredictByKey(learner, self._initial, self.model_version_col)
        return [stream.connect(models).process(predict).name(name)]

    def _fitted(self) -> DataStream:
        if self._versions is None:
            raise ProgramError(
                f"this {type(self).__name__} has no versions: fit an estimator, or call set_model_data() with a stream."
            )
        return self._versions

    def save_content(self, saving: Saving) -> None:
        raise UnsupportedError(
            f"{type(self).__name__} cannot be saved: its versions are a stream. Write get_model_data() to a sink, "
            "and give a version to set_initial_model_data() of an estimator to go on from it."
        )


class OnlineEstimator(Estimator, HasModelVersionCol):
    """Learns from a stream for as long as it runs, with what it has learned in the job's state.

    A keyed stream gives a model per key.
    """

    model_class: ClassVar[type[OnlineModel]]
    _initial: dict[str, Any] | None = None

    def __init_subclass__(cls) -> None:
        if "model_class" in vars(cls):
            cls.model_class.estimator_class = cls

    @abstractmethod
    def learner(self) -> Learner:
        """The algorithm, with this estimator's parameters."""

    @abstractmethod
    def batches(self) -> Windows:
        """Which records make a version."""

    def set_initial_model_data(self, value: ModelVersion | dict[str, Any]) -> Self:
        """Begin with what was learned before: a version, or its data. It is version 0, in force from the beginning."""
        data = value.data if isinstance(value, ModelVersion) else value
        if not isinstance(data, dict):
            raise ConfigurationError(f"{type(self).__name__}: model data is a ModelVersion or a dict, got {value!r}.")
        self.learner().start(data)  # says what is wrong with it
        self._initial = data
        return self

    def fit(self, *inputs: Table) -> Any:
        """The model whose versions come with the stream of training records."""
        stream = one_stream(self, inputs)
        keyed = isinstance(stream, KeyedStream)
        trained = stream if isinstance(stream, KeyedStream) else stream.key_by(_nothing)
        model = _with_params_of(self, self.model_class())
        train = Train(self.learner(), self.batches(), self._initial, keyed)
        return model.follow(trained.process(train).name(type(self).__name__), self._initial, keyed)

    def save_content(self, saving: Saving) -> None:
        saving.value("initial_model_data", self._initial)

    def load_content(self, saved: Saved) -> None:
        self._initial = saved.value("initial_model_data")


def one_stream(stage: Estimator | Model, inputs: tuple[Table, ...]) -> DataStream:
    """The one stream that a stage takes."""
    owner = type(stage).__name__
    if len(inputs) != 1:
        raise ConfigurationError(f"{owner} takes one stream, got {len(inputs)}.")
    if not isinstance(inputs[0], DataStream):
        raise ConfigurationError(f"{owner} is online: it takes a DataStream, got {type(inputs[0]).__name__}.")
    return inputs[0]


def _with_params_of(stage: Stage, other: S) -> S:
    """The other stage, with those parameters of this one that both have."""
    theirs = other.get_param_map()
    theirs.update({param: value for param, value in stage.get_param_map().items() if param in theirs})
    return other


def _nothing(_: Any) -> int:
    return 0


def _key_of(version: ModelVersion) -> Any:
    return version.key


def _spread(record: Any) -> int:
    # Records of a stream without keys need some, as only keyed records can wait for their time.
    return zlib.crc32(repr(record).encode()) & 127
