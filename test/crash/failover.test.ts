import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { findingsOf } from '../support/crash/findings.ts';
import { scale } from '../support/crash/scale.ts';
import { sendAndKill } from '../support/crash/send-and-kill.ts';
import { type CrashStage, openCrashStage } from '../support/crash/stage.ts';

const { messages: count, downMs } = scale.failOver;

let stage: CrashStage;

beforeAll(async () => {
  stage = await openCrashStage({ furtherSenders: 1, smtpReplyMs: 100, standby: true });
}, 180_000);

afterAll(async () => {
  await stage.close();
}, 60_000);

async function registered(): Promise<unknown[]> {
  const { rows } = await stage.database.pool.query('select id, role, pid from processes order by id');
  return rows;
}

describe('a fail-over to a synchronous standby during sending', () => {
  it('costs no process its id, repeats no mail and loses none', async () => {
    const before = await registered();
    expect(before).toHaveLength(5);
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
    expect(findings).toMatchObject({
      messages: count,
      messageIds: count,
      missing: [],
      repeated: 0,
      changed: [],
      statuses: { sent: count },
      unreported: [],
    });
    const roles = [stage.api, stage.worker, ...stage.senders];
    expect(roles.filter(({ deaths }) => deaths > 0).map(({ name }) => name)).toEqual([]);
    expect(roles.filter((role) => /took over|taken for dead/.test(role.log()))).toEqual([]);
    expect(await registered()).toEqual(before);
  }, 400_000);
});
