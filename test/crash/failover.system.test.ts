// A fail-over to a synchronous standby loses and repeats no mail, and no process loses its id.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, it } from '@jest/globals';
import { findingsOf } from '../support/crash/findings.ts';
import { scale } from '../support/crash/scale.ts';
import { sendAndKill } from '../support/crash/send-and-kill.ts';
import { type CrashStage, openCrashStage } from '../support/crash/stage.ts';
import { watchSurvivors } from '../support/crash/survivors.ts';

const { messages: count, downMs } = scale.failOver;

let stage: CrashStage;

beforeAll(async () => {
  stage = await openCrashStage({ furtherSenders: 1, smtpReplyMs: 100, standby: true });
}, 180_000);

afterAll(async () => {
  await stage.close();
}, 60_000);

describe('a fail-over to a synchronous standby during sending', () => {
  it('costs no process its id, repeats no mail and loses none', async () => {
    const survivors = await watchSurvivors(stage);
    const run = await sendAndKill(stage, {
      name: 'fail-over',
      seed: 1,
      count,
      moment: 'mail',
      kill: async () => {
        await stage.postgres.kill();
        await delay(downMs);
        const restartedAt = Date.now();
        await stage.postgres.start();
        return { held: { intended: [], claimed: [] }, restartedAt };
      },
    });
    const findings = await findingsOf(stage, run);
    await survivors.expectUnharmed(findings, count);
  }, 400_000);
});
