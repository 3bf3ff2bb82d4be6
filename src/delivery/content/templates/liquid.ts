/**
 * The Liquid library, sandboxed: no files, partials or layouts, own properties only, and limits on length, time and
 * memory. It runs in threads only (see `engine.ts`).
 */
import {
  CaptureTag,
  Context,
  Drop,
  type Emitter,
  Liquid,
  LiquidError,
  type Template,
  toValueSync,
} from 'liquidjs';
import { checkRenderedLength, RenderError, RenderTimeoutError } from './content.ts';
import { createFilters, type Filter, type Mode } from './filters.ts';
import { withLimits } from './list-limits.ts';
import { tableRowTag } from './table-rows.ts';
import { escapeValue, headerValue, textOf, withoutControls } from './values.ts';

/** Maximum length of a template. A body has at most 2 MB, and a design of 512 KB may grow eightfold. */
export const MAX_TEMPLATE = 4 * 1024 * 1024;
/** Maximum number of outputs and tags in a template. Beyond about 16,000, the library takes quadratic time. */
const MAX_PIECES = 8_000;
/** How long rendering one message may take, in ms. */
const RENDER_MS = 1_000;
/** Maximum number of characters and elements that the filters and ranges of one rendering may create. */
const MAX_MEMORY = 4 * 1024 * 1024;

/** They read other templates. */
const REMOVED_TAGS = ['include', 'render', 'layout', 'block'];
/** They evaluate expressions given as text, or print all values at once. */
const REMOVED_FILTERS = [
  'find_exp',
  'find_index_exp',
  'group_by_exp',
  'has_exp',
  'inspect',
  'reject_exp',
  'where_exp',
];

/** The result of `capture`, in which outputs are already escaped. */
class CapturedText extends Drop {
  readonly text: string;

  constructor(text: string) {
    super();
    this.text = text;
  }

  override valueOf(): string {
    return this.text;
  }
}

const plain = (value: unknown) => (value instanceof Drop ? value.valueOf() : value);

/**
 * Collects the rendered text up to the maximum length: a much longer one could run the whole process out of memory
 * before the time limit is reached.
 */
class BoundedEmitter implements Emitter {
  buffer = '';

  write(value: unknown): void {
    this.buffer += textOf(plain(value));
    checkRenderedLength(this.buffer.length);
  }
}

class CaptureEscapedTag extends CaptureTag {
  override *render(context: Context): Generator<unknown, void, string> {
    const text = yield this.liquid.renderer.renderTemplates(this.templates, context, new BoundedEmitter());
    context.memoryLimit.use(text.length);
    context.bottom()[this.variable] = new CapturedText(text);
  }
}

function boundedTextOf(value: unknown): string {
  const text = textOf(plain(value));
  checkRenderedLength(text.length);
  return text;
}

function escaperOf(mode: Mode): (value: unknown) => string {
  if (mode === 'text') return (value) => withoutControls(boundedTextOf(value));
  if (mode === 'header') return (value) => headerValue(boundedTextOf(value));
  return (value) => (value instanceof CapturedText ? value.text : escapeValue(boundedTextOf(value)));
}

function handlerOf(filter: Filter, mode: Mode) {
  return function handle(this: { context: Context }, value: unknown, ...args: unknown[]): unknown {
    const made = filter.run(plain(value), args.map(plain), mode);
    if (typeof made === 'string') this.context.memoryLimit.use(made.length);
    return made;
  };
}

function createLiquid(mode: Mode): Liquid {
  const liquid = new Liquid({
    ownPropertyOnly: true,
    strictFilters: true,
    strictVariables: false,
    dynamicPartials: false,
    relativeReference: false,
    // No file is ever read: the tags that read files are removed, and there are no directories.
    root: [],
    partials: [],
    layouts: [],
    templates: {},
    locale: 'en-US',
    timezoneOffset: 0,
    outputEscape: escaperOf(mode),
    parseLimit: MAX_TEMPLATE,
    renderLimit: RENDER_MS,
    memoryLimit: MAX_MEMORY,
  });
  for (const tag of REMOVED_TAGS) delete liquid.tags[tag];
  for (const filter of REMOVED_FILTERS) liquid.unregisterFilter(filter);
  for (const [name, filter] of Object.entries(liquid.filters)) {
    const { handler, raw } = typeof filter === 'function' ? { handler: filter, raw: false } : filter;
    liquid.registerFilter(name, { handler: withLimits(handler), raw: raw === true });
  }
  liquid.registerTag('capture', CaptureEscapedTag);
  liquid.registerTag('tablerow', tableRowTag(mode));
  for (const [name, filter] of Object.entries(createFilters())) {
    const raw = mode === 'html' && filter.returnsHtml === true;
    liquid.registerFilter(name, { handler: handlerOf(filter, mode), raw });
  }
  return liquid;
}

const liquids: Record<Mode, Liquid> = {
  html: createLiquid('html'),
  text: createLiquid('text'),
  header: createLiquid('header'),
};

/** A text is not valid Liquid. `line` counts from 1. */
export class LiquidSyntaxError extends Error {
  readonly line: number;

  constructor(message: string, line: number) {
    super(message);
    this.line = line;
  }
}

/** The library's message, without the place, which it appends. */
const PLACE = /, line:\d+, col:\d+$/;

/** How tags of Handlebars, Mustache and Braze begin. */
const FOREIGN = /^invalid value expression: "[#/^>&!{$@~]/;

function syntaxError(error: unknown): LiquidSyntaxError {
  const { message } = error as Error;
  if (message.startsWith('Maximum call stack')) return new LiquidSyntaxError('tags are nested too deeply', 1);
  const line = LiquidError.is(error) ? (error.token.getPosition()[0] as number) : 1;
  const plain = message.replace(PLACE, '').slice(0, 300);
  return new LiquidSyntaxError(
    FOREIGN.test(plain) ? `${plain}, a tag of another tool, such as Handlebars` : plain,
    line,
  );
}

/** A template, ready to render. */
export interface ParsedLiquid {
  templates: Template[];
  mode: Mode;
}

function hasTooManyPieces(text: string): boolean {
  let count = 0;
  for (let at = text.indexOf('{'); at >= 0; at = text.indexOf('{', at + 1)) {
    if (text[at + 1] === '{' || text[at + 1] === '%') count += 1;
    if (count > MAX_PIECES) return true;
  }
  return false;
}

/** @throws LiquidSyntaxError */
export function parseLiquid(text: string, mode: Mode): ParsedLiquid {
  if (hasTooManyPieces(text)) throw new LiquidSyntaxError('there are more than 8,000 outputs and tags', 1);
  try {
    return { templates: liquids[mode].parse(text), mode };
  } catch (error) {
    throw syntaxError(error);
  }
}

/**
 * Renders a template.
 * @param scope the values by name
 * @throws RenderTimeoutError if it takes too long; RenderError if the result is too long, or a filter fails
 */
export function renderLiquid({ templates, mode }: ParsedLiquid, scope: object): string {
  const liquid = liquids[mode];
  // A copy, because `increment` and `decrement` change it, and the next text of the message must not see that.
  const own = Object.assign(Object.create(null) as object, scope);
  const context = new Context(own, liquid.options, { sync: true }, { liquid });
  const startedAt = performance.now();
  try {
    return toValueSync(liquid.renderer.renderTemplates(templates, context, new BoundedEmitter())) as string;
  } catch (error) {
    if (LiquidError.is(error) && error.originalError instanceof RenderError) throw error.originalError;
    const message = (error as Error).message.slice(0, 300);
    // The library's error for its time limit has no code.
    if (performance.now() - startedAt >= RENDER_MS) throw new RenderTimeoutError(message, { cause: error });
    throw new RenderError(message, { cause: error });
  }
}

/** The paths of the values that a template reads, without those that it assigns itself. Each has at least one name. */
export function pathsOf({ templates, mode }: ParsedLiquid): (string | number)[][] {
  const paths: (string | number)[][] = [];
  for (const variables of Object.values(liquids[mode].analyzeSync(templates, { partials: false }).globals)) {
    for (const { segments } of variables) {
      const names = segments.findIndex((segment) => typeof segment === 'object');
      paths.push((names < 0 ? segments : segments.slice(0, names)) as (string | number)[]);
    }
  }
  return paths;
}
