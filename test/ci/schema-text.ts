/** Writes a catalogue as SQL for readers, in the spelling of the migrations. */
import type { Catalogue, Column, Defined, Table } from './catalogue.ts';

const WIDTH = 120;
/** A string or a quoted name, which stays as it is, or what is between them. */
const PIECES = /'(?:[^']|'')*'|"(?:[^"]|"")*"|[^'"]+/g;
/** A string, a quoted name or any other word, with the spaces before it. */
const WORDS = /\s*(?:'(?:[^']|'')*'|"(?:[^"]|"")*"|[^\s'"])+/g;
const LITERALS = `(?:'(?:[^']|'')*'::text|-?\\d+)`;
const ANY_OF = new RegExp(`= any \\(array\\[(${LITERALS}(?:, ${LITERALS})*)\\]\\)`, 'g');

const inLowerCase = (sql: string) =>
  sql.replaceAll(PIECES, (piece) => (/^['"]/.test(piece) ? piece : piece.toLowerCase()));

/** PostgreSQL stores `x in ('a', 'b')` as `x = ANY (ARRAY['a'::text, 'b'::text])`. */
function simplified(sql: string): string {
  return inLowerCase(sql)
    .replaceAll(ANY_OF, 'in ($1)')
    .replaceAll(/(?<=')::text(?!\[)/g, '')
    .replaceAll('timestamp with time zone', 'timestamptz')
    .replaceAll(' without time zone', '');
}

/** Divides text into lines of at most 120 characters, but never a string. */
function wrapped(text: string, first: string, others: string): string {
  const lines: string[] = [];
  let line = first;
  for (const [word] of text.matchAll(WORDS)) {
    if (line.trim() !== first.trim() && (line + word).length > WIDTH) {
      lines.push(line);
      line = others + word.trimStart();
    } else line += line === first ? word.trimStart() : word;
  }
  return [...lines, line].join('\n');
}

/** Divides a comment into lines. It may contain a single apostrophe, so quotes do not count. */
function commented(comment: string | null, indent = ''): string[] {
  if (comment === null) return [];
  const lines: string[] = [];
  let line = `${indent}--`;
  for (const word of comment.split(/\s+/)) {
    if ((line + word).length >= WIDTH) {
      lines.push(line);
      line = `${indent}--`;
    }
    line += ` ${word}`;
  }
  return [...lines, line];
}

function valueOf({ expression, identity, generated, type }: Column): string {
  if (identity) return ` generated ${identity === 'a' ? 'always' : 'by default'} as identity`;
  if (expression === null) return '';
  const sql = simplified(expression);
  if (generated) return ` generated always as (${sql}) ${generated === 'v' ? 'virtual' : 'stored'}`;
  const [, literal, cast] = /^('(?:[^']|'')*')::(.+)$/.exec(sql) ?? [];
  const bare = cast === simplified(type) ? literal : sql;
  return ` default ${bare}`;
}

function columnLine(column: Column): string {
  const notNull = column.notNull && !column.identity ? ' not null' : '';
  return `${column.name} ${simplified(column.type)}${notNull}${valueOf(column)}`;
}

function bodyOf({ columns, constraints }: Table): string {
  const parts = [
    ...columns.map((column) => ({ comment: column.comment, line: columnLine(column) })),
    ...constraints.map(({ name, definition, comment }) => ({
      comment,
      line: `constraint ${name} ${simplified(definition)}`,
    })),
  ];
  return parts
    .map(({ comment, line }, n) => {
      const comma = n < parts.length - 1 ? ',' : '';
      return [...commented(comment, '  '), wrapped(line + comma, '  ', '    ')].join('\n');
    })
    .join('\n');
}

function indexLine({ definition }: Defined): string {
  return simplified(definition).replace(' on only ', ' on ').replace(' using btree ', ' ');
}

function tableText(table: Table): string {
  const { name, comment, unlogged, partitionKey, storage, indexes, triggers } = table;
  const ending = [
    ...(partitionKey === null ? [] : [` partition by ${partitionKey.toLowerCase()}`]),
    ...(storage.length > 0 ? [` with (${storage.map((each) => each.replace('=', ' = ')).join(', ')})`] : []),
  ].join('');
  const withComment = (of: Defined, line: string) => [
    ...commented(of.comment),
    wrapped(`${line};`, '', '    '),
  ];
  return [
    ...commented(comment),
    `create ${unlogged ? 'unlogged ' : ''}table ${name} (`,
    bodyOf(table),
    wrapped(`)${ending};`, '', '  '),
    ...indexes.flatMap((index) => withComment(index, indexLine(index))),
    ...triggers.flatMap((trigger) => withComment(trigger, simplified(trigger.definition))),
  ].join('\n');
}

/** The body stays as the migration has it. */
function functionText({ definition, comment }: Defined): string {
  const start = definition.indexOf('\nAS $');
  const head = simplified(definition.slice(0, start))
    .replace('create or replace ', 'create ')
    .replaceAll(/\s+/g, ' ')
    .replace(/ (?=returns )/, '\n  ');
  const [first = '', rest = ''] = head.split('\n');
  const lines = [wrapped(first, '', '    '), wrapped(rest.trim(), '  ', '  ')];
  const body = definition.slice(start + '\nAS '.length).trimEnd();
  return [...commented(comment), ...lines, `as ${body};`].join('\n');
}

/** Definitions that need few words around them. */
const simpleText = (line: (of: Defined) => string) => (of: Defined) =>
  [...commented(of.comment), line(of)].join('\n');

const sequenceText = simpleText(({ name, definition }) => `create sequence ${name} as ${definition};`);
const typeText = simpleText(({ name, definition }) =>
  wrapped(`create type ${name} as enum (${definition});`, '', '  '),
);
const viewText = simpleText(({ name, definition }) => `create view ${name} as\n${definition}`);

function section(title: string, texts: readonly string[]): string[] {
  return texts.length === 0 ? [] : [`-- ${title}`, ...texts];
}

/** @returns a block for each object, with an empty line between two blocks */
export function schemaText(catalogue: Catalogue, schema: string): string {
  const ofSchema = new RegExp(`\\b${schema}\\.(?=\\w)`, 'g');
  const functions = catalogue.functions.map((each) => {
    const definition = each.definition.replace(ofSchema, '');
    return functionText({ ...each, definition });
  });
  const triggered = catalogue.tables.map((table) => tableText(table).replaceAll(ofSchema, ''));
  return [
    ...section('Tables', triggered),
    ...section('Sequences that no identity column owns', catalogue.sequences.map(sequenceText)),
    ...section('Types', catalogue.types.map(typeText)),
    ...section('Functions', functions),
    ...section('Views', catalogue.views.map(viewText)),
  ].join('\n\n');
}
