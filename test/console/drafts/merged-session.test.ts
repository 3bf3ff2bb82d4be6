// What others change in a draft, or publish meanwhile, is merged where it does not collide; the editor asks about the rest.
import { beforeEach, describe, expect, it } from '@jest/globals';
import { Editor, type Letter, MemoryStorage, Service } from './stage.ts';

let service: Service;
beforeEach(() => {
  service = new Service();
});

const editor = (by: string, storage?: Storage) => new Editor(service, by, storage);

describe('two people who change different fields', () => {
  it('keep both changes, and the second one hears of it', async () => {
    const [ann, ben] = [editor('Ann'), editor('Ben')];
    ann.write({ subject: 'Ann’s' });
    await ann.pause();
    ben.write({ body: 'Ben’s' });
    await ben.pause();
    const both = { subject: 'Ann’s', body: 'Ben’s' };
    expect(ben.draft).toMatchObject({ state: 'saved', content: both, conflict: null });
    expect(service.draft?.content).toEqual(both);
    const merge = { about: 'draft', by: 'Ann', at: '2026-01-01T10:04:00Z', paths: [['subject']] };
    expect([ben.merged, ben.replaced]).toEqual([[merge], []]);
    await ann.session.check();
    expect([ann.draft.content, ann.replaced, ann.merged]).toEqual([both, ['Ben'], []]);
  });

  it('are asked only about what collides', async () => {
    const [ann, ben] = [editor('Ann'), editor('Ben')];
    ann.write({ subject: 'Ann’s', body: 'Text' });
    await ann.pause();
    ben.write({ subject: 'Ben’s' });
    await ben.pause();
    const [collision] = ben.draft.conflict?.collisions ?? [];
    expect(collision).toMatchObject({ path: ['subject'], mine: 'Ben’s', theirs: 'Ann’s' });
    expect(ben.draft.conflict?.resolve(new Map())).toBe(false);
    expect(ben.draft.state).toBe('conflict');
    expect(ben.draft.conflict?.resolve(new Map([[collision?.name ?? '', 'mine']]))).toBe(true);
    await ben.pause();
    expect(service.draft?.content).toEqual({ subject: 'Ben’s', body: 'Text' });
    expect(ben.draft).toMatchObject({ state: 'saved', conflict: null });
  });

  it('choose a whole version if both together make no sense', async () => {
    const [ann, ben] = [editor('Ann'), editor('Ben')];
    ann.write({ subject: 'Nothing' });
    await ann.pause();
    ben.write({ body: 'Much' });
    await ben.pause();
    expect(ben.draft.conflict).toMatchObject({ about: 'draft', collisions: null });
    ben.draft.conflict?.keepMine();
    await ben.pause();
    expect(service.draft?.content).toEqual({ subject: 'Live', body: 'Much' });
  });

  it('keep both changes after a tab was closed, also if the browser had room for one version only', async () => {
    const storages = [new MemoryStorage(), new MemoryStorage(() => 150)];
    const results = storages.map(async (storage, index) => {
      service = new Service();
      const [at, name] = [service, `Ann ${index}`];
      const before = new Editor(at, 'Ben');
      before.write({ subject: 'First' });
      await before.pause();
      new Editor(at, name, storage).write({ body: 'Ann’s' });
      before.write({ subject: 'Second' });
      await before.pause();
      const ann = new Editor(at, name, storage);
      await ann.pause();
      return [ann.draft.conflict?.collisions, at.draft?.content];
    });
    expect(await Promise.all(results)).toEqual([
      [undefined, { subject: 'Second', body: 'Ann’s' }],
      [null, { subject: 'Second' }],
    ]);
  });
});

describe('what is published while a draft is open', () => {
  const draft = async (change: Partial<Letter>) => {
    const ann = editor('Ann');
    ann.write(change);
    await ann.pause();
  };

  it('is no news if only the status was changed, also to a draft that is opened later', async () => {
    // The draft need not make sense yet.
    const unfinished = { subject: 'Nothing', body: 'Yet' };
    await draft(unfinished);
    await service.patch({ subject: 'Live' }, '"1"');
    const later = editor('Ben');
    expect(later.draft).toMatchObject({ content: unfinished, conflict: null });
    await later.pause();
    expect(service.draft).toMatchObject({ base: '"2"', baseContent: { subject: 'Live' } });
    expect(later.merged).toEqual([]);
    await later.publish();
    expect(service.published.content).toEqual(unfinished);
  });

  it('becomes part of the draft where it does not collide, with the name of who published it', async () => {
    await draft({ subject: 'New' });
    await service.patch({ subject: 'Live', body: 'Published' }, '"1"');
    service.publisher = 'Ben';
    const later = editor('Ann');
    await later.pause();
    const both = { subject: 'New', body: 'Published' };
    expect(later.draft).toMatchObject({ state: 'saved', content: both });
    expect(service.draft).toMatchObject({ content: both, base: '"2"' });
    const at = '2026-01-01T10:05:00Z';
    expect(later.merged).toEqual([{ about: 'published', by: 'Ben', at, paths: [['body']] }]);
  });

  it('is asked about where it collides, with the name of who published it', async () => {
    await draft({ subject: 'New', body: 'Draft' });
    await service.patch({ subject: 'By Ben' }, '"1"');
    service.publisher = 'Ben';
    const later = editor('Ann');
    await later.pause();
    const { conflict } = later.draft;
    expect(conflict).toMatchObject({ about: 'published', by: 'Ben' });
    expect(conflict?.resolve(new Map([[conflict.collisions?.[0]?.name ?? '', 'theirs']]))).toBe(true);
    await later.publish();
    expect(service.published.content).toEqual({ subject: 'By Ben', body: 'Draft' });
  });

  it('needs a choice of whole versions if it is not known what was live before', async () => {
    service.save('A program', { content: { subject: 'New' }, base: '"1"', over: null });
    await service.patch({ subject: 'Live', body: 'Published' }, '"1"');
    const ann = editor('Ann');
    expect(ann.draft.conflict).toMatchObject({ about: 'published', collisions: null });
  });
});
