// What a browser keeps of a draft: each change writes the content alone, and what it was made from stays with it.
import { beforeEach, describe, expect, it } from '@jest/globals';
import { createDevice } from '../../../console/src/editors/draft/device.ts';
import type { KeptContent } from '../../../console/src/editors/draft/versions.ts';
import { type Letter, MemoryStorage, readLetter } from './stage.ts';

const DAY_MS = 86_400_000;
const live: Letter = { subject: 'Live' };
const saved: Letter = { subject: 'Saved' };

let now: number;
let room: number;
let storage: MemoryStorage;
beforeEach(() => {
  now = Date.UTC(2026, 0, 1);
  room = Infinity;
  storage = new MemoryStorage(() => room);
});

const device = (tab: string, name = 'Ann') => createDevice(name, tab, readLetter, storage, () => (now += 1));
const made = (subject: string, from: Partial<KeptContent<Letter>> = {}): KeptContent<Letter> => ({
  ...{ content: { subject }, base: '"1"', over: '"d1"', baseContent: live, overContent: saved },
  ...from,
});

describe('the versions that a content was made from', () => {
  it('are written once, not with each change', () => {
    const { write } = device('1');
    for (const subject of ['N', 'Ne', 'New']) expect(write(made(subject))).toBe(true);
    expect([storage.countWrites('draft:'), storage.countWrites('draft-from:')]).toEqual([3, 1]);
    expect(device('2').read()).toMatchObject(made('New'));
  });

  it('are written once more if another one takes the place of either', () => {
    const { write } = device('1');
    write(made('New'));
    const next = made('Newer', { over: '"d2"', overContent: { subject: 'Saved later' } });
    write(next);
    expect(device('2').read()).toMatchObject(next);
    const last = { ...next, base: '"2"', baseContent: { subject: 'Live later' } };
    write(last);
    expect(device('3').read()).toMatchObject(last);
    expect(storage.countWrites('draft-from:')).toBe(3);
  });

  it('are read from an entry that has them in itself', () => {
    storage.setItem('draft:Ann:old', JSON.stringify({ ...made('Old'), at: now }));
    const next = device('1');
    expect(next.read()).toMatchObject(made('Old'));
    next.write(made('New'));
    expect(Object.keys(storage).sort()).toEqual(['draft-from:Ann:1', 'draft:Ann:1']);
    expect(device('2').read()).toMatchObject(made('New'));
  });

  it('are not those of another version', () => {
    device('1').write(made('New'));
    const entry = { content: { subject: 'Newer' }, base: '"1"', over: '"d2"', at: now };
    storage.setItem('draft:Ann:1', JSON.stringify(entry));
    expect(device('2').read()).toMatchObject({ baseContent: live, overContent: null });
    storage.setItem('draft:Ann:1', JSON.stringify({ ...entry, base: '"2"', over: '"d1"' }));
    expect(device('2').read()).toMatchObject({ baseContent: null, overContent: saved });
  });

  it('do not prevent the content from being read if they are damaged', () => {
    device('1').write(made('New'));
    for (const text of ['no JSON', 'null', '7', '{}']) {
      storage.setItem('draft-from:Ann:1', text);
      expect(device('2').read()).toMatchObject({ content: { subject: 'New' }, baseContent: null });
    }
  });

  it('are removed with the content', () => {
    const first = device('1');
    first.write(made('New'));
    const next = device('2');
    next.read();
    next.write(made('Newer'));
    expect(Object.keys(storage).sort()).toEqual(['draft-from:Ann:2', 'draft:Ann:2']);
    next.clear();
    expect(Object.keys(storage)).toEqual([]);
    next.write(made('Once more'));
    expect(device('3').read()).toMatchObject(made('Once more'));
  });

  it('are written again with the content if another tab has removed both', () => {
    const [first, second] = [device('1'), device('2')];
    first.write(made('New'));
    second.read();
    second.write(made('Newer'));
    expect(Object.keys(storage).sort()).toEqual(['draft-from:Ann:2', 'draft:Ann:2']);
    first.write(made('Newest'));
    expect(device('3').read()).toMatchObject(made('Newest'));
  });

  it('are removed with an entry that is old or that the editor cannot read, and without one', () => {
    device('1', 'Ben').write(made('Old'));
    now += 31 * DAY_MS;
    storage.setItem('draft:Ann:1', JSON.stringify({ content: {}, base: '"1"', over: null, at: now }));
    for (const key of ['draft-from:Ann:1', 'draft-from:Cleo:1']) storage.setItem(key, '{}');
    expect(device('2').read()).toBeNull();
    expect(Object.keys(storage)).toEqual([]);
  });
});

describe('a browser with little room', () => {
  const long = 'x'.repeat(1000);

  it('keeps the content if it has no room for what it was made from', () => {
    room = 500;
    const { write } = device('1');
    const kept = made('New', { baseContent: { subject: long } });
    for (const subject of ['New', 'Newer', 'Newest'])
      expect(write({ ...kept, content: { subject } })).toBe(true);
    expect(device('2').read()).toMatchObject({ content: { subject: 'Newest' }, baseContent: null });
    room = Infinity;
    write({ ...kept, content: { subject: 'Last' } });
    expect(device('3').read()).toMatchObject({ ...kept, content: { subject: 'Last' } });
  });

  it('makes room for the content by removing what it was made from', () => {
    room = 1500;
    const { write } = device('1');
    const kept = made('New', { baseContent: { subject: long } });
    write(kept);
    expect(device('2').read()).toMatchObject(kept);
    const longer = { ...kept, content: { subject: `${long}y` } };
    expect(write(longer)).toBe(true);
    expect(device('3').read()).toMatchObject({ ...longer, baseContent: null, overContent: null });
  });

  it('leaves what it kept if a content does not fit at all', () => {
    room = 500;
    const { write } = device('1');
    write(made('New'));
    expect(write(made(long))).toBe(false);
    expect(device('2').read()).toMatchObject(made('New'));
    expect(device('3').write(made(long))).toBe(false);
    expect(Object.keys(storage).sort()).toEqual(['draft-from:Ann:1', 'draft:Ann:1']);
  });

  it('leaves what it kept with what that was made from if a content of another version does not fit', () => {
    room = 500;
    const { write } = device('1');
    write(made('New'));
    const next = { base: '"2"', over: '"d2"', baseContent: { subject: 'Live later' }, overContent: null };
    for (const from of [next, { ...next, baseContent: { subject: long } }]) {
      expect(write(made(long, from))).toBe(false);
      expect(device('2').read()).toMatchObject(made('New'));
    }
    write(made('Newer', next));
    expect(device('3').read()).toMatchObject(made('Newer', next));
  });
});
