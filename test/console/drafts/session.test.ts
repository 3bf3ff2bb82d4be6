// Drafts in editors of the console: nothing is lost by a closed tab, a failed request, or another editor.
import { beforeEach, describe, expect, it } from '@jest/globals';
import { ApiError } from '../../../console/src/api/errors.ts';
import { Editor, MemoryStorage, Service } from './stage.ts';

let service: Service;
beforeEach(() => {
  service = new Service();
});

const editor = (by: string, storage?: Storage) => new Editor(service, by, storage);
const offline = new ApiError({ status: 0, code: 'network', message: 'The service cannot be reached.' });

describe('a draft', () => {
  it('is saved after a pause, and shown to the next editor', async () => {
    const ann = editor('Ann');
    expect(ann.draft).toMatchObject({ state: 'published', savedAt: null, content: { subject: 'Live' } });
    ann.write({ subject: 'New' });
    expect([ann.draft.state, service.draft]).toEqual(['saving', null]);
    await ann.pause();
    expect(ann.draft).toMatchObject({ state: 'saved', savedAt: '2026-01-01T10:04:00Z' });
    expect(editor('Ben').draft).toMatchObject({ state: 'saved', content: { subject: 'New' } });
    expect(service.published.content).toEqual({ subject: 'Live' });
  });

  it('saves what is written while a request is under way', async () => {
    const ann = editor('Ann');
    ann.write({ subject: 'One' });
    const saving = ann.pause();
    await Promise.resolve();
    ann.write({ subject: 'Two' });
    await saving;
    expect(ann.draft).toMatchObject({ state: 'saving', content: { subject: 'Two' } });
    await ann.pause();
    expect([ann.draft.state, service.draft?.content]).toEqual(['saved', { subject: 'Two' }]);
  });

  it('ends if the content is what is live once more', async () => {
    const ann = editor('Ann');
    ann.write({ subject: 'New' });
    await ann.pause();
    ann.write({ subject: 'Live' });
    await ann.pause();
    expect([ann.draft.state, service.draft]).toEqual(['published', null]);
  });

  it('is discarded, and comes back if the content is written again', async () => {
    const ann = editor('Ann');
    ann.write({ subject: 'New' });
    await ann.pause();
    await ann.draft.discard();
    expect(ann.draft).toMatchObject({ state: 'published', content: { subject: 'Live' } });
    expect(service.draft).toBeNull();
    ann.write({ subject: 'New' });
    await ann.pause();
    expect(service.draft?.content).toEqual({ subject: 'New' });
  });

  it('is tried again after a failure, and not after a refusal until it changes', async () => {
    const ann = editor('Ann');
    ann.write({ subject: 'New' });
    service.failure = offline;
    await ann.pause();
    expect(ann.draft).toMatchObject({ state: 'failed', fault: offline.message, content: { subject: 'New' } });
    expect(ann.isDue).toBe(true);
    service.failure = new ApiError({ status: 422, code: 'validation_error', message: 'base is wrong' });
    await ann.pause();
    expect([ann.draft.fault, ann.isDue]).toEqual(['base is wrong', false]);
    service.failure = null;
    ann.write({ subject: 'Shorter' });
    await ann.pause();
    expect(ann.draft).toMatchObject({ state: 'saved', fault: null });
  });
});

describe('a closed tab', () => {
  it('loses nothing that was not saved', async () => {
    const storage = new MemoryStorage();
    const first = editor('Ann', storage);
    first.write({ subject: 'Unsaved' });
    const next = editor('Ann', storage);
    expect(next.draft).toMatchObject({ state: 'saving', content: { subject: 'Unsaved' } });
    await next.pause();
    expect(service.draft?.content).toEqual({ subject: 'Unsaved' });
    expect(storage.length).toBe(0);
  });

  it('asks which version goes on if the draft was changed by others meanwhile', async () => {
    const storage = new MemoryStorage();
    editor('Ann', storage).write({ subject: 'Ann’s' });
    const ben = editor('Ben');
    ben.write({ subject: 'Ben’s' });
    await ben.pause();
    const ann = editor('Ann', storage);
    const versions = { about: 'draft', by: 'Ben', mine: { subject: 'Ann’s' }, theirs: { subject: 'Ben’s' } };
    expect(ann.draft).toMatchObject({ state: 'conflict', conflict: versions });
    expect(Object.keys(storage).filter((key) => key.startsWith('draft:'))).toHaveLength(1);
  });

  it('does not ask if it was saved just before', async () => {
    const storage = new MemoryStorage();
    const closed = editor('Ann', storage);
    closed.write({ subject: 'New' });
    service.save('Ann', { content: { subject: 'New' }, base: '"1"', over: null });
    expect(editor('Ann', storage).draft).toMatchObject({ state: 'saved', content: { subject: 'New' } });
    expect(storage.length).toBe(0);
  });

  it('leaves the text of each tab', async () => {
    const storage = new MemoryStorage();
    const [one, other] = [editor('Ann', storage), editor('Ann', storage)];
    one.write({ subject: 'One' });
    other.write({ subject: 'Other' });
    const third = editor('Ann', storage);
    await third.pause();
    expect(service.draft?.content).toEqual({ subject: 'Other' });
    const fourth = editor('Ann', storage);
    expect(fourth.draft.conflict).toMatchObject({ mine: { subject: 'One' }, theirs: { subject: 'Other' } });
  });

  it('leaves nothing that a later version cannot read', () => {
    const storage = new MemoryStorage();
    storage.setItem('draft:Ann:x', 'no JSON');
    storage.setItem('draft:Ben:y', JSON.stringify({ content: {}, base: '"1"', over: null, at: 0 }));
    storage.setItem('theme', 'dark');
    expect(editor('Ann', storage).draft.state).toBe('published');
    expect(Object.keys(storage)).toEqual(['theme']);
  });
});

describe('a closed editor', () => {
  it('saves once more, and tries nothing later: the next editor does', async () => {
    const storage = new MemoryStorage();
    const closed = editor('Ann', storage);
    closed.write({ subject: 'New' });
    service.failure = offline;
    const requests = service.requests.length;
    await closed.session.end();
    expect([service.requests.length - requests, closed.isDue]).toEqual([1, false]);
    service.failure = null;
    const next = editor('Ann', storage);
    expect(next.draft.content).toEqual({ subject: 'New' });
    await next.pause();
    expect(service.draft?.content).toEqual({ subject: 'New' });
  });

  it('does not bring back what the next editor discards', async () => {
    const storage = new MemoryStorage();
    const closed = editor('Ann', storage);
    closed.write({ subject: 'New' });
    service.failure = offline;
    const ended = closed.session.end();
    const next = editor('Ann', storage);
    await ended;
    service.failure = null;
    await next.draft.discard();
    expect([storage.length, service.draft]).toEqual([0, null]);
    expect(editor('Ann', storage).draft.state).toBe('published');
  });

  it('still takes back what was discarded in it', async () => {
    const ann = editor('Ann');
    ann.write({ subject: 'New' });
    await ann.draft.discard();
    await ann.session.end();
    ann.write({ subject: 'New' });
    await ann.pause();
    expect(service.draft?.content).toEqual({ subject: 'New' });
  });
});

describe('a browser without room', () => {
  it('is not said to keep what is not saved', async () => {
    let room = Infinity;
    const storage = new MemoryStorage(() => room);
    const ann = editor('Ann', storage);
    ann.write({ subject: 'Kept' });
    expect([ann.draft.isKept, ann.session.isAtRisk()]).toEqual([true, false]);
    room = 0;
    ann.write({ subject: 'Too long' });
    expect([ann.draft.isKept, ann.session.isAtRisk()]).toEqual([false, true]);
    service.failure = new ApiError({ status: 413, code: 'payload_too_large', message: 'the body is larger' });
    await ann.pause();
    expect(ann.draft.fault).toMatch(/^The content is too large to save \(0[.]0 MB\)/);
    room = Infinity;
    service.failure = null;
    ann.write({ subject: 'Shorter' });
    expect([ann.draft.isKept, ann.session.isAtRisk()]).toEqual([true, false]);
    await ann.pause();
    expect(ann.session.isAtRisk()).toBe(false);
  });
});

describe('a draft that cannot be read', () => {
  const unreadable = () => {
    service.draft = {
      content: null,
      etag: '"d7"',
      base: '"0"',
      baseContent: null,
      at: '2026-01-01T09:00:00Z',
      by: 'An API key',
    };
  };

  it('is not shown, and nothing is saved before it is discarded', async () => {
    unreadable();
    const ann = editor('Ann');
    expect(ann.draft).toMatchObject({ state: 'conflict', content: { subject: 'Live' } });
    expect(ann.draft.conflict?.about).toBe('unreadable');
    await ann.pause();
    await expect(ann.publish()).rejects.toThrow();
    expect(service.draft?.etag).toBe('"d7"');
    ann.draft.conflict?.keepMine();
    await ann.pause();
    expect([ann.draft.state, service.draft]).toEqual(['published', null]);
  });

  it('gives way to what is written meanwhile', async () => {
    unreadable();
    const ann = editor('Ann');
    ann.write({ subject: 'New' });
    await ann.pause();
    expect([ann.draft.conflict?.about, service.draft?.content]).toEqual(['unreadable', null]);
    ann.draft.conflict?.keepMine();
    await ann.publish();
    expect(service.published.content).toEqual({ subject: 'New' });
  });

  it('is removed from the browser', () => {
    const storage = new MemoryStorage();
    const entry = JSON.stringify({
      content: { title: 'New' },
      base: '"1"',
      over: null,
      at: Date.UTC(2026, 0, 1),
    });
    storage.setItem('draft:Ann:x', entry);
    const ann = editor('Ann', storage);
    expect(ann.draft).toMatchObject({ state: 'published', content: { subject: 'Live' } });
    expect(storage.getItem('draft:Ann:x')).toBeNull();
  });
});

describe('two people in one draft', () => {
  const both = async () => {
    const [ann, ben] = [editor('Ann'), editor('Ben')];
    ann.write({ subject: 'Ann’s' });
    await ann.pause();
    ben.write({ subject: 'Ben’s' });
    await ben.pause();
    return { ann, ben };
  };

  it('see who changed it when, and both versions', async () => {
    const { ben } = await both();
    expect(ben.draft).toMatchObject({
      state: 'conflict',
      content: { subject: 'Ben’s' },
      conflict: {
        about: 'draft',
        by: 'Ann',
        at: '2026-01-01T10:04:00Z',
        mine: { subject: 'Ben’s' },
        theirs: { subject: 'Ann’s' },
      },
    });
    expect(service.draft?.content).toEqual({ subject: 'Ann’s' });
  });

  it('save nothing more, and keep what is written, until one version is chosen', async () => {
    const { ben } = await both();
    ben.write({ body: 'More' });
    await ben.pause();
    expect(ben.draft.conflict?.mine).toEqual({ subject: 'Ben’s', body: 'More' });
    expect(service.draft?.content).toEqual({ subject: 'Ann’s' });
    await expect(ben.publish()).rejects.toThrow('Choose one of the two versions first.');
    expect(service.published.content).toEqual({ subject: 'Live' });
  });

  it('keep mine: it replaces theirs, which the other one sees', async () => {
    const { ann, ben } = await both();
    ben.draft.conflict?.keepMine();
    await ben.pause();
    expect([ben.draft.state, service.draft?.content]).toEqual(['saved', { subject: 'Ben’s' }]);
    await ann.session.check();
    expect(ann.draft).toMatchObject({ state: 'saved', content: { subject: 'Ben’s' } });
    expect(ann.replaced).toEqual(['Ben']);
  });

  it('take theirs: it is shown and nothing is saved', async () => {
    const { ben } = await both();
    const saves = service.requests.length;
    ben.draft.conflict?.takeTheirs();
    await ben.pause();
    expect(ben.draft).toMatchObject({ state: 'saved', content: { subject: 'Ann’s' }, conflict: null });
    expect(service.requests.length).toBe(saves);
  });

  it('need not choose between equal versions', async () => {
    const [ann, ben] = [editor('Ann'), editor('Ben')];
    for (const each of [ann, ben]) each.write({ subject: 'Same' });
    await ann.pause();
    await ben.pause();
    expect(ben.draft).toMatchObject({ state: 'saved', conflict: null });
  });

  it('do not discard what the other one has just saved', async () => {
    const [ann, ben] = [editor('Ann'), editor('Ben')];
    ann.write({ subject: 'Ann’s' });
    await ann.pause();
    await ben.session.check();
    ben.write({ subject: 'Ben’s' });
    await ben.pause();
    await expect(ann.draft.discard()).rejects.toThrow('it has changed');
    expect(ann.draft).toMatchObject({ state: 'saved', content: { subject: 'Ben’s' } });
  });

  it('go on writing after the other one has discarded', async () => {
    const { ann, ben } = await both();
    ben.draft.conflict?.takeTheirs();
    await ann.draft.discard();
    ben.write({ subject: 'Ben’s again' });
    await ben.pause();
    expect([ben.draft.state, service.draft?.content]).toEqual(['saved', { subject: 'Ben’s again' }]);
  });
});

describe('publishing', () => {
  it('saves, sends the content with the ETag from which it began, and ends the draft', async () => {
    const ann = editor('Ann');
    ann.write({ subject: 'New' });
    await ann.publish();
    expect(service.published).toMatchObject({ content: { subject: 'New' }, etag: '"2"' });
    expect([ann.draft.state, service.draft]).toEqual(['published', null]);
    ann.write({ subject: 'Newer' });
    await ann.publish();
    expect(service.published).toMatchObject({ content: { subject: 'Newer' }, etag: '"3"' });
  });

  it('keeps the draft if it is refused', async () => {
    const ann = editor('Ann');
    ann.write({ subject: '' });
    const refusal = new ApiError({ status: 422, code: 'validation_error', message: 'is empty' });
    await expect(ann.draft.publish(() => Promise.reject(refusal))).rejects.toBe(refusal);
    expect(ann.draft).toMatchObject({ state: 'saved', content: { subject: '' } });
    expect(service.draft?.content).toEqual({ subject: '' });
  });

  it('is refused if someone else has published meanwhile, and shows both versions', async () => {
    const ann = editor('Ann');
    ann.write({ subject: 'Ann’s' });
    await ann.pause();
    await service.patch({ subject: 'By a program' }, '"1"');
    await expect(ann.publish()).rejects.toThrow('it has changed');
    expect(ann.draft.conflict).toMatchObject({
      about: 'published',
      at: '2026-01-01T10:05:00Z',
      mine: { subject: 'Ann’s' },
      theirs: { subject: 'By a program' },
    });
    ann.draft.conflict?.keepMine();
    await ann.publish();
    expect(service.published).toMatchObject({ content: { subject: 'Ann’s' }, etag: '"3"' });
    expect([ann.draft.state, service.draft]).toEqual(['published', null]);
  });

  it('by someone else leaves the choice to take what is live, which ends the draft', async () => {
    service.save('Ann', { content: { subject: 'Old draft' }, base: '"1"', over: null });
    await service.patch({ subject: 'By a program' }, '"1"');
    const ann = editor('Ann');
    ann.write({ body: 'More' });
    await ann.pause();
    expect(ann.draft).toMatchObject({ state: 'conflict', conflict: { about: 'published' } });
    expect(service.draft?.content).toEqual({ subject: 'Old draft' });
    ann.draft.conflict?.takeTheirs();
    await ann.pause();
    expect(ann.draft).toMatchObject({ state: 'published', content: { subject: 'By a program' } });
    expect(service.draft).toBeNull();
  });

  it('by someone else of this draft is no loss of what is written meanwhile', async () => {
    const ann = editor('Ann');
    ann.write({ subject: 'New' });
    await ann.pause();
    const ben = editor('Ben');
    ben.write({ body: 'More' });
    await ann.publish();
    await ben.pause();
    expect(ben.draft).toMatchObject({ conflict: null, content: { subject: 'New', body: 'More' } });
    await ben.publish();
    expect(service.published.content).toEqual({ subject: 'New', body: 'More' });
  });

  it('is refused if the content is no longer the one that was agreed to', async () => {
    const ann = editor('Ann');
    ann.write({ subject: 'Seen' });
    const seen = ann.draft.content;
    ann.write({ subject: 'Unseen' });
    await expect(ann.publish(seen)).rejects.toThrow('This has changed in the meantime.');
    expect([ann.draft.state, service.published.etag]).toEqual(['saved', '"1"']);
    await ann.publish(ann.draft.content);
    expect(service.published.content).toEqual({ subject: 'Unseen' });
  });

  it('is refused if what someone else saved replaces the content just before', async () => {
    const ann = editor('Ann');
    ann.write({ subject: 'Ann’s' });
    const publishing = ann.publish();
    service.afterSave = () => {
      service.save('Ben', { content: { subject: 'Ben’s' }, base: '"1"', over: service.draft?.etag ?? null });
    };
    const checking = ann.session.check();
    await expect(publishing).rejects.toThrow('This has changed in the meantime.');
    await checking;
    expect(ann.draft.content).toEqual({ subject: 'Ben’s' });
    expect(service.published.content).toEqual({ subject: 'Live' });
  });

  it('leaves what someone else saved at that moment', async () => {
    const [ann, ben] = [editor('Ann'), editor('Ben')];
    ann.write({ subject: 'Ann’s' });
    await ann.pause();
    await ben.session.check();
    await ann.draft.publish(async (content, etag) => {
      const published = await service.patch(content, etag);
      ben.write({ subject: 'Ben’s' });
      await ben.pause();
      return published;
    });
    expect(service.draft?.content).toEqual({ subject: 'Ben’s' });
    expect(ann.draft).toMatchObject({ state: 'conflict', conflict: { about: 'published' } });
  });

  it('is not in the way of a draft that it did not delete', async () => {
    const ann = editor('Ann');
    ann.write({ subject: 'New' });
    await ann.draft.publish(async (content, etag) => {
      const published = await service.patch(content, etag);
      service.failure = offline;
      return published;
    });
    expect(service.draft?.content).toEqual({ subject: 'New' });
    service.failure = null;
    await ann.pause();
    expect([ann.draft.state, service.draft]).toEqual(['published', null]);
  });

  it('lets a change that leaves the content as it was pass', async () => {
    const ann = editor('Ann');
    ann.write({ subject: 'New' });
    await ann.pause();
    ann.session.seePublished(await service.patch({ subject: 'Live' }, '"1"'));
    expect(ann.draft.conflict).toBeNull();
    await ann.pause();
    expect(service.draft).toMatchObject({ content: { subject: 'New' }, base: '"2"' });
    await ann.publish();
    expect(service.published.content).toEqual({ subject: 'New' });
  });
});
