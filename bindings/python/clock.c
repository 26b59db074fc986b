/* licet._licet.Clock: a time that tests set.
 *
 * The core asks from any thread, also where no Python code may run. So a clock is a number and not a function: one
 * that is read and set as a whole. */
#include "clock.h"

#include <stdatomic.h>

typedef struct clock_object {
    PyObject_HEAD _Atomic int64_t nanoseconds; /* since 1970, UTC */
} clock_object;

static int64_t clock_now(void *context)
{
    clock_object *clock = context;

    return atomic_load(&clock->nanoseconds);
}

bool clock_from_py(module_state *state, PyObject *value, licet_clock *clock)
{
    if (value == NULL || value == Py_None)
        return true;
    if (!PyObject_TypeCheck(value, state->clock_type)) {
        PyErr_Format(PyExc_TypeError, "clock must be a licet.testing.ManualClock, not %.100s", Py_TYPE(value)->tp_name);
        return false;
    }
    *clock = (licet_clock){ clock_now, value };
    return true;
}

static bool nanoseconds_from_py(PyObject *value, int64_t *nanoseconds)
{
    long long number;

    if (value == NULL || !PyLong_Check(value)) {
        PyErr_SetString(PyExc_TypeError, "nanoseconds must be an int");
        return false;
    }
    number = PyLong_AsLongLong(value);
    if (number == -1 && PyErr_Occurred())
        return false;
    *nanoseconds = number;
    return true;
}

static PyObject *clock_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char  *names[]     = { "nanoseconds", NULL };
    PyObject     *value       = NULL;
    int64_t       nanoseconds = 0;
    clock_object *self;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:Clock", names, &value) ||
        !nanoseconds_from_py(value, &nanoseconds))
        return NULL;
    self = (clock_object *)type->tp_alloc(type, 0);
    if (self != NULL)
        atomic_init(&self->nanoseconds, nanoseconds);
    return (PyObject *)self;
}

static void clock_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *clock_get_nanoseconds(PyObject *self, void *Py_UNUSED(closure))
{
    return PyLong_FromLongLong(clock_now(self));
}

static int clock_set_nanoseconds(PyObject *self, PyObject *value, void *Py_UNUSED(closure))
{
    int64_t nanoseconds;

    if (!nanoseconds_from_py(value, &nanoseconds))
        return -1;
    atomic_store(&((clock_object *)self)->nanoseconds, nanoseconds);
    return 0;
}

static PyGetSetDef clock_getset[] = {
    { "nanoseconds", clock_get_nanoseconds, clock_set_nanoseconds, "The time: since 1970, UTC.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

PyDoc_STRVAR(clock_doc, "Clock(nanoseconds)\n--\n\n"
                        "A time for licet.open(clock=...). Any thread may set it. Use licet.testing.ManualClock.");

static PyType_Slot clock_slots[] = {
    { Py_tp_doc, (void *)clock_doc },
    { Py_tp_new, (void *)clock_new },
    { Py_tp_dealloc, (void *)clock_dealloc },
    { Py_tp_getset, clock_getset },
    { 0, NULL },
};

PyType_Spec clock_spec = {
    .name      = "licet._licet.Clock",
    .basicsize = sizeof(clock_object),
    .flags     = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_IMMUTABLETYPE,
    .slots     = clock_slots,
};
