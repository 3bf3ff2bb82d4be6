// A stored run record of an earlier schema still loads and continues, and a later version is refused.
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import {
  advanceSteps,
  firstRecord,
  RECORD_SCHEMA,
  type RunRecord,
} from '../../../../src/features/flows/run/interpreter.ts';
import { readRecord } from '../../../../src/features/flows/run/record.ts';
import type { Step } from '../../../../src/features/flows/steps/index.ts';
import { scriptedContext } from './scripted-context.ts';

const folder = new URL('../records/', import.meta.url);
const files = readdirSync(folder).filter((name) => name.endsWith('.json'));

interface RecordFile {
  steps: Step[];
  record: unknown;
  as_of: string;
  given: { event?: string; answered?: boolean };
  expected: { halt: string; path: string[]; stepId?: number; wait?: RunRecord['wait']; reason?: string };
}

describe('a record of an earlier schema', () => {
  it.each(files)('is read, and its run continues: %s', async (name) => {
    const file = JSON.parse(readFileSync(new URL(name, folder), 'utf8')) as RecordFile;
    const { event, answered = false } = file.given;
    const context = scriptedContext({
      asOf: file.as_of,
      arrivals: event === undefined ? [] : [event],
      answers: answered ? { outcome: 'done' } : null,
    });
    const halt = await advanceSteps(file.steps, readRecord(file.record), context);
    expect(context.path).toEqual(file.expected.path);
    expect(halt).toMatchObject({
      halt: file.expected.halt,
      record: {
        schema: RECORD_SCHEMA,
        stepId: file.expected.stepId ?? null,
        wait: file.expected.wait ?? null,
      },
      ...(file.expected.reason !== undefined && { reason: file.expected.reason }),
    });
  });

  it('has a file for each kind of wait', () => {
    const kinds = files.map((name) => {
      const { record } = JSON.parse(readFileSync(new URL(name, folder), 'utf8')) as RecordFile;
      return `${name.split('-')[0]} ${readRecord(record).wait?.for ?? 'none'}`;
    });
    for (const kind of ['none', 'time', 'quiet_hours', 'event', 'webhook'])
      expect(kinds).toContain(`1 ${kind}`);
  });
});

describe('a record', () => {
  it('is stored and read as it is', () => {
    const record = firstRecord(new Date('2026-03-01T08:00:00.250Z'));
    expect(readRecord(JSON.parse(JSON.stringify(record)))).toEqual(record);
  });

  it('of a later version is refused', () => {
    const record = { ...firstRecord(new Date()), schema: RECORD_SCHEMA + 1 };
    expect(() => readRecord(record)).toThrow('schema 2');
  });

  it('that is invalid is refused', () => {
    const record = firstRecord(new Date());
    for (const stored of [null, {}, { ...record, stepId: 'x' }, { ...record, wait: { for: 'luck' } }]) {
      expect(() => readRecord(stored)).toThrow();
    }
  });
});
