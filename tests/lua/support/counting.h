/* Included before everything else when the module is compiled for tests (counting.lua): the same module, whose calls
 * to the core that hand something out, or take it back, go through counting.c. */
#ifndef LICET_TESTS_LUA_COUNTING_H
#define LICET_TESTS_LUA_COUNTING_H

#include "licet.h"

/* Calls that hand out so many things when they succeed, and an error when they fail: name, number, parameters,
 * arguments. */
/* clang-format off */
#define COUNTED_LIST(X)                                                                                               \
    X(open, 1, (licet_str uri, const licet_options *options, licet_engine **engine, licet_error **error),             \
      (uri, options, engine, error))                                                                                  \
    X(write_schema, 0, (licet_engine *engine, licet_str text, licet_token *token, licet_error **error),               \
      (engine, text, token, error))                                                                                   \
    X(read_schema, 1, (licet_engine *engine, licet_schema **schema, licet_token *token, licet_error **error),         \
      (engine, schema, token, error))                                                                                 \
    X(write, 0, (licet_engine *engine, const licet_write_request *request, licet_token *token, licet_error **error),  \
      (engine, request, token, error))                                                                                \
    X(delete_relationships, 0,                                                                                        \
      (licet_engine *engine, const licet_delete_request *request, licet_delete_result *result, licet_error **error),  \
      (engine, request, result, error))                                                                               \
    X(read_relationships, 1,                                                                                          \
      (licet_engine *engine, const licet_read_request *request, licet_stream **stream, licet_error **error),          \
      (engine, request, stream, error))                                                                               \
    X(stream_next_relationship, 0,                                                                                    \
      (licet_stream *stream, licet_relationship *relationship, bool *found, licet_error **error),                     \
      (stream, relationship, found, error))                                                                           \
    X(engine_stats, 0, (licet_engine *engine, licet_stats *stats, licet_error **error), (engine, stats, error))       \
    X(schema_parse, 1,                                                                                                \
      (const licet_schema_request *request, const licet_options *options, licet_schema **schema, licet_error **error),\
      (request, options, schema, error))                                                                              \
    X(context_parse, 1,                                                                                               \
      (licet_str json, const licet_options *options, licet_context **context, licet_error **error),                   \
      (json, options, context, error))                                                                                \
    X(schema_format, 1, (const licet_schema *schema, licet_buffer *out, licet_error **error), (schema, out, error))   \
    X(relationship_parse, 0, (licet_str text, licet_relationship *relationship, licet_error **error),                 \
      (text, relationship, error))                                                                                    \
    X(relationship_parse_strict, 0, (licet_str text, licet_relationship *relationship, licet_error **error),          \
      (text, relationship, error))                                                                                    \
    X(relationship_format, 1, (const licet_relationship *relationship, licet_buffer *out, licet_error **error),       \
      (relationship, out, error))                                                                                     \
    X(validate, 1,                                                                                                    \
      (licet_engine *engine, const licet_validate_request *request, licet_report **report, licet_error **error),      \
      (engine, request, report, error))
/* clang-format on */

#define COUNTED_DECLARATION(name, handles, parameters, arguments) licet_status counted_##name parameters;
COUNTED_LIST(COUNTED_DECLARATION)
#undef COUNTED_DECLARATION

licet_status counted_check(licet_engine *engine, const licet_check_request *request, licet_result *result,
                           licet_error **error);
licet_status counted_check_bulk(licet_engine *engine, const licet_check_request *requests, size_t count,
                                licet_consistency consistency, licet_result *results, licet_error **error);
void         counted_engine_retain(licet_engine *engine);
void         counted_engine_release(licet_engine *engine);
void         counted_context_release(licet_context *context);
void         counted_schema_release(licet_schema *schema);
void         counted_stream_release(licet_stream *stream);
void         counted_report_release(licet_report *report);
void         counted_buffer_clear(licet_buffer *buffer);
void         counted_result_clear(licet_result *result);
void         counted_error_free(licet_error *error);

#ifndef LICET_TESTS_LUA_NOT_COUNTED
#define licet_open counted_open
#define licet_write_schema counted_write_schema
#define licet_read_schema counted_read_schema
#define licet_write counted_write
#define licet_delete_relationships counted_delete_relationships
#define licet_read_relationships counted_read_relationships
#define licet_stream_next_relationship counted_stream_next_relationship
#define licet_check counted_check
#define licet_check_bulk counted_check_bulk
#define licet_engine_stats counted_engine_stats
#define licet_schema_parse counted_schema_parse
#define licet_schema_format counted_schema_format
#define licet_relationship_parse counted_relationship_parse
#define licet_relationship_parse_strict counted_relationship_parse_strict
#define licet_relationship_format counted_relationship_format
#define licet_validate counted_validate
#define licet_engine_retain counted_engine_retain
#define licet_engine_release counted_engine_release
#define licet_context_parse counted_context_parse
#define licet_context_release counted_context_release
#define licet_schema_release counted_schema_release
#define licet_stream_release counted_stream_release
#define licet_report_release counted_report_release
#define licet_buffer_clear counted_buffer_clear
#define licet_result_clear counted_result_clear
#define licet_error_free counted_error_free
#endif

#endif
