"""Rewrites a C file so that it holds many small wrong changes at once, of which the environment chooses one (wrong.h).

One build then serves them all. Kinds of change:

  comparison   < and <=, > and >=, == and != for each other
  arithmetic   + and -, * and /, % and *, << and >>, & and |, of numbers; + and - of a pointer and a number
  condition    of an if, a loop or ?: , or a bool that is returned: its contrary
  term         of && or ||: left out
  constant     an integer, one more
  statement    a call, an assignment, ++, break or continue: left out

Left alone: what must be constant (cases, sizes of arrays, statics), and what macros expand to."""
import bisect

import clang.cindex
from clang.cindex import CursorKind as K, TypeKind as T

COMPARISONS = {'<': '<=', '<=': '<', '>': '>=', '>=': '>', '==': '!=', '!=': '=='}
ARITHMETIC = {'+': '-', '-': '+', '*': '/', '/': '*', '%': '*', '<<': '>>', '>>': '<<', '&': '|', '|': '&'}
FLOATS = (T.FLOAT, T.DOUBLE, T.LONGDOUBLE)
CONSTANT = (K.ENUM_DECL, K.STRUCT_DECL, K.UNION_DECL, K.TYPEDEF_DECL, K.CXX_UNARY_EXPR, K.GENERIC_SELECTION_EXPR, K.STATIC_ASSERT)


class Site:
    """One change: what it is, and the edits that put it there: (offset, rank, text), (begin, end, text)."""

    def __init__(self, kind, line, column, text):
        self.kind, self.line, self.column, self.text = kind, line, column, text
        self.before, self.after, self.replaced = [], [], []


class Rewriter:
    def __init__(self, path, arguments):
        self.path = path
        with open(path, 'rb') as file:
            self.source = file.read()
        unit = clang.cindex.Index.create().parse(path, args=arguments, options=clang.cindex.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD)
        wrong = [d for d in unit.diagnostics if d.severity >= clang.cindex.Diagnostic.Error]
        if wrong:
            raise ValueError(f'{path}: {wrong[0]}')
        self.sites = []
        macros = [c for c in unit.cursor.get_children() if c.kind == K.MACRO_INSTANTIATION and self.is_here(c)]
        self.macros = sorted(self.span(m) for m in macros if m.spelling not in ('true', 'false'))
        for cursor in unit.cursor.get_children():
            if cursor.kind == K.FUNCTION_DECL and cursor.is_definition() and self.is_here(cursor):
                self.is_bool = cursor.result_type.get_canonical().kind == T.BOOL
                for part in cursor.get_children():
                    if part.kind == K.COMPOUND_STMT:
                        self.statement(part)

    # ---- places ------------------------------------------------------------------------------------------------

    def is_here(self, cursor):
        return cursor.location.file is not None and cursor.location.file.name == self.path

    def is_expanded(self, cursor):
        """Does a macro write it?"""
        begin, end = self.span(cursor)
        at = bisect.bisect_right(self.macros, (begin, len(self.source))) - 1
        return any(m[0] <= begin and end <= m[1] for m in self.macros[max(at - 1, 0):at + 1])

    @staticmethod
    def span(cursor):
        return cursor.extent.start.offset, cursor.extent.end.offset

    def text(self, begin, end):
        return self.source[begin:end].decode(errors='replace')

    def site(self, kind, cursor, text):
        start = cursor.extent.start
        self.sites.append(Site(kind, start.line, start.column, ' '.join(text.split())))
        return self.sites[-1]

    def operator(self, cursor, left, right):
        """What stands between the two sides, if it is an operator and both sides are written there."""
        begin, end = self.span(cursor)
        a, b = self.span(left), self.span(right)
        if not (begin == a[0] < a[1] <= b[0] < b[1] == end):
            return None
        return self.text(a[1], b[0]).strip()

    # ---- the tree ----------------------------------------------------------------------------------------------

    def walk(self, cursor):
        for child in cursor.get_children():
            self.statement(child)

    def statement(self, cursor):
        kind, children = cursor.kind, list(cursor.get_children())
        if kind in CONSTANT or self.is_expanded(cursor):
            return
        if kind == K.VAR_DECL:
            self.variable(cursor, children)
            return
        if kind == K.CASE_STMT:
            children = children[1:]
        if kind in (K.COMPOUND_STMT, K.IF_STMT, K.FOR_STMT, K.WHILE_STMT, K.DO_STMT, K.CASE_STMT, K.DEFAULT_STMT):
            self.left_out(cursor, kind, children)
        if kind in (K.IF_STMT, K.WHILE_STMT, K.CONDITIONAL_OPERATOR) and children:
            self.condition(children[0])
        if kind == K.DO_STMT:
            self.condition(children[-1])
        if kind == K.FOR_STMT:
            self.condition_of_for(cursor, children)
        if kind == K.RETURN_STMT and children and self.is_bool:
            self.condition(children[0])
        if kind == K.BINARY_OPERATOR and len(children) == 2:
            self.binary(cursor, *children)
        if kind == K.INTEGER_LITERAL:
            self.constant(cursor)
        for child in children:
            if not (kind == K.INIT_LIST_EXPR and child.kind == K.INTEGER_LITERAL):
                self.statement(child)

    def variable(self, cursor, children):
        is_static = cursor.storage_class == clang.cindex.StorageClass.STATIC
        if children and not is_static and '=' in self.text(*self.span(cursor)):
            self.statement(children[-1])

    def left_out(self, parent, kind, children):
        """A statement of a block, or the body of an if or a loop."""
        if kind == K.FOR_STMT:
            children = children[-1:]
        elif kind in (K.IF_STMT, K.WHILE_STMT):
            children = children[1:]
        elif kind == K.DO_STMT:
            children = children[:1]
        for child in children:
            is_call = child.kind in (K.CALL_EXPR, K.COMPOUND_ASSIGNMENT_OPERATOR, K.UNARY_OPERATOR, K.BREAK_STMT, K.CONTINUE_STMT)
            if self.is_expanded(child) or not is_call and not (child.kind == K.BINARY_OPERATOR and self.is_assignment(child)):
                continue
            begin, end = self.span(child)
            semicolon = self.source.find(b';', end)
            if semicolon < 0 or self.text(end, semicolon).strip():
                continue
            site = self.site('statement', child, f'{self.text(begin, end)};  left out')
            site.before.append((begin, '{ if (!wrong_is(@)) '))
            site.after.append((semicolon + 1, ' }'))

    def is_assignment(self, cursor):
        children = list(cursor.get_children())
        return len(children) == 2 and self.operator(cursor, *children) == '='

    def wrap(self, cursor, site, before, after):
        begin, end = self.span(cursor)
        site.before.append((begin, before))
        site.after.append((end, after))

    def condition(self, cursor):
        begin, end = self.span(cursor)
        if begin < end and not self.is_expanded(cursor):
            self.wrap(cursor, self.site('condition', cursor, f'not ({self.text(begin, end)})'), 'WRONG_CONDITION(@, (', '))')

    def condition_of_for(self, cursor, children):
        """What stands between its two semicolons: any of the three parts may be missing."""
        begin, body = self.span(cursor)[0], self.span(children[-1])[0]
        semicolons = [at for at in range(begin, body) if self.source[at:at + 1] == b';']
        if len(semicolons) == 2:
            for child in children[:-1]:
                if semicolons[0] < self.span(child)[0] < semicolons[1]:
                    self.condition(child)

    def binary(self, cursor, left, right):
        op = self.operator(cursor, left, right)
        whole = self.text(*self.span(cursor))
        if op in ('&&', '||'):
            for side in (left, right):
                site = self.site('term', side, f'{whole}  without  {self.text(*self.span(side))}')
                self.wrap(side, site, '(wrong_is(@) || (' if op == '&&' else '(!wrong_is(@) && (', '))')
            return
        wrong = COMPARISONS.get(op) or self.other_arithmetic(cursor, op, left, right)
        if not wrong:
            return
        site = self.site('comparison' if op in COMPARISONS else 'arithmetic', cursor, f'{whole}  with  {wrong}')
        plus = ['+' if self.is_number(side) else '' for side in (left, right)]
        begin, end = self.span(cursor)
        site.before.append((begin, f'WRONG_BINARY(@, {op}, {wrong}, {plus[0]}('))
        between = self.span(left)[1], self.span(right)[0]
        lines = '\n' * self.text(*between).count('\n')  # so that every line keeps its number
        site.replaced.append((*between, f'), {lines}{plus[1]}('))
        site.after.append((end, '))'))

    @staticmethod
    def is_number(cursor):
        return cursor.type.get_canonical().kind not in (T.POINTER, T.CONSTANTARRAY, T.INCOMPLETEARRAY, T.RECORD)

    def other_arithmetic(self, cursor, op, left, right):
        wrong = ARITHMETIC.get(op)
        if not wrong:
            return None
        numbers = self.is_number(left) and self.is_number(right)
        if not numbers and not (op in '+-' and self.is_number(right)):
            return None
        if any(side.type.get_canonical().kind in FLOATS for side in (left, right)) and wrong in ('%', '<<', '>>', '&', '|'):
            return None
        return wrong

    def constant(self, cursor):
        begin, end = self.span(cursor)
        text = self.text(begin, end)
        if text[:1].isdigit():
            self.wrap(cursor, self.site('constant', cursor, f'{text}  one more'), '(', ' + wrong_is(@))')

    # ---- the text ----------------------------------------------------------------------------------------------

    def rewritten(self, first, without=()):
        """The whole file, its changes numbered from `first`. Changes on lines of `without` are not made."""
        edits = []  # (offset, order, begin, end, text): suffixes of inner, then of outer, then prefixes of outer, of inner
        for number, site in enumerate(self.sites):
            if site.line in without:
                continue
            for at, text in site.before:
                edits.append((at, 1, number, at, text.replace('@', str(first + number))))
            for at, text in site.after:
                edits.append((at, 0, -number, at, text.replace('@', str(first + number))))
            for at, to, text in site.replaced:
                edits.append((at, 0, 1, to, text))
        out, done = [], 0
        for at, _, _, to, text in sorted(edits, key=lambda e: e[:3]):
            out += [self.source[done:at], text.encode()]
            done = max(done, to)
        return b''.join(out + [self.source[done:]])
