/* The compiled form of an expression: a flat program for a stack machine, so that evaluating needs no recursion.
 *
 * Every instruction leaves exactly one value more or fewer on the stack as said. UNKNOWN and ERROR are values on
 * it. In strict instructions the first operand from the left that is one of the two is the result (caveats.md 5).
 *
 *   a && b      <a> JUMP_IF_FALSE end  <b> AND  end:        (|| likewise with JUMP_IF_TRUE, OR)
 *   c ? a : b   <c> BRANCH otherwise   <a> JUMP end  otherwise: <b>  end:
 *   e.all(x,p)  <e> LOOP_BEGIN ALL end  body: <p> LOOP_NEXT body  end:
 *   e.map(x,p,t)  <e> LOOP_BEGIN MAP end  body: <p> LOOP_WHEN body end  <t> LOOP_NEXT body  end:
 *   o.or(p)     <o> OR_ELSE end  <p>  end:                    (p counts only if o is none, so CALL never has or, orValue)
 *
 * Jumps are targets, as indices of instructions. */
#ifndef LIC_CAVEAT_BYTECODE_H
#define LIC_CAVEAT_BYTECODE_H

#include "caveat/value.h"

/* What a comprehension folds to. */
typedef enum lic_cel_fold {
    LIC_CEL_FOLD_ALL,        /* && over bodies: false decides, unknown before error */
    LIC_CEL_FOLD_EXISTS,     /* || over bodies: true decides, unknown before error */
    LIC_CEL_FOLD_EXISTS_ONE, /* whether one body is true */
    LIC_CEL_FOLD_MAP,        /* list of bodies */
    LIC_CEL_FOLD_FILTER      /* list of those elements whose body is true */
} lic_cel_fold;

/* The last three look at every element, whatever came before: cel-go steps with "test ? result + this : result" and
 * with "result + [body]". So an unknown or an error in a test (the bodies of EXISTS_ONE and FILTER; LOOP_WHEN) takes the
 * place of the result so far, the last one counts; in a body of MAP it does only if there was none before. */

/* What b of a CALL holds besides the number of operands. SpiceDB runs the overload that the checker chose, and that one
 * takes no other kind: a parameter `uint` is checked as int, so int(x), uint(x), double(x) and string(x) of it are "no
 * such overload", though string(5u) is fine. For a call of conversion (TO_*) whose operand's type the checker knew:
 * which kind it was. */
#define LIC_CEL_CALL(count) ((uint32_t)(count))
#define LIC_CEL_CALL_OF(count, kind) ((uint32_t)(count) | ((uint32_t)(kind) + 1) << 8)
#define LIC_CEL_CALL_COUNT(b) ((b)&0xff)
#define LIC_CEL_CALL_KIND(b) ((b) >> 8) /* 0: any; else lic_cel_kind + 1 */

/* Functions and operators with strict operands. Which overload is chosen at run time by the kinds of the operands; none:
 * the error "no such overload". Name, name in CEL. Operators that the grammar has: cel-go's internal names. */
#define LIC_CEL_FUNCTION_LIST(X)                       \
    X(NOT, "!_")                                       \
    X(NEGATE, "-_")                                    \
    X(ADD, "_+_")                                      \
    X(SUBTRACT, "_-_")                                 \
    X(MULTIPLY, "_*_")                                 \
    X(DIVIDE, "_/_")                                   \
    X(MODULO, "_%_")                                   \
    X(EQUAL, "_==_")                                   \
    X(NOT_EQUAL, "_!=_")                               \
    X(LESS, "_<_")                                     \
    X(LESS_EQUAL, "_<=_")                              \
    X(GREATER, "_>_")                                  \
    X(GREATER_EQUAL, "_>=_")                           \
    X(IN, "@in")                                       \
    X(INDEX, "_[_]")                                   \
    X(OPTIONAL_INDEX, "_[?_]")                         \
    X(SIZE, "size")                                    \
    X(CONTAINS, "contains")                            \
    X(STARTS_WITH, "startsWith")                       \
    X(ENDS_WITH, "endsWith")                           \
    X(MATCHES, "matches")                              \
    X(TO_BOOL, "bool")                                 \
    X(TO_BYTES, "bytes")                               \
    X(TO_DOUBLE, "double")                             \
    X(TO_DURATION, "duration")                         \
    X(TO_DYN, "dyn")                                   \
    X(TO_INT, "int")                                   \
    X(TO_STRING, "string")                             \
    X(TO_TIMESTAMP, "timestamp")                       \
    X(TYPE_OF, "type")                                 \
    X(TO_UINT, "uint")                                 \
    X(GET_FULL_YEAR, "getFullYear")                    \
    X(GET_MONTH, "getMonth")                           \
    X(GET_DATE, "getDate")                             \
    X(GET_DAY_OF_MONTH, "getDayOfMonth")               \
    X(GET_DAY_OF_WEEK, "getDayOfWeek")                 \
    X(GET_DAY_OF_YEAR, "getDayOfYear")                 \
    X(GET_HOURS, "getHours")                           \
    X(GET_MINUTES, "getMinutes")                       \
    X(GET_SECONDS, "getSeconds")                       \
    X(GET_MILLISECONDS, "getMilliseconds")             \
    X(IN_CIDR, "in_cidr")                              \
    X(IS_SUBTREE_OF, "isSubtreeOf")                    \
    X(OPTIONAL_OF, "optional.of")                      \
    X(OPTIONAL_OF_NON_ZERO, "optional.ofNonZeroValue") \
    X(OPTIONAL_NONE, "optional.none")                  \
    X(HAS_VALUE, "hasValue")                           \
    X(VALUE, "value")                                  \
    X(OR_OPTIONAL, "or")                               \
    X(OR_VALUE, "orValue")

typedef enum lic_cel_function {
#define LIC_CEL_FUNCTION_ENUM(name, spelling) LIC_CEL_FN_##name,
    LIC_CEL_FUNCTION_LIST(LIC_CEL_FUNCTION_ENUM)
#undef LIC_CEL_FUNCTION_ENUM
        LIC_CEL_FUNCTION_COUNT
} lic_cel_function;

/* a, b: the instruction's operands. "-> v" is what it leaves. */
typedef enum lic_cel_opcode {
    LIC_CEL_OP_CONSTANT,        /* a: constant                 -> constants[a] */
    LIC_CEL_OP_PARAMETER,       /* a: parameter                -> its value, or UNKNOWN {a} */
    LIC_CEL_OP_LOCAL,           /* a: depth of the loop, outermost 0 -> its element */
    LIC_CEL_OP_SELECT,          /* a: constant (name)   v      -> v.name; strict; optionals stay optional */
    LIC_CEL_OP_OPTIONAL_SELECT, /* a: constant (name)   v      -> v.?name */
    LIC_CEL_OP_HAS,             /* a: constant (name)   v      -> has(v.name) */
    LIC_CEL_OP_CALL,            /* a: function, b: count (LIC_CEL_CALL)  v..  -> result; strict */
    LIC_CEL_OP_LIST, /* a: count, b: constant (LIST of the indices of optional items) or UINT32_MAX  v.. -> list; strict */
    LIC_CEL_OP_MAP,           /* a: entries, b: as LIST, of entries          k v k v.. -> map; strict */
    LIC_CEL_OP_JUMP,          /* a: target                                  no change */
    LIC_CEL_OP_JUMP_IF_FALSE, /* a: target   v: jumps when v is false       v stays */
    LIC_CEL_OP_JUMP_IF_TRUE,  /* a: target   v: jumps when v is true        v stays */
    LIC_CEL_OP_AND,           /* v w -> v && w, both evaluated */
    LIC_CEL_OP_OR,            /* v w -> v || w */
    LIC_CEL_OP_BRANCH, /* a: where "otherwise" begins; b: end. v: true goes on, false jumps to a, both without v; else
                                   v is the result and it jumps to b */
    LIC_CEL_OP_LOOP_BEGIN, /* a: fold, b: end   v: list or map (its keys). Empty, unknown or error: leaves the result
                                   and jumps to b; else sets the first element and goes on without v */
    LIC_CEL_OP_LOOP_NEXT, /* a: body   v: the body's value for this element. Folds; next element and jump to a, or leaves
                                   the result, ends the loop and goes on */
    LIC_CEL_OP_LOOP_WHEN, /* a: body, b: end   v: the test of e.map(x, test, body). True: goes on without v. Else the element
                                   gives nothing to the list (unknown, error: see above); next element and jump to a, or leaves
                                   the result, ends the loop and jumps to b */
    LIC_CEL_OP_OPTIONAL_MAP, /* a: end   v: optional. None, unknown, error: v stays and jumps to a; else opens a loop of the
                                   one element and goes on without v */
    LIC_CEL_OP_OPTIONAL_WRAP, /* v -> optional.of(v), closing that loop; strict */
    LIC_CEL_OP_OR_ELSE /* a: end, b: 0 or(), 1 orValue()   v: an optional with a value: leaves v (or()) or what is in it
                                   (orValue()) and jumps to a; none: goes on without v; unknown or error: v stays, jumps to a;
                                   no optional at all: the error "no such overload", jumps to a */
} lic_cel_opcode;

typedef struct lic_cel_instruction {
    uint32_t opcode;
    uint32_t a;
    uint32_t b;
} lic_cel_instruction;

/* Immutable; may be run by any number of threads. Lives in the memory or arena of whoever compiled it. */
typedef struct lic_cel_code {
    lic_cel_instruction *instructions;
    size_t               count;
    lic_cel_value       *constants;
    size_t               constant_count;
    uint32_t             max_stack; /* values at most on the stack */
    uint32_t             max_loops; /* loops at most inside each other */
    /* Regular expressions whose pattern is a constant, compiled once: patterns[i] belongs to constant i, or is NULL. */
    struct lic_regex **patterns;
} lic_cel_code;

#endif
