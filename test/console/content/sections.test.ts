// Sections move to every place where they may stand, and no command loses or changes another section.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Section } from '../../../console/src/editors/content/content.ts';
import { merge } from '../../../console/src/editors/draft/merge.ts';
import {
  designOf,
  fieldOf,
  insertAt,
  isPlain,
  mayStandIn,
  moveBy,
  moveTo,
  newSection,
  removeAt,
  replaceAt,
  sectionAt,
  type SectionPath,
  SECTION_TYPES,
  withColumns,
  withInner,
  withoutRepeats,
} from '../../../console/src/editors/content/sections.ts';
import { designSchema } from '../../../src/delivery/content/templates/design.ts';

const spacer = (height: number): Section => ({ type: 'spacer', props: { height } });
const columns = (...lists: Section[][]): Section => ({
  type: 'columns',
  props: { columns: lists.map((sections) => ({ sections: sections.filter(isPlain) })) },
});
/** 1, [2 | 3 4], 5 */
const letter = [spacer(1), columns([spacer(2)], [spacer(3), spacer(4)]), spacer(5)];

/** A letter as a text: heights, and columns in brackets. */
const textOf = (sections: readonly Section[]): string =>
  sections
    .map((section) => {
      if (section.type === 'spacer') return String(section.props.height);
      if (section.type !== 'columns') return section.type;
      return `[${section.props.columns.map((column) => textOf(column.sections)).join(' | ')}]`;
    })
    .join(' ');
const moved = (from: SectionPath, to: SectionPath) => {
  const result = moveTo(letter, from, to);
  return result && [textOf(result.sections), result.path];
};

describe('moving a section', () => {
  it.each<[SectionPath, SectionPath, string, SectionPath]>([
    [[0], [3], '[2 | 3 4] 5 1', [2]],
    [[2], [0], '5 1 [2 | 3 4]', [0]],
    [[1], [0], '[2 | 3 4] 1 5', [0]],
    [[0], [1, 1, 1], '[2 | 3 1 4] 5', [0, 1, 1]],
    [[2], [1, 0, 0], '1 [5 2 | 3 4]', [1, 0, 0]],
    [[1, 1, 0], [1, 1, 2], '1 [2 | 4 3] 5', [1, 1, 1]],
    [[1, 1, 1], [1, 0, 0], '1 [4 2 | 3] 5', [1, 0, 0]],
    [[1, 0, 0], [0], '2 1 [ | 3 4] 5', [0]],
    [[1, 0, 0], [2], '1 [ | 3 4] 2 5', [2]],
    [[0], [0], '1 [2 | 3 4] 5', [0]],
    [[0], [1], '1 [2 | 3 4] 5', [0]],
  ])('from %j before %j gives %s', (from, to, text, path) => {
    expect(moved(from, to)).toEqual([text, path]);
  });

  it('refuses columns in columns', () => {
    expect(moveTo([...letter, columns([], [])], [3], [1, 0, 0])).toBeNull();
    expect(mayStandIn(letter, [1, 0], columns([], []))).toBe(false);
  });

  it('refuses a column with 20 sections and a letter with 100', () => {
    const full = columns(
      Array.from({ length: 20 }, (_, index) => spacer(index + 1)),
      [],
    );
    expect(moveTo([full, spacer(1)], [1], [0, 0, 0])).toBeNull();
    expect(moveTo([full, spacer(1)], [0, 0, 0], [0, 0, 20])).not.toBeNull();
    expect(
      mayStandIn(
        Array.from({ length: 100 }, () => spacer(1)),
        [],
        spacer(1),
      ),
    ).toBe(false);
  });

  it('stops at both ends of its list', () => {
    expect(moveBy(letter, [0], -1)).toBeNull();
    expect(moveBy(letter, [2], 1)).toBeNull();
    expect(moveBy(letter, [1, 0, 0], 1)).toBeNull();
    expect(textOf(moveBy(letter, [1, 1, 0], 1)?.sections ?? [])).toBe('1 [2 | 4 3] 5');
    expect(textOf(moveBy(letter, [2], -1)?.sections ?? [])).toBe('1 5 [2 | 3 4]');
  });

  it('keeps every section as it is, wherever it goes', () => {
    const place: fc.Arbitrary<SectionPath> = fc.oneof(
      fc.tuple(fc.nat(3)),
      fc.tuple(fc.constant(1), fc.nat(1), fc.nat(2)),
    );
    const heights = (text: string) => text.match(/\d/g)?.sort().join('');
    fc.assert(
      fc.property(fc.array(fc.tuple(place, place), { maxLength: 8 }), (moves) => {
        let sections: readonly Section[] = letter;
        for (const [from, to] of moves) {
          const what = sectionAt(sections, from);
          const result = what && moveTo(sections, from, to);
          if (!result) continue;
          sections = result.sections;
          expect(sectionAt(sections, result.path)).toBe(what);
        }
        expect(heights(textOf(sections))).toBe('12345');
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('changing sections', () => {
  it('leaves all others as they are', () => {
    const changed = replaceAt(letter, [1, 1, 0], spacer(9));
    expect(textOf(changed)).toBe('1 [2 | 9 4] 5');
    expect([changed[0], changed[2]]).toEqual([letter[0], letter[2]]);
    expect(changed[0]).toBe(letter[0]);
    expect(textOf(removeAt(letter, [1, 0, 0]))).toBe('1 [ | 3 4] 5');
    expect(textOf(insertAt(letter, [1, 0, 1], spacer(9)))).toBe('1 [2 9 | 3 4] 5');
    expect(textOf(letter)).toBe('1 [2 | 3 4] 5');
  });

  it('keeps the sections of columns that are removed', () => {
    const three = columns([spacer(1)], [spacer(2)], [spacer(3)]);
    const two = three.type === 'columns' ? withColumns(three, 2) : three;
    expect(textOf([two])).toBe('[1 | 2 3]');
    expect(textOf(two.type === 'columns' ? [withColumns(two, 4)] : [])).toBe('[1 | 2 3 |  | ]');
  });

  it('names the fields as the API does', () => {
    expect(fieldOf([2])).toBe('design.sections.2');
    expect(fieldOf([2, 1, 0])).toBe('design.sections.2.props.columns.1.sections.0');
  });

  it('adds only sections that the API takes', () => {
    const sections = SECTION_TYPES.map(newSection);
    expect(designSchema.safeParse({ sections }).error).toBeUndefined();
    expect(designSchema.parse({ sections }).sections).toEqual(sections);
  });
});

describe('a design made of a body', () => {
  const htmlOf = (body: string) =>
    designOf(body).map(({ type, props }) => [type, 'html' in props ? props.html : null]);

  it('has a text for a plain text, and keeps its values', () => {
    expect(htmlOf('Hi {{ name | default: "<you>" }} & all\nthere\n\nBye')).toEqual([
      ['header', null],
      ['text', '<p>Hi {{ name | default: "<you>" }} &amp; all<br>there</p><p>Bye</p>'],
    ]);
  });

  it('has the HTML of a fragment, and starts over for a document or MJML', () => {
    expect(htmlOf('<div>x</div>')).toEqual([
      ['header', null],
      ['html', '<div>x</div>'],
    ]);
    for (const body of ['<mjml></mjml>', '<!doctype html><html></html>', ' ']) {
      expect(htmlOf(body)).toEqual([
        ['header', null],
        ['text', expect.stringContaining('Hello')],
      ]);
    }
  });
});

describe('a letter that has the same section twice', () => {
  const same = spacer(2);
  const repeatsIn = (sections: readonly Section[]) =>
    withInner(sections).length - new Set(withInner(sections)).size;

  it.each([
    ['in a list', [same, spacer(5), same]],
    ['in a column', [columns([same, same], [])]],
    ['in two columns of the same section', [columns([same], [spacer(1)]), columns([], [same])]],
    ['before a column', [same, columns([same], [])]],
    ['with its columns', [letter[1] ?? same, ...letter]],
  ] as const)('is edited with a copy of it: %s', (_where, sections) => {
    const own = withoutRepeats(sections);
    expect(own).toEqual(sections);
    expect(repeatsIn(own)).toBe(0);
    // The same copies each time, so that the forms of the sections stay.
    expect(withoutRepeats(sections)).toBe(own);
    expect(withoutRepeats(own)).toBe(own);
  });

  it('comes from a merge of drafts that share sections', () => {
    const [one, two, three, four] = [spacer(1), spacer(2), spacer(3), spacer(4)];
    const { value } = merge({
      base: { sections: [one, two, three, four] },
      mine: { sections: [two, three, four, one] },
      theirs: { sections: [two, one, three, four] },
    });
    expect(repeatsIn(value.sections)).toBe(1);
    expect(repeatsIn(withoutRepeats(value.sections))).toBe(0);
  });
});
