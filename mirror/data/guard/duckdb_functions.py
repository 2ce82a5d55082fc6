"""The SQL functions a question may use. What is not named here is refused, whatever it does."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Functions that may stand in FROM.
TABLE_FUNCTIONS = frozenset({"generate_series", "range", "unnest"})

# Signs that the parser turns into function calls.
_OPERATORS = """+ - * / // % ** ^ || | & << >> ~ @ ! !__postfix ~~ !~~ ~~* !~~* ~~~ ^@ && @> <@"""

_AGGREGATES = """
any_value approx_count_distinct approx_quantile arbitrary arg_max arg_max_null arg_min arg_min_null argmax argmin
array_agg avg bit_and bit_or bit_xor bool_and bool_or corr count count_if count_star countif covar_pop covar_samp
entropy favg first fsum geomean geometric_mean group_concat histogram kahan_sum kurtosis kurtosis_pop last list listagg
mad max max_by mean median min min_by mode product quantile quantile_cont quantile_disc regr_avgx regr_avgy regr_count
regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy sem skewness stddev stddev_pop stddev_samp string_agg sum
sumkahan var_pop var_samp variance wavg weighted_avg
"""

_WINDOWS = """
cume_dist dense_rank fill first_value lag last_value lead nth_value ntile percent_rank rank rank_dense row_number
"""

_NUMBERS = """
abs acos acosh add asin asinh atan atan2 atanh bit_count cbrt ceil ceiling cos cosh cot degrees divide even exp
factorial fdiv floor fmod gamma gcd greatest greatest_common_divisor isfinite isinf isnan lcm least
least_common_multiple lgamma ln log log10 log2 mod multiply nextafter pi pow power radians random round round_even
roundbankers sign signbit sin sinh sqrt subtract tan tanh trunc xor
"""

_TEXT = """
ascii bar base64 bin bit_length char_length character_length chr concat concat_ws contains damerau_levenshtein editdist3
ends_with format format_bytes formatreadabledecimalsize formatreadablesize from_base64 from_hex hash hex ilike_escape
instr jaccard jaro_similarity jaro_winkler_similarity lcase left length levenshtein like_escape lower lpad ltrim md5
mismatches not_ilike_escape not_like_escape octet_length ord position prefix printf regexp_escape regexp_extract
regexp_extract_all regexp_full_match regexp_matches regexp_replace regexp_split_to_array repeat replace reverse right
rpad rtrim sha256 split split_part starts_with str_split str_split_regex string_split string_split_regex
string_to_array strip_accents strlen strpos substr substring suffix to_base to_base64 to_hex translate trim ucase
unicode upper
"""

_TIMES = """
age ago century current_date current_localtime current_localtimestamp current_time current_timestamp date_add date_diff
date_part date_sub date_trunc datediff datepart datesub datetrunc day dayname dayofmonth dayofweek dayofyear
days_in_month decade epoch epoch_ms epoch_ns epoch_us era get_current_time get_current_timestamp hour isodow isoyear
julian last_day make_date make_time make_timestamp microsecond millennium millisecond minute month monthname now quarter
second strftime strptime time_bucket timezone to_centuries to_days to_decades to_hours to_microseconds to_millennia
to_milliseconds to_minutes to_months to_quarters to_seconds to_timestamp to_weeks to_years today transaction_timestamp
try_strptime week weekday weekofyear year yearweek
"""

# Not list_aggregate and its kin: they take the name of a function as text.
_LISTS = """
array_append array_apply array_concat array_contains array_distinct array_extract array_filter array_has array_has_all
array_has_any array_indexof array_intersect array_length array_position array_prepend array_reverse array_reverse_sort
array_slice array_sort array_to_string array_transform array_unique array_value array_zip cardinality element_at filter
flatten generate_series len list_any_value list_append list_apply list_avg list_bool_and list_bool_or list_concat
list_contains list_count list_distinct list_element list_extract list_filter list_first list_has list_has_all
list_has_any list_indexof list_intersect list_last list_max list_median list_min list_mode list_pack list_position
list_prepend list_product list_reduce list_reverse list_reverse_sort list_select list_slice list_sort list_stddev_pop
list_stddev_samp list_string_agg list_sum list_transform list_unique list_value list_var_pop list_var_samp list_where
list_zip map map_contains map_entries map_extract map_extract_value map_from_entries map_keys map_values range row
struct_extract struct_extract_at struct_insert struct_pack unnest
"""

_OTHERS = "coalesce constant_or_null if ifnull nullif typeof"

FUNCTIONS = _words(" ".join((_OPERATORS, _AGGREGATES, _WINDOWS, _NUMBERS, _TEXT, _TIMES, _LISTS, _OTHERS)))

# Types a value may be cast to, as DuckDB 1.5 (resolved) and 2.0 (as written) name them, in capitals.
TYPES = _words(
    """BIGINT BLOB BOOL BOOLEAN CHAR DATE DATETIME DEC DECIMAL DOUBLE FLOAT FLOAT4 FLOAT8 HUGEINT INT INT1 INT2 INT4
    INT8 INTEGER INTERVAL LIST LONG NUMERIC REAL SHORT SIGNED SMALLINT STRING TEXT TIME TIMESTAMP TIMESTAMPTZ
    TIMESTAMP_MS TIMESTAMP_NS TIMESTAMP_S TINYINT UBIGINT UHUGEINT UINTEGER USMALLINT UTINYINT VARCHAR"""
) | {"TIMESTAMP WITH TIME ZONE"}
