/* The floor of a call from Python: takes three strings and does nothing with them. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

static PyObject *call(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    for (Py_ssize_t i = 0; i < count; i++)
        if (!PyUnicode_Check(arguments[i])) {
            PyErr_SetString(PyExc_TypeError, "three strings");
            return NULL;
        }
    Py_RETURN_FALSE;
}

static PyMethodDef methods[] = { { "call", (PyCFunction)(void (*)(void))call, METH_FASTCALL, NULL },
                                 { NULL, NULL, 0, NULL } };

static PyModuleDef_Slot slots[] = { { 0, NULL } };

static PyModuleDef definition = { PyModuleDef_HEAD_INIT, "empty_python", NULL, 0, methods, slots, NULL, NULL, NULL };

PyMODINIT_FUNC PyInit_empty_python(void)
{
    return PyModuleDef_Init(&definition);
}
