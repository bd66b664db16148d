"""Features: numbers, texts and categories made into vectors that can be learned from."""

from firesteel.ml.feature.bucketizer import Bucketizer
from firesteel.ml.feature.hashingtf import HashingTF
from firesteel.ml.feature.idf import IDF, IDFModel
from firesteel.ml.feature.maxabsscaler import MaxAbsScaler, MaxAbsScalerModel
from firesteel.ml.feature.minmaxscaler import MinMaxScaler, MinMaxScalerModel
from firesteel.ml.feature.onehotencoder import OneHotEncoder, OneHotEncoderModel
from firesteel.ml.feature.onlinestandardscaler import OnlineStandardScaler, OnlineStandardScalerModel
from firesteel.ml.feature.regextokenizer import RegexTokenizer
from firesteel.ml.feature.robustscaler import RobustScaler, RobustScalerModel
from firesteel.ml.feature.standardscaler import StandardScaler, StandardScalerModel
from firesteel.ml.feature.stringindexer import IndexToStringModel, StringIndexer, StringIndexerModel
from firesteel.ml.feature.tokenizer import Tokenizer
from firesteel.ml.feature.vectorassembler import VectorAssembler

__all__ = [
    "Bucketizer",
    "HashingTF",
    "IDF",
    "IDFModel",
    "IndexToStringModel",
    "MaxAbsScaler",
    "MaxAbsScalerModel",
    "MinMaxScaler",
    "MinMaxScalerModel",
    "OneHotEncoder",
    "OneHotEncoderModel",
    "RegexTokenizer",
    "RobustScaler",
    "RobustScalerModel",
    "StandardScaler",
    "StandardScalerModel",
    "StringIndexer",
    "StringIndexerModel",
    "Tokenizer",
    "VectorAssembler",
    "OnlineStandardScaler",
    "OnlineStandardScalerModel",
]
