"""The parts of SQL that may stand in a statement about other data. What is not named here is refused."""

from mirror.data.guard.guard_errors import words

# Nodes of sqlglot's tree that are no functions.
NODES = words(
    """Add Alias Aliases All And Any Array AtTimeZone Between BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Boolean Bracket
    Case CTE Collate Column CurrentDate CurrentTimestamp Cube DPipe DataType DataTypeParam Distinct Div EQ Escape Exists
    Except Fetch Filter From GT GTE Glob Group GroupingSets Having ILike Identifier IgnoreNulls In IntDiv Intersect
    Interval Is JSONExtract JSONExtractScalar JSONPath JSONPathKey JSONPathRoot JSONPathSubscript Join LT LTE Like Limit
    LimitOptions Literal Mod Mul NEQ Neg Not Null NullSafeEQ NullSafeNEQ Offset Or Order Ordered Paren ParseJSON Pivot
    Pow Qualify RegexpILike RegexpLike RespectNulls Rollup Select SimilarTo Star Sub Subquery Table TableAlias Tuple
    Union UnpivotColumns Values Var Where Window WindowSpec With WithinGroup Xor"""
)

# Functions that sqlglot knows by a class of their own: they are called the same whatever the dialect calls them.
FUNCTIONS = words(
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
NAMED = words(
    """age date date_part datetime julianday make_date make_timestamp makedate now product time to_timestamp total
    unixepoch weekday yearweek"""
)

# Types that a value may be cast to.
TYPES = words(
    """BIGINT BOOLEAN CHAR DATE DATETIME DECIMAL DOUBLE FLOAT INT INTERVAL MEDIUMINT NCHAR NVARCHAR SMALLINT TEXT TIME
    TIMESTAMP TIMESTAMPNTZ TIMESTAMPTZ TINYINT UBIGINT UINT USMALLINT UTINYINT VARCHAR"""
)

# What may be said of a node beside its parts; all else about it must be absent.
ARGUMENTS: dict[str, frozenset[str]] = {
    "Select": words(
        "with_ kind expressions distinct from_ joins where group having qualify windows order limit offset"
    ),
    "Union": words("with_ this expression distinct by_name order limit offset"),
    "Except": words("with_ this expression distinct by_name order limit offset"),
    "Intersect": words("with_ this expression distinct by_name order limit offset"),
    "Subquery": words("this alias with_ joins order limit offset pivots"),
    "Table": words("this alias joins db catalog pivots"),
    "Join": words("this on side kind using method expressions"),
    "Column": words("this table db catalog"),
    "CTE": words("this alias materialized"),
    "With": words("expressions recursive"),
    "Cast": words("this to safe"),
    "TryCast": words("this to safe requires_string"),
    "DataType": words("this expressions nested"),
    "Values": words("expressions alias"),
    "Pivot": words(
        "this alias expressions fields unpivot using group into columns include_nulls default_on_null "
        "identify_pivot_strings prefixed_pivot_columns pivot_column_naming value_columns_first"
    ),
    "In": words("this expressions query field"),
}
