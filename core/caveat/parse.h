/* Shared by the files that make up the parser. */
#ifndef LIC_CAVEAT_PARSE_H
#define LIC_CAVEAT_PARSE_H

#include "caveat/cel.h"
#include "caveat/lexer.h"
#include "caveat/parser.h"

typedef enum lic_cel_frame_kind {
    LIC_CEL_FRAME_GROUP,     /* ( . ) */
    LIC_CEL_FRAME_CALL,      /* name( . , */
    LIC_CEL_FRAME_INDEX,     /* a[ . ] */
    LIC_CEL_FRAME_LIST,      /* [ . , */
    LIC_CEL_FRAME_MAP_KEY,   /* { . : */
    LIC_CEL_FRAME_MAP_VALUE, /* { k : . , */
    LIC_CEL_FRAME_THEN,      /* c ? . : */
    LIC_CEL_FRAME_OTHERWISE, /* c ? a : . */
    LIC_CEL_FRAME_LOGIC,     /* a && . */
    LIC_CEL_FRAME_BINARY,    /* a + . */
    LIC_CEL_FRAME_UNARY      /* ! . */
} lic_cel_frame_kind;

/* Something begun. Its finished operands are nodes[base ..] of the parser. */
typedef struct lic_cel_frame {
    lic_cel_frame_kind kind;
    uint8_t            precedence;
    bool               member;      /* CALL */
    bool               leading_dot; /* CALL */
    bool               optional;    /* INDEX; LIST, MAP_KEY: the item or entry being read */
    lic_cel_function   function;    /* BINARY, UNARY */
    lic_cel_node_kind  logic;       /* LOGIC */
    lic_str            name;        /* CALL */
    uint32_t           offset;
    uint32_t           base;
    uint8_t            expressions, relations, sums; /* what it adds to the parser's counts */
} lic_cel_frame;

typedef struct lic_cel_parser {
    lic_arena     *arena;
    lic_str        text;
    lic_cel_token  token; /* at hand */
    licet_status   status;
    licet_error  **error;
    lic_cel_node **nodes; /* finished operands of unfinished frames */
    size_t         node_count, node_capacity;
    lic_cel_frame *frames;
    size_t         frame_count, frame_capacity;
    size_t         made; /* nodes, in all */
    /* How deep ANTLR, which cel-go parses with, would stand in its rules "expr", "relation" and "calc". */
    uint32_t expressions, relations, sums;
} lic_cel_parser;

/* All false or NULL, with the error set. */
bool lic_cel_parser_fail(lic_cel_parser *p, licet_kind kind, uint32_t offset, const char *why);
bool lic_cel_parser_limit(lic_cel_parser *p, uint32_t offset, const char *why);
bool lic_cel_parser_memory_failed(lic_cel_parser *p);

/* A node over the finished operands nodes[base ..], taken off; the caller fills in the rest. extra: edges that cel-go's
 * tree has between it and its deepest operand, 1 for what is no macro. */
lic_cel_node *lic_cel_parser_reduce(lic_cel_parser *p, lic_cel_node_kind kind, uint32_t offset, size_t base);
bool          lic_cel_parser_push(lic_cel_parser *p, lic_cel_node *node);
/* Sets the depth of a node whose child lies `edges` below it. */
bool lic_cel_parser_deepen(lic_cel_parser *p, lic_cel_node *node, const lic_cel_node *child, uint32_t edges);

/* macros.c: turns a CALL into what it stands for, if it is a macro. */
bool lic_cel_expand_macro(lic_cel_parser *p, lic_cel_node *call);

#endif
