"""Metrics as MBeans of Spark's own JVM, which any JMX tool reads; there is no Java of ours in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from firesteel.errors import ConfigurationError
from firesteel.reporters import MetricReporter, ReportedMetric, ReporterSettings

_DOMAIN = "org.apache.flink."
_PARTS = {"": "Value", "count": "Count", "min": "Min", "max": "Max", "mean": "Mean"}


class JmxReporter(MetricReporter):
    """Registers an MBean for each metric: Flink's domain, its scope, and the variables as properties of the name."""

    def __init__(self, settings: ReporterSettings) -> None:
        super().__init__(settings)
        self._beans: dict[str, Any] = {}
        """MBean's name -> the same as a Java object."""
        self._gateway: Any = None

    def _connect(self) -> None:
        """The session may be made after the reporter: the JVM is looked for with the first report."""
        from pyspark import SparkContext

        context = SparkContext._active_spark_context
        if context is None:
            raise ConfigurationError("the JMX reporter needs the JVM of Spark, and this job runs without Spark")
        self._gateway = context._gateway
        self._jvm = context._jvm
        self._platform = self._jvm.java.lang.management.ManagementFactory.getPlatformMBeanServer()
        # py4j looks methods up on the class of an object, which is not exported here: go by the interface.
        interface = self._jvm.java.lang.Class.forName("javax.management.MBeanServer")
        self._methods = {(each.getName(), each.getParameterCount()): each for each in interface.getMethods()}

    def _call(self, method: str, *arguments: Any) -> Any:
        array = self._gateway.new_array(self._jvm.java.lang.Object, len(arguments))
        for place, each in enumerate(arguments):
            array[place] = each
        return self._methods[method, len(arguments)].invoke(self._platform, array)

    def report(self, metrics: Sequence[ReportedMetric], now: int) -> None:
        """Set all values; what is reported for the first time is registered first."""
        if self._gateway is None:
            self._connect()
        for metric in metrics:
            values: dict[str, Any] = {_PARTS[part]: value for part, value in metric.numbers()}
            if not values and isinstance(metric.value, str):
                values = {"Value": metric.value}
            if values:
                self._set(mbean_name(metric), values)

    def _set(self, name: str, values: dict[str, Any]) -> None:
        found = self._beans.get(name)
        if found is None:
            found = self._jvm.javax.management.ObjectName(name)
            self._call("registerMBean", self._bean(values), found)
            self._beans[name] = found
            return
        for attribute, value in values.items():
            self._call("setAttribute", found, self._jvm.javax.management.Attribute(attribute, value))

    def _bean(self, values: dict[str, Any]) -> Any:
        """An MBean that keeps what it was told last."""
        model = self._jvm.javax.management.modelmbean
        infos = self._gateway.new_array(model.ModelMBeanAttributeInfo, len(_PARTS))
        for place, attribute in enumerate(_PARTS.values()):
            described = model.DescriptorSupport()
            fields = {"name": attribute, "descriptorType": "attribute", "currencyTimeLimit": "0"}  # 0: never stale
            for key, value in {**fields, "value": values.get(attribute)}.items():
                if value is not None:
                    described.setField(key, value)
            infos[place] = model.ModelMBeanAttributeInfo(
                attribute, "java.lang.Object", attribute, True, True, False, described
            )
        info = model.ModelMBeanInfoSupport("firesteel.Metric", "a metric", infos, None, None, None)
        return model.RequiredModelMBean(info)

    def close(self) -> None:
        """Take the MBeans out again."""
        for found in self._beans.values():
            self._call("unregisterMBean", found)
        self._beans.clear()


def mbean_name(metric: ReportedMetric) -> str:
    """Flink's name of the MBean of a metric."""
    properties = ",".join(f"{key}={_quoted(value)}" for key, value in sorted(metric.variables.items()))
    return f"{_DOMAIN}{metric.scope}.{_plain(metric.name)}:{properties}"


def _plain(text: str) -> str:
    return "".join("_" if mark in ':*?=,\n"' else mark for mark in text)


def _quoted(text: str) -> str:
    """As it is where a property can hold it, else in quotes."""
    if text and not any(mark in text for mark in ':*?=,\n"'):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("*", "\\*").replace("?", "\\?")
    return '"' + escaped.replace("\n", "\\n") + '"'
