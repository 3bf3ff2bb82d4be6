/** Renders contents without tags on the caller's thread. */
import {
  checkRenderedLength,
  type ContentValues,
  type DividedContent,
  type DividedText,
  type Renderable,
  RenderError,
  type RenderedContent,
} from './content.ts';
import type { Mode } from './filters.ts';
import { countFilters, parsePieces, type Pieces, type Slot } from './parse-outputs.ts';
import { ReadLimit, ReadLimitError, renderPieces, slotText } from './render-outputs.ts';
import { TextLimitError } from './values.ts';

/** Maximum number of filters in a content that is rendered on the caller's thread. */
const MAX_FILTERS = 100;

interface ParsedContent {
  subject: Pieces | null;
  html: Pieces | null;
  text: Pieces | null;
}

const MODES = { subject: 'header', html: 'html', text: 'text' } as const satisfies Record<string, Mode>;
type Field = keyof typeof MODES;

function parse(content: Renderable): ParsedContent | null {
  const parsed: ParsedContent = { subject: null, html: null, text: null };
  let filters = 0;
  for (const field of Object.keys(MODES) as Field[]) {
    const text = content[field];
    if (text === null) continue;
    const pieces = parsePieces(text, MODES[field]);
    if (!pieces || (filters += countFilters(pieces)) > MAX_FILTERS) return null;
    parsed[field] = pieces;
  }
  return parsed;
}

/**
 * Runs a rendering, and reports a failed filter as the content's fault.
 * @returns null if the message has to be rendered in a thread
 */
function rendering<Result>(run: () => Result): Result | null {
  try {
    return run();
  } catch (error) {
    if (error instanceof ReadLimitError) return null;
    throw error instanceof TextLimitError ? new RenderError(error.message) : error;
  }
}

function sourceOf({ constants, outputs }: Slot): string {
  const sources = outputs.map(({ source }, n) => `{{ ${source} }}${constants[n + 1] ?? ''}`);
  const whole = (constants[0] ?? '') + sources.join('');
  return outputs.length === 1 && constants.every((constant) => constant === '')
    ? (outputs[0]?.source ?? '')
    : whole;
}

function divided({ constants, slots }: Pieces, mode: Mode): DividedText {
  return {
    parts: constants,
    outputs: slots.map(sourceOf),
    render: (values, limit = new ReadLimit()) =>
      rendering(() => {
        let length = 0;
        return slots.map((slot) => {
          const text = slotText(slot, values, mode, limit);
          length += text.length;
          checkRenderedLength(length);
          return text;
        });
      }),
  };
}

export interface ContentRenderer {
  /**
   * @param limit shared by the messages of a batch
   * @returns null if the message has to be rendered in a thread
   */
  render(content: Renderable, values: ContentValues, limit?: ReadLimit): RenderedContent | null;
  canRender(content: Renderable): boolean;
  divide(content: Renderable): DividedContent | null;
}

/** Parsed contents are cached for as long as the caller keeps the content object. */
export function createContentRenderer(): ContentRenderer {
  const known = new WeakMap<Renderable, { parsed: ParsedContent | null; divided?: DividedContent | null }>();

  function find(content: Renderable) {
    let found = known.get(content);
    if (!found) known.set(content, (found = { parsed: parse(content) }));
    return found;
  }

  return {
    canRender: (content) => find(content).parsed !== null,
    render(content, values, limit = new ReadLimit()) {
      const { parsed } = find(content);
      if (!parsed) return null;
      const text = (field: Field) => {
        const pieces = parsed[field];
        return pieces && renderPieces(pieces, values, MODES[field], limit);
      };
      return rendering(() => ({ subject: text('subject'), html: text('html'), text: text('text') }));
    },
    divide(content) {
      const found = find(content);
      if (found.divided !== undefined) return found.divided;
      const { parsed } = found;
      const confined = parsed && !parsed.html?.hasRawHtml;
      const part = (field: Field) => {
        const pieces = parsed?.[field];
        return pieces ? divided(pieces, MODES[field]) : null;
      };
      found.divided = confined ? { subject: part('subject'), html: part('html'), text: part('text') } : null;
      return found.divided;
    },
  };
}
