// Merging two versions of a draft: no change of either person is lost, and only what both changed differently is asked.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { merge } from '../../../console/src/editors/draft/merge.ts';
import type { Choices, Three } from '../../../console/src/editors/draft/merging.ts';
import { isSame } from '../../../console/src/editors/draft/same.ts';

type Json = Record<string, unknown>;

const text = (html: string) => ({ type: 'text', props: { html } });
const button = (label: string) => ({ type: 'button', props: { label, href: '#' } });
const step = (id: number, more: Json = {}) => ({ id, type: 'wait', duration: id, ...more });

const swapped = <Value>({ base, mine, theirs }: Three<Value>): Three<Value> => ({
  base,
  mine: theirs,
  theirs: mine,
});
const merged = (base: Json, mine: Json, theirs: Json, choices?: Choices) =>
  merge({ base, mine, theirs }, choices);

/** Merges lists without collisions, in both directions. */
function mergedList(base: unknown[], mine: unknown[], theirs: unknown[]): unknown {
  const [one, other] = [
    merged({ list: base }, { list: mine }, { list: theirs }),
    merged({ list: base }, { list: theirs }, { list: mine }),
  ];
  expect([one.collisions, other.collisions]).toEqual([[], []]);
  expect(one.value).toEqual(other.value);
  return one.value.list;
}

const collisionsOf = (base: unknown[], mine: unknown[], theirs: unknown[]) =>
  merged({ list: base }, { list: mine }, { list: theirs }).collisions.map((each) => [
    each.path.slice(1),
    each.mine,
    each.theirs,
  ]);

describe('fields', () => {
  it('are taken from the version that changed them, at any depth', () => {
    const base = { name: 'A', data: { options: { a: 1, b: 2 } }, gone: 1 };
    const { value, collisions, taken } = merged(
      base,
      { name: 'Mine', data: { options: { a: 1, b: 2, new: null } }, gone: 1 },
      { name: 'A', data: { options: { a: 7, b: 2 } } },
    );
    expect(value).toEqual({ name: 'Mine', data: { options: { a: 7, b: 2, new: null } } });
    expect(collisions).toEqual([]);
    expect(taken).toEqual([['data', 'options', 'a'], ['gone']]);
  });

  it('that both changed differently are asked one by one', () => {
    const [base, mine, theirs] = [
      { subject: 'A', preheader: 'A', name: 'A' },
      { subject: 'Mine', preheader: 'Mine', name: 'Mine' },
      { subject: 'Theirs', preheader: 'Theirs', name: 'A' },
    ];
    const { value, collisions } = merged(base, mine, theirs);
    expect(collisions.map(({ path }) => path)).toEqual([['subject'], ['preheader']]);
    expect(value).toEqual(mine);
    const choices: Choices = new Map([[collisions[0]?.name ?? '', 'theirs']]);
    expect(merged(base, mine, theirs, choices).value).toEqual({
      subject: 'Theirs',
      preheader: 'Mine',
      name: 'Mine',
    });
  });

  it('may have any name', () => {
    const odd = JSON.parse('{"__proto__": {"a": 1}, "constructor": 1}') as Json;
    const { value } = merged({}, { ...odd }, odd);
    expect(JSON.stringify(merged({}, odd, { b: 1 }).value)).toContain('"__proto__":{"a":1}');
    expect(value).toEqual({ ...odd });
  });

  it('of conditions belong together, but not those of groups', () => {
    const condition = { name: 'plan', predicate: 'is', value: 'pro' };
    expect(
      collisionsOf([condition], [{ ...condition, predicate: 'is_not' }], [{ ...condition, value: 'free' }]),
    ).toHaveLength(1);
    const group = (...value: unknown[]) => ({ name: 'any', predicate: 'or', value });
    const other = { name: 'age', predicate: 'gt', value: 5 };
    expect(
      mergedList(
        [group(condition, other)],
        [group({ ...condition, value: 'free' }, other)],
        [group(condition, { ...other, value: 6 })],
      ),
    ).toEqual([group({ ...condition, value: 'free' }, { ...other, value: 6 })]);
  });

  it('that no one else changed stay the same objects', () => {
    const kept = { html: 'A' };
    const mine = { kept, b: 1, c: 2 };
    const { value } = merged({ kept: { html: 'A' }, b: 1, c: 1 }, mine, { kept: { html: 'A' }, b: 2, c: 1 });
    expect(value.kept).toBe(kept);
  });
});

describe('items with ids', () => {
  it('are merged wherever they stand, with what each added, removed and moved', () => {
    const base = [1, 2, 3, 4].map((id) => step(id));
    const mine = [step(2), step(1), step(3, { duration: 30 }), step(4), step(9)];
    const theirs = [step(1, { event: 'x' }), step(2), step(7), step(3)];
    expect(mergedList(base, mine, theirs)).toEqual([
      step(2),
      step(7),
      step(1, { event: 'x' }),
      step(3, { duration: 30 }),
      step(9),
    ]);
  });

  it('that both added at one place are both kept', () => {
    expect(mergedList([step(1)], [step(1), step(5)], [step(1), step(4)])).toEqual([
      step(1),
      step(4),
      step(5),
    ]);
  });

  it('that one changed and the other removed are asked', () => {
    const [base, changed] = [[step(1), step(2)], step(2, { duration: 9 })];
    expect(collisionsOf(base, [step(1)], [step(1), changed])).toEqual([[[{ key: '2' }], undefined, changed]]);
    expect(collisionsOf(base, [step(1), changed], [step(1)])).toEqual([[[{ key: '2' }], changed, undefined]]);
  });

  it('that both moved to different places are asked', () => {
    const base = [step(1), step(2), step(3)];
    const found = collisionsOf(base, [step(2), step(1), step(3)], [step(1), step(3), step(2)]);
    expect(found).toEqual([[['order'], [step(2), step(1), step(3)], [step(1), step(3), step(2)]]]);
  });
});

describe('items without ids', () => {
  const base = [text('A'), button('B'), text('C')];

  it('are merged where they stand, also side by side', () => {
    expect(
      mergedList(base, [text('A1'), button('B'), text('C')], [text('A'), button('B1'), text('C')]),
    ).toEqual([text('A1'), button('B1'), text('C')]);
  });

  it('are changed by one while the other adds and removes some', () => {
    expect(mergedList(base, [text('New'), ...base], [text('A'), button('B'), text('C1')])).toEqual([
      text('New'),
      text('A'),
      button('B'),
      text('C1'),
    ]);
    expect(mergedList(base, [text('A'), text('C')], [text('A1'), button('B'), text('C')])).toEqual([
      text('A1'),
      text('C'),
    ]);
  });

  it('that both added at one place are both kept', () => {
    const both = mergedList(base, [...base, text('Mine')], [...base, text('Theirs')]);
    expect(both).toEqual([...base, text('Mine'), text('Theirs')]);
  });

  it('that both changed are asked by their places in mine', () => {
    expect(
      collisionsOf(
        base,
        [text('New'), text('A'), button('B'), text('C1')],
        [text('A'), button('B'), text('C2')],
      ),
    ).toEqual([[[{ at: 3, to: 4 }, 'props', 'html'], 'C1', 'C2']]);
  });

  it('that were moved are not mixed with others', () => {
    const styled = (html: string, color: string) => ({ type: 'text', props: { html, color } });
    const two = [styled('A', 'red'), styled('B', 'red')];
    const found = collisionsOf(two, [two[1], two[0]], [styled('A', 'blue'), two[1]]);
    expect(found).not.toEqual([]);
  });
});

const leaf = fc.constantFrom<unknown>(null, 0, 'a', 'b', 'c', true);
const sections = fc
  .array(fc.tuple(fc.constantFrom('text', 'image'), leaf, leaf), { maxLength: 5 })
  .map((list) => list.map(([type, a, b]) => ({ type, props: { a, b } })));
const steps = fc
  .uniqueArray(fc.tuple(fc.nat(6), leaf, leaf), { maxLength: 5, selector: ([id]) => id })
  .map((list) => list.map(([id, a, b]) => ({ id, a, inner: { b } })));
const data = fc.dictionary(fc.constantFrom('x', 'y', 'z'), leaf);
const content = fc.record({ name: leaf, data, sections, steps });

interface Edit {
  list: 'sections' | 'steps';
  what: 'insert' | 'remove' | 'change' | 'move';
  at: number;
  value: unknown;
}
const edit: fc.Arbitrary<Edit> = fc.record({
  list: fc.constantFrom('sections', 'steps'),
  what: fc.constantFrom('insert', 'remove', 'change', 'change', 'move'),
  at: fc.nat(4),
  value: leaf,
});

let lastId = 10;
function edited(list: readonly Json[], { list: name, what, at, value }: Edit): Json[] {
  const item = list[at];
  const isStep = name === 'steps';
  if (what === 'insert') {
    lastId += 1;
    const added = isStep ? { id: lastId, a: value } : { type: 'text', props: { a: value, lastId } };
    return list.toSpliced(at, 0, added);
  }
  if (!item) return [...list];
  if (what === 'remove') return list.toSpliced(at, 1);
  if (what === 'move') return [...list.toSpliced(at, 1), item];
  return list.with(
    at,
    isStep ? { ...item, a: value } : { ...item, props: { ...(item.props as Json), a: value } },
  );
}

const changes = fc.record({
  edits: fc.array(edit, { maxLength: 2 }),
  data: fc.option(data),
  name: fc.option(leaf),
});
const three = fc.tuple(content, changes, changes).map(([base, ...both]): Three<Json> => {
  const [mine, theirs] = both.map(({ edits, ...fields }) => {
    const given = Object.entries(fields).filter(([, value]) => value !== null);
    const next: Json & typeof base = { ...base, ...Object.fromEntries(given) };
    for (const each of edits) next[each.list] = edited(next[each.list], each) as never;
    return next;
  });
  return { base, mine: mine ?? {}, theirs: theirs ?? {} };
});

const RUNS = 500;
const property = (holds: (of: Three<Json>) => void) => {
  fc.assert(fc.property(three, holds), { numRuns: RUNS });
};

const all = (of: Three<Json>, side: 'mine' | 'theirs'): Choices =>
  new Map(merge(of).collisions.map(({ name }) => [name, side]));

/** The values that one version has and the other has not, as text. */
const leaves = (value: unknown): string[] =>
  typeof value === 'object' && value !== null
    ? Object.values(value).flatMap(leaves)
    : [JSON.stringify(value)];

describe('any three versions', () => {
  it('merge in the same way whoever merges, if nothing collides; and collide in the same places', () => {
    let count = 0;
    property((of) => {
      const [one, other] = [merge(of), merge(swapped(of))];
      expect(one.collisions).toHaveLength(other.collisions.length);
      if (one.collisions.length > 0) return;
      count += 1;
      expect(one.value).toEqual(other.value);
    });
    expect(count).toBeGreaterThan(RUNS / 10);
  });

  it('give the same as one of them if the other changed nothing, or the same', () => {
    property(({ base, mine }) => {
      for (const [own, theirs] of [
        [base, mine],
        [mine, base],
        [mine, mine],
      ] as const) {
        const { value, collisions } = merge({ base, mine: own, theirs });
        expect(isSame(value, mine)).toBe(true);
        expect(collisions).toEqual([]);
      }
    });
  });

  it('lose nothing: with theirs chosen everywhere, it is what they would get by choosing mine', () => {
    property((of) => {
      const [taken, given] = [merge(of, all(of, 'theirs')), merge(swapped(of), all(swapped(of), 'mine'))];
      expect(taken.value).toEqual(given.value);
    });
  });

  it('invent nothing: each value is in one of the versions', () => {
    property((of) => {
      const known = new Set([...leaves(of.mine), ...leaves(of.theirs)]);
      expect(leaves(merge(of).value).filter((value) => !known.has(value))).toEqual([]);
    });
  });

  it('are settled by one merge: merging the result with theirs changes nothing', () => {
    property((of) => {
      const { value, collisions } = merge(of);
      if (collisions.length > 0) return;
      const again = merge({ base: of.theirs, mine: value, theirs: of.theirs });
      expect(again.value).toEqual(value);
    });
  });
});

/** Changes of one field each, of a content in which every place has a name. */
const places = [
  ['name'],
  ['data', 'x'],
  ['sections', 0, 'props', 'html'],
  ['sections', 1, 'props', 'label'],
  ['steps', 0, 'duration'],
  ['steps', 1, 'duration'],
] as const;

it('keeps every change of both, if they changed different places', () => {
  const base = { name: 'A', data: { x: 1 }, sections: [text('A'), button('B')], steps: [step(1), step(2)] };
  const set = (of: Json, [first, ...rest]: readonly (string | number)[], value: unknown): void => {
    if (first === undefined) return;
    if (rest.length === 0) of[first] = value;
    else set(of[first] as Json, rest, value);
  };
  const change = (which: readonly number[], who: string) => {
    const changed = structuredClone(base) as Json;
    for (const place of which) set(changed, places[place] ?? [], `${who} ${place}`);
    return changed;
  };
  const picks = fc.array(fc.constantFrom('ann', 'ben', null), { minLength: 6, maxLength: 6 });
  fc.assert(
    fc.property(picks, (owners) => {
      const of = (who: string) => owners.flatMap((owner, index) => (owner === who ? index : []));
      const { value, collisions } = merged(base, change(of('ann'), 'x'), change(of('ben'), 'x'));
      expect(collisions).toEqual([]);
      expect(value).toEqual(change([...of('ann'), ...of('ben')], 'x'));
    }),
  );
});
