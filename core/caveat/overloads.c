/* One table. The order within a function is cel-go's: with an argument of type dyn several overloads fit, and the first
 * decides what type variables become. */
#include "caveat/overloads.h"

#define T(name) LIC_CEL_PATTERN_##name
#define F(name) LIC_CEL_FN_##name

#define GLOBAL1(function, a, result)                      \
    {                                                     \
        F(function), false, false, 1, { T(a) }, T(result) \
    }
#define GLOBAL2(function, a, b, result)                         \
    {                                                           \
        F(function), false, false, 2, { T(a), T(b) }, T(result) \
    }
#define MIXED(function, a, b)                                \
    {                                                        \
        F(function), false, true, 2, { T(a), T(b) }, T(BOOL) \
    }
#define MEMBER1(function, a, result)                     \
    {                                                    \
        F(function), true, false, 1, { T(a) }, T(result) \
    }
#define MEMBER2(function, a, b, result)                        \
    {                                                          \
        F(function), true, false, 2, { T(a), T(b) }, T(result) \
    }

#define COMPARISON(function)                                                                                           \
    GLOBAL2(function, BOOL, BOOL, BOOL), GLOBAL2(function, INT, INT, BOOL), MIXED(function, INT, DOUBLE),              \
        MIXED(function, INT, UINT), GLOBAL2(function, UINT, UINT, BOOL), MIXED(function, UINT, DOUBLE),                \
        MIXED(function, UINT, INT), GLOBAL2(function, DOUBLE, DOUBLE, BOOL), MIXED(function, DOUBLE, INT),             \
        MIXED(function, DOUBLE, UINT), GLOBAL2(function, STRING, STRING, BOOL), GLOBAL2(function, BYTES, BYTES, BOOL), \
        GLOBAL2(function, TIMESTAMP, TIMESTAMP, BOOL), GLOBAL2(function, DURATION, DURATION, BOOL)

/* With and without a time zone. */
#define OF_DATE(function) MEMBER1(function, TIMESTAMP, INT), MEMBER2(function, TIMESTAMP, STRING, INT)
#define OF_TIME(function) OF_DATE(function), MEMBER1(function, DURATION, INT)

/* Sorted by function, as the enumeration has them. */
static const lic_cel_overload overloads[] = {
    GLOBAL1(NOT, BOOL, BOOL),

    GLOBAL1(NEGATE, DOUBLE, DOUBLE),
    GLOBAL1(NEGATE, INT, INT),

    GLOBAL2(ADD, BYTES, BYTES, BYTES),
    GLOBAL2(ADD, DOUBLE, DOUBLE, DOUBLE),
    GLOBAL2(ADD, DURATION, DURATION, DURATION),
    GLOBAL2(ADD, DURATION, TIMESTAMP, TIMESTAMP),
    GLOBAL2(ADD, TIMESTAMP, DURATION, TIMESTAMP),
    GLOBAL2(ADD, INT, INT, INT),
    GLOBAL2(ADD, LIST_A, LIST_A, LIST_A),
    GLOBAL2(ADD, STRING, STRING, STRING),
    GLOBAL2(ADD, UINT, UINT, UINT),

    GLOBAL2(SUBTRACT, DOUBLE, DOUBLE, DOUBLE),
    GLOBAL2(SUBTRACT, DURATION, DURATION, DURATION),
    GLOBAL2(SUBTRACT, INT, INT, INT),
    GLOBAL2(SUBTRACT, TIMESTAMP, DURATION, TIMESTAMP),
    GLOBAL2(SUBTRACT, TIMESTAMP, TIMESTAMP, DURATION),
    GLOBAL2(SUBTRACT, UINT, UINT, UINT),

    GLOBAL2(MULTIPLY, DOUBLE, DOUBLE, DOUBLE),
    GLOBAL2(MULTIPLY, INT, INT, INT),
    GLOBAL2(MULTIPLY, UINT, UINT, UINT),

    GLOBAL2(DIVIDE, DOUBLE, DOUBLE, DOUBLE),
    GLOBAL2(DIVIDE, INT, INT, INT),
    GLOBAL2(DIVIDE, UINT, UINT, UINT),

    GLOBAL2(MODULO, INT, INT, INT),
    GLOBAL2(MODULO, UINT, UINT, UINT),

    GLOBAL2(EQUAL, A, A, BOOL),
    GLOBAL2(NOT_EQUAL, A, A, BOOL),

    COMPARISON(LESS),
    COMPARISON(LESS_EQUAL),
    COMPARISON(GREATER),
    COMPARISON(GREATER_EQUAL),

    GLOBAL2(IN, A, LIST_A, BOOL),
    GLOBAL2(IN, A, MAP_AB, BOOL),

    GLOBAL2(INDEX, LIST_A, INT, A),
    GLOBAL2(INDEX, MAP_AB, A, B),
    GLOBAL2(INDEX, OPTIONAL_LIST_A, INT, OPTIONAL_A),
    GLOBAL2(INDEX, OPTIONAL_MAP_AB, A, OPTIONAL_B),

    GLOBAL2(OPTIONAL_INDEX, LIST_A, INT, OPTIONAL_A),
    GLOBAL2(OPTIONAL_INDEX, OPTIONAL_LIST_A, INT, OPTIONAL_A),
    GLOBAL2(OPTIONAL_INDEX, MAP_AB, A, OPTIONAL_B),
    GLOBAL2(OPTIONAL_INDEX, OPTIONAL_MAP_AB, A, OPTIONAL_B),

    GLOBAL1(SIZE, BYTES, INT),
    MEMBER1(SIZE, BYTES, INT),
    GLOBAL1(SIZE, LIST_A, INT),
    MEMBER1(SIZE, LIST_A, INT),
    GLOBAL1(SIZE, MAP_AB, INT),
    MEMBER1(SIZE, MAP_AB, INT),
    GLOBAL1(SIZE, STRING, INT),
    MEMBER1(SIZE, STRING, INT),

    MEMBER2(CONTAINS, STRING, STRING, BOOL),
    MEMBER2(STARTS_WITH, STRING, STRING, BOOL),
    MEMBER2(ENDS_WITH, STRING, STRING, BOOL),
    GLOBAL2(MATCHES, STRING, STRING, BOOL),
    MEMBER2(MATCHES, STRING, STRING, BOOL),

    GLOBAL1(TO_BOOL, BOOL, BOOL),
    GLOBAL1(TO_BOOL, STRING, BOOL),

    GLOBAL1(TO_BYTES, BYTES, BYTES),
    GLOBAL1(TO_BYTES, STRING, BYTES),

    GLOBAL1(TO_DOUBLE, DOUBLE, DOUBLE),
    GLOBAL1(TO_DOUBLE, INT, DOUBLE),
    GLOBAL1(TO_DOUBLE, STRING, DOUBLE),
    GLOBAL1(TO_DOUBLE, UINT, DOUBLE),

    GLOBAL1(TO_DURATION, DURATION, DURATION),
    GLOBAL1(TO_DURATION, STRING, DURATION),

    GLOBAL1(TO_DYN, A, DYN),

    GLOBAL1(TO_INT, INT, INT),
    GLOBAL1(TO_INT, DOUBLE, INT),
    GLOBAL1(TO_INT, DURATION, INT),
    GLOBAL1(TO_INT, STRING, INT),
    GLOBAL1(TO_INT, TIMESTAMP, INT),
    GLOBAL1(TO_INT, UINT, INT),

    GLOBAL1(TO_STRING, STRING, STRING),
    GLOBAL1(TO_STRING, BOOL, STRING),
    GLOBAL1(TO_STRING, BYTES, STRING),
    GLOBAL1(TO_STRING, DOUBLE, STRING),
    GLOBAL1(TO_STRING, DURATION, STRING),
    GLOBAL1(TO_STRING, INT, STRING),
    GLOBAL1(TO_STRING, TIMESTAMP, STRING),
    GLOBAL1(TO_STRING, UINT, STRING),

    GLOBAL1(TO_TIMESTAMP, TIMESTAMP, TIMESTAMP),
    GLOBAL1(TO_TIMESTAMP, INT, TIMESTAMP),
    GLOBAL1(TO_TIMESTAMP, STRING, TIMESTAMP),

    GLOBAL1(TYPE_OF, A, TYPE_A),

    GLOBAL1(TO_UINT, UINT, UINT),
    GLOBAL1(TO_UINT, DOUBLE, UINT),
    GLOBAL1(TO_UINT, INT, UINT),
    GLOBAL1(TO_UINT, STRING, UINT),

    OF_DATE(GET_FULL_YEAR),
    OF_DATE(GET_MONTH),
    OF_DATE(GET_DATE),
    OF_DATE(GET_DAY_OF_MONTH),
    OF_DATE(GET_DAY_OF_WEEK),
    OF_DATE(GET_DAY_OF_YEAR),
    OF_TIME(GET_HOURS),
    OF_TIME(GET_MINUTES),
    OF_TIME(GET_SECONDS),
    OF_TIME(GET_MILLISECONDS),

    MEMBER2(IN_CIDR, IPADDRESS, STRING, BOOL),
    MEMBER2(IS_SUBTREE_OF, MAP_OF_ANY, MAP_OF_ANY, BOOL),

    GLOBAL1(OPTIONAL_OF, A, OPTIONAL_A),
    GLOBAL1(OPTIONAL_OF_NON_ZERO, A, OPTIONAL_A),
    { F(OPTIONAL_NONE), false, false, 0, { 0 }, T(OPTIONAL_A) },
    MEMBER1(HAS_VALUE, OPTIONAL_A, BOOL),
    MEMBER1(VALUE, OPTIONAL_A, A),
    MEMBER2(OR_OPTIONAL, OPTIONAL_A, OPTIONAL_A, OPTIONAL_A),
    MEMBER2(OR_VALUE, OPTIONAL_A, A, A),

    { LIC_CEL_FUNCTION_COUNT, false, false, 3, { T(BOOL), T(A), T(A) }, T(A) },
};

#define OVERLOAD_COUNT (sizeof overloads / sizeof overloads[0])

/* Where the overloads of a function begin: the first that is not of an earlier one. */
static size_t lower_bound(lic_cel_function function)
{
    size_t from = 0, to = OVERLOAD_COUNT;

    while (from < to) {
        size_t middle = from + (to - from) / 2;

        if (overloads[middle].function < function)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

const lic_cel_overload *lic_cel_overloads_of(lic_cel_function function, size_t *count)
{
    size_t first = lower_bound(function);

    for (*count = 0; first + *count < OVERLOAD_COUNT && overloads[first + *count].function == function;)
        ++*count;
    return &overloads[first];
}

static const lic_str names[] = {
#define FUNCTION_NAME(name, spelling) LICET_STR_INIT(spelling),
    LIC_CEL_FUNCTION_LIST(FUNCTION_NAME)
#undef FUNCTION_NAME
};

lic_cel_function lic_cel_function_find(lic_str name)
{
    for (size_t i = LIC_CEL_FN_SIZE; i < LIC_CEL_FUNCTION_COUNT; i++) {
        if (lic_str_equal(name, names[i]))
            return (lic_cel_function)i;
    }
    return LIC_CEL_FUNCTION_COUNT;
}

lic_str lic_cel_function_name(lic_cel_function function)
{
    return function == LIC_CEL_FUNCTION_COUNT ? LIC_STR("_?_:_") : names[function];
}
