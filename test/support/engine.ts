import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { searchAttributeNames } from '../../src/platform/temporal/contract.ts';
import { askService } from './ask-service.ts';
import type { EngineService } from './engine-service.ts';

/** A namespace of a test file's own on the run's development server. */
export interface TestEngine {
  address: string;
  namespace: string;
}

const KEYWORD = 2;

async function untilUsable(connection: Connection, namespace: string): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    try {
      await connection.workflowService.listWorkflowExecutions({ namespace });
      return;
    } catch (error) {
      if (tries >= 100) throw error;
      await delay(100);
    }
  }
}

/** Start the run's engine where nobody has, and make a fresh namespace with our search attributes on it. */
export async function useEngine(): Promise<TestEngine> {
  const { address } = await askService<EngineService>('engine');
  const namespace = `test-${randomBytes(6).toString('hex')}`;
  const connection = await Connection.connect({ address });
  try {
    await connection.workflowService.registerNamespace({
      namespace,
      // protobufjs takes a number here, although its types ask for a Long.
      workflowExecutionRetentionPeriod: { seconds: 86_400 as never },
    });
    await untilUsable(connection, namespace);
    const searchAttributes = Object.fromEntries(searchAttributeNames.map((name) => [name, KEYWORD]));
    await connection.operatorService.addSearchAttributes({ namespace, searchAttributes });
  } finally {
    await connection.close();
  }
  return { address, namespace };
}
