#!/bin/sh
# check_shipped.sh FILE NAMES: a shared object has the marks of hardening and exports nothing that the
# regular expression NAMES does not match.
set -eu
file=$1
names=$2
status=0

fail() {
    echo "$file: $*"
    status=1
}

extra=$(nm -D --defined-only "$file" | awk '{ print $3 }' | grep -Evx "$names" || true)
[ -z "$extra" ] || fail "exports $(echo "$extra" | tr '\n' ' ')"
nm -D --defined-only "$file" | awk '{ print $3 }' | grep -Eqx "$names" || fail "exports nothing of ours"
headers=$(readelf -W -d -l "$file")
echo "$headers" | grep -q 'GNU_RELRO' || fail "no relro"
echo "$headers" | grep -Eq 'BIND_NOW|FLAGS.* NOW' || fail "symbols are bound late"
echo "$headers" | grep -q 'NODELETE' || fail "can be unloaded"
echo "$headers" | grep -Eq 'GNU_STACK .* RW ' || fail "the stack is executable"
echo "$headers" | grep -q 'TEXTREL' && fail "has text relocations"
nm -D --undefined-only "$file" | grep -q '__stack_chk_fail' || fail "no stack protector"
exit $status
