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
    X(await_ready, 0, (licet_engine *engine, uint32_t timeout_ms, licet_error **error),                               \
      (engine, timeout_ms, error))                                                                                    \
    X(collect_garbage, 0, (licet_engine *engine, uint64_t *removed, licet_error **error), (engine, removed, error))   \
    X(migrate, 1,                                                                                                     \
      (licet_str uri, const licet_options *options, bool dry_run, licet_buffer *sql, licet_error **error),            \
      (uri, options, dry_run, sql, error))                                                                            \
    X(doctor, 1, (licet_str uri, const licet_options *options, licet_buffer *json, licet_error **error),              \
      (uri, options, json, error))                                                                                    \
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
      (engine, request, report, error))                                                                               \
    X(export_relationships, 1,                                                                                        \
      (licet_engine *engine, const licet_export_request *request, licet_stream **stream, licet_error **error),        \
      (engine, request, stream, error))                                                                               \
    X(lookup_resources, 1,                                                                                            \
      (licet_engine *engine, const licet_lookup_resources_request *request, licet_stream **stream,                    \
       licet_error **error),                                                                                          \
      (engine, request, stream, error))                                                                               \
    X(lookup_subjects, 1,                                                                                             \
      (licet_engine *engine, const licet_lookup_subjects_request *request, licet_stream **stream,                     \
       licet_error **error),                                                                                          \
      (engine, request, stream, error))                                                                               \
    X(filter_resources, 1,                                                                                            \
      (licet_engine *engine, const licet_filter_resources_request *request, licet_stream **stream,                    \
       licet_error **error),                                                                                          \
      (engine, request, stream, error))                                                                               \
    X(permissions, 1,                                                                                                 \
      (licet_engine *engine, const licet_permissions_request *request, licet_stream **stream, licet_error **error),   \
      (engine, request, stream, error))                                                                               \
    X(watch, 1,                                                                                                       \
      (licet_engine *engine, const licet_watch_request *request, licet_stream **stream, licet_error **error),         \
      (engine, request, stream, error))                                                                               \
    X(schema_impact, 1,                                                                                               \
      (licet_engine *engine, const licet_impact_request *request, licet_stream **stream, licet_error **error),        \
      (engine, request, stream, error))                                                                               \
    X(stream_next_resource, 0,                                                                                        \
      (licet_stream *stream, licet_found_resource *resource, bool *found, licet_error **error),                       \
      (stream, resource, found, error))                                                                               \
    X(stream_next_subject, 0,                                                                                         \
      (licet_stream *stream, licet_found_subject *subject, bool *found, licet_error **error),                         \
      (stream, subject, found, error))                                                                                \
    X(stream_next_permission, 0,                                                                                      \
      (licet_stream *stream, licet_found_permission *permission, bool *found, licet_error **error),                   \
      (stream, permission, found, error))                                                                             \
    X(stream_next_change, 0,                                                                                          \
      (licet_stream *stream, uint32_t timeout_ms, licet_change *change, bool *found, licet_error **error),            \
      (stream, timeout_ms, change, found, error))                                                                     \
    X(stream_next_impact, 0,                                                                                          \
      (licet_stream *stream, licet_impact *impact, bool *found, licet_error **error),                                 \
      (stream, impact, found, error))                                                                                 \
    X(expand, 1,                                                                                                      \
      (licet_engine *engine, const licet_expand_request *request, licet_tree **tree, licet_error **error),            \
      (engine, request, tree, error))                                                                                 \
    X(tree_format, 1,                                                                                                 \
      (const licet_tree *tree, licet_format format, licet_buffer *out, licet_error **error),                          \
      (tree, format, out, error))                                                                                     \
    X(trace_format, 1,                                                                                                \
      (const licet_trace *trace, licet_format format, licet_buffer *out, licet_error **error),                        \
      (trace, format, out, error))                                                                                    \
    X(import_begin, 1,                                                                                                \
      (licet_engine *engine, licet_import **import, licet_error **error),                                             \
      (engine, import, error))                                                                                        \
    X(import_resume, 1,                                                                                               \
      (licet_engine *engine, licet_str name, licet_import **import, uint64_t *count, licet_error **error),            \
      (engine, name, import, count, error))                                                                           \
    X(import_save, 0,                                                                                                 \
      (licet_import *import, uint64_t *count, licet_token *token, licet_error **error),                               \
      (import, count, token, error))                                                                                  \
    X(import_find, 0,                                                                                                 \
      (licet_engine *engine, licet_str name, licet_import_record *record, licet_error **error),                       \
      (engine, name, record, error))                                                                                  \
    X(import_forget, 0,                                                                                               \
      (licet_engine *engine, licet_str name, bool *was_known, licet_error **error),                                   \
      (engine, name, was_known, error))                                                                               \
    X(import_add, 0,                                                                                                  \
      (licet_import *import, const licet_relationship *relationships, size_t count, licet_error **error),             \
      (import, relationships, count, error))                                                                          \
    X(import_commit, 0,                                                                                               \
      (licet_import *import, uint64_t *count, licet_token *token, licet_error **error),                               \
      (import, count, token, error))                                                                                  \
    X(schema_diff, 1,                                                                                                 \
      (const licet_schema *before, const licet_schema *after, licet_schema_report **report, licet_error **error),     \
      (before, after, report, error))                                                                                 \
    X(schema_computable_permissions, 1,                                                                               \
      (const licet_schema *schema, licet_str definition, licet_str relation, licet_str prefix, licet_schema_report    \
       **report, licet_error **error),                                                                                \
      (schema, definition, relation, prefix, report, error))                                                          \
    X(schema_dependent_relations, 1,                                                                                  \
      (const licet_schema *schema, licet_str definition, licet_str permission, licet_schema_report **report,          \
       licet_error **error),                                                                                          \
      (schema, definition, permission, report, error))                                                                \
    X(schema_reflect, 1,                                                                                              \
      (const licet_schema *schema, const licet_reflection_filter *filters, size_t filter_count, licet_buffer *json,   \
       licet_error **error),                                                                                          \
      (schema, filters, filter_count, json, error))
/* clang-format on */

#define COUNTED_DECLARATION(name, handles, parameters, arguments) licet_status counted_##name parameters;
COUNTED_LIST(COUNTED_DECLARATION)
#undef COUNTED_DECLARATION

licet_status counted_check(licet_engine *engine, const licet_check_request *request, licet_result *result,
                           licet_error **error);
licet_status counted_check_bulk(licet_engine *engine, const licet_check_request *requests, size_t count,
                                licet_consistency consistency, licet_result *results, licet_error **error);
licet_status counted_explain(licet_engine *engine, const licet_check_request *request, licet_trace **trace,
                             licet_error **error);
void         counted_engine_retain(licet_engine *engine);
void         counted_engine_release(licet_engine *engine);
void         counted_context_release(licet_context *context);
void         counted_schema_release(licet_schema *schema);
void         counted_stream_release(licet_stream *stream);
void         counted_tree_release(licet_tree *tree);
void         counted_trace_release(licet_trace *trace);
void         counted_import_release(licet_import *import);
void         counted_schema_report_release(licet_schema_report *report);
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
#define licet_await_ready counted_await_ready
#define licet_collect_garbage counted_collect_garbage
#define licet_migrate counted_migrate
#define licet_doctor counted_doctor
#define licet_schema_parse counted_schema_parse
#define licet_schema_format counted_schema_format
#define licet_relationship_parse counted_relationship_parse
#define licet_relationship_parse_strict counted_relationship_parse_strict
#define licet_relationship_format counted_relationship_format
#define licet_validate counted_validate
#define licet_export_relationships counted_export_relationships
#define licet_lookup_resources counted_lookup_resources
#define licet_lookup_subjects counted_lookup_subjects
#define licet_filter_resources counted_filter_resources
#define licet_permissions counted_permissions
#define licet_watch counted_watch
#define licet_schema_impact counted_schema_impact
#define licet_stream_next_resource counted_stream_next_resource
#define licet_stream_next_subject counted_stream_next_subject
#define licet_stream_next_permission counted_stream_next_permission
#define licet_stream_next_change counted_stream_next_change
#define licet_stream_next_impact counted_stream_next_impact
#define licet_expand counted_expand
#define licet_tree_format counted_tree_format
#define licet_trace_format counted_trace_format
#define licet_import_begin counted_import_begin
#define licet_import_resume counted_import_resume
#define licet_import_save counted_import_save
#define licet_import_find counted_import_find
#define licet_import_forget counted_import_forget
#define licet_import_add counted_import_add
#define licet_import_commit counted_import_commit
#define licet_schema_diff counted_schema_diff
#define licet_schema_computable_permissions counted_schema_computable_permissions
#define licet_schema_dependent_relations counted_schema_dependent_relations
#define licet_schema_reflect counted_schema_reflect
#define licet_explain counted_explain
#define licet_tree_release counted_tree_release
#define licet_trace_release counted_trace_release
#define licet_import_release counted_import_release
#define licet_schema_report_release counted_schema_report_release
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
