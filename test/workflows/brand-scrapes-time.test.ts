// A newer scrape of a brand interrupts the older one, and a scrape that cannot be carried out fails.
import { expect, it } from '@jest/globals';
import { testsThatNeed } from '../support/tests-that-need.ts';
import { type ScrapeStage, startScrapeStage } from './scrape-stage.ts';
import { until } from './until.ts';

const { afterAll, beforeAll, beforeEach, describe } = testsThatNeed('time-skipping server');

let stage: ScrapeStage;

beforeAll(async () => {
  stage = await startScrapeStage();
}, 120_000);
afterAll(() => stage.close());
beforeEach(() => stage.clear());

describe('the workflow of the scrapes of a brand', () => {
  it('interrupts a scrape for a newer one, and ends when none is left', async () => {
    stage.sites.handlers['hanging.test'] = () => undefined;
    await stage.withWorkers({}, async () => {
      await stage.scrape('hanging.test');
      await until(async () => stage.sites.requests.includes('GET hanging.test/robots.txt'));
      const handle = await stage.scrape('dark.test');
      await handle.result();
      expect(await handle.query('state')).toEqual({
        phase: 'done',
        scrapeId: expect.any(Number),
        replaced: 1,
      });
    });
    expect(await stage.statuses()).toEqual([
      { status: 'discarded', error: null },
      { status: 'completed', error: null },
    ]);
    expect(await stage.shown()).toMatchObject({
      bg_color: '#0b0b12',
      scrape: { url: stage.sites.url('dark.test') },
    });
  });

  it('fails a scrape that cannot be carried out', async () => {
    const runBrandScrape = async () => {
      throw new Error('no thread can be started');
    };
    await stage.withWorkers({ runBrandScrape }, async () => (await stage.scrape('inline.test')).result());
    expect(await stage.statuses()).toEqual([{ status: 'failed', error: 'timeout' }]);
  });
});
