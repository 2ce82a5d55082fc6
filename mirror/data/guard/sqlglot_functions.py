"""The parts of SQL that may stand in a statement about other data. What is not named here is refused."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Nodes of sqlglot's tree that are no functions.
NODES = _words(
    """Add Alias Aliases All And Any Array AtTimeZone Between BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Boolean Bracket
    Case CTE Collate Column CurrentDate CurrentTimestamp Cube DPipe DataType DataTypeParam Distinct Div EQ Escape Exists
    Except Fetch Filter From GT GTE Glob Group GroupingSets Having ILike Identifier IgnoreNulls In IntDiv Intersect
    Interval Is JSONExtract JSONExtractScalar JSONPath JSONPathKey JSONPathRoot JSONPathSubscript Join LT LTE Like Limit
    LimitOptions Literal Mod Mul NEQ Neg Not Null NullSafeEQ NullSafeNEQ Offset Or Order Ordered Paren ParseJSON Pow
    Qualify RegexpILike RegexpLike RespectNulls Rollup Select SimilarTo Star Sub Subquery Table TableAlias Tuple Union
    Values Var Where Window WindowSpec With WithinGroup Xor"""
)

# Functions that sqlglot knows by a class of their own: they are called the same whatever the dialect calls them.
FUNCTIONS = _words(
    """Abs AnyValue ApproxDistinct ArgMax ArgMin ArrayAgg Avg Cast Cbrt Ceil Coalesce Concat ConcatWs Contains Corr
    Count CountIf CovarPop CovarSamp CumeDist Date DateAdd DateDiff DateFromParts DateSub DateTrunc Day DayOfMonth
    DayOfWeek DayOfYear Dayname DenseRank EndsWith Exp Extract First FirstValue Floor Greatest GroupConcat Grouping Hour
    If Initcap IsNan Kurtosis Lag Last LastDay LastValue Lead Least Left Length Ln Log LogicalAnd LogicalOr Lower
    MakeInterval Max Median Min Minute Mode Month Monthname NthValue Ntile Nullif NumberToStr PercentRank PercentileCont
    PercentileDisc Pow Quantile Quarter Rank RegexpReplace Replace Reverse Right Round RowNumber Second Sign Skewness
    SplitPart Sqrt StartsWith Stddev StddevPop StddevSamp StrPosition StrToDate StrToTime Substring SubstringIndex Sum
    TimeToStr TimeToUnix TimestampDiff TimestampTrunc ToDays Trim Trunc TryCast TsOrDsToDate TsOrDsToTimestamp Typeof
    Upper Variance VariancePop Week WeekOfYear WidthBucket Year"""
)

# Functions that sqlglot hands through by name.
NAMED = _words(
    """age date date_part datetime julianday make_date make_timestamp makedate now product time to_timestamp total
    unixepoch weekday yearweek"""
)

# Types that a value may be cast to.
TYPES = _words(
    """BIGINT BOOLEAN CHAR DATE DATETIME DECIMAL DOUBLE FLOAT INT INTERVAL MEDIUMINT NCHAR NVARCHAR SMALLINT TEXT TIME
    TIMESTAMP TIMESTAMPNTZ TIMESTAMPTZ TINYINT UBIGINT UINT USMALLINT UTINYINT VARCHAR"""
)

# What may be said of a node beside its parts; all else about it must be absent.
ARGUMENTS: dict[str, frozenset[str]] = {
    "Select": _words(
        "with_ kind expressions distinct from_ joins where group having qualify windows order limit offset"
    ),
    "Union": _words("with_ this expression distinct by_name order limit offset"),
    "Except": _words("with_ this expression distinct by_name order limit offset"),
    "Intersect": _words("with_ this expression distinct by_name order limit offset"),
    "Subquery": _words("this alias with_ joins order limit offset"),
    "Table": _words("this alias joins db catalog"),
    "Join": _words("this on side kind using method expressions"),
    "Column": _words("this table db catalog"),
    "CTE": _words("this alias materialized"),
    "With": _words("expressions recursive"),
    "Cast": _words("this to safe"),
    "TryCast": _words("this to safe requires_string"),
    "DataType": _words("this expressions nested"),
    "Values": _words("expressions alias"),
}
