"""OpenSearch as a sink of documents. It needs no package."""

from firesteel.connectors.elasticsearch import (
    ElasticsearchEmitter,
    FlushBackoffType,
    OpensearchSink,
    OpensearchSinkBuilder,
)

__all__ = ["ElasticsearchEmitter", "FlushBackoffType", "OpensearchSink", "OpensearchSinkBuilder"]
