/* Python values to the core's, and back. Each function either succeeds or sets an exception and says false or NULL. */
#ifndef LICET_PYTHON_CONVERT_H
#define LICET_PYTHON_CONVERT_H

#include "module.h"

/* ---------------------------------------------------------------- arguments of a call */

#define PARAMETERS_MAX 19

typedef struct signature {
    const char *name;
    int         required;                       /* the first so many must be given */
    int         positional;                     /* the first so many may be given without their name */
    const char *parameters[PARAMETERS_MAX + 1]; /* ends with NULL */
} signature;

/* The slow road of unpack(): names, missing and surplus arguments. */
bool unpack_any(const signature *sig, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames, PyObject **values);

/* Sorts the arguments of a call into `values`, which has room for every parameter and starts as NULL.
 * The values are borrowed from the caller, who keeps them alive until the method returns. */
static inline bool unpack(const signature *sig, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames,
                          PyObject **values)
{
    if (kwnames == NULL && nargs == sig->required && nargs <= sig->positional) {
        for (Py_ssize_t i = 0; i < nargs; i++)
            values[i] = args[i];
        return true;
    }
    return unpack_any(sig, args, nargs, kwnames, values);
}

/* ------------------------------------------------------------------------ from Python */

/* Says why str_from_py() can not take `value`: another type, or text that has no UTF-8. */
void str_refuse(module_state *state, PyObject *value, const char *what);

/* A view into `value`, which must be a str. `what` names the parameter in the error. */
static inline bool str_from_py(module_state *state, PyObject *value, const char *what, licet_str *view)
{
    Py_ssize_t size;

    if (PyUnicode_Check(value)) {
        view->data = PyUnicode_AsUTF8AndSize(value, &size);
        view->size = (size_t)size;
        if (view->data != NULL)
            return true;
    }
    str_refuse(state, value, what);
    return false;
}

/* A view of a text whose errors the core tells, with their position or kind. One that has no UTF-8 is passed on as the
 * core can see it. The view is of `value` or of *kept, a new reference or NULL. */
bool text_from_py(module_state *state, PyObject *value, const char *what, licet_str *view, PyObject **kept);

/* As str_from_py(); NULL and None are "not given". */
bool optional_str_from_py(module_state *state, PyObject *value, const char *what, licet_str *view);

/* A whole number in [1, max], else an error of this kind; NULL and None leave *number alone. */
bool positive_from_py(module_state *state, PyObject *value, const char *what, licet_kind kind, uint64_t max,
                      uint64_t *number);

/* True or False, and nothing that only counts as one; NULL leaves *flag alone. */
bool bool_from_py(PyObject *value, const char *what, bool *flag);

/* A number of seconds from 0 on; NULL and None leave *seconds alone. */
bool seconds_from_py(module_state *state, PyObject *value, const char *what, double *seconds);

/* A path as the system spells it. The view is of *bytes, a new reference, NULL when there is no path. */
bool path_from_py(PyObject *value, PyObject **bytes, licet_str *view);

/* NULL and None are minimize latency. may_block, a bool or NULL, becomes no_wait: it may wait unless that is False. */
bool consistency_from_py(module_state *state, PyObject *value, PyObject *may_block, licet_consistency *consistency);

/* A Relationship, or its notation. The views are of `value`. */
bool relationship_from_py(module_state *state, PyObject *value, licet_relationship *relationship);

/* A Filter. The views are of `value`. */
bool filter_from_py(module_state *state, PyObject *value, licet_filter *filter);

/* The parameters of a filter, in the order of FILTER_PARAMETERS; NULL where not given. */
#define FILTER_PARAMETERS \
    "resource_type", "resource_id", "resource_id_prefix", "relation", "subject_type", "subject_id", "subject_relation"
#define FILTER_PARAMETER_COUNT 7
bool filter_from_arguments(module_state *state, PyObject *const *values, licet_filter *filter);

/* An iterable of anything as a tuple, a new reference, and room for one element of the core's for each item, which is for
 * PyMem_Free, also when it fails; *kept may be NULL then. A str is refused: its characters are never what was meant. */
bool elements_from_py(PyObject *value, const char *what, size_t element_size, PyObject **kept, void **elements);

/* An iterable of str. *texts is for PyMem_Free; the views are of *kept, a new reference or NULL. */
bool strs_from_py(module_state *state, PyObject *value, const char *what, licet_str **texts, size_t *count,
                  PyObject **kept);

/* An iterable of Filter. The same. */
bool filters_from_py(module_state *state, PyObject *value, licet_filter **filters, size_t *count, PyObject **kept);

/* The fields of a record of this kind; NULL, and nothing is set, for anything else. */
PyObject *const *record_fields(module_state *state, record_kind kind, PyObject *value);

/* An iterable of Precondition. *preconditions is for PyMem_Free; the views are of *kept, a new reference. */
bool preconditions_from_py(module_state *state, PyObject *value, licet_precondition **preconditions, size_t *count,
                           PyObject **kept);

/* An iterable of Update. The same. */
bool updates_from_py(module_state *state, PyObject *value, licet_update **updates, size_t *count, PyObject **kept);

/* ------------------------------------------------------------------------- to Python */

PyObject *str_to_py(licet_str text);             /* valid UTF-8 from the core */
PyObject *optional_str_to_py(licet_str text);    /* None for "not given" */
PyObject *token_to_py(const licet_token *token); /* None for the empty one */
PyObject *buffer_to_py(licet_buffer *buffer);    /* takes what the buffer holds */
PyObject *lines_to_py(licet_buffer *buffer); /* the same for lines, of which the last does not end in a Python str */

/* A record of this kind, of so many values, which is its number of fields. Each of them is taken, also when it fails: when
 * one of them is NULL. */
PyObject *record_of(module_state *state, record_kind kind, PyObject *const *values, Py_ssize_t count);

PyObject *filled_str_to_py(licet_str text); /* None for the empty one */

/* Texts as a tuple of str. */
PyObject *strs_to_py(const licet_str *texts, size_t count);

/* A JSON document as values, by Python's own reader. Takes text, a str; NULL passes through. */
PyObject *json_to_py(module_state *state, PyObject *text);

/* licet.Permissionship's member; a new reference. */
PyObject *permissionship_to_py(module_state *state, licet_permissionship permissionship);

/* A Relationship; and its nine fields alone, as an exact tuple. */
PyObject *relationship_to_py(module_state *state, const licet_relationship *relationship);
PyObject *relationship_fields(const licet_relationship *relationship);

/* A Relationship of the core's text; None for the empty one. */
PyObject *relationship_text_to_py(module_state *state, licet_str text);

#endif
