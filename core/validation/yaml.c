/* Looking into the tree, and from its texts back into the source. */
#include "validation/yaml.h"

#include "base/utf8.h"

const lic_yaml_node *lic_yaml_find(const lic_yaml_node *mapping, lic_str key)
{
    for (size_t i = 0; i + 1 < mapping->count; i += 2)
        if (lic_str_equal(mapping->children[i]->text, key))
            return mapping->children[i + 1];
    return NULL;
}

static lic_str next_line(lic_str *rest)
{
    size_t  end  = lic_str_find(*rest, '\n');
    lic_str line = lic_str_slice(*rest, 0, end);

    *rest = lic_str_slice(*rest, end < rest->size ? end + 1 : end, rest->size);
    return line;
}

static size_t blanks_before(lic_str line)
{
    size_t n = 0;

    while (n < line.size && (line.data[n] == ' ' || line.data[n] == '\r'))
        n++;
    return n;
}

/* Follows the block's lines through source and text side by side: whatever folding did, a line's words stand in both in
 * the same order, with only spaces and newlines between lines. */
static lic_position position_in_block(lic_str source, const lic_yaml_node *node, size_t offset)
{
    lic_position best = { node->position.line + 1, 1 };
    lic_str      rest = source;
    size_t       at   = 0;

    for (uint32_t n = 0; n < node->position.line; n++)
        (void)next_line(&rest);
    for (uint32_t line = node->position.line + 1; rest.size > 0; line++) {
        lic_str raw    = next_line(&rest);
        size_t  indent = blanks_before(raw);
        lic_str words  = lic_str_trim(raw);

        if (words.size == 0)
            continue;
        while (at < node->text.size && (node->text.data[at] == ' ' || node->text.data[at] == '\n'))
            at++;
        if (at > offset || !lic_str_starts_with(lic_str_slice(node->text, at, node->text.size), words))
            break;
        best.line   = line;
        best.column = (uint32_t)(indent + lic_utf8_count(lic_str_slice(node->text, at, offset)) + 1);
        at += words.size;
    }
    return best;
}

lic_position lic_yaml_position(lic_str source, const lic_yaml_node *node, size_t offset)
{
    lic_position position = node->position;

    if (node->block)
        return position_in_block(source, node, offset);
    if (lic_str_find(node->text, '\n') == node->text.size)
        position.column += (uint32_t)(lic_utf8_count(lic_str_slice(node->text, 0, offset)) + (node->quoted ? 1 : 0));
    return position;
}
