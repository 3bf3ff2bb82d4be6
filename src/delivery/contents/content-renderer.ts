/** Renders contents without tags on the caller's thread. */
import {
  type ContentValues,
  type DividedContent,
  type DividedText,
  MAX_RENDERED,
  type Renderable,
  RenderError,
  type RenderedContent,
} from './content.ts';
import { FilterLimitError, type Mode } from './filters.ts';
import { parsePieces, type Pieces, renderPieces, type Slot, slotText } from './outputs.ts';

interface ParsedContent {
  subject: Pieces | null;
  html: Pieces | null;
  text: Pieces | null;
}

const MODES = { subject: 'header', html: 'html', text: 'text' } as const satisfies Record<string, Mode>;
type Field = keyof typeof MODES;

function parse(content: Renderable): ParsedContent | null {
  const parsed: ParsedContent = { subject: null, html: null, text: null };
  for (const field of Object.keys(MODES) as Field[]) {
    const text = content[field];
    if (text === null) continue;
    parsed[field] = parsePieces(text, MODES[field]);
    if (!parsed[field]) return null;
  }
  return parsed;
}

/** A failing filter is the content's fault. */
function rendering<Result>(run: () => Result): Result {
  try {
    return run();
  } catch (error) {
    throw error instanceof FilterLimitError ? new RenderError(error.message) : error;
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
    render: (values) =>
      rendering(() => {
        let length = 0;
        return slots.map((slot) => {
          const text = slotText(slot, values, mode);
          length += text.length;
          if (length > MAX_RENDERED) throw new RenderError('the content is longer than 2 MB');
          return text;
        });
      }),
  };
}

export interface ContentRenderer {
  /** @returns null if the content has to be rendered in a thread */
  render(content: Renderable, values: ContentValues): RenderedContent | null;
  canRender(content: Renderable): boolean;
  divide(content: Renderable): DividedContent | null;
}

/** What a content was parsed into is kept for as long as the content is. */
export function createContentRenderer(): ContentRenderer {
  const known = new WeakMap<Renderable, { parsed: ParsedContent | null; divided?: DividedContent | null }>();

  function find(content: Renderable) {
    let found = known.get(content);
    if (!found) known.set(content, (found = { parsed: parse(content) }));
    return found;
  }

  return {
    canRender: (content) => find(content).parsed !== null,
    render(content, values) {
      const { parsed } = find(content);
      if (!parsed) return null;
      const text = (field: Field) => {
        const pieces = parsed[field];
        return pieces && renderPieces(pieces, values, MODES[field]);
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
