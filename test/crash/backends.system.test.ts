// Killed database connections lose and repeat no mail, and no process loses its id.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { killBackends } from '../support/crash/backends.ts';
import { findingsOf } from '../support/crash/findings.ts';
import { scale } from '../support/crash/scale.ts';
import { send } from '../support/crash/send-and-kill.ts';
import { type CrashStage, openCrashStage } from '../support/crash/stage.ts';
import { watchSurvivors } from '../support/crash/survivors.ts';

const { messages: count, ...kills } = scale.backends;

let stage: CrashStage;

beforeAll(async () => {
  stage = await openCrashStage({ furtherSenders: 1, smtpReplyMs: 100 });
}, 180_000);

afterAll(async () => {
  await stage.close();
}, 60_000);

describe.each(scale.seeds)('connections that are killed in the database during sending (seed %i)', (seed) => {
  it('cost no process its id, repeat no mail and lose none', async () => {
    const survivors = await watchSurvivors(stage);
    const run = send(stage, { prefix: `backends-${seed}`, count });
    const [killed] = await Promise.all([killBackends(stage, { seed, ...kills }), run.done]);
    expect(new Set(killed).size).toBeGreaterThan(2);
    const findings = await findingsOf(stage, {
      ...run,
      held: { intended: [], claimed: [] },
      restartedAt: Date.now(),
    });
    await survivors.expectUnharmed(findings, count);
  }, 400_000);
});
