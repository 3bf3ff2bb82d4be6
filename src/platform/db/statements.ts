import { fileURLToPath } from 'node:url';
import { hashedName } from './sql/names.ts';

/** A statement as the driver takes it: each connection prepares it once, under its name. */
export interface PreparedStatement {
  name: string;
  text: string;
}

interface Definition<Name extends string, Shape, Given extends object | undefined> {
  /** `import.meta.url` of the file that defines it. */
  from: string;
  /** The function that sends it. */
  sentBy: string;
  /** What it does, in one or two sentences. */
  does: string;
  /** What `$1`, `$2` and so on are: the type, a colon, and what they contain. */
  parameters: readonly string[];
  /** The shapes that are sent, by name, each with what its text depends on. */
  shapes: Readonly<Record<Name, Shape>>;
  /** What each shape is for. Left out if there is only one. */
  when?: Readonly<Record<NoInfer<Name>, string>>;
  /**
   * Part of the prepared names. Raise it if the text changes, because connections of an older version have prepared
   * that. `hash`: a hash of the text, for a text that has hashes itself, of the functions that it calls.
   */
  version?: number | 'hash';
  compose: (shape: Shape, given: Given) => string;
}

/**
 * A statement that is composed of fragments from several functions or files. `npm run sql` writes each of its shapes, as
 * PostgreSQL receives it, to `docs/sql`. See `docs/statements.md`.
 */
export class ComposedStatement<Name extends string, Given extends object | undefined> {
  readonly #definition: Definition<Name, unknown, Given>;
  readonly #composed = new WeakMap<object, Map<Name, PreparedStatement>>();

  constructor(definition: Definition<Name, unknown, Given>) {
    this.#definition = definition;
  }

  /** What a reader of the statement wants to know besides its text. */
  get description() {
    const { from, sentBy, does, parameters, shapes, when } = this.#definition;
    const names = Object.keys(shapes) as Name[];
    return { path: fileURLToPath(from), sentBy, does, parameters, shapes: names, when };
  }

  /**
   * Returns the statement in one shape. It is composed once: that takes longer than running it for a small batch.
   * @param given what its text depends on besides the shape, always the same object
   */
  prepared(shape: Name, ...[given]: undefined extends Given ? [] : [Given]): PreparedStatement {
    return this.#composed.get(given ?? this)?.get(shape) ?? this.#compose(shape, given as Given);
  }

  #compose(shape: Name, given: Given): PreparedStatement {
    const { shapes, version, compose } = this.#definition;
    if (!(shape in shapes)) throw new Error(`the statement has no shape ${shape}`);
    const text = compose(shapes[shape], given);
    const versioned = version === undefined ? shape : `${shape}_${version}`;
    const statement = { name: version === 'hash' ? hashedName(shape, text) : versioned, text };
    const composed = this.#composed.get(given ?? this) ?? new Map<Name, PreparedStatement>();
    this.#composed.set(given ?? this, composed.set(shape, statement));
    return statement;
  }
}

/** Defines a statement that is composed of fragments. Export it, so that `npm run sql` finds it. */
export function defineStatement<
  const Name extends string,
  Shape,
  Given extends object | undefined = undefined,
>(definition: Definition<Name, Shape, Given>): ComposedStatement<Name, Given> {
  return new ComposedStatement(definition as Definition<Name, unknown, Given>);
}
