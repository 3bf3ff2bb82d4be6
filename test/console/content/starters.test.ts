// Every design that a letter can begin with is taken by the API, and its texts open in the text editor unchanged.
import { describe, expect, it } from '@jest/globals';
import type { Section } from '../../../console/src/editors/content/content.ts';
import { htmlOf } from '../../../console/src/editors/content/rich-html.ts';
import { parseHtml } from '../../../console/src/editors/content/rich-parser.ts';
import { STARTERS } from '../../../console/src/editors/content/starters.ts';
import { designSchema } from '../../../src/delivery/contents/design.ts';

const plain = (sections: readonly Section[]): Section[] =>
  sections.flatMap((section) =>
    section.type === 'columns' ? section.props.columns.flatMap((column) => column.sections) : [section],
  );

describe.each(STARTERS.map((starter) => [starter.name, starter] as const))('%s', (_name, { sections }) => {
  it('is a design of the API', () => {
    expect(designSchema.parse({ sections, theme: {} }).sections).toHaveLength(sections.length);
  });

  it('has texts that the text editor can hold', () => {
    const texts = plain(sections).flatMap(({ type, props }) =>
      type === 'text' && 'html' in props ? [props.html ?? ''] : [],
    );
    expect(texts.length).toBeGreaterThan(0);
    for (const html of texts) {
      const read = parseHtml(html);
      expect(read && htmlOf(read)).toBe(html);
    }
  });

  it('has no button that leads somewhere already', () => {
    const buttons = plain(sections).filter(({ type }) => type === 'button');
    expect(buttons.filter(({ props }) => 'href' in props && props.href !== '')).toEqual([]);
  });
});
