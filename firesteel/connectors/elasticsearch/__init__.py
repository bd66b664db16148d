"""Elasticsearch and OpenSearch: sinks of documents, by bulk requests. They need no package."""

from firesteel.connectors.elasticsearch.emitter import ElasticsearchEmitter
from firesteel.connectors.elasticsearch.sink import (
    Elasticsearch6SinkBuilder,
    Elasticsearch7SinkBuilder,
    Elasticsearch8SinkBuilder,
    ElasticsearchSink,
    FlushBackoffType,
    OpensearchSink,
    OpensearchSinkBuilder,
)

__all__ = [
    "Elasticsearch6SinkBuilder",
    "Elasticsearch7SinkBuilder",
    "Elasticsearch8SinkBuilder",
    "ElasticsearchEmitter",
    "ElasticsearchSink",
    "FlushBackoffType",
    "OpensearchSink",
    "OpensearchSinkBuilder",
]
