/** The folder `docs/sql`: composed statements as PostgreSQL receives them. `write-statements.ts` writes it. */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { eventConsumers } from '../../src/features/events.ts';
import { ComposedStatement } from '../../src/platform/db/statements.ts';
import { createEventPublisher } from '../../src/platform/events/publish.ts';
import { layOut } from './lay-out.ts';
import { examples } from './statement-examples.ts';
import { committedFiles, FOLDER, root } from './statement-files.ts';

/** Each is given the publisher, though some need none. */
type AnyStatement = ComposedStatement<string, object>;

/** What the statements of the product are composed of besides their shapes. */
const publisher = createEventPublisher(eventConsumers);

/** Loads what the files of the product define. */
async function definedStatements(): Promise<AnyStatement[]> {
  const found: AnyStatement[] = [];
  for (const path of globSync('src/**/*.ts', { cwd: root }).sort()) {
    const calls =
      readFileSync(join(root, path), 'utf8').match(/= define(?:Statement|Writing)\(/g)?.length ?? 0;
    if (calls === 0) continue;
    const exported = Object.values((await import(join(root, path))) as Record<string, unknown>);
    const statements = exported.filter((value) => value instanceof ComposedStatement) as AnyStatement[];
    if (statements.length < calls) throw new Error(`${path} does not export each statement that it defines.`);
    found.push(...statements);
  }
  return found;
}

const comment = (line: string) => `-- ${line}`.trimEnd();

/** The parameters that the text has. */
const numbered = (parameters: readonly string[], text: string) =>
  parameters.flatMap((parameter, n) =>
    new RegExp(`[$]${n + 1}(?!\\d)`).test(text) ? [`$${n + 1} ${parameter}`] : [],
  );

/** The heading of a file: what the text itself does not say. */
function headingOf(statement: AnyStatement, shape: string, { name, text }: { name: string; text: string }) {
  const { path, sentBy, does, parameters, shapes, when } = statement.description;
  const described = numbered(parameters, text);
  const others = shapes.filter((other) => other !== shape);
  return [
    `Prepared as ${name}`,
    'Written by npm run sql: see docs/statements.md.',
    '',
    does,
    ...(when ? [`This shape: ${when[shape]}.`, `Others: ${others.join(', ')}.`] : []),
    `Defined in ${relative(root, path)}, sent by ${sentBy}().`,
    ...(described.length > 0 ? ['', ...described] : []),
  ].map(comment);
}

/** @returns the contents of all files, by path from the repository's root */
export async function composeFiles(): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  for (const statement of await definedStatements()) {
    const { path, shapes } = statement.description;
    const folder = relative(join(root, 'src'), dirname(path));
    for (const shape of shapes) {
      const made = statement.prepared(shape, publisher);
      const file = join(FOLDER, folder, `${shape.replaceAll('+', '.')}.sql`);
      if (files.has(file)) throw new Error(`two statements are written to ${file}`);
      files.set(file, [...headingOf(statement, shape, made), '', layOut(made.text), ''].join('\n'));
    }
  }
  for (const { file, from, does, parameters, text } of examples) {
    const heading = ['Written by npm run sql: see docs/statements.md.', '', `An example. ${does}`];
    const lines = [...heading, `Composed in ${from}.`, '', ...numbered(parameters, text)].map(comment);
    files.set(join(FOLDER, file), [...lines, '', layOut(text), ''].join('\n'));
  }
  return files;
}

/** @returns what is wrong with the committed files */
export async function findStatementFaults(): Promise<string[]> {
  const [composed, committed] = [await composeFiles(), committedFiles()];
  const stale = [...committed.keys()].filter((path) => !composed.has(path));
  const differing = [...composed].filter(([path, contents]) => committed.get(path) !== contents);
  return [
    ...differing.map(([path]) => `${path} is not what the code composes: npm run sql writes it.`),
    ...stale.map((path) => `${path} belongs to no statement: npm run sql removes it.`),
  ];
}
