/** A program that logs like the Temporal library does, which has one runtime per process. */
import { Runtime } from '@temporalio/worker';
import pino from 'pino';
import { installRuntime } from '../../src/platform/temporal/worker.ts';

installRuntime(pino({ level: 'info' }, pino.destination({ dest: 1, sync: true })));
const { logger } = Runtime.instance();
logger.warn('No workflows registered, not polling for workflow tasks', { taskQueue: 'delivery' });
logger.info('Worker state changed');
logger.warn('something is wrong', { taskQueue: 'delivery' });
await Runtime.instance().shutdown();
process.disconnect?.();
