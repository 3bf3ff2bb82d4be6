import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { PreparedStatement } from '../statements.ts';
import { createdFunction, type DatabaseFunction, hashedName, productFunctions } from './names.ts';
import { withoutParts } from './parts.ts';
import { fillRegions, type Regions } from './regions.ts';

/** The lines of a file that derive from a table of the code. */
export interface Generated<Table> {
  /** The table that `npm run sql` fills the regions from. */
  table: Table;
  regions: Regions<Table>;
}

/** A `.sql` file beside the code that sends it. The file runs as it stands. */
class SqlFile<Table> {
  readonly #path: string;
  readonly #source: string;
  readonly #generated: Generated<Table> | undefined;

  constructor(from: string, file: string, generated?: Generated<Table>) {
    this.#path = fileURLToPath(new URL(file, from));
    this.#source = readFileSync(this.#path, 'utf8');
    this.#generated = generated;
    productFunctions();
  }

  get path(): string {
    return this.#path;
  }

  get base(): string {
    return basename(this.#path, '.sql');
  }

  get source(): string {
    return this.#source;
  }

  /** The SQL of the regions, by name, from the table of the product. */
  get regions(): ReadonlyMap<string, string> {
    const { table, regions = {} } = this.#generated ?? {};
    return new Map(Object.entries(regions).map(([name, sql]) => [name, sql(table as Table)]));
  }

  /** The file with regions filled from another table. */
  protected filledFrom(table: Table): string {
    const { regions = {} } = this.#generated ?? {};
    return fillRegions(this.#source, (name) => regions[name]?.(table) ?? '');
  }
}

/** A statement. Spread it into what `query` is given: it has a `name` and a `text`. */
export class SqlStatement<Table = undefined> extends SqlFile<Table> implements PreparedStatement {
  declare readonly name: string;
  declare readonly text: string;

  constructor(from: string, file: string, generated?: Generated<Table>) {
    super(from, file, generated);
    Object.assign(this, this.#prepare(this.source));
  }

  /** The statement with its regions filled from another table, under another name. For tests. */
  filled(table: Table): PreparedStatement {
    return this.#prepare(this.filledFrom(table));
  }

  /** The statement without some of its parts, under another name. */
  without(...parts: readonly string[]): PreparedStatement {
    return this.#prepare(withoutParts(this.source, parts));
  }

  #prepare(source: string): PreparedStatement {
    const text = productFunctions().resolve(source);
    return { name: hashedName(this.base, text), text };
  }
}

/** A function of the database. */
export class SqlFunction<Table = undefined> extends SqlFile<Table> {
  /** As it is installed: see {@link DatabaseFunction}. */
  get installed(): DatabaseFunction {
    const found = productFunctions().all.find(({ base }) => base === this.base);
    if (!found) throw new Error(`${this.path} creates no function ${this.base}`);
    return found;
  }

  /** The name under which it is installed, for SQL that calls it and is composed in the code. */
  get name(): string {
    return this.installed.name;
  }

  /** The function with its regions filled from another table, under another name. For tests, which install it. */
  filled(table: Table): DatabaseFunction {
    return productFunctions().make(this.base, this.filledFrom(table));
  }
}

/**
 * Defines a statement that stands in a `.sql` file. Export it, so that `npm run sql` finds it.
 * @param from `import.meta.url` of the file that sends it
 * @param file its path from there, such as `./release_claims.sql`. Its name begins the name of the prepared statement.
 */
export const defineSql = <Table = undefined>(from: string, file: string, generated?: Generated<Table>) =>
  new SqlStatement<Table>(from, file, generated);

/**
 * Defines a function of the database that stands in a `.sql` file of its name. `migrate` installs it. A function that
 * only SQL files call, by the name in its file, needs no definition unless it has regions.
 */
export const defineFunction = <Table = undefined>(
  from: string,
  file: string,
  generated?: Generated<Table>,
) => {
  const made = new SqlFunction<Table>(from, file, generated);
  if (createdFunction(made.source) !== made.base) throw new Error(`${made.path} creates no ${made.base}`);
  return made;
};
