"""Formulas as MathML, which browsers draw themselves: no script from elsewhere, and the pages work offline."""

import re

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml


def as_mathml(node, as_block):
    code = node.astext().replace(r"\Big/", "/").replace(r"\setminus", r"\backslash")
    # Bound to the letter with its hat, the index would stand below.
    code = re.sub(r"(\\(?:hat|bar|tilde) \w)_", r"\1{}_", code)
    return tex2mathml(code, as_block=as_block)


def visit_inline(translator, node):
    translator.body.append(as_mathml(node, as_block=False))
    raise nodes.SkipNode


def visit_block(translator, node):
    translator.body.append(f'<div class="formula">{as_mathml(node, as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", inline_renderers=(visit_inline, None), block_renderers=(visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
