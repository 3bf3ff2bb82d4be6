/** Converts MJML to HTML, without includes, configuration files and external fonts. */
import mjmlCore from 'mjml-core';
import parse from 'mjml-parser-xml';
import presetCore from 'mjml-preset-core';
import type { MjmlNode } from './design-mjml.ts';
import { faultOfSize } from './mjml-limits.ts';

export interface MjmlResult {
  html: string;
  /** Problems that MJML found, with their lines. The HTML is complete all the same. */
  warnings: { line: number; message: string }[];
}

/** The text cannot be converted to HTML. */
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

/** Whitespace is significant in these elements. */
const PREFORMATTED = /<(?:pre|textarea)\b/i;

/** Removes indentation, empty lines, and line breaks in tags, which make up a quarter of MJML's output. */
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
 * @param mjml an author's text, or a tree
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
