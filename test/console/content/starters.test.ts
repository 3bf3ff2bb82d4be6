// Every design that a letter can begin with is taken by the API, and its texts open in the text editor unchanged.
import { describe, expect, it } from '@jest/globals';
import type { Section } from '../../../console/src/editors/content/content.ts';
import { htmlOf } from '../../../console/src/editors/content/rich-html.ts';
import { parseHtml } from '../../../console/src/editors/content/rich-parser.ts';
import { STARTERS } from '../../../console/src/editors/content/starters.ts';
import {
  insertAt,
  isPlain,
  newSection,
  withoutRepeats,
} from '../../../console/src/editors/content/sections.ts';
import { designSchema } from '../../../src/delivery/content/templates/design.ts';

const plain = (sections: readonly Section[]): Section[] =>
  sections.flatMap((section) =>
    section.type === 'columns' ? section.props.columns.flatMap((column) => column.sections) : [section],
  );

describe.each(STARTERS.map((starter) => [starter.name, starter] as const))('%s', (_name, starter) => {
  const sections = starter.sections();

  it('has no section twice, and shares none with another letter, because a section is known by its identity', () => {
    const both = [...sections, ...starter.sections()];
    const inColumns = plain(both.filter(({ type }) => type === 'columns'));
    expect(new Set([...both, ...inColumns]).size).toBe(both.length + inColumns.length);
    expect(withoutRepeats(sections)).toBe(sections);
  });

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

describe('a section that stands twice', () => {
  const divider = newSection('divider');
  const columns = (...lists: Section[][]): Section => ({
    type: 'columns',
    props: { columns: lists.map((each) => ({ sections: each.filter(isPlain) })) },
  });

  it('becomes a copy when it is added', () => {
    const added = insertAt([divider, columns([], [])], [1, 1, 0], divider);
    expect(withoutRepeats(added)).toBe(added);
    expect(added).toEqual([divider, columns([], [divider])]);
    const after = insertAt([columns([divider], [])], [0], divider);
    expect(withoutRepeats(after)).toBe(after);
    expect(after).toEqual([divider, columns([divider], [])]);
  });
});
