/* licet.Result: the answer to one check.
 *
 * It keeps the core's record as it is and makes Python values only when somebody asks for them: most callers want
 * one bit. The token needs the engine, so the result holds it. A result whose fields nobody filled in is a denial. */
#include "result.h"

#include "convert.h"
#include "engine.h"
#include "error.h"

typedef struct result_object {
    PyObject_HEAD licet_result answer; /* ours; .error is NULL: it has moved to `error` */
    PyObject                  *engine;
    PyObject                  *error;   /* an exception, or NULL */
    PyObject                  *missing; /* instead of the core's names: a tuple of str, or NULL */
} result_object;

/* A denial so far. */
static result_object *result_new(module_state *state, PyObject *engine)
{
    result_object *self = PyObject_GC_New(result_object, state->result_type);

    if (self == NULL)
        return NULL;
    self->answer  = (licet_result)LICET_RESULT_INIT;
    self->engine  = Py_NewRef(engine);
    self->error   = NULL;
    self->missing = NULL;
    return self;
}

/* The result, if its error, where it has one, could be made. Takes self. */
static PyObject *result_ready(result_object *self)
{
    if (self->answer.status != LICET_OK && self->error == NULL) {
        Py_DECREF(self);
        return NULL;
    }
    PyObject_GC_Track(self);
    return (PyObject *)self;
}

PyObject *result_to_py(module_state *state, PyObject *engine, licet_result *result)
{
    result_object *self = result_new(state, engine);

    if (self == NULL) {
        licet_result_clear(result);
        return NULL;
    }
    self->answer = *result;
    *result      = (licet_result)LICET_RESULT_INIT;
    if (self->answer.status != LICET_OK) {
        licet_error *error = self->answer.error;

        self->answer.permissionship = LICET_NO_PERMISSION;
        self->answer.error          = NULL;
        self->error                 = error_to_py(state, self->answer.status, error);
    }
    return result_ready(self);
}

PyObject *result_view_to_py(module_state *state, PyObject *engine, const licet_result *result)
{
    result_object *self = result_new(state, engine);

    if (self == NULL)
        return NULL;
    self->answer.status   = result->status;
    self->answer.revision = result->revision;
    if (result->status != LICET_OK)
        self->error = error_view_to_py(state, result->status, result->error);
    else
        self->answer.permissionship = result->permissionship;
    if (result->status == LICET_OK && (self->missing = strs_to_py(result->missing, result->missing_count)) == NULL) {
        Py_DECREF(self);
        return NULL;
    }
    return result_ready(self);
}

static int result_traverse(PyObject *self, visitproc visit, void *arg)
{
    result_object *result = (result_object *)self;

    Py_VISIT(Py_TYPE(self));
    Py_VISIT(result->engine);
    Py_VISIT(result->error);
    Py_VISIT(result->missing);
    return 0;
}

/* Not the engine: cycles through it are broken at its log. */
static int result_clear(PyObject *self)
{
    result_object *result = (result_object *)self;

    Py_CLEAR(result->error);
    Py_CLEAR(result->missing);
    return 0;
}

static void result_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    PyObject_GC_UnTrack(self);
    licet_result_clear(&((result_object *)self)->answer);
    (void)result_clear(self);
    Py_XDECREF(((result_object *)self)->engine);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

static int result_bool(PyObject *self)
{
    return licet_result_allowed(&((result_object *)self)->answer);
}

static PyObject *result_get_allowed(PyObject *self, void *Py_UNUSED(closure))
{
    return PyBool_FromLong(result_bool(self));
}

static PyObject *permissionship_of(PyObject *self)
{
    return state_of_self(self)->permissionships[((result_object *)self)->answer.permissionship];
}

static PyObject *result_get_permissionship(PyObject *self, void *Py_UNUSED(closure))
{
    return Py_NewRef(permissionship_of(self));
}

static PyObject *result_get_missing_context(PyObject *self, void *Py_UNUSED(closure))
{
    const result_object *result = (const result_object *)self;

    if (result->missing != NULL)
        return Py_NewRef(result->missing);
    return strs_to_py(result->answer.missing, result->answer.missing_count);
}

static PyObject *result_get_token(PyObject *self, void *Py_UNUSED(closure))
{
    result_object *result = (result_object *)self;
    licet_token    token  = { { 0 } };

    if (result->engine != NULL)
        licet_result_token(engine_handle(result->engine), &result->answer, &token);
    return token_to_py(&token);
}

static PyObject *result_get_error(PyObject *self, void *Py_UNUSED(closure))
{
    PyObject *error = ((result_object *)self)->error;

    return Py_NewRef(error == NULL ? Py_None : error);
}

static PyObject *result_repr(PyObject *self)
{
    PyObject *error = ((result_object *)self)->error;
    PyObject *name;
    PyObject *text;

    if (error != NULL)
        return PyUnicode_FromFormat("<licet.Result %R>", error);
    name = PyObject_GetAttrString(permissionship_of(self), "name");
    if (name == NULL)
        return NULL;
    text = PyUnicode_FromFormat("<licet.Result %U>", name);
    Py_DECREF(name);
    return text;
}

static PyGetSetDef result_getset[] = {
    { "allowed", result_get_allowed, NULL, "True only for a definite yes; the same as bool(result).", NULL },
    { "permissionship", result_get_permissionship, NULL, "A licet.Permissionship: no, has or conditional.", NULL },
    { "missing_context", result_get_missing_context, NULL,
      "Names of the context values that a conditional answer depends on, sorted; empty for the other two.", NULL },
    { "token", result_get_token, NULL,
      "Token of the revision at which the answer was found; None for an item of a bulk check that failed.", NULL },
    { "error", result_get_error, NULL,
      "In a bulk check, the licet.Error of this item; None otherwise. Not raised by itself.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

PyDoc_STRVAR(result_doc, "The answer to one check. True in a condition only for a definite yes.\n\n"
                         "Immutable. Made by Engine.check(), Engine.check_bulk() and Engine.permissions().");

static PyType_Slot result_slots[] = {
    { Py_tp_doc, (void *)result_doc },     { Py_tp_traverse, (void *)result_traverse },
    { Py_tp_clear, (void *)result_clear }, { Py_tp_dealloc, (void *)result_dealloc },
    { Py_tp_repr, (void *)result_repr },   { Py_tp_getset, result_getset },
    { Py_nb_bool, (void *)result_bool },   { 0, NULL },
};

PyType_Spec result_spec = {
    .name      = "licet.Result",
    .basicsize = sizeof(result_object),
    .flags     = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots     = result_slots,
};
