"""Metrics as MBeans of Spark's JVM."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from firesteel.execution.spark.jmx import JmxReporter
from firesteel.metrics import DistributionValue
from firesteel.reporters import ReportedMetric, ReporterSettings


class MBeans:
    """The MBean server of Spark's JVM, by its interface: its class is in a package that py4j may not look into."""

    def __init__(self, spark: SparkSession) -> None:
        self.jvm: Any = spark._jvm
        self.gateway: Any = spark.sparkContext._gateway
        self.platform = self.jvm.java.lang.management.ManagementFactory.getPlatformMBeanServer()
        methods = self.jvm.java.lang.Class.forName("javax.management.MBeanServer").getMethods()
        self.methods = {(each.getName(), each.getParameterCount()): each for each in methods}

    def call(self, method: str, *arguments: Any) -> Any:
        array = self.gateway.new_array(self.jvm.java.lang.Object, len(arguments))
        for place, each in enumerate(arguments):
            array[place] = each
        return self.methods[method, len(arguments)].invoke(self.platform, array)

    def names(self) -> list[str]:
        pattern = self.jvm.javax.management.ObjectName("org.apache.flink.*:*")
        return sorted(str(each) for each in self.call("queryNames", pattern, None))

    def read(self, name: str, attribute: str) -> Any:
        return self.call("getAttribute", self.jvm.javax.management.ObjectName(name), attribute)


def metric(name: str, value: Any) -> ReportedMetric:
    variables = {"job_name": "loans, all", "subtask_index": "0"}
    return ReportedMetric("taskmanager.job.task.operator", name, "", variables, "gauge", value)


@pytest.mark.feature("OP-08")
def test_metrics_are_read_through_the_mbean_server(spark: SparkSession) -> None:
    beans, reporter = MBeans(spark), JmxReporter(ReporterSettings("jmx"))
    reporter.report([metric("seen", 3), metric("path", "/c"), metric("sizes", DistributionValue(2, 5, 1, 4))], 0)
    reporter.report([metric("seen", 50)], 0)
    path, seen, sizes = beans.names()
    assert seen == 'org.apache.flink.taskmanager.job.task.operator.seen:job_name="loans, all",subtask_index=0'
    assert (beans.read(seen, "Value"), beans.read(path, "Value"), beans.read(sizes, "Mean")) == (50, "/c", 2.5)
    reporter.close()
    assert beans.names() == []
