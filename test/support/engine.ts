import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import type { WorkflowBundle } from '@temporalio/worker';
import { searchAttributeNames } from '../../src/platform/temporal/contract.ts';
import { askService } from './ask-service.ts';
import type { EngineService } from './engine-service.ts';

/** A namespace of the shared development server that belongs to one test file. */
export interface TestEngine {
  address: string;
  namespace: string;
}

/** `INDEXED_VALUE_TYPE_KEYWORD` of temporal.api.enums.v1. */
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

/** Starts the shared engine if it is not running yet, and creates a namespace with the search attributes on it. */
export async function useEngine(): Promise<TestEngine> {
  const { address } = await askService<EngineService>('engine');
  const namespace = `test-${randomBytes(6).toString('hex')}`;
  const connection = await Connection.connect({ address });
  try {
    await connection.workflowService.registerNamespace({
      namespace,
      // protobufjs accepts a number here, although its types require a Long.
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

/** Returns the bundle of the workflows that all test files of the run share. */
export function sharedWorkflowBundle(): Promise<WorkflowBundle> {
  return askService<WorkflowBundle>('workflow-bundle');
}
