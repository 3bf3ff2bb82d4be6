// A batch stops rendering at 16 million characters, and leaves the other messages for the next batch.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  type ContentEngine,
  NotRenderedError,
  type Renderable,
} from '../../../../src/delivery/content/templates/content.ts';
import { createContentEngine } from '../../../../src/delivery/content/templates/engine.ts';

const LONG = 490_000;

describe('a batch of the longest messages', () => {
  let engine: ContentEngine;
  beforeAll(() => {
    engine = createContentEngine({ threads: 1 });
  });
  afterAll(() => engine.close());

  it('leaves messages for another batch after 16 million characters', async () => {
    // The tag needs a thread.
    const html = '{% if true %}{% endif %}{{ x }}{{ x }}{{ x }}{{ x }}';
    const content = { id: null, accountId: 1, subject: 's', html, text: null } as unknown as Renderable;
    const values = Array.from({ length: 12 }, () => ({ variables: { x: 'x'.repeat(LONG) } }));
    const results = await engine.renderBatch(content, values as never);
    const rendered = results.filter((result) => !(result instanceof Error));
    const left = results.filter((result) => result instanceof NotRenderedError);
    expect([rendered.length, left.length]).toEqual([9, 3]);
  });
});
