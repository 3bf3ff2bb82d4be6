// Warnings of the Temporal library reach the log, except the one about workers without workflows.
import { afterAll, expect, it } from '@jest/globals';
import { Runtime } from '@temporalio/worker';
import pino from 'pino';
import { installRuntime } from '../../../src/platform/temporal/worker.ts';
import { eventually } from '../../support/eventually.ts';

afterAll(() => Runtime.instance().shutdown());

it('passes on warnings of the library, except for workers without workflows', async () => {
  const lines: string[] = [];
  installRuntime(pino({ level: 'info' }, { write: (line: string) => void lines.push(line) }));
  const { logger } = Runtime.instance();
  logger.warn('No workflows registered, not polling for workflow tasks', { taskQueue: 'delivery' });
  logger.info('Worker state changed');
  logger.warn('something is wrong', { taskQueue: 'delivery' });
  await eventually(() => {
    expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { level: 40, taskQueue: 'delivery', msg: 'temporal: something is wrong' },
    ]);
  });
});
