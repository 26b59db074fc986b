/* licet.testing.evaluate_cel(): one expression, compiled and evaluated as the expression of a caveat is.
 *
 * The one file of the binding that looks behind the public header: the core offers answers about permissions, not CEL,
 * and this is for tests and teaching. Values are tagged with their type, as in the cases of CEL's conformance suite. */
#include "testing.h"

#include <arpa/inet.h>
#include <math.h>
#include <string.h>

#include "caveat/cel.h"
#include "caveat/ip.h"
#include "caveat/number.h"
#include "caveat/time.h"
#include "convert.h"
#include "error.h"

#define VALUE_DEPTH 64 /* lists and maps in each other, of a binding */

/* A value that is still to be made: from a tagged one, or into an item of a list. */
typedef struct task {
    PyObject            *tagged; /* borrowed from the bindings, which hold still: no other code runs meanwhile */
    lic_cel_value       *to;
    unsigned             depth;
    const lic_cel_value *value;
    PyObject            *container; /* borrowed from the result: a list, or the dict of an optional */
    Py_ssize_t           at;        /* in the list */
} task;

/* One evaluation. */
typedef struct evaluation {
    module_state     *state;
    lic_memory        memory;
    lic_arena         arena;
    lic_cel          *cel;
    lic_cel_parameter parameters[LIC_CEL_MAX_PARAMETERS];
    lic_cel_value     values[LIC_CEL_MAX_PARAMETERS];
    size_t            count;
    task             *tasks;
    size_t            task_count;
    size_t            task_capacity;
} evaluation;

static bool task_push(evaluation *e, task next)
{
    void *tasks = e->tasks;

    if (!lic_arena_grow(&e->arena, &tasks, &e->task_capacity, e->task_count + 1, sizeof *e->tasks)) {
        PyErr_NoMemory();
        return false;
    }
    e->tasks                  = tasks;
    e->tasks[e->task_count++] = next;
    return true;
}

/* ------------------------------------------------------------------------ from Python */

static bool refuse_binding(evaluation *e, const char *tag)
{
    return refuse(e->state, LICET_KIND_VALUE, "this is no value of the tag '%s'", tag);
}

static void *room(evaluation *e, Py_ssize_t count, size_t size)
{
    void *items = lic_arena_alloc_array(&e->arena, (size_t)count, size);

    if (items == NULL)
        PyErr_NoMemory();
    return items;
}

/* Text in the arena: what it views may not outlive the evaluation. */
static bool text_copy(evaluation *e, PyObject *item, lic_str *text)
{
    licet_str view;

    if (!str_from_py(e->state, item, "a tagged value", &view))
        return false;
    *text = lic_arena_str(&e->arena, view);
    if (text->data == NULL)
        PyErr_NoMemory();
    return text->data != NULL;
}

static bool list_from_py(evaluation *e, PyObject *item, unsigned depth, lic_cel_value *value)
{
    Py_ssize_t     count = PyList_Check(item) ? PyList_GET_SIZE(item) : -1;
    lic_cel_list  *list  = count < 0 ? NULL : room(e, 1, sizeof *list);
    lic_cel_value *items = list == NULL ? NULL : room(e, count, sizeof *items);

    if (count < 0)
        return refuse_binding(e, "list");
    if (items == NULL)
        return false;
    for (Py_ssize_t i = 0; i < count; i++)
        if (!task_push(e, (task){ .tagged = PyList_GET_ITEM(item, i), .to = &items[i], .depth = depth + 1 }))
            return false;
    *list  = (lic_cel_list){ items, (size_t)count };
    *value = (lic_cel_value){ .kind = LIC_CEL_LIST, .list = list };
    return true;
}

/* A list of [key, value]. */
static bool map_from_py(evaluation *e, PyObject *item, unsigned depth, lic_cel_value *value)
{
    Py_ssize_t     count   = PyList_Check(item) ? PyList_GET_SIZE(item) : -1;
    lic_cel_map   *map     = count < 0 ? NULL : room(e, 1, sizeof *map);
    lic_cel_entry *entries = map == NULL ? NULL : room(e, count, sizeof *entries);

    if (count < 0)
        return refuse_binding(e, "map");
    if (entries == NULL)
        return false;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *pair = PyList_GET_ITEM(item, i);

        if (!PyList_Check(pair) || PyList_GET_SIZE(pair) != 2)
            return refuse_binding(e, "map");
        if (!task_push(e, (task){ .tagged = PyList_GET_ITEM(pair, 0), .to = &entries[i].key, .depth = depth + 1 }) ||
            !task_push(e, (task){ .tagged = PyList_GET_ITEM(pair, 1), .to = &entries[i].value, .depth = depth + 1 }))
            return false;
    }
    *map   = (lic_cel_map){ .entries = entries, .count = (size_t)count, .given = true };
    *value = (lic_cel_value){ .kind = LIC_CEL_MAP, .map = map };
    return true;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

static bool bytes_from_hex(evaluation *e, lic_str hex, lic_cel_value *value)
{
    char *bytes = room(e, (Py_ssize_t)(hex.size / 2 + 1), 1);

    if (bytes == NULL)
        return false;
    for (size_t i = 0; i + 1 < hex.size; i += 2) {
        int high = hex_digit(hex.data[i]);
        int low  = hex_digit(hex.data[i + 1]);

        if (high < 0 || low < 0)
            return refuse_binding(e, "bytes_hex");
        bytes[i / 2] = (char)(high << 4 | low);
    }
    if (hex.size % 2 != 0)
        return refuse_binding(e, "bytes_hex");
    *value = (lic_cel_value){ .kind = LIC_CEL_BYTES, .text = { bytes, hex.size / 2 } };
    return true;
}

static bool ip_from_text(evaluation *e, lic_str text, lic_cel_value *value)
{
    lic_cel_ip *ip = room(e, 1, sizeof *ip);

    value->kind = LIC_CEL_IPADDRESS;
    value->ip   = ip;
    if (ip == NULL)
        return false;
    return lic_ip_parse(text, ip) || refuse_binding(e, "ipaddress");
}

/* The tags whose value is a text. */
static bool value_from_text(evaluation *e, const char *tag, lic_str text, lic_cel_value *value)
{
    if (strcmp(tag, "string") == 0) {
        *value = (lic_cel_value){ .kind = LIC_CEL_STRING, .text = text };
        return true;
    }
    if (strcmp(tag, "type") == 0) {
        *value = (lic_cel_value){ .kind = LIC_CEL_TYPE, .text = text };
        return true;
    }
    if (strcmp(tag, "bytes_hex") == 0)
        return bytes_from_hex(e, text, value);
    if (strcmp(tag, "ipaddress") == 0)
        return ip_from_text(e, text, value);
    value->kind = LIC_CEL_INT;
    if (strcmp(tag, "int64") == 0)
        return lic_cel_int_read(text, &value->integer) || refuse_binding(e, tag);
    value->kind = LIC_CEL_UINT;
    if (strcmp(tag, "uint64") == 0)
        return lic_cel_uint_read(text, &value->uinteger) || refuse_binding(e, tag);
    value->kind = LIC_CEL_DOUBLE;
    if (strcmp(tag, "double") == 0)
        return lic_cel_double_read(text, &value->number) || refuse_binding(e, tag);
    value->kind = LIC_CEL_DURATION;
    if (strcmp(tag, "duration") == 0)
        return lic_cel_duration_parse(text, &value->duration) || refuse_binding(e, tag);
    value->kind = LIC_CEL_TIMESTAMP;
    if (strcmp(tag, "timestamp") == 0)
        return lic_cel_timestamp_parse(text, true, &value->timestamp) || refuse_binding(e, tag);
    return refuse(e->state, LICET_KIND_VALUE, "no value has this tag");
}

static bool tagged_from_py(evaluation *e, const char *tag, PyObject *item, unsigned depth, lic_cel_value *value)
{
    lic_str text;

    if (strcmp(tag, "list") == 0)
        return list_from_py(e, item, depth, value);
    if (strcmp(tag, "map") == 0)
        return map_from_py(e, item, depth, value);
    if (strcmp(tag, "null") == 0) {
        *value = (lic_cel_value){ .kind = LIC_CEL_NULL };
        return item == Py_None || refuse_binding(e, tag);
    }
    if (strcmp(tag, "bool") == 0) {
        *value = (lic_cel_value){ .kind = LIC_CEL_BOOL, .boolean = item == Py_True };
        return PyBool_Check(item) || refuse_binding(e, tag);
    }
    if (strcmp(tag, "double") == 0 && !PyUnicode_Check(item)) {
        *value = (lic_cel_value){ .kind = LIC_CEL_DOUBLE, .number = PyFloat_AsDouble(item) };
        return PyErr_Occurred() == NULL;
    }
    return text_copy(e, item, &text) && value_from_text(e, tag, text, value);
}

/* {"int64": "5"}; what is in a list or a map becomes a task. */
static bool task_from_py(evaluation *e, PyObject *tagged, unsigned depth, lic_cel_value *value)
{
    Py_ssize_t  at   = 0;
    PyObject   *key  = NULL;
    PyObject   *item = NULL;
    const char *tag;

    if (depth > VALUE_DEPTH)
        return refuse(e->state, LICET_KIND_LIMIT, "the value is nested too deeply");
    if (!PyDict_Check(tagged) || PyDict_GET_SIZE(tagged) != 1 || !PyDict_Next(tagged, &at, &key, &item) ||
        !PyUnicode_Check(key)) {
        PyErr_Format(PyExc_TypeError, "a value must be a dict from its tag to what it is, not %.100s",
                     Py_TYPE(tagged)->tp_name);
        return false;
    }
    tag = PyUnicode_AsUTF8(key);
    return tag != NULL && tagged_from_py(e, tag, item, depth, value);
}

static bool value_from_py(evaluation *e, PyObject *tagged, lic_cel_value *value)
{
    bool done = task_from_py(e, tagged, 0, value);

    while (done && e->task_count > 0) {
        task next = e->tasks[--e->task_count];

        done = task_from_py(e, next.tagged, next.depth, next.to);
    }
    return done;
}

static bool parameters_from_py(evaluation *e, PyObject *bindings, PyObject *types)
{
    Py_ssize_t at   = 0;
    PyObject  *name = NULL;
    PyObject  *type = NULL;

    if (!PyDict_Check(bindings) || !PyDict_Check(types)) {
        PyErr_SetString(PyExc_TypeError, "bindings and types must be dicts");
        return false;
    }
    while (PyDict_Next(types, &at, &name, &type)) {
        PyObject *bound = PyDict_GetItemWithError(bindings, name);

        if (e->count == LIC_CEL_MAX_PARAMETERS)
            return refuse(e->state, LICET_KIND_LIMIT, "more than %d variables", LIC_CEL_MAX_PARAMETERS);
        if ((bound == NULL && PyErr_Occurred()) || !text_copy(e, name, &e->parameters[e->count].name) ||
            !text_copy(e, type, &e->parameters[e->count].spelling))
            return false;
        e->values[e->count] = (lic_cel_value){ .kind = LIC_CEL_UNKNOWN };
        if (bound != NULL && !value_from_py(e, bound, &e->values[e->count]))
            return false;
        e->count++;
    }
    return true;
}

/* ------------------------------------------------------------------------- to Python */

/* Takes what it tags; NULL passes through. */
static PyObject *tagged(const char *tag, PyObject *item)
{
    return item == NULL ? NULL : Py_BuildValue("{s:N}", tag, item);
}

static bool item_to_py(evaluation *e, const lic_cel_value *value, PyObject *container, Py_ssize_t at)
{
    return task_push(e, (task){ .value = value, .container = container, .at = at });
}

/* A list whose items become tasks. */
static PyObject *list_to_py(evaluation *e, const lic_cel_list *list)
{
    PyObject *items = PyList_New((Py_ssize_t)list->count);

    for (size_t i = 0; items != NULL && i < list->count; i++)
        if (!item_to_py(e, &list->items[i], items, (Py_ssize_t)i))
            Py_CLEAR(items);
    return items;
}

/* A list of [key, value]. */
static PyObject *map_to_py(evaluation *e, const lic_cel_map *map)
{
    PyObject *pairs = PyList_New((Py_ssize_t)map->count);

    for (size_t i = 0; pairs != NULL && i < map->count; i++) {
        PyObject *pair = PyList_New(2);

        if (pair != NULL)
            PyList_SET_ITEM(pairs, (Py_ssize_t)i, pair);
        if (pair == NULL || !item_to_py(e, &map->entries[i].key, pair, 0) ||
            !item_to_py(e, &map->entries[i].value, pair, 1))
            Py_CLEAR(pairs);
    }
    return pairs;
}

static PyObject *optional_to_py(evaluation *e, const lic_cel_value *value)
{
    PyObject *object = tagged("optional", Py_NewRef(Py_None));

    if (object != NULL && value != NULL && !item_to_py(e, value, object, 0))
        Py_CLEAR(object);
    return object;
}

static PyObject *hex_to_py(lic_str bytes)
{
    PyObject *object = PyBytes_FromStringAndSize(bytes.data, (Py_ssize_t)bytes.size);
    PyObject *hex    = object == NULL ? NULL : PyObject_CallMethod(object, "hex", NULL);

    Py_XDECREF(object);
    return hex;
}

static PyObject *double_to_py(double number)
{
    if (isnan(number))
        return PyUnicode_FromString("NaN");
    if (isinf(number))
        return PyUnicode_FromString(number < 0 ? "-Infinity" : "Infinity");
    return PyFloat_FromDouble(number);
}

static PyObject *unknown_to_py(evaluation *e, uint64_t unknown)
{
    PyObject *names = PyList_New(0);

    for (size_t i = 0; names != NULL && i < e->count; i++) {
        PyObject *name;

        if ((unknown >> i & 1) == 0)
            continue;
        name = str_to_py(e->parameters[i].name);
        if (name == NULL || PyList_Append(names, name) < 0)
            Py_CLEAR(names);
        Py_XDECREF(name);
    }
    return names;
}

static PyObject *ip_to_py(const lic_cel_ip *ip)
{
    char      text[INET6_ADDRSTRLEN];
    PyObject *object;

    if (inet_ntop(ip->size == 4 ? AF_INET : AF_INET6, ip->bytes, text, sizeof text) == NULL)
        return PyErr_SetFromErrno(PyExc_OSError);
    object = PyUnicode_FromString(text);
    if (ip->zone.size > 0) {
        PyUnicode_AppendAndDel(&object, PyUnicode_FromString("%"));
        PyUnicode_AppendAndDel(&object, str_to_py(ip->zone));
    }
    return object;
}

static PyObject *scalar_to_py(evaluation *e, const lic_cel_value *value)
{
    char text[LIC_CEL_TIME_SIZE];

    switch (value->kind) {
    case LIC_CEL_BOOL:
        return tagged("bool", PyBool_FromLong(value->boolean));
    case LIC_CEL_INT:
        return tagged("int64", PyUnicode_FromFormat("%lld", (long long)value->integer));
    case LIC_CEL_UINT:
        return tagged("uint64", PyUnicode_FromFormat("%llu", (unsigned long long)value->uinteger));
    case LIC_CEL_DOUBLE:
        return tagged("double", double_to_py(value->number));
    case LIC_CEL_STRING:
        return tagged("string", str_to_py(value->text));
    case LIC_CEL_BYTES:
        return tagged("bytes_hex", hex_to_py(value->text));
    case LIC_CEL_DURATION:
        return tagged("duration", str_to_py((licet_str){ text, lic_cel_duration_print(value->duration, text) }));
    case LIC_CEL_TIMESTAMP:
        return tagged("timestamp", str_to_py((licet_str){ text, lic_cel_timestamp_print(value->timestamp, text) }));
    case LIC_CEL_IPADDRESS:
        return tagged("ipaddress", ip_to_py(value->ip));
    case LIC_CEL_TYPE:
        return tagged("type", str_to_py(value->text));
    case LIC_CEL_UNKNOWN:
        return tagged("unknown", unknown_to_py(e, value->unknown));
    default:
        return tagged("null", Py_NewRef(Py_None));
    }
}

static PyObject *task_to_py(evaluation *e, const lic_cel_value *value)
{
    if (value->kind == LIC_CEL_LIST)
        return tagged("list", list_to_py(e, value->list));
    if (value->kind == LIC_CEL_MAP)
        return tagged("map", map_to_py(e, value->map));
    if (value->kind == LIC_CEL_OPTIONAL)
        return optional_to_py(e, value->optional);
    return scalar_to_py(e, value);
}

/* Puts an object where its task says. Takes it. */
static bool task_place(const task *t, PyObject *object)
{
    bool done;

    if (PyList_Check(t->container)) {
        PyList_SET_ITEM(t->container, t->at, object);
        return true;
    }
    done = PyDict_SetItemString(t->container, "optional", object) == 0;
    Py_DECREF(object);
    return done;
}

static PyObject *value_to_py(evaluation *e, const lic_cel_value *value)
{
    PyObject *object = task_to_py(e, value);

    while (object != NULL && e->task_count > 0) {
        task      next = e->tasks[--e->task_count];
        PyObject *item = task_to_py(e, next.value);

        if (item == NULL || !task_place(&next, item))
            Py_CLEAR(object);
    }
    return object;
}

/* ------------------------------------------------------------------------- evaluating */

static PyObject *evaluate(evaluation *e, licet_str expression)
{
    lic_cel_source source = { .text = expression, .parameters = e->parameters, .parameter_count = e->count };
    lic_cel_budget budget = { 100000, 1 << 20 };
    licet_error   *error  = NULL;
    const char    *limit  = NULL;
    lic_cel_value  result;
    licet_status   status;

    status = lic_cel_compile(&e->memory, &source, &e->cel, NULL, &error);
    if (status != LICET_OK)
        return raise_error(e->state, status, error);
    for (size_t i = 0; i < e->count; i++)
        if (e->values[i].kind == LIC_CEL_UNKNOWN)
            e->values[i].unknown = UINT64_C(1) << i;
    if (!lic_cel_evaluate(e->cel, e->values, &e->arena, &budget, &result, &limit)) {
        status = limit == NULL ? lic_fail_memory(&error)
                               : lic_fail(&error, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, LIC_NOWHERE, "%s", limit);
        return raise_error(e->state, status, error);
    }
    if (result.kind != LIC_CEL_ERROR)
        return value_to_py(e, &result);
    status = lic_fail_reason(&error, LICET_INVALID_ARGUMENT, LICET_KIND_EVAL, "CAVEAT_EVALUATION_ERROR", LIC_NOWHERE,
                             "%s", result.error);
    return raise_error(e->state, status, error);
}

const char testing_evaluate_cel_doc[] = "evaluate_cel($module, expression, bindings, types, /)\n--\n\n"
                                        "The tagged value of one CEL expression. Use licet.testing.evaluate_cel().";

PyObject *testing_evaluate_cel(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    evaluation *e;
    PyObject   *value = NULL;
    licet_str   expression;

    if (nargs != 3)
        return PyErr_Format(PyExc_TypeError, "evaluate_cel() takes 3 arguments (%zd given)", nargs);
    if (!str_from_py(PyModule_GetState(module), args[0], "expression", &expression))
        return NULL;
    e = PyMem_Calloc(1, sizeof *e);
    if (e == NULL)
        return PyErr_NoMemory();
    e->state = PyModule_GetState(module);
    lic_memory_init(&e->memory, NULL, SIZE_MAX);
    lic_arena_init(&e->arena, &e->memory);
    if (parameters_from_py(e, args[1], args[2]))
        value = evaluate(e, expression);
    lic_cel_free(e->cel);
    lic_arena_free(&e->arena);
    PyMem_Free(e);
    return value;
}
