--- licet: permission checks inside your own process.
---
---     local licet = require "licet"
---
---     local engine = assert(licet.open())
---     assert(engine:write_schema(text))
---     assert(engine:touch("document:readme#owner@user:ada"))
---     if engine:allowed("document:readme", "view", "user:ada") then ... end
---
--- Objects are written `type:id`, subjects `type:id` or `type:id#relation`, relationships
--- `type:id#relation@type:id`. A call that fails returns nil and an error with code, kind, message, line, column and
--- reason; a wrong type of argument raises, as in Lua's own libraries. Only a definite yes is `true`.
---
--- What is above a function is for editors as well (LuaLS, EmmyLua).
local core = require "licet.core"

---@alias licet.Code "out_of_memory"|"invalid_argument"|"schema_error"|"not_found"|"already_exists"|"precondition_failed"|"limit_exceeded"|"revision_expired"|"invalid_token"|"unavailable"|"deadline_exceeded"|"closed"|"misuse"|"unsupported"
---@alias licet.Kind "syntax"|"type"|"name"|"value"|"encoding"|"limit"|"eval"|"token"|"config"|"conflict"|"deadline"|"unavailable"|"nomem"|"misuse"

--- What went wrong. tostring() gives the position, where there is one, and the message.
---@class licet.Error
---@field code licet.Code the status
---@field kind licet.Kind the finer kind: what sort of thing is wrong
---@field message string one line for a person, safe to log
---@field line? integer position in the text concerned, from 1
---@field column? integer the same, in characters
---@field reason? string SpiceDB's error reason, such as "UNKNOWN_DEFINITION"

--- How fresh an answer has to be: FULL, MINIMIZE_LATENCY, at_least(token) or at_exactly(token).
---@alias licet.Consistency string

---@alias licet.Permissionship "no_permission"|"has_permission"|"conditional"

--- A relationship. The engine takes any table with these fields, or the notation, for one. Those that come from licet
--- can be compared with == and printed with tostring().
---@class licet.Relationship
---@field resource_type string
---@field resource_id string
---@field relation string
---@field subject_type string
---@field subject_id string `*` is every subject of the type
---@field subject_relation? string
---@field caveat_name? string
---@field caveat_context? string a JSON object, as licet.context_text() makes one
---@field expiration? string RFC 3339
---@field resource string "document:readme", as checks take it
---@field subject string "user:ada" or "group:eng#member", as checks take it

--- Values for caveats, from parameter names to values: a table, or a string that is a JSON object.
---
--- Strings, numbers and booleans are what they are. A table whose keys are 1 to n is an array, one whose keys are strings
--- an object, an empty one an object unless licet.array() says otherwise. licet.null is null. A whole number beyond 2^53
--- (Lua 5.4 has such) is sent as a string of its digits, which an `int` parameter reads exactly. Bytes are given as
--- base64, durations as "1h30m", timestamps as RFC 3339, addresses as text.
---
--- What no context can hold raises and says where it is: NaN and infinities, functions and the like, arrays with holes,
--- keys of several types, tables that contain themselves ("context.hours[2]: function"). Metatables play no part.
---@alias licet.Context string|table<string, any>

--- Which relationships: every field that is given must match.
---@class licet.Filter
---@field resource_type? string
---@field resource_id? string
---@field resource_id_prefix? string literal: no character of it is a pattern
---@field relation? string
---@field subject_type? string
---@field subject_id? string
---@field subject_relation? string the empty string selects subjects without a relation

--- The answer to one check. Immutable. In a condition it is always true, as every object of Lua's: ask for .allowed.
---@class licet.Result
---@field allowed boolean true only for a definite yes
---@field permissionship licet.Permissionship
---@field missing_context string[] names of the context values that a conditional answer depends on
---@field token? string of the revision at which the answer was found
---@field error? licet.Error in a bulk check, what is wrong with this item

--- Something in a schema that is allowed and rarely meant.
---@class licet.Lint
---@field name string
---@field message string
---@field line integer
---@field column integer

--- One difference between two schemas. What a kind does not have is nil.
---@class licet.SchemaChange
---@field kind string "relation_added", "permission_expr_changed", "caveat_parameter_type_changed", ...
---@field definition? string
---@field name? string of the relation or permission
---@field caveat? string
---@field parameter? string
---@field before? string what it was, as the formatter prints it
---@field after? string what it is now

---@class licet.SchemaMember
---@field kind "relation"|"permission"
---@field definition string
---@field name string

--- Each field is a prefix of names.
---@class licet.ReflectionFilter
---@field definition? string
---@field caveat? string
---@field relation? string
---@field permission? string

--- A checked schema. Immutable. tostring() gives the text.
---@class licet.Schema
---@field text string as it was given
---@field definitions string[] their names, in the order of the text
--- What changed from this schema to another, sorted by definition, item and kind.
---@field diff fun(self: licet.Schema, other: licet.Schema): licet.SchemaChange[]?, licet.Error?
--- Definitions and caveats as tables, as SpiceDB's ReflectSchema describes them: all, or what one of the filters
--- selects.
---@field reflect fun(self: licet.Schema, filters?: licet.ReflectionFilter[]): { definitions: table[], caveats: table[] }?, licet.Error?
--- The relations and permissions, of any definition, that have this relation somewhere in their computation; without a
--- relation, the definition itself as a subject. prefix: only of definitions whose names begin so.
---@field computable_permissions fun(self: licet.Schema, definition: string, relation?: string, prefix?: string): licet.SchemaMember[]?, licet.Error?
--- The relations and permissions that computing this permission may read.
---@field dependent_relations fun(self: licet.Schema, definition: string, permission: string): licet.SchemaMember[]?, licet.Error?
--- The canonical text, as SpiceDB prints it.
---@field format fun(self: licet.Schema): string?, licet.Error?
--- What SpiceDB's developer tools would warn of. Lints never change what is accepted.
---@field lint fun(self: licet.Schema): licet.Lint[]

--- What all streams have, which give their answers one at a time. All answers are of one revision.
---
---     for r in assert(engine:read_relationships { resource_type = "document" }) do print(r) end
---     for id, r in assert(engine:lookup_resources("document", "view", "user:ada")) do print(id, r.allowed) end
---
--- Calling one is what a generic for does: it raises the error when something goes wrong half way, because nil would
--- read as the end. next(), by hand, gives what the loop gets; nothing at the end; nil and an error on failure. In Lua
--- 5.4 the loop closes the stream.
---@class licet.Stream
---@field cursor? string goes on after the last answer returned; for the `cursor` of the same request
---@field token? string of the revision that is read
--- Ends it before its time. The collector does so too.
---@field close fun(self: licet.Stream)

--- Relationships that are read or exported.
---@class licet.RelationshipStream: licet.Stream
---@overload fun(): licet.Relationship?
---@field next fun(self: licet.RelationshipStream): licet.Relationship?, licet.Error?

--- A resource that was looked up.
---@class licet.FoundResource
---@field resource_id string
---@field allowed boolean true only for a definite yes
---@field permissionship licet.Permissionship "has_permission" or "conditional"
---@field missing_context string[] names of the context values that a conditional answer depends on

---@class licet.ResourceStream: licet.Stream
---@overload fun(): string?, licet.FoundResource?
---@field next fun(self: licet.ResourceStream): string?, licet.FoundResource|licet.Error|nil

--- A subject that "*" does not stand for: for certain ("has_permission"), or under a condition.
---@class licet.ExcludedSubject
---@field subject_id string
---@field permissionship licet.Permissionship of the exclusion
---@field missing_context string[]

--- A subject that was looked up.
---@class licet.FoundSubject
---@field subject_id string "*" is every subject of the type but those excluded
---@field allowed boolean true only for a definite yes
---@field permissionship licet.Permissionship "has_permission" or "conditional"
---@field missing_context string[]
---@field excluded licet.ExcludedSubject[] of "*" only

---@class licet.SubjectStream: licet.Stream
---@overload fun(): string?, licet.FoundSubject?
---@field next fun(self: licet.SubjectStream): string?, licet.FoundSubject|licet.Error|nil

---@class licet.ResourceIdStream: licet.Stream
---@overload fun(): string?
---@field next fun(self: licet.ResourceIdStream): string?, licet.Error?

---@class licet.SubjectIdStream: licet.Stream
---@overload fun(): string?
---@field next fun(self: licet.SubjectIdStream): string?, licet.Error?

--- One operator of a permission, or a relation with the subjects that are stored under it.
---@class licet.TreeNode
---@field operation "leaf"|"union"|"intersection"|"exclusion" an exclusion has two children: the base and what it loses
---@field resource string
---@field relation string a relation or permission of it
---@field subjects string[] of a leaf: "user:ada", "group:eng#member", "user:*"
---@field children licet.TreeNode[]

--- A permission as the tree of its operators. Has the fields of its root. Immutable. tostring() gives a text for a
--- person.
---@class licet.Tree: licet.TreeNode
---@field root licet.TreeNode the same as a table
---@field token string of the revision that was read
---@field to_json fun(self: licet.Tree): string?, licet.Error?

--- An object and a name that was asked on the way to a decision, an operator, or a relationship.
---@class licet.TraceNode
---@field resource string
---@field permission string a relation or permission of it
---@field is_permission boolean
---@field allowed boolean true only for a definite yes
---@field permissionship licet.Permissionship
---@field error? licet.Code what this part ran into
---@field reason string how it was asked: "relation", "union", "intersection", "exclusion", "any", "all"; or what has no children: "relationship", "wildcard", "identity", "self", "nil", "cycle", "seen"
---@field operand? string an arrow as text: "parent->view"
---@field relationship? licet.Relationship the one that leads here or grants it
---@field caveat_name? string of that relationship
---@field caveat_expression? string
---@field caveat_context? table<string, any> the values that its parameters have
---@field missing_context string[] names of the parameters without a value
---@field is_cut boolean it has more children than are told
---@field children licet.TraceNode[]

--- How a check was decided. Has the fields of its root, whose permissionship is the decision. Immutable. tostring()
--- gives a text for a person.
---@class licet.Trace: licet.TraceNode
---@field root licet.TraceNode the same as a table
---@field token string of the revision that was read
---@field to_json fun(self: licet.Trace): string?, licet.Error?

--- What became of a relationship, or of the schema.
---@class licet.Change
---@field operation "touch"|"delete"|"schema"|"checkpoint"
---@field relationship? licet.Relationship of a deletion: what was stored
---@field metadata? table<string, any> what the write gave; its JSON text where a key of it holds a NUL
---@field token string goes on after this change. One write's changes have that of the write before, but for the last one: who goes on in the middle hears of the whole write again
---@field written_at string the token of the write

--- Changes, in the order of the commits. A loop ends when nothing came in time; the stream goes on, and may be asked
--- again. (In Lua 5.4 a loop over `engine:watch()` itself closes it; one over a variable does not.)
---@class licet.ChangeStream: licet.Stream
---@field token? string goes on after the last change returned, or from the start: for `since`
---@overload fun(): licet.Change?
---@field next fun(self: licet.ChangeStream): licet.Change?, licet.Error?

--- What a new schema would do: forbid the change because of a relationship, or change a decision.
---@class licet.Impact
---@field kind "refused"|"gained"|"lost" gained: denied to conditional or allowed, conditional to allowed
---@field relationship? licet.Relationship refused
---@field message? string refused: what write_schema() would say
---@field resource? string
---@field permission? string
---@field subject? string "user:ada", "group:eng#member", "user:*"
---@field before? licet.Permissionship
---@field after? licet.Permissionship

---@class licet.ImpactStream: licet.Stream
---@overload fun(): licet.Impact?
---@field next fun(self: licet.ImpactStream): licet.Impact?, licet.Error?

--- A time that stands still until it is set. Any number of engines may go by it.
---@class licet.Clock
---@field now fun(self: licet.Clock): number seconds since 1970, UTC
--- Sets the time, also back.
---@field set fun(self: licet.Clock, seconds: number)
--- Moves the time on.
---@field advance fun(self: licet.Clock, seconds: number)

---@class licet.Options
---@field memory_limit_bytes? integer all memory of the engine: 1 MiB to 1 TiB, 256 MiB by default
---@field max_depth? integer objects and names on one path of a check: 1 to 1,000, 50 by default
---@field max_steps? integer relationships that one check may visit: 1,000 to 1e9, 1,000,000 by default
---@field check_timeout_ms? integer of one check: 1 to 600,000, 250 by default
---@field history_window_ms? integer how long a token can be read exactly: up to 30 days, 24 hours by default
---@field strict? boolean make errors of what SpiceDB lets pass: numbers that do not fit, lax times and zones, repeated keys, NUL and marks of direction in a schema; recommended for new applications
---@field clock? licet.Clock for tests: licet.testing.manual_clock()
---@field log? fun(level: "info"|"warning"|"error", line: string) is told what the engine has to say, from calls of the engine; what it raises is dropped
--- Of engines on Postgres:
---@field mode? "auto"|"follow"|"prefetch" "follow" keeps the whole graph in memory, "prefetch" fetches what each request can touch; "auto", the default, follows and prefetches what can not be followed
---@field postgres_schema? string where licet's tables are: "licet" by default
---@field replica_uri? string a standby, for reads that may be stale
---@field require_tls? boolean refuse links that are not encrypted to a server that was verified
---@field poll_interval_ms? integer how often the graph follows: 10 to 60,000, 100 by default
---@field max_staleness_ms? integer the oldest graph that a check uses unasked: 100 to 600,000, 5,000 by default
---@field wait_timeout_ms? integer of what waits for the database: 10 to 600,000, 2,000 by default
---@field write_timeout_ms? integer of a write: 10 to 600,000, 5,000 by default
---@field max_connections? integer for writes and prefetches: 1 to 64, 4 by default
---@field gc_window_ms? integer how long the database keeps what was deleted: up to 30 days, 24 hours by default

---@class licet.DatabaseOptions
---@field postgres_schema? string
---@field require_tls? boolean
---@field wait_timeout_ms? integer

---@class licet.MigrateOptions: licet.DatabaseOptions
---@field dry_run? boolean only return the SQL

--- One thing that was looked at in a database.
---@class licet.DoctorFinding
---@field name string what it is about, such as "tables"
---@field level "ok"|"warning"|"error"
---@field message string one line for a person, safe to log

---@class licet.DoctorReport
---@field ok boolean nothing is an error
---@field findings licet.DoctorFinding[]

---@class licet.CheckOptions
---@field context? licet.Context values for the caveats on the way; in bulk, of the items that have none of their own
---@field consistency? licet.Consistency
---@field may_block? boolean false for event loops: fails with code "unavailable", reason "WOULD_BLOCK", where it would have to wait for a database

---@class licet.ReadOptions: licet.Filter
---@field limit? integer at most so many, up to 1,000; all by default
---@field cursor? string the .cursor of an earlier stream over the same filter and limit
---@field consistency? licet.Consistency
---@field may_block? boolean false for event loops: fails with code "unavailable", reason "WOULD_BLOCK", where it would have to wait for a database

---@class licet.LookupOptions: licet.CheckOptions
---@field limit? integer at most so many, up to 1,000; all by default
---@field cursor? string the .cursor of an earlier stream for the same request: goes on after it, at its revision

---@class licet.LookupSubjectIdsOptions: licet.LookupOptions
---@field subject_relation? string "member" asks for usersets such as group:eng#member; objects by default

---@class licet.LookupSubjectsOptions: licet.LookupSubjectIdsOptions
---@field wildcards? boolean false leaves "*" out, and what it excludes with it

---@class licet.PermissionsOptions: licet.CheckOptions
---@field permissions? string[] names of permissions or relations; every permission of the definition by default

---@class licet.ExportOptions: licet.Filter
---@field cursor? string the .cursor of an earlier stream over the same filter
---@field consistency? licet.Consistency
---@field may_block? boolean false for event loops: fails with code "unavailable", reason "WOULD_BLOCK", where it would have to wait for a database

---@class licet.ImportOptions
---@field progress? fun(count: integer) called after each batch with the number of relationships taken so far, with resume committed
---@field batch_size? integer relationships to a batch: 1,000 by default, with resume 10,000
---@field resume? string a name: each batch is a transaction of its own, and the next import of this name goes on after the last one, given the same relationships from the first on

---@class licet.WatchOptions
---@field since? string a token: what was committed after it; by default what will be committed from now on
---@field schema? boolean tell that the schema was replaced, too, whatever is filtered: false by default
---@field checkpoints? boolean tell, too, that nothing before .token is still to come: false by default
---@field resource_types? string[] only of these
---@field filters? licet.Filter[] only what one of these selects; not together with resource_types
---@field timeout? number seconds to wait for each change; 0 by default: while Lua waits, nobody can write to its memory store

---@class licet.WriteOptions
---@field metadata? string|table<string, any> a JSON object, which a watch tells with each change

---@class licet.DeleteOptions: licet.Filter
---@field limit? integer at most so many, up to 1,000
---@field allow_partial? boolean when more than the limit match, delete that many instead of none
---@field preconditions? licet.Precondition[]
---@field metadata? string|table<string, any> a JSON object, which a watch tells with each change

--- What Engine:import_relationships() did.
---@class licet.Imported
---@field count integer relationships
---@field token string names the revision from which they are visible

--- How far an import with a name has come.
---@class licet.ImportStatus
---@field count integer relationships that are committed, from the first on
---@field is_known boolean false: there is none of that name
---@field is_finished boolean

--- What Engine:delete_relationships() did.
---@class licet.Deletion
---@field deleted_count integer
---@field partial boolean the count equals the limit: there may be more, call again
---@field token string names the revision from which the deletion is visible

---@class licet.Stats
---@field relationships integer at head
---@field objects integer distinct ones seen
---@field memory_bytes integer all memory of the engine, to the byte
---@field memory_limit_bytes integer
---@field graph_bytes integer of it: the graph beside the id strings
---@field id_bytes integer of it: the id strings
---@field delta_changes integer not merged into the graph's base yet
---@field merges integer done
---@field revision integer of the head
---@field oldest_revision integer that can still be read exactly
---@field mode? "follow"|"prefetch" of engines on Postgres, as are the following: how it answers now
---@field is_ready boolean the graph is loaded and not too old; in memory: always
---@field is_connected boolean the link that follows stands
---@field is_encrypted boolean it uses TLS
---@field is_verified boolean it leads to a server whose certificate was checked
---@field staleness_ms integer since the database last confirmed the graph
---@field round_trips integer on all links
---@field catch_ups integer queries for what is new
---@field shared_catch_ups integer calls that waited for a query which another one had sent
---@field loads integer of the whole graph
---@field reconnects integer
---@field prefetches integer

---@alias licet.Update [string, string|licet.Relationship]
---@alias licet.Precondition [string, licet.Filter]

---@alias licet.Relationships string|licet.Relationship|(string|licet.Relationship)[]

--- Schema and relationships, and the answers about them. Made by licet.open().
---@class licet.Engine
--- Replaces the schema. Returns the token that makes it visible. Nothing is changed when stored relationships would no
--- longer fit.
---@field write_schema fun(self: licet.Engine, text: string): string?, licet.Error?
--- The schema in force.
---@field read_schema fun(self: licet.Engine): licet.Schema?, licet.Error?
--- Changes relationships: all of the updates or none. They are made by licet.create(), licet.touch() and
--- licet.delete(), the preconditions by licet.must_match() and licet.must_not_match(); at most 1,000 each. Returns the
--- token that makes the changes visible, as do the next three.
---@field write fun(self: licet.Engine, updates: licet.Update[], preconditions?: licet.Precondition[], options?: licet.WriteOptions): string?, licet.Error?
--- Writes relationships that must not exist yet: all of them or none. Takes them one by one, or a list.
---@field create fun(self: licet.Engine, relationships: licet.Relationships, ...: string|licet.Relationship): string?, licet.Error?
--- Writes relationships whether they exist or not: all of them or none.
---@field touch fun(self: licet.Engine, relationships: licet.Relationships, ...: string|licet.Relationship): string?, licet.Error?
--- Deletes relationships; those that do not exist are no error.
---@field delete fun(self: licet.Engine, relationships: licet.Relationships, ...: string|licet.Relationship): string?, licet.Error?
--- Deletes what a filter selects, in one transaction. When more than `limit` match, nothing is deleted, unless
--- allow_partial is true.
---@field delete_relationships fun(self: licet.Engine, options: licet.DeleteOptions): licet.Deletion?, licet.Error?
--- The relationships that a filter selects: one field of it at least must be given.
---@field read_relationships fun(self: licet.Engine, options: licet.ReadOptions): licet.RelationshipStream?, licet.Error?
--- Whether a subject has a permission on a resource: true only for a definite yes, and nil with the error on failure.
--- Resource "document:readme", permission (or relation) "view", subject "user:ada" or "group:eng#member".
---@field allowed fun(self: licet.Engine, resource: string, permission: string, subject: string, options?: licet.CheckOptions): boolean?, licet.Error?
--- The same, with the whole answer behind the boolean.
---@field check fun(self: licet.Engine, resource: string, permission: string, subject: string, options?: licet.CheckOptions): boolean?, licet.Result|licet.Error
--- Answers many questions, each {resource, permission, subject} or {resource, permission, subject, context}, at one
--- revision and in their order; at most 10,000. An item that can not be answered has .error, and is not allowed; the
--- others are answered.
---@field check_bulk fun(self: licet.Engine, items: ([string, string, string]|[string, string, string, licet.Context])[], options?: licet.CheckOptions): licet.Result[]?, licet.Error?
--- Those of the ids, at most 10,000, on which the subject has the permission, in their order. If one can not be
--- answered, its error is returned.
---@field filter fun(self: licet.Engine, resource_type: string, ids: string[], permission: string, subject: string, options?: licet.CheckOptions): string[]?, licet.Error?
--- What may this subject do to this resource? A list of the names of permissions, in the order of the schema or as they
--- were chosen, which has each one's result under its name as well: `for _, name in ipairs(p) do print(p[name]) end`.
--- One that can not be answered has .error, and is not allowed.
---@field permissions fun(self: licet.Engine, resource: string, subject: string, options?: licet.PermissionsOptions): table<string|integer, licet.Result|string>?, licet.Error?
--- Which resources of a type? Those on which check() would say yes or conditional, each once, in no order that means
--- anything. Only those with .allowed are allowed.
---@field lookup_resources fun(self: licet.Engine, resource_type: string, permission: string, subject: string, options?: licet.LookupOptions): licet.ResourceStream?, licet.Error?
--- The ids alone of those with .allowed, and quicker: a conditional answer gives no id. The limit counts ids, so a page
--- is full unless it is the last; a cursor is one of lookup_resource_ids() too.
---@field lookup_resource_ids fun(self: licet.Engine, resource_type: string, permission: string, subject: string, options?: licet.LookupOptions): licet.ResourceIdStream?, licet.Error?
--- Which subjects of a type? Each once, "*" first, with what check() says of it.
---@field lookup_subjects fun(self: licet.Engine, resource: string, permission: string, subject_type: string, options?: licet.LookupSubjectsOptions): licet.SubjectStream?, licet.Error?
--- The ids alone of those that are granted by name and allowed, and quicker: a conditional answer gives no id, and "*" is
--- none, for it may exclude some. Who is allowed by a wildcard alone is not listed, so ask lookup_subjects() where the
--- schema has wildcards. Limits and cursors are as for lookup_resource_ids().
---@field lookup_subject_ids fun(self: licet.Engine, resource: string, permission: string, subject_type: string, options?: licet.LookupSubjectIdsOptions): licet.SubjectIdStream?, licet.Error?
--- What does a permission consist of? Usersets are named and not followed, caveats not shown.
---@field expand fun(self: licet.Engine, resource: string, permission: string, options?: { consistency?: licet.Consistency, may_block?: boolean }): licet.Tree?, licet.Error?
--- Decides as check() does, and tells how: the whole way of a grant, or all that was tried. An error of the evaluation
--- has a .trace, which says how far it came.
---@field explain fun(self: licet.Engine, resource: string, permission: string, subject: string, options?: licet.CheckOptions): licet.Trace?, licet.Error?
--- Creates any number of relationships in one transaction: all of them or none. They are a list, or come from an
--- iterator, such as another engine's export. When it gives nil and a second value, that is returned; what it or
--- progress raises is raised; either way nothing was written, or with resume nothing of the batch. Other relationships
--- than those of the same name before are refused (reason "IMPORT_DIFFERS"), and so is the slower of two at once
--- ("IMPORT_MOVED").
---@field import_relationships fun(self: licet.Engine, relationships: (string|licet.Relationship)[]|fun(): string|licet.Relationship|nil, options?: licet.ImportOptions): licet.Imported?, licet.Error?
--- How far has an import with this name come?
---@field import_status fun(self: licet.Engine, name: string): licet.ImportStatus?, licet.Error?
--- Forgets that, but not what was imported: the name can be given to another. Was there one?
---@field forget_import fun(self: licet.Engine, name: string): boolean?, licet.Error?
--- All relationships, or those of a filter.
---@field export_relationships fun(self: licet.Engine, options?: licet.ExportOptions): licet.RelationshipStream?, licet.Error?
--- What is committed, in order, one change for each relationship that is written or deleted. An expiration is no change.
---@field watch fun(self: licet.Engine, options?: licet.WatchOptions): licet.ChangeStream?, licet.Error?
--- What would a new schema do to the present data? Nothing is written.
---@field schema_impact fun(self: licet.Engine, text: string, options?: { limit?: integer, consistency?: licet.Consistency, may_block?: boolean }): licet.ImpactStream?, licet.Error?
--- Counts and sizes now.
---@field stats fun(self: licet.Engine): licet.Stats?, licet.Error?
--- Waits until the engine can answer: its graph is loaded and current. Seconds, 30 by default. A memory store always can.
---@field await_ready fun(self: licet.Engine, timeout?: number): true?, licet.Error?
--- Removes from the database what was deleted longer ago than gc_window_ms, as engines do by themselves every few
--- minutes. The number of rows.
---@field collect_garbage fun(self: licet.Engine): integer?, licet.Error?
--- Stops the engine and gives back its memory: every later call returns nil and an error with code "closed". A second
--- close does nothing. The collector does so too, but does not know how much memory stands behind an engine.
---@field close fun(self: licet.Engine)

---@class licet
---@field version string
---@field FULL licet.Consistency everything that was committed before the call
---@field MINIMIZE_LATENCY licet.Consistency the default: the graph as it stands, without waiting
---@field null lightuserdata null in a context; the same as cjson.null and ngx.null
---@field Permissionship { NO_PERMISSION: "no_permission", HAS_PERMISSION: "has_permission", CONDITIONAL: "conditional" }
local licet = {
    version = core.version,
    FULL = core.FULL,
    MINIMIZE_LATENCY = core.MINIMIZE_LATENCY,
    null = core.null,
    Permissionship = core.Permissionship,
    Relationship = {},
    Schema = {},
    testing = {},
}

-- What is the core's own function is given as it is, so that what it raises points at the caller.

--- Opens an engine on a store: "memory:", the default, or Postgres by "postgresql://..." or a connection string. Nothing is
--- connected before the first use.
---@type fun(uri?: string, options?: licet.Options): licet.Engine?, licet.Error?
licet.open = core.open

--- Creates licet's tables, indexes and functions in a Postgres database, or brings those of an older licet up to date.
--- Gives the SQL that was run: the empty string where there was nothing to do. Several may run at once.
---@type fun(uri: string, options?: licet.MigrateOptions): string?, licet.Error?
licet.migrate = core.migrate

--- Looks at a Postgres database as a careful operator would: tables, their version, indexes, rights, the clock, pooling,
--- lag. What is found is no failure.
---@type fun(uri: string, options?: licet.DatabaseOptions): licet.DoctorReport?, licet.Error?
licet.doctor = core.doctor

--- Not older than the revision that the token names, for instance the one a write returned.
---@type fun(token: string): licet.Consistency
licet.at_least = core.at_least

--- Exactly the revision that the token names, as long as it is in the retained history. Do not take such a token from an
--- end user: an old revision is a way back in for somebody whose access was revoked.
---@type fun(token: string): licet.Consistency
licet.at_exactly = core.at_exactly

--- Marks a table as an array of a context, also when it is empty, and returns it.
---@type fun(table: table): table
licet.array = core.array

--- The JSON text of a context, for the caveat_context of a relationship.
---@type fun(context: table<string, any>): string
licet.context_text = core.context_text

--- Parses and checks a schema. `import` may read from the folder and nowhere else; without one it is refused.
--- strict refuses NUL, marks of direction and escaped surrogates, which SpiceDB takes.
---@type fun(text: string, options?: { folder?: string, strict?: boolean }): licet.Schema?, licet.Error?
licet.Schema.parse = core.parse_schema

--- Reads SpiceDB's notation. strict refuses a key twice in the context, of which SpiceDB takes the last.
---@type fun(text: string, options?: { strict?: boolean }): licet.Relationship?, licet.Error?
licet.Relationship.parse = core.parse_relationship

--- Writes it, the inverse of parsing. Takes whatever the engine takes for a relationship.
---@type fun(relationship: string|licet.Relationship): string?, licet.Error?
licet.Relationship.format = core.format_relationship

--- For tests: a time that stands still until it is set, for licet.open(uri, { clock = ... }). Relationships expire by
--- it. Seconds since 1970, as os.time() gives them.
---@type fun(seconds: number): licet.Clock
licet.testing.manual_clock = core.manual_clock

-- ---------------------------------------------------------------------------------------------------- writing

-- Raises as luaL_argerror() does, with the position of the caller of the function that calls this.
local function refuse(number, name, what)
    error(("bad argument #%d to '%s' (%s)"):format(number, name, what), 3)
end

local function is_relationship(value)
    return type(value) == "string" or type(value) == "table"
end

--- For Engine:write(): a relationship that must not exist yet.
---@param relationship string|licet.Relationship
---@return licet.Update
function licet.create(relationship)
    if not is_relationship(relationship) then
        refuse(1, "create", "relationship expected, got " .. type(relationship))
    end
    return { "create", relationship }
end

--- For Engine:write(): a relationship, whether it exists or not; its caveat and expiration are replaced.
---@param relationship string|licet.Relationship
---@return licet.Update
function licet.touch(relationship)
    if not is_relationship(relationship) then
        refuse(1, "touch", "relationship expected, got " .. type(relationship))
    end
    return { "touch", relationship }
end

--- For Engine:write(): no such relationship any more; it may be absent already.
---@param relationship string|licet.Relationship
---@return licet.Update
function licet.delete(relationship)
    if not is_relationship(relationship) then
        refuse(1, "delete", "relationship expected, got " .. type(relationship))
    end
    return { "delete", relationship }
end

--- At least one relationship matches, before the write.
---@param filter licet.Filter
---@return licet.Precondition
function licet.must_match(filter)
    if type(filter) ~= "table" then
        refuse(1, "must_match", "table expected, got " .. type(filter))
    end
    return { "must_match", filter }
end

--- No relationship matches, before the write.
---@param filter licet.Filter
---@return licet.Precondition
function licet.must_not_match(filter)
    if type(filter) ~= "table" then
        refuse(1, "must_not_match", "table expected, got " .. type(filter))
    end
    return { "must_not_match", filter }
end

-- ------------------------------------------------------------------------------------------- validation files

-- One byte more than the core takes of any text: enough for it to refuse a longer file, and never more of it.
local READ_BYTES = 1048576 + 1

--- One thing that does not hold, or one warning.
---@class licet.Finding
---@field is_warning boolean
---@field source string where it arose: "schema", "relationship", "assertion" or "validation"
---@field kind string SpiceDB's name for it, such as "ASSERTION_FAILED"
---@field message string
---@field line integer in the file, from 1; 0 where it is not known
---@field column integer in characters, from 1; 0 where it is not known

--- What a validation file came to.
---@class licet.Report
---@field path? string
---@field relationships integer
---@field assertions integer
---@field expected_relations integer
---@field findings licet.Finding[]
---@field failures licet.Finding[] the findings that are no warnings
---@field warnings licet.Finding[] the findings that are: unknown keys and lints

local function read_file(path)
    local file, reason = io.open(path, "rb")
    local text

    if file then
        text, reason = file:read(READ_BYTES)
        file:close()
        if text or not reason then
            return text or ""
        end
    end
    return nil, core.failure("invalid_argument", "config", "can not read the file: " .. reason)
end

-- Whether a file holds only a schema: by its ending, or else by what it looks like (as in SpiceDB's own tool).
local function is_schema(path, text)
    local ending = (path and path:match("%.(%w+)$") or ""):lower()

    if ending == "zed" then
        return true
    elseif ending == "yaml" or ending == "yml" then
        return false
    end
    for line in text:gmatch("[^\n]+") do
        local key = line:match("^ *(%a+) *:")

        if key == "schema" or key == "schemaFile" or key == "relationships" then
            return false
        end
    end
    return true
end

local function schema_report(text, options)
    local schema, err = core.parse_schema(text, options)
    local findings = {}

    if not schema then
        return nil, err
    end
    for i, lint in ipairs(schema:lint()) do
        findings[i] = {
            is_warning = true,
            source = "schema",
            kind = lint.name,
            message = lint.message,
            line = lint.line,
            column = lint.column,
        }
    end
    return { relationships = 0, assertions = 0, expected_relations = 0, findings = findings }
end

local function file_report(text, options)
    local engine, err = core.open()
    local report

    if not engine then
        return nil, err
    end
    report, err = core.validate(engine, text, options)
    engine:close()
    return report, err
end

-- What is wrong with the options of validate(), or nil.
local function options_fault(options)
    if options == nil then
        return nil
    elseif type(options) ~= "table" then
        return "table expected, got " .. type(options)
    end
    for name, value in pairs(options) do
        if name ~= "folder" then
            return ("no field '%s'"):format(tostring(name))
        elseif type(value) ~= "string" then
            return "folder: string expected, got " .. type(value)
        end
    end
    return nil
end

--- Loads a validation file into memory and runs its assertions and expected relations. A file that ends in `.zed`, or
--- that looks like a schema and not like YAML, is only checked as a schema. `schemaFile` and `import` read from the
--- folder and nowhere else.
---
---     local ok, report = licet.validate("documents.yaml")
---
--- ok is true if everything holds, and false if something does not: see report.failures. It is nil, and the second
--- value is the error with its line and column, if the file is unusable: no YAML, a wrong schema or relationship.
---@param path_or_text string what has more than one line is the text itself
---@param options? { folder?: string } folder: the file's own by default; for a text there is none
---@return boolean? ok
---@return licet.Report|licet.Error
function licet.validate(path_or_text, options)
    local fault = options_fault(options)
    local folder = not fault and options and options.folder or nil
    local path, text, report, err

    if type(path_or_text) ~= "string" then
        refuse(1, "validate", "string expected, got " .. type(path_or_text))
    elseif fault then
        refuse(2, "validate", fault)
    elseif path_or_text:find("[\n%z]") then
        text = path_or_text
    else
        path = path_or_text
        folder = folder or path:match("^(.+)/[^/]*$") or path:match("^/") or "."
        text, err = read_file(path)
        if not text then
            return nil, err
        end
    end

    report, err = (is_schema(path, text) and schema_report or file_report)(text, { folder = folder })
    if not report then
        return nil, err
    end
    report.path = path
    report.failures, report.warnings = {}, {}
    for _, finding in ipairs(report.findings) do
        local list = finding.is_warning and report.warnings or report.failures

        list[#list + 1] = finding
    end
    return #report.failures == 0, report
end

return licet
