// A scrape of a brand begins again when the engine misses the heartbeats of its worker.
import { expect, it } from '@jest/globals';
import { Context } from '@temporalio/activity';
import type { ScrapeActivities } from '../../workflows/brands/contract.ts';
import { testsThatNeed } from '../support/tests-that-need.ts';
import { type ScrapeStage, startScrapeStage } from './scrape-stage.ts';

const { afterAll, beforeAll, beforeEach, describe } = testsThatNeed('time-skipping server');

let stage: ScrapeStage;

beforeAll(async () => {
  stage = await startScrapeStage();
}, 120_000);
afterAll(() => stage.close());
beforeEach(() => stage.clear());

describe('the workflow of the scrapes of a brand', () => {
  it('begins again if the process that reads the website dies', async () => {
    const runBrandScrape: ScrapeActivities['runBrandScrape'] = async (id) => {
      // A process that was killed sends no heartbeat and never answers. This one ends with the test.
      if (Context.current().info.attempt === 1) await Context.current().cancelled;
      return stage.realActivities().runBrandScrape(id);
    };
    await stage.withWorkers({ runBrandScrape }, async () => {
      await (await stage.scrape('inline.test')).result();
    });
    expect(await stage.statuses()).toEqual([{ status: 'completed', error: null }]);
  });
});
