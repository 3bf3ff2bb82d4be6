// Every workflow replays its recorded histories, so a code change cannot break running workflows unnoticed.
import { readdir, readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { Worker } from '@temporalio/worker';
import pino from 'pino';
import { installRuntime } from '../../src/platform/temporal/worker.ts';
import * as workflows from '../../workflows/index.ts';
import { scenarios } from './scenarios.ts';
import { sharedWorkflowBundle } from '../support/engine.ts';

const folder = new URL('./histories/', import.meta.url);
const files = (await readdir(folder)).filter((file) => file.endsWith('.json'));

interface RecordedHistory {
  events: { workflowExecutionStartedEventAttributes?: { workflowType: { name: string } } }[];
}

async function read(file: string): Promise<RecordedHistory> {
  return JSON.parse(await readFile(new URL(file, folder), 'utf8')) as RecordedHistory;
}

function typeOf(history: RecordedHistory): string {
  return history.events[0]?.workflowExecutionStartedEventAttributes?.workflowType.name ?? '';
}

async function replay(history: RecordedHistory): Promise<void> {
  await Worker.runReplayHistory({ workflowBundle: await sharedWorkflowBundle() }, history, 'replayed');
}

beforeAll(() => installRuntime(pino({ level: 'silent' })));

describe('a recorded history', () => {
  it.each(files)('%s replays', async (file) => {
    await replay(await read(file));
  });

  it('exists for every workflow and scenario', async () => {
    const types = await Promise.all(files.map(async (file) => typeOf(await read(file))));
    expect(Object.keys(workflows).filter((name) => !types.includes(name))).toEqual([]);
    expect(scenarios.filter(({ name }) => !files.includes(`${name}.json`))).toEqual([]);
  });

  it('fails to replay if the workflow has changed', async () => {
    const history = await read('housekeeping-1.json');
    const changed = JSON.parse(
      JSON.stringify(history).replaceAll('runHousekeepingTask', 'someOtherTask'),
    ) as RecordedHistory;
    await expect(replay(changed)).rejects.toThrow(/ondeterminis/);
  });
});
