/** MJML to HTML, without includes, configuration files and fonts from elsewhere. */
import mjmlCore from 'mjml-core';
import parse from 'mjml-parser-xml';
import presetCore from 'mjml-preset-core';
import type { MjmlNode } from './design-mjml.ts';
import { faultOfSize } from './mjml-limits.ts';

export interface MjmlResult {
  html: string;
  /** What MJML finds wrong, with its line; the HTML is there in any case. */
  warnings: { line: number; message: string }[];
}

/** A text that cannot become HTML. */
export class MjmlError extends Error {}

const options = {
  presets: [presetCore],
  ignoreIncludes: true,
  keepComments: false,
  minify: false,
  beautify: false,
  fonts: {},
};

const parserOptions = {
  components: Object.fromEntries(presetCore.components.map((each) => [each.componentName, each])),
  keepComments: false,
  ignoreIncludes: true,
};

/** Whitespace counts in these. */
const PREFORMATTED = /<(?:pre|textarea)\b/i;

/** The HTML without indentation, empty lines, and line breaks in tags, which are a quarter of what MJML writes. */
function withoutIndentation(html: string): string {
  if (PREFORMATTED.test(html)) return html;
  return html
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join('\n')
    .replaceAll(/<([a-z]+)\n/g, '<$1 ')
    .replaceAll(/"\n(\/?)>/g, '"$1>');
}

/**
 * @param mjml a text of an author, or a tree
 * @throws MjmlError
 */
export async function mjmlToHtml(mjml: string | MjmlNode): Promise<MjmlResult> {
  try {
    const validationLevel = typeof mjml === 'string' ? 'soft' : 'skip';
    const tree = typeof mjml === 'string' ? parse<MjmlNode>(mjml, parserOptions) : mjml;
    const fault = faultOfSize(tree);
    if (fault !== null) throw new Error(fault);
    const { html, errors } = await mjmlCore.default(tree, { ...options, validationLevel });
    const warnings = errors.map(({ line, message, tagName }) => ({
      line,
      message: `${tagName}: ${message}`,
    }));
    return { html: withoutIndentation(html), warnings };
  } catch (error) {
    throw new MjmlError((error as Error).message.slice(0, 300), { cause: error });
  }
}
