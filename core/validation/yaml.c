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

lic_yaml_walk lic_yaml_walk_from(lic_str source, const lic_yaml_node *node)
{
    lic_yaml_walk walk = { .node = node, .rest = source, .line = node->position.line + 1 };

    walk.one_line = !node->block && lic_str_find(node->text, '\n') == node->text.size;
    walk.words    = (lic_position){ walk.line, 1 };
    for (uint32_t n = 0; node->block && n < node->position.line; n++)
        (void)next_line(&walk.rest);
    return walk;
}

/* Follows the block's lines through source and text side by side: whatever folding did, a line's words stand in both in
 * the same order, with only spaces and newlines between lines. Stops before the line that begins behind the offset. */
static void walk_lines(lic_yaml_walk *walk, size_t offset)
{
    lic_str text = walk->node->text;

    while (walk->rest.size > 0) {
        lic_str rest  = walk->rest;
        lic_str raw   = next_line(&rest);
        lic_str words = lic_str_trim(raw);
        size_t  at    = walk->end;

        while (words.size > 0 && at < text.size && (text.data[at] == ' ' || text.data[at] == '\n'))
            at++;
        if (words.size > 0 && (at > offset || !lic_str_starts_with(lic_str_slice(text, at, text.size), words)))
            return;
        if (words.size > 0) {
            walk->words = (lic_position){ walk->line, (uint32_t)blanks_before(raw) + 1 };
            walk->start = at;
            walk->end   = at + words.size;
        }
        walk->rest = rest;
        walk->line++;
    }
}

lic_position lic_yaml_walk_to(lic_yaml_walk *walk, size_t offset)
{
    const lic_yaml_node *node     = walk->node;
    lic_position         position = node->position;

    if (node->block) {
        walk_lines(walk, offset);
        position = walk->words;
    }
    if (node->block || walk->one_line)
        position.column += (uint32_t)lic_utf8_count(lic_str_slice(node->text, walk->start, offset));
    if (walk->one_line && node->quoted)
        position.column++;
    return position;
}

lic_position lic_yaml_position(lic_str source, const lic_yaml_node *node, size_t offset)
{
    lic_yaml_walk walk = lic_yaml_walk_from(source, node);

    return lic_yaml_walk_to(&walk, offset);
}
